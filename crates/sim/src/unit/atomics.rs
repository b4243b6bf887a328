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
//! Floating-point numbers take longer than integers (`l2.float_atomic_cycles`). Operations on all words of a slice of the
//! cache wait for each other: it takes a sector at a time (`l2.atomic_sector_cycles`), or one number at a time where these
//! are of 64 bits of floating point and the machine says how long that takes (`l2.double_atomic_cycles`). What lies in
//! `l2.slice_bytes` is in one slice: sums of an H200 on one line take it 1.23 cycles for each sector of a warp, and on eight
//! lines 0.29 (`validation/measured/h200/microbenchmarks.csv`). Where it is known how many slices there are (`l2.slices`),
//! all operations of the launch wait for these, too.
//!
//! Operations of one warp on one word do not merge: NVIDIA's guide to Nsight (memory statistics of atomics) says of such
//! an instruction that each read, modification and write occurs and that they are all serialised. Where the address is
//! known to be the same in all lanes, machine code adds up first, and one lane operates ([`MachineInst::ADDED_UP`](warplens_trace::MachineInst::ADDED_UP)).
//!
//! **Shared memory** computes in its banks, where each operation on a word is a wavefront of its own
//! ([`bank`]): that is in the passes of an access, and paced as passes are (`shared.pass_cycles`). Where the effect is
//! left out, the lanes that operate on one word share a wavefront, as those of a store do; so do those of an operation that
//! counts lanes ([`MachineInst::COUNTED`](warplens_trace::MachineInst::COUNTED)): counters of an H200 have 3.15 and 1.06
//! wavefronts for each such operation on random ones of 256 and 16 words (`validation/measured/h200/counters.csv`), which
//! is 3.15 and 1 where lanes on one word share, and 3.54 and 4.9 where they do not. Those that are a loop of machine
//! code ([`MachineInst::LOOP`](warplens_trace::MachineInst::LOOP)) succeed one after the other on a word, a load, an
//! operation and an exchange each, whichever warps of the CTA they come from. Rounds that fail take the lanes of the
//! operation as those do that succeed: so a double that all threads of a CTA add to takes 1031 us on an RTX 3080, which has
//! two lanes for doubles in an SM, and not the 167 of one success after the other
//! (`validation/hecbench/measured-rtx3080.csv`, `atomicPerf`). What they cost in issue slots and beside other work on
//! these lanes is not modelled.
//!
//! A word are the aligned four bytes that hold the operation's first byte. Machines without an L2 cache for data (compute
//! capability 1.x) have no number for this, and nothing is delayed there.

use rustc_hash::FxHashMap;
use warplens_isa::StateSpace;
use warplens_machine::{Key, Missing, Reader};
use warplens_stats::bank::{self, Passes};
use warplens_stats::{BankRule, Footprint, Request, sector};
use warplens_trace::{AccessKind, MachineClass, MachineInst, WARP_SIZE};

use super::port::Port;
use super::share::Share;
use super::{Delay, Effect, UnitKind};
use crate::memory::Arrival;
use crate::{Job, SmConfig, Without};

/// Bytes of a word.
const WORD: u64 = 4;
/// Round trips to the L2 cache by which the SMs of a chip go out of step.
const OUT_OF_STEP: f64 = 2.0;

/// Numbers.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct AtomicConfig {
    /// Of global memory; none where nothing is delayed.
    pub global: Option<GlobalAtomics>,
    /// Of a loop in shared memory: on 32 bits, and on 64.
    pub rounds: [RoundConfig; 2],
}

/// Numbers of a round of a loop: a load, an operation and an exchange.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct RoundConfig {
    /// Cycles from one round to the next.
    pub cycles: f64,
    /// Cycles for which a warp takes the SM's lanes of the operation.
    pub lane_cycles: f64,
}

/// Numbers of global memory.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct GlobalAtomics {
    /// Cycles of an operation on a word.
    pub cycles: f64,
    /// Cycles of one on a floating-point number.
    pub float_cycles: f64,
    /// What its slices take; none where that is unknown.
    pub slices: Option<SliceConfig>,
    /// Round trip to the L2 cache.
    pub latency: f64,
}

/// Numbers of the slices of the L2 cache.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SliceConfig {
    /// Bytes beside each other that lie in one.
    pub bytes: u64,
    /// Cycles for the words of a sector that an instruction operates on.
    pub sector_cycles: f64,
    /// Cycles for a number of 64 bits of floating point; none where these are as others.
    pub double_cycles: Option<f64>,
    /// How many there are; none where that is unknown.
    pub count: Option<f64>,
}

/// State.
#[derive(Debug)]
pub(crate) struct Atomics<'a> {
    config: AtomicConfig,
    is_left_out: bool,
    banks: BankRule,
    n_sms: u32,
    active_sms: f64,
    footprint: Option<&'a Footprint>,
    words: FxHashMap<Place, Word>,
    /// This SM's share of the slices.
    slices: Share,
    /// The lanes of the operations of loops, on 32 bits and on 64.
    lanes: [Port; 2],
    /// By the place of a warp: its last loop.
    loops: FxHashMap<usize, Loop>,
}

/// A loop of a warp, whose next one begins when it is over.
#[derive(Clone, Copy, Debug, Default)]
struct Loop {
    /// When it would be over if rounds waited for nothing but each other.
    succeeds_at: f64,
    /// When it is over.
    ends_at: f64,
}

/// Where operations wait for each other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Place {
    /// A word of global memory, by its number.
    Word(u64),
    /// What lies in a slice of the L2 cache.
    Slice(u64),
    /// A word of a CTA's shared memory.
    Shared(u32, u64),
}

/// A place that was operated on.
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
    type Config = AtomicConfig;

    fn read(reader: &mut Reader<'_>, used: &[MachineClass]) -> Result<AtomicConfig, Missing> {
        let is_used = used.iter().any(|class| matches!(class, MachineClass::Atomic | MachineClass::Reduction));
        if !is_used || reader.need(Key::L2Size)? == 0.0 {
            return Ok(AtomicConfig::default());
        }
        let known = reader.optional(Key::L2SliceBytes).zip(reader.optional(Key::L2AtomicSectorCycles));
        let slices = known.map(|(bytes, sector_cycles)| SliceConfig {
            bytes: (bytes as u64).max(WORD),
            sector_cycles,
            double_cycles: reader.optional(Key::L2DoubleAtomicCycles),
            count: reader.optional(Key::L2Slices),
        });
        let global = GlobalAtomics {
            cycles: reader.need(Key::L2AtomicCycles)?,
            float_cycles: reader.need(Key::L2FloatAtomicCycles)?,
            slices,
            latency: reader.need(Key::LatencyL2)?,
        };
        let around = reader.optional(Key::LatencyShared).zip(reader.optional(Key::LatencySharedAtomic));
        let around = around.map_or(0.0, |(load, exchange)| load + exchange);
        let rounds =
            [(Key::LatencyFp32, Key::LanesFp32), (Key::LatencyFp64, Key::LanesFp64)].map(|(latency, lanes)| {
                let cycles = around + reader.optional(latency).unwrap_or(0.0);
                RoundConfig {
                    cycles,
                    lane_cycles: reader.optional(lanes).map_or(0.0, |lanes| WARP_SIZE as f64 / lanes),
                }
            });
        Ok(AtomicConfig { global: Some(global), rounds })
    }

    fn new(config: &AtomicConfig, sm: &SmConfig, job: &Job<'a>, without: Without) -> Self {
        let is_left_out = without.contains(Effect::SameAddress);
        let active_sms = f64::from(job.surroundings.active_sms);
        let latency = config.global.map_or(0.0, |global| global.latency);
        Self {
            config: if is_left_out { AtomicConfig::default() } else { *config },
            is_left_out,
            banks: sm.shared.banks,
            n_sms: sm.n_sms,
            active_sms,
            footprint: job.footprint,
            words: FxHashMap::default(),
            slices: Share::new(active_sms, OUT_OF_STEP * latency),
            lanes: [Port::default(); 2],
            loops: FxHashMap::default(),
        }
    }

    fn passes(&self, arrival: &Arrival<'_>, request: &Request<'_>, passes: Passes) -> Passes {
        match arrival.access.kind {
            AccessKind::Atomic if self.is_left_out || arrival.amount == MachineInst::COUNTED => {
                bank::passes(self.banks, AccessKind::Store, request)
            }
            AccessKind::Atomic | AccessKind::Load | AccessKind::Store => passes,
        }
    }

    fn served(&mut self, arrival: &Arrival<'_>, request: &Request<'_>, done: f64) -> f64 {
        let access = arrival.access;
        if access.kind != AccessKind::Atomic {
            return done;
        }
        let is_wide = access.element_bytes > 4;
        let (way, cycles) = match (access.space, self.config.global) {
            (StateSpace::Shared, _) if arrival.amount == MachineInst::LOOP => {
                (Way::Loop, self.config.rounds[usize::from(is_wide)].cycles)
            }
            (StateSpace::Shared, _) | (_, None) => return done,
            (_, Some(global)) if arrival.amount == MachineInst::FLOATING => (Way::Float, global.float_cycles),
            (_, Some(global)) => (Way::Integer, global.cycles),
        };
        let slices = self.config.global.and_then(|global| global.slices).filter(|_| way != Way::Loop);
        let mut last = done;
        let elements = (0..u64::from(access.elements)).map(|element| element * u64::from(access.element_bytes));
        for offset in elements {
            let mut words = [0; WARP_SIZE];
            let lanes = request.mask.lanes().map(|lane| request.addresses[lane].wrapping_add(offset) / WORD);
            let n_lanes = words.iter_mut().zip(lanes).map(|(word, lane)| *word = lane).count();
            let words = &mut words[..n_lanes];
            words.sort_unstable();
            for same in words.chunk_by(|one, other| one == other) {
                let place = match way {
                    Way::Loop => Place::Shared(arrival.cta, same[0]),
                    Way::Float | Way::Integer => Place::Word(same[0]),
                };
                last = last.max(self.operate(cycles, (place, same[0] * WORD), same.len() as f64, done));
            }
            if let Some(slices) = slices {
                last = last.max(self.take_slices(&slices, way == Way::Float && is_wide, words, done));
            }
        }
        if way == Way::Loop && cycles > 0.0 {
            let before = self.loops.get(&arrival.slot).copied().unwrap_or_default();
            let rounds = ((last - done.max(before.succeeds_at)) / cycles).round().max(0.0) + 1.0;
            let succeeds_at = last;
            let taken = rounds * self.config.rounds[usize::from(is_wide)].lane_cycles;
            last = last.max(self.lanes[usize::from(is_wide)].reserve(done.max(before.ends_at), taken) + taken);
            self.loops.insert(arrival.slot, Loop { succeeds_at, ends_at: last });
        }
        last
    }

    fn busy(&self) -> Option<(UnitKind, f64)> {
        let busy = self
            .words
            .values()
            .map(|word| word.busy)
            .chain([self.slices.busy])
            .chain(self.lanes.map(|lanes| lanes.busy));
        let busiest = busy.max_by(f64::total_cmp).filter(|_| !self.words.is_empty())?;
        Some((UnitKind::AtomicWord, busiest))
    }
}

/// How operations are done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Integer,
    Float,
    Loop,
}

impl Atomics<'_> {
    /// The slices do what a warp asks for on these words, which ascend; returns when the last one has.
    fn take_slices(&mut self, config: &SliceConfig, are_doubles: bool, words: &[u64], at: f64) -> f64 {
        let doubles = config.double_cycles.filter(|_| are_doubles);
        let sector = |word: u64| word * WORD / sector::BYTES;
        let slice = |word: u64| word * WORD / config.bytes;
        let (mut last, mut all) = (at, 0.0);
        for of_slice in words.chunk_by(|&one, &other| slice(one) == slice(other)) {
            let (operations, cycles) = match doubles {
                Some(cycles) => (of_slice.len(), cycles),
                None => (of_slice.chunk_by(|&one, &other| sector(one) == sector(other)).count(), config.sector_cycles),
            };
            let place = (Place::Slice(slice(of_slice[0])), of_slice[0] * WORD);
            last = last.max(self.operate(cycles, place, operations as f64, at));
            all += operations as f64 * cycles;
        }
        match config.count {
            Some(n_slices) => last.max(self.slices.reserve(at, all * self.active_sms / n_slices)),
            None => last,
        }
    }

    /// Operates so many times on a place, at an address, the first time not before `at`; returns when the last one is done.
    fn operate(&mut self, cycles: f64, (place, address): (Place, u64), operations: f64, at: f64) -> f64 {
        let (footprint, n_sms, active_sms) = (self.footprint, self.n_sms, self.active_sms);
        let word = self.words.entry(place).or_insert_with(|| {
            let is_global = !matches!(place, Place::Shared(..));
            let share = footprint.filter(|_| is_global).and_then(|footprint| footprint.touching(address, n_sms));
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
        Atomics {
            config: AtomicConfig::default(),
            is_left_out: false,
            banks: BankRule::Cc20,
            n_sms: 8,
            active_sms,
            footprint,
            words: FxHashMap::default(),
            slices: Share::new(active_sms, 0.0),
            lanes: [Port::default(); 2],
            loops: FxHashMap::default(),
        }
    }

    #[test]
    fn operations_on_a_word_take_turns_and_others_do_not_wait() {
        let mut atomics = unit(8.0, None);
        assert_eq!(atomics.operate(2.0, (Place::Word(5), 4 * 5), 32.0, 100.0), 162.0);
        // One cycle before the word is free, and on time.
        assert_eq!(atomics.operate(2.0, (Place::Word(5), 4 * 5), 1.0, 163.0), 164.0);
        assert_eq!(atomics.operate(2.0, (Place::Word(5), 4 * 5), 1.0, 166.0), 166.0);
        assert_eq!(atomics.operate(2.0, (Place::Word(6), 4 * 6), 1.0, 100.0), 100.0);
    }
}
