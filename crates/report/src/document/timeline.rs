//! What a program did on the device when, in the Chrome trace event format, which Perfetto and `chrome://tracing` open.

use std::collections::BTreeSet;

use warplens_document::timeline::{TimeLine, TimeLineArgs, TimeLineEvent, TimeLineOf};
use warplens_document::{Held, Id, Number};
use warplens_question::exec::timeline::{Span, Work};
use warplens_question::exec::{Account, direction};

use crate::view::exec::stream;

/// The time line of a program on the first GPU.
pub fn document(account: &Account, command: &[String]) -> TimeLine {
    let spans = &account.timeline.spans;
    let streams: BTreeSet<(u32, u32)> = spans.iter().map(|span| (span.process, span.stream)).collect();
    let processes: BTreeSet<u32> = streams.iter().map(|(process, _)| *process).collect();
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
    let of_stream = |(process, number): (u32, u32)| name("thread_name", (process, number + 1), stream(number));
    let names = processes.into_iter().map(of_process).chain(streams.into_iter().map(of_stream));
    TimeLine {
        display_time_unit: "ns".to_owned(),
        trace_events: names.chain(spans.iter().map(event)).collect(),
        other_data: TimeLineOf { schema: Id::new(), command: command.join(" "), gpu: gpu.clone() },
    }
}

fn event(span: &Span) -> TimeLineEvent {
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
        thread: span.stream + 1,
        start: Number(span.begin).into(),
        duration: Number(span.end - span.begin).into(),
        args,
    }
}
