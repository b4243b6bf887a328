//! Predictions against measured times; these come from a [table](crate::measured::parse).

use warplens_base::error::{Error, Result};
use warplens_launch::Launch;
use warplens_model::Options;
use warplens_session::machines::{self, ComputeCapability, Machine};
use warplens_session::predict::{Choice, measured_on};
use warplens_session::toolchain::Search;
use warplens_session::{ExecutionOptions, Generation, Measurement, Progress};

use crate::measured::{Kernels, Row};

/// All pairs of times.
#[derive(Clone, PartialEq, Debug)]
pub struct Accuracy {
    /// The pairs, in the order of the file.
    pub pairs: Vec<Pair>,
    /// Rows without a prediction, with the reason.
    pub refused: Vec<String>,
    /// Mean of |predicted - measured| / measured.
    pub mean_error: f64,
    /// Geometric mean of the larger over the smaller of both times, less 1.
    pub geometric_error: f64,
    /// Pairs whose prediction is within 10 % of the measurement.
    pub within_tenth: usize,
}

/// A measurement and its prediction.
#[derive(Clone, PartialEq, Debug)]
pub struct Pair {
    /// The kernel, or the name of the row.
    pub kernel: String,
    /// Identifier of the GPU.
    pub gpu: String,
    /// Microseconds.
    pub measured_us: f64,
    /// Microseconds.
    pub predicted_us: f64,
}

/// What it takes to predict rows.
#[derive(Clone, Debug)]
pub struct Request {
    /// Which models answer.
    pub choice: Choice,
    /// Their options.
    pub options: Options,
    /// How kernels are executed.
    pub execution: ExecutionOptions,
}

/// What rows that share an execution have in common.
type Same<'r> =
    (Option<&'r Kernels>, Option<&'r std::path::PathBuf>, Option<&'r Launch>, Option<&'r std::ops::Range<u32>>);

/// Predicts what is not predicted yet, and compares.
pub fn accuracy(rows: &[Row], request: &Request, progress: &Progress) -> Result<Accuracy> {
    let mut measured: Vec<(Same<'_>, Vec<Measurement>)> = Vec::new();
    let (mut pairs, mut refused) = (Vec::new(), Vec::new());
    let gpus: Vec<Machine> = rows.iter().filter_map(|row| machines::one(&row.gpu).ok()).collect();
    let traced_for = request.choice.traced(&gpus);
    let generations = Generation::of_all(&gpus);
    let execution = ExecutionOptions { traced_for, generations, ..request.execution.clone() };
    let search = Search::from_environment();
    for row in rows {
        let named = row.kernel.clone();
        if let Some(predicted_us) = row.predicted_us {
            let kernel = named.unwrap_or_else(|| format!("line {}", row.line));
            pairs.push(Pair { kernel, gpu: row.gpu.clone(), measured_us: row.measured_us, predicted_us });
            continue;
        }
        let machine = machines::one(&row.gpu)?;
        let same = (row.input.as_ref(), row.launch_file.as_ref(), row.launch.as_ref(), row.ctas.as_ref());
        let at = match measured.iter().position(|(of, _)| *of == same) {
            Some(at) => at,
            None => {
                let cc = machine.cc.max(ComputeCapability::new(7, 5));
                let program = row.program(&cc.target(), &search)?;
                measured.push((same, row.measure(&program, &execution, &search, progress)?));
                measured.len() - 1
            }
        };
        let measurement = row.chosen(&measured[at].1)?;
        let answer = measured_on(measurement, &machine, &request.choice, row.options(request.options));
        let kernel = named.unwrap_or_else(|| measurement.kernel.demangled.clone());
        match answer.time() {
            Some(time) => {
                pairs.push(Pair { kernel, gpu: machine.id, measured_us: row.measured_us, predicted_us: time.0 * 1e6 });
            }
            None => {
                let reason = answer.answers.iter().find_map(|answer| answer.result.as_ref().err());
                let reason = reason.map_or_else(String::new, |refusal| format!(": {}", refusal.reason));
                refused.push(format!("{kernel} on {}{reason}", machine.id));
            }
        }
    }
    summary(pairs, refused)
}

/// What pairs of times say together.
pub fn summary(pairs: Vec<Pair>, refused: Vec<String>) -> Result<Accuracy> {
    if pairs.is_empty() {
        let error = Error::input("no measured time has a prediction");
        return Err(refused.into_iter().fold(error, Error::with_detail));
    }
    let n = pairs.len() as f64;
    let error = |pair: &Pair| (pair.predicted_us - pair.measured_us).abs() / pair.measured_us;
    let logarithms: f64 = pairs.iter().map(|pair| (pair.predicted_us / pair.measured_us).ln().abs()).sum();
    Ok(Accuracy {
        mean_error: pairs.iter().map(error).sum::<f64>() / n,
        geometric_error: (logarithms / n).exp() - 1.0,
        within_tenth: pairs.iter().filter(|pair| error(pair) <= 0.1).count(),
        pairs,
        refused,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_means_over_pairs() {
        let pair = |measured_us, predicted_us| Pair { kernel: "k".into(), gpu: "g".into(), measured_us, predicted_us };
        let accuracy = summary(vec![pair(10.0, 10.5), pair(10.0, 20.0)], Vec::new()).unwrap();
        assert!((accuracy.mean_error - 0.525).abs() < 1e-12);
        assert!((accuracy.geometric_error - (2.1f64.sqrt() - 1.0)).abs() < 1e-12);
        assert_eq!(accuracy.within_tenth, 1);
        assert!(summary(Vec::new(), vec!["x".into()]).is_err());
    }
}
