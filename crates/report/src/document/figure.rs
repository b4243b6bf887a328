//! `warplens.figure`: the data of a picture.

use warplens_document::figure::{self as document, MarkKind, Point, SeriesKind};
use warplens_document::{Held, Id, Number};

use crate::figure::{Axis, Data, Figure, Mark, Panel, Scale, Series, Side};
use crate::view::figure::{Row, rows};

/// The document of a figure.
pub fn document(figure: &Figure) -> document::Figure {
    document::Figure {
        schema: Id::new(),
        id: figure.id.to_string(),
        title: figure.title.clone(),
        caption: figure.caption.clone(),
        panels: figure.panels.iter().map(panel).collect(),
    }
}

fn panel(panel: &Panel) -> document::Panel {
    document::Panel {
        title: panel.title.clone(),
        x: axis(&panel.x),
        y: axis(&panel.y),
        right: panel.right.as_ref().map(axis),
        series: panel.series.iter().map(series).collect(),
        marks: panel.marks.iter().map(mark).collect(),
    }
}

fn axis(axis: &Axis) -> document::Axis {
    let (scale, names) = match &axis.scale {
        Scale::Linear | Scale::Percent => (document::Scale::Linear, None),
        Scale::Log10 => (document::Scale::Log10, None),
        Scale::Log2 => (document::Scale::Log2, None),
        Scale::Names(names) => (document::Scale::Names, Some(names.clone())),
    };
    document::Axis { label: axis.label.to_string(), unit: axis.unit.to_string(), scale, names: Held(names) }
}

fn series(series: &Series) -> document::Series {
    let kind = match &series.data {
        Data::Line(_) => SeriesKind::Line,
        Data::Step(_) => SeriesKind::Step,
        Data::Points(_) => SeriesKind::Points,
        Data::Bars { .. } => SeriesKind::Bars,
        Data::Cells(_) => SeriesKind::Cells,
        Data::Segments(_) => SeriesKind::Segments,
    };
    document::Series {
        name: series.name.clone(),
        kind,
        axis: if series.side == Side::Right { document::Side::Right } else { document::Side::Left },
        rows: rows(&series.data).iter().map(row).collect(),
    }
}

fn row(row: &Row) -> document::Row {
    document::Row {
        x: Number(row.x),
        y: row.y.map(Number),
        x_end: Held(row.x_end.map(Number)),
        cell: Held(row.value.map(Number)),
        label: Held((!row.label.is_empty()).then(|| row.label.to_string())),
    }
}

fn mark(mark: &Mark) -> document::Mark {
    let (kind, from, to, label) = match mark {
        Mark::Vertical { x, label } => (MarkKind::Vertical, at_x(*x), None, label),
        Mark::Horizontal { y, label } => (MarkKind::Horizontal, at_y(*y), None, label),
        Mark::Columns { from, to, label } => (MarkKind::Columns, at_x(*from), Some(at_x(*to)), label),
        Mark::Rows { from, to, label } => (MarkKind::Rows, at_y(*from), Some(at_y(*to)), label),
        Mark::Diagonal { factor, label } => (MarkKind::Diagonal, along(*factor), None, label),
        Mark::Band { from, to, label } => (MarkKind::Band, along(*from), Some(along(*to)), label),
        Mark::Note { x, y, text } => (MarkKind::Note, place((*x, *y)), None, text),
        Mark::Arrow { from, to, label } => (MarkKind::Arrow, place(*from), Some(place(*to)), label),
    };
    document::Mark { kind, from, to, label: label.to_string() }
}

const NOWHERE: Point = Point { x: Held(None), y: Held(None), factor: Held(None) };

fn at_x(x: f64) -> Point {
    Point { x: Number(x).into(), ..NOWHERE }
}

fn at_y(y: f64) -> Point {
    Point { y: Number(y).into(), ..NOWHERE }
}

fn along(factor: f64) -> Point {
    Point { factor: Number(factor).into(), ..NOWHERE }
}

fn place((x, y): (f64, f64)) -> Point {
    Point { x: Number(x).into(), y: Number(y).into(), ..NOWHERE }
}
