//! What simulated cycles are made of, and the quantities that go with them.
//!
//! A scheduler that issues uses its cycle; the share of such cycles is the first term. In the rest of the time warps wait.
//! It is dealt out to the reasons by the warp cycles spent on each, so that all terms add up to the time. Where a unit is
//! busier than the issue slots, it is that unit which paces what is issued. What the launch itself takes comes last.

use warplens_base::units::Cycles;
use warplens_machine::words::IssueOccupies;
use warplens_machine::{Key, Readings};
use warplens_sim::{Bound, Outcome, Stall, UnitKind, UnitOutcome};

use super::Simulated;
use crate::{Part, Quantity, Resource, Symbol, Term};

/// A unit that is busy for this share of the cycles bounds what waits for it, and below it is latency that does; Nsight
/// Compute draws the same line.
pub(crate) const BUSY: f64 = 0.6;

/// Reasons to wait that one term holds.
struct Group {
    name: &'static str,
    stalls: &'static [Stall],
    resource: fn(&Simulated) -> Resource,
    /// Beginnings of the names of the machine parameters that it depends on.
    parameters: &'static [&'static str],
}

const GROUPS: &[Group] = &[
    Group {
        name: "waiting for results",
        stalls: &[Stall::Wait, Stall::BranchResolving],
        resource: |_| Resource::Dependence,
        parameters: &["latency."],
    },
    Group {
        name: "waiting for arithmetic units",
        stalls: &[Stall::MathPipeThrottle],
        resource: busiest_pipe,
        parameters: &["lanes."],
    },
    Group {
        name: "waiting for memory",
        stalls: &[Stall::LongScoreboard, Stall::LgThrottle, Stall::Membar, Stall::Drain],
        resource: memory,
        parameters: &["dram.", "l2.", "l1.", "lsu."],
    },
    Group {
        name: "waiting for shared memory and special functions",
        stalls: &[Stall::ShortScoreboard, Stall::MioThrottle],
        resource: shared,
        parameters: &["shared.", "lsu."],
    },
    Group {
        name: "waiting at barriers",
        stalls: &[Stall::Barrier],
        resource: |_| Resource::Barrier,
        parameters: &["latency.barrier"],
    },
];

/// Every state in which a warp is kept waiting belongs to one group; one that issues, or could, waits for nothing.
const _: () = {
    let mut of_group = [0; Stall::COUNT];
    let mut group = 0;
    while group < GROUPS.len() {
        let stalls = GROUPS[group].stalls;
        let mut stall = 0;
        while stall < stalls.len() {
            of_group[stalls[stall] as usize] += 1;
            stall += 1;
        }
        group += 1;
    }
    let mut stall = 0;
    while stall < Stall::COUNT {
        let waits = !matches!(Stall::ALL[stall], Stall::Selected | Stall::NotSelected);
        assert!(of_group[stall] == waits as u8, "a state belongs to no group, or to two");
        stall += 1;
    }
};

/// The terms; they add up to the cycles of the launch.
pub(super) fn terms(simulated: &Simulated, readings: &Readings) -> Vec<Term> {
    let cycles = simulated.cycles();
    let outcome = &simulated.outcome;
    let stalls = outcome.stalls();
    let of = |group: &Group| group.stalls.iter().map(|stall| stalls.of(*stall)).sum::<u64>() as f64;
    let waited: f64 = GROUPS.iter().map(of).sum();
    let issuing = if waited > 0.0 { issue_share(simulated) } else { 1.0 };
    let reads = |prefixes: &[&str]| {
        let keys = readings.parameters.iter().map(|read| read.key);
        keys.filter(|key| prefixes.iter().any(|prefix| key.name().starts_with(prefix))).collect::<Vec<Key>>()
    };
    let launch = simulated.launching.map(|cycles| Term {
        name: "launching",
        resource: Resource::Launch,
        cycles: Cycles(cycles),
        parameters: vec![Key::LaunchLatency, Key::DramLatency],
        parts: Vec::new(),
    });
    let mut terms = vec![Term {
        name: "issuing",
        resource: pace(simulated, issuing),
        cycles: Cycles(cycles * issuing),
        parameters: reads(&["issue.", "sm.subpartitions"]),
        parts: Vec::new(),
    }];
    let per_warp_cycle = if waited > 0.0 { cycles * (1.0 - issuing) / waited } else { 0.0 };
    for group in GROUPS.iter().filter(|group| of(group) > 0.0) {
        let found = group.stalls.iter().map(|stall| (stall.name(), stalls.of(*stall) as f64 * per_warp_cycle));
        let parts = found.filter(|(_, cycles)| *cycles > 0.0);
        terms.push(Term {
            name: group.name,
            resource: (group.resource)(simulated),
            cycles: Cycles(of(group) * per_warp_cycle),
            parameters: reads(group.parameters),
            parts: parts.map(|(name, cycles)| Part { name: name.to_owned(), cycles: Cycles(cycles) }).collect(),
        });
    }
    terms.extend(launch);
    terms
}

/// Share of the cycles in which a scheduler issues, or is kept by what it issued.
fn issue_share(simulated: &Simulated) -> f64 {
    let Simulated { code, config, outcome, .. } = simulated;
    let interval = f64::from(config.issue_interval);
    let busy: f64 = match config.occupies {
        IssueOccupies::Unit => outcome.issued as f64 * interval / f64::from(config.issue_width.max(1)),
        IssueOccupies::Scheduler => {
            let of_each = code.insts.iter().zip(&outcome.executions);
            let kept = |amount: u32, timed: f64| (f64::from(amount) * timed).max(interval);
            of_each.map(|(inst, n)| *n as f64 * kept(inst.amount, config.class(inst.timed_as()).interval)).sum()
        }
    };
    let slots = outcome.cycles as f64 * f64::from(config.schedulers.max(1));
    if slots > 0.0 { (busy / slots).min(1.0) } else { 1.0 }
}

/// What paces the schedulers, which issue in such a share of the cycles: a unit that is busy, and busier than they are.
fn pace(simulated: &Simulated, issuing: f64) -> Resource {
    let units = [busiest(simulated, of_arithmetic), busiest(simulated, of_memory)].into_iter().flatten();
    let busiest = units.max_by(|left, right| left.1.total_cmp(&right.1));
    let paces = busiest.filter(|&(_, share)| share >= BUSY && share > issuing);
    paces.map_or(Resource::Issue, |(resource, _)| cause(simulated, resource))
}

/// Where the banks are busy with conflicts most of the time, these are what they are busy for.
fn cause(simulated: &Simulated, resource: Resource) -> Resource {
    let Simulated { config, outcome, .. } = simulated;
    let banks = outcome.units.iter().find(|unit| unit.kind == UnitKind::SharedAndL1);
    let conflicts = outcome.traffic.conflict_passes as f64 * config.shared.pass_cycles;
    let is_conflict = resource == Resource::LoadStore && banks.is_some_and(|banks| 2.0 * conflicts >= banks.busy);
    if is_conflict && conflicts > 0.0 { Resource::SharedMemory } else { resource }
}

/// What the unit means that is busiest among those that `meaning` has an answer for, with its share of the cycles.
fn busiest(simulated: &Simulated, meaning: fn(&UnitOutcome) -> Option<Resource>) -> Option<(Resource, f64)> {
    let Outcome { units, cycles, .. } = &simulated.outcome;
    let meant = units.iter().filter_map(|unit| Some((meaning(unit)?, unit.utilisation(*cycles))));
    meant.max_by(|left, right| left.1.total_cmp(&right.1))
}

/// What a busy unit that computes means.
fn of_arithmetic(unit: &UnitOutcome) -> Option<Resource> {
    match unit.kind.bound() {
        Bound::Pipe(pipe) => Resource::of_pipe(pipe),
        Bound::Issue | Bound::LoadStore | Bound::L2Bandwidth | Bound::DramBandwidth | Bound::Atomics => None,
    }
}

/// What a busy unit on the way to memory means.
fn of_memory(unit: &UnitOutcome) -> Option<Resource> {
    match unit.kind.bound() {
        Bound::Issue | Bound::Pipe(_) => None,
        Bound::LoadStore => Some(Resource::LoadStore),
        Bound::L2Bandwidth => Some(Resource::L2Bandwidth),
        Bound::DramBandwidth => Some(Resource::DramBandwidth),
        Bound::Atomics => Some(Resource::Atomics),
    }
}

fn busiest_pipe(simulated: &Simulated) -> Resource {
    busiest(simulated, of_arithmetic).map_or(Resource::Compute, |(resource, _)| resource)
}

fn memory(simulated: &Simulated) -> Resource {
    busiest(simulated, of_memory)
        .filter(|&(_, share)| share >= BUSY)
        .map_or(Resource::DramLatency, |(resource, _)| cause(simulated, resource))
}

/// Conflicts bound where they add as many passes as there are accesses, and loops of atomic operations where a word is busy
/// with them.
fn shared(simulated: &Simulated) -> Resource {
    let Simulated { code, outcome, .. } = simulated;
    let of_words = outcome.units.iter().find(|unit| unit.kind == UnitKind::AtomicWord);
    if of_words.is_some_and(|unit| unit.utilisation(outcome.cycles) >= BUSY) {
        return Resource::Atomics;
    }
    let of_each = code.insts.iter().zip(&outcome.executions);
    let in_shared = of_each.filter(|(inst, _)| inst.space == warplens_isa::StateSpace::Shared && inst.touches_memory());
    let accesses: u64 = in_shared.map(|(_, n)| n).sum();
    let conflicts = outcome.traffic.conflict_passes;
    if conflicts > 0 && conflicts >= accesses { Resource::SharedMemory } else { Resource::LoadStore }
}

/// The busiest of the schedulers and the arithmetic pipes, with its share of the cycles.
pub(super) fn busiest_compute(simulated: &Simulated) -> Option<(Resource, f64)> {
    let (pipe, busy) = busiest(simulated, of_arithmetic)?;
    let issuing = issue_share(simulated);
    Some(if busy > issuing { (pipe, busy) } else { (Resource::Issue, issuing) })
}

/// Share of the cycles in which the SM's part of device memory is busy.
pub(super) fn memory_share(simulated: &Simulated) -> f64 {
    let memory = simulated.outcome.units.iter().find(|unit| unit.kind == UnitKind::DramShare);
    memory.map_or(0.0, |unit| unit.utilisation(simulated.outcome.cycles).min(1.0))
}

/// What the simulation found, of the launch where it is a number of the launch.
pub(super) fn quantities(simulated: &Simulated) -> Vec<Quantity> {
    let Simulated { outcome, share, carried, surroundings, .. } = simulated;
    let cycles = outcome.cycles as f64;
    let per_launch = carried.scale() * f64::from(share.active_sms);
    let traffic = &outcome.traffic;
    let ratio = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
    let mut quantities = vec![
        Symbol::CtasPerSm.of(f64::from(carried.ctas)),
        Symbol::ResidentCtas.of(f64::from(share.resident)),
        Symbol::SimulatedCtas.of(f64::from(carried.simulated)),
        Symbol::SimulatedCycles.of(cycles),
        Symbol::WarpInstructions.of(outcome.issued as f64 * per_launch),
        Symbol::InstructionsPerCycle.of(if cycles > 0.0 { outcome.issued as f64 / cycles } else { 0.0 }),
        Symbol::AchievedWarps.of(outcome.achieved_warps()),
        Symbol::FirstFetch.of(surroundings.first_fetch),
        Symbol::L1HitRate.of(ratio(traffic.l1_hits, traffic.l1_sectors)),
        Symbol::L2HitRate.of(ratio(traffic.l2_hits, traffic.l2_sectors)),
        Symbol::DramBytes.of(traffic.dram_bytes as f64 * per_launch),
        Symbol::ConflictPasses.of(traffic.conflict_passes as f64 * per_launch),
    ];
    let stalls = outcome.stalls();
    let found = stalls.iter().filter(|(stall, cycles)| *cycles > 0 && *stall != Stall::Selected);
    quantities.extend(found.map(|(stall, cycles)| Symbol::Stalled(stall).of(ratio(cycles, outcome.issued))));
    quantities
}
