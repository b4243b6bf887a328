//! Counting a kernel without a run ends, and does not panic, whatever kernel a text holds.

#![no_main]

use libfuzzer_sys::fuzz_target;
use warplens_fuzz::kernel_of;
use warplens_launch::Launch;
use warplens_session::profile::Counting;
use warplens_session::statics::Given;
use warplens_session::toolchain::Search;
use warplens_session::{ExecutionOptions, Program, Progress, measure};

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let Some((module, kernel)) = kernel_of(&text) else { return };
    let kernel = &module.functions[kernel];
    let values: Vec<&str> = kernel.parameters.iter().map(|it| if it.bytes == 8 { "u32[1024]" } else { "33" }).collect();
    let file = format!("kernel = {:?}\ngrid = 64\nblock = 48\nargs = {values:?}\n", kernel.name);
    let Ok(launches) = Launch::parse_file("launch", &file) else { return };
    let Ok(program) = Program::from_ptx("kernel", text.clone().into_owned()) else { return };
    let mut options = ExecutionOptions::new();
    options.budget = 10_000;
    options.statics = Some(Given::default());
    // An answer or a refusal.
    let _ = measure(&program, &launches, options, Counting::Ptx, &Search::default(), &Progress::default());
});
