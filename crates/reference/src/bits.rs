//! Logic, shifts, bit fields and bit counts, bit by bit.

use warplens_isa::{BfindAnswer, BoolOp, Combination, FunnelShift, PrmtMode, ScalarType, ShiftDirection, ShiftMode};

use crate::value::{NO_SUCH_FORM, NoMeaning, Results, Sources, number, one, ones, signed};

type Answer = Result<Results, NoMeaning>;

const WORD: ScalarType = ScalarType::B32;

pub(crate) fn logic(s: &Sources<'_>, function: impl Fn(u128, u128) -> u128) -> Answer {
    let ty = s.ty();
    if ty.bits() == 128 {
        return Err(NO_SUCH_FORM);
    }
    one(function(s.bits(0, ty)?, s.bits(1, ty)?), ty)
}

pub(crate) fn not(s: &Sources<'_>) -> Answer {
    integer_type(s)?;
    one(!s.bits(0, s.ty())?, s.ty())
}

pub(crate) fn cnot(s: &Sources<'_>) -> Answer {
    integer_type(s)?;
    one((s.bits(0, s.ty())? == 0).into(), s.ty())
}

/// The operation exists for integers up to 64 bits, or predicates.
fn integer_type(s: &Sources<'_>) -> Result<ScalarType, NoMeaning> {
    let ty = s.ty();
    let exists = ty == ScalarType::Pred || ty.is_integer() && ty.bits() <= 64;
    if exists { Ok(ty) } else { Err(NO_SUCH_FORM) }
}

/// A truth combined with a predicate operand.
pub(crate) fn combined(op: BoolOp, truth: bool, operand: bool) -> bool {
    match op {
        BoolOp::And => truth && operand,
        BoolOp::Or => truth || operand,
        BoolOp::Xor => truth != operand,
    }
}

pub(crate) fn lop3(s: &Sources<'_>, combination: &Combination) -> Answer {
    let [a, b, c, table] = [s.word(0, WORD)?, s.word(1, WORD)?, s.word(2, WORD)?, s.word(3, WORD)?];
    let bit = |at: u32| {
        let index = (a >> at & 1) << 2 | (b >> at & 1) << 1 | c >> at & 1;
        (table >> index & 1) << at
    };
    let value: u64 = (0..32).map(bit).sum();
    let mut results = one(value.into(), WORD)?;
    if let Some(op) = combination.op {
        results.push((combined(op, value != 0, s.truth(4)?).into(), ScalarType::Pred));
    }
    Ok(results)
}

pub(crate) fn shl(s: &Sources<'_>) -> Answer {
    let ty = integer_type(s)?;
    let amount = s.word(1, ScalarType::U32)?;
    one(if amount >= u64::from(ty.bits()) { 0 } else { s.bits(0, ty)? << amount }, ty)
}

pub(crate) fn shr(s: &Sources<'_>) -> Answer {
    let ty = integer_type(s)?;
    number(s.integer(0, ty)? >> s.word(1, ScalarType::U32)?.min(127), ty)
}

pub(crate) fn shf(s: &Sources<'_>, shift: &FunnelShift) -> Answer {
    let both = s.bits(0, WORD)? | s.bits(1, WORD)? << 32;
    let amount = s.word(2, WORD)?;
    let amount = match shift.mode {
        ShiftMode::Clamp => amount.min(32),
        ShiftMode::Wrap => amount % 32,
    };
    match shift.direction {
        ShiftDirection::Left => one(both << amount >> 32, WORD),
        ShiftDirection::Right => one(both >> amount, WORD),
    }
}

pub(crate) fn popc(s: &Sources<'_>) -> Answer {
    let ty = integer_type(s)?;
    one(s.bits(0, ty)?.count_ones().into(), ScalarType::U32)
}

pub(crate) fn clz(s: &Sources<'_>) -> Answer {
    let ty = integer_type(s)?;
    one((s.bits(0, ty)?.leading_zeros() - (128 - ty.bits())).into(), ScalarType::U32)
}

pub(crate) fn bfind(s: &Sources<'_>, answer: BfindAnswer) -> Answer {
    let ty = integer_type(s)?;
    let value = s.integer(0, ty)?;
    let differing = if value < 0 { !value } else { value } as u128;
    let none = one(u128::MAX, ScalarType::U32);
    match (differing.checked_ilog2(), answer) {
        (None, _) => none,
        (Some(position), BfindAnswer::Position) => one(position.into(), ScalarType::U32),
        (Some(position), BfindAnswer::ShiftAmount) => one((ty.bits() - 1 - position).into(), ScalarType::U32),
    }
}

pub(crate) fn brev(s: &Sources<'_>) -> Answer {
    let ty = integer_type(s)?;
    one(s.bits(0, ty)?.reverse_bits() >> (128 - ty.bits()), ty)
}

/// PTX ISA, `bfe`: bit by bit, with the sign bit of the field beyond it.
pub(crate) fn bfe(s: &Sources<'_>) -> Answer {
    let ty = integer_type(s)?;
    let a = s.bits(0, ty)?;
    let (position, length) = field(s, 1)?;
    let top = u64::from(ty.bits()) - 1;
    let sign = match (ty.is_signed(), length) {
        (false, _) | (true, 0) => 0,
        (true, length) => a >> (position + length - 1).min(top) & 1,
    };
    let bit = |at: u64| if at < length && position + at <= top { a >> (position + at) & 1 } else { sign };
    one((0..=top).map(|at| bit(at) << at).sum(), ty)
}

/// Position and length of a field. PTX ISA takes both modulo 256, ptxas does not where a field has 64 bits.
fn field(s: &Sources<'_>, at: usize) -> Result<(u64, u64), NoMeaning> {
    let (position, length) = (s.word(at, ScalarType::U32)?, s.word(at + 1, ScalarType::U32)?);
    Ok(if s.ty().bits() == 64 { (position, length) } else { (position % 256, length % 256) })
}

/// PTX ISA, `bfi`.
pub(crate) fn bfi(s: &Sources<'_>) -> Answer {
    let ty = integer_type(s)?;
    let (given, mut value) = (s.bits(0, ty)?, s.bits(1, ty)?);
    let (position, length) = field(s, 2)?;
    for at in (0..length).take_while(|at| position + at < u64::from(ty.bits())) {
        let bit = given >> at & 1;
        value = value & !(1 << (position + at)) | bit << (position + at);
    }
    one(value, ty)
}

/// PTX ISA, `fns`.
pub(crate) fn fns(s: &Sources<'_>) -> Answer {
    let mask = s.bits(0, WORD)?;
    let (base, offset) = (s.integer(1, WORD)?, signed(s.bits(2, WORD)?, 32));
    let is_set = |at: &i128| (0..32).contains(at) && mask >> at & 1 == 1;
    let found = match offset {
        // What GPUs answer.
        -0x8000_0000 => Some(0),
        0 => Some(base).filter(is_set),
        1.. => (base..32).filter(is_set).nth(offset as usize - 1),
        _ if base >= 32 => None,
        _ => (0..=base).rev().filter(is_set).nth((-offset) as usize - 1),
    };
    one(found.map_or(u128::MAX, |at| at as u128), ScalarType::U32)
}

pub(crate) fn bmsk(s: &Sources<'_>, mode: ShiftMode) -> Answer {
    let limit = |amount: u64| match mode {
        ShiftMode::Clamp => amount.min(32),
        ShiftMode::Wrap => amount % 32,
    };
    let (position, width) = (limit(s.word(0, WORD)?), limit(s.word(1, WORD)?));
    one(ones(width as u32) << position, WORD)
}

pub(crate) fn szext(s: &Sources<'_>, mode: ShiftMode) -> Answer {
    let ty = s.ty();
    let width = match mode {
        ShiftMode::Clamp => s.word(1, ScalarType::U32)?.min(32),
        ShiftMode::Wrap => s.word(1, ScalarType::U32)? % 32,
    };
    let low = s.bits(0, ty)? & ones(width as u32);
    let extended = if ty.is_signed() && width > 0 { signed(low, width as u32) } else { low as i128 };
    number(extended, ty)
}

/// PTX ISA, `prmt`: the tables of its special modes, byte 3 first.
pub(crate) fn prmt(s: &Sources<'_>, mode: PrmtMode) -> Answer {
    let bytes = s.bits(0, WORD)? | s.bits(1, WORD)? << 32;
    let control = s.word(2, WORD)?;
    let row = (control & 3) as usize;
    let selectors: [u64; 4] = match mode {
        PrmtMode::Default => [control >> 12 & 15, control >> 8 & 15, control >> 4 & 15, control & 15],
        PrmtMode::F4e => [[3, 2, 1, 0], [4, 3, 2, 1], [5, 4, 3, 2], [6, 5, 4, 3]][row],
        PrmtMode::B4e => [[5, 6, 7, 0], [6, 7, 0, 1], [7, 0, 1, 2], [0, 1, 2, 3]][row],
        PrmtMode::Rc8 => [row as u64; 4],
        PrmtMode::Ecl => [[3, 2, 1, 0], [3, 2, 1, 1], [3, 2, 2, 2], [3, 3, 3, 3]][row],
        PrmtMode::Ecr => [[0, 0, 0, 0], [1, 1, 1, 0], [2, 2, 1, 0], [3, 2, 1, 0]][row],
        PrmtMode::Rc16 => [[1, 0, 1, 0], [3, 2, 3, 2]][row & 1],
    };
    let byte = |selector: u64| {
        let byte = bytes >> (8 * (selector & 7)) & 0xff;
        match (selector & 8 != 0, byte >> 7) {
            (false, _) => byte,
            (true, 0) => 0,
            (true, _) => 0xff,
        }
    };
    one(selectors.iter().fold(0, |word, &selector| word << 8 | byte(selector)), WORD)
}
