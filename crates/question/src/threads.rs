//! What the X-model says about the number of warps and its other quantities: the best throttle, the best bypass, how far
//! each technique goes, and where more warps fall off the cache peak.

use warplens_model::scenario::Subject;
use warplens_model::x_model::{Solved, advice, cliff};

use warplens_model::Unit;
use warplens_session::predict::{Options, model};

/// What the X-model says.
#[derive(Clone, PartialEq, Debug)]
pub struct ThreadAdvice {
    /// Unit of the number of threads.
    pub threads_unit: Unit,
    /// Threads of an SM.
    pub threads: f64,
    /// What bounds the state that is reached.
    pub bound: &'static str,
    /// Turns of single quantities that raise throughput, the largest gain first.
    pub turns: Vec<Turn>,
    /// Where more threads lose throughput; none where they lose none.
    pub fall: Option<Fall>,
}

/// Another value of one quantity.
#[derive(Clone, PartialEq, Debug)]
pub struct Turn {
    /// What to do.
    pub technique: &'static str,
    /// Name of the knob.
    pub knob: &'static str,
    /// Its value now.
    pub from: f64,
    /// The best value where there is one, else twice or half of it.
    pub to: f64,
    /// Whether going further gains nothing.
    pub is_best: bool,
    /// Computation throughput after over before.
    pub gain: f64,
    /// What the gain cannot exceed, however far the knob is turned.
    pub most: f64,
    /// What sets that limit.
    pub limited_by: &'static str,
}

/// Threads that fall off the cache peak.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fall {
    /// Threads at the peak, where demand reaches it.
    pub best: Option<f64>,
    /// Threads from which on the better state is gone, and the share of throughput that is lost there.
    pub forced: Option<(f64, f64)>,
    /// Threads from which on a worse state exists beside the better one.
    pub possible: Option<f64>,
}

/// The state that the X-model finds; none where it refuses or nothing is asked of memory.
pub(crate) fn solved(subject: &Subject, options: Options) -> Option<Solved> {
    let prediction = model("x-model").ok()?.predict(&subject.input(options), &subject.machine).ok()?;
    prediction.x_model().cloned()
}

/// Where more threads than a state has lose throughput; none where they lose none.
pub(crate) fn fall(solved: &Solved) -> Option<Fall> {
    let fall = cliff(&solved.state.system).map(|cliff| Fall {
        best: cliff.best_threads,
        forced: cliff.forced.map(|drop| (drop.threads, drop.loss() / drop.from)),
        possible: cliff.possible.map(|drop| drop.threads),
    });
    fall.filter(|fall| *fall != Fall { best: None, forced: None, possible: None })
}

pub(crate) fn of(subject: &Subject, options: Options) -> Option<ThreadAdvice> {
    let solved = &solved(subject, options)?;
    let state = &solved.state;
    let turns = advice(state).into_iter().map(|advice| Turn {
        technique: advice.technique.name(),
        knob: advice.technique.knob().spec().name,
        from: advice.from,
        to: advice.to,
        is_best: advice.is_best,
        gain: advice.computation_ratio,
        most: advice.bound,
        limited_by: advice.bounded_by,
    });
    Some(ThreadAdvice {
        threads_unit: solved.units.threads,
        threads: state.system.threads,
        bound: state.bound.name(),
        turns: turns.collect(),
        fall: fall(solved),
    })
}
