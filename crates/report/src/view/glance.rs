//! The answer in one look.
//!
//! ```text
//! matmul_tiled on h200  grid 32x32, block 16x16
//!   time       52.32 us  (teg)
//!   bound by   waiting for shared memory and special functions (load/store lanes): 37.0 % of the time
//!   line       matmul_tiled.cu:26 (ld.shared.f32): 84.1 % of that
//!   cycles     shared memory and special functions 37.0 %, memory 26.7 %, issuing 23.9 %, barriers 10.9 %
//!   occupancy  66.7 % achieved, 100.0 % possible (43 of 64 warps); 132 of 132 SMs
//!   DRAM       95.3 GB/s of 4.8 TB/s (2.0 %)
//!   compute    5.13 TFLOP/s fp32 of 66.9 TFLOP/s (7.7 %)
//!   busiest    issue slots 23.9 %
//! ```
//!
//! *cycles* add up to the time unless it says that they overlap, and the first of them is what bounds the kernel; *line* is
//! the one with most of that. Several GPUs are rows of tables with the same columns.

use warplens_question::glance::{Glance, Rate, Slice, WaitLine, Warps};
use warplens_session::Analysis;
use warplens_session::predict::{Combine, GpuAnalysis, Range, Resource};

use super::{predict, profile};
use crate::render::show;
use crate::section::{Block, Cell, Field, Section, Table, Unit};

/// Parts of the time that are smaller are not named.
const LEAST_SLICE: f64 = 0.005;

/// The answer on all GPUs.
pub fn answer(analysis: &Analysis, glances: &[Glance]) -> Vec<Section> {
    let title = profile::title(&analysis.measurement);
    match (glances, analysis.gpus.as_slice()) {
        ([glance], [gpu]) => {
            let (kernel, launch) = title.split_once("  ").unwrap_or((&title, ""));
            let section = Section::new("predictions", format!("{kernel} on {}  {launch}", glance.gpu));
            vec![section.with(Block::Fields(fields(analysis, gpu, glance)))]
        }
        ([], _) => vec![Section::new("predictions", title)],
        (several, _) => vec![
            executed(several, Section::new("predictions", title).with(Block::Table(answers(analysis, several)))),
            Section::new("use", "How much of each GPU is used").with(Block::Table(used(several))),
            Section::new("cycles", "Where the cycles go").with(Block::Table(cycles(several))),
        ],
    }
}

/// With a note on the codes that were executed and simulated, each with its GPUs.
fn executed(glances: &[Glance], section: Section) -> Section {
    let mut codes: Vec<(String, Vec<&str>)> = Vec::new();
    for glance in glances {
        let Some(code) = glance.code.as_ref().map(ToString::to_string) else { continue };
        match codes.iter_mut().find(|(known, _)| *known == code) {
            Some((_, gpus)) => gpus.push(&glance.gpu),
            None => codes.push((code, vec![&glance.gpu])),
        }
    }
    let of = |(code, gpus): &(String, Vec<&str>)| match glances.len() == gpus.len() {
        true => code.clone(),
        false => format!("{code} ({})", gpus.join(", ")),
    };
    match codes.as_slice() {
        [] => section,
        codes => {
            section.note(format!("Executed and simulated: {}.", codes.iter().map(of).collect::<Vec<_>>().join("; ")))
        }
    }
}

fn fields(analysis: &Analysis, gpu: &GpuAnalysis, glance: &Glance) -> Vec<Field> {
    let time = Cell::Number(glance.time.microseconds(), Unit::Microseconds);
    let mut fields = vec![Field::new("time", time).remark(glance.model.name())];
    fields.extend(glance.code.as_ref().map(|code| Field::new("code", Cell::text(code.to_string()))));
    fields
        .extend(glance.range.as_ref().map(|range| Field::new("range", Cell::text(spread(range))).remark(held(range))));
    if let Some((measured, error)) = measured(analysis, gpu) {
        let field = Field::new("measured", measured);
        fields.push(match error {
            Cell::Text(error) => field.remark(format!("error {error}")),
            _ => field,
        });
    }
    fields.push(Field::new("bound by", Cell::text(bound(glance))));
    fields.extend(glance.line.as_ref().map(|line| Field::new("line", Cell::text(blamed(glance, line)))));
    fields.push(Field::new("cycles", Cell::text(slices(glance))));
    fields.extend(glance.warps.map(|warps| Field::new("occupancy", Cell::text(occupancy(&warps, glance.sms)))));
    fields.extend(glance.dram.map(|rate| Field::new("DRAM", Cell::text(of_peak(&rate, Unit::BytesPerSecond, "")))));
    fields.extend(glance.flops.map(|(kind, rate)| {
        let text = of_peak(&rate, Unit::FlopPerSecond, &format!(" {}", kind.name()));
        Field::new("compute", Cell::text(text))
    }));
    fields.extend(
        glance.busiest.map(|(resource, share)| {
            Field::new("busiest", Cell::text(format!("{} {}", resource.name(), percent(share))))
        }),
    );
    fields
}

fn answers(analysis: &Analysis, glances: &[Glance]) -> Table {
    let has_range = glances.iter().any(|glance| glance.range.is_some());
    let has_measured = analysis.gpus.iter().any(|gpu| measured(analysis, gpu).is_some());
    let mut columns = vec![("GPU", "gpu"), ("time", "time_us")];
    columns.extend(has_range.then_some(("range", "range")));
    if has_measured {
        columns.extend([("measured", "measured_us"), ("error", "error_share")]);
    }
    columns.extend([("bound by", "limiter"), ("share", "bound_share"), ("line", "line")]);
    let mut table = Table::new(&columns);
    for glance in glances {
        let mut row = vec![Cell::text(&glance.gpu), Cell::Number(glance.time.microseconds(), Unit::Microseconds)];
        row.extend(has_range.then(|| glance.range.as_ref().map_or(Cell::Missing, |range| Cell::text(spread(range)))));
        if has_measured {
            let gpu = analysis.gpus.iter().find(|gpu| gpu.machine.id == glance.gpu);
            let (time, error) = gpu.and_then(|gpu| measured(analysis, gpu)).unwrap_or((Cell::Missing, Cell::Missing));
            row.extend([time, error]);
        }
        let line = glance.line.as_ref();
        let bound = &glance.bound;
        row.extend([
            Cell::text(bound.resource.name()),
            Cell::Number(bound.share, Unit::Share),
            line.map_or(Cell::Missing, |line| Cell::text(glance.place(line))),
        ]);
        table.push(row);
    }
    table
}

fn used(glances: &[Glance]) -> Table {
    let mut table = Table::new(&[
        ("GPU", "gpu"),
        ("occupancy", "achieved_occupancy_share"),
        ("SMs", "sms"),
        ("DRAM (of peak)", "dram"),
        ("compute (of peak)", "compute"),
    ]);
    for glance in glances {
        let reached = |rate: Option<Rate>, unit: Unit| {
            let share =
                rate.and_then(|rate| rate.share()).map_or_else(String::new, |share| format!(" ({})", percent(share)));
            rate.map_or(Cell::Missing, |rate| Cell::text(show(&Cell::Number(rate.per_second, unit)) + &share))
        };
        table.push(vec![
            Cell::text(&glance.gpu),
            Cell::optional(glance.warps.map(|warps| warps.share()), Unit::Share),
            glance.sms.map_or(Cell::Missing, |(used, all)| Cell::text(format!("{used} of {all}"))),
            reached(glance.dram, Unit::BytesPerSecond),
            reached(glance.flops.map(|(_, rate)| rate), Unit::FlopPerSecond),
        ]);
    }
    table
}

fn cycles(glances: &[Glance]) -> Table {
    let mut table = Table::new(&[("GPU", "gpu"), ("shares of the time, the largest bounds", "cycles")]);
    for glance in glances {
        table.push(vec![Cell::text(&glance.gpu), Cell::text(slices(glance))]);
    }
    table
}

fn measured(analysis: &Analysis, gpu: &GpuAnalysis) -> Option<(Cell, Cell)> {
    let answer = gpu.answers.iter().find(|answer| answer.result.as_ref().ok() == gpu.prediction())?;
    predict::measured(analysis, gpu, answer)
}

fn spread(range: &Range) -> String {
    let time = |time: f64| show(&Cell::Number(time, Unit::Microseconds));
    format!("{} to {}", time(range.low.microseconds()), time(range.high.microseconds()))
}

fn held(range: &Range) -> String {
    let mut text = format!("held {} of {} validated rows", percent(range.held), range.n_rows);
    if let Some((n_others, share)) = range.others {
        text.push_str(&format!(" and {} of {n_others} others", percent(share)));
    }
    format!("{text}: {}", range.class)
}

fn percent(share: f64) -> String {
    show(&Cell::Number(share, Unit::Share))
}

fn bound(glance: &Glance) -> String {
    let bound = &glance.bound;
    match glance.combine {
        Combine::Max => format!("{}: the longest of what overlaps", bound.full_name()),
        Combine::Sum | Combine::Overlapped => format!("{}: {} of the time", bound.full_name(), percent(bound.share)),
    }
}

fn slices(glance: &Glance) -> String {
    let named = glance.slices.iter().filter(|slice| slice.share >= LEAST_SLICE);
    let named = named.map(|slice: &Slice| format!("{} {}", slice.short_name(), percent(slice.share)));
    let named = named.collect::<Vec<_>>().join(", ");
    match glance.combine {
        Combine::Sum => named,
        Combine::Max => format!("{named}; these overlap"),
        Combine::Overlapped => format!("{named}; these overlap in part"),
    }
}

/// The line with the opcode that stands there.
fn blamed(glance: &Glance, line: &WaitLine) -> String {
    let opcode = line.text.split_whitespace().find(|word| !word.starts_with('@'));
    let opcode = opcode.map_or_else(String::new, |opcode| format!(" ({})", opcode.trim_end_matches(';')));
    // No line makes a launch.
    let of = if glance.bound.resource == Resource::Launch { "what comes next" } else { "that" };
    format!("{}{opcode}: {} of {of}", glance.place(line), percent(line.share))
}

fn occupancy(warps: &Warps, sms: Option<(u64, u64)>) -> String {
    let number = |number: f64| show(&Cell::Number(number, Unit::One));
    let possible = percent(warps.possible());
    let mut text = match warps.achieved {
        Some(achieved) => format!(
            "{} achieved, {possible} possible ({} of {} warps)",
            percent(warps.share()),
            // A tenth of a warp matters where there are few.
            if achieved < 10.0 { format!("{achieved:.1}") } else { format!("{achieved:.0}") },
            number(warps.slots)
        ),
        None => format!("{possible} possible ({} of {} warps)", warps.fit, number(warps.slots)),
    };
    if let Some((used, all)) = sms {
        text.push_str(&format!("; {used} of {all} SMs"));
    }
    text
}

fn of_peak(rate: &Rate, unit: Unit, what: &str) -> String {
    let shown = |number: f64| show(&Cell::Number(number, unit));
    let reached = format!("{}{what}", shown(rate.per_second));
    match (rate.peak, rate.share()) {
        (Some(peak), Some(share)) => format!("{reached} of {} ({})", shown(peak), percent(share)),
        _ => reached,
    }
}
