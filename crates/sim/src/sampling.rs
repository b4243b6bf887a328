//! A long job simulated in part: windows of it in detail, and what lies between them for its effects alone.
//!
//! In a window every instruction takes its time. Between two windows warps go on through their traces round by round,
//! meet at barriers, end and make room for others, and their accesses move lines in the caches, but the clock stands still
//! ([`passing`](crate::stage::passing)). So caches are warm, and warps are out of step as far as what they find in them makes
//! them, where the next window begins. What
//! was passed over takes as long per instruction as the second halves of the windows before and after it, and no less than
//! the device memory needs for its bytes. The first window has the start of the job. The last one has its end, where the
//! SM runs empty: from then on it does not count for the gap before it, as the warps that are left need far longer per
//! instruction than all did.
//!
//! This is systematic sampling with functional warming (Wunderlich, Wenisch, Falsafi and Hoe, SMARTS, ISCA 2003), of an SM
//! in place of a core.

/// Instructions of a window, about: what 64 warps need to come into their stride, several times.
const WINDOW: u64 = 50_000;
/// Fewest and most windows.
const WINDOWS: (u64, u64) = (4, 16);
/// The last window says how fast the SM was before it ran empty, if it was so for one part in so many of the window.
const LEAST_OF_WINDOW: u64 = 4;
/// Least instructions in detail, so that no window is too short to come into its stride: shorter jobs are simulated whole.
pub(crate) const LEAST: u64 = WINDOWS.0 * WINDOW / 2;

/// A moment: the clock, and the instructions that all warps have gone through up to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Moment {
    pub(crate) cycle: u64,
    pub(crate) instructions: u64,
}

/// What of a job is simulated in detail, and what was found.
#[derive(Clone, Debug)]
pub(crate) struct Sampling {
    /// Instructions of a window and of what lies between two; no end where all is simulated in detail.
    window: u64,
    gap: u64,
    n_windows: usize,
    /// Issued instructions at which the current window is half over, or over.
    next: u64,
    windows: Vec<Window>,
    gaps: Vec<Gap>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Window {
    middle: Option<Moment>,
    end: Option<Moment>,
    /// When the first CTA ended that none came after.
    empty: Option<Moment>,
}

#[derive(Clone, Copy, Debug)]
struct Gap {
    from: Moment,
    instructions: u64,
    /// Cycles that the bytes that moved in it take at least.
    least: f64,
}

impl Gap {
    /// Where the next window begins.
    const fn end(&self) -> Moment {
        Moment { cycle: self.from.cycle, instructions: self.from.instructions + self.instructions }
    }
}

/// What there is to do when so many instructions have been issued.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Due {
    Nothing,
    /// So many instructions are to be passed over.
    Gap(u64),
}

impl Sampling {
    /// Of a job of so many instructions about `budget` in detail; all without a budget, or where it is enough.
    pub(crate) fn new(work: u64, budget: Option<u64>) -> Self {
        let budget = budget.unwrap_or(u64::MAX).max(LEAST);
        let mut sampling = Self {
            window: u64::MAX,
            gap: 0,
            n_windows: 1,
            next: u64::MAX,
            windows: vec![Window::default()],
            gaps: Vec::new(),
        };
        if work > budget {
            let n = (budget / WINDOW).clamp(WINDOWS.0, WINDOWS.1);
            sampling.window = (budget / n).max(2);
            sampling.gap = (work - budget) / (n - 1);
            sampling.n_windows = n as usize;
            sampling.next = sampling.window / 2;
        }
        sampling
    }

    /// Issued instructions at which there is something to do.
    pub(crate) const fn next(&self) -> u64 {
        self.next
    }

    /// The instructions of [`Sampling::next`] have been issued.
    pub(crate) fn reached(&mut self, now: Moment) -> Due {
        let window = self.windows.last_mut().expect("there is always one");
        if window.middle.is_none() {
            window.middle = Some(now);
            // The last window has no end but that of the job.
            let is_last = self.windows.len() == self.n_windows;
            self.next = if is_last { u64::MAX } else { self.next + self.window - self.window / 2 };
            return Due::Nothing;
        }
        window.end = Some(now);
        self.next += self.window / 2;
        Due::Gap(self.gap)
    }

    /// So many instructions were passed over at a moment, whose bytes take so many cycles at least.
    pub(crate) fn passed(&mut self, from: Moment, instructions: u64, least: f64) {
        self.gaps.push(Gap { from, instructions, least });
        self.windows.push(Window::default());
    }

    /// A CTA has ended, and none comes after it.
    pub(crate) fn runs_empty(&mut self, now: Moment) {
        if let Some(window) = self.windows.get_mut(self.n_windows - 1) {
            window.empty.get_or_insert(now);
        }
    }

    /// The clock of the job with what was passed over in it. `end` is the end of what was simulated.
    pub(crate) fn clock(&self, end: Moment) -> Clock {
        let between = |from: Moment, to: Moment, least: u64| {
            let instructions = to.instructions.checked_sub(from.instructions).filter(|&n| n >= least)?;
            Some(to.cycle.saturating_sub(from.cycle) as f64 / instructions as f64)
        };
        let rate = |window: &Window| match (window.empty, &self.gaps[..]) {
            (Some(empty), [.., gap]) => {
                let least = self.window / LEAST_OF_WINDOW;
                window.middle.and_then(|from| between(from, empty, least)).or_else(|| between(gap.end(), empty, least))
            }
            // Nothing was passed over before it, or it has no end of the job.
            (Some(_), []) | (None, _) => between(window.middle?, window.end.unwrap_or(end), 1),
        };
        let rates: Vec<Option<f64>> = self.windows.iter().map(rate).collect();
        let gaps = self.gaps.iter().enumerate().map(|(number, gap)| {
            let around: Vec<f64> = rates[number..=number + 1].iter().copied().flatten().collect();
            let rate = around.iter().sum::<f64>() / around.len().max(1) as f64;
            let rate = rate.max(gap.least / gap.instructions.max(1) as f64);
            (gap.from.instructions, gap.instructions, rate)
        });
        Clock { gaps: gaps.collect() }
    }
}

/// Tells the time of a job of which parts were passed over.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    /// Instructions before each gap, in it, and cycles of each of them.
    gaps: Vec<(u64, u64, f64)>,
}

impl Clock {
    /// True where nothing was passed over.
    pub(crate) const fn is_plain(&self) -> bool {
        self.gaps.is_empty()
    }

    /// The time of a moment.
    pub(crate) fn time(&self, moment: Moment) -> u64 {
        let passed = self.gaps.iter().map(|&(from, instructions, rate)| {
            let of_gap = moment.instructions.saturating_sub(from).min(instructions);
            of_gap as f64 * rate
        });
        moment.cycle + passed.sum::<f64>().round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_passed_over_takes_as_long_as_what_lies_around_it() {
        let mut sampling = Sampling::new(1_000_000, Some(400_000));
        let (mut cycle, mut issued, mut instructions) = (0, 0, 0);
        // The first 500,000 instructions take 2 cycles each, the others 4, after 1,000 cycles at the start.
        let cost = |instructions: u64| if instructions < 500_000 { 2 } else { 4 };
        cycle += 1000;
        while instructions < 1_000_000 {
            (cycle, issued, instructions) = (cycle + cost(instructions), issued + 1, instructions + 1);
            let now = Moment { cycle, instructions };
            if issued == sampling.next()
                && let Due::Gap(gap) = sampling.reached(now)
            {
                sampling.passed(now, gap, 0.0);
                instructions += gap;
            }
        }
        assert!((395_000..=405_000).contains(&issued), "{issued}");
        let end = Moment { cycle, instructions };
        let time = sampling.clock(end).time(end);
        assert!((2_900_000..3_100_000).contains(&time), "{time}");
    }

    #[test]
    fn the_end_where_the_sm_runs_empty_counts_once() {
        let mut sampling = Sampling::new(1_000_000, Some(400_000));
        let (mut cycle, mut issued, mut instructions) = (0, 0, 0);
        while instructions < 1_000_000 {
            cycle += if instructions < 990_000 { 2 } else { 50 };
            (issued, instructions) = (issued + 1, instructions + 1);
            let now = Moment { cycle, instructions };
            if instructions == 990_000 {
                sampling.runs_empty(now);
            }
            if issued == sampling.next()
                && let Due::Gap(gap) = sampling.reached(now)
            {
                sampling.passed(now, gap, 0.0);
                instructions += gap;
            }
        }
        let end = Moment { cycle, instructions };
        let time = sampling.clock(end).time(end);
        assert!((2_470_000..2_490_000).contains(&time), "{time}");
    }

    #[test]
    fn what_was_passed_over_takes_as_long_as_its_bytes() {
        let mut sampling = Sampling::new(1_000_000, Some(400_000));
        let from = Moment { cycle: 500, instructions: 1000 };
        sampling.passed(from, 10_000, 7000.0);
        let end = Moment { cycle: 600, instructions: 11_100 };
        assert_eq!(sampling.clock(end).time(end), 7600);
    }

    #[test]
    fn a_job_within_the_budget_is_simulated_whole() {
        for (work, budget) in [(1_000_000, None), (1_000_000, Some(1_000_000)), (LEAST, Some(1))] {
            let sampling = Sampling::new(work, budget);
            assert_eq!(sampling.next(), u64::MAX);
            let end = Moment { cycle: 7, instructions: 5 };
            assert!(sampling.clock(end).is_plain());
            assert_eq!(sampling.clock(end).time(end), 7);
        }
    }
}
