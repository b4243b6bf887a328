//! Bound kernels of the [`Simt`](crate::Simt) engine: a flat array of steps with all operands resolved to rows, ready
//! to be run.

use warplens_base::IdMap;
use warplens_ir::FunctionId;
use warplens_isa::{
    AtomicOp, BarrierKind, ClusterPhase, GroupProduct, MatrixMove, MatrixProduct, OpaqueType, Operation, Pc,
    ScalarType, SpecialRegister, StateSpace, SystemCall, TensorCopy,
};

use crate::decoded::Register;
use crate::raw::{LaneFunction, Level, Row, Source};
use crate::semantics::warp::Exchange;

/// Marks a destination that nobody wants.
pub(crate) const SINK: u32 = u32::MAX;

/// Predicate under which an operation takes effect.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepGuard {
    /// The predicate, complemented if need be.
    pub(crate) predicate: Source,
    /// The observer hears of it: set on the first operation of an instruction.
    pub(crate) is_reported: bool,
}

/// One step of an operation.
pub(crate) struct Step {
    /// Lane function, for `Kind::Lane`.
    pub(crate) function: LaneFunction,
    /// Who executes it.
    pub(crate) kind: Kind,
    /// Guard.
    pub(crate) guard: Option<StepGuard>,
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
    /// A load of the first bytes, as many as the operand says; the index of its [`MemoryOperation`].
    LoadPart(u32),
    /// A copy of as many bytes as the operand says; the index of its [`BulkOperation`].
    Bulk(u32),
    /// Zeros in as many bytes as the operand says; the index of its [`MemoryOperation`].
    Fill(u32),
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
    /// The warp multiplies matrices; the index of its [`MatrixOperation`].
    Matrix(u32),
    /// The warp does its part in a product of four warps; the index of its [`GroupOperation`].
    GroupMatrix(u32),
    /// The warp loads matrices; the index of its [`MoveOperation`].
    LoadMatrices(u32),
    /// The warp stores matrices; the index of its [`MoveOperation`].
    StoreMatrices(u32),
    /// Mask of active lanes.
    ActiveMask,
    /// A texture or surface instruction; the index of its [`TextureOperation`].
    Texture(u32),
    /// CTA barrier; the index of its [`BarrierOperation`].
    Barrier(u32),
    /// A copy of a box of a tensor; the index of its [`TensorOperation`].
    Tensor(u32),
    /// Asks for the phase of a barrier in memory; the index of its [`PhaseOperation`].
    TestPhase(u32),
    /// Half of a barrier of the cluster.
    ClusterBarrier(ClusterPhase),
    /// An atomic in each CTA of a mask, which is the operand; the index of its [`MemoryOperation`].
    AtomicCluster(u32),
    /// Adds lanes to the mask of a convergence barrier.
    JoinConvergence(u32),
    /// Takes lanes out of the mask of a convergence barrier.
    BreakConvergence(u32),
    /// Reads the mask of a convergence barrier into the first destination.
    ReadConvergence(u32),
    /// Writes the mask of a convergence barrier.
    WriteConvergence(u32),
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
    /// The atomic is part of a copy of many bytes.
    pub(crate) is_copy: bool,
    /// The load asks a barrier in memory for a phase of this parity, of 64 bits.
    pub(crate) asks: Option<Source>,
    /// Volatile, acquire, release or atomic.
    pub(crate) ordered: bool,
    /// How its addresses lie to those of others.
    pub(crate) places: Places,
}

/// How the addresses of an operation lie to those of others of its block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Places {
    /// Anyhow.
    Own,
    /// Others follow that count from the same row; the index of what is kept for them.
    First(u32),
    /// Those of the first one, so many bytes further.
    Shifted(u32, i64),
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
            is_copy: false,
            asks: None,
            ordered: false,
            places: Places::Own,
        }
    }

    /// True where what is accessed is a barrier in memory that is told or asked something.
    #[inline(always)]
    pub(crate) fn speaks_to_barrier(&self) -> bool {
        self.asks.is_some() || matches!(self.atomic, Some((AtomicOp::Mbarrier(_), _)))
    }

    /// Bytes that each lane accesses.
    #[inline(always)]
    pub(crate) fn bytes(&self) -> u32 {
        u32::from(self.written_bytes) * u32::from(self.elements)
    }
}

/// A copy of many bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BulkOperation {
    /// The index of what is read, a [`MemoryOperation`] without values.
    pub(crate) from: u32,
    /// The same of what is written.
    pub(crate) to: u32,
    /// Type of the elements, 32 or 64 bits.
    pub(crate) ty: ScalarType,
    /// What is done to them, unless they are overwritten.
    pub(crate) reduction: Option<AtomicOp>,
    /// A second operand is the mask of the CTAs that are written to.
    pub(crate) multicast: bool,
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

/// A copy of a box of a tensor.
#[derive(Clone, Debug)]
pub(crate) struct TensorOperation {
    /// The index of the place in shared memory, a [`MemoryOperation`] without values.
    pub(crate) memory: u32,
    /// Address of the tensor map, in two rows.
    pub(crate) map: Source,
    pub(crate) coordinates: Vec<Source>,
    /// The mask of CTAs of a multicast copy.
    pub(crate) mask: Option<Source>,
    /// Where the bytes of the box go, two rows.
    pub(crate) bytes: u32,
    pub(crate) copy: TensorCopy,
}

/// A question for a phase of a barrier in memory.
#[derive(Clone, Debug)]
pub(crate) struct PhaseOperation {
    /// The index of the place, a [`MemoryOperation`] without values.
    pub(crate) memory: u32,
    /// The parity of the phase.
    pub(crate) parity: Source,
    /// Where the answer goes.
    pub(crate) destination: Option<Register>,
}

/// A product of matrices.
#[derive(Clone, Debug)]
pub(crate) struct MatrixOperation {
    /// What is computed.
    pub(crate) product: MatrixProduct,
    /// Registers of a, of b and of c, and of the metadata of a sparse a.
    pub(crate) sources: Vec<Source>,
    /// Registers of d.
    pub(crate) destinations: Vec<u32>,
}

/// The part of a warp in a product of four warps.
#[derive(Clone, Debug)]
pub(crate) struct GroupOperation {
    /// What is computed.
    pub(crate) product: GroupProduct,
    /// Registers of a, unless it lies in shared memory.
    pub(crate) a: Vec<Source>,
    /// The descriptor of a, if it lies in shared memory.
    pub(crate) a_descriptor: Option<Source>,
    /// The descriptor of b.
    pub(crate) b_descriptor: Source,
    /// The predicate that lets the accumulators count.
    pub(crate) adds: Source,
    /// Registers of the accumulators.
    pub(crate) sources: Vec<Source>,
    /// The register that says which elements of a are held, if it is sparse.
    pub(crate) metadata: Option<Source>,
    /// Registers of d.
    pub(crate) destinations: Vec<u32>,
}

/// Matrices that move between shared memory and registers.
#[derive(Clone, Debug)]
pub(crate) struct MoveOperation {
    /// How many, and how.
    pub(crate) matrices: MatrixMove,
    /// The index of the access to the rows, a [`MemoryOperation`]: four words in each lane that brings an address.
    pub(crate) memory: u32,
    /// Where these words are kept.
    pub(crate) words: [u32; 4],
    /// Registers loaded into, one per matrix.
    pub(crate) destinations: Vec<u32>,
    /// Registers stored, one per matrix.
    pub(crate) sources: Vec<Source>,
}

/// A texture or surface instruction.
#[derive(Clone, Debug)]
pub(crate) struct TextureOperation {
    /// What is done, with its payload.
    pub(crate) operation: Operation,
    /// Type of the result, or of an element.
    pub(crate) ty: ScalarType,
    /// Type of the coordinates of a fetch.
    pub(crate) source_ty: ScalarType,
    /// What the handle is of.
    pub(crate) opaque: OpaqueType,
    /// Handles, or addresses of opaque variables.
    pub(crate) handle: Source,
    /// The same of samplers.
    pub(crate) sampler: Option<Source>,
    /// Words: coordinates and what follows them.
    pub(crate) sources: Vec<Source>,
    /// Rows of the channels of a fetch, or of an answer.
    pub(crate) destinations: Vec<u32>,
    /// The predicate that is written.
    pub(crate) resident: u32,
    /// The access to the memory of a surface, with its values.
    pub(crate) memory: MemoryOperation,
}

/// A bound kernel with everything that it calls.
pub struct Code {
    /// CPU features that the handlers were chosen for.
    pub(crate) level: Level,
    /// Steps of all blocks.
    pub(crate) steps: Vec<Step>,
    /// By function: whether a row is kept as a word of its own even where it is part of a pair.
    pub(crate) split: IdMap<FunctionId, Vec<bool>>,
    /// Constant rows.
    pub(crate) pool: Vec<Row>,
    /// Memory operations.
    pub(crate) memory: Vec<MemoryOperation>,
    /// Copies of many bytes.
    pub(crate) bulk: Vec<BulkOperation>,
    /// Exchanges between lanes.
    pub(crate) exchanges: Vec<ExchangeOperation>,
    /// Products of matrices.
    pub(crate) matrices: Vec<MatrixOperation>,
    /// Copies of boxes of tensors.
    pub(crate) tensors: Vec<TensorOperation>,
    /// Questions for phases.
    pub(crate) phases: Vec<PhaseOperation>,
    /// Products of four warps.
    pub(crate) groups: Vec<GroupOperation>,
    /// Moves of matrices.
    pub(crate) moves: Vec<MoveOperation>,
    /// Texture and surface instructions.
    pub(crate) textures: Vec<TextureOperation>,
    /// Barriers.
    pub(crate) barriers: Vec<BarrierOperation>,
    /// Device runtime services: arguments and their widths.
    pub(crate) system: Vec<Vec<(Source, Wide)>>,
}

impl Code {
    /// Nothing yet, for a module of so many functions.
    pub(crate) fn new(level: Level, n_functions: usize) -> Self {
        Self {
            level,
            steps: Vec::new(),
            split: IdMap::filled(n_functions, Vec::new()),
            pool: Vec::new(),
            memory: Vec::new(),
            bulk: Vec::new(),
            exchanges: Vec::new(),
            matrices: Vec::new(),
            tensors: Vec::new(),
            phases: Vec::new(),
            groups: Vec::new(),
            moves: Vec::new(),
            textures: Vec::new(),
            barriers: Vec::new(),
            system: Vec::new(),
        }
    }
}
