//! Streaming kernels on V100, A100 and H200, with two CTAs on each SM and every number of warps in them (`gpu-stream` of
//! te42kyfo/gpu-benches).

use std::collections::BTreeMap;

use warplens_launch::Launch;

use super::{Held, Kernels, Row, Set, lines, set_of};

const NAME: &str = "validation/measured/stream-occupancy.csv";
const TABLE: &str = include_str!("../../validation/measured/stream-occupancy.csv");
/// The kernels, compiled for all GPUs alike.
pub const PTX: &str = include_str!("../../validation/stream/sm_80.ptx");

/// Elements of each array.
pub const N: u64 = 134_217_730;
/// CTAs that an SM holds.
pub const RESIDENT: u32 = 2;

/// A kernel of the table.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Kernel {
    /// Name in the PTX.
    pub name: &'static str,
    /// Name in the measurements.
    pub measured: &'static str,
    /// Arrays of numbers in double precision.
    pub arrays: usize,
    /// A scalar after the arrays.
    pub scalar: Option<&'static str>,
    /// By ptxas 13.5 for sm_80.
    pub registers: u32,
    /// Arrays that the measured bandwidth counts.
    pub moved: f64,
}

/// Every kernel.
pub const KERNELS: &[Kernel] = &[
    Kernel { name: "init", measured: "init", arrays: 1, scalar: Some("0.23"), registers: 8, moved: 1.0 },
    Kernel { name: "read", measured: "read", arrays: 2, scalar: None, registers: 8, moved: 1.0 },
    Kernel { name: "scale", measured: "scale", arrays: 2, scalar: Some("1.2"), registers: 10, moved: 2.0 },
    Kernel { name: "triad", measured: "triad", arrays: 3, scalar: Some("1.2"), registers: 12, moved: 3.0 },
    Kernel { name: "stencil3", measured: "3pt", arrays: 2, scalar: None, registers: 13, moved: 2.0 },
    Kernel { name: "stencil5", measured: "5pt", arrays: 2, scalar: None, registers: 17, moved: 2.0 },
];

/// GPU, its name in the measurements, bytes of shared memory that leave room for two CTAs per SM.
pub const GPUS: &[(&str, &str, u64)] =
    &[("v100-pcie", "v100", 48 << 10), ("a100-80", "a100-80", 80 << 10), ("h200", "h200", 112 << 10)];

/// A measured bandwidth.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Point {
    /// Line of the table, from 1.
    pub line: usize,
    /// Index in [`GPUS`].
    pub gpu: usize,
    /// Index in [`KERNELS`].
    pub kernel: usize,
    /// Warps that an SM holds.
    pub resident_warps: u32,
    /// Bytes per second.
    pub bandwidth: f64,
    /// Whether it may be looked at while something is chosen; where a machine file was fitted to it, it is of training.
    pub set: Set,
}

impl Point {
    /// Seconds of the launch.
    pub fn seconds(&self) -> f64 {
        8.0 * N as f64 * KERNELS[self.kernel].moved / self.bandwidth
    }
}

/// The table.
pub fn points() -> Vec<Point> {
    let point = |(line, fields): (usize, BTreeMap<&str, &str>)| {
        let bandwidth: f64 = fields["bandwidth_gb_s"].parse().ok()?;
        Some(Point {
            line,
            gpu: GPUS.iter().position(|(_, name, _)| *name == fields["gpu"])?,
            kernel: KERNELS.iter().position(|known| known.measured == fields["kernel"])?,
            resident_warps: fields["resident_warps"].parse().ok()?,
            bandwidth: 1e9 * bandwidth,
            set: set_of(&fields),
        })
    };
    lines(TABLE).map(|line| point(line).expect("the table is the project's own")).collect()
}

/// A launch of a kernel with CTAs of `threads`.
pub fn launch(kernel: &Kernel, threads: u64) -> Launch {
    let small = |number: u64| u32::try_from(number).expect("grids and CTAs are small");
    let mut launch = Launch {
        kernel: Some(kernel.name.to_owned()),
        grid: Some([small(N / threads + 1), 1, 1]),
        block: Some([small(threads), 1, 1]),
        registers: Some(kernel.registers),
        ..Launch::default()
    };
    let arrays = (0..kernel.arrays).map(|_| format!("f64[{N}]"));
    let scalars = kernel.scalar.iter().map(|&scalar| scalar.to_owned());
    arrays
        .chain(scalars)
        .chain([N.to_string()])
        .for_each(|text| launch.add_argument(&text).expect("the arguments are the project's own"));
    launch
}

/// The table as rows. All CTAs but the first and the last do the same, so that some of them speak for all.
pub(super) fn held() -> Held {
    let row = |point: Point| {
        let (kernel, (gpu, _, shared)) = (&KERNELS[point.kernel], GPUS[point.gpu]);
        let threads = u64::from(32 * point.resident_warps / RESIDENT);
        Row {
            table: NAME.to_owned(),
            line: point.line,
            kernel: Some(kernel.name.to_owned()),
            gpu: gpu.to_owned(),
            measured_us: 1e6 * point.seconds(),
            predicted_us: None,
            model: None,
            bound_by: None,
            simulated: None,
            name: None,
            input: Some(Kernels::Held { name: "validation/stream/sm_80.ptx", ptx: PTX }),
            launch_file: None,
            launch: Some(Launch { shared: Some(shared), ..launch(kernel, threads) }),
            ctas: Some(1..33),
            class: Some("streaming".to_owned()),
            parameter: None,
            clock_cycles: None,
            caches: None,
            set: Some(point.set),
            instead_of: None,
            read: None,
            counters: Vec::new(),
        }
    };
    Held { name: NAME, rows: points().into_iter().map(row).collect(), left_out: None }
}
