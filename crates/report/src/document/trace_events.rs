//! A trace in the Chrome trace event format, which Perfetto and `chrome://tracing` open.
//!
//! The process is the SM and each thread a warp; a microsecond of the viewer is a cycle. A warp's slices are its stalls,
//! named by their reason, and its instructions, one cycle from their issue on; memory accesses are asynchronous slices
//! from the issue until the result can be used.

use serde_json::{Value as Json, json};
use warplens_session::timing::cycles::{Issued, WarpCycles};

/// The simulated SM.
const PROCESS: u32 = 0;

/// The trace of some warps.
pub fn document(cycles: &WarpCycles) -> Json {
    let mut events = vec![json!({
        "ph": "M", "name": "process_name", "pid": PROCESS, "tid": 0,
        "args": {"name": format!("one SM of {}: {}", cycles.gpu, cycles.kernel)},
    })];
    for (thread, (cta, warp)) in (1u32..).zip(&cycles.warps) {
        let name = format!("block {cta} warp {warp}");
        events.push(json!({"ph": "M", "name": "thread_name", "pid": PROCESS, "tid": thread, "args": {"name": name}}));
        events.push(json!({
            "ph": "M", "name": "thread_sort_index", "pid": PROCESS, "tid": thread, "args": {"sort_index": thread},
        }));
    }
    for (number, issued) in cycles.instructions.iter().enumerate() {
        events.extend(slices(number, issued));
    }
    json!({
        "displayTimeUnit": "ms",
        "otherData": {
            "schema": "warplens.trace-events/1",
            "kernel": cycles.kernel,
            "gpu": cycles.gpu,
            "time": "a microsecond of this trace is a cycle of the SM's clock",
            "clock_hz": cycles.clock_hz.to_string(),
            "sm_cycles": cycles.cycles.to_string(),
        },
        "traceEvents": events,
    })
}

/// The stall before an instruction, the instruction, and its access.
fn slices(number: usize, issued: &Issued) -> Vec<Json> {
    let thread = issued.warp + 1;
    let mut events = Vec::new();
    for (stall, start, end) in issued.spans() {
        events.push(json!({
            "ph": "X", "cat": "stall", "name": stall.name(), "pid": PROCESS, "tid": thread,
            "ts": start, "dur": end - start,
            "args": {"before": issued.text, "line": issued.line},
        }));
    }
    events.push(json!({
        "ph": "X", "cat": "instruction", "name": issued.text, "pid": PROCESS, "tid": thread,
        "ts": issued.issue, "dur": 1,
        "args": {"line": issued.line, "class": issued.class, "result_after_cycles": issued.done.saturating_sub(issued.issue)},
    }));
    if issued.is_access && issued.done > issued.issue {
        let end = |phase: &str, at: u64| {
            json!({
                "ph": phase, "cat": "access", "name": format!("warp {}: {}", thread - 1, issued.class), "id": number,
                "pid": PROCESS, "tid": thread, "ts": at, "args": {"instruction": issued.text, "line": issued.line},
            })
        };
        events.extend([end("b", issued.issue), end("e", issued.done)]);
    }
    events
}
