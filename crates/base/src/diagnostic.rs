//! Messages about a user's source text.

use crate::Span;

/// How grave a diagnostic is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Severity {
    /// The input is accepted; something about it deserves a look.
    Warning,
    /// The input cannot be used.
    Error,
}

/// A span with a few words about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// What is to be seen there.
    pub text: String,
}

/// A finding in a user's source text. Rendering is the client's business.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// Stable code, such as `P012`. The letter names the stage: `L` lexer, `P` parser, `S` lowering.
    pub code: &'static str,
    /// Error or warning.
    pub severity: Severity,
    /// One lower-case sentence without a final period.
    pub message: String,
    /// Where, and what is there.
    pub primary: Label,
    /// Other places that explain the finding.
    pub secondary: Vec<Label>,
    /// What to do about it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error at `span`.
    pub fn error(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self::new(code, Severity::Error, span, message.into())
    }

    /// A warning at `span`.
    pub fn warning(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self::new(code, Severity::Warning, span, message.into())
    }

    fn new(code: &'static str, severity: Severity, span: Span, message: String) -> Self {
        Self {
            code,
            severity,
            message,
            primary: Label { span, text: String::new() },
            secondary: Vec::new(),
            help: None,
        }
    }

    /// Adds the words that stand at the primary span.
    pub fn with_label(mut self, text: impl Into<String>) -> Self {
        self.primary.text = text.into();
        self
    }

    /// Adds another place.
    pub fn with_secondary(mut self, span: Span, text: impl Into<String>) -> Self {
        self.secondary.push(Label { span, text: text.into() });
        self
    }

    /// Adds the way out.
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// True for an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}
