//! What bounds a kernel, in words, and what to change.
//!
//! ```text
//! What to change on h200 (each by itself, estimated by analyzer; now 13.64 us)
//!   #  gains   time      change
//!   1  1.92 x  7.102 us  Coalesce memory accesses: ...
//! ```
//!
//! *gains* is time before over time after of the what-if question that bounds the change.

use warplens_base::units::Seconds;
use warplens_question::explain::{Advice, Explanation, GpuExplanation, Place, ThreadAdvice};
use warplens_question::glance::Glance;
use warplens_session::CodeForm;
use warplens_session::predict::GpuAnalysis;

use super::{glance, predict, profile};
use crate::render::show;
use crate::section::{Block, Cell, Section, Table, Unit};

/// Places that a screen lists of one change.
const MOST_PLACES: usize = 6;
/// Quantities of the X-model that a screen lists.
const MOST_TURNS: usize = 4;

/// One launch explained. `command` makes a `whatif` command of flags.
pub fn explanation(explanation: &Explanation, command: &dyn Fn(&[String]) -> String) -> Vec<Section> {
    let analysis = &explanation.analysis;
    let mut sections: Vec<Section> = predict::instead(analysis.gpus.iter()).into_iter().collect();
    sections.extend(profile::unsupported(&analysis.measurement.support));
    let glances: Vec<Glance> = explanation.gpus.iter().filter_map(|gpu| gpu.glance.clone()).collect();
    sections.extend(glance::answer(analysis, &glances));
    sections.extend(predict::refusals(analysis));
    sections.extend(changes(explanation));
    if explanation.gpus.iter().all(|gpu| gpu.advice.is_empty()) {
        return sections;
    }
    let mut notes = Section::new("notes", "")
        .note("Each gain is the answer to a what-if question about these counts; gains do not add up.");
    let questions = explanation.gpus.iter().flat_map(|gpu| &gpu.advice).map(|advice| &advice.question);
    if let Some(question) = questions.into_iter().find(|question| !question.is_empty()) {
        notes = notes.with(Block::Command(command(question)));
    }
    sections.push(notes);
    sections
}

/// What bounds the kernel and what to change, GPU by GPU.
pub fn changes(explanation: &Explanation) -> Vec<Section> {
    let gpus = explanation.analysis.gpus.iter().zip(&explanation.gpus);
    let answered = gpus.filter(|(gpu, _)| gpu.prediction().is_some());
    answered.flat_map(|(gpu, explained)| on_gpu(gpu, explained)).collect()
}

fn on_gpu(analysis: &GpuAnalysis, gpu: &GpuExplanation) -> Vec<Section> {
    let (id, model) = (&analysis.machine.id, analysis.prediction().map_or("", |prediction| prediction.model.name()));
    let sentences: Vec<String> = gpu.evidence.iter().map(|evidence| format!("- {}", evidence.text)).collect();
    let title = format!("What bounds it on {id} ({model})");
    let mut sections = vec![Section::new("evidence", title).note(sentences.join("\n"))];
    let title = format!("What to change on {id} (each by itself, estimated by {model}; now {})", now(analysis));
    if gpu.advice.is_empty() {
        let nothing = "Nothing on the list of known changes gains 1 % or more by these counts.";
        sections.push(Section::new("advice", title).note(nothing));
    } else {
        sections.push(Section::new("advice", title).with(Block::Table(table(&gpu.advice))));
        let numbered = gpu.advice.iter().enumerate();
        sections.extend(numbered.map(|(at, advice)| change(at + 1, advice)));
    }
    sections.extend(gpu.threads.as_ref().and_then(|threads| x_model(id, threads)));
    sections
}

fn now(analysis: &GpuAnalysis) -> String {
    show(&Cell::optional(analysis.time().map(Seconds::microseconds), Unit::Microseconds))
}

fn table(advice: &[Advice]) -> Table {
    let mut table = Table::new(&[
        ("#", "rank"),
        ("gains", "speedup"),
        ("time", "after_us"),
        ("then bound by", "limiter_after"),
        ("change", "change"),
    ]);
    for (at, advice) in advice.iter().enumerate() {
        table.push(vec![
            Cell::Count(at as u64 + 1),
            Cell::Number(advice.speedup, Unit::Named("x")),
            Cell::Number(advice.after.seconds().microseconds(), Unit::Microseconds),
            Cell::text(advice.after.limiter().name()),
            Cell::text(&advice.title),
        ]);
    }
    table
}

fn change(number: usize, advice: &Advice) -> Section {
    let mut section = Section::new("change", format!("{number}. {}", advice.title)).note(capital(advice.how) + ".");
    if !advice.places.is_empty() {
        section = section.with(Block::Table(places(&advice.places, advice.form)));
        if advice.places.len() > MOST_PLACES {
            section = section.note(format!("and {} more", advice.places.len() - MOST_PLACES));
        }
    }
    let mut remarks: Vec<String> = advice.side_effects.iter().map(|effect| format!("- {effect}")).collect();
    if !advice.question.is_empty() {
        remarks.push(format!("- asked as: whatif {}", advice.question.join(" ")));
    }
    section.note(remarks.join("\n"))
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn places(places: &[Place], form: CodeForm) -> Table {
    let header = format!("{}s", form.line());
    let mut table = Table::new(&[
        ("share", "share"),
        ("source", "source"),
        ("instructions", "opcodes"),
        (header.as_str(), "ptx_lines"),
    ]);
    for place in places.iter().take(MOST_PLACES) {
        table.push(vec![
            Cell::Number(place.share, Unit::Share),
            place.source.as_ref().map_or(Cell::Missing, |(file, line)| Cell::text(format!("{file}:{line}"))),
            Cell::text(place.opcodes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
            Cell::text(lines(&place.ptx_lines)),
        ]);
    }
    table
}

/// The first lines of the code.
fn lines(ptx_lines: &[u32]) -> String {
    const MOST: usize = 6;
    let shown: Vec<String> = ptx_lines.iter().take(MOST).map(u32::to_string).collect();
    let more = if ptx_lines.len() > MOST { ", ..." } else { "" };
    shown.join(", ") + more
}

fn x_model(gpu: &str, advice: &ThreadAdvice) -> Option<Section> {
    let number = |number: f64| show(&Cell::Number(number, Unit::One));
    let mut lines: Vec<String> = Vec::new();
    for turn in advice.turns.iter().take(MOST_TURNS) {
        let how = if turn.is_best { "the best value" } else { "for example" };
        lines.push(format!(
            "- {}: {} {} -> {} ({how}) makes throughput {} times what it is; at most {} times, by {}",
            turn.technique,
            turn.knob,
            number(turn.from),
            number(turn.to),
            number(turn.gain),
            number(turn.most),
            turn.limited_by
        ));
    }
    if let Some(fall) = &advice.fall {
        let unit = advice.threads_unit;
        if let Some((threads, loss)) = fall.forced {
            lines.push(format!(
                "- warning: from {} {unit} on, more of them fall off the cache peak and lose {} of the throughput",
                number(threads),
                show(&Cell::Number(loss, Unit::Share))
            ));
        } else if let Some(best) = fall.best.filter(|best| *best <= advice.threads) {
            let now = number(advice.threads);
            lines.push(format!(
                "- warning: {now} {unit} are past the cache peak, which {} would use best",
                number(best)
            ));
        }
        if let Some(possible) = fall.possible {
            let possible = number(possible);
            lines.push(format!("- from {possible} {unit} on a second, slower state exists beside the faster one"));
        }
    }
    if lines.is_empty() {
        return None;
    }
    let title = format!("What the X-model says on {gpu} ({})", advice.bound);
    Some(Section::new("x-model", title).note(lines.join("\n")))
}

/// One row per GPU and change with every digit: for programs.
pub fn rows(explanations: &[Explanation]) -> Section {
    let mut table = Table::new(&[
        ("kernel", "kernel"),
        ("GPU", "gpu"),
        ("model", "model"),
        ("#", "rank"),
        ("id", "id"),
        ("before", "before_us"),
        ("after", "after_us"),
        ("gains", "speedup"),
        ("bound by", "limiter_after"),
        ("change", "change"),
        ("places", "places"),
        ("side effects", "side_effects"),
    ]);
    for explanation in explanations {
        let gpus = explanation.analysis.gpus.iter().zip(&explanation.gpus);
        for (analysis, gpu) in gpus {
            for (at, advice) in gpu.advice.iter().enumerate() {
                let time = |seconds: Seconds| Cell::Number(seconds.microseconds(), Unit::Microseconds);
                table.push(vec![
                    Cell::text(&explanation.analysis.measurement.kernel.mangled),
                    Cell::text(&analysis.machine.id),
                    Cell::text(advice.before.model),
                    Cell::Count(at as u64 + 1),
                    Cell::text(advice.id),
                    time(advice.before.seconds()),
                    time(advice.after.seconds()),
                    Cell::Number(advice.speedup, Unit::One),
                    Cell::text(advice.after.limiter().name()),
                    Cell::text(&advice.title),
                    Cell::text(advice.places.iter().map(|at| place(at, advice.form)).collect::<Vec<_>>().join("; ")),
                    Cell::text(advice.side_effects.join("; ")),
                ]);
            }
        }
    }
    Section::new("advice", "").with(Block::Table(table))
}

fn place(place: &Place, form: CodeForm) -> String {
    form.place(place.source.as_ref(), place.ptx_lines.first().copied().unwrap_or_default())
}

/// The best changes on one GPU, for the screen of a prediction.
pub(super) fn best(gpu: &str, advice: &[Advice]) -> Section {
    let line = |advice: &Advice| {
        let gain = show(&Cell::Number(advice.speedup, Unit::One));
        let at =
            advice.places.first().map(|at| place(at, advice.form)).filter(|at| !advice.title.contains(at.as_str()));
        let at = at.map_or_else(String::new, |at| format!(", most of all at {at}"));
        format!("- {gain} x: {}{at}", advice.title)
    };
    let lines: Vec<String> = advice.iter().map(line).collect();
    Section::new("advice", format!("Best changes on {gpu}, each by itself")).note(lines.join("\n"))
}
