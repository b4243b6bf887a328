//! Changed recordings against what is known by hand of them.

use warplens_isa::StateSpace;
use warplens_sim::traces::Traced;
use warplens_stats::TracedCta;
use warplens_trace::{
    AccessKind, ActiveMask, Chain, Code, CtaId, CtaTrace, MachineClass, MachineInst, WARP_SIZE, WarpTrace,
    WarpTraceBuilder,
};

use super::{Touch, barriers, lanes, layout, unroll};

const FULL: ActiveMask = ActiveMask::FULL;

fn addresses(of: impl Fn(u64) -> u64) -> [u64; WARP_SIZE] {
    std::array::from_fn(|lane| of(lane as u64))
}

fn cta(warps: Vec<WarpTrace>) -> CtaTrace {
    CtaTrace { id: CtaId(0), warps: warps.into() }
}

fn traced(warps: Vec<WarpTrace>) -> Traced {
    Traced { ctas: vec![TracedCta::new(&cta(warps), Vec::new())], ..Traced::default() }
}

fn touches(warp: &WarpTrace) -> Vec<Touch> {
    warp.accesses().map(|access| Touch::new(warp, &access)).collect()
}

/// Loads of columns of a matrix with rows of 256 bytes, and of a vector.
fn strided() -> WarpTrace {
    let mut warp = WarpTraceBuilder::default();
    for column in 0..64 {
        warp.step(0, FULL);
        let matrix = addresses(|lane| 4096 + 256 * lane + 4 * column);
        warp.access(0, StateSpace::Global, AccessKind::Load, (4, 1), FULL, &matrix);
        let vector = addresses(|lane| (1 << 20) + 4 * lane);
        warp.access(1, StateSpace::Global, AccessKind::Load, (4, 1), FULL, &vector);
    }
    warp.finish()
}

#[test]
fn columns_become_rows_and_every_byte_has_a_place_of_its_own() {
    let mut traced = traced(vec![strided()]);
    let layouts = layout::layouts(&traced);
    assert_eq!(layouts.keys().copied().collect::<Vec<_>>(), [(0, 0)]);
    let n_ctas = super::counted_ctas(&traced);
    let before = super::distinct_sectors(&traced, n_ctas);
    super::each_access(&mut traced, StateSpace::Global, |block, mut touch, put| {
        if let Some(layout) = layouts.get(&(block, touch.slot)) {
            layout.apply(&mut touch);
        }
        put(&touch);
    });
    let all = touches(&traced.ctas[0].trace().warps[0]);
    assert!(all.iter().all(|touch| touch.sectors() == (4, 4)));
    assert_eq!(super::distinct_sectors(&traced, n_ctas), before);
    let mut places: Vec<u64> = all.iter().filter(|touch| touch.slot == 0).flat_map(|touch| touch.addresses).collect();
    places.sort_unstable();
    places.dedup();
    assert_eq!(places.len(), 64 * WARP_SIZE);
}

#[test]
fn a_gather_finds_its_bytes_side_by_side() {
    let mut warp = WarpTraceBuilder::default();
    warp.step(0, FULL);
    let scattered = addresses(|lane| (lane * lane * 7919) % 65536 * 4);
    warp.access(0, StateSpace::Global, AccessKind::Load, (4, 1), FULL, &scattered);
    let traced = traced(vec![warp.finish()]);
    let layouts = layout::layouts(&traced);
    let mut touch = touches(&traced.ctas[0].trace().warps[0])[0];
    assert!(touch.sectors().0 > 16);
    layouts[&(0, 0)].apply(&mut touch);
    assert_eq!(touch.sectors().0, touch.sectors().1);
}

/// Even lanes go one way and odd ones another, and all store.
fn parted() -> WarpTrace {
    let (even, odd) = (ActiveMask(0x5555_5555), ActiveMask(0xaaaa_aaaa));
    let mut warp = WarpTraceBuilder::default();
    warp.step(0, FULL);
    (0..8).for_each(|_| warp.step(1, even));
    (0..4).for_each(|_| warp.step(2, odd));
    warp.step(3, FULL);
    warp.access(0, StateSpace::Global, AccessKind::Store, (4, 1), FULL, &addresses(|lane| 4 * lane));
    warp.finish()
}

#[test]
fn threads_of_one_way_come_into_one_warp() {
    let warps = lanes::regrouped(&cta(vec![parted(), parted()]));
    let blocks = |warp: &WarpTrace| warp.steps().map(|step| (step.block, step.mask.count())).collect::<Vec<_>>();
    let way = |block: u32, rounds: usize| {
        let mut steps = vec![(0, 32)];
        steps.extend(std::iter::repeat_n((block, 32), rounds));
        steps.push((3, 32));
        steps
    };
    assert_eq!(warps.iter().map(blocks).collect::<Vec<_>>(), [way(2, 4), way(1, 8)]);
    // The places of the threads keep their addresses.
    assert!(warps.iter().flat_map(touches).all(|touch| touch.sectors() == (4, 4)));
}

/// `sum = sum x + c` with a counter and a branch, and, where `chases`, a load whose address it loaded before.
fn round(chases: bool) -> Code {
    use MachineClass as C;
    let mut code = Code::default();
    let mut inst = |class, reads: &[u16], writes: &[u16], slot| {
        let (reads, writes) = (code.operands_of(reads), code.operands_of(writes));
        let space = StateSpace::Global;
        code.insts.push(MachineInst { reads, writes, slot, space, ..MachineInst::new(class, 0) });
    };
    inst(C::Load, if chases { &[1] } else { &[2] }, &[1], 0);
    inst(C::Fp32, &[0, 1], &[0], warplens_trace::NO_SLOT);
    inst(C::Int, &[3], &[3], warplens_trace::NO_SLOT);
    inst(C::Branch, &[3], &[], warplens_trace::NO_SLOT);
    code.blocks = std::iter::once(0..4).collect();
    code
}

#[test]
fn rounds_take_turns_with_registers_of_their_own() {
    let mut code = round(false);
    let insts = unroll::several(&mut code, 0, 4, 1);
    let of = |class| insts.iter().filter(|inst| inst.class == class).collect::<Vec<_>>();
    let counts = [MachineClass::Load, MachineClass::Fp32, MachineClass::Int, MachineClass::Branch].map(|c| of(c).len());
    assert_eq!(counts, [4, 4, 1, 1]);
    let mut sums: Vec<u16> =
        of(MachineClass::Fp32).iter().flat_map(|inst| code.registers(inst.writes).to_vec()).collect();
    sums.dedup();
    assert_eq!(sums.len(), 4);
    assert_eq!(of(MachineClass::Load).iter().map(|inst| inst.slot).collect::<Vec<_>>(), [0, 1, 2, 3]);
    let is_possible = [false, true].map(|chases| unroll::overlap(&round(chases), &round(chases).insts));
    assert_eq!(is_possible, [true, false]);
}

#[test]
fn rounds_are_put_together_four_at_a_time() {
    let mut warp = WarpTraceBuilder::default();
    warp.step(1, FULL);
    for round in 0..10 {
        warp.step(0, FULL);
        warp.access(0, StateSpace::Global, AccessKind::Load, (4, 1), FULL, &addresses(|lane| 128 * round + 4 * lane));
    }
    let warp = unroll::in_fewer_rounds(&warp.finish(), 0, 7, 4, 1);
    assert_eq!(warp.steps().map(|step| step.block).collect::<Vec<_>>(), [1, 7, 7, 0, 0]);
    let slots: Vec<u16> = touches(&warp).iter().map(|touch| touch.slot).collect();
    assert_eq!(slots, [0, 1, 2, 3, 0, 1, 2, 3, 0, 0]);
}

/// Two warps that each store a word, wait, and load the word of `other`, several times.
fn exchange(other: fn(u64) -> u64) -> (CtaTrace, Code) {
    let warp = |number: u64| {
        let mut warp = WarpTraceBuilder::default();
        for _ in 0..3 {
            warp.step(0, FULL);
            let words = |of: u64| addresses(|lane| 128 * of + 4 * lane);
            warp.access(0, StateSpace::Shared, AccessKind::Store, (4, 1), FULL, &words(number));
            warp.access(1, StateSpace::Shared, AccessKind::Load, (4, 1), FULL, &words(other(number)));
        }
        warp.finish()
    };
    let inst = |class, slot| MachineInst { slot, space: StateSpace::Shared, ..MachineInst::new(class, 0) };
    let barrier = MachineInst { amount: 0, ..MachineInst::new(MachineClass::Barrier, 0) };
    let insts = vec![inst(MachineClass::Store, 0), barrier, inst(MachineClass::Load, 1), barrier];
    let code = Code { insts, blocks: std::iter::once(0..4).collect(), ..Code::default() };
    (cta(vec![warp(0), warp(1)]), code)
}

#[test]
fn barriers_are_needed_where_warps_exchange_values() {
    let superfluous = |other| {
        let (cta, code) = exchange(other);
        let traced = Traced { ctas: vec![TracedCta::new(&cta, Vec::new())], ..Traced::default() };
        barriers::Phases::of(&traced, &code).unwrap().superfluous(&[(0, 0), (0, 1)])
    };
    assert_eq!(superfluous(|own| own), [(0, 0), (0, 1)]);
    assert_eq!(superfluous(|own| 1 - own), []);
}

/// Two rounds of a block as one block of machine code, with the second round's instructions in between.
fn put_together() -> Code {
    let mut code = exchange(|own| own).1;
    let round = |turn| code.insts.iter().map(move |inst| MachineInst { turn, ..*inst });
    let both: Vec<MachineInst> = round(0).zip(round(1)).flat_map(|(first, second)| [first, second]).collect();
    code.insts.extend(both);
    code.blocks.push(4..12);
    code.chains = vec![Chain { blocks: vec![0, 0], merged: 1 }];
    code
}

#[test]
fn instructions_of_blocks_that_were_put_together_change_as_those_of_the_blocks() {
    let mut code = put_together();
    barriers::take_away(&mut code, &[(0, 1)]);
    let barriers = |code: &Code, block| {
        let insts = code.block(block).iter().filter(|inst| inst.class == MachineClass::Barrier);
        insts.map(|inst| inst.turn).collect::<Vec<_>>()
    };
    assert_eq!((barriers(&code, 0), barriers(&code, 1)), (vec![0], vec![0, 1]));
    super::each_instruction_of(&mut code, |block, inst| match (block, inst.slot) {
        (0, 1) => MachineInst { space: StateSpace::Global, ..*inst },
        _ => *inst,
    });
    let spaces = |block| {
        let loads = code.block(block).iter().filter(|inst| inst.class == MachineClass::Load);
        loads.map(|inst| inst.space).collect::<Vec<_>>()
    };
    assert_eq!((spaces(0), spaces(1)), (vec![StateSpace::Global], vec![StateSpace::Global; 2]));
}
