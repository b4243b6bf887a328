//! What can go wrong when a device is used.

use thiserror::Error;
use warplens_exec::texture::ObjectError;
use warplens_exec::{ExecError, HandleFault, MemoryError, NearestBuffer};
use warplens_ir::link::LinkError;

/// Why a request was refused.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The memory cannot be had.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The texture, sampler or surface cannot be.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// The number stands for no such object.
    #[error("{handle:#x} {fault}")]
    Handle {
        /// The number.
        handle: u64,
        /// Why.
        fault: HandleFault,
    },
    /// The modules do not fit together.
    #[error("{}", lines(.0))]
    Link(Vec<LinkError>),
    /// The handle comes from another context.
    #[error("the handle belongs to another context")]
    WrongContext,
    /// The allocation was freed before.
    #[error("`{name}` was freed")]
    Freed {
        /// What it was called.
        name: String,
    },
    /// The allocation has been freed before, and is freed again.
    #[error("`{name}` is freed twice")]
    DoubleFree {
        /// What it was called.
        name: String,
    },
    /// The address is no allocation's first.
    #[error("{address:#x} is not the start of an allocation{}", near(.nearest.as_ref()))]
    NoAllocation {
        /// The address.
        address: u64,
        /// What is near.
        nearest: Option<NearestBuffer>,
    },
    /// The module was unloaded before.
    #[error("the module has been unloaded")]
    Unloaded,
    /// The module has functions that another one must define.
    #[error("`{name}` is declared only: the module must be linked with one that defines it")]
    Unlinked {
        /// The first of them.
        name: String,
    },
    /// The module has no kernel of this name.
    #[error("there is no kernel `{name}`")]
    NoKernel {
        /// The name.
        name: String,
    },
    /// The module has no variable of this name in global or constant memory.
    #[error("there is no variable `{name}`")]
    NoSymbol {
        /// The name.
        name: String,
    },
    /// Bytes that do not lie in one allocation, variable or constant memory.
    #[error("{bytes} bytes at {address:#x} are not all in one allocation{}", near(.nearest.as_ref()))]
    OutOfRange {
        /// The first address.
        address: u64,
        /// How many bytes.
        bytes: u64,
        /// What is near.
        nearest: Option<NearestBuffer>,
    },
    /// A pattern of no bytes cannot fill memory.
    #[error("memory cannot be filled with nothing")]
    EmptyPattern,
    /// A grid without blocks, with more than can be numbered, or without one that is asked for.
    #[error("the grid {0:?} cannot be launched")]
    Grid([u32; 3]),
    /// A block without threads, or with more than any GPU runs.
    #[error("the block {0:?} cannot be launched")]
    Block([u32; 3]),
    /// More shared memory than any GPU has.
    #[error("{bytes} bytes of shared memory per block, and no GPU has more than {limit}")]
    Shared {
        /// Bytes asked for, static and dynamic.
        bytes: u64,
        /// Bytes that there are.
        limit: u64,
    },
    /// The launch stopped.
    #[error(transparent)]
    Launch(ExecError),
}

fn lines(errors: &[LinkError]) -> String {
    errors.iter().map(LinkError::to_string).collect::<Vec<_>>().join("; ")
}

fn near(nearest: Option<&NearestBuffer>) -> String {
    nearest.map_or_else(String::new, |nearest| format!(": {nearest}"))
}
