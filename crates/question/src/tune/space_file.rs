//! Search-space files: the flags of a search as TOML.

use std::collections::BTreeMap;

use serde::Deserialize;
use warplens_base::{Diagnostic, LineIndex, Span};

use super::space::{SpaceText, Text};
use warplens_base::error::{Error, Result};

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a number, a string or a list of them")]
enum Values {
    One(Scalar),
    Many(Vec<Scalar>),
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a number or a string")]
enum Scalar {
    Integer(i64),
    Float(f64),
    Text(String),
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct AxesTable {
    x: Option<Values>,
    y: Option<Values>,
    z: Option<Values>,
    shapes: Option<Values>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct GridTable {
    x: Option<Scalar>,
    y: Option<Scalar>,
    z: Option<Scalar>,
    mappings: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SpaceTable {
    #[serde(default, rename = "let")]
    lets: toml::Table,
    #[serde(default)]
    macros: BTreeMap<String, Values>,
    #[serde(default)]
    block: AxesTable,
    #[serde(default)]
    grid: GridTable,
    shared: Option<Values>,
    #[serde(default)]
    constraints: Vec<String>,
}

impl Scalar {
    fn into_text(self) -> String {
        match self {
            Self::Integer(number) => number.to_string(),
            Self::Float(number) => number.to_string(),
            Self::Text(text) => text,
        }
    }
}

impl Values {
    fn into_text(self) -> String {
        match self {
            Self::One(value) => value.into_text(),
            Self::Many(values) => values.into_iter().map(Scalar::into_text).collect::<Vec<_>>().join(","),
        }
    }
}

/// Reads the text of a search-space file that is called `name` in messages.
pub(super) fn parse(name: &str, text: &str) -> Result<SpaceText> {
    let table: SpaceTable = toml::from_str(text).map_err(|error| syntax_error(name, text, &error))?;
    let place = |what: &str| format!("{name}, {what}");
    let values = |what: &str, values: Option<Values>| -> Vec<Text> {
        values.into_iter().map(|values| Text::new(place(what), values.into_text())).collect()
    };
    let mut lets = Vec::new();
    for (key, value) in table.lets {
        let value = match value {
            toml::Value::Integer(number) => number.to_string(),
            toml::Value::Float(number) => number.to_string(),
            toml::Value::String(text) => text,
            _ => return Err(Error::usage(format!("{name}, [let]: `{key}` is neither a number nor a string"))),
        };
        lets.push(Text::new(place("[let]"), format!("{key}={value}")));
    }
    let macros = table.macros.into_iter();
    let macros = macros.map(|(key, values)| Text::new(place("[macros]"), format!("{key}={}", values.into_text())));
    let axes =
        [values("[block] x", table.block.x), values("[block] y", table.block.y), values("[block] z", table.block.z)];
    Ok(SpaceText {
        lets,
        macros: macros.collect(),
        block: values("[block] shapes", table.block.shapes),
        axes,
        grid: grid(name, table.grid)?,
        shared: values("shared", table.shared),
        constraints: table.constraints.into_iter().map(|text| Text::new(place("constraints"), text)).collect(),
    })
}

fn grid(name: &str, table: GridTable) -> Result<Vec<Text>> {
    let place = format!("{name}, [grid]");
    let axes = [table.x, table.y, table.z].map(|axis| axis.map(Scalar::into_text));
    if let Some(mappings) = table.mappings {
        if axes.iter().any(Option::is_some) {
            return Err(Error::usage(format!("{place}: `mappings` and single axes exclude each other")));
        }
        return Ok(mappings.into_iter().map(|mapping| Text::new(place.clone(), mapping)).collect());
    }
    let Some(last) = axes.iter().rposition(Option::is_some) else { return Ok(Vec::new()) };
    let parts: Vec<String> = axes.into_iter().take(last + 1).map(|axis| axis.unwrap_or("1".to_owned())).collect();
    Ok(vec![Text::new(place, parts.join(", "))])
}

fn syntax_error(name: &str, text: &str, error: &toml::de::Error) -> Error {
    let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    let span = error.span().map_or(Span::default(), |range| Span::new(offset(range.start), offset(range.end)));
    let message = error.message().trim_end_matches('.').replace('\n', "; ");
    let line = LineIndex::new(text).line(span.start);
    let finding = Diagnostic::error("T002", span, message.clone());
    Error::usage(format!("{name}, line {line}: {message}")).with_findings(name, text, vec![finding])
}
