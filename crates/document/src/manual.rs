//! The manual's page on documents, from their schemas.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use crate::{Entry, documents};

const HEAD: &str = include_str!("manual.txt");

/// The page.
pub fn page() -> String {
    let mut page = HEAD.to_owned();
    page.push_str("\n## Documents\n\n| Document | What it holds | JSON Schema |\n|---|---|---|\n");
    for entry in documents() {
        let (id, about, name) = (entry.id, entry.about, entry.name());
        let _ = writeln!(
            page,
            "| [`{id}`](#{}) | {about} | [{name}.schema.json](schema/{name}.schema.json) |",
            anchor(&format!("`{id}`"))
        );
    }
    let mut described = BTreeMap::new();
    for entry in documents() {
        Section::new(entry, &mut described).write(&mut page);
    }
    page
}

/// The part of the page about one document.
struct Section<'d> {
    entry: &'d Entry,
    schema: Value,
    /// Heading of each object by what it is, and headings that are taken.
    described: &'d mut BTreeMap<String, String>,
    /// Objects to be described in this section: heading and schema.
    waiting: Vec<(String, Value)>,
}

impl<'d> Section<'d> {
    fn new(entry: &'d Entry, described: &'d mut BTreeMap<String, String>) -> Self {
        Self { entry, schema: (entry.schema)(), described, waiting: Vec::new() }
    }

    fn write(mut self, page: &mut String) {
        let schema = self.schema.clone();
        // A document of launches is one or several; the last alternative is the one.
        let alternatives = schema.get("anyOf").and_then(Value::as_array);
        let top = alternatives.and_then(|alternatives| alternatives.last()).unwrap_or(&schema);
        let _ = write!(page, "\n## `{}`\n\n", self.entry.id);
        if let Some(text) = description(top) {
            let _ = writeln!(page, "{text}\n");
        }
        if alternatives.is_some() {
            page.push_str("Of several launches, `launches` holds a list of such objects.\n\n");
        }
        self.table(top, page);
        while !self.waiting.is_empty() {
            for (heading, schema) in std::mem::take(&mut self.waiting) {
                let _ = write!(page, "\n### {heading}\n\n");
                if let Some(text) = description(&schema) {
                    let _ = writeln!(page, "{text}\n");
                }
                self.table(&schema, page);
            }
        }
    }

    fn table(&mut self, object: &Value, page: &mut String) {
        let Some(properties) = object.get("properties").and_then(Value::as_object) else { return };
        let required: Vec<&str> =
            object.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        page.push_str("| Key | Value | Meaning |\n|---|---|---|\n");
        for (key, schema) in properties {
            let mut value = self.value(schema);
            if !required.contains(&key.as_str()) {
                value.push_str("; may be missing");
            }
            let text = description(schema).unwrap_or_default().replace('\n', " ");
            let _ = writeln!(page, "| `{key}` | {value} | {text} |");
        }
    }

    /// What kind of value a schema asks for.
    fn value(&mut self, schema: &Value) -> String {
        if let Some(name) = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix("#/$defs/")) {
            let Some(target) = self.schema.get("$defs").and_then(|all| all.get(name)).cloned() else {
                return name.to_owned();
            };
            return match target.get("properties") {
                Some(_) => self.link(name, &target),
                None if name == "Number" => "number".to_owned(),
                None => self.value(&target),
            };
        }
        if let Some(constant) = schema.get("const") {
            return format!("`{constant}`");
        }
        if let Some(alternatives) = schema.get("anyOf").and_then(Value::as_array) {
            let mut values: Vec<String> = alternatives.iter().map(|alternative| self.value(alternative)).collect();
            values.dedup();
            return values.join(" or ");
        }
        if let Some(words) = schema.get("enum").and_then(Value::as_array) {
            let words: Vec<String> = words.iter().filter_map(Value::as_str).map(|word| format!("`{word}`")).collect();
            return if words.len() > MOST_WORDS { "a word of the schema".to_owned() } else { words.join(", ") };
        }
        let mut kinds: Vec<&str> = match schema.get("type") {
            Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
            Some(kind) => kind.as_str().into_iter().collect(),
            None => Vec::new(),
        };
        kinds.sort_by_key(|kind| *kind == "null");
        let words: Vec<String> = kinds.into_iter().map(|kind| self.kind(kind, schema)).collect();
        words.join(" or ")
    }

    fn kind(&mut self, kind: &str, schema: &Value) -> String {
        match kind {
            "null" => "`null`".to_owned(),
            "integer" if schema.get("minimum").is_some() => "count".to_owned(),
            "string" => "text".to_owned(),
            "boolean" => "`true` or `false`".to_owned(),
            "array" => match schema.get("items") {
                Some(items) => {
                    let length = schema.get("minItems").filter(|least| schema.get("maxItems") == Some(least));
                    let length = length.map(|length| format!("{length} ")).unwrap_or_default();
                    format!("list of {length}{}", self.value(items))
                }
                None => "list".to_owned(),
            },
            "object" => match schema.get("additionalProperties") {
                Some(values @ Value::Object(_)) => {
                    let by = match schema.get("propertyNames") {
                        Some(names) => self.value(names),
                        None => "name".to_owned(),
                    };
                    format!("by {by}: {}", self.value(values))
                }
                _ => "object".to_owned(),
            },
            other => other.to_owned(),
        }
    }

    /// The heading under which an object is described, here or in the section of an earlier document.
    fn link(&mut self, name: &str, target: &Value) -> String {
        let plain = name.trim_end_matches(|c: char| c.is_ascii_digit());
        // What it is: its keys and what they mean. Which are needed differs between what is written and what is read.
        let properties = target.get("properties").and_then(Value::as_object).into_iter().flatten();
        let keys: Vec<String> =
            properties.map(|(key, schema)| format!("{key}: {}", description(schema).unwrap_or_default())).collect();
        let identity = format!("{plain}: {}", keys.join(", "));
        if let Some(heading) = self.described.get(&identity) {
            return format!("[{plain}](#{})", anchor(heading));
        }
        let taken = |heading: &String, all: &BTreeMap<String, String>| all.values().any(|known| known == heading);
        let mut heading = plain.to_owned();
        if taken(&heading, self.described) {
            heading = format!("{plain} of {}", self.entry.name());
        }
        if taken(&heading, self.described) {
            heading = format!("{name} of {}", self.entry.name());
        }
        self.described.insert(identity, heading.clone());
        self.waiting.push((heading.clone(), target.clone()));
        format!("[{plain}](#{})", anchor(&heading))
    }
}

/// Words that a cell lists.
const MOST_WORDS: usize = 24;

/// The description with a sentence per line.
fn description(schema: &Value) -> Option<String> {
    let text = schema.get("description")?.as_str()?;
    Some(text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|").replace(". ", ".\n"))
}

/// The anchor of a heading, as hosts of repositories make it.
fn anchor(heading: &str) -> String {
    let lower = heading.to_lowercase();
    let kept = lower.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}
