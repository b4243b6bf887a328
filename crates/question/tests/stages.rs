//! Asynchronous copies in stages: how many there are, and how many a thread leaves on their way, shows in the time.

use warplens_launch::Launch;
use warplens_session::machines::{self, Machine};
use warplens_session::predict::{self, Choice, Options, Prediction};
use warplens_session::profile::Counting;
use warplens_session::toolchain::Search;
use warplens_session::{ExecutionOptions, Program, Progress, measure};

/// Bytes of a stage.
const STAGE: u32 = 4096;
/// Turns of the loop.
const TURNS: u32 = 24;

/// 256 threads that copy a stage, wait for all stages but the newest `left`, and compute for a while, turn after turn.
fn kernel(stages: u32, left: u32) -> String {
    let first: String = (0..stages)
        .map(|stage| {
            let at = stage * STAGE;
            format!("cp.async.cg.shared.global [%r2+{at}], [%rd3+{at}], 16;\ncp.async.commit_group;\n")
        })
        .collect();
    let (work, end, ahead) = ("fma.rn.f32 %f1, %f1, %f2, %f2;\n".repeat(24), STAGE * (stages + 1), stages * STAGE);
    format!(
        "\
.version 7.8
.target sm_80
.address_size 64
.visible .entry kernel(.param .u64 out, .param .u64 in)
{{
    .reg .pred %p<3>;
    .reg .b32 %r<12>;
    .reg .f32 %f<3>;
    .reg .b64 %rd<6>;
    .shared .align 16 .b8 tile[{end}];
    ld.param.u64 %rd1, [in];
    ld.param.u64 %rd2, [out];
    mov.u32 %r1, %tid.x;
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r2, tile;
    mad.lo.u32 %r2, %r1, 16, %r2;
    mad.wide.u32 %rd3, %r3, {per_cta}, %rd1;
    mad.wide.u32 %rd3, %r1, 16, %rd3;
    mov.f32 %f1, 0f00000000;
    {first}
    mov.u32 %r4, 0;
    mov.u32 %r5, 0;
    mov.u32 %r6, {ahead};
turn:
    cp.async.wait_group {left};
    bar.sync 0;
    add.u32 %r7, %r2, %r5;
    ld.shared.f32 %f2, [%r7];
    {work}
    add.u32 %r8, %r4, {stages};
    setp.lt.u32 %p1, %r8, {TURNS};
    add.u32 %r9, %r2, %r6;
    mad.wide.u32 %rd4, %r8, {STAGE}, %rd3;
    @%p1 cp.async.cg.shared.global [%r9], [%rd4], 16;
    cp.async.commit_group;
    add.u32 %r5, %r5, {STAGE};
    setp.eq.u32 %p2, %r5, {end};
    selp.u32 %r5, 0, %r5, %p2;
    add.u32 %r6, %r6, {STAGE};
    setp.eq.u32 %p2, %r6, {end};
    selp.u32 %r6, 0, %r6, %p2;
    add.u32 %r4, %r4, 1;
    setp.lt.u32 %p2, %r4, {TURNS};
    @%p2 bra turn;
    mad.lo.u32 %r10, %r3, 256, %r1;
    mad.wide.u32 %rd5, %r10, 4, %rd2;
    st.global.f32 [%rd5], %f1;
    ret;
}}
",
        per_cta = STAGE * TURNS,
    )
}

fn answers(ptx: String, launch: &str, gpus: &[Machine]) -> Vec<Result<Prediction, String>> {
    let program = Program::from_ptx("stages", ptx).expect("the PTX can be parsed");
    let launches = Launch::parse_file("launch", launch).expect("the launch can be read");
    let options = ExecutionOptions { threads: 1, traced_for: gpus.to_vec(), ..ExecutionOptions::new() };
    let measurements = measure(&program, &launches, options, Counting::Ptx, &Search::default(), &Progress::default())
        .unwrap_or_else(|error| panic!("{error}"));
    let choice = Choice::parse("teg").expect("teg is a model");
    let predicted = measurements.into_iter().map(|it| predict::predict(it, gpus, &choice, Options::default()));
    let answers = predicted.flat_map(|it| it.gpus).map(|gpu| {
        let answer = gpu.answers.into_iter().next().expect("one model was asked");
        answer.result.map_err(|refusal| refusal.to_string())
    });
    answers.collect()
}

/// Cycles of one CTA per SM on each GPU, without those of the launch around them.
fn times(stages: u32, left: u32, gpus: &[Machine]) -> Vec<f64> {
    let launch = format!("grid = 84\nblock = 256\nargs = [\"f32[{}]\", \"f32[{}]\"]", 84 * 256, 84 * TURNS * STAGE / 4);
    let answers = answers(kernel(stages, left), &launch, gpus);
    let cycles = |answer: Prediction| answer.teg().expect("it is the simulation's").cycles();
    answers.into_iter().map(|answer| cycles(answer.unwrap_or_else(|refusal| panic!("{refusal}")))).collect()
}

#[test]
fn more_stages_hide_more_of_the_latency() {
    let gpus = machines::select("a100-80,rtx3090,rtx4090,h200").expect("the GPUs are built in");
    let of_stages: Vec<Vec<f64>> = (1..=4).map(|stages| times(stages, stages - 1, &gpus)).collect();
    for (number, gpu) in gpus.iter().enumerate() {
        let times: Vec<f64> = of_stages.iter().map(|times| times[number]).collect();
        // Where one stage already takes most of the bandwidth of the DRAM there is less to hide.
        assert!(times[1] < 0.94 * times[0], "two stages on {}: {times:?}", gpu.id);
        assert!(times.windows(2).all(|pair| pair[1] < 1.02 * pair[0]), "more stages on {}: {times:?}", gpu.id);
    }
}

#[test]
fn who_waits_for_all_groups_waits_longer() {
    let gpus = machines::select("a100-80,h200").expect("the GPUs are built in");
    let (some, all) = (times(3, 2, &gpus), times(3, 0, &gpus));
    for ((gpu, some), all) in gpus.iter().zip(some).zip(all) {
        assert!(all > 1.2 * some, "{}: {some} cycles, {all} where all groups are waited for", gpu.id);
    }
}

#[test]
fn gpus_before_ampere_have_no_copies() {
    let gpus = machines::select("v100-pcie,rtx2080ti").expect("the GPUs are built in");
    let launch = format!("grid = 1\nblock = 256\nargs = [\"f32[256]\", \"f32[{}]\"]", TURNS * STAGE / 4);
    for answer in answers(kernel(2, 1), &launch, &gpus) {
        let refusal = answer.expect_err("there is no machine code");
        assert!(refusal.contains("`cp.async.cg.shared.global` on line"), "{refusal}");
    }
}

/// A thread waits for a barrier in memory that it has told of its arrival, and of bytes that a copy brings.
fn waiter(copies: bool) -> String {
    let copy = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd1], 4096, [barrier];";
    let bytes = if copies { 4096 } else { 0 };
    format!(
        "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry kernel(.param .u64 in)
{{
    .reg .pred %p;
    .reg .b64 %rd<3>;
    .shared .align 8 .b64 barrier;
    .shared .align 128 .b8 tile[4096];
    ld.param.u64 %rd1, [in];
    mbarrier.init.shared.b64 [barrier], 1;
    mbarrier.arrive.expect_tx.shared.b64 %rd2, [barrier], {bytes};
    {}
again:
    mbarrier.try_wait.parity.shared.b64 %p, [barrier], 0;
    @!%p bra again;
    ret;
}}
",
        if copies { copy } else { "" }
    )
}

#[test]
fn a_wait_for_a_barrier_in_memory_takes_until_the_bytes_have_come() {
    let gpus = machines::select("h100-sxm,h200").expect("the GPUs are built in");
    let times = |copies: bool| -> Vec<f64> {
        let answers = answers(waiter(copies), "grid = 1\nblock = 1\nargs = [\"u8[4096]\"]", &gpus);
        answers.into_iter().map(|answer| answer.unwrap_or_else(|refusal| panic!("{refusal}")).time.0).collect()
    };
    for ((gpu, alone), copied) in gpus.iter().zip(times(false)).zip(times(true)) {
        // About 621 cycles of a load from memory, 105 more of the copy, and the rest of its bytes.
        assert!((500.0..2000.0).contains(&(copied - alone)), "{}: {alone} cycles without a copy, {copied}", gpu.id);
    }
}
