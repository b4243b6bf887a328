//! Exchanges, in which lanes of a warp look at each other: what they bring, what they receive, and who takes part.
//!
//! Every lane takes part with those that its own member mask names, so one instruction may be several exchanges. From
//! compute capability 7.0 on, lanes at different instructions take part in one exchange if these do the same and name the
//! same lanes; before, that is undefined.

use warplens_isa::{MatchMode, ReduxOp, ScalarType, ShuffleMode, VoteMode};

pub use crate::code::Wide;
use crate::code::{ExchangeOperation, Members, SINK, Step};
use crate::raw::Lanes;
use crate::semantics::warp::{self, ReduceMods};

/// What lanes do together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exchange {
    /// They bring a word, a lane operand and a clamp operand.
    Shuffle(ShuffleMode),
    /// They bring a truth.
    Vote(VoteMode),
    /// They bring a value.
    Match(MatchMode, Wide),
    /// They bring a word.
    Redux(ReduxOp, ScalarType, ReduceMods),
    /// Elects a lane.
    Elect,
    /// Lanes wait for each other, no more.
    Barrier,
}

/// Values that lanes bring to an exchange, by lane.
#[derive(Clone, Debug)]
pub struct Brought {
    /// Values of 32 bits.
    pub words: [u32; 32],
    /// Values of 64 bits.
    pub pairs: [u64; 32],
    /// Lanes whose predicate is true.
    pub truths: u32,
    /// Distance, lane or lane mask of a shuffle.
    pub operand: [u32; 32],
    /// Clamp value and segment mask of a shuffle.
    pub clamp: [u32; 32],
}

/// What lanes receive, by lane.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Received {
    /// Words.
    pub words: [u32; 32],
    /// Lanes that receive a true predicate.
    pub truths: u32,
}

/// How far an exchange can take place among lanes that are together.
pub(crate) enum Attendance {
    /// Everybody who is named is there; the exchange has been made.
    Made,
    /// A lane is not named by its own mask.
    Stranger { lane: u32, members: u32 },
    /// Somebody is missing. By member mask: the lanes that came.
    Lacking(Vec<Group>),
}

/// Lanes of a path that name the same lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Group {
    /// The member mask.
    pub(crate) members: u32,
    /// Lanes that came.
    pub(crate) lanes: u32,
}

impl Group {
    /// True when all named lanes that have not exited are there.
    pub(crate) fn is_complete(&self, live: u32) -> bool {
        self.members & live & !self.lanes == 0
    }
}

/// Makes the exchange among the lanes of the mask, if all that they name are there.
#[inline(always)]
pub(crate) fn attend(lanes: &mut Lanes<'_>, step: &Step, exchange: &ExchangeOperation, live: u32) -> Attendance {
    let here = lanes.mask;
    let Members::Named(source) = exchange.members else {
        make(lanes, step, exchange.what);
        return Attendance::Made;
    };
    let masks = *lanes.words(source);
    let members = masks[here.trailing_zeros().min(31) as usize];
    let differs = (0..32).fold(0, |differs, lane| differs | u32::from(masks[lane] != members) << lane);
    let group = Group { members, lanes: here };
    if differs & here == 0 && here & !members == 0 && group.is_complete(live) {
        make(lanes, step, exchange.what);
        return Attendance::Made;
    }
    attend_apart(lanes, step, exchange.what, live, masks)
}

/// Lanes with masks of their own, or some that lack others.
#[inline(never)]
fn attend_apart(lanes: &mut Lanes<'_>, step: &Step, what: Exchange, live: u32, masks: [u32; 32]) -> Attendance {
    let here = lanes.mask;
    let groups = match groups(here, &masks) {
        Ok(groups) => groups,
        Err((lane, members)) => return Attendance::Stranger { lane, members },
    };
    if !groups.iter().all(|group| group.is_complete(live)) {
        return Attendance::Lacking(groups);
    }
    for group in groups {
        lanes.mask = group.lanes;
        make(lanes, step, what);
    }
    lanes.mask = here;
    Attendance::Made
}

/// The lanes of a mask by what they name; or a lane that does not name itself, with its mask.
pub(crate) fn groups(here: u32, masks: &[u32; 32]) -> Result<Vec<Group>, (u32, u32)> {
    let mut groups: Vec<Group> = Vec::new();
    for lane in (0..32).filter(|lane| here >> lane & 1 == 1) {
        let members = masks[lane as usize];
        if members >> lane & 1 == 0 {
            return Err((lane, members));
        }
        match groups.iter_mut().find(|group| group.members == members) {
            Some(group) => group.lanes |= 1 << lane,
            None => groups.push(Group { members, lanes: 1 << lane }),
        }
    }
    Ok(groups)
}

/// Makes an exchange among the lanes of the mask.
#[inline(always)]
pub(crate) fn make(lanes: &mut Lanes<'_>, step: &Step, what: Exchange) {
    let members = lanes.mask;
    let [first, second, third, _] = step.sources;
    let received = match what {
        Exchange::Shuffle(mode) => {
            let (words, truths) = warp::shuffle(mode, lanes.words(first), lanes.words(second), lanes.words(third));
            Received { words, truths }
        }
        Exchange::Vote(mode) => Received::of_vote(mode, lanes.predicate(first), members),
        Exchange::Match(mode, Wide::Yes) => Received::of_match(mode, lanes.pairs(first), members),
        Exchange::Match(mode, Wide::No) => Received::of_match(mode, lanes.words(first), members),
        Exchange::Redux(op, ty, mods) => Received::same(warp::reduce(op, ty, lanes.words(first), members, mods)),
        Exchange::Elect => Received::of_election(members),
        Exchange::Barrier => return,
    };
    received.write(lanes, step, what);
}

impl Brought {
    /// Zeros.
    pub const NOTHING: Self = Self { words: [0; 32], pairs: [0; 32], truths: 0, operand: [0; 32], clamp: [0; 32] };

    /// Adds what the lanes of the mask bring.
    pub(crate) fn add(&mut self, lanes: &Lanes<'_>, step: &Step, what: Exchange) {
        let here = lanes.mask;
        let take = |target: &mut [u32; 32], source| pick(target, lanes.words(source), here);
        let [first, second, third, _] = step.sources;
        match what {
            Exchange::Shuffle(_) => {
                take(&mut self.words, first);
                take(&mut self.operand, second);
                take(&mut self.clamp, third);
            }
            Exchange::Vote(_) => self.truths = self.truths & !here | lanes.predicate(first) & here,
            Exchange::Match(_, Wide::Yes) => pick(&mut self.pairs, lanes.pairs(first), here),
            Exchange::Match(_, Wide::No) | Exchange::Redux(..) => take(&mut self.words, first),
            Exchange::Elect | Exchange::Barrier => {}
        }
    }

    /// What `members` receive when they bring this.
    pub(crate) fn exchanged(&self, what: Exchange, members: u32) -> Received {
        match what {
            Exchange::Shuffle(mode) => {
                let (words, truths) = warp::shuffle(mode, &self.words, &self.operand, &self.clamp);
                Received { words, truths }
            }
            Exchange::Vote(mode) => Received::of_vote(mode, self.truths, members),
            Exchange::Match(mode, Wide::Yes) => Received::of_match(mode, &self.pairs, members),
            Exchange::Match(mode, Wide::No) => Received::of_match(mode, &self.words, members),
            Exchange::Redux(op, ty, mods) => Received::same(warp::reduce(op, ty, &self.words, members, mods)),
            Exchange::Elect => Received::of_election(members),
            Exchange::Barrier => Received::same(0),
        }
    }
}

impl Received {
    /// The same word in all lanes.
    fn same(word: u32) -> Self {
        Self { words: [word; 32], truths: 0 }
    }

    /// The same truth in all lanes.
    fn truth(truth: bool) -> Self {
        Self { words: [0; 32], truths: if truth { u32::MAX } else { 0 } }
    }

    fn of_vote(mode: VoteMode, truths: u32, members: u32) -> Self {
        match mode {
            VoteMode::Ballot => Self::same(warp::vote_ballot(truths, members)),
            VoteMode::All => Self::truth(warp::vote_all(truths, members)),
            VoteMode::Any => Self::truth(warp::vote_any(truths, members)),
            VoteMode::Uniform => Self::truth(warp::vote_uni(truths, members)),
        }
    }

    fn of_match<T: PartialEq>(mode: MatchMode, values: &[T; 32], members: u32) -> Self {
        match mode {
            MatchMode::Any => Self { words: warp::match_any(values, members), truths: 0 },
            MatchMode::All => {
                let (mask, all) = warp::match_all(values, members);
                Self { words: [mask; 32], ..Self::truth(all) }
            }
        }
    }

    fn of_election(members: u32) -> Self {
        let leader = warp::elect(members) & 31;
        Self { words: [leader; 32], truths: 1 << leader }
    }

    /// Writes to the destinations, in the lanes of the mask.
    #[inline(always)]
    pub(crate) fn write(&self, lanes: &mut Lanes<'_>, step: &Step, what: Exchange) {
        let (word, predicate) = match what {
            Exchange::Barrier => return,
            Exchange::Vote(VoteMode::All | VoteMode::Any | VoteMode::Uniform) => (SINK, step.destinations[0]),
            Exchange::Vote(VoteMode::Ballot)
            | Exchange::Shuffle(_)
            | Exchange::Match(..)
            | Exchange::Redux(..)
            | Exchange::Elect => (step.destinations[0], step.destinations[1]),
        };
        if word != SINK {
            lanes.set_words(word, &self.words);
        }
        if predicate != SINK {
            lanes.set_predicate(predicate, self.truths);
        }
    }
}

fn pick<T: Copy>(target: &mut [T; 32], source: &[T; 32], lanes: u32) {
    for lane in (0..32).filter(|lane| lanes >> lane & 1 == 1) {
        target[lane] = source[lane];
    }
}
