//! The papers' worked examples, as they ship in `examples/models`: the numbers that the papers print, and those of exact
//! arithmetic.

use std::path::PathBuf;

use toml::{Table, Value};
use warplens_machine::{Machine, builtin};
use warplens_model::{Given, Options, Prediction, find, point_name};

/// Exact values are given with five digits or so.
const EXACT: f64 = 5e-4;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/models")
}

fn load(name: &str) -> Table {
    let text = std::fs::read_to_string(folder().join(name)).unwrap();
    text.parse().unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn number(value: &Value) -> f64 {
    value.as_float().or(value.as_integer().map(|whole| whole as f64)).unwrap()
}

fn machine(file: &Table) -> Option<Machine> {
    file.get("gpu").map(|id| builtin::machine(id.as_str().unwrap()).unwrap().unwrap())
}

/// The inputs of a file, curves point by point.
fn given(file: &Table) -> Given {
    let mut given = Given::new();
    for (name, value) in file["inputs"].as_table().unwrap() {
        match value.as_array() {
            Some(points) => {
                given.extend(points.iter().map(|point| (point_name(name, number(&point[0])), number(&point[1]))));
            }
            None => _ = given.insert(name.clone(), number(value)),
        }
    }
    given
}

fn evaluate(file: &Table) -> Prediction {
    let model = find(file["model"].as_str().unwrap()).unwrap();
    model.evaluate(&given(file), machine(file).as_ref(), &Options::default()).unwrap()
}

fn found(prediction: &Prediction, name: &str) -> f64 {
    match name {
        "time_ms" => prediction.seconds().0 * 1e3,
        name => prediction.quantity_called(name).unwrap_or_else(|| panic!("no quantity {name}")),
    }
}

#[test]
fn published_and_exact_numbers_come_out() {
    let (mut n_files, mut n_of_papers) = (0, 0);
    let mut names: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".toml"))
        .collect();
    names.sort();
    let mut wrong = Vec::new();
    for name in &names {
        let file = load(name);
        let prediction = evaluate(&file);
        let mut check = |quantity: &str, wanted: f64, tolerance: f64| {
            let found = found(&prediction, quantity);
            if (found - wanted).abs() > tolerance.max(1e-12) * wanted {
                wrong.push(format!("{name}: {quantity} is {found}, not {wanted} within {tolerance}"));
            }
        };
        let tables = ["published", "implied", "reading"];
        let rows = |table: &str| file.get(table).and_then(Value::as_table).into_iter().flatten();
        assert!(tables.into_iter().flat_map(rows).next().is_some(), "{name} says nothing");
        for (quantity, row) in tables.into_iter().flat_map(rows) {
            check(quantity, number(&row["value"]), number(&row["tolerance"]));
        }
        n_of_papers += usize::from(file.contains_key("published"));
        for (quantity, value) in file.get("exact").and_then(Value::as_table).into_iter().flatten() {
            check(quantity, number(value), EXACT);
        }
        n_files += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!((n_files, n_of_papers), (21, 11), "files, and those with numbers that a paper prints");
}

/// What an input was solved from is no check: none of it stands among what a paper prints.
#[test]
fn no_published_number_was_put_in() {
    for entry in std::fs::read_dir(folder()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if !name.ends_with(".toml") {
            continue;
        }
        let (text, file) = (std::fs::read_to_string(folder().join(&name)).unwrap(), load(&name));
        for (key, _) in file.get("published").and_then(Value::as_table).into_iter().flatten() {
            assert!(!text.contains(&format!("implied by the printed {key}")), "{name}: {key} was put in");
        }
        let implied = file.get("implied").and_then(Value::as_table).map_or(0, Table::len);
        assert_eq!(implied, text.matches("implied by the printed").count(), "{name}");
    }
}

/// The thesis's tables do not depend on the corrections: its kernels have one independent load.
#[test]
fn the_tables_come_out_as_printed_too() {
    for name in ["hong-kim-figure-12.toml", "analyzer-table-08.toml", "analyzer-fmm-baseline.toml"] {
        let file = load(name);
        let model = find(file["model"].as_str().unwrap()).unwrap();
        let mut options = Options::default();
        options.set(model, "as-printed").unwrap();
        let printed = model.evaluate(&given(&file), machine(&file).as_ref(), &options).unwrap();
        assert_eq!(printed.time, evaluate(&file).time, "{name}");
        assert!(printed.assumptions.iter().any(|assumption| assumption.id.name() == "as-printed"));
    }
}

/// The MWP of the example rounded to 2.28, as the paper carries it on.
#[test]
fn the_papers_rounding_explains_its_last_digits() {
    let (mem, comp, mwp): (f64, f64, f64) = (4380.0, 132.0, 2.28);
    let exec = mem * 20.0 / mwp + comp / 6.0 * (mwp - 1.0);
    assert!((exec - 38449.0).abs() < 1.0, "{exec}");
    let synch = 320.0 * (mwp - 1.0) * 6.0 * 5.0;
    assert!((synch - 12288.0).abs() < 1.0, "{synch}");
}
