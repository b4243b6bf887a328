//! Calibrations of virtual GPUs, whose values are known: these are found again, with and without noise.
//!
//! All four GPUs, also with noise, take minutes:
//!
//! ```sh
//! cargo test --release -p warplens-question --test calibrate -- --ignored
//! ```

use std::path::Path;

use warplens_machine::{Reader, Strictness};
use warplens_model::{ModelId, Options};
use warplens_question::calibrate::virtual_gpu::{self, Chance};
use warplens_question::calibrate::{self, Calibration, Fitted, Part, Timed, Wanted};
use warplens_session::machines::{self, Basis, Key, Machine};
use warplens_session::predict::{Choice, measured_on};
use warplens_session::profile::Counting;
use warplens_session::toolchain::Search;
use warplens_session::{ExecutionOptions, Generation, Progress, measure};

fn execution() -> ExecutionOptions {
    ExecutionOptions { threads: 2, ..ExecutionOptions::new() }
}

fn is_physical(part: Part) -> bool {
    matches!(part, Part::Step(_))
}

/// One with other physical values than the GPU, and what is found of these.
fn calibrated(gpu: &str, noise: f64, seed: u64) -> (Machine, Calibration) {
    let machine = machines::one(gpu).expect("a built-in GPU");
    let hardware = virtual_gpu::perturbed(&machine, seed).expect("values that a machine can have");
    let (execution, progress) = (execution(), Progress::default());
    let timed = virtual_gpu::measured(is_physical, &machine, &hardware, noise, seed + 1, &execution, &progress);
    let found = calibrate::calibrate(&machine, &timed.expect("times"), &execution, &progress).expect("a calibration");
    (hardware, found)
}

/// What is further from the virtual GPU than `limit`, as a part of itself. Where several whole numbers of cycles give the
/// same times, it is among them that the wanted one has to be.
fn wrong(gpu: &str, noise: f64, seed: u64, limit: f64) -> Vec<String> {
    let (hardware, found) = calibrated(gpu, noise, seed);
    let mut wrong = Vec::new();
    for of in &found.fitted {
        let wanted = hardware.canonical(of.key).expect("it was changed") * of.cycles_per_unit();
        let error = of.off(wanted);
        if error.abs() > limit {
            let percent = 100.0 * error;
            wrong.push(format!("{gpu}: {} is {}, not {wanted}: {percent:+.1} %; {of:?}", of.key, of.value));
        }
    }
    assert!(found.fitted.len() >= 12, "{gpu}: {:?} are left", found.left);
    wrong
}

#[test]
fn values_are_found_again() {
    let wrong = wrong("k40", 0.0, 7, 0.01);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is found of one parameter of a virtual GPU all of whose others are known, by every so manieth of its launches, and
/// the value that it has there. `before` says from which value on it is looked for: of the machine file's and that one.
fn alone((gpu, seed): (&str, u64), key: Key, every: usize, before: fn(f64, f64) -> f64) -> (Fitted, f64) {
    let machine = machines::one(gpu).expect("a built-in GPU");
    let hardware = virtual_gpu::perturbed(&machine, seed).expect("values that a machine can have");
    let (execution, progress) = (execution(), Progress::default());
    let is_it = |part: Part| is_physical(part) && part.keys() == [key];
    let timed = virtual_gpu::measured(is_it, &machine, &hardware, 0.0, 1, &execution, &progress).expect("times");
    let timed: Vec<Timed> = timed.into_iter().step_by(every).collect();
    let wanted = hardware.canonical(key).expect("it was changed");
    let mut rest = hardware.clone();
    let before = before(machine.canonical(key).expect("stated"), wanted);
    rest.suppose(key, before, "before").expect("it is possible");
    let mut found = calibrate::calibrate(&rest, &timed, &execution, &progress).expect("a calibration");
    assert_eq!(found.fitted.len(), 1, "{found:?}");
    let of = found.fitted.remove(0);
    let wanted = wanted * of.cycles_per_unit();
    (of, wanted)
}

/// With this seed the memory of the A100 is hardly further than the far part of its L2 cache, so that most values of its
/// latency give the same times.
#[test]
fn a_value_is_found_beside_many_that_give_the_same_times() {
    let (of, wanted) = alone(("a100-80", 3), Key::DramLatency, 1, |stated, _| stated);
    assert!((of.value / wanted - 1.0).abs() < 0.01, "{} instead of {wanted}", of.value);
}

/// Warps wait for the memory of the GTX 280 in whole cycles, so that its bandwidth is told up to a step of 8 %.
#[test]
fn values_between_two_steps_of_the_times_are_told_as_a_range() {
    let (of, wanted) = alone(("gtx280", 1), Key::DramPeakBandwidth, 4, |_, wanted| 1.2 * wanted);
    let (first, last) = of.same.expect("several values");
    assert!(of.off(wanted) == 0.0 && (first..=last).contains(&of.value), "{wanted}: {of:?}");
    assert!((1.06..1.09).contains(&(last / first)), "{of:?}");
    assert!(of.interval.0 <= first && last <= of.interval.1, "{of:?}");
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
    let plan = calibrate::plan_table(&machine, |_| true).expect("a plan");
    let rows = plan.lines().filter(|line| line.contains(",latency.fp32,"));
    // 64 multiply-adds a round, of 12 cycles each, and what a launch takes before and after: that of an empty kernel, and two
    // reads of memory.
    let mut reader = Reader::new(&machine, Strictness::AllowInferred);
    let launch = reader.need(Key::LaunchLatency).expect("it follows");
    let memory = reader.need(Key::DramLatency).expect("it is stated") / reader.clock().expect("it is stated");
    let around = 1e6 * (launch + 2.0 * memory);
    let timed = rows.map(|line| {
        let rounds: f64 = line
            .split(",,")
            .next()
            .and_then(|line| line.rsplit(';').next())
            .expect("the last argument")
            .parse()
            .expect("it");
        line.replace(",,", &format!(",{},", around + rounds * 64.0 * 12.0 / 875.0)) + "\n"
    });
    let text = format!("{}\n{}", plan.lines().next().expect("a header"), timed.collect::<String>());
    let timed = calibrate::read("t.csv", &text, Path::new(""), &machine).expect("a table");
    assert_eq!(timed.len(), 8);
    let execution = ExecutionOptions { threads: 1, ..ExecutionOptions::new() };
    let found = calibrate::calibrate(&machine, &timed, &execution, &Progress::default()).expect("a calibration");
    let [of] = found.fitted.as_slice() else { panic!("{found:?}") };
    assert_eq!((of.key, of.value, of.n_points), (Key::LatencyFp32, 12.0, 8));
    let file = found.machine_file("times of a test", Basis::Fitted).expect("a built-in GPU");
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("calibrated.toml");
    std::fs::write(&path, &file).expect("the folder is ours");
    let read = machines::one(&path.to_string_lossy()).unwrap_or_else(|error| panic!("{error:?}\n{file}"));
    assert_eq!(read.number(Key::LatencyFp32), Some(12.0));
    assert_eq!(read.number(Key::SmCount), machine.number(Key::SmCount));
    // It can be calibrated again: what it states and nothing tells anew is kept, and it names no file of a user.
    let times = timed_by(&read, "analyzer.32", ModelId::Analyzer, 0.0);
    let again = calibrate::calibrate(&read, &times, &execution, &Progress::default()).expect("a calibration");
    let file = again.machine_file("other times", Basis::Fitted).expect("it inherits from one");
    assert!(file.contains("inherits = \"k40\"") && file.contains("name = \"Tesla K40, calibrated\""), "{file}");
    std::fs::write(path.with_file_name("again.toml"), &file).expect("the folder is ours");
    let read = machines::one(&path.with_file_name("again.toml").to_string_lossy()).expect("a machine");
    assert_eq!(read.number(Key::LatencyFp32), Some(12.0));
}

/// The launches of a part with times that a model says itself, each off by `noise`, one deviation.
fn timed_by(machine: &Machine, part: &str, model: ModelId, noise: f64) -> Vec<Timed> {
    let gpu = std::slice::from_ref(machine);
    let execution = ExecutionOptions { traced_for: gpu.to_vec(), generations: Generation::of_all(gpu), ..execution() };
    let wanted = Wanted::parse(&[part.to_owned()]).expect("a part");
    let program = calibrate::program();
    let mut chance = Chance::new(5);
    let mut timed = Vec::new();
    for (part, points) in calibrate::plan(machine).expect("a plan").into_iter().filter(|(part, _)| wanted.has(*part)) {
        for (number, point) in points.iter().enumerate() {
            let launch = point.launch().expect("a launch");
            let launches = std::slice::from_ref(&launch);
            let progress = Progress::default();
            let measured = measure(&program, launches, execution.clone(), Counting::Ptx, &Search::default(), &progress);
            let choice = Choice::Alone(vec![model]);
            let answers = measured_on(&measured.expect("it runs")[0], machine, &choice, Options::default()).answers;
            let us = answers[0].result.as_ref().expect("it answers").seconds().microseconds();
            let us = us * (1.0 + noise * chance.normal());
            timed.push(Timed { part, launch, program: None, us, is_of_clock: false, is_held_out: number % 2 == 1 });
        }
    }
    timed
}

/// Parameters of a closed model are found again from times that it says itself: what was held out is predicted within 5 %,
/// noise of 3 % included. Several values may do that alike, so that they are not compared.
#[test]
fn what_was_held_out_is_predicted_by_the_closed_models() {
    type Changes<'c> = &'c [(Key, f64)];
    let cases: [(&str, &str, ModelId, Changes<'_>); 3] = [
        (
            "gtx280",
            "hong-kim",
            ModelId::HongKim,
            &[
                (Key::HongKimDepartureDelayUncoalesced, 1.5),
                (Key::HongKimDepartureDelayCoalesced, 0.6),
                (Key::DramLatency, 1.3),
            ],
        ),
        ("c1060", "analyzer.64", ModelId::Analyzer, &[(Key::DramDepartureDelay64, 0.6)]),
        (
            "gtx260",
            "luo-suda.cpd",
            ModelId::LuoSuda,
            &[(Key::LuoSudaA, 0.5), (Key::LuoSudaB, 0.7), (Key::LuoSudaC, 0.7), (Key::LuoSudaD, 0.4)],
        ),
    ];
    for (gpu, part, model, changes) in cases {
        let hardware = machines::one(gpu).expect("a built-in GPU");
        let timed = timed_by(&hardware, part, model, 0.03);
        let mut machine = hardware.clone();
        for &(key, factor) in changes {
            machine.suppose_scaled(key, factor, "the test").expect("a value that it can have");
        }
        let found = calibrate::calibrate(&machine, &timed, &execution(), &Progress::default()).expect("a calibration");
        let [of] = found.repredicted().try_into().expect("one group");
        assert!(of.held_out_error < 0.05 && of.n_held_out >= 4, "{gpu}: {of:?}\n{:?}\n{:?}", found.fitted, found.left);
        // What it began with was further off, so that something was found.
        assert!(of.held_out_error < 0.6 * held_out_error(&machine, &timed, model), "{gpu}: {of:?}");
    }
}

/// How far off a model is for what was held out, on a machine as it is.
fn held_out_error(machine: &Machine, timed: &[Timed], model: ModelId) -> f64 {
    let name = timed[0].part.name();
    let said = timed_by(machine, name, model, 0.0);
    let errors =
        timed.iter().zip(&said).filter(|(of, _)| of.is_held_out).map(|(of, said)| (said.us / of.us - 1.0).abs());
    let errors: Vec<f64> = errors.collect();
    errors.iter().sum::<f64>() / errors.len() as f64
}

/// The thesis's order over its printed times gives its tuned values: the clock, and the departure delays of transactions.
#[test]
fn the_tuned_values_of_the_thesis_follow_from_its_printed_times() {
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation/papers/thesis-c1060.csv");
    let text = std::fs::read_to_string(&table).expect("the table is there");
    let machine = machines::one("c1060").expect("a built-in GPU");
    let folder = table.parent().expect("a folder");
    let timed = calibrate::read("thesis-c1060.csv", &text, folder, &machine).expect("a table");
    assert_eq!(timed.len(), 5);
    let found = calibrate::calibrate(&machine, &timed, &execution(), &Progress::default()).expect("a calibration");
    let value = |key: Key| found.fitted.iter().find(|of| of.key == key).expect("it is fitted").value;
    let off = |key: Key, wanted: f64| value(key) / wanted - 1.0;
    for (key, wanted) in [
        (Key::AnalyzerClock, 1312e6),
        (Key::DramDepartureDelay32, 37.0),
        (Key::DramDepartureDelay64, 37.0),
        (Key::DramDepartureDelay128, 58.0),
    ] {
        assert!(off(key, wanted).abs() < 0.03, "{key}: {} instead of {wanted}", value(key));
    }
    // FIXME: the thesis has 57 of a run that it does not print; the one that it prints, in table 4, says 54.
    let vector = off(Key::DramDepartureDelayVector, 57.0);
    assert!((-0.06..-0.04).contains(&vector), "{}", value(Key::DramDepartureDelayVector));
}

#[test]
fn what_a_table_lacks_is_said_with_its_line() {
    let machine = machines::one("k40").expect("a built-in GPU");
    let message =
        |text: &str| calibrate::read("t.csv", text, Path::new(""), &machine).expect_err("it is wrong").message;
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
    let of_others = format!("{header}k40,hong-kim.latency,chain_fp32,1,32,f32[32];1;24,9\n");
    assert_eq!(message(&of_others), "t.csv, line 2: `hong-kim.latency` tells nothing of k40");
    let fast = format!("{header}k40,analyzer.32,chain_fp32,1,32,f32[32];1;24,1\n");
    assert_eq!(message(&fast), "t.csv, line 2: 1 us, and an empty kernel takes 1.6960 us");
    let held_out = "gpu,class,set,kernel,grid,block,args,measured_us\n\
                    k40,latency.fp32,held-out,chain_fp32,1,32,f32[32];1;24,9\n";
    let none = "t.csv, line 2: every launch for `latency.fp32` is fitted to, none is held out";
    assert_eq!(message(held_out), none);
    let asked =
        calibrate::plan_table(&machines::one("h200").expect("a built-in GPU"), |part| part.name() == "analyzer.64");
    assert_eq!(asked.expect_err("no row").message, "nothing of what is asked for tells anything of h200");
}

/// Prices and the time of a load come out of differences, whatever the order of the rows; rows without rounds say nothing.
#[test]
fn rows_of_differences_may_come_in_any_order() {
    let machine = machines::one("k40").expect("a built-in GPU");
    let rows = ["luo-suda.costs", "luo-suda.memory"].map(|part| timed_by(&machine, part, ModelId::Teg, 0.0));
    let rows = rows.concat();
    let found = |rows: &[Timed]| {
        let found = calibrate::calibrate(&machine, rows, &execution(), &Progress::default()).expect("a calibration");
        let values = found.fitted.iter().map(|of| (of.key, of.value)).collect::<Vec<_>>();
        assert!(values.iter().all(|(_, value)| value.is_finite()), "{values:?}");
        values
    };
    let backwards: Vec<Timed> = rows.iter().rev().cloned().collect();
    let near = |(one, other): (&(Key, f64), &(Key, f64))| one.0 == other.0 && (one.1 / other.1 - 1.0).abs() < 1e-9;
    let (forwards, backwards) = (found(&rows), found(&backwards));
    assert!(forwards.len() > 15 && forwards.len() == backwards.len(), "{forwards:?} {backwards:?}");
    assert!(forwards.iter().zip(&backwards).all(near), "{forwards:?} {backwards:?}");
}

/// Times that kernels read from the clock themselves, on an H200: the latencies of its machine file follow from the cycles
/// alone, whatever a launch takes.
#[test]
fn cycles_between_reads_of_the_clock_are_rows_of_a_fit() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation/measured/h200");
    let machine = machines::one("h200").expect("a built-in GPU");
    let row = |parameter: &str, kernel: &str, rounds: u32, cycles: u32| {
        let input = "../../microbenchmarks/sm_90/teg.ptx";
        format!("h200,{parameter},{kernel},{input},1,32,u64[2];64;{rounds},1,{cycles}\n")
    };
    // The rows of validation/measured/h200/microbenchmarks.csv: `measured_us` is not what is fitted.
    let text = "gpu,class,kernel,input,grid,block,args,measured_us,clock_cycles\n".to_owned()
        + &row("latency.fp32", "latency_ffma", 117, 31066)
        + &row("latency.fp64", "latency_dfma", 59, 30578);
    let timed = calibrate::read("t.csv", &text, &folder, &machine).expect("a table");
    let found = calibrate::calibrate(&machine, &timed, &execution(), &Progress::default()).expect("a calibration");
    let value = |key: Key| found.fitted.iter().find(|of| of.key == key).map(|of| of.value);
    assert_eq!((value(Key::LatencyFp32), value(Key::LatencyFp64)), (Some(4.0), Some(8.0)), "{:?}", found.left);
}
