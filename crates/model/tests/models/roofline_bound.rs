//! The roofline never exceeds the transaction-based model, on any board, for any profile.

use std::collections::BTreeMap;

use proptest::prelude::*;
use warplens_isa::OpClass;
use warplens_model::{Input, Model, Needs, Options, Reading, Waves, find};
use warplens_stats::{BankRule, CoalescingRule, MemoryCounts, Profile, SharedCounts};

use crate::support;

const CLASSES: [OpClass; 10] = [
    OpClass::Fp32,
    OpClass::Fp64,
    OpClass::Int,
    OpClass::IntMul,
    OpClass::Sfu,
    OpClass::Convert,
    OpClass::Control,
    OpClass::Barrier,
    OpClass::Warp,
    OpClass::Virtual,
];

const SLOW: [(&str, &str, OpClass); 8] = [
    ("div.rn.f32", "div.f32", OpClass::Fp32),
    ("sqrt.rn.f32", "sqrt.f32", OpClass::Sfu),
    ("rsqrt.approx.f32", "rsqrt.f32", OpClass::Sfu),
    ("ex2.approx.ftz.f32", "ex2.f32", OpClass::Sfu),
    ("sin.approx.f32", "sin.f32", OpClass::Sfu),
    ("mul.lo.s64", "mul.s64", OpClass::IntMul),
    ("div.s32", "div.s32", OpClass::IntMul),
    ("div.rn.f64", "div.f64", OpClass::Fp64),
];

fn memory(requests: u64, per_request: [u64; 3], coalesced: bool) -> MemoryCounts {
    let [t32, t64, t128] = per_request.map(|n| n * requests);
    let all = t32 + t64 + t128;
    MemoryCounts {
        requests,
        loads: requests,
        t32,
        t64,
        t128,
        coalesced: if coalesced { requests } else { 0 },
        uncoalesced: if coalesced { 0 } else { requests },
        coalesced_transactions: if coalesced { all } else { 0 },
        uncoalesced_transactions: if coalesced { 0 } else { all },
        bytes_requested: 128 * requests,
        bytes_moved: 32 * t32 + 64 * t64 + 128 * t128,
        ..MemoryCounts::default()
    }
}

prop_compose! {
    pub(crate) fn any_profile()(
        (grid, block) in (1u32..4000, 1u32..=512),
        (registers, shared_bytes) in (1u32..=32, 0u64..=8192),
        classes in proptest::collection::vec(prop_oneof![Just(0u64), 0u64..400], CLASSES.len()),
        slow in proptest::collection::vec(prop_oneof![3 => Just(0u64), 1 => 0u64..50], SLOW.len()),
        (loads, others) in (0u64..300, 0u64..100),
        (small, large) in (1u64..=32, [0u64..=4, 0u64..=4]),
        (barriers, ways, is_vector) in (0u64..10, 1u64..=16, any::<bool>()),
        (independent, duplicate) in (1.0f64..16.0, prop_oneof![Just(1.0f64), 1.0f64..32.0]),
        // Beyond 1 no profile can go; the models must hold nevertheless.
        (read, written) in (0.0f64..1.5, 0.0f64..1.5),
    ) -> Profile {
        let mut profile = support::empty("random", grid, block, registers, shared_bytes);
        for (class, per_warp) in CLASSES.into_iter().zip(classes) {
            support::instructions(&mut profile, class, class.name(), per_warp);
        }
        for ((opcode, kind, class), per_warp) in SLOW.into_iter().zip(slow) {
            support::instructions(&mut profile, class, opcode, per_warp);
            support::slow(&mut profile, kind, per_warp);
        }
        let opcode = if is_vector { "ld.global.v2.f32" } else { "ld.global.f32" };
        let [t64, t128] = large;
        let pattern = support::Pattern { cc12: (small % 5, t64, t128.max(1)), sectors: small, coalesced: ways % 2 == 0 };
        support::access(&mut profile, opcode, loads, pattern);
        support::access(&mut profile, "st.global.f32", others, pattern);
        support::shared_loads(&mut profile, barriers, [ways, ways, ways]);
        support::independent(&mut profile, independent);
        profile.barriers = barriers * profile.warps;
        profile.duplicate_loads = CoalescingRule::ALL.into_iter().map(|rule| (rule, duplicate)).collect();
        let sectors = profile.global[&CoalescingRule::Cc70].t32 as f64;
        profile.distinct_sectors_read = (read * sectors) as u64;
        profile.distinct_sectors_written = (written * sectors) as u64;
        profile
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn roofline_never_exceeds_the_analyzer(profile in any_profile(), whole in any::<bool>()) {
        let waves = if whole { Waves::Whole } else { Waves::Real };
        let input = Input { profile: &profile, traces: &warplens_sim::traces::Traces::None, options: Options { waves, ..Options::default() }, knobs: warplens_model::Knobs::NONE };
        for id in support::JUDGED.into_iter().chain(["gtx570", "gtx1080", "rtx4090", "b200"]) {
            let machine = support::machine(id);
            let bound = find("roofline").unwrap().predict(&input, &machine).unwrap();
            let predicted = find("analyzer").unwrap().predict(&input, &machine).unwrap();
            prop_assert!(
                bound.seconds().0 <= predicted.seconds().0 * (1.0 + 1e-9),
                "{id}: roofline {:?} ({}) above analyzer {:?} ({})",
                bound.seconds(), bound.limiter().name(), predicted.seconds(), predicted.limiter().name()
            );
        }
    }

    #[test]
    fn every_answer_is_finite_as_printed_too(profile in any_profile()) {
        let options = Options { reading: Reading::AsPrinted, ..Options::default() };
        let input = Input { profile: &profile, traces: &warplens_sim::traces::Traces::None, options, knobs: warplens_model::Knobs::NONE };
        for id in support::JUDGED {
            for model in ["hong-kim", "analyzer"] {
                let prediction = find(model).unwrap().predict(&input, &support::machine(id));
                prop_assert!(prediction.is_ok(), "{model} on {id}: {}", prediction.unwrap_err());
            }
        }
    }

    #[test]
    fn counts_of_local_memory_and_odd_rules_do_no_harm(
        requests in 0u64..10_000,
        per_request in [0u64..=32, 0u64..=4, 0u64..=4],
        wavefronts in 0u64..10_000,
    ) {
        let mut profile = support::vector_add(1 << 16);
        profile.local = CoalescingRule::ALL.into_iter().map(|rule| (rule, memory(requests, per_request, false))).collect();
        let requests = wavefronts / 2;
        let shared =
            SharedCounts { requests, passes: requests, wavefronts, ideal_wavefronts: wavefronts, ..SharedCounts::default() };
        profile.shared = BTreeMap::from(BankRule::ALL.map(|rule| (rule, shared)));
        let input = Input { profile: &profile, traces: &warplens_sim::traces::Traces::None, options: Options::default(), knobs: warplens_model::Knobs::NONE };
        for id in support::JUDGED {
            // The MPD/CPD model takes periods, and others take traces, not counts.
            let takes_counts =
                |model: &&&(dyn Model + Sync)| model.name() != "luo-suda" && model.needs() != Needs::Trace;
            for model in warplens_model::MODELS.iter().filter(takes_counts) {
                prop_assert!(model.predict(&input, &support::machine(id)).is_ok());
            }
        }
    }
}
