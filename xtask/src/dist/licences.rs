//! The licences of the crates that are in the program: they ask for their text to go with it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use cargo_metadata::{DependencyKind, Metadata, PackageId};

use super::host;
use super::parts::PACKAGES;
use crate::workspace::Workspace;

/// How files with the words of a licence begin, in capitals.
const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"];

/// The licences of all crates of others, each text once, with the crates that it is for.
pub(super) fn of_others(workspace: &Workspace) -> Result<String> {
    let metadata = workspace.resolved(&["--filter-platform", &host()?])?;
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut listed = String::new();
    for package in linked(&metadata)? {
        let package = &metadata[&package];
        if package.source.is_none() {
            continue;
        }
        let name = format!("{} {}", package.name, package.version);
        let folder = package.manifest_path.parent().context("a manifest lies in a folder")?.as_std_path();
        let found = licences_in(folder)?;
        let licence = package.license.as_deref().unwrap_or("see its text");
        writeln!(listed, "{name}: {licence}{}", if found.is_empty() { " (it comes without a text)" } else { "" })?;
        for text in found {
            texts.entry(text).or_default().push(name.clone());
        }
    }
    let mut all = format!("warplens is made with these crates, under the licences below.\n\n{listed}");
    for (text, names) in texts {
        writeln!(all, "\n{}\n\nOf {}:\n\n{}", "-".repeat(80), names.join(", "), text.trim_end())?;
    }
    Ok(all)
}

/// The crates that end up in the files of the release, in the order of their names.
fn linked(metadata: &Metadata) -> Result<Vec<PackageId>> {
    let graph = metadata.resolve.as_ref().context("cargo has resolved nothing")?;
    let edges: BTreeMap<&PackageId, _> = graph.nodes.iter().map(|node| (&node.id, &node.deps)).collect();
    let roots = metadata.packages.iter().filter(|package| PACKAGES.contains(&package.name.as_str()));
    let mut waiting: VecDeque<&PackageId> = roots.map(|package| &package.id).collect();
    ensure!(waiting.len() == PACKAGES.len(), "a package of the release is missing");
    let mut seen: BTreeSet<&PackageId> = waiting.iter().copied().collect();
    while let Some(package) = waiting.pop_front() {
        let normal =
            |kinds: &[cargo_metadata::DepKindInfo]| kinds.iter().any(|kind| kind.kind == DependencyKind::Normal);
        for next in edges[package].iter().filter(|edge| normal(&edge.dep_kinds)) {
            if seen.insert(&next.pkg) {
                waiting.push_back(&next.pkg);
            }
        }
    }
    let mut found: Vec<PackageId> = seen.into_iter().cloned().collect();
    found.sort_by_key(|id| (metadata[id].name.to_string(), metadata[id].version.clone()));
    Ok(found)
}

fn licences_in(folder: &Path) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| format!("listing {}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().to_uppercase()).unwrap_or_default();
        if path.is_file() && NAMES.iter().any(|beginning| name.starts_with(beginning)) {
            texts.push(std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?);
        }
    }
    texts.sort();
    Ok(texts)
}
