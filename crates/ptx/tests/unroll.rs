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
    for (step, bound, expected) in [("1", "8", 8), ("2", "8", 4), ("3", "10", 4), ("1", "%r9", 1), ("1", "1", 1)] {
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
    // By ptxas 13.5: 65 operations and 4 turns, 125 and 2, 35 and 16 are unrolled, twice as many are not.
    for (n, turns_of_ptxas) in [(61, 4), (121, 2), (31, 16)] {
        let of = |n_turns: usize| turns(&kernel("", &sums(n), "1", &n_turns.to_string(), false), 80);
        assert_eq!((of(turns_of_ptxas), of(2 * turns_of_ptxas)), (turns_of_ptxas, 1), "{n} operations");
    }
    let tile = format!("{loads}{}", sums(80));
    let nested = |target: u32| turns(&kernel("", &tile, "1", "32", true), target);
    assert_eq!((nested(80), nested(90)), (32, 1));
    assert_eq!(turns(&kernel("", &tile, "1", "32", false), 80), 1);
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
