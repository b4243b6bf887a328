//! Which entry of the `expansion` table says what an operation becomes.

use warplens_isa::{Family as F, InstKey, OpClass, Part, Precision, ScalarType as T};

use crate::key::Key;

/// True for operations of the special-function class that are one instruction.
pub fn is_single(operation: &InstKey) -> bool {
    let is_approximate = operation.precision == Precision::Approx;
    match (operation.family, operation.ty()) {
        (F::Tanh, _) => true,
        (F::Ex2, Some(T::F16 | T::F16x2 | T::Bf16 | T::Bf16x2)) => true,
        (F::Rcp, _) => is_approximate,
        (F::Rsqrt, Some(T::F64)) => is_approximate && operation.ftz,
        _ => false,
    }
}

/// The expansion of an operation and the class under which it was counted; none where it is one instruction or its
/// expansion is not tabulated.
pub fn key(operation: &InstKey) -> Option<(Key, OpClass)> {
    let precision = operation.precision;
    let is_approximate = precision == Precision::Approx;
    let key = match (operation.family, operation.ty()?) {
        (F::Div, T::F32) => match precision {
            Precision::Approx => (Key::ExpansionDivApproxF32, OpClass::Fp32),
            Precision::Full => (Key::ExpansionDivFullF32, OpClass::Fp32),
            Precision::Ieee => (Key::ExpansionDivRnF32, OpClass::Fp32),
        },
        (F::Div, T::F64) => (Key::ExpansionDivRnF64, OpClass::Fp64),
        (F::Div, T::U16 | T::U32) => (Key::ExpansionDivU32, OpClass::IntMul),
        (F::Div, T::S16 | T::S32) => (Key::ExpansionDivS32, OpClass::IntMul),
        (F::Rem, T::U16 | T::U32) => (Key::ExpansionRemU32, OpClass::IntMul),
        (F::Rem, T::S16 | T::S32) => (Key::ExpansionRemS32, OpClass::IntMul),
        (F::Div | F::Rem, T::U64) => (Key::ExpansionDivU64, OpClass::IntMul),
        (F::Div | F::Rem, T::S64) => (Key::ExpansionDivS64, OpClass::IntMul),
        (F::Rcp, T::F32) if !is_approximate => (Key::ExpansionRcpRnF32, OpClass::Sfu),
        (F::Rcp, T::F64) if !is_approximate => (Key::ExpansionRcpRnF64, OpClass::Fp64),
        (F::Sqrt, T::F32) if is_approximate => (Key::ExpansionSqrtApproxF32, OpClass::Sfu),
        (F::Sqrt, T::F32) => (Key::ExpansionSqrtRnF32, OpClass::Sfu),
        (F::Sqrt, T::F64) => (Key::ExpansionSqrtRnF64, OpClass::Fp64),
        (F::Rsqrt, T::F32) => (Key::ExpansionRsqrtApproxF32, OpClass::Sfu),
        (F::Sin | F::Cos, T::F32) => (Key::ExpansionSinApproxF32, OpClass::Sfu),
        (F::Ex2, T::F32) => (Key::ExpansionEx2ApproxF32, OpClass::Sfu),
        (F::Lg2, T::F32) => (Key::ExpansionLg2ApproxF32, OpClass::Sfu),
        (F::Mul | F::Mad, T::U64 | T::S64) if operation.part == Part::High => (Key::ExpansionMulHi64, OpClass::IntMul),
        (F::Mul | F::Mad, T::U64 | T::S64 | T::B64) => (Key::ExpansionMulLo64, OpClass::IntMul),
        _ => return None,
    };
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_expand_by_type_and_precision() {
        let exact = InstKey::new(F::Div, T::F32);
        let entry = |operation: &InstKey| key(operation).map(|(key, _)| key);
        assert_eq!(entry(&exact), Some(Key::ExpansionDivRnF32));
        assert_eq!(entry(&InstKey { precision: Precision::Approx, ..exact }), Some(Key::ExpansionDivApproxF32));
        assert_eq!(entry(&InstKey::new(F::Rem, T::S16)), Some(Key::ExpansionRemS32));
        let reciprocal = InstKey { precision: Precision::Approx, ..InstKey::new(F::Rcp, T::F32) };
        assert_eq!((entry(&reciprocal), is_single(&reciprocal)), (None, true));
        assert_eq!(entry(&InstKey::new(F::Mul, T::U32)), None);
        assert_eq!(entry(&InstKey::UNKNOWN), None);
    }
}
