//! Which sectors of global memory CTAs load, and how many of them several SMs share.

mod packed;

use std::sync::Arc;

use rustc_hash::FxHashMap;
use warplens_trace::{Access, CtaId, Dealing};

use crate::sample;
use crate::sector::{BYTES as SECTOR_BYTES, PER_LINE as SECTORS};

/// Lines of one CTA that are kept.
const MOST_LINES: usize = 1 << 17;
/// CTAs that are asked about an address.
const MOST_ASKED: u64 = 32;
/// Lines that are looked at before the set of all.
const RECENT: usize = 64;

/// Sectors that a CTA loads: runs of neighbours, ascending.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Lines(Vec<Run>);

/// Sectors side by side: the number of the first, and how many.
type Run = (u64, u64);

/// The sectors of a CTA that runs.
#[derive(Clone, Debug)]
pub(crate) struct LinesOpen {
    lines: FxHashMap<u64, u8>,
    recent: [(u64, u8); RECENT],
}

impl Default for LinesOpen {
    fn default() -> Self {
        Self { lines: FxHashMap::default(), recent: [(u64::MAX, 0); RECENT] }
    }
}

impl LinesOpen {
    /// Adds the sectors of an access.
    pub(crate) fn touch(&mut self, access: &Access<'_>) {
        let bytes = u64::from(access.lane_bytes()).max(1);
        let (mut line, mut mask) = (u64::MAX, 0);
        for lane in access.mask.lanes() {
            let address = access.addresses[lane];
            let last = address.wrapping_add(bytes - 1) / SECTOR_BYTES;
            for sector in address / SECTOR_BYTES..=last {
                let (of, bit) = (sector / SECTORS, 1 << (sector % SECTORS));
                if of != line {
                    self.add(line, mask);
                    (line, mask) = (of, 0);
                }
                mask |= bit;
            }
        }
        self.add(line, mask);
    }

    fn add(&mut self, line: u64, mask: u8) {
        let recent = &mut self.recent[line as usize % RECENT];
        if mask == 0 || recent.0 == line && recent.1 & mask == mask {
            return;
        }
        *recent = if recent.0 == line { (line, recent.1 | mask) } else { (line, mask) };
        if self.lines.len() < MOST_LINES || self.lines.contains_key(&line) {
            *self.lines.entry(line).or_default() |= mask;
        }
    }

    pub(crate) fn close(self) -> Lines {
        let mut lines: Vec<(u64, u8)> = self.lines.into_iter().collect();
        lines.sort_unstable();
        let sectors = lines.into_iter().flat_map(|(line, mask)| {
            (0..SECTORS).filter(move |bit| mask >> bit & 1 == 1).map(move |bit| line * SECTORS + bit)
        });
        let mut runs: Vec<Run> = Vec::new();
        for sector in sectors {
            match runs.last_mut() {
                Some((first, count)) if *first + *count == sector => *count += 1,
                _ => runs.push((sector, 1)),
            }
        }
        Lines(runs)
    }
}

/// Sectors that the first CTAs of a launch load.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Footprint {
    /// By CTA, from the first. Shared, because one recording serves several GPUs.
    all: Arc<[Lines]>,
    /// Of these, those that count.
    n_ctas: usize,
    /// Sectors that several SMs load, once that is known: runs with the number of SMs, ascending.
    shared: Arc<[(Run, u32)]>,
}

impl Footprint {
    /// The footprint of neighbouring CTAs from the first.
    pub fn new(lines: Vec<(CtaId, Lines)>) -> Self {
        let from_first = lines.into_iter().enumerate().take_while(|(index, (id, _))| *index as u64 == u64::from(id.0));
        let all: Arc<[Lines]> = from_first.map(|(_, (_, lines))| lines).collect();
        Self { n_ctas: all.len(), all, shared: Arc::default() }
    }

    /// That of the first `n_ctas` of these CTAs.
    #[must_use]
    pub fn first(&self, n_ctas: u32) -> Self {
        Self { all: self.all.clone(), n_ctas: self.n_ctas.min(n_ctas as usize), shared: Arc::default() }
    }

    /// The same with the SMs that load each sector, when CTAs are dealt out to `n_sms` of them in turn and each gets
    /// `per_sm`. Nothing is known of that where fewer CTAs than SMs were looked at.
    #[must_use]
    pub fn dealt(self, n_sms: u32, per_sm: u32) -> Self {
        let n_sms = n_sms.max(1) as usize;
        let rows = (self.n_ctas / n_sms).min(per_sm as usize);
        // Runs begin and end: between two such places as many SMs load each sector.
        let own = (0..if rows > 0 { n_sms } else { 0 }).flat_map(|sm| self.of_sm(n_sms, sm, rows));
        let mut places: Vec<(u64, i64)> = own.flat_map(|(first, count)| [(first, 1), (first + count, -1)]).collect();
        places.sort_unstable();
        let (mut shared, mut sms, mut since) = (Vec::<(Run, u32)>::new(), 0, 0);
        for (place, change) in places {
            if place > since && sms > 1 {
                match shared.last_mut() {
                    Some(((first, count), of)) if *first + *count == since && i64::from(*of) == sms => {
                        *count = place - *first;
                    }
                    _ => shared.push(((since, place - since), sms as u32)),
                }
            }
            (sms, since) = (sms + change, place);
        }
        Self { shared: shared.into(), ..self }
    }

    /// SMs that load a sector, by its number, as far as [`Footprint::dealt`] found out: none where it found nothing.
    pub fn sharers(&self, sector: u64) -> Option<u32> {
        if self.shared.is_empty() {
            return None;
        }
        let next = self.shared.partition_point(|&((first, _), _)| first <= sector);
        let run = next.checked_sub(1).map(|at| self.shared[at]);
        Some(run.filter(|((first, count), _)| sector - first < *count).map_or(1, |(_, sms)| sms))
    }

    fn ctas(&self) -> &[Lines] {
        &self.all[..self.n_ctas]
    }

    /// CTAs that were looked at.
    pub const fn n_ctas(&self) -> usize {
        self.n_ctas
    }

    /// Of the sectors that each of `n_sms` SMs loads, those that no other loads too, or of which it is the first: distinct
    /// sectors of all over the sum of the distinct sectors of each, when CTAs are dealt out in turn and each SM gets
    /// `per_sm` of them. None where nothing is loaded.
    ///
    /// Where fewer CTAs than SMs were looked at, the distinct sectors of all grow with the number of SMs by the power that
    /// the last doubling shows.
    pub fn first_fetch(&self, n_sms: u32, per_sm: u32) -> Option<f64> {
        let n_sms = n_sms.max(1) as usize;
        let rows = (self.n_ctas / n_sms).min(per_sm as usize);
        if rows > 0 {
            let (distinct, sum) = self.sectors(n_sms, rows);
            return (sum > 0).then(|| distinct as f64 / sum as f64);
        }
        let some = self.n_ctas;
        let (distinct, sum) = self.sectors(some, 1);
        if sum == 0 {
            return None;
        }
        let share = distinct as f64 / sum as f64;
        let half = self.sectors(some / 2, 1).0;
        if half == 0 {
            return Some(share);
        }
        let doublings = (some as f64 / (some / 2) as f64).log2();
        let power = ((distinct as f64 / half as f64).log2() / doublings).clamp(0.0, 1.0);
        Some(share * (n_sms as f64 / some as f64).powf(power - 1.0))
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

    /// Distinct sectors of the first `n_sms` SMs together, and the sum of those of each.
    fn sectors(&self, n_sms: usize, rows: usize) -> (u64, u64) {
        let (mut all, mut sum) = (Vec::new(), 0);
        for sm in 0..n_sms {
            let own = self.of_sm(n_sms, sm, rows);
            sum += length(&own);
            all.extend(own);
        }
        (length(&united(all)), sum)
    }

    /// The sectors of one of `n_sms` SMs that gets `rows` CTAs.
    fn of_sm(&self, n_sms: usize, sm: usize, rows: usize) -> Vec<Run> {
        let dealing = Dealing::new(n_sms as u32);
        let turns = (0..rows as u32).filter_map(|turn| dealing.cta(sm as u32, turn));
        let ctas = turns.filter_map(|cta| self.ctas().get(cta.0 as usize));
        united(ctas.flat_map(|lines| lines.0.iter().copied()).collect())
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
    use warplens_isa::StateSpace;
    use warplens_trace::{AccessKind, ActiveMask, WARP_SIZE};

    use super::*;

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

    fn lines(bases: &[u64]) -> Lines {
        let mut open = LinesOpen::default();
        for base in bases {
            let addresses: [u64; WARP_SIZE] = std::array::from_fn(|lane| base + 4 * lane as u64);
            let (space, kind) = (StateSpace::Global, AccessKind::Load);
            let mask = ActiveMask::FULL;
            open.touch(&Access { space, kind, element_bytes: 4, elements: 1, mask, addresses: &addresses });
        }
        open.close()
    }

    fn footprint(ctas: &[&[u64]]) -> Footprint {
        let lines = ctas.iter().enumerate().map(|(id, bases)| (CtaId(id as u32), lines(bases)));
        Footprint::new(lines.collect())
    }

    #[test]
    fn sectors_side_by_side_are_one_run() {
        assert_eq!(lines(&[128, 0, 64, 16]), Lines(vec![(0, 8)]));
        assert_eq!(lines(&[128, 1024]), Lines(vec![(4, 4), (32, 4)]));
    }

    #[test]
    fn what_all_load_is_fetched_once() {
        let own: Vec<Vec<u64>> = (0..8).map(|cta| vec![4096 * cta]).collect();
        let own: Vec<&[u64]> = own.iter().map(Vec::as_slice).collect();
        assert_eq!(footprint(&own).first_fetch(4, 2), Some(1.0));
        assert_eq!(footprint(&[&[0][..]; 8]).first_fetch(4, 2), Some(0.25));
        // An own line and one of all: 4 + 1 of 8.
        let both: Vec<Vec<u64>> = (1..=4).map(|cta| vec![0, 4096 * cta]).collect();
        let both: Vec<&[u64]> = both.iter().map(Vec::as_slice).collect();
        assert_eq!(footprint(&both).first_fetch(4, 1), Some(5.0 / 8.0));
        assert_eq!(footprint(&[&[], &[]]).first_fetch(2, 1), None);
    }

    #[test]
    fn an_sector_is_shared_by_the_sms_that_load_it() {
        // All load the first line, two each a line of their own, and the line of the second begins in the middle of
        // that of the first.
        let bases: Vec<Vec<u64>> = (0..4).map(|cta| vec![0, 4096 * (1 + cta / 2) + 64 * (cta % 2)]).collect();
        let bases: Vec<&[u64]> = bases.iter().map(Vec::as_slice).collect();
        let sharers = |n_sms: u32, per_sm: u32| {
            let footprint = footprint(&bases).dealt(n_sms, per_sm);
            [0, 3, 4, 128, 130, 131, 132, 133, 134].map(|sector| footprint.sharers(sector))
        };
        assert_eq!(sharers(4, 1), [4, 4, 1, 1, 2, 2, 1, 1, 1].map(Some));
        // Two SMs with two CTAs each: CTAs 0 and 2, 1 and 3.
        assert_eq!(sharers(2, 2), [2, 2, 1, 1, 2, 2, 1, 1, 1].map(Some));
        assert_eq!(sharers(8, 1), [None; 9]);
    }

    #[test]
    fn fewer_ctas_than_sms_are_carried_on() {
        // Pairs share a line: half of each doubling is new.
        let pairs: Vec<Vec<u64>> = (0..8).map(|cta| vec![4096 * (cta / 2)]).collect();
        let pairs: Vec<&[u64]> = pairs.iter().map(Vec::as_slice).collect();
        assert_eq!(footprint(&pairs).first_fetch(64, 1), Some(0.5));
        let all = footprint(&[&[0][..]; 8]).first_fetch(64, 1).unwrap();
        assert!((all - 1.0 / 64.0).abs() < 1e-12, "{all}");
    }
}
