//! Kernels, variants or GPUs side by side: how their times differ, and which terms and counts make the difference.

mod explain;
mod measured;
mod sign;

pub use explain::{CountChange, Explanation, ParameterChange, TermChange};
pub use measured::MeasuredTimes;
pub use sign::{Agreement, SignMatrix, sign};

use std::sync::atomic::Ordering;

use warplens_base::{nearest, stop};
use warplens_model::workload::coalescing_rule;

use crate::tune::Expression;
use warplens_base::error::{Error, Result};
use warplens_launch::{Extents, Launch};
use warplens_session::machines::Machine;
use warplens_session::predict::{self, Choice, GpuAnalysis, ModelId, Options, Prediction};
use warplens_session::profile::{BankRule, Count, Counted, Profile};
use warplens_session::{CodeForm, Measurement, Progress};

/// What is compared: a kernel with its launch, executed.
#[derive(Clone, PartialEq, Debug)]
pub struct Variant {
    /// What the user calls it.
    pub name: String,
    /// The block, where the same kernel is compared at several.
    pub block: Option<Extents>,
    /// The counts.
    pub measurement: Measurement,
}

/// How variants are compared.
#[derive(Clone, Debug)]
pub struct CompareOptions {
    /// The models that answer.
    pub choice: Choice,
    /// Their options.
    pub options: Options,
    /// What the others are compared with: a variant or a GPU; the first variant unless given, the first GPU where there
    /// is one variant.
    pub baseline: Option<String>,
    /// Times that differ by less than this fraction count as equal.
    pub band: f64,
    /// Times from hardware.
    pub measured: Option<MeasuredTimes>,
}

/// What the others are compared with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Baseline {
    /// A variant, on the same GPU. With several blocks: at the same block.
    Variant(usize),
    /// A GPU, with the same variant.
    Gpu(usize),
}

/// Variants on GPUs.
#[derive(Clone, PartialEq, Debug)]
pub struct Comparison {
    /// The variants, in the order in which they were given.
    pub variants: Vec<Variant>,
    /// The GPUs.
    pub gpus: Vec<Machine>,
    /// One entry for each GPU, model and variant, in this order.
    pub entries: Vec<Entry>,
    /// What the others are compared with.
    pub baseline: Baseline,
    /// What makes the differences from the baseline, in the order of the entries.
    pub explanations: Vec<Explanation>,
    /// Every variant against every other, by GPU, model and block; empty for one variant.
    pub signs: Vec<SignMatrix>,
    /// Times that differ by less than this fraction count as equal.
    pub band: f64,
    /// Rows of the measured times that name nothing that is compared.
    pub n_ignored: usize,
    /// Where `auto` takes another model than the one that it prefers.
    pub instead: Vec<Instead>,
}

/// Another model than the preferred one speaks for a GPU.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Instead {
    /// Identifier of the GPU.
    pub gpu: String,
    /// The model that speaks.
    pub model: ModelId,
    /// Why the preferred one does not.
    pub reason: String,
}

/// A variant on a GPU, by one model.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// Position of the variant.
    pub variant: usize,
    /// Position of the GPU.
    pub gpu: usize,
    /// The model.
    pub model: ModelId,
    /// Its answer, or why there is none.
    pub result: std::result::Result<Prediction, String>,
    /// Time of the baseline over this time; none where one of them is missing.
    pub speedup: Option<f64>,
    /// Theoretical occupancy as a share of the warp slots.
    pub occupancy: Option<f64>,
    /// The counts that this GPU's generation sees.
    pub counts: Counts,
    /// Microseconds on hardware, as given or as a profiler measured it.
    pub measured_us: Option<f64>,
}

/// Counts of a launch under the rules of one GPU; none where a profile that was read lacks them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Counts {
    /// Warp instructions.
    pub instructions: Option<u64>,
    /// Requests to global and local memory.
    pub requests: Option<u64>,
    /// Transactions that serve them.
    pub transactions: Option<u64>,
    /// Bytes that these move.
    pub bytes_moved: Option<u64>,
    /// Wavefronts of shared memory beyond those without bank conflicts.
    pub conflict_wavefronts: Option<u64>,
    /// Barriers.
    pub barriers: Option<u64>,
    /// Branches that sent lanes both ways.
    pub divergent_branches: Option<u64>,
    /// Loads that a warp has in flight at once; none without a global load.
    pub independent_loads: Option<f64>,
}

impl Entry {
    /// The time in microseconds.
    pub fn time_us(&self) -> Option<f64> {
        self.result.as_ref().ok().map(|prediction| prediction.seconds().microseconds())
    }
}

impl Comparison {
    /// True when a model gave a time.
    pub fn has_answer(&self) -> bool {
        self.entries.iter().any(|entry| entry.result.is_ok())
    }

    /// Name of a variant, with its block where there are several.
    pub fn label(&self, variant: usize) -> String {
        self.variants[variant].label()
    }

    /// Models that answer on a GPU, in the order of the entries.
    pub fn models(&self, gpu: usize) -> Vec<ModelId> {
        let mut models: Vec<ModelId> = Vec::new();
        for entry in self.entries.iter().filter(|entry| entry.gpu == gpu) {
            if !models.contains(&entry.model) {
                models.push(entry.model);
            }
        }
        models
    }

    /// What each variant counts, where some count instructions of PTX and others those of machine code: numbers of
    /// instructions do not compare then.
    pub fn unlike_code(&self) -> Vec<(String, String)> {
        let is_machine = |variant: &Variant| variant.measurement.profile.counted == Counted::Machine;
        let n_machine = self.variants.iter().filter(|variant| is_machine(variant)).count();
        if n_machine == 0 || n_machine == self.variants.len() {
            return Vec::new();
        }
        let said = |variant: &Variant| {
            let form = if is_machine(variant) { CodeForm::Machine } else { CodeForm::Ptx };
            let code = variant.measurement.code.as_ref().map(ToString::to_string);
            (variant.label(), code.unwrap_or_else(|| form.words().to_owned()))
        };
        self.variants.iter().map(said).collect()
    }

    /// The blocks that are compared, in order; one `None` where each variant has its own.
    pub fn blocks(&self) -> Vec<Option<Extents>> {
        let mut blocks: Vec<Option<Extents>> = Vec::new();
        for variant in &self.variants {
            if !blocks.contains(&variant.block) {
                blocks.push(variant.block);
            }
        }
        blocks
    }

    /// The names of the variants, each once.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for variant in &self.variants {
            if !names.contains(&variant.name.as_str()) {
                names.push(&variant.name);
            }
        }
        names
    }

    /// The entry of a variant on a GPU by a model.
    pub fn entry(&self, gpu: usize, model: ModelId, variant: usize) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.gpu == gpu && entry.model == model && entry.variant == variant)
    }
}

impl Variant {
    /// The name, with the block where there are several.
    pub fn label(&self) -> String {
        match self.block {
            Some(block) => format!("{} {}", self.name, crate::tune::show_extents(block)),
            None => self.name.clone(),
        }
    }
}

/// Refuses names that mean two variants.
pub fn check_names(names: &[String]) -> Result<()> {
    match (1..names.len()).find(|&at| names[..at].contains(&names[at])) {
        Some(twice) => Err(Error::usage(format!("two variants are called `{}`", names[twice]))
            .with_help("name them: NAME=INPUT, for example tiled=kernel.ptx")),
        None => Ok(()),
    }
}

/// Bytes of dynamic shared memory as an expression over the block and grid of a launch: `16*block.x`.
pub fn shared_bytes(text: &str, launch: &Launch) -> Result<u64> {
    const NAMES: [&str; 6] = ["block.x", "block.y", "block.z", "grid.x", "grid.y", "grid.z"];
    let value_of = |name: &str| {
        let at = NAMES.iter().position(|own| *own == name)?;
        let extents = if at < 3 { launch.block } else { launch.grid };
        extents.map(|extents| f64::from(extents[at % 3]))
    };
    let value = Expression::parse(text)
        .and_then(|read| read.check_names(&NAMES).map(|()| read))
        .and_then(|read| read.evaluate(&value_of))
        .map_err(|error| error.within("--shared", text))?;
    match value.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&value) {
        true => Ok(value as u64),
        false => Err(Error::usage(format!("--shared {text} is {value}, which is no number of bytes"))),
    }
}

/// The launch with another block and as many blocks as keep the threads of each axis, or with the grid as it is.
pub fn with_block(launch: &Launch, block: Extents, keeps_grid: bool) -> Result<Launch> {
    if keeps_grid {
        return Ok(Launch { block: Some(block), ..launch.clone() });
    }
    let (Some(grid), Some(own)) = (launch.grid, launch.block) else {
        return Err(Error::usage("other block sizes need a launch that has a grid and a block")
            .with_help("give --grid and --block, or a launch file with both"));
    };
    let mut grid_of_block = [1; 3];
    for (at, extent) in grid_of_block.iter_mut().enumerate() {
        let blocks = (u64::from(grid[at]) * u64::from(own[at])).div_ceil(u64::from(block[at].max(1)));
        *extent = u32::try_from(blocks).map_err(|_| Error::usage(format!("a grid of {blocks} blocks is too large")))?;
    }
    Ok(Launch { grid: Some(grid_of_block), block: Some(block), ..launch.clone() })
}

/// Asks the models about every variant on every GPU, and compares the answers.
pub fn compare(variants: Vec<Variant>, machines: Vec<Machine>, how: &CompareOptions) -> Result<Comparison> {
    compare_watched(variants, machines, how, &Progress::default())
}

/// [`compare`], with a count of the variants that were asked about on a GPU.
pub fn compare_watched(
    variants: Vec<Variant>,
    machines: Vec<Machine>,
    how: &CompareOptions,
    progress: &Progress,
) -> Result<Comparison> {
    progress.total.fetch_add((variants.len() * machines.len()) as u64, Ordering::Relaxed);
    let baseline = baseline(&variants, &machines, how.baseline.as_deref())?;
    let (mut entries, mut instead) = (Vec::new(), Vec::new());
    for (gpu, machine) in machines.iter().enumerate() {
        // One model speaks for all variants of a GPU, so that all are heard before it is chosen.
        let asked = if matches!(how.choice, Choice::Alone(_)) { &how.choice } else { &Choice::All };
        let mut analyses: Vec<GpuAnalysis> = Vec::new();
        for variant in &variants {
            stop::check();
            analyses.push(predict::measured_on(&variant.measurement, machine, asked, how.options));
            progress.done.fetch_add(1, Ordering::Relaxed);
        }
        instead.extend(instead_on(machine, &how.choice, &analyses));
        for model in models(&how.choice, &analyses) {
            for (at, analysis) in analyses.iter().enumerate() {
                let variant = &variants[at];
                let profiled = variant.measurement.measured.as_ref().filter(|measured| measured.is_of(machine));
                let given = how.measured.as_ref().and_then(|times| times.of(variant, machine, &machines));
                let measured_us = given.or(profiled.map(|measured| measured.time_us));
                let own = variant.measurement.on(machine).unwrap_or(&variant.measurement);
                let counts = counts(&own.profile, machine, how.options);
                entries.push(Entry { measured_us, ..entry(at, gpu, model, analysis, counts) });
            }
        }
    }
    let times: Vec<Option<f64>> =
        entries.iter().map(|own| of_baseline(&entries, &variants, baseline, own)?.time_us()).collect();
    for (entry, base) in entries.iter_mut().zip(times) {
        entry.speedup = base.zip(entry.time_us()).map(|(base, own)| base / own).filter(|ratio| ratio.is_finite());
    }
    let explained = entries.iter().filter_map(|own| {
        let base = of_baseline(&entries, &variants, baseline, own)?;
        (!std::ptr::eq(base, own)).then(|| explain::explain(base, own)).flatten()
    });
    let explanations = explained.collect();
    let names: Vec<&Variant> = variants.iter().collect();
    let n_ignored = how.measured.as_ref().map_or(Ok(0), |times| times.n_ignored(&names, &machines))?;
    let mut comparison = Comparison {
        variants,
        gpus: machines,
        entries,
        baseline,
        explanations,
        signs: Vec::new(),
        band: how.band,
        n_ignored,
        instead,
    };
    comparison.signs = sign::matrices(&comparison);
    Ok(comparison)
}

fn entry(variant: usize, gpu: usize, model: ModelId, analysis: &GpuAnalysis, counts: Counts) -> Entry {
    let answer = analysis.answers.iter().find(|answer| answer.model == model);
    let occupancy = analysis.occupancy.as_ref();
    let fits = occupancy.is_none_or(|occupancy| occupancy.ctas > 0);
    let result = match answer.map(|answer| &answer.result) {
        Some(Ok(prediction)) if fits => Ok(prediction.clone()),
        Some(Err(refusal)) if fits => Err(refusal.reason.clone()),
        _ => {
            let limiters = occupancy.into_iter().flat_map(|occupancy| occupancy.limiters());
            let limiters: Vec<&str> = limiters.map(|limiter| limiter.name()).collect();
            Err(format!("no block fits an SM of {}: {}", analysis.machine.id, limiters.join(", ")))
        }
    };
    Entry {
        variant,
        gpu,
        model,
        result,
        speedup: None,
        occupancy: occupancy.map(|occupancy| occupancy.share),
        counts,
        measured_us: None,
    }
}

/// The models whose answers are compared. `auto` takes one model for all variants of a GPU: times of two models differ
/// for reasons that have nothing to do with the kernels.
fn models(choice: &Choice, analyses: &[GpuAnalysis]) -> Vec<ModelId> {
    let all = || analyses.first().map(|analysis| analysis.answers.iter().map(|answer| answer.model).collect());
    let all: Vec<ModelId> = all().unwrap_or_default();
    match choice {
        Choice::All => all,
        Choice::Named(names) | Choice::Alone(names) => names.clone(),
        Choice::Auto => {
            let n_answered = |model: ModelId| {
                let answers = |analysis: &&GpuAnalysis| {
                    analysis.answers.iter().any(|own| own.model == model && own.result.is_ok())
                };
                analyses.iter().filter(answers).count()
            };
            predict::most_answered(&all, n_answered).or(all.first().copied()).into_iter().collect()
        }
    }
}

/// The model that `auto` takes on a GPU, where the preferred one refuses a variant.
fn instead_on(machine: &Machine, choice: &Choice, analyses: &[GpuAnalysis]) -> Option<Instead> {
    let model = *models(choice, analyses).first().filter(|model| **model != predict::PREFERENCE[0])?;
    let answers = analyses.iter().flat_map(|analysis| &analysis.answers);
    let mut refusals = answers.filter(|answer| answer.model == predict::PREFERENCE[0]);
    let reason = refusals.find_map(|answer| answer.result.as_ref().err())?.reason.clone();
    (*choice == Choice::Auto).then(|| Instead { gpu: machine.id.clone(), model, reason })
}

fn counts(profile: &Profile, machine: &Machine, options: Options) -> Counts {
    let rule = coalescing_rule(machine.cc, options.fermi_l1);
    let global = profile.global.get(&rule).copied().unwrap_or_default();
    let local = profile.local.get(&rule).copied().unwrap_or_default();
    let shared = profile.shared.get(&BankRule::of(u32::from(machine.cc.major))).copied().unwrap_or_default();
    let counted = |needs: &[Count], count: u64| needs.iter().all(|need| profile.has(*need)).then_some(count);
    let transactions = [Count::GlobalTransactions, Count::LocalTransactions];
    Counts {
        instructions: counted(&[Count::Instructions], profile.instructions.total),
        requests: counted(&[Count::GlobalRequests, Count::LocalRequests], global.requests + local.requests),
        transactions: counted(&transactions, global.transactions() + local.transactions()),
        bytes_moved: counted(&transactions, global.bytes_moved + local.bytes_moved),
        conflict_wavefronts: counted(
            &[Count::SharedWavefronts],
            shared.wavefronts.saturating_sub(shared.ideal_wavefronts),
        ),
        barriers: counted(&[Count::Barriers], profile.barriers),
        divergent_branches: counted(&[Count::DivergentBranches], profile.divergent_branches),
        independent_loads: profile.independent_loads,
    }
}

/// The entry that another is compared with.
fn of_baseline<'e>(entries: &'e [Entry], variants: &[Variant], baseline: Baseline, own: &Entry) -> Option<&'e Entry> {
    let (variant, gpu) = match baseline {
        Baseline::Gpu(gpu) => (own.variant, gpu),
        Baseline::Variant(base) => {
            let wanted = (&variants[base].name, variants[own.variant].block);
            (variants.iter().position(|variant| (&variant.name, variant.block) == wanted)?, own.gpu)
        }
    };
    entries.iter().find(|entry| (entry.variant, entry.gpu, entry.model) == (variant, gpu, own.model))
}

fn baseline(variants: &[Variant], machines: &[Machine], wanted: Option<&str>) -> Result<Baseline> {
    let is_one = variants.iter().all(|variant| variant.name == variants[0].name);
    let Some(wanted) = wanted else {
        let by_gpu = is_one && machines.len() > 1;
        return Ok(if by_gpu { Baseline::Gpu(0) } else { Baseline::Variant(0) });
    };
    let variant = variants.iter().position(|variant| variant.name == wanted);
    let gpu =
        machines.iter().position(|machine| machine.id == wanted || machine.aliases.iter().any(|own| own == wanted));
    match (variant, gpu) {
        (Some(variant), _) => Ok(Baseline::Variant(variant)),
        (None, Some(gpu)) => Ok(Baseline::Gpu(gpu)),
        (None, None) => {
            let names: Vec<&str> = variants
                .iter()
                .map(|variant| variant.name.as_str())
                .chain(machines.iter().map(|machine| machine.id.as_str()))
                .collect();
            let error = Error::usage(format!("--baseline {wanted}: nothing that is compared has this name"));
            Err(match nearest(wanted, names.iter().copied()) {
                Some(near) => error.with_help(format!("did you mean `{near}`?")),
                None => error.with_help(format!("the names are {}", names.join(", "))),
            })
        }
    }
}

#[cfg(test)]
mod tests;
