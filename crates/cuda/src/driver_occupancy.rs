//! How many blocks of a kernel an SM holds, in the driver API.

use warplens_runtime::Status;

use crate::driver::in_context;
use crate::driver_module::LaunchConfig;
use crate::guard::driver_call;
use crate::pointers::{Callback, In, Memory, Out, call_for_shared};
use crate::runtime_launch::{available_shared, resident};
use crate::{Runtime, api};

type Result<T> = std::result::Result<T, Status>;

/// Dynamic shared memory by the number of threads of a block.
type SharedOf = unsafe extern "C" fn(i32) -> usize;

/// Clusters of a launch that the device holds at once.
fn clusters(runtime: &mut Runtime, function: Memory, config: &LaunchConfig) -> Result<i32> {
    let (threads, shared, size) = config.of_cluster()?;
    let blocks = resident(runtime, function, threads, shared)?;
    let all = blocks.saturating_mul(runtime.properties().sms as i32);
    Ok(all / size.max(1))
}

/// Where the answer about a block size goes: the blocks that fill the device, and the threads of a block.
type BlockSize = (Out<i32>, Out<i32>);

/// The block size with which most threads are on an SM; the largest of those with as many.
///
/// The function of the program is called outside of the runtime.
fn potential(
    (grid, block): BlockSize,
    function: Memory,
    shared_of: Callback<SharedOf>,
    shared: usize,
    limit: i32,
) -> i32 {
    let (mut largest, mut sms) = (0, 0);
    let checked = driver_call(|runtime| {
        in_context(runtime)?;
        largest = runtime.function_info(function.address())?.max_threads as i32;
        sms = runtime.properties().sms as i32;
        Ok(())
    });
    if checked != 0 {
        return checked;
    }
    if limit > 0 {
        largest = largest.min(limit);
    }
    let (mut best, mut best_blocks, mut threads) = (0, 0, largest);
    while threads > 0 {
        let needed = shared_of.get().map_or(shared, |function| call_for_shared(function, threads));
        let mut blocks = 0;
        let asked = driver_call(|runtime| {
            blocks = resident(runtime, function, threads, needed)?;
            Ok(())
        });
        if asked != 0 {
            return asked;
        }
        if blocks * threads > best * best_blocks {
            (best, best_blocks) = (threads, blocks);
        }
        threads = (threads - 1) / 32 * 32;
    }
    driver_call(|_| {
        grid.set(best_blocks * sms)?;
        block.set(best)
    })
}

api! { driver_call;
    /// Blocks of a kernel that an SM holds at once.
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(to: Out<i32>, function: Memory, threads: i32, shared: usize) |runtime| {
        to.set(resident(runtime, function, threads, shared)?)
    }

    /// The same with flags.
    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        to: Out<i32>, function: Memory, threads: i32, shared: usize, _flags: u32,
    ) |runtime| {
        to.set(resident(runtime, function, threads, shared)?)
    }

    /// Dynamic shared memory with which an SM holds so many blocks.
    fn cuOccupancyAvailableDynamicSMemPerBlock(to: Out<usize>, function: Memory, blocks: i32, _threads: i32) |runtime| {
        to.set(available_shared(runtime, function, blocks)?)
    }

    /// Clusters of a launch that the device holds at once.
    fn cuOccupancyMaxActiveClusters(to: Out<i32>, function: Memory, config: In<LaunchConfig>) |runtime| {
        in_context(runtime)?;
        let config = config.get()?;
        to.set(clusters(runtime, function, &config)?)
    }

    /// Blocks of the largest cluster: eight on GPUs that have clusters.
    fn cuOccupancyMaxPotentialClusterSize(to: Out<i32>, function: Memory, _config: In<LaunchConfig>) |runtime| {
        in_context(runtime)?;
        runtime.function_or_stub(function.address())?;
        to.set(if runtime.properties().major >= 9 { 8 } else { 1 })
    }
}

/// The block size with which most threads are on an SM.
///
/// # Safety
///
/// The function takes a number of threads.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuOccupancyMaxPotentialBlockSize(
    grid: Out<i32>,
    block: Out<i32>,
    function: Memory,
    shared_of: Callback<SharedOf>,
    shared: usize,
    limit: i32,
) -> i32 {
    potential((grid, block), function, shared_of, shared, limit)
}

/// The same with flags.
///
/// # Safety
///
/// The function takes a number of threads.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuOccupancyMaxPotentialBlockSizeWithFlags(
    grid: Out<i32>,
    block: Out<i32>,
    function: Memory,
    shared_of: Callback<SharedOf>,
    shared: usize,
    limit: i32,
    _flags: u32,
) -> i32 {
    potential((grid, block), function, shared_of, shared, limit)
}
