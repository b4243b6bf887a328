//! Operations: what is asked of a stream, done at once or kept in a graph.

use crate::handles::Handle;
use crate::launch::Request;

/// Rows of bytes in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rows {
    /// Address of the first byte, of the host or of the device.
    pub address: u64,
    /// Bytes from row to row.
    pub pitch: u64,
    /// Bytes from slice to slice.
    pub slice: u64,
}

impl Rows {
    /// Bytes one after the other.
    pub fn line(address: u64) -> Self {
        Self { address, pitch: 0, slice: 0 }
    }

    /// Where a row begins. What a program says of rows that no memory has is found out where they are touched.
    pub fn row(&self, slice: u64, row: u64) -> u64 {
        self.address.wrapping_add(slice.wrapping_mul(self.slice)).wrapping_add(row.wrapping_mul(self.pitch))
    }
}

/// Bytes of a row, rows of a slice, slices.
pub type Extent = [u64; 3];

/// True where nothing is touched.
pub fn is_empty(extent: Extent) -> bool {
    extent.contains(&0)
}

/// The same bytes in as few rows as can be: all rows that follow on each other are one.
fn merged(rows: &[Rows], extent: Extent) -> Extent {
    let [mut width, mut height, mut depth] = extent;
    let whole = |width: u64, count: u64, step: fn(&Rows) -> u64| {
        let follows = count == 1 || rows.iter().all(|rows| step(rows) == width);
        width.checked_mul(count).filter(|_| follows)
    };
    if let Some(all) = whole(width, height, |rows| rows.pitch) {
        (width, height) = (all, 1);
        if let Some(all) = whole(width, depth, |rows| rows.slice) {
            (width, depth) = (all, 1);
        }
    }
    [width, height, depth]
}

/// A copy of rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transfer {
    /// Where to.
    pub to: Rows,
    /// Where from.
    pub from: Rows,
    /// How much.
    pub extent: Extent,
}

impl Transfer {
    /// A copy of bytes that follow each other.
    pub fn line(to: u64, from: u64, bytes: u64) -> Self {
        Self { to: Rows::line(to), from: Rows::line(from), extent: [bytes, 1, 1] }
    }

    /// The same copy in as few rows as can be.
    pub fn merged(&self) -> Self {
        Self { extent: merged(&[self.to, self.from], self.extent), ..*self }
    }
}

/// Memory that is set to a pattern.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fill {
    /// Where.
    pub to: Rows,
    /// The bytes that repeat, of which a row has a whole number.
    pub pattern: Vec<u8>,
    /// How much.
    pub extent: Extent,
}

impl Fill {
    /// A pattern so many times.
    pub fn line(to: u64, pattern: &[u8], count: u64) -> Option<Self> {
        let bytes = count.checked_mul(pattern.len() as u64)?;
        Some(Self { to: Rows::line(to), pattern: pattern.to_vec(), extent: [bytes, 1, 1] })
    }

    /// The same in as few rows as can be.
    pub fn merged(&self) -> Self {
        Self { extent: merged(&[self.to], self.extent), ..self.clone() }
    }
}

/// What is asked of a stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Nothing: what comes behind waits for what came before.
    Empty,
    /// A launch, in whatever stream it is asked for.
    Launch(Request),
    /// A copy.
    Copy(Transfer),
    /// Setting memory.
    Fill(Fill),
    /// A call of a function of the host by its address, with what it is handed.
    Host {
        /// The function.
        function: u64,
        /// What it is handed.
        data: u64,
    },
    /// All of another graph.
    Graph(Handle),
    /// Recording an event.
    Record(Handle),
    /// Waiting for an event.
    Wait(Handle),
    /// Allocation of memory, which has its address from the start.
    Allocate {
        /// Where it lies.
        address: u64,
        /// How much it is.
        bytes: u64,
    },
    /// The end of an allocation.
    Free(u64),
}

impl Operation {
    /// Its number in CUDA (`CUgraphNodeType`).
    pub fn number(&self) -> i32 {
        match self {
            Self::Launch(_) => 0,
            Self::Copy(_) => 1,
            Self::Fill(_) => 2,
            Self::Host { .. } => 3,
            Self::Graph(_) => 4,
            Self::Empty => 5,
            Self::Wait(_) => 6,
            Self::Record(_) => 7,
            Self::Allocate { .. } => 10,
            Self::Free(_) => 11,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_follow_each_other_are_one() {
        let rows = |pitch, slice| Rows { address: 0, pitch, slice };
        let extent = |to, from, extent| Transfer { to, from, extent }.merged().extent;
        assert_eq!(extent(rows(8, 32), rows(8, 32), [8, 4, 3]), [96, 1, 1]);
        assert_eq!(extent(rows(8, 40), rows(8, 32), [8, 4, 3]), [32, 1, 3]);
        assert_eq!(extent(rows(9, 32), rows(8, 32), [8, 4, 3]), [8, 4, 3]);
        assert_eq!(extent(rows(9, 32), rows(8, 32), [8, 1, 1]), [8, 1, 1]);
    }
}
