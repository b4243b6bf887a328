//! Allocations in the order of a stream, and pools, in both interfaces; and what else is asked of memory and peers.

use warplens_runtime::{Operation, Status};

use crate::driver::in_context;
use crate::guard::{device_call, driver_call};
use crate::operations::submit;
use crate::pointers::{In, Memory, Out};
use crate::runtime_device::check;
use crate::runtime_memory::copy_as;
use crate::{Runtime, api};

type Result<T> = std::result::Result<T, Status>;

/// `cudaMemPoolProps` and `CUmemPoolProps`, as far as they matter.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct PoolProperties {
    kind: i32,
    handles: i32,
    place: i32,
    device: i32,
}

/// `cudaMemAccessDesc` and `CUmemAccessDesc`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Access {
    place: i32,
    device: i32,
    flags: i32,
}

/// A place is a device.
const ON_DEVICE: i32 = 1;
/// Memory may be read and written.
const READ_AND_WRITE: i32 = 3;
/// Any of what a copy knows about its pointers.
const ANY_DIRECTION: i32 = 4;

fn allocate(
    runtime: &mut Runtime,
    to: Out<u64>,
    call: &str,
    (bytes, pool): (usize, u64),
    stream: Memory,
) -> Result<()> {
    let stream = stream.address();
    runtime.is_pool(pool)?;
    if runtime.capture_info(stream)?.is_some() {
        let operation = runtime.allocate_for_graph(call, bytes as u64)?;
        let Operation::Allocate { address, .. } = operation else { return Err(Status::UNKNOWN) };
        submit(runtime, stream, operation)?;
        return to.set(address);
    }
    runtime.alive()?;
    if bytes == 0 {
        // An empty allocation has no address, and is no mistake.
        return to.set(0);
    }
    to.set(runtime.allocate_from(pool, call, bytes as u64)?)
}

fn free(runtime: &mut Runtime, memory: u64, stream: Memory) -> Result<()> {
    if memory == 0 {
        return Err(Status::INVALID_VALUE);
    }
    match runtime.submit(stream.address(), Operation::Free(memory))? {
        Some(_) => runtime.free_in_order(memory),
        None => Ok(()),
    }
}

fn create(runtime: &mut Runtime, to: Out<u64>, properties: In<PoolProperties>) -> Result<()> {
    let PoolProperties { kind, handles, place, device } = properties.get()?;
    if handles != 0 {
        // Pools that other processes share.
        return Err(Status::NOT_SUPPORTED);
    }
    if kind != 1 || place == ON_DEVICE && device != 0 {
        return Err(Status::INVALID_VALUE);
    }
    to.set(runtime.create_pool())
}

fn get(runtime: &Runtime, pool: Memory, attribute: i32, to: Out<u64>) -> Result<()> {
    let value = runtime.pool_attribute(pool.address(), attribute)?;
    match Runtime::is_wide_pool_attribute(attribute) {
        Some(true) => to.set(value),
        Some(false) => Out::<u32>::of(to).set(value as u32),
        None => Err(Status::INVALID_VALUE),
    }
}

fn set(runtime: &mut Runtime, pool: Memory, attribute: i32, value: Memory) -> Result<()> {
    let value = match Runtime::is_wide_pool_attribute(attribute) {
        Some(true) => In::<u64>::of(value).get()?,
        Some(false) => In::<u32>::of(value).get()?.into(),
        None => return Err(Status::INVALID_VALUE),
    };
    runtime.set_pool_attribute(pool.address(), attribute, value)
}

/// The one device has access, and no other can get it.
fn set_access(runtime: &Runtime, pool: Memory, list: In<Access>, count: usize) -> Result<()> {
    runtime.is_pool(pool.address())?;
    for index in 0..count {
        let Access { place, device, flags } = list.at(index)?;
        if place == ON_DEVICE && device != 0 {
            return Err(Status::INVALID_DEVICE);
        }
        if place == ON_DEVICE && flags != READ_AND_WRITE {
            return Err(Status::INVALID_VALUE);
        }
    }
    Ok(())
}

fn get_access(runtime: &Runtime, to: Out<i32>, pool: Memory) -> Result<()> {
    runtime.is_pool(pool.address())?;
    to.set(READ_AND_WRITE)
}

/// Bytes of the memory of graphs; which attribute is asked for makes no difference.
fn graph_memory(runtime: &Runtime, device: i32, attribute: i32, to: Out<u64>) -> Result<()> {
    check(device)?;
    if (0..=3).contains(&attribute) { to.set(runtime.graph_memory()) } else { Err(Status::INVALID_VALUE) }
}

/// Copies one after the other in a stream.
fn copy_batch(
    runtime: &mut Runtime,
    (to, from, bytes, count): (In<Memory>, In<Memory>, In<usize>, usize),
    stream: Memory,
) -> Result<()> {
    (0..count).try_for_each(|index| {
        copy_as(runtime, to.at(index)?, from.at(index)?, bytes.at(index)?, ANY_DIRECTION, stream.address())
    })
}

api! { device_call;
    /// Allocates memory in the order of a stream.
    fn cudaMallocAsync(to: Out<u64>, bytes: usize, stream: Memory) |runtime| {
        let pool = runtime.current_pool();
        allocate(runtime, to, "cudaMallocAsync", (bytes, pool), stream)
    }

    /// Allocates memory of a pool in the order of a stream.
    fn cudaMallocFromPoolAsync(to: Out<u64>, bytes: usize, pool: Memory, stream: Memory) |runtime| {
        allocate(runtime, to, "cudaMallocFromPoolAsync", (bytes, pool.address()), stream)
    }

    /// Frees memory in the order of a stream.
    fn cudaFreeAsync(memory: Memory, stream: Memory) |runtime| { free(runtime, memory.address(), stream) }

    /// Makes a pool.
    fn cudaMemPoolCreate(to: Out<u64>, properties: In<PoolProperties>) |runtime| { create(runtime, to, properties) }

    /// Takes a pool away.
    fn cudaMemPoolDestroy(pool: Memory) |runtime| { runtime.destroy_pool(pool.address()) }

    /// Gives memory back that a pool does not use, of which there is none.
    fn cudaMemPoolTrimTo(pool: Memory, _bytes: usize) |runtime| { runtime.is_pool(pool.address()) }

    /// An attribute of a pool.
    fn cudaMemPoolGetAttribute(pool: Memory, attribute: i32, to: Out<u64>) |runtime| {
        get(runtime, pool, attribute, to)
    }

    /// Sets an attribute of a pool.
    fn cudaMemPoolSetAttribute(pool: Memory, attribute: i32, value: Memory) |runtime| {
        set(runtime, pool, attribute, value)
    }

    /// Says which devices may access a pool.
    fn cudaMemPoolSetAccess(pool: Memory, list: In<Access>, count: usize) |runtime| {
        set_access(runtime, pool, list, count)
    }

    /// Whether a device may access a pool.
    fn cudaMemPoolGetAccess(to: Out<i32>, pool: Memory, _place: Memory) |runtime| { get_access(runtime, to, pool) }

    /// The pool that is always there.
    fn cudaDeviceGetDefaultMemPool(to: Out<u64>, device: i32) |runtime| {
        check(device)?;
        to.set(runtime.default_pool())
    }

    /// The pool that allocations without one come from.
    fn cudaDeviceGetMemPool(to: Out<u64>, device: i32) |runtime| {
        check(device)?;
        to.set(runtime.current_pool())
    }

    /// Replaces it.
    fn cudaDeviceSetMemPool(device: i32, pool: Memory) |runtime| {
        check(device)?;
        runtime.set_current_pool(pool.address())
    }

    /// Bytes of the memory of graphs.
    fn cudaDeviceGetGraphMemAttribute(device: i32, attribute: i32, to: Out<u64>) |runtime| {
        graph_memory(runtime, device, attribute, to)
    }

    /// Forgets how much it was at most.
    fn cudaDeviceSetGraphMemAttribute(device: i32, _attribute: i32, _value: Memory) |_| { check(device) }

    /// Gives memory back that graphs do not use, of which there is none.
    fn cudaDeviceGraphMemTrim(device: i32) |_| { check(device) }

    /// Copies one after the other.
    fn cudaMemcpyBatchAsync(
        to: In<Memory>, from: In<Memory>, bytes: In<usize>, count: usize, _attributes: Memory, _of: Memory, _n: usize,
        stream: Memory,
    ) |runtime| {
        copy_batch(runtime, (to, from, bytes, count), stream)
    }

    /// Lets a device see another's memory: there is one.
    fn cudaDeviceEnablePeerAccess(_peer: i32, _flags: u32) |_| { Err(Status::INVALID_DEVICE) }

    /// It sees it no more.
    fn cudaDeviceDisablePeerAccess(peer: i32) |_| {
        check(peer)?;
        Err(Status::PEER_ACCESS_NOT_ENABLED)
    }

    /// What two devices can do with each other's memory.
    fn cudaDeviceGetP2PAttribute(_to: Out<i32>, _attribute: i32, _from: i32, _device: i32) |_| {
        Err(Status::INVALID_DEVICE)
    }

    /// A device by where it is plugged in.
    fn cudaDeviceGetByPCIBusId(to: Out<i32>, _place: Memory) |_| { to.set(0) }

    /// Says which stream touches managed memory, which all may.
    fn cudaStreamAttachMemAsync(stream: Memory, memory: Memory, _bytes: usize, _flags: u32) |runtime| {
        runtime.stream_facts(stream.address())?;
        runtime.pointer(memory.address()).map(drop).ok_or(Status::INVALID_VALUE)
    }

    /// Says what a stream is for, which changes no result.
    fn cudaStreamSetAttribute(stream: Memory, _attribute: i32, _value: Memory) |runtime| {
        runtime.stream_facts(stream.address()).map(drop)
    }

    /// The same as of another stream.
    fn cudaStreamCopyAttributes(to: Memory, from: Memory) |runtime| {
        runtime.stream_facts(to.address())?;
        runtime.stream_facts(from.address()).map(drop)
    }

    /// The number of a stream.
    fn cudaStreamGetId(stream: Memory, to: Out<u64>) |runtime| {
        runtime.stream_facts(stream.address())?;
        to.set(stream.address())
    }

    /// The device of a stream.
    fn cudaStreamGetDevice(stream: Memory, to: Out<i32>) |runtime| {
        runtime.stream_facts(stream.address())?;
        to.set(0)
    }

    /// Forgets what the L2 cache keeps: it keeps nothing.
    fn cudaCtxResetPersistingL2Cache() |_| { Ok(()) }
}

api! { driver_call;
    /// Allocates memory in the order of a stream.
    fn cuMemAllocAsync(to: Out<u64>, bytes: usize, stream: Memory) |runtime| {
        in_context(runtime)?;
        let pool = runtime.current_pool();
        allocate(runtime, to, "cuMemAllocAsync", (bytes, pool), stream)
    }

    /// Allocates memory of a pool in the order of a stream.
    fn cuMemAllocFromPoolAsync(to: Out<u64>, bytes: usize, pool: Memory, stream: Memory) |runtime| {
        in_context(runtime)?;
        allocate(runtime, to, "cuMemAllocFromPoolAsync", (bytes, pool.address()), stream)
    }

    /// Frees memory in the order of a stream.
    fn cuMemFreeAsync(memory: u64, stream: Memory) |runtime| {
        in_context(runtime)?;
        free(runtime, memory, stream)
    }

    /// Makes a pool.
    fn cuMemPoolCreate(to: Out<u64>, properties: In<PoolProperties>) |runtime| {
        runtime.started()?;
        create(runtime, to, properties)
    }

    /// Takes a pool away.
    fn cuMemPoolDestroy(pool: Memory) |runtime| { runtime.destroy_pool(pool.address()) }

    /// Gives memory back that a pool does not use, of which there is none.
    fn cuMemPoolTrimTo(pool: Memory, _bytes: usize) |runtime| { runtime.is_pool(pool.address()) }

    /// An attribute of a pool.
    fn cuMemPoolGetAttribute(pool: Memory, attribute: i32, to: Out<u64>) |runtime| {
        get(runtime, pool, attribute, to)
    }

    /// Sets an attribute of a pool.
    fn cuMemPoolSetAttribute(pool: Memory, attribute: i32, value: Memory) |runtime| {
        set(runtime, pool, attribute, value)
    }

    /// Says which devices may access a pool.
    fn cuMemPoolSetAccess(pool: Memory, list: In<Access>, count: usize) |runtime| {
        set_access(runtime, pool, list, count)
    }

    /// Whether a device may access a pool.
    fn cuMemPoolGetAccess(to: Out<i32>, pool: Memory, _place: Memory) |runtime| { get_access(runtime, to, pool) }

    /// The pool that is always there.
    fn cuDeviceGetDefaultMemPool(to: Out<u64>, device: i32) |runtime| {
        check(device)?;
        to.set(runtime.default_pool())
    }

    /// The pool that allocations without one come from.
    fn cuDeviceGetMemPool(to: Out<u64>, device: i32) |runtime| {
        check(device)?;
        to.set(runtime.current_pool())
    }

    /// Replaces it.
    fn cuDeviceSetMemPool(device: i32, pool: Memory) |runtime| {
        check(device)?;
        runtime.set_current_pool(pool.address())
    }

    /// Bytes of the memory of graphs.
    fn cuDeviceGetGraphMemAttribute(device: i32, attribute: i32, to: Out<u64>) |runtime| {
        graph_memory(runtime, device, attribute, to)
    }

    /// Gives memory back that graphs do not use, of which there is none.
    fn cuDeviceGraphMemTrim(device: i32) |_| { check(device) }

    /// Lets a context see another's memory, which is the same.
    fn cuCtxEnablePeerAccess(_peer: Memory, _flags: u32) |runtime| {
        in_context(runtime)?;
        Err(Status::INVALID_DEVICE)
    }

    /// It sees it no more.
    fn cuCtxDisablePeerAccess(_peer: Memory) |runtime| {
        in_context(runtime)?;
        Err(Status::PEER_ACCESS_NOT_ENABLED)
    }

    /// Moves managed memory, which is everywhere.
    fn cuMemPrefetchAsync(memory: u64, _bytes: usize) |runtime| {
        in_context(runtime)?;
        runtime.pointer(memory).map(drop).ok_or(Status::INVALID_VALUE)
    }

    /// The same.
    fn cuMemPrefetchAsync_v2(memory: u64, _bytes: usize) |runtime| {
        in_context(runtime)?;
        runtime.pointer(memory).map(drop).ok_or(Status::INVALID_VALUE)
    }

    /// Says how managed memory will be used.
    fn cuMemAdvise(memory: u64, _bytes: usize) |runtime| {
        in_context(runtime)?;
        runtime.pointer(memory).map(drop).ok_or(Status::INVALID_VALUE)
    }

    /// The same.
    fn cuMemAdvise_v2(memory: u64, _bytes: usize) |runtime| {
        in_context(runtime)?;
        runtime.pointer(memory).map(drop).ok_or(Status::INVALID_VALUE)
    }

    /// Copies between contexts, which share their memory.
    fn cuMemcpyPeer(to: Memory, _to_context: Memory, from: Memory, _from_context: Memory, bytes: usize) |runtime| {
        in_context(runtime)?;
        copy_as(runtime, to, from, bytes, ANY_DIRECTION, 0)
    }

    /// The same in a stream.
    fn cuMemcpyPeerAsync(
        to: Memory, _to_context: Memory, from: Memory, _from_context: Memory, bytes: usize, stream: Memory,
    ) |runtime| {
        in_context(runtime)?;
        copy_as(runtime, to, from, bytes, ANY_DIRECTION, stream.address())
    }

    /// Copies one after the other.
    fn cuMemcpyBatchAsync_v2(
        to: In<Memory>, from: In<Memory>, bytes: In<usize>, count: usize, _attributes: Memory, _of: Memory, _n: usize,
        stream: Memory,
    ) |runtime| {
        in_context(runtime)?;
        copy_batch(runtime, (to, from, bytes, count), stream)
    }

    /// The same, with a place for the number of the copy that failed.
    fn cuMemcpyBatchAsync(
        to: In<Memory>, from: In<Memory>, bytes: In<usize>, count: usize, _attributes: Memory, _of: Memory, _n: usize,
        failed: Out<usize>, stream: Memory,
    ) |runtime| {
        in_context(runtime)?;
        failed.set_if_wanted(usize::MAX);
        copy_batch(runtime, (to, from, bytes, count), stream)
    }

    /// Says which stream touches managed memory, which all may.
    fn cuStreamAttachMemAsync(stream: Memory, memory: u64, _bytes: usize, _flags: u32) |runtime| {
        runtime.stream_facts(stream.address())?;
        runtime.pointer(memory).map(drop).ok_or(Status::INVALID_VALUE)
    }

    /// The context of a stream.
    fn cuStreamGetCtx(stream: Memory, to: Out<u64>) |runtime| {
        runtime.stream_facts(stream.address())?;
        to.set(runtime.primary_context())
    }

    /// The number of a stream.
    fn cuStreamGetId(stream: Memory, to: Out<u64>) |runtime| {
        runtime.stream_facts(stream.address())?;
        to.set(stream.address())
    }

    /// The device of a stream.
    fn cuStreamGetDevice(stream: Memory, to: Out<i32>) |runtime| {
        runtime.stream_facts(stream.address())?;
        to.set(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_the_size_that_the_headers_give_them() {
        assert_eq!((size_of::<PoolProperties>(), size_of::<Access>()), (16, 12));
    }
}
