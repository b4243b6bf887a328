//! Time and cycles per instruction by GPU and model. The bars of time are stacked of the model's terms where they add up;
//! a model whose terms overlap shows the largest one. Where models weigh MWP against CWP, these are bars, too.

use warplens_question::plot::terms::{Bar, Parallelism, Times};

use super::one_or_many;
use crate::figure::{Axis, Figure, Hatch, Panel, Series};

/// Panels over the same predictions.
pub fn cpi(times: &Times) -> Figure {
    let several = |of: fn(&Bar) -> &str| times.bars.iter().any(|bar| of(bar) != of(&times.bars[0]));
    let (kernels_differ, gpus_differ) = (several(|bar| &bar.kernel), several(|bar| &bar.gpu));
    let name = |bar: &Bar| {
        let mut parts = vec![bar.model.name()];
        if gpus_differ {
            parts.insert(0, &bar.gpu);
        }
        if kernels_differ {
            parts.insert(0, &bar.kernel);
        }
        parts.join("\n")
    };
    let axis = || Axis::names("", times.bars.iter().map(name));
    let mut time = Panel::new(axis(), Axis::new("predicted time", "µs")).titled("Time by term");
    for part in &times.parts {
        let values = times.bars.iter().map(|bar| bar.part(part)).collect();
        time = time.series(Series::bars(*part, values, 0));
    }
    let values = times.bars.iter().map(|bar| Some(bar.cpi)).collect();
    let cpi = Panel::new(axis(), Axis::new("cycles per warp instruction of an SM", "cycles"))
        .titled("Cycles per instruction")
        .series(Series::bars("", values, 0).colored(5).hatched(Hatch::Plain));
    let mut panels = vec![time, cpi];
    if times.bars.iter().any(|bar| bar.parallelism.is_some()) {
        let mut panel =
            Panel::new(axis(), Axis::new("warps of an SM", "")).titled("Warps in memory and in computation");
        type Value = fn(&Parallelism) -> f64;
        let series: [(&str, Value); 3] =
            [("MWP", |of| of.memory), ("CWP", |of| of.computation), ("N, resident", |of| of.resident)];
        for (stack, (name, value)) in series.into_iter().enumerate() {
            let values = times.bars.iter().map(|bar| bar.parallelism.as_ref().map(value)).collect();
            panel = panel.series(Series::bars(name, values, stack));
        }
        panels.push(panel);
    }
    let kernels = one_or_many(times.bars.iter().map(|bar| bar.kernel.as_str()).collect(), "launches");
    let gpus = one_or_many(times.bars.iter().map(|bar| bar.gpu.as_str()).collect(), "GPUs");
    let refused = match times.refused.as_slice() {
        [] => String::new(),
        refused => format!(" No answer: {}.", refused.join("; ")),
    };
    let wide = times.bars.len() > 8;
    Figure::of_panels("cpi", format!("Time and CPI of {kernels} on {gpus}"), panels, if wide { 1 } else { 2 })
        .caption(format!("Terms that overlap are not stacked: the largest one is the time.{refused}"))
}
