//! The sentences that must hold for a prediction to mean anything: one table, read by the models and by the manual.

/// A sentence of a prediction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Assumption {
    /// Which of [`ASSUMPTIONS`] it is; `machine` for a derived machine parameter.
    pub id: &'static str,
    /// The sentence, with the numbers of this prediction.
    pub text: String,
}

/// An assumption that models make.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AssumptionSpec {
    /// Identifier.
    pub id: &'static str,
    /// When it is made, for the manual.
    pub when: &'static str,
    /// The sentence, to which a prediction may add numbers.
    pub text: &'static str,
}

macro_rules! assumptions {
    ($($(#[doc = $doc:literal])* $name:ident = $id:literal, $when:literal, $text:literal;)*) => {
        $(
            $(#[doc = $doc])*
            pub(crate) const $name: AssumptionSpec = AssumptionSpec { id: $id, when: $when, text: $text };
        )*

        /// Every assumption that a model can make.
        pub const ASSUMPTIONS: &[AssumptionSpec] = &[$($name,)*];
    };
}

assumptions! {
    MACHINE = "machine", "a machine parameter was derived",
        "a machine parameter is derived by a rule, which is named";
    PTX_COUNTS = "ptx-counts", "counts of PTX as written",
        "instructions are those of the PTX as written";
    MACHINE_COUNTS = "machine-counts", "counts without virtual instructions",
        "instructions are those of the PTX without register copies, address conversions and parameter loads: an estimate of machine code";
    SASS_COUNTS = "profiled-counts", "counts of machine code that a profiler made",
        "instructions are those of the machine code, as the profiler counted them";
    NOT_COUNTED = "not-counted", "a profile from elsewhere lacks counts that the model can do without",
        "the profile does not hold these counts, and what they would cost is left out";
    ONE_LOAD = "one-load", "a profile from elsewhere says nothing of loads in flight, model analyzer",
        "the profile does not say how many loads a warp has in flight: one is taken";
    NO_MERGING = "no-merging", "a profile from elsewhere says nothing of repeated loads, model analyzer",
        "the profile does not say which loads repeat others: none is taken to";
    DRAM_MEASURED = "dram-measured", "a profile from elsewhere, model roofline",
        "the sectors that cross the memory interface are those that the profiler counted at DRAM";
    SAMPLED = "sampled", "only some CTAs were executed",
        "the other CTAs do what the executed ones did";
    STATIC = "static", "the kernel was not run, with --static",
        "the counts are static: they follow from the code, the launch and the arguments";
    STATIC_BOUND = "static-bound", "static counts of what depends on data",
        "the counts are an upper bound where a branch or an address depends on data";
    STATIC_GIVEN = "static-given", "static counts with --trips or --prob",
        "loops and branches that depend on data do what the user gave";
    REGISTERS = "registers-estimated", "nobody said how many registers a thread takes",
        "the number of registers is estimated";
    ORDER = "order-dependent", "counts depend on the order of warps",
        "the counts depend on the order in which warps ran, which differs on a GPU";
    DRAM_ONLY = "dram-only", "compute capability 2.0 and later",
        "every global and local transaction goes to DRAM: hits in the L1 and L2 caches are not modelled";
    L1_HITS = "l1-hits", "a warp loads data again where loads pass the L1",
        "loads that find again what their warp loaded before hit in the L1, which resident warps share evenly; nothing hits in the L2";
    HITS = "constant-hits", "constant memory is read",
        "constant accesses hit their cache and cost what arithmetic costs";
    FLAT_ISSUE = "flat-issue", "before compute capability 2.0",
        "every warp instruction takes 4 cycles to issue";
    CLASS_ISSUE = "class-issue", "compute capability 2.0 and later",
        "a warp instruction takes max(32 / lanes of its class, 1 / instructions issued per cycle); the classes do not overlap";
    CONVERT = "convert-lanes", "conversions, from compute capability 2.0 on",
        "conversions between types run on the special-function lanes";
    UNCHARGED = "no-expansion", "operations that expand and whose cost is unknown",
        "these operations cost one instruction of their class";
    BANK = "bank-conflicts", "shared-memory accesses that take extra passes",
        "each extra pass of a shared-memory access delays the SM by one pass interval";
    DUPLICATES = "duplicate-loads", "loads that other warps of the CTA repeat",
        "loads of the same data by warps of one CTA merge completely";
    DUPLICATES_ADAPTIVE = "adaptive-duplicates", "loads that other warps of the CTA repeat, before compute capability 2.0",
        "loads of the same data by warps of one CTA merge the less, the more of the SM's warps are resident";
    DUPLICATES_SAMPLED = "duplicates-sampled", "duplicates were counted on some CTAs",
        "the other CTAs repeat loads as those that were looked at";
    MERGED_FLOOR = "merged-floor", "merging would leave fewer bytes than there are distinct sectors",
        "merged transactions move each distinct sector at least once";
    REAL_WAVES = "real-waves", "more than one wave, no whole waves asked for",
        "a partly filled last wave takes its share of a full one";
    WHOLE_WAVES = "whole-waves", "whole waves asked for",
        "a partly filled last wave takes as long as a full one";
    ISSUE_FLOOR = "issue-floor", "case (22) or (23) falls below the time to issue",
        "the time cannot fall below that of issuing all instructions, as the paper's cases for memory-bound kernels would";
    FEWER_LOADS = "fewer-loads", "independent and duplicate loads together push the model into a case that costs more",
        "a warp that could have more loads in flight is never slower than one that has fewer";
    SFU_OVERLAP = "sfu-overlap", "special functions beside other instructions, several resident warps",
        "special-function units work while the other lanes do, all but the last warp's share";
    IN_WARP_OVERLAP = "in-warp-overlap", "instructions between a load and the first use of its value, cases (22) and (23)",
        "a warp computes what stands between a load and the first use of its value while the value is on its way";
    BLOCK_BARRIER = "block-barrier", "barriers, model analyzer, compute capability 2.0 and later, several CTAs or MWP above the warps of one",
        "at a barrier the warps of one CTA wait for each other while the SM's other CTAs go on";
    UNCOAL_32 = "uncoalesced-32", "compute capability 1.0 and 1.1, model hong-kim",
        "an uncoalesced request makes 32 transactions";
    COAL_ONE = "coalesced-one", "compute capability 1.x, model hong-kim",
        "a coalesced request counts as one transaction";
    AS_PRINTED = "as-printed", "option as-printed",
        "the equations are taken as printed, misprints included";
    LUO_TABLE = "nearest-cost", "model luo-suda, instructions outside the paper's table of costs",
        "instructions outside the table of costs cost what the nearest kind in it costs";
    LUO_LATENCY = "latency-once", "model luo-suda",
        "a memory instruction costs its latency once, however many transactions it makes";
    LUO_SERIAL = "serial-transactions", "model luo-suda, option serial-transactions",
        "a memory instruction costs its latency for each of its transactions";
    LUO_SAMPLE = "sampled-periods", "model luo-suda, periods of some warps",
        "the other warps go through the calculate periods of those that were looked at";
    LUO_LEFT_OUT = "long-sequences", "model luo-suda, sequences of periods that were cut off",
        "what follows the end of a warp's sequence of periods takes as long per period as the sequence";
    LUO_WAVES = "waves-in-turn", "model luo-suda, more than one wave",
        "the paper's time is that of SMs filled once; waves follow each other";
    LUO_FREE = "free-conflicts", "model luo-suda",
        "barriers and bank conflicts cost nothing beyond their instructions";
    OVERLAP = "perfect-overlap", "roofline",
        "computation and memory transfer overlap completely, every lane and every byte per second is used: no kernel can be faster";
    ONCE = "sectors-once", "roofline",
        "each distinct sector crosses the memory interface once for reading and once for writing";
    X_STEADY = "x-steady-state", "x-model",
        "the launch rests in one steady state from its first to its last instruction: barriers, bank conflicts, divergent phases and the L2 cache are not modelled";
    X_LANES = "x-lanes", "x-model",
        "every instruction takes a single-precision lane and its latency, and double-precision ones their own lanes; E is the instruction-level parallelism of basic blocks";
    X_TRANSACTIONS = "x-coalescing", "x-model",
        "coalescing counts by the bytes that a request moves; the latency of a request is that of one transaction, which is the model's main error";
    X_COALESCED = "x-coalesced", "x-model, option as-printed",
        "every request is coalesced, and an instruction's result is there in the next cycle, as the paper has it: coalescing is not modelled, which is its main error";
    X_CACHE = "x-cache", "x-model, where global loads go through the L1",
        "the warps in the memory system share the L1 evenly; its hit rate is fitted to the reuse distances of single warps, and stores miss";
    X_NO_CACHE = "x-no-cache", "x-model, where global loads pass the L1 by",
        "global loads pass the L1 by on this generation: the form without a cache";
    X_NO_REUSE = "x-no-reuse", "x-model, where no warp loads anything twice",
        "no warp loads anything twice within reach of the L1, or nobody followed the loads: the form without a cache";
    ONE_SM = "one-sm", "model teg",
        "one SM stands for all: it gets every n-th CTA of n SMs, and its part of the L2 cache and of the bandwidth";
    MACHINE_CODE = "machine-code", "model teg",
        "machine code is made of the PTX, as an assembler would make it";
    STEADY = "steady-state", "model teg, more CTAs than are simulated",
        "further CTAs take as long as those between two numbers that are simulated";
    WAVE_BY_WAVE = "wave-by-wave", "model teg, CTAs so long that only a wave is simulated",
        "the waves of CTAs follow each other";
    CUT = "cut-short", "model teg, CTAs so long that only their start is traced",
        "the rest of a CTA takes as long per instruction as its start";
    STAND_INS = "stand-in-ctas", "model teg, CTAs of another number of SMs or another range were traced",
        "other CTAs of the launch stand in for those of the simulated SM";
    SHARED_LINES = "shared-sectors", "model teg, SMs that load the same sectors",
        "an SM finds in the L2 cache what another has loaded, in the share that the looked-at CTAs show";
    X_START = "x-start", "x-model, where several states are stable",
        "all warps compute at first, so that the machine reaches its first stable state";
}

/// What holds for predictions from counts that were made without a run: `bounds` of them are upper bounds, `given` of
/// them stand on numbers that the user gave.
pub fn of_static_counts(bounds: usize, given: usize) -> Vec<Assumption> {
    let mut said = vec![STATIC.plain()];
    if bounds > 0 {
        said.push(STATIC_BOUND.with(format_args!("in {bounds} places")));
    }
    if given > 0 {
        said.push(STATIC_GIVEN.plain());
    }
    said
}

impl AssumptionSpec {
    /// The sentence as it stands.
    pub(crate) fn plain(self) -> Assumption {
        Assumption { id: self.id, text: self.text.to_owned() }
    }

    /// The sentence with something added.
    pub(crate) fn with(self, addition: impl std::fmt::Display) -> Assumption {
        Assumption { id: self.id, text: format!("{} ({addition})", self.text) }
    }
}

/// Derived machine parameters as assumptions.
pub(crate) fn of_machine(sentences: &[String]) -> impl Iterator<Item = Assumption> + '_ {
    sentences.iter().map(|sentence| Assumption { id: MACHINE.id, text: sentence.clone() })
}
