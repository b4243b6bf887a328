//! What the warps of some CTAs executed, in order: blocks with their masks, and the addresses of memory accesses.
//!
//! A trace is independent of the machine: which instructions a block has is said by the [`Code`](crate::Code) of a
//! generation, and a memory instruction finds its accesses by the slot, wherever a schedule has put it.
//!
//! Traces are kept of whole CTAs, so they are small: what repeats (a block with its lanes, the size and the pattern of an
//! access) stands once for a warp, and a step takes 4 bytes, an access 12. Only lanes that gather at random take more.

mod builder;
mod packed;
mod packer;

use std::ops::Range;
use std::sync::Arc;

use warplens_isa::StateSpace;

use crate::{AccessKind, ActiveMask, Chain, Code, CtaId, WARP_SIZE};

pub use builder::WarpTraceBuilder;
pub use packer::{CtaPacker, PackedCta};

/// The warps of one CTA.
#[derive(Clone, PartialEq, Debug)]
pub struct CtaTrace {
    /// Which CTA of the grid.
    pub id: CtaId,
    /// Its warps, by their index. Shared, because one trace serves many simulations.
    pub warps: Arc<[WarpTrace]>,
}

/// What one warp executed: [`WarpTraceBuilder`] makes it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct WarpTrace {
    /// The kind of each step, in the order of execution; the paths of a divergent warp come one after the other.
    steps: Box<[u32]>,
    kinds: Box<[StepKind]>,
    /// The shape of each access and where it begins, in the order of the steps.
    shapes_of: Box<[u32]>,
    bases: Box<[u64]>,
    shapes: Box<[Shape]>,
    patterns: Box<[Pattern]>,
    /// Addresses that are too far apart for a pattern: 32 for each such access.
    addresses: Box<[u64]>,
}

/// The lists of a trace, wherever they lie, but for where accesses begin.
#[derive(Clone, Copy, Debug)]
struct Parts<'a> {
    steps: &'a [u32],
    kinds: &'a [StepKind],
    shapes_of: &'a [u32],
    shapes: &'a [Shape],
    patterns: &'a [Pattern],
    addresses: &'a [u64],
}

impl Parts<'_> {
    /// Bytes of memory that the trace takes.
    const fn bytes(&self) -> u64 {
        let bytes = size_of_val(self.steps)
            + size_of_val(self.kinds)
            + size_of_val(self.shapes_of)
            + size_of::<u64>() * self.shapes_of.len()
            + size_of_val(self.shapes)
            + size_of_val(self.patterns)
            + size_of_val(self.addresses)
            + size_of::<WarpTrace>();
        bytes as u64
    }
}

/// Bytes from the first lane of a mask to each of its lanes; 0 for others.
type Pattern = [i32; WARP_SIZE];

/// What steps have in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct StepKind {
    block: u32,
    mask: ActiveMask,
    n_accesses: u32,
}

/// What accesses have in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Shape {
    slot: u16,
    element_bytes: u8,
    elements: u8,
    space: StateSpace,
    kind: AccessKind,
    mask: ActiveMask,
    rule: Rule,
}

/// How the addresses of the lanes follow from the base of an access.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Rule {
    /// By a number of bytes from lane to lane.
    Stride(i64),
    /// By the pattern with this number.
    Pattern(u32),
    /// The base is the first of 32 in the list of addresses.
    Listed,
}

/// One execution of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// The block, as [`Code::blocks`](crate::Code::blocks) numbers it.
    pub block: u32,
    /// Lanes that execute it.
    pub mask: ActiveMask,
    /// The number of its first access, and how many it has.
    first_access: u32,
    n_accesses: u32,
    /// Where it is in the trace: a chain is several steps there.
    first_step: u32,
}

impl Step {
    /// No step.
    pub const NONE: Self = Self { block: 0, mask: ActiveMask::EMPTY, first_access: 0, n_accesses: 0, first_step: 0 };

    const fn accesses(&self) -> Range<usize> {
        self.first_access as usize..(self.first_access + self.n_accesses) as usize
    }
}

/// A place between the steps of a trace: that of the first at the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cursor {
    step: u32,
    access: u32,
}

/// One request of a warp. A generic access to several spaces makes several, with the same slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WarpAccess {
    /// Which memory instruction of the block.
    pub slot: u16,
    /// Bytes of one element.
    pub element_bytes: u8,
    /// Elements per lane.
    pub elements: u8,
    /// State space; never generic.
    pub space: StateSpace,
    /// Load, store or atomic.
    pub kind: AccessKind,
    /// Lanes that access memory; never empty.
    pub mask: ActiveMask,
    /// Addresses of the lanes.
    pub lanes: Lanes,
}

/// Addresses of the lanes of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lanes {
    /// Lane `i` accesses `base + i * stride`; lanes outside the mask count along.
    Affine {
        /// Address of lane 0, whether or not it takes part.
        base: u64,
        /// Bytes from lane to lane.
        stride: i64,
    },
    /// Another pattern, which begins at the first lane of the mask.
    Pattern {
        /// Address of the first lane.
        base: u64,
        /// Number of the pattern in its trace.
        number: u32,
    },
    /// Without a pattern: by number of the first address in its trace.
    Listed(u32),
}

impl WarpTrace {
    /// Its steps, in order.
    pub fn steps(&self) -> impl Iterator<Item = Step> {
        let mut cursor = Cursor::default();
        std::iter::from_fn(move || self.next(&mut cursor))
    }

    /// The step with this index, found by counting.
    pub fn step(&self, index: usize) -> Option<Step> {
        self.steps().nth(index)
    }

    /// Number of its steps.
    pub const fn n_steps(&self) -> usize {
        self.steps.len()
    }

    /// The step after a place, which moves on.
    #[inline]
    pub fn next(&self, cursor: &mut Cursor) -> Option<Step> {
        let kind = self.kinds[*self.steps.get(cursor.step as usize)? as usize];
        let StepKind { block, mask, n_accesses } = kind;
        let step = Step { block, mask, first_access: cursor.access, n_accesses, first_step: cursor.step };
        *cursor = Cursor { step: cursor.step + 1, access: cursor.access + n_accesses };
        Some(step)
    }

    /// The step after a place as machine code has it: the blocks of a [`Chain`](crate::Chain) are one. The place moves on.
    #[inline]
    pub fn next_of(&self, code: &Code, cursor: &mut Cursor) -> Option<Step> {
        let step = self.next(cursor)?;
        Some(code.chain(step.block).and_then(|chain| self.chain(chain, step, cursor)).unwrap_or(step))
    }

    /// The steps of a chain as one, if it goes on as one from its first step.
    fn chain(&self, chain: &Chain, first: Step, cursor: &mut Cursor) -> Option<Step> {
        let rest = &chain.blocks[1..];
        let from = cursor.step as usize;
        let steps = self.steps.get(from..from + rest.len())?;
        let mut n_accesses = first.n_accesses;
        for (&kind, &block) in steps.iter().zip(rest) {
            let kind = &self.kinds[kind as usize];
            if kind.block != block || kind.mask != first.mask {
                return None;
            }
            n_accesses += kind.n_accesses;
        }
        cursor.step += rest.len() as u32;
        cursor.access = first.first_access + n_accesses;
        Some(Step { block: chain.merged, n_accesses, ..first })
    }

    /// Its steps as machine code has them, in order.
    pub fn steps_of<'a>(&'a self, code: &'a Code) -> impl Iterator<Item = Step> + 'a {
        let mut cursor = Cursor::default();
        std::iter::from_fn(move || self.next_of(code, &mut cursor))
    }

    /// Its accesses, in the order of the steps.
    pub fn accesses(&self) -> impl ExactSizeIterator<Item = WarpAccess> {
        (0..self.bases.len()).map(|number| self.access(number))
    }

    /// The accesses of a step.
    pub fn accesses_of(&self, step: &Step) -> impl ExactSizeIterator<Item = WarpAccess> {
        step.accesses().map(|number| self.access(number))
    }

    /// The numbers of the accesses of a step.
    pub const fn numbers_of(&self, step: &Step) -> Range<usize> {
        step.accesses()
    }

    /// The accesses of one memory instruction in a step, of this block where the step is a chain: mostly one, none where no
    /// lane accesses memory.
    pub fn accesses_at(&self, step: &Step, turn: u16, slot: u16) -> impl ExactSizeIterator<Item = WarpAccess> + Clone {
        let all = if turn == 0 && self.n_accesses_of(step.first_step) == step.n_accesses {
            step.accesses()
        } else {
            let before: u32 = (0..turn.into()).map(|turn| self.n_accesses_of(step.first_step + turn)).sum();
            let first = step.first_access + before;
            let turn_of = self.n_accesses_of(step.first_step + u32::from(turn));
            first as usize..(first + turn_of) as usize
        };
        let slot_of = |number: usize| self.shapes[self.shapes_of[number] as usize].slot;
        // Where every instruction has one access, the slot is the index.
        let guess = all.start + usize::from(slot);
        let is_first = guess < all.end && slot_of(guess) == slot && (guess == all.start || slot_of(guess - 1) != slot);
        let first = if is_first {
            guess
        } else {
            let shapes = &self.shapes_of[all.clone()];
            all.start + shapes.partition_point(|&shape| self.shapes[shape as usize].slot < slot)
        };
        let count = (first..all.end).take_while(|&number| slot_of(number) == slot).count();
        (first..first + count).map(|number| self.access(number))
    }

    fn n_accesses_of(&self, step: u32) -> u32 {
        self.kinds[self.steps[step as usize] as usize].n_accesses
    }

    /// An access by its number in the trace.
    pub fn access(&self, number: usize) -> WarpAccess {
        let Shape { slot, element_bytes, elements, space, kind, mask, rule } =
            self.shapes[self.shapes_of[number] as usize];
        let base = self.bases[number];
        let lanes = match rule {
            Rule::Stride(stride) => Lanes::Affine { base, stride },
            Rule::Pattern(number) => Lanes::Pattern { base, number },
            Rule::Listed => Lanes::Listed(u32::try_from(base).expect("an index of the list")),
        };
        WarpAccess { slot, element_bytes, elements, space, kind, mask, lanes }
    }

    /// True where an access tells or asks a barrier in memory something ([`Told`](crate::Told)).
    #[inline]
    pub fn speaks(&self, access: &WarpAccess) -> bool {
        if access.space != StateSpace::Shared || access.element_bytes != 8 {
            return false;
        }
        let first = match access.lanes {
            Lanes::Affine { base, stride } => {
                let lane = access.mask.lowest().unwrap_or(0) as u64;
                base.wrapping_add(lane.wrapping_mul(stride.cast_unsigned()))
            }
            Lanes::Pattern { base, .. } => base,
            Lanes::Listed(index) => self.addresses[index as usize + access.mask.lowest().unwrap_or(0)],
        };
        crate::Told::of(first).is_some()
    }

    /// Writes the addresses of an access; those of lanes outside its mask mean nothing.
    #[inline]
    pub fn expand(&self, access: &WarpAccess, into: &mut [u64; WARP_SIZE]) {
        match access.lanes {
            Lanes::Affine { base, stride } => {
                let mut address = base;
                for lane in into {
                    *lane = address;
                    address = address.wrapping_add_signed(stride);
                }
            }
            Lanes::Pattern { base, number } => {
                for (lane, offset) in into.iter_mut().zip(&self.patterns[number as usize]) {
                    *lane = base.wrapping_add_signed(i64::from(*offset));
                }
            }
            Lanes::Listed(index) => into.copy_from_slice(&self.addresses[index as usize..index as usize + WARP_SIZE]),
        }
    }

    /// The same with all addresses of a state space `bytes` further on.
    #[must_use]
    pub fn moved(&self, space: StateSpace, bytes: i64) -> Self {
        let mut moved = self.clone();
        for (base, shape) in moved.bases.iter_mut().zip(&self.shapes_of) {
            let shape = &self.shapes[*shape as usize];
            match shape.rule {
                _ if shape.space != space => {}
                Rule::Stride(_) | Rule::Pattern(_) => *base = base.wrapping_add_signed(bytes),
                Rule::Listed => {
                    let first = usize::try_from(*base).expect("an index of the list");
                    for address in &mut moved.addresses[first..first + WARP_SIZE] {
                        *address = address.wrapping_add_signed(bytes);
                    }
                }
            }
        }
        moved
    }

    /// Bytes of memory that it takes.
    pub const fn bytes(&self) -> u64 {
        self.parts().bytes()
    }

    const fn parts(&self) -> Parts<'_> {
        Parts {
            steps: &self.steps,
            kinds: &self.kinds,
            shapes_of: &self.shapes_of,
            shapes: &self.shapes,
            patterns: &self.patterns,
            addresses: &self.addresses,
        }
    }
}

impl Lanes {
    /// The rule that the addresses of the lanes in `mask` follow, if they follow one.
    pub fn affine(mask: ActiveMask, addresses: &[u64; WARP_SIZE]) -> Option<Self> {
        let first = mask.lowest()?;
        let rest = ActiveMask(mask.0 & (mask.0 - 1));
        let Some(second) = rest.lowest() else {
            return Some(Self::Affine { base: addresses[first], stride: 0 });
        };
        let difference = addresses[second].wrapping_sub(addresses[first]).cast_signed();
        let apart = i64::try_from(second - first).expect("fewer than 32 lanes");
        if difference % apart != 0 {
            return None;
        }
        let stride = difference / apart;
        let base = addresses[first].wrapping_sub((first as u64).wrapping_mul(stride.cast_unsigned()));
        let of = |lane: usize| base.wrapping_add((lane as u64).wrapping_mul(stride.cast_unsigned()));
        // Mostly the last lane tells already.
        let last = WARP_SIZE - 1 - mask.0.leading_zeros() as usize;
        if addresses[last] != of(last) {
            return None;
        }
        let follows = if mask.is_full() {
            let (mut expected, mut differs) = (base, 0);
            for &address in addresses {
                differs |= address ^ expected;
                expected = expected.wrapping_add_signed(stride);
            }
            differs == 0
        } else {
            rest.lanes().all(|lane| addresses[lane] == of(lane))
        };
        follows.then_some(Self::Affine { base, stride })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_back_as_they_were() {
        let rows: [u64; WARP_SIZE] = std::array::from_fn(|lane| 4096 - 12 * lane as u64);
        let mut scattered = rows;
        scattered[7] += 4;
        let mut far = rows;
        far[9] += 1 << 40;
        let mut warp = WarpTraceBuilder::default();
        warp.step(3, ActiveMask::FULL);
        let mask = ActiveMask(0xf0f0_00f0);
        for addresses in [&rows, &scattered] {
            warp.access(0, StateSpace::Global, AccessKind::Load, (4, 1), mask, addresses);
        }
        warp.step(4, ActiveMask::FULL);
        warp.access(1, StateSpace::Shared, AccessKind::Store, (8, 2), ActiveMask(2), &rows);
        warp.access(2, StateSpace::Global, AccessKind::Store, (8, 2), ActiveMask::FULL, &far);
        let warp = warp.finish();
        let steps: Vec<Step> = warp.steps().collect();
        assert_eq!((warp.n_steps(), steps.len()), (2, 2));
        assert_eq!((warp.accesses_of(&steps[0]).len(), warp.accesses_of(&steps[1]).len()), (2, 2));
        assert_eq!((warp.accesses_at(&steps[0], 0, 0).len(), warp.accesses_at(&steps[0], 0, 1).len()), (2, 0));
        assert_eq!((warp.accesses_at(&steps[1], 0, 0).len(), warp.accesses_at(&steps[1], 0, 1).len()), (0, 1));
        let kinds: Vec<Lanes> = warp.accesses().map(|access| access.lanes).collect();
        assert!(matches!(
            kinds[..],
            [Lanes::Affine { .. }, Lanes::Pattern { .. }, Lanes::Affine { .. }, Lanes::Listed(_)]
        ));
        for (access, addresses) in warp.accesses().zip([&rows, &scattered, &rows, &far]) {
            let mut expanded = [0; WARP_SIZE];
            warp.expand(&access, &mut expanded);
            assert!(access.mask.lanes().all(|lane| expanded[lane] == addresses[lane]), "{access:?}");
        }
        let moved = warp.moved(StateSpace::Global, 64);
        for ((access, addresses), by) in moved.accesses().zip([&rows, &scattered, &rows, &far]).zip([64, 64, 0, 64]) {
            let mut expanded = [0; WARP_SIZE];
            moved.expand(&access, &mut expanded);
            assert!(access.mask.lanes().all(|lane| expanded[lane] == addresses[lane] + by), "{access:?}");
        }
    }

    #[test]
    fn a_chain_is_one_step_with_the_accesses_of_its_blocks() {
        let mut warp = WarpTraceBuilder::default();
        let addresses = |first: u64| std::array::from_fn(|lane| first + 4 * lane as u64);
        let mut turn = |block: u32, mask: ActiveMask, firsts: &[u64]| {
            warp.step(block, mask);
            for (slot, &first) in firsts.iter().enumerate() {
                warp.access(slot as u16, StateSpace::Shared, AccessKind::Load, (4, 1), mask, &addresses(first));
            }
        };
        let half = ActiveMask(0xffff);
        for round in [0, 1000] {
            turn(2, ActiveMask::FULL, &[round]);
            turn(3, ActiveMask::FULL, &[round + 100, round + 200]);
            turn(3, ActiveMask::FULL, &[round + 300, round + 400]);
            turn(4, ActiveMask::FULL, &[]);
        }
        // Other lanes come in between, and the trace ends early.
        turn(2, half, &[0]);
        turn(2, ActiveMask(!0xffff), &[0]);
        turn(3, half, &[0, 0]);
        turn(2, half, &[0]);
        turn(3, half, &[7, 0]);
        let warp = warp.finish();
        let chain = Chain { blocks: vec![2, 3, 3, 4], merged: 9 };
        let code = Code { chains: vec![chain], ..Code::default() };
        let steps: Vec<Step> = warp.steps_of(&code).collect();
        assert_eq!(steps.iter().map(|step| step.block).collect::<Vec<_>>(), [9, 9, 2, 2, 3, 2, 3]);
        let bases = |step: &Step, turn, slot| {
            let base = |access: WarpAccess| match access.lanes {
                Lanes::Affine { base, .. } => base,
                _ => panic!("{access:?}"),
            };
            warp.accesses_at(step, turn, slot).map(base).collect::<Vec<_>>()
        };
        let second = &steps[1];
        assert_eq!(warp.accesses_of(second).len(), 5);
        assert_eq!((bases(second, 0, 0), bases(second, 0, 1)), (vec![1000], vec![]));
        assert_eq!((bases(second, 1, 1), bases(second, 2, 0)), (vec![1200], vec![1300]));
        assert_eq!(bases(second, 3, 0), []);
        assert_eq!(bases(&steps[6], 0, 0), [7]);
        let executions = code.executions(&[(2, 6), (3, 7), (4, 2), (5, 1)]);
        assert_eq!(executions, [(2, 4), (3, 3), (5, 1), (9, 2)]);
    }

    #[test]
    fn turns_that_are_left_over_are_executed_one_by_one() {
        let mut warp = WarpTraceBuilder::default();
        for turns in [3, 7, 4] {
            warp.step(1, ActiveMask::FULL);
            (0..turns).for_each(|_| warp.step(2, ActiveMask::FULL));
        }
        // Lanes leave one after the other, and others come in.
        warp.step(1, ActiveMask::FULL);
        (0..6).for_each(|turn| warp.step(2, ActiveMask(u32::MAX << turn)));
        warp.step(2, ActiveMask::FULL);
        let warp = warp.finish();
        let code = Code { chains: vec![Chain { blocks: vec![2; 4], merged: 9 }], ..Code::default() };
        assert!(code.chains[0].goes_back());
        let blocks: Vec<u32> = warp.steps_of(&code).map(|step| step.block).collect();
        assert_eq!(blocks, [1, 2, 2, 2, 1, 9, 2, 2, 2, 1, 9, 1, 2, 2, 2, 2, 2, 2, 2]);
        // Of 14 turns at most three times four are together.
        assert_eq!(code.executions(&[(1, 3), (2, 14)]), [(1, 3), (2, 2), (9, 3)]);
    }

    #[test]
    fn accesses_of_known_shapes_are_as_if_nothing_were_known() {
        let shapes: [fn(u32) -> u32; 4] = [|lane| 4 * lane, |_| 8, |lane| (lane * lane) % 64, |lane| 400 - 12 * lane];
        let masks = [ActiveMask::FULL, ActiveMask(0xff00), ActiveMask(1 << 31), ActiveMask(0x0101_0100)];
        let [mut with, mut without] = [WarpTraceBuilder::default(), WarpTraceBuilder::default()];
        // What is known of one trace serves the next ones, which begin with other shapes.
        for first in [0_u64, 5, 11] {
            with.step(0, ActiveMask::FULL);
            without.step(0, ActiveMask::FULL);
            let rounds = first..first + 64;
            let combinations = rounds.map(|round| (round, (round % 4) as usize, (round / 4 % 4) as usize));
            // Every shape comes again at another place, also behind others of its slot and of the slot that is remembered
            // in the same place.
            for (round, shape, lanes) in combinations {
                let offsets: [u32; WARP_SIZE] = std::array::from_fn(|lane| shapes[shape](lane as u32));
                let mask = masks[lanes];
                let number = 1 + (4 * shape + lanes) as u64;
                for place in [0x1000 * round, 0x1_0000_0000 + 4 * round] {
                    let addresses = crate::Addresses::from_offsets(place, &offsets);
                    let slot = if shape == 3 { 16 } else { 0 };
                    let (space, kind) = (StateSpace::Global, AccessKind::Load);
                    with.access_of(0, slot, space, kind, (4, 1), mask, addresses.with_shape(number));
                    without.access_of(0, slot, space, kind, (4, 1), mask, addresses);
                }
            }
            assert_eq!(with.clone().finish(), without.clone().finish());
            with.clear();
            without = WarpTraceBuilder::default();
        }
    }

    #[test]
    fn what_repeats_is_kept_once() {
        let mut warp = WarpTraceBuilder::default();
        for round in 0..1000_u64 {
            warp.step(0, ActiveMask::FULL);
            // Two rows of a tile: no rule from lane to lane, but the same pattern every time.
            let rows: [u64; WARP_SIZE] = std::array::from_fn(|lane| {
                let (row, column) = (lane as u64 / 16, lane as u64 % 16);
                65536 + 64 * round + 4096 * row + 4 * column
            });
            warp.access(0, StateSpace::Global, AccessKind::Load, (4, 1), ActiveMask::FULL, &rows);
        }
        let warp = warp.finish();
        assert_eq!((warp.n_steps(), warp.kinds.len(), warp.shapes.len(), warp.patterns.len()), (1000, 1, 1, 1));
        assert!(warp.bytes() < 16 * 1000 + 512, "{}", warp.bytes());
    }
}
