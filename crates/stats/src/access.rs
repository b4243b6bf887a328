//! Counts memory accesses by shape, fast enough for the interpreter's inner loop.
//!
//! A shape is what the rules look at: width, active lanes, distances between the lanes' addresses (together a
//! [`Pattern`]), and the first address modulo 256, the largest alignment that a rule asks about. While the kernel runs
//! an access only finds its pattern, usually the instruction's last one, and bumps the counter of its shape. All rules
//! are applied at the end, once per shape that occurred. An instruction with too many patterns, such as a gather by
//! random indices, has the rules applied to each access at once.

use rustc_hash::FxHashMap;
use warplens_isa::StateSpace;
use warplens_trace::{Access, AccessKind, ActiveMask, WARP_SIZE};

use crate::Request;
use crate::recorder::Times;
use crate::sectors::{PageHint, PlanWord, SECTOR_SHIFT, SectorSet, plan};
use crate::totals::Totals;

/// Alignment beyond which no rule distinguishes addresses.
const PHASE_BYTES: u64 = 256;
const MAX_PATTERNS_PER_INSTRUCTION: u32 = 256;
const MAX_PATTERNS: usize = 1 << 14;
/// Spread of the lanes beyond which their sectors are noted one by one.
const MAX_PLAN_BYTES: u64 = 1 << 20;

/// Index of a [`Pattern`]; 0 matches nothing.
pub(crate) type PatternId = u32;
const NO_PATTERN: PatternId = 0;

/// What all accesses of a pattern have in common apart from addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Format {
    pub(crate) space: StateSpace,
    pub(crate) kind: AccessKind,
    pub(crate) element_bytes: u8,
    pub(crate) elements: u8,
}

impl Format {
    #[inline]
    fn of(access: &Access<'_>) -> Self {
        let Access { space, kind, element_bytes, elements, .. } = *access;
        Self { space, kind, element_bytes, elements }
    }

    pub(crate) fn lane_bytes(self) -> u32 {
        u32::from(self.element_bytes) * u32::from(self.elements)
    }

    /// Format and mask in one word.
    #[inline]
    fn key(self, mask: ActiveMask) -> u64 {
        let format = self.space as u32
            | (self.kind as u32) << 8
            | u32::from(self.element_bytes) << 16
            | u32::from(self.elements) << 24;
        u64::from(mask.0) << 32 | u64::from(format)
    }
}

/// Accesses of one instruction that differ only by a common offset of all addresses.
#[derive(Debug)]
pub(crate) struct Pattern {
    key: u64,
    slot: u32,
    pub(crate) format: Format,
    pub(crate) mask: ActiveMask,
    /// First of the counters by phase.
    first_cell: u32,
    /// Phases are told apart in steps of `1 << phase_shift` bytes.
    phase_shift: u32,
    footprint: Footprint,
    /// Address of each lane minus that of the lowest active lane; 0 for inactive lanes.
    distances: [u64; WARP_SIZE],
    /// All ones for active lanes.
    select: [u64; WARP_SIZE],
}

/// Sectors that a pattern touches.
#[derive(Clone, Copy, Debug)]
enum Footprint {
    /// All sectors between the lowest and the highest byte, as distances from the lowest active lane's address.
    Dense { first: u64, last: u64 },
    /// Sectors with holes between them, listed by plans, one for each position of the lowest byte in its sector, in
    /// steps as of phases. `first` is as above. With `repeats` the sectors depend on the sector of the first lane only.
    Sparse { first: u64, plans: u32, repeats: bool },
    /// Sectors too far apart for a plan.
    Scattered,
}

impl Pattern {
    #[inline(always)]
    fn matches(&self, key: u64, origin: u64, addresses: &[u64; WARP_SIZE]) -> bool {
        if self.key != key {
            return false;
        }
        let mut difference = 0;
        if self.mask.is_full() {
            for (address, distance) in addresses.iter().zip(&self.distances) {
                difference |= address.wrapping_sub(origin) ^ distance;
            }
        } else {
            let lanes = addresses.iter().zip(&self.distances).zip(&self.select);
            for ((address, distance), select) in lanes {
                difference |= (address.wrapping_sub(origin) ^ distance) & select;
            }
        }
        difference == 0
    }

    /// The addresses when the lowest active lane's is `origin`.
    pub(crate) fn addresses(&self, origin: u64) -> [u64; WARP_SIZE] {
        self.distances.map(|distance| origin.wrapping_add(distance))
    }

    fn n_phases(&self) -> u32 {
        (PHASE_BYTES >> self.phase_shift) as u32
    }
}

/// State of one memory instruction. What most accesses need lies side by side, in one line of the host's cache.
#[derive(Debug)]
#[repr(C, align(64))]
struct Slot {
    /// The last two patterns.
    recent: [Recent; 2],
    /// The counter of the last access, and how often in a row it was that one, which is not added to it yet.
    last_cell: u32,
    n_patterns: u32,
    in_a_row: u64,
    read_hint: PageHint,
    write_hint: PageHint,
    /// Pattern and first sector of the last sparse access.
    last_sparse: (PatternId, u64),
    /// Accesses that did not go through a pattern.
    direct: Option<Box<Totals>>,
}

/// A pattern that an instruction had of late.
#[derive(Clone, Copy, Debug)]
struct Recent {
    /// The shape that its accesses had last, as whoever made them says; 0 where they said nothing.
    shape: u64,
    id: PatternId,
    /// As in the [`Pattern`].
    first_cell: u32,
    phase_shift: u32,
}

impl Recent {
    const NONE: Self = Self { shape: 0, id: NO_PATTERN, first_cell: 0, phase_shift: 0 };

    /// Counter of an access whose lowest active lane's address is `origin`.
    #[inline]
    const fn cell(self, origin: u64) -> u32 {
        self.first_cell + ((origin % PHASE_BYTES) >> self.phase_shift) as u32
    }
}

/// Device memory, however it is accessed: its sectors are those that the launch needs of it.
#[inline(always)]
fn is_device_memory(space: StateSpace) -> bool {
    matches!(space, StateSpace::Global | StateSpace::Texture | StateSpace::Surface)
}

/// Counts the accesses of all memory instructions.
#[derive(Debug)]
pub(crate) struct AccessCounter {
    slots: Vec<Slot>,
    patterns: Vec<Pattern>,
    by_hash: FxHashMap<u64, PatternId>,
    /// Executions by pattern and phase, from the second on; the first counter is that of slots without an access.
    cells: Vec<u64>,
    /// Sectors of sparse patterns, made when first needed.
    plans: Vec<Option<Box<[PlanWord]>>>,
    pub(crate) read: SectorSet,
    pub(crate) written: SectorSet,
}

impl AccessCounter {
    pub(crate) fn new(n_slots: usize) -> Self {
        let slot = || Slot {
            recent: [Recent::NONE; 2],
            last_cell: 0,
            n_patterns: 0,
            in_a_row: 0,
            read_hint: PageHint::default(),
            write_hint: PageHint::default(),
            last_sparse: (NO_PATTERN, 0),
            direct: None,
        };
        let nothing = Pattern {
            key: 0,
            slot: 0,
            format: Format { space: StateSpace::Param, kind: AccessKind::Load, element_bytes: 1, elements: 1 },
            mask: ActiveMask::EMPTY,
            first_cell: 0,
            phase_shift: 0,
            footprint: Footprint::Scattered,
            distances: [0; WARP_SIZE],
            select: [0; WARP_SIZE],
        };
        Self {
            slots: std::iter::repeat_with(slot).take(n_slots).collect(),
            patterns: vec![nothing],
            by_hash: FxHashMap::default(),
            cells: vec![0],
            plans: Vec::new(),
            read: SectorSet::default(),
            written: SectorSet::default(),
        }
    }

    /// Counts an access of the instruction in `slot`. Returns its pattern, if it has one.
    #[inline]
    pub(crate) fn count(&mut self, slot: u32, access: &Access<'_>) -> Option<PatternId> {
        let origin = access.addresses.of(access.mask.0.trailing_zeros() as usize % WARP_SIZE);
        let (state, shape) = (&self.slots[slot as usize], access.addresses.shape());
        let known = if shape != 0 && shape == state.recent[0].shape {
            state.recent[0]
        } else if shape != 0 && shape == state.recent[1].shape {
            state.recent[1]
        } else {
            let found = access.addresses.listed(|addresses| self.recognise(slot, access, (origin, addresses)));
            let Some(found) = found else {
                self.count_direct(slot, access);
                return None;
            };
            found
        };
        let (cell, state) = (known.cell(origin), &mut self.slots[slot as usize]);
        if cell == state.last_cell {
            state.in_a_row += 1;
        } else {
            self.cells[state.last_cell as usize] += state.in_a_row;
            (state.last_cell, state.in_a_row) = (cell, 1);
        }
        if is_device_memory(access.space) {
            self.mark(slot, known.id, origin, access);
        }
        Some(known.id)
    }

    /// The counters, with the accesses that slots have not added yet.
    fn all_cells(&self) -> Vec<u64> {
        let mut cells = self.cells.clone();
        for slot in &self.slots {
            cells[slot.last_cell as usize] += slot.in_a_row;
        }
        cells
    }

    /// The pattern of an access whose shape is not that of the last ones, or not known.
    #[inline(never)]
    fn recognise(
        &mut self,
        slot: u32,
        access: &Access<'_>,
        (origin, addresses): (u64, &[u64; WARP_SIZE]),
    ) -> Option<Recent> {
        let (format, shape) = (Format::of(access), access.addresses.shape());
        let key = format.key(access.mask);
        let recent = &mut self.slots[slot as usize].recent;
        let known = recent.iter_mut().find(|known| self.patterns[known.id as usize].matches(key, origin, addresses));
        if let Some(known) = known {
            known.shape = shape;
            return Some(*known);
        }
        let id = self.find(slot, format, access.mask, origin, addresses)?;
        let Pattern { first_cell, phase_shift, .. } = self.patterns[id as usize];
        let recent = &mut self.slots[slot as usize].recent;
        *recent = [Recent { shape, id, first_cell, phase_shift }, recent[0]];
        Some(recent[0])
    }

    /// What distinguishes the accesses of a pattern: the part of the lowest active lane's address that rules look at.
    pub(crate) fn phase(origin: u64) -> u64 {
        origin % PHASE_BYTES
    }

    /// One access under all rules.
    pub(crate) fn totals_of(access: &Access<'_>) -> Totals {
        let mut totals = Totals::default();
        let addresses = access.addresses.all();
        let request = Request { lane_bytes: access.lane_bytes(), mask: access.mask, addresses: &addresses };
        totals.add(Format::of(access), &request, 1);
        totals
    }

    /// The pattern `id`.
    pub(crate) fn pattern(&self, id: PatternId) -> &Pattern {
        &self.patterns[id as usize]
    }

    /// Looks a pattern up among all, and makes it if need be.
    #[cold]
    #[inline(never)]
    fn find(
        &mut self,
        slot: u32,
        format: Format,
        mask: ActiveMask,
        origin: u64,
        addresses: &[u64; WARP_SIZE],
    ) -> Option<PatternId> {
        let select: [u64; WARP_SIZE] = std::array::from_fn(|lane| 0u64.wrapping_sub(u64::from(mask.0 >> lane & 1)));
        let distances = std::array::from_fn(|lane| addresses[lane].wrapping_sub(origin) & select[lane]);
        self.intern(slot, format, mask, &distances, &select)
    }

    fn intern(
        &mut self,
        slot: u32,
        format: Format,
        mask: ActiveMask,
        distances: &[u64; WARP_SIZE],
        select: &[u64; WARP_SIZE],
    ) -> Option<PatternId> {
        let key = format.key(mask);
        let hash = hash(slot, key, distances);
        if let Some(&id) = self.by_hash.get(&hash) {
            let known = &self.patterns[id as usize];
            // Two patterns of the same hash: the second is counted without a pattern.
            return (known.slot == slot && known.key == key && known.distances == *distances).then_some(id);
        }
        let state = &mut self.slots[slot as usize];
        if state.n_patterns == MAX_PATTERNS_PER_INSTRUCTION || self.patterns.len() == MAX_PATTERNS {
            return None;
        }
        state.n_patterns += 1;
        let id = self.patterns.len() as PatternId;
        let phase_shift = u32::from(format.element_bytes).trailing_zeros().min(4);
        let first_cell = self.cells.len() as u32;
        self.cells.resize(self.cells.len() + (PHASE_BYTES >> phase_shift) as usize, 0);
        let footprint = Footprint::of(format.lane_bytes(), mask, distances, self.plans.len() as u32);
        if matches!(footprint, Footprint::Sparse { .. }) {
            self.plans.resize(self.plans.len() + (1 << (SECTOR_SHIFT - phase_shift)), None);
        }
        let (distances, select) = (*distances, *select);
        self.patterns.push(Pattern { key, slot, format, mask, first_cell, phase_shift, footprint, distances, select });
        self.by_hash.insert(hash, id);
        Some(id)
    }

    #[cold]
    #[inline(never)]
    fn count_direct(&mut self, slot: u32, access: &Access<'_>) {
        let format = Format::of(access);
        let addresses = access.addresses.all();
        let request = Request { lane_bytes: access.lane_bytes(), mask: access.mask, addresses: &addresses };
        let state = &mut self.slots[slot as usize];
        state.direct.get_or_insert_default().add(format, &request, 1);
        if is_device_memory(format.space) {
            self.mark_lanes(slot, format.kind, access);
        }
    }

    /// Notes the sectors of a global access.
    #[inline]
    fn mark(&mut self, slot: u32, id: PatternId, origin: u64, access: &Access<'_>) {
        match self.patterns[id as usize].footprint {
            Footprint::Dense { first, last } => {
                let first = origin.wrapping_add(first) >> SECTOR_SHIFT;
                let last = origin.wrapping_add(last) >> SECTOR_SHIFT;
                let slot = &mut self.slots[slot as usize];
                if access.kind != AccessKind::Store {
                    self.read.insert_range(&mut slot.read_hint, first, last);
                }
                if access.kind != AccessKind::Load {
                    self.written.insert_range(&mut slot.write_hint, first, last);
                }
            }
            Footprint::Sparse { first, plans, repeats } => {
                let now = (id, origin >> SECTOR_SHIFT);
                if repeats && self.slots[slot as usize].last_sparse == now {
                    return;
                }
                let first = origin.wrapping_add(first);
                let shift = self.patterns[id as usize].phase_shift;
                let at = plans as usize + ((first % (1 << SECTOR_SHIFT)) >> shift) as usize;
                if self.plans[at].is_none() {
                    self.plans[at] = self.patterns[id as usize].plan(first);
                }
                let slot = &mut self.slots[slot as usize];
                slot.last_sparse = now;
                let Some(plan) = &self.plans[at] else { return };
                let base = first >> SECTOR_SHIFT;
                if access.kind != AccessKind::Store {
                    self.read.insert_plan(&mut slot.read_hint, base, plan);
                }
                if access.kind != AccessKind::Load {
                    self.written.insert_plan(&mut slot.write_hint, base, plan);
                }
            }
            Footprint::Scattered => self.mark_lanes(slot, access.kind, access),
        }
    }

    #[inline(never)]
    fn mark_lanes(&mut self, slot: u32, kind: AccessKind, access: &Access<'_>) {
        let slot = &mut self.slots[slot as usize];
        let end = u64::from(access.lane_bytes()) - 1;
        for lane in access.mask.lanes() {
            let address = access.addresses.of(lane);
            let (first, last) = (address >> SECTOR_SHIFT, address.wrapping_add(end) >> SECTOR_SHIFT);
            if kind != AccessKind::Store {
                self.read.insert_range(&mut slot.read_hint, first, last);
            }
            if kind != AccessKind::Load {
                self.written.insert_range(&mut slot.write_hint, first, last);
            }
        }
    }

    /// Adds the counts of another counter of the same program, so many times; the sectors are those of one time.
    pub(crate) fn merge(&mut self, other: Self, times: Times) {
        let all_cells = other.all_cells();
        for pattern in &other.patterns[1..] {
            let cells = &all_cells[pattern.first_cell as usize..][..pattern.n_phases() as usize];
            let id = self.intern(pattern.slot, pattern.format, pattern.mask, &pattern.distances, &pattern.select);
            match id {
                Some(id) => {
                    let first = self.patterns[id as usize].first_cell as usize;
                    for (own, cell) in self.cells[first..].iter_mut().zip(cells) {
                        *own += times.of(*cell);
                    }
                }
                None => {
                    let direct = self.slots[pattern.slot as usize].direct.get_or_insert_default();
                    let cells: Vec<u64> = cells.iter().map(|&cell| times.of(cell)).collect();
                    pattern.expand(&cells, direct);
                }
            }
        }
        for (own, other) in self.slots.iter_mut().zip(other.slots) {
            if let Some(direct) = other.direct {
                own.direct.get_or_insert_default().merge(&direct, times);
            }
        }
        self.read.merge(other.read);
        self.written.merge(other.written);
    }

    /// Applies all rules to all shapes: the totals of each instruction.
    pub(crate) fn totals(&self) -> Vec<Totals> {
        let all_cells = self.all_cells();
        let mut totals: Vec<Totals> =
            self.slots.iter().map(|slot| slot.direct.as_deref().cloned().unwrap_or_default()).collect();
        for pattern in &self.patterns[1..] {
            let cells = &all_cells[pattern.first_cell as usize..][..pattern.n_phases() as usize];
            pattern.expand(cells, &mut totals[pattern.slot as usize]);
        }
        totals
    }
}

impl Pattern {
    /// Adds the accesses that `cells` count by phase.
    fn expand(&self, cells: &[u64], totals: &mut Totals) {
        // Far from both ends of the address space, so that no distance wraps around.
        const BASE: u64 = 1 << 62;
        for (phase, &n) in cells.iter().enumerate() {
            if n > 0 {
                let addresses = self.addresses(BASE + ((phase as u64) << self.phase_shift));
                let request = Request { lane_bytes: self.format.lane_bytes(), mask: self.mask, addresses: &addresses };
                totals.add(self.format, &request, n);
            }
        }
    }
}

impl Footprint {
    /// `plans` is where the plans of a sparse pattern will be.
    fn of(lane_bytes: u32, mask: ActiveMask, distances: &[u64; WARP_SIZE], plans: u32) -> Self {
        let sector = 1 << SECTOR_SHIFT;
        let mut sorted: Vec<i64> = mask.lanes().map(|lane| distances[lane] as i64).collect();
        sorted.sort_unstable();
        let (Some(&first), Some(&last)) = (sorted.first(), sorted.last()) else { return Self::Scattered };
        let lane_bytes = i64::from(lane_bytes);
        // A hole below 32 bytes leaves no sector out.
        if sorted.windows(2).all(|pair| pair[1].wrapping_sub(pair[0]) < lane_bytes + sector) {
            return Self::Dense { first: first as u64, last: (last + lane_bytes - 1) as u64 };
        }
        if last.wrapping_sub(first) as u64 > MAX_PLAN_BYTES {
            return Self::Scattered;
        }
        let repeats = sorted.iter().all(|distance| distance % sector == 0);
        Self::Sparse { first: first as u64, plans, repeats }
    }
}

impl Pattern {
    /// The sectors of the pattern when its lowest byte is at `first`, relative to the first of them.
    fn plan(&self, first: u64) -> Option<Box<[PlanWord]>> {
        let Footprint::Sparse { first: distance, .. } = self.footprint else { return None };
        let origin = first.wrapping_sub(distance);
        let base = first >> SECTOR_SHIFT;
        let end = u64::from(self.format.lane_bytes()) - 1;
        let mut sectors: Vec<u64> = self
            .mask
            .lanes()
            .map(|lane| origin.wrapping_add(self.distances[lane]))
            .flat_map(|address| [address >> SECTOR_SHIFT, (address + end) >> SECTOR_SHIFT])
            .map(|sector| sector - base)
            .collect();
        sectors.sort_unstable();
        plan(sectors.into_iter())
    }
}

/// A hash of a pattern in four independent chains, so that the multiplications overlap.
fn hash(slot: u32, key: u64, distances: &[u64; WARP_SIZE]) -> u64 {
    const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut chains = [key, u64::from(slot), !key, 1];
    for four in distances.chunks_exact(4) {
        for (chain, &distance) in chains.iter_mut().zip(four) {
            *chain = (*chain ^ distance).wrapping_mul(MULTIPLIER).rotate_left(29);
        }
    }
    chains.into_iter().fold(0, |hash: u64, chain| (hash.rotate_left(17) ^ chain).wrapping_mul(MULTIPLIER))
}
