//! Coalescing: which transactions serve one warp-level request, under the rules of every compute capability.
//!
//! The rules follow the CUDA programming guides of their time (sections "Global Memory" of the compute capabilities)
//! and, for 1.x, G. Dasgupta, "CUDA Performance Analyzer" (2011):
//!
//! - 1.0, 1.1: per half-warp. If active thread k accesses word k of one aligned segment, 4-byte words take one 64 B
//!   transaction, 8-byte words one of 128 B, 16-byte words two of 128 B. Otherwise, and for words below 4 bytes, every
//!   active thread takes a 32 B transaction of its own.
//! - 1.2, 1.3: per half-warp. The lowest waiting thread's segment (32 B for 1-byte, 64 B for 2-byte, 128 B for wider
//!   words) serves every thread inside it, shrunk from 128 to 64 to 32 B while only one half of it is used.
//! - 2.x: 128 B lines, or 32 B segments with L1 off; 8-byte words in two half-warps, 16-byte words in four
//!   quarter-warps, each served by itself.
//! - 3.x and later: the distinct 32 B sectors of the warp.
//!
//! A vector access is one word per lane. Words of 32 bytes, which the chips of 1.x never had, count as two of 16 bytes
//! there.

use warplens_trace::{ActiveMask, WARP_SIZE};

use crate::CoalescingRule;

const HALF_WARP: usize = 16;

/// Addresses of one warp-level request.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Bytes per lane.
    pub lane_bytes: u32,
    /// Lanes that take part.
    pub mask: ActiveMask,
    /// First byte of each lane; meaningless outside `mask`.
    pub addresses: &'a [u64; WARP_SIZE],
}

/// How one request is served.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Transactions {
    /// 32 B transactions.
    pub t32: u32,
    /// 64 B transactions.
    pub t64: u32,
    /// 128 B transactions.
    pub t128: u32,
    /// Distinct 128 B lines of the warp; 0 before cc 2.0.
    pub lines: u32,
    /// The transactions that the same lanes would take if their distinct bytes lay side by side.
    pub ideal: Sizes,
    /// On 1.x each half-warp takes one transaction; later the number of transactions is the smallest possible for the
    /// distinct bytes.
    pub coalesced: bool,
}

/// Transactions by size.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sizes {
    /// 32 B transactions.
    pub t32: u32,
    /// 64 B transactions.
    pub t64: u32,
    /// 128 B transactions.
    pub t128: u32,
}

impl Sizes {
    /// Bytes that the transactions move.
    pub const fn bytes(&self) -> u32 {
        self.t32 * 32 + self.t64 * 64 + self.t128 * 128
    }

    fn add(&mut self, other: Self) {
        self.t32 += other.t32;
        self.t64 += other.t64;
        self.t128 += other.t128;
    }
}

impl Transactions {
    /// Transactions of all sizes.
    pub const fn count(&self) -> u32 {
        self.t32 + self.t64 + self.t128
    }

    /// Bytes that the transactions move.
    pub const fn bytes(&self) -> u32 {
        self.t32 * 32 + self.t64 * 64 + self.t128 * 128
    }

    fn take(&mut self, segment: Segment) {
        match segment.bytes {
            32 => self.t32 += 1,
            64 => self.t64 += 1,
            _ => self.t128 += 1,
        }
    }
}

/// An aligned piece of memory that a transaction moves.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Segment {
    /// First byte.
    pub start: u64,
    /// Size: 32, 64 or 128.
    pub bytes: u32,
}

/// The transactions of `request` under `rule`.
pub fn transactions(rule: CoalescingRule, request: &Request<'_>) -> Transactions {
    if matches!(rule, CoalescingRule::Cc30 | CoalescingRule::Cc50 | CoalescingRule::Cc70) {
        let warp = Sorted::of(request, request.mask);
        let (t32, fewest) = (warp.units(5), warp.distinct_bytes().div_ceil(32));
        let ideal = Sizes { t32: fewest, ..Sizes::default() };
        return Transactions { t32, lines: warp.units(7), coalesced: t32 == fewest, ideal, ..Transactions::default() };
    }
    let mut result = Transactions::default();
    let coalesced = counted_segments(rule, request, |segment| result.take(segment));
    let lines = match rule {
        CoalescingRule::Cc10 | CoalescingRule::Cc12 => 0,
        _ => Sorted::of(request, request.mask).units(7),
    };
    Transactions { lines, coalesced, ideal: ideal(rule, request, result), ..result }
}

/// The smallest transactions for the distinct bytes of `request`, which takes `actual`; never more bytes than these.
fn ideal(rule: CoalescingRule, request: &Request<'_>, actual: Transactions) -> Sizes {
    let actual = Sizes { t32: actual.t32, t64: actual.t64, t128: actual.t128 };
    let mut sizes = Sizes::default();
    match rule {
        // Layout does not help words of 1 or 2 bytes there, each of which takes a transaction.
        CoalescingRule::Cc10 if request.lane_bytes < 4 => return actual,
        CoalescingRule::Cc10 | CoalescingRule::Cc12 => {
            let smallest = if rule == CoalescingRule::Cc10 { 64 } else { 32 };
            for half in 0..2 {
                let mask = request.mask & ActiveMask(0xffff << (half * HALF_WARP));
                sizes.add(halved(Sorted::of(request, mask).distinct_bytes(), smallest));
            }
        }
        CoalescingRule::Cc20 => {
            for_phases(request, |phase| sizes.t128 += phase.distinct_bytes().div_ceil(128));
        }
        CoalescingRule::Cc20L1Off => for_phases(request, |phase| sizes.t32 += phase.distinct_bytes().div_ceil(32)),
        CoalescingRule::Cc30 | CoalescingRule::Cc50 | CoalescingRule::Cc70 => {
            sizes.t32 = Sorted::of(request, request.mask).distinct_bytes().div_ceil(32);
        }
    }
    if sizes.bytes() <= actual.bytes() { sizes } else { actual }
}

/// Transactions of 128 B for `bytes`, the last one of 64 or 32 B where it suffices and is not below `smallest`.
fn halved(bytes: u32, smallest: u32) -> Sizes {
    let (whole, rest) = (bytes / 128, bytes % 128);
    let mut sizes = Sizes { t128: whole, ..Sizes::default() };
    match rest {
        0 => {}
        1..=32 if smallest == 32 => sizes.t32 = 1,
        1..=64 => sizes.t64 = 1,
        _ => sizes.t128 += 1,
    }
    sizes
}

/// The transactions of `request` under every rule, in the order of [`CoalescingRule::ALL`]. The same as asking for each,
/// but lanes are sorted once.
pub fn all_transactions(request: &Request<'_>) -> [Transactions; CoalescingRule::ALL.len()] {
    let mut strict = Transactions::default();
    strict.coalesced = counted_segments(CoalescingRule::Cc10, request, |segment| strict.take(segment));
    let mut shrinking = Transactions::default();
    shrinking.coalesced = counted_segments(CoalescingRule::Cc12, request, |segment| shrinking.take(segment));
    let warp = Sorted::of(request, request.mask);
    let lines = warp.units(7);
    let sectors = warp.units(5);
    let bytes = warp.distinct_bytes();
    let by_sector =
        Transactions { t32: sectors, lines, coalesced: sectors == bytes.div_ceil(32), ..Default::default() };
    let mut cached = Transactions { lines, coalesced: true, ..Default::default() };
    let mut uncached = cached;
    if lanes_per_phase(request.lane_bytes) == WARP_SIZE as u32 {
        cached = Transactions { t128: lines, coalesced: lines == bytes.div_ceil(128), ..cached };
        uncached = by_sector;
    } else {
        for_phases(request, |phase| {
            let (lines, sectors, bytes) = (phase.units(7), phase.units(5), phase.distinct_bytes());
            cached.t128 += lines;
            cached.coalesced &= lines == bytes.div_ceil(128);
            uncached.t32 += sectors;
            uncached.coalesced &= sectors == bytes.div_ceil(32);
        });
    }
    let mut all = [strict, shrinking, cached, uncached, by_sector, by_sector, by_sector];
    for (rule, served) in CoalescingRule::ALL.into_iter().zip(&mut all[..4]) {
        served.ideal = ideal(rule, request, *served);
    }
    for served in &mut all[4..] {
        served.ideal.t32 = bytes.div_ceil(32);
    }
    all
}

/// The transactions of an access to local memory, whose 32-bit words lie lane by lane beside each other: word `w` of
/// lane `l` is word `32 * w + l` of the warp's memory. `request` holds offsets in the threads' own local memory.
///
/// Before 3.0 each word of a wide access counts as an access of its own; later the sectors of all words are one set.
pub fn all_local_transactions(request: &Request<'_>) -> [Transactions; CoalescingRule::ALL.len()] {
    let words = request.lane_bytes.div_ceil(4);
    let mut sum = [Transactions { coalesced: true, ..Transactions::default() }; CoalescingRule::ALL.len()];
    let mut bytes = Vec::with_capacity(words as usize * WARP_SIZE);
    for word in 0..u64::from(words) {
        let mut addresses = [0; WARP_SIZE];
        for lane in request.mask.lanes() {
            let offset = request.addresses[lane].wrapping_add(4 * word);
            let row = (offset >> 2).wrapping_mul(WARP_SIZE as u64);
            addresses[lane] = row.wrapping_add(lane as u64).wrapping_mul(4).wrapping_add(offset & 3);
            bytes.push(addresses[lane]);
        }
        let part = Request { lane_bytes: request.lane_bytes.min(4), addresses: &addresses, ..*request };
        for (sum, part) in sum.iter_mut().zip(all_transactions(&part)) {
            sum.t32 += part.t32;
            sum.t64 += part.t64;
            sum.t128 += part.t128;
            sum.ideal.add(part.ideal);
            sum.coalesced &= part.coalesced;
        }
    }
    // Lanes may differ in their offsets, so that the second word of one lies in the row of the first word of another.
    bytes.sort_unstable();
    bytes.dedup();
    let lane_bytes = request.lane_bytes.min(4);
    let sectors = count_units(&bytes, lane_bytes, 5);
    let lines = count_units(&bytes, lane_bytes, 7);
    for (rule, sum) in CoalescingRule::ALL.into_iter().zip(&mut sum) {
        if rule >= CoalescingRule::Cc20 {
            sum.lines = lines;
        }
        if rule >= CoalescingRule::Cc30 {
            let fewest = count_bytes(&bytes, lane_bytes).div_ceil(32);
            sum.t32 = sectors;
            sum.ideal = Sizes { t32: fewest, ..Sizes::default() };
            sum.coalesced = sectors == fewest;
        }
    }
    sum
}

/// Hands every transaction of `request` under `rule` to `emit`.
pub fn segments(rule: CoalescingRule, request: &Request<'_>, mut emit: impl FnMut(Segment)) {
    if matches!(rule, CoalescingRule::Cc30 | CoalescingRule::Cc50 | CoalescingRule::Cc70) {
        // Whether they are coalesced need not be counted.
        let warp = Sorted::of(request, request.mask);
        walk_units(warp.addresses(), warp.lane_bytes, 5, |unit| emit(Segment { start: unit << 5, bytes: 32 }));
    } else {
        counted_segments(rule, request, emit);
    }
}

/// The same; true when the request is coalesced.
fn counted_segments(rule: CoalescingRule, request: &Request<'_>, mut emit: impl FnMut(Segment)) -> bool {
    match rule {
        CoalescingRule::Cc10 => half_warps(request, &mut |half| strict(half, &mut emit)),
        CoalescingRule::Cc12 => half_warps(request, &mut |half| shrinking(half, &mut emit)),
        CoalescingRule::Cc20 => phased(request, 7, &mut emit),
        CoalescingRule::Cc20L1Off => phased(request, 5, &mut emit),
        CoalescingRule::Cc30 | CoalescingRule::Cc50 | CoalescingRule::Cc70 => {
            aligned_units(&Sorted::of(request, request.mask), 5, &mut emit)
        }
    }
}

/// One half-warp of a 1.x request.
struct HalfWarp {
    word_bytes: u64,
    /// Bit k is thread k.
    active: u32,
    addresses: [u64; HALF_WARP],
}

/// Serves the two half-warps one after the other, wide words in pieces of 16 bytes; true when each half-warp that has
/// an active thread took one transaction.
fn half_warps(request: &Request<'_>, serve: &mut impl FnMut(&HalfWarp) -> u32) -> bool {
    let word_bytes = u64::from(request.lane_bytes.min(16));
    let pieces = u64::from(request.lane_bytes.div_ceil(16));
    let mut coalesced = true;
    for half in 0..2 {
        let active = request.mask.0 >> (half * HALF_WARP) & 0xffff;
        if active == 0 {
            continue;
        }
        let mut count = 0;
        for piece in 0..pieces {
            let addresses =
                std::array::from_fn(|thread| request.addresses[half * HALF_WARP + thread].wrapping_add(16 * piece));
            count += serve(&HalfWarp { word_bytes, active, addresses });
        }
        coalesced &= count == 1;
    }
    coalesced
}

/// 1.0 and 1.1; returns the number of transactions.
fn strict(half: &HalfWarp, emit: &mut impl FnMut(Segment)) -> u32 {
    let first = half.active.trailing_zeros() as usize;
    let span = HALF_WARP as u64 * half.word_bytes;
    let base = half.addresses[first].wrapping_sub(first as u64 * half.word_bytes);
    let in_order = |thread: usize| half.addresses[thread] == base.wrapping_add(thread as u64 * half.word_bytes);
    if matches!(half.word_bytes, 4 | 8 | 16) && base.is_multiple_of(span) && threads(half.active).all(in_order) {
        let bytes = span.min(128);
        for start in (0..span).step_by(bytes as usize) {
            emit(Segment { start: base + start, bytes: bytes as u32 });
        }
        return (span / bytes) as u32;
    }
    for thread in threads(half.active) {
        emit(Segment { start: half.addresses[thread] & !31, bytes: 32 });
    }
    half.active.count_ones()
}

/// 1.2 and 1.3; returns the number of transactions. Segments are aligned, so that the threads of a segment are served
/// together whichever of them is the lowest.
fn shrinking(half: &HalfWarp, emit: &mut impl FnMut(Segment)) -> u32 {
    let segment_bytes: u64 = match half.word_bytes {
        1 => 32,
        2 => 64,
        _ => 128,
    };
    let mut addresses = [0; HALF_WARP];
    let mut n = 0;
    for thread in threads(half.active) {
        addresses[n] = half.addresses[thread];
        n += 1;
    }
    let addresses = &mut addresses[..n];
    if !addresses.is_sorted() {
        addresses.sort_unstable();
    }
    let mut count = 0;
    for served in addresses.chunk_by(|a, b| a / segment_bytes == b / segment_bytes) {
        let mut start = served[0] & !(segment_bytes - 1);
        let mut bytes = segment_bytes;
        let end = (served[served.len() - 1] + half.word_bytes).min(start + bytes);
        while bytes > 32 && (end <= start + bytes / 2 || served[0] >= start + bytes / 2) {
            bytes /= 2;
            if served[0] >= start + bytes {
                start += bytes;
            }
        }
        emit(Segment { start, bytes: bytes as u32 });
        count += 1;
    }
    count
}

fn threads(active: u32) -> impl Iterator<Item = usize> {
    ActiveMask(active).lanes()
}

/// 2.x: units of `1 << shift` bytes, each phase of lanes by itself.
fn phased(request: &Request<'_>, shift: u32, emit: &mut impl FnMut(Segment)) -> bool {
    let mut coalesced = true;
    for_phases(request, |phase| coalesced &= aligned_units(phase, shift, emit));
    coalesced
}

fn for_phases(request: &Request<'_>, mut serve: impl FnMut(&Sorted)) {
    let lanes = lanes_per_phase(request.lane_bytes);
    for phase in 0..WARP_SIZE as u32 / lanes {
        let mask = request.mask & ActiveMask(ActiveMask::first(lanes).0 << (phase * lanes));
        if !mask.is_empty() {
            serve(&Sorted::of(request, mask));
        }
    }
}

/// Lanes that are served together so that they move at most 128 B.
const fn lanes_per_phase(lane_bytes: u32) -> u32 {
    match lane_bytes {
        0..=4 => 32,
        5..=8 => 16,
        9..=16 => 8,
        _ => 4,
    }
}

/// The distinct units of `1 << shift` bytes; true when there are no more than the distinct bytes need.
fn aligned_units(sorted: &Sorted, shift: u32, emit: &mut impl FnMut(Segment)) -> bool {
    let mut count = 0;
    walk_units(sorted.addresses(), sorted.lane_bytes, shift, |unit| {
        count += 1;
        emit(Segment { start: unit << shift, bytes: 1 << shift });
    });
    count == sorted.distinct_bytes().div_ceil(1 << shift)
}

/// Addresses of some lanes in ascending order; those that several lanes have may stand there several times.
struct Sorted {
    lane_bytes: u32,
    n: usize,
    addresses: [u64; WARP_SIZE],
}

impl Sorted {
    fn of(request: &Request<'_>, mask: ActiveMask) -> Self {
        let mut sorted = Self { lane_bytes: request.lane_bytes, n: 0, addresses: [0; WARP_SIZE] };
        if mask == ActiveMask::FULL {
            (sorted.n, sorted.addresses) = (WARP_SIZE, *request.addresses);
        } else {
            for lane in mask.lanes() {
                sorted.addresses[sorted.n] = request.addresses[lane];
                sorted.n += 1;
            }
        }
        // Mostly there are one or two rows of ascending addresses; the second begins at this index.
        let (mut second, mut n_rows) = (0, 1);
        for (index, pair) in sorted.addresses().windows(2).enumerate() {
            let descends = pair[1] < pair[0];
            second = if descends { index + 1 } else { second };
            n_rows += u32::from(descends);
        }
        match n_rows {
            1 => sorted,
            2 => sorted.merged(second),
            _ => {
                sorted.addresses[..sorted.n].sort_unstable();
                sorted
            }
        }
    }

    /// Puts two ascending rows together, of which the second begins at an index.
    fn merged(&self, second: usize) -> Self {
        let (left, right) = self.addresses().split_at(second);
        let mut merged = Self { lane_bytes: self.lane_bytes, n: 0, addresses: [0; WARP_SIZE] };
        let (mut of_left, mut of_right) = (0, 0);
        while of_left < left.len() || of_right < right.len() {
            let next = |row: &[u64], at: usize| row.get(at).copied();
            let (from_left, from_right) = (next(left, of_left), next(right, of_right));
            let least = from_left.unwrap_or(u64::MAX).min(from_right.unwrap_or(u64::MAX));
            of_left += usize::from(from_left == Some(least));
            of_right += usize::from(from_right == Some(least));
            merged.addresses[merged.n] = least;
            merged.n += 1;
        }
        merged
    }

    fn addresses(&self) -> &[u64] {
        &self.addresses[..self.n]
    }

    fn units(&self, shift: u32) -> u32 {
        count_units(self.addresses(), self.lane_bytes, shift)
    }

    fn distinct_bytes(&self) -> u32 {
        count_bytes(self.addresses(), self.lane_bytes)
    }
}

fn count_units(ascending: &[u64], lane_bytes: u32, shift: u32) -> u32 {
    let mut count = 0;
    walk_units(ascending, lane_bytes, shift, |_| count += 1);
    count
}

/// Visits each distinct unit of `1 << shift` bytes once.
fn walk_units(ascending: &[u64], lane_bytes: u32, shift: u32, mut visit: impl FnMut(u64)) {
    let mut next = 0;
    for &address in ascending {
        let last = (address + u64::from(lane_bytes) - 1) >> shift;
        let mut unit = next.max(address >> shift);
        while unit <= last {
            visit(unit);
            unit += 1;
        }
        next = unit;
    }
}

/// Size of the union of the lanes' bytes.
fn count_bytes(ascending: &[u64], lane_bytes: u32) -> u32 {
    let steps = ascending.windows(2).map(|pair| (pair[1] - pair[0]).min(u64::from(lane_bytes)) as u32);
    steps.sum::<u32>() + if ascending.is_empty() { 0 } else { lane_bytes }
}
