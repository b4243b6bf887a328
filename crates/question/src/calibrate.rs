//! The parameters of a GPU out of measured times of micro-benchmarks.
//!
//! Physical parameters come first. Each step measures launches whose time one parameter decides, and takes the value with which the timing simulation
//! comes nearest to the measured times: the sum of the squared logarithms of predicted over measured time is least. Steps
//! are in an order in which each needs little but what was fitted before, so that every fit is one of a single number; that
//! is how the papers tune their models too. Where the times hardly depend on the parameter, it is left as it was and called
//! so.
//!
//! Parameters of the closed models follow ([`effective`]), by the micro-benchmarks of their papers.

pub mod effective;
mod fit;
mod machine_file;
mod quantum;
mod spread;
pub mod steps;
mod table;
pub mod virtual_gpu;

use std::sync::Arc;

use warplens_base::error::{Error, Result};
use warplens_launch::{Launch, Number, Value};
use warplens_session::machines::{Key, Machine};
use warplens_session::{ExecutionOptions, Program, Progress};

use effective::Group;
use fit::Problem;
pub use fit::{Fitted, Left, Row};
use machine_file::Inherited;
use steps::{Point, Shape, Step};
pub use table::{plan_table, read};

/// The micro-benchmarks.
const KERNELS: (&str, &str) = ("validation/calibration/sm_35.ptx", include_str!("../validation/calibration/sm_35.ptx"));

/// The kernels of the micro-benchmarks.
pub fn program() -> Program {
    let (name, ptx) = KERNELS;
    Program::from_ptx(name, ptx.to_owned()).expect("the kernels are the project's own")
}

/// What a launch is measured for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Part {
    /// A physical parameter.
    Step(&'static Step),
    /// Parameters of a closed model.
    Group(&'static Group),
}

impl Part {
    /// Its name, in tables of measured times.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Step(step) => step.name(),
            Self::Group(group) => group.name,
        }
    }

    /// The part of this name.
    pub fn named(name: &str) -> Option<Self> {
        Step::named(name).map(Self::Step).or_else(|| Group::named(name).map(Self::Group))
    }

    /// Its parameters.
    pub const fn keys(self) -> &'static [Key] {
        match self {
            Self::Step(step) => std::slice::from_ref(&step.key),
            Self::Group(group) => group.keys,
        }
    }

    /// Whether its launches tell its parameters of a GPU.
    fn applies(self, shape: &Shape) -> bool {
        match self {
            Self::Step(step) => (step.applies)(shape),
            Self::Group(group) => (group.applies)(shape),
        }
    }

    /// Whether launches of it may have no part in the fit.
    fn may_be_held_out(self) -> bool {
        matches!(self, Self::Group(group) if group.how == effective::How::Nearest)
    }

    /// Every part, in the order in which they are fitted.
    pub fn all() -> impl Iterator<Item = Self> {
        steps::STEPS.iter().map(Self::Step).chain(effective::GROUPS.iter().map(Self::Group))
    }
}

/// Parts that somebody asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wanted(Vec<String>);

impl Wanted {
    /// By names of parts, of parameters or of groups of these (`luo_suda`), or of models; all where there are none.
    pub fn parse(names: &[String]) -> Result<Self> {
        let wanted = Self(names.to_vec());
        let unknown = names.iter().find(|name| !Part::all().any(|part| is_named(part, name)));
        match unknown {
            Some(name) => {
                let parts: Vec<&str> = Part::all().map(Part::name).collect();
                let error = Error::usage(format!("`{name}` is nothing that is calibrated"));
                Err(error.with_help(format!("there are {}", parts.join(", "))))
            }
            None => Ok(wanted),
        }
    }

    /// Whether a part is among them.
    pub fn has(&self, part: Part) -> bool {
        self.0.is_empty() || self.0.iter().any(|name| is_named(part, name))
    }
}

fn is_named(part: Part, name: &str) -> bool {
    let is_of_model = matches!(part, Part::Group(group) if group.model.name() == name);
    let is_key = |key: &Key| key.name() == name || key.group() == name;
    is_of_model || part.name() == name || part.keys().iter().any(is_key)
}

/// A launch with its time.
#[derive(Clone, Debug)]
pub struct Timed {
    /// What it was measured for.
    pub part: Part,
    /// The launch.
    pub launch: Launch,
    /// The kernels, where they are not the project's own.
    pub program: Option<Arc<Program>>,
    /// Microseconds.
    pub us: f64,
    /// They are those between two reads of the clock in the kernel, around its rounds.
    pub is_of_clock: bool,
    /// Nothing is fitted to it.
    pub is_held_out: bool,
}

/// The launches that a GPU is measured with, by part.
pub fn plan(machine: &Machine) -> Result<Vec<(Part, Vec<Point>)>> {
    let shape = shape_of(machine)?;
    let points = |part: Part| match part {
        Part::Step(step) => (step.points)(&shape),
        Part::Group(group) => (group.points)(&shape),
    };
    Ok(Part::all().filter(|part| part.applies(&shape)).map(|part| (part, points(part))).collect())
}

/// What launches are made for.
fn shape_of(machine: &Machine) -> Result<Shape> {
    Shape::of(machine).map_err(|missing| Error::input(format!("{}: {missing}", machine.id)))
}

/// Whether a launch of a part is held out, unless a table says so itself: of a closed model that is fitted to times every
/// other one.
fn is_held_out(part: Part, number: usize) -> bool {
    part.may_be_held_out() && number % 2 == 1
}

/// What was found.
#[derive(Clone, PartialEq, Debug)]
pub struct Calibration {
    /// The GPU with every fitted value.
    pub machine: Machine,
    /// The values, in the order of the steps.
    pub fitted: Vec<Fitted>,
    /// What was measured and could not be fitted.
    pub left: Vec<Left>,
    /// Every launch that was measured beside what the fit says of it.
    pub rows: Vec<(Part, Vec<Row>)>,
    /// What a machine file of it inherits.
    inherited: Inherited,
}

/// How far off the model is for launches that its parameters were not fitted to.
#[derive(Clone, PartialEq, Debug)]
pub struct Repredicted {
    /// The parameters.
    pub group: &'static Group,
    /// Launches that they were fitted to.
    pub n_training: usize,
    /// Mean of the absolute relative errors of those.
    pub training_error: f64,
    /// Launches that were held out.
    pub n_held_out: usize,
    /// Mean of the absolute relative errors of those.
    pub held_out_error: f64,
    /// The largest of them.
    pub worst_error: f64,
}

impl Repredicted {
    fn new(group: &'static Group, rows: &[Row]) -> Option<Self> {
        let errors = |is_held_out: bool| -> Vec<f64> {
            rows.iter().filter(|row| row.is_held_out == is_held_out).map(|row| row.error().abs()).collect()
        };
        let mean = |errors: &[f64]| errors.iter().sum::<f64>() / errors.len() as f64;
        let (training, held_out) = (errors(false), errors(true));
        (!training.is_empty() && !held_out.is_empty()).then(|| Self {
            group,
            n_training: training.len(),
            training_error: mean(&training),
            n_held_out: held_out.len(),
            held_out_error: mean(&held_out),
            worst_error: held_out.iter().copied().fold(0.0, f64::max),
        })
    }
}

impl Calibration {
    /// How well the closed models predict what was held out.
    pub fn repredicted(&self) -> Vec<Repredicted> {
        let of = |(part, rows): &(Part, Vec<Row>)| match part {
            Part::Group(group) => Repredicted::new(group, rows),
            Part::Step(_) => None,
        };
        self.rows.iter().filter_map(of).collect()
    }
}

/// A value is looked for up to this factor away from that of the machine file, and from then on from the last one.
const FIRST_REACH: f64 = 4.0;
const LATER_REACH: f64 = 1.5;
/// Times of a step may depend a little on what is fitted after it, so that the steps are gone through again until no value
/// changes by more than this part of itself, or so often.
const SETTLED: f64 = 1e-3;
const MOST_SWEEPS: usize = 4;

/// Fits every parameter that was measured.
pub fn calibrate(
    machine: &Machine,
    timed: &[Timed],
    execution: &ExecutionOptions,
    progress: &Progress,
) -> Result<Calibration> {
    let mut calibration = Calibration {
        machine: machine.clone(),
        fitted: Vec::new(),
        left: Vec::new(),
        rows: Vec::new(),
        inherited: Inherited::of(machine),
    };
    physical(&mut calibration, timed, execution, progress)?;
    for group in effective::GROUPS {
        let of_group: Vec<&Timed> = timed.iter().filter(|of| of.part == Part::Group(group)).collect();
        if of_group.is_empty() {
            continue;
        }
        let cases = cases(&calibration.machine, &of_group, execution, progress)?;
        let found = effective::fit(&mut calibration.machine, group, &cases)?;
        calibration.fitted.extend(found.fitted);
        calibration.left.extend(found.left);
        calibration.rows.push((Part::Group(group), found.rows));
    }
    Ok(calibration)
}

/// The launches of a group with what the models need of them, and their times less what an empty kernel takes.
fn cases(
    machine: &Machine,
    timed: &[&Timed],
    execution: &ExecutionOptions,
    progress: &Progress,
) -> Result<Vec<effective::Case>> {
    let launch_us = effective::launch_us(machine);
    let mut cases = Vec::new();
    for (of, observed) in timed.iter().zip(fit::executed(timed, machine, execution, progress)?) {
        let us = if of.is_of_clock { of.us } else { of.us - launch_us };
        let kernel = of.launch.kernel.clone().unwrap_or_default();
        if us <= 0.0 {
            let error = format!("{kernel}: measured {} us, and an empty kernel takes {launch_us} us", of.us);
            return Err(Error::input(error));
        }
        let rounds = match of.launch.arguments.last().map(|last| &last.argument.value) {
            Some(Value::Number(Number::Integer(rounds))) => *rounds as f64,
            _ => 1.0,
        };
        cases.push(effective::Case { observed, kernel, rounds, us, is_held_out: of.is_held_out });
    }
    Ok(cases)
}

fn physical(
    calibration: &mut Calibration,
    timed: &[Timed],
    execution: &ExecutionOptions,
    progress: &Progress,
) -> Result<()> {
    let mut problems: Vec<Problem> = Vec::new();
    for step in steps::STEPS {
        let of_step: Vec<&Timed> = timed.iter().filter(|of| of.part == Part::Step(step)).collect();
        if of_step.is_empty() {
            continue;
        }
        let measurements = fit::executed(&of_step, &calibration.machine, execution, progress)?;
        let names = of_step.iter().map(|of| of.launch.kernel.clone().unwrap_or_default()).collect();
        problems.push(Problem::new(step, measurements, names, of_step.iter().map(|of| of.us).collect()));
    }
    let machine = &mut calibration.machine;
    let mut reach = FIRST_REACH;
    let mut results: Vec<std::result::Result<Fitted, Left>> = Vec::new();
    for _ in 0..MOST_SWEEPS {
        let mut change: f64 = 0.0;
        results.clear();
        for problem in &mut problems {
            let before = machine.canonical(problem.step.key).ok();
            results.push(fit::one(machine, problem, reach)?);
            let after = machine.canonical(problem.step.key).ok();
            change = change.max(before.zip(after).map_or(0.0, |(before, after)| (after / before).ln().abs()));
        }
        if change < SETTLED {
            break;
        }
        reach = LATER_REACH;
    }
    for result in results {
        match result {
            Ok(fitted) => calibration.fitted.push(fitted),
            Err(left) => calibration.left.push(left),
        }
    }
    calibration.rows.extend(problems.iter().map(|of| (Part::Step(of.step), of.rows(&calibration.machine))));
    Ok(())
}
