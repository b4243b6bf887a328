//! Forms of machine code that few kernels have: what they leave in memory is what the PTX leaves that ptxas 13.0 made them of
//! (`data/forms`, `ptxas -arch=sm_89` and `-arch=sm_120a`).

use std::path::Path;

use warplens_launch::Launch;
use warplens_session::{ExecutionOptions, Extent, OutputRequest, Program, Progress, run};

/// Threads, each of which converts words of its own.
const THREADS: u32 = 1024;

/// What a program leaves of random words, of which `results` are made by each thread.
fn left(program: &Program, results: u32) -> Vec<String> {
    let text = format!(
        "grid = [1]\nblock = [{THREADS}]\nargs = [\"u32[{}]:uniform(0,4294967295,5)\", \"u32[{}]\", 4022250974, \
         \"11529215046068469761\"]\n",
        2 * THREADS,
        results * THREADS
    );
    let launches = Launch::parse_file("forms.toml", &text).expect("the launch is as launches are written");
    let requests = [OutputRequest { key: "1".to_owned(), count: None }];
    let options = ExecutionOptions { threads: 1, extent: Extent::Full, ..ExecutionOptions::new() };
    let result = run(program, &launches, &requests, options, &Progress::default());
    let result = result.unwrap_or_else(|error| panic!("{}: {error:?}", program.name));
    result.outputs[0].elements().map(|element| format!("{element:?}")).collect()
}

#[test]
fn narrow_floats_distances_and_constants_are_as_in_ptx() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/forms");
    for (name, results) in [("narrow.89", 32), ("narrow.120", 40)] {
        let ptx = std::fs::read_to_string(folder.join(format!("{name}.ptx"))).expect("the PTX is there");
        let cubin = std::fs::read(folder.join(format!("{name}.cubin"))).expect("the machine code is there");
        let of_ptx = Program::from_ptx(name, ptx).expect("the PTX is right");
        let of_machine = Program::from_cubin(name, &cubin).expect("the machine code can be read");
        let (expected, got) = (left(&of_ptx, results), left(&of_machine, results));
        assert_eq!(expected.len(), (results * THREADS) as usize);
        let differs = expected.iter().zip(&got).position(|(expected, got)| expected != got);
        assert_eq!(differs.map(|at| (at as u32 % results, &expected[at], &got[at])), None, "{name}");
        // What is compared are no zeros.
        let n_zeros = expected.iter().filter(|text| **text == expected[0]).count();
        assert!(n_zeros < expected.len() / 4, "{name}: {n_zeros} are alike");
    }
}

/// What a kernel stores of a number, or why it does not.
fn stored(program: &Program, number: u32) -> Result<String, String> {
    let text = format!("grid = [1]\nblock = [1]\nargs = [\"u32[1]\", {number}]\n");
    let launches = Launch::parse_file("forms.toml", &text).expect("the launch is as launches are written");
    let requests = [OutputRequest { key: "0".to_owned(), count: None }];
    let result = run(program, &launches, &requests, ExecutionOptions::new(), &Progress::default());
    result.map_err(|error| error.message).map(|result| format!("{:?}", result.outputs[0].elements().next()))
}

#[test]
fn an_assertion_is_called_at_the_address_that_the_linker_writes() {
    // ptxas 11.8 calls what reports it by an address in the instruction (`CALL.ABS.NOINC`), later ones by a register.
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/forms");
    let ptx = std::fs::read_to_string(folder.join("assertion.86.ptx")).expect("the PTX is there");
    let cubin = std::fs::read(folder.join("assertion.86.cubin")).expect("the machine code is there");
    let of_ptx = Program::from_ptx("assertion", ptx).expect("the PTX is right");
    let of_machine = Program::from_cubin("assertion", &cubin).expect("the machine code can be read");
    assert_eq!(stored(&of_machine, 6), Ok("Some(Unsigned(6))".to_owned()));
    assert_eq!(stored(&of_machine, 6), stored(&of_ptx, 6));
    let [by_ptx, by_machine] = [&of_ptx, &of_machine].map(|program| stored(program, 7).expect_err("7 is not allowed"));
    assert!(by_machine.contains("n != 7") && by_ptx.contains("n != 7"), "{by_machine}\n{by_ptx}");
}
