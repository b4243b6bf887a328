//! Launches that are too long are simulated in part and carried on. Here some are simulated whole, too, and then from
//! less and less: what comes out must stay the same.

use std::fmt::Write as _;

use rayon::prelude::*;
use warplens_launch::Launch;
use warplens_machine::Key;
use warplens_model::{Input, Knobs, Model as _, Options, Prediction, teg::Teg};
use warplens_question::measured::convolution;
use warplens_session::machines::{self, Machine};
use warplens_session::profile::Counting;
use warplens_session::toolchain::Search;
use warplens_session::{ExecutionOptions, Measurement, Program, Progress, TraceLimits, measure};
use warplens_sim::launch::CarriedOn;
use warplens_sim::traces::Traces;
use warplens_sim::{Job, simulate, work};

/// Parts of a launch from which it is carried on.
const PARTS: &[u64] = &[2, 4, 8, 16];
/// Largest and mean difference that is allowed, over all kernels and parts, and over windows of long blocks.
const WORST: f64 = 0.08;
const MEAN: f64 = 0.03;

/// A kernel of the examples or of `validation/carrying_on`, and a launch of at least eight waves on a GPU with so many SMs.
struct Case {
    ptx: &'static str,
    launch: &'static str,
    sms: f64,
    /// Warps have different amounts of work, or gather.
    is_irregular: bool,
}

const fn case(ptx: &'static str, launch: &'static str, sms: f64, is_irregular: bool) -> Case {
    Case { ptx, launch, sms, is_irregular }
}

const CASES: &[Case] = &[
    case("examples/vector_add/ptx/sm_80.ptx", "@examples/vector_add/launch-large.toml", 4.0, false),
    case("examples/black_scholes/ptx/sm_80.ptx", "@examples/black_scholes/launch-large.toml", 8.0, false),
    case("examples/layout_aos/ptx/sm_80.ptx", "@examples/layout_aos/launch-large.toml", 1.0, false),
    case("examples/matmul_naive/ptx/sm_80.ptx", "@examples/matmul_naive/launch-512.toml", 8.0, false),
    case("examples/matmul_tiled/ptx/sm_80.ptx", "@examples/matmul_tiled/launch-512.toml", 4.0, false),
    case("examples/abt_conflict/ptx/sm_80.ptx", "@examples/abt_conflict/launch-512.toml", 4.0, false),
    case("examples/sepia/ptx/sm_80.ptx", "@examples/sepia/launch-800.toml", 1.0, false),
    case("examples/mandelbrot/ptx/sm_80.ptx", "@examples/mandelbrot/launch.toml", 2.0, true),
    case("examples/fmm_ulist/ptx/sm_80.ptx", "@examples/fmm_ulist/launch-585.toml", 2.0, true),
    case("examples/histogram_atomics/ptx/sm_80.ptx", "@examples/histogram_atomics/launch.toml", 1.0, true),
    case(
        "validation/carrying_on/irregular.ptx",
        r#"kernel = "spmv_ell"
grid = 1024
block = 256
args = ["s32[262144]:uniform(0,48,1)", "s32[12582912]:uniform(0,262143,2)", "f32[12582912]", "f32[262144]", "f32[262144]", "262144"]"#,
        2.0,
        true,
    ),
    case(
        "validation/carrying_on/irregular.ptx",
        r#"kernel = "collatz"
grid = 1024
block = 256
args = ["u32[262144]:uniform(1,100000,3)", "u32[262144]", "262144"]"#,
        8.0,
        true,
    ),
    case(
        "validation/carrying_on/irregular.ptx",
        r#"kernel = "point_in_polygon"
grid = 1024
block = 256
args = ["f32[524288]:uniform(-1,1,4)", "f32[256]:uniform(-1,1,5)", "s32[262144]", "262144", "128"]"#,
        8.0,
        true,
    ),
    case(
        "validation/carrying_on/irregular.ptx",
        r#"kernel = "frontier"
grid = 1024
block = 256
args = ["s32[262144]:uniform(0,32,6)", "s32[8388608]:uniform(0,262143,7)", "s32[262144]:uniform(0,4,8)", "s32[262144]:uniform(0,9,9)", "262144", "32", "1"]"#,
        1.0,
        true,
    ),
];

/// Kernels of `validation/sgemm` whose blocks execute 0.4 to 6 million instructions each: their launches.
const LONG_BLOCKS: &[(&str, &str, &str)] = &[
    ("step2", "[128, 128]", "1024"),
    ("step4", "[64, 64]", "512"),
    ("step5", "[32, 32]", "256"),
    ("step8", "[32, 32]", "256"),
    ("step10", "[32, 32]", "128"),
    ("step11", "[16, 32]", "256"),
];
/// Kernels of `validation/textbook` whose blocks execute 0.1 to 1.3 million instructions each, some without barriers, with
/// the rows of their matrices.
const WITHOUT_STEP: &[(&str, u64, u64)] =
    &[("product_global", 6400, 32), ("product_global", 1600, 32), ("product_shared4", 3840, 4)];
/// Convolutions of a whole image.
const IN_STEP: &[&str] = &["8x8_6x2", "8x16_2x2_nc", "8x8_6x1_padded_nc"];

fn file(path: &str) -> String {
    format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"))
}

fn measured((ptx, launch): (&str, &str), machine: &Machine, limits: TraceLimits) -> Measurement {
    let text = std::fs::read_to_string(file(ptx)).expect("the kernel is there");
    let program = Program::from_ptx(ptx, text).expect("it is sound");
    let (place, text) = match launch.strip_prefix('@') {
        Some(path) => (file(path), std::fs::read_to_string(file(path)).expect("the launch is there")),
        None => (ptx.to_owned(), launch.to_owned()),
    };
    let launch = Launch::parse_file(&place, &text).expect("a launch").remove(0);
    of_launch(&program, launch, machine, limits)
}

fn of_launch(program: &Program, launch: Launch, machine: &Machine, limits: TraceLimits) -> Measurement {
    let mut options = ExecutionOptions::new();
    options.traced_for = vec![machine.clone()];
    options.trace_limits = limits;
    let measurements = measure(program, &[launch], options, Counting::Ptx, &Search::default(), &Progress::default());
    measurements.expect("the kernel runs").remove(0)
}

fn predicted(measurement: &Measurement, machine: &Machine) -> Prediction {
    let Measurement { profile, traces, .. } = measurement;
    let input = Input { profile, traces, options: Options::default(), knobs: Knobs::NONE };
    Teg.predict(&input, machine).unwrap_or_else(|refusal| panic!("{refusal}"))
}

fn product(kernel: &str, grid: &str, block: &str) -> String {
    let args = r#"["4096", "4096", "4096", "0.5", "f32[16777216]", "f32[16777216]", "3.0", "f32[16777216]"]"#;
    format!("kernel = \"{kernel}\"\ngrid = {grid}\nblock = {block}\nargs = {args}")
}

/// Cycles of the launch when its SM is simulated whole, and when it is carried on from each part.
fn cycles(case: &Case) -> (u32, u64, f64, Vec<f64>) {
    let mut machine = machines::one("a100-80").expect("a built-in machine");
    machine.suppose(Key::SmCount, case.sms, "a small chip, so that launches have many waves").expect("a number");
    let measurement = measured((case.ptx, case.launch), &machine, TraceLimits::NONE);
    let Traces::Made(traced) = &measurement.traces else { panic!("it was asked for") };
    let prediction = predicted(&measurement, &machine);
    let of = prediction.teg().expect("it is the simulation's");
    let all = traced.of_sm(machine.board(), of.share.resident, of.share.ctas).remove(0).ctas;
    assert_eq!(all.len(), of.share.ctas as usize, "all were traced");
    let whole = of.job(&all);
    let all_work = work(&of.code, &all);
    let instructions = traced.instructions(&of.code) / f64::from(of.share.active_sms);
    let carried = |n_ctas: u32, budget: Option<u64>| {
        let ctas: Vec<_> = of.share.turns(n_ctas).map(|turn| all[turn as usize].clone()).collect();
        let job = Job { ctas: &ctas, ..whole };
        let outcome = simulate(&of.config, &job, warplens_sim::Options { budget, ..Default::default() });
        CarriedOn::new(&of.share, &outcome, instructions, work(&of.code, job.ctas) as f64).total()
    };
    // As many CTAs are traced as have eight times the instructions that are simulated in detail, and two waves at least.
    let part = |of_all: u64| {
        let fewest = 2 * of.share.resident;
        let n_known = (8 * u64::from(of.share.ctas) / of_all).clamp(fewest.into(), of.share.ctas.into()) as u32;
        let known: Vec<_> = of.share.turns(n_known).map(|turn| all[turn as usize].clone()).collect();
        let budget = all_work / of_all;
        carried(of.share.affordable(n_known, work(&of.code, &known), budget), Some(budget))
    };
    let waves = of.share.ctas / of.share.resident;
    (waves, all_work, carried(of.share.ctas, None), PARTS.iter().map(|&of_all| part(of_all)).collect())
}

#[test]
fn launches_are_carried_on_to_what_they_take_whole() {
    let (mut table, mut differences, mut n_irregular) = (String::new(), Vec::new(), 0);
    let mut beyond: Vec<String> = Vec::new();
    let all: Vec<_> = CASES.par_iter().map(cycles).collect();
    for (case, (waves, work, whole, parts)) in CASES.iter().zip(all) {
        let name = case.launch.split(['/', '"']).nth(1).expect("a name");
        assert!(waves >= 8, "{name} has {waves} waves");
        n_irregular += u32::from(case.is_irregular);
        write!(table, "\n{name:20} {waves:4} waves {work:10} instructions {whole:12.0} cycles").expect("a string");
        for (part, of_all) in parts.into_iter().zip(PARTS) {
            let difference = part / whole - 1.0;
            write!(table, " {:6.2} %", 100.0 * difference).expect("a string");
            differences.push(difference.abs());
            if difference.abs() > WORST {
                beyond.push(format!("{name}, 1/{of_all}: {:.2} %", 100.0 * difference));
            }
        }
    }
    let mean = differences.iter().sum::<f64>() / differences.len() as f64;
    let worst = differences.iter().copied().fold(0.0, f64::max);
    println!("{table}\nmean {:.2} %, worst {:.2} %", 100.0 * mean, 100.0 * worst);
    assert!(CASES.len() >= 12 && 2 * n_irregular as usize >= CASES.len());
    assert!(mean <= MEAN && beyond.is_empty(), "mean {mean}, {}:{table}", beyond.join(", "));
}

/// How far what windows say is from what all of it takes.
fn of_windows(name: &str, measurement: &Measurement, machine: &Machine) -> (String, f64) {
    let prediction = predicted(measurement, machine);
    let of = prediction.teg().expect("it is the simulation's");
    let whole = simulate(&of.config, &of.job(&of.traces()), warplens_sim::Options::default());
    assert_eq!(whole.issued, of.outcome.issued);
    let difference = of.outcome.cycles as f64 / whole.cycles as f64 - 1.0;
    let share = 100.0 * of.outcome.detailed as f64 / whole.issued as f64;
    let percent = 100.0 * difference;
    let line = format!("{name:18} {share:5.1} % in detail, whole {:9} cycles {percent:6.2} %\n", whole.cycles);
    (line, difference.abs())
}

#[test]
fn windows_of_long_blocks_say_what_they_take_whole() {
    let machine = machines::one("a6000").expect("a built-in machine");
    let of_products = LONG_BLOCKS.par_iter().map(|(kernel, grid, block)| {
        let launch = product(kernel, grid, block);
        let measurement = measured(("validation/sgemm/sm_86.ptx", &launch), &machine, TraceLimits::default());
        of_windows(kernel, &measurement, &machine)
    });
    let mut all: Vec<_> = of_products.collect();
    // Kernels without loops, whose blocks load tiles and add them up in step.
    let machine = machines::one(convolution::GPU).expect("a built-in machine");
    let rows = convolution::configurations();
    let rows = rows.par_iter().filter(|row| IN_STEP.contains(&row.shape.name().as_str()));
    all.par_extend(rows.map(|row| {
        let program = Program::from_ptx("convolution", row.shape.ptx()).expect("it is sound");
        let measurement = of_launch(&program, row.launch(), &machine, TraceLimits::default());
        of_windows(&row.shape.name(), &measurement, &machine)
    }));
    let machine = machines::one("k40@745").expect("a built-in machine");
    all.par_extend(WITHOUT_STEP.par_iter().map(|&(kernel, rows, tile)| {
        let (blocks, square) = (rows / tile, rows * rows);
        let tile_argument = if kernel == "product_global" { format!(r#", "{tile}""#) } else { String::new() };
        let matrices = format!(r#""f32[{square}]", "f32[{square}]", "f32[{square}]""#);
        let args = format!(r#"[{matrices}, "{rows}"{tile_argument}]"#);
        let grid = format!("grid = [{blocks}, {blocks}]\nblock = [{tile}, {tile}]");
        let launch = format!("kernel = \"{kernel}\"\n{grid}\nargs = {args}");
        let measurement = measured(("validation/textbook/sm_35.ptx", &launch), &machine, TraceLimits::default());
        of_windows(&format!("{kernel} {rows}"), &measurement, &machine)
    }));
    assert_eq!(all.len(), LONG_BLOCKS.len() + IN_STEP.len() + WITHOUT_STEP.len());
    let table: String = all.iter().map(|(line, _)| line.as_str()).collect();
    let mean = all.iter().map(|(_, difference)| difference).sum::<f64>() / all.len() as f64;
    let worst = all.iter().map(|(_, difference)| *difference).fold(0.0, f64::max);
    println!("{table}mean {:.2} %, worst {:.2} %", 100.0 * mean, 100.0 * worst);
    assert!(mean <= MEAN && worst <= WORST, "mean {mean}, worst {worst}:\n{table}");
}

#[test]
fn twice_the_long_blocks_take_twice_the_time() {
    let machine = machines::one("a6000").expect("a built-in machine");
    for (kernel, block) in [("step5", "256"), ("step6", "256"), ("step8", "256")] {
        let cycles = [12, 24].map(|rows| {
            let launch = product(kernel, &format!("[28, {rows}]"), block);
            let measurement = measured(("validation/sgemm/sm_86.ptx", &launch), &machine, TraceLimits::default());
            predicted(&measurement, &machine).teg().expect("it is the simulation's").cycles()
        });
        let factor = cycles[1] / cycles[0];
        assert!((factor / 2.0 - 1.0).abs() <= 0.03, "{kernel}: {cycles:?}, {factor}");
    }
}
