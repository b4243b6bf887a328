//! TEG: the timing simulation of one SM as a model (Lai and Seznec, 2011), carried on from the GT200 to later GPUs.
//!
//! The simulation itself is [`warplens_sim`]. Here stands what makes it a prediction: which CTAs one SM gets, what the
//! other SMs take of caches and bandwidth, how a long launch is carried on from its steady state
//! ([`launch`](warplens_sim::launch)), and what the cycles are made of.
//!
//! The answer needs a recorded launch ([`Recording`](crate::Recording)): traces of some CTAs, and machine code. Counts alone are refused.
//!
//! Terms: each cycle of a scheduler is either one in which it issues, or one in which the warps wait; the latter go to the
//! reasons by the warps that wait for each (`teg/answer.rs`).

mod answer;

use std::sync::Arc;

use warplens_base::units::{Cycles, Hertz};
use warplens_machine::{Key, Machine, Reader};
use warplens_sim::launch::{Basis, CarriedOn, LaunchShare};
use warplens_sim::traces::Listing;
use warplens_sim::{Job, Outcome, SmConfig, Surroundings, simulate, work};
use warplens_stats::{Footprint, LaunchShape, Profile, RegistersBasis, Sharing, TracedCta, sector};
use warplens_trace::{Code, CtaTrace};

pub(crate) use self::answer::BUSY;
use crate::assumption::{AssumptionId, of_machine};
use crate::recorded::{listing, traced};
use crate::residency::{fitting_ctas, shared_setting};
use crate::scenario::{EffectId, OF_SIMULATION};
use crate::speed_of_light::SpeedOfLight;
use crate::{
    Assumption, CachesBefore, Combine, Detail, Given, Input, InputField, Knobs, Model, ModelId, Needs, OptionId,
    Options, Prediction, Refusal, Resource,
};

/// The timing simulation.
#[derive(Clone, Copy, Debug)]
pub struct Teg;

/// Warp instructions that are simulated in detail.
pub const SIMULATED: u64 = 1_000_000;

/// A simulated launch: everything behind the prediction.
#[derive(Clone, PartialEq, Debug)]
pub struct Simulated {
    /// The machine code that was executed.
    pub code: Arc<Code>,
    /// The SM.
    pub config: SmConfig,
    /// What the simulation of some CTAs found.
    pub outcome: Outcome,
    /// How the launch fills the SMs.
    pub share: LaunchShare,
    /// How it is carried on from the CTAs that were simulated.
    pub carried: CarriedOn,
    /// The rest of the chip.
    pub surroundings: Surroundings,
    /// The CTAs that were simulated. They stay packed: a prediction is kept for each GPU that is asked about.
    pub ctas: Arc<[TracedCta]>,
    /// Which memory the first CTAs of the launch load from or operate on.
    pub footprint: Footprint,
    /// Cycles that the launch takes before and after its CTAs; none where the machine does not say.
    pub launching: Option<f64>,
}

impl Simulated {
    /// What the CTAs executed that were simulated.
    pub fn traces(&self) -> Vec<CtaTrace> {
        self.ctas.iter().map(TracedCta::trace).collect()
    }

    /// What was simulated, with other CTAs or those of [`Self::traces`].
    pub fn job<'a>(&'a self, ctas: &'a [CtaTrace]) -> Job<'a> {
        let Self { code, surroundings, footprint, .. } = self;
        let (resident, surroundings) = (self.share.resident, *surroundings);
        Job { code, ctas, resident, surroundings, footprint: Some(footprint) }
    }

    /// Cycles of the CTAs of the launch.
    pub fn cycles(&self) -> f64 {
        self.carried.total()
    }

    /// Cycles of the launch from its start to its end.
    pub fn launch_cycles(&self) -> f64 {
        self.cycles() + self.launching.unwrap_or(0.0)
    }

    /// Share of the launch's instructions that were simulated in detail.
    pub fn detailed_share(&self) -> f64 {
        let detailed = self.outcome.detailed as f64 / self.outcome.issued.max(1) as f64;
        detailed / self.carried.scale()
    }

    /// The busiest of the schedulers and the arithmetic pipes, with its share of the cycles.
    pub fn busiest_compute(&self) -> Option<(Resource, f64)> {
        answer::busiest_compute(self)
    }

    /// Share of the cycles in which the SM's part of device memory is busy.
    pub fn memory_share(&self) -> f64 {
        answer::memory_share(self)
    }
}

impl Model for Teg {
    fn id(&self) -> ModelId {
        ModelId::Teg
    }

    fn about(&self) -> &'static str {
        "timing simulation of one SM, driven by what warps executed (TEG, Lai and Seznec, 2011), with caches and later machines"
    }

    fn rank_reason(&self) -> &'static str {
        "it simulates the instructions, caches and barriers of one SM, and is nearest to what was measured"
    }

    fn effects(&self) -> &'static [EffectId] {
        OF_SIMULATION
    }

    fn needs(&self) -> Needs {
        Needs::Trace
    }

    fn options(&self) -> &'static [OptionId] {
        &[OptionId::NoSchedule, OptionId::EmptiedCaches]
    }

    fn inputs(&self) -> &'static [InputField] {
        &[]
    }

    fn predict(&self, input: &Input<'_>, machine: &Machine) -> Result<Prediction, Refusal> {
        let (profile, options) = (input.profile, &input.options);
        let traced = traced(input.traces)?;
        let mut reader = Reader::new(machine, options.strictness);
        let listing = listing(traced, machine, options)?;
        let config = SmConfig::read(&mut reader, &listing.code.timed_classes())?;
        let launch = &profile.launch;
        let config = if is_in_clusters(launch) { config.in_clusters(&mut reader)? } else { config };
        let fits = fitting_ctas(launch.n_threads(), launch.registers, launch.shared_bytes, &mut reader)? as u32;
        let share = LaunchShare::new(launch.n_ctas(), fits, config.n_sms, config.sms_per_cluster);
        let n_sms = u64::from(config.n_sms).min(launch.n_ctas()) as u32;
        let sms = traced.of_sm(machine.board(), share.resident, share.ctas);
        let shared_bytes = shared_setting(launch.shared_bytes, fits, &mut reader)?;
        let latency = reader.optional(Key::LaunchLatency);
        let of_sm = traced.instructions(&listing.code) / f64::from(share.active_sms);
        let caches_before = options.caches_before;
        let options =
            warplens_sim::Options { without: input.knobs.without(), budget: Some(SIMULATED), ..Default::default() };
        let simulated = sms.iter().map(|sm| {
            let known = u32::try_from(sm.ctas.len()).unwrap_or(u32::MAX);
            let of_known = work(&listing.code, &sm.ctas);
            let n_ctas = share.affordable(known, of_known, SIMULATED);
            let ctas = &sm.ctas[..n_ctas as usize];
            let sectors = loaded_in_l2(profile, &config);
            let sharing = Sharing { n_sms, per_sm: n_ctas, resident: share.resident, sectors };
            let footprint = sm.footprint.clone().dealt(&sharing);
            let surroundings = Surroundings {
                active_sms: share.active_sms,
                active_in_cluster: share.active_in_cluster,
                first_fetch: footprint.first_fetch(n_sms).unwrap_or(1.0),
                dirty_before: match caches_before {
                    CachesBefore::AsLeft => dirty_share(profile, &config, &footprint),
                    CachesBefore::Emptied => 0.0,
                },
                shared_bytes,
            };
            let of_simulated = if n_ctas == known { of_known } else { work(&listing.code, ctas) };
            let resident = share.resident;
            let job = Job { code: &listing.code, ctas, resident, surroundings, footprint: Some(&footprint) };
            let outcome = simulate(&config, &job, options);
            let mut carried = CarriedOn::new(&share, &outcome, of_sm, of_simulated as f64);
            if share.is_uneven(launch.n_ctas(), config.n_sms) && carried.is_whole() {
                // Other SMs have a CTA less, and may end later: CTAs of one SM load lines for each other.
                let fewer = Job { ctas: &ctas[..ctas.len() - 1], ..job };
                carried.cycles = carried.cycles.max(simulate(&config, &fewer, options).cycles as f64);
            }
            let launching = latency.map(|seconds| seconds * config.clock + cold_start(&config, &outcome));
            Simulated {
                launching,
                code: listing.code.clone(),
                carried,
                config: config.clone(),
                outcome,
                share,
                surroundings,
                ctas: sm.packed[..ctas.len()].into(),
                footprint,
            }
        });
        // Where one of several SMs may end last, the one that does.
        let longest = simulated.zip(&sms).max_by(|(left, _), (right, _)| left.cycles().total_cmp(&right.cycles()));
        let (mut simulated, sm) =
            longest.ok_or_else(|| Refusal::impossible(format!("nothing was traced for {}", machine.id)))?;
        if simulated.carried.of_simulated == 0.0 {
            return Err(Refusal::impossible("no warp of the traced CTAs executed anything"));
        }
        if input.knobs == Knobs::NONE {
            within_the_machine(&mut simulated, input, machine)?;
        }
        let readings = reader.finish();
        let mut assumptions = assumptions(profile, listing, &simulated);
        if sm.stand_ins {
            assumptions.push(AssumptionId::StandInCtas.plain());
        }
        if sm.is_cut {
            let share = 100.0 / simulated.carried.scale();
            assumptions.push(AssumptionId::CutShort.with(format_args!("{share:.3} % of what the SM executes")));
        }
        assumptions.extend(of_machine(&readings.assumptions));
        Prediction {
            model: self.id(),
            time: Cycles(simulated.launch_cycles()),
            clock: Hertz(simulated.config.clock),
            terms: answer::terms(&simulated, &readings),
            combine: Combine::Sum,
            quantities: answer::quantities(&simulated),
            assumptions,
            parameters: readings.parameters,
            coverage: Some(profile.coverage),
            detail: Some(Detail::Teg(Box::new(simulated))),
        }
        .checked()
    }

    fn evaluate(&self, _: &Given, _: Option<&Machine>, _: &Options) -> Result<Prediction, Refusal> {
        Err(Refusal {
            missing: vec!["trace".to_owned()],
            reason: "teg simulates what warps executed, and numbers from a file say nothing of that".to_owned(),
        })
    }
}

/// Reads of memory, one after the other, that a launch waits for before its warps get going: code and parameters. Chosen
/// by the kernels of validation/hecbench that do next to nothing, which take 0.75 us more than an empty one on the RTX 3080.
const COLD_READS: f64 = 2.0;

/// Cycles that the first warps wait for what no cache holds yet. An empty kernel does not get so far.
fn cold_start(config: &SmConfig, outcome: &Outcome) -> f64 {
    let executed = outcome.executions.iter().filter(|&&n| n > 0).count();
    if executed > OF_EMPTY { COLD_READS * f64::from(config.dram.latency) } else { 0.0 }
}

/// Instructions of an empty kernel.
const OF_EMPTY: usize = 2;

/// Refuses an answer that no machine can give: one below the bound of [`speed_of_light`](crate::speed_of_light), by
/// instructions, pipes or bytes, or of more bytes than the memory moves in that time. What was simulated in part may err a
/// little, and is raised to the bound then.
fn within_the_machine(simulated: &mut Simulated, input: &Input<'_>, machine: &Machine) -> Result<(), Refusal> {
    let wrong = |what: String| {
        Err(Refusal::impossible(format!(
            "internal error: the simulation is outside of what the machine can do: {what}"
        )))
    };
    if let Ok(bound) = SpeedOfLight.predict(input, machine) {
        let (cycles, least) = (simulated.cycles(), bound.time.0);
        let leeway = if simulated.detailed_share() < 1.0 { LEEWAY } else { ROUNDING };
        if cycles < least * (1.0 - leeway) {
            return wrong(format!("{cycles:.0} cycles, and the speed of light is {least:.0}"));
        }
        simulated.carried.cycles += (least - cycles).max(0.0);
    }
    let Simulated { config, outcome, share, .. } = simulated;
    // Stores may still be on their way to the memory when the last warp has ended.
    let cycles = outcome.cycles as f64 + UNDER_WAY * f64::from(config.dram.latency);
    let bytes = outcome.traffic.dram_bytes as f64;
    let most = cycles * config.dram.one_way_bytes_per_clk / f64::from(share.active_sms);
    if bytes > most * (1.0 + LEEWAY) {
        return wrong(format!("{bytes:.0} bytes of device memory for an SM in a time for {most:.0}"));
    }
    Ok(())
}

/// What rounding may take off a time.
const ROUNDING: f64 = 1e-6;
/// Round trips to memory by which stores may come later than the end of the last warp.
const UNDER_WAY: f64 = 4.0;
/// By how much what was simulated in part may err where it is held against all.
const LEEWAY: f64 = 0.02;

/// Share of the lines of a full L2 cache that were stored to, in the middle of the launch; 0 where it holds all that the
/// launch touches. A launch finds the cache as one before it left it: so what its last stores leave there to be written
/// counts at its start, and twice the work takes twice the time. Lines that are loaded and stored to are there once.
fn dirty_share(profile: &Profile, config: &SmConfig, footprint: &Footprint) -> f64 {
    let (read, written) = (profile.distinct_sectors_read as f64, profile.distinct_sectors_written as f64);
    let in_place = footprint.stored_in_place().unwrap_or(0.0) * written;
    let touched = read + written - in_place.min(read);
    match &config.l2 {
        Some(l2) if sector::BYTES as f64 * touched > l2.bytes as f64 => written / touched,
        _ => 0.0,
    }
}

/// Sectors of what the launch loads that the L2 cache holds beside what it stores.
fn loaded_in_l2(profile: &Profile, config: &SmConfig) -> f64 {
    let (read, written) = (profile.distinct_sectors_read as f64, profile.distinct_sectors_written as f64);
    let all = config.l2.as_ref().map_or(0.0, |l2| l2.bytes as f64 / sector::BYTES as f64);
    if read > 0.0 { all * read / (read + written) } else { all }
}

fn assumptions(profile: &Profile, listing: &Listing, simulated: &Simulated) -> Vec<Assumption> {
    let Simulated { carried, share, surroundings, .. } = simulated;
    let mut sentences = vec![AssumptionId::OneSm.with(format_args!("{} CTAs, {} at once", share.ctas, share.resident))];
    let launch = if simulated.launching.is_some() { AssumptionId::ColdLaunch } else { AssumptionId::NoLaunchLatency };
    sentences.push(launch.plain());
    let code = listing.assumptions.iter();
    sentences.extend(code.map(|text| Assumption { id: AssumptionId::MachineCode, text: text.clone() }));
    let CarriedOn { simulated: n, ctas, .. } = carried;
    match carried.basis {
        _ if carried.is_whole() => {}
        Basis::Steady { waves } => {
            sentences
                .push(AssumptionId::SteadyState.with(format_args!("{n} CTAs of {ctas}, by the last {waves} waves")));
        }
        Basis::SecondWave => {
            sentences.push(AssumptionId::SteadyState.with(format_args!("{n} CTAs of {ctas}, by the second wave")));
        }
        Basis::WaveByWave => sentences.push(AssumptionId::WaveByWave.with(format_args!("{n} CTAs of {ctas}"))),
    }
    if simulated.outcome.detailed < simulated.outcome.issued {
        let share = 100.0 * simulated.outcome.detailed as f64 / simulated.outcome.issued as f64;
        sentences.push(AssumptionId::SampledWindows.with(format_args!("{share:.3} % of those CTAs in detail")));
    }
    if surroundings.first_fetch < 1.0 && simulated.config.l2.is_some() {
        let share = 100.0 * surroundings.first_fetch;
        sentences
            .push(AssumptionId::SharedSectors.with(format_args!("{share:.3} % are fetched by the SM that loads them")));
    }
    if profile.launch.registers_basis == RegistersBasis::Estimate {
        sentences.push(AssumptionId::RegistersEstimated.with(format_args!("{} per thread", profile.launch.registers)));
    }
    if is_in_clusters(&profile.launch) {
        sentences.push(AssumptionId::ClusterAlike.plain());
    }
    if simulated.outcome.questions > 0 {
        let forced = simulated.outcome.forced_phases;
        sentences.push(
            AssumptionId::MemoryBarriers
                .with(format_args!("{forced} phases were ended although they lacked something")),
        );
    }
    if simulated.outcome.told > 0 {
        sentences.push(AssumptionId::BarrierArrivals.plain());
    }
    if profile.order_dependent {
        sentences.push(AssumptionId::OrderDependent.plain());
    }
    sentences
}

/// True where CTAs run in clusters of several.
pub(crate) fn is_in_clusters(launch: &LaunchShape) -> bool {
    launch.cluster.is_some_and(|cluster| cluster != [1; 3])
}
