//! Launching grids: CTAs on all cores, or in a fixed order where it matters.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustc_hash::FxHashMap;
use warplens_base::stop;
use warplens_isa::Pc;
use warplens_trace::{Clusters, CtaId, Observer};

use crate::barrier::BarrierRule;
use crate::calls::STACK_LIMIT;
use crate::cta::{CtaShape, Pool};
use crate::decoded::Code;
use crate::engine::Engine;
use crate::error::ExecError;
use crate::interpret::{CtaStatus, Worker};
use crate::memory::{Constants, Device};
use crate::program::Program;
use crate::race::{Halt, Ledger, Race};
use crate::raw::Level;
use crate::semantics::tensor::TensorCores;

/// Thread instructions that take as long as a multiply-add of a product of matrices: 1 to 5, by where its factors lie.
const MULTIPLY_ADD: u64 = 2;
/// Threads under way at once where CTAs take turns: about as many as fit a large GPU.
const RESIDENT_THREADS: u64 = 1 << 18;

/// Memory that CTAs which are under way at once may take together: all that a large GPU can hold take less.
const RESIDENT_BYTES: u64 = 16 << 30;

/// What to launch.
#[derive(Clone, Debug)]
pub struct Launch {
    /// CTAs per axis.
    pub grid: [u32; 3],
    /// Threads per axis.
    pub block: [u32; 3],
    /// CTAs of a cluster, per axis, which divide those of the grid; none where the launch says nothing of clusters.
    pub cluster: Option<[u32; 3]>,
    /// Dynamic shared memory in bytes.
    pub dynamic_shared: u64,
    /// Content of the parameter space.
    pub parameters: Vec<u8>,
    /// CTAs to execute, in order; `None` for all. Of a cluster all are among them, or none: they run at the place of the
    /// first of them.
    pub ctas: Option<Vec<u32>>,
    /// Instructions that a warp may execute. Threads that may wait for each other may execute 20 times as many together.
    pub budget: u64,
    /// Instructions that all its warps may execute together.
    pub launch_budget: u64,
    /// CTAs that may be under way at once; more wait for one to end.
    pub resident_ctas: u64,
    /// Host threads.
    pub threads: usize,
    /// In which order CTAs run.
    pub schedule: Schedule,
    /// Go on when the kernel has instructions that cannot be executed, and fail when one is reached.
    pub allow_unsupported: bool,
    /// Let loads read zeros in the page behind the end of a buffer, where GPUs find something mapped.
    pub allow_overreads: bool,
    /// Whom CTA barriers wait for.
    pub barriers: BarrierRule,
    /// Whose tensor cores multiply matrices.
    pub tensor_cores: TensorCores,
}

/// In which order CTAs run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Schedule {
    /// In any order that leaves the same on every run.
    Any,
    /// As if they ran at once: in turns of a few instructions, as many at a time as a large GPU holds.
    Turns,
}

/// What a launch did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchSummary {
    /// Warp instructions executed.
    pub warp_instructions: u64,
    /// Thread instructions executed: active lanes, whatever their guard.
    pub thread_instructions: u64,
    /// Executions of CTA barriers by a part of the lanes of a warp that have not exited. Without any, the launch runs in
    /// the same way under every [`BarrierRule`].
    pub partial_barriers: u64,
    /// Products of matrices that warps executed. Without any, the launch runs in the same way with all [`TensorCores`].
    pub matrix_products: u64,
    /// The work of these, as [`MatrixProduct::work`](warplens_isa::MatrixProduct::work) has it.
    pub matrix_work: u64,
    /// Loads of lanes behind the end of a buffer, where the launch allows them.
    pub overreads: u64,
    /// What the kernel printed.
    pub output: Vec<u8>,
    /// CTAs touched what others wrote, so that results and counts depend on the order.
    pub race: Option<Race>,
}

impl LaunchSummary {
    /// What the execution cost here, in thread instructions.
    pub fn work(&self) -> u64 {
        self.thread_instructions + MULTIPLY_ADD * self.matrix_work
    }
}

/// State that the workers of a launch share.
pub(crate) struct Shared<'a, E: Engine> {
    pub(crate) program: &'a Program<E>,
    pub(crate) device: &'a Device,
    /// Where it is noted who touches what, if that matters.
    pub(crate) ledger: Option<&'a Ledger>,
    pub(crate) constants: &'a Constants,
    pub(crate) launch: &'a Launch,
    pub(crate) mode: Mode,
    /// CPU features to compile for.
    pub(crate) level: Level,
    pub(crate) shape: CtaShape,
    /// Position of the next group in the order of execution.
    next: AtomicU64,
    groups: Groups,
    n_groups: u64,
    pub(crate) n_ctas: u64,
    failed: AtomicBool,
    /// Warp instructions executed, but for the last ones of each worker.
    executed: AtomicU64,
    /// CTAs finished, for whoever shows progress.
    progress: &'a AtomicU64,
}

impl<E: Engine> Shared<'_, E> {
    pub(crate) fn code(&self) -> &Code {
        &self.program.code
    }

    /// Adds what a worker executed. False when all together have executed more than the launch may.
    pub(crate) fn note_executed(&self, warp_instructions: u64) -> bool {
        let before = self.executed.fetch_add(warp_instructions, Ordering::Relaxed);
        before.saturating_add(warp_instructions) <= self.launch.launch_budget
    }

    /// What the engine made of the code.
    pub(crate) fn bound(&self) -> &E::Code {
        &self.program.bound
    }

    /// The position of the next group.
    fn next_group(&self) -> Option<u64> {
        let position = self.next.fetch_add(1, Ordering::Relaxed);
        (position < self.n_groups).then_some(position)
    }

    /// The CTAs of a group.
    fn members(&self, position: u64) -> impl Iterator<Item = CtaId> + '_ {
        let index = usize::try_from(position).expect("fewer groups than CTAs");
        let (alone, cluster) = match &self.groups {
            Groups::Ctas => (
                Some(match &self.launch.ctas {
                    Some(ctas) => ctas[index],
                    None => position as u32,
                }),
                None,
            ),
            Groups::Clusters(None) => (None, Some(position as u32)),
            Groups::Clusters(Some(clusters)) => (None, Some(clusters[index])),
        };
        alone.map(CtaId).into_iter().chain(cluster.into_iter().flat_map(|cluster| self.shape.clusters.members(cluster)))
    }
}

/// What is run together.
enum Groups {
    /// Each CTA is a group of its own.
    Ctas,
    /// Clusters: all, or these.
    Clusters(Option<Vec<u32>>),
}

impl Groups {
    fn of(launch: &Launch, shape: &CtaShape) -> Self {
        if shape.clusters.n_ctas() == 1 {
            return Self::Ctas;
        }
        Self::Clusters(launch.ctas.as_ref().map(|ctas| {
            let mut seen = FxHashMap::default();
            let mut clusters = Vec::new();
            for &cta in ctas {
                let cluster = shape.clusters.of(CtaId(cta));
                let count: &mut u32 = seen.entry(cluster).or_default();
                if *count == 0 {
                    clusters.push(cluster);
                }
                *count += 1;
            }
            assert!(seen.values().all(|&count| count == shape.clusters.n_ctas()), "clusters are executed whole");
            clusters
        }))
    }
}

/// Runs a grid. `progress` counts finished CTAs. On an error the device keeps what was written up to then, and the
/// error of the lowest CTA that failed is returned.
pub fn launch<E: Engine, O: Observer + Sync>(
    program: &Program<E>,
    device: &Device,
    launch: &Launch,
    observer: O,
    progress: &AtomicU64,
) -> Result<(O, LaunchSummary), ExecError> {
    Parts::new(program, device, launch.grid).run((program, device), launch, observer, progress)
}

/// A launch whose CTAs are run in one or several parts, and that can be undone.
pub struct Parts {
    /// Who touched what; `None` where that does not matter.
    ledger: Option<Ledger>,
    earlier: Vec<Launch>,
}

impl Parts {
    /// A launch of which nothing has run yet.
    pub fn new<E: Engine>(program: &Program<E>, device: &Device, grid: [u32; 3]) -> Self {
        let is_alone = grid == [1; 3];
        let ledger = (program.may_race() && !is_alone).then(|| Ledger::new(device));
        Self { ledger, earlier: Vec::new() }
    }

    /// True if some buffer was both loaded from and changed, so that it matters which CTAs were run.
    pub fn exchange_data(&self) -> bool {
        self.ledger.as_ref().is_some_and(Ledger::is_mixed)
    }

    /// Puts back what stood in memory before the launch, where its CTAs race; there is no way back otherwise.
    pub fn undo(&mut self, device: &Device) {
        if let Some(ledger) = &mut self.ledger {
            ledger.undo(device);
        }
        self.earlier.clear();
    }

    /// Runs CTAs: in any order if they do not touch each other's memory, together with those that were run before. If
    /// they may, they run anew in a fixed order.
    pub fn run<E: Engine, O: Observer + Sync>(
        &mut self,
        (program, device): (&Program<E>, &Device),
        launch: &Launch,
        observer: O,
        progress: &AtomicU64,
    ) -> Result<(O, LaunchSummary), ExecError> {
        if !launch.allow_unsupported && !program.unsupported().is_empty() {
            return Err(ExecError::Unsupported(program.unsupported().to_vec()));
        }
        device.image(program.image).ok_or(ExecError::Unloaded)?;
        let frame = program.code.functions[program.kernel].bytes();
        if frame > STACK_LIMIT {
            return Err(ExecError::Frame { bytes: frame, limit: STACK_LIMIT });
        }
        let is_alone = launch.ctas.as_ref().is_some_and(|ctas| ctas.len() == 1);
        let is_parallel = program.is_parallel() && launch.threads > 1 && !is_alone;
        let settled = |mode, observer| {
            let results = execute((program, device), None, launch, &observer, progress, mode);
            collect(results, observer)
        };
        let result = match launch.schedule {
            Schedule::Turns => settled(Mode::Turns, observer),
            Schedule::Any if self.ledger.is_some() => {
                self.watched((program, device), launch, observer, progress, is_parallel)
            }
            Schedule::Any if is_parallel => settled(Mode::Parallel, observer),
            Schedule::Any => settled(Mode::InOrder, observer),
        };
        self.earlier.push(launch.clone());
        result
    }

    fn watched<E: Engine, O: Observer + Sync>(
        &mut self,
        on: (&Program<E>, &Device),
        launch: &Launch,
        observer: O,
        progress: &AtomicU64,
        is_parallel: bool,
    ) -> Result<(O, LaunchSummary), ExecError> {
        if is_parallel {
            let results = self.attempt(on, launch, &observer, progress, (Mode::Parallel, Memory::Current))?;
            let has_failed = |results: &Vec<WorkerResult<O>>| results.iter().any(|(_, _, error)| error.is_some());
            if let Some(results) = results.filter(|results| !has_failed(results)) {
                return collect(results, observer);
            }
            // Neither who met whom first nor who failed first may decide: one thread finds the same each time.
            self.ledger.iter_mut().for_each(|ledger| ledger.reset(on.1));
        }
        let memory = if is_parallel { Memory::Initial } else { Memory::Current };
        let Some(results) = self.attempt(on, launch, &observer, progress, (Mode::InOrder, memory))? else {
            let results = self.attempt(on, launch, &observer, progress, (Mode::Turns, Memory::Initial))?;
            return collect(results.expect("CTAs that take turns may meet"), observer);
        };
        if !results.iter().any(has_run_out) {
            return collect(results, observer);
        }
        // It may wait, by plain loads, for what a CTA stores whose turn has not come.
        self.ledger.iter_mut().for_each(|ledger| ledger.undo(on.1));
        let together = self.attempt(on, launch, &observer, progress, (Mode::Waits, Memory::Initial))?;
        let together = together.filter(|results| !results.iter().any(has_run_out));
        collect(together.unwrap_or(results), observer)
    }

    /// Runs CTAs and notes who touches what. `None` if they get in each other's way, or in that of those that were run
    /// before; then everything is undone.
    fn attempt<E: Engine, O: Observer + Sync>(
        &mut self,
        on: (&Program<E>, &Device),
        launch: &Launch,
        observer: &O,
        progress: &AtomicU64,
        (mode, mut memory): (Mode, Memory),
    ) -> Result<Option<Vec<WorkerResult<O>>>, ExecError> {
        let before = progress.load(Ordering::Relaxed);
        loop {
            if memory == Memory::Initial {
                self.replay(on, mode)?;
            }
            let ledger = self.ledger.as_mut().expect("who does not note does not attempt");
            if ledger.halted().is_none() {
                let results = execute(on, Some(ledger), launch, observer, progress, mode);
                if ledger.halted().is_none() {
                    return Ok(Some(results));
                }
            }
            let why = ledger.halted();
            ledger.undo(on.1);
            progress.store(before, Ordering::Relaxed);
            if why == Some(Halt::Overlap) {
                return Ok(None);
            }
            memory = Memory::Initial;
        }
    }

    /// Runs the earlier parts again, for what they leave in memory.
    fn replay<E: Engine>(&self, on: (&Program<E>, &Device), mode: Mode) -> Result<(), ExecError> {
        let Some(ledger) = &self.ledger else { return Ok(()) };
        for part in &self.earlier {
            let results = execute(on, Some(ledger), part, &(), &AtomicU64::new(0), mode);
            if ledger.halted().is_some() {
                break;
            }
            collect(results, ())?;
        }
        Ok(())
    }
}

/// How the CTAs of a launch are run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// On all host threads.
    Parallel,
    /// One after the other; those that wait for others give way to them.
    InOrder,
    /// On one host thread, as if they ran at once: each gives way after a few instructions.
    Turns,
    /// The same for CTAs that seem to wait for what others store: all of them together run out of their budget.
    Waits,
}

impl Mode {
    /// True when CTAs take turns as if all of them ran at once.
    pub(crate) fn takes_turns(self) -> bool {
        matches!(self, Self::Turns | Self::Waits)
    }
}

/// What stands in memory before an attempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Memory {
    /// What stood there before the launch.
    Initial,
    /// What the earlier parts left.
    Current,
}

fn execute<E: Engine, O: Observer + Sync>(
    (program, device): (&Program<E>, &Device),
    ledger: Option<&Ledger>,
    launch: &Launch,
    observer: &O,
    progress: &AtomicU64,
    mode: Mode,
) -> Vec<WorkerResult<O>> {
    let total: u64 = launch.grid.iter().map(|&extent| u64::from(extent)).product();
    let shape = CtaShape {
        grid: launch.grid,
        block: launch.block,
        threads: launch.block.iter().product(),
        shared_bytes: program.taken_shared_bytes().saturating_add(launch.dynamic_shared) as usize,
        barriers: launch.barriers,
        clusters: Clusters::new(launch.grid, launch.cluster),
    };
    let n_ctas = launch.ctas.as_ref().map_or(total, |ctas| ctas.len() as u64);
    let shared = Shared {
        program,
        device,
        ledger,
        constants: &device.image(program.image).expect("a launch begins with a loaded module").constants,
        launch,
        mode,
        level: Level::detect(),
        next: AtomicU64::new(0),
        executed: AtomicU64::new(0),
        groups: Groups::of(launch, &shape),
        n_groups: n_ctas / u64::from(shape.clusters.n_ctas()),
        n_ctas,
        shape,
        failed: AtomicBool::new(false),
        progress,
    };
    let n_workers = match mode {
        Mode::Parallel => launch.threads.max(1).min(shared.n_groups.max(1) as usize),
        Mode::InOrder | Mode::Turns | Mode::Waits => 1,
    };
    run_workers(&shared, observer, n_workers)
}

/// A warp has executed more than its share.
fn has_run_out<O>((_, _, error): &WorkerResult<O>) -> bool {
    matches!(error, Some((_, ExecError::Budget { .. })))
}

/// What a host thread found, and how its group at this position failed.
type WorkerResult<O> = (O, LaunchSummary, Option<(u64, ExecError)>);

fn run_workers<E: Engine, O: Observer + Sync>(
    shared: &Shared<'_, E>,
    observer: &O,
    n_workers: usize,
) -> Vec<WorkerResult<O>> {
    let cta_bytes = shared.code().functions[shared.program.kernel].bytes() * u64::from(shared.shape.threads)
        + shared.shape.shared_bytes as u64;
    let fitting = shared.launch.resident_ctas.min(RESIDENT_BYTES / cta_bytes.max(1));
    let resident = match shared.mode {
        Mode::Parallel | Mode::InOrder => fitting / n_workers as u64,
        Mode::Turns | Mode::Waits => fitting.min(RESIDENT_THREADS / u64::from(shared.shape.threads.max(1))),
    };
    let resident = (resident / u64::from(shared.shape.clusters.n_ctas())).max(1) as usize;
    if n_workers == 1 {
        return vec![run_worker(shared, observer.fork(), resident)];
    }
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..n_workers)
            .map(|_| {
                let fork = observer.fork();
                scope.spawn(stop::carried(move || run_worker(shared, fork, resident)))
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
    let mut failure: Option<(u64, ExecError)> = None;
    for (fork, part, error) in results {
        observer.merge(fork);
        summary.warp_instructions += part.warp_instructions;
        summary.thread_instructions += part.thread_instructions;
        summary.partial_barriers += part.partial_barriers;
        summary.matrix_products += part.matrix_products;
        summary.matrix_work += part.matrix_work;
        summary.overreads += part.overreads;
        summary.output.extend(part.output);
        summary.race = summary.race.or(part.race);
        if let Some((position, error)) = error
            && failure.as_ref().is_none_or(|(lowest, _)| position < *lowest)
        {
            failure = Some((position, error));
        }
    }
    match failure {
        Some((_, error)) => Err(error),
        None => Ok((observer, summary)),
    }
}

/// Groups that wait for something that others do. All have a turn before one has its next.
struct Waiting<G> {
    /// Those that had their turn.
    after: Vec<G>,
    /// Those that did not, last one first.
    before: Vec<G>,
    /// They come in the order in which they were started, each time.
    is_in_order: bool,
    rounds: u64,
}

impl<G> Waiting<G> {
    /// CTAs that fight for a word come to it in the order in which they were started, and then in another one each time: if
    /// the lowest were always first, the maximum of their numbers would be found in as many steps as there are threads.
    fn new(mode: Mode) -> Self {
        Self { after: Vec::new(), before: Vec::new(), is_in_order: mode.takes_turns(), rounds: 0 }
    }

    fn len(&self) -> usize {
        self.after.len() + self.before.len()
    }

    fn push(&mut self, group: G) {
        self.after.push(group);
    }

    /// The one whose turn it is.
    fn next(&mut self) -> Option<G> {
        if self.before.is_empty() {
            std::mem::swap(&mut self.before, &mut self.after);
            self.before.reverse();
            if self.rounds > 0 && !self.is_in_order {
                shuffle(&mut self.before, self.rounds);
            }
            self.rounds += 1;
        }
        self.before.pop()
    }
}

/// Brings things into an order that looks like any (Knuth, The Art of Computer Programming, algorithm 3.4.2 P, with the
/// numbers of MMIX, 3.3.4).
fn shuffle<T>(things: &mut [T], seed: u64) {
    let mut number = seed;
    for left in (2..=things.len()).rev() {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        things.swap(left - 1, (number >> 33) as usize % left);
    }
}

fn run_worker<E: Engine, O: Observer>(shared: &Shared<'_, E>, observer: O, resident: usize) -> WorkerResult<O> {
    let mut worker = Worker::new(shared, observer);
    let mut pool = Pool::default();
    let mut waiting = Waiting::new(shared.mode);
    let error = loop {
        // After a failure the groups under way still end: all before it have been started, so the first failure is found
        // whatever the number of workers.
        let may_start = waiting.len() < resident && !shared.failed.load(Ordering::Relaxed);
        let fresh = if may_start { shared.next_group() } else { None };
        let mut group = match fresh {
            Some(position) => {
                let ctas = shared.members(position).map(|id| (id, worker.begin_cta(id)));
                let code = (shared.code(), shared.bound());
                pool.start_group(code, shared.program.kernel, &shared.shape, (position, ctas))
            }
            None => match waiting.next() {
                Some(group) => group,
                None => break None,
            },
        };
        match worker.run_group(&mut group) {
            Ok(CtaStatus::Done) => {
                shared.progress.fetch_add(group.ctas.len() as u64, Ordering::Relaxed);
                group.ctas.into_iter().for_each(|cta| worker.end_cta(pool.recycle(cta)));
            }
            Ok(CtaStatus::Yielded | CtaStatus::Waiting) => waiting.push(group),
            Ok(CtaStatus::Halted) => break None,
            Err(error) => {
                shared.failed.store(true, Ordering::Relaxed);
                break Some((group.position, error));
            }
        }
    };
    let is_within = shared.note_executed(worker.unreported());
    let over_budget = || {
        let error = ExecError::LaunchBudget { budget: shared.launch.launch_budget, pc: Pc(0) };
        (u64::MAX, error)
    };
    let error = error.or_else(|| (!is_within).then(over_budget));
    let (observer, summary) = worker.finish();
    (observer, summary, error)
}
