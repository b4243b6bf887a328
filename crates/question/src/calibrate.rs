//! The parameters of a GPU out of measured times of micro-benchmarks.
//!
//! Each step measures launches whose time one parameter decides, and takes the value with which the timing simulation
//! comes nearest to the measured times: the sum of the squared logarithms of predicted over measured time is least. Steps
//! are in an order in which each needs little but what was fitted before, so that every fit is one of a single number; that
//! is how the papers tune their models too. Where the times hardly depend on the parameter, it is left as it was and called
//! so.

mod fit;
mod quantum;
pub mod steps;
pub mod virtual_gpu;

use std::path::Path;

use warplens_base::error::{Error, Result};
use warplens_launch::Launch;
use warplens_session::machines::{Basis, Machine};
use warplens_session::{ExecutionOptions, Program, Progress};

use crate::measured;
use fit::Problem;
pub use fit::{Fitted, Left};
use steps::{Point, Shape, Step};

/// The micro-benchmarks.
const KERNELS: (&str, &str) = ("validation/calibration/sm_35.ptx", include_str!("../validation/calibration/sm_35.ptx"));

/// The kernels of the micro-benchmarks.
pub fn program() -> Program {
    let (name, ptx) = KERNELS;
    Program::from_ptx(name, ptx.to_owned()).expect("the kernels are the project's own")
}

/// A launch with its time.
#[derive(Clone, PartialEq, Debug)]
pub struct Timed {
    /// The step that it belongs to.
    pub step: &'static Step,
    /// The launch.
    pub launch: Launch,
    /// Microseconds.
    pub us: f64,
}

/// The launches that a GPU is measured with, by step.
pub fn plan(machine: &Machine) -> Result<Vec<(&'static Step, Vec<Point>)>> {
    let shape = Shape::of(machine).map_err(|missing| Error::input(format!("{}: {missing}", machine.id)))?;
    Ok(steps::STEPS.iter().filter(|step| (step.applies)(&shape)).map(|step| (step, (step.points)(&shape))).collect())
}

/// The launches as a table without times: one to be filled in where the GPU is.
pub fn plan_table(machine: &Machine) -> Result<String> {
    let mut text = String::from("gpu,class,kernel,grid,block,args,measured_us\n");
    for (step, points) in plan(machine)? {
        for Point { kernel, grid, block, arguments } in points {
            let arguments = arguments.join(";");
            text += &format!("{},{},{kernel},{grid},{block},{arguments},\n", machine.id, step.name());
        }
    }
    Ok(text)
}

/// A table with measured times, as [`plan_table`] writes it but for the times.
pub fn read(name: &str, text: &str, machine: &Machine) -> Result<Vec<Timed>> {
    let rows = measured::parse(name, text, Path::new(""))?;
    let timed = |row: &measured::Row| {
        let fail = |what: String| Error::input(format!("{}: {what}", row.place()));
        let class = row.class.as_deref().ok_or_else(|| fail("no `class`, which names the parameter".into()))?;
        let step = Step::named(class).ok_or_else(|| {
            let names: Vec<&str> = steps::STEPS.iter().map(Step::name).collect();
            let error = fail(format!("`class` is `{class}`, which is no parameter that is calibrated"));
            error.with_help(format!("the parameters are {}", names.join(", ")))
        })?;
        let launch = row.launch.clone().ok_or_else(|| fail("no launch".into()))?;
        Ok(Timed { step, launch, us: row.measured_us })
    };
    let of_gpu: Vec<&measured::Row> = rows.iter().filter(|row| row.gpu == machine.id).collect();
    if of_gpu.is_empty() {
        return Err(Error::input(format!("{name}: no row is of `{}`", machine.id)));
    }
    of_gpu.into_iter().map(timed).collect()
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
}

impl Calibration {
    /// As a machine file that inherits everything else from the GPU that was calibrated.
    pub fn machine_file(&self, source: &str, basis: Basis) -> String {
        let board = self.machine.board();
        let quoted = |text: &str| format!("\"{}\"", text.replace(['\\', '"'], "'"));
        let mut text = format!("name = {}\n", quoted(&format!("{}, calibrated", self.machine.name)));
        text += &format!("inherits = {}\n\n[sources]\ncalibration = {}\n", quoted(board), quoted(source));
        let mut groups: Vec<&str> = self.fitted.iter().map(|of| of.key.group()).collect();
        groups.sort_unstable();
        groups.dedup();
        for group in groups {
            text += &format!("\n[{group}]\nbasis = \"{}\"\nsource = \"calibration\"\n", basis.name());
            for of in self.fitted.iter().filter(|of| of.key.group() == group) {
                text += &of.line();
            }
        }
        text
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
    let program = program();
    let mut problems: Vec<Problem> = Vec::new();
    for step in steps::STEPS {
        let of_step = || timed.iter().filter(|of| of.step == step);
        let launches: Vec<Launch> = of_step().map(|of| of.launch.clone()).collect();
        if launches.is_empty() {
            continue;
        }
        let measurements = fit::executed(&program, &launches, machine, execution, progress)?;
        problems.push(Problem::new(step, measurements, of_step().map(|of| of.us).collect()));
    }
    let mut machine = machine.clone();
    let mut reach = FIRST_REACH;
    let mut results: Vec<std::result::Result<Fitted, Left>> = Vec::new();
    for _ in 0..MOST_SWEEPS {
        let mut change: f64 = 0.0;
        results.clear();
        for problem in &mut problems {
            let before = machine.canonical(problem.step.key).ok();
            results.push(fit::one(&mut machine, problem, reach)?);
            let after = machine.canonical(problem.step.key).ok();
            change = change.max(before.zip(after).map_or(0.0, |(before, after)| (after / before).ln().abs()));
        }
        if change < SETTLED {
            break;
        }
        reach = LATER_REACH;
    }
    let mut calibration = Calibration { machine, fitted: Vec::new(), left: Vec::new() };
    for result in results {
        match result {
            Ok(fitted) => calibration.fitted.push(fitted),
            Err(left) => calibration.left.push(left),
        }
    }
    Ok(calibration)
}
