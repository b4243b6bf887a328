//! A place in a JSON document, for readers whose messages say where something is wrong.

use serde_json::{Map, Value};
use warplens_base::nearest;

use crate::error::{Error, Result};

/// Largest whole number that every JSON writer keeps exactly when it goes through a float.
const LARGEST_EXACT_FLOAT: f64 = 9_007_199_254_740_992.0;

/// A value and how to get there from the top.
#[derive(Clone, Debug)]
pub(super) struct Node<'j> {
    file: &'j str,
    path: String,
    value: &'j Value,
}

impl<'j> Node<'j> {
    /// The top of the document that messages call `file`.
    pub(super) fn top(file: &'j str, value: &'j Value) -> Self {
        Self { file, path: String::new(), value }
    }

    /// An error about this place.
    pub(super) fn fail(&self, message: impl std::fmt::Display) -> Error {
        let place = if self.path.is_empty() { String::new() } else { format!("{}: ", self.path) };
        Error::input(format!("{}: {place}{message}", self.file))
    }

    /// An error about a value that is not `wanted`.
    fn unlike(&self, wanted: &str) -> Error {
        let found = match self.value {
            Value::Null => "null".to_owned(),
            Value::Bool(_) => "true or false".to_owned(),
            Value::Number(number) => number.to_string(),
            Value::String(text) => format!("the text {text:?}"),
            Value::Array(_) => "a list".to_owned(),
            Value::Object(_) => "an object".to_owned(),
        };
        self.fail(format!("{wanted} is needed, not {found}"))
    }

    /// True for `null`.
    pub(super) fn is_null(&self) -> bool {
        self.value.is_null()
    }

    /// True for an object.
    pub(super) fn is_object(&self) -> bool {
        self.value.is_object()
    }

    /// True for this text.
    pub(super) fn is(&self, text: &str) -> bool {
        self.value.as_str() == Some(text)
    }

    /// The place under a key, unless the key is missing.
    pub(super) fn get(&self, key: &str) -> Option<Self> {
        let value = self.value.as_object()?.get(key)?;
        Some(self.below(key, value))
    }

    /// The place under a key that must be there.
    pub(super) fn need(&self, key: &str) -> Result<Self> {
        self.get(key).ok_or_else(|| self.fail(format!("the key `{key}` is missing")))
    }

    /// An object whose keys are among `known`.
    pub(super) fn keys(&self, known: &[&str]) -> Result<()> {
        for (key, _) in self.object()? {
            if !known.contains(&key.as_str()) {
                let place = self.below(key, self.value);
                let error = Error::input(format!("{}: unknown key `{}`", self.file, place.path));
                return Err(match nearest(key, known.iter().copied()) {
                    Some(near) => error.with_help(format!("did you mean `{near}`?")),
                    None => error.with_help(format!("the keys here are {}", known.join(", "))),
                });
            }
        }
        Ok(())
    }

    /// Keys and places of an object.
    pub(super) fn entries(&self) -> Result<Vec<(&'j str, Self)>> {
        Ok(self.object()?.iter().map(|(key, value)| (key.as_str(), self.below(key, value))).collect())
    }

    /// Places of a list.
    pub(super) fn items(&self) -> Result<Vec<Self>> {
        let Value::Array(items) = self.value else { return Err(self.unlike("a list")) };
        let item = |(index, value)| Self { file: self.file, path: format!("{}[{index}]", self.path), value };
        Ok(items.iter().enumerate().map(item).collect())
    }

    /// A whole number that is not negative.
    pub(super) fn count(&self) -> Result<u64> {
        if let Some(count) = self.value.as_u64() {
            return Ok(count);
        }
        match self.value.as_f64() {
            Some(number) if number < 0.0 => Err(self.fail(format!("a count cannot be negative, as {number} is"))),
            Some(number) if number.fract() == 0.0 && number <= LARGEST_EXACT_FLOAT => Ok(number as u64),
            Some(number) => Err(self.fail(format!("a count is a whole number, not {number}"))),
            None => Err(self.unlike("a count")),
        }
    }

    /// A count of at most 32 bits.
    pub(super) fn small_count(&self) -> Result<u32> {
        let count = self.count()?;
        u32::try_from(count).map_err(|_| self.fail(format!("{count} is more than {}", u32::MAX)))
    }

    /// A finite number that is not negative.
    pub(super) fn number(&self) -> Result<f64> {
        match self.value.as_f64() {
            Some(number) if number < 0.0 => Err(self.fail(format!("the number cannot be negative, as {number} is"))),
            Some(number) if number.is_finite() => Ok(number),
            _ => Err(self.unlike("a number")),
        }
    }

    /// A text.
    pub(super) fn text(&self) -> Result<&'j str> {
        self.value.as_str().ok_or_else(|| self.unlike("a text"))
    }

    /// True or false.
    pub(super) fn flag(&self) -> Result<bool> {
        self.value.as_bool().ok_or_else(|| self.unlike("true or false"))
    }

    fn object(&self) -> Result<&'j Map<String, Value>> {
        self.value.as_object().ok_or_else(|| self.unlike("an object"))
    }

    fn below(&self, key: &str, value: &'j Value) -> Self {
        let is_plain = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let path = match (is_plain, self.path.is_empty()) {
            (true, true) => key.to_owned(),
            (true, false) => format!("{}.{key}", self.path),
            (false, _) => format!("{}[{key:?}]", self.path),
        };
        Self { file: self.file, path, value }
    }
}
