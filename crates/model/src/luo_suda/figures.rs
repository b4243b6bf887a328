//! The data of the paper's figures 8 and 9: time over the warps of an SM.
//!
//! The amount of data stays the same while 1 to m warps run on each SM, so that each warp does a smaller part of it.
//!
//! The paper's means of the accuracy (14) over 1 to 32 warps on a GTX 260, beside each benchmark's share of computation
//! in all costs ([`PUBLISHED`]), are against measurements that it does not print.

use super::equations::accuracy;
use super::{Forms, Inputs};
use crate::Refusal;

/// A point of figure 8.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Point {
    /// Warps of an SM.
    pub warps: f64,
    /// CPD.
    pub cpd: f64,
    /// Cycles of all work.
    pub cycles: f64,
    /// Of those, waiting for accesses of the same period.
    pub t_c: f64,
    /// Of those, waiting for accesses of the period before.
    pub t_p: f64,
}

/// Figure 8: the time of work that `warps` warps make, done by 1 to m warps on each SM.
pub fn time_over_warps(inputs: &Inputs, warps: f64, forms: Forms) -> Result<Vec<Point>, Refusal> {
    let most = inputs.constants.m.floor() as u32;
    (1..=most)
        .map(|n_act| {
            let n_act = f64::from(n_act);
            let evaluation = inputs.evaluate_at(n_act, forms)?;
            let parts = warps / (n_act * inputs.n_sm);
            Ok(Point {
                warps: n_act,
                cpd: evaluation.cpd,
                cycles: parts * evaluation.walk.cycles(),
                t_c: parts * evaluation.walk.sum(|time| time.t_c),
                t_p: parts * evaluation.walk.sum(|time| time.t_p),
            })
        })
        .collect()
}

/// Figure 9: the accuracy (14) of predicted against measured times, and its arithmetic and geometric means.
pub fn accuracies(pairs: &[(f64, f64)]) -> (Vec<f64>, f64, f64) {
    let each: Vec<f64> = pairs.iter().map(|&(test, model)| accuracy(test, model)).collect();
    let n = each.len().max(1) as f64;
    let arithmetic = each.iter().sum::<f64>() / n;
    let geometric = (each.iter().map(|accuracy| accuracy.ln()).sum::<f64>() / n).exp();
    (each, arithmetic, geometric)
}

/// A benchmark of the paper, tables 3 and 4.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Published {
    /// The paper's name.
    pub name: &'static str,
    /// P, from 0 to 1.
    pub proportion: f64,
    /// Arithmetic mean of the accuracy over 1 to 32 warps.
    pub arithmetic: f64,
    /// Geometric mean.
    pub geometric: f64,
}

/// Tables 3 and 4: the benchmarks on the GTX 260.
pub const PUBLISHED: [Published; 6] = [
    Published { name: "svm", proportion: 0.2623, arithmetic: 0.956, geometric: 0.954 },
    Published { name: "matrix", proportion: 0.282, arithmetic: 0.907, geometric: 0.905 },
    Published { name: "linear", proportion: 0.4584, arithmetic: 0.91, geometric: 0.908 },
    Published { name: "sepia", proportion: 0.5297, arithmetic: 0.939, geometric: 0.938 },
    Published { name: "blackscholes-7", proportion: 0.7662, arithmetic: 0.826, geometric: 0.825 },
    Published { name: "blackscholes", proportion: 0.8697, arithmetic: 0.884, geometric: 0.881 },
];
