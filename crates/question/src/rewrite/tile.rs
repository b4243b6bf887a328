//! A tile in shared memory: what a block has loaded once it finds there.

use rustc_hash::FxHashSet;
use warplens_isa::StateSpace;
use warplens_model::scenario::{Impossible, Subject};
use warplens_trace::{AccessKind, WarpTrace};

use super::{PlaceOfAccess, SECTOR};

/// Bytes of a tile, at most: addresses of loads from it are taken modulo this, as they lie in global memory.
const TILE: u64 = 1 << 15;
/// Loads that a tile serves, of those of its instruction.
const MOSTLY: f64 = 0.5;

/// Loads of global memory whose sectors the block has loaded before go to shared memory. The time of filling the tile and
/// of the barriers around it is left out.
pub(crate) fn in_shared_memory(subject: &mut Subject) -> Result<(), Impossible> {
    super::counts_without(subject, "repeated-loads")?;
    let traced = super::recording(subject)?;
    let mut served: std::collections::BTreeMap<PlaceOfAccess, (u64, u64)> = Default::default();
    super::each_cta(traced, |cta| {
        let mut known: FxHashSet<u64> = FxHashSet::default();
        let rewrite = |warp: &WarpTrace| {
            super::with_accesses(warp, StateSpace::Global, |step, mut touch, put| {
                if touch.kind == AccessKind::Load {
                    let (bytes, mut last, mut is_new) = (touch.lane_bytes(), u64::MAX, false);
                    for lane in touch.mask.lanes() {
                        let address = touch.addresses[lane];
                        for sector in address / SECTOR..=(address + bytes - 1) / SECTOR {
                            // Neighbouring lanes mostly have parts of the same sector.
                            is_new |= std::mem::replace(&mut last, sector) != sector && known.insert(sector);
                        }
                    }
                    let of = served.entry((step.block, touch.slot)).or_insert((0, 0));
                    of.1 += 1;
                    if !is_new {
                        of.0 += 1;
                        touch.space = StateSpace::Shared;
                        touch.map(|address| address % TILE);
                    }
                }
                put(&touch);
            })
        };
        cta.warps.iter().map(rewrite).collect()
    });
    let is_served = |place: &PlaceOfAccess| served.get(place).is_some_and(|(n, all)| *n as f64 > MOSTLY * *all as f64);
    super::each_instruction(traced, |block, inst| {
        let mut inst = *inst;
        if is_served(&(block, inst.slot)) {
            inst.space = StateSpace::Shared;
        }
        inst
    });
    Ok(())
}
