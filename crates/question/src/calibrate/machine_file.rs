//! A calibration as a machine file. It inherits from a GPU that the program has, by name, so that it can be moved and
//! calibrated again: what files of a user between the two state is written into it.

use warplens_base::error::{Error, Result};
use warplens_machine::{Fact, Scaling, Value, builtin};
use warplens_session::machines::{Basis, Key, Machine};

use super::Calibration;

/// What a machine file inherits, and what it has to state again.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Inherited {
    /// The GPU of the program, or design of an SM, that is nearest; none where a user wrote everything.
    base: Option<String>,
    /// What files of a user state.
    facts: Vec<(Key, Fact)>,
    /// The clock of durations whose own clock is not known.
    clock: Option<f64>,
}

impl Inherited {
    pub(super) fn of(machine: &Machine) -> Self {
        let is_own = |id: &str| builtin::text(id).is_some();
        let board = machine.board();
        // A file of a user that has the name of a GPU goes by its path.
        let lineage: Vec<&str> = std::iter::once(board).chain(machine.lineage.iter().map(String::as_str)).collect();
        let base = lineage.iter().find(|id| is_own(id)).map(|id| (*id).to_owned());
        let facts = machine.facts.iter().filter(|(_, fact)| !is_own(&fact.stated_in));
        Self { base, facts: facts.map(|(key, fact)| (*key, fact.clone())).collect(), clock: machine.clock() }
    }
}

impl Calibration {
    /// As a machine file that inherits everything else from the GPU that was calibrated.
    pub fn machine_file(&self, source: &str, basis: Basis) -> Result<String> {
        let Inherited { base, facts, clock } = &self.inherited;
        let base = base.as_deref().ok_or_else(|| {
            let error = Error::input(format!("{} inherits from no GPU of the program", self.machine.id));
            error.with_help("a machine file of a calibration is one that says `inherits = \"h200\"` or its like")
        })?;
        let name = self.machine.name.strip_suffix(CALIBRATED).unwrap_or(&self.machine.name);
        let mut text = format!("name = {}\n", quoted(&format!("{name}{CALIBRATED}")));
        text += &format!("inherits = {}\n\n[sources]\ncalibration = {}\n", quoted(base), quoted(source));
        let is_fitted = |key: Key| self.fitted.iter().any(|of| of.key == key);
        let mut lines: Vec<(Key, String)> = self.fitted.iter().map(|of| (of.key, of.line(basis))).collect();
        for (key, fact) in facts.iter().filter(|(key, _)| !is_fitted(*key)) {
            lines.push((*key, stated(*key, fact, *clock)?));
        }
        let mut groups: Vec<&str> = lines.iter().map(|(key, _)| key.group()).collect();
        groups.sort_unstable();
        groups.dedup();
        for group in groups {
            text += &format!("\n[{group}]\n");
            lines.iter().filter(|(key, _)| key.group() == group).for_each(|(_, line)| text += line);
        }
        Ok(text)
    }
}

/// What is added to the name of a GPU.
const CALIBRATED: &str = ", calibrated";

/// A text in quotes; what would end them becomes an apostrophe.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace(['\\', '"'], "'"))
}

/// A fact as a line of a machine file.
fn stated(key: Key, fact: &Fact, clock: Option<f64>) -> Result<String> {
    let unit = key.unit().symbol();
    let unit = if unit.is_empty() { String::new() } else { format!(", unit = \"{unit}\"") };
    let value = match &fact.value {
        Value::Unknown => return Ok(format!("{} = \"unknown\"\n", key.field())),
        Value::Number(seconds) if key.scaling() == Scaling::WallTime => {
            let clock = fact.clock.or(clock).ok_or_else(|| Error::input(format!("`{key}`: no clock is stated")))?;
            format!("{}{unit}, at = \"{} MHz\"", seconds * clock, clock / 1e6)
        }
        Value::Number(number) => format!("{number}{unit}"),
        Value::Word(word) => quoted(word.name()),
        Value::List(list) => format!("{list:?}{unit}"),
        Value::Mix(_) => return Err(Error::input(format!("`{key}` of {} cannot be carried over", fact.stated_in))),
    };
    let note = fact.note.as_ref().map_or_else(String::new, |note| format!(", note = {}", quoted(note)));
    let (basis, source) = (fact.basis.name(), quoted(&fact.source));
    Ok(format!("{} = {{ value = {value}, basis = \"{basis}\", source = {source}{note} }}\n", key.field()))
}
