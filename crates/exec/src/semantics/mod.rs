//! What instructions compute, one lane at a time.
//!
//! Every function here is pure: values in, value out. The warp loop calls one function per lane with the modifiers
//! as constants, so the common modes inline into branch-free loops that the compiler turns into vector code; rare modes
//! may take a slower road to the same exact answer.
//!
//! Results are the same bytes on every host. IEEE operations (`+ - * /`, square root, fused multiply-add, rounding
//! to integral values) are exact by definition; everything else, the approximate transcendental instructions above all,
//! is computed by [`math`] and never by the platform's mathematics library.
//!
//! Types: `f32`, `f64` and integers are native; f16 and bf16 are `u16` bit patterns, packed pairs are `u32` with element
//! 0 in the low half.
//!
//! This module does not know about registers, masks, memory or opcodes.

use warplens_isa::Rounding;

pub mod round;

pub mod float32;
pub mod float64;
pub mod half;
pub mod math;
mod soft;

pub mod compare;
pub mod convert;
pub mod integer;

pub mod atomic;
pub mod matrix_rows;
mod mbarrier;
pub mod tensor;
pub mod warp;

/// Modifiers of a floating-point operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct FloatMods {
    pub rounding: Rounding,
    /// Subnormal inputs and results become zeros of the same sign. Without meaning for f64.
    pub ftz: bool,
    /// The result is clamped to [0, 1] and NaN becomes +0.
    pub sat: bool,
}

impl FloatMods {
    /// Round to nearest even, subnormals kept, no saturation.
    pub const RN: Self = Self::new(Rounding::Nearest);
    /// [`Self::RN`] with subnormals flushed.
    pub const RN_FTZ: Self = Self::RN.with_ftz();

    pub const fn new(rounding: Rounding) -> Self {
        Self { rounding, ftz: false, sat: false }
    }

    pub const fn with_ftz(self) -> Self {
        Self { ftz: true, ..self }
    }

    pub const fn with_sat(self) -> Self {
        Self { sat: true, ..self }
    }
}

/// Modifiers of a minimum or maximum.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub struct MinMaxMods {
    /// Subnormal inputs and results become zeros of the same sign.
    pub ftz: bool,
    /// NaN if any input is NaN (`.NaN`); otherwise NaN only if all are.
    pub nan: bool,
    /// Compare magnitudes and give the result the exclusive-or of the input signs (`.xorsign.abs`).
    pub xorsign_abs: bool,
}
