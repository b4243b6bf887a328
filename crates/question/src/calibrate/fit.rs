//! One parameter out of the times of its launches.

use argmin::core::{CostFunction, Error as ArgminError, Executor, State as _};
use argmin::solver::brent::BrentOpt;
use rayon::prelude::*;
use warplens_base::error::{Error, Result};
use warplens_base::stop;
use warplens_launch::{Launch, Number, Value};
use warplens_machine::Scaling;
use warplens_model::{ModelId, Options};
use warplens_session::machines::{Basis, Key, Machine};
use warplens_session::predict::{Choice, measured_on};
use warplens_session::profile::Counting;
use warplens_session::toolchain::Search;
use warplens_session::{ExecutionOptions, Generation, Measurement, Progress, measure};

use super::Timed;
use super::quantum::Quantum;
use super::spread::TWO_SIDED;
use super::steps::Step;

/// Brent's method ends when a value is known to this part of itself.
const PRECISION: f64 = 1e-4;
const ITERATIONS: u64 = 60;
/// A step of the logarithm of a value by which it is found how much times depend on it.
const NUDGE: f64 = 0.05;
/// Differences of times that are none.
const FLAT: f64 = 1e-9;

/// Percent by which times change for a percent of the value, below which they do not tell it.
const LEAST_ELASTICITY: f64 = 0.25;
/// The same, below which times stay what they are.
const SAME_ELASTICITY: f64 = 0.025;
/// Logarithms of the nearest value at which it is looked whether times stay what they are, of the farthest, and of how well
/// the ends of those values are known.
const STAYS: (f64, f64, f64) = (0.005, 0.32, 0.001);
/// Whole cycles that are looked at for the same times, to either side.
const WIDEST: f64 = 16.0;
/// A value is told if times are off by more than their scatter explains where it is this many times as large, or as small.
const TOLD_WITHIN: f64 = 1.25;
/// Part of a cost by which two are the same.
const SAME: f64 = 1e-9;
/// What a value costs that the machine cannot have.
const IMPOSSIBLE: f64 = 1e9;

/// A fitted parameter.
#[derive(Clone, PartialEq, Debug)]
pub struct Fitted {
    /// The parameter.
    pub key: Key,
    /// Its value; durations in cycles of the machine's clock, all else in its canonical unit.
    pub value: f64,
    /// Within which the value lies in 95 of 100 cases, by the scatter of the points about the fit, if each has noise of its
    /// own.
    pub interval: (f64, f64),
    /// First and last value that give the same times, where several do: warps go on in whole cycles.
    pub same: Option<(f64, f64)>,
    /// Points that it was fitted to.
    pub n_points: usize,
    /// Root mean square of the relative differences of predicted and measured times.
    pub residual: f64,
    /// Percent by which the times change for a percent of the value.
    pub elasticity: f64,
    /// The clock whose cycles durations are in, for those that follow it.
    pub(super) clock: Option<f64>,
}

/// A launch beside what the fit says of it.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// The kernel.
    pub name: String,
    /// Microseconds that were measured.
    pub measured_us: f64,
    /// Microseconds by what was fitted.
    pub predicted_us: f64,
    /// It had no part in the fit.
    pub is_held_out: bool,
}

impl Row {
    /// The predicted time over the measured one, less 1.
    pub fn error(&self) -> f64 {
        self.predicted_us / self.measured_us - 1.0
    }
}

impl Fitted {
    /// How far the value is from another one, as a part of that: the nearest of those that give the same times.
    pub fn off(&self, wanted: f64) -> f64 {
        let (first, last) = self.same.unwrap_or((self.value, self.value));
        let off = wanted.clamp(first, last) / wanted - 1.0;
        if off.abs() <= SAME { 0.0 } else { off }
    }

    /// What turns a value in canonical units into one as shown here.
    pub fn cycles_per_unit(&self) -> f64 {
        self.clock.unwrap_or(1.0)
    }

    /// Its line in a machine file.
    pub(super) fn line(&self, basis: Basis) -> String {
        let unit = self.key.unit().symbol();
        let unit = if unit.is_empty() { String::new() } else { format!(", unit = \"{unit}\"") };
        let at = self.clock.map_or_else(String::new, |clock| format!(", at = \"{} MHz\"", clock / 1e6));
        let (low, high) = self.interval;
        let same = self
            .same
            .map_or_else(String::new, |(first, last)| format!("; {first:.4} to {last:.4} give the same times"));
        let within = match high.is_finite() {
            true => format!("95 % within {low:.4} to {high:.4}"),
            false => "no interval: as many launches as values, or values that times do not tell apart".to_owned(),
        };
        let note = format!("{} points, residual {:.2} %, {within}{same}", self.n_points, 100.0 * self.residual);
        let (field, value, basis) = (self.key.field(), self.value, basis.name());
        format!(
            "{field} = {{ value = {value}{unit}{at}, basis = \"{basis}\", source = \"calibration\", note = \"{note}\" }}\n"
        )
    }
}

/// A parameter that stays as it was.
#[derive(Clone, PartialEq, Debug)]
pub struct Left {
    /// The parameter.
    pub key: Key,
    /// Why.
    pub reason: String,
}

/// A launch that was executed.
#[derive(Debug)]
pub(super) struct Observed {
    measurement: Measurement,
    /// The same without rounds, where its time is that between two reads of the clock around them.
    without: Option<Measurement>,
}

impl Observed {
    /// What a model says of the time that is measured, in microseconds.
    pub(super) fn predicted(&self, machine: &Machine, model: ModelId) -> std::result::Result<f64, String> {
        let whole = predicted(&self.measurement, machine, model)?;
        let Some(without) = &self.without else { return Ok(whole) };
        let us = whole - predicted(without, machine, model)?;
        if us > 0.0 { Ok(us) } else { Err("its rounds take no time".into()) }
    }
}

/// Launches of a step that were executed, with their times.
pub(super) struct Problem {
    pub(super) step: &'static Step,
    pub(super) measurements: Vec<Observed>,
    /// Their kernels.
    names: Vec<String>,
    pub(super) us: Vec<f64>,
    /// What was found the last time, and the cost of the value in the machine of then.
    last: Option<(std::result::Result<Fitted, Left>, f64)>,
}

impl Problem {
    pub(super) const fn new(
        step: &'static Step,
        measurements: Vec<Observed>,
        names: Vec<String>,
        us: Vec<f64>,
    ) -> Self {
        Self { step, measurements, names, us, last: None }
    }

    /// The launches beside what the simulation of a machine says of them.
    pub(super) fn rows(&self, machine: &Machine) -> Vec<Row> {
        let of = self.measurements.iter().zip(&self.names).zip(&self.us);
        let row = |((observed, name), &measured_us): ((&Observed, &String), &f64)| {
            let predicted_us = observed.predicted(machine, ModelId::Teg).ok()?;
            Some(Row { name: name.clone(), measured_us, predicted_us, is_held_out: false })
        };
        of.filter_map(row).collect()
    }
}

/// The search for a value in a machine that has all others.
#[derive(Clone, Copy)]
struct Trial<'p> {
    problem: &'p Problem,
    machine: &'p Machine,
    key: Key,
    /// The machine's value, by whose factors others are told.
    before: f64,
}

impl Trial<'_> {
    /// A machine whose value is `factor` times that of before.
    fn with(&self, factor: f64) -> Option<Machine> {
        let mut machine = self.machine.clone();
        machine.suppose(self.key, self.before * factor, "calibration").ok()?;
        Some(machine)
    }

    /// Logarithms of predicted over measured times.
    fn differences(&self, factor: f64) -> Option<Vec<f64>> {
        let machine = self.with(factor)?;
        let pairs = self.problem.measurements.par_iter().zip(&self.problem.us);
        let difference =
            |(observed, us): (&Observed, &f64)| Some((observed.predicted(&machine, ModelId::Teg).ok()? / us).ln());
        pairs.map(stop::carried_each(difference)).collect()
    }

    /// The mean of the same.
    fn mean_difference(&self, factor: f64) -> Option<f64> {
        let differences = self.differences(factor)?;
        Some(differences.iter().sum::<f64>() / differences.len() as f64)
    }

    fn cost_of(&self, factor: f64) -> f64 {
        let squares = |differences: Vec<f64>| differences.iter().map(|difference| difference * difference).sum();
        self.differences(factor).map_or(IMPOSSIBLE, squares)
    }
}

impl CostFunction for Trial<'_> {
    type Param = f64;
    type Output = f64;

    fn cost(&self, logarithm: &f64) -> std::result::Result<f64, ArgminError> {
        Ok(self.cost_of(logarithm.exp()))
    }
}

/// What a model says, in microseconds.
fn predicted(measurement: &Measurement, machine: &Machine, model: ModelId) -> std::result::Result<f64, String> {
    let choice = Choice::Alone(vec![model]);
    let answers = measured_on(measurement, machine, &choice, Options::default()).answers;
    let answer = answers.into_iter().next().expect("one model was asked");
    answer.result.map(|prediction| prediction.seconds().microseconds()).map_err(|refusal| refusal.to_string())
}

/// Executes launches and keeps what the models need of them for the machine.
pub(super) fn executed(
    timed: &[&Timed],
    machine: &Machine,
    execution: &ExecutionOptions,
    progress: &Progress,
) -> Result<Vec<Observed>> {
    let gpu = std::slice::from_ref(machine);
    let execution =
        ExecutionOptions { traced_for: gpu.to_vec(), generations: Generation::of_all(gpu), ..execution.clone() };
    let search = Search::default();
    let own = super::program();
    let one = |of: &Timed, launch: &Launch| -> Result<Measurement> {
        let program = of.program.as_deref().unwrap_or(&own);
        let launches = std::slice::from_ref(launch);
        let measurements = measure(program, launches, execution.clone(), Counting::Ptx, &search, progress)?;
        Ok(measurements.into_iter().next().expect("one launch was asked for"))
    };
    let observed = |of: &&Timed| {
        let measurement = one(of, &of.launch)?;
        let without = of.is_of_clock.then(|| one(of, &without_rounds(&of.launch)?)).transpose()?;
        Ok(Observed { measurement, without })
    };
    timed.iter().map(observed).collect()
}

/// The launch with 0 as its last argument, which is how often its kernel does what is between its reads of the clock.
fn without_rounds(launch: &Launch) -> Result<Launch> {
    let mut launch = launch.clone();
    match launch.arguments.last_mut().map(|last| &mut last.argument.value) {
        Some(Value::Number(rounds @ Number::Integer(_))) => *rounds = Number::Integer(0),
        _ => {
            let kernel = launch.kernel.unwrap_or_default();
            return Err(Error::input(format!(
                "{kernel}: its last argument is no number of rounds, which its clock tells"
            )));
        }
    }
    Ok(launch)
}

/// Fits the parameter of a step, and leaves it in the machine.
pub(super) fn one(
    machine: &mut Machine,
    problem: &mut Problem,
    reach: f64,
) -> Result<std::result::Result<Fitted, Left>> {
    let cost = |machine: &Machine, problem: &Problem| {
        let before = machine.canonical(problem.step.key).ok()?;
        Some(Trial { problem, machine, key: problem.step.key, before }.cost_of(1.0))
    };
    // What was fitted since may have changed nothing here.
    if let Some((result, then)) = &problem.last
        && let Some(now) = cost(machine, problem)
        && (now - then).abs() <= SAME * then.max(SAME)
    {
        return Ok(result.clone());
    }
    let result = search(machine, problem, reach)?;
    problem.last = cost(machine, problem).map(|cost| (result.clone(), cost));
    Ok(result)
}

fn search(machine: &mut Machine, problem: &Problem, reach: f64) -> Result<std::result::Result<Fitted, Left>> {
    let key = problem.step.key;
    let left = |reason: String| Ok(Err(Left { key, reason }));
    let before = match machine.canonical(key) {
        Ok(before) if before > 0.0 => before,
        Ok(_) => return left("the machine file says that there is none".into()),
        Err(missing) => return left(missing.to_string()),
    };
    let refused = problem.measurements.iter().find_map(|of| of.predicted(machine, ModelId::Teg).err());
    if let Some(reason) = refused {
        return left(reason);
    }
    let trial = Trial { problem, machine, key, before };
    let (best, (least, most)) = whole(&trial, best(&trial, reach)?);
    let elasticity = elasticity(&trial, best);
    if elasticity.abs() < LEAST_ELASTICITY {
        return left(format!("times change by {elasticity:.2} % for a percent of it, which does not tell its value"));
    }
    let n = problem.us.len() as f64;
    let least_cost = trial.cost_of(best);
    if let Some(open) = open_end(&trial, best, (least, most), least_cost) {
        return left(open);
    }
    let residual = (least_cost / n).sqrt();
    // A fit of one number to n points has n - 1 degrees of freedom.
    let error = residual * (n / (n - 1.0).max(1.0)).sqrt() / (elasticity.abs() * n.sqrt());
    let clock = (key.scaling() == Scaling::WallTime).then(|| machine.clock()).flatten();
    let shown = |factor: f64| before * factor * clock.unwrap_or(1.0);
    let ends = (shown(least).min(shown(most)), shown(least).max(shown(most)));
    let fitted = Fitted {
        key,
        value: shown(best),
        same: (ends.0 < ends.1).then_some(ends),
        interval: (shown(least * (-TWO_SIDED * error).exp()), shown(most * (TWO_SIDED * error).exp())),
        n_points: problem.us.len(),
        residual,
        elasticity,
        clock,
    };
    let found = trial.with(best).ok_or_else(|| Error::input(format!("`{key}` cannot be {}", fitted.value)))?;
    *machine = found;
    Ok(Ok(fitted))
}

/// Why times do not tell a value from much larger or much smaller ones, if they do not: something else decides them there.
fn open_end(trial: &Trial<'_>, best: f64, (least, most): (f64, f64), least_cost: f64) -> Option<String> {
    let n = trial.problem.us.len() as f64;
    let explained = least_cost * (1.0 + TWO_SIDED * TWO_SIDED / (n - 1.0).max(1.0)) + FLAT;
    let cycles = trial.machine.clock().filter(|_| trial.key.scaling() == Scaling::WallTime).unwrap_or(1.0);
    let shown = trial.before * best * cycles;
    let is_open = |factor: Option<f64>| {
        factor.is_some_and(|factor| trial.with(factor).is_some() && trial.cost_of(factor) <= explained)
    };
    let (below, above) = beyond(trial, least, most);
    if is_open(above) {
        return Some(format!("values from {shown:.4} on to much larger ones give these times as well"));
    }
    is_open(below).then(|| format!("values from {shown:.4} down to much smaller ones give these times as well"))
}

/// Factors of values that are clearly smaller, and larger, than those between two; of whole cycles the next ones at least, and
/// none below one.
fn beyond(trial: &Trial<'_>, least: f64, most: f64) -> (Option<f64>, Option<f64>) {
    let Some(quantum) = Quantum::of(trial.machine, trial.key) else {
        return (Some(least / TOLD_WITHIN), Some(most * TOLD_WITHIN));
    };
    let numbers = [least, most].map(|factor| quantum.number(trial.before * factor));
    let (first, last) = (numbers[0].min(numbers[1]), numbers[0].max(numbers[1]));
    let factor = |number: f64| (number >= 1.0).then(|| quantum.value(number) / trial.before);
    let (fewer, more) = (factor((first / TOLD_WITHIN).ceil() - 1.0), factor((last * TOLD_WITHIN).floor() + 1.0));
    // Fewer cycles are a shorter duration, but more lanes.
    match quantum {
        Quantum::Duration(_) => (fewer, more),
        Quantum::Lanes(_) => (more, fewer),
    }
}

/// The factor of the value with the least cost.
fn best(trial: &Trial<'_>, reach: f64) -> Result<f64> {
    let (low, high) = around_least(trial, possible(trial, reach));
    let solver = BrentOpt::new(low.ln(), high.ln()).set_tolerance(PRECISION, PRECISION);
    let run = Executor::new(*trial, solver).configure(|state| state.max_iters(ITERATIONS)).run();
    let run = run.map_err(|error| Error::input(format!("`{}`: {error}", trial.key)))?;
    let found = run.state().get_best_param().map_or(1.0, |logarithm| logarithm.exp());
    Ok(found)
}

/// Values that are looked at before the search. Where something else decides the times, they are the same for many values,
/// and Brent's method, which sees no way down from there, would stay.
const LOOKS: usize = 12;

/// The neighbours of the value with the least cost among some between two.
fn around_least(trial: &Trial<'_>, (low, high): (f64, f64)) -> (f64, f64) {
    let factor = |at: usize| low * (high / low).powf(at as f64 / LOOKS as f64);
    let costs: Vec<f64> = (0..=LOOKS).map(|at| trial.cost_of(factor(at))).collect();
    let least = (0..=LOOKS).min_by(|&left, &right| costs[left].total_cmp(&costs[right])).unwrap_or(0);
    (factor(least.saturating_sub(1)), factor((least + 1).min(LOOKS)))
}

/// Factors that the machine can have, as far as they are looked at: where one is too large, so are those beyond.
fn possible(trial: &Trial<'_>, reach: f64) -> (f64, f64) {
    let is_possible = |factor: f64| trial.with(factor).is_some();
    let bound = |end: f64| {
        let mut factor = end;
        while !is_possible(factor) && (factor.ln()).abs() > PRECISION {
            factor = factor.sqrt();
        }
        factor
    };
    (bound(1.0 / reach), bound(reach))
}

/// The whole number of cycles with the least cost, beside the value: where several give the same times, because schedulers
/// choose in steps of their own, the one that the machine has, or else the nearest to it; with the factors of the first and
/// the last. Where parts of a cycle mean something, that of its [`stair`]; the value itself where it is better.
fn whole(trial: &Trial<'_>, factor: f64) -> (f64, (f64, f64)) {
    let alone = (factor, (factor, factor));
    let Some(quantum) = Quantum::of(trial.machine, trial.key) else { return stair(trial, factor) };
    let factor_of = |number: f64| quantum.value(number) / trial.before;
    let cost = |number: f64| trial.cost_of(factor_of(number));
    let nearest = quantum.number(trial.before * factor).round();
    let numbers = (-3..=3).map(|offset| nearest + f64::from(offset)).filter(|&number| number >= 1.0);
    let costs = numbers.map(|number| (cost(number), number));
    let Some((least, best)) = costs.min_by(|left, right| left.0.total_cmp(&right.0)) else { return alone };
    let is_as_good = |other: f64| other <= least * (1.0 + 1e-9) + 1e-12;
    if !is_as_good(least.min(trial.cost_of(factor))) {
        return alone;
    }
    let end = |by: f64| {
        let mut number = best;
        while (number - best).abs() < WIDEST && number + by >= 1.0 && is_as_good(cost(number + by)) {
            number += by;
        }
        number
    };
    let (first, last) = (end(-1.0), end(1.0));
    let nearest = quantum.number(trial.before).round().clamp(first, last);
    let (low, high) = (factor_of(first), factor_of(last));
    (factor_of(nearest), (low.min(high), low.max(high)))
}

/// The value among those beside it that hardly change the times, where these come in steps, as warps wait in whole cycles:
/// the one that the machine has, or else the nearest to it; with the factors of the first and the last.
fn stair(trial: &Trial<'_>, factor: f64) -> (f64, (f64, f64)) {
    let Some(here) = trial.mean_difference(factor) else { return (factor, (factor, factor)) };
    let stays = |by: f64| {
        let there = trial.mean_difference(factor * by.exp());
        there.is_some_and(|there| (there - here).abs() < SAME_ELASTICITY * by.abs())
    };
    let (nearest, farthest, precision) = STAYS;
    let end = |direction: f64| {
        let (mut inside, mut outside) = (0.0, nearest);
        while outside <= farthest && stays(direction * outside) {
            (inside, outside) = (outside, 2.0 * outside);
        }
        while inside > 0.0 && outside - inside > precision {
            let middle = f64::midpoint(inside, outside);
            if stays(direction * middle) { inside = middle } else { outside = middle }
        }
        factor * (direction * inside).exp()
    };
    let (least, most) = (end(-1.0), end(1.0));
    let kept = if least < most { 1.0_f64.clamp(least, most) } else { factor };
    (kept, (least, most))
}

/// Percent by which times change for a percent of the value, on average over the points. Where values on one side give the
/// same times, it stands at the edge of those that do, and is not told: there it is 0.
fn elasticity(trial: &Trial<'_>, factor: f64) -> f64 {
    let steps = Quantum::of(trial.machine, trial.key).map(|quantum| {
        let number = quantum.number(trial.before * factor);
        (quantum, number)
    });
    let is_whole = steps.as_ref().is_some_and(|(_, number)| (number - number.round()).abs() < 1e-6);
    let (less, more) = match &steps {
        Some((quantum, number)) => {
            let neighbour = |by: f64| quantum.value((number + by).max(0.5)) / trial.before;
            (neighbour(-1.0), neighbour(1.0))
        }
        None => (factor * (-NUDGE).exp(), factor * NUDGE.exp()),
    };
    let mean = |factor: f64| trial.mean_difference(factor);
    let (Some(of_less), Some(of_more)) = (mean(less), mean(more)) else { return 0.0 };
    let is_at_edge = || mean(factor).is_some_and(|here| (of_less - here).abs().min((of_more - here).abs()) < FLAT);
    // Steps of whole cycles may give the same times as the next.
    if !is_whole && is_at_edge() { 0.0 } else { (of_more - of_less) / (more / less).ln() }
}
