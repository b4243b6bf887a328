//! Throughput of the decoder and of its listing on code that ptxas wrote.

use std::fs;
use std::hint::black_box;
use std::path::PathBuf;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use warplens_sass::container::Cubin;
use warplens_sass::{Decoder, WORD_BYTES, words};

fn throughput(c: &mut Criterion) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    for (name, sm) in [("matmul_tiled_75.cubin", 75), ("matmul_tiled_90a.cubin", 90), ("matmul_tiled_120.cubin", 120)] {
        let bytes = fs::read(folder.join(name)).expect("the file is part of the repository");
        let cubin = Cubin::read(&bytes).expect("it is a cubin");
        let decoder = Decoder::of(sm).expect("the chip is known");
        let code: Vec<u128> = cubin.kernels.iter().flat_map(|kernel| words(cubin.code(&kernel.function))).collect();
        let mut group = c.benchmark_group(format!("sm_{sm}"));
        group.throughput(Throughput::Bytes(code.len() as u64 * WORD_BYTES));
        group.bench_function("decode", |b| {
            b.iter(|| code.iter().filter(|word| decoder.decode(black_box(**word)).is_some()).count());
        });
        let mut text = String::new();
        group.bench_function("text", |b| {
            b.iter(|| {
                text.clear();
                for word in &code {
                    if let Some(instruction) = decoder.decode(black_box(*word)) {
                        instruction.write(0, &mut text);
                    }
                }
                text.len()
            });
        });
        group.finish();
    }
}

criterion_group!(benches, throughput);
criterion_main!(benches);
