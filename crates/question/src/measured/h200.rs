//! Measured on an H200 by the project's own runners: its kernels to be measured, and products of matrices.
//!
//! The other tables of `validation/measured/h200` are given to the program by hand: its kernels are not in it.

use std::path::Path;

use super::counters::Counter;
use super::{Held, Kernels, parse};

macro_rules! ptx {
    ($($path:literal: $file:literal,)*) => {
        /// What the column `input` names, from the tables on.
        const PTX: &[(&str, &str)] =
            &[$(($path, include_str!(concat!("../../validation/", $file)))),*];
    };
}

ptx! {
    "ptx/abt_conflict.ptx": "measured/h200/ptx/abt_conflict.ptx",
    "ptx/abt_conflict_free.ptx": "measured/h200/ptx/abt_conflict_free.ptx",
    "ptx/applications.ptx": "measured/h200/ptx/applications.ptx",
    "ptx/black_scholes.ptx": "measured/h200/ptx/black_scholes.ptx",
    "ptx/black_scholes_7.ptx": "measured/h200/ptx/black_scholes_7.ptx",
    "ptx/gesummv.ptx": "measured/h200/ptx/gesummv.ptx",
    "ptx/histogram_atomics.ptx": "measured/h200/ptx/histogram_atomics.ptx",
    "ptx/layout_aos.ptx": "measured/h200/ptx/layout_aos.ptx",
    "ptx/layout_soa.ptx": "measured/h200/ptx/layout_soa.ptx",
    "ptx/learning.ptx": "measured/h200/ptx/learning.ptx",
    "ptx/linear.ptx": "measured/h200/ptx/linear.ptx",
    "ptx/mandelbrot.ptx": "measured/h200/ptx/mandelbrot.ptx",
    "ptx/matmul_naive.ptx": "measured/h200/ptx/matmul_naive.ptx",
    "ptx/matmul_tiled.ptx": "measured/h200/ptx/matmul_tiled.ptx",
    "ptx/memory.ptx": "measured/h200/ptx/memory.ptx",
    "ptx/products.ptx": "measured/h200/ptx/products.ptx",
    "ptx/products_80.ptx": "measured/h200/ptx/products_80.ptx",
    "ptx/products_half.ptx": "measured/h200/ptx/products_half.ptx",
    "ptx/reduction_shuffle.ptx": "measured/h200/ptx/reduction_shuffle.ptx",
    "ptx/sepia.ptx": "measured/h200/ptx/sepia.ptx",
    "ptx/signals.ptx": "measured/h200/ptx/signals.ptx",
    "ptx/simulations.ptx": "measured/h200/ptx/simulations.ptx",
    "ptx/sorting.ptx": "measured/h200/ptx/sorting.ptx",
    "ptx/sparse.ptx": "measured/h200/ptx/sparse.ptx",
    "ptx/stencils.ptx": "measured/h200/ptx/stencils.ptx",
    "ptx/svm.ptx": "measured/h200/ptx/svm.ptx",
    "ptx/text.ptx": "measured/h200/ptx/text.ptx",
    "ptx/vector_add.ptx": "measured/h200/ptx/vector_add.ptx",
    "../../sgemm/sm_86.ptx": "sgemm/sm_86.ptx",
    "../../tensor/half_gemm.ptx": "tensor/half_gemm.ptx",
}

const COUNTERS: &str = include_str!("../../validation/measured/h200/counters.csv");

/// The classes of the kernels are many, with a few rows each.
const CLASS: &str = "kernels of the suite";

pub(super) fn held() -> [Held; 3] {
    let of_suite =
        table("validation/measured/h200/profiled.csv", include_str!("../../validation/measured/h200/profiled.csv"));
    let ladder =
        table("validation/measured/h200/ladder.csv", include_str!("../../validation/measured/h200/ladder.csv"));
    let tensor =
        table("validation/measured/h200/tensor.csv", include_str!("../../validation/measured/h200/tensor.csv"));
    let mut held = [of_suite, ladder, tensor];
    for row in &mut held[0].rows {
        row.class = Some(CLASS.to_owned());
        row.counters = row.kernel.as_deref().map_or_else(Vec::new, counters);
    }
    held
}

/// What the profiler counted for a kernel of the suite. Requests of loads have those of local memory among them.
fn counters(kernel: &str) -> Vec<(Counter, f64)> {
    let mut lines = COUNTERS.lines().filter(|line| !line.starts_with('#'));
    let columns = lines.next().expect("the table has a header");
    let Some(line) = lines.find(|line| line.split(',').next() == Some(kernel)) else { return Vec::new() };
    let of = |column: &str| -> f64 {
        let mut fields = columns.split(',').zip(line.split(','));
        fields.find(|(name, _)| *name == column).and_then(|(_, field)| field.parse().ok()).expect("it was counted")
    };
    vec![
        (Counter::Instructions, of("instructions")),
        (Counter::GlobalLoads, of("l1_load_requests")),
        // The sum of all has what is no load and no store of shared memory.
        (Counter::SharedWavefronts, of("shared_load_wavefronts") + of("shared_store_wavefronts")),
        (Counter::DramBytes, of("dram_read_bytes") + of("dram_write_bytes")),
    ]
}

fn table(name: &'static str, text: &str) -> Held {
    let mut rows = parse(name, text, Path::new("")).expect("the table is the project's own");
    for row in &mut rows {
        let Some(Kernels::File(path)) = &row.input else { unreachable!("each row names its kernels") };
        let found = PTX.iter().find(|(name, _)| Path::new(name) == path);
        let &(name, ptx) = found.unwrap_or_else(|| panic!("{}: {} is not held", row.place(), path.display()));
        row.input = Some(Kernels::Held { name, ptx });
    }
    Held { name, rows, left_out: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_hold_all_rows_of_their_files() {
        for held in held() {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(held.name);
            let text = std::fs::read_to_string(path).unwrap();
            let lines = text.lines().filter(|line| !line.starts_with('#')).count();
            assert_eq!(held.rows.len(), lines - 1, "{}", held.name);
            assert!(held.rows.iter().all(|row| row.gpu == "h200" && row.set.is_some()), "{}", held.name);
        }
    }
}
