//! What the device did when: launches and copies of a program on the clock of the first GPU.

use std::collections::BTreeMap;

use warplens_session::trail::{CopyKind, Place};

/// Microseconds by which spans that follow each other may seem to overlap, as sums round.
const TOGETHER: f64 = 1e-6;

/// Everything that a program did on the device.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Timeline {
    /// Launches and copies in the order in which they were asked for.
    pub spans: Vec<Span>,
}

/// A launch or a copy.
#[derive(Clone, PartialEq, Debug)]
pub struct Span {
    /// Number of the process.
    pub process: u32,
    /// Number of the stream; 0 is the default stream.
    pub stream: u32,
    /// When it begins, in microseconds since the process began.
    pub begin: f64,
    /// When it ends.
    pub end: f64,
    /// What it is.
    pub work: Work,
}

/// What the device does.
#[derive(Clone, PartialEq, Debug)]
pub enum Work {
    /// A kernel runs.
    Kernel {
        /// Its name without parameters.
        name: String,
        /// CTAs per axis.
        grid: [u32; 3],
        /// Threads per axis.
        block: [u32; 3],
    },
    /// Bytes are copied or set.
    Copy {
        /// From where to where.
        kind: CopyKind,
        /// How many.
        bytes: u64,
    },
}

/// How the time of the device is spent, in microseconds.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Spent {
    /// From the begin of the first work to the end of the last.
    pub total: f64,
    /// Some kernel runs.
    pub kernels: f64,
    /// Something is copied between host and device.
    pub copies: f64,
    /// Both at the same time.
    pub both: f64,
    /// Nothing runs: the device waits for the host.
    pub idle: f64,
}

impl Span {
    pub(super) fn new(process: u32, place: &Place, work: Work) -> Self {
        Self { process, stream: place.stream, begin: place.begin / 1e3, end: place.end / 1e3, work }
    }

    /// True for copies that go through the link to the host.
    pub fn is_transfer(&self) -> bool {
        matches!(self.work, Work::Copy { kind: CopyKind::ToDevice | CopyKind::ToHost, .. })
    }

    /// True for what the host does by itself.
    pub fn is_of_host(&self) -> bool {
        matches!(self.work, Work::Copy { kind: CopyKind::OnHost, .. })
    }
}

/// Where spans are drawn: those of a stream follow each other, but for the branches of a graph.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Lane {
    /// Number of the process.
    pub process: u32,
    /// Number of the stream.
    pub stream: u32,
    /// Number of the branch; 0 where nothing else runs in the stream.
    pub branch: u32,
}

impl Timeline {
    /// The lane of each span, so that no two spans of a lane overlap.
    pub fn lanes(&self) -> Vec<Lane> {
        let mut ends: BTreeMap<(u32, u32), Vec<f64>> = BTreeMap::new();
        let lane = |span: &Span| {
            let ends = ends.entry((span.process, span.stream)).or_default();
            let free = ends.iter().position(|&end| end <= span.begin + TOGETHER);
            let branch = free.unwrap_or_else(|| {
                ends.push(0.0);
                ends.len() - 1
            });
            ends[branch] = span.end;
            Lane { process: span.process, stream: span.stream, branch: branch as u32 }
        };
        self.spans.iter().map(lane).collect()
    }

    /// How the time is spent, over all processes.
    pub fn spent(&self) -> Spent {
        let mut processes: Vec<u32> = self.spans.iter().map(|span| span.process).collect();
        processes.sort_unstable();
        processes.dedup();
        processes.into_iter().map(|process| self.spent_by(process)).fold(Spent::default(), |sum, own| Spent {
            total: sum.total + own.total,
            kernels: sum.kernels + own.kernels,
            copies: sum.copies + own.copies,
            both: sum.both + own.both,
            idle: sum.idle + own.idle,
        })
    }

    /// Sweeps over the begins and ends of a process.
    fn spent_by(&self, process: u32) -> Spent {
        let spans = self.spans.iter().filter(|span| span.process == process && !span.is_of_host());
        let mut changes: Vec<(f64, bool, i64)> =
            spans.flat_map(|span| [(span.begin, span.is_transfer(), 1), (span.end, span.is_transfer(), -1)]).collect();
        changes.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut spent = Spent::default();
        let (mut kernels, mut copies) = (0, 0);
        let mut last = changes.first().map_or(0.0, |change| change.0);
        for (time, is_transfer, by) in changes {
            let passed = time - last;
            spent.total += passed;
            spent.kernels += if kernels > 0 { passed } else { 0.0 };
            spent.copies += if copies > 0 { passed } else { 0.0 };
            spent.both += if kernels > 0 && copies > 0 { passed } else { 0.0 };
            spent.idle += if kernels == 0 && copies == 0 { passed } else { 0.0 };
            *(if is_transfer { &mut copies } else { &mut kernels }) += by;
            last = time;
        }
        spent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_that_overlap_have_lanes_of_their_own() {
        let span = |begin: f64, end: f64| {
            let work = Work::Copy { kind: CopyKind::Set, bytes: 1 };
            Span { process: 1, stream: 2, begin, end, work }
        };
        let spans = vec![span(0.0, 2.0), span(1.0, 3.0), span(2.0, 4.0), span(3.0, 4.0)];
        let branches: Vec<u32> = Timeline { spans }.lanes().iter().map(|lane| lane.branch).collect();
        assert_eq!(branches, [0, 1, 0, 1]);
    }

    #[test]
    fn time_is_spent_on_kernels_on_copies_on_both_or_on_nothing() {
        let span = |begin: f64, end: f64, work: Work| Span { process: 1, stream: 0, begin, end, work };
        let kernel = || Work::Kernel { name: "k".into(), grid: [1; 3], block: [1; 3] };
        let copy = |kind| Work::Copy { kind, bytes: 1 };
        let spans = vec![
            span(10.0, 20.0, copy(CopyKind::ToDevice)),
            span(15.0, 25.0, kernel()),
            span(18.0, 24.0, kernel()),
            span(30.0, 31.0, copy(CopyKind::OnDevice)),
            span(0.0, 100.0, copy(CopyKind::OnHost)),
        ];
        let spent = Timeline { spans }.spent();
        assert_eq!(spent, Spent { total: 21.0, kernels: 11.0, copies: 10.0, both: 5.0, idle: 5.0 });
        assert_eq!(Timeline::default().spent(), Spent::default());
    }
}
