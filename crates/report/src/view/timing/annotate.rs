//! A text with the warp cycles of its lines.

use warplens_question::timing::annotate::AnnotatedText;
use warplens_question::timing::{Annotated, Answer, Spent, Stall, StallCycles};

use super::refused;
use super::simulation::{Size, simulation};
use crate::render::show;
use crate::section::{Block, Cell, Column, Field, ListedLine, Listing, Section, Table, Unit};

/// Lines around those with cycles that are kept.
const CONTEXT: u32 = 3;
/// States that are named for each line.
const MOST_REASONS: usize = 2;
/// States with less than this share of a line are not named.
const LEAST_REASON: f64 = 0.05;

/// The listings of all answers.
pub fn annotations(all: &[Answer<Annotated>], verbose: bool) -> Vec<Section> {
    let of_one = |answer: &Answer<Annotated>| match &answer.result {
        Ok(of) => annotation(of, verbose),
        Err(refusal) => vec![refused(&answer.kernel, &answer.gpu, refusal)],
    };
    all.iter().flat_map(of_one).collect()
}

/// The listing with a heading. `verbose` adds the state of the SM.
pub fn annotation(of: &Annotated, verbose: bool) -> Vec<Section> {
    let whole = &of.annotation.whole;
    let time = show(&Cell::Number(of.time.microseconds(), Unit::Microseconds));
    let mut fields = vec![
        Field::new("simulated on one SM", Cell::Number(of.outcome.cycles as f64, Unit::Cycles))
            .remark(blocks(of.outcome.ctas.len())),
        Field::new("warp instructions issued", Cell::Count(whole.issued)),
        Field::new("warp cycles per instruction", Cell::optional(whole.cycles_per_issue(), Unit::One)),
        Field::new("why warps do not issue", Cell::text(reasons(&whole.stalls, usize::MAX))),
    ];
    if of.annotation.elsewhere.issued > 0 {
        let share = Cell::Number(of.annotation.elsewhere.share, Unit::Share);
        fields.push(Field::new("outside of these lines", share).remark("share of the warp cycles"));
    }
    let title = format!("{} on {}: {time} predicted", of.kernel.demangled, of.gpu);
    let mut sections = vec![Section::new("annotate", title).with(Block::Fields(fields))];
    sections.extend(of.annotation.texts.iter().map(listing));
    if verbose {
        sections.extend(simulation(&of.gpu, &of.outcome, Size::Whole));
    }
    sections
}

fn blocks(n: usize) -> String {
    if n == 1 { "1 block".to_owned() } else { format!("{n} blocks") }
}

fn listing(text: &AnnotatedText) -> Section {
    let near = |number: u32| {
        let around = number.saturating_sub(CONTEXT)..=number.saturating_add(CONTEXT);
        text.lines.range(around).next().is_some()
    };
    let largest = text.largest_share();
    let kept = text.text.iter().filter(|(number, _)| near(*number));
    let lines: Vec<ListedLine> = kept
        .map(|(number, line)| {
            let spent = text.lines.get(number);
            ListedLine {
                number: *number,
                text: line.clone(),
                cells: spent.map(|spent| cells(rank(text, *number), spent)).unwrap_or_default(),
                heat: spent.map_or(0.0, |spent| if largest > 0.0 { spent.share / largest } else { 0.0 }),
            }
        })
        .collect();
    let columns =
        [("hot", "hot"), ("share", "share"), ("warp cycles", "warp_cycles"), ("issued", "issued"), ("why", "why")];
    let columns = columns.map(|(title, key)| Column::new(title, key)).to_vec();
    Section::new("listing", text.name.clone()).with(Block::Listing(Listing { name: text.name.clone(), columns, lines }))
}

fn rank(text: &AnnotatedText, line: u32) -> Option<usize> {
    text.hottest.iter().position(|&hot| hot == line).map(|at| at + 1)
}

fn cells(rank: Option<usize>, spent: &Spent) -> Vec<Cell> {
    vec![
        rank.map_or(Cell::Missing, |rank| Cell::Count(rank as u64)),
        Cell::Number(spent.share, Unit::Share),
        Cell::Count(spent.stalls.total()),
        Cell::Count(spent.issued),
        Cell::text(reasons(&spent.stalls, MOST_REASONS)),
    ]
}

/// `long_scoreboard 93 %, wait 5 %`.
fn reasons(stalls: &StallCycles, most: usize) -> String {
    let ranked = stalls.ranked().into_iter().enumerate();
    let named = ranked.filter(|&(at, (_, share))| at == 0 || share >= LEAST_REASON).take(most);
    named.map(|(_, (stall, share))| format!("{stall} {:.0} %", 100.0 * share)).collect::<Vec<_>>().join(", ")
}

/// One row per line with every state: for programs.
pub fn rows(all: &[Answer<Annotated>]) -> Section {
    let mut columns =
        ["kernel", "gpu", "file", "line", "hot", "share", "warp_cycles", "issued", "machine_instructions"]
            .map(|key| Column::new(key, key))
            .to_vec();
    columns.extend(Stall::ALL.iter().map(|stall| Column::new(stall.name(), stall.name())));
    columns.push(Column::new("text", "text"));
    let mut table = Table { columns, rows: Vec::new() };
    for of in all.iter().filter_map(|answer| answer.result.as_ref().ok()) {
        for text in &of.annotation.texts {
            for (&line, spent) in &text.lines {
                let mut row = vec![
                    Cell::text(&of.kernel.mangled),
                    Cell::text(&of.gpu),
                    Cell::text(&text.name),
                    Cell::Count(line.into()),
                    rank(text, line).map_or(Cell::Missing, |rank| Cell::Count(rank as u64)),
                    Cell::Number(spent.share, Unit::Share),
                    Cell::Count(spent.stalls.total()),
                    Cell::Count(spent.issued),
                    Cell::Count(spent.instructions.into()),
                ];
                row.extend(spent.stalls.iter().map(|(_, cycles)| Cell::Count(cycles)));
                row.push(Cell::text(text.line(line)));
                table.push(row);
            }
        }
    }
    Section::new("annotate", "").with(Block::Table(table))
}
