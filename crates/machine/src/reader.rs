//! The accessor through which a model reads a machine: it derives what is missing by the documented rules, and it
//! remembers every parameter read and every assumption made.

use crate::derive;
use crate::key::{Key, Scaling};
use crate::machine::Machine;
use crate::unit::Unit;
use crate::value::{Basis, Fact, Value};
use crate::word::Words;

/// What to do where a value is missing and a rule could derive it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strictness {
    /// Derive it, and say so in the assumptions.
    AllowInferred,
    /// Refuse.
    Strict,
}

/// A parameter that a model needs and the machine does not have.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{machine} has no value for {key}: {reason}")]
pub struct Missing {
    /// The machine's identifier.
    pub machine: String,
    /// The parameter.
    pub key: Key,
    /// Why there is none, as a clause without a final period.
    pub reason: String,
}

/// A parameter as a model saw it.
#[derive(Clone, PartialEq, Debug)]
pub struct ParameterRead {
    /// The parameter.
    pub key: Key,
    /// The value in `unit`.
    pub value: Value,
    /// The unit; cycles for durations that follow the clock.
    pub unit: Unit,
    /// How the value came about.
    pub basis: Basis,
    /// Where it comes from, or the rule that derived it.
    pub source: String,
}

/// What a model read, handed on with its prediction.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Readings {
    /// Parameters in the order of their first reading, each once.
    pub parameters: Vec<ParameterRead>,
    /// Sentences on what was derived, each once.
    pub assumptions: Vec<String>,
}

/// Reads one machine for one prediction.
#[derive(Clone, Debug)]
pub struct Reader<'m> {
    machine: &'m Machine,
    strictness: Strictness,
    tuned_clock: Option<f64>,
    readings: Readings,
}

/// A value that nobody stated or measured, in a machine file or not.
const fn is_no_fact(basis: Basis) -> bool {
    matches!(basis, Basis::Inferred | Basis::Simulated)
}

impl<'m> Reader<'m> {
    /// A reader that has read nothing yet.
    pub fn new(machine: &'m Machine, strictness: Strictness) -> Self {
        Self { machine, strictness, tuned_clock: None, readings: Readings::default() }
    }

    /// The machine.
    pub fn machine(&self) -> &'m Machine {
        self.machine
    }

    /// The number of `key` in its unit: stated, or derived by a rule. Durations that follow the clock come in cycles of
    /// the clock in force.
    pub fn need(&mut self, key: Key) -> Result<f64, Missing> {
        if key == Key::ClockDefault {
            return self.clock();
        }
        match self.stated(key)? {
            Some(fact) => match fact.value {
                Value::Number(number) => {
                    self.assume_if_inferred(key, fact);
                    self.record_number(key, number, fact.basis, &fact.source)
                }
                _ => Err(self.missing(key, "the value is not one number")),
            },
            None => self.derived(key),
        }
    }

    /// The number of `key`, or nothing where it is neither stated nor derivable.
    pub fn optional(&mut self, key: Key) -> Option<f64> {
        self.need(key).ok()
    }

    /// The word of the parameter whose words are `W`.
    pub fn word<W: Words>(&mut self) -> Result<W, Missing> {
        self.stated_as(W::KEY, |value| match value {
            Value::Word(word) => word.of(),
            _ => None,
        })
    }

    /// The list of `key`, in ascending order.
    pub fn list(&mut self, key: Key) -> Result<&'m [f64], Missing> {
        self.stated_as(key, |value| match value {
            Value::List(list) => Some(list.as_slice()),
            _ => None,
        })
    }

    /// The instructions per lane kind of `key`; the kind is the parameter that gives its throughput.
    pub fn mix(&mut self, key: Key) -> Result<&'m [(Key, f64)], Missing> {
        self.stated_as(key, |value| match value {
            Value::Mix(mix) => Some(mix.as_slice()),
            _ => None,
        })
    }

    /// The clock in force, in hertz: the user's, else the one a model tuned itself with, else the machine's default.
    pub fn clock(&mut self) -> Result<f64, Missing> {
        if let Some(asked) = self.machine.asked_clock {
            self.record(Key::ClockDefault, Value::Number(asked), Basis::Given, "asked for with the GPU's name".into());
            return Ok(asked);
        }
        if let Some(tuned) = self.tuned_clock {
            return Ok(tuned);
        }
        let Some(key) = self.machine.default_clock_key() else {
            return Err(self.missing(Key::ClockDefault, "no clock is stated"));
        };
        match self.stated(key)? {
            Some(Fact { value: Value::Number(hertz), basis, source, .. }) => {
                self.record(key, Value::Number(*hertz), *basis, source.clone());
                Ok(*hertz)
            }
            _ => Err(self.missing(Key::ClockDefault, "no clock is stated")),
        }
    }

    /// Takes the clock of `key` from here on where the machine states it and the user asked for no other; returns the
    /// clock in force. A model whose parameters were fitted together with a clock calls this first.
    pub fn tune_clock(&mut self, key: Key) -> Result<f64, Missing> {
        if self.machine.asked_clock.is_none() && self.machine.number(key).is_some() {
            self.tuned_clock = Some(self.need(key)?);
        }
        self.clock()
    }

    /// Bandwidth of device memory that a model should use, in bytes per second: the peak on compute capability 1.x, as the
    /// papers of that time did, and the achieved one since.
    pub fn memory_bandwidth(&mut self) -> Result<f64, Missing> {
        self.need(if self.machine.cc.major < 2 { Key::DramPeakBandwidth } else { Key::DramAchievedBandwidth })
    }

    /// What was read so far.
    pub fn readings(&self) -> &Readings {
        &self.readings
    }

    /// Hands over what was read.
    pub fn finish(self) -> Readings {
        self.readings
    }

    /// Adds a sentence to the assumptions, once.
    pub fn assume(&mut self, sentence: impl Into<String>) {
        let sentence = sentence.into();
        if !self.readings.assumptions.contains(&sentence) {
            self.readings.assumptions.push(sentence);
        }
    }

    fn stated(&self, key: Key) -> Result<Option<&'m Fact>, Missing> {
        let fact = self.machine.fact(key);
        match fact {
            Some(fact) if self.strictness == Strictness::Strict && is_no_fact(fact.basis) => {
                Err(self
                    .missing(key, format!("its value is {} ({}), which strict mode refuses", fact.basis, fact.source)))
            }
            _ => Ok(fact),
        }
    }

    /// A stated value that is no number, as `view` sees it.
    fn stated_as<T>(&mut self, key: Key, view: impl Fn(&'m Value) -> Option<T>) -> Result<T, Missing> {
        let stated = self.stated(key)?.and_then(|fact| Some((fact, view(&fact.value)?)));
        let Some((fact, viewed)) = stated else {
            return Err(self.missing(key, derive::why_none(self.machine, key)));
        };
        self.assume_if_inferred(key, fact);
        self.record(key, fact.value.clone(), fact.basis, fact.source.clone());
        Ok(viewed)
    }

    fn assume_if_inferred(&mut self, key: Key, fact: &Fact) {
        match fact.basis {
            Basis::Inferred => self.assume(format!("{key}: {}", fact.source)),
            // What one calibration found is said once.
            Basis::Simulated => self.assume(format!("{}: {}", key.group(), fact.source)),
            _ => {}
        }
    }

    fn derived(&mut self, key: Key) -> Result<f64, Missing> {
        let Some(rule) = derive::rule(self.machine, key) else {
            return Err(self.missing(key, derive::why_none(self.machine, key)));
        };
        if self.strictness == Strictness::Strict {
            return Err(
                self.missing(key, format!("it could only be derived ({}), which strict mode refuses", rule.name))
            );
        }
        let number = (rule.apply)(self)?;
        let basis = derive::basis(self.machine, key);
        match basis {
            Basis::Simulated => self.assume(format!("{}: {}", key.group(), rule.name)),
            _ => self.assume(format!("{key}: {}", rule.name)),
        }
        self.record_number(key, number, basis, &rule.name)
    }

    /// Records a canonical number and returns it in the unit in which models read it.
    fn record_number(&mut self, key: Key, number: f64, basis: Basis, source: &str) -> Result<f64, Missing> {
        let value = match key.scaling() {
            Scaling::Fixed => number,
            Scaling::WallTime => number * self.clock()?,
        };
        self.record(key, Value::Number(value), basis, source.to_owned());
        Ok(value)
    }

    fn record(&mut self, key: Key, value: Value, basis: Basis, source: String) {
        if self.readings.parameters.iter().all(|read| read.key != key) {
            self.readings.parameters.push(ParameterRead { key, value, unit: key.unit(), basis, source });
        }
    }

    pub(crate) fn missing(&self, key: Key, reason: impl Into<String>) -> Missing {
        Missing { machine: self.machine.id.clone(), key, reason: reason.into() }
    }
}
