//! Which CTAs are traced for the timing simulation of which GPUs, and the machine code that goes with the traces.
//!
//! A simulated SM executes the CTAs that are dealt to it ([`Dealing`]). One emulation serves all GPUs: it traces the CTAs
//! that any of them needs, whole, for some SMs each, because the work of CTAs may differ. The lines that other CTAs load
//! tell what SMs share.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use warplens_codegen as codegen;
use warplens_ir::{FunctionId, Module};
use warplens_machine::{Key, Reader};
use warplens_model::Options;
use warplens_sim::launch::LaunchShare;
use warplens_sim::traces::{Listing, MachineCode, OfBoard, Traced};
use warplens_stats::{Extents, Footprint, LaunchShape, MemoryPlace, Recorded, TraceRequest, Tracer, pattern_ctas};
use warplens_trace::{CtaId, Dealing};

use crate::machines::Machine;
use crate::predict::residency;

/// Warps that no SM holds more of.
const WARPS_OF_SM: u64 = 64;
/// Warp instructions of the SMs of which one is chosen.
const COMPARED: u64 = 4_000_000;
/// Thread instructions of the CTAs whose footprints are gathered.
const LOOKED_AT: u64 = 200_000_000;
/// CTAs that are looked at although products of matrices make them dear.
const FEWEST_LOOKED_AT: u64 = 16;

/// How much is traced for one GPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TraceLimits {
    /// Warp instructions; more only where two waves need them.
    pub instructions: u64,
    /// Bytes of memory. One wave never takes more: what its warps do beyond their part is only counted.
    pub bytes: u64,
    /// Waves.
    pub waves: u32,
}

impl TraceLimits {
    /// All that an SM executes.
    pub const NONE: Self = Self { instructions: u64::MAX, bytes: u64::MAX, waves: u32::MAX };
}

impl Default for TraceLimits {
    fn default() -> Self {
        // Waves that show the steady state: with fewer, the bandwidth that SMs share and what waits for it have not
        // settled.
        Self { instructions: 8_000_000, bytes: 96 << 20, waves: 16 }
    }
}

/// What the simulations of some GPUs need of a launch.
///
/// What one of them needs depends on the launch and on that GPU, and on nothing else: so its answer is the same whatever
/// others are asked.
#[derive(Clone, Debug)]
pub(crate) struct Need {
    boards: BTreeMap<String, Board>,
    limits: TraceLimits,
    n_ctas: u32,
    n_warps: u64,
    extents: Extents,
    /// CTAs that show what all others load.
    pattern: Vec<CtaId>,
}

/// What one GPU needs.
#[derive(Clone, Debug)]
struct Board {
    n_sms: u32,
    share: LaunchShare,
    /// CTAs of each SM that the last request has.
    sms: Vec<Vec<CtaId>>,
    stand_ins: bool,
    window: u32,
}

/// Work of one CTA.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    pub(crate) warp_instructions: u64,
    pub(crate) thread_instructions: u64,
    /// Of its execution here, in thread instructions.
    pub(crate) work: u64,
    /// Bytes of memory that its trace takes.
    pub(crate) trace_bytes: u64,
    /// Every other CTA is known to do as much.
    pub(crate) is_of_all: bool,
    /// It is known what all others load, by those of the pattern.
    pub(crate) lines_are_known: bool,
}

impl Cost {
    /// What the execution of so many CTAs tells.
    pub(crate) fn new(of_some: &warplens_exec::LaunchSummary, n_ctas: u32, tracer: Option<&Tracer>) -> Self {
        Self {
            warp_instructions: of_some.warp_instructions.div_ceil(n_ctas.into()),
            thread_instructions: of_some.thread_instructions.div_ceil(n_ctas.into()),
            work: of_some.work().div_ceil(n_ctas.into()),
            trace_bytes: tracer.map_or(0, Tracer::largest),
            is_of_all: false,
            lines_are_known: false,
        }
    }

    /// CTAs that are looked at for what they share, by what it costs to look at them and to execute them: where the latter is
    /// more, a few in any case. None where that is known.
    fn looked_at(self) -> u64 {
        if self.lines_are_known {
            return 0;
        }
        let by_looking = LOOKED_AT / self.thread_instructions.max(1);
        (LOOKED_AT / self.work.max(1)).max(by_looking.min(FEWEST_LOOKED_AT)).max(1)
    }
}

impl Need {
    /// What these GPUs need; none where nobody asks for a simulation.
    pub(crate) fn of(machines: &[Machine], limits: TraceLimits, shape: &LaunchShape, n_ctas: u32) -> Option<Self> {
        let board = |machine: &Machine| {
            let mut reader = Reader::new(machine, Options::default().strictness);
            let n_sms = reader.need(Key::SmCount).ok()? as u32;
            let (sm, demand, limit) = residency(shape, machine, Options::default()).ok()?;
            let fits = sm.occupancy(&demand, limit, warplens_model::occupancy::Carveout::Default).ctas;
            let share = LaunchShare::new(n_ctas.into(), fits, n_sms, 1);
            let board = Board { n_sms, share, sms: Vec::new(), stand_ins: false, window: 0 };
            Some((machine.board().to_owned(), board))
        };
        let boards: BTreeMap<_, _> = machines.iter().filter_map(board).collect();
        let (extents, n_warps) = (Extents::new(shape.grid, shape.cluster), shape.n_warps().max(1));
        let pattern = pattern_ctas(extents);
        (!boards.is_empty()).then_some(Self { boards, limits, n_ctas, n_warps, extents, pattern })
    }

    /// What to trace where nothing is known about the work of a CTA but that of the first, if that.
    pub(crate) fn request(&mut self, cost: Option<Cost>) -> TraceRequest {
        let (n_ctas, limits) = (self.n_ctas, self.limits);
        let affordable = cost.map_or(1, |cost| cost.looked_at());
        for board in self.boards.values_mut() {
            let many = board.wanted(limits, cost);
            let dealing = Dealing::new(board.n_sms);
            let share = board.share;
            let of =
                |sm: u32| share.turns(many).filter_map(move |turn| dealing.cta(sm, turn)).filter(|id| id.0 < n_ctas);
            board.sms = board.candidates(limits, n_ctas, many, cost).into_iter().map(|sm| of(sm).collect()).collect();
            let looked_at = (u64::from(many) * u64::from(board.n_sms)).min(affordable);
            board.window = u32::try_from(looked_at.min(n_ctas.into())).expect("no more than the CTAs of the grid");
        }
        self.all()
    }

    /// What the GPUs need together.
    fn all(&self) -> TraceRequest {
        let ctas: BTreeSet<CtaId> =
            self.boards.values().flat_map(|board| board.sms.iter().flatten().copied()).collect();
        TraceRequest {
            ctas: ctas.into_iter().collect(),
            bytes_per_cta: self.bytes_per_cta(),
            window: self.boards.values().map(|board| board.window).max().unwrap_or(0),
            pattern: self.pattern.clone(),
        }
    }

    /// What to trace of the CTAs (ascending) that are executed first, whose work tells what to trace of the others.
    pub(crate) fn first(&self, ctas: &[u32]) -> TraceRequest {
        let window = ctas.last().map_or(0, |last| last + 1);
        let (ctas, pattern) = (ctas.iter().copied().map(CtaId).collect(), self.pattern.clone());
        TraceRequest { ctas, bytes_per_cta: self.bytes_per_cta(), window, pattern }
    }

    fn bytes_per_cta(&self) -> u64 {
        (self.limits.bytes / WARPS_OF_SM).saturating_mul(self.n_warps)
    }

    /// What to trace where only these CTAs are executed: where not all of an SM's own are among them, the first of them
    /// stand for those.
    pub(crate) fn among(&mut self, ctas: &[u32], cost: Cost) -> TraceRequest {
        // They are executed in any case.
        self.request(Some(Cost { work: cost.thread_instructions, ..cost }));
        let limits = self.limits;
        for board in self.boards.values_mut() {
            board.sms.retain(|sm| sm.iter().all(|cta| ctas.binary_search(&cta.0).is_ok()));
            board.stand_ins = board.sms.is_empty();
            if board.stand_ins {
                board.sms =
                    vec![ctas.iter().take(board.wanted(limits, Some(cost)) as usize).copied().map(CtaId).collect()];
            }
        }
        self.all()
    }

    /// What to trace where the CTAs that are executed are to show whether those of the pattern tell what all load.
    pub(crate) fn looking(&mut self, cost: Cost) -> TraceRequest {
        TraceRequest { window: u32::MAX, ..self.request(Some(cost)) }
    }

    /// Whether they do tell it.
    pub(crate) fn has_pattern(&self, tracer: &Tracer) -> bool {
        tracer.has_pattern(self.extents)
    }

    /// What to trace of all CTAs of a kernel that can only be run as a whole, and whose CTAs nobody knows.
    pub(crate) fn whole(&mut self) -> TraceRequest {
        self.request(None);
        for board in self.boards.values_mut() {
            let window = u64::from(board.n_sms) * u64::from(board.share.resident);
            board.window = u32::try_from(window.min(self.n_ctas.into())).expect("no more than the CTAs of the grid");
        }
        self.all()
    }
}

impl Board {
    /// CTAs of an SM that are traced: two waves, and more as far as they are cheap.
    fn wanted(&self, limits: TraceLimits, cost: Option<Cost>) -> u32 {
        let LaunchShare { ctas, resident, .. } = self.share;
        let narrow = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        let affordable = cost.map_or(0, |cost| narrow(limits.instructions / cost.warp_instructions.max(1)));
        let fitting = cost.map_or(u32::MAX, |cost| narrow(limits.bytes / cost.trace_bytes.max(1)));
        let waves = |waves: u32| resident.saturating_mul(waves);
        let wanted = if ctas <= affordable { ctas } else { affordable.clamp(waves(2), waves(limits.waves.max(2))) };
        self.share.simulated(wanted.min(fitting.max(resident)).min(ctas))
    }

    /// SMs of which one is simulated: the first, and as many others as are cheap to trace, spread over those that get as
    /// many CTAs as the first. The work of CTAs may differ; where it is known not to, the first stands for all.
    fn candidates(&self, limits: TraceLimits, n_ctas: u32, many: u32, cost: Option<Cost>) -> Vec<u32> {
        let Some(cost) = cost.filter(|cost| !cost.is_of_all) else { return vec![0] };
        let many = u64::from(many);
        let of_work = COMPARED / (many * cost.warp_instructions).max(1);
        let of_memory = limits.bytes / (many * cost.trace_bytes).max(1);
        let busiest = Dealing::new(self.n_sms).n_busiest(n_ctas);
        let count = of_work.min(of_memory).clamp(1, u64::from(busiest));
        (0..count).map(|at| (at * u64::from(busiest) / count) as u32).collect()
    }
}

/// CTAs that a request is about, and that are not among those that were executed (ascending).
pub(crate) fn lacking(request: &TraceRequest, executed: &[u32]) -> Vec<u32> {
    let wanted: BTreeSet<u32> =
        request.ctas.iter().chain(&request.pattern).map(|cta| cta.0).chain(0..request.window).collect();
    wanted.into_iter().filter(|cta| executed.binary_search(cta).is_err()).collect()
}

/// Where the memory instructions of a module are.
pub(crate) fn memory_places(module: &Module) -> Arc<[MemoryPlace]> {
    let slots = warplens_codegen::slots(module);
    module.pcs.ids().map(|pc| slots.of(pc)).collect()
}

/// What was recorded, with the code of each GPU. `executions` are those of blocks by all warps of the launch.
pub(crate) fn finish(
    tracer: Tracer,
    executions: Vec<(u32, u64)>,
    need: &Need,
    (module, kernel): (&Module, FunctionId),
    registers: u32,
    machines: &[Machine],
) -> Traced {
    let Recorded { ctas, lines, words, stored } = tracer.finish();
    let of_board = |machine: &Machine| {
        let board = need.boards.get(machine.board());
        OfBoard {
            code: machine_code(module, kernel, registers, machine),
            sms: board.map(|board| board.sms.clone()).unwrap_or_default(),
            stand_ins: board.is_some_and(|board| board.stand_ins),
            window: board.map_or(0, |board| board.window),
        }
    };
    let boards = machines.iter().map(|machine| (machine.board().to_owned(), of_board(machine))).collect();
    let footprint = Footprint::new(lines).with_pattern(need.extents, &words, &stored);
    Traced { ctas, executions, footprint, boards }
}

/// The machine code of a kernel on a GPU, for as many registers as its launch takes.
fn machine_code(module: &Module, kernel: FunctionId, registers: u32, machine: &Machine) -> Result<MachineCode, String> {
    let mut reader = Reader::new(machine, Options::default().strictness);
    let target = codegen::Target::read(module, kernel, &mut reader).map_err(|missing| missing.to_string())?;
    let listing = |schedule| {
        let options = codegen::Options { schedule, registers: Some(registers) };
        let generated = codegen::generate(module, kernel, &target, options).map_err(|error| error.to_string())?;
        Ok::<_, String>(Listing { code: Arc::new(generated.code), assumptions: generated.assumptions })
    };
    Ok(MachineCode { scheduled: listing(true)?, program_order: listing(false)? })
}
