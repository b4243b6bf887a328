//! When results are there: which instructions take a fixed time, and how long.
//!
//! `crates/sass/tables/latencies.txt` has the fewest cycles that ptxas leaves between an instruction and one that reads its
//! result, by the units of both, over the kernels of the project for each chip; the example `latencies` of this crate
//! makes it of cubins. Distances that occur too rarely to trust are left out of it: such a pair is held to the shortest
//! that the same producer takes on any chip.

use std::collections::BTreeMap;

use warplens_ir::{Bank, Module};
use warplens_isa::Pc;

use super::Distance;

const TABLE: &str = include_str!("../../tables/latencies.txt");

/// When the result of an instruction is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Latency {
    /// So many cycles after it issues, as the table says.
    Fixed,
    /// At a time that nobody knows: a barrier tells of it.
    Variable(Queue),
    /// Nothing is known of it.
    Unknown,
}

impl Latency {
    /// Where an instruction waits for its turn.
    pub(super) const fn queue(self) -> Option<Queue> {
        match self {
            Self::Variable(queue) => Some(queue),
            Self::Fixed | Self::Unknown => None,
        }
    }
}

/// Instructions of variable latency; those of a queue end in the order in which they issue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Queue {
    /// Special functions and conversions.
    Special,
    /// Accesses to shared memory, and exchange inside of warps.
    Shared,
    /// Accesses to global and local memory.
    Global,
    /// Loads of constants.
    Constant,
    /// Operations of double precision, on chips whose sub-partitions share a unit for them.
    Double,
    /// Products of matrices.
    Matrix,
    /// Everything else.
    Other,
}

/// The latency of an instruction on a chip.
pub(super) fn of(mnemonic: &str, sm: u32) -> Latency {
    let base = mnemonic.split('.').next().unwrap_or_default();
    let fixed_if = |is_fixed: bool, queue: Queue| if is_fixed { Latency::Fixed } else { Latency::Variable(queue) };
    match base {
        "MUFU" | "F2F" | "F2I" | "I2F" | "FRND" | "POPC" | "FLO" | "BREV" | "FCHK" => Latency::Variable(Queue::Special),
        "LDS" | "LDSM" | "ATOMS" | "SHFL" | "MOVM" => Latency::Variable(Queue::Shared),
        "LDG" | "LD" | "LDL" | "ATOM" | "ATOMG" | "TEX" | "TLD" | "TLD4" | "TXQ" | "SULD" => {
            Latency::Variable(Queue::Global)
        }
        "LDC" | "LDCU" => Latency::Variable(Queue::Constant),
        "DMMA" => Latency::Variable(Queue::Double),
        "DFMA" | "DADD" | "DMUL" | "DSETP" => fixed_if(matches!(sm, 90 | 100), Queue::Double),
        "HMMA" | "IMMA" | "BMMA" | "QMMA" => fixed_if(sm >= 80, Queue::Matrix),
        "R2UR" => fixed_if(sm >= 90, Queue::Other),
        "S2R" | "S2UR" | "B2R" | "MATCH" | "REDUX" | "QSPC" | "SYNCS" => Latency::Variable(Queue::Other),
        _ if unit_of(base) < Unit::Control => Latency::Fixed,
        _ => Latency::Unknown,
    }
}

/// Instructions whose results come, and whose sources are read, at the same time. Those from `Control` on are users only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Unit {
    /// Integers, comparisons and selections.
    Integer,
    /// Packing and conversions of integers.
    Convert,
    /// Single precision.
    Float,
    /// Products of integers.
    Product,
    /// Half precision.
    Half,
    /// Double precision.
    Double,
    /// Products of matrices.
    Matrix,
    /// Counters and pairs of zeros.
    Counter,
    /// Votes.
    Vote,
    /// Addresses of code.
    Place,
    /// From registers of threads to uniform ones.
    ToUniform,
    /// Uniform constants.
    UniformLoad,
    /// Uniform copies.
    UniformCopy,
    /// The uniform datapath.
    Uniform,
    /// Branches and what goes with them.
    Control,
    /// What waits in a queue before its sources are read.
    Queued,
}

impl Unit {
    /// Every unit with its name in the table.
    pub const ALL: [(&'static str, Self); 16] = [
        ("int", Self::Integer),
        ("convert", Self::Convert),
        ("float", Self::Float),
        ("product", Self::Product),
        ("half", Self::Half),
        ("double", Self::Double),
        ("matrix", Self::Matrix),
        ("counter", Self::Counter),
        ("vote", Self::Vote),
        ("place", Self::Place),
        ("to-uniform", Self::ToUniform),
        ("uniform-load", Self::UniformLoad),
        ("uniform-copy", Self::UniformCopy),
        ("uniform", Self::Uniform),
        ("control", Self::Control),
        ("queued", Self::Queued),
    ];
}

/// The unit of an instruction, by the first word of its mnemonic.
fn unit_of(base: &str) -> Unit {
    match base {
        "LOP3" | "SHF" | "IADD3" | "IADD" | "LEA" | "SEL" | "ISETP" | "FSETP" | "PRMT" | "VIADD" | "VIMNMX"
        | "IABS" | "IMNMX" | "SGXT" | "FMNMX" | "FSEL" | "BMSK" | "VABSDIFF" | "VABSDIFF4" | "VIADDMNMX" | "FMNMX3"
        | "VIMNMX3" | "P2R" | "R2P" | "PLOP3" | "MOV" | "FSET" => Unit::Integer,
        "I2FP" | "F2FP" | "I2I" => Unit::Convert,
        "FFMA" | "FADD" | "FMUL" => Unit::Float,
        "IMAD" | "IDP" | "IMUL" => Unit::Product,
        "HFMA2" | "HADD2" | "HMUL2" | "HSETP2" | "HSET2" | "HMNMX2" => Unit::Half,
        "DFMA" | "DADD" | "DMUL" | "DSETP" => Unit::Double,
        "HMMA" | "IMMA" | "DMMA" | "BMMA" | "QMMA" => Unit::Matrix,
        "CS2R" => Unit::Counter,
        "VOTE" | "VOTEU" | "ELECT" => Unit::Vote,
        "LEPC" => Unit::Place,
        "R2UR" | "CREDUX" => Unit::ToUniform,
        "ULDC" | "LDCU" | "S2UR" | "CS2UR" => Unit::UniformLoad,
        "UMOV" => Unit::UniformCopy,
        "UIADD3" | "UIMAD" | "ULEA" | "ULOP3" | "USHF" | "UISETP" | "USEL" | "UPRMT" | "UPLOP3" | "UFLO" | "UPOPC"
        | "UBREV" | "UBMSK" | "USGXT" | "UP2UR" | "UR2UP" | "UIADD" | "UVIADD" | "UIABS" | "UVIMNMX" | "UF2FP"
        | "UI2FP" | "UFADD" | "UFMUL" | "UFFMA" | "UFSETP" | "UFSEL" | "UFMNMX" | "UFSET" | "UF2F" | "UF2I"
        | "UI2F" | "UFRND" | "UIMNMX" | "ULEPC" => Unit::Uniform,
        "BRA" | "BRX" | "JMP" | "JMX" | "CALL" | "RET" | "EXIT" | "BREAK" | "BSSY" | "BSYNC" | "WARPSYNC"
        | "NANOSLEEP" | "BPT" | "YIELD" | "BMOV" => Unit::Control,
        _ => Unit::Queued,
    }
}

/// What a result is used as: a register, a predicate, or the condition of the user.
fn role(distance: &Distance) -> &'static str {
    match (distance.bank, distance.is_guard) {
        (Bank::Predicate, false) => "P",
        (Bank::Predicate, true) => "@P",
        (Bank::UniformPredicate, false) => "UP",
        (Bank::UniformPredicate, true) => "@UP",
        (Bank::Uniform, _) => "UR",
        (Bank::Vector | Bank::Convergence, _) => "R",
    }
}

/// What decides how long a result takes: its producer's unit, what it is used as, and the user's unit.
pub type Pair = (Unit, &'static str, Unit);

/// The pair of a distance.
pub fn pair(module: &Module, distance: &Distance) -> Pair {
    let unit = |pc: Pc| {
        let text = module.spelling(pc).text.to_string();
        unit_of(text.split('.').next().unwrap_or_default())
    };
    let (producer, role, user) = (unit(distance.producer), role(distance), unit(distance.user));
    // Units of threads get uniform registers and counters in one way.
    let is_shared = (role == "UR" || producer == Unit::Counter) && user < Unit::Vote;
    (producer, role, if is_shared { Unit::Integer } else { user })
}

/// Latencies of a chip.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Latencies {
    /// Of pairs that are known on the chip.
    own: BTreeMap<Pair, u32>,
    /// The shortest on any chip.
    any: BTreeMap<Pair, u32>,
}

impl Latencies {
    /// Those of a chip, by its compute capability times ten; none for a chip that is not in the table.
    pub fn of_chip(sm: u32) -> Self {
        let mut lines = TABLE.lines().filter(|line| !line.starts_with('#')).map(str::split_whitespace);
        let heads = lines.next().into_iter().flatten().skip(3);
        let Some(column) = heads.map(str::parse).position(|head| head == Ok(sm)) else { return Self::default() };
        let mut latencies = Self::default();
        for mut words in lines {
            let names = [words.next(), words.next(), words.next()].map(Option::unwrap_or_default);
            let Some(pair) = read(names) else { continue };
            let cells: Vec<Option<u32>> = words.map(|cell| cell.parse().ok()).collect();
            latencies.own.extend(cells.get(column).copied().flatten().map(|cycles| (pair, cycles)));
            latencies.any.extend(cells.into_iter().flatten().min().map(|cycles| (pair, cycles)));
        }
        latencies
    }

    /// Cycles that a result takes until its user may issue. None where nothing is known of its producer.
    pub fn of(&self, module: &Module, distance: &Distance) -> Option<u32> {
        let pair = pair(module, distance);
        if pair.1 == "P" && pair.2 == Unit::ToUniform {
            // It adds to the predicate when it ends.
            return None;
        }
        if let Some(cycles) = self.own.get(&pair) {
            return Some(*cycles);
        }
        let of_producer = self.any.iter().filter(|(known, _)| (known.0, known.1) == (pair.0, pair.1));
        of_producer.map(|(_, cycles)| cycles).min().copied()
    }
}

fn read([producer, role, user]: [&str; 3]) -> Option<Pair> {
    Some((named(producer)?, known_role(role)?, named(user)?))
}

fn named(name: &str) -> Option<Unit> {
    Unit::ALL.iter().find(|(own, _)| *own == name).map(|&(_, unit)| unit)
}

fn known_role(text: &str) -> Option<&'static str> {
    ["R", "P", "@P", "UR", "UP", "@UP"].into_iter().find(|own| *own == text)
}

#[cfg(test)]
mod tests {
    use super::{Latencies, Unit};
    use crate::encoding::CHIPS;

    #[test]
    fn every_chip_has_latencies() {
        for chip in CHIPS {
            let latencies = Latencies::of_chip(chip);
            assert_eq!(latencies.own[&(Unit::Float, "R", Unit::Float)], 4, "sm_{chip}");
            assert!(latencies.own[&(Unit::Integer, "@P", Unit::Control)] >= 12, "sm_{chip}");
        }
        assert_eq!(Latencies::of_chip(70), Latencies::default());
    }
}
