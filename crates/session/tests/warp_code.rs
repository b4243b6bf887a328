//! Machine code that depends on what lanes of a warp have in common, or on what their pipes have to do, against what ptxas 13.0
//! makes of the same kernels for sm_75, sm_80 and sm_90.

use warplens_codegen::{Options, Target, generate};
use warplens_machine::{Reader, Strictness, builtin};
use warplens_trace::{IntegerLanes, MachineClass as C, MachineInst};

/// The instructions of a kernel with one parameter, block by block.
fn code(gpu: &str, body: &str) -> Vec<Vec<MachineInst>> {
    let text = format!(
        ".version 8.0\n.target sm_75\n.address_size 64\n\
         .visible .entry kernel(.param .u64 to)\n{{\n\
         .reg .pred %p<4>;\n.reg .b32 %r<12>;\n.reg .b64 %rd<8>;\n.reg .f32 %f<8>;\n.reg .f64 %fd<4>;\n\
         ld.param.u64 %rd1, [to];\ncvta.to.global.u64 %rd1, %rd1;\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\n\
         mul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n{body}\nret;\n}}\n"
    );
    let (module, diagnostics) = warplens_ptx::load(&text);
    let module = module.unwrap_or_else(|| panic!("the PTX is valid: {diagnostics:?}"));
    let machine = builtin::machine(gpu).expect("the GPU is built in").expect("its file is valid");
    let mut reader = Reader::new(&machine, Strictness::AllowInferred);
    let id = module.function_named("kernel").expect("the kernel is there");
    let target = Target::read(&module, id, &mut reader).expect("the machine says what its operations become");
    let options = Options { schedule: false, registers: None };
    let generated = generate(&module, id, &target, options).expect("the kernel fits");
    (0..generated.code.blocks.len() as u32).map(|block| generated.code.block(block).to_vec()).collect()
}

fn count(code: &[Vec<MachineInst>], class: C) -> usize {
    code.iter().flatten().filter(|inst| inst.class == class).count()
}

/// The atomic operation of the code: its class, and whether one lane does it for all.
fn atomic(code: &[Vec<MachineInst>]) -> (C, bool) {
    let mut found = code.iter().flatten().filter(|inst| matches!(inst.class, C::Atomic | C::Reduction));
    let inst = found.next().expect("the kernel has an atomic operation");
    assert!(found.next().is_none(), "it has one");
    (inst.class, inst.amount == MachineInst::ADDED_UP)
}

#[test]
fn integers_at_one_address_are_added_up_first() {
    let of = |gpu: &str, body: &str| {
        let code = code(gpu, body);
        (atomic(&code), count(&code, C::Vote), count(&code, C::Shuffle))
    };
    for gpu in ["t4", "a100-80", "h200"] {
        let same = of(gpu, "red.global.add.u32 [%rd1], 1;");
        assert_eq!(same, ((C::Reduction, true), 1, 0), "{gpu}");
        let counted = of(gpu, "atom.global.add.u32 %r3, [%rd1], 1;\nst.global.u32 [%rd3], %r3;");
        assert_eq!(counted, ((C::Atomic, true), 1, 1), "{gpu}");
        let scanned = of(gpu, "atom.global.add.u32 %r3, [%rd1], %r1;\nst.global.u32 [%rd3], %r3;");
        assert_eq!(scanned, ((C::Atomic, true), 1, 7), "{gpu}");
        for alone in
            ["red.global.add.u32 [%rd3], 1;", "red.global.add.f32 [%rd1], 0f3F800000;", "red.global.inc.u32 [%rd1], 7;"]
        {
            assert_eq!(of(gpu, alone), ((C::Reduction, false), 0, 0), "{gpu}: {alone}");
        }
    }
    let differing = "red.global.max.s32 [%rd1], %r1;";
    assert_eq!(of("t4", differing), ((C::Reduction, true), 1, 5), "shuffles");
    assert_eq!(of("a100-80", differing), ((C::Reduction, true), 2, 0), "a vote, and REDUX");
    assert_eq!(of("gtx1080", differing), ((C::Reduction, false), 0, 0), "an older design");
}

#[test]
fn shared_memory_has_no_unit_for_floating_point_and_64_bits() {
    let way = |body: &str| {
        let code = code("rtx3080", body);
        let mut found = code.iter().flatten().filter(|inst| matches!(inst.class, C::Atomic | C::Reduction));
        found.next().expect("the kernel has an atomic operation").amount
    };
    let shared = |op: &str, value: &str| way(&format!("atom.shared.{op} {value};"));
    assert_eq!(shared("add.f32", "%f1, [%r1], %f1"), MachineInst::LOOP);
    assert_eq!(shared("add.f64", "%fd1, [%r1], %fd1"), MachineInst::LOOP);
    assert_eq!(shared("add.u64", "%rd4, [%r1], %rd4"), MachineInst::LOOP);
    assert_eq!(shared("exch.b64", "%rd4, [%r1], %rd4"), 1);
    assert_eq!(shared("add.u32", "%r3, [%r1], %r3"), 1);
    assert_eq!(way("red.global.add.f32 [%rd3], 0f3F800000;"), MachineInst::FLOATING);
    assert_eq!(way("red.global.add.u64 [%rd3], %rd3;"), 1);
}

/// `ATOMS.POPC.INC` of ptxas 13.0, from 8.0 on.
#[test]
fn an_addition_of_one_in_shared_memory_counts_lanes() {
    let atomic = |gpu: &str, body: &str| {
        let code = code(gpu, body);
        let found = code.iter().flatten().find(|inst| matches!(inst.class, C::Atomic | C::Reduction));
        let moves = count(&code, C::Move);
        (found.expect("the kernel has an atomic operation").amount, moves)
    };
    let (counts, moves) = atomic("a100-80", "red.shared.add.u32 [%r1], 1;");
    assert_eq!(counts, MachineInst::COUNTED);
    // The number is in no register; another one is.
    assert_eq!(atomic("a100-80", "red.shared.add.u32 [%r1], 2;"), (1, moves + 1));
    assert_eq!(atomic("h200", "atom.shared.add.s32 %r3, [%r1], 1;").0, MachineInst::COUNTED);
    for other in [
        "atom.shared.add.u32 %r3, [%r1], 1;\nst.global.u32 [%rd3], %r3;",
        "red.shared.inc.u32 [%r1], -1;",
        "red.shared.add.u32 [%r1], %r2;",
    ] {
        assert_eq!(atomic("h200", other).0, 1, "{other}");
    }
    assert_eq!(atomic("t4", "red.shared.add.u32 [%r1], 1;").0, 1);
}

/// From 9.0 on words of constant banks come by instructions of their own, once in front of a loop; before, ptxas copies
/// them in each turn.
#[test]
fn constants_come_to_registers_in_front_of_loops_from_hopper_on() {
    let body = "mov.u32 %r3, 0;\nmov.u32 %r4, %nctaid.x;\nmov.u32 %r5, %ntid.x;\nL:\n\
                mad.lo.u32 %r3, %r4, %r5, %r3;\nsetp.lt.u32 %p1, %r3, %r1;\n@%p1 bra L;\nst.global.u32 [%rd3], %r3;";
    // The loop ends in the only branch with a guard.
    let turn = |gpu: &str| {
        let code = code(gpu, body);
        let is_loop =
            |block: &&Vec<MachineInst>| block.iter().any(|inst| inst.class == C::Branch && inst.guard.is_some());
        let classes = |block: &Vec<MachineInst>| {
            block.iter().map(|inst| inst.class).filter(|&class| class != C::Nop).collect::<Vec<_>>()
        };
        code.iter().find(is_loop).map(classes).expect("there is a loop")
    };
    assert_eq!(turn("h200"), [C::IntMul, C::Int, C::Branch]);
    assert_eq!(turn("a100-80"), [C::Move, C::IntMul, C::Int, C::Branch]);
}

#[test]
fn a_sum_of_64_bits_takes_32_with_their_sign() {
    let of = |gpu: &str| {
        let code = code(gpu, "cvt.s64.s32 %rd4, %r1;\nadd.s64 %rd5, %rd3, %rd4;\nst.global.u8 [%rd5], %r1;");
        (count(&code, C::Int), count(&code, C::IntMul))
    };
    // Two sums after the address of the thread, and no extension; before 8.0 there is one.
    assert_eq!(of("a100-80"), (2, 1));
    assert_eq!(of("t4"), (3, 1));
}

/// The value that a copy at the end of a turn takes is computed in its register, behind the last that reads the old one.
#[test]
fn copies_at_the_end_of_a_turn_are_gone() {
    let body = "mov.f32 %f1, 0f3F800000;\nmov.f32 %f2, 0f40000000;\nL:\nfma.rn.f32 %f3, %f1, %f2, %f2;\n\
                mul.f32 %f4, %f1, %f1;\nfma.rn.f32 %f2, %f4, %f2, %f2;\nmov.f32 %f1, %f3;\n\
                setp.lt.f32 %p1, %f2, 0f42C80000;\n@%p1 bra L;\nst.global.f32 [%rd3], %f1;";
    let code = code("a100-80", body);
    let turn = code.iter().find(|block| block.iter().any(|inst| inst.class == C::Branch && inst.guard.is_some()));
    let classes = turn.expect("there is a loop").iter().map(|inst| inst.class).filter(|&class| class != C::Nop);
    let classes: Vec<C> = classes.collect();
    assert_eq!(classes, [C::Fp32Mul, C::Fp32, C::Fp32, C::Int, C::Branch]);
}

/// Two short arms, of which each lane takes one, are guarded; one of them with a barrier is jumped to.
#[test]
fn short_arms_of_a_branch_are_guarded() {
    let arms = |arm: &str| {
        format!(
            "setp.gt.u32 %p1, %r1, 3;\n@%p1 bra BIG;\n{arm}\nbra.uni END;\nBIG:\nld.global.f32 %f1, [%rd3+4];\n\
             END:\nst.global.f32 [%rd3], %f1;"
        )
    };
    let guarded = code("h200", &arms("ld.global.f32 %f1, [%rd3];"));
    assert_eq!(count(&guarded, C::Branch), 0);
    let loads: Vec<&MachineInst> = guarded.iter().flatten().filter(|inst| inst.class == C::Load).collect();
    assert_eq!(loads.len(), 2);
    assert!(loads.iter().all(|load| load.guard.is_some()));
    let branched = code("h200", &arms("ld.global.f32 %f1, [%rd3];\nbar.sync 0;"));
    assert!(count(&branched, C::Branch) > 0);
}

/// In a row of sums every other one is a multiply-add; a sum with an immediate is none, and neither is anything before 8.0 and
/// from 12.0 on.
#[test]
fn sums_take_turns_on_two_pipes() {
    let rows = |of: &dyn Fn(usize) -> String| (0..16).map(of).collect::<Vec<_>>().join("\n");
    let numbers = |body: &str, gpu: &str| {
        let body =
            format!("ld.global.u32 %r3, [%rd3];\n{body}\nst.global.u32 [%rd3], %r3;\nst.global.u64 [%rd3+8], %rd4;");
        let code = code(gpu, &body);
        let on = |lanes| code.iter().flatten().filter(|inst| inst.class == C::Int && inst.lanes == lanes).count();
        (on(IntegerLanes::MultiplyAdd), on(IntegerLanes::Either))
    };
    let products = "mul.lo.u32 %r3, %r3, %r3;\n".repeat(40);
    for gpu in ["a100-80", "rtx3090", "h200", "b200"] {
        let none = numbers("xor.b32 %r3, %r3, %r1;", gpu);
        let beyond = |body: &str| {
            let (multiply_adds, others) = numbers(body, gpu);
            (multiply_adds - none.0, others - none.1)
        };
        let sums =
            rows(&|at| format!("{} %r3, %r3, %r{};", if at % 2 == 0 { "xor.b32" } else { "add.s32" }, 1 + at % 4 / 2));
        assert_eq!(beyond(&sums), (8, 0), "{gpu}: beside bits");
        let (multiply_adds, others) = beyond(&format!("{products}{sums}"));
        assert_eq!((multiply_adds, others), (0, 8), "{gpu}: behind products");
        let shifts = rows(&|at| format!("shr.u32 %r3, %r3, {};\nxor.b32 %r3, %r3, %r1;", 1 + at));
        assert_eq!(beyond(&shifts), (0, 0), "{gpu}: shifts to the right");
        // Nobody says which lanes take these from 9.0 on.
        let immediates = rows(&|at| format!("add.s32 %r3, %r3, {};\nxor.b32 %r3, %r3, %r1;", 1 + at));
        let unknown = if ["h200", "b200"].contains(&gpu) { 16 } else { 0 };
        assert_eq!(beyond(&immediates), (0, unknown), "{gpu}: immediates");
    }
    let sums = rows(&|_| "add.s32 %r3, %r3, %r1;\nxor.b32 %r3, %r3, %r2;".into());
    for gpu in ["v100-pcie", "t4"] {
        let (multiply_adds, others) = numbers(&sums, gpu);
        assert!(multiply_adds == 0 && others >= 16, "{gpu}: they could, and do not: {others}");
    }
    for gpu in ["gtx1080", "rtx5090"] {
        assert_eq!(numbers(&sums, gpu), (0, 0), "{gpu}");
    }
}
