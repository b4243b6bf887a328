//! Exchanges among the lanes of random member masks, against what each lane should receive by itself.
//!
//! The lanes of a warp are parted into groups at random; each takes one of several arms of a branch, which all hold the
//! same exchanges, or leaves before. Groups and arms have nothing to do with each other.

use proptest::prelude::{ProptestConfig, Strategy, any, prop_assert_eq, proptest};
use warplens_launch::Launch;
use warplens_session::{ExecutionOptions, OutputRequest, Program, Progress, run};

use crate::expectation::describe;

const LANES: usize = 32;
/// Arms with exchanges; a lane with the next number exits.
const ARMS: usize = 3;
/// Words that a lane reads, and words that it leaves.
const GIVEN: usize = 4;
const LEFT: usize = 11;

/// What a lane is given.
#[derive(Clone, Copy, Debug)]
struct Lane {
    arm: usize,
    members: u32,
    value: u32,
    /// Lane that it shuffles from.
    source: usize,
}

fn kernel() -> String {
    let mut text = String::from(
        ".version 8.8 .target sm_90 .address_size 64
.visible .entry kernel(.param .u64 out, .param .u64 in) {
    .reg .pred %p<9>, %q; .reg .b32 %r<29>, %t; .reg .b64 %o, %i, %w;
    ld.param.u64 %o, [out];
    ld.param.u64 %i, [in];
    mov.u32 %t, %tid.x;
    mad.wide.u32 %i, %t, 16, %i;
    mad.wide.u32 %o, %t, 44, %o;
    ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%i];
    cvt.u64.u32 %w, %r2;
    shl.b64 %w, %w, 32;
    and.b32 %r4, %r2, 1;
    setp.ne.u32 %p0, %r4, 0;
    T: .branchtargets A0, A1, A2, GONE;
    brx.idx %r0, T;
",
    );
    for arm in 0..ARMS {
        let first = 5 + 8 * arm;
        let r = |index: usize| format!("%r{}", first + index);
        text += &format!(
            "A{arm}:
    mov.u32 {0}, %r2;
    shfl.sync.idx.b32 {1}|%p1, {0}, %r3, 31, %r1;
    vote.sync.ballot.b32 {2}, %p0, %r1;
    vote.sync.all.pred %p2, %p0, %r1;
    vote.sync.any.pred %p3, %p0, %r1;
    vote.sync.uni.pred %p4, %p0, %r1;
    match.any.sync.b32 {3}, {0}, %r1;
    match.all.sync.b64 {4}|%p5, %w, %r1;
    redux.sync.add.u32 {5}, {0}, %r1;
    redux.sync.min.s32 {6}, {0}, %r1;
    elect.sync {7}|%p6, %r1;
    bar.warp.sync %r1;
    st.global.u32 [%o], {1};
    st.global.u32 [%o+4], {2};
    st.global.u32 [%o+20], {3};
    st.global.u32 [%o+24], {4};
    st.global.u32 [%o+28], {5};
    st.global.u32 [%o+32], {6};
    st.global.u32 [%o+36], {7};
    bra DONE;
",
            r(0),
            r(1),
            r(2),
            r(3),
            r(4),
            r(5),
            r(6),
            r(7)
        );
    }
    for (predicate, at) in [(2, 8), (3, 12), (4, 16), (6, 40)] {
        let label = if predicate == 2 { "DONE:\n" } else { "" };
        text += &format!("{label}    selp.u32 %r4, 1, 0, %p{predicate};\n    st.global.u32 [%o+{at}], %r4;\n");
    }
    text + "GONE:\n    ret;\n}\n"
}

/// What a lane should leave.
fn expected(lanes: &[Lane], at: usize) -> [u32; LEFT] {
    let own = lanes[at];
    if own.arm == ARMS {
        return [0; LEFT];
    }
    let is_there = |lane: usize| own.members >> lane & 1 == 1 && lanes[lane].arm != ARMS;
    let group: Vec<usize> = (0..lanes.len()).filter(|&lane| is_there(lane)).collect();
    let values = || group.iter().map(|&lane| lanes[lane].value);
    let mask = |holds: &dyn Fn(&Lane) -> bool| {
        group.iter().filter(|&&lane| holds(&lanes[lane])).fold(0u32, |mask, &lane| mask | 1 << lane)
    };
    let truth = |lane: &Lane| lane.value & 1 == 1;
    let (all, any) = (group.iter().all(|&lane| truth(&lanes[lane])), group.iter().any(|&lane| truth(&lanes[lane])));
    let same = values().all(|value| value == own.value);
    [
        lanes[own.source].value,
        mask(&truth),
        u32::from(all),
        u32::from(any),
        u32::from(all || !any),
        mask(&|lane| lane.value == own.value),
        if same { mask(&|_| true) } else { 0 },
        values().fold(0, u32::wrapping_add),
        values().map(|value| value as i32).min().unwrap() as u32,
        group[0] as u32,
        u32::from(group[0] == at),
    ]
}

/// Lanes parted into groups: the numbers say the group, the arm, the value and which of the group is shuffled from.
fn lanes(choices: &[(usize, usize, u32, usize)]) -> Vec<Lane> {
    let mut lanes: Vec<Lane> = choices
        .iter()
        .map(|&(group, arm, value, _)| {
            let of_group = choices.iter().enumerate().filter(|(_, choice)| choice.0 == group);
            let members = of_group.fold(0, |mask, (lane, _)| mask | 1 << lane);
            Lane { arm, members, value, source: 0 }
        })
        .collect();
    for (at, choice) in choices.iter().enumerate() {
        let is_there = |lane: &usize| lanes[at].members >> lane & 1 == 1 && lanes[*lane].arm != ARMS;
        let there: Vec<usize> = (0..lanes.len()).filter(is_there).collect();
        lanes[at].source = there.get(choice.3 % there.len().max(1)).copied().unwrap_or(0);
    }
    lanes
}

fn execute(program: &Program, lanes: &[Lane]) -> Vec<Vec<u32>> {
    let given = lanes.iter().flat_map(|lane| [lane.arm as u32, lane.members, lane.value, lane.source as u32]);
    let given: Vec<String> = given.map(|word| word.to_string()).collect();
    assert_eq!(given.len(), lanes.len() * GIVEN);
    let launch = format!(
        "grid = 1\nblock = {}\nargs = [\"u32[{}]\", \"u32[{}]:values({})\"]",
        lanes.len(),
        lanes.len() * LEFT,
        given.len(),
        given.join(",")
    );
    let launch = Launch::parse_file("launch", &launch).unwrap();
    let options = ExecutionOptions { threads: 1, budget: 100_000, ..ExecutionOptions::new() };
    let request = OutputRequest { key: "0".into(), count: None };
    let result = run(program, &launch, &[request], options, &Progress::default());
    let result = result.unwrap_or_else(|error| panic!("{}", describe(&error)));
    let bytes = result.outputs[0].bytes.chunks(4);
    let words: Vec<u32> = bytes.map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
    words.chunks(LEFT).map(<[u32]>::to_vec).collect()
}

fn choice() -> impl Strategy<Value = (usize, usize, u32, usize)> {
    let value = proptest::prop_oneof![0u32..3, any::<u32>()];
    (0usize..5, 0usize..=ARMS, value, any::<usize>())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_lane_receives_what_its_own_group_gives(choices in proptest::collection::vec(choice(), 1..=LANES)) {
        let program = Program::from_ptx("members", kernel()).unwrap_or_else(|error| panic!("{}", describe(&error)));
        let lanes = lanes(&choices);
        for (at, left) in execute(&program, &lanes).iter().enumerate() {
            prop_assert_eq!(&left[..], &expected(&lanes, at)[..], "lane {} of {:#?}", at, lanes);
        }
    }
}
