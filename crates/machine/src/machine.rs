//! One GPU: what is stated about it, and the clock it is asked about.

use std::collections::BTreeMap;
use std::fmt;

use crate::key::Key;
use crate::value::{Fact, Value};

/// The generation of an SM design.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ComputeCapability {
    /// The digit before the dot.
    pub major: u8,
    /// The digit after the dot.
    pub minor: u8,
}

impl ComputeCapability {
    /// The capability `major.minor`.
    pub const fn new(major: u8, minor: u8) -> Self {
        Self { major, minor }
    }

    /// Reads `9.0`, `sm_90` or `90`.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("sm_").unwrap_or(text);
        let (major, minor) = match digits.split_once('.') {
            Some(pair) => pair,
            None if digits.is_ascii() && digits.len() >= 2 => digits.split_at(digits.len() - 1),
            None => return None,
        };
        Some(Self { major: major.parse().ok()?, minor: minor.parse().ok().filter(|&minor: &u8| minor < 10)? })
    }

    /// The name of the target: `sm_90`.
    pub fn target(self) -> String {
        format!("sm_{}{}", self.major, self.minor)
    }
}

impl fmt::Display for ComputeCapability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// One GPU, or one SM design without a board around it.
#[derive(Clone, PartialEq, Debug)]
pub struct Machine {
    /// The identifier, which no other machine has: `h200`, or `h200@1500` where another clock was asked for.
    pub id: String,
    /// The marketing name.
    pub name: String,
    /// Generation of the SM.
    pub cc: ComputeCapability,
    /// The chip, where the description is of a board: `GH100`.
    pub chip: Option<String>,
    /// The year in which the board was announced.
    pub year: Option<u16>,
    /// Identifiers of what the description inherits from, the nearest first.
    pub lineage: Vec<String>,
    /// Other names that select this machine.
    pub aliases: Vec<String>,
    /// What is stated, own and inherited.
    pub facts: BTreeMap<Key, Fact>,
    /// Other machines, nearest first, from which missing values may be derived. They have no siblings of their own here.
    pub siblings: Vec<Machine>,
    /// A clock in hertz that the user asked for in place of the default.
    pub asked_clock: Option<f64>,
}

impl Machine {
    /// What is stated about `key`, unless it is stated as unknown.
    pub fn fact(&self, key: Key) -> Option<&Fact> {
        self.facts.get(&key).filter(|fact| fact.value != Value::Unknown)
    }

    /// The stated number of `key` in its canonical unit; seconds where it follows the clock.
    pub fn number(&self, key: Key) -> Option<f64> {
        self.fact(key).and_then(Fact::number)
    }

    /// The same machine asked about at `hertz`: another one, by its identifier.
    pub fn at_clock(mut self, hertz: f64) -> Self {
        self.id = format!("{}@{}", self.board(), hertz / 1e6);
        self.asked_clock = Some(hertz);
        self
    }

    /// The identifier without the clock that was asked for.
    pub fn board(&self) -> &str {
        let named = self.asked_clock.and_then(|hertz| self.id.strip_suffix(&format!("@{}", hertz / 1e6)));
        named.unwrap_or(&self.id)
    }

    /// The parameter that gives the default clock, if any is known.
    pub fn default_clock_key(&self) -> Option<Key> {
        [Key::ClockDefault, Key::ClockHot, Key::ClockBoost, Key::ClockBase]
            .into_iter()
            .find(|&key| self.number(key).is_some())
    }

    /// The clock of predictions in hertz: the one asked for, else the default.
    pub fn clock(&self) -> Option<f64> {
        self.asked_clock.or_else(|| self.number(self.default_clock_key()?))
    }
}
