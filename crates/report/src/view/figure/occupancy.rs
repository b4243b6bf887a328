//! Occupancy against block size, registers and shared memory, one changed at a time. For one GPU the shaded ranges name
//! the resource that decides; the point is the kernel as it is launched.

use warplens_question::plot::occupancy::{Curve, Curves, Range};
use warplens_session::predict::Limiter;

use super::one_or_many;
use crate::figure::{Axis, Figure, Mark, Marker, Panel, Point, Scale, Series};

type Resource = (&'static str, &'static str, &'static str, fn(&Curves) -> &Curve);

const RESOURCES: [Resource; 3] = [
    ("By block size", "block size", "threads", |curves| &curves.block),
    ("By registers", "registers", "per thread", |curves| &curves.registers),
    ("By shared memory", "shared memory", "KiB per block", |curves| &curves.shared),
];

/// Three panels, a curve for each GPU and launch in each.
pub fn occupancy(all: &[Curves]) -> Figure {
    let kernels = one_or_many(all.iter().map(|curves| curves.kernel.as_str()).collect(), "launches");
    let gpus = one_or_many(all.iter().map(|curves| curves.gpu.as_str()).collect(), "GPUs");
    let panels = RESOURCES.iter().map(|resource| panel(all, resource)).collect();
    Figure::of_panels("occupancy", format!("Occupancy of {kernels} on {gpus}"), panels, 3).caption(
        "Theoretical: resident warps over warp slots of an SM. Everything but the axis below stays as launched.",
    )
}

fn panel(all: &[Curves], (title, label, unit, pick): &Resource) -> Panel {
    let mut panel =
        Panel::new(Axis::new(*label, *unit), Axis::new("occupancy", "").scaled(Scale::Percent).range(0.0, 1.05))
            .titled(*title);
    if let [only] = all {
        for range in &pick(only).ranges {
            panel = panel.mark(region(range));
        }
    }
    let kernel = |curves: &Curves| {
        if all.iter().any(|other| other.kernel != curves.kernel) {
            format!("{} on ", curves.kernel)
        } else {
            String::new()
        }
    };
    for (number, curves) in all.iter().enumerate() {
        let points = pick(curves).points.clone();
        let name = format!("{}{}", kernel(curves), curves.gpu);
        // Between two whole warps there is no block size; registers and bytes are so many that stairs show them.
        let series = if *label == "block size" { Series::line(name, points) } else { Series::step(name, points) };
        panel = panel.series(series.colored(number));
    }
    let own = all.iter().map(|curves| {
        let curve = pick(curves);
        let label = if all.len() == 1 { format!("limit: {}", names(&curve.limiters)) } else { String::new() };
        Point::new(curve.own.0, curve.own.1).labeled(label)
    });
    panel.series(Series::points("as launched", own.collect()).colored(6).marked(Marker::Circle))
}

fn region(range: &Range) -> Mark {
    Mark::columns(range.from, range.to, names(&range.limiters))
}

fn names(limiters: &[Limiter]) -> String {
    let names: Vec<&str> = limiters.iter().map(|limiter| limiter.name()).collect();
    names.join(", ")
}
