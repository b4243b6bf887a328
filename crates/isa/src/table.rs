// tidy: table
//! What an instruction can be: the operations of the IR, with their class, their effect and what of the emulator
//! executes them; and the families by which sources, counts and costs know instructions.
//!
//! # Operands
//!
//! Sources stand in the order in which PTX writes them, destinations too. A value takes the low bits of its register;
//! results narrower than their word are zero-extended, whatever their sign. The exceptions are written below.
//!
//! | Operation | Types | Destinations | Sources |
//! |---|---|---|---|
//! | `Mov`, `Not`, `And`, `Or`, `Xor` on predicates | `Pred` | predicate | predicate, complement or 0/1 |
//! | `ReadSpecial` | of the result | value | `Special` |
//! | `Pack` | of the wide value | wide | parts, each of an equal share of the bits |
//! | `Unpack` | of the wide value | parts | wide |
//! | `Cvta`, `Isspacep` | of the address | address; predicate | address |
//! | `Add`, `Sub` with carry | of the result | sum, carry if `writes` | a, b, carry if `reads`; a borrow is a clear carry |
//! | `Add`, `Sub`, `Fma` with `source_ty` F16 or Bf16 | F32 | F32 | a (and b of `Fma`) in `source_ty`, the last in F32 |
//! | `FmaMixed` | F32 or F64 | value | a, b, c in the types of the payload, none wider |
//! | `Mad`, `MadHi` with carry | of the factors | d, carry if `writes` | a, b, c, carry if `reads` |
//! | `MulWide`, `MadWide` | of the factors | twice as wide | a, b; the addend is twice as wide |
//! | `Shl`, `Shr` | of the value | value | value, 32-bit amount |
//! | `Shf` | `B32` | value | low word, high word, 32-bit amount |
//! | `Popc`, `Clz`, `Bfind` | of the source | 32 bits | a |
//! | `Bfe` | of the value | value | value, 32-bit position, 32-bit length |
//! | `Bfi` | of the value | value | bits to insert, base, position, length |
//! | `Lop3` | `B32` | value, then predicate if combined | a, b, c, table, then predicate if combined |
//! | `Fns` | `B32` | position | mask, base, offset |
//! | `Prmt` | `B32` | value | a, b, selector |
//! | `Dp4a`, `Dp2a` | `ty` of a, `source_ty` of b | 32 bits | a, b, 32-bit c |
//! | `Set` | `ty` of the result, `source_ty` compared | value | a, b, then predicate if combined |
//! | `Setp` | `ty` = `source_ty` compared | p, then q | a, b, then predicate if combined |
//! | `Testp` | of the source | predicate | a |
//! | `Selp` | of the value | value | a, b, predicate |
//! | `Slct` | `ty` of the value, `source_ty` of c | value | a, b, c |
//! | `Cvt` | `ty` to, `source_ty` from | value | a; of packed results from scalars: upper, lower, the random bits of stochastic rounding |
//! | `CvtPack` | `ty` of the parts, for their sign alone where they are narrower, `source_ty` from | 32 bits | a, b, 32-bit c if the parts leave room |
//! | `Ld` | of an element | one per element | none; see below |
//! | `TestPhase` | `B64` | predicate | state of 64 bits, or parity of 32 |
//! | `St` | of an element | none | one per element; wider registers give their low bits |
//! | `Copy` | of an element | none | none, the predicate that asks for zeros, or the 32-bit number of bytes to read |
//! | `CopyBulk` | of an element of a reduction, else `B32` | none | 32-bit number of bytes, then the mask of CTAs if it is multicast |
//! | `FillBulk` | `B64` | none | 64-bit number of bytes, a multiple of 8 |
//! | `CopyTensor` | `B64` | bytes of the box, 64 bits | address of the tensor map, 32-bit coordinates, then the mask of CTAs if it is multicast; the memory is the place in shared memory |
//! | `CopyWait` | `U32` | none | number of groups, an immediate |
//! | `Atom`, `Red` | of an element | old value (`Atom`), one per element | operand; of `Cas`: compare, new |
//! | `RedCluster` | of an element | none | operand, 32-bit mask of CTAs |
//! | `Tex` | `ty` of the result, `source_ty` of the coordinates | components, then the predicate of residency | layer, coordinates, level or two gradients, offsets, sampler: as many of each as the payload says |
//! | `Tld4` | `ty` of the result, `source_ty` of the coordinates | texels, then the predicate of residency | layer, coordinates, offsets, sampler |
//! | `Suld`, `Sust`, `Sured` | of an element | values (`Suld`) | layer, coordinates; then values |
//! | `QueryTexture` | `B32` | value | handle, level if given |
//! | `Istypep` | of the address | predicate | address |
//! | `Shfl` | 32 bits | value, then predicate | value, lane or delta, clamp, member mask |
//! | `Vote` | `Pred` or `B32` (ballot) | predicate or mask | predicate, member mask |
//! | `Match` | of the value | mask, then predicate | value, member mask |
//! | `Redux` | of the value | value | value, member mask |
//! | `Elect` | `B32` | leader's lane, then predicate | member mask |
//! | `Activemask` | `B32` | mask | none |
//! | `Movmatrix` | `B16` | fragment of a row of the transpose | fragment of a row; 32 bits each |
//! | `MmaAsync` | of a register of d | registers of d | registers of a, or its 64-bit descriptor; that of b; predicate without which d counts as zeros; d as it was; then the metadata if a is sparse |
//! | `Ldmatrix` | `B32` | a register per matrix | none; the address of a row of four words |
//! | `Stmatrix` | `B32` | none | a register per matrix |
//! | `Mma` | of a register of d | registers of d | registers of a, of b, of c, then the metadata if a is sparse; 64 bits of `f64`, 32 of others |
//! | `Bar` | `Pred` or `U32` | result of a reduction | barrier, threads if given, predicate of a reduction |
//! | `ClusterBar` | `B32` | none | none |
//! | `BarWarp` | `B32` | none | member mask |
//! | `BrxIdx` | `U32` | none | index |
//! | `Jump` | `U64` | none | address |
//! | `Bssy` | `Pred` | convergence barrier | none |
//! | `Bsync`, `Break` | `Pred` | none | convergence barrier |
//! | `ReadConvergence` | `B32` | mask of lanes | convergence barrier |
//! | `WriteConvergence` | `B32` | convergence barrier | mask of lanes; those of the active lanes together |
//! | `Call`, `SystemCall` | `B32` | results | arguments |
//! | `Alloca` | of the address | address | bytes, alignment |
//! | `StackSave`, `StackRestore` | of the address | address; none | none; address |
//!
//! The lanes of a member mask wait for each other; all active lanes take part. A member mask that the source does not
//! give (`shfl`, `vote` of old PTX) is the immediate 0: nobody is waited for.
//! A load of a signed type that is narrower than its register extends the sign to the 32 or 64 bits of the register;
//! other loads extend with zeros. `Ld` from [`StateSpace::Param`](crate::StateSpace::Param) has the byte offset in the
//! parameter space as its address. The base of the memory that a texture or surface instruction touches is the handle of
//! its object, or the address of the opaque variable that holds the handle; its elements are those of a lane.

/// Hands the whole operation table to a macro: `with_ops!(consumer)` expands to
/// `consumer! { /// doc Name (name: Payload) => { class: rule, effect: name, bind: module::function } ... }`.
///
/// The payload is what refines the operation, with the name under which `bind` gets it; operations that nothing refines
/// have none. `class` is a rule of `ops.rs` that turns the type into an [`OpClass`](crate::OpClass); `effect` is an
/// [`Effect`](crate::Effect); `bind` is what of the emulator executes the operation. An operation without one of them does
/// not compile.
///
/// | `bind` | What executes the operation |
/// |---|---|
/// | `integer::function` | that function of `semantics/integer.rs`; its Rust types are those of the operands |
/// | `exchange::constructor` | the lanes of a warp together, as that constructor in `semantics/warp.rs` says |
/// | `module::function` | what that function in `bind/` picks for the type and the payload |
#[macro_export]
macro_rules! with_ops {
    ($consumer:ident) => {
        $consumer! {
            /// Copies a value.
            Mov => { class: virtual_, effect: None, bind: movement::mov }
            /// Reads a special register.
            ReadSpecial => { class: int, effect: Special, bind: movement::read_special }
            /// Concatenates narrow values into a wide register, least significant first.
            Pack => { class: virtual_, effect: None, bind: movement::pack }
            /// Splits a wide register into narrow values, least significant first.
            Unpack => { class: virtual_, effect: None, bind: movement::unpack }
            /// Turns an address of a state space into a generic one, or back.
            Cvta (conversion: AddressConversion) => { class: virtual_, effect: None, bind: movement::cvta }
            /// True when a generic address lies in the state space.
            Isspacep (space: StateSpace) => { class: int, effect: None, bind: movement::isspacep }

            /// Sum. With a carry it is the extended-precision form.
            Add (sum: Sum) => { class: by_type, effect: None, bind: arithmetic::add }
            /// Difference. With a carry it is the extended-precision form.
            Sub (sum: Sum) => { class: by_type, effect: None, bind: arithmetic::sub }
            /// Product: floating-point, or the low half of an integer product.
            Mul (product: Product) => { class: mul, effect: None, bind: arithmetic::mul }
            /// High half of an integer product.
            MulHi => { class: mul, effect: None, bind: arithmetic::mul_hi }
            /// Full integer product, twice as wide.
            MulWide => { class: mul, effect: None, bind: arithmetic::mul_wide }
            /// Low half of an integer product, plus an addend.
            Mad (carry: Carry) => { class: mul, effect: None, bind: arithmetic::mad }
            /// High half of an integer product, plus an addend.
            MadHi (high: HighMultiplyAdd) => { class: mul, effect: None, bind: arithmetic::mad_hi }
            /// Full integer product plus a wide addend.
            MadWide => { class: mul, effect: None, bind: arithmetic::mad_wide }
            /// Low 32 bits of a 24-bit product.
            Mul24 => { class: mul, effect: None, bind: arithmetic::mul24 }
            /// Bits 47 to 16 of a 24-bit product.
            Mul24Hi => { class: mul, effect: None, bind: arithmetic::mul24_hi }
            /// `Mul24` plus an addend.
            Mad24 => { class: mul, effect: None, bind: arithmetic::mad24 }
            /// `Mul24Hi` plus an addend.
            Mad24Hi (saturation: Saturation) => { class: mul, effect: None, bind: arithmetic::mad24_hi }
            /// Floating-point multiply-add with a single rounding.
            Fma (fused: FusedMultiplyAdd) => { class: by_type, effect: None, bind: arithmetic::fma }
            /// Floating-point multiply-add of operands that each have a type of their own: they are widened, which is
            /// exact, and rounded once.
            FmaMixed (types: MixedTypes) => { class: by_type, effect: None, bind: arithmetic::fma_mixed }
            /// Low word of the product of polynomials over two elements, plus a third.
            Clmad => { class: mul, effect: None, bind: integer::clmad_lo }
            /// The same of the high word.
            ClmadHi => { class: mul, effect: None, bind: integer::clmad_hi }
            /// Sum of absolute differences.
            Sad => { class: by_type, effect: None, bind: arithmetic::sad }
            /// Quotient.
            Div (accuracy: Accuracy) => { class: divide, effect: None, bind: arithmetic::div }
            /// Remainder of an integer division.
            Rem => { class: divide, effect: None, bind: arithmetic::rem }
            /// Absolute value.
            Abs (subnormals: Subnormals) => { class: by_type, effect: None, bind: arithmetic::abs }
            /// Negation.
            Neg (subnormals: Subnormals) => { class: by_type, effect: None, bind: arithmetic::neg }
            /// Minimum of two or three values.
            Min (extremum: Extremum) => { class: by_type, effect: None, bind: arithmetic::min }
            /// Maximum of two or three values.
            Max (extremum: Extremum) => { class: by_type, effect: None, bind: arithmetic::max }
            /// Reciprocal.
            Rcp (accuracy: Accuracy) => { class: special, effect: None, bind: special::rcp }
            /// Square root.
            Sqrt (accuracy: Accuracy) => { class: special, effect: None, bind: special::sqrt }
            /// Reciprocal square root.
            Rsqrt (approximation: Approximation) => { class: special, effect: None, bind: special::rsqrt }
            /// Sine.
            Sin (approximation: Approximation) => { class: special, effect: None, bind: special::sin }
            /// Cosine.
            Cos (approximation: Approximation) => { class: special, effect: None, bind: special::cos }
            /// Power of two.
            Ex2 (approximation: Approximation) => { class: special, effect: None, bind: special::ex2 }
            /// Binary logarithm.
            Lg2 (approximation: Approximation) => { class: special, effect: None, bind: special::lg2 }
            /// Hyperbolic tangent.
            Tanh (approximation: Approximation) => { class: special, effect: None, bind: special::tanh }
            /// Sign of the first operand on the magnitude of the second.
            Copysign => { class: by_type, effect: None, bind: arithmetic::copysign }
            /// Tests a property of a floating-point value.
            Testp (property: TestProperty) => { class: by_type, effect: None, bind: arithmetic::testp }

            /// Bitwise and.
            And => { class: int, effect: None, bind: bits::and }
            /// Bitwise or.
            Or => { class: int, effect: None, bind: bits::or }
            /// Bitwise exclusive or.
            Xor => { class: int, effect: None, bind: bits::xor }
            /// Bitwise complement.
            Not => { class: int, effect: None, bind: bits::not }
            /// Logical complement: 1 for zero, else 0.
            Cnot => { class: int, effect: None, bind: bits::cnot }
            /// Any bitwise function of three operands; the fourth is its truth table.
            Lop3 (combination: Combination) => { class: int, effect: None, bind: bits::lop3 }
            /// Left shift.
            Shl => { class: int, effect: None, bind: bits::shl }
            /// Right shift, arithmetic for signed types.
            Shr => { class: int, effect: None, bind: bits::shr }
            /// Funnel shift left or right.
            Shf (shift: FunnelShift) => { class: int, effect: None, bind: bits::shf }
            /// Number of ones.
            Popc => { class: int, effect: None, bind: bits::popc }
            /// Number of leading zeros.
            Clz => { class: int, effect: None, bind: bits::clz }
            /// Position of the most significant bit that differs from the sign, or the shift amount that brings it to
            /// the top.
            Bfind (answer: BfindAnswer) => { class: int, effect: None, bind: bits::bfind }
            /// Bit reversal.
            Brev => { class: int, effect: None, bind: bits::brev }
            /// Bit-field extract.
            Bfe => { class: int, effect: None, bind: bits::bfe }
            /// Bit-field insert.
            Bfi => { class: int, effect: None, bind: bits::bfi }
            /// Position of the n-th set bit.
            Fns => { class: int, effect: None, bind: integer::fns }
            /// Bit mask from position and width.
            Bmsk (mode: ShiftMode) => { class: int, effect: None, bind: bits::bmsk }
            /// Sign or zero extension from a bit position.
            Szext (mode: ShiftMode) => { class: int, effect: None, bind: bits::szext }
            /// Byte permutation.
            Prmt (mode: PrmtMode) => { class: int, effect: None, bind: bits::prmt }
            /// Four-way byte dot product, accumulated.
            Dp4a => { class: mul, effect: None, bind: arithmetic::dp4a }
            /// Two-way dot product of halves with bytes, accumulated.
            Dp2a (half: Dp2aHalf) => { class: mul, effect: None, bind: arithmetic::dp2a }

            /// Compares and writes an integer or float truth value.
            Set (comparison: Comparison) => { class: compare, effect: None, bind: predicate::set }
            /// Compares and writes predicates.
            Setp (comparison: Comparison) => { class: compare, effect: None, bind: predicate::setp }
            /// Selects by predicate.
            Selp => { class: int, effect: None, bind: predicate::selp }
            /// Selects by the sign of the third operand.
            Slct (subnormals: Subnormals) => { class: int, effect: None, bind: predicate::slct }
            /// Converts between types.
            Cvt (conversion: Conversion) => { class: convert, effect: None, bind: convert::cvt }
            /// Converts two 32-bit integers to narrow ones and packs them.
            CvtPack (width: PackedWidth) => { class: convert, effect: None, bind: convert::cvt_pack }

            /// Load.
            Ld (access: AccessOrder) => { class: load, effect: Load, bind: transfer::ld }
            /// Asks whether a phase of a barrier in memory has ended, or waits for it.
            TestPhase (of: PhaseOf) => { class: memory, effect: Load, bind: control::test_phase }
            /// Store.
            St (access: AccessOrder) => { class: memory, effect: Store, bind: transfer::st }
            /// Atomic that returns the old value.
            Atom (atomic: Atomic) => { class: atomic, effect: Atomic, bind: transfer::atom }
            /// Reduction to memory without a result.
            Red (atomic: Atomic) => { class: atomic, effect: Atomic, bind: transfer::red }
            /// The same reduction in each CTA of a mask of the cluster, at the same place of its shared memory.
            RedCluster (atomic: Atomic) => { class: atomic, effect: Atomic, bind: transfer::red_cluster }
            /// Copies from one memory to another without a register. What is not read is written as zeros.
            Copy (read: CopyRead) => { class: memory, effect: Store, bind: transfer::copy }
            /// Hint to the caches; has no effect on values.
            Prefetch => { class: memory, effect: Load, bind: control::nothing }
            /// Copies any number of bytes from one memory to another, or reduces them into it; each thread on its own.
            CopyBulk (bulk: BulkCopy) => { class: memory, effect: Store, bind: transfer::copy_bulk }
            /// Writes zeros to any number of bytes; each thread on its own.
            FillBulk => { class: memory, effect: Store, bind: transfer::fill_bulk }
            /// Copies a box between a tensor in global memory and shared memory; each thread on its own.
            CopyTensor (copy: TensorCopy) => { class: memory, effect: Store, bind: transfer::copy_tensor }
            /// Fetches from a texture through a sampler.
            Tex (fetch: TextureFetch) => { class: memory, effect: Load, bind: texture::fetch }
            /// Fetches one component of the four texels that a linear filter mixes.
            Tld4 (gather: TextureGather) => { class: memory, effect: Load, bind: texture::gather }
            /// Loads from a surface.
            Suld (access: SurfaceAccess) => { class: memory, effect: Load, bind: texture::surface_load }
            /// Stores to a surface.
            Sust (access: SurfaceAccess) => { class: memory, effect: Store, bind: texture::surface_store }
            /// Reduces a value into a surface.
            Sured (reduction: SurfaceReduction) => { class: atomic, effect: Atomic, bind: texture::surface_reduce }
            /// Reads a property of a texture, a sampler or a surface.
            QueryTexture (query: ObjectQuery) => { class: other, effect: Special, bind: texture::query }
            /// True when an address is that of an opaque variable, or a value the handle of an object, of this type.
            Istypep (opaque: OpaqueType) => { class: int, effect: Special, bind: texture::is_type }
            /// Closes a group of the thread's asynchronous copies.
            CopyCommit => { class: memory, effect: Fence, bind: control::nothing }
            /// Waits until no more groups of the thread's asynchronous copies are on their way than the number says.
            CopyWait => { class: memory, effect: Fence, bind: control::nothing }

            /// Reads another lane's value.
            Shfl (mode: ShuffleMode) => { class: warp, effect: Exchange, bind: exchange::shfl }
            /// Asks the lanes of a warp for a predicate.
            Vote (mode: VoteMode) => { class: warp, effect: Vote, bind: exchange::vote }
            /// Finds the lanes with the same value.
            Match (mode: MatchMode) => { class: warp, effect: Vote, bind: exchange::match_ }
            /// Mask of the lanes that execute together.
            Activemask => { class: warp, effect: Vote, bind: control::activemask }
            /// Reduces a value over the lanes of a warp.
            Redux (reduction: Reduction) => { class: warp, effect: Vote, bind: exchange::redux }
            /// Elects one lane.
            Elect => { class: warp, effect: Exchange, bind: exchange::elect }
            /// Transposes a matrix of which each lane holds a part.
            Movmatrix => { class: warp, effect: Exchange, bind: exchange::movmatrix }
            /// Product of matrices of which each lane holds a part, plus an accumulator.
            Mma (product: MatrixProduct) => { class: tensor, effect: Exchange, bind: matrix::mma }
            /// The part of a warp in a product of matrices that four warps carry out together; what is in shared memory is
            /// told by descriptors.
            MmaAsync (group: GroupProduct) => { class: tensor, effect: Fence, bind: matrix::mma_async }
            /// Loads matrices from shared memory: lanes bring the addresses of rows, and each receives a part of a row of
            /// each matrix.
            Ldmatrix (matrices: MatrixMove) => { class: load, effect: Load, bind: matrix::load }
            /// Stores matrices, of which each lane holds a part of a row, to the addresses of rows that lanes bring.
            Stmatrix (matrices: MatrixMove) => { class: memory, effect: Store, bind: matrix::store }

            /// Branch; the targets stand at the block.
            Bra (hint: Branch) => { class: control, effect: End, bind: control::branch }
            /// Branch through a table of targets.
            BrxIdx (hint: Branch) => { class: control, effect: End, bind: control::branch_indexed }
            /// Branch to the address that a 64-bit register holds; the targets by address stand at the block.
            Jump => { class: control, effect: End, bind: control::jump }
            /// Call; the target stands at the block.
            Call (hint: Branch) => { class: control, effect: End, bind: control::call }
            /// Return.
            Ret => { class: control, effect: End, bind: control::ret }
            /// Ends the thread.
            Exit => { class: control, effect: End, bind: control::exit }
            /// Aborts the launch.
            Trap => { class: control, effect: End, bind: control::trap }
            /// Adds the lanes to the mask of the convergence barrier: they will wait for each other at a `Bsync` on it.
            Bssy => { class: control, effect: Fence, bind: control::join_convergence }
            /// Waits until all lanes in the mask of the convergence barrier that have not exited wait at it, wherever
            /// they do; the mask is empty then. Lanes that are not in the mask go on.
            Bsync => { class: control, effect: End, bind: control::bsync }
            /// Takes the lanes out of the mask of the convergence barrier: nobody waits there for them.
            Break => { class: control, effect: Fence, bind: control::break_convergence }
            /// Reads the mask of the convergence barrier, the same in all lanes.
            ReadConvergence => { class: control, effect: Fence, bind: control::read_convergence }
            /// Writes the mask of the convergence barrier.
            WriteConvergence => { class: control, effect: Fence, bind: control::write_convergence }
            /// Does nothing that a thread can see: `nanosleep`, `pmevent`, `brkpt`, `discard` and the like.
            Nop => { class: other, effect: Fence, bind: control::nothing }

            /// CTA barrier.
            Bar (kind: BarrierKind) => { class: barrier, effect: Fence, bind: control::bar }
            /// Barrier of a cluster of CTAs.
            ClusterBar (phase: ClusterPhase) => { class: barrier, effect: Fence, bind: control::cluster_bar }
            /// Barrier among lanes of one warp.
            BarWarp => { class: barrier, effect: Fence, bind: exchange::bar_warp }
            /// Memory fence.
            Fence => { class: barrier, effect: Fence, bind: control::nothing }

            /// Reserves stack space of the thread.
            Alloca => { class: other, effect: Fence, bind: control::alloca }
            /// Reads the stack pointer.
            StackSave => { class: other, effect: Special, bind: control::stack_save }
            /// Writes the stack pointer.
            StackRestore => { class: other, effect: Fence, bind: control::stack_restore }
            /// A system call that the emulator serves, such as `vprintf` or `malloc`.
            SystemCall (service: SystemCall) => { class: control, effect: Call, bind: control::system_call }
            /// An instruction that the emulator does not execute yet.
            Unsupported => { class: other, effect: Call, bind: control::unsupported }
        }
    };
}

/// Hands the families to a macro, each with its name, in the order of the names.
///
/// Those that the emulator executes are called by the word that starts them in PTX; those that it does not execute are as
/// fine as machine code tells them apart, with dots in their names.
macro_rules! with_families {
    ($consumer:ident) => {
        $consumer! {
            Abs "abs", Activemask "activemask", Add "add", Addc "addc", Alloca "alloca", And "and",
            Applypriority "applypriority", Atom "atom", Bar "bar", Barrier "barrier",
            BarrierClusterArrive "barrier.cluster.arrive", BarrierClusterWait "barrier.cluster.wait", Bfe "bfe",
            Bfi "bfi", Bfind "bfind", Bmsk "bmsk", Bra "bra", Brev "brev", Brkpt "brkpt", Brx "brx", Call "call",
            Clmad "clmad", Clusterlaunchcontrol "clusterlaunchcontrol", Clz "clz", Cnot "cnot", Copysign "copysign",
            Cos "cos", CpAsync "cp.async", CpAsyncBulk "cp.async.bulk",
            CpAsyncBulkCommitGroup "cp.async.bulk.commit_group", CpAsyncBulkPrefetch "cp.async.bulk.prefetch",
            CpAsyncBulkPrefetchTensor "cp.async.bulk.prefetch.tensor", CpAsyncBulkTensor "cp.async.bulk.tensor",
            CpAsyncBulkWaitGroup "cp.async.bulk.wait_group", CpAsyncCommitGroup "cp.async.commit_group",
            CpAsyncMbarrierArrive "cp.async.mbarrier.arrive", CpAsyncWaitGroup "cp.async.wait_group",
            CpReduceAsyncBulk "cp.reduce.async.bulk", CpReduceAsyncBulkTensor "cp.reduce.async.bulk.tensor",
            Createpolicy "createpolicy", Cvt "cvt", Cvta "cvta", Discard "discard", Div "div", Dp2a "dp2a",
            Dp4a "dp4a", Elect "elect", Ex2 "ex2", Exit "exit", Fabric "fabric", Fence "fence", Fma "fma", Fns "fns",
            Getctarank "getctarank", Griddepcontrol "griddepcontrol", Isspacep "isspacep", Istypep "istypep", Ld "ld",
            Ldmatrix "ldmatrix", Ldu "ldu", Lg2 "lg2", Lop3 "lop3", Mad "mad", Mad24 "mad24", Madc "madc", Mapa "mapa",
            Match "match", Max "max", MbarrierArrive "mbarrier.arrive", MbarrierArriveDrop "mbarrier.arrive_drop",
            MbarrierCheckLayout "mbarrier.check_layout", MbarrierCompleteTx "mbarrier.complete_tx",
            MbarrierExpectTx "mbarrier.expect_tx", MbarrierInit "mbarrier.init", MbarrierInval "mbarrier.inval",
            MbarrierPendingCount "mbarrier.pending_count", MbarrierTestWait "mbarrier.test_wait",
            MbarrierTryWait "mbarrier.try_wait", Membar "membar", Min "min", Mma "mma", MmaSp "mma.sp", Mov "mov",
            Movmatrix "movmatrix", Mul "mul", Mul24 "mul24", Multimem "multimem", Nanosleep "nanosleep", Neg "neg",
            Not "not", Or "or", Pmevent "pmevent", Popc "popc", Prefetch "prefetch", Prefetchu "prefetchu",
            Prmt "prmt", Rcp "rcp", Red "red", RedAsync "red.async", Redux "redux", Rem "rem", Ret "ret",
            Rsqrt "rsqrt", Sad "sad", Selp "selp", Set "set", Setmaxnreg "setmaxnreg", Setp "setp", Shf "shf",
            Shfl "shfl", Shl "shl", Shr "shr", Sin "sin", Slct "slct", Sqrt "sqrt", St "st", StAsync "st.async",
            StBulk "st.bulk", Stackrestore "stackrestore", Stacksave "stacksave", Stmatrix "stmatrix", Sub "sub",
            Subc "subc", Suld "suld", Suq "suq", Sured "sured", Sust "sust", Szext "szext", Tanh "tanh",
            Tcgen05Alloc "tcgen05.alloc", Tcgen05Commit "tcgen05.commit", Tcgen05Cp "tcgen05.cp",
            Tcgen05Dealloc "tcgen05.dealloc", Tcgen05Fence "tcgen05.fence", Tcgen05Ld "tcgen05.ld",
            Tcgen05Mma "tcgen05.mma", Tcgen05RelinquishAllocPermit "tcgen05.relinquish_alloc_permit",
            Tcgen05Shift "tcgen05.shift", Tcgen05St "tcgen05.st", Tcgen05Wait "tcgen05.wait",
            TensormapCpFenceproxy "tensormap.cp_fenceproxy", TensormapReplace "tensormap.replace", Testp "testp",
            Tex "tex", Tld4 "tld4", Trap "trap", Txq "txq", Unknown "unknown", Vabsdiff "vabsdiff",
            Vabsdiff2 "vabsdiff2", Vabsdiff4 "vabsdiff4", Vadd "vadd", Vadd2 "vadd2", Vadd4 "vadd4", Vavrg2 "vavrg2",
            Vavrg4 "vavrg4", Vmad "vmad", Vmax "vmax", Vmax2 "vmax2", Vmax4 "vmax4", Vmin "vmin", Vmin2 "vmin2",
            Vmin4 "vmin4", Vote "vote", Vset "vset", Vset2 "vset2", Vset4 "vset4", Vshl "vshl", Vshr "vshr",
            Vsub "vsub", Vsub2 "vsub2", Vsub4 "vsub4", WgmmaCommitGroup "wgmma.commit_group", WgmmaFence "wgmma.fence",
            WgmmaMmaAsync "wgmma.mma_async", WgmmaMmaAsyncSp "wgmma.mma_async.sp", WgmmaWaitGroup "wgmma.wait_group", WmmaLoad "wmma.load",
            WmmaMma "wmma.mma", WmmaStore "wmma.store", Xor "xor",
        }
    };
}
pub(crate) use with_families;
