//! Machines with numbers far from any GPU's: whatever a file or a what-if question says, there is an answer or a message.

use std::cell::Cell;
use std::fmt::Write as _;
use std::sync::OnceLock;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use warplens_launch::Launch;
use warplens_machine::{Key, Machine, Scaling, Shape, Unit, builtin, load};
use warplens_session::predict::{self, Choice, Options};
use warplens_session::profile::Counting;
use warplens_session::toolchain::Search;
use warplens_session::{ExecutionOptions, Program, Progress, measure};

const CASES: u32 = 150;

/// Loads, stores, shared memory with conflicts, a barrier, local memory, and operations that become several.
const KERNEL: &str = "\
.version 8.0
.target sm_80
.address_size 64
.visible .entry kernel(.param .u64 a)
{
    .reg .b64 %rd<4>;
    .reg .f32 %f<6>;
    .reg .b32 %r<8>;
    .reg .pred %p;
    .shared .f32 tile[2048];
    .local .f32 own[8];
    ld.param.u64 %rd1, [a];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mad.lo.u32 %r3, %r2, 64, %r1;
    mul.wide.u32 %rd2, %r3, 4;
    add.u64 %rd1, %rd1, %rd2;
    shl.b32 %r4, %r1, 5;
    mov.u32 %r5, tile;
    add.u32 %r5, %r5, %r4;
    mov.u32 %r6, 0;
AGAIN:
    ld.global.f32 %f1, [%rd1];
    st.shared.f32 [%r5], %f1;
    bar.sync 0;
    ld.shared.f32 %f2, [%r5];
    div.rn.f32 %f3, %f1, %f2;
    sqrt.rn.f32 %f3, %f3;
    st.local.f32 [own], %f3;
    ld.local.f32 %f4, [own];
    fma.rn.f32 %f5, %f4, %f3, %f1;
    st.global.f32 [%rd1], %f5;
    add.u32 %r6, %r6, 1;
    setp.lt.u32 %p, %r6, 3;
    @%p bra AGAIN;
    ret;
}
";

/// A number for a parameter, as a rule.
#[derive(Clone, Copy, Debug)]
enum Number {
    /// This one.
    Any(f64),
    /// Between the least and the most that it can be, by a share of the orders of magnitude.
    Between(f64),
}

impl Number {
    fn of(self, key: Key) -> f64 {
        let (least, most) = key.bounds();
        match self {
            Self::Any(number) => number,
            Self::Between(share) => (least.ln() + share * (most / least).ln()).exp().clamp(least, most),
        }
    }

    /// The nearest whole number where half a thing is none.
    fn rounded(self, key: Key) -> f64 {
        let number = self.of(key);
        if key.unit() == Unit::Count || key.unit() == Unit::Bytes { number.round() } else { number }
    }
}

fn number() -> impl Strategy<Value = Number> {
    prop_oneof![
        2 => prop::sample::select(vec![0.0, 1e-300, 1e-9, 1.0, 4_294_967_296.0, 1e15, 1e300]).prop_map(Number::Any),
        6 => prop::sample::select(vec![0.0, 1.0]).prop_map(Number::Between),
        3 => (0.0..1.0f64).prop_map(Number::Between),
    ]
}

fn key() -> impl Strategy<Value = Key> {
    prop::sample::select(Key::ALL.to_vec()).prop_filter("a number", |key| !matches!(key.shape(), Shape::Word(_)))
}

/// A file that states these numbers.
fn file(base: &str, numbers: &[(Key, Number)]) -> String {
    let mut text = format!("name = \"extreme\"\ninherits = \"{base}\"\n");
    let mut written: Vec<Key> = Vec::new();
    let mut groups: Vec<&str> = numbers.iter().map(|(key, _)| key.group()).collect();
    groups.sort_unstable();
    groups.dedup();
    for group in groups {
        let _ = writeln!(text, "[{group}]\nbasis = \"measured\"\nsource = \"nobody\"");
        for &(key, number) in numbers.iter().filter(|(key, _)| key.group() == group) {
            if written.contains(&key) {
                continue;
            }
            written.push(key);
            let number = number.rounded(key);
            let symbol = if key.scaling() == Scaling::WallTime { Unit::Seconds.symbol() } else { key.unit().symbol() };
            let unit = if symbol.is_empty() { String::new() } else { format!(", unit = \"{symbol}\"") };
            let _ = match key.shape() {
                Shape::List => writeln!(text, "{} = {{ value = [{number:?}]{unit} }}", key.field()),
                Shape::Mix => writeln!(text, "{} = {{ fp32 = {number:?}, int32_add = 3 }}", key.field()),
                _ => writeln!(text, "{} = {{ value = {number:?}{unit} }}", key.field()),
            };
        }
    }
    text
}

fn machine(base: &str, numbers: &[(Key, Number)], supposed: bool) -> Result<Machine, String> {
    if !supposed {
        let resolve = |name: &str| builtin::text(name).map(str::to_owned);
        return load("extreme", &file(base, numbers), &resolve).map_err(|error| error.to_string());
    }
    let mut machine = builtin::machine(base).expect("a built-in GPU").expect("its file is valid");
    for &(key, number) in numbers {
        machine.suppose(key, number.rounded(key), "nobody").map_err(|error| error.to_string())?;
    }
    Ok(machine)
}

/// What all models say of the kernel; each time is a number.
fn ask(program: &Program, machine: Machine) -> Result<usize, TestCaseError> {
    let gpus = [machine];
    let launch = Launch::parse_file("launch", "grid = 300\nblock = 64\nargs = [\"f32[19200]\"]").expect("a launch");
    let options = ExecutionOptions { threads: 1, traced_for: gpus.to_vec(), ..ExecutionOptions::new() };
    // Registers are estimated, whatever is installed here.
    let search = Search { sites: OnceLock::from(Vec::new()), ..Search::default() };
    let measured = measure(program, &launch, options, Counting::Ptx, &search, &Progress::default());
    let measured = measured.map_err(|error| TestCaseError::fail(error.to_string()))?;
    let mut n_answers = 0;
    for measurement in measured {
        for gpu in predict::predict(measurement, &gpus, &Choice::All, Options::default()).gpus {
            for answer in gpu.answers {
                match answer.result {
                    Ok(prediction) => {
                        n_answers += 1;
                        prop_assert!(prediction.time.0.is_finite() && prediction.time.0 >= 0.0, "{}", prediction.model);
                    }
                    Err(refusal) => prop_assert!(!refusal.reason.is_empty()),
                }
            }
        }
    }
    Ok(n_answers)
}

#[test]
fn any_machine_has_an_answer_or_a_message() {
    let program = Program::from_ptx("kernel", KERNEL.to_owned()).expect("the kernel is PTX");
    let bases = prop::sample::select(vec!["gtx280", "k40", "p100", "a100-80", "h200"]);
    let strategy = (bases, prop::collection::vec((key(), number()), 1..4), any::<bool>());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[11; 32]);
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    let (n_answers, n_messages) = (Cell::new(0), Cell::new(0));
    let result = TestRunner::new_with_rng(config, rng).run(&strategy, |(base, numbers, supposed)| {
        match machine(base, &numbers, supposed) {
            Ok(machine) => n_answers.set(n_answers.get() + ask(&program, machine)?),
            Err(message) => {
                n_messages.set(n_messages.get() + 1);
                prop_assert!(!message.is_empty());
            }
        }
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    let (n_answers, n_messages) = (n_answers.get(), n_messages.get());
    assert!(n_answers > 50 && n_messages > 10, "{n_answers} answers, {n_messages} messages");
}

#[test]
fn the_largest_numbers_of_each_parameter_alone_have_an_answer_or_a_message() {
    let program = Program::from_ptx("kernel", KERNEL.to_owned()).expect("the kernel is PTX");
    for &key in Key::ALL.iter().filter(|key| key.shape() == Shape::Number) {
        for share in [0.0, 1.0] {
            for base in ["gtx280", "h200"] {
                let numbers = [(key, Number::Between(share))];
                if let Ok(machine) = machine(base, &numbers, true) {
                    ask(&program, machine).unwrap_or_else(|error| panic!("{key} of {base}: {error}"));
                }
            }
        }
    }
}
