//! The named variants of the models.

use std::fmt;

use crate::ModelId;
use warplens_machine::Strictness;

/// How a prediction is made where there is a choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Whether the misprints of the papers are read as documented or taken as printed.
    pub reading: Reading,
    /// How the last, partly filled wave counts.
    pub waves: Waves,
    /// Whether instructions that machine code mostly does without are charged.
    pub counts: CountBasis,
    /// Which count of independent loads is used.
    pub loads: LoadOrder,
    /// The coalescing rule on compute capability 2.x.
    pub fermi_l1: FermiL1,
    /// How far loads of the same data merge.
    pub merging: Merging,
    /// Whether special functions overlap with other instructions.
    pub special_functions: SpecialFunctions,
    /// Whether a warp computes while its own loads are on their way.
    pub in_warp: InWarp,
    /// Variants of the MPD/CPD model.
    pub luo_suda: LuoSudaOptions,
    /// Whether loads may hit in the L1 cache.
    pub cache: CacheHits,
    /// The order of machine instructions in the timing simulation.
    pub code_order: CodeOrder,
    /// What the caches hold when the launch begins, in the timing simulation.
    pub caches_before: CachesBefore,
    /// Whether missing machine parameters may be derived.
    pub strictness: Strictness,
}

impl Default for Options {
    /// The documented readings, real waves, PTX as written, inferred parameters allowed.
    fn default() -> Self {
        Self {
            reading: Reading::Documented,
            waves: Waves::Real,
            counts: CountBasis::AsWritten,
            loads: LoadOrder::Reordered,
            fermi_l1: FermiL1::On,
            merging: Merging::Adaptive,
            special_functions: SpecialFunctions::Overlapped,
            in_warp: InWarp::Overlapped,
            luo_suda: LuoSudaOptions::default(),
            cache: CacheHits::Modelled,
            code_order: CodeOrder::Scheduled,
            caches_before: CachesBefore::AsLeft,
            strictness: Strictness::AllowInferred,
        }
    }
}

/// Reading of the papers' equations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reading {
    /// With the documented corrections.
    Documented,
    /// Letter by letter.
    AsPrinted,
}

/// Whether the number of waves is rounded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waves {
    /// A real number of at least 1, as in the papers.
    Real,
    /// Rounded up.
    Whole,
}

/// Which instructions count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CountBasis {
    /// PTX as written.
    AsWritten,
    /// Without instructions of class `virtual`: an estimate of machine code.
    Machine,
}

/// Which loads may be in flight together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoadOrder {
    /// Instructions may be reordered inside basic blocks, as the assembler does.
    Reordered,
    /// In the order of the program.
    Program,
}

/// The L1 cache of compute capability 2.x.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FermiL1 {
    /// On: transactions are lines of 128 bytes.
    On,
    /// Off: segments of 32 bytes.
    Off,
}

/// How far loads of the same data by warps of one CTA merge in the transaction-based model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Merging {
    /// Before compute capability 2.0 the less, the more of the SM's warps are resident; completely from 2.0 on.
    Adaptive,
    /// Completely.
    Full,
}

/// Special functions beside the other instructions of an SM, in the transaction-based model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SpecialFunctions {
    /// Their units work while the other lanes do, as far as other warps have work for them.
    Overlapped,
    /// One after the other.
    InLine,
}

/// Computation and memory inside of a warp, in the transaction-based model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InWarp {
    /// What stands between a load and the first use of its value is computed while the value is on its way.
    Overlapped,
    /// A warp that waits for memory does nothing else.
    Separate,
}

/// Variants of the MPD/CPD model; none is taken unless it is named.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LuoSudaOptions {
    /// (2) with N_act in the denominator, as printed.
    pub printed_mpd: bool,
    /// The smaller of CPD1 and CPD2 at any proportion of computation, as printed.
    pub printed_cpd: bool,
    /// The computation of other warps in (8), (10) and (13) divided by CPD, as in (6).
    pub waits_over_cpd: bool,
    /// The latency of a memory instruction for each of its transactions.
    pub serial_transactions: bool,
}

/// The L1 cache in the transaction-based model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CacheHits {
    /// Loads that find again what their warp loaded before do not go to DRAM.
    Modelled,
    /// Every transaction goes to DRAM.
    None,
}

/// The order of machine instructions inside basic blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CodeOrder {
    /// As an assembler would order them.
    Scheduled,
    /// As the program has them.
    Program,
}

/// What the caches hold when a launch begins. Nothing that it loads, either way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CachesBefore {
    /// What a launch like it has left there: where that was more than fits, lines are to be written back.
    AsLeft,
    /// Nothing, as where a profiler empties them before each launch.
    Emptied,
}

macro_rules! options {
    ($($name:ident $text:literal $about:literal $option:ident => $change:expr;)*) => {
        /// An option that a user can name; each model lists those that it knows.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum OptionId {
            $(#[doc = concat!("`", $text, "`: ", $about, ".")] $name,)*
        }

        impl OptionId {
            /// Every option.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Name that users write.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// One sentence on what it does.
            pub const fn about(self) -> &'static str {
                match self { $(Self::$name => $about,)* }
            }

            fn apply(self, options: &mut Options) {
                match self { $(Self::$name => { let $option = options; $change; })* }
            }
        }
    };
}

options! {
    AsPrinted "as-printed"
        "use the equations as the paper prints them, misprints included"
        options => options.reading = Reading::AsPrinted;
    WholeWaves "whole-waves"
        "round the number of waves of CTAs up to a whole number"
        options => options.waves = Waves::Whole;
    ProgramOrder "program-order"
        "take loads as independent only in the order in which the program issues them"
        options => options.loads = LoadOrder::Program;
    L1Off "l1-off"
        "count 32-byte segments instead of 128-byte lines on compute capability 2.x"
        options => options.fermi_l1 = FermiL1::Off;
    FullMerging "full-merging"
        "let loads of the same data merge completely, whatever the occupancy"
        options => options.merging = Merging::Full;
    NoSfuOverlap "no-sfu-overlap"
        "let special functions and other instructions follow each other"
        options => options.special_functions = SpecialFunctions::InLine;
    NoInWarpOverlap "no-in-warp-overlap"
        "let a warp that waits for memory compute nothing, whatever stands between a load and its use"
        options => options.in_warp = InWarp::Separate;
    PrintedMpd "printed-mpd"
        "divide by the active warps in equation (2) of the MPD/CPD model, as printed"
        options => options.luo_suda.printed_mpd = true;
    PrintedCpd "printed-cpd"
        "take the smaller of CPD1 and CPD2 of the MPD/CPD model at any proportion of computation, as printed"
        options => options.luo_suda.printed_cpd = true;
    WaitsOverCpd "waits-over-cpd"
        "divide what other warps compute during a wait by CPD, as equation (6) of the MPD/CPD model does"
        options => options.luo_suda.waits_over_cpd = true;
    SerialTransactions "serial-transactions"
        "charge the latency of a memory instruction once for each of its transactions in the MPD/CPD model"
        options => options.luo_suda.serial_transactions = true;
    NoL1Hits "no-l1-hits"
        "let every transaction go to DRAM, also where the L1 cache would hold the data"
        options => options.cache = CacheHits::None;
    NoSchedule "no-schedule"
        "leave machine instructions in the order of the PTX, where an assembler would reorder them"
        options => options.code_order = CodeOrder::Program;
    EmptiedCaches "emptied-caches"
        "let the launch find caches that hold nothing, as a profiler leaves them, and not what a launch before it stored"
        options => options.caches_before = CachesBefore::Emptied;
}

impl fmt::Display for OptionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// An option that the model does not have.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("model {model} has no option `{name}`; it has: {}", named(.known))]
pub struct UnknownOption {
    /// The model.
    pub model: ModelId,
    /// The name as written.
    pub name: String,
    /// The options that it has.
    pub known: &'static [OptionId],
}

fn named(options: &[OptionId]) -> String {
    options.iter().map(|option| option.name()).collect::<Vec<_>>().join(", ")
}

impl Options {
    /// Switches the option called `name` on, if `model` has it.
    pub fn set(&mut self, model: &dyn crate::Model, name: &str) -> Result<(), UnknownOption> {
        let known = model.options();
        let Some(option) = known.iter().find(|option| option.name() == name) else {
            return Err(UnknownOption { model: model.id(), name: name.to_owned(), known });
        };
        option.apply(self);
        Ok(())
    }
}
