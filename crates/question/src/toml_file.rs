//! Files of users in TOML, with the line of what is wrong in them.

use serde::de::DeserializeOwned;
use warplens_base::error::{Error, Result};
use warplens_base::{Diagnostic, LineIndex, Span};

/// Reads the text of a file that is called `name` in messages.
pub fn read<T: DeserializeOwned>(name: &str, text: &str) -> Result<T> {
    toml::from_str(text).map_err(|error| syntax_error(name, text, &error))
}

fn syntax_error(name: &str, text: &str, error: &toml::de::Error) -> Error {
    let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    let span = error.span().map_or(Span::default(), |range| Span::new(offset(range.start), offset(range.end)));
    let message = error.message().trim_end_matches('.').replace('\n', "; ");
    let line = LineIndex::new(text).line(span.start);
    let finding = Diagnostic::error("T002", span, message.clone());
    Error::usage(format!("{name}, line {line}: {message}")).with_findings(name, text, vec![finding])
}
