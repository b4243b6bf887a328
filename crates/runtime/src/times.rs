//! Predicted times of launches, each case simulated once.
//!
//! A case is a kernel with a shape and what it executed. A launch with the same kernel, shape and parameters as one that
//! was counted is expected to do the same work, and only its work is looked at: if that is the same too, so is its time.
//! Where a kernel of one shape goes on to do other work, only the first few cases are counted and simulated; beyond them
//! a launch gets the time of the case with the nearest work, in proportion to it, and the report says so.

use std::collections::BTreeMap;

use warplens_session::Measurement;
use warplens_session::machines::Machine;
use warplens_session::predict::{self, Choice, Options};
use warplens_session::profile::Profile;
use warplens_session::served::{Work, work_of};
use warplens_session::trail::{Executed, TimeOn};

use crate::handles::Handle;
use crate::launch::Request;

/// Cases of a kernel and a shape that are simulated.
const MOST_CASES: usize = 4;
/// Sets of parameters of a kernel and a shape that are counted: each costs what counting costs, and often nothing is new.
const MOST_COUNTED: usize = 16;
/// This share of the sample's limit is executed of a kernel and a shape before more like it is left out; half of the part
/// that is executed of one large launch.
const SAMPLED_SHARE: u64 = 8;

/// A kernel and a shape.
pub(crate) type Key = (Handle, [u32; 3], [u32; 3], Option<[u32; 3]>, u64);

/// The key of a launch.
pub(crate) fn key_of(request: &Request) -> Key {
    (request.function, request.grid, request.block, request.cluster, request.dynamic_shared)
}

/// How a launch is executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Plan {
    /// It is counted.
    Measure,
    /// Only its work is looked at.
    Run,
    /// It is left out: its results are not wanted, and enough like it have been executed.
    Skip,
}

/// The time of a launch.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Timed {
    /// Number of its case.
    pub(crate) case: u32,
    /// Seconds on the first GPU; none where no model answers.
    pub(crate) seconds: Option<f64>,
    /// By what they are multiplied.
    pub(crate) scale: f64,
    /// What was predicted, where the case is new.
    pub(crate) new: Option<Vec<TimeOn>>,
    /// How much was executed.
    pub(crate) executed: Executed,
}

/// What was simulated.
struct Case {
    number: u32,
    work: Work,
    profile: Profile,
    seconds: Option<f64>,
}

impl Case {
    /// A launch that takes its time.
    fn timed(&self, scale: f64, executed: Executed) -> Timed {
        Timed { case: self.number, seconds: self.seconds, scale, new: None, executed }
    }
}

/// What is known of a kernel and a shape.
#[derive(Default)]
struct Known {
    cases: Vec<Case>,
    /// Parameters that were counted, with the case that they made.
    counted: Vec<(Vec<u8>, usize)>,
    /// Thread instructions that were executed.
    executed: u64,
    /// The share of the SMs that it fills, once somebody has asked.
    share_of_sms: Option<f64>,
}

/// All cases of a process.
pub(crate) struct Times {
    known: BTreeMap<Key, Known>,
    n_cases: u32,
    /// Thread instructions of a kernel and a shape, beyond which launches like those before are left out.
    sample: Option<u64>,
    /// How the models answer.
    options: Options,
}

impl Times {
    /// No case yet.
    pub(crate) fn new(sample: Option<u64>, options: Options) -> Self {
        Self { known: BTreeMap::new(), n_cases: 0, sample, options }
    }

    /// How a launch is to be executed.
    pub(crate) fn plan(&self, key: &Key, parameters: &[u8]) -> Plan {
        let Some(Known { cases, counted, executed, .. }) = self.known.get(key) else { return Plan::Measure };
        let is_new = counted.len() < MOST_COUNTED && !counted.iter().any(|(known, _)| known == parameters);
        if is_new && cases.len() < MOST_CASES {
            Plan::Measure
        } else if self.sample.is_some_and(|limit| *executed >= limit / SAMPLED_SHARE) {
            Plan::Skip
        } else {
            Plan::Run
        }
    }

    /// The share of the SMs that launches with a key fill: none until it is kept.
    pub(crate) fn share_of_sms(&self, key: &Key) -> Option<f64> {
        self.known.get(key)?.share_of_sms
    }

    /// Keeps it.
    pub(crate) fn keep_share_of_sms(&mut self, key: &Key, share: f64) {
        self.known.entry(*key).or_default().share_of_sms = Some(share);
    }

    /// The time of a launch that was counted.
    pub(crate) fn measured(
        &mut self,
        key: &Key,
        parameters: &[u8],
        measurement: Measurement,
        machines: &[Machine],
    ) -> Timed {
        let known = self.known.entry(*key).or_default();
        let work = work_of(&measurement).unwrap_or(Work { warp_instructions: 0, thread_instructions: 0 });
        known.executed += work.thread_instructions;
        let is_part = self.sample.is_some()
            && measurement.profile.coverage.ctas_executed < measurement.profile.coverage.ctas_total;
        let executed = if is_part { Executed::Part } else { Executed::Whole };
        let like = known.cases.iter().position(|case| case.profile == measurement.profile);
        known.counted.push((parameters.to_vec(), like.unwrap_or(known.cases.len())));
        if let Some(case) = like.map(|index| &known.cases[index]) {
            return case.timed(1.0, executed);
        }
        let analysis = predict::predict(measurement, machines, &Choice::Auto, self.options);
        let answers: Vec<TimeOn> = analysis.gpus.iter().map(answer).collect();
        let seconds = answers.first().and_then(|answer| answer.seconds);
        let number = self.n_cases;
        self.n_cases += 1;
        known.cases.push(Case { number, work, profile: analysis.measurement.profile, seconds });
        Timed { case: number, seconds, scale: 1.0, new: Some(answers), executed }
    }

    /// The time of a launch of which only the work is known. One like it was counted before.
    pub(crate) fn ran(&mut self, key: &Key, work: Work) -> Timed {
        let known = self.known.entry(*key).or_default();
        known.executed += work.thread_instructions;
        let cases = &known.cases;
        let distance = |case: &&Case| case.work.warp_instructions.abs_diff(work.warp_instructions);
        let same = cases.iter().find(|case| case.work == work);
        let Some(case) = same.or_else(|| cases.iter().min_by_key(distance)) else {
            return Timed { case: 0, seconds: None, scale: 1.0, new: None, executed: Executed::Whole };
        };
        let ratio = work.warp_instructions as f64 / case.work.warp_instructions.max(1) as f64;
        let scale = if same.is_some() { 1.0 } else { ratio };
        case.timed(scale, Executed::Whole)
    }

    /// The time of a launch that was left out: that of the last one with its parameters, else of the last one.
    pub(crate) fn skipped(&self, key: &Key, parameters: &[u8]) -> Timed {
        let known = self.known.get(key);
        let same =
            |known: &&Known| known.counted.iter().rev().find(|(own, _)| own == parameters).map(|(_, case)| *case);
        let case = known.and_then(|known| known.cases.get(same(&known).unwrap_or(known.cases.len() - 1)));
        let case = case.expect("only launches like one that was counted are left out");
        case.timed(1.0, Executed::Nothing)
    }
}

fn answer(gpu: &predict::GpuAnalysis) -> TimeOn {
    let prediction = gpu.prediction();
    let refused = || gpu.answers.iter().find_map(|answer| answer.result.as_ref().err()).map(ToString::to_string);
    TimeOn {
        gpu: gpu.machine.id.clone(),
        seconds: prediction.map(|prediction| prediction.seconds().0),
        model: prediction.map(|prediction| prediction.model.name().to_owned()),
        bound_by: prediction.map(|prediction| prediction.limiter().name().to_owned()),
        refused: if prediction.is_none() { refused() } else { None },
    }
}
