//! Short conditionals as machine code: both arms are guarded, and neither waits for what the other loads.

use warplens_codegen::{Options, Target, generate};
use warplens_machine::{Reader, Strictness, builtin};
use warplens_trace::{MachineClass, MachineInst};

/// A kernel with a conditional whose arms are these.
fn kernel(one: &str, other: &str) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry chosen(.param .u64 from, .param .u64 to) {{\n\
         .reg .pred %p<2>; .reg .b32 %r<6>; .reg .b64 %rd<6>;\n.shared .align 4 .b8 words[256];\n\
         ld.param.u64 %rd1, [from];\nld.param.u64 %rd2, [to];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd3, %r1, 4;\n\
         add.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd2, %rd3;\nmov.u32 %r3, words;\nmov.u32 %r4, 7;\n\
         setp.gt.s32 %p1, %r1, 0;\n@%p1 bra $one;\n{other}\nbra.uni $end;\n$one:\n{one}\n$end:\n\
         add.s32 %r5, %r2, %r4;\nst.global.u32 [%rd5], %r5;\nret;\n}}\n"
    )
}

/// The loads of the machine code for a GPU of 9.0.
fn loads(one: &str, other: &str) -> Vec<MachineInst> {
    let module = warplens_ptx::load(&kernel(one, other)).0.expect("the PTX is valid");
    let machine = builtin::machine("h200").expect("the GPU is built in").expect("its file is valid");
    let mut reader = Reader::new(&machine, Strictness::AllowInferred);
    let id = module.function_named("chosen").expect("the kernel is there");
    let target = Target::read(&module, id, &mut reader).expect("the machine says what its operations become");
    let generated = generate(&module, id, &target, Options::default()).expect("the kernel fits");
    generated.code.insts.into_iter().filter(|inst| inst.class == MachineClass::Load).collect()
}

#[test]
fn loads_of_both_arms_to_one_register_lie_beside_each_other() {
    let (shared, global) = ("ld.shared.u32 %r2, [%r3];", "ld.global.u32 %r2, [%rd4];");
    let both = loads(shared, global);
    assert_eq!(both.len(), 2);
    assert!(both.iter().all(|load| load.beside && load.guard.is_some() && load.guard == both[0].guard));
}

#[test]
fn what_one_arm_alone_or_twice_writes_does_not() {
    let global = "ld.global.u32 %r2, [%rd4];";
    for (one, n) in [
        // The other arm writes another register.
        ("ld.shared.u32 %r4, [%r3];", 2),
        // One arm loads the register twice, and its loads wait for each other.
        ("ld.shared.u32 %r2, [%r3];\nld.volatile.shared.u32 %r2, [%r3+4];", 3),
    ] {
        let loads = loads(one, global);
        assert_eq!(loads.iter().filter(|load| load.guard.is_some()).count(), n, "{one}");
        assert!(loads.iter().all(|load| !load.beside), "{one}");
    }
}
