//! The transaction-based MWP-CWP model: Dasgupta, "CUDA Performance Analyzer", Georgia Institute of Technology, 2011.
//!
//! The cases are those of Hong and Kim ([`mwp_cwp`](crate::mwp_cwp)), but memory is counted in transactions of 32, 64 and
//! 128 bytes, so that the model can be fed by an emulator or by a profiler. Two factors, which the thesis sets by hand,
//! come from the profile: how many loads a warp can issue before it needs the first one's value (independent loads), and
//! how many loads in flight fetch the same data and merge (duplicate loads). Merging acts twice: in (27), and in the
//! number of transactions.
//!
//! Symbols: the fields of [`Inputs`] and [`Evaluation`] are the thesis's; functions name its equations.
//!
//! What the thesis leaves open, and the reading here:
//!
//! - The case is chosen with MWP_c = min(MWP, N), and time is continuous and never grows with the independent loads; see
//!   [`mwp_cwp`](crate::mwp_cwp). `as-printed` keeps the thesis.
//! - Barriers cost what (26) of the paper says. From compute capability 2.0 on MWP is limited there to the warps of a
//!   block, which wait for each other while the SM's other blocks go on; see [`BarrierWarps`].
//! - Loads of the same data merge no further than each distinct sector being moved once. Loads of vectors do not merge.
//!   How many of them merge, the thesis sets by hand after the occupancy and the size of a block; here a rule does, see
//!   [`effective_duplicate_loads`]. It holds before compute capability 2.0; caches merge completely.
//! - The fitted departure delays of a machine go with the clock that was fitted with them, which is then the default.
//!
//! Terms for what the thesis names as not covered, each with an option that leaves it out (`as-printed` leaves out all):
//!
//! - Special functions run beside other instructions: of both, the longer one counts, and of the shorter one the share of
//!   one warp, which has nothing to put beside its own (`no-sfu-overlap`). The thesis's measured time of the FMM kernel
//!   with shared memory is 4.6 cycles per instruction; one after the other they would be 6.7, with the term they are 5.0.
//! - What stands between a load and the first use of its value, as in a prefetch, is computed while the value is on its
//!   way (`no-in-warp-overlap`); see [`mwp_cwp`](crate::mwp_cwp).
//! - The factor of duplicate loads above (`full-merging`).
//! - Ours: a load that finds again what its own warp loaded before hits in the L1 (`no-l1-hits`); the module `cache` says how.
//!
//! Where it breaks: the L2 holds nothing, nor does the L1 what other warps loaded, so kernels that live in caches are
//! predicted too slow; lanes of
//! different classes other than special functions do not overlap; and all warps are served equally.

mod answer;
mod cache;
mod equations;
mod inputs;

use warplens_machine::{Key, Machine, Reader};
use warplens_stats::{Count, Profile};

use crate::assumption::AssumptionId;
use crate::compute::{SlowOperations, compute_load};
use crate::demand::{self, Demand};
use crate::given::Fields;
use crate::residency::Residency;
use crate::scenario::EffectId;
use crate::workload::{self, Workload};
use crate::{
    Assumption, Given, Input, InputField, LoadOrder, Merging, Model, ModelId, Needs, OptionId, Options, Prediction,
    Refusal,
};

use answer::prediction;
use inputs::{INPUTS, merging};

pub use equations::{
    BarrierWarps, DepartureDelays, Evaluation, Inputs, MemoryParallelism, active_warps_for_mwp, avg_dep_delay_per_tran,
    bandwidth_per_warp, effective_duplicate_loads, mem_latency_final, mwp_peak_bandwidth,
};

/// The model of Dasgupta.
#[derive(Clone, Copy, Debug)]
pub struct Analyzer;
impl Model for Analyzer {
    fn id(&self) -> ModelId {
        ModelId::Analyzer
    }

    fn about(&self) -> &'static str {
        "transaction-based MWP-CWP, with independent and duplicate loads (Dasgupta, CUDA Performance Analyzer, 2011)"
    }

    fn rank_reason(&self) -> &'static str {
        "it charges transactions by size, repeated and independent loads, bank conflicts and barriers"
    }

    fn effects(&self) -> &'static [EffectId] {
        &[
            EffectId::Uncoalesced,
            EffectId::BankConflicts,
            EffectId::Divergence,
            EffectId::RepeatedLoads,
            EffectId::DuplicateMerging,
            EffectId::Synchronisation,
            EffectId::DependenceLatency,
            EffectId::MemoryLatency,
            EffectId::MemoryBandwidth,
        ]
    }

    fn needs(&self) -> Needs {
        Needs::Addresses
    }

    fn options(&self) -> &'static [OptionId] {
        &[
            OptionId::AsPrinted,
            OptionId::WholeWaves,
            OptionId::ProgramOrder,
            OptionId::L1Off,
            OptionId::FullMerging,
            OptionId::NoSfuOverlap,
            OptionId::NoInWarpOverlap,
            OptionId::NoL1Hits,
        ]
    }

    fn inputs(&self) -> &'static [InputField] {
        INPUTS
    }

    fn predict(&self, input: &Input<'_>, machine: &Machine) -> Result<Prediction, Refusal> {
        let (profile, options) = (input.profile, &input.options);
        let left_out = check(profile, machine, options)?;
        let mut reader = Reader::new(machine, options.strictness);
        reader.tune_clock(Key::AnalyzerClock)?;
        let mut workload = Workload::new(profile, machine.cc, options);
        let residency = Residency::of_launch(&profile.launch, &mut reader)?;
        let ideal = workload.duplicate_loads;
        workload.duplicate_loads = merging_loads(ideal, &residency, options, &mut reader)?;
        let cache = cache::hits(profile, &workload, &residency, options, &mut reader)?;
        workload.hits = cache.map_or(0.0, |cache| cache.hits);
        let load = compute_load(&workload, SlowOperations::OwnCost, &mut reader)?;
        let mut inputs = Inputs::of_workload(&workload, &residency, &load, options, &mut reader)?;
        if let Some(cache) = cache {
            let (loads, others) = (workload.loads.count(), workload.others.count());
            let loads = loads / (loads + others);
            inputs.base_mem_latency = cache.mean_latency(loads, workload.independent_loads, inputs.base_mem_latency);
        }
        let evaluation = inputs.evaluate(options.reading, options.waves)?;
        let mut assumptions = workload::assumptions(profile, options);
        assumptions.extend(left_out);
        assumptions.extend(load.assumptions.iter().cloned());
        assumptions.extend(memory_assumptions(&workload, ideal, profile.duplicate_share, machine));
        assumptions.extend(cache.map(|cache| cache.assumption()));
        let mut prediction = prediction(&inputs, &evaluation, options, Some(&load), reader.finish(), assumptions)?;
        prediction.coverage = Some(profile.coverage);
        Ok(prediction)
    }

    fn evaluate(&self, given: &Given, machine: Option<&Machine>, options: &Options) -> Result<Prediction, Refusal> {
        crate::check_given(self, given).map_err(|bad| Refusal::impossible(bad.to_string()))?;
        let mut fields = Fields::new(given, machine, options.strictness);
        let inputs = Inputs::of_fields(&mut fields, options);
        let readings = fields.finish()?;
        inputs.check()?;
        let evaluation = inputs.evaluate(options.reading, options.waves)?;
        prediction(&inputs, &evaluation, options, None, readings, Vec::new())
    }
}

/// What the thesis calls compulsory is needed, what it calls optional refines the answer.
fn check(profile: &Profile, machine: &Machine, options: &Options) -> Result<Vec<Assumption>, Refusal> {
    let independent_loads = match options.loads {
        LoadOrder::Reordered => Count::IndependentLoads,
        LoadOrder::Program => Count::IndependentLoadsProgramOrder,
    };
    let demand = Demand {
        needed: &[
            demand::instructions(machine),
            Count::Registers,
            Count::SharedBytes,
            Count::GlobalRequests,
            Count::GlobalTransactions,
        ],
        refining: &[
            independent_loads,
            Count::DuplicateLoads,
            Count::OverlapInstructions,
            Count::Barriers,
            Count::HighLatency,
            Count::SharedRequests,
            Count::SharedWavefronts,
            Count::LocalRequests,
            Count::LocalTransactions,
        ],
    };
    demand.check(profile, machine, options)
}

/// Of `ideal` loads of the same data those that merge. The queue whose limits the thesis describes is that of GPUs before
/// compute capability 2.0; later ones have caches.
fn merging_loads(
    ideal: f64,
    residency: &Residency,
    options: &Options,
    reader: &mut Reader<'_>,
) -> Result<f64, Refusal> {
    if ideal <= 1.0 || reader.machine().cc.major >= 2 || merging(options) == Merging::Full {
        return Ok(ideal);
    }
    let occupancy = residency.warps() / reader.need(Key::LimitsMaxWarps)?;
    Ok(effective_duplicate_loads(ideal, residency.warps_per_cta, occupancy))
}

fn memory_assumptions(workload: &Workload, ideal: f64, duplicate_share: f64, machine: &Machine) -> Vec<Assumption> {
    let mut sentences = Vec::new();
    if workload.mem_insts == 0.0 {
        return sentences;
    }
    if machine.cc.major >= 2 && workload.hits == 0.0 {
        sentences.push(AssumptionId::DramOnly.plain());
    }
    if ideal > 1.0 {
        let factor = workload.duplicate_loads;
        sentences.push(if factor < ideal {
            AssumptionId::AdaptiveDuplicates.with(format!("factor {factor:.3} of {ideal:.3}"))
        } else {
            AssumptionId::DuplicateLoads.with(format!("factor {factor:.3}"))
        });
        if duplicate_share < 1.0 {
            sentences
                .push(AssumptionId::DuplicatesSampled.with(format!("{:.2} % of the CTAs", 100.0 * duplicate_share)));
        }
    }
    if workload.merged().1 {
        sentences.push(AssumptionId::MergedFloor.plain());
    }
    sentences
}
