//! Operands whose sign is changed on the way.

use warplens_ir::Sign;
use warplens_isa::ScalarType;

use crate::raw::{LaneFunction, Level, map1};

/// Sign bits of one value, or of both halves of a pair.
const SIGN_16: u16 = 0x8000;
const SIGN_32: u32 = 0x8000_0000;
const SIGNS_16: u32 = 0x8000_8000;
const SIGN_64: u64 = 1 << 63;
const SIGNS_32: u64 = 0x8000_0000_8000_0000;

/// The handler that changes the sign of a value of type `ty`, if it has one to change. The sign of a float is a bit;
/// NaN and subnormals keep theirs otherwise.
pub(crate) fn sign_change(level: Level, sign: Sign, ty: ScalarType) -> Option<LaneFunction> {
    macro_rules! float {
        ($bits:ty, $signs:expr) => {
            match sign {
                Sign::Negated => map1(level, |a: $bits| a ^ $signs),
                Sign::Absolute => map1(level, |a: $bits| a & !$signs),
                Sign::NegatedAbsolute => map1(level, |a: $bits| a | $signs),
            }
        };
    }
    Some(match ty {
        ScalarType::F16 | ScalarType::Bf16 => float!(u16, SIGN_16),
        ScalarType::F32 => float!(u32, SIGN_32),
        ScalarType::F16x2 | ScalarType::Bf16x2 => float!(u32, SIGNS_16),
        ScalarType::F64 => float!(u64, SIGN_64),
        ScalarType::F32x2 => float!(u64, SIGNS_32),
        ty if ty.is_integer() && sign == Sign::Negated => match ty.bits() {
            16 => map1(level, |a: u16| a.wrapping_neg()),
            32 => map1(level, |a: u32| a.wrapping_neg()),
            64 => map1(level, |a: u64| a.wrapping_neg()),
            _ => return None,
        },
        _ => return None,
    })
}
