//! The X-model as a model among the others: parameters from a profile and a machine, time from the state that is reached.
//!
//! Of one SM: threads are resident warps (n), operations are warp instructions, requests are warp-level requests to
//! global and local memory. Z is their ratio, E the profile's instruction-level parallelism; alpha and beta are fitted to
//! the reuse distances of its loads. The time is that of all operations at the throughput Z f(k0), with k0 the state that
//! is reached from the computation side.

use warplens_base::units::{Cycles, Hertz};
use warplens_isa::OpClass;
use warplens_machine::{Key, Machine, Reader, Readings};
use warplens_stats::{Count, Profile};

use super::curve::{Cache, Computation, Lanes, System};
use super::fit::{Locality, fit_locality};
use super::graph::Units;
use super::input::{self, INPUTS};
use super::knob::{self, KNOBS, Knob};
use super::machine::{Width, bytes_per_second, cache_bytes, l1_distances, lanes_throughput, loads_pass_l1, memory};
use super::shape::{Bound, State};
use super::{Solved, Supply};
use crate::assumption::{AssumptionId, of_machine};
use crate::demand::Demand;
use crate::prediction::{Combine, Resource};
use crate::residency::{Residency, THREADS_PER_WARP};
use crate::scenario::EffectId;
use crate::workload::{self, Workload};
use crate::{
    Assumption, Detail, Given, Input, InputField, KnobSpec, LoadOrder, Model, ModelId, Needs, OptionId, Options,
    Prediction, Quantity, Reading, Refusal, Symbol, Term, Waves,
};

/// The X-model.
#[derive(Clone, Copy, Debug)]
pub struct XModel;

impl Model for XModel {
    fn id(&self) -> ModelId {
        ModelId::XModel
    }

    fn about(&self) -> &'static str {
        "X-model: the steady state in which computation asks of memory what memory supplies, caches included (Li et al., IPDPS 2016)"
    }

    fn rank_reason(&self) -> &'static str {
        "it is a steady state: the kernel's order, barriers and bank conflicts are not in it"
    }

    fn effects(&self) -> &'static [EffectId] {
        &[
            EffectId::Uncoalesced,
            EffectId::Divergence,
            EffectId::RepeatedLoads,
            EffectId::DependenceLatency,
            EffectId::MemoryLatency,
            EffectId::MemoryBandwidth,
        ]
    }

    fn needs(&self) -> Needs {
        Needs::Addresses
    }

    fn options(&self) -> &'static [OptionId] {
        &[OptionId::AsPrinted, OptionId::WholeWaves, OptionId::ProgramOrder, OptionId::L1Off]
    }

    fn inputs(&self) -> &'static [InputField] {
        INPUTS
    }

    fn knobs(&self) -> &'static [KnobSpec] {
        KNOBS
    }

    fn predict(&self, input: &Input<'_>, machine: &Machine) -> Result<Prediction, Refusal> {
        let (profile, options) = (input.profile, &input.options);
        let demand = Demand {
            needed: &[
                Count::Instructions,
                Count::Registers,
                Count::SharedBytes,
                Count::GlobalRequests,
                Count::GlobalTransactions,
                Count::GlobalBytes,
            ],
            refining: &[Count::Classes, Count::LocalRequests, Count::LocalTransactions, Count::LocalBytes],
        };
        let left_out = demand.check(profile, machine, options)?;
        let mut reader = Reader::new(machine, options.strictness);
        let workload = Workload::new(profile, machine.cc, options);
        let launch = launch(profile, &workload, options, &mut reader)?;
        let mut assumptions = workload::assumptions(profile, options);
        assumptions.extend(left_out);
        let (system, said) = system(input, &workload, launch.warps, &mut reader)?;
        assumptions.extend(said);
        let per_cycle = bytes_per_second(&mut reader)?;
        let clock = reader.clock()?;
        let mut prediction = match system {
            None => {
                let lanes = lanes(input, &mut reader)?;
                without_requests(launch.operations, &Computation::Lanes(lanes), launch.warps, clock, reader.finish())?
            }
            Some(system) => {
                let system = knob::apply(input.knobs, &system);
                let units = Units::of_sm(Some(per_cycle * request_bytes(&workload, options)));
                let answer = Answer { system, units, operations: launch.operations, clock };
                answer.prediction(reader.finish())?
            }
        };
        assumptions.extend(launch.assumptions(options));
        assumptions.append(&mut prediction.assumptions);
        prediction.assumptions = assumptions;
        prediction.coverage = Some(profile.coverage);
        Ok(prediction)
    }

    fn evaluate(&self, given: &Given, machine: Option<&Machine>, options: &Options) -> Result<Prediction, Refusal> {
        crate::check_given(self, given).map_err(|bad| Refusal::impossible(bad.to_string()))?;
        input::answer(given, machine, options)
    }
}

/// What a launch asks of an SM.
struct LaunchLoad {
    /// Resident warps.
    warps: f64,
    /// Warp instructions of the busiest SM.
    operations: f64,
    /// How often its warps are filled.
    waves: f64,
}

impl LaunchLoad {
    fn assumptions(&self, options: &Options) -> Option<Assumption> {
        match options.waves {
            Waves::Whole => Some(AssumptionId::WholeWaves.plain()),
            Waves::Real if self.waves > 1.0 => Some(AssumptionId::RealWaves.with(format!("{:.2} waves", self.waves))),
            Waves::Real => None,
        }
    }
}

fn launch(
    profile: &Profile,
    workload: &Workload,
    options: &Options,
    reader: &mut Reader<'_>,
) -> Result<LaunchLoad, Refusal> {
    let residency = Residency::of_launch(&profile.launch, reader)?;
    let waves = residency.waves(options.waves);
    let warps = residency.warps();
    Ok(LaunchLoad { warps, operations: waves * warps * workload.total_insts, waves })
}

/// The system of a profiled kernel, and what it assumes; no system without a request to memory.
fn system(
    input: &Input<'_>,
    workload: &Workload,
    warps: f64,
    reader: &mut Reader<'_>,
) -> Result<(Option<System>, Vec<Assumption>), Refusal> {
    let (profile, options) = (input.profile, &input.options);
    let mut assumptions = vec![AssumptionId::XSteadyState.plain(), AssumptionId::XLanes.plain()];
    if workload.mem_insts == 0.0 {
        return Ok((None, assumptions));
    }
    let bytes = request_bytes(workload, options);
    let mut memory = memory(reader, width(workload), bytes)?;
    let transactions = (workload.loads.count() + workload.others.count()) / workload.mem_insts;
    assumptions.push(match options.reading {
        Reading::AsPrinted => AssumptionId::XCoalesced.plain(),
        Reading::Documented => AssumptionId::XCoalescing.with(format!("{transactions:.1} per request, {bytes:.0} B")),
    });
    if loads_pass_l1(reader.machine().cc, options.fermi_l1) {
        let (cache, said) = cache(profile, workload, warps, reader)?;
        memory.cache = cache;
        assumptions.push(said);
    } else {
        assumptions.push(AssumptionId::XNoCache.plain());
    }
    let system = System {
        threads: warps,
        intensity: workload.total_insts / workload.mem_insts,
        supply: Supply::Memory(memory),
        computation: Computation::Lanes(lanes(input, reader)?),
    };
    Ok((Some(system), assumptions))
}

/// M, E and lambda.
fn lanes(input: &Input<'_>, reader: &mut Reader<'_>) -> Result<Lanes, Refusal> {
    let Input { profile, options, knobs, .. } = input;
    let counted = match options.loads {
        LoadOrder::Reordered => profile.instruction_parallelism,
        LoadOrder::Program => profile.instruction_parallelism_program_order,
    };
    // A value that the question gives stands in for a count that the profile does not hold.
    let asked = || Some(knobs.apply(Knob::Parallelism.spec().name, f64::NAN)).filter(|value| value.is_finite());
    let parallelism = counted.or_else(asked);
    let total = profile.instructions.total.max(1) as f64;
    let double_share = profile.instructions.of_class(OpClass::Fp64) as f64 / total;
    let latency = match options.reading {
        Reading::AsPrinted => 1.0,
        Reading::Documented => reader.need(Key::LatencyFp32)?,
    };
    let Some(parallelism) = parallelism else {
        let reason = "the profile does not hold the instruction-level parallelism of the kernel".to_owned();
        return Err(Refusal { missing: vec!["instruction_parallelism".into()], reason });
    };
    Ok(Lanes { throughput: lanes_throughput(reader, double_share)?, parallelism, latency })
}

/// The width of the benchmark that is nearer to what the kernel's lanes ask for.
fn width(workload: &Workload) -> Width {
    Width::nearest(workload.bytes_requested / workload.mem_insts / THREADS_PER_WARP)
}

/// Bytes that a request moves: of its transactions; as printed, those of a coalesced request of its width.
fn request_bytes(workload: &Workload, options: &Options) -> f64 {
    match options.reading {
        Reading::AsPrinted => width(workload).request_bytes(),
        Reading::Documented if workload.mem_insts > 0.0 => {
            (workload.loads.bytes() + workload.others.bytes()) / workload.mem_insts
        }
        Reading::Documented => Width::Single.request_bytes(),
    }
}

/// The L1 with the locality of a profile's loads; none where nothing is loaded twice or nobody followed the loads.
fn cache(
    profile: &Profile,
    workload: &Workload,
    warps: f64,
    reader: &mut Reader<'_>,
) -> Result<(Option<Cache>, Assumption), Refusal> {
    let Some(reuse) = &profile.statistics.reuse else {
        return Ok((None, AssumptionId::XNoReuse.plain()));
    };
    let ctas = warps / profile.launch.n_warps().max(1) as f64;
    let bytes = cache_bytes(reader, ctas * profile.launch.shared_bytes as f64)?;
    let histogram = l1_distances(reuse, reader)?;
    let others = workload.others.count();
    let load_share = workload.loads.count() / (workload.loads.count() + others).max(f64::MIN_POSITIVE);
    let hit_rate = |share: f64| histogram.miss(share as u64).map(|miss| (1.0 - miss) * load_share);
    let points: Option<Vec<(f64, f64)>> =
        shares(bytes, warps).into_iter().map(|share| Some((share, hit_rate(share)?))).collect();
    let locality = points.as_deref().and_then(fit_locality);
    match locality {
        Some(found @ Locality { alpha, beta, error }) if alpha > 1.0 && bytes > 0.0 => {
            let told = match found.only_scale() {
                Some(scale) => format!(
                    "hit rates rise so fast that they tell neither alpha nor beta, only beta / (alpha - 1), {scale:.0} B"
                ),
                None => format!("alpha {alpha:.3}, beta {beta:.4}"),
            };
            let said =
                AssumptionId::XCache.with(format!("L1 of {bytes:.0} B; {told}, off by {error:.3} on the average"));
            Ok((Some(Cache { bytes, latency: reader.need(Key::LatencyL1)?, alpha, beta }), said))
        }
        _ => Ok((None, AssumptionId::XNoReuse.plain())),
    }
}

/// Shares of the cache per warp at which the hit rate is fitted: from half of what all resident warps leave to each, to
/// what one has with four times the cache.
fn shares(bytes: f64, warps: f64) -> Vec<f64> {
    const STEPS: u32 = 40;
    let (low, high) = (0.5 * bytes / warps, 4.0 * bytes);
    (0..=STEPS).map(|step| low * libm::pow(high / low, f64::from(step) / f64::from(STEPS))).collect()
}

/// A kernel that asks nothing of memory.
fn without_requests(
    operations: f64,
    computation: &Computation,
    warps: f64,
    clock: f64,
    readings: Readings,
) -> Result<Prediction, Refusal> {
    let throughput = computation.value(warps);
    let mut quantities = vec![
        Quantity { unit: Units::of_sm(None).threads, ..Symbol::Threads.of(warps) },
        Quantity { unit: Units::of_sm(None).threads, ..Symbol::Pi.of(computation.pi()) },
        Quantity { unit: Units::of_sm(None).computation, ..Symbol::Saturated.of(throughput) },
    ];
    quantities.extend(lanes_quantities(computation));
    let cycles = operations / throughput;
    Prediction {
        model: XModel.id(),
        time: Cycles(cycles),
        clock: Hertz(clock),
        terms: vec![term("computation", Resource::Compute, cycles, &readings)],
        combine: Combine::Max,
        quantities,
        assumptions: of_machine(&readings.assumptions).collect(),
        parameters: readings.parameters,
        coverage: None,
        detail: None,
    }
    .checked()
}

/// A system to be answered for.
pub(super) struct Answer {
    /// The system.
    pub(super) system: System,
    /// What its axes count.
    pub(super) units: Units,
    /// Operations to be done.
    pub(super) operations: f64,
    /// Clock in hertz.
    pub(super) clock: f64,
}

impl Answer {
    /// Solves the system and says how long its operations take.
    pub(super) fn prediction(self, readings: Readings) -> Result<Prediction, Refusal> {
        let state = State::of(self.system).map_err(Refusal::impossible)?;
        let mut assumptions = Vec::new();
        if state.depends_on_start() {
            let (reached, other) = (state.reached(), state.reached_from_memory());
            assumptions.push(AssumptionId::XStart.with(format!(
                "{} intersections; where all threads wait for memory at first, the throughput is {:.1} % of this one",
                state.intersections.len(),
                100.0 * other.memory_throughput / reached.memory_throughput
            )));
        }
        assumptions.extend(of_machine(&readings.assumptions));
        let requests = self.operations / state.system.intensity;
        let cycles = requests / state.reached().memory_throughput;
        Prediction {
            model: XModel.id(),
            time: Cycles(cycles),
            clock: Hertz(self.clock),
            terms: terms(&state, requests, cycles, &readings),
            combine: Combine::Max,
            quantities: quantities(&state, &self.units),
            assumptions,
            parameters: readings.parameters,
            coverage: None,
            detail: Some(Detail::XModel(Box::new(Solved { state, units: self.units }))),
        }
        .checked()
    }
}

/// What computation, memory and the round trip of one thread would take alone; the one that bounds takes the time.
fn terms(state: &State, requests: f64, cycles: f64, readings: &Readings) -> Vec<Term> {
    let system = &state.system;
    let reached = state.reached();
    let lanes = requests * system.intensity / system.computation.highest();
    let (hit_rate, plateau) =
        (system.supply.memory().map_or(0.0, |memory| memory.hit_rate(reached.k)), state.landmarks.plateau);
    let memory = match &system.supply {
        Supply::Memory(_) => requests * (1.0 - hit_rate) / plateau,
        Supply::Measured(_) => requests / state.landmarks.highest(),
    };
    let (computing, waiting) = round_trip(state);
    let round_trip = requests * (computing + waiting) / system.threads;
    let waits = if waiting >= computing { Resource::DramLatency } else { Resource::Compute };
    let all = [
        ("computation", Resource::Compute, lanes, [Bound::Computation, Bound::Capacity]),
        ("memory throughput", Resource::DramBandwidth, memory, [Bound::Memory, Bound::Memory]),
        ("round trips of too few threads", waits, round_trip, [Bound::Thread, Bound::Thread]),
    ];
    all.into_iter()
        .map(|(name, resource, alone, bounds)| {
            // Alone, none takes longer than all together but for rounding.
            let taken = if bounds.contains(&state.bound) { cycles } else { alone.min(cycles) };
            term(name, resource, taken, readings)
        })
        .collect()
}

/// Cycles between two requests of a thread that waits for nobody: computing, and in the memory system.
fn round_trip(state: &State) -> (f64, f64) {
    let system = &state.system;
    let reached = state.reached();
    let computing = match &system.computation {
        Computation::Lanes(lanes) => system.intensity * lanes.latency / lanes.parallelism,
        Computation::Measured(_) => reached.x.min(state.pi) / reached.memory_throughput,
    };
    let waiting = match &system.supply {
        Supply::Memory(memory) => {
            let hit_rate = memory.hit_rate(reached.k);
            memory.cache.map_or(0.0, |cache| hit_rate * cache.latency) + (1.0 - hit_rate) * memory.latency
        }
        Supply::Measured(_) => reached.k.min(state.landmarks.delta) / reached.memory_throughput,
    };
    (computing, waiting)
}

fn term(name: &'static str, resource: Resource, cycles: f64, readings: &Readings) -> Term {
    let belongs = |key: &Key| match resource {
        Resource::Compute => matches!(key, Key::LanesFp32 | Key::LanesFp64 | Key::LatencyFp32 | Key::SmCount),
        Resource::DramBandwidth => {
            matches!(key, Key::DramPeakBandwidth | Key::DramAchievedBandwidth | Key::XModelBandwidthFp64 | Key::SmCount)
        }
        _ => {
            matches!(key, Key::DramLatency | Key::XModelDeltaFp32 | Key::XModelDeltaFp64 | Key::LatencyL1 | Key::L1Size)
        }
    };
    let read = readings.parameters.iter().map(|read| read.key);
    Term { name, resource, cycles: Cycles(cycles), parameters: read.filter(belongs).collect(), parts: Vec::new() }
}

fn lanes_quantities(computation: &Computation) -> Vec<Quantity> {
    let Some(lanes) = computation.lanes() else { return Vec::new() };
    vec![
        Symbol::Parallelism.of(lanes.parallelism),
        Symbol::Throughput.of(lanes.throughput),
        Symbol::Lambda.of(lanes.latency),
    ]
}

/// The paper's symbols, and what the state comes to.
fn quantities(state: &State, units: &Units) -> Vec<Quantity> {
    let system = &state.system;
    let reached = state.reached();
    let mut quantities = vec![Symbol::Threads.of(system.threads), Symbol::Intensity.of(system.intensity)];
    quantities.extend(lanes_quantities(&system.computation));
    if let Some(memory) = system.supply.memory() {
        quantities.push(Symbol::Latency.of(memory.latency));
        if memory.throughput.is_finite() {
            quantities.push(Symbol::Bandwidth.of(memory.throughput));
        }
        quantities.extend(memory.knee.map(|p| Symbol::Knee.of(p)));
        if let Some(cache) = memory.cache {
            quantities.extend([
                Symbol::CacheBytes.of(cache.bytes),
                Symbol::CacheLatency.of(cache.latency),
                Symbol::Alpha.of(cache.alpha),
                Symbol::Beta.of(cache.beta),
                Symbol::HitRate.of(memory.hit_rate(reached.k)),
            ]);
        }
        quantities.push(Symbol::LatencyAtK.of(memory.latency_at(reached.k)));
    }
    quantities.push(Symbol::Pi.of(state.pi));
    if state.landmarks.delta.is_finite() {
        quantities.push(Symbol::Delta.of(state.landmarks.delta));
    }
    if let Some(psi) = state.landmarks.psi {
        quantities.extend([Symbol::Psi.of(psi.k), Symbol::ThroughputAtPsi.of(psi.throughput)]);
    }
    if let Some(valley) = state.landmarks.valley {
        quantities.extend([Symbol::Valley.of(valley.k), Symbol::ThroughputAtValley.of(valley.throughput)]);
    }
    quantities.extend([
        Symbol::Intersections.of(state.intersections.len() as f64),
        Symbol::K.of(reached.k),
        Symbol::X.of(reached.x),
        Symbol::ReachedMemory.of(reached.memory_throughput),
        Symbol::ReachedComputation.of(reached.computation_throughput),
    ]);
    if state.depends_on_start() {
        let places = (1..).zip(&state.intersections);
        quantities.extend(places.map(|(number, intersection)| Symbol::Place(number).of(intersection.k)));
    }
    if let Some(bytes) = units.bytes_per_second {
        quantities.push(Symbol::MsThroughput.of(reached.memory_throughput * bytes));
    }
    quantities
}
