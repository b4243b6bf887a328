//! The parameters of one group out of the times of its launches.

use argmin::core::{CostFunction, Error as ArgminError, Executor, State as _};
use argmin::solver::neldermead::NelderMead;
use warplens_base::error::{Error, Result};
use warplens_machine::{Reader, Scaling, Strictness};
use warplens_model::ModelId;
use warplens_session::machines::{Key, Machine};

use super::super::fit::{Fitted, Left, Observed, Row};
use super::{Group, How};
use crate::calibrate::spread;

/// The search ends when the costs of its points differ by less than this, or so late.
const TOLERANCE: f64 = 1e-10;
const ITERATIONS: u64 = 2000;
/// First steps of the logarithms of values.
const STEP: f64 = 0.3;
/// A step of a logarithm by which it is found how much times depend on a value.
const NUDGE: f64 = 0.02;
/// What values cost that the machine cannot have.
const IMPOSSIBLE: f64 = 1e9;
/// Percent by which times change for a percent of the value, root of the mean of its squares over the launches, below which
/// they do not tell it.
const LEAST_ELASTICITY: f64 = 0.05;

/// A launch with its time, less what an empty kernel takes.
#[derive(Debug)]
pub(in crate::calibrate) struct Case {
    pub(in crate::calibrate) observed: Observed,
    pub(in crate::calibrate) kernel: String,
    /// Rounds, which is the last argument of every kernel.
    pub(in crate::calibrate) rounds: f64,
    pub(in crate::calibrate) us: f64,
    pub(in crate::calibrate) is_held_out: bool,
}

/// What came of a group.
#[derive(Debug, Default)]
pub(in crate::calibrate) struct Found {
    pub(in crate::calibrate) fitted: Vec<Fitted>,
    pub(in crate::calibrate) left: Vec<Left>,
    pub(in crate::calibrate) rows: Vec<Row>,
}

/// Fits the parameters of a group, and leaves them in the machine.
pub(in crate::calibrate) fn group(machine: &mut Machine, group: &'static Group, cases: &[Case]) -> Result<Found> {
    match group.how {
        How::Nearest => nearest(machine, group, cases),
        How::Difference => differences(machine, group, cases),
    }
}

/// Microseconds of an empty kernel, as far as the machine knows.
pub(in crate::calibrate) fn launch_us(machine: &Machine) -> f64 {
    Reader::new(machine, Strictness::AllowInferred).optional(Key::LaunchLatency).map_or(0.0, |seconds| 1e6 * seconds)
}

/// The search for values in a machine that has all others.
#[derive(Clone)]
struct Trial<'p> {
    group: &'static Group,
    cases: Vec<&'p Case>,
    machine: &'p Machine,
    keys: Vec<Key>,
}

impl Trial<'_> {
    fn with(&self, logarithms: &[f64]) -> Option<Machine> {
        let mut machine = self.machine.clone();
        for (key, logarithm) in self.keys.iter().zip(logarithms) {
            machine.suppose(*key, logarithm.exp(), "calibration").ok()?;
        }
        Some(machine)
    }

    /// Logarithms of predicted over measured times.
    fn differences(&self, logarithms: &[f64]) -> Option<Vec<f64>> {
        let machine = self.with(logarithms)?;
        let one = |case: &&Case| Some((case.observed.predicted(&machine, self.group.model).ok()? / case.us).ln());
        self.cases.iter().map(one).collect()
    }

    fn cost_of(&self, logarithms: &[f64]) -> f64 {
        let squares = |differences: Vec<f64>| differences.iter().map(|difference| difference * difference).sum();
        self.differences(logarithms).filter(|of| of.iter().all(|d| d.is_finite())).map_or(IMPOSSIBLE, squares)
    }

    /// How the logarithm of each time changes with that of each value: a row for each value.
    fn slopes(&self, best: &[f64]) -> Option<Vec<Vec<f64>>> {
        let nudged = |at: usize, by: f64| {
            let mut logarithms = best.to_vec();
            logarithms[at] += by;
            self.differences(&logarithms)
        };
        let of = |at: usize| {
            let (less, more) = (nudged(at, -NUDGE)?, nudged(at, NUDGE)?);
            Some(more.iter().zip(less).map(|(more, less)| (more - less) / (2.0 * NUDGE)).collect())
        };
        (0..best.len()).map(of).collect()
    }
}

impl CostFunction for Trial<'_> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, logarithms: &Vec<f64>) -> std::result::Result<f64, ArgminError> {
        Ok(self.cost_of(logarithms))
    }
}

/// Where a search may start for a parameter of which the machine knows nothing, and where it may as well.
fn starts(machine: &Machine, key: Key) -> Option<Vec<f64>> {
    // Those of this model begin where they always do, so that a calibration can be done again.
    let known = machine.canonical(key).ok().filter(|&value| value > 0.0 && key.group() != "luo_suda");
    let most_warps = machine.canonical(Key::LimitsMaxWarps).ok()?;
    let others = match key {
        // The times have several valleys in these four.
        Key::LuoSudaA => vec![1.0, 8.0],
        Key::LuoSudaB => vec![most_warps / 3.0],
        Key::LuoSudaC => vec![0.1, 0.5, 0.95],
        Key::LuoSudaD => vec![0.2, 10.0, 80.0],
        Key::AnalyzerClock => vec![machine.clock()?],
        // The cases of the equations meet in edges, at which a search may end.
        _ => known.into_iter().flat_map(|value| [0.5 * value, 2.0 * value]).collect(),
    };
    let all: Vec<f64> = known.into_iter().chain(others).collect();
    (!all.is_empty()).then_some(all)
}

fn nearest(machine: &mut Machine, group: &'static Group, cases: &[Case]) -> Result<Found> {
    let training: Vec<&Case> = cases.iter().filter(|case| !case.is_held_out).collect();
    let mut found = Found::default();
    let leave = |found: &mut Found, keys: &[Key], reason: &str| {
        found.left.extend(keys.iter().map(|&key| Left { key, reason: reason.to_owned() }));
    };
    let mut keys = group.keys.to_vec();
    loop {
        if training.len() < keys.len() {
            let reason = format!("{} launches do not tell {} values", training.len(), keys.len());
            leave(&mut found, &keys, &reason);
            break;
        }
        let trial = Trial { group, cases: training.clone(), machine, keys: keys.clone() };
        let best = match best(&trial)? {
            Ok(best) => best,
            Err(reason) => {
                leave(&mut found, &keys, &reason);
                break;
            }
        };
        let slopes = trial.slopes(&best).unwrap_or_else(|| vec![vec![0.0; training.len()]; keys.len()]);
        let mean_square = |of: &[f64]| (of.iter().map(|slope| slope * slope).sum::<f64>() / of.len() as f64).sqrt();
        // The least told is left out, and the rest fitted without it. The CPD of Luo and Suda needs all four of its values.
        let told = slopes.iter().map(|of| mean_square(of));
        let least = told.enumerate().min_by(|left, right| left.1.total_cmp(&right.1));
        if let Some((at, elasticity)) = least
            && elasticity < LEAST_ELASTICITY
            && group.model != ModelId::LuoSuda
        {
            let reason =
                format!("times change by {elasticity:.2} % for a percent of it, which does not tell its value");
            leave(&mut found, &[keys.remove(at)], &reason);
            if keys.is_empty() {
                break;
            }
            continue;
        }
        found.fitted = fitted(&trial, &best, &slopes);
        let with = trial.with(&best).ok_or_else(|| Error::input(format!("{} cannot be so", group.of_keys())))?;
        *machine = with;
        break;
    }
    found.rows = rows(machine, group, cases);
    Ok(found)
}

/// The logarithms of the values with the least cost, of several searches.
fn best(trial: &Trial<'_>) -> Result<std::result::Result<Vec<f64>, String>> {
    let mut corners: Vec<Vec<f64>> = vec![Vec::new()];
    for &key in &trial.keys {
        let Some(starts) = starts(trial.machine, key) else {
            return Ok(Err(trial.machine.canonical(key).err().map_or_else(String::new, |missing| missing.to_string())));
        };
        corners = corners
            .into_iter()
            .flat_map(|corner| {
                starts.iter().map(move |start| [&corner[..], &[start.ln()]].concat()).collect::<Vec<_>>()
            })
            .collect();
    }
    if let Some(machine) = trial.with(&corners[0])
        && let Some(reason) =
            trial.cases.iter().find_map(|case| case.observed.predicted(&machine, trial.group.model).err())
    {
        return Ok(Err(reason));
    }
    let mut best: Option<(f64, Vec<f64>)> = None;
    for corner in corners {
        let vertex = |at: usize| {
            let mut vertex = corner.clone();
            vertex[at] += STEP;
            vertex
        };
        let simplex: Vec<Vec<f64>> = std::iter::once(corner.clone()).chain((0..corner.len()).map(vertex)).collect();
        let failed = |error: ArgminError| Error::input(format!("{}: {error}", trial.group.name));
        let solver = NelderMead::new(simplex).with_sd_tolerance(TOLERANCE).map_err(failed)?;
        let run = Executor::new(trial.clone(), solver).configure(|state| state.max_iters(ITERATIONS)).run();
        let run = run.map_err(failed)?;
        let (cost, at) = (run.state().get_best_cost(), run.state().get_best_param().cloned().unwrap_or(corner));
        if best.as_ref().is_none_or(|(least, _)| cost < *least) {
            best = Some((cost, at));
        }
    }
    match best {
        Some((cost, at)) if cost < IMPOSSIBLE => Ok(Ok(at)),
        _ => Ok(Err("no value is possible".into())),
    }
}

fn fitted(trial: &Trial<'_>, best: &[f64], slopes: &[Vec<f64>]) -> Vec<Fitted> {
    let n = trial.cases.len() as f64;
    let cost = trial.cost_of(best);
    let residual = (cost / n).sqrt();
    // As many launches as values leave no scatter by which an interval could be told.
    let variance = if trial.cases.len() > best.len() { cost / (n - best.len() as f64) } else { f64::INFINITY };
    let errors = spread::errors(slopes, variance);
    let clock = clock(trial.machine, trial.group, trial.keys.first().copied().zip(best.first().copied()));
    let one = |(at, key): (usize, &Key)| {
        let clock = (key.scaling() == Scaling::WallTime).then_some(clock).flatten();
        let value = best[at].exp() * clock.unwrap_or(1.0);
        let reach = |sign: f64| value * (sign * spread::TWO_SIDED * errors[at]).exp();
        let elasticity = slopes[at].iter().sum::<f64>() / n;
        Fitted {
            key: *key,
            value,
            interval: (reach(-1.0), reach(1.0)),
            same: None,
            n_points: trial.cases.len(),
            residual,
            elasticity,
            clock,
        }
    };
    trial.keys.iter().enumerate().map(one).collect()
}

/// The clock in whose cycles durations are told: that which the model tunes itself with, if it does.
fn clock(machine: &Machine, group: &Group, first: Option<(Key, f64)>) -> Option<f64> {
    let tunes = group.model == ModelId::Analyzer && machine.asked_clock.is_none();
    let own = first.filter(|(key, _)| *key == Key::AnalyzerClock).map(|(_, logarithm)| logarithm.exp());
    own.or_else(|| machine.number(Key::AnalyzerClock)).filter(|_| tunes).or_else(|| machine.clock())
}

/// What the model says of every launch with what was fitted.
fn rows(machine: &Machine, group: &'static Group, cases: &[Case]) -> Vec<Row> {
    let one = |case: &Case| {
        let predicted_us = case.observed.predicted(machine, group.model).ok()?;
        Some(Row { name: case.kernel.clone(), measured_us: case.us, predicted_us, is_held_out: case.is_held_out })
    };
    cases.iter().filter_map(one).collect()
}

/// Instructions, or loads, of a round of a kernel.
const OF_A_ROUND: f64 = 16.0;

/// Costs out of differences: of two kernels, or of two lengths of one.
fn differences(machine: &mut Machine, group: &'static Group, cases: &[Case]) -> Result<Found> {
    let mut found = Found::default();
    let clock = machine.clock().ok_or_else(|| Error::input(format!("{} has no clock", machine.id)))?;
    for &key in group.keys {
        let costs = costs(key, cases);
        if costs.len() < 2 {
            found.left.push(Left { key, reason: "fewer than two pairs of launches tell it".into() });
            continue;
        }
        let n = costs.len() as f64;
        let mean = costs.iter().sum::<f64>() / n;
        let deviation = (costs.iter().map(|cost| (cost - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
        let cycles = 1e-6 * clock;
        // What its kernel takes no longer than without it costs nothing beside the rest.
        let value = (mean * cycles).max(0.0);
        let reach = spread::TWO_SIDED * deviation / n.sqrt() * cycles;
        let residual = if mean > 0.0 { deviation / mean } else { 0.0 };
        let impossible = |of| Error::input(format!("{of}"));
        machine.suppose(key, value, "calibration").map_err(impossible)?;
        found.fitted.push(Fitted {
            key,
            value,
            interval: ((value - reach).max(0.0), value + reach),
            same: None,
            n_points: costs.len(),
            residual,
            elasticity: 1.0,
            clock: None,
        });
    }
    Ok(found)
}

/// Microseconds of one instruction that a parameter prices, one for each pair of launches that tells it.
fn costs(key: Key, cases: &[Case]) -> Vec<f64> {
    if key == Key::LuoSudaMemory {
        // Two lengths of a chain that are half of all lengths apart: their difference is loads alone.
        let mut cases: Vec<&Case> = cases.iter().collect();
        cases.sort_by(|left, right| left.rounds.total_cmp(&right.rounds));
        let half = cases.len() / 2;
        let pairs = cases.iter().zip(cases.iter().skip(half)).filter(|(short, long)| long.rounds > short.rounds);
        return pairs.map(|(short, long)| (long.us - short.us) / (OF_A_ROUND * (long.rounds - short.rounds))).collect();
    }
    let times = |kernel: &str| -> Vec<(f64, f64)> {
        cases
            .iter()
            .filter(|case| case.kernel == kernel && case.rounds >= 1.0)
            .map(|case| (case.rounds, case.us))
            .collect()
    };
    let of_pair = |(with, without): &(&str, &str)| {
        let without = times(without);
        let other = move |rounds: f64| without.iter().find(|(of, _)| *of == rounds).map(|(_, us)| *us);
        let pairs = times(with).into_iter();
        pairs.filter_map(|(rounds, us)| Some((us - other(rounds)?) / (OF_A_ROUND * rounds))).collect::<Vec<f64>>()
    };
    super::pairs(key).iter().flat_map(of_pair).collect()
}
