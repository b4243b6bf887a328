//! Search-space files: the flags of a search as TOML.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::space::{SpaceText, Text};
use crate::toml_file;
use warplens_base::error::{Error, Result};

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a number, a string or a list of them")]
pub(crate) enum Values {
    One(Scalar),
    Many(Vec<Scalar>),
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a number or a string")]
pub(crate) enum Scalar {
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

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(crate) struct SpaceTable {
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
    pub(crate) fn into_text(self) -> String {
        match self {
            Self::One(value) => value.into_text(),
            Self::Many(values) => values.into_iter().map(Scalar::into_text).collect::<Vec<_>>().join(","),
        }
    }
}

/// Reads the text of a search-space file that is called `name` in messages.
pub(super) fn parse(name: &str, text: &str) -> Result<SpaceText> {
    space_text(name, toml_file::read(name, text)?)
}

/// The space of a table that was read from the file `name`.
pub(crate) fn space_text(name: &str, table: SpaceTable) -> Result<SpaceText> {
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
