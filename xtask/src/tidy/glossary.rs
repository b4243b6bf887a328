//! The glossary names identifiers that exist.

use std::collections::HashSet;

use anyhow::Result;

use super::{Finding, source};
use crate::workspace::Workspace;

const GLOSSARY: &str = "GLOSSARY.md";

/// Holds the last column of the glossary against the words of the crates' sources.
pub(super) fn check(workspace: &Workspace, files: &[String]) -> Result<Vec<Finding>> {
    let glossary = workspace.read(GLOSSARY)?;
    let mut wanted: Vec<(&str, usize)> = identifiers(&glossary);
    for path in files.iter().filter(|path| path.starts_with("crates/") && path.ends_with(".rs")) {
        let text = workspace.read(path)?;
        let words: HashSet<&str> = text.lines().flat_map(source::words).collect();
        wanted.retain(|(identifier, _)| !words.contains(identifier));
    }
    let unknown = |(identifier, line): (&str, usize)| {
        Finding::new(GLOSSARY, line, format!("no source of a crate holds the identifier `{identifier}`"))
    };
    Ok(wanted.into_iter().map(unknown).collect())
}

/// Code spans in the last cell of each table row, with their lines.
fn identifiers(glossary: &str) -> Vec<(&str, usize)> {
    let mut found = Vec::new();
    for (line, number) in glossary.lines().zip(1..) {
        let Some(row) = line.strip_prefix('|').and_then(|line| line.strip_suffix('|')) else { continue };
        let cell = row.rsplit('|').next().expect("a split yields at least one part");
        found.extend(cell.split('`').skip(1).step_by(2).map(|identifier| (identifier, number)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_column_holds_the_identifiers() {
        let glossary =
            "prose `a`\n| Term | Meaning | Identifier |\n|---|---|---|\n| warp | `b` lanes | `Warp`, `WarpId` |\n";
        assert_eq!(identifiers(glossary), [("Warp", 4), ("WarpId", 4)]);
    }
}
