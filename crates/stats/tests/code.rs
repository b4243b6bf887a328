//! Counts that follow from blocks, guards and branches.

mod support;

use std::collections::BTreeMap;

use support::{Kernel, W0, guarded, in_cta, p, profile, r};
use warplens_ir::{Flow, FunctionKind, Guard, Inst};
use warplens_isa::{
    Accuracy, BlockId, Branch, CompareOp, Comparison, Family, InstKey, OpClass, Operation, Product, ScalarType,
    SlowOperation, Spelling, StateSpace,
};
use warplens_stats::{Counting, FinishOptions, InstructionCounts, OpcodeCount};
use warplens_trace::{ActiveMask, CtaId, Observer, WarpIndex};

const B0: BlockId = BlockId(0);
const B1: BlockId = BlockId(1);
const B2: BlockId = BlockId(2);

/// b0: ld.param, setp, @p0 bra b2. b1: sqrt, div.u32, mul.lo.u64, bar. b2: guarded add, exit.
fn branching() -> Kernel {
    let mut k = Kernel::new();
    let mut parameter = k.load(StateSpace::Param, r(0), r(1), 0);
    let memory = parameter.memory.one().expect("a load touches memory");
    parameter.memory = warplens_ir::MemoryReference { base: warplens_ir::Operand::Immediate(0), ..memory }.into();
    let setp =
        k.inst("setp.lt.u32", Operation::Setp(Comparison::new(CompareOp::Lt)), ScalarType::U32, &[p(0)], &[r(0)]);
    let branch = k.branch(Some(p(0)));
    k.block(vec![parameter, setp, branch], Flow::Branch { taken: B2, next: Some(B1) });
    let sqrt = k.inst("sqrt.rn.f32", Operation::Sqrt(Accuracy::default()), ScalarType::F32, &[r(2)], &[r(2)]);
    let divide = k.inst("div.u32", Operation::Div(Accuracy::default()), ScalarType::U32, &[r(3)], &[r(3)]);
    let multiply = k.inst("mul.lo.u64", Operation::Mul(Product::default()), ScalarType::U64, &[r(4)], &[r(4)]);
    let bar = k.barrier();
    k.block(vec![sqrt, divide, multiply, bar], Flow::Fallthrough(B2));
    let add = k.add(r(5), &[r(5)]);
    let exit = k.exit();
    k.block(vec![guarded(add, Some(p(1))), exit], Flow::Exit { next: None });
    k
}

#[test]
fn instructions_lanes_and_guards() {
    let k = branching();
    let mut recorder = k.recorder(1, 64);
    let pcs: Vec<_> = k.module.pcs.ids().collect();
    let (branch, add) = (pcs[2], pcs[7]);
    in_cta(&mut recorder, 0, |recorder, cta| {
        // Warp 0: 12 lanes branch, 20 go on; they meet again in b2, where the guard is true in 5 lanes.
        recorder.block(cta, W0, B0, ActiveMask::FULL);
        recorder.predicated(cta, W0, branch, ActiveMask::FULL, ActiveMask::first(12));
        recorder.block(cta, W0, B1, ActiveMask(!0 << 12));
        recorder.block(cta, W0, B2, ActiveMask::FULL);
        recorder.predicated(cta, W0, add, ActiveMask::FULL, ActiveMask::first(5));
        // Warp 1: all lanes branch; the guard of the addition is false everywhere.
        let w1 = WarpIndex(1);
        recorder.block(cta, w1, B0, ActiveMask::FULL);
        recorder.predicated(cta, w1, branch, ActiveMask::FULL, ActiveMask::FULL);
        recorder.block(cta, w1, B2, ActiveMask::FULL);
        recorder.predicated(cta, w1, add, ActiveMask::FULL, ActiveMask::EMPTY);
    });
    let listing: Vec<(u32, u64, u64)> =
        recorder.listing(Counting::Ptx).iter().map(|line| (line.ptx_line, line.executed, line.threads)).collect();
    // The branch takes 12 + 32 of 64 lanes; the addition 5 + 0.
    let expected = [
        (10, 2, 64),
        (11, 2, 64),
        (12, 2, 44),
        (13, 1, 20),
        (14, 1, 20),
        (15, 1, 20),
        (16, 1, 20),
        (17, 2, 5),
        (18, 2, 64),
    ];
    assert_eq!(listing, expected);
    assert_eq!(recorder.listing(Counting::Machine).len(), 8);
    let profile = profile(&recorder);
    assert_eq!(profile.kernel, "k");
    assert_eq!(profile.warps, 2);
    // b0 twice 3, b1 once 4, b2 twice 2.
    assert_eq!(profile.instructions.total, 14);
    let classes = [
        (OpClass::Virtual, 2),
        (OpClass::Int, 2),
        (OpClass::Control, 4),
        (OpClass::Sfu, 1),
        (OpClass::IntMul, 2),
        (OpClass::Barrier, 1),
        (OpClass::Fp32, 2),
    ];
    assert_eq!(profile.instructions.by_class, BTreeMap::from(classes));
    assert_eq!(profile.instructions.of_key(&InstKey::new(Family::Setp, ScalarType::U32)), 2);
    assert_eq!(profile.instructions.of_key(&InstKey::new(Family::Sqrt, ScalarType::F32)), 1);
    assert_eq!(profile.instructions.by_opcode.iter().map(|counted| counted.count).sum::<u64>(), 14);
    assert_eq!(profile.thread_instructions, 10 * 32 + 4 * 20);
    // Off: 20 lanes of the first branch; 27 and 32 of the additions.
    assert_eq!(profile.thread_instructions_pred_on, 400 - 20 - 27 - 32);
    assert_eq!((profile.branches, profile.divergent_branches, profile.barriers), (2, 1, 1));
    let high = [("div.u32", 1), ("mul.u64", 1), ("sqrt.f32", 1)];
    let high = high.map(|(name, n)| (SlowOperation::from_name(name).unwrap(), n));
    assert_eq!(profile.high_latency, BTreeMap::from(high));
    assert!((profile.mean_active_lanes() - 400.0 / 14.0).abs() < 1e-12);
    assert!((profile.instructions.virtual_share() - 2.0 / 14.0).abs() < 1e-12);
    assert!(!profile.order_dependent);
    assert_eq!(profile.independent_loads, None);
}

#[test]
fn machine_counting_leaves_virtual_instructions_out() {
    let k = branching();
    let mut recorder = k.recorder(1, 32);
    in_cta(&mut recorder, 0, |recorder, cta| {
        recorder.block(cta, W0, B0, ActiveMask::first(8));
        recorder.block(cta, W0, B2, ActiveMask::first(8));
    });
    let machine = recorder.finish(FinishOptions { counting: Counting::Machine, global_bytes: None });
    assert_eq!(machine.instructions.total, 4);
    assert_eq!(machine.instructions.of_class(OpClass::Virtual), 0);
    assert_eq!(machine.instructions.of_key(&InstKey::new(Family::Ld, ScalarType::F32)), 0);
    assert_eq!((machine.thread_instructions, machine.thread_instructions_pred_on), (32, 32));
    let ptx = profile(&recorder);
    assert_eq!((ptx.instructions.total, ptx.thread_instructions), (5, 40));
}

#[test]
fn an_instruction_of_several_operations_counts_once() {
    let mut k = Kernel::new();
    let first = k.add(r(1), &[r(0)]);
    // The same pc three times: twice here and once in the next block. Two of the operations are guarded.
    let guard = Some(Guard { predicate: p(0), negated: true });
    let second = Inst { guard, ..first.clone() };
    let third = Inst { guard, ..first.clone() };
    let exit = k.exit();
    k.block(vec![first.clone(), second], Flow::Fallthrough(B1));
    k.block(vec![third, exit], Flow::Exit { next: None });
    let mut recorder = k.recorder(1, 32);
    in_cta(&mut recorder, 0, |recorder, cta| {
        recorder.block(cta, W0, B0, ActiveMask::FULL);
        recorder.predicated(cta, W0, first.pc, ActiveMask::FULL, ActiveMask::first(30));
        recorder.block(cta, W0, B1, ActiveMask::FULL);
        recorder.predicated(cta, W0, first.pc, ActiveMask::FULL, ActiveMask::first(30));
    });
    let profile = profile(&recorder);
    assert_eq!(profile.instructions.total, 2);
    assert_eq!(profile.thread_instructions, 64);
    assert_eq!(profile.thread_instructions_pred_on, 62);
}

#[test]
fn lines_of_branches_and_barriers() {
    let k = branching();
    let mut recorder = k.recorder(1, 32);
    let branch = k.module.pcs.ids().nth(2).expect("the branch");
    in_cta(&mut recorder, 0, |recorder, cta| {
        for on in [0, 7, 32] {
            recorder.block(cta, W0, B0, ActiveMask::FULL);
            recorder.predicated(cta, W0, branch, ActiveMask::FULL, ActiveMask::first(on));
        }
        recorder.block(cta, W0, B1, ActiveMask::first(16));
    });
    let lines = profile(&recorder).lines;
    let texts: Vec<_> = lines.iter().map(|line| (line.opcode.to_string(), line.ptx_line)).collect();
    assert_eq!(texts, [("bra".to_owned(), 12), ("bar.sync".to_owned(), 16)]);
    assert_eq!((lines[0].executed, lines[0].threads, lines[0].divergent), (3, 96, 1));
    assert_eq!(lines[0].source, Some(("k.cu".to_owned(), 102)));
    assert_eq!((lines[1].executed, lines[1].threads, lines[1].divergent), (1, 16, 0));
    assert_eq!(lines[1].space, None);
}

#[test]
fn indexed_branches_diverge_with_several_targets() {
    let mut k = Kernel::new();
    let brx = k.inst("brx.idx", Operation::BrxIdx(Branch::default()), ScalarType::U32, &[], &[r(0)]);
    let pc = brx.pc;
    k.block(vec![brx], Flow::Indexed { targets: vec![B1, B1], next: None });
    let exit = k.exit();
    k.block(vec![exit], Flow::Exit { next: None });
    let mut recorder = k.recorder(1, 32);
    in_cta(&mut recorder, 0, |recorder, cta| {
        for n_targets in [1, 2, 5] {
            recorder.block(cta, W0, B0, ActiveMask::FULL);
            recorder.branch_indexed(cta, W0, pc, n_targets);
        }
        recorder.order_dependent(cta, pc);
    });
    let profile = profile(&recorder);
    assert_eq!((profile.branches, profile.divergent_branches), (3, 2));
    assert!(profile.order_dependent);
}

/// Functions that the kernel cannot reach are no part of it; those it calls are, wherever they stand.
#[test]
fn called_functions_count() {
    let mut k = Kernel::new();
    let call = k.inst("call.uni", Operation::Call(Branch::default()), ScalarType::Pred, &[], &[]);
    let exit = k.exit();
    k.block(vec![call], Flow::Call { target: warplens_ir::CallTarget::Direct(warplens_ir::FunctionId(2)), next: B1 });
    k.block(vec![exit], Flow::Exit { next: None });
    k.function("unused", FunctionKind::Device);
    let bar = k.barrier();
    let unused_return = k.inst("ret", Operation::Ret, ScalarType::Pred, &[], &[]);
    k.block(vec![bar, unused_return], Flow::Return { next: None });
    k.function("used", FunctionKind::Device);
    let bar = k.barrier();
    let used_return = k.inst("ret", Operation::Ret, ScalarType::Pred, &[], &[]);
    k.block(vec![bar, used_return], Flow::Return { next: None });
    let mut recorder = k.recorder(1, 32);
    in_cta(&mut recorder, 0, |recorder, cta| {
        for block in [0, 3, 1] {
            recorder.block(cta, W0, BlockId(block), ActiveMask::FULL);
        }
    });
    let profile = profile(&recorder);
    assert_eq!((profile.instructions.total, profile.barriers), (4, 1));
    assert_eq!(profile.lines.len(), 1);
}

#[test]
fn a_part_of_the_grid_is_scaled() {
    let k = branching();
    // 3 of 10 CTAs: 5, 5 and 9 instructions.
    let executed = [CtaId(0), CtaId(4), CtaId(9)];
    let mut recorder = warplens_stats::Recorder::new(k.program(10, 32), executed.into_iter());
    for (cta, through_b1) in executed.into_iter().zip([false, true, false]) {
        in_cta(&mut recorder, cta.0, |recorder, record| {
            recorder.block(record, W0, B0, ActiveMask::FULL);
            if through_b1 {
                recorder.block(record, W0, B1, ActiveMask::FULL);
            }
            recorder.block(record, W0, B2, ActiveMask::FULL);
        });
    }
    let profile = profile(&recorder);
    assert_eq!((profile.coverage.ctas_executed, profile.coverage.ctas_total), (3, 10));
    // (9 - 5) / (19 / 3)
    assert!((profile.coverage.spread - 12.0 / 19.0).abs() < 1e-12);
    // b0 and b2: 3 x 10/3; b1: 1 x 10/3, rounded.
    assert_eq!(profile.instructions.total, 10 * 5 + 3 * 4);
    assert_eq!(profile.thread_instructions, 10 * 32 * 5 + 107 * 4);
    assert_eq!((profile.warps, profile.barriers, profile.branches), (10, 3, 10));
    assert_eq!(profile.duplicate_share, 0.3);
}

/// All CTAs of a grid, which says how many of them were taken one by one.
struct Grid<'c> {
    ctas: std::ops::Range<u32>,
    taken: &'c std::cell::Cell<u32>,
}

impl Iterator for Grid<'_> {
    type Item = CtaId;

    fn next(&mut self) -> Option<CtaId> {
        self.nth(0)
    }

    fn nth(&mut self, n: usize) -> Option<CtaId> {
        self.taken.set(self.taken.get() + 1);
        self.ctas.nth(n).map(CtaId)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.ctas.size_hint()
    }
}

impl ExactSizeIterator for Grid<'_> {}

#[test]
fn a_recorder_of_a_huge_grid_is_made_at_once() {
    let k = branching();
    let taken = std::cell::Cell::new(0);
    let ctas = Grid { ctas: 0..u32::MAX, taken: &taken };
    let _recorder = warplens_stats::Recorder::new(k.program(u32::MAX, 32), ctas);
    assert!((64..=128).contains(&taken.get()), "{} CTAs were looked at", taken.get());
}

#[test]
fn replaced_instructions_join_those_that_they_become() {
    let product = InstKey::new(Family::Mul, ScalarType::F64);
    let single = InstKey::new(Family::Mul, ScalarType::F32);
    let other = InstKey::new(Family::Add, ScalarType::F64);
    let counted = |key: InstKey, text: &str, count| OpcodeCount { opcode: Spelling::new(key, text), count };
    let mut counts = InstructionCounts {
        by_opcode: vec![
            counted(other, "add.f64", 3),
            counted(product, "mul.f64", 5),
            // Written in two ways, both of which are what the product becomes.
            counted(single, "mul.f32", 7),
            counted(single, "mul.same.f32", 2),
        ],
        ..InstructionCounts::default()
    };
    counts.replace(|key| (*key == product).then_some(single));
    assert_eq!(
        format!("{:?}", counts.by_opcode.iter().map(|it| (&it.opcode, it.count)).collect::<Vec<_>>()),
        r#"[("add.f64", 3), ("mul.f32", 14)]"#
    );
    assert_eq!((counts.of_key(&single), counts.of_key(&product)), (14, 0));
}
