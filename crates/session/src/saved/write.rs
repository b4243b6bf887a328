//! The document of measurements.

use std::collections::BTreeMap;

use warplens_document::profile::{self as document, Counts, Document, Extents, Line};
use warplens_document::{Amount, Factor, Held, Launches, Named, Number};
use warplens_stats::{CoalescingRule, Count, LineCounts, MemoryCounts, Profile, RegistersBasis};

use super::groups::{self, GLOBAL, LOCAL, MemoryGroups};
use super::words::Word;
use super::{opcode, statistics};
use crate::measurement::{Elsewhere, Measurement};

/// The document of the `profile` verb.
pub fn document(measurements: &[Measurement]) -> Document {
    Launches(measurements.iter().map(profile).collect())
}

fn profile(measurement: &Measurement) -> document::Profile {
    document::Profile {
        kernel: measurement.kernel.mangled.clone(),
        kernel_demangled: measurement.kernel.demangled.clone().into(),
        launch: launch(&measurement.profile),
        counts: counts(&measurement.profile),
        origin: super::origin(measurement),
        recording: super::recording::written(&measurement.traces, &measurement.profile),
        elsewhere: measurement.elsewhere.iter().map(|other| elsewhere(other, &measurement.profile)).collect(),
    }
}

fn elsewhere(elsewhere: &Elsewhere, main: &Profile) -> document::Elsewhere {
    let of = elsewhere.result.as_ref();
    let other = of.ok().filter(|of| of.profile.launch != main.launch);
    document::Elsewhere {
        generation: Held(elsewhere.generation.map(Word::written)),
        target: Held(elsewhere.target.map(|target| target.target())),
        launch: Held(other.map(|of| launch(&of.profile))),
        fails: of.err().cloned(),
        code: Held(of.ok().and_then(|of| of.code.as_ref()).map(super::origin::code)),
        counts: Held(of.ok().map(|of| counts(&of.profile))),
        recording: of.map_or(Held(None), |of| super::recording::written(&of.traces, &of.profile)),
    }
}

/// The launch as counted.
pub fn launch(profile: &Profile) -> document::Launch {
    let launch = &profile.launch;
    document::Launch {
        grid: Extents(launch.grid),
        block: Extents(launch.block),
        cluster: Held(launch.cluster.map(Extents)),
        shared_bytes: held(profile, Count::SharedBytes, launch.shared_bytes),
        registers: held(profile, Count::Registers, launch.registers),
        registers_basis: held(profile, Count::Registers, launch.registers_basis.written()),
    }
}

/// Which instructions a profile counts.
pub fn counted(profile: &Profile) -> document::Counted {
    profile.counted.written()
}

/// Where a number of registers comes from.
pub fn registers_basis(basis: RegistersBasis) -> document::RegistersBasis {
    basis.written()
}

/// A value, or nothing where the profile lacks the count.
fn held<T>(profile: &Profile, count: Count, value: T) -> Held<T> {
    Held(profile.has(count).then_some(value))
}

/// Every count that the profile holds; the key of one that it lacks is left out.
pub fn counts(profile: &Profile) -> Counts {
    let held_count = |count: Count, value: u64| held(profile, count, value);
    let has_lanes = profile.has(Count::Instructions) && profile.has(Count::ThreadInstructions);
    let duplicates = profile.duplicate_loads.iter().map(|(rule, &ratio)| (rule.written(), Factor(ratio)));
    let [dram_read, dram_written] = match profile.dram_sectors {
        Some([read, written]) => [read.into(), written.into()],
        None => [Held(None); 2],
    };
    Counts {
        counted: profile.counted.written().into(),
        absent: profile.absent.iter().map(|absent| absent.name().to_owned()).collect(),
        coverage: coverage(profile).into(),
        warps: profile.warps.into(),
        instructions: instructions(profile),
        thread_instructions: held_count(Count::ThreadInstructions, profile.thread_instructions),
        thread_instructions_pred_on: held_count(Count::PredicatedOn, profile.thread_instructions_pred_on),
        mean_active_lanes: Held(has_lanes.then(|| Number(profile.mean_active_lanes()))),
        branches: held_count(Count::Branches, profile.branches),
        divergent_branches: held_count(Count::DivergentBranches, profile.divergent_branches),
        barriers: held_count(Count::Barriers, profile.barriers),
        high_latency: held(profile, Count::HighLatency, opcode::slow_written(&profile.high_latency)),
        global: memory(profile, &profile.global, &GLOBAL),
        local: memory(profile, &profile.local, &LOCAL),
        shared: shared(profile),
        constant: held(
            profile,
            Count::Constant,
            document::Constant { requests: profile.constant.requests, passes: profile.constant.passes },
        ),
        distinct_sectors_read: held_count(Count::DistinctSectors, profile.distinct_sectors_read),
        distinct_sectors_written: held_count(Count::DistinctSectors, profile.distinct_sectors_written),
        dram_sectors_read: dram_read,
        dram_sectors_written: dram_written,
        vector_loads: held_count(Count::VectorLoads, profile.vector_loads),
        independent_loads: held(profile, Count::IndependentLoads, profile.independent_loads.map(Factor)),
        independent_loads_program_order: held(
            profile,
            Count::IndependentLoadsProgramOrder,
            profile.independent_loads_program_order.map(Factor),
        ),
        overlap_instructions: held_count(Count::OverlapInstructions, profile.overlap_instructions),
        duplicate_loads: held(profile, Count::DuplicateLoads, duplicates.collect()),
        duplicate_share: held(profile, Count::DuplicateLoads, Amount(profile.duplicate_share)),
        instruction_parallelism: profile.instruction_parallelism.map(Factor),
        instruction_parallelism_program_order: profile.instruction_parallelism_program_order.map(Factor),
        statistics: statistics::written(&profile.statistics),
        order_dependent: profile.order_dependent,
        lines: held(profile, Count::Lines, profile.lines.iter().map(line).collect()),
    }
}

fn coverage(profile: &Profile) -> document::Coverage {
    let coverage = &profile.coverage;
    document::Coverage {
        ctas_executed: coverage.ctas_executed,
        ctas_total: coverage.ctas_total,
        spread: Number(coverage.spread),
    }
}

fn instructions(profile: &Profile) -> Held<document::Instructions> {
    let instructions = &profile.instructions;
    let by_class = instructions.by_class.iter().map(|(class, &count)| (class.written(), count));
    let written = document::Instructions {
        total: held(profile, Count::Instructions, instructions.total),
        by_class: held(profile, Count::Classes, by_class.collect()),
        by_opcode: held(profile, Count::Opcodes, opcode::written(&instructions.by_opcode)),
        virtual_share: held(profile, Count::Classes, Number(instructions.virtual_share())),
    };
    let is_known = written != document::Instructions::default();
    Held(is_known.then_some(written))
}

fn memory(
    profile: &Profile,
    by_rule: &BTreeMap<CoalescingRule, MemoryCounts>,
    of: &MemoryGroups,
) -> Held<Named<document::CoalescingRule, document::Memory>> {
    let has = |count: Count| profile.has(count);
    let rules = by_rule.iter().map(|(rule, counts)| (rule.written(), groups::memory(counts, of, has)));
    Held((!by_rule.is_empty()).then(|| rules.collect()))
}

fn shared(profile: &Profile) -> Held<Named<document::BankRule, document::Shared>> {
    let has = |count: Count| profile.has(count);
    let rules = profile.shared.iter().map(|(rule, counts)| (rule.written(), groups::shared(counts, has)));
    Held((!profile.shared.is_empty()).then(|| rules.collect()))
}

fn line(line: &LineCounts) -> Line {
    let all = |_| true;
    let memory = line.memory.iter().map(|(rule, counts)| (rule.written(), groups::memory(counts, &GLOBAL, all)));
    let shared = line.shared.iter().map(|(rule, counts)| (rule.written(), groups::shared(counts, all)));
    Line {
        pc: line.pc.0,
        ptx_line: line.ptx_line,
        file: line.source.as_ref().map(|(file, _)| file.clone()),
        line: line.source.as_ref().map(|&(_, line)| line),
        opcode: opcode::text(&line.opcode),
        space: line.space.map(Word::written),
        executed: line.executed,
        threads: line.threads,
        divergent: line.divergent,
        memory: memory.collect(),
        shared: shared.collect(),
    }
}
