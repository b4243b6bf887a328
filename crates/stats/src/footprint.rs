//! Which sectors of global memory CTAs load, and how many of them several SMs share.
//!
//! Few CTAs are looked at. Where the words that a CTA loads move by the same distances from CTA to CTA along each axis of
//! the grid, as in all kernels whose addresses are sums of products with the CTA's coordinates, those of all others follow
//! from one CTA and its neighbours ([`Pattern`]). In a launch of clusters it is those of a cluster that move, as its CTAs
//! may load a part each of what all of them need.

mod packed;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;
use warplens_trace::{Access, ActiveMask, CtaId};

use crate::sample;
use crate::sector::{BYTES as SECTOR_BYTES, PER_LINE as SECTORS};

/// Lines of one CTA that are kept.
const MOST_LINES: usize = 1 << 17;
/// CTAs that are asked about an address, and that have to be as a pattern says.
const MOST_ASKED: u64 = 32;
/// Lanes that are looked at together.
const GROUP: usize = 8;
/// Lines that are looked at before the set of all.
const RECENT: usize = 64;
/// Bytes of a word, and words of a sector and of a line.
const WORD_BYTES: u64 = 4;
const WORDS: u64 = SECTOR_BYTES / WORD_BYTES;
const LINE_WORDS: u64 = WORDS * SECTORS;
/// Words of all memory that there can be.
const MOST_WORDS: u64 = 1 << 62;
/// Share of the sectors of a CTA that a pattern has to name, and that it may name beyond them.
const ALIKE: f64 = 0.9;
/// Runs of sectors that are put in order; of more, those of some pieces of memory.
const MOST_RUNS: u64 = 1 << 18;
/// Runs of sectors that are looked at.
const MOST_LOOKED_AT: u64 = 1 << 23;
/// Sectors of a piece of memory.
const PIECE: u64 = 256;

/// Sectors that a CTA loads: runs of neighbours, ascending.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Lines(Vec<Run>);

/// Words that a CTA loads: runs of neighbours, ascending.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Words(Vec<Run>);

/// Sectors or words side by side: the number of the first, and how many.
type Run = (u64, u64);

/// The words of a CTA that runs.
#[derive(Clone, Debug)]
pub(crate) struct LinesOpen {
    lines: FxHashMap<u64, u32>,
    recent: Box<[(u64, u32); RECENT]>,
}

impl Default for LinesOpen {
    fn default() -> Self {
        Self { lines: FxHashMap::default(), recent: Box::new([(u64::MAX, 0); RECENT]) }
    }
}

impl LinesOpen {
    /// Adds the words of an access.
    pub(crate) fn touch(&mut self, access: &Access<'_>) {
        let bytes = u64::from(access.lane_bytes()).max(1);
        let (mut line, mut mask) = (u64::MAX, 0);
        let mut range = |first: u64, last: u64| {
            let (first, last) = (first / WORD_BYTES, last / WORD_BYTES);
            for of in first / LINE_WORDS..=last / LINE_WORDS {
                let from = first.saturating_sub(of * LINE_WORDS);
                let to = (last - of * LINE_WORDS).min(LINE_WORDS - 1);
                if of != line {
                    self.add(line, mask);
                    (line, mask) = (of, 0);
                }
                mask |= u32::MAX >> (LINE_WORDS - 1 - to) & u32::MAX << from;
            }
        };
        let addresses = access.addresses.all();
        let mut before = None;
        for (group, addresses) in addresses.chunks(GROUP).enumerate() {
            let lanes = access.mask.0 >> (group * GROUP) & ((1 << GROUP) - 1);
            if lanes == (1 << GROUP) - 1
                && let Some(last) = end_of_row(addresses, bytes)
            {
                range(addresses[0], last);
                continue;
            }
            for lane in ActiveMask(lanes).lanes() {
                // Lanes that load the same touch the same.
                let address = addresses[lane];
                if before.replace(address) != Some(address) {
                    range(address, address.wrapping_add(bytes - 1));
                }
            }
        }
        self.add(line, mask);
    }

    fn add(&mut self, line: u64, mask: u32) {
        let recent = &mut self.recent[line as usize % RECENT];
        if mask == 0 || recent.0 == line && recent.1 & mask == mask {
            return;
        }
        *recent = if recent.0 == line { (line, recent.1 | mask) } else { (line, mask) };
        if self.lines.len() < MOST_LINES || self.lines.contains_key(&line) {
            *self.lines.entry(line).or_default() |= mask;
        }
    }

    /// The words, which it forgets.
    pub(crate) fn close(&mut self) -> Words {
        *self.recent = [(u64::MAX, 0); RECENT];
        let mut lines: Vec<(u64, u32)> = self.lines.drain().collect();
        lines.sort_unstable();
        let mut runs: Vec<Run> = Vec::new();
        for (line, mut mask) in lines {
            let mut place = line * LINE_WORDS;
            while mask != 0 {
                let gap = mask.trailing_zeros();
                mask >>= gap;
                place += u64::from(gap);
                let count = mask.trailing_ones();
                match runs.last_mut() {
                    Some((first, length)) if *first + *length == place => *length += u64::from(count),
                    _ => runs.push((place, count.into())),
                }
                mask = mask.checked_shr(count).unwrap_or(0);
                place += u64::from(count);
            }
        }
        Words(runs)
    }
}

/// The last byte of lanes that lie side by side.
fn end_of_row(addresses: &[u64], bytes: u64) -> Option<u64> {
    let (mut expected, mut differs) = (addresses[0], 0);
    for address in addresses {
        differs |= address ^ expected;
        expected = expected.wrapping_add(bytes);
    }
    (differs == 0 && expected > addresses[0]).then(|| expected - 1)
}

impl Words {
    /// The sectors that they lie in.
    pub fn sectors(&self) -> Lines {
        Lines(united(self.0.iter().map(|&run| sectors_of(run)).collect()))
    }
}

/// The sectors that a run of words lies in.
fn sectors_of((first, count): Run) -> Run {
    let (from, to) = (first / WORDS, (first + count).div_ceil(WORDS));
    (from, to - from)
}

/// The words that every CTA loads, as far as these move by the same distances from cluster to cluster. CTAs of one cluster
/// may divide among them what all of them need; a launch without clusters has one CTA in each.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Pattern {
    extents: Extents,
    /// The cluster that the others are compared with.
    base: [u32; 3],
    /// The runs of its CTAs, by rank, with the words by which they move from cluster to cluster along each axis.
    of_ranks: Vec<Vec<Moving>>,
}

/// A run of a CTA, and the words by which it moves along each axis.
type Moving = (Run, [i64; 3]);

/// CTAs of a grid, and of a cluster of it, along each axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extents {
    grid: [u32; 3],
    cluster: [u32; 3],
}

impl Extents {
    /// Those of a launch; clusters that do not divide the grid are none.
    pub fn new(grid: [u32; 3], cluster: Option<[u32; 3]>) -> Self {
        let cluster = cluster.unwrap_or([1; 3]);
        let divides =
            |axis: usize| (1..=grid[axis]).contains(&cluster[axis]) && grid[axis].is_multiple_of(cluster[axis]);
        Self { grid, cluster: if (0..3).all(divides) { cluster } else { [1; 3] } }
    }

    /// Clusters along each axis.
    fn clusters(&self) -> [u32; 3] {
        std::array::from_fn(|axis| self.grid[axis] / self.cluster[axis])
    }

    /// CTAs of a cluster.
    fn n_ranks(&self) -> u32 {
        self.cluster.iter().product()
    }

    /// A CTA as its cluster and its rank there.
    fn place(&self, cta: u32) -> ([u32; 3], u32) {
        let [x, y, _] = self.grid.map(|extent| extent.max(1));
        let place = [cta % x, cta / x % y, cta / x / y];
        let [of_x, of_y, of_z] = std::array::from_fn(|axis| place[axis] % self.cluster[axis]);
        let rank = (of_z * self.cluster[1] + of_y) * self.cluster[0] + of_x;
        (std::array::from_fn(|axis| place[axis] / self.cluster[axis]), rank)
    }

    /// The CTAs of a cluster, by rank; those whose number is none are left out.
    fn ctas(&self, cluster: [u32; 3]) -> impl Iterator<Item = CtaId> {
        let Self { grid: [x, y, _], cluster: [of_x, of_y, _] } = *self;
        let first: [u32; 3] = std::array::from_fn(|axis| cluster[axis] * self.cluster[axis]);
        (0..self.n_ranks()).filter_map(move |rank| {
            let place = [first[0] + rank % of_x, first[1] + rank / of_x % of_y, first[2] + rank / of_x / of_y];
            Some(CtaId(place[2].checked_mul(y)?.checked_add(place[1])?.checked_mul(x)?.checked_add(place[0])?))
        })
    }
}

/// The CTAs that a pattern is made of: those of one cluster, if possible not at the edge of the grid, and of its neighbour
/// along each axis.
pub fn pattern_ctas(extents: Extents) -> Vec<CtaId> {
    let clusters = extents.clusters();
    let base = clusters.map(inner);
    let beside = (0..3).filter(|&axis| clusters[axis] > 1).map(|axis| {
        let mut place = base;
        place[axis] += 1;
        place
    });
    std::iter::once(base).chain(beside).flat_map(|cluster| extents.ctas(cluster)).collect()
}

/// Whether the words of the CTAs of [`pattern_ctas`] show what others load, by the sectors of some of these.
pub(crate) fn is_pattern(extents: Extents, words: &[(CtaId, Words)], others: &[(CtaId, Lines)]) -> bool {
    let others = others.iter().filter(|(id, _)| words.iter().all(|(of, _)| of != id));
    let others: Vec<(u32, &Lines)> = others.map(|(id, lines)| (id.0, lines)).collect();
    Pattern::new(extents, words).is_some_and(|pattern| pattern.holds(&others))
}

/// A place along an axis that has a neighbour on each side, where there is one.
const fn inner(extent: u32) -> u32 {
    if extent > 2 { 1 } else { 0 }
}

impl Pattern {
    /// What the CTAs of [`pattern_ctas`] show; none where they are not alike.
    fn new(extents: Extents, words: &[(CtaId, Words)]) -> Option<Self> {
        let find = |id: &CtaId| words.iter().find(|(of, _)| of == id).map(|(_, words)| words);
        let ctas = pattern_ctas(extents);
        let mut clusters = ctas.chunks(extents.n_ranks() as usize);
        let of_rank = |id: &CtaId| Some(find(id)?.0.iter().map(|&run| (run, [0; 3])).collect());
        let mut of_ranks: Vec<Vec<Moving>> = clusters.next()?.iter().map(of_rank).collect::<Option<_>>()?;
        let axes = (0..3).filter(|&axis| extents.clusters()[axis] > 1);
        for (axis, beside) in axes.zip(clusters) {
            for (runs, beside) in of_ranks.iter_mut().zip(beside) {
                let beside = find(beside)?;
                if beside.0.len() != runs.len() {
                    return None;
                }
                for (((first, count), step), (moved, length)) in runs.iter_mut().zip(&beside.0) {
                    if count != length {
                        return None;
                    }
                    step[axis] = moved.wrapping_sub(*first).cast_signed();
                }
            }
        }
        Some(Self { extents, base: extents.clusters().map(inner), of_ranks })
    }

    /// Calls `each` for the sectors of a CTA, run by run; they are in no order and may overlap.
    fn each(&self, cta: u32, mut each: impl FnMut(Run)) {
        let (cluster, rank) = self.extents.place(cta);
        let moved: [i64; 3] = std::array::from_fn(|axis| i64::from(cluster[axis]) - i64::from(self.base[axis]));
        for &((first, count), step) in &self.of_ranks[rank as usize] {
            let distance: i64 = (0..3).map(|axis| moved[axis].wrapping_mul(step[axis])).fold(0, i64::wrapping_add);
            // A pattern that does not hold so far away may lead to places that are no memory.
            if let Some(moved) = first.checked_add_signed(distance).filter(|&moved| moved < MOST_WORDS) {
                each(sectors_of((moved, count)));
            }
        }
    }

    /// Runs of a CTA, as many as it has on average.
    fn n_runs(&self) -> u64 {
        self.of_ranks.iter().map(|runs| runs.len() as u64).sum::<u64>().div_ceil(self.of_ranks.len().max(1) as u64)
    }

    fn fetches(&self, sharing: &Sharing) -> Fetches {
        let known = self.extents.grid.iter().map(|&extent| u64::from(extent)).product();
        Fetches::of(sharing, known, self.n_runs(), |cta, add| self.each(cta, add))
    }

    fn sectors(&self, cta: u32) -> Vec<Run> {
        let mut runs = Vec::with_capacity(self.n_runs() as usize);
        self.each(cta, |run| runs.push(run));
        united(runs)
    }

    /// Whether these CTAs load what the pattern says, but for a few at edges.
    fn holds(&self, ctas: &[(u32, &Lines)]) -> bool {
        let is_alike = |&&(cta, Lines(found)): &&(u32, &Lines)| {
            let said = self.sectors(cta);
            let both: Vec<Run> = said.iter().chain(found).copied().collect();
            let (said, found) = (length(&said), length(found));
            let common = said + found - length(&united(both));
            common as f64 >= ALIKE * found.max(said) as f64
        };
        2 * ctas.iter().filter(is_alike).count() > ctas.len()
    }
}

/// Sectors that CTAs of a launch load.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Footprint {
    /// By CTA, from the first. Shared, because one recording serves several GPUs.
    all: Arc<[Lines]>,
    /// Of these, those that count.
    n_ctas: usize,
    /// What the others load, and what all store to.
    pattern: Option<Arc<Pattern>>,
    stored: Option<Arc<Pattern>>,
    /// Who fetches what, once that is known.
    fetches: Arc<Fetches>,
    /// What was found out for others that share in the same way.
    found: FoundOut,
}

/// Which part of the SMs that load a sector fetch it from device memory.
#[derive(Clone, PartialEq, Debug, Default)]
struct Fetches {
    /// Sectors with that part: runs, ascending.
    runs: Vec<(Run, f32)>,
    /// The part of all of them.
    mean: Option<f64>,
    /// The part of the SMs that store to a sector and have to write it, of all of these.
    mean_stored: Option<f64>,
    /// Sectors within which a sector of which nothing is known is like those before it; 0 where all are known.
    reach: u64,
}

/// What was found out last, by the CTAs that count and how they share: changes of a kernel that load what it loads are
/// asked about one after the other. It is no part of what a footprint is.
#[derive(Clone, Debug, Default)]
struct FoundOut(Arc<Mutex<Vec<Found>>>);

/// The CTAs that count, whether others follow a pattern, and how all share.
type Case = (usize, bool, Sharing);

/// A case and its answer.
type Found = (Case, Arc<Fetches>);

/// Answers that are kept.
const KEPT: usize = 2;

impl PartialEq for FoundOut {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl FoundOut {
    fn all(&self) -> MutexGuard<'_, Vec<Found>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of(&self, case: &Case) -> Option<Arc<Fetches>> {
        self.all().iter().find(|(of, _)| of == case).map(|(_, fetches)| fetches.clone())
    }

    fn add(&self, case: Case, fetches: Arc<Fetches>) {
        let mut all = self.all();
        if all.len() == KEPT {
            all.remove(0);
        }
        all.push((case, fetches));
    }
}

/// How CTAs come to the SMs, and what the cache that these share can hold.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sharing {
    /// SMs that CTAs are dealt out to in turn.
    pub n_sms: u32,
    /// CTAs that each SM gets, as far as they matter.
    pub per_sm: u32,
    /// CTAs that are on an SM at once.
    pub resident: u32,
    /// Sectors of what CTAs load that the cache holds.
    pub sectors: f64,
}

impl Footprint {
    /// The footprint of neighbouring CTAs from the first.
    pub fn new(lines: Vec<(CtaId, Lines)>) -> Self {
        let from_first = lines.into_iter().enumerate().take_while(|(index, (id, _))| *index as u64 == u64::from(id.0));
        let all: Arc<[Lines]> = from_first.map(|(_, (_, lines))| lines).collect();
        Self {
            n_ctas: all.len(),
            all,
            pattern: None,
            stored: None,
            fetches: Arc::default(),
            found: FoundOut::default(),
        }
    }

    /// The same with what the CTAs of [`pattern_ctas`] show of all others, by the words that they load and store to.
    #[must_use]
    pub fn with_pattern(self, extents: Extents, loaded: &[(CtaId, Words)], stored: &[(CtaId, Words)]) -> Self {
        let pattern = |words| Pattern::new(extents, words).map(Arc::new);
        Self { pattern: pattern(loaded), stored: pattern(stored), found: FoundOut::default(), ..self }
    }

    /// That of the first `n_ctas` of these CTAs; where none of them is wanted, the pattern is known to hold.
    #[must_use]
    pub fn first(&self, n_ctas: u32) -> Self {
        let is_known = n_ctas == 0;
        let n_ctas = self.n_ctas.min(n_ctas as usize);
        let pattern = self.pattern.clone().filter(|pattern| is_known || pattern.holds(&self.asked(n_ctas)));
        Self { n_ctas, pattern, fetches: Arc::default(), ..self.clone() }
    }

    /// Those of the first `n` CTAs that a pattern is compared with.
    fn asked(&self, n: usize) -> Vec<(u32, &Lines)> {
        let n_asked = (n as u64).min(MOST_ASKED);
        let places = (0..n_asked).map(|number| sample::place(number, n as u64, n_asked));
        places.map(|place| (place as u32, &self.all[place as usize])).collect()
    }

    /// The same with the part of the SMs that load a sector and have to fetch it. SMs share what one of them fetches as long
    /// as the cache holds it: when CTAs on them load it at the same time, or one after the other with less between them than
    /// the cache has room for. Nothing is known of that where fewer CTAs than SMs were looked at and no pattern was found.
    #[must_use]
    pub fn dealt(self, sharing: &Sharing) -> Self {
        let case = (self.n_ctas, self.pattern.is_some(), *sharing);
        if let Some(fetches) = self.found.of(&case) {
            return Self { fetches, ..self };
        }
        let known = self.ctas().len() as u64;
        let runs = self.ctas().iter().map(|lines| lines.0.len() as u64).sum::<u64>() / known.max(1);
        let mut fetches = match &self.pattern {
            Some(pattern) => pattern.fetches(sharing),
            None => Fetches::of(sharing, known, runs, |cta, add| {
                self.ctas()[cta as usize].0.iter().copied().for_each(add);
            }),
        };
        fetches.mean_stored = self.stored.as_ref().and_then(|stored| stored.fetches(sharing).mean);
        let fetches = Arc::new(fetches);
        self.found.add(case, fetches.clone());
        Self { fetches, ..self }
    }

    /// Of the sectors that each SM stores to, those that it has to write to device memory, as [`Footprint::dealt`] found out:
    /// what several store to lies in the cache once. All where nothing is known.
    pub fn first_store(&self) -> f64 {
        self.fetches.mean_stored.unwrap_or(1.0)
    }

    /// Share of the sectors that a CTA stores to which it loads, too, by the CTA that the others are compared with. None where
    /// CTAs are not alike, or store to nothing.
    pub fn stored_in_place(&self) -> Option<f64> {
        let sectors = |of: &Pattern| {
            let runs = of.of_ranks.first()?;
            Some(united(runs.iter().map(|&(run, _)| sectors_of(run)).collect()))
        };
        let (loaded, stored) = (sectors(self.pattern.as_ref()?)?, sectors(self.stored.as_ref()?)?);
        let both: Vec<Run> = loaded.iter().chain(&stored).copied().collect();
        let (loaded, stored) = (length(&loaded), length(&stored));
        (stored > 0).then(|| (loaded + stored - length(&united(both))) as f64 / stored as f64)
    }

    /// Part of the SMs that load a sector, by its number, which have to fetch it, as far as [`Footprint::dealt`] found out:
    /// none where nothing is known of it.
    pub fn fetched(&self, sector: u64) -> Option<f64> {
        let Fetches { reach, .. } = &*self.fetches;
        let ((first, count), part) = self.fetches.before(sector)?;
        if sector - first < count {
            return Some(part.into());
        }
        if sector - first >= count + reach {
            return None;
        }
        // Nothing is known of its piece. In the one before it stands at the same place, since what lies at the ends of aligned
        // pieces may be loaded more often than what lies between.
        let there = (first + count - 1) / PIECE * PIECE + sector % PIECE;
        self.fetches.before(there).map(|(_, part)| part.into())
    }

    /// True where something is known of single sectors.
    pub fn is_known(&self) -> bool {
        !self.fetches.runs.is_empty()
    }

    fn ctas(&self) -> &[Lines] {
        &self.all[..self.n_ctas]
    }

    /// CTAs that were looked at.
    pub const fn n_ctas(&self) -> usize {
        self.n_ctas
    }

    /// Of the sectors that each SM loads, those that it has to fetch, as [`Footprint::dealt`] found out. None where nothing
    /// is loaded.
    ///
    /// Where fewer CTAs than SMs were looked at and no pattern was found: distinct sectors of all over the sum of the distinct
    /// sectors of each, where the distinct sectors of all grow with the number of SMs by the power that the last doubling
    /// shows.
    pub fn first_fetch(&self, n_sms: u32) -> Option<f64> {
        if self.fetches.mean.is_some() {
            return self.fetches.mean;
        }
        let some = self.n_ctas;
        let (distinct, sum) = self.sectors(some);
        if sum == 0 {
            return None;
        }
        let share = distinct as f64 / sum as f64;
        let half = self.sectors(some / 2).0;
        if half == 0 {
            return Some(share);
        }
        let doublings = (some as f64 / (some / 2) as f64).log2();
        let power = ((distinct as f64 / half as f64).log2() / doublings).clamp(0.0, 1.0);
        Some(share * (f64::from(n_sms.max(1)) / some as f64).powf(power - 1.0))
    }

    /// The share of `n_sms` SMs whose first CTA touches the sector of an address, by at most 32 of them; `None` where fewer
    /// than two CTAs were looked at, which says nothing about others.
    pub fn touching(&self, address: u64, n_sms: u32) -> Option<f64> {
        let sector = address / SECTOR_BYTES;
        let touches = |lines: &&Lines| {
            let next = lines.0.partition_point(|&(first, _)| first <= sector);
            next.checked_sub(1).is_some_and(|run| sector - lines.0[run].0 < lines.0[run].1)
        };
        let n_ctas = (self.n_ctas as u64).min(n_sms.into());
        let n_asked = n_ctas.min(MOST_ASKED);
        let asked = (0..n_asked).map(|index| &self.ctas()[sample::place(index, n_ctas, n_asked) as usize]);
        (n_ctas > 1).then(|| asked.filter(touches).count() as f64 / n_asked as f64)
    }

    /// Distinct sectors of the first CTAs together, and the sum of those of each.
    fn sectors(&self, n_ctas: usize) -> (u64, u64) {
        let of = self.ctas()[..n_ctas].iter();
        let sum = of.clone().map(|lines| length(&lines.0)).sum();
        (length(&united(of.flat_map(|lines| lines.0.iter().copied()).collect())), sum)
    }
}

/// A place where a CTA begins or ends to load, in one number: by the place, what ends before what begins, and the CTA.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Use(u128);

impl Use {
    fn new(place: u64, cta: u32, begins: bool) -> Self {
        Self(u128::from(place) << 64 | u128::from(begins) << 32 | u128::from(cta))
    }

    const fn parts(self) -> (u64, u32, bool) {
        ((self.0 >> 64) as u64, self.0 as u32, self.0 >> 32 & 1 == 1)
    }

    /// Place and what happens there, without the CTA.
    const fn event(self) -> u64 {
        (self.0 >> 64) as u64 * 2 + (self.0 >> 32 & 1) as u64
    }
}

/// Bits by which uses are dealt out at a time.
const DIGIT: u32 = 11;

/// Puts uses in order that come CTA by CTA: they are dealt out by the digits of where they are, the lowest first (radix
/// sort), and equal ones stay as they come.
fn in_order(mut uses: Vec<Use>) -> Vec<Use> {
    let least = uses.iter().map(|of| of.event()).min().unwrap_or(0);
    let most = uses.iter().map(|of| of.event()).max().unwrap_or(0);
    let mut dealt = vec![Use(0); uses.len()];
    for shift in (0..u64::BITS - (most - least).leading_zeros()).step_by(DIGIT as usize) {
        let digit = |of: &Use| ((of.event() - least) >> shift) as usize & ((1 << DIGIT) - 1);
        let mut next = [0; 1 << DIGIT];
        uses.iter().for_each(|of| next[digit(of)] += 1);
        let mut before = 0;
        for first in &mut next {
            before += std::mem::replace(first, before);
        }
        for of in &uses {
            let place = &mut next[digit(of)];
            dealt[*place] = *of;
            *place += 1;
        }
        std::mem::swap(&mut uses, &mut dealt);
    }
    uses
}

impl Fetches {
    /// The last run that begins at a sector or before it.
    fn before(&self, sector: u64) -> Option<(Run, f32)> {
        let next = self.runs.partition_point(|&((first, _), _)| first <= sector);
        Some(self.runs[next.checked_sub(1)?])
    }

    /// By what `each` says of so many CTAs, which have about so many runs.
    fn of(sharing: &Sharing, known: u64, runs: u64, each: impl Fn(u32, &mut dyn FnMut(Run))) -> Self {
        let n_sms = u64::from(sharing.n_sms.max(1));
        // One wave more, for what the last CTAs share with those after them.
        let turns = (known / n_sms).min(u64::from(sharing.per_sm) + u64::from(sharing.resident));
        let turns = turns.min((MOST_LOOKED_AT / (n_sms * runs.max(1))).max(1));
        let n_ctas = turns * n_sms;
        let every = (n_ctas * runs.max(1)).div_ceil(MOST_RUNS).next_power_of_two();
        let mut uses: Vec<Use> = Vec::with_capacity(2 * (n_ctas * runs / every) as usize);
        for cta in 0..n_ctas as u32 {
            each(cta, &mut |(first, count)| {
                let end = first + count;
                if every == 1 {
                    uses.extend([Use::new(first, cta, true), Use::new(end, cta, false)]);
                    return;
                }
                for piece in first / PIECE..=(end - 1) / PIECE {
                    if piece.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40 & (every - 1) == 0 {
                        let (first, end) = (first.max(piece * PIECE), end.min((piece + 1) * PIECE));
                        uses.extend([Use::new(first, cta, true), Use::new(end, cta, false)]);
                    }
                }
            });
        }
        let uses = in_order(uses);
        Self::new(&uses, sharing, turns, every)
    }

    /// From the places where CTAs begin and end to load, in order: of so many turns, and of one piece of memory in `every`.
    fn new(uses: &[Use], sharing: &Sharing, turns: u64, every: u64) -> Self {
        let n_sms = sharing.n_sms.max(1);
        // The cache holds what all SMs load in so many turns.
        let (mut distinct, mut open, mut since) = (0, 0, 0);
        for (place, _, begins) in uses.iter().map(|of| of.parts()) {
            distinct += if open > 0 { place - since } else { 0 };
            since = place;
            open = if begins { open + 1 } else { open - 1 };
        }
        let per_turn = (distinct * every) as f64 / turns.max(1) as f64;
        let held = if per_turn > 0.0 { (sharing.sectors / per_turn).min(f64::from(u32::MAX)) as u32 } else { u32::MAX };
        let apart = held.max(sharing.resident);
        let mut fetches = Self { reach: if every > 1 { 4 * every * PIECE } else { 0 }, ..Self::default() };
        let (mut fetched, mut loaded) = (0.0, 0.0);
        // CTAs that load what lies before the next place, ascending; one may do so in several runs.
        let mut active: Vec<(u32, u32)> = Vec::new();
        let mut seen = vec![u32::MAX; n_sms as usize];
        let mut segment = 0;
        let mut since = 0;
        for (place, cta, begins) in uses.iter().map(|of| of.parts()) {
            if place > since && !active.is_empty() {
                let (mut times, mut sms, mut last) = (0_u32, 0_u32, None);
                for &(cta, _) in &active {
                    let (turn, sm) = (cta / n_sms, cta % n_sms);
                    if last.is_none_or(|last| turn - last > apart) {
                        times += 1;
                        segment += 1;
                    }
                    if seen[sm as usize] != segment {
                        seen[sm as usize] = segment;
                        sms += 1;
                    }
                    last = Some(turn);
                }
                let (length, part) = (place - since, times as f32 / sms as f32);
                fetched += length as f64 * f64::from(times);
                loaded += length as f64 * f64::from(sms);
                match fetches.runs.last_mut() {
                    Some(((first, count), of)) if *first + *count == since && *of == part => *count += length,
                    _ => fetches.runs.push(((since, length), part)),
                }
            }
            since = place;
            match active.binary_search_by_key(&cta, |&(cta, _)| cta) {
                Ok(at) if begins => active[at].1 += 1,
                Ok(at) if active[at].1 > 1 => active[at].1 -= 1,
                Ok(at) => drop(active.remove(at)),
                Err(at) => active.insert(at, (cta, 1)),
            }
        }
        fetches.mean = (loaded > 0.0).then(|| fetched / loaded);
        fetches
    }
}

fn length(runs: &[Run]) -> u64 {
    runs.iter().map(|(_, count)| count).sum()
}

/// Runs without overlap.
fn united(mut runs: Vec<Run>) -> Vec<Run> {
    runs.sort_unstable();
    let mut united: Vec<Run> = Vec::with_capacity(runs.len());
    for (first, count) in runs {
        match united.last_mut() {
            Some((start, length)) if first <= *start + *length => {
                *length = (*length).max(first + count - *start);
            }
            _ => united.push((first, count)),
        }
    }
    united
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;
    use warplens_isa::StateSpace;
    use warplens_trace::{AccessKind, WARP_SIZE};

    use super::*;

    proptest! {
        #[test]
        fn uses_come_in_the_order_of_place_end_before_begin_and_cta(
            mut found in proptest::collection::vec((0..9_u32, 0..5_u64, 0..60_u32, any::<bool>()), 0..80),
        ) {
            found.sort_by_key(|&(cta, ..)| cta);
            let uses: Vec<Use> =
                found.iter().map(|&(cta, place, shift, begins)| Use::new(7 + (place << shift), cta, begins)).collect();
            let mut sorted = uses.clone();
            sorted.sort_by_key(|of| {
                let (place, cta, begins) = of.parts();
                (place, begins, cta)
            });
            let found: Vec<_> = in_order(uses).into_iter().map(Use::parts).collect();
            prop_assert_eq!(found, sorted.into_iter().map(Use::parts).collect::<Vec<_>>());
        }

        #[test]
        fn an_access_touches_the_words_of_its_lanes(
            accesses in proptest::collection::vec(
                (0..4000_u64, prop_oneof![Just(None), (-40..40_i64).prop_map(Some)], 0..5_u32, any::<u32>(), any::<bool>()),
                1..8,
            ),
        ) {
            let mut open = LinesOpen::default();
            let mut expected = BTreeSet::new();
            for (base, stride, log_bytes, mask, is_full) in accesses {
                let bytes = 1_u64 << log_bytes;
                let stride = stride.unwrap_or(bytes as i64);
                let addresses: [u64; WARP_SIZE] =
                    std::array::from_fn(|lane| (2000 + base).wrapping_add_signed(lane as i64 * stride));
                let mask = if is_full { ActiveMask::FULL } else { ActiveMask(mask) };
                open.touch(&Access {
                    space: StateSpace::Global,
                    kind: AccessKind::Load,
                    element_bytes: bytes as u8,
                    elements: 1,
                    mask,
                    addresses: (&addresses).into(),
                    unchanged: ActiveMask::EMPTY,
                });
                expected.extend(mask.lanes().flat_map(|lane| addresses[lane] / 4..=(addresses[lane] + bytes - 1) / 4));
            }
            let words: Vec<u64> = open.close().0.iter().flat_map(|&(first, count)| first..first + count).collect();
            prop_assert_eq!(words, expected.into_iter().collect::<Vec<_>>());
            prop_assert_eq!(open.close(), Words::default(), "what was closed is forgotten");
        }
    }

    #[test]
    fn what_was_found_out_is_not_asked_for_again_and_only_where_it_is_the_same() {
        let footprint = Footprint::new((0..8).map(|cta| (CtaId(cta), Lines(vec![(u64::from(cta) / 2, 1)]))).collect());
        let of = |n_sms| Sharing { n_sms, per_sm: 2, resident: 1, sectors: 1e6 };
        let dealt = |n_sms| footprint.first(8).dealt(&of(n_sms));
        let (two, four) = (dealt(2), dealt(4));
        assert_ne!(two.fetches, four.fetches);
        assert!(Arc::ptr_eq(&two.fetches, &dealt(2).fetches) && Arc::ptr_eq(&four.fetches, &dealt(4).fetches));
        assert!(!Arc::ptr_eq(&two.fetches, &footprint.first(6).dealt(&of(2)).fetches));
    }

    #[test]
    fn an_address_is_touched_by_the_ctas_whose_sector_it_is_in() {
        // All CTAs load 128 bytes from 0, and each as many from a line of its own.
        let of = |cta: u32| (CtaId(cta), lines(&[0, 4096 + 256 * u64::from(cta)]));
        let footprint = Footprint::new((0..4).map(of).collect());
        assert_eq!(footprint.touching(127, 9), Some(1.0));
        assert_eq!(footprint.touching(128, 9), Some(0.0));
        assert_eq!(footprint.touching(4096, 9), Some(0.25));
        assert_eq!(footprint.touching(4096 + 256 * 3 + 127, 9), Some(0.25));
        assert_eq!(footprint.touching(4096, 2), Some(0.5));
        assert_eq!(Footprint::new(vec![of(0)]).touching(0, 9), None);
    }

    /// The words of a CTA that loads 128 bytes from each of these addresses.
    fn words(bases: &[u64]) -> Words {
        let mut open = LinesOpen::default();
        for base in bases {
            let addresses: [u64; WARP_SIZE] = std::array::from_fn(|lane| base + 4 * lane as u64);
            let (space, kind) = (StateSpace::Global, AccessKind::Load);
            let (mask, unchanged) = (ActiveMask::FULL, ActiveMask::EMPTY);
            let addresses = (&addresses).into();
            open.touch(&Access { space, kind, element_bytes: 4, elements: 1, mask, addresses, unchanged });
        }
        open.close()
    }

    fn lines(bases: &[u64]) -> Lines {
        words(bases).sectors()
    }

    fn footprint(ctas: &[&[u64]]) -> Footprint {
        let lines = ctas.iter().enumerate().map(|(id, bases)| (CtaId(id as u32), lines(bases)));
        Footprint::new(lines.collect())
    }

    /// A grid without clusters.
    fn plain(grid: [u32; 3]) -> Extents {
        Extents::new(grid, None)
    }

    /// A cache that holds everything.
    const fn sharing(n_sms: u32, per_sm: u32) -> Sharing {
        Sharing { n_sms, per_sm, resident: 1, sectors: 1e9 }
    }

    #[test]
    fn sectors_side_by_side_are_one_run() {
        assert_eq!(lines(&[128, 0, 64, 16]), Lines(vec![(0, 8)]));
        assert_eq!(lines(&[128, 1024]), Lines(vec![(4, 4), (32, 4)]));
        assert_eq!(words(&[128, 0, 64, 16]), Words(vec![(0, 64)]));
        assert_eq!(words(&[20, 1024]), Words(vec![(5, 32), (256, 32)]));
        assert_eq!(words(&[20, 1024]).sectors(), Lines(vec![(0, 5), (32, 4)]));
    }

    #[test]
    fn what_all_load_is_fetched_once() {
        let first =
            |ctas: &[&[u64]], n_sms: u32, per_sm| footprint(ctas).dealt(&sharing(n_sms, per_sm)).first_fetch(n_sms);
        let own: Vec<Vec<u64>> = (0..8).map(|cta| vec![4096 * cta]).collect();
        let own: Vec<&[u64]> = own.iter().map(Vec::as_slice).collect();
        assert_eq!(first(&own, 4, 2), Some(1.0));
        assert_eq!(first(&[&[0][..]; 8], 4, 2), Some(0.25));
        // An own line and one of all: 4 + 1 of 8.
        let both: Vec<Vec<u64>> = (1..=4).map(|cta| vec![0, 4096 * cta]).collect();
        let both: Vec<&[u64]> = both.iter().map(Vec::as_slice).collect();
        assert_eq!(first(&both, 4, 1), Some(5.0 / 8.0));
        assert_eq!(first(&[&[], &[]], 2, 1), None);
    }

    #[test]
    fn a_sector_is_fetched_by_one_of_the_sms_that_load_it() {
        // All load the first line, two each a line of their own, and the line of the second begins in the middle of
        // that of the first.
        let bases: Vec<Vec<u64>> = (0..4).map(|cta| vec![0, 4096 * (1 + cta / 2) + 64 * (cta % 2)]).collect();
        let bases: Vec<&[u64]> = bases.iter().map(Vec::as_slice).collect();
        let fetched = |n_sms: u32, per_sm: u32| {
            let footprint = footprint(&bases).dealt(&sharing(n_sms, per_sm));
            [0, 3, 4, 128, 130, 131, 132, 133, 134].map(|sector| footprint.fetched(sector))
        };
        let none = None;
        let (one, half, quarter) = (Some(1.0), Some(0.5), Some(0.25));
        assert_eq!(fetched(4, 1), [quarter, quarter, none, one, half, half, one, one, none]);
        // Two SMs with two CTAs each: CTAs 0 and 2, 1 and 3.
        assert_eq!(fetched(2, 2), [half, half, none, one, half, half, one, one, none]);
        assert_eq!(fetched(8, 1), [None; 9]);
    }

    #[test]
    fn what_the_cache_does_not_hold_is_fetched_again() {
        // Eight turns of four SMs; two CTAs load the first line, four turns apart, and each other one a line of its own.
        let bases: Vec<Vec<u64>> =
            (0..32).map(|cta| vec![if cta == 0 || cta == 17 { 0 } else { 4096 * cta }]).collect();
        let bases: Vec<&[u64]> = bases.iter().map(Vec::as_slice).collect();
        let fetched = |turns: f64| {
            let sharing = Sharing { sectors: turns * 4.0 * 31.0 / 8.0, ..sharing(4, 8) };
            footprint(&bases).dealt(&sharing).fetched(0)
        };
        assert_eq!((fetched(4.01), fetched(3.99)), (Some(0.5), Some(1.0)));
    }

    #[test]
    fn fewer_ctas_than_sms_are_carried_on() {
        // Pairs share a line: half of each doubling is new.
        let pairs: Vec<Vec<u64>> = (0..8).map(|cta| vec![4096 * (cta / 2)]).collect();
        let pairs: Vec<&[u64]> = pairs.iter().map(Vec::as_slice).collect();
        assert_eq!(footprint(&pairs).first_fetch(64), Some(0.5));
        let all = footprint(&[&[0][..]; 8]).first_fetch(64).unwrap();
        assert!((all - 1.0 / 64.0).abs() < 1e-12, "{all}");
    }

    /// What a CTA of a grid loads: a row of one matrix, which moves with the row of the grid, a column of another, which
    /// moves with the column by less than a sector, and a line of all.
    fn of_product([x, y]: [u64; 2]) -> Vec<u64> {
        let column = (0..20).map(|row| 1_000_000 + 10_000 * row + 4 * x);
        column.chain([5_000 * (1 + y), 40_000_000]).collect()
    }

    #[test]
    fn a_pattern_tells_what_all_ctas_load() {
        let grid = [7, 50, 1];
        let of = |id: u32| of_product([u64::from(id % 7), u64::from(id / 7)]);
        let words: Vec<(CtaId, Words)> = pattern_ctas(plain(grid)).iter().map(|&id| (id, words(&of(id.0)))).collect();
        assert_eq!(words.iter().map(|(id, _)| id.0).collect::<Vec<_>>(), [8, 9, 15]);
        let all: Vec<(CtaId, Lines)> = (0..350).map(|id| (CtaId(id), lines(&of(id)))).collect();
        let known = Footprint::new(all.clone()).dealt(&sharing(5, 70));
        let few =
            Footprint::new(all[..3].to_vec()).with_pattern(plain(grid), &words, &[]).first(3).dealt(&sharing(5, 70));
        assert!(few.pattern.is_some());
        assert_eq!(few.fetches, known.fetches);
        // Without it nothing is known of so many SMs by three CTAs; and CTAs that are not alike have none.
        assert_eq!(Footprint::new(all[..3].to_vec()).dealt(&sharing(5, 70)).fetched(31_250), None);
        let others: Vec<(CtaId, Lines)> = (0..3).map(|id| (CtaId(id), lines(&[1 << 30]))).collect();
        assert!(Footprint::new(others).with_pattern(plain(grid), &words, &[]).first(3).pattern.is_none());
    }

    #[test]
    fn in_a_cluster_each_cta_may_load_a_part_of_what_all_need() {
        // Clusters of two, one CTA below the other: each loads a line of its row, and half of the lines of its column.
        let (grid, cluster) = ([7, 50, 1], Some([1, 2, 1]));
        let of = |id: u32| {
            let [x, y] = [u64::from(id % 7), u64::from(id / 7)];
            let shared = (0..4).map(|line| 40_000_000 + 65_536 * x + 1024 * (4 * (y % 2) + line));
            shared.chain([5_120 * (1 + y)]).collect::<Vec<u64>>()
        };
        let extents = Extents::new(grid, cluster);
        let ids = pattern_ctas(extents);
        assert_eq!(ids.iter().map(|id| id.0).collect::<Vec<_>>(), [15, 22, 16, 23, 29, 36]);
        let words: Vec<(CtaId, Words)> = ids.iter().map(|&id| (id, words(&of(id.0)))).collect();
        let all: Vec<(CtaId, Lines)> = (0..350).map(|id| (CtaId(id), lines(&of(id)))).collect();
        let known = Footprint::new(all.clone()).dealt(&sharing(5, 70));
        let dealt = |extents: Extents| {
            Footprint::new(all[..16].to_vec()).with_pattern(extents, &words, &[]).first(16).dealt(&sharing(5, 70))
        };
        assert_eq!(dealt(extents).fetches, known.fetches);
        // Whoever knows nothing of the clusters finds no pattern.
        assert!(dealt(plain(grid)).pattern.is_none());
        assert_eq!(Extents::new([7, 50, 1], Some([2, 1, 1])), plain([7, 50, 1]), "seven are no pairs");
    }

    #[test]
    fn of_much_memory_some_pieces_tell() {
        let grid = [64, 512, 1];
        let of = |id: u32| -> Vec<u64> {
            let (x, y) = (u64::from(id % 64), u64::from(id / 64));
            // Rows of 8 KiB; a CTA loads 128 bytes of 40 rows, 32 of which are its own.
            (0..40).map(|row| 1 << 32 | (32 * y + row) << 13 | x << 7).collect()
        };
        let words: Vec<(CtaId, Words)> = pattern_ctas(plain(grid)).iter().map(|&id| (id, words(&of(id.0)))).collect();
        let footprint = Footprint::new(Vec::new()).with_pattern(plain(grid), &words, &[]).dealt(&sharing(60, 400));
        assert!(footprint.fetches.reach > 0);
        let first = footprint.first_fetch(60).unwrap();
        assert!((first - 0.8).abs() < 0.01, "{first}");
    }

    #[test]
    fn a_sector_of_an_unknown_piece_is_as_the_one_at_its_place_in_the_piece_before() {
        // The last sector of the piece that is known is loaded by all, the others by one.
        let runs = vec![((0, PIECE - 1), 1.0), ((PIECE - 1, 1), 0.125)];
        let fetches = Arc::new(Fetches { runs, reach: 16 * PIECE, ..Fetches::default() });
        let footprint = Footprint { fetches, ..Footprint::default() };
        let of = |sector| footprint.fetched(sector);
        assert_eq!([of(5), of(PIECE - 1)], [Some(1.0), Some(0.125)]);
        assert_eq!([of(3 * PIECE + 5), of(4 * PIECE - 1)], [Some(1.0), Some(0.125)]);
        assert_eq!(of(40 * PIECE), None);
    }

    #[test]
    fn sectors_that_a_cta_loads_and_stores_to_are_known_where_ctas_are_alike() {
        // CTAs load 256 bytes, and store to a part of them or somewhere else.
        let of = |id: CtaId, from: u64, bytes: u64| {
            (id, Words(vec![((4096 * u64::from(id.0) + from) / WORD_BYTES, bytes / WORD_BYTES)]))
        };
        let grid = [8, 1, 1];
        let share = |from: u64, bytes: u64| {
            let all = |from, bytes| pattern_ctas(plain(grid)).iter().map(|&id| of(id, from, bytes)).collect::<Vec<_>>();
            let stored = if bytes > 0 { all(from, bytes) } else { Vec::new() };
            Footprint::new(Vec::new()).with_pattern(plain(grid), &all(0, 256), &stored).stored_in_place()
        };
        assert_eq!([share(0, 256), share(64, 32), share(192, 128)], [Some(1.0), Some(1.0), Some(0.5)]);
        assert_eq!([share(1024, 64), share(0, 0)], [Some(0.0), None]);
    }

    #[test]
    fn what_several_sms_store_to_is_written_once() {
        // CTAs of 16 bytes in a row, so that two have each sector; and 32 bytes, which nobody shares.
        for (bytes, expected) in [(16, 0.5), (32, 1.0)] {
            let grid = [512, 1, 1];
            let of = |id: CtaId| Words(vec![(u64::from(id.0) * bytes / WORD_BYTES, bytes / WORD_BYTES)]);
            let stored: Vec<(CtaId, Words)> = pattern_ctas(plain(grid)).iter().map(|&id| (id, of(id))).collect();
            let footprint = Footprint::new(Vec::new()).with_pattern(plain(grid), &[], &stored).dealt(&sharing(8, 64));
            assert_eq!(footprint.first_store(), expected);
        }
    }
}
