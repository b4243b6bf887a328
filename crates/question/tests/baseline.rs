//! Some rows of everything measured, predicted anew: their errors are not to be greater than those of
//! `validation/baseline.csv`. All rows are predicted by `cargo xtask validate`, which rewrites that file with `UPDATE=1`.

use std::collections::BTreeMap;

use warplens_question::measured::Row;
use warplens_question::validate::{self, Request, Table, baseline, ranges};
use warplens_session::{Choice, ExecutionOptions, Progress, predict};

/// By how much the mean error of a few rows may grow: rows differ, and small changes move single ones.
const TOLERANCE: f64 = 0.02;

/// Rows whose simulation takes long, by what their name begins with: products of matrices on the K40.
const SLOW: &str = "product";

/// Every so manieth row of a table, so that each GPU, class and set is among them.
fn some(mut table: Table) -> Table {
    let is_of_suite = table.rows().iter().any(|row| row.class.as_deref() == Some("kernels of the suite"));
    let every = match table.rows().len() {
        _ if is_of_suite => 12,
        0..100 => 4,
        100..200 => 30,
        _ => 41,
    };
    table.retain(|at, row| {
        let is_slow = row.kernel.as_ref().is_some_and(|kernel| kernel.starts_with(SLOW));
        at % every == 0 && !is_slow
    });
    table
}

#[test]
fn no_error_is_greater_than_that_of_the_baseline() {
    let tables: Vec<Table> = validate::tables_of_project().into_iter().map(some).collect();
    let mut execution = ExecutionOptions::new();
    execution.threads = 2;
    let options = predict::Options::default();
    let choice = Choice::parse("teg").unwrap();
    let request = Request { choice, options, execution, gpus: None, code: Default::default() };
    let validation = validate::validate(&tables, &request, &Progress::default()).unwrap();
    assert!(validation.pairs.len() > 30, "{}", validation.pairs.len());
    let before = baseline::of_project().unwrap();
    let worse = baseline::worse(&before, &tables, &validation, &request, TOLERANCE).unwrap();
    assert!(worse.is_empty(), "{worse:#?}\nif this is meant: UPDATE=1 cargo xtask validate");
}

#[test]
fn the_baseline_is_of_rows_that_there_are() {
    let tables = validate::tables_of_project();
    let rows: BTreeMap<String, &Row> = tables.iter().flat_map(Table::rows).map(|row| (row.place(), row)).collect();
    for of in baseline::of_project().unwrap().rows() {
        let row = rows.get(&of.place()).unwrap_or_else(|| panic!("{} is no row any more", of.place()));
        assert_eq!((&of.gpu, &of.class, of.set), (&row.gpu, &row.class, row.set), "{}", of.place());
        assert!((of.measured_us / row.measured_us - 1.0).abs() < 1e-5, "{}", of.place());
    }
}

/// Held-out rows tell whether ranges say what they claim: that the measured time lies in them with 80 %.
#[test]
fn ranges_hold_as_many_of_the_other_rows_as_they_claim() {
    let options = predict::Options::default();
    let request = Request {
        choice: Choice::Auto,
        options,
        execution: ExecutionOptions::new(),
        gpus: None,
        code: Default::default(),
    };
    let given = validate::validate(&[baseline::of_project().unwrap()], &request, &Progress::default()).unwrap();
    let (n_rows, share) = ranges::coverage(&given.ranges, "teg").expect("teg has ranges");
    assert!(n_rows >= 300, "{n_rows} held-out rows have a range");
    assert!((0.75..=0.90).contains(&share), "{share:.3} of {n_rows} held-out rows lie in the ranges");
}
