//! Register counts from ptxas.

use std::collections::BTreeMap;
use std::process::Command;

use super::Search;

/// Registers per thread of each kernel of a PTX text, as ptxas allocates them for `target`.
/// `None` where ptxas is missing or does not take the text: an estimate serves then.
pub fn registers(ptx: &str, target: &str, search: &Search) -> Option<BTreeMap<String, u32>> {
    let ptxas = search.program("ptxas")?;
    let scratch = tempfile::tempdir().ok()?;
    let source = scratch.path().join("kernel.ptx");
    std::fs::write(&source, ptx).ok()?;
    let run = Command::new(ptxas)
        .args(["-v", &format!("-arch={target}"), "-o"])
        .arg(scratch.path().join("kernel.cubin"))
        .arg(&source)
        .output()
        .ok()?;
    run.status.success().then(|| parse(&String::from_utf8_lossy(&run.stderr)))
}

/// Reads the report of `ptxas -v`.
fn parse(report: &str) -> BTreeMap<String, u32> {
    let mut kernels = BTreeMap::new();
    let mut kernel = None;
    for line in report.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            kernel = rest.split('\'').next();
        } else if let Some((_, rest)) = line.split_once(": Used ")
            && let Some(count) = rest.split(' ').next().and_then(|count| count.parse().ok())
            && let Some(kernel) = kernel.take()
        {
            kernels.insert(kernel.to_owned(), count);
        }
    }
    kernels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_names_each_kernel() {
        let report = "ptxas info    : 0 bytes gmem\n\
                      ptxas info    : Compiling entry function 'a' for 'sm_80'\n\
                      ptxas info    : Function properties for a\n    0 bytes stack frame, 0 bytes spill stores\n\
                      ptxas info    : Used 12 registers, used 0 barriers, 380 bytes cmem[0]\n\
                      ptxas info    : Compiling entry function 'b' for 'sm_80'\n\
                      ptxas info    : Used 255 registers, 4 bytes smem\n";
        assert_eq!(parse(report), BTreeMap::from([("a".to_owned(), 12), ("b".to_owned(), 255)]));
        assert_eq!(parse("ptxas info : Used 3 registers"), BTreeMap::new());
    }
}
