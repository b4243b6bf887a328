//! The index of an archive, made of what the library wrote while the program ran.

use std::io;
use std::path::{Path, PathBuf};

use warplens_base::error::{Error, Result};
use warplens_document::Id;
use warplens_document::archive::{Archive, ArchivedLeftOut};

use super::INDEX;
use crate::trail::Entry;

/// The folder of an archive that is to be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Makes the folder. Nothing may be in it.
    pub fn new(path: &Path) -> Result<Self> {
        let cannot = |error: io::Error| Error::input(format!("{}: {error}", path.display()));
        std::fs::create_dir_all(path).map_err(cannot)?;
        if std::fs::read_dir(path).map_err(cannot)?.next().is_some() {
            let error = Error::usage(format!("{} is not empty", path.display()));
            return Err(error.with_help("an archive needs a folder of its own"));
        }
        Ok(Self(path.canonicalize().map_err(cannot)?))
    }

    /// Its path from the root.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes the index. Returns how many launches it has, and how many are left out.
    pub fn finish(&self, entries: &[Entry], command: &[String]) -> Result<(usize, usize)> {
        let index = index(entries, command);
        let path = self.0.join(INDEX);
        let text = serde_json::to_string_pretty(&index).expect("a document is JSON") + "\n";
        std::fs::write(&path, text).map_err(|error| Error::input(format!("{}: {error}", path.display())))?;
        Ok((index.launches.len(), index.left_out.len()))
    }
}

fn index(entries: &[Entry], command: &[String]) -> Archive {
    let mut index = Archive {
        schema: Id::new(),
        command: command.to_vec(),
        gpus: Vec::new(),
        launches: Vec::new(),
        left_out: Vec::new(),
    };
    for entry in entries {
        match entry {
            Entry::Start { gpus, .. } => index.gpus.clone_from(gpus),
            Entry::Archived { launch, .. } => index.launches.push((**launch).clone()),
            Entry::LeftOut { kernel, reason, .. } => {
                index.left_out.push(ArchivedLeftOut { kernel: kernel.clone(), reason: reason.clone() });
            }
            _ => {}
        }
    }
    index
}
