//! Random kernels: a thread computes the same as a lane of a full warp, as a lane of a warp in which others are off, and
//! alone in its block.

use std::fmt::Write as _;

use proptest::prelude::{ProptestConfig, any, prop_assert_eq, proptest};
use warplens_launch::Launch;
use warplens_session::{ExecutionOptions, Extent, Generation, OutputRequest, Program, Progress, run};

use crate::expectation::describe;

/// Threads of a run: two warps, the second one not full.
const THREADS: usize = 61;
/// 32-bit registers, 64-bit registers.
const WORDS: usize = 6;
const PAIRS: usize = 3;
/// Words that a thread leaves: its registers and its memory.
const RESULT_WORDS: usize = 32;

/// Makes a kernel from a list of choices. Without choices left it makes nothing more, so a shorter list is a smaller
/// kernel.
struct Generator<'c> {
    choices: std::slice::Iter<'c, u8>,
    text: String,
    n_labels: usize,
    /// Loops around the place, by label number.
    loops: Vec<usize>,
}

impl Generator<'_> {
    fn is_over(&self) -> bool {
        self.choices.len() == 0
    }

    /// A number below `n`.
    fn choose(&mut self, n: usize) -> usize {
        usize::from(self.choices.next().copied().unwrap_or(0)) % n
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.choose(from.len())]
    }

    fn word(&mut self) -> String {
        format!("%r{}", self.choose(WORDS))
    }

    fn pair(&mut self) -> String {
        format!("%d{}", self.choose(PAIRS))
    }

    /// A 32-bit operand.
    fn operand(&mut self) -> String {
        match self.choose(6) {
            0 => self.pick(&["0", "1", "31", "-1", "0x80000000", "12345"]).to_owned(),
            1 => "%t".to_owned(),
            _ => self.word(),
        }
    }

    fn predicate(&mut self) -> &'static str {
        self.pick(&["%p0", "%p1", "%p2", "%p3"])
    }

    fn guard(&mut self) -> String {
        match self.choose(8) {
            0 | 1 => format!("@{} ", self.predicate()),
            2 => format!("@!{} ", self.predicate()),
            _ => String::new(),
        }
    }

    fn emit(&mut self, line: &str) {
        writeln!(self.text, "{line}").expect("a string takes all");
    }

    fn label(&mut self) -> usize {
        self.n_labels += 1;
        self.n_labels
    }

    fn block(&mut self, depth: usize) {
        for _ in 0..1 + self.choose(6) {
            if self.is_over() {
                return;
            }
            self.statement(depth);
        }
    }

    fn statement(&mut self, depth: usize) {
        match self.choose(if depth < 3 { 16 } else { 11 }) {
            0..=3 => self.arithmetic(),
            4 => self.wide_arithmetic(),
            5 | 6 => self.compare(),
            7 => self.select(),
            8 => self.memory(),
            9 => self.exchange_parts(),
            10 => self.leave(),
            11 | 12 => self.if_else(depth),
            13 => self.repeat(depth),
            14 => self.table(depth),
            _ => self.call(),
        }
    }

    fn arithmetic(&mut self) {
        let guard = self.guard();
        let binary = [
            "add.u32",
            "sub.u32",
            "mul.lo.u32",
            "mul.hi.s32",
            "and.b32",
            "or.b32",
            "xor.b32",
            "shl.b32",
            "shr.u32",
            "shr.s32",
            "min.s32",
            "max.u32",
            "add.sat.s32",
            "div.u32",
            "rem.s32",
        ];
        let (d, a, b) = (self.word(), self.operand(), self.operand());
        let line = match self.choose(6) {
            0 => format!(
                "{} {d}, {a};",
                self.pick(&["popc.b32", "clz.b32", "brev.b32", "not.b32", "abs.s32", "bfind.u32"])
            ),
            1 => {
                let c = self.operand();
                format!("{} {d}, {a}, {b}, {c};", self.pick(&["mad.lo.u32", "prmt.b32", "bfe.s32", "sad.u32"]))
            }
            _ => format!("{} {d}, {a}, {b};", self.pick(&binary)),
        };
        self.emit(&format!("{guard}{line}"));
    }

    fn wide_arithmetic(&mut self) {
        let guard = self.guard();
        let (d, a, b) = (self.pair(), self.pair(), self.pair());
        let (word, other) = (self.word(), self.operand());
        let line = match self.choose(5) {
            0 => format!("mad.wide.s32 {d}, {word}, {other}, {a};"),
            1 => format!("cvt.s64.s32 {d}, {word};"),
            2 => format!("cvt.u32.u64 {word}, {a};"),
            3 => format!("shr.s64 {d}, {a}, {other};"),
            _ => format!("{} {d}, {a}, {b};", self.pick(&["add.u64", "sub.s64", "mul.lo.s64", "xor.b64", "min.u64"])),
        };
        self.emit(&format!("{guard}{line}"));
    }

    fn compare(&mut self) {
        let guard = self.guard();
        let (p, q, c) = (self.predicate(), self.predicate(), self.predicate());
        let op = self.pick(&["eq.u32", "ne.s32", "lt.s32", "ge.u32", "hi.u32"]);
        let (a, b) = (self.operand(), self.operand());
        let line = match self.choose(3) {
            0 if p != q => {
                let (compare, ty) = op.split_once('.').expect("an operator has a type");
                format!("setp.{compare}.{}.{ty} {p}|{q}, {a}, {b}, {c};", self.pick(&["and", "or", "xor"]))
            }
            _ => format!("setp.{op} {p}, {a}, {b};"),
        };
        self.emit(&format!("{guard}{line}"));
    }

    fn select(&mut self) {
        let (d, a, b, p) = (self.word(), self.operand(), self.operand(), self.predicate());
        match self.choose(3) {
            0 => self.emit(&format!("{} {p}, {p}, {};", "xor.pred", ["%p0", "%p1"][usize::from(p == "%p0")])),
            _ => self.emit(&format!("selp.u32 {d}, {a}, {b}, {p};")),
        }
    }

    /// A load from or a store to memory that the thread has to itself.
    fn memory(&mut self) {
        let (guard, value, index) = (self.guard(), self.word(), self.word());
        self.emit(&format!("and.b32 %i, {index}, 7;"));
        let (address, space) = if self.choose(2) == 0 {
            self.emit("mad.wide.u32 %a, %i, 4, %own;");
            ("[%a]", "global")
        } else {
            self.emit("mov.u32 %l, local;");
            self.emit("mad.lo.u32 %l, %i, 4, %l;");
            ("[%l]", "local")
        };
        let ty = self.pick(&["u32", "u32", "u8", "s16"]);
        let line = match self.choose(2) {
            0 => format!("st.{space}.{} {address}, {value};", ty.replace('s', "u")),
            _ => format!("ld.{space}.{ty} {value}, {address};"),
        };
        self.emit(&format!("{guard}{line}"));
    }

    fn exchange_parts(&mut self) {
        let (d, a, b) = (self.pair(), self.word(), self.word());
        match self.choose(2) {
            0 => self.emit(&format!("mov.b64 {d}, {{{a}, {b}}};")),
            _ if a != b => self.emit(&format!("mov.b64 {{{a}, {b}}}, {d};")),
            _ => {}
        }
    }

    /// A jump out of the loop or to its next turn, or the end of the thread.
    fn leave(&mut self) {
        let (p, kind) = (self.predicate(), self.choose(12));
        match (self.loops.last().copied(), kind) {
            (_, 0) => self.emit(&format!("@{p} bra FINISH;")),
            (_, 1) => self.emit(&format!("@!{p} exit;")),
            (Some(label), 2..=6) => self.emit(&format!("@{p} bra NEXT{label};")),
            (Some(label), _) => self.emit(&format!("@{p} bra DONE{label};")),
            (None, _) => {}
        }
    }

    fn if_else(&mut self, depth: usize) {
        let (label, p) = (self.label(), self.predicate());
        let has_else = self.choose(2) == 0;
        self.emit(&format!("@!{p} bra ELSE{label};"));
        self.block(depth + 1);
        if has_else {
            self.emit(&format!("bra END{label};"));
        }
        self.emit(&format!("ELSE{label}:"));
        if has_else {
            self.block(depth + 1);
            self.emit(&format!("END{label}:"));
        }
    }

    fn repeat(&mut self, depth: usize) {
        let (label, count) = (self.label(), self.operand());
        // Nothing else writes the counter of a loop.
        let counter = format!("%c{}", self.loops.len());
        self.emit(&format!("and.b32 {counter}, {count}, 7;"));
        self.emit(&format!("LOOP{label}:"));
        self.emit(&format!("setp.eq.u32 %q, {counter}, 0;"));
        self.emit(&format!("@%q bra DONE{label};"));
        self.emit(&format!("sub.u32 {counter}, {counter}, 1;"));
        self.loops.push(label);
        self.block(depth + 1);
        self.loops.pop();
        self.emit(&format!("NEXT{label}:"));
        self.emit(&format!("bra LOOP{label};"));
        self.emit(&format!("DONE{label}:"));
    }

    fn table(&mut self, depth: usize) {
        let (label, index) = (self.label(), self.operand());
        self.emit(&format!("and.b32 %i, {index}, 3;"));
        self.emit(&format!("T{label}: .branchtargets A{label}, B{label}, END{label}, A{label};"));
        let guard = self.guard();
        self.emit(&format!("{guard}brx.idx %i, T{label};"));
        for name in ["A", "B"] {
            self.emit(&format!("{name}{label}:"));
            self.block(depth + 1);
            if self.choose(2) == 0 {
                self.emit(&format!("bra END{label};"));
            }
        }
        self.emit(&format!("END{label}:"));
    }

    fn call(&mut self) {
        let (guard, d, a, b) = (self.guard(), self.word(), self.word(), self.operand());
        self.emit(&format!("{guard}call ({d}), mix, ({a}, {b});"));
    }
}

const FUNCTION: &str = "
.version 8.8 .target sm_90 .address_size 64
.func (.reg .u32 result) mix(.reg .u32 a, .reg .u32 b)
{
    .reg .pred %p;
    .reg .b32 %n, %small;
    mov.u32 result, a;
    and.b32 %n, b, 3;
AGAIN:
    mad.lo.u32 result, result, 5, b;
    and.b32 %small, result, 8;
    setp.ne.u32 %p, %small, 0;
    @%p ret;
    setp.eq.u32 %p, %n, 0;
    @%p bra OUT;
    sub.u32 %n, %n, 1;
    and.b32 %small, result, 16;
    setp.eq.u32 %p, %small, 0;
    @%p bra AGAIN;
    call (result), mix, (result, %n);
OUT:
    ret;
}
.visible .entry kernel(.param .u64 out, .param .u32 off)
{
    .reg .pred %p<4>, %q;
    .reg .b32 %r<6>, %c<4>, %t, %i, %l;
    .reg .b64 %d<3>, %own, %a;
    .local .align 8 .b8 local[32];
    mov.u32 %t, %tid.x;
    mov.u32 %r0, %ctaid.x;
    mov.u32 %r1, %ntid.x;
    mad.lo.u32 %t, %r0, %r1, %t;
    ld.param.u64 %own, [out];
    mad.wide.u32 %own, %t, 128, %own;
    ld.param.u32 %r0, [off];
    mad.lo.u32 %r1, %t, 0x9e3779b9, 12345;
    shr.u32 %r2, %r1, 28;
    and.b32 %r2, %r2, %r0;
    setp.ne.u32 %q, %r2, 0;
    @%q exit;
    mov.u32 %r0, %t;
    shr.u32 %r2, %r1, 7;
    xor.b32 %r3, %r1, %r2;
    mul.lo.u32 %r4, %r3, %r3;
    and.b32 %r5, %t, 3;
    mul.wide.u32 %d0, %r1, %r3;
    cvt.s64.s32 %d1, %r4;
    mov.b64 %d2, {%r0, %r5};
    setp.lt.u32 %p0, %t, 13;
    setp.lt.s32 %p1, %r1, 0;
    setp.eq.u32 %p2, %r5, 2;
    setp.ge.u32 %p3, %t, 0;
    st.local.v4.u32 [local], {%r1, %r2, %r3, %r4};
    st.local.v4.u32 [local+16], {%r4, %r3, %r2, %r1};
";

const FINISH: &str = "
FINISH:
    st.global.v4.u32 [%own+32], {%r0, %r1, %r2, %r3};
    st.global.v2.u32 [%own+48], {%r4, %r5};
    st.global.v2.u64 [%own+64], {%d0, %d1};
    st.global.u64 [%own+80], %d2;
    selp.u32 %r0, 1, 0, %p0;
    selp.u32 %r1, 2, 0, %p1;
    selp.u32 %r2, 4, 0, %p2;
    selp.u32 %r3, 8, 0, %p3;
    add.u32 %r0, %r0, %r1;
    add.u32 %r2, %r2, %r3;
    add.u32 %r0, %r0, %r2;
    st.global.u32 [%own+88], %r0;
    ld.local.v4.u32 {%r0, %r1, %r2, %r3}, [local];
    st.global.v4.u32 [%own+96], {%r0, %r1, %r2, %r3};
    ld.local.v4.u32 {%r0, %r1, %r2, %r3}, [local+16];
    st.global.v4.u32 [%own+112], {%r0, %r1, %r2, %r3};
    ret;
}
";

fn kernel(choices: &[u8]) -> String {
    let mut generator = Generator { choices: choices.iter(), text: FUNCTION.into(), n_labels: 0, loops: Vec::new() };
    while !generator.is_over() {
        generator.statement(0);
    }
    generator.text + FINISH
}

/// What each thread leaves. `off` says which bits of a thread's hash switch it off.
fn execute(program: &Program, grid: usize, block: usize, off: u32) -> Vec<Vec<u32>> {
    let words = THREADS.max(grid * block) * RESULT_WORDS;
    let launch = format!("grid = {grid}\nblock = {block}\nargs = [\"u32[{words}]\", {off}]");
    let launch = Launch::parse_file("launch", &launch).unwrap();
    let options = ExecutionOptions {
        threads: 1,
        budget: 1_000_000,
        launch_budget: u64::MAX,
        walk_budget: u64::MAX,
        allow_unsupported: false,
        allow_overreads: false,
        extent: Extent::Full,
        full_limit: warplens_session::FULL_LIMIT,
        alike_limit: u64::MAX,
        statics: None,
        traced_for: Vec::new(),
        trace_limits: warplens_session::TraceLimits::default(),
        generations: vec![Generation::Threads],
    };
    let request = OutputRequest { key: "0".into(), count: None };
    let result = run(program, &launch, &[request], options, &Progress::default());
    let result = result.unwrap_or_else(|error| panic!("{}\n{}", describe(&error), program.ptx));
    let bytes = &result.outputs[0].bytes;
    let words: Vec<u32> = bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
    words.chunks(RESULT_WORDS).take(THREADS).map(<[u32]>::to_vec).collect()
}

fn is_off(thread: usize, off: u32) -> bool {
    (thread as u32).wrapping_mul(0x9e37_79b9).wrapping_add(12345) >> 28 & off != 0
}

/// `PROPTEST_CASES` asks for more kernels.
fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(300);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn threads_compute_the_same_in_any_company(choices in proptest::collection::vec(any::<u8>(), 0..1200)) {
        let text = kernel(&choices);
        let program = Program::from_ptx("random", text).unwrap_or_else(|error| panic!("{}", describe(&error)));
        let alone = execute(&program, THREADS, 1, 0);
        let together = execute(&program, 1, THREADS, 0);
        for (thread, (alone, together)) in alone.iter().zip(&together).enumerate() {
            prop_assert_eq!(alone, together, "thread {} of\n{}", thread, &program.ptx);
        }
        let few = execute(&program, 1, THREADS, 0b0101);
        for (thread, (alone, few)) in alone.iter().zip(&few).enumerate() {
            if !is_off(thread, 0b0101) {
                prop_assert_eq!(alone, few, "thread {} among few of\n{}", thread, &program.ptx);
            }
        }
    }
}

#[test]
fn random_kernels_are_not_trivial() {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    let choices: Vec<u8> = (0..4000).map(|_| next()).collect();
    let text = kernel(&choices);
    for part in ["LOOP", "brx.idx", "call (", "ELSE", "st.local", "ld.global", "@!%p", "mad.wide", "FINISH;", "exit"] {
        assert!(text.matches(part).count() > 1, "{part} in\n{text}");
    }
}
