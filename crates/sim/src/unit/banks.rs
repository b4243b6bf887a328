//! Passes over the banks that an access takes, remembered by its shape: the same shapes come again and again.

use warplens_stats::bank::{self, Passes};
use warplens_stats::{BankRule, Request};
use warplens_trace::{AccessKind, Lanes};

/// Shapes that are remembered at once.
const SHAPES: usize = 256;

/// State.
#[derive(Clone, Debug)]
pub(crate) struct BankPasses {
    known: Vec<Option<(Shape, Passes)>>,
}

/// What the passes of an access depend on, where its addresses follow a rule: moving all of them by a whole word moves
/// them to other banks, but not onto each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Shape {
    rule: BankRule,
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
        Self { known: vec![None; SHAPES] }
    }

    /// The passes of a request whose addresses are `lanes`.
    pub(crate) fn of(&mut self, rule: BankRule, kind: AccessKind, lanes: Lanes, request: &Request<'_>) -> Passes {
        let Lanes::Affine { base, stride } = lanes else { return bank::passes(rule, kind, request) };
        let within_word = base % WORD;
        let shape = Shape { rule, kind, lane_bytes: request.lane_bytes, mask: request.mask.0, stride, within_word };
        let number =
            shape.stride.cast_unsigned() ^ u64::from(shape.mask) << 8 ^ u64::from(shape.lane_bytes) << 4 ^ WORD;
        let index = (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize;
        match self.known[index] {
            Some((same, passes)) if same == shape => passes,
            _ => {
                let passes = bank::passes(rule, kind, request);
                self.known[index] = Some((shape, passes));
                passes
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use warplens_trace::{ActiveMask, WARP_SIZE};

    use super::*;

    proptest! {
        #[test]
        fn remembered_passes_are_those_that_are_counted(
            accesses in proptest::collection::vec((0..64_u64, -40..40_i64, any::<u32>(), 0..3_u32), 1..40),
        ) {
            let mut remembered = BankPasses::new();
            for rule in BankRule::ALL {
                for &(base, stride, mask, log_words) in &accesses {
                    let (base, stride, lane_bytes) = (65536 + 4 * base, 4 * stride, 4 << log_words);
                    let addresses: [u64; WARP_SIZE] =
                        std::array::from_fn(|lane| base.wrapping_add_signed(stride * lane as i64));
                    let request = Request { lane_bytes, mask: ActiveMask(mask | 1), addresses: &addresses };
                    let lanes = Lanes::Affine { base, stride };
                    for kind in [AccessKind::Load, AccessKind::Store] {
                        prop_assert_eq!(
                            remembered.of(rule, kind, lanes, &request),
                            bank::passes(rule, kind, &request)
                        );
                    }
                }
            }
        }
    }
}
