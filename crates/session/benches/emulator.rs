//! Emulation speed on one core, without statistics, with them, and with statistics and traces, and on two: in thread instructions per second, and in
//! multiply-adds per second for products by tensor cores.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use warplens_exec::{BarrierRule, Device, Launch, Program, Schedule, launch};
use warplens_ir::Module;
use warplens_stats::{Extents, LaunchShape, MemoryPlace, Recorder, RegistersBasis, TraceRequest, Tracer, pattern_ctas};
use warplens_trace::CtaId;

struct Case {
    name: &'static str,
    text: &'static str,
    kernel: &'static str,
    grid: [u32; 3],
    block: [u32; 3],
    /// Sizes of the buffers in bytes, which come first among the arguments.
    buffers: &'static [u64],
    /// What the words of the buffers hold.
    word: fn(u64) -> u32,
    /// Bits of the arguments behind them.
    numbers: &'static [u32],
    dynamic_shared: u64,
    /// CTAs that `predict` traces for an H200, spread over the launch, and CTAs from the first whose lines it keeps: about as
    /// many as the rules of `crates/session/src/trace.rs` make of the work of one.
    traced: [u32; 2],
    /// Multiply-adds, where it is a product by tensor cores.
    multiply_adds: Option<u64>,
}

/// 1 to 64, again and again.
const fn single(number: u64) -> u32 {
    (1.0 + (number % 64) as f32).to_bits()
}

/// Two f16 between 0.5 and 2, of changing signs.
const fn halves(number: u64) -> u32 {
    let bits = (number as u32).wrapping_mul(0x9e37_79b9) >> 3;
    bits & 0x87ff_87ff | 0x3800_3800
}

const CASES: [Case; 4] = [
    Case {
        name: "vector_add 1M",
        text: include_str!("../../../examples/vector_add/ptx/sm_80.ptx"),
        kernel: "vector_add",
        grid: [4096, 1, 1],
        block: [256, 1, 1],
        buffers: &[4 << 20; 3],
        word: single,
        numbers: &[1 << 20],
        dynamic_shared: 0,
        traced: [4096, 4096],
        multiply_adds: None,
    },
    Case {
        name: "matmul_tiled 512",
        text: include_str!("../../../examples/matmul_tiled/ptx/sm_80.ptx"),
        kernel: "matmul_tiled",
        grid: [32, 32, 1],
        block: [16, 16, 1],
        buffers: &[1 << 20; 3],
        word: single,
        numbers: &[512],
        dynamic_shared: 0,
        traced: [272, 426],
        multiply_adds: None,
    },
    Case {
        name: "black_scholes 1M",
        text: include_str!("../../../examples/black_scholes/ptx/sm_80.ptx"),
        kernel: "black_scholes",
        grid: [4096, 1, 1],
        block: [256, 1, 1],
        buffers: &[4 << 20; 5],
        word: single,
        numbers: &[0.02_f32.to_bits(), 0.3_f32.to_bits(), 1 << 20],
        dynamic_shared: 0,
        traced: [3200, 4096],
        multiply_adds: None,
    },
    Case {
        name: "mma.sync product 1024",
        text: include_str!("../../../validation/tensor/half_gemm.ptx"),
        kernel: "tiles_of_128_by_256",
        grid: [4, 8, 1],
        block: [256, 1, 1],
        buffers: &[4 << 20, 2 << 20, 2 << 20],
        word: halves,
        numbers: &[1024, 1024],
        dynamic_shared: 92_160,
        traced: [32, 16],
        multiply_adds: Some(1 << 30),
    },
];

fn load(case: &Case) -> Module {
    let (module, diagnostics) = warplens_ptx::load(case.text);
    module.unwrap_or_else(|| panic!("the example loads: {diagnostics:?}"))
}

fn request(case: &Case, device: &mut Device) -> Launch {
    let mut parameters = Vec::new();
    for (index, bytes) in case.buffers.iter().enumerate() {
        let buffer = device.allocate(&format!("argument {index}"), *bytes).expect("the host has the memory");
        let values: Vec<u8> = (0..bytes / 4).flat_map(|number| (case.word)(number).to_le_bytes()).collect();
        device.write(buffer, 0, &values);
        parameters.extend(device.buffer(buffer).base.to_le_bytes());
    }
    parameters.extend(case.numbers.iter().flat_map(|number| number.to_le_bytes()));
    Launch {
        grid: case.grid,
        block: case.block,
        cluster: None,
        dynamic_shared: case.dynamic_shared,
        parameters,
        ctas: None,
        budget: u64::MAX,
        launch_budget: u64::MAX,
        resident_ctas: 1024,
        threads: 1,
        schedule: Schedule::Any,
        allow_unsupported: false,
        allow_overreads: false,
        barriers: BarrierRule::Threads,
        tensor_cores: warplens_exec::TensorCores::default(),
    }
}

fn emulate(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("emulate");
    group.sample_size(10);
    for case in &CASES {
        let module = load(case);
        let mut device = Device::new(module.address_bits, u64::MAX);
        let image = device.load(&module).expect("the example is small");
        let (kernel, _) = module.kernels().find(|(_, of)| of.name == case.kernel).expect("the example has it");
        let program = Program::new(&module, image, kernel, &mut device).expect("the device has place for a heap");
        let mut request = request(case, &mut device);
        let progress = AtomicU64::new(0);
        let ((), summary) = launch(&program, &device, &request, (), &progress).expect("the example runs");
        group.throughput(Throughput::Elements(case.multiply_adds.unwrap_or(summary.thread_instructions)));
        group.bench_function(format!("{}, no statistics", case.name), |bencher| {
            bencher.iter(|| launch(&program, &device, &request, (), &progress).map(|(_, summary)| summary));
        });
        let shape = LaunchShape {
            grid: case.grid,
            block: case.block,
            cluster: None,
            shared_bytes: program.static_shared_bytes() + case.dynamic_shared,
            registers: 32,
            registers_basis: RegistersBasis::User,
        };
        let facts = warplens_stats::Program::new(&module, kernel, shape);
        group.bench_function(format!("{}, full statistics", case.name), |bencher| {
            bencher.iter(|| {
                let recorder = Recorder::new(facts.clone(), (0..shape.n_ctas() as u32).map(CtaId));
                launch(&program, &device, &request, recorder, &progress).map(|(_, summary)| summary)
            });
        });
        let places: Arc<[MemoryPlace]> = {
            let slots = warplens_codegen::slots(&module);
            module.pcs.ids().map(|pc| slots.of(pc)).collect()
        };
        let [traced, window] = case.traced;
        let n_ctas = shape.n_ctas() as u32;
        let traces = TraceRequest {
            ctas: (0..traced).map(|number| CtaId(number * n_ctas / traced)).collect(),
            bytes_per_cta: u64::MAX,
            window,
            pattern: pattern_ctas(Extents::new(case.grid, None)),
        };
        group.bench_function(format!("{}, full statistics and traces", case.name), |bencher| {
            bencher.iter(|| {
                let recorder = Recorder::new(facts.clone(), (0..n_ctas).map(CtaId));
                let tracer = Tracer::new(places.clone(), facts.n_warps(), traces.clone());
                let observer = (Some(recorder), Some(tracer));
                launch(&program, &device, &request, observer, &progress).map(|(_, summary)| summary)
            });
        });
        request.threads = 2;
        group.bench_function(format!("{}, no statistics, two threads", case.name), |bencher| {
            bencher.iter(|| launch(&program, &device, &request, (), &progress).map(|(_, summary)| summary));
        });
    }
    group.finish();
}

criterion_group!(benches, emulate);
criterion_main!(benches);
