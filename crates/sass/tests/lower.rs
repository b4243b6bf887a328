//! Cubins as modules: whatever the bytes say, lowering ends in a module that keeps the rules of the IR, or in an error.
#![allow(clippy::unwrap_used, reason = "a test may stop where its data is not as it must be")]

use proptest::prelude::*;
use warplens_sass::container::Cubin;
use warplens_sass::lower::lower;

/// A kernel of the conformance tests.
macro_rules! of_conformance {
    ($name:literal) => {
        include_bytes!(concat!("../../session/tests/data/cubins/crates_exec_tests_data_ptx_", $name, ".cubin"))
    };
}

const CUBINS: [&[u8]; 10] = [
    include_bytes!("data/matmul_tiled_75.cubin"),
    include_bytes!("data/parts_90a.cubin"),
    include_bytes!("data/reduction_shuffle_90a.cubin"),
    include_bytes!("data/vector_add_120.cubin"),
    of_conformance!("sm_90_barrier_phases.90"),
    of_conformance!("sm_90_bulk_tiles.120"),
    of_conformance!("sm_90_cluster_ring.90"),
    of_conformance!("sm_90_stored_matrices.90"),
    of_conformance!("sm_90_tensor_tiles.90"),
    of_conformance!("sm_90a_sparse_group_mma.90"),
];

#[test]
fn memory_that_the_system_has_is_no_kernels() {
    let bytes = of_conformance!("sm_90_stored_matrices.90");
    let lowered = lower(&Cubin::read(bytes).unwrap()).unwrap();
    let (_, function) = lowered.module.kernels().next().unwrap();
    assert_eq!((function.shared_bytes, function.reserved_shared_bytes), (1024 + 512, 1024));
}

#[test]
fn instructions_have_lines_in_the_listing() {
    for bytes in CUBINS {
        let lowered = lower(&Cubin::read(bytes).unwrap()).unwrap();
        assert_eq!(warplens_ir::verify(&lowered.module), []);
        let lines: Vec<&str> = lowered.listing.lines().collect();
        for (_, info) in lowered.module.pcs.iter() {
            let line = lines[info.line as usize - 1];
            assert_eq!(&lowered.listing[info.span.start as usize..info.span.end as usize], line.trim_start());
        }
    }
}

#[test]
fn instructions_know_the_lines_that_they_came_from() {
    let lowered = lower(&Cubin::read(include_bytes!("data/inline_75.cubin")).unwrap()).unwrap();
    let module = &lowered.module;
    assert_eq!(module.files, ["/source/inline.cu"]);
    let load = module.pcs.iter().find(|(_, info)| {
        lowered.listing[info.span.start as usize..info.span.end as usize].ends_with("LDG.E.SYS R0, [R2+0x4]")
    });
    let (load, _) = load.unwrap();
    assert_eq!(module.locations[&load].line, 10);
    assert_eq!(&*module.ptx_lines[&load].text, "ld.global.u32 %r2, [%rd4+4];");
}

/// A cubin says of the stack of a kernel whose functions call themselves that it is not known.
#[test]
fn a_stack_of_unknown_size_is_the_usual_one() {
    let mut bytes = include_bytes!("data/inline_75.cubin").to_vec();
    let local_bytes = |bytes: &[u8]| {
        let lowered = lower(&Cubin::read(bytes).unwrap()).unwrap();
        lowered.module.kernels().map(|(_, function)| function.local_bytes).max().unwrap()
    };
    assert_eq!(local_bytes(&bytes), 0);
    // Records of the least stack: a symbol and a size.
    let record = [0x04, 0x12, 0x08, 0x00];
    let at = bytes.windows(4).position(|window| window == record).unwrap();
    bytes[at + 8..at + 12].fill(0xff);
    assert_eq!(local_bytes(&bytes), 1024);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn damaged_code_is_lowered_or_refused(
        which in 0..CUBINS.len(),
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..24),
    ) {
        let mut bytes = CUBINS[which].to_vec();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(cubin) = Cubin::read(&bytes)
            && let Ok(lowered) = lower(&cubin)
        {
            prop_assert_eq!(warplens_ir::verify(&lowered.module), []);
        }
    }
}
