//! Decoded kernels: flat arrays of operations with all operands resolved to rows, ready to be interpreted.

use warplens_base::{Id, IdMap};
use warplens_ir::FunctionId;
use warplens_isa::{AtomicOp, BarrierKind, BlockId, Op, Pc, ScalarType, SpecialRegister, StateSpace, SystemCall};

use crate::raw::{LaneFunction, Level, Row, Source};
use crate::semantics::warp::Exchange;
use crate::waiting::Wait;

/// Marks a destination that nobody wants.
pub(crate) const SINK: u32 = u32::MAX;

/// Predicate under which an operation takes effect.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DecodedGuard {
    /// The predicate, complemented if need be.
    pub(crate) predicate: Source,
    /// The observer hears of it: set on the first operation of an instruction.
    pub(crate) is_reported: bool,
}

/// One operation.
pub(crate) struct Decoded {
    /// Lane function, for `Kind::Lane`.
    pub(crate) function: LaneFunction,
    /// Who executes it.
    pub(crate) kind: Kind,
    /// Guard.
    pub(crate) guard: Option<DecodedGuard>,
    /// Rows (or predicates) written.
    pub(crate) destinations: [u32; 2],
    /// Operands.
    pub(crate) sources: [Source; 4],
    /// Source instruction.
    pub(crate) pc: Pc,
}

/// Who executes an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// The handler, lane by lane.
    Lane,
    /// A load; the index of its [`MemoryOperation`].
    Load(u32),
    /// A store.
    Store(u32),
    /// An atomic or reduction.
    Atomic(u32),
    /// Reads a special register into the first destination, 64 bits wide if so marked.
    Special(SpecialRegister, Wide),
    /// Address of the frame in local memory, plus the constant in source 0.
    FrameAddress(Wide),
    /// Tests the space of a generic address.
    InSpace(StateSpace, Wide),
    /// Lanes look at each other, or wait for each other; the index of its [`ExchangeOperation`].
    Exchange(u32),
    /// Mask of active lanes.
    ActiveMask,
    /// CTA barrier; the index of its [`BarrierOperation`].
    Barrier(u32),
    /// Opens a convergence region; the barrier register.
    OpenRegion(u32),
    /// Reserves local memory: bytes, alignment. The address is as wide as the number of bytes.
    Alloca(Wide),
    /// Gives all lanes the value of the lowest active one.
    Broadcast(Shared),
    /// Device runtime service; the index of its argument list.
    System(SystemCall, u32),
    /// Cannot be executed; reaching it ends the launch.
    Unsupported,
}

/// A register that a warp has once; each lane keeps a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shared {
    /// A row.
    Word(u32),
    /// Two rows.
    Pair(u32),
    /// A predicate.
    Predicate(u32),
}

/// Whether a value takes one row or two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wide {
    /// 32 bits.
    No,
    /// 64 bits.
    Yes,
}

impl Wide {
    /// Wide for values of more than 32 bits.
    pub(crate) const fn of_bits(bits: u32) -> Self {
        if bits > 32 { Self::Yes } else { Self::No }
    }
}

/// Where an address comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Base {
    /// A row of 32-bit addresses.
    Word(Source),
    /// Two rows of 64-bit addresses.
    Pair(Source),
    /// The same address in all lanes.
    Constant(u64),
    /// The frame in local memory.
    Frame,
}

/// A load, store or atomic.
#[derive(Clone, Debug)]
pub(crate) struct MemoryOperation {
    /// State space as written.
    pub(crate) space: StateSpace,
    /// Address before the offset.
    pub(crate) base: Base,
    /// Bytes added to it.
    pub(crate) offset: i64,
    /// Bytes of an element: 1, 2, 4 or 8.
    pub(crate) element_bytes: u8,
    /// Elements per lane as the instruction writes them.
    pub(crate) elements: u8,
    /// Bytes of an element as the instruction writes it (16 for `.b128`, else `element_bytes`).
    pub(crate) written_bytes: u8,
    /// Elements narrower than a word are sign-extended.
    pub(crate) sign_extend: bool,
    /// Rows loaded into, per element of `element_bytes`.
    pub(crate) destinations: Vec<u32>,
    /// Values stored, or operands of the atomic.
    pub(crate) sources: Vec<Source>,
    /// Operation and type of an atomic.
    pub(crate) atomic: Option<(AtomicOp, ScalarType)>,
    /// Volatile, acquire, release or atomic.
    pub(crate) ordered: bool,
}

impl MemoryOperation {
    /// A load of a parameter into a row.
    pub(crate) fn parameter(offset: u32, bytes: u8, row: u32) -> Self {
        Self {
            space: StateSpace::Param,
            base: Base::Constant(offset.into()),
            offset: 0,
            element_bytes: bytes,
            elements: 1,
            written_bytes: bytes,
            sign_extend: false,
            destinations: vec![row],
            sources: Vec::new(),
            atomic: None,
            ordered: false,
        }
    }

    /// Bytes that each lane accesses.
    #[inline(always)]
    pub(crate) fn bytes(&self) -> u32 {
        u32::from(self.written_bytes) * u32::from(self.elements)
    }
}

/// An exchange between lanes of a warp.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExchangeOperation {
    /// What the lanes do. Lanes at different instructions take part in one exchange where this is the same.
    pub(crate) what: Exchange,
    /// Who takes part.
    pub(crate) members: Members,
}

/// Which lanes take part in an exchange.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Members {
    /// Those that execute it together: the forms without a member mask, which wait for nobody.
    Present,
    /// Those that the lane's own member mask names.
    Named(Source),
}

/// A CTA barrier.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BarrierOperation {
    /// Form.
    pub(crate) kind: BarrierKind,
    /// Number of the barrier.
    pub(crate) barrier: Source,
    /// Threads that must arrive, if given.
    pub(crate) count: Option<Source>,
    /// Predicate to reduce.
    pub(crate) predicate: Option<Source>,
    /// Where the reduction goes: a row for a count, a predicate for and/or.
    pub(crate) destination: u32,
}

/// Where control goes after a block.
#[derive(Clone, Debug)]
pub(crate) enum CodeFlow {
    /// To a block.
    Fallthrough(BlockId),
    /// Conditional or unconditional branch.
    Branch { taken: BlockId, next: Option<BlockId> },
    /// Through a table, by the word in the source.
    Indexed { index: Source, targets: Vec<BlockId>, next: Option<BlockId> },
    /// A call.
    Call(Box<CodeCall>),
    /// Back to the caller.
    Return { next: Option<BlockId> },
    /// The thread ends.
    Exit { next: Option<BlockId> },
    /// The launch is aborted.
    Trap { next: Option<BlockId> },
    /// An instruction that cannot be executed was reached.
    Unsupported,
    /// Lanes meet at the convergence barrier.
    Sync { barrier: u32, next: BlockId },
}

/// A call: rows copied to the callee's frame before, and back after.
#[derive(Clone, Debug)]
pub(crate) struct CodeCall {
    /// Callee, or the operand that holds its address and whether it is wide.
    pub(crate) target: Result<FunctionId, (Source, Wide)>,
    /// Arguments: caller's operand and width, in order of the callee's argument registers.
    pub(crate) arguments: Vec<(Source, Wide)>,
    /// Results: caller's row and width, in order of the callee's result registers.
    pub(crate) results: Vec<(u32, Wide)>,
    /// Where to go on.
    pub(crate) next: BlockId,
}

/// A decoded block.
pub(crate) struct CodeBlock {
    /// Its operations.
    pub(crate) operations: std::ops::Range<u32>,
    /// Number of source instructions.
    pub(crate) n_instructions: u32,
    /// Guard of the control instruction.
    pub(crate) guard: Option<Source>,
    /// The control instruction.
    pub(crate) flow_pc: Pc,
    /// Where control goes.
    pub(crate) flow: CodeFlow,
    /// Where lanes that part here meet again.
    pub(crate) reconvergence: Option<BlockId>,
    /// Where lanes meet again that part inside of the block, because some wait for others there.
    pub(crate) behind: Option<BlockId>,
    /// A CTA barrier can be reached from the start of the block without a return from its function.
    pub(crate) reaches_barrier: bool,
    /// The block ends a turn of a loop in which lanes may wait for other threads.
    pub(crate) wait: Option<Wait>,
}

/// Frame of a function.
#[derive(Clone, Debug, Default)]
pub(crate) struct CodeFunction {
    /// It works on the frame of its caller.
    pub(crate) is_subroutine: bool,
    /// First block.
    pub(crate) entry: Option<BlockId>,
    /// Rows of a frame, temporaries included.
    pub(crate) rows: u32,
    /// Predicates of a frame.
    pub(crate) predicates: u32,
    /// Bytes of local memory per thread in a frame, without what it reserves at run time.
    pub(crate) local_bytes: u32,
    /// Row of the frame that holds where the lane's stack ends, if the function reserves memory at run time.
    pub(crate) stack_row: Option<u32>,
    /// Rows of the arguments, per callee register: row and width.
    pub(crate) arguments: Vec<(u32, Wide)>,
    /// Rows of the results.
    pub(crate) results: Vec<(u32, Wide)>,
}

impl CodeFunction {
    /// Bytes that a frame takes of each thread.
    pub(crate) fn bytes(&self) -> u64 {
        u64::from(self.local_bytes) + 4 * u64::from(self.rows)
    }
}

/// A decoded kernel with everything that it calls.
pub(crate) struct Code {
    /// CPU features that the handlers were chosen for.
    pub(crate) level: Level,
    /// Operations of all blocks.
    pub(crate) operations: Vec<Decoded>,
    /// By block of the module; `None` for functions that the kernel cannot reach.
    pub(crate) blocks: IdMap<BlockId, Option<CodeBlock>>,
    /// Address of the module's first function.
    pub(crate) first_function: u64,
    /// By function of the module.
    pub(crate) functions: IdMap<FunctionId, CodeFunction>,
    /// Constant rows.
    pub(crate) pool: Vec<Row>,
    /// Memory operations.
    pub(crate) memory: Vec<MemoryOperation>,
    /// Exchanges between lanes.
    pub(crate) exchanges: Vec<ExchangeOperation>,
    /// Barriers.
    pub(crate) barriers: Vec<BarrierOperation>,
    /// Device runtime services: arguments and their widths.
    pub(crate) system: Vec<Vec<(Source, Wide)>>,
}

impl Code {
    /// The block; it must belong to a function that the kernel reaches.
    #[inline(always)]
    pub(crate) fn block(&self, block: BlockId) -> &CodeBlock {
        self.blocks[block].as_ref().expect("control stays in reachable functions")
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

/// An operation that the emulator does not execute, with the reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Unbound(pub(crate) Op, pub(crate) &'static str);
