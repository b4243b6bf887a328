//! Variants and GPUs side by side, and what makes the difference.

mod figures;

pub use figures::{PLOTS, PlotKind, figure};

use warplens_question::compare::{Baseline, Comparison, Entry, Explanation, SignMatrix, TermChange};
use warplens_question::tune::show_extents;

use super::predict::{self, Detail};
use crate::render::show;
use crate::section::{Block, Cell, Section, Table, Unit};

/// Differences that are explained on one screen.
const MOST_EXPLAINED: usize = 6;
/// A term that changes against the difference is named from this share of the first term's change on.
const NOTABLE: f64 = 0.1;

/// The comparison.
pub fn comparison(comparison: &Comparison, detail: Detail) -> Vec<Section> {
    let instead = comparison.instead.iter().map(|of| (of.gpu.as_str(), of.model, of.reason.as_str()));
    let mut sections: Vec<Section> = predict::others(instead).into_iter().collect();
    sections.push(Section::new("comparison", title(comparison)).with(Block::Table(table(comparison))));
    sections.extend(refusals(comparison));
    sections.extend(explanations(comparison, detail));
    if detail >= Detail::Quantities {
        sections.extend(comparison.explanations.iter().map(|explanation| terms(comparison, explanation)));
    }
    sections.extend(signs(comparison));
    sections.extend(notes(comparison));
    sections
}

fn title(comparison: &Comparison) -> String {
    match comparison.baseline {
        Baseline::Variant(variant) => format!("Against {}", comparison.variants[variant].name),
        Baseline::Gpu(gpu) => format!("Against {}", comparison.gpus[gpu].id),
    }
}

fn table(comparison: &Comparison) -> Table {
    let several_models = (0..comparison.gpus.len()).any(|gpu| comparison.models(gpu).len() > 1);
    let is_measured = comparison.entries.iter().any(|entry| entry.measured_us.is_some());
    let mut columns = vec![("variant", "variant"), ("GPU", "gpu"), ("time", "time_us"), ("speed-up", "speedup")];
    if is_measured {
        columns.push(("measured", "measured_us"));
    }
    columns.extend([
        ("bound by", "limiter"),
        ("occupancy", "occupancy_share"),
        ("instructions", "instructions"),
        ("requests", "requests"),
        ("transactions", "transactions"),
        ("moved", "bytes_moved"),
    ]);
    if several_models {
        columns.push(("model", "model"));
    }
    let mut table = Table::new(&columns);
    for entry in &comparison.entries {
        let mut row = vec![
            Cell::text(comparison.label(entry.variant)),
            Cell::text(&comparison.gpus[entry.gpu].id),
            Cell::optional(entry.time_us(), Unit::Microseconds),
            Cell::optional(entry.speedup, Unit::Named("x")),
        ];
        if is_measured {
            row.push(Cell::optional(entry.measured_us, Unit::Microseconds));
        }
        row.extend([
            Cell::text(limiter(entry)),
            Cell::optional(entry.occupancy, Unit::Share),
            count(entry.counts.instructions),
            count(entry.counts.requests),
            count(entry.counts.transactions),
            Cell::optional(entry.counts.bytes_moved.map(|bytes| bytes as f64), Unit::Bytes),
        ]);
        if several_models {
            row.push(Cell::text(entry.model));
        }
        table.push(row);
    }
    table
}

fn count(count: Option<u64>) -> Cell {
    count.map_or(Cell::Missing, Cell::Count)
}

fn limiter(entry: &Entry) -> &'static str {
    entry.result.as_ref().map_or("refused", |prediction| prediction.limiter().name())
}

/// One row per variant, GPU and model with every digit: for programs.
pub fn rows(comparison: &Comparison) -> Section {
    let mut table = Table::new(&[
        ("variant", "variant"),
        ("block", "block"),
        ("kernel", "kernel"),
        ("GPU", "gpu"),
        ("model", "model"),
        ("time", "time_us"),
        ("speed-up", "speedup"),
        ("measured", "measured_us"),
        ("bound by", "limiter"),
        ("occupancy", "occupancy_share"),
        ("instructions", "instructions"),
        ("requests", "requests"),
        ("transactions", "transactions"),
        ("moved", "bytes_moved"),
        ("conflicts", "conflict_wavefronts"),
        ("barriers", "barriers"),
        ("divergent", "divergent_branches"),
        ("independent", "independent_loads"),
        ("refused", "refused"),
    ]);
    for entry in &comparison.entries {
        let variant = &comparison.variants[entry.variant];
        table.push(vec![
            Cell::text(&variant.name),
            Cell::text(show_extents(variant.measurement.profile.launch.block)),
            Cell::text(&variant.measurement.kernel.mangled),
            Cell::text(&comparison.gpus[entry.gpu].id),
            Cell::text(entry.model),
            Cell::optional(entry.time_us(), Unit::Microseconds),
            Cell::optional(entry.speedup, Unit::One),
            Cell::optional(entry.measured_us, Unit::Microseconds),
            entry.result.as_ref().map_or(Cell::Missing, |_| Cell::text(limiter(entry))),
            Cell::optional(entry.occupancy, Unit::Share),
            count(entry.counts.instructions),
            count(entry.counts.requests),
            count(entry.counts.transactions),
            count(entry.counts.bytes_moved),
            count(entry.counts.conflict_wavefronts),
            count(entry.counts.barriers),
            count(entry.counts.divergent_branches),
            Cell::optional(entry.counts.independent_loads, Unit::One),
            entry.result.as_ref().err().map_or(Cell::Missing, Cell::text),
        ]);
    }
    Section::new("comparison", "").with(Block::Table(table))
}

fn refusals(comparison: &Comparison) -> Option<Section> {
    let refused = comparison.entries.iter().filter_map(|entry| {
        let reason = entry.result.as_ref().err()?;
        let name = format!("{} on {}, {}", comparison.label(entry.variant), comparison.gpus[entry.gpu].id, entry.model);
        Some(format!("- {name}: {reason}"))
    });
    let lines: Vec<String> = refused.collect();
    (!lines.is_empty()).then(|| Section::new("refusals", "Refused").note(lines.join("\n")))
}

fn explanations(comparison: &Comparison, detail: Detail) -> Option<Section> {
    let limit = if detail == Detail::Screen { MOST_EXPLAINED } else { usize::MAX };
    let lines: Vec<String> = comparison.explanations.iter().take(limit).map(|one| sentence(comparison, one)).collect();
    if lines.is_empty() {
        return None;
    }
    let mut section = Section::new("differences", "What makes the difference").note(lines.join("\n"));
    let more = comparison.explanations.len().saturating_sub(limit);
    if more > 0 {
        section = section.note(format!("... and {more} more; -v shows them with their terms."));
    }
    Some(section)
}

/// The difference in words: how much, the first term, the counts and parameters behind it.
fn sentence(comparison: &Comparison, explanation: &Explanation) -> String {
    let name = match comparison.baseline {
        Baseline::Variant(_) if comparison.gpus.len() == 1 => comparison.label(explanation.variant),
        Baseline::Gpu(_) if comparison.variants.len() == 1 => comparison.gpus[explanation.gpu].id.clone(),
        _ => format!("{} on {}", comparison.label(explanation.variant), comparison.gpus[explanation.gpu].id),
    };
    let mut text = format!("- {name}: {}", factor(explanation.before_us, explanation.after_us));
    let Some(term) = explanation.terms.first().filter(|term| term.change_us() != 0.0) else { return text + "." };
    let time = |time: f64| show(&Cell::Number(time, Unit::Microseconds));
    let resource = term.resource.name();
    let of = if term.name == resource { String::new() } else { format!(" ({resource})") };
    text.push_str(&format!("; {}{of} {} -> {}", term.name, time(term.before_us), time(term.after_us)));
    if let Some(share) = explanation.share().filter(|share| *share <= 1.0) {
        text.push_str(&format!(", {:.0} % of the difference", 100.0 * share));
    }
    let against = |other: &&TermChange| other.change_us() * term.change_us() < 0.0;
    let largest = |left: &&TermChange, right: &&TermChange| left.change_us().abs().total_cmp(&right.change_us().abs());
    if let Some(other) = explanation.terms.iter().filter(against).max_by(largest)
        && other.change_us().abs() > NOTABLE * term.change_us().abs()
    {
        text.push_str(&format!("; against it {} {} -> {}", other.name, time(other.before_us), time(other.after_us)));
    }
    for count in explanation.counts.iter().take(2) {
        text.push_str(&format!(
            "; {} {} -> {}",
            count.name,
            shown(count.name, count.before),
            shown(count.name, count.after)
        ));
    }
    for parameter in explanation.parameters.iter().take(2) {
        let value = |value: f64| show(&Cell::Number(value, unit(parameter.unit.symbol())));
        text.push_str(&format!("; {} {} -> {}", parameter.name, value(parameter.before), value(parameter.after)));
    }
    text + "."
}

fn factor(before: f64, after: f64) -> String {
    let times = |ratio: f64| show(&Cell::Number(ratio, Unit::Named("x")));
    if before == after {
        "as fast".to_owned()
    } else if before > after {
        format!("{} faster", times(before / after))
    } else {
        format!("{} slower", times(after / before))
    }
}

/// A count as people read it, in one piece.
fn shown(name: &str, value: f64) -> String {
    let text = match name {
        "occupancy" => show(&Cell::Number(value, Unit::Share)),
        "bytes moved" => show(&Cell::Number(value, Unit::Bytes)),
        "independent loads" => show(&Cell::Number(value, Unit::One)),
        _ => show(&Cell::Count(value as u64)),
    };
    text.replace(' ', "\u{a0}")
}

fn unit(symbol: &'static str) -> Unit {
    match symbol {
        "" => Unit::One,
        "B" => Unit::Bytes,
        "B/s" => Unit::BytesPerSecond,
        "Hz" => Unit::Hertz,
        "s" => Unit::Seconds,
        "cycles" => Unit::Cycles,
        other => Unit::Named(other),
    }
}

/// Every term before and after.
fn terms(comparison: &Comparison, explanation: &Explanation) -> Section {
    let mut table = Table::new(&[
        ("term", "term"),
        ("bound by", "resource"),
        ("before", "before_us"),
        ("after", "after_us"),
        ("change", "change_us"),
    ]);
    for term in &explanation.terms {
        table.push(vec![
            Cell::text(term.name),
            Cell::text(term.resource.name()),
            Cell::Number(term.before_us, Unit::Microseconds),
            Cell::Number(term.after_us, Unit::Microseconds),
            Cell::Number(term.change_us(), Unit::Microseconds),
        ]);
    }
    let title = format!(
        "Terms of {} on {} ({})",
        comparison.label(explanation.variant),
        comparison.gpus[explanation.gpu].id,
        explanation.model
    );
    Section::new("terms", title).with(Block::Table(table))
}

/// The sign plot as text: where two variants are compared the table above says as much.
fn signs(comparison: &Comparison) -> Vec<Section> {
    let is_wanted = |matrix: &&SignMatrix| matrix.variants.len() > 2 || matrix.agreement.is_some();
    comparison.signs.iter().filter(is_wanted).map(|matrix| sign_table(comparison, matrix)).collect()
}

fn sign_table(comparison: &Comparison, matrix: &SignMatrix) -> Section {
    let names: Vec<&str> = matrix.variants.iter().map(|&variant| comparison.variants[variant].name.as_str()).collect();
    let columns: Vec<(&str, &str)> =
        std::iter::once(("row against column", "variant")).chain(names.iter().map(|name| (*name, *name))).collect();
    let mut table = Table::new(&columns);
    for (row, name) in names.iter().enumerate() {
        let cells =
            (0..names.len()).map(|column| match (matrix.predicted[row][column], matrix.measured[row][column]) {
                _ if row == column => Cell::text(""),
                (own, Some(measured)) => Cell::text(format!("{} ({})", sign(own), sign(Some(measured)))),
                (own, None) => Cell::text(sign(own)),
            });
        table.push(std::iter::once(Cell::text(*name)).chain(cells).collect());
    }
    let block = matrix.block.map(|block| format!(", block {}", show_extents(block))).unwrap_or_default();
    let title = format!("Faster (+1) or slower (-1) on {}{block} ({})", comparison.gpus[matrix.gpu].id, matrix.model);
    let section = Section::new("signs", title).with(Block::Table(table));
    let band = show(&Cell::Number(comparison.band, Unit::Share));
    match matrix.agreement {
        Some(agreement) => section.note(format!(
            "In parentheses: as measured. {} of {} pairs have the measured sign; 0 is equal within {band}.",
            agreement.n_same, agreement.n_pairs
        )),
        None => section.note(format!("0 is equal within {band}.")),
    }
}

fn sign(sign: Option<i8>) -> &'static str {
    match sign {
        None => "-",
        Some(0) => "0",
        Some(1) => "+1",
        Some(_) => "-1",
    }
}

fn notes(comparison: &Comparison) -> Option<Section> {
    let mut section = Section::new("notes", "");
    let one_model = (0..comparison.gpus.len()).map(|gpu| comparison.models(gpu)).collect::<Vec<_>>();
    if let Some([model]) = one_model.first().map(Vec::as_slice)
        && one_model.iter().all(|models| models.as_slice() == [*model])
    {
        section = section.note(format!("Times are of the model {model}, without launch overhead."));
    }
    let in_part = comparison.variants.iter().filter(|variant| {
        let coverage = &variant.measurement.profile.coverage;
        coverage.ctas_executed < coverage.ctas_total
    });
    let in_part: Vec<String> = in_part.map(|variant| variant.label()).collect();
    if !in_part.is_empty() {
        section =
            section.note(format!("Executed in part, counts scaled: {}; --full executes all.", in_part.join(", ")));
    }
    let unlike: Vec<String> =
        comparison.unlike_code().into_iter().map(|(name, code)| format!("{name} ({code})")).collect();
    if !unlike.is_empty() {
        section = section.note(format!(
            "Different code was counted, so that numbers of instructions do not compare: {}.",
            unlike.join(", ")
        ));
    }
    if comparison.n_ignored > 0 {
        section = section.note(format!("Measured times of nothing that is compared: {}.", comparison.n_ignored));
    }
    (!section.blocks.is_empty()).then_some(section)
}
