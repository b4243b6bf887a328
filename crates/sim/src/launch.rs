//! From the CTAs that one SM is simulated with to the launch.
//!
//! CTAs are dealt out to the SMs in turn, so that some SMs get one more than others. Those decide the end, and one of them
//! is simulated. It gets the bandwidth that its CTAs' share of the launch is worth: where the other SMs have less to do,
//! the chip has more left for it.
//!
//! A long launch is carried on from the CTAs that were simulated ([`CarriedOn`]): what is left takes as long per
//! instruction as in whole waves of the steady state. The start and the end of a launch are simulated, and so count once.

use warplens_trace::Dealing;

use crate::unit::UnitKind;
use crate::{Outcome, sampling};

/// How a launch fills the SMs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaunchShare {
    /// CTAs that the busiest SM gets.
    pub ctas: u32,
    /// Of these, at once.
    pub resident: u32,
    /// SMs with as much to do as this one, that have all the work of the launch.
    pub active_sms: u32,
    /// SMs with work on this SM's memory pipeline.
    pub active_in_cluster: u32,
}

impl LaunchShare {
    /// A launch of `n_ctas` CTAs on `n_sms` SMs, of which `sms_per_cluster` share a memory pipeline; `fits` CTAs fit on an
    /// SM.
    pub fn new(n_ctas: u64, fits: u32, n_sms: u32, sms_per_cluster: u32) -> Self {
        let dealing = Dealing::new(n_sms);
        let (n_sms, ctas) = (dealing.n_sms(), dealing.most(n_ctas));
        let worth = n_ctas.div_ceil(ctas.into()).clamp(1, n_sms.into());
        let clusters = n_sms.div_ceil(sms_per_cluster.max(1));
        // The SMs of different clusters are filled before those of one.
        let in_cluster = n_ctas.div_ceil(clusters.into()).clamp(1, sms_per_cluster.max(1).into());
        let narrow = |number: u64| u32::try_from(number).expect("clamped to a number of SMs");
        Self { ctas, resident: fits.clamp(1, ctas), active_sms: narrow(worth), active_in_cluster: narrow(in_cluster) }
    }

    /// CTAs that are simulated of `available` ones that are known and have `work` instructions, where `budget` may be
    /// simulated in detail: as many as are known, in windows; but no more than that, and two waves, where these would be too
    /// short.
    pub fn affordable(&self, available: u32, work: u64, budget: u64) -> u32 {
        let available = available.clamp(1, self.ctas);
        if budget >= sampling::LEAST {
            return self.simulated(available);
        }
        let whole = u128::from(budget) * u128::from(available) / u128::from(work.max(1));
        let whole = u32::try_from(whole).unwrap_or(u32::MAX);
        self.simulated(available.min(self.resident.saturating_mul(2).max(whole)))
    }

    /// CTAs that are simulated where `available` are known: all that the SM gets, or so many that the last wave is as full
    /// as in the launch. Where fewer than two whole waves would be left, the rate of those that follow counts for more than
    /// how full the last wave is: all that are known, in two waves if they are enough.
    pub fn simulated(&self, available: u32) -> u32 {
        let available = available.clamp(1, self.ctas);
        let beyond = (i64::from(available) - i64::from(self.ctas)).rem_euclid(self.resident.into());
        let beyond = u32::try_from(beyond).expect("less than the CTAs that are on the SM at once");
        available.checked_sub(beyond).filter(|&ctas| ctas >= self.resident.saturating_mul(2)).unwrap_or(available)
    }

    /// True where an SM has several CTAs, all at once, and others have one less.
    pub fn is_uneven(&self, n_ctas: u64, n_sms: u32) -> bool {
        self.ctas > 1 && self.ctas <= self.resident && !n_ctas.is_multiple_of(u64::from(n_sms.max(1)))
    }

    /// Which of its CTAs the SM is simulated with, where there are to be `n`, in the order in which it gets them: the first
    /// ones and the last wave, since it depends on the last ones how long the SM runs empty.
    pub fn turns(&self, n: u32) -> impl Iterator<Item = u32> + use<> {
        let n = n.min(self.ctas);
        let n_last = if n >= 2 * self.resident { self.resident } else { 0 };
        (0..n - n_last).chain(self.ctas - n_last..self.ctas)
    }
}

/// A launch whose SM was simulated with some of its CTAs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CarriedOn {
    /// CTAs that were simulated.
    pub simulated: u32,
    /// CTAs that the SM gets.
    pub ctas: u32,
    /// Machine instructions that the SM executes in the launch.
    pub instructions: f64,
    /// Of these, by the CTAs that were simulated.
    pub of_simulated: f64,
    /// Cycles per instruction of what is left.
    pub rate: f64,
    /// What the rate is taken from.
    pub basis: Basis,
    /// Cycles of the CTAs that were simulated.
    pub cycles: f64,
}

/// What the rate of the CTAs that are left is taken from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Basis {
    /// From so many whole waves after the first.
    Steady {
        /// Waves.
        waves: u32,
    },
    /// From the second wave.
    SecondWave,
    /// Every wave takes as long as the first.
    WaveByWave,
}

impl CarriedOn {
    /// Carries on from what a simulation found to `instructions` on the SM, of which the simulated CTAs have
    /// `of_simulated`.
    pub fn new(share: &LaunchShare, outcome: &Outcome, instructions: f64, of_simulated: f64) -> Self {
        let (rate, basis) = rate(outcome, share.resident as usize);
        let rate = rate.max(least_rate(outcome));
        Self {
            simulated: outcome.ctas.len() as u32,
            ctas: share.ctas,
            instructions: instructions.max(of_simulated),
            of_simulated,
            rate,
            basis,
            cycles: outcome.cycles as f64,
        }
    }

    /// True where the simulation had all CTAs of the SM.
    pub const fn is_whole(&self) -> bool {
        self.simulated == self.ctas
    }

    /// Cycles of the launch.
    pub fn total(&self) -> f64 {
        self.cycles + (self.instructions - self.of_simulated) * self.rate
    }

    /// What the launch has of something of which the simulated CTAs have one.
    pub fn scale(&self) -> f64 {
        if self.of_simulated > 0.0 { self.instructions / self.of_simulated } else { 1.0 }
    }
}

/// Cycles per instruction that further CTAs take.
fn rate(outcome: &Outcome, resident: usize) -> (f64, Basis) {
    let per = |cycles: u64, instructions: u64| cycles as f64 / instructions.max(1) as f64;
    let n_ctas = outcome.ctas.len();
    if n_ctas >= 3 * resident {
        // From the start of a CTA to that of the last one, whole waves apart: so a rhythm of the waves does not count.
        let last = n_ctas - 1;
        let after_first = (last - resident) / resident;
        let waves = after_first.div_ceil(2).max(1);
        let (from, to) = (outcome.ctas[last - waves * resident], outcome.ctas[last]);
        let instructions = to.issued_before.saturating_sub(from.issued_before);
        if instructions > 0 {
            return (per(to.start.saturating_sub(from.start), instructions), Basis::Steady { waves: waves as u32 });
        }
    }
    if n_ctas >= 2 * resident {
        // The SM is full from its first cycle on until a CTA ends that no other follows. Caches are warm since the first one
        // that another followed.
        let mut ends: Vec<(u64, u64)> = outcome.ctas.iter().map(|cta| (cta.end, cta.issued_after)).collect();
        ends.sort_unstable();
        let (from, to) = (outcome.ctas[resident], ends[n_ctas - resident]);
        let instructions = to.1.saturating_sub(from.issued_before);
        if instructions > 0 {
            return (per(to.0.saturating_sub(from.start), instructions), Basis::SecondWave);
        }
    }
    (per(outcome.cycles, outcome.issued), Basis::WaveByWave)
}

/// Cycles per instruction for which the busiest unit inside of the SM works. Between two points in time it may get less to do
/// for an instruction than in whole CTAs; caches have no say in it.
fn least_rate(outcome: &Outcome) -> f64 {
    let works_alike = |kind: UnitKind| match kind {
        UnitKind::Pipe(_) | UnitKind::Issue | UnitKind::MemoryIssue | UnitKind::SharedAndL1 => true,
        UnitKind::L2Link | UnitKind::DramShare | UnitKind::AtomicWord => false,
    };
    let inside = outcome.units.iter().filter(|unit| works_alike(unit.kind));
    let busiest = inside.map(|unit| unit.busy / f64::from(unit.count.max(1))).fold(0.0, f64::max);
    busiest / outcome.issued.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UnitOutcome;

    #[test]
    fn the_busiest_sm_decides() {
        let share = |n_ctas| LaunchShare::new(n_ctas, 8, 108, 1);
        let all = LaunchShare { ctas: 10, resident: 8, active_sms: 103, active_in_cluster: 1 };
        assert_eq!(share(1024), all);
        assert_eq!(share(1), LaunchShare { ctas: 1, resident: 1, active_sms: 1, active_in_cluster: 1 });
        // One SM has two CTAs, the others one: it gets 2/109 of the bandwidth.
        assert_eq!(share(109), LaunchShare { ctas: 2, resident: 2, active_sms: 55, active_in_cluster: 1 });
        assert_eq!(share(108 * 4000).active_sms, 108);
    }

    #[test]
    fn clusters_are_filled_in_turn() {
        let share = |n_ctas| LaunchShare::new(n_ctas, 8, 30, 3).active_in_cluster;
        assert_eq!([share(1), share(10), share(11), share(30), share(900)], [1, 1, 2, 3, 3]);
    }

    #[test]
    fn the_last_wave_is_as_full_as_in_the_launch() {
        let share = |ctas| LaunchShare { ctas, resident: 8, active_sms: 108, active_in_cluster: 1 };
        assert_eq!(share(10).simulated(40), 10);
        assert_eq!(share(1000).simulated(1000), 1000);
        assert_eq!([40, 41, 47, 48].map(|available| share(1000).simulated(available)), [40, 40, 40, 48]);
        assert_eq!([40, 41, 47, 48].map(|available| share(1003).simulated(available)), [35, 35, 43, 43]);
        assert_eq!([1, 5, 8, 9, 11].map(|available| share(1003).simulated(available)), [1, 5, 8, 9, 11]);
        // Two whole waves say how fast the SM is; one and the first CTAs of the next do not.
        assert_eq!([16, 18, 19, 26, 27].map(|available| share(1003).simulated(available)), [16, 18, 19, 19, 27]);
    }

    #[test]
    fn the_first_ctas_and_the_last_wave_are_simulated() {
        let share = LaunchShare { ctas: 20, resident: 3, active_sms: 108, active_in_cluster: 1 };
        let turns = |n| share.turns(n).collect::<Vec<_>>();
        assert_eq!(turns(5), [0, 1, 2, 3, 4]);
        assert_eq!(turns(8), [0, 1, 2, 3, 4, 17, 18, 19]);
        assert_eq!(turns(40), (0..20).collect::<Vec<_>>());
    }

    /// CTAs of 100 instructions one after the other in `resident` places, each of which takes `cycles` but the first of each
    /// place, which takes 50 more.
    fn outcome(n_ctas: usize, resident: usize, cycles: u64) -> Outcome {
        let of_wave = 100 * resident as u64;
        let first = cycles + 50;
        let issued = |cycle: u64| match cycle.checked_sub(first) {
            None => of_wave * cycle / first,
            Some(beyond) => of_wave + of_wave * beyond / cycles,
        };
        let cta = |index: usize| {
            let (wave, place) = ((index / resident) as u64, (index % resident) as u64);
            // Places are out of step by a cycle.
            let start = place + wave * cycles + if wave > 0 { 50 } else { 0 };
            let end = place + (wave + 1) * cycles + 50;
            crate::CtaSpan { start, end, issued_before: issued(start), issued_after: issued(end) }
        };
        let ctas: Vec<_> = (0..n_ctas).map(cta).collect();
        let cycles = ctas.iter().map(|cta| cta.end).max().unwrap();
        Outcome { cycles, issued: 100 * n_ctas as u64, ctas, ..Outcome::default() }
    }

    #[test]
    fn a_launch_is_carried_on_from_its_steady_state() {
        let share = LaunchShare { ctas: 1000, resident: 4, active_sms: 108, active_in_cluster: 1 };
        let whole = outcome(1000, 4, 30);
        let on = |outcome: &Outcome| CarriedOn::new(&share, outcome, 100.0 * 1000.0, outcome.issued as f64);
        for n_ctas in [1000, 500, 64, 12, 8] {
            let carried = on(&outcome(n_ctas, 4, 30));
            assert!((carried.total() / whole.cycles as f64 - 1.0).abs() < 1e-3, "{n_ctas} CTAs: {carried:?}");
            assert_eq!(carried.is_whole(), n_ctas == 1000);
        }
        assert_eq!(on(&outcome(64, 4, 30)).basis, Basis::Steady { waves: 7 });
        assert_eq!(on(&outcome(8, 4, 30)).basis, Basis::SecondWave);
        let one = on(&outcome(4, 4, 30));
        assert_eq!((one.basis, one.total()), (Basis::WaveByWave, 250.0 * 83.0));
    }

    #[test]
    fn an_sm_that_runs_empty_says_nothing_about_what_is_left() {
        // Two instructions in a cycle while two CTAs are there, and one behind that; 100 instructions for each.
        let span =
            |(start, issued_before), (end, issued_after)| crate::CtaSpan { start, end, issued_before, issued_after };
        let ctas = vec![
            span((0, 0), (60, 120)),
            span((0, 0), (100, 200)),
            span((60, 120), (160, 320)),
            span((100, 200), (240, 400)),
        ];
        let share = LaunchShare { ctas: 10, resident: 2, active_sms: 108, active_in_cluster: 1 };
        let simulated = Outcome { cycles: 240, issued: 400, ctas, ..Outcome::default() };
        let carried = CarriedOn::new(&share, &simulated, 1000.0, 400.0);
        assert_eq!((carried.basis, carried.rate, carried.total()), (Basis::SecondWave, 0.5, 540.0));
        // But no unit of the SM does the rest faster than what it has done.
        let busy = |kind, busy| UnitOutcome { kind, count: 2, busy };
        let units =
            vec![busy(UnitKind::Issue, 100.0), busy(UnitKind::MemoryIssue, 480.0), busy(UnitKind::DramShare, 960.0)];
        let carried = CarriedOn::new(&share, &Outcome { units, ..simulated }, 1000.0, 400.0);
        assert_eq!((carried.rate, carried.total()), (0.6, 600.0));
    }

    #[test]
    fn ctas_with_more_work_take_longer() {
        let share = LaunchShare { ctas: 1000, resident: 4, active_sms: 108, active_in_cluster: 1 };
        let simulated = outcome(64, 4, 30);
        let on = |instructions| CarriedOn::new(&share, &simulated, instructions, simulated.issued as f64);
        let (rest, half_more) = (on(100_000.0), on(150_000.0));
        assert!(half_more.total() > 1.45 * rest.total());
        // The simulated ones are never fewer than the launch's.
        assert_eq!(on(10.0).total(), simulated.cycles as f64);
    }
}
