//! What `atom` and `red` write back: the new value of a memory cell from the old one and the operand.
//!
//! Cells and operands are bit patterns in the low bits of a `u64`; the type says how wide they are.

use warplens_isa::{AtomicOp, Rounding, ScalarType};

use super::half::{self, Bf16, F16, Half, HalfMods};
use super::integer::{self, Int};
use super::{FloatMods, MinMaxMods, float32, float64, mbarrier};

/// Who makes the sum of floats in an atomic: the L2 cache, or instructions in a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Adder {
    /// What is in global memory is changed there: subnormals of f32 are flushed.
    Cache,
    /// The same, asked by a copy of many bytes, which keeps them.
    CacheForCopies,
    /// What is in shared memory is changed as by the instructions of a thread.
    Thread,
}

/// The new value of a cell, or `None` if the operation does not exist for the type. `operands` holds the operand, or what
/// a compare-and-swap expects and its new value. f16 and bf16 never flush (`.noftz`).
#[inline]
pub fn apply(op: AtomicOp, ty: ScalarType, old: u64, operands: [u64; 2], adder: Adder) -> Option<u64> {
    use ScalarType as T;
    let [operand, new] = operands;
    if op == AtomicOp::Cas {
        // Cells are compared bit by bit, whatever the type.
        let is_defined = ty.is_integer() && ty.bits() >= 16;
        return is_defined.then_some(if old == operand { new } else { old });
    }
    if let AtomicOp::Mbarrier(op) = op {
        return (ty == T::B64).then(|| mbarrier::update(op, old, operand));
    }
    Some(match ty {
        T::B16 | T::B32 | T::B64 => bitwise(op, old, operand)?,
        T::U32 => int(op, old as u32, operand as u32)?.to_bits(),
        T::S32 => int(op, old as i32, operand as i32)?.to_bits(),
        T::U64 => int(op, old, operand)?,
        T::S64 => int(op, old as i64, operand as i64)?.to_bits(),
        T::F32 => u64::from(float(op, old as u32, operand as u32, adder)?),
        T::F64 => double(op, old, operand, adder)?,
        T::F16 => u64::from(small::<F16>(op, old as u16, operand as u16)?),
        T::Bf16 => u64::from(small::<Bf16>(op, old as u16, operand as u16)?),
        T::F16x2 => pair::<F16>(op, old, operand)?,
        T::Bf16x2 => pair::<Bf16>(op, old, operand)?,
        _ => return None,
    })
}

/// True when the operation exists for the type.
pub fn is_defined(op: AtomicOp, ty: ScalarType) -> bool {
    apply(op, ty, 0, [0; 2], Adder::Thread).is_some()
}

fn bitwise(op: AtomicOp, old: u64, operand: u64) -> Option<u64> {
    Some(match op {
        AtomicOp::And => old & operand,
        AtomicOp::Or => old | operand,
        AtomicOp::Xor => old ^ operand,
        AtomicOp::Exch => operand,
        _ => return None,
    })
}

fn int<T: Int>(op: AtomicOp, old: T, operand: T) -> Option<T> {
    let one = T::from_bits(1);
    Some(match op {
        AtomicOp::Add => integer::add(old, operand),
        AtomicOp::Min => integer::min(old, operand),
        AtomicOp::Max => integer::max(old, operand),
        AtomicOp::Inc => {
            if old >= operand {
                T::default()
            } else {
                integer::add(old, one)
            }
        }
        AtomicOp::Dec => {
            if old == T::default() || old > operand {
                operand
            } else {
                integer::sub(old, one)
            }
        }
        AtomicOp::And | AtomicOp::Or | AtomicOp::Xor | AtomicOp::Exch => {
            T::from_bits(bitwise(op, old.to_bits(), operand.to_bits())?)
        }
        AtomicOp::Cas | AtomicOp::Mbarrier(_) => return None,
    })
}

fn float(op: AtomicOp, old: u32, operand: u32, adder: Adder) -> Option<u32> {
    let ftz = adder == Adder::Cache;
    let (a, b) = (f32::from_bits(old), f32::from_bits(operand));
    let result = match op {
        AtomicOp::Add => float32::add(a, b, if ftz { FloatMods::RN_FTZ } else { FloatMods::RN }),
        AtomicOp::Min => float32::min(a, b, MinMaxMods::default()),
        AtomicOp::Max => float32::max(a, b, MinMaxMods::default()),
        AtomicOp::Exch => b,
        _ => return None,
    };
    Some(result.to_bits())
}

fn double(op: AtomicOp, old: u64, operand: u64, adder: Adder) -> Option<u64> {
    let (a, b) = (f64::from_bits(old), f64::from_bits(operand));
    let result = match op {
        // The cache looks at the operand first, and leaves NaN as it is.
        AtomicOp::Add if adder == Adder::Thread => float64::add(a, b, Rounding::Nearest),
        AtomicOp::Add if b.is_nan() => return Some(operand),
        AtomicOp::Add if a.is_nan() => return Some(old),
        AtomicOp::Add => float64::add(a, b, Rounding::Nearest),
        AtomicOp::Min => float64::min(a, b),
        AtomicOp::Max => float64::max(a, b),
        AtomicOp::Exch => b,
        _ => return None,
    };
    Some(result.to_bits())
}

fn small<H: Half>(op: AtomicOp, old: u16, operand: u16) -> Option<u16> {
    Some(match op {
        AtomicOp::Add => half::add::<H>(old, operand, HalfMods::RN),
        AtomicOp::Min => half::min::<H>(old, operand, MinMaxMods::default()),
        AtomicOp::Max => half::max::<H>(old, operand, MinMaxMods::default()),
        AtomicOp::Exch => operand,
        _ => return None,
    })
}

fn pair<H: Half>(op: AtomicOp, old: u64, operand: u64) -> Option<u64> {
    let low = small::<H>(op, old as u16, operand as u16)?;
    let high = small::<H>(op, (old >> 16) as u16, (operand >> 16) as u16)?;
    Some(u64::from(high) << 16 | u64::from(low))
}

#[cfg(test)]
mod tests {
    use super::{Adder, AtomicOp, ScalarType, apply};

    fn check(ty: ScalarType, cases: &[(AtomicOp, u64, u64, Option<u64>)]) {
        for &(op, old, operand, expected) in cases {
            assert_eq!(
                apply(op, ty, old, [operand, 0], Adder::Thread),
                expected,
                "{ty:?} {op:?} {old:#x} {operand:#x}"
            );
        }
    }

    #[test]
    fn integers_wrap_and_order_by_type() {
        check(
            ScalarType::U32,
            &[
                (AtomicOp::Add, 0xffff_ffff, 2, Some(1)),
                (AtomicOp::Min, 1, 0xffff_ffff, Some(1)),
                (AtomicOp::Max, 1, 0xffff_ffff, Some(0xffff_ffff)),
                (AtomicOp::Inc, 4, 5, Some(5)),
                (AtomicOp::Inc, 5, 5, Some(0)),
                (AtomicOp::Inc, 6, 5, Some(0)),
                (AtomicOp::Dec, 0, 5, Some(5)),
                (AtomicOp::Dec, 6, 5, Some(5)),
                (AtomicOp::Dec, 5, 5, Some(4)),
            ],
        );
        check(
            ScalarType::S32,
            &[
                (AtomicOp::Min, 1, 0xffff_ffff, Some(0xffff_ffff)),
                (AtomicOp::Max, 1, 0xffff_ffff, Some(1)),
                (AtomicOp::Add, 0x7fff_ffff, 1, Some(0x8000_0000)),
            ],
        );
        check(ScalarType::S64, &[(AtomicOp::Min, 1, u64::MAX, Some(u64::MAX)), (AtomicOp::Add, u64::MAX, 1, Some(0))]);
        check(ScalarType::U64, &[(AtomicOp::Min, 1, u64::MAX, Some(1)), (AtomicOp::Exch, 1, 7, Some(7))]);
    }

    #[test]
    fn bit_operations() {
        check(
            ScalarType::B32,
            &[
                (AtomicOp::And, 0b1100, 0b1010, Some(0b1000)),
                (AtomicOp::Or, 0b1100, 0b1010, Some(0b1110)),
                (AtomicOp::Xor, 0b1100, 0b1010, Some(0b0110)),
                (AtomicOp::Exch, 1, 2, Some(2)),
                (AtomicOp::Add, 1, 2, None),
            ],
        );
        let swap = |ty, old| apply(AtomicOp::Cas, ty, old, [3, 9], Adder::Thread);
        assert_eq!((swap(ScalarType::B32, 3), swap(ScalarType::B16, 4)), (Some(9), Some(4)));
        assert_eq!((swap(ScalarType::F32, 3), swap(ScalarType::B8, 3)), (None, None));
    }

    #[test]
    fn floats_add_and_flush_where_told() {
        let one = u64::from(1.0f32.to_bits());
        check(
            ScalarType::F32,
            &[(AtomicOp::Add, one, one, Some(u64::from(2.0f32.to_bits()))), (AtomicOp::Inc, one, one, None)],
        );
        assert_eq!(apply(AtomicOp::Add, ScalarType::F32, 1, [1, 0], Adder::CacheForCopies), Some(2));
        assert_eq!(apply(AtomicOp::Add, ScalarType::F32, 1, [1, 0], Adder::Cache), Some(0));
        check(ScalarType::F64, &[(AtomicOp::Add, 0x3ff0 << 48, 0x3ff0 << 48, Some(0x4000 << 48))]);
        // Of an H200: of two NaN in f64 the cache takes the operand, a thread what was there, which becomes quiet.
        let (old, operand) = (0xfff0_0000_0000_2a55, 0x7ff0_0000_0000_2a56);
        let nan = |adder| apply(AtomicOp::Add, ScalarType::F64, old, [operand, 0], adder);
        assert_eq!([Adder::Cache, Adder::CacheForCopies].map(nan), [Some(operand); 2]);
        assert_eq!(nan(Adder::Thread), Some(0xfff8_0000_0000_2a55));
        check(
            ScalarType::F16x2,
            &[
                (AtomicOp::Add, 0x3c00_3c00, 0x4000_3c00, Some(0x4200_4000)),
                (AtomicOp::Min, 0x3c00_bc00, 0x4000_3c00, Some(0x3c00_bc00)),
                // Each half saturates to infinity by itself.
                (AtomicOp::Add, 0x7bff_0001, 0x7bff_0001, Some(0x7c00_0002)),
            ],
        );
        check(
            ScalarType::Bf16,
            &[(AtomicOp::Add, 0x3f80, 0x3f80, Some(0x4000)), (AtomicOp::Max, 0x3f80, 0xbf80, Some(0x3f80))],
        );
        check(ScalarType::Bf16x2, &[(AtomicOp::Add, 0x3f80_0000, 0x3f80_3f80, Some(0x4000_3f80))]);
    }
}
