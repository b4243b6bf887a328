//! The sources of the book: the chapters with their links, and the pictures and schemas that they show.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail, ensure};

use crate::tidy::markdown;
use crate::workspace::Workspace;

/// The list of chapters, whose links are relative to its folder as on any page.
pub(crate) const SUMMARY: &str = "docs/SUMMARY.md";

/// Files of the repository that are no chapters and are part of the book where a chapter leads to them.
const SHOWN: [&str; 3] = [".svg", ".png", ".schema.json"];

/// The page of a folder, which sites of repositories show with it.
const README: &str = "README.md";

/// The name of a page in the book, where that of a folder is what servers look for.
fn in_book(path: &str) -> String {
    path.replace(README, "index.md")
}

/// Path, relative to the root of the repository, and content of each file of the book.
pub(super) fn files(workspace: &Workspace) -> Result<BTreeMap<String, Vec<u8>>> {
    let summary = workspace.read(SUMMARY)?;
    let chapters = chapters(&summary);
    let mut files = BTreeMap::new();
    for chapter in &chapters {
        let text = workspace.read(chapter)?;
        let mut shown = Vec::new();
        let fresh = rewritten(&text, |target| {
            let (place, found) = placed(workspace, chapter, target, &chapters)?;
            shown.extend(found);
            Ok(place)
        });
        let fresh = fresh.with_context(|| chapter.clone())?;
        ensure!(files.insert(in_book(chapter), fresh.into_bytes()).is_none(), "{SUMMARY} lists {chapter} twice");
        for path in shown {
            let content = std::fs::read(workspace.root.join(&path)).with_context(|| format!("reading {path}"))?;
            files.insert(path, content);
        }
    }
    // mdBook looks for the list at the root of its sources.
    let list = rewritten(&summary, |target| Ok(in_book(&resolved(SUMMARY, target))))?;
    files.insert("SUMMARY.md".to_owned(), list.into_bytes());
    Ok(files)
}

/// Paths of the chapters, relative to the root of the repository.
pub(crate) fn chapters(summary: &str) -> Vec<String> {
    markdown::prose(summary)
        .flat_map(|(line, _)| markdown::link_targets(line))
        .map(|target| resolved(SUMMARY, target))
        .collect()
}

/// Where a link of a chapter leads in the book, and the file that has to be there for it, if it is no chapter.
fn placed(workspace: &Workspace, chapter: &str, target: &str, chapters: &[String]) -> Result<(String, Option<String>)> {
    let (file, anchor) = target.split_at(target.find('#').unwrap_or(target.len()));
    if !markdown::is_local(file) {
        return Ok((target.to_owned(), None));
    }
    let path = resolved(chapter, file);
    if chapters.contains(&path) {
        return Ok((in_book(target), None));
    }
    if chapters.contains(&format!("{path}/{README}")) {
        return Ok((format!("{}/{}{anchor}", file.trim_end_matches('/'), in_book(README)), None));
    }
    if SHOWN.iter().any(|ending| path.ends_with(ending)) {
        return Ok((target.to_owned(), Some(path)));
    }
    let at = workspace.root.join(&path);
    let kind = match (at.is_dir(), at.is_file()) {
        (true, _) => "tree",
        (_, true) => "blob",
        _ => bail!("the link `{target}` leads nowhere"),
    };
    Ok((format!("{}/{kind}/main/{path}{anchor}", workspace.repository()?), None))
}

/// The text with the target of every link outside of code replaced by what `place` makes of it.
fn rewritten(text: &str, mut place: impl FnMut(&str) -> Result<String>) -> Result<String> {
    let prose: Vec<usize> = markdown::prose(text).map(|(_, number)| number).collect();
    let mut fresh = String::with_capacity(text.len());
    for (line, number) in text.lines().zip(1..) {
        if prose.binary_search(&number).is_err() {
            fresh += line;
        } else {
            let mut parts = line.split("](");
            fresh += parts.next().unwrap_or_default();
            for part in parts {
                let (target, rest) = part.split_at(part.find([')', ' ']).unwrap_or(part.len()));
                fresh += &format!("]({}{rest}", place(target)?);
            }
        }
        fresh.push('\n');
    }
    Ok(fresh)
}

/// The path from the root of what a page calls by a path relative to its own folder.
fn resolved(page: &str, target: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_the_folder_of_the_page() {
        assert_eq!(resolved("docs/a.md", "b/c.md"), "docs/b/c.md");
        assert_eq!(resolved("docs/models/a.md", "../../README.md"), "README.md");
        assert_eq!(resolved("README.md", "./docs/"), "docs");
    }

    #[test]
    fn chapters_are_links_of_the_list() {
        assert_eq!(chapters("# List\n\n- [a](a.md)\n  - [b](../b.md)\n"), ["docs/a.md", "b.md"]);
    }

    #[test]
    fn links_outside_of_code_change() {
        let text = "[a](x.md#y) and ![b](z.svg \"title\")\n```sh\n[a](x.md)\n```\n";
        let upper = rewritten(text, |target| Ok(target.to_uppercase())).unwrap();
        assert_eq!(upper, "[a](X.MD#Y) and ![b](Z.SVG \"title\")\n```sh\n[a](x.md)\n```\n");
    }
}
