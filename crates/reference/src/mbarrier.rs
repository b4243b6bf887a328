//! Barriers in memory.
//!
//! PTX ISA, `mbarrier`: a phase has a number of arrivals and of bytes that are pending. An arrival takes from the first,
//! what has come from the second; when both are zero, the next phase begins with as many arrivals as are expected.

use warplens_isa::{MbarrierOp, MbarrierState};

/// The bits of a barrier after what was done to it.
pub(crate) fn updated(op: MbarrierOp, bits: u64, operand: u64) -> u64 {
    let number = operand & 0xffff_ffff;
    let mut state = MbarrierState::unpack(bits);
    if op == MbarrierOp::Init {
        return MbarrierState { pending: number as u32, expected: number as u32, bytes: 0, parity: false }.pack();
    }
    let (arrivals, more_bytes) = match op {
        MbarrierOp::Init | MbarrierOp::AwaitCopies => (0, 0),
        MbarrierOp::Arrive | MbarrierOp::ArriveDrop | MbarrierOp::CopiesArrive => (number, 0),
        MbarrierOp::ExpectTx => (0, number as i64),
        MbarrierOp::CompleteTx => (0, -(number as i64)),
        MbarrierOp::ArriveExpectTx | MbarrierOp::ArriveDropExpectTx => (1, number as i64),
    };
    if matches!(op, MbarrierOp::ArriveDrop | MbarrierOp::ArriveDropExpectTx) {
        state.expected -= u64::from(state.expected).min(arrivals) as u32;
    }
    state.pending -= u64::from(state.pending).min(arrivals) as u32;
    state.bytes = (i64::from(state.bytes) + more_bytes) as i32;
    // What is only expected ends no phase.
    if !matches!(op, MbarrierOp::ExpectTx | MbarrierOp::AwaitCopies) && state.pending == 0 && state.bytes == 0 {
        state.pending = state.expected;
        state.parity = !state.parity;
    }
    state.pack()
}
