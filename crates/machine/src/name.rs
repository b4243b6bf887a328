//! Names of machines as users write them.

use crate::machine::ComputeCapability;

/// What a user asks for with `--gpu`: one entry of its comma list.
#[derive(Clone, PartialEq, Debug)]
pub struct MachineRef {
    /// What is selected.
    pub selector: Selector,
    /// A clock in hertz in place of the default: `h200@1500`.
    pub clock: Option<f64>,
}

/// The part of a [`MachineRef`] that selects machines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Selector {
    /// Every machine that is built in.
    All,
    /// Every machine of a compute capability.
    Target(ComputeCapability),
    /// One machine by identifier, alias or marketing name, as written.
    Name(String),
    /// A machine file of the user.
    File(String),
}

/// A `--gpu` entry that cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// Nothing stands there.
    #[error("empty GPU name")]
    Empty,
    /// What follows the `@` is no clock.
    #[error("`{clock}` is no clock in MHz; write for example h200@1500")]
    Clock {
        /// What follows the `@`.
        clock: String,
    },
}

impl MachineRef {
    /// Reads `ID`, `ID@MHZ`, `sm_90`, `all` or the path of a `.toml` file.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let (name, clock) = match text.trim().rsplit_once('@') {
            Some((name, clock)) => (name.trim(), Some(parse_clock(clock)?)),
            None => (text.trim(), None),
        };
        if name.is_empty() {
            return Err(NameError::Empty);
        }
        let selector = if name.ends_with(".toml") {
            Selector::File(name.to_owned())
        } else if name.eq_ignore_ascii_case("all") {
            Selector::All
        } else if let Some(cc) = name.strip_prefix("sm_").and_then(ComputeCapability::parse) {
            Selector::Target(cc)
        } else {
            Selector::Name(name.to_owned())
        };
        Ok(Self { selector, clock })
    }
}

fn parse_clock(text: &str) -> Result<f64, NameError> {
    let digits = text.trim();
    let number = digits.strip_suffix("MHz").or(digits.strip_suffix("mhz")).unwrap_or(digits).trim();
    match number.parse::<f64>() {
        Ok(mhz) if mhz.is_finite() && mhz > 0.0 => Ok(mhz * 1e6),
        _ => Err(NameError::Clock { clock: text.to_owned() }),
    }
}

/// The form in which names are compared: lower case, letters and digits only, without the vendor and the product line.
pub(crate) fn normal(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    let words = lower
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !matches!(*word, "" | "nvidia" | "geforce" | "tesla" | "quadro" | "gpu"));
    words.collect()
}

/// The candidate most like `name`, if one is like it at all.
pub(crate) fn nearest<'c>(name: &str, candidates: impl Iterator<Item = &'c str>) -> Option<&'c str> {
    let wanted = normal(name);
    let scored = candidates.map(|candidate| (edit_distance(&wanted, &normal(candidate)), candidate));
    let (distance, candidate) = scored.min_by_key(|&(distance, _)| distance)?;
    (distance <= 1.max(wanted.len() / 2)).then_some(candidate)
}

fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &to) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
