//! CSV: the tables of a report, with keys as headings and every digit.

use super::number::raw;
use crate::section::{Block, Section, Table, visible};

/// Renders the tables, a blank line between them (RFC 4180 otherwise). What is no table is left out.
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
    let heading = table.columns.iter().map(|column| quoted(&column.key)).collect::<Vec<_>>().join(",");
    let rows = table.rows.iter().map(|row| row.iter().map(|cell| quoted(&raw(cell))).collect::<Vec<_>>().join(","));
    std::iter::once(heading).chain(rows).fold(String::new(), |text, line| text + &line + "\n")
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}
