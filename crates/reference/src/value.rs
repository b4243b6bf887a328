//! What an operation gets and gives in one lane.

use warplens_exec::decoded::{Decoded, Operand};
use warplens_isa::ScalarType;

/// Why an operation has no meaning here.
pub(crate) type NoMeaning = &'static str;

/// The form is one that no front end makes.
pub(crate) const NO_SUCH_FORM: NoMeaning = "this form has no meaning";

/// Results for the destinations, in order: bits, and the type that says how wide they are and whether they extend by
/// their sign.
pub(crate) type Results = Vec<(u128, ScalarType)>;

/// The sources of an operation in one lane.
pub(crate) struct Sources<'s> {
    pub(crate) inst: &'s Decoded,
    /// Reads an operand as the bits of a type.
    pub(crate) read: &'s dyn Fn(&Operand, ScalarType) -> u128,
}

impl Sources<'_> {
    /// Bits of the source `index`, read as a value of type `ty`.
    pub(crate) fn bits(&self, index: usize, ty: ScalarType) -> Result<u128, NoMeaning> {
        let operand = self.inst.sources.get(index).ok_or("an operand is missing")?;
        Ok((self.read)(operand, ty))
    }

    /// A source of at most 64 bits.
    pub(crate) fn word(&self, index: usize, ty: ScalarType) -> Result<u64, NoMeaning> {
        Ok(self.bits(index, ty)? as u64)
    }

    /// A source as the integer that it stands for.
    pub(crate) fn integer(&self, index: usize, ty: ScalarType) -> Result<i128, NoMeaning> {
        Ok(integer(self.bits(index, ty)?, ty))
    }

    /// A predicate.
    pub(crate) fn truth(&self, index: usize) -> Result<bool, NoMeaning> {
        Ok(self.bits(index, ScalarType::Pred)? & 1 == 1)
    }

    /// Number of sources.
    pub(crate) fn len(&self) -> usize {
        self.inst.sources.len()
    }

    /// Type of the operation.
    pub(crate) fn ty(&self) -> ScalarType {
        self.inst.ty
    }
}

/// All ones of so many bits.
pub(crate) const fn ones(bits: u32) -> u128 {
    if bits >= 128 { u128::MAX } else { (1 << bits) - 1 }
}

/// The integer that bits stand for.
pub(crate) fn integer(bits: u128, ty: ScalarType) -> i128 {
    if ty.is_signed() { signed(bits, ty.bits()) } else { bits as i128 }
}

/// The low bits as a number with a sign.
pub(crate) fn signed(bits: u128, width: u32) -> i128 {
    let unused = 128 - width;
    ((bits << unused) as i128) >> unused
}

/// The low bits of an integer.
pub(crate) fn low(value: i128, bits: u32) -> u128 {
    value as u128 & ones(bits)
}

/// Smallest and largest integer of a type.
pub(crate) fn range(ty: ScalarType) -> (i128, i128) {
    let bits = ty.bits();
    if ty.is_signed() { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}

/// The integer of the type that is nearest.
pub(crate) fn clamped(value: i128, ty: ScalarType) -> i128 {
    let (least, most) = range(ty);
    value.clamp(least, most)
}

/// One result.
pub(crate) fn one(bits: u128, ty: ScalarType) -> Result<Results, NoMeaning> {
    Ok(vec![(bits & ones(ty.bits()), ty)])
}

/// One integer.
pub(crate) fn number(value: i128, ty: ScalarType) -> Result<Results, NoMeaning> {
    one(low(value, ty.bits()), ty)
}

/// The element type of packed pairs.
pub(crate) fn element(ty: ScalarType) -> Option<ScalarType> {
    match ty {
        ScalarType::F16x2 => Some(ScalarType::F16),
        ScalarType::Bf16x2 => Some(ScalarType::Bf16),
        ScalarType::U16x2 => Some(ScalarType::U16),
        ScalarType::S16x2 => Some(ScalarType::S16),
        ScalarType::U8x4 => Some(ScalarType::U8),
        ScalarType::S8x4 => Some(ScalarType::S8),
        ScalarType::F32x2 => Some(ScalarType::F32),
        _ => None,
    }
}
