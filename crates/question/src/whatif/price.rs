//! What each effect costs by itself, and all of them together.

use std::sync::atomic::Ordering;

use warplens_model::scenario::{EFFECTS, Effect, Impossible, Scenario, Subject};

use super::changed::Kept;
use super::{ask, subject, why_nothing};
use warplens_base::stop;
use warplens_session::machines::Machine;
use warplens_session::predict::{Choice, GpuAnalysis, ModelId, Options, Prediction, measured_on};
use warplens_session::{Measurement, Progress};

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
    let (kept, progress) = (Kept::default(), Progress::default());
    price_watched(measurement, machines, choice, options, &kept, &progress)
}

/// [`price`], with what is kept of the launch and a count of the questions that are answered.
pub fn price_watched(
    measurement: Measurement,
    machines: &[Machine],
    choice: &Choice,
    options: Options,
    kept: &Kept,
    progress: &Progress,
) -> Prices {
    // The answers as things are, each effect, and all together.
    let steps = machines.len() * (EFFECTS.len() + 2);
    progress.total.fetch_add(steps as u64, Ordering::Relaxed);
    let mut gpus = Vec::new();
    for machine in machines {
        let before = measured_on(&measurement, machine, choice, options);
        progress.done.fetch_add(1, Ordering::Relaxed);
        let answered = before.answers.iter().filter_map(|answer| answer.result.as_ref().ok());
        let own = measurement.on(machine).unwrap_or(&measurement);
        let as_is = subject(own.recording(), machine);
        let asked = Asked { as_is: &as_is, options, kept };
        let by_model = asked.of_questions(&answered.collect::<Vec<_>>(), progress);
        gpus.push(GpuPrices { prices: by_model.into_iter().flatten().collect(), before });
    }
    Prices { measurement, gpus }
}

/// The launch that is asked about.
struct Asked<'a> {
    as_is: &'a Subject,
    options: Options,
    kept: &'a Kept,
}

impl Asked<'_> {
    /// What each model answers to every question: the effects, what costs most first, then all of them together.
    fn of_questions(&self, models: &[&Prediction], progress: &Progress) -> Vec<Vec<Price>> {
        let mut each = vec![Vec::new(); models.len()];
        for effect in EFFECTS {
            let changed = self.kept.changed(&Scenario::without(effect), self.as_is);
            for (prices, before) in each.iter_mut().zip(models) {
                prices.push(self.price(&changed, before, Some(effect)));
            }
            progress.done.fetch_add(1, Ordering::Relaxed);
            stop::check();
        }
        let costly = EFFECTS.iter().filter(|effect| !effect.saves_time).collect();
        let all = self.kept.changed(&Scenario { settings: Vec::new(), without: costly }, self.as_is);
        for (prices, before) in each.iter_mut().zip(models) {
            sort(prices);
            prices.push(self.price(&all, before, None));
        }
        progress.done.fetch_add(1, Ordering::Relaxed);
        each
    }

    /// What one model says of the launch without an effect.
    fn price(
        &self,
        changed: &Result<Subject, Impossible>,
        before: &Prediction,
        effect: Option<&'static Effect>,
    ) -> Price {
        let note = effect.and_then(|effect| why_nothing(effect, before.model, self.as_is));
        let after = match changed {
            // What a model does not have costs it nothing.
            Ok(_) if note.is_some() => Ok(before.clone()),
            Ok(changed) => ask(before.model, changed, self.options).map_err(|refusal| refusal.reason),
            Err(impossible) => Err(impossible.reason.clone()),
        };
        Price { model: before.model, effect, before: before.clone(), after, note }
    }
}

/// The cost of each effect by itself, what costs most first.
pub(crate) fn of_each(as_is: &Subject, before: &Prediction, options: Options) -> Vec<Price> {
    let kept = Kept::default();
    let asked = Asked { as_is, options, kept: &kept };
    let of =
        |effect: &'static Effect| asked.price(&kept.changed(&Scenario::without(effect), as_is), before, Some(effect));
    let mut prices: Vec<Price> = EFFECTS.iter().map(of).collect();
    sort(&mut prices);
    prices
}

fn sort(prices: &mut [Price]) {
    let gain = |price: &Price| price.speedup().unwrap_or(0.0);
    prices.sort_by(|left, right| gain(right).total_cmp(&gain(left)));
}
