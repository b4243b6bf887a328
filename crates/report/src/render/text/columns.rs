//! Tables in columns: text to the left and broken between words, numbers to the right and never broken.

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, TableStyle, Width, presets};
use unicode_width::UnicodeWidthStr;

use crate::section::{Cell, Table};

/// Blanks between columns.
const GAP: u16 = 2;
/// Words up to this length are not broken.
const LONGEST_WORD: usize = 32;
/// Words are broken into pieces of this length at least.
const SHORTEST_PIECE: u16 = 8;
/// Fills the lines between rows; no text holds it, because it is a character that a terminal obeys.
const MARK: char = '\u{1}';

/// The lines of the heading and of each row.
pub(super) fn arranged(table: &Table, show: impl Fn(&Cell) -> String, width: usize) -> Vec<Vec<String>> {
    let cells: Vec<Vec<String>> =
        table.rows.iter().map(|row| row.iter().map(|cell| super::joined(&show(cell))).collect()).collect();
    let mut arranged = comfy_table::Table::new();
    arranged
        .load_style(marked())
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(u16::try_from(width).unwrap_or(u16::MAX))
        .set_header(table.columns.iter().map(|column| column.title.as_str()));
    for row in &cells {
        arranged.add_row(row);
    }
    let last = table.columns.len().saturating_sub(1);
    let needed = needed(table, &cells, width);
    for (at, column) in arranged.column_iter_mut().enumerate() {
        column.set_padding((0, if at == last { 0 } else { GAP }));
        let is_numeric = is_numeric(table, at);
        if is_numeric {
            column.set_cell_alignment(CellAlignment::Right);
        }
        column.set_constraint(match is_numeric {
            true => ColumnConstraint::ContentWidth,
            false => ColumnConstraint::LowerBoundary(Width::Fixed(needed[at])),
        });
    }
    let mut rows = vec![Vec::new()];
    for line in arranged.lines() {
        match line.contains(MARK) {
            true => rows.push(Vec::new()),
            false => rows.last_mut().expect("there is one at least").push(line.trim_end().replace(super::JOINT, " ")),
        }
    }
    rows
}

/// The width that each column needs with the gap after it: that of its longest word, and of its longest number where it is
/// not broken. Where all together are too wide, words of the widest column of text are broken.
fn needed(table: &Table, cells: &[Vec<String>], width: usize) -> Vec<u16> {
    let last = table.columns.len().saturating_sub(1);
    let needed = |at: usize| {
        let texts = cells.iter().map(|row| row[at].as_str()).chain([table.columns[at].title.as_str()]);
        let longest = match is_numeric(table, at) {
            true => texts.map(UnicodeWidthStr::width).max().unwrap_or(0),
            false => {
                texts.flat_map(|text| text.split(' ')).map(UnicodeWidthStr::width).max().unwrap_or(0).min(LONGEST_WORD)
            }
        };
        longest as u16 + if at == last { 0 } else { GAP }
    };
    let mut all: Vec<u16> = (0..table.columns.len()).map(needed).collect();
    let beyond = all.iter().map(|&needed| usize::from(needed)).sum::<usize>().saturating_sub(width);
    let widest = (0..all.len()).filter(|&at| !is_numeric(table, at)).max_by_key(|&at| all[at]);
    if let Some(at) = widest {
        let least = all[at].min(SHORTEST_PIECE + if at == last { 0 } else { GAP });
        all[at] = all[at].saturating_sub(u16::try_from(beyond).unwrap_or(u16::MAX)).max(least);
    }
    all
}

/// No lines but those that tell the rows apart.
fn marked() -> TableStyle {
    let marks = LineStyle { fill: Some(MARK), ..LineStyle::default() };
    TableStyle { header_separator: marks, row_separator: marks, ..presets::NOTHING }
}

/// A column is numeric when its first known cell is.
fn is_numeric(table: &Table, at: usize) -> bool {
    table.rows.iter().map(|row| &row[at]).find(|cell| **cell != Cell::Missing).is_some_and(Cell::is_numeric)
}
