//! What-if questions: each model's answer before and after.
//!
//! ```text
//! GPU   model     before    after     speed-up  bound by                        occupancy
//! h200  analyzer  13.64 us  7.102 us     1.921  DRAM latency -> DRAM bandwidth     100.0 %
//! ```
//!
//! *speed-up* is time before over time after; an arrow shows what changes.

use warplens_question::whatif::{GpuPrices, GpuWhatIf, ModelWhatIf, Price, Prices, WhatIf};
use warplens_session::machines::Machine;
use warplens_session::predict::{GpuAnalysis, ModelId, Prediction};

use super::{predict, profile};
use crate::render::show;
use crate::section::{Block, Cell, Field, Section, Table, Unit};

/// The answer to one question about one launch.
pub fn answer(answer: &WhatIf) -> Vec<Section> {
    let before = answer.gpus.iter().map(|gpu| &gpu.before);
    let mut sections: Vec<Section> = predict::instead(before).into_iter().collect();
    sections.extend(profile::unsupported(&answer.measurement.support));
    let mut asked = vec![Field::new("what if", Cell::text(answer.scenario.texts.join(", ")))];
    if let Some(shape) = &answer.ran_again {
        let extents = format!("grid {}, block {}", profile::extents(shape.grid), profile::extents(shape.block));
        asked.push(Field::new("ran again", Cell::text(extents)));
    }
    let section = Section::new("question", profile::title(&answer.measurement)).with(Block::Fields(asked));
    sections.push(section.with(Block::Table(table(answer))));
    for gpu in &answer.gpus {
        sections.extend(gpu.models.iter().filter_map(|model| terms(&gpu.before.machine, model)));
    }
    let notes = notes(answer);
    if !notes.is_empty() {
        sections.push(Section::new("notes", "").note(notes.join("\n")));
    }
    sections
}

fn table(answer: &WhatIf) -> Table {
    let mut table = Table::new(&[
        ("GPU", "gpu"),
        ("model", "model"),
        ("before", "before_us"),
        ("after", "after_us"),
        ("speed-up", "speedup"),
        ("bound by", "limiter"),
        ("occupancy", "occupancy_share"),
    ]);
    for gpu in &answer.gpus {
        for model in &gpu.models {
            let after = model.after.as_ref().and_then(|after| after.as_ref().ok());
            table.push(vec![
                Cell::text(&gpu.before.machine.id),
                Cell::text(model.model),
                time(model.before.as_ref().ok()),
                time(after),
                Cell::optional(model.speedup(), Unit::One),
                Cell::text(arrow(limiter(model.before.as_ref().ok()), limiter(after))),
                Cell::text(arrow(occupancy(&gpu.before), gpu.after.as_ref().map_or("-".into(), occupancy))),
            ]);
        }
    }
    table
}

fn time(prediction: Option<&Prediction>) -> Cell {
    Cell::optional(prediction.map(|prediction| prediction.seconds().microseconds()), Unit::Microseconds)
}

fn limiter(prediction: Option<&Prediction>) -> String {
    prediction.map_or("refused", |prediction| prediction.limiter().name()).to_owned()
}

fn occupancy(gpu: &GpuAnalysis) -> String {
    show(&Cell::optional(gpu.occupancy.as_ref().map(|occupancy| occupancy.share), Unit::Share))
}

fn arrow(before: String, after: String) -> String {
    if before == after { before } else { format!("{before} -> {after}") }
}

/// Terms of one model before and after.
fn terms(machine: &Machine, model: &ModelWhatIf) -> Option<Section> {
    let (Ok(before), Some(Ok(after))) = (&model.before, &model.after) else { return None };
    if before.terms == after.terms {
        return None;
    }
    let mut table = Table::new(&[("term", "term"), ("before", "before_us"), ("after", "after_us")]);
    let mut names: Vec<&str> = before.terms.iter().map(|term| term.name).collect();
    names.extend(after.terms.iter().map(|term| term.name).filter(|name| !before.terms.iter().any(|t| t.name == *name)));
    // Clocks may differ, so terms are compared as times.
    let of = |prediction: &Prediction, name: &str| {
        let term = prediction.terms.iter().find(|term| term.name == name);
        term.map_or(0.0, |term| term.cycles.at(prediction.clock).microseconds())
    };
    for name in names {
        let (before, after) = (of(before, name), of(after, name));
        if before > 0.0 || after > 0.0 {
            table.push(vec![
                Cell::text(name),
                Cell::Number(before, Unit::Microseconds),
                Cell::Number(after, Unit::Microseconds),
            ]);
        }
    }
    let title = format!("Terms of {} on {}", model.model, machine.id);
    Some(Section::new("terms", title).with(Block::Table(table)))
}

fn notes(answer: &WhatIf) -> Vec<String> {
    let mut notes = Vec::new();
    let mut add = |note: String| {
        if !notes.contains(&note) {
            notes.push(note);
        }
    };
    for gpu in &answer.gpus {
        if let Err(why) = &gpu.after {
            add(format!("{}: {why}", gpu.before.machine.id));
        }
        gpu.warnings.iter().for_each(|warning| add(format!("{}: {warning}", gpu.before.machine.id)));
        for model in &gpu.models {
            model.notes.iter().for_each(|note| add(note.clone()));
            let refusals = [model.before.as_ref().err(), model.after.as_ref().and_then(|after| after.as_ref().err())];
            let refusal = refusals.into_iter().flatten().next();
            if let Some(refusal) = refusal {
                add(format!("{} {}: {}", gpu.before.machine.id, model.model, refusal.reason));
            }
        }
    }
    notes
}

/// One row per GPU and model with every digit: for programs.
pub fn rows(answers: &[WhatIf]) -> Section {
    let mut table = Table::new(&[
        ("kernel", "kernel"),
        ("GPU", "gpu"),
        ("model", "model"),
        ("before", "before_us"),
        ("after", "after_us"),
        ("speed-up", "speedup"),
        ("bound by before", "limiter_before"),
        ("bound by after", "limiter_after"),
        ("occupancy before", "occupancy_before_share"),
        ("occupancy after", "occupancy_after_share"),
        ("notes", "notes"),
    ]);
    for answer in answers {
        for gpu in &answer.gpus {
            for model in &gpu.models {
                table.push(row(answer, gpu, model));
            }
        }
    }
    Section::new("whatif", "").with(Block::Table(table))
}

fn row(answer: &WhatIf, gpu: &GpuWhatIf, model: &ModelWhatIf) -> Vec<Cell> {
    let before = model.before.as_ref().ok();
    let after = model.after.as_ref().and_then(|after| after.as_ref().ok());
    let bound = |prediction: Option<&Prediction>| {
        prediction.map_or(Cell::Missing, |prediction| Cell::text(prediction.limiter().name()))
    };
    let share = |gpu: Option<&GpuAnalysis>| {
        Cell::optional(gpu.and_then(|gpu| Some(gpu.occupancy.as_ref()?.share)), Unit::Share)
    };
    vec![
        Cell::text(&answer.measurement.kernel.mangled),
        Cell::text(&gpu.before.machine.id),
        Cell::text(model.model),
        time(before),
        time(after),
        Cell::optional(model.speedup(), Unit::One),
        bound(before),
        bound(after),
        share(Some(&gpu.before)),
        share(gpu.after.as_ref().ok()),
        Cell::text(model.notes.join("; ")),
    ]
}

/// What each effect costs.
pub fn prices(prices: &Prices) -> Vec<Section> {
    let mut sections: Vec<Section> = predict::instead(prices.gpus.iter().map(|gpu| &gpu.before)).into_iter().collect();
    sections.extend(profile::unsupported(&prices.measurement.support));
    sections.push(Section::new("question", profile::title(&prices.measurement)));
    for gpu in &prices.gpus {
        let mut models: Vec<ModelId> = gpu.prices.iter().map(|price| price.model).collect();
        models.dedup();
        sections.extend(models.into_iter().map(|model| price_table(gpu, model)));
        for answer in &gpu.before.answers {
            if let Err(refusal) = &answer.result {
                let note = format!("{} {}: {}", gpu.before.machine.id, answer.model, refusal.reason);
                sections.push(Section::new("refusals", "").note(note));
            }
        }
    }
    sections
}

fn price_table(gpu: &GpuPrices, model: ModelId) -> Section {
    let mut table = Table::new(&[
        ("without", "effect"),
        ("time", "after_us"),
        ("speed-up", "speedup"),
        ("costs", "cost_cycles"),
        ("of the time", "share"),
        ("bound by", "limiter"),
        ("", "note"),
    ]);
    let of_model: Vec<&Price> = gpu.prices.iter().filter(|price| price.model == model).collect();
    for price in &of_model {
        let after = price.after.as_ref().ok();
        let why = price.after.as_ref().err().or(price.note.as_ref());
        table.push(vec![
            Cell::text(name(price)),
            time(after),
            Cell::optional(price.speedup(), Unit::One),
            Cell::optional(price.cycles(), Unit::Cycles),
            Cell::optional(price.share(), Unit::Share),
            Cell::text(limiter(after)),
            Cell::text(why.map_or("", String::as_str)),
        ]);
    }
    let before = of_model.first().map_or(Cell::Missing, |price| time(Some(&price.before)));
    let title =
        format!("What each effect costs on {} ({model}, {} with all of them)", gpu.before.machine.id, show(&before));
    Section::new("prices", title).with(Block::Table(table))
}

fn name(price: &Price) -> &'static str {
    price.effect.map_or("all that cost time", |effect| effect.name())
}

/// One row per GPU, model and effect with every digit: for programs.
pub fn price_rows(prices: &[Prices]) -> Section {
    let mut table = Table::new(&[
        ("kernel", "kernel"),
        ("GPU", "gpu"),
        ("model", "model"),
        ("without", "effect"),
        ("before", "before_us"),
        ("after", "after_us"),
        ("speed-up", "speedup"),
        ("costs", "cost_cycles"),
        ("of the time", "share"),
        ("bound by", "limiter_after"),
        ("note", "note"),
    ]);
    for launch in prices {
        for gpu in &launch.gpus {
            for price in &gpu.prices {
                let after = price.after.as_ref().ok();
                let note = price.after.as_ref().err().or(price.note.as_ref());
                table.push(vec![
                    Cell::text(&launch.measurement.kernel.mangled),
                    Cell::text(&gpu.before.machine.id),
                    Cell::text(price.model),
                    Cell::text(name(price)),
                    time(Some(&price.before)),
                    time(after),
                    Cell::optional(price.speedup(), Unit::One),
                    Cell::optional(price.cycles(), Unit::Cycles),
                    Cell::optional(price.share(), Unit::Share),
                    after.map_or(Cell::Missing, |after| Cell::text(after.limiter().name())),
                    Cell::text(note.map_or("", String::as_str)),
                ]);
            }
        }
    }
    Section::new("prices", "").with(Block::Table(table))
}
