//! What listens to the executions of a launch, and what is left of it.

use std::sync::Arc;

use warplens_exec as exec;
use warplens_ir::FunctionId;
use warplens_statics::Counts;
use warplens_stats::{Counting, LaunchShape, MemoryPlace, Recorder, TraceRequest, Tracer};
use warplens_trace::{Clusters, CtaId};

use crate::execution::Counters;
use crate::trace;

/// What listens to the executions of a launch.
pub(crate) struct Watched {
    pub(crate) facts: Arc<warplens_stats::Program>,
    /// What is traced; none where nobody asks for a trace.
    pub(crate) need: Option<trace::Need>,
    pub(crate) places: Arc<[MemoryPlace]>,
    pub(crate) n_ctas: u32,
    /// Clusters are executed whole.
    pub(crate) clusters: Clusters,
    pub(crate) kernel: FunctionId,
    pub(crate) shape: LaunchShape,
    pub(crate) counting: Counting,
}

/// Numbers of CTAs as their names; as quick as the numbers where many are left out, which a `map` is not.
struct Ids<I>(I);

impl<I: Iterator<Item = u32>> Iterator for Ids<I> {
    type Item = CtaId;

    fn next(&mut self) -> Option<CtaId> {
        self.0.next().map(CtaId)
    }

    fn nth(&mut self, n: usize) -> Option<CtaId> {
        self.0.nth(n).map(CtaId)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<I: ExactSizeIterator<Item = u32>> ExactSizeIterator for Ids<I> {}

/// What the executions of a launch left.
pub(crate) struct Observed {
    pub(crate) recorder: Recorder,
    pub(crate) tracing: Option<Tracer>,
    pub(crate) race: Option<exec::Race>,
    pub(crate) alike: Option<Alike>,
}

/// Counts of all CTAs that follow from a few.
pub(crate) struct Alike {
    pub(crate) counts: Counts,
    /// CTAs that were executed all the same.
    pub(crate) n_executed: u64,
}

impl Watched {
    pub(crate) fn recorder(&self, ctas: impl ExactSizeIterator<Item = u32>) -> Recorder {
        Recorder::new(self.facts.clone(), Ids(ctas))
    }

    pub(crate) fn tracer(&mut self, request: impl FnOnce(&mut trace::Need) -> TraceRequest) -> Option<Tracer> {
        let need = self.need.as_mut()?;
        Some(Tracer::new(self.places.clone(), self.facts.n_warps(), request(need)))
    }
}

pub(crate) fn observed((recorder, tracing): Counters, race: Option<exec::Race>) -> Observed {
    Observed { recorder: recorder.expect("it was handed in"), tracing, race, alike: None }
}
