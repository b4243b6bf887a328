//! Types and modifiers of the syntax tree in the vocabulary of the IR.

use warplens_isa::{
    Accuracy, Approximation, AtomicOp, BfindAnswer, BoolOp, Carry, Combination, CompareOp, Comparison, Conversion,
    Extremum, FunnelShift, FusedMultiplyAdd, Precision, PrmtMode, Product, Reduction, ReduxOp, Rounding, Saturation,
    ScalarType, ShiftDirection, ShiftMode, StateSpace, Subnormals, Sum, TestProperty,
};

use crate::syntax::ast::{Instruction, Modifier, Space, Type};

/// The scalar type that the IR has for a type of the language; none for the narrow formats of matrix operations.
pub(super) fn scalar(ty: Type) -> Option<ScalarType> {
    Some(match ty {
        Type::Pred => ScalarType::Pred,
        Type::B8 => ScalarType::B8,
        Type::B16 => ScalarType::B16,
        Type::B32 => ScalarType::B32,
        Type::B64 => ScalarType::B64,
        Type::B128 => ScalarType::B128,
        Type::U8 => ScalarType::U8,
        Type::U16 => ScalarType::U16,
        Type::U32 => ScalarType::U32,
        Type::U64 => ScalarType::U64,
        Type::S8 => ScalarType::S8,
        Type::S16 => ScalarType::S16,
        Type::S32 => ScalarType::S32,
        Type::S64 => ScalarType::S64,
        Type::F16 => ScalarType::F16,
        Type::Bf16 => ScalarType::Bf16,
        Type::Tf32 => ScalarType::Tf32,
        Type::F32 => ScalarType::F32,
        Type::F64 => ScalarType::F64,
        Type::F16x2 => ScalarType::F16x2,
        Type::Bf16x2 => ScalarType::Bf16x2,
        Type::U16x2 => ScalarType::U16x2,
        Type::S16x2 => ScalarType::S16x2,
        Type::U8x4 => ScalarType::U8x4,
        Type::S8x4 => ScalarType::S8x4,
        Type::F32x2 => ScalarType::F32x2,
        Type::E4m3x2 => ScalarType::E4m3x2,
        Type::E5m2x2 => ScalarType::E5m2x2,
        Type::E3m2x2 => ScalarType::E3m2x2,
        Type::E2m3x2 => ScalarType::E2m3x2,
        Type::E2m1x2 => ScalarType::E2m1x2,
        Type::Ue8m0x2 => ScalarType::Ue8m0x2,
        _ => return None,
    })
}

/// The type that a variable of an opaque type is stored as: a 64-bit handle.
pub(super) fn storage(ty: Type) -> Option<ScalarType> {
    match ty {
        Type::Texref | Type::Samplerref | Type::Surfref => Some(ScalarType::B64),
        ty => scalar(ty),
    }
}

/// True when a register declared as `declared` may stand where an instruction works on `ty`: the sizes agree, and the
/// kinds do or one of them is untyped.
pub(super) fn fits(declared: ScalarType, ty: ScalarType) -> bool {
    declared.bits() == ty.bits() && kinds_agree(declared, ty)
}

/// [`fits`] under the relaxed rules of loads, stores and conversions: the register may be wider.
pub(super) fn fits_relaxed(declared: ScalarType, ty: ScalarType) -> bool {
    let (pred, wider) = (ScalarType::Pred, declared.bits() > ty.bits());
    if declared == pred || ty == pred {
        return declared == ty;
    }
    if wider { !declared.is_float() } else { fits(declared, ty) }
}

fn kinds_agree(a: ScalarType, b: ScalarType) -> bool {
    let untyped = |ty: ScalarType| {
        ty.is_packed()
            || matches!(
                ty,
                ScalarType::B8
                    | ScalarType::B16
                    | ScalarType::B32
                    | ScalarType::B64
                    | ScalarType::B128
                    | ScalarType::Tf32
                    | ScalarType::Bf16
            )
    };
    a == b || untyped(a) || untyped(b) || a.is_integer() && b.is_integer()
}

/// The integer type of `bits` bits that extends as `like` does.
pub(super) fn integer(bits: u32, signed: bool) -> ScalarType {
    match (bits, signed) {
        (..=8, false) => ScalarType::U8,
        (..=8, true) => ScalarType::S8,
        (9..=16, false) => ScalarType::U16,
        (9..=16, true) => ScalarType::S16,
        (17..=32, false) => ScalarType::U32,
        (17..=32, true) => ScalarType::S32,
        (_, false) => ScalarType::U64,
        (_, true) => ScalarType::S64,
    }
}

/// The untyped type of `bits` bits.
pub(super) fn untyped(bits: u32) -> ScalarType {
    match bits {
        1 => ScalarType::Pred,
        ..=8 => ScalarType::B8,
        9..=16 => ScalarType::B16,
        17..=32 => ScalarType::B32,
        33..=64 => ScalarType::B64,
        _ => ScalarType::B128,
    }
}

/// State space of a variable in memory.
pub(super) fn memory_space(space: Space) -> Option<StateSpace> {
    Some(match space {
        Space::Const | Space::ConstBank(_) => StateSpace::Const,
        Space::Global | Space::Tex => StateSpace::Global,
        Space::Local => StateSpace::Local,
        Space::Shared => StateSpace::Shared,
        Space::Param => StateSpace::Param,
        Space::Reg | Space::Sreg => return None,
    })
}

/// State space that an instruction names; generic when it names none.
pub(super) fn named_space(instruction: &Instruction<'_>) -> StateSpace {
    instruction.modifiers.iter().copied().find_map(space_of).unwrap_or(StateSpace::Generic)
}

/// The state space that a modifier names.
pub(super) fn space_of(modifier: Modifier) -> Option<StateSpace> {
    Some(match modifier {
        Modifier::Global => StateSpace::Global,
        Modifier::Shared | Modifier::SharedCta | Modifier::SharedCluster => StateSpace::Shared,
        Modifier::Local => StateSpace::Local,
        Modifier::Param | Modifier::ParamEntry | Modifier::ParamFunc => StateSpace::Param,
        Modifier::Const
        | Modifier::ConstBank0
        | Modifier::ConstBank1
        | Modifier::ConstBank2
        | Modifier::ConstBank3
        | Modifier::ConstBank4
        | Modifier::ConstBank5
        | Modifier::ConstBank6
        | Modifier::ConstBank7
        | Modifier::ConstBank8
        | Modifier::ConstBank9
        | Modifier::ConstBank10 => StateSpace::Const,
        _ => return None,
    })
}

/// What the modifiers of an arithmetic instruction say, before it is known which of it the operation has.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Written {
    pub(super) rounding: Rounding,
    pub(super) integral: bool,
    pub(super) ftz: bool,
    pub(super) sat: bool,
    pub(super) satfinite: bool,
    pub(super) relu: bool,
    pub(super) oob: bool,
    pub(super) nan: bool,
    pub(super) xorsign_abs: bool,
    pub(super) precision: Precision,
    /// `.r`
    pub(super) right: bool,
    /// `.wrap`
    pub(super) wrap: bool,
    /// `.shiftamt`
    pub(super) shift_amount: bool,
    pub(super) prmt: PrmtMode,
}

impl Written {
    pub(super) fn of(instruction: &Instruction<'_>) -> Self {
        let mut written = Self::default();
        for modifier in instruction.modifiers.iter() {
            match modifier {
                Modifier::Rn => written.rounding = Rounding::Nearest,
                Modifier::Rna => written.rounding = Rounding::NearestAway,
                Modifier::Rz => written.rounding = Rounding::Zero,
                Modifier::Rm => written.rounding = Rounding::Down,
                Modifier::Rp => written.rounding = Rounding::Up,
                Modifier::Rni => (written.rounding, written.integral) = (Rounding::Nearest, true),
                Modifier::Rzi => (written.rounding, written.integral) = (Rounding::Zero, true),
                Modifier::Rmi => (written.rounding, written.integral) = (Rounding::Down, true),
                Modifier::Rpi => (written.rounding, written.integral) = (Rounding::Up, true),
                Modifier::Ftz => written.ftz = true,
                Modifier::Sat => written.sat = true,
                Modifier::Satfinite => written.satfinite = true,
                Modifier::Relu => written.relu = true,
                Modifier::Oob => written.oob = true,
                Modifier::PropagateNan => written.nan = true,
                Modifier::Xorsign => written.xorsign_abs = true,
                Modifier::Approx => written.precision = Precision::Approx,
                Modifier::Full => written.precision = Precision::Full,
                Modifier::Right => written.right = true,
                Modifier::Wrap => written.wrap = true,
                Modifier::Shiftamt => written.shift_amount = true,
                Modifier::F4e => written.prmt = PrmtMode::F4e,
                Modifier::B4e => written.prmt = PrmtMode::B4e,
                Modifier::Rc8 => written.prmt = PrmtMode::Rc8,
                Modifier::Ecl => written.prmt = PrmtMode::Ecl,
                Modifier::Ecr => written.prmt = PrmtMode::Ecr,
                Modifier::Rc16 => written.prmt = PrmtMode::Rc16,
                _ => {}
            }
        }
        written
    }

    pub(super) fn sum(self, carry: Carry) -> Sum {
        Sum { rounding: self.rounding, ftz: self.ftz, sat: self.sat, carry }
    }

    pub(super) fn product(self) -> Product {
        Product { rounding: self.rounding, ftz: self.ftz, sat: self.sat }
    }

    pub(super) fn fused(self) -> FusedMultiplyAdd {
        FusedMultiplyAdd { rounding: self.rounding, ftz: self.ftz, sat: self.sat, relu: self.relu, oob: self.oob }
    }

    pub(super) fn saturation(self) -> Saturation {
        Saturation { sat: self.sat }
    }

    pub(super) fn accuracy(self) -> Accuracy {
        Accuracy { rounding: self.rounding, precision: self.precision, ftz: self.ftz }
    }

    pub(super) fn approximation(self) -> Approximation {
        Approximation { ftz: self.ftz }
    }

    pub(super) fn subnormals(self) -> Subnormals {
        Subnormals { ftz: self.ftz }
    }

    pub(super) fn extremum(self) -> Extremum {
        Extremum { ftz: self.ftz, relu: self.relu, nan: self.nan, xorsign_abs: self.xorsign_abs }
    }

    pub(super) fn conversion(self) -> Conversion {
        let Self { rounding, integral, ftz, sat, satfinite, relu, .. } = self;
        Conversion { rounding, integral, ftz, sat, satfinite, relu }
    }

    pub(super) fn comparison(self, op: CompareOp, combination: Combination) -> Comparison {
        Comparison { op, combination, ftz: self.ftz }
    }

    pub(super) fn shift_mode(self) -> ShiftMode {
        if self.wrap { ShiftMode::Wrap } else { ShiftMode::Clamp }
    }

    pub(super) fn funnel_shift(self) -> FunnelShift {
        let direction = if self.right { ShiftDirection::Right } else { ShiftDirection::Left };
        FunnelShift { direction, mode: self.shift_mode() }
    }

    pub(super) fn bfind_answer(self) -> BfindAnswer {
        if self.shift_amount { BfindAnswer::ShiftAmount } else { BfindAnswer::Position }
    }

    pub(super) fn prmt_mode(self) -> PrmtMode {
        self.prmt
    }

    pub(super) fn reduction(self, op: ReduxOp, abs: bool) -> Reduction {
        Reduction { op, abs, nan: self.nan }
    }
}

/// The comparison that a modifier names.
pub(super) fn comparison(modifier: Modifier) -> Option<CompareOp> {
    Some(match modifier {
        Modifier::Eq => CompareOp::Eq,
        Modifier::Ne => CompareOp::Ne,
        Modifier::Lt => CompareOp::Lt,
        Modifier::Le => CompareOp::Le,
        Modifier::Gt => CompareOp::Gt,
        Modifier::Ge => CompareOp::Ge,
        Modifier::Lo => CompareOp::Lo,
        Modifier::Ls => CompareOp::Ls,
        Modifier::Hi => CompareOp::Hi,
        Modifier::Hs => CompareOp::Hs,
        Modifier::Equ => CompareOp::Equ,
        Modifier::Neu => CompareOp::Neu,
        Modifier::Ltu => CompareOp::Ltu,
        Modifier::Leu => CompareOp::Leu,
        Modifier::Gtu => CompareOp::Gtu,
        Modifier::Geu => CompareOp::Geu,
        Modifier::Ordered => CompareOp::Num,
        Modifier::Unordered => CompareOp::Nan,
        _ => return None,
    })
}

/// The combination with a predicate that an instruction names.
pub(super) fn combination(instruction: &Instruction<'_>) -> Combination {
    let op = instruction.modifiers.iter().find_map(|modifier| match modifier {
        Modifier::And => Some(BoolOp::And),
        Modifier::Or => Some(BoolOp::Or),
        Modifier::Xor => Some(BoolOp::Xor),
        _ => None,
    });
    Combination { op }
}

/// The read-modify-write operation that an instruction names.
pub(super) fn atomic_op(instruction: &Instruction<'_>) -> Option<AtomicOp> {
    instruction.modifiers.iter().copied().find_map(atomic_of)
}

/// The read-modify-write operation that a modifier names.
pub(super) fn atomic_of(modifier: Modifier) -> Option<AtomicOp> {
    Some(match modifier {
        Modifier::And => AtomicOp::And,
        Modifier::Or => AtomicOp::Or,
        Modifier::Xor => AtomicOp::Xor,
        Modifier::Exch => AtomicOp::Exch,
        Modifier::Cas => AtomicOp::Cas,
        Modifier::Add => AtomicOp::Add,
        Modifier::Inc => AtomicOp::Inc,
        Modifier::Dec => AtomicOp::Dec,
        Modifier::Min => AtomicOp::Min,
        Modifier::Max => AtomicOp::Max,
        _ => return None,
    })
}

/// The property that a `testp` names.
pub(super) fn test_property(instruction: &Instruction<'_>) -> Option<TestProperty> {
    instruction.modifiers.iter().find_map(|modifier| {
        Some(match modifier {
            Modifier::Finite => TestProperty::Finite,
            Modifier::Infinite => TestProperty::Infinite,
            Modifier::Number => TestProperty::Number,
            Modifier::Notanumber => TestProperty::NotANumber,
            Modifier::Normal => TestProperty::Normal,
            Modifier::Subnormal => TestProperty::Subnormal,
            _ => return None,
        })
    })
}
