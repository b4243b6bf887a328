//! What barriers in memory (`mbarrier`) become when they are told something.

use warplens_isa::{MbarrierOp, MbarrierState};

/// The new bits of a barrier.
pub(super) fn update(op: MbarrierOp, bits: u64, operand: u64) -> u64 {
    MbarrierState::unpack(bits).told(op, operand as u32).pack()
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
