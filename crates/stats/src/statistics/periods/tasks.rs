//! What kinds of instructions the blocks of a kernel hold, in runs between its memory instructions.

use std::cmp::Ordering;
use std::fmt;

use rustc_hash::FxHashMap;
use warplens_ir::{Block, Inst, Module, Operand};
use warplens_isa::{Family, OpClass, ScalarType, StateSpace};

/// What a table of instruction costs distinguishes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CostKind {
    /// What the instruction does.
    pub family: Family,
    /// State space of the memory that it names, if it names one.
    pub space: Option<StateSpace>,
    /// Numbers that it works on.
    pub number: NumberKind,
    /// Bits of one number; 0 without any.
    pub bits: u32,
    /// Whether one of its operands is written as a number.
    pub constant: bool,
}

/// What an instruction works on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum NumberKind {
    /// Integers and bits.
    Int,
    /// Floating-point numbers.
    Float,
    /// Predicates, or nothing.
    None,
}

impl CostKind {
    /// What documents list kinds by: the names first.
    fn order(&self) -> impl Ord {
        (self.family.name(), self.space.map(StateSpace::name), self.number, self.bits, self.constant)
    }
}

impl Ord for CostKind {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order().cmp(&other.order())
    }
}

impl PartialOrd for CostKind {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// `add.int32.constant`, `mul.float64.register`, `ld.shared.int32`, `bra`.
impl fmt::Display for CostKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())?;
        match self.number {
            NumberKind::Int => write!(f, ".int{}", self.bits)?,
            NumberKind::Float => write!(f, ".float{}", self.bits)?,
            NumberKind::None => return Ok(()),
        }
        match (self.space.is_some(), self.constant) {
            (true, _) => Ok(()),
            (false, true) => f.write_str(".constant"),
            (false, false) => f.write_str(".register"),
        }
    }
}

impl CostKind {
    /// The family, of loads and stores with the space, such as `ld.shared`.
    pub fn name(&self) -> String {
        match self.space {
            None => self.family.name().to_owned(),
            Some(space) => format!("{}.{space}", self.family),
        }
    }

    /// The kind whatever it works on.
    #[must_use]
    pub fn without_numbers(&self) -> Self {
        Self { number: NumberKind::None, bits: 0, constant: false, ..*self }
    }

    /// Reads what is displayed; a family that no table has is [`Family::Unknown`].
    pub fn parse(text: &str) -> Self {
        let numbers = |text: &str| -> Option<(NumberKind, u32)> {
            let (kind, bits) = match text.strip_prefix("int") {
                Some(bits) => (NumberKind::Int, bits),
                None => (NumberKind::Float, text.strip_prefix("float")?),
            };
            Some((kind, bits.parse().ok()?))
        };
        let (front, operand) = match text.rsplit_once('.') {
            Some((front, operand @ ("constant" | "register"))) => (front, Some(operand)),
            _ => (text, None),
        };
        if let Some((name, (number, bits))) =
            front.rsplit_once('.').and_then(|(name, last)| Some((name, numbers(last)?)))
        {
            return Self { number, bits, constant: operand == Some("constant"), ..Self::named(name) };
        }
        Self::named(text)
    }

    /// The kind without numbers whose [`name`](Self::name) is given.
    fn named(name: &str) -> Self {
        let space_named = |name: &str| StateSpace::ALL.iter().copied().find(|space| space.name() == name);
        let with_space = || {
            let (family, space) = name.rsplit_once('.')?;
            Some((Family::from_name(family)?, Some(space_named(space)?)))
        };
        let plain = || Some((Family::from_name(name)?, None));
        let (family, space) = plain().or_else(with_space).unwrap_or((Family::Unknown, None));
        Self { family, space, number: NumberKind::None, bits: 0, constant: false }
    }
}

/// A part of a block, in program order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Item {
    /// A run of computation instructions.
    Compute(u32),
    /// An instruction that accesses global or local memory. Where it does not, its guard being false in every lane or
    /// its address in another space, it is the run of the number.
    Access { slot: u32, otherwise: u32 },
}

/// The instructions of one kind in a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct KindCount {
    pub(super) kind: u32,
    pub(super) is_virtual: bool,
    pub(super) count: u64,
}

/// The runs of all blocks.
#[derive(Debug, Default)]
pub(crate) struct BlockTasks {
    pub(super) kinds: Vec<CostKind>,
    ids: FxHashMap<CostKind, u32>,
    /// By number of a run.
    pub(super) runs: Vec<Vec<KindCount>>,
    /// By slot of a memory instruction: its kind.
    pub(super) kind_of_slot: Vec<u32>,
    /// By block position.
    blocks: Vec<Vec<Item>>,
}

impl BlockTasks {
    pub(crate) fn new(n_blocks: usize) -> Self {
        Self { blocks: vec![Vec::new(); n_blocks], ..Self::default() }
    }

    pub(super) fn items(&self, position: usize) -> &[Item] {
        &self.blocks[position]
    }

    /// Adds a block. `slot` is the slot of an instruction that touches memory; `counts` says whether an instruction
    /// counts as executed with this block.
    pub(crate) fn add(
        &mut self,
        module: &Module,
        (position, block): (usize, &Block),
        slot: impl Fn(&Inst) -> Option<u32>,
        counts: impl Fn(&Inst) -> bool,
    ) {
        let mut items = Vec::new();
        let mut run: Vec<KindCount> = Vec::new();
        for insts in block.insts.chunk_by(|left, right| left.pc == right.pc) {
            let Some(first) = insts.first() else { continue };
            let is_virtual = module.pcs[first.pc].class == OpClass::Virtual;
            let kind = self.kind(&kind(module, insts));
            let access = insts.iter().filter(|inst| is_off_chip(inst)).find_map(&slot);
            if let Some(slot) = access {
                self.end_run(&mut run, &mut items);
                let count = u64::from(counts(first));
                let otherwise = self.push_run(vec![KindCount { kind, is_virtual, count }]);
                if self.kind_of_slot.len() <= slot as usize {
                    self.kind_of_slot.resize(slot as usize + 1, 0);
                }
                self.kind_of_slot[slot as usize] = kind;
                items.push(Item::Access { slot, otherwise });
            } else if counts(first) {
                match run.iter_mut().find(|known| known.kind == kind && known.is_virtual == is_virtual) {
                    Some(known) => known.count += 1,
                    None => run.push(KindCount { kind, is_virtual, count: 1 }),
                }
            }
        }
        self.end_run(&mut run, &mut items);
        self.blocks[position] = items;
    }

    fn end_run(&mut self, run: &mut Vec<KindCount>, items: &mut Vec<Item>) {
        if !run.is_empty() {
            items.push(Item::Compute(self.push_run(std::mem::take(run))));
        }
    }

    fn push_run(&mut self, run: Vec<KindCount>) -> u32 {
        self.runs.push(run);
        self.runs.len() as u32 - 1
    }

    fn kind(&mut self, kind: &CostKind) -> u32 {
        if let Some(&id) = self.ids.get(kind) {
            return id;
        }
        let id = self.kinds.len() as u32;
        self.kinds.push(*kind);
        self.ids.insert(*kind, id);
        id
    }
}

/// True for accesses that may leave the SM.
fn is_off_chip(inst: &Inst) -> bool {
    inst.memory
        .iter()
        .any(|memory| matches!(memory.space, StateSpace::Global | StateSpace::Local | StateSpace::Generic))
}

/// The kind of the source instruction that `insts` belong to.
fn kind(module: &Module, insts: &[Inst]) -> CostKind {
    let first = &insts[0];
    let space = insts.iter().flat_map(|inst| inst.memory.iter()).map(|memory| memory.space).next();
    let space = space.filter(|&space| space != StateSpace::Generic);
    let types = || insts.iter().flat_map(|inst| [inst.ty, inst.source_ty]);
    let numbers = |is: fn(ScalarType) -> bool| types().filter(move |&ty| is(ty)).map(ScalarType::bits).max();
    let has_operands = insts.iter().any(|inst| !inst.sources.is_empty() || !inst.memory.is_empty());
    let (number, bits) = match (numbers(ScalarType::is_float), numbers(ScalarType::is_integer)) {
        (Some(bits), _) => (NumberKind::Float, bits),
        (None, Some(bits)) if has_operands => (NumberKind::Int, bits),
        _ => (NumberKind::None, 0),
    };
    let constant = first.sources.iter().any(|source| matches!(source, Operand::Immediate(_)));
    // Only tables of arithmetic tell operands apart.
    let constant = constant && number != NumberKind::None && space.is_none();
    CostKind { family: module.key(first.pc).family, space, number, bits, constant }
}
