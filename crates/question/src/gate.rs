//! Gates: `time_us>100` breaches when a prediction is like that.

use warplens_base::error::{Error, Result};
use warplens_base::nearest;
use warplens_session::predict::{Analysis, GpuAnalysis};

/// A comparison with a number.
#[derive(Clone, PartialEq, Debug)]
pub struct Gate {
    text: String,
    quantity: String,
    compare: Compare,
    limit: f64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Compare {
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

/// Quantities that every prediction has.
const QUANTITIES: [&str; 7] =
    ["time_us", "cycles", "band_low_us", "band_high_us", "occupancy", "compute_throughput", "memory_throughput"];

impl Gate {
    /// Reads `QUANTITY OP NUMBER`, OP one of `<`, `<=`, `>`, `>=`.
    pub fn parse(text: &str) -> Result<Self> {
        let usage = || {
            Error::usage(format!("--fail-on {text}: write QUANTITY>NUMBER or QUANTITY<NUMBER"))
                .with_help("for example --fail-on 'time_us>100'")
        };
        let at = text.find(['<', '>']).ok_or_else(usage)?;
        let (quantity, rest) = text.split_at(at);
        let (compare, number) = match rest {
            rest if rest.starts_with("<=") => (Compare::LessEqual, &rest[2..]),
            rest if rest.starts_with(">=") => (Compare::GreaterEqual, &rest[2..]),
            rest if rest.starts_with('<') => (Compare::Less, &rest[1..]),
            rest => (Compare::Greater, &rest[1..]),
        };
        let limit: f64 = number.trim().parse().map_err(|_| usage())?;
        let quantity = quantity.trim();
        // A model's own quantities begin with a letter too; what no model has is found when the answers are there.
        if quantity.is_empty() || !limit.is_finite() {
            return Err(usage());
        }
        Ok(Self { text: text.to_owned(), quantity: quantity.to_owned(), compare, limit })
    }

    /// The GPUs on which the gate is breached, with the value there.
    pub fn breaches(&self, analyses: &[Analysis]) -> Result<Vec<(String, f64)>> {
        let mut breaches = Vec::new();
        let mut seen = false;
        for gpu in analyses.iter().flat_map(|analysis| &analysis.gpus) {
            if let Some(value) = self.value(gpu) {
                seen = true;
                if self.is_breached(value) {
                    breaches.push((gpu.machine.id.clone(), value));
                }
            }
        }
        let answered = analyses.iter().any(Analysis::has_answer);
        if !seen && answered {
            let error =
                Error::usage(format!("--fail-on {}: no prediction has a quantity `{}`", self.text, self.quantity));
            return Err(match nearest(&self.quantity, QUANTITIES) {
                Some(near) => error.with_help(format!("did you mean `{near}`?")),
                None => error.with_help(format!("every prediction has {}", QUANTITIES.join(", "))),
            });
        }
        Ok(breaches)
    }

    fn value(&self, gpu: &GpuAnalysis) -> Option<f64> {
        let prediction = gpu.prediction()?;
        match self.quantity.as_str() {
            "time_us" => Some(prediction.seconds().microseconds()),
            "cycles" => Some(prediction.time.0),
            "band_low_us" => gpu.band.map(|band| band.low.microseconds()),
            "band_high_us" => gpu.band.map(|band| band.high.microseconds()),
            "occupancy" => gpu.occupancy.as_ref().map(|occupancy| occupancy.share),
            "compute_throughput" => gpu.used().map(|shares| shares.compute),
            "memory_throughput" => gpu.used().map(|shares| shares.memory),
            name => prediction.quantity_called(name),
        }
    }

    fn is_breached(&self, value: f64) -> bool {
        match self.compare {
            Compare::Less => value < self.limit,
            Compare::LessEqual => value <= self.limit,
            Compare::Greater => value > self.limit,
            Compare::GreaterEqual => value >= self.limit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_compare_with_a_number() {
        let breached = |text: &str, value| Gate::parse(text).map(|gate| gate.is_breached(value)).ok();
        assert_eq!(breached("time_us>100", 100.0), Some(false));
        assert_eq!(breached("time_us >= 100", 100.0), Some(true));
        assert_eq!(breached("occupancy<0.5", 0.4), Some(true));
        assert_eq!(breached("occupancy<=0.5", 0.6), Some(false));
        for wrong in ["time_us", ">1", "time_us>", "time_us>fast", "time_us>inf"] {
            assert_eq!(breached(wrong, 0.0), None, "{wrong}");
        }
    }
}
