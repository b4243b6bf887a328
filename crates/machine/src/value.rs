//! A value with where it comes from.

use crate::key::Key;
use crate::word::Word;

/// How a value came about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Basis {
    /// Stated by the vendor in a document or a header that was read.
    Vendor,
    /// Read from the result of a benchmark on the machine, or on another with the same SM design where the source says so.
    Measured,
    /// The value that fits a model to measurements.
    Fitted,
    /// The distance that the vendor's assembler keeps between producer and consumer.
    Compiler,
    /// A parameter of a published simulator or model.
    Simulator,
    /// The value that fits a model to times of this program's own timing simulation, not of a GPU.
    Simulated,
    /// Quoted from memory of a document: check it before citing.
    Recalled,
    /// Derived from other values.
    Inferred,
    /// Given by the user with the request.
    Given,
    /// Supposed by a what-if question.
    WhatIf,
}

impl Basis {
    /// Every basis.
    pub const ALL: &'static [Basis] = &[
        Basis::Vendor,
        Basis::Measured,
        Basis::Fitted,
        Basis::Compiler,
        Basis::Simulator,
        Basis::Simulated,
        Basis::Recalled,
        Basis::Inferred,
        Basis::Given,
        Basis::WhatIf,
    ];

    /// The word that files and listings use.
    pub const fn name(self) -> &'static str {
        match self {
            Basis::Vendor => "vendor",
            Basis::Measured => "measured",
            Basis::Fitted => "fitted",
            Basis::Compiler => "compiler",
            Basis::Simulator => "simulator",
            Basis::Simulated => "simulated",
            Basis::Recalled => "recalled",
            Basis::Inferred => "inferred",
            Basis::Given => "given",
            Basis::WhatIf => "what-if",
        }
    }

    /// The basis of a word.
    pub fn from_name(name: &str) -> Option<Basis> {
        Basis::ALL.iter().copied().find(|basis| basis.name() == name)
    }
}

impl std::fmt::Display for Basis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// A parameter's value in its canonical unit; durations that follow the clock are in seconds.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// Nobody knows, and the file says so.
    Unknown,
    /// One number.
    Number(f64),
    /// Numbers in ascending order.
    List(Vec<f64>),
    /// A word.
    Word(Word),
    /// Instructions per lane kind, in the order of the parameter table.
    Mix(Vec<(Key, f64)>),
}

/// What a machine file says about one parameter.
#[derive(Clone, PartialEq, Debug)]
pub struct Fact {
    /// The value in its canonical unit.
    pub value: Value,
    /// How it came about.
    pub basis: Basis,
    /// Document and section, or benchmark and run.
    pub source: String,
    /// What else to know.
    pub note: Option<String>,
    /// The clock in hertz under which a duration in cycles was taken.
    pub clock: Option<f64>,
    /// Name of the file that states it: the machine's own, or one that it inherits from.
    pub stated_in: String,
}

impl Fact {
    /// The number, if there is one.
    pub fn number(&self) -> Option<f64> {
        match self.value {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }
}
