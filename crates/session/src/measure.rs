//! Launches executed and counted. Large ones are executed in part, and the counts are scaled.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use warplens_device::Kernel;
use warplens_exec as exec;
use warplens_sim::traces::Traces;
use warplens_stats::{Counting, FinishOptions, LaunchShape};
use warplens_trace::Clusters;

use crate::execution::{self, Execution, ExecutionOptions, Extent, check_listed, chosen};
use crate::in_parts::{InParts, without};
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
use crate::watched::{Observed, Watched, observed};
use warplens_base::error::{Error, Result};
use warplens_launch::KernelName;
use warplens_launch::Launch;

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
        kernel,
        shape,
        counting,
    };
    let communicates = matches!(decoded.order(), exec::Order::Communicating(_));
    let extent = execution.options().extent.clone();
    let Observed { recorder, tracing, race, alike } = match extent {
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
        let executions = alike.as_ref().map_or_else(|| recorder.executions(), |of| of.counts.executions.clone());
        trace::finish(tracer, executions, need, (&program.module, kernel), registers, traced_for)
    });
    let global_bytes = Some(execution.global_bytes());
    let statics = alike.as_ref().map(|of| statics::basis(&of.counts, of.n_executed));
    let (listing, mut profile) = match alike {
        Some(of) => (of.counts.listing, of.counts.profile),
        None => (recorder.listing(counting), recorder.finish(FinishOptions { counting, global_bytes })),
    };
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
        statics,
        measured: None,
        code: Some(program.code(kernel)),
        archived: None,
        elsewhere: Vec::new(),
    })
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

/// Executes some CTAs at a time. But if CTAs race, it is all taken back, and they are executed together.
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
    let run = InParts::new(execution, (number, prepared), &mut parts, watched.clusters, progress);
    let observed = run.observe(watched, extent)?;
    let Some(race) = observed.race else { return Ok(observed) };
    execution.undo(parts, before);
    progress.done.store(shown[0], Ordering::Relaxed);
    progress.total.store(shown[1], Ordering::Relaxed);
    let turns = exec::Schedule::Turns;
    let observed = all_at_once(execution, number, prepared, watched, turns, progress)?;
    Ok(Observed { race: Some(race), ..observed })
}

/// Refuses a choice of CTAs that cuts clusters.
fn check_whole(ctas: &[u32], clusters: Clusters) -> Result<()> {
    if clusters.whole(ctas.iter().copied()) == ctas {
        return Ok(());
    }
    let [x, y, z] = clusters.extents();
    Err(Error::usage(format!("the chosen blocks cut a cluster of {x} x {y} x {z} blocks, which only runs as a whole")))
}
