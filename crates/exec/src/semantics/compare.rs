//! Comparisons: `set setp slct selp` and the operators they share.

use super::Rounding;
use super::half::Half;
use super::round::flush_if;

/// A comparison operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum CmpOp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// Unsigned lower.
    Lo,
    /// Unsigned lower or same.
    Ls,
    /// Unsigned higher.
    Hi,
    /// Unsigned higher or same.
    Hs,
    /// Equal or unordered.
    Equ,
    /// Not equal or unordered.
    Neu,
    /// Less or unordered.
    Ltu,
    /// Less, equal or unordered.
    Leu,
    /// Greater or unordered.
    Gtu,
    /// Greater, equal or unordered.
    Geu,
    /// Neither is NaN.
    Num,
    /// At least one is NaN.
    Nan,
}

/// How a comparison result is combined with a predicate operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum BoolOp {
    And,
    Or,
    Xor,
}

impl BoolOp {
    #[inline(always)]
    pub fn combine(self, a: bool, b: bool) -> bool {
        match self {
            Self::And => a & b,
            Self::Or => a | b,
            Self::Xor => a ^ b,
        }
    }
}

/// Compares integers in the order of their type; `lo ls hi hs` are the unsigned names of `lt le gt ge`. Operators that
/// ask about NaN do not exist for integers: their ordered part answers.
#[inline(always)]
pub fn integer<T: Ord>(op: CmpOp, a: T, b: T) -> bool {
    match op {
        CmpOp::Eq | CmpOp::Equ => a == b,
        CmpOp::Ne | CmpOp::Neu => a != b,
        CmpOp::Lt | CmpOp::Lo | CmpOp::Ltu => a < b,
        CmpOp::Le | CmpOp::Ls | CmpOp::Leu => a <= b,
        CmpOp::Gt | CmpOp::Hi | CmpOp::Gtu => a > b,
        CmpOp::Ge | CmpOp::Hs | CmpOp::Geu => a >= b,
        CmpOp::Num => true,
        CmpOp::Nan => false,
    }
}

#[inline(always)]
fn ordered_or_not<T: PartialOrd>(op: CmpOp, a: T, b: T, unordered: bool) -> bool {
    match op {
        CmpOp::Eq => a == b,
        // Ordered: false if either is NaN.
        CmpOp::Ne => a != b && !unordered,
        CmpOp::Lt | CmpOp::Lo => a < b,
        CmpOp::Le | CmpOp::Ls => a <= b,
        CmpOp::Gt | CmpOp::Hi => a > b,
        CmpOp::Ge | CmpOp::Hs => a >= b,
        CmpOp::Equ => a == b || unordered,
        CmpOp::Neu => a != b,
        CmpOp::Ltu => a < b || unordered,
        CmpOp::Leu => a <= b || unordered,
        CmpOp::Gtu => a > b || unordered,
        CmpOp::Geu => a >= b || unordered,
        CmpOp::Num => !unordered,
        CmpOp::Nan => unordered,
    }
}

/// Compares f32; with `.ftz`, subnormals count as zeros.
#[inline(always)]
pub fn float32(op: CmpOp, a: f32, b: f32, ftz: bool) -> bool {
    let (a, b) = (flush_if(a, ftz), flush_if(b, ftz));
    ordered_or_not(op, a, b, a.is_nan() || b.is_nan())
}

/// Compares f64.
#[inline(always)]
pub fn float64(op: CmpOp, a: f64, b: f64) -> bool {
    ordered_or_not(op, a, b, a.is_nan() || b.is_nan())
}

/// Compares f16 or bf16; with `.ftz`, subnormals count as zeros.
#[inline(always)]
pub fn half<H: Half>(op: CmpOp, a: u16, b: u16, ftz: bool) -> bool {
    let (a, b) = (H::widen(H::flush_if(a, ftz)), H::widen(H::flush_if(b, ftz)));
    ordered_or_not(op, a, b, a.is_nan() || b.is_nan())
}

/// Compares both halves of packed pairs: the answers for element 0 and element 1.
#[inline(always)]
pub fn half_x2<H: Half>(op: CmpOp, a: u32, b: u32, ftz: bool) -> [bool; 2] {
    [half::<H>(op, a as u16, b as u16, ftz), half::<H>(op, (a >> 16) as u16, (b >> 16) as u16, ftz)]
}

/// The result of `set` with an integer destination: all ones or zero.
#[inline(always)]
pub fn set_u32(truth: bool) -> u32 {
    (truth as u32).wrapping_neg()
}

/// The result of `set` with an f32 destination: 1 or +0.
#[inline(always)]
pub fn set_f32(truth: bool) -> f32 {
    if truth { 1.0 } else { 0.0 }
}

/// The result of `set` with an f16 or bf16 destination, or of one half of a packed one: 1 or +0.
#[inline(always)]
pub fn set_half<H: Half>(truth: bool) -> u16 {
    if truth { H::narrow(1.0, Rounding::NearestEven) } else { 0 }
}

/// The result of `set` with a 16-bit integer destination: all ones or zero.
#[inline(always)]
pub fn set_u16(truth: bool) -> u16 {
    (truth as u16).wrapping_neg()
}

/// `slct` with an s32 selector: `a` if `c` is not negative, else `b`.
#[inline(always)]
pub fn slct_s32<T>(a: T, b: T, c: i32) -> T {
    if c >= 0 { a } else { b }
}

/// `slct` with an f32 selector: `a` if `c` >= 0 (-0 included), else `b`, also for NaN.
#[inline(always)]
pub fn slct_f32<T>(a: T, b: T, c: f32, ftz: bool) -> T {
    if flush_if(c, ftz) >= 0.0 { a } else { b }
}
