//! Markdown, with tables as GitHub reads them.

use super::number::show;
use crate::section::{Block, Cell, Field, Plot, Section, Table, visible};

/// Renders sections under headings of the second level.
pub fn markdown(sections: &[Section]) -> String {
    visible::all(sections).iter().map(render).collect::<Vec<_>>().join("\n")
}

fn render(section: &Section) -> String {
    let mut out = String::new();
    if !section.title.is_empty() {
        out.push_str(&format!("## {}\n\n", section.title));
    }
    let blocks = section.blocks.iter().map(|block| match block {
        Block::Fields(fields) => fields.iter().map(field_line).collect(),
        Block::Table(table) => table_text(table),
        Block::Note(note) => format!("{note}\n"),
        Block::Lines(text) => format!("```text\n{text}\n```\n"),
        Block::Command(command) => format!("Next:\n\n```sh\n{command}\n```\n"),
        Block::Plot(plot) => plot_text(plot),
        Block::Listing(listing) => table_text(&listing.as_table()),
    });
    out + &blocks.collect::<Vec<_>>().join("\n")
}

fn field_line(field: &Field) -> String {
    let remark = field.remark.as_ref().map(|remark| format!(" ({remark})")).unwrap_or_default();
    format!("- {}: {}{remark}\n", field.name, show(&field.value))
}

fn table_text(table: &Table) -> String {
    let escaped = |text: String| text.replace('|', "\\|");
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let at_right = |at: usize| table.rows.first().is_some_and(|row| row[at].is_numeric());
    let rule = (0..table.columns.len()).map(|at| if at_right(at) { "---:" } else { "---" }.to_owned()).collect();
    let heading = line(table.columns.iter().map(|column| escaped(column.title.clone())).collect());
    let rows = table.rows.iter().map(|row| line(row.iter().map(|cell| escaped(show(cell))).collect()));
    [heading, line(rule)].into_iter().chain(rows).collect()
}

fn plot_text(plot: &Plot) -> String {
    let mut table = Table::new(&[(&plot.title, "name"), ("value", "value")]);
    for (name, value) in &plot.bars {
        table.push(vec![Cell::text(name), Cell::Number(*value, plot.unit)]);
    }
    table_text(&table)
}
