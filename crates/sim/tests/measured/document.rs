//! The document that holds the tables, and the figures that they are compared with.

use std::path::{Path, PathBuf};

fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation").join(path)
}

/// Rows of a table of measured figures, without its head.
pub(crate) fn measured(name: &str) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(file(&format!("measured/{name}"))).expect("the figures are there");
    text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

pub(crate) fn number(field: &str) -> f64 {
    field.parse().expect("the measured figures are numbers")
}

/// Compares a table with the document, or puts it there.
pub(crate) fn hold(section: &str, table: &str) {
    warplens_literate::hold(&file("teg-accuracy.md"), section, table);
}
