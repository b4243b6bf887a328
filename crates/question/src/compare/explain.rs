//! What makes the difference between two predictions: the terms that change, and the counts and machine parameters that
//! stand behind them.

use warplens_session::machines::{ParameterRead, Unit, Value};
use warplens_session::predict::{Combine, ModelId, Prediction, Resource};

use super::{Counts, Entry};

/// Changes of a count by less than this share explain nothing.
const NOTABLE: f64 = 0.02;

/// The difference between an entry and the baseline.
#[derive(Clone, PartialEq, Debug)]
pub struct Explanation {
    /// Position of the variant.
    pub variant: usize,
    /// Position of the GPU.
    pub gpu: usize,
    /// The model.
    pub model: ModelId,
    /// Microseconds of the baseline.
    pub before_us: f64,
    /// Microseconds of the entry.
    pub after_us: f64,
    /// How the terms make the time.
    pub combine: Combine,
    /// The terms, those that change most first.
    pub terms: Vec<TermChange>,
    /// Counts that bear on the first term and change, most first.
    pub counts: Vec<CountChange>,
    /// Machine parameters of the first term that change, most first.
    pub parameters: Vec<ParameterChange>,
}

/// A term before and after.
#[derive(Clone, PartialEq, Debug)]
pub struct TermChange {
    /// The term.
    pub name: &'static str,
    /// Its resource.
    pub resource: Resource,
    /// Microseconds of the baseline; 0 where it has no such term.
    pub before_us: f64,
    /// Microseconds of the entry.
    pub after_us: f64,
}

/// A count before and after.
#[derive(Clone, PartialEq, Debug)]
pub struct CountChange {
    /// The count in words.
    pub name: &'static str,
    /// Of the baseline.
    pub before: f64,
    /// Of the entry.
    pub after: f64,
}

/// A machine parameter before and after.
#[derive(Clone, PartialEq, Debug)]
pub struct ParameterChange {
    /// Its name.
    pub name: &'static str,
    /// The unit of both values.
    pub unit: Unit,
    /// Of the baseline's GPU.
    pub before: f64,
    /// Of the entry's GPU.
    pub after: f64,
}

impl TermChange {
    /// Microseconds that the term grows by.
    pub fn change_us(&self) -> f64 {
        self.after_us - self.before_us
    }
}

impl Explanation {
    /// The share of the difference that the first term makes, where the terms add up to the time.
    pub fn share(&self) -> Option<f64> {
        let whole = self.after_us - self.before_us;
        let first = self.terms.first()?.change_us();
        (self.combine == Combine::Sum && whole != 0.0).then_some(first / whole)
    }
}

/// The difference; none where a time is missing.
pub(super) fn explain(base: &Entry, own: &Entry) -> Option<Explanation> {
    let (before, after) = (base.result.as_ref().ok()?, own.result.as_ref().ok()?);
    let mut terms = term_changes(before, after);
    let is_longer = after.seconds().0 > before.seconds().0;
    // Terms that change against the difference hide it, they do not make it.
    let with_it = |term: &TermChange| (term.change_us() > 0.0) == is_longer;
    terms.sort_by(|left, right| {
        let key = |term: &TermChange| (with_it(term), term.change_us().abs());
        let ((left_with, left_size), (right_with, right_size)) = (key(left), key(right));
        right_with.cmp(&left_with).then(right_size.total_cmp(&left_size))
    });
    let counts = terms.first().map_or_else(Vec::new, |term| count_changes(term.resource, base, own));
    let parameters = terms.first().map_or_else(Vec::new, |term| parameter_changes(term.name, before, after));
    Some(Explanation {
        variant: own.variant,
        gpu: own.gpu,
        model: own.model,
        before_us: before.seconds().microseconds(),
        after_us: after.seconds().microseconds(),
        combine: after.combine,
        terms,
        counts,
        parameters,
    })
}

fn term_changes(before: &Prediction, after: &Prediction) -> Vec<TermChange> {
    let time = |prediction: &Prediction, name: &str| {
        let terms = prediction.terms.iter().filter(|term| term.name == name);
        // Not `sum`, which makes -0 of nothing.
        terms.map(|term| term.cycles.at(prediction.clock).microseconds()).fold(0.0, |sum, time| sum + time)
    };
    let mut changes: Vec<TermChange> = Vec::new();
    // A term may be bound by something else now: the later resource speaks, unless the term is gone.
    for term in after.terms.iter().chain(&before.terms) {
        if changes.iter().all(|change| change.name != term.name) {
            changes.push(TermChange {
                name: term.name,
                resource: term.resource,
                before_us: time(before, term.name),
                after_us: time(after, term.name),
            });
        }
    }
    for change in changes.iter_mut().filter(|change| change.after_us < change.before_us) {
        // What became less is what bound the baseline.
        let resource = before.terms.iter().find(|term| term.name == change.name).map(|term| term.resource);
        change.resource = resource.unwrap_or(change.resource);
    }
    changes
}

/// Name and value of every count that can stand behind a difference.
fn all_counts(entry: &Entry) -> [(&'static str, Option<f64>); 9] {
    let Counts {
        instructions,
        requests,
        transactions,
        bytes_moved,
        conflict_wavefronts,
        barriers,
        divergent_branches,
        independent_loads,
    } = entry.counts;
    let number = |count: Option<u64>| count.map(|count| count as f64);
    [
        ("instructions", number(instructions)),
        ("memory requests", number(requests)),
        ("memory transactions", number(transactions)),
        ("bytes moved", number(bytes_moved)),
        ("bank-conflict wavefronts", number(conflict_wavefronts)),
        ("barriers", number(barriers)),
        ("divergent branches", number(divergent_branches)),
        ("independent loads", independent_loads),
        ("occupancy", entry.occupancy),
    ]
}

/// The counts that bear on a resource.
fn behind(resource: Resource) -> &'static [&'static str] {
    const MEMORY: &[&str] =
        &["memory requests", "memory transactions", "bytes moved", "independent loads", "occupancy"];
    match resource {
        Resource::SharedMemory => &["bank-conflict wavefronts"],
        Resource::Barrier => &["barriers", "occupancy"],
        Resource::Launch => &[],
        Resource::DramBandwidth => &["bytes moved", "memory transactions"],
        Resource::MemoryTransactions => &["memory transactions", "memory requests"],
        Resource::DramLatency => MEMORY,
        _ => &["instructions", "divergent branches"],
    }
}

fn count_changes(resource: Resource, base: &Entry, own: &Entry) -> Vec<CountChange> {
    let names = behind(resource);
    let pairs = all_counts(base).into_iter().zip(all_counts(own));
    let changes = pairs
        .filter(|((name, _), _)| names.contains(name))
        .filter_map(|((name, before), (_, after))| Some(CountChange { name, before: before?, after: after? }));
    most_changed(changes.collect(), |change| (change.before, change.after))
}

fn parameter_changes(term: &str, before: &Prediction, after: &Prediction) -> Vec<ParameterChange> {
    let keys = after.terms.iter().filter(|own| own.name == term).flat_map(|own| &own.parameters);
    let read = |prediction: &Prediction, key| -> Option<(f64, Unit)> {
        let found: &ParameterRead = prediction.parameters.iter().find(|read| read.key == key)?;
        match found.value {
            Value::Number(number) => Some((number, found.unit)),
            _ => None,
        }
    };
    let changes = keys.filter_map(|&key| {
        let ((before, unit), (after, other)) = (read(before, key)?, read(after, key)?);
        (unit == other).then_some(ParameterChange { name: key.name(), unit, before, after })
    });
    most_changed(changes.collect(), |change| (change.before, change.after))
}

/// Those that change, by the factor of their change.
fn most_changed<T>(changes: Vec<T>, values: impl Fn(&T) -> (f64, f64)) -> Vec<T> {
    let factor = |change: &T| match values(change) {
        (before, after) if before == after => 0.0,
        (before, after) if before <= 0.0 || after <= 0.0 => f64::INFINITY,
        (before, after) => (after / before).ln().abs(),
    };
    let mut changes: Vec<T> = changes.into_iter().filter(|change| factor(change) > NOTABLE).collect();
    changes.sort_by(|left, right| factor(right).total_cmp(&factor(left)));
    changes
}
