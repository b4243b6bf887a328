//! Every shipped example computes what its CPU reference computes, from the PTX of every target.

mod fmm;
mod reference;

use std::path::{Path, PathBuf};

use reference::{CHECKS, Check, Field, Tolerance, View, uniform, uniform_u8};
use warplens_launch::{Element, Launch};
use warplens_session::{ExecutionOptions, OutputRequest, Program, Progress, run};

/// The expected content of an argument, for the sizes of `launch.toml`.
enum Expected {
    Floats(Vec<f32>),
    Integers(Vec<u32>),
}

fn folder(example: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(example)
}

/// Holds a file of data that an example reads; `UPDATE=1` writes it anew.
fn check_file(path: &Path, content: &[u8]) {
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, content).expect("the file can be written");
    }
    let found = std::fs::read(path).unwrap_or_default();
    assert!(found == content, "{} is not what `UPDATE=1` writes", path.display());
}

/// The constants of `svm` are the support vectors and weights that `svm_naive` reads from global memory.
#[test]
fn files_hold_the_support_vectors() {
    for (name, count, seed) in [("vectors.bin", 400, 2), ("weights.bin", 16, 3)] {
        let values = uniform(count, -1.0, 1.0, seed);
        let content: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        check_file(&folder("svm").join(name), &content);
    }
}

fn expected(example: &str, argument: usize) -> Expected {
    let floats = |count, seed| uniform(count, -1.0, 1.0, seed);
    let matrices = || (floats(1 << 16, 1), floats(1 << 16, 2));
    let field = Field { ex: 0.5, ey: -0.25, ez: 0.125, dt: 0.01 };
    match (example, argument) {
        ("vector_add", 2) => Expected::Floats(reference::vector_add(&floats(1 << 20, 1), &floats(1 << 20, 2))),
        ("matmul_naive" | "matmul_tiled", 2) => {
            let (a, b) = matrices();
            Expected::Floats(reference::matmul(&a, &b, 256))
        }
        ("abt_conflict" | "abt_conflict_free", 2) => {
            let (a, b) = matrices();
            Expected::Floats(reference::matmul_transposed(&a, &b, 256))
        }
        ("gesummv", 3) => {
            let (a, b, x) = (floats(23_040 * 128, 1), floats(23_040 * 128, 2), floats(128, 3));
            Expected::Floats(reference::gesummv(&a, &b, &x, 1.5, 0.5))
        }
        ("reduction_shuffle", 1) => Expected::Floats(reference::reduction_shuffle(&floats(1 << 20, 1), 256, 256)),
        ("layout_aos", 0) => Expected::Floats(reference::layout_aos(&floats(1 << 19, 1), field)),
        ("layout_soa", 0) => Expected::Floats(reference::layout_soa(&floats(1 << 19, 1), field)),
        ("histogram_atomics", 1) => Expected::Integers(reference::histogram_atomics(&uniform_u8(1 << 20, 0, 255, 1))),
        ("black_scholes", 3 | 4) => {
            let draw = |low, high, seed| uniform(1 << 18, low, high, seed);
            let (price, strike, years) = (draw(5.0, 30.0, 1), draw(1.0, 100.0, 2), draw(0.25, 10.0, 3));
            let (call, put) = reference::black_scholes(&price, &strike, &years, 0.02, 0.3);
            Expected::Floats(if argument == 3 { call } else { put })
        }
        ("black_scholes_7", 4 | 5) => {
            let draw = |low, high, seed| uniform(1 << 14, low, high, seed);
            let (price, strike, years) = (draw(5.0, 30.0, 1), draw(1.0, 100.0, 2), draw(0.25, 10.0, 3));
            let added = uniform(7 << 14, 0.0, 0.5, 4);
            let (call, put) = reference::black_scholes_7([&price, &strike, &years], &added, 0.02, 0.3);
            Expected::Floats(if argument == 4 { call } else { put })
        }
        ("fmm_ulist", 6) => Expected::Floats(fmm::small().potentials(fmm::Layout::Arrays)),
        ("sepia", 1) => Expected::Floats(reference::sepia(&uniform(57600, 0.0, 255.0, 1))),
        ("linear", 1) => Expected::Floats(reference::linear(&uniform(57600, 0.0, 255.0, 1), 160, 120)),
        ("svm", 1 | 3) => {
            let (vectors, weights) = (floats(400, 2), floats(16, 3));
            Expected::Floats(reference::svm(&floats(25 << 12, 1), &vectors, &weights, 0.125))
        }
        ("mandelbrot", 0) => {
            let (left, top, pixel) = (-2.0, 1.25, 0.004_882_812_5);
            Expected::Integers(reference::mandelbrot(View {
                width: 512,
                height: 512,
                left,
                top,
                pixel,
                max_steps: 256,
            }))
        }
        _ => panic!("no reference for argument {argument} of {example}"),
    }
}

fn compare(what: &str, elements: Vec<Element>, expected: &Expected, tolerance: Tolerance) {
    let n_expected = match expected {
        Expected::Floats(values) => values.len(),
        Expected::Integers(values) => values.len(),
    };
    assert_eq!(elements.len(), n_expected, "{what}");
    for (index, element) in elements.into_iter().enumerate() {
        match (element, expected) {
            (Element::Single(got), Expected::Floats(values)) => {
                assert!(tolerance.accepts(got, values[index]), "{what}[{index}]: {got}, expected {}", values[index]);
            }
            (Element::Unsigned(got), Expected::Integers(values)) => {
                assert_eq!(got, u64::from(values[index]), "{what}[{index}]");
            }
            (element, _) => panic!("{what}[{index}] is {element:?}"),
        }
    }
}

fn check(example: &str) {
    let mut launches: Vec<&str> =
        CHECKS.iter().filter(|check| check.example == example).map(|check| check.launch).collect();
    launches.dedup();
    assert!(!launches.is_empty(), "{example} has no reference");
    for launch in launches {
        check_launch(example, launch);
    }
}

fn check_launch(example: &str, launch: &str) {
    let of_launch = |check: &&Check| check.example == example && check.launch == launch;
    let checks: Vec<_> = CHECKS.iter().filter(of_launch).collect();
    let launch = folder(example).join(launch);
    let launches =
        warplens_session::source::launches(launch.to_str(), Launch::default()).expect("the launch file is fine");
    let requests: Vec<OutputRequest> =
        checks.iter().map(|check| OutputRequest { key: check.argument.to_string(), count: None }).collect();
    let expected: Vec<Expected> = checks.iter().map(|check| expected(example, check.argument)).collect();
    let mut targets: Vec<PathBuf> = std::fs::read_dir(folder(example).join("ptx"))
        .expect("the example has a folder of PTX")
        .map(|entry| entry.expect("the folder can be read").path())
        .collect();
    targets.sort();
    assert_eq!(targets.len(), 5, "{example}: {targets:?}");
    for path in targets {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(&path).expect("the PTX can be read");
        let program = Program::from_ptx(&name, text).unwrap_or_else(|error| panic!("{error}"));
        let result = run(&program, &launches, &requests, ExecutionOptions::new(), &Progress::default());
        let result = result.unwrap_or_else(|error| panic!("{name}: {error}"));
        for ((check, output), expected) in checks.iter().zip(&result.outputs).zip(&expected) {
            let what = format!("{name} argument {} ({})", check.argument, check.reason);
            compare(&what, output.elements().collect(), expected, check.tolerance);
        }
    }
}

macro_rules! examples {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            check(stringify!($name));
        })*

        /// A new example without a test here would go unnoticed.
        #[test]
        fn every_example_is_tested() {
            let tested = [$(stringify!($name)),*];
            let mut found: Vec<String> = std::fs::read_dir(folder(""))
                .expect("the folder of examples can be read")
                .map(|entry| entry.expect("the folder can be read").path())
                .filter(|path| path.join("ptx").is_dir())
                .map(|path| path.file_name().expect("an entry has a name").to_string_lossy().into_owned())
                .collect();
            found.sort();
            assert_eq!(found, tested);
        }
    };
}

examples! {
    abt_conflict abt_conflict_free black_scholes black_scholes_7 fmm_ulist gesummv histogram_atomics layout_aos
    layout_soa linear mandelbrot matmul_naive matmul_tiled reduction_shuffle sepia svm vector_add
}
