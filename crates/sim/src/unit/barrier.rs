//! Barriers of one CTA.

/// Barriers that a CTA has.
const N_BARRIERS: usize = 16;

/// State: arrivals per barrier.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Barriers {
    arrived: [u32; N_BARRIERS],
}

impl Barriers {
    /// A warp arrives. True when it is the last of `expected`; the barrier is then open for its next round.
    pub(crate) fn arrive(&mut self, barrier: u32, expected: u32) -> bool {
        let arrived = &mut self.arrived[barrier as usize % N_BARRIERS];
        *arrived += 1;
        Self::opens(arrived, expected)
    }

    /// A warp has ended, so that `expected` are left. Barriers that were waiting for it alone open.
    pub(crate) fn warp_ended(&mut self, expected: u32, mut open: impl FnMut(u32)) {
        for (barrier, arrived) in (0..).zip(&mut self.arrived) {
            if *arrived > 0 && Self::opens(arrived, expected) {
                open(barrier);
            }
        }
    }

    /// The barrier opens although not all have arrived.
    pub(crate) fn force(&mut self, barrier: u32) {
        self.arrived[barrier as usize % N_BARRIERS] = 0;
    }

    fn opens(arrived: &mut u32, expected: u32) -> bool {
        let opens = *arrived >= expected;
        if opens {
            *arrived = 0;
        }
        opens
    }
}

/// The number by which machine code names the barrier of a cluster: one that no CTA barrier has.
pub(crate) const CLUSTER_BARRIER: u32 = 16;

/// The barrier of a cluster, as one of its CTAs sees it: arriving and waiting are two instructions.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Meeting {
    arrived: u32,
    /// Phases that have ended, and when the last one did.
    pub(crate) phase: u32,
    pub(crate) ended: u64,
}

impl Meeting {
    /// A warp arrives. True when it is the last of `expected`.
    pub(crate) fn arrive(&mut self, expected: u32, cycle: u64) -> bool {
        self.arrived += 1;
        self.ends(expected, cycle)
    }

    /// A warp has ended, so that `expected` are left. True when the others have all arrived.
    pub(crate) fn warp_ended(&mut self, expected: u32, cycle: u64) -> bool {
        self.arrived > 0 && self.ends(expected, cycle)
    }

    /// The phase ends although not all have arrived.
    pub(crate) fn force(&mut self) {
        (self.arrived, self.phase) = (0, self.phase + 1);
    }

    fn ends(&mut self, expected: u32, cycle: u64) -> bool {
        let ends = self.arrived >= expected;
        if ends {
            (self.arrived, self.phase, self.ended) = (0, self.phase + 1, cycle);
        }
        ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_of_the_cluster_ends_with_the_last_warp_that_arrives_or_ends() {
        let mut meeting = Meeting::default();
        assert!(!meeting.arrive(3, 5) && !meeting.arrive(3, 6));
        assert!(meeting.warp_ended(2, 9));
        assert_eq!((meeting.phase, meeting.ended), (1, 9));
        assert!(!meeting.arrive(2, 11) && meeting.arrive(2, 12) && !meeting.warp_ended(1, 13));
        assert_eq!((meeting.phase, meeting.ended), (2, 12));
    }

    #[test]
    fn the_last_arrival_opens_and_an_end_counts() {
        let mut barriers = Barriers::default();
        assert!(!barriers.arrive(0, 3));
        assert!(!barriers.arrive(1, 3));
        assert!(!barriers.arrive(0, 3));
        assert!(barriers.arrive(0, 3));
        assert!(!barriers.arrive(0, 3));
        let mut opened = Vec::new();
        barriers.warp_ended(2, |barrier| opened.push(barrier));
        assert!(opened.is_empty());
        barriers.warp_ended(1, |barrier| opened.push(barrier));
        assert_eq!(opened, [0, 1]);
    }
}
