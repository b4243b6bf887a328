//! Exchanges, in which lanes of a warp look at each other: what they bring, what they receive, and who takes part.
//!
//! Every lane takes part with those that its own member mask names, so one instruction may be several exchanges. From
//! compute capability 7.0 on, lanes at different instructions take part in one exchange if these do the same and name the
//! same lanes; before, that is undefined.

use crate::code::{ExchangeOperation, Members, SINK, Step};
use crate::raw::Lanes;
use crate::semantics::warp::{Bring, Exchange, Gives, Received, Sort};

/// Most values that a lane brings to an exchange.
pub const MOST_OPERANDS: usize = 3;

/// Values that lanes bring to an exchange from different places, by lane.
#[derive(Clone, Debug)]
pub struct Brought {
    /// Values of 32 bits, by operand.
    pub words: [[u32; 32]; MOST_OPERANDS],
    /// Values of 64 bits, by operand.
    pub pairs: [[u64; 32]; MOST_OPERANDS],
    /// Lanes whose predicate is true, by operand.
    pub truths: [u32; MOST_OPERANDS],
}

/// Values that lanes bring which are at one place.
struct Here<'a, 'l> {
    lanes: &'a Lanes<'l>,
    step: &'a Step,
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
    let masks = lanes.words(source);
    let members = masks[here.trailing_zeros().min(31) as usize];
    let differs = |masks: &[u32; 32]| (0..32).fold(0, |all, lane| all | u32::from(masks[lane] != members) << lane);
    let is_one = source.is_constant() || differs(masks) & here == 0;
    let group = Group { members, lanes: here };
    if is_one && here & !members == 0 && group.is_complete(live) {
        make(lanes, step, exchange.what);
        return Attendance::Made;
    }
    let masks = *masks;
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
    if what.gives() == Gives::Nothing {
        return;
    }
    let received = what.exchanged(&Here { lanes, step }, lanes.mask);
    receive(&received, lanes, step, what);
}

/// Writes to the destinations, in the lanes of the mask.
#[inline(always)]
pub(crate) fn receive(received: &Received, lanes: &mut Lanes<'_>, step: &Step, what: Exchange) {
    let [first, second] = step.destinations;
    let (word, predicate) = match what.gives() {
        Gives::Nothing => return,
        Gives::Word => (first, SINK),
        Gives::Truth => (SINK, first),
        Gives::WordAndTruth => (first, second),
    };
    if word != SINK {
        lanes.set_words(word, &received.words);
    }
    if predicate != SINK {
        lanes.set_predicate(predicate, received.truths);
    }
}

impl Bring for Here<'_, '_> {
    #[inline(always)]
    fn words(&self, at: usize) -> &[u32; 32] {
        self.lanes.words(self.step.sources[at])
    }

    #[inline(always)]
    fn pairs(&self, at: usize) -> &[u64; 32] {
        self.lanes.pairs(self.step.sources[at])
    }

    #[inline(always)]
    fn truths(&self, at: usize) -> u32 {
        self.lanes.predicate(self.step.sources[at])
    }
}

impl Bring for Brought {
    fn words(&self, at: usize) -> &[u32; 32] {
        &self.words[at]
    }

    fn pairs(&self, at: usize) -> &[u64; 32] {
        &self.pairs[at]
    }

    fn truths(&self, at: usize) -> u32 {
        self.truths[at]
    }
}

impl Brought {
    /// Zeros.
    pub const NOTHING: Self =
        Self { words: [[0; 32]; MOST_OPERANDS], pairs: [[0; 32]; MOST_OPERANDS], truths: [0; MOST_OPERANDS] };

    /// Adds what the lanes of the mask bring.
    pub(crate) fn add(&mut self, lanes: &Lanes<'_>, step: &Step, what: Exchange) {
        let (mask, here) = (lanes.mask, Here { lanes, step });
        for (at, sort) in what.brings().iter().enumerate() {
            match sort {
                Sort::Word => pick(&mut self.words[at], here.words(at), mask),
                Sort::Pair => pick(&mut self.pairs[at], here.pairs(at), mask),
                Sort::Truth => self.truths[at] = self.truths[at] & !mask | here.truths(at) & mask,
            }
        }
    }
}

fn pick<T: Copy>(target: &mut [T; 32], source: &[T; 32], lanes: u32) {
    for lane in (0..32).filter(|lane| lanes >> lane & 1 == 1) {
        target[lane] = source[lane];
    }
}
