//! `semantics::float64` against independent arithmetic.

use std::hint::black_box;

use rustc_apfloat::Float;
use rustc_apfloat::ieee::Double;
use warplens_exec::semantics::float64::{self, NAN_F64};
use warplens_isa::Rounding;

use crate::inputs::{SPECIAL_F64, pairs_f64, tuples_f64};
use crate::oracle::{Format, ROUNDINGS, is_sqrt, round};

fn double(bits: u64) -> Double {
    Double::from_bits(u128::from(bits))
}

/// The bit that makes NaN quiet.
const QUIET: u64 = 1 << 51;

fn is_nan(bits: u64) -> bool {
    f64::from_bits(bits).is_nan()
}

/// NaN of a result that is none of the numbers': the first operand that is NaN, where that of a sum counts before the second
/// factor's, as an H200 answers.
fn nan_of<const N: usize>(input: [u64; N]) -> Option<u64> {
    let order: &[usize] = if N == 3 { &[0, 2, 1] } else { &[0, 1] };
    order.iter().filter_map(|&at| input.get(at)).find(|&&bits| is_nan(bits)).map(|bits| bits | QUIET)
}

fn check<const N: usize>(
    name: &str,
    inputs: &[[u64; N]],
    reference: impl Fn([Double; N], rustc_apfloat::Round) -> Double,
    ours: impl Fn([f64; N], Rounding) -> f64,
) {
    for &input in inputs {
        for rounding in ROUNDINGS {
            let actual = ours(input.map(f64::from_bits), rounding).to_bits();
            let result = reference(input.map(double), round(rounding)).bits() as u64;
            let expected = nan_of(input).unwrap_or(result);
            assert_eq!(actual, expected, "{name} {rounding:?} {input:016x?}: {actual:016x}, expected {expected:016x}");
        }
    }
}

#[test]
fn arithmetic() {
    let pairs = pairs_f64(11, 30_000);
    check("add", &pairs, |[a, b], r| a.add_r(b, r).value, |[a, b], r| float64::add(a, b, r));
    check("sub", &pairs, |[a, b], r| a.sub_r(b, r).value, |[a, b], r| float64::sub(a, b, r));
    check("mul", &pairs, |[a, b], r| a.mul_r(b, r).value, |[a, b], r| float64::mul(a, b, r));
    check("div", &pairs, |[a, b], r| a.div_r(b, r).value, |[a, b], r| float64::div(a, b, r));
    let one = || double(0x3ff0 << 48);
    let singles: Vec<[u64; 1]> = pairs.iter().map(|&[a, _]| [a]).collect();
    check("rcp", &singles, |[a], r| one().div_r(a, r).value, |[a], r| float64::rcp(a, r));
}

#[test]
fn fused_multiply_add() {
    let triples = tuples_f64::<3>(12, 60_000);
    check("fma", &triples, |[a, b, c], r| a.mul_add_r(b, c, r).value, |[a, b, c], r| float64::fma(a, b, c, r));
    // Products that meet the addend: exact cancellation, and one unit beside it.
    let meeting: Vec<[u64; 3]> = tuples_f64::<2>(13, 20_000)
        .into_iter()
        .flat_map(|[a, b]| {
            let product = -(f64::from_bits(a) * f64::from_bits(b));
            [product, product.next_up(), product.next_down()].map(|c| [a, b, c.to_bits()])
        })
        .collect();
    check("fma", &meeting, |[a, b, c], r| a.mul_add_r(b, c, r).value, |[a, b, c], r| float64::fma(a, b, c, r));
}

#[test]
fn square_roots() {
    for [bits, _] in pairs_f64(14, 20_000) {
        let x = f64::from_bits(bits);
        for rounding in ROUNDINGS {
            let root = float64::sqrt(x, rounding);
            if x.is_nan() || x < 0.0 {
                assert_eq!(root.to_bits(), nan_of([bits]).unwrap_or(NAN_F64));
            } else if x == 0.0 || x.is_infinite() {
                assert_eq!(root.to_bits(), bits);
            } else {
                assert!(
                    is_sqrt(x, root, root.next_down(), root.next_up(), rounding),
                    "sqrt {rounding:?} {x:e}: {root:e}"
                );
            }
        }
    }
    // A perfect square is exact in every mode.
    for rounding in ROUNDINGS {
        assert_eq!(float64::sqrt(1.5 * 1.5, rounding), 1.5);
        assert_eq!(float64::sqrt(f64::from_bits(4), rounding), f64::powi(2.0, -536));
    }
}

/// A function of one operation, which the compiler may fit to the host's instruction as a whole.
#[inline(never)]
fn root_to_nearest(x: f64) -> f64 {
    float64::sqrt(x, Rounding::Nearest)
}

#[test]
fn the_nan_of_a_square_root_is_not_the_hosts() {
    for bits in [0xfff0_0000_0000_0000, 0xbff0_0000_0000_0000, 0x7ff8_0000_0000_0000, 0xfff8_0000_2000_0000] {
        let x = black_box(f64::from_bits(bits));
        assert_eq!(root_to_nearest(x).to_bits(), nan_of([bits]).unwrap_or(NAN_F64), "sqrt.rn {bits:016x}");
    }
}

#[test]
fn minimum_and_maximum() {
    let nan = f64::from_bits(0x7ff8_0000_0000_1234);
    assert_eq!((float64::min(1.0, -2.0), float64::max(1.0, -2.0)), (-2.0, 1.0));
    assert_eq!((float64::min(nan, -2.0), float64::max(-2.0, nan)), (-2.0, -2.0));
    assert_eq!((float64::min(0.0, -0.0).to_bits(), float64::min(-0.0, 0.0).to_bits()), (1 << 63, 1 << 63));
    assert_eq!((float64::max(0.0, -0.0).to_bits(), float64::max(-0.0, 0.0).to_bits()), (0, 0));
    assert!(float64::min(nan, nan).is_nan());
    for bits in SPECIAL_F64 {
        let [negated, magnitude] = [bits ^ 1 << 63, bits & u64::MAX >> 1].map(|plain| nan_of([bits]).unwrap_or(plain));
        assert_eq!(float64::neg(f64::from_bits(bits)).to_bits(), negated);
        assert_eq!(float64::abs(f64::from_bits(bits)).to_bits(), magnitude);
    }
    assert_eq!(float64::copysign(-1.0, 2.0), -2.0);
}

#[test]
fn coarse_reciprocals_see_and_give_upper_words() {
    for [bits, _] in tuples_f64::<2>(15, 5_000) {
        let x = f64::from_bits(bits);
        let rcp = float64::rcp_approx(x);
        let rsqrt = float64::rsqrt_approx_ftz(x);
        if !rcp.is_nan() {
            assert_eq!(rcp.to_bits() as u32, 0);
        }
        // Numbers whose reciprocal neither overflows nor is flushed.
        if (1e-300..1e300).contains(&x) {
            // The upper words hold 20 fraction bits: an error of one of them in, one out.
            assert!((rcp * x - 1.0).abs() < 1.0 / 262_144.0, "{x:e} {rcp:e}");
            assert!((rsqrt * rsqrt * x - 1.0).abs() < 1.0 / 131_072.0, "{x:e} {rsqrt:e}");
        }
    }
    let special = [
        (0.0, f64::INFINITY, f64::INFINITY),
        (-0.0, f64::NEG_INFINITY, f64::NEG_INFINITY),
        (f64::from_bits(1), f64::INFINITY, f64::INFINITY),
        (-f64::from_bits(1), f64::NEG_INFINITY, f64::NEG_INFINITY),
        (f64::INFINITY, 0.0, 0.0),
    ];
    for (x, rcp, rsqrt) in special {
        assert_eq!(float64::rcp_approx(x).to_bits(), f64::to_bits(rcp), "rcp {x}");
        assert_eq!(float64::rsqrt_approx_ftz(x).to_bits(), f64::to_bits(rsqrt), "rsqrt {x}");
    }
    assert_eq!(float64::rcp_approx(f64::NEG_INFINITY).to_bits(), 1 << 63);
    assert!(float64::rsqrt_approx_ftz(-1.0).is_nan() && float64::rcp_approx(f64::NAN).is_nan());
    // Results below the normal range are flushed.
    assert_eq!(float64::rcp_approx(f64::MAX), 0.0);
    assert_eq!(float64::rsqrt_approx(4.0), 0.5);
    assert_eq!(float64::rsqrt_approx(-0.0), f64::NEG_INFINITY);
}
