//! `warplens.profile/1`.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};
use warplens_session::profile::{
    BankRule, CoalescingRule, CostKind, Count, LineCounts, MemoryCounts, Period, PeriodStream, Periods, Profile, Reuse,
    ReuseHistogram, SharedCounts, StreamPart,
};
use warplens_session::statics::{Bound, Line, Statics};
use warplens_session::{Emulation, Measured, Measurement, Race, Support};

use super::json::{number, optional};

/// The document of the `profile` verb: one launch, or a sequence under `launches`.
pub fn document(measurements: &[Measurement]) -> Json {
    let mut bodies: Vec<Map<String, Json>> = measurements.iter().map(launch).collect();
    let mut document = Map::new();
    document.insert("schema".into(), "warplens.profile/1".into());
    match bodies.len() {
        1 => document.extend(bodies.remove(0)),
        _ => {
            document.insert("launches".into(), bodies.into_iter().map(Json::Object).collect());
        }
    }
    Json::Object(document)
}

fn launch(measurement: &Measurement) -> Map<String, Json> {
    let mut body = Map::new();
    body.insert("kernel".into(), measurement.kernel.mangled.as_str().into());
    body.insert("kernel_demangled".into(), measurement.kernel.demangled.as_str().into());
    body.extend(counts(&measurement.profile));
    body.extend(origin(measurement));
    body
}

/// What is known about a measurement besides its counts.
pub(crate) fn origin(measurement: &Measurement) -> Map<String, Json> {
    let mut body = Map::new();
    body.insert("communicates".into(), measurement.communicates.into());
    body.insert("race".into(), measurement.race.as_ref().map_or(Json::Null, race));
    body.insert("measured".into(), measurement.measured.as_ref().map_or(Json::Null, measured));
    body.insert("support".into(), support(&measurement.support));
    body.insert("emulation".into(), measurement.emulation.as_ref().map_or(Json::Null, emulation));
    body.insert("static".into(), measurement.statics.as_ref().map_or(Json::Null, statics));
    body
}

/// What counts without a run stand on.
fn statics(statics: &Statics) -> Json {
    let bound = |bound: &Bound| {
        json!({
            "kind": bound.kind.name(),
            "pc": bound.pc.0,
            "ptx_line": bound.ptx_line,
            "file": bound.source.as_ref().map(|(file, _)| file),
            "line": bound.source.as_ref().map(|(_, line)| line),
            "opcode": bound.opcode,
        })
    };
    let given = |(line, value): &(Line, f64)| json!({ "line": line.to_string(), "value": number(*value) });
    json!({
        "basis": "static",
        "bounds": statics.bounds.iter().map(bound).collect::<Vec<_>>(),
        "given": statics.used.iter().map(given).collect::<Vec<_>>(),
        "unused": statics.unused.iter().map(Line::to_string).collect::<Vec<_>>(),
        "ctas_walked": statics.walked_ctas,
        "warp_instructions_walked": statics.walked_instructions,
    })
}

/// Blocks that touch what others write.
pub(crate) fn race(race: &Race) -> Json {
    json!({
        "buffer": race.buffer,
        "byte": race.byte,
        "block": race.block,
        "other_block": race.other_block,
        "ptx_line": race.ptx_line,
        "file": race.source.as_ref().map(|(file, _)| file),
        "line": race.source.as_ref().map(|(_, line)| line),
    })
}

fn measured(measured: &Measured) -> Json {
    json!({
        "time_us": number(measured.time.microseconds()),
        "device": measured.device,
        "target": measured.target,
        "profiler": measured.profiler,
    })
}

/// Supported and unsupported instructions of the kernel.
pub(crate) fn support(support: &Support) -> Json {
    let unsupported = |(opcode, reason): &(String, String)| json!({ "opcode": opcode, "reason": reason });
    json!({
        "instructions": support.instructions,
        "share": number(support.share()),
        "unsupported": support.unsupported.iter().map(unsupported).collect::<Vec<_>>(),
    })
}

/// Cost of the execution.
pub(crate) fn emulation(emulation: &Emulation) -> Json {
    json!({
        "thread_instructions": emulation.thread_instructions,
        "warp_instructions": emulation.warp_instructions,
        "seconds": number(emulation.seconds),
    })
}

/// The launch as counted.
pub(crate) fn launch_shape(profile: &Profile) -> Json {
    let launch = &profile.launch;
    let mut body = Map::new();
    body.insert("grid".into(), launch.grid.into_iter().collect());
    body.insert("block".into(), launch.block.into_iter().collect());
    if profile.has(Count::SharedBytes) {
        body.insert("shared_bytes".into(), launch.shared_bytes.into());
    }
    if profile.has(Count::Registers) {
        body.insert("registers".into(), launch.registers.into());
        body.insert("registers_basis".into(), launch.registers_basis.name().into());
    }
    Json::Object(body)
}

/// Every count that the profile holds; the key of one that it lacks is left out.
pub(crate) fn counts(profile: &Profile) -> Map<String, Json> {
    let coverage = &profile.coverage;
    let names = |absent: Count| Json::from(absent.name());
    let mut body = Map::new();
    body.insert("launch".into(), launch_shape(profile));
    body.insert("counted".into(), profile.counted.name().into());
    body.insert("absent".into(), profile.absent.iter().copied().map(names).collect());
    let coverage = json!({
        "ctas_executed": coverage.ctas_executed,
        "ctas_total": coverage.ctas_total,
        "spread": number(coverage.spread),
    });
    body.insert("coverage".into(), coverage);
    body.insert("warps".into(), profile.warps.into());
    body.extend(code(profile));
    body.extend(memory_spaces(profile));
    body.extend(loads(profile));
    body.insert("instruction_parallelism".into(), optional(profile.instruction_parallelism));
    let program_order = optional(profile.instruction_parallelism_program_order);
    body.insert("instruction_parallelism_program_order".into(), program_order);
    body.insert("reuse".into(), profile.reuse.as_ref().map_or(Json::Null, reuse));
    body.insert("periods".into(), profile.periods.as_ref().map_or(Json::Null, periods));
    body.insert("order_dependent".into(), profile.order_dependent.into());
    if profile.has(Count::Lines) {
        body.insert("lines".into(), profile.lines.iter().map(line).collect());
    }
    body
}

/// Collects keys and values, those of absent counts left out.
struct Keys<'p> {
    profile: &'p Profile,
    body: Map<String, Json>,
}

impl<'p> Keys<'p> {
    fn new(profile: &'p Profile) -> Self {
        Self { profile, body: Map::new() }
    }

    fn put(&mut self, count: Count, key: &str, value: impl Into<Json>) {
        if self.profile.has(count) {
            self.body.insert(key.to_owned(), value.into());
        }
    }
}

fn named<'c>(counts: impl Iterator<Item = (&'c str, u64)>) -> Json {
    Json::Object(counts.map(|(name, count)| (name.to_owned(), count.into())).collect())
}

/// What the code did, wherever its data lay.
fn code(profile: &Profile) -> Map<String, Json> {
    let instructions = &profile.instructions;
    let mut counts = Keys::new(profile);
    counts.put(Count::Instructions, "total", instructions.total);
    let by_class = instructions.by_class.iter().map(|(class, &count)| (class.name(), count));
    counts.put(Count::Classes, "by_class", named(by_class));
    let by_opcode = instructions.by_opcode.iter().map(|(opcode, &count)| (opcode.as_str(), count));
    counts.put(Count::Opcodes, "by_opcode", named(by_opcode));
    counts.put(Count::Classes, "virtual_share", number(instructions.virtual_share()));
    let instructions = counts.body;
    let mut body = Keys::new(profile);
    if !instructions.is_empty() {
        body.body.insert("instructions".into(), Json::Object(instructions));
    }
    body.put(Count::ThreadInstructions, "thread_instructions", profile.thread_instructions);
    body.put(Count::PredicatedOn, "thread_instructions_pred_on", profile.thread_instructions_pred_on);
    if profile.has(Count::Instructions) {
        body.put(Count::ThreadInstructions, "mean_active_lanes", number(profile.mean_active_lanes()));
    }
    body.put(Count::Branches, "branches", profile.branches);
    body.put(Count::DivergentBranches, "divergent_branches", profile.divergent_branches);
    body.put(Count::Barriers, "barriers", profile.barriers);
    let high_latency = profile.high_latency.iter().map(|(kind, &count)| (kind.as_str(), count));
    body.put(Count::HighLatency, "high_latency", named(high_latency));
    body.body
}

fn memory_spaces(profile: &Profile) -> Map<String, Json> {
    let mut body = Keys::new(profile);
    for (key, by_rule, prefix) in [("global", &profile.global, "global."), ("local", &profile.local, "local.")] {
        if by_rule.is_empty() {
            continue;
        }
        let rules = by_rule.iter().map(|(rule, counts)| {
            let mut counts = memory(counts);
            leave_out(&mut counts, profile, prefix);
            (rule.name().to_owned(), Json::Object(counts))
        });
        body.body.insert(key.into(), Json::Object(rules.collect()));
    }
    if !profile.shared.is_empty() {
        let rules = profile.shared.iter().map(|(rule, counts)| {
            let mut counts = shared(counts);
            leave_out(&mut counts, profile, "shared.");
            (rule.name().to_owned(), Json::Object(counts))
        });
        body.body.insert("shared".into(), Json::Object(rules.collect()));
    }
    let constant = json!({ "requests": profile.constant.requests, "passes": profile.constant.passes });
    body.put(Count::Constant, "constant", constant);
    body.put(Count::DistinctSectors, "distinct_sectors_read", profile.distinct_sectors_read);
    body.put(Count::DistinctSectors, "distinct_sectors_written", profile.distinct_sectors_written);
    if let Some([read, written]) = profile.dram_sectors {
        body.body.insert("dram_sectors_read".into(), read.into());
        body.body.insert("dram_sectors_written".into(), written.into());
    }
    body.body
}

/// Removes the keys of the absent counts whose names begin with `prefix`, and those that are known with them.
fn leave_out(counts: &mut Map<String, Json>, profile: &Profile, prefix: &str) {
    for absent in profile.absent.iter().filter_map(|count| count.name().strip_prefix(prefix)) {
        let with: &[&str] = match absent {
            "loads" => &["loads", "stores", "atomics"],
            "t32" => &["t32", "t64", "t128", "bytes_moved"],
            "coalesced" => &["coalesced", "uncoalesced", "coalesced_transactions", "uncoalesced_transactions"],
            "wavefronts" => &["wavefronts", "ideal_wavefronts"],
            alone => &[alone],
        };
        counts.retain(|key, _| !with.contains(&key.as_str()));
    }
}

fn loads(profile: &Profile) -> Map<String, Json> {
    let mut body = Keys::new(profile);
    let duplicates: Map<String, Json> =
        profile.duplicate_loads.iter().map(|(rule, &ratio)| (rule.name().into(), number(ratio))).collect();
    body.put(Count::VectorLoads, "vector_loads", profile.vector_loads);
    body.put(Count::IndependentLoads, "independent_loads", optional(profile.independent_loads));
    let program_order = optional(profile.independent_loads_program_order);
    body.put(Count::IndependentLoadsProgramOrder, "independent_loads_program_order", program_order);
    body.put(Count::OverlapInstructions, "overlap_instructions", profile.overlap_instructions);
    body.put(Count::DuplicateLoads, "duplicate_loads", Json::Object(duplicates));
    body.put(Count::DuplicateLoads, "duplicate_share", number(profile.duplicate_share));
    body.body
}

fn memory_by_rule(by_rule: &BTreeMap<CoalescingRule, MemoryCounts>) -> Json {
    Json::Object(by_rule.iter().map(|(rule, counts)| (rule.name().into(), Json::Object(memory(counts)))).collect())
}

fn memory(counts: &MemoryCounts) -> Map<String, Json> {
    let keys = [
        ("requests", counts.requests),
        ("loads", counts.loads),
        ("stores", counts.stores),
        ("atomics", counts.atomics),
        ("t32", counts.t32),
        ("t64", counts.t64),
        ("t128", counts.t128),
        ("lines", counts.lines),
        ("coalesced", counts.coalesced),
        ("uncoalesced", counts.uncoalesced),
        ("coalesced_transactions", counts.coalesced_transactions),
        ("uncoalesced_transactions", counts.uncoalesced_transactions),
        ("ideal_t32", counts.ideal_t32),
        ("ideal_t64", counts.ideal_t64),
        ("ideal_t128", counts.ideal_t128),
        ("bytes_requested", counts.bytes_requested),
        ("bytes_moved", counts.bytes_moved),
    ];
    let has_ideal = counts.ideal_transactions().is_some();
    let keys = keys.into_iter().filter(|(key, _)| has_ideal || !key.starts_with("ideal_"));
    keys.map(|(key, count)| (key.to_owned(), count.into())).collect()
}

fn shared_by_rule(by_rule: &BTreeMap<BankRule, SharedCounts>) -> Json {
    Json::Object(by_rule.iter().map(|(rule, counts)| (rule.name().into(), Json::Object(shared(counts)))).collect())
}

fn shared(counts: &SharedCounts) -> Map<String, Json> {
    let keys = [
        ("requests", counts.requests),
        ("loads", counts.loads),
        ("stores", counts.stores),
        ("atomics", counts.atomics),
        ("conflicted", counts.conflicted),
        ("passes", counts.passes),
        ("wavefronts", counts.wavefronts),
        ("ideal_wavefronts", counts.ideal_wavefronts),
    ];
    keys.into_iter().map(|(key, count)| (key.to_owned(), count.into())).collect()
}

fn reuse(reuse: &Reuse) -> Json {
    json!({
        "warps": reuse.warps,
        "requests": reuse.requests,
        "requests_left_out": reuse.requests_left_out,
        "lines": histogram(&reuse.lines),
        "sectors": histogram(&reuse.sectors),
    })
}

fn histogram(histogram: &ReuseHistogram) -> Json {
    let distances: Map<String, Json> =
        histogram.distances.iter().map(|(bytes, &count)| (bytes.to_string(), count.into())).collect();
    json!({ "accesses": histogram.accesses, "cold": histogram.cold, "distances": distances })
}

fn periods(periods: &Periods) -> Json {
    json!({
        "warps": periods.warps,
        "kinds": periods.kinds.iter().map(period).collect::<Vec<_>>(),
        "streams": periods.streams.iter().map(stream).collect::<Vec<_>>(),
    })
}

fn period(period: &Period) -> Json {
    let task = |task: &BTreeMap<CostKind, u64>| -> Map<String, Json> {
        task.iter().map(|(kind, &count)| (kind.to_string(), count.into())).collect()
    };
    let transactions: Map<String, Json> =
        period.transactions.iter().map(|(rule, &mean)| (rule.name().into(), number(mean))).collect();
    json!({
        "executions": period.executions,
        "computation_task": task(&period.computation),
        "memory_task": task(&period.memory),
        "bytes_requested": number(period.bytes_requested),
        "transactions": transactions,
    })
}

fn stream(stream: &PeriodStream) -> Json {
    json!({ "warps": stream.warps, "left_out": stream.left_out, "parts": stream_parts(&stream.parts) })
}

fn stream_parts(parts: &[StreamPart]) -> Json {
    let one = |part: &StreamPart| match part {
        StreamPart::Period(kind) => Json::from(*kind),
        StreamPart::Loop { times, body } => json!({ "times": times, "body": stream_parts(body) }),
    };
    parts.iter().map(one).collect()
}

fn line(line: &LineCounts) -> Json {
    json!({
        "pc": line.pc.0,
        "ptx_line": line.ptx_line,
        "file": line.source.as_ref().map(|(file, _)| file),
        "line": line.source.as_ref().map(|(_, line)| line),
        "opcode": line.opcode,
        "space": line.space.map(|space| space.name()),
        "executed": line.executed,
        "threads": line.threads,
        "divergent": line.divergent,
        "memory": memory_by_rule(&line.memory),
        "shared": shared_by_rule(&line.shared),
    })
}
