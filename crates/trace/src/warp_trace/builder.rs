//! Making a trace while a warp executes.

use rustc_hash::FxHashMap;
use std::hash::Hash;
use warplens_isa::StateSpace;

use super::{Lanes, Parts, Pattern, Rule, Shape, StepKind, WarpTrace};
use crate::{AccessKind, ActiveMask, Addresses, WARP_SIZE};

/// A trace that grows. Accesses may come later than the steps after theirs: paths of a warp that wait go on after the
/// steps of others.
#[derive(Clone, Debug, Default)]
pub struct WarpTraceBuilder {
    steps: Vec<(u32, ActiveMask)>,
    /// The step of each access, its shape and where it begins.
    accesses: Vec<(u32, u32, u64)>,
    shapes: Table<Shape>,
    patterns: Table<Pattern>,
    addresses: Vec<u64>,
    /// What accesses of known shapes became, by slot, of this trace or one before.
    known: Vec<Known>,
    /// How many traces were made before.
    n_before: u32,
    /// By shape of the trace that is copied: its number here, in which slots further on.
    copied: Vec<(u32, u16)>,
}

/// What of a trace is only known when it ends. Kept from warp to warp for its memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Ends {
    steps: Vec<u32>,
    kinds: Table<StepKind>,
    shapes_of: Vec<u32>,
}

/// What an access became whose addresses have a [shape](Addresses::shape): another one of that shape differs only in
/// where it begins.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// 0 where there is none.
    of: u64,
    /// Of the trace for which it was looked up last.
    number: u32,
    trace: u32,
    /// Bytes from lane to lane, where that is the rule: then what it became says the same in every trace.
    stride: Option<i64>,
    /// Where it begins less the address of the lowest lane.
    ahead: u64,
}

/// Memory instructions of a block whose accesses are looked for by their shape; those behind take the longer way.
const MOST_KNOWN: u16 = 1024;

/// The number of a shape that was not copied yet.
const NOT_COPIED: u32 = u32::MAX;

/// Values that are kept once each, by number.
#[derive(Clone, Debug)]
struct Table<T> {
    values: Vec<T>,
    /// Numbers by value, once there are more than [`FEW`].
    numbers: FxHashMap<T, u32>,
    /// The number given last, by the lowest bits of what it is a value of: what comes next there is often the same.
    last: [u32; REMEMBERED],
}

/// Values up to which looking through all of them takes no longer than a map: most warps have no more, and many are traced.
const FEW: usize = 8;

/// Last numbers that are remembered.
const REMEMBERED: usize = 16;

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { values: Vec::new(), numbers: FxHashMap::default(), last: [0; REMEMBERED] }
    }
}

impl<T> Table<T> {
    /// Forgets all values.
    fn clear(&mut self) {
        self.values.clear();
        self.numbers.clear();
    }
}

impl<T: Copy + Eq + Hash> Table<T> {
    /// The number of a value of a memory instruction.
    fn number(&mut self, value: T, slot: u16) -> u32 {
        let last = self.last[usize::from(slot) % REMEMBERED];
        if self.values.get(last as usize) == Some(&value) {
            return last;
        }
        let known = if self.values.len() <= FEW {
            self.values.iter().position(|of| *of == value).map(narrow)
        } else {
            self.numbers.get(&value).copied()
        };
        let number = known.unwrap_or_else(|| self.add(value));
        self.last[usize::from(slot) % REMEMBERED] = number;
        number
    }

    /// Adds a value that is not there.
    fn add(&mut self, value: T) -> u32 {
        let number = narrow(self.values.len());
        self.values.push(value);
        if self.values.len() > FEW {
            let first = if self.numbers.is_empty() { 0 } else { number as usize };
            self.numbers.extend(self.values[first..].iter().copied().zip(narrow(first)..));
        }
        number
    }
}

fn narrow(count: usize) -> u32 {
    u32::try_from(count).expect("fewer than 2^32 steps and accesses of a warp")
}

impl WarpTraceBuilder {
    /// Appends an execution of a block.
    pub fn step(&mut self, block: u32, mask: ActiveMask) {
        self.steps.push((block, mask));
    }

    /// The steps up to now, by block and lanes.
    pub fn steps(&self) -> &[(u32, ActiveMask)] {
        &self.steps
    }

    /// Appends an access to the last step; its slot is not below that of the step's last access.
    pub fn access(
        &mut self,
        slot: u16,
        space: StateSpace,
        kind: AccessKind,
        size: (u8, u8),
        mask: ActiveMask,
        addresses: &[u64; WARP_SIZE],
    ) {
        let step = self.steps.len().saturating_sub(1);
        self.access_of(step, slot, space, kind, size, mask, addresses.into());
    }

    /// Adds an access to a step, after those that it has.
    #[allow(clippy::too_many_arguments)]
    pub fn access_of(
        &mut self,
        step: usize,
        slot: u16,
        space: StateSpace,
        kind: AccessKind,
        (element_bytes, elements): (u8, u8),
        mask: ActiveMask,
        addresses: Addresses<'_>,
    ) {
        let lowest = mask.lowest().map_or(0, |lane| addresses.of(lane));
        let of = addresses.shape();
        let is_known = |known: &&mut Known| known.of != 0 && known.of == of;
        let shape = |rule| Shape { slot, element_bytes, elements, space, kind, mask, rule };
        if let Some(known) = self.known.get_mut(usize::from(slot)).filter(is_known) {
            if known.trace != self.n_before
                && let Some(stride) = known.stride
            {
                known.number = self.shapes.number(shape(Rule::Stride(stride)), slot);
                known.trace = self.n_before;
            }
            if known.trace == self.n_before {
                self.accesses.push((narrow(step), known.number, lowest.wrapping_add(known.ahead)));
                return;
            }
        }
        let (rule, base) = addresses.listed(|addresses| self.rule(slot, mask, addresses));
        let number = self.shapes.number(shape(rule), slot);
        self.accesses.push((narrow(step), number, base));
        if rule != Rule::Listed && of != 0 && slot < MOST_KNOWN {
            if self.known.len() <= slot.into() {
                self.known.resize(usize::from(slot) + 1, Known::default());
            }
            let stride = if let Rule::Stride(stride) = rule { Some(stride) } else { None };
            let ahead = base.wrapping_sub(lowest);
            self.known[usize::from(slot)] = Known { of, number, trace: self.n_before, stride, ahead };
        }
    }

    fn rule(&mut self, slot: u16, mask: ActiveMask, addresses: &[u64; WARP_SIZE]) -> (Rule, u64) {
        if let Some(Lanes::Affine { base, stride }) = Lanes::affine(mask, addresses) {
            return (Rule::Stride(stride), base);
        }
        let base = mask.lowest().map_or(0, |lane| addresses[lane]);
        if let Some(pattern) = near(mask, base, addresses) {
            return (Rule::Pattern(self.patterns.number(pattern, slot)), base);
        }
        let index = u64::from(narrow(self.addresses.len()));
        self.addresses.extend_from_slice(addresses);
        (Rule::Listed, index)
    }

    /// A trace that may become as long as another one.
    pub fn like(other: &WarpTrace) -> Self {
        let copied = vec![(NOT_COPIED, 0); other.shapes.len()];
        let (steps, accesses) = (Vec::with_capacity(other.steps.len()), Vec::with_capacity(other.bases.len()));
        Self { steps, accesses, copied, ..Self::default() }
    }

    /// Appends an access of the trace that this one is [`like`](Self::like), by its number there, to the last step; of a
    /// memory instruction that is as many slots further on.
    pub fn copy(&mut self, from: &WarpTrace, number: usize, slots: u16) {
        let (of_shape, base) = (from.shapes_of[number], from.bases[number]);
        let step = narrow(self.steps.len().saturating_sub(1));
        // The shape has a number from the last time.
        if let Some(&(known, of_slots)) = self.copied.get(of_shape as usize)
            && known != NOT_COPIED
            && of_slots == slots
        {
            self.accesses.push((step, known, base));
            return;
        }
        let shape = from.shapes[of_shape as usize];
        let slot = shape.slot + slots;
        let (rule, base) = match shape.rule {
            Rule::Stride(_) => (shape.rule, base),
            Rule::Pattern(pattern) => {
                (Rule::Pattern(self.patterns.number(from.patterns[pattern as usize], slot)), base)
            }
            Rule::Listed => {
                let first = usize::try_from(base).expect("an index of the list");
                let index = u64::from(narrow(self.addresses.len()));
                self.addresses.extend_from_slice(&from.addresses[first..first + WARP_SIZE]);
                (Rule::Listed, index)
            }
        };
        let shape = self.shapes.number(Shape { slot, rule, ..shape }, slot);
        if rule != Rule::Listed
            && let Some(copied) = self.copied.get_mut(of_shape as usize)
        {
            *copied = (shape, slots);
        }
        self.accesses.push((step, shape, base));
    }

    /// Bytes that the trace will take, about.
    pub fn bytes(&self) -> usize {
        4 * self.steps.len()
            + 12 * self.accesses.len()
            + size_of_val(&*self.shapes.values)
            + size_of_val(&*self.patterns.values)
            + size_of_val(&*self.addresses)
    }

    /// Starts another trace.
    pub fn clear(&mut self) {
        self.steps.clear();
        self.accesses.clear();
        self.shapes.clear();
        self.patterns.clear();
        self.addresses.clear();
        self.copied.clear();
        self.n_before += 1;
        if self.n_before == u32::MAX {
            (self.n_before, self.known) = (0, Vec::new());
        }
    }

    /// The trace, with the accesses in the order of the steps.
    pub fn finish(mut self) -> WarpTrace {
        let mut ends = Ends::default();
        self.ordered().end(&mut ends);
        let Ends { steps, kinds, shapes_of } = ends;
        WarpTrace {
            steps: steps.into(),
            kinds: kinds.values.into(),
            shapes_of: shapes_of.into(),
            bases: self.bases().map(|(_, base)| base).collect(),
            shapes: self.shapes.values.into(),
            patterns: self.patterns.values.into(),
            addresses: self.addresses.into(),
        }
    }

    /// With the accesses in the order of the steps.
    pub(super) fn ordered(&mut self) -> &Self {
        if !self.accesses.is_sorted_by_key(|&(step, ..)| step) {
            self.accesses.sort_by_key(|&(step, ..)| step);
        }
        self
    }

    /// Whether only the places that its accesses go to may differ from those of another one; of both they are in order.
    pub(super) fn does_as(&self, other: &Self) -> bool {
        let do_same = |(one, other): (&(u32, u32, u64), &(u32, u32, u64))| (one.0, one.1) == (other.0, other.1);
        self.steps == other.steps
            && self.accesses.len() == other.accesses.len()
            && self.accesses.iter().zip(&other.accesses).all(do_same)
            && self.shapes.values == other.shapes.values
            && self.patterns.values == other.patterns.values
    }

    /// The lists of the trace as it was when it [ended](Self::end).
    pub(super) fn parts<'a>(&'a self, ends: &'a Ends) -> Parts<'a> {
        Parts {
            steps: &ends.steps,
            kinds: &ends.kinds.values,
            shapes_of: &ends.shapes_of,
            shapes: &self.shapes.values,
            patterns: &self.patterns.values,
            addresses: &self.addresses,
        }
    }

    /// The shape of each access and where it begins.
    pub(super) fn bases(&self) -> impl Iterator<Item = (u32, u64)> {
        self.accesses.iter().map(|&(_, shape, base)| (shape, base))
    }

    /// What is only known when it ends; its accesses are in order.
    pub(super) fn end(&self, ends: &mut Ends) {
        ends.kinds.clear();
        ends.steps.clear();
        let mut next = 0;
        for (index, &(block, mask)) in self.steps.iter().enumerate() {
            let first = next;
            while self.accesses.get(next).is_some_and(|&(step, ..)| step as usize <= index) {
                next += 1;
            }
            let kind = StepKind { block, mask, n_accesses: narrow(next - first) };
            ends.steps.push(ends.kinds.number(kind, block as u16));
        }
        ends.shapes_of.clear();
        ends.shapes_of.extend(self.accesses.iter().map(|&(_, shape, _)| shape));
    }
}

/// Bytes from an address to those of the lanes; none where they are too far apart for a pattern. All lanes are looked at,
/// without a branch for each.
fn near(mask: ActiveMask, base: u64, addresses: &[u64; WARP_SIZE]) -> Option<Pattern> {
    const HALF: u64 = 1 << 31;
    let mut pattern = [0; WARP_SIZE];
    let mut high = 0;
    let lanes = pattern.iter_mut().zip(addresses);
    if mask.is_full() {
        for (offset, address) in lanes {
            let distance = address.wrapping_sub(base);
            *offset = distance as i32;
            high |= distance.wrapping_add(HALF) >> 32;
        }
    } else {
        for (lane, (offset, address)) in lanes.enumerate() {
            let is_active = 0_u64.wrapping_sub(u64::from(mask.0 >> lane & 1));
            let distance = address.wrapping_sub(base) & is_active;
            *offset = distance as i32;
            high |= distance.wrapping_add(HALF) >> 32;
        }
    }
    (high == 0).then_some(pattern)
}
