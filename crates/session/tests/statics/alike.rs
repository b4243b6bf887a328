//! Launches of which a few CTAs tell what all do: counts and predictions are those of a run of all CTAs, and what is wrong
//! with one of the others is found.

use warplens_launch::Launch;
use warplens_session::machines::{self, Machine};
use warplens_session::predict::{Choice, Options, predict};
use warplens_session::profile::Counting;
use warplens_session::{Error, ExecutionOptions, Extent, Measurement, Program, Progress, measure};

use crate::examples::{launches, names, program};
use crate::{comparable, no_compiler};

/// Examples that have too few CTAs to gain anything, or of which something depends on data.
const EXECUTED: [&str; 9] = [
    "black_scholes",
    "black_scholes_7",
    "fmm_ulist",
    "gesummv",
    "histogram_atomics",
    "linear",
    "mandelbrot",
    "sepia",
    "svm",
];

fn machines() -> Vec<Machine> {
    machines::select("k40,rtx3080,h200").expect("they are built in")
}

fn measured(program: &Program, launches: &[Launch], extent: Extent) -> Result<Vec<Measurement>, Error> {
    let options = ExecutionOptions { extent, alike_limit: 0, traced_for: machines(), ..ExecutionOptions::new() };
    measure(program, launches, options, Counting::Ptx, &no_compiler(), &Progress::default())
}

fn times(measurement: Measurement) -> Vec<Option<f64>> {
    let asked = predict(measurement, &machines(), &Choice::All, Options::default());
    let answers = asked.gpus.iter().flat_map(|gpu| &gpu.answers);
    answers.map(|answer| answer.result.as_ref().ok().map(|answer| answer.seconds().0)).collect()
}

#[test]
fn what_few_blocks_tell_is_what_all_of_them_do() {
    let mut executed = Vec::new();
    for example in names() {
        let (program, launches) = (program(&example, "sm_80"), launches(&example));
        let of = |extent| measured(&program, &launches, extent).unwrap_or_else(|error| panic!("{example}: {error}"));
        let (all, few) = (of(Extent::Full), of(Extent::Auto));
        for (all, few) in all.into_iter().zip(few) {
            let Some(statics) = &few.statics else {
                executed.push(example.clone());
                continue;
            };
            assert!(statics.bounds.is_empty() && statics.executed_ctas < all.profile.launch.n_ctas(), "{example}");
            assert_eq!(comparable(&all.profile), comparable(&few.profile), "{example}");
            assert_eq!(times(all), times(few), "{example}");
        }
    }
    executed.dedup();
    assert_eq!(executed, EXECUTED);
}

/// Blocks store to one word each thread, as far as a buffer of so many bytes goes.
const STORES: &str = ".version 7.8 .target sm_80 .address_size 64
.visible .entry stores(.param .u64 to) {
    .reg .u64 %rd<3>;
    .reg .b32 %r<5>;
    ld.param.u64 %rd1, [to];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    mad.wide.u32 %rd2, %r4, 4, %rd1;
    st.global.u32 [%rd2], %r4;
    ret;
}";

fn stores(words: u32, times: usize) -> Result<Vec<Measurement>, Error> {
    let program = Program::from_ptx("stores", STORES.to_owned()).expect("the PTX is fine");
    let launch = format!("[[launch]]\ngrid = [4096, 1, 1]\nblock = [64, 1, 1]\nargs = [\"u32[{words}]\"]\n");
    let launches = Launch::parse_file("launch", &launch.repeat(times)).expect("the launch is fine");
    measured(&program, &launches, Extent::Auto)
}

#[test]
fn an_access_of_a_block_that_nobody_would_execute_is_checked() {
    let fine = stores(4096 * 64, 1).expect("the buffer is large enough");
    assert!(fine[0].statics.as_ref().is_some_and(|statics| statics.executed_ctas < 1000));
    let error = stores(4096 * 64 - 1, 1).expect_err("the last word is missing");
    assert!(error.message.contains("block (4095,0,0)"), "{}", error.message);
}

/// Threads copy a word to a shared array where a word of memory says so.
const COPIES: &str = ".version 7.8 .target sm_80 .address_size 64
.visible .entry copies(.param .u64 from, .param .u64 sizes) {
    .reg .u64 %rd<6>;
    .reg .b32 %r<6>;
    .shared .align 16 .b8 tile[1024];
    ld.param.u64 %rd1, [from];
    ld.param.u64 %rd2, [sizes];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd4, %r1, 16;
    add.u64 %rd4, %rd4, %rd1;
    ld.global.u32 %r2, [%rd2];
    mov.u32 %r3, tile;
    shl.b32 %r4, %r1, 4;
    add.u32 %r3, %r3, %r4;
    cp.async.cg.shared.global [%r3], [%rd4], 16, %r2;
    cp.async.wait_all;
    ret;
}";

#[test]
fn a_copy_whose_size_is_data_is_executed() {
    let program = Program::from_ptx("copies", COPIES.to_owned()).expect("the PTX is fine");
    let launch = "[[launch]]\ngrid = [4096, 1, 1]\nblock = [64, 1, 1]\nargs = [\"u32[256]\", \"u32[1]\"]\n";
    let launches = Launch::parse_file("launch", launch).expect("the launch is fine");
    let measured = measured(&program, &launches, Extent::Auto).expect("the launch is allowed");
    assert_eq!(measured[0].statics, None);
}

#[test]
fn an_access_between_two_buffers_is_found_by_a_block_that_is_no_corner() {
    // The first block is in the first buffer, the last one in the second.
    let buffers = "\"u32[131000]\", \"u32[262144]\"";
    let launch = format!("[[launch]]\ngrid = [4096, 1, 1]\nblock = [64, 1, 1]\nargs = [{buffers}]\n");
    let program =
        Program::from_ptx("stores", STORES.replace("(.param .u64 to)", "(.param .u64 to, .param .u64 other)"));
    let program = program.expect("the PTX is fine");
    let launches = Launch::parse_file("launch", &launch).expect("the launch is fine");
    let error = measured(&program, &launches, Extent::Auto).expect_err("some blocks are in neither");
    assert!(error.message.contains("block (20"), "{}", error.message);
}

#[test]
fn what_other_launches_may_read_is_computed() {
    let both = stores(4096 * 64, 2).expect("the buffers are large enough");
    let known: Vec<bool> = both.iter().map(|measurement| measurement.statics.is_some()).collect();
    assert_eq!(known, [false, true]);
    assert_eq!(both[0].emulation.expect("it was executed").thread_instructions, both[0].profile.thread_instructions);
}
