//! Which of two variants of a kernel is faster: the thesis's FMM rows, as measured and as predicted, with each term and
//! without.

use std::path::PathBuf;

use toml::{Table, Value};
use warplens_machine::builtin;
use warplens_model::{Given, Options, find};

/// A variant with what was measured and what the thesis predicted, in milliseconds.
struct Row {
    name: String,
    actual: f64,
    thesis: f64,
    given: Given,
}

fn number(value: &Value) -> f64 {
    value.as_float().or(value.as_integer().map(|whole| whole as f64)).unwrap()
}

fn rows() -> Vec<Row> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/fmm_64_threads.toml");
    let file: Table = std::fs::read_to_string(path).unwrap().parse().unwrap();
    let row = |kernel: &Value| {
        let inputs = kernel["inputs"].as_table().unwrap();
        let mut given: Given = inputs.iter().map(|(name, value)| (name.clone(), number(value))).collect();
        given.extend([("threads_per_block".to_owned(), 64.0), ("blocks".to_owned(), 585.0)]);
        Row {
            name: kernel["name"].as_str().unwrap().to_owned(),
            actual: number(&kernel["actual_ms"]),
            thesis: number(&kernel["predicted_ms"]),
            given,
        }
    };
    file["kernel"].as_array().unwrap().iter().map(row).collect()
}

/// Milliseconds that the model predicts with the options called `off`.
fn predicted(rows: &[Row], off: &[&str]) -> Vec<f64> {
    let model = find("analyzer").unwrap();
    let machine = builtin::machine("c1060").unwrap().unwrap();
    let mut options = Options::default();
    for name in off {
        options.set(model, name).unwrap();
    }
    rows.iter().map(|row| model.evaluate(&row.given, Some(&machine), &options).unwrap().seconds().0 * 1e3).collect()
}

/// Of all pairs those in which both say the same: (which one is faster, the thesis's sign: faster by over 10 %, alike,
/// slower by over 10 %).
fn agreeing(actual: &[f64], predicted: &[f64]) -> (usize, usize) {
    let sign = |times: &[f64], a: usize, b: usize| match times[b] / times[a] {
        ratio if ratio > 1.1 => 1,
        ratio if ratio < 1.0 / 1.1 => -1,
        _ => 0,
    };
    let pairs = || (0..actual.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
    let strict = pairs().filter(|&(a, b)| (actual[a] < actual[b]) == (predicted[a] < predicted[b])).count();
    let signs = pairs().filter(|&(a, b)| sign(actual, a, b) == sign(predicted, a, b)).count();
    (strict, signs)
}

fn mean_error(actual: &[f64], predicted: &[f64]) -> f64 {
    let errors = actual.iter().zip(predicted).map(|(actual, predicted)| (predicted / actual - 1.0).abs());
    100.0 * errors.sum::<f64>() / actual.len() as f64
}

/// Before and after: 9 of 15 pairs in the measured direction without the terms, 13 with them. What stays wrong is prefetch
/// against baseline and against rsqrt, measured 5 % and 3 % faster: its requests are 0.5 % more, the transactions bound all
/// three kernels, and no term says why they should be served faster. That rsqrt beats baseline is right by a millionth.
#[test]
fn variants_of_fmm_come_out_in_the_measured_direction() {
    let rows = rows();
    assert_eq!(rows.len(), 6);
    let actual: Vec<f64> = rows.iter().map(|row| row.actual).collect();
    let outcome = |off: &[&str]| {
        let times = predicted(&rows, off);
        let (directions, signs) = agreeing(&actual, &times);
        (directions, signs, (10.0 * mean_error(&actual, &times)).round() / 10.0)
    };
    // (pairs of 15 in the measured direction, pairs of 15 with the measured sign, mean error in percent)
    assert_eq!(outcome(&["full-merging", "no-sfu-overlap", "no-in-warp-overlap"]), (9, 9, 17.8), "none of the terms");
    assert_eq!(outcome(&[]), (13, 14, 6.6), "all of the terms");
    assert_eq!(outcome(&["full-merging"]), (13, 12, 16.0), "without the adaptive factor of duplicate loads");
    assert_eq!(outcome(&["no-sfu-overlap"]), (11, 13, 12.5), "without special functions beside others");
    assert_eq!(outcome(&["no-in-warp-overlap"]), (13, 14, 6.6), "without overlap inside of a warp");
    // The thesis, which sets factors by hand.
    let thesis: Vec<f64> = rows.iter().map(|row| row.thesis).collect();
    assert_eq!(agreeing(&actual, &thesis), (15, 14));
}

#[test]
fn the_wrong_directions_are_those_of_prefetch() {
    let rows = rows();
    let times = predicted(&rows, &[]);
    let mut wrong = Vec::new();
    for (a, first) in rows.iter().enumerate() {
        for (b, second) in rows.iter().enumerate() {
            if first.actual < second.actual && times[a] >= times[b] {
                wrong.push((first.name.as_str(), second.name.as_str()));
            }
        }
    }
    assert_eq!(wrong, [("prefetch", "baseline"), ("prefetch", "rsqrt")]);
}
