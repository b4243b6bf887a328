//! The contract that every model keeps, and the list of all models.

use warplens_machine::Machine;
use warplens_sim::traces::Traces;
use warplens_stats::Profile;

use crate::{Given, InputField, KnobSpec, Knobs, Options, Prediction, Refusal};
use crate::{analyzer::Analyzer, hong_kim::HongKim, luo_suda::LuoSuda, roofline::Roofline, teg::Teg, x_model::XModel};

/// A way to turn counts and a machine into a time.
pub trait Model {
    /// Name that users write.
    fn name(&self) -> &'static str;

    /// One sentence on what the model is, with its source.
    fn about(&self) -> &'static str;

    /// What must have been gathered about the execution.
    fn needs(&self) -> Needs;

    /// Names of the options that it knows, of [`OPTIONS`](crate::OPTIONS).
    fn options(&self) -> &'static [&'static str];

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

/// Every model, the simplest first.
pub const MODELS: &[&(dyn Model + Sync)] = &[&Roofline, &HongKim, &LuoSuda, &XModel, &Analyzer, &Teg];

/// The model called `name`.
pub fn find(name: &str) -> Option<&'static (dyn Model + Sync)> {
    MODELS.iter().copied().find(|model| model.name() == name)
}
