//! `cargo xtask changelog`: the fragments of `changelog/` become the section of a version in `CHANGELOG.md`.
//!
//! It is run in the commit that a release is tagged at, and leaves no fragment behind.

use std::fmt::Write as _;

use anyhow::{Context as _, Result, bail, ensure};

use crate::workspace::Workspace;

/// Where the versions stand, the newest first.
const CHANGELOG: &str = "CHANGELOG.md";

/// Where the fragments lie.
const FRAGMENTS: &str = "changelog/";

/// Kinds of changes, as names of fragments begin and as headings call them.
const KINDS: [(&str, &str); 4] =
    [("added", "Added"), ("changed", "Changed"), ("fixed", "Fixed"), ("removed", "Removed")];

/// Puts the fragments together under the version that the manifests state.
pub(crate) fn assemble(workspace: &Workspace) -> Result<()> {
    let version = workspace.packages().first().context("the workspace has no crate")?.version.to_string();
    let is_fragment = |path: &String| path.starts_with(FRAGMENTS) && !path.ends_with("/README.md");
    let paths: Vec<String> = workspace.files()?.into_iter().filter(is_fragment).collect();
    ensure!(!paths.is_empty(), "{FRAGMENTS} is empty: nothing has changed");
    let read = |path: &String| Ok((path.clone(), workspace.read(path)?));
    let fragments: Vec<(String, String)> = paths.iter().map(read).collect::<Result<_>>()?;
    let text = workspace.read(CHANGELOG)?;
    ensure!(!text.contains(&format!("\n## {version}\n")), "{CHANGELOG} has {version} already");
    std::fs::write(workspace.root.join(CHANGELOG), with_section(&text, &section(&version, &fragments)?))?;
    for path in &paths {
        std::fs::remove_file(workspace.root.join(path)).with_context(|| format!("removing {path}"))?;
    }
    println!("{CHANGELOG} has {version}, of {} fragments", paths.len());
    Ok(())
}

/// What has changed, by kind; each fragment is one item.
fn section(version: &str, fragments: &[(String, String)]) -> Result<String> {
    let kind_of = |path: &str| {
        let name = path.trim_start_matches(FRAGMENTS);
        KINDS.iter().position(|(kind, _)| name.strip_prefix(kind).is_some_and(|rest| rest.starts_with('-')))
    };
    if let Some((path, _)) = fragments.iter().find(|(path, _)| kind_of(path).is_none()) {
        bail!("{path} is of no kind");
    }
    let mut section = format!("## {version}\n");
    for (at, (_, heading)) in KINDS.iter().enumerate() {
        let items: Vec<&str> =
            fragments.iter().filter(|(path, _)| kind_of(path) == Some(at)).map(|(_, text)| text.trim()).collect();
        if items.is_empty() {
            continue;
        }
        write!(section, "\n### {heading}\n\n")?;
        for item in items {
            // Links of a fragment are relative to its folder.
            writeln!(section, "- {}", item.replace('\n', "\n  ").replace("](../", "]("))?;
        }
    }
    Ok(section)
}

/// The text with a section before those of earlier versions.
fn with_section(text: &str, section: &str) -> String {
    match text.find("\n## ") {
        Some(at) => format!("{}\n{section}{}", &text[..at], &text[at..]),
        None => format!("{}\n\n{section}", text.trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fragment(name: &str, text: &str) -> (String, String) {
        (format!("{FRAGMENTS}{name}.md"), text.to_owned())
    }

    #[test]
    fn fragments_are_items_under_their_kind() {
        let fragments = [
            fragment("fixed-a", "One.\nTwo.\n"),
            fragment("added-b", "Three.\n"),
            fragment("fixed-c", "[Four](../F).\n"),
        ];
        let expected = "## 1.2.3\n\n### Added\n\n- Three.\n\n### Fixed\n\n- One.\n  Two.\n- [Four](F).\n";
        assert_eq!(section("1.2.3", &fragments).unwrap(), expected);
        let unknown = section("1.2.3", &[fragment("addedly", "x")]).unwrap_err().to_string();
        assert_eq!(unknown, "changelog/addedly.md is of no kind");
    }

    #[test]
    fn the_newest_version_comes_first() {
        assert_eq!(with_section("# Changes\n\nWhat.\n", "## 1\n"), "# Changes\n\nWhat.\n\n## 1\n");
        assert_eq!(
            with_section("# Changes\n\nWhat.\n\n## 1\n\nOld.\n", "## 2\n\nNew.\n"),
            "# Changes\n\nWhat.\n\n## 2\n\nNew.\n\n## 1\n\nOld.\n"
        );
    }
}
