//! Cost of observing: nanoseconds per event for the shapes that kernels are made of.

#[path = "../tests/support/mod.rs"]
mod support;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use support::{Kernel, W0, access, by_lane, r};
use warplens_ir::Flow;
use warplens_isa::{BlockId, Pc, StateSpace};
use warplens_stats::coalescing::all_transactions;
use warplens_stats::{Recorder, Request};
use warplens_trace::{Access, AccessKind, ActiveMask, Addresses, CtaId, Observer, WarpIndex};

const BASE: u64 = 0x10_0000_0000;
const N: u64 = 1024;

/// Two loads, a store to shared memory, a use; 100 CTAs that are not looked at for duplicates.
fn recorder() -> (Recorder, [Pc; 3]) {
    let mut k = Kernel::new();
    let insts = vec![
        k.load(StateSpace::Global, r(10), r(0), 0),
        k.load(StateSpace::Global, r(11), r(1), 0),
        k.store(StateSpace::Shared, r(2), 0, r(10)),
        k.add(r(12), &[r(10), r(11)]),
    ];
    let pcs = std::array::from_fn(|index| insts[index].pc);
    k.block(insts, Flow::Fallthrough(BlockId(1)));
    let exit = k.exit();
    k.block(vec![exit], Flow::Exit { next: None });
    (k.recorder(100, 256), pcs)
}

/// A CTA between those that are looked at for duplicates.
const PLAIN: CtaId = CtaId(2);
const SAMPLED: CtaId = CtaId(0);

fn events(c: &mut Criterion) {
    let mut group = c.benchmark_group("event");
    group.throughput(Throughput::Elements(N));
    let mut bench = |name: &str, cta: CtaId, run: &dyn Fn(&mut Recorder, &mut _, &[Pc; 3], u64)| {
        let (mut recorder, pcs) = recorder();
        let mut record = recorder.begin_cta(cta);
        group.bench_function(name, |b| b.iter(|| (0..N).for_each(|n| run(&mut recorder, &mut record, &pcs, n))));
    };
    bench("block", PLAIN, &|recorder, cta, _, n| {
        recorder.block(cta, WarpIndex(n as u32 % 8), BlockId(0), ActiveMask::FULL);
    });
    let global = |recorder: &mut Recorder, cta: &mut _, warp, pc, mask, addresses: &[u64; 32]| {
        let access = Access { mask, ..access(StateSpace::Global, AccessKind::Load, addresses) };
        recorder.access(cta, warp, pc, &access);
    };
    let full = ActiveMask::FULL;
    bench("addresses alone", PLAIN, &|_, _, _, n| {
        std::hint::black_box(&by_lane(|lane| BASE + 128 * n + 4 * lane));
    });
    bench("load in order", PLAIN, &|recorder, cta, pcs, n| {
        global(recorder, cta, W0, pcs[0], full, &by_lane(|lane| BASE + 128 * n + 4 * lane));
    });
    let shaped = |recorder: &mut Recorder, cta: &mut _, pcs: &[Pc; 3], origin, offsets: &[u32; 32]| {
        let addresses = Addresses::from_offsets(origin, offsets).with_shape(1);
        let access = Access { addresses, ..access(StateSpace::Global, AccessKind::Load, &[0; 32]) };
        recorder.access(cta, W0, pcs[0], &access);
    };
    bench("load in order, as the emulator says it", PLAIN, &|recorder, cta, pcs, n| {
        shaped(recorder, cta, pcs, BASE + 128 * n, &std::array::from_fn(|lane| 4 * lane as u32));
    });
    bench("structures of 28 bytes, as the emulator says it", PLAIN, &|recorder, cta, pcs, n| {
        shaped(recorder, cta, pcs, BASE + 896 * n, &std::array::from_fn(|lane| 28 * lane as u32));
    });
    bench("load in order, 20 lanes", PLAIN, &|recorder, cta, pcs, n| {
        global(recorder, cta, W0, pcs[0], ActiveMask::first(20), &by_lane(|lane| BASE + 128 * n + 4 * lane));
    });
    bench("broadcast that walks a row", PLAIN, &|recorder, cta, pcs, n| {
        global(recorder, cta, W0, pcs[0], full, &by_lane(|_| BASE + 4 * n));
    });
    bench("lanes walk rows", PLAIN, &|recorder, cta, pcs, n| {
        global(recorder, cta, W0, pcs[0], full, &by_lane(|lane| BASE + 4 * n + 4096 * lane));
    });
    bench("structures of 28 bytes", PLAIN, &|recorder, cta, pcs, n| {
        global(recorder, cta, W0, pcs[0], full, &by_lane(|lane| BASE + 896 * n + 28 * lane));
    });
    bench("structures of 64 bytes", PLAIN, &|recorder, cta, pcs, n| {
        global(recorder, cta, W0, pcs[0], full, &by_lane(|lane| BASE + 2048 * n + 64 * lane));
    });
    bench("gather", PLAIN, &|recorder, cta, pcs, n| {
        global(recorder, cta, W0, pcs[0], full, &by_lane(|lane| BASE + 4 * random(n, lane)));
    });
    bench("shared store", PLAIN, &|recorder, cta, pcs, n| {
        let addresses = by_lane(|lane| (128 * n + 4 * lane) % 4096);
        recorder.access(cta, W0, pcs[2], &access(StateSpace::Shared, AccessKind::Store, &addresses));
    });
    bench("load in order, looked at for duplicates", SAMPLED, &|recorder, cta, pcs, n| {
        global(recorder, cta, WarpIndex(n as u32 % 8), pcs[0], full, &by_lane(|lane| BASE + 128 * n + 4 * lane));
    });
    bench("shared rows, looked at for duplicates", SAMPLED, &|recorder, cta, pcs, n| {
        global(recorder, cta, WarpIndex(n as u32 % 8), pcs[0], full, &by_lane(|lane| BASE + 128 * (n / 8) + 4 * lane));
    });
    bench("rules of a gather alone", PLAIN, &|_, _, _, n| {
        let addresses = by_lane(|lane| BASE + 4 * random(n, lane));
        let request = Request { lane_bytes: 4, mask: full, addresses: &addresses };
        std::hint::black_box(all_transactions(&request));
    });
    group.finish();
}

fn random(n: u64, lane: u64) -> u64 {
    (n * 32 + lane + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 42
}

fn ctas(c: &mut Criterion) {
    let (mut recorder, _) = recorder();
    c.bench_function("begin and end a CTA", |b| {
        b.iter(|| {
            let record = recorder.begin_cta(PLAIN);
            recorder.end_cta(record);
        });
    });
    let empty = recorder.fork();
    c.bench_function("fork and merge", |b| {
        b.iter_batched(|| empty.fork(), |fork| recorder.merge(fork), BatchSize::SmallInput);
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().measurement_time(std::time::Duration::from_secs(1)).warm_up_time(std::time::Duration::from_millis(300));
    targets = events, ctas
}
criterion_main!(benches);
