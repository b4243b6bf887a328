//! Atomic operations on the same address, in the memory system put together.

use proptest::prelude::*;
use warplens_isa::StateSpace;
use warplens_sim::{
    AtomicConfig, DelayConfig, Effect, GlobalAtomics, Options, RoundConfig, SliceConfig, SmConfig, Surroundings,
    Without, simulate,
};
use warplens_stats::{Footprint, Lines, TraceRequest, Tracer};
use warplens_trace::{
    Access, AccessKind, ActiveMask, CtaId, MachineClass, MachineInst, Observer as _, WARP_SIZE, WarpIndex,
};

use crate::common::{Program, modern};

const CTAS: u32 = 4;
const WARPS: u32 = 8;
const THREADS: u64 = (CTAS * WARPS) as u64 * WARP_SIZE as u64;
/// Operations of a thread: enough that the first way to memory is not what counts.
const TIMES: u16 = 8;
const OPERATIONS: u64 = THREADS * TIMES as u64;

const ROUNDS: [RoundConfig; 2] =
    [RoundConfig { cycles: 50.0, lane_cycles: 0.25 }, RoundConfig { cycles: 80.0, lane_cycles: 0.5 }];

fn machine() -> SmConfig {
    with(2.0)
}

/// One whose L2 cache takes so many cycles for an operation on a word.
fn with(cycles: f64) -> SmConfig {
    let global = GlobalAtomics { cycles, float_cycles: 2.0 * cycles, latency: 215.0, ..GlobalAtomics::default() };
    of_config(AtomicConfig { global: Some(global), rounds: ROUNDS })
}

fn of_config(atomics: AtomicConfig) -> SmConfig {
    SmConfig { delays: DelayConfig { atomics }, ..modern() }
}

/// Each thread adds to one of so many words, several times.
fn adds(space: StateSpace, words: u64) -> Program {
    let mut program = Program::new();
    for slot in 0..TIMES {
        program.atomic(slot, space, move |warp, lane| 4 * ((u64::from(warp) * WARP_SIZE as u64 + lane) % words));
    }
    program
}

fn cycles(config: &SmConfig, space: StateSpace, words: u64, without: Without) -> u64 {
    simulate(config, &adds(space, words).job(CTAS, WARPS, 2), Options { without, ..Options::default() }).cycles
}

#[test]
fn few_words_are_slower_than_many() {
    for space in [StateSpace::Global, StateSpace::Shared] {
        let of = |words| cycles(&machine(), space, words, Without::NOTHING);
        let [one, eight, all] = [of(1), of(8), of(THREADS)];
        assert!(one > eight && eight > all, "{space}: {one}, {eight}, {all}");
    }
}

#[test]
fn a_word_takes_an_operation_every_few_cycles() {
    let latency = u64::from(modern().dram.latency);
    let one = cycles(&machine(), StateSpace::Global, 1, Without::NOTHING);
    assert!(one >= 2 * OPERATIONS && one < 2 * OPERATIONS + 2 * latency, "{one}");
    // Without the effect it is the caches' time.
    let without = Without::NOTHING.and(Effect::SameAddress);
    for space in [StateSpace::Global, StateSpace::Shared] {
        let of = |words| cycles(&machine(), space, words, without);
        assert!(of(1) <= of(THREADS), "{space}: {} {}", of(1), of(THREADS));
    }
}

/// The same, each of whose operations has such an amount and so many bytes.
fn cycles_of(config: &SmConfig, space: StateSpace, words: u64, (amount, bytes): (u32, u8)) -> u64 {
    let mut program = adds(space, words);
    program.amount(amount);
    program.element_bytes(bytes);
    simulate(config, &program.job(CTAS, WARPS, 2), Options::default()).cycles
}

#[test]
fn floating_point_numbers_take_longer_on_a_word_and_exchanges_do_not() {
    let of = |amount| cycles_of(&machine(), StateSpace::Global, 1, (amount, 4));
    let (floats, integers) = (of(MachineInst::FLOATING), of(1));
    assert!(floats >= 4 * OPERATIONS && integers < 3 * OPERATIONS, "{floats} {integers}");
}

#[test]
fn a_loop_in_shared_memory_takes_a_round_for_each_operation_on_a_word_of_its_cta() {
    let of = |words, bytes| cycles_of(&machine(), StateSpace::Shared, words, (MachineInst::LOOP, bytes));
    let in_place = cycles_of(&machine(), StateSpace::Shared, 1, (1, 4));
    // The CTAs come in two waves of two.
    let of_cta = OPERATIONS / u64::from(CTAS);
    let one = of(1, 4);
    assert!(one >= 2 * 50 * of_cta && one < 3 * 50 * of_cta, "{one}");
    assert!(of(1, 8) > one, "64 bits take longer");
    assert!(of(32, 4) * 8 < one && one > 8 * in_place, "{} {one} {in_place}", of(32, 4));
}

#[test]
fn rounds_of_a_loop_that_fail_take_the_lanes_of_the_operation() {
    let of = |lane_cycles, words| {
        let slow = RoundConfig { lane_cycles, ..ROUNDS[1] };
        let config = of_config(AtomicConfig { rounds: [ROUNDS[0], slow], ..machine().delays.atomics });
        cycles_of(&config, StateSpace::Shared, words, (MachineInst::LOOP, 8))
    };
    let warps = u64::from(CTAS * WARPS);
    // On words of their own each warp has one round for each of its operations, and the lanes serve them one after the other.
    let alone = 16 * warps * u64::from(TIMES);
    assert!((alone..2 * alone).contains(&of(16.0, THREADS)), "{} {alone}", of(16.0, THREADS));
    // All of a CTA on one word: the warp that comes last has a round for each success, the mean one for half of them.
    let least = alone * 32 * u64::from(WARPS) / 2;
    assert!((least..2 * least).contains(&of(16.0, 1)), "{} {least}", of(16.0, 1));
    assert!(of(0.5, 1) < of(16.0, 1));
}

#[test]
fn an_operation_that_counts_lanes_takes_those_on_one_word_together() {
    let of = |amount, words| cycles_of(&machine(), StateSpace::Shared, words, (amount, 4));
    let (counted, added) = (of(MachineInst::COUNTED, 1), of(1, 1));
    assert!(8 * counted < added, "{counted} {added}");
    // On a word of each bank there is nothing to take together.
    assert_eq!(of(MachineInst::COUNTED, 32), of(1, 32));
}

#[test]
fn doubles_wait_for_the_slices_of_the_cache() {
    let slices = |n| {
        let slices = SliceConfig { bytes: 256, sector_cycles: 1.0, double_cycles: Some(1.0), count: Some(n) };
        let global = GlobalAtomics { cycles: 1.0, float_cycles: 1.0, slices: Some(slices), latency: 215.0 };
        of_config(AtomicConfig { global: Some(global), rounds: [RoundConfig::default(); 2] })
    };
    let of = |n_slices, words| cycles_of(&slices(n_slices), StateSpace::Global, words, (MachineInst::FLOATING, 8));
    // All words lie in 256 bytes, and so in one slice.
    assert!(of(40.0, 32) >= OPERATIONS, "{}", of(40.0, 32));
    assert!(of(40.0, THREADS) < OPERATIONS / 2, "{}", of(40.0, THREADS));
    // One slice serves everything.
    assert!(of(1.0, THREADS) >= OPERATIONS, "{}", of(1.0, THREADS));
}

#[test]
fn a_slice_takes_a_sector_at_a_time() {
    let of = |words| {
        let slices = SliceConfig { bytes: 256, sector_cycles: 8.0, double_cycles: None, count: None };
        let global = GlobalAtomics { slices: Some(slices), latency: 215.0, ..GlobalAtomics::default() };
        let config = of_config(AtomicConfig { global: Some(global), rounds: ROUNDS });
        cycles_of(&config, StateSpace::Global, words, (1, 4))
    };
    let instructions = OPERATIONS / WARP_SIZE as u64;
    let latency = u64::from(modern().dram.latency);
    // Sectors of each instruction, and slices that they lie in.
    for (words, sectors, slices) in [(1, 1, 1), (8, 1, 1), (32, 4, 1), (256, 4, 4)] {
        let least = 8 * instructions * sectors / slices;
        assert!((least..least + 4 * latency).contains(&of(words)), "{words}: {} {least}", of(words));
    }
}

/// The footprint of CTAs that each touch 32 bytes at these addresses.
fn footprint(of_ctas: &[u64]) -> Footprint {
    let request = TraceRequest { window: u32::try_from(of_ctas.len()).expect("a few CTAs"), ..TraceRequest::default() };
    let mut tracer = Tracer::new([None].into(), 1, request);
    for (cta, &address) in (0..).zip(of_ctas) {
        let mut state = tracer.begin_cta(CtaId(cta));
        let (space, kind) = (StateSpace::Global, AccessKind::Atomic);
        let addresses = [address; WARP_SIZE];
        let mask = ActiveMask::FULL;
        let (addresses, unchanged) = ((&addresses).into(), ActiveMask::EMPTY);
        let access = Access { space, kind, element_bytes: 4, elements: 1, mask, addresses, unchanged };
        tracer.access(&mut state, WarpIndex(0), warplens_isa::Pc(0), &access);
        tracer.end_cta(state);
    }
    let lines: Vec<(CtaId, Lines)> = tracer.finish().lines;
    Footprint::new(lines)
}

#[test]
fn operations_of_other_sms_come_between_on_words_that_they_share() {
    let surroundings = Surroundings { active_sms: 10, ..Surroundings::ALONE };
    let of = |footprint: &Footprint| {
        let mut program = adds(StateSpace::Global, 1);
        let job = program.job(CTAS, WARPS, 2);
        simulate(&machine(), &warplens_sim::Job { surroundings, footprint: Some(footprint), ..job }, Options::default())
            .cycles
    };
    let alone = of(&footprint(&[0, 4096, 8192, 12288]));
    let shared = of(&footprint(&[0; 4]));
    let half = of(&footprint(&[0, 4096, 0, 4096]));
    assert!(shared >= 20 * OPERATIONS, "{shared}");
    assert!(half >= 10 * OPERATIONS && half < shared, "{half}");
    // A quarter of ten SMs.
    assert!(alone >= 5 * OPERATIONS && alone < half, "{alone}");
}

proptest! {
    /// Whoever does no atomic operation does not know the unit.
    #[test]
    fn kernels_without_atomics_keep_their_time(
        loads in proptest::collection::vec((0..4096_u64, 0..40_u64), 1..20), interval in 0.0..50.0_f64,
    ) {
        let of = |config: &SmConfig| {
            let mut program = Program::new();
            for (slot, &(base, stride)) in (0..).zip(&loads) {
                program.load_of_warp(slot, &[], &[1 + slot], move |warp, lane| {
                    4 * (base + stride * lane + 64 * u64::from(warp))
                });
                program.inst(MachineClass::Fp32, &[1 + slot], &[64]);
            }
            simulate(config, &program.job(2, 4, 2), Options::default())
        };
        prop_assert_eq!(of(&modern()), of(&with(interval)));
    }

    /// More operations on a word never end sooner, nor do slower ones.
    #[test]
    fn time_grows_with_the_operations_on_a_word(words in 1..64_u64, interval in 0.5..20.0_f64) {
        let of = |config: &SmConfig| cycles(config, StateSpace::Global, words, Without::NOTHING);
        let (slow, fast) = (of(&with(interval)), of(&with(interval / 2.0)));
        prop_assert!(slow >= fast);
        prop_assert!(slow as f64 >= (OPERATIONS / words) as f64 * interval - interval);
    }
}
