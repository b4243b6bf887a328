//! Both engines do the same with whatever kernel a text holds, and neither of them panics or runs for ever.

#![no_main]

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use libfuzzer_sys::fuzz_target;
use warplens_device::{Context, Error};
use warplens_exec::engine::Engine;
use warplens_exec::{LaunchSummary, Simt};
use warplens_fuzz::{BUFFER_BYTES, kernel_of, parameters, request};
use warplens_ir::{FunctionId, Module};
use warplens_reference::Reference;

/// Device memory.
const MEMORY: u64 = 64 << 20;

type Left = (Result<LaunchSummary, Error>, Vec<Vec<u8>>);

fn run<E: Engine>(module: &Arc<Module>, kernel: FunctionId) -> Result<Left, Error> {
    let mut context = Context::new(module.address_bits, MEMORY);
    let handle = context.load(Arc::clone(module))?;
    let mut buffers = Vec::new();
    let content: Vec<u8> = (0..BUFFER_BYTES).map(|at| (at * 37 >> 2) as u8).collect();
    for _ in module.functions[kernel].parameters.iter() {
        let (address, bytes) = {
            let allocation = context.allocate("buffer", BUFFER_BYTES)?;
            context.extent(allocation)?
        };
        context.write(address, &content)?;
        buffers.push((address, bytes));
    }
    let mut next = buffers.iter();
    let values = parameters(&module.functions[kernel], || next.next().map_or(0, |&(address, _)| address));
    let kernel = context.kernel_of(handle, kernel)?;
    let prepared = context.prepare_for::<E>(kernel)?;
    let ran = context.launch(&prepared, &request(values), (), &AtomicU64::new(0)).map(|((), summary)| summary);
    let memory = buffers.iter().map(|&(address, bytes)| context.read(address, bytes)).collect::<Result<_, _>>()?;
    Ok((ran, memory))
}

fuzz_target!(|bytes: &[u8]| {
    let Some((module, kernel)) = kernel_of(&String::from_utf8_lossy(bytes)) else { return };
    // Addresses are those of the host, so that only what was not made of them can be compared: two runs of one engine
    // tell which that is.
    let (fast, slow) = (run::<Simt>(&module, kernel), run::<Reference>(&module, kernel));
    match (fast, slow) {
        (Ok((Ok(fast), before)), Ok((Ok(slow), after))) => {
            assert_eq!(fast, slow, "summaries");
            if before != after {
                let again = run::<Simt>(&module, kernel).expect("it ran before");
                assert_ne!(again.1, before, "memory, which the emulator leaves the same each time");
            }
        }
        (Ok((fast, _)), Ok((slow, _))) => assert_eq!(fast.is_err(), slow.is_err(), "{fast:?}\n{slow:?}"),
        (fast, slow) => assert_eq!(fast.is_err(), slow.is_err(), "loading"),
    }
});
