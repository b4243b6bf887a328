//! The machines that ship with the product.

use crate::load::{LoadError, load};
use crate::machine::Machine;
use crate::name::{MachineRef, Selector, nearest, normal};

/// Names that stand for one of several boards.
const ALIASES: &[(&str, &str)] = &[("v100", "v100-pcie"), ("a100", "a100-80"), ("h100", "h100-sxm")];

// The lists of the folder `machines/`, which `build.rs` makes.
include!(concat!(env!("OUT_DIR"), "/machines.rs"));

/// A name that selects no machine.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unknown GPU `{name}`{}", .suggestion.as_ref().map_or(String::new(), |near| format!("; did you mean `{near}`?")))]
pub struct UnknownMachine {
    /// The name as written.
    pub name: String,
    /// The most similar identifier.
    pub suggestion: Option<String>,
}

/// Identifiers of all boards, oldest first.
pub fn ids() -> impl Iterator<Item = &'static str> {
    BOARDS.iter().map(|&(id, _)| id)
}

/// Names of the SM designs, by compute capability, that boards and users' files can inherit from.
pub fn designs() -> impl Iterator<Item = &'static str> {
    DESIGNS.iter().map(|&(id, _)| id)
}

/// The text of a built-in file, by the exact name of a board or an SM design.
pub fn text(name: &str) -> Option<&'static str> {
    BOARDS.iter().chain(DESIGNS).find(|&&(id, _)| id == name).map(|&(_, text)| text)
}

/// Loads a board or an SM design by its exact name. None where there is none of that name.
pub fn machine(name: &str) -> Option<Result<Machine, LoadError>> {
    Some(load(name, text(name)?, &|other| text(other).map(str::to_owned)))
}

/// Loads every board, oldest first.
pub fn all() -> Result<Vec<Machine>, LoadError> {
    ids().filter_map(machine).collect()
}

/// The identifier that `name` stands for: itself, an alias, or a marketing name, in any case and with any separators.
pub fn find(name: &str) -> Result<&'static str, UnknownMachine> {
    let wanted = normal(name);
    let direct = ids().find(|id| normal(id) == wanted);
    let alias = || ALIASES.iter().find(|(alias, _)| *alias == wanted).map(|&(_, id)| id);
    let marketing = || {
        ids().find(|id| match machine(id) {
            Some(Ok(machine)) => {
                normal(&machine.name) == wanted || machine.aliases.iter().any(|alias| normal(alias) == wanted)
            }
            _ => false,
        })
    };
    direct.or_else(alias).or_else(marketing).ok_or_else(|| {
        let candidates = ids().chain(ALIASES.iter().map(|&(alias, _)| alias));
        UnknownMachine { name: name.to_owned(), suggestion: nearest(name, candidates).map(str::to_owned) }
    })
}

/// The board that a driver or profiler calls `name`.
pub fn of_device(name: &str) -> Option<Machine> {
    let reference = MachineRef::parse(name).ok()?;
    // A device's name is no list, file, target or clock.
    if !matches!(reference.selector, Selector::Name(_)) || reference.clock.is_some() || name.contains(',') {
        return None;
    }
    machine(find(name).ok()?)?.ok()
}

/// The identifiers that a reference selects among the boards, at least one. A file selects none here: its text is not
/// this crate's to read.
pub fn select(reference: &MachineRef) -> Result<Vec<&'static str>, UnknownMachine> {
    let unknown = |name: &str| UnknownMachine { name: name.to_owned(), suggestion: None };
    match &reference.selector {
        Selector::All => Ok(ids().collect()),
        Selector::Name(name) => find(name).map(|id| vec![id]),
        Selector::File(path) => Err(unknown(path)),
        Selector::Target(cc) => {
            let of_target = |id: &&str| matches!(machine(id), Some(Ok(machine)) if machine.cc == *cc);
            let ids: Vec<&str> = ids().filter(of_target).collect();
            let near = || nearest(&cc.target(), designs()).map(str::to_owned);
            if ids.is_empty() {
                return Err(UnknownMachine { name: cc.target(), suggestion: near() });
            }
            Ok(ids)
        }
    }
}
