//! The kernels of the convolution against the counters of the measured ones, as their PTX is written by the program. The
//! table in `validation/convolution.md` is held; `UPDATE=1` rewrites it.

use std::fmt::Write as _;
use std::path::Path;

use warplens_question::measured::convolution::{Configuration, GPU, configurations};
use warplens_session::machines::{self, Machine};
use warplens_session::predict::{self, Symbol, measured_on};
use warplens_session::profile::{BankRule, CoalescingRule, Counting, OpClass};
use warplens_session::toolchain::Search;
use warplens_session::{Choice, ExecutionOptions, Generation, Measurement, Program, Progress, measure};

/// Every so manieth configuration with at most so many points per thread; all of them take long.
const EVERY: usize = 9;
const POINTS: u32 = 8;
const BYTES_PER_SECTOR: f64 = 32.0;

/// What is counted, and how far it may be off in the mean.
const COUNTERS: &[(&str, f64)] = &[
    ("fp32 operations", 0.01),
    ("global requests", 0.03),
    ("shared wavefronts", 0.03),
    ("instructions", 0.05),
    ("DRAM bytes", 0.2),
];

fn measured(row: &Configuration, machine: &Machine) -> (Measurement, Vec<f64>) {
    let program = Program::from_ptx("convolution", row.shape.ptx()).expect("the kernel is fine");
    let gpu = std::slice::from_ref(machine);
    let choice = Choice::parse("speed-of-light,teg").expect("these are models");
    let mut options = ExecutionOptions::new();
    options.traced_for = choice.traced(gpu);
    options.generations = Generation::of_all(gpu);
    let found = measure(&program, &[row.launch()], options, Counting::Ptx, &Search::default(), &Progress::default());
    let measurement = found.expect("the kernel runs").remove(0);
    let answers = measured_on(&measurement, machine, &choice, predict::Options::default()).answers;
    let quantity = |model: &str, symbol| {
        let answer = answers.iter().find(|answer| answer.model.name() == model).expect("it was asked");
        answer.result.as_ref().expect("the machine is known").quantity(symbol).expect("it has it")
    };
    let modelled = vec![quantity("speed-of-light", Symbol::WarpInstructions), quantity("teg", Symbol::DramBytes)];
    (measurement, modelled)
}

#[test]
fn the_kernels_do_what_the_counters_say() {
    let machine = machines::one(GPU).expect("the machine is known");
    let small = |row: &Configuration| row.shape.tile.iter().product::<u32>() <= POINTS && row.of("local_bytes") == 0.0;
    let rows: Vec<Configuration> = configurations().into_iter().filter(small).step_by(EVERY).collect();
    let mut table = String::from("Errors are (counted - measured)/measured in percent.\n\n| kernel |");
    COUNTERS.iter().for_each(|(name, _)| write!(table, " {name} |").unwrap());
    table.push_str("\n|---|---:|---:|---:|---:|---:|\n");
    let mut sums = vec![0.0; COUNTERS.len()];
    for row in &rows {
        let (measurement, modelled) = measured(row, &machine);
        let profile = &measurement.profile;
        let wavefronts = BankRule::of(machine.cc.major.into());
        let counted = [
            32.0 * profile.instructions.of_class(OpClass::Fp32) as f64,
            profile.global[&CoalescingRule::Cc70].loads as f64,
            profile.shared[&wavefronts].wavefronts as f64,
            modelled[0],
            modelled[1],
        ];
        let measured = [
            row.of("thread_fp32"),
            row.of("global_loads"),
            row.of("shared_load_wavefronts") + row.of("shared_store_wavefronts"),
            row.of("instructions"),
            BYTES_PER_SECTOR * (row.of("dram_read_sectors") + row.of("dram_write_sectors")),
        ];
        write!(table, "| {} |", row.shape.name()).unwrap();
        for ((counted, measured), sum) in counted.iter().zip(measured).zip(&mut sums) {
            let error = counted / measured - 1.0;
            *sum += error.abs() / rows.len() as f64;
            write!(table, " {:.1} |", 100.0 * error).unwrap();
        }
        table.push('\n');
    }
    table.push_str("| mean of the absolute errors |");
    sums.iter().for_each(|mean| write!(table, " {:.1} |", 100.0 * mean).unwrap());
    table.push('\n');
    for ((name, limit), mean) in COUNTERS.iter().zip(&sums) {
        assert!(mean <= limit, "{name}: {:.1} %\n{table}", 100.0 * mean);
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation/convolution.md");
    warplens_literate::hold(&path, "counts", &table);
}
