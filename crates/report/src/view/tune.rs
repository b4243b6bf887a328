//! Points of a search, best first, with what bounds each and which cannot be told apart.

mod figures;

pub use figures::heat_map;

use warplens_question::tune::{Candidate, Check, Method, RESOLUTION, Ranking, Tuning, show_extents};
use warplens_session::predict::ModelId;

use super::predict::{self, Detail};
use crate::render::show;
use crate::section::{Block, Cell, Section, Table, Unit};

/// Points of a GPU on one screen.
const SHOWN: usize = 10;

/// The ranking.
pub fn ranking(tuning: &Tuning, detail: Detail) -> Vec<Section> {
    let instead = tuning.rankings.iter().filter_map(|of| Some((of.gpu.as_str(), of.model?, of.instead.as_deref()?)));
    let mut sections: Vec<Section> = predict::others(instead).into_iter().collect();
    for (gpu, ranking) in tuning.rankings.iter().enumerate() {
        sections.push(one_gpu(tuning, gpu, ranking, detail));
    }
    sections.extend(compromise(tuning));
    sections.extend(impossible(tuning));
    sections.push(notes(tuning));
    sections
}

/// What is ranked: the kernel, unless several inputs have one each.
fn kernel(tuning: &Tuning) -> &str {
    let several = tuning.dimensions.iter().any(|dimension| matches!(dimension.name.as_str(), "input" | "kernel"));
    tuning.kernel.as_ref().filter(|_| !several).map_or("Points", |kernel| kernel.base())
}

fn one_gpu(tuning: &Tuning, gpu: usize, ranking: &Ranking, detail: Detail) -> Section {
    let Some(model) = ranking.model else {
        return Section::new("ranking", format!("{} on {}", kernel(tuning), ranking.gpu)).note("No point has a time.");
    };
    let title = format!("{} on {} ({model})", kernel(tuning), ranking.gpu);
    let mut columns = vec![("rank", "rank")];
    columns.extend(tuning.dimensions.iter().map(|dimension| (dimension.name.as_str(), dimension.name.as_str())));
    columns.extend([
        ("blocks", "grid"),
        ("time", "time_us"),
        ("slower", "slower_share"),
        ("bound by", "limiter"),
        ("occupancy", "occupancy_share"),
    ]);
    if tuning.is_checked {
        columns.push(("outputs", "outputs"));
    }
    let mut table = Table::new(&columns);
    let limit = if detail == Detail::Screen { SHOWN } else { usize::MAX };
    let best = ranking.order.first().and_then(|&at| tuning.candidates[at].answer(gpu, model)).map(|(time, _)| time);
    for (at, &own) in ranking.order.iter().take(limit).enumerate() {
        let candidate = &tuning.candidates[own];
        let is_tied = ranking.tied.len() > 1 && ranking.tied.contains(&own);
        let mut row = vec![Cell::text(if is_tied { format!("{} =", at + 1) } else { (at + 1).to_string() })];
        row.extend(tuning.dimensions.iter().map(|one| Cell::text(&one.values[candidate.choices[one.position]])));
        row.extend(answer(candidate, gpu, model, best));
        if tuning.is_checked {
            row.push(candidate.check.as_ref().map_or(Cell::Missing, |check| Cell::text(check.name())));
        }
        table.push(row);
    }
    let mut section = Section::new("ranking", title).with(Block::Table(table));
    let more = ranking.order.len().saturating_sub(limit);
    if more > 0 {
        section = section.note(format!("... and {more} more; -v shows them, --format csv with every digit."));
    }
    section.note(verdict(tuning, ranking))
}

fn answer(candidate: &Candidate, gpu: usize, model: ModelId, best: Option<f64>) -> Vec<Cell> {
    let (time, limiter) = match candidate.answer(gpu, model) {
        Some((time, limiter)) => (Some(time), Cell::text(limiter)),
        None => (None, Cell::Missing),
    };
    let slower = time.zip(best).map(|(time, best)| time / best - 1.0);
    let grid = candidate.point.as_ref().map_or(Cell::Missing, |point| Cell::text(show_extents(point.grid)));
    let occupancy = candidate.measured().and_then(|measured| measured.gpus.get(gpu)?.occupancy);
    vec![
        grid,
        Cell::optional(time, Unit::Microseconds),
        Cell::optional(slower, Unit::Share),
        limiter,
        Cell::optional(occupancy, Unit::Share),
    ]
}

/// Which point is best, or which cannot be told apart.
fn verdict(tuning: &Tuning, ranking: &Ranking) -> String {
    let share = |share: f64| show(&Cell::Number(share, Unit::Share));
    match ranking.tied.as_slice() {
        [] => "No point has a time.".to_owned(),
        [best] => {
            let label = tuning.label(&tuning.candidates[*best]);
            format!("Best: {}.", if label.is_empty() { "the only point" } else { &label })
        }
        tied => format!(
            "The {} points marked = cannot be told apart: they are within {} of the best, or within {} and another model \
             puts them first.",
            tied.len(),
            share(RESOLUTION),
            share(tuning.band)
        ),
    }
}

fn compromise(tuning: &Tuning) -> Option<Section> {
    let compromise = tuning.compromise.as_ref()?;
    let candidate = &tuning.candidates[compromise.candidate];
    let lost = show(&Cell::Number(compromise.slowdown - 1.0, Unit::Share));
    let label = tuning.label(candidate);
    Some(
        Section::new("compromise", "One launch for all GPUs")
            .note(format!("{label}: slower than the best of each GPU by {lost} (geometric mean).")),
    )
}

/// Reasons why points have no time, each with how many it concerns and the first of them.
fn impossible(tuning: &Tuning) -> Option<Section> {
    let mut reasons: Vec<(&str, u64, String)> = Vec::new();
    let all =
        tuning.candidates.iter().flat_map(|candidate| why_not(candidate).into_iter().map(move |why| (why, candidate)));
    for (reason, candidate) in all {
        match reasons.iter_mut().find(|(own, ..)| *own == reason) {
            Some((_, count, _)) => *count += 1,
            None => reasons.push((reason, 1, tuning.label(candidate))),
        }
    }
    if reasons.is_empty() {
        return None;
    }
    let line = |(reason, count, first): (&str, u64, String)| match count {
        1 => format!("- {first}: {reason}"),
        _ => format!("- {} points, such as {first}: {reason}", show(&Cell::Count(count))),
    };
    let lines: Vec<String> = reasons.into_iter().map(line).collect();
    Some(Section::new("impossible", "Impossible").note(lines.join("\n")))
}

/// Why a point has no time, anywhere or on some GPUs.
fn why_not(candidate: &Candidate) -> Vec<&str> {
    match &candidate.result {
        Err(reason) => vec![reason],
        Ok(measured) => measured.gpus.iter().filter_map(|on| on.impossible.as_deref()).collect(),
    }
}

fn notes(tuning: &Tuning) -> Section {
    let mut section = Section::new("notes", "");
    let count = |count: u64| show(&Cell::Count(count));
    let n_evaluated = tuning.candidates.len() as u64;
    let excluded = match tuning.n_excluded {
        0 => String::new(),
        n_excluded => format!(", {} excluded by constraints", count(n_excluded)),
    };
    let emulated = match tuning.n_emulated {
        1 => "one launch emulated".to_owned(),
        n_emulated => format!("{} launches emulated", count(n_emulated as u64)),
    };
    section = section.note(match tuning.method {
        Method::Exhaustive => {
            format!("{} points{excluded}; all {} evaluated, {emulated}.", count(tuning.n_points), count(n_evaluated),)
        }
        Method::Guided { n_starts } => format!(
            "{} of {} points evaluated{excluded}, {emulated}: coordinate descent from {}. \
             A better point may be among the rest; --points N evaluates more.",
            count(n_evaluated),
            count(tuning.n_points),
            if n_starts == 1 { "one start".to_owned() } else { format!("{n_starts} starts") },
        ),
    });
    let measured = tuning.candidates.iter().filter_map(Candidate::measured);
    let n_in_part = measured.filter(|measured| measured.ctas.0 < measured.ctas.1).count() as u64;
    if n_in_part > 0 {
        section = section.note(format!(
            "{} points were executed in part and their counts scaled; --full executes all blocks.",
            count(n_in_part)
        ));
    }
    let differing =
        |candidate: &&Candidate| matches!(candidate.check, Some(Check::Differs { .. } | Check::NotComparable(_)));
    let n_different = tuning.candidates.iter().filter(differing).count() as u64;
    match (tuning.is_checked, tuning.candidates.iter().find(differing)) {
        (true, None) => section.note("All outputs are those of the first point."),
        (true, Some(first)) => section.note(format!(
            "Outputs of {} points are not those of the first point; at {}: {}.",
            count(n_different),
            tuning.label(first),
            first.check.as_ref().map(difference).unwrap_or_default()
        )),
        (false, _) => section.note("Outputs were not compared; --check does."),
    }
}

/// What differs, in words.
pub(crate) fn difference(check: &Check) -> String {
    match check {
        Check::Reference | Check::Same => String::new(),
        Check::Differs { buffer, n_different, first } => {
            format!("{} elements of `{buffer}` differ, the first is {first}", show(&Cell::Count(*n_different)))
        }
        Check::NotComparable(reason) => reason.clone(),
    }
}

/// One row per point and GPU with every digit: for programs.
pub fn rows(tuning: &Tuning) -> Section {
    let mut columns: Vec<(&str, &str)> =
        tuning.dimensions.iter().map(|dimension| (dimension.name.as_str(), dimension.name.as_str())).collect();
    columns.extend([
        ("launched grid", "launch_grid"),
        ("launched block", "launch_block"),
        ("dynamic shared", "dynamic_shared_bytes"),
        ("registers", "registers"),
        ("GPU", "gpu"),
        ("model", "model"),
        ("rank", "rank"),
        ("tied", "tied"),
        ("time", "time_us"),
        ("bound by", "limiter"),
        ("occupancy", "occupancy_share"),
        ("outputs", "outputs"),
        ("impossible", "impossible"),
    ]);
    let mut table = Table::new(&columns);
    for (at, candidate) in tuning.candidates.iter().enumerate() {
        for (gpu, ranking) in tuning.rankings.iter().enumerate() {
            let mut row: Vec<Cell> =
                tuning.dimensions.iter().map(|one| Cell::text(&one.values[candidate.choices[one.position]])).collect();
            row.extend(raw_row(candidate, at, gpu, ranking));
            table.push(row);
        }
    }
    Section::new("ranking", "").with(Block::Table(table))
}

fn raw_row(candidate: &Candidate, at: usize, gpu: usize, ranking: &Ranking) -> Vec<Cell> {
    let point = candidate.point.as_ref();
    let measured = candidate.measured();
    let on = measured.and_then(|measured| measured.gpus.get(gpu));
    let rank = ranking.order.iter().position(|&own| own == at);
    let answer = ranking.model.and_then(|model| candidate.answer(gpu, model));
    let refused = || -> Option<&String> {
        let own = on?.answers.iter().find(|own| Some(own.model) == ranking.model)?;
        own.result.as_ref().err()
    };
    let reason = candidate.result.as_ref().err().or(on.and_then(|on| on.impossible.as_ref())).or_else(refused);
    vec![
        point.map_or(Cell::Missing, |point| Cell::text(show_extents(point.grid))),
        point.map_or(Cell::Missing, |point| Cell::text(show_extents(point.block))),
        point.map_or(Cell::Missing, |point| Cell::Count(point.shared)),
        measured.map_or(Cell::Missing, |measured| Cell::Count(measured.registers.into())),
        Cell::text(&ranking.gpu),
        ranking.model.map_or(Cell::Missing, Cell::text),
        rank.map_or(Cell::Missing, |rank| Cell::Count(rank as u64 + 1)),
        rank.map_or(Cell::Missing, |_| Cell::Count(u64::from(ranking.tied.contains(&at)))),
        Cell::optional(answer.map(|(time, _)| time), Unit::Microseconds),
        answer.map_or(Cell::Missing, |(_, limiter)| Cell::text(limiter)),
        Cell::optional(on.and_then(|on| on.occupancy), Unit::Share),
        candidate.check.as_ref().map_or(Cell::Missing, |check| Cell::text(check.name())),
        reason.map_or(Cell::Missing, Cell::text),
    ]
}
