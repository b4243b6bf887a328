//! Points evaluated: programs made, launches emulated in parallel, models asked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::emulator::{Emulator, Job, reason};
use super::outputs::Outputs;
use super::search::{Guided, Seen, spread};
use super::source::{Sources, check_macros};
use super::{
    Candidate, Check, Choices, EXHAUSTIVE_LIMIT, GUIDED_POINTS, Measured, Method, ModelTime, OnGpu, Point, Ranking,
    Request, Resolved, SIMULATED_LIMIT, Tuning, parallel, ranking,
};
use warplens_base::error::{Error, Result};
use warplens_launch::{Extents, Launch};
use warplens_session::Measurement;
use warplens_session::Progress;
use warplens_session::execution::{self, Extent};
use warplens_session::machines::Machine;
use warplens_session::predict::{self, Choice, ModelId, PREFERENCE};
use warplens_session::profile::LaunchShape;
use warplens_session::toolchain::Search;

/// Numbers that are looked at for good starts.
const STARTS_LOOKED_AT: usize = 4096;

/// Equal for points whose counts cannot differ: program, grid, block, arguments, and the dynamic shared memory where the
/// kernel can see its size.
type CountsKey = (usize, Extents, Extents, Vec<String>, Option<u64>);

/// What an emulation left.
struct Emulated {
    measurement: Measurement,
    check: Option<Check>,
    /// Dynamic shared memory that it had: more makes no difference.
    shared: u64,
}

/// A search under way.
pub(super) struct Tuner<'r> {
    request: &'r Request<'r>,
    progress: &'r Progress,
    emulator: Emulator<'r>,
    /// Kept where points may differ by shared memory alone.
    emulated: BTreeMap<CountsKey, Arc<Emulated>>,
    reference: Option<Outputs>,
    candidates: BTreeMap<Choices, Candidate>,
    n_emulated: usize,
    n_excluded: u64,
    preference: Vec<ModelId>,
}

impl<'r> Tuner<'r> {
    pub(super) fn new(request: &'r Request<'r>, search: &'r Search, progress: &'r Progress) -> Result<Self> {
        let (_, macros) = request.space.source(&request.space.choices(0));
        check_macros(request.inputs, &macros.into_iter().map(|(name, _)| name).collect::<Vec<_>>())?;
        let mut execution = request.execution.clone();
        if request.check.is_some() {
            if matches!(execution.extent, Extent::Ctas(_)) {
                return Err(Error::usage("--check compares whole outputs, and --cta executes a part of the blocks"));
            }
            execution.extent = Extent::Full;
        }
        let n_simulated = request.space.n_points().saturating_mul(request.machines.len() as u64);
        if request.choice == Choice::Auto && n_simulated > SIMULATED_LIMIT {
            execution.traced_for.clear();
        }
        let launch = &request.launch.launch;
        let asked = (request.variants.as_slice(), launch.registers);
        let sources = Sources::new(request.inputs, &request.target, asked, search, execution.threads);
        Ok(Self {
            request,
            progress,
            emulator: Emulator::new(&request.launch, sources, execution),
            emulated: BTreeMap::new(),
            reference: None,
            candidates: BTreeMap::new(),
            n_emulated: 0,
            n_excluded: 0,
            preference: Vec::new(),
        })
    }

    pub(super) fn run(mut self) -> Result<Tuning> {
        let space = &self.request.space;
        let n_points = space.n_points();
        let limit = self.request.most_points.map_or(EXHAUSTIVE_LIMIT, |most| most as u64);
        self.check_first()?;
        let method = if n_points <= limit {
            let all: Vec<Choices> = (0..n_points).map(|number| space.choices(number)).collect();
            let allowed: Vec<Choices> = all.into_iter().filter(|choices| !self.is_excluded(choices)).collect();
            self.n_excluded = n_points - allowed.len() as u64;
            if allowed.is_empty() {
                return Err(self.all_excluded(n_points));
            }
            self.progress.total.store(allowed.len() as u64, Ordering::Relaxed);
            self.evaluate(&allowed);
            Method::Exhaustive
        } else {
            self.guided(n_points)?
        };
        Ok(self.finish(method, n_points))
    }

    fn is_excluded(&self, choices: &[usize]) -> bool {
        matches!(self.request.space.resolve(choices), Resolved::Excluded)
    }

    fn all_excluded(&self, n_looked_at: u64) -> Error {
        Error::usage(format!("no point is left: the constraints exclude all {n_looked_at}"))
            .with_help("loosen a constraint, or search other values")
    }

    /// What is wrong with every point alike is an error, not a thousand impossible points.
    fn check_first(&mut self) -> Result<()> {
        let space = &self.request.space;
        let first = space.choices(0);
        let key = space.source(&first);
        self.emulator.sources.prepare([key.clone()]);
        let source = match self.emulator.sources.get(&key) {
            Ok(source) => source.clone(),
            // Other values of the macros may compile.
            Err(error) if key.1.is_empty() || is_lack_of_compiler(error) => return Err(error.clone()),
            Err(_) => return Ok(()),
        };
        let Resolved::Launch(point) = space.resolve(&first) else { return Ok(()) };
        let Ok(texts) = self.request.launch.texts(&point) else { return Ok(()) };
        let interface = source.program.interface(source.kernel);
        let launch = self.request.launch.at(&point, &texts)?;
        let block = interface.bounds.required_threads.unwrap_or([1; 3]);
        let kernel = Some(source.name.mangled.clone());
        let launch = Launch { kernel, grid: Some([1; 3]), block: Some(block), ..launch };
        // What no argument can change is said before what is wrong with the arguments.
        if !self.emulator.execution.allow_unsupported {
            warplens_session::check_support(&source.program, std::slice::from_ref(&launch))?;
        }
        execution::bind(&source.program, &[launch]).map(|_| ())
    }

    fn guided(&mut self, n_points: u64) -> Result<Method> {
        let space = &self.request.space;
        let sizes: Vec<usize> = space.all_dimensions().iter().map(|dimension| dimension.values.len()).collect();
        let starts = self.starts(n_points);
        if starts.is_empty() {
            return Err(self.all_excluded((STARTS_LOOKED_AT as u64).min(n_points)));
        }
        let budget = self.request.most_points.unwrap_or(GUIDED_POINTS);
        self.progress.total.store(budget as u64, Ordering::Relaxed);
        let n_gpus = self.request.machines.len();
        let mut n_starts = 0;
        let mut excluded: BTreeSet<Choices> = BTreeSet::new();
        for gpu in 0..n_gpus {
            // Points that an earlier GPU asked for are known, and cost nothing.
            let known = self.candidates.iter();
            let mut seen: Seen =
                known.map(|(choices, candidate)| (choices.clone(), self.objective(candidate, gpu))).collect();
            let share = (budget - self.candidates.len().min(budget)) / (n_gpus - gpu);
            let is_allowed = |choices: &[usize]| !matches!(space.resolve(choices), Resolved::Excluded);
            let tuner = &mut *self;
            let evaluate = |points: &[Choices]| -> Vec<Option<f64>> {
                tuner.evaluate(points);
                points.iter().map(|choices| tuner.objective(&tuner.candidates[choices], gpu)).collect()
            };
            n_starts += Guided::new(&sizes, share, &mut seen, is_allowed, evaluate).run(starts.iter().cloned());
            excluded.extend(seen.into_keys().filter(|choices| !self.candidates.contains_key(choices)));
        }
        self.n_excluded = excluded.len() as u64;
        Ok(Method::Guided { n_starts })
    }

    /// The time that the search makes small: of the model that ranks.
    fn objective(&self, candidate: &Candidate, gpu: usize) -> Option<f64> {
        let on = candidate.measured()?.gpus.get(gpu).filter(|on| on.impossible.is_none())?;
        self.preference.iter().find_map(|model| ranking::time_of(&on.answers, *model))
    }

    /// Points to start from: those with the highest occupancy on the first GPU, spread over the space.
    fn starts(&self, n_points: u64) -> Vec<Choices> {
        let space = &self.request.space;
        let key = space.source(&space.choices(0));
        let source = self.emulator.sources.get(&key).as_ref().ok();
        let registers = source.map(|source| source.registers);
        let mut starts = Vec::new();
        for number in spread(n_points).take(STARTS_LOOKED_AT) {
            let choices = space.choices(number);
            let Resolved::Launch(point) = space.resolve(&choices) else { continue };
            let occupancy = registers.zip(self.request.machines.first()).and_then(|((registers, basis), machine)| {
                let (grid, block) = (point.grid, point.block);
                let shape = LaunchShape {
                    grid,
                    block,
                    cluster: None,
                    shared_bytes: point.shared,
                    registers,
                    registers_basis: basis,
                };
                predict::occupancy_of(&shape, machine, self.request.options)
            });
            starts.push((occupancy.map_or(0.0, |occupancy| occupancy.share), choices));
        }
        // The sort is stable: points of one occupancy stay spread.
        starts.sort_by(|(left, _), (right, _)| right.total_cmp(left));
        starts.into_iter().map(|(_, choices)| choices).collect()
    }

    /// Evaluates points that are not excluded; each becomes a candidate.
    fn evaluate(&mut self, batch: &[Choices]) {
        let space = &self.request.space;
        let resolved: Vec<Resolved> = batch.iter().map(|choices| space.resolve(choices)).collect();
        let launchable = batch.iter().zip(&resolved).filter(|(_, resolved)| matches!(resolved, Resolved::Launch(_)));
        self.emulator.sources.prepare(launchable.map(|(choices, _)| space.source(choices)));
        let mut results: Vec<Option<(Outcome, Option<Point>)>> = batch.iter().map(|_| None).collect();
        let mut groups: BTreeMap<CountsKey, Vec<Job>> = BTreeMap::new();
        for (at, resolved) in resolved.into_iter().enumerate() {
            let point = match resolved {
                Resolved::Launch(point) => point,
                Resolved::Impossible(reason) => {
                    results[at] = Some(((Err(reason), None), None));
                    continue;
                }
                Resolved::Excluded => unreachable!("excluded points are not evaluated"),
            };
            match self.emulator.job(at, &space.source(&batch[at]), &point) {
                Ok(job) => {
                    // What is traced depends on the blocks that fit on an SM.
                    let sees_shared = job.source.reads_shared_size || !self.emulator.execution.traced_for.is_empty();
                    let shared = sees_shared.then_some(point.shared);
                    let key = (job.source.identity, point.grid, point.block, job.texts.clone(), shared);
                    groups.entry(key).or_default().push(job);
                }
                Err(reason) => results[at] = Some(((Err(reason), None), Some(point))),
            }
        }
        for (at, outcome, point) in self.emulate(groups) {
            results[at] = Some((outcome, Some(point)));
        }
        for (choices, result) in batch.iter().zip(results) {
            let ((result, check), point) = result.expect("every point was emulated or is impossible");
            let (input, macros) = self.request.space.source(choices);
            let candidate = Candidate { choices: choices.clone(), input, macros, point, result, check };
            self.candidates.insert(choices.clone(), candidate);
        }
        self.progress.done.store(self.candidates.len() as u64, Ordering::Relaxed);
    }

    /// Emulates groups of points whose counts cannot differ.
    fn emulate(&mut self, groups: BTreeMap<CountsKey, Vec<Job>>) -> Vec<(usize, Outcome, Point)> {
        let mut groups: Vec<(CountsKey, Vec<Job>)> = groups.into_iter().collect();
        for (_, jobs) in &mut groups {
            // More shared memory than a kernel needs changes no count; less may be too little.
            jobs.sort_by_key(|job| (job.point.shared, job.at));
        }
        // In the order of the points: the first that can be launched is the reference of all outputs.
        groups.sort_by_key(|(_, jobs)| jobs.iter().map(|job| job.at).min());
        let mut done = Vec::new();
        let mut rest = groups.as_slice();
        while self.request.check.is_some() && self.reference.is_none() {
            let Some((first, others)) = rest.split_first() else { break };
            let threads = self.emulator.execution.threads;
            let (outcomes, outputs) = self.group(first, threads, true);
            self.reference = outputs;
            done.push(outcomes);
            rest = others;
        }
        let (n_workers, threads) = self.emulator.workers(rest.len(), rest.first().and_then(|(_, jobs)| jobs.first()));
        let tuner = &*self;
        done.extend(parallel::map(rest, n_workers, |group| {
            let (outcomes, _) = tuner.group(group, threads, false);
            let n_done = outcomes.outcomes.len() as u64;
            tuner.progress.done.fetch_add(n_done, Ordering::Relaxed);
            outcomes
        }));
        let mut all = Vec::new();
        for (group, (key, _)) in done.into_iter().zip(&groups) {
            self.n_emulated += group.n_emulated;
            if self.preference.is_empty() {
                self.preference = group.preference;
            }
            if let Some(emulated) = group.emulated {
                self.emulated.insert(key.clone(), emulated);
            }
            all.extend(group.outcomes);
        }
        all
    }

    fn varies_shared(&self) -> bool {
        self.request.space.dimensions().iter().any(|dimension| dimension.name == "shared")
    }

    fn group(&self, (key, jobs): &(CountsKey, Vec<Job>), threads: usize, keep: bool) -> (Group, Option<Outputs>) {
        let mut group = Group { emulated: self.emulated.get(key).cloned(), ..Group::default() };
        let mut kept = None;
        for job in jobs {
            let known = group.emulated.as_ref().filter(|known| known.shared <= job.point.shared);
            let emulated = match known {
                Some(known) => Ok(known.clone()),
                None => {
                    group.n_emulated += 1;
                    self.emulate_one(job, threads, keep && kept.is_none()).map(|(emulated, outputs)| {
                        kept = outputs.or(kept.take());
                        Arc::new(emulated)
                    })
                }
            };
            let outcome = match emulated {
                Err(error) => (Err(reason(&error)), None),
                Ok(emulated) => {
                    let (measured, preference) = self.ask(&emulated, job.point.shared);
                    group.preference = preference;
                    let check = emulated.check.clone();
                    group.emulated = Some(emulated);
                    (measured, check)
                }
            };
            group.outcomes.push((job.at, outcome, job.point.clone()));
        }
        if !self.varies_shared() || !self.emulator.execution.traced_for.is_empty() {
            // Profiles are large, and nothing will ask for this one again.
            group.emulated = None;
        }
        (group, kept)
    }

    fn emulate_one(&self, job: &Job, threads: usize, keep: bool) -> Result<(Emulated, Option<Outputs>)> {
        let emulation = self.emulator.run(job, threads)?;
        let mut outputs = None;
        let check = self.request.check.map(|tolerance| {
            let own = Outputs::new(&emulation.buffers, emulation.contents);
            let check = match &self.reference {
                Some(reference) => own.check(reference, tolerance),
                None => Check::Reference,
            };
            outputs = Some(own).filter(|_| keep);
            check
        });
        Ok((Emulated { measurement: emulation.measurement, check, shared: job.point.shared }, outputs))
    }

    /// What the models say about counts with this much dynamic shared memory.
    fn ask(&self, emulated: &Emulated, shared: u64) -> (std::result::Result<Measured, String>, Vec<ModelId>) {
        let mut measurement = emulated.measurement.clone();
        measurement.profiles_mut().for_each(|profile| profile.launch.shared_bytes += shared - emulated.shared);
        let profile = &measurement.profile;
        if let Err(error) = execution::check_shared(profile.launch.shared_bytes) {
            return (Err(reason(&error)), Vec::new());
        }
        let mut preference = Vec::new();
        let gpus = self.request.machines.iter().map(|machine| {
            let (on, own) = self.on_gpu(&measurement, machine);
            preference = own;
            on
        });
        let gpus = gpus.collect();
        let measured = Measured {
            registers: profile.launch.registers,
            registers_basis: profile.launch.registers_basis,
            shared_bytes: profile.launch.shared_bytes,
            instructions: profile.instructions.total,
            ctas: (profile.coverage.ctas_executed, profile.coverage.ctas_total),
            gpus,
        };
        (Ok(measured), preference)
    }

    /// The answers, and the models in the order in which they may rank.
    fn on_gpu(&self, measurement: &Measurement, machine: &Machine) -> (OnGpu, Vec<ModelId>) {
        let analysis = predict::measured_on(measurement, machine, &Choice::All, self.request.options);
        let occupancy = analysis.occupancy.as_ref();
        let impossible = occupancy.filter(|occupancy| occupancy.ctas == 0).map(|occupancy| {
            let limiters: Vec<&str> = occupancy.limiters().map(|limiter| limiter.name()).collect();
            format!("no block fits an SM of {}: {}", machine.id, limiters.join(", "))
        });
        let answers: Vec<ModelTime> = analysis
            .answers
            .iter()
            .map(|answer| {
                let result = match &answer.result {
                    Ok(prediction) => Ok((prediction.seconds().microseconds(), prediction.limiter().name())),
                    Err(refusal) => Err(refusal.reason.clone()),
                };
                ModelTime { model: answer.model, result }
            })
            .collect();
        let preference = match &self.request.choice {
            Choice::Named(names) | Choice::Alone(names) => names.clone(),
            Choice::Auto | Choice::All => answers.iter().map(|answer| answer.model).collect(),
        };
        (OnGpu { impossible, occupancy: occupancy.map(|occupancy| occupancy.share), answers }, preference)
    }

    fn finish(self, method: Method, n_points: u64) -> Tuning {
        let request = self.request;
        let candidates: Vec<Candidate> = self.candidates.into_values().collect();
        let gpus = request.machines.iter().enumerate();
        let is_simulated = !self.emulator.execution.traced_for.is_empty();
        let rank = |(at, machine): (usize, &Machine)| {
            let ranking = ranking::rank(&machine.id, at, &self.preference, &candidates, request.band);
            let other = ranking.model.is_some_and(|model| model != PREFERENCE[0]);
            let why = match is_simulated {
                true => ranking::refusal(at, PREFERENCE[0], &candidates),
                false => Some(format!(
                    "more than {SIMULATED_LIMIT} points times GPUs take long to simulate; --model {} does",
                    PREFERENCE[0]
                )),
            };
            Ranking { instead: why.filter(|_| other && request.choice == Choice::Auto), ..ranking }
        };
        let rankings: Vec<_> = gpus.map(rank).collect();
        let compromise = if rankings.len() > 1 { ranking::compromise(&rankings, &candidates) } else { None };
        let space = &request.space;
        let names = candidates.iter().filter(|candidate| candidate.result.is_ok());
        let mut names = names.map(|candidate| space.source(&candidate.choices));
        let kernel = names.find_map(|key| Some(self.emulator.sources.get(&key).as_ref().ok()?.name.clone()));
        Tuning {
            kernel,
            dimensions: space.dimensions(),
            method,
            n_points,
            n_excluded: self.n_excluded,
            n_programs: self.emulator.sources.len(),
            n_emulated: self.n_emulated,
            candidates,
            rankings,
            compromise,
            is_checked: request.check.is_some(),
            band: request.band,
        }
    }
}

/// What came of a point, and how its outputs compare.
type Outcome = (std::result::Result<Measured, String>, Option<Check>);

/// What came of points that share their counts.
#[derive(Default)]
struct Group {
    outcomes: Vec<(usize, Outcome, Point)>,
    emulated: Option<Arc<Emulated>>,
    n_emulated: usize,
    preference: Vec<ModelId>,
}

fn is_lack_of_compiler(error: &Error) -> bool {
    error.message.contains("no CUDA compiler was found")
}
