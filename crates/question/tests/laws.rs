//! Laws that every answer of the timing simulation obeys, over kernels, GPUs and sizes: it is not below the speed of
//! light, more work never takes less time, and twice the CTAs in many waves take twice the time. And what it is said to be
//! bound by is what it waits for: issue slots bound nothing that a unit paces which is busier.

use rayon::prelude::*;
use warplens_launch::Launch;
use warplens_machine::Key;
use warplens_model::{ModelId, Options, Resource};
use warplens_session::machines::{self, Machine};
use warplens_session::predict::{Choice, measured_on};
use warplens_session::profile::Counting;
use warplens_session::toolchain::Search;
use warplens_session::{ExecutionOptions, Measurement, Program, Progress, measure};
use warplens_sim::UnitKind;

const GPUS: &[&str] = &["k40", "gtx750ti", "p100", "rtx2080ti", "v100-pcie", "a100-80", "rtx4090", "h200"];

/// Time that more work may save: what other CTAs on other SMs change.
const LESS: f64 = 0.01;
/// How far from twice the time twice the CTAs may be.
const TWICE: f64 = 0.03;
/// Waves of the smaller launch from which on that is asked. The start and the end of a launch take as long as a part of a
/// wave, once, and a half-filled wave as long as a full one: of fewer waves that is more than what is allowed.
const MANY_WAVES: f64 = 16.0;

/// Share of the time from which on a unit bounds what waits for it.
const BUSY: f64 = 0.6;

/// A kernel and its launch by a number of steps that each double the work.
struct Case {
    ptx: &'static str,
    kernel: &'static str,
    /// Grid, block and arguments.
    launch: fn(u64) -> (String, &'static str, Vec<String>),
    /// All CTAs do the same, and a step doubles them.
    doubles: bool,
}

fn words(list: &[&str], n: u64) -> Vec<String> {
    list.iter().map(|word| word.replace("{n}", &n.to_string())).collect()
}

const CASES: &[Case] = &[
    Case {
        ptx: "examples/vector_add/ptx/sm_80.ptx",
        kernel: "vector_add",
        launch: |step| {
            let n = 1 << (18 + step);
            (format!("{}", n / 256), "256", words(&["f32[{n}]", "f32[{n}]", "f32[{n}]", "{n}"], n))
        },
        doubles: true,
    },
    Case {
        ptx: "examples/black_scholes/ptx/sm_80.ptx",
        kernel: "black_scholes",
        launch: |step| {
            let n = 1 << (17 + step);
            let args = [
                "f32[{n}]:fill(20)",
                "f32[{n}]:fill(50)",
                "f32[{n}]:fill(3)",
                "f32[{n}]",
                "f32[{n}]",
                "0.02",
                "0.3",
                "{n}",
            ];
            (format!("{}", n / 256), "256", words(&args, n))
        },
        doubles: true,
    },
    Case { ptx: "examples/layout_aos/ptx/sm_80.ptx", kernel: "layout_aos", launch: particles, doubles: true },
    Case { ptx: "examples/layout_soa/ptx/sm_80.ptx", kernel: "layout_soa", launch: particles, doubles: true },
    Case {
        ptx: "examples/histogram_atomics/ptx/sm_80.ptx",
        kernel: "histogram_atomics",
        launch: |step| {
            let n = 1 << (17 + step);
            ("128".into(), "256", words(&["u8[{n}]:uniform(0,255,1)", "u32[256]", "{n}"], n))
        },
        doubles: false,
    },
    Case {
        ptx: "examples/reduction_shuffle/ptx/sm_80.ptx",
        kernel: "reduction_shuffle",
        launch: |step| {
            let n = 1 << (19 + step);
            ("256".into(), "256", words(&["f32[{n}]", "f32[1024]", "{n}"], n))
        },
        doubles: false,
    },
    Case {
        ptx: "examples/sepia/ptx/sm_80.ptx",
        kernel: "sepia",
        launch: |step| picture(512, 256 << step),
        doubles: true,
    },
    Case {
        ptx: "examples/linear/ptx/sm_80.ptx",
        kernel: "linear",
        launch: |step| picture(256, 128 << step),
        doubles: true,
    },
    Case {
        ptx: "examples/mandelbrot/ptx/sm_80.ptx",
        kernel: "mandelbrot",
        launch: |step| {
            let args = ["u32[1<<16]", "256", "256", "-2.0", "1.25", "0.009765625"].map(str::to_owned);
            ("[8, 32]".into(), "[32, 8]", [args.as_slice(), &[(32 << step).to_string()]].concat())
        },
        doubles: false,
    },
    Case {
        ptx: "examples/matmul_naive/ptx/sm_80.ptx",
        kernel: "matmul_naive",
        launch: |step| square(64 << step),
        doubles: false,
    },
    Case {
        ptx: "examples/matmul_tiled/ptx/sm_80.ptx",
        kernel: "matmul_tiled",
        launch: |step| square(64 << step),
        doubles: false,
    },
    Case {
        ptx: "examples/abt_conflict/ptx/sm_80.ptx",
        kernel: "abt_conflict",
        launch: |step| square(64 << step),
        doubles: false,
    },
    Case {
        ptx: "validation/carrying_on/irregular.ptx",
        kernel: "spmv_ell",
        // Rows of twice as many elements, and not twice as many rows: blocks that gather from one array load its lines for
        // each other, so that a launch whose time is that of its latencies takes less with more of them
        // (`crates/sim/tests/engine/sharing.rs`).
        launch: |step| {
            let (n, most) = (1 << 15, 6 << step);
            let args = vec![
                format!("s32[{n}]:uniform(0,{most},1)"),
                format!("s32[{}]:uniform(0,8191,2)", most * n),
                format!("f32[{}]", most * n),
                "f32[8192]".into(),
                format!("f32[{n}]"),
                n.to_string(),
            ];
            (format!("{}", n / 128), "128", args)
        },
        doubles: false,
    },
    Case {
        ptx: "validation/carrying_on/irregular.ptx",
        kernel: "collatz",
        launch: |step| {
            let n = 1 << (13 + step);
            (format!("{}", n / 128), "128", words(&["u32[{n}]:uniform(1,100000,3)", "u32[{n}]", "{n}"], n))
        },
        doubles: false,
    },
    Case {
        ptx: "validation/laws/broadcast.ptx",
        kernel: "broadcast",
        launch: |step| ("512".into(), "128", words(&["f32[65536]", "f32[512]", "{n}"], 1 << step)),
        doubles: false,
    },
    Case {
        ptx: "validation/carrying_on/irregular.ptx",
        kernel: "point_in_polygon",
        launch: |step| {
            let n = 1 << (15 + step);
            let args = vec![
                format!("f32[{}]:uniform(-1,1,4)", 2 * n),
                "f32[128]:uniform(-1,1,5)".into(),
                format!("s32[{n}]"),
                n.to_string(),
                "64".into(),
            ];
            (format!("{}", n / 128), "128", args)
        },
        doubles: true,
    },
];

/// Particles of eight numbers each.
fn particles(step: u64) -> (String, &'static str, Vec<String>) {
    let n = 1 << (16 + step);
    let sizes = [format!("f32[{}]", 8 * n), n.to_string()];
    (format!("{}", n / 256), "256", [sizes.as_slice(), &["0.5", "-0.25", "0.125", "0.01"].map(str::to_owned)].concat())
}

/// A picture of so many columns and rows.
fn picture(columns: u64, rows: u64) -> (String, &'static str, Vec<String>) {
    let pixels = 3 * columns * rows;
    let args = vec![format!("f32[{pixels}]:fill(9)"), format!("f32[{pixels}]"), columns.to_string(), rows.to_string()];
    (format!("[{}, {}]", columns / 16, rows / 16), "[16, 16]", args)
}

fn square(n: u64) -> (String, &'static str, Vec<String>) {
    let matrix = || format!("f32[{}]", n * n);
    (format!("[{0}, {0}]", n / 16), "[16, 16]", vec![matrix(), matrix(), matrix(), n.to_string()])
}

const STEPS: u64 = 5;

fn measured(case: &Case, step: u64, machines: &[Machine]) -> Measurement {
    let path = format!("{}/../../{}", env!("CARGO_MANIFEST_DIR"), case.ptx);
    let program = Program::from_ptx(case.ptx, std::fs::read_to_string(path).expect("the kernel")).expect("it is sound");
    let (grid, block, args) = (case.launch)(step);
    let text = format!("kernel = \"{}\"\ngrid = {grid}\nblock = {block}\nargs = {args:?}\n", case.kernel);
    let launch = Launch::parse_file(case.kernel, &text).expect("a launch").remove(0);
    let mut options = ExecutionOptions::new();
    options.traced_for = machines.to_vec();
    let measurements = measure(&program, &[launch], options, Counting::Ptx, &Search::default(), &Progress::default());
    measurements.expect("the kernel runs").remove(0)
}

/// Seconds of the CTAs by the timing simulation, and waves of the launch.
fn seconds(measurement: &Measurement, machine: &Machine) -> Result<(f64, f64), String> {
    let choice = Choice::Named(vec![ModelId::Teg, ModelId::SpeedOfLight]);
    let gpu = measured_on(measurement, machine, &choice, Options::default());
    let of = |at: usize| gpu.answers[at].result.as_ref().map_err(ToString::to_string);
    let (teg, light) = (of(0)?, of(1)?);
    let simulated = teg.teg().expect("it is the simulation's");
    if teg.seconds().0 < light.seconds().0 * (1.0 - 1e-9) {
        return Err(format!(
            "{:.3} us are below the speed of light, {:.3}",
            1e6 * teg.seconds().0,
            1e6 * light.seconds().0
        ));
    }
    if teg.limiter() == Resource::Issue {
        let issuing = teg.terms[0].cycles.0 / simulated.cycles();
        let outcome = &simulated.outcome;
        let busy = outcome.units.iter().map(|unit| (unit.kind, unit.utilisation(outcome.cycles)));
        let mut busier = busy.filter(|&(kind, busy)| kind != UnitKind::Issue && busy >= BUSY && busy > issuing);
        if let Some((kind, busy)) = busier.next() {
            return Err(format!("bound by issue slots, {issuing:.3} of the time, but {kind:?} is busy for {busy:.3}"));
        }
    }
    // What the launch itself takes is there once, however much there is to do.
    let seconds = simulated.cycles() / teg.clock.0;
    Ok((seconds, f64::from(simulated.share.ctas) / f64::from(simulated.share.resident)))
}

/// Bytes of memory that a launch touches.
fn touched(measurement: &Measurement) -> f64 {
    let profile = &measurement.profile;
    32.0 * (profile.distinct_sectors_read + profile.distinct_sectors_written) as f64
}

fn l2(machine: &Machine) -> f64 {
    machine.number(Key::L2Size).expect("stated")
}

/// The laws that a kernel breaks on some GPU.
fn broken(case: &Case, machines: &[Machine]) -> Vec<String> {
    let mut broken = Vec::new();
    let mut before: Vec<Option<(f64, f64)>> = vec![None; machines.len()];
    let mut touched_before = 0.0;
    for step in 0..STEPS {
        let measurement = measured(case, step, machines);
        let touched = touched(&measurement);
        for (machine, before) in machines.iter().zip(&mut before) {
            let mut say = |what: String| broken.push(format!("{} step {step} on {}: {what}", case.kernel, machine.id));
            let now = match seconds(&measurement, machine) {
                Ok(now) => now,
                Err(what) => {
                    say(what);
                    continue;
                }
            };
            if let Some((time, waves)) = *before {
                let ratio = now.0 / time;
                if ratio < 1.0 - LESS {
                    say(format!("twice the work takes {ratio:.3} times the time"));
                }
                let sides = [touched_before, touched].map(|bytes| bytes > l2(machine));
                let is_asked = case.doubles && waves >= MANY_WAVES && sides[0] == sides[1];
                if is_asked && (ratio / 2.0 - 1.0).abs() > TWICE {
                    say(format!("twice the blocks take {ratio:.3} times the time of {waves:.1} waves"));
                }
            }
            *before = Some(now);
        }
        touched_before = touched;
    }
    broken
}

#[test]
fn answers_obey_the_laws() {
    let machines: Vec<Machine> = GPUS.iter().map(|gpu| machines::one(gpu).expect("a built-in machine")).collect();
    let broken: Vec<String> = CASES.par_iter().flat_map(|case| broken(case, &machines)).collect();
    assert!(broken.is_empty(), "{} laws are broken:\n{}", broken.len(), broken.join("\n"));
}
