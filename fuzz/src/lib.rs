//! What several fuzz targets need: a launch for whatever kernel a text holds.

use std::sync::Arc;

use warplens_ir::{Function, FunctionId, Module};
use warplens_isa::StateSpace;

/// Bytes of a buffer; each 64-bit parameter is the address of one.
pub const BUFFER_BYTES: u64 = 4096;
/// Most parameters of a kernel that is launched.
const MOST_PARAMETERS: usize = 16;

/// The first kernel of a text, if it is one that can be launched without knowing more about it.
pub fn kernel_of(text: &str) -> Option<(Arc<Module>, FunctionId)> {
    let (module, _) = warplens_ptx::load(text);
    let module = module?;
    let (id, kernel) = module.kernels().next()?;
    let is_small = kernel.parameters.len() <= MOST_PARAMETERS
        && kernel.parameters.as_slice().iter().all(|parameter| parameter.bytes <= 8);
    let has_small_variables = module.variables.iter().all(|(_, variable)| {
        variable.bytes <= BUFFER_BYTES || variable.space == StateSpace::Shared && variable.bytes <= 48 << 10
    });
    (is_small && has_small_variables).then(|| (Arc::new(module), id))
}

/// The values of the parameters: addresses for those of 64 bits, small numbers for the others.
pub fn parameters(kernel: &Function, mut address: impl FnMut() -> u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    for parameter in kernel.parameters.as_slice() {
        let (at, size) = (parameter.offset as usize, parameter.bytes as usize);
        let value = if size == 8 { address() } else { 33 };
        bytes.resize(at + size, 0);
        bytes[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
    }
    bytes
}

/// A launch of two CTAs that ends soon, whatever it executes.
pub fn request(parameters: Vec<u8>) -> warplens_exec::Launch {
    warplens_exec::Launch {
        grid: [2, 1, 1],
        block: [48, 1, 1],
        cluster: None,
        dynamic_shared: 1024,
        parameters,
        ctas: None,
        budget: 5_000,
        launch_budget: 50_000,
        resident_ctas: 8,
        threads: 1,
        schedule: warplens_exec::Schedule::Any,
        allow_unsupported: false,
        allow_overreads: false,
        barriers: warplens_exec::BarrierRule::Threads,
        tensor_cores: warplens_exec::TensorCores::default(),
    }
}
