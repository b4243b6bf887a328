//! How far apart the lanes of an access are, remembered by operation: mostly as far as the last time.

use warplens_isa::StateSpace;

use crate::raw::{Level, Offsets};

/// What the memory operations of a worker were last seen to do.
pub(crate) struct Shapes {
    /// By operation: the last two shapes.
    known: Vec<[Shape; 2]>,
    /// By operation whose lanes lie as those of one before: the last shapes of that one, and the own ones.
    shifted: Vec<[(u64, u64); 2]>,
    /// Shapes seen.
    n: u64,
}

/// Shape of an access.
#[derive(Clone, Copy)]
struct Shape {
    /// Its number; 0 for none.
    number: u64,
    lanes: u32,
    space: StateSpace,
    /// Offset of each lane minus that of the first one.
    distances: [u32; 32],
}

impl Shapes {
    /// For so many operations.
    pub(crate) fn new(n_operations: usize) -> Self {
        let none = Shape { number: 0, lanes: 0, space: StateSpace::Param, distances: [0; 32] };
        Self { known: vec![[none; 2]; n_operations], shifted: vec![[(0, 0); 2]; n_operations], n: 0 }
    }

    /// The number of the shape of an access by these lanes, or 0. Lanes that do not take part are where the lowest one
    /// is that does.
    #[inline(always)]
    pub(crate) fn shape(
        &mut self,
        level: Level,
        operation: u32,
        (lanes, space): (u32, StateSpace),
        offsets: &Offsets,
    ) -> u64 {
        let known = &self.known[operation as usize];
        let is =
            |shape: &Shape| shape.lanes == lanes && shape.space == space && offsets.are_apart(level, &shape.distances);
        // Distances are modulo 2^32: the same ones for places that are farther apart may be others.
        if !offsets.are_below(1 << 31) {
            0
        } else if is(&known[0]) {
            known[0].number
        } else if is(&known[1]) {
            known[1].number
        } else {
            self.note(operation, (lanes, space), offsets)
        }
    }

    /// The number of the shape of an access whose lanes lie as those of another operation's, which has this number.
    #[inline(always)]
    pub(crate) fn shifted(&mut self, operation: u32, of: u64) -> u64 {
        let known = &mut self.shifted[operation as usize];
        if of == 0 {
            0
        } else if known[0].0 == of {
            known[0].1
        } else if known[1].0 == of {
            known[1].1
        } else {
            self.n += 1;
            *known = [(of, self.n), known[0]];
            self.n
        }
    }

    #[inline(never)]
    fn note(&mut self, operation: u32, (lanes, space): (u32, StateSpace), offsets: &Offsets) -> u64 {
        self.n += 1;
        let known = &mut self.known[operation as usize];
        *known = [Shape { number: self.n, lanes, space, distances: offsets.distances() }, known[0]];
        self.n
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_two_shapes_are_known_again() {
        let level = Level::detect();
        let mut shapes = Shapes::new(2);
        let mut shape = |operation, lanes, space, place: &dyn Fn(u32) -> u32| {
            let mut offsets = Offsets::zero();
            offsets.set_words(level, &std::array::from_fn(|lane| place(lane as u32)), 0);
            shapes.shape(level, operation, (lanes, space), &offsets)
        };
        let (all, global) = (u32::MAX, StateSpace::Global);
        let row = shape(0, all, global, &|lane| 64 + 4 * lane);
        assert_eq!(shape(0, all, global, &|lane| 4096 + 4 * lane), row);
        let column = shape(0, all, global, &|lane| 5000 - 8 * lane);
        assert_ne!(column, row);
        assert_eq!(shape(0, all, global, &|lane| 4 * lane), row);
        assert_eq!(shape(0, all, global, &|lane| 300 - 8 * lane), column);
        let others = [
            shape(0, all, StateSpace::Shared, &|lane| 4 * lane),
            shape(0, 1, global, &|_| 4),
            shape(1, all, global, &|lane| 4 * lane),
        ];
        assert!(others.iter().all(|&other| other != row && other != column && other != 0));
        assert_eq!(shape(0, all, global, &|lane| (1 << 31) + 4 * lane), 0, "too far away to be told apart");
        let shifted = [row, column, row, 0].map(|of| shapes.shifted(1, of));
        assert_eq!((shifted[0], shifted[3]), (shifted[2], 0));
        assert!(![shifted[1], row, column, others[2], 0].contains(&shifted[0]), "{shifted:?}");
    }
}
