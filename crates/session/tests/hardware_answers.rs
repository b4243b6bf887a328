//! What an H200 answered to probes and conformance kernels (`validation/hardware/answers.csv`), against the emulator.
//!
//! A part of the probes is run, all of them where `ANSWERS` is `all`:
//! `ANSWERS=all cargo test -p warplens-session --test hardware_answers`.
#![allow(clippy::unwrap_used, reason = "a test may stop where its data is not as it must be")]

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::{fs, thread};

use warplens_session::{Generation, Program};

use cases::{Case, emulated, hash as hash_of, kernels, root};

#[path = "hardware/cases.rs"]
mod cases;

/// The beginnings of the names of those that always run.
const ALWAYS: [&str; 12] = [
    "atomics_add_f",
    "bulk_add_f",
    "float_arith_add",
    "float_arith_fma_f64",
    "float_arith_min_f64",
    "half_arith_out_of_bounds",
    "integer_",
    "mma_byte_m16n8k32_e4m3_e5m2_f32",
    "mma_double_m16n8k8_f64-",
    "mma_half_m16n8k8_f16_f16",
    "texture_",
    "video_v",
];

/// Buffers that the emulator leaves otherwise: case, argument and why.
const DIFFERENT: [(&str, &str, &str); 1] = [(
    "texture_plane_s8_linear-sm_90",
    "0",
    "50 of 16384 are one 32767th less on the GPU, by a rule that is not known",
)];

/// Of a case: argument, number of elements and the first digits of the hash.
type Answers = BTreeMap<String, Vec<[String; 3]>>;

fn answers() -> Answers {
    let text = fs::read_to_string(root().join("validation/hardware/answers.csv")).unwrap();
    let mut answers = Answers::new();
    for line in text.lines().filter(|line| !line.starts_with('#')).skip(1) {
        let [case, argument, elements, hash] = line.split(',').collect::<Vec<_>>().try_into().unwrap();
        answers.entry(case.to_owned()).or_default().push([argument, elements, hash].map(str::to_owned));
    }
    answers
}

/// What is wrong about a case.
fn found(case: &Case, answers: &[[String; 3]]) -> Vec<String> {
    let keys: Vec<&str> = answers.iter().map(|[argument, ..]| argument.as_str()).collect();
    let program =
        Program::from_ptx(&case.program, case.ptx.clone()).unwrap_or_else(|error| panic!("{}", error.message));
    let outputs = emulated(&program, &case.launches().unwrap(), &keys, Generation::Hopper);
    let outputs = outputs.unwrap_or_else(|error| panic!("{}: {error}", case.name));
    let mut wrong = Vec::new();
    for (output, [argument, elements, hash]) in outputs.iter().zip(answers) {
        assert_eq!(output.elements().len().to_string(), *elements, "{} {argument}", case.name);
        let known = DIFFERENT.iter().find(|(name, of, _)| *name == case.name && of == argument);
        match (hash_of(output) == *hash, known) {
            (false, None) => wrong.push(format!("{}, argument {argument}, is not what the GPU left", case.name)),
            (true, Some(_)) => wrong.push(format!("{}, argument {argument}, is no longer different", case.name)),
            _ => {}
        }
    }
    wrong
}

#[test]
fn the_emulator_answers_as_an_h200() {
    let answers = answers();
    let mut cases = Vec::new();
    kernels("crates/exec/tests/data", 90, &mut cases);
    kernels("validation/hardware/probes", 90, &mut cases);
    let all = std::env::var("ANSWERS").is_ok_and(|what| what == "all");
    let is_run = |name: &str| all || ALWAYS.iter().any(|start| name.starts_with(start));
    cases.retain(|case| answers.contains_key(&case.name) && is_run(&case.name));
    assert!(cases.len() >= ALWAYS.len(), "there are probes of all that always run");
    let (next, wrong) = (Mutex::new(cases.iter()), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let Some(case) = next.lock().unwrap().next() else { break };
                    let found = found(case, &answers[&case.name]);
                    wrong.lock().unwrap().extend(found);
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
