//! Neutral content of a picture, as [`Section`](crate::Section) is of a table. Numbers keep their units; only a renderer
//! rounds, scales and places them.
//!
//! A figure is one or more panels with a title, a caption and one legend. A panel has axes, [`Series`] (the data, which
//! are exported) and [`Mark`]s (what helps to read them: reference lines, regions, bands, notes).
//!
//! ```
//! use warplens_report::figure::{Axis, Dash, Figure, Mark, Panel, Scale, Series};
//!
//! let panel = Panel::new(Axis::new("threads in memory", "warps"), Axis::new("throughput", "requests/cycle"))
//!     .series(Series::line("f(k)", vec![(0.0, 0.0), (24.0, 0.1), (48.0, 0.1)]))
//!     .series(Series::line("f(k) with twice R", vec![(0.0, 0.0), (48.0, 0.2)]).colored(0).dashed(Dash::Dashed))
//!     .mark(Mark::vertical(24.0, "δ"))
//!     .mark(Mark::columns(24.0, 48.0, "memory bound"));
//! let figure = Figure::new("f-family", "Supply of the memory system", panel).caption("One SM of an H200.");
//! assert!(figure.check().is_ok());
//! ```
//!
//! Colours, dashes, markers and hatches are given out in the order of the series, all different, so that the figure reads
//! without colours too; [`Series::colored`] and its siblings choose them where two series belong together.

/// A picture: panels under one title, with one legend.
#[derive(Clone, PartialEq, Debug)]
pub struct Figure {
    /// Stable name of lower-case letters and dashes, for anchors and file names.
    pub id: String,
    /// Heading.
    pub title: String,
    /// A sentence or two on what is shown and how to read it; empty where nothing needs to be said.
    pub caption: String,
    /// The panels, in reading order.
    pub panels: Vec<Panel>,
    /// Panels beside each other.
    pub columns: usize,
}

/// Axes with what is drawn between them.
#[derive(Clone, PartialEq, Debug)]
pub struct Panel {
    /// Heading; empty where the figure's own is enough.
    pub title: String,
    /// The axis below.
    pub x: Axis,
    /// The axis at the left.
    pub y: Axis,
    /// The axis at the right, for series that say so.
    pub right: Option<Axis>,
    /// The data, drawn in this order.
    pub series: Vec<Series>,
    /// What helps to read the data, drawn behind them.
    pub marks: Vec<Mark>,
}

/// A direction with its unit.
#[derive(Clone, PartialEq, Debug)]
pub struct Axis {
    /// What is measured along it.
    pub label: String,
    /// In which unit; empty for a plain number.
    pub unit: String,
    /// How numbers become places.
    pub scale: Scale,
    /// First and last value; from the data where there are none.
    pub range: Option<(f64, f64)>,
}

/// How numbers become places.
#[derive(Clone, PartialEq, Debug)]
pub enum Scale {
    /// Equal differences are equal distances. Zero is shown where it costs little room.
    Linear,
    /// Fractions of 1, shown in percent.
    Percent,
    /// Equal factors are equal distances; values above 0 only, ticks at powers of 10.
    Log10,
    /// The same with ticks at powers of 2.
    Log2,
    /// Names at 0, 1, 2, and so on; for a vertical axis from the top down. A line feed parts a name.
    Names(Vec<String>),
}

/// Data under one name of the legend.
#[derive(Clone, PartialEq, Debug)]
pub struct Series {
    /// Name in the legend and in exports; empty for none in the legend.
    pub name: String,
    /// The data.
    pub data: Data,
    /// The vertical axis that it is measured on.
    pub side: Side,
    /// Looks, as far as they are chosen.
    pub look: Look,
}

/// The data of a series.
#[derive(Clone, PartialEq, Debug)]
pub enum Data {
    /// Points joined by straight lines.
    Line(Vec<(f64, f64)>),
    /// Points joined by stairs: a value holds until the next point.
    Step(Vec<(f64, f64)>),
    /// Points by themselves.
    Points(Vec<Point>),
    /// One bar for each name of the horizontal axis.
    Bars {
        /// Heights; none where there is no value.
        values: Vec<Option<f64>>,
        /// Series of one stack stand on each other; different stacks stand beside each other.
        stack: usize,
    },
    /// Fields of a heat map; both axes have names.
    Cells(Vec<HeatCell>),
    /// Pieces of the lanes that the vertical axis names, as in a timeline.
    Segments(Vec<Segment>),
}

/// A point by itself.
#[derive(Clone, PartialEq, Debug)]
pub struct Point {
    /// Where, to the right.
    pub x: f64,
    /// Where, upwards.
    pub y: f64,
    /// A name beside it; empty for none.
    pub label: String,
    /// Drawn hollow, as for an unstable state or a refused value.
    pub hollow: bool,
}

/// A field of a heat map.
#[derive(Clone, PartialEq, Debug)]
pub struct HeatCell {
    /// Number of its name on the horizontal axis.
    pub column: usize,
    /// Number of its name on the vertical axis.
    pub row: usize,
    /// The value that colours it; none where there is no value.
    pub value: Option<f64>,
    /// What is written in it.
    pub label: String,
    /// Drawn with a frame, as for the best one.
    pub framed: bool,
}

/// A piece of a lane.
#[derive(Clone, PartialEq, Debug)]
pub struct Segment {
    /// Number of the lane's name on the vertical axis.
    pub lane: usize,
    /// Where it begins.
    pub start: f64,
    /// Where it ends.
    pub end: f64,
    /// What is written in it where there is room.
    pub label: String,
}

/// One of the vertical axes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Side {
    /// The axis at the left.
    #[default]
    Left,
    /// The axis at the right.
    Right,
}

/// Chosen looks; what is not chosen differs from series to series.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Look {
    /// Number of a colour.
    pub color: Option<usize>,
    /// Dashes of a line.
    pub dash: Option<Dash>,
    /// Shape of points.
    pub marker: Option<Marker>,
    /// Strokes over an area.
    pub hatch: Option<Hatch>,
}

/// Dashes of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dash {
    /// None.
    Solid,
    /// Long ones.
    Dashed,
    /// Dots.
    Dotted,
    /// Long ones and dots by turns.
    DashDotted,
    /// Very long ones.
    LongDashed,
}

/// Shape of a point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Marker {
    /// A disc.
    Circle,
    /// A square.
    Square,
    /// A triangle that points up.
    Triangle,
    /// A square on its corner.
    Diamond,
    /// A triangle that points down.
    Down,
    /// A lying cross.
    Cross,
    /// A standing cross.
    Plus,
}

/// Strokes over an area.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hatch {
    /// None.
    Plain,
    /// Rising to the right.
    Rising,
    /// Falling to the right.
    Falling,
    /// Both.
    Crossed,
    /// Level.
    Level,
    /// Upright.
    Upright,
    /// Dots.
    Dotted,
}

/// What helps to read the data.
#[derive(Clone, PartialEq, Debug)]
pub enum Mark {
    /// An upright line.
    Vertical {
        /// Where.
        x: f64,
        /// Its name, which stands above the panel.
        label: String,
    },
    /// A level line.
    Horizontal {
        /// Where, on the left axis.
        y: f64,
        /// Its name, which stands at the right of the panel.
        label: String,
    },
    /// A shaded region over the whole height.
    Columns {
        /// Its left end; may be negative infinity.
        from: f64,
        /// Its right end; may be infinity.
        to: f64,
        /// Its name, inside.
        label: String,
    },
    /// A shaded region over the whole width.
    Rows {
        /// Its lower end; may be negative infinity.
        from: f64,
        /// Its upper end; may be infinity.
        to: f64,
        /// Its name, inside.
        label: String,
    },
    /// The line `y = factor x`.
    Diagonal {
        /// The factor, above 0.
        factor: f64,
        /// Its name, in the legend; empty for none.
        label: String,
    },
    /// The shaded region between two such lines.
    Band {
        /// The lower factor, above 0.
        from: f64,
        /// The higher factor.
        to: f64,
        /// Its name, in the legend; empty for none.
        label: String,
    },
    /// Words at a place.
    Note {
        /// Where, to the right.
        x: f64,
        /// Where, upwards, on the left axis.
        y: f64,
        /// The words.
        text: String,
    },
    /// An arrow from one place to another, as from before to after.
    Arrow {
        /// Where it begins.
        from: (f64, f64),
        /// Where it points.
        to: (f64, f64),
        /// Words at its middle; empty for none.
        label: String,
    },
}

/// Why a figure cannot be drawn as it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flaw(String);

impl std::fmt::Display for Flaw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Flaw {}

impl Figure {
    /// A figure of one panel, without a caption.
    pub fn new(id: impl Into<String>, title: impl Into<String>, panel: Panel) -> Self {
        Self::of_panels(id, title, vec![panel], 1)
    }

    /// A figure of several panels, `columns` beside each other.
    pub fn of_panels(id: impl Into<String>, title: impl Into<String>, panels: Vec<Panel>, columns: usize) -> Self {
        Self { id: id.into(), title: title.into(), caption: String::new(), panels, columns: columns.max(1) }
    }

    /// Sets the caption.
    pub fn caption(mut self, caption: impl Into<String>) -> Self {
        self.caption = caption.into();
        self
    }

    /// Refuses data that have no place: NaN and infinite values, values that a logarithmic axis does not have, names that
    /// an axis lacks, and figures without any data. The renderers leave such data out.
    pub fn check(&self) -> Result<(), Flaw> {
        self.panels.iter().try_for_each(Panel::check)?;
        let is_empty = self.panels.iter().flat_map(|panel| &panel.series).all(|series| series.data.is_empty());
        if is_empty { Err(Flaw(format!("figure {} has no data", self.id))) } else { Ok(()) }
    }
}

impl Panel {
    /// A panel without data.
    pub fn new(x: Axis, y: Axis) -> Self {
        Self { title: String::new(), x, y, right: None, series: Vec::new(), marks: Vec::new() }
    }

    /// Sets the heading.
    pub fn titled(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Adds an axis at the right.
    pub fn right(mut self, axis: Axis) -> Self {
        self.right = Some(axis);
        self
    }

    /// Adds data.
    pub fn series(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    /// Adds a mark.
    pub fn mark(mut self, mark: Mark) -> Self {
        self.marks.push(mark);
        self
    }

    /// The axis on which a series is measured upwards.
    pub fn axis(&self, side: Side) -> &Axis {
        match side {
            Side::Left => &self.y,
            Side::Right => self.right.as_ref().unwrap_or(&self.y),
        }
    }

    fn check(&self) -> Result<(), Flaw> {
        for series in &self.series {
            let y = self.axis(series.side);
            let flaw = |axis: &Axis, value: f64| {
                Flaw(format!(
                    "series `{}` has the value {value}, which the axis `{}` cannot show",
                    series.name, axis.label
                ))
            };
            for (x_value, y_value) in series.data.places() {
                if !self.x.scale.has(x_value) {
                    return Err(flaw(&self.x, x_value));
                }
                if !y.scale.has(y_value) {
                    return Err(flaw(y, y_value));
                }
            }
        }
        Ok(())
    }
}

impl Axis {
    /// A linear axis.
    pub fn new(label: impl Into<String>, unit: impl Into<String>) -> Self {
        Self { label: label.into(), unit: unit.into(), scale: Scale::Linear, range: None }
    }

    /// An axis of names.
    pub fn names<N: Into<String>>(label: impl Into<String>, names: impl IntoIterator<Item = N>) -> Self {
        Self::new(label, "").scaled(Scale::Names(names.into_iter().map(Into::into).collect()))
    }

    /// Sets the scale.
    pub fn scaled(mut self, scale: Scale) -> Self {
        self.scale = scale;
        self
    }

    /// Sets the first and last value.
    pub fn range(mut self, first: f64, last: f64) -> Self {
        self.range = Some((first, last));
        self
    }

    /// What is measured, with the unit, as it stands at the axis.
    pub fn heading(&self) -> String {
        let unit = if self.scale == Scale::Percent { "%" } else { &self.unit };
        match (self.label.is_empty(), unit.is_empty()) {
            (_, true) => self.label.clone(),
            (true, false) => unit.to_owned(),
            (false, false) => format!("{} ({unit})", self.label),
        }
    }
}

impl Scale {
    /// True where the scale has a place for the value.
    pub fn has(&self, value: f64) -> bool {
        match self {
            Self::Linear | Self::Percent => value.is_finite(),
            Self::Log10 | Self::Log2 => value.is_finite() && value > 0.0,
            Self::Names(names) => value >= 0.0 && value < names.len() as f64 && value.fract() == 0.0,
        }
    }
}

impl Series {
    /// A series with looks of its own.
    pub fn new(name: impl Into<String>, data: Data) -> Self {
        Self { name: name.into(), data, side: Side::Left, look: Look::default() }
    }

    /// Points joined by straight lines.
    pub fn line(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self::new(name, Data::Line(points))
    }

    /// Points joined by stairs.
    pub fn step(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self::new(name, Data::Step(points))
    }

    /// Points by themselves.
    pub fn points(name: impl Into<String>, points: Vec<Point>) -> Self {
        Self::new(name, Data::Points(points))
    }

    /// Bars beside those of other stacks, on those of the same stack.
    pub fn bars(name: impl Into<String>, values: Vec<Option<f64>>, stack: usize) -> Self {
        Self::new(name, Data::Bars { values, stack })
    }

    /// Pieces of lanes.
    pub fn segments(name: impl Into<String>, segments: Vec<Segment>) -> Self {
        Self::new(name, Data::Segments(segments))
    }

    /// Fields of a heat map.
    pub fn cells(name: impl Into<String>, cells: Vec<HeatCell>) -> Self {
        Self::new(name, Data::Cells(cells))
    }

    /// Measures it on the axis at the right.
    pub fn on_right(mut self) -> Self {
        self.side = Side::Right;
        self
    }

    /// Chooses the colour by its number.
    pub fn colored(mut self, color: usize) -> Self {
        self.look.color = Some(color);
        self
    }

    /// Chooses the dashes.
    pub fn dashed(mut self, dash: Dash) -> Self {
        self.look.dash = Some(dash);
        self
    }

    /// Chooses the shape of points.
    pub fn marked(mut self, marker: Marker) -> Self {
        self.look.marker = Some(marker);
        self
    }

    /// Chooses the strokes over areas.
    pub fn hatched(mut self, hatch: Hatch) -> Self {
        self.look.hatch = Some(hatch);
        self
    }
}

impl Data {
    /// True without a single value.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Line(points) | Self::Step(points) => points.is_empty(),
            Self::Points(points) => points.is_empty(),
            Self::Bars { values, .. } => values.iter().all(Option::is_none),
            Self::Cells(cells) => cells.is_empty(),
            Self::Segments(segments) => segments.is_empty(),
        }
    }

    /// Name of the kind in exports.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Line(_) => "line",
            Self::Step(_) => "step",
            Self::Points(_) => "points",
            Self::Bars { .. } => "bars",
            Self::Cells(_) => "cells",
            Self::Segments(_) => "segments",
        }
    }

    /// Every pair of values that needs a place on the axes.
    pub(crate) fn places(&self) -> Vec<(f64, f64)> {
        match self {
            Self::Line(points) | Self::Step(points) => points.clone(),
            Self::Points(points) => points.iter().map(|point| (point.x, point.y)).collect(),
            Self::Bars { values, .. } => {
                let bars = values.iter().enumerate();
                bars.filter_map(|(at, value)| value.map(|value| (at as f64, value))).collect()
            }
            Self::Cells(cells) => cells.iter().map(|cell| (cell.column as f64, cell.row as f64)).collect(),
            Self::Segments(segments) => {
                let ends = |segment: &Segment| [segment.start, segment.end].map(|x| (x, segment.lane as f64));
                segments.iter().flat_map(ends).collect()
            }
        }
    }
}

impl Point {
    /// A point without a name.
    pub fn new(x: f64, y: f64) -> Self {
        Self { x, y, label: String::new(), hollow: false }
    }

    /// Writes a name beside it.
    pub fn labeled(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Draws it hollow.
    pub fn hollow(mut self) -> Self {
        self.hollow = true;
        self
    }
}

impl Mark {
    /// An upright line with its name.
    pub fn vertical(x: f64, label: impl Into<String>) -> Self {
        Self::Vertical { x, label: label.into() }
    }

    /// A level line with its name.
    pub fn horizontal(y: f64, label: impl Into<String>) -> Self {
        Self::Horizontal { y, label: label.into() }
    }

    /// A region over the whole height.
    pub fn columns(from: f64, to: f64, label: impl Into<String>) -> Self {
        Self::Columns { from, to, label: label.into() }
    }

    /// A region over the whole width.
    pub fn rows(from: f64, to: f64, label: impl Into<String>) -> Self {
        Self::Rows { from, to, label: label.into() }
    }

    /// The line `y = factor x`.
    pub fn diagonal(factor: f64, label: impl Into<String>) -> Self {
        Self::Diagonal { factor, label: label.into() }
    }

    /// The region between `y = from x` and `y = to x`.
    pub fn band(from: f64, to: f64, label: impl Into<String>) -> Self {
        Self::Band { from, to, label: label.into() }
    }

    /// Words at a place.
    pub fn note(x: f64, y: f64, text: impl Into<String>) -> Self {
        Self::Note { x, y, text: text.into() }
    }

    /// An arrow.
    pub fn arrow(from: (f64, f64), to: (f64, f64), label: impl Into<String>) -> Self {
        Self::Arrow { from, to, label: label.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flaw(x: Scale, y: Scale, data: Data) -> String {
        let panel =
            Panel::new(Axis::new("x", "").scaled(x), Axis::new("y", "").scaled(y)).series(Series::new("s", data));
        Figure::new("f", "F", panel).check().err().map(|flaw| flaw.to_string()).unwrap_or_default()
    }

    #[test]
    fn values_without_a_place_are_refused() {
        let line = |x: f64, y: f64| Data::Line(vec![(1.0, 1.0), (x, y)]);
        assert_eq!(flaw(Scale::Linear, Scale::Linear, line(-1.0, 0.0)), "");
        assert_eq!(
            flaw(Scale::Linear, Scale::Linear, line(f64::NAN, 0.0)),
            "series `s` has the value NaN, which the axis `x` cannot show"
        );
        assert_eq!(
            flaw(Scale::Linear, Scale::Log10, line(2.0, 0.0)),
            "series `s` has the value 0, which the axis `y` cannot show"
        );
        let names = || Scale::Names(vec!["a".into(), "b".into()]);
        assert_eq!(flaw(names(), Scale::Linear, Data::Bars { values: vec![Some(1.0), None], stack: 0 }), "");
        assert_eq!(
            flaw(names(), Scale::Linear, Data::Bars { values: vec![Some(1.0), None, Some(2.0)], stack: 0 }),
            "series `s` has the value 2, which the axis `x` cannot show"
        );
        assert_eq!(flaw(Scale::Linear, Scale::Linear, Data::Points(Vec::new())), "figure f has no data");
    }

    #[test]
    fn an_axis_names_its_unit() {
        assert_eq!(Axis::new("time", "us").heading(), "time (us)");
        assert_eq!(Axis::new("time", "").heading(), "time");
        assert_eq!(Axis::new("occupancy", "").scaled(Scale::Percent).heading(), "occupancy (%)");
    }
}
