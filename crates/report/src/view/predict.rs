//! Predicted times: the answer in one look, and on demand what each model says and assumes.
//!
//! ```text
//! GPU    time      models say            bound by       compute  memory  occupancy  model
//! h200   13.64 us  3.561 us to 13.64 us  DRAM latency    26.1 %   4.2 %    100.0 %  analyzer
//! ```
//!
//! *models say* is the spread of all models that answer, not an error bar; *compute* and *memory* are throughputs as
//! shares of what the hardware could do in the predicted time (Nsight Compute: speed of light).

use warplens_base::units::Seconds;
use warplens_question::explain::Advice;
use warplens_question::glance::Glance;
use warplens_session::Analysis;
use warplens_session::predict::{
    Answer, Band, Combine, GpuAnalysis, Model, ModelId, PREFERENCE, Prediction, Refusal, Resource, Selection, Walk,
    WalkRow,
};

use super::gpu::measure;
use super::timing::{Size, simulation};
use super::{explain, glance, profile, x_model};
use crate::render::show;
use crate::section::{Block, Cell, Column, Field, Plot, Section, Table, Unit};

/// How much is said.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Detail {
    /// One screen.
    Screen,
    /// Also quantities and assumptions of every answer.
    Quantities,
    /// Also the machine parameters that were read.
    Parameters,
}

/// The answers. `best` are the best changes on one of the GPUs, and `next` is the command that a user may want to run now.
pub fn predictions(
    analysis: &Analysis,
    glances: &[Glance],
    best: Option<(&str, &[Advice])>,
    detail: Detail,
    next: Option<&str>,
) -> Vec<Section> {
    let mut sections: Vec<Section> = instead(analysis.gpus.iter()).into_iter().collect();
    sections.extend(profile::unsupported(&analysis.measurement.support));
    sections.extend(glance::answer(analysis, glances));
    sections.extend(best.filter(|(_, advice)| !advice.is_empty()).map(|(gpu, advice)| explain::best(gpu, advice)));
    // A user who names several models wants to see what each of them says.
    match detail > Detail::Screen || analysis.gpus.iter().any(|gpu| gpu.answers.len() > 1) {
        true => sections.extend(models(analysis)),
        false => sections.extend(refusals(analysis)),
    }
    if detail > Detail::Screen {
        sections.extend(analysis.gpus.iter().flat_map(|gpu| details(gpu, detail)));
        sections.extend(analysis.gpus.iter().filter_map(assumptions_side_by_side));
    }
    sections.push(notes(analysis, detail, next));
    sections
}

/// The answers of a page that says elsewhere what the models say.
pub(super) fn of_page(analysis: &Analysis, glances: &[Glance]) -> Vec<Section> {
    let mut sections: Vec<Section> = instead(analysis.gpus.iter()).into_iter().collect();
    sections.extend(profile::unsupported(&analysis.measurement.support));
    sections.extend(glance::answer(analysis, glances));
    let notes = notes(analysis, Detail::Quantities, None);
    sections.extend((!notes.blocks.is_empty()).then_some(notes));
    sections
}

/// What each model says, and why some do not.
pub(super) fn models(analysis: &Analysis) -> Vec<Section> {
    let table = Section::new("models", "What the models say").with(Block::Table(table(analysis)));
    std::iter::once(table).chain(refusals(analysis)).collect()
}

/// Where the cycles go by every model, and what it computes with.
fn details(gpu: &GpuAnalysis, detail: Detail) -> Vec<Section> {
    let id = &gpu.machine.id;
    let mut sections: Vec<Section> =
        gpu.selection.as_ref().map(|selection| reasons(id, selection)).into_iter().collect();
    for prediction in gpu.answers.iter().filter_map(|answer| answer.result.as_ref().ok()) {
        sections.push(cycles(id, prediction));
        sections.extend(explanation(Some(id), prediction, detail));
    }
    sections
}

/// The answers, one row each.
fn table(analysis: &Analysis) -> Table {
    let mut table = Table::new(&[
        ("GPU", "gpu"),
        ("time", "time_us"),
        ("models say", "band"),
        ("bound by", "limiter"),
        ("compute", "compute_share"),
        ("memory", "memory_share"),
        ("occupancy", "occupancy_share"),
        ("model", "model"),
    ]);
    let is_measured = analysis.measurement.measured.is_some();
    if is_measured {
        // Beside the time.
        table.columns.insert(2, Column::new("measured", "measured_us"));
        table.columns.insert(3, Column::new("error", "error_share"));
    }
    for gpu in &analysis.gpus {
        for answer in &gpu.answers {
            let mut cells = row(gpu, answer);
            if is_measured {
                let (time, error) = measured(analysis, gpu, answer).unwrap_or((Cell::Missing, Cell::Missing));
                cells.insert(2, time);
                cells.insert(3, error);
            }
            table.push(cells);
        }
    }
    table
}

/// The time that was measured on this GPU and how far the answer is off, as cells.
pub(super) fn measured(analysis: &Analysis, gpu: &GpuAnalysis, answer: &Answer) -> Option<(Cell, Cell)> {
    let (time, error) = comparison(analysis, gpu, answer)?;
    let error = error.map_or(Cell::Missing, |error| Cell::text(format!("{:+.1} %", 100.0 * error)));
    Some((Cell::Number(time.microseconds(), Unit::Microseconds), error))
}

/// The time that was measured on this GPU, and by which share of it the answer is off.
fn comparison(analysis: &Analysis, gpu: &GpuAnalysis, answer: &Answer) -> Option<(Seconds, Option<f64>)> {
    let time = analysis.measurement.measured.as_ref().filter(|measured| measured.is_of(&gpu.machine))?.time();
    let error = answer.result.as_ref().ok().and_then(|prediction| prediction.error(time));
    Some((time, error))
}

fn row(gpu: &GpuAnalysis, answer: &Answer) -> Vec<Cell> {
    let prediction = answer.result.as_ref().ok();
    let shares = gpu.used().filter(|_| prediction.is_some() && prediction == gpu.prediction());
    vec![
        Cell::text(&gpu.machine.id),
        Cell::optional(prediction.map(|prediction| prediction.seconds().microseconds()), Unit::Microseconds),
        gpu.band.map_or(Cell::Missing, |band| Cell::text(spread(band))),
        Cell::text(prediction.map_or("refused", |prediction| prediction.limiter().name())),
        Cell::optional(shares.map(|shares| shares.compute), Unit::Share),
        Cell::optional(shares.map(|shares| shares.memory), Unit::Share),
        Cell::optional(gpu.occupancy.as_ref().map(|occupancy| occupancy.share), Unit::Share),
        Cell::text(answer.model.name()),
    ]
}

fn spread(band: Band) -> String {
    let time = |seconds: Seconds| show(&Cell::Number(seconds.microseconds(), Unit::Microseconds));
    if band.n_models == 1 { "one model only".to_owned() } else { format!("{} to {}", time(band.low), time(band.high)) }
}

/// One row per answer with every digit: for programs.
pub fn rows(analyses: &[Analysis]) -> Section {
    let mut table = Table::new(&[
        ("kernel", "kernel"),
        ("GPU", "gpu"),
        ("model", "model"),
        ("time", "time_us"),
        ("cycles", "cycles"),
        ("bound by", "limiter"),
        ("low", "band_low_us"),
        ("high", "band_high_us"),
        ("compute", "compute_share"),
        ("memory", "memory_share"),
        ("occupancy", "occupancy_share"),
        ("refused", "refused"),
        ("measured", "measured_us"),
        ("error", "error_share"),
    ]);
    for analysis in analyses {
        for gpu in &analysis.gpus {
            for answer in &gpu.answers {
                let prediction = answer.result.as_ref().ok();
                let shares = gpu.used().filter(|_| prediction.is_some() && prediction == gpu.prediction());
                let comparison = comparison(analysis, gpu, answer);
                let microseconds = |time: Option<f64>| Cell::optional(time, Unit::Microseconds);
                table.push(vec![
                    Cell::text(&analysis.measurement.kernel.mangled),
                    Cell::text(&gpu.machine.id),
                    Cell::text(answer.model.name()),
                    microseconds(prediction.map(|prediction| prediction.seconds().microseconds())),
                    Cell::optional(prediction.map(|prediction| prediction.time.0), Unit::Cycles),
                    prediction.map_or(Cell::Missing, |prediction| Cell::text(prediction.limiter().name())),
                    microseconds(gpu.band.map(|band| band.low.microseconds())),
                    microseconds(gpu.band.map(|band| band.high.microseconds())),
                    Cell::optional(shares.map(|shares| shares.compute), Unit::Share),
                    Cell::optional(shares.map(|shares| shares.memory), Unit::Share),
                    Cell::optional(gpu.occupancy.as_ref().map(|occupancy| occupancy.share), Unit::Share),
                    answer.result.as_ref().err().map_or(Cell::Missing, |refusal| Cell::text(&refusal.reason)),
                    microseconds(comparison.map(|(time, _)| time.microseconds())),
                    Cell::optional(comparison.and_then(|(_, error)| error), Unit::Share),
                ]);
            }
        }
    }
    Section::new("predictions", "").with(Block::Table(table))
}

/// Models that gave no answer, with their reasons.
pub(super) fn refusals(analysis: &Analysis) -> Option<Section> {
    let refused = analysis.gpus.iter().flat_map(|gpu| {
        let refusals = gpu.answers.iter().filter_map(|answer| Some((answer.model, answer.result.as_ref().err()?)));
        refusals.map(|(model, refusal)| Field::new(format!("{} {model}", gpu.machine.id), reason(refusal)))
    });
    let fields: Vec<Field> = refused.collect();
    (!fields.is_empty()).then(|| Section::new("refusals", "Refused").with(Block::Fields(fields)))
}

fn reason(refusal: &Refusal) -> Cell {
    Cell::text(&refusal.reason)
}

/// Where the cycles of a prediction go.
fn cycles(gpu: &str, prediction: &Prediction) -> Section {
    let whole = prediction.time.0;
    let share = |cycles: f64| if whole > 0.0 { cycles / whole } else { 0.0 };
    let mut bars: Vec<(String, f64)> =
        prediction.terms.iter().map(|term| (label(term.name, term.resource), share(term.cycles.0))).collect();
    bars.retain(|(_, share)| *share > 0.0);
    let how = match prediction.combine {
        Combine::Max => "; these overlap, and the longest is the time",
        Combine::Overlapped => "; these overlap in part",
        Combine::Sum => "",
    };
    let cycles = show(&Cell::Number(whole, Unit::Cycles));
    let title = format!("Where the cycles go on {gpu} ({}, {cycles}{how})", prediction.model);
    let plot = Plot { title: String::new(), bars, unit: Unit::Share, full: Some(1.0) };
    Section::new("cycles", title).with(Block::Plot(plot))
}

fn label(name: &str, resource: Resource) -> String {
    if name == resource.name() { name.to_owned() } else { format!("{name} ({})", resource.name()) }
}

/// Quantities, assumptions and, on demand, parameters of a prediction.
pub fn explanation(gpu: Option<&str>, prediction: &Prediction, detail: Detail) -> Vec<Section> {
    let of = match gpu {
        Some(gpu) => format!("{} on {gpu}", prediction.model),
        None => prediction.model.to_string(),
    };
    let mut sections = Vec::new();
    let quantities: Vec<Field> = prediction
        .quantities
        .iter()
        .map(|quantity| Field::new(quantity.symbol.to_string(), Cell::Number(quantity.value, quantity.unit.into())))
        .collect();
    if !quantities.is_empty() {
        sections.push(Section::new("quantities", format!("Quantities of {of}")).with(Block::Fields(quantities)));
    }
    sections.extend(prediction.luo_suda().map(|walk| calculate_periods(&of, walk)));
    if let (Some(gpu), Some(simulated)) = (gpu, prediction.teg()) {
        sections.extend(simulation(gpu, &simulated.outcome, Size::Whole));
    }
    let assumptions = prediction.assumptions.iter().map(|said| format!("- {}", said.text));
    let assumptions: Vec<String> = assumptions.collect();
    if !assumptions.is_empty() {
        sections.push(Section::new("assumptions", format!("Assumptions of {of}")).note(assumptions.join("\n")));
    }
    if let Some(solved) = prediction.x_model() {
        sections.extend(x_model::sections(&of, solved));
    }
    if detail >= Detail::Parameters {
        let mut table =
            Table::new(&[("parameter", "parameter"), ("value", "value"), ("basis", "basis"), ("source", "source")]);
        for read in &prediction.parameters {
            table.push(vec![
                Cell::text(read.key.name()),
                measure(read.key, &read.value),
                Cell::text(read.basis.name()),
                Cell::text(&read.source),
            ]);
        }
        sections.push(Section::new("parameters", format!("Parameters read by {of}")).with(Block::Table(table)));
    }
    sections
}

/// What several models assume, each sentence once with the models that make it.
fn assumptions_side_by_side(gpu: &GpuAnalysis) -> Option<Section> {
    let answered = || gpu.answers.iter().filter_map(|answer| Some((answer.model, answer.result.as_ref().ok()?)));
    if answered().count() < 2 {
        return None;
    }
    let mut sentences: Vec<(&str, Vec<ModelId>)> = Vec::new();
    for (model, prediction) in answered() {
        for said in &prediction.assumptions {
            match sentences.iter_mut().find(|(text, _)| *text == said.text) {
                Some((_, models)) => models.push(model),
                None => sentences.push((&said.text, vec![model])),
            }
        }
    }
    let n = answered().count();
    let line = |(text, models): (&str, Vec<ModelId>)| match models.len() == n {
        true => format!("- all: {text}"),
        false => format!("- {}: {text}", list(&models)),
    };
    let lines: Vec<String> = sentences.into_iter().map(line).collect();
    let title = format!("What the models assume on {}", gpu.machine.id);
    (!lines.is_empty()).then(|| Section::new("assumptions", title).note(lines.join("\n")))
}

/// Periods that are listed, the longest.
const MOST_PERIODS: usize = 24;

/// The periods that take the most time, in program order.
fn calculate_periods(of: &str, walk: &Walk) -> Section {
    let time = |row: &WalkRow| row.executions * row.time.total();
    let mut longest: Vec<usize> = (0..walk.rows.len()).collect();
    longest.sort_by(|&left, &right| time(&walk.rows[right]).total_cmp(&time(&walk.rows[left])).then(left.cmp(&right)));
    let rest = longest.split_off(MOST_PERIODS.min(longest.len()));
    longest.sort_unstable();
    let mut table = Table::new(&[
        ("period", "period"),
        ("per warp", "executions"),
        ("type", "type"),
        ("c", "c_cycles"),
        ("m", "m_cycles"),
        ("MPD", "mpd"),
        ("T_c", "t_c_cycles"),
        ("T_p", "t_p_cycles"),
        ("T", "t_cycles"),
        ("share", "share"),
    ]);
    let whole = walk.cycles();
    let number = |value: f64| Cell::Number(value, Unit::One);
    for row in longest.iter().map(|&at| &walk.rows[at]) {
        table.push(vec![
            Cell::Count(row.period as u64),
            number(row.executions),
            Cell::Count(row.time.kind.number().into()),
            number(row.costs.c),
            number(row.costs.m),
            Cell::optional((row.costs.m > 0.0).then_some(row.costs.mpd), Unit::One),
            number(row.time.t_c),
            number(row.time.t_p),
            number(row.time.total()),
            Cell::optional((whole > 0.0).then(|| time(row) / whole), Unit::Share),
        ]);
    }
    let title = format!("Calculate periods of {of}, in cycles of a wave");
    let section = Section::new("calculate_periods", title).with(Block::Table(table));
    if rest.is_empty() {
        return section;
    }
    let share = rest.iter().map(|&at| time(&walk.rows[at])).sum::<f64>() / whole;
    section.note(format!("{} shorter ones are not listed: {:.1} % of the time.", rest.len(), 100.0 * share))
}

/// Why `auto` took a model.
fn reasons(gpu: &str, selection: &Selection) -> Section {
    let chosen = format!("{}, the first that answers; {}", selection.model, selection.model.model().rank_reason());
    let mut fields = vec![Field::new("auto takes", Cell::text(chosen))];
    fields.extend(
        selection
            .answered
            .iter()
            .map(|model| Field::new(format!("{model} answers"), Cell::text(model.model().rank_reason()))),
    );
    fields.extend(
        selection.refused.iter().map(|(model, refusal)| Field::new(format!("{model} refuses"), reason(refusal))),
    );
    Section::new("auto", format!("Choice of the model on {gpu}")).with(Block::Fields(fields))
}

/// What is said first where `auto` had to take another model than the one it prefers: who compares answers must know it.
pub(super) fn instead<'g>(gpus: impl Iterator<Item = &'g GpuAnalysis>) -> Option<Section> {
    others(gpus.filter_map(|gpu| {
        let selection = gpu.selection.as_ref().filter(|_| gpu.prediction().is_some())?;
        let (_, refusal) = selection.refused.iter().find(|(model, _)| *model == PREFERENCE[0])?;
        Some((gpu.machine.id.as_str(), selection.model, refusal.reason.as_str()))
    }))
}

/// The same of GPUs, the models that speak for them, and why the preferred one does not.
pub(super) fn others<'g>(gpus: impl Iterator<Item = (&'g str, ModelId, &'g str)>) -> Option<Section> {
    let mut sentences: Vec<(String, Vec<&str>)> = Vec::new();
    for (gpu, model, reason) in gpus {
        let sentence = format!("by {model}, not by {}: {reason}", PREFERENCE[0]);
        match sentences.iter_mut().find(|(known, _)| *known == sentence) {
            Some((_, gpus)) => gpus.push(gpu),
            None => sentences.push((sentence, vec![gpu])),
        }
    }
    let sentences = sentences.into_iter().map(|(sentence, gpus)| format!("{} {sentence}.", gpus.join(", ")));
    sentences.fold(None, |section, text| Some(section.unwrap_or_else(|| Section::new("instead", "")).note(text)))
}

/// `a`, `a and b`, `a, b and c`.
fn list(models: &[ModelId]) -> String {
    let names: Vec<&str> = models.iter().map(|model| model.name()).collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

fn notes(analysis: &Analysis, detail: Detail, next: Option<&str>) -> Section {
    let mut section = Section::new("notes", "");
    let statics = analysis.measurement.statics.as_ref();
    if let Some(statics) = statics {
        section = section.note(match statics.executed_ctas {
            0 => "Counts are static: the kernel was not run.".to_owned(),
            executed => format!(
                "Counts of {} blocks follow from {}, as nothing that decides depends on data; {executed} were executed, and \
                 --full executes all.",
                analysis.measurement.profile.launch.n_ctas(),
                statics.walked_ctas
            ),
        });
        section = profile::static_notes(statics, analysis.measurement.form()).into_iter().fold(section, Section::note);
    }
    let coverage = &analysis.measurement.profile.coverage;
    if coverage.ctas_executed < coverage.ctas_total {
        section = section.note(if coverage.spread.is_nan() {
            format!(
                "Counts are scaled from about {} of {} blocks, those that ran where the profiler counted.",
                coverage.ctas_executed, coverage.ctas_total
            )
        } else {
            format!(
                "Counts are scaled from {} of {} blocks, whose instructions differ by {:.1} %{}.",
                coverage.ctas_executed,
                coverage.ctas_total,
                100.0 * coverage.spread,
                if statics.is_some() { "" } else { "; --full executes all" }
            )
        });
    }
    section = match analysis
        .measurement
        .measured
        .as_ref()
        .filter(|measured| !analysis.gpus.iter().any(|gpu| measured.is_of(&gpu.machine)))
    {
        Some(measured) => {
            let time = show(&Cell::Number(measured.time_us, Unit::Microseconds));
            let of = measured.device.as_ref().or(measured.target.as_ref()).map_or("another GPU", String::as_str);
            section.note(format!("{} measured {time} on {of}.", measured.profiler))
        }
        None => section,
    };
    let assumptions = analysis.gpus.iter().filter_map(|gpu| gpu.prediction()).map(|answer| answer.assumptions.len());
    if let Some(most) = assumptions.max().filter(|&most| most > 0 && detail == Detail::Screen) {
        section =
            section.note(format!("Time of the GPU, without launch overhead; {most} assumptions and other models: -v."));
    }
    match next {
        Some(next) => section.with(Block::Command(next.to_owned())),
        None => section,
    }
}

/// A model evaluated on given numbers.
pub fn evaluation(
    model: &dyn Model,
    title: Option<&str>,
    gpu: Option<&str>,
    result: &Result<Prediction, Refusal>,
) -> Vec<Section> {
    let heading = title.map_or_else(|| model.name().to_owned(), str::to_owned);
    let mut fields = vec![Field::new("model", Cell::text(model.name()))];
    fields.extend(gpu.map(|gpu| Field::new("GPU", Cell::text(gpu))));
    match result {
        Ok(prediction) => {
            let microseconds = prediction.seconds().microseconds();
            fields.push(Field::new("time", Cell::Number(microseconds, Unit::Microseconds)));
            fields.push(Field::new("cycles", Cell::Number(prediction.time.0, Unit::Cycles)));
            fields.push(Field::new("bound by", Cell::text(prediction.limiter().name())));
            let mut sections = vec![Section::new("model", heading).with(Block::Fields(fields))];
            sections.extend(explanation(gpu, prediction, Detail::Quantities));
            sections
        }
        Err(refusal) => {
            let reasons: Vec<String> = refusal.reason.split("; ").map(|reason| format!("- {reason}")).collect();
            let mut section = Section::new("model", heading).with(Block::Fields(fields));
            section = section.note("refused:").note(reasons.join("\n"));
            if gpu.is_none() && !refusal.missing.is_empty() {
                section = section.note("A GPU supplies what describes the machine: --gpu NAME.");
            }
            vec![section]
        }
    }
}

/// Quantities of a prediction, one per row: for programs.
pub fn quantities(result: &Result<Prediction, Refusal>) -> Section {
    let mut table = Table::new(&[("quantity", "quantity"), ("value", "value"), ("unit", "unit")]);
    if let Ok(prediction) = result {
        let microseconds = prediction.seconds().microseconds();
        table.push(vec![Cell::text("time_us"), Cell::Number(microseconds, Unit::One), Cell::text("us")]);
        for quantity in &prediction.quantities {
            table.push(vec![
                Cell::text(quantity.symbol.to_string()),
                Cell::Number(quantity.value, Unit::One),
                Cell::text(quantity.unit.symbol()),
            ]);
        }
    }
    Section::new("quantities", "").with(Block::Table(table))
}
