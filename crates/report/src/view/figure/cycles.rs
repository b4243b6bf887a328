//! What a few warps of the simulated SM do, cycle by cycle: a lane with the reasons why a warp waits and the cycles in
//! which it issues, and below it one with its memory accesses.

use warplens_question::timing::cycles::{Span, WarpCycles};

use super::stalls::look;
use crate::figure::{Axis, Figure, Hatch, Panel, Segment, Series};

/// Two lanes per warp.
pub fn cycles(cycles: &WarpCycles) -> Figure {
    let several = cycles.warps.iter().any(|(cta, _)| *cta != cycles.warps[0].0);
    let name = |&(cta, warp): &(u32, u32)| match several {
        true => format!("block {cta} warp {warp}"),
        false => format!("warp {warp}"),
    };
    let lanes = cycles.warps.iter().flat_map(|warp| [name(warp), "in memory".to_owned()]);
    let (from, to) = cycles.window;
    let x = Axis::new("time", "cycles").range(from as f64, to as f64);
    let mut panel = Panel::new(x, Axis::names("", lanes));
    for stall in cycles.stalls() {
        panel = panel.series(segments(stall.name(), &cycles.waits(stall), 0, look(stall)));
    }
    // On the waits, so that a single cycle is seen.
    panel = panel.series(segments("issues", &cycles.issues(), 0, (6, Hatch::Plain)));
    panel = panel.series(segments("memory access under way", &cycles.in_flight(), 1, (5, Hatch::Level)));
    panel.series.retain(|series| !series.data.is_empty());
    Figure::new("timeline", format!("Warps of one SM: {} on {}", cycles.kernel, cycles.gpu), panel).caption(format!(
        "teg: cycles {from} to {to} of the {} that were simulated. A warp's upper lane shows why it does not issue (names \
         of Nsight Compute), the lower one when a memory access of it is under way.",
        cycles.cycles
    ))
}

fn segments(name: &str, spans: &[Span], below: usize, (color, hatch): (usize, Hatch)) -> Series {
    let segment = |span: &Span| Segment {
        lane: 2 * span.warp + below,
        start: span.start as f64,
        end: span.end as f64,
        label: String::new(),
    };
    Series::segments(name, spans.iter().map(segment).collect()).colored(color).hatched(hatch)
}
