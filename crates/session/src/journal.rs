//! Results on disk as soon as they are there, so that work that stops can go on.
//!
//! A journal is lines of a key and a result. What was being written when the work stopped is an incomplete last line,
//! which is given up. Journals of several workers are joined by putting their lines together.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use warplens_base::error::{Error, Result};

use crate::files;

/// The first line, by which a journal is known.
const HEAD: &str = "warplens journal 1";

/// A file to which results are added.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: Mutex<File>,
}

impl Journal {
    /// Opens a journal, or begins one, and reads what it holds. A file that is something else is left alone.
    pub fn open(path: &Path) -> Result<(Self, BTreeMap<String, String>)> {
        let text = match path.exists() {
            true => files::read_to_string(path).map_err(|error| cannot("read", path, &error))?,
            false => String::new(),
        };
        let (whole, entries) = entries(path, &text)?;
        let file = OpenOptions::new().create(true).append(true).open(path);
        let file = file.map_err(|error| cannot("write", path, &error))?;
        // What comes next must not stand behind half a line.
        file.set_len(whole as u64).map_err(|error| cannot("write", path, &error))?;
        let journal = Self { path: path.to_owned(), file: Mutex::new(file) };
        if whole == 0 {
            journal.write(&format!("{HEAD}\n"))?;
        }
        Ok((journal, entries))
    }

    /// Adds a result, which has no line break.
    pub fn add(&self, key: &str, result: &str) -> Result<()> {
        debug_assert!(!key.contains([' ', '\n']) && !result.contains('\n'), "an entry is a line");
        self.write(&format!("{key} {result}\n"))
    }

    fn write(&self, line: &str) -> Result<()> {
        let mut file = self.file.lock().expect("no holder of the lock panics");
        file.write_all(line.as_bytes()).map_err(|error| cannot("write", &self.path, &error))
    }
}

/// Bytes of the whole lines, and the results in them; of a key that stands there twice the last.
fn entries(path: &Path, text: &str) -> Result<(usize, BTreeMap<String, String>)> {
    let whole = text.rfind('\n').map_or(0, |end| end + 1);
    let mut entries = BTreeMap::new();
    let is_begun = HEAD.starts_with(text);
    for (at, line) in text[..whole].lines().enumerate() {
        match (at, line.split_once(' ')) {
            // Journals that were put together have several heads.
            _ if line == HEAD => {}
            (1.., Some((key, result))) => {
                entries.insert(key.to_owned(), result.to_owned());
            }
            _ => return Err(Error::input(format!("{} is no journal", path.display()))),
        }
    }
    match whole > 0 || is_begun {
        true => Ok((whole, entries)),
        false => Err(Error::input(format!("{} is no journal", path.display()))),
    }
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> Error {
    Error::input(format!("cannot {what} {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_goes_on_behind_the_last_whole_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j");
        let (journal, entries) = Journal::open(&path).unwrap();
        assert!(entries.is_empty());
        journal.add("a", "1").unwrap();
        journal.add("b", "{\"x\": 2}").unwrap();
        drop(journal);
        let written = std::fs::read_to_string(&path).unwrap();
        for cut in 0..=written.len() {
            std::fs::write(&path, &written[..cut]).unwrap();
            let (journal, entries) = Journal::open(&path).unwrap();
            assert!(entries.iter().all(|(key, result)| written.contains(&format!("{key} {result}\n"))), "{cut}");
            journal.add("c", "3").unwrap();
            drop(journal);
            let (_, entries) = Journal::open(&path).unwrap();
            assert_eq!(entries["c"], "3", "{cut}");
        }
    }

    #[test]
    fn journals_are_put_together_and_others_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j");
        std::fs::write(&path, format!("{HEAD}\na 1\n{HEAD}\nb 2\na 3\n")).unwrap();
        let (_, entries) = Journal::open(&path).unwrap();
        assert_eq!((entries["a"].as_str(), entries["b"].as_str()), ("3", "2"));
        for other in ["int main() {}\n", "text", "\n"] {
            std::fs::write(&path, other).unwrap();
            assert!(Journal::open(&path).unwrap_err().message.contains("is no journal"), "{other}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), other);
        }
    }
}
