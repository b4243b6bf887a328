//! The interpreter: runs the paths of a warp block by block.

use warplens_base::stop;
use warplens_isa::Pc;
use warplens_trace::{ActiveMask, Observer, WarpIndex};

use crate::barrier::BarrierRule;
use crate::cluster::Cluster;
use crate::convergence::give_up_convergence;
use crate::cta::{Blocked, BlockedAt, Cta, Warp};
use crate::decoded::Block;
use crate::divergence::Path;
use crate::engine::{BlockEnd, Engine};
use crate::error::{ExecError, SPIN_FACTOR, ThreadCoordinates, WaitingPlace, WaitingWarp};
use crate::grid::{LaunchSummary, Mode, Shared};
use crate::memory::BufferId;
use crate::program::Order;
use crate::race::{Ledger, Shadow, tag_of};
use crate::raw::{Cells, Leveled, Near, Row, with_level};
use crate::run::Run;
use crate::semantics::tensor::TensorCores;
use crate::shapes::Shapes;
use crate::synchronize::Released;
use crate::waiting::Wait;
use crate::warpgroup::{Parted, release_groups};

/// Instructions after which a warp lets others run, now and then.
const QUANTUM: u64 = 1 << 22;
/// The same where CTAs take turns as if all of them ran at once.
const SHORT_QUANTUM: u64 = 128;
/// Instructions of which a worker tells the others at once.
const REPORT: u64 = 1 << 20;
/// Turns in a loop that may wait for other threads after which a path is taken to wait: it gives way after each turn.
const WAITING_TURNS: u32 = 64;
/// Turns after which lanes that wait for such a path to reconverge go on without it.
const RELEASE_TURNS: u32 = 128;

/// How a CTA left the interpreter.
pub(crate) enum CtaStatus {
    /// All threads have exited.
    Done,
    /// Some threads wait for something outside of the CTA, or it is the turn of other CTAs.
    Yielded,
    /// Nothing can run before other CTAs of the cluster come to its barrier.
    Waiting,
    /// The launch has to be undone.
    Halted,
}

/// How a warp left the interpreter.
enum WarpStatus {
    /// Its paths have ended or wait.
    Parted,
    /// It can go on, but it is the turn of others.
    Interrupted,
}

/// One host thread's interpreter.
pub(crate) struct Worker<'a, E: Engine, O: Observer> {
    pub(crate) shared: &'a Shared<'a, E>,
    pub(crate) observer: O,
    pub(crate) summary: LaunchSummary,
    /// By memory operation: the buffer that it touched last.
    pub(crate) recent: Vec<Recent<'a>>,
    /// By memory operation: how its lanes lay to each other, for the observer.
    pub(crate) shapes: Shapes,
    /// Where lanes loaded from that further loads of the block count from.
    pub(crate) near: Vec<Near>,
    /// Where it is noted who touches what, if that matters.
    pub(crate) ledger: Option<&'a Ledger>,
    /// What stands for the CTA at work there.
    pub(crate) tag: u32,
    /// By warp: the three thread indices.
    pub(crate) thread_index: Vec<[Row; 3]>,
    /// Instruction count at which the warp at work lets others run.
    pub(crate) turn_end: u64,
    /// Instruction count at which the clock of the CTA at work stood at zero.
    clock_start: u64,
    /// Instructions that others know of.
    reported: u64,
}

/// A buffer that an operation touched.
#[derive(Clone, Copy)]
pub(crate) struct Recent<'a> {
    pub(crate) base: u64,
    pub(crate) id: BufferId,
    /// Where the bytes that the operation touches are noted, if that matters.
    pub(crate) shadow: Option<&'a Shadow>,
}

/// Everything that the operations of a block work on.
pub(crate) struct Context<'w, R> {
    pub(crate) warp_index: u32,
    pub(crate) coordinates: [u32; 3],
    pub(crate) shared: &'w Cells,
    pub(crate) cluster: Option<&'w Cluster>,
    pub(crate) local: LocalMemory<'w>,
    pub(crate) record: &'w mut R,
}

/// Local memory of a warp as one frame sees it.
pub(crate) struct LocalMemory<'w> {
    pub(crate) cells: &'w Cells,
    /// First byte of the frame.
    pub(crate) base: u32,
    /// One past the last byte of the frame.
    pub(crate) top: u32,
    /// Bytes from one lane to the next.
    pub(crate) stride: u32,
}

impl<'a, E: Engine, O: Observer> Worker<'a, E, O> {
    pub(crate) fn new(shared: &'a Shared<'a, E>, observer: O) -> Self {
        let n_warps = shared.shape.threads.div_ceil(32);
        let thread_index = (0..n_warps)
            .map(|warp| {
                let mut rows = [Row::splat(0); 3];
                for lane in 0..32 {
                    let thread = shared.shape.thread(warp * 32 + lane);
                    for axis in 0..3 {
                        rows[axis].0[lane as usize] = thread[axis];
                    }
                }
                rows
            })
            .collect();
        let nothing = Recent { base: shared.device.buffer(BufferId(0)).base, id: BufferId(0), shadow: None };
        Self {
            shared,
            observer,
            summary: LaunchSummary::default(),
            recent: vec![nothing; E::n_places(shared.bound())],
            shapes: Shapes::new(if O::RECORDS { E::n_places(shared.bound()) } else { 0 }),
            near: Vec::new(),
            ledger: shared.ledger,
            tag: 0,
            thread_index,
            turn_end: 0,
            clock_start: 0,
            reported: 0,
        }
    }

    pub(crate) fn begin_cta(&mut self, id: warplens_trace::CtaId) -> O::Cta {
        self.observer.begin_cta(id)
    }

    pub(crate) fn end_cta(&mut self, record: O::Cta) {
        self.observer.end_cta(record);
    }

    pub(crate) fn finish(self) -> (O, LaunchSummary) {
        (self.observer, self.summary)
    }

    /// What the clock registers show: instructions that the CTA has executed, and one for each time that it looked, so
    /// that time passes inside of a block too. It counts per CTA, since the order of CTAs is not the kernel's business.
    pub(crate) fn clock(&mut self) -> u64 {
        self.clock_start = self.clock_start.wrapping_sub(1);
        self.summary.warp_instructions.wrapping_sub(self.clock_start)
    }

    pub(crate) fn print(&mut self, text: &[u8]) {
        self.summary.output.extend_from_slice(text);
    }

    /// Runs a CTA until it ends or can only wait for others.
    pub(crate) fn run_cta(&mut self, cta: &mut Cta<E, O::Cta>) -> Result<CtaStatus, ExecError> {
        self.clock_start = self.summary.warp_instructions.wrapping_sub(cta.clock);
        self.tag = tag_of(self.shared.shape.clusters.first_beside(cta.id).0);
        let status = self.run_warps(cta);
        cta.clock = self.summary.warp_instructions.wrapping_sub(self.clock_start);
        status
    }

    fn run_warps(&mut self, cta: &mut Cta<E, O::Cta>) -> Result<CtaStatus, ExecError> {
        loop {
            if self.ledger.is_some_and(|ledger| ledger.halted().is_some()) {
                return Ok(CtaStatus::Halted);
            }
            self.release_from_cluster(cta);
            self.end_phases(cta);
            release_groups(cta);
            let mut interrupted = false;
            let mut progressed = false;
            for warp in 0..cta.warps.len() {
                if !cta.warps[warp].runnable.is_empty() && !self.is_stalled(&cta.warps[warp]) {
                    match self.run_warp(cta, warp)? {
                        WarpStatus::Interrupted => interrupted = true,
                        WarpStatus::Parted => progressed = true,
                    }
                }
            }
            if cta.warps.iter().all(Warp::is_done) {
                return parted(cta).map_or(Ok(CtaStatus::Done), Err);
            }
            if !progressed && self.release_parted(cta, Warp::is_at_barrier) == Released::Some {
                continue;
            }
            if !progressed && give_up_convergence(cta, Warp::holds_up_itself) == Released::Some {
                continue;
            }
            if !progressed && self.end_phases(cta) == Released::Some {
                continue;
            }
            if !interrupted && !progressed {
                let for_others = |warp: &Warp<E>| warp.waits_for_cluster() || warp.waits_for_phase();
                if cta.cluster.is_some() && cta.warps.iter().any(for_others) {
                    return Ok(CtaStatus::Waiting);
                }
                if self.give_up_some_phases(cta) == Released::Some {
                    continue;
                }
                if give_up_convergence(cta, |_| true) == Released::Some {
                    continue;
                }
                if self.release_lanes(cta) == Released::None {
                    return Err(self.deadlock(std::slice::from_ref(cta)));
                }
            }
            if interrupted && !progressed {
                self.give_up_phases(cta);
            }
            let may_wait = cta.cluster.is_some() || matches!(self.shared.program.order(), Order::Communicating(_));
            let waits = interrupted && !progressed && may_wait;
            if waits || self.shared.mode.takes_turns() {
                return Ok(CtaStatus::Yielded);
            }
        }
    }

    /// Runs the paths of a warp until all wait or have ended, or it is the turn of others.
    fn run_warp(&mut self, cta: &mut Cta<E, O::Cta>, warp: usize) -> Result<WarpStatus, ExecError> {
        let start = self.summary.warp_instructions;
        let left = self.shared.launch.budget.saturating_sub(cta.warps[warp].executed);
        let quantum = if self.shared.mode.takes_turns() { SHORT_QUANTUM } else { QUANTUM };
        self.turn_end = start.saturating_add(left.min(quantum));
        let mut status = WarpStatus::Parted;
        while let Some(path) = cta.warps[warp].runnable.pop() {
            let yielded = self.run_path(cta, warp, path)?;
            if self.turn_is_over() {
                if let Some(path) = yielded.or_else(|| cta.warps[warp].runnable.pop()) {
                    self.give_way(cta, warp, path);
                }
                status = WarpStatus::Interrupted;
                break;
            }
            if self.is_stalled(&cta.warps[warp]) {
                break;
            }
        }
        cta.warps[warp].executed += self.summary.warp_instructions - start;
        self.check_budget(cta, warp)?;
        Ok(status)
    }

    /// True when a barrier holds up all paths of the warp, as it does where it waits for warps.
    #[inline(always)]
    fn is_stalled(&self, warp: &Warp<E>) -> bool {
        self.shared.shape.barriers == BarrierRule::Warps && warp.is_at_barrier()
    }

    /// Whose tensor cores compute a product that a warp executes now, and that is so much work.
    pub(crate) fn tensor_cores(&mut self, work: u32) -> TensorCores {
        self.summary.matrix_products += 1;
        self.summary.matrix_work += u64::from(work);
        self.shared.launch.tensor_cores
    }

    /// A part of a warp has come to a CTA barrier.
    pub(crate) fn note_partial_barrier(&mut self) {
        self.summary.partial_barriers += 1;
    }

    /// True when the warp has used up its turn, or was seen to wait.
    #[inline(always)]
    fn turn_is_over(&self) -> bool {
        self.summary.warp_instructions > self.turn_end
    }

    /// Instructions that the other workers do not know of.
    pub(crate) fn unreported(&self) -> u64 {
        self.summary.warp_instructions - self.reported
    }

    /// Gives the launch up when a warp has executed more than its share, or all that may wait for each other together.
    fn check_budget(&mut self, cta: &Cta<E, O::Cta>, warp: usize) -> Result<(), ExecError> {
        let budget = self.shared.launch.budget;
        let together = match self.shared.program.order() {
            _ if self.shared.mode == Mode::Waits => self.summary.warp_instructions,
            Order::Free | Order::Unordered => 0,
            Order::Local(_) => cta.warps.iter().map(|warp| warp.executed).sum(),
            Order::Communicating(_) => self.summary.warp_instructions,
        };
        let warps = &cta.warps[warp];
        let place = || {
            let path = warps.runnable.first().or(warps.blocked.first().map(|blocked| &blocked.path));
            path.map_or(Pc(0), |path| self.shared.code().block(path.block).flow_pc)
        };
        if self.unreported() >= REPORT {
            let is_within = self.shared.note_executed(self.unreported());
            self.reported = self.summary.warp_instructions;
            stop::check();
            if !is_within {
                return Err(ExecError::LaunchBudget { budget: self.shared.launch.launch_budget, pc: place() });
            }
        }
        let alone = (warps.executed > budget).then_some(warp as u32);
        if alone.is_none() && together <= budget.saturating_mul(SPIN_FACTOR) || warps.is_done() {
            return Ok(());
        }
        Err(ExecError::Budget { budget, cta: cta.coordinates, warp: alone, pc: place() })
    }

    /// Tells the observer that progress depends on who runs first.
    fn note_order(&mut self, cta: &mut Cta<E, O::Cta>, pc: Option<Pc>) {
        if O::RECORDS {
            let deciding = match self.shared.program.order() {
                Order::Communicating(pc) | Order::Local(pc) => pc,
                Order::Free | Order::Unordered => Pc(0),
            };
            self.observer.order_dependent(&mut cta.record, pc.unwrap_or(deciding));
        }
    }

    /// Nothing can run: lanes that wait for members which will never come go on without them, as they do on GPUs
    /// without independent thread scheduling.
    fn release_lanes(&mut self, cta: &mut Cta<E, O::Cta>) -> Released {
        for warp in 0..cta.warps.len() {
            if let Some(party) = cta.warps[warp].blocked.iter().find_map(Blocked::party) {
                self.exchange_present(&mut cta.warps[warp], party);
                self.note_order(cta, None);
                return Released::Some;
            }
        }
        Released::None
    }

    /// Why nothing in these CTAs can ever run again: what all wait for, or the end of a warp without which its group cannot
    /// go on.
    pub(crate) fn deadlock(&self, ctas: &[Cta<E, O::Cta>]) -> ExecError {
        if let Some(parted) = ctas.iter().find_map(parted) {
            return parted;
        }
        let mut waiting = Vec::new();
        let warps =
            ctas.iter().flat_map(|cta| cta.warps.iter().enumerate().map(move |(index, warp)| (cta, index, warp)));
        for (of, index, warp) in warps {
            let (cta, warp_index) = (of.coordinates, index as u32);
            let base = WaitingWarp { cta, warp: warp_index, lanes: 0, at: None, place: WaitingPlace::Lanes };
            for blocked in &warp.blocked {
                let pc = |operation: u32| E::pc(self.shared.bound(), operation);
                let (at, place) = match blocked.at {
                    BlockedAt::Lanes { operation, .. } => (pc(operation), WaitingPlace::Lanes),
                    BlockedAt::Convergence { pc, .. } => (pc, WaitingPlace::Lanes),
                    BlockedAt::Barrier { barrier, operation } => (pc(operation), WaitingPlace::Barrier(barrier)),
                    BlockedAt::Cluster { operation, .. } => (pc(operation), WaitingPlace::Cluster),
                    BlockedAt::Phase { wait, operation } => (pc(operation), wait.place(of)),
                    BlockedAt::Group { operation } => (pc(operation), WaitingPlace::Group),
                };
                waiting.push(WaitingWarp { lanes: blocked.path.mask, at: Some(at), place, ..base });
            }
            let lanes = warp.nodes.waiting_lanes() & warp.live;
            if lanes != 0 {
                waiting.push(WaitingWarp { lanes, ..base });
            }
        }
        ExecError::Deadlock(waiting)
    }

    /// Runs a path until it ends, waits or splits. Returns it if its turn is over before.
    fn run_path(&mut self, cta: &mut Cta<E, O::Cta>, warp: usize, path: Path) -> Result<Option<Path>, ExecError> {
        with_level(self.shared.level, RunPath { worker: self, cta, warp, path })
    }

    pub(crate) fn thread(&self, cta: [u32; 3], warp: u32, lanes: u32) -> ThreadCoordinates {
        let thread = self.shared.shape.thread(warp * 32 + lanes.trailing_zeros().min(31));
        ThreadCoordinates { cta, thread }
    }
}

/// The error of a warp that has ended where others of its group wait for it.
fn parted<E: Engine, R>(cta: &Cta<E, R>) -> Option<ExecError> {
    let parted = cta.warpgroups.missing(|warp| cta.warps[warp].is_done())?;
    Some(parted_warpgroup(cta.coordinates, parted))
}

/// The error of a warp that is not where the others of its group are.
pub(crate) fn parted_warpgroup(cta: [u32; 3], Parted { warp, at, others }: Parted) -> ExecError {
    ExecError::PartedWarpgroup { pc: at, cta, warp: warp as u32, others }
}

struct RunPath<'x, 'a, E: Engine, O: Observer> {
    worker: &'x mut Worker<'a, E, O>,
    cta: &'x mut Cta<E, O::Cta>,
    warp: usize,
    path: Path,
}

impl<E: Engine, O: Observer> Leveled for RunPath<'_, '_, E, O> {
    type Output = Result<Option<Path>, ExecError>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        let Self { worker, cta, warp, mut path } = self;
        loop {
            let block = worker.shared.code().block(path.block);
            let first = match path.operation.take() {
                Some(operation) => operation,
                None => {
                    worker.enter_block(cta, warp, &path, block);
                    block.operations.start
                }
            };
            let run = Run { worker, cta, warp_index: warp, path: &mut path, block, first };
            match E::run_block(run)? {
                BlockEnd::Through => {}
                BlockEnd::Again => continue,
                BlockEnd::Blocked => return Ok(None),
            }
            if let Some(wait) = block.wait {
                worker.watch(cta, warp, &mut path, block, wait);
            }
            match worker.follow(cta, warp, path, block)? {
                Some(next) => path = next,
                None => return Ok(None),
            }
            if worker.turn_is_over() {
                return Ok(Some(path));
            }
        }
    }
}

impl<'a, E: Engine, O: Observer> Worker<'a, E, O> {
    #[inline(always)]
    fn enter_block(&mut self, cta: &mut Cta<E, O::Cta>, warp: usize, path: &Path, block: &Block) {
        let n = u64::from(block.n_instructions);
        self.summary.warp_instructions += n;
        self.summary.thread_instructions += n * u64::from(path.mask.count_ones());
        if O::RECORDS {
            let warp = WarpIndex(warp as u32);
            self.observer.block(&mut cta.record, warp, path.block, ActiveMask(path.mask));
        }
    }

    /// Notes a turn of a loop that may wait for other threads. Others run before the next one, as they would on a GPU, unless
    /// the CTA has done so very often and the path is not seen to wait.
    #[inline(never)]
    fn watch(&mut self, cta: &mut Cta<E, O::Cta>, warp: usize, path: &mut Path, block: &Block, wait: Wait) {
        let taken = block.guard.map_or(path.mask, |guard| path.mask & self.flow_predicate(cta, warp, path, guard));
        let mut staying = 0;
        if wait.taken_stays {
            staying |= taken;
        }
        if wait.next_stays {
            staying |= path.mask & !taken;
        }
        path.turns.note(&wait, path.block, path.mask, staying);
        let is_prompt = staying != 0 && cta.prompt_turns > 0;
        cta.prompt_turns -= u32::from(is_prompt);
        if is_prompt || path.turns.count >= WAITING_TURNS {
            self.turn_end = 0;
        }
    }

    /// Lets other paths run: siblings, lanes that wait for this path to reconverge, other warps, other CTAs.
    #[inline(never)]
    fn give_way(&mut self, cta: &mut Cta<E, O::Cta>, warp_index: usize, mut path: Path) {
        let turns = path.turns.count;
        let warp = &mut cta.warps[warp_index];
        let mut released = Vec::new();
        if turns >= RELEASE_TURNS {
            path.turns.count = WAITING_TURNS;
            released = warp.release_waiting(&mut path);
        }
        let is_alone = warp.runnable.is_empty() && released.is_empty();
        warp.runnable.insert(0, path);
        warp.runnable.extend(released);
        let others = cta.warps.len() > 1 || self.shared.n_ctas > 1;
        if turns >= WAITING_TURNS && (!is_alone || others) {
            self.note_order(cta, None);
        }
    }
}
