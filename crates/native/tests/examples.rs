//! The listings of `examples/teg` have the instructions that their derivation counts.

use warplens_native::{Listing, read_listing_with};
use warplens_trace::{CtaId, Lanes, MachineClass, WarpAccess, WarpTrace};

fn example(name: &str, values: &[(&str, i64)]) -> Listing {
    let path = format!("{}/../../examples/teg/{name}.gt200", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("the listing is there");
    read_listing_with(&text, values).unwrap_or_else(|problems| panic!("{path}: {problems:#?}"))
}

/// Warp instructions that a warp executes, of the classes asked for.
fn executed(listing: &Listing, warp: &WarpTrace, is: impl Fn(MachineClass) -> bool) -> usize {
    let of = |block: u32| listing.code.block(block).iter().filter(|inst| is(inst.class)).count();
    warp.steps().map(|step| of(step.block)).sum()
}

#[test]
fn matrix_products_have_the_derived_instructions() {
    for (name, around) in [("abt_conflict", 19 + 5), ("abt_conflict_free", 21 + 5)] {
        for (k, step, turns) in [(192, 2, 12), (128, 2, 8), (192, 1, 12), (192, 3, 12)] {
            let listing = example(name, &[("K", k), ("STEP", step)]);
            let cta = listing.trace(CtaId(3), 256).expect("it runs");
            assert_eq!(cta.warps.len(), 8);
            let turn = 11 + 16 * usize::try_from(step).expect("small");
            assert_eq!(executed(&listing, &cta.warps[5], |_| true), around + turns * turn, "{name} {k} {step}");
            assert_eq!(executed(&listing, &cta.warps[5], |class| class == MachineClass::Barrier), 2 * turns);
        }
    }
}

#[test]
fn conflicts_are_where_the_derivation_has_them() {
    for (name, ways) in [("abt_conflict", 16), ("abt_conflict_free", 1)] {
        let listing = example(name, &[]);
        let cta = listing.trace(CtaId(0), 64).expect("it runs");
        let warp = &cta.warps[1];
        let mut addresses = [0; 32];
        // The turn's accesses: two loads, two stores, then two per step.
        let turn: Vec<WarpAccess> = warp.accesses_of(&warp.step(2).expect("a turn")).collect();
        assert_eq!(turn.len(), 4 + 32);
        let degree = |index: usize, addresses: &mut [u64; 32]| {
            warp.expand(&turn[index], addresses);
            let words: std::collections::BTreeSet<u64> = addresses[..16].iter().map(|address| address / 4).collect();
            (0..16).map(|bank| words.iter().filter(|&word| word % 16 == bank).count()).max()
        };
        assert_eq!(degree(2, &mut addresses), Some(1));
        assert_eq!(degree(3, &mut addresses), Some(1));
        for step in 0..16 {
            assert_eq!(degree(4 + 2 * step, &mut addresses), Some(ways), "{name}: B");
            assert_eq!(degree(5 + 2 * step, &mut addresses), Some(1), "{name}: A");
            assert!(addresses[..16].iter().all(|&address| address == addresses[0]), "a half-warp is a row");
        }
    }
}

#[test]
fn the_hopping_matrix_has_the_derived_instructions() {
    for (soa, prologue) in [(0, 9), (1, 7)] {
        let listing = example("hopping", &[("SOA", soa)]);
        let cta = listing.trace(CtaId(0), 128).expect("it runs");
        let count = |class| executed(&listing, &cta.warps[3], |found| found == class);
        assert_eq!((count(MachineClass::Fp64), count(MachineClass::Store)), (96 + 288 + 96, 96));
        assert_eq!(executed(&listing, &cta.warps[3], |_| true), 192 + 72 + 96 + 288 + 96 + 96 + 368 + prologue);
        // All registers that a thread can have, the zero register apart; none of them is a scratch register.
        assert!(listing.code.n_registers <= 124, "{}", listing.code.n_registers);
        let device = |warp: &WarpTrace| warp.accesses().filter(|access| lane_stride(access) > 8).count();
        assert_eq!(device(&cta.warps[0]), if soa == 1 { 0 } else { 360 });
    }
}

/// Bytes from a lane to the next.
fn lane_stride(access: &WarpAccess) -> i64 {
    match access.lanes {
        Lanes::Affine { stride, .. } => stride,
        Lanes::Pattern { .. } | Lanes::Listed(_) => i64::MAX,
    }
}

#[test]
fn the_chain_is_21_long() {
    let listing = example("fadd_chain", &[]);
    assert_eq!(listing.code.insts.iter().filter(|inst| inst.class == MachineClass::Fp32).count(), 21);
}
