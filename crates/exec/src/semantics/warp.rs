//! Exchanges between the lanes of a warp: `shfl vote match redux elect movmatrix`.
//!
//! [`Exchange`] is all that the emulator knows about them: what each lane brings, what it receives, and who takes part
//! where no lanes are named. The operation table names a constructor of it for each operation that is one.
//!
//! Lanes are bits of a `u32`; values are arrays with one element per lane. Elements of lanes outside the member mask are
//! never looked at, except as the source of a shuffle, which the instruction set leaves undefined.

use warplens_isa::{MatchMode, Reduction, ReduxOp, ScalarType, ShuffleMode, VoteMode};

use super::MinMaxMods;
use super::float32;

/// The lanes of a warp.
pub const LANES: usize = 32;

/// What lanes do together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exchange {
    /// Value, lane operand, clamp operand.
    Shuffle(ShuffleMode),
    /// Predicate.
    Vote(VoteMode),
    /// Value, 64 bits wide if so marked.
    Match(MatchMode, Sort),
    /// Value.
    Redux(ReduxOp, ScalarType, ReduceMods),
    /// Elects a lane.
    Elect,
    /// Fragment of a row of a matrix.
    Movmatrix,
    /// Lanes wait for each other, no more.
    Barrier,
}

/// A sort of values that lanes have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sort {
    /// 32 bits.
    Word,
    /// 64 bits.
    Pair,
    /// A predicate.
    Truth,
}

/// Where lanes receive what: a register, a predicate, or both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gives {
    /// Nothing is received.
    Nothing,
    /// A word.
    Word,
    /// A predicate.
    Truth,
    /// A word, then a predicate.
    WordAndTruth,
}

/// Who takes part in an exchange that names no lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unnamed {
    /// Those that execute it together; they wait for nobody.
    Present,
    /// All lanes of the warp that have not exited: the others are waited for.
    All,
}

/// Values that lanes bring, by the position of the operand.
pub trait Bring {
    /// Words.
    fn words(&self, at: usize) -> &[u32; LANES];
    /// Pairs of words.
    fn pairs(&self, at: usize) -> &[u64; LANES];
    /// Predicates, one bit for each lane.
    fn truths(&self, at: usize) -> u32;
}

/// What lanes receive, by lane.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Received {
    /// Words.
    pub words: [u32; LANES],
    /// Predicates.
    pub truths: u32,
}

/// Constructors, in the names of the operation table: of the type and the payload of an operation.
impl Exchange {
    pub(crate) fn shfl(_: ScalarType, mode: &ShuffleMode) -> Self {
        Self::Shuffle(*mode)
    }

    pub(crate) fn vote(_: ScalarType, mode: &VoteMode) -> Self {
        Self::Vote(*mode)
    }

    pub(crate) fn match_(ty: ScalarType, mode: &MatchMode) -> Self {
        Self::Match(*mode, if ty.bits() > 32 { Sort::Pair } else { Sort::Word })
    }

    pub(crate) fn redux(ty: ScalarType, reduction: &Reduction) -> Self {
        Self::Redux(reduction.op, ty, ReduceMods { abs: reduction.abs, nan: reduction.nan })
    }

    pub(crate) fn elect(_: ScalarType) -> Self {
        Self::Elect
    }

    pub(crate) fn movmatrix(_: ScalarType) -> Self {
        Self::Movmatrix
    }

    pub(crate) fn bar_warp(_: ScalarType) -> Self {
        Self::Barrier
    }
}

impl Exchange {
    /// What each lane brings: the operands in front of the member mask.
    pub const fn brings(self) -> &'static [Sort] {
        match self {
            Self::Shuffle(_) => &[Sort::Word, Sort::Word, Sort::Word],
            Self::Vote(_) => &[Sort::Truth],
            Self::Match(_, Sort::Pair) => &[Sort::Pair],
            Self::Match(_, Sort::Word | Sort::Truth) | Self::Redux(..) | Self::Movmatrix => &[Sort::Word],
            Self::Elect | Self::Barrier => &[],
        }
    }

    /// What each lane receives.
    #[inline(always)]
    pub const fn gives(self) -> Gives {
        match self {
            Self::Barrier => Gives::Nothing,
            Self::Vote(VoteMode::All | VoteMode::Any | VoteMode::Uniform) => Gives::Truth,
            Self::Vote(VoteMode::Ballot) | Self::Redux(..) | Self::Movmatrix => Gives::Word,
            Self::Shuffle(_) | Self::Match(..) | Self::Elect => Gives::WordAndTruth,
        }
    }

    /// Who takes part where no lanes are named.
    pub const fn unnamed(self) -> Unnamed {
        match self {
            // PTX had these without a member mask before 6.0.
            Self::Shuffle(_) | Self::Vote(_) => Unnamed::Present,
            Self::Match(..) | Self::Redux(..) | Self::Elect | Self::Movmatrix | Self::Barrier => Unnamed::All,
        }
    }

    /// What `members` receive when they bring this.
    #[inline(always)]
    pub fn exchanged(self, brought: &impl Bring, members: u32) -> Received {
        match self {
            Self::Shuffle(mode) => {
                let (words, truths) = shuffle(mode, brought.words(0), brought.words(1), brought.words(2));
                Received { words, truths }
            }
            Self::Vote(mode) => Received::of_vote(mode, brought.truths(0), members),
            Self::Match(mode, Sort::Pair) => Received::of_match(mode, brought.pairs(0), members),
            Self::Match(mode, Sort::Word | Sort::Truth) => Received::of_match(mode, brought.words(0), members),
            Self::Redux(op, ty, mods) => Received::same(reduce(op, ty, brought.words(0), members, mods)),
            Self::Elect => Received::of_election(members),
            Self::Movmatrix => Received { words: transpose(brought.words(0), members), truths: 0 },
            Self::Barrier => Received::same(0),
        }
    }
}

impl Received {
    /// The same word in all lanes.
    fn same(word: u32) -> Self {
        Self { words: [word; LANES], truths: 0 }
    }

    /// The same truth in all lanes.
    fn truth(truth: bool) -> Self {
        Self { words: [0; LANES], truths: if truth { u32::MAX } else { 0 } }
    }

    fn of_vote(mode: VoteMode, truths: u32, members: u32) -> Self {
        match mode {
            VoteMode::Ballot => Self::same(vote_ballot(truths, members)),
            VoteMode::All => Self::truth(vote_all(truths, members)),
            VoteMode::Any => Self::truth(vote_any(truths, members)),
            VoteMode::Uniform => Self::truth(vote_uni(truths, members)),
        }
    }

    fn of_match<T: PartialEq>(mode: MatchMode, values: &[T; LANES], members: u32) -> Self {
        match mode {
            MatchMode::Any => Self { words: match_any(values, members), truths: 0 },
            MatchMode::All => {
                let (mask, all) = match_all(values, members);
                Self { words: [mask; LANES], ..Self::truth(all) }
            }
        }
    }

    fn of_election(members: u32) -> Self {
        let leader = elect(members) & 31;
        Self { words: [leader; LANES], truths: 1 << leader }
    }
}

/// The lane that `lane` reads from, and whether that lane is within the segment: if not, a lane reads from itself. `b` is
/// the distance, lane mask or lane number; `c` holds the clamp value in bits 4..0 and the segment mask in bits 12..8.
#[inline(always)]
pub fn shuffle_source(mode: ShuffleMode, lane: u32, b: u32, c: u32) -> (u32, bool) {
    let b = b & 31;
    let (clamp, segment) = (c & 31, (c >> 8) & 31);
    let first = lane & segment;
    let last = first | (clamp & !segment);
    let (source, in_range) = match mode {
        // A difference below zero is out of range as well: signed comparison.
        ShuffleMode::Up => (lane.wrapping_sub(b), lane as i32 - b as i32 >= last as i32),
        ShuffleMode::Down => (lane + b, lane + b <= last),
        ShuffleMode::Butterfly => (lane ^ b, lane ^ b <= last),
        ShuffleMode::Index => {
            let source = first | (b & !segment);
            (source, source <= last)
        }
    };
    (if in_range { source & 31 } else { lane }, in_range)
}

/// Shuffles all lanes: the values received and the mask of lanes whose source was in range. `b` and `c` are per lane.
#[inline(always)]
pub fn shuffle(mode: ShuffleMode, values: &[u32; LANES], b: &[u32; LANES], c: &[u32; LANES]) -> ([u32; LANES], u32) {
    let mut received = [0; LANES];
    let mut in_range_mask = 0;
    for lane in 0..LANES {
        let (source, in_range) = shuffle_source(mode, lane as u32, b[lane], c[lane]);
        received[lane] = values[source as usize];
        in_range_mask |= u32::from(in_range) << lane;
    }
    (received, in_range_mask)
}

/// Whether the predicate holds in all member lanes.
#[inline(always)]
pub fn vote_all(predicate: u32, members: u32) -> bool {
    predicate & members == members
}

/// Whether the predicate holds in any member lane.
#[inline(always)]
pub fn vote_any(predicate: u32, members: u32) -> bool {
    predicate & members != 0
}

/// Whether the predicate has one value in all member lanes.
#[inline(always)]
pub fn vote_uni(predicate: u32, members: u32) -> bool {
    vote_all(predicate, members) || !vote_any(predicate, members)
}

/// The member lanes in which the predicate holds.
#[inline(always)]
pub fn vote_ballot(predicate: u32, members: u32) -> u32 {
    predicate & members
}

/// For each member lane, the member lanes that hold the same value; zero for others.
#[inline]
pub fn match_any<T: PartialEq>(values: &[T; LANES], members: u32) -> [u32; LANES] {
    std::array::from_fn(|lane| {
        if members >> lane & 1 == 0 {
            return 0;
        }
        lanes(members).filter(|&other| values[other] == values[lane]).fold(0, |mask, other| mask | 1 << other)
    })
}

/// The member mask if all member lanes hold the same value, else zero; and whether they do.
#[inline]
pub fn match_all<T: PartialEq>(values: &[T; LANES], members: u32) -> (u32, bool) {
    let first = members.trailing_zeros() as usize;
    let all = lanes(members).all(|lane| values[lane] == values[first]);
    (if all { members } else { 0 }, all)
}

/// The lane that `elect` chooses: the lowest member.
#[inline(always)]
pub fn elect(members: u32) -> u32 {
    members.trailing_zeros()
}

/// Transposes a matrix of 8 by 8 elements of 16 bits. Of a matrix and of its transpose, lane 4r + c holds the elements
/// 2c (in the low half) and 2c + 1 of row r. All lanes have to be members: what others hold counts as zeros, which the
/// instruction set leaves undefined.
#[inline]
pub fn transpose(values: &[u32; LANES], members: u32) -> [u32; LANES] {
    let element = |row: usize, column: usize| {
        let lane = 4 * row + column / 2;
        let word = if members >> lane & 1 == 1 { values[lane] } else { 0 };
        word >> (16 * (column % 2)) & 0xffff
    };
    std::array::from_fn(|lane| {
        let (row, column) = (lane / 4, 2 * (lane % 4));
        element(column, row) | element(column + 1, row) << 16
    })
}

/// `redux`: one result for all member lanes. Without members the result is the operation's neutral element; for f32,
/// which has minimum and maximum only, it is NaN.
#[inline]
pub fn reduce(op: ReduxOp, ty: ScalarType, values: &[u32; LANES], members: u32, mods: ReduceMods) -> u32 {
    if ty == ScalarType::F32 {
        return reduce_f32(op, values, members, mods);
    }
    let members = lanes(members).map(|lane| values[lane]);
    match op {
        ReduxOp::Add => members.fold(0, u32::wrapping_add),
        ReduxOp::Min if ty.is_signed() => members.fold(i32::MAX, |a, b| a.min(b as i32)) as u32,
        ReduxOp::Max if ty.is_signed() => members.fold(i32::MIN, |a, b| a.max(b as i32)) as u32,
        ReduxOp::Min => members.fold(u32::MAX, u32::min),
        ReduxOp::Max => members.fold(0, u32::max),
        ReduxOp::And => members.fold(u32::MAX, |a, b| a & b),
        ReduxOp::Or => members.fold(0, |a, b| a | b),
        ReduxOp::Xor => members.fold(0, |a, b| a ^ b),
    }
}

/// Modifiers of a reduction of f32.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub struct ReduceMods {
    /// Magnitudes are compared.
    pub abs: bool,
    /// NaN wins over every number; otherwise it is skipped unless all members are NaN.
    pub nan: bool,
}

fn reduce_f32(op: ReduxOp, values: &[u32; LANES], members: u32, mods: ReduceMods) -> u32 {
    let value = |lane: usize| f32::from_bits(if mods.abs { values[lane] & 0x7fff_ffff } else { values[lane] });
    let mods = MinMaxMods { nan: mods.nan, ..MinMaxMods::default() };
    let keep = |a: f32, b: f32| match op {
        ReduxOp::Min => float32::min(a, b, mods),
        _ => float32::max(a, b, mods),
    };
    let mut members = lanes(members);
    // The first member meets itself, so that a lone NaN becomes canonical too.
    let first = members.next().map_or(f32::NAN, value);
    members.fold(keep(first, first), |a, lane| keep(a, value(lane))).to_bits()
}

/// The lanes of a mask, in order.
#[inline(always)]
fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let lane = rest.trailing_zeros() as usize;
        rest &= rest.wrapping_sub(1);
        (lane < LANES).then_some(lane)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn iota() -> [u32; LANES] {
        std::array::from_fn(|lane| lane as u32)
    }

    fn sources(mode: ShuffleMode, b: u32, c: u32) -> ([u32; LANES], u32) {
        shuffle(mode, &iota(), &[b; LANES], &[c; LANES])
    }

    #[test]
    fn full_warp_shuffles() {
        // The operand c of CUDA's width-32 intrinsics: 31, and 0 for the upward one.
        let (up, in_range) = sources(ShuffleMode::Up, 3, 0);
        assert_eq!((up[0], up[2], up[3], up[31]), (0, 2, 0, 28));
        assert_eq!(in_range, !0b111);
        let (down, in_range) = sources(ShuffleMode::Down, 3, 31);
        assert_eq!((down[0], down[28], down[29], down[31]), (3, 31, 29, 31));
        assert_eq!(in_range, u32::MAX >> 3);
        let (butterfly, in_range) = sources(ShuffleMode::Butterfly, 5, 31);
        assert_eq!((butterfly[0], butterfly[31]), (5, 26));
        assert_eq!(in_range, u32::MAX);
        let (index, in_range) = sources(ShuffleMode::Index, 37, 31);
        assert_eq!((index, in_range), ([5; LANES], u32::MAX));
    }

    #[test]
    fn segments_of_eight_lanes() {
        // Width 8: segment mask 0b11000.
        let c = 0x1800;
        let (up, in_range) = sources(ShuffleMode::Up, 1, c);
        assert_eq!((up[8], up[9], up[15], up[16]), (8, 8, 14, 16));
        assert_eq!(in_range, 0xfefe_fefe);
        let (down, in_range) = sources(ShuffleMode::Down, 1, c | 31);
        assert_eq!((down[7], down[8], down[15]), (7, 9, 15));
        assert_eq!(in_range, 0x7f7f_7f7f);
        let (index, _) = sources(ShuffleMode::Index, 2, c | 31);
        assert_eq!((index[0], index[9], index[31]), (2, 10, 26));
        // A butterfly that leaves the segment upward is out of range, downward it is not: the limit is a maximum.
        let (butterfly, in_range) = sources(ShuffleMode::Butterfly, 8, c | 31);
        assert_eq!((butterfly[0], butterfly[8]), (0, 0));
        assert_eq!(in_range, 0xff00_ff00);
    }

    #[test]
    fn votes_ask_members_only() {
        assert!(vote_all(0b0110, 0b0110) && !vote_all(0b0100, 0b0110));
        assert!(vote_any(0b0100, 0b0110) && !vote_any(0b1001, 0b0110));
        assert!(vote_uni(0b1001, 0b0110) && vote_uni(0b0110, 0b0110) && !vote_uni(0b0010, 0b0110));
        assert_eq!(vote_ballot(0b1011, 0b0110), 0b0010);
        assert_eq!(elect(0b11000), 3);
    }

    #[test]
    fn matches() {
        let values: [u64; LANES] = std::array::from_fn(|lane| (lane as u64 % 3) << 40);
        let masks = match_any(&values, 0b111_1110);
        assert_eq!(&masks[..8], &[0, 0b001_0010, 0b010_0100, 0b100_1000, 0b001_0010, 0b010_0100, 0b100_1000, 0]);
        assert_eq!(match_all(&values, 0b1001), (0b1001, true));
        assert_eq!(match_all(&values, 0b1011), (0, false));
    }

    #[test]
    fn reductions() {
        let mut values = iota();
        values[3] = 0xffff_fffe;
        let members = 0b1110;
        let table = [
            (ReduxOp::Add, ScalarType::U32, 1),
            (ReduxOp::Min, ScalarType::U32, 1),
            (ReduxOp::Max, ScalarType::U32, 0xffff_fffe),
            (ReduxOp::Min, ScalarType::S32, 0xffff_fffe),
            (ReduxOp::Max, ScalarType::S32, 2),
            (ReduxOp::And, ScalarType::B32, 0),
            (ReduxOp::Or, ScalarType::B32, 0xffff_ffff),
            (ReduxOp::Xor, ScalarType::B32, 0xffff_fffd),
        ];
        for (op, ty, expected) in table {
            assert_eq!(reduce(op, ty, &values, members, ReduceMods::default()), expected, "{op:?}");
        }
    }

    #[test]
    fn float_reductions() {
        let mut values = [0; LANES];
        values[..4].copy_from_slice(&[1.0f32, -5.0, f32::NAN, 3.0].map(f32::to_bits));
        let reduce = |op, members, abs, nan| reduce(op, ScalarType::F32, &values, members, ReduceMods { abs, nan });
        assert_eq!(reduce(ReduxOp::Min, 0b1111, false, false), (-5.0f32).to_bits());
        assert_eq!(reduce(ReduxOp::Max, 0b1111, false, false), 3.0f32.to_bits());
        assert_eq!(reduce(ReduxOp::Max, 0b1111, true, false), 5.0f32.to_bits());
        assert_eq!(reduce(ReduxOp::Min, 0b1111, true, false), 1.0f32.to_bits());
        assert_eq!(reduce(ReduxOp::Min, 0b1111, false, true), 0x7fff_ffff);
        assert_eq!(reduce(ReduxOp::Min, 0b1011, false, true), (-5.0f32).to_bits());
        assert_eq!(reduce(ReduxOp::Min, 0b0100, false, false), 0x7fff_ffff);
    }
}
