//! `warplens.predict` and `warplens.model`.

use warplens_document::predict::{
    self as document, CalculatePeriod, Combine, Document, Entry, Gpu, Model as ModelDocument, ModelRefused, Parameter,
    Predict, Refused, Selection, TermPart,
};
use warplens_document::{Assumption, AssumptionId, Held, Id, Launches, Number};
use warplens_session::machines::Machine;
use warplens_session::predict::{
    Answer, GpuAnalysis, Model, Occupancy, PREFERENCE, Prediction, Refusal, Shares, Term, WalkRow,
};
use warplens_session::{Analysis, saved};

use super::gpu::value;
use super::{timing, x_model};

/// The document of the `predict` verb: one launch, or a sequence under `launches`.
pub fn document(analyses: &[Analysis]) -> Document {
    Launches(analyses.iter().map(launch).collect())
}

fn launch(analysis: &Analysis) -> Predict {
    let measurement = &analysis.measurement;
    let predictions =
        analysis.gpus.iter().flat_map(|gpu| gpu.answers.iter().map(|answer| entry(analysis, gpu, answer)));
    Predict {
        kernel: measurement.kernel.mangled.clone(),
        kernel_demangled: measurement.kernel.demangled.clone(),
        launch: saved::launch(&measurement.profile),
        predictions: predictions.collect(),
        gpus: analysis.gpus.iter().map(gpu).collect(),
        profile: saved::counts(&measurement.profile),
        origin: saved::origin(measurement),
    }
}

fn entry(analysis: &Analysis, gpu: &GpuAnalysis, answer: &Answer) -> Entry {
    let measured = analysis.measurement.measured.as_ref().filter(|measured| measured.is_of(&gpu.machine));
    let error = |time| answer.result.as_ref().ok().and_then(|prediction| prediction.error(time)).map(Number);
    Entry {
        gpu: gpu.machine.id.clone(),
        model: answer.model.to_string(),
        prediction: outcome(&answer.result),
        measured_us: Held(measured.map(|measured| Number(measured.time_us))),
        error_share: Held(measured.map(|measured| error(measured.time()))),
    }
}

/// A prediction, or why there is none.
pub(super) fn outcome(result: &Result<Prediction, Refusal>) -> document::Prediction {
    match result {
        Ok(prediction) => time(prediction),
        Err(refusal) => document::Prediction { refused: refused(refusal).into(), ..document::Prediction::default() },
    }
}

pub(super) fn refused(refusal: &Refusal) -> Refused {
    Refused { missing: refusal.missing.clone(), reason: refusal.reason.clone() }
}

pub(super) fn time(prediction: &Prediction) -> document::Prediction {
    let quantities = prediction.quantities.iter();
    let values = quantities.clone().map(|quantity| (quantity.symbol.to_string(), Number(quantity.value)));
    let units = quantities.filter(|quantity| !quantity.unit.symbol().is_empty());
    let units = units.map(|quantity| (quantity.symbol.to_string(), quantity.unit.to_string()));
    document::Prediction {
        time_us: Some(Number(prediction.seconds().microseconds())),
        refused: Held(None),
        cycles: Number(prediction.time.0).into(),
        clock_hz: Number(prediction.clock.0).into(),
        limiter: prediction.limiter().name().to_owned().into(),
        combine: combine(prediction.combine).into(),
        quantities: values.collect::<warplens_document::Named<_, _>>().into(),
        quantity_units: units.collect::<warplens_document::Named<_, _>>().into(),
        terms: prediction.terms.iter().map(term).collect::<Vec<_>>().into(),
        assumptions: prediction.assumptions.iter().map(assumption).collect::<Vec<_>>().into(),
        parameters: parameters(prediction).into(),
        x_model: Held(prediction.x_model().map(x_model::solved)),
        teg: Held(prediction.teg().map(|simulated| timing::simulation(&simulated.outcome))),
        calculate_periods: Held(prediction.luo_suda().map(|walk| walk.rows.iter().map(calculate_period).collect())),
    }
}

fn assumption(said: &warplens_session::predict::Assumption) -> Assumption {
    Assumption { id: AssumptionId(said.id.name().to_owned()), text: said.text.clone() }
}

pub(super) fn combine(combine: warplens_session::predict::Combine) -> Combine {
    match combine {
        warplens_session::predict::Combine::Max => Combine::Max,
        warplens_session::predict::Combine::Sum => Combine::Sum,
        warplens_session::predict::Combine::Overlapped => Combine::Overlapped,
    }
}

fn calculate_period(row: &WalkRow) -> CalculatePeriod {
    CalculatePeriod {
        period: row.period as u64,
        executions: Number(row.executions),
        kind: row.time.kind.number(),
        c_cycles: Number(row.costs.c),
        m_cycles: Number(row.costs.m),
        mpd: (row.costs.m > 0.0).then_some(Number(row.costs.mpd)),
        t_c_cycles: Number(row.time.t_c),
        t_p_cycles: Number(row.time.t_p),
        t_cycles: Number(row.time.total()),
    }
}

/// What `--model auto` took.
fn selection(selection: &warplens_session::predict::Selection) -> Selection {
    let refused = selection.refused.iter().map(|(model, refusal)| ModelRefused {
        model: model.to_string(),
        missing: refusal.missing.clone(),
        reason: refusal.reason.clone(),
    });
    Selection {
        model: selection.model.to_string(),
        order: PREFERENCE.iter().map(|model| model.to_string()).collect(),
        why: selection.model.model().rank_reason().to_owned(),
        answered: selection.answered.iter().map(|model| model.to_string()).collect(),
        refused: refused.collect(),
    }
}

/// A term of a prediction.
pub(super) fn term(term: &Term) -> document::Term {
    let parts = term.parts.iter();
    document::Term {
        name: term.name.to_owned(),
        resource: term.resource.name().to_owned(),
        cycles: Number(term.cycles.0),
        parameters: term.parameters.iter().map(|key| key.name().to_owned()).collect(),
        parts: parts.map(|part| TermPart { name: part.name.clone(), cycles: Number(part.cycles.0) }).collect(),
    }
}

fn parameters(prediction: &Prediction) -> Vec<Parameter> {
    let parameter = prediction.parameters.iter().map(|read| Parameter {
        name: read.key.name().to_owned(),
        value: value(&read.value),
        unit: read.unit.symbol().to_owned(),
        basis: read.basis.name().to_owned(),
        source: read.source.to_string(),
    });
    parameter.collect()
}

fn gpu(gpu: &GpuAnalysis) -> Gpu {
    Gpu {
        gpu: gpu.machine.id.clone(),
        auto: gpu.selection.as_ref().map(selection),
        name: gpu.machine.name.clone(),
        band: gpu.band.map(|band| document::Band {
            low_us: Number(band.low.microseconds()),
            high_us: Number(band.high.microseconds()),
            models: band.n_models as u64,
        }),
        range: gpu.range.as_ref().map(|range| document::Range {
            low_us: Number(range.low.microseconds()),
            high_us: Number(range.high.microseconds()),
            held_share: Number(range.held),
            rows: range.n_rows as u64,
            other_rows: range.others.map_or(0, |(n, _)| n as u64),
            coverage_share: range.others.map(|(_, share)| Number(share)),
            class: range.class.clone(),
        }),
        occupancy: gpu.occupancy.as_ref().map(occupancy),
        speed_of_light: gpu.speed_of_light.map(shares),
        busy: gpu.busy.map(shares),
    }
}

fn shares(shares: Shares) -> document::Shares {
    document::Shares {
        compute: Number(shares.compute),
        compute_resource: shares.compute_resource.name().to_owned(),
        memory: Number(shares.memory),
    }
}

pub(super) fn occupancy(occupancy: &Occupancy) -> document::Occupancy {
    document::Occupancy {
        ctas_per_sm: occupancy.ctas.into(),
        warps_per_sm: occupancy.warps.into(),
        share: Number(occupancy.share),
        limiters: occupancy.limiters().map(|limiter| limiter.name().to_owned()).collect(),
    }
}

/// The document of the `model` verb.
pub fn model(
    model: &dyn Model,
    machine: Option<&Machine>,
    title: Option<&str>,
    result: &Result<Prediction, Refusal>,
) -> ModelDocument {
    ModelDocument {
        schema: Id::new(),
        title: title.map(str::to_owned),
        gpu: machine.map(|machine| machine.id.clone()),
        model: model.name().to_owned(),
        prediction: outcome(result),
    }
}
