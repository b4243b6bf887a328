//! The layers of the workspace: a crate uses only crates of a strictly lower layer.

use cargo_metadata::{DependencyKind, Package};

use super::Finding;
use crate::workspace::Workspace;

/// Layer of each crate of the workspace. Crates of one layer do not see each other.
const LAYERS: &[(&str, u8)] = &[
    ("warplens-base", 0),
    ("warplens-literate", 0),
    ("warplens-document", 1),
    ("warplens-isa", 1),
    ("warplens-ir", 2),
    ("warplens-machine", 2),
    ("warplens-trace", 2),
    ("warplens-ptx", 3),
    ("warplens-exec", 3),
    ("warplens-check", 3),
    ("warplens-codegen", 3),
    ("warplens-launch", 3),
    ("warplens-native", 3),
    ("warplens-sass", 3),
    ("warplens-stats", 3),
    ("warplens-device", 4),
    ("warplens-gpu", 4),
    ("warplens-import", 4),
    ("warplens-sim", 4),
    ("warplens-statics", 4),
    ("warplens-model", 5),
    ("warplens-session", 6),
    ("warplens-question", 7),
    ("warplens-reference", 7),
    ("warplens-runtime", 7),
    ("warplens-cuda", 8),
    ("warplens-report", 8),
    ("warplens-serve", 9),
    ("warplens-cli", 10),
    ("warplens-clock", 0),
    ("warplens-cudart12", 9),
    ("warplens-cudart13", 9),
    ("warplens-python", 11),
    ("xtask", 11),
];

/// Serve tests and must not end up in the program.
const TESTS_ONLY: &[&str] = &["warplens-literate", "warplens-reference"];

/// The layer of a crate, if the table names it.
pub(crate) fn layer(package: &str) -> Option<u8> {
    LAYERS.iter().find(|(name, _)| *name == package).map(|&(_, layer)| layer)
}

/// Holds the dependencies of every crate against the table.
pub(super) fn check(workspace: &Workspace) -> Vec<Finding> {
    let packages = workspace.packages();
    let is_published =
        |name: &str| packages.iter().any(|package| *package.name == name && Workspace::publishes(package));
    let mut findings: Vec<Finding> =
        packages.iter().flat_map(|package| check_package(workspace, package, &is_published)).collect();
    let gone = LAYERS.iter().filter(|(name, _)| packages.iter().all(|package| *package.name != *name));
    findings.extend(
        gone.map(|(name, _)| Finding::new(file!(), 0, format!("the layer table names `{name}`, which is no crate"))),
    );
    findings
}

fn check_package(workspace: &Workspace, package: &Package, is_published: &dyn Fn(&str) -> bool) -> Vec<Finding> {
    let manifest = package.manifest_path.as_std_path();
    let manifest = manifest.strip_prefix(&workspace.root).unwrap_or(manifest).to_string_lossy().replace('\\', "/");
    let edges: Vec<Edge<'_>> = package
        .dependencies
        .iter()
        .filter(|dependency| dependency.path.is_some())
        .map(|dependency| Edge { name: &dependency.name, tests: dependency.kind == DependencyKind::Development })
        .collect();
    let messages =
        check_edges(&package.name, &edges).into_iter().chain(check_published(&package.name, &edges, is_published));
    messages.map(|message| Finding::new(&manifest, 0, message)).collect()
}

/// A dependency on another crate of the workspace.
struct Edge<'a> {
    name: &'a str,
    /// Only tests use it.
    tests: bool,
}

fn check_edges(name: &str, edges: &[Edge<'_>]) -> Vec<String> {
    let Some(own) = layer(name) else {
        return vec![format!("`{name}` has no layer; add it to the table in {}", file!())];
    };
    let mut messages = Vec::new();
    for edge in edges {
        match layer(edge.name) {
            Some(used) if used >= own => messages.push(format!(
                "`{name}` (layer {own}) must not depend on `{}` (layer {used}): its layer is not lower",
                edge.name
            )),
            Some(_) if TESTS_ONLY.contains(&edge.name) && !edge.tests => {
                messages.push(format!("`{name}` uses `{}` outside its tests", edge.name));
            }
            Some(_) => {}
            // Reported where that crate is looked at.
            None => {}
        }
    }
    messages
}

/// What is published cannot be built from what is not. Dependencies of tests are left out of a published crate.
fn check_published(name: &str, edges: &[Edge<'_>], is_published: &dyn Fn(&str) -> bool) -> Vec<String> {
    let missing = edges.iter().filter(|edge| is_published(name) && !edge.tests && !is_published(edge.name));
    missing.map(|edge| format!("`{name}` is published and needs `{}`, which is not", edge.name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(name: &str, used: &str, tests: bool) -> String {
        check_edges(name, &[Edge { name: used, tests }]).join("\n")
    }

    #[test]
    fn a_crate_sees_lower_layers_only() {
        assert_eq!(messages("warplens-ptx", "warplens-ir", false), "");
        let sibling = "`warplens-ptx` (layer 3) must not depend on `warplens-exec` (layer 3): its layer is not lower";
        assert_eq!(messages("warplens-ptx", "warplens-exec", false), sibling);
        assert_eq!(messages("warplens-ptx", "warplens-exec", true), sibling);
        assert!(messages("warplens-base", "warplens-cli", false).contains("must not depend"));
    }

    #[test]
    fn what_is_published_needs_only_what_is() {
        let is_published = |name: &str| name != "warplens-check";
        let messages =
            |name: &str, tests| check_published(name, &[Edge { name: "warplens-check", tests }], &is_published);
        let expected = ["`warplens-session` is published and needs `warplens-check`, which is not"];
        assert_eq!(messages("warplens-session", false), expected);
        assert!(messages("warplens-session", true).is_empty());
        assert!(messages("warplens-check", false).is_empty());
    }

    #[test]
    fn what_serves_tests_stays_out_of_the_program() {
        assert_eq!(messages("warplens-ptx", "warplens-literate", true), "");
        assert_eq!(messages("warplens-cli", "warplens-reference", true), "");
        assert_eq!(
            messages("warplens-cli", "warplens-reference", false),
            "`warplens-cli` uses `warplens-reference` outside its tests"
        );
        assert_eq!(
            messages("warplens-ptx", "warplens-literate", false),
            "`warplens-ptx` uses `warplens-literate` outside its tests"
        );
    }

    #[test]
    fn a_crate_without_a_layer_is_an_error() {
        assert!(messages("warplens-new", "warplens-base", false).starts_with("`warplens-new` has no layer"));
    }
}
