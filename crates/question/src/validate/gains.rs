//! Whether changes gain what a model says: the measured time of a kernel over that of its change, beside the same of the
//! predicted times.

use std::collections::BTreeMap;

use super::Pair;
use crate::measured::Set;

/// Two rows that do the same work, of which one is a change of the other, as one model predicts them.
#[derive(Clone, PartialEq, Debug)]
pub struct Gain {
    /// Whose prediction it is.
    pub model: String,
    /// Label of the GPU.
    pub gpu: String,
    /// The kernel before.
    pub from: String,
    /// Its row.
    pub from_row: String,
    /// The kernel that does the work instead.
    pub to: String,
    /// Its row.
    pub to_row: String,
    /// Training where both rows are; held out where one of them is.
    pub set: Option<Set>,
    /// Measured time before over that after: above 1 where the change is faster.
    pub measured: f64,
    /// Predicted time before over that after.
    pub predicted: f64,
}

/// By how much a predicted gain may be off to count as close.
pub const CLOSE: f64 = 0.25;

impl Gain {
    /// The predicted gain over the measured one, less 1.
    pub fn error(&self) -> f64 {
        self.predicted / self.measured - 1.0
    }

    /// Whether it is off by at most [`CLOSE`].
    pub fn is_close(&self) -> bool {
        self.error().abs() <= CLOSE
    }
}

/// The gains of all changes whose rows both have a prediction of the same model: by model, in the order of the rows.
pub fn gains(pairs: &[Pair]) -> Vec<Gain> {
    let known: BTreeMap<(&str, &str), &Pair> =
        pairs.iter().map(|pair| ((pair.model.as_str(), pair.row.as_str()), pair)).collect();
    let gain = |to: &Pair| {
        let from = known.get(&(to.model.as_str(), to.instead_of.as_deref()?))?;
        Some(Gain {
            model: to.model.clone(),
            gpu: to.gpu.clone(),
            from: from.kernel.clone(),
            from_row: from.row.clone(),
            to: to.kernel.clone(),
            to_row: to.row.clone(),
            set: if from.set == to.set { to.set } else { Some(Set::HeldOut) },
            measured: from.measured_us / to.measured_us,
            predicted: from.predicted_us / to.predicted_us,
        })
    };
    let mut gains: Vec<Gain> = pairs.iter().filter_map(gain).collect();
    gains.sort_by(|left, right| left.model.cmp(&right.model));
    gains
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use warplens_model::Options;
    use warplens_session::{Choice, ExecutionOptions, Progress};

    use super::super::{Request, Table, validate};
    use super::*;
    use crate::measured;

    #[test]
    fn gains_are_those_of_rows_that_both_have_a_prediction() {
        let text = "gpu,kernel,measured_us,predicted_us,model,set,instead_of\n\
                    h200,slow,10,12,teg,training,\nh200,fast,5,4,teg,held-out,2\nh200,none,1,,teg,training,3\n\
                    h200,last,4,4,roofline,training,3\n";
        let rows = measured::parse("t.csv", text, Path::new("")).unwrap();
        let table = Table { name: "t.csv".into(), rows, left_out: None };
        let request = Request {
            choice: Choice::All,
            options: Options::default(),
            execution: ExecutionOptions::new(),
            gpus: None,
            code: Default::default(),
        };
        let found = validate(&[table], &request, &Progress::default()).unwrap().gains;
        let [gain] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((gain.from.as_str(), gain.to.as_str(), gain.set), ("slow", "fast", Some(Set::HeldOut)));
        assert_eq!((gain.measured, gain.predicted), (2.0, 3.0));
        assert!((gain.error() - 0.5).abs() < 1e-12 && !gain.is_close());
    }
}
