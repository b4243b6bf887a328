//! Random kernels whose CTAs may get in each other's way: whatever they do, the number of host threads does not show.

use std::fmt::Write as _;

use proptest::prelude::{ProptestConfig, any, prop_assert_eq, proptest};
use warplens_launch::Launch;
use warplens_session::profile::{Counting, Profile};
use warplens_session::toolchain::Search;
use warplens_session::{ExecutionOptions, Extent, OutputRequest, Program, Progress, Race, measure, run};

use crate::expectation::describe;

/// Bytes of the two buffers.
const BYTES: usize = 4096;

/// A kernel made of a list of choices, four for each step.
fn kernel(choices: &[u8]) -> String {
    let mut text = String::from(
        ".version 8.8 .target sm_90 .address_size 64
.visible .entry kernel(.param .u64 a, .param .u64 b)
{
    .reg .pred %p;
    .reg .b32 %r<4>, %i, %n;
    .reg .b64 %rd<4>, %x;
    ld.param.u64 %rd0, [a];
    ld.param.u64 %rd1, [b];
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mad.lo.u32 %r2, %r1, %r2, %r0;
    mov.u32 %r3, 5;
",
    );
    for (at, choice) in choices.chunks_exact(4).enumerate() {
        let [what, place, value, more] = [choice[0], choice[1], choice[2], choice[3]].map(usize::from);
        // Half of the places belong to one thread, as they do in sane kernels.
        let index = [2, 2, 2, 2, 0, 1, 3, 2][place % 8];
        let (ty, bytes) = [("u32", 4), ("u32", 4), ("u8", 1), ("u64", 8), ("u16", 2)][place / 8 % 5];
        let base = value % 2;
        let mask = [0, 7, 63, 511][more % 4].min(BYTES / bytes - 1);
        let mask = if index == 2 { 511 } else { mask };
        writeln!(text, "and.b32 %i, %r{index}, {mask}; mad.wide.u32 %rd2, %i, {bytes}, %rd{base};").unwrap();
        match (what % 8, ty) {
            (0..=2, "u64") => writeln!(text, "ld.global.u64 %x, [%rd2]; cvt.u32.u64 %r3, %x;"),
            (0..=2, _) => writeln!(text, "ld.global.{ty} %r3, [%rd2];"),
            (3 | 4, "u64") => writeln!(text, "cvt.u64.u32 %x, %r3; st.global.u64 [%rd2], %x;"),
            (3 | 4, _) => writeln!(text, "st.global.{ty} [%rd2], %r{};", [3, 0, 1, 2][value / 2 % 4]),
            (5, "u32") => writeln!(text, "red.global.add.u32 [%rd2], %r3;"),
            // A loop whose turns what was loaded decides.
            (6, _) => writeln!(
                text,
                "and.b32 %n, %r3, 15;\nL{at}: setp.eq.u32 %p, %n, 0; @%p bra E{at}; sub.u32 %n, %n, 1; bra L{at};\nE{at}:"
            ),
            _ => writeln!(text, "mad.lo.u32 %r3, %r3, 3, %r{};", more % 4),
        }
        .unwrap();
    }
    text + "ret;\n}\n"
}

type Answer = (Vec<u8>, Vec<u8>, Vec<Race>, Profile, Option<Race>);

fn answer(program: &Program, threads: usize) -> Answer {
    let words = BYTES / 4;
    let launch = format!("grid = 12\nblock = 40\nargs = [\"u32[{words}]:iota\", \"u32[{words}]\"]");
    let launch = Launch::parse_file("launch", &launch).unwrap();
    let options = ExecutionOptions { threads, budget: 1_000_000, extent: Extent::Full, ..ExecutionOptions::new() };
    let requests = ["0", "1"].map(|key| OutputRequest { key: key.into(), count: None });
    let progress = Progress::default();
    let ran = run(program, &launch, &requests, options.clone(), &progress)
        .unwrap_or_else(|error| panic!("{}\n{}", describe(&error), program.ptx));
    let search = Search { sites: Vec::new().into(), ..Search::default() };
    let mut measured = measure(program, &launch, options, Counting::Ptx, &search, &progress)
        .unwrap_or_else(|error| panic!("{}\n{}", describe(&error), program.ptx));
    let measured = measured.remove(0);
    let [a, b] = [0, 1].map(|at: usize| ran.outputs[at].bytes.clone());
    (a, b, ran.races, measured.profile, measured.race)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_number_of_host_threads_does_not_show(choices in proptest::collection::vec(any::<u8>(), 0..80)) {
        let program = Program::from_ptx("random", kernel(&choices)).unwrap_or_else(|error| panic!("{}", describe(&error)));
        let alone = answer(&program, 1);
        prop_assert_eq!(alone.4.is_some(), !alone.2.is_empty(), "{}", &program.ptx);
        for threads in [2, 4] {
            prop_assert_eq!(&answer(&program, threads), &alone, "{} threads\n{}", threads, &program.ptx);
        }
    }
}

#[test]
fn random_kernels_race_and_do_not() {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    let mut racing = 0;
    for _ in 0..40 {
        let choices: Vec<u8> = (0..24).map(|_| next()).collect();
        let program =
            Program::from_ptx("random", kernel(&choices)).unwrap_or_else(|error| panic!("{}", describe(&error)));
        racing += usize::from(answer(&program, 1).4.is_some());
    }
    assert!((5..=35).contains(&racing), "{racing} of 40 race");
}

/// Threads go around a loop with a barrier until a block whose turn comes later has stored what they wait for, and nothing
/// but a plain load looks for it, as in tree codes.
const POLLING: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry kernel(.param .u64 o) {
 .reg .u64 %d<5>; .reg .u32 %r<9>; .reg .pred %p<3>;
 ld.param.u64 %d1,[o]; mov.u32 %r1,%ctaid.x; mov.u32 %r2,%ntid.x; mov.u32 %r3,%tid.x; mad.lo.u32 %r4,%r1,%r2,%r3;
 sub.u32 %r7,191,%r4; mul.wide.s32 %d2,%r7,4; add.u64 %d2,%d1,%d2; setp.eq.u32 %p2,%r4,191; mov.u32 %r5,7;
 L: @!%p2 ld.global.u32 %r5,[%d2+-4]; setp.eq.u32 %p1,%r5,0; @%p1 bra N;
 add.u32 %r6,%r5,1; st.global.u32 [%d2],%r6;
 N: bar.sync 0; @%p1 bra L; ret; }\n";

#[test]
fn blocks_that_poll_by_plain_loads_run_side_by_side() {
    let program =
        Program::from_ptx("polling", POLLING.to_owned()).unwrap_or_else(|error| panic!("{}", describe(&error)));
    let launch = Launch::parse_file("launch", "grid = 3\nblock = 64\nargs = [\"u32[192]\"]").unwrap();
    let requests = [OutputRequest { key: "0".into(), count: None }];
    let expected: Vec<u8> = (8..200u32).flat_map(u32::to_le_bytes).collect();
    for threads in [1, 2] {
        let options = ExecutionOptions { threads, budget: 100_000, ..ExecutionOptions::new() };
        let ran = run(&program, &launch, &requests, options, &Progress::default())
            .unwrap_or_else(|error| panic!("{threads} threads: {}", describe(&error)));
        assert_eq!(ran.outputs[0].bytes, expected, "{threads} threads");
        assert!(!ran.races.is_empty(), "it is said that the blocks race");
    }
}
