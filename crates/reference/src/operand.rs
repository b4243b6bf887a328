//! Operands, read in one lane.

use warplens_exec::decoded::{Operand, SignedValue};
use warplens_exec::engine::Frame;
use warplens_ir::Sign;
use warplens_isa::ScalarType;

use crate::float::arithmetic;
use crate::registers::Registers;
use crate::value::ones;

/// Where operands are read.
pub(crate) struct At<'r> {
    pub(crate) registers: &'r Registers,
    pub(crate) frame: Frame,
    /// What special registers and parameters hold in a lane.
    pub(crate) fetched: &'r dyn Fn(&Operand, usize) -> u128,
}

/// The bits of an operand, read in a type.
pub(crate) fn read(at: &At<'_>, operand: &Operand, ty: ScalarType, lane: usize) -> u128 {
    let bits = match operand {
        Operand::Register(register) => at.registers.bits(at.frame, *register, lane),
        Operand::NotPredicate(register) => !at.registers.bits(at.frame, *register, lane),
        Operand::Immediate(value) => u128::from(*value),
        Operand::Signed(sign, value) => with_sign(*sign, read(at, &value.operand(), ty, lane), ty),
        Operand::Parameter(_) | Operand::Special(_) => (at.fetched)(operand, lane),
        Operand::Frame(offset) => u64::from(at.frame.local).wrapping_add_signed(*offset).into(),
    };
    bits & ones(ty.bits())
}

/// The operand that has to be fetched before an operation, if there is one in it.
pub(crate) fn to_fetch(operand: &Operand) -> Option<Operand> {
    match operand {
        Operand::Special(_) | Operand::Parameter(_) => Some(*operand),
        Operand::Signed(_, SignedValue::Parameter(offset)) => Some(Operand::Parameter(*offset)),
        Operand::Signed(..)
        | Operand::Register(_)
        | Operand::NotPredicate(_)
        | Operand::Immediate(_)
        | Operand::Frame(_) => None,
    }
}

/// A changed sign: that of a float is a bit of each element, that of an integer a matter of arithmetic.
fn with_sign(sign: Sign, bits: u128, ty: ScalarType) -> u128 {
    let Some((format, n)) = arithmetic(ty) else { return bits.wrapping_neg() };
    let signs = (0..n).fold(0, |signs, at| signs | u128::from(format.sign()) << (format.bits() * at));
    match sign {
        Sign::Negated => bits ^ signs,
        Sign::Absolute => bits & !signs,
        Sign::NegatedAbsolute => bits | signs,
    }
}
