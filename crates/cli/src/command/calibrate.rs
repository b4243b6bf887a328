//! `warplens calibrate --gpu NAME --from TABLE.csv`: a machine file out of measured times of micro-benchmarks.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Args;
use warplens_question::calibrate::{self, Part, Timed, Wanted, virtual_gpu};
use warplens_question::hardware::{self, Asked};
use warplens_report::view::calibrate::Calibrated;
use warplens_report::{document, view};
use warplens_session::machines::{self, Basis, Machine};
use warplens_session::{Error, read_text};

use super::measure::{MeasuringFlags, today};
use super::{Document, Outcome, picture};
use crate::flags::{ExecutionFlags, OutputFlags};
use crate::terminal::Terminal;

#[derive(Args, Debug)]
#[command(after_help = STEPS)]
pub(crate) struct CalibrateFlags {
    /// The GPU: identifier, marketing name, FILE.toml or ID@MHZ with the clock of the measurement
    #[arg(long, value_name = "NAME")]
    gpu: String,
    /// Write the launches to measure, as a table whose column measured_us is to be filled in
    #[arg(long, group = "what")]
    plan: bool,
    /// Fit the parameters to the measured times of such a table
    #[arg(long, value_name = "TABLE.csv", group = "what")]
    from: Option<PathBuf>,
    /// Measure a GPU that is not there, the simulation of one with other values, and find these again; 0 leaves them as they are
    #[arg(long = "virtual", value_name = "SEED", group = "what", num_args = 0..=1, default_missing_value = "1")]
    virtual_seed: Option<u64>,
    /// Noise of the times of a virtual GPU, as a part of each
    #[arg(long, value_name = "PART", requires = "virtual_seed", conflicts_with_all = ["plan", "from"])]
    noise: Option<f64>,
    /// Only these: classes of the plan, parameters or groups of them, models; such as latency, luo-suda
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    only: Vec<String>,
    /// Keep the measured times here; launches whose times are there already are not measured again
    #[arg(long, value_name = "TABLE.csv", conflicts_with = "what")]
    times: Option<PathBuf>,
    #[command(flatten)]
    how: MeasuringFlags,
    /// Write the machine file here: what was fitted, and everything else inherited from the GPU
    #[arg(long, value_name = "FILE.toml", conflicts_with = "plan")]
    machine_file: Option<PathBuf>,
    /// Draw each fit into this folder: the times, and what they are off by
    #[arg(long, value_name = "DIR", conflicts_with = "plan")]
    plots: Option<PathBuf>,
    #[command(flatten)]
    execution: ExecutionFlags,
    #[command(flatten)]
    output: OutputFlags,
}

const STEPS: &str = "Without --plan, --from and --virtual the GPU of this machine is measured. Where it is elsewhere, --plan \
writes the launches for `warplens measure` there, or for any program that runs the kernels in validation/calibration; \
times are what a profiler says of a kernel, in microseconds, and the clock is best a fixed one.";

/// Noise beyond which nothing is found.
const MOST_NOISE: f64 = 0.5;

pub(crate) fn run(flags: &CalibrateFlags, threads: Option<u32>, terminal: &Terminal) -> Result<Outcome> {
    let machine = machines::one(&flags.gpu)?;
    let wanted = Wanted::parse(&flags.only)?;
    if flags.plan {
        let table = calibrate::plan_table(&machine, |part| wanted.has(part))?;
        terminal.data(flags.output.output.as_ref(), &table)?;
        return Ok(Outcome::Done);
    }
    let noise = flags.noise.unwrap_or(0.0);
    if !(0.0..=MOST_NOISE).contains(&noise) {
        return Err(Error::usage(format!("--noise {noise}: not a part from 0 to {MOST_NOISE}")).into());
    }
    if let Some(folder) = &flags.plots {
        let drawn = calibrate::plan(&machine)?.into_iter().filter(|(part, _)| wanted.has(*part));
        let paths: Vec<PathBuf> = drawn.map(|(part, _)| picture_of(folder, part)).collect();
        terminal.check_writable(&paths)?;
    }
    let execution = flags.execution.options(threads)?;
    let (timed, times, hardware) = match (&flags.from, flags.virtual_seed) {
        (Some(path), _) => {
            let name = path.display().to_string();
            let text = read_text(&name, "table of measured times")?;
            let folder = path.parent().unwrap_or(Path::new(""));
            (calibrate::read(&name, &text, folder, &machine)?, name, None)
        }
        (None, Some(seed)) => {
            let hardware = virtual_gpu::perturbed(&machine, seed)?;
            let times = format!("a virtual GPU (seed {seed}, noise {} %)", 100.0 * noise);
            let timed = terminal.with_progress(|progress| {
                let (is_wanted, seed) = (|part| wanted.has(part), seed.wrapping_add(1));
                virtual_gpu::measured(is_wanted, &machine, &hardware, noise, seed, &execution, progress)
            })?;
            (timed, times, Some(hardware))
        }
        (None, None) => {
            let times = measured(flags, &machine, &wanted, terminal)?;
            let name = "the GPU of this machine".to_owned();
            (calibrate::read(&name, &times, Path::new(""), &machine)?, name, None)
        }
    };
    let timed: Vec<Timed> = timed.into_iter().filter(|of| wanted.has(of.part)).collect();
    if timed.is_empty() {
        return Err(Error::input(format!("{times}: no launch is for what --only names")).into());
    }
    let calibration =
        terminal.with_progress(|progress| calibrate::calibrate(&machine, &timed, &execution, progress))?;
    if let Some(path) = &flags.machine_file {
        let (basis, source) = match hardware {
            Some(_) => {
                (Basis::Simulated, format!("warplens calibrate, by {times}: fitted to the simulation, not to a GPU"))
            }
            None => (
                Basis::Fitted,
                format!("warplens calibrate, by {times}: the model that reads the value agrees best with them"),
            ),
        };
        terminal.data(Some(path), &calibration.machine_file(&source, basis)?)?;
    }
    if let Some(folder) = &flags.plots {
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        for (part, rows) in calibration.rows.iter().filter(|(_, rows)| !rows.is_empty()) {
            let figure = view::figure::fit(&machine.id, *part, rows);
            picture::write(&figure, &picture_of(folder, *part), terminal)?;
        }
    }
    let of = Calibrated { machine: &machine, calibration: &calibration, times: &times, hardware: hardware.as_ref() };
    let sections = || view::calibrate::sections(of);
    let json = || document::value(&view::calibrate::document(of));
    Document { title: "Calibration", sections: &sections, tables: &sections, json: &json }
        .write(&flags.output, terminal)?;
    Ok(Outcome::Done)
}

/// Where the fit of a part is drawn.
fn picture_of(folder: &Path, part: Part) -> PathBuf {
    folder.join(format!("{}.svg", part.name()))
}

/// The launches of the plan, timed on the GPU of this machine, but for those whose times are kept.
fn measured(flags: &CalibrateFlags, machine: &Machine, wanted: &Wanted, terminal: &Terminal) -> Result<String> {
    let kept = flags.times.as_ref().filter(|path| path.exists());
    let plan = match kept {
        Some(path) => read_text(path, "table of measured times")?,
        None => {
            terminal.check_writable(flags.times.as_slice())?;
            calibrate::plan_table(machine, |part| wanted.has(part))?
        }
    };
    let (gpu, repeats) = flags.how.open()?;
    let command = format!("warplens calibrate --gpu {} {}", machine.id, flags.how.command());
    let asked = Asked { gpu: Some(machine), repeats, command: &command, date: &today() };
    let filled = terminal
        .with_progress_of("launches", |progress| hardware::fill(&gpu, "plan", &plan, Path::new(""), asked, progress))?;
    if let Some(path) = &flags.times {
        std::fs::write(path, &filled.text)?;
    }
    match filled.failed.into_iter().next() {
        Some((_, error)) => Err(error.into()),
        None => Ok(filled.text),
    }
}
