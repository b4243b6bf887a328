//! The context: device memory and the modules in it.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use warplens_base::IdMap;
use warplens_exec::engine::Engine;
use warplens_exec::{BufferId, Device, ImageId, Launch, LaunchSummary, Parts};
use warplens_ir::Module;
use warplens_trace::Observer;

use crate::error::Error;
use crate::handle::Owner;
use crate::module::Kernel;

/// Most threads of a block (CUDA C++ programming guide, technical specifications).
const MAX_THREADS: u64 = 1024;
/// Largest dynamic plus static shared memory of any GPU (cc 9.0 and later: 227 KB).
pub const MAX_SHARED_BYTES: u64 = 227 * 1024;

/// A device with its modules and its memory.
pub struct Context {
    pub(crate) owner: Owner,
    pub(crate) device: Device,
    /// By image; `None` for what was unloaded.
    pub(crate) modules: IdMap<ImageId, Option<Arc<Module>>>,
    /// What was allocated from outside, in order of ids and addresses: all else belongs to modules or is the heap.
    pub(crate) owned: Vec<BufferId>,
}

impl Context {
    /// A context whose memory takes at most `limit` bytes, with addresses of 32 or 64 bits.
    pub fn new(address_bits: u32, limit: u64) -> Self {
        Self {
            owner: Owner::unique(),
            device: Device::new(address_bits, limit),
            modules: IdMap::new(),
            owned: Vec::new(),
        }
    }

    /// Runs a kernel. `progress` counts finished CTAs. On an error the memory keeps what was written up to then.
    pub fn launch<E: Engine, O: Observer + Sync>(
        &mut self,
        kernel: &Kernel<E>,
        launch: &Launch,
        observer: O,
        progress: &AtomicU64,
    ) -> Result<(O, LaunchSummary), Error> {
        self.run_part(kernel, &mut self.parts(kernel, launch.grid), launch, observer, progress)
    }

    /// A launch whose CTAs run in several parts, none of which has run yet.
    pub fn parts<E: Engine>(&self, kernel: &Kernel<E>, grid: [u32; 3]) -> Parts {
        Parts::new(&kernel.program, &self.device, grid)
    }

    /// Runs some CTAs of a launch, as [`Self::launch`] runs all of them.
    pub fn run_part<E: Engine, O: Observer + Sync>(
        &mut self,
        kernel: &Kernel<E>,
        parts: &mut Parts,
        launch: &Launch,
        observer: O,
        progress: &AtomicU64,
    ) -> Result<(O, LaunchSummary), Error> {
        self.module(kernel.module)?;
        check(kernel, launch)?;
        parts.run((&kernel.program, &self.device), launch, observer, progress).map_err(Error::Launch)
    }

    /// Puts back what stood in memory before a launch whose CTAs race.
    pub fn undo(&mut self, parts: &mut Parts) {
        parts.undo(&self.device);
    }
}

/// Refuses what no GPU can launch, which the emulator would have no memory for.
fn check<E: Engine>(kernel: &Kernel<E>, launch: &Launch) -> Result<(), Error> {
    let count = |extents: [u32; 3]| extents.iter().try_fold(1u64, |count, &extent| count.checked_mul(extent.into()));
    let shared = kernel.program.static_shared_bytes().saturating_add(launch.dynamic_shared);
    let last = launch.ctas.iter().flatten().max().map_or(0, |&cta| u64::from(cta) + 1);
    match (count(launch.grid), count(launch.block)) {
        (Some(ctas), _) if ctas == 0 || ctas > u64::from(u32::MAX) || last > ctas => Err(Error::Grid(launch.grid)),
        (None, _) => Err(Error::Grid(launch.grid)),
        (_, Some(threads)) if (1..=MAX_THREADS).contains(&threads) => {
            if shared <= MAX_SHARED_BYTES {
                Ok(())
            } else {
                Err(Error::Shared { bytes: shared, limit: MAX_SHARED_BYTES })
            }
        }
        _ => Err(Error::Block(launch.block)),
    }
}
