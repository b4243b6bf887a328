//! Tables of a document that a test makes and holds.
//!
//! A table stands between `<!-- held: NAME -->` and `<!-- end: NAME -->`, with an empty line behind and before them. With
//! `UPDATE=1` in the environment it is put there in place of being compared.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Compares the table called `name` of a document with `table`, which ends with a line feed, or puts it there. Panics
/// where they differ, as an assertion does.
pub fn hold(document: &Path, name: &str, table: &str) {
    // Tests of one program run side by side, and each writes the whole document.
    static WRITING: Mutex<()> = Mutex::new(());
    let _one_at_a_time = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let text = std::fs::read_to_string(document).expect("the document is there");
    let (begin, end) = (format!("<!-- held: {name} -->\n\n"), format!("\n<!-- end: {name} -->"));
    let from = text.find(&begin).expect("the table has a begin") + begin.len();
    let to = text.find(&end).expect("the table has an end");
    if std::env::var_os("UPDATE").is_some() {
        let changed = format!("{}{table}{}", &text[..from], &text[to..]);
        std::fs::write(document, changed).expect("the document can be written");
    } else {
        assert_eq!(&text[from..to], table, "the table {name} changed; `UPDATE=1` accepts it");
    }
}
