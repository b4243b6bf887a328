//! What a program launched and copied, with predicted times: the lines that the CUDA library wrote while it ran, added up.

mod findings;
pub mod program;
pub mod timeline;

use std::collections::BTreeMap;

use warplens_launch::KernelName;
use warplens_session::trail::{CopyKind, Entry, Executed, TimeOn};

pub use findings::Finding;
use findings::Findings;
use timeline::{Span, Timeline, Work};

/// What a program did.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Account {
    /// The GPUs, the first of which the program saw.
    pub gpus: Vec<String>,
    /// Kernels with their shapes, those with the longest time on the first GPU first.
    pub kernels: Vec<Kernel>,
    /// What was copied and set.
    pub copies: BTreeMap<CopyKind, Copies>,
    /// Under which copies and the time line hold, as sentences.
    pub assumptions: Vec<String>,
    /// What the device did when, on the first GPU.
    pub timeline: Timeline,
    /// Launches that were executed in part or not at all.
    pub sampled: Sampled,
    /// What checks found: races, then reads of what nothing wrote, then memory that was not freed.
    pub findings: Vec<Finding>,
    /// Functions that are not supported.
    pub unsupported: Vec<String>,
    /// What was said where something went wrong.
    pub failures: Vec<String>,
}

/// A kernel with one shape.
#[derive(Clone, PartialEq, Debug)]
pub struct Kernel {
    /// Its name.
    pub name: KernelName,
    /// Blocks per axis.
    pub grid: [u32; 3],
    /// Threads per axis.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block in bytes.
    pub dynamic_shared: u64,
    /// Registers of a thread.
    pub registers: u32,
    /// Launches of any kernel before its first.
    pub launched_before: u64,
    /// Launches.
    pub calls: u64,
    /// Launches of which only the work is known.
    pub scaled: u64,
    /// Cases that were simulated.
    pub cases: u64,
    /// Times on each GPU.
    pub times: Vec<Time>,
}

/// The time of all calls of a kernel on a GPU.
#[derive(Clone, PartialEq, Debug)]
pub struct Time {
    /// None where one of them has none.
    pub seconds: Option<f64>,
    /// Of the first call, of the shortest and of the longest; none where no model answers.
    pub first: Option<f64>,
    /// See [`Self::first`].
    pub least: Option<f64>,
    /// See [`Self::first`].
    pub most: Option<f64>,
    /// What the first case says of model, bound and refusal.
    pub answer: TimeOn,
}

/// Launches that were not executed as the program meant them, so that its results are wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sampled {
    /// Only some CTAs were executed.
    pub in_part: u64,
    /// Nothing was executed.
    pub left_out: u64,
}

/// Copies in one direction.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Copies {
    /// How many.
    pub calls: u64,
    /// Bytes of all of them.
    pub bytes: u64,
    /// Seconds of all of them on each GPU; none where a rate is not known.
    pub seconds: Vec<Option<f64>>,
}

/// What tells a kernel with its shape from others.
type Key = (String, [u32; 3], [u32; 3], u64);

impl Account {
    /// Adds up the lines of a trail.
    pub fn new(entries: &[Entry]) -> Self {
        let mut account = Self::default();
        let mut kernels: BTreeMap<Key, Kernel> = BTreeMap::new();
        let mut cases: BTreeMap<(u32, u32), (Key, Vec<TimeOn>)> = BTreeMap::new();
        let mut findings = Findings::default();
        let mut launches = 0;
        for entry in entries {
            match entry {
                Entry::Start { gpus, assumptions, .. } => {
                    account.gpus.clone_from(gpus);
                    account.assumptions.clone_from(assumptions);
                }
                Entry::Case { process, case, kernel, grid, block, dynamic_shared, registers, answers } => {
                    let key: Key = (kernel.clone(), *grid, *block, *dynamic_shared);
                    let known = kernels.entry(key.clone()).or_insert_with(|| Kernel {
                        name: KernelName::new(kernel),
                        grid: *grid,
                        block: *block,
                        dynamic_shared: *dynamic_shared,
                        registers: *registers,
                        launched_before: launches,
                        calls: 0,
                        scaled: 0,
                        cases: 0,
                        times: answers.iter().map(Time::new).collect(),
                    });
                    known.cases += 1;
                    cases.insert((*process, *case), (key, answers.clone()));
                }
                Entry::Launch { process, case, scale, executed, place } => {
                    let Some((key, answers)) = cases.get(&(*process, *case)) else { continue };
                    let Some(kernel) = kernels.get_mut(key) else { continue };
                    launches += 1;
                    kernel.calls += 1;
                    kernel.scaled += u64::from(*scale != 1.0);
                    account.sampled.in_part += u64::from(*executed == Executed::Part);
                    account.sampled.left_out += u64::from(*executed == Executed::Nothing);
                    let work =
                        Work::Kernel { name: kernel.name.base().to_owned(), grid: kernel.grid, block: kernel.block };
                    account.timeline.spans.push(Span::new(*process, place, work));
                    for (time, answer) in kernel.times.iter_mut().zip(answers) {
                        time.add(answer.seconds.map(|seconds| seconds * scale), kernel.calls == 1);
                    }
                }
                Entry::Copy { process, kind, bytes, seconds, place } => {
                    let copies = account.copies.entry(*kind).or_default();
                    copies.add(*bytes, seconds);
                    account.timeline.spans.push(Span::new(*process, place, Work::Copy { kind: *kind, bytes: *bytes }));
                }
                Entry::Unsupported { function, .. } => account.unsupported.push(function.clone()),
                Entry::Omitted { .. } => account.sampled.left_out += 1,
                // They are in the index of the archive.
                Entry::Archived { .. } | Entry::LeftOut { .. } => {}
                Entry::Finding { .. } | Entry::Allocated { .. } | Entry::Freed { .. } => findings.add(entry),
                Entry::Failure { message, .. } => account.failures.push(message.clone()),
            }
        }
        account.findings = findings.list();
        account.kernels = kernels.into_values().filter(|kernel| kernel.calls > 0).collect();
        let first = |kernel: &Kernel| kernel.times.first().and_then(|time| time.seconds).unwrap_or(0.0);
        account.kernels.sort_by(|a, b| first(b).total_cmp(&first(a)));
        account
    }

    /// Seconds of all launches on the GPU with this number, and launches that have no time.
    pub fn total(&self, gpu: usize) -> (f64, u64) {
        let times = self.kernels.iter().filter_map(|kernel| Some((kernel, kernel.times.get(gpu)?)));
        times.fold((0.0, 0), |(sum, without), (kernel, time)| match time.seconds {
            Some(seconds) => (sum + seconds, without),
            None => (sum, without + kernel.calls),
        })
    }
}

impl Copies {
    fn add(&mut self, bytes: u64, seconds: &[Option<f64>]) {
        self.calls += 1;
        self.bytes += bytes;
        self.seconds.resize(seconds.len(), Some(0.0));
        for (sum, own) in self.seconds.iter_mut().zip(seconds) {
            *sum = sum.zip(*own).map(|(sum, own)| sum + own);
        }
    }
}

impl Time {
    fn new(answer: &TimeOn) -> Self {
        Self { seconds: Some(0.0), first: None, least: None, most: None, answer: answer.clone() }
    }

    /// Adds a call.
    fn add(&mut self, own: Option<f64>, is_first: bool) {
        self.seconds = self.seconds.zip(own).map(|(sum, own)| sum + own);
        if is_first {
            self.first = own;
        }
        self.least = self.least.into_iter().chain(own).min_by(f64::total_cmp);
        self.most = self.most.into_iter().chain(own).max_by(f64::total_cmp);
    }
}

/// Words for a direction.
pub fn direction(kind: CopyKind) -> &'static str {
    match kind {
        CopyKind::ToDevice => "host to device",
        CopyKind::ToHost => "device to host",
        CopyKind::OnDevice => "on the device",
        CopyKind::OnHost => "on the host",
        CopyKind::Set => "set",
    }
}

#[cfg(test)]
mod tests {
    use warplens_session::trail::Place;

    use super::*;

    fn copy(bytes: u64, seconds: Option<f64>) -> Entry {
        Entry::Copy { process: 1, kind: CopyKind::ToHost, bytes, seconds: vec![seconds], place: Place::default() }
    }

    fn case(case: u32, grid: u32, seconds: Option<f64>) -> Entry {
        let answer = TimeOn {
            gpu: "h200".into(),
            seconds,
            model: Some("teg".into()),
            bound_by: Some("issue slots".into()),
            refused: None,
        };
        Entry::Case {
            process: 1,
            case,
            kernel: "_Z3addPf".into(),
            grid: [grid, 1, 1],
            block: [32, 1, 1],
            dynamic_shared: 0,
            registers: 8,
            answers: vec![answer],
        }
    }

    fn launch(case: u32, scale: f64) -> Entry {
        let place = Place { stream: 0, begin: 0.0, end: 1.0 };
        Entry::Launch { process: 1, case, scale, executed: Executed::Whole, place }
    }

    #[test]
    fn launches_of_one_shape_are_one_row() {
        let entries = [
            Entry::Start { process: 1, gpus: vec!["h200".into()], assumptions: vec!["copies are free".into()] },
            case(0, 4, Some(1e-6)),
            launch(0, 1.0),
            case(1, 8, Some(5e-6)),
            launch(1, 1.0),
            launch(0, 1.0),
            case(2, 4, Some(2e-6)),
            launch(2, 1.5),
            // A process that was ended while it wrote may leave a case without a launch, or the other way round.
            case(3, 16, Some(1.0)),
            launch(9, 1.0),
            copy(5, Some(1.0)),
            copy(6, Some(0.5)),
        ];
        let account = Account::new(&entries);
        let rows: Vec<_> = account.kernels.iter().map(|row| (row.grid[0], row.calls, row.scaled, row.cases)).collect();
        assert_eq!(rows, [(8, 1, 0, 1), (4, 3, 1, 2)]);
        let times: Vec<_> = account
            .kernels
            .iter()
            .map(|row| (row.launched_before, row.times[0].first, row.times[0].least, row.times[0].most))
            .collect();
        assert_eq!(times[0], (1, Some(5e-6), Some(5e-6), Some(5e-6)));
        assert_eq!(times[1], (0, Some(1e-6), Some(1e-6), Some(1.5 * 2e-6)));
        assert_eq!(account.total(0), (1e-6 * 10.0, 0));
        assert_eq!(account.copies[&CopyKind::ToHost], Copies { calls: 2, bytes: 11, seconds: vec![Some(1.5)] });
        assert_eq!(account.timeline.spans.len(), 6);
        assert_eq!(account.assumptions, ["copies are free"]);
    }

    #[test]
    fn launches_without_a_time_are_counted() {
        let account = Account::new(&[case(0, 4, None), launch(0, 1.0), case(1, 8, Some(1e-6)), launch(1, 1.0)]);
        assert_eq!(account.total(0), (1e-6, 1));
    }
}
