//! The choice among the models, and the spread of their answers.
//!
//! `auto` takes the first model of [`PREFERENCE`] that answers. The order is from the model that takes most of what was
//! counted into account to the one that takes least: none is more right than another on every kernel, but a model that
//! leaves an effect out cannot show it. `teg` comes first because it has half the error of the closed forms or less
//! wherever there are measurements (`validation/accuracy.md`, `validation/coulomb.md`).
//! [`Model::rank_reason`] says what each takes in and leaves out.

use warplens_base::units::Seconds;
use warplens_machine::{Basis, Machine};

use crate::assumption::AssumptionId;
use crate::speed_of_light::SpeedOfLight;
use crate::{Input, MODELS, Model, ModelId, Prediction, Refusal};

/// Models in the order in which `auto` prefers them.
pub const PREFERENCE: &[ModelId] = &{
    let mut models = [ModelId::ALL[0]; CANDIDATES];
    let mut place = 0;
    while place < CANDIDATES {
        models[place] = at_place(place + 1);
        place += 1;
    }
    models
};

/// How many models `auto` may take.
const CANDIDATES: usize = {
    let mut count = 0;
    let mut index = 0;
    while index < ModelId::ALL.len() {
        count += (ModelId::ALL[index].place() > 0) as usize;
        index += 1;
    }
    count
};

/// The one model that the table of models puts there.
const fn at_place(place: usize) -> ModelId {
    let mut found = None;
    let mut index = 0;
    while index < ModelId::ALL.len() {
        let model = ModelId::ALL[index];
        if model.place() == place {
            assert!(found.is_none(), "two models have the same place in the order of `auto`");
            found = Some(model);
        }
        index += 1;
    }
    found.expect("the places in the order of `auto` are 1, 2, 3 and so on")
}

/// What `auto` took, and what else there was.
#[derive(Clone, PartialEq, Debug)]
pub struct Selection {
    /// The model whose answer was taken.
    pub model: ModelId,
    /// The other models that answered, in the order of preference.
    pub answered: Vec<ModelId>,
    /// Models that refused, in the order of preference.
    pub refused: Vec<(ModelId, Refusal)>,
}

/// The answers of several models for one machine, among them all that `auto` may take.
#[derive(Clone, PartialEq, Debug)]
pub struct Answers {
    /// Each model's answer, in the order of [`MODELS`].
    pub answers: Vec<(ModelId, Result<Prediction, Refusal>)>,
}

impl Answers {
    /// Asks every model.
    pub fn gather(input: &Input<'_>, machine: &Machine) -> Self {
        Self::with(ModelId::ALL, input, machine)
    }

    /// Asks the models that `auto` may take, and these: a model that nobody wants to hear may cost as much as another.
    pub fn with(these: &[ModelId], input: &Input<'_>, machine: &Machine) -> Self {
        Self::where_asked(|model| PREFERENCE.contains(model) || these.contains(model), input, machine)
    }

    /// Asks these models, and none that simulates besides.
    pub fn alone(these: &[ModelId], input: &Input<'_>, machine: &Machine) -> Self {
        Self::where_asked(|model| *model == ModelId::Roofline || these.contains(model), input, machine)
    }

    fn where_asked(is_asked: impl Fn(&ModelId) -> bool, input: &Input<'_>, machine: &Machine) -> Self {
        let models = MODELS.iter().filter(|model| is_asked(&model.id()));
        let bound = SpeedOfLight.predict(input, machine).ok();
        let ask = |model: &dyn Model| {
            let mut answer = model.predict(input, machine);
            if let Ok(prediction) = &mut answer {
                note_below(prediction, bound.as_ref());
            }
            (model.id(), answer)
        };
        Self { answers: models.map(|model| ask(*model)).collect() }
    }

    /// The answer of the preferred model among those that answered; else the refusal of the first of the preferred that
    /// lacks more than a trace.
    pub fn chosen(&self) -> (ModelId, &Result<Prediction, Refusal>) {
        let of = |id: &ModelId| self.answers.iter().find(|(model, _)| model == id);
        let mut by_preference = PREFERENCE.iter().filter_map(of);
        let answered = by_preference.clone().find(|(_, answer)| answer.as_ref().is_ok_and(says_something_of_its_own));
        let refused = by_preference.clone().find(|(_, answer)| answer.as_ref().is_err_and(lacks_more_than_a_trace));
        let chosen = answered.or(refused).or_else(|| by_preference.next());
        let (model, answer) = chosen.expect("every preferred model is asked");
        (*model, answer)
    }

    /// The refusal of the first of the preferred models that refuses.
    pub fn first_refusal(&self) -> Option<&Refusal> {
        let of = |id: &ModelId| self.answers.iter().find(|(model, _)| model == id);
        PREFERENCE.iter().filter_map(of).find_map(|(_, answer)| answer.as_ref().err())
    }

    /// Which answer is [chosen](Self::chosen), and which others there are.
    pub fn selection(&self) -> Selection {
        let (model, _) = self.chosen();
        let mut selection = Selection { model, answered: Vec::new(), refused: Vec::new() };
        let of = |id: &ModelId| self.answers.iter().find(|(model, _)| model == id);
        for (other, answer) in PREFERENCE.iter().filter_map(of) {
            match answer {
                _ if *other == model && answer.is_ok() => {}
                Ok(prediction) if says_something_of_its_own(prediction) => selection.answered.push(*other),
                Ok(_) => selection.refused.push((*other, says_nothing())),
                Err(refusal) => selection.refused.push((*other, refusal.clone())),
            }
        }
        selection
    }

    /// The spread of the models that answered.
    pub fn band(&self) -> Option<Band> {
        band(self.answers.iter().filter_map(|(_, answer)| answer.as_ref().ok()))
    }
}

/// Predicts with the preferred model that answers.
pub fn predict(input: &Input<'_>, machine: &Machine) -> Result<Prediction, Refusal> {
    let mut refusals = Vec::new();
    for model in PREFERENCE {
        match model.model().predict(input, machine) {
            Ok(prediction) if !says_something_of_its_own(&prediction) => refusals.push(says_nothing()),
            Ok(mut prediction) => {
                note_below(&mut prediction, SpeedOfLight.predict(input, machine).ok().as_ref());
                return Ok(prediction);
            }
            Err(refusal) => refusals.push(refusal),
        }
    }
    let telling = refusals.iter().position(lacks_more_than_a_trace).unwrap_or(0);
    Err(refusals.swap_remove(telling))
}

/// Says of a closed form that its time is below that of the speed of light. The simulation is held against it itself.
fn note_below(prediction: &mut Prediction, bound: Option<&Prediction>) {
    let Some(bound) = bound.filter(|bound| prediction.seconds().0 < bound.seconds().0 * (1.0 - SAME)) else { return };
    if !matches!(prediction.model, ModelId::SpeedOfLight | ModelId::Teg) {
        let times = prediction.seconds().0 / bound.seconds().0 * 100.0;
        prediction.assumptions.push(AssumptionId::BelowLight.with(format_args!("this is {times:.0} % of it")));
    }
}

/// What rounding may make of equal times.
const SAME: f64 = 1e-9;

/// No machine file can supply a trace; another refusal says more about the machine.
fn lacks_more_than_a_trace(refusal: &Refusal) -> bool {
    refusal.missing.iter().any(|missing| missing != "trace")
}

/// The spread of several models' times: how far they disagree, not an error bar.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Band {
    /// The smallest time.
    pub low: Seconds,
    /// The largest time.
    pub high: Seconds,
    /// Models that answered.
    pub n_models: usize,
}

/// A model whose parameters were fitted to the timing simulation repeats what that says.
fn says_something_of_its_own(prediction: &Prediction) -> bool {
    prediction.model == ModelId::Teg || prediction.parameters.iter().all(|read| read.basis != Basis::Simulated)
}

fn says_nothing() -> Refusal {
    Refusal::impossible("its values were fitted to the timing simulation, so that it says nothing of its own")
}

/// The spread of predictions; none without any. A model that `auto` never takes is no part of it, nor one that was fitted to
/// the timing simulation.
pub fn band<'p>(predictions: impl IntoIterator<Item = &'p Prediction>) -> Option<Band> {
    let is_part =
        |prediction: &&Prediction| PREFERENCE.contains(&prediction.model) && says_something_of_its_own(prediction);
    let candidates = predictions.into_iter().filter(is_part);
    candidates.map(Prediction::seconds).fold(None, |band, time| {
        let Some(Band { low, high, n_models }) = band else {
            return Some(Band { low: time, high: time, n_models: 1 });
        };
        Some(Band { low: Seconds(low.0.min(time.0)), high: Seconds(high.0.max(time.0)), n_models: n_models + 1 })
    })
}
