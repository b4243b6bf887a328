//! What accesses to barriers in memory say: what the barrier is told, or asked.
//!
//! Times follow from that and from nothing else: a barrier does on a GPU what it is told, in the order in which it is told
//! it there. So an access to one carries it in the upper half of its addresses, which shared memory does not need.

use warplens_isa::MbarrierOp;

/// What a barrier in memory is told or asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Told {
    /// It is told something, with a number.
    Op(MbarrierOp, u32),
    /// It is asked whether the last phase of this parity has ended.
    Asked {
        /// The parity.
        parity: bool,
    },
}

/// Marks an address; beside it what is said, and a number.
const MARK: u64 = 1 << 63;
const KIND: u32 = 56;
const NUMBER: u32 = 32;
const NUMBER_BITS: u32 = 24;
/// The kind of a question; the others are one more than the place in [`MbarrierOp::ALL`].
const ASKED: u64 = 0;

impl Told {
    /// The upper half of an address.
    pub fn mark(self) -> u64 {
        let (kind, number) = match self {
            Self::Asked { parity } => (ASKED, u32::from(parity)),
            Self::Op(op, number) => {
                let place = MbarrierOp::ALL.iter().position(|&other| other == op).expect("all are listed");
                (place as u64 + 1, number & ((1 << NUMBER_BITS) - 1))
            }
        };
        MARK | kind << KIND | u64::from(number) << NUMBER
    }

    /// What an address says, and the address itself; none where it says nothing.
    pub fn of(address: u64) -> Option<(Self, u32)> {
        if address & MARK == 0 {
            return None;
        }
        let (kind, number) = ((address & !MARK) >> KIND, (address >> NUMBER) as u32 & ((1 << NUMBER_BITS) - 1));
        let told = match kind {
            ASKED => Self::Asked { parity: number & 1 == 1 },
            place => Self::Op(*MbarrierOp::ALL.get(place as usize - 1)?, number),
        };
        Some((told, address as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_comes_back() {
        let ops = MbarrierOp::ALL.iter().flat_map(|&op| [0, 1, 0xf_ffff].map(|number| Told::Op(op, number)));
        for told in ops.chain([true, false].map(|parity| Told::Asked { parity })) {
            assert_eq!(Told::of(told.mark() | 0x100_0040), Some((told, 0x100_0040)));
        }
        assert_eq!(Told::of(0x100_0040), None);
    }
}
