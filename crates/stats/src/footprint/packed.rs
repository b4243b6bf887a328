//! A footprint in few bytes, to be saved: CTAs mostly load the same sectors, each from a place of its own on.

use std::sync::Arc;

use warplens_base::bytes::{Columns, Corrupt, Lists, Reader, Writer};

use super::{Extents, Footprint, Lines, Moving, Pattern, Run};

/// Why sectors are none.
const OTHER: Corrupt = Corrupt("the sectors that a block loads are not in order");

impl Footprint {
    /// Writes that of all CTAs that were looked at, before they are [dealt](Footprint::dealt).
    pub fn pack(&self, columns: &mut Columns, to: &mut Writer) {
        to.count(self.all.len());
        for lines in self.all.iter() {
            let first = lines.0.first().map_or(0, |&(first, _)| first);
            let mut end = first;
            let run = |&(first, count): &Run, to: &mut Writer| {
                to.uint(first - end);
                to.uint(count);
                end = first + count;
            };
            columns.add(&lines.0, run, to);
            to.uint(first);
        }
        for pattern in [&self.pattern, &self.stored] {
            to.uint(pattern.is_some().into());
            pattern.iter().for_each(|pattern| pattern.pack(columns, to));
        }
    }

    /// Reads it.
    pub fn unpack(lists: &Lists<'_>, from: &mut Reader<'_>) -> Result<Self, Corrupt> {
        let all = from.list(|from| {
            let runs = lists.items(from, |from| Ok((from.uint()?, from.uint()?)))?;
            let mut end = from.uint()?;
            let run = |(gap, count): Run| {
                let first = end.checked_add(gap).ok_or(OTHER)?;
                end = first.checked_add(count).filter(|&end| end > first && end < u64::MAX / 2).ok_or(OTHER)?;
                Ok((first, count))
            };
            runs.into_iter().map(run).collect::<Result<_, _>>().map(Lines)
        })?;
        let mut pattern = || match from.uint()? {
            0 => Ok(None),
            _ => Pattern::unpack(lists, from).map(|pattern| Some(Arc::new(pattern))),
        };
        let (loaded, stored) = (pattern()?, pattern()?);
        Ok(Self { n_ctas: all.len(), all: all.into(), pattern: loaded, stored, ..Self::default() })
    }
}

impl Pattern {
    fn pack(&self, columns: &mut Columns, to: &mut Writer) {
        let Extents { grid, cluster } = self.extents;
        grid.iter().chain(&cluster).chain(&self.base).for_each(|&extent| to.uint(extent.into()));
        for runs in &self.of_ranks {
            let mut end = 0;
            let run = |&((first, count), steps): &Moving, to: &mut Writer| {
                to.int(first.wrapping_sub(end).cast_signed());
                to.uint(count);
                steps.iter().for_each(|&step| to.int(step));
                end = first + count;
            };
            columns.add(runs, run, to);
        }
    }

    fn unpack(lists: &Lists<'_>, from: &mut Reader<'_>) -> Result<Self, Corrupt> {
        let mut numbers = [0; 9];
        for number in &mut numbers {
            *number = from.narrow()?;
        }
        let [grid, cluster, base] = [0, 3, 6].map(|at| std::array::from_fn(|axis| numbers[at + axis]));
        let n_ctas = grid.iter().try_fold(1_u32, |product, &extent: &u32| product.checked_mul(extent.max(1)));
        n_ctas.ok_or(OTHER)?;
        let extents = Extents::new(grid, Some(cluster));
        if extents.cluster != cluster {
            return Err(OTHER);
        }
        let runs = |_| {
            let mut end = 0_u64;
            lists.items(from, |from| {
                let first = end.wrapping_add_signed(from.int()?);
                let count = from.uint()?;
                end = first.wrapping_add(count);
                Ok(((first, count), [from.int()?, from.int()?, from.int()?]))
            })
        };
        let of_ranks = (0..extents.n_ranks()).map(runs).collect::<Result<_, _>>()?;
        let pattern = Self { extents, base, of_ranks };
        let is_in_memory = pattern.of_ranks.iter().flatten().all(|run| pattern.is_in_memory(run));
        if is_in_memory { Ok(pattern) } else { Err(OTHER) }
    }

    /// Whether a run of every CTA of the grid lies at addresses that there are.
    fn is_in_memory(&self, &((first, count), steps): &Moving) -> bool {
        let mut ends = [i128::from(first), i128::from(first) + i128::from(count)];
        for ((step, base), extent) in steps.into_iter().zip(self.base).zip(self.extents.clusters()) {
            let at = |place: u32| (i128::from(place) - i128::from(base)) * i128::from(step);
            let moved = [at(0), at(extent.saturating_sub(1))];
            ends[0] += moved[0].min(moved[1]);
            ends[1] += moved[0].max(moved[1]);
        }
        0 <= ends[0] && ends[0] < ends[1] && ends[1] < i128::from(u64::MAX / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(footprint: &Footprint) -> Vec<u8> {
        let (mut columns, mut body) = (Columns::default(), Writer::default());
        footprint.pack(&mut columns, &mut body);
        columns.before(&mut body)
    }

    fn unpacked(bytes: &[u8]) -> Result<Footprint, Corrupt> {
        let mut from = Reader::new(bytes);
        let lists = Lists::read(&mut from)?;
        Footprint::unpack(&lists, &mut from)
    }

    #[test]
    fn sectors_come_back_and_equal_ones_are_kept_once() {
        let of = |first: u64| Lines(vec![(first, 8), (first + 100, 1), (first + (1 << 40), 3)]);
        let all: Vec<Lines> = (0..50).map(|cta| of(1_000_000 * cta)).chain([Lines::default()]).collect();
        let footprint = Footprint { n_ctas: all.len(), all: all.into(), ..Footprint::default() };
        let bytes = packed(&footprint);
        assert_eq!(unpacked(&bytes).unwrap(), footprint);
        assert!(bytes.len() < 51 * 6 + 20, "{}", bytes.len());
        assert!((0..bytes.len()).all(|length| unpacked(&bytes[..length]).is_err()));
    }

    fn with_pattern(step: i64) -> Footprint {
        let runs = vec![((1 << 30, 64), [64, 0, 0]), ((1 << 20, 3), [0, step, 0])];
        let other = vec![((1 << 31, 1), [64, 0, 0])];
        let extents = Extents::new([40, 60, 1], Some([1, 2, 1]));
        let pattern = Pattern { extents, base: [1, 1, 0], of_ranks: vec![runs, other] };
        Footprint { pattern: Some(Arc::new(pattern)), ..Footprint::default() }
    }

    #[test]
    fn patterns_come_back() {
        let footprint = Footprint { stored: with_pattern(7).pattern, ..with_pattern(-(1 << 10)) };
        let bytes = packed(&footprint);
        assert_eq!(unpacked(&bytes).unwrap(), footprint);
        assert!((0..bytes.len()).all(|length| unpacked(&bytes[..length]).is_err()));
    }

    #[test]
    fn sectors_beyond_all_memory_are_refused() {
        assert_eq!(unpacked(&packed(&with_pattern(-(1 << 20)))), Err(OTHER));
        assert_eq!(unpacked(&packed(&with_pattern(i64::MAX))), Err(OTHER));
        let lines = Lines(vec![(u64::MAX - 3, 2)]);
        let footprint = Footprint { n_ctas: 1, all: [lines].into(), ..Footprint::default() };
        assert_eq!(unpacked(&packed(&footprint)), Err(OTHER));
    }
}
