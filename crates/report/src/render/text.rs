//! Text for a terminal of some width: aligned columns, headings in bold where colour is wanted.
//!
//! Sentences, cells of tables and commands are broken between words. Numbers and the lines of programs never are, so that a
//! table with more of them than fit is wider than what was asked for.

mod columns;

use textwrap::WordSeparator;
use unicode_width::UnicodeWidthStr;

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

/// Columns of a text that no terminal reads.
pub const WIDTH: usize = 120;

const BOLD: &str = "1";
const DIM: &str = "2";
const BAR: &str = "36";
const WARM: &str = "33";
/// Lines of a listing that are this hot, as a share of the hottest, stand out.
const HOT: f64 = 0.5;
/// Columns of a full bar, where there is room.
const BAR_WIDTH: usize = 30;

/// Renders sections for so many columns, one blank line between them.
pub fn text(sections: &[Section], style: Style, width: usize) -> String {
    let sections = visible::all(sections);
    let texts = sections.iter().map(|section| render(section, style, width)).filter(|text| !text.is_empty());
    texts.collect::<Vec<_>>().join("\n")
}

fn render(section: &Section, style: Style, width: usize) -> String {
    let mut out = String::new();
    for line in broken(&section.title, width, "  ").iter().filter(|line| !line.is_empty()) {
        out.push_str(&paint(line, BOLD, style));
        out.push('\n');
    }
    let indent = if section.title.is_empty() { "" } else { "  " };
    let width = width.saturating_sub(indent.len());
    for block in &section.blocks {
        let lines = match block {
            Block::Fields(fields) => fields_lines(fields, style, width),
            Block::Table(table) => table_lines(table, style, width),
            Block::Note(note) => note_lines(note, width),
            Block::Lines(text) => text.lines().map(str::to_owned).collect(),
            Block::Command(command) => command_lines(command, width),
            Block::Plot(plot) => plot_lines(plot, style, width),
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

fn fields_lines(fields: &[Field], style: Style, width: usize) -> Vec<String> {
    let value = |field: &Field| match &field.remark {
        Some(remark) => format!("{}  ({remark})", show(&field.value)),
        None => show(&field.value),
    };
    let names = fields.iter().map(|field| columns(&field.name)).max().unwrap_or(0) + 2;
    let room = width.saturating_sub(names).max(1);
    let mut lines = Vec::new();
    for field in fields {
        for (at, line) in broken(&value(field), room, "").into_iter().enumerate() {
            let name = if at == 0 { field.name.as_str() } else { "" };
            lines.push((padded(name, names, false) + &line).trim_end().to_owned());
        }
        // The remark is dim where it stands behind the value, as most do.
        if let (Some(remark), Some(last)) = (&field.remark, lines.last_mut())
            && let Some(value) = last.strip_suffix(&format!("  ({remark})"))
        {
            *last = format!("{value}{}", paint(&format!("  ({remark})"), DIM, style));
        }
    }
    lines
}

fn table_lines(table: &Table, style: Style, width: usize) -> Vec<String> {
    let mut rows = columns::arranged(table, show, width).into_iter();
    let heading = rows.next().into_iter().flatten().map(|line| paint(&line, DIM, style));
    heading.chain(rows.flatten()).collect()
}

/// Lines without numbers are left blank beside the text; the hottest stand out where colour is wanted. A program keeps its
/// lines, however long they are.
fn listing_lines(listing: &Listing, style: Style) -> Vec<String> {
    let blank = |cell: &Cell| if *cell == Cell::Missing { String::new() } else { show(cell) };
    let mut rows = columns::arranged(&listing.as_table(), blank, usize::MAX).into_iter();
    let mut lines: Vec<String> = rows.next().into_iter().flatten().map(|line| paint(&line, DIM, style)).collect();
    for (row, listed) in rows.zip(&listing.lines) {
        let is_hot = listed.heat >= HOT;
        lines.extend(row.into_iter().map(|line| if is_hot { paint(&line, WARM, style) } else { line }));
    }
    lines
}

fn plot_lines(plot: &Plot, style: Style, width: usize) -> Vec<String> {
    let largest = plot.bars.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    let full = plot.full.unwrap_or(largest);
    let values: Vec<String> = plot.bars.iter().map(|(_, value)| show(&Cell::Number(*value, plot.unit))).collect();
    let value_width = values.iter().map(|value| columns(value)).max().unwrap_or(0);
    // Names are broken only where a short bar would not fit otherwise.
    const SHORTEST: usize = 10;
    let room = width.saturating_sub(value_width + 4 + SHORTEST).max(SHORTEST);
    let name_width = plot.bars.iter().map(|(name, _)| columns(name)).max().unwrap_or(0).min(room);
    let bar_width = width.saturating_sub(name_width + value_width + 4).clamp(1, BAR_WIDTH) as f64;
    let bar = |value: f64| {
        let share = if full > 0.0 { (value / full).clamp(0.0, 1.0) } else { 0.0 };
        "█".repeat((share * bar_width).round() as usize)
    };
    let mut lines: Vec<String> = (!plot.title.is_empty()).then(|| paint(&plot.title, DIM, style)).into_iter().collect();
    for ((name, value), shown) in plot.bars.iter().zip(&values) {
        let mut names = broken(name, name_width, "").into_iter();
        let (name, shown) =
            (padded(&names.next().unwrap_or_default(), name_width, false), padded(shown, value_width, true));
        lines.push(format!("{name}  {shown}  {}", paint(&bar(*value), BAR, style)).trim_end().to_owned());
        lines.extend(names);
    }
    lines
}

/// Breaks a note between words; the lines of a list's item stand under its first word.
fn note_lines(note: &str, width: usize) -> Vec<String> {
    let indent = |paragraph: &str| if paragraph.starts_with("- ") { "  " } else { "" };
    note.lines().flat_map(|paragraph| broken(paragraph, width, indent(paragraph))).collect()
}

/// Breaks a command between the words of a shell, so that it can be copied as it stands.
fn command_lines(command: &str, width: usize) -> Vec<String> {
    const LEAD: &str = "Next: ";
    let options = textwrap::Options::new(width.saturating_sub(2).max(1))
        .initial_indent(LEAD)
        .subsequent_indent("      ")
        .word_separator(WordSeparator::Custom(shell_words))
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .wrap_algorithm(textwrap::WrapAlgorithm::FirstFit)
        .break_words(false);
    if LEAD.len() + columns(command) <= width {
        return vec![format!("{LEAD}{command}")];
    }
    let lines = textwrap::wrap(command, options);
    let last = lines.len().saturating_sub(1);
    let line = |(at, line): (usize, std::borrow::Cow<'_, str>)| match at == last {
        true => line.into_owned(),
        false => format!("{line} \\"),
    };
    lines.into_iter().enumerate().map(line).collect()
}

/// Words of a command; quotes keep blanks.
fn shell_words(command: &str) -> Box<dyn Iterator<Item = textwrap::core::Word<'_>> + '_> {
    let (mut start, mut quoted) = (0, false);
    let mut words = Vec::new();
    for (at, c) in command.char_indices() {
        quoted ^= c == '\'';
        // A flag is not parted from its value.
        let parts = command[at..].starts_with(" -") || !command[start..].starts_with('-');
        if c == ' ' && !quoted && parts {
            words.push(textwrap::core::Word::from(&command[start..=at]));
            start = at + 1;
        }
    }
    words.push(textwrap::core::Word::from(&command[start..]));
    Box::new(words.into_iter())
}

/// Breaks a line between words; a word that is too long stays whole.
fn broken(text: &str, width: usize, indent: &str) -> Vec<String> {
    let options = textwrap::Options::new(width.max(1))
        .subsequent_indent(indent)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .wrap_algorithm(textwrap::WrapAlgorithm::FirstFit)
        .break_words(false);
    textwrap::wrap(&joined(text), options).into_iter().map(|line| line.replace(JOINT, " ")).collect()
}

/// A blank between words that belong together: one that is written as any other.
const JOINT: char = '\u{a0}';
/// What belongs to the number before it.
const UNITS: &[&str] = &[
    "%", "s", "ms", "us", "ns", "x", "cycles", "B", "KB", "MB", "GB", "KiB", "MiB", "GiB", "B/s", "MB/s", "GB/s",
    "TB/s", "FLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s", "Hz", "MHz", "GHz",
];

/// Puts joints between numbers and their units, and between groups of digits.
fn joined(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut after_digit = false;
    for (at, word) in text.split(' ').enumerate() {
        if at > 0 {
            let bare = word.trim_end_matches([',', ';', ':', '.', ')']);
            let is_group = bare.len() == 3 && bare.bytes().all(|byte| byte.is_ascii_digit());
            out.push(if after_digit && (is_group || UNITS.contains(&bare)) { JOINT } else { ' ' });
        }
        out.push_str(word);
        after_digit = word.ends_with(|c: char| c.is_ascii_digit());
    }
    out
}

fn columns(text: &str) -> usize {
    text.width()
}

fn padded(text: &str, width: usize, at_right: bool) -> String {
    let padding = " ".repeat(width.saturating_sub(columns(text)));
    if at_right { padding + text } else { text.to_owned() + &padding }
}
