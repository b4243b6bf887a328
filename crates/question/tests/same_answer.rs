//! The answer of the timing simulation for a GPU is the same to the last digit, whatever else is asked with it: other GPUs,
//! other models, another number of threads, another verb, or the launch in a saved profile in place of the program.
//!
//! What runs always takes each example with two GPUs of its own, so that every built-in GPU is among them, and goes once
//! through everything that may be asked beside them. All examples on all GPUs take an hour
//! (`EXAMPLES=vector_add,svm` restricts them):
//!
//! ```sh
//! cargo test --release -p warplens-question --test same_answer -- --ignored --nocapture
//! ```

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use warplens_launch::Launch;
use warplens_question::compare::{self, CompareOptions, Variant};
use warplens_question::explain;
use warplens_session::machines::{self, Machine};
use warplens_session::predict::{self, Choice, ModelId, Options, Prediction, Refusal};
use warplens_session::profile::Counting;
use warplens_session::toolchain::Search;
use warplens_session::{ExecutionOptions, Generation, Input, Measurement, Program, Progress, import, measure, saved};

fn examples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let folders = std::fs::read_dir(folder).expect("the examples").map(|entry| entry.expect("an entry").path());
    let mut examples: Vec<PathBuf> = folders.filter(|path| path.join("launch.toml").is_file()).collect();
    examples.sort();
    assert!(examples.len() >= 17, "{examples:?}");
    examples
}

fn name(example: &Path) -> String {
    example.file_name().expect("a folder").to_string_lossy().into_owned()
}

/// The launches of an example as a verb measures them that is asked about these GPUs and models.
fn measured(example: &Path, gpus: &[Machine], choice: &Choice, threads: usize) -> Vec<Measurement> {
    let search = Search::default();
    let input = Input::read(example.join("ptx/sm_75.ptx")).expect("the PTX can be read");
    let program = Program::load(&input, "sm_75", &search).expect("the PTX can be parsed");
    let file = example.join("launch.toml").to_string_lossy().into_owned();
    let launches = warplens_session::source::launches(Some(&file), Launch::default()).expect("a launch file");
    let options = ExecutionOptions {
        threads,
        traced_for: choice.traced(gpus),
        generations: Generation::of_all(gpus),
        ..ExecutionOptions::new()
    };
    measure(&program, &launches, options, Counting::Ptx, &search, &Progress::default())
        .unwrap_or_else(|error| panic!("{}: {error}", name(example)))
}

/// What a saved profile of launches is read as.
fn saved(measurements: &[Measurement]) -> Vec<Measurement> {
    let text = serde_json::to_string(&saved::document(measurements)).expect("a document");
    let input = Input::new("saved.json", None, text.into_bytes()).expect("it is not empty");
    import::read(&input).expect("it was written here")
}

type Answer = Result<Prediction, Refusal>;

/// An answer without what it was computed from, which holds more where more was traced.
fn digits(answer: Answer) -> Answer {
    answer.map(|mut prediction| {
        prediction.detail = None;
        prediction
    })
}

/// The simulation's answer for each launch, when these models are asked about one GPU.
fn predicted(measurements: &[Measurement], gpu: &Machine, choice: &Choice) -> Vec<Answer> {
    let of = |measurement: &Measurement| {
        let analysis = predict::predict(measurement.clone(), std::slice::from_ref(gpu), choice, Options::default());
        let answers = analysis.gpus.into_iter().flat_map(|gpu| gpu.answers);
        let answer = answers.filter(|answer| answer.model == ModelId::Teg).map(|answer| answer.result).next();
        digits(answer.expect("it was asked"))
    };
    measurements.iter().map(of).collect()
}

/// The answer that `explain` gives reasons for.
fn explained(measurements: &[Measurement], gpu: &Machine) -> Vec<Answer> {
    let of = |measurement: &Measurement| {
        let gpus = std::slice::from_ref(gpu);
        let analysis = predict::predict(measurement.clone(), gpus, &Choice::Auto, Options::default());
        let mut explanation = explain::explain(analysis, Options::default(), None);
        let answer = explanation.analysis.gpus.remove(0).answers.remove(0);
        let glance = explanation.gpus[0].glance.as_ref().map(|glance| glance.time);
        assert_eq!(glance, answer.result.as_ref().ok().map(Prediction::seconds));
        digits(answer.result)
    };
    measurements.iter().map(of).collect()
}

/// The answers that `compare` sets side by side, of one GPU among others.
fn compared(measurements: &[Measurement], gpus: &[Machine], at: usize) -> Vec<Answer> {
    let variant = |(number, measurement): (usize, &Measurement)| Variant {
        name: number.to_string(),
        block: None,
        measurement: measurement.clone(),
    };
    let (choice, options) = (Choice::Auto, Options::default());
    let how = CompareOptions { choice, options, baseline: None, band: 0.1, measured: None };
    let variants = measurements.iter().enumerate().map(variant).collect();
    let comparison = compare::compare(variants, gpus.to_vec(), &how).expect("a comparison");
    let entries = comparison.entries.into_iter().filter(|entry| entry.gpu == at);
    let refusal = |reason| Refusal { missing: Vec::new(), reason };
    entries.map(|entry| digits(entry.result.map_err(refusal))).collect()
}

/// Where the answers are not those that one GPU has alone.
#[derive(Default)]
struct Differences(Vec<String>);

impl Differences {
    fn check(&mut self, what: &str, example: &Path, gpu: &Machine, alone: &[Answer], other: &[Answer]) {
        let time = |answers: &[Answer]| {
            let of = |answer: &Answer| match answer {
                Ok(prediction) => format!("{} of {}", prediction.seconds().microseconds(), prediction.model),
                Err(refusal) => refusal.reason.clone(),
            };
            answers.iter().map(of).collect::<Vec<_>>().join(", ")
        };
        assert!(!alone.is_empty());
        // A verb may refuse in words of its own.
        let is_same = |(alone, other): (&Answer, &Answer)| match (alone, other) {
            (Err(_), Err(_)) => true,
            (alone, other) => alone == other,
        };
        if alone.len() != other.len() || !alone.iter().zip(other).all(is_same) {
            let (alone, other) = (time(alone), time(other));
            self.0.push(format!("{} on {}: {alone} alone, {other} {what}", name(example), gpu.id));
        }
    }

    fn none(&self) {
        assert!(self.0.is_empty(), "{} answers differ:\n{}", self.0.len(), self.0.join("\n"));
    }
}

fn teg() -> Choice {
    Choice::Named(vec![ModelId::Teg])
}

#[test]
fn whatever_else_is_asked_the_answer_is_the_same() {
    let all = machines::all().expect("the built-in GPUs");
    let mut found = Differences::default();
    for (number, example) in examples().iter().enumerate() {
        let gpus = [0, 1].map(|at| all[(2 * number + at) % all.len()].clone());
        let [gpu, other] = &gpus;
        let alone = predicted(&measured(example, std::slice::from_ref(gpu), &teg(), 1), gpu, &teg());
        let mut check = |what: &str, answers: &[Answer]| found.check(what, example, gpu, &alone, answers);
        let pair = measured(example, &gpus, &Choice::All, 2);
        check("with another GPU and all models, on two threads", &predicted(&pair, gpu, &Choice::All));
        check("in a saved profile", &predicted(&saved(&pair), gpu, &teg()));
        let among_all = measured(example, &all, &Choice::Auto, 2);
        check("with all GPUs, on two threads", &predicted(&among_all, gpu, &teg()));
        let alone = predicted(&pair, other, &teg());
        let compared = compared(&among_all, &gpus, 1);
        found.check("of two GPUs compared, against one of a pair", example, other, &alone, &compared);
    }
    found.none();
}

#[test]
fn what_is_explained_is_what_is_predicted() {
    let gpu = machines::one("a100-80").expect("a built-in GPU");
    let mut found = Differences::default();
    for example in examples().iter().filter(|example| ["abt_conflict", "vector_add"].contains(&name(example).as_str()))
    {
        let measured = measured(example, std::slice::from_ref(&gpu), &Choice::Auto, 2);
        found.check("explained", example, &gpu, &predicted(&measured, &gpu, &teg()), &explained(&measured, &gpu));
    }
    found.none();
}

#[test]
#[ignore = "an hour: every example on every GPU, in every way that it can be asked about"]
fn all_examples_on_all_gpus_in_every_way() {
    let all = machines::all().expect("the built-in GPUs");
    let named = std::env::var("EXAMPLES").ok();
    let is_asked = |example: &&PathBuf| {
        named.as_ref().is_none_or(|names| names.split(',').any(|one| one == name(example).as_str()))
    };
    let (mut found, mut n_asked) = (Differences::default(), 0);
    for example in examples().iter().filter(is_asked) {
        n_asked += 1;
        let since = std::time::Instant::now();
        // A GPU at a time for each host thread.
        let next = AtomicUsize::new(0);
        let among_all: Vec<Vec<Measurement>> =
            [1, 2].iter().map(|&threads| measured(example, &all, &Choice::All, threads)).collect();
        let saved = saved(&among_all[0]);
        let of_gpus = || {
            let mut found = Differences::default();
            while let Some(gpu) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                in_every_way(example, gpu, &all, &among_all, &saved, &mut found);
            }
            found
        };
        let of_threads: Vec<Differences> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..2).map(|_| scope.spawn(of_gpus)).collect();
            threads.into_iter().map(|thread| thread.join().expect("it does not panic")).collect()
        });
        let here: Vec<String> = of_threads.into_iter().flat_map(|of| of.0).collect();
        println!("{}: {} GPUs, {} differ, {:?}", name(example), all.len(), here.len(), since.elapsed());
        found.0.extend(here);
    }
    assert!(n_asked > 0, "no example is called `{}`", named.unwrap_or_default());
    found.none();
}

fn in_every_way(
    example: &Path,
    gpu: &Machine,
    all: &[Machine],
    among_all: &[Vec<Measurement>],
    saved: &[Measurement],
    found: &mut Differences,
) {
    let at = all.iter().position(|of| of.id == gpu.id).expect("one of them");
    let own = std::slice::from_ref(gpu);
    let alone = predicted(&measured(example, own, &teg(), 1), gpu, &teg());
    let mut check = |what: &str, answers: &[Answer]| found.check(what, example, gpu, &alone, answers);
    check("on two threads", &predicted(&measured(example, own, &Choice::Auto, 2), gpu, &Choice::All));
    let pair = [gpu.clone(), all[(at + 1) % all.len()].clone()];
    for threads in [1, 2] {
        let pair = measured(example, &pair, &Choice::All, threads);
        check(&format!("with another GPU, {threads} threads"), &predicted(&pair, gpu, &teg()));
    }
    check("with all GPUs, 1 thread", &predicted(&among_all[0], gpu, &Choice::All));
    check("with all GPUs, 2 threads", &predicted(&among_all[1], gpu, &teg()));
    check("in a saved profile", &predicted(saved, gpu, &teg()));
    check("explained", &explained(saved, gpu));
    check("compared", &compared(&among_all[1], &pair, 0));
}
