//! `warplens plot KIND INPUT`: pictures of what the other verbs say in words.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
use warplens_question::plot::x_graph::Variation;
use warplens_question::timing::annotate::By;
use warplens_question::timing::cycles::WarpCycles;
use warplens_question::timing::{self, Window};
use warplens_question::whatif::Scenario;
use warplens_question::{measured, plot};
use warplens_report::{Figure, document, render, view};
use warplens_session::machines::{self, Machine, Strictness};
use warplens_session::predict::{self, CountBasis, Options, Refusal};
use warplens_session::{Analysis, Choice, Error, Input, Measurement};

use super::annotate::{self, WindowFlags};
use super::{Outcome, scale};
use crate::ask::{AskFlags, Question};
use crate::flags::{ExecutionFlags, parse_output};
use crate::terminal::Terminal;

#[derive(Args, Debug)]
pub(crate) struct PlotFlags {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Subcommand, Debug)]
enum Kind {
    /// Kernels under the roofs of GPUs: issue slots and memory
    Roofline(KernelFlags),
    /// Occupancy against block size, registers and shared memory
    Occupancy(KernelFlags),
    /// Time, cycles per instruction, MWP and CWP by model, with the terms of the time
    Cpi(KernelFlags),
    /// When the warps of an SM compute and when they wait for memory; with --model teg cycle by cycle, and why
    Timeline(TimelineFlags),
    /// Why warps do not issue, by scheduler and for the hottest lines
    Stalls(KernelFlags),
    /// What waits for what in the hottest block of machine code, with latencies and the longest chain
    Dependencies(KernelFlags),
    /// Speedup and efficiency from one warp to a full SM
    Scale(KernelFlags),
    /// Demand and supply of memory with every state, before and after a change
    XGraph(XGraphFlags),
    /// What memory supplies for several values of one quantity of the X-model
    FFamily(FamilyFlags),
    /// What a GPU supplies and computes with so many warps, before any workload
    Architecture(ArchitectureFlags),
    /// Predictions against measured times
    Accuracy(AccuracyFlags),
}

/// A kernel on GPUs.
#[derive(Args, Debug)]
struct KernelFlags {
    #[command(flatten)]
    ask: AskFlags,
    #[command(flatten)]
    output: PictureFlags,
}

/// A kernel on GPUs, and the part of its timeline that is shown.
#[derive(Args, Debug)]
struct TimelineFlags {
    #[command(flatten)]
    ask: AskFlags,
    #[command(flatten)]
    window: WindowFlags,
    #[command(flatten)]
    output: PictureFlags,
}

/// A kernel on GPUs, and a question.
#[derive(Args, Debug)]
struct XGraphFlags {
    #[command(flatten)]
    ask: AskFlags,
    /// Draw before and after: give a parameter another value, or a factor, such as x-model.n=24 or dram.bandwidth=2x
    #[arg(long = "set", value_name = "NAME=VALUE|FACTORx", help_heading = "What if")]
    settings: Vec<String>,
    /// Draw before and after: suppose that an effect costs nothing, such as uncoalesced
    #[arg(long, value_name = "EFFECT", help_heading = "What if")]
    without: Vec<String>,
    /// Draw measured points of f(k), too: lines `k,value` behind one of names, in warps and requests per cycle of an SM
    #[arg(long, value_name = "FILE.csv", help_heading = "Prediction")]
    points: Option<PathBuf>,
    #[command(flatten)]
    output: PictureFlags,
}

/// A kernel on GPUs, and what varies.
#[derive(Args, Debug)]
struct FamilyFlags {
    #[command(flatten)]
    ask: AskFlags,
    /// A quantity of the X-model and its values, such as x-model.R=0.5x,1x,2x; the size of the cache unless given
    #[arg(long, value_name = "NAME=VALUE,...", help_heading = "What if")]
    vary: Option<String>,
    #[command(flatten)]
    output: PictureFlags,
}

/// GPUs by themselves.
#[derive(Args, Debug)]
struct ArchitectureFlags {
    /// GPUs: identifiers, marketing names, sm_XX for all of a target, FILE.toml, ID@MHZ
    #[arg(long, value_name = "LIST", default_value = "h200", help_heading = "Prediction")]
    gpu: String,
    /// Draw g(x) for E from 1 to this
    #[arg(long, value_name = "E", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=16), help_heading = "Prediction")]
    parallelism: u32,
    /// Refuse where a machine parameter would have to be derived
    #[arg(long, help_heading = "Prediction")]
    strict: bool,
    #[command(flatten)]
    output: PictureFlags,
}

/// Measured times.
#[derive(Args, Debug)]
struct AccuracyFlags {
    /// CSV with the columns gpu and measured_us, and with predicted_us or input, launch and kernel; or - for standard input
    measured: PathBuf,
    #[command(flatten)]
    model: ModelFlags,
    #[command(flatten)]
    execution: ExecutionFlags,
    #[command(flatten)]
    output: PictureFlags,
}

/// Which models answer, and how.
#[derive(Args, Debug)]
struct ModelFlags {
    /// Models, or `auto` for the preferred one that answers, or `all`; what suits the picture unless given
    #[arg(long, value_name = "NAME|auto|all", help_heading = "Prediction")]
    model: Option<String>,
    /// Switch an option of the models on, such as as-printed
    #[arg(long = "option", value_name = "NAME", help_heading = "Prediction")]
    options: Vec<String>,
    /// Refuse where a machine parameter would have to be derived
    #[arg(long, help_heading = "Prediction")]
    strict: bool,
}

/// Format and place of the picture.
#[derive(Args, Debug)]
struct PictureFlags {
    /// Format of the picture; else from the ending of the file
    #[arg(long, value_enum, help_heading = "Output")]
    format: Option<PictureFormat>,
    /// Write the picture to FILE.svg, FILE.png, FILE.csv or FILE.json
    #[arg(short, long, value_name = "FILE", value_parser = parse_output, help_heading = "Output")]
    output: Option<PathBuf>,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum PictureFormat {
    /// For pages and print; follows a light or dark theme
    Svg,
    /// For everything else
    Png,
    /// The data, a row per point
    Csv,
    /// The data, for programs; see docs/report-schema.md
    Json,
}

const FORMATS: [(&str, PictureFormat); 4] = [
    ("svg", PictureFormat::Svg),
    ("png", PictureFormat::Png),
    ("csv", PictureFormat::Csv),
    ("json", PictureFormat::Json),
];

pub(crate) fn run(flags: &PlotFlags, threads: Option<u32>, terminal: &Terminal) -> Result<Outcome> {
    match &flags.kind {
        Kind::Roofline(flags) => draw(&flags.ask, &flags.output, "auto", threads, terminal, |analyses, options| {
            Ok(view::figure::roofline(&plot::roofline::rooflines(analyses, options)?))
        }),
        Kind::Occupancy(flags) => draw(&flags.ask, &flags.output, "auto", threads, terminal, occupancy),
        Kind::Cpi(flags) => {
            let cpi = |analyses: &[Analysis], _| Ok(view::figure::cpi(&plot::terms::times(analyses)?));
            draw(&flags.ask, &flags.output, "all", threads, terminal, cpi)
        }
        Kind::Timeline(flags) => timeline(flags, threads, terminal),
        Kind::Stalls(flags) => stalls(flags, threads, terminal),
        Kind::Dependencies(flags) => dependences(flags, threads, terminal),
        Kind::Scale(flags) => scaling(flags, threads, terminal),
        Kind::XGraph(flags) => x_graph(flags, threads, terminal),
        Kind::FFamily(flags) => f_family(flags, threads, terminal),
        Kind::Architecture(flags) => architecture(flags, terminal),
        Kind::Accuracy(flags) => accuracy(flags, threads, terminal),
    }
}

/// Measures, predicts and draws. `suitable` models answer unless others are asked.
fn draw(
    ask: &AskFlags,
    output: &PictureFlags,
    suitable: &str,
    threads: Option<u32>,
    terminal: &Terminal,
    figure: impl Fn(&[Analysis], Options) -> warplens_session::Result<Figure>,
) -> Result<Outcome> {
    let format = output.format(terminal)?;
    let question = ask.question(threads)?;
    let choice = if question.choice == Choice::Auto { Choice::parse(suitable)? } else { question.choice.clone() };
    let measurements = ask.measure(&question, terminal)?.measurements;
    let predict = |measurement| question.predict(measurement, &choice, terminal);
    let analyses: Vec<Analysis> = measurements.into_iter().map(predict).collect();
    write(&figure(&analyses, question.options)?, format, output, terminal)
}

fn x_graph(flags: &XGraphFlags, threads: Option<u32>, terminal: &Terminal) -> Result<Outcome> {
    let format = flags.output.format(terminal)?;
    let scenario = Scenario::parse(&flags.settings, &flags.without)?;
    let points = |path: &PathBuf| {
        let input = Input::read(path)?;
        plot::x_graph::measured_points(&input.name, &input.text())
    };
    let points = flags.points.as_ref().map(points).transpose()?;
    let (measurement, machine, options) = one_kernel(&flags.ask, threads, terminal)?;
    let graph = plot::x_graph::x_graph(measurement, &machine, options, &scenario)?;
    let graph = match points {
        Some(points) => graph.with_measured(points),
        None => graph,
    };
    write(&view::figure::x_graph(&graph), format, &flags.output, terminal)
}

fn f_family(flags: &FamilyFlags, threads: Option<u32>, terminal: &Terminal) -> Result<Outcome> {
    let format = flags.output.format(terminal)?;
    let variation = flags.vary.as_deref().map(Variation::parse).transpose()?.unwrap_or_else(Variation::of_cache);
    let (measurement, machine, options) = one_kernel(&flags.ask, threads, terminal)?;
    let curves = plot::x_graph::family(measurement, &machine, options, &variation)?;
    write(&view::figure::f_family(&curves), format, &flags.output, terminal)
}

fn architecture(flags: &ArchitectureFlags, terminal: &Terminal) -> Result<Outcome> {
    let format = flags.output.format(terminal)?;
    let machines = machines::select(&flags.gpu)?;
    let strictness = if flags.strict { Strictness::Strict } else { Strictness::AllowInferred };
    let graph = |machine: &Machine| plot::x_graph::architecture(machine, flags.parallelism, strictness);
    let graphs: Vec<_> = machines.iter().map(graph).collect::<warplens_session::Result<_>>()?;
    write(&view::figure::architecture(&graphs), format, &flags.output, terminal)
}

/// The one launch and the one GPU that a picture shows.
fn one_kernel(ask: &AskFlags, threads: Option<u32>, terminal: &Terminal) -> Result<(Measurement, Machine, Options)> {
    let question = ask.question(threads)?;
    let [machine] = question.machines.as_slice() else {
        return Err(one_gpu(question.machines.len()).into());
    };
    let mut measurements = ask.measure(&question, terminal)?.measurements;
    match (measurements.pop(), measurements.len()) {
        (Some(measurement), 0) => Ok((measurement, machine.clone(), question.options)),
        (_, others) => Err(one_launch(others + 1).into()),
    }
}

fn one_gpu(n: usize) -> Error {
    Error::usage(format!("this picture shows one GPU, not {n}"))
}

fn one_launch(n: usize) -> Error {
    let error = Error::usage(format!("this picture shows one launch, not {n}"));
    error.with_help("-k NAME picks a kernel of a launch file")
}

fn occupancy(analyses: &[Analysis], options: Options) -> warplens_session::Result<Figure> {
    let of_one = |analysis: &Analysis| {
        let curves = |gpu: &predict::GpuAnalysis| plot::occupancy::curves(&analysis.measurement, &gpu.machine, options);
        analysis.gpus.iter().map(curves).collect::<warplens_session::Result<Vec<_>>>()
    };
    let all: Vec<Vec<_>> = analyses.iter().map(of_one).collect::<warplens_session::Result<_>>()?;
    Ok(view::figure::occupancy(&all.concat()))
}

/// What a timeline shows unless more is asked.
pub(super) const SHOWN: Window = Window { warps: 8, cycles: (0, 2000) };

fn timeline(flags: &TimelineFlags, threads: Option<u32>, terminal: &Terminal) -> Result<Outcome> {
    if !flags.ask.is_of_teg() {
        if let Some(flag) = flags.window.given() {
            return Err(Error::usage(format!("{flag} is about the timeline of --model teg")).into());
        }
        return draw(&flags.ask, &flags.output, "analyzer,hong-kim", threads, terminal, |analyses, _| {
            let [analysis] = analyses else { return Err(one_launch(analyses.len())) };
            Ok(view::figure::timeline(&plot::timeline::timeline(analysis)?))
        });
    }
    let format = flags.output.format(terminal)?;
    let window = flags.window.window(SHOWN)?;
    let question = flags.ask.question_of_teg(threads)?;
    let measured = flags.ask.measure(&question, terminal)?;
    let cycles = one_timeline(&measured.measurements, &question, window)?;
    write(&view::figure::cycles(&cycles), format, &flags.output, terminal)
}

/// The warps of the one launch on the one GPU.
pub(super) fn one_timeline(measurements: &[Measurement], question: &Question, window: Window) -> Result<WarpCycles> {
    let [machine] = question.machines.as_slice() else {
        return Err(Error::usage(format!("a timeline shows one GPU, not {}", question.machines.len())).into());
    };
    let [measurement] = measurements else { return Err(one_launch(measurements.len()).into()) };
    let cycles = timing::warp_cycles(measurement, machine, question.options, window);
    Ok(cycles.result.map_err(|refusal| no_answer(&[(cycles.gpu, refusal)]))?)
}

fn stalls(flags: &KernelFlags, threads: Option<u32>, terminal: &Terminal) -> Result<Outcome> {
    let format = flags.output.format(terminal)?;
    let question = flags.ask.question_of_teg(threads)?;
    let [_] = question.machines.as_slice() else { return Err(one_gpu(question.machines.len()).into()) };
    let measured = flags.ask.measure(&question, terminal)?;
    let mut answers = annotate::answers(&flags.ask, &measured, &question, By::Auto)?;
    let (Some(answer), true) = (answers.pop(), answers.is_empty()) else {
        return Err(one_launch(answers.len() + 1).into());
    };
    let annotated = answer.result.map_err(|refusal| no_answer(&[(answer.gpu, refusal)]))?;
    write(&view::figure::stalls(&plot::stalls::stalls(&annotated)?), format, &flags.output, terminal)
}

fn dependences(flags: &KernelFlags, threads: Option<u32>, terminal: &Terminal) -> Result<Outcome> {
    let format = flags.output.format(terminal)?;
    let question = flags.ask.question_of_teg(threads)?;
    let [machine] = question.machines.as_slice() else { return Err(one_gpu(question.machines.len()).into()) };
    let measurements = flags.ask.measure(&question, terminal)?.measurements;
    let [measurement] = measurements.as_slice() else { return Err(one_launch(measurements.len()).into()) };
    let answer = timing::dependences(measurement, machine, question.options);
    let found = answer.result.map_err(|refusal| no_answer(&[(answer.gpu, refusal)]))?;
    let found = found.ok_or_else(|| Error::input("no warp executed an instruction: there is nothing to draw"))?;
    write(&view::figure::dependences(&found), format, &flags.output, terminal)
}

fn scaling(flags: &KernelFlags, threads: Option<u32>, terminal: &Terminal) -> Result<Outcome> {
    let format = flags.output.format(terminal)?;
    let question = flags.ask.question_of_teg(threads)?;
    let measured = flags.ask.measure(&question, terminal)?;
    let (mut scales, mut refused) = (Vec::new(), Vec::new());
    for answer in scale::answers(&measured, &question) {
        match answer.result {
            Ok(scale) => scales.push(scale),
            Err(refusal) => refused.push((answer.gpu, refusal)),
        }
    }
    if scales.is_empty() {
        return Err(no_answer(&refused).into());
    }
    refused.iter().for_each(|(gpu, refusal)| terminal.message(&format!("{gpu}: {refusal}")));
    write(&view::figure::scale(&scales), format, &flags.output, terminal)
}

/// Nothing can be drawn, for these reasons.
fn no_answer(refused: &[(String, Refusal)]) -> Error {
    let details = refused.iter().map(|(gpu, refusal)| format!("{gpu}: {refusal}"));
    details.fold(Error::input("no model could answer"), Error::with_detail)
}

fn accuracy(flags: &AccuracyFlags, threads: Option<u32>, terminal: &Terminal) -> Result<Outcome> {
    let format = flags.output.format(terminal)?;
    let (choice, options) = flags.model.choice("auto")?;
    let input = Input::read(&flags.measured)?;
    let folder = flags.measured.parent().unwrap_or(Path::new(""));
    let rows = measured::parse(&input.name, &input.text(), folder)?;
    let request = plot::accuracy::Request { choice, options, execution: flags.execution.options(threads)? };
    let accuracy = terminal.with_progress(|progress| plot::accuracy::accuracy(&rows, &request, progress))?;
    write(&view::figure::accuracy(&accuracy), format, &flags.output, terminal)
}

impl ModelFlags {
    fn choice(&self, preferred: &str) -> Result<(Choice, Options)> {
        let choice = Choice::parse(self.model.as_deref().unwrap_or(preferred))?;
        let strictness = if self.strict { Strictness::Strict } else { Strictness::AllowInferred };
        let options = predict::options(&choice, &self.options, CountBasis::AsWritten, strictness)?;
        Ok((choice, options))
    }
}

impl PictureFlags {
    /// The format that is asked for, or that the file's name says.
    fn format(&self, terminal: &Terminal) -> Result<PictureFormat> {
        const ENDINGS: &str = "FILE ends in .svg, .png, .csv or .json; --format says it for other names";
        let format = match (self.format, &self.output) {
            (Some(format), _) => format,
            (None, None) => return Err(Error::usage("where to? give -o FILE").with_help(ENDINGS).into()),
            (None, Some(path)) => {
                let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
                let found = FORMATS.iter().find(|(name, _)| ending.as_deref() == Some(*name));
                let unknown = || Error::usage(format!("-o {}: no picture has this ending", path.display()));
                found.ok_or_else(|| unknown().with_help(ENDINGS))?.1
            }
        };
        if format == PictureFormat::Png && self.output.is_none() && terminal.is_screen() {
            return Err(Error::usage("a PNG picture is no text for a terminal").with_help("give -o FILE.png").into());
        }
        Ok(format)
    }
}

fn write(figure: &Figure, format: PictureFormat, flags: &PictureFlags, terminal: &Terminal) -> Result<Outcome> {
    figure.check().map_err(|flaw| Error::input(flaw.to_string()))?;
    terminal.keep_tables(&|| vec![view::figure::data(figure)]);
    let bytes = match format {
        PictureFormat::Svg => render::svg::figure(figure).into_bytes(),
        PictureFormat::Png => render::png::figure(figure),
        PictureFormat::Csv => render::csv(&[view::figure::data(figure)]).into_bytes(),
        PictureFormat::Json => {
            (serde_json::to_string_pretty(&document::value(&document::figure::document(figure)))? + "\n").into_bytes()
        }
    };
    terminal.bytes(flags.output.as_ref(), &bytes)?;
    Ok(Outcome::Done)
}
