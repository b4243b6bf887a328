//! 210 configurations of the direct Coulomb summation on an RTX 2080 Ti (HiPerCoRe/KTT).

use std::collections::BTreeMap;

use warplens_launch::Launch;

use super::counters::Counter;
use super::{BYTES_PER_SECTOR, Held, Kernels, Row, Set, figures, lines, set_of};

const NAME: &str = "validation/measured/coulomb-rtx2080ti.csv";
const TABLE: &str = include_str!("../../validation/measured/coulomb-rtx2080ti.csv");
/// The kernels; they are our own, compiled by another version of the compiler than the measured ones.
pub const PTX: &str = include_str!("../../validation/coulomb/sm_75.ptx");

/// The GPU at the clock that the counters say.
pub const GPU: &str = "rtx2080ti@1350";
/// Points along each edge of the grid.
pub const SIZE: u64 = 256;
/// Point charges. The figures come without their number; three counters say it.
pub const CHARGES: u64 = 64;

/// A measured configuration.
#[derive(Clone, PartialEq, Debug)]
pub struct Configuration {
    /// Line of the table, from 1.
    pub line: usize,
    /// Layout of the charges.
    pub layout: String,
    /// Points of a thread.
    pub z: u64,
    /// How far the loop over them is unrolled.
    pub unroll: u64,
    /// Threads of a CTA.
    pub block: [u64; 2],
    /// Everything measured, by column.
    pub values: BTreeMap<String, f64>,
    /// Whether it may be looked at while something is chosen.
    pub set: Set,
}

impl Configuration {
    /// Name of the kernel.
    pub fn kernel(&self) -> String {
        format!("{}_z{}_unroll{}", self.layout, self.z, self.unroll)
    }

    /// What was measured.
    pub fn of(&self, column: &str) -> f64 {
        self.values[column]
    }

    /// What the profiler counted.
    fn counters(&self) -> Vec<(Counter, f64)> {
        let sectors = self.of("dram_read_sectors") + self.of("dram_write_sectors");
        vec![
            (Counter::Instructions, self.of("instructions")),
            (Counter::ThreadFp32, self.of("thread_fp32")),
            (Counter::GlobalLoads, self.of("global_loads")),
            (Counter::DramBytes, BYTES_PER_SECTOR * sectors),
        ]
    }

    /// Threads of the launch.
    pub fn threads(&self) -> f64 {
        (SIZE * SIZE * SIZE / self.z) as f64
    }

    /// The launch.
    pub fn launch(&self) -> Launch {
        let small = |value: u64| u32::try_from(value).expect("grids are small");
        let [x, y] = self.block;
        let mut launch = Launch {
            kernel: Some(self.kernel()),
            grid: Some([small(SIZE / x), small(SIZE / y), small(SIZE / self.z)]),
            block: Some([small(x), small(y), 1]),
            registers: Some(self.of("registers") as u32),
            ..Launch::default()
        };
        let uniform = |count: u64, high: &str, seed: u32| format!("f32[{count}]:uniform(0, {high}, {seed})");
        let charges = match self.layout.as_str() {
            "aos" => vec![uniform(4 * CHARGES, "20", 1)],
            _ => (1..=4).map(|seed| uniform(CHARGES, "20", seed)).collect(),
        };
        let others = [CHARGES.to_string(), "0.5".to_owned(), SIZE.to_string(), format!("f32[{}]", SIZE * SIZE * SIZE)];
        let arguments = charges.into_iter().chain(others);
        arguments.for_each(|text| launch.add_argument(&text).expect("the arguments are the project's own"));
        launch
    }
}

/// The table.
pub fn configurations() -> Vec<Configuration> {
    let configuration = |(line, fields): (usize, BTreeMap<&str, &str>)| {
        let values = figures(&fields);
        let whole = |name: &str| values[name] as u64;
        let (layout, block) = (fields["layout"].to_owned(), [whole("block_x"), whole("block_y")]);
        Configuration { line, layout, z: whole("z"), unroll: whole("unroll"), block, set: set_of(&fields), values }
    };
    lines(TABLE).map(configuration).collect()
}

/// The table as rows.
pub(super) fn held() -> Held {
    let row = |of: Configuration| Row {
        table: NAME.to_owned(),
        line: of.line,
        kernel: Some(of.kernel()),
        gpu: GPU.to_owned(),
        measured_us: of.of("time_us"),
        predicted_us: None,
        model: None,
        bound_by: None,
        simulated: None,
        name: None,
        input: Some(Kernels::Held { name: "validation/coulomb/sm_75.ptx", ptx: PTX }),
        launch_file: None,
        launch: Some(of.launch()),
        ctas: None,
        class: Some("direct Coulomb summation".to_owned()),
        parameter: None,
        clock_cycles: None,
        caches: None,
        set: Some(of.set),
        instead_of: None,
        read: None,
        counters: of.counters(),
    };
    Held { name: NAME, rows: configurations().into_iter().map(row).collect(), left_out: None }
}
