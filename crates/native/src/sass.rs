//! Traces in the SASS format of Accel-Sim (`kernel-N.traceg`, tracer versions 3 and later): machine code that ran, with
//! its addresses.
//!
//! ```text
//! -kernel name = saxpy
//! -grid dim = (4,1,1)
//! -block dim = (128,1,1)
//! -binary version = 70
//! #BEGIN_TB
//! thread block = 0,0,0
//! warp = 0
//! insts = 2
//! 0000 ffffffff 1 R2 LDG.E.SYS 1 R4 4 1 0x7f0000000000 4
//! 0010 ffffffff 0 EXIT 0 0
//! #END_TB
//! ```
//!
//! A line has the program counter, the mask of the lanes that execute, the registers written, the opcode, the registers
//! read, and for memory instructions their width and the addresses: all of them (0), a first one and a stride (1), or a
//! first one and differences (2). An immediate may follow. `-enable lineinfo = 1` puts a source line in front.
//!
//! The code is rebuilt from the lines: each is a block, so that any order of them is a trace. What the format does not
//! say follows from rules:
//!
//! - Wide operands: it names the first register. 64 and 128 bits of a load or store take 2 and 4 registers, f64 arithmetic
//!   and `.WIDE` results 2, an `.E` address 2, matrix operands 2 and 4 as in the sixteen-row shapes.
//! - Predicates are not in it, so nothing waits for one but through the mask.
//! - Constants are taken as found in their cache: `LDC` and operands `c[..]` carry no access.
//! - Of `LDGSTS` it has the side in device memory only; barrier numbers and the pending groups of `DEPBAR` are the
//!   immediate, or 0.
//! - Generic addresses, and those of shared and local instructions, count from the bases in the header where they lie
//!   behind them.

mod opcode;
mod read;

use warplens_base::Diagnostic;
use warplens_trace::{Code, CtaTrace};

/// Sizes in three dimensions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Dim3 {
    /// Fastest.
    pub x: u32,
    /// Middle.
    pub y: u32,
    /// Slowest.
    pub z: u32,
}

impl Dim3 {
    /// The product, where it has 32 bits.
    pub fn count(self) -> Option<u32> {
        self.x.checked_mul(self.y)?.checked_mul(self.z)
    }
}

/// What stands before the CTAs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TraceHeader {
    /// Name of the kernel.
    pub kernel: String,
    /// CTAs.
    pub grid: Dim3,
    /// Threads of a CTA.
    pub block: Dim3,
    /// Bytes of shared memory of a CTA.
    pub shared_bytes: u32,
    /// Registers of a thread.
    pub registers: u32,
    /// Compute capability of the machine code, times ten.
    pub binary_version: u32,
}

/// A trace that was read.
#[derive(Clone, PartialEq, Debug)]
pub struct SassTrace {
    /// What stands before the CTAs.
    pub header: TraceHeader,
    /// The machine code, rebuilt.
    pub code: Code,
    /// The CTAs that were traced, in the order of the file.
    pub ctas: Vec<CtaTrace>,
}

/// Reads a trace.
pub fn read_sass_trace(text: &str) -> Result<SassTrace, Vec<Diagnostic>> {
    read::read(text)
}
