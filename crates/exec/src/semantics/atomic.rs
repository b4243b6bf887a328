//! What `atom` and `red` write back: the new value of a memory cell from the old one and the operand.
//!
//! Cells and operands are bit patterns in the low bits of a `u64`; the type says how wide they are.

use super::half::{self, Bf16, F16, Half, HalfMods};
use super::integer::{self, Int};
use super::{FloatMods, MinMaxMods, Rounding, float32, float64};

/// A read-modify-write operation with one operand; see [`compare_and_swap`] for the one with two.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum AtomOp {
    And,
    Or,
    Xor,
    /// Exchange.
    Exch,
    Add,
    /// Counts up to the operand, then wraps to zero.
    Inc,
    /// Counts down to zero, then wraps to the operand; also from above the operand.
    Dec,
    Min,
    Max,
}

/// The type of a memory cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum AtomType {
    B16,
    B32,
    B64,
    U32,
    S32,
    U64,
    S64,
    F32,
    F64,
    F16,
    Bf16,
    F16x2,
    Bf16x2,
}

/// The new value of a cell, or `None` if the operation does not exist for the type. `ftz` flushes subnormals in f32
/// additions, as in global memory; shared memory keeps them. f16 and bf16 never flush (`.noftz`).
#[inline]
pub fn apply(op: AtomOp, ty: AtomType, old: u64, operand: u64, ftz: bool) -> Option<u64> {
    Some(match ty {
        AtomType::B16 | AtomType::B32 | AtomType::B64 => bitwise(op, old, operand)?,
        AtomType::U32 => int(op, old as u32, operand as u32)?.to_bits(),
        AtomType::S32 => int(op, old as i32, operand as i32)?.to_bits(),
        AtomType::U64 => int(op, old, operand)?,
        AtomType::S64 => int(op, old as i64, operand as i64)?.to_bits(),
        AtomType::F32 => u64::from(float(op, old as u32, operand as u32, ftz)?),
        AtomType::F64 => double(op, old, operand)?,
        AtomType::F16 => u64::from(small::<F16>(op, old as u16, operand as u16)?),
        AtomType::Bf16 => u64::from(small::<Bf16>(op, old as u16, operand as u16)?),
        AtomType::F16x2 => pair::<F16>(op, old, operand)?,
        AtomType::Bf16x2 => pair::<Bf16>(op, old, operand)?,
    })
}

/// `cas`: the new value if the cell holds the expected one, else the old value.
#[inline(always)]
pub fn compare_and_swap<T: PartialEq>(old: T, expected: T, new: T) -> T {
    if old == expected { new } else { old }
}

fn bitwise(op: AtomOp, old: u64, operand: u64) -> Option<u64> {
    Some(match op {
        AtomOp::And => old & operand,
        AtomOp::Or => old | operand,
        AtomOp::Xor => old ^ operand,
        AtomOp::Exch => operand,
        _ => return None,
    })
}

fn int<T: Int>(op: AtomOp, old: T, operand: T) -> Option<T> {
    let one = T::from_bits(1);
    Some(match op {
        AtomOp::Add => integer::add(old, operand),
        AtomOp::Min => integer::min(old, operand),
        AtomOp::Max => integer::max(old, operand),
        AtomOp::Inc => {
            if old >= operand {
                T::default()
            } else {
                integer::add(old, one)
            }
        }
        AtomOp::Dec => {
            if old == T::default() || old > operand {
                operand
            } else {
                integer::sub(old, one)
            }
        }
        AtomOp::And | AtomOp::Or | AtomOp::Xor | AtomOp::Exch => {
            T::from_bits(bitwise(op, old.to_bits(), operand.to_bits())?)
        }
    })
}

fn float(op: AtomOp, old: u32, operand: u32, ftz: bool) -> Option<u32> {
    let (a, b) = (f32::from_bits(old), f32::from_bits(operand));
    let result = match op {
        AtomOp::Add => float32::add(a, b, if ftz { FloatMods::RN_FTZ } else { FloatMods::RN }),
        AtomOp::Min => float32::min(a, b, MinMaxMods::default()),
        AtomOp::Max => float32::max(a, b, MinMaxMods::default()),
        AtomOp::Exch => b,
        _ => return None,
    };
    Some(result.to_bits())
}

fn double(op: AtomOp, old: u64, operand: u64) -> Option<u64> {
    let (a, b) = (f64::from_bits(old), f64::from_bits(operand));
    let result = match op {
        AtomOp::Add => float64::add(a, b, Rounding::NearestEven),
        AtomOp::Min => float64::min(a, b),
        AtomOp::Max => float64::max(a, b),
        AtomOp::Exch => b,
        _ => return None,
    };
    Some(result.to_bits())
}

fn small<H: Half>(op: AtomOp, old: u16, operand: u16) -> Option<u16> {
    Some(match op {
        AtomOp::Add => half::add::<H>(old, operand, HalfMods::RN),
        AtomOp::Min => half::min::<H>(old, operand, MinMaxMods::default()),
        AtomOp::Max => half::max::<H>(old, operand, MinMaxMods::default()),
        AtomOp::Exch => operand,
        _ => return None,
    })
}

fn pair<H: Half>(op: AtomOp, old: u64, operand: u64) -> Option<u64> {
    let low = small::<H>(op, old as u16, operand as u16)?;
    let high = small::<H>(op, (old >> 16) as u16, (operand >> 16) as u16)?;
    Some(u64::from(high) << 16 | u64::from(low))
}

#[cfg(test)]
mod tests {
    use super::{AtomOp, AtomType, apply, compare_and_swap};

    fn check(ty: AtomType, cases: &[(AtomOp, u64, u64, Option<u64>)]) {
        for &(op, old, operand, expected) in cases {
            assert_eq!(apply(op, ty, old, operand, false), expected, "{ty:?} {op:?} {old:#x} {operand:#x}");
        }
    }

    #[test]
    fn integers_wrap_and_order_by_type() {
        check(
            AtomType::U32,
            &[
                (AtomOp::Add, 0xffff_ffff, 2, Some(1)),
                (AtomOp::Min, 1, 0xffff_ffff, Some(1)),
                (AtomOp::Max, 1, 0xffff_ffff, Some(0xffff_ffff)),
                (AtomOp::Inc, 4, 5, Some(5)),
                (AtomOp::Inc, 5, 5, Some(0)),
                (AtomOp::Inc, 6, 5, Some(0)),
                (AtomOp::Dec, 0, 5, Some(5)),
                (AtomOp::Dec, 6, 5, Some(5)),
                (AtomOp::Dec, 5, 5, Some(4)),
            ],
        );
        check(
            AtomType::S32,
            &[
                (AtomOp::Min, 1, 0xffff_ffff, Some(0xffff_ffff)),
                (AtomOp::Max, 1, 0xffff_ffff, Some(1)),
                (AtomOp::Add, 0x7fff_ffff, 1, Some(0x8000_0000)),
            ],
        );
        check(AtomType::S64, &[(AtomOp::Min, 1, u64::MAX, Some(u64::MAX)), (AtomOp::Add, u64::MAX, 1, Some(0))]);
        check(AtomType::U64, &[(AtomOp::Min, 1, u64::MAX, Some(1)), (AtomOp::Exch, 1, 7, Some(7))]);
    }

    #[test]
    fn bit_operations() {
        check(
            AtomType::B32,
            &[
                (AtomOp::And, 0b1100, 0b1010, Some(0b1000)),
                (AtomOp::Or, 0b1100, 0b1010, Some(0b1110)),
                (AtomOp::Xor, 0b1100, 0b1010, Some(0b0110)),
                (AtomOp::Exch, 1, 2, Some(2)),
                (AtomOp::Add, 1, 2, None),
            ],
        );
        assert_eq!(compare_and_swap(3, 3, 9), 9);
        assert_eq!(compare_and_swap(4, 3, 9), 4);
    }

    #[test]
    fn floats_add_and_flush_where_told() {
        let one = u64::from(1.0f32.to_bits());
        check(
            AtomType::F32,
            &[(AtomOp::Add, one, one, Some(u64::from(2.0f32.to_bits()))), (AtomOp::Inc, one, one, None)],
        );
        assert_eq!(apply(AtomOp::Add, AtomType::F32, 1, 1, false), Some(2));
        assert_eq!(apply(AtomOp::Add, AtomType::F32, 1, 1, true), Some(0));
        check(AtomType::F64, &[(AtomOp::Add, 0x3ff0 << 48, 0x3ff0 << 48, Some(0x4000 << 48))]);
        check(
            AtomType::F16x2,
            &[
                (AtomOp::Add, 0x3c00_3c00, 0x4000_3c00, Some(0x4200_4000)),
                (AtomOp::Min, 0x3c00_bc00, 0x4000_3c00, Some(0x3c00_bc00)),
                // Each half saturates to infinity by itself.
                (AtomOp::Add, 0x7bff_0001, 0x7bff_0001, Some(0x7c00_0002)),
            ],
        );
        check(
            AtomType::Bf16,
            &[(AtomOp::Add, 0x3f80, 0x3f80, Some(0x4000)), (AtomOp::Max, 0x3f80, 0xbf80, Some(0x3f80))],
        );
        check(AtomType::Bf16x2, &[(AtomOp::Add, 0x3f80_0000, 0x3f80_3f80, Some(0x4000_3f80))]);
    }
}
