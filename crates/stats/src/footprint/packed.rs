//! A footprint in few bytes, to be saved: CTAs mostly load the same sectors, each from a place of its own on.

use warplens_base::bytes::{Columns, Corrupt, Lists, Reader, Writer};

use super::{Footprint, Lines, Run};

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
        Ok(Self { n_ctas: all.len(), all: all.into(), ..Self::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(footprint: &Footprint) -> Vec<u8> {
        let (mut columns, mut body, mut all) = (Columns::default(), Writer::default(), Writer::default());
        footprint.pack(&mut columns, &mut body);
        columns.write(&mut all);
        [all.finish(), body.finish()].concat()
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

    #[test]
    fn sectors_beyond_all_memory_are_refused() {
        let lines = Lines(vec![(u64::MAX - 3, 2)]);
        let footprint = Footprint { n_ctas: 1, all: [lines].into(), ..Footprint::default() };
        assert_eq!(unpacked(&packed(&footprint)), Err(OTHER));
    }
}
