//! One HTML page that needs nothing else: no script, no font, no network.

use super::number::show;
use crate::section::{Block, Cell, Field, Plot, Section, Table};

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;\
background:#fff}h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}table{border-collapse:collapse}\
th,td{padding:.2rem .8rem .2rem 0;text-align:left;border-bottom:1px solid #d8dee4}td.n{text-align:right;\
font-variant-numeric:tabular-nums}dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1.5rem}dd{margin:0}\
.r{color:#656d76}rect{fill:#0969da}text{font:12px system-ui,sans-serif;fill:currentColor}\
@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}th,td{border-color:#30363d}}";

/// Renders sections as a page with a title.
pub fn html(title: &str, sections: &[Section]) -> String {
    let body: String = sections.iter().map(render).collect();
    let title = escaped(title);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>{title}</title>\
         <meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style></head>\n<body>\n<h1>{title}</h1>\n\
         {body}</body>\n</html>\n"
    )
}

fn render(section: &Section) -> String {
    let blocks: String = section
        .blocks
        .iter()
        .map(|block| match block {
            Block::Fields(fields) => fields_html(fields),
            Block::Table(table) => table_html(table),
            Block::Note(note) => format!("<p>{}</p>\n", escaped(note)),
            Block::Lines(text) => format!("<pre>{}</pre>\n", escaped(text)),
            Block::Plot(plot) => plot_html(plot),
        })
        .collect();
    let heading =
        if section.title.is_empty() { String::new() } else { format!("<h2>{}</h2>\n", escaped(&section.title)) };
    format!("<section id=\"{}\">\n{heading}{blocks}</section>\n", section.id)
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
    let headings: String = table.columns.iter().map(|column| format!("<th>{}</th>", escaped(&column.title))).collect();
    let cell = |cell: &Cell| {
        let class = if cell.is_numeric() { " class=\"n\"" } else { "" };
        format!("<td{class}>{}</td>", escaped(&show(cell)))
    };
    let rows: String =
        table.rows.iter().map(|row| format!("<tr>{}</tr>\n", row.iter().map(cell).collect::<String>())).collect();
    format!("<table>\n<tr>{headings}</tr>\n{rows}</table>\n")
}

fn plot_html(plot: &Plot) -> String {
    const ROW: usize = 22;
    const LEFT: f64 = 170.0;
    const WIDTH: f64 = 380.0;
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
                "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text><rect x=\"{LEFT}\" y=\"{}\" width=\"{length:.1}\" \
                 height=\"14\"/><text x=\"{:.1}\" y=\"{}\">{shown}</text>\n",
                LEFT - 8.0,
                y + 15,
                escaped(name),
                y + 4,
                LEFT + length + 6.0,
                y + 15
            )
        })
        .collect();
    let height = plot.bars.len() * ROW;
    let title = escaped(&plot.title);
    format!(
        "<p>{title}</p>\n<svg width=\"640\" height=\"{height}\" role=\"img\" aria-label=\"{title}\">\n{bars}</svg>\n"
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
