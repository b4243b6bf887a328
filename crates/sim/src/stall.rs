//! Why a warp does not issue: the reasons, under the names of Nsight Compute.

use std::fmt;

macro_rules! stalls {
    ($($(#[$meta:meta])* $name:ident $text:literal;)*) => {
        /// State of a warp in a cycle.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Stall {
            $($(#[$meta])* $name,)*
        }

        impl Stall {
            /// Every state.
            pub const ALL: &[Stall] = &[$(Self::$name,)*];
            /// Number of states.
            pub const COUNT: usize = Self::ALL.len();

            /// Name as Nsight Compute writes it in `smsp__average_warps_issue_stalled_NAME`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// Nsight Compute's metric of the mean number of warps in the state for each instruction issued.
            pub const fn metric(self) -> &'static str {
                match self {
                    $(Self::$name => concat!("smsp__average_warps_issue_stalled_", $text, "_per_issue_active"),)*
                }
            }
        }
    };
}

stalls! {
    /// The warp issues.
    Selected "selected";
    /// The warp could issue, and another one did.
    NotSelected "not_selected";
    /// A fixed number of cycles: after the warp's last instruction, or until the result of an operation whose latency is
    /// known when it is issued.
    Wait "wait";
    /// Data from global, local or texture memory.
    LongScoreboard "long_scoreboard";
    /// Data from shared memory, special functions, or another unit of variable latency.
    ShortScoreboard "short_scoreboard";
    /// The other warps of the CTA have not arrived at the barrier.
    Barrier "barrier";
    /// A memory fence.
    Membar "membar";
    /// The arithmetic unit is busy.
    MathPipeThrottle "math_pipe_throttle";
    /// The queue of global and local memory instructions is full.
    LgThrottle "lg_throttle";
    /// The queue of shared-memory and other memory instructions is full.
    MioThrottle "mio_throttle";
    /// A branch has not been resolved.
    BranchResolving "branch_resolving";
    /// The warp has ended, and what it sent out is still under way.
    Drain "drain";
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Warp cycles by state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StallCycles(pub [u64; Stall::COUNT]);

impl StallCycles {
    /// Adds cycles.
    pub fn add(&mut self, stall: Stall, cycles: u64) {
        self.0[stall as usize] += cycles;
    }

    /// Cycles in one state.
    pub const fn of(&self, stall: Stall) -> u64 {
        self.0[stall as usize]
    }

    /// Cycles in all states.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Share of the cycles in one state; 0 where there are none.
    pub fn share(&self, stall: Stall) -> f64 {
        let total = self.total();
        if total == 0 { 0.0 } else { self.of(stall) as f64 / total as f64 }
    }

    /// The states that occur with their shares, the largest first; of equals the first in the table.
    pub fn ranked(&self) -> Vec<(Stall, f64)> {
        let mut ranked: Vec<(Stall, u64)> = self.iter().filter(|&(_, cycles)| cycles > 0).collect();
        ranked.sort_by_key(|&(_, cycles)| std::cmp::Reverse(cycles));
        ranked.into_iter().map(|(stall, _)| (stall, self.share(stall))).collect()
    }

    /// The states with their cycles, in the order of the table.
    pub fn iter(&self) -> impl Iterator<Item = (Stall, u64)> + '_ {
        Stall::ALL.iter().copied().zip(self.0)
    }

    /// Makes other numbers of all cycles.
    pub(crate) fn scale(&mut self, scaled: impl Fn(u64) -> u64) {
        self.0.iter_mut().for_each(|cycles| *cycles = scaled(*cycles));
    }

    /// Takes over the cycles of another place.
    pub fn merge(&mut self, other: &Self) {
        for (cycles, more) in self.0.iter_mut().zip(other.0) {
            *cycles += more;
        }
    }
}
