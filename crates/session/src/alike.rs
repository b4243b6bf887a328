//! Large launches of which all CTAs do what a few do, because nothing that decides depends on data.
//!
//! Their counts follow from the code, the launch and the arguments (`warplens-statics`), and are those that an execution of
//! all CTAs would give. Some are executed all the same: those at the corners of the boxes of CTAs that do the same, whose
//! accesses enclose those of all others and are checked; some that lie evenly spread, and neighbours, because CTAs may touch
//! what others write; and those that are traced.

use warplens_device::Kernel;
use warplens_exec as exec;
use warplens_ir::FunctionId;
use warplens_statics::{Counts, Effort, Given};
use warplens_stats::{Counting, LaunchShape};

use crate::execution::Execution;
use crate::statics;
use crate::trace::Cost;

/// To follow an instruction takes about as long as to execute twenty; less than half of the execution is spent on it.
const WALK_SHARE: u64 = 50;
/// Warp instructions that are followed at most: about a second.
const MOST_WALKED: u64 = 2_000_000;

/// Counts a launch, of which one CTA costs so much, by a few of its CTAs; none where that does not give what all of them
/// would, where an access may go beyond a buffer, or where somebody wants to see what the others do.
pub(crate) fn count(
    execution: &Execution<'_>,
    (number, prepared): (usize, &Kernel),
    (kernel, shape): (FunctionId, LaunchShape),
    counting: Counting,
    cost: Cost,
) -> Option<Counts> {
    let options = execution.options();
    let n_ctas = shape.n_ctas();
    // What a launch leaves in memory is read by the launches after it.
    let is_last = number + 1 == execution.launches.len();
    let is_watched = options.allow_overreads || options.allow_unsupported || execution.is_watched();
    let is_large = cost.thread_instructions.saturating_mul(n_ctas) > options.alike_limit;
    if !is_last || is_watched || !is_large || prepared.program().order() != exec::Order::Free {
        return None;
    }
    let most = (cost.warp_instructions.saturating_mul(n_ctas) / WALK_SHARE).min(MOST_WALKED);
    let given = Given::default();
    let request = statics::Wanted { given: &given, counting, cta_budget: most, effort: Effort::Exact { most } };
    let counts = statics::walk(execution, (number, prepared), (kernel, shape), request).ok()?;
    // Which words many CTAs update is known by executing them.
    let has_atomics = counts.profile.statistics.atomics.as_ref().is_none_or(|atomics| !atomics.lines.is_empty());
    let is_allowed = counts.touched.as_ref().is_some_and(|ranges| execution.has_all(ranges));
    (!has_atomics && is_allowed).then_some(counts)
}

/// True where every CTA executes as many instructions.
pub(crate) fn do_as_much(counts: &Counts) -> bool {
    counts.profile.coverage.spread == 0.0
}
