//! What of the device is taken when: the SMs by kernels, the two copy engines by copies.
//!
//! Work begins when what it needs is free, in the order in which it was asked for. A kernel takes as many SMs as it has
//! CTAs for; kernels that fill the GPU follow each other, small ones of several streams run at the same time. What they
//! then cost each other in caches and memory is not modelled.

use std::collections::VecDeque;

use warplens_session::trail::CopyKind;

use crate::clock::Nanoseconds;

/// What work needs of the device.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Needs {
    /// This share of the SMs, above 0 and at most 1.
    Sms(f64),
    /// The engine that copies to the device.
    ToDevice,
    /// The engine that copies to the host.
    ToHost,
    /// Nothing: the host does it.
    Nothing,
}

impl Needs {
    /// What a copy needs. One within the device is a kernel that fills it.
    pub(crate) fn of_copy(kind: CopyKind) -> Self {
        match kind {
            CopyKind::ToDevice => Self::ToDevice,
            CopyKind::ToHost => Self::ToHost,
            CopyKind::OnDevice | CopyKind::Set => Self::Sms(1.0),
            CopyKind::OnHost => Self::Nothing,
        }
    }
}

/// A kernel on the clock.
#[derive(Clone, Copy, Debug)]
struct Running {
    begin: Nanoseconds,
    end: Nanoseconds,
    share: f64,
}

/// What is taken.
#[derive(Clone, Default, Debug)]
pub(crate) struct Timeline {
    /// By their ends.
    running: VecDeque<Running>,
    to_device: Nanoseconds,
    to_host: Nanoseconds,
}

/// Shares are sums of fractions.
const TOLERANCE: f64 = 1e-9;

impl Timeline {
    /// Places work that can begin at `ready` and takes so many seconds. Nothing will be asked for before `host` any more.
    pub(crate) fn place(
        &mut self,
        needs: Needs,
        ready: Nanoseconds,
        seconds: f64,
        host: Nanoseconds,
    ) -> (Nanoseconds, Nanoseconds) {
        match needs {
            Needs::Nothing => (ready, ready.after(seconds)),
            Needs::ToDevice => on_engine(&mut self.to_device, ready, seconds),
            Needs::ToHost => on_engine(&mut self.to_host, ready, seconds),
            Needs::Sms(share) => {
                while self.running.front().is_some_and(|running| running.end <= host) {
                    self.running.pop_front();
                }
                let begin = self.free_from(share, ready, seconds);
                let end = begin.after(seconds);
                let place = self.running.partition_point(|running| running.end <= end);
                self.running.insert(place, Running { begin, end, share });
                (begin, end)
            }
        }
    }

    /// The first time from `ready` on at which so many SMs are free for so long.
    fn free_from(&self, share: f64, ready: Nanoseconds, seconds: f64) -> Nanoseconds {
        let later = || self.running.range(self.running.partition_point(|running| running.end <= ready)..);
        let is_free = |begin: Nanoseconds| {
            let end = begin.after(seconds);
            let meets = |running: &&Running| running.begin < end && running.end > begin;
            let taken: f64 = later().filter(meets).map(|running| running.share).sum();
            taken + share <= 1.0 + TOLERANCE
        };
        let last = later().next_back().map_or(ready, |running| running.end);
        let ends = later().map(|running| running.end);
        std::iter::once(ready).chain(ends).find(|&begin| is_free(begin)).unwrap_or(last)
    }
}

fn on_engine(engine: &mut Nanoseconds, ready: Nanoseconds, seconds: f64) -> (Nanoseconds, Nanoseconds) {
    let begin = engine.max(ready);
    *engine = begin.after(seconds);
    (begin, *engine)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(timeline: &mut Timeline, needs: Needs, ready: f64) -> (f64, f64) {
        let start = Nanoseconds(0.0);
        let (begin, end) = timeline.place(needs, Nanoseconds(ready), 10e-9, start);
        (begin.0, end.0)
    }

    #[test]
    fn kernels_that_fill_the_device_follow_each_other() {
        let mut timeline = Timeline::default();
        assert_eq!(place(&mut timeline, Needs::Sms(1.0), 0.0), (0.0, 10.0));
        assert_eq!(place(&mut timeline, Needs::Sms(1.0), 5.0), (10.0, 20.0));
        assert_eq!(place(&mut timeline, Needs::Sms(0.1), 5.0), (20.0, 30.0));
        assert_eq!(place(&mut timeline, Needs::Sms(0.9), 5.0), (20.0, 30.0));
        assert_eq!(place(&mut timeline, Needs::Sms(0.2), 5.0), (30.0, 40.0));
    }

    #[test]
    fn copies_run_beside_kernels_and_one_after_the_other_in_a_direction() {
        let mut timeline = Timeline::default();
        place(&mut timeline, Needs::Sms(1.0), 0.0);
        assert_eq!(place(&mut timeline, Needs::ToDevice, 0.0), (0.0, 10.0));
        assert_eq!(place(&mut timeline, Needs::ToHost, 0.0), (0.0, 10.0));
        assert_eq!(place(&mut timeline, Needs::ToHost, 0.0), (10.0, 20.0));
        assert_eq!(place(&mut timeline, Needs::Nothing, 3.0), (3.0, 13.0));
    }
}
