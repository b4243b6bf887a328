//! Operations in which lanes of a warp look at each other.

use warplens_isa::{MatchMode, Modifiers, ReduxOp, ScalarType, ShuffleMode, VoteMode};
use warplens_trace::ActiveMask;

use crate::code::{Decoded, Kind, SINK, Wide};
use crate::interpret::set_value;
use crate::raw::Lanes;
use crate::semantics::MinMaxMods;
use crate::semantics::float32;

/// Executes the operation in the lanes of the mask.
pub(crate) fn exchange(lanes: &mut Lanes<'_>, decoded: &Decoded) {
    match decoded.kind {
        Kind::Shuffle => shuffle(lanes, decoded),
        Kind::Vote => vote(lanes, decoded),
        Kind::Match(wide) => match_lanes(lanes, decoded, wide),
        Kind::Redux(ty) => redux(lanes, decoded, ty),
        Kind::Elect => elect(lanes, decoded),
        _ => {}
    }
}

/// PTX ISA, section "shfl.sync": the operand `c` holds a clamp value (bits 0 to 4) and a segment mask (bits 8 to 12).
fn shuffle(lanes: &mut Lanes<'_>, decoded: &Decoded) {
    let [value, operand, clamp, _] = decoded.sources;
    let (value, operand, clamp) = (*lanes.words(value), *lanes.words(operand), *lanes.words(clamp));
    let mode = decoded.modifiers.shuffle.unwrap_or(ShuffleMode::Index);
    let mut results = [0; 32];
    let mut in_range = 0;
    for lane in 0..32u32 {
        let (b, c) = (operand[lane as usize] & 31, clamp[lane as usize]);
        let (segment, limit) = (c >> 8 & 31, c & 31);
        let lowest = lane & segment;
        let highest = lowest | limit & !segment;
        let (source, is_in_range) = match mode {
            ShuffleMode::Up => (lane.wrapping_sub(b), lane as i32 - b as i32 >= highest as i32),
            ShuffleMode::Down => (lane + b, lane + b <= highest),
            ShuffleMode::Butterfly => (lane ^ b, lane ^ b <= highest),
            ShuffleMode::Index => (lowest | b & !segment, lowest | b & !segment <= highest),
        };
        results[lane as usize] = value[if is_in_range { source } else { lane } as usize & 31];
        in_range |= u32::from(is_in_range) << lane;
    }
    lanes.set_words(decoded.destinations[0], &results);
    if decoded.destinations[1] != SINK {
        lanes.set_predicate(decoded.destinations[1], in_range);
    }
}

fn vote(lanes: &mut Lanes<'_>, decoded: &Decoded) {
    let active = lanes.mask;
    let truths = lanes.predicate(decoded.sources[0]) & active;
    let answer = match decoded.modifiers.vote.unwrap_or(VoteMode::Ballot) {
        VoteMode::Ballot => return set_value(lanes, decoded.destinations[0], Wide::No, u64::from(truths)),
        VoteMode::All => truths == active,
        VoteMode::Any => truths != 0,
        VoteMode::Uniform => truths == 0 || truths == active,
    };
    lanes.set_predicate(decoded.destinations[0], if answer { u32::MAX } else { 0 });
}

fn match_lanes(lanes: &mut Lanes<'_>, decoded: &Decoded, wide: Wide) {
    let active = ActiveMask(lanes.mask);
    let mut values = [0u64; 32];
    match wide {
        Wide::Yes => values = *lanes.pairs(decoded.sources[0]),
        Wide::No => {
            for (value, word) in values.iter_mut().zip(lanes.words(decoded.sources[0])) {
                *value = u64::from(*word);
            }
        }
    }
    let same_as = |lane: usize| {
        active.lanes().filter(|&other| values[other] == values[lane]).fold(0u32, |mask, other| mask | 1 << other)
    };
    if decoded.modifiers.match_mode == Some(MatchMode::All) {
        let all = active.lowest().is_some_and(|lane| same_as(lane) == active.0);
        set_value(lanes, decoded.destinations[0], Wide::No, if all { u64::from(active.0) } else { 0 });
        if decoded.destinations[1] != SINK {
            lanes.set_predicate(decoded.destinations[1], if all { u32::MAX } else { 0 });
        }
        return;
    }
    let mut masks = [0; 32];
    for lane in active.lanes() {
        masks[lane] = same_as(lane);
    }
    lanes.set_words(decoded.destinations[0], &masks);
}

fn redux(lanes: &mut Lanes<'_>, decoded: &Decoded, ty: ScalarType) {
    let words = *lanes.words(decoded.sources[0]);
    let op = decoded.modifiers.redux.unwrap_or(ReduxOp::Add);
    let values = ActiveMask(lanes.mask).lanes().map(|lane| words[lane]);
    let result = values.reduce(|a, b| combine(op, ty, &decoded.modifiers, a, b)).unwrap_or(0);
    set_value(lanes, decoded.destinations[0], Wide::No, u64::from(result));
}

fn combine(op: ReduxOp, ty: ScalarType, modifiers: &Modifiers, a: u32, b: u32) -> u32 {
    let is_signed = ty.is_signed();
    match op {
        ReduxOp::Add => a.wrapping_add(b),
        ReduxOp::And => a & b,
        ReduxOp::Or => a | b,
        ReduxOp::Xor => a ^ b,
        ReduxOp::Min | ReduxOp::Max if ty == ScalarType::F32 => {
            let clear = if modifiers.alternate { 0x7fff_ffff } else { u32::MAX };
            let (a, b) = (f32::from_bits(a & clear), f32::from_bits(b & clear));
            let mods = MinMaxMods { ftz: false, nan: modifiers.nan, xorsign_abs: false };
            if op == ReduxOp::Min { float32::min(a, b, mods) } else { float32::max(a, b, mods) }.to_bits()
        }
        ReduxOp::Min if is_signed => (a as i32).min(b as i32) as u32,
        ReduxOp::Max if is_signed => (a as i32).max(b as i32) as u32,
        ReduxOp::Min => a.min(b),
        ReduxOp::Max => a.max(b),
    }
}

fn elect(lanes: &mut Lanes<'_>, decoded: &Decoded) {
    let leader = lanes.mask.trailing_zeros().min(31);
    if decoded.destinations[1] != SINK {
        lanes.set_predicate(decoded.destinations[1], 1 << leader);
    }
    set_value(lanes, decoded.destinations[0], Wide::No, u64::from(leader));
}
