//! Loads of shared memory whose places follow from those of a load before.

use warplens_isa::{Pc, StateSpace};
use warplens_trace::{AccessKind, Addresses, Observer, WarpIndex};

use super::access;
use crate::code::{Base, MemoryOperation, Places};
use crate::engine::Engine;
use crate::interpret::{Context, Worker};
use crate::raw::{Lanes, Near};

impl<E: Engine, O: Observer> Worker<'_, E, O> {
    /// Loads a word for each lane of a whole warp; false if that is to be done in another way.
    #[inline(always)]
    pub(super) fn load_near(
        &mut self,
        context: &mut Context<'_, O::Cta>,
        lanes: &mut Lanes<'_>,
        operation: &MemoryOperation,
        (index_of_operation, pc): (u32, Pc),
    ) -> bool {
        let level = self.shared.level;
        let (near, distance) = match (operation.places, operation.base) {
            (Places::First(index), Base::Word(source)) => {
                let index = index as usize;
                if index >= self.near.len() {
                    self.near.resize_with(index + 1, Near::nowhere);
                }
                let near = &mut self.near[index];
                if lanes.mask == u32::MAX {
                    near.keep(level, lanes.words(source), operation.offset as u32, context.shared);
                    if O::RECORDS && near.is_known() {
                        let lanes = (lanes.mask, StateSpace::Shared);
                        near.shape = self.shapes.shape(level, index_of_operation, lanes, near.offsets());
                    }
                } else {
                    near.forget();
                }
                (&self.near[index], 0)
            }
            // The first one is executed before, in the same turn of the same warp.
            (Places::Shifted(index, distance), _) => (&self.near[index as usize], distance),
            (Places::Own | Places::First(_), _) => return false,
        };
        if lanes.mask != u32::MAX {
            return false;
        }
        let mut is_done = false;
        lanes.write_words(operation.destinations[0], |values| {
            is_done = near.gather(context.shared, distance, values);
        });
        if O::RECORDS && is_done {
            let shape = match operation.places {
                Places::Shifted(..) => self.shapes.shifted(index_of_operation, near.shape),
                Places::First(_) | Places::Own => near.shape,
            };
            // What is read lies behind the start of the memory, but its distance may be negative.
            let mut offsets = near.offsets().values();
            let shifted;
            let origin = if let Ok(origin) = u64::try_from(distance) {
                origin
            } else {
                shifted = offsets.map(|offset| (i64::from(offset) + distance) as u32);
                offsets = &shifted;
                0
            };
            let addresses = Addresses::from_offsets(origin, offsets).with_shape(shape);
            let access = access(operation, AccessKind::Load, StateSpace::Shared, (lanes.mask, 0), addresses);
            self.observer.access(context.record, WarpIndex(context.warp_index), pc, &access);
        }
        is_done
    }
}
