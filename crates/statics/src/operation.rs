//! What the integer operations compute, lane by lane, with the emulator's own functions.
//!
//! Floating-point arithmetic is not followed: its results are unknown.

use warplens_exec::semantics::integer::{self, Int};
use warplens_exec::semantics::{compare, convert};
use warplens_ir::Inst;
use warplens_isa::{CompareOp, Modifiers, Op, ScalarType, ShiftMode};

/// The result of one lane from the bits of its sources.
pub(crate) type LaneFunction = fn([u64; 4], &Modifiers) -> u64;

/// How an instruction computes its first destination.
#[derive(Clone, Copy)]
pub(crate) struct Operation {
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
pub(crate) fn of(inst: &Inst) -> Option<Operation> {
    let ty = inst.ty;
    let modifiers = &inst.modifiers;
    if modifiers.carry.reads || modifiers.carry.writes {
        return None;
    }
    let same = |function: LaneFunction, count: usize| {
        let sources = std::array::from_fn(|at| (at < count).then_some(ty));
        Some(Operation { function, sources, result: ty })
    };
    match inst.op {
        Op::Mov if ty.bits() <= 64 && ty != ScalarType::Pred => same(|s, _| s[0], 1),
        Op::Add if modifiers.sat => {
            same(for_integer!(ty, T => |s, _| integer::add_sat::<T>(v(s[0]), v(s[1])).to_bits()), 2)
        }
        Op::Add => same(for_integer!(ty, T => |s, _| integer::add::<T>(v(s[0]), v(s[1])).to_bits()), 2),
        Op::Sub if modifiers.sat => {
            same(for_integer!(ty, T => |s, _| integer::sub_sat::<T>(v(s[0]), v(s[1])).to_bits()), 2)
        }
        Op::Sub => same(for_integer!(ty, T => |s, _| integer::sub::<T>(v(s[0]), v(s[1])).to_bits()), 2),
        Op::Mul => same(for_integer!(ty, T => |s, _| integer::mul_lo::<T>(v(s[0]), v(s[1])).to_bits()), 2),
        Op::MulHi => same(for_integer!(ty, T => |s, _| integer::mul_hi::<T>(v(s[0]), v(s[1])).to_bits()), 2),
        Op::Mad => same(for_integer!(ty, T => |s, _| integer::mad_lo::<T>(v(s[0]), v(s[1]), v(s[2])).to_bits()), 3),
        Op::MulWide => {
            let wide = twice(ty)?;
            let function: LaneFunction =
                for_integer!(ty, T => |s, _| integer::mul_wide::<T>(v(s[0]), v(s[1])).to_bits());
            Some(Operation { function, sources: [Some(ty), Some(ty), None, None], result: wide })
        }
        Op::MadWide => {
            let wide = twice(ty)?;
            let function: LaneFunction =
                for_integer!(ty, T => |s, _| integer::mad_wide::<T>(v(s[0]), v(s[1]), v(s[2])).to_bits());
            Some(Operation { function, sources: [Some(ty), Some(ty), Some(wide), None], result: wide })
        }
        Op::Mul24 => same(for_integer!(ty, T => |s, _| integer::mul24_lo::<T>(v(s[0]), v(s[1])).to_bits()), 2),
        Op::Mad24 => same(for_integer!(ty, T => |s, _| integer::mad24_lo::<T>(v(s[0]), v(s[1]), v(s[2])).to_bits()), 3),
        Op::Sad => same(for_integer!(ty, T => |s, _| integer::sad::<T>(v(s[0]), v(s[1]), v(s[2])).to_bits()), 3),
        Op::Div => same(for_integer!(ty, T => |s, _| integer::div::<T>(v(s[0]), v(s[1])).to_bits()), 2),
        Op::Rem => same(for_integer!(ty, T => |s, _| integer::rem::<T>(v(s[0]), v(s[1])).to_bits()), 2),
        Op::Abs => same(for_integer!(ty, T => |s, _| integer::abs::<T>(v(s[0])).to_bits()), 1),
        Op::Neg => same(for_integer!(ty, T => |s, _| integer::neg::<T>(v(s[0])).to_bits()), 1),
        Op::Min if inst.sources.len() == 2 && !modifiers.relu => {
            same(for_integer!(ty, T => |s, _| integer::min::<T>(v(s[0]), v(s[1])).to_bits()), 2)
        }
        Op::Max if inst.sources.len() == 2 && !modifiers.relu => {
            same(for_integer!(ty, T => |s, _| integer::max::<T>(v(s[0]), v(s[1])).to_bits()), 2)
        }
        Op::And if ty.is_integer() => same(|s, _| s[0] & s[1], 2),
        Op::Or if ty.is_integer() => same(|s, _| s[0] | s[1], 2),
        Op::Xor if ty.is_integer() => same(|s, _| s[0] ^ s[1], 2),
        Op::Not => same(for_integer!(ty, T => |s, _| Int::not(v::<T>(s[0])).to_bits()), 1),
        Op::Cnot => same(for_integer!(ty, T => |s, _| integer::cnot::<T>(v(s[0])).to_bits()), 1),
        Op::Lop3 if modifiers.bool_op.is_none() => {
            same(|s, _| u64::from(integer::lop3(s[0] as u32, s[1] as u32, s[2] as u32, s[3] as u8)), 4)
        }
        Op::Shl | Op::Shr => shift(inst),
        Op::Shf => funnel_shift(inst),
        Op::Popc => counted(ty, for_integer!(ty, T => |s, _| u64::from(integer::popc::<T>(v(s[0]))))),
        Op::Clz => counted(ty, for_integer!(ty, T => |s, _| u64::from(integer::clz::<T>(v(s[0]))))),
        Op::Bfind if modifiers.alternate => {
            counted(ty, for_integer!(ty, T => |s, _| u64::from(integer::bfind_shiftamt::<T>(v(s[0])))))
        }
        Op::Bfind => counted(ty, for_integer!(ty, T => |s, _| u64::from(integer::bfind::<T>(v(s[0]))))),
        Op::Brev => same(for_integer!(ty, T => |s, _| integer::brev::<T>(v(s[0])).to_bits()), 1),
        Op::Bfe => {
            let function: LaneFunction = for_integer!(ty, T => |s, _| {
                integer::bfe::<T>(v(s[0]), s[1] as u32, s[2] as u32).to_bits()
            });
            Some(Operation {
                function,
                sources: [Some(ty), Some(ScalarType::U32), Some(ScalarType::U32), None],
                result: ty,
            })
        }
        Op::Bfi => {
            let function: LaneFunction = for_integer!(ty, T => |s, _| {
                integer::bfi::<T>(v(s[0]), v(s[1]), s[2] as u32, s[3] as u32).to_bits()
            });
            let sources = [Some(ty), Some(ty), Some(ScalarType::U32), Some(ScalarType::U32)];
            Some(Operation { function, sources, result: ty })
        }
        Op::Prmt => same(|s, m| u64::from(integer::prmt(s[0] as u32, s[1] as u32, s[2] as u32, m.prmt)), 3),
        Op::Cvt => conversion(inst),
        _ => None,
    }
}

/// A 32-bit count of one value.
fn counted(ty: ScalarType, function: LaneFunction) -> Option<Operation> {
    Some(Operation { function, sources: [Some(ty), None, None, None], result: ScalarType::U32 })
}

fn shift(inst: &Inst) -> Option<Operation> {
    let ty = inst.ty;
    let function: LaneFunction = match inst.op {
        Op::Shl => for_integer!(ty, T => |s, _| integer::shl::<T>(v(s[0]), s[1] as u32).to_bits()),
        _ => for_integer!(ty, T => |s, _| integer::shr::<T>(v(s[0]), s[1] as u32).to_bits()),
    };
    Some(Operation { function, sources: [Some(ty), Some(ScalarType::U32), None, None], result: ty })
}

fn funnel_shift(inst: &Inst) -> Option<Operation> {
    let function: LaneFunction = match (inst.modifiers.alternate, inst.modifiers.shift) {
        (false, ShiftMode::Clamp) => |s, _| u64::from(integer::shf_l_clamp(s[0] as u32, s[1] as u32, s[2] as u32)),
        (false, ShiftMode::Wrap) => |s, _| u64::from(integer::shf_l_wrap(s[0] as u32, s[1] as u32, s[2] as u32)),
        (true, ShiftMode::Clamp) => |s, _| u64::from(integer::shf_r_clamp(s[0] as u32, s[1] as u32, s[2] as u32)),
        (true, ShiftMode::Wrap) => |s, _| u64::from(integer::shf_r_wrap(s[0] as u32, s[1] as u32, s[2] as u32)),
    };
    let word = Some(ScalarType::U32);
    Some(Operation { function, sources: [word, word, word, None], result: ScalarType::B32 })
}

fn conversion(inst: &Inst) -> Option<Operation> {
    let (from, to) = (inst.source_ty, inst.ty);
    if !to.is_integer() || inst.sources.len() != 1 {
        return None;
    }
    let function: LaneFunction = if inst.modifiers.sat {
        for_integer!(from, S => for_integer!(to, D => |s, _| convert::int_to_int::<S, D>(v(s[0]), true).to_bits()))
    } else {
        for_integer!(from, S => for_integer!(to, D => |s, _| convert::int_to_int::<S, D>(v(s[0]), false).to_bits()))
    };
    Some(Operation { function, sources: [Some(from), None, None, None], result: to })
}

/// The comparison of two integers of `inst`'s source type.
pub(crate) fn comparison(inst: &Inst) -> Option<fn(CompareOp, u64, u64) -> bool> {
    Some(for_integer!(unsigned_if(inst), T => |op, a, b| compare::integer::<T>(op, v(a), v(b))))
}

/// Type in which the sources of a comparison are compared: without sign for `lo`, `ls`, `hi` and `hs`.
pub(crate) fn unsigned_if(inst: &Inst) -> ScalarType {
    use CompareOp as C;
    match (inst.modifiers.compare, inst.source_ty) {
        (Some(C::Lo | C::Ls | C::Hi | C::Hs), ScalarType::S16) => ScalarType::U16,
        (Some(C::Lo | C::Ls | C::Hi | C::Hs), ScalarType::S32) => ScalarType::U32,
        (Some(C::Lo | C::Ls | C::Hi | C::Hs), ScalarType::S64) => ScalarType::U64,
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
    use warplens_isa::Pc;

    use super::*;

    fn apply(op: Op, ty: ScalarType, source_ty: ScalarType, sources: [u64; 4]) -> Option<u64> {
        let mut inst = Inst::new(Pc(0), op, ty);
        inst.source_ty = source_ty;
        inst.sources = vec![warplens_ir::Operand::Immediate(0); if op == Op::Cvt { 1 } else { 2 }];
        of(&inst).map(|operation| (operation.function)(sources, &inst.modifiers))
    }

    #[test]
    fn results_are_extended_with_zeros_and_signs_count() {
        use ScalarType as T;
        assert_eq!(apply(Op::Add, T::S32, T::S32, [u64::from(u32::MAX), 0, 0, 0]), Some(u64::from(u32::MAX)));
        assert_eq!(apply(Op::MulWide, T::S32, T::S32, [u64::from(u32::MAX), 4, 0, 0]), Some(-4i64 as u64));
        assert_eq!(apply(Op::MulWide, T::U32, T::U32, [u64::from(u32::MAX), 4, 0, 0]), Some(0x3_ffff_fffc));
        assert_eq!(apply(Op::Cvt, T::S64, T::S32, [0x8000_0000, 0, 0, 0]), Some(0xffff_ffff_8000_0000));
        assert_eq!(apply(Op::Cvt, T::U16, T::U32, [0x1_2345, 0, 0, 0]), Some(0x2345));
        assert_eq!(apply(Op::Fma, T::F32, T::F32, [0; 4]), None);
        assert_eq!(apply(Op::Add, T::F32, T::F32, [0; 4]), None);
    }

    #[test]
    fn numbers_of_types() {
        assert_eq!(number(ScalarType::S32, 0xffff_ffff), -1);
        assert_eq!(number(ScalarType::U32, 0xffff_ffff), 0xffff_ffff);
        assert_eq!(limits(ScalarType::S16), (-32768, 32767));
        assert_eq!(limits(ScalarType::U64), (0, u64::MAX.into()));
    }
}
