//! Launches that GPUs of different generations run differently: each GPU gets the counts of its own generation, whatever
//! other GPUs are asked about.

use warplens_launch::Launch;
use warplens_session::generation::Differing;
use warplens_session::machines::{self, Machine};
use warplens_session::predict::{Options, predict};
use warplens_session::profile::Counting;
use warplens_session::toolchain::Search;
use warplens_session::{
    Analysis, Choice, Error, ExecutionOptions, Generation, Measurement, Program, Progress, measure,
};

const HEADER: &str = ".version 6.0 .target sm_30 .address_size 64
.visible .entry kernel(.param .u64 out) {
    .reg .pred %p<3>; .reg .b32 %r<9>, %t; .reg .b64 %out, %slot;
    ld.param.u64 %out, [out];
    mov.u32 %t, %tid.x;
    mad.wide.u32 %slot, %t, 4, %out;
";

/// Threads 40 and up leave, so that a part of warp 1 comes to the barrier: the others of the warp exit by themselves where
/// the barrier waits for threads.
const LEAVES: &str = "
    setp.ge.u32 %p0, %t, 40;
    @%p0 bra DONE;
    bar.sync 0;
    st.global.u32 [%slot], %t;
DONE:
    ret;
}
";

/// Warp 0 comes to barrier 0 once or twice, depending on who counts.
const BOTH_SIDES: &str = "
    setp.lt.u32 %p0, %t, 16;
    @%p0 bra LOW;
    bar.sync 0;
    bra DONE;
LOW:
    bar.sync 0;
DONE:
    bar.sync 1;
    st.global.u32 [%slot], %t;
    ret;
}
";

/// Half a warp waits for the other half, which waits at another barrier, or comes for it.
const ONE_SIDE: &str = "
    setp.lt.u32 %p0, %t, 16;
    @%p0 bra DONE;
    bar.sync 0;
DONE:
    st.global.u32 [%slot], %t;
    bar.sync 1;
    ret;
}
";

/// Barriers that every generation understands in the same way.
const PLAIN: &str = "
    bar.sync 0;
    st.global.u32 [%slot], %t;
    bar.sync 0;
    ret;
}
";

/// One plus 16 products of 2^-25, which are below the last bit that tensor cores keep before compute capability 9.0. Where
/// the sum is more than one, a barrier follows.
const LAST_BITS: &str = "
.version 7.0 .target sm_80 .address_size 64
.visible .entry kernel(.param .u64 out) {
    .reg .pred %p<3>; .reg .b32 %a, %b, %t; .reg .f32 %c, %d<4>; .reg .b64 %out, %slot;
    ld.param.u64 %out, [out];
    mov.u32 %t, %tid.x;
    mad.wide.u32 %slot, %t, 4, %out;
    mov.b32 %a, 0x00010001;
    mov.b32 %b, 0x38003800;
    mov.f32 %c, 0f3f800000;
    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
        {%d0, %d1, %d2, %d3}, {%a, %a, %a, %a}, {%b, %b}, {%c, %c, %c, %c};
    st.global.f32 [%slot], %d0;
    setp.eq.f32 %p0, %d0, %c;
    @%p0 bra DONE;
    bar.sync 0;
DONE:
    ret;
}
";

const OLD: &str = "gtx1080";
const NEW: &str = "h200";

fn gpus(names: &str) -> Vec<Machine> {
    machines::select(names).expect("the GPUs are built in")
}

fn measured(body: &str, machines: &[Machine]) -> Result<Measurement, Error> {
    let text = if body.contains(".version") { body.to_owned() } else { format!("{HEADER}{body}") };
    let program = Program::from_ptx("kernel", text).expect("the PTX is fine");
    let launches =
        Launch::parse_file("launch", "grid = 8\nblock = 64\nargs = [\"u32[64]\"]").expect("the launch is fine");
    let options = ExecutionOptions {
        generations: Generation::of_all(machines),
        traced_for: machines.to_vec(),
        ..ExecutionOptions::new()
    };
    let search = Search { sites: Vec::new().into(), ..Search::default() };
    let measured = measure(&program, &launches, options, Counting::Ptx, &search, &Progress::default());
    measured.map(|measured| measured.into_iter().next().expect("there is one launch"))
}

fn analysed(body: &str, names: &str) -> Analysis {
    let machines = gpus(names);
    predict(measured(body, &machines).expect("the kernel runs"), &machines, &Choice::All, Options::default())
}

#[test]
fn the_old_and_the_new_generation_meet_at_7_0() {
    let cc = machines::ComputeCapability::new;
    assert_eq!(Generation::of(cc(6, 2)), Generation::Warps);
    assert_eq!(Generation::of(cc(7, 0)), Generation::Volta);
    let differing =
        [(1, 0), (0, 1)].map(|(partial_barriers, matrix_products)| Differing { partial_barriers, matrix_products });
    let [barriers, products] = differing;
    assert!(
        barriers.are_alike(Generation::Volta, Generation::Hopper)
            && !barriers.are_alike(Generation::Warps, Generation::Volta)
    );
    assert!(
        !products.are_alike(Generation::Volta, Generation::Hopper)
            && products.are_alike(Generation::Warps, Generation::Volta)
    );
    assert!(Generation::Threads.has(cc(8, 6)) && !Generation::Threads.has(cc(6, 2)) && !Generation::Ada.has(cc(8, 6)));
    assert_eq!(Generation::of_all(&[]), [Generation::Threads]);
    assert_eq!(Generation::of_all(&gpus(&format!("{OLD},{NEW},{OLD}"))), [Generation::Hopper, Generation::Warps]);
}

#[test]
fn one_run_serves_all_where_generations_agree() {
    let both = gpus(&format!("{OLD},{NEW}"));
    assert!(measured(PLAIN, &both).unwrap().elsewhere.is_empty());
    assert_eq!(measured(LEAVES, &both).unwrap().elsewhere.len(), 1);
    assert!(measured(LEAVES, &gpus(NEW)).unwrap().elsewhere.is_empty());
}

#[test]
fn each_gpu_gets_the_counts_of_its_generation() {
    let both = gpus(&format!("{OLD},{NEW}"));
    let measurement = measured(LEAVES, &both).unwrap();
    let total = |machine: &Machine| measurement.on(machine).unwrap().profile.instructions.total;
    // Where barriers wait for threads, the lanes that leave execute their `ret` before the others come to it.
    assert_eq!(total(&both[1]), total(&both[0]) + 8);
    for machine in &both {
        let alone = measured(LEAVES, std::slice::from_ref(machine)).unwrap();
        let own = measurement.on(machine).unwrap();
        assert_eq!(own.profile.instructions, alone.profile.instructions, "{}", machine.id);
        assert_eq!(own.profile.global, alone.profile.global, "{}", machine.id);
    }
}

#[test]
fn answers_do_not_depend_on_the_company() {
    for body in [PLAIN, LEAVES] {
        let both = analysed(body, &format!("{OLD},{NEW}"));
        for (gpu, name) in both.gpus.iter().zip([OLD, NEW]) {
            let alone = analysed(body, name);
            let times = |gpu: &warplens_session::predict::GpuAnalysis| {
                let of = |answer: &warplens_session::predict::Answer| {
                    (answer.model, answer.result.as_ref().map(|prediction| prediction.time).map_err(Clone::clone))
                };
                gpu.answers.iter().map(of).collect::<Vec<_>>()
            };
            assert_eq!(times(gpu), times(&alone.gpus[0]), "{name}");
            assert!(gpu.prediction().is_some(), "{name}");
        }
    }
}

#[test]
fn products_of_matrices_are_those_of_each_gpu() {
    let all = gpus("a100-80,a6000,rtx4090,h200");
    let together = measured(LAST_BITS, &all).unwrap();
    assert_eq!(together.elsewhere.len(), 2, "the two of compute capability 8.0 and 8.6 run alike");
    let totals = all.iter().map(|machine: &Machine| {
        let alone = measured(LAST_BITS, std::slice::from_ref(machine)).unwrap();
        let own = together.on(machine).unwrap();
        assert_eq!(own.profile.instructions, alone.profile.instructions, "{}", machine.id);
        own.profile.instructions.total
    });
    let totals: Vec<u64> = totals.collect();
    // Each of the 16 warps.
    assert_eq!(totals, [totals[0], totals[0], totals[0], totals[0] + 16]);
}

/// The reason why all models refuse on a GPU.
fn refusal(analysis: &Analysis, at: usize) -> String {
    let reasons =
        analysis.gpus[at].answers.iter().map(|answer| answer.result.clone().expect_err("all models refuse").reason);
    let mut reasons: Vec<String> = reasons.collect();
    reasons.dedup();
    assert_eq!(reasons.len(), 1, "{reasons:?}");
    reasons.remove(0)
}

#[test]
fn a_launch_that_hangs_on_old_gpus_is_refused_there_only() {
    let both = analysed(BOTH_SIDES, &format!("{OLD},{NEW}"));
    let reason = refusal(&both, 0);
    let begin = "the launch fails on GPUs before compute capability 7.0: kernel `kernel`, PTX line 13: deadlock: ";
    assert!(reason.starts_with(begin), "{reason}");
    assert!(both.gpus[1].prediction().is_some());
    let alone = measured(BOTH_SIDES, &gpus(OLD)).unwrap_err();
    assert!(alone.message.contains("deadlock"), "{}", alone.message);
}

#[test]
fn a_launch_that_hangs_on_new_gpus_is_refused_there_only() {
    let both = analysed(ONE_SIDE, &format!("{OLD},{NEW}"));
    let reason = refusal(&both, 1);
    assert!(reason.starts_with("the launch fails on GPUs of compute capability 9.0: "), "{reason}");
    assert!(both.gpus[0].prediction().is_some());
}
