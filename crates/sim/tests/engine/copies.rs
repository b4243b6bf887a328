//! Asynchronous copies of warps: what they write to shared memory takes its banks.

use warplens_isa::StateSpace;
use warplens_sim::{Job, Options, SharedConfig, SmConfig, Surroundings, UnitKind, simulate};
use warplens_trace::{
    AccessKind, ActiveMask, Code, CtaId, CtaTrace, MachineClass, MachineInst, WARP_SIZE, WarpTraceBuilder,
};

use crate::common::modern;

const COPIES: u64 = 10;

/// Cycles for which the banks are busy per copy of 16 bytes by each lane: 64 bytes of a row by four lanes, and rows of shared
/// memory so many bytes apart. SMs without an L1 cache have no tags that take the banks.
fn busy(row_bytes: u64, copy_bytes_per_clk: f64) -> f64 {
    let mut code = Code::default();
    let (reads, writes) = (code.operands_of(&[]), code.operands_of(&[]));
    let copy = MachineInst::new(MachineClass::AsyncCopy, 0);
    code.insts.push(MachineInst { reads, writes, slot: 0, space: StateSpace::Global, ..copy });
    code.blocks = vec![0..1];
    let mut trace = WarpTraceBuilder::default();
    for at in 0..COPIES {
        trace.step(0, ActiveMask::FULL);
        let rows = |first: u64, row: u64| -> [u64; WARP_SIZE] {
            std::array::from_fn(|lane| first + lane as u64 / 4 * row + lane as u64 % 4 * 16)
        };
        let from = rows((1 << 20) + (at << 16), 4096);
        trace.access(0, StateSpace::Global, AccessKind::Load, (4, 4), ActiveMask::FULL, &from);
        let to = rows(at * 1024, row_bytes);
        trace.access(0, StateSpace::Shared, AccessKind::Store, (4, 4), ActiveMask::FULL, &to);
    }
    let ctas = [CtaTrace { id: CtaId(0), warps: [trace.finish()].into() }];
    let shared = SharedConfig { copy_bytes_per_clk, ..modern().shared };
    let config = SmConfig { shared, l1: None, ..modern() };
    let job = Job { code: &code, ctas: &ctas, resident: 1, surroundings: Surroundings::ALONE, footprint: None };
    let outcome = simulate(&config, &job, Options::default());
    let banks = outcome.units.iter().find(|unit| unit.kind == UnitKind::SharedAndL1).expect("there are banks");
    banks.busy / COPIES as f64
}

#[test]
fn a_copy_takes_the_banks_for_each_sector_that_it_writes() {
    assert_eq!(busy(64, f64::INFINITY), 4.0, "four passes of 128 bytes");
    assert_eq!(busy(64, 64.0), 8.0, "16 sectors");
    assert_eq!(busy(96, 64.0), 8.0, "padded by a sector");
}

#[test]
fn what_lies_across_sectors_of_shared_memory_is_written_twice() {
    // Of each two rows one starts in the middle of a sector.
    assert_eq!(busy(80, 64.0), 12.0, "8 sectors once and 8 twice");
}
