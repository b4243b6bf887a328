//! State of a running CTA.

use std::rc::Rc;

use warplens_ir::FunctionId;
use warplens_isa::Pc;
use warplens_trace::{ActiveMask, Clusters, CtaId};

use crate::barrier::{BarrierRule, Barriers};
use crate::cluster::{Cluster, Group};
use crate::decoded::Code;
use crate::divergence::{Path, Turns};
use crate::engine::{Engine, Frame};
use crate::meeting::{NO_NODE, Nodes};
use crate::phase::PhaseWait;
use crate::raw::Cells;
use crate::semantics::warp::Exchange;
use crate::warpgroup::Warpgroups;

/// Turns of loops that may wait, for each warp of a CTA, after which it gives way at once. That is more than most need, and
/// few enough where thousands fight for one word and all but one of them lose each time.
const PROMPT_TURNS: u32 = 64;

/// A CTA with its warps and shared memory.
pub(crate) struct Cta<E: Engine, R> {
    pub(crate) id: CtaId,
    pub(crate) coordinates: [u32; 3],
    pub(crate) shared: Rc<Cells>,
    pub(crate) warps: Vec<Warp<E>>,
    pub(crate) barriers: Barriers,
    /// What it shares with the CTAs of its cluster; none where it could not tell that it is alone.
    pub(crate) cluster: Option<Rc<Cluster>>,
    /// The phase of the cluster's barrier up to which its paths have been let go.
    pub(crate) phase: u64,
    /// Where its clock stands.
    pub(crate) clock: u64,
    /// Turns of loops that may wait after which its warps give way at once.
    pub(crate) prompt_turns: u32,
    /// Products that its warps make together.
    pub(crate) warpgroups: Warpgroups,
    /// What the observer keeps for the CTA.
    pub(crate) record: R,
}

/// A warp.
pub(crate) struct Warp<E: Engine> {
    /// Lanes that have not exited.
    pub(crate) live: u32,
    /// Instructions executed.
    pub(crate) executed: u64,
    /// Paths that can run; the last one runs next.
    pub(crate) runnable: Vec<Path>,
    /// Paths that wait, but for those that wait at nodes.
    pub(crate) blocked: Vec<Blocked>,
    /// By convergence barrier: the lanes that wait for each other there.
    pub(crate) convergence: Vec<u32>,
    pub(crate) nodes: Nodes<Path>,
    pub(crate) registers: E::Registers,
    /// Local memory: each lane has `local_stride` consecutive bytes.
    pub(crate) local: Cells,
    pub(crate) local_stride: u32,
}

/// A path that waits.
#[derive(Clone, Debug)]
pub(crate) struct Blocked {
    pub(crate) path: Path,
    pub(crate) at: BlockedAt,
}

impl Blocked {
    /// Those that the path waits for, if it waits for lanes.
    pub(crate) fn party(&self) -> Option<Party> {
        match self.at {
            BlockedAt::Lanes { party, .. } => Some(party),
            BlockedAt::Barrier { .. }
            | BlockedAt::Convergence { .. }
            | BlockedAt::Cluster { .. }
            | BlockedAt::Phase { .. }
            | BlockedAt::Group { .. } => None,
        }
    }

    /// The convergence barrier that the path waits at, if it does.
    pub(crate) fn convergence_barrier(&self) -> Option<u32> {
        match self.at {
            BlockedAt::Convergence { barrier, .. } => Some(barrier),
            BlockedAt::Lanes { .. }
            | BlockedAt::Barrier { .. }
            | BlockedAt::Cluster { .. }
            | BlockedAt::Phase { .. }
            | BlockedAt::Group { .. } => None,
        }
    }
}

/// What a path waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BlockedAt {
    /// The other lanes of a member mask, to exchange something with them.
    Lanes { operation: u32, party: Party },
    /// The other lanes of a convergence barrier, to run together with them; the instruction at which it waits. The path
    /// stands behind it.
    Convergence { barrier: u32, pc: Pc },
    /// A CTA barrier; the index of its operation in the code.
    Barrier { barrier: u32, operation: u32 },
    /// The end of a phase of a barrier in memory.
    Phase { wait: PhaseWait, operation: u32 },
    /// The end of a phase of the cluster's barrier.
    Cluster { phase: u64, operation: u32 },
    /// The other warps of a group, which come to the same product of matrices.
    Group { operation: u32 },
}

/// What lanes that take part in one exchange have in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Party {
    pub(crate) what: Exchange,
    /// The member mask.
    pub(crate) members: u32,
}

/// Memory of finished CTAs, to be used again.
pub(crate) struct Pool<E: Engine> {
    warps: Vec<Warp<E>>,
    shared: Vec<Rc<Cells>>,
}

impl<E: Engine> Default for Pool<E> {
    fn default() -> Self {
        Self { warps: Vec::new(), shared: Vec::new() }
    }
}

impl<E: Engine> Warp<E> {
    fn new() -> Self {
        Self {
            live: 0,
            executed: 0,
            runnable: Vec::new(),
            blocked: Vec::new(),
            convergence: Vec::new(),
            nodes: Nodes::default(),
            registers: E::Registers::default(),
            local: Cells::of_one_thread(0),
            local_stride: 0,
        }
    }

    /// Puts the warp at the entry of the kernel.
    fn start(&mut self, (code, bound): (&Code, &E::Code), kernel: FunctionId, lanes: u32) {
        let function = &code.functions[kernel];
        self.live = lanes;
        self.executed = 0;
        self.runnable.clear();
        self.blocked.clear();
        self.convergence.clear();
        self.convergence.resize(code.n_convergence as usize, 0);
        self.nodes.clear();
        E::clear(&mut self.registers, function.words, function.predicates, function.unset.as_deref());
        let frame = Frame { function: kernel, words: 0, predicates: 0, local: 0 };
        if let Some(register) = function.stack {
            E::set_values(bound, &mut self.registers, frame, register, u32::MAX, &[function.local_bytes.into(); 32]);
        }
        self.local.clear();
        self.reserve_local(function.local_bytes);
        self.runnable.push(Path {
            block: function.entry.expect("a kernel has a body"),
            operation: None,
            mask: lanes,
            frame,
            node: NO_NODE,
            callers: Vec::new(),
            turns: Turns::NONE,
        });
    }

    /// Makes room for `bytes` of local memory per lane.
    pub(crate) fn reserve_local(&mut self, bytes: u32) {
        if bytes <= self.local_stride {
            return;
        }
        let stride = bytes.next_power_of_two().max(64);
        let local = Cells::of_one_thread(stride as usize * 32);
        for lane in 0..32 {
            let old = self.local.read_bytes(lane * self.local_stride as usize, self.local_stride as usize);
            local.write_bytes(lane * stride as usize, &old);
        }
        self.local = local;
        self.local_stride = stride;
    }

    /// True when a path waits at a CTA barrier.
    pub(crate) fn is_at_barrier(&self) -> bool {
        self.blocked.iter().any(|blocked| matches!(blocked.at, BlockedAt::Barrier { .. }))
    }

    /// True when a path waits for a phase of a barrier in memory.
    pub(crate) fn waits_for_phase(&self) -> bool {
        self.blocked.iter().any(|blocked| matches!(blocked.at, BlockedAt::Phase { .. }))
    }

    /// True when the warp waits for the others of its group.
    pub(crate) fn waits_for_group(&self) -> bool {
        self.blocked.iter().any(|blocked| matches!(blocked.at, BlockedAt::Group { .. }))
    }

    /// True when a path waits for other CTAs of the cluster.
    pub(crate) fn waits_for_cluster(&self) -> bool {
        self.blocked.iter().any(|blocked| matches!(blocked.at, BlockedAt::Cluster { .. }))
    }

    /// True when all lanes have exited.
    pub(crate) fn is_done(&self) -> bool {
        self.live == 0
    }
}

impl<E: Engine> Pool<E> {
    /// CTAs that run together, at the entry of the kernel, with what the observer keeps for each.
    pub(crate) fn start_group<R>(
        &mut self,
        code: (&Code, &E::Code),
        kernel: FunctionId,
        shape: &CtaShape,
        (position, ctas): (u64, impl Iterator<Item = (CtaId, R)>),
    ) -> Group<E, R> {
        let mut ctas: Vec<Cta<E, R>> = ctas.map(|(id, record)| self.start(code, kernel, id, shape, record)).collect();
        if ctas.len() > 1 || code.0.meets_cluster {
            let lanes: Vec<u32> = ctas[0].warps.iter().map(|warp| warp.live).collect();
            let memories = ctas.iter().map(|cta| Rc::clone(&cta.shared)).collect();
            let cluster = Rc::new(Cluster::new(memories, &lanes));
            ctas.iter_mut().for_each(|cta| cta.cluster = Some(Rc::clone(&cluster)));
        }
        Group::new(position, ctas)
    }

    /// A CTA at the entry of the kernel, its shared memory zeroed.
    fn start<R>(
        &mut self,
        code: (&Code, &E::Code),
        kernel: FunctionId,
        id: CtaId,
        shape: &CtaShape,
        record: R,
    ) -> Cta<E, R> {
        let shared = match self.shared.pop() {
            Some(shared) if shared.len() == shape.shared_bytes => {
                shared.clear();
                shared
            }
            _ => Rc::new(Cells::of_one_thread(shape.shared_bytes)),
        };
        let n_warps = shape.threads.div_ceil(32);
        let mut warps = Vec::with_capacity(n_warps as usize);
        for index in 0..n_warps {
            let mut warp = self.warps.pop().unwrap_or_else(Warp::new);
            warp.start(code, kernel, ActiveMask::first(shape.threads - 32 * index).0);
            warps.push(warp);
        }
        let barriers = Barriers::new(warps.len(), shape.barriers);
        let coordinates = shape.coordinates(id);
        Cta {
            id,
            coordinates,
            shared,
            warps,
            barriers,
            cluster: None,
            phase: 0,
            clock: 0,
            prompt_turns: PROMPT_TURNS * n_warps,
            warpgroups: Warpgroups::default(),
            record,
        }
    }

    /// Takes back the memory of a finished CTA.
    pub(crate) fn recycle<R>(&mut self, cta: Cta<E, R>) -> R {
        self.warps.extend(cta.warps);
        self.shared.push(cta.shared);
        cta.record
    }
}

/// What all CTAs of a launch have in common.
pub(crate) struct CtaShape {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) threads: u32,
    pub(crate) shared_bytes: usize,
    pub(crate) barriers: BarrierRule,
    pub(crate) clusters: Clusters,
}

impl CtaShape {
    /// Coordinates of a CTA: x fastest.
    pub(crate) fn coordinates(&self, id: CtaId) -> [u32; 3] {
        let [x, y, _] = self.grid;
        [id.0 % x, id.0 / x % y, id.0 / x / y]
    }

    /// Coordinates of a thread: x fastest.
    pub(crate) fn thread(&self, linear: u32) -> [u32; 3] {
        let [x, y, _] = self.block;
        [linear % x, linear / x % y, linear / x / y]
    }
}
