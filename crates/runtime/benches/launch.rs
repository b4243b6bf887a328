//! What a launch costs beside its emulation: one that repeats, by way of the runtime, and the same emulated alone.
//!
//! The kernel does nothing but store, in as few instructions as can be, so that what is left is what surrounds it.

use criterion::{Criterion, criterion_group, criterion_main};
use warplens_device::Context;
use warplens_runtime::{Config, MemoryKind, ModuleSource, NoMemory, Request, Runtime};
use warplens_session::findings::Checks;
use warplens_session::machines;
use warplens_session::served::{self, Answering, Code, Loaded, Served, ServedLaunch};
use warplens_session::toolchain::{CodeKind, Search};

const PTX: &str = r"
.version 8.0
.target sm_80
.address_size 64
.visible .entry store(.param .u64 to) {
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [to];
  st.global.u32 [%rd1], 1;
  ret;
}
";

fn by_runtime(criterion: &mut Criterion) {
    let config = Config {
        machines: machines::select("h200").expect("it is built in"),
        trail: Some(std::env::temp_dir().join("warplens-launch-bench.trail")),
        threads: 1,
        sample: None,
        code: CodeKind::default(),
        options: Answering::default(),
        virtual_clock: false,
        allow_overreads: false,
        leaves_out: false,
        checks: Vec::new(),
        archive: None,
    };
    let trail = config.trail.clone().expect("it was just named");
    let mut runtime = Runtime::new(config, Box::new(NoMemory));
    let module = runtime.load_module(ModuleSource::Texts(vec![PTX.to_owned()])).expect("the PTX is fine");
    let function = runtime.module_function(module, "store").expect("it has the kernel");
    // A program that has some allocations.
    let addresses =
        (0..100).map(|_| runtime.allocate("cudaMalloc", 1 << 16, MemoryKind::Device).expect("there is room"));
    let addresses: Vec<u64> = addresses.collect();
    let request = Request {
        function,
        stream: 0,
        grid: [1; 3],
        block: [32, 1, 1],
        cluster: None,
        dynamic_shared: 0,
        cooperative: false,
        parameters: addresses[50].to_le_bytes().to_vec(),
    };
    criterion.bench_function("launch that repeats", |bencher| {
        bencher.iter(|| runtime.launch(&request).expect("it went well before"));
    });
    // The lines that were written are of no use to anybody.
    let _ = std::fs::remove_file(trail);
}

fn alone(criterion: &mut Criterion) {
    let machines = machines::select("h200").expect("it is built in");
    let (mut context, search) = (Context::new(64, 1 << 30), Search::from_environment());
    let code = Code::Ptx(vec![PTX.to_owned()]);
    let loaded = Loaded::new(&mut context, "module", code, ("sm_90", &search)).expect("the PTX is fine");
    let served =
        Served::new(&mut context, &loaded, "store", &search).expect("the PTX is fine").expect("it has the kernel");
    let allocation = context.allocate("to", 1 << 16).expect("there is room");
    let (address, _) = context.extent(allocation).expect("it is there");
    let launch = ServedLaunch {
        grid: [1; 3],
        block: [32, 1, 1],
        cluster: None,
        allows_large_clusters: false,
        dynamic_shared: 0,
        parameters: address.to_le_bytes().to_vec(),
        memory_bytes: 1 << 16,
    };
    let options = served::options(&machines, 1, None);
    criterion.bench_function("its emulation alone", |bencher| {
        bencher.iter(|| {
            let done = served.run(&mut context, &loaded, &launch, (&options, &mut Checks::default()));
            done.expect("it goes well").result
        });
    });
}

criterion_group!(launches, by_runtime, alone);
criterion_main!(launches);
