//! A text with the counts of a launch beside its lines.
//!
//! ```text
//! line  executed  threads/exec  transactions  passes  PTX of kernel.ptx
//!   24    32 768            32                        ld.param.u64  %rd1, [k_param_0];
//!   31    32 768            32       131 072          ld.global.f32  %f1, [%rd4];
//! ```
//!
//! *executed* counts warps; *threads/exec* is the mean number of threads for which the guard was true.

use warplens_question::listing::{CountedText, LineSum};

use crate::section::{Block, Cell, Column, ListedLine, Listing, Section, Unit};

/// Lines around counted ones that are kept of a text that is too long.
const CONTEXT: u32 = 2;
/// Bytes above which a text is listed only around its counted lines.
const LONG: usize = 400_000;

/// The text, whole unless it is very long.
pub fn listing(counted: &CountedText) -> Section {
    let is_long = counted.text.len() > LONG;
    let near = |number: u32| {
        let around = number.saturating_sub(CONTEXT)..=number.saturating_add(CONTEXT);
        !is_long || counted.lines.range(around).next().is_some()
    };
    let hottest = counted.hottest();
    let numbered = (1u32..).zip(counted.text.lines());
    let lines: Vec<ListedLine> = numbered
        .filter(|&(number, _)| near(number))
        .map(|(number, text)| {
            let sum = counted.lines.get(&number);
            ListedLine {
                number,
                text: text.to_owned(),
                cells: sum.map(cells).unwrap_or_default(),
                heat: sum.map_or(0.0, |sum| sum.executed as f64 / hottest.max(1) as f64),
            }
        })
        .collect();
    let columns = [
        ("executed", "executed"),
        ("threads/exec", "threads_per_execution"),
        ("transactions", "transactions"),
        ("passes", "passes"),
    ];
    let columns = columns.map(|(title, key)| Column::new(title, key)).to_vec();
    let mut section = Section::new("listing", counted.name.clone());
    if is_long {
        section = section.note("The text is long: lines far from any count are left out.");
    }
    section.with(Block::Listing(Listing { name: counted.name.clone(), columns, lines }))
}

fn cells(sum: &LineSum) -> Vec<Cell> {
    let some = |count: u64| if count > 0 { Cell::Count(count) } else { Cell::Missing };
    let threads = Cell::Number(sum.threads as f64 / sum.executed.max(1) as f64, Unit::One);
    vec![Cell::Count(sum.executed), threads, some(sum.transactions), some(sum.passes)]
}
