//! `warplens.profile/1`.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};
use warplens_session::profile::{
    BankRule, CoalescingRule, LineCounts, MemoryCounts, Profile, RegistersBasis, Reuse, ReuseHistogram, SharedCounts,
};
use warplens_session::statics::{Bound, Line, Statics};
use warplens_session::{Emulation, Measurement, Support};

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
    body.insert("support".into(), support(&measurement.support));
    body.insert("emulation".into(), emulation(&measurement.emulation));
    body.extend(measurement.statics.as_ref().map(|found| ("static".to_owned(), statics(found))));
    body
}

/// What counts without a run stand on.
pub(crate) fn statics(statics: &Statics) -> Json {
    let bound = |bound: &Bound| {
        json!({
            "kind": bound.kind.name(),
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
    json!({
        "grid": launch.grid,
        "block": launch.block,
        "shared_bytes": launch.shared_bytes,
        "registers": launch.registers,
        "registers_basis": basis(launch.registers_basis),
    })
}

const fn basis(basis: RegistersBasis) -> &'static str {
    basis.name()
}

/// Every count.
pub(crate) fn counts(profile: &Profile) -> Map<String, Json> {
    let coverage = &profile.coverage;
    let instructions = &profile.instructions;
    let by_class: Map<String, Json> =
        instructions.by_class.iter().map(|(class, &count)| (class.name().into(), count.into())).collect();
    let by_opcode: Map<String, Json> =
        instructions.by_opcode.iter().map(|(opcode, &count)| (opcode.clone(), count.into())).collect();
    let high_latency: Map<String, Json> =
        profile.high_latency.iter().map(|(kind, &count)| (kind.clone(), count.into())).collect();
    let duplicate_loads: Map<String, Json> =
        profile.duplicate_loads.iter().map(|(rule, &ratio)| (rule.name().into(), number(ratio))).collect();
    let body = json!({
        "launch": launch_shape(profile),
        "coverage": {
            "ctas_executed": coverage.ctas_executed,
            "ctas_total": coverage.ctas_total,
            "spread": number(coverage.spread),
        },
        "warps": profile.warps,
        "instructions": {
            "total": instructions.total,
            "by_class": by_class,
            "by_opcode": by_opcode,
            "virtual_share": number(instructions.virtual_share()),
        },
        "thread_instructions": profile.thread_instructions,
        "thread_instructions_pred_on": profile.thread_instructions_pred_on,
        "mean_active_lanes": number(profile.mean_active_lanes()),
        "branches": profile.branches,
        "divergent_branches": profile.divergent_branches,
        "barriers": profile.barriers,
        "high_latency": high_latency,
        "global": memory_by_rule(&profile.global),
        "local": memory_by_rule(&profile.local),
        "shared": shared_by_rule(&profile.shared),
        "constant": { "requests": profile.constant.requests, "passes": profile.constant.passes },
        "distinct_sectors_read": profile.distinct_sectors_read,
        "distinct_sectors_written": profile.distinct_sectors_written,
        "vector_loads": profile.vector_loads,
        "independent_loads": optional(profile.independent_loads),
        "independent_loads_program_order": optional(profile.independent_loads_program_order),
        "overlap_instructions": profile.overlap_instructions,
        "duplicate_loads": duplicate_loads,
        "duplicate_share": number(profile.duplicate_share),
        "instruction_parallelism": optional(profile.instruction_parallelism),
        "instruction_parallelism_program_order": optional(profile.instruction_parallelism_program_order),
        "reuse": profile.reuse.as_ref().map(reuse),
        "order_dependent": profile.order_dependent,
        "lines": profile.lines.iter().map(line).collect::<Vec<_>>(),
    });
    match body {
        Json::Object(body) => body,
        _ => unreachable!("the macro was given an object"),
    }
}

fn memory_by_rule(by_rule: &BTreeMap<CoalescingRule, MemoryCounts>) -> Json {
    Json::Object(by_rule.iter().map(|(rule, counts)| (rule.name().into(), memory(counts))).collect())
}

fn memory(counts: &MemoryCounts) -> Json {
    json!({
        "requests": counts.requests,
        "loads": counts.loads,
        "stores": counts.stores,
        "atomics": counts.atomics,
        "t32": counts.t32,
        "t64": counts.t64,
        "t128": counts.t128,
        "lines": counts.lines,
        "coalesced": counts.coalesced,
        "uncoalesced": counts.uncoalesced,
        "coalesced_transactions": counts.coalesced_transactions,
        "uncoalesced_transactions": counts.uncoalesced_transactions,
        "ideal_t32": counts.ideal_t32,
        "ideal_t64": counts.ideal_t64,
        "ideal_t128": counts.ideal_t128,
        "bytes_requested": counts.bytes_requested,
        "bytes_moved": counts.bytes_moved,
    })
}

fn shared_by_rule(by_rule: &BTreeMap<BankRule, SharedCounts>) -> Json {
    Json::Object(by_rule.iter().map(|(rule, counts)| (rule.name().into(), shared(counts))).collect())
}

fn shared(counts: &SharedCounts) -> Json {
    json!({
        "requests": counts.requests,
        "loads": counts.loads,
        "stores": counts.stores,
        "atomics": counts.atomics,
        "conflicted": counts.conflicted,
        "passes": counts.passes,
        "wavefronts": counts.wavefronts,
        "ideal_wavefronts": counts.ideal_wavefronts,
    })
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

fn line(line: &LineCounts) -> Json {
    json!({
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
