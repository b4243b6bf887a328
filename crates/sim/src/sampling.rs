//! A long job simulated in part: windows of it in detail, and what lies between them for its effects alone.
//!
//! In a window every instruction takes its time. Between two windows warps go on through their traces round by round,
//! meet at barriers, end and make room for others, and their accesses move lines in the caches, but the clock stands still
//! ([`passing`](crate::stage::passing)). So caches are warm, and warps are out of step as far as what they find in them makes
//! them, where the next window begins. What was passed over takes as long per instruction as the second halves of the
//! windows before and after it, and no less than the device memory needs for its bytes, and the banks for its accesses.
//!
//! Four things are not the same in a gap as in the windows around it, and are told apart:
//!
//! - CTAs at work. Where the SM runs empty, the warps that are left need longer per instruction than all did: a window is
//!   measured for as long as a stage of emptiness lasts, a gap ends where one begins, and is measured by windows of its own.
//! - Code that is executed seldom, such as what comes before a long loop and after it. It fills a large part of the one
//!   window that happens to meet it, and a small one of the gaps. Where windows differ by how much of it they hold, an
//!   instruction of it has a price of its own (the regression estimator of sampling theory).
//!
//! - CTAs whose first warps have ended while the last ones are still at work. They run longer per instruction, too, and a
//!   window may happen to see nothing else. Where that explains by what windows differ, such an instruction has a price of
//!   its own in the same way.
//!
//! - Work for the banks of shared memory, where these are what the time goes by: blocks that began together load their tiles
//!   together, and a window sees more or less of that than a gap. Then time goes by what instructions need of the banks, not
//!   by how many they are.
//!
//! This is systematic sampling with functional warming (Wunderlich, Wenisch, Falsafi and Hoe, SMARTS, ISCA 2003), of an SM
//! in place of a core.

/// Instructions of a window, about: what 64 warps need to come into their stride, several times.
const WINDOW: u64 = 50_000;
/// Fewest and most windows, besides those where the SM runs empty. Of few instructions in detail fewer and longer windows are
/// better than five short ones, although nothing that differs between three has a price of its own ([`ENOUGH`]).
const WINDOWS: (u64, u64) = (3, 16);
/// A stretch says how fast the SM was, if it is one part in so many of a window.
const LEAST_OF_WINDOW: u64 = 4;
/// Least instructions in detail, so that no window is too short to come into its stride: shorter jobs are simulated whole.
pub(crate) const LEAST: u64 = 2 * WINDOW;
/// An instruction is seldom where another is executed this often for each time that it is.
const SELDOM: u64 = 16;
/// The multiples of what are spread most evenly after the point.
const GOLDEN_RATIO: f64 = 1.618_033_988_749_895;
/// Seldom code has a price of its own where that explains so much of what stretches differ by.
const EXPLAINED: f64 = 0.5;
/// Banks, or issue slots, that are busy for such a part of the cycles are what the time goes by.
pub(crate) const BOUND: f64 = 0.75;
/// Fewer stretches explain nothing.
const ENOUGH: usize = 4;

/// A moment: the clock, and the instructions that all warps have gone through up to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Moment {
    pub(crate) cycle: u64,
    pub(crate) instructions: u64,
}

/// A moment, and how often each instruction has been executed up to it.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Point {
    pub(crate) moment: Moment,
    pub(crate) executions: Box<[u64]>,
    /// Sum over instructions of the warps that were missing, over those at work.
    pub(crate) missing: f64,
}

/// How many warps are missing while instructions are executed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MissingWarps {
    /// Sum over instructions of the missing warps over those at work.
    sum: f64,
    /// Since when so many are missing for each one at work.
    since: u64,
    ratio: f64,
}

impl MissingWarps {
    /// After so many instructions, other warps are at work; `full` are where all CTAs have theirs.
    pub(crate) fn change(&mut self, at_work: usize, full: usize, instructions: u64) {
        *self = Self {
            sum: self.up_to(instructions),
            since: instructions,
            ratio: full.saturating_sub(at_work) as f64 / at_work.max(1) as f64,
        };
    }

    pub(crate) fn up_to(&self, instructions: u64) -> f64 {
        self.sum + self.ratio * instructions.saturating_sub(self.since) as f64
    }
}

/// What of a job is simulated in detail, and what was found.
#[derive(Clone, Debug)]
pub(crate) struct Sampling {
    /// Instructions of the job, where not all of it is simulated in detail.
    work: u64,
    /// Instructions of a window; no end where all is simulated in detail.
    window: u64,
    /// Windows after the first, each behind a gap.
    n_gaps: usize,
    /// Issued instructions at which the current window is half over, or over.
    next: u64,
    /// CTAs at work in the current stretch, and now.
    stage: usize,
    at_work: usize,
    /// The start of the current window, of the part of it that is at the current stage.
    start: Point,
    /// Its middle, or a later change of stage.
    middle: Option<Point>,
    stretches: Vec<Stretch>,
    gaps: Vec<Gap>,
}

/// A part of a window.
#[derive(Clone, Debug)]
struct Stretch {
    from: Point,
    to: Point,
    /// CTAs at work.
    stage: usize,
}

/// What was passed over.
#[derive(Clone, Debug)]
struct Gap {
    from: Point,
    to: Point,
    stage: usize,
    /// Stretches before it.
    n_before: usize,
    /// Cycles that the bytes that moved in it take at least.
    least: f64,
}

/// What there is to do when so many instructions have been issued.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Due {
    Nothing,
    /// So many instructions are to be passed over.
    Gap(u64),
}

impl Sampling {
    /// Of a job of so many instructions, of which `resident` CTAs are at work at first, about `budget` in detail; all without
    /// a budget, or where it is enough.
    pub(crate) fn new(work: u64, budget: Option<u64>, resident: usize) -> Self {
        let budget = budget.unwrap_or(u64::MAX).max(LEAST);
        let mut sampling = Self {
            work,
            window: u64::MAX,
            n_gaps: 0,
            next: u64::MAX,
            stage: resident,
            at_work: resident,
            start: Point::default(),
            middle: None,
            stretches: Vec::new(),
            gaps: Vec::new(),
        };
        if work > budget {
            let n = budget.div_ceil(WINDOW).clamp(WINDOWS.0, WINDOWS.1);
            sampling.window = (budget / n).max(2);
            sampling.n_gaps = n as usize - 1;
            sampling.next = sampling.window / 2;
        }
        sampling
    }

    /// Issued instructions at which there is something to do.
    pub(crate) const fn next(&self) -> u64 {
        self.next
    }

    /// The instructions of [`Sampling::next`] have been issued.
    pub(crate) fn reached(&mut self, now: Point) -> Due {
        let left = self.work.saturating_sub(now.moment.instructions);
        if self.middle.is_none() {
            self.middle = Some(now);
            // The last window has no end but that of the job.
            let is_last = left < self.window;
            self.next = if is_last { u64::MAX } else { self.next + self.window - self.window / 2 };
            return Due::Nothing;
        }
        self.close(now);
        if left <= self.window {
            self.next = u64::MAX;
            return Due::Nothing;
        }
        self.next += self.window / 2;
        Due::Gap(self.next_gap(left))
    }

    /// Gaps have different lengths, half to one and a half times the mean, by the multiples of the golden ratio: blocks that
    /// began together do the same at the same time, and windows at equal distances might see the same part of them each time.
    /// Each has its part of what is left to pass over.
    fn next_gap(&self, left: u64) -> u64 {
        let first = self.gaps.len();
        let to_come = self.n_gaps.saturating_sub(first).max(1);
        let length = |number: usize| 0.5 + ((number + 1) as f64 * GOLDEN_RATIO).fract();
        let of_all: f64 = (first..first + to_come).map(length).sum();
        let to_pass = left.saturating_sub(to_come as u64 * self.window);
        (to_pass as f64 * length(first) / of_all) as u64
    }

    /// The current stretch ends, and the next one begins.
    fn close(&mut self, now: Point) {
        let start = std::mem::replace(&mut self.start, now.clone());
        let middle = self.middle.replace(now.clone());
        let least = (self.window / LEAST_OF_WINDOW).max(1);
        let is_long = |from: &Point| now.moment.instructions - from.moment.instructions >= least;
        let from = middle.filter(is_long).or_else(|| Some(start).filter(is_long));
        self.stretches.extend(from.map(|from| Stretch { from, to: now, stage: self.stage }));
    }

    /// Instructions were passed over, whose bytes take so many cycles at least.
    pub(crate) fn passed(&mut self, from: Point, to: Point, least: f64) {
        self.start = to.clone();
        self.middle = None;
        let n_before = self.stretches.len();
        self.gaps.push(Gap { from, to, stage: self.stage, n_before, least });
        if self.is_other_stage() {
            self.stage = self.at_work;
        }
    }

    /// A CTA has ended, and none comes after it. True where so few are left that the SM is another one.
    pub(crate) fn runs_empty(&mut self) -> bool {
        self.at_work = self.at_work.saturating_sub(1);
        self.is_other_stage()
    }

    /// CTAs at work, as far as others wait for their places.
    pub(crate) const fn at_work(&self) -> usize {
        self.at_work
    }

    const fn is_other_stage(&self) -> bool {
        4 * self.at_work <= 3 * self.stage
    }

    /// Another stage begins in a window.
    pub(crate) fn begin_stage(&mut self, now: Point) {
        let was_measured = self.middle.is_some();
        self.close(now);
        if !was_measured {
            self.middle = None;
        }
        self.stage = self.at_work;
    }

    /// True where something is passed over.
    pub(crate) const fn is_in_part(&self) -> bool {
        self.window < u64::MAX
    }

    /// The clock of the job with what was passed over in it. `end` is the end of what was simulated, `bank_cycles` has for each
    /// instruction the cycles for which the banks of shared memory and the L1 cache were busy with it in detail.
    pub(crate) fn clock(mut self, end: Point, bank_cycles: &[f64]) -> Clock {
        if self.gaps.is_empty() {
            return Clock { gaps: Vec::new() };
        }
        let most = end.executions.iter().copied().max().unwrap_or(0);
        let seldom: Vec<usize> =
            (0..end.executions.len()).filter(|&inst| end.executions[inst] * SELDOM < most).collect();
        let mut detailed = end.executions.clone();
        for gap in &self.gaps {
            let passed = gap.to.executions.iter().zip(&gap.from.executions).map(|(to, from)| to - from);
            detailed.iter_mut().zip(passed).for_each(|(detailed, passed)| *detailed -= passed);
        }
        let per_execution: Vec<f64> =
            bank_cycles.iter().zip(&detailed).map(|(cycles, &n)| cycles / n.max(1) as f64).collect();
        self.close(end);
        let executions = |from: &Point, to: &Point, inst: usize| (to.executions[inst] - from.executions[inst]) as f64;
        let measure = |from: &Point, to: &Point| Measure {
            cycles: (to.moment.cycle - from.moment.cycle.min(to.moment.cycle)) as f64,
            instructions: (to.moment.instructions - from.moment.instructions) as f64,
            seldom: seldom.iter().map(|&inst| executions(from, to, inst)).sum(),
            missing: to.missing - from.missing,
            banks: per_execution.iter().enumerate().map(|(inst, cycles)| cycles * executions(from, to, inst)).sum(),
        };
        let measures: Vec<Measure> = self.stretches.iter().map(|stretch| measure(&stretch.from, &stretch.to)).collect();
        let gaps = self.gaps.iter().map(|gap| {
            let is_alike = |&at: &usize| self.stretches[at].stage == gap.stage;
            let (before, after) = (0..gap.n_before, gap.n_before..measures.len());
            let mut around: Vec<usize> = before.clone().rev().find(is_alike).into_iter().collect();
            around.extend(after.clone().find(is_alike));
            if around.is_empty() {
                around.extend(before.last());
                around.extend(after.min());
            }
            let alike: Vec<Measure> = (0..measures.len()).filter(is_alike).map(|at| measures[at]).collect();
            let effort = effort(&alike);
            let price = Price::new(&alike, effort);
            let n = around.len().max(1) as f64;
            let rate = around.iter().map(|&at| measures[at].rate(&price, effort)).sum::<f64>() / n;
            let of_gap = measure(&gap.from, &gap.to);
            let cycles = rate * effort(&of_gap) + price.of(&of_gap);
            let cycles = cycles.max(gap.least).max(of_gap.banks);
            (gap.from.moment.instructions, of_gap.instructions as u64, cycles / of_gap.instructions.max(1.0))
        });
        Clock { gaps: gaps.collect() }
    }
}

/// What was found in a stretch.
#[derive(Clone, Copy, Debug)]
struct Measure {
    cycles: f64,
    instructions: f64,
    /// Of these, seldom ones.
    seldom: f64,
    /// Sum over instructions of the warps that were missing, over those at work.
    missing: f64,
    /// Cycles for which its instructions need the banks.
    banks: f64,
}

/// A quantity of a stretch, as the effort by which its cycles are foretold.
type Quantity = fn(&Measure) -> f64;

impl Measure {
    /// Cycles by effort, less what some instructions take longer.
    fn rate(&self, price: &Price, effort: Quantity) -> f64 {
        ((self.cycles - price.of(self)) / effort(self).max(1.0)).max(0.0)
    }
}

/// Instructions, or what they need of the banks where these are nearly always busy.
fn effort(measures: &[Measure]) -> Quantity {
    let sum = |of: Quantity| measures.iter().map(of).sum::<f64>();
    let is_bound = sum(|measure| measure.banks) >= BOUND * sum(|measure| measure.cycles) && !measures.is_empty();
    if is_bound { |measure| measure.banks } else { |measure| measure.instructions }
}

/// Cycles that some instructions take longer than others do.
#[derive(Clone, Copy, Debug)]
struct Price {
    instructions: Quantity,
    cycles: f64,
}

impl Price {
    /// That of the instructions that explain best by what stretches differ, seldom ones or those of last warps; 0 where neither
    /// does.
    fn new(measures: &[Measure], effort: Quantity) -> Self {
        let quantities: [Quantity; 2] = [|measure| measure.seldom, |measure| measure.missing];
        let fits = quantities.map(|instructions| (instructions, fit(measures, effort, instructions)));
        let best = fits.into_iter().filter(|(_, fit)| fit.explained >= EXPLAINED);
        let best = best.max_by(|(_, a), (_, b)| a.explained.total_cmp(&b.explained));
        best.map_or(Self { instructions: quantities[0], cycles: 0.0 }, |(instructions, fit)| Self {
            instructions,
            cycles: fit.price,
        })
    }

    /// What the instructions of a stretch take longer together.
    fn of(&self, measure: &Measure) -> f64 {
        self.cycles * (self.instructions)(measure)
    }
}

/// How well a line goes through the rates of stretches over their shares of some instructions.
#[derive(Clone, Copy, Debug, Default)]
struct Fit {
    /// What such an instruction takes longer.
    price: f64,
    /// Part of the differences, or 0 where it comes as often in all of them: then what they take holds for gaps, too, and better
    /// than gaps know what comes in them.
    explained: f64,
}

/// By least squares over stretches, each with the weight of its effort.
fn fit(measures: &[Measure], effort: Quantity, instructions: Quantity) -> Fit {
    let sum = |of: &dyn Fn(&Measure) -> f64| measures.iter().map(of).sum::<f64>();
    let n = sum(&effort);
    let (mean_rate, mean_share) = (sum(&|measure| measure.cycles) / n, sum(&instructions) / n);
    let rate = |measure: &Measure| measure.cycles / effort(measure).max(1.0) - mean_rate;
    let share = |measure: &Measure| instructions(measure) / effort(measure).max(1.0) - mean_share;
    let of_shares = sum(&|measure| effort(measure) * share(measure) * share(measure));
    let of_rates = sum(&|measure| effort(measure) * rate(measure) * rate(measure));
    let of_both = sum(&|measure| effort(measure) * rate(measure) * share(measure));
    let comes_in_lumps = of_shares > 0.0 && of_shares >= n * mean_share * mean_share;
    if measures.len() < ENOUGH || !comes_in_lumps {
        return Fit::default();
    }
    // No instruction takes less than no time.
    Fit { price: (of_both / of_shares).max(-mean_rate), explained: of_both * of_both / (of_shares * of_rates) }
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

    /// Goes through a job; `cost` has the cycles of each instruction that is executed. Of its two instructions the second is
    /// executed where `is_seldom` says so.
    struct Walk<'a> {
        cost: &'a dyn Fn(u64) -> u64,
        is_seldom: &'a dyn Fn(u64) -> bool,
        /// Warps that are missing then, for each one at work.
        missing: &'a dyn Fn(u64) -> f64,
        /// Instructions at which one of two CTAs ends.
        half_empty: u64,
        /// Instructions of the job, and those in detail.
        work: u64,
        budget: u64,
    }

    impl Walk<'_> {
        /// Instructions in detail, and the time that comes out.
        fn run(&self) -> (u64, u64) {
            let mut sampling = Sampling::new(self.work, Some(self.budget), 2);
            let mut issued = 0;
            let mut now = Point { executions: Box::new([0; 2]), ..Point::default() };
            let go_on = |now: &mut Point| {
                let at = now.moment.instructions;
                now.executions[usize::from((self.is_seldom)(at))] += 1;
                now.missing += (self.missing)(at);
                now.moment.instructions += 1;
            };
            while now.moment.instructions < self.work {
                now.moment.cycle += (self.cost)(now.moment.instructions);
                issued += 1;
                go_on(&mut now);
                if now.moment.instructions == self.half_empty && sampling.runs_empty() {
                    sampling.begin_stage(now.clone());
                }
                if issued == sampling.next()
                    && let Due::Gap(gap) = sampling.reached(now.clone())
                {
                    let from = now.clone();
                    let end = now.moment.instructions + gap;
                    while now.moment.instructions < end {
                        go_on(&mut now);
                        if now.moment.instructions == self.half_empty && sampling.runs_empty() {
                            break;
                        }
                    }
                    sampling.passed(from, now.clone(), 0.0);
                }
            }
            (issued, sampling.clock(now.clone(), &[]).time(now.moment))
        }

        /// The time that it takes.
        fn exact(&self) -> u64 {
            (0..self.work).map(self.cost).sum()
        }

        fn error(&self) -> f64 {
            self.run().1 as f64 / self.exact() as f64 - 1.0
        }
    }

    const PLAIN: Walk<'static> = Walk {
        cost: &|_| 2,
        is_seldom: &|_| false,
        missing: &|_| 0.0,
        half_empty: u64::MAX,
        work: 1_000_000,
        budget: 400_000,
    };

    #[test]
    fn what_was_passed_over_takes_as_long_as_what_lies_around_it() {
        let walk = Walk { cost: &|at| if at < 500_000 { 2 } else { 4 }, ..PLAIN };
        let (issued, _) = walk.run();
        assert!((395_000..=405_000).contains(&issued), "{issued}");
        assert!(walk.error().abs() < 1.0 / 30.0, "{}", walk.error());
    }

    #[test]
    fn the_end_where_the_sm_runs_empty_counts_once() {
        let walk = Walk { cost: &|at| if at < 990_000 { 2 } else { 50 }, half_empty: 990_000, ..PLAIN };
        assert!(walk.error().abs() < 0.004, "{}", walk.error());
    }

    #[test]
    fn an_sm_that_runs_empty_in_a_gap_is_looked_at() {
        for half_empty in [440_000, 500_000, 550_000, 600_000, 660_000, 700_000, 760_000, 830_000] {
            let walk = Walk { cost: &|at| if at < half_empty { 2 } else { 5 }, half_empty, ..PLAIN };
            assert!(walk.error().abs() < 0.005, "{half_empty}: {}", walk.error());
        }
    }

    #[test]
    fn windows_see_all_of_what_comes_again_and_again() {
        // Blocks of any length, of which the first fifth is slow.
        for length in [20_000, 25_000, 50_000, 75_000, 100_000, 140_000] {
            let cost = |at| if at % length < length / 5 { 6 } else { 2 };
            let walk = Walk { cost: &cost, work: 5_000_000, budget: 1_000_000, ..PLAIN };
            assert!(walk.error().abs() < 0.1, "{length}: {}", walk.error());
        }
    }

    #[test]
    fn seldom_code_counts_as_often_as_it_is_executed() {
        // 2,000 slow instructions, once in a window, once in a gap.
        for from in [80_000, 90_000, 100_000, 150_000, 300_000, 480_000, 500_000, 700_000] {
            let is_seldom = |at| (from..from + 2_000).contains(&at);
            let walk = Walk { cost: &|at| if is_seldom(at) { 30 } else { 2 }, is_seldom: &is_seldom, ..PLAIN };
            assert!(walk.error().abs() < 0.035, "{from}: {}", walk.error());
        }
    }

    #[test]
    fn warps_that_are_left_alone_take_longer_where_they_are() {
        // Of each 400,000 instructions 60,000 are those of the last one or two of eight warps.
        for phase in [0, 30_000, 80_000, 130_000, 250_000] {
            let missing = |at: u64| match (at + phase) % 400_000 {
                340_000..380_000 => 3.0,
                380_000.. => 7.0,
                _ => 0.0,
            };
            let cost = |at| 2 + 2 * missing(at) as u64;
            let walk = Walk { cost: &cost, missing: &missing, work: 5_000_000, budget: 1_000_000, ..PLAIN };
            assert!(walk.error().abs() < 0.01, "{phase}: {}", walk.error());
        }
    }

    #[test]
    fn what_was_passed_over_takes_as_long_as_its_bytes() {
        let mut sampling = Sampling::new(1_000_000, Some(400_000), 1);
        let point = |cycle, instructions| Point {
            moment: Moment { cycle, instructions },
            executions: Box::new([]),
            missing: 0.0,
        };
        sampling.passed(point(500, 1000), point(500, 11_000), 7000.0);
        let end = Moment { cycle: 600, instructions: 11_100 };
        assert_eq!(sampling.clock(point(600, 11_100), &[]).time(end), 7600);
    }

    #[test]
    fn a_job_within_the_budget_is_simulated_whole() {
        for (work, budget) in [(1_000_000, None), (1_000_000, Some(1_000_000)), (LEAST, Some(1))] {
            let sampling = Sampling::new(work, budget, 1);
            assert_eq!(sampling.next(), u64::MAX);
            let end = Moment { cycle: 7, instructions: 5 };
            let clock = sampling.clock(Point { moment: end, executions: Box::new([]), missing: 0.0 }, &[]);
            assert!(clock.is_plain());
            assert_eq!(clock.time(end), 7);
        }
    }
}
