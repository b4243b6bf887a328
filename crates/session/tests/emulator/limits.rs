//! What a program or a launch may ask for: whatever is more than a GPU or this computer has is refused by name, and
//! nothing that a user can write makes the process end.

use std::fmt::Write as _;

use warplens_launch::Launch;
use warplens_session::{Error, ErrorKind, ExecutionOptions, OutputRequest, Program, Progress, RunResult, run};

use crate::expectation::describe;

const HEADER: &str = ".version 8.1\n.target sm_80\n.address_size 64\n";

/// Runs one thread of a module's only kernel.
fn run_with(module: &str, arguments: &[&str], output: Option<&str>) -> Result<RunResult, Error> {
    let program = Program::from_ptx("big.ptx", format!("{HEADER}{module}"))?;
    let mut launch = Launch { grid: Some([1; 3]), block: Some([1; 3]), ..Launch::default() };
    for argument in arguments {
        launch.add_argument(argument)?;
    }
    let outputs: Vec<_> = output.iter().map(|text| OutputRequest::parse(text).unwrap()).collect();
    run(&program, &[launch], &outputs, ExecutionOptions::new(), &Progress::default())
}

fn refused(module: &str, arguments: &[&str]) -> (ErrorKind, String) {
    let error = run_with(module, arguments, None).unwrap_err();
    (error.kind, describe(&error))
}

#[test]
fn variables_have_the_memory_that_is_free() {
    let (kind, message) = refused(".global .b8 a[100000000000000];\n.visible .entry k(){ret;}", &[]);
    let start = "big.ptx: variable `a` takes 100000000000000 bytes of device memory, and ";
    assert!(kind == ErrorKind::Input && message.starts_with(start), "{kind:?} {message}");
    let many: String =
        (0..1000).fold(String::new(), |text, index| text + &format!(".global .b8 a{index}[100000000000000];"));
    assert!(refused(&format!("{many}.visible .entry k(){{ret;}}"), &[]).1.starts_with("big.ptx: variable `a0` takes "));
    let (_, message) = refused(".global .b8 a[1000000000][1000000];\n.visible .entry k(){ret;}", &[]);
    assert!(message.contains("`a` has a type or size that cannot be stored"), "{message}");
}

#[test]
fn buffers_have_it_too() {
    let kernel = ".visible .entry k(.param .u64 p, .param .u64 q){ret;}";
    for text in ["u8[1<<46]", "f64[1<<60]", "u8[1<<46]:iota"] {
        let (kind, message) = refused(kernel, &["u8[16]", text]);
        assert!(kind == ErrorKind::Usage && message.contains("take more memory than is free"), "{message}");
    }
    let both = run_with(kernel, &["u8[1<<20]", "u8[1<<20]"], Some("0:4")).unwrap();
    assert_eq!(both.outputs[0].bytes, [0; 4]);
}

#[test]
fn shared_memory_is_that_of_a_gpu() {
    let use_it = ".visible .entry k(){.reg .b32 %r; mov.u32 %r, s; mov.u32 %r, t; ret;}";
    let module = format!(".shared .b8 t[16];\n.shared .b8 s[100000000000000];\n{use_it}");
    assert_eq!(
        refused(&module, &[]),
        (
            ErrorKind::Input,
            "variable `s` takes 100000000000000 of 100000000000016 bytes of shared memory per block, and no GPU has \
             more than 232448"
                .to_owned()
        )
    );
    let aligned = format!(".shared .align 2147483648 .b8 t[16];\n.shared .align 2147483648 .b8 s[16];\n{use_it}");
    assert!(refused(&aligned, &[]).1.ends_with("no GPU has more than 232448"));
}

#[test]
fn holes_between_constants_take_no_memory() {
    let constants =
        (0..64).fold(String::new(), |text, index| text + &format!(".const .align 2147483648 .b8 c{index}[4];\n"));
    let module = format!("{constants}.visible .entry k(){{.reg .b32 %r; ld.const.b32 %r, [c63]; ret;}}");
    run_with(&module, &[], None).unwrap();
}

#[test]
fn registers_are_those_of_a_stack() {
    // Each takes 16,384 registers of one word; ptxas would take none, as nothing uses them.
    let variables = (0..40).fold(String::new(), |text, index| text + &format!(".param .b8 x{index}[65536];\n"));
    let (kind, message) = refused(&format!(".visible .entry k(){{{variables} ret;}}"), &[]);
    assert_eq!(kind, ErrorKind::Input);
    assert!(
        message.contains("`x16` takes 65536 bytes: the registers of the function then take more than"),
        "{message}"
    );
    let some: String = variables.lines().take(10).collect();
    let (kind, message) = refused(&format!(".visible .entry k(){{{some} ret;}}"), &[]);
    assert_eq!(kind, ErrorKind::Input);
    assert!(message.contains("bytes of local memory and registers, and has at most 524288"), "{message}");
}

/// A kernel with `count` parameters of a byte, and the arguments for it, by name and by position in turn.
fn with_parameters(count: usize) -> (String, Vec<String>) {
    let mut module = ".visible .entry k(".to_owned();
    let mut arguments = Vec::new();
    for index in 0..count {
        let comma = if index == 0 { "" } else { "," };
        write!(module, "{comma}\n.param .u8 k_param_{index}").unwrap();
        arguments.push(if index % 2 == 0 { format!("param_{index}={}", index % 100) } else { "7".to_owned() });
    }
    (module + "){ret;}", arguments)
}

#[test]
fn parameters_are_as_many_as_there_is_place() {
    let (module, arguments) = with_parameters(32764);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    run_with(&module, &arguments, None).unwrap();
    let (kind, message) = refused(&with_parameters(100_000).0, &[]);
    assert_eq!(
        (kind, message.as_str()),
        (
            ErrorKind::Input,
            "big.ptx has an error\n    `k_param_32764` takes 1 bytes: the parameters then end at byte 32765, and a \
             kernel of PTX 8.1 has at most 32764"
        )
    );
}

#[test]
fn a_device_function_takes_many_parameters() {
    let names: Vec<String> = (0..30_000).map(|index| format!("f_param_{index}")).collect();
    let declared: Vec<String> = names.iter().map(|name| format!(".param .b32 {name}")).collect();
    let loads: Vec<String> = names.iter().map(|name| format!("ld.param.b32 %r, [{name}];\n")).collect();
    let module = format!(
        ".func f({}){{.reg .b32 %r;\n{}ret;}}\n.visible .entry k(){{ret;}}",
        declared.join(","),
        loads.concat()
    );
    run_with(&module, &[], None).unwrap();
}

#[test]
fn references_may_be_a_long_chain() {
    let mut text = "[[launch]]\ngrid = 1\nblock = 1\nargs = [\"u8[4]:iota\"]\n".to_owned();
    for launch in 0..20_000 {
        write!(text, "[[launch]]\ngrid = 1\nblock = 1\nargs = [\"&{launch}.0\"]\n").unwrap();
    }
    let launches = Launch::parse_file("chain", &text).unwrap();
    // The last one first, so that nothing is known about the others.
    let program = Program::from_ptx("k", format!("{HEADER}.visible .entry k(.param .u64 p){{ret;}}")).unwrap();
    let last: Vec<Launch> = launches.iter().rev().take(1).cloned().collect();
    let error = run(&program, &last, &[], ExecutionOptions::new(), &Progress::default()).unwrap_err();
    assert!(error.message.contains("there is no argument 0 in launch 19999"), "{}", error.message);
    run(&program, &launches, &[], ExecutionOptions::new(), &Progress::default()).unwrap();
}

#[test]
fn deep_launch_files_are_findings() {
    for text in [
        format!("args = {}", "[".repeat(100_000)),
        format!("args = [{}1{}]", "[".repeat(50_000), "]".repeat(50_000)),
        format!("args = {}", "{a=".repeat(100_000)),
        format!("{}b = 1", "a.".repeat(100_000)),
        format!("[{}b]\nc = 1", "a.".repeat(100_000)),
        format!("args = [\"{}\"]", "struct(".repeat(100_000)),
    ] {
        assert!(Launch::parse_file("deep", &text).is_err(), "{}", &text[..40]);
    }
}

#[test]
fn nested_braces_are_findings() {
    for text in ["{".repeat(100_000), format!(".global .b8 a[1] = {}", "{".repeat(100_000)), "add ((".repeat(100_000)] {
        assert_eq!(refused(&format!(".visible .entry k(){{{text}"), &[]).0, ErrorKind::Input);
        assert_eq!(refused(&text, &[]).0, ErrorKind::Input);
    }
}

#[test]
fn a_long_chain_of_blocks_runs() {
    let blocks = (0..30_000).fold(String::new(), |text, index| text + &format!("bra L{index};\nL{index}:\n"));
    run_with(&format!(".visible .entry k(){{{blocks} ret;}}"), &[], None).unwrap();
}
