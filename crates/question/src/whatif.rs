//! What-if questions: the same models asked twice, as things are and as they would be.
//!
//! [`Scenario`] is the question, read from what a user writes; [`run`] answers it, [`price`] answers one question for
//! each effect. The edits themselves are in [`warplens_model::scenario`].

mod changed;
mod parse;
mod price;

use warplens_model::scenario::{self, Impossible, Setting, Subject};
pub use warplens_model::scenario::{ALIASES, COUNTS, EFFECTS, Effect, LAUNCH_FIELDS, Parameter};
pub use warplens_model::{Change, Knobs};
use warplens_model::{ModelId, Needs, Symbol};

use crate::digits::short;
use crate::threads;
use warplens_base::error::Result;
use warplens_launch::{Extents, Launch};
use warplens_session::Measurement;
use warplens_session::machines::Machine;
use warplens_session::predict::{
    Answer, Choice, GpuAnalysis, Options, Prediction, Recording, Refusal, answers, measured_on, on_gpu,
};
use warplens_session::profile::LaunchShape;

pub use changed::Kept;
pub(crate) use changed::bounded;
pub use parse::{ExtentChange, names};
pub(crate) use price::of_each;
pub use price::{GpuPrices, Price, Prices, price, price_watched};

/// What is asked.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Scenario {
    /// Changes of counts, parameters and knobs, and effects that are taken away.
    pub edits: scenario::Scenario,
    /// Another grid, with which the kernel runs again.
    pub grid: Option<ExtentChange>,
    /// Another block, with which the kernel runs again.
    pub block: Option<ExtentChange>,
    /// The question as it was written: `dram.bandwidth=2x`, `without uncoalesced`.
    pub texts: Vec<String>,
}

impl Scenario {
    /// True when the kernel has to run again.
    pub fn runs_again(&self) -> bool {
        self.grid.is_some() || self.block.is_some()
    }

    /// The launch of the second run; `shape` is that of the first.
    pub fn launch(&self, launch: &Launch, shape: &LaunchShape) -> Result<Launch> {
        let changed = |name: &str, change: &Option<ExtentChange>, now: Extents| match change {
            Some(change) => change.of(name, now).map(Some),
            None => Ok(Some(now)),
        };
        let (grid, block) = (changed("grid", &self.grid, shape.grid)?, changed("block", &self.block, shape.block)?);
        Ok(Launch { grid, block, ..launch.clone() })
    }
}

/// The answer to a question about one launch.
#[derive(Clone, PartialEq, Debug)]
pub struct WhatIf {
    /// The counts as they are.
    pub measurement: Measurement,
    /// The question.
    pub scenario: Scenario,
    /// Shape of the second run, where the kernel ran again.
    pub ran_again: Option<LaunchShape>,
    /// Answers by GPU.
    pub gpus: Vec<GpuWhatIf>,
}

/// The answer on one GPU.
#[derive(Clone, PartialEq, Debug)]
pub struct GpuWhatIf {
    /// As things are.
    pub before: GpuAnalysis,
    /// As they would be; or why they cannot be so.
    pub after: std::result::Result<GpuAnalysis, Impossible>,
    /// Model by model.
    pub models: Vec<ModelWhatIf>,
    /// Warps that the change adds and that fall off the cache peak, by the X-model.
    pub warnings: Vec<String>,
}

/// Two answers of one model.
#[derive(Clone, PartialEq, Debug)]
pub struct ModelWhatIf {
    /// The model.
    pub model: ModelId,
    /// As things are.
    pub before: std::result::Result<Prediction, Refusal>,
    /// As they would be; none where the question makes no sense on this GPU.
    pub after: Option<std::result::Result<Prediction, Refusal>>,
    /// What the model does not have, and what the counts do not.
    pub notes: Vec<String>,
}

impl ModelWhatIf {
    /// Time before over time after.
    pub fn speedup(&self) -> Option<f64> {
        let (before, after) = (self.before.as_ref().ok()?, self.after.as_ref()?.as_ref().ok()?);
        speedup(before, after)
    }
}

/// Time before over time after.
pub(crate) fn speedup(before: &Prediction, after: &Prediction) -> Option<f64> {
    let (before, after) = (before.seconds().0, after.seconds().0);
    (after > 0.0).then(|| before / after)
}

impl WhatIf {
    /// True when a model answered both times.
    pub fn has_answer(&self) -> bool {
        self.gpus.iter().flat_map(|gpu| &gpu.models).any(|model| model.speedup().is_some())
    }
}

/// Asks the question. `again` is the measurement of the second run, where the kernel ran again.
pub fn run(
    measurement: Measurement,
    again: Option<&Measurement>,
    machines: &[Machine],
    choice: &Choice,
    options: Options,
    scenario: &Scenario,
) -> WhatIf {
    run_kept(measurement, again, machines, choice, options, scenario, &Kept::default())
}

/// [`run`], with what is kept of the launch.
pub fn run_kept(
    measurement: Measurement,
    again: Option<&Measurement>,
    machines: &[Machine],
    choice: &Choice,
    options: Options,
    scenario: &Scenario,
    kept: &Kept,
) -> WhatIf {
    let after = again.unwrap_or(&measurement);
    let gpus = machines.iter().map(|machine| match (measurement.on(machine), after.on(machine)) {
        (Ok(before), Ok(after)) => {
            let recordings = (before.recording(), after.recording());
            on_machine(recordings, machine, choice, options, (scenario, kept))
        }
        (_, after) => unanswered(&measurement, machine, choice, options, after.err()),
    });
    let gpus = gpus.collect();
    let ran_again = again.map(|again| again.profile.launch);
    WhatIf { measurement, scenario: scenario.clone(), ran_again, gpus }
}

fn on_machine(
    (recording, second): (Recording<'_>, Recording<'_>),
    machine: &Machine,
    choice: &Choice,
    options: Options,
    (scenario, kept): (&Scenario, &Kept),
) -> GpuWhatIf {
    let before = on_gpu(recording, machine, choice, options);
    // The same models as before, whatever the preference would be now.
    let asked: Vec<ModelId> = before.answers.iter().map(|answer| answer.model).collect();
    let unchanged = subject(second, machine);
    let changed = kept.changed(&scenario.edits, &unchanged);
    let after = changed.as_ref().map_err(Clone::clone).map(|changed| {
        let mut after = answers(&changed.input(options), &changed.machine, &choice.again(asked));
        let bounded = |prediction| bounded(prediction, changed, options);
        let held = |answer: Answer| Answer { result: answer.result.map(bounded), ..answer };
        after.answers = after.answers.into_iter().map(held).collect();
        after
    });
    let models = before.answers.iter().map(|answer| {
        let after = after.as_ref().ok();
        let after = after.and_then(|gpu| gpu.answers.iter().find(|other| other.model == answer.model));
        let after = after.map(|answer| answer.result.clone());
        let notes = notes(scenario, &unchanged, answer.model, &answer.result, after.as_ref());
        ModelWhatIf { model: answer.model, before: answer.result.clone(), after, notes }
    });
    let models = models.collect();
    let warnings = changed.ok().and_then(|changed| beyond_the_peak(&unchanged, &changed, options));
    GpuWhatIf { models, before, after, warnings: warnings.into_iter().collect() }
}

/// The answer for a GPU on which the launch does not run, as it is or changed.
fn unanswered(
    measurement: &Measurement,
    machine: &Machine,
    choice: &Choice,
    options: Options,
    after: Option<Refusal>,
) -> GpuWhatIf {
    let before = measured_on(measurement, machine, choice, options);
    let refusals = before.answers.iter().filter_map(|answer| answer.result.as_ref().err());
    let reason = after.as_ref().or(refusals.clone().next()).map_or_else(String::new, |refusal| refusal.reason.clone());
    let after = after.map(Err);
    let models = before.answers.iter().map(|answer| ModelWhatIf {
        model: answer.model,
        before: answer.result.clone(),
        after: after.clone(),
        notes: Vec::new(),
    });
    let models = models.collect();
    GpuWhatIf { models, before, after: Err(Impossible { reason }), warnings: Vec::new() }
}

/// Says so where more warps than before lose throughput.
fn beyond_the_peak(before: &Subject, after: &Subject, options: Options) -> Option<String> {
    let (old, solved) = (threads::solved(before, options)?, threads::solved(after, options)?);
    let (old, new) = (old.state.system.threads, solved.state.system.threads);
    if new <= old {
        return None;
    }
    let (unit, fall) = (solved.units.threads, threads::fall(&solved)?);
    let added = format!("{} {unit} instead of {}", short(new), short(old));
    if let Some((from, loss)) = fall.forced.filter(|(from, _)| *from <= new) {
        let (from, lost) = (short(from), short(100.0 * loss));
        return Some(format!(
            "x-model: {added} fall off the cache peak; from {from} on, {lost} % of the throughput is lost"
        ));
    }
    let best = fall.best.filter(|best| *best < new)?;
    Some(format!("x-model: {added} are past the cache peak, which {} would use best", short(best)))
}

pub(crate) fn subject(recording: Recording<'_>, machine: &Machine) -> Subject {
    let Recording { profile, traces } = recording;
    Subject { profile: profile.clone(), traces: traces.clone(), machine: machine.clone(), knobs: Knobs::default() }
}

/// Asks one model about a changed subject.
pub(crate) fn ask(model: ModelId, subject: &Subject, options: Options) -> std::result::Result<Prediction, Refusal> {
    let answer = model.model().predict(&subject.input(options), &subject.machine);
    answer.map(|prediction| bounded(prediction, subject, options))
}

/// Why one effect changes nothing; none where it may.
pub(crate) fn why_nothing(effect: &Effect, model: ModelId, subject: &Subject) -> Option<String> {
    if !effect.is_modelled_by(model) {
        return Some(format!("{model} does not model {}", effect.name()));
    }
    let mut without = subject.clone();
    let removed = effect.remove(&mut without).is_ok();
    let unchanged = without.profile == subject.profile && without.machine == subject.machine;
    // Only a simulation leaves out what was recorded; it finds nothing where that costs nothing.
    let same_knobs = match model.model().needs() {
        Needs::Trace => without.knobs == subject.knobs,
        Needs::Counts | Needs::Addresses => without.knobs.same_changes(&subject.knobs),
    };
    let unchanged = removed && unchanged && same_knobs;
    unchanged.then(|| format!("{}: none in these counts", effect.name()))
}

fn notes(
    scenario: &Scenario,
    subject: &Subject,
    model: ModelId,
    before: &std::result::Result<Prediction, Refusal>,
    after: Option<&std::result::Result<Prediction, Refusal>>,
) -> Vec<String> {
    let effects = scenario.edits.without.iter();
    let mut notes: Vec<String> = effects.filter_map(|effect| why_nothing(effect, model, subject)).collect();
    let owner = |setting: &Setting| match setting.parameter {
        Parameter::Knob(knob) => Some(knob.model),
        _ => None,
    };
    for setting in &scenario.edits.settings {
        if let Some(owner) = owner(setting).filter(|owner| *owner != model) {
            notes.push(format!("{} is a quantity of {owner}, not of {model}", setting.parameter.name()));
        }
    }
    let same = matches!((before, after), (Ok(before), Some(Ok(after)))
        if before.time == after.time && before.terms == after.terms && before.quantities == after.quantities);
    if let (Ok(before), Some(Ok(after))) = (before, after)
        && let (Some(old), Some(new)) = (before.quantity(Symbol::Case), after.quantity(Symbol::Case))
        && old != new
        && after.seconds().0 > before.seconds().0
    {
        notes.push(format!(
            "{model} changes from its case ({old}) to ({new}); the cases do not meet, and the step is a part of the loss"
        ));
    }
    if same && notes.is_empty() && !scenario.runs_again() {
        notes.push(format!("nothing that {model} computes with changes"));
    }
    notes
}

/// The manual's page on what-if questions.
pub fn page() -> String {
    scenario::manual::page()
}

#[cfg(test)]
mod tests;
