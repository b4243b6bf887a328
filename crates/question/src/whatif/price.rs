//! What each effect costs by itself, and all of them together.

use warplens_model::scenario::{EFFECTS, Effect, Scenario, Subject};

use super::{ask, subject, why_nothing};
use warplens_session::Measurement;
use warplens_session::machines::Machine;
use warplens_session::predict::{Choice, GpuAnalysis, ModelId, Options, Prediction, measured_on};

/// The cost of every effect of one launch.
#[derive(Clone, PartialEq, Debug)]
pub struct Prices {
    /// The counts.
    pub measurement: Measurement,
    /// Costs by GPU.
    pub gpus: Vec<GpuPrices>,
}

/// Costs on one GPU.
#[derive(Clone, PartialEq, Debug)]
pub struct GpuPrices {
    /// As things are.
    pub before: GpuAnalysis,
    /// Per model, what costs most first.
    pub prices: Vec<Price>,
}

/// The cost of one effect, or of all together, in one model.
#[derive(Clone, PartialEq, Debug)]
pub struct Price {
    /// The model.
    pub model: ModelId,
    /// The effect; none for all of those that cost time together.
    pub effect: Option<&'static Effect>,
    /// The model's answer as things are.
    pub before: Prediction,
    /// The model's answer without the effect, or why there is none.
    pub after: Result<Prediction, String>,
    /// Why nothing changes, where that is so.
    pub note: Option<String>,
}

impl Price {
    /// Time before over time after.
    pub fn speedup(&self) -> Option<f64> {
        super::speedup(&self.before, self.after.as_ref().ok()?)
    }

    /// Share of the time that the effect costs; negative where it saves some.
    pub fn share(&self) -> Option<f64> {
        let (before, after) = (self.before.seconds().0, self.after.as_ref().ok()?.seconds().0);
        (before > 0.0).then(|| 1.0 - after / before)
    }

    /// Cycles that the effect costs, of the clock of the prediction as things are.
    pub fn cycles(&self) -> Option<f64> {
        Some(self.share()? * self.before.time.0)
    }
}

/// Prices every effect.
pub fn price(measurement: Measurement, machines: &[Machine], choice: &Choice, options: Options) -> Prices {
    let gpus = machines.iter().map(|machine| {
        let before = measured_on(&measurement, machine, choice, options);
        let answered = before.answers.iter().filter_map(|answer| answer.result.as_ref().ok());
        let own = measurement.on(machine).unwrap_or(&measurement);
        let prices = answered.flat_map(|prediction| of_model(own, machine, prediction, options)).collect();
        GpuPrices { before, prices }
    });
    let gpus = gpus.collect();
    Prices { measurement, gpus }
}

fn of_model(measurement: &Measurement, machine: &Machine, before: &Prediction, options: Options) -> Vec<Price> {
    let as_is = subject(measurement.recording(), machine);
    let mut prices = of_each(&as_is, before, options);
    let costly = EFFECTS.iter().filter(|effect| !effect.saves_time).collect();
    prices.push(of(&as_is, before, options, &Scenario { settings: Vec::new(), without: costly }, None));
    prices
}

/// The cost of each effect by itself, what costs most first.
pub(crate) fn of_each(as_is: &Subject, before: &Prediction, options: Options) -> Vec<Price> {
    let each = EFFECTS.iter().map(|effect| of(as_is, before, options, &Scenario::without(effect), Some(effect)));
    let mut prices: Vec<Price> = each.collect();
    prices.sort_by(|left, right| {
        let gain = |price: &Price| price.speedup().unwrap_or(0.0);
        gain(right).total_cmp(&gain(left))
    });
    prices
}

fn of(
    as_is: &Subject,
    before: &Prediction,
    options: Options,
    scenario: &Scenario,
    effect: Option<&'static Effect>,
) -> Price {
    let note = effect.and_then(|effect| why_nothing(effect, before.model, as_is));
    let mut changed = as_is.clone();
    let after = match super::changed::apply(scenario, &mut changed) {
        // What a model does not have costs it nothing.
        Ok(()) if note.is_some() => Ok(before.clone()),
        Ok(()) => ask(before.model, &changed, options).map_err(|refusal| refusal.reason),
        Err(impossible) => Err(impossible.reason),
    };
    Price { model: before.model, effect, before: before.clone(), after, note }
}
