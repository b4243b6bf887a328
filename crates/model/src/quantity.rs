//! The numbers that models compute or take, by the names of their papers: one table.
//!
//! A name is spelt in one way. Where two models have the same quantity under one name, they share the row; where the same
//! letter means different things, each has a row of its own.

// tidy: table

use std::fmt;

use warplens_sim::Stall;

use crate::luo_suda::equations::PeriodType;

macro_rules! units {
    ($($(#[$meta:meta])* $name:ident $text:literal;)*) => {
        /// Unit of a number that a model computes, takes or lets a question change.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Unit {
            $($(#[$meta])* $name,)*
        }

        impl Unit {
            /// How it is written; empty for a plain number.
            pub const fn symbol(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

units! {
    /// A plain number.
    One "";
    /// Cycles of the SM's clock.
    Cycles "cycles";
    /// Bytes.
    Bytes "B";
    /// Bytes per second.
    BytesPerSecond "B/s";
    /// Bytes per cycle.
    BytesPerCycle "B/cycle";
    /// Cycles per second.
    Hertz "Hz";
    /// Events per cycle.
    PerCycle "/cycle";
    /// Events per cycle of one SM, as machine files write them.
    PerClk "/clk";
    /// Instructions per cycle.
    InstructionsPerCycle "instructions/cycle";
    /// Operations per cycle.
    OperationsPerCycle "operations/cycle";
    /// Requests per cycle.
    RequestsPerCycle "requests/cycle";
    /// Threads, in the units of whoever gives them.
    Threads "threads";
    /// Warps.
    Warps "warps";
    /// Resident warps of one SM.
    WarpsPerSm "warps per SM";
    /// Warp instructions per cycle of one SM.
    WarpInstructionsPerCycle "warp instructions/cycle per SM";
    /// Requests per cycle of one SM.
    RequestsPerCyclePerSm "requests/cycle per SM";
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.symbol())
    }
}

macro_rules! symbols {
    ($($name:ident $text:literal $unit:ident;)*) => {
        /// Which quantity it is.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Symbol {
            $(#[doc = concat!("`", $text, "`")] $name,)*
            /// Executions of calculate periods of one type, in the order of the paper.
            Periods(PeriodType),
            /// A place where the X-model's curves meet, from 1: `k_1`.
            Place(u8),
            /// Mean cycles that a warp waits for a reason, per issued instruction.
            Stalled(Stall),
        }

        impl Symbol {
            /// The unit of the quantity, where the model does not choose another.
            pub const fn unit(self) -> Unit {
                match self {
                    $(Self::$name => Unit::$unit,)*
                    Self::Periods(_) | Self::Stalled(_) => Unit::One,
                    Self::Place(_) => Unit::Threads,
                }
            }
        }

        impl fmt::Display for Symbol {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$name => f.pad($text),)*
                    Self::Periods(kind) => write!(f, "periods of type {}", kind.number()),
                    Self::Place(number) => write!(f, "k_{number}"),
                    Self::Stalled(stall) => f.pad(stall.metric()),
                }
            }
        }
    };
}

symbols! {
    // Of the roofline.
    Warps "warps" One;
    SlotsPerWarp "slots_per_warp" One;
    DistinctBytes "distinct_bytes" Bytes;
    BoundComputeCycles "compute_cycles" Cycles;
    BoundMemoryCycles "memory_cycles" Cycles;
    // Of Hong & Kim, beside those above.
    LoadBytesPerWarp "Load_bytes_per_warp" Bytes;
    BwPerWarp "BW_per_warp" BytesPerSecond;
    ActiveBlocksPerSm "Active_blocks_per_SM" One;
    ActiveSms "Active_SMs" One;
    N "N" One;
    Rep "Rep" One;
    CompInsts "Comp_insts" One;
    MemInsts "Mem_insts" One;
    UncoalMemInsts "Uncoal_Mem_insts" One;
    CoalMemInsts "Coal_Mem_insts" One;
    SynchInsts "Synch_insts" One;
    TotalInsts "Total_insts" One;
    IssueCycles "Issue_cycles" Cycles;
    UncoalPerMw "Uncoal_per_mw" One;
    CoalPerMw "Coal_per_mw" One;
    MemLUncoal "Mem_L_Uncoal" Cycles;
    MemLCoal "Mem_L_Coal" Cycles;
    WeightUncoal "Weight_uncoal" One;
    WeightCoal "Weight_coal" One;
    MemL "Mem_L" Cycles;
    DepartureDelay "Departure_delay" Cycles;
    MwpWithoutBwFull "MWP_Without_BW_full" One;
    MwpWithoutBw "MWP_Without_BW" One;
    MwpPeakBw "MWP_peak_BW" One;
    Mwp "MWP" One;
    MemCycles "Mem_cycles" Cycles;
    CompCycles "Comp_cycles" Cycles;
    CwpFull "CWP_full" One;
    Cwp "CWP" One;
    Case "Case" One;
    ExecCyclesApp "Exec_cycles_app" Cycles;
    SynchCost "Synch_cost" Cycles;
    ExecWithSynchCost "Exec_with_synch_cost" Cycles;
    Cpi "CPI" One;
    // Of the CUDA Performance Analyzer, beside those above.
    DataPerRequest "Data_per_request" Bytes;
    BandwidthPerWarp "bandwidth_per_warp" BytesPerSecond;
    ActiveWarpsPerSm "Active_warps_per_SM" One;
    WarpMem "warp_mem" One;
    T32 "t32" One;
    T64 "t64" One;
    T128 "t128" One;
    IndependentLoads "Independent_loads" One;
    DuplicateLoads "Duplicate_loads" One;
    MwpPeakBandwidth "MWP_peak_bandwidth" One;
    NumTransPerRequest "num_trans_per_request" One;
    AvgDepDelayPerTran "avg_dep_delay_per_tran" Cycles;
    MemLatencyFinal "mem_latency_final" Cycles;
    DepDelayPerRequest "dep_delay_per_request" Cycles;
    ActiveWarpsForMwp "Active_warps_for_MWP" One;
    OverlappedCycles "Overlapped_cycles" Cycles;
    MemoryCycles "Memory_cycles" Cycles;
    ComputeCycles "Compute_cycles" Cycles;
    ExecCycles "Exec_cycles" Cycles;
    // Of Luo & Suda, beside those above.
    DMem "D_mem" Bytes;
    NAct "N_act" One;
    NSm "N_sm" One;
    NThread "N_thread" One;
    MostWarps "m" One;
    P "P" One;
    NTrans "N_trans" One;
    TMem "t_mem" Cycles;
    GpuBwt "GPU_bwt" BytesPerCycle;
    WarpBwt "Warp_bwt" BytesPerCycle;
    Mpd "MPD" One;
    LuoN "n" One;
    Cpd1 "CPD1" One;
    Cpd2 "CPD2" One;
    Cpd "CPD" One;
    TimeComputing "T_c" Cycles;
    TimeWaiting "T_p" Cycles;
    Time "T" Cycles;
    Waves "waves" One;
    // Of the X-model, beside those above.
    Parallelism "E" One;
    Throughput "M" PerCycle;
    Lambda "lambda" Cycles;
    Latency "L" Cycles;
    CacheBytes "cache_bytes" Bytes;
    CacheLatency "cache_latency" Cycles;
    Beta "beta" Bytes;
    LatencyAtK "L_k" Cycles;
    MsThroughput "MS_throughput" BytesPerSecond;
    Threads "n" Threads;
    Intensity "Z" One;
    Bandwidth "R" PerCycle;
    Knee "p" One;
    Alpha "alpha" One;
    HitRate "h" One;
    Pi "pi" Threads;
    Delta "delta" Threads;
    Psi "psi" Threads;
    ThroughputAtPsi "f(psi)" PerCycle;
    Valley "valley" Threads;
    ThroughputAtValley "f(valley)" PerCycle;
    Intersections "intersections" One;
    Saturated "g(n)" PerCycle;
    K "k" Threads;
    X "x" Threads;
    ReachedMemory "f(k)" PerCycle;
    ReachedComputation "Z f(k)" PerCycle;
    // Of the timing simulation, beside those above.
    SimulatedCycles "simulated_cycles" Cycles;
    DramBytes "DRAM_bytes" Bytes;
    CtasPerSm "CTAs_per_SM" One;
    ResidentCtas "resident_CTAs" One;
    SimulatedCtas "simulated_CTAs" One;
    WarpInstructions "warp_instructions" One;
    InstructionsPerCycle "instructions_per_cycle" One;
    AchievedWarps "achieved_warps" One;
    FirstFetch "first_fetch" One;
    L1HitRate "L1_hit_rate" One;
    L2HitRate "L2_hit_rate" One;
    ConflictPasses "conflict_passes" One;
}

impl Symbol {
    /// The quantity with its value.
    pub const fn of(self, value: f64) -> Quantity {
        Quantity { symbol: self, value, unit: self.unit() }
    }
}

/// A number that a model computes or takes, by the name of its paper.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Quantity {
    /// Which one.
    pub symbol: Symbol,
    /// The value.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
}
