//! Machine code from elsewhere is simulated through the facade, and its mistakes are told as such.

use std::path::{Path, PathBuf};

use warplens_question::native::{Request, simulate};
use warplens_session::{Error, ErrorKind, Input, machines};

fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn request() -> Request {
    Request { threads: Some(256), sms: Some(10), ..Request::default() }
}

#[test]
fn a_listing_is_simulated_and_annotated() {
    let input = Input::read(file("examples/teg/abt_conflict_free.gt200")).unwrap();
    let machine = machines::one("gtx280").unwrap();
    let simulated = simulate(&input, &request(), &machine).unwrap();
    // Measured for eight warps: 23228 (validation/teg.md).
    let cycles = simulated.outcome.cycles;
    assert!((cycles as f64 / 23228.0 - 1.0).abs() < 0.05, "{cycles}");
    assert_eq!(simulated.kernel.demangled, "abt_conflict_free");
    assert!((simulated.time.microseconds() - cycles as f64 / 1296.0).abs() < 1e-6);
    let annotated = &simulated.annotation;
    assert_eq!(annotated.elsewhere.issued, 0);
    assert_eq!(annotated.whole.issued, 8 * (21 + 12 * 43 + 5));
    // The multiply-adds, 16 in each of 12 turns of 8 warps, stand on one line.
    let multiply_add =
        input.text().lines().position(|line| line.contains("g[A2+0x7]{tile_a + 4 * (16 * ty + k)}, R15")).unwrap() + 1;
    assert_eq!(annotated.texts[0].lines[&u32::try_from(multiply_add).unwrap()].issued, 8 * 12 * 16);
    let shorter = Request { values: vec![("K".into(), 96)], ..request() };
    assert!(simulate(&input, &shorter, &machine).unwrap().outcome.cycles < cycles / 2 + 1000);
}

#[test]
fn a_trace_is_simulated_with_its_own_launch() {
    let input = Input::read(file("crates/native/tests/data/exchange.traceg")).unwrap();
    let machine = machines::one("v100").unwrap();
    let simulated = simulate(&input, &Request::default(), &machine).unwrap();
    assert_eq!((simulated.kernel.demangled.as_str(), simulated.outcome.ctas.len()), ("exchange", 2));
    let one = Request { ctas: Some(1), ..Request::default() };
    assert_eq!(simulate(&input, &one, &machine).unwrap().outcome.issued * 2, simulated.outcome.issued);
}

#[test]
fn mistakes_are_those_of_the_input_or_of_the_request() {
    let machine = machines::one("gtx280").unwrap();
    let failed = |text: &str, request: &Request| -> Error {
        let input = Input::new("x", None, text.as_bytes().to_vec()).unwrap();
        simulate(&input, request, &machine).expect_err("it is wrong")
    };
    let error = failed("FADD R1, R2\nFOO R1", &request());
    assert_eq!(error.kind, ErrorKind::Input);
    assert_eq!(error.findings.unwrap().diagnostics[0].message, "unknown instruction `FOO`");
    let error = failed("GLD.U32 R1, global14[R2]{lane - 1}", &request());
    assert_eq!(error.findings.unwrap().diagnostics[0].code, "N032");
    assert_eq!(failed("NOP", &Request::default()).kind, ErrorKind::Usage);
    assert_eq!(failed("NOP", &Request { ctas: Some(0), ..request() }).kind, ErrorKind::Usage);
    let error = failed("#BEGIN_TB\n", &Request::default());
    assert!(error.findings.unwrap().diagnostics[0].message.contains("-grid dim"));
    assert_eq!(failed("#BEGIN_TB\n", &request()).kind, ErrorKind::Usage);
}
