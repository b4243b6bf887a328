//! What buffers must hold after a launch, as tests write it, and the comparison.

use warplens_launch::{Element, ElementType};
use warplens_session::{Output, RunResult};

/// An error with everything that it says.
pub(crate) fn describe(error: &warplens_session::Error) -> String {
    let mut text = error.message.clone();
    for detail in &error.details {
        text += &format!("\n    {detail}");
    }
    let diagnostics = error.findings.iter().flat_map(|findings| &findings.diagnostics);
    for diagnostic in diagnostics.filter(|diagnostic| diagnostic.message != error.message) {
        text += &format!("\n    {}", diagnostic.message);
    }
    text
}

/// An integer of a table; 0 where it is missing.
pub(crate) fn integer(table: &toml::Table, key: &str) -> i64 {
    table.get(key).map_or(0, |value| value.as_integer().expect("the key is an integer"))
}

fn float(table: &toml::Table, key: &str) -> Option<f64> {
    table.get(key).map(|value| as_float(value).expect("the key is a number"))
}

fn as_float(value: &toml::Value) -> Option<f64> {
    value.as_float().or(value.as_integer().map(|value| value as f64))
}

/// The first elements of a buffer that differ from what an expectation says.
pub(crate) fn difference(expect: &toml::Table, result: &RunResult) -> Option<String> {
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
