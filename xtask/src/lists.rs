//! Lists in the source that follow from which files there are: the modules of a folder, the documents of a crate.
//!
//! A list stands between `// generated: NAME` and `// end: NAME`. Its lines keep their order; what is new comes last,
//! modules in the order of rustfmt. `cargo xtask generate` writes the lists before it builds anything.

use anyhow::{Context as _, Result};

use crate::workspace::Workspace;

/// A list in a source file.
struct List {
    /// The file, relative to the root of the workspace.
    path: &'static str,
    /// The files that are listed lie in this folder.
    folder: &'static str,
    kind: Kind,
}

/// What is listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// The modules that the file does not declare by hand; these are public.
    Modules,
    /// The modules with documents.
    Documents,
}

/// Every list.
const LISTS: &[List] = &[
    List { path: "crates/document/src/lib.rs", folder: "crates/document/src", kind: Kind::Modules },
    List { path: "crates/document/src/table.rs", folder: "crates/document/src", kind: Kind::Documents },
    List { path: "crates/question/src/lib.rs", folder: "crates/question/src", kind: Kind::Modules },
    List { path: "crates/report/src/view.rs", folder: "crates/report/src/view", kind: Kind::Modules },
];

/// What a module that has documents holds.
const HAS_DOCUMENTS: &str = "const DOCUMENTS: &[crate::Entry]";

/// Path and whole text of every file with a list, as it should be.
pub(crate) fn fresh(workspace: &Workspace) -> Result<Vec<(&'static str, String)>> {
    let files = workspace.files()?;
    let mut fresh = Vec::new();
    for list in LISTS {
        let mut sources = Vec::new();
        for path in files.iter().filter(|path| **path != list.path) {
            let name = path.strip_prefix(list.folder).and_then(|rest| rest.strip_prefix('/')?.strip_suffix(".rs"));
            if let Some(name) = name.filter(|name| !name.contains('/') && *name != "lib") {
                sources.push((name, workspace.read(path)?));
            }
        }
        let sources: Vec<(&str, &str)> = sources.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let text = workspace.read(list.path)?;
        fresh.push((list.path, renewed(&text, list.kind, &sources).with_context(|| list.path)?));
    }
    Ok(fresh)
}

/// The text of a file with its list renewed; `sources` are the modules of the folder with their texts.
fn renewed(text: &str, kind: Kind, sources: &[(&str, &str)]) -> Result<String> {
    let name = match kind {
        Kind::Modules => "modules",
        Kind::Documents => "documents",
    };
    let (opening, closing) = (format!("// generated: {name}\n"), format!("// end: {name}"));
    let start = text.find(&opening).with_context(|| format!("no line `{}`", opening.trim()))? + opening.len();
    let length = text[start..].find(&closing).with_context(|| format!("no line `{closing}`"))?;
    // The closing mark keeps the blanks in front of it.
    let length = text[start..start + length].rfind('\n').map_or(0, |end| end + 1);
    let (before, list, after) = (&text[..start], &text[start..start + length], &text[start + length..]);
    let line = |name: &str| match kind {
        Kind::Modules => format!("pub mod {name};"),
        Kind::Documents => format!("    crate::{name}::DOCUMENTS,"),
    };
    let by_hand = |name: &str| {
        let declares = |line: &str| line.strip_suffix(';').is_some_and(|line| line.ends_with(&format!("mod {name}")));
        before.lines().chain(after.lines()).any(declares)
    };
    let belongs = |name: &str, source: &str| match kind {
        Kind::Modules => !by_hand(name),
        Kind::Documents => source.contains(HAS_DOCUMENTS),
    };
    let wanted: Vec<String> =
        sources.iter().filter(|(name, source)| belongs(name, source)).map(|(name, _)| line(name)).collect();
    let mut lines: Vec<String> =
        list.lines().map(str::to_owned).filter(|line| wanted.iter().any(|wanted| wanted == line)).collect();
    lines.extend(wanted.into_iter().filter(|line| !list.lines().any(|known| known == line)));
    if kind == Kind::Modules {
        lines.sort();
    }
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    Ok(format!("{before}{lines}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_that_are_not_declared_by_hand_are_listed() {
        let text = "mod own;\n\n// generated: modules\npub mod b;\npub mod gone;\n// end: modules\n\npub use own::A;\n";
        let fresh = renewed(text, Kind::Modules, &[("a", ""), ("b", ""), ("own", "")]).unwrap();
        assert_eq!(
            fresh,
            "mod own;\n\n// generated: modules\npub mod a;\npub mod b;\n// end: modules\n\npub use own::A;\n"
        );
    }

    #[test]
    fn documents_keep_their_order_and_new_ones_come_last() {
        let has = "pub(crate) const DOCUMENTS: &[crate::Entry] = &[];";
        let text = "x\n    // generated: documents\n    crate::z::DOCUMENTS,\n    crate::y::DOCUMENTS,\n    // end: documents\n];";
        let sources = [("a", has), ("b", "nothing"), ("y", has), ("z", has)];
        assert_eq!(
            renewed(text, Kind::Documents, &sources).unwrap(),
            "x\n    // generated: documents\n    crate::z::DOCUMENTS,\n    crate::y::DOCUMENTS,\n    crate::a::DOCUMENTS,\n    // end: documents\n];"
        );
        assert!(renewed("", Kind::Documents, &sources).is_err());
    }
}
