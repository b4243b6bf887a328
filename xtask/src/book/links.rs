//! The links of finished pages: each leads to a file that is there, and to a place in it that has the name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, Result};

/// What was found in a folder of pages.
#[derive(Default)]
pub(super) struct Found {
    pub(super) n_pages: usize,
    /// Links within the folder.
    pub(super) n_links: usize,
    pub(super) broken: Vec<String>,
}

/// A page, as far as links are concerned.
struct Page {
    targets: Vec<String>,
    names: BTreeSet<String>,
}

/// Follows every link of every page in the folder; those that leave it are not followed.
pub(super) fn check(folder: &Path) -> Result<Found> {
    let mut pages = BTreeMap::new();
    for path in pages_in(folder)? {
        let text = std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        let targets = attributes(&text, &["href", "src"]).filter(|target| is_within(target));
        let page = Page {
            targets: targets.map(unescaped).collect(),
            names: attributes(&text, &["id"]).map(unescaped).collect(),
        };
        pages.insert(path, page);
    }
    let mut found = Found { n_pages: pages.len(), ..Found::default() };
    for (path, page) in &pages {
        for target in &page.targets {
            found.n_links += 1;
            if let Some(why) = broken(&pages, path, target) {
                let shown = path.strip_prefix(folder).unwrap_or(path).display();
                found.broken.push(format!("{shown}: `{target}`: {why}"));
            }
        }
    }
    Ok(found)
}

/// Why the link of a page leads nowhere, if it does.
fn broken(pages: &BTreeMap<PathBuf, Page>, from: &Path, target: &str) -> Option<&'static str> {
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let file = file.split('?').next().unwrap_or_default();
    let path = if file.is_empty() { from.to_owned() } else { plain(&from.parent()?.join(file)) };
    let path = if path.is_dir() { path.join("index.html") } else { path };
    if !path.is_file() {
        return Some("no such file");
    }
    match pages.get(&path) {
        Some(page) if !anchor.is_empty() && !page.names.contains(anchor) => Some("no such place in the page"),
        _ => None,
    }
}

fn pages_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut pages = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| format!("listing {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            pages.extend(pages_in(&path)?);
        // A page of the server for what is not there: its links are relative to the root of a site.
        } else if path.extension().is_some_and(|ending| ending == "html") && !path.ends_with("404.html") {
            pages.push(path);
        }
    }
    Ok(pages)
}

/// The values of attributes, as mdBook writes them: in double quotes.
fn attributes<'a>(text: &'a str, names: &'a [&str]) -> impl Iterator<Item = &'a str> {
    let values = |name: &&'a str| {
        let opening = format!(" {name}=\"");
        let starts: Vec<usize> = text.match_indices(&opening).map(|(at, _)| at + opening.len()).collect();
        starts.into_iter().filter_map(|start| text[start..].split('"').next())
    };
    names.iter().flat_map(values)
}

fn is_within(target: &str) -> bool {
    !target.is_empty()
        && !["http:", "https:", "mailto:", "data:", "javascript:"].iter().any(|way| target.starts_with(way))
}

/// The text of an attribute or of a part of an address.
fn unescaped(value: &str) -> String {
    let value = value.replace("&amp;", "&").replace("&quot;", "\"").replace("&#39;", "'").replace("&#x27;", "'");
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match code.filter(|_| byte == b'%').and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(meant) => {
                bytes.push(meant);
                rest = &after[2..];
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut parts = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(parts.pop()),
            Component::CurDir => {}
            other => parts.push(other),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_files_and_places() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write(
            "a.html",
            r##"<p id="x"><a href="b.html#y%CE%B1">b</a> <a href="#x">x</a> <a href="https://example.org/">far</a>"##,
        );
        write("b.html", r##"<p id="yα"><a href="a.html#z">z</a> <img src="c.svg"> <a href="a.html?q=1#x">x</a>"##);
        let found = check(folder.path()).unwrap();
        assert_eq!((found.n_pages, found.n_links), (2, 5));
        assert_eq!(found.broken, ["b.html: `a.html#z`: no such place in the page", "b.html: `c.svg`: no such file"]);
    }
}
