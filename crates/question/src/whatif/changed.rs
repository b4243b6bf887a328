//! A question applied to a recorded launch, and its answer held at the speed of light.

use warplens_base::units::Cycles;
use warplens_model::scenario::{Effect, EffectId, Impossible, Scenario, Subject};
use warplens_model::{ModelId, Prediction};
use warplens_session::predict::{Options, Term};
use warplens_sim::traces::Traces;

use crate::rewrite::{lanes, layout};

/// Changes a subject. What an effect is taken away from is written anew where warps were recorded: their accesses laid out
/// side by side, their lanes regrouped. So the answer is that of a kernel which could be.
pub(crate) fn apply(scenario: &Scenario, subject: &mut Subject) -> Result<(), Impossible> {
    for effect in &scenario.without {
        without(effect, subject)?;
    }
    Scenario { settings: scenario.settings.clone(), without: Vec::new() }.apply(subject)
}

fn without(effect: &Effect, subject: &mut Subject) -> Result<(), Impossible> {
    let rewrite: fn(&mut Subject) -> Result<(), Impossible> = match effect.id {
        EffectId::Uncoalesced => layout::coalesce,
        EffectId::Divergence => lanes::regroup,
        _ => return effect.remove(subject),
    };
    if !matches!(subject.traces, Traces::Made(_)) {
        return effect.remove(subject);
    }
    let mut rewritten = subject.clone();
    match rewrite(&mut rewritten) {
        Ok(()) => *subject = rewritten,
        // There is nothing of it in what was recorded, or too much.
        Err(_) => effect.remove(subject)?,
    }
    Ok(())
}

/// A simulation that leaves something out, and no faster than the machine: what it is below the speed of light is a term of
/// its own.
pub(crate) fn bounded(mut prediction: Prediction, subject: &Subject, options: Options) -> Prediction {
    if prediction.model != ModelId::Teg || subject.knobs.is_empty() {
        return prediction;
    }
    let light = ModelId::SpeedOfLight.model().predict(&subject.input(options), &subject.machine);
    let Ok(light) = light else { return prediction };
    let lacking = light.seconds().0 * prediction.clock.0 - prediction.time.0;
    if lacking > 0.0 {
        prediction.time = Cycles(prediction.time.0 + lacking);
        prediction.terms.push(Term {
            name: "speed of light",
            resource: light.limiter(),
            cycles: Cycles(lacking),
            parameters: Vec::new(),
            parts: Vec::new(),
        });
    }
    prediction
}
