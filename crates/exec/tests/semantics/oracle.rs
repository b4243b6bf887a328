//! Exact software floating point as the reference, with NaN and flushing as PTX has them.

use rustc_apfloat::ieee::{BFloat, Double, Half, Quad, Single};
use rustc_apfloat::{Float, FloatConvert, Round};
use warplens_isa::Rounding;

pub(crate) const ROUNDINGS: [Rounding; 4] = [Rounding::Nearest, Rounding::Zero, Rounding::Down, Rounding::Up];

pub(crate) fn round(rounding: Rounding) -> Round {
    match rounding {
        Rounding::Nearest => Round::NearestTiesToEven,
        Rounding::NearestAway => Round::NearestTiesToAway,
        Rounding::Zero => Round::TowardZero,
        Rounding::Down => Round::TowardNegative,
        Rounding::Up => Round::TowardPositive,
    }
}

/// A format that the reference computes in.
pub(crate) trait Format: Float {
    const CANONICAL_NAN: u128;
    fn bits(self) -> u128 {
        if self.is_nan() { Self::CANONICAL_NAN } else { self.to_bits() }
    }
}

impl Format for Single {
    const CANONICAL_NAN: u128 = 0x7fff_ffff;
}
impl Format for Double {
    const CANONICAL_NAN: u128 = 0xfff8_0000_0000_0000;
}
impl Format for Half {
    const CANONICAL_NAN: u128 = 0x7fff;
}
impl Format for BFloat {
    const CANONICAL_NAN: u128 = 0x7fff;
}

pub(crate) fn convert<S: FloatConvert<D>, D: Format>(x: S, rounding: Rounding) -> u128 {
    let mut lost = false;
    let result: D = x.convert_r(round(rounding), &mut lost).value;
    result.bits()
}

/// Whether `root` is the square root of `x` rounded as told: compares squares exactly in 113 bits.
pub(crate) fn is_sqrt(x: f64, root: f64, next_down: f64, next_up: f64, rounding: Rounding) -> bool {
    let quad = |x: f64| -> Quad { Double::from_bits(u128::from(x.to_bits())).convert(&mut false).value };
    let square = |x: f64| (quad(x) * quad(x)).value;
    let exact = quad(x);
    match rounding {
        Rounding::Down | Rounding::Zero => square(root) <= exact && square(next_up) > exact,
        Rounding::Up => square(root) >= exact && square(next_down) < exact,
        // The root lies between the midpoints to its neighbours; a midpoint's square is never representable.
        _ => {
            let half = quad(0.5);
            let middle = |other: f64| (((quad(root) + quad(other)).value) * half).value;
            let (low, high) = (middle(next_down), middle(next_up));
            (low * low).value < exact && exact < (high * high).value
        }
    }
}
