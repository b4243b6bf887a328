//! What can go wrong, grouped by what the user has to change.

use crate::{Diagnostic, Span};

/// Result of what a user asked for.
pub type Result<T> = std::result::Result<T, Error>;

/// Who has to act. Clients map it to exit codes or exceptions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The input is at fault: a missing file, a parse error, an illegal access, a deadlock.
    Input,
    /// The request is at fault: an unknown model or GPU, a bad value, a missing argument, an impossible grid.
    Usage,
    /// The kernel uses what the product does not support.
    Unsupported,
}

/// A failure with the words that a user needs to act on it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// Who has to act.
    pub kind: ErrorKind,
    /// One lower-case sentence without a final period.
    pub message: String,
    /// Further lines of the message: what was seen, compiler output.
    pub details: Vec<String>,
    /// The way out.
    pub help: Option<String>,
    /// Findings in a text, when the error is about one.
    pub findings: Option<Box<Findings>>,
}

/// Diagnostics and the text that their spans mean.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Findings {
    /// What the text is called in messages: a file name, or `argument 2`.
    pub name: String,
    /// The text.
    pub text: String,
    /// What was found, in order of appearance.
    pub diagnostics: Vec<Diagnostic>,
}

impl Error {
    /// An error of `kind`.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), details: Vec::new(), help: None, findings: None }
    }

    /// An error in the input.
    pub fn input(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Input, message)
    }

    /// An error in the request.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage, message)
    }

    /// Adds the way out.
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds a line to the message.
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.details.push(detail.into());
        self
    }

    /// Adds the places in a text that the error is about.
    pub fn with_findings(mut self, name: impl Into<String>, text: &str, diagnostics: Vec<Diagnostic>) -> Self {
        self.findings = Some(Box::new(Findings { name: name.into(), text: text.to_owned(), diagnostics }));
        self
    }

    /// An error at one place of a text that is called `name`.
    pub fn at(
        kind: ErrorKind,
        name: impl Into<String>,
        text: &str,
        code: &'static str,
        span: Span,
        message: String,
    ) -> Self {
        let name = name.into();
        let column = text.get(..span.start as usize).map_or(0, |before| before.chars().count()) + 1;
        let whole = format!("{name}, column {column}: {message}");
        Self::new(kind, whole).with_findings(name, text, vec![Diagnostic::error(code, span, message)])
    }
}
