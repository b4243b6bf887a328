//! A report as one HTML page that needs nothing else: no network, no font, no file beside it.
//!
//! The page reads without its script, which only switches between light and dark and hides lines without counts. Every
//! figure carries its data in a table, so that nothing is told by a picture alone.
//!
//! Its content security policy lets the browser run that one script and load nothing, whatever an input has brought into
//! the page.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use warplens_base::{Keep, visible};

use super::number::show;
use super::svg;
use crate::figure::Figure;
use crate::section::{Block, Cell, Column, Field, Listing, Plot, Section, Table};

const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");

/// Hundredths by which the hottest line of a listing is shaded: it still lets its text be read.
const SHADES: u32 = 45;

/// The looks of a page and of [`sections`] and [`figure`] in another one.
///
/// The shades of lines are classes, so that a page may forbid styles of single elements.
pub fn style() -> String {
    let shades = (1..=SHADES).map(|shade| format!(".h{shade}{{background:rgba(var(--hot),.{shade:02})}}"));
    format!("{STYLE}{}\n", shades.collect::<String>())
}

/// A page of several parts.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Page {
    /// Heading and title.
    pub title: String,
    /// A sentence under the heading; empty for none.
    pub lead: String,
    /// The parts, which the page lists at its top.
    pub parts: Vec<Part>,
    /// The same as a JSON document, which the page lets its reader save; empty for none.
    pub data: String,
}

/// A part of a page.
#[derive(Clone, PartialEq, Debug)]
pub struct Part {
    /// Stable name, for anchors.
    pub id: String,
    /// Heading.
    pub title: String,
    /// Tables and texts.
    pub sections: Vec<Section>,
    /// Pictures after them.
    pub figures: Vec<Figure>,
    /// Shows the titles of the sections only, until the reader opens one.
    pub folded: bool,
}

impl Page {
    /// The page as text.
    pub fn html(&self) -> String {
        let title = escaped(&self.title);
        let links: String = self
            .parts
            .iter()
            .map(|part| format!("<a href=\"#{}\">{}</a>\n", escaped(&part.id), escaped(&part.title)))
            .collect();
        let lead = if self.lead.is_empty() {
            String::new()
        } else {
            format!("<p class=\"lead\">{}</p>\n", escaped(&self.lead))
        };
        let parts: String = self.parts.iter().map(part_html).collect();
        // Nothing in the document ends the element that holds it.
        let data = self.data.replace("</", "<\\/").replace("<!--", "<\\u0021--");
        let data = if data.is_empty() {
            data
        } else {
            format!("<script id=\"data\" type=\"application/json\">\n{data}</script>\n")
        };
        let (policy, style) = (policy(), style());
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n<title>{title}</title>\n\
             <meta name=\"viewport\" content=\"width=device-width\">\n<link rel=\"icon\" href=\"data:,\">\n\
             <style>\n{style}</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to content</a>\n\
             <nav aria-label=\"Parts\">\n{links}<span class=\"buttons\"><button id=\"save\" type=\"button\" hidden>Save data</button>\n\
             <button id=\"theme\" type=\"button\" hidden></button></span>\n</nav>\n\
             <main id=\"main\">\n<h1>{title}</h1>\n{lead}{parts}</main>\n{data}<script>\n{SCRIPT}</script>\n</body>\n</html>\n"
        )
    }
}

/// What the page may do (Content Security Policy, level 3): be styled by itself, show the pictures in it, run its script.
fn policy() -> String {
    // The browser takes the hash of all that stands between the tags.
    let script = STANDARD.encode(Sha256::digest(format!("\n{SCRIPT}")));
    format!(
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{script}'; \
         base-uri 'none'; form-action 'none'"
    )
}

/// Renders sections as a page with a title.
pub fn html(title: &str, sections: &[Section]) -> String {
    let part = |section: &Section| Part {
        id: section.id.to_owned(),
        title: section.title.clone(),
        sections: vec![Section { title: String::new(), ..section.clone() }],
        figures: Vec::new(),
        folded: false,
    };
    Page {
        title: title.to_owned(),
        lead: String::new(),
        parts: sections.iter().map(part).collect(),
        data: String::new(),
    }
    .html()
}

fn part_html(part: &Part) -> String {
    let heading = if part.title.is_empty() { String::new() } else { format!("<h2>{}</h2>\n", escaped(&part.title)) };
    let section = if part.folded { folded_html } else { section_html };
    let sections: String = part.sections.iter().map(section).collect();
    let figures: String = part.figures.iter().map(figure).collect();
    let figures = if figures.is_empty() { figures } else { format!("<div class=\"figures\">\n{figures}</div>\n") };
    format!("<section id=\"{}\">\n{heading}{sections}{figures}</section>\n", escaped(&part.id))
}

/// Sections as a part of another page that has the [`style`].
pub fn sections(sections: &[Section]) -> String {
    sections.iter().map(section_html).collect()
}

fn section_html(section: &Section) -> String {
    let blocks: String = section.blocks.iter().map(block_html).collect();
    let title = &section.title;
    let heading = if title.is_empty() { String::new() } else { format!("<h3>{}</h3>\n", escaped(title)) };
    format!("{heading}{blocks}")
}

/// The same with titles only, until a reader opens one.
pub fn folded(sections: &[Section]) -> String {
    sections.iter().map(folded_html).collect()
}

fn folded_html(section: &Section) -> String {
    let blocks: String = section.blocks.iter().map(block_html).collect();
    format!("<details><summary>{}</summary>\n{blocks}</details>\n", escaped(&section.title))
}

fn block_html(block: &Block) -> String {
    match block {
        Block::Fields(fields) => fields_html(fields),
        Block::Table(table) => format!("<div class=\"scroll\">\n{}</div>\n", table_html(table)),
        Block::Note(note) => note_html(note),
        Block::Lines(text) => format!("<pre tabindex=\"0\">{}</pre>\n", escaped(text)),
        Block::Command(command) => {
            format!("<p>Next:</p>\n<pre tabindex=\"0\">{}</pre>\n", escaped(command))
        }
        Block::Plot(plot) => plot_html(plot),
        Block::Listing(listing) => listing_html(listing),
    }
}

/// Lines that begin with a dash are a list.
fn note_html(note: &str) -> String {
    let items = note.lines().map(|line| line.strip_prefix("- ")).collect::<Option<Vec<&str>>>();
    match items {
        Some(items) => {
            let items: String = items.iter().map(|item| format!("<li>{}</li>\n", escaped(item))).collect();
            format!("<ul>\n{items}</ul>\n")
        }
        None => format!("<p>{}</p>\n", escaped(note).replace('\n', "<br>\n")),
    }
}

fn fields_html(fields: &[Field]) -> String {
    let row = |field: &Field| {
        let remark = field.remark.as_ref().map(|remark| format!(" <span class=\"r\">({})</span>", escaped(remark)));
        let (name, value) = (escaped(&field.name), escaped(&show(&field.value)));
        format!("<dt>{name}</dt><dd>{value}{}</dd>\n", remark.unwrap_or_default())
    };
    format!("<dl>\n{}</dl>\n", fields.iter().map(row).collect::<String>())
}

fn table_html(table: &Table) -> String {
    let is_numeric = |at: usize| {
        table.rows.iter().map(|row| &row[at]).find(|cell| **cell != Cell::Missing).is_some_and(Cell::is_numeric)
    };
    let rows: String =
        table.rows.iter().map(|row| format!("<tr>{}</tr>\n", row.iter().map(cell_html).collect::<String>())).collect();
    format!("<table>\n<tr>{}</tr>\n{rows}</table>\n", headings(&table.columns, is_numeric))
}

fn headings(columns: &[Column], is_numeric: impl Fn(usize) -> bool) -> String {
    let heading = |(at, column): (usize, &Column)| {
        let class = if is_numeric(at) { " class=\"n\"" } else { "" };
        format!("<th scope=\"col\"{class}>{}</th>", escaped(&column.title))
    };
    columns.iter().enumerate().map(heading).collect()
}

fn cell_html(cell: &Cell) -> String {
    let class = if cell.is_numeric() { " class=\"n\"" } else { "" };
    format!("<td{class}>{}</td>", escaped(&show(cell)))
}

fn listing_html(listing: &Listing) -> String {
    let row = |line: &crate::ListedLine| {
        let shade = (line.heat.clamp(0.0, 1.0) * f64::from(SHADES)).round();
        let class = match line.cells.is_empty() {
            true => " class=\"none\"".to_owned(),
            false if shade > 0.0 => format!(" class=\"h{shade}\""),
            false => String::new(),
        };
        let cells: String = match line.cells.as_slice() {
            [] => "<td></td>".repeat(listing.columns.len()),
            cells => cells.iter().map(cell_html).collect(),
        };
        format!("<tr{class}><td>{}</td>{cells}<td>{}</td></tr>\n", line.number, escaped(&line.text))
    };
    let rows: String = listing.lines.iter().map(row).collect();
    let name = escaped(&listing.name);
    format!(
        "<p class=\"tools\" hidden><label><input type=\"checkbox\"> only lines with counts</label></p>\n\
         <div class=\"listing\" tabindex=\"0\" role=\"region\" aria-label=\"{name}\">\n<table>\n\
         <tr><th class=\"n\" scope=\"col\">line</th>{}<th scope=\"col\">{name}</th></tr>\n{rows}</table>\n</div>\n",
        headings(&listing.columns, |_| true)
    )
}

fn plot_html(plot: &Plot) -> String {
    const ROW: usize = 22;
    const WIDTH: f64 = 360.0;
    // Wide enough for the longest name in most fonts of 12 pixels.
    let longest = plot.bars.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let left = (longest as f64 * 6.8 + 12.0).max(190.0);
    let full = plot.full.unwrap_or_else(|| plot.bars.iter().map(|(_, value)| *value).fold(0.0, f64::max));
    let bars: String = plot
        .bars
        .iter()
        .enumerate()
        .map(|(at, (name, value))| {
            let share = if full > 0.0 { (value / full).clamp(0.0, 1.0) } else { 0.0 };
            let (y, length) = (at * ROW, share * WIDTH);
            let shown = escaped(&show(&Cell::Number(*value, plot.unit)));
            format!(
                "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text><rect x=\"{left:.0}\" y=\"{}\" width=\"{length:.1}\" \
                 height=\"14\"/><text x=\"{:.1}\" y=\"{}\">{shown}</text>\n",
                left - 8.0,
                y + 15,
                escaped(name),
                y + 4,
                left + length + 6.0,
                y + 15
            )
        })
        .collect();
    let height = plot.bars.len() * ROW;
    let (title, width) = (escaped(&plot.title), left + WIDTH + 110.0);
    format!(
        "<p>{title}</p>\n<div class=\"scroll\">\n<svg class=\"bars\" width=\"{width:.0}\" height=\"{height}\" role=\"img\" aria-label=\"{title}\">\n\
         {bars}</svg>\n</div>\n"
    )
}

/// A picture with its data, as a part of another page.
pub fn figure(figure: &Figure) -> String {
    let tables = crate::view::figure::data(figure).blocks;
    let tables = tables.iter().filter(|block| matches!(block, Block::Table(_))).map(block_html).collect::<String>();
    let data = format!("<details><summary>Data of this picture</summary>\n{tables}</details>\n");
    // Panels beside each other take the whole width, so that their text stays large enough to read.
    let class = if figure.columns > 1 { " class=\"wide\"" } else { "" };
    let (id, picture) = (escaped(&figure.id), svg::figure(figure));
    format!("<figure id=\"figure-{id}\"{class}>\n<div class=\"scroll\">\n{picture}\n</div>\n{data}</figure>\n")
}

/// A text as HTML: for pages that name what an input names.
pub fn escaped(text: &str) -> String {
    visible(text, Keep::Lines).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
