//! Local arrays in registers: the rewritten module computes the same, and the arrays are those that ptxas takes back.

use std::path::Path;
use std::sync::atomic::AtomicU64;

use warplens_exec::{BarrierRule, Device, Launch, Program, Schedule};
use warplens_ir::{FunctionId, Module, local_arrays_in_registers, verify};
use warplens_isa::StateSpace;

fn module(ptx: &str) -> Module {
    warplens_ptx::load(ptx).0.unwrap()
}

fn text(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)).unwrap()
}

/// Loads and stores of local memory in a kernel.
fn local_accesses(module: &Module, kernel: FunctionId) -> usize {
    let insts = module.functions[kernel].block_ids().flat_map(|block| &module.blocks[block].insts);
    insts.filter(|inst| inst.memory.iter().any(|memory| memory.space == StateSpace::Local)).count()
}

/// The potentials that a Coulomb kernel computes on a small grid.
fn potentials(module: &Module, kernel: FunctionId, is_soa: bool) -> Vec<u8> {
    const CHARGES: usize = 3;
    const SIZE: u64 = 32;
    let mut device = Device::new(module.address_bits, u64::MAX);
    let image = device.load(module).unwrap();
    let charges: Vec<u8> = (0..4 * CHARGES).flat_map(|at| (at as f32 * 1.37).to_le_bytes()).collect();
    let mut parameters = Vec::new();
    for part in charges.chunks(if is_soa { 4 * CHARGES } else { 16 * CHARGES }) {
        let buffer = device.allocate("charges", part.len() as u64).unwrap();
        device.write(buffer, 0, part);
        parameters.extend(device.buffer(buffer).base.to_le_bytes());
    }
    let potential = device.allocate("potential", 4 * SIZE.pow(3)).unwrap();
    parameters.extend((CHARGES as u32).to_le_bytes());
    parameters.extend(0.5f32.to_le_bytes());
    parameters.extend((SIZE as u32).to_le_bytes());
    parameters.resize(parameters.len().next_multiple_of(8), 0);
    parameters.extend(device.buffer(potential).base.to_le_bytes());
    let program = Program::new(module, image, kernel, &mut device).unwrap();
    let launch = Launch {
        grid: [1; 3],
        block: [32, 2, 1],
        cluster: None,
        dynamic_shared: 0,
        parameters,
        ctas: None,
        budget: 1_000_000,
        launch_budget: u64::MAX,
        resident_ctas: 1,
        threads: 1,
        schedule: Schedule::Any,
        allow_unsupported: false,
        allow_overreads: false,
        barriers: BarrierRule::Threads,
        tensor_cores: warplens_exec::TensorCores::default(),
    };
    warplens_exec::launch(&program, &device, &launch, (), &AtomicU64::new(0)).unwrap();
    device.read(potential, 0, 4 * SIZE.pow(3))
}

/// The compiler of the measured kernels reported registers and local memory for each of the 42.
#[test]
fn the_arrays_of_the_coulomb_kernels_are_those_that_ptxas_takes_back() {
    let module = module(&text("validation/coulomb/sm_75.ptx"));
    let figures = text("validation/measured/coulomb-rtx2080ti.csv");
    let mut seen = std::collections::BTreeSet::new();
    for line in figures.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let name = format!("{}_z{}_unroll{}", fields[0], fields[1], fields[2]);
        let (registers, local_bytes): (u32, u32) = (fields[6].parse().unwrap(), fields[7].parse().unwrap());
        let kernel = module.function_named(&name).unwrap();
        let has_array = module.functions[kernel].local_bytes > 0;
        if !seen.insert(name.clone()) {
            continue;
        }
        let rewritten = local_arrays_in_registers(&module, &[kernel], Some(registers));
        assert_eq!(rewritten.is_some(), has_array && local_bytes == 0, "{name}");
        let Some(rewritten) = rewritten else { continue };
        assert_eq!(verify(&rewritten), [], "{name}");
        assert_eq!(local_accesses(&rewritten, kernel), 0, "{name}");
        let is_soa = fields[0] == "soa";
        let expected = potentials(&module, kernel, is_soa);
        assert!(expected.iter().any(|&byte| byte != 0));
        assert!(potentials(&rewritten, kernel, is_soa) == expected, "{name} computes something else");
    }
    assert_eq!(seen.len(), 42);
}

/// A kernel that keeps two words in place `%r1` of an array of eight, with `more` after it.
fn with_array(more: &str) -> Module {
    module(&format!(
        ".version 8.8 .target sm_75 .address_size 64
         .visible .entry kernel(.param .u32 index) {{
             .local .align 8 .b8 array[32];
             .reg .b32 %r<9>; .reg .b64 %rd<9>;
             ld.param.u32 %r1, [index];
             mov.u64 %rd1, array;
             mul.wide.u32 %rd2, %r1, 8;
             add.s64 %rd3, %rd1, %rd2;
             st.local.v2.u32 [%rd3], {{%r2, %r4}};
             {more}
             ret;
         }}"
    ))
}

#[test]
fn an_array_whose_address_goes_elsewhere_stays_in_memory() {
    let taken_back = |more: &str| {
        let module = with_array(more);
        let kernel = module.function_named("kernel").unwrap();
        local_arrays_in_registers(&module, &[kernel], None).is_some()
    };
    assert!(taken_back(""));
    assert!(taken_back("ld.local.u32 %r3, [array+4];"));
    // Read through a generic address, which is one of the array's.
    assert!(taken_back("cvta.local.u64 %rd4, %rd1; ld.u32 %r3, [%rd4];"));
    // Stored, compared, and joined with an address of something else.
    assert!(!taken_back("st.shared.u64 [0], %rd3;"));
    assert!(!taken_back(".reg .pred %p1; setp.eq.u64 %p1, %rd3, %rd2;"));
    assert!(!taken_back("mov.u64 %rd3, 64; st.local.v2.u32 [%rd3], {%r2, %r4};"));
    // Elements of two sizes.
    assert!(!taken_back("ld.local.u64 %rd4, [%rd3];"));
    // Eight places for one word, where four words at once would have two.
    assert!(!taken_back("ld.local.u32 %r3, [%rd3];"));
    assert!(taken_back("ld.local.v4.u32 {%r3, %r5, %r6, %r7}, [%rd3];"));
    // Beyond the end.
    assert!(!taken_back("ld.local.u32 %r3, [array+32];"));
}

#[test]
fn an_array_stays_in_memory_where_registers_are_few() {
    let module = with_array("");
    let kernel = module.function_named("kernel").unwrap();
    let taken_back = |registers| local_arrays_in_registers(&module, &[kernel], Some(registers)).is_some();
    assert!(taken_back(16));
    assert!(!taken_back(7));
}
