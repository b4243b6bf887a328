//! `warplens.whatif`.

use warplens_document::profile::Extents;
use warplens_document::whatif::{self as document, Answer, Document, RanAgain, Scenario};
use warplens_document::{Held, Launches, Number};
use warplens_question::whatif::{GpuWhatIf, ModelWhatIf, Price, Prices, WhatIf};
use warplens_session::predict::Prediction;
use warplens_session::{Measurement, saved};

use super::predict::{occupancy, outcome};

/// The document of the `whatif` verb: one launch, or a sequence under `launches`.
pub fn document(answers: &[WhatIf]) -> Document {
    Launches(answers.iter().map(launch).collect())
}

/// The document of `whatif --each`.
pub fn prices(prices: &[Prices]) -> Document {
    Launches(prices.iter().map(priced_launch).collect())
}

fn of_launch(measurement: &Measurement) -> document::WhatIf {
    document::WhatIf {
        kernel: measurement.kernel.mangled.clone(),
        kernel_demangled: measurement.kernel.demangled.clone(),
        launch: saved::launch(&measurement.profile),
        ran_again: Held(None),
        scenario: Held(None),
        answers: Held(None),
        gpus: Held(None),
        support: Held(None),
        prices: Held(None),
    }
}

fn launch(answer: &WhatIf) -> document::WhatIf {
    let ran_again = answer.ran_again.map(|shape| RanAgain { grid: Extents(shape.grid), block: Extents(shape.block) });
    let answers = answer.gpus.iter().flat_map(|gpu| gpu.models.iter().map(|model| entry(gpu, model)));
    document::WhatIf {
        ran_again: ran_again.into(),
        scenario: scenario(answer).into(),
        answers: answers.collect::<Vec<_>>().into(),
        gpus: answer.gpus.iter().map(gpu).collect::<Vec<_>>().into(),
        support: saved::support(&answer.measurement.support).into(),
        ..of_launch(&answer.measurement)
    }
}

fn scenario(answer: &WhatIf) -> Scenario {
    let edits = &answer.scenario.edits;
    // A grid or a block is no edit of counts.
    let shapes = answer.scenario.texts.iter();
    let shapes = shapes.filter(|text| text.starts_with("grid=") || text.starts_with("block="));
    Scenario {
        set: edits.settings.iter().map(|setting| &setting.text).chain(shapes).cloned().collect(),
        without: edits.without.iter().map(|effect| effect.name().to_owned()).collect(),
    }
}

fn entry(gpu: &GpuWhatIf, model: &ModelWhatIf) -> Answer {
    Answer {
        gpu: gpu.before.machine.id.clone(),
        model: model.model.to_string(),
        before: outcome(&model.before),
        after: model.after.as_ref().map(outcome),
        speedup: model.speedup().map(Number),
        notes: model.notes.clone(),
    }
}

fn gpu(gpu: &GpuWhatIf) -> document::Gpu {
    let after = gpu.after.as_ref();
    document::Gpu {
        gpu: gpu.before.machine.id.clone(),
        name: gpu.before.machine.name.clone(),
        occupancy_before: gpu.before.occupancy.as_ref().map(occupancy),
        occupancy_after: after.ok().and_then(|gpu| gpu.occupancy.as_ref().map(occupancy)),
        warnings: gpu.warnings.clone(),
        impossible: after.err().map(|why| why.reason.clone()),
    }
}

fn priced_launch(prices: &Prices) -> document::WhatIf {
    let rows = prices.gpus.iter().flat_map(|gpu| gpu.prices.iter().map(|row| price(&gpu.before.machine.id, row)));
    document::WhatIf { prices: rows.collect::<Vec<_>>().into(), ..of_launch(&prices.measurement) }
}

fn price(gpu: &str, price: &Price) -> document::Price {
    let after = price.after.as_ref();
    let microseconds = |prediction: &Prediction| Number(prediction.seconds().microseconds());
    document::Price {
        gpu: gpu.to_owned(),
        model: price.model.to_string(),
        effect: price.effect.map(|effect| effect.name().to_owned()),
        before_us: microseconds(&price.before),
        after_us: after.ok().map(microseconds),
        speedup: price.speedup().map(Number),
        cost_cycles: price.cycles().map(Number),
        share: price.share().map(Number),
        limiter_after: after.ok().map(|after| after.limiter().name().to_owned()),
        note: after.err().or(price.note.as_ref()).cloned(),
    }
}
