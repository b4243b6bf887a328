//! Holds a value against a schema, and says where it is otherwise.
//!
//! This is the part of JSON Schema (draft 2020-12) that the schemas of this crate use. It is written for people who edit
//! a document by hand: the first thing that is wrong is named with its place, such as `global["7.0"].t32`.

use serde_json::{Map, Number, Value};
use warplens_base::nearest;

/// Largest whole number that every JSON writer keeps exactly when it goes through a float.
const LARGEST_EXACT_FLOAT: f64 = 9_007_199_254_740_992.0;

/// What is wrong in a document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// What is wrong and where, as a clause.
    pub message: String,
    /// What may be meant.
    pub help: Option<String>,
}

type Result<T = ()> = std::result::Result<T, Fault>;

/// Holds `value` against `schema`. Whole numbers that some writer put down as floats (`3.0`) become integers where
/// integers are meant.
pub fn check(schema: &Value, value: &mut Value) -> Result {
    Checker { definitions: schema.get("$defs") }.visit(schema, value, &Place::default())
}

/// How to get to a value from the top of its document.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Place(String);

impl Place {
    /// The place under a key.
    pub fn key(&self, key: &str) -> Self {
        let is_plain = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        Self(match (is_plain, self.0.is_empty()) {
            (true, true) => key.to_owned(),
            (true, false) => format!("{}.{key}", self.0),
            (false, _) => format!("{}[{key:?}]", self.0),
        })
    }

    /// The place of an item of a list.
    pub fn item(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0))
    }

    /// What is wrong at this place.
    pub fn fault(&self, message: impl std::fmt::Display) -> Fault {
        let place = if self.0.is_empty() { String::new() } else { format!("{}: ", self.0) };
        Fault { message: format!("{place}{message}"), help: None }
    }

    /// A word that is none of those that are `known`; `what` is what such a word is called.
    pub fn unknown<'k>(&self, what: &str, word: &str, known: impl Iterator<Item = &'k str> + Clone) -> Fault {
        let help = match nearest(word, known.clone()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}", known.collect::<Vec<_>>().join(", ")),
        };
        Fault { help: Some(help), ..self.fault(format!("there is no {what} `{word}`")) }
    }
}

struct Checker<'s> {
    definitions: Option<&'s Value>,
}

impl<'s> Checker<'s> {
    fn visit(&self, schema: &'s Value, value: &mut Value, place: &Place) -> Result {
        let schema = self.resolved(schema);
        if let Some(alternatives) = schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Value::as_array) {
            return match self.choose(alternatives, value) {
                Some(alternative) => self.visit(alternative, value, place),
                None => Ok(()),
            };
        }
        if let Some(constant) = schema.get("const") {
            return if value == constant { Ok(()) } else { Err(unlike(place, &constant.to_string(), value)) };
        }
        if !self.has_kind(schema, value) {
            return Err(unlike(place, wanted(schema), value));
        }
        if let (Some(words), Value::String(word)) = (schema.get("enum").and_then(Value::as_array), &*value) {
            return one_of(schema, words, word, place);
        }
        match value {
            Value::Number(number) => number_within(schema, number, place),
            Value::Array(items) => self.items(schema, items, place),
            Value::Object(entries) => self.entries(schema, entries, place),
            Value::Null | Value::Bool(_) | Value::String(_) => Ok(()),
        }
    }

    /// The schema that a reference means.
    fn resolved(&self, schema: &'s Value) -> &'s Value {
        let name = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix("#/$defs/"));
        name.and_then(|name| self.definitions?.get(name)).unwrap_or(schema)
    }

    /// The alternative that a value is meant to be: of its kind, with the keys that it needs; else the last of its kind,
    /// else the first.
    fn choose(&self, alternatives: &'s [Value], value: &Value) -> Option<&'s Value> {
        let of_kind: Vec<&Value> =
            alternatives.iter().filter(|alternative| self.has_kind(self.resolved(alternative), value)).collect();
        let has_keys = |alternative: &&&Value| {
            let mut keys = required(self.resolved(alternative));
            keys.all(|key| value.get(key).is_some())
        };
        let fitting = of_kind.iter().find(has_keys).or(of_kind.last()).copied();
        fitting.or(alternatives.first())
    }

    /// True where the type of the value is one that the schema allows.
    fn has_kind(&self, schema: &'s Value, value: &Value) -> bool {
        if let Some(alternatives) = schema.get("anyOf").and_then(Value::as_array) {
            return alternatives.iter().any(|alternative| self.has_kind(self.resolved(alternative), value));
        }
        let is = |kind: &Value| {
            matches!(
                (kind.as_str(), value),
                (Some("null"), Value::Null)
                    | (Some("boolean"), Value::Bool(_))
                    | (Some("number" | "integer"), Value::Number(_))
                    | (Some("string"), Value::String(_))
                    | (Some("array"), Value::Array(_))
                    | (Some("object"), Value::Object(_))
            )
        };
        match (schema.get("type"), schema.get("const"), schema.get("enum")) {
            (Some(Value::Array(kinds)), ..) => kinds.iter().any(is),
            (Some(kind), ..) => is(kind),
            (None, Some(constant), _) => constant == value,
            (None, None, Some(words)) => words.as_array().is_some_and(|words| words.contains(value)),
            (None, None, None) => true,
        }
    }

    fn items(&self, schema: &'s Value, items: &mut [Value], place: &Place) -> Result {
        let bound = |key: &str| schema.get(key).and_then(Value::as_u64);
        if let Some(least) = bound("minItems").filter(|&least| (items.len() as u64) < least) {
            return Err(wrong_length(schema, place, least, items.len()));
        }
        if let Some(most) = bound("maxItems").filter(|&most| items.len() as u64 > most) {
            return Err(wrong_length(schema, place, most, items.len()));
        }
        let Some(of_items) = schema.get("items") else { return Ok(()) };
        items.iter_mut().enumerate().try_for_each(|(index, item)| self.visit(of_items, item, &place.item(index)))
    }

    fn entries(&self, schema: &'s Value, entries: &mut Map<String, Value>, place: &Place) -> Result {
        let properties = schema.get("properties").and_then(Value::as_object);
        let others = schema.get("additionalProperties");
        let names = schema.get("propertyNames").map(|names| self.resolved(names));
        for (key, value) in entries.iter_mut() {
            let below = place.key(key);
            match (properties.and_then(|known| known.get(key)), others) {
                (Some(known), _) => self.visit(known, value, &below)?,
                (None, Some(Value::Bool(false))) => return Err(unknown_key(&below, key, properties)),
                (None, Some(others)) => {
                    if let Some(words) = names.and_then(|names| names.get("enum")).and_then(Value::as_array) {
                        one_of(names.unwrap_or(schema), words, key, &below)?;
                    }
                    self.visit(others, value, &below)?;
                }
                (None, None) => {}
            }
        }
        match required(schema).find(|key| !entries.contains_key(*key)) {
            Some(missing) => Err(place.fault(format!("the key `{missing}` is missing"))),
            None => Ok(()),
        }
    }
}

fn required(schema: &Value) -> impl Iterator<Item = &str> {
    schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn unknown_key(place: &Place, key: &str, known: Option<&Map<String, Value>>) -> Fault {
    let known: Vec<&str> = known.into_iter().flat_map(Map::keys).map(String::as_str).collect();
    let help = match nearest(key, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("the keys here are {}", known.join(", ")),
    };
    Fault { message: format!("unknown key `{}`", place.0), help: Some(help) }
}

fn one_of(schema: &Value, words: &[Value], word: &str, place: &Place) -> Result {
    let known = words.iter().filter_map(Value::as_str);
    if known.clone().any(|known| known == word) {
        return Ok(());
    }
    let what = schema.get("title").and_then(Value::as_str).unwrap_or("word");
    Err(place.unknown(what, word, known))
}

fn wrong_length(schema: &Value, place: &Place, wanted: u64, found: usize) -> Fault {
    const WORDS: [&str; 4] = ["no", "one", "two", "three"];
    let what = schema.get("title").and_then(Value::as_str).unwrap_or("items");
    let number = usize::try_from(wanted).ok().and_then(|wanted| WORDS.get(wanted));
    let number = number.map_or_else(|| wanted.to_string(), |word| (*word).to_owned());
    place.fault(format!("{number} {what} are needed, not {found}"))
}

/// A number of the schema's type, within its bounds.
fn number_within(schema: &Value, number: &mut Number, place: &Place) -> Result {
    let types = schema.get("type");
    let is_integer = |kind: &Value| kind.as_str() == Some("integer");
    let wants_integer = match types {
        Some(Value::Array(kinds)) => kinds.iter().any(is_integer),
        Some(kind) => is_integer(kind),
        None => false,
    };
    let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
    let as_float = number.as_f64().unwrap_or(f64::NAN);
    if let Some(least) = bound("minimum").filter(|&least| as_float < least) {
        return Err(place.fault(match (least == 0.0, wants_integer) {
            (true, true) => format!("a count cannot be negative, as {as_float} is"),
            (true, false) => format!("the number cannot be negative, as {as_float} is"),
            (false, _) => format!("{number} is less than {least}"),
        }));
    }
    if let Some(least) = bound("exclusiveMinimum").filter(|&least| as_float <= least) {
        return Err(place.fault(match as_float < 0.0 && least == 0.0 {
            true => format!("the number cannot be negative, as {as_float} is"),
            false => format!("the number must be above {least}"),
        }));
    }
    if wants_integer {
        *number = whole(number, place)?;
    }
    let most = match schema.get("format").and_then(Value::as_str) {
        Some("uint8") => Some(u64::from(u8::MAX)),
        Some("uint32") => Some(u64::from(u32::MAX)),
        _ => schema.get("maximum").and_then(Value::as_u64),
    };
    match most.filter(|&most| number.as_u64().is_some_and(|count| count > most)) {
        Some(most) => Err(place.fault(format!("{number} is more than {most}"))),
        None => Ok(()),
    }
}

/// The integer that a number is.
fn whole(number: &Number, place: &Place) -> Result<Number> {
    if number.is_u64() || number.is_i64() {
        return Ok(number.clone());
    }
    match number.as_f64() {
        Some(float) if float.fract() == 0.0 && float.abs() <= LARGEST_EXACT_FLOAT => {
            Ok(if float < 0.0 { Number::from(float as i64) } else { Number::from(float as u64) })
        }
        Some(float) if float.fract() == 0.0 => Err(place.fault(format!("{number} is more than a count can be"))),
        Some(float) => Err(place.fault(format!("a count is a whole number, not {float}"))),
        None => Err(place.fault(format!("a count is a whole number, not {number}"))),
    }
}

/// What the schema asks for.
fn wanted(schema: &Value) -> &'static str {
    let kind = match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null"),
        Some(kind) => kind.as_str(),
        None => schema.get("enum").map(|_| "string"),
    };
    match kind {
        Some("integer") => "a count",
        Some("number") => "a number",
        Some("string") => "a text",
        Some("boolean") => "true or false",
        Some("array") => "a list",
        Some("object") => "an object",
        Some("null") => "null",
        _ => "something else",
    }
}

fn unlike(place: &Place, wanted: &str, value: &Value) -> Fault {
    let found = match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "true or false".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => format!("the text {text:?}"),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    };
    place.fault(format!("{wanted} is needed, not {found}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Named, Number, documents, profile, read, schema};

    fn fault(schema: &Value, mut value: Value) -> Option<String> {
        check(schema, &mut value).err().map(|fault| match fault.help {
            Some(help) => format!("{}; {help}", fault.message),
            None => fault.message,
        })
    }

    #[test]
    fn alternatives_are_told_apart_by_their_kind() {
        let schema = json!({
            "anyOf": [
                {"$ref": "#/$defs/Number"},
                {"type": "array", "items": {"$ref": "#/$defs/Number"}},
                {"type": "null"},
            ],
            "$defs": {"Number": {"anyOf": [{"type": "number"}, {"enum": ["nan"]}]}},
        });
        for good in [json!(1.5), json!("nan"), json!([1, "nan"]), json!(null)] {
            assert_eq!(fault(&schema, good.clone()), None, "{good}");
        }
        assert_eq!(fault(&schema, json!([1, true])).as_deref(), Some("[1]: a number is needed, not true or false"));
        assert_eq!(fault(&schema, json!("one")).as_deref(), Some("a number is needed, not the text \"one\""));
    }

    #[test]
    fn whole_floats_are_integers_where_integers_are_meant() {
        let schema = json!({"type": "array", "items": {"type": "integer", "format": "uint32", "minimum": 0}});
        let mut value = json!([3.0, 4, 1e9]);
        assert_eq!(check(&schema, &mut value), Ok(()));
        assert_eq!(value, json!([3, 4, 1_000_000_000]));
        assert_eq!(
            fault(&schema, json!([4_294_967_296_u64])).as_deref(),
            Some("[0]: 4294967296 is more than 4294967295")
        );
        assert_eq!(fault(&schema, json!([2.5])).as_deref(), Some("[0]: a count is a whole number, not 2.5"));
    }

    #[test]
    fn floats_beyond_every_count_are_refused() {
        let message = fault(&json!({"type": "integer", "minimum": 0}), json!(1e300));
        assert!(message.as_ref().is_some_and(|text| text.ends_with("is more than a count can be")), "{message:?}");
    }

    #[test]
    fn other_documents_and_versions_are_refused_by_name() {
        let message = |id: &str| match read::<profile::Document>(&json!({ "schema": id }).to_string()) {
            Err(crate::ReadError::Fault(fault)) => (fault.message, fault.help),
            other => panic!("{other:?}"),
        };
        let (found, help) = message("warplens.profile/0");
        assert_eq!(found, "the schema is `warplens.profile/0`; `warplens.profile/1` is needed");
        assert!(help.is_some_and(|help| help.starts_with("an earlier warplens")));
        assert!(message("warplens.profile/9").1.is_some_and(|help| help.starts_with("a later warplens")));
        assert_eq!(message("warplens.run/1").1, None);
    }

    /// Words that the checker does not know would be taken for granted.
    #[test]
    fn schemas_use_only_what_is_checked() {
        const CHECKED: [&str; 18] = [
            "type",
            "properties",
            "required",
            "additionalProperties",
            "propertyNames",
            "items",
            "minItems",
            "maxItems",
            "enum",
            "const",
            "anyOf",
            "oneOf",
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "format",
            "$ref",
            "$defs",
        ];
        const SAID: [&str; 5] = ["$schema", "$id", "title", "description", "default"];
        fn visit(schema: &Value, id: &str) {
            for (word, value) in schema.as_object().into_iter().flatten() {
                assert!(CHECKED.contains(&word.as_str()) || SAID.contains(&word.as_str()), "{id}: {word}");
                match (word.as_str(), value) {
                    ("properties" | "$defs", Value::Object(all)) => all.values().for_each(|one| visit(one, id)),
                    ("anyOf" | "oneOf", Value::Array(all)) => all.iter().for_each(|one| visit(one, id)),
                    ("items" | "additionalProperties" | "propertyNames", one) => visit(one, id),
                    _ => {}
                }
            }
        }
        documents().for_each(|entry| visit(&(entry.schema)(), entry.id));
    }

    #[test]
    fn every_object_is_closed_and_every_key_described() {
        fn visit(value: &Value, id: &str, place: &Place) {
            if let Some(properties) = value.get("properties").and_then(Value::as_object) {
                assert_eq!(value.get("additionalProperties"), Some(&Value::Bool(false)), "{id}: {place:?}");
                for (key, schema) in properties {
                    let described = schema.get("description").is_some() || schema.get("$ref").is_some();
                    assert!(described, "{id}: {:?}", place.key(key));
                }
            }
            match value {
                Value::Object(all) => all.iter().for_each(|(key, one)| visit(one, id, &place.key(key))),
                Value::Array(all) => all.iter().for_each(|one| visit(one, id, place)),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            }
        }
        documents().for_each(|entry| visit(&(entry.schema)(), entry.id, &Place::default()));
        let _: Named<String, Number> = Named::default();
        assert_eq!(schema::<profile::Document>()["$id"], "warplens.profile/1");
    }
}
