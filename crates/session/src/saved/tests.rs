//! What is saved is read again, every field of it; what is hostile is refused.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::{Value, json};
use warplens_isa::{Family, HighLatency, OpClass, Pc, ScalarType, SlowOperation, Spelling, StateSpace};
use warplens_sim::traces::Traces;
use warplens_stats::{
    BankRule, CoalescingRule, ConstantCounts, CostKind, Count, Counted, Coverage, InstructionCounts, LaunchShape,
    LineCounts, MemoryCounts, NumberKind, OpcodeCount, Period, PeriodStream, Periods, Profile, RegistersBasis, Reuse,
    ReuseHistogram, SharedCounts, Statistics, StreamPart,
};

use warplens_stats::statistics::{AtomicLine, Atomics, Concentration, Textures};

use super::{document, read};
use crate::execution::ExecutionOptions;
use crate::generation::Generation;
use crate::machines;
use crate::machines::ComputeCapability;
use crate::measure::measure;
use crate::measurement::Elsewhere;
use crate::measurement::Emulation;
use crate::measurement::{Bound, BoundKind, Line, Statics};
use crate::measurement::{Measurement, Support};
use crate::predict::{self, Choice, Options};
use crate::program::Program;
use crate::program::{CodeForm, CodeOrigin, CountedCode};
use crate::progress::Progress;
use crate::race::Race;
use crate::toolchain::Search;
use warplens_import::Measured;
use warplens_launch::{KernelName, Launch};

/// Spellings of instructions, one that nobody knows among them.
const OPCODES: [&str; 6] =
    ["ld.global.nc.v4.f32", "add.s32", "div.rn.f32", "mad.wide.u32", "bar.sync", "frobnicate.f32"];

/// Random measurements whose counts agree with each other, from a seed.
struct Random(u64);

impl Random {
    /// The generator SplitMix64.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Small and large counts, zero among them.
    fn count(&mut self) -> u64 {
        match self.next() % 4 {
            0 => 0,
            1 => self.next() % 100,
            2 => self.next() >> 32,
            _ => self.next() >> 20,
        }
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn flag(&mut self) -> bool {
        self.next().is_multiple_of(2)
    }

    fn small(&mut self) -> u32 {
        (self.next() >> 40) as u32
    }

    /// A float with all its digits, above zero.
    fn factor(&mut self) -> f64 {
        f64::from_bits(((1000 + self.below(40)) << 52) | (self.next() >> 12))
    }

    fn amount(&mut self) -> f64 {
        if self.flag() { self.factor() } else { 0.0 }
    }

    fn text(&mut self) -> String {
        let texts = ["add.f32", "", "a\"b\\c\n", "ld.global.v4.f32", "größer", "1.0", "\u{1F600}"];
        format!("{}{}", texts[self.below(7) as usize], self.below(3))
    }

    fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.flag() { Some(make(self)) } else { None }
    }

    fn some<T, C: FromIterator<T>>(&mut self, mut make: impl FnMut(&mut Self) -> T) -> C {
        (0..self.below(4)).map(|_| make(self)).collect()
    }

    fn one<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize]
    }

    fn memory(&mut self, has: &dyn Fn(&str) -> bool) -> MemoryCounts {
        let mut counts = MemoryCounts {
            loads: self.count(),
            stores: self.count(),
            atomics: self.count(),
            t32: self.count(),
            t64: self.count(),
            t128: self.count(),
            lines: self.count(),
            bytes_requested: self.count(),
            ..MemoryCounts::default()
        };
        counts.requests = counts.loads + counts.stores + counts.atomics;
        counts.coalesced = self.below(counts.requests + 1);
        counts.uncoalesced = counts.requests - counts.coalesced;
        counts.coalesced_transactions = self.below(counts.transactions() + 1);
        counts.uncoalesced_transactions = counts.transactions() - counts.coalesced_transactions;
        counts.bytes_moved = 32 * counts.t32 + 64 * counts.t64 + 128 * counts.t128;
        if self.flag() {
            (counts.ideal_t32, counts.ideal_t64, counts.ideal_t128) = (1 + self.count(), self.count(), self.count());
        }
        let clear = |counts: &mut [&mut u64]| counts.iter_mut().for_each(|count| **count = 0);
        if !has("requests") {
            clear(&mut [&mut counts.requests]);
        }
        if !has("loads") {
            clear(&mut [&mut counts.loads, &mut counts.stores, &mut counts.atomics]);
        }
        if !has("t32") {
            clear(&mut [&mut counts.t32, &mut counts.t64, &mut counts.t128, &mut counts.bytes_moved]);
        }
        if !has("lines") {
            clear(&mut [&mut counts.lines]);
        }
        if !has("coalesced") {
            clear(&mut [&mut counts.coalesced, &mut counts.uncoalesced]);
            clear(&mut [&mut counts.coalesced_transactions, &mut counts.uncoalesced_transactions]);
        }
        if !has("bytes_requested") {
            clear(&mut [&mut counts.bytes_requested]);
        }
        counts
    }

    fn shared(&mut self, has: &dyn Fn(&str) -> bool) -> SharedCounts {
        let mut counts = SharedCounts {
            loads: self.count(),
            stores: self.count(),
            atomics: self.count(),
            passes: self.count(),
            ideal_wavefronts: self.count(),
            ..SharedCounts::default()
        };
        counts.requests = counts.loads + counts.stores + counts.atomics;
        counts.conflicted = self.below(counts.requests + 1);
        counts.wavefronts = counts.ideal_wavefronts + self.count();
        if !has("requests") {
            counts.requests = 0;
        }
        if !has("loads") {
            (counts.loads, counts.stores, counts.atomics) = (0, 0, 0);
        }
        if !has("conflicted") {
            counts.conflicted = 0;
        }
        if !has("passes") {
            counts.passes = 0;
        }
        if !has("wavefronts") {
            (counts.wavefronts, counts.ideal_wavefronts) = (0, 0);
        }
        counts
    }

    fn opcode(&mut self) -> Spelling {
        warplens_ptx::spelling(self.one(&OPCODES))
    }

    fn slow_operation(&mut self) -> SlowOperation {
        SlowOperation { kind: self.one(HighLatency::ALL), ty: self.one(&[ScalarType::F32, ScalarType::F64]) }
    }

    fn line(&mut self) -> LineCounts {
        let spaces = [
            StateSpace::Generic,
            StateSpace::Global,
            StateSpace::Shared,
            StateSpace::Local,
            StateSpace::Const,
            StateSpace::Param,
        ];
        LineCounts {
            pc: Pc(self.small()),
            ptx_line: self.small(),
            source: self.maybe(|random| (random.text(), random.small())),
            opcode: self.opcode(),
            space: self.maybe(|random| random.one(&spaces)),
            executed: self.count(),
            threads: self.count(),
            divergent: self.count(),
            memory: self.some(|random| (random.one(&CoalescingRule::ALL), random.memory(&|_| true))),
            shared: self.some(|random| (random.one(&BankRule::ALL), random.shared(&|_| true))),
        }
    }

    fn textures(&mut self) -> Textures {
        let mut textures = Textures::default();
        textures.counts_mut().into_iter().for_each(|count| *count = self.count());
        textures.fetched_lines = self.below(textures.fetched_sectors + 1);
        textures.surface_lines = self.below(textures.surface_sectors + 1);
        textures
    }

    fn atomics(&mut self) -> Atomics {
        let lines = (0..self.below(3)).map(|_| self.atomic_line()).collect();
        Atomics { lines, concentration: self.maybe(Self::concentration) }
    }

    fn atomic_line(&mut self) -> AtomicLine {
        let operations = self.count();
        AtomicLine {
            pc: Pc(self.small()),
            ptx_line: self.small(),
            source: self.maybe(|random| (random.text(), random.small())),
            opcode: self.opcode(),
            space: self.one(&[StateSpace::Global, StateSpace::Shared]),
            accesses: self.count(),
            operations,
            distinct_words: self.below(operations + 1),
            passes: self.below(operations + 1),
            concentration: self.maybe(Self::concentration),
        }
    }

    fn concentration(&mut self) -> Concentration {
        let operations = self.count();
        Concentration {
            operations,
            words: self.count(),
            most_on_one_word: self.below(operations + 1),
            one_word_in: 1 << self.below(40),
        }
    }

    fn histogram(&mut self) -> ReuseHistogram {
        let (cold, distances): (u64, BTreeMap<u64, u64>) =
            (self.count(), self.some(|random| (random.next(), random.count())));
        ReuseHistogram { accesses: cold + distances.values().sum::<u64>(), cold, distances }
    }

    fn kind(&mut self) -> CostKind {
        let number = self.one(&[NumberKind::Int, NumberKind::Float]);
        let (family, space) = self.one(&[(Family::Add, None), (Family::Ld, Some(StateSpace::Global))]);
        // Whether an operand is a number matters only to the arithmetic.
        let constant = self.flag() && space.is_none();
        CostKind { family, space, number, bits: self.one(&[16, 32, 64]), constant }
    }

    fn parts(&mut self, n_kinds: u64, depth: u32) -> Vec<StreamPart> {
        self.some(|random| match depth > 0 && random.flag() {
            true => StreamPart::Loop { times: random.below(1000), body: random.parts(n_kinds, depth - 1) },
            false => StreamPart::Period(random.below(n_kinds) as usize),
        })
    }

    fn periods(&mut self) -> Periods {
        let period = |random: &mut Self| Period {
            executions: random.count(),
            computation: random.some(|random| (random.kind(), random.count())),
            memory: random.some(|random| (random.kind(), random.count())),
            bytes_requested: random.amount(),
            transactions: random.some(|random| (random.one(&CoalescingRule::ALL), random.amount())),
        };
        let kinds: Vec<Period> = (0..1 + self.below(3)).map(|_| period(self)).collect();
        let n_kinds = kinds.len() as u64;
        let streams = self.some(|random| PeriodStream {
            warps: random.count(),
            left_out: random.count(),
            parts: random.parts(n_kinds, 3),
        });
        Periods { warps: self.count(), kinds, streams }
    }

    fn launch(&mut self, has: &dyn Fn(Count) -> bool) -> LaunchShape {
        let bases = [RegistersBasis::User, RegistersBasis::Ptxas, RegistersBasis::Estimate, RegistersBasis::Profiler];
        let has_registers = has(Count::Registers);
        LaunchShape {
            grid: [1 + self.small() % 70_000, 1 + self.small() % 9, 1 + self.small() % 9],
            block: [1 + self.small() % 32, 1 + self.small() % 4, 1 + self.small() % 8],
            cluster: None,
            shared_bytes: if has(Count::SharedBytes) { self.count() } else { 0 },
            registers: if has_registers { self.small() } else { 0 },
            registers_basis: if has_registers { self.one(&bases) } else { RegistersBasis::User },
        }
    }

    fn instructions(&mut self, has: &dyn Fn(Count) -> bool) -> InstructionCounts {
        let by_class: BTreeMap<OpClass, u64> = self.some(|random| (random.one(OpClass::ALL), random.count()));
        let by_text: BTreeMap<&str, u64> = self.some(|random| (random.one(&OPCODES), random.count()));
        let total = by_class.values().sum::<u64>().max(by_text.values().sum()) + self.count();
        let counted = |(text, count)| OpcodeCount { opcode: warplens_ptx::spelling(text), count };
        let by_opcode = by_text.into_iter().map(counted).collect();
        InstructionCounts {
            total: if has(Count::Instructions) { total } else { 0 },
            by_class: if has(Count::Classes) { by_class } else { BTreeMap::new() },
            by_opcode: if has(Count::Opcodes) { by_opcode } else { Vec::new() },
        }
    }

    fn profile(&mut self, kernel: String) -> Profile {
        let absent: BTreeSet<Count> = self.some(|random| random.one(Count::ALL));
        let in_space = |space: &str| {
            let names: Vec<String> =
                absent.iter().filter_map(|count| count.name().strip_prefix(space).map(str::to_owned)).collect();
            move |name: &str| !names.iter().any(|absent| absent == name)
        };
        let (in_global, in_local, in_shared) = (in_space("global."), in_space("local."), in_space("shared."));
        let kept = absent.clone();
        let has = move |count: Count| !kept.contains(&count);
        let rules = &CoalescingRule::ALL;
        let launch = self.launch(&has);
        let instructions = self.instructions(&has);
        let thread_instructions = self.below(32 * instructions.total + 1);
        let branches = self.count();
        let n_ctas = launch.n_ctas();
        let if_held = |count: Count, value: u64| if has(count) { value } else { 0 };
        let mut profile = Profile {
            kernel,
            launch,
            counted: self.one(&Counted::ALL),
            coverage: Coverage { ctas_executed: 1 + self.below(n_ctas), ctas_total: n_ctas, spread: self.amount() },
            warps: n_ctas * launch.n_warps(),
            thread_instructions: if_held(Count::ThreadInstructions, thread_instructions),
            thread_instructions_pred_on: if_held(Count::PredicatedOn, self.below(thread_instructions + 1)),
            instructions,
            branches: if_held(Count::Branches, branches),
            divergent_branches: if_held(Count::DivergentBranches, self.below(branches + 1)),
            barriers: if_held(Count::Barriers, self.count()),
            high_latency: self.some(|random| (random.slow_operation(), random.count())),
            // At least one rule: without any, none of their counts is held.
            global: (0..1 + self.below(3)).map(|_| (self.one(rules), self.memory(&in_global))).collect(),
            local: (0..1 + self.below(3)).map(|_| (self.one(rules), self.memory(&in_local))).collect(),
            shared: (0..1 + self.below(3)).map(|_| (self.one(&BankRule::ALL), self.shared(&in_shared))).collect(),
            constant: ConstantCounts { requests: self.count(), passes: self.count() },
            distinct_sectors_read: if_held(Count::DistinctSectors, self.count()),
            distinct_sectors_written: if_held(Count::DistinctSectors, self.count()),
            dram_sectors: self.maybe(|random| [random.count(), random.count()]),
            vector_loads: if_held(Count::VectorLoads, self.count()),
            independent_loads: self.maybe(Self::factor),
            independent_loads_program_order: self.maybe(Self::factor),
            overlap_instructions: if_held(Count::OverlapInstructions, self.count()),
            duplicate_loads: self.some(|random| (random.one(rules), random.factor())),
            duplicate_share: self.one(&[0.0, 0.1, 1.0]),
            instruction_parallelism: self.maybe(Self::factor),
            instruction_parallelism_program_order: self.maybe(Self::factor),
            statistics: Statistics {
                reuse: self.maybe(|random| Reuse {
                    warps: random.count(),
                    requests: random.count(),
                    requests_left_out: random.count(),
                    lines: random.histogram(),
                    sectors: random.histogram(),
                }),
                atomics: self.maybe(Self::atomics),
                periods: self.maybe(Self::periods),
                textures: self.maybe(Self::textures),
            },
            order_dependent: self.flag(),
            lines: self.some(Self::line),
            absent,
        };
        profile.leave_out(&has);
        profile
    }

    fn statics(&mut self) -> Statics {
        let line = |random: &mut Self| match random.below(3) {
            0 => Line::Either(random.small()),
            1 => Line::Ptx(random.small()),
            _ => Line::Source(random.small()),
        };
        Statics {
            bounds: self.some(|random| Bound {
                kind: random.one(&[BoundKind::Branch, BoundKind::Address]),
                pc: Pc(random.small()),
                ptx_line: random.small(),
                source: random.maybe(|random| (random.text(), random.small())),
                opcode: random.opcode(),
            }),
            used: self.some(|random| (line(random), random.amount())),
            unused: self.some(line),
            walked_ctas: self.count(),
            walked_instructions: self.count(),
            executed_ctas: self.count(),
        }
    }

    fn measurement(&mut self) -> Measurement {
        let kernel = KernelName { mangled: self.text(), demangled: self.text() };
        let profile = self.profile(kernel.mangled.clone());
        let elsewhere = self.maybe(|random| Elsewhere {
            generation: random.maybe(|random| {
                random.one(&[Generation::Warps, Generation::Threads, Generation::Volta, Generation::RtxBlackwell])
            }),
            target: random.maybe(|random| random.one(&[ComputeCapability::new(7, 5), ComputeCapability::new(9, 0)])),
            result: match random.flag() {
                true => {
                    let mut profile = profile.clone();
                    // Other code may need other registers.
                    if profile.has(Count::Registers) && random.flag() {
                        profile.launch.registers += 1;
                    }
                    Ok(Box::new(Measurement::counted(kernel.clone(), profile, None)))
                }
                false => Err(random.text()),
            },
        });
        Measurement {
            profile,
            kernel,
            // A listing is no part of a profile.
            listing: Vec::new(),
            emulation: self.maybe(|random| Emulation {
                thread_instructions: random.count(),
                warp_instructions: random.count(),
                seconds: random.amount(),
            }),
            support: Support {
                instructions: self.count(),
                unsupported: self.some(|random| (random.opcode(), random.text())),
                overreads: self.count(),
            },
            communicates: self.flag(),
            code: self.maybe(|random| CountedCode {
                form: random.one(&CodeForm::ALL),
                target: random.text(),
                origin: random.one(&CodeOrigin::ALL),
                assembler: random.maybe(Random::text),
            }),
            archived: None,
            elsewhere: elsewhere.into_iter().collect(),
            traces: Traces::None,
            race: self.maybe(|random| Race {
                buffer: random.text(),
                byte: random.count(),
                block: random.small(),
                other_block: random.maybe(Self::small),
                ptx_line: random.small(),
                source: random.maybe(|random| (random.text(), random.small())),
            }),
            statics: self.maybe(Self::statics),
            measured: self.maybe(|random| Measured {
                time_us: random.amount(),
                device: random.maybe(Self::text),
                target: random.maybe(Self::text),
                profiler: random.text(),
            }),
        }
    }
}

/// Nothing stands in place of a count that is not held.
trait LeaveOut {
    fn leave_out(&mut self, has: &dyn Fn(Count) -> bool);
}

impl LeaveOut for Profile {
    fn leave_out(&mut self, has: &dyn Fn(Count) -> bool) {
        if !has(Count::HighLatency) {
            self.high_latency.clear();
        }
        if !has(Count::Constant) {
            self.constant = ConstantCounts::default();
        }
        if !has(Count::IndependentLoads) {
            self.independent_loads = None;
        }
        if !has(Count::IndependentLoadsProgramOrder) {
            self.independent_loads_program_order = None;
        }
        if !has(Count::DuplicateLoads) {
            self.duplicate_loads.clear();
            self.duplicate_share = 1.0;
        }
        if !has(Count::Lines) {
            self.lines.clear();
        }
        // A space of which no count at all is held has no rules.
        let is_without = |space: &str| {
            let mut counts = Count::ALL.iter().filter(|count| count.name().starts_with(space));
            counts.all(|&count| !has(count))
        };
        if is_without("shared.") {
            self.shared.clear();
        }
    }
}

proptest! {
    #[test]
    fn what_is_saved_is_read_again(seed: u64, n_launches in 1_usize..4) {
        let mut random = Random(seed);
        let measurements: Vec<Measurement> = (0..n_launches).map(|_| random.measurement()).collect();
        let written = document(&measurements);
        let text = serde_json::to_string(&written).unwrap();
        let again: warplens_document::profile::Document = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(&again, &written);
        let back = read("p.json", &text).map_err(|error| TestCaseError::fail(error.message))?;
        prop_assert_eq!(back, measurements);
    }

    /// Whatever stands in place of any value, the answer is a measurement or an error.
    #[test]
    fn no_value_in_any_place_is_fatal(seed: u64, place: prop::sample::Index, value in hostile()) {
        let mut random = Random(seed);
        let mut document = serde_json::to_value(document(&[random.measurement()])).unwrap();
        let n_places = count_places(&document);
        put(&mut document, &mut place.index(n_places), &value);
        if let Err(error) = read("p.json", &document.to_string()) {
            prop_assert!(error.message.starts_with("p.json"), "{}", error.message);
        }
    }
}

fn hostile() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        Just(json!(true)),
        Just(json!(-1)),
        Just(json!(0)),
        Just(json!(u64::MAX)),
        Just(json!(i64::MIN)),
        Just(json!(1e308)),
        Just(json!(-0.0)),
        Just(json!(2.5)),
        Just(json!("")),
        Just(json!("nan")),
        Just(json!([])),
        Just(json!({})),
        Just(json!([[[1]]])),
        Just(json!({"": {"": 1}})),
    ]
}

fn count_places(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(count_places).sum::<usize>(),
        Value::Object(entries) => 1 + entries.values().map(count_places).sum::<usize>(),
        _ => 1,
    }
}

fn put(into: &mut Value, countdown: &mut usize, value: &Value) -> bool {
    if *countdown == 0 {
        *into = value.clone();
        return true;
    }
    *countdown -= 1;
    match into {
        Value::Array(items) => items.iter_mut().any(|item| put(item, countdown, value)),
        Value::Object(entries) => entries.values_mut().any(|entry| put(entry, countdown, value)),
        _ => false,
    }
}

/// A profile with this sequence of periods, of one kind.
fn with_parts(parts: Value) -> Result<Vec<Measurement>, String> {
    let task = json!({});
    let kind = json!({
        "executions": 1, "computation_task": task, "memory_task": task, "bytes_requested": 0, "transactions": {},
    });
    let document = json!({
        "schema": "warplens.profile/1",
        "kernel": "k",
        "launch": {"grid": [1, 1, 1], "block": [32, 1, 1]},
        "periods": {"warps": 1, "kinds": [kind], "streams": [{"warps": 1, "left_out": 0, "parts": parts}]},
    });
    read("p.json", &document.to_string()).map_err(|error| error.message)
}

#[test]
fn sequences_that_nobody_could_follow_are_refused() {
    assert!(with_parts(json!([0, {"times": 5, "body": [0]}])).is_ok());
    assert_eq!(
        with_parts(json!([0, {"times": 5, "body": [1]}])).unwrap_err(),
        "p.json: periods.streams[0].parts[1].body[0]: there are 1 kinds of periods"
    );
    let often = |body: Value| json!([{"times": 1_u64 << 40, "body": body}]);
    assert_eq!(
        with_parts(often(often(json!([0])))).unwrap_err(),
        "p.json: periods.streams[0].parts[0]: these are more periods than can be counted"
    );
    let nested = (0..13).fold(json!([0]), |body, _| json!([{"times": 1, "body": body}]));
    assert!(with_parts(nested).unwrap_err().ends_with("more than 12 loops are nested"));
    let bottomless = "[".repeat(100_000);
    let error = read("p.json", &format!("{{\"schema\": \"warplens.profile/1\", \"lines\": {bottomless}")).unwrap_err();
    assert!(error.message.contains("recursion limit"), "{}", error.message);
}

#[test]
fn counts_that_could_not_be_added_are_refused() {
    let document = json!({
        "schema": "warplens.profile/1",
        "kernel": "k",
        "launch": {"grid": [1, 1, 1], "block": [32, 1, 1]},
        "branches": u64::MAX,
    });
    assert_eq!(
        read("p.json", &document.to_string()).unwrap_err().message,
        "p.json: branches: 18446744073709551615 is more than 72057594037927936"
    );
}

/// Every thread adds up four numbers that lie apart.
const SUM: &str = "\
.version 8.0
.target sm_75
.address_size 64
.visible .entry sum(.param .u64 in)
{
    .reg .b64 %rd<4>;
    .reg .b32 %r<4>;
    .reg .f32 %f<3>;
    .reg .pred %p;
    ld.param.u64 %rd1, [in];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, 0;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd1, %rd1, %rd2;
AGAIN:
    ld.global.f32 %f1, [%rd1+512];
    add.f32 %f2, %f2, %f1;
    add.u64 %rd1, %rd1, 512;
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p, %r2, 4;
    @%p bra AGAIN;
    st.global.f32 [%rd1], %f2;
    ret;
}
";

fn recorded() -> Vec<Measurement> {
    let program = Program::from_ptx("sum", SUM.to_owned()).unwrap();
    let launches = Launch::parse_file("launch", "grid = 3\nblock = 96\nargs = [\"f32[2048]\"]").unwrap();
    let traced_for = machines::select("k40,h200").unwrap();
    let options = ExecutionOptions { threads: 1, traced_for, ..ExecutionOptions::new() };
    measure(&program, &launches, options, warplens_stats::Counting::Ptx, &Search::default(), &Progress::default())
        .unwrap()
}

fn without_listing(mut measurements: Vec<Measurement>) -> Vec<Measurement> {
    measurements.iter_mut().for_each(|measurement| measurement.listing.clear());
    measurements
}

#[test]
fn a_recording_is_saved_with_the_counts() {
    let measurements = recorded();
    let written = document(&measurements);
    let recording = written.0[0].recording.0.as_ref().unwrap();
    assert_eq!(recording.gpus, ["h200", "k40"]);
    assert!(recording.data.len() < 6000, "{} bytes of Base64", recording.data.len());
    let back = read("p.json", &serde_json::to_string(&written).unwrap()).unwrap();
    assert_eq!(back, without_listing(measurements));
    assert!(matches!(back[0].traces, Traces::Made(_)));
}

#[test]
fn a_recording_is_of_its_counts_alone() {
    let written = serde_json::to_value(document(&recorded())).unwrap();
    let mut edited = written.clone();
    edited["branches"] = json!(17);
    let back = read("p.json", &edited.to_string()).unwrap();
    assert_eq!(back[0].traces, Traces::Outdated);
    let gpus = machines::select("h200,a100-80").unwrap();
    let reason = |document: &Value, gpu: usize| {
        let measurement = read("p.json", &document.to_string()).unwrap().remove(0);
        let analysis = predict::predict(measurement, &gpus, &Choice::parse("teg").unwrap(), Options::default());
        analysis.gpus[gpu].answers[0].result.as_ref().err().map(|refusal| refusal.reason.clone())
    };
    assert_eq!(reason(&written, 0), None);
    assert_eq!(reason(&edited, 0).unwrap(), "a change of counts does not reach the trace that teg simulates");
    assert_eq!(reason(&written, 1).unwrap(), "nothing was recorded for a100-80, but for h200, k40");
}

#[test]
fn what_is_wrong_with_a_recording_is_said() {
    let written = serde_json::to_value(document(&recorded())).unwrap();
    let message = |key: &str, value: Value| {
        let mut changed = written.clone();
        changed["recording"][key] = value;
        read("p.json", &changed.to_string()).unwrap_err().message
    };
    assert_eq!(message("encoding", json!("1")), "p.json: recording.encoding: `1` is unknown; it is `4` here");
    assert!(message("data", json!("*")).starts_with("p.json: recording.data: this is no Base64: "));
    assert!(message("data", json!("AAAA")).starts_with("p.json: recording.data: it cannot be unpacked: "));
    assert_eq!(message("unpacked_bytes", json!(10)), "p.json: recording.data: it does not hold 10 bytes");
    let most = 1_u64 << 30;
    let more = message("unpacked_bytes", json!(most + 1));
    assert_eq!(more, format!("p.json: recording.unpacked_bytes: {} is more than {most}", most + 1));
}
