//! What checks found in a program, once for each line of a kernel and each allocation.

use std::collections::BTreeMap;

use warplens_launch::KernelName;
use warplens_session::trail::{Check, Entry};

/// Something that a check found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// Which check.
    pub check: Check,
    /// The kernel; none for memory that was not freed.
    pub kernel: Option<KernelName>,
    /// The line of the kernel's code, or the call that allocated the memory.
    pub place: String,
    /// What happened there, with the example of the first launch.
    pub message: String,
    /// How often it happened.
    pub count: u64,
    /// Launches in which it happened; 0 for memory.
    pub launches: u64,
}

/// Findings that are added up.
#[derive(Default)]
pub(super) struct Findings {
    /// By check, kernel and place, in the order in which they were first found.
    of_launches: BTreeMap<(Check, String, String), (usize, Finding)>,
    /// Memory that was allocated and is not freed yet, by process and address.
    memory: BTreeMap<(u32, u64), (usize, String, u64)>,
    added: usize,
}

impl Findings {
    /// Adds a line; others than those of checks say nothing here.
    pub(super) fn add(&mut self, entry: &Entry) {
        self.added += 1;
        match entry {
            Entry::Finding { check, kernel, place, message, count, .. } => {
                let key = (*check, kernel.clone(), place.clone());
                let (_, known) = self.of_launches.entry(key).or_insert_with(|| {
                    let finding = Finding {
                        check: *check,
                        kernel: Some(KernelName::new(kernel)),
                        place: place.clone(),
                        message: message.clone(),
                        count: 0,
                        launches: 0,
                    };
                    (self.added, finding)
                });
                known.count += count;
                known.launches += 1;
            }
            Entry::Allocated { process, address, bytes, name } => {
                self.memory.insert((*process, *address), (self.added, name.clone(), *bytes));
            }
            Entry::Freed { process, address } => drop(self.memory.remove(&(*process, *address))),
            _ => {}
        }
    }

    /// All of them, by check and then in the order in which they were found.
    pub(super) fn list(self) -> Vec<Finding> {
        let leak = |(order, name, bytes): (usize, String, u64)| {
            let message = format!("{bytes} bytes were never freed");
            let finding = Finding { check: Check::Leaks, kernel: None, place: name, message, count: 1, launches: 0 };
            (order, finding)
        };
        let mut all: Vec<(usize, Finding)> = self.of_launches.into_values().collect();
        all.extend(self.memory.into_values().map(leak));
        all.sort_by_key(|(order, finding)| (finding.check, *order));
        all.into_iter().map(|(_, finding)| finding).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allocated(address: u64, number: u32) -> Entry {
        Entry::Allocated { process: 1, address, bytes: 10, name: format!("cudaMalloc #{number}") }
    }

    fn found(check: Check, place: &str, count: u64) -> Entry {
        let (kernel, message) = ("_Z3addPf".to_owned(), format!("message {count}"));
        Entry::Finding { process: 1, check, kernel, place: place.to_owned(), message, count }
    }

    #[test]
    fn findings_of_a_line_are_one_and_memory_that_is_freed_is_none() {
        let mut findings = Findings::default();
        let entries = [
            allocated(512, 1),
            allocated(1024, 2),
            found(Check::Uninitialised, "PTX line 9", 3),
            found(Check::Races, "PTX line 30", 1),
            found(Check::Uninitialised, "PTX line 9", 4),
            Entry::Freed { process: 1, address: 512 },
            Entry::Freed { process: 2, address: 1024 },
            allocated(2048, 3),
        ];
        entries.iter().for_each(|entry| findings.add(entry));
        let list = findings.list();
        let rows: Vec<_> = list.iter().map(|row| (row.check, row.place.as_str(), row.count, row.launches)).collect();
        assert_eq!(
            rows,
            [
                (Check::Races, "PTX line 30", 1, 1),
                (Check::Uninitialised, "PTX line 9", 7, 2),
                (Check::Leaks, "cudaMalloc #2", 1, 0),
                (Check::Leaks, "cudaMalloc #3", 1, 0),
            ]
        );
        assert_eq!(list[1].message, "message 3", "the example is that of the first launch");
        assert_eq!(list[1].kernel.as_ref().map(|kernel| kernel.base()), Some("add"));
    }
}
