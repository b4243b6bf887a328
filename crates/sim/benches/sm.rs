//! Speed of the simulation in warp instructions per second on one core: a full SM of an H200, 64 warps, with its caches.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use warplens_isa::StateSpace;
use warplens_machine::{Reader, Strictness};
use warplens_sim::{Job, Options, SmConfig, Surroundings, simulate};
use warplens_trace::{
    AccessKind, ActiveMask, Code, CtaId, CtaTrace, MachineClass, MachineInst, RegisterNumber, WARP_SIZE,
    WarpTraceBuilder,
};

const WARPS: u32 = 8;
const RESIDENT: u32 = 8;
const CTAS: u32 = 32;

/// A loop whose body all warps execute, with an address rule per memory instruction: (CTA, warp, round, lane).
#[derive(Default)]
struct Kernel {
    code: Code,
    accesses: Vec<(StateSpace, AccessKind, Rule)>,
}

type Rule = fn(u64, u64, u64, u64) -> u64;

impl Kernel {
    fn inst(&mut self, class: MachineClass, reads: &[RegisterNumber], writes: &[RegisterNumber]) {
        let (reads, writes) = (self.code.operands_of(reads), self.code.operands_of(writes));
        self.code.insts.push(MachineInst { reads, writes, ..MachineInst::new(class, 0) });
    }

    fn memory(&mut self, space: StateSpace, kind: AccessKind, registers: [&[RegisterNumber]; 2], rule: Rule) {
        let class = if kind == AccessKind::Load { MachineClass::Load } else { MachineClass::Store };
        self.inst(class, registers[0], registers[1]);
        let last = self.code.insts.last_mut().expect("just pushed");
        last.space = space;
        last.slot = self.accesses.len() as u16;
        self.accesses.push((space, kind, rule));
    }

    fn traces(&mut self, rounds: u64) -> Vec<CtaTrace> {
        self.code.blocks.push(0..self.code.insts.len() as u32);
        let warp = |cta: u32, warp: u32| {
            let mut trace = WarpTraceBuilder::default();
            for round in 0..rounds {
                trace.step(0, ActiveMask::FULL);
                for (slot, &(space, kind, rule)) in (0..).zip(&self.accesses) {
                    let addresses: [u64; WARP_SIZE] =
                        std::array::from_fn(|lane| rule(cta.into(), warp.into(), round, lane as u64));
                    trace.access(slot, space, kind, (4, 1), ActiveMask::FULL, &addresses);
                }
            }
            trace.finish()
        };
        let cta = |cta| CtaTrace { id: CtaId(cta), warps: (0..WARPS).map(|index| warp(cta, index)).collect() };
        (0..CTAS).map(cta).collect()
    }
}

/// The inner loop of a tiled matrix product: 16 x 16 tiles, 32 x 32 CTAs.
fn matrix_product() -> (Kernel, Vec<CtaTrace>) {
    use AccessKind::{Load, Store};
    use StateSpace::{Global, Shared};
    let mut kernel = Kernel::default();
    kernel.memory(Global, Load, [&[0], &[2]], |cta, warp, round, lane| {
        4 * ((cta / 32 * 16 + 2 * warp + lane / 16) * 512 + round * 16 + lane % 16)
    });
    kernel.memory(Global, Load, [&[1], &[3]], |cta, warp, round, lane| {
        (1 << 30) + 4 * ((round * 16 + 2 * warp + lane / 16) * 512 + cta % 32 * 16 + lane % 16)
    });
    kernel.memory(Shared, Store, [&[2], &[]], |_, warp, _, lane| warp * 128 + lane * 4);
    kernel.memory(Shared, Store, [&[3], &[]], |_, warp, _, lane| 1024 + warp * 128 + lane * 4);
    kernel.inst(MachineClass::Barrier, &[], &[]);
    for _ in 0..4 {
        kernel.memory(Shared, Load, [&[5], &[6]], |_, warp, _, lane| warp * 128 + lane / 16 * 64);
        for _ in 0..4 {
            kernel.memory(Shared, Load, [&[5], &[7]], |_, _, _, lane| 1024 + lane % 16 * 4);
            kernel.inst(MachineClass::Fp32, &[6, 7, 8], &[8]);
        }
    }
    kernel.inst(MachineClass::Int, &[0], &[0]);
    kernel.inst(MachineClass::Int, &[1], &[1]);
    kernel.inst(MachineClass::Barrier, &[], &[]);
    kernel.inst(MachineClass::Branch, &[], &[]);
    let traces = kernel.traces(32);
    (kernel, traces)
}

/// Loads from scattered addresses, with reuse in both caches.
fn gather() -> (Kernel, Vec<CtaTrace>) {
    let mut kernel = Kernel::default();
    let global = StateSpace::Global;
    kernel.memory(global, AccessKind::Load, [&[0], &[2]], |cta, warp, round, lane| {
        (((cta * WARPS as u64 + warp) * 64 + round) * 32 + lane) * 4
    });
    kernel.inst(MachineClass::IntMul, &[2], &[3]);
    kernel.memory(global, AccessKind::Load, [&[3], &[4]], |cta, warp, round, lane| {
        let seed = ((cta * 8 + warp) * 64 + round) * 32 + lane;
        (1 << 30) + (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44 << 2)
    });
    for _ in 0..4 {
        kernel.inst(MachineClass::Fp32, &[4, 5], &[5]);
    }
    kernel.inst(MachineClass::Int, &[0], &[0]);
    kernel.inst(MachineClass::Branch, &[], &[]);
    let traces = kernel.traces(64);
    (kernel, traces)
}

fn h200(code: &Code) -> SmConfig {
    let machine = warplens_machine::builtin::machine("h200").expect("a built-in machine").expect("it is valid");
    let mut used: Vec<MachineClass> = code.insts.iter().map(|inst| inst.class).collect();
    used.sort_unstable();
    used.dedup();
    SmConfig::read(&mut Reader::new(&machine, Strictness::AllowInferred), &used).expect("all that it needs is known")
}

fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("simulation");
    for (name, (kernel, ctas)) in [("matrix product", matrix_product()), ("gather", gather())] {
        let config = h200(&kernel.code);
        let surroundings =
            Surroundings { active_sms: config.n_sms, first_fetch: 0.1, shared_bytes: 8 * 3072, ..Surroundings::ALONE };
        let job = Job { code: &kernel.code, ctas: &ctas, resident: RESIDENT, surroundings, footprint: None };
        let outcome = simulate(&config, &job, Options::default());
        group.throughput(Throughput::Elements(outcome.issued));
        group.sample_size(20);
        group.bench_function(name, |bencher| bencher.iter(|| simulate(&config, &job, Options::default())));
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
