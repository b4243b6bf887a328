//! What waits for what in the hottest block of machine code: a lane for each instruction, from the cycle in which its
//! operands are there to that in which its result is.

use warplens_question::timing::dependences::{Dependences, Instruction};

use crate::figure::{Axis, Figure, Hatch, Panel, Segment, Series};

/// Instructions that a picture shows; of a longer block those on the longest chain, and what these wait for.
const MOST: usize = 40;
/// Letters of an instruction beside its lane.
const WIDEST: usize = 34;

/// The picture.
pub fn dependences(found: &Dependences) -> Figure {
    let shown = shown(found);
    let lane = |at: usize| shown.iter().position(|own| *own == at);
    let names = shown.iter().map(|at| name(*at, &found.instructions[*at]));
    let x = Axis::new("cycles from the start of the block", "").range(0.0, f64::from(found.longest.max(1)));
    let mut panel = Panel::new(x, Axis::names("", names));
    let of = |critical: bool| -> Vec<Segment> {
        let own = shown.iter().filter(|at| found.instructions[**at].is_critical == critical);
        own.filter_map(|at| Some(segment(&found.instructions[*at], lane(*at)?))).collect()
    };
    panel = panel.series(Series::segments("on the longest chain", of(true)).colored(3).hatched(Hatch::Plain));
    panel = panel.series(Series::segments("others", of(false)).colored(0).hatched(Hatch::Rising));
    panel.series.retain(|series| !series.data.is_empty());
    Figure::new("dependencies", format!("What waits for what: {} on {}", found.kernel, found.gpu), panel)
        .caption(caption(found, shown.len()))
}

fn caption(found: &Dependences, n_shown: usize) -> String {
    let share = 100.0 * found.share;
    let mut text = format!(
        "The block of machine code in which warps spend the most ({share:.0} % of the warp cycles), as if one warp were \
         alone: each instruction from when its operands are there to when its result is. The longest chain takes {} \
         cycles",
        found.longest
    );
    text += &match found.between_turns {
        Some(cycles) => {
            format!("; a turn comes {cycles} cycles after the one before, for what they wait for of each other.")
        }
        None => "; turns wait for nothing of each other.".to_owned(),
    };
    text += " Loads of global memory count as found in the nearest cache.";
    if n_shown < found.instructions.len() {
        text += &format!(" {n_shown} of {} instructions are shown.", found.instructions.len());
    }
    text
}

/// Positions of the instructions that are shown, in order.
fn shown(found: &Dependences) -> Vec<usize> {
    let all = &found.instructions;
    if all.len() <= MOST {
        return (0..all.len()).collect();
    }
    let critical: Vec<usize> = (0..all.len()).filter(|at| all[*at].is_critical).take(MOST).collect();
    let near = critical.iter().flat_map(|at| all[*at].waits_for.iter().copied()).filter(|at| !all[*at].is_critical);
    let mut shown: Vec<usize> = critical.iter().copied().chain(near.take(MOST - critical.len())).collect();
    shown.sort_unstable();
    shown.dedup();
    shown
}

fn name(at: usize, inst: &Instruction) -> String {
    let text: String = inst.text.chars().take(WIDEST).collect();
    let cut = if inst.text.chars().count() > WIDEST { "..." } else { "" };
    match &inst.source {
        Some((_, line)) => format!("{at}: {text}{cut} (line {line})"),
        None => format!("{at}: {text}{cut}"),
    }
}

fn segment(inst: &Instruction, lane: usize) -> Segment {
    let end = inst.start + inst.latency.max(1);
    let waits: Vec<String> = inst.waits_for.iter().map(usize::to_string).collect();
    let label = match waits.is_empty() {
        true => inst.latency.to_string(),
        false => format!("{} after {}", inst.latency, waits.join(", ")),
    };
    Segment { lane, start: f64::from(inst.start), end: f64::from(end), label }
}
