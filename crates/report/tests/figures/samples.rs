//! Figures of made-up numbers that use every kind of data, axis and mark.

use warplens_report::figure::{Axis, Dash, Data, Figure, HeatCell, Mark, Marker, Panel, Point, Scale, Segment, Series};

/// All of them.
pub(crate) fn all() -> Vec<Figure> {
    vec![x_graph(), roofline(), stacks(), timeline(), heat_map(), sign_plot(), resources()]
}

/// Two curves with regions, transition points, states and a second axis.
fn x_graph() -> Figure {
    let supply = |k: f64| 0.1 * (1.0 - (-k / 9.0).exp()) * (1.0 + 0.6 * (-(k - 12.0).powi(2) / 40.0).exp());
    let demand = |k: f64| ((48.0 - k) * 0.006).min(0.12);
    let points = |f: &dyn Fn(f64) -> f64| (0..=96).map(|at| (f64::from(at) / 2.0, f(f64::from(at) / 2.0))).collect();
    let panel = Panel::new(
        Axis::new("threads in the memory system k", "warps"),
        Axis::new("memory throughput", "requests/cycle"),
    )
    .right(Axis::new("computation throughput", "operations/cycle").range(0.0, 20.0))
    .series(Series::line("f(k), supply", points(&supply)))
    .series(Series::line("g(n − k) / Z, demand", points(&demand)))
    .series(Series::line("f(k) before", points(&|k| 0.8 * supply(k))).colored(0).dashed(Dash::Dotted))
    .series(
        Series::points(
            "intersections",
            vec![
                Point::new(31.5, 0.099).labeled("reached from CS"),
                Point::new(24.0, 0.11).labeled("unstable").hollow(),
            ],
        )
        .colored(6)
        .marked(Marker::Circle),
    )
    .mark(Mark::vertical(28.0, "n − π"))
    .mark(Mark::vertical(20.0, "δ = R L"))
    .mark(Mark::vertical(12.0, "ψ, the cache's peak"))
    .mark(Mark::horizontal(0.1, "R, sustained bandwidth of the memory"))
    .mark(Mark::columns(f64::NEG_INFINITY, 20.0, "thread bound"))
    .mark(Mark::columns(20.0, f64::INFINITY, "memory bound"))
    .mark(Mark::arrow((31.5, 0.08), (31.5, 0.097), "with twice R"));
    Figure::new("x-graph", "X-graph of a kernel on a GPU", panel)
        .caption("Where demand and supply meet is the state that the machine settles in. Hollow points are not stable.")
}

/// Logarithmic axes with labelled points.
fn roofline() -> Figure {
    let roof = |peak: f64, bandwidth: f64| vec![(0.01, bandwidth * 0.01), (peak / bandwidth, peak), (1000.0, peak)];
    let panel = Panel::new(
        Axis::new("arithmetic intensity", "flop/B").scaled(Scale::Log10),
        Axis::new("throughput", "Gflop/s").scaled(Scale::Log10),
    )
    .series(Series::line("h200", roof(66_900.0, 4800.0)))
    .series(Series::line("c1060", roof(622.0, 102.0)))
    .series(Series::points(
        "",
        vec![
            Point::new(0.083, 350.0).labeled("vector_add"),
            Point::new(2.0, 5000.0).labeled("matmul_naive"),
            Point::new(2.1, 5200.0).labeled("matmul_tiled"),
            Point::new(2.2, 5100.0).labeled("matmul_packed"),
        ],
    ));
    Figure::new("roofline", "Rooflines", panel)
}

/// Stacked and grouped bars.
fn stacks() -> Figure {
    let gpus = ["h200", "a100-80", "GeForce GTX 570"];
    let panel = Panel::new(Axis::names("GPU", gpus), Axis::new("time", "us"))
        .series(Series::bars("memory", vec![Some(3.0), Some(4.5), Some(60.0)], 0))
        .series(Series::bars("computation", vec![Some(1.0), Some(1.5), Some(20.0)], 0))
        .series(Series::bars("synchronisation", vec![Some(0.5), None, Some(8.0)], 0))
        .series(Series::bars("roofline", vec![Some(2.5), Some(4.0), None], 1));
    Figure::new("stacks", "Time by model", panel)
}

/// Lanes with segments.
fn timeline() -> Figure {
    let lanes: Vec<String> = (0..5).map(|warp| format!("warp {warp}")).collect();
    let computation = (0..5).map(|lane| Segment {
        lane,
        start: 10.0 * lane as f64,
        end: 10.0 * (lane + 1) as f64,
        label: String::new(),
    });
    let memory = (0..5).map(|lane| Segment {
        lane,
        start: 10.0 * (lane + 1) as f64,
        end: 10.0 * (lane + 1) as f64 + 120.0,
        label: format!("M{lane}"),
    });
    let panel = Panel::new(Axis::new("time", "cycles"), Axis::names("", lanes))
        .series(Series::segments("computation", computation.collect()))
        .series(Series::segments("memory", memory.collect()))
        .mark(Mark::vertical(50.0, "CWP"));
    Figure::new("timeline", "Warps of one SM", panel)
}

/// Fields with values.
fn heat_map() -> Figure {
    let cell = |row: usize, column: usize| {
        let value = 10.0 / (1.0 + row as f64) + 3.0 * column as f64;
        let known = (row, column) != (2, 3);
        HeatCell {
            column,
            row,
            value: known.then_some(value),
            label: if known { format!("{value:.1}") } else { "–".to_owned() },
            framed: (row, column) == (3, 0),
        }
    };
    let cells = (0..4).flat_map(|row| (0..4).map(move |column| cell(row, column))).collect();
    let rows = ["plain", "shared memory", "unroll and jam", "vector loads"];
    let panel = Panel::new(Axis::names("block size", ["64", "128", "192", "256"]), Axis::names("variant", rows))
        .series(Series::cells("time (us)", cells));
    Figure::new("heat-map", "Variants by block size", panel)
}

/// Points around the diagonal.
fn sign_plot() -> Figure {
    let points = [(1.0, 1.05), (3.0, 2.4), (10.0, 11.5), (30.0, 31.0), (80.0, 60.0)];
    let points = points.into_iter().enumerate().map(|(at, (x, y))| Point::new(x, y).labeled(format!("k{at}")));
    let panel =
        Panel::new(Axis::new("measured", "us").scaled(Scale::Log10), Axis::new("predicted", "us").scaled(Scale::Log10))
            .mark(Mark::band(0.9, 1.1, "±10 %"))
            .mark(Mark::diagonal(1.0, "as measured"))
            .series(Series::points("h200", points.collect()))
            .series(Series::points("c1060", vec![Point::new(2.0, 2.0), Point::new(60.0, 90.0).hollow()]));
    Figure::new("sign-plot", "Prediction against measurement", panel)
}

/// Three panels with one legend.
fn resources() -> Figure {
    let panel = |name: &str, unit: &str, to: f64| {
        let stairs = (1..=8).map(|at| (to * f64::from(at) / 8.0, 1.0 / f64::from(at))).collect();
        Panel::new(
            Axis::new(name, unit).scaled(Scale::Linear),
            Axis::new("occupancy", "").scaled(Scale::Percent).range(0.0, 1.0),
        )
        .titled(format!("By {name}"))
        .series(Series::step("h200", stairs))
        .series(Series::new("this kernel", Data::Points(vec![Point::new(to / 2.0, 0.25).labeled("registers")])))
        .mark(Mark::vertical(to / 2.0, ""))
    };
    let panels = vec![
        panel("block size", "threads", 1024.0),
        panel("registers", "per thread", 255.0),
        panel("shared memory", "KiB", 227.0),
    ];
    Figure::of_panels("resources", "Occupancy against each resource", panels, 3)
}
