//! Throughput of lexer, parser and printer on real compiler output, repeated to several megabytes.

use std::fs;
use std::hint::black_box;
use std::path::PathBuf;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use warplens_ptx::syntax::lexer::{Lexer, TokenKind};
use warplens_ptx::syntax::{parse, print};

/// The modules of the corpus whose name contains `part`, one after another, until `bytes` are reached.
fn text(part: &str, bytes: usize) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the corpus is part of the repository")
        .map(|entry| entry.expect("the folder can be read").path())
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().contains(part)))
        .filter(|path| path.extension().is_some_and(|extension| extension == "ptx"))
        .collect();
    files.sort();
    let texts: Vec<String> = files.iter().map(|path| fs::read_to_string(path).expect("files are text")).collect();
    assert!(!texts.is_empty(), "no file is called {part}");
    let mut all = String::new();
    while all.len() < bytes {
        texts.iter().for_each(|text| all.push_str(text));
    }
    all
}

fn lex(source: &str) -> usize {
    let mut lexer = Lexer::new(source);
    let mut n_tokens = 0;
    while lexer.next_token().kind != TokenKind::End {
        n_tokens += 1;
    }
    n_tokens
}

fn throughput(c: &mut Criterion) {
    let sources = [
        ("code", text("numbers", 4 << 20)),
        ("lineinfo", text("lineinfo", 4 << 20)),
        ("debug", text("debug", 4 << 20)),
        ("all", text("_sm", 8 << 20)),
    ];
    let mut group = c.benchmark_group("parse");
    group.sample_size(20);
    for (name, source) in &sources {
        group.throughput(Throughput::Bytes(source.len() as u64));
        group.bench_function(format!("lex/{name}"), |b| b.iter(|| lex(black_box(source))));
        group.bench_function(format!("parse/{name}"), |b| b.iter(|| parse(black_box(source))));
        let (module, _) = parse(source);
        group.bench_function(format!("print/{name}"), |b| b.iter(|| print(black_box(&module))));
    }
    group.finish();
}

criterion_group!(benches, throughput);
criterion_main!(benches);
