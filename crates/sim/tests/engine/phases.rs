//! Barriers in memory: a producer that copies, and consumers that wait for the phase.

use warplens_isa::{MbarrierOp, StateSpace};
use warplens_sim::{
    ClusterConfig, Effect, Job, Options, Outcome, SharedConfig, SmConfig, Surroundings, UnitKind, Without, simulate,
};
use warplens_trace::{
    AccessKind, ActiveMask, Code, CtaId, CtaTrace, MachineClass, MachineInst, Told, WARP_SIZE, WarpTraceBuilder,
};

use crate::common::modern;

const BARRIER: u64 = 64;
/// Blocks of the code.
const PRODUCER: u32 = 0;
const CONSUMER: u32 = 1;

/// An instruction with the slot of its accesses.
fn inst(code: &mut Code, class: MachineClass, slot: u16, registers: [&[u16]; 2]) {
    let (reads, writes) = (code.operands_of(registers[0]), code.operands_of(registers[1]));
    let space = if class == MachineClass::AsyncCopy { StateSpace::Global } else { StateSpace::Shared };
    code.insts.push(MachineInst { reads, writes, slot, space, ..MachineInst::new(class, 0) });
}

/// The producer makes the barrier of so many arrivals, expects 512 bytes and copies them; a consumer waits, then computes.
fn code() -> Code {
    let mut code = Code::default();
    inst(&mut code, MachineClass::Reduction, 0, [&[], &[]]);
    inst(&mut code, MachineClass::Reduction, 1, [&[], &[]]);
    inst(&mut code, MachineClass::AsyncCopy, 2, [&[], &[]]);
    inst(&mut code, MachineClass::Load, 0, [&[], &[1]]);
    inst(&mut code, MachineClass::Fp32, warplens_trace::NO_SLOT, [&[1], &[2]]);
    code.blocks = vec![0..3, 3..5];
    code
}

fn told(op: MbarrierOp, number: u32) -> [u64; WARP_SIZE] {
    [BARRIER | Told::Op(op, number).mark(); WARP_SIZE]
}

/// One CTA of a producer and some consumers. The copy brings its bytes, or does not.
fn cta(consumers: u32, brings: bool) -> Vec<CtaTrace> {
    cta_for(consumers, if brings { &[0] } else { &[] })
}

/// The same where the copy brings its bytes to these windows of shared memory, of which one tells the barrier as the other.
fn cta_for(consumers: u32, windows: &[u64]) -> Vec<CtaTrace> {
    let one = ActiveMask(1);
    let mut producer = WarpTraceBuilder::default();
    producer.step(PRODUCER, ActiveMask::FULL);
    let shared = StateSpace::Shared;
    producer.access(0, shared, AccessKind::Atomic, (8, 1), one, &told(MbarrierOp::Init, 1));
    let expected = 512 * windows.len().max(1) as u32;
    producer.access(1, shared, AccessKind::Atomic, (8, 1), one, &told(MbarrierOp::ArriveExpectTx, expected));
    let lanes = |first: u64| std::array::from_fn(|lane| first + 16 * lane as u64);
    producer.access(2, StateSpace::Global, AccessKind::Load, (4, 4), ActiveMask::FULL, &lanes(1 << 20));
    for window in windows {
        producer.access(2, shared, AccessKind::Store, (4, 4), ActiveMask::FULL, &lanes(window + 1024));
    }
    for _ in windows {
        producer.access(2, shared, AccessKind::Atomic, (8, 1), one, &told(MbarrierOp::CompleteTx, 512));
    }
    let asks = [BARRIER | Told::Asked { parity: false }.mark(); WARP_SIZE];
    let consumer = || {
        let mut trace = WarpTraceBuilder::default();
        trace.step(CONSUMER, ActiveMask::FULL);
        trace.access(0, shared, AccessKind::Load, (8, 1), ActiveMask::FULL, &asks);
        trace.finish()
    };
    let warps = std::iter::once(producer.finish()).chain((0..consumers).map(|_| consumer())).collect();
    vec![CtaTrace { id: CtaId(0), warps }]
}

fn run(config: &SmConfig, ctas: &[CtaTrace], without: Without) -> Outcome {
    let code = code();
    let job = Job { code: &code, ctas, resident: 1, surroundings: Surroundings::ALONE, footprint: None };
    simulate(config, &job, Options { without, ..Options::default() })
}

#[test]
fn a_wait_ends_when_the_bytes_have_come() {
    let ctas = cta(3, true);
    let outcome = run(&modern(), &ctas, Without::NOTHING);
    assert_eq!((outcome.questions, outcome.told, outcome.forced_phases), (3, 1, 0));
    // The copy waits for device memory, and the answer comes like one from shared memory.
    let least = 437 + 23;
    assert!((least..least + 100).contains(&outcome.cycles), "{}", outcome.cycles);
    let slower = SmConfig { bulk_latency: 105, ..modern() };
    assert_eq!(run(&slower, &ctas, Without::NOTHING).cycles, outcome.cycles + 105);
    assert_eq!(run(&modern(), &cta(0, true), Without::NOTHING).questions, 0);
}

#[test]
fn what_is_copied_to_several_blocks_leaves_the_cache_once() {
    // The way from SM to SM is so slow that whoever takes it is late.
    let cluster = ClusterConfig { latency: 10_000, bytes_per_clk: 0.01, barrier_latency: 181 };
    let config = SmConfig { cluster: Some(cluster), ..modern() };
    let of = |windows: &[u64]| {
        let outcome = run(&config, &cta_for(1, windows), Without::NOTHING);
        let link = outcome.units.iter().find(|unit| unit.kind == UnitKind::L2Link).expect("there is an L2 cache");
        (outcome.cycles, outcome.traffic.l2_sectors, link.busy, outcome.forced_phases)
    };
    let (cycles, sectors, busy, forced) = of(&[0]);
    assert_eq!((sectors, busy, forced), (16, 8.0, 0));
    assert_eq!(of(&[1 << 24, 2 << 24]), (cycles, sectors, 2.0 * busy, 0), "the other block sends as much");
}

#[test]
fn what_a_copy_brings_does_not_keep_others_from_the_banks() {
    // The consumer's question would wait for the passes of the copy, whose bytes are far away still.
    let slow = |pass_cycles: f64| {
        let shared = SharedConfig { pass_cycles, ..modern().shared };
        run(&SmConfig { shared, ..modern() }, &cta(1, true), Without::NOTHING).cycles
    };
    assert!(slow(100.0) < slow(1.0) + 250, "{} {}", slow(100.0), slow(1.0));
}

#[test]
fn without_synchronisation_nobody_waits_for_a_phase() {
    let ctas = cta(1, true);
    let code = code();
    let waits = |without| {
        let outcome = run(&modern(), &ctas, without);
        outcome.stalls.iter().map(|stalls| stalls.of(warplens_sim::Stall::Barrier)).sum::<u64>()
    };
    assert_eq!(code.insts.len(), 5);
    assert!(waits(Without::NOTHING) > 400);
    assert_eq!(waits(Without::NOTHING.and(Effect::Synchronisation)), 0);
}

#[test]
fn a_phase_that_lacks_something_for_ever_is_ended_and_counted() {
    let outcome = run(&modern(), &cta(2, false), Without::NOTHING);
    assert_eq!((outcome.questions, outcome.forced_phases, outcome.forced_barriers), (2, 1, 0));
}

/// A warp that loads from the window of another block.
fn remote(window: u64) -> Vec<CtaTrace> {
    let mut trace = WarpTraceBuilder::default();
    trace.step(CONSUMER, ActiveMask::FULL);
    let addresses = std::array::from_fn(|lane| window + 4 * lane as u64);
    trace.access(0, StateSpace::Shared, AccessKind::Load, (4, 1), ActiveMask::FULL, &addresses);
    vec![CtaTrace { id: CtaId(0), warps: [trace.finish()].into() }]
}

#[test]
fn shared_memory_of_another_block_is_farther_away() {
    let cluster = ClusterConfig { latency: 181, bytes_per_clk: 16.0, barrier_latency: 181 };
    let config = SmConfig { cluster: Some(cluster), ..modern() };
    let cycles = |window| run(&config, &remote(window), Without::NOTHING).cycles;
    let own = cycles(0);
    assert_eq!(cycles(1 << 24), own + 181 - 23);
    assert_eq!(cycles(2 << 24), own + 181 - 23);
    assert_eq!(run(&modern(), &remote(1 << 24), Without::NOTHING).cycles, own);
}
