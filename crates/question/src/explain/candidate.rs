//! The changes that can be advised: one row each. A row looks at the counts and proposes what they support, or nothing.

use warplens_model::scenario::{Effect, Impossible, Subject, scale_line_requests};

use super::evidence::{memory, used};
use super::place::{of_code, places};
use super::{Context, Place, launches, needs};
use crate::digits::short;
use crate::rewrite::{self, atomics, banks, lanes, layout, text, tile, unroll, vectors};
use crate::waits;
use warplens_launch::Extents;
use warplens_session::predict::Limiter;
use warplens_session::profile::{
    BankRule, CoalescingRule, Family, InstKey, LineCounts, OpClass, Profile, RegistersBasis, ScalarType, SlowOperation,
    StateSpace,
};
use warplens_sim::Stall;
use warplens_trace::MachineClass;

/// A change that can be advised.
#[derive(Clone, Copy)]
pub struct Candidate {
    /// Stable name.
    pub id: &'static str,
    /// What it is, in a sentence.
    pub about: &'static str,
    /// Proposals that the counts support.
    pub(super) propose: fn(&Context<'_>) -> Vec<Proposal>,
}

impl std::fmt::Debug for Candidate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.id)
    }
}

/// A change of this kernel, not yet priced.
pub(super) struct Proposal {
    /// What to do, as a request.
    pub(super) title: String,
    /// How that is done.
    pub(super) how: &'static str,
    /// What is asked about to learn what it gains.
    pub(super) change: Change,
    /// The same as flags of `whatif`, where it has them.
    pub(super) question: Vec<String>,
    /// Instructions that it concerns.
    pub(super) places: Vec<Place>,
    /// What else changes.
    pub(super) side_effects: Vec<String>,
}

type Edit = Box<dyn Fn(&mut Subject) -> Result<(), Impossible> + Send + Sync>;

/// How the answer to a proposal is found.
pub(super) enum Change {
    /// By a subject that is changed.
    Edit(Edit),
    /// By running the kernel with another grid and block.
    Launch(Extents, Extents),
    /// By running other PTX.
    Ptx(String),
}

impl Change {
    /// By a subject that is changed.
    pub(super) fn edit(edit: impl Fn(&mut Subject) -> Result<(), Impossible> + Send + Sync + 'static) -> Self {
        Self::Edit(Box::new(edit))
    }
}

/// Every candidate.
pub const CANDIDATES: &[Candidate] = &[
    Candidate {
        id: "coalesce",
        about: "lay data out so that the lanes of a warp read and write bytes that lie side by side",
        propose: coalesce,
    },
    Candidate {
        id: "bank-conflicts",
        about: "pad or swizzle arrays in shared memory so that lanes use different banks",
        propose: bank_conflicts,
    },
    Candidate { id: "divergence", about: "let the lanes of a warp take the same way", propose: divergence },
    Candidate { id: "reuse", about: "load each value once and keep it in shared memory or registers", propose: reuse },
    Candidate {
        id: "loads-in-flight",
        about: "issue more independent loads before the first is needed",
        propose: loads,
    },
    Candidate {
        id: "independent-chains",
        about: "split a chain of instructions that wait for each other into several",
        propose: chains,
    },
    Candidate { id: "registers", about: "use fewer registers, so that more blocks fit on an SM", propose: registers },
    Candidate {
        id: "shared-memory",
        about: "use less shared memory, so that more blocks fit on an SM",
        propose: shared,
    },
    Candidate { id: "grid", about: "launch as many blocks as the GPU has room for", propose: launches::grid },
    Candidate {
        id: "block-size",
        about: "launch the same threads in blocks of another size",
        propose: launches::block_size,
    },
    Candidate {
        id: "atomics",
        about: "combine what the threads of a block have before it goes to global memory",
        propose: atomics,
    },
    Candidate {
        id: "shared-atomics",
        about: "give the lanes of a warp words of their own for atomics in shared memory",
        propose: shared_atomics,
    },
    Candidate {
        id: "redundant-barriers",
        about: "remove barriers behind which no warp uses what another one stored",
        propose: redundant_barriers,
    },
    Candidate { id: "barriers", about: "wait at fewer barriers", propose: barriers },
    Candidate {
        id: "approximate",
        about: "use approximate division, square root and reciprocal",
        propose: approximate,
    },
    Candidate { id: "single-precision", about: "compute in single precision", propose: single_precision },
    Candidate { id: "vector-accesses", about: "load and store vectors", propose: vectors },
];

fn without(name: &'static str) -> Edit {
    let effect = Effect::find(name).expect("the table of effects has it");
    Box::new(move |subject| effect.remove(subject))
}

/// By what warps would execute, or by the counts without an effect where nothing is simulated.
fn simulated_or(
    context: &Context<'_>,
    rewrite: fn(&mut Subject) -> Result<(), Impossible>,
    effect: &'static str,
) -> Change {
    if context.is_simulated() { Change::edit(rewrite) } else { Change::Edit(without(effect)) }
}

pub(super) fn flags(name: &str, values: &[String]) -> Vec<String> {
    values.iter().flat_map(|value| [name.to_owned(), value.clone()]).collect()
}

fn one(proposal: Proposal) -> Vec<Proposal> {
    vec![proposal]
}

/// Bytes that a line moves beyond those that its distinct bytes need.
fn wasted(line: &LineCounts, rule: CoalescingRule) -> f64 {
    let Some(counts) = line.memory.get(&rule).filter(|counts| counts.ideal_transactions().is_some()) else {
        return 0.0;
    };
    let ideal = 32 * counts.ideal_t32 + 64 * counts.ideal_t64 + 128 * counts.ideal_t128;
    // On 1.x more transactions may carry the same bytes.
    let more = counts.transactions().saturating_sub(counts.ideal_transactions().unwrap_or(0));
    counts.bytes_moved.saturating_sub(ideal).max(more) as f64
}

fn coalesce(context: &Context<'_>) -> Vec<Proposal> {
    let rule = context.rule;
    let places = places(&context.profile.lines, |line| wasted(line, rule));
    let counts = memory(context.profile, rule);
    if counts.uncoalesced == 0 && places.is_empty() {
        return Vec::new();
    }
    one(Proposal {
        title: "Coalesce memory accesses".into(),
        how: "let the lanes of a warp use bytes that lie side by side, for example by arrays in place of structures, or by a \
              transposed copy",
        change: simulated_or(context, layout::coalesce, "uncoalesced"),
        question: flags("--without", &["uncoalesced".into()]),
        places,
        side_effects: vec!["the layout of the data changes for everything that uses it".into()],
    })
}

/// Wavefronts beyond those without conflicts.
fn conflicts(line: &LineCounts, rule: BankRule) -> f64 {
    let counts = line.shared.get(&rule).copied().unwrap_or_default();
    counts.wavefronts.saturating_sub(counts.ideal_wavefronts) as f64
}

fn shared_atomics(context: &Context<'_>) -> Vec<Proposal> {
    let rule = context.banks;
    let extra = |line: &LineCounts| if line.opcode.key.is_atomic() { conflicts(line, rule) } else { 0.0 };
    let places = places(&context.profile.lines, extra);
    if places.is_empty() {
        return Vec::new();
    }
    one(Proposal {
        title: "Spread atomics in shared memory over more words".into(),
        how: "give each lane of a warp words of its own, and add them up in the end; or combine the lanes of a warp before \
              the atomic",
        change: if context.is_simulated() {
            Change::edit(|subject| atomics::copy_per_lane(subject).map(|_| ()))
        } else {
            Change::Edit(without("bank-conflicts"))
        },
        question: flags("--without", &["bank-conflicts".into()]),
        places,
        side_effects: vec![
            "a copy for each lane takes 32 times the shared memory; to add them up is not in the estimate".into(),
        ],
    })
}

/// Operations of threads on a word from which on combining them is worth it.
const LEAST_OPERATIONS: f64 = 32.0;

fn atomics(context: &Context<'_>) -> Vec<Proposal> {
    let is_atomic = |line: &&LineCounts| {
        line.opcode.key.is_atomic() && matches!(line.space, Some(StateSpace::Global | StateSpace::Generic))
    };
    let operations: u64 = context.profile.lines.iter().filter(is_atomic).map(|line| line.threads).sum();
    let words = 8 * context.profile.distinct_sectors_written;
    if !context.is_simulated() || (operations as f64) < LEAST_OPERATIONS * words as f64 {
        return Vec::new();
    }
    let places = places(&context.profile.lines, |line| if is_atomic(&line) { line.threads as f64 } else { 0.0 });
    one(Proposal {
        title: "Combine what threads add to the same words of global memory".into(),
        how: "add up in the warp by shuffles and in the block by shared memory, and let each block do one atomic per word",
        change: Change::edit(atomics::once_per_block),
        question: Vec::new(),
        places,
        side_effects: vec!["the sum is made in another order".into()],
    })
}

fn bank_conflicts(context: &Context<'_>) -> Vec<Proposal> {
    let rule = context.banks;
    // Lanes whose atomics meet in one word are served one after the other, wherever the word lies.
    let extra = |line: &LineCounts| if line.opcode.key.is_atomic() { 0.0 } else { conflicts(line, rule) };
    let places = places(&context.profile.lines, extra);
    if places.is_empty() {
        return Vec::new();
    }
    let before = context.profile.launch.shared_bytes;
    // One word more per row of as many words as there are banks.
    let padded = before + before.div_ceil(32);
    let remove = without("bank-conflicts");
    let is_simulated = context.is_simulated();
    one(Proposal {
        title: "Remove bank conflicts".into(),
        how: "pad the rows of the array in shared memory by a word, or swizzle its columns",
        change: Change::edit(move |subject| {
            if is_simulated {
                return banks::pad(subject, rule).map(|_| ());
            }
            subject.profile.launch.shared_bytes = padded;
            remove(subject)
        }),
        question: flags("--without", &["bank-conflicts".into()]),
        places,
        side_effects: vec![format!("padding takes shared memory: about {before} B -> {padded} B per block")],
    })
}

fn divergence(context: &Context<'_>) -> Vec<Proposal> {
    let places = places(&context.profile.lines, |line| line.divergent as f64);
    let Some(first) = places.first() else { return Vec::new() };
    let at = context.form.place(first.source.as_ref(), first.ptx_lines[0]);
    one(Proposal {
        title: format!("Avoid divergence, most of all at {at}"),
        how: "give the lanes of a warp the same way and equal work, for example by sorting or regrouping it",
        change: simulated_or(context, lanes::regroup, "divergence"),
        question: flags("--without", &["divergence".into()]),
        places,
        side_effects: vec!["regrouping work takes instructions of its own, and may scatter memory accesses".into()],
    })
}

/// Loads that move this many times the distinct bytes are worth keeping.
const LEAST_REUSE: f64 = 1.5;

fn reuse(context: &Context<'_>) -> Vec<Proposal> {
    // Sectors that are loaded again because accesses leave a part of them are a matter of coalescing.
    let Some((moved, distinct)) = used(context).filter(|(used, distinct)| *used >= LEAST_REUSE * distinct) else {
        return Vec::new();
    };
    let rule = context.rule;
    let moved_by = |line: &LineCounts| match line.memory.get(&rule) {
        Some(counts) if is_global_load(line) => counts.bytes_moved as f64,
        _ => 0.0,
    };
    one(Proposal {
        title: format!("Load each value once instead of {} times (at best)", short(moved / distinct)),
        how: "keep a tile in shared memory or in registers while it is needed",
        change: simulated_or(context, tile::in_shared_memory, "repeated-loads"),
        question: flags("--without", &["repeated-loads".into()]),
        places: places(&context.profile.lines, moved_by),
        side_effects: vec![
            "a tile takes shared memory or registers, and barriers where warps share it".into(),
            "no tile is as large as the data: less is gained".into(),
        ],
    })
}

fn is_global_load(line: &LineCounts) -> bool {
    line.opcode.key.is_load() && matches!(line.space, Some(StateSpace::Global | StateSpace::Generic))
}

/// Loads of global memory that a warp executes.
fn loads_per_warp(profile: &Profile) -> f64 {
    profile.per_warp(profile.lines.iter().filter(|line| is_global_load(line)).map(|line| line.executed).sum())
}

/// Rounds of a loop that are tried at once.
const ROUNDS: [u32; 3] = [2, 4, 8];

/// The hottest loop, unrolled; `loads` says whether it is about loads.
fn unrolled(context: &Context<'_>, loads: bool) -> Vec<Proposal> {
    let Some(simulated) = context.prediction.teg() else { return Vec::new() };
    let mut as_is = context.as_is.clone();
    let Some(found) = rewrite::recording(&mut as_is).ok().and_then(|traced| unroll::hottest(traced)) else {
        return Vec::new();
    };
    let code = &simulated.code;
    let waits = waits::of(code, &simulated.outcome);
    let range = &code.blocks[found.block as usize];
    let spent = |states: &[Stall], at: usize| match range.contains(&(at as u32)) {
        true => states.iter().map(|state| waits[at].of(*state)).sum::<u64>() as f64,
        false => 0.0,
    };
    let waited = |states: &[Stall]| (0..code.insts.len()).map(|at| spent(states, at)).sum::<f64>();
    let (of_memory, of_results) = ([Stall::LongScoreboard], [Stall::Wait, Stall::ShortScoreboard]);
    // It is about what is waited for most.
    if loads != (found.loads && waited(&of_memory) >= waited(&of_results)) {
        return Vec::new();
    }
    let states: &[Stall] = if loads { &of_memory } else { &of_results };
    let weight = |at: usize| spent(states, at);
    let places = of_code(code, &context.profile.lines, weight);
    let now = context.profile.launch.registers;
    let proposal = |rounds: u32| Proposal {
        title: match loads {
            true => format!("Have the loads of {rounds} rounds of the loop in flight at once"),
            false => format!("Split the chain of the loop into {rounds} that do not wait for each other"),
        },
        how: match loads {
            true => "unroll the loop, and load values before they are needed",
            false => "unroll the loop with accumulators of their own, and put them together in the end",
        },
        change: Change::edit(move |subject| unroll::unroll(subject, found, rounds)),
        question: Vec::new(),
        places: places.clone(),
        side_effects: vec![format!(
            "registers {now} -> about {} per thread; sums are made in another order",
            (now + found.registers * (rounds - 1)).min(255)
        )],
    };
    ROUNDS.into_iter().map(proposal).collect()
}

fn chains(context: &Context<'_>) -> Vec<Proposal> {
    unrolled(context, false)
}

fn loads(context: &Context<'_>) -> Vec<Proposal> {
    if context.is_simulated() {
        return unrolled(context, true);
    }
    let profile = context.profile;
    let Some(now) = profile.independent_loads else { return Vec::new() };
    let most = loads_per_warp(profile);
    let words = words_per_load(profile);
    let more = [2.0, 4.0, 8.0].map(|factor| factor * now);
    let proposals = more.into_iter().filter(|wanted| *wanted <= most).map(|wanted| {
        // Every load in flight needs a place for its value.
        let registers = profile.launch.registers + ((wanted - now) * words).ceil() as u32;
        Proposal {
            title: format!("Have {} independent loads in flight instead of {}", short(wanted), short(now)),
            how: "unroll the loop, and load values before they are needed",
            change: Change::edit(move |subject| {
                let Profile { independent_loads, independent_loads_program_order, launch, .. } = &mut subject.profile;
                for loads in [independent_loads, independent_loads_program_order].into_iter().flatten() {
                    *loads = loads.max(wanted);
                }
                launch.registers = registers;
                launch.registers_basis = RegistersBasis::User;
                Ok(())
            }),
            question: flags("--set", &[format!("independent_loads={wanted}"), format!("registers={registers}")]),
            places: places(&profile.lines, |line| if is_global_load(line) { line.executed as f64 } else { 0.0 }),
            side_effects: vec![format!("registers {} -> about {registers} per thread", profile.launch.registers)],
        }
    });
    proposals.filter(|_| most > now).collect()
}

/// 32-bit registers that the value of a load takes, on the average.
fn words_per_load(profile: &Profile) -> f64 {
    let loads = || profile.lines.iter().filter(|line| is_global_load(line));
    let bytes: u64 = loads().filter_map(|line| line.memory.get(&CoalescingRule::Cc70)).map(|c| c.bytes_requested).sum();
    let threads: u64 = loads().map(|line| line.threads).sum();
    if threads == 0 { 1.0 } else { (bytes as f64 / threads as f64 / 4.0).max(1.0) }
}

/// A kernel can do with this share of what it uses, perhaps.
const LEAST_SHARE_KEPT: f64 = 0.5;

/// The largest values below `now` with which more CTAs fit, one for each number of CTAs.
fn steps(context: &Context<'_>, now: u64, least: u64, set: impl Fn(&mut Profile, u64)) -> Vec<u64> {
    let Some(mut resident) = context.occupancy.map(|occupancy| occupancy.ctas) else { return Vec::new() };
    let least = least.max(1);
    let stride = (now / 512).max(1);
    let mut subject = context.as_is.clone();
    let mut found = Vec::new();
    let mut value = now;
    while value >= least + stride {
        value -= stride;
        set(&mut subject.profile, value);
        let Some(occupancy) = context.occupancy_of(&subject) else { break };
        if occupancy.ctas > resident {
            resident = occupancy.ctas;
            found.push(value);
        }
    }
    found
}

fn limited_by(context: &Context<'_>, limiter: Limiter) -> bool {
    context.occupancy.is_some_and(|occupancy| occupancy.limiters().any(|other| other == limiter))
}

fn registers(context: &Context<'_>) -> Vec<Proposal> {
    let now = context.profile.launch.registers;
    if !limited_by(context, Limiter::Registers) {
        return Vec::new();
    }
    let (least, places) = match context.prediction.teg() {
        Some(simulated) => needs::registers(simulated, &context.profile.lines, now),
        None => ((f64::from(now) * LEAST_SHARE_KEPT).ceil() as u32, Vec::new()),
    };
    let set = |profile: &mut Profile, registers: u64| profile.launch.registers = registers as u32;
    let fewer = steps(context, u64::from(now), least.into(), set);
    let proposal = |registers: u64| Proposal {
        title: format!("Use {registers} registers per thread instead of {now}"),
        how: "for example by __launch_bounds__ or -maxrregcount",
        change: Change::edit(move |subject| {
            subject.profile.launch.registers = registers as u32;
            subject.profile.launch.registers_basis = RegistersBasis::User;
            Ok(())
        }),
        question: flags("--set", &[format!("registers={registers}")]),
        places: places.clone(),
        side_effects: vec![
            "values that find no register are spilled to local memory, which is not in the estimate".into(),
        ],
    };
    fewer.into_iter().map(proposal).collect()
}

fn shared(context: &Context<'_>) -> Vec<Proposal> {
    let now = context.profile.launch.shared_bytes;
    if !limited_by(context, Limiter::SharedMemory) {
        return Vec::new();
    }
    let used = if context.is_simulated() { needs::shared_bytes(&context.as_is) } else { None };
    let least = (now as f64 * LEAST_SHARE_KEPT).ceil() as u64;
    let set = |profile: &mut Profile, bytes: u64| profile.launch.shared_bytes = bytes;
    let fewer = steps(context, now, used.map_or(least, |used| used.min(least)), set);
    let array = context.trial.and_then(|trial| trial.shared_array());
    let array_name = array.as_ref().map_or_else(String::new, |(name, _)| format!(", most of all of `{name}`"));
    let places: Vec<Place> = array.map(|(_, place)| place).into_iter().collect();
    let proposal = |bytes: u64| Proposal {
        title: format!("Use {bytes} B of shared memory per block instead of {now} B{array_name}"),
        how: match used {
            Some(used) if used <= bytes => "blocks touch no more of it than that",
            _ => "smaller tiles or narrower types",
        },
        change: Change::edit(move |subject| {
            subject.profile.launch.shared_bytes = bytes;
            Ok(())
        }),
        question: flags("--set", &[format!("shared_bytes={bytes}")]),
        places: places.clone(),
        side_effects: match used {
            Some(used) if used <= bytes => Vec::new(),
            _ => vec!["a smaller tile is loaded more often".into()],
        },
    };
    fewer.into_iter().map(proposal).collect()
}

fn barriers(context: &Context<'_>) -> Vec<Proposal> {
    let barriers = || context.profile.lines.iter().filter(|line| line.opcode.key.is_cta_barrier());
    // As long as the warps were seen to wait at each; else, where none was followed, as often as they come there.
    let waited = context.prediction.teg().map(|simulated| (simulated, waits::of(&simulated.code, &simulated.outcome)));
    let at = |line: &LineCounts| match &waited {
        Some((simulated, waits)) => waits::at_barriers(&simulated.code, waits, line.ptx_line),
        None => 0,
    };
    let is_known = barriers().any(|line| at(line) > 0);
    let weight = |line: &LineCounts| match line.opcode.key.is_cta_barrier() {
        true if is_known => at(line) as f64,
        true => line.executed as f64,
        false => 0.0,
    };
    let places = places(&context.profile.lines, weight);
    if context.profile.barriers == 0 {
        return Vec::new();
    }
    one(Proposal {
        title: "Wait at fewer barriers (at best)".into(),
        how: "larger steps between barriers, double buffers, or exchange inside of warps",
        change: Change::Edit(without("synchronisation")),
        question: flags("--without", &["synchronisation".into()]),
        places,
        side_effects: vec!["a double buffer takes twice the shared memory".into()],
    })
}

/// The barriers that no data needs, by what is waited for at them.
fn redundant_barriers(context: &Context<'_>) -> Vec<Proposal> {
    let Some(simulated) = context.prediction.teg() else { return Vec::new() };
    let code = &simulated.code;
    // Where warps only arrive, others wait for more than barriers say.
    if code.insts.iter().any(|inst| inst.class == MachineClass::BarrierArrive) {
        return Vec::new();
    }
    let waits = waits::of(code, &simulated.outcome);
    let mut found: Vec<(rewrite::barriers::Barrier, usize, u64)> = Vec::new();
    for block in 0..code.blocks.len() as u32 {
        let range = code.blocks[block as usize].clone();
        let barriers = range.filter(|at| code.insts[*at as usize].class == MachineClass::Barrier);
        found.extend(
            barriers.zip(0..).map(|(at, number)| ((block, number), at as usize, waits[at as usize].of(Stall::Barrier))),
        );
    }
    found.sort_by_key(|(_, _, waited)| std::cmp::Reverse(*waited));
    let mut as_is = context.as_is.clone();
    let Ok(traced) = rewrite::recording(&mut as_is) else { return Vec::new() };
    let Some(phases) = rewrite::barriers::Phases::of(traced, code) else { return Vec::new() };
    // A barrier that also reduces gives something.
    let plain = found.iter().filter(|(_, at, _)| code.insts[*at].writes.count == 0);
    let order: Vec<_> = plain.map(|(barrier, _, _)| *barrier).collect();
    let gone = phases.superfluous(&order);
    if gone.is_empty() {
        return Vec::new();
    }
    let is_gone = |at: usize| found.iter().any(|(barrier, of, _)| *of == at && gone.contains(barrier));
    let places = of_code(code, &context.profile.lines, |at| {
        if is_gone(at) { waits[at].of(Stall::Barrier).max(1) as f64 } else { 0.0 }
    });
    one(Proposal {
        title: "Remove barriers behind which no warp uses what another one stored".into(),
        how: "__syncwarp() where lanes of a warp exchange values, and nothing where none do",
        change: Change::edit(move |subject| rewrite::barriers::without(subject, &gone)),
        question: Vec::new(),
        places,
        side_effects: vec!["it is so in the blocks that were looked at; other data may need the barriers".into()],
    })
}

/// Where instructions of some kind are executed.
fn executed_places(context: &Context<'_>, wanted: impl Fn(InstKey) -> bool) -> Vec<Place> {
    let by_opcode = &context.profile.instructions.by_opcode;
    let texts: Vec<String> = by_opcode
        .iter()
        .filter(|counted| wanted(counted.opcode.key))
        .map(|counted| counted.opcode.to_string())
        .collect();
    let Some(simulated) = context.prediction.teg() else { return Vec::new() };
    let code = &simulated.code;
    let is_wanted = |at: usize| {
        let place = code.places.get(code.insts[at].place as usize);
        place.is_some_and(|place| texts.contains(&place.text))
    };
    of_code(
        code,
        &context.profile.lines,
        |at| {
            if is_wanted(at) { simulated.outcome.executions[at] as f64 } else { 0.0 }
        },
    )
}

/// Operations that have approximate forms, in the order in which they are named.
const APPROXIMATED: [Family; 3] = [Family::Div, Family::Sqrt, Family::Rcp];

fn approximate(context: &Context<'_>) -> Vec<Proposal> {
    let opcodes = &context.profile.instructions.by_opcode;
    let mut found: Vec<_> = opcodes.iter().filter(|counted| counted.opcode.key.approximate().is_some()).collect();
    found.sort_by_key(|counted| APPROXIMATED.iter().position(|&family| family == counted.opcode.key.family));
    if found.is_empty() {
        return Vec::new();
    }
    let listed: Vec<String> = found
        .iter()
        .map(|counted| format!("{} ({} per warp)", counted.opcode, short(context.profile.per_warp(counted.count))))
        .collect();
    let places = executed_places(context, |key| key.approximate().is_some());
    let ptx = context.trial.filter(|_| context.is_simulated()).and_then(|trial| text::approximate(trial.ptx()));
    one(Proposal {
        title: format!("Use approximate operations for {}", listed.join(", ")),
        how: "__fdividef, the compiler's options -prec-div=false and -prec-sqrt=false, or --use_fast_math",
        change: ptx.map_or_else(
            || {
                Change::edit(|subject| {
                    subject.profile.instructions.replace(InstKey::approximate);
                    Ok(())
                })
            },
            Change::Ptx,
        ),
        question: Vec::new(),
        places,
        side_effects: vec!["results lose their last bits".into()],
    })
}

/// Below this share of double-precision instructions the type is not what a kernel is about.
const LEAST_DOUBLE_SHARE: f64 = 0.1;

fn single_precision(context: &Context<'_>) -> Vec<Proposal> {
    let instructions = &context.profile.instructions;
    let share = instructions.of_class(OpClass::Fp64) as f64 / instructions.total.max(1) as f64;
    if share < LEAST_DOUBLE_SHARE {
        return Vec::new();
    }
    let places = executed_places(context, |key| key.ty() == Some(ScalarType::F64));
    let ptx = context.trial.filter(|_| context.is_simulated()).and_then(|trial| text::single(trial.ptx()));
    let counts = || {
        Change::edit(|subject| {
            let profile = &mut subject.profile;
            let doubles = profile.instructions.by_class.remove(&OpClass::Fp64).unwrap_or(0);
            *profile.instructions.by_class.entry(OpClass::Fp32).or_insert(0) += doubles;
            profile.instructions.replace(|key| key.retyped(ScalarType::F64, ScalarType::F32));
            for (operation, count) in std::mem::take(&mut profile.high_latency) {
                let ty = if operation.ty == ScalarType::F64 { ScalarType::F32 } else { operation.ty };
                *profile.high_latency.entry(SlowOperation { ty, ..operation }).or_insert(0) += count;
            }
            Ok(())
        })
    };
    one(Proposal {
        title: format!("Compute in single precision: {:.1} % of the instructions are double", 100.0 * share),
        how: "constants with an f, and float in place of double, if 24 bits are enough",
        change: ptx.map_or_else(counts, Change::Ptx),
        question: Vec::new(),
        places,
        side_effects: vec!["results have 24 bits in place of 53; memory traffic is estimated as it is".into()],
    })
}

/// Bytes of the widest access of a lane.
const WIDEST: f64 = 16.0;
/// Accesses of one instruction by a warp from which on neighbours may be joined.
const LEAST_EXECUTIONS: f64 = 2.0;

/// How many accesses of a line one access of vectors could stand for; 1 where the counts do not support it.
fn joined(line: &LineCounts, rule: CoalescingRule, warps: u64) -> f64 {
    let Some(counts) = line.memory.get(&rule).filter(|counts| counts.requests > 0 && line.threads > 0) else {
        return 1.0;
    };
    let is_plain = line.opcode.key.is_load() || line.opcode.key.is_store();
    let is_global = line.space == Some(StateSpace::Global);
    let per_lane = counts.bytes_requested as f64 / line.threads as f64;
    let executions = line.executed as f64 / warps.max(1) as f64;
    let in_order = counts.ideal_transactions().is_some_and(|ideal| ideal == counts.transactions());
    // Lanes that share bytes have no neighbours of their own to read.
    let distinct = counts.bytes_moved >= counts.bytes_requested;
    if !is_plain || !is_global || !in_order || !distinct || executions < LEAST_EXECUTIONS {
        return 1.0;
    }
    (WIDEST / per_lane).floor().min(executions.floor()).max(1.0)
}

/// Neighbours whose work a thread may do.
const WIDTHS: [u32; 2] = [2, 4];

fn wide_threads(context: &Context<'_>) -> Vec<Proposal> {
    let rule = context.rule;
    let requests = |line: &LineCounts| match line.memory.get(&rule) {
        Some(counts) if line.space == Some(StateSpace::Global) => counts.requests as f64,
        _ => 0.0,
    };
    let places = places(&context.profile.lines, requests);
    let proposal = |times: u32| Proposal {
        title: format!("Load and store vectors of {times} elements, and launch {times} times fewer blocks"),
        how: "let each thread handle neighbouring elements, as float4 and uchar4 do",
        change: Change::edit(move |subject| vectors::widen(subject, times)),
        question: Vec::new(),
        places: places.clone(),
        side_effects: vec!["the addresses of vectors are aligned to their size".into()],
    };
    WIDTHS.into_iter().map(proposal).collect()
}

fn vectors(context: &Context<'_>) -> Vec<Proposal> {
    if context.is_simulated() {
        return wide_threads(context);
    }
    let (rule, warps) = (context.rule, context.profile.warps);
    let saved = move |line: &LineCounts| {
        let requests = line.memory.get(&rule).map_or(0, |counts| counts.requests);
        requests as f64 * (1.0 - 1.0 / joined(line, rule, warps))
    };
    let places = places(&context.profile.lines, saved);
    if places.is_empty() {
        return Vec::new();
    }
    one(Proposal {
        title: "Load and store vectors".into(),
        how: "access neighbouring elements together, as float4 does: 16 bytes per lane",
        change: Change::edit(move |subject| {
            scale_line_requests(&mut subject.profile, |line| 1.0 / joined(line, rule, warps));
            Ok(())
        }),
        question: Vec::new(),
        places,
        side_effects: vec!["a thread handles neighbouring elements, whose addresses are aligned to 16 bytes".into()],
    })
}
