//! Operations in which lanes of a warp look at each other.

use warplens_isa::{MatchMode, ReduxOp, ScalarType, ShuffleMode, VoteMode};

use crate::code::{Decoded, Kind, SINK, Wide};
use crate::interpret::set_value;
use crate::raw::Lanes;
use crate::semantics::warp::{self, ReduceMods};

/// Executes the operation in the lanes of the mask.
pub(crate) fn exchange(lanes: &mut Lanes<'_>, decoded: &Decoded) {
    match decoded.kind {
        Kind::Shuffle(mode) => shuffle(lanes, decoded, mode),
        Kind::Vote(mode) => vote(lanes, decoded, mode),
        Kind::Match(mode, wide) => match_lanes(lanes, decoded, mode, wide),
        Kind::Redux(op, ty, mods) => redux(lanes, decoded, op, ty, mods),
        Kind::Elect => elect(lanes, decoded),
        _ => {}
    }
}

fn shuffle(lanes: &mut Lanes<'_>, decoded: &Decoded, mode: ShuffleMode) {
    let [value, operand, clamp, _] = decoded.sources.map(|source| lanes.words(source));
    let (received, in_range) = warp::shuffle(mode, value, operand, clamp);
    lanes.set_words(decoded.destinations[0], &received);
    if decoded.destinations[1] != SINK {
        lanes.set_predicate(decoded.destinations[1], in_range);
    }
}

fn vote(lanes: &mut Lanes<'_>, decoded: &Decoded, mode: VoteMode) {
    let members = lanes.mask;
    let truths = lanes.predicate(decoded.sources[0]);
    let answer = match mode {
        VoteMode::Ballot => {
            let ballot = warp::vote_ballot(truths, members);
            return set_value(lanes, decoded.destinations[0], Wide::No, u64::from(ballot));
        }
        VoteMode::All => warp::vote_all(truths, members),
        VoteMode::Any => warp::vote_any(truths, members),
        VoteMode::Uniform => warp::vote_uni(truths, members),
    };
    set_truth(lanes, decoded.destinations[0], answer);
}

fn match_lanes(lanes: &mut Lanes<'_>, decoded: &Decoded, mode: MatchMode, wide: Wide) {
    let (source, members) = (decoded.sources[0], lanes.mask);
    if mode == MatchMode::All {
        let (mask, all) = match wide {
            Wide::Yes => warp::match_all(lanes.pairs(source), members),
            Wide::No => warp::match_all(lanes.words(source), members),
        };
        set_value(lanes, decoded.destinations[0], Wide::No, u64::from(mask));
        return set_truth(lanes, decoded.destinations[1], all);
    }
    let masks = match wide {
        Wide::Yes => warp::match_any(lanes.pairs(source), members),
        Wide::No => warp::match_any(lanes.words(source), members),
    };
    lanes.set_words(decoded.destinations[0], &masks);
}

fn redux(lanes: &mut Lanes<'_>, decoded: &Decoded, op: ReduxOp, ty: ScalarType, mods: ReduceMods) {
    let result = warp::reduce(op, ty, lanes.words(decoded.sources[0]), lanes.mask, mods);
    set_value(lanes, decoded.destinations[0], Wide::No, u64::from(result));
}

fn elect(lanes: &mut Lanes<'_>, decoded: &Decoded) {
    let leader = warp::elect(lanes.mask) & 31;
    if decoded.destinations[1] != SINK {
        lanes.set_predicate(decoded.destinations[1], 1 << leader);
    }
    set_value(lanes, decoded.destinations[0], Wide::No, u64::from(leader));
}

fn set_truth(lanes: &mut Lanes<'_>, predicate: u32, truth: bool) {
    if predicate != SINK {
        lanes.set_predicate(predicate, if truth { u32::MAX } else { 0 });
    }
}
