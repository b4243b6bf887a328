//! `warplens.tune`.

use warplens_document::profile::Extents;
use warplens_document::tune::{self as document, Dimension, Point, Reason, Tune};
use warplens_document::{Held, Id, Number};
use warplens_question::tune::{Candidate, Check, Method, ModelTime, OnGpu, Ranking, Tuning};
use warplens_session::saved;

use crate::view::tune::difference;

/// The document of the `tune` verb.
pub fn document(tuning: &Tuning) -> Tune {
    let (method, starts) = match tuning.method {
        Method::Exhaustive => (document::Method::Exhaustive, None),
        Method::Guided { n_starts } => (document::Method::Guided, Some(n_starts as u64)),
    };
    let dimensions = tuning.dimensions.iter();
    let dimensions =
        dimensions.map(|dimension| Dimension { name: dimension.name.clone(), values: dimension.values.clone() });
    let compromise = tuning.compromise.as_ref();
    Tune {
        schema: Id::new(),
        kernel: tuning.kernel.as_ref().map(|kernel| kernel.mangled.clone()),
        kernel_demangled: tuning.kernel.as_ref().map(|kernel| kernel.demangled.clone()),
        dimensions: dimensions.collect(),
        method,
        starts,
        points_total: tuning.n_points,
        points_excluded: tuning.n_excluded,
        points_evaluated: tuning.candidates.len() as u64,
        launches_emulated: tuning.n_emulated as u64,
        programs: tuning.n_programs as u64,
        band: Number(tuning.band),
        rankings: tuning.rankings.iter().map(ranking).collect(),
        compromise: compromise
            .map(|own| document::Compromise { point: own.candidate as u64, slowdown: Number(own.slowdown) }),
        points: tuning.candidates.iter().map(|own| point(tuning, own)).collect(),
    }
}

fn ranking(ranking: &Ranking) -> document::Ranking {
    let positions = |list: &[usize]| list.iter().map(|&position| position as u64).collect();
    document::Ranking {
        gpu: ranking.gpu.clone(),
        model: ranking.model.map(String::from),
        order: positions(&ranking.order),
        tied: positions(&ranking.tied),
    }
}

fn point(tuning: &Tuning, candidate: &Candidate) -> Point {
    let choices = tuning.dimensions.iter();
    let choices = choices.map(|one| (one.name.clone(), one.values[candidate.choices[one.position]].clone()));
    let (point, measured) = (candidate.point.as_ref(), candidate.measured());
    let gpus = measured.into_iter().flat_map(|measured| measured.gpus.iter().zip(&tuning.rankings));
    Point {
        choices: choices.collect(),
        grid: point.map(|point| Extents(point.grid)),
        block: point.map(|point| Extents(point.block)),
        dynamic_shared_bytes: point.map(|point| point.shared),
        shared_bytes: measured.map(|measured| measured.shared_bytes),
        registers: measured.map(|measured| measured.registers),
        registers_basis: measured.map(|measured| saved::registers_basis(measured.registers_basis)),
        instructions: measured.map(|measured| measured.instructions),
        ctas_executed: measured.map(|measured| measured.ctas.0),
        ctas_total: measured.map(|measured| measured.ctas.1),
        outputs: candidate.check.as_ref().map(check),
        outputs_difference: candidate.check.as_ref().map(difference).filter(|text| !text.is_empty()),
        impossible: candidate.result.as_ref().err().cloned(),
        gpus: gpus.map(|(on, ranking)| on_gpu(on, ranking)).collect(),
    }
}

fn check(check: &Check) -> document::Check {
    match check {
        Check::Reference => document::Check::Reference,
        Check::Same => document::Check::Same,
        Check::Differs { .. } => document::Check::Differs,
        Check::NotComparable(_) => document::Check::NotComparable,
    }
}

fn on_gpu(on: &OnGpu, ranking: &Ranking) -> document::OnGpu {
    document::OnGpu {
        gpu: ranking.gpu.clone(),
        impossible: on.impossible.clone(),
        occupancy_share: on.occupancy.map(Number),
        predictions: on.answers.iter().map(prediction).collect(),
    }
}

fn prediction(answer: &ModelTime) -> document::ModelTime {
    let (found, refused) = (answer.result.as_ref().ok(), answer.result.as_ref().err());
    document::ModelTime {
        model: answer.model.to_string(),
        time_us: found.map(|(time, _)| Number(*time)),
        limiter: Held(found.map(|(_, limiter)| (*limiter).to_owned())),
        refused: Held(refused.map(|reason| Reason { reason: reason.clone() })),
    }
}
