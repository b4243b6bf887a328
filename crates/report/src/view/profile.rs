//! The counts of a launch, in the order and under the names of Nsight Compute's sections where it has them.
//!
//! ```text
//! vector_add  4096 x 256 threads
//!   warps                 32 768
//!   registers per thread  12  (ptxas)
//!
//! Instruction Statistics
//!   warp instructions  720 896  (inst_executed; 22 per warp)
//! ```

use std::collections::BTreeMap;

use warplens_session::profile::statistics::{Atomics, Textures};
use warplens_session::profile::{
    BankRule, CoalescingRule, Count, Counted, LineCounts, MemoryCounts, Profile, Spelling, Statistics,
};
use warplens_session::statics::{Bound, BoundKind, Statics};
use warplens_session::{CodeForm, Measurement, Race, Support};

use crate::section::{Block, Cell, Column, Field, Section, Table, Unit};

/// Opcodes listed by default.
const MOST_OPCODES: usize = 8;

/// A launch in a dozen words; one of an archive with the number by which it can be asked for alone.
pub(crate) fn title(measurement: &Measurement) -> String {
    let launch = &measurement.profile.launch;
    let (grid, block) = (extents(launch.grid), extents(launch.block));
    let number = measurement.archived.map_or_else(String::new, |number| format!(", launch #{number}"));
    format!("{}  grid {grid}, block {block}{number}", measurement.kernel.demangled)
}

/// `16x16`: extents without trailing ones.
pub(crate) fn extents(extents: [u32; 3]) -> String {
    let last = extents.iter().rposition(|&extent| extent != 1).unwrap_or(0);
    extents[..=last].iter().map(u32::to_string).collect::<Vec<_>>().join("x")
}

/// The counts on about one screen.
pub fn summary(measurement: &Measurement) -> Vec<Section> {
    let profile = &measurement.profile;
    let mut sections = Vec::new();
    sections.extend(unsupported(&measurement.support));
    sections.push(launch(measurement));
    sections.push(instructions(profile));
    let has_memory = |counts: &MemoryCounts| counts.requests > 0;
    if profile.global.values().any(has_memory) {
        sections.push(global(profile));
    }
    if profile.local.values().any(has_memory) {
        let section = Section::new("local", "Local memory (requests of registers that spilled, and of arrays)");
        sections.push(section.with(Block::Table(memory_table(profile, &profile.local, &LOCAL))));
    }
    if profile.shared.values().any(|counts| counts.requests > 0) {
        sections.push(shared(profile));
    }
    sections.extend(statistics(profile, measurement.form()));
    sections.extend(absent(profile));
    sections
}

/// What statistics counted.
fn statistics(profile: &Profile, form: CodeForm) -> Vec<Section> {
    // The first two are for models only.
    let Statistics { reuse: _, periods: _, atomics: counts, textures: fetches } = &profile.statistics;
    let atomics = counts.iter().filter(|counts| !counts.lines.is_empty()).map(|counts| atomics(counts, form));
    atomics.chain(fetches.iter().filter(|counts| !counts.is_empty()).map(textures)).collect()
}

/// Fetches from textures and accesses to surfaces, with the sectors that each needs.
fn textures(counts: &Textures) -> Section {
    let Textures {
        fetches,
        fetched_sectors,
        fetched_lines,
        surface_loads,
        surface_stores,
        surface_atomics,
        surface_sectors,
        surface_lines,
    } = *counts;
    let fields = [
        ("texture requests", fetches),
        ("  sectors", fetched_sectors),
        ("  lines", fetched_lines),
        ("surface loads", surface_loads),
        ("surface stores", surface_stores),
        ("surface reductions", surface_atomics),
        ("  sectors of surfaces", surface_sectors),
        ("  lines of surfaces", surface_lines),
    ];
    let fields = fields.map(|(name, count)| Field::new(name, Cell::Count(count)));
    Section::new("textures", "Textures and surfaces").with(Block::Fields(fields.to_vec()))
}

/// Each atomic instruction: how many of a warp's operations meet on one word, and how many words all of them share.
fn atomics(atomics: &Atomics, form: CodeForm) -> Section {
    let mut table = Table::new(&[
        (form.line(), "ptx_line"),
        ("source", "source"),
        ("instruction", "opcode"),
        ("space", "space"),
        ("accesses", "accesses"),
        ("operations", "operations"),
        ("passes/access", "passes_per_access"),
        ("words/access", "distinct_words_per_access"),
        ("words", "words"),
        ("on one word", "share_on_one_word"),
    ]);
    for line in &atomics.lines {
        let accesses = line.accesses.max(1) as f64;
        let share = line.concentration.filter(|concentration| concentration.operations > 0);
        let share = share.map(|concentration| concentration.most_on_one_word as f64 / concentration.operations as f64);
        table.push(vec![
            Cell::Count(line.ptx_line.into()),
            line.source.as_ref().map_or(Cell::Missing, |(file, line)| Cell::text(format!("{file}:{line}"))),
            Cell::text(line.opcode.to_string()),
            Cell::text(line.space.name()),
            Cell::Count(line.accesses),
            Cell::Count(line.operations),
            Cell::Number(line.passes as f64 / accesses, Unit::One),
            Cell::Number(line.distinct_words as f64 / accesses, Unit::One),
            line.concentration.map_or(Cell::Missing, |concentration| Cell::Count(concentration.words)),
            Cell::optional(share, Unit::Share),
        ]);
    }
    let section = Section::new("atomics", "Atomic operations").with(Block::Table(table));
    match &atomics.concentration {
        Some(concentration) if concentration.one_word_in > 1 => section.note(format!(
            "Words of global memory: one in {} was looked at; their number is an estimate.",
            concentration.one_word_in
        )),
        _ => section,
    }
}

/// What the profile does not hold.
fn absent(profile: &Profile) -> Option<Section> {
    if profile.absent.is_empty() {
        return None;
    }
    let names: Vec<&str> = profile.absent.iter().map(|count| count.name()).collect();
    let section = Section::new("absent", "Not counted");
    Some(section.note(names.join(", ")))
}

/// A count that the profile may lack.
fn known(profile: &Profile, count: Count, value: u64) -> Cell {
    if profile.has(count) { Cell::Count(value) } else { Cell::Missing }
}

/// A number that follows from counts that the profile may lack.
fn derived(profile: &Profile, from: &[Count], value: f64, unit: Unit) -> Cell {
    Cell::optional(from.iter().all(|&count| profile.has(count)).then_some(value), unit)
}

/// What the user let pass comes first.
pub(crate) fn unsupported(support: &Support) -> Option<Section> {
    let mut fields = Vec::new();
    if !support.unsupported.is_empty() {
        fields.push(Field::new(
            "supported share of the kernel's instructions",
            Cell::Number(support.share(), Unit::Share),
        ));
        fields.push(Field::new("not supported, and not reached", Cell::text(opcodes(&support.unsupported))));
    }
    if support.overreads > 0 {
        fields.push(Field::new("loads beyond the end of a buffer, which read 0", Cell::Count(support.overreads)));
    }
    (!fields.is_empty()).then(|| Section::new("support", "Coverage").with(Block::Fields(fields)))
}

fn opcodes(unsupported: &[(Spelling, String)]) -> String {
    let mut opcodes: Vec<&Spelling> = unsupported.iter().map(|(opcode, _)| opcode).collect();
    opcodes.sort_by_key(|opcode| opcode.key);
    opcodes.dedup();
    opcodes.into_iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn launch(measurement: &Measurement) -> Section {
    let profile = &measurement.profile;
    let shape = &profile.launch;
    let coverage = &profile.coverage;
    let mut fields = vec![
        Field::new("warps", Cell::Count(profile.warps)),
        Field::new("registers per thread", known(profile, Count::Registers, shape.registers.into()))
            .remark(shape.registers_basis.name()),
        Field::new(
            "shared memory per block",
            derived(profile, &[Count::SharedBytes], shape.shared_bytes as f64, Unit::Bytes),
        ),
    ];
    if let Some(measured) = &measurement.measured {
        let of = measured.device.as_ref().map_or_else(String::new, |device| format!(" on {device}"));
        fields.push(
            Field::new("measured time", Cell::Number(measured.time_us, Unit::Microseconds))
                .remark(format!("{}{of}", measured.profiler)),
        );
    }
    if let Some(statics) = &measurement.statics {
        let walked = Cell::Count(statics.walked_ctas);
        fields.push(Field::new("blocks walked", walked).remark(match statics.executed_ctas {
            0 => "counts are static: the kernel was not run".to_owned(),
            executed => format!("all blocks do the same; {executed} were executed"),
        }));
    }
    if coverage.ctas_executed < coverage.ctas_total {
        let share = coverage.ctas_executed as f64 / coverage.ctas_total as f64;
        let name = if measurement.statics.is_some() { "blocks counted" } else { "blocks executed" };
        fields.push(Field::new(name, Cell::Count(coverage.ctas_executed)).remark(format!(
            "of {}, {:.2} %; counts are scaled; {}",
            coverage.ctas_total,
            100.0 * share,
            coverage.difference().replace("per CTA", "per block")
        )));
    }
    let mut section = Section::new("launch", title(measurement)).with(Block::Fields(fields));
    if let Some(statics) = &measurement.statics {
        section = static_notes(statics, measurement.form()).into_iter().fold(section, Section::note);
    } else if measurement.communicates {
        section = section.note("Blocks or threads wait for each other: all blocks were executed.");
    }
    if let Some(race) = &measurement.race {
        section = section.note(race_note(race, measurement.form()));
    }
    if profile.order_dependent {
        section = section.note("Some counts depend on the order in which warps ran.");
    }
    section
}

/// Says that a result is one of several possible ones.
pub(super) fn race_note(race: &Race, form: CodeForm) -> String {
    format!("Blocks race, so that results depend on their order: {}. They were executed taking turns.", race.said(form))
}

/// Places that one note lists.
const MOST_PLACES: usize = 6;

/// What static counts stand on, one note for each kind.
pub(crate) fn static_notes(statics: &Statics, form: CodeForm) -> Vec<String> {
    let of_kind = |kind: BoundKind| {
        let places: Vec<String> =
            statics.bounds.iter().filter(|bound| bound.kind == kind).map(|bound| place(bound, form)).collect();
        let more = places.len().saturating_sub(MOST_PLACES);
        let listed = places.into_iter().take(MOST_PLACES).collect::<Vec<_>>().join(", ");
        if more > 0 { format!("{listed} and {more} more") } else { listed }
    };
    let mut notes = Vec::new();
    let (branches, addresses) = (of_kind(BoundKind::Branch), of_kind(BoundKind::Address));
    if !branches.is_empty() {
        notes.push(format!("Upper bound, both sides counted: {branches}."));
    }
    if !addresses.is_empty() {
        notes.push(format!("Upper bound, addresses taken to be scattered: {addresses}."));
    }
    if !statics.used.is_empty() {
        let used: Vec<String> = statics.used.iter().map(|(line, number)| format!("line {line} = {number}")).collect();
        notes.push(format!("Given: {}.", used.join(", ")));
    }
    if !statics.unused.is_empty() {
        let unused: Vec<String> = statics.unused.iter().map(|line| format!("line {line}")).collect();
        notes.push(format!("Given, and of no effect because nothing there depends on data: {}.", unused.join(", ")));
    }
    notes
}

/// An instruction with its lines.
fn place(bound: &Bound, form: CodeForm) -> String {
    let source = bound.source.as_ref().map(|(file, line)| format!(" ({file}:{line})")).unwrap_or_default();
    format!("{} on {} {}{source}", bound.opcode, form.line(), bound.ptx_line)
}

fn instructions(profile: &Profile) -> Section {
    let counts = &profile.instructions;
    let threads = [Count::Instructions, Count::ThreadInstructions];
    let inst_executed = match profile.counted {
        Counted::Ptx | Counted::Reduced => "inst_executed",
        Counted::Machine => "inst_executed, of machine code",
    };
    let mut fields = vec![
        Field::new("warp instructions", known(profile, Count::Instructions, counts.total)).remark(inst_executed),
        Field::new("  per warp", derived(profile, &threads[..1], profile.per_warp(counts.total), Unit::One)),
        Field::new("thread instructions", known(profile, Count::ThreadInstructions, profile.thread_instructions))
            .remark("thread_inst_executed"),
        Field::new("mean active threads per warp", derived(profile, &threads, profile.mean_active_lanes(), Unit::One)),
        Field::new("branches", known(profile, Count::Branches, profile.branches)),
        Field::new("  divergent", known(profile, Count::DivergentBranches, profile.divergent_branches)),
        Field::new("barriers", known(profile, Count::Barriers, profile.barriers)),
    ];
    if let Some(independent) = profile.independent_loads {
        fields.push(Field::new("independent loads", Cell::Number(independent, Unit::One)).remark("in flight per warp"));
    }
    let mut by_class = Table::new(&[("class", "class"), ("warp instructions", "count"), ("share", "share")]);
    let mut classes: Vec<_> = counts.by_class.iter().filter(|&(_, &count)| count > 0).collect();
    classes.sort_by_key(|&(class, &count)| (std::cmp::Reverse(count), class));
    for (class, &count) in classes {
        let share = count as f64 / counts.total.max(1) as f64;
        by_class.push(vec![Cell::text(class.name()), Cell::Count(count), Cell::Number(share, Unit::Share)]);
    }
    let mut section = Section::new("instructions", "Instruction Statistics").with(Block::Fields(fields));
    if profile.has(Count::Classes) {
        section = section.with(Block::Table(by_class));
    }
    if !profile.high_latency.is_empty() {
        let slow: Vec<String> = profile
            .high_latency
            .iter()
            .take(MOST_OPCODES)
            .map(|(kind, &count)| format!("{kind} {}", crate::render::show(&Cell::Count(count))))
            .collect();
        section = section.note(format!("high latency: {}", slow.join(", ")));
    }
    section
}

fn global(profile: &Profile) -> Section {
    let mut fields = Vec::new();
    let sectors = |name: &str, count: u64, remark: &str| {
        Field::new(name, Cell::Number(32.0 * count as f64, Unit::Bytes)).remark(remark)
    };
    if profile.has(Count::DistinctSectors) {
        fields.push(sectors("read", profile.distinct_sectors_read, "distinct 32-byte sectors"));
        fields.push(sectors("written", profile.distinct_sectors_written, "distinct 32-byte sectors"));
    }
    if let Some([read, written]) = profile.dram_sectors {
        fields.push(sectors("read from DRAM", read, "measured"));
        fields.push(sectors("written to DRAM", written, "measured"));
    }
    Section::new("global", "Memory Workload Analysis: global")
        .with(Block::Fields(fields))
        .with(Block::Table(memory_table(profile, &profile.global, &GLOBAL)))
}

/// Names of the counts of a memory space.
struct Space {
    requests: Count,
    transactions: Count,
    coalesced: Count,
    bytes: Count,
}

const GLOBAL: Space = Space {
    requests: Count::GlobalRequests,
    transactions: Count::GlobalTransactions,
    coalesced: Count::GlobalCoalesced,
    bytes: Count::GlobalBytes,
};

const LOCAL: Space = Space {
    requests: Count::LocalRequests,
    transactions: Count::LocalTransactions,
    coalesced: Count::LocalCoalesced,
    bytes: Count::LocalBytes,
};

fn memory_table(profile: &Profile, by_rule: &BTreeMap<CoalescingRule, MemoryCounts>, space: &Space) -> Table {
    let mut table = Table::new(&[
        ("rule of cc", "rule"),
        ("requests", "requests"),
        ("transactions", "transactions"),
        ("per request", "transactions_per_request"),
        ("coalesced", "coalesced_share"),
        ("requested", "bytes_requested"),
        ("moved", "bytes_moved"),
    ]);
    let of = |from: &[Count], value: f64, unit: Unit| derived(profile, from, value, unit);
    for (rule, counts) in by_rule {
        let requests = counts.requests.max(1) as f64;
        table.push(vec![
            Cell::text(rule.name()),
            known(profile, space.requests, counts.requests),
            known(profile, space.transactions, counts.transactions()),
            of(&[space.requests, space.transactions], counts.transactions() as f64 / requests, Unit::One),
            of(&[space.requests, space.coalesced], counts.coalesced as f64 / requests, Unit::Share),
            of(&[space.bytes], counts.bytes_requested as f64, Unit::Bytes),
            of(&[space.transactions], counts.bytes_moved as f64, Unit::Bytes),
        ]);
    }
    table
}

fn shared(profile: &Profile) -> Section {
    let mut table = Table::new(&[
        ("rule of cc", "rule"),
        ("requests", "requests"),
        ("with conflict", "conflicted_share"),
        ("passes", "passes"),
        ("per request", "passes_per_request"),
        ("wavefronts", "wavefronts"),
        ("ideal", "ideal_wavefronts"),
    ]);
    let of = |from: &[Count], value: f64, unit: Unit| derived(profile, from, value, unit);
    for (rule, counts) in &profile.shared {
        let requests = counts.requests.max(1) as f64;
        table.push(vec![
            Cell::text(rule.name()),
            known(profile, Count::SharedRequests, counts.requests),
            of(&[Count::SharedRequests, Count::SharedConflicted], counts.conflicted as f64 / requests, Unit::Share),
            known(profile, Count::SharedPasses, counts.passes),
            of(&[Count::SharedRequests, Count::SharedPasses], counts.passes as f64 / requests, Unit::One),
            known(profile, Count::SharedWavefronts, counts.wavefronts),
            known(profile, Count::SharedWavefronts, counts.ideal_wavefronts),
        ]);
    }
    Section::new("shared", "Memory Workload Analysis: shared").with(Block::Table(table))
}

/// Each memory instruction, branch and barrier, under the rules of cc 7.0 and later.
pub fn lines(measurement: &Measurement) -> Section {
    let mut table = Table::new(&[
        (measurement.form().line(), "ptx_line"),
        ("source", "source"),
        ("instruction", "opcode"),
        ("executed", "executed"),
        ("threads", "threads_per_execution"),
        ("divergent", "divergent"),
        ("sectors/request", "sectors_per_request"),
        ("passes/request", "passes_per_request"),
    ]);
    for line in &measurement.profile.lines {
        let executed = line.executed.max(1) as f64;
        table.push(vec![
            Cell::Count(line.ptx_line.into()),
            source(line),
            Cell::text(line.opcode.to_string()),
            Cell::Count(line.executed),
            Cell::Number(line.threads as f64 / executed, Unit::One),
            Cell::Count(line.divergent),
            Cell::optional(sectors_per_request(line), Unit::One),
            Cell::optional(passes_per_request(line), Unit::One),
        ]);
    }
    Section::new("lines", "Source Counters").with(Block::Table(table))
}

fn source(line: &LineCounts) -> Cell {
    line.source.as_ref().map_or(Cell::Missing, |(file, line)| Cell::text(format!("{file}:{line}")))
}

fn sectors_per_request(line: &LineCounts) -> Option<f64> {
    let counts = line.memory.get(&CoalescingRule::Cc70).filter(|counts| counts.requests > 0)?;
    Some(counts.transactions() as f64 / counts.requests as f64)
}

fn passes_per_request(line: &LineCounts) -> Option<f64> {
    let counts = line.shared.get(&BankRule::Cc20).filter(|counts| counts.requests > 0)?;
    Some(counts.passes as f64 / counts.requests as f64)
}

/// Each line with every rule's counts: for programs.
pub fn lines_in_full(measurement: &Measurement) -> Section {
    let mut table = Table::new(&[
        (measurement.form().line(), "ptx_line"),
        ("source", "source"),
        ("instruction", "opcode"),
        ("executed", "executed"),
        ("threads", "threads"),
        ("divergent", "divergent"),
    ]);
    for rule in CoalescingRule::ALL {
        table.columns.push(Column::new(rule.name(), &format!("transactions_{}", rule.name())));
    }
    for rule in BankRule::ALL {
        table.columns.push(Column::new(rule.name(), &format!("passes_{}", rule.name())));
    }
    for line in &measurement.profile.lines {
        let mut row = vec![
            Cell::Count(line.ptx_line.into()),
            source(line),
            Cell::text(line.opcode.to_string()),
            Cell::Count(line.executed),
            Cell::Count(line.threads),
            Cell::Count(line.divergent),
        ];
        let memory = |rule| line.memory.get(&rule).map(MemoryCounts::transactions);
        row.extend(CoalescingRule::ALL.map(|rule| memory(rule).map_or(Cell::Missing, Cell::Count)));
        let shared = |rule| line.shared.get(&rule).map(|counts| counts.passes);
        row.extend(BankRule::ALL.map(|rule| shared(rule).map_or(Cell::Missing, Cell::Count)));
        table.push(row);
    }
    Section::new("lines", "").with(Block::Table(table))
}
