//! What a program did on the device when: a lane per stream, with its kernels and copies.

use std::collections::BTreeSet;

use warplens_question::exec::timeline::{Lane, Span, Work};
use warplens_question::exec::{Account, direction};

use crate::figure::{Axis, Figure, Hatch, Panel, Segment, Series};
use crate::view::exec::{lane, spent};

/// Most pieces that are drawn: more cannot be told apart.
const MOST_DRAWN: usize = 2000;

/// Lanes of streams.
pub fn program(account: &Account, command: &str) -> Figure {
    let spans = account.timeline.spans.iter().zip(account.timeline.lanes());
    let drawn: Vec<(&Span, Lane)> = spans.filter(|(span, _)| !span.is_of_host()).take(MOST_DRAWN).collect();
    let lanes: Vec<Lane> = drawn.iter().map(|(_, lane)| *lane).collect::<BTreeSet<_>>().into_iter().collect();
    let several = lanes.iter().any(|lane| lane.process != lanes[0].process);
    let name = |of: &Lane| match several {
        true => format!("process {}, {}", of.process, lane(*of)),
        false => lane(*of),
    };
    let segments = |wanted: &dyn Fn(&Span) -> bool| {
        let of = |(span, lane): &(&Span, Lane)| Segment {
            lane: lanes.binary_search(lane).unwrap_or_default(),
            start: span.begin,
            end: span.end,
            label: match &span.work {
                Work::Kernel { name, .. } => name.clone(),
                Work::Copy { kind, .. } => direction(*kind).to_owned(),
            },
        };
        drawn.iter().filter(|(span, _)| wanted(span)).map(of).collect::<Vec<_>>()
    };
    let is_kernel = |span: &Span| matches!(span.work, Work::Kernel { .. });
    let mut panel = Panel::new(Axis::new("time", "µs"), Axis::names("", lanes.iter().map(name)));
    for (name, segments, hatch) in [
        ("kernel", segments(&is_kernel), Hatch::Plain),
        ("copy between host and device", segments(&|span| span.is_transfer()), Hatch::Rising),
        ("within the device", segments(&|span| !is_kernel(span) && !span.is_transfer()), Hatch::Falling),
    ] {
        if !segments.is_empty() {
            panel = panel.series(Series::segments(name, segments).hatched(hatch));
        }
    }
    let gpu = account.gpus.first().map_or("", String::as_str);
    let left = account.timeline.spans.len().saturating_sub(MOST_DRAWN);
    let more = if left > 0 { format!(" The first {MOST_DRAWN} launches and copies are drawn.") } else { String::new() };
    Figure::new("program", format!("{command} on {gpu}"), panel).caption(format!("{}{more}", spent(account)))
}
