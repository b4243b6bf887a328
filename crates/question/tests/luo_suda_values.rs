//! The values of Luo and Suda's model that machine files have from the timing simulation are those that a calibration finds,
//! on one chip of each generation. One GPU is calibrated at every run of the tests; all of them take a quarter of an hour:
//!
//! ```sh
//! cargo test --release -p warplens-question --test luo_suda_values -- --ignored
//! ```
//!
//! With `UPDATE=1` that writes the values into the machine files.

use std::path::{Path, PathBuf};

use warplens_question::calibrate::{self, Calibration, Part, Wanted, virtual_gpu};
use warplens_session::machines::{self, Basis, Key};
use warplens_session::{ExecutionOptions, Progress};

/// One GPU of each generation but the GT200, whose values the paper has.
const GPUS: [&str; 14] = [
    "fx5600",
    "gtx570",
    "k40",
    "gtx750ti",
    "gtx1080",
    "p100",
    "v100-pcie",
    "rtx2080ti",
    "a100-80",
    "a40",
    "rtx4090",
    "h200",
    "b200",
    "rtx5090",
];

/// Significant digits of a value in a machine file, less one.
const DIGITS: usize = 5;

fn calibrated(gpu: &str) -> Calibration {
    let machine = machines::one(gpu).expect("a built-in GPU");
    let wanted = Wanted::parse(&["luo-suda".to_owned()]).expect("a model");
    let execution = ExecutionOptions { threads: 2, ..ExecutionOptions::new() };
    let progress = Progress::default();
    let is_wanted = |part: Part| wanted.has(part);
    let timed = virtual_gpu::measured(is_wanted, &machine, &machine, 0.0, 1, &execution, &progress).expect("times");
    calibrate::calibrate(&machine, &timed, &execution, &progress).expect("a calibration")
}

/// The group of a machine file, with marks around it.
fn section(gpu: &str, found: &Calibration) -> String {
    let [of] = found.repredicted().try_into().expect("one group is fitted to times");
    let off = 100.0 * of.held_out_error;
    let mut text = format!(
        "{BEGIN}\n[luo_suda]\nbasis = \"simulated\"\nsource = \"warplens calibrate --gpu {gpu} --virtual 0 --only luo-suda: \
         fitted to the timing simulation, not to a GPU; {off:.0} % off on average where it was not fitted\"\n"
    );
    for of in &found.fitted {
        let unit = of.key.unit().symbol();
        let unit = if unit.is_empty() { String::new() } else { format!(", unit = \"{unit}\"") };
        let value: f64 = format!("{:.DIGITS$e}", of.value).parse().expect("a number");
        text += &format!("{} = {{ value = {value}{unit} }}\n", of.key.field());
    }
    text + END + "\n"
}

const BEGIN: &str = "# generated: luo-suda, by `UPDATE=1 cargo test --release -p warplens-question --test luo_suda_values -- --ignored`";
const END: &str = "# end: luo-suda";

fn file(gpu: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../machines").join(format!("{gpu}.toml"))
}

fn check(gpu: &str) {
    let found = calibrated(gpu);
    let path = file(gpu);
    if std::env::var_os("UPDATE").is_some() {
        let text = std::fs::read_to_string(&path).expect("the file is there");
        let kept = match text.split_once(BEGIN) {
            Some((before, rest)) => {
                before.to_owned() + rest.split_once(END).expect("both marks").1.trim_start_matches('\n')
            }
            None => text.trim_end().to_owned() + "\n\n",
        };
        std::fs::write(&path, kept + &section(gpu, &found)).expect("it can be written");
        return;
    }
    let machine = machines::one(gpu).expect("a built-in GPU");
    let stated = machine.facts.iter().filter(|(key, fact)| key.group() == "luo_suda" && fact.basis == Basis::Simulated);
    let stated: Vec<Key> = stated.map(|(key, _)| *key).collect();
    assert!(stated.contains(&Key::LuoSudaA) && stated.contains(&Key::LuoSudaMemory), "{gpu}: {stated:?}");
    assert_eq!(stated.len(), found.fitted.len(), "{gpu}: {stated:?} {:?}", found.left);
    let text = std::fs::read_to_string(&path).expect("the file is there");
    let source = section(gpu, &found).lines().find(|line| line.starts_with("source")).expect("it has one").to_owned();
    assert!(text.contains(&source), "{gpu}: another source than {source}");
    for of in &found.fitted {
        let value = machine.number(of.key).unwrap_or_else(|| panic!("{gpu} has no {}", of.key));
        assert!(
            (of.value - value).abs() <= 1e-4 * value.abs(),
            "{gpu}: {} is {value}, and {} is found",
            of.key,
            of.value
        );
    }
}

#[test]
fn the_values_of_one_gpu_are_those_that_a_calibration_finds() {
    check("fx5600");
}

#[test]
#[ignore = "a quarter of an hour"]
fn the_values_of_all_generations_are_those_that_a_calibration_finds() {
    GPUS.iter().for_each(|gpu| check(gpu));
}
