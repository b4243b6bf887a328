//! A trace in few bytes, to be saved.
//!
//! Where an access begins is told from the access of the same shape before it: in a loop that is the same distance every
//! time. Warps that do the same then differ only in where their shapes begin first, and share everything else.

use std::ops::RangeInclusive;

use warplens_base::bytes::{Columns, Corrupt, Lists, Reader, Writer};
use warplens_isa::StateSpace;

use super::{CtaTrace, Parts, Pattern, Rule, Shape, StepKind, WarpTrace};
use crate::{AccessKind, ActiveMask, CtaId, WARP_SIZE};

/// Bytes of an element and elements of a lane, as instructions have them.
const SIZES: RangeInclusive<u8> = 1..=64;

impl CtaTrace {
    /// Writes it.
    pub fn pack(&self, columns: &mut Columns, to: &mut Writer) {
        to.uint(self.id.0.into());
        to.count(self.warps.len());
        let mut packer = WarpPacker::default();
        for warp in self.warps.iter() {
            packer.does(&warp.parts(), columns);
            let bases = warp.shapes_of.iter().zip(&warp.bases);
            packer.pack(bases.map(|(&shape, &base)| (shape, base)), &warp.addresses, columns, to);
        }
    }

    /// Reads it.
    pub fn unpack(lists: &Lists<'_>, from: &mut Reader<'_>) -> Result<Self, Corrupt> {
        let id = CtaId(from.narrow()?);
        Ok(Self { id, warps: from.list(|from| WarpTrace::unpack(lists, from))?.into() })
    }
}

/// Writes the warps of a CTA, one after the other. Most do what the one before did, which need not be written to be seen.
#[derive(Clone, Debug, Default)]
pub(super) struct WarpPacker {
    /// The numbers of the lists that say what warps do.
    does: [u32; 5],
    n_shapes: usize,
    /// Where the accesses of the last warp with each shape begin, and how far the later ones are from the ones before them.
    last: Vec<Option<u64>>,
    starts: Vec<u64>,
    distances: Vec<i64>,
    addresses_number: u32,
    distances_number: u32,
    /// The last two are not those of a warp that did the same.
    is_new: bool,
}

impl WarpPacker {
    /// The next warps do this, until they do something else.
    pub(super) fn does(&mut self, warp: &Parts<'_>, columns: &mut Columns) {
        let plain = |number: &u32, to: &mut Writer| to.uint((*number).into());
        self.does = [
            columns.number(warp.kinds, pack_kind),
            columns.number(warp.steps, plain),
            columns.number(warp.shapes, pack_shape),
            columns.number(warp.shapes_of, plain),
            columns.number(warp.patterns, pack_pattern),
        ];
        self.n_shapes = warp.shapes.len();
        self.is_new = true;
    }

    /// Writes a warp whose accesses have these shapes and begin there.
    pub(super) fn pack(
        &mut self,
        bases: impl Iterator<Item = (u32, u64)>,
        addresses: &[u64],
        columns: &mut Columns,
        to: &mut Writer,
    ) {
        let is_new = self.set(bases) | std::mem::take(&mut self.is_new);
        if is_new || !addresses.is_empty() {
            let mut before = 0;
            let difference = |&address: &u64, to: &mut Writer| {
                to.int(address.wrapping_sub(before).cast_signed());
                before = address;
            };
            self.addresses_number = columns.number(addresses, difference);
        }
        if is_new {
            self.distances_number = columns.number(&self.distances, |&distance, to| to.int(distance));
        }
        let [kinds, steps, shapes, shapes_of, patterns] = self.does;
        let numbers = [kinds, steps, shapes, shapes_of, patterns, self.addresses_number, self.distances_number];
        numbers.into_iter().for_each(|number| to.uint(number.into()));
        to.count(self.starts.len());
        self.starts.iter().for_each(|&start| to.uint(start));
    }

    /// Takes the bases of a warp; true when their distances are not those of the warp before.
    fn set(&mut self, bases: impl Iterator<Item = (u32, u64)>) -> bool {
        let Self { last, starts, distances, .. } = self;
        last.clear();
        last.resize(self.n_shapes, None);
        starts.clear();
        let (mut n, mut is_new) = (0, false);
        for (shape, base) in bases {
            let Some(before) = last[shape as usize].replace(base) else {
                starts.push(base);
                continue;
            };
            let distance = base.wrapping_sub(before).cast_signed();
            match distances.get_mut(n) {
                Some(same) if *same == distance => {}
                Some(other) => (*other, is_new) = (distance, true),
                None => {
                    distances.push(distance);
                    is_new = true;
                }
            }
            n += 1;
        }
        is_new |= n < distances.len();
        distances.truncate(n);
        is_new
    }
}

impl WarpTrace {
    fn unpack(lists: &Lists<'_>, from: &mut Reader<'_>) -> Result<Self, Corrupt> {
        let kinds = lists.items(from, unpack_kind)?;
        let steps = lists.items(from, Reader::narrow::<u32>)?;
        let shapes = lists.items(from, unpack_shape)?;
        let shapes_of = lists.items(from, Reader::narrow::<u32>)?;
        let patterns = lists.items(from, unpack_pattern)?;
        let mut before = 0_u64;
        let addresses = lists.items(from, |from| {
            before = before.wrapping_add_signed(from.int()?);
            Ok(before)
        })?;
        let distances = lists.items(from, Reader::int)?;
        let starts = from.list(Reader::uint)?;
        let (mut starts, mut distances) = (starts.into_iter(), distances.into_iter());
        let mut last: Vec<Option<u64>> = vec![None; shapes.len()];
        let base = |&shape: &u32| {
            let last = last.get_mut(shape as usize).ok_or(OTHER)?;
            let base = match *last {
                None => starts.next().ok_or(OTHER)?,
                Some(before) => before.wrapping_add_signed(distances.next().ok_or(OTHER)?),
            };
            *last = Some(base);
            Ok(base)
        };
        let bases: Vec<u64> = shapes_of.iter().map(base).collect::<Result<_, _>>()?;
        if starts.len() + distances.len() > 0 {
            return Err(OTHER);
        }
        let trace = Self {
            steps: steps.into(),
            kinds: kinds.into(),
            shapes_of: shapes_of.into(),
            bases: bases.into(),
            shapes: shapes.into(),
            patterns: patterns.into(),
            addresses: addresses.into(),
        };
        if trace.is_sound() { Ok(trace) } else { Err(OTHER) }
    }

    /// What the accesses to it take for granted.
    fn is_sound(&self) -> bool {
        let n_accesses = |step: &u32| Some(u64::from(self.kinds.get(*step as usize)?.n_accesses));
        let all = self.steps.iter().map(n_accesses).sum::<Option<u64>>();
        let is_placed = |(shape, base): (&u32, &u64)| match self.shapes[*shape as usize].rule {
            Rule::Stride(_) => true,
            Rule::Pattern(number) => (number as usize) < self.patterns.len(),
            Rule::Listed => u32::try_from(*base).is_ok_and(|first| first as usize + WARP_SIZE <= self.addresses.len()),
        };
        all == Some(self.bases.len() as u64)
            && u32::try_from(self.bases.len().max(self.steps.len())).is_ok()
            && self.shapes_of.iter().zip(&self.bases).all(is_placed)
    }
}

/// Why a trace is none.
const OTHER: Corrupt = Corrupt("the parts of a trace do not fit each other");

fn pack_kind(kind: &StepKind, to: &mut Writer) {
    let StepKind { block, mask, n_accesses } = *kind;
    [block, mask.0, n_accesses].into_iter().for_each(|number| to.uint(number.into()));
}

fn unpack_kind(from: &mut Reader<'_>) -> Result<StepKind, Corrupt> {
    Ok(StepKind { block: from.narrow()?, mask: ActiveMask(from.narrow()?), n_accesses: from.narrow()? })
}

fn pack_shape(shape: &Shape, to: &mut Writer) {
    let Shape { slot, element_bytes, elements, space, kind, mask, rule } = *shape;
    to.uint(slot.into());
    to.uint(element_bytes.into());
    to.uint(elements.into());
    to.text(space.name());
    to.text(kind.name());
    to.uint(mask.0.into());
    match rule {
        Rule::Listed => to.uint(0),
        Rule::Stride(stride) => {
            to.uint(1);
            to.int(stride);
        }
        Rule::Pattern(number) => to.uint(u64::from(number) + 2),
    }
}

fn unpack_shape(from: &mut Reader<'_>) -> Result<Shape, Corrupt> {
    let slot = from.narrow()?;
    let mut size = || from.narrow().and_then(|size| if SIZES.contains(&size) { Ok(size) } else { Err(OTHER) });
    let (element_bytes, elements) = (size()?, size()?);
    let space = StateSpace::named(from.text()?).ok_or(Corrupt("it names an unknown state space"))?;
    let kind = AccessKind::named(from.text()?).ok_or(Corrupt("it names an unknown kind of access"))?;
    let mask = ActiveMask(from.narrow()?);
    let rule = match from.uint()? {
        0 => Rule::Listed,
        1 => Rule::Stride(from.int()?),
        number => Rule::Pattern(u32::try_from(number - 2).map_err(|_| OTHER)?),
    };
    if mask.is_empty() {
        return Err(OTHER);
    }
    Ok(Shape { slot, element_bytes, elements, space, kind, mask, rule })
}

fn pack_pattern(pattern: &Pattern, to: &mut Writer) {
    pattern.iter().for_each(|&at| to.int(at.into()));
}

fn unpack_pattern(from: &mut Reader<'_>) -> Result<Pattern, Corrupt> {
    let mut pattern = [0; WARP_SIZE];
    for lane in &mut pattern {
        *lane = i32::try_from(from.int()?).map_err(|_| OTHER)?;
    }
    Ok(pattern)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WarpTraceBuilder;

    /// A warp with a loop of two accesses from some address on, of which one gathers at random now and then.
    fn warp(first: u64, rounds: u64) -> WarpTrace {
        let mut warp = WarpTraceBuilder::default();
        for round in 0..rounds {
            warp.step(7, ActiveMask::FULL);
            let row: [u64; WARP_SIZE] = std::array::from_fn(|lane| first + 512 * round + 4 * lane as u64);
            warp.access(0, StateSpace::Global, AccessKind::Load, (4, 1), ActiveMask::FULL, &row);
            let mut other = row;
            match round % 5 {
                0 => other[3] += 8,
                1 => other[3] += 1 << 40,
                _ => {}
            }
            warp.access(1, StateSpace::Shared, AccessKind::Store, (8, 2), ActiveMask(0xff), &other);
        }
        warp.step(8, ActiveMask(1));
        warp.finish()
    }

    fn packed(ctas: &[CtaTrace]) -> Vec<u8> {
        let (mut columns, mut body) = (Columns::default(), Writer::default());
        body.count(ctas.len());
        ctas.iter().for_each(|cta| cta.pack(&mut columns, &mut body));
        columns.before(&mut body)
    }

    fn unpacked(bytes: &[u8]) -> Result<Vec<CtaTrace>, Corrupt> {
        let mut from = Reader::new(bytes);
        let lists = Lists::read(&mut from)?;
        let ctas = from.list(|from| CtaTrace::unpack(&lists, from))?;
        from.end().map(|()| ctas)
    }

    fn cta(id: u32, warps: impl IntoIterator<Item = WarpTrace>) -> CtaTrace {
        CtaTrace { id: CtaId(id), warps: warps.into_iter().collect() }
    }

    #[test]
    fn a_trace_comes_back_and_what_warps_share_is_kept_once() {
        let ctas = [cta(0, (0..4).map(|at| warp(4096 * at, 50))), cta(9, [warp(1 << 50, 3), WarpTrace::default()])];
        let bytes = packed(&ctas);
        assert_eq!(unpacked(&bytes).unwrap(), ctas);
        let regular = |n_warps: u64| {
            let warp = |at: u64| {
                let mut warp = WarpTraceBuilder::default();
                for round in 0..200 {
                    warp.step(0, ActiveMask::FULL);
                    let row: [u64; WARP_SIZE] = std::array::from_fn(|lane| 65536 * at + 512 * round + 4 * lane as u64);
                    warp.access(0, StateSpace::Global, AccessKind::Load, (4, 1), ActiveMask::FULL, &row);
                }
                warp.finish()
            };
            packed(&[cta(0, (0..n_warps).map(warp))]).len()
        };
        assert!(regular(64) < regular(1) + 64 * 16, "{} {}", regular(1), regular(64));
    }

    #[test]
    fn whatever_the_bytes_they_are_a_trace_or_refused() {
        let bytes = packed(&[cta(3, [warp(100, 8)])]);
        for length in 0..bytes.len() {
            assert!(unpacked(&bytes[..length]).is_err(), "{length} of {} bytes", bytes.len());
        }
        for at in 0..bytes.len() {
            for value in [0, 1, 0x7f, 0xff, bytes[at] ^ 1] {
                let mut other = bytes.clone();
                other[at] = value;
                let Ok(ctas) = unpacked(&other) else { continue };
                for warp in ctas.iter().flat_map(|cta| cta.warps.iter()) {
                    let mut addresses = [0; WARP_SIZE];
                    warp.accesses().for_each(|access| warp.expand(&access, &mut addresses));
                    assert_eq!(warp.steps().map(|step| warp.accesses_of(&step).len()).sum::<usize>(), warp.bases.len());
                }
            }
        }
    }
}
