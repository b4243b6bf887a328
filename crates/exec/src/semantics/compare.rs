//! Comparisons: `set setp slct selp` and the operators they share.

use warplens_isa::{CompareOp, Rounding};

use super::half::Half;
use super::round::flush_if;

/// Compares integers in the order of their type; `lo ls hi hs` are the unsigned names of `lt le gt ge`. Operators that
/// ask about NaN do not exist for integers: their ordered part answers.
#[inline(always)]
pub fn integer<T: Ord>(op: CompareOp, a: T, b: T) -> bool {
    match op {
        CompareOp::Eq | CompareOp::Equ => a == b,
        CompareOp::Ne | CompareOp::Neu => a != b,
        CompareOp::Lt | CompareOp::Lo | CompareOp::Ltu => a < b,
        CompareOp::Le | CompareOp::Ls | CompareOp::Leu => a <= b,
        CompareOp::Gt | CompareOp::Hi | CompareOp::Gtu => a > b,
        CompareOp::Ge | CompareOp::Hs | CompareOp::Geu => a >= b,
        CompareOp::Num => true,
        CompareOp::Nan => false,
    }
}

#[inline(always)]
fn ordered_or_not<T: PartialOrd>(op: CompareOp, a: T, b: T, unordered: bool) -> bool {
    match op {
        CompareOp::Eq => a == b,
        // Ordered: false if either is NaN.
        CompareOp::Ne => a != b && !unordered,
        CompareOp::Lt | CompareOp::Lo => a < b,
        CompareOp::Le | CompareOp::Ls => a <= b,
        CompareOp::Gt | CompareOp::Hi => a > b,
        CompareOp::Ge | CompareOp::Hs => a >= b,
        CompareOp::Equ => a == b || unordered,
        CompareOp::Neu => a != b,
        CompareOp::Ltu => a < b || unordered,
        CompareOp::Leu => a <= b || unordered,
        CompareOp::Gtu => a > b || unordered,
        CompareOp::Geu => a >= b || unordered,
        CompareOp::Num => !unordered,
        CompareOp::Nan => unordered,
    }
}

/// Compares f32; with `.ftz`, subnormals count as zeros.
#[inline(always)]
pub fn float32(op: CompareOp, a: f32, b: f32, ftz: bool) -> bool {
    let (a, b) = (flush_if(a, ftz), flush_if(b, ftz));
    ordered_or_not(op, a, b, a.is_nan() || b.is_nan())
}

/// Compares f64.
#[inline(always)]
pub fn float64(op: CompareOp, a: f64, b: f64) -> bool {
    ordered_or_not(op, a, b, a.is_nan() || b.is_nan())
}

/// Compares f16 or bf16; with `.ftz`, subnormals count as zeros.
#[inline(always)]
pub fn half<H: Half>(op: CompareOp, a: u16, b: u16, ftz: bool) -> bool {
    let (a, b) = (H::widen(H::flush_if(a, ftz)), H::widen(H::flush_if(b, ftz)));
    ordered_or_not(op, a, b, a.is_nan() || b.is_nan())
}

/// Compares both halves of packed pairs: the answers for element 0 and element 1.
#[inline(always)]
pub fn half_x2<H: Half>(op: CompareOp, a: u32, b: u32, ftz: bool) -> [bool; 2] {
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
    if truth { H::narrow(1.0, Rounding::Nearest) } else { 0 }
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
