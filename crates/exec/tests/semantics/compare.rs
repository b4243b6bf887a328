//! `semantics::compare` against independent arithmetic.

use warplens_exec::semantics::compare;
use warplens_exec::semantics::half::{Bf16, F16};
use warplens_isa::CompareOp;

const ALL: [CompareOp; 18] = [
    CompareOp::Eq,
    CompareOp::Ne,
    CompareOp::Lt,
    CompareOp::Le,
    CompareOp::Gt,
    CompareOp::Ge,
    CompareOp::Lo,
    CompareOp::Ls,
    CompareOp::Hi,
    CompareOp::Hs,
    CompareOp::Equ,
    CompareOp::Neu,
    CompareOp::Ltu,
    CompareOp::Leu,
    CompareOp::Gtu,
    CompareOp::Geu,
    CompareOp::Num,
    CompareOp::Nan,
];

/// Which operators hold for a < b, a = b, a > b, and unordered operands.
fn truth(op: CompareOp) -> [bool; 4] {
    let row = match op {
        CompareOp::Eq => "010.",
        CompareOp::Ne => "1.1.",
        CompareOp::Lt | CompareOp::Lo => "1...",
        CompareOp::Le | CompareOp::Ls => "11..",
        CompareOp::Gt | CompareOp::Hi => "..1.",
        CompareOp::Ge | CompareOp::Hs => ".11.",
        CompareOp::Equ => ".1.1",
        CompareOp::Neu => "1.11",
        CompareOp::Ltu => "1..1",
        CompareOp::Leu => "11.1",
        CompareOp::Gtu => "..11",
        CompareOp::Geu => ".111",
        CompareOp::Num => "111.",
        CompareOp::Nan => "...1",
    };
    std::array::from_fn(|i| row.as_bytes()[i] == b'1')
}

#[test]
fn floats_ordered_and_not() {
    for op in ALL {
        let [less, equal, greater, unordered] = truth(op);
        let pairs = [
            (1.0f32, 2.0, less),
            (f32::NEG_INFINITY, f32::MIN, less),
            (2.0, 2.0, equal),
            (-0.0, 0.0, equal),
            (f32::INFINITY, f32::INFINITY, equal),
            (2.0, -2.0, greater),
            (f32::from_bits(1), 0.0, greater),
            (f32::NAN, 2.0, unordered),
            (2.0, f32::NAN, unordered),
            (f32::NAN, f32::NAN, unordered),
        ];
        for (a, b, expected) in pairs {
            assert_eq!(compare::float32(op, a, b, false), expected, "{op:?} {a} {b}");
            assert_eq!(compare::float64(op, f64::from(a), f64::from(b)), expected, "{op:?} {a} {b} f64");
        }
        assert_eq!(compare::float32(op, f32::from_bits(1), f32::from_bits(0x8000_0001), true), equal, "{op:?} ftz");
        let halves = [(0x3c00, 0x4000, less), (0x8000, 0, equal), (0x3c00, 0xc000, greater), (0x7e00, 0, unordered)];
        for (a, b, expected) in halves {
            assert_eq!(compare::half::<F16>(op, a, b, false), expected, "{op:?} {a:04x} {b:04x}");
        }
        assert_eq!(compare::half::<F16>(op, 1, 0x8001, true), equal);
        assert_eq!(compare::half::<Bf16>(op, 0x7f81, 0, false), unordered);
        assert_eq!(compare::half_x2::<F16>(op, 0x3c00_4000, 0x4000_3c00, false), [greater, less]);
    }
}

#[test]
fn integers_in_the_order_of_their_type() {
    for op in ALL {
        let [less, equal, greater, _] = truth(op);
        assert_eq!(compare::integer(op, -1i32, 0), less, "{op:?}");
        assert_eq!(compare::integer(op, u32::MAX, 0), greater, "{op:?}");
        assert_eq!(compare::integer(op, i64::MIN, i64::MIN), equal, "{op:?}");
        assert_eq!(compare::integer(op, 0x8000u16, 0x7fff), greater, "{op:?}");
    }
}

#[test]
fn results_of_set() {
    assert_eq!((compare::set_u32(true), compare::set_u32(false)), (u32::MAX, 0));
    assert_eq!((compare::set_u16(true), compare::set_u16(false)), (u16::MAX, 0));
    assert_eq!((compare::set_f32(true), compare::set_f32(false).to_bits()), (1.0, 0));
    assert_eq!((compare::set_half::<F16>(true), compare::set_half::<Bf16>(true)), (0x3c00, 0x3f80));
    assert_eq!(compare::set_half::<F16>(false), 0);
}

#[test]
fn selection_by_sign() {
    for (c, expected) in [(0, 'a'), (5, 'a'), (-1, 'b'), (i32::MIN, 'b')] {
        assert_eq!(compare::slct_s32('a', 'b', c), expected, "{c}");
    }
    let floats =
        [(0.0, 'a'), (-0.0, 'a'), (1.0, 'a'), (-1.0, 'b'), (f32::NAN, 'b'), (f32::from_bits(0x8000_0001), 'b')];
    for (c, expected) in floats {
        assert_eq!(compare::slct_f32('a', 'b', c, false), expected, "{c}");
    }
    assert_eq!(compare::slct_f32('a', 'b', f32::from_bits(0x8000_0001), true), 'a');
}
