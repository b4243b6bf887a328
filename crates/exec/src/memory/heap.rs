//! The heap that device-side `malloc` and `free` serve.
//!
//! It belongs to the device, as on a GPU: what one launch allocates is there for the next. A block is the first free
//! place that is large enough, so that addresses depend on nothing but the calls made.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Mutex;

use rustc_hash::FxHashSet;

/// Alignment of what `malloc` returns.
const ALIGN: u64 = 16;

/// Why `free` was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadFree {
    /// The block at this address was freed before.
    Twice,
    /// No block of the heap starts at this address.
    NoBlock,
}

impl fmt::Display for BadFree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Twice => "which was freed before",
            Self::NoBlock => "which `malloc` did not return",
        })
    }
}

/// Which parts of the heap are handed out, by offset from its first byte.
#[derive(Debug)]
pub(crate) struct Heap {
    blocks: Mutex<Blocks>,
}

#[derive(Debug)]
struct Blocks {
    /// Free places: offset and size. No two of them touch.
    free: BTreeMap<u64, u64>,
    /// Blocks handed out: offset and size.
    used: BTreeMap<u64, u64>,
    /// Where blocks began that were freed, unless one begins there again.
    freed: FxHashSet<u64>,
}

impl Heap {
    /// An empty heap of this many bytes.
    pub(crate) fn new(bytes: u64) -> Self {
        let blocks = Blocks { free: BTreeMap::from([(0, bytes)]), used: BTreeMap::new(), freed: FxHashSet::default() };
        Self { blocks: Mutex::new(blocks) }
    }

    /// Hands out a block; `None` when there is no free place that is large enough.
    pub(crate) fn allocate(&self, bytes: u64) -> Option<u64> {
        let size = bytes.max(1).checked_next_multiple_of(ALIGN)?;
        self.locked(|blocks| {
            let (offset, available) = blocks.free.iter().map(|(&o, &a)| (o, a)).find(|&(_, a)| a >= size)?;
            blocks.free.remove(&offset);
            if available > size {
                blocks.free.insert(offset + size, available - size);
            }
            blocks.used.insert(offset, size);
            blocks.freed.remove(&offset);
            Some(offset)
        })
    }

    /// Takes a block back.
    pub(crate) fn free(&self, offset: u64) -> Result<(), BadFree> {
        self.locked(|blocks| {
            let Some(size) = blocks.used.remove(&offset) else {
                return Err(if blocks.freed.contains(&offset) { BadFree::Twice } else { BadFree::NoBlock });
            };
            blocks.freed.insert(offset);
            blocks.give_back(offset, size);
            Ok(())
        })
    }

    fn locked<T>(&self, act: impl FnOnce(&mut Blocks) -> T) -> T {
        // A panic while the lock is held ends the launch; nobody looks at the heap afterwards.
        act(&mut self.blocks.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

impl Blocks {
    /// Joins a block with the free places that it touches.
    fn give_back(&mut self, mut offset: u64, mut size: u64) {
        if let Some(after) = self.free.remove(&(offset + size)) {
            size += after;
        }
        if let Some((&before, &bytes)) = self.free.range(..offset).next_back()
            && before + bytes == offset
        {
            offset = before;
            size += bytes;
        }
        self.free.insert(offset, size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_lie_side_by_side_and_are_used_again() {
        let heap = Heap::new(96);
        assert_eq!([1, 17, 0].map(|bytes| heap.allocate(bytes)), [Some(0), Some(16), Some(48)]);
        assert_eq!((heap.allocate(33), heap.allocate(u64::MAX)), (None, None), "32 bytes are left");
        assert_eq!(heap.free(16), Ok(()));
        assert_eq!((heap.allocate(33), heap.allocate(32)), (None, Some(16)), "the first place that is large enough");
    }

    #[test]
    fn neighbours_that_are_free_are_one_place() {
        for order in [[0, 32, 64], [64, 32, 0], [0, 64, 32], [32, 0, 64]] {
            let heap = Heap::new(96);
            assert_eq!([32; 3].map(|bytes| heap.allocate(bytes)), [Some(0), Some(32), Some(64)]);
            assert!(order.iter().all(|&offset| heap.free(offset).is_ok()), "{order:?}");
            assert_eq!(heap.allocate(96), Some(0), "{order:?}");
        }
    }

    #[test]
    fn only_a_block_can_be_freed_and_only_once() {
        let heap = Heap::new(64);
        assert_eq!(heap.allocate(32), Some(0));
        assert_eq!([16, 48].map(|offset| heap.free(offset)), [Err(BadFree::NoBlock); 2]);
        assert_eq!([heap.free(0), heap.free(0)], [Ok(()), Err(BadFree::Twice)]);
        assert_eq!(heap.allocate(8), Some(0));
        assert_eq!(heap.free(0), Ok(()), "a block begins there again");
    }
}
