//! Launches executed and counted. Large ones are executed in part, and the counts are scaled.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use warplens_device::Kernel;
use warplens_exec as exec;
use warplens_sim::traces::Traces;
use warplens_stats::{Counting, FinishOptions, LaunchShape, MemoryPlace, Recorder, TraceRequest, Tracer};
use warplens_trace::{Clusters, CtaId, Observer as _};

use crate::execution::{self, Counters, Execution, ExecutionOptions, Extent, check_listed, chosen};
use crate::machines::ComputeCapability;
use crate::measurement::{Emulation, Measurement, Support};
use crate::program::{self, Other, Program};
use crate::progress::Progress;
use crate::race::Race;
use crate::registers::{self, Registers};
use crate::runs::{self, Ran};
use crate::statics;
use crate::toolchain::Search;
use crate::trace;
use warplens_base::error::{Error, Result};
use warplens_launch::KernelName;
use warplens_launch::Launch;

/// Such a part is this share of that work.
const PART_SHARE: u64 = 4;
/// Fewest CTAs of a part.
const FEWEST_CTAS: u64 = 16;
/// Thread instructions that take as long as starting a CTA: grids of millions of tiny CTAs are large too.
const CTA_COST: u64 = 500;

/// Executes and counts launches, one after the other; or counts them without a run, if the options say so.
pub fn measure(
    program: &Program,
    launches: &[Launch],
    options: ExecutionOptions,
    counting: Counting,
    search: &Search,
    progress: &Progress,
) -> Result<Vec<Measurement>> {
    if program.others.is_empty() {
        return of_one(program, launches, options, counting, search, progress);
    }
    let run = |target: ComputeCapability, program: &Program| {
        let mut options = options.clone();
        options.traced_for.retain(|machine| program::is_run_by(Some(target), machine));
        of_one(program, launches, options, counting, search, progress)
    };
    let main = program.target.map(|target| (target, run(target, program)));
    let other = |other: &Other| {
        let run = other.program.as_deref().map_err(Clone::clone).and_then(|program| run(other.target, program));
        (other.target, run)
    };
    runs::of_targets(main.into_iter().chain(program.others.iter().map(other)).collect())
}

/// Executes and counts launches of one PTX, whatever its CUDA C++ was compiled to for other GPUs.
pub fn of_one(
    program: &Program,
    launches: &[Launch],
    options: ExecutionOptions,
    counting: Counting,
    search: &Search,
    progress: &Progress,
) -> Result<Vec<Measurement>> {
    if let Some(given) = options.statics.clone() {
        return statics::count(program, launches, &given, options, counting, search);
    }
    let (kernels, plan) = execution::bind(program, launches)?;
    let planned = kernels.iter().zip(&plan.launches);
    // Asked for before anything runs: ptxas is slower than many a launch.
    let registers: Vec<Registers> = planned
        .map(|(kernel, planned)| registers::of_launch(program, *kernel, (planned.registers, planned.block), search))
        .collect::<Result<_>>()?;
    runs::on_each(&options.generations, |generation| {
        let execution = Execution::of_plan(program, kernels.clone(), plan.clone(), options.clone())?;
        let mut execution = execution.on(generation);
        let launches = registers.iter().enumerate();
        let measurements = launches.map(|(number, of)| one(&mut execution, number, counting, *of, progress));
        let measurements = measurements.collect::<Result<_>>()?;
        Ok(Ran { measurements, differing: execution.differing() })
    })
}

/// Executes and counts the launch with this number.
pub fn one(
    execution: &mut Execution<'_>,
    number: usize,
    counting: Counting,
    (registers, registers_basis): Registers,
    progress: &Progress,
) -> Result<Measurement> {
    let program = execution.program;
    let prepared = execution.decode(number)?;
    let decoded = prepared.program();
    let (kernel, planned) = &execution.launches[number];
    let kernel = *kernel;
    let shape = LaunchShape {
        grid: planned.grid,
        block: planned.block,
        cluster: planned.cluster,
        shared_bytes: decoded.static_shared_bytes() + planned.dynamic_shared,
        registers,
        registers_basis,
    };
    let facts = warplens_stats::Program::new(&program.module, kernel, shape);
    let before = (execution.emulation, execution.overreads());
    let n_ctas = execution.n_ctas(number)?;
    let mut watched = Watched {
        facts,
        need: trace::Need::of(&execution.options().traced_for, execution.options().trace_limits, &shape, n_ctas),
        places: trace::memory_places(&program.module),
        n_ctas,
        clusters: Clusters::new(shape.grid, shape.cluster),
    };
    let communicates = matches!(decoded.order(), exec::Order::Communicating(_));
    let extent = execution.options().extent.clone();
    let Observed { recorder, tracing, race } = match extent {
        Extent::Ctas(range) => {
            let ctas = chosen(&range, n_ctas)?;
            check_whole(&ctas, watched.clusters)?;
            some_ctas(execution, number, &prepared, &mut watched, ctas, progress)?
        }
        // CTAs that wait for each other cannot be left out.
        _ if communicates || n_ctas == watched.clusters.n_ctas() => {
            all_at_once(execution, number, &prepared, &mut watched, exec::Schedule::Any, progress)?
        }
        extent => first_and_others(execution, number, &prepared, &mut watched, &extent, progress)?,
    };
    let traced_for = &execution.options().traced_for;
    let traced = tracing.zip(watched.need.as_ref()).map(|(tracer, need)| {
        let executions = recorder.executions();
        trace::finish(tracer, executions, need, (&program.module, kernel), registers, traced_for)
    });
    let global_bytes = Some(execution.global_bytes());
    let listing = recorder.listing(counting);
    let mut profile = recorder.finish(FinishOptions { counting, global_bytes });
    // A lock that nobody had to wait for here may be fought for on a GPU.
    profile.order_dependent |=
        matches!(decoded.order(), exec::Order::Local(_) | exec::Order::Communicating(_)) || race.is_some();
    let emulation = Emulation {
        thread_instructions: execution.emulation.thread_instructions - before.0.thread_instructions,
        warp_instructions: execution.emulation.warp_instructions - before.0.warp_instructions,
        seconds: execution.emulation.seconds - before.0.seconds,
    };
    let overreads = execution.overreads() - before.1;
    let support = Support { overreads, ..Support::of(program, decoded, kernel) };
    Ok(Measurement {
        kernel: KernelName::new(&program.module.functions[kernel].name),
        profile,
        traces: traced.map_or(Traces::None, |traced| Traces::Made(Arc::new(traced))),
        listing,
        emulation: Some(emulation),
        support,
        communicates,
        race: race.map(|race| Race::new(program, &race)),
        statics: None,
        measured: None,
        code: Some(program.code(kernel)),
        archived: None,
        elsewhere: Vec::new(),
    })
}

/// What listens to the executions of a launch.
struct Watched {
    facts: Arc<warplens_stats::Program>,
    /// What is traced; none where nobody asks for a trace.
    need: Option<trace::Need>,
    places: Arc<[MemoryPlace]>,
    n_ctas: u32,
    /// Clusters are executed whole.
    clusters: Clusters,
}

/// Numbers of CTAs as their names; as quick as the numbers where many are left out, which a `map` is not.
struct Ids<I>(I);

impl<I: Iterator<Item = u32>> Iterator for Ids<I> {
    type Item = CtaId;

    fn next(&mut self) -> Option<CtaId> {
        self.0.next().map(CtaId)
    }

    fn nth(&mut self, n: usize) -> Option<CtaId> {
        self.0.nth(n).map(CtaId)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<I: ExactSizeIterator<Item = u32>> ExactSizeIterator for Ids<I> {}

/// What the executions of a launch left.
struct Observed {
    recorder: Recorder,
    tracing: Option<Tracer>,
    race: Option<exec::Race>,
}

impl Watched {
    fn recorder(&self, ctas: impl ExactSizeIterator<Item = u32>) -> Recorder {
        Recorder::new(self.facts.clone(), Ids(ctas))
    }

    fn tracer(&mut self, request: impl FnOnce(&mut trace::Need) -> TraceRequest) -> Option<Tracer> {
        let need = self.need.as_mut()?;
        Some(Tracer::new(self.places.clone(), self.facts.n_warps(), request(need)))
    }
}

/// Executes CTAs that the user chose; those that are traced are among them. The first tells how much work the others are.
fn some_ctas(
    execution: &mut Execution<'_>,
    number: usize,
    prepared: &Kernel,
    watched: &mut Watched,
    ctas: Vec<u32>,
    progress: &Progress,
) -> Result<Observed> {
    progress.total.fetch_add(ctas.len() as u64, Ordering::Relaxed);
    let (launch, any) = ((number, prepared), exec::Schedule::Any);
    let mut parts = execution.parts(number, prepared);
    let all = watched.recorder(ctas.iter().copied());
    let first = watched.clusters.whole([ctas[0]]);
    let observer = (Some(all), watched.tracer(|need| need.first(&first)));
    let ((recorder, tracer), summary) =
        execution.count(launch, &mut parts, any, Some(first.clone()), observer, progress)?;
    let cost = trace::Cost::new(&summary, watched.clusters.n_ctas(), tracer.as_ref());
    let request = watched.need.as_mut().map(|need| need.among(&ctas, cost)).unwrap_or_default();
    let others = without(ctas, &first);
    if others.is_empty() {
        return Ok(observed((recorder, tracer), summary.race));
    }
    let observer = (recorder, tracer.map(|tracer| tracer.continued(request)));
    let (observer, summary) = execution.count(launch, &mut parts, any, Some(others), observer, progress)?;
    Ok(observed(observer, summary.race))
}

/// Executes all CTAs of a launch that only runs as a whole.
fn all_at_once(
    execution: &mut Execution<'_>,
    number: usize,
    prepared: &Kernel,
    watched: &mut Watched,
    schedule: exec::Schedule,
    progress: &Progress,
) -> Result<Observed> {
    progress.total.fetch_add(watched.n_ctas.into(), Ordering::Relaxed);
    let tracer = watched.tracer(trace::Need::whole);
    let observer = (Some(watched.recorder(0..watched.n_ctas)), tracer);
    let mut parts = execution.parts(number, prepared);
    let (observer, summary) = execution.count((number, prepared), &mut parts, schedule, None, observer, progress)?;
    Ok(observed(observer, summary.race))
}

fn observed((recorder, tracing): Counters, race: Option<exec::Race>) -> Observed {
    Observed { recorder: recorder.expect("it was handed in"), tracing, race }
}

/// Executes the first CTA, which tells how much work the others are, then all others or a part of them, and then those
/// that only a trace needs. No CTA is executed again: a second time would find what it left behind. But if CTAs race, it
/// is all taken back, and they are executed together.
fn first_and_others(
    execution: &mut Execution<'_>,
    number: usize,
    prepared: &Kernel,
    watched: &mut Watched,
    extent: &Extent,
    progress: &Progress,
) -> Result<Observed> {
    if *extent != Extent::Auto {
        check_listed(watched.n_ctas.into())?;
    }
    let before = execution.emulated();
    let shown = [&progress.done, &progress.total].map(|count| count.load(Ordering::Relaxed));
    let mut parts = execution.parts(number, prepared);
    let observed = in_parts(execution, (number, prepared), &mut parts, watched, extent, progress)?;
    let Some(race) = observed.race else { return Ok(observed) };
    execution.undo(parts, before);
    progress.done.store(shown[0], Ordering::Relaxed);
    progress.total.store(shown[1], Ordering::Relaxed);
    let turns = exec::Schedule::Turns;
    let observed = all_at_once(execution, number, prepared, watched, turns, progress)?;
    Ok(Observed { race: Some(race), ..observed })
}

fn in_parts(
    execution: &mut Execution<'_>,
    launch: (usize, &Kernel),
    parts: &mut exec::Parts,
    watched: &mut Watched,
    extent: &Extent,
    progress: &Progress,
) -> Result<Observed> {
    let (any, clusters) = (exec::Schedule::Any, watched.clusters);
    // It is one of many also where only some are looked at closely.
    let among_all = watched.recorder(0..watched.n_ctas);
    let start = clusters.whole([0]);
    progress.total.fetch_add(start.len() as u64, Ordering::Relaxed);
    let observer = (Some(among_all), watched.tracer(|need| need.first(&start)));
    let ((first, tracer), cost) = execution.count(launch, parts, any, Some(start.clone()), observer, progress)?;
    let limit = execution.options().full_limit;
    let part = match extent {
        Extent::Full => None,
        _ => part_of(watched.n_ctas / clusters.n_ctas(), cost.work(), limit),
    };
    let is_part = part.is_some();
    let ctas = match part {
        Some(part) => clusters.whole(part.into_iter().flat_map(|cluster| clusters.members(cluster)).map(|cta| cta.0)),
        None => (0..watched.n_ctas).collect(),
    };
    let cost = trace::Cost::new(&cost, clusters.n_ctas(), tracer.as_ref());
    let request = watched.need.as_mut().map(|need| need.request(Some(cost))).unwrap_or_default();
    let more = clusters.whole(trace::lacking(&request, &ctas));
    progress.total.fetch_add((ctas.len() + more.len() - start.len()) as u64, Ordering::Relaxed);
    let mut all = watched.recorder(ctas.iter().copied());
    all.merge(first.expect("it was handed in"));
    let observer = (Some(all), tracer.map(|tracer| tracer.continued(request)));
    let ((recorder, mut tracer), summary) =
        execution.count(launch, parts, any, Some(without(ctas.clone(), &start)), observer, progress)?;
    let mut race = summary.race;
    if race.is_none() && !more.is_empty() {
        let observer = (None::<Recorder>, tracer);
        let (observer, summary) = execution.count(launch, parts, any, Some(more.clone()), observer, progress)?;
        (tracer, race) = (observer.1, summary.race);
    }
    if race.is_none() && is_part && *extent == Extent::Counted {
        let executed = clusters.whole(ctas.iter().chain(&more).copied());
        let rest = without((0..watched.n_ctas).collect(), &executed);
        progress.total.fetch_add(rest.len() as u64, Ordering::Relaxed);
        race = execution.run(launch, parts, any, Some(rest), progress)?.race;
    } else if race.is_none() && is_part && parts.exchange_data() {
        // CTAs that lie apart may have nothing to do with each other where neighbours race.
        let mut neighbours = clusters.whole(neighbours(execution.grid(launch.0)));
        neighbours.retain(|cta| ctas.binary_search(cta).is_err() && more.binary_search(cta).is_err());
        progress.total.fetch_add(neighbours.len() as u64, Ordering::Relaxed);
        race = execution.run(launch, parts, any, Some(neighbours), progress)?.race;
    }
    Ok(observed((recorder, tracer), race))
}

/// Refuses a choice of CTAs that cuts clusters.
fn check_whole(ctas: &[u32], clusters: Clusters) -> Result<()> {
    if clusters.whole(ctas.iter().copied()) == ctas {
        return Ok(());
    }
    let [x, y, z] = clusters.extents();
    Err(Error::usage(format!("the chosen blocks cut a cluster of {x} x {y} x {z} blocks, which only runs as a whole")))
}

/// The CTAs (ascending) that are not among others (ascending).
fn without(mut ctas: Vec<u32>, others: &[u32]) -> Vec<u32> {
    ctas.retain(|cta| others.binary_search(cta).is_err());
    ctas
}

/// The neighbours of the first CTA along the axes of the grid.
fn neighbours([x, y, z]: [u32; 3]) -> Vec<u32> {
    let along = [(x, Some(1)), (y, Some(x)), (z, x.checked_mul(y))];
    along.into_iter().filter(|&(extent, _)| extent > 1).filter_map(|(_, cta)| cta).collect()
}

/// The CTAs to execute when the first is so much `work`, and all may be as much as the limit: first, last and evenly
/// spread. `None` for all.
fn part_of(n_ctas: u32, work: u64, limit: u64) -> Option<Vec<u32>> {
    let per_cta = work.max(CTA_COST);
    if per_cta.saturating_mul(n_ctas.into()) <= limit {
        return None;
    }
    let wanted = (limit / PART_SHARE / per_cta).max(FEWEST_CTAS);
    let last = u64::from(n_ctas) - 1;
    let count = wanted.min(last + 1);
    // At least two, as one CTA is never left in part.
    let cta = |index: u64| u32::try_from(index * last / (count - 1)).expect("not beyond the last CTA");
    Some((0..count).map(cta).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execution::FULL_LIMIT;

    #[test]
    fn the_first_block_has_a_neighbour_along_each_axis() {
        assert_eq!(neighbours([7, 5, 3]), [1, 7, 35]);
        assert_eq!(neighbours([1, 5, 1]), [1]);
        assert!(neighbours([1, 1, 1]).is_empty());
    }

    #[test]
    fn a_part_holds_both_ends_and_is_evenly_spread() {
        let part_of = |n_ctas, work| part_of(n_ctas, work, FULL_LIMIT);
        assert_eq!(part_of(1000, 2_000_000), None);
        let part = part_of(1_000_000, 1_000_000).unwrap();
        assert_eq!((part.len(), part[0], part[499]), (500, 0, 999_999));
        assert!(part.windows(2).all(|pair| (2003..=2005).contains(&(pair[1] - pair[0]))));
        let few = part_of(100, 1_000_000_000).unwrap();
        assert_eq!((few.len(), few[15]), (16, 99));
        assert_eq!(part_of(2, 2_000_000_000), Some(vec![0, 1]));
        assert_eq!(part_of(u32::MAX, 1).map(|part| part.len()), Some(1_000_000));
    }
}
