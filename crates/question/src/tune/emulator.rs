//! Points executed: programs made, arguments bound, launches emulated and counted. Whoever evaluates many points shares
//! what they have in common here.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use super::Point;
use super::arguments::LaunchTemplate;
use super::source::{Source, SourceKey, Sources};
use warplens_base::IdMap;
use warplens_base::error::{Error, Result};
use warplens_launch::{BufferId, ElementType, Launch, Plan, PlannedBuffer};
use warplens_session::Measurement;
use warplens_session::Progress;
use warplens_session::execution::{self, Execution, ExecutionOptions};
use warplens_session::host;
use warplens_session::measure;
use warplens_session::profile::Counting;
use warplens_session::runs::{self, Ran};

/// A point that can be launched.
pub(crate) struct Job {
    /// Position in the batch.
    pub(crate) at: usize,
    pub(crate) source: Arc<Source>,
    pub(crate) point: Point,
    pub(crate) texts: Vec<String>,
}

/// A program and the texts of its arguments.
type PlanKey = (usize, Vec<String>);

/// What an execution left.
pub(crate) struct Emulation {
    /// The counts.
    pub(crate) measurement: Measurement,
    /// The buffers as they were bound.
    pub(crate) buffers: IdMap<BufferId, PlannedBuffer>,
    /// What they hold now.
    pub(crate) contents: Vec<(ElementType, Vec<u8>)>,
}

/// What the points of a space have in common.
pub(crate) struct Emulator<'r> {
    launch: &'r LaunchTemplate,
    pub(crate) sources: Sources<'r>,
    pub(crate) execution: ExecutionOptions,
    /// Bound arguments by program and their texts.
    plans: Mutex<BTreeMap<PlanKey, Arc<Plan>>>,
}

impl<'r> Emulator<'r> {
    pub(crate) fn new(launch: &'r LaunchTemplate, sources: Sources<'r>, execution: ExecutionOptions) -> Self {
        Self { launch, sources, execution, plans: Mutex::default() }
    }

    /// The program and arguments of a point, or why it cannot be launched.
    pub(crate) fn job(&self, at: usize, key: &SourceKey, point: &Point) -> std::result::Result<Job, String> {
        let source = self.sources.get(key).as_ref().map_err(reason)?.clone();
        let texts = self.launch.texts(point)?;
        let launch = self.launch.at(point, &texts).map_err(|error| reason(&error))?;
        warplens_launch::extents(&launch, &source.program.interface(source.kernel)).map_err(|error| reason(&error))?;
        execution::check_shared(point.shared).map_err(|error| reason(&error))?;
        Ok(Job { at, source, point: point.clone(), texts })
    }

    /// Points at once, and host threads for each.
    pub(crate) fn workers(&self, n_groups: usize, first: Option<&Job>) -> (usize, usize) {
        let bytes = |job: &Job| {
            let plan = self.plan(job).ok()?;
            Some(plan.buffers.as_slice().iter().map(|buffer| buffer.bytes.len() as u64).sum::<u64>())
        };
        let largest = first.and_then(bytes).unwrap_or(0);
        // Beside the device's memory each has a copy of what it is filled with.
        let fit = usize::try_from(host::memory_for_buffers() / (2 * largest).max(1)).unwrap_or(usize::MAX);
        let n_workers = self.execution.threads.min(n_groups).min(fit).max(1);
        (n_workers, (self.execution.threads / n_workers).max(1))
    }

    /// The bound arguments of a point, made once for all shapes.
    fn plan(&self, job: &Job) -> Result<Arc<Plan>> {
        let key = (job.source.identity, job.texts.clone());
        if let Some(plan) = self.plans.lock().expect("no thread panics while it looks").get(&key) {
            return Ok(plan.clone());
        }
        let launch = self.launch.at(&job.point, &job.texts)?;
        let launch = Launch { kernel: Some(job.source.name.mangled.clone()), ..launch };
        let plan = Arc::new(execution::bind(&job.source.program, &[launch])?.1);
        self.plans.lock().expect("no thread panics while it looks").insert(key, plan.clone());
        Ok(plan)
    }

    /// Executes and counts a point.
    pub(crate) fn run(&self, job: &Job, threads: usize) -> Result<Emulation> {
        let mut plan = Plan::clone(&*self.plan(job)?);
        let planned = plan.launches.first_mut().expect("one launch was bound");
        (planned.grid, planned.block, planned.dynamic_shared) = (job.point.grid, job.point.block, job.point.shared);
        let buffers = plan.buffers.clone();
        let options = ExecutionOptions { threads, ..self.execution.clone() };
        let quiet = Progress::default();
        let mut contents = None;
        let mut measurements = runs::on_each(&options.generations, |generation| {
            let kernels = vec![job.source.kernel];
            let execution = Execution::of_plan(&job.source.program, kernels, plan.clone(), options.clone())?;
            let mut execution = execution.on(generation);
            let measurement = measure::one(&mut execution, 0, Counting::Ptx, job.source.registers, &quiet)?;
            // The results that are compared are those of the measurement at hand: of the first generation that runs.
            contents.get_or_insert_with(|| execution.contents());
            Ok(Ran { measurements: vec![measurement], differing: execution.differing() })
        })?;
        let measurement = measurements.pop().expect("one launch was measured");
        let contents = contents.expect("a launch that was measured ran");
        Ok(Emulation { measurement, buffers, contents })
    }
}

/// An error in one line.
pub(crate) fn reason(error: &Error) -> String {
    // A compiler's first line that speaks of an error says more than that it failed.
    let line = error.details.iter().find(|line| line.contains("error"));
    match line {
        Some(line) => format!("{}: {}", error.message, line.trim()),
        None => error.message.clone(),
    }
}
