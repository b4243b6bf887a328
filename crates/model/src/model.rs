//! The contract that every model keeps, and the list of all models.

use std::fmt;

use warplens_machine::Machine;
use warplens_sim::traces::Traces;
use warplens_stats::Profile;

use crate::scenario::EffectId;
use crate::{Given, InputField, KnobSpec, Knobs, ModelId, OptionId, Options, Prediction, Refusal};

/// A way to turn counts and a machine into a time.
pub trait Model {
    /// Which of [`MODELS`](crate::MODELS) it is.
    fn id(&self) -> ModelId;

    /// Name that users write.
    fn name(&self) -> &'static str {
        self.id().name()
    }

    /// One sentence on what the model is, with its source.
    fn about(&self) -> &'static str;

    /// What it takes in and leaves out, next to the other models: why `auto` prefers it where it does.
    fn rank_reason(&self) -> &'static str;

    /// The effects of a kernel or machine that its equations have in them.
    fn effects(&self) -> &'static [EffectId];

    /// What must have been gathered about the execution.
    fn needs(&self) -> Needs;

    /// The options that it knows.
    fn options(&self) -> &'static [OptionId];

    /// The numbers that it takes from an input file.
    fn inputs(&self) -> &'static [InputField];

    /// Its own quantities that a question may change; machine parameters and counts are changed for all models alike.
    fn knobs(&self) -> &'static [KnobSpec] {
        &[]
    }

    /// Predicts a kernel from its profile.
    fn predict(&self, input: &Input<'_>, machine: &Machine) -> Result<Prediction, Refusal>;

    /// Evaluates the equations on given numbers, the machine supplying what is not given.
    fn evaluate(&self, given: &Given, machine: Option<&Machine>, options: &Options) -> Result<Prediction, Refusal>;
}

/// What was recorded of a launch: its counts, and what some CTAs executed.
#[derive(Clone, Copy, Debug)]
pub struct Recording<'a> {
    /// Everything counted.
    pub profile: &'a Profile,
    /// The traces with the machine code of each GPU.
    pub traces: &'a Traces,
}

/// What a model predicts from.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// Everything counted.
    pub profile: &'a Profile,
    /// What some CTAs executed.
    pub traces: &'a Traces,
    /// Variants asked for.
    pub options: Options,
    /// Changes of the model's own quantities.
    pub knobs: &'a Knobs,
}

/// What must have been gathered about the execution, least first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Needs {
    /// Counts of instructions.
    Counts,
    /// Counts that follow from addresses, too.
    Addresses,
    /// The streams of instructions and accesses.
    Trace,
}

/// Makes the list of models: [`ModelId`](crate::ModelId), [`MODELS`](crate::MODELS) and the preference of `auto`. A row
/// is a sentence, the identifier, the name that users write, the model, and its place in the order in which `auto` takes
/// the first that answers, from 1; 0 for a model that `auto` never takes.
macro_rules! models {
    ($($(#[$meta:meta])* $id:ident $name:literal = $model:path, auto $place:literal;)*) => {
        /// A model, by name.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum ModelId {
            $($(#[$meta])* $id,)*
        }

        impl ModelId {
            /// Every model, the simplest first.
            pub const ALL: &[Self] = &[$(Self::$id,)*];

            /// Name that users write.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$id => $name,)* }
            }

            /// The model itself.
            pub const fn model(self) -> &'static (dyn Model + Sync) {
                match self { $(Self::$id => &$model,)* }
            }

            /// The place among the models that `auto` may take, from 1; 0 where it never does.
            pub(crate) const fn place(self) -> usize {
                match self { $(Self::$id => $place,)* }
            }
        }

        /// Every model, the simplest first.
        pub const MODELS: &[&(dyn Model + Sync)] = &[$(&$model,)*];
    };
}

pub(crate) use models;

impl ModelId {
    /// The model called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|model| model.name() == name)
    }
}

/// The model called `name`.
pub fn find(name: &str) -> Option<&'static (dyn Model + Sync)> {
    ModelId::from_name(name).map(ModelId::model)
}

impl From<ModelId> for String {
    fn from(model: ModelId) -> Self {
        model.name().to_owned()
    }
}

impl fmt::Display for ModelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
