//! Machines as plain rows, for listings, comparisons and the manual.

use crate::key::{Key, Scaling};
use crate::machine::Machine;
use crate::reader::{Reader, Strictness};
use crate::unit::Unit;
use crate::value::{Basis, Value};

/// One parameter of one machine.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// The parameter.
    pub key: Key,
    /// The value in `unit`; [`Value::Unknown`] where it is neither stated nor derivable.
    pub value: Value,
    /// The unit; cycles of the machine's clock for durations that follow it.
    pub unit: Unit,
    /// The same duration in nanoseconds, for durations that follow the clock.
    pub nanoseconds: Option<f64>,
    /// How the value came about; none where it is unknown.
    pub basis: Option<Basis>,
    /// Where it comes from, the rule that derived it, or why it is unknown.
    pub source: String,
    /// What else to know.
    pub note: Option<String>,
}

/// One machine in a list.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// The identifier.
    pub id: String,
    /// The marketing name.
    pub name: String,
    /// The target: `sm_90`.
    pub target: String,
    /// The chip.
    pub chip: Option<String>,
    /// Number of SMs.
    pub sms: Option<f64>,
    /// Default clock in hertz.
    pub clock: Option<f64>,
    /// Peak bandwidth of device memory in bytes per second.
    pub peak_bandwidth: Option<f64>,
    /// Achieved bandwidth of device memory in bytes per second.
    pub achieved_bandwidth: Option<f64>,
    /// Other names.
    pub aliases: Vec<String>,
}

/// A parameter in which two machines differ.
#[derive(Clone, PartialEq, Debug)]
pub struct Difference {
    /// The parameter.
    pub key: Key,
    /// Its row of the first machine.
    pub left: Row,
    /// Its row of the second machine.
    pub right: Row,
    /// Second over first, where both are numbers and the first is not 0.
    pub ratio: Option<f64>,
}

/// The line of a machine in a list; values that would have to be derived are left out.
pub fn entry(machine: &Machine) -> Entry {
    Entry {
        id: machine.id.clone(),
        name: machine.name.clone(),
        target: machine.cc.target(),
        chip: machine.chip.clone(),
        sms: machine.number(Key::SmCount),
        clock: machine.clock(),
        peak_bandwidth: machine.number(Key::DramPeakBandwidth),
        achieved_bandwidth: machine.number(Key::DramAchievedBandwidth),
        aliases: machine.aliases.clone(),
    }
}

/// All parameters of a machine, in the order of the table; derived values are among them unless `strictness` refuses
/// them.
pub fn show(machine: &Machine, strictness: Strictness) -> Vec<Row> {
    Key::ALL.iter().map(|&key| row(machine, key, strictness)).collect()
}

/// The parameters in which two machines differ, in the order of the table.
pub fn diff(left: &Machine, right: &Machine, strictness: Strictness) -> Vec<Difference> {
    let rows = show(left, strictness).into_iter().zip(show(right, strictness));
    rows.filter(|(left, right)| left.value != right.value)
        .map(|(left, right)| {
            let ratio = match (&left.value, &right.value) {
                (Value::Number(first), Value::Number(second)) if *first != 0.0 => Some(second / first),
                _ => None,
            };
            Difference { key: left.key, left, right, ratio }
        })
        .collect()
}

fn row(machine: &Machine, key: Key, strictness: Strictness) -> Row {
    let stated = machine.fact(key);
    let note = machine.facts.get(&key).and_then(|fact| fact.note.clone());
    let empty = Row {
        key,
        value: Value::Unknown,
        unit: key.unit(),
        nanoseconds: None,
        basis: None,
        source: String::new(),
        note,
    };
    match stated.map(|fact| (&fact.value, fact)) {
        Some((value @ (Value::List(_) | Value::Word(_) | Value::Mix(_)), fact)) => {
            Row { value: value.clone(), basis: Some(fact.basis), source: fact.source.clone(), ..empty }
        }
        _ => {
            let mut reader = Reader::new(machine, strictness);
            match reader.need(key) {
                Err(missing) => Row { source: missing.reason, ..empty },
                Ok(number) => {
                    let read = reader.readings().parameters.iter().find(|read| read.key == key);
                    let fallback = reader.readings().parameters.first();
                    let (basis, source) =
                        read.or(fallback).map_or((None, String::new()), |read| (Some(read.basis), read.source.clone()));
                    let seconds = || Some(number / machine.clock()? * 1e9);
                    let nanoseconds = if key.scaling() == Scaling::WallTime { seconds() } else { None };
                    Row { value: Value::Number(number), nanoseconds, basis, source, ..empty }
                }
            }
        }
    }
}
