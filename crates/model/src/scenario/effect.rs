//! Effects that a scenario can take away: one row each.

use std::collections::BTreeMap;

use warplens_isa::{OpClass, StateSpace};
use warplens_machine::Key;
use warplens_sim::Effect as Simulated;
use warplens_stats::{CoalescingRule, LineCounts};

use super::edit::{
    Group, coalesce, edit_memory, requests, scale_accesses, scale_instructions, scale_requests, shift_class,
};
use super::{Impossible, Subject};
use crate::workload::coalescing_rule;
use crate::{Change, FermiL1, KnobSpec, MODELS, ModelId};

macro_rules! effects {
    ($($(#[$meta:meta])* $id:ident $name:literal;)*) => {
        /// An effect, by name. Each model lists those that are in its equations.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum EffectId {
            $($(#[$meta])* $id,)*
            /// One that only the timing simulation has.
            Simulated(Simulated),
        }

        impl EffectId {
            /// Name that users write.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$id => $name,)*
                    Self::Simulated(effect) => effect.name(),
                }
            }
        }
    };
}

effects! {
    /// Requests that take more transactions than they need.
    Uncoalesced "uncoalesced";
    /// Extra passes of shared memory.
    BankConflicts "bank-conflicts";
    /// Lanes of a warp that part.
    Divergence "divergence";
    /// Sectors that are loaded again.
    RepeatedLoads "repeated-loads";
    /// Loads of the same data that merge.
    DuplicateMerging "duplicate-merging";
    /// Waiting at barriers.
    Synchronisation "synchronisation";
    /// Waiting for results of the same warp.
    DependenceLatency "dependence-latency";
    /// The time of a single access.
    MemoryLatency "memory-latency";
    /// The bandwidth of device memory.
    MemoryBandwidth "memory-bandwidth";
}

/// An effect that costs time, or saves some.
#[derive(Clone, Copy, Debug)]
pub struct Effect {
    /// Which effect it is.
    pub id: EffectId,
    /// What is supposed when it is taken away.
    pub about: &'static str,
    /// True where it saves time, so that a kernel without it is no faster.
    pub saves_time: bool,
    /// What the timing simulation leaves out.
    simulated: Option<Simulated>,
    remove: fn(&mut Subject) -> Result<(), Impossible>,
}

impl Effect {
    /// The effect called `name`.
    pub fn find(name: &str) -> Option<&'static Self> {
        EFFECTS.iter().find(|effect| effect.name() == name)
    }

    /// Name that users write.
    pub const fn name(&self) -> &'static str {
        self.id.name()
    }

    /// Takes the effect away. What the counts do not hold is left in simulations, too: passes through the L1 cache that
    /// are there with every byte side by side are no matter of coalescing, and the answer agrees with the counts beside it.
    pub fn remove(&self, subject: &mut Subject) -> Result<(), Impossible> {
        let is_there = self.id != EffectId::Uncoalesced || is_uncoalesced(subject);
        if let Some(effect) = self.simulated.filter(|_| is_there) {
            subject.knobs.leave_out(effect);
        }
        (self.remove)(subject)
    }

    /// True where the model's equations have the effect in them.
    pub fn is_modelled_by(&self, model: ModelId) -> bool {
        model.model().effects().contains(&self.id)
    }
}

impl PartialEq for Effect {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

/// By how much a bandwidth or a parallelism is raised to be no limit.
const UNLIMITED: f64 = 1e6;

/// Every effect: those that equations of closed forms have, and then those that only the timing simulation has.
pub const EFFECTS: &[Effect] = &WITH_SIMULATED;

const WITH_SIMULATED: [Effect; OF_MODELS.len() + n_only_simulated()] = {
    let mut all = [OF_MODELS[0]; OF_MODELS.len() + n_only_simulated()];
    let (mut from, mut to) = (1, 1);
    while from < OF_MODELS.len() {
        all[to] = OF_MODELS[from];
        (from, to) = (from + 1, to + 1);
    }
    let mut index = 0;
    while index < Simulated::ALL.len() {
        if !is_of_models(Simulated::ALL[index]) {
            all[to] = only_simulated(Simulated::ALL[index]);
            to += 1;
        }
        index += 1;
    }
    all
};

/// The effects that the timing simulation can leave out.
pub const OF_SIMULATION: &[EffectId] = &SIMULATED_IDS;

const SIMULATED_IDS: [EffectId; Simulated::ALL.len()] = {
    let mut ids = [EFFECTS[0].id; Simulated::ALL.len()];
    let (mut from, mut to) = (0, 0);
    while from < EFFECTS.len() {
        if EFFECTS[from].simulated.is_some() {
            ids[to] = EFFECTS[from].id;
            to += 1;
        }
        from += 1;
    }
    // An effect of the simulation in two rows, or in none, is no array of all of them.
    assert!(to == Simulated::ALL.len());
    ids
};

/// True where closed forms have the effect, too.
const fn is_of_models(effect: Simulated) -> bool {
    let mut index = 0;
    while index < OF_MODELS.len() {
        if let Some(other) = OF_MODELS[index].simulated
            && other as usize == effect as usize
        {
            return true;
        }
        index += 1;
    }
    false
}

const fn n_only_simulated() -> usize {
    let (mut count, mut index) = (0, 0);
    while index < Simulated::ALL.len() {
        count += if is_of_models(Simulated::ALL[index]) { 0 } else { 1 };
        index += 1;
    }
    count
}

/// An effect that no closed form has: what the simulation says about it is all there is.
const fn only_simulated(effect: Simulated) -> Effect {
    Effect {
        id: EffectId::Simulated(effect),
        about: effect.about(),
        saves_time: false,
        simulated: Some(effect),
        remove: |_| Ok(()),
    }
}

/// Effects that closed forms have.
const OF_MODELS: &[Effect] = &[
    Effect {
        id: EffectId::Uncoalesced,
        about: "the distinct bytes of each memory request lie side by side, so that it takes the fewest transactions",
        saves_time: false,
        simulated: Some(Simulated::Uncoalesced),
        remove: |subject| {
            edit_memory(&mut subject.profile, |_, counts| coalesce(counts));
            Ok(())
        },
    },
    Effect {
        id: EffectId::BankConflicts,
        about: "each shared-memory access takes the wavefronts of one without conflicts",
        saves_time: false,
        simulated: Some(Simulated::BankConflicts),
        remove: without_bank_conflicts,
    },
    Effect {
        id: EffectId::Divergence,
        about: "lanes of a warp never part: the work of each instruction is done by warps with all their lanes; memory \
                requests are fewer, their transactions and shared-memory accesses stay",
        saves_time: false,
        simulated: Some(Simulated::Divergence),
        remove: without_divergence,
    },
    Effect {
        id: EffectId::RepeatedLoads,
        about: "each sector of global memory is loaded once, as with perfect reuse in shared memory or registers; the \
                number of instructions stays",
        saves_time: false,
        simulated: None,
        remove: without_repeated_loads,
    },
    Effect {
        id: EffectId::DuplicateMerging,
        about: "loads of the same data by warps of one CTA do not merge; merging saves transactions, but takes requests \
                in flight, so that without it a kernel may be slower or faster",
        saves_time: true,
        simulated: None,
        remove: |subject| {
            subject.profile.duplicate_loads = CoalescingRule::ALL.into_iter().map(|rule| (rule, 1.0)).collect();
            Ok(())
        },
    },
    Effect {
        id: EffectId::Synchronisation,
        about: "no warp waits at a barrier; the barriers' instructions stay",
        saves_time: false,
        simulated: Some(Simulated::Synchronisation),
        remove: |subject| {
            subject.profile.barriers = 0;
            Ok(())
        },
    },
    Effect {
        id: EffectId::DependenceLatency,
        about: "all loads of a warp are independent of each other and in flight together, and no instruction waits for another",
        saves_time: false,
        simulated: Some(Simulated::DependenceLatency),
        remove: without_dependences,
    },
    Effect {
        id: EffectId::MemoryLatency,
        about: "an access to device memory takes no longer than one transaction needs at full bandwidth",
        saves_time: false,
        simulated: Some(Simulated::MemoryLatency),
        remove: without_memory_latency,
    },
    Effect {
        id: EffectId::MemoryBandwidth,
        about: "device memory has a million times its bandwidth",
        saves_time: false,
        simulated: Some(Simulated::MemoryBandwidth),
        remove: |subject| raise_bandwidth(subject, UNLIMITED, "without memory-bandwidth"),
    },
];

/// True where an access moves more than its distinct bytes need, or where that was not counted.
fn is_uncoalesced(subject: &Subject) -> bool {
    let Subject { profile, machine, .. } = subject;
    let rules = [FermiL1::On, FermiL1::Off].map(|l1| coalescing_rule(machine.cc, l1));
    let counts = [&profile.global, &profile.local].into_iter().flat_map(|counts| rules.map(|rule| counts.get(&rule)));
    counts.flatten().filter(|counts| counts.requests > 0).any(|counts| {
        let needed = 32 * counts.ideal_t32 + 64 * counts.ideal_t64 + 128 * counts.ideal_t128;
        counts.ideal_transactions().is_none_or(|ideal| counts.transactions() > ideal || counts.bytes_moved > needed)
    })
}

fn of_machine(missing: warplens_machine::Missing) -> Impossible {
    Impossible::new(missing.to_string())
}

/// Scales peak and achieved bandwidth together.
pub(super) fn raise_bandwidth(subject: &mut Subject, factor: f64, source: &str) -> Result<(), Impossible> {
    let machine = &mut subject.machine;
    let mut supposed = false;
    for key in [Key::DramPeakBandwidth, Key::DramAchievedBandwidth, Key::DramOneWayBandwidth] {
        // What is not stated is derived from the peak, and follows it.
        if machine.number(key).is_some() {
            machine.suppose_scaled(key, factor, source).map_err(|why| Impossible::new(why.reason))?;
            supposed = true;
        }
    }
    if supposed { Ok(()) } else { Err(Impossible::new(format!("{} states no bandwidth of its memory", machine.id))) }
}

fn without_memory_latency(subject: &mut Subject) -> Result<(), Impossible> {
    let machine = &mut subject.machine;
    // The shortest distance between two transactions: without any, requests would take no time at all.
    let delay = machine.canonical(Key::DramDepartureDelay32).map_err(of_machine)?;
    let latency = machine.canonical(Key::DramLatency).map_err(of_machine)?;
    let shortest = delay.min(latency);
    machine.suppose(Key::DramLatency, shortest, "without memory-latency").map_err(|why| Impossible::new(why.reason))
}

fn without_bank_conflicts(subject: &mut Subject) -> Result<(), Impossible> {
    let profile = &mut subject.profile;
    let of_lines = profile.lines.iter_mut().map(|line| &mut line.shared);
    for counts in of_lines.chain([&mut profile.shared]).flat_map(|by_rule| by_rule.values_mut()) {
        counts.conflicted = 0;
        counts.passes = counts.requests;
        counts.wavefronts = counts.wavefronts.min(counts.ideal_wavefronts);
    }
    Ok(())
}

fn without_divergence(subject: &mut Subject) -> Result<(), Impossible> {
    let profile = &mut subject.profile;
    // Mean lanes of a launched warp: fewer than 32 where CTAs end in a part of a warp.
    let full = profile.launch.n_threads() as f64 / (profile.launch.n_warps() as f64).max(1.0);
    let factor = profile.mean_active_lanes() / full;
    if !(factor > 0.0 && factor < 1.0) {
        return Ok(());
    }
    let before = requests(profile);
    edit_memory(profile, |place, counts| {
        let Some(line) = place.line.filter(|_| counts.requests > 0) else { return };
        let lanes = line.threads as f64 / counts.requests as f64;
        scale_requests(counts, (lanes / full).min(1.0));
    });
    let fewer = before - requests(profile);
    scale_instructions(profile, Group::Compute, factor);
    shift_class(profile, OpClass::Memory, -i64::try_from(fewer).unwrap_or(i64::MAX));
    profile.thread_instructions = (profile.instructions.total as f64 * full).round() as u64;
    profile.divergent_branches = 0;
    profile.lines.iter_mut().for_each(|line| line.divergent = 0);
    Ok(())
}

fn without_repeated_loads(subject: &mut Subject) -> Result<(), Impossible> {
    let profile = &mut subject.profile;
    let distinct = (32 * profile.distinct_sectors_read) as f64;
    let mut moved = BTreeMap::new();
    for line in profile.lines.iter().filter(|line| is_global_load(line)) {
        for (&rule, counts) in &line.memory {
            *moved.entry(rule).or_insert(0.0) += counts.bytes_moved as f64;
        }
    }
    let merging = profile.duplicate_loads.clone();
    edit_memory(profile, |place, counts| {
        let Some(&bytes) = moved.get(&place.rule).filter(|bytes| **bytes > distinct) else { return };
        if place.line.is_some_and(is_global_load) {
            // Loads that merge already move no more than before.
            let merged = merging.get(&place.rule).map_or(1.0, |factor| 1.0 / factor);
            scale_accesses(counts, (distinct / bytes).min(merged));
        }
    });
    // What is loaded once does not merge with anything.
    for (rule, factor) in &mut profile.duplicate_loads {
        if moved.get(rule).is_some_and(|bytes| *bytes > distinct) {
            *factor = 1.0;
        }
    }
    Ok(())
}

fn without_dependences(subject: &mut Subject) -> Result<(), Impossible> {
    let profile = &mut subject.profile;
    let loads = profile.lines.iter().filter(|line| is_global_load(line));
    let per_warp = profile.per_warp(loads.map(|line| line.executed).sum());
    for loads in [&mut profile.independent_loads, &mut profile.independent_loads_program_order].into_iter().flatten() {
        *loads = loads.max(per_warp);
    }
    for knob in knobs().filter(|knob| knob.name == "x-model.E") {
        subject.knobs.set(knob, Change::Factor(UNLIMITED));
    }
    Ok(())
}

/// True for loads that may go to global memory.
fn is_global_load(line: &LineCounts) -> bool {
    line.opcode.key.is_load() && matches!(line.space, Some(StateSpace::Global | StateSpace::Generic))
}

/// The knobs of all models.
pub(super) fn knobs() -> impl Iterator<Item = &'static KnobSpec> {
    MODELS.iter().flat_map(|model| model.knobs())
}
