//! Which CTAs are traced for the timing simulation of which GPUs, and the machine code that goes with the traces.
//!
//! A simulated SM executes the CTAs that are dealt to it ([`Dealing`]). One emulation serves all GPUs: it traces the CTAs
//! that any of them needs, for some SMs s, because the work of CTAs may differ. Those of the others that are looked at ([`Need::window`]) tell what SMs share.

use std::collections::BTreeSet;
use std::sync::Arc;

use warplens_codegen as codegen;
use warplens_ir::{FunctionId, Module};
use warplens_machine::{Key, Reader};
use warplens_model::Options;
use warplens_sim::launch::LaunchShare;
use warplens_sim::traces::{Listing, MachineCode, Planned, PlannedSms, Traced};
use warplens_stats::{Footprint, LaunchShape, MemoryPlace, TraceRequest, Tracer};
use warplens_trace::{CtaId, Dealing};

use crate::machines::Machine;
use crate::predict::residency;

/// Warp instructions that a simulation should take, more only where two waves need them.
const SIMULATED: u64 = 1_000_000;
/// Steps and accesses kept for one GPU.
const KEPT_FOR_ONE: u64 = 1_500_000;
/// Steps and accesses kept for all GPUs together: about half a gigabyte.
const KEPT: u64 = 12_000_000;
/// Fewest steps and accesses of a warp, however many are followed.
const FEWEST_KEPT: u64 = 64;
/// Steps and accesses of the SMs of which one is chosen.
const COMPARED: u64 = 1_000_000;
/// Most of these SMs.
const MOST_COMPARED: u32 = 16;
/// Warp instructions for each step or access that is kept, about.
const INSTRUCTIONS_KEPT: u64 = 4;
/// Thread instructions of the CTAs whose footprints are gathered.
const LOOKED_AT: u64 = 200_000_000;

/// What the simulations of some GPUs need of a launch.
#[derive(Clone, Debug)]
pub(crate) struct Need {
    /// SMs and the share of one, for each GPU.
    shares: Vec<(u32, LaunchShare)>,
    n_ctas: u32,
    n_warps: u64,
    /// What the last request has for each of them.
    planned: Planned,
}

/// Work of one CTA.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    pub(crate) warp_instructions: u64,
    pub(crate) thread_instructions: u64,
}

impl From<warplens_exec::LaunchSummary> for Cost {
    fn from(summary: warplens_exec::LaunchSummary) -> Self {
        Self { warp_instructions: summary.warp_instructions, thread_instructions: summary.thread_instructions }
    }
}

impl Need {
    /// What these GPUs need; none where nobody asks for a simulation.
    pub(crate) fn of(machines: &[Machine], shape: &LaunchShape, n_ctas: u32) -> Option<Self> {
        let share = |machine: &Machine| {
            let mut reader = Reader::new(machine, Options::default().strictness);
            let n_sms = reader.need(Key::SmCount).ok()? as u32;
            let (limits, demand, limit) = residency(shape, machine, Options::default()).ok()?;
            let fits = limits.occupancy(&demand, limit, warplens_model::occupancy::Carveout::Default).ctas;
            Some((n_sms, LaunchShare::new(n_ctas.into(), fits, n_sms, 1)))
        };
        let mut shares: Vec<_> = machines.iter().filter_map(share).collect();
        shares.sort_by_key(|(n_sms, share)| (*n_sms, share.resident));
        shares.dedup();
        (!shares.is_empty()).then(|| Self { shares, n_ctas, n_warps: shape.n_warps().max(1), planned: Planned::new() })
    }

    /// What to trace where nothing is known about the work of a CTA but that of the first, if that.
    pub(crate) fn request(&mut self, cost: Option<Cost>) -> TraceRequest {
        let affordable = cost.map_or(0, |cost| SIMULATED / cost.warp_instructions.max(1));
        let affordable = u32::try_from(affordable).unwrap_or(u32::MAX);
        let (mut ctas, mut most, mut window) = (BTreeSet::new(), 1, 0);
        for (n_sms, share) in &self.shares {
            let plan = share.plan(share.ctas, affordable);
            let sms = self.candidates(*n_sms, plan.many, cost);
            let dealing = Dealing::new(*n_sms);
            let own = sms.iter().flat_map(|sm| (0..plan.many).filter_map(|turn| dealing.cta(*sm, turn)));
            ctas.extend(own.filter(|id| id.0 < self.n_ctas));
            most = most.max(u64::from(plan.many));
            self.planned.insert((*n_sms, share.resident), PlannedSms { ctas: plan.many, sms });
            window = window.max(u64::from(plan.many) * u64::from(*n_sms));
        }
        let per_cta = cost.map_or(LOOKED_AT, |cost| cost.thread_instructions.max(1));
        let window = window.min(self.n_ctas.into()).min((LOOKED_AT / per_cta).max(1));
        let kept = (KEPT_FOR_ONE / most).min(KEPT / (ctas.len() as u64).max(1));
        TraceRequest {
            ctas: ctas.into_iter().collect(),
            per_warp: usize::try_from((kept / self.n_warps).max(FEWEST_KEPT)).unwrap_or(usize::MAX),
            window: u32::try_from(window).expect("no more than the CTAs of the grid"),
        }
    }

    /// SMs of which one is simulated: the first, and as many others as are cheap to trace, spread over those that get as
    /// many CTAs as the first. The work of CTAs may differ.
    fn candidates(&self, n_sms: u32, many: u32, cost: Option<Cost>) -> Vec<u32> {
        let Some(cost) = cost else { return vec![0] };
        let of_one = u64::from(many) * (cost.warp_instructions / INSTRUCTIONS_KEPT).max(1);
        let busiest = Dealing::new(n_sms).n_busiest(self.n_ctas);
        let count = (COMPARED / of_one).clamp(1, u64::from(busiest.min(MOST_COMPARED)));
        (0..count).map(|at| (at * u64::from(busiest) / count) as u32).collect()
    }

    /// What to trace of the first CTA, whose work tells what to trace of the others.
    pub(crate) fn first(&self) -> TraceRequest {
        let per_warp = usize::try_from(KEPT_FOR_ONE / self.n_warps).unwrap_or(usize::MAX);
        TraceRequest { ctas: vec![CtaId(0)], per_warp, window: 1 }
    }

    /// What to trace where only these CTAs are executed.
    pub(crate) fn among(&mut self, ctas: &[u32]) -> TraceRequest {
        let request = self.request(None);
        let n_traced = request.ctas.len().min(ctas.len());
        TraceRequest { ctas: ctas[..n_traced].iter().copied().map(CtaId).collect(), ..request }
    }

    /// What to trace of all CTAs of a kernel that can only be run as a whole, and whose CTAs nobody knows.
    pub(crate) fn whole(&mut self) -> TraceRequest {
        let request = self.request(None);
        let window = self.shares.iter().map(|(n_sms, share)| u64::from(*n_sms) * u64::from(share.resident)).max();
        let window = window.unwrap_or(1).min(self.n_ctas.into());
        TraceRequest { window: u32::try_from(window).expect("no more than the CTAs of the grid"), ..request }
    }
}

/// CTAs that a request is about, and that are not among those that were executed (ascending).
pub(crate) fn lacking(request: &TraceRequest, executed: &[u32]) -> Vec<u32> {
    let wanted: BTreeSet<u32> = request.ctas.iter().map(|cta| cta.0).chain(0..request.window).collect();
    wanted.into_iter().filter(|cta| executed.binary_search(cta).is_err()).collect()
}

/// Where the memory instructions of a module are.
pub(crate) fn memory_places(module: &Module) -> Arc<[MemoryPlace]> {
    let slots = warplens_codegen::slots(module);
    module.pcs.ids().map(|pc| slots.of(pc)).collect()
}

/// What was recorded, with the code of each GPU.
pub(crate) fn finish(
    (tracer, per_warp): (Tracer, usize),
    need: &Need,
    module: &Module,
    kernel: FunctionId,
    registers: u32,
    machines: &[Machine],
) -> Traced {
    let (mut ctas, lines) = tracer.finish();
    // The first CTA was traced before anybody knew how much may be kept.
    ctas.iter_mut().for_each(|cta| cta.shorten(per_warp));
    let code =
        machines.iter().map(|machine| (machine.board().to_owned(), machine_code(module, kernel, registers, machine)));
    Traced { ctas, planned: need.planned.clone(), footprint: Footprint::new(lines).into(), code: code.collect() }
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
