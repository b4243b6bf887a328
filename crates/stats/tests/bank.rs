//! Bank conflicts and constant broadcasts.

mod support;

use proptest::prelude::*;
use support::by_lane;
use warplens_stats::bank::{all_passes, constant_passes, packed_passes, passes};
use warplens_stats::{BankRule, Request};
use warplens_trace::{AccessKind, ActiveMask};

/// (wavefronts, ideal) under 1.0, 2.0 and 3.0.
fn served(kind: AccessKind, lane_bytes: u32, mask: u32, addresses: [u64; 32]) -> [(u32, u32); 3] {
    let request = Request { lane_bytes, mask: ActiveMask(mask), addresses: &addresses };
    all_passes(kind, &request).map(|passes| (passes.wavefronts, passes.ideal))
}

fn load(lane_bytes: u32, addresses: [u64; 32]) -> [(u32, u32); 3] {
    served(AccessKind::Load, lane_bytes, u32::MAX, addresses)
}

#[test]
fn loads_of_words() {
    assert_eq!(load(4, by_lane(|lane| 4 * lane)), [(2, 2), (1, 1), (1, 1)], "in order");
    assert_eq!(load(4, by_lane(|_| 64)), [(2, 2), (1, 1), (1, 1)], "broadcast");
    assert_eq!(load(4, by_lane(|lane| 8 * lane)), [(4, 2), (2, 1), (1, 1)], "stride 2");
    assert_eq!(load(4, by_lane(|lane| 12 * lane)), [(2, 2), (1, 1), (2, 1)], "stride 3");
    assert_eq!(load(4, by_lane(|lane| 64 * lane)), [(32, 2), (16, 1), (8, 1)], "a column of 16");
    assert_eq!(load(4, by_lane(|lane| 128 * lane)), [(32, 2), (32, 1), (16, 1)], "a column of 32");
    assert_eq!(load(4, by_lane(|lane| 132 * lane)), [(2, 2), (1, 1), (1, 1)], "a padded column");
    // Lanes 0..15 read row 0, 16..31 row 1 of a 16-wide tile.
    assert_eq!(load(4, by_lane(|lane| 64 * (lane / 16))), [(2, 2), (1, 1), (1, 1)], "two words");
}

#[test]
fn inactive_lanes_do_not_conflict() {
    let column = by_lane(|lane| 128 * lane);
    assert_eq!(served(AccessKind::Load, 4, 0b11, column), [(2, 1), (2, 1), (1, 1)]);
    assert_eq!(served(AccessKind::Load, 4, 1 << 31, column), [(1, 1), (1, 1), (1, 1)]);
}

/// The 1.x guide's example: consecutive bytes of 16 threads lie in four words and take four passes.
#[test]
fn early_chips_broadcast_one_word_per_pass() {
    assert_eq!(load(1, by_lane(|lane| lane))[0], (8, 2));
    assert_eq!(load(2, by_lane(|lane| 2 * lane))[0], (4, 2));
    // Later chips serve any number of shared words at once.
    assert_eq!(load(1, by_lane(|lane| lane))[1..], [(1, 1), (1, 1)]);
    // Two words of one bank, one of them wanted by 15 lanes: a broadcast and a pass for the other.
    assert_eq!(served(AccessKind::Load, 4, 0xffff, by_lane(|lane| if lane == 3 { 64 } else { 0 }))[0], (2, 1));
}

#[test]
fn wide_accesses_take_phases() {
    // 1.x makes two 32-bit requests of stride 2 out of doubles.
    assert_eq!(load(8, by_lane(|lane| 8 * lane)), [(8, 4), (2, 2), (1, 1)], "f64 in order");
    assert_eq!(load(16, by_lane(|lane| 16 * lane)), [(32, 8), (4, 4), (2, 2)], "float4 in order");
    assert_eq!(load(8, by_lane(|lane| 16 * lane)), [(16, 4), (4, 2), (2, 1)], "f64 stride 2");
    assert_eq!(served(AccessKind::Load, 8, 0xffff, by_lane(|lane| 8 * lane)), [(4, 2), (1, 1), (1, 1)], "half");
}

#[test]
fn stores_and_atomics() {
    assert_eq!(served(AccessKind::Store, 4, u32::MAX, by_lane(|_| 0)), [(2, 2), (1, 1), (1, 1)], "one writes");
    assert_eq!(served(AccessKind::Store, 4, u32::MAX, by_lane(|lane| 128 * lane)), [(32, 2), (32, 1), (16, 1)]);
    assert_eq!(served(AccessKind::Atomic, 4, u32::MAX, by_lane(|_| 0)), [(32, 2), (32, 1), (32, 1)], "each in turn");
    assert_eq!(served(AccessKind::Atomic, 4, u32::MAX, by_lane(|lane| 4 * lane)), [(2, 2), (1, 1), (2, 1)]);
}

/// Phases are no conflicts: a pass is the same to half-warps, wide accesses and whole warps.
#[test]
fn passes_are_those_of_the_worst_phase() {
    let passes = |lane_bytes, mask, addresses: [u64; 32]| {
        let request = Request { lane_bytes, mask: ActiveMask(mask), addresses: &addresses };
        all_passes(AccessKind::Load, &request).map(|passes| passes.passes)
    };
    assert_eq!(passes(4, u32::MAX, by_lane(|lane| 4 * lane)), [1, 1, 1], "in order");
    assert_eq!(passes(4, u32::MAX, by_lane(|lane| 8 * lane)), [2, 2, 1], "stride 2");
    assert_eq!(passes(4, u32::MAX, by_lane(|lane| 128 * lane)), [16, 32, 16], "a column");
    assert_eq!(passes(8, u32::MAX, by_lane(|lane| 8 * lane)), [2, 1, 1], "f64 in order");
    assert_eq!(passes(16, u32::MAX, by_lane(|lane| 16 * lane)), [4, 1, 1], "float4 in order");
    // The lower half-warp reads a column, the upper one a row.
    let uneven = by_lane(|lane| if lane < 16 { 128 * lane } else { 4 * lane });
    assert_eq!(passes(4, u32::MAX, uneven), [16, 16, 8], "uneven halves");
    assert_eq!(passes(4, 0xffff_0000, uneven), [1, 1, 1], "the half without conflict");
}

#[test]
fn constant_words() {
    let words = |lane_bytes, addresses: [u64; 32]| {
        constant_passes(&Request { lane_bytes, mask: ActiveMask::FULL, addresses: &addresses })
    };
    assert_eq!(words(4, [16; 32]), 1);
    assert_eq!(words(4, by_lane(|lane| 4 * lane)), 32);
    assert_eq!(words(4, by_lane(|lane| 4 * (lane / 8))), 4);
    assert_eq!(words(8, [16; 32]), 1);
    assert_eq!(words(1, by_lane(|lane| lane)), 8);
}

#[test]
fn wide_loads_of_lanes_that_agree_in_pairs_are_packed() {
    let served = |kind, lane_bytes, mask, addresses: [u64; 32]| {
        let request = Request { lane_bytes, mask: ActiveMask(mask), addresses: &addresses };
        let served = packed_passes(BankRule::Cc20, kind, &request);
        (served.wavefronts, served.ideal)
    };
    let load = |lane_bytes, addresses| served(AccessKind::Load, lane_bytes, u32::MAX, addresses);
    assert_eq!(load(16, [64; 32]), (2, 2));
    assert_eq!(load(8, [64; 32]), (1, 1));
    assert_eq!(load(4, [64; 32]), (1, 1));
    // Rows of a tile: one address per half-warp; neighbours; every second lane.
    assert_eq!(load(16, by_lane(|lane| lane / 16 * 512)), (2, 2));
    assert_eq!(load(16, by_lane(|lane| lane / 2 * 16)), (2, 2));
    assert_eq!(load(16, by_lane(|lane| (lane & !2) * 16)), (4, 2));
    // Columns: each lane of a quarter-warp has its own.
    assert_eq!(load(16, by_lane(|lane| lane * 16)), (4, 4));
    assert_eq!(load(16, by_lane(|lane| lane % 8 * 16)), (4, 4));
    assert_eq!(load(16, by_lane(|lane| lane % 16 * 32)), (8, 4));
    // Lanes that are off agree with all.
    assert_eq!(served(AccessKind::Load, 16, 0x5555_5555, by_lane(|lane| lane * 8)), (2, 2));
    assert_eq!(served(AccessKind::Store, 16, u32::MAX, [64; 32]), (4, 4));
}

fn any_access() -> impl Strategy<Value = (AccessKind, u32, u32, [u64; 32])> {
    let kinds = prop::sample::select(vec![AccessKind::Load, AccessKind::Store, AccessKind::Atomic]);
    let widths = prop::sample::select(vec![1u64, 2, 4, 8, 16]);
    (kinds, widths, any::<u32>(), any::<[u16; 32]>(), 1u64..400).prop_map(|(kind, width, mask, raw, spread)| {
        (kind, width as u32, mask | 1 << (mask % 32), raw.map(|raw| width * (u64::from(raw) % spread)))
    })
}

proptest! {
    #[test]
    fn passes_lie_between_one_per_phase_and_one_per_word((kind, lane_bytes, mask, addresses) in any_access()) {
        let request = Request { lane_bytes, mask: ActiveMask(mask), addresses: &addresses };
        for (rule, served) in BankRule::ALL.into_iter().zip(all_passes(kind, &request)) {
            let words = ActiveMask(mask).count() * lane_bytes.div_ceil(4);
            prop_assert!(served.ideal <= served.wavefronts && served.wavefronts <= words, "{} {served:?}", rule.name());
            prop_assert!(1 <= served.passes && served.passes <= 32, "{} {served:?}", rule.name());
            prop_assert!(served.wavefronts <= served.ideal * served.passes, "{} {served:?}", rule.name());
            prop_assert_eq!(served.passes == 1, served.wavefronts == served.ideal);
            prop_assert_eq!(passes(rule, kind, &request), served);
            let packed = packed_passes(rule, kind, &request);
            prop_assert!(packed.wavefronts <= served.wavefronts && served.wavefronts <= 2 * packed.wavefronts);
            prop_assert!(packed == served || rule == BankRule::Cc20 && kind == AccessKind::Load && lane_bytes > 4);
        }
    }

    #[test]
    fn shifting_by_256_bytes_changes_nothing((kind, lane_bytes, mask, addresses) in any_access(), n in 1u64..100) {
        let moved = addresses.map(|address| address + 256 * n);
        let here = Request { lane_bytes, mask: ActiveMask(mask), addresses: &addresses };
        let there = Request { addresses: &moved, ..here };
        prop_assert_eq!(all_passes(kind, &here), all_passes(kind, &there));
    }
}
