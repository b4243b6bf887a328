//! What is passed over leaves warps and caches as they would be.

use crate::common::modern;
use warplens_isa::StateSpace;
use warplens_sim::{Job, L1Config, Options, Outcome, Surroundings, simulate};
use warplens_trace::{
    AccessKind, ActiveMask, Code, CtaId, CtaTrace, MachineClass, MachineInst, WARP_SIZE, WarpTrace, WarpTraceBuilder,
};

/// Words of local memory of a thread, and how often they are gone through.
const WORDS: u64 = 32;
const ROUNDS: u64 = 24;

/// A loop that adds to a word of local memory.
fn code() -> Code {
    let mut code = Code::default();
    let register = code.operands_of(&[0]);
    let access = |class, slot| MachineInst { slot, space: StateSpace::Local, ..MachineInst::new(class, 0) };
    code.insts = vec![
        MachineInst { writes: register, ..access(MachineClass::Load, 0) },
        MachineInst { reads: register, writes: register, ..MachineInst::new(MachineClass::Fp32, 0) },
        MachineInst { reads: register, ..access(MachineClass::Store, 1) },
    ];
    code.blocks.push(0..3);
    code
}

fn warp() -> WarpTrace {
    warp_of(ROUNDS)
}

fn warp_of(rounds: u64) -> WarpTrace {
    let mut trace = WarpTraceBuilder::default();
    for turn in 0..WORDS * rounds {
        let addresses = [4 * (turn % WORDS); WARP_SIZE];
        trace.step(0, ActiveMask::FULL);
        for (slot, kind) in [(0, AccessKind::Load), (1, AccessKind::Store)] {
            trace.access(slot, StateSpace::Local, kind, (4, 1), ActiveMask::FULL, &addresses);
        }
    }
    trace.finish()
}

/// CTAs of two warps, 16 at once, with twice as many lines as the L1 cache has. The first are alone on the SM, so that there
/// are warps that are ahead.
fn run(cta_start: u32, budget: Option<u64>) -> Outcome {
    let mut config = modern();
    config.l1 = config.l1.map(|l1| L1Config { bytes: 64 << 10, ..l1 });
    config.cta_start = cta_start;
    let code = code();
    let ctas: Vec<CtaTrace> = (0..192).map(|cta| CtaTrace { id: CtaId(cta), warps: [warp(), warp()].into() }).collect();
    let job = Job { code: &code, ctas: &ctas, resident: 16, surroundings: Surroundings::ALONE, footprint: None };
    simulate(&config, &job, Options { budget, ..Options::default() })
}

fn hits(outcome: &Outcome) -> f64 {
    outcome.traffic.l1_hits as f64 / outcome.traffic.l1_sectors as f64
}

#[test]
fn warps_that_find_their_local_memory_in_the_l1_stay_ahead_of_those_that_do_not() {
    for cta_start in [20_000, 40_000] {
        let (whole, sampled) = (run(cta_start, None), run(cta_start, Some(100_000)));
        assert_eq!(whole.issued, sampled.issued);
        assert!(sampled.detailed < whole.issued / 3, "{} of {}", sampled.detailed, whole.issued);
        let (of_whole, of_sampled) = (hits(&whole), hits(&sampled));
        assert!(of_whole > 0.3, "{of_whole}");
        // Where all went equally far, a tenth would be found in the one case and in the other.
        assert!(of_sampled > 0.3 * of_whole && of_sampled < of_whole, "{of_sampled} instead of {of_whole}");
    }
}

#[test]
fn where_no_warp_is_ahead_none_comes_to_be() {
    let (whole, sampled) = (run(0, None), run(0, Some(100_000)));
    assert!(hits(&whole) < 0.01 && hits(&sampled) < 0.01, "{} and {}", hits(&whole), hits(&sampled));
    let ratio = sampled.cycles as f64 / whole.cycles as f64;
    assert!((0.95..1.05).contains(&ratio), "{ratio}");
}

/// CTAs of eight warps, of which one goes through twice as many rounds; two CTAs at once.
fn run_uneven(budget: Option<u64>) -> Outcome {
    let code = code();
    let warps = || (0..8).map(|warp| warp_of(if warp == 3 { 16 * ROUNDS } else { 8 * ROUNDS })).collect();
    let ctas: Vec<CtaTrace> = (0..12).map(|cta| CtaTrace { id: CtaId(cta), warps: warps() }).collect();
    let job = Job { code: &code, ctas: &ctas, resident: 2, surroundings: Surroundings::ALONE, footprint: None };
    simulate(&modern(), &job, Options { budget, ..Options::default() })
}

#[test]
fn warps_that_are_left_alone_in_windows_are_so_as_often_as_in_all() {
    let (whole, sampled) = (run_uneven(None), run_uneven(Some(200_000)));
    assert_eq!(whole.issued, sampled.issued);
    assert!(sampled.detailed < whole.issued / 3, "{} of {}", sampled.detailed, whole.issued);
    let ratio = sampled.cycles as f64 / whole.cycles as f64;
    assert!((0.95..1.05).contains(&ratio), "{ratio}");
}

#[test]
fn schedulers_of_a_job_in_windows_have_issued_all_of_it() {
    let sampled = run_uneven(Some(200_000));
    let issued: u64 = sampled.schedulers.iter().map(|scheduler| scheduler.issued).sum();
    assert!(issued.abs_diff(sampled.issued) <= sampled.schedulers.len() as u64, "{issued} of {}", sampled.issued);
}
