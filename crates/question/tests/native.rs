//! Machine code from elsewhere is simulated through the facade, and its mistakes are told as such.

use std::path::{Path, PathBuf};

use warplens_launch::Launch;
use warplens_question::native::{Request, annotated, scaled};
use warplens_question::timing::Annotated;
use warplens_session::machines::{self, Machine, Strictness};
use warplens_session::{Error, ErrorKind, Input};

fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn request() -> Request {
    Request { threads: Some(256), sms: Some(10), ..Request::default() }
}

fn simulate(input: &Input, request: &Request, machine: &Machine) -> Result<Annotated, Error> {
    let answer = annotated(input, request, machine, Strictness::AllowInferred)?;
    Ok(answer.result.expect("the machine file has what the code needs"))
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
    let annotation = &simulated.annotation;
    assert_eq!(annotation.elsewhere.issued, 0);
    assert_eq!(annotation.whole.issued, 8 * (21 + 12 * 43 + 5));
    // The multiply-adds, 16 in each of 12 turns of 8 warps, stand on one line.
    let multiply_add =
        input.text().lines().position(|line| line.contains("g[A2+0x7]{tile_a + 4 * (16 * ty + k)}, R15")).unwrap() + 1;
    assert_eq!(annotation.texts[0].lines[&u32::try_from(multiply_add).unwrap()].issued, 8 * 12 * 16);
    let shorter = Request { values: vec![("K".into(), 96)], ..request() };
    assert!(simulate(&input, &shorter, &machine).unwrap().outcome.cycles < cycles / 2 + 1000);
}

/// What `scale` says of a listing is what the paper's sizes take one by one (Lai and Seznec, 2011, table 2).
#[test]
fn a_listing_scales_as_its_sizes_do_one_by_one() {
    let input = Input::read(file("examples/teg/abt_conflict.gt200")).unwrap();
    let machine = machines::one("gtx280").unwrap();
    let launch = Launch { grid: Some([20, 1, 1]), block: Some([16, 16, 1]), ..Launch::default() };
    let on_sm = Request::of_launch(&launch, &machine, Strictness::AllowInferred).unwrap();
    assert_eq!((on_sm.threads, on_sm.ctas, on_sm.sms), (Some(256), Some(1), Some(20)));
    let two = Request { ctas: Some(2), sms: Some(10), ..request() };
    let scale = scaled(&input, &two, &machine, Strictness::AllowInferred).unwrap().result.unwrap();
    let warps: Vec<u32> = scale.steps.iter().map(|step| step.warps).collect();
    assert_eq!(warps, [1, 2, 4, 8, 16]);
    for step in &scale.steps {
        let one = Request { threads: Some(step.warps.min(8) * 32), ctas: Some(step.ctas), ..request() };
        assert_eq!(simulate(&input, &one, &machine).unwrap().outcome.cycles, step.cycles, "{} warps", step.warps);
    }
}

#[test]
fn a_trace_is_simulated_with_its_own_launch() {
    let input = Input::read(file("crates/native/tests/data/exchange.traceg")).unwrap();
    let machine = machines::one("v100").unwrap();
    let simulated = simulate(&input, &Request::default(), &machine).unwrap();
    assert_eq!((simulated.kernel.demangled.as_str(), simulated.outcome.ctas.len()), ("exchange", 2));
    let one = Request { ctas: Some(1), ..Request::default() };
    assert_eq!(simulate(&input, &one, &machine).unwrap().outcome.issued * 2, simulated.outcome.issued);
    // Of a launch that the SMs share, one gets a CTA.
    let shared = Request::of_launch(&Launch::default(), &machine, Strictness::AllowInferred).unwrap();
    assert_eq!(simulate(&input, &shared, &machine).unwrap().outcome.ctas.len(), 1);
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
    let launch = Launch { registers: Some(32), ..Launch::default() };
    let error = Request::of_launch(&launch, &machine, Strictness::AllowInferred).unwrap_err();
    assert_eq!((error.kind, error.message.ends_with("no registers that could be set")), (ErrorKind::Usage, true));
    let error = failed("#BEGIN_TB\n", &Request::default());
    assert!(error.findings.unwrap().diagnostics[0].message.contains("-grid dim"));
    assert_eq!(failed("#BEGIN_TB\n", &request()).kind, ErrorKind::Usage);
}
