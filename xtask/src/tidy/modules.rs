//! The modules of a crate import downwards: their imports form no circle.
//!
//! A crate of many modules reads like several small ones when each of its top-level modules can be understood after those
//! that it imports. What two modules need of each other belongs into a third below both.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;

use super::Finding;
use crate::workspace::Workspace;

/// Folders of the crates whose modules are looked at.
const CRATES: &[&str] = &["crates/import", "crates/launch", "crates/question", "crates/session"];

/// Holds the imports inside of each crate of the table against the rule.
pub(super) fn check(workspace: &Workspace, files: &[String]) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for folder in CRATES {
        let source = format!("{folder}/src/");
        let mut texts = Vec::new();
        for path in files.iter().filter(|path| path.starts_with(&source) && path.ends_with(".rs")) {
            texts.push((path.as_str(), workspace.read(path)?));
        }
        if texts.is_empty() {
            findings.push(Finding::new(file!(), 0, format!("the table names `{folder}`, which holds no source")));
        }
        let texts: Vec<(&str, &str)> = texts.iter().map(|(path, text)| (*path, text.as_str())).collect();
        findings.extend(check_crate(&source, &texts));
    }
    Ok(findings)
}

/// Where a module names another one.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Place {
    path: String,
    line: usize,
}

/// What each module imports, and where it first does.
type Graph = BTreeMap<String, BTreeMap<String, Place>>;

fn check_crate(source: &str, texts: &[(&str, &str)]) -> Vec<Finding> {
    let modules: BTreeSet<&str> =
        texts.iter().filter_map(|(path, _)| module_of(source, path)).map(|(name, _)| name).collect();
    let mut findings = Vec::new();
    let mut graph = Graph::new();
    for (path, text) in texts {
        let Some((own, depth)) = module_of(source, path) else { continue };
        for (name, line) in named_in_root(&code(text), depth) {
            if name == own {
                continue;
            }
            if modules.contains(name.as_str()) {
                let place = Place { path: (*path).to_owned(), line };
                graph.entry(own.to_owned()).or_default().entry(name).or_insert(place);
            } else {
                let message = format!("`{name}` is named by way of the crate's root; name the module that defines it");
                findings.push(Finding::new(path, line, message));
            }
        }
    }
    findings.extend(circles(graph));
    findings
}

/// The top-level module that a file belongs to, and how deep the file's own module lies; none for the root.
fn module_of<'p>(source: &str, path: &'p str) -> Option<(&'p str, usize)> {
    let inner = path.strip_prefix(source)?.strip_suffix(".rs")?;
    let inner = inner.strip_suffix("/mod").unwrap_or(inner);
    let parts: Vec<&str> = inner.split('/').collect();
    (inner != "lib" && inner != "main").then(|| (parts[0], parts.len()))
}

/// The source with blanks in place of comments and of what stands in quotes.
fn code(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = match bytes[at] {
            b'/' if bytes[at..].starts_with(b"//") => find(bytes, at, b"\n"),
            b'/' if bytes[at..].starts_with(b"/*") => find(bytes, at + 2, b"*/") + 2,
            b'r' if bytes[at..].starts_with(b"r#\"") => find(bytes, at + 3, b"\"#") + 2,
            b'r' if bytes[at..].starts_with(b"r\"") => find(bytes, at + 2, b"\"") + 1,
            b'"' => closing(bytes, at, b'"'),
            // A letter in quotes, not a lifetime.
            b'\'' if bytes.get(at + 1) == Some(&b'\\') || bytes.get(at + 2) == Some(&b'\'') => {
                closing(bytes, at, b'\'')
            }
            _ => {
                at += 1;
                continue;
            }
        };
        let end = end.min(bytes.len());
        out[at..end].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
        at = end.max(at + 1);
    }
    String::from_utf8(out).expect("whole literals and comments were blanked")
}

/// Where `wanted` begins behind `from`; the end where it does not occur.
fn find(bytes: &[u8], from: usize, wanted: &[u8]) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    rest.windows(wanted.len()).position(|window| window == wanted).map_or(bytes.len(), |found| from + found)
}

/// Behind the quote that closes the one at `open`.
fn closing(bytes: &[u8], open: usize, quote: u8) -> usize {
    let mut at = open + 1;
    while at < bytes.len() && bytes[at] != quote {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

/// The names in the crate's root that a file uses, each with its line. `depth` is that of the file's module.
fn named_in_root(code: &str, depth: usize) -> Vec<(String, usize)> {
    let tokens = tokens(code);
    let mut found = Vec::new();
    // Whether each open brace is that of a module in the file.
    let mut open: Vec<bool> = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let word = |offset: usize| tokens.get(at + offset).map_or("", |token| token.0);
        match word(0) {
            "{" => open.push(at >= 2 && tokens[at - 2].0 == "mod"),
            "}" => {
                open.pop();
            }
            "crate" if word(1) == "::" && (at == 0 || tokens[at - 1].0 != "$") => {
                found.extend(heads(&tokens, at + 2));
            }
            "super" if word(1) == "::" => {
                let mut climbed = 1;
                while word(2 * climbed) == "super" && word(2 * climbed + 1) == "::" {
                    climbed += 1;
                }
                let inside = open.iter().filter(|is_module| **is_module).count();
                at += 2 * climbed;
                if climbed == depth + inside {
                    found.extend(heads(&tokens, at));
                }
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// Words, `::` and single other characters, each with its line.
fn tokens(code: &str) -> Vec<(&str, usize)> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii();
    let bytes = code.as_bytes();
    let (mut tokens, mut at, mut line) = (Vec::new(), 0, 1);
    while at < bytes.len() {
        let mut end = at + 1;
        if is_word(bytes[at]) {
            while end < bytes.len() && is_word(bytes[end]) {
                end += 1;
            }
        } else if bytes[at..].starts_with(b"::") {
            end += 1;
        }
        line += usize::from(bytes[at] == b'\n');
        if !bytes[at].is_ascii_whitespace() {
            tokens.push((&code[at..end], line));
        }
        at = end;
    }
    tokens
}

/// The first name of a path, or those of each path in braces.
fn heads(tokens: &[(&str, usize)], at: usize) -> Vec<(String, usize)> {
    let Some((first, line)) = tokens.get(at) else { return Vec::new() };
    if *first != "{" {
        return vec![((*first).to_owned(), *line)];
    }
    let (mut heads, mut depth, mut is_head) = (Vec::new(), 0, false);
    for (token, line) in &tokens[at..] {
        match *token {
            "{" => {
                depth += 1;
                is_head = depth == 1;
            }
            "}" => depth -= 1,
            "," if depth == 1 => is_head = true,
            name if is_head => {
                heads.push((name.to_owned(), *line));
                is_head = false;
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    heads
}

/// One finding for each circle; circles that share a module are told one after the other, as they are broken.
fn circles(mut graph: Graph) -> Vec<Finding> {
    let mut findings = Vec::new();
    while let Some(circle) = shortest_circle(&graph) {
        let place = graph[&circle[0]][&circle[1]].clone();
        let message = format!("imports run in a circle: {}; move what they share below both", circle.join(" -> "));
        findings.push(Finding::new(&place.path, place.line, message));
        for pair in circle.windows(2) {
            graph.get_mut(&pair[0]).expect("it is in the circle").remove(&pair[1]);
        }
    }
    findings
}

/// The shortest way from a module back to itself.
fn shortest_circle(graph: &Graph) -> Option<Vec<String>> {
    let ways = graph.keys().filter_map(|start| {
        let mut ways: Vec<Vec<&str>> = vec![vec![start]];
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut at = 0;
        while at < ways.len() {
            let way = ways[at].clone();
            for next in graph.get(way[way.len() - 1]).into_iter().flat_map(BTreeMap::keys) {
                let longer: Vec<&str> = way.iter().copied().chain([next.as_str()]).collect();
                if next == start {
                    return Some(longer);
                }
                if seen.insert(next) {
                    ways.push(longer);
                }
            }
            at += 1;
        }
        None
    });
    ways.min_by_key(Vec::len).map(|way| way.into_iter().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(texts: &[(&str, &str)]) -> Vec<String> {
        check_crate("crates/x/src/", texts).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn imports_that_run_down_are_fine() {
        let texts = [
            ("crates/x/src/lib.rs", "mod a;\nmod b;\nmod c;\npub use a::A;\n"),
            ("crates/x/src/a.rs", "use crate::{b::{B, c}, c::C};\nmod tests { use super::*; }\n"),
            ("crates/x/src/a/part.rs", "use super::A;\nuse crate::a::A;\n"),
            ("crates/x/src/b.rs", "// crate::a\nconst A: &str = \"crate::a \\\" crate::a\";\nuse super::c;\n"),
            ("crates/x/src/c.rs", "fn f<'a>(c: &'a str) { g('\"', '\\'') }\npub(crate) use std::a;"),
        ];
        assert_eq!(messages(&texts), [""; 0]);
    }

    #[test]
    fn a_circle_is_told_by_its_modules() {
        let texts = [
            ("crates/x/src/a.rs", "\nuse crate::b::B;\n"),
            ("crates/x/src/b/mod.rs", "mod tests {\n    use super::super::c;\n}\n"),
            ("crates/x/src/c.rs", "fn f() {\n    let a = crate::a::A;\n}\n"),
            ("crates/x/src/d.rs", "use crate::{a, c};\n"),
        ];
        assert_eq!(
            messages(&texts),
            ["crates/x/src/a.rs:2: imports run in a circle: a -> b -> c -> a; move what they share below both"]
        );
    }

    #[test]
    fn a_part_of_a_module_speaks_for_the_module() {
        let texts = [
            ("crates/x/src/a.rs", "use super::b;"),
            ("crates/x/src/b/deep/part.rs", "use super::super::super::a::A;\nuse super::super::a;"),
        ];
        assert_eq!(
            messages(&texts),
            ["crates/x/src/a.rs:1: imports run in a circle: a -> b -> a; move what they share below both"]
        );
    }

    #[test]
    fn two_circles_are_two_findings() {
        let texts = [
            ("crates/x/src/a.rs", "use crate::b;"),
            ("crates/x/src/b.rs", "use crate::{a, c};"),
            ("crates/x/src/c.rs", "use crate::b;"),
        ];
        assert_eq!(messages(&texts).len(), 2);
    }

    #[test]
    fn the_root_hides_no_import() {
        let texts = [("crates/x/src/lib.rs", "mod a;"), ("crates/x/src/a.rs", "use crate::Error;\nuse super::Result;")];
        assert_eq!(
            messages(&texts),
            [
                "crates/x/src/a.rs:1: `Error` is named by way of the crate's root; name the module that defines it",
                "crates/x/src/a.rs:2: `Result` is named by way of the crate's root; name the module that defines it",
            ]
        );
    }
}
