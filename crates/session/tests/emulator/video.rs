//! Video instructions, which lowering takes apart, against their definition: on selected parts of registers, with
//! saturation, secondary operations, merging and masks, in thousands of random forms. Scalar forms are as ptxas makes them
//! where that is not what the manual says.

use std::fmt::Write as _;

use warplens_launch::Launch;
use warplens_session::{ExecutionOptions, Extent, Generation, OutputRequest, Program, Progress, run};

use crate::expectation::describe;

/// A part of a register: its suffix, its first bit, its number of bits.
type Part = (&'static str, u32, u32);

const PARTS: [Part; 7] =
    [("", 0, 32), (".b0", 0, 8), (".b1", 8, 8), (".b2", 16, 8), (".b3", 24, 8), (".h0", 0, 16), (".h1", 16, 16)];

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    fn flag(&mut self) -> bool {
        self.below(2) == 1
    }

    /// A word, often one with parts at the limits of their ranges.
    fn word(&mut self) -> u32 {
        let special = [0, 1, 0x7fff_ffff, 0x8000_0000, u32::MAX, 0x7f80_ff01, 0x8000_7fff, 0x0020_0007, 40];
        if self.flag() { self.pick(&special) } else { (self.below(1 << 16) << 16 | self.below(1 << 16)) as u32 }
    }
}

fn ty(signed: bool) -> &'static str {
    if signed { "s32" } else { "u32" }
}

fn extract(word: u32, (_, first, bits): Part, signed: bool) -> i64 {
    extend(u64::from(word >> first), bits, signed)
}

fn extend(value: u64, bits: u32, signed: bool) -> i64 {
    let up = 64 - bits;
    if signed { (value << up) as i64 >> up } else { (value << up >> up) as i64 }
}

fn saturate(value: i128, bits: u32, signed: bool) -> i128 {
    if signed { value.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { value.clamp(0, (1 << bits) - 1) }
}

fn insert(value: u32, base: u32, (_, first, bits): Part) -> u32 {
    let mask = (((1u64 << bits) - 1) << first) as u32;
    base & !mask | ((u64::from(value) << first) as u32 & mask)
}

/// The operations by name, as they are for the extended operands.
fn primary(name: &str, a: i64, b: i64) -> i128 {
    let (x, y) = (i128::from(a), i128::from(b));
    match name {
        "add" => x + y,
        "sub" => x - y,
        "absdiff" => (x - y).abs(),
        "min" => x.min(y),
        "max" => x.max(y),
        "avrg" => (x + y + i128::from(x + y >= 0)) >> 1,
        "shl.clamp" => x << y.clamp(0, 32),
        "shl.wrap" => x << (y & 31),
        "shr.clamp" => x >> y.clamp(0, 32),
        "shr.wrap" => x >> (y & 31),
        "eq" => (x == y).into(),
        "ne" => (x != y).into(),
        "lt" => (x < y).into(),
        "le" => (x <= y).into(),
        "gt" => (x > y).into(),
        _ => (x >= y).into(),
    }
}

/// An instruction on `%d, %a, %b, %c` and what `%d` is afterwards.
fn instruction(random: &mut Random, [a, b, c]: [u32; 3]) -> (String, u32) {
    match random.below(5) {
        0 => multiply_add(random, [a, b, c]),
        1 | 2 => scalar(random, [a, b, c]),
        _ => simd(random, [a, b, c]),
    }
}

fn scalar(random: &mut Random, [a, b, c]: [u32; 3]) -> (String, u32) {
    let op =
        random.pick(&["add", "sub", "absdiff", "min", "max", "shl.clamp", "shr.wrap", "shl.wrap", "lt", "ne", "ge"]);
    let is_set = op.len() == 2;
    let is_shift = op.starts_with("sh");
    let (part_a, part_b) = (random.pick(&PARTS), random.pick(&PARTS));
    let signed_d = !is_set && random.flag();
    let (signed_a, signed_b) = (random.flag(), !is_shift && random.flag());
    let sat = !is_set && random.flag();
    let third = random.pick(&["", "merge", "add", "min", "max"]);
    let part_d = if third == "merge" { PARTS[1 + random.below(6) as usize] } else { PARTS[0] };
    let name = match op.split_once('.') {
        Some((shift, mode)) => format!("v{shift}.{}.{}.u32{}.{mode}", ty(signed_d), ty(signed_a), suffix(".sat", sat)),
        None if is_set => format!("vset.{}.{}.{op}", ty(signed_a), ty(signed_b)),
        None => format!("v{op}.{}.{}.{}{}", ty(signed_d), ty(signed_a), ty(signed_b), suffix(".sat", sat)),
    };
    let secondary = if matches!(third, "" | "merge") { String::new() } else { format!(".{third}") };
    let last = if third.is_empty() { "" } else { ", %c" };
    let text = format!("{name}{secondary} %d{}, %a{}, %b{}{last};", part_d.0, part_a.0, part_b.0);
    let value = primary(op, extract(a, part_a, signed_a), extract(b, part_b, signed_b));
    let most = (1i128 << (part_d.2 - u32::from(signed_d))) - 1;
    let value = match (sat, part_d.2) {
        (false, _) => value,
        // Of what is shifted 34 bits are left, which a word limits.
        (true, _) if is_shift => saturate(value << 94 >> 94, 32, signed_d),
        (true, 32) if signed_d => saturate(value, 32, true),
        // An unsigned word has no upper limit, and parts have no lower one.
        (true, 32) => value.max(0),
        (true, _) => {
            if (0..=most).contains(&value) {
                value
            } else {
                most
            }
        }
    };
    let low = value as u32;
    let pick = |first: bool| if first { low } else { c };
    // Sums count as numbers of 64 bits, made of a signed word.
    let is_sum = sat || matches!(op, "add" | "sub");
    let unsigned = if is_sum { i64::from(low as i32) as u64 } else { value as u64 };
    let is_lower = if signed_d { (low as i32) < c as i32 } else { unsigned < u64::from(c) };
    let result = match third {
        "add" => low.wrapping_add(c),
        "min" => pick(is_lower),
        "max" => pick(!is_lower),
        // The upper half receives the upper half.
        "merge" if part_d.0 == ".h1" => insert(low >> 16, c, part_d),
        "merge" => insert(low, c, part_d),
        _ => low,
    };
    (text, result)
}

fn suffix(text: &'static str, wanted: bool) -> &'static str {
    if wanted { text } else { "" }
}

fn multiply_add(random: &mut Random, [a, b, c]: [u32; 3]) -> (String, u32) {
    let (part_a, part_b) = (random.pick(&PARTS), random.pick(&PARTS));
    let (signed_a, signed_b) = (random.flag(), random.flag());
    // Of unsigned operands nothing is subtracted here: the sum would need more than 64 bits, and is refused.
    let negated = random.pick(if signed_a || signed_b { &["", "a", "b", "c", "po"] } else { &["", "po"] });
    let sat = random.flag();
    let (scale, shift) = random.pick(&[("", 0), (".shr7", 7), (".shr15", 15)]);
    let signed = signed_a || signed_b;
    let minus = |name| suffix("-", negated == name);
    let text = format!(
        "vmad.{}.{}.{}{}{}{scale} %d, {}%a{}, {}%b{}, {}%c;",
        ty(signed),
        ty(signed_a),
        ty(signed_b),
        suffix(".po", negated == "po"),
        suffix(".sat", sat),
        minus("a"),
        part_a.0,
        minus("b"),
        part_b.0,
        minus("c")
    );
    // Unsigned words count as signed ones where more than the low word of the sum matters.
    let takes_signed = !signed && (sat || shift > 0);
    let factor = |word, part: Part, signed| i128::from(extract(word, part, signed || takes_signed && part.2 == 32));
    let product = factor(a, part_a, signed_a) * factor(b, part_b, signed_b);
    let product = if matches!(negated, "a" | "b") { -product } else { product };
    // Negation complements the addend before it is extended and adds one.
    let addend = extend(u64::from(if negated == "c" { !c } else { c }), 32, signed || takes_signed);
    let one = i128::from(matches!(negated, "c" | "po"));
    let sum = product + i128::from(addend) + one;
    let sum = if takes_signed && shift > 0 { i128::from(sum as u64 >> shift) } else { sum >> shift };
    (text, if sat { saturate(sum, 32, signed) } else { sum } as u32)
}

fn simd(random: &mut Random, [a, b, c]: [u32; 3]) -> (String, u32) {
    let n = random.pick(&[2usize, 4]);
    let bits = 32 / n as u32;
    let op = random.pick(&["add", "sub", "absdiff", "min", "max", "avrg", "lt", "ge", "eq"]);
    let is_set = op.len() == 2;
    let signed_d = !is_set && random.flag();
    let (signed_a, signed_b) = (random.flag(), random.flag());
    let accumulate = random.flag();
    let sat = !is_set && !accumulate && random.flag();
    let letter = if n == 2 { "h" } else { "b" };
    let mut selection = |usual: [u64; 4]| {
        let chosen = random.flag();
        let picked: Vec<u64> =
            (0..n).map(|lane| if chosen { random.below(2 * n as u64) } else { usual[lane] }).collect();
        let digits: String = picked.iter().rev().map(u64::to_string).collect();
        (if chosen { format!(".{letter}{digits}") } else { String::new() }, picked)
    };
    let (text_a, select_a) = selection([0, 1, 2, 3]);
    let (text_b, select_b) = selection(if n == 2 { [2, 3, 0, 0] } else { [4, 5, 6, 7] });
    let mask = if random.flag() { 1 + random.below((1 << n) - 1) } else { (1 << n) - 1 };
    let digits: String = (0..n).rev().filter(|lane| mask >> lane & 1 == 1).map(|lane| lane.to_string()).collect();
    let text_d = if mask == (1 << n) - 1 { String::new() } else { format!(".{letter}{digits}") };
    let types = format!("{}.{}", ty(signed_a), ty(signed_b));
    let add = suffix(".add", accumulate);
    let name = match is_set {
        true => format!("vset{n}.{types}.{op}{add}"),
        false => format!("v{op}{n}.{}.{types}{}{add}", ty(signed_d), suffix(".sat", sat)),
    };
    let text = format!("{name} %d{text_d}, %a{text_a}, %b{text_b}, %c;");
    let all = u64::from(b) << 32 | u64::from(a);
    let element = |index: u64, signed| extend(all >> (u64::from(bits) * index), bits, signed);
    let mut result = c;
    for lane in (0..n).filter(|lane| mask >> lane & 1 == 1) {
        let value = primary(op, element(select_a[lane], signed_a), element(select_b[lane], signed_b));
        let value = if sat { saturate(value, bits, signed_d) } else { value };
        result = match accumulate {
            true => result.wrapping_add(value as u32),
            false => insert(value as u32, result, ("", bits * lane as u32, bits)),
        };
    }
    (text, result)
}

#[test]
fn video_instructions_do_what_they_are_defined_to() {
    let mut random = Random(7);
    let mut text = String::from(
        ".version 8.8\n.target sm_90\n.address_size 64\n.visible .entry kernel(.param .u64 out) {\n\
         .reg .b32 %a, %b, %c, %d;\n.reg .b64 %out;\nld.param.u64 %out, [out];\n",
    );
    let mut expected = Vec::new();
    for index in 0..4000 {
        let words = [random.word(), random.word(), random.word()];
        let (instruction, result) = instruction(&mut random, words);
        let [a, b, c] = words;
        writeln!(text, "mov.b32 %a, {a:#x}; mov.b32 %b, {b:#x}; mov.b32 %c, {c:#x};").unwrap();
        writeln!(text, "{instruction} st.global.b32 [%out+{}], %d;", 4 * index).unwrap();
        expected.push((format!("{instruction} a={a:#x} b={b:#x} c={c:#x}"), result));
    }
    text += "ret;\n}\n";
    let program = Program::from_ptx("video", text).unwrap_or_else(|error| panic!("{}", describe(&error)));
    let launch = Launch::parse_file("launch", "grid = 1\nblock = 1\nargs = [\"u32[4000]\"]").unwrap();
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
    let result = run(&program, &launch, &[request], options, &Progress::default());
    let result = result.unwrap_or_else(|error| panic!("{}", describe(&error)));
    let words = result.outputs[0].bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap()));
    let wrong: Vec<String> = expected
        .iter()
        .zip(words)
        .filter(|((_, wanted), found)| wanted != found)
        .map(|((text, wanted), found)| format!("{text}: {found:#x} instead of {wanted:#x}"))
        .collect();
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
}
