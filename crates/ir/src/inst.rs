//! Instructions and their operands.

use std::fmt;

use warplens_isa::{Op, Operation, Pc, ScalarType, SpecialRegister};

use crate::{FunctionId, Memory, VariableId};

/// Register file that a register lives in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Bank {
    /// One value per lane, in 32-bit words.
    Vector,
    /// One value per warp, in 32-bit words.
    Uniform,
    /// One bit per lane.
    Predicate,
    /// One bit per warp.
    UniformPredicate,
    /// Convergence barriers: a set of lanes that wait for each other.
    Convergence,
}

/// Number of bits that a register holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Width {
    /// A predicate or a convergence barrier.
    One,
    /// One word. Narrower values lie in its low bits, zero-extended.
    Word,
    /// Two consecutive words, least significant first.
    Pair,
    /// Four consecutive words, least significant first.
    Quad,
}

impl Width {
    /// The width that holds a value of `bits` bits.
    pub const fn of_bits(bits: u32) -> Self {
        match bits {
            1 => Self::One,
            2..=32 => Self::Word,
            33..=64 => Self::Pair,
            _ => Self::Quad,
        }
    }

    /// Words that the register takes in its bank (1 for a predicate).
    pub const fn words(self) -> u32 {
        match self {
            Self::One | Self::Word => 1,
            Self::Pair => 2,
            Self::Quad => 4,
        }
    }

    /// Bits that the register holds.
    pub const fn bits(self) -> u32 {
        match self {
            Self::One => 1,
            Self::Word => 32,
            Self::Pair => 64,
            Self::Quad => 128,
        }
    }
}

/// A register: wide ones name their first word, so that a pair and its halves alias as they do in machine code.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Register {
    /// Register file.
    pub bank: Bank,
    /// Width.
    pub width: Width,
    /// First word (or predicate) in the bank.
    pub index: u32,
}

impl Register {
    /// A per-lane register of `width` at word `index`.
    pub const fn vector(index: u32, width: Width) -> Self {
        Self { bank: Bank::Vector, width, index }
    }

    /// A per-lane predicate.
    pub const fn predicate(index: u32) -> Self {
        Self { bank: Bank::Predicate, width: Width::One, index }
    }

    /// The words of the bank that the register covers.
    pub fn words(self) -> std::ops::Range<u32> {
        self.index..self.index + self.width.words()
    }
}

impl fmt::Debug for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bank = match self.bank {
            Bank::Vector => "r",
            Bank::Uniform => "ur",
            Bank::Predicate => "p",
            Bank::UniformPredicate => "up",
            Bank::Convergence => "cb",
        };
        let width = match self.width {
            Width::One | Width::Word => "",
            Width::Pair => ".64",
            Width::Quad => ".128",
        };
        write!(f, "{bank}{}{width}", self.index)
    }
}

/// A word (or several) of a constant bank.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Constant {
    /// Number of the bank, one of [`Module::constant_banks`](crate::Module::constant_banks).
    pub bank: u8,
    /// Bytes from the start of the bank.
    pub offset: u32,
}

/// What becomes of the sign of an operand on its way into an operation: that of a float, or of an integer sum.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Sign {
    /// The value is negated.
    Negated,
    /// The absolute value is taken.
    Absolute,
    /// The absolute value is taken, then negated.
    NegatedAbsolute,
}

/// A value whose sign an operand may change.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SignedValue {
    /// A register.
    Register(Register),
    /// A constant of a bank.
    Constant(Constant),
}

impl SignedValue {
    /// The operand without a change of its sign.
    pub const fn operand(self) -> Operand {
        match self {
            Self::Register(register) => Operand::Register(register),
            Self::Constant(constant) => Operand::Constant(constant),
        }
    }
}

/// A source of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operand {
    /// A register.
    Register(Register),
    /// A predicate register, complemented.
    NotPredicate(Register),
    /// A constant: the bits of the value in the operation's type, zero-extended.
    Immediate(u64),
    /// A register or constant whose sign is changed on the way.
    Signed(Sign, SignedValue),
    /// A constant of a bank, as wide as the type in which it is read.
    Constant(Constant),
    /// A special register.
    Special(SpecialRegister),
    /// Address of a variable in its own state space, plus an offset. `generic` asks for the generic address.
    Variable {
        /// The variable.
        variable: VariableId,
        /// Bytes added to its address.
        offset: i64,
        /// The address is generic.
        generic: bool,
    },
    /// Byte offset in the local memory of the function's frame.
    Frame(i64),
    /// Address of a function.
    Function(FunctionId),
}

impl Operand {
    /// The register that the operand reads, if it is one.
    pub const fn register(&self) -> Option<Register> {
        match self {
            Self::Register(register)
            | Self::NotPredicate(register)
            | Self::Signed(_, SignedValue::Register(register)) => Some(*register),
            _ => None,
        }
    }
}

/// Predicate under which an instruction takes effect in a lane.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Guard {
    /// The predicate.
    pub predicate: Register,
    /// The instruction takes effect where the predicate is false.
    pub negated: bool,
}

/// One operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Inst {
    /// The source instruction that it belongs to.
    pub pc: Pc,
    /// What it does.
    pub operation: Operation,
    /// Type of the operation: of the result, and of the sources unless `source_ty` differs.
    pub ty: ScalarType,
    /// Type of the sources of conversions and comparisons; equal to `ty` elsewhere.
    pub source_ty: ScalarType,
    /// Predicate.
    pub guard: Option<Guard>,
    /// Registers written. `None` is a sink.
    pub destinations: Vec<Option<Register>>,
    /// Values read, without those of `memory` and `guard`. A load has none, a store its elements, an atomic its operands.
    pub sources: Vec<Operand>,
    /// Memory touched.
    pub memory: Memory,
}

impl Inst {
    /// An instruction without guard, memory and operands.
    pub fn new(pc: Pc, operation: Operation, ty: ScalarType) -> Self {
        Self {
            pc,
            operation,
            ty,
            source_ty: ty,
            guard: None,
            destinations: Vec::new(),
            sources: Vec::new(),
            memory: Memory::None,
        }
    }

    /// Which operation it is, without what refines it.
    pub const fn op(&self) -> Op {
        self.operation.op()
    }

    /// True when an operand changes its sign on the way.
    pub fn changes_signs(&self) -> bool {
        self.sources.iter().any(|operand| matches!(operand, Operand::Signed(..)))
    }

    /// Registers read: sources, address and guard.
    pub fn reads(&self) -> impl Iterator<Item = Register> + '_ {
        let sources = self.sources.iter().filter_map(Operand::register);
        let address = self.memory.iter().filter_map(|memory| memory.base.register());
        sources.chain(address).chain(self.guard.map(|guard| guard.predicate))
    }

    /// Registers written.
    pub fn writes(&self) -> impl Iterator<Item = Register> + '_ {
        self.destinations.iter().flatten().copied()
    }
}
