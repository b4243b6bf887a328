//! Equations (1) to (14), each a function under its number.
//!
//! Readings of the misprints:
//!
//! - (2) has N_act in the denominator. MPD would be 0 within a few warps, and the time jump by the factor of the next
//!   period's wait where the paper's figure 8 levels off. The documented reading leaves it out; what remains is what Hong
//!   and Kim call MWP_peak_BW. Either is at least 1 and at most N_act.
//! - (8) has `n - 1` for `N_act - 1`: (10) and (13) say the same with N_act. (13) is a maximum of one number; the other
//!   is 0.
//! - CPD1 is meant for low proportions of computation, CPD2 for those at which computing resources run out. Above c,
//!   where (3) falls with every warp and below 0, the documented reading takes (4) alone; as printed it is the smaller of
//!   both. Either is at least 1.
//! - (8), (10) and (13) charge the computation of the other warps without dividing by CPD, unlike (6). That is kept; an
//!   option divides.

/// Fitted constants of a GPU, and the most warps of an SM.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Constants {
    /// CPD where the two regimes start.
    pub a: f64,
    /// Warps at which the low-proportion regime turns.
    pub b: f64,
    /// Proportion of computation between the regimes.
    pub c: f64,
    /// Height of the saturating regime.
    pub d: f64,
    /// Most warps of an SM.
    pub m: f64,
}

/// (1) Warp_bwt: bytes per cycle that one warp takes during one memory access.
pub fn warp_bwt(n_thread: f64, d_mem: f64, n_trans: f64, t_mem: f64) -> f64 {
    let cycles = n_trans * t_mem;
    if cycles > 0.0 { n_thread * d_mem / cycles } else { 0.0 }
}

/// (2) MPD, with bandwidths in bytes per cycle. `printed` keeps N_act in the denominator.
pub fn mpd(n_act: f64, gpu_bwt: f64, n_sm: f64, warp_bwt: f64, printed: bool) -> f64 {
    let asked = n_sm * warp_bwt * if printed { n_act } else { 1.0 };
    // Accesses that ask for nothing are not limited by bandwidth.
    let served = if asked > 0.0 { (gpu_bwt / asked).floor().max(1.0) } else { n_act };
    served.min(n_act)
}

/// (3) CPD1.
pub fn cpd1(p: f64, n_act: f64, constants: &Constants) -> f64 {
    let Constants { a, b, c, .. } = *constants;
    (c - p) * (n_act - b) + a
}

/// (5) n.
pub fn n(p: f64, constants: &Constants) -> f64 {
    constants.d * (p - constants.c).powi(2)
}

/// (4) CPD2, for 1 to m warps; m is above 1.
pub fn cpd2(p: f64, n_act: f64, constants: &Constants) -> f64 {
    let Constants { a, m, .. } = *constants;
    let under_root = ((m - 1.0).powi(2) - (n_act - m).powi(2)).max(0.0);
    n(p, constants) / (m - 1.0) * under_root.sqrt() + a
}

/// CPD. `printed` takes the smaller of (3) and (4) everywhere.
pub fn cpd(p: f64, n_act: f64, constants: &Constants, printed: bool) -> f64 {
    let saturating = cpd2(p, n_act, constants);
    let cpd = if printed || p <= constants.c { cpd1(p, n_act, constants).min(saturating) } else { saturating };
    cpd.max(1.0)
}

/// Costs of one calculate period, in cycles.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Costs {
    /// c_i: of the computation task.
    pub c: f64,
    /// m_i: of the memory task.
    pub m: f64,
    /// MPD of the memory task; of no meaning without one.
    pub mpd: f64,
}

/// What surrounds a period.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Situation {
    /// N_act: warps of an SM.
    pub n_act: f64,
    /// CPD.
    pub cpd: f64,
    /// The other warps' computation is divided by CPD in (8), (10) and (13), too.
    pub waits_over_cpd: bool,
}

/// The four types of calculate periods.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PeriodType {
    /// No memory task is longer than its computation task.
    One,
    /// The memory task of this period is.
    Two,
    /// That of the period before is.
    Three,
    /// Both are.
    Four,
}

impl PeriodType {
    /// Every type.
    pub const ALL: [Self; 4] = [Self::One, Self::Two, Self::Three, Self::Four];

    /// The type of a period behind another.
    pub fn of(previous: &Costs, current: &Costs) -> Self {
        match (previous.c < previous.m, current.c < current.m) {
            (false, false) => Self::One,
            (false, true) => Self::Two,
            (true, false) => Self::Three,
            (true, true) => Self::Four,
        }
    }

    /// Its number in the paper.
    pub const fn number(self) -> u32 {
        match self {
            Self::One => 1,
            Self::Two => 2,
            Self::Three => 3,
            Self::Four => 4,
        }
    }
}

/// The time of a calculate period.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PeriodTime {
    /// Its type.
    pub kind: PeriodType,
    /// (6): computation of all warps.
    pub compute: f64,
    /// T_c: waiting for the memory task of this period.
    pub t_c: f64,
    /// T_p: waiting for that of the period before.
    pub t_p: f64,
}

impl PeriodTime {
    /// (6) to (13).
    pub fn new(previous: &Costs, current: &Costs, situation: &Situation) -> Self {
        let Situation { n_act, cpd, waits_over_cpd } = *situation;
        let kind = PeriodType::of(previous, current);
        let compute = (n_act * current.c / cpd).ceil();
        let others = (n_act - 1.0) * current.c / if waits_over_cpd { cpd } else { 1.0 };
        let t_p = match kind {
            PeriodType::One | PeriodType::Two => 0.0,
            // (10), (12)
            PeriodType::Three | PeriodType::Four => {
                (previous.m * (n_act / previous.mpd - 1.0).floor() - others).max(0.0)
            }
        };
        let t_c = match kind {
            PeriodType::One | PeriodType::Three => 0.0,
            // (8), and (13) with the wait that is over by then
            PeriodType::Two | PeriodType::Four => (current.m - (others + t_p)).max(0.0),
        };
        Self { kind, compute, t_c, t_p }
    }

    /// T_i.
    pub fn total(&self) -> f64 {
        self.compute + self.t_p + self.t_c
    }
}

/// (14) P_acc: the smaller of a measured and a predicted time over the larger.
pub fn accuracy(test: f64, model: f64) -> f64 {
    test.min(model) / test.max(model)
}
