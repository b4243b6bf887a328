//! What a program did on the device when, in the Chrome trace event format, which Perfetto and `chrome://tracing` open.

use std::collections::BTreeSet;

use warplens_document::timeline::{TimeLine, TimeLineArgs, TimeLineEvent, TimeLineOf};
use warplens_document::{Held, Id, Number};
use warplens_question::exec::timeline::{Lane, Span, Work};
use warplens_question::exec::{Account, direction};

use crate::view::exec::lane;

/// The time line of a program on the first GPU.
pub fn document(account: &Account, command: &[String]) -> TimeLine {
    let spans = &account.timeline.spans;
    let of_spans = account.timeline.lanes();
    let lanes: Vec<Lane> = of_spans.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
    let processes: BTreeSet<u32> = lanes.iter().map(|lane| lane.process).collect();
    let thread = |lane: &Lane| lanes.binary_search(lane).map_or(0, |number| number as u32 + 1);
    let gpu = account.gpus.first().cloned().unwrap_or_default();
    let name = |what: &str, (process, thread): (u32, u32), name: String| TimeLineEvent {
        phase: "M".to_owned(),
        category: Held(None),
        name: what.to_owned(),
        process,
        thread,
        start: Held(None),
        duration: Held(None),
        args: TimeLineArgs { name: name.into(), ..TimeLineArgs::default() },
    };
    let of_process = |process: u32| name("process_name", (process, 0), format!("{gpu}, process {process}"));
    let of_lane = |of: &Lane| name("thread_name", (of.process, thread(of)), lane(*of));
    let names = processes.into_iter().map(of_process).chain(lanes.iter().map(of_lane));
    let events = spans.iter().zip(&of_spans).map(|(span, lane)| event(span, thread(lane)));
    TimeLine {
        display_time_unit: "ns".to_owned(),
        trace_events: names.chain(events).collect(),
        other_data: TimeLineOf { schema: Id::new(), command: command.join(" "), gpu: gpu.clone() },
    }
}

fn event(span: &Span, thread: u32) -> TimeLineEvent {
    let (category, name, args) = match &span.work {
        Work::Kernel { name, grid, block } => {
            let args = TimeLineArgs { grid: (*grid).into(), block: (*block).into(), ..TimeLineArgs::default() };
            ("kernel", name.clone(), args)
        }
        Work::Copy { kind, bytes } => {
            ("copy", direction(*kind).to_owned(), TimeLineArgs { bytes: (*bytes).into(), ..TimeLineArgs::default() })
        }
    };
    TimeLineEvent {
        phase: "X".to_owned(),
        category: category.to_owned().into(),
        name,
        process: span.process,
        thread,
        start: Number(span.begin).into(),
        duration: Number(span.end - span.begin).into(),
        args,
    }
}
