//! Rules for prose: one sentence per line, links that lead somewhere, a short architecture.

use std::collections::BTreeMap;
use std::path::Path;

use super::Finding;

/// Lines that the bird's-eye view may have.
const MAX_ARCHITECTURE_LINES: usize = 300;

/// Folders at the root of the workspace, as prose names what is in them.
const FOLDERS: [&str; 8] = ["changelog/", "crates/", "docs/", "examples/", "fuzz/", "machines/", "tests/", "xtask/"];

/// Applies the rules to one markdown file.
pub(super) fn check(path: &str, text: &str, root: &Path) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (line, number) in prose(text) {
        if !is_test(path) && holds_two_sentences(line) {
            findings.push(Finding::new(path, number, "two sentences on one line"));
        }
        let gone = named_paths(line).filter(|named| !is_test(path) && !root.join(named).exists());
        findings.extend(gone.map(|named| Finding::new(path, number, format!("there is no `{named}`"))));
        let folder = root.join(path).parent().expect("a file lies in a folder").to_owned();
        for target in link_targets(line).filter(|target| is_local(target) && !leads_somewhere(&folder, text, target)) {
            findings.push(Finding::new(path, number, format!("the link `{target}` leads nowhere")));
        }
    }
    let n_lines = text.lines().count();
    if path == "ARCHITECTURE.md" && n_lines > MAX_ARCHITECTURE_LINES {
        findings.push(Finding::new(path, 0, format!("{n_lines} lines, {MAX_ARCHITECTURE_LINES} are allowed")));
    }
    findings
}

/// The prose of literate tests is wrapped like the comments of a source file, which it is.
fn is_test(path: &str) -> bool {
    path.split('/').any(|folder| folder == "tests")
}

/// The lines outside fenced blocks, with their numbers.
pub(crate) fn prose(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut inside: Option<usize> = None;
    text.lines().zip(1..).filter(move |(line, _)| {
        let fence = line.trim_start();
        let length = fence.len() - fence.trim_start_matches('`').len();
        match inside {
            None if length >= 3 => inside = Some(length),
            None => return true,
            Some(opened) if length >= opened && fence.len() == length => inside = None,
            Some(_) => {}
        }
        false
    })
}

/// True when a sentence ends inside the line and another begins. Table rows are exempt: they cannot be broken.
fn holds_two_sentences(line: &str) -> bool {
    if line.trim_start().starts_with('|') {
        return false;
    }
    let line = without_code(line);
    let characters: Vec<char> = line.chars().collect();
    characters.windows(4).any(|window| {
        let ends = window[0].is_lowercase() || matches!(window[0], ')' | '`' | '*');
        ends && matches!(window[1], '.' | '?' | '!') && window[2] == ' ' && window[3].is_uppercase()
    })
}

/// The line with the text of its code spans blanked out.
fn without_code(line: &str) -> String {
    let blank = |(index, part): (usize, &str)| if index % 2 == 1 { "x".repeat(part.len()) } else { part.to_owned() };
    line.split('`').enumerate().map(blank).collect::<Vec<_>>().join("`")
}

/// Code spans that name a file or folder from the root of the workspace; not those with a part to fill in.
fn named_paths(line: &str) -> impl Iterator<Item = &str> {
    let is_path = |span: &&str| {
        FOLDERS.iter().any(|folder| span.starts_with(folder))
            && !span.contains([' ', '*', '<', ':', '='])
            && !span.split(['/', '.']).any(|part| part.len() > 1 && part.chars().all(char::is_uppercase))
    };
    line.split('`').skip(1).step_by(2).filter(is_path)
}

/// Where the links and pictures of a line lead.
pub(crate) fn link_targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next())
}

/// True of a target within the repository.
pub(crate) fn is_local(target: &str) -> bool {
    !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:")
}

/// True when there is the file, and in a page the heading, that a page with this text in this folder links to.
fn leads_somewhere(folder: &Path, text: &str, target: &str) -> bool {
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = folder.join(file);
    if !path.exists() {
        return false;
    }
    if anchor.is_empty() || !(file.is_empty() || file.ends_with(".md")) {
        return true;
    }
    if file.is_empty() {
        return anchors(text).any(|known| known == anchor);
    }
    std::fs::read_to_string(path).is_ok_and(|other| anchors(&other).any(|known| known == anchor))
}

/// What sites call the headings of a text: words in small letters with hyphens between, `-1` behind the second of a name.
fn anchors(text: &str) -> impl Iterator<Item = String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let headings = prose(text).map(|(line, _)| line).filter(|line| line.starts_with('#'));
    headings.map(move |line| {
        let title = without_targets(line.trim_start_matches('#').trim());
        let kept = title.chars().filter(|&c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        let name: String = kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect();
        let times = seen.entry(name.clone()).or_default();
        *times += 1;
        if *times == 1 { name } else { format!("{name}-{}", *times - 1) }
    })
}

/// A heading with the texts of its links only.
fn without_targets(title: &str) -> String {
    let mut parts = title.split("](");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |shown, part| shown + part.split_once(')').map_or("", |(_, rest)| rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(text: &str) -> Vec<String> {
        check("README.md", text, Path::new(env!("CARGO_MANIFEST_DIR"))).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_line_holds_one_sentence() {
        assert_eq!(messages("It runs. It ends.\n"), ["README.md:1: two sentences on one line"]);
        assert!(
            messages("It runs.\nIt ends, e.g. with 1.5 s or by J. Doe (`a. B`).\n| A. B | It is. So |\n").is_empty()
        );
        assert!(messages("```text\nIt runs. It ends.\n```\n").is_empty());
    }

    #[test]
    fn prose_of_tests_may_be_wrapped() {
        assert!(check("crates/ptx/tests/a.md", "It runs. It ends.\n", Path::new(".")).is_empty());
    }

    #[test]
    fn links_lead_to_files() {
        assert_eq!(messages("[a](nowhere.md#x)\n"), ["README.md:1: the link `nowhere.md#x` leads nowhere"]);
        assert!(messages("# Part\n[a](Cargo.toml) [b](#part) [c](https://example.org/x)\n").is_empty());
    }

    #[test]
    fn links_lead_to_headings() {
        let text = "# A `b`, c!\n## [Two](#two)\n## Two\n[a](#a-b-c) [b](#two-1) [c](#three)\n";
        assert_eq!(messages(text), ["README.md:4: the link `#three` leads nowhere"]);
    }

    #[test]
    fn named_paths_exist() {
        assert_eq!(messages("See `tests/nowhere.md`.\n"), ["README.md:1: there is no `tests/nowhere.md`"]);
        // The root is the folder of this crate here, which has no such folders: these are no paths.
        assert!(messages("`crates/stats/src/NAME.rs`, `docs/*.md`, `warplens run examples/x`, `src/x`\n").is_empty());
    }

    #[test]
    fn fences_close_with_as_many_backticks() {
        let lines: Vec<usize> = prose("a\n````text\n```\nb\n````\nc\n").map(|(_, number)| number).collect();
        assert_eq!(lines, [1, 6]);
    }
}
