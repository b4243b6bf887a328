//! `warplens.figure/1`: the data of a picture.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words::words;
use crate::{Held, Id, Identified, Number, entry};

pub(crate) const DOCUMENTS: &[crate::Entry] = &[entry::<Figure>("the data of a picture")];

/// The data of a picture, as `warplens plot --format json` writes it. Shares are fractions of 1 here too; the picture shows
/// them in percent.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Name and version of the document.
    pub schema: Id<Self>,
    /// Name of the kind.
    pub id: String,
    /// Heading.
    pub title: String,
    /// What is written below.
    pub caption: String,
    /// The panels.
    pub panels: Vec<Panel>,
}

impl Identified for Figure {
    const ID: &'static str = "warplens.figure/1";
}

/// One system of axes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Panel {
    /// Heading.
    pub title: String,
    /// Axis from left to right.
    pub x: Axis,
    /// Axis on the left.
    pub y: Axis,
    /// Axis on the right.
    pub right: Option<Axis>,
    /// The data.
    pub series: Vec<Series>,
    /// Lines and regions that help to read.
    pub marks: Vec<Mark>,
}

/// An axis.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// What is measured.
    pub label: String,
    /// Its unit.
    pub unit: String,
    /// The scale.
    pub scale: Scale,
    /// The names at 0, 1, 2, ...
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub names: Held<Vec<String>>,
}

words! {
    /// Scale of an axis.
    "scale" Scale {
        /// Even steps.
        Linear = "linear",
        /// Powers of ten.
        Log10 = "log10",
        /// Powers of two.
        Log2 = "log2",
        /// Names at 0, 1, 2, ...
        Names = "names",
    }

    /// What is drawn of a series.
    "kind" SeriesKind {
        /// A line through the points.
        Line = "line",
        /// Steps.
        Step = "step",
        /// Points.
        Points = "points",
        /// Bars.
        Bars = "bars",
        /// Cells of a field.
        Cells = "cells",
        /// Pieces from `x` to `x_end`.
        Segments = "segments",
    }

    /// The axis that a series is measured on.
    "side" Side {
        /// The left one.
        Left = "left",
        /// The right one.
        Right = "right",
    }

    /// What a mark is.
    "mark" MarkKind {
        /// A vertical line.
        Vertical = "vertical",
        /// A horizontal line.
        Horizontal = "horizontal",
        /// A region of columns.
        Columns = "columns",
        /// A region of rows.
        Rows = "rows",
        /// A line through the origin.
        Diagonal = "diagonal",
        /// A region between two diagonals.
        Band = "band",
        /// A text.
        Note = "note",
        /// An arrow.
        Arrow = "arrow",
    }
}

/// Data of one name.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// What is drawn.
    pub kind: SeriesKind,
    /// Where it is measured.
    pub axis: Side,
    /// The values.
    pub rows: Vec<Row>,
}

/// A value, in the units of the axes; for axes of names their number.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Where it is.
    pub x: Number,
    /// How much.
    pub y: Option<Number>,
    /// End of a segment.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub x_end: Held<Number>,
    /// Value of a field.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub cell: Held<Number>,
    /// What it is called.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub label: Held<String>,
}

/// A line or region that helps to read.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mark {
    /// What it is.
    pub kind: MarkKind,
    /// Where it begins.
    pub from: Point,
    /// Where it ends.
    pub to: Option<Point>,
    /// What it says.
    pub label: String,
}

/// A place: an `x`, a `y`, both, or the `factor` of a diagonal.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// On the axis from left to right.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub x: Held<Number>,
    /// On the axis on the left.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub y: Held<Number>,
    /// y over x.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub factor: Held<Number>,
}
