//! `warplens.figure/1`: the data of a picture.

use serde_json::{Value, json};

use super::json::number;
use crate::figure::{Axis, Figure, Mark, Panel, Scale, Series, Side};
use crate::view::figure::{Row, rows};

/// The document of a figure.
pub fn document(figure: &Figure) -> Value {
    json!({
        "schema": "warplens.figure/1",
        "id": figure.id,
        "title": figure.title,
        "caption": figure.caption,
        "panels": figure.panels.iter().map(panel).collect::<Vec<_>>(),
    })
}

fn panel(panel: &Panel) -> Value {
    json!({
        "title": panel.title,
        "x": axis(&panel.x),
        "y": axis(&panel.y),
        "right": panel.right.as_ref().map(axis),
        "series": panel.series.iter().map(series).collect::<Vec<_>>(),
        "marks": panel.marks.iter().map(mark).collect::<Vec<_>>(),
    })
}

fn axis(axis: &Axis) -> Value {
    let (scale, names) = match &axis.scale {
        Scale::Linear | Scale::Percent => ("linear", None),
        Scale::Log10 => ("log10", None),
        Scale::Log2 => ("log2", None),
        Scale::Names(names) => ("names", Some(names)),
    };
    let mut document = json!({"label": axis.label, "unit": axis.unit, "scale": scale});
    if let Some(names) = names {
        document["names"] = json!(names);
    }
    document
}

fn series(series: &Series) -> Value {
    json!({
        "name": series.name,
        "kind": series.data.kind(),
        "axis": if series.side == Side::Right { "right" } else { "left" },
        "rows": rows(&series.data).iter().map(row).collect::<Vec<_>>(),
    })
}

fn row(row: &Row) -> Value {
    let mut document = json!({"x": number(row.x), "y": row.y.map(number)});
    if let Some(end) = row.x_end {
        document["x_end"] = number(end);
    }
    if let Some(value) = row.value {
        document["cell"] = number(value);
    }
    if !row.label.is_empty() {
        document["label"] = json!(row.label);
    }
    document
}

fn mark(mark: &Mark) -> Value {
    let (kind, from, to, label) = match mark {
        Mark::Vertical { x, label } => ("vertical", json!({"x": number(*x)}), None, label),
        Mark::Horizontal { y, label } => ("horizontal", json!({"y": number(*y)}), None, label),
        Mark::Columns { from, to, label } => {
            ("columns", json!({"x": number(*from)}), Some(json!({"x": number(*to)})), label)
        }
        Mark::Rows { from, to, label } => ("rows", json!({"y": number(*from)}), Some(json!({"y": number(*to)})), label),
        Mark::Diagonal { factor, label } => ("diagonal", json!({"factor": number(*factor)}), None, label),
        Mark::Band { from, to, label } => {
            ("band", json!({"factor": number(*from)}), Some(json!({"factor": number(*to)})), label)
        }
        Mark::Note { x, y, text } => ("note", place((*x, *y)), None, text),
        Mark::Arrow { from, to, label } => ("arrow", place(*from), Some(place(*to)), label),
    };
    json!({"kind": kind, "from": from, "to": to, "label": label})
}

fn place((x, y): (f64, f64)) -> Value {
    json!({"x": number(x), "y": number(y)})
}
