//! Measured on an H200 by the project's own runners: its kernels to be measured, and products of matrices.
//!
//! The other tables of `validation/measured/h200` are given to the program by hand: its kernels are not in it.

use std::path::Path;

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
    held[0].rows.iter_mut().for_each(|row| row.class = Some(CLASS.to_owned()));
    held
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
