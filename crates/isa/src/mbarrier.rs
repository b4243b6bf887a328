//! The state of a barrier in memory (`mbarrier`): what its 64 bits hold.
//!
//! PTX leaves the layout open. Here a state is a number in memory like any other, so that whatever changes it is an
//! atomic on 64 bits, and the token of an arrival is the state that it found.
//!
//! | Bits | Field |
//! |---|---|
//! | 0 to 19 | arrivals that the phase still waits for |
//! | 20 to 39 | arrivals of each phase |
//! | 40 to 60 | bytes that the phase still waits for, with a sign |
//! | 63 | parity of the phase |

/// What is done to the state of a barrier in memory; each has one operand.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum MbarrierOp {
    /// It begins its first phase, with so many arrivals in each.
    Init,
    /// So many arrive.
    Arrive,
    /// So many arrive, and are not waited for in later phases.
    ArriveDrop,
    /// The phase waits for so many bytes more.
    ExpectTx,
    /// So many bytes have come.
    CompleteTx,
    /// The phase waits for so many bytes more, and one arrives.
    ArriveExpectTx,
    /// The same, and the one is not waited for in later phases.
    ArriveDropExpectTx,
    /// So many arrive once the asynchronous copies of the thread have been made.
    CopiesArrive,
    /// The phase does not end before the asynchronous copies of the thread have been made.
    AwaitCopies,
}

impl MbarrierOp {
    /// Every one.
    pub const ALL: &[Self] = &[
        Self::Init,
        Self::Arrive,
        Self::ArriveDrop,
        Self::ExpectTx,
        Self::CompleteTx,
        Self::ArriveExpectTx,
        Self::ArriveDropExpectTx,
        Self::CopiesArrive,
        Self::AwaitCopies,
    ];
}

/// What says of which phase somebody asks whether it has ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PhaseOf {
    /// The state that an arrival found.
    State,
    /// Its parity.
    Parity,
}

/// The fields of a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MbarrierState {
    /// Arrivals that the phase still waits for.
    pub pending: u32,
    /// Arrivals of each phase.
    pub expected: u32,
    /// Bytes that the phase still waits for; below zero where they came before anybody expected them.
    pub bytes: i32,
    /// Parity of the phase.
    pub parity: bool,
}

impl MbarrierState {
    /// Bits of a number of arrivals.
    pub const ARRIVAL_BITS: u32 = 20;
    /// Bits of a number of bytes.
    const BYTE_BITS: u32 = 21;
    /// The bit of the parity.
    pub const PARITY_BIT: u32 = 63;

    /// The fields of the bits.
    pub const fn unpack(bits: u64) -> Self {
        const ARRIVALS: u32 = (1 << MbarrierState::ARRIVAL_BITS) - 1;
        let unused = 32 - Self::BYTE_BITS;
        Self {
            pending: bits as u32 & ARRIVALS,
            expected: (bits >> Self::ARRIVAL_BITS) as u32 & ARRIVALS,
            bytes: (((bits >> (2 * Self::ARRIVAL_BITS)) as u32) << unused).cast_signed() >> unused,
            parity: bits >> Self::PARITY_BIT == 1,
        }
    }

    /// The state after it was told something. Copies count as made.
    #[must_use]
    pub const fn told(self, op: MbarrierOp, number: u32) -> Self {
        match op {
            MbarrierOp::Init => Self { pending: number, expected: number, bytes: 0, parity: false },
            MbarrierOp::Arrive | MbarrierOp::CopiesArrive => self.arrived(number),
            MbarrierOp::ArriveDrop => self.dropped(number).arrived(number),
            MbarrierOp::ExpectTx => self.expecting(number),
            MbarrierOp::CompleteTx => self.expecting(number.wrapping_neg()).completed(),
            MbarrierOp::ArriveExpectTx => self.expecting(number).arrived(1),
            MbarrierOp::ArriveDropExpectTx => self.expecting(number).dropped(1).arrived(1),
            MbarrierOp::AwaitCopies => self,
        }
    }

    const fn expecting(self, bytes: u32) -> Self {
        Self { bytes: self.bytes.wrapping_add(bytes.cast_signed()), ..self }
    }

    const fn dropped(self, arrivals: u32) -> Self {
        Self { expected: self.expected.saturating_sub(arrivals), ..self }
    }

    const fn arrived(self, arrivals: u32) -> Self {
        Self { pending: self.pending.saturating_sub(arrivals), ..self }.completed()
    }

    /// The next phase begins once nothing is waited for any more.
    const fn completed(self) -> Self {
        if self.pending > 0 || self.bytes != 0 {
            return self;
        }
        Self { pending: self.expected, parity: !self.parity, ..self }
    }

    /// The bits; numbers beyond the range of their field wrap around.
    pub const fn pack(self) -> u64 {
        const fn field(value: u32, bits: u32) -> u64 {
            value as u64 & ((1 << bits) - 1)
        }
        field(self.pending, Self::ARRIVAL_BITS)
            | field(self.expected, Self::ARRIVAL_BITS) << Self::ARRIVAL_BITS
            | field(self.bytes.cast_unsigned(), Self::BYTE_BITS) << (2 * Self::ARRIVAL_BITS)
            | (self.parity as u64) << Self::PARITY_BIT
    }
}

#[cfg(test)]
mod tests {
    use super::MbarrierState;

    #[test]
    fn fields_come_back() {
        for pending in [0, 1, 0xf_ffff] {
            for bytes in [-1_048_576, -1, 0, 1_048_575] {
                for parity in [false, true] {
                    let state = MbarrierState { pending, expected: 0xf_ffff - pending, bytes, parity };
                    assert_eq!(MbarrierState::unpack(state.pack()), state);
                }
            }
        }
    }
}
