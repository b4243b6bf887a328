//! What the integer operations compute, lane by lane, with the emulator's own functions.
//!
//! Floating-point arithmetic is not followed: its results are unknown.

use warplens_exec::semantics::integer::{self, Int};
use warplens_exec::semantics::{compare, convert};
use warplens_ir::Inst;
use warplens_isa::{
    BfindAnswer, Combination, CompareOp, FunnelShift, Operation, PrmtMode, ScalarType, ShiftDirection, ShiftMode,
};

/// The result of one lane from the bits of its sources.
pub(crate) type LaneFunction = fn([u64; 4]) -> u64;

/// How an instruction computes its first destination.
#[derive(Clone, Copy)]
pub(crate) struct Computation {
    pub(crate) function: LaneFunction,
    /// Types in which the sources are read.
    pub(crate) sources: [Option<ScalarType>; 4],
    /// Type of the result.
    pub(crate) result: ScalarType,
}

/// Evaluates `$body` with `$T` as the Rust type of an integer type; `None` for others.
macro_rules! for_integer {
    ($ty:expr, $T:ident => $body:expr) => {
        match $ty {
            ScalarType::B8 | ScalarType::U8 => {
                type $T = u8;
                $body
            }
            ScalarType::S8 => {
                type $T = i8;
                $body
            }
            ScalarType::B16 | ScalarType::U16 => {
                type $T = u16;
                $body
            }
            ScalarType::S16 => {
                type $T = i16;
                $body
            }
            ScalarType::B32 | ScalarType::U32 => {
                type $T = u32;
                $body
            }
            ScalarType::S32 => {
                type $T = i32;
                $body
            }
            ScalarType::B64 | ScalarType::U64 => {
                type $T = u64;
                $body
            }
            ScalarType::S64 => {
                type $T = i64;
                $body
            }
            _ => return None,
        }
    };
}

/// A value from its bits.
fn v<T: Int>(bits: u64) -> T {
    T::from_bits(bits)
}

/// The unsigned type that is twice as wide.
fn twice(ty: ScalarType) -> Option<ScalarType> {
    Some(match (ty.bits(), ty.is_signed()) {
        (16, true) => ScalarType::S32,
        (16, false) => ScalarType::U32,
        (32, true) => ScalarType::S64,
        (32, false) => ScalarType::U64,
        _ => return None,
    })
}

/// The operation of `inst`, if it computes an integer from integers in a way that is followed. Comparisons, predicates
/// and what lanes exchange are not among them.
pub(crate) fn of(inst: &Inst) -> Option<Computation> {
    let ty = inst.ty;
    if inst.operation.carry().is_used() {
        return None;
    }
    let same = |function: LaneFunction, count: usize| {
        let sources = std::array::from_fn(|at| (at < count).then_some(ty));
        Some(Computation { function, sources, result: ty })
    };
    match inst.operation {
        Operation::Mov if ty.bits() <= 64 && ty != ScalarType::Pred => same(|s| s[0], 1),
        Operation::Add(sum) if sum.sat => {
            same(for_integer!(ty, T => |s| integer::add_sat::<T>(v(s[0]), v(s[1])).to_bits()), 2)
        }
        Operation::Add(_) => same(for_integer!(ty, T => |s| integer::add::<T>(v(s[0]), v(s[1])).to_bits()), 2),
        Operation::Sub(sum) if sum.sat => {
            same(for_integer!(ty, T => |s| integer::sub_sat::<T>(v(s[0]), v(s[1])).to_bits()), 2)
        }
        Operation::Sub(_) => same(for_integer!(ty, T => |s| integer::sub::<T>(v(s[0]), v(s[1])).to_bits()), 2),
        Operation::Mul(_) => same(for_integer!(ty, T => |s| integer::mul_lo::<T>(v(s[0]), v(s[1])).to_bits()), 2),
        Operation::MulHi => same(for_integer!(ty, T => |s| integer::mul_hi::<T>(v(s[0]), v(s[1])).to_bits()), 2),
        Operation::Mad(_) => {
            same(for_integer!(ty, T => |s| integer::mad_lo::<T>(v(s[0]), v(s[1]), v(s[2])).to_bits()), 3)
        }
        Operation::MulWide => {
            let wide = twice(ty)?;
            let function: LaneFunction = for_integer!(ty, T => |s| integer::mul_wide::<T>(v(s[0]), v(s[1])).to_bits());
            Some(Computation { function, sources: [Some(ty), Some(ty), None, None], result: wide })
        }
        Operation::MadWide => {
            let wide = twice(ty)?;
            let function: LaneFunction =
                for_integer!(ty, T => |s| integer::mad_wide::<T>(v(s[0]), v(s[1]), v(s[2])).to_bits());
            Some(Computation { function, sources: [Some(ty), Some(ty), Some(wide), None], result: wide })
        }
        Operation::Mul24 => same(for_integer!(ty, T => |s| integer::mul24_lo::<T>(v(s[0]), v(s[1])).to_bits()), 2),
        Operation::Mad24 => {
            same(for_integer!(ty, T => |s| integer::mad24_lo::<T>(v(s[0]), v(s[1]), v(s[2])).to_bits()), 3)
        }
        Operation::Sad => same(for_integer!(ty, T => |s| integer::sad::<T>(v(s[0]), v(s[1]), v(s[2])).to_bits()), 3),
        Operation::Div(_) => same(for_integer!(ty, T => |s| integer::div::<T>(v(s[0]), v(s[1])).to_bits()), 2),
        Operation::Rem => same(for_integer!(ty, T => |s| integer::rem::<T>(v(s[0]), v(s[1])).to_bits()), 2),
        Operation::Abs(_) => same(for_integer!(ty, T => |s| integer::abs::<T>(v(s[0])).to_bits()), 1),
        Operation::Neg(_) => same(for_integer!(ty, T => |s| integer::neg::<T>(v(s[0])).to_bits()), 1),
        Operation::Min(extremum) if inst.sources.len() == 2 && !extremum.relu => {
            same(for_integer!(ty, T => |s| integer::min::<T>(v(s[0]), v(s[1])).to_bits()), 2)
        }
        Operation::Max(extremum) if inst.sources.len() == 2 && !extremum.relu => {
            same(for_integer!(ty, T => |s| integer::max::<T>(v(s[0]), v(s[1])).to_bits()), 2)
        }
        Operation::And if ty.is_integer() => same(|s| s[0] & s[1], 2),
        Operation::Or if ty.is_integer() => same(|s| s[0] | s[1], 2),
        Operation::Xor if ty.is_integer() => same(|s| s[0] ^ s[1], 2),
        Operation::Not => same(for_integer!(ty, T => |s| Int::not(v::<T>(s[0])).to_bits()), 1),
        Operation::Cnot => same(for_integer!(ty, T => |s| integer::cnot::<T>(v(s[0])).to_bits()), 1),
        Operation::Lop3(Combination { op: None }) => {
            same(|s| u64::from(integer::lop3(s[0] as u32, s[1] as u32, s[2] as u32, s[3] as u8)), 4)
        }
        Operation::Shl | Operation::Shr => shift(inst),
        Operation::Shf(shift) => funnel_shift(shift),
        Operation::Popc => counted(ty, for_integer!(ty, T => |s| u64::from(integer::popc::<T>(v(s[0]))))),
        Operation::Clz => counted(ty, for_integer!(ty, T => |s| u64::from(integer::clz::<T>(v(s[0]))))),
        Operation::Bfind(BfindAnswer::ShiftAmount) => {
            counted(ty, for_integer!(ty, T => |s| u64::from(integer::bfind_shiftamt::<T>(v(s[0])))))
        }
        Operation::Bfind(BfindAnswer::Position) => {
            counted(ty, for_integer!(ty, T => |s| u64::from(integer::bfind::<T>(v(s[0])))))
        }
        Operation::Brev => same(for_integer!(ty, T => |s| integer::brev::<T>(v(s[0])).to_bits()), 1),
        Operation::Bfe => {
            let function: LaneFunction = for_integer!(ty, T => |s| {
                integer::bfe::<T>(v(s[0]), s[1] as u32, s[2] as u32).to_bits()
            });
            Some(Computation {
                function,
                sources: [Some(ty), Some(ScalarType::U32), Some(ScalarType::U32), None],
                result: ty,
            })
        }
        Operation::Bfi => {
            let function: LaneFunction = for_integer!(ty, T => |s| {
                integer::bfi::<T>(v(s[0]), v(s[1]), s[2] as u32, s[3] as u32).to_bits()
            });
            let sources = [Some(ty), Some(ty), Some(ScalarType::U32), Some(ScalarType::U32)];
            Some(Computation { function, sources, result: ty })
        }
        Operation::Prmt(mode) => same(permutation(mode), 3),
        Operation::Cvt(conversion) => converted(inst, conversion.sat),
        _ => None,
    }
}

/// A permutation of bytes.
fn permutation(mode: PrmtMode) -> LaneFunction {
    macro_rules! of {
        ($($mode:ident)*) => {
            match mode {
                $(PrmtMode::$mode => {
                    |s| u64::from(integer::prmt(s[0] as u32, s[1] as u32, s[2] as u32, PrmtMode::$mode))
                })*
            }
        };
    }
    of!(Default F4e B4e Rc8 Ecl Ecr Rc16)
}

/// A 32-bit count of one value.
fn counted(ty: ScalarType, function: LaneFunction) -> Option<Computation> {
    Some(Computation { function, sources: [Some(ty), None, None, None], result: ScalarType::U32 })
}

fn shift(inst: &Inst) -> Option<Computation> {
    let ty = inst.ty;
    let function: LaneFunction = match inst.operation {
        Operation::Shl => for_integer!(ty, T => |s| integer::shl::<T>(v(s[0]), s[1] as u32).to_bits()),
        _ => for_integer!(ty, T => |s| integer::shr::<T>(v(s[0]), s[1] as u32).to_bits()),
    };
    Some(Computation { function, sources: [Some(ty), Some(ScalarType::U32), None, None], result: ty })
}

fn funnel_shift(shift: FunnelShift) -> Option<Computation> {
    let function: LaneFunction = match (shift.direction, shift.mode) {
        (ShiftDirection::Left, ShiftMode::Clamp) => {
            |s| u64::from(integer::shf_l_clamp(s[0] as u32, s[1] as u32, s[2] as u32))
        }
        (ShiftDirection::Left, ShiftMode::Wrap) => {
            |s| u64::from(integer::shf_l_wrap(s[0] as u32, s[1] as u32, s[2] as u32))
        }
        (ShiftDirection::Right, ShiftMode::Clamp) => {
            |s| u64::from(integer::shf_r_clamp(s[0] as u32, s[1] as u32, s[2] as u32))
        }
        (ShiftDirection::Right, ShiftMode::Wrap) => {
            |s| u64::from(integer::shf_r_wrap(s[0] as u32, s[1] as u32, s[2] as u32))
        }
    };
    let word = Some(ScalarType::U32);
    Some(Computation { function, sources: [word, word, word, None], result: ScalarType::B32 })
}

fn converted(inst: &Inst, sat: bool) -> Option<Computation> {
    let (from, to) = (inst.source_ty, inst.ty);
    if !to.is_integer() || inst.sources.len() != 1 {
        return None;
    }
    let function: LaneFunction = if sat {
        for_integer!(from, S => for_integer!(to, D => |s| convert::int_to_int::<S, D>(v(s[0]), true).to_bits()))
    } else {
        for_integer!(from, S => for_integer!(to, D => |s| convert::int_to_int::<S, D>(v(s[0]), false).to_bits()))
    };
    Some(Computation { function, sources: [Some(from), None, None, None], result: to })
}

/// The comparison of two integers of type `ty`.
pub(crate) fn comparison(ty: ScalarType, op: CompareOp) -> Option<fn(CompareOp, u64, u64) -> bool> {
    Some(for_integer!(unsigned_if(ty, op), T => |op, a, b| compare::integer::<T>(op, v(a), v(b))))
}

/// Type in which the sources of a comparison are compared: without sign for `lo`, `ls`, `hi` and `hs`.
pub(crate) fn unsigned_if(ty: ScalarType, op: CompareOp) -> ScalarType {
    use CompareOp as C;
    match (op, ty) {
        (C::Lo | C::Ls | C::Hi | C::Hs, ScalarType::S16) => ScalarType::U16,
        (C::Lo | C::Ls | C::Hi | C::Hs, ScalarType::S32) => ScalarType::U32,
        (C::Lo | C::Ls | C::Hi | C::Hs, ScalarType::S64) => ScalarType::U64,
        (_, ty) => ty,
    }
}

/// The number that bits stand for in an integer type.
pub(crate) fn number(ty: ScalarType, bits: u64) -> i128 {
    let unused = 64 - ty.bits().min(64);
    if ty.is_signed() { i128::from((bits << unused) as i64 >> unused) } else { i128::from(bits << unused >> unused) }
}

/// Smallest and largest number of an integer type.
pub(crate) fn limits(ty: ScalarType) -> (i128, i128) {
    let bits = ty.bits().min(64);
    if ty.is_signed() { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}

#[cfg(test)]
mod tests {
    use warplens_isa::{Conversion, FusedMultiplyAdd, Pc, Sum};

    use super::*;

    fn apply(operation: Operation, ty: ScalarType, source_ty: ScalarType, sources: [u64; 4]) -> Option<u64> {
        let mut inst = Inst::new(Pc(0), operation, ty);
        inst.source_ty = source_ty;
        inst.sources =
            vec![warplens_ir::Operand::Immediate(0); if matches!(operation, Operation::Cvt(_)) { 1 } else { 2 }];
        of(&inst).map(|operation| (operation.function)(sources))
    }

    #[test]
    fn results_are_extended_with_zeros_and_signs_count() {
        use ScalarType as T;
        assert_eq!(
            apply(Operation::Add(Sum::default()), T::S32, T::S32, [u64::from(u32::MAX), 0, 0, 0]),
            Some(u64::from(u32::MAX))
        );
        assert_eq!(apply(Operation::MulWide, T::S32, T::S32, [u64::from(u32::MAX), 4, 0, 0]), Some(-4i64 as u64));
        assert_eq!(apply(Operation::MulWide, T::U32, T::U32, [u64::from(u32::MAX), 4, 0, 0]), Some(0x3_ffff_fffc));
        assert_eq!(
            apply(Operation::Cvt(Conversion::default()), T::S64, T::S32, [0x8000_0000, 0, 0, 0]),
            Some(0xffff_ffff_8000_0000)
        );
        assert_eq!(apply(Operation::Cvt(Conversion::default()), T::U16, T::U32, [0x1_2345, 0, 0, 0]), Some(0x2345));
        assert_eq!(apply(Operation::Fma(FusedMultiplyAdd::default()), T::F32, T::F32, [0; 4]), None);
        assert_eq!(apply(Operation::Add(Sum::default()), T::F32, T::F32, [0; 4]), None);
    }

    #[test]
    fn numbers_of_types() {
        assert_eq!(number(ScalarType::S32, 0xffff_ffff), -1);
        assert_eq!(number(ScalarType::U32, 0xffff_ffff), 0xffff_ffff);
        assert_eq!(limits(ScalarType::S16), (-32768, 32767));
        assert_eq!(limits(ScalarType::U64), (0, u64::MAX.into()));
    }
}
