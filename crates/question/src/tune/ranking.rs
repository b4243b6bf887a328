//! Which points are best, and which cannot be told from the best.

use super::{Candidate, ModelTime};
use warplens_session::predict::{ModelId, most_answered};

/// Times that no model of this kind tells apart: launches of one binary repeat no better.
pub const RESOLUTION: f64 = 0.02;

/// The points by time on one GPU.
#[derive(Clone, PartialEq, Debug)]
pub struct Ranking {
    /// Identifier of the GPU.
    pub gpu: String,
    /// The model that ranks; none where none answered.
    pub model: Option<ModelId>,
    /// Why `auto` takes another model than the one that it prefers, where it does.
    pub instead: Option<String>,
    /// Positions in the list of candidates, fastest first; those without a time are left out.
    pub order: Vec<usize>,
    /// Those that cannot be told from the best, the best first. One alone is clearly the best.
    pub tied: Vec<usize>,
}

/// One launch for several GPUs.
#[derive(Clone, PartialEq, Debug)]
pub struct Compromise {
    /// Position in the list of candidates.
    pub candidate: usize,
    /// Geometric mean over the GPUs of its time over the best time there.
    pub slowdown: f64,
}

/// Ranks candidates on the GPU with this position. `band` is how much slower than the best a point may be for another
/// model's opposite opinion to count.
pub(super) fn rank(gpu: &str, at: usize, preference: &[ModelId], candidates: &[Candidate], band: f64) -> Ranking {
    let n_answered = |model: ModelId| candidates.iter().filter_map(|own| time_of(times(own, at)?, model)).count();
    let model = most_answered(preference, n_answered);
    let time = |candidate: usize, model: ModelId| time_of(times(&candidates[candidate], at)?, model);
    let mut order: Vec<(f64, usize)> = match model {
        Some(model) => (0..candidates.len()).filter_map(|own| Some((time(own, model)?, own))).collect(),
        None => Vec::new(),
    };
    order.sort_by(|(a, left), (b, right)| a.total_cmp(b).then(left.cmp(right)));
    let tied = match order.first() {
        None => Vec::new(),
        Some(&(best_time, best)) => {
            let others: Vec<(ModelId, f64)> = times(&candidates[best], at)
                .unwrap_or_default()
                .iter()
                .filter(|own| Some(own.model) != model)
                .filter_map(|own| Some((own.model, own.time()?)))
                .collect();
            let is_tied = |&&(own_time, own): &&(f64, usize)| {
                let slower = own_time / best_time - 1.0;
                // Another model puts it before the best: the order is the model's opinion, not the kernel's property.
                let overtakes =
                    |&(model, best_time): &(ModelId, f64)| time(own, model).is_some_and(|time| time < best_time);
                slower <= RESOLUTION || slower <= band && others.iter().any(overtakes)
            };
            order.iter().filter(is_tied).map(|(_, own)| *own).collect()
        }
    };
    let order = order.into_iter().map(|(_, own)| own).collect();
    Ranking { gpu: gpu.to_owned(), model, instead: None, order, tied }
}

/// Why a model does not rank: the first refusal.
pub(super) fn refusal(at: usize, model: ModelId, candidates: &[Candidate]) -> Option<String> {
    let answers = candidates.iter().filter_map(|candidate| times(candidate, at)).flatten();
    let mut refusals = answers.filter(|own| own.model == model).filter_map(|own| own.result.as_ref().err());
    refusals.next().cloned()
}

/// The answers for the GPU with this position, where it can run the point.
fn times(candidate: &Candidate, at: usize) -> Option<&[ModelTime]> {
    let on = candidate.measured()?.gpus.get(at)?;
    on.impossible.is_none().then_some(on.answers.as_slice())
}

/// The time of a model, in microseconds.
pub(super) fn time_of(times: &[ModelTime], model: ModelId) -> Option<f64> {
    times.iter().find(|own| own.model == model)?.time()
}

/// The candidate that loses least on all GPUs together; none where no candidate has a time on each of them.
pub(super) fn compromise(rankings: &[Ranking], candidates: &[Candidate]) -> Option<Compromise> {
    let time = |at: usize, candidate: usize| time_of(times(&candidates[candidate], at)?, rankings[at].model?);
    let best: Vec<f64> =
        (0..rankings.len()).map(|at| time(at, *rankings[at].order.first()?)).collect::<Option<Vec<_>>>()?;
    let slowdown = |candidate: usize| -> Option<f64> {
        let in_order = rankings.iter().all(|ranking| ranking.order.contains(&candidate));
        let logs = best.iter().enumerate().map(|(at, best)| Some((time(at, candidate)? / best).ln()));
        let sum: f64 = logs.sum::<Option<f64>>().filter(|_| in_order)?;
        Some((sum / best.len() as f64).exp())
    };
    let all = (0..candidates.len()).filter_map(|candidate| Some((slowdown(candidate)?, candidate)));
    let (slowdown, candidate) = all.min_by(|(a, left), (b, right)| a.total_cmp(b).then(left.cmp(right)))?;
    Some(Compromise { candidate, slowdown })
}
