//! Kernels that nvcc compiled, run on the emulator; their results are compared with values computed from formulas.
//!
//! The cases lie in `crates/exec/tests/data`, whose README names the keys. `CASE=shuffle` runs one case only.

use std::path::{Path, PathBuf};

use warplens_session::launch::{Element, ElementType, Launch};
use warplens_session::{ExecutionOptions, Extent, Output, OutputRequest, Program, Progress, RunResult, run};

/// Warp instructions that a case may take: enough for each, and soon over for a kernel that waits for ever.
const BUDGET: u64 = 20_000_000;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../exec/tests/data")
}

struct Case {
    name: String,
    table: toml::Table,
    launches: Vec<Launch>,
}

fn cases() -> Vec<Case> {
    let only = std::env::var("CASE").ok();
    let entries = std::fs::read_dir(folder()).expect("the folder of cases exists");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("entries can be read").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    let cases = paths.iter().map(|path| read_case(path));
    cases.filter(|case| only.as_ref().is_none_or(|only| *only == case.name)).collect()
}

/// A case is a launch file with the keys of the expectations added.
fn read_case(path: &Path) -> Case {
    let text = std::fs::read_to_string(path).expect("cases can be read");
    let table: toml::Table = toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut launch = table.clone();
    for key in ["ptx", "stdout", "expect"] {
        launch.remove(key);
    }
    let launch = toml::to_string(&launch).expect("a table is valid TOML");
    let launches = Launch::parse_file(&path.to_string_lossy(), &launch)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let name = path.file_stem().expect("cases have names").to_string_lossy().into_owned();
    Case { name, table, launches }
}

impl Case {
    fn targets(&self) -> Vec<&str> {
        let targets = self.table["ptx"].as_array().expect("`ptx` is a list");
        targets.iter().map(|target| target.as_str().expect("targets are names")).collect()
    }

    fn expectations(&self) -> Vec<&toml::Table> {
        let list = self.table["expect"].as_array().expect("`expect` is a list");
        list.iter().map(|expect| expect.as_table().expect("expectations are tables")).collect()
    }

    fn program(&self, target: &str) -> Result<Program, String> {
        let path = folder().join("ptx").join(target).join(&self.name).with_extension("ptx");
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Program::from_ptx(&self.name, text).map_err(|error| describe(&error))
    }

    fn run(&self, target: &str, threads: usize) -> Result<RunResult, String> {
        let program = self.program(target)?;
        let mut buffers: Vec<i64> = self.expectations().iter().map(|expect| integer(expect, "buffer")).collect();
        buffers.sort_unstable();
        buffers.dedup();
        let requests: Vec<OutputRequest> =
            buffers.iter().map(|buffer| OutputRequest { key: buffer.to_string(), count: None }).collect();
        let options = ExecutionOptions { threads, budget: BUDGET, allow_unsupported: false, extent: Extent::Full };
        run(&program, &self.launches, &requests, options, &Progress::default()).map_err(|error| describe(&error))
    }

    /// What the results have that the case does not expect.
    fn differences(&self, result: &RunResult) -> Vec<String> {
        let mut differences: Vec<String> =
            self.expectations().into_iter().flat_map(|expect| difference(expect, result)).collect();
        let stdout = self.table.get("stdout").and_then(toml::Value::as_str).unwrap_or_default();
        if result.printed != stdout {
            differences.push(format!("printed {:?} instead of {stdout:?}", result.printed));
        }
        differences
    }
}

fn describe(error: &warplens_session::Error) -> String {
    let mut text = error.message.clone();
    for detail in &error.details {
        text += &format!("\n    {detail}");
    }
    for diagnostic in error.findings.iter().flat_map(|findings| &findings.diagnostics) {
        text += &format!("\n    {}", diagnostic.message);
    }
    text
}

fn integer(table: &toml::Table, key: &str) -> i64 {
    table.get(key).map_or(0, |value| value.as_integer().expect("the key is an integer"))
}

fn float(table: &toml::Table, key: &str) -> Option<f64> {
    table.get(key).map(|value| as_float(value).expect("the key is a number"))
}

fn as_float(value: &toml::Value) -> Option<f64> {
    value.as_float().or(value.as_integer().map(|value| value as f64))
}

/// The first elements of a buffer that differ from what an expectation says.
fn difference(expect: &toml::Table, result: &RunResult) -> Option<String> {
    let key = integer(expect, "buffer").to_string();
    let output = result.outputs.iter().find(|output| output.key == key).expect("every expected buffer was read");
    let values = expect["values"].as_array().expect("`values` is a list");
    let offset = usize::try_from(integer(expect, "offset")).expect("offsets are positive");
    let elements: Vec<Element> = output.elements().skip(offset).take(values.len()).collect();
    assert_eq!(elements.len(), values.len(), "the expectation lies inside the buffer");
    let bound = Bound {
        ulp: float(expect, "ulp"),
        rel: float(expect, "rel"),
        abs: float(expect, "abs"),
        signed_zero: expect.get("signed_zero").and_then(toml::Value::as_bool).unwrap_or(true),
    };
    let wrong: Vec<String> = elements
        .iter()
        .zip(values)
        .enumerate()
        .filter(|(_, (element, value))| !agrees(**element, value, output, &bound))
        .map(|(index, (element, value))| format!("[{}] {} instead of {value}", offset + index, show(*element)))
        .collect();
    let what = expect.get("what").and_then(toml::Value::as_str).unwrap_or("values");
    (!wrong.is_empty()).then(|| {
        let shown = wrong.iter().take(4).cloned().collect::<Vec<_>>().join(", ");
        format!("buffer {key}, {what}: {} of {} wrong: {shown}", wrong.len(), values.len())
    })
}

fn show(element: Element) -> String {
    match element {
        Element::Unsigned(value) => value.to_string(),
        Element::Signed(value) => value.to_string(),
        Element::Single(value) => format!("{value:?}"),
        Element::Double(value) => format!("{value:?}"),
    }
}

/// How far a float may be from what is expected.
struct Bound {
    ulp: Option<f64>,
    rel: Option<f64>,
    abs: Option<f64>,
    signed_zero: bool,
}

fn agrees(element: Element, value: &toml::Value, output: &Output, bound: &Bound) -> bool {
    let found = match element {
        Element::Unsigned(found) => return value.as_integer().is_some_and(|value| i128::from(value) == found.into()),
        Element::Signed(found) => return value.as_integer() == Some(found),
        Element::Single(found) => f64::from(found),
        Element::Double(found) => found,
    };
    let wanted = as_float(value).expect("floats are compared with numbers");
    if found.is_nan() || wanted.is_nan() {
        return found.is_nan() && wanted.is_nan();
    }
    if found == wanted {
        return found != 0.0 || !bound.signed_zero || found.is_sign_positive() == wanted.is_sign_positive();
    }
    if found.is_infinite() || wanted.is_infinite() {
        return false;
    }
    let error = (found - wanted).abs();
    bound.ulp.is_some_and(|ulp| error <= ulp * unit_in_the_last_place(wanted, output.element))
        || bound.rel.is_some_and(|rel| error <= rel * wanted.abs())
        || bound.abs.is_some_and(|abs| error <= abs)
}

/// Distance between neighbouring values of the type at `value`.
fn unit_in_the_last_place(value: f64, ty: ElementType) -> f64 {
    let (fraction_bits, lowest_exponent) = match ty {
        ElementType::F16 => (10, -14),
        ElementType::Bf16 => (7, -126),
        ElementType::F32 => (23, -126),
        _ => (52, -1022),
    };
    let exponent = if value == 0.0 { lowest_exponent } else { value.abs().log2().floor() as i32 };
    f64::powi(2.0, exponent.max(lowest_exponent) - fraction_bits)
}

#[test]
fn kernels_leave_the_expected_values() {
    let mut failures = Vec::new();
    let mut n_runs = 0;
    for case in cases() {
        for target in case.targets() {
            n_runs += 1;
            match case.run(target, 2) {
                Ok(result) => {
                    let differences = case.differences(&result);
                    failures.extend(differences.iter().map(|text| format!("{} ({target}): {text}", case.name)));
                }
                Err(message) => failures.push(format!("{} ({target}): {message}", case.name)),
            }
        }
    }
    assert!(n_runs > 0, "there are cases");
    assert!(failures.is_empty(), "{} of {n_runs} runs:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn results_do_not_depend_on_the_number_of_host_threads() {
    for case in cases() {
        for target in case.targets() {
            let results =
                [1, 3].map(|threads| case.run(target, threads).map(|result| (result.outputs, result.printed)));
            assert!(results[0] == results[1], "{} ({target})", case.name);
        }
    }
}

#[test]
fn a_wrong_value_is_noticed() {
    let float = |found: f32, wanted: f64, ulp: Option<f64>, signed_zero: bool| {
        let output = Output { key: String::new(), element: ElementType::F32, bytes: Vec::new() };
        let bound = Bound { ulp, rel: None, abs: None, signed_zero };
        agrees(Element::Single(found), &toml::Value::Float(wanted), &output, &bound)
    };
    let next = f32::from_bits(1f32.to_bits() + 1);
    assert!(float(1.0, 1.0, None, true) && float(f32::NAN, f64::NAN, None, true));
    assert!(!float(next, 1.0, None, true) && float(next, 1.0, Some(1.0), true) && !float(2.0, 1.0, Some(3.0), true));
    assert!(!float(-0.0, 0.0, Some(1.0), true) && float(-0.0, 0.0, None, false));
    assert!(!float(f32::INFINITY, f64::from(f32::MAX), Some(9.0), true) && !float(f32::NAN, 1.0, Some(9.0), true));
}
