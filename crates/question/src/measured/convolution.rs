//! A 15x15 convolution of a 4096x4096 image on an RTX 2080 Ti, the filter in constant memory (HiPerCoRe/KTT): 120
//! configurations of its 5,280.
//!
//! A CTA loads the part of the image that its points need into shared memory; then a thread sums up the products of
//! some points, which lie a CTA's width and height apart, with the loops over the filter unrolled as a whole. The PTX
//! of all configurations would take 17 MB, so that it is [written](Shape::ptx) here for one configuration at a time, in
//! the manner of NVRTC 12.3: a number of the image that several points share is loaded once.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use warplens_launch::Launch;

use super::counters::Counter;
use super::{BYTES_PER_SECTOR, Held, Kernels, Row, Set, figures, lines, set_of};

const NAME: &str = "validation/measured/convolution-rtx2080ti.csv";
const TABLE: &str = include_str!("../../validation/measured/convolution-rtx2080ti.csv");

/// The GPU at the clock that the counters say.
pub const GPU: &str = "rtx2080ti@1797";
/// Columns and rows of the result.
const SIZE: u32 = 4096;
/// Columns and rows of the filter.
const FILTER: u32 = 15;
/// Columns and rows of the image, which has a margin.
const IMAGE: u32 = SIZE + FILTER - 1;
/// From so many points per thread on, the compiler does not unroll the loop over the rows of the filter as a whole: what
/// was loaded for some rows is not kept for others.
const MANY_POINTS: u32 = 24;
/// The rows of the filter that are unrolled then, which the counters of shared memory say best.
const ROWS_TOGETHER: u32 = 2;
/// Loads of the image that are written down: three for what does not fill four steps, and four.
const LOADS: u32 = 7;
/// Numbers in the constant memory of the measured kernels, of which the filter takes a part.
const CONSTANTS: u32 = 33 * 33;

/// What distinguishes one kernel from another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Columns and rows of threads in a CTA.
    pub block: [u32; 2],
    /// Points of a thread along a row and along a column.
    pub tile: [u32; 2],
    /// Whether rows in shared memory were to be kept apart, so that fewer of their numbers share a bank. The kernels that
    /// were measured do not do so: their shared memory is as large, and its wavefronts are as many, as without.
    pub padding: bool,
    /// Whether the image is read through the read-only cache.
    pub read_only: bool,
}

/// A measured configuration.
#[derive(Clone, PartialEq, Debug)]
pub struct Configuration {
    /// Line of the table, from 1.
    pub line: usize,
    /// Its kernel.
    pub shape: Shape,
    /// Everything measured, by column.
    pub values: BTreeMap<String, f64>,
    /// Whether it may be looked at while something is chosen.
    pub set: Set,
}

/// The table.
pub fn configurations() -> Vec<Configuration> {
    let configuration = |(line, fields): (usize, BTreeMap<&str, &str>)| {
        let values = figures(&fields);
        let whole = |name: &str| values[name] as u32;
        let shape = Shape {
            block: [whole("block_x"), whole("block_y")],
            tile: [whole("tile_x"), whole("tile_y")],
            padding: whole("padding") == 1,
            read_only: whole("read_only") == 1,
        };
        Configuration { line, shape, set: set_of(&fields), values }
    };
    lines(TABLE).map(configuration).collect()
}

impl Configuration {
    /// What was measured.
    pub fn of(&self, column: &str) -> f64 {
        self.values[column]
    }

    /// What the profiler counted.
    fn counters(&self) -> Vec<(Counter, f64)> {
        let sum = |one: &str, other: &str| self.of(one) + self.of(other);
        vec![
            (Counter::Instructions, self.of("instructions")),
            (Counter::ThreadFp32, self.of("thread_fp32")),
            (Counter::GlobalLoads, self.of("global_loads")),
            (Counter::SharedWavefronts, sum("shared_load_wavefronts", "shared_store_wavefronts")),
            (Counter::DramBytes, BYTES_PER_SECTOR * sum("dram_read_sectors", "dram_write_sectors")),
        ]
    }

    /// The launch.
    pub fn launch(&self) -> Launch {
        let Shape { block: [x, y], .. } = self.shape;
        let [across, down] = self.shape.points();
        let mut launch = Launch {
            grid: Some([SIZE.div_ceil(across), SIZE.div_ceil(down), 1]),
            block: Some([x, y, 1]),
            registers: Some(self.of("registers") as u32),
            ..Launch::default()
        };
        for count in [SIZE * SIZE, IMAGE * IMAGE] {
            launch.add_argument(&format!("f32[{count}]")).expect("the arguments are the project's own");
        }
        launch
    }
}

/// The table as rows.
pub(super) fn held() -> Held {
    let row = |of: Configuration| Row {
        table: NAME.to_owned(),
        line: of.line,
        kernel: Some(of.shape.name()),
        gpu: GPU.to_owned(),
        measured_us: of.of("time_us"),
        predicted_us: None,
        model: None,
        bound_by: None,
        simulated: None,
        name: None,
        input: Some(Kernels::Convolution(of.shape)),
        launch_file: None,
        launch: Some(of.launch()),
        ctas: None,
        class: Some("convolution".to_owned()),
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

impl Shape {
    /// What rows call it.
    pub fn name(&self) -> String {
        let Self { block: [x, y], tile: [across, down], padding, read_only } = self;
        let suffix = |is: bool, text| if is { text } else { "" };
        format!("{x}x{y}_{across}x{down}{}{}", suffix(*padding, "_padded"), suffix(*read_only, "_nc"))
    }

    /// Columns and rows of the result that a CTA has.
    fn points(&self) -> [u32; 2] {
        [self.block[0] * self.tile[0], self.block[1] * self.tile[1]]
    }

    /// Columns and rows of the image that a CTA needs.
    fn part(&self) -> [u32; 2] {
        self.points().map(|points| points + FILTER - 1)
    }

    /// Bytes of shared memory.
    pub fn shared_bytes(&self) -> u32 {
        4 * self.part().iter().product::<u32>()
    }

    /// Whether the CTAs cover the result exactly. Where they do not, all of their accesses are guarded.
    fn is_even(&self) -> bool {
        self.points().iter().all(|points| SIZE.is_multiple_of(*points))
    }

    /// The kernel.
    pub fn ptx(&self) -> String {
        let mut body = String::new();
        self.write_loading(&mut body);
        let values = self.write_sums(&mut body);
        self.write_results(&mut body);
        let mut text = format!(
            ".version 8.3\n.target sm_75\n.address_size 64\n.const .align 4 .b8 weights[{}];\n\
             .visible .entry convolution(.param .u64 output, .param .u64 input)\n{{\n\
             .shared .align 4 .b8 part[{}];\n\
             .reg .pred %outside, %last, %done, %p, %guard<{LOADS}>;\n\
             .reg .b32 %tx, %ty, %bx, %by, %left, %column, %y, %first_row, %first_column, %steps, %rest, %x, %row;\n\
             .reg .b64 %input, %output, %source, %target, %from, %to, %wide;\n.reg .f32 %weight<{}>, %fetched<{LOADS}>",
            4 * CONSTANTS,
            self.shared_bytes(),
            FILTER * FILTER,
        );
        values.iter().for_each(|(down, across)| put(&mut text, format_args!(", %v{down}_{across}")));
        self.each_point(|i, j| put(&mut text, format_args!(", %s{i}_{j}")));
        text.push_str(";\n");
        text + &body + "ret;\n}\n"
    }

    fn each_point(&self, mut of: impl FnMut(u32, u32)) {
        (0..self.tile[1]).for_each(|i| (0..self.tile[0]).for_each(|j| of(i, j)));
    }

    /// The part of the image that the CTA needs into shared memory. The loop over columns takes what does not fill four
    /// steps first, then four at a time.
    fn write_loading(&self, text: &mut String) {
        let ([block_x, block_y], [points_x, points_y]) = (self.block, self.points());
        let [columns, rows] = self.part();
        let (step, pitch, whole) = (4 * block_x, 4 * columns, columns / block_x);
        put(
            text,
            format_args!(
                "ld.param.u64 %input, [input];\nld.param.u64 %output, [output];\n\
                 cvta.to.global.u64 %input, %input;\ncvta.to.global.u64 %output, %output;\n\
                 mov.u32 %tx, %tid.x;\nmov.u32 %ty, %tid.y;\nmov.u32 %bx, %ctaid.x;\nmov.u32 %by, %ctaid.y;\n\
                 mul.lo.s32 %first_column, %bx, {points_x};\nmul.lo.s32 %first_row, %by, {points_y};\n\
                 add.s32 %column, %first_column, %tx;\n\
                 setp.lt.s32 %last, %tx, {};\nselp.b32 %steps, {}, {whole}, %last;\nand.b32 %rest, %steps, 3;\n\
                 mov.u32 %y, %ty;\nROW:\nadd.s32 %row, %first_row, %y;\nmad.lo.s32 %x, %row, {IMAGE}, %column;\n\
                 mul.wide.s32 %from, %x, 4;\nadd.s64 %from, %input, %from;\n\
                 mov.u64 %to, part;\nmul.wide.s32 %wide, %y, {pitch};\nadd.s64 %to, %to, %wide;\n\
                 mul.wide.s32 %wide, %tx, 4;\nadd.s64 %to, %to, %wide;\n\
                 setp.gt.s32 %outside, %row, {};\nmov.u32 %x, %column;\n",
                columns - whole * block_x,
                whole + 1,
                IMAGE - 1
            ),
        );
        for done in 0..3 {
            put(text, format_args!("setp.eq.s32 %done, %rest, {done};\n@%done bra FOURS;\n"));
            self.write_load(text, 0, done);
            put(
                text,
                format_args!("add.s64 %from, %from, {step};\nadd.s64 %to, %to, {step};\nadd.s32 %x, %x, {block_x};\n"),
            );
        }
        text.push_str(
            "FOURS:\nsub.s32 %left, %steps, %rest;\nsetp.eq.s32 %done, %left, 0;\n@%done bra ENDED;\nFOUR:\n",
        );
        (0..4).for_each(|at| self.write_load(text, at, 3 + at));
        put(
            text,
            format_args!(
                "add.s64 %from, %from, {};\nadd.s64 %to, %to, {};\nadd.s32 %x, %x, {};\n\
                 add.s32 %left, %left, -4;\nsetp.gt.s32 %p, %left, 0;\n@%p bra FOUR;\nENDED:\n\
                 add.s32 %y, %y, {block_y};\nsetp.lt.s32 %p, %y, {rows};\n@%p bra ROW;\nbar.sync 0;\n",
                4 * step,
                4 * step,
                4 * block_x
            ),
        );
    }

    /// One number of the image, `at` steps on; the `number`-th of all that are written down.
    fn write_load(&self, text: &mut String, at: u32, number: u32) {
        let offset = at * self.block[0];
        let load = if self.read_only { "ld.global.nc.f32" } else { "ld.global.f32" };
        let guard = if self.is_even() { String::new() } else { format!("@!%guard{number} ") };
        if !self.is_even() {
            put(text, format_args!("setp.gt.or.s32 %guard{number}, %x, {}, %outside;\n", IMAGE - 1 - offset));
        }
        let bytes = 4 * offset;
        put(
            text,
            format_args!(
                "{guard}{load} %fetched{number}, [%from+{bytes}];\n\
                 {guard}st.shared.f32 [%to+{bytes}], %fetched{number};\n"
            ),
        );
    }

    /// The sums, and the row and column of each number of the image that they take.
    fn write_sums(&self, text: &mut String) -> BTreeSet<(u32, u32)> {
        let (mut loaded, mut values) = (BTreeSet::new(), BTreeSet::new());
        let [columns, _] = self.part();
        let has_many_points = self.tile[0] * self.tile[1] >= MANY_POINTS;
        put(
            text,
            format_args!(
                "mov.u64 %to, part;\nmul.wide.s32 %wide, %ty, {};\nadd.s64 %to, %to, %wide;\n\
                 mul.wide.s32 %wide, %tx, 4;\nadd.s64 %to, %to, %wide;\n",
                4 * columns
            ),
        );
        for place in 0..FILTER * FILTER {
            let (y, x) = (place / FILTER, place % FILTER);
            if has_many_points && place % (ROWS_TOGETHER * FILTER) == 0 {
                values.append(&mut loaded);
            }
            put(text, format_args!("ld.const.f32 %weight{place}, [weights+{}];\n", 4 * place));
            self.each_point(|i, j| {
                let (down, across) = (y + i * self.block[1], x + j * self.block[0]);
                if loaded.insert((down, across)) {
                    let offset = 4 * (down * columns + across);
                    put(text, format_args!("ld.shared.f32 %v{down}_{across}, [%to+{offset}];\n"));
                }
                let before = if place == 0 { "0f00000000".to_owned() } else { format!("%s{i}_{j}") };
                put(text, format_args!("fma.rn.f32 %s{i}_{j}, %v{down}_{across}, %weight{place}, {before};\n"));
            });
        }
        values.append(&mut loaded);
        values
    }

    fn write_results(&self, text: &mut String) {
        put(
            text,
            format_args!(
                "add.s32 %row, %first_row, %ty;\nshl.b32 %x, %row, 12;\nadd.s32 %x, %x, %column;\n\
                 mul.wide.s32 %wide, %x, 4;\nadd.s64 %output, %output, %wide;\n"
            ),
        );
        for i in 0..self.tile[1] {
            let down = i * self.block[1];
            if !self.is_even() {
                put(text, format_args!("setp.gt.s32 %outside, %row, {};\n", i64::from(SIZE - 1) - i64::from(down)));
            }
            for j in 0..self.tile[0] {
                let across = j * self.block[0];
                let guard = if self.is_even() { "" } else { "@!%p " };
                if !self.is_even() {
                    put(text, format_args!("setp.gt.or.s32 %p, %column, {}, %outside;\n", SIZE - 1 - across));
                }
                put(text, format_args!("{guard}st.global.f32 [%output+{}], %s{i}_{j};\n", 4 * (SIZE * down + across)));
            }
        }
    }
}

fn put(text: &mut String, what: std::fmt::Arguments<'_>) {
    text.write_fmt(what).expect("strings take everything");
}
