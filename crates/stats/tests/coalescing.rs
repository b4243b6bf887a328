//! Coalescing rules, against figures that can be counted by hand and against naive sets.

mod support;

use std::collections::BTreeSet;

use proptest::prelude::*;
use support::by_lane;
use warplens_stats::coalescing::{all_local_transactions, all_transactions, segments, transactions};
use warplens_stats::{CoalescingRule, Request, Transactions};
use warplens_trace::ActiveMask;

const BASE: u64 = 0x7000_0000;

/// `t32/t64/t128 lines c|u` of each rule, oldest first.
fn served(lane_bytes: u32, mask: u32, addresses: [u64; 32]) -> Vec<String> {
    let request = Request { lane_bytes, mask: ActiveMask(mask), addresses: &addresses };
    let all = all_transactions(&request);
    for (rule, known) in CoalescingRule::ALL.into_iter().zip(all) {
        assert_eq!(transactions(rule, &request), known, "{}", rule.name());
    }
    all.into_iter().map(text).collect()
}

fn text(t: Transactions) -> String {
    format!("{}/{}/{} {} {}", t.t32, t.t64, t.t128, t.lines, if t.coalesced { 'c' } else { 'u' })
}

fn check(what: &str, lane_bytes: u32, mask: u32, addresses: [u64; 32], expected: [&str; 5]) {
    let served = served(lane_bytes, mask, addresses);
    assert_eq!(served[..5], expected, "{what}: 1.0, 1.2, 2.0, 2.0-l1off, 3.0");
    assert_eq!([&served[4], &served[4]], [&served[5], &served[6]], "{what}: 5.0 and 7.0 as 3.0");
}

#[test]
fn four_byte_words() {
    let full = u32::MAX;
    let row = by_lane(|lane| BASE + 4 * lane);
    check("in order", 4, full, row, ["0/2/0 0 c", "0/2/0 0 c", "0/0/1 1 c", "4/0/0 1 c", "4/0/0 1 c"]);
    check("odd lanes only", 4, 0xaaaa_aaaa, row, ["0/2/0 0 c", "0/2/0 0 c", "0/0/1 1 c", "4/0/0 1 u", "4/0/0 1 u"]);
    check("first half-warp", 4, 0xffff, row, ["0/1/0 0 c", "0/1/0 0 c", "0/0/1 1 c", "2/0/0 1 c", "2/0/0 1 c"]);
    check("first quarter", 4, 0xff, row, ["0/1/0 0 c", "1/0/0 0 c", "0/0/1 1 c", "1/0/0 1 c", "1/0/0 1 c"]);
    let reversed = by_lane(|lane| BASE + 4 * (31 - lane));
    check("reversed", 4, full, reversed, ["32/0/0 0 u", "0/2/0 0 c", "0/0/1 1 c", "4/0/0 1 c", "4/0/0 1 c"]);
    // Half-warps cover bytes 4..68 and 68..132: a full 128 B segment; then 64..128 and 128..160 shrink to 64 and 32.
    let shifted = by_lane(|lane| BASE + 4 + 4 * lane);
    check("off by one word", 4, full, shifted, ["32/0/0 0 u", "1/1/1 0 u", "0/0/2 2 u", "5/0/0 2 u", "5/0/0 2 u"]);
    let broadcast = by_lane(|_| BASE + 8);
    check("broadcast", 4, full, broadcast, ["32/0/0 0 u", "2/0/0 0 c", "0/0/1 1 c", "1/0/0 1 c", "1/0/0 1 c"]);
    let strided = by_lane(|lane| BASE + 128 * lane);
    check("a line each", 4, full, strided, ["32/0/0 0 u", "32/0/0 0 u", "0/0/32 32 u", "32/0/0 32 u", "32/0/0 32 u"]);
    // Two words apart: 16 lanes cover 128 B, of which half-warp 1.2 needs all.
    let every_other = by_lane(|lane| BASE + 8 * lane);
    check("stride 2", 4, full, every_other, ["32/0/0 0 u", "0/0/2 0 c", "0/0/2 2 u", "8/0/0 2 u", "8/0/0 2 u"]);
    check(
        "one lane",
        4,
        1 << 5,
        by_lane(|_| BASE + 100),
        ["1/0/0 0 c", "1/0/0 0 c", "0/0/1 1 c", "1/0/0 1 c", "1/0/0 1 c"],
    );
}

/// `t32/t64/t128` of each rule, oldest first, if the distinct bytes lay side by side.
fn ideal(lane_bytes: u32, mask: u32, addresses: [u64; 32]) -> Vec<String> {
    let request = Request { lane_bytes, mask: ActiveMask(mask), addresses: &addresses };
    let text = |t: Transactions| format!("{}/{}/{}", t.ideal.t32, t.ideal.t64, t.ideal.t128);
    let mut all: Vec<String> = all_transactions(&request).map(text).to_vec();
    assert_eq!([&all[4], &all[4]], [&all[5], &all[6]], "5.0 and 7.0 as 3.0");
    all.truncate(5);
    all
}

#[test]
fn the_fewest_transactions_are_those_of_the_distinct_bytes() {
    let full = u32::MAX;
    // 32 words: two half-warps of 64 B, one line, four sectors, wherever they lie.
    let rows = ["0/2/0", "0/2/0", "0/0/1", "4/0/0", "4/0/0"];
    assert_eq!(ideal(4, full, by_lane(|lane| BASE + 4 * lane)), rows);
    assert_eq!(ideal(4, full, by_lane(|lane| BASE + 4 + 4 * lane)), rows);
    assert_eq!(ideal(4, full, by_lane(|lane| BASE + 128 * lane)), rows);
    // Coalesced on 1.2, but half of what is moved is not asked for.
    assert_eq!(ideal(4, full, by_lane(|lane| BASE + 8 * lane)), rows);
    // Two words of two rows of a matrix: 8 distinct bytes.
    let two_rows = by_lane(|lane| BASE + 4096 * (lane / 16));
    assert_eq!(served(4, full, two_rows)[4], "2/0/0 2 u");
    assert_eq!(ideal(4, full, two_rows), ["0/2/0", "2/0/0", "0/0/1", "1/0/0", "1/0/0"]);
    // Sixteen bytes per lane: 512 B.
    let quads = by_lane(|lane| BASE + 64 * lane);
    assert_eq!(ideal(16, full, quads), ["0/0/4", "0/0/4", "0/0/4", "16/0/0", "16/0/0"]);
    // Bytes take a transaction each on 1.0, in any layout.
    assert_eq!(ideal(1, full, by_lane(|lane| BASE + 64 * lane)), ["32/0/0", "2/0/0", "0/0/1", "1/0/0", "1/0/0"]);
}

#[test]
fn wide_words() {
    let full = u32::MAX;
    let doubles = by_lane(|lane| BASE + 8 * lane);
    check("f64", 8, full, doubles, ["0/0/2 0 c", "0/0/2 0 c", "0/0/2 2 c", "8/0/0 2 c", "8/0/0 2 c"]);
    // Two 128 B transactions per half-warp: not one.
    let quads = by_lane(|lane| BASE + 16 * lane);
    check("float4", 16, full, quads, ["0/0/4 0 u", "0/0/4 0 u", "0/0/4 4 c", "16/0/0 4 c", "16/0/0 4 c"]);
    // Quarter-warps that read the same 128 B each take it for themselves up to 2.x.
    let same_quarter = by_lane(|lane| BASE + 16 * (lane % 8));
    check(
        "float4, 8 distinct",
        16,
        full,
        same_quarter,
        ["32/0/0 0 u", "0/0/2 0 c", "0/0/4 1 c", "16/0/0 1 c", "4/0/0 1 c"],
    );
    let octets = by_lane(|lane| BASE + 32 * lane);
    check("32 B per lane", 32, full, octets, ["64/0/0 0 u", "0/0/16 0 u", "0/0/8 8 c", "32/0/0 8 c", "32/0/0 8 c"]);
}

#[test]
fn narrow_words() {
    let full = u32::MAX;
    // Below 4 bytes 1.0 serves every thread by itself; 1.2 starts from 32 B and 64 B segments.
    check(
        "u8",
        1,
        full,
        by_lane(|lane| BASE + lane),
        ["32/0/0 0 u", "2/0/0 0 c", "0/0/1 1 c", "1/0/0 1 c", "1/0/0 1 c"],
    );
    let halves = by_lane(|lane| BASE + 2 * lane);
    check("u16", 2, full, halves, ["32/0/0 0 u", "2/0/0 0 c", "0/0/1 1 c", "2/0/0 1 c", "2/0/0 1 c"]);
    // Sixteen halves from byte 16 on lie in both halves of their 64 B segment.
    let across = by_lane(|lane| BASE + 16 + 2 * (lane % 16));
    check("u16 across", 2, 0xffff, across, ["16/0/0 0 u", "0/1/0 0 c", "0/0/1 1 c", "2/0/0 1 u", "2/0/0 1 u"]);
}

/// The micro-benchmark of the thesis: 32 B, 64 B and 128 B transactions, two per request, on 1.2.
#[test]
fn thesis_micro_benchmark_spawns_one_size_each() {
    let count = |index: fn(u64) -> u64| served(4, u32::MAX, by_lane(|lane| BASE + 4 * index(lane)))[1].clone();
    assert_eq!(count(|lane| (lane / 16) * 8 + lane % 8), "2/0/0 0 c");
    assert_eq!(count(|lane| lane), "0/2/0 0 c");
    assert_eq!(count(|lane| 2 * lane), "0/0/2 0 c");
}

#[test]
fn local_memory_is_interleaved_by_lane() {
    let local = |lane_bytes, addresses: [u64; 32]| {
        let request = Request { lane_bytes, mask: ActiveMask::FULL, addresses: &addresses };
        all_local_transactions(&request).map(text)
    };
    // The same word of every thread: 128 consecutive bytes.
    let same = local(4, [40; 32]);
    assert_eq!([&same[0], &same[1], &same[2], &same[4]], ["0/2/0 0 c", "0/2/0 0 c", "0/0/1 1 c", "4/0/0 1 c"]);
    // Two words: two rows of 128 bytes.
    let doubles = local(8, [40; 32]);
    assert_eq!([&doubles[1], &doubles[2], &doubles[4]], ["0/4/0 0 c", "0/0/2 2 c", "8/0/0 2 c"]);
    // Each thread its own word: a row each.
    let spread = local(4, by_lane(|lane| 4 * lane));
    assert_eq!([&spread[0], &spread[2], &spread[6]], ["32/0/0 0 u", "0/0/32 32 u", "32/0/0 32 u"]);
    // One byte of each word: all 32 words are touched, 32 distinct bytes would fit one sector.
    assert_eq!(local(1, [3; 32])[6], "4/0/0 1 u");
}

fn any_request() -> impl Strategy<Value = (u32, u32, [u64; 32])> {
    let widths = prop::sample::select(vec![1u64, 2, 4, 8, 16]);
    let spreads = prop::sample::select(vec![8u64, 40, 300, 100_000]);
    (widths, spreads, any::<u32>(), any::<[u32; 32]>()).prop_map(|(width, spread, mask, raw)| {
        let addresses = raw.map(|raw| BASE + width * (u64::from(raw) % spread));
        (width as u32, mask | 1 << (mask % 32), addresses)
    })
}

proptest! {
    #[test]
    fn sectors_and_lines_are_plain_sets((lane_bytes, mask, addresses) in any_request()) {
        let request = Request { lane_bytes, mask: ActiveMask(mask), addresses: &addresses };
        let bytes: BTreeSet<u64> = ActiveMask(mask)
            .lanes()
            .flat_map(|lane| addresses[lane]..addresses[lane] + u64::from(lane_bytes))
            .collect();
        let distinct = |unit: u64| bytes.iter().map(|byte| byte / unit).collect::<BTreeSet<_>>().len() as u32;
        for rule in [CoalescingRule::Cc30, CoalescingRule::Cc50, CoalescingRule::Cc70] {
            let served = transactions(rule, &request);
            prop_assert_eq!((served.t32, served.lines), (distinct(32), distinct(128)));
            prop_assert_eq!(served.coalesced, served.t32 == (bytes.len() as u32).div_ceil(32));
        }
    }

    #[test]
    fn every_rule_moves_every_byte((lane_bytes, mask, addresses) in any_request()) {
        let request = Request { lane_bytes, mask: ActiveMask(mask), addresses: &addresses };
        for rule in CoalescingRule::ALL {
            let mut moved = BTreeSet::new();
            segments(rule, &request, |segment| {
                assert_eq!(segment.start % u64::from(segment.bytes), 0);
                moved.extend(segment.start..segment.start + u64::from(segment.bytes));
            });
            for lane in ActiveMask(mask).lanes() {
                prop_assert!(moved.contains(&addresses[lane]), "{} lane {lane}", rule.name());
                prop_assert!(moved.contains(&(addresses[lane] + u64::from(lane_bytes) - 1)), "{}", rule.name());
            }
        }
    }

    #[test]
    fn the_fewest_transactions_hold_the_distinct_bytes((lane_bytes, mask, addresses) in any_request()) {
        let request = Request { lane_bytes, mask: ActiveMask(mask), addresses: &addresses };
        let bytes: BTreeSet<u64> = ActiveMask(mask)
            .lanes()
            .flat_map(|lane| addresses[lane]..addresses[lane] + u64::from(lane_bytes))
            .collect();
        for (rule, served) in CoalescingRule::ALL.into_iter().zip(all_transactions(&request)) {
            prop_assert!(served.ideal.bytes() <= served.bytes(), "{}", rule.name());
            prop_assert!(served.ideal.bytes() >= bytes.len() as u32, "{}", rule.name());
            if rule >= CoalescingRule::Cc30 {
                prop_assert_eq!(served.coalesced, served.ideal.t32 == served.t32);
            }
        }
    }

    #[test]
    fn shifting_by_256_bytes_changes_nothing((lane_bytes, mask, addresses) in any_request(), n in 1u64..1000) {
        let moved = addresses.map(|address| address + 256 * n);
        let here = Request { lane_bytes, mask: ActiveMask(mask), addresses: &addresses };
        let there = Request { addresses: &moved, ..here };
        prop_assert_eq!(all_transactions(&here), all_transactions(&there));
        prop_assert_eq!(all_local_transactions(&here), all_local_transactions(&there));
    }

    /// From 3.0 on lanes may swap places; on 1.2 they may inside their half-warp, as all of a segment go together.
    #[test]
    fn lanes_may_swap_where_the_rule_looks_at_sets(
        (lane_bytes, mask, addresses) in any_request(),
        order in Just((0..32).collect::<Vec<usize>>()).prop_shuffle(),
    ) {
        let swapped = std::array::from_fn(|lane| addresses[order[lane]]);
        let swapped_mask = (0..32).map(|lane| (mask >> order[lane] & 1) << lane).sum();
        let here = Request { lane_bytes, mask: ActiveMask(mask), addresses: &addresses };
        let there = Request { lane_bytes, mask: ActiveMask(swapped_mask), addresses: &swapped };
        for rule in [CoalescingRule::Cc30, CoalescingRule::Cc70] {
            prop_assert_eq!(transactions(rule, &here), transactions(rule, &there));
        }
        if lane_bytes <= 4 {
            for rule in [CoalescingRule::Cc20, CoalescingRule::Cc20L1Off] {
                prop_assert_eq!(transactions(rule, &here), transactions(rule, &there));
            }
        }
        let reversed = std::array::from_fn(|lane| addresses[lane ^ 15]);
        let reversed_mask = (0..32).map(|lane| (mask >> (lane ^ 15) & 1) << lane).sum();
        let there = Request { lane_bytes, mask: ActiveMask(reversed_mask), addresses: &reversed };
        prop_assert_eq!(transactions(CoalescingRule::Cc12, &here), transactions(CoalescingRule::Cc12, &there));
    }

    #[test]
    fn later_chips_never_move_more_than_strict_ones((lane_bytes, mask, addresses) in any_request()) {
        let request = Request { lane_bytes, mask: ActiveMask(mask), addresses: &addresses };
        let all = all_transactions(&request);
        let requested = ActiveMask(mask).count() * lane_bytes;
        prop_assert!(all[1].count() <= all[0].count());
        prop_assert!(all[4].count() <= all[3].count());
        prop_assert!(all[0].bytes() >= requested.min(32));
        prop_assert!(all[2].bytes() >= all[3].bytes());
    }
}
