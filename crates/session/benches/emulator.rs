//! Emulation speed in thread instructions per second on one core, with and without statistics.

use std::sync::atomic::AtomicU64;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use warplens_exec::{BarrierRule, Device, Launch, Program, Schedule, launch};
use warplens_ir::Module;
use warplens_stats::{LaunchShape, Recorder, RegistersBasis};
use warplens_trace::CtaId;

struct Case {
    name: &'static str,
    text: &'static str,
    grid: [u32; 3],
    block: [u32; 3],
    /// Sizes of the buffers in bytes, which come first among the arguments.
    buffers: &'static [u64],
    /// Bits of the arguments behind them.
    numbers: &'static [u32],
}

const CASES: [Case; 3] = [
    Case {
        name: "vector_add 1M",
        text: include_str!("../../../examples/vector_add/ptx/sm_80.ptx"),
        grid: [4096, 1, 1],
        block: [256, 1, 1],
        buffers: &[4 << 20; 3],
        numbers: &[1 << 20],
    },
    Case {
        name: "matmul_tiled 512",
        text: include_str!("../../../examples/matmul_tiled/ptx/sm_80.ptx"),
        grid: [32, 32, 1],
        block: [16, 16, 1],
        buffers: &[1 << 20; 3],
        numbers: &[512],
    },
    Case {
        name: "black_scholes 1M",
        text: include_str!("../../../examples/black_scholes/ptx/sm_80.ptx"),
        grid: [4096, 1, 1],
        block: [256, 1, 1],
        buffers: &[4 << 20; 5],
        numbers: &[0.02_f32.to_bits(), 0.3_f32.to_bits(), 1 << 20],
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
        let values: Vec<u8> = (0..bytes / 4).flat_map(|i| (1.0 + (i % 64) as f32).to_le_bytes()).collect();
        device.write(buffer, 0, &values);
        parameters.extend(device.buffer(buffer).base.to_le_bytes());
    }
    parameters.extend(case.numbers.iter().flat_map(|number| number.to_le_bytes()));
    Launch {
        grid: case.grid,
        block: case.block,
        cluster: None,
        dynamic_shared: 0,
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
        let (kernel, _) = module.kernels().next().expect("the example has a kernel");
        let program = Program::new(&module, image, kernel, &mut device).expect("the device has place for a heap");
        let request = request(case, &mut device);
        let progress = AtomicU64::new(0);
        let ((), summary) = launch(&program, &device, &request, (), &progress).expect("the example runs");
        group.throughput(Throughput::Elements(summary.thread_instructions));
        group.bench_function(format!("{}, no statistics", case.name), |bencher| {
            bencher.iter(|| launch(&program, &device, &request, (), &progress).map(|(_, summary)| summary));
        });
        let shape = LaunchShape {
            grid: case.grid,
            block: case.block,
            cluster: None,
            shared_bytes: program.static_shared_bytes(),
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
    }
    group.finish();
}

criterion_group!(benches, emulate);
criterion_main!(benches);
