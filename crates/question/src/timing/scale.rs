//! How a kernel scales from one warp to a full SM.
//!
//! Up to the warps of a CTA, one CTA with that many of its first warps is simulated; barriers then wait for those only.
//! From there on whole CTAs are added, up to what an SM holds. Every warp does what it does in the launch, so that `n` warps
//! do `n` times the work of one: speedup is `n T(1) / T(n)` and efficiency the speedup over `n` (Lai and Seznec, 2011).

use warplens_model::{AssumptionId, Prediction, teg};
use warplens_sim::{Job, Outcome, SmConfig, Stall, UnitKind};
use warplens_trace::CtaTrace;

/// Growth of the warp cycles per instruction, as a share of those before, below which nothing stops the scaling.
const LEAST_GROWTH: f64 = 0.02;

/// Predicted cycles by the number of warps on an SM.
#[derive(Clone, PartialEq, Debug)]
pub struct Scale {
    /// Name of the kernel.
    pub kernel: String,
    /// Identifier of the GPU.
    pub gpu: String,
    /// The clock whose cycles these are, in hertz.
    pub clock_hz: f64,
    /// Warps of a CTA.
    pub warps_per_cta: u32,
    /// CTAs that an SM holds.
    pub most_ctas: u32,
    /// The numbers of warps, fewest first.
    pub steps: Vec<Step>,
    /// What must hold for the numbers to mean anything.
    pub assumptions: Vec<String>,
}

/// One number of warps.
#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    /// Warps on the SM.
    pub warps: u32,
    /// CTAs on the SM.
    pub ctas: u32,
    /// Cycles from the first instruction to the end of the last.
    pub cycles: u64,
    /// Warp instructions issued.
    pub issued: u64,
    /// Warp instructions per cycle.
    pub ipc: f64,
    /// `n T(1) / T(n)`.
    pub speedup: f64,
    /// Speedup over the number of warps.
    pub efficiency: f64,
    /// What the warps wait for that grew most since the step before; none where nothing grew.
    pub stop: Option<Stop>,
    /// The unit with the largest share of busy cycles.
    pub busiest: Option<(UnitKind, f64)>,
}

/// What keeps more warps from being as much faster.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Stop {
    /// State whose warp cycles per instruction grew most since the step before.
    pub stall: Stall,
    /// By how many warp cycles per instruction.
    pub growth: f64,
}

impl Scale {
    /// The warps from which on another step gains less than this share of what it adds; none where it never falls so low.
    pub fn falls_below(&self, efficiency: f64) -> Option<u32> {
        self.steps.iter().find(|step| step.efficiency < efficiency).map(|step| step.warps)
    }
}

/// Assumptions of a prediction that are about how a launch fills the SMs, which has no part here.
const OF_LAUNCH: &[AssumptionId] = &[AssumptionId::OneSm, AssumptionId::SteadyState, AssumptionId::WaveByWave];

/// What must hold: what the prediction of the launch, if there is one, says of the machine and its code, and what is special
/// here.
pub(crate) fn assumptions(prediction: Option<&Prediction>, resident: u32, fits: Option<u32>) -> Vec<String> {
    let own = [
        "below a whole block its first warps run alone, and barriers wait for those only",
        "the caches and the other SMs are as with all blocks of the launch, whatever the number of warps",
        "every warp has as much work as another, so that n warps do n times the work of one",
    ];
    let others = prediction.into_iter().flat_map(|prediction| &prediction.assumptions);
    let others = others.filter(|said| !OF_LAUNCH.contains(&said.id));
    let small = fits.filter(|fits| *fits > resident).map(|fits| {
        format!("the launch gives an SM {resident} blocks at once though {fits} fit: a larger grid shows more steps")
    });
    let own = own.into_iter().map(str::to_owned).chain(small);
    own.chain(others.map(|said| said.text.clone())).collect()
}

/// Simulates every step. The job is that of the full SM: its CTAs are taken in order, as many as fit at once.
pub fn steps(config: &SmConfig, job: &Job<'_>) -> Vec<Step> {
    let options = warplens_sim::Options { budget: Some(teg::SIMULATED), ..Default::default() };
    steps_by(job, |job| warplens_sim::simulate(config, job, options))
}

fn steps_by(job: &Job<'_>, mut simulate: impl FnMut(&Job<'_>) -> Outcome) -> Vec<Step> {
    let warps_per_cta = job.ctas.first().map_or(0, |cta| cta.warps.len());
    let most_ctas = job.ctas.len().min(job.resident as usize);
    let (mut all, mut before): (Vec<Step>, Option<Outcome>) = (Vec::new(), None);
    for (ctas, warps) in sizes(warps_per_cta, most_ctas) {
        let part: Vec<CtaTrace> = job.ctas[..ctas].iter().map(|cta| first_warps(cta, warps)).collect();
        let resident = u32::try_from(ctas).expect("not more CTAs than an SM holds");
        // The cache keeps the size that it has beside all CTAs, so that nothing but the number of warps differs.
        let outcome = simulate(&Job { ctas: &part, resident, ..*job });
        let warps = u32::try_from(part.iter().map(|cta| cta.warps.len()).sum::<usize>()).expect("warps of an SM");
        let alone = all.first().map_or(outcome.cycles, |first| first.cycles);
        all.push(step(warps, resident, alone, before.as_ref(), &outcome));
        before = Some(outcome);
    }
    all
}

/// CTAs and warps of each: 1, 2, 4 and so on up to all warps of one CTA, then 2, 4 and so on up to all CTAs.
fn sizes(warps_per_cta: usize, most_ctas: usize) -> Vec<(usize, usize)> {
    let up_to = |first: usize, most: usize| {
        let doubled = std::iter::successors(Some(first), |n| Some(2 * n)).take_while(move |&n| n < most);
        doubled.chain((most >= first).then_some(most))
    };
    let inside = up_to(1, warps_per_cta).map(|warps| (1, warps));
    let beside = up_to(2, if warps_per_cta > 0 { most_ctas } else { 0 }).map(|ctas| (ctas, warps_per_cta));
    inside.chain(beside).collect()
}

fn first_warps(cta: &CtaTrace, warps: usize) -> CtaTrace {
    CtaTrace { id: cta.id, warps: cta.warps.iter().take(warps).cloned().collect() }
}

fn step(warps: u32, ctas: u32, alone: u64, before: Option<&Outcome>, outcome: &Outcome) -> Step {
    let n = f64::from(warps);
    let per = |over: u64, under: u64| if under == 0 { 0.0 } else { over as f64 / under as f64 };
    let efficiency = per(alone, outcome.cycles);
    let busy = outcome.units.iter().map(|unit| (unit.kind, unit.utilisation(outcome.cycles)));
    Step {
        warps,
        ctas,
        cycles: outcome.cycles,
        issued: outcome.issued,
        ipc: per(outcome.issued, outcome.cycles),
        speedup: n * efficiency,
        efficiency,
        stop: before.and_then(|before| stop(before, outcome)),
        busiest: busy.filter(|&(_, share)| share > 0.0).max_by(|left, right| left.1.total_cmp(&right.1)),
    }
}

/// The state that grew most for each instruction, if all together did.
fn stop(before: &Outcome, after: &Outcome) -> Option<Stop> {
    let per_instruction = |outcome: &Outcome, stall: Stall| match outcome.issued {
        0 => 0.0,
        issued => outcome.stalls().of(stall) as f64 / issued as f64,
    };
    let whole = |outcome: &Outcome| Stall::ALL.iter().map(|&stall| per_instruction(outcome, stall)).sum::<f64>();
    if whole(after) <= whole(before) * (1.0 + LEAST_GROWTH) {
        return None;
    }
    let growth =
        |&stall: &Stall| Stop { stall, growth: per_instruction(after, stall) - per_instruction(before, stall) };
    Stall::ALL.iter().map(growth).max_by(|left, right| left.growth.total_cmp(&right.growth))
}

#[cfg(test)]
mod tests {
    use super::*;
    use warplens_sim::{Pipe, SchedulerOutcome, StallCycles, Surroundings, UnitOutcome};
    use warplens_trace::{ActiveMask, Code, CtaId, WarpTraceBuilder};

    /// A machine that issues an instruction every 4 cycles and has a latency of 24: one warp alone takes 24 cycles for
    /// each of its instructions, and 6 saturate it.
    fn machine(job: &Job<'_>) -> Outcome {
        let warps = job.ctas.iter().map(|cta| cta.warps.len() as u64).sum::<u64>();
        let steps: u64 = job.ctas.iter().flat_map(|cta| cta.warps.iter()).map(|warp| warp.n_steps() as u64).sum();
        let each = (4 * warps).max(24);
        let mut stalls = StallCycles::default();
        stalls.add(Stall::Selected, steps);
        stalls.add(Stall::Wait, steps * 23);
        stalls.add(Stall::MathPipeThrottle, steps * (each - 24));
        Outcome {
            cycles: each * steps / warps,
            issued: steps,
            schedulers: vec![SchedulerOutcome { issued: steps, stalls }],
            units: vec![UnitOutcome { kind: UnitKind::Pipe(Pipe::Fma), count: 1, busy: 4.0 * steps as f64 }],
            ..Outcome::default()
        }
    }

    fn cta(id: u32, warps: usize) -> CtaTrace {
        let mut warp = WarpTraceBuilder::default();
        (0..10).for_each(|_| warp.step(0, ActiveMask::FULL));
        CtaTrace { id: CtaId(id), warps: vec![warp.finish(); warps].into() }
    }

    #[test]
    fn warps_come_one_by_one_and_then_by_cta() {
        assert_eq!(sizes(8, 3), [(1, 1), (1, 2), (1, 4), (1, 8), (2, 8), (3, 8)]);
        assert_eq!(sizes(6, 1), [(1, 1), (1, 2), (1, 4), (1, 6)]);
        assert_eq!(sizes(1, 4), [(1, 1), (2, 1), (4, 1)]);
        assert_eq!(sizes(0, 4), []);
    }

    #[test]
    fn scaling_ends_where_the_unit_is_full() {
        let code = Code::default();
        let ctas: Vec<CtaTrace> = (0..4).map(|id| cta(id, 4)).collect();
        let job = Job { code: &code, ctas: &ctas, resident: 2, surroundings: Surroundings::ALONE, footprint: None };
        let steps = steps_by(&job, machine);
        let shown: Vec<_> = steps.iter().map(|step| (step.warps, step.ctas, step.cycles)).collect();
        assert_eq!(shown, [(1, 1, 240), (2, 1, 240), (4, 1, 240), (8, 2, 320)]);
        assert!(steps[..3].iter().all(|step| step.stop.is_none() && (step.efficiency - 1.0).abs() < 1e-12));
        let last = &steps[3];
        assert!((last.speedup - 6.0).abs() < 1e-12 && (last.efficiency - 0.75).abs() < 1e-12);
        assert_eq!(last.stop, Some(Stop { stall: Stall::MathPipeThrottle, growth: 8.0 }));
        assert_eq!(last.busiest, Some((UnitKind::Pipe(Pipe::Fma), 1.0)));
    }
}
