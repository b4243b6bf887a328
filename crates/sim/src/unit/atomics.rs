//! Atomic operations on the same address: memory does them one after the other.
//!
//! **Global memory.** The L2 cache computes where the data is, and on one word it does one operation every so many cycles
//! (`l2.atomic_cycles`), whichever warp or SM they come from; different words do not wait for each other here (what they
//! cost in transactions is the caches' business). So an access is done when the operations on each of its words are: they
//! begin when it would be done without any other, or when the operations that came to the word before are over.
//!
//! One SM is simulated, and the operations of the others come between its own: on a word that a share `p` of the CTAs
//! touches, `p x active SMs` operations take place for each one of this SM, its own included, and never fewer than that.
//! The share is what the first CTA of each SM shows, by sectors. Where nothing was looked at (foreign traces, launches
//! of one CTA) a word is this SM's own.
//!
//! Operations of one warp on one word do not merge: NVIDIA's guide to Nsight (memory statistics of atomics) says of such
//! an instruction that each read, modification and write occurs and that they are all serialised. Where the address is
//! known to be the same in all lanes, machine code adds up first, and one lane operates ([`MachineInst::ADDED_UP`](warplens_trace::MachineInst::ADDED_UP)).
//!
//! **Shared memory** computes in its banks, where each operation on a word is a wavefront of its own
//! ([`bank`]): that is in the passes of an access, and paced as passes are (`shared.pass_cycles`). Where the effect is
//! left out, the lanes that operate on one word share a wavefront, as those of a store do.
//!
//! A word are the aligned four bytes that hold the operation's first byte. Machines without an L2 cache for data (compute
//! capability 1.x) have no number for this, and nothing is delayed there.

use rustc_hash::FxHashMap;
use warplens_machine::{Key, Missing, Reader};
use warplens_stats::bank::{self, Passes};
use warplens_stats::{BankRule, Footprint, Request};
use warplens_trace::{AccessKind, MachineClass, WARP_SIZE, WarpAccess};

use super::{Delay, Effect, UnitKind};
use crate::{Job, SmConfig, Without};

/// Bytes of a word.
const WORD: u64 = 4;

/// State.
#[derive(Debug)]
pub(crate) struct Atomics<'a> {
    /// Cycles of an operation on a word; none where nothing is delayed.
    cycles: Option<f64>,
    is_left_out: bool,
    banks: BankRule,
    n_sms: u32,
    active_sms: f64,
    footprint: Option<&'a Footprint>,
    words: FxHashMap<u64, Word>,
}

/// A word of global memory that was operated on.
#[derive(Clone, Copy, Debug)]
struct Word {
    /// Cycles from one operation of this SM to its next: those of other SMs come between them.
    interval: f64,
    /// When the next operation may be done.
    free_at: f64,
    /// Cycles of the operations so far, with those of other SMs between them.
    busy: f64,
}

impl<'a> Delay<'a> for Atomics<'a> {
    /// Cycles of an operation on a word of global memory.
    type Config = Option<f64>;

    fn read(reader: &mut Reader<'_>, used: &[MachineClass]) -> Result<Option<f64>, Missing> {
        let is_used = used.iter().any(|class| matches!(class, MachineClass::Atomic | MachineClass::Reduction));
        if !is_used || reader.need(Key::L2Size)? == 0.0 {
            return Ok(None);
        }
        reader.need(Key::L2AtomicCycles).map(Some)
    }

    fn new(cycles: &Option<f64>, sm: &SmConfig, job: &Job<'a>, without: Without) -> Self {
        let is_left_out = without.contains(Effect::SameAddress);
        Self {
            cycles: cycles.filter(|_| !is_left_out),
            is_left_out,
            banks: sm.shared.banks,
            n_sms: sm.n_sms,
            active_sms: f64::from(job.surroundings.active_sms),
            footprint: job.footprint,
            words: FxHashMap::default(),
        }
    }

    fn passes(&self, access: &WarpAccess, request: &Request<'_>, passes: Passes) -> Passes {
        match access.kind {
            AccessKind::Atomic if self.is_left_out => bank::passes(self.banks, AccessKind::Store, request),
            AccessKind::Atomic | AccessKind::Load | AccessKind::Store => passes,
        }
    }

    fn served(&mut self, access: &WarpAccess, request: &Request<'_>, done: f64) -> f64 {
        let Some(cycles) = self.cycles.filter(|_| access.kind == AccessKind::Atomic) else { return done };
        let mut last = done;
        let elements = (0..u64::from(access.elements)).map(|element| element * u64::from(access.element_bytes));
        for offset in elements {
            let mut words = [0; WARP_SIZE];
            let lanes = request.mask.lanes().map(|lane| request.addresses[lane].wrapping_add(offset) / WORD);
            let n_lanes = words.iter_mut().zip(lanes).map(|(word, lane)| *word = lane).count();
            words[..n_lanes].sort_unstable();
            for same in words[..n_lanes].chunk_by(|one, other| one == other) {
                last = last.max(self.operate(cycles, same[0], same.len() as f64, done));
            }
        }
        last
    }

    fn busy(&self) -> Option<(UnitKind, f64)> {
        let busiest = self.words.values().map(|word| word.busy).max_by(f64::total_cmp)?;
        Some((UnitKind::AtomicWord, busiest))
    }
}

impl Atomics<'_> {
    /// Operates on a word so many times, the first time not before `at`; returns when the last one is done.
    fn operate(&mut self, cycles: f64, word: u64, operations: f64, at: f64) -> f64 {
        let (footprint, n_sms, active_sms) = (self.footprint, self.n_sms, self.active_sms);
        let word = self.words.entry(word).or_insert_with(|| {
            let share = footprint.and_then(|footprint| footprint.touching(word * WORD, n_sms));
            Word {
                interval: cycles * share.map_or(1.0, |share| (share * active_sms).max(1.0)),
                free_at: 0.0,
                busy: 0.0,
            }
        });
        let first = at.max(word.free_at);
        word.free_at = first + operations * word.interval;
        word.busy += operations * word.interval;
        word.free_at - word.interval
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(active_sms: f64, footprint: Option<&Footprint>) -> Atomics<'_> {
        let (cycles, words) = (Some(2.0), FxHashMap::default());
        Atomics { cycles, is_left_out: false, banks: BankRule::Cc20, n_sms: 8, active_sms, footprint, words }
    }

    #[test]
    fn operations_on_a_word_take_turns_and_others_do_not_wait() {
        let mut atomics = unit(8.0, None);
        assert_eq!(atomics.operate(2.0, 5, 32.0, 100.0), 162.0);
        // One cycle before the word is free, and on time.
        assert_eq!(atomics.operate(2.0, 5, 1.0, 163.0), 164.0);
        assert_eq!(atomics.operate(2.0, 5, 1.0, 166.0), 166.0);
        assert_eq!(atomics.operate(2.0, 6, 1.0, 100.0), 100.0);
    }
}
