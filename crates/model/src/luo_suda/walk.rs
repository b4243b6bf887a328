//! Walks the calculate periods of warps in program order, loops without unrolling them.

use std::collections::BTreeMap;

use warplens_stats::StreamPart;

use super::equations::{Costs, PeriodTime, PeriodType, Situation};

/// Sequences of periods that warps execute, as far as the equations see them.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Work {
    /// Costs of the different periods.
    pub periods: Vec<Costs>,
    /// Their sequences.
    pub streams: Vec<Stream>,
}

/// A sequence of periods.
#[derive(Clone, PartialEq, Debug)]
pub struct Stream {
    /// Share of the warps that execute it; the shares add up to 1.
    pub share: f64,
    /// All periods over those of `parts`: above 1 where the end of the sequence was left out.
    pub scale: f64,
    /// The sequence, by position in [`Work::periods`].
    pub parts: Vec<StreamPart>,
}

/// The times of all periods, for one SM filled once.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Walk {
    /// Periods of the same costs behind periods of the same costs, in the order in which they are first met.
    pub rows: Vec<WalkRow>,
}

/// Periods that take the same time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WalkRow {
    /// Position in [`Work::periods`].
    pub period: usize,
    /// Executions by a warp, the mean over the warps.
    pub executions: f64,
    /// c_i, m_i and MPD.
    pub costs: Costs,
    /// T_i and its parts.
    pub time: PeriodTime,
}

impl Walk {
    /// The sum of something over all periods.
    pub fn sum(&self, of: impl Fn(&PeriodTime) -> f64) -> f64 {
        self.rows.iter().fold(0.0, |sum, row| sum + row.executions * of(&row.time))
    }

    /// Cycles of the wave: the sum of T_i.
    pub fn cycles(&self) -> f64 {
        self.sum(PeriodTime::total)
    }

    /// Executions of periods of a type.
    pub fn executions(&self, kind: PeriodType) -> f64 {
        self.rows.iter().filter(|row| row.time.kind == kind).fold(0.0, |sum, row| sum + row.executions)
    }
}

/// The times of the periods of `work`.
pub fn walk(work: &Work, situation: &Situation) -> Walk {
    let mut walker = Walker { work, situation, rows: Vec::new(), known: BTreeMap::new() };
    for stream in &work.streams {
        walker.parts(&stream.parts, None, stream.share * stream.scale);
    }
    Walk { rows: walker.rows }
}

struct Walker<'w> {
    work: &'w Work,
    situation: &'w Situation,
    rows: Vec<WalkRow>,
    /// Row of a period by its predecessor.
    known: BTreeMap<(Option<usize>, usize), usize>,
}

impl Walker<'_> {
    /// Walks parts behind `previous`, `times` times; returns the last period.
    fn parts(&mut self, parts: &[StreamPart], mut previous: Option<usize>, times: f64) -> Option<usize> {
        for part in parts {
            previous = match part {
                StreamPart::Period(period) => {
                    self.period(previous, *period, times);
                    Some(*period)
                }
                StreamPart::Loop { times: rounds, body } => {
                    let mut last = previous;
                    if *rounds > 0 {
                        last = self.parts(body, previous, times);
                    }
                    if *rounds > 1 {
                        // From the second round on the body comes behind its own end.
                        last = self.parts(body, last, times * (*rounds - 1) as f64);
                    }
                    last
                }
            };
        }
        previous
    }

    fn period(&mut self, previous: Option<usize>, period: usize, times: f64) {
        if let Some(&row) = self.known.get(&(previous, period)) {
            self.rows[row].executions += times;
            return;
        }
        let costs = self.work.periods[period];
        // Nothing is waited for in front of the first period.
        let before = previous.map_or(Costs::default(), |previous| self.work.periods[previous]);
        let time = PeriodTime::new(&before, &costs, self.situation);
        self.known.insert((previous, period), self.rows.len());
        self.rows.push(WalkRow { period, executions: times, costs, time });
    }
}

/// Executions of each of `n` periods by a warp, the mean over the warps.
pub fn executions(streams: &[Stream], n: usize) -> Vec<f64> {
    fn count(parts: &[StreamPart], times: f64, into: &mut [f64]) {
        for part in parts {
            match part {
                StreamPart::Period(period) => into[*period] += times,
                StreamPart::Loop { times: rounds, body } => count(body, times * *rounds as f64, into),
            }
        }
    }
    let mut executions = vec![0.0; n];
    for stream in streams {
        count(&stream.parts, stream.share * stream.scale, &mut executions);
    }
    executions
}
