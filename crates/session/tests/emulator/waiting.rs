//! Loops that go on until another thread has done something: how often they turn, as threads that run at once would.

use proptest::prelude::{ProptestConfig, prop_assert, prop_assert_eq, proptest};
use warplens_session::{ExecutionOptions, OutputRequest, Program, Progress, run};

use crate::expectation::describe;

/// What all threads of a launch stored in the buffers of 32-bit words.
fn stored(text: &str, (grid, block, threads): (u32, u32, usize), arguments: &str) -> Vec<Vec<u32>> {
    let program =
        Program::from_ptx("waiting.ptx", text.to_owned()).unwrap_or_else(|error| panic!("{}", describe(&error)));
    let launch = format!("grid = {grid}\nblock = {block}\nargs = [{arguments}]");
    let launch = warplens_launch::Launch::parse_file("launch", &launch).unwrap();
    let requests = ["0", "1"].map(|key| OutputRequest { key: key.into(), count: None });
    let options = ExecutionOptions { threads, ..ExecutionOptions::new() };
    let ran = run(&program, &launch, &requests, options, &Progress::default())
        .unwrap_or_else(|error| panic!("{}", describe(&error)));
    let words = |bytes: &[u8]| bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
    ran.outputs.iter().map(|output| words(&output.bytes)).collect()
}

/// Each thread brings its number to a word by compare and swap unless what stands there is better, and stores how often it
/// tried.
fn bring(better: &str) -> String {
    format!(
        ".version 8.0 .target sm_80 .address_size 64
.visible .entry kernel(.param .u64 word, .param .u64 tries)
{{
    .reg .pred %p;
    .reg .b32 %i, %n, %old, %seen;
    .reg .b64 %word, %tries;
    ld.param.u64 %word, [word];
    ld.param.u64 %tries, [tries];
    mov.u32 %i, %ctaid.x;
    mov.u32 %n, %ntid.x;
    mad.lo.u32 %i, %i, %n, %tid.x;
    mad.wide.u32 %tries, %i, 4, %tries;
    add.u32 %i, %i, 1;
    mov.u32 %n, 0;
    ld.relaxed.gpu.global.u32 %old, [%word];
again:
    setp.{better}.u32 %p, %old, %i;
    @%p bra done;
    mov.u32 %seen, %old;
    add.u32 %n, %n, 1;
    atom.global.cas.b32 %old, [%word], %seen, %i;
    setp.ne.u32 %p, %old, %seen;
    @%p bra again;
done:
    st.global.u32 [%tries], %n;
    ret;
}}"
    )
}

/// Each CTA but the first waits until the one before it has told it to go on, and stores how often it looked.
const CHAIN: &str = ".version 8.0 .target sm_80 .address_size 64
.visible .entry kernel(.param .u64 flags, .param .u64 looks)
{
    .reg .pred %p;
    .reg .b32 %cta, %n, %flag;
    .reg .b64 %flags, %looks, %before;
    ld.param.u64 %flags, [flags];
    ld.param.u64 %looks, [looks];
    mov.u32 %cta, %ctaid.x;
    mov.u32 %n, 0;
    mad.wide.u32 %looks, %cta, 4, %looks;
    mad.wide.u32 %flags, %cta, 4, %flags;
again:
    ld.volatile.global.u32 %flag, [%flags];
    add.u32 %n, %n, 1;
    setp.eq.u32 %p, %cta, 0;
    @%p mov.u32 %flag, 1;
    setp.eq.u32 %p, %flag, 0;
    @%p bra again;
    st.volatile.global.u32 [%flags+4], %flag;
    st.global.u32 [%looks], %n;
    ret;
}";

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    /// All threads read the word before the first of them changes it, so that each tries at least once; of those that are
    /// left a random one wins each time.
    #[test]
    fn of_threads_that_fight_for_a_word_most_lose(grid in 32..200_u32, block in 16..300_u32, threads in 1..3_usize) {
        let n = grid * block;
        for (better, first, best) in [("ge", 0, n), ("le", u32::MAX, 1)] {
            let arguments = format!("\"u32[1]:fill({first})\", \"u32[{n}]\"");
            let found = stored(&bring(better), (grid, block, threads), &arguments);
            prop_assert_eq!(found[0][0], best);
            let tries: u64 = found[1].iter().map(|&tries| u64::from(tries)).sum();
            let rounds = tries as f64 / f64::from(n);
            prop_assert!((1.0..6.0).contains(&rounds), "{} {}: {}", grid, block, rounds);
            prop_assert_eq!(&found, &stored(&bring(better), (grid, block, 1), &arguments));
        }
    }

    /// What one CTA after the other does takes as many looks as there are CTAs, at most.
    #[test]
    fn a_chain_looks_as_often_as_it_is_long(grid in 2..300_u32) {
        let words = grid + 1;
        let found = stored(CHAIN, (grid, 1, 1), &format!("\"u32[{words}]\", \"u32[{grid}]\""));
        prop_assert!(found[0][1..].iter().all(|&flag| flag == 1));
        for (cta, &looks) in found[1].iter().enumerate() {
            prop_assert!((1..=cta as u32 + 1).contains(&looks), "{}: {}", cta, looks);
        }
    }
}
