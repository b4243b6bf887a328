//! What instructions touch in memory.

use warplens_isa::StateSpace;

use crate::Operand;

/// A place that a memory operation touches. The type of the instruction is the type of one element.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MemoryReference {
    /// State space as written.
    pub space: StateSpace,
    /// Address, before the offset.
    pub base: Operand,
    /// Bytes added to the base.
    pub offset: i64,
    /// Elements per lane: 1, 2, 4 or 8.
    pub elements: u8,
}

/// The places that an instruction touches: none, one, or those that a copy writes and reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Memory {
    /// Nothing.
    #[default]
    None,
    /// What a load, a store or an atomic touches.
    One(MemoryReference),
    /// What a copy between two memories touches.
    Copy {
        /// Where the bytes go.
        to: MemoryReference,
        /// Where they come from.
        from: MemoryReference,
    },
}

impl Memory {
    /// The places, in the order in which PTX writes them.
    pub fn iter(&self) -> impl Iterator<Item = &MemoryReference> {
        let (first, second) = match self {
            Self::None => (None, None),
            Self::One(reference) => (Some(reference), None),
            Self::Copy { to, from } => (Some(to), Some(from)),
        };
        first.into_iter().chain(second)
    }

    /// The places, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut MemoryReference> {
        let (first, second) = match self {
            Self::None => (None, None),
            Self::One(reference) => (Some(reference), None),
            Self::Copy { to, from } => (Some(to), Some(from)),
        };
        first.into_iter().chain(second)
    }

    /// The place that a load, a store or an atomic touches; those of a copy are two.
    pub const fn one(&self) -> Option<MemoryReference> {
        match self {
            Self::One(reference) => Some(*reference),
            Self::None | Self::Copy { .. } => None,
        }
    }

    /// Number of places.
    pub const fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::One(_) => 1,
            Self::Copy { .. } => 2,
        }
    }

    /// True for instructions that touch no memory.
    pub const fn is_empty(&self) -> bool {
        matches!(self, Self::None)
    }
}

impl From<MemoryReference> for Memory {
    fn from(reference: MemoryReference) -> Self {
        Self::One(reference)
    }
}
