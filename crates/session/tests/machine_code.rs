//! Generated machine code against what ptxas makes of the same kernels.
//!
//! `validation/machine_code/counts.csv` holds the instructions of ptxas by class (`count.py` beside it makes them), with
//! loops kept rolled as generated code keeps them. The kernels of `examples` were looked at when the rules were made;
//! those of the other folders only for guarded code and local arrays. `UPDATE=1` rewrites the table of errors in
//! `validation/machine_code.md`, and it is read like code.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use warplens_codegen::{Options, Target, generate};
use warplens_ir::Module;
use warplens_machine::{Reader, Strictness, builtin};
use warplens_trace::MachineClass;

type Counts = BTreeMap<String, u32>;

/// Largest errors by set of kernels and target: mean and worst of the number of instructions, mean by class, in percent.
const BOUNDS: &[(&str, u32, [f64; 3])] = &[
    ("examples", 75, [7.0, 19.0, 14.5]),
    ("examples", 80, [7.5, 26.0, 16.5]),
    ("examples", 90, [8.5, 30.0, 19.0]),
    ("coulomb", 75, [4.5, 20.0, 17.5]),
    ("stream", 80, [5.5, 10.0, 14.0]),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Kernels of ptxas: file, target, name and its counts.
fn of_ptxas() -> BTreeMap<(String, u32, String), Counts> {
    let path = root().join("validation/machine_code/counts.csv");
    let text = std::fs::read_to_string(path).expect("the counts are there");
    let mut kernels: BTreeMap<(String, u32, String), Counts> = BTreeMap::new();
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [ptx, kernel, target, class, count, _version] = fields[..] else { panic!("a row has six fields: {line}") };
        let target = target.parse().expect("a target is a number");
        let counts = kernels.entry((ptx.to_owned(), target, kernel.to_owned())).or_default();
        *counts.entry(class.to_owned()).or_default() += count.parse::<u32>().expect("a count is a number");
    }
    kernels
}

/// The class of the table that an instruction counts for.
fn table_class(class: MachineClass) -> &'static str {
    use MachineClass as C;
    match class {
        C::Fp32Mul => C::Fp32.name(),
        C::Branch | C::Exit | C::Nop => "control",
        C::Reduction => C::Atomic.name(),
        C::BarrierArrive => C::Barrier.name(),
        other => other.name(),
    }
}

fn gpu(target: u32) -> &'static str {
    match target {
        75 => "t4",
        80 => "a100-80",
        90 => "h200",
        _ => panic!("no GPU is named for sm_{target}"),
    }
}

/// The module of a file, with its loops kept rolled.
fn module(path: &Path) -> Module {
    let text = std::fs::read_to_string(path).expect("the PTX is there");
    let mut module = warplens_ptx::load(&text).0.expect("the PTX is valid");
    module.blocks.iter_mut().for_each(|(_, block)| block.stays_rolled = true);
    module
}

fn counts(module: &Module, kernel: &str, gpu: &str) -> Counts {
    let machine = builtin::machine(gpu).expect("the GPU is built in").expect("its file is valid");
    let mut reader = Reader::new(&machine, Strictness::AllowInferred);
    let id = module.function_named(kernel).expect("the kernel is there");
    let target = Target::read(module, id, &mut reader).expect("the machine says what its operations become");
    let generated = generate(module, id, &target, Options::default()).expect("the kernel fits");
    let mut counts = Counts::new();
    for inst in &generated.code.insts {
        *counts.entry(table_class(inst.class).to_owned()).or_default() += 1;
    }
    counts
}

/// Error of the number of instructions, and sum of the errors by class, both over the number that ptxas makes.
fn errors(ours: &Counts, theirs: &Counts) -> (f64, f64) {
    let total = |counts: &Counts| counts.values().sum::<u32>();
    let apart: u32 = ours
        .keys()
        .chain(theirs.keys().filter(|class| !ours.contains_key(*class)))
        .map(|class| {
            let of = |counts: &Counts| counts.get(class).copied().unwrap_or(0);
            of(ours).abs_diff(of(theirs))
        })
        .sum();
    let (n, reference) = (f64::from(total(ours)), f64::from(total(theirs)));
    ((n - reference) / reference * 100.0, f64::from(apart) / reference * 100.0)
}

fn set_of(ptx: &str) -> &str {
    ptx.strip_prefix("validation/").unwrap_or(ptx).split('/').next().unwrap_or(ptx)
}

#[test]
fn instructions_are_as_many_as_ptxas_makes() {
    let mut modules: BTreeMap<String, Module> = BTreeMap::new();
    let mut sets: BTreeMap<(String, u32), Vec<(f64, f64)>> = BTreeMap::new();
    let mut rows = String::new();
    for ((ptx, target, kernel), theirs) in of_ptxas() {
        let module = modules.entry(ptx.clone()).or_insert_with(|| module(&root().join(&ptx)));
        let ours = counts(module, &kernel, gpu(target));
        let (total, by_class) = errors(&ours, &theirs);
        sets.entry((set_of(&ptx).to_owned(), target)).or_default().push((total, by_class));
        let sum = |counts: &Counts| counts.values().sum::<u32>();
        let _ = writeln!(
            rows,
            "| {} | {kernel} | sm_{target} | {} | {} | {total:+.1} | {by_class:.1} |",
            set_of(&ptx),
            sum(&theirs),
            sum(&ours)
        );
    }
    let mut summary = String::new();
    for ((set, target), errors) in &sets {
        let n = errors.len() as f64;
        let mean = errors.iter().map(|(total, _)| total.abs()).sum::<f64>() / n;
        let worst = errors.iter().map(|(total, _)| total.abs()).fold(0.0, f64::max);
        let by_class = errors.iter().map(|(_, by_class)| by_class).sum::<f64>() / n;
        let _ =
            writeln!(summary, "| {set} | sm_{target} | {} | {mean:.1} | {worst:.1} | {by_class:.1} |", errors.len());
        let (.., bounds) = BOUNDS
            .iter()
            .find(|(name, of, _)| name == set && of == target)
            .unwrap_or_else(|| panic!("no bound for {set} on sm_{target}"));
        for (value, bound) in [mean, worst, by_class].into_iter().zip(bounds) {
            assert!(value <= *bound, "{set} on sm_{target}: {value:.1} % is more than {bound} %\n{rows}");
        }
    }
    assert_eq!(sets.len(), BOUNDS.len(), "every set is there");
    println!("{summary}\n{rows}");
    hold("validation/machine_code.md", &page(&summary, &rows));
}

fn page(summary: &str, rows: &str) -> String {
    format!(
        "# Generated machine code against ptxas\n\n\
         Instructions that the code generator makes of a kernel (`warplens dev code`) against those of ptxas 13.5, counted \
         by [machine_code/count.py](machine_code/count.py) with loops kept rolled, in the order of the text and not \
         weighted by how often they run.\n\
         Errors in percent: of the number of instructions, and of the sum of the differences by class (classes as in the \
         code, branches, exits and the opening and closing of divergent regions as one).\n\
         What is left is mostly copies that ptxas needs around rolled loops, and values that it computes once per warp.\n\n\
         | Kernels | Target | Number | Mean error | Worst | By class |\n|---|---|---|---|---|---|\n{summary}\n\
         ## Kernels\n\n\
         | Kernels | Kernel | Target | ptxas | Generated | Error | By class |\n|---|---|---|---|---|---|---|\n{rows}"
    )
}

fn hold(path: &str, text: &str) {
    let path = root().join(path);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, text).expect("the table can be written");
    }
    let held = std::fs::read_to_string(&path).expect("the table is there; UPDATE=1 writes it");
    let differs = held.lines().zip(text.lines()).find(|(held, now)| held != now);
    assert_eq!(differs, None, "the table differs; UPDATE=1 rewrites it");
    assert!(held == text, "the table has another length; UPDATE=1 rewrites it");
}

/// A kernel with one instruction between loads and a store, so that nothing but it can be told from the empty one.
fn kernel_with(line: &str) -> String {
    format!(
        ".version 8.5\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n\
         .reg .f32 %f<8>; .reg .f64 %d<8>; .reg .b32 %r<8>; .reg .b64 %l<8>; .reg .pred %p<4>;\n\
         ld.param.u64 %l0, [p];\n\
         ld.global.f32 %f1, [%l0]; ld.global.f32 %f2, [%l0+4]; ld.global.f32 %f3, [%l0+8];\n\
         ld.global.f64 %d1, [%l0+16]; ld.global.f64 %d2, [%l0+24]; ld.global.u32 %r1, [%l0+32];\n\
         ld.global.u32 %r2, [%l0+36]; ld.global.u32 %r3, [%l0+40]; ld.global.u64 %l1, [%l0+48];\n\
         ld.global.u64 %l2, [%l0+56];\n\
         {line}\n\
         st.global.f32 [%l0+64], %f1; st.global.f32 [%l0+68], %f2; st.global.f32 [%l0+72], %f3;\n\
         st.global.f64 [%l0+80], %d1; st.global.f64 [%l0+88], %d2; st.global.u32 [%l0+96], %r1;\n\
         st.global.u32 [%l0+100], %r2; st.global.u32 [%l0+104], %r3; st.global.u64 [%l0+112], %l1;\n\
         st.global.u64 [%l0+120], %l2;\nret;\n}}\n"
    )
}

/// Instruction, GPU, classes that it adds.
const OPERATIONS: &[(&str, &str, &str)] = &[
    ("add.f32 %f1, %f1, %f2;", "h200", "fp32"),
    ("mul.f32 %f1, %f1, %f2;", "h200", "fp32"),
    ("fma.rn.f32 %f1, %f1, %f2, %f3;", "gtx280", "fp32"),
    ("neg.f32 %f4, %f2; add.f32 %f1, %f1, %f4;", "h200", "fp32"),
    ("add.f64 %d1, %d1, %d2;", "a100-80", "fp64"),
    ("add.s32 %r1, %r1, %r2;", "t4", "int"),
    ("add.s64 %l1, %l1, %l2;", "t4", "int int"),
    ("add.s32 %r4, %r1, %r2; add.s32 %r1, %r4, %r3;", "h200", "int"),
    ("and.b32 %r4, %r1, %r2; or.b32 %r5, %r4, %r3; xor.b32 %r1, %r5, %r2;", "h200", "int"),
    ("mul.lo.s32 %r1, %r1, %r2;", "h200", "int_mul"),
    ("mul.lo.s32 %r1, %r1, %r2;", "gtx280", "int int int int"),
    ("mul24.lo.s32 %r1, %r1, %r2;", "gtx280", "int"),
    ("mul.lo.s32 %r1, %r1, %r2;", "gtx1080", "int int int"),
    ("mul.lo.s32 %r4, %r1, %r2; add.s32 %r1, %r4, %r3;", "h200", "int_mul"),
    ("mul.wide.s32 %l3, %r1, %r2; add.s64 %l1, %l3, %l2;", "h200", "int_mul"),
    ("mul.lo.s64 %l1, %l1, %l2;", "a100-80", "int int_mul int_mul int_mul"),
    ("shl.b32 %r4, %r1, 3; add.s32 %r1, %r4, %r2;", "a100-80", "int"),
    ("div.approx.ftz.f32 %f1, %f1, %f2;", "a100-80", "fp32 sfu"),
    ("div.full.f32 %f1, %f1, %f2;", "gtx280", "fp32 sfu"),
    ("div.rn.f32 %f1, %f1, %f2;", "a100-80", "control fp32 fp32 fp32 fp32 fp32 sfu sfu"),
    ("ex2.approx.ftz.f32 %f1, %f1;", "a100-80", "sfu"),
    ("rsqrt.approx.f32 %f1, %f1;", "a100-80", "fp32 fp32 fp32 sfu"),
    ("cvt.rn.f32.s32 %f1, %r1;", "h200", "int"),
    ("cvt.rzi.s32.f32 %r1, %f1;", "h200", "convert"),
    ("cvt.s64.s32 %l3, %r1; mul.lo.s64 %l1, %l1, %l3;", "a100-80", "int int int_mul int_mul int_mul"),
    ("cvt.u64.u32 %l3, %r1; add.s64 %l1, %l1, %l3;", "h200", "int int"),
    ("popc.b32 %r1, %r1;", "h200", "convert"),
    ("setp.lt.s32 %p1, %r1, %r2; selp.b32 %r1, %r2, %r3, %p1;", "h200", "int int"),
    ("mov.u32 %r1, %ntid.x;", "a100-80", "move"),
    ("mov.u32 %r1, %tid.x;", "a100-80", "move"),
    ("shfl.sync.bfly.b32 %r1, %r1, 1, 31, -1;", "h200", "shuffle"),
    ("vote.sync.ballot.b32 %r1, %p1, -1;", "h200", "vote"),
    ("bar.sync 0;", "h200", "barrier"),
    ("membar.gl;", "h200", "fence"),
    ("red.global.add.f32 [%l0], %f1;", "h200", "atomic"),
    ("mov.u32 %r4, %r1; mov.u32 %r1, %r4;", "h200", ""),
];

#[test]
fn operations_become_these_instructions() {
    for &(line, gpu, expected) in OPERATIONS {
        let of = |line: &str| {
            let module = warplens_ptx::load(&kernel_with(line)).0.unwrap_or_else(|| panic!("`{line}` is valid"));
            counts(&module, "k", gpu)
        };
        let (with, without) = (of(line), of(""));
        let mut added = Vec::new();
        for (class, &count) in &with {
            // Instructions that an operation makes superfluous (a load whose value it does not use) count for nothing.
            let more = count.saturating_sub(without.get(class).copied().unwrap_or(0));
            added.extend((0..more).map(|_| class.as_str()));
        }
        assert_eq!(added.join(" "), expected, "{line} on {gpu}");
    }
}
