//! Asynchronous copies of warps: what they write to shared memory takes its banks.

use warplens_isa::StateSpace;
use warplens_sim::{Job, Options, SharedConfig, SmConfig, Surroundings, UnitKind, simulate};
use warplens_trace::{
    AccessKind, ActiveMask, Code, CtaId, CtaTrace, MachineClass, MachineInst, WARP_SIZE, WarpTraceBuilder,
};

use crate::common::modern;

const COPIES: u64 = 10;

/// Cycles for which the banks are busy per copy of 16 bytes by each lane: so many bytes of a row side by side, and rows of
/// shared memory so many bytes apart, which may be written by sectors. An SM without an L1 cache has no tags that take the
/// banks.
fn busy(together: u64, row_bytes: u64, splits_copies: bool) -> f64 {
    let mut code = Code::default();
    let (reads, writes) = (code.operands_of(&[]), code.operands_of(&[]));
    let copy = MachineInst::new(MachineClass::AsyncCopy, 0);
    code.insts.push(MachineInst { reads, writes, slot: 0, space: StateSpace::Global, ..copy });
    code.blocks.push(0..1);
    let mut trace = WarpTraceBuilder::default();
    for at in 0..COPIES {
        trace.step(0, ActiveMask::FULL);
        let rows = |first: u64, row: u64| -> [u64; WARP_SIZE] {
            let of_row = together / 16;
            std::array::from_fn(|lane| first + lane as u64 / of_row * row + lane as u64 % of_row * 16)
        };
        let from = rows((1 << 20) + (at << 16), 4096);
        trace.access(0, StateSpace::Global, AccessKind::Load, (4, 4), ActiveMask::FULL, &from);
        let to = rows(at * 1280, row_bytes);
        trace.access(0, StateSpace::Shared, AccessKind::Store, (4, 4), ActiveMask::FULL, &to);
    }
    let ctas = [CtaTrace { id: CtaId(0), warps: [trace.finish()].into() }];
    let shared = SharedConfig { splits_copies, ..modern().shared };
    let config = SmConfig { shared, l1: None, ..modern() };
    let job = Job { code: &code, ctas: &ctas, resident: 1, surroundings: Surroundings::ALONE, footprint: None };
    let outcome = simulate(&config, &job, Options::default());
    let banks = outcome.units.iter().find(|unit| unit.kind == UnitKind::SharedAndL1).expect("there are banks");
    banks.busy / COPIES as f64
}

#[test]
fn a_copy_takes_the_banks_for_each_line_that_it_brings() {
    assert_eq!(busy(128, 128, true), 4.0);
    assert_eq!(busy(64, 64, true), 8.0, "halves of lines come one after the other");
    assert_eq!(busy(128, 160, true), 7.0, "three of four rows lie in two lines of shared memory");
}

#[test]
fn sectors_that_come_to_lie_across_two_are_written_one_by_one() {
    // Of each two rows one starts in the middle of a sector and lies in three of them; one row of the others is in two lines.
    assert_eq!(busy(64, 80, true), 4.0 * 3.0 + 5.0);
    assert_eq!(busy(64, 80, false), 8.0 + 3.0, "by lines, three of the rows lie in two");
}
