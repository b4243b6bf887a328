//! A trace in the Chrome trace event format, which Perfetto and `chrome://tracing` open.
//!
//! The process is the SM and each thread a warp; a microsecond of the viewer is a cycle. A warp's slices are its stalls,
//! named by their reason, and its instructions, one cycle from their issue on; memory accesses are asynchronous slices
//! from the issue until the result can be used.

use warplens_document::trace_events::{Args, Category, Event, OtherData, Phase, TraceEvents};
use warplens_document::{Held, Id};
use warplens_question::timing::cycles::{Issued, WarpCycles};

/// The simulated SM.
const PROCESS: u64 = 0;

/// The trace of some warps.
pub fn document(cycles: &WarpCycles) -> TraceEvents {
    let name = |name: String| Args { name: name.into(), ..Args::default() };
    let process = format!("one SM of {}: {}", cycles.gpu, cycles.kernel);
    let mut events = vec![event(Phase::About, "process_name", 0, name(process))];
    for (thread, (cta, warp)) in (1u64..).zip(&cycles.warps) {
        events.push(event(Phase::About, "thread_name", thread, name(format!("block {cta} warp {warp}"))));
        let args = Args { sort_index: thread.into(), ..Args::default() };
        events.push(event(Phase::About, "thread_sort_index", thread, args));
    }
    for (number, issued) in (0u64..).zip(&cycles.instructions) {
        events.extend(slices(number, issued));
    }
    TraceEvents {
        display_time_unit: "ms".to_owned(),
        other_data: OtherData {
            schema: Id::new(),
            kernel: cycles.kernel.clone(),
            gpu: cycles.gpu.clone(),
            time: "a microsecond of this trace is a cycle of the SM's clock".to_owned(),
            clock_hz: cycles.clock_hz.to_string(),
            sm_cycles: cycles.cycles.to_string(),
        },
        trace_events: events,
    }
}

fn event(phase: Phase, name: &str, thread: u64, args: Args) -> Event {
    Event {
        phase,
        category: Held(None),
        name: name.to_owned(),
        id: Held(None),
        process: PROCESS,
        thread,
        start: Held(None),
        duration: Held(None),
        args,
    }
}

/// The stall before an instruction, the instruction, and its access.
fn slices(number: u64, issued: &Issued) -> Vec<Event> {
    let thread = issued.warp as u64 + 1;
    let slice = |category: Category, name: &str, start: u64, cycles: u64, args: Args| Event {
        category: category.into(),
        start: start.into(),
        duration: cycles.into(),
        ..event(Phase::Slice, name, thread, args)
    };
    let mut events = Vec::new();
    let line = Held(Some(issued.line));
    for (stall, start, end) in issued.spans() {
        let args = Args { before: issued.text.clone().into(), line, ..Args::default() };
        events.push(slice(Category::Stall, stall.name(), start, end - start, args));
    }
    let args = Args {
        line,
        class: issued.class.to_owned().into(),
        result_after_cycles: issued.done.saturating_sub(issued.issue).into(),
        ..Args::default()
    };
    events.push(slice(Category::Instruction, &issued.text, issued.issue, 1, args));
    if issued.is_access && issued.done > issued.issue {
        let name = format!("warp {}: {}", issued.warp, issued.class);
        let end = |phase: Phase, at: u64| {
            let args = Args { instruction: issued.text.clone().into(), line, ..Args::default() };
            Event {
                category: Category::Access.into(),
                id: number.into(),
                start: at.into(),
                ..event(phase, &name, thread, args)
            }
        };
        events.extend([end(Phase::Begin, issued.issue), end(Phase::End, issued.done)]);
    }
    events
}
