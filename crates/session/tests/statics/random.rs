//! Random integer code on thread and block indices, with branches, loops, calls and exits: whatever it computes, what is
//! counted without a run is what the emulator counts, block for block.

use std::fmt::Write as _;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use warplens_launch::Launch;
use warplens_session::profile::Profile;
use warplens_session::statics::Given;
use warplens_session::{DEFAULT_BUDGET, Program};

use crate::{comparable, counted, run};

const CASES: u32 = 300;
/// Registers %r0 to %r9 hold values; the first are indices and their like.
const REGISTERS: usize = 10;

/// An operation on registers and a number.
#[derive(Clone, Debug)]
struct Operation {
    kind: usize,
    to: usize,
    from: [usize; 2],
    number: u32,
}

fn operation() -> impl Strategy<Value = Operation> {
    (0usize..33, 4..REGISTERS, [0..REGISTERS, 0..REGISTERS], 1u32..100).prop_map(|(kind, to, from, number)| Operation {
        kind,
        to,
        from,
        number,
    })
}

impl Operation {
    fn write(&self, text: &mut String, at: usize) {
        let Self { kind, to, from: [a, b], number } = *self;
        let (small, mask) = (number % 7, [1u32, 3, 31, 63, 127, 1023, 0xffff_fff0, 5][number as usize % 8]);
        let line = match kind {
            0 => format!("add.s32 %r{to}, %r{a}, %r{b};"),
            1 => format!("sub.s32 %r{to}, %r{a}, %r{b};"),
            2 => format!("mul.lo.s32 %r{to}, %r{a}, {number};"),
            3 => format!("mad.lo.s32 %r{to}, %r{a}, {number}, %r{b};"),
            4 => format!("mad.lo.s32 %r{to}, %r{a}, %r{b}, %r1;"),
            5 => format!("shl.b32 %r{to}, %r{a}, {small};"),
            6 => format!("shr.u32 %r{to}, %r{a}, {small};"),
            7 => format!("shr.s32 %r{to}, %r{a}, {small};"),
            8 => format!("and.b32 %r{to}, %r{a}, {mask};"),
            9 => format!("or.b32 %r{to}, %r{a}, {small};"),
            10 => format!("xor.b32 %r{to}, %r{a}, %r{b};"),
            11 => format!("div.u32 %r{to}, %r{a}, {number};"),
            12 => format!("rem.u32 %r{to}, %r{a}, {number};"),
            13 => format!("rem.s32 %r{to}, %r{a}, {number};"),
            14 => format!("div.s32 %r{to}, %r{a}, {number};"),
            15 => format!("min.s32 %r{to}, %r{a}, %r{b};"),
            16 => format!("max.u32 %r{to}, %r{a}, {number};"),
            17 => format!("neg.s32 %r{to}, %r{a};"),
            18 => format!("mul.wide.s32 %rd4, %r{a}, {number};\ncvt.u32.u64 %r{to}, %rd4;"),
            19 => format!("cvt.s64.s32 %rd4, %r{a};\nshr.s64 %rd4, %rd4, {small};\ncvt.u32.u64 %r{to}, %rd4;"),
            20 => format!("setp.lt.s32 %p1, %r{a}, {number};\nselp.b32 %r{to}, %r{a}, %r{b}, %p1;"),
            21 => format!("setp.hi.u32 %p1, %r{a}, %r{b};\n@%p1 add.s32 %r{to}, %r{to}, {number};"),
            22 => format!("setp.ne.s32 %p1, %r{a}, %r{b};\n@%p1 bra L{at};\nadd.s32 %r{to}, %r{a}, {number};\nL{at}:"),
            24 => format!("call (%r{to}), early, (%r{a}, %r{b});"),
            25 => format!("setp.gt.s32 %p1, %r{a}, {number};\n@%p1 call (%r{to}), early, (%r{b}, %r{a});"),
            26 => format!("mov.u64 %rd5, early;\ncall (%r{to}), %rd5, (%r{b}, %r{to}), proto;"),
            27 => format!("setp.eq.s32 %p1, %r{a}, {number};\n@%p1 exit;"),
            28 => format!("setp.lt.s32 %p1, %r{a}, {small};\n@%p1 ret;"),
            29 => format!(
                "and.b32 %r10, %r{a}, 1;\nC{at}: .branchtargets A{at}, B{at};\nbrx.idx %r10, C{at};\n\
                 A{at}:\nadd.s32 %r{to}, %r{b}, {number};\nB{at}:"
            ),
            30 => format!("setp.gt.s32 %p1, %r{a}, %r{b};\n@%p1 call (%r{to}), loops, (%r{a});"),
            31 => format!(
                "setp.ne.s32 %p1, %r{a}, {small};\n@%p1 bra E{at};\nsetp.lt.s32 %p2, %r{b}, {number};\n\
                 @%p2 bra F{at};\nadd.s32 %r{to}, %r{b}, 1;\nbra G{at};\nE{at}:\ncall (%r{to}), early, (%r{b}, %r{a});\n\
                 bra G{at};\nF{at}:\nsetp.eq.s32 %p1, %r{b}, 2;\n@%p1 exit;\nG{at}:"
            ),
            _ => format!(
                "and.b32 %r10, %r{a}, 3;\nT{at}:\nadd.s32 %r{to}, %r{to}, {number};\nsub.s32 %r10, %r10, 1;\n\
                 setp.ge.s32 %p1, %r10, 0;\n@%p1 bra T{at};"
            ),
        };
        writeln!(text, "{line}").expect("a string takes everything");
    }
}

/// Functions whose lanes return at different times; one calls the other from inside of a loop.
const FUNCTIONS: &str = "\
.func (.reg .u32 %result) early(.reg .u32 %x, .reg .u32 %y)
{
    .reg .pred %p;
    .reg .u32 %n;
    setp.lt.s32 %p, %x, 5;
    mov.u32 %result, %y;
    @%p ret;
    and.b32 %n, %y, 3;
AGAIN:
    add.s32 %result, %result, %x;
    setp.eq.s32 %p, %n, 0;
    @%p ret;
    sub.s32 %n, %n, 1;
    bra AGAIN;
}
.func (.reg .u32 %result) loops(.reg .u32 %x)
{
    .reg .pred %p;
    .reg .u32 %n;
    and.b32 %n, %x, 3;
    mov.u32 %result, %x;
TURN:
    setp.gt.s32 %p, %n, 1;
    @%p call (%result), early, (%n, %x);
    setp.eq.s32 %p, %result, 17;
    @%p exit;
    sub.s32 %n, %n, 1;
    setp.ge.s32 %p, %n, 0;
    @%p bra TURN;
    ret;
}
";

fn kernel(operations: &[Operation], loaded: usize, stored: usize) -> String {
    let mut text = format!(".version 7.8\n.target sm_80\n.address_size 64\n{FUNCTIONS}");
    text.push_str(
        ".visible .entry k(.param .u64 a)\n{\n\
         proto: .callprototype (.reg .u32 _) _ (.reg .u32 _, .reg .u32 _);\n.reg .pred %p<4>;\n.reg .u32 %r<16>;\n.reg .u64 %rd<8>;\n\
         mov.u32 %r0, %tid.x;\nmov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ctaid.y;\nmov.u32 %r3, %ntid.x;\n\
         mad.lo.s32 %r4, %r1, %r3, %r0;\nmad.lo.s32 %r5, %r2, 100, %r4;\nmov.u32 %r6, 7;\nmov.u32 %r7, %r1;\n\
         mov.u32 %r8, %r0;\nmov.u32 %r9, 1000;\nld.param.u64 %rd1, [a];\n",
    );
    operations.iter().enumerate().for_each(|(at, operation)| operation.write(&mut text, at));
    let access = |text: &mut String, register: usize, what: &str| {
        writeln!(
            text,
            "and.b32 %r11, %r{register}, 4095;\nmul.wide.u32 %rd2, %r11, 4;\nadd.s64 %rd3, %rd1, %rd2;\n{what}"
        )
        .expect("a string takes everything");
    };
    access(&mut text, loaded, "ld.global.u32 %r12, [%rd3];");
    access(&mut text, stored, "st.global.u32 [%rd3], %r0;");
    text + "ret;\n}\n"
}

#[test]
fn random_index_arithmetic_is_counted_as_it_runs() {
    let strategy = (
        prop::collection::vec(operation(), 1..10),
        0..REGISTERS,
        0..REGISTERS,
        (1u32..30, 1u32..3),
        prop::sample::select(vec![32u32, 40, 64]),
    );
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, rng);
    let result = runner.run(&strategy, |(operations, loaded, stored, (x, y), block)| {
        let ptx = kernel(&operations, loaded, stored);
        let program = Program::from_ptx("k", ptx.clone()).expect("the kernel is PTX");
        let launch = format!("grid = [{x}, {y}]\nblock = {block}\nargs = [\"u32[4096]\"]");
        let launches = Launch::parse_file("launch", &launch).expect("the launch is fine");
        let run = run(&program, &launches, DEFAULT_BUDGET).expect("the kernel runs");
        let counted = counted(&program, &launches, &Given::default(), DEFAULT_BUDGET).expect("nothing is unknown");
        let statics = counted.statics.as_ref().expect("the counts are static");
        prop_assert!(statics.bounds.is_empty(), "{:?}", statics.bounds);
        // Random CTAs may store to the same words, which a run finds and a count without one does not look for.
        let counted =
            Profile { order_dependent: counted.profile.order_dependent || run.race.is_some(), ..counted.profile };
        prop_assert_eq!(comparable(&counted), comparable(&run.profile), "{}\n{}", launch, ptx);
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}
