//! Neutral content of a report. Cells keep numbers and units; only renderers round.

pub(crate) mod visible;

use warplens_session::predict;

/// A part of a report with a title of its own.
#[derive(Clone, PartialEq, Debug)]
pub struct Section {
    /// Stable name, for anchors and selection.
    pub id: &'static str,
    /// Heading; empty where the section needs none.
    pub title: String,
    /// Content, in order.
    pub blocks: Vec<Block>,
}

/// A piece of a section.
#[derive(Clone, PartialEq, Debug)]
pub enum Block {
    /// Names with values.
    Fields(Vec<Field>),
    /// Rows under headings.
    Table(Table),
    /// A sentence or two.
    Note(String),
    /// Text whose lines and blanks matter.
    Lines(String),
    /// The command to type next, which can be copied.
    Command(String),
    /// Values to be compared at a glance.
    Plot(Plot),
    /// A text with numbers beside its lines.
    Listing(Listing),
}

/// A text with numbers beside its lines.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Listing {
    /// What messages call the text.
    pub name: String,
    /// Headings of the numbers.
    pub columns: Vec<Column>,
    /// The lines, in order; some may be left out.
    pub lines: Vec<ListedLine>,
}

/// A line of a [`Listing`].
#[derive(Clone, PartialEq, Debug)]
pub struct ListedLine {
    /// Its number, from 1.
    pub number: u32,
    /// The text.
    pub text: String,
    /// Numbers beside it, one for each column; empty for lines without.
    pub cells: Vec<Cell>,
    /// How hot the line is, as a share of the hottest.
    pub heat: f64,
}

/// A name with its value.
#[derive(Clone, PartialEq, Debug)]
pub struct Field {
    /// The name.
    pub name: String,
    /// The value.
    pub value: Cell,
    /// What else to say about it.
    pub remark: Option<String>,
}

/// Rows under headings.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Table {
    /// Headings.
    pub columns: Vec<Column>,
    /// Rows, each as long as `columns`.
    pub rows: Vec<Vec<Cell>>,
}

/// Heading of a column.
#[derive(Clone, PartialEq, Debug)]
pub struct Column {
    /// What people read.
    pub title: String,
    /// What programs read: the name in CSV, with the unit, as in `time_us`.
    pub key: String,
}

/// Values to be compared at a glance.
#[derive(Clone, PartialEq, Debug)]
pub struct Plot {
    /// What is shown.
    pub title: String,
    /// Names and values; not negative.
    pub bars: Vec<(String, f64)>,
    /// Unit of the values.
    pub unit: Unit,
    /// Length of a full bar; the largest value where there is none.
    pub full: Option<f64>,
}

/// A value with its unit.
#[derive(Clone, PartialEq, Debug)]
pub enum Cell {
    /// Words.
    Text(String),
    /// A whole number of things.
    Count(u64),
    /// A measure.
    Number(f64, Unit),
    /// Nothing is known, or it does not apply.
    Missing,
}

/// Unit of a number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Unit {
    /// None: a ratio or a mean count.
    One,
    /// Microseconds.
    Microseconds,
    /// Seconds.
    Seconds,
    /// Cycles of an SM's clock.
    Cycles,
    /// A share, held as a fraction of 1.
    Share,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    BytesPerSecond,
    /// Floating-point operations per second.
    FlopPerSecond,
    /// Cycles per second.
    Hertz,
    /// Another, by its symbol.
    Named(&'static str),
}

impl From<predict::Unit> for Unit {
    fn from(unit: predict::Unit) -> Self {
        match unit {
            predict::Unit::One => Self::One,
            predict::Unit::Cycles => Self::Cycles,
            predict::Unit::Bytes => Self::Bytes,
            predict::Unit::BytesPerSecond => Self::BytesPerSecond,
            predict::Unit::Hertz => Self::Hertz,
            predict::Unit::BytesPerCycle
            | predict::Unit::PerCycle
            | predict::Unit::PerClk
            | predict::Unit::InstructionsPerCycle
            | predict::Unit::OperationsPerCycle
            | predict::Unit::RequestsPerCycle
            | predict::Unit::Threads
            | predict::Unit::Warps
            | predict::Unit::WarpsPerSm
            | predict::Unit::WarpInstructionsPerCycle
            | predict::Unit::RequestsPerCyclePerSm => Self::Named(unit.symbol()),
        }
    }
}

impl Cell {
    /// Words.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A number that may be missing.
    pub fn optional(number: Option<f64>, unit: Unit) -> Self {
        number.map_or(Self::Missing, |number| Self::Number(number, unit))
    }

    /// True for numbers, which stand at the right of a column.
    pub const fn is_numeric(&self) -> bool {
        matches!(self, Self::Count(_) | Self::Number(..))
    }
}

impl Column {
    /// A heading and its key.
    pub fn new(title: &str, key: &str) -> Self {
        Self { title: title.to_owned(), key: key.to_owned() }
    }
}

impl Table {
    /// A table without rows.
    pub fn new(columns: &[(&str, &str)]) -> Self {
        Self { columns: columns.iter().map(|(title, key)| Column::new(title, key)).collect(), rows: Vec::new() }
    }

    /// Appends a row.
    pub fn push(&mut self, row: Vec<Cell>) {
        assert_eq!(row.len(), self.columns.len(), "a row has a cell for each column");
        self.rows.push(row);
    }
}

impl Listing {
    /// The same as a table: line number, numbers, text.
    pub fn as_table(&self) -> Table {
        let ends = [Column::new("line", "line"), Column::new("text", "text")];
        let [number, text] = ends;
        let columns = std::iter::once(number).chain(self.columns.iter().cloned()).chain([text]).collect();
        let row = |line: &ListedLine| {
            let cells = (0..self.columns.len()).map(|at| line.cells.get(at).cloned().unwrap_or(Cell::Missing));
            std::iter::once(Cell::Count(line.number.into())).chain(cells).chain([Cell::text(&line.text)]).collect()
        };
        Table { columns, rows: self.lines.iter().map(row).collect() }
    }
}

impl Section {
    /// A section without content.
    pub fn new(id: &'static str, title: impl Into<String>) -> Self {
        Self { id, title: title.into(), blocks: Vec::new() }
    }

    /// Adds a block.
    pub fn with(mut self, block: Block) -> Self {
        self.blocks.push(block);
        self
    }

    /// Adds a sentence.
    pub fn note(self, text: impl Into<String>) -> Self {
        self.with(Block::Note(text.into()))
    }
}

impl Field {
    /// A name with its value.
    pub fn new(name: impl Into<String>, value: Cell) -> Self {
        Self { name: name.into(), value, remark: None }
    }

    /// Adds a remark.
    pub fn remark(mut self, remark: impl Into<String>) -> Self {
        self.remark = Some(remark.into());
        self
    }
}
