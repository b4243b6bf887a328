//! The timing simulation answers for every example, the same whatever the number of threads and of GPUs asked together.

use std::path::{Path, PathBuf};

use warplens_launch::Launch;
use warplens_question::whatif::{self, Effect};
use warplens_session::machines::{self, Machine};
use warplens_session::predict::{self, Choice, ModelId, Options, Prediction};
use warplens_session::profile::Counting;
use warplens_session::toolchain::Search;
use warplens_session::{ExecutionOptions, Input, Measurement, Program, Progress, measure};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

fn gpus(list: &str) -> Vec<Machine> {
    machines::select(list).expect("the GPUs are built in")
}

/// The launches of an example, traced for these GPUs.
fn measured(name: &str, gpus: &[Machine], threads: usize) -> Vec<Measurement> {
    let folder = example(name);
    let search = Search::default();
    let input = Input::read(folder.join("ptx/sm_75.ptx")).expect("the PTX can be read");
    let program = Program::load(&input, "sm_75", &search).expect("the PTX can be parsed");
    let file = folder.join("launch.toml").to_string_lossy().into_owned();
    let launches =
        warplens_session::source::launches(Some(&file), Launch::default()).expect("the launch file can be read");
    let options = ExecutionOptions { threads, traced_for: gpus.to_vec(), ..ExecutionOptions::new() };
    measure(&program, &launches, options, Counting::Ptx, &search, &Progress::default())
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A kernel whose threads call a function with a loop of 4000 multiply-adds, by its name or by its address in a table.
fn caller(call: &str) -> String {
    format!(
        "\
.version 8.0
.target sm_80
.address_size 64
.global .align 8 .u64 table[1] = {{heavy}};
.func (.param .b32 result) heavy(.param .b32 value)
{{
    .reg .f32 %f;
    .reg .b32 %r;
    .reg .pred %p;
    ld.param.f32 %f, [value];
    mov.u32 %r, 0;
AGAIN:
    fma.rn.f32 %f, %f, %f, %f;
    fma.rn.f32 %f, %f, %f, %f;
    fma.rn.f32 %f, %f, %f, %f;
    fma.rn.f32 %f, %f, %f, %f;
    add.u32 %r, %r, 1;
    setp.lt.u32 %p, %r, 1000;
    @%p bra AGAIN;
    st.param.f32 [result], %f;
    ret;
}}
.visible .entry kernel(.param .u64 out)
{{
    .reg .b64 %rd<3>;
    .reg .f32 %f;
    ld.param.u64 %rd1, [out];
    ld.global.u64 %rd2, [table];
    mov.f32 %f, 0f3f000000;
    {{
        .param .b32 a;
        .param .b32 b;
        st.param.f32 [a], %f;
        {call}
        ld.param.f32 %f, [b];
    }}
    st.global.f32 [%rd1], %f;
    ret;
}}
"
    )
}

/// The launches of a text, traced for these GPUs.
fn measured_text(ptx: String, launch: &str, gpus: &[Machine]) -> Vec<Measurement> {
    let program = Program::from_ptx("text", ptx).expect("the PTX can be parsed");
    let launches = Launch::parse_file("launch", launch).expect("the launch can be read");
    let options = ExecutionOptions { threads: 1, traced_for: gpus.to_vec(), ..ExecutionOptions::new() };
    measure(&program, &launches, options, Counting::Ptx, &Search::default(), &Progress::default())
        .unwrap_or_else(|error| panic!("{error}"))
}

/// What the simulation says of each launch and GPU.
fn answers(name: &str, measurements: &[Measurement], gpus: &[Machine]) -> Vec<Prediction> {
    let choice = Choice::parse("teg").expect("teg is a model");
    let mut found = Vec::new();
    for measurement in measurements {
        for gpu in predict::predict(measurement.clone(), gpus, &choice, Options::default()).gpus {
            let answer = gpu.answers.into_iter().next().expect("one model was asked");
            found.push(answer.result.unwrap_or_else(|refusal| panic!("{name} on {}: {refusal}", gpu.machine.id)));
        }
    }
    found
}

const EXAMPLES: &[&str] = &[
    "abt_conflict",
    "abt_conflict_free",
    "black_scholes",
    "fmm_ulist",
    "gesummv",
    "histogram_atomics",
    "layout_aos",
    "layout_soa",
    "linear",
    "mandelbrot",
    "matmul_naive",
    "matmul_tiled",
    "reduction_shuffle",
    "sepia",
    "svm",
    "vector_add",
];

#[test]
fn every_example_has_an_answer() {
    let gpus = gpus("v100-pcie,a100-80,h200");
    for name in EXAMPLES {
        for prediction in answers(name, &measured(name, &gpus, 2), &gpus) {
            let simulated = prediction.teg().expect("the simulation is kept");
            assert!(prediction.time.0 > 0.0, "{name}");
            // No warp issues more than its schedulers choose, and nobody moves more than memory has.
            let per_cycle = f64::from(simulated.config.schedulers * simulated.config.issue_width);
            let issued = prediction.quantity_called("instructions_per_cycle").expect("a quantity of the simulation");
            assert!(issued > 0.0 && issued <= per_cycle, "{name}: {issued} instructions per cycle");
            assert!(prediction.terms.iter().all(|term| term.cycles.0 >= 0.0), "{name}");
        }
    }
}

/// The simulation of the same machine code takes at least as long as the bound, and the bound knows what it is.
#[test]
fn nothing_is_faster_than_light() {
    let choice = Choice::parse("teg,speed-of-light").expect("they are models");
    let several = gpus("v100-pcie,a100-80,h200");
    let gt200 = gpus("gtx280");
    let asked = EXAMPLES.iter().map(|name| (*name, &several)).chain([("matmul_tiled", &gt200), ("vector_add", &gt200)]);
    let mut faster = Vec::new();
    for (name, gpus) in asked {
        for measurement in measured(name, gpus, 2) {
            for gpu in predict::predict(measurement, gpus, &choice, Options::default()).gpus {
                let of = |index: usize| match &gpu.answers[index].result {
                    Ok(prediction) => prediction,
                    Err(refusal) => panic!("{name} on {}: {refusal}", gpu.machine.id),
                };
                let (simulated, bound) = (of(0), of(1));
                assert_eq!(bound.model, ModelId::SpeedOfLight);
                assert!(bound.time.0 > 0.0 && bound.terms.len() >= 5, "{name} on {}", gpu.machine.id);
                if bound.seconds() > simulated.seconds() {
                    let (bound, simulated) = (bound.seconds().0 * 1e6, simulated.seconds().0 * 1e6);
                    faster.push(format!("{name} on {}: {simulated} us, bound {bound} us", gpu.machine.id));
                }
            }
        }
    }
    assert!(faster.is_empty(), "{}", faster.join("\n"));
}

#[test]
fn the_gt200_has_an_answer() {
    let gpus = gpus("gtx280");
    for name in ["abt_conflict", "layout_aos", "matmul_tiled", "vector_add"] {
        let answers = answers(name, &measured(name, &gpus, 2), &gpus);
        assert!(answers.iter().all(|answer| answer.time.0 > 0.0), "{name}");
    }
}

#[test]
fn the_answer_is_that_of_the_launch_alone() {
    for name in ["matmul_tiled", "reduction_shuffle", "mandelbrot"] {
        let (one, several) = (gpus("a100-80"), gpus("v100-pcie,a100-80,h200"));
        let alone = answers(name, &measured(name, &one, 1), &one);
        assert_eq!(alone, answers(name, &measured(name, &one, 8), &one), "{name}: 1 and 8 threads");
        let among = measured(name, &several, 2);
        assert_eq!(alone, answers(name, &among, &one), "{name}: one GPU and several");
    }
}

#[test]
fn effects_that_are_left_out_cost_nothing() {
    let gpus = gpus("a100-80");
    let measurements = measured("abt_conflict", &gpus, 2);
    let choice = Choice::parse("teg").expect("teg is a model");
    let prices = whatif::price(measurements[0].clone(), &gpus, &choice, Options::default());
    let of = |name: &str| {
        let mut found = prices.gpus[0].prices.iter().filter(|price| price.effect.is_some_and(|it| it.name() == name));
        found.next().and_then(whatif::Price::share).unwrap_or_else(|| panic!("{name} has a price"))
    };
    assert!(of("bank-conflicts") > 0.1, "the kernel has 16-way conflicts: {}", of("bank-conflicts"));
    assert_eq!(of("repeated-loads"), 0.0, "not in the simulation");
    assert!(Effect::find("channel-skew").is_some_and(|effect| effect.is_modelled_by(ModelId::Teg)));
    assert!(!Effect::find("channel-skew").is_some_and(|effect| effect.is_modelled_by(ModelId::Analyzer)));
}

/// Every thread adds to one of so many words of global or of shared memory, 16 times.
fn adder(space: &str, mask: u32) -> String {
    let of_space = match space {
        "shared" => "mov.u64 %rd1, words;",
        _ => "ld.param.u64 %rd1, [out];",
    };
    // One is not added: in shared memory that counts lanes from 8.0 on, which takes those on one word together.
    let add = format!("red.{space}.add.u32 [%rd2], 2;\n").repeat(16);
    format!(
        "\
.version 8.0
.target sm_80
.address_size 64
.visible .entry kernel(.param .u64 out)
{{
    .reg .b64 %rd<4>;
    .reg .b32 %r<5>;
    .shared .align 4 .b8 words[4096];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    and.b32 %r4, %r4, {mask};
    {of_space}
    mul.wide.u32 %rd3, %r4, 4;
    add.u64 %rd2, %rd1, %rd3;
    {add}
    ret;
}}
"
    )
}

#[test]
fn atomics_on_few_words_are_slower_than_on_many() {
    let gpus = gpus("gtx480,k40,gtx1080,v100-pcie,a100-80,h200,rtx4090");
    let times = |space: &str, mask: u32| -> Vec<f64> {
        let launch = "grid = 512\nblock = 256\nargs = [\"u32[131072]\"]";
        let measurements = measured_text(adder(space, mask), launch, &gpus);
        answers(space, &measurements, &gpus).iter().map(|answer| answer.time.0).collect()
    };
    for (space, most) in [("global", 131_071), ("shared", 255)] {
        let (one, eight, many) = (times(space, 0), times(space, 7), times(space, most));
        for (gpu, ((one, eight), many)) in gpus.iter().zip(one.iter().zip(&eight).zip(&many)) {
            assert!(one > eight && eight > many, "{space} memory of {}: {one}, {eight}, {many} cycles", gpu.id);
        }
        if space == "global" {
            // 2 Mi operations take place on one word, one per cycle or, on Fermi, per 18 hot cycles.
            assert!(one.iter().all(|cycles| *cycles > 1.5e6 && *cycles < 60e6), "{one:?}");
        }
    }
}

/// Every thread adds 64 texels of a small plane.
fn fetcher() -> String {
    let fetch = |row: usize| {
        format!("tex.2d.v4.f32.s32 {{%f1, %f2, %f3, %f4}}, [%rd2, {{%r1, {row}}}];\nadd.f32 %f5, %f5, %f1;\n")
    };
    let fetches: String = (0..64).map(fetch).collect();
    format!(
        "\
.version 8.0
.target sm_35
.address_size 64
.visible .entry kernel(.param .u64 out, .param .u64 texture)
{{
    .reg .b64 %rd<4>;
    .reg .b32 %r<3>;
    .reg .f32 %f<6>;
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [texture];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 4;
    add.u64 %rd1, %rd1, %rd3;
    and.b32 %r1, %r1, 31;
    mov.f32 %f5, 0f00000000;
    {fetches}
    st.global.f32 [%rd1], %f5;
    ret;
}}
"
    )
}

#[test]
fn fetches_take_turns_in_the_texture_units() {
    let launch = "grid = 1\nblock = 1024\nargs = [\"f32[1024]\", \"texture(f32[2048], width=32, height=64)\"]";
    // On older ones the tags of the L1 cache are slower: a row of an array lies in eight lines.
    let gpus = gpus("v100-pcie,a100-80,h200,rtx4090");
    let measurements = measured_text(fetcher(), launch, &gpus);
    for (gpu, answer) in gpus.iter().zip(answers("fetches", &measurements, &gpus)) {
        // 32 warps of 64 fetches, each of 32 lanes of which four are served per cycle.
        let least = 2048.0 * 32.0 / 4.0;
        let cycles = answer.teg().expect("it is the simulation's").cycles();
        assert!((least..2.0 * least).contains(&cycles), "{} takes {cycles} cycles, not {least}", gpu.id);
    }
}

#[test]
fn textures_with_caches_of_their_own_are_refused_by_name() {
    let launch = "grid = 1\nblock = 32\nargs = [\"f32[32]\", \"texture(f32[2048], width=32, height=64)\"]";
    let gpus = gpus("k40");
    let measurements = measured_text(fetcher(), launch, &gpus);
    let choice = Choice::parse("teg").expect("teg is a model");
    let analysis = predict::predict(measurements[0].clone(), &gpus, &choice, Options::default());
    let refusal = analysis.gpus[0].answers[0].result.as_ref().expect_err("the caches are not modelled");
    assert_eq!(refusal.missing, ["lanes.texture_per_clk"]);
}

#[test]
fn a_function_called_by_its_address_is_simulated() {
    let gpus = gpus("gtx280,a100-80");
    let times = |call: &str| -> Vec<f64> {
        let launch = "grid = 108\nblock = 128\nargs = [\"f32[128]\"]";
        let measurements = measured_text(caller(call), launch, &gpus);
        answers(call, &measurements, &gpus).iter().map(|answer| answer.time.0).collect()
    };
    let direct = times("call (b), heavy, (a);");
    let indirect = times("proto: .callprototype (.param .b32 _) _ (.param .b32 _);\ncall (b), %rd2, (a), proto;");
    for (direct, indirect) in direct.iter().zip(&indirect) {
        // Each of the multiply-adds waits for the one before.
        assert!(*direct > 4.0 * 4000.0, "{direct} cycles");
        assert!((indirect / direct - 1.0).abs() < 0.02, "{indirect} cycles by address, {direct} by name");
    }
}

#[test]
fn counts_do_not_reach_a_trace_and_the_machine_does() {
    let gpus = gpus("a100-80");
    let measurements = measured("vector_add", &gpus, 2);
    let choice = Choice::parse("teg").expect("teg is a model");
    let ask = |setting: &str| {
        let scenario = whatif::Scenario::parse(&[setting.to_owned()], &[]).expect("a question");
        let answer = whatif::run(measurements[0].clone(), None, &gpus, &choice, Options::default(), &scenario);
        answer.gpus[0].models[0].clone()
    };
    let refused = ask("instructions.fp32=2x").after.expect("the question makes sense").expect_err("a trace stays");
    assert_eq!(refused.reason, "a change of counts does not reach the trace that teg simulates");
    assert!(ask("dram.bandwidth=0.25x").speedup().is_some_and(|speedup| speedup < 0.9));
}

#[test]
fn without_a_trace_there_is_no_answer() {
    let measurements = measured("vector_add", &[], 1);
    let choice = Choice::parse("teg").expect("teg is a model");
    let analysis = predict::predict(measurements[0].clone(), &gpus("a100-80"), &choice, Options::default());
    let refusal = analysis.gpus[0].answers[0].result.as_ref().expect_err("nothing was recorded");
    assert_eq!(refusal.missing, ["trace"]);
}
