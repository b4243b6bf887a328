//! Hazards: there are none in code that ptxas wrote, and those that are planted are found.
#![allow(clippy::unwrap_used, reason = "a test may stop where its data is not as it must be")]

use std::path::{Path, PathBuf};

use warplens_sass::container::Cubin;
use warplens_sass::hazards::latency::Latencies;
use warplens_sass::hazards::{self, Hazard, HazardKind};
use warplens_sass::lower::{Lowered, lower};
use warplens_sass::{Control, WORD_BYTES, words};

/// Cubins of the project.
const FOLDERS: [&str; 3] = ["crates/sass/tests/data", "crates/session/tests/data/cubins", "examples"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn cubins(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            cubins(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "cubin") {
            found.push(path);
        }
    }
}

fn hazards_of(cubin: &Cubin) -> (Lowered, Vec<Hazard>) {
    let lowered = lower(cubin).unwrap();
    let latencies = Latencies::of_chip(cubin.target.sm);
    let of_kernel = |(id, _)| hazards::of(&lowered, id, &latencies);
    let found = lowered.module.kernels().flat_map(of_kernel).collect();
    (lowered, found)
}

#[test]
fn code_of_ptxas_has_no_hazards() {
    let mut paths = Vec::new();
    FOLDERS.iter().for_each(|folder| cubins(&root().join(folder), &mut paths));
    let mut n_looked_at = 0;
    for path in paths {
        let cubin = Cubin::read(&std::fs::read(&path).unwrap()).unwrap();
        if cubin.is_relocatable {
            continue;
        }
        let (lowered, found) = hazards_of(&cubin);
        let line = |hazard: &Hazard| {
            let span = lowered.module.pcs[hazard.user].span;
            format!("{hazard:?} {}", &lowered.listing[span.start as usize..span.end as usize])
        };
        assert_eq!(found.iter().map(line).collect::<Vec<_>>(), [""; 0], "{}", path.display());
        n_looked_at += 1;
    }
    assert!(n_looked_at >= 30, "{n_looked_at} files");
}

/// `vector_add` for sm_75, whose listing is in `tests/cli/disasm.md`.
const ADD: &[u8] = include_bytes!("data/vector_add_75.cubin");
/// Where the stall count of a control code begins, and the barriers that it waits for.
const STALL: u32 = 105;
const WRITE_BARRIER: u32 = 110;
const WAITS: u32 = 116;

/// The kernel with bits of the instruction at an offset replaced.
fn changed(bytes: &[u8], changes: &[(u64, u32, u32, u128)]) -> (Cubin, Vec<HazardKind>) {
    let cubin = Cubin::read(bytes).unwrap();
    let code = cubin.code(&cubin.kernels[0].function);
    let start = bytes.windows(code.len()).position(|window| window == code).unwrap();
    let mut bytes = bytes.to_vec();
    for &(offset, first, width, value) in changes {
        let at = start + offset as usize;
        let word = u128::from_le_bytes(bytes[at..at + 16].try_into().unwrap());
        let mask = ((1 << width) - 1) << first;
        bytes[at..at + 16].copy_from_slice(&(word & !mask | value << first).to_le_bytes());
    }
    let cubin = Cubin::read(&bytes).unwrap();
    let (_, hazards) = hazards_of(&cubin);
    (cubin, hazards.into_iter().map(|hazard| hazard.kind).collect())
}

#[test]
fn a_stall_that_is_too_short_is_found() {
    // ISETP with twelve cycles before the branch on its predicate.
    let (cubin, kinds) = changed(ADD, &[(0x40, STALL, 4, 3)]);
    let kernel = &cubin.kernels[0].function;
    let isetp = words(cubin.code(kernel)).nth((0x40 / WORD_BYTES) as usize).unwrap();
    assert_eq!(Control::of(isetp).stall, 3);
    assert_eq!(kinds, [HazardKind::TooEarly { cycles: 3, needed: 12 }]);
}

#[test]
fn a_wait_that_is_left_out_is_found() {
    // The sum of two loaded values.
    let (_, kinds) = changed(ADD, &[(0xc0, WAITS, 6, 0)]);
    assert_eq!(kinds, [HazardKind::NotWaited { barrier: 2 }; 2]);
    let (_, kinds) = changed(ADD, &[(0x90, WRITE_BARRIER, 3, 7), (0xa0, WRITE_BARRIER, 3, 7)]);
    assert_eq!(kinds, [HazardKind::NoBarrier; 2]);
    // The first of two loads may leave its barrier to the second, behind which it cannot come.
    let (_, kinds) = changed(ADD, &[(0x90, WRITE_BARRIER, 3, 7)]);
    assert_eq!(kinds, []);
}

/// Most waits of a kernel are needed: without them there are hazards.
#[test]
fn waits_of_a_tiled_product_are_needed() {
    for bytes in [&include_bytes!("data/matmul_tiled_75.cubin")[..], include_bytes!("data/matmul_tiled_90a.cubin")] {
        let cubin = Cubin::read(bytes).unwrap();
        let waiting: Vec<u64> = words(cubin.code(&cubin.kernels[0].function))
            .enumerate()
            .filter(|(_, word)| Control::of(*word).wait != 0)
            .map(|(index, _)| index as u64 * WORD_BYTES)
            .collect();
        let found = waiting.iter().filter(|&&at| !changed(bytes, &[(at, WAITS, 6, 0)]).1.is_empty()).count();
        assert!(waiting.len() > 10 && found * 10 >= waiting.len() * 9, "{found} of {}", waiting.len());
    }
}
