//! Arrays in shared memory whose rows are padded, so that lanes use different banks.

use std::collections::BTreeMap;

use warplens_isa::StateSpace;
use warplens_model::scenario::{Impossible, Subject};
use warplens_stats::{BankRule, bank};
use warplens_trace::AccessKind;

use super::Touch;

/// Share of the wavefronts by which a padded array may miss one without conflicts.
const NEARLY: f64 = 1.1;
/// Rows beyond this are no rows.
const LONGEST_ROW: u64 = 1 << 14;

/// Pads the rows of the arrays with conflicts, by one element each; where that leaves conflicts, lanes find distinct
/// elements side by side, as in a swizzled array. Returns the bytes that are added per block.
pub(crate) fn pad(subject: &mut Subject, rule: BankRule) -> Result<u64, Impossible> {
    let shared_bytes = subject.profile.launch.shared_bytes;
    super::counts_without(subject, "bank-conflicts")?;
    let traced = super::recording(subject)?;
    let mut strides: BTreeMap<u64, u64> = BTreeMap::new();
    let mut element = 4;
    super::visit(traced, |_, touch| {
        if is_plain(touch) {
            let passes = bank::passes(rule, touch.kind, &touch.request());
            if passes.wavefronts > passes.ideal {
                element = element.max(touch.lane_bytes());
                let lanes: Vec<usize> = touch.mask.lanes().collect();
                for pair in lanes.windows(2) {
                    let apart = touch.addresses[pair[1]].abs_diff(touch.addresses[pair[0]]);
                    if apart > 0 && apart <= LONGEST_ROW {
                        *strides.entry(apart).or_insert(0) += 1;
                    }
                }
            }
        }
    });
    let Some((&row, _)) = strides.iter().max_by_key(|(_, weight)| **weight) else {
        return Err(super::impossible("no access to shared memory has bank conflicts"));
    };
    let pad = |address: u64| address + address / row * element;
    let (mut padded, mut needed) = (0, 0);
    super::visit(traced, |_, touch| {
        if is_plain(touch) {
            let mut changed = *touch;
            changed.map(pad);
            let passes = bank::passes(rule, touch.kind, &changed.request());
            padded += u64::from(passes.wavefronts);
            needed += u64::from(passes.ideal);
        }
    });
    let is_enough = padded as f64 <= NEARLY * needed as f64;
    super::each_access(traced, StateSpace::Shared, |_, mut touch, put| {
        if is_plain(&touch) {
            if is_enough { touch.map(pad) } else { touch.side_by_side(0) }
        }
        put(&touch);
    });
    let more = shared_bytes / row * element;
    subject.profile.launch.shared_bytes = shared_bytes + more;
    Ok(more)
}

fn is_plain(touch: &Touch) -> bool {
    touch.space == StateSpace::Shared && touch.kind != AccessKind::Atomic
}
