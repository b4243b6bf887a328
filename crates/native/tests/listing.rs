//! Listings of compute capability 1.x: what is read, what warps execute, and what is said about mistakes.

use proptest::prelude::*;
use warplens_base::{Diagnostic, LineIndex};
use warplens_isa::StateSpace;
use warplens_native::{Listing, read_listing, read_listing_with};
use warplens_trace::{AccessKind, ActiveMask, CtaId, CtaTrace, MachineClass, WARP_SIZE};

fn read(text: &str) -> Listing {
    read_listing(text).unwrap_or_else(|problems| panic!("{problems:#?}"))
}

fn trace(text: &str, threads: u32) -> CtaTrace {
    read(text).trace(CtaId(0), threads).unwrap_or_else(|problem| panic!("{problem:#?}"))
}

/// `line:column code message` of each problem.
fn problems(text: &str) -> Vec<String> {
    let lines = LineIndex::new(text);
    let said = |problem: &Diagnostic| {
        let (line, column) = lines.line_column(problem.primary.span.start);
        format!("{line}:{column} {} {}", problem.code, problem.message)
    };
    read_listing(text).expect_err("the listing is wrong").iter().map(said).collect()
}

fn classes(text: &str) -> Vec<MachineClass> {
    read(text).code.insts.iter().map(|inst| inst.class).collect()
}

#[test]
fn instructions_of_the_era_are_read_as_cuobjdump_writes_them() {
    let text = "
        /*0000*/  MOV.U16 R0H, g [0x1].U16;
        /*0008*/  I2I.U32.U16 R1, R0L;
        IMAD.U16 R0, g [0x6].U16, R0H, R1;
        IADD32 R3, g [0x5], R2;
        FADD32I R2, R0, -0x40800000;
        LOP.AND.U16 R1H, R0H, c[0x1][0x2];
        ISET.S32.C0 o[0x7f], R5, R124, EQ;
        SSY 0x168;
        BRA C0.NE, 0x168;
        @C0.EQ MOV R11, g [A2+0x9]{4 * lane};
        R2A A1, R8, 0x2;
        R2G.U32.U32 g[A1+0x9], R0{4 * thread};
        BAR.ARV.WAIT b0, 0xfff;
        RCP R1, |R2|;
        GST.U32 global14[R6], R7{0x100};
        NOP.S;
        RET C0.NE";
    use MachineClass as C;
    let expected = [
        C::Load,
        C::Convert,
        C::Int,
        C::Int,
        C::Fp32,
        C::Int,
        C::Int,
        C::Branch,
        C::Branch,
        C::Load,
        C::Int,
        C::Store,
        C::Barrier,
        C::Sfu,
        C::Store,
        C::Nop,
        C::Branch,
    ];
    assert_eq!(classes(text), expected);
    let code = read(text).code;
    let branch = &code.insts[8];
    assert!(branch.guard.is_some() && code.registers(branch.reads) == [branch.guard.expect("just seen")]);
    let guarded = &code.insts[9];
    assert_eq!((guarded.guard, guarded.space), (branch.guard, StateSpace::Shared));
    assert_eq!(code.registers(code.insts[6].writes), [branch.guard.expect("just seen")]);
    assert_eq!((code.places[0].line, code.places[0].text.as_str()), (2, "MOV.U16 R0H, g [0x1].U16"));
    assert_eq!(code.places[11].text, "R2G.U32.U32 g[A1+0x9], R0");
    // Launch sizes and parameters lie at the start of shared memory.
    let accesses: Vec<_> = trace(text, 32).warps[0].accesses().collect();
    assert_eq!(
        (accesses[0].space, accesses[0].element_bytes, accesses[0].kind),
        (StateSpace::Shared, 2, AccessKind::Load)
    );
    assert_eq!(accesses[0].lanes, warplens_trace::Lanes::Affine { base: 2, stride: 0 });
    assert_eq!(accesses[2].lanes, warplens_trace::Lanes::Affine { base: 20, stride: 0 });
}

#[test]
fn operands_of_arithmetic_keep_their_parts() {
    let code =
        read("FMAD32 R0, g[A3+0x8]{0}, R2, R0; DFMA R0, R2, R4, R6; GLD.S64 R8, global14[R1]{0}; MVI R9, 1").code;
    let [multiply_add, double, load, constant] = code.insts.as_slice() else { panic!("{:?}", code.insts) };
    assert_eq!(multiply_add.class, MachineClass::Fp32);
    assert!(multiply_add.touches_memory());
    assert_eq!(multiply_add.addend, Some(code.registers(multiply_add.writes)[0]));
    // A1, R2 and R0 are read.
    assert_eq!(code.registers(multiply_add.reads).len(), 3);
    assert_eq!((code.registers(double.reads).len(), code.registers(double.writes).len()), (6, 2));
    assert_eq!(double.addend, Some(code.registers(double.reads)[4]));
    assert_eq!((code.registers(load.reads).len(), code.registers(load.writes).len()), (1, 2));
    // The second register of the loaded pair is R9.
    assert_eq!(code.registers(constant.writes)[0], code.registers(load.writes)[1]);
}

#[test]
fn products_of_32_bits_become_products_of_16() {
    use MachineClass as C;
    assert_eq!(classes("IMUL.U16.U16 R0, R1L, R2L; IMAD.U24 R0, R1, R2, R3"), [C::Int; 2]);
    let code = read("IMUL R0, R1, R2").code;
    assert_eq!(code.insts.len(), 4);
    assert!(code.insts.iter().all(|inst| inst.class == C::Int && inst.place == 0));
    // Each of the four waits for the one before.
    for pair in code.insts.windows(2) {
        let written = code.registers(pair[0].writes)[0];
        assert!(code.registers(pair[1].reads).contains(&written));
    }
    let code = read("IMAD.U32 R0, R1, R2, R0").code;
    assert_eq!(code.insts.len(), 5);
    // The sum is of the product and the addend, and the products do not wait for the addend.
    let addend = code.registers(code.insts[4].writes)[0];
    assert!(code.registers(code.insts[4].reads).contains(&addend));
    assert!(code.insts[..4].iter().all(|inst| !code.registers(inst.reads).contains(&addend)));
    assert_eq!(
        problems("IMUL R0, g[0x4], R1"),
        ["1:10 N020 a 32-bit multiplication becomes several instructions and takes no operand from memory"]
    );
}

#[test]
fn loops_repeats_and_branches_are_executed() {
    let text = "
        .let n = 3;
        .let row = thread / 16;
        MVI R0, 0;
        .loop tile, n + warp;
            GLD.U32 R4, global14[R3]{0x1000 + 64 * tile + 4 * lane};
            .repeat k, 2;
                MOV R2, g[A1+8]{64 * row + 4 * k};
            .end;
        .end;
        .if lane < 8;  NOP;  .else;  GST.U32 global14[R3], R4{4 * lane};  .end;
        @P0{lane % 2 == 0 && lane != 0} GLD.U32 R4, global14[R3]{lane == 0 ? 1 / lane : 8 * lane};
        EXIT";
    let cta = trace(text, 40);
    assert_eq!(cta.warps.len(), 2);
    let [first, second] = &*cta.warps else { panic!("two warps") };
    // Start, three turns, two sides, the end.
    assert_eq!((first.n_steps(), second.n_steps()), (1 + 3 + 2 + 1, 1 + 4 + 1 + 1));
    let mut addresses = [0; WARP_SIZE];
    let steps: Vec<_> = first.steps().collect();
    let turn: Vec<_> = first.accesses_of(&steps[2]).collect();
    first.expand(&turn[0], &mut addresses);
    assert_eq!((turn.len(), addresses[3]), (3, 0x1000 + 64 + 12));
    first.expand(&turn[2], &mut addresses);
    assert_eq!((addresses[15], addresses[16], turn[2].slot), (4, 68, 2));
    assert_eq!((steps[4].mask, steps[5].mask), (ActiveMask::first(8), ActiveMask(!0xff)));
    assert_eq!(second.step(0).map(|step| step.mask), Some(ActiveMask::first(8)));
    let last: Vec<_> = first.accesses_of(&steps[6]).collect();
    assert_eq!((last[0].mask, last[0].kind), (ActiveMask(0x5555_5554), AccessKind::Load));
    first.expand(&last[0], &mut addresses);
    assert_eq!(addresses[4], 32);
}

#[test]
fn repeats_compute_registers_and_may_be_empty() {
    let code = read(".repeat k, 3; .repeat again, k == 1; MVI R(4 + 2 * k), 0; .end; NOP; .end; MVI R6, 0").code;
    assert_eq!(code.insts.len(), 5);
    assert_eq!(code.registers(code.insts[1].writes), code.registers(code.insts[4].writes));
    let said = problems(".loop k, 3; MVI R(k), 0; .end; MVI R(128), 0");
    assert_eq!(
        said,
        [
            "1:18 N022 the number of a register is a constant from 0 to 127",
            "1:37 N022 the number of a register is a constant from 0 to 127",
        ]
    );
}

#[test]
fn names_take_values_from_outside() {
    let text = ".let K = 192; .loop t, K / 16; NOP; .end;";
    let with = |values: &[(&str, i64)]| {
        let listing = read_listing_with(text, values).expect("a listing");
        listing.trace(CtaId(0), 32).expect("it runs").warps[0].n_steps()
    };
    assert_eq!((with(&[]), with(&[("K", 128)])), (12, 8));
    let problem = &read_listing_with(text, &[("M", 1)]).expect_err("there is no M")[0];
    assert_eq!(problem.message, "a value is given for `M`, and the listing has no such `.let`");
}

#[test]
fn mistakes_are_told_with_their_place() {
    let said = |text: &str, expected: &[&str]| assert_eq!(problems(text), expected, "{text}");
    said("NOP;\n  FMAX32 R1;\n FAD R1, R2", &["3:2 N017 unknown instruction `FAD`"]);
    said("GLD.U32 R4, global14[R3]", &["1:13 N018 the listing does not say where lanes point"]);
    said("FADD R1, R2, [", &["1:14 N011 expected an operand"]);
    said("FADD R1, R2, x", &["1:14 N014 `x` is no operand"]);
    said("FADD R1, R2, R200", &["1:14 N014 `R200` is no operand"]);
    said(
        "FADD R1, g[0], g[4]",
        &["1:16 N019 an instruction has one operand in memory, and no result but that of a store"],
    );
    said("GLD R1, R2", &["1:1 N021 `GLD` needs a place in memory"]);
    said("FADD R1, R2{4}", &["1:12 N016 no operand before this is in memory"]);
    said("MOV R1, h[0]", &["1:9 N015 `h` is no memory"]);
    said(".loop t, 4;\nNOP", &["1:1 N006 this directive has no `.end`"]);
    said("NOP;\n.end", &["2:2 N006 no directive is open here"]);
    said(".loop t, lane; .end", &["1:10 N009 how often a loop runs is the same for all lanes of a warp"]);
    said(".repeat t, warp; .end", &["1:12 N010 a repeat is written out, so its number is a constant from 0 to 60000"]);
    said(".foo", &["1:1 N008 unknown directive `.foo`"]);
    said(".let a = b + 1", &["1:10 N012 nothing is called `b`"]);
    said(".let a = 1 +", &["1:13 N011 expected a number, a name or a bracket"]);
    said("FADD R1, R2 R3", &["1:13 N011 expected the end of the statement"]);
    said("@R0 NOP", &["1:2 N013 a guard is a condition register `C0` or a predicate `P0`"]);
    said("§", &["1:1 N001 a listing has no such character"]);
    said("/* NOP", &["1:1 N002 the comment does not end"]);
    said("MVI R0, 99999999999999999999", &["1:9 N003 this is no number of 64 bits"]);
}

#[test]
fn what_has_no_value_is_told_when_it_is_asked_for() {
    let said = |text: &str, threads| {
        let problem = read(text).trace(CtaId(7), threads).expect_err("it cannot run");
        (problem.code, problem.message, problem.primary.text)
    };
    let (code, message, place) = said("GLD.U32 R4, global14[R3]{4 * (lane - 1)}", 64);
    assert_eq!((code, message.as_str(), place.as_str()), ("N032", "lane 0 would point to -4", "in CTA 7, warp 0"));
    assert_eq!(said("GLD.U32 R4, global14[R3]{4 / (warp - 1)}", 32).0, "N032");
    let (code, _, place) = said("GLD.U32 R4, global14[R3]{warp == 0 ? 0 : 4 / (warp - 1)}", 64);
    assert_eq!((code, place.as_str()), ("N033", "in CTA 7, warp 1"));
    assert_eq!(said("NOP", 0).0, "N030");
    assert_eq!(said("NOP", 1025).0, "N030");
}

#[test]
fn no_listing_takes_forever() {
    let endless = ".loop a, 1000000; .loop b, 1000000; .loop c, 1000000; .end; .end; .end";
    assert_eq!(read(endless).trace(CtaId(0), 32).expect_err("too long").code, "N031");
    let code = |text: &str| problems(text)[0].split(' ').nth(1).expect("a code").to_owned();
    assert_eq!(code(&".repeat a, 60000; ".repeat(4)), "N006");
    let nested = format!("{} NOP; {}", ".repeat a, 300; ".repeat(3), ".end; ".repeat(3));
    assert_eq!(code(&nested), "N007");
    let doubling: String = (0..64).map(|i| format!(".let x{} = x{i} + x{i};", i + 1)).collect();
    assert_eq!(code(&format!(".let x0 = 1; {doubling}")), "N007");
    assert_eq!(code(&format!(".let x = {}", "(".repeat(100_000))), "N007");
    assert_eq!(code(&format!(".let x = {}1", "-".repeat(100_000))), "N007");
    assert_eq!(code(&".if lane; ".repeat(1000)), "N007");
}

const SAMPLE: &str = "
.let K = 32; .let row = thread / 16;
entry: MOV.U16 R0H, g [0x1].U16; // comment
.loop tile, K / 16; GLD.U32 R4, global14[R3]{0x1000 + 4 * (row * K + 16 * tile)};
.repeat k, 3; FMAD32 R0, g[A3+0x8]{64 * row + 4 * k}, R2, R0; .end;
.if lane < 8; @!P0{lane > 3} GST.U32 global14[R1], R0{lane == 0 ? 4 : 8 << 1}; .else; NOP; .end; .end;
IMAD R1, R2, R3, R4; ISET.C0 o[0x7f], R5, c[0x1][0x2], NE; BRA C0.NE, entry; DFMA R0, R2, R4, R6;
";

proptest! {
    #[test]
    fn any_text_is_read_without_a_panic(text in ".{0,200}") {
        let _ = read_listing(&text);
    }

    #[test]
    fn damaged_listings_are_read_without_a_panic(
        edits in prop::collection::vec((0..SAMPLE.len(), 0..8_usize, "[ -~\n]{0,6}"), 1..6),
        threads in 0..200_u32,
    ) {
        let mut text = SAMPLE.to_owned();
        for (at, length, with) in edits {
            let start = at.min(text.len());
            let end = (start + length).min(text.len());
            text.replace_range(start..end, &with);
        }
        if let Ok(listing) = read_listing(&text) {
            for block in &listing.code.blocks {
                prop_assert!(block.start < block.end && block.end as usize <= listing.code.insts.len());
            }
            if let Ok(cta) = listing.trace(CtaId(1), threads) {
                for warp in cta.warps.iter() {
                    prop_assert!(warp.steps().all(|step| (step.block as usize) < listing.code.blocks.len()));
                }
            }
        }
    }
}

#[test]
fn the_sample_is_a_listing() {
    assert_eq!(trace(SAMPLE, 64).warps.len(), 2);
}
