//! Barriers in memory of one CTA (`mbarrier`): what they are told takes effect in simulated time.
//!
//! Instructions tell a barrier in the order in which they are issued; each says when what it tells has happened: an
//! arrival as soon as it is executed, bytes when the copy has brought them. A phase ends when it lacks nothing any more, at
//! the latest of these times. Which phase somebody waits for is said by its parity.
//!
//! Only CTAs of one SM are simulated. Those of a cluster are taken to do the same at the same time: what one tells a
//! barrier of another, its own is told.

use warplens_isa::{CLUSTER_WINDOW_BITS, MbarrierOp, MbarrierState};

/// State: the barriers that were told something.
#[derive(Clone, Debug, Default)]
pub(crate) struct Phases {
    barriers: Vec<Barrier>,
}

#[derive(Clone, Copy, Debug)]
struct Barrier {
    offset: u32,
    state: MbarrierState,
    /// When everything had happened that the phase was told.
    latest: f64,
    /// When the last phase of each parity ended.
    ended: [f64; 2],
}

/// Where a barrier lies in the CTA's own shared memory.
const fn offset(address: u32) -> u32 {
    address & ((1 << CLUSTER_WINDOW_BITS) - 1)
}

impl Phases {
    /// A barrier is told something that has happened at a time. True when a phase ends with it.
    pub(crate) fn tell(&mut self, address: u32, op: MbarrierOp, number: u32, at: f64) -> bool {
        let barrier = self.barrier(offset(address));
        let parity = barrier.state.parity;
        barrier.state = barrier.state.told(op, number);
        if op == MbarrierOp::Init {
            (barrier.latest, barrier.ended) = (at, [0.0; 2]);
            return false;
        }
        barrier.latest = barrier.latest.max(at);
        let ends = barrier.state.parity != parity;
        if ends {
            barrier.ended[usize::from(parity)] = barrier.latest;
        }
        ends
    }

    /// When the last phase of a parity ended; none while it has not. Before the first phase one of the other parity has.
    pub(crate) fn ended(&mut self, address: u32, parity: bool) -> Option<f64> {
        let barrier = self.barrier(offset(address));
        (barrier.state.parity != parity).then_some(barrier.ended[usize::from(parity)])
    }

    /// A phase ends although it lacks something.
    pub(crate) fn force(&mut self, address: u32) {
        let barrier = self.barrier(offset(address));
        let MbarrierState { expected, parity, .. } = barrier.state;
        barrier.ended[usize::from(parity)] = barrier.latest;
        barrier.state = MbarrierState { pending: expected, expected, bytes: 0, parity: !parity };
    }

    fn barrier(&mut self, offset: u32) -> &mut Barrier {
        let found = self.barriers.iter().position(|barrier| barrier.offset == offset);
        let index = found.unwrap_or_else(|| {
            let state = MbarrierState::default();
            self.barriers.push(Barrier { offset, state, latest: 0.0, ended: [0.0; 2] });
            self.barriers.len() - 1
        });
        &mut self.barriers[index]
    }
}

#[cfg(test)]
mod tests {
    use warplens_isa::MbarrierOp as M;

    use super::Phases;

    #[test]
    fn a_phase_ends_with_the_last_thing_that_it_lacks() {
        let mut phases = Phases::default();
        assert!(!phases.tell(8, M::Init, 2, 10.0));
        assert_eq!((phases.ended(8, true), phases.ended(8, false)), (Some(0.0), None));
        assert!(!phases.tell(8, M::ArriveExpectTx, 64, 20.0));
        assert!(!phases.tell(8, M::CompleteTx, 64, 900.0), "another has to arrive");
        assert!(phases.tell(8, M::Arrive, 1, 30.0));
        assert_eq!((phases.ended(8, false), phases.ended(8, true)), (Some(900.0), None));
        assert!(phases.tell(8, M::Arrive, 2, 950.0));
        assert_eq!((phases.ended(8, true), phases.ended(8, false)), (Some(950.0), None));
    }

    #[test]
    fn barriers_are_told_apart_and_the_window_of_another_block_is_the_own_one() {
        let mut phases = Phases::default();
        for barrier in [0, 8] {
            phases.tell(barrier, M::Init, 1, 0.0);
        }
        assert!(phases.tell((3 << 24) + 8, M::Arrive, 1, 7.0));
        assert_eq!((phases.ended(0, false), phases.ended(8, false)), (None, Some(7.0)));
        phases.force(0);
        assert_eq!((phases.ended(0, false), phases.ended(0, true)), (Some(0.0), None));
    }
}
