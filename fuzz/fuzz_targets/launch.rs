//! Launch files and values of arguments, whatever they say, are understood or refused; what is understood is bounded.

#![no_main]

use libfuzzer_sys::fuzz_target;
use warplens_launch::{Launch, Plan, npy, parse_extents};
use warplens_session::Program;

const KERNEL: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u32 n, \
                      .param .align 8 .b8 s[24]) { ret; }";
/// Memory that buffers may take.
const MEMORY: u64 = 1 << 20;

fuzz_target!(|bytes: &[u8]| {
    let _ = npy::read(bytes);
    let text = String::from_utf8_lossy(bytes);
    let _ = parse_extents("grid", &text);
    let mut flags = Launch::default();
    for line in text.lines().take(8) {
        let _ = flags.add_argument(line);
        let _ = flags.add_symbol("--symbol", line);
    }
    let program = Program::from_ptx("kernel", KERNEL.to_owned()).expect("it is sound");
    let kernel = program.kernel(None).expect("there is one");
    let from_file = Launch::parse_file("launch", &text).unwrap_or_default();
    for launch in from_file.into_iter().take(4).chain([flags]) {
        let read = |_: &str| Err("there are no files here".to_owned());
        if let Ok(plan) = Plan::bind(&[(launch, program.interface(kernel))], MEMORY, &read) {
            let bytes: usize = plan.buffers.as_slice().iter().map(|buffer| buffer.bytes.len()).sum();
            assert!(bytes as u64 <= MEMORY, "{bytes} bytes");
        }
    }
});
