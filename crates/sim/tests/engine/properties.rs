//! What holds for every program and machine.

use crate::common::{gt200, modern};
use proptest::prelude::*;
use warplens_isa::StateSpace;
use warplens_sim::{Effect, Job, Options, Surroundings, UnitKind, Without, simulate};
use warplens_trace::{
    AccessKind, ActiveMask, Code, CtaId, CtaTrace, MachineClass, MachineInst, WARP_SIZE, WarpTrace, WarpTraceBuilder,
};

const CLASSES: [MachineClass; 13] = [
    MachineClass::Fp32,
    MachineClass::Int,
    MachineClass::Sfu,
    MachineClass::Load,
    MachineClass::Store,
    MachineClass::Atomic,
    MachineClass::Shuffle,
    MachineClass::Barrier,
    MachineClass::Branch,
    MachineClass::AsyncCopy,
    MachineClass::AsyncCommit,
    MachineClass::AsyncWait,
    MachineClass::Exit,
];

const SPACES: [StateSpace; 4] = [StateSpace::Global, StateSpace::Shared, StateSpace::Local, StateSpace::Const];

/// An instruction: class, registers, and what a memory instruction accesses.
type Drawn = (usize, u16, u16, usize, u64, i64);

fn code(drawn: &[Drawn], blocks: usize) -> Code {
    let mut code = Code::default();
    let mut slot = 0;
    let per_block = drawn.len().div_ceil(blocks).max(1);
    for (index, &(class, read, written, space, ..)) in drawn.iter().enumerate() {
        if index % per_block == 0 {
            slot = 0;
        }
        let class = CLASSES[class];
        let (reads, writes) = (code.operands_of(&[read, written]), code.operands_of(&[written]));
        let mut inst = MachineInst { reads, writes, ..MachineInst::new(class, 0) };
        if kind(class).is_some() {
            (inst.slot, inst.space) = (slot, SPACES[space]);
            slot += 1;
        }
        code.insts.push(inst);
    }
    let end = drawn.len();
    code.blocks = (0..end).step_by(per_block).map(|at| at as u32..(at + per_block).min(end) as u32).collect();
    code
}

fn kind(class: MachineClass) -> Option<AccessKind> {
    match class {
        MachineClass::Load | MachineClass::AsyncCopy => Some(AccessKind::Load),
        MachineClass::Store => Some(AccessKind::Store),
        MachineClass::Atomic => Some(AccessKind::Atomic),
        _ => None,
    }
}

/// A warp goes through the blocks by its own masks.
fn trace(code: &Code, drawn: &[Drawn], masks: &[u32], warp: u64) -> WarpTrace {
    let mut trace = WarpTraceBuilder::default();
    for (step, &mask) in masks.iter().enumerate() {
        let block = step % code.blocks.len();
        let mask = ActiveMask(mask.rotate_left(warp as u32) | 1);
        trace.step(block as u32, mask);
        for index in code.blocks[block].clone() {
            let inst = code.insts[index as usize];
            let (.., base, stride) = drawn[index as usize];
            let Some(kind) = kind(inst.class) else { continue };
            let base = 1 << 20 | (base + 512 * warp) << 2;
            let addresses: [u64; WARP_SIZE] =
                std::array::from_fn(|lane| base.wrapping_add_signed(4 * stride * lane as i64));
            trace.access(inst.slot, inst.space, kind, (4, 1), mask, &addresses);
        }
    }
    trace.finish()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn runs_end_are_the_same_again_and_account_for_every_cycle(
        drawn in prop::collection::vec((0..CLASSES.len(), 0..12_u16, 0..12_u16, 0..4_usize, 0..4096_u64, -9..9_i64), 1..40),
        masks in prop::collection::vec(any::<u32>(), 1..12),
        (blocks, n_ctas, n_warps, resident) in (1..4_usize, 1..6_u32, 1..9_u64, 1..4_u32),
        effects in 0..1024_usize,
        is_gt200 in any::<bool>(),
    ) {
        let config = if is_gt200 { gt200() } else { modern() };
        let code = code(&drawn, blocks);
        let ctas: Vec<CtaTrace> = (0..n_ctas)
            .map(|cta| {
                let number = |warp| u64::from(cta) * n_warps + warp;
                let warps = (0..n_warps).map(|warp| trace(&code, &drawn, &masks, number(warp))).collect();
                CtaTrace { id: CtaId(cta), warps }
            })
            .collect();
        let job = Job { code: &code, ctas: &ctas, resident, surroundings: Surroundings::ALONE, footprint: None };
        let chosen = Effect::ALL.iter().copied().filter(|&effect| effects >> effect as usize & 1 == 1);
        let without: Without = chosen.collect();
        let options = Options { without, ..Options::default() };
        let outcome = simulate(&config, &job, options);
        prop_assert_eq!(&outcome, &simulate(&config, &job, options));
        prop_assert_eq!(outcome.stalls().total(), outcome.resident_warp_cycles);
        prop_assert_eq!(outcome.executions.iter().sum::<u64>(), outcome.issued);
        prop_assert!(outcome.issued <= outcome.cycles * u64::from(config.schedulers * config.issue_width));
        if !without.contains(Effect::Divergence) {
            let of_block = |step: warplens_trace::Step| code.block(step.block).len() as u64;
            let steps = ctas.iter().flat_map(|cta| cta.warps.iter()).flat_map(WarpTrace::steps);
            prop_assert_eq!(outcome.issued, steps.map(of_block).sum::<u64>());
        }
        for cta in &outcome.ctas {
            prop_assert!(cta.start <= cta.end && cta.end <= outcome.cycles);
        }
        for unit in &outcome.units {
            // Stores of the last warps may still be on their way, in the memory unit for a while, in memory for long. Beside
            // accesses that take turns for their conflicts those without conflicts are served at once.
            let turns = if is_gt200 && unit.kind == UnitKind::SharedAndL1 { 2 } else { 1 };
            let end = ((outcome.cycles + 128) * turns) as f64 * f64::from(unit.count);
            prop_assert!(unit.kind == UnitKind::DramShare || unit.busy <= end, "{unit:?} {}", outcome.cycles);
        }
    }
}
