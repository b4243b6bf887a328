//! Predictions: one measurement, all GPUs, all models.

use std::sync::atomic::Ordering;

use warplens_base::nearest;
use warplens_base::units::Seconds;
pub use warplens_model::auto::{PREFERENCE, Selection};
pub use warplens_model::luo_suda::walk::{Walk, WalkRow};
use warplens_model::occupancy::{Carveout, CtaDemand, SharedLimit, SmLimits};
pub use warplens_model::occupancy::{Limiter, Occupancy};
pub use warplens_model::{
    Assumption, BadInput, Band, Combine, CountBasis, Given, InputField, Model, ModelId, OptionId, Options, Part,
    Prediction, Quantity, Recording, Refusal, Resource, Symbol, Term, Unit, band, check_given,
};
use warplens_model::{Input, Knobs, MODELS, Needs, auto, find, manual, point_name};

use crate::machines::{Machine, Strictness};
use crate::measurement::Measurement;
use crate::measurement::Statics;
use crate::progress::Progress;
use crate::ranges;
pub use crate::ranges::Range;
use warplens_base::error::{Error, Result};
use warplens_stats::{Count, LaunchShape, Profile};

/// Which models answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Choice {
    /// The preferred one of those that answer.
    Auto,
    /// Every model.
    All,
    /// These, in order.
    Named(Vec<ModelId>),
    /// These, in order, for somebody who waits: no other is asked, and the spread is theirs.
    Alone(Vec<ModelId>),
}

impl Choice {
    /// Reads `auto`, `all` or a comma list of names.
    pub fn parse(text: &str) -> Result<Self> {
        match text {
            "auto" => Ok(Self::Auto),
            "all" => Ok(Self::All),
            list => {
                let mut models = Vec::new();
                for name in list.split(',').map(str::trim) {
                    if matches!(name, "auto" | "all") {
                        return Err(Error::usage(format!("--model {list}: `{name}` stands alone")));
                    }
                    let id = model(name)?.id();
                    if !models.contains(&id) {
                        models.push(id);
                    }
                }
                Ok(Self::Named(models))
            }
        }
    }

    /// The GPUs for whose simulation warps have to be traced: all of them where a model needs that, else none.
    pub fn traced(&self, machines: &[Machine]) -> Vec<Machine> {
        let needs_it = self.candidates().iter().any(|model| model.needs() == Needs::Trace);
        if needs_it { machines.to_vec() } else { Vec::new() }
    }

    /// The models that may answer.
    pub fn candidates(&self) -> Vec<&'static (dyn Model + Sync)> {
        match self {
            Self::Auto | Self::All => MODELS.to_vec(),
            Self::Named(models) | Self::Alone(models) => models.iter().map(|id| id.model()).collect(),
        }
    }

    /// The same choice of these models, which it chose before.
    pub fn again(&self, models: Vec<ModelId>) -> Self {
        if matches!(self, Self::Alone(_)) { Self::Alone(models) } else { Self::Named(models) }
    }
}

/// The model called `name`.
pub fn model(name: &str) -> Result<&'static (dyn Model + Sync)> {
    find(name).ok_or_else(|| {
        let names = || MODELS.iter().map(|model| model.name());
        let error = Error::usage(format!("unknown model `{name}`"));
        match nearest(name, names()) {
            Some(near) => error.with_help(format!("did you mean `{near}`?")),
            None => error.with_help(format!("the models are {}", names().collect::<Vec<_>>().join(", "))),
        }
    })
}

/// Options by name, for those of the chosen models that have them; an option that none of them has is an error.
pub fn options(choice: &Choice, names: &[String], counts: CountBasis, strictness: Strictness) -> Result<Options> {
    let mut options = Options { counts, strictness, ..Options::default() };
    let candidates = choice.candidates();
    for name in names {
        let results: Vec<_> = candidates.iter().map(|model| options.set(*model, name)).collect();
        if results.iter().all(std::result::Result::is_err) {
            return Err(unknown_option(name));
        }
    }
    Ok(options)
}

fn unknown_option(name: &str) -> Error {
    let error = Error::usage(format!("no chosen model has an option `{name}`"));
    let has_it = |model: &&&(dyn Model + Sync)| Options::default().set(**model, name).is_ok();
    let others: Vec<&str> = MODELS.iter().filter(has_it).map(|model| model.name()).collect();
    if !others.is_empty() {
        return error.with_help(format!("models with this option: {}", others.join(", ")));
    }
    let known: Vec<&str> = OptionId::ALL.iter().map(|option| option.name()).collect();
    match nearest(name, known.iter().copied()) {
        Some(near) => error.with_help(format!("did you mean `{near}`?")),
        None => error.with_help(format!("the options are {}", known.join(", "))),
    }
}

/// Everything about one launch.
#[derive(Clone, PartialEq, Debug)]
pub struct Analysis {
    /// The counts.
    pub measurement: Measurement,
    /// Answers by GPU, in the order in which the GPUs were named.
    pub gpus: Vec<GpuAnalysis>,
}

/// The answers for one GPU.
#[derive(Clone, PartialEq, Debug)]
pub struct GpuAnalysis {
    /// The GPU.
    pub machine: Machine,
    /// What was asked for: one answer for `auto`, one of each model otherwise.
    pub answers: Vec<Answer>,
    /// What `auto` took, where it was asked to choose.
    pub selection: Option<Selection>,
    /// Spread of all models that answer, asked for or not.
    pub band: Option<Band>,
    /// Where the time lies by what was validated; none where too little was.
    pub range: Option<Range>,
    /// Residency of one SM; none where a limit of the GPU is not known.
    pub occupancy: Option<Occupancy>,
    /// Throughput over what the hardware could do in the predicted time, whatever the model; none without a prediction.
    pub speed_of_light: Option<Shares>,
    /// How busy the simulated SM was, where a simulation speaks for the GPU.
    pub busy: Option<Shares>,
}

/// The answer of one model.
#[derive(Clone, PartialEq, Debug)]
pub struct Answer {
    /// The model.
    pub model: ModelId,
    /// A time that explains itself, or what is missing.
    pub result: std::result::Result<Prediction, Refusal>,
}

/// Shares of what the hardware can do in a time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Shares {
    /// Of the busiest of the SM's issue slots and lanes.
    pub compute: f64,
    /// What that is.
    pub compute_resource: Resource,
    /// Of the memory interface.
    pub memory: f64,
}

impl GpuAnalysis {
    /// The answer that speaks for the GPU: of the preferred model among those that gave a time.
    pub fn prediction(&self) -> Option<&Prediction> {
        self.answers
            .iter()
            .filter_map(|answer| answer.result.as_ref().ok())
            .min_by_key(|prediction| rank(prediction.model))
    }

    /// How much of the GPU is used: as simulated, or else what each resource would take alone over the predicted time.
    pub fn used(&self) -> Option<Shares> {
        self.busy.or(self.speed_of_light)
    }

    /// The time of [`Self::prediction`].
    pub fn time(&self) -> Option<Seconds> {
        self.prediction().map(Prediction::seconds)
    }
}

impl Analysis {
    /// True when at least one model gave a time.
    pub fn has_answer(&self) -> bool {
        self.gpus.iter().any(|gpu| gpu.prediction().is_some())
    }
}

/// Asks models about a measured launch on GPUs.
pub fn predict(measurement: Measurement, machines: &[Machine], choice: &Choice, options: Options) -> Analysis {
    predict_watched(measurement, machines, choice, options, &Progress::default())
}

/// [`predict`], with a count of the GPUs that are done.
pub fn predict_watched(
    measurement: Measurement,
    machines: &[Machine],
    choice: &Choice,
    options: Options,
    progress: &Progress,
) -> Analysis {
    progress.total.fetch_add(machines.len() as u64, Ordering::Relaxed);
    let on_each = machines.iter().map(|machine| {
        let answers = measured_on(&measurement, machine, choice, options);
        progress.done.fetch_add(1, Ordering::Relaxed);
        answers
    });
    let mut gpus: Vec<GpuAnalysis> = on_each.collect();
    let said = measurement.statics.as_ref().map(Statics::assumptions).unwrap_or_default();
    for answer in gpus.iter_mut().flat_map(|gpu| &mut gpu.answers) {
        if let Ok(prediction) = &mut answer.result {
            prediction.assumptions.extend(said.iter().cloned());
        }
    }
    Analysis { measurement, gpus }
}

/// Position of a model in the order of preference; models that `auto` does not take come last.
fn rank(model: ModelId) -> usize {
    PREFERENCE.iter().position(|preferred| *preferred == model).unwrap_or(PREFERENCE.len())
}

/// The model with the most answers; of several, the one that comes first in `preference`. None without any answer.
pub fn most_answered(preference: &[ModelId], n_answered: impl Fn(ModelId) -> usize) -> Option<ModelId> {
    // The last of several maxima is taken: the list is walked from its end.
    let most = preference.iter().rev().copied().max_by_key(|model| n_answered(*model));
    most.filter(|model| n_answered(*model) > 0)
}

/// Asks models about a measured launch on one GPU; they all refuse where it does not run there.
pub fn measured_on(measurement: &Measurement, machine: &Machine, choice: &Choice, options: Options) -> GpuAnalysis {
    match measurement.on(machine) {
        Ok(own) => on_gpu(own.recording(), machine, choice, options),
        Err(refusal) => refused(&measurement.profile, machine, choice, options, &refusal),
    }
}

/// The answers of models that cannot be asked.
fn refused(profile: &Profile, machine: &Machine, choice: &Choice, options: Options, refusal: &Refusal) -> GpuAnalysis {
    let mut models = ModelId::ALL.to_vec();
    models.sort_by_key(|model| rank(*model));
    let asked = match choice {
        Choice::Auto => models[..1].to_vec(),
        Choice::All => models.clone(),
        Choice::Named(names) | Choice::Alone(names) => names.clone(),
    };
    let selection = Selection {
        model: models[0],
        answered: Vec::new(),
        refused: PREFERENCE.iter().map(|model| (*model, refusal.clone())).collect(),
    };
    GpuAnalysis {
        machine: machine.clone(),
        answers: asked.into_iter().map(|model| Answer { model, result: Err(refusal.clone()) }).collect(),
        selection: (*choice == Choice::Auto).then_some(selection),
        band: None,
        range: None,
        occupancy: occupancy(profile, machine, options),
        speed_of_light: None,
        busy: None,
    }
}

/// Asks models about counts on one GPU.
pub fn on_gpu(recording: Recording<'_>, machine: &Machine, choice: &Choice, options: Options) -> GpuAnalysis {
    let Recording { profile, traces } = recording;
    answers(&Input { profile, traces, options, knobs: Knobs::NONE }, machine, choice)
}

/// Asks models on one GPU.
pub fn answers(input: &Input<'_>, machine: &Machine, choice: &Choice) -> GpuAnalysis {
    let (profile, options) = (input.profile, input.options);
    let all = match choice {
        Choice::Auto => auto::Answers::with(&[], input, machine),
        Choice::All => auto::Answers::gather(input, machine),
        Choice::Named(models) => auto::Answers::with(models, input, machine),
        Choice::Alone(models) => auto::Answers::alone(models, input, machine),
    };
    // Models that do not ask how many CTAs an SM holds would give a time to a launch that cannot be made there.
    let fits = occupancy(profile, machine, options).is_none_or(|occupancy| occupancy.ctas > 0);
    if let (Choice::Auto, false, Some(refusal)) = (choice, fits, all.first_refusal()) {
        return refused(profile, machine, choice, options, refusal);
    }
    let answer = |(model, result): &(ModelId, std::result::Result<Prediction, Refusal>)| Answer {
        model: *model,
        result: result.clone(),
    };
    let answers: Vec<Answer> = match choice {
        Choice::Auto => {
            let (model, result) = all.chosen();
            vec![Answer { model, result: result.clone() }]
        }
        Choice::All => {
            let mut answers: Vec<Answer> = all.answers.iter().map(answer).collect();
            answers.sort_by_key(|answer| rank(answer.model));
            answers
        }
        Choice::Named(models) | Choice::Alone(models) => {
            let of = |id: &ModelId| all.answers.iter().find(|(model, _)| model == id).map(answer);
            models.iter().filter_map(of).collect()
        }
    };
    let band = match choice {
        Choice::Alone(models) if models.len() < 2 => None,
        _ => all.band(),
    };
    let bound =
        all.answers.iter().find(|(model, _)| *model == ModelId::Roofline).and_then(|(_, result)| result.as_ref().ok());
    let mut gpu = GpuAnalysis {
        machine: machine.clone(),
        answers,
        selection: (*choice == Choice::Auto).then(|| all.selection()),
        band,
        range: None,
        occupancy: occupancy(profile, machine, options),
        speed_of_light: None,
        busy: None,
    };
    gpu.speed_of_light = gpu.prediction().zip(bound).and_then(|(prediction, bound)| speed_of_light(prediction, bound));
    gpu.busy = gpu.prediction().and_then(busy);
    // What was validated are answers to plain questions.
    let plain = Options { strictness: options.strictness, ..Options::default() };
    let is_plain = input.knobs == Knobs::NONE && options == plain;
    gpu.range = gpu.prediction().filter(|_| is_plain).and_then(|prediction| ranges::of(prediction, machine));
    gpu
}

/// How busy the SM was that was simulated.
fn busy(prediction: &Prediction) -> Option<Shares> {
    let simulated = prediction.teg()?;
    let (compute_resource, compute) = simulated.busiest_compute()?;
    Some(Shares { compute, compute_resource, memory: simulated.memory_share() })
}

/// What each resource would take alone, over the predicted time.
fn speed_of_light(prediction: &Prediction, bound: &Prediction) -> Option<Shares> {
    let time = prediction.seconds().0;
    if time <= 0.0 {
        return None;
    }
    let share = |term: &Term| term.cycles.at(bound.clock).0 / time;
    let memory = bound.terms.iter().find(|term| term.resource == Resource::DramBandwidth).map_or(0.0, share);
    let compute = bound.terms.iter().filter(|term| term.resource != Resource::DramBandwidth);
    let busiest = compute.max_by(|left, right| left.cycles.0.total_cmp(&right.cycles.0))?;
    Some(Shares { compute: share(busiest), compute_resource: busiest.resource, memory })
}

fn occupancy(profile: &Profile, machine: &Machine, options: Options) -> Option<Occupancy> {
    if !profile.has(Count::Registers) || !profile.has(Count::SharedBytes) {
        return None;
    }
    occupancy_of(&profile.launch, machine, options)
}

/// The residency of a launch on one SM; none where a limit of the GPU is not known.
pub fn occupancy_of(launch: &LaunchShape, machine: &Machine, options: Options) -> Option<Occupancy> {
    let (limits, demand, limit) = residency(launch, machine, options).ok()?;
    Some(limits.occupancy(&demand, limit, Carveout::Default))
}

/// What the SMs of a GPU hold and what a CTA of a launch asks for; else the reason why that is not known.
pub fn residency(
    launch: &LaunchShape,
    machine: &Machine,
    options: Options,
) -> std::result::Result<(SmLimits, CtaDemand, SharedLimit), String> {
    let mut reader = warplens_machine::Reader::new(machine, options.strictness);
    let limits = SmLimits::read(&mut reader).map_err(|missing| missing.to_string())?;
    let shared = u32::try_from(launch.shared_bytes).map_err(|error| error.to_string())?;
    let demand = CtaDemand {
        threads: u32::try_from(launch.n_threads()).map_err(|error| error.to_string())?,
        registers: launch.registers,
        static_shared: shared,
        dynamic_shared: 0,
        barriers: 1,
    };
    let limit = if shared > limits.max_shared_per_cta { SharedLimit::OptIn } else { SharedLimit::Default };
    Ok((limits, demand, limit))
}

/// The manual's page on models.
pub fn models_page() -> String {
    manual::page()
}

/// Every model, the simplest first.
pub fn models() -> &'static [&'static (dyn Model + Sync)] {
    MODELS
}

/// Given numbers for a model, read from a file.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct GivenFile {
    /// Where the numbers come from.
    pub title: Option<String>,
    /// The model that the numbers are for.
    pub model: Option<String>,
    /// The GPU that supplies what is not given.
    pub gpu: Option<String>,
    /// The numbers.
    pub given: Given,
}

impl GivenFile {
    /// Reads TOML, or JSON when the text begins with a brace. `name` is what messages call it.
    pub fn parse(name: &str, text: &str) -> Result<Self> {
        let value: toml::Value = if text.trim_start().starts_with('{') {
            serde_json::from_str(text).map_err(|error| Error::input(format!("{name}: {error}")))?
        } else {
            toml::from_str(text).map_err(|error| {
                let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
                Error::input(format!("{name}, line {line}: {}", error.message()))
            })?
        };
        let word = |key: &str| match value.get(key) {
            None => Ok(None),
            Some(toml::Value::String(word)) => Ok(Some(word.clone())),
            Some(_) => Err(Error::input(format!("{name}: `{key}` is not a string"))),
        };
        let inputs = value.get("inputs").and_then(toml::Value::as_table).ok_or_else(|| {
            Error::input(format!("{name} has no table `inputs`"))
                .with_help("the fields of each model are listed in docs/models.md")
        })?;
        let mut given = Given::new();
        for (field, value) in inputs {
            let toml::Value::Array(points) = value else {
                let number =
                    number(value).ok_or_else(|| Error::input(format!("{name}: input `{field}` is not a number")))?;
                given.insert(field.clone(), number);
                continue;
            };
            for point in points {
                let Some([at, value]) = pair(point) else {
                    let error =
                        Error::input(format!("{name}: input `{field}` holds something that is no pair of numbers"));
                    return Err(error.with_help(format!("a measured curve is written {field} = [[1, 0.05], [2, 0.1]]")));
                };
                if given.insert(point_name(field, at), value).is_some() {
                    return Err(Error::input(format!("{name}: input `{field}` has two points at {at}")));
                }
            }
        }
        Ok(Self { title: word("title")?, model: word("model")?, gpu: word("gpu")?, given })
    }
}

fn number(value: &toml::Value) -> Option<f64> {
    match value {
        toml::Value::Integer(number) => Some(*number as f64),
        toml::Value::Float(number) => Some(*number),
        _ => None,
    }
}

/// A point of a measured curve.
fn pair(value: &toml::Value) -> Option<[f64; 2]> {
    let [at, value] = value.as_array()?.as_slice() else { return None };
    Some([number(at)?, number(value)?])
}

/// Evaluates a model on given numbers.
pub fn evaluate(
    model: &dyn Model,
    given: &Given,
    machine: Option<&Machine>,
    options: &Options,
) -> Result<std::result::Result<Prediction, Refusal>> {
    check_given(model, given).map_err(|bad| match &bad {
        BadInput::UnknownField { name, known, .. } => {
            let error = Error::input(format!("model {} has no input `{name}`", model.name()));
            match nearest(name, known.iter().copied()) {
                Some(near) => error.with_help(format!("did you mean `{near}`?")),
                None => error.with_help(format!("its inputs are {}", known.join(", "))),
            }
        }
        _ => Error::input(bad.to_string()),
    })?;
    Ok(model.evaluate(given, machine, options))
}
