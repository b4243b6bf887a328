//! Lines that accesses touch, remembered by the pattern of their lanes.
//!
//! Where lanes are not all as far apart, their sectors are found by sorting them. Most accesses of a kernel repeat a few
//! patterns from other addresses on: moved by whole lines, the same pattern touches the same sectors of other lines.
//! A pattern is remembered when it comes for the second time, because those of a gather never come again.

use warplens_stats::Request;
use warplens_trace::WARP_SIZE;

use super::cache::Sectors;
use super::l2::LINE;

/// Patterns that are remembered at once.
const PATTERNS: usize = 128;

/// State.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    known: Vec<Option<Known>>,
    /// What each place was asked for last.
    asked: Vec<u64>,
}

#[derive(Clone, Debug)]
struct Known {
    shape: Shape,
    /// Bytes from the first address to those of the lanes.
    distances: [u64; WARP_SIZE],
    /// Lines as they count from that of the first address, with their sectors.
    lines: Vec<(u64, Sectors)>,
}

/// What the sectors depend on beside the distances.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Shape {
    lane_bytes: u32,
    mask: u32,
    within_line: u64,
}

impl Rows {
    pub(crate) fn new() -> Self {
        Self { known: vec![None; PATTERNS], asked: vec![0; PATTERNS] }
    }

    /// Adds the lines of a request whose first address is `base`; `find` finds those of a pattern that is not known.
    pub(crate) fn lines(
        &mut self,
        base: u64,
        request: &Request<'_>,
        lines: &mut Vec<(u64, Sectors)>,
        find: impl FnOnce(&mut Vec<(u64, Sectors)>),
    ) {
        let &Request { lane_bytes, mask, addresses } = request;
        let shape = Shape { lane_bytes, mask: mask.0, within_line: base % LINE };
        let first = base / LINE;
        let at = |lane: usize| addresses[lane].wrapping_sub(base);
        let number = at(31) ^ at(16) << 12 ^ at(1) << 24 ^ u64::from(mask.0) << 8 ^ shape.within_line << 32;
        let index = (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 57) as usize;
        if let Some(known) = &self.known[index]
            && known.shape == shape
        {
            let lanes = addresses.iter().zip(&known.distances);
            if lanes.fold(0, |differs, (address, distance)| differs | address.wrapping_sub(base) ^ distance) == 0 {
                lines.extend(known.lines.iter().map(|&(line, sectors)| (first.wrapping_add(line), sectors)));
                return;
            }
        }
        let before = lines.len();
        find(lines);
        if std::mem::replace(&mut self.asked[index], number) != number {
            return;
        }
        let of_first = lines[before..].iter().map(|&(line, sectors)| (line.wrapping_sub(first), sectors)).collect();
        let distances = addresses.map(|address| address.wrapping_sub(base));
        self.known[index] = Some(Known { shape, distances, lines: of_first });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use warplens_stats::CoalescingRule;
    use warplens_stats::coalescing::segments;
    use warplens_trace::ActiveMask;

    use super::*;
    use crate::memory::add_segment;

    proptest! {
        #[test]
        fn remembered_lines_are_those_that_are_found(
            accesses in proptest::collection::vec((0..64_u64, 0..3_usize, any::<u32>(), 0..3_u32), 1..40),
        ) {
            let mut rows = Rows::new();
            for (at, pattern, mask, log_words) in accesses {
                let mask = ActiveMask(mask | 1);
                let rows_apart = [64, 4096, 12][pattern];
                let addresses = std::array::from_fn(|lane| {
                    65536 + 36 * at + lane as u64 / 8 * rows_apart + 4 * (lane as u64 % 8)
                });
                let request = Request { lane_bytes: 4 << log_words, mask, addresses: &addresses };
                let found = |lines: &mut Vec<_>| {
                    segments(CoalescingRule::Cc70, &request, |segment| add_segment(lines, segment.start, segment.bytes));
                };
                let (mut remembered, mut plain) = (Vec::new(), Vec::new());
                rows.lines(addresses[0], &request, &mut remembered, found);
                found(&mut plain);
                prop_assert_eq!(remembered, plain);
            }
        }
    }
}
