//! Instructions with known results, all the way from their text to the emulator.
//!
//! The results are those that the PTX assembler of CUDA 13 folded the instructions to, of which the tests of `semantics` use
//! the same list; and those of a GPU, where the manual leaves them open or machine code differs from it.

use std::fmt::Write as _;

use warplens_launch::Launch;
use warplens_session::{ExecutionOptions, Extent, Generation, OutputRequest, Program, Progress, run};

use crate::expectation::describe;

const VECTORS: [&str; 2] = [
    include_str!("../../../exec/tests/semantics/vectors.txt"),
    include_str!("../../../exec/tests/semantics/hardware.txt"),
];

struct Vector {
    line: &'static str,
    name: &'static str,
    operands: Vec<&'static str>,
    result: u64,
}

fn vectors() -> Vec<Vector> {
    let lines = VECTORS.iter().flat_map(|list| list.lines()).filter(|line| !line.starts_with('#'));
    let parse = |line: &'static str| {
        let (instruction, result) = line.split_once(" = ").unwrap();
        let mut words = instruction.split(' ');
        let name = words.next().unwrap();
        Vector { line, name, operands: words.collect(), result: u64::from_str_radix(result, 16).unwrap() }
    };
    lines.map(parse).collect()
}

/// Bits of a type; those of a register are at least 16.
fn bits(ty: &str) -> Option<u32> {
    Some(match ty {
        "u8" | "s8" => 8,
        "u16" | "s16" | "b16" | "f16" | "bf16" => 16,
        "u32" | "s32" | "b32" | "f32" | "f16x2" | "tf32" => 32,
        "u64" | "s64" | "b64" | "f64" => 64,
        _ => return None,
    })
}

impl Vector {
    /// Bits of the result and of the operands.
    fn widths(&self) -> (u32, Vec<u32>) {
        let types: Vec<u32> = self.name.split('.').filter_map(bits).collect();
        let (first, last, n) = (types[0], types[types.len() - 1], self.operands.len());
        let base = self.name.split('.').next().unwrap();
        match base {
            "cvt" => (first, vec![last; n]),
            "mul" | "mad" if self.name.contains(".wide") => (2 * last, [last, last, 2 * last][..n].to_vec()),
            "popc" | "clz" | "bfind" => (32, vec![last]),
            "bfe" => (last, vec![last, 32, 32]),
            "bfi" => (last, vec![last, last, 32, 32]),
            "shl" | "shr" => (last, vec![last, 32]),
            _ => (last, vec![last; n]),
        }
    }

    /// Text that computes the vector into slot `index` of the results.
    fn code(&self, index: usize) -> String {
        let register = |bits: u32, number: usize| format!("%b{}_{number}", bits.max(16));
        let (result, operands) = self.widths();
        let mut text = String::new();
        let mut list = register(result, 9);
        for (number, (&bits, value)) in operands.iter().zip(&self.operands).enumerate() {
            let register = register(bits, number);
            writeln!(text, "mov.b{} {register}, 0x{value};", bits.max(16)).unwrap();
            list += &format!(", {register}");
        }
        writeln!(text, "{} {list};", self.name).unwrap();
        writeln!(text, "st.global.b{result} [%out+{}], {};", 8 * index, register(result, 9)).unwrap();
        text
    }
}

#[test]
fn instructions_give_what_the_assembler_folds_them_to_and_gpus_answer() {
    let vectors = vectors();
    let mut text = String::from(
        ".version 8.8\n.target sm_90\n.address_size 64\n.visible .entry kernel(.param .u64 out) {\n\
         .reg .b16 %b16_<10>;\n.reg .b32 %b32_<10>;\n.reg .b64 %b64_<10>, %out;\nld.param.u64 %out, [out];\n",
    );
    for (index, vector) in vectors.iter().enumerate() {
        text += &vector.code(index);
    }
    text += "ret;\n}\n";
    let program = Program::from_ptx("vectors", text).unwrap_or_else(|error| panic!("{}", describe(&error)));
    let launch = format!("grid = 1\nblock = 1\nargs = [\"u64[{}]\"]", vectors.len());
    let launch = Launch::parse_file("launch", &launch).unwrap();
    let options = ExecutionOptions {
        threads: 1,
        budget: 100_000,
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
    let result = run(&program, &launch, &[request], options, &Progress::default());
    let result = result.unwrap_or_else(|error| panic!("{}", describe(&error)));
    let words = result.outputs[0].bytes.chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap()));
    let mut wrong = Vec::new();
    for (vector, found) in vectors.iter().zip(words) {
        let mask = u64::MAX >> (64 - vector.widths().0);
        if found != vector.result & mask {
            wrong.push(format!("{}, but got {found:x}", vector.line));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), vectors.len(), wrong.join("\n"));
}
