//! From the CTAs that one SM is simulated with to the launch.
//!
//! CTAs are dealt out to the SMs in turn, so that some SMs get one more than others. Those decide the end, and one of them
//! is simulated. It gets the bandwidth that its CTAs' share of the launch is worth: where the other SMs have less to do,
//! the chip has more left for it.
//!
//! A long launch is carried on from its steady state. Two numbers of CTAs are simulated, both whole waves, and what lies
//! between them is the time of further CTAs: `T(n) = T(many) + (n - many) (T(many) - T(few)) / (many - few)`. The start and
//! the end of a launch are in both, and so count once.

use warplens_trace::Dealing;

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

    /// What is simulated when `available` CTAs of the SM are known and about `affordable` may be simulated.
    pub fn plan(&self, available: u32, affordable: u32) -> Plan {
        let available = available.min(self.ctas).max(1);
        if available >= self.ctas && self.ctas <= affordable.max(self.resident) {
            return Plan { many: self.ctas, few: None, ctas: self.ctas };
        }
        let whole = |ctas: u32| (ctas / self.resident) * self.resident;
        let wanted = affordable.clamp(2 * self.resident, self.resident.saturating_mul(STEADY_WAVES));
        match whole(available.min(wanted)) {
            // Not even a wave is known: what there is stands for it.
            0 => Plan { many: available, few: None, ctas: self.ctas },
            many => {
                let few = whole(many / 2);
                Plan { many, few: (few > 0).then_some(few), ctas: self.ctas }
            }
        }
    }
}

/// Waves that show the steady state: with fewer, the bandwidth that SMs share and what waits for it have not settled.
pub const STEADY_WAVES: u32 = 16;

/// Which numbers of CTAs are simulated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plan {
    /// The larger number.
    pub many: u32,
    /// The smaller one, about half of it, where the launch is carried on from both.
    pub few: Option<u32>,
    /// CTAs that the SM gets.
    pub ctas: u32,
}

impl Plan {
    /// True where the simulation has all CTAs of the SM.
    pub const fn is_whole(&self) -> bool {
        self.many == self.ctas
    }

    /// Cycles of the launch, where `many` CTAs take `of_many` and `few` take `of_few`. Without a smaller number each wave
    /// takes as long as the first.
    pub fn cycles(&self, of_many: f64, of_few: Option<f64>) -> f64 {
        let rest = f64::from(self.ctas - self.many);
        match self.few.zip(of_few) {
            Some((few, of_few)) => {
                let per_cta = (of_many - of_few).max(0.0) / f64::from(self.many - few);
                of_many + rest * per_cta
            }
            None => of_many * f64::from(self.ctas) / f64::from(self.many),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn short_launches_are_simulated_whole() {
        let share = LaunchShare::new(1024, 8, 108, 1);
        assert_eq!(share.plan(10, 40), Plan { many: 10, few: None, ctas: 10 });
        assert!(share.plan(10, 40).is_whole());
        assert_eq!(share.plan(10, 40).cycles(700.0, None), 700.0);
    }

    #[test]
    fn long_launches_are_carried_on_in_whole_waves() {
        let share = LaunchShare::new(108 * 1000, 8, 108, 1);
        assert_eq!(share.plan(1000, 1000), Plan { many: 1000, few: None, ctas: 1000 });
        assert_eq!(share.plan(1000, 400), Plan { many: 128, few: Some(64), ctas: 1000 });
        assert_eq!(share.plan(1000, 40), Plan { many: 40, few: Some(16), ctas: 1000 });
        assert_eq!(share.plan(20, 400), Plan { many: 16, few: Some(8), ctas: 1000 });
        assert_eq!(share.plan(9, 400), Plan { many: 8, few: None, ctas: 1000 });
        assert_eq!(share.plan(5, 400), Plan { many: 5, few: None, ctas: 1000 });
        assert_eq!(share.plan(1000, 1), Plan { many: 16, few: Some(8), ctas: 1000 });
        // 50 cycles of start and end, 10 of each CTA.
        let cycles = |ctas: u32| 50.0 + 10.0 * f64::from(ctas);
        let plan = share.plan(1000, 400);
        assert!((plan.cycles(cycles(128), Some(cycles(64))) - cycles(1000)).abs() < 1e-9);
        assert_eq!(share.plan(9, 400).cycles(80.0, None), 10000.0);
    }
}
