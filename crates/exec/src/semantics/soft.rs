//! f64 arithmetic in the rounding modes that the host does not offer, on 128-bit integers.

use warplens_isa::Rounding;

/// An exact or sticky-rounded magnitude: `significand * 2^exponent`. If digits were lost below the lowest bit, that
/// bit is set ("sticky"), which is harmless as long as the value is rounded to far fewer bits.
#[derive(Clone, Copy)]
struct Wide {
    negative: bool,
    exponent: i32,
    significand: u128,
}

impl Wide {
    /// The exact value of a finite number.
    fn new(x: f64) -> Self {
        let bits = x.to_bits();
        let field = ((bits >> 52) & 0x7ff) as i32;
        let fraction = u128::from(bits & ((1 << 52) - 1));
        let (significand, exponent) = if field == 0 { (fraction, -1074) } else { (fraction | (1 << 52), field - 1075) };
        Self { negative: x.is_sign_negative(), exponent, significand }
    }

    /// The same value with the leading one at bit 126, so that a sum has room for its carry.
    fn normalised(self) -> Self {
        match self.significand.leading_zeros() {
            0 => Self { exponent: self.exponent + 1, significand: shift_right_sticky(self.significand, 1), ..self },
            zeros => Self {
                exponent: self.exponent - (zeros as i32 - 1),
                significand: self.significand << (zeros - 1),
                ..self
            },
        }
    }

    fn mul(self, other: Self) -> Self {
        Self {
            negative: self.negative != other.negative,
            exponent: self.exponent + other.exponent,
            significand: self.significand * other.significand,
        }
    }

    /// The sum of two nonzero values, or `None` if it is exactly zero.
    fn add(self, other: Self) -> Option<Self> {
        let (a, b) = (self.normalised(), other.normalised());
        let (big, small) = if (a.exponent, a.significand) >= (b.exponent, b.significand) { (a, b) } else { (b, a) };
        let small_significand = shift_right_sticky(small.significand, (big.exponent - small.exponent) as u32);
        let significand = if big.negative == small.negative {
            big.significand + small_significand
        } else {
            big.significand - small_significand
        };
        (significand != 0).then_some(Self { significand, ..big })
    }

    fn round(self, rounding: Rounding) -> f64 {
        let wide = self.normalised();
        // The exponent of the last place that the result keeps.
        let last = (wide.exponent + 126 - 52).max(-1074);
        let drop = (last - wide.exponent) as u32;
        let (kept, rest, half) = if drop > 127 {
            (0, 1, 2)
        } else {
            (wide.significand >> drop, wide.significand & ((1 << drop) - 1), 1u128 << (drop - 1))
        };
        let up = match rounding {
            Rounding::Nearest => rest > half || (rest == half && kept & 1 == 1),
            Rounding::NearestAway => rest >= half,
            Rounding::Zero => false,
            Rounding::Down => self.negative && rest != 0,
            Rounding::Up => !self.negative && rest != 0,
        };
        let kept = kept as u64 + u64::from(up);
        if kept == 0 {
            return with_sign(0.0, self.negative);
        }
        // The leading one of a normal significand adds one to the exponent field; a subnormal has none.
        let field = (last + 1074) as u64;
        let bits = u128::from(field) * (1 << 52) + u128::from(kept);
        let magnitude =
            if bits < 0x7ff0_0000_0000_0000 { f64::from_bits(bits as u64) } else { overflow(self.negative, rounding) };
        with_sign(magnitude, self.negative)
    }
}

fn overflow(negative: bool, rounding: Rounding) -> f64 {
    match rounding {
        Rounding::Zero => f64::MAX,
        Rounding::Down if !negative => f64::MAX,
        Rounding::Up if negative => f64::MAX,
        _ => f64::INFINITY,
    }
}

fn with_sign(magnitude: f64, negative: bool) -> f64 {
    if negative { -magnitude } else { magnitude }
}

fn shift_right_sticky(x: u128, n: u32) -> u128 {
    if n == 0 {
        x
    } else if n > 127 {
        1
    } else {
        (x >> n) | u128::from(x & ((1 << n) - 1) != 0)
    }
}

/// a * b + c in a rounding mode. Infinities, NaN and zeros take the host's answer, which does not depend on the mode
/// but for the sign of an exact zero sum.
#[inline(never)]
pub(crate) fn fma(a: f64, b: f64, c: f64, rounding: Rounding) -> f64 {
    let host = a.mul_add(b, c);
    if !(a.is_finite() && b.is_finite() && c.is_finite()) {
        return host;
    }
    let product = Wide::new(a).mul(Wide::new(b));
    let addend = Wide::new(c);
    let sum = match (product.significand, addend.significand) {
        (0, 0) => None,
        (0, _) => return c,
        (_, 0) => Some(product),
        _ => product.add(addend),
    };
    match sum {
        Some(sum) => sum.round(rounding),
        None => {
            let any_negative = product.negative || addend.negative;
            let both_negative = product.negative && addend.negative;
            with_sign(0.0, if rounding == Rounding::Down { any_negative } else { both_negative })
        }
    }
}

/// a * b in a rounding mode.
#[inline(never)]
pub(crate) fn mul(a: f64, b: f64, rounding: Rounding) -> f64 {
    let host = a * b;
    if !(a.is_finite() && b.is_finite()) || a == 0.0 || b == 0.0 {
        return host;
    }
    Wide::new(a).mul(Wide::new(b)).round(rounding)
}

/// a / b in a rounding mode.
#[inline(never)]
pub(crate) fn div(a: f64, b: f64, rounding: Rounding) -> f64 {
    let host = a / b;
    if !(a.is_finite() && b.is_finite()) || a == 0.0 || b == 0.0 {
        return host;
    }
    let (a, b) = (Wide::new(a).normalised(), Wide::new(b));
    // A 127-bit dividend by a divisor of at most 53 bits leaves at least 74 bits of quotient.
    let quotient = a.significand / b.significand;
    let sticky = u128::from(a.significand % b.significand != 0);
    // The sticky bit goes below the quotient's last bit.
    let significand = (quotient << 1) | sticky;
    Wide { negative: a.negative != b.negative, exponent: a.exponent - b.exponent - 1, significand }.round(rounding)
}

/// The square root in a rounding mode.
#[inline(never)]
pub(crate) fn sqrt(a: f64, rounding: Rounding) -> f64 {
    let host = a.sqrt();
    if !(a > 0.0 && a.is_finite()) {
        return host;
    }
    // An even exponent and a leading one at bit 125 or 126 give a root of 63 or 64 bits.
    let wide = Wide::new(a).normalised();
    let odd = wide.exponent & 1;
    let radicand = wide.significand >> odd;
    let (root, lost) = (radicand.isqrt(), wide.significand & odd as u128);
    let sticky = u128::from(root * root != radicand || lost != 0);
    Wide { negative: false, exponent: (wide.exponent + odd) / 2 - 1, significand: (root << 1) | sticky }.round(rounding)
}

/// Rounds an integer to a rounding mode's f64.
#[inline(never)]
pub(crate) fn from_integer(negative: bool, magnitude: u64, rounding: Rounding) -> f64 {
    if magnitude == 0 {
        return 0.0;
    }
    Wide { negative, exponent: 0, significand: u128::from(magnitude) }.round(rounding)
}

/// An integer as f64 rounded to odd, ready for a second rounding to a narrower format.
#[inline(always)]
pub(crate) fn integer_to_odd(negative: bool, magnitude: u64) -> f64 {
    // Eleven bits may not fit into 53; they count as one.
    let low = magnitude & 0x7ff;
    let high = magnitude & !0x7ff;
    let kept = if high >> 53 == 0 { magnitude } else { high | u64::from(low != 0) << 11 };
    with_sign(kept as f64, negative)
}
