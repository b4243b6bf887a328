//! Traces in Accel-Sim's SASS format: what is read of them, and what is said about mistakes.

use proptest::prelude::*;
use warplens_base::{Diagnostic, LineIndex};
use warplens_isa::StateSpace;
use warplens_native::{SassTrace, read_sass_trace};
use warplens_trace::{AccessKind, ActiveMask, Lanes, MachineClass, WARP_SIZE};

const EXCHANGE: &str = include_str!("data/exchange.traceg");

/// A trace of one warp with these lines.
fn trace_of(lines: &[&str]) -> String {
    let header = "-kernel name = k\n-grid dim = (1,1,1)\n-block dim = (32,1,1)\n-shmem base_addr = 0x10000000\n\
                  -local mem base_addr = 0x20000000\n";
    let body = lines.join("\n");
    format!("{header}#BEGIN_TB\nthread block = 0,0,0\nwarp = 0\ninsts = {}\n{body}\n#END_TB\n", lines.len())
}

fn read(text: &str) -> SassTrace {
    read_sass_trace(text).unwrap_or_else(|problems| panic!("{problems:#?}"))
}

/// `line:column code message` of each problem.
fn problems(text: &str) -> Vec<String> {
    let lines = LineIndex::new(text);
    let said = |problem: &Diagnostic| {
        let (line, column) = lines.line_column(problem.primary.span.start);
        format!("{line}:{column} {} {}", problem.code, problem.message)
    };
    read_sass_trace(text).expect_err("the trace is wrong").iter().map(said).collect()
}

#[test]
fn a_trace_becomes_code_and_warps() {
    let trace = read(EXCHANGE);
    assert_eq!(
        (trace.header.kernel.as_str(), trace.header.binary_version, trace.header.registers),
        ("exchange", 70, 8)
    );
    assert_eq!(trace.ctas.iter().map(|cta| (cta.id.0, cta.warps.len())).collect::<Vec<_>>(), [(0, 2), (1, 2)]);
    use MachineClass as C;
    let classes: Vec<C> = trace.code.insts.iter().map(|inst| inst.class).collect();
    let expected = [
        C::Move,
        C::Move,
        C::Load,
        C::Load,
        C::Fp32,
        C::Int,
        C::Store,
        C::Barrier,
        C::Load,
        C::Store,
        C::Fp32,
        C::Exit,
    ];
    assert_eq!(classes, expected);
    assert_eq!(trace.code.places[4].text, "1 R5 FFMA 3 R3 R4 R5");
    let fma = &trace.code.insts[4];
    assert_eq!((trace.code.registers(fma.reads), fma.addend), (&[3, 4, 5][..], Some(5)));
    // Four turns of a loop of four.
    let warp = &trace.ctas[1].warps[1];
    assert_eq!(warp.n_steps(), 2 + 16 + 6);
    let first = |step: usize| warp.accesses_of(&warp.step(step).expect("there are more")).next().expect("an access");
    let scattered = &first(3);
    assert!(matches!(scattered.lanes, Lanes::Pattern { .. }));
    let mut addresses = [0; WARP_SIZE];
    warp.expand(scattered, &mut addresses);
    assert_eq!(addresses[5], 0x7f00_0001_0000 + 4 * (96 + 35 % 32));
    // Shared addresses count from the start of shared memory.
    let shared = &first(20);
    warp.expand(shared, &mut addresses);
    assert_eq!(
        (shared.space, shared.kind, addresses[15], addresses[16]),
        (StateSpace::Shared, AccessKind::Load, 120, 0)
    );
    let store = &first(21);
    assert_eq!((store.mask, store.kind), (ActiveMask(0xffff), AccessKind::Store));
}

#[test]
fn wide_operands_take_all_their_registers() {
    let trace = read(&trace_of(&[
        "0000 ffffffff 1 R4 LDG.E.128.SYS 1 R2 16 1 0x1000 16",
        "0010 ffffffff 1 R8 DFMA 3 R4 R6 R8 0",
        "0020 ffffffff 1 R12 IMAD.WIDE 3 R2 R3 R4 0",
        "0030 ffffffff 1 R16 HMMA.16816.F32 3 R4 R10 R16 0",
        "0040 ffffffff 1 R24 LDSM.16.M88.2 1 R20 4 1 0x10000000 16",
        "0050 ffffffff 0 STG.E.64 2 R2 R8 8 1 0x1000 8",
        "0060 ffffffff 1 R1 FADD 2 R255 R3 0",
    ]));
    let code = &trace.code;
    let of = |index: usize| {
        (code.registers(code.insts[index].writes).to_vec(), code.registers(code.insts[index].reads).to_vec())
    };
    assert_eq!(of(0), (vec![4, 5, 6, 7], vec![2, 3]));
    assert_eq!(of(1), (vec![8, 9], vec![4, 5, 6, 7, 8, 9]));
    assert_eq!(of(2), (vec![12, 13], vec![2, 3, 4, 5]));
    assert_eq!(of(3), (vec![16, 17, 18, 19], vec![4, 5, 6, 7, 10, 11, 16, 17, 18, 19]));
    assert_eq!(of(5), (vec![], vec![2, 3, 8, 9]));
    assert_eq!(of(6), (vec![1], vec![3]));
    assert_eq!((code.insts[3].class, code.insts[3].amount), (MachineClass::TensorFp32, 2048));
    let warp = &trace.ctas[0].warps[0];
    let rows = warp.accesses_of(&warp.step(4).expect("it has seven")).next().expect("it reads");
    assert_eq!((rows.mask, rows.element_bytes, rows.elements), (ActiveMask(0xffff), 4, 4));
}

#[test]
fn generic_addresses_find_their_space() {
    let trace = read(&trace_of(&[
        "0000 00000007 1 R4 LD.E 1 R2 4 0 0x10000040 0x20000004 0x30000000",
        "0010 00000000 1 R4 LDG.E 1 R2 4 1 0x0 0",
        "0020 ffffffff 0 DEPBAR.LE 0 0 2",
    ]));
    let warp = &trace.ctas[0].warps[0];
    let [first, second, ..] = warp.steps().collect::<Vec<_>>()[..] else { panic!("three steps") };
    let found: Vec<_> = warp.accesses_of(&first).map(|access| (access.space, access.mask.0)).collect();
    assert_eq!(found, [(StateSpace::Global, 4), (StateSpace::Shared, 1), (StateSpace::Local, 2)]);
    assert_eq!(warp.accesses_of(&second).len(), 0);
    assert_eq!((trace.code.insts[2].class, trace.code.insts[2].amount), (MachineClass::AsyncWait, 2));
}

#[test]
fn mistakes_are_told_with_their_place() {
    let said = |line: &str, expected: &str| assert_eq!(problems(&trace_of(&[line])), [expected], "{line}");
    said("0000 ffffffff 0 TEX.SCR 0 0", "10:17 N111 line 10: no class is known for opcode `TEX.SCR`");
    said("0000 ffffffff 0 HMMA.F32 0 0", "10:17 N113 the shape of `HMMA.F32` is not known");
    said("0000 fffffffff 0 NOP 0 0", "10:6 N121 `fffffffff` is not a mask");
    said("0000 ffffffff 1 X2 NOP 0 0", "10:17 N121 `X2` is not a register");
    said("0000 ffffffff 1 R2 LDG 1", "10:25 N120 the line ends before a register");
    said(
        "0000 ffffffff 1 R2 LDG 1 R2 4 3 0x0",
        "10:31 N121 `3` is not the way in which addresses are given (0, 1 or 2)",
    );
    said("0000 00000003 1 R2 LDG 1 R2 4 0 0x0", "10:36 N120 the line ends before an address");
    said("0000 ffffffff 0 NOP 0 0 1 2", "10:27 N122 `2` stands behind the end of the instruction");
    let replaced = |from: &str, to: &str| problems(&trace_of(&["0000 ffffffff 0 NOP 0 0"]).replace(from, to));
    assert_eq!(replaced("insts = 1", "insts = 2"), ["9:1 N110 1 instructions of these are missing"]);
    assert_eq!(replaced("insts = 1", "insts = 0"), ["10:1 N110 the warp has more instructions than `insts` says"]);
    assert_eq!(replaced("warp = 0", "warp = 1")[0], "8:1 N108 a CTA has 1 warps");
    assert_eq!(replaced("block = 0,0,0", "block = 0,1,0")[0], "7:1 N107 the grid has no such CTA");
    assert_eq!(replaced("#END_TB\n", ""), ["11:1 N105 the last CTA has no `#END_TB`"]);
    assert_eq!(replaced("#BEGIN_TB\n", "")[0], "6:1 N105 this stands outside of a CTA");
    assert!(replaced("(32,1,1)", "(32,64,1)")[0].starts_with("6:1 N104 the header before this has no"));
    assert_eq!(
        replaced("-shmem base_addr", "-accelsim tracer version = 2\n-x")[0],
        "4:1 N103 traces of tracer version 2 are not read"
    );
    assert_eq!(problems(""), ["1:1 N112 the trace has no CTA"]);
}

proptest! {
    #[test]
    fn any_text_is_read_without_a_panic(text in "[-#a-zA-Z0-9= \n,()]{0,300}") {
        let _ = read_sass_trace(&text);
    }

    #[test]
    fn damaged_traces_are_read_without_a_panic(
        edits in prop::collection::vec((0..EXCHANGE.len(), 0..12_usize, "[ -~\n]{0,8}"), 1..8),
    ) {
        let mut text = EXCHANGE.to_owned();
        for (at, length, with) in edits {
            let start = at.min(text.len());
            let end = (start + length).min(text.len());
            text.replace_range(start..end, &with);
        }
        if let Ok(trace) = read_sass_trace(&text) {
            for warp in trace.ctas.iter().flat_map(|cta| cta.warps.iter()) {
                prop_assert!(warp.steps().all(|step| (step.block as usize) < trace.code.blocks.len()));
            }
        }
    }

    #[test]
    fn repeated_and_dropped_lines_are_read_without_a_panic(
        order in prop::collection::vec(0..EXCHANGE.lines().count(), 0..120),
    ) {
        let lines: Vec<&str> = EXCHANGE.lines().collect();
        let text: String = order.into_iter().map(|index| format!("{}\n", lines[index])).collect();
        let _ = read_sass_trace(&text);
    }
}
