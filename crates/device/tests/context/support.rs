//! What the tests of the context have in common.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use warplens_device::{Context, Error, ModuleHandle};
use warplens_exec::{BarrierRule, Launch, Schedule};
use warplens_ir::Module;

pub(crate) const HEADER: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

pub(crate) fn context() -> Context {
    Context::new(64, 64 << 20)
}

/// A whole module.
pub(crate) fn module(text: &str) -> Arc<Module> {
    let (module, diagnostics) = warplens_ptx::load(&format!("{HEADER}{text}"));
    Arc::new(module.unwrap_or_else(|| panic!("{diagnostics:?}")))
}

/// A module to be linked.
pub(crate) fn part(text: &str) -> Module {
    let (module, diagnostics) = warplens_ptx::load_part(&format!("{HEADER}{text}"));
    module.unwrap_or_else(|| panic!("{diagnostics:?}"))
}

pub(crate) fn load(context: &mut Context, text: &str) -> ModuleHandle {
    context.load(module(text)).unwrap()
}

/// One thread with these parameters.
pub(crate) fn launch(parameters: &[u64]) -> Launch {
    Launch {
        grid: [1; 3],
        block: [1; 3],
        cluster: None,
        dynamic_shared: 0,
        parameters: parameters.iter().flat_map(|word| word.to_le_bytes()).collect(),
        ctas: None,
        budget: 10_000,
        launch_budget: u64::MAX,
        resident_ctas: 1,
        threads: 1,
        schedule: Schedule::Any,
        barriers: BarrierRule::Threads,
        tensor_cores: warplens_exec::TensorCores::default(),
        allow_unsupported: false,
        allow_overreads: false,
    }
}

pub(crate) fn run(context: &mut Context, module: ModuleHandle, kernel: &str, parameters: &[u64]) -> Result<(), Error> {
    let handle = context.kernel(module, kernel)?;
    let prepared = context.prepare(handle)?;
    context.launch(&prepared, &launch(parameters), (), &AtomicU64::new(0)).map(|_| ())
}

pub(crate) fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

pub(crate) fn u32_at(context: &Context, address: u64) -> u32 {
    u32::from_le_bytes(context.read(address, 4).unwrap().try_into().unwrap())
}
