//! `warplens report INPUT -o report.html`: one page with the answer, the pictures, the counts and the listing.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use warplens_question::timing::{self, annotate::By};
use warplens_question::whatif::Scenario;
use warplens_question::{explain, glance, listing, plot};
use warplens_report::view::report::{Extras, Origin};
use warplens_report::{Figure, document, view};
use warplens_session::predict::{self, ModelId};
use warplens_session::profile::{BankRule, CoalescingRule};
use warplens_session::{Analysis, Choice};

use super::Outcome;
use crate::ask::{AskFlags, Measured, Question};
use crate::flags::parse_output;
use crate::terminal::Terminal;

#[derive(Args, Debug)]
pub(crate) struct ReportFlags {
    #[command(flatten)]
    ask: AskFlags,
    /// Write the page to FILE instead of standard output
    #[arg(short, long, value_name = "FILE", value_parser = parse_output, help_heading = "Output")]
    output: Option<PathBuf>,
}

pub(crate) fn run(flags: &ReportFlags, threads: Option<u32>, terminal: &Terminal) -> Result<Outcome> {
    let question = flags.ask.question(threads)?;
    // A page has room for every model; the one that `auto` prefers comes first.
    let choice = if question.choice == Choice::Auto { Choice::All } else { question.choice.clone() };
    let measured = flags.ask.measure(&question, terminal)?;
    let analyses: Vec<Analysis> = measured
        .measurements
        .iter()
        .map(|measurement| question.predict(measurement.clone(), &choice, terminal))
        .collect();
    let program = measured.program.as_deref();
    let output = flags.output.iter().flat_map(|path| ["-o".to_owned(), path.to_string_lossy().into_owned()]);
    let origin = Origin {
        command: flags.ask.command("report", &output.collect::<Vec<_>>()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        input: program.map_or_else(|| flags.ask.launch.input.display().to_string(), |program| program.name.clone()),
        compiler: program.and_then(|program| program.compiled.as_ref()).map(|(compiler, _)| compiler.clone()),
        json: serde_json::to_string(&document::value(&document::predict::document(&analyses)))? + "\n",
    };
    let has_answer = analyses.iter().any(Analysis::has_answer);
    let with_extras = analyses.into_iter().enumerate().map(|(number, analysis)| {
        let extras = extras(flags, &measured, &question, number, &analysis);
        (analysis, extras)
    });
    let page = view::report::page(&with_extras.collect::<Vec<_>>(), &origin);
    terminal.data(flags.output.as_ref(), &page.html())?;
    Ok(Outcome::of_models(has_answer, terminal))
}

/// GPUs whose listing stands on the page with stalls.
const MOST_SIMULATED: usize = 2;

fn extras(flags: &ReportFlags, measured: &Measured, question: &Question, number: usize, analysis: &Analysis) -> Extras {
    // The listing follows the rules of the first GPU.
    let (coalescing, bank) = match question.machines.first().map(|machine| machine.cc) {
        Some(cc) => (CoalescingRule::of(cc.major.into(), cc.minor.into()), BankRule::of(cc.major.into())),
        None => (CoalescingRule::Cc70, BankRule::Cc20),
    };
    let measurement = &analysis.measurement;
    let input = Some(flags.ask.launch.input.as_path());
    // Counts that come from a file have no text beside them.
    let listings = measured.program.as_deref().map_or_else(Vec::new, |program| {
        let mut listings = listing::sources(program, input, measurement, coalescing, bank);
        listings.push(listing::ptx(program, measurement, coalescing, bank));
        listings
    });
    let annotated = annotated(flags, measured, question, analysis);
    let explanation = explain::explain(analysis.clone(), question.options, measured.trial(number, question));
    let changes = view::explain::changes(&explanation);
    let mut figures = figures(analysis, question);
    figures.extend(annotated.iter().flat_map(|of| stall_figures(of, question, analysis)));
    let stalls = annotated.iter().flat_map(|of| view::timing::annotation(of, true)).collect();
    let glances = glance::glances(analysis, question.options);
    Extras { glances, changes, stalls, figures, listings }
}

/// The launch by line on the GPUs where the timing simulation answers, the first of them.
fn annotated(
    flags: &ReportFlags,
    measured: &Measured,
    question: &Question,
    analysis: &Analysis,
) -> Vec<timing::Annotated> {
    let text = timing::annotate::Text {
        program: measured.program.as_deref(),
        input: Some(flags.ask.launch.input.as_path()),
        by: By::Auto,
    };
    let answers = |gpu: &predict::GpuAnalysis| {
        let is_teg = |answer: &predict::Answer| answer.model == ModelId::Teg && answer.result.is_ok();
        gpu.answers.iter().any(is_teg)
    };
    let gpus = analysis.gpus.iter().filter(|gpu| answers(gpu)).take(MOST_SIMULATED);
    let annotated = gpus
        .map(|gpu| timing::annotated(&analysis.measurement, &gpu.machine, question.options, &text).ok()?.result.ok());
    annotated.flatten().collect()
}

/// The pictures of a simulated launch.
fn stall_figures(of: &timing::Annotated, question: &Question, analysis: &Analysis) -> Vec<Figure> {
    let Some(gpu) = analysis.gpus.iter().find(|gpu| gpu.machine.id == of.gpu) else { return Vec::new() };
    let (measurement, machine, options) = (&analysis.measurement, &gpu.machine, question.options);
    let cycles = timing::warp_cycles(measurement, machine, options, super::plot::SHOWN).result.ok();
    let scale = timing::scale(measurement, machine, options).result.ok();
    let figures = [
        plot::stalls::stalls(of).ok().map(|data| view::figure::stalls(&data)),
        cycles.map(|data| Figure { id: "cycles".to_owned(), ..view::figure::cycles(&data) }),
        scale.map(|data| view::figure::scale(&[data])),
    ];
    let named =
        figures.into_iter().flatten().map(|figure| Figure { id: format!("{}-{}", figure.id, of.gpu), ..figure });
    named.filter(|figure| figure.check().is_ok()).collect()
}

/// The pictures that can be drawn; what a model refuses is said elsewhere on the page.
fn figures(analysis: &Analysis, question: &Question) -> Vec<Figure> {
    /// GPUs that have a graph each of the X-model.
    const MOST_GRAPHS: usize = 2;
    let (measurement, options) = (&analysis.measurement, question.options);
    let curves = |gpu: &predict::GpuAnalysis| plot::occupancy::curves(measurement, &gpu.machine, options).ok();
    let occupancy: Vec<_> = analysis.gpus.iter().filter_map(curves).collect();
    let analyses = std::slice::from_ref(analysis);
    let mut figures: Vec<Figure> = Vec::new();
    figures.extend(plot::roofline::rooflines(analyses, options).ok().map(|data| view::figure::roofline(&data)));
    figures.extend(plot::terms::times(analyses).ok().map(|data| view::figure::cpi(&data)));
    figures.extend(plot::timeline::timeline(analysis).ok().map(|data| view::figure::timeline(&data)));
    figures.extend((!occupancy.is_empty()).then(|| view::figure::occupancy(&occupancy)));
    figures.extend(analysis.gpus.iter().take(MOST_GRAPHS).filter_map(|gpu| {
        let graph = plot::x_graph::x_graph(measurement.clone(), &gpu.machine, options, &Scenario::default()).ok()?;
        let figure = view::figure::x_graph(&graph);
        Some(Figure { id: format!("{}-{}", figure.id, gpu.machine.id), ..figure })
    }));
    figures.retain(|figure| figure.check().is_ok());
    figures
}
