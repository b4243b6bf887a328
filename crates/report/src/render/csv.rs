//! CSV: the tables of a report, with keys as headings and every digit.

use super::number::raw;
use crate::section::{Block, Section, Table, visible};

/// Renders the tables, a blank line between them (RFC 4180 otherwise, with line feeds). What is no table is left out.
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
    let rows = table.rows.iter().map(|row| row.iter().map(raw).collect());
    let heading: Vec<String> = table.columns.iter().map(|column| column.key.clone()).collect();
    for row in std::iter::once(heading).chain(rows) {
        // A table without columns has no lines.
        if !row.is_empty() {
            writer.write_record(&row).expect("memory takes what is written to it, and rows are as long as the heading");
        }
    }
    let bytes = writer.into_inner().expect("memory takes what is written to it");
    String::from_utf8(bytes).expect("cells are text, and quotes and commas are, too")
}
