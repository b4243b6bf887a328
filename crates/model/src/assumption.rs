//! The sentences that must hold for a prediction to mean anything: one table, read by the models and by the manual.

use std::fmt;

/// A sentence of a prediction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Assumption {
    /// Which one it is.
    pub id: AssumptionId,
    /// The sentence, with the numbers of this prediction.
    pub text: String,
}

macro_rules! assumptions {
    ($($name:ident $id:literal $when:literal, $text:literal;)*) => {
        /// An assumption that models make.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum AssumptionId {
            $(#[doc = concat!($when, ": ", $text, ".")] $name,)*
        }

        impl AssumptionId {
            /// Every assumption that a model can make.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Name in documents.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $id,)* }
            }

            /// When it is made, for the manual.
            pub const fn when(self) -> &'static str {
                match self { $(Self::$name => $when,)* }
            }

            /// The sentence, to which a prediction may add numbers.
            pub const fn text(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

assumptions! {
    Machine "machine" "a machine parameter was derived",
        "a machine parameter is derived by a rule, which is named";
    PtxCounts "ptx-counts" "counts of PTX as written",
        "instructions are those of the PTX as written";
    MachineCounts "machine-counts" "counts without virtual instructions",
        "instructions are those of the PTX without register copies, address conversions and parameter loads: an estimate of machine code";
    ProfiledCounts "profiled-counts" "counts of machine code",
        "instructions are those of the machine code, as it was executed or as a profiler counted them";
    NotCounted "not-counted" "a profile from elsewhere lacks counts that the model can do without",
        "the profile does not hold these counts, and what they would cost is left out";
    OneLoad "one-load" "a profile from elsewhere says nothing of loads in flight, model analyzer",
        "the profile does not say how many loads a warp has in flight: one is taken";
    NoMerging "no-merging" "a profile from elsewhere says nothing of repeated loads, model analyzer",
        "the profile does not say which loads repeat others: none is taken to";
    DramMeasured "dram-measured" "a profile from elsewhere, model roofline",
        "the sectors that cross the memory interface are those that the profiler counted at DRAM";
    Sampled "sampled" "only some CTAs were executed",
        "the other CTAs do what the executed ones did";
    Alike "alike" "the CTAs of a large launch do the same",
        "the counts of all CTAs follow from a few, because no branch and no address depends on data";
    Static "static" "the kernel was not run, with --static",
        "the counts are static: they follow from the code, the launch and the arguments";
    StaticBound "static-bound" "static counts of what depends on data",
        "the counts are an upper bound where a branch or an address depends on data";
    StaticGiven "static-given" "static counts with --trips or --prob",
        "loops and branches that depend on data do what the user gave";
    RegistersEstimated "registers-estimated" "nobody said how many registers a thread takes",
        "the number of registers is estimated";
    OrderDependent "order-dependent" "counts depend on the order of warps",
        "the counts depend on the order in which warps ran, which differs on a GPU";
    DramOnly "dram-only" "compute capability 2.0 and later",
        "every global and local transaction goes to DRAM: hits in the L1 and L2 caches are not modelled";
    L1Hits "l1-hits" "a warp loads data again where loads pass the L1",
        "loads that find again what their warp loaded before hit in the L1, which resident warps share evenly; nothing hits in the L2";
    ConstantHits "constant-hits" "constant memory is read",
        "constant accesses hit their cache and cost what arithmetic costs";
    FlatIssue "flat-issue" "before compute capability 2.0",
        "every warp instruction takes 4 cycles to issue";
    ClassIssue "class-issue" "compute capability 2.0 and later",
        "a warp instruction takes max(32 / lanes of its class, 1 / instructions issued per cycle); the classes do not overlap";
    ConvertLanes "convert-lanes" "conversions, from compute capability 2.0 on",
        "conversions between types run on the special-function lanes";
    NoExpansion "no-expansion" "operations that expand and whose cost is unknown",
        "these operations cost one instruction of their class";
    BankConflicts "bank-conflicts" "shared-memory accesses that take extra passes",
        "each extra pass of a shared-memory access delays the SM by one pass interval";
    DuplicateLoads "duplicate-loads" "loads that other warps of the CTA repeat",
        "loads of the same data by warps of one CTA merge completely";
    AdaptiveDuplicates "adaptive-duplicates" "loads that other warps of the CTA repeat, before compute capability 2.0",
        "loads of the same data by warps of one CTA merge the less, the more of the SM's warps are resident";
    DuplicatesSampled "duplicates-sampled" "duplicates were counted on some CTAs",
        "the other CTAs repeat loads as those that were looked at";
    MergedFloor "merged-floor" "merging would leave fewer bytes than there are distinct sectors",
        "merged transactions move each distinct sector at least once";
    RealWaves "real-waves" "more than one wave, no whole waves asked for",
        "a partly filled last wave takes its share of a full one";
    WholeWaves "whole-waves" "whole waves asked for",
        "a partly filled last wave takes as long as a full one";
    IssueFloor "issue-floor" "case (22) or (23) falls below the time to issue",
        "the time cannot fall below that of issuing all instructions, as the paper's cases for memory-bound kernels would";
    FewerLoads "fewer-loads" "independent and duplicate loads together push the model into a case that costs more",
        "a warp that could have more loads in flight is never slower than one that has fewer";
    SfuOverlap "sfu-overlap" "special functions beside other instructions, several resident warps",
        "special-function units work while the other lanes do, all but the last warp's share";
    InWarpOverlap "in-warp-overlap" "instructions between a load and the first use of its value, cases (22) and (23)",
        "a warp computes what stands between a load and the first use of its value while the value is on its way";
    BlockBarrier "block-barrier" "barriers, model analyzer, compute capability 2.0 and later, several CTAs or MWP above the warps of one",
        "at a barrier the warps of one CTA wait for each other while the SM's other CTAs go on";
    Uncoalesced32 "uncoalesced-32" "compute capability 1.0 and 1.1, model hong-kim",
        "an uncoalesced request makes 32 transactions";
    CoalescedOne "coalesced-one" "compute capability 1.x, model hong-kim",
        "a coalesced request counts as one transaction";
    AsPrinted "as-printed" "option as-printed",
        "the equations are taken as printed, misprints included";
    NearestCost "nearest-cost" "model luo-suda, instructions outside the paper's table of costs",
        "instructions outside the table of costs cost what the nearest kind in it costs";
    LatencyOnce "latency-once" "model luo-suda",
        "a memory instruction costs its latency once, however many transactions it makes";
    SerialTransactions "serial-transactions" "model luo-suda, option serial-transactions",
        "a memory instruction costs its latency for each of its transactions";
    SampledPeriods "sampled-periods" "model luo-suda, periods of some warps",
        "the other warps go through the calculate periods of those that were looked at";
    LongSequences "long-sequences" "model luo-suda, sequences of periods that were cut off",
        "what follows the end of a warp's sequence of periods takes as long per period as the sequence";
    WavesInTurn "waves-in-turn" "model luo-suda, more than one wave",
        "the paper's time is that of SMs filled once; waves follow each other";
    FreeConflicts "free-conflicts" "model luo-suda",
        "barriers and bank conflicts cost nothing beyond their instructions";
    PerfectOverlap "perfect-overlap" "roofline",
        "computation and memory transfer overlap completely, every lane and every byte per second is used: no kernel can be faster";
    SectorsOnce "sectors-once" "roofline",
        "each distinct sector crosses the memory interface once for reading and once for writing";
    MustReachDram "must-reach-dram" "model speed-of-light",
        "the L2 cache may hold what it has room for when the launch starts and when it ends; a sector that the launch stores need not be read";
    BelowLight "below-light" "a closed form whose time is below that of speed-of-light, where the launch was recorded",
        "no execution is as fast: the speed of light of the machine is higher";
    XSteadyState "x-steady-state" "x-model",
        "the launch rests in one steady state from its first to its last instruction: barriers, bank conflicts, divergent phases and the L2 cache are not modelled";
    XLanes "x-lanes" "x-model",
        "every instruction takes a single-precision lane and its latency, and double-precision ones their own lanes; E is the instruction-level parallelism of basic blocks";
    XCoalescing "x-coalescing" "x-model",
        "coalescing counts by the bytes that a request moves; the latency of a request is that of one transaction, which is the model's main error";
    XCoalesced "x-coalesced" "x-model, option as-printed",
        "every request is coalesced, and an instruction's result is there in the next cycle, as the paper has it: coalescing is not modelled, which is its main error";
    XCache "x-cache" "x-model, where global loads go through the L1",
        "the warps in the memory system share the L1 evenly; its hit rate is fitted to the reuse distances of single warps, and stores miss";
    XNoCache "x-no-cache" "x-model, where global loads pass the L1 by",
        "global loads pass the L1 by on this generation: the form without a cache";
    XNoReuse "x-no-reuse" "x-model, where no warp loads anything twice",
        "no warp loads anything twice within reach of the L1, or nobody followed the loads: the form without a cache";
    OneSm "one-sm" "model teg",
        "one SM stands for all: it gets every n-th CTA of n SMs, and its part of the L2 cache and of the bandwidth";
    MachineCode "machine-code" "model teg",
        "machine code is made of the PTX, as an assembler would make it";
    SteadyState "steady-state" "model teg, more CTAs than are simulated",
        "further CTAs take as long per instruction as whole waves that are simulated";
    SampledWindows "sampled-windows" "model teg, more instructions than are simulated in detail",
        "what lies between the simulated windows moves lines in the caches, and takes as long per instruction as they do";
    WaveByWave "wave-by-wave" "model teg, CTAs so long that only a wave is simulated",
        "the waves of CTAs follow each other";
    CutShort "cut-short" "model teg, CTAs so long that only their start is traced",
        "the rest of a CTA takes as long per instruction as its start";
    StandInCtas "stand-in-ctas" "model teg, CTAs of another number of SMs or another range were traced",
        "other CTAs of the launch stand in for those of the simulated SM";
    ColdLaunch "cold-launch" "model teg",
        "a launch starts and ends in the time of an empty kernel, and finds its code and its parameters in no cache";
    NoLaunchLatency "no-launch-latency" "model teg, launch.latency unknown",
        "the time that a launch takes to start and to end is not known, and not in the answer";
    SharedSectors "shared-sectors" "model teg, SMs that load the same sectors",
        "an SM finds in the L2 cache what another has loaded, in the share that the looked-at CTAs show";
    ClusterAlike "cluster-alike" "model teg, launches in clusters",
        "CTAs of a cluster run on SMs of their own and do the same at the same time: each comes to the cluster's barrier with the others, what one tells the barriers of others its own are told, and the window of its own rank counts as another SM's; what is copied to several CTAs leaves the L2 cache once and comes over the link of each; where the SMs lie is not modelled";
    MemoryBarriers "memory-barriers" "model teg, waits for barriers in memory",
        "a wait for a barrier in memory ends when what the phase lacks has come in simulated time, and is answered like a load from shared memory";
    BarrierArrivals "barrier-arrivals" "model teg, arrivals at barriers in memory",
        "an arrival at a barrier in memory costs what an atomic on shared memory does and counts from then on; nobody has verified that, and what is published (29 clocks, and 200) contradicts itself";
    XStart "x-start" "x-model, where several states are stable",
        "all warps compute at first, so that the machine reaches its first stable state";
}

/// What holds for predictions from counts that follow from a few CTAs, of which some were executed.
pub fn of_ctas_alike(followed: u64, executed: u64) -> Assumption {
    AssumptionId::Alike.with(format_args!("{followed} were followed, and {executed} executed"))
}

/// What holds for predictions from counts that were made without a run: `bounds` of them are upper bounds, `given` of
/// them stand on numbers that the user gave.
pub fn of_static_counts(bounds: usize, given: usize) -> Vec<Assumption> {
    let mut said = vec![AssumptionId::Static.plain()];
    if bounds > 0 {
        said.push(AssumptionId::StaticBound.with(format_args!("in {bounds} places")));
    }
    if given > 0 {
        said.push(AssumptionId::StaticGiven.plain());
    }
    said
}

impl fmt::Display for AssumptionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl AssumptionId {
    /// The sentence as it stands.
    pub(crate) fn plain(self) -> Assumption {
        Assumption { id: self, text: self.text().to_owned() }
    }

    /// The sentence with something added.
    pub(crate) fn with(self, addition: impl fmt::Display) -> Assumption {
        Assumption { id: self, text: format!("{} ({addition})", self.text()) }
    }
}

/// Derived machine parameters as assumptions.
pub(crate) fn of_machine(sentences: &[String]) -> impl Iterator<Item = Assumption> + '_ {
    sentences.iter().map(|sentence| Assumption { id: AssumptionId::Machine, text: sentence.clone() })
}
