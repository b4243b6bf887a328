//! Which GPU for a kernel.
//!
//! ```text
//! GPU      time      slower  per million runs  bound by
//! a100-80  64.29 us  86.7 %  26.8 EUR          load/store lanes
//! ```
//!
//! A price is that of the time on the GPU alone.

use warplens_base::units::Seconds;
use warplens_document::which::{self as document, Refused};
use warplens_document::{Id, Number};
use warplens_question::which::{Candidate, Which};

use crate::section::{Block, Cell, Column, Section, Table, Unit};

/// Runs that a price is told for: that of one is a number with many zeros.
const RUNS: f64 = 1e6;

/// The answer.
pub fn answer(which: &Which) -> Vec<Section> {
    let mut section = Section::new("which", which.kernels.join(", ")).with(Block::Table(table(which)));
    for (gpu, reason) in &which.refused {
        section = section.note(format!("{gpu} has no time: {reason}."));
    }
    let said = match which.currency {
        Some(_) => "Prices are of the time on the GPU alone: copies, launches and idle hours come on top.",
        None => "Time of the GPU, without launch overhead. --prices FILE.toml adds what a run costs.",
    };
    vec![section.note(said)]
}

/// The rows with every digit.
pub fn rows(which: &Which) -> Section {
    Section::new("which", "").with(Block::Table(table(which)))
}

fn table(which: &Which) -> Table {
    let mut table = Table::new(&[("GPU", "gpu"), ("name", "name"), ("time", "time_us"), ("slower", "slower_share")]);
    if let Some(currency) = &which.currency {
        let title = format!("{currency} per million runs");
        table.columns.push(Column::new(title.trim(), "price_per_million"));
    }
    table.columns.push(Column::new("bound by", "limiter"));
    table.columns.push(Column::new("model", "model"));
    for gpu in &which.gpus {
        let mut row = vec![
            Cell::text(&gpu.gpu),
            Cell::text(&gpu.name),
            Cell::Number(gpu.time.microseconds(), Unit::Microseconds),
            Cell::Number(gpu.slowdown - 1.0, Unit::Share),
        ];
        if which.currency.is_some() {
            row.push(Cell::optional(per_million(gpu), Unit::One));
        }
        row.push(Cell::text(gpu.limiter.name()));
        row.push(Cell::text(models(gpu).join(", ")));
        table.push(row);
    }
    table
}

fn per_million(gpu: &Candidate) -> Option<f64> {
    gpu.per_run.map(|price| price * RUNS)
}

fn models(gpu: &Candidate) -> Vec<String> {
    gpu.models.iter().map(|model| model.to_string()).collect()
}

/// The document of the `which` verb.
pub fn document(which: &Which) -> document::Which {
    let micro = |seconds: Seconds| Number(seconds.microseconds());
    let candidate = |gpu: &Candidate| document::Candidate {
        gpu: gpu.gpu.clone(),
        name: gpu.name.clone(),
        time_us: micro(gpu.time),
        range_low_us: gpu.range.map(|(low, _)| micro(low)),
        range_high_us: gpu.range.map(|(_, high)| micro(high)),
        slowdown: Number(gpu.slowdown),
        price_per_hour: gpu.per_hour.map(Number),
        price_per_million: per_million(gpu).map(Number),
        limiter: gpu.limiter.name().to_owned(),
        models: models(gpu),
    };
    let refused = which.refused.iter().map(|(gpu, reason)| Refused { gpu: gpu.clone(), reason: reason.clone() });
    document::Which {
        schema: Id::new(),
        kernels: which.kernels.clone(),
        currency: which.currency.clone(),
        gpus: which.gpus.iter().map(candidate).collect(),
        refused: refused.collect(),
    }
}
