//! Text for a terminal: aligned columns, headings in bold where colour is wanted.

use super::number::show;
use crate::section::{Block, Cell, Field, Listing, Plot, Section, Table, visible};

/// Looks of the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// Characters only.
    Plain,
    /// With escape sequences for bold, dim and colour.
    Colored,
}

const BOLD: &str = "1";
const DIM: &str = "2";
const BAR: &str = "36";
const WARM: &str = "33";
/// Lines of a listing that are this hot, as a share of the hottest, stand out.
const HOT: f64 = 0.5;
/// Columns of a full bar.
const BAR_WIDTH: f64 = 30.0;
/// Columns after which notes are broken.
const LINE_WIDTH: usize = 110;

/// Renders sections, one blank line between them.
pub fn text(sections: &[Section], style: Style) -> String {
    let sections = visible::all(sections);
    sections.iter().map(|section| render(section, style)).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}

fn render(section: &Section, style: Style) -> String {
    let mut out = String::new();
    if !section.title.is_empty() {
        out.push_str(&paint(&section.title, BOLD, style));
        out.push('\n');
    }
    let indent = if section.title.is_empty() { "" } else { "  " };
    for block in &section.blocks {
        let lines = match block {
            Block::Fields(fields) => fields_lines(fields, style),
            Block::Table(table) => table_lines(table, style, show),
            Block::Note(note) => wrapped(note),
            Block::Lines(text) => text.lines().map(str::to_owned).collect(),
            Block::Plot(plot) => plot_lines(plot, style),
            Block::Listing(listing) => listing_lines(listing, style),
        };
        for line in lines {
            out.push_str(indent);
            out.push_str(&line);
            out.push('\n');
        }
    }
    out
}

fn paint(text: &str, code: &str, style: Style) -> String {
    match style {
        Style::Plain => text.to_owned(),
        Style::Colored => format!("\x1b[{code}m{text}\x1b[0m"),
    }
}

fn fields_lines(fields: &[Field], style: Style) -> Vec<String> {
    let width = fields.iter().map(|field| columns(&field.name)).max().unwrap_or(0);
    let line = |field: &Field| {
        let remark =
            field.remark.as_ref().map(|remark| paint(&format!("  ({remark})"), DIM, style)).unwrap_or_default();
        format!("{}  {}{remark}", padded(&field.name, width, false), show(&field.value))
    };
    fields.iter().map(line).collect()
}

/// Lines without numbers are left blank beside the text; the hottest stand out where colour is wanted.
fn listing_lines(listing: &Listing, style: Style) -> Vec<String> {
    let blank = |cell: &Cell| if *cell == Cell::Missing { String::new() } else { show(cell) };
    let mut lines = table_lines(&listing.as_table(), style, blank);
    // The first line is the heading.
    for (line, listed) in lines.iter_mut().skip(1).zip(&listing.lines) {
        if listed.heat >= HOT {
            *line = paint(line, WARM, style);
        }
    }
    lines
}

fn table_lines(table: &Table, style: Style, show: impl Fn(&Cell) -> String) -> Vec<String> {
    let cells: Vec<Vec<String>> = table.rows.iter().map(|row| row.iter().map(&show).collect()).collect();
    let width = |at: usize| {
        let widest = cells.iter().map(|row| columns(&row[at])).max().unwrap_or(0);
        widest.max(columns(&table.columns[at].title))
    };
    let widths: Vec<usize> = (0..table.columns.len()).map(width).collect();
    // A column is numeric when its first known cell is.
    let at_right = |at: usize| {
        table.rows.iter().map(|row| &row[at]).find(|cell| **cell != Cell::Missing).is_some_and(Cell::is_numeric)
    };
    let line = |row: Vec<&str>| {
        let padded = row.iter().enumerate().map(|(at, cell)| padded(cell, widths[at], at_right(at)));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let heading = line(table.columns.iter().map(|column| column.title.as_str()).collect());
    let rows = cells.iter().map(|row| line(row.iter().map(String::as_str).collect()));
    std::iter::once(paint(&heading, DIM, style)).chain(rows).collect()
}

fn plot_lines(plot: &Plot, style: Style) -> Vec<String> {
    let largest = plot.bars.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    let full = plot.full.unwrap_or(largest);
    let name_width = plot.bars.iter().map(|(name, _)| columns(name)).max().unwrap_or(0);
    let values: Vec<String> = plot.bars.iter().map(|(_, value)| show(&Cell::Number(*value, plot.unit))).collect();
    let value_width = values.iter().map(|value| columns(value)).max().unwrap_or(0);
    let bar = |value: f64| {
        let share = if full > 0.0 { (value / full).clamp(0.0, 1.0) } else { 0.0 };
        "█".repeat((share * BAR_WIDTH).round() as usize)
    };
    let line = |((name, value), shown): (&(String, f64), &String)| {
        let (name, shown) = (padded(name, name_width, false), padded(shown, value_width, true));
        format!("{name}  {shown}  {}", paint(&bar(*value), BAR, style)).trim_end().to_owned()
    };
    let title = (!plot.title.is_empty()).then(|| paint(&plot.title, DIM, style));
    title.into_iter().chain(plot.bars.iter().zip(&values).map(line)).collect()
}

/// Breaks a note between words.
fn wrapped(note: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in note.lines() {
        // The lines of a list's item stand under its first word.
        let indent = if paragraph.starts_with("- ") { "  " } else { "" };
        let (mut line, mut n_words) = (String::new(), 0);
        for word in paragraph.split(' ') {
            if n_words > 0 && columns(&line) + 1 + columns(word) > LINE_WIDTH {
                lines.push(std::mem::replace(&mut line, indent.to_owned()));
                n_words = 0;
            }
            if n_words > 0 {
                line.push(' ');
            }
            line.push_str(word);
            n_words += 1;
        }
        lines.push(line);
    }
    lines
}

fn columns(text: &str) -> usize {
    text.chars().count()
}

fn padded(text: &str, width: usize, at_right: bool) -> String {
    let padding = " ".repeat(width.saturating_sub(columns(text)));
    if at_right { padding + text } else { text.to_owned() + &padding }
}
