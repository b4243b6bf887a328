//! Scenarios: what if a parameter had another value, or an effect cost nothing?
//!
//! A scenario edits what models are asked about, the [`Subject`]: counts in the profile, parameters in the machine, knobs
//! of single models. No model knows of it, so all models answer the same question. Names are rows of tables: counts in
//! [`COUNTS`], short names of machine parameters in [`ALIASES`], launch fields in [`LAUNCH_FIELDS`], effects in
//! [`EFFECTS`]; machine parameters go by [`Key`](warplens_machine::Key), knobs by the tables of the models.

mod count;
mod edit;
mod effect;
pub mod manual;
mod parameter;

use warplens_machine::Machine;
use warplens_sim::traces::Traces;
use warplens_stats::Profile;

use crate::{Change, Input, Knobs, Options};

pub use count::{COUNTS, CountSpec};
pub use edit::scale_line_requests;
pub use effect::{EFFECTS, Effect, EffectId, OF_SIMULATION};
pub use parameter::{ALIASES, AliasSpec, LAUNCH_FIELDS, LaunchField, Parameter};

/// What models are asked about, with everything that a scenario may change.
#[derive(Clone, PartialEq, Debug)]
pub struct Subject {
    /// The counts.
    pub profile: Profile,
    /// What some CTAs executed.
    pub traces: Traces,
    /// The GPU.
    pub machine: Machine,
    /// Changes of quantities that only one model knows.
    pub knobs: Knobs,
}

/// A change that makes no sense for this kernel or GPU.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{reason}")]
pub struct Impossible {
    /// Why, as a clause without a final period.
    pub reason: String,
}

impl Impossible {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into() }
    }
}

/// A parameter with its change.
#[derive(Clone, PartialEq, Debug)]
pub struct Setting {
    /// The parameter.
    pub parameter: Parameter,
    /// The change, in the unit of the parameter.
    pub change: Change,
    /// A value of a duration in cycles, where the parameter is kept in seconds.
    pub in_cycles: bool,
    /// The text of the request: `dram.bandwidth=2x`.
    pub text: String,
}

/// Changes and effects that cost nothing, all at once.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Scenario {
    /// Changes, in order.
    pub settings: Vec<Setting>,
    /// Effects that cost nothing. They go first, so that a count that is set stays as it was set.
    pub without: Vec<&'static Effect>,
}

impl Scenario {
    /// A scenario without one effect.
    pub fn without(effect: &'static Effect) -> Self {
        Self { settings: Vec::new(), without: vec![effect] }
    }

    /// True when nothing is asked.
    pub fn is_empty(&self) -> bool {
        self.settings.is_empty() && self.without.is_empty()
    }

    /// Changes the subject.
    pub fn apply(&self, subject: &mut Subject) -> Result<(), Impossible> {
        for effect in &self.without {
            effect.remove(subject)?;
        }
        self.settings.iter().try_for_each(|setting| setting.apply(subject))
    }
}

impl Subject {
    /// What a model is handed.
    pub fn input(&self, options: Options) -> Input<'_> {
        Input { profile: &self.profile, traces: &self.traces, options, knobs: &self.knobs }
    }
}
