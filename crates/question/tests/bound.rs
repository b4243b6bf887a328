//! Nothing that was measured beats the speed of light: of each kernel on each GPU the fastest row of the project's tables.

use std::collections::BTreeMap;

use warplens_question::validate::{self, Request, Table};
use warplens_session::{Choice, ExecutionOptions, Progress, predict};

/// By how much a bound may be above what was measured: clocks were not recorded everywhere.
const TOLERANCE: f64 = 0.02;

/// Most kernels of a table: those of the convolution are written for each row, and many would take minutes.
const MOST: usize = 12;

/// Rows whose execution takes long, by what their name begins with: products of matrices on the K40.
const SLOW: &str = "product";

/// The fastest row of each kernel on each GPU; of many kernels, evenly spread ones.
fn fastest(mut table: Table) -> Table {
    let mut fastest: BTreeMap<(String, String), (f64, usize)> = BTreeMap::new();
    for (at, row) in table.rows().iter().enumerate() {
        let Some(kernel) = row.kernel.clone().filter(|kernel| !kernel.starts_with(SLOW)) else { continue };
        let best = fastest.entry((row.gpu.clone(), kernel)).or_insert((row.measured_us, at));
        if row.measured_us < best.0 {
            *best = (row.measured_us, at);
        }
    }
    let every = fastest.len().div_ceil(MOST).max(1);
    let wanted: Vec<usize> = fastest.values().map(|&(_, at)| at).step_by(every).collect();
    table.retain(|at, _| wanted.contains(&at));
    table
}

#[test]
fn nothing_measured_beats_the_speed_of_light() {
    let tables: Vec<Table> = validate::tables_of_project().into_iter().map(fastest).collect();
    let mut execution = ExecutionOptions::new();
    execution.threads = 2;
    let options = predict::Options::default();
    let choice = Choice::parse("speed-of-light").unwrap();
    let request = Request { choice, options, execution, gpus: None, code: Default::default() };
    let validation = validate::validate(&tables, &request, &Progress::default()).unwrap();
    let gpus: Vec<&str> = validation.pairs.iter().map(|pair| pair.gpu.as_str()).collect();
    for gpu in ["a6000", "h200", "k40", "rtx2080ti", "v100-pcie"] {
        assert!(gpus.iter().any(|of| of.starts_with(gpu)), "{gpu} is not among {gpus:?}");
    }
    let beaten: Vec<String> = validation
        .pairs
        .iter()
        .filter(|pair| pair.predicted_us > pair.measured_us * (1.0 + TOLERANCE))
        .map(|pair| {
            let (bound, measured, by) = (pair.predicted_us, pair.measured_us, pair.bound_by.as_deref().unwrap_or("-"));
            format!("{} on {}: bound {bound:.1} us ({by}), measured {measured:.1} us", pair.row, pair.gpu)
        })
        .collect();
    assert!(beaten.is_empty(), "of {} rows:\n{}", validation.pairs.len(), beaten.join("\n"));
}
