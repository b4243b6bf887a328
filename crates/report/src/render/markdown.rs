//! Markdown, with tables as GitHub reads them.
//!
//! Names and lines of inputs stand in it as the text that they are: they make no tag, link, emphasis or column, and end
//! no fence.

use super::number::show;
use crate::section::{Block, Cell, Field, Plot, Section, Table, visible};

/// Renders sections under headings of the second level.
pub fn markdown(sections: &[Section]) -> String {
    visible::all(sections).iter().map(render).collect::<Vec<_>>().join("\n")
}

fn render(section: &Section) -> String {
    let mut out = String::new();
    if !section.title.is_empty() {
        out.push_str(&format!("## {}\n\n", escaped(&section.title)));
    }
    let blocks = section.blocks.iter().map(|block| match block {
        Block::Fields(fields) => fields.iter().map(field_line).collect(),
        Block::Table(table) => table_text(table),
        Block::Note(note) => format!("{}\n", escaped(note)),
        Block::Lines(text) => fenced("text", text),
        Block::Command(command) => format!("Next:\n\n{}", fenced("sh", command)),
        Block::Plot(plot) => plot_text(plot),
        Block::Listing(listing) => table_text(&listing.as_table()),
    });
    out + &blocks.collect::<Vec<_>>().join("\n")
}

fn field_line(field: &Field) -> String {
    let remark = field.remark.as_ref().map(|remark| format!(" ({})", escaped(remark))).unwrap_or_default();
    format!("- {}: {}{remark}\n", escaped(&field.name), text_of(&field.value))
}

/// A cell outside of tables. Numbers and their units are ours.
fn text_of(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) => escaped(text),
        Cell::Count(_) | Cell::Number(..) | Cell::Missing => show(cell),
    }
}

/// Text as text: what markdown would read as a mark is escaped, but for code between backticks, which is what it is.
fn escaped(text: &str) -> String {
    let n_ticks = text.matches('`').count();
    let mut is_code = false;
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            // One that nothing closes is no mark of ours.
            '`' if n_ticks % 2 == 1 => out.push('\\'),
            '`' => is_code = !is_code,
            '<' | '[' | ']' | '*' | '\\' if !is_code => out.push('\\'),
            _ => {}
        }
        out.push(character);
    }
    out
}

/// Lines as they are, between fences that are longer than any in them.
fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|character| character != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    format!("{fence}{language}\n{text}\n{fence}\n")
}

fn table_text(table: &Table) -> String {
    let cell = |text: String| text.replace('|', "\\|").replace('\n', " ");
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let at_right = |at: usize| table.rows.first().is_some_and(|row| row[at].is_numeric());
    let rule = (0..table.columns.len()).map(|at| if at_right(at) { "---:" } else { "---" }.to_owned()).collect();
    let heading = line(table.columns.iter().map(|column| cell(escaped(&column.title))).collect());
    let rows = table.rows.iter().map(|row| line(row.iter().map(|it| cell(text_of(it))).collect()));
    [heading, line(rule)].into_iter().chain(rows).collect()
}

fn plot_text(plot: &Plot) -> String {
    let mut table = Table::new(&[(&plot.title, "name"), ("value", "value")]);
    for (name, value) in &plot.bars {
        table.push(vec![Cell::text(name), Cell::Number(*value, plot.unit)]);
    }
    table_text(&table)
}
