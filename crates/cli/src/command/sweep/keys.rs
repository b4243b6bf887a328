//! By what a journal knows a configuration: everything that its rows follow from.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use sha2::{Digest, Sha256};
use warplens_question::sweep::{Configuration, Loaded};
use warplens_session::{InputKind, files};

/// Keys of the configurations of a study.
pub(super) struct Keys {
    /// What all configurations have in common.
    common: String,
}

impl Keys {
    /// `how` is what the flags say about the execution.
    pub(super) fn new(loaded: &Loaded, study: &Path, how: &str) -> Result<Self> {
        let mut text = format!("{} {how}\n", env!("CARGO_PKG_VERSION"));
        // The order of kernels and what else the study holds makes no difference to a configuration of one of them, but
        // a study that was changed is asked anew where that cannot be seen at once.
        let _ = writeln!(text, "{:?}", (&loaded.choice, loaded.options, &loaded.study.what_ifs, &loaded.machines));
        for (kernel, input) in loaded.study.kernels.iter().zip(&loaded.inputs) {
            let _ = writeln!(text, "{kernel:?} {}", input.text());
            if input.kind == InputKind::CudaSource {
                let folder = study.parent().unwrap_or(Path::new("")).join(&kernel.input);
                let folder = folder.parent().map(Path::to_owned).unwrap_or_default();
                included(&input.text(), &folder, &mut BTreeSet::new(), &mut text);
            }
            if let Some(launch) = &kernel.launch {
                let path = study.parent().unwrap_or(Path::new("")).join(launch);
                text.push_str(&files::read_to_string(path).unwrap_or_default());
            }
        }
        Ok(Self { common: hash(&text) })
    }

    /// The key of a configuration.
    pub(super) fn of(&self, configuration: &Configuration) -> String {
        hash(&format!("{} {}", self.common, configuration.label))
    }
}

/// The text of the files that a source includes by quotes, each once; those that are not there are for the compiler.
fn included(source: &str, folder: &Path, seen: &mut BTreeSet<PathBuf>, text: &mut String) {
    for line in source.lines() {
        let Some(rest) = line.trim_start().strip_prefix('#') else { continue };
        let Some(name) = rest.trim_start().strip_prefix("include").and_then(|rest| rest.split('"').nth(1)) else {
            continue;
        };
        let path = folder.join(name);
        if !seen.insert(path.clone()) {
            continue;
        }
        if let Ok(own) = files::read_to_string(&path) {
            text.push_str(&own);
            included(&own, path.parent().unwrap_or(folder), seen, text);
        }
    }
}

fn hash(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
