//! The interpreter: runs the paths of a warp block by block.

use warplens_ir::FunctionId;
use warplens_isa::{BlockId, Pc};
use warplens_trace::{ActiveMask, Observer, WarpIndex};

use crate::barrier::BarrierRule;
use crate::code::{CodeBlock, CodeCall, CodeFlow, CodeFunction, Kind, SINK, Wide};
use crate::cta::{Blocked, BlockedAt, Cta, Warp};
use crate::divergence::{Frame, Path};
use crate::error::{ExecError, SPIN_FACTOR, ThreadCoordinates, WaitingWarp};
use crate::exchange::{Attendance, attend};
use crate::grid::{LaunchSummary, Mode, Shared};
use crate::meeting::Meeting;
use crate::memory::BufferId;
use crate::program::Order;
use crate::race::{Ledger, Shadow, tag_of};
use crate::raw::{Cells, Lanes, Leveled, Row, Source, call, with_level};
use crate::synchronize::Released;
use crate::waiting::Wait;

/// Instructions after which a warp lets others run, now and then.
const QUANTUM: u64 = 1 << 22;
/// The same where CTAs take turns as if all of them ran at once.
const SHORT_QUANTUM: u64 = 128;
/// Turns in a loop that may wait for other threads after which a path is taken to wait: it gives way after each turn.
const WAITING_TURNS: u32 = 64;
/// Turns after which lanes that wait for such a path to reconverge go on without it.
const RELEASE_TURNS: u32 = 128;
/// Stack of a thread: frames of local memory and registers together.
pub(crate) const STACK_LIMIT: u64 = 512 << 10;

/// How a CTA left the interpreter.
pub(crate) enum CtaStatus {
    /// All threads have exited.
    Done,
    /// Some threads wait for something outside of the CTA, or it is the turn of other CTAs.
    Yielded,
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
pub(crate) struct Worker<'a, O: Observer> {
    pub(crate) shared: &'a Shared<'a>,
    pub(crate) observer: O,
    pub(crate) summary: LaunchSummary,
    /// By memory operation: the buffer that it touched last.
    pub(crate) recent: Vec<Recent<'a>>,
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

impl<'a, O: Observer> Worker<'a, O> {
    pub(crate) fn new(shared: &'a Shared<'a>, observer: O) -> Self {
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
            recent: vec![nothing; shared.code().memory.len()],
            ledger: shared.ledger,
            tag: 0,
            thread_index,
            turn_end: 0,
            clock_start: 0,
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
    pub(crate) fn run_cta(&mut self, cta: &mut Cta<O::Cta>) -> Result<CtaStatus, ExecError> {
        self.clock_start = self.summary.warp_instructions.wrapping_sub(cta.clock);
        self.tag = tag_of(cta.id.0);
        let status = self.run_warps(cta);
        cta.clock = self.summary.warp_instructions.wrapping_sub(self.clock_start);
        status
    }

    fn run_warps(&mut self, cta: &mut Cta<O::Cta>) -> Result<CtaStatus, ExecError> {
        loop {
            if self.ledger.is_some_and(|ledger| ledger.halted().is_some()) {
                return Ok(CtaStatus::Halted);
            }
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
                return Ok(CtaStatus::Done);
            }
            if !progressed && self.release_leaving(cta) == Released::Some {
                continue;
            }
            if !interrupted && !progressed && self.release_lanes(cta) == Released::None {
                return Err(self.deadlock(cta));
            }
            let waits = interrupted && !progressed && matches!(self.shared.program.order(), Order::Communicating(_));
            if waits || self.shared.mode == Mode::Turns {
                return Ok(CtaStatus::Yielded);
            }
        }
    }

    /// Runs the paths of a warp until all wait or have ended, or it is the turn of others.
    fn run_warp(&mut self, cta: &mut Cta<O::Cta>, warp: usize) -> Result<WarpStatus, ExecError> {
        let start = self.summary.warp_instructions;
        let left = self.shared.launch.budget.saturating_sub(cta.warps[warp].executed);
        let quantum = if self.shared.mode == Mode::Turns { SHORT_QUANTUM } else { QUANTUM };
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
    fn is_stalled(&self, warp: &Warp) -> bool {
        self.shared.shape.barriers == BarrierRule::Warps && warp.is_at_barrier()
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

    /// Gives the launch up when a warp has executed more than its share, or all that may wait for each other together.
    fn check_budget(&self, cta: &Cta<O::Cta>, warp: usize) -> Result<(), ExecError> {
        let budget = self.shared.launch.budget;
        let together = match self.shared.program.order() {
            Order::Free | Order::Unordered => 0,
            Order::Local(_) => cta.warps.iter().map(|warp| warp.executed).sum(),
            Order::Communicating(_) => self.summary.warp_instructions,
        };
        let warps = &cta.warps[warp];
        let alone = (warps.executed > budget).then_some(warp as u32);
        if alone.is_none() && together <= budget.saturating_mul(SPIN_FACTOR) || warps.is_done() {
            return Ok(());
        }
        let block = warps.runnable.first().map(|path| self.shared.code().block(path.block));
        let pc = block.map_or(Pc(0), |block| block.flow_pc);
        Err(ExecError::Budget { budget, cta: cta.coordinates, warp: alone, pc })
    }

    /// Tells the observer that progress depends on who runs first.
    fn note_order(&mut self, cta: &mut Cta<O::Cta>, pc: Option<Pc>) {
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
    fn release_lanes(&mut self, cta: &mut Cta<O::Cta>) -> Released {
        for warp in 0..cta.warps.len() {
            if let Some(party) = cta.warps[warp].blocked.iter().find_map(Blocked::party) {
                self.exchange_present(&mut cta.warps[warp], party);
                self.note_order(cta, None);
                return Released::Some;
            }
        }
        Released::None
    }

    fn deadlock(&self, cta: &Cta<O::Cta>) -> ExecError {
        let mut waiting = Vec::new();
        for (index, warp) in cta.warps.iter().enumerate() {
            let base = WaitingWarp { cta: cta.coordinates, warp: index as u32, lanes: 0, at: None, barrier: None };
            for blocked in &warp.blocked {
                let (operation, barrier) = match blocked.at {
                    BlockedAt::Lanes { operation, .. } => (operation, None),
                    BlockedAt::Barrier { barrier, operation } => (operation, Some(barrier)),
                };
                let at = Some(self.shared.code().operations[operation as usize].pc);
                waiting.push(WaitingWarp { lanes: blocked.path.mask, at, barrier, ..base });
            }
            let lanes = warp.nodes.waiting_lanes() & warp.live;
            if lanes != 0 {
                waiting.push(WaitingWarp { lanes, ..base });
            }
        }
        ExecError::Deadlock(waiting)
    }

    /// Runs a path until it ends, waits or splits. Returns it if its turn is over before.
    fn run_path(&mut self, cta: &mut Cta<O::Cta>, warp: usize, path: Path) -> Result<Option<Path>, ExecError> {
        with_level(self.shared.code().level, RunPath { worker: self, cta, warp, path })
    }

    pub(crate) fn thread(&self, cta: [u32; 3], warp: u32, lanes: u32) -> ThreadCoordinates {
        let thread = self.shared.shape.thread(warp * 32 + lanes.trailing_zeros().min(31));
        ThreadCoordinates { cta, thread }
    }
}

struct RunPath<'x, 'a, O: Observer> {
    worker: &'x mut Worker<'a, O>,
    cta: &'x mut Cta<O::Cta>,
    warp: usize,
    path: Path,
}

impl<O: Observer> Leveled for RunPath<'_, '_, O> {
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
            match worker.run_block(cta, warp, &mut path, block, first)? {
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

/// How the operations of a block ended.
pub(crate) enum BlockEnd {
    /// Control goes on as the block's flow says.
    Through,
    /// The path goes on inside the block, at the operation that it names.
    Again,
    /// The path waits; the warp has taken it.
    Blocked,
}

impl<O: Observer> Worker<'_, O> {
    #[inline(always)]
    fn enter_block(&mut self, cta: &mut Cta<O::Cta>, warp: usize, path: &Path, block: &CodeBlock) {
        let n = u64::from(block.n_instructions);
        self.summary.warp_instructions += n;
        self.summary.thread_instructions += n * u64::from(path.mask.count_ones());
        if O::RECORDS {
            let warp = WarpIndex(warp as u32);
            self.observer.block(&mut cta.record, warp, path.block, ActiveMask(path.mask));
        }
    }

    /// Notes a turn of a loop that may wait for other threads, and ends the turn of a path that seems to do so.
    #[inline(never)]
    fn watch(&mut self, cta: &mut Cta<O::Cta>, warp: usize, path: &mut Path, block: &CodeBlock, wait: Wait) {
        let taken = block.guard.map_or(path.mask, |guard| path.mask & self.flow_predicate(cta, warp, path, guard));
        let mut staying = 0;
        if wait.taken_stays {
            staying |= taken;
        }
        if wait.next_stays {
            staying |= path.mask & !taken;
        }
        path.turns.note(path.block, path.mask, staying);
        if path.turns.count >= WAITING_TURNS {
            self.turn_end = 0;
        }
    }

    #[inline(always)]
    fn run_block(
        &mut self,
        cta: &mut Cta<O::Cta>,
        warp_index: usize,
        path: &mut Path,
        block: &CodeBlock,
        first: u32,
    ) -> Result<BlockEnd, ExecError> {
        let code = self.shared.code();
        let Cta { warps, shared, record, coordinates, .. } = cta;
        let warp = &mut warps[warp_index];
        let function = &code.functions[path.function];
        let local_top = frame_top(warp, path, function);
        let mut lanes = Lanes {
            rows: &mut warp.rows[path.rows as usize..],
            predicates: &mut warp.predicates[path.predicates as usize..],
            pool: &code.pool,
            mask: path.mask,
        };
        let local = LocalMemory { cells: &warp.local, base: path.local, top: local_top, stride: warp.local_stride };
        let mut context = Context { warp_index: warp_index as u32, coordinates: *coordinates, shared, local, record };
        let operations = &code.operations[first as usize..block.operations.end as usize];
        for (index, decoded) in operations.iter().enumerate() {
            lanes.mask = path.mask;
            if let Some(guard) = decoded.guard {
                lanes.mask &= lanes.predicate(guard.predicate);
                if O::RECORDS && guard.is_reported {
                    let (active, on) = (ActiveMask(path.mask), ActiveMask(lanes.mask));
                    self.observer.predicated(context.record, WarpIndex(warp_index as u32), decoded.pc, active, on);
                }
                if lanes.mask == 0 {
                    continue;
                }
            }
            match decoded.kind {
                Kind::Lane => call(&mut lanes, decoded),
                Kind::Load(operation) => {
                    let memory = &code.memory[operation as usize];
                    self.load(&mut context, &mut lanes, memory, operation, decoded.pc)?;
                }
                Kind::Store(operation) => {
                    let memory = &code.memory[operation as usize];
                    self.store(&mut context, &mut lanes, memory, operation, decoded.pc)?;
                }
                Kind::Atomic(operation) => {
                    let memory = &code.memory[operation as usize];
                    self.atomic(&mut context, &mut lanes, memory, operation, decoded.pc)?;
                }
                Kind::Special(register, wide) => self.special(&context, &mut lanes, decoded, register, wide),
                Kind::FrameAddress(wide) => {
                    let offset = lanes.pairs(decoded.sources[0])[0].wrapping_add(u64::from(path.local));
                    set_value(&mut lanes, decoded.destinations[0], wide, offset);
                }
                Kind::InSpace(space, wide) => self.in_space(&mut lanes, decoded, space, wide),
                Kind::ActiveMask => {
                    let mask = lanes.mask;
                    set_value(&mut lanes, decoded.destinations[0], Wide::No, u64::from(mask));
                }
                Kind::OpenRegion(barrier) => {
                    warp.nodes.open(path, Meeting::Barrier(barrier), 1);
                }
                Kind::Alloca(wide) => {
                    let operation = first + index as u32;
                    let lanes_here = lanes.mask;
                    self.allocate_stack(cta, warp_index, path, lanes_here, operation, wide)?;
                    path.operation = Some(operation + 1);
                    return Ok(BlockEnd::Again);
                }
                Kind::Broadcast(shared) => broadcast(&mut lanes, shared),
                Kind::System(service, arguments) => {
                    let arguments = &code.system[arguments as usize];
                    self.system_call(&mut context, &mut lanes, decoded, service, arguments)?;
                }
                Kind::Unsupported => {
                    let thread = self.thread(*coordinates, warp_index as u32, lanes.mask);
                    return Err(ExecError::ReachedUnsupported { pc: decoded.pc, thread });
                }
                Kind::Exchange(exchange) => {
                    let exchange = &code.exchanges[exchange as usize];
                    match attend(&mut lanes, decoded, exchange, warp.live) {
                        Attendance::Made => {}
                        Attendance::Stranger { lane, members } => {
                            let thread = self.thread(*coordinates, warp_index as u32, 1 << lane);
                            return Err(ExecError::NotMember { pc: decoded.pc, thread, members });
                        }
                        Attendance::Lacking(groups) => {
                            let operation = first + index as u32;
                            return Ok(self.wait_for_lanes(cta, warp_index, path, block, &groups, operation));
                        }
                    }
                }
                Kind::Barrier(_) => {
                    let operation = first + index as u32;
                    let lanes_here = lanes.mask;
                    return self.wait_at_barrier(cta, warp_index, path, block, lanes_here, operation);
                }
            }
        }
        Ok(BlockEnd::Through)
    }

    /// Follows the flow of a block that has been executed. Returns the path that goes on at once, if one does.
    #[inline(always)]
    fn follow(
        &mut self,
        cta: &mut Cta<O::Cta>,
        warp_index: usize,
        mut path: Path,
        block: &CodeBlock,
    ) -> Result<Option<Path>, ExecError> {
        let on = match block.guard {
            None => path.mask,
            Some(guard) => {
                let on = path.mask & self.flow_predicate(cta, warp_index, &path, guard);
                if O::RECORDS {
                    let (warp, active) = (WarpIndex(warp_index as u32), ActiveMask(path.mask));
                    self.observer.predicated(&mut cta.record, warp, block.flow_pc, active, ActiveMask(on));
                }
                on
            }
        };
        let warp = &mut cta.warps[warp_index];
        match &block.flow {
            CodeFlow::Fallthrough(next) => Ok(go(warp, path, *next)),
            CodeFlow::Branch { taken, next } => match next {
                None => Ok(go(warp, path, *taken)),
                Some(_) if on == path.mask => Ok(go(warp, path, *taken)),
                Some(next) if on == 0 => Ok(go(warp, path, *next)),
                Some(next) => {
                    let off = path.mask & !on;
                    Ok(split(warp, path, block, &[(*taken, on), (*next, off)]))
                }
            },
            CodeFlow::Sync { barrier, next } => {
                path.block = *next;
                if warp.nodes.meets_at(&path, Meeting::Barrier(*barrier)) {
                    return Ok(warp.nodes.arrive(path).and_then(|path| warp.nodes.meet(path)));
                }
                Ok(Some(path))
            }
            CodeFlow::Exit { next } => self.exit(cta, warp_index, path, on, *next),
            CodeFlow::Return { next } if path.frames.is_empty() => self.exit(cta, warp_index, path, on, *next),
            _ => self.follow_rarely(cta, warp_index, path, block, on),
        }
    }

    #[inline(always)]
    fn flow_predicate(&self, cta: &mut Cta<O::Cta>, warp: usize, path: &Path, guard: Source) -> u32 {
        let warp = &mut cta.warps[warp];
        let lanes = Lanes {
            rows: &mut [],
            predicates: &mut warp.predicates[path.predicates as usize..],
            pool: &[],
            mask: path.mask,
        };
        lanes.predicate(guard)
    }

    #[inline(never)]
    fn follow_rarely(
        &mut self,
        cta: &mut Cta<O::Cta>,
        warp_index: usize,
        path: Path,
        block: &CodeBlock,
        on: u32,
    ) -> Result<Option<Path>, ExecError> {
        match &block.flow {
            CodeFlow::Indexed { index, targets, next } => {
                self.branch_indexed(cta, warp_index, path, block, (*index, targets, *next, on))
            }
            CodeFlow::Call(target) => self.call(cta, warp_index, path, block, target, on),
            CodeFlow::Return { next } => Ok(self.return_(cta, warp_index, path, on, *next)),
            CodeFlow::Trap { next } => {
                if on == 0
                    && let Some(next) = next
                {
                    return Ok(go(&mut cta.warps[warp_index], path, *next));
                }
                let thread = self.thread(cta.coordinates, warp_index as u32, on);
                Err(ExecError::Trap { pc: block.flow_pc, thread, message: "a trap instruction was executed".into() })
            }
            _ => {
                let thread = self.thread(cta.coordinates, warp_index as u32, path.mask);
                Err(ExecError::ReachedUnsupported { pc: block.flow_pc, thread })
            }
        }
    }

    /// Ends the lanes in `on`; the others go to `next`.
    #[inline(never)]
    fn exit(
        &mut self,
        cta: &mut Cta<O::Cta>,
        warp_index: usize,
        mut path: Path,
        on: u32,
        next: Option<BlockId>,
    ) -> Result<Option<Path>, ExecError> {
        let warp = &mut cta.warps[warp_index];
        path.mask &= !on;
        if on == 0 {
            return Ok(next.and_then(|next| go(warp, path, next)));
        }
        warp.live &= !on;
        warp.nodes.end(&mut warp.runnable, path.node, &on);
        let rest = match next {
            Some(next) if path.mask != 0 => go(warp, path, next),
            _ => None,
        };
        self.after_exit(cta, warp_index);
        Ok(rest)
    }

    fn branch_indexed(
        &mut self,
        cta: &mut Cta<O::Cta>,
        warp_index: usize,
        path: Path,
        block: &CodeBlock,
        (index, targets, next, on): (Source, &[BlockId], Option<BlockId>, u32),
    ) -> Result<Option<Path>, ExecError> {
        let warp = &mut cta.warps[warp_index];
        let lanes = Lanes {
            rows: &mut warp.rows[path.rows as usize..],
            predicates: &mut [],
            pool: &self.shared.code().pool,
            mask: path.mask,
        };
        let indices = *lanes.words(index);
        let mut parts: Vec<(BlockId, u32)> = Vec::new();
        let mut add = |target: BlockId, lanes: u32| match parts.iter_mut().find(|(block, _)| *block == target) {
            Some((_, mask)) => *mask |= lanes,
            None => parts.push((target, lanes)),
        };
        for lane in ActiveMask(on).lanes() {
            match targets.get(indices[lane] as usize) {
                Some(&target) => add(target, 1 << lane),
                None => {
                    let thread = self.thread(cta.coordinates, warp_index as u32, 1 << lane);
                    let address = u64::from(indices[lane]);
                    return Err(ExecError::BadTarget { pc: block.flow_pc, thread, what: "branch", address });
                }
            }
        }
        if let Some(next) = next
            && path.mask & !on != 0
        {
            add(next, path.mask & !on);
        }
        if O::RECORDS {
            let warp = WarpIndex(warp_index as u32);
            self.observer.branch_indexed(&mut cta.record, warp, block.flow_pc, parts.len() as u32);
        }
        let warp = &mut cta.warps[warp_index];
        match parts[..] {
            [(target, _)] => Ok(go(warp, path, target)),
            _ => Ok(split(warp, path, block, &parts)),
        }
    }

    fn call(
        &mut self,
        cta: &mut Cta<O::Cta>,
        warp_index: usize,
        mut path: Path,
        block: &CodeBlock,
        call: &CodeCall,
        on: u32,
    ) -> Result<Option<Path>, ExecError> {
        let warp = &mut cta.warps[warp_index];
        if on == 0 {
            return Ok(go(warp, path, call.next));
        }
        let off = (on != path.mask).then(|| Path { mask: path.mask & !on, ..path.clone() });
        warp.nodes.call(&mut path, call.next, off);
        path.mask = on;
        let mut entered = Vec::new();
        for (callee, lanes) in self.callees(cta, warp_index, &path, block, call)? {
            let part = Path { mask: lanes, ..path.clone() };
            entered.push(self.enter(cta, warp_index, part, block, call, callee)?);
        }
        let first = entered.pop();
        cta.warps[warp_index].runnable.extend(entered);
        Ok(first)
    }

    /// The functions that the lanes of a path call.
    fn callees(
        &self,
        cta: &mut Cta<O::Cta>,
        warp_index: usize,
        path: &Path,
        block: &CodeBlock,
        call: &CodeCall,
    ) -> Result<Vec<(FunctionId, u32)>, ExecError> {
        let code = self.shared.code();
        let (source, wide) = match call.target {
            Ok(function) => return Ok(vec![(function, path.mask)]),
            Err(operand) => operand,
        };
        let warp = &mut cta.warps[warp_index];
        let lanes = Lanes {
            rows: &mut warp.rows[path.rows as usize..],
            predicates: &mut [],
            pool: &code.pool,
            mask: path.mask,
        };
        let mut parts: Vec<(FunctionId, u32)> = Vec::new();
        for lane in ActiveMask(path.mask).lanes() {
            let address = match wide {
                Wide::Yes => lanes.pairs(source)[lane],
                Wide::No => u64::from(lanes.words(source)[lane]),
            };
            let fits = |function: &FunctionId| {
                let callee = &code.functions[*function];
                let fits_registers = !callee.is_subroutine || callee.rows == code.functions[path.function].rows;
                callee.arguments.len() == call.arguments.len()
                    && callee.results.len() >= call.results.len()
                    && fits_registers
            };
            let Some(function) = code.function_at(address).filter(fits) else {
                let thread = self.thread(cta.coordinates, warp_index as u32, 1 << lane);
                return Err(ExecError::BadTarget { pc: block.flow_pc, thread, what: "call", address });
            };
            match parts.iter_mut().find(|(callee, _)| *callee == function) {
                Some((_, mask)) => *mask |= 1 << lane,
                None => parts.push((function, 1 << lane)),
            }
        }
        Ok(parts)
    }

    /// Makes a frame for the callee and copies the arguments.
    fn enter(
        &mut self,
        cta: &mut Cta<O::Cta>,
        warp_index: usize,
        mut path: Path,
        block: &CodeBlock,
        call: &CodeCall,
        callee: FunctionId,
    ) -> Result<Path, ExecError> {
        let code = self.shared.code();
        let (caller, function) = (&code.functions[path.function], &code.functions[callee]);
        if function.is_subroutine {
            return self.enter_subroutine(cta, warp_index, path, block, callee);
        }
        let rows = path.rows + caller.rows;
        let predicates = path.predicates + caller.predicates;
        let local = frame_top(&cta.warps[warp_index], &path, caller).next_multiple_of(16);
        let stack = u64::from(local) + u64::from(function.local_bytes) + 4 * u64::from(rows + function.rows);
        if stack > STACK_LIMIT {
            let thread = self.thread(cta.coordinates, warp_index as u32, path.mask);
            return Err(ExecError::StackOverflow { pc: block.flow_pc, thread, limit: STACK_LIMIT });
        }
        let warp = &mut cta.warps[warp_index];
        let n_rows = (rows + function.rows) as usize;
        if warp.rows.len() < n_rows {
            warp.rows.resize(n_rows, Row::splat(0));
        }
        let n_predicates = (predicates + function.predicates) as usize;
        if warp.predicates.len() < n_predicates {
            warp.predicates.resize(n_predicates, 0);
        }
        warp.reserve_local(local + function.local_bytes);
        let mut lanes = Lanes {
            rows: &mut warp.rows[path.rows as usize..],
            predicates: &mut [],
            pool: &code.pool,
            mask: path.mask,
        };
        for (&(source, wide), &(row, _)) in call.arguments.iter().zip(&function.arguments) {
            copy(&mut lanes, source, caller.rows + row, wide);
        }
        if let Some(row) = function.stack_row {
            lanes.set_words(caller.rows + row, &[local + function.local_bytes; 32]);
        }
        path.frames.push(Frame {
            call_block: path.block,
            function: path.function,
            rows: path.rows,
            predicates: path.predicates,
            local: path.local,
        });
        (path.function, path.rows, path.predicates, path.local) = (callee, rows, predicates, local);
        path.block = function.entry.expect("called functions have bodies");
        Ok(path)
    }

    /// Goes on in a subroutine, which works on the frame of its caller.
    fn enter_subroutine(
        &self,
        cta: &Cta<O::Cta>,
        warp_index: usize,
        mut path: Path,
        block: &CodeBlock,
        callee: FunctionId,
    ) -> Result<Path, ExecError> {
        // Nothing but the place to return to is kept, and there is room for that many.
        if path.frames.len() as u64 * 8 > STACK_LIMIT {
            let thread = self.thread(cta.coordinates, warp_index as u32, path.mask);
            return Err(ExecError::StackOverflow { pc: block.flow_pc, thread, limit: STACK_LIMIT });
        }
        path.frames.push(Frame {
            call_block: path.block,
            function: path.function,
            rows: path.rows,
            predicates: path.predicates,
            local: path.local,
        });
        path.function = callee;
        path.block = self.shared.code().functions[callee].entry.expect("called functions have bodies");
        Ok(path)
    }

    /// Reserves local memory behind what the lanes have.
    #[inline(never)]
    fn allocate_stack(
        &mut self,
        cta: &mut Cta<O::Cta>,
        warp_index: usize,
        path: &Path,
        mask: u32,
        operation: u32,
        wide: Wide,
    ) -> Result<(), ExecError> {
        let code = self.shared.code();
        let decoded = &code.operations[operation as usize];
        let row = code.functions[path.function].stack_row.expect("a function that reserves memory has the row");
        let warp = &mut cta.warps[warp_index];
        let mut lanes =
            Lanes { rows: &mut warp.rows[path.rows as usize..], predicates: &mut [], pool: &code.pool, mask };
        let (mut tops, aligns) = (*lanes.words(Source::frame(row)), *lanes.words(decoded.sources[1]));
        let mut addresses = [0u32; 32];
        for lane in ActiveMask(mask).lanes() {
            let bytes = match wide {
                Wide::Yes => lanes.pairs(decoded.sources[0])[lane],
                Wide::No => u64::from(lanes.words(decoded.sources[0])[lane]),
            };
            let start = u64::from(tops[lane]).next_multiple_of(u64::from(aligns[lane].max(1)));
            let end = start.saturating_add(bytes);
            if end > STACK_LIMIT {
                let thread = self.thread(cta.coordinates, warp_index as u32, 1 << lane);
                return Err(ExecError::StackOverflow { pc: decoded.pc, thread, limit: STACK_LIMIT });
            }
            (addresses[lane], tops[lane]) = (start as u32, end as u32);
        }
        lanes.set_words(row, &tops);
        match wide {
            Wide::Yes => lanes.set_pairs(decoded.destinations[0], &addresses.map(u64::from)),
            Wide::No => lanes.set_words(decoded.destinations[0], &addresses),
        }
        let function = &code.functions[path.function];
        let top = frame_top(warp, path, function);
        warp.reserve_local(top);
        Ok(())
    }

    /// Returns the lanes in `on` to the caller; the others go to `next`.
    fn return_(
        &mut self,
        cta: &mut Cta<O::Cta>,
        warp_index: usize,
        mut path: Path,
        on: u32,
        next: Option<BlockId>,
    ) -> Option<Path> {
        let code = self.shared.code();
        let warp = &mut cta.warps[warp_index];
        let off = path.mask & !on;
        if let Some(next) = next
            && off != 0
        {
            warp.nodes.stay(&mut warp.runnable, Path { mask: off, ..path.clone() }, next, on != 0);
        }
        if on == 0 {
            return warp.runnable.pop();
        }
        path.mask = on;
        let callee = &code.functions[path.function];
        let frame = path.frames.pop().expect("a return without caller is an exit");
        let callee_rows = path.rows - frame.rows;
        let call_block = code.block(frame.call_block);
        let CodeFlow::Call(call) = &call_block.flow else { unreachable!("frames are made by calls") };
        let mut lanes =
            Lanes { rows: &mut warp.rows[frame.rows as usize..], predicates: &mut [], pool: &code.pool, mask: on };
        for (&(row, wide), &(result, _)) in call.results.iter().zip(&callee.results) {
            if row != SINK {
                copy(&mut lanes, Source::frame(callee_rows + result), row, wide);
            }
        }
        (path.function, path.rows) = (frame.function, frame.rows);
        (path.predicates, path.local) = (frame.predicates, frame.local);
        go(warp, path, call.next)
    }

    /// Lets other paths run: siblings, lanes that wait for this path to reconverge, other warps, other CTAs.
    #[inline(never)]
    fn give_way(&mut self, cta: &mut Cta<O::Cta>, warp_index: usize, mut path: Path) {
        let turns = path.turns.count;
        let warp = &mut cta.warps[warp_index];
        let mut released = None;
        if turns >= RELEASE_TURNS {
            path.turns.count = WAITING_TURNS;
            released = warp.nodes.release_waiting(&mut path);
        }
        let is_alone = warp.runnable.is_empty() && released.is_none();
        warp.runnable.insert(0, path);
        warp.runnable.extend(released);
        let others = cta.warps.len() > 1 || self.shared.n_ctas > 1;
        if turns >= WAITING_TURNS && (!is_alone || others) {
            self.note_order(cta, None);
        }
    }
}

/// One past the last byte of local memory that the lanes of a path have.
#[inline(always)]
fn frame_top(warp: &Warp, path: &Path, function: &CodeFunction) -> u32 {
    let fixed = path.local + function.local_bytes;
    match function.stack_row {
        None => fixed,
        Some(row) => {
            let tops = &warp.rows[(path.rows + row) as usize].0;
            ActiveMask(path.mask).lanes().map(|lane| tops[lane]).fold(fixed, u32::max)
        }
    }
}

/// Moves a path to a block; `None` if it now waits for other lanes there.
#[inline(always)]
fn go(warp: &mut Warp, path: Path, block: BlockId) -> Option<Path> {
    warp.nodes.go(path, block)
}

/// Lets the lanes of a path, which are about to part, meet again at a block, if there is one.
pub(crate) fn open_meeting(warp: &mut Warp, path: &mut Path, point: Option<BlockId>) {
    if let Some(point) = point {
        let meeting = Meeting::Block(point, path.frames.len());
        if !warp.nodes.meets_at(path, meeting) {
            warp.nodes.open(path, meeting, 1);
        }
    }
}

/// Splits a path. The parts meet again at the block's reconvergence point, if it has one.
#[inline(never)]
fn split(warp: &mut Warp, path: Path, block: &CodeBlock, parts: &[(BlockId, u32)]) -> Option<Path> {
    warp.nodes.split(&mut warp.runnable, path, block.reconvergence, parts.len(), |path, go| {
        parts.iter().for_each(|&(target, mask)| go(Path { mask, ..path.clone() }, target));
    })
}

/// Copies an operand into a row of the same file.
fn copy(lanes: &mut Lanes<'_>, source: Source, row: u32, wide: Wide) {
    match wide {
        Wide::Yes => {
            let values = *lanes.pairs(source);
            lanes.set_pairs(row, &values);
        }
        Wide::No => {
            let values = *lanes.words(source);
            lanes.set_words(row, &values);
        }
    }
}

/// Writes the same value to all active lanes.
pub(crate) fn set_value(lanes: &mut Lanes<'_>, row: u32, wide: Wide, value: u64) {
    match wide {
        Wide::Yes => lanes.set_pairs(row, &[value; 32]),
        Wide::No => lanes.set_words(row, &[value as u32; 32]),
    }
}

/// Gives all lanes, the inactive ones too, the value of the lowest active one.
fn broadcast(lanes: &mut Lanes<'_>, shared: crate::code::Shared) {
    use crate::code::Shared as S;
    let lowest = lanes.mask.trailing_zeros().min(31) as usize;
    let active = std::mem::replace(&mut lanes.mask, u32::MAX);
    match shared {
        S::Word(row) => lanes.set_words(row, &[lanes.words(Source::frame(row))[lowest]; 32]),
        S::Pair(row) => lanes.set_pairs(row, &[lanes.pairs(Source::frame(row))[lowest]; 32]),
        S::Predicate(index) => {
            let truth = lanes.predicate(Source::frame(index)) >> lowest & 1;
            lanes.set_predicate(index, 0u32.wrapping_sub(truth));
        }
    }
    lanes.mask = active;
}
