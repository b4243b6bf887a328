//! Code that a program of the runtime API loads itself.

use std::ffi::c_char;

use warplens_runtime::{ModuleSource, Status};

use crate::errors::text;
use crate::guard::device_call;
use crate::pointers::{Memory, Out, Text};
use crate::registration::{image, image_in};
use crate::{Runtime, api};

type Result<T> = std::result::Result<T, Status>;

/// Code in a file.
pub(crate) fn file(path: Text) -> Result<ModuleSource> {
    // The file that is not found has a code of its own.
    let bytes = std::fs::read(path.get()?).map_err(|_| Status::FILE_NOT_FOUND)?;
    image_in(&bytes)
}

/// Stores the name of a kernel.
pub(crate) fn name(runtime: &Runtime, to: Out<*const c_char>, function: u64) -> Result<()> {
    to.set(text(runtime.function_name(function)?))
}

/// Stores where a variable lies, and its size.
pub(crate) fn global(
    runtime: &mut Runtime,
    to: Out<u64>,
    bytes: Out<usize>,
    library: Memory,
    name: Text,
) -> Result<()> {
    let (address, size) = runtime.module_variable(library.address(), &name.get()?)?;
    to.set_if_wanted(address);
    bytes.set_if_wanted(size as usize);
    Ok(())
}

/// Kernels of a library, as many as there is room for.
pub(crate) fn kernels(runtime: &mut Runtime, to: Out<u64>, count: u32, library: Memory) -> Result<()> {
    let names = runtime.module_kernels(library.address())?;
    let names = names.iter().take(count as usize);
    let kernels: Vec<u64> =
        names.map(|name| runtime.module_function(library.address(), name)).collect::<Result<_>>()?;
    to.set_list(&kernels)
}

api! { device_call;
    /// Loads code.
    fn cudaLibraryLoadData(
        to: Out<u64>, code: Memory, _jit: Memory, _jit_values: Memory, _n_jit: u32, _options: Memory, _values: Memory,
        _count: u32,
    ) |runtime| {
        let source = image(code)?;
        to.set(runtime.load_module(source)?)
    }

    /// Loads code of a file.
    fn cudaLibraryLoadFromFile(
        to: Out<u64>, path: Text, _jit: Memory, _jit_values: Memory, _n_jit: u32, _options: Memory, _values: Memory,
        _count: u32,
    ) |runtime| {
        to.set(runtime.load_module(file(path)?)?)
    }

    /// Takes it away.
    fn cudaLibraryUnload(library: Memory) |runtime| { runtime.unload_module(library.address()) }

    /// A kernel of it.
    fn cudaLibraryGetKernel(to: Out<u64>, library: Memory, name: Text) |runtime| {
        to.set(runtime.module_function(library.address(), &name.get()?)?)
    }

    /// A variable of it.
    fn cudaLibraryGetGlobal(to: Out<u64>, bytes: Out<usize>, library: Memory, name: Text) |runtime| {
        global(runtime, to, bytes, library, name)
    }

    /// Number of its kernels.
    fn cudaLibraryGetKernelCount(to: Out<u32>, library: Memory) |runtime| {
        to.set(runtime.module_kernels(library.address())?.len() as u32)
    }

    /// Its kernels.
    fn cudaLibraryEnumerateKernels(to: Out<u64>, count: u32, library: Memory) |runtime| {
        kernels(runtime, to, count, library)
    }

    /// The name of a kernel.
    fn cudaFuncGetName(to: Out<*const c_char>, either: Memory) |runtime| {
        let function = runtime.function_or_stub(either.address())?;
        name(runtime, to, function)
    }

    /// Sets what a kernel may use.
    fn cudaKernelSetAttributeForDevice(kernel: Memory, attribute: i32, value: i32, _device: i32) |runtime| {
        crate::runtime_launch::set_attribute(runtime, kernel.address(), attribute, value)
    }
}
