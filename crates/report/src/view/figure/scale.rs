//! Speedup and efficiency against the number of warps, each beside what a warp alone would give.

use warplens_question::timing::scale::{Scale, Step};

use super::one_or_many;
use crate::figure::{Axis, Dash, Figure, Marker, Panel, Point, Scale as Axes, Series};

/// Two panels over the number of warps.
pub fn scale(all: &[Scale]) -> Figure {
    let several = |of: fn(&Scale) -> &str| all.iter().any(|scale| of(scale) != of(&all[0]));
    let (kernels, gpus) = (several(|scale| &scale.kernel), several(|scale| &scale.gpu));
    let name = |scale: &Scale| match (kernels, gpus) {
        (true, true) => format!("{} on {}", scale.kernel, scale.gpu),
        (true, false) => scale.kernel.clone(),
        _ => scale.gpu.clone(),
    };
    let most = all.iter().flat_map(|scale| &scale.steps).map(|step| step.warps).max().unwrap_or(1).max(2);
    let most = f64::from(most);
    let x = || Axis::new("warps on the SM", "").scaled(Axes::Log2);
    let mut speedup =
        Panel::new(x(), Axis::new("speedup n T(1) / T(n)", "").scaled(Axes::Log2).range(1.0, most)).titled("Speedup");
    let top = 1.05;
    let mut efficiency = Panel::new(x(), Axis::new("efficiency", "").scaled(Axes::Percent).range(0.0, top))
        .titled("Efficiency, with what more warps wait for");
    for (at, scale) in all.iter().enumerate() {
        let line = |value: fn(&Step) -> f64| {
            let point = |step: &Step| (f64::from(step.warps), value(step));
            scale.steps.iter().map(point).collect::<Vec<_>>()
        };
        let mark = Marker::Circle;
        speedup = speedup.series(Series::line(name(scale), line(|step| step.speedup)).colored(at).marked(mark));
        efficiency =
            efficiency.series(Series::line(name(scale), line(|step| step.efficiency)).colored(at).marked(mark));
        efficiency = efficiency.series(Series::points("", stops(scale)).colored(at).marked(mark));
    }
    let all_warps = all.iter().flat_map(|scale| &scale.steps).map(|step| f64::from(step.warps));
    let mut ideal: Vec<f64> = all_warps.collect();
    ideal.sort_by(f64::total_cmp);
    ideal.dedup();
    let ideal = ideal.into_iter().map(|warps| (warps, warps)).collect();
    speedup = speedup.series(Series::line("n warps, n times as fast", ideal).colored(6).dashed(Dash::Dotted));
    let kernels = one_or_many(all.iter().map(|scale| scale.kernel.as_str()).collect(), "kernels");
    let gpus = one_or_many(all.iter().map(|scale| scale.gpu.as_str()).collect(), "GPUs");
    let ctas = all.iter().map(|scale| match all.len() {
        1 => format!("blocks of {} warps, {} of them on an SM", scale.warps_per_cta, scale.most_ctas),
        _ => format!("{} blocks of {} warps on {}", scale.most_ctas, scale.warps_per_cta, scale.gpu),
    });
    let ctas = ctas.collect::<Vec<_>>().join("; ");
    Figure::of_panels("scale", format!("From one warp to a full SM: {kernels} on {gpus}"), vec![speedup, efficiency], 2)
        .caption(format!(
            "teg: {ctas}. Up to one block its first warps run alone, then whole blocks are added. Names are the states \
             (Nsight Compute) whose warp cycles per instruction grew most, where they change."
        ))
}

/// The points at which another state stops the scaling than before.
fn stops(scale: &Scale) -> Vec<Point> {
    let mut last = None;
    let mut points = Vec::new();
    for step in &scale.steps {
        let stall = step.stop.map(|stop| stop.stall);
        if let Some(stall) = stall.filter(|_| stall != last) {
            points.push(Point::new(f64::from(step.warps), step.efficiency).labeled(stall.name()));
            last = Some(stall);
        }
    }
    points
}
