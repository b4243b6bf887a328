//! Handles: numbers that C programs hold as pointers.
//!
//! A number is never used twice, and the kinds of handles have numbers of their own, so that one that is too old or of
//! another kind is noticed. No handle is an address of the host: whoever follows it faults at once.

use std::collections::BTreeMap;

/// A number that stands for an object of the runtime.
pub type Handle = u64;

/// Distance between two handles, and below which no handle is: such numbers have meanings of their own in CUDA.
const STEP: u64 = 16;

/// Objects of one kind by their handles.
#[derive(Debug)]
pub(crate) struct Table<T> {
    next: Handle,
    objects: BTreeMap<Handle, T>,
}

impl<T> Table<T> {
    /// An empty table of the kind with this number.
    pub(crate) fn new(kind: u16) -> Self {
        // Not canonical on x86-64, so that no object of the host is there.
        Self { next: (0x5757 << 48) | u64::from(kind) << 40 | STEP, objects: BTreeMap::new() }
    }

    pub(crate) fn insert(&mut self, object: T) -> Handle {
        let handle = self.next;
        self.next += STEP;
        self.objects.insert(handle, object);
        handle
    }

    pub(crate) fn get(&self, handle: Handle) -> Option<&T> {
        self.objects.get(&handle)
    }

    pub(crate) fn get_mut(&mut self, handle: Handle) -> Option<&mut T> {
        self.objects.get_mut(&handle)
    }

    pub(crate) fn remove(&mut self, handle: Handle) -> Option<T> {
        self.objects.remove(&handle)
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.objects.values_mut()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Handle, &T)> {
        self.objects.iter().map(|(handle, object)| (*handle, object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_are_used_once_and_are_of_one_kind() {
        let (mut streams, mut events) = (Table::new(1), Table::new(2));
        let (a, b) = (streams.insert('a'), streams.insert('b'));
        assert_eq!((streams.get(a), streams.get(b), events.get(a)), (Some(&'a'), Some(&'b'), None::<&char>));
        assert_eq!((streams.remove(a), streams.remove(a)), (Some('a'), None));
        assert!(streams.insert('c') > b && events.insert('d') != a);
    }
}
