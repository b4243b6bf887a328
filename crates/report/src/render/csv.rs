//! CSV: the tables of a report, with keys as headings and every digit.

use super::number::raw;
use crate::section::{Block, Cell, Section, Table, visible};

/// Renders the tables, a blank line between them (RFC 4180 otherwise, with line feeds). What is no table is left out.
///
/// Text that a spreadsheet would take for a formula has an apostrophe before it: names and lines of an input are not to
/// be executed.
pub fn csv(sections: &[Section]) -> String {
    let sections = visible::all(sections);
    let tables = sections.iter().flat_map(|section| &section.blocks).filter_map(|block| match block {
        Block::Table(table) => Some(lines(table)),
        Block::Listing(listing) => Some(lines(&listing.as_table())),
        _ => None,
    });
    tables.collect::<Vec<_>>().join("\n")
}

fn lines(table: &Table) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let rows = table.rows.iter().map(|row| row.iter().map(cell).collect());
    let heading: Vec<String> = table.columns.iter().map(|column| harmless(column.key.clone())).collect();
    for row in std::iter::once(heading).chain(rows) {
        // A table without columns has no lines.
        if !row.is_empty() {
            writer.write_record(&row).expect("memory takes what is written to it, and rows are as long as the heading");
        }
    }
    let bytes = writer.into_inner().expect("memory takes what is written to it");
    String::from_utf8(bytes).expect("cells are text, and quotes and commas are, too")
}

fn cell(cell: &Cell) -> String {
    match cell {
        Cell::Text(_) => harmless(raw(cell)),
        Cell::Count(_) | Cell::Number(..) | Cell::Missing => raw(cell),
    }
}

/// First characters by which spreadsheets know a formula (OWASP, CSV injection); numbers are never text here.
const FORMULA: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

fn harmless(text: String) -> String {
    match text.starts_with(FORMULA) {
        // A lone mark is a value of ours that stands for nothing.
        true if text.chars().count() > 1 => format!("'{text}"),
        _ => text,
    }
}
