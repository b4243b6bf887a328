//! CUDA compilers of the user: CUDA C++ to PTX with nvcc or NVRTC, register counts from ptxas.
//!
//! None of them is needed for PTX inputs. They are looked for in `$CUDA_HOME`, on the `PATH`, then among the packages
//! of Python, where `pip install nvidia-cuda-nvcc` and its companions put them.
//!
//! nvcc passes what it is given on to a shell: see `unit.rs` for how texts and names of users are kept out of that. A
//! compiler that takes too long is ended; NVRTC, which runs inside of this program, is not waited for any longer.

mod flags;
mod limit;
mod nvcc;
mod nvrtc;
mod process;
mod ptxas;
mod search;
mod unit;

pub use flags::CompilerFlags;
pub use limit::TimeLimit;
pub use ptxas::{Assembled, assemble, registers};
pub(crate) use ptxas::{Assemblies, release};
pub use search::{CodeKind, Search, know_python_sites};

use crate::input::Input;
use warplens_base::error::{Error, Result};

/// What a compiler made of CUDA C++.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Compiled {
    /// The PTX.
    pub ptx: String,
    /// The compiler, with its path.
    pub compiler: String,
    /// What it said: warnings.
    pub messages: String,
}

/// How to get compilers on a machine that has none.
const INSTALL: &str = "install a CUDA toolkit, or without one: pip install nvidia-cuda-nvcc nvidia-nvvm nvidia-cuda-crt \
                       nvidia-cuda-runtime nvidia-cuda-cccl";

/// Compiles CUDA C++ for a target such as `sm_80`, with macros defined.
pub fn compile(input: &Input, target: &str, macros: &[(String, String)], search: &Search) -> Result<Compiled> {
    let mut nvcc_error = None;
    if let Some(nvcc) = search.program("nvcc") {
        match nvcc::compile(&nvcc, input, target, macros, search) {
            Ok(compiled) => return Ok(compiled),
            Err(nvcc::Failure::NoHostCompiler(error)) => nvcc_error = Some(error),
            Err(nvcc::Failure::Other(error)) => return Err(error),
        }
    }
    if let Some(library) = search.nvrtc() {
        return nvrtc::compile(&library, input, target, macros, search);
    }
    Err(nvcc_error.unwrap_or_else(|| {
        Error::input(format!("{} is CUDA C++, and no CUDA compiler was found to make PTX of it", input.name))
            .with_detail(
                "looked for nvcc in $CUDA_HOME/bin, on the PATH and among the packages of Python, then for NVRTC",
            )
            .with_help(INSTALL)
    }))
}

#[cfg(test)]
pub(crate) mod tests;
