//! A question applied to a recorded launch, and its answer held at the speed of light.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use warplens_base::units::Cycles;
use warplens_model::scenario::{Effect, EffectId, Impossible, Scenario, Setting, Subject};
use warplens_model::{ModelId, Prediction};
use warplens_session::predict::{Options, Term};
use warplens_sim::traces::Traces;

use crate::rewrite::{lanes, layout};

/// Launches without effects that are kept.
const MOST_KEPT: usize = 16;

/// One launch without some effects, for whoever asks about it again. What was recorded of warps is written anew for some
/// effects, which takes longer than the closed forms take to answer.
#[derive(Debug, Default)]
pub struct Kept(Mutex<VecDeque<Entry>>);

#[derive(Clone, Debug)]
struct Entry {
    /// Identifier of the GPU.
    gpu: String,
    without: Vec<EffectId>,
    subject: Result<Arc<Subject>, Impossible>,
}

impl Kept {
    /// The launch as a scenario has it. `as_is` is the same launch in every call, on a GPU that its identifier tells.
    ///
    /// What an effect is taken away from is written anew where warps were recorded: their accesses laid out side by side,
    /// their lanes regrouped. So the answer is that of a kernel which could be.
    pub(crate) fn changed(&self, scenario: &Scenario, as_is: &Subject) -> Result<Subject, Impossible> {
        let Some(last) = scenario.without.last() else { return with(&scenario.settings, as_is.clone()) };
        let ids: Vec<EffectId> = scenario.without.iter().map(|effect| effect.id).collect();
        if let Some(subject) = self.found(&as_is.machine.id, &ids) {
            return with(&scenario.settings, Subject::clone(&*subject?));
        }
        let others = Scenario { settings: Vec::new(), without: scenario.without[..ids.len() - 1].to_vec() };
        let subject = self.changed(&others, as_is).and_then(|mut subject| {
            without(last, &mut subject)?;
            Ok(Arc::new(subject))
        });
        // A change of counts alone is made as fast as it is found.
        if rewrite(last.id).is_some() {
            self.keep(Entry { gpu: as_is.machine.id.clone(), without: ids, subject: subject.clone() });
        }
        with(&scenario.settings, Subject::clone(&*subject?))
    }

    fn found(&self, gpu: &str, without: &[EffectId]) -> Option<Result<Arc<Subject>, Impossible>> {
        let entries = self.entries();
        let own = entries.iter().find(|entry| entry.gpu == gpu && entry.without == without)?;
        Some(own.subject.clone())
    }

    fn keep(&self, entry: Entry) {
        let mut entries = self.entries();
        entries.push_back(entry);
        if entries.len() > MOST_KEPT {
            entries.pop_front();
        }
    }

    fn entries(&self) -> MutexGuard<'_, VecDeque<Entry>> {
        // Entries are whole or missing, whoever panicked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The subject with other values.
fn with(settings: &[Setting], mut subject: Subject) -> Result<Subject, Impossible> {
    Scenario { settings: settings.to_vec(), without: Vec::new() }.apply(&mut subject)?;
    Ok(subject)
}

/// How what was recorded is written anew without an effect.
type Rewrite = fn(&mut Subject) -> Result<(), Impossible>;

fn rewrite(id: EffectId) -> Option<Rewrite> {
    match id {
        EffectId::Uncoalesced => Some(layout::coalesce),
        EffectId::Divergence => Some(lanes::regroup),
        _ => None,
    }
}

fn without(effect: &Effect, subject: &mut Subject) -> Result<(), Impossible> {
    let Some(rewrite) = rewrite(effect.id).filter(|_| matches!(subject.traces, Traces::Made(_))) else {
        return effect.remove(subject);
    };
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
