//! Opcodes of compute capability 1.x, as cuobjdump writes them, and what they occupy.

use warplens_trace::MachineClass;

/// How the operands of an opcode are to be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    /// Destination first, the rest is read.
    Compute,
    /// As [`Shape::Compute`]; the last operand is added to a product.
    MultiplyAdd,
    /// Destination, then a place in memory.
    Load,
    /// A place in memory, then what is stored.
    Store,
    /// An atomic that returns the old value: destination, place, operands.
    Atomic,
    /// Everything is read: branches, barriers.
    Control,
}

/// What an opcode is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Opcode {
    pub(super) class: MachineClass,
    pub(super) shape: Shape,
    /// Bytes of an operand, where no modifier says otherwise.
    pub(super) bytes: u8,
}

/// What an opcode is, by its name without modifiers. The `32` behind a name is the short form of the same operation,
/// `32I` that with a constant of 32 bits.
pub(super) fn find(name: &str) -> Option<Opcode> {
    use MachineClass as C;
    use Shape as S;
    let plain = name.strip_suffix("32I").or_else(|| name.strip_suffix("32")).unwrap_or(name);
    let (class, shape) = match plain {
        "FADD" | "FMIN" | "FMAX" | "FSET" | "FCMP" | "RRO" => (C::Fp32, S::Compute),
        "FMUL" => (C::Fp32Mul, S::Compute),
        "FMAD" => (C::Fp32, S::MultiplyAdd),
        "IADD" | "IADDCARRY" | "ISUB" | "IMIN" | "IMAX" | "ISET" | "ICMP" | "ISAD" | "LOP" | "IMUL" | "R2A" | "A2R"
        | "ADA" | "R2C" | "C2R" => (C::Int, S::Compute),
        "IMAD" => (C::Int, S::MultiplyAdd),
        "DADD" | "DMUL" | "DMIN" | "DMAX" | "DSET" => (C::Fp64, S::Compute),
        "DFMA" => (C::Fp64, S::MultiplyAdd),
        "RCP" | "RSQ" | "LG2" | "EX2" | "SIN" | "COS" => (C::Sfu, S::Compute),
        "F2F" | "F2I" | "I2F" | "I2I" => (C::Convert, S::Compute),
        "MOV" | "MVI" | "MVC" | "S2R" | "SHL" | "SHR" => (C::Move, S::Compute),
        "VOTE" => (C::Vote, S::Compute),
        "GLD" | "LLD" | "G2R" => (C::Load, S::Load),
        "GST" | "LST" | "R2G" => (C::Store, S::Store),
        "GATOM" => (C::Atomic, S::Atomic),
        "GRED" => (C::Reduction, S::Store),
        "BAR" => (C::Barrier, S::Control),
        "MEMBAR" => (C::Fence, S::Control),
        "BRA" | "BRX" | "CAL" | "RET" | "BRK" | "SSY" | "PBK" | "PRET" | "TRAP" => (C::Branch, S::Control),
        "EXIT" => (C::Exit, S::Control),
        "NOP" => (C::Nop, S::Control),
        _ => return None,
    };
    let bytes = if matches!(class, C::Fp64) { 8 } else { 4 };
    Some(Opcode { class, shape, bytes })
}

/// Every name without its short forms, for proposals.
pub(super) const NAMES: &[&str] = &[
    "FADD",
    "FADD32",
    "FMIN",
    "FMAX",
    "FSET",
    "FCMP",
    "RRO",
    "FMUL",
    "FMUL32",
    "FMAD",
    "FMAD32",
    "IADD",
    "IADD32",
    "IADDCARRY",
    "ISUB",
    "IMIN",
    "IMAX",
    "ISET",
    "ICMP",
    "ISAD",
    "SHL",
    "SHR",
    "LOP",
    "IMUL",
    "IMUL32",
    "R2A",
    "A2R",
    "ADA",
    "R2C",
    "C2R",
    "IMAD",
    "IMAD32",
    "DADD",
    "DMUL",
    "DMIN",
    "DMAX",
    "DSET",
    "DFMA",
    "RCP",
    "RSQ",
    "LG2",
    "EX2",
    "SIN",
    "COS",
    "F2F",
    "F2I",
    "I2F",
    "I2I",
    "MOV",
    "MOV32",
    "MVI",
    "MVC",
    "S2R",
    "VOTE",
    "GLD",
    "LLD",
    "G2R",
    "GST",
    "LST",
    "R2G",
    "GATOM",
    "GRED",
    "BAR",
    "MEMBAR",
    "BRA",
    "BRX",
    "CAL",
    "RET",
    "BRK",
    "SSY",
    "PBK",
    "PRET",
    "TRAP",
    "EXIT",
    "NOP",
];

/// Bytes that a type modifier names.
pub(super) fn modifier_bytes(modifier: &str) -> Option<u8> {
    Some(match modifier {
        "U8" | "S8" => 1,
        "U16" | "S16" => 2,
        "U32" | "S32" | "F32" => 4,
        "U64" | "S64" | "F64" | "B64" => 8,
        "U128" | "S128" | "B128" => 16,
        _ => return None,
    })
}

/// True when a multiplication with these modifiers is one instruction of the machine.
pub(super) fn multiplies_natively(modifiers: &[&str]) -> bool {
    modifiers.iter().any(|modifier| matches!(*modifier, "U16" | "S16" | "U24" | "S24"))
}

/// True for the multiplications of integers.
pub(super) fn is_integer_product(name: &str) -> bool {
    name.starts_with("IMUL") || name.starts_with("IMAD")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proposals_are_opcodes() {
        assert!(NAMES.iter().all(|name| find(name).is_some()));
        assert_eq!(find("FMAD32").map(|opcode| opcode.shape), Some(Shape::MultiplyAdd));
        assert!(find("TEX").is_none());
    }
}
