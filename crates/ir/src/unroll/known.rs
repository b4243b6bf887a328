//! Numbers that integer registers hold.

use std::collections::HashMap;

use warplens_isa::{CompareOp, Comparison, Op, Operation, ScalarType};

use crate::{Bank, Function, Inst, Module, Operand, Register};

/// True for registers with a word in common.
pub(super) fn overlaps(one: Register, other: Register) -> bool {
    let (a, b) = (one.words(), other.words());
    one.bank == other.bank && a.start < b.end && b.start < a.end
}

/// Registers that one instruction alone writes, with a number.
pub(super) fn constants(module: &Module, function: &Function) -> HashMap<Register, u64> {
    let mut writes: HashMap<(Bank, u32), u32> = HashMap::new();
    let insts = || function.block_ids().flat_map(|block| &module.blocks[block].insts);
    for register in insts().flat_map(Inst::writes).chain(function.arguments.iter().copied()) {
        register.words().for_each(|word| *writes.entry((register.bank, word)).or_default() += 1);
    }
    let mut constants = HashMap::new();
    for inst in insts() {
        let known = Known::new(&constants);
        if let ([Some(to)], Some(value)) = (&inst.destinations[..], known.evaluate(inst))
            && to.words().all(|word| writes[&(to.bank, word)] == 1)
        {
            constants.insert(*to, value);
        }
    }
    constants
}

/// Numbers in registers.
pub(super) struct Known<'a> {
    /// Those that hold everywhere.
    constants: &'a HashMap<Register, u64>,
    pub(super) values: HashMap<Register, u64>,
}

impl<'a> Known<'a> {
    pub(super) fn new(constants: &'a HashMap<Register, u64>) -> Self {
        Self { constants, values: HashMap::new() }
    }

    /// The number that an operand is.
    pub(super) fn operand(&self, operand: &Operand) -> Option<u64> {
        match operand {
            Operand::Immediate(value) => Some(*value),
            Operand::Register(register) => self.values.get(register).or_else(|| self.constants.get(register)).copied(),
            _ => None,
        }
    }

    /// What a plain operation on integers makes of numbers.
    pub(super) fn evaluate(&self, inst: &Inst) -> Option<u64> {
        if !is_plain(inst) {
            return None;
        }
        let source = |index: usize| Some(extend(self.operand(inst.sources.get(index)?)?, inst.source_ty));
        let pair = || Some((source(0)?, source(1)?));
        let value = match inst.operation {
            Operation::Mov if inst.sources.len() == 1 => source(0)?,
            Operation::Cvt(_) => source(0)?,
            Operation::Add(_) => pair()?.0.wrapping_add(pair()?.1),
            Operation::Sub(_) => pair()?.0.wrapping_sub(pair()?.1),
            Operation::Mul(_) | Operation::MulWide => pair()?.0.wrapping_mul(pair()?.1),
            Operation::And => pair()?.0 & pair()?.1,
            Operation::Or => pair()?.0 | pair()?.1,
            Operation::Xor => pair()?.0 ^ pair()?.1,
            Operation::Shl => {
                let by = self.operand(inst.sources.get(1)?)? & 0xffff_ffff;
                if by < u64::from(inst.ty.bits()) { source(0)? << by } else { 0 }
            }
            Operation::Setp(Comparison { op, combination, .. }) if combination.op.is_none() => {
                return Some(u64::from(compare(op, inst.source_ty, pair()?)?));
            }
            _ => return None,
        };
        let bits = if inst.op() == Op::MulWide { 2 * inst.ty.bits() } else { inst.ty.bits() };
        Some(within(bits, value))
    }
}

/// True for an operation on integers that does nothing on the side.
pub(super) fn is_plain(inst: &Inst) -> bool {
    inst.guard.is_none()
        && inst.ty.is_integer()
        && inst.source_ty.is_integer()
        && inst.destinations.len() == 1
        && !inst.operation.carry().is_used()
        && !inst.operation.saturates()
        && !inst.changes_signs()
}

/// The lowest bits of a number.
pub(super) const fn within(bits: u32, number: u64) -> u64 {
    if bits < 64 { number & ((1 << bits) - 1) } else { number }
}

/// A value of a type in 64 bits.
fn extend(value: u64, ty: ScalarType) -> u64 {
    let unused = 64 - ty.bits().clamp(1, 64);
    if ty.is_signed() { (value.cast_signed() << unused >> unused).cast_unsigned() } else { value << unused >> unused }
}

fn compare(op: CompareOp, ty: ScalarType, (a, b): (u64, u64)) -> Option<bool> {
    let order = if ty.is_signed() { a.cast_signed().cmp(&b.cast_signed()) } else { a.cmp(&b) };
    Some(match op {
        CompareOp::Eq => order.is_eq(),
        CompareOp::Ne => order.is_ne(),
        CompareOp::Lt | CompareOp::Lo => order.is_lt(),
        CompareOp::Le | CompareOp::Ls => order.is_le(),
        CompareOp::Gt | CompareOp::Hi => order.is_gt(),
        CompareOp::Ge | CompareOp::Hs => order.is_ge(),
        _ => return None,
    })
}
