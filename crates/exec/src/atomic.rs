//! Read-modify-write operations by type.

use warplens_isa::{AtomicOp, ScalarType};

use crate::semantics::half::{self, Bf16, F16, Half, HalfMods};
use crate::semantics::integer;
use crate::semantics::{FloatMods, MinMaxMods, Rounding, float32, float64};

/// True when PTX has the operation for the type and the emulator executes it.
pub(crate) fn is_defined(op: AtomicOp, ty: ScalarType) -> bool {
    use ScalarType as T;
    match op {
        AtomicOp::And | AtomicOp::Or | AtomicOp::Xor => ty.is_integer(),
        AtomicOp::Exch | AtomicOp::Cas => !matches!(ty, T::Pred | T::B8 | T::U8 | T::S8),
        AtomicOp::Inc | AtomicOp::Dec => matches!(ty, T::U32),
        AtomicOp::Add => {
            matches!(ty, T::U32 | T::S32 | T::U64 | T::S64 | T::F32 | T::F64 | T::F16 | T::Bf16 | T::F16x2 | T::Bf16x2)
        }
        AtomicOp::Min | AtomicOp::Max => {
            matches!(ty, T::U32 | T::S32 | T::U64 | T::S64 | T::F32 | T::F16 | T::Bf16 | T::F16x2 | T::Bf16x2)
        }
    }
}

/// The new value of a memory cell. `operands` holds the operand, or compare and new value of `Cas`.
pub(crate) fn apply(op: AtomicOp, ty: ScalarType, old: u64, operands: [u64; 2]) -> u64 {
    let [a, b] = operands;
    match op {
        AtomicOp::And => old & a,
        AtomicOp::Or => old | a,
        AtomicOp::Xor => old ^ a,
        AtomicOp::Exch => a,
        AtomicOp::Cas => {
            if old == a {
                b
            } else {
                old
            }
        }
        AtomicOp::Inc => {
            if old as u32 >= a as u32 {
                0
            } else {
                old + 1
            }
        }
        AtomicOp::Dec => {
            if old as u32 == 0 || old as u32 > a as u32 {
                a
            } else {
                old - 1
            }
        }
        AtomicOp::Add => add(ty, old, a),
        AtomicOp::Min => extremum(ty, old, a, false),
        AtomicOp::Max => extremum(ty, old, a, true),
    }
}

fn add(ty: ScalarType, old: u64, a: u64) -> u64 {
    // Float atomics keep subnormals in shared memory and flush them on some generations in global memory; PTX
    // leaves `.f32` atomics in global memory to flush. They are kept here.
    match ty {
        ScalarType::F32 => float32_bits(float32::add(float32_of(old), float32_of(a), FloatMods::RN)),
        ScalarType::F64 => float64::add(f64::from_bits(old), f64::from_bits(a), Rounding::NearestEven).to_bits(),
        ScalarType::F16 => u64::from(half::add::<F16>(old as u16, a as u16, HalfMods::RN)),
        ScalarType::Bf16 => u64::from(half::add::<Bf16>(old as u16, a as u16, HalfMods::RN)),
        ScalarType::F16x2 => packed(old, a, |x, y| half::add::<F16>(x, y, HalfMods::RN)),
        ScalarType::Bf16x2 => packed(old, a, |x, y| half::add::<Bf16>(x, y, HalfMods::RN)),
        ScalarType::U64 | ScalarType::S64 => old.wrapping_add(a),
        _ => u64::from((old as u32).wrapping_add(a as u32)),
    }
}

fn extremum(ty: ScalarType, old: u64, a: u64, largest: bool) -> u64 {
    const MODS: MinMaxMods = MinMaxMods { ftz: false, nan: false, xorsign_abs: false };
    macro_rules! pick {
        ($of:expr, $min:expr, $max:expr) => {{
            let (x, y) = ($of(old), $of(a));
            if largest { $max(x, y) } else { $min(x, y) }
        }};
    }
    match ty {
        ScalarType::S32 => pick!(|bits| bits as u32 as i32, integer::min, integer::max) as u32 as u64,
        ScalarType::U64 => pick!(|bits: u64| bits, integer::min, integer::max),
        ScalarType::S64 => pick!(|bits| bits as i64, integer::min, integer::max) as u64,
        ScalarType::F32 => {
            float32_bits(pick!(float32_of, |x, y| float32::min(x, y, MODS), |x, y| float32::max(x, y, MODS)))
        }
        ScalarType::F16 => u64::from(half_extremum::<F16>(old as u16, a as u16, largest)),
        ScalarType::Bf16 => u64::from(half_extremum::<Bf16>(old as u16, a as u16, largest)),
        ScalarType::F16x2 => packed(old, a, |x, y| half_extremum::<F16>(x, y, largest)),
        ScalarType::Bf16x2 => packed(old, a, |x, y| half_extremum::<Bf16>(x, y, largest)),
        _ => u64::from(pick!(|bits| bits as u32, integer::min, integer::max)),
    }
}

fn half_extremum<H: Half>(x: u16, y: u16, largest: bool) -> u16 {
    const MODS: MinMaxMods = MinMaxMods { ftz: false, nan: false, xorsign_abs: false };
    if largest { half::max::<H>(x, y, MODS) } else { half::min::<H>(x, y, MODS) }
}

fn packed(old: u64, a: u64, f: impl Fn(u16, u16) -> u16) -> u64 {
    u64::from(half::map2(old as u32, a as u32, f))
}

fn float32_of(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn float32_bits(value: f32) -> u64 {
    u64::from(value.to_bits())
}
