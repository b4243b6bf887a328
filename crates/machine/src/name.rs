//! Names of machines as users write them.

use crate::machine::ComputeCapability;
use crate::plausible::HIGHEST_CLOCK;

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
    #[error("`{clock}` is no clock in MHz of a GPU; write for example h200@1500")]
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
        } else if let Some(cc) = name.strip_prefix("sm_").and_then(target) {
            Selector::Target(cc)
        } else {
            Selector::Name(name.to_owned())
        };
        Ok(Self { selector, clock })
    }
}

/// The compute capability of `90`, and of `90a` and `100f`, whose additions to the instruction set change no GPU.
fn target(digits: &str) -> Option<ComputeCapability> {
    ComputeCapability::parse(digits.strip_suffix(['a', 'f']).unwrap_or(digits))
}

fn parse_clock(text: &str) -> Result<f64, NameError> {
    let digits = text.trim();
    let number = digits.strip_suffix("MHz").or(digits.strip_suffix("mhz")).unwrap_or(digits).trim();
    match number.parse::<f64>() {
        Ok(mhz) if mhz > 0.0 && mhz * 1e6 <= HIGHEST_CLOCK => Ok(mhz * 1e6),
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

/// The machine most like `name`, if one is like it at all.
pub(crate) fn nearest<'c>(name: &str, candidates: impl Iterator<Item = &'c str>) -> Option<&'c str> {
    warplens_base::nearest_by(name, candidates, normal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_with_a_suffix_select_their_gpus() {
        let selector = |text: &str| MachineRef::parse(text).map(|reference| reference.selector);
        let hopper = Ok(Selector::Target(ComputeCapability::new(9, 0)));
        assert_eq!((selector("sm_90"), selector("sm_90a")), (hopper.clone(), hopper));
        assert_eq!(selector("sm_100f"), Ok(Selector::Target(ComputeCapability::new(10, 0))));
        assert_eq!(selector("sm_x"), Ok(Selector::Name("sm_x".into())));
    }

    #[test]
    fn clocks_are_those_of_a_gpu() {
        assert_eq!(MachineRef::parse("h200@1500").map(|reference| reference.clock), Ok(Some(1.5e9)));
        for wrong in ["h200@", "h200@1e9", "h200@0", "h200@-3", "h200@inf", "h200@fast"] {
            assert!(matches!(MachineRef::parse(wrong), Err(NameError::Clock { .. })), "{wrong}");
        }
    }
}
