//! What bounds a kernel, in words, and what to change about it.
//!
//! Nothing is advised that the counts do not support: a change is a row of [`CANDIDATES`], which looks at the counts and
//! proposes what-if questions or nothing, and it is listed when the model's answer to its question is at least
//! [`LEAST_GAIN`] faster.
//!
//! A change of the launch, or of single operations, is answered by running the kernel again ([`Trial`]) and predicting what
//! came of it; a change of the code by simulating what warps would execute (`rewrite`). Models that do not follow warps are
//! asked about changed counts.

mod candidate;
mod evidence;
mod launches;
mod needs;
mod place;
mod trial;

use std::sync::atomic::{AtomicUsize, Ordering};

use warplens_base::stop;
use warplens_model::scenario::Subject;
use warplens_model::workload::coalescing_rule;

use crate::whatif::{ask, speedup, subject};
use warplens_session::predict::{Analysis, GpuAnalysis, Occupancy, Options, Prediction, occupancy_of};
use warplens_session::profile::{BankRule, CoalescingRule, Profile};
use warplens_session::{CodeForm, Measurement};

use crate::glance::{self, Glance};
use crate::threads;
pub use crate::threads::{Fall, ThreadAdvice, Turn};
pub use candidate::CANDIDATES;
pub use evidence::Evidence;
pub use place::Place;
pub use trial::Trial;

/// Changes that gain less are not listed: time before over time after.
pub const LEAST_GAIN: f64 = 1.01;

/// One launch explained.
#[derive(Clone, PartialEq, Debug)]
pub struct Explanation {
    /// The counts and the predictions.
    pub analysis: Analysis,
    /// By GPU, in the order of the predictions.
    pub gpus: Vec<GpuExplanation>,
}

/// One launch explained on one GPU.
#[derive(Clone, PartialEq, Debug)]
pub struct GpuExplanation {
    /// The answer at a glance; none without one.
    pub glance: Option<Glance>,
    /// What bounds the kernel, by the prediction that speaks for the GPU; empty without one.
    pub evidence: Vec<Evidence>,
    /// What to change, the largest gain first.
    pub advice: Vec<Advice>,
    /// What the X-model says about the number of warps and its other quantities; none where it has no answer.
    pub threads: Option<ThreadAdvice>,
}

/// A change with what it gains.
#[derive(Clone, PartialEq, Debug)]
pub struct Advice {
    /// Which of [`CANDIDATES`] it is.
    pub id: &'static str,
    /// What to do, as a request.
    pub title: String,
    /// How that is done.
    pub how: &'static str,
    /// The model's answer as things are.
    pub before: Prediction,
    /// Its answer after the change.
    pub after: Prediction,
    /// Time before over time after.
    pub speedup: f64,
    /// Instructions that it concerns, the largest share first.
    pub places: Vec<Place>,
    /// The language whose lines they name.
    pub form: CodeForm,
    /// What else changes.
    pub side_effects: Vec<String>,
    /// Flags of `whatif` that ask the same question; empty where none can.
    pub question: Vec<String>,
}

/// Explains an analysed launch. With the program behind it, changes of the launch are tried, too.
pub fn explain(analysis: Analysis, options: Options, trial: Option<Trial<'_>>) -> Explanation {
    let gpus = analysis.gpus.iter().map(|gpu| match analysis.measurement.on(&gpu.machine) {
        Ok(own) => on_gpu(own, gpu, options, trial),
        Err(_) => GpuExplanation { glance: None, evidence: Vec::new(), advice: Vec::new(), threads: None },
    });
    let mut gpus: Vec<GpuExplanation> = gpus.collect();
    for (explained, gpu) in gpus.iter_mut().zip(&analysis.gpus) {
        explained.glance = glance::glance(&analysis, gpu, options);
    }
    Explanation { analysis, gpus }
}

fn on_gpu(own: &Measurement, gpu: &GpuAnalysis, options: Options, trial: Option<Trial<'_>>) -> GpuExplanation {
    let context = Context::new(own, gpu, options, trial);
    GpuExplanation {
        glance: None,
        evidence: context.as_ref().map_or_else(Vec::new, evidence::of),
        advice: context.as_ref().map_or_else(Vec::new, advice_of),
        threads: threads::of(&subject(own.recording(), &gpu.machine), options),
    }
}

/// What to change, the largest gain first; by the prediction that speaks for the GPU.
pub fn advice(measurement: &Measurement, gpu: &GpuAnalysis, options: Options, trial: Option<Trial<'_>>) -> Vec<Advice> {
    let Ok(own) = measurement.on(&gpu.machine) else { return Vec::new() };
    Context::new(own, gpu, options, trial).as_ref().map_or_else(Vec::new, advice_of)
}

/// What evidence and candidates look at.
struct Context<'a> {
    profile: &'a Profile,
    /// The language of the code that was counted.
    form: CodeForm,
    /// The subject without any change.
    as_is: Subject,
    prediction: &'a Prediction,
    occupancy: Option<&'a Occupancy>,
    rule: CoalescingRule,
    banks: BankRule,
    options: Options,
    trial: Option<Trial<'a>>,
}

impl<'a> Context<'a> {
    fn new(own: &'a Measurement, gpu: &'a GpuAnalysis, options: Options, trial: Option<Trial<'a>>) -> Option<Self> {
        let cc = gpu.machine.cc;
        Some(Self {
            profile: &own.profile,
            form: own.form(),
            as_is: subject(own.recording(), &gpu.machine),
            prediction: gpu.prediction()?,
            occupancy: gpu.occupancy.as_ref(),
            rule: coalescing_rule(cc, options.fermi_l1),
            banks: BankRule::of(u32::from(cc.major)),
            options,
            trial: trial.map(|trial| trial.on(&gpu.machine)),
        })
    }

    /// True where a simulation speaks for the GPU, so that changes of code are simulated.
    fn is_simulated(&self) -> bool {
        self.prediction.teg().is_some()
    }

    /// The occupancy of a changed launch.
    fn occupancy_of(&self, subject: &Subject) -> Option<Occupancy> {
        occupancy_of(&subject.profile.launch, &subject.machine, self.options)
    }
}

/// A proposal that gains this share of what the best one of its kind does is as good.
const AS_GOOD: f64 = 0.98;

/// Most proposals that are priced at once: each holds a changed recording.
const AT_ONCE: usize = 4;

/// Every candidate's best proposal that gains enough; of those that are as good, the first, which changes least.
fn advice_of(context: &Context<'_>) -> Vec<Advice> {
    let proposed: Vec<(&'static str, candidate::Proposal)> = CANDIDATES
        .iter()
        .flat_map(|candidate| (candidate.propose)(context).into_iter().map(|proposal| (candidate.id, proposal)))
        .collect();
    let mut priced = priced(context, &proposed);
    let mut advice: Vec<Advice> = Vec::new();
    for candidate in CANDIDATES {
        let own = || priced.iter().filter(|advice| advice.id == candidate.id);
        let best = own().map(|advice| advice.speedup).fold(0.0, f64::max);
        let enough = (AS_GOOD * best).max(LEAST_GAIN);
        let chosen = priced.iter().position(|advice| advice.id == candidate.id && advice.speedup >= enough);
        advice.extend(chosen.map(|at| priced.remove(at)));
    }
    advice.sort_by(|left, right| right.speedup.total_cmp(&left.speedup));
    advice
}

/// What the proposals gain, in their order, as many at once as there are threads to run on.
fn priced(context: &Context<'_>, proposals: &[(&'static str, candidate::Proposal)]) -> Vec<Advice> {
    let threads = context.trial.map_or(1, |trial| trial.options.threads).min(AT_ONCE);
    let next = AtomicUsize::new(0);
    let work = || {
        let taken = std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)));
        let taken = taken.map_while(|at| proposals.get(at).map(|proposal| (at, proposal)));
        taken.filter_map(|(at, (id, proposal))| Some((at, price(context, id, proposal)?))).collect::<Vec<_>>()
    };
    let mut priced = std::thread::scope(|scope| {
        let helpers: Vec<_> = (1..threads).map(|_| scope.spawn(stop::carried(work))).collect();
        let mut priced = work();
        for helper in helpers {
            priced.extend(helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        priced
    });
    priced.sort_by_key(|(at, _)| *at);
    priced.into_iter().map(|(_, advice)| advice).collect()
}

/// The subject as a proposal would have it.
fn changed(context: &Context<'_>, change: &candidate::Change) -> Option<Subject> {
    use candidate::Change;
    let measured = match change {
        Change::Edit(edit) => {
            let mut changed = context.as_is.clone();
            return edit(&mut changed).is_ok().then_some(changed);
        }
        Change::Launch(grid, block) => {
            context.trial?.launched(context.profile, (*grid, *block), &context.as_is.machine)?
        }
        Change::Ptx(ptx) => context.trial?.with_ptx(ptx.clone(), context.profile, &context.as_is.machine)?,
    };
    Some(subject(measured.recording(), &context.as_is.machine))
}

/// Asks the model about a proposal.
fn price(context: &Context<'_>, id: &'static str, proposal: &candidate::Proposal) -> Option<Advice> {
    let changed = changed(context, &proposal.change)?;
    let before = context.prediction;
    let after = ask(before.model, &changed, context.options).ok()?;
    let speedup = speedup(before, &after)?;
    let mut side_effects = proposal.side_effects.clone();
    let (old, new) = (context.occupancy.map(|now| now.share), context.occupancy_of(&changed).map(|then| then.share));
    if let (Some(old), Some(new)) = (old, new)
        && old != new
    {
        side_effects.push(format!("occupancy {:.1} % -> {:.1} % (in the estimate)", 100.0 * old, 100.0 * new));
    }
    Some(Advice {
        id,
        title: proposal.title.clone(),
        how: proposal.how,
        before: before.clone(),
        after,
        speedup,
        places: proposal.places.clone(),
        form: context.form,
        side_effects,
        question: proposal.question.clone(),
    })
}
