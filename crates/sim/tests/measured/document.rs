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
    let path = file("teg-accuracy.md");
    let document = std::fs::read_to_string(&path).expect("the document is there");
    let (begin, end) = (format!("<!-- held: {section} -->\n\n"), format!("\n<!-- end: {section} -->"));
    let from = document.find(&begin).expect("the table has a begin") + begin.len();
    let to = document.find(&end).expect("the table has an end");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, format!("{}{table}{}", &document[..from], &document[to..])).expect("it can be written");
    } else {
        assert_eq!(&document[from..to], table, "the errors changed; `UPDATE=1` accepts it");
    }
}
