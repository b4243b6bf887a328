//! The unrolled loops of a matrix product against what ptxas makes of them.
//!
//! The figures are those of the largest block of each kernel by ptxas 13.5 (`ptxas -arch=sm_86`, `cuobjdump -sass` on
//! `validation/sgemm/sm_86.ptx`).

use std::path::Path;

use warplens_codegen::{Generated, Options, Target, generate};
use warplens_isa::StateSpace;
use warplens_machine::{Reader, Strictness, builtin};
use warplens_trace::{MachineClass, MachineInst};

/// What ptxas makes of a kernel's loop: instructions, loads from shared memory of 128, 64 and 32 bits, registers.
struct OfPtxas {
    kernel: &'static str,
    instructions: usize,
    loads: [usize; 3],
    registers: u32,
}

const fn ptxas(kernel: &'static str, instructions: usize, loads: [usize; 3], registers: u32) -> OfPtxas {
    OfPtxas { kernel, instructions, loads, registers }
}

const KERNELS: [OfPtxas; 7] = [
    ptxas("step4", 107, [16, 0, 8], 47),
    ptxas("step5", 694, [16, 0, 64], 118),
    ptxas("step6", 628, [32, 0, 0], 108),
    ptxas("step7", 706, [16, 0, 64], 128),
    ptxas("step8", 668, [20, 8, 32], 128),
    ptxas("step9", 1219, [64, 0, 0], 122),
    ptxas("step10", 2771, [64, 0, 128], 166),
];

/// By how much the number of instructions may differ.
const TOLERANCE: f64 = 0.03;

fn code(kernel: &str, registers: Option<u32>) -> Generated {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation/sgemm/sm_86.ptx");
    let text = std::fs::read_to_string(path).expect("the PTX is there");
    let module = warplens_ptx::load(&text).0.expect("the PTX is valid");
    let machine = builtin::machine("a6000").expect("the GPU is built in").expect("its file is valid");
    let mut reader = Reader::new(&machine, Strictness::AllowInferred);
    let id = module.function_named(kernel).expect("the kernel is there");
    let target = Target::read(&module, id, &mut reader).expect("the machine says what its operations become");
    generate(&module, id, &target, Options { schedule: true, registers }).expect("the kernel fits")
}

/// The instructions of the only chain.
fn chain(generated: &Generated) -> &[MachineInst] {
    let [chain] = &generated.code.chains[..] else { panic!("one chain: {:?}", generated.code.chains) };
    generated.code.block(chain.merged)
}

fn is_shared_load(inst: &MachineInst) -> bool {
    inst.class == MachineClass::Load && inst.space == StateSpace::Shared
}

#[test]
fn unrolled_loops_have_the_instructions_of_ptxas() {
    for OfPtxas { kernel, instructions, loads, .. } in KERNELS {
        let generated = code(kernel, None);
        let insts = chain(&generated);
        let of_width = |words: u32| insts.iter().filter(|inst| is_shared_load(inst) && inst.amount == words).count();
        assert_eq!([of_width(4), of_width(2), of_width(1)], loads, "{kernel}");
        let error = insts.len() as f64 / instructions as f64 - 1.0;
        assert!(error.abs() <= TOLERANCE, "{kernel}: {} instructions, {instructions} by ptxas", insts.len());
    }
}

#[test]
fn registers_are_about_those_of_ptxas() {
    for OfPtxas { kernel, registers, .. } in KERNELS {
        let generated = code(kernel, None);
        let estimate = generated.registers.max(generated.needed);
        let error = f64::from(estimate) / f64::from(registers) - 1.0;
        assert!(error.abs() <= 0.19, "{kernel}: {estimate} registers, {registers} by ptxas");
    }
}

#[test]
fn loads_are_as_far_from_their_use_as_ptxas_leaves_them() {
    for OfPtxas { kernel, registers, .. } in KERNELS.into_iter().filter(|of| of.kernel != "step4") {
        let generated = code(kernel, Some(registers.next_multiple_of(8)));
        let (insts, code) = (chain(&generated), &generated.code);
        let first_use = |at: usize| {
            let written = code.registers(insts[at].writes);
            let reads =
                |inst: &MachineInst| code.registers(inst.reads).iter().any(|register| written.contains(register));
            insts[at + 1..].iter().position(reads).map_or(insts.len(), |distance| distance + 1)
        };
        let loads = (0..insts.len()).filter(|&at| is_shared_load(&insts[at]));
        let mut distances: Vec<usize> = loads.map(first_use).collect();
        distances.sort_unstable();
        let median = distances[distances.len() / 2];
        assert!(median >= 11, "{kernel}: {median} instructions");
    }
}
