//! Answers and failures as Python sees them.

use pyo3::prelude::*;
use warplens_base::{Diagnostic, LineIndex};
use warplens_cli::Ended;
use warplens_report::{Block, Section};
use warplens_session::{Error, ErrorKind, Findings};

use crate::table::Table;

/// What a command has said, and how it ended.
#[pyclass(frozen, get_all, module = "warplens._native")]
pub(crate) struct Answer {
    /// The data.
    output: Vec<u8>,
    /// The messages.
    messages: String,
    /// The exit code that a shell would get.
    exit_code: u8,
    /// The tables of the result.
    tables: Vec<Py<Table>>,
    /// Why there is no result.
    failure: Option<Py<Failure>>,
}

/// Why a command could not do what was asked.
#[pyclass(frozen, get_all, module = "warplens._native")]
pub(crate) struct Failure {
    /// Who has to act: `usage`, `input` or `unsupported`.
    kind: &'static str,
    /// One sentence.
    message: String,
    /// What was seen besides.
    details: Vec<String>,
    /// The way out.
    help: Option<String>,
    /// Findings in a text.
    findings: Vec<Py<Finding>>,
}

/// A finding in a text, with its place.
#[pyclass(frozen, get_all, module = "warplens._native")]
pub(crate) struct Finding {
    /// `error` or `warning`.
    severity: &'static str,
    /// Its code.
    code: &'static str,
    /// What was found.
    message: String,
    /// What the text is called.
    file: String,
    /// The line, from 1.
    line: u32,
    /// The column in bytes, from 1.
    column: u32,
    /// The line itself.
    text: String,
    /// What to do.
    help: Option<String>,
}

impl From<warplens_cli::Answer> for Answer {
    fn from(answer: warplens_cli::Answer) -> Self {
        Python::attach(|py| {
            let (exit_code, failure) = match answer.ended {
                Ended::Done(code) => (code, None),
                Ended::Failed { error, exit_code } => (exit_code, Some(failure(py, &error))),
                // Whoever stopped it raises an exception of its own.
                Ended::Stopped => (1, None),
            };
            let tables = answer.tables.iter().flat_map(tables_of).filter_map(|table| Py::new(py, table).ok());
            Self { output: answer.output, messages: answer.messages, exit_code, tables: tables.collect(), failure }
        })
    }
}

/// What of a section has rows.
fn tables_of(section: &Section) -> impl Iterator<Item = Table> {
    section.blocks.iter().filter_map(|block| {
        let table = match block {
            Block::Table(table) => table.clone(),
            Block::Listing(listing) => listing.as_table(),
            _ => return None,
        };
        Some(Table::new(&section.title, table))
    })
}

fn failure(py: Python<'_>, error: &Error) -> Py<Failure> {
    let kind = match error.kind {
        ErrorKind::Usage => "usage",
        ErrorKind::Unsupported => "unsupported",
        _ => "input",
    };
    let findings = error.findings.as_deref().map_or_else(Vec::new, |findings| self::findings(py, findings));
    let (message, details, help) = (error.message.clone(), error.details.clone(), error.help.clone());
    let failure = Failure { kind, message, details, help, findings };
    Py::new(py, failure).expect("a plain object can be made")
}

fn findings(py: Python<'_>, findings: &Findings) -> Vec<Py<Finding>> {
    let index = LineIndex::new(&findings.text);
    let of_one = |diagnostic: &Diagnostic| {
        let start = diagnostic.primary.span.start.min(u32::try_from(findings.text.len()).unwrap_or(u32::MAX));
        let (line, column) = index.line_column(start);
        let finding = Finding {
            severity: if diagnostic.is_error() { "error" } else { "warning" },
            code: diagnostic.code,
            message: diagnostic.message.clone(),
            file: findings.name.clone(),
            line,
            column,
            text: findings.text.lines().nth(line as usize - 1).unwrap_or_default().to_owned(),
            help: diagnostic.help.clone(),
        };
        Py::new(py, finding).expect("a plain object can be made")
    };
    findings.diagnostics.iter().map(of_one).collect()
}
