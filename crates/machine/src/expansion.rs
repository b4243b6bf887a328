//! Which entry of the `expansion` table says what an operation becomes.

use warplens_isa::OpClass;

use crate::key::Key;

/// `div.rn.f32` as (`div`, `f32`).
pub fn kind_and_type(opcode: &str) -> (&str, &str) {
    let kind = opcode.split('.').next().unwrap_or(opcode);
    let ty = opcode.rsplit('.').next().unwrap_or(opcode);
    (kind, ty)
}

/// True for operations of the special-function class that are one instruction.
pub fn is_single(opcode: &str) -> bool {
    let (kind, ty) = kind_and_type(opcode);
    matches!((kind, ty), ("tanh", _) | ("ex2", "f16" | "f16x2" | "bf16" | "bf16x2"))
        || (kind == "rcp" && opcode.contains(".approx"))
        || (kind == "rsqrt" && opcode.contains(".approx.ftz") && ty == "f64")
}

/// The expansion of an operation and the class under which it was counted; none where it is one instruction or its
/// expansion is not tabulated.
pub fn key(opcode: &str) -> Option<(Key, OpClass)> {
    let (kind, ty) = kind_and_type(opcode);
    let is = |modifier: &str| opcode.split('.').any(|word| word == modifier);
    let key = match (kind, ty) {
        ("div", "f32") if is("approx") => (Key::ExpansionDivApproxF32, OpClass::Fp32),
        ("div", "f32") if is("full") => (Key::ExpansionDivFullF32, OpClass::Fp32),
        ("div", "f32") => (Key::ExpansionDivRnF32, OpClass::Fp32),
        ("div", "f64") => (Key::ExpansionDivRnF64, OpClass::Fp64),
        ("div", "u16" | "u32") => (Key::ExpansionDivU32, OpClass::IntMul),
        ("div", "s16" | "s32") => (Key::ExpansionDivS32, OpClass::IntMul),
        ("rem", "u16" | "u32") => (Key::ExpansionRemU32, OpClass::IntMul),
        ("rem", "s16" | "s32") => (Key::ExpansionRemS32, OpClass::IntMul),
        ("div" | "rem", "u64") => (Key::ExpansionDivU64, OpClass::IntMul),
        ("div" | "rem", "s64") => (Key::ExpansionDivS64, OpClass::IntMul),
        ("rcp", "f32") if !is("approx") => (Key::ExpansionRcpRnF32, OpClass::Sfu),
        ("rcp", "f64") if !is("approx") => (Key::ExpansionRcpRnF64, OpClass::Fp64),
        ("sqrt", "f32") if is("approx") => (Key::ExpansionSqrtApproxF32, OpClass::Sfu),
        ("sqrt", "f32") => (Key::ExpansionSqrtRnF32, OpClass::Sfu),
        ("sqrt", "f64") => (Key::ExpansionSqrtRnF64, OpClass::Fp64),
        ("rsqrt", "f32") => (Key::ExpansionRsqrtApproxF32, OpClass::Sfu),
        ("sin" | "cos", "f32") => (Key::ExpansionSinApproxF32, OpClass::Sfu),
        ("ex2", "f32") => (Key::ExpansionEx2ApproxF32, OpClass::Sfu),
        ("lg2", "f32") => (Key::ExpansionLg2ApproxF32, OpClass::Sfu),
        ("mul" | "mad", "u64" | "s64") if is("hi") => (Key::ExpansionMulHi64, OpClass::IntMul),
        ("mul" | "mad", "u64" | "s64" | "b64") => (Key::ExpansionMulLo64, OpClass::IntMul),
        _ => return None,
    };
    Some(key)
}
