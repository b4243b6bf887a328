//! The heap of the device: what one launch allocates is there for the next, and only a block can be freed, once.

use warplens_launch::Launch;
use warplens_session::{ExecutionOptions, OutputRequest, Program, Progress, run};

use crate::expectation::describe;

/// `take` allocates `bytes` bytes, writes `value` there, and its address to word `index` of `out`; `release` frees the
/// address that it finds there.
const KERNELS: &str = "
.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b64 r) malloc (.param .b64 n);
.extern .func free (.param .b64 p);
.visible .entry take(.param .u64 out, .param .u32 index, .param .u32 value, .param .u64 bytes)
{
    .reg .pred %p;
    .reg .u64 %rd<8>; .reg .b32 %r<4>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [index];
    ld.param.u32 %r2, [value];
    ld.param.u64 %rd2, [bytes];
    {
        .param .b64 n; .param .b64 r;
        st.param.b64 [n], %rd2;
        call.uni (r), malloc, (n);
        ld.param.b64 %rd3, [r];
    }
    setp.ne.u64 %p, %rd3, 0;
    @%p st.u32 [%rd3], %r2;
    mul.wide.u32 %rd4, %r1, 8;
    add.u64 %rd5, %rd1, %rd4;
    st.global.u64 [%rd5], %rd3;
    ret;
}
.visible .entry release(.param .u64 out, .param .u32 index, .param .u64 offset)
{
    .reg .u64 %rd<8>; .reg .b32 %r<4>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [index];
    ld.param.u64 %rd6, [offset];
    mul.wide.u32 %rd4, %r1, 8;
    add.u64 %rd5, %rd1, %rd4;
    ld.global.u64 %rd2, [%rd5];
    add.u64 %rd2, %rd2, %rd6;
    {
        .param .b64 p;
        st.param.b64 [p], %rd2;
        call.uni free, (p);
    }
    ret;
}
.visible .entry fetch(.param .u64 out, .param .u32 index)
{
    .reg .u64 %rd<8>; .reg .b32 %r<4>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [index];
    mul.wide.u32 %rd4, %r1, 8;
    add.u64 %rd5, %rd1, %rd4;
    ld.global.u64 %rd2, [%rd5];
    ld.u32 %r2, [%rd2];
    cvt.u64.u32 %rd3, %r2;
    st.global.u64 [%rd5], %rd3;
    ret;
}
";

/// Runs calls such as `take 0, 111, 64` one after the other, and returns the four words of `out`.
fn launches(calls: &[&str]) -> Result<Vec<u64>, String> {
    let program = Program::from_ptx("heap", KERNELS.to_owned()).map_err(|e| describe(&e))?;
    let text: String = calls.iter().enumerate().map(|(number, call)| launch(number, call)).collect();
    let launches = Launch::parse_file("calls", &text).map_err(|error| describe(&error))?;
    let outputs = [OutputRequest::parse("0").unwrap()];
    let result = run(&program, &launches, &outputs, ExecutionOptions::new(), &Progress::default());
    let result = result.map_err(|error| error.message)?;
    Ok(result.outputs[0].bytes.chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect())
}

fn launch(number: usize, call: &str) -> String {
    let (kernel, arguments) = call.split_once(' ').unwrap();
    let out = if number == 0 { "\"u64[4]\"" } else { "\"&0\"" };
    format!("[[launch]]\nkernel = \"{kernel}\"\ngrid = 1\nblock = 1\nargs = [{out}, {arguments}]\n")
}

#[test]
fn two_launches_get_two_blocks() {
    let out = launches(&["take 0, 111, 64", "take 1, 222, 64"]).unwrap();
    assert_eq!(out[1], out[0] + 64, "{out:x?}");
    let out = launches(&["take 0, 111, 64", "take 1, 222, 64", "fetch 0", "fetch 1"]).unwrap();
    assert_eq!(out[..2], [111, 222]);
}

#[test]
fn what_was_freed_is_used_again() {
    let out = launches(&["take 0, 1, 64", "take 1, 2, 64", "release 0, 0", "take 2, 3, 48", "take 3, 4, 48"]).unwrap();
    assert_eq!((out[2], out[3]), (out[0], out[1] + 64), "{out:x?}");
}

#[test]
fn an_exhausted_heap_gives_null() {
    let half = (4 << 20) + 16;
    let out = launches(&[&format!("take 0, 1, {half}"), &format!("take 1, 1, {half}"), "take 2, 1, 16"]).unwrap();
    assert_eq!((out[1], out[2]), (0, out[0] + half), "{out:x?}");
    let freed = [&format!("take 0, 1, {half}"), "release 0, 0", &format!("take 1, 1, {half}")];
    let out = launches(&freed).unwrap();
    assert_eq!(out[0], out[1]);
}

#[test]
fn a_block_is_freed_once() {
    let error = launches(&["take 0, 1, 64", "release 0, 0", "release 0, 0"]).unwrap_err();
    assert_eq!(
        error,
        "kernel `release`, PTX line 41: free of 0x7f0000002200, which was freed before, by block (0,0,0) thread (0,0,0)"
    );
}

#[test]
fn only_blocks_can_be_freed() {
    let reason = "which `malloc` did not return, by block (0,0,0) thread (0,0,0)";
    let error = launches(&["take 0, 1, 64", "release 0, 16"]).unwrap_err();
    assert_eq!(error, format!("kernel `release`, PTX line 41: free of 0x7f0000002210, {reason}"));
    let error = launches(&["release 0, 4096"]).unwrap_err();
    assert_eq!(error, format!("kernel `release`, PTX line 41: free of 0x1000, {reason}"));
    assert_eq!(launches(&["release 0, 0"]), Ok(vec![0; 4]), "null is nothing to be freed");
}
