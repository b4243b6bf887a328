//! Memory in the driver API.

use warplens_runtime::{MemoryKind, Status};

use crate::Runtime;
use crate::api;
use crate::driver::in_context;
use crate::guard::driver_call;
use crate::pointers::{In, Memory, Out};
use crate::runtime_memory::{copy, fill};

type Result<T> = std::result::Result<T, Status>;

fn allocate(runtime: &mut Runtime, to: Out<u64>, call: &str, bytes: usize, kind: MemoryKind) -> Result<()> {
    in_context(runtime)?;
    to.set(runtime.allocate(call, bytes as u64, kind)?)
}

/// Copies to or within memory of the device, which must be that.
fn checked_copy(
    runtime: &mut Runtime,
    to: Memory,
    from: Memory,
    bytes: usize,
    stream: u64,
    device: &[Memory],
) -> Result<()> {
    in_context(runtime)?;
    runtime.stream_facts(stream)?;
    if bytes > 0 && device.iter().any(|memory| runtime.pointer(memory.address()).is_none()) {
        return Err(Status::INVALID_VALUE);
    }
    copy(runtime, to, from, bytes, stream)
}

fn set(runtime: &mut Runtime, to: u64, pattern: &[u8], count: usize, stream: u64) -> Result<()> {
    in_context(runtime)?;
    runtime.stream_facts(stream)?;
    fill(runtime, Memory::at(to), pattern, count, stream)
}

/// Stores what is known of a pointer: its memory (1 host, 2 device), its addresses, whether it is managed, its device, its
/// range, what may be done with it.
fn pointer_attribute(runtime: &mut Runtime, to: Out<u64>, attribute: i32, memory: u64) -> Result<()> {
    let pointer = runtime.pointer(memory).ok_or(Status::INVALID_VALUE)?;
    let word = Out::<u32>::of(to);
    match attribute {
        1 => to.set(runtime.primary_context()),
        2 => word.set(if pointer.kind == MemoryKind::Pinned { 1 } else { 2 }),
        3 => to.set(runtime.device_address(memory).unwrap_or(memory)),
        // Memory of the device has no address on the host.
        4 if pointer.kind == MemoryKind::Device => Err(Status::INVALID_VALUE),
        4 => to.set(runtime.host_address(memory)),
        6 | 10 | 15 => Out::<u8>::of(to).set(0),
        7 => to.set(pointer.base),
        13 => Out::<u8>::of(to).set(1),
        14 | 17 => to.set(0),
        16 => word.set(3),
        8 => Out::<u8>::of(to).set(u8::from(pointer.kind == MemoryKind::Managed)),
        9 => word.set(0),
        11 => to.set(pointer.base),
        12 => to.set(pointer.bytes),
        _ => Err(runtime.unsupported("cuPointerGetAttribute")),
    }
}

const DEVICE: [MemoryKind; 2] = [MemoryKind::Device, MemoryKind::Managed];

api! { driver_call;
    /// Allocates memory of the device.
    fn cuMemAlloc_v2(to: Out<u64>, bytes: usize) |runtime| {
        allocate(runtime, to, "cuMemAlloc", bytes, MemoryKind::Device)
    }

    /// Allocates memory that host and device share.
    fn cuMemAllocManaged(to: Out<u64>, bytes: usize, _flags: u32) |runtime| {
        allocate(runtime, to, "cuMemAllocManaged", bytes, MemoryKind::Managed)
    }

    /// Allocates memory of the host that the device may look at.
    fn cuMemAllocHost_v2(to: Out<u64>, bytes: usize) |runtime| {
        allocate(runtime, to, "cuMemAllocHost", bytes, MemoryKind::Pinned)
    }

    /// The same with flags.
    fn cuMemHostAlloc(to: Out<u64>, bytes: usize, _flags: u32) |runtime| {
        allocate(runtime, to, "cuMemHostAlloc", bytes, MemoryKind::Pinned)
    }

    /// Allocates rows that begin at multiples of the pitch.
    fn cuMemAllocPitch_v2(to: Out<u64>, pitch: Out<usize>, width: usize, height: usize, _element: u32) |runtime| {
        let row = width.checked_next_multiple_of(512).ok_or(Status::INVALID_VALUE)?;
        let bytes = row.checked_mul(height).ok_or(Status::INVALID_VALUE)?;
        pitch.set(row)?;
        allocate(runtime, to, "cuMemAllocPitch", bytes, MemoryKind::Device)
    }

    /// Frees memory.
    fn cuMemFree_v2(memory: u64) |runtime| {
        in_context(runtime)?;
        runtime.free(memory, &DEVICE)
    }

    /// Flags of pinned memory: all of it can be seen by the device.
    fn cuMemHostGetFlags(to: Out<u32>, memory: Memory) |runtime| {
        in_context(runtime)?;
        match runtime.pointer(memory.address()).map(|pointer| pointer.kind) {
            Some(MemoryKind::Pinned) => to.set(2),
            _ => Err(Status::INVALID_VALUE),
        }
    }

    /// Lets the device look at memory of the host.
    fn cuMemHostRegister(memory: Memory, bytes: usize, _flags: u32) |runtime| {
        in_context(runtime)?;
        runtime.register_host(memory.address(), bytes as u64)
    }

    /// The same.
    fn cuMemHostRegister_v2(memory: Memory, bytes: usize, _flags: u32) |runtime| {
        in_context(runtime)?;
        runtime.register_host(memory.address(), bytes as u64)
    }

    /// It may look no more.
    fn cuMemHostUnregister(memory: Memory) |runtime| {
        in_context(runtime)?;
        runtime.unregister_host(memory.address())
    }

    /// Frees memory of the host.
    fn cuMemFreeHost(memory: Memory) |runtime| {
        in_context(runtime)?;
        runtime.free(memory.address(), &[MemoryKind::Pinned])
    }

    /// The address of pinned memory on the device.
    fn cuMemHostGetDevicePointer_v2(to: Out<u64>, memory: Memory, _flags: u32) |runtime| {
        to.set(runtime.device_address(memory.address()).ok_or(Status::INVALID_VALUE)?)
    }

    /// Bytes that are free, and all.
    fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) |runtime| {
        in_context(runtime)?;
        let (left, all) = runtime.memory_info();
        free.set(left as usize)?;
        total.set(all as usize)
    }

    /// The allocation that an address lies in.
    fn cuMemGetAddressRange_v2(base: Out<u64>, bytes: Out<usize>, memory: u64) |runtime| {
        in_context(runtime)?;
        let pointer = runtime.pointer(memory).ok_or(Status::NOT_FOUND)?;
        base.set_if_wanted(pointer.base);
        bytes.set_if_wanted(pointer.bytes as usize);
        Ok(())
    }

    /// What is known of a pointer, by the number of the attribute.
    fn cuPointerGetAttribute(to: Out<u64>, attribute: i32, memory: u64) |runtime| {
        in_context(runtime)?;
        pointer_attribute(runtime, to, attribute, memory)
    }

    /// The same of several attributes. What a pointer does not have is zero.
    fn cuPointerGetAttributes(count: u32, attributes: In<i32>, to: In<Out<u64>>, memory: u64) |runtime| {
        in_context(runtime)?;
        for index in 0..count as usize {
            let (attribute, to) = (attributes.at(index)?, to.at(index)?);
            match pointer_attribute(runtime, to, attribute, memory) {
                // Numbers and flags that are narrower are stored as such.
                Err(Status::INVALID_VALUE) => match attribute {
                    2 | 9 | 16 => Out::<u32>::of(to).set(if attribute == 9 { u32::MAX - 1 } else { 0 })?,
                    6 | 8 | 10 | 13 | 15 => Out::<u8>::of(to).set(0)?,
                    _ => to.set(0)?,
                },
                other => other?,
            }
        }
        Ok(())
    }

    /// Says how copies of memory are waited for, which is always done.
    fn cuPointerSetAttribute(_value: Memory, attribute: i32, memory: u64) |runtime| {
        in_context(runtime)?;
        runtime.pointer(memory).ok_or(Status::INVALID_VALUE)?;
        if attribute == 6 { Ok(()) } else { Err(Status::INVALID_VALUE) }
    }

    /// Copies to the device.
    fn cuMemcpyHtoD_v2(to: u64, from: Memory, bytes: usize) |runtime| {
        let to = Memory::at(to);
        checked_copy(runtime, to, from, bytes, 0, &[to])
    }

    /// The same in a stream.
    fn cuMemcpyHtoDAsync_v2(to: u64, from: Memory, bytes: usize, stream: Memory) |runtime| {
        let to = Memory::at(to);
        checked_copy(runtime, to, from, bytes, stream.address(), &[to])
    }

    /// Copies from the device.
    fn cuMemcpyDtoH_v2(to: Memory, from: u64, bytes: usize) |runtime| {
        let from = Memory::at(from);
        checked_copy(runtime, to, from, bytes, 0, &[from])?;
        runtime.synchronize_stream(0)
    }

    /// The same in a stream.
    fn cuMemcpyDtoHAsync_v2(to: Memory, from: u64, bytes: usize, stream: Memory) |runtime| {
        let from = Memory::at(from);
        checked_copy(runtime, to, from, bytes, stream.address(), &[from])
    }

    /// Copies within the device.
    fn cuMemcpyDtoD_v2(to: u64, from: u64, bytes: usize) |runtime| {
        let (to, from) = (Memory::at(to), Memory::at(from));
        checked_copy(runtime, to, from, bytes, 0, &[to, from])
    }

    /// The same in a stream.
    fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: Memory) |runtime| {
        let (to, from) = (Memory::at(to), Memory::at(from));
        checked_copy(runtime, to, from, bytes, stream.address(), &[to, from])
    }

    /// Copies between whatever the addresses are.
    fn cuMemcpy(to: Memory, from: Memory, bytes: usize) |runtime| { checked_copy(runtime, to, from, bytes, 0, &[]) }

    /// The same in a stream.
    fn cuMemcpyAsync(to: Memory, from: Memory, bytes: usize, stream: Memory) |runtime| {
        checked_copy(runtime, to, from, bytes, stream.address(), &[])
    }

    /// Sets bytes.
    fn cuMemsetD8_v2(to: u64, value: u8, count: usize) |runtime| { set(runtime, to, &[value], count, 0) }

    /// Sets values of 16 bits.
    fn cuMemsetD16_v2(to: u64, value: u16, count: usize) |runtime| { set(runtime, to, &value.to_le_bytes(), count, 0) }

    /// Sets values of 32 bits.
    fn cuMemsetD32_v2(to: u64, value: u32, count: usize) |runtime| { set(runtime, to, &value.to_le_bytes(), count, 0) }

    /// Sets bytes in a stream.
    fn cuMemsetD8Async(to: u64, value: u8, count: usize, stream: Memory) |runtime| {
        set(runtime, to, &[value], count, stream.address())
    }

    /// Sets values of 16 bits in a stream.
    fn cuMemsetD16Async(to: u64, value: u16, count: usize, stream: Memory) |runtime| {
        set(runtime, to, &value.to_le_bytes(), count, stream.address())
    }

    /// Sets values of 32 bits in a stream.
    fn cuMemsetD32Async(to: u64, value: u32, count: usize, stream: Memory) |runtime| {
        set(runtime, to, &value.to_le_bytes(), count, stream.address())
    }
}
