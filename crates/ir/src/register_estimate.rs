//! An estimate of how many registers ptxas will give a kernel, from the live ranges of its PTX.
//!
//! ptxas does three things to a kernel that the text does not show. It folds: parameters and constants are operands of
//! machine instructions, and an address is a base, an index and an offset, so that many PTX registers never exist
//! ([`view`]). It unrolls loops ([`Unrolled`], and others by a few turns). And it orders operations so that latencies
//! overlap, which makes more values live at once, until it reaches the registers that an SM can give to each thread when
//! it is full, or the next step of a ladder when the kernel cannot do with so few ([`schedule`]). The estimate does the
//! same roughly and counts the words that are live at once.
//!
//! What ptxas really does is not documented. The constants below were fitted to kernels that are no examples of this
//! project, compiled for five targets (`tests/data/registers`): the mean error there is 9 %. The tests of the crate
//! `ptx` say how far off the examples are.

mod schedule;
mod view;

use warplens_isa::{BlockId, Op};

use crate::{CallGraph, Cfg, Function, FunctionId, LaunchBounds, Liveness, Module, Unrolled};
use schedule::schedule;
use view::{Kind, Step, View};

/// Registers beside those that hold live words: alignment of pairs, the stack pointer, temporaries.
const BASE: f64 = 8.0;
/// More of them from `sm_90` on.
const BASE_90: f64 = 1.0;
/// Registers per live word: below 1, as the words of the text are not all needed.
const PER_WORD: f64 = 0.85;
/// Copies of a short loop's body.
const UNROLL: usize = 4;
/// Largest unrolled body in operations.
const UNROLL_LIMIT: usize = 300;
/// Register budgets above that of a full SM.
const LADDER: [u32; 4] = [40, 64, 128, 255];
/// Least that ptxas hands out to a kernel that calls, as the calling convention sets the first ones aside.
const LEAST_WITH_CALLS: u32 = 24;
/// Least that ptxas hands out.
const LEAST: u32 = 8;
/// Most registers of a thread: what an instruction can name.
pub const MOST_REGISTERS: u32 = 255;
/// Registers of an SM.
const REGISTER_FILE: u32 = 65536;

/// Estimate of the registers per thread that ptxas gives `kernel`, and what it calls, on a target of compute capability
/// `target` (80 for `sm_80`).
pub fn register_estimate(module: &Module, kernel: FunctionId, target: u32) -> u32 {
    let calls = CallGraph::new(module);
    let reachable = calls.reachable(kernel);
    // Loops in part are left to `steps`.
    let unrolled = Unrolled::whole(module, &reachable, target);
    let module = unrolled.as_ref().map_or(module, |unrolled| &unrolled.module);
    let functions = reachable.into_iter().map(|id| &module.functions[id]);
    let most = functions.map(|function| estimate_body(module, function, target)).max().unwrap_or(0);
    let function = &module.functions[kernel];
    let has_calls = !calls.callees(kernel).is_empty() || calls_services(module, function);
    let least = if has_calls { LEAST_WITH_CALLS } else { LEAST };
    most.max(least).min(most_registers(&function.bounds))
}

fn estimate_body(module: &Module, function: &Function, target: u32) -> u32 {
    let cfg = Cfg::new(module, function);
    let base = BASE + if target >= 90 { BASE_90 } else { 0.0 };
    let mut view = View::new(module, function, target);
    let liveness = Liveness::solve(
        function,
        &cfg,
        view.n_words(),
        |block| &view.blocks[function.block_position(block)],
        |_| Vec::new(),
    );
    let in_text_order = pressure(module, function, &cfg, &mut view.clone(), &liveness, 0);
    let need = (base + PER_WORD * f64::from(in_text_order)) as u32;
    let full = full_sm_registers(target);
    let budgets = std::iter::once(full).chain(LADDER).chain(steps_of_bounds(&function.bounds));
    let budget = budgets.filter(|&budget| budget >= need.max(full)).min().unwrap_or(MOST_REGISTERS);
    let cap = ((f64::from(budget) - base) / PER_WORD) as u32;
    // Where overlapping fails to stay below the budget, the order of the text serves as well.
    let words = pressure(module, function, &cfg, &mut view, &liveness, cap).min(in_text_order.max(cap));
    ((base + PER_WORD * f64::from(words)).round() as u32).min(MOST_REGISTERS)
}

/// Registers per thread when an SM holds as many threads as it can, in the steps in which they are handed out.
fn full_sm_registers(target: u32) -> u32 {
    let threads = match target {
        75 => 1024,
        86..=89 | 120.. => 1536,
        _ => 2048,
    };
    REGISTER_FILE / threads / 8 * 8
}

/// The most registers with which an SM holds one CTA more, two more and so on, where the kernel says how large its CTAs
/// are: beyond the ladder's last step but one, ptxas takes these before all that there are.
fn steps_of_bounds(bounds: &LaunchBounds) -> impl Iterator<Item = u32> + use<> {
    let threads = bounds.required_threads.map(|extents| extents.iter().product()).or(bounds.max_threads);
    let threads: u32 = threads.unwrap_or(0).next_multiple_of(32);
    let steps = (1..).map(move |ctas| REGISTER_FILE / (ctas * threads.max(32)) / 8 * 8);
    let steps =
        steps.skip_while(|&registers| registers >= MOST_REGISTERS).take_while(|&registers| registers > LADDER[2]);
    steps.filter(move |_| threads > 0)
}

/// Most registers per thread that the demands of a kernel leave.
pub fn most_registers(bounds: &LaunchBounds) -> u32 {
    let threads = bounds.required_threads.map(|extents| extents.iter().product()).or(bounds.max_threads);
    let by_threads = threads.filter(|&threads| threads > 0).map(|threads: u32| {
        let resident = threads.next_multiple_of(32).saturating_mul(bounds.min_ctas_per_sm.unwrap_or(1).max(1));
        (REGISTER_FILE / resident / 8 * 8).max(16)
    });
    by_threads.unwrap_or(MOST_REGISTERS).min(bounds.max_registers.unwrap_or(MOST_REGISTERS)).min(MOST_REGISTERS)
}

fn calls_services(module: &Module, function: &Function) -> bool {
    let calls = |block| module.blocks[block].insts.iter().any(|inst| matches!(inst.op(), Op::Call | Op::SystemCall));
    function.block_ids().any(calls)
}

/// Most words live at once, latencies being overlapped while fewer than `cap` words are live.
fn pressure(module: &Module, function: &Function, cfg: &Cfg, view: &mut View, liveness: &Liveness, cap: u32) -> u32 {
    let blocks = cfg.postorder().iter().map(|&block| {
        let steps = steps(module, function, cfg, view, liveness, block);
        schedule(&steps, view, liveness.live_in(block), liveness.live_out(block), cap)
    });
    blocks.max().unwrap_or(0)
}

/// The steps of a block; of a short counted loop of one block several copies, unless the program forbids it. A loop
/// that stores is left alone: its loads could not pass the stores.
fn steps(
    module: &Module,
    function: &Function,
    cfg: &Cfg,
    view: &mut View,
    liveness: &Liveness,
    block: BlockId,
) -> Vec<Step> {
    let mut steps: Vec<Step> = view.blocks[function.block_position(block)].clone();
    let body = &steps[..steps.len().saturating_sub(1)];
    let is_plain = body.iter().all(|step| matches!(step.kind, Kind::Plain | Kind::Load));
    let is_kept_rolled = module.blocks[block].stays_rolled;
    let is_counted = cfg.successors(block).contains(&block) && body.iter().any(|step| step.is_count);
    if !is_counted || is_kept_rolled || !is_plain || body.len() * UNROLL > UNROLL_LIMIT {
        return steps;
    }
    steps.pop();
    view.repeat(&steps, UNROLL, liveness.live_out(block))
}
