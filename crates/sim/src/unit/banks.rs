//! Passes over the banks that an access takes, remembered by its shape: the same shapes come again and again. A pattern of
//! lanes is remembered when it comes for the second time, because those of a gather never come again.

use warplens_stats::bank::{self, Passes};
use warplens_stats::{BankRule, Request};
use warplens_trace::{AccessKind, Lanes, WARP_SIZE};

/// Shapes that are remembered at once.
const SHAPES: usize = 256;
/// Of these, those whose lanes are not all as far apart.
const PATTERNS: usize = 64;

/// State.
#[derive(Clone, Debug)]
pub(crate) struct BankPasses {
    known: Vec<Option<(Shape, Passes)>>,
    patterns: Vec<Option<(Shape, [u64; WARP_SIZE], Passes)>>,
    /// What the place of each pattern was asked for last.
    asked: Vec<u64>,
}

/// The rule of the banks, and whether lanes that agree in pairs are packed.
pub(crate) type Rule = (BankRule, bool);

/// The passes by a rule.
fn count((rule, packs_pairs): Rule, kind: AccessKind, request: &Request<'_>) -> Passes {
    if packs_pairs { bank::packed_passes(rule, kind, request) } else { bank::passes(rule, kind, request) }
}

/// What the passes of an access depend on, where its addresses follow a rule: moving all of them by a whole word moves
/// them to other banks, but not onto each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Shape {
    rule: Rule,
    kind: AccessKind,
    lane_bytes: u32,
    mask: u32,
    stride: i64,
    within_word: u64,
}

/// Bytes of the widest bank.
const WORD: u64 = 8;

impl BankPasses {
    pub(crate) fn new() -> Self {
        Self { known: vec![None; SHAPES], patterns: vec![None; PATTERNS], asked: vec![0; PATTERNS] }
    }

    /// The passes of a request whose first address is `base`, by how far the others are from it.
    fn of_pattern(&mut self, rule: Rule, kind: AccessKind, base: u64, request: &Request<'_>) -> Passes {
        let &Request { lane_bytes, mask, addresses } = request;
        let shape = Shape { rule, kind, lane_bytes, mask: mask.0, stride: 0, within_word: base % WORD };
        let at = |lane: usize| addresses[lane].wrapping_sub(base);
        let number = at(31) ^ at(16) << 12 ^ at(1) << 24 ^ u64::from(mask.0) << 8 ^ u64::from(lane_bytes) << 4;
        let index = (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize;
        if let Some((same, distances, passes)) = &self.patterns[index]
            && *same == shape
        {
            let differs = addresses.iter().zip(distances);
            if differs.fold(0, |differs, (address, distance)| differs | address.wrapping_sub(base) ^ distance) == 0 {
                return *passes;
            }
        }
        let passes = count(rule, kind, request);
        if std::mem::replace(&mut self.asked[index], number) != number {
            return passes;
        }
        self.patterns[index] = Some((shape, addresses.map(|address| address.wrapping_sub(base)), passes));
        passes
    }

    /// The passes of a request whose addresses are `lanes`.
    pub(crate) fn of(&mut self, rule: Rule, kind: AccessKind, lanes: Lanes, request: &Request<'_>) -> Passes {
        let (base, stride) = match lanes {
            Lanes::Affine { base, stride } => (base, stride),
            Lanes::Pattern { base, .. } => return self.of_pattern(rule, kind, base, request),
            Lanes::Listed(_) => return count(rule, kind, request),
        };
        let within_word = base % WORD;
        let shape = Shape { rule, kind, lane_bytes: request.lane_bytes, mask: request.mask.0, stride, within_word };
        let number =
            shape.stride.cast_unsigned() ^ u64::from(shape.mask) << 8 ^ u64::from(shape.lane_bytes) << 4 ^ WORD;
        let index = (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize;
        match self.known[index] {
            Some((same, passes)) if same == shape => passes,
            _ => {
                let passes = count(rule, kind, request);
                self.known[index] = Some((shape, passes));
                passes
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use warplens_trace::ActiveMask;

    use super::*;

    proptest! {
        #[test]
        fn remembered_passes_are_those_that_are_counted(
            accesses in proptest::collection::vec((0..64_u64, -40..40_i64, any::<u32>(), 0..3_u32), 1..40),
        ) {
            let mut remembered = BankPasses::new();
            for rule in BankRule::ALL.into_iter().flat_map(|rule| [(rule, false), (rule, true)]) {
                for &(base, stride, mask, log_words) in &accesses {
                    let (base, stride, lane_bytes) = (65536 + 4 * base, 4 * stride, 4 << log_words);
                    let addresses: [u64; WARP_SIZE] =
                        std::array::from_fn(|lane| base.wrapping_add_signed(stride * lane as i64));
                    let request = Request { lane_bytes, mask: ActiveMask(mask | 1), addresses: &addresses };
                    let lanes = Lanes::Affine { base, stride };
                    // The second half of the warp somewhere else, as rows of a tile are.
                    let first = ActiveMask(mask | 1).lowest().expect("one is active");
                    let rows = std::array::from_fn(|lane| addresses[lane] + if lane < 16 { 0 } else { 8 * base });
                    let of_rows = Request { addresses: &rows, ..request };
                    let pattern = Lanes::Pattern { base: rows[first], number: 0 };
                    for kind in [AccessKind::Load, AccessKind::Store] {
                        for (lanes, request) in [(lanes, &request), (pattern, &of_rows)] {
                            let passes = remembered.of(rule, kind, lanes, request);
                            prop_assert_eq!(passes, count(rule, kind, request));
                        }
                    }
                }
            }
        }
    }
}
