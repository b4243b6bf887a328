//! The machines that ship with the product.

use crate::load::{LoadError, load};
use crate::machine::Machine;
use crate::name::{MachineRef, Selector, nearest, normal};

/// Names that stand for one of several boards.
const ALIASES: &[(&str, &str)] = &[("v100", "v100-pcie"), ("a100", "a100-80"), ("h100", "h100-sxm")];

macro_rules! files {
    ($($id:literal)*) => {
        &[$(($id, include_str!(concat!("../../../machines/", $id, ".toml")))),*]
    };
}

/// SM designs, from which the boards inherit.
const DESIGNS: &[(&str, &str)] = files! {
    "sm_10" "sm_11" "sm_12" "sm_13" "sm_20" "sm_21" "sm_30" "sm_32" "sm_35" "sm_37" "sm_50" "sm_52" "sm_53" "sm_60" "sm_61"
    "sm_62" "sm_70" "sm_72" "sm_75" "sm_80" "sm_86" "sm_87" "sm_89" "sm_90" "sm_100" "sm_101" "sm_103" "sm_107" "sm_110"
    "sm_120" "sm_121"
};

/// Boards, oldest first.
const BOARDS: &[(&str, &str)] = files! {
    "8800gtx" "fx5600" "8800gt" "gtx260" "gtx280" "c1060" "gtx480" "gtx570" "k40" "gtx750ti" "gtx1080" "p100" "v100-pcie"
    "v100-sxm2" "t4" "rtx2060" "rtx2080ti" "a100-40" "a100-80" "a4000" "a6000" "a40" "rtx3090" "l40" "l40s" "rtx4090"
    "h100-pcie" "h100-sxm" "h200" "b200" "rtx5090"
};

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

/// Names of the SM designs that boards and users' files can inherit from.
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
