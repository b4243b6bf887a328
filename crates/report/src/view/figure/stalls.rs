//! Why warps do not issue: for the whole SM by scheduler, and for the hottest lines.

use warplens_question::plot::stalls::{Column, Stalls};
use warplens_question::timing::{Stall, StallCycles};

use crate::figure::{Axis, Figure, Hatch, Panel, Scale, Series};

/// Number of the colour and strokes of a state, the same in every picture. Related states share a colour.
pub(super) const fn look(stall: Stall) -> (usize, Hatch) {
    match stall {
        Stall::Selected => (2, Hatch::Plain),
        Stall::NotSelected => (2, Hatch::Rising),
        Stall::Wait => (0, Hatch::Plain),
        Stall::MathPipeThrottle => (0, Hatch::Rising),
        Stall::LongScoreboard => (1, Hatch::Plain),
        Stall::LgThrottle => (1, Hatch::Rising),
        Stall::ShortScoreboard => (3, Hatch::Plain),
        Stall::MioThrottle => (3, Hatch::Rising),
        Stall::Barrier => (4, Hatch::Plain),
        Stall::Membar => (4, Hatch::Rising),
        Stall::BranchResolving => (5, Hatch::Plain),
        Stall::Drain => (5, Hatch::Rising),
    }
}

/// Two panels: cycles per instruction, and the lines that take the most.
pub fn stalls(stalls: &Stalls) -> Figure {
    let by_scheduler =
        panel(&stalls.schedulers, Axis::new("warp cycles per instruction", "cycles"), |column, stall| {
            column.per_instruction(stall)
        })
        .titled("Warp cycles per instruction, by scheduler");
    let share = |column: &Column, stall: Stall| Some(column.share_of_all(stall));
    let by_line = panel(&stalls.lines, Axis::new("share of the warp cycles", "").scaled(Scale::Percent), share)
        .titled("The hottest lines");
    Figure::of_panels(
        "stalls",
        format!("What warps do: {} on {}", stalls.kernel, stalls.gpu),
        vec![by_scheduler, by_line],
        1,
    )
    .caption(format!(
        "States as Nsight Compute samples them, in {} cycles of one simulated SM. The lines shown take {:.0} % of the \
             warp cycles.",
        stalls.cycles,
        100.0 * stalls.lines.iter().map(|column| column.share).sum::<f64>(),
    ))
}

fn panel(columns: &[Column], y: Axis, value: impl Fn(&Column, Stall) -> Option<f64>) -> Panel {
    let mut panel = Panel::new(Axis::names("", columns.iter().map(|column| column.name.clone())), y);
    let mut all = StallCycles::default();
    columns.iter().for_each(|column| all.merge(&column.stalls));
    for (stall, _) in all.iter().filter(|&(_, cycles)| cycles > 0) {
        let values = columns.iter().map(|column| value(column, stall)).collect();
        let (color, hatch) = look(stall);
        panel = panel.series(Series::bars(stall.name(), values, 0).colored(color).hatched(hatch));
    }
    panel
}
