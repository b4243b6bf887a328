//! In which range around a prediction the measured time lies: of the rows of its class, the middle 80 % of training make
//! the range, and held-out rows tell how many of them it holds.
//!
//! A class is what bounds the launch, the compute capability, and how much of it was simulated. Of n training rows in
//! the order of measured over predicted time, the range goes from the k-th to the k-th from the end, with k the whole
//! part of (n + 1) / 10: a further row of the same kind lies inside with a probability of at least 80 %, whatever the
//! distribution. With fewer than ten rows there is no such k, and no range.

use std::collections::BTreeMap;

use warplens_session::ranges;
pub use warplens_session::ranges::Class;

use super::Pair;
use crate::measured::Set;

/// The range of a class.
#[derive(Clone, PartialEq, Debug)]
pub struct Range {
    /// Whose it is.
    pub class: Class,
    /// Training rows.
    pub n_training: usize,
    /// The least and the greatest measured over predicted time; none where training rows are too few.
    pub factors: Option<[f64; 2]>,
    /// Held-out rows.
    pub n_held_out: usize,
    /// Training and held-out rows that lie in the range, where there is one.
    pub held: [usize; 2],
}

impl Range {
    /// The share of held-out rows that lie in the range, where there is one and there are such rows.
    pub fn coverage(&self) -> Option<f64> {
        self.factors.filter(|_| self.n_held_out > 0).map(|_| self.held[1] as f64 / self.n_held_out as f64)
    }
}

/// One in so many training rows lies beyond each end.
const BEYOND: usize = 10;

/// The ranges of all classes.
pub fn ranges(pairs: &[Pair]) -> Vec<Range> {
    let mut classes: BTreeMap<Class, [Vec<f64>; 2]> = BTreeMap::new();
    for pair in pairs {
        let (Some(class), Some(set)) = (pair.range_class(), pair.set) else { continue };
        let [training, held_out] = classes.entry(class).or_default();
        let of_set = match set {
            Set::Training => training,
            Set::HeldOut => held_out,
        };
        of_set.push(pair.measured_us / pair.predicted_us);
    }
    classes.into_iter().map(|(class, [training, held_out])| range(class, training, &held_out)).collect()
}

fn range(class: Class, mut training: Vec<f64>, held_out: &[f64]) -> Range {
    training.sort_by(f64::total_cmp);
    let beyond = (training.len() + 1) / BEYOND;
    let factors = (beyond > 0).then(|| [training[beyond - 1], training[training.len() - beyond]]);
    let n_in = |rows: &[f64]| {
        let is_in = |factor: &&f64| factors.is_some_and(|[least, greatest]| (least..=greatest).contains(*factor));
        rows.iter().filter(is_in).count()
    };
    let held = [n_in(&training), n_in(held_out)];
    Range { class, n_training: training.len(), factors, n_held_out: held_out.len(), held }
}

/// The table of the classes that have a range, as the program holds it.
pub fn table(all: &[Range]) -> String {
    let row = |range: &Range| {
        let (rows, others) = ((range.n_training, range.held[0]), (range.n_held_out, range.held[1]));
        Some(ranges::Row { class: range.class.clone(), factors: range.factors?, rows, others })
    };
    ranges::text(&all.iter().filter_map(row).collect::<Vec<_>>())
}

/// Of all held-out rows of a model that have a range, how many there are and which share of them lies in it.
pub fn coverage(ranges: &[Range], model: &str) -> Option<(usize, f64)> {
    let own = ranges.iter().filter(|range| range.class.model == model);
    let known = own.filter(|range| range.factors.is_some());
    let (n, n_in) = known.fold((0, 0), |(n, n_in), range| (n + range.n_held_out, n_in + range.held[1]));
    (n > 0).then(|| (n, n_in as f64 / n as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class() -> Class {
        Class { model: "m".into(), bound_by: "DRAM".into(), generation: "9.0".into(), simulated: None }
    }

    #[test]
    fn the_middle_of_training_is_the_range_and_held_out_rows_tell_its_coverage() {
        let training: Vec<f64> = (1..=19).rev().map(f64::from).collect();
        // The second from each end.
        let found = range(class(), training, &[1.0, 2.0, 18.0, 18.5]);
        assert_eq!((found.factors, found.held, found.coverage()), (Some([2.0, 18.0]), [17, 2], Some(0.5)));
        assert_eq!(coverage(&[found], "m"), Some((4, 0.5)));
    }

    #[test]
    fn few_rows_make_no_range() {
        let few = range(class(), vec![1.0; 8], &[1.0]);
        assert_eq!((few.factors, few.coverage(), few.n_held_out), (None, None, 1));
        assert_eq!(coverage(&[few], "m"), None);
        let enough = range(class(), vec![1.0; 9], &[]);
        assert_eq!((enough.factors, enough.coverage()), (Some([1.0, 1.0]), None));
    }
}
