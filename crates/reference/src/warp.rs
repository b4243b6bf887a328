//! What lanes of a warp receive from each other, and what atomics make of memory.

use std::cmp::Ordering;

use warplens_exec::engine::{Adder, Brought, Exchange, Received};
use warplens_exec::semantics::warp::Sort;
use warplens_isa::{AtomicOp, Extremum, MatchMode, ReduxOp, Rounding, ScalarType, ShuffleMode, VoteMode};

use crate::exact::{F32, F64, Format};
use crate::float::{self, Finish, arithmetic, by_element};
use crate::mbarrier;
use crate::value::{integer, low};

/// Lanes of a mask, lowest first.
pub(crate) fn lanes(mask: u32) -> impl Iterator<Item = usize> + Clone {
    (0..32).filter(move |lane| mask >> lane & 1 == 1)
}

/// What each member receives.
pub(crate) fn exchange(what: Exchange, brought: &Brought, members: u32) -> Received {
    let mut received = Received { words: [0; 32], truths: 0 };
    for lane in lanes(members) {
        let (word, truth) = match what {
            Exchange::Shuffle(mode) => shuffled(mode, brought, lane),
            Exchange::Vote(mode) => voted(mode, brought.truths[0], members),
            Exchange::Match(mode, sort) => matched(mode, sort, brought, (members, lane)),
            Exchange::Redux(op, ty, mods) => (reduced(op, ty, brought, members, (mods.abs, mods.nan)), false),
            Exchange::Elect => (members.trailing_zeros(), members.trailing_zeros() as usize == lane),
            Exchange::Movmatrix => (transposed(brought, members, lane), false),
            Exchange::Barrier => (0, false),
        };
        received.words[lane] = word;
        received.truths |= u32::from(truth) << lane;
    }
    received
}

/// PTX ISA, `shfl.sync`, in the words of its pseudo code.
fn shuffled(mode: ShuffleMode, brought: &Brought, lane: usize) -> (u32, bool) {
    let lane = lane as i32;
    let (b, c) = (brought.words[1][lane as usize] as i32, brought.words[2][lane as usize] as i32);
    let (b, c, segment) = (b & 0x1f, c & 0x1f, c >> 8 & 0x1f);
    let max_lane = lane & segment | c & !segment;
    let min_lane = lane & segment;
    let (j, in_range) = match mode {
        ShuffleMode::Up => (lane - b, lane - b >= max_lane),
        ShuffleMode::Down => (lane + b, lane + b <= max_lane),
        ShuffleMode::Butterfly => (lane ^ b, lane ^ b <= max_lane),
        ShuffleMode::Index => {
            let j = min_lane | b & !segment;
            (j, j <= max_lane)
        }
    };
    let source = if in_range { j } else { lane };
    (brought.words[0][source as usize & 31], in_range)
}

/// PTX ISA, `movmatrix`: four lanes hold a row of the matrix, and of its transpose, two elements each. Who is no member
/// holds zeros: that is not defined.
fn transposed(brought: &Brought, members: u32, lane: usize) -> u32 {
    let mut matrix = [[0u16; 8]; 8];
    for other in lanes(members) {
        let [low, high] = [0, 16].map(|shift| (brought.words[0][other] >> shift) as u16);
        let two = other % 4 * 2;
        (matrix[other / 4][two], matrix[other / 4][two + 1]) = (low, high);
    }
    let [low, high] = [0, 1].map(|odd| matrix[lane % 4 * 2 + odd][lane / 4]);
    u32::from(low) | u32::from(high) << 16
}

fn voted(mode: VoteMode, truths: u32, members: u32) -> (u32, bool) {
    let all = lanes(members).all(|lane| truths >> lane & 1 == 1);
    let any = lanes(members).any(|lane| truths >> lane & 1 == 1);
    match mode {
        VoteMode::All => (0, all),
        VoteMode::Any => (0, any),
        VoteMode::Uniform => (0, all || !any),
        VoteMode::Ballot => (truths & members, false),
    }
}

fn matched(mode: MatchMode, sort: Sort, brought: &Brought, (members, own): (u32, usize)) -> (u32, bool) {
    let value = |lane: usize| match sort {
        Sort::Pair => brought.pairs[0][lane],
        Sort::Word | Sort::Truth => brought.words[0][lane].into(),
    };
    let same = lanes(members).filter(|&lane| value(lane) == value(own)).fold(0, |mask, lane| mask | 1 << lane);
    match mode {
        MatchMode::Any => (same, false),
        MatchMode::All if same == members => (members, true),
        MatchMode::All => (0, false),
    }
}

fn reduced(op: ReduxOp, ty: ScalarType, brought: &Brought, members: u32, (abs, nan): (bool, bool)) -> u32 {
    let values = lanes(members).map(|lane| brought.words[0][lane]);
    let wanted = if op == ReduxOp::Min { Ordering::Less } else { Ordering::Greater };
    if ty == ScalarType::F32 {
        let how = Extremum { nan, ..Extremum::default() };
        let magnitude = |word: u32| u64::from(if abs { word & 0x7fff_ffff } else { word });
        let best = values.map(magnitude).reduce(|a, b| float::extremum(F32, [a, b], wanted, &how));
        let best = best.filter(|&bits| !F32.is_nan(bits)).unwrap_or(F32.nan());
        return best as u32;
    }
    let numbers = values.clone().map(|word| integer(word.into(), ty));
    match op {
        ReduxOp::Add => low(numbers.sum(), 32) as u32,
        ReduxOp::Min => numbers.min().map_or(0, |least| low(least, 32) as u32),
        ReduxOp::Max => numbers.max().map_or(0, |most| low(most, 32) as u32),
        ReduxOp::And => values.fold(u32::MAX, |a, b| a & b),
        ReduxOp::Or => values.fold(0, |a, b| a | b),
        ReduxOp::Xor => values.fold(0, |a, b| a ^ b),
    }
}

/// What an atomic makes of a value in memory; none if it does not exist for the type.
pub(crate) fn updated(op: AtomicOp, ty: ScalarType, old: u64, [operand, new]: [u64; 2], adder: Adder) -> Option<u64> {
    let bits = |value: i128| low(value, ty.bits()) as u64;
    let (a, b) = (integer(old.into(), ty), integer(operand.into(), ty));
    let is_untyped = matches!(ty, ScalarType::B16 | ScalarType::B32 | ScalarType::B64);
    let is_number = ty.is_integer() && !is_untyped && ty.bits() >= 32;
    match op {
        AtomicOp::Cas if ty.is_integer() && ty.bits() >= 16 => Some(if old == operand { new } else { old }),
        AtomicOp::Cas => None,
        AtomicOp::Mbarrier(op) => (ty == ScalarType::B64).then(|| mbarrier::updated(op, old, operand)),
        AtomicOp::Exch if is_untyped || is_number || arithmetic(ty).is_some_and(|_| ty != ScalarType::F32x2) => {
            Some(operand)
        }
        AtomicOp::And if is_untyped || is_number => Some(old & operand),
        AtomicOp::Or if is_untyped || is_number => Some(old | operand),
        AtomicOp::Xor if is_untyped || is_number => Some(old ^ operand),
        AtomicOp::Exch | AtomicOp::And | AtomicOp::Or | AtomicOp::Xor => None,
        AtomicOp::Add if is_number => Some(bits(a + b)),
        AtomicOp::Min if is_number => Some(bits(a.min(b))),
        AtomicOp::Max if is_number => Some(bits(a.max(b))),
        AtomicOp::Inc if is_number => Some(if a >= b { 0 } else { bits(a + 1) }),
        AtomicOp::Dec if is_number => Some(if a == 0 || a > b { operand } else { bits(a - 1) }),
        AtomicOp::Inc | AtomicOp::Dec => None,
        // In global memory NaN of f64 is left as it is, that of the operand before that of the cell.
        AtomicOp::Add if ty == ScalarType::F64 && adder != Adder::Thread && F64.is_nan(operand) => Some(operand),
        AtomicOp::Add if ty == ScalarType::F64 && adder != Adder::Thread && F64.is_nan(old) => Some(old),
        AtomicOp::Add => float_update(ty, old, operand, |format, values| {
            let ftz = adder == Adder::Cache && format == F32;
            let how = Finish { rounding: Rounding::Nearest, ftz, ..Finish::default() };
            float::add(format, values, how)
        }),
        AtomicOp::Min => float_update(ty, old, operand, extremum_of(Ordering::Less)),
        AtomicOp::Max => float_update(ty, old, operand, extremum_of(Ordering::Greater)),
    }
}

fn extremum_of(wanted: Ordering) -> impl Fn(Format, [u64; 2]) -> u64 {
    move |format, values| float::extremum(format, values, wanted, &Extremum::default())
}

fn float_update(ty: ScalarType, old: u64, operand: u64, update: impl Fn(Format, [u64; 2]) -> u64) -> Option<u64> {
    let formats = arithmetic(ty).filter(|_| ty != ScalarType::F32x2)?;
    Some(by_element(formats, [old.into(), operand.into()], |values| update(formats.0, values)) as u64)
}
