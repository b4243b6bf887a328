//! House rules that no compiler knows: layers, lengths, module docs, prose.
//!
//! A rule is a function from the workspace, or from one file, to findings. Each finding names its place.

mod glossary;
pub(crate) mod layers;
pub(crate) mod markdown;
mod modules;
mod source;
mod summary;

use anyhow::{Result, bail};

use crate::workspace::Workspace;

/// Something that breaks a rule.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Finding {
    path: String,
    /// Counted from 1; 0 when the finding is about the whole file.
    line: usize,
    message: String,
}

impl Finding {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.message),
            line => write!(f, "{}:{line}: {}", self.path, self.message),
        }
    }
}

/// Applies every rule to the workspace.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let files = workspace.files()?;
    let mut findings = layers::check(workspace);
    findings.extend(glossary::check(workspace, &files)?);
    findings.extend(modules::check(workspace, &files)?);
    findings.extend(summary::check(workspace, &files)?);
    for path in &files {
        // Binary data has no lines to look at.
        let Ok(text) = std::fs::read_to_string(workspace.root.join(path)) else { continue };
        findings.extend(source::check(path, &text));
        if path.ends_with(".md") {
            findings.extend(markdown::check(path, &text, &workspace.root));
        }
    }
    if !findings.is_empty() {
        let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
        bail!("{}\n{} findings", lines.join("\n"), lines.len());
    }
    Ok(())
}
