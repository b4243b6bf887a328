//! Launches that are kept on disk: those that are simulated, each with the memory that it can reach.

use std::path::Path;

use warplens_session::archive::{Kept, Snapshot, Store};
use warplens_session::served::{Loaded, Served, ServedLaunch};
use warplens_session::trail::{Entry, TimeOn, environment};

use crate::config::ArchiveFolder;
use crate::runtime::{Runtime, say};

/// Where launches are kept; nowhere where that is not asked for, or not possible.
pub(crate) fn open(archive: Option<ArchiveFolder>) -> Option<Store> {
    let ArchiveFolder { folder, limit } = archive?;
    let store = Store::new(Path::new(&folder), limit);
    store.map_err(|error| say(&format!("{}: {error}; no launch is kept", environment::RECORD))).ok()
}

impl Runtime {
    /// Takes down what a launch that will be simulated can reach.
    pub(crate) fn snapshot(&mut self, loaded: &Loaded, served: &Served, launch: &ServedLaunch) -> Option<Snapshot> {
        let limit = self.store.as_ref()?.limit();
        let mut words =
            launch.parameters.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes")));
        if words.any(|word| self.texels_of(word).is_some()) {
            self.leave_out(served, "it is handed a texture or a surface".to_owned());
            return None;
        }
        let snapshot = Snapshot::take(&self.context, loaded, launch, limit);
        if snapshot.is_none() {
            self.leave_out(served, format!("it can reach more than {limit} bytes of memory (--record-limit)"));
        }
        snapshot
    }

    /// Keeps a launch that was simulated.
    pub(crate) fn keep(
        &mut self,
        snapshot: Snapshot,
        of: (&Loaded, &Served, &ServedLaunch),
        launched_before: u64,
        answers: &[TimeOn],
    ) {
        let process = std::process::id();
        let Some(store) = &mut self.store else { return };
        let limit = store.limit();
        match snapshot.keep(store, of, (process, launched_before), answers) {
            Ok(Kept::Whole(launch)) => self.trail.note(&Entry::Archived { process, launch: Box::new(launch) }),
            Ok(Kept::TooLarge) => {
                self.leave_out(of.1, format!("the archive would be larger than {limit} bytes (--record-limit)"));
            }
            Err(error) => {
                self.store = None;
                self.leave_out(of.1, format!("it cannot be written: {error}; nothing more is kept"));
            }
        }
    }

    fn leave_out(&mut self, served: &Served, reason: String) {
        self.say_once(&format!("a launch of `{}` is not kept: {reason}", served.name().demangled));
        let kernel = served.name().mangled.clone();
        self.trail.note(&Entry::LeftOut { process: std::process::id(), kernel, reason });
    }
}
