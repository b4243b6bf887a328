//! Launching grids: CTAs on all cores, or one after the other where their order matters.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use warplens_trace::{CtaId, Observer};

use crate::code::Code;
use crate::cta::{Cta, CtaShape, Pool};
use crate::error::ExecError;
use crate::interpret::{CtaStatus, STACK_LIMIT, Worker};
use crate::memory::{Constants, Device};
use crate::program::Program;

/// Memory that CTAs which are under way at once may take together: all that a large GPU can hold take less.
const RESIDENT_BYTES: u64 = 16 << 30;

/// What to launch.
#[derive(Clone, Debug)]
pub struct Launch {
    /// CTAs per axis.
    pub grid: [u32; 3],
    /// Threads per axis.
    pub block: [u32; 3],
    /// Dynamic shared memory in bytes.
    pub dynamic_shared: u64,
    /// Content of the parameter space.
    pub parameters: Vec<u8>,
    /// CTAs to execute, in order; `None` for all.
    pub ctas: Option<Vec<u32>>,
    /// Instructions that a warp may execute. Threads that may wait for each other may execute 20 times as many together.
    pub budget: u64,
    /// CTAs that may be under way at once; more wait for one to end.
    pub resident_ctas: u64,
    /// Host threads.
    pub threads: usize,
    /// Run CTAs one after the other on one thread even if they do not communicate.
    pub deterministic: bool,
    /// Go on when the kernel has instructions that cannot be executed, and fail when one is reached.
    pub allow_unsupported: bool,
}

/// What a launch did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchSummary {
    /// Warp instructions executed.
    pub warp_instructions: u64,
    /// Thread instructions executed: active lanes, whatever their guard.
    pub thread_instructions: u64,
    /// What the kernel printed.
    pub output: Vec<u8>,
}

/// State that the workers of a launch share.
pub(crate) struct Shared<'a> {
    pub(crate) program: &'a Program,
    pub(crate) device: &'a Device,
    pub(crate) constants: &'a Constants,
    pub(crate) launch: &'a Launch,
    pub(crate) shape: CtaShape,
    /// Position of the next CTA in the order of execution.
    next: AtomicU64,
    pub(crate) n_ctas: u64,
    failed: AtomicBool,
    /// CTAs finished, for whoever shows progress.
    progress: &'a AtomicU64,
}

impl Shared<'_> {
    pub(crate) fn code(&self) -> &Code {
        &self.program.code
    }

    fn next_cta(&self) -> Option<CtaId> {
        let position = self.next.fetch_add(1, Ordering::Relaxed);
        if position >= self.n_ctas {
            return None;
        }
        match &self.launch.ctas {
            Some(ctas) => ctas.get(position as usize).map(|&cta| CtaId(cta)),
            None => Some(CtaId(position as u32)),
        }
    }
}

/// Runs a grid. `progress` counts finished CTAs. On an error the device keeps what was written up to then, and the
/// error of the lowest CTA that failed is returned.
pub fn launch<O: Observer + Sync>(
    program: &Program,
    device: &Device,
    launch: &Launch,
    observer: O,
    progress: &AtomicU64,
) -> Result<(O, LaunchSummary), ExecError> {
    if !launch.allow_unsupported && !program.unsupported().is_empty() {
        return Err(ExecError::Unsupported(program.unsupported().to_vec()));
    }
    let image = device.image(program.image).ok_or(ExecError::Unloaded)?;
    let frame = program.code.functions[program.kernel].bytes();
    if frame > STACK_LIMIT {
        return Err(ExecError::Frame { bytes: frame, limit: STACK_LIMIT });
    }
    let total: u64 = launch.grid.iter().map(|&extent| u64::from(extent)).product();
    let shared = Shared {
        program,
        device,
        constants: &image.constants,
        launch,
        shape: CtaShape {
            grid: launch.grid,
            block: launch.block,
            threads: launch.block.iter().product(),
            shared_bytes: program.static_shared_bytes().saturating_add(launch.dynamic_shared) as usize,
        },
        next: AtomicU64::new(0),
        n_ctas: launch.ctas.as_ref().map_or(total, |ctas| ctas.len() as u64),
        failed: AtomicBool::new(false),
        progress,
    };
    let is_parallel = program.is_parallel() && !launch.deterministic;
    let n_workers = if is_parallel { launch.threads.max(1).min(shared.n_ctas.max(1) as usize) } else { 1 };
    collect(run_workers(&shared, &observer, n_workers), observer)
}

type WorkerResult<O> = (O, LaunchSummary, Option<(CtaId, ExecError)>);

fn run_workers<O: Observer + Sync>(shared: &Shared<'_>, observer: &O, n_workers: usize) -> Vec<WorkerResult<O>> {
    let cta_bytes = shared.code().functions[shared.program.kernel].bytes() * u64::from(shared.shape.threads)
        + shared.shape.shared_bytes as u64;
    let resident = shared.launch.resident_ctas.min(RESIDENT_BYTES / cta_bytes.max(1));
    let resident = (resident / n_workers as u64).max(1) as usize;
    if n_workers == 1 {
        return vec![run_worker(shared, observer.fork(), resident)];
    }
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..n_workers)
            .map(|_| {
                let fork = observer.fork();
                scope.spawn(move || run_worker(shared, fork, resident))
            })
            .collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

fn collect<O: Observer>(results: Vec<WorkerResult<O>>, mut observer: O) -> Result<(O, LaunchSummary), ExecError> {
    let mut summary = LaunchSummary::default();
    let mut failure: Option<(CtaId, ExecError)> = None;
    for (fork, part, error) in results {
        observer.merge(fork);
        summary.warp_instructions += part.warp_instructions;
        summary.thread_instructions += part.thread_instructions;
        summary.output.extend(part.output);
        if let Some((cta, error)) = error
            && failure.as_ref().is_none_or(|(lowest, _)| cta < *lowest)
        {
            failure = Some((cta, error));
        }
    }
    match failure {
        Some((_, error)) => Err(error),
        None => Ok((observer, summary)),
    }
}

fn run_worker<O: Observer>(shared: &Shared<'_>, observer: O, resident: usize) -> WorkerResult<O> {
    let mut worker = Worker::new(shared, observer);
    let mut pool = Pool::default();
    // CTAs that wait for something that others do, longest waiting first.
    let mut waiting: VecDeque<Cta<O::Cta>> = VecDeque::new();
    let error = loop {
        // After a failure the CTAs under way still end: all with lower numbers have been started, so the lowest
        // failure is found whatever the number of workers.
        let may_start = waiting.len() < resident && !shared.failed.load(Ordering::Relaxed);
        let fresh = if may_start { shared.next_cta() } else { None };
        let mut cta = match fresh {
            Some(id) => {
                let record = worker.begin_cta(id);
                pool.start(shared.code(), shared.program.kernel, id, &shared.shape, record)
            }
            None => match waiting.pop_front() {
                Some(cta) => cta,
                None => break None,
            },
        };
        match worker.run_cta(&mut cta) {
            Ok(CtaStatus::Done) => {
                worker.end_cta(pool.recycle(cta));
                shared.progress.fetch_add(1, Ordering::Relaxed);
            }
            Ok(CtaStatus::Yielded) => waiting.push_back(cta),
            Err(error) => {
                shared.failed.store(true, Ordering::Relaxed);
                break Some((cta.id, error));
            }
        }
    };
    let (observer, summary) = worker.finish();
    (observer, summary, error)
}
