//! The table of machine parameters: one row is one parameter, with its name, unit and meaning.
//!
//! Everything that must know all parameters (the loader, the listing, the manual) reads this table, so a parameter is
//! added by adding a row.

use crate::unit::Unit;
use crate::word::Words;

/// What a parameter's value looks like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// One number.
    Number,
    /// A list of numbers in ascending order.
    List,
    /// One of a few words.
    Word(&'static [&'static str]),
    /// A number of instructions per lane kind: `{ fp32 = 8, sfu = 1 }`.
    Mix,
}

/// With what a duration in cycles scales.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scaling {
    /// The value does not depend on the clock, or is a property of the SM's pipelines in its own cycles.
    Fixed,
    /// The thing measured lies outside the SM's clock: kept in nanoseconds, read as cycles of the chosen clock.
    WallTime,
}

macro_rules! shape {
    () => {
        Shape::Number
    };
    (list) => {
        Shape::List
    };
    (mix) => {
        Shape::Mix
    };
    (word $($(#[doc = $doc:literal])+ $word:ident = $name:literal),+) => {
        Shape::Word(&[$($name),+])
    };
}

/// The enum of a row that lists words; nothing for other rows.
macro_rules! words {
    ($(#[doc = $doc:literal])+ $key:ident word $($(#[doc = $about:literal])+ $word:ident = $name:literal),+) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $key {
            $($(#[doc = $about])+ $word,)+
        }

        impl Words for $key {
            const KEY: Key = Key::$key;
            const ALL: &'static [Self] = &[$(Self::$word),+];

            fn name(self) -> &'static str {
                match self { $(Self::$word => $name,)+ }
            }
        }
    };
    ($(#[$doc:meta])+ $key:ident $($other:tt)*) => {};
}

macro_rules! scaling {
    (WallCycles) => {
        Scaling::WallTime
    };
    ($unit:ident) => {
        Scaling::Fixed
    };
}

macro_rules! unit {
    (WallCycles) => {
        Unit::Cycles
    };
    ($unit:ident) => {
        Unit::$unit
    };
}

macro_rules! keys {
    ($($(#[doc = $doc:literal])+ $key:ident = $name:literal, $unit:ident $([$($shape:tt)+])?;)*) => {
        /// The words of the parameters whose value is a word, each an enum of the name of its key.
        pub mod words {
            use super::{Key, Words};

            $(words! { $(#[doc = $doc])+ $key $($($shape)+)? })*
        }

        /// A machine parameter.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Key {
            $($(#[doc = $doc])+ $key,)*
        }

        impl Key {
            /// Every parameter, in the order of the table.
            pub const ALL: &'static [Key] = &[$(Key::$key),*];

            /// The dotted name, as machine files and messages write it: `dram.achieved_bandwidth`.
            pub const fn name(self) -> &'static str {
                match self { $(Key::$key => $name,)* }
            }

            /// The unit in which the parameter is read.
            pub const fn unit(self) -> Unit {
                match self { $(Key::$key => unit!($unit),)* }
            }

            /// What a value looks like.
            pub const fn shape(self) -> Shape {
                match self { $(Key::$key => shape!($($($shape)+)?),)* }
            }

            /// Whether the value is kept in nanoseconds and follows the clock.
            pub const fn scaling(self) -> Scaling {
                match self { $(Key::$key => scaling!($unit),)* }
            }

            /// One sentence on what the parameter is.
            pub fn doc(self) -> &'static str {
                match self { $(Key::$key => concat!($($doc),+),)* }.trim()
            }
        }
    };
}

keys! {
    /// Number of SMs.
    SmCount = "sm.count", Count;
    /// Sub-partitions of one SM, each with a warp scheduler of its own.
    SmSubpartitions = "sm.subpartitions", Count;
    /// Warp instructions that one SM can issue per cycle.
    SmIssuePerClk = "sm.issue_per_clk", PerCycle;
    /// SMs that share one memory pipeline (a texture/processor cluster).
    SmPerCluster = "sm.per_cluster", Count;

    /// The clock of predictions where no other is asked for: the hot clock on compute capability 1.x and 2.x, else boost.
    ClockDefault = "clock.default", Hertz;
    /// Clock of the lanes on compute capability 1.x and 2.x.
    ClockHot = "clock.hot", Hertz;
    /// Clock of the rest of the chip on compute capability 1.x and 2.x.
    ClockCore = "clock.core", Hertz;
    /// Guaranteed SM clock.
    ClockBase = "clock.base", Hertz;
    /// Boost SM clock.
    ClockBoost = "clock.boost", Hertz;

    /// Single-precision results per cycle of one SM.
    LanesFp32 = "lanes.fp32", PerCycle;
    /// Single-precision multiplications per cycle of one SM, where another unit helps with them.
    LanesFp32Mul = "lanes.fp32_mul", PerCycle;
    /// Double-precision results per cycle of one SM.
    LanesFp64 = "lanes.fp64", PerCycle;
    /// Half-precision results per cycle of one SM, two per packed operation.
    LanesFp16 = "lanes.fp16", PerCycle;
    /// 32-bit integer additions per cycle of one SM.
    LanesInt32Add = "lanes.int32_add", PerCycle;
    /// 32-bit integer multiplications per cycle of one SM; 0 where they are made of narrower ones.
    LanesInt32Mul = "lanes.int32_mul", PerCycle;
    /// Special-function results per cycle of one SM.
    LanesSfu = "lanes.sfu", PerCycle;
    /// Type conversions per cycle of one SM.
    LanesConversion = "lanes.conversion", PerCycle;
    /// Threads per cycle of one SM that can arrive at a barrier.
    LanesBarrier = "lanes.barrier", PerCycle;
    /// Lanes of memory instructions that one SM handles per cycle.
    LanesLdst = "lanes.ldst", PerCycle;
    /// Texture fetches of a lane that the texture units of one SM do per cycle: one for each unit.
    LanesTexture = "lanes.texture", PerCycle;
    /// Dense half-precision tensor multiply-adds per cycle of one SM, by groups of warps where it has such operations. Of
    /// elements of twice the width it does half as many, of half the width twice as many.
    LanesTensorFma = "lanes.tensor_fma", PerCycle;
    /// The same by operations of one warp that give half-precision or integer results.
    LanesTensorWarp = "lanes.tensor_warp", PerCycle;
    /// The same by operations of one warp that give single-precision results.
    LanesTensorWarpFp32 = "lanes.tensor_warp_fp32", PerCycle;
    /// Double-precision tensor multiply-adds per cycle of one SM.
    LanesTensorFp64 = "lanes.tensor_fp64", PerCycle;

    /// Resident threads per SM.
    LimitsMaxThreads = "limits.max_threads", Count;
    /// Resident warps per SM.
    LimitsMaxWarps = "limits.max_warps", Count;
    /// Resident CTAs per SM.
    LimitsMaxBlocks = "limits.max_blocks", Count;
    /// Barriers of all resident CTAs of an SM together, where they can limit residency.
    LimitsMaxBarriers = "limits.max_barriers", Count;
    /// 32-bit registers per SM.
    LimitsRegisters = "limits.registers", Count;
    /// 32-bit registers that one CTA may use.
    LimitsMaxRegistersPerBlock = "limits.max_registers_per_block", Count;
    /// Registers that one thread may use.
    LimitsMaxRegsPerThread = "limits.max_regs_per_thread", Count;
    /// Registers are handed out in multiples of this number.
    LimitsRegAllocUnit = "limits.reg_alloc_unit", Count;
    /// Whether registers are handed out per warp or per CTA.
    LimitsRegAllocScope = "limits.reg_alloc_scope", Count [word
        /// Per warp.
        Warp = "warp",
        /// Per CTA.
        Block = "block"
    ];
    /// Warps of a CTA are rounded up to a multiple of this number when registers are handed out.
    LimitsWarpAllocGranularity = "limits.warp_alloc_granularity", Count;
    /// Threads that one CTA may have.
    LimitsMaxThreadsPerBlock = "limits.max_threads_per_block", Count;

    /// Shared memory per SM at its largest setting.
    SharedBytes = "shared.bytes", Bytes;
    /// Sizes to which the shared memory of an SM can be set.
    SharedConfigurable = "shared.configurable", Bytes [list];
    /// Shared memory that a CTA may use without asking for more.
    SharedMaxPerBlock = "shared.max_per_block", Bytes;
    /// Shared memory that a CTA may use after its kernel opted in.
    SharedMaxPerBlockOptin = "shared.max_per_block_optin", Bytes;
    /// Shared memory is handed out in multiples of this size.
    SharedAllocGranularity = "shared.alloc_granularity", Bytes;
    /// Shared memory that the system takes from each CTA.
    SharedReservedPerBlock = "shared.reserved_per_block", Bytes;
    /// Banks of the shared memory.
    SharedBanks = "shared.banks", Count;
    /// Width of a bank.
    SharedBankWidth = "shared.bank_width", Bytes;
    /// Cycles that one pass over the banks occupies the shared memory.
    SharedPassCycles = "shared.pass_cycles", Cycles;
    /// Cycles by which each further pass of a bank conflict delays the result.
    SharedPassLatency = "shared.pass_latency", Cycles;

    /// Bytes per cycle that one SM draws from the shared memory of others in its cluster.
    SharedClusterBytesPerClk = "shared.cluster_bytes_per_clk", BytesPerCycle;

    /// Size of the L1 data cache of one SM (with the shared memory where the two are one); 0 where there is none.
    L1Size = "l1.size", Bytes;
    /// Whether the L1 cache and shared memory are one memory.
    L1UnifiedWithShared = "l1.unified_with_shared", Count [word
        /// One memory.
        Yes = "yes",
        /// Two.
        No = "no"
    ];
    /// Line of the L1 cache.
    L1LineBytes = "l1.line_bytes", Bytes;
    /// The part of an L1 line that is fetched at once.
    L1SectorBytes = "l1.sector_bytes", Bytes;
    /// Distinct lines that the L1 cache looks up per cycle.
    L1TagsPerClk = "l1.tags_per_clk", PerCycle;
    /// Bytes per cycle that the L1 cache of one SM can deliver.
    L1BytesPerClk = "l1.bytes_per_clk", BytesPerCycle;
    /// Bytes per cycle that a benchmark drew from the L1 cache of one SM.
    L1AchievedBytesPerClk = "l1.achieved_bytes_per_clk", BytesPerCycle;
    /// Whether global loads are kept in the L1 cache.
    L1GlobalLoads = "l1.global_loads", Count [word
        /// They are.
        Yes = "yes",
        /// They pass it by.
        No = "no"
    ];

    /// Size of the L2 cache; 0 where there is none for data.
    L2Size = "l2.size", Bytes;
    /// Line of the L2 cache.
    L2LineBytes = "l2.line_bytes", Bytes;
    /// The part of an L2 line that is fetched at once.
    L2SectorBytes = "l2.sector_bytes", Bytes;
    /// Bandwidth that a benchmark drew from the L2 cache.
    L2AchievedBandwidth = "l2.achieved_bandwidth", BytesPerSecond;
    /// Bytes per cycle between the L2 cache and one SM.
    L2SmBytesPerClk = "l2.sm_bytes_per_clk", BytesPerCycle;
    /// Sectors of the L2 cache that are loaded in the time that a request takes at least, however few it asks for.
    L2RequestSectors = "l2.request_sectors", Count;
    /// Sectors of the L2 cache that are loaded in the time in which one is stored.
    L2StoreCost = "l2.store_cost", Count;
    /// Cycles from one atomic operation on a word of the L2 cache to the next on the same word.
    L2AtomicCycles = "l2.atomic_cycles", Cycles;
    /// Cycles from one atomic operation on a floating-point number in the L2 cache to the next on the same one.
    L2FloatAtomicCycles = "l2.float_atomic_cycles", Cycles;
    /// Bytes beside each other that lie in one slice of the L2 cache.
    L2SliceBytes = "l2.slice_bytes", Bytes;
    /// Cycles for which a slice of the L2 cache does what an atomic instruction asks for in a sector.
    L2AtomicSectorCycles = "l2.atomic_sector_cycles", Cycles;
    /// Cycles from one atomic operation on 64-bit floating-point numbers to the next in a slice of the L2 cache, whichever
    /// numbers they are of.
    L2DoubleAtomicCycles = "l2.double_atomic_cycles", Cycles;
    /// Slices of the L2 cache, which serve requests beside each other.
    L2Slices = "l2.slices", Count;

    /// Kind of device memory.
    DramType = "dram.type", Count [word
        /// GDDR3.
        Gddr3 = "GDDR3",
        /// GDDR5.
        Gddr5 = "GDDR5",
        /// GDDR5X.
        Gddr5x = "GDDR5X",
        /// GDDR6.
        Gddr6 = "GDDR6",
        /// GDDR6X.
        Gddr6x = "GDDR6X",
        /// GDDR7.
        Gddr7 = "GDDR7",
        /// HBM2.
        Hbm2 = "HBM2",
        /// HBM2e.
        Hbm2e = "HBM2e",
        /// HBM3.
        Hbm3 = "HBM3",
        /// HBM3e.
        Hbm3e = "HBM3e"
    ];
    /// Width of the device-memory interface.
    DramBusBits = "dram.bus_bits", Bits;
    /// Transfers per second and wire of the device memory.
    DramTransferRate = "dram.transfer_rate", TransfersPerSecond;
    /// Bandwidth of the device memory by its data sheet.
    DramPeakBandwidth = "dram.peak_bandwidth", BytesPerSecond;
    /// Bandwidth of the device memory that the triad kernel reached.
    DramAchievedBandwidth = "dram.achieved_bandwidth", BytesPerSecond;
    /// Achieved bandwidth of a kernel that only reads or only writes, where it was measured.
    DramOneWayBandwidth = "dram.one_way_bandwidth", BytesPerSecond;
    /// Round trip of one load to device memory on an idle machine.
    DramLatency = "dram.latency", WallCycles;
    /// Time between two rows of one bank of the device memory.
    DramRowCycle = "dram.row_cycle", WallCycles;
    /// Time by which a load from device memory is later where the memory is as busy as can be with as many bytes written as
    /// read.
    DramTurnaround = "dram.turnaround", WallCycles;
    /// Bytes that a load which misses the L2 cache brings from the device memory, as aligned.
    DramFetchBytes = "dram.fetch_bytes", Bytes;
    /// Time between two rows that the device memory opens, in any of its banks: what loads from everywhere wait for.
    DramActivationInterval = "dram.activation_interval", WallCycles;
    /// Channels of the device memory, where addresses are spread over them in order.
    DramChannels = "dram.channels", Count;
    /// Bytes after which addresses go on to the next channel.
    DramInterleave = "dram.interleave", Bytes;
    /// Distance between two 32-byte transactions of one SM at full bandwidth.
    DramDepartureDelay32 = "dram.departure_delay_32", WallCycles;
    /// Distance between two 64-byte transactions of one SM at full bandwidth.
    DramDepartureDelay64 = "dram.departure_delay_64", WallCycles;
    /// Distance between two 128-byte transactions of one SM at full bandwidth.
    DramDepartureDelay128 = "dram.departure_delay_128", WallCycles;
    /// Distance between two 32-byte transactions of a vector load.
    DramDepartureDelayVector = "dram.departure_delay_vector", WallCycles;
    /// Distance between two coalesced transactions of one SM, as the MWP-CWP model means it.
    HongKimDepartureDelayCoalesced = "hong_kim.departure_delay_coalesced", WallCycles;
    /// Distance between two uncoalesced transactions of one SM, as the MWP-CWP model means it.
    HongKimDepartureDelayUncoalesced = "hong_kim.departure_delay_uncoalesced", WallCycles;

    /// Cycles in which an instruction of fixed latency reads its registers, which lie in two banks, those of even and of odd
    /// numbers, with one register per cycle each. Where it is unknown, banks of registers are not modelled.
    RegistersReadCycles = "registers.read_cycles", Cycles;

    /// Cycles from a single-precision operation to the first that can use its result.
    LatencyFp32 = "latency.fp32", Cycles;
    /// Cycles from a 32-bit integer operation to the first that can use its result.
    LatencyInt32 = "latency.int32", Cycles;
    /// Cycles from a 32-bit integer multiplication to the first operation that can use its result.
    LatencyInt32Mul = "latency.int32_mul", Cycles;
    /// Cycles from a half-precision operation to the first that can use its result.
    LatencyFp16 = "latency.fp16", Cycles;
    /// Cycles from a double-precision operation to the first that can use its result.
    LatencyFp64 = "latency.fp64", Cycles;
    /// Cycles from a special-function operation to the first that can use its result.
    LatencySfu = "latency.sfu", Cycles;
    /// Cycles from a type conversion to the first operation that can use its result.
    LatencyConversion = "latency.conversion", Cycles;
    /// Cycles from a comparison to the first instruction that its predicate can guard.
    LatencyPredicate = "latency.predicate", Cycles;
    /// Cycles from a 16x8x16 half-precision tensor operation to the next that adds to its result.
    LatencyTensor = "latency.tensor", Cycles;
    /// The same of a 16x8x8 half-precision tensor operation, or another of at most as many bits.
    LatencyTensorHalf = "latency.tensor_half", Cycles;
    /// Cycles from the end of the work of a tensor operation of a group of warps until its result can be waited for.
    LatencyTensorAsync = "latency.tensor_async", Cycles;
    /// Cycles from a double-precision tensor operation to the next that adds to its result.
    LatencyTensorFp64 = "latency.tensor_fp64", Cycles;
    /// Cycles of a conflict-free load from shared memory.
    LatencyShared = "latency.shared", Cycles;
    /// Cycles of an exchange between the lanes of a warp.
    LatencyShuffle = "latency.shuffle", Cycles;
    /// Cycles of an atomic operation on shared memory.
    LatencySharedAtomic = "latency.shared_atomic", Cycles;
    /// Cycles from a branch to the warp's next instruction.
    LatencyBranch = "latency.branch", Cycles;
    /// Cycles from the last arrival at a barrier to the next instruction of its warps.
    LatencyBarrier = "latency.barrier", Cycles;
    /// Cycles of a load from the shared memory of another SM in the cluster.
    LatencyClusterShared = "latency.cluster_shared", Cycles;
    /// Cycles from the last arrival at the barrier of a cluster to the next instruction of its warps.
    LatencyClusterBarrier = "latency.cluster_barrier", Cycles;
    /// Cycles from a bulk copy to its bytes in shared memory beyond those of a load.
    LatencyBulkCopy = "latency.bulk_copy", Cycles;
    /// Cycles of a memory fence.
    LatencyFence = "latency.fence", Cycles;
    /// Cycles from an operation on values that are the same in all lanes to the first that can use its result.
    LatencyUniform = "latency.uniform", Cycles;
    /// Cycles of an arithmetic operation with an operand in shared memory (compute capability 1.x).
    LatencySharedOperand = "latency.shared_operand", Cycles;
    /// Cycles of a load that hits the L1 cache.
    LatencyL1 = "latency.l1", Cycles;
    /// Round trip of a load that hits the near part of the L2 cache.
    LatencyL2 = "latency.l2", WallCycles;
    /// Round trip of a load that hits the far part of the L2 cache.
    LatencyL2Far = "latency.l2_far", WallCycles;

    /// Which of the ready warps a scheduler takes: the next in turn, the one that has been ready for longest, or the
    /// last one while it is ready and else the oldest or the youngest.
    IssuePolicy = "issue.policy", Count [word
        /// The next warp after the one that issued last.
        LooseRoundRobin = "loose_round_robin",
        /// The one that has been ready for longest.
        LongestReady = "longest_ready",
        /// The warp that issued last while it is ready, else the oldest.
        GreedyThenOldest = "greedy_oldest",
        /// The warp that issued last while it is ready, else the youngest.
        GreedyThenYoungest = "greedy_youngest"
    ];
    /// Cycles from one choice of a warp scheduler to its next.
    IssueInterval = "issue.interval", Cycles;
    /// Instructions of one warp that a scheduler may issue together.
    IssueWidth = "issue.width", Count;
    /// What an instruction occupies for its issue latency: the scheduler, or only its unit.
    IssueOccupies = "issue.occupies", Count [word
        /// The scheduler: nothing else is issued meanwhile (compute capability 1.x).
        Scheduler = "scheduler",
        /// Its unit only.
        Unit = "unit"
    ];
    /// When operands must be there: all at issue, or the addend of a multiply-add with a shared operand later.
    IssueScoreboard = "issue.scoreboard", Count [word
        /// All of them when it is issued.
        AtIssue = "at_issue",
        /// The addend of a multiply-add whose other operand comes from shared memory when the product is made, the others
        /// when it is issued.
        LateAddend = "late_addend"
    ];
    /// Whether integer additions have lanes of their own or those of single precision.
    PipeInt = "pipe.int", Count [word
        /// Lanes of their own.
        Own = "own",
        /// Those of single precision.
        Fp32 = "fp32"
    ];
    /// Cycles before the same warp can issue again after a single-precision or integer operation.
    SameWarpFp32 = "issue.same_warp_fp32", Cycles;
    /// Cycles before the same warp can issue again after a double-precision operation.
    SameWarpFp64 = "issue.same_warp_fp64", Cycles;
    /// Cycles before the same warp can issue again after a global load.
    SameWarpLoad = "issue.same_warp_load", Cycles;
    /// Cycles before the same warp can issue again after a shift, a register copy or the reading of a special register,
    /// where that is sooner than after arithmetic.
    SameWarpMove = "issue.same_warp_move", Cycles;

    /// Memory instructions of one scheduler that may wait for the memory unit.
    LsuQueue = "lsu.queue", Count;
    /// Cycles between memory instructions that one scheduler hands to the memory unit.
    LsuSchedulerInterval = "lsu.scheduler_interval", Cycles;
    /// Cycles between memory instructions that the memory unit of the SM takes.
    LsuSmInterval = "lsu.sm_interval", Cycles;

    /// Cycles between the end of a CTA and the first instruction of the one that takes its place.
    CtaTurnaround = "cta.turnaround", Cycles;
    /// Time between two CTAs that the GPU launches, to whichever SMs they go.
    CtaInterval = "cta.interval", WallCycles;

    /// Cycles per warp of a single-precision square root (compute capability 1.x).
    CostSqrtF32 = "cost.sqrt_f32", Cycles;
    /// Cycles per warp of a single-precision reciprocal square root (compute capability 1.x).
    CostRsqrtF32 = "cost.rsqrt_f32", Cycles;
    /// Cycles per warp of a single-precision reciprocal (compute capability 1.x).
    CostRcpF32 = "cost.rcp_f32", Cycles;
    /// Cycles per warp of a single-precision division (compute capability 1.x).
    CostDivF32 = "cost.div_f32", Cycles;

    /// What one `div.rn.f32` becomes.
    ExpansionDivRnF32 = "expansion.div_rn_f32", Count [mix];
    /// What one `div.full.f32` becomes.
    ExpansionDivFullF32 = "expansion.div_full_f32", Count [mix];
    /// What one `div.approx.f32` becomes.
    ExpansionDivApproxF32 = "expansion.div_approx_f32", Count [mix];
    /// What one `rcp.rn.f32` becomes.
    ExpansionRcpRnF32 = "expansion.rcp_rn_f32", Count [mix];
    /// What one `sqrt.rn.f32` becomes.
    ExpansionSqrtRnF32 = "expansion.sqrt_rn_f32", Count [mix];
    /// What one `sqrt.approx.f32` becomes.
    ExpansionSqrtApproxF32 = "expansion.sqrt_approx_f32", Count [mix];
    /// What one `rsqrt.approx.f32` becomes.
    ExpansionRsqrtApproxF32 = "expansion.rsqrt_approx_f32", Count [mix];
    /// What one `ex2.approx.f32` becomes.
    ExpansionEx2ApproxF32 = "expansion.ex2_approx_f32", Count [mix];
    /// What one `lg2.approx.f32` becomes.
    ExpansionLg2ApproxF32 = "expansion.lg2_approx_f32", Count [mix];
    /// What one `sin.approx.f32` or `cos.approx.f32` becomes.
    ExpansionSinApproxF32 = "expansion.sin_approx_f32", Count [mix];
    /// What one `div.rn.f64` becomes.
    ExpansionDivRnF64 = "expansion.div_rn_f64", Count [mix];
    /// What one `rcp.rn.f64` becomes.
    ExpansionRcpRnF64 = "expansion.rcp_rn_f64", Count [mix];
    /// What one `sqrt.rn.f64` becomes.
    ExpansionSqrtRnF64 = "expansion.sqrt_rn_f64", Count [mix];
    /// What one 32-bit integer `mul.lo` becomes.
    ExpansionMulLo32 = "expansion.mul_lo_32", Count [mix];
    /// What one 64-bit integer `mul.lo` becomes.
    ExpansionMulLo64 = "expansion.mul_lo_64", Count [mix];
    /// What one 64-bit integer `mul.hi` becomes.
    ExpansionMulHi64 = "expansion.mul_hi_64", Count [mix];
    /// What one `div.u32` becomes.
    ExpansionDivU32 = "expansion.div_u32", Count [mix];
    /// What one `div.s32` becomes.
    ExpansionDivS32 = "expansion.div_s32", Count [mix];
    /// What one `rem.u32` becomes.
    ExpansionRemU32 = "expansion.rem_u32", Count [mix];
    /// What one `rem.s32` becomes.
    ExpansionRemS32 = "expansion.rem_s32", Count [mix];
    /// What one `div.u64` becomes.
    ExpansionDivU64 = "expansion.div_u64", Count [mix];
    /// What one `div.s64` becomes.
    ExpansionDivS64 = "expansion.div_s64", Count [mix];

    /// The clock that fits the transaction-based MWP-CWP model to its micro-benchmarks.
    AnalyzerClock = "analyzer.clock", Hertz;
    /// The round trip of a global load in the TEG timing model.
    TegMemoryLatency = "teg.memory_latency", WallCycles;

    /// Warps whose memory requests are in flight together at full bandwidth, 4 bytes per lane (X-model).
    XModelDeltaFp32 = "x_model.delta_fp32", Count;
    /// Warps whose memory requests are in flight together at full bandwidth, 8 bytes per lane (X-model).
    XModelDeltaFp64 = "x_model.delta_fp64", Count;
    /// Bandwidth that the X-model's stream benchmark reached with 8 bytes per lane.
    XModelBandwidthFp64 = "x_model.bandwidth_fp64", BytesPerSecond;

    /// Fitted constant a of the MPD/CPD model.
    LuoSudaA = "luo_suda.a", Count;
    /// Fitted constant b of the MPD/CPD model.
    LuoSudaB = "luo_suda.b", Count;
    /// Fitted constant c of the MPD/CPD model.
    LuoSudaC = "luo_suda.c", Count;
    /// Fitted constant d of the MPD/CPD model.
    LuoSudaD = "luo_suda.d", Count;
    /// Cycles of an integer addition or subtraction with a constant, in the MPD/CPD model.
    LuoSudaAddIntConst = "luo_suda.add_int_const", Cycles;
    /// Cycles of an integer addition or subtraction of registers, in the MPD/CPD model.
    LuoSudaAddIntReg = "luo_suda.add_int_reg", Cycles;
    /// Cycles of a float addition or subtraction with a constant, in the MPD/CPD model.
    LuoSudaAddFloatConst = "luo_suda.add_float_const", Cycles;
    /// Cycles of a float addition or subtraction of registers, in the MPD/CPD model.
    LuoSudaAddFloatReg = "luo_suda.add_float_reg", Cycles;
    /// Cycles of an integer multiplication with a constant, in the MPD/CPD model.
    LuoSudaMulIntConst = "luo_suda.mul_int_const", Cycles;
    /// Cycles of an integer multiplication of registers, in the MPD/CPD model.
    LuoSudaMulIntReg = "luo_suda.mul_int_reg", Cycles;
    /// Cycles of a float multiplication with a constant, in the MPD/CPD model.
    LuoSudaMulFloatConst = "luo_suda.mul_float_const", Cycles;
    /// Cycles of a float multiplication of registers, in the MPD/CPD model.
    LuoSudaMulFloatReg = "luo_suda.mul_float_reg", Cycles;
    /// Cycles of an integer division by a constant, in the MPD/CPD model.
    LuoSudaDivIntConst = "luo_suda.div_int_const", Cycles;
    /// Cycles of an integer division of registers, in the MPD/CPD model.
    LuoSudaDivIntReg = "luo_suda.div_int_reg", Cycles;
    /// Cycles of a float division by a constant, in the MPD/CPD model.
    LuoSudaDivFloatConst = "luo_suda.div_float_const", Cycles;
    /// Cycles of a float division of registers, in the MPD/CPD model.
    LuoSudaDivFloatReg = "luo_suda.div_float_reg", Cycles;
    /// Cycles of an integer negation, in the MPD/CPD model.
    LuoSudaNegInt = "luo_suda.neg_int", Cycles;
    /// Cycles of a float negation, in the MPD/CPD model.
    LuoSudaNegFloat = "luo_suda.neg_float", Cycles;
    /// Cycles of a minimum or maximum, in the MPD/CPD model.
    LuoSudaMinMax = "luo_suda.min_max", Cycles;
    /// Cycles of a bitwise `and`, in the MPD/CPD model.
    LuoSudaAnd = "luo_suda.and", Cycles;
    /// Cycles of a bitwise `or` or `xor`, in the MPD/CPD model.
    LuoSudaOr = "luo_suda.or", Cycles;
    /// Cycles of a bitwise `not`, in the MPD/CPD model.
    LuoSudaNot = "luo_suda.not", Cycles;
    /// Cycles of a load or store, in the MPD/CPD model.
    LuoSudaMemory = "luo_suda.memory", Cycles;

    /// Time of a kernel that does nothing, as profilers measure it: from the start of the launch to its end.
    LaunchLatency = "launch.latency", Seconds;
    /// Time between two launches that follow each other in a stream; not part of a kernel's time.
    LaunchOverhead = "launch.overhead", Seconds;
    /// Time between two launches that follow each other in a graph; not part of a kernel's time.
    LaunchGraphOverhead = "launch.graph_overhead", Seconds;

    /// Rate at which data goes between the host and the device, in one direction.
    LinkBandwidth = "link.bandwidth", BytesPerSecond;
}

/// Names that parameters had before.
const FORMER_NAMES: &[(&str, Key)] = &[
    ("dram.departure_delay_coalesced", Key::HongKimDepartureDelayCoalesced),
    ("dram.departure_delay_uncoalesced", Key::HongKimDepartureDelayUncoalesced),
];

impl Key {
    /// The parameter that was called `name` before.
    pub(crate) fn renamed(name: &str) -> Option<Key> {
        FORMER_NAMES.iter().find(|(former, _)| *former == name).map(|&(_, key)| key)
    }

    /// The parameter of a dotted name.
    pub fn from_name(name: &str) -> Option<Key> {
        Key::ALL.iter().copied().find(|key| key.name() == name)
    }

    /// The group before the dot.
    pub fn group(self) -> &'static str {
        self.name().split_once('.').map_or(self.name(), |(group, _)| group)
    }

    /// The name within the group.
    pub fn field(self) -> &'static str {
        self.name().split_once('.').map_or(self.name(), |(_, field)| field)
    }

    /// The name with its unit as a suffix, for JSON: `dram.latency_cycles`.
    pub fn json_name(self) -> String {
        let (name, suffix) = (self.name(), self.unit().suffix());
        let said = !suffix.is_empty() && (name.ends_with(suffix) || self.field() == &suffix[1..]);
        if said { name.to_owned() } else { format!("{name}{suffix}") }
    }

    /// The departure delay of a transaction of `bytes`, if the table has one.
    pub fn departure_delay(bytes: u32) -> Option<Key> {
        match bytes {
            32 => Some(Key::DramDepartureDelay32),
            64 => Some(Key::DramDepartureDelay64),
            128 => Some(Key::DramDepartureDelay128),
            _ => None,
        }
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
