//! What barriers in memory (`mbarrier`) become when they are told something.

use warplens_isa::{MbarrierOp, MbarrierState};

/// The new bits of a barrier.
pub(super) fn update(op: MbarrierOp, bits: u64, operand: u64) -> u64 {
    let (old, number) = (MbarrierState::unpack(bits), operand as u32);
    let state = match op {
        MbarrierOp::Init => MbarrierState { pending: number, expected: number, ..MbarrierState::default() },
        MbarrierOp::Arrive => arrive(old, number),
        MbarrierOp::ArriveDrop => arrive(drop(old, number), number),
        MbarrierOp::ExpectTx => expect(old, number),
        MbarrierOp::CompleteTx => completed(expect(old, number.wrapping_neg())),
        MbarrierOp::ArriveExpectTx => arrive(expect(old, number), 1),
        MbarrierOp::ArriveDropExpectTx => arrive(drop(expect(old, number), 1), 1),
    };
    state.pack()
}

fn expect(state: MbarrierState, bytes: u32) -> MbarrierState {
    MbarrierState { bytes: state.bytes.wrapping_add(bytes.cast_signed()), ..state }
}

fn drop(state: MbarrierState, arrivals: u32) -> MbarrierState {
    MbarrierState { expected: state.expected.saturating_sub(arrivals), ..state }
}

fn arrive(state: MbarrierState, arrivals: u32) -> MbarrierState {
    completed(MbarrierState { pending: state.pending.saturating_sub(arrivals), ..state })
}

/// The next phase begins once nothing is waited for any more.
fn completed(state: MbarrierState) -> MbarrierState {
    if state.pending > 0 || state.bytes != 0 {
        return state;
    }
    MbarrierState { pending: state.expected, parity: !state.parity, ..state }
}

#[cfg(test)]
mod tests {
    use warplens_isa::MbarrierOp as M;

    use super::{MbarrierState, update};

    /// Tells a new barrier of two arrivals one thing after the other.
    fn check(told: &[(M, u64)], pending: u32, expected: u32, bytes: i32, parity: bool) {
        let bits = told.iter().fold(update(M::Init, u64::MAX, 2), |bits, &(op, operand)| update(op, bits, operand));
        assert_eq!(MbarrierState::unpack(bits), MbarrierState { pending, expected, bytes, parity }, "{told:?}");
    }

    #[test]
    fn phases_end_when_all_have_arrived_and_all_bytes_came() {
        check(&[], 2, 2, 0, false);
        check(&[(M::Arrive, 1)], 1, 2, 0, false);
        check(&[(M::Arrive, 1), (M::Arrive, 1)], 2, 2, 0, true);
        check(&[(M::Arrive, 2), (M::Arrive, 2)], 2, 2, 0, false);
        check(&[(M::ArriveExpectTx, 64), (M::Arrive, 1)], 0, 2, 64, false);
        check(&[(M::ArriveExpectTx, 64), (M::Arrive, 1), (M::CompleteTx, 16)], 0, 2, 48, false);
        check(&[(M::ArriveExpectTx, 64), (M::Arrive, 1), (M::CompleteTx, 64)], 2, 2, 0, true);
        check(&[(M::CompleteTx, 64), (M::ExpectTx, 64), (M::Arrive, 2)], 2, 2, 0, true);
        check(&[(M::CompleteTx, 64), (M::Arrive, 1)], 1, 2, -64, false);
    }

    #[test]
    fn who_drops_out_is_not_waited_for_again() {
        check(&[(M::ArriveDrop, 1)], 1, 1, 0, false);
        check(&[(M::ArriveDrop, 1), (M::Arrive, 1)], 1, 1, 0, true);
        check(&[(M::ArriveDropExpectTx, 8), (M::Arrive, 1), (M::CompleteTx, 8)], 1, 1, 0, true);
    }
}
