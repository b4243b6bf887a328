//! What the program is checked for beside what stops it: races, reads of what nothing wrote, memory that is not freed.
//!
//! Races and reads are found launch by launch. Allocations and frees are only written down: what is left when the program
//! has ended, in whatever way, is for who reads that.

use std::sync::Arc;

use warplens_check::Written;
use warplens_session::findings::{Checks, Finding};
use warplens_session::served::Served;
use warplens_session::trail::{Check, Entry};

use crate::memory::MemoryKind;
use crate::runtime::{Runtime, say};

/// What launches are checked for, as the list of checks says.
pub(crate) fn of(list: &[Check]) -> Checks {
    Checks {
        races: list.contains(&Check::Races),
        written: list.contains(&Check::Uninitialised).then(|| Arc::new(Written::default())),
    }
}

impl Runtime {
    /// Says what was found in a launch, once for each line, and writes it down.
    pub(crate) fn note_findings(&mut self, served: &Served, findings: Vec<Finding>) {
        let process = std::process::id();
        for Finding { check, place, message, count } in findings {
            let name = &served.name().demangled;
            let line = format!("{} in kernel `{name}`, {place}", check.name());
            if self.found.insert(line.clone()) {
                say(&format!("{line}: {message}"));
            }
            let kernel = served.name().mangled.clone();
            self.trail.note(&Entry::Finding { process, check, kernel, place, message, count });
        }
    }

    /// Of this memory nothing has been written. What the host can write without a call counts as written.
    pub(crate) fn track(&mut self, address: u64, bytes: u64, kind: MemoryKind) {
        if let (MemoryKind::Device, Some(written)) = (kind, self.written()) {
            written.track(address, bytes);
        }
    }

    /// It is not looked any more what of this memory has been written.
    pub(crate) fn forget(&mut self, address: u64) {
        if let Some(written) = self.written() {
            written.forget(address);
        }
    }

    /// What has been written, where that matters.
    pub(crate) fn written(&mut self) -> Option<&mut Written> {
        self.checks.written.as_mut().map(Arc::make_mut)
    }

    /// The program has allocated memory of the device, with its last call that allocates.
    pub(crate) fn note_allocation(&mut self, call: &str, address: u64, bytes: u64) {
        if self.looks_for_leaks {
            let name = format!("{call} #{}", self.allocations);
            self.trail.note(&Entry::Allocated { process: std::process::id(), address, bytes, name });
        }
    }

    /// The program has freed memory.
    pub(crate) fn note_free(&mut self, address: u64) {
        if self.looks_for_leaks {
            self.trail.note(&Entry::Freed { process: std::process::id(), address });
        }
    }
}
