//! Functions and basic blocks.

use warplens_base::Id;
use warplens_isa::{BlockId, ScalarType};

use crate::{FunctionId, Inst, Operand, Register};

/// How a function is entered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FunctionKind {
    /// Launched by the host.
    Kernel,
    /// Called by kernels and device functions.
    Device,
    /// Called by kernels and device functions, on whose registers and local memory it works: what it reads and writes is
    /// theirs, and it has neither arguments nor results.
    Subroutine,
}

/// Size of each register bank in words (predicates in bits).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RegisterWords {
    /// Per-lane words.
    pub vector: u32,
    /// Per-warp words.
    pub uniform: u32,
    /// Per-lane predicates.
    pub predicate: u32,
    /// Per-warp predicates.
    pub uniform_predicate: u32,
    /// Convergence barriers.
    pub convergence: u32,
}

/// A parameter of a kernel: a range of its parameter space.
#[derive(Clone, PartialEq, Debug)]
pub struct Parameter {
    /// Name as written.
    pub name: String,
    /// Type of an element.
    pub ty: ScalarType,
    /// Byte offset in the parameter space.
    pub offset: u32,
    /// Size in bytes.
    pub bytes: u32,
    /// Alignment in bytes.
    pub align: u32,
    /// Declared as an array: a structure passed by value.
    pub is_array: bool,
}

/// What a kernel demands of its launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LaunchBounds {
    /// `.maxntid`: product of the three extents.
    pub max_threads: Option<u32>,
    /// `.reqntid`.
    pub required_threads: Option<[u32; 3]>,
    /// `.minnctapersm`.
    pub min_ctas_per_sm: Option<u32>,
    /// `.maxnreg`.
    pub max_registers: Option<u32>,
    /// `.reqnctapercluster` or `.explicitcluster`.
    pub cluster: Option<RequiredCluster>,
    /// `.maxclusterrank`: most CTAs of a cluster that a launch may ask for.
    pub max_cluster: Option<u32>,
}

/// A kernel's demand that its CTAs run in clusters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequiredCluster {
    /// CTAs of a cluster, per axis; `None` leaves them to the launch.
    pub ctas: Option<[u32; 3]>,
    /// Line in the source that says so, from 1.
    pub line: u32,
}

/// A kernel or device function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Name as written.
    pub name: String,
    /// Kernel or device function.
    pub kind: FunctionKind,
    /// Parameters of a kernel. Device functions take theirs in `arguments`.
    pub parameters: Vec<Parameter>,
    /// Words in which a device function finds its arguments, in order.
    pub arguments: Vec<Register>,
    /// Words in which a device function leaves its results, in order.
    pub results: Vec<Register>,
    /// Size of the register banks.
    pub registers: RegisterWords,
    /// Bytes of local memory per thread in one frame.
    pub local_bytes: u32,
    /// Static shared memory that the function takes from address 0 on, besides variables: machine code has its
    /// addresses in it.
    pub shared_bytes: u32,
    /// Of these the ones that the system has for itself, which count for no launch.
    pub reserved_shared_bytes: u32,
    /// Registers per thread that the assembler gave it, of machine code. Words of the vector bank behind them hold what its
    /// instructions compute on the way.
    pub machine_registers: Option<u32>,
    /// First block, the entry.
    pub first_block: BlockId,
    /// Number of blocks.
    pub n_blocks: u32,
    /// Demands on the launch.
    pub bounds: LaunchBounds,
    /// The blocks carry explicit convergence barriers; otherwise paths meet again at post-dominators.
    pub explicit_convergence: bool,
}

impl Function {
    /// True for functions that the host launches.
    pub fn is_kernel(&self) -> bool {
        self.kind == FunctionKind::Kernel
    }

    /// The function's blocks, the entry first.
    pub fn block_ids(&self) -> impl DoubleEndedIterator<Item = BlockId> + ExactSizeIterator + use<> {
        let first = self.first_block.0;
        (first..first + self.n_blocks).map(BlockId)
    }

    /// Position of a block inside the function.
    pub fn block_position(&self, block: BlockId) -> usize {
        block.index() - self.first_block.index()
    }

    /// Bytes of the parameter space.
    pub fn parameter_bytes(&self) -> u32 {
        self.parameters.iter().map(|parameter| parameter.offset + parameter.bytes).max().unwrap_or(0)
    }
}

/// A basic block.
#[derive(Clone, Debug)]
pub struct Block {
    /// Label as written, if it has one.
    pub label: Option<String>,
    /// The program asks that a loop that begins here is not unrolled.
    pub stays_rolled: bool,
    /// Operations in order. Only the last one may change control.
    pub insts: Vec<Inst>,
    /// Where control goes.
    pub flow: Flow,
}

/// Where control goes at the end of a block. Lanes whose guard is off go to `next`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Flow {
    /// To the next block, without an instruction.
    Fallthrough(BlockId),
    /// The last instruction branches; `next` is `None` when it has no guard.
    Branch {
        /// Target.
        taken: BlockId,
        /// Block of the lanes that do not branch.
        next: Option<BlockId>,
    },
    /// The last instruction branches through a table; its source is the index.
    Indexed {
        /// Targets by index.
        targets: Vec<BlockId>,
        /// Block of the lanes that do not branch.
        next: Option<BlockId>,
    },
    /// The last instruction jumps to the address that its source holds. Lanes with different addresses part, also where
    /// these lead to the same block.
    Computed {
        /// Targets by address, sorted. Any other address is an error of the program.
        targets: Vec<(u64, BlockId)>,
        /// Block of the lanes that do not jump.
        next: Option<BlockId>,
    },
    /// The last instruction calls. Its sources are the words of the arguments, its destinations those of the results.
    Call {
        /// Callee.
        target: CallTarget,
        /// Where the callee returns to.
        next: BlockId,
    },
    /// The last instruction returns from the function, or ends the thread in a kernel.
    Return {
        /// Block of the lanes whose guard is off.
        next: Option<BlockId>,
    },
    /// The last instruction ends the thread (or aborts the launch).
    Exit {
        /// Block of the lanes whose guard is off.
        next: Option<BlockId>,
    },
}

/// Callee of a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CallTarget {
    /// A known function.
    Direct(FunctionId),
    /// The function whose address the operand holds; one of the candidates, if the source lists them.
    Indirect(Operand, Vec<FunctionId>),
}

impl Flow {
    /// Blocks of the same function that may come next; those of a computed jump without repetition, as many addresses
    /// may lie in few blocks.
    pub fn successors(&self) -> Vec<BlockId> {
        match self {
            Self::Fallthrough(next) | Self::Call { next, .. } => vec![*next],
            Self::Branch { taken, next } => std::iter::once(*taken).chain(*next).collect(),
            Self::Indexed { targets, next } => targets.iter().copied().chain(*next).collect(),
            Self::Computed { targets, next } => {
                let mut blocks: Vec<BlockId> = targets.iter().map(|&(_, block)| block).chain(*next).collect();
                blocks.sort_unstable();
                blocks.dedup();
                blocks
            }
            Self::Return { next } | Self::Exit { next } => next.iter().copied().collect(),
        }
    }
}
