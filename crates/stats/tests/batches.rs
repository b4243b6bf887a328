//! Load batches: `independent_loads`, with reordering inside blocks and in program order.

mod support;

use StateSpace::{Generic, Global, Local, Shared};
use support::{Kernel, W0, access, guarded, in_cta, p, profile, r};
use warplens_ir::{CallTarget, Flow, FunctionId, FunctionKind, Inst};
use warplens_isa::{
    AccessOrder, Atomic, AtomicOp, BlockId, Branch, CompareOp, Comparison, Op, Operation, ScalarType, StateSpace,
};
use warplens_stats::Profile;
use warplens_trace::{AccessKind, ActiveMask, Observer, WarpIndex};

/// Addresses live in r0..r9, values in r10 and up.
const A: u32 = 0;
const B: u32 = 1;

/// (reordered, in program order) of one execution of a block.
fn of_block(make: impl FnOnce(&mut Kernel) -> Vec<Inst>) -> (f64, f64) {
    of_path(1, &[0], |k| vec![make(k)])
}

/// Blocks fall through to the next; the warps of a CTA execute those of `path`.
fn of_path(n_warps: u32, path: &[u32], make: impl FnOnce(&mut Kernel) -> Vec<Vec<Inst>>) -> (f64, f64) {
    let profile = profile_of_path(n_warps, path, make);
    let known = |value: Option<f64>| value.expect("there are loads");
    (known(profile.independent_loads), known(profile.independent_loads_program_order))
}

/// Overlapping instructions of one warp that executes the blocks of `path`.
fn overlap(path: &[u32], make: impl FnOnce(&mut Kernel) -> Vec<Vec<Inst>>) -> u64 {
    profile_of_path(1, path, make).overlap_instructions
}

fn profile_of_path(n_warps: u32, path: &[u32], make: impl FnOnce(&mut Kernel) -> Vec<Vec<Inst>>) -> Profile {
    let mut k = Kernel::new();
    let blocks = make(&mut k);
    let n = blocks.len() as u32;
    for (index, insts) in blocks.into_iter().enumerate() {
        k.block(insts, Flow::Fallthrough(BlockId(index as u32 + 1)));
    }
    let exit = k.exit();
    k.block(vec![exit], Flow::Exit { next: None });
    let mut recorder = k.recorder(1, n_warps * 32);
    in_cta(&mut recorder, 0, |recorder, cta| {
        for &block in path.iter().chain([&n]) {
            for warp in 0..n_warps {
                recorder.block(cta, WarpIndex(warp), BlockId(block), ActiveMask::FULL);
            }
        }
    });
    profile(&recorder)
}

#[test]
fn loads_before_the_first_use_form_a_batch() {
    let both = of_block(|k| {
        vec![k.load(Global, r(10), r(A), 0), k.load(Global, r(11), r(B), 0), k.add(r(12), &[r(10), r(11)])]
    });
    assert_eq!(both, (2.0, 2.0));
    let unused = of_block(|k| vec![k.load(Global, r(10), r(A), 0), k.load(Global, r(11), r(B), 0)]);
    assert_eq!(unused, (2.0, 2.0));
}

#[test]
fn a_use_between_loads_is_moved_behind_them() {
    let use_between = of_block(|k| {
        vec![
            k.load(Global, r(10), r(A), 0),
            k.add(r(12), &[r(10)]),
            k.load(Global, r(11), r(B), 0),
            k.add(r(13), &[r(11)]),
        ]
    });
    assert_eq!(use_between, (2.0, 1.0));
}

#[test]
fn a_load_whose_address_was_loaded_starts_a_batch() {
    let direct = of_block(|k| vec![k.load(Global, r(10), r(A), 0), k.load(Global, r(11), r(10), 0)]);
    assert_eq!(direct, (1.0, 1.0));
    let through_sum = of_block(|k| {
        vec![
            k.load(Global, r(10), r(A), 0),
            k.add(r(12), &[r(10)]),
            k.load(Global, r(13), r(12), 0),
            // Needs neither: goes with the first.
            k.load(Global, r(14), r(B), 0),
        ]
    });
    assert_eq!(through_sum, (1.5, 1.5));
    // Through shared memory: the store waits for the value, the load for the store.
    let through_shared = of_block(|k| {
        vec![
            k.load(Global, r(10), r(A), 0),
            k.store(Shared, r(2), 0, r(10)),
            k.load(Shared, r(11), r(3), 0),
            k.load(Global, r(12), r(11), 0),
        ]
    });
    assert_eq!(through_shared, (1.0, 1.0));
}

/// What nvcc emits for a tiled matrix product: ptxas moves both loads to the front.
#[test]
fn the_tiled_product_loads_two_values_at_once() {
    let tile = |k: &mut Kernel| {
        vec![
            k.load(Global, r(10), r(A), 0),
            k.store(Shared, r(2), 0, r(10)),
            k.load(Global, r(11), r(B), 0),
            k.store(Shared, r(3), 0, r(11)),
            k.barrier(),
        ]
    };
    assert_eq!(of_block(tile), (2.0, 1.0));
    let compute = |k: &mut Kernel| {
        vec![k.load(Shared, r(12), r(2), 0), k.load(Shared, r(13), r(3), 0), k.add(r(14), &[r(12), r(13)]), k.barrier()]
    };
    assert_eq!(of_path(8, &[0, 1, 0, 1, 0, 1], |k| vec![tile(k), compute(k)]), (2.0, 1.0));
}

#[test]
fn nothing_moves_across_barriers_fences_atomics_and_ordered_accesses() {
    let around = |middle: fn(&mut Kernel) -> Inst| {
        of_block(|k| {
            vec![
                k.load(Global, r(10), r(A), 0),
                k.add(r(12), &[r(10)]),
                middle(k),
                k.load(Global, r(11), r(B), 0),
                k.add(r(13), &[r(11)]),
            ]
        })
    };
    assert_eq!(around(|k| k.add(r(20), &[r(21)])), (2.0, 1.0), "an addition");
    assert_eq!(around(Kernel::barrier), (1.0, 1.0), "a CTA barrier");
    assert_eq!(around(|k| k.inst("bar.warp.sync", Operation::BarWarp, ScalarType::B32, &[], &[])), (1.0, 1.0));
    assert_eq!(around(|k| k.inst("membar.gl", Operation::Fence, ScalarType::B32, &[], &[])), (1.0, 1.0), "a fence");
    assert_eq!(around(|k| atomic(k, Shared)), (1.0, 1.0), "an atomic");
    assert_eq!(around(|k| ordered(k.load(Shared, r(20), r(2), 0))), (1.0, 1.0), "a volatile load");
}

/// A barrier alone needs no value: a batch spans it.
#[test]
fn a_batch_spans_a_barrier_that_no_use_precedes() {
    let across = of_block(|k| {
        vec![k.load(Global, r(10), r(A), 0), k.barrier(), k.load(Global, r(11), r(B), 0), k.add(r(12), &[r(10), r(11)])]
    });
    assert_eq!(across, (2.0, 2.0));
}

#[test]
fn stores_stop_loads_that_may_read_them() {
    let with_store = |store: fn(&mut Kernel) -> Inst, second: fn(&mut Kernel) -> Inst| {
        of_block(|k| vec![k.load(Global, r(10), r(A), 0), store(k), second(k)]).0
    };
    let load_b: fn(&mut Kernel) -> Inst = |k| k.load(Global, r(11), r(B), 0);
    let load_a8: fn(&mut Kernel) -> Inst = |k| k.load(Global, r(11), r(A), 8);
    assert_eq!(with_store(|k| k.store(Global, r(2), 0, r(10)), load_b), 1.0, "any other address");
    assert_eq!(with_store(|k| k.store(Global, r(A), 4, r(10)), load_a8), 2.0, "same base, other bytes");
    assert_eq!(with_store(|k| k.store(Global, r(A), 8, r(10)), load_a8), 1.0, "same base, same bytes");
    assert_eq!(with_store(|k| k.store(Shared, r(2), 0, r(10)), load_b), 2.0, "another space");
    assert_eq!(with_store(|k| k.store(Local, r(2), 0, r(10)), load_b), 2.0, "another space");
    assert_eq!(with_store(|k| k.store(Generic, r(2), 0, r(10)), load_b), 1.0, "a generic address may be global");
    // A store that waits for nothing holds nothing up.
    assert_eq!(with_store(|k| k.store(Global, r(2), 0, r(30)), load_b), 2.0, "an early store");
    // Read-only data cannot be stored to.
    let load_nc: fn(&mut Kernel) -> Inst = |k| {
        let load = k.load(Global, r(11), r(B), 0);
        let pc = k.pc("ld.global.nc.f32", Op::Ld, ScalarType::F32);
        Inst { pc, ..load }
    };
    assert_eq!(with_store(|k| k.store(Global, r(2), 0, r(10)), load_nc), 2.0, "through the texture path");
}

#[test]
fn a_base_that_changed_is_another_base() {
    let moved = of_block(|k| {
        vec![
            k.load(Global, r(10), r(A), 0),
            k.store(Global, r(A), 4, r(10)),
            k.add(r(A), &[r(A)]),
            k.load(Global, r(11), r(A), 8),
        ]
    });
    assert_eq!(moved.0, 1.0);
}

#[test]
fn batches_stay_open_from_block_to_block() {
    // b0 loads, b1 loads, b2 uses both.
    let make = |k: &mut Kernel| {
        vec![
            vec![k.load(Global, r(10), r(A), 0)],
            vec![k.load(Global, r(11), r(B), 0)],
            vec![k.add(r(12), &[r(10), r(11)])],
        ]
    };
    assert_eq!(of_path(1, &[0, 1, 2], make), (2.0, 2.0));
    assert_eq!(of_path(4, &[0, 2, 1, 2], make), (1.0, 1.0));
    // A loop of b1 alone: nothing is ever needed.
    assert_eq!(of_path(1, &[1, 1, 1, 1, 1], make), (5.0, 5.0));
    // The use comes once for three loads, then for one.
    assert_eq!(of_path(1, &[0, 1, 0, 2, 0, 2], make), (2.0, 2.0));
}

/// The use at the head of the next block ends the batch before that block's own loads join it, unless they may go first.
#[test]
fn a_batch_from_an_earlier_block_ends_at_its_use() {
    let make = |k: &mut Kernel| {
        vec![
            vec![k.load(Global, r(10), r(A), 0)],
            vec![k.add(r(12), &[r(10)]), k.load(Global, r(11), r(B), 0), k.add(r(13), &[r(11)])],
        ]
    };
    assert_eq!(of_path(1, &[0, 1], make), (2.0, 1.0));
    let pointer = |k: &mut Kernel| {
        vec![vec![k.load(Global, r(10), r(A), 0)], vec![k.load(Global, r(11), r(10), 0), k.add(r(13), &[r(11)])]]
    };
    assert_eq!(of_path(1, &[0, 1], pointer), (1.0, 1.0));
}

/// Chasing a list: each iteration needs the one before.
#[test]
fn a_chain_through_a_loop() {
    let make = |k: &mut Kernel| vec![vec![k.load(Global, r(A), r(A), 0)]];
    assert_eq!(of_path(1, &[0; 10], make), (1.0, 1.0));
}

#[test]
fn overwritten_values_are_no_longer_waited_for() {
    let make = |k: &mut Kernel| {
        vec![
            vec![k.load(Global, r(10), r(A), 0), k.add(r(10), &[r(30)])],
            vec![k.add(r(12), &[r(10)]), k.load(Global, r(11), r(B), 0), k.add(r(13), &[r(11)])],
        ]
    };
    assert_eq!(of_path(1, &[0, 1], make).1, 2.0);
    // Under a guard the old value survives in some lanes.
    let partly = |k: &mut Kernel| {
        let add = k.add(r(10), &[r(30)]);
        vec![
            vec![k.load(Global, r(10), r(A), 0), guarded(add, Some(p(0)))],
            vec![k.add(r(12), &[r(10)]), k.load(Global, r(11), r(B), 0), k.add(r(13), &[r(11)])],
        ]
    };
    assert_eq!(of_path(1, &[0, 1], partly).1, 1.0);
}

/// A load, a guarded and a generic one, and a use of all; the latter two take place as told, execution by execution.
fn of_executions(guard_needs_value: bool, executions: &[(bool, Option<StateSpace>)]) -> (f64, f64) {
    let mut k = Kernel::new();
    let setp = k.inst(
        "setp.lt.f32",
        Operation::Setp(Comparison::new(CompareOp::Lt)),
        ScalarType::F32,
        &[p(0)],
        &[r(if guard_needs_value { 10 } else { 3 })],
    );
    let first = k.load(Global, r(10), r(A), 0);
    let second = guarded(k.load(Global, r(11), r(B), 0), Some(p(0)));
    let third = k.load(Generic, r(12), r(2), 0);
    let pcs = [first.pc, second.pc, third.pc];
    let add = k.add(r(13), &[r(10), r(11), r(12)]);
    k.block(vec![first, setp, second, third, add], Flow::Fallthrough(BlockId(1)));
    let exit = k.exit();
    k.block(vec![exit], Flow::Exit { next: None });
    let mut recorder = k.recorder(1, 32);
    in_cta(&mut recorder, 0, |recorder, cta| {
        for &(guard, space) in executions {
            recorder.block(cta, W0, BlockId(0), ActiveMask::FULL);
            let addresses = [64; 32];
            let mut load = |pc, space| recorder.access(cta, W0, pc, &access(space, AccessKind::Load, &addresses));
            load(pcs[0], Global);
            if guard {
                load(pcs[1], Global);
            }
            if let Some(space) = space {
                load(pcs[2], space);
            }
        }
    });
    let profile = profile(&recorder);
    let known = |value: Option<f64>| value.expect("there are loads");
    (known(profile.independent_loads), known(profile.independent_loads_program_order))
}

#[test]
fn guarded_and_generic_loads_count_when_they_load_from_global_memory() {
    assert_eq!(of_executions(false, &[(true, Some(Global))]), (3.0, 3.0));
    assert_eq!(of_executions(false, &[(false, Some(Global))]), (2.0, 2.0));
    assert_eq!(of_executions(false, &[(true, Some(Shared))]), (2.0, 2.0));
    assert_eq!(of_executions(false, &[(false, Some(Shared))]), (1.0, 1.0));
    let mixed =
        [(true, Some(Global)), (false, Some(Shared)), (true, Some(Shared)), (false, None), (true, Some(Global))];
    assert_eq!(of_executions(false, &mixed), (2.0, 2.0));
    // The guard waits for the first load; the generic load goes with the first, or with the second as written.
    assert_eq!(of_executions(true, &[(true, Some(Global))]), (1.5, 1.5));
    assert_eq!(of_executions(true, &[(true, None)]), (1.0, 1.0));
    assert_eq!(of_executions(true, &[(false, None)]), (1.0, 1.0));
}

#[test]
fn loads_of_other_spaces_do_not_count() {
    // They neither count nor end a batch.
    let shared = of_block(|k| {
        vec![
            k.load(Global, r(10), r(A), 0),
            k.load(Shared, r(11), r(2), 0),
            k.add(r(12), &[r(11)]),
            k.load(Global, r(13), r(B), 0),
        ]
    });
    assert_eq!(shared, (2.0, 2.0));
}

/// A callee's registers are its own, its arguments are needed at the call, its results at the return.
#[test]
fn calls() {
    let mut k = Kernel::new();
    let load = k.load(Global, r(10), r(A), 0);
    let call = k.inst("call", Operation::Call(Branch::default()), ScalarType::Pred, &[r(11)], &[r(2)]);
    k.block(vec![load, call], Flow::Call { target: CallTarget::Direct(FunctionId(1)), next: BlockId(1) });
    let add = k.add(r(12), &[r(10), r(11)]);
    let exit = k.exit();
    k.block(vec![add, exit], Flow::Exit { next: None });
    let function = k.function("f", FunctionKind::Device);
    k.module.functions[function].arguments = vec![r(10)];
    k.module.functions[function].results = vec![r(13)];
    // Reads its own r10, which is not the caller's, and loads its result.
    let add = k.add(r(14), &[r(10)]);
    let load = k.load(Global, r(13), r(10), 0);
    let ret = k.inst("ret", Operation::Ret, ScalarType::Pred, &[], &[]);
    k.block(vec![add, load, ret], Flow::Return { next: None });
    let mut recorder = k.recorder(1, 32);
    in_cta(&mut recorder, 0, |recorder, cta| {
        for _ in 0..3 {
            for block in [0, 2, 1] {
                recorder.block(cta, W0, BlockId(block), ActiveMask::FULL);
            }
        }
    });
    // The caller's load and the callee's share a batch, which ends at the return; three rounds.
    let profile = profile(&recorder);
    assert_eq!((profile.independent_loads, profile.independent_loads_program_order), (Some(2.0), Some(2.0)));
}

fn atomic(k: &mut Kernel, space: StateSpace) -> Inst {
    let memory = k.load(space, r(20), r(2), 0).memory;
    Inst {
        memory,
        ..k.inst(
            "atom.add.u32",
            Operation::Atom(Atomic { op: AtomicOp::Add, ordered: false }),
            ScalarType::U32,
            &[r(20)],
            &[r(21)],
        )
    }
}

fn ordered(mut inst: Inst) -> Inst {
    inst.operation = match inst.operation {
        Operation::Ld(_) => Operation::Ld(AccessOrder { ordered: true }),
        Operation::St(_) => Operation::St(AccessOrder { ordered: true }),
        operation => panic!("{operation:?} is neither a load nor a store"),
    };
    inst
}

/// Between the load and its use stand two additions; before the load and after the use nothing overlaps.
#[test]
fn instructions_between_a_load_and_its_use_overlap() {
    let separate = |k: &mut Kernel| {
        vec![vec![
            k.add(r(20), &[r(30)]),
            k.load(Global, r(10), r(A), 0),
            k.add(r(21), &[r(31)]),
            k.add(r(22), &[r(21)]),
            k.add(r(12), &[r(10)]),
            k.add(r(13), &[r(12)]),
        ]]
    };
    assert_eq!(overlap(&[0], separate), 2);
    let used_at_once =
        |k: &mut Kernel| vec![vec![k.load(Global, r(10), r(A), 0), k.add(r(12), &[r(10)]), k.add(r(13), &[r(31)])]];
    assert_eq!(overlap(&[0], used_at_once), 0);
    // Loads of the batch do not count, the sum between them does; the store waits for neither.
    let two_loads = |k: &mut Kernel| {
        vec![vec![
            k.load(Global, r(10), r(A), 0),
            k.add(r(20), &[r(30)]),
            k.load(Global, r(11), r(B), 0),
            k.store(Global, r(2), 0, r(30)),
            k.add(r(12), &[r(10), r(11)]),
        ]]
    };
    assert_eq!(overlap(&[0], two_loads), 2);
}

/// The loop of a prefetch: copy what has come, load the next, compute with the copy. Each round hides its computation.
#[test]
fn a_prefetch_overlaps_with_the_computation_of_its_round() {
    let prefetch = |k: &mut Kernel| {
        vec![
            vec![k.load(Global, r(10), r(A), 0)],
            vec![
                k.add(r(11), &[r(10)]),
                k.load(Global, r(10), r(A), 4),
                k.add(r(12), &[r(11)]),
                k.add(r(13), &[r(12)]),
                k.add(r(14), &[r(13), r(14)]),
            ],
        ]
    };
    assert_eq!(overlap(&[0, 1, 1, 1, 1], prefetch), 4 * 3 + 1, "and the exit, behind a value that nobody reads");
    let plain = |k: &mut Kernel| {
        vec![vec![
            k.load(Global, r(10), r(A), 4),
            k.add(r(11), &[r(10)]),
            k.add(r(12), &[r(11)]),
            k.add(r(14), &[r(12), r(14)]),
        ]]
    };
    assert_eq!(overlap(&[0, 0, 0, 0], plain), 0);
}

#[test]
fn what_machine_code_leaves_out_and_values_that_are_written_over_do_not_overlap() {
    let parameters = |k: &mut Kernel| {
        let inst = k.load(StateSpace::Param, r(20), r(3), 0);
        let pc = k.pc("ld.param.u64", Op::Ld, ScalarType::U64);
        vec![vec![k.load(Global, r(10), r(A), 0), Inst { pc, ..inst }, k.add(r(12), &[r(10)])]]
    };
    assert_eq!(overlap(&[0], parameters), 0);
    let overwritten = |k: &mut Kernel| {
        vec![vec![
            k.load(Global, r(10), r(A), 0),
            k.add(r(10), &[r(30)]),
            k.add(r(12), &[r(30)]),
            k.add(r(13), &[r(10)]),
        ]]
    };
    assert_eq!(overlap(&[0], overwritten), 1, "the write itself, while the value is on its way");
}
