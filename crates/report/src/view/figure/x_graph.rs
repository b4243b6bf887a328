//! X-graphs: demand and supply of one workload on one machine, with every place where they meet. The axis below counts
//! the warps in the memory system from the left; those that compute are the rest of n, counted from the right.

use warplens_question::plot::x_graph::{Architecture, Bound, Curves, Sample, Stability, XGraph};
use warplens_question::x_model::Graph;

use crate::figure::{Axis, Dash, Figure, Mark, Marker, Panel, Point, Series};
use crate::render::show;
use crate::section::{Cell, Unit};
use warplens_session::predict;

/// Colours of supply, demand, states and measured points.
const SUPPLY: usize = 0;
const DEMAND: usize = 1;
const STATE: usize = 6;
const MEASURED: usize = 4;

/// The X-graph, with what a question changes in dashes.
pub fn x_graph(graph: &XGraph) -> Figure {
    let before = &graph.before;
    let units = before.units;
    let mut panel = Panel::new(
        Axis::new("k, in the memory system", units.threads.symbol()),
        Axis::new("memory throughput", units.memory.symbol()).range(0.0, graph.top),
    );
    if let Some(top) = graph.computation_top {
        panel = panel.right(Axis::new("computation throughput", units.computation.symbol()).range(0.0, top));
    }
    panel = curves(panel, before, "", Dash::Solid, Dash::Dashed);
    if let Some(after) = &graph.after {
        panel = curves(panel, after, " after", Dash::Dotted, Dash::DashDotted);
    }
    panel = marks(panel, before);
    panel = panel.series(states(before, "intersections", "reached", Marker::Circle));
    if let Some(after) = &graph.after {
        let (old, new) = (before.state.reached(), after.state.reached());
        panel = panel.series(states(after, "intersections after", "reached after", Marker::Square)).mark(Mark::arrow(
            (old.k, old.memory_throughput),
            (new.k, new.memory_throughput),
            "",
        ));
    }
    if !graph.measured.is_empty() {
        let points = graph.measured.iter().map(|&(k, value)| Point::new(k, value)).collect();
        panel = panel.series(Series::points("f(k) as measured", points).colored(MEASURED).marked(Marker::Square));
    }
    let title = match graph.question.as_str() {
        "" => format!("X-graph of {} on {}", graph.kernel, graph.gpu),
        question => format!("X-graph of {} on {}: {question}", graph.kernel, graph.gpu),
    };
    Figure::new("x-graph", title, panel).caption(caption(graph))
}

fn curves(panel: Panel, graph: &Graph, suffix: &str, supply: Dash, demand: Dash) -> Panel {
    panel
        .series(Series::line(format!("f(k), supply{suffix}"), points(&graph.supply)).colored(SUPPLY).dashed(supply))
        .series(
            Series::line(format!("g(n − k)/Z, demand{suffix}"), points(&graph.demand)).colored(DEMAND).dashed(demand),
        )
}

fn points(samples: &[Sample]) -> Vec<(f64, f64)> {
    samples.iter().map(|sample| (sample.at, sample.value)).collect()
}

/// Regions, transition points, the cache's peak and valley, the plateau.
fn marks(mut panel: Panel, graph: &Graph) -> Panel {
    let landmarks = &graph.state.landmarks;
    let within = |k: f64| (0.0..=graph.threads).contains(&k);
    for region in &graph.regions {
        panel = panel.mark(Mark::columns(region.from, region.to, bound(region.bound)));
    }
    let named = [
        (Some(landmarks.delta), "δ"),
        (Some(graph.pi_at), "n − π"),
        (landmarks.psi.map(|peak| peak.k), "ψ"),
        (landmarks.valley.map(|valley| valley.k), "valley"),
    ];
    for (k, name) in named {
        if let Some(k) = k.filter(|k| within(*k)) {
            panel = panel.mark(Mark::vertical(k, name));
        }
    }
    panel = panel.mark(Mark::horizontal(landmarks.plateau, "R"));
    match graph.measured {
        Some(measured) => panel.mark(Mark::horizontal(measured, "measured")),
        None => panel,
    }
}

const fn bound(bound: Bound) -> &'static str {
    match bound {
        Bound::Thread => "thread bound",
        Bound::Computation => "computation bound",
        Bound::Memory => "memory bound",
        Bound::Capacity => "capacity bound",
    }
}

/// Every intersection; hollow where the machine does not stay.
fn states(graph: &Graph, name: &str, reached: &'static str, marker: Marker) -> Series {
    let state = &graph.state;
    let several = state.intersections.len() > 1;
    let point = |(number, intersection): (usize, &warplens_question::x_model::Intersection)| {
        let label = match intersection.stability {
            _ if number == 0 => reached,
            Stability::Stable if several && number + 1 == state.intersections.len() => "stable, reached from memory",
            stability => stability.name(),
        };
        let point = Point::new(intersection.k, intersection.memory_throughput).labeled(label);
        if intersection.stability == Stability::Stable { point } else { point.hollow() }
    };
    let points = state.intersections.iter().enumerate().map(point).collect();
    Series::points(name, points).colored(STATE).marked(marker)
}

fn caption(graph: &XGraph) -> String {
    let number = |value: f64| show(&Cell::Number(value, Unit::One));
    let of_one = |graph: &Graph| {
        let (state, system) = (&graph.state, &graph.state.system);
        let reached = state.reached();
        format!(
            "n {}, Z {}; reached k {}, memory {} {}, computation {} {}, {}",
            number(system.threads),
            number(system.intensity),
            number(reached.k),
            number(reached.memory_throughput),
            graph.units.memory,
            number(reached.computation_throughput),
            graph.units.computation,
            bound(state.bound),
        )
    };
    let balance = &graph.before.balance;
    let after = graph.after.as_ref().map_or_else(String::new, |after| format!(" After: {}.", of_one(after)));
    format!(
        "{}.{after} Machine balance: {} {} with Z {}. The warps that compute are x = n − k.",
        of_one(&graph.before),
        number(balance.threads),
        graph.before.units.threads,
        number(balance.intensity),
    )
}

/// f(k) for several values of a knob.
pub fn f_family(curves: &Curves) -> Figure {
    let mut panel = Panel::new(
        Axis::new("k, in the memory system", curves.units.threads.symbol()),
        Axis::new("f(k)", curves.units.memory.symbol()),
    );
    let symbol = curves.family.knob.symbol();
    let value = |value: f64| match curves.knob_unit {
        predict::Unit::Bytes => show(&Cell::Number(value, Unit::Bytes)),
        unit => format!("{} {unit}", show(&Cell::Number(value, Unit::One))).trim_end().to_owned(),
    };
    for (number, curve) in curves.family.curves.iter().enumerate() {
        panel = panel
            .series(Series::line(format!("{symbol} = {}", value(curve.value)), points(&curve.supply)).colored(number));
    }
    let peaks = curves.family.curves.iter().filter_map(|curve| curve.landmarks.psi);
    let peaks: Vec<Point> = peaks.map(|peak| Point::new(peak.k, peak.throughput).labeled("ψ")).collect();
    if !peaks.is_empty() {
        panel = panel.series(Series::points("peaks of the cache", peaks).colored(STATE).marked(Marker::Triangle));
    }
    let about = curves.family.knob.spec().about;
    Figure::new("f-family", format!("Supply of memory to {} on {}", curves.kernel, curves.gpu), panel)
        .caption(format!("{symbol}: {about}."))
}

/// Machines by themselves: what their memory supplies and what their lanes do with so many warps.
pub fn architecture(machines: &[Architecture]) -> Figure {
    let panels: Vec<Panel> = machines.iter().map(|machine| of_machine(machine, machines.len() > 1)).collect();
    let gpus: Vec<&str> = machines.iter().map(|machine| machine.gpu.as_str()).collect();
    let columns = if panels.len() > 1 { 2 } else { 1 };
    let number = |value: f64| show(&Cell::Number(value, Unit::One));
    let transitions = |machine: &Architecture| {
        let delta =
            machine.supply.iter().map(|supply| format!("{} ({} B)", number(supply.delta), supply.width.bytes()));
        let pi = machine.computation.iter().map(|g| format!("{} (E {})", number(g.pi), g.parallelism));
        let (delta, pi) = (delta.collect::<Vec<_>>().join(", "), pi.collect::<Vec<_>>().join(", "));
        format!(" {}: δ {delta}; π {pi}; {} warps at most.", machine.gpu, number(machine.threads))
    };
    Figure::of_panels("architecture", format!("Architecture of {}", gpus.join(", ")), panels, columns).caption(format!(
        "Before any workload: f(k) with k warps that wait for memory, g(x) with x warps that compute and E independent \
         instructions each. δ and π are the warps with which they reach their ceilings.{}",
        machines.iter().map(transitions).collect::<String>()
    ))
}

fn of_machine(machine: &Architecture, titled: bool) -> Panel {
    let mut panel = Panel::new(Axis::new("k or x", "warps per SM"), Axis::new("f(k)", "GB/s"))
        .right(Axis::new("g(x)", "warp instructions/cycle per SM"));
    if titled {
        panel = panel.titled(machine.gpu.clone());
    }
    for (number, supply) in machine.supply.iter().enumerate() {
        let name = format!("f(k), {} bytes per thread", supply.width.bytes());
        panel = panel.series(Series::line(name, supply.points.clone()).colored(number).dashed(Dash::Solid));
        if supply.delta <= machine.threads {
            panel = panel.mark(Mark::vertical(supply.delta, format!("δ ({} B)", supply.width.bytes())));
        }
    }
    let dashes = [Dash::Dashed, Dash::Dotted, Dash::DashDotted, Dash::LongDashed];
    for (number, computation) in machine.computation.iter().enumerate() {
        let name = format!("g(x), E = {}", computation.parallelism);
        let series = Series::line(name, computation.points.clone()).colored(machine.supply.len() + number);
        panel = panel.series(series.dashed(dashes[number % dashes.len()]).on_right());
        if computation.pi <= machine.threads {
            panel = panel.mark(Mark::vertical(computation.pi, format!("π (E {})", computation.parallelism)));
        }
    }
    panel
}
