//! Loads of shared memory whose places follow from those of a load before.

use warplens_trace::Observer;

use crate::code::{Base, MemoryOperation, Places};
use crate::engine::Engine;
use crate::interpret::{Context, Worker};
use crate::raw::{Lanes, Near};

impl<E: Engine, O: Observer> Worker<'_, E, O> {
    /// Loads a word for each lane of a whole warp; false if that is to be done in another way.
    #[inline(always)]
    pub(super) fn load_near(
        &mut self,
        context: &Context<'_, O::Cta>,
        lanes: &mut Lanes<'_>,
        operation: &MemoryOperation,
    ) -> bool {
        let (near, distance) = match (operation.places, operation.base) {
            (Places::First(index), Base::Word(source)) => {
                let index = index as usize;
                if index >= self.near.len() {
                    self.near.resize_with(index + 1, Near::nowhere);
                }
                let near = &mut self.near[index];
                if lanes.mask == u32::MAX {
                    near.keep(self.shared.level, lanes.words(source), operation.offset as u32, context.shared);
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
        is_done
    }
}
