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

#[cfg(test)]
mod tests {
    use super::*;

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
