//! Machine files: read or refused, and all models answer or refuse for what was read.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use warplens_launch::Launch;
use warplens_machine::{builtin, load};
use warplens_session::predict::{Options, measured_on};
use warplens_session::profile::Counting;
use warplens_session::toolchain::Search;
use warplens_session::{Choice, ExecutionOptions, Measurement, Program, Progress, machines, measure};

static MEASUREMENT: LazyLock<Measurement> = LazyLock::new(|| {
    let text = include_str!("../../examples/reduction_shuffle/ptx/sm_80.ptx");
    let program = Program::from_ptx("kernel", text.to_owned()).expect("it is sound");
    let file = "kernel = \"reduction_shuffle\"\ngrid = 16\nblock = 256\nargs = [\"f32[32768]\", \"f32[1024]\", \"32768\"]\n";
    let launches = Launch::parse_file("launch", file).expect("it is a launch");
    let mut options = ExecutionOptions::new();
    options.traced_for = vec![machines::one("h200").expect("it is built in")];
    measure(&program, &launches, options, Counting::Ptx, &Search::default(), &Progress::default())
        .expect("the kernel runs")
        .remove(0)
});

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let resolve = |name: &str| builtin::text(name).map(str::to_owned);
    if let Ok(machine) = load("fuzzed", &text, &resolve) {
        let analysis = measured_on(&MEASUREMENT, &machine, &Choice::All, Options::default());
        for prediction in analysis.answers.iter().filter_map(|answer| answer.result.as_ref().ok()) {
            assert!(prediction.seconds().0.is_finite());
        }
    }
});
