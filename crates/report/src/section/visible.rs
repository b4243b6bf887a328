//! Sections on their way to a terminal: names and lines of inputs come with whatever characters they have.

use warplens_base::{Keep, visible};

use super::{Block, Cell, Column, Field, ListedLine, Listing, Plot, Section, Table};

/// The sections with every character visible that a terminal would obey.
pub(crate) fn all(sections: &[Section]) -> Vec<Section> {
    sections.iter().map(section).collect()
}

fn section(section: &Section) -> Section {
    Section { id: section.id, title: name(&section.title), blocks: section.blocks.iter().map(block).collect() }
}

fn name(text: &str) -> String {
    visible(text, Keep::Tabs).into_owned()
}

fn lines(text: &str) -> String {
    visible(text, Keep::Lines).into_owned()
}

fn block(block: &Block) -> Block {
    match block {
        Block::Fields(fields) => Block::Fields(fields.iter().map(field).collect()),
        Block::Table(one) => Block::Table(table(one)),
        Block::Note(text) => Block::Note(lines(text)),
        Block::Lines(text) => Block::Lines(lines(text)),
        Block::Command(text) => Block::Command(name(text)),
        Block::Plot(plot) => {
            let bars = plot.bars.iter().map(|(text, value)| (name(text), *value)).collect();
            Block::Plot(Plot { title: name(&plot.title), bars, ..plot.clone() })
        }
        Block::Listing(one) => Block::Listing(listing(one)),
    }
}

fn field(field: &Field) -> Field {
    Field { name: name(&field.name), value: cell(&field.value), remark: field.remark.as_deref().map(name) }
}

fn table(table: &Table) -> Table {
    let rows = table.rows.iter().map(|row| row.iter().map(cell).collect()).collect();
    Table { columns: table.columns.iter().map(column).collect(), rows }
}

fn listing(listing: &Listing) -> Listing {
    let line = |line: &ListedLine| ListedLine {
        text: name(&line.text),
        cells: line.cells.iter().map(cell).collect(),
        ..line.clone()
    };
    Listing {
        name: name(&listing.name),
        columns: listing.columns.iter().map(column).collect(),
        lines: listing.lines.iter().map(line).collect(),
    }
}

fn column(column: &Column) -> Column {
    Column::new(&name(&column.title), &name(&column.key))
}

fn cell(cell: &Cell) -> Cell {
    match cell {
        Cell::Text(text) => Cell::Text(name(text)),
        Cell::Count(_) | Cell::Number(..) | Cell::Missing => cell.clone(),
    }
}
