//! Decoded kernels: the code as plain data, with everything resolved that follows from the module and the device.
//!
//! A register is an offset in a frame and a width, a variable is its address, a constant of a bank is its value or a
//! place among the parameters. There are no handlers here: an [`Engine`](crate::Engine) makes what it runs of this.

use std::ops::Range;

use warplens_base::{Id, IdMap};
use warplens_ir::{FunctionId, Sign, Width};
use warplens_isa::{BlockId, Op, Operation, Pc, ScalarType, SpecialRegister, StateSpace};

use crate::memory::Windows;
use crate::waiting::Wait;

/// Part of a frame that a register lies in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum File {
    /// One value per lane, in 32-bit words.
    Words,
    /// One bit per lane.
    Predicates,
    /// Convergence barriers, which belong to the warp.
    Convergence,
}

/// A register of a frame. Wide ones name their first word, so that a pair and its halves alias.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Register {
    /// Where it lies.
    pub file: File,
    /// Width.
    pub width: Width,
    /// First word (or predicate) in the frame.
    pub index: u32,
    /// The warp has it once: whoever writes it writes the value of the lowest lane that takes part to all lanes.
    pub is_shared: bool,
}

impl Register {
    /// A word per lane.
    pub const fn word(index: u32) -> Self {
        Self { file: File::Words, width: Width::Word, index, is_shared: false }
    }

    /// The lower or upper pair of a quad.
    pub const fn half(self, part: u32) -> Self {
        Self { width: Width::Pair, index: self.index + 2 * part, ..self }
    }

    /// The words of the frame that the register covers.
    pub fn words(self) -> Range<u32> {
        self.index..self.index + self.width.words()
    }
}

/// A value whose sign an operand may change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SignedValue {
    /// A register.
    Register(Register),
    /// A constant.
    Immediate(u64),
    /// A parameter.
    Parameter(u32),
}

impl SignedValue {
    /// The operand without a change of its sign.
    pub const fn operand(self) -> Operand {
        match self {
            Self::Register(register) => Operand::Register(register),
            Self::Immediate(value) => Operand::Immediate(value),
            Self::Parameter(offset) => Operand::Parameter(offset),
        }
    }
}

/// A source of an operation. The type in which it is read is the operation's business: see the table of operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operand {
    /// A register. What is read from a wider one is its low bits; a narrower one is extended with zeros.
    Register(Register),
    /// A predicate, complemented.
    NotPredicate(Register),
    /// The same value in all lanes; its low bits where it is read in a narrower type.
    Immediate(u64),
    /// A constant of a bank that comes with the launch: byte offset in the parameter space, as wide as it is read.
    Parameter(u32),
    /// A value whose sign is changed on the way.
    Signed(Sign, SignedValue),
    /// A special register. It is read in all lanes of the path, whatever the guard.
    Special(SpecialRegister),
    /// Byte offset in the local memory of the frame.
    Frame(i64),
}

impl Operand {
    /// The register that the operand reads, if it is one.
    pub const fn register(&self) -> Option<Register> {
        match self {
            Self::Register(register)
            | Self::NotPredicate(register)
            | Self::Signed(_, SignedValue::Register(register)) => Some(*register),
            Self::Immediate(_) | Self::Parameter(_) | Self::Signed(..) | Self::Special(_) | Self::Frame(_) => None,
        }
    }
}

/// Predicate under which an operation takes effect in a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Guard {
    /// Index of the predicate in the frame.
    pub predicate: u32,
    /// The operation takes effect where the predicate is false.
    pub negated: bool,
}

/// A place that a memory operation touches. The type of the operation is the type of one element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryReference {
    /// State space as written.
    pub space: StateSpace,
    /// Address, before the offset. A word makes an address of 32 bits, which wraps; anything else one of 64.
    pub base: Operand,
    /// Bytes added to the base.
    pub offset: i64,
    /// Elements per lane.
    pub elements: u8,
}

/// One operation.
#[derive(Clone, PartialEq, Debug)]
pub struct Decoded {
    /// The source instruction that it belongs to.
    pub pc: Pc,
    /// What it does, with its payload.
    pub operation: Operation,
    /// Type of the operation: of the result, and of the sources unless `source_ty` differs.
    pub ty: ScalarType,
    /// Type of the sources of conversions and comparisons; equal to `ty` elsewhere.
    pub source_ty: ScalarType,
    /// Guard. The observer hears of it before the operation's other events, also where no lane takes part.
    pub guard: Option<Guard>,
    /// Registers written, as many as the operation has. `None` is a sink.
    pub destinations: Vec<Option<Register>>,
    /// Values read, without those of `memory` and `guard`.
    pub sources: Vec<Operand>,
    /// Places touched in memory, as many as the operation has: of a copy the target, then the source.
    pub memory: Vec<MemoryReference>,
}

impl Decoded {
    /// Which operation it is, without what refines it.
    pub const fn op(&self) -> Op {
        self.operation.op()
    }

    /// Registers read: sources and addresses.
    pub fn reads(&self) -> impl Iterator<Item = Register> + '_ {
        let sources = self.sources.iter().filter_map(Operand::register);
        sources.chain(self.memory.iter().filter_map(|memory| memory.base.register()))
    }

    /// Registers written.
    pub fn writes(&self) -> impl Iterator<Item = Register> + '_ {
        self.destinations.iter().flatten().copied()
    }

    /// The first destination, if it is wanted.
    pub fn destination(&self) -> Option<Register> {
        self.destinations.first().copied().flatten()
    }
}

/// Where control goes after a block. Engines have nothing to do with it: the warp follows it.
#[derive(Clone, Debug)]
pub enum Flow {
    /// To a block.
    Fallthrough(BlockId),
    /// Conditional or unconditional branch.
    Branch {
        /// Target.
        taken: BlockId,
        /// Block of the lanes whose guard is off.
        next: Option<BlockId>,
    },
    /// Through a table.
    Indexed {
        /// A word: the number of the target.
        index: Operand,
        /// The targets.
        targets: Vec<BlockId>,
        /// Block of the lanes whose guard is off.
        next: Option<BlockId>,
    },
    /// To an address.
    Computed {
        /// Two words: the address.
        address: Operand,
        /// The targets by address, sorted.
        targets: Vec<(u64, BlockId)>,
        /// Block of the lanes whose guard is off.
        next: Option<BlockId>,
    },
    /// A call.
    Call(Box<Call>),
    /// Back to the caller.
    Return {
        /// Block of the lanes whose guard is off.
        next: Option<BlockId>,
    },
    /// The thread ends.
    Exit {
        /// Block of the lanes whose guard is off.
        next: Option<BlockId>,
    },
    /// The launch is aborted.
    Trap {
        /// Block of the lanes whose guard is off.
        next: Option<BlockId>,
    },
    /// An instruction that cannot be executed was reached.
    Unsupported,
    /// Lanes wait for those of the convergence barrier.
    Sync {
        /// The barrier.
        barrier: u32,
        /// Where they go on.
        next: BlockId,
    },
}

/// Whom a call enters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Callee {
    /// A known function.
    Direct(FunctionId),
    /// The function whose address the operand holds.
    Indirect(Operand),
}

/// A call: values copied to the callee's frame before, and back after.
#[derive(Clone, Debug)]
pub struct Call {
    /// Callee.
    pub callee: Callee,
    /// Arguments, in order of the callee's argument registers.
    pub arguments: Vec<Operand>,
    /// The caller's registers for the results, in order of the callee's result registers.
    pub results: Vec<Option<Register>>,
    /// Where to go on.
    pub next: BlockId,
}

/// A decoded block.
#[derive(Clone, Debug)]
pub struct Block {
    /// Its operations, by their numbers in [`Code::operations`], or whatever numbers the engine gave its own.
    pub operations: Range<u32>,
    /// Number of source instructions.
    pub n_instructions: u32,
    /// Guard of the control instruction.
    pub guard: Option<Guard>,
    /// The control instruction.
    pub flow_pc: Pc,
    /// Where control goes.
    pub flow: Flow,
    /// Where lanes that part here meet again.
    pub reconvergence: Option<BlockId>,
    /// Where lanes meet again that part inside of the block, because some wait for others there.
    pub behind: Option<BlockId>,
    /// The block ends a turn of a loop in which lanes may wait for other threads.
    pub(crate) wait: Option<Wait>,
}

/// A decoded function.
#[derive(Clone, Debug, Default)]
pub struct Function {
    /// It works on the frame of its caller.
    pub is_subroutine: bool,
    /// First block; none if the kernel cannot reach the function.
    pub entry: Option<BlockId>,
    /// Numbers of its blocks.
    pub blocks: Range<u32>,
    /// Words of a frame. An engine that needs more for itself says so.
    pub words: u32,
    /// Words that may be read before they are written, where that is known: of functions that call nothing.
    pub unset: Option<Vec<u32>>,
    /// Predicates of a frame. An engine that needs more for itself says so.
    pub predicates: u32,
    /// Bytes of local memory per thread in a frame, without what it reserves at run time.
    pub local_bytes: u32,
    /// The register that holds where the lane's stack ends, if the function reserves memory at run time.
    pub stack: Option<Register>,
    /// Registers in which the function finds its arguments.
    pub arguments: Vec<Register>,
    /// Registers in which it leaves its results.
    pub results: Vec<Register>,
    /// The first of the functions with which it shares its registers; itself if there are no others.
    pub frame_of: Option<FunctionId>,
}

impl Function {
    /// Bytes that a frame takes of each thread.
    pub(crate) fn bytes(&self) -> u64 {
        u64::from(self.local_bytes) + 4 * u64::from(self.words)
    }
}

/// A decoded kernel with everything that it calls.
pub struct Code {
    /// Operations of all blocks.
    pub operations: Vec<Decoded>,
    /// By block of the module; `None` for functions that the kernel cannot reach.
    pub blocks: IdMap<BlockId, Option<Block>>,
    /// By function of the module.
    pub functions: IdMap<FunctionId, Function>,
    /// The functions that the kernel reaches.
    pub reachable: Vec<FunctionId>,
    /// It has barriers of a cluster.
    pub(crate) meets_cluster: bool,
    /// Convergence barriers of a warp, which all functions share.
    pub(crate) n_convergence: u32,
    /// Address of the module's first function.
    pub(crate) first_function: u64,
    /// The generic address space.
    pub(crate) windows: Windows,
}

impl Code {
    /// The block; it must belong to a function that the kernel reaches.
    #[inline(always)]
    pub(crate) fn block(&self, block: BlockId) -> &Block {
        self.blocks[block].as_ref().expect("control stays in reachable functions")
    }

    /// Width of addresses in bits.
    pub fn address_bits(&self) -> u32 {
        self.windows.bits()
    }

    /// Generic address of the first byte of a space; 0 for global memory.
    pub fn window(&self, space: StateSpace) -> u64 {
        self.windows.base(space)
    }

    /// The space that a generic address belongs to.
    pub fn space_of(&self, address: u64) -> StateSpace {
        self.windows.space_of(address)
    }

    /// The function at an address that `mov` of a function name gave.
    pub(crate) fn function_at(&self, address: u64) -> Option<FunctionId> {
        let offset = address.checked_sub(self.first_function)?;
        let index = offset / FUNCTION_STRIDE;
        let id = FunctionId::from_index(usize::try_from(index).ok()?);
        let is_exact = offset.is_multiple_of(FUNCTION_STRIDE);
        (is_exact && self.functions.get(id).is_some_and(|function| function.entry.is_some())).then_some(id)
    }
}

/// Address of the first function: not zero, so that a null pointer is no function.
pub(crate) const FUNCTION_BASE: u64 = 0x100;
pub(crate) const FUNCTION_STRIDE: u64 = 0x10;

/// The address that stands for a function of the module whose first function has the address `first`.
pub(crate) fn function_address(first: u64, function: FunctionId) -> u64 {
    first + FUNCTION_STRIDE * u64::from(function.0)
}

/// An operation that an engine does not execute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unbound {
    /// The source instruction.
    pub pc: Pc,
    /// The operation.
    pub op: Op,
    /// Why.
    pub reason: &'static str,
}
