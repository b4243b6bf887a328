//! The book holds every page of the manual: `docs/SUMMARY.md` lists them all.

use anyhow::Result;

use super::Finding;
use crate::book::{SUMMARY, chapters};
use crate::workspace::Workspace;

/// The folder of the manual.
const MANUAL: &str = "docs/";

/// Looks for pages that the list leaves out.
pub(super) fn check(workspace: &Workspace, files: &[String]) -> Result<Vec<Finding>> {
    let chapters = chapters(&workspace.read(SUMMARY)?);
    let pages = files.iter().filter(|path| path.starts_with(MANUAL) && path.ends_with(".md") && *path != SUMMARY);
    let left_out = pages.filter(|page| !chapters.contains(page));
    Ok(left_out.map(|page| Finding::new(SUMMARY, 0, format!("the book leaves `{page}` out"))).collect())
}
