//! Operands of machine code: values whose sign is changed on the way, and constants of banks.

use warplens_ir::{ConstantBank, Sign};
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

/// What lies in a constant bank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Content {
    /// A value that the module gives.
    Bytes(u64),
    /// A parameter: the byte offset in the parameter space.
    Parameter(u32),
}

/// What lies at `offset` of a bank, of a kernel with `n_parameters` bytes of parameters.
pub(crate) fn bank_content(bank: &ConstantBank, n_parameters: u32, offset: u32, bytes: u32) -> Content {
    let parameter = bank.parameters.and_then(|start| offset.checked_sub(start));
    if let Some(parameter) = parameter.filter(|&parameter| parameter < n_parameters) {
        return Content::Parameter(parameter);
    }
    let byte = |at: u32| bank.content.get((offset + at) as usize).copied().unwrap_or(0);
    Content::Bytes((0..bytes.min(8)).fold(0, |value, at| value | u64::from(byte(at)) << (8 * at)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_hide_what_the_bank_has_there() {
        let bank = ConstantBank { number: 0, bytes: 16, content: vec![1, 2, 3, 4, 5, 6, 7, 8, 9], parameters: Some(4) };
        assert_eq!(bank_content(&bank, 4, 0, 4), Content::Bytes(0x0403_0201));
        assert_eq!(bank_content(&bank, 4, 4, 4), Content::Parameter(0));
        assert_eq!(bank_content(&bank, 4, 8, 4), Content::Bytes(9));
        assert_eq!(bank_content(&bank, 0, 4, 4), Content::Bytes(0x0807_0605));
    }
}
