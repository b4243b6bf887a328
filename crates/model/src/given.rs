//! Numbers that a user gives in place of a profile, by the names of a model's input fields.

use std::collections::BTreeMap;
use std::fmt;

use warplens_machine::{Key, Machine, Reader, Readings, Strictness};

use crate::{Model, ModelId, Refusal, Unit};

/// Given numbers by field name. A point of a measured curve is a number, too: `f(12)` is the value of `f` at 12.
pub type Given = BTreeMap<String, f64>;

/// The name under which a point of a curve is given.
pub fn point_name(curve: &str, at: f64) -> String {
    format!("{curve}({at})")
}

/// The curve and the place that a name means, if it is one of a point.
fn point_at(name: &str) -> Option<(&str, f64)> {
    let (curve, at) = name.strip_suffix(')')?.split_once('(')?;
    Some((curve, at.parse().ok()?))
}

/// The given points of `curve`.
pub(crate) fn points_of(given: &Given, curve: &str) -> Vec<(f64, f64)> {
    let points = given.iter().filter_map(|(name, &value)| Some((point_at(name)?, value)));
    points.filter(|((name, _), _)| *name == curve).map(|((_, at), value)| (at, value)).collect()
}

/// A number that a model takes from an input file.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct InputField {
    /// Name in the file: the paper's symbol in snake case. A curve is named with its argument, `f(k)`: the file gives
    /// it as points, `f = [[1, 0.05], [2, 0.1]]`.
    pub name: &'static str,
    /// Unit, empty for a plain number.
    pub unit: Unit,
    /// Where the number comes from if the file does not give it.
    pub origin: Origin,
    /// One sentence on what it is.
    pub about: &'static str,
}

/// Where a number comes from that the file does not give.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Origin {
    /// The file must give it.
    Required,
    /// This value.
    Default(f64),
    /// This parameter of the machine; a given value takes its place.
    Machine(Key),
    /// These parameters of the machine; `{}` stands for each of them, in their order.
    MachineBy(&'static [Key], &'static str),
    /// Other fields; said in words.
    Derived(&'static str),
}

/// The bandwidth as [`Reader::memory_bandwidth`] reads it.
pub(crate) const MEMORY_BANDWIDTH: Origin = Origin::MachineBy(
    &[Key::DramPeakBandwidth, Key::DramAchievedBandwidth],
    "{} before compute capability 2.0, then {}",
);

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Required => f.write_str("an error"),
            Self::Default(value) => write!(f, "{value}"),
            Self::Machine(key) => write!(f, "from the GPU: {key}"),
            Self::MachineBy(keys, how) => {
                let said = keys.iter().fold((*how).to_owned(), |said, key| said.replacen("{}", key.name(), 1));
                write!(f, "from the GPU: {said}")
            }
            Self::Derived(how) => f.write_str(how),
        }
    }
}

/// A given number that is wrong in itself.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BadInput {
    /// The model has no such field.
    #[error("model {model} has no input `{name}`; it has: {}", .known.join(", "))]
    UnknownField {
        /// The model.
        model: ModelId,
        /// The name as written.
        name: String,
        /// The fields that it has.
        known: Vec<&'static str>,
    },
    /// The value is not a finite number of at least 0.
    #[error("input `{name}` is {value}; it must be a finite number of at least 0")]
    Value {
        /// The field.
        name: String,
        /// Its value.
        value: f64,
    },
}

/// Checks names and values before a model sees them.
pub fn check_given(model: &dyn Model, given: &Given) -> Result<(), BadInput> {
    for (name, &value) in given {
        // A field such as `f(k)` is a curve, given point by point.
        let is_of = |field: &InputField| match (point_at(name), field.name.split_once('(')) {
            (Some((curve, _)), Some((field, _))) => field == curve,
            (None, _) => field.name == name && !field.name.contains('('),
            _ => false,
        };
        if !model.inputs().iter().any(is_of) {
            let known = model.inputs().iter().map(|field| field.name).collect();
            return Err(BadInput::UnknownField { model: model.id(), name: name.clone(), known });
        }
        if !value.is_finite() || value < 0.0 {
            return Err(BadInput::Value { name: name.clone(), value });
        }
    }
    Ok(())
}

/// Reads fields, from the file or the machine, and gathers the names of what is missing.
pub(crate) struct Fields<'g, 'm> {
    given: &'g Given,
    reader: Option<Reader<'m>>,
    missing: Vec<String>,
    reasons: Vec<String>,
}

impl<'g, 'm> Fields<'g, 'm> {
    /// Fields of `given`, with `machine` for what it leaves out.
    pub(crate) fn new(given: &'g Given, machine: Option<&'m Machine>, strictness: Strictness) -> Self {
        let reader = machine.map(|machine| Reader::new(machine, strictness));
        Self { given, reader, missing: Vec::new(), reasons: Vec::new() }
    }

    /// The machine, where one is named.
    pub(crate) fn machine_named(&self) -> Option<&'m Machine> {
        self.reader.as_ref().map(Reader::machine)
    }

    /// A given number.
    pub(crate) fn optional(&self, name: &str) -> Option<f64> {
        self.given.get(name).copied()
    }

    /// A number with a default.
    pub(crate) fn or(&self, name: &str, default: f64) -> f64 {
        self.optional(name).unwrap_or(default)
    }

    /// A number that must be given; 0 where it is not, which `finish` turns into a refusal.
    pub(crate) fn required(&mut self, name: &str) -> f64 {
        self.optional(name).unwrap_or_else(|| self.lack(name, format!("the input does not give `{name}`")))
    }

    /// A number that the machine has, unless it is given.
    pub(crate) fn machine(&mut self, name: &str, key: Key) -> f64 {
        self.machine_by(name, |reader| Ok(reader.need(key)?))
    }

    /// A number that is read from the machine by `read`, unless it is given.
    pub(crate) fn machine_by(&mut self, name: &str, read: impl Fn(&mut Reader<'m>) -> Result<f64, Refusal>) -> f64 {
        if let Some(value) = self.optional(name) {
            return value;
        }
        match self.reader.as_mut().map(read) {
            Some(Ok(value)) => value,
            Some(Err(refusal)) => {
                let reason = format!("the input does not give `{name}`, and {}", refusal.reason);
                let names = if refusal.missing.is_empty() { vec![name.to_owned()] } else { refusal.missing };
                for name in names {
                    self.lack(&name, reason.clone());
                }
                0.0
            }
            None => self.lack(name, format!("the input does not give `{name}`, and no GPU is named")),
        }
    }

    /// Notes that something is missing; 0 stands in for it until `finish` refuses.
    pub(crate) fn lack(&mut self, name: &str, reason: String) -> f64 {
        if !self.missing.iter().any(|other| other == name) {
            self.missing.push(name.to_owned());
        }
        if !self.reasons.contains(&reason) {
            self.reasons.push(reason);
        }
        0.0
    }

    /// What was read from the machine, or everything that is missing.
    pub(crate) fn finish(self) -> Result<Readings, Refusal> {
        if self.missing.is_empty() {
            return Ok(self.reader.map(Reader::finish).unwrap_or_default());
        }
        Err(Refusal { missing: self.missing, reason: self.reasons.join("; ") })
    }
}
