//! Kernels under the roofs of GPUs, both axes logarithmic. A point on its roof does all that the busier of issue slots and
//! memory allows; the distance below it is what latency, conflicts and waiting cost.

use warplens_question::plot::roofline::Rooflines;

use super::one_or_many;
use crate::figure::{Axis, Dash, Figure, Marker, Panel, Point, Scale, Series};

const DASHES: [Dash; 5] = [Dash::Solid, Dash::Dashed, Dash::Dotted, Dash::DashDotted, Dash::LongDashed];
const MARKERS: [Marker; 5] = [Marker::Circle, Marker::Square, Marker::Triangle, Marker::Diamond, Marker::Down];

/// Roofs by GPU with the kernels of the same colour.
pub fn roofline(rooflines: &Rooflines) -> Figure {
    let mut panel = Panel::new(
        Axis::new("warp instructions per sector of device memory", "instructions/32 B").scaled(Scale::Log10),
        Axis::new("throughput", "10⁹ warp instructions/s").scaled(Scale::Log10),
    );
    let several = rooflines.kernels.iter().any(|kernel| kernel.kernel != rooflines.kernels[0].kernel);
    for (number, roof) in rooflines.roofs.iter().enumerate() {
        let (dash, marker) = (DASHES[number % DASHES.len()], MARKERS[number % MARKERS.len()]);
        panel =
            panel.series(Series::line(format!("roof of {}", roof.gpu), roof.line.clone()).colored(number).dashed(dash));
        // The corner says whose roof it is, and what it is made of.
        let corner =
            Point::new(roof.ridge(), roof.peak).labeled(format!("{}: memory | issue slots", roof.gpu)).hollow();
        panel = panel.series(Series::points("", vec![corner]).colored(number).marked(marker));
        let here = rooflines.kernels.iter().filter(|kernel| kernel.gpu == roof.gpu);
        let point = |kernel: &warplens_question::plot::roofline::Attained| {
            Point::new(kernel.intensity, kernel.throughput).labeled(kernel.kernel.as_str())
        };
        let name = if several {
            format!("kernels on {}", roof.gpu)
        } else {
            format!("{} on {}", rooflines.kernels[0].kernel, roof.gpu)
        };
        panel = panel.series(Series::points(name, here.map(point).collect()).colored(number).marked(marker));
    }
    let kernels = one_or_many(rooflines.kernels.iter().map(|kernel| kernel.kernel.as_str()).collect(), "launches");
    let gpus = one_or_many(rooflines.roofs.iter().map(|roof| roof.gpu.as_str()).collect(), "GPUs");
    let mut models: Vec<&str> = rooflines.kernels.iter().map(|kernel| kernel.model.name()).collect();
    models.dedup();
    Figure::new("roofline", format!("Roofline of {kernels} on {gpus}"), panel).caption(format!(
        "Roofs: issue slots of all SMs, and each distinct sector moved once at full bandwidth. Times of the points are \
         predicted ({}).",
        models.join(", ")
    ))
}
