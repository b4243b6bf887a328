//! A unit that takes one request at a time: a pipe, the banks of shared memory, a link.

/// State of the unit.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Port {
    free_at: f64,
    /// Cycles in which it was busy.
    pub(crate) busy: f64,
}

impl Port {
    /// First time at which it takes another request.
    pub(crate) const fn free_at(&self) -> f64 {
        self.free_at
    }

    /// Takes a request that arrives at `at` and keeps the unit busy for `cycles`; returns when it starts.
    pub(crate) fn reserve(&mut self, at: f64, cycles: f64) -> f64 {
        let start = later(at, self.free_at);
        self.free_at = start + cycles;
        self.busy += cycles;
        start
    }
}

/// The later of two times, neither of which is NaN. (`f64::max` asks whether they are.)
pub(crate) const fn later(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// The first whole cycle that is not before `time`. (`f64::ceil` is a call on targets without an instruction for it, and to
/// make a number of 64 bits without a sign of one takes many.)
pub(crate) fn whole(time: f64) -> u64 {
    // Above it neighbouring numbers are a whole one apart.
    const EXACT: f64 = (1_u64 << 52) as f64;
    if time < EXACT {
        let time = later(time, 0.0);
        let nearest = time + EXACT;
        let cycle = nearest.to_bits() - EXACT.to_bits();
        return cycle + u64::from(nearest - EXACT < time);
    }
    time as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_refuses_one_cycle_early_and_accepts_on_time() {
        let mut port = Port::default();
        assert_eq!(port.reserve(10.0, 4.0), 10.0);
        assert_eq!(port.free_at(), 14.0);
        assert_eq!(port.reserve(13.0, 4.0), 14.0);
        assert_eq!(port.reserve(18.0, 2.5), 18.0);
        assert_eq!(port.reserve(30.0, 1.0), 30.0);
        assert_eq!(port.busy, 11.5);
    }

    #[test]
    fn cycles_are_rounded_up() {
        assert_eq!([0.0, 0.1, 1.0, 7.5, 8.0].map(whole), [0, 1, 1, 8, 8]);
        assert_eq!([-7.5, -0.0, 1e-300, 0.5, 1.5, 2.5, 1.0 + 1e-15].map(whole), [0, 0, 1, 1, 2, 3, 2]);
        let large = (1_u64 << 52) as f64;
        assert_eq!([large - 0.5, large, 2.0 * large].map(whole), [1 << 52, 1 << 52, 1 << 53]);
        assert_eq!([f64::INFINITY, f64::NAN].map(whole), [u64::MAX, 0]);
    }
}
