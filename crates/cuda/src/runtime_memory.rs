//! Memory in the runtime API: allocations, copies, symbols.

use warplens_runtime::{Extent, Fill, MemoryKind, Operation, Rows, Status, Transfer};

use crate::guard::device_call;
use crate::operations::submit;
use crate::pointers::{Memory, Out};
use crate::registration::variable;
use crate::structures::{major_version, pointer_attributes};
use crate::{Runtime, api};

type Result<T> = std::result::Result<T, Status>;

/// `cudaMemcpyKind`.
const HOST_TO_HOST: i32 = 0;
const HOST_TO_DEVICE: i32 = 1;
const DEVICE_TO_HOST: i32 = 2;
const DEFAULT: i32 = 4;
/// Rows of two-dimensional memory begin at multiples of this number of bytes.
pub(crate) const PITCH: usize = 512;

/// Copies bytes between memory of the host and of the device, as the addresses say.
pub(crate) fn copy(runtime: &mut Runtime, to: Memory, from: Memory, bytes: usize, stream: u64) -> Result<()> {
    let transfer = Transfer::line(to.address(), from.address(), bytes as u64);
    submit(runtime, stream, Operation::Copy(transfer))
}

/// Refuses a direction that the pointers do not have.
fn check_direction(runtime: &Runtime, to: Memory, from: Memory, kind: i32) -> Result<()> {
    let knows = |memory: Memory| runtime.pointer(memory.address()).is_some();
    let fits = match kind {
        HOST_TO_HOST | DEFAULT => true,
        HOST_TO_DEVICE => knows(to),
        DEVICE_TO_HOST => knows(from),
        3 => knows(to) && knows(from),
        _ => return Err(Status::INVALID_COPY_DIRECTION),
    };
    if fits { Ok(()) } else { Err(Status::INVALID_VALUE) }
}

pub(crate) fn copy_as(
    runtime: &mut Runtime,
    to: Memory,
    from: Memory,
    bytes: usize,
    kind: i32,
    stream: u64,
) -> Result<()> {
    runtime.alive()?;
    if bytes == 0 {
        return Ok(());
    }
    check_direction(runtime, to, from, kind)?;
    copy(runtime, to, from, bytes, stream)
}

/// Memory in rows: where it begins, and bytes from row to row.
pub(crate) type Pitched = (Memory, usize);

pub(crate) fn copy_rows(
    runtime: &mut Runtime,
    (to, to_pitch): Pitched,
    (from, from_pitch): Pitched,
    (width, height): (usize, usize),
    stream: u64,
) -> Result<()> {
    if width > to_pitch || width > from_pitch {
        return Err(Status::INVALID_PITCH);
    }
    let rows = |memory: Memory, pitch: usize| Rows { address: memory.address(), pitch: pitch as u64, slice: 0 };
    let extent = [width as u64, height as u64, 1];
    let transfer = Transfer { to: rows(to, to_pitch), from: rows(from, from_pitch), extent };
    submit(runtime, stream, Operation::Copy(transfer))
}

/// Sets memory of host or device to a pattern.
pub(crate) fn fill(runtime: &mut Runtime, to: Memory, pattern: &[u8], count: usize, stream: u64) -> Result<()> {
    let fill = Fill::line(to.address(), pattern, count as u64).ok_or(Status::INVALID_VALUE)?;
    submit(runtime, stream, Operation::Fill(fill))
}

/// Sets rows to a pattern; the width is in bytes.
pub(crate) fn fill_rows(runtime: &mut Runtime, to: Rows, pattern: &[u8], extent: Extent, stream: u64) -> Result<()> {
    submit(runtime, stream, Operation::Fill(Fill { to, pattern: pattern.to_vec(), extent }))
}

fn pitched(memory: Memory, pitch: usize) -> Rows {
    Rows { address: memory.address(), pitch: pitch as u64, slice: 0 }
}

/// A part of a variable.
fn part(runtime: &mut Runtime, symbol: Memory, bytes: usize, offset: usize) -> Result<Memory> {
    let (address, size) = variable(runtime, symbol)?;
    let end = (offset as u64).checked_add(bytes as u64).ok_or(Status::INVALID_VALUE)?;
    if end > size {
        return Err(Status::INVALID_VALUE);
    }
    Ok(Memory::at(address + offset as u64))
}

fn allocate(runtime: &mut Runtime, to: Out<u64>, call: &str, bytes: usize, kind: MemoryKind) -> Result<()> {
    if bytes == 0 {
        // An empty allocation has no address, and is no mistake.
        runtime.alive()?;
        return to.set(0);
    }
    to.set(runtime.allocate(call, bytes as u64, kind)?)
}

const DEVICE: [MemoryKind; 2] = [MemoryKind::Device, MemoryKind::Managed];

api! { device_call;
    /// Allocates memory of the device.
    fn cudaMalloc(to: Out<u64>, bytes: usize) |runtime| {
        allocate(runtime, to, "cudaMalloc", bytes, MemoryKind::Device)
    }

    /// Allocates memory that host and device share.
    fn cudaMallocManaged(to: Out<u64>, bytes: usize, _flags: u32) |runtime| {
        if bytes == 0 {
            return Err(Status::INVALID_VALUE);
        }
        allocate(runtime, to, "cudaMallocManaged", bytes, MemoryKind::Managed)
    }

    /// Allocates memory of the host that the device may look at.
    fn cudaMallocHost(to: Out<u64>, bytes: usize) |runtime| {
        allocate(runtime, to, "cudaMallocHost", bytes, MemoryKind::Pinned)
    }

    /// The same with flags.
    fn cudaHostAlloc(to: Out<u64>, bytes: usize, _flags: u32) |runtime| {
        allocate(runtime, to, "cudaHostAlloc", bytes, MemoryKind::Pinned)
    }

    /// Allocates rows that begin at multiples of the pitch.
    fn cudaMallocPitch(to: Out<u64>, pitch: Out<usize>, width: usize, height: usize) |runtime| {
        let row = width.checked_next_multiple_of(PITCH).ok_or(Status::INVALID_VALUE)?;
        let bytes = row.checked_mul(height).ok_or(Status::INVALID_VALUE)?;
        pitch.set(row)?;
        allocate(runtime, to, "cudaMallocPitch", bytes, MemoryKind::Device)
    }

    /// Frees memory.
    fn cudaFree(memory: Memory) |runtime| {
        // Programs free a null pointer to start the device.
        runtime.free(memory.address(), &DEVICE)
    }

    /// Lets the device look at memory of the host.
    fn cudaHostRegister(memory: Memory, bytes: usize, _flags: u32) |runtime| {
        runtime.register_host(memory.address(), bytes as u64)
    }

    /// It may look no more.
    fn cudaHostUnregister(memory: Memory) |runtime| { runtime.unregister_host(memory.address()) }

    /// Frees memory of the host.
    fn cudaFreeHost(memory: Memory) |runtime| { runtime.free(memory.address(), &[MemoryKind::Pinned]) }

    /// The address of pinned memory on the device.
    fn cudaHostGetDevicePointer(to: Out<u64>, memory: Memory, _flags: u32) |runtime| {
        to.set(runtime.device_address(memory.address()).ok_or(Status::INVALID_VALUE)?)
    }

    /// Flags of pinned memory: it can be mapped.
    fn cudaHostGetFlags(flags: Out<u32>, memory: Memory) |runtime| {
        match runtime.pointer(memory.address()).map(|pointer| pointer.kind) {
            Some(MemoryKind::Pinned) => flags.set(2),
            _ => Err(Status::INVALID_VALUE),
        }
    }

    /// Copies bytes.
    fn cudaMemcpy(to: Memory, from: Memory, bytes: usize, kind: i32) |runtime| {
        copy_as(runtime, to, from, bytes, kind, 0)?;
        runtime.synchronize_stream(0)
    }

    /// Copies bytes in a stream.
    fn cudaMemcpyAsync(to: Memory, from: Memory, bytes: usize, kind: i32, stream: Memory) |runtime| {
        copy_as(runtime, to, from, bytes, kind, stream.address())
    }

    /// Copies rows.
    fn cudaMemcpy2D(
        to: Memory, to_pitch: usize, from: Memory, from_pitch: usize, width: usize, height: usize, _kind: i32,
    ) |runtime| {
        copy_rows(runtime, (to, to_pitch), (from, from_pitch), (width, height), 0)?;
        runtime.synchronize_stream(0)
    }

    /// Copies rows in a stream.
    fn cudaMemcpy2DAsync(
        to: Memory, to_pitch: usize, from: Memory, from_pitch: usize, width: usize, height: usize, _kind: i32,
        stream: Memory,
    ) |runtime| {
        copy_rows(runtime, (to, to_pitch), (from, from_pitch), (width, height), stream.address())
    }

    /// Copies between devices, of which there is one.
    fn cudaMemcpyPeer(to: Memory, _to_device: i32, from: Memory, _from_device: i32, bytes: usize) |runtime| {
        copy_as(runtime, to, from, bytes, DEFAULT, 0)
    }

    /// The same in a stream.
    fn cudaMemcpyPeerAsync(
        to: Memory, _to_device: i32, from: Memory, _from_device: i32, bytes: usize, stream: Memory,
    ) |runtime| {
        copy_as(runtime, to, from, bytes, DEFAULT, stream.address())
    }

    /// Copies to a variable.
    fn cudaMemcpyToSymbol(symbol: Memory, from: Memory, bytes: usize, offset: usize, kind: i32) |runtime| {
        let to = part(runtime, symbol, bytes, offset)?;
        copy_as(runtime, to, from, bytes, kind, 0)?;
        runtime.synchronize_stream(0)
    }

    /// The same in a stream.
    fn cudaMemcpyToSymbolAsync(
        symbol: Memory, from: Memory, bytes: usize, offset: usize, kind: i32, stream: Memory,
    ) |runtime| {
        let to = part(runtime, symbol, bytes, offset)?;
        copy_as(runtime, to, from, bytes, kind, stream.address())
    }

    /// Copies from a variable.
    fn cudaMemcpyFromSymbol(to: Memory, symbol: Memory, bytes: usize, offset: usize, kind: i32) |runtime| {
        let from = part(runtime, symbol, bytes, offset)?;
        copy_as(runtime, to, from, bytes, kind, 0)?;
        runtime.synchronize_stream(0)
    }

    /// The same in a stream.
    fn cudaMemcpyFromSymbolAsync(
        to: Memory, symbol: Memory, bytes: usize, offset: usize, kind: i32, stream: Memory,
    ) |runtime| {
        let from = part(runtime, symbol, bytes, offset)?;
        copy_as(runtime, to, from, bytes, kind, stream.address())
    }

    /// The address of a variable.
    fn cudaGetSymbolAddress(to: Out<u64>, symbol: Memory) |runtime| { to.set(variable(runtime, symbol)?.0) }

    /// The size of a variable.
    fn cudaGetSymbolSize(to: Out<usize>, symbol: Memory) |runtime| { to.set(variable(runtime, symbol)?.1 as usize) }

    /// Sets bytes.
    fn cudaMemset(to: Memory, value: i32, bytes: usize) |runtime| { fill(runtime, to, &[value as u8], bytes, 0) }

    /// Sets bytes in a stream.
    fn cudaMemsetAsync(to: Memory, value: i32, bytes: usize, stream: Memory) |runtime| {
        fill(runtime, to, &[value as u8], bytes, stream.address())
    }

    /// Sets rows.
    fn cudaMemset2D(to: Memory, pitch: usize, value: i32, width: usize, height: usize) |runtime| {
        fill_rows(runtime, pitched(to, pitch), &[value as u8], [width as u64, height as u64, 1], 0)
    }

    /// Sets rows in a stream.
    fn cudaMemset2DAsync(to: Memory, pitch: usize, value: i32, width: usize, height: usize, stream: Memory) |runtime| {
        fill_rows(runtime, pitched(to, pitch), &[value as u8], [width as u64, height as u64, 1], stream.address())
    }

    /// Bytes that are free, and all.
    fn cudaMemGetInfo(free: Out<usize>, total: Out<usize>) |runtime| {
        let (left, all) = runtime.memory_info();
        free.set(left as usize)?;
        total.set(all as usize)
    }

    /// Whose memory an address is.
    fn cudaPointerGetAttributes(to: Out<u8>, memory: Memory) |runtime| {
        let address = memory.address();
        let (kind, device, host) = match runtime.pointer(address).map(|pointer| pointer.kind) {
            None => (0, 0, address),
            Some(MemoryKind::Pinned) => {
                (1, runtime.device_address(address).unwrap_or(address), runtime.host_address(address))
            }
            Some(MemoryKind::Device) => (2, address, 0),
            Some(MemoryKind::Managed) => (3, address, address),
        };
        to.set_bytes(&pointer_attributes(kind, device, host, major_version()))
    }

    /// Moves managed memory, which is everywhere.
    fn cudaMemPrefetchAsync(memory: Memory, _bytes: usize) |runtime| { managed(runtime, memory) }

    /// The same.
    fn cudaMemPrefetchAsync_v2(memory: Memory, _bytes: usize) |runtime| { managed(runtime, memory) }

    /// Says how managed memory will be used.
    fn cudaMemAdvise(memory: Memory, _bytes: usize) |runtime| { managed(runtime, memory) }

    /// The same.
    fn cudaMemAdvise_v2(memory: Memory, _bytes: usize) |runtime| { managed(runtime, memory) }
}

/// Refuses memory that is not managed.
fn managed(runtime: &Runtime, memory: Memory) -> Result<()> {
    match runtime.pointer(memory.address()).map(|pointer| pointer.kind) {
        Some(MemoryKind::Managed) => Ok(()),
        _ => Err(Status::INVALID_VALUE),
    }
}
