//! How far the estimate of register use is from what ptxas reports, on kernels that ptxas has compiled.
#![allow(clippy::unwrap_used, reason = "a test may stop where its data is not as it must be")]

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use warplens_ir::{Module, register_estimate};

struct Row {
    ptx: PathBuf,
    kernel: String,
    target: u32,
    registers: f64,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Rows of a table `..kernel,target,registers,..`; `ptx` says where the text of a row is.
fn rows(table: &Path, ptx: impl Fn(&HashMap<&str, &str>) -> PathBuf) -> Vec<Row> {
    let text = fs::read_to_string(table).unwrap();
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    lines
        .map(|line| {
            let row: HashMap<&str, &str> = names.iter().copied().zip(line.split(',')).collect();
            Row {
                ptx: ptx(&row),
                kernel: row["kernel"].to_owned(),
                target: row["target"].trim_start_matches("sm_").parse().unwrap(),
                registers: row["registers"].parse().unwrap(),
            }
        })
        .collect()
}

/// Mean of the relative errors, and a table of the rows.
fn mean_error(rows: &[Row]) -> (f64, String) {
    let mut table = String::new();
    let mut sum = 0.0;
    for row in rows {
        let (module, _) = warplens_ptx::load(&fs::read_to_string(&row.ptx).unwrap());
        let module: Module = module.unwrap();
        let kernel = module.function_named(&row.kernel).unwrap();
        let estimate = register_estimate(&module, kernel, row.target);
        let error = (f64::from(estimate) - row.registers).abs() / row.registers;
        table += &format!("{} sm_{}: {} estimated {estimate}\n", row.kernel, row.target, row.registers);
        sum += error;
    }
    (sum / rows.len() as f64, table)
}

#[test]
fn examples_are_estimated_within_15_percent_on_five_targets() {
    let folder = root().join("examples");
    let rows = rows(&folder.join("registers.csv"), |row| {
        folder.join(row["example"]).join("ptx").join(format!("{}.ptx", row["target"]))
    });
    assert!(rows.len() >= 55, "the examples are gone");
    let (error, table) = mean_error(&rows);
    assert!(error <= 0.15, "mean error {error:.3}\n{table}");
}

#[test]
fn kernels_of_the_fit_are_estimated_within_10_percent() {
    let folder = root().join("crates/ir/tests/data/registers");
    let rows =
        rows(&folder.join("registers.csv"), |row| folder.join(row["target"]).join(format!("{}.ptx", row["kernel"])));
    assert!(rows.len() >= 44, "the kernels of the fit are gone");
    let (error, table) = mean_error(&rows);
    assert!(error <= 0.10, "mean error {error:.3}\n{table}");
}

/// The demands of a kernel on its launch bound its registers.
#[test]
fn launch_bounds_limit_the_estimate() {
    let folder = root().join("crates/ir/tests/data/registers");
    let text = fs::read_to_string(folder.join("sm_80/sgemm_8x8.ptx")).unwrap();
    let text: String = text.split_inclusive('\n').filter(|line| !line.starts_with(".maxntid")).collect();
    let estimate = |directive: &str| {
        let (name, body) = text.split_once("\n)\n").unwrap();
        let (module, findings) = warplens_ptx::load(&format!("{name}\n)\n{directive}\n{body}"));
        let module = module.unwrap_or_else(|| panic!("{findings:?}"));
        let (kernel, _) = module.kernels().next().unwrap();
        register_estimate(&module, kernel, 80)
    };
    assert!(estimate("") > 80);
    assert_eq!(estimate(".maxnreg 40"), 40);
    assert_eq!(estimate(".maxntid 1024, 1, 1"), 64);
    assert_eq!(estimate(".maxntid 256, 1, 1\n.minnctapersm 8"), 32);
}

#[test]
fn calls_set_registers_aside() {
    let text = "\
.version 8.0
.target sm_80
.address_size 64
.func f(.param .b32 x) { ret; }
.visible .entry leaf() { ret; }
.visible .entry caller() {
  .param .b32 a;
  st.param.b32 [a], 1;
  call f, (a);
  ret;
}
";
    let (module, _) = warplens_ptx::load(text);
    let module = module.unwrap();
    let estimates: Vec<u32> = module.kernels().map(|(kernel, _)| register_estimate(&module, kernel, 80)).collect();
    assert_eq!(estimates, [8, 24]);
}
