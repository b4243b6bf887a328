//! The keys of documents as a list: what each number is called, what it means, and what Nsight Compute calls it.

use serde_json::Value;

use crate::Entry;

/// A key of a document that holds a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Key {
    /// Name of the document: `profile`.
    pub document: &'static str,
    /// Where it stands: `global.*.transactions`, with `[]` for the entries of a list and `*` for names.
    pub path: String,
    /// What it means, in sentences.
    pub meaning: String,
    /// What Nsight Compute calls the same.
    pub nsight: Vec<String>,
}

/// Objects within objects beyond which nothing is listed: a schema may go round in a circle.
const DEEPEST: usize = 8;
/// What stands before the profiler's name in the text of a key.
const NSIGHT: &str = "Nsight Compute:";

/// The keys of a document, in its order.
pub fn keys(entry: &Entry) -> Vec<Key> {
    let schema = (entry.schema)();
    let mut walk = Walk { document: entry.name(), root: &schema, found: Vec::new() };
    // A document of launches is one or several; the last alternative is the one.
    let alternatives = schema.get("anyOf").and_then(Value::as_array);
    walk.object(alternatives.and_then(|list| list.last()).unwrap_or(&schema), "", 0);
    walk.found
}

struct Walk<'s> {
    document: &'static str,
    root: &'s Value,
    found: Vec<Key>,
}

impl<'s> Walk<'s> {
    fn object(&mut self, schema: &'s Value, path: &str, depth: usize) {
        if depth > DEEPEST {
            return;
        }
        for (key, value) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            let text = text(value).unwrap_or_default();
            let before = self.found.len();
            self.below(value, &path, depth + 1);
            // What holds other keys is no value itself.
            if self.found.len() == before && key != "schema" {
                let (meaning, nsight) = split(&text);
                self.found.push(Key { document: self.document, path, meaning, nsight });
            }
        }
    }

    /// The keys inside of a value.
    fn below(&mut self, schema: &'s Value, path: &str, depth: usize) {
        let schema = self.resolved(schema);
        if schema.get("properties").is_some() {
            return self.object(schema, path, depth);
        }
        if let Some(items) = schema.get("items") {
            return self.below(items, &format!("{path}[]"), depth);
        }
        if let Some(values) = schema.get("additionalProperties").filter(|values| values.is_object()) {
            return self.below(values, &format!("{path}.*"), depth);
        }
        let alternatives = schema.get("anyOf").and_then(Value::as_array).into_iter().flatten();
        // One alternative at most is more than `null` or a number.
        if let Some(object) = alternatives.map(|one| self.resolved(one)).find(|one| one.get("properties").is_some()) {
            self.object(object, path, depth);
        }
    }

    fn resolved(&self, schema: &'s Value) -> &'s Value {
        let name = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix("#/$defs/"));
        let target = name.and_then(|name| self.root.get("$defs")?.get(name));
        target.unwrap_or(schema)
    }
}

fn text(schema: &Value) -> Option<String> {
    let text = schema.get("description")?.as_str()?;
    Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The meaning, and the names in backticks that stand behind the mark.
fn split(text: &str) -> (String, Vec<String>) {
    let Some((meaning, names)) = text.split_once(NSIGHT) else { return (text.to_owned(), Vec::new()) };
    let quoted = names.split('`').skip(1).step_by(2);
    (meaning.trim().to_owned(), quoted.map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents;

    #[test]
    fn keys_are_found_inside_of_lists_and_names() {
        let entry = documents().find(|entry| entry.name() == "predict").unwrap();
        let keys = keys(entry);
        let time = keys.iter().find(|key| key.path == "predictions[].time_us").unwrap();
        assert_eq!(time.nsight, ["gpu__time_duration"]);
        assert!(!time.meaning.contains("Nsight"), "{}", time.meaning);
        assert!(keys.iter().any(|key| key.path == "gpus[].occupancy.warps_per_sm"));
        assert!(keys.iter().all(|key| !key.meaning.is_empty() || key.path.contains('*')), "{keys:?}");
    }
}
