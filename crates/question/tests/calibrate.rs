//! Calibrations of virtual GPUs, whose values are known: these are found again, with and without noise.
//!
//! All four GPUs, also with noise, take minutes:
//!
//! ```sh
//! cargo test --release -p warplens-question --test calibrate -- --ignored
//! ```

use std::path::Path;

use warplens_machine::{Reader, Strictness};
use warplens_question::calibrate::{self, Calibration, virtual_gpu};
use warplens_session::machines::{self, Basis, Key, Machine};
use warplens_session::{ExecutionOptions, Progress};

/// The GPU, one with other values, and what is found of these.
fn calibrated(gpu: &str, noise: f64, seed: u64) -> (Machine, Machine, Calibration) {
    let machine = machines::one(gpu).expect("a built-in GPU");
    let hardware = virtual_gpu::perturbed(&machine, seed).expect("values that a machine can have");
    let execution = ExecutionOptions { threads: 2, ..ExecutionOptions::new() };
    let progress = Progress::default();
    let timed =
        virtual_gpu::measured(&virtual_gpu::keys(), &machine, &hardware, noise, seed + 1, &execution, &progress);
    let timed = timed.expect("times");
    let found = calibrate::calibrate(&machine, &timed, &execution, &progress).expect("a calibration");
    (machine, hardware, found)
}

/// What is further from the virtual GPU than `limit`, as a part of itself. Where several whole numbers of cycles give the
/// same times, any of them is right.
fn wrong(gpu: &str, noise: f64, seed: u64, limit: f64) -> Vec<String> {
    let (_, hardware, found) = calibrated(gpu, noise, seed);
    let mut wrong = Vec::new();
    for of in &found.fitted {
        let wanted = hardware.canonical(of.key).expect("it was changed") * of.cycles_per_unit();
        let error = of.value / wanted - 1.0;
        let is_one_of_several = (of.interval.0 * (1.0 - 1e-9)..=of.interval.1 * (1.0 + 1e-9)).contains(&wanted);
        if error.abs() > limit && !(noise == 0.0 && is_one_of_several) {
            let percent = 100.0 * error;
            wrong.push(format!("{gpu}: {} is {}, not {wanted}: {percent:+.1} %; {of:?}", of.key, of.value));
        }
    }
    assert!(found.fitted.len() >= 12, "{gpu}: {:?} are left", found.left);
    wrong
}

#[test]
fn values_are_found_again() {
    let wrong = [wrong("gtx280", 0.0, 7, 0.01), wrong("k40", 0.0, 7, 0.01)].concat();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// With this seed the memory of the A100 is hardly further than the far part of its L2 cache, so that most values of its
/// latency give the same times.
#[test]
fn a_value_is_found_beside_many_that_give_the_same_times() {
    let machine = machines::one("a100-80").expect("a built-in GPU");
    let hardware = virtual_gpu::perturbed(&machine, 3).expect("values that a machine can have");
    let execution = ExecutionOptions { threads: 2, ..ExecutionOptions::new() };
    let progress = Progress::default();
    let timed = virtual_gpu::measured(&[Key::DramLatency], &machine, &hardware, 0.0, 1, &execution, &progress);
    // What the launches need beside it is known here.
    let mut rest = hardware.clone();
    let before = machine.canonical(Key::DramLatency).expect("stated");
    rest.suppose(Key::DramLatency, before, "the machine file").expect("it is possible");
    let found = calibrate::calibrate(&rest, &timed.expect("times"), &execution, &progress).expect("a calibration");
    let [of] = found.fitted.as_slice() else { panic!("{found:?}") };
    let wanted = hardware.canonical(Key::DramLatency).expect("it was changed") * of.cycles_per_unit();
    assert!((of.value / wanted - 1.0).abs() < 0.01, "{} instead of {wanted}", of.value);
}

#[test]
#[ignore = "minutes: four GPUs, with and without noise"]
fn values_of_all_generations_are_found_again_with_noise_too() {
    let mut all = Vec::new();
    for gpu in ["gtx280", "k40", "a100-80", "h200"] {
        all.extend(wrong(gpu, 0.0, 7, 0.01));
        for seed in [3, 11] {
            all.extend(wrong(gpu, 0.03, seed, 0.05));
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

#[test]
fn a_plan_with_times_is_read_back_and_a_machine_file_is_one() {
    let machine = machines::one("k40").expect("a built-in GPU");
    let plan = calibrate::plan_table(&machine).expect("a plan");
    let rows = plan.lines().filter(|line| line.contains(",latency.fp32,"));
    // 64 multiply-adds a round, of 12 cycles each, and what a launch takes before and after: that of an empty kernel, and two
    // reads of memory.
    let mut reader = Reader::new(&machine, Strictness::AllowInferred);
    let launch = reader.need(Key::LaunchLatency).expect("it follows");
    let memory = reader.need(Key::DramLatency).expect("it is stated") / reader.clock().expect("it is stated");
    let around = 1e6 * (launch + 2.0 * memory);
    let timed = rows.map(|line| {
        let rounds: f64 =
            line.trim_end_matches(',').rsplit(';').next().expect("the last argument").parse().expect("it");
        format!("{line}{}\n", around + rounds * 64.0 * 12.0 / 875.0)
    });
    let text = format!("{}\n{}", plan.lines().next().expect("a header"), timed.collect::<String>());
    let timed = calibrate::read("t.csv", &text, &machine).expect("a table");
    assert_eq!(timed.len(), 8);
    let execution = ExecutionOptions { threads: 1, ..ExecutionOptions::new() };
    let found = calibrate::calibrate(&machine, &timed, &execution, &Progress::default()).expect("a calibration");
    let [of] = found.fitted.as_slice() else { panic!("{found:?}") };
    assert_eq!((of.key, of.value, of.n_points), (Key::LatencyFp32, 12.0, 8));
    let file = found.machine_file("times of a test", Basis::Fitted);
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("calibrated.toml");
    std::fs::write(&path, &file).expect("the folder is ours");
    let read = machines::one(&path.to_string_lossy()).unwrap_or_else(|error| panic!("{error:?}\n{file}"));
    assert_eq!(read.number(Key::LatencyFp32), Some(12.0));
    assert_eq!(read.number(Key::SmCount), machine.number(Key::SmCount));
}

#[test]
fn what_a_table_lacks_is_said_with_its_line() {
    let machine = machines::one("k40").expect("a built-in GPU");
    let message = |text: &str| calibrate::read("t.csv", text, &machine).expect_err("it is wrong").message;
    let header = "gpu,class,kernel,grid,block,args,measured_us\n";
    assert_eq!(
        message(&format!("{header}h200,latency.fp32,chain_fp32,1,32,f32[32];1;24,1\n")),
        "t.csv: no row is of `k40`"
    );
    let no_step = format!("{header}k40,latency.fp33,chain_fp32,1,32,f32[32];1;24,1\n");
    assert_eq!(message(&no_step), "t.csv, line 2: `class` is `latency.fp33`, which is no parameter that is calibrated");
    assert_eq!(message(&format!("{header}k40,latency.fp32,chain_fp32,,,,1\n")), "t.csv, line 2: no launch");
    let empty = format!("{header}k40,latency.fp32,chain_fp32,1,32,f32[32];1;24,\n");
    assert_eq!(message(&empty), "t.csv, line 2: no `measured_us`");
}
