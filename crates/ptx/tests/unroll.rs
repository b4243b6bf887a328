//! Which loops of a kernel are unrolled, and what becomes of them.
#![allow(clippy::unwrap_used, reason = "a test may stop where its data is not as it must be")]

use warplens_ir::{Module, Unrolled, verify};
use warplens_isa::{Op, Pc};

/// A kernel with a loop of `body` that counts `%r1` from 0 up to `turns` by `step`, in another loop if that is wanted.
fn kernel(head: &str, body: &str, step: &str, turns: &str, is_nested: bool) -> Module {
    let (outer, end) = if is_nested {
        ("O: bar.sync 0;", "bar.sync 0; add.u32 %r8, %r8, 1; setp.lt.u32 %p2, %r8, %r9; @%p2 bra O;")
    } else {
        ("", "")
    };
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 to, .param .u32 n)\n{{\n\
         .reg .pred %p<4>; .reg .b32 %r<20>; .reg .f32 %f<20>; .reg .b64 %rd<9>; .shared .align 16 .b8 tile[4096];\n\
         ld.param.u64 %rd1, [to]; ld.param.u32 %r9, [n]; mov.u32 %r8, 0; mov.f32 %f1, 0f00000000;\n{outer}\n\
         mov.u32 %r1, 0; mov.u32 %r2, 0;\nL:\n{head}\n{body}\nadd.u32 %r1, %r1, {step};\n\
         setp.lt.u32 %p1, %r1, {turns};\n@%p1 bra L;\n{end}\nst.global.u32 [%rd1], %r2;\n\
         st.global.f32 [%rd1+4], %f1;\nret;\n}}\n"
    );
    let (module, diagnostics) = warplens_ptx::load(&text);
    module.unwrap_or_else(|| panic!("{diagnostics:?}\n{text}"))
}

/// Turns of the only loop that is unrolled; 1 where none is.
fn turns(module: &Module, target: u32) -> usize {
    let (id, _) = module.kernels().next().unwrap();
    let Some(unrolled) = Unrolled::new(module, &[id], target) else { return 1 };
    // Nothing leads to the blocks that were emptied.
    let mut violations = verify(&unrolled.module);
    violations.retain(|violation| !unrolled.module.blocks[violation.block].insts.is_empty());
    assert!(violations.is_empty(), "{violations:?}");
    let [chain] = &unrolled.chains[..] else { panic!("one chain: {:?}", unrolled.chains) };
    let runs = chain.blocks.chunk_by(|left, right| left == right);
    runs.map(<[_]>::len).max().unwrap()
}

const SHORT: &str = "add.u32 %r2, %r2, 3;";

#[test]
fn loops_with_a_known_number_of_turns_are_unrolled() {
    for (step, bound, expected) in [("1", "8", 8), ("2", "8", 4), ("3", "10", 4), ("1", "1", 1)] {
        assert_eq!(turns(&kernel("", SHORT, step, bound, false), 80), expected, "by {step} to {bound}");
    }
}

#[test]
fn a_pragma_keeps_a_loop_as_it_is() {
    assert_eq!(turns(&kernel(".pragma \"nounroll\";", SHORT, "1", "8", false), 80), 1);
}

#[test]
fn long_loops_stay_rolled_unless_they_load_for_another_loop() {
    let sums = |n: usize| "fma.rn.f32 %f1, %f1, %f1, %f1;\n".repeat(n);
    let loads = "ld.shared.f32 %f2, [tile];\n".repeat(8);
    // By ptxas 13.5: 65 operations and 4 turns, 125 and 2, 35 and 16 are unrolled; of twice as many some at a time are put
    // together, as long as a turn is short.
    for (n, turns_of_ptxas, in_part) in [(61, 4, 4), (121, 2, 1), (31, 16, 8)] {
        let of = |n_turns: usize| turns(&kernel("", &sums(n), "1", &n_turns.to_string(), false), 80);
        assert_eq!((of(turns_of_ptxas), of(2 * turns_of_ptxas)), (turns_of_ptxas, in_part), "{n} operations");
    }
    let tile = format!("{loads}{}", sums(80));
    let nested = |target: u32| turns(&kernel("", &tile, "1", "32", true), target);
    assert_eq!((nested(80), nested(90)), (32, 1));
    assert_eq!(turns(&kernel("", &tile, "1", "32", false), 80), 1);
}

/// What ptxas 11.8, 13.0 and 13.5 do alike for 7.5, 8.6 and 9.0, and 11.8 for 3.5 to 7.0: four turns at a time while what a
/// turn costs is at most so much.
#[test]
fn four_turns_of_a_counted_loop_are_put_together() {
    let sums = |n: usize| "fma.rn.f32 %f1, %f1, %f1, %f1;\n".repeat(n);
    let load = "ld.global.f32 %f2, [%rd1]; add.f32 %f3, %f3, %f2;";
    let store = "st.global.f32 [%rd1+8], %f1;";
    let shared = |n: usize| "ld.shared.f32 %f2, [tile]; add.f32 %f3, %f3, %f2;\n".repeat(n);
    for (others, most) in [
        (String::new(), 18),
        (store.to_owned(), 16),
        ("rcp.approx.ftz.f32 %f3, %f3;".to_owned(), 17),
        ("div.full.f32 %f3, %f3, %f2;".to_owned(), 6),
        ("bar.sync 0;".to_owned(), 16),
        (load.to_owned(), 43),
        (format!("{load}{store}"), 41),
        (shared(4), 26),
        (shared(8), 34),
    ] {
        let of = |n: usize| turns(&kernel("", &format!("{others}{}", sums(n)), "1", "%r9", false), 86);
        assert_eq!((of(most), of(most + 1)), (4, 1), "{others}");
    }
}

#[test]
fn only_loops_that_count_by_a_number_up_to_what_stays_are_unrolled_in_part() {
    let of = |body: &str, step: &str, bound: &str| turns(&kernel("", body, step, bound, false), 80);
    assert_eq!((of(SHORT, "4", "%r9"), of(SHORT, "%r9", "%r8")), (4, 1));
    // The bound changes, what is compared is not what counts, lanes exchange.
    assert_eq!(of("add.u32 %r9, %r9, %r9;", "1", "%r9"), 1);
    assert_eq!(of("mul.lo.u32 %r1, %r1, 3;", "1", "%r9"), 1);
    let shuffle = "shfl.sync.bfly.b32 %r2, %r2, 1, 31, -1;";
    assert_eq!((of(shuffle, "1", "%r9"), turns(&kernel("", shuffle, "1", "%r9", false), 90)), (1, 4));
    assert_eq!(turns(&kernel(".pragma \"nounroll\";", SHORT, "1", "%r9", false), 80), 1);
}

/// Turns count on from where the first began, and so do addresses.
#[test]
fn turns_that_are_put_together_add_up_what_they_count() {
    let body = "cvt.u64.u32 %rd2, %r9; add.s64 %rd3, %rd1, %rd2; ld.global.u32 %r3, [%rd3];\n\
                add.u32 %r4, %r4, %r3; add.s64 %rd1, %rd1, 4;";
    let module = kernel("", body, "2", "%r9", false);
    let (id, _) = module.kernels().next().unwrap();
    let unrolled = Unrolled::new(&module, &[id], 80).unwrap();
    let [chain] = &unrolled.chains[..] else { panic!("{:?}", unrolled.chains) };
    assert!(chain.goes_back());
    let block = &unrolled.module.blocks[chain.blocks[0]];
    assert_eq!(block.flow, module.blocks[chain.blocks[0]].flow);
    assert_eq!(block.insts.iter().filter(|inst| inst.op() == Op::Bra).count(), 1);
    let added = |bits: u32| -> Vec<u64> {
        let sums = block.insts.iter().filter(|inst| inst.op() == Op::Add && inst.ty.bits() == bits);
        let number = |source: &warplens_ir::Operand| match source {
            warplens_ir::Operand::Immediate(value) => Some(*value),
            _ => None,
        };
        sums.filter_map(|inst| inst.sources.iter().find_map(number)).collect()
    };
    assert_eq!(added(32), [2, 4, 6, 8]);
    let mut addresses = added(64);
    addresses.sort_unstable();
    assert_eq!(addresses, [4, 4, 8, 8, 12, 12, 16]);
}

#[test]
fn copies_count_with_numbers() {
    let body = "shl.b32 %r3, %r1, 4; add.u32 %r2, %r2, %r3;";
    let module = kernel("", body, "1", "4", false);
    let (id, _) = module.kernels().next().unwrap();
    let unrolled = Unrolled::new(&module, &[id], 80).unwrap();
    let block = &unrolled.module.blocks[unrolled.chains[0].blocks[0]];
    assert!(block.insts.iter().all(|inst| inst.op() != Op::Bra && inst.op() != Op::Shl));
    // The sum of all turns is a number, which is stored behind the loop.
    let store = block.insts.iter().find(|inst| inst.op() == Op::St).unwrap();
    assert_eq!(store.sources, [warplens_ir::Operand::Immediate(96)]);
    // Copies say what they copy, and for which turn.
    let origins: Vec<(Pc, u16)> = block.insts.iter().map(|inst| unrolled.origin(inst.pc)).collect();
    let n_pcs = module.pcs.len() as u32;
    assert!(origins.iter().all(|(pc, _)| pc.0 < n_pcs) && origins.is_sorted_by_key(|&(_, turn)| turn));
    assert_eq!(unrolled.origin(Pc(0)), (Pc(0), 0));
}
