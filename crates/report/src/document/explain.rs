//! `warplens.explain`.

use warplens_document::explain::{self as document, Document, Explain, Refusal};
use warplens_document::{Launches, Number};
use warplens_question::explain::{Advice, Evidence, Explanation, GpuExplanation, Place, ThreadAdvice};
use warplens_session::predict::GpuAnalysis;
use warplens_session::saved;

use super::predict::{occupancy, refused, time};

/// The document of the `explain` verb: one launch, or a sequence under `launches`.
pub fn document(explanations: &[Explanation]) -> Document {
    Launches(explanations.iter().map(launch).collect())
}

fn launch(explanation: &Explanation) -> Explain {
    let measurement = &explanation.analysis.measurement;
    let gpus = explanation.analysis.gpus.iter().zip(&explanation.gpus);
    Explain {
        kernel: measurement.kernel.mangled.clone(),
        kernel_demangled: measurement.kernel.demangled.clone(),
        launch: saved::launch(&measurement.profile),
        gpus: gpus.map(|(analysis, explained)| gpu(analysis, explained)).collect(),
        support: saved::support(&measurement.support),
    }
}

fn gpu(analysis: &GpuAnalysis, gpu: &GpuExplanation) -> document::Gpu {
    let refusals = analysis.answers.iter().filter_map(|answer| {
        let refusal = answer.result.as_ref().err()?;
        Some(Refusal { model: answer.model.to_string(), refused: refused(refusal) })
    });
    document::Gpu {
        gpu: analysis.machine.id.clone(),
        name: analysis.machine.name.clone(),
        model: analysis.prediction().map(|prediction| prediction.model.to_string()),
        prediction: analysis.prediction().map(time),
        refusals: refusals.collect(),
        occupancy: analysis.occupancy.as_ref().map(occupancy),
        evidence: gpu.evidence.iter().map(evidence).collect(),
        advice: gpu.advice.iter().map(advice).collect(),
        x_model: gpu.threads.as_ref().map(threads),
    }
}

fn evidence(evidence: &Evidence) -> document::Evidence {
    let values = evidence.values.iter().map(|(name, value)| ((*name).to_owned(), Number(*value)));
    document::Evidence { id: evidence.id.to_owned(), text: evidence.text.clone(), values: values.collect() }
}

fn advice(advice: &Advice) -> document::Advice {
    document::Advice {
        id: advice.id.to_owned(),
        title: advice.title.to_owned(),
        how: advice.how.to_string(),
        before_us: Number(advice.before.seconds().microseconds()),
        after_us: Number(advice.after.seconds().microseconds()),
        speedup: Number(advice.speedup),
        limiter_after: advice.after.limiter().name().to_owned(),
        places: advice.places.iter().map(place).collect(),
        side_effects: advice.side_effects.iter().map(ToString::to_string).collect(),
        whatif: advice.question.clone(),
    }
}

fn place(place: &Place) -> document::Place {
    document::Place {
        share: Number(place.share),
        ptx_lines: place.ptx_lines.clone(),
        file: place.source.as_ref().map(|(file, _)| file.clone()),
        line: place.source.as_ref().map(|&(_, line)| line),
        opcodes: place.opcodes.iter().map(ToString::to_string).collect(),
    }
}

fn threads(advice: &ThreadAdvice) -> document::ThreadAdvice {
    let turns = advice.turns.iter().map(|turn| document::Turn {
        technique: turn.technique.to_owned(),
        knob: turn.knob.to_owned(),
        from: Number(turn.from),
        to: Number(turn.to),
        is_best: turn.is_best,
        gain: Number(turn.gain),
        most: Number(turn.most),
        limited_by: turn.limited_by.to_owned(),
    });
    let fall = advice.fall.map(|fall| document::Fall {
        best_threads: fall.best.map(Number),
        forced_threads: fall.forced.map(|(threads, _)| Number(threads)),
        forced_loss: fall.forced.map(|(_, loss)| Number(loss)),
        possible_threads: fall.possible.map(Number),
    });
    document::ThreadAdvice {
        threads: Number(advice.threads),
        threads_unit: advice.threads_unit.to_string(),
        bound: advice.bound.to_owned(),
        turns: turns.collect(),
        fall,
    }
}
