//! Another layout of data, in which lanes of a warp find theirs side by side.
//!
//! An array whose lanes are a fixed number of bytes apart is taken as a matrix with rows of that length, and transposed:
//! an array of structures becomes one array per member, rows become columns. That moves each byte to a place of its own,
//! the same for every warp, so that what is loaded again and by whom stays as it was. Where that brings nothing, because
//! lanes gather at random, each access finds its bytes side by side where its first lane found its own.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use warplens_isa::StateSpace;
use warplens_model::scenario::{Impossible, Subject};
use warplens_sim::traces::Traced;

use super::{PlaceOfAccess, SECTOR, Touch};

/// Where an array that is laid out anew begins: beyond all that a launch addresses.
const ANEW: u64 = 1 << 48;
/// From one such array to the next, and from row to row of one whose rows are not counted.
const APART: u64 = 1 << 40;
/// Accesses by which layouts are compared.
const COMPARED: u32 = 4096;
/// Share of the sectors that a transposed layout may leave.
const FEWER: f64 = 0.9;

/// Bytes that accesses share.
#[derive(Clone, Debug, Default)]
struct Array {
    places: Vec<PlaceOfAccess>,
    low: u64,
    high: u64,
    /// Sectors beyond those that are needed, and by the bytes from lane to lane that cause them.
    excess: u64,
    strides: BTreeMap<u64, u64>,
    lane_bytes: u64,
}

/// How the addresses of an array change.
#[derive(Clone, Copy, Debug)]
pub(super) enum Layout {
    Transposed { low: u64, row: u64, element: u64, column: u64, to: u64 },
    Packed,
}

impl Layout {
    pub(super) fn apply(self, touch: &mut Touch) {
        match self {
            Self::Transposed { low, row, element, column, to } => touch.map(|address| {
                let (at, of) = ((address - low) / row, (address - low) % row);
                to + (of / element) * column + at * element + of % element
            }),
            Self::Packed => {
                let Some(first) = touch.mask.lowest() else { return };
                let bytes = SECTOR * u64::from(touch.sectors().1.max(1));
                touch.side_by_side(touch.addresses[first] / bytes * bytes);
            }
        }
    }
}

/// Lays out data anew where accesses take more sectors than they need.
pub(crate) fn coalesce(subject: &mut Subject) -> Result<(), Impossible> {
    super::counts_without(subject, "uncoalesced")?;
    let traced = super::recording(subject)?;
    let layouts = layouts(traced);
    if layouts.is_empty() {
        return Err(super::impossible("no access takes more sectors than its bytes need"));
    }
    let counted = super::counted_ctas(traced);
    let before = super::distinct_sectors(traced, counted);
    super::each_access(traced, StateSpace::Global, |block, mut touch, put| {
        if let Some(layout) = layouts.get(&(block, touch.slot)) {
            layout.apply(&mut touch);
        }
        put(&touch);
    });
    let after = super::distinct_sectors(traced, counted);
    super::follow_sectors(&mut subject.profile, before, after);
    Ok(())
}

pub(super) fn layouts(traced: &Traced) -> BTreeMap<PlaceOfAccess, Layout> {
    let mut layouts = BTreeMap::new();
    for (number, array) in arrays(traced).into_iter().enumerate().filter(|(_, array)| array.excess > 0) {
        let layout = transposed(&array, number as u64).filter(|layout| is_better(traced, &array, *layout));
        let layout = layout.unwrap_or(Layout::Packed);
        layouts.extend(array.places.iter().map(|place| (*place, layout)));
    }
    layouts
}

/// An access and what was found out about it: others of its instruction mostly are the same from another address on.
#[derive(Clone, Copy)]
struct Seen {
    touch: Touch,
    low: u64,
    high: u64,
    sectors: (u32, u32),
    stride: Option<u64>,
}

impl Seen {
    fn new(touch: &Touch) -> Self {
        let addresses = || touch.mask.lanes().map(|lane| touch.addresses[lane]);
        let high = addresses().max().map_or(0, |last| last + touch.lane_bytes());
        let low = addresses().min().unwrap_or(u64::MAX);
        Self { touch: *touch, low, high, sectors: touch.sectors(), stride: stride(touch) }
    }

    /// The same of an access that is this one moved by whole sectors, if it is.
    fn moved(&self, touch: &Touch) -> Option<Self> {
        let by = touch.addresses[0].wrapping_sub(self.touch.addresses[0]);
        let lanes = touch.addresses.iter().zip(&self.touch.addresses);
        let differs = lanes.fold(0, |differs, (now, then)| differs | now.wrapping_sub(*then) ^ by);
        let is_moved = differs == 0
            && by.is_multiple_of(SECTOR)
            && touch.mask == self.touch.mask
            && touch.lane_bytes() == self.touch.lane_bytes();
        let at = |address: u64| address.wrapping_add(by);
        is_moved.then(|| Self { low: at(self.low), high: at(self.high), ..*self })
    }
}

/// What the instructions access, with those together whose bytes overlap.
fn arrays(traced: &Traced) -> Vec<Array> {
    let mut by_place: BTreeMap<PlaceOfAccess, Array> = BTreeMap::new();
    // By the place in a sector, too, at which the first lane begins: what moves by less than a sector is not the same.
    let mut seen: FxHashMap<(PlaceOfAccess, u64), Seen> = FxHashMap::default();
    super::visit(traced, |block, touch| {
        if touch.space != StateSpace::Global {
            return;
        }
        let place = ((block, touch.slot), touch.addresses[0] % SECTOR);
        let last = seen.get(&place).and_then(|last| last.moved(touch));
        let seen_now = last.unwrap_or_else(|| {
            let found = Seen::new(touch);
            seen.insert(place, found);
            found
        });
        let array = by_place.entry((block, touch.slot)).or_insert_with(|| Array {
            places: vec![(block, touch.slot)],
            low: u64::MAX,
            ..Array::default()
        });
        array.low = array.low.min(seen_now.low);
        array.high = array.high.max(seen_now.high);
        array.lane_bytes = array.lane_bytes.max(touch.lane_bytes());
        let (sectors, needed) = seen_now.sectors;
        // Bytes that do not begin with a sector are no matter of the layout.
        if sectors > needed + 1 {
            array.excess += u64::from(sectors - needed);
            if let Some(stride) = seen_now.stride {
                *array.strides.entry(stride).or_insert(0) += u64::from(sectors - needed);
            }
        }
    });
    let mut arrays: Vec<Array> = by_place.into_values().collect();
    arrays.sort_by_key(|array| array.low);
    let mut together: Vec<Array> = Vec::new();
    for array in arrays {
        match together.last_mut().filter(|last| array.low < last.high) {
            Some(last) => {
                last.high = last.high.max(array.high);
                last.excess += array.excess;
                last.lane_bytes = last.lane_bytes.max(array.lane_bytes);
                last.places.extend(array.places);
                for (stride, weight) in array.strides {
                    *last.strides.entry(stride).or_insert(0) += weight;
                }
            }
            None => together.push(array),
        }
    }
    together
}

/// Bytes between neighbouring lanes, where most of them are as far apart.
fn stride(touch: &Touch) -> Option<u64> {
    let lanes: Vec<usize> = touch.mask.lanes().collect();
    let apart = |pair: &[usize]| touch.addresses[pair[1]].abs_diff(touch.addresses[pair[0]]);
    let mut distances: Vec<u64> = lanes.windows(2).map(apart).collect();
    distances.sort_unstable();
    let most = distances.chunk_by(|left, right| left == right).max_by_key(|same| same.len())?;
    (2 * most.len() > distances.len() && most[0] > touch.lane_bytes()).then_some(most[0])
}

fn transposed(array: &Array, number: u64) -> Option<Layout> {
    let (&row, _) = array.strides.iter().max_by_key(|(_, weight)| **weight)?;
    let (low, element) = (array.low, array.lane_bytes);
    if row % element != 0 {
        return None;
    }
    let rows = (array.high - low).div_ceil(row);
    // A column begins with a line.
    let column = (rows * element).div_ceil(128) * 128;
    Some(Layout::Transposed { low, row, element, column, to: ANEW + number * APART })
}

/// True where the layout leaves clearly fewer sectors to all accesses of the array together.
fn is_better(traced: &Traced, array: &Array, layout: Layout) -> bool {
    let (mut now, mut then, mut n) = (0, 0, 0);
    super::visit(traced, |block, touch| {
        if n < COMPARED && array.places.contains(&(block, touch.slot)) && touch.space == StateSpace::Global {
            n += 1;
            let mut changed = *touch;
            layout.apply(&mut changed);
            now += touch.sectors().0;
            then += changed.sectors().0;
        }
    });
    f64::from(then) <= FEWER * f64::from(now)
}
