//! Arrays, textures, surfaces and three-dimensional memory in the runtime API.

use warplens_runtime::{ArrayInfo, MemoryKind, Operation, Rows, Status, TexelSource, Transfer};

use crate::arrays::{
    ChannelDescriptor, PeerCopy, Pitched, RUNTIME_SAMPLING, RUNTIME_TEXELS, RuntimeCopy, Triple, runtime_sampling,
    runtime_texels,
};
use crate::guard::device_call;
use crate::operations::submit;
use crate::pointers::{In, Memory, Out};
use crate::runtime_memory::{PITCH, fill_rows};
use crate::{Runtime, api};

type Result<T> = std::result::Result<T, Status>;

/// A copy between an array and rows of memory.
struct InArray {
    array: u64,
    x_bytes: usize,
    y: usize,
    width: usize,
    height: usize,
}

impl InArray {
    fn rows(&self, runtime: &Runtime) -> Result<Rows> {
        let place = [self.x_bytes as u64, self.y as u64, 0];
        Ok(runtime.array_box(self.array, place, self.extent(), true)?.0)
    }

    fn extent(&self) -> [u64; 3] {
        [self.width as u64, self.height as u64, 1]
    }

    /// Rows of memory beside it.
    fn beside(&self, memory: Memory, pitch: usize) -> Result<Rows> {
        if self.width > pitch {
            return Err(Status::INVALID_PITCH);
        }
        Ok(Rows { address: memory.address(), pitch: pitch as u64, slice: 0 })
    }

    fn store(&self, runtime: &mut Runtime, from: Memory, pitch: usize, stream: u64) -> Result<()> {
        let transfer = Transfer { to: self.rows(runtime)?, from: self.beside(from, pitch)?, extent: self.extent() };
        submit(runtime, stream, Operation::Copy(transfer))
    }

    fn load(&self, runtime: &mut Runtime, to: Memory, pitch: usize, stream: u64) -> Result<()> {
        let transfer = Transfer { to: self.beside(to, pitch)?, from: self.rows(runtime)?, extent: self.extent() };
        submit(runtime, stream, Operation::Copy(transfer))
    }
}

/// Bytes of an array and bytes of memory.
fn line(runtime: &Runtime, array: u64, x_bytes: usize, y: usize, bytes: usize) -> Result<u64> {
    runtime.array_line(array, x_bytes as u64, y as u64, bytes as u64)
}

fn copy_line(runtime: &mut Runtime, to: u64, from: u64, bytes: usize, stream: u64) -> Result<()> {
    submit(runtime, stream, Operation::Copy(Transfer::line(to, from, bytes as u64)))
}

fn create(
    runtime: &mut Runtime,
    to: Out<u64>,
    call: &str,
    (channels, extent, flags): (In<ChannelDescriptor>, [u64; 3], u32),
    levels: u32,
) -> Result<()> {
    let info = ArrayInfo { format: channels.get()?.format()?, extent, flags };
    to.set(runtime.create_array(call, info, levels)?)
}

fn copy_3d(runtime: &mut Runtime, copy: &RuntimeCopy, stream: u64) -> Result<()> {
    let transfer = copy.transfer(runtime)?;
    submit(runtime, stream, Operation::Copy(transfer))
}

fn fill_3d(runtime: &mut Runtime, to: Pitched, value: i32, extent: Triple, stream: u64) -> Result<()> {
    let rows = to.rows(Triple::of([0; 3]));
    fill_rows(runtime, rows, &[value as u8], extent.extents(), stream)
}

api! { device_call;
    /// Makes an array of one or two dimensions.
    fn cudaMallocArray(
        to: Out<u64>, channels: In<ChannelDescriptor>, width: usize, height: usize, flags: u32,
    ) |runtime| {
        create(runtime, to, "cudaMallocArray", (channels, [width as u64, height as u64, 0], flags), 1)
    }

    /// Makes an array of any shape.
    fn cudaMalloc3DArray(to: Out<u64>, channels: In<ChannelDescriptor>, extent: Triple, flags: u32) |runtime| {
        create(runtime, to, "cudaMalloc3DArray", (channels, extent.extents(), flags), 1)
    }

    /// Makes an array of several levels.
    fn cudaMallocMipmappedArray(
        to: Out<u64>, channels: In<ChannelDescriptor>, extent: Triple, levels: u32, flags: u32,
    ) |runtime| {
        create(runtime, to, "cudaMallocMipmappedArray", (channels, extent.extents(), flags), levels)
    }

    /// A level of an array, which belongs to it.
    fn cudaGetMipmappedArrayLevel(to: Out<u64>, array: Memory, level: u32) |runtime| {
        to.set(runtime.array_level(array.address(), level)?)
    }

    /// Frees an array.
    fn cudaFreeArray(array: Memory) |runtime| { runtime.free_array(array.address()) }

    /// Frees an array of several levels.
    fn cudaFreeMipmappedArray(array: Memory) |runtime| { runtime.free_array(array.address()) }

    /// What an array was made as.
    fn cudaArrayGetInfo(channels: Out<ChannelDescriptor>, extent: Out<Triple>, flags: Out<u32>, array: Memory) |runtime| {
        let info = runtime.array_info(array.address())?;
        channels.set_if_wanted(ChannelDescriptor::of(info.format));
        extent.set_if_wanted(Triple::of(info.extent));
        flags.set_if_wanted(info.flags);
        Ok(())
    }

    /// What the texels of an array hold.
    fn cudaGetChannelDesc(to: Out<ChannelDescriptor>, array: Memory) |runtime| {
        to.set(ChannelDescriptor::of(runtime.array_info(array.address())?.format))
    }

    /// Allocates slices of rows that begin at multiples of the pitch.
    fn cudaMalloc3D(to: Out<Pitched>, extent: Triple) |runtime| {
        let [width, height, depth] = extent.extents().map(|extent| extent as usize);
        let pitch = width.checked_next_multiple_of(PITCH).ok_or(Status::INVALID_VALUE)?;
        let bytes = pitch.checked_mul(height).and_then(|slice| slice.checked_mul(depth)).ok_or(Status::INVALID_VALUE)?;
        let address = match bytes {
            0 => 0,
            bytes => runtime.allocate("cudaMalloc3D", bytes as u64, MemoryKind::Device)?,
        };
        to.set(Pitched { memory: Memory::at(address), pitch, width, height })
    }

    /// Sets a box of memory.
    fn cudaMemset3D(to: Pitched, value: i32, extent: Triple) |runtime| { fill_3d(runtime, to, value, extent, 0) }

    /// Sets a box of memory in a stream.
    fn cudaMemset3DAsync(to: Pitched, value: i32, extent: Triple, stream: Memory) |runtime| {
        fill_3d(runtime, to, value, extent, stream.address())
    }

    /// Copies a box.
    fn cudaMemcpy3D(copy: In<RuntimeCopy>) |runtime| {
        copy_3d(runtime, &copy.get()?, 0)?;
        runtime.synchronize_stream(0)
    }

    /// Copies a box in a stream.
    fn cudaMemcpy3DAsync(copy: In<RuntimeCopy>, stream: Memory) |runtime| {
        copy_3d(runtime, &copy.get()?, stream.address())
    }

    /// Copies a box between devices, of which there is one.
    fn cudaMemcpy3DPeer(copy: In<PeerCopy>) |runtime| { copy_3d(runtime, &copy.get()?.on_device()?, 0) }

    /// The same in a stream.
    fn cudaMemcpy3DPeerAsync(copy: In<PeerCopy>, stream: Memory) |runtime| {
        copy_3d(runtime, &copy.get()?.on_device()?, stream.address())
    }

    /// Copies rows to an array.
    fn cudaMemcpy2DToArray(
        array: Memory, x_bytes: usize, y: usize, from: Memory, pitch: usize, width: usize, height: usize, _kind: i32,
    ) |runtime| {
        let place = InArray { array: array.address(), x_bytes, y, width, height };
        place.store(runtime, from, pitch, 0)?;
        runtime.synchronize_stream(0)
    }

    /// The same in a stream.
    fn cudaMemcpy2DToArrayAsync(
        array: Memory, x_bytes: usize, y: usize, from: Memory, pitch: usize, width: usize, height: usize, _kind: i32,
        stream: Memory,
    ) |runtime| {
        let place = InArray { array: array.address(), x_bytes, y, width, height };
        place.store(runtime, from, pitch, stream.address())
    }

    /// Copies rows from an array.
    fn cudaMemcpy2DFromArray(
        to: Memory, pitch: usize, array: Memory, x_bytes: usize, y: usize, width: usize, height: usize, _kind: i32,
    ) |runtime| {
        let place = InArray { array: array.address(), x_bytes, y, width, height };
        place.load(runtime, to, pitch, 0)?;
        runtime.synchronize_stream(0)
    }

    /// The same in a stream.
    fn cudaMemcpy2DFromArrayAsync(
        to: Memory, pitch: usize, array: Memory, x_bytes: usize, y: usize, width: usize, height: usize, _kind: i32,
        stream: Memory,
    ) |runtime| {
        let place = InArray { array: array.address(), x_bytes, y, width, height };
        place.load(runtime, to, pitch, stream.address())
    }

    /// Copies rows between arrays.
    fn cudaMemcpy2DArrayToArray(
        to: Memory, to_x: usize, to_y: usize, from: Memory, from_x: usize, from_y: usize, width: usize, height: usize,
        _kind: i32,
    ) |runtime| {
        let to = InArray { array: to.address(), x_bytes: to_x, y: to_y, width, height };
        let from = InArray { array: from.address(), x_bytes: from_x, y: from_y, width, height };
        let transfer = Transfer { to: to.rows(runtime)?, from: from.rows(runtime)?, extent: to.extent() };
        submit(runtime, 0, Operation::Copy(transfer))
    }

    /// Copies bytes to an array, row after row.
    fn cudaMemcpyToArray(array: Memory, x_bytes: usize, y: usize, from: Memory, bytes: usize, _kind: i32) |runtime| {
        let to = line(runtime, array.address(), x_bytes, y, bytes)?;
        copy_line(runtime, to, from.address(), bytes, 0)?;
        runtime.synchronize_stream(0)
    }

    /// The same in a stream.
    fn cudaMemcpyToArrayAsync(
        array: Memory, x_bytes: usize, y: usize, from: Memory, bytes: usize, _kind: i32, stream: Memory,
    ) |runtime| {
        let to = line(runtime, array.address(), x_bytes, y, bytes)?;
        copy_line(runtime, to, from.address(), bytes, stream.address())
    }

    /// Copies bytes from an array, row after row.
    fn cudaMemcpyFromArray(to: Memory, array: Memory, x_bytes: usize, y: usize, bytes: usize, _kind: i32) |runtime| {
        let from = line(runtime, array.address(), x_bytes, y, bytes)?;
        copy_line(runtime, to.address(), from, bytes, 0)?;
        runtime.synchronize_stream(0)
    }

    /// The same in a stream.
    fn cudaMemcpyFromArrayAsync(
        to: Memory, array: Memory, x_bytes: usize, y: usize, bytes: usize, _kind: i32, stream: Memory,
    ) |runtime| {
        let from = line(runtime, array.address(), x_bytes, y, bytes)?;
        copy_line(runtime, to.address(), from, bytes, stream.address())
    }

    /// Copies bytes between arrays, row after row.
    fn cudaMemcpyArrayToArray(
        to: Memory, to_x: usize, to_y: usize, from: Memory, from_x: usize, from_y: usize, bytes: usize, _kind: i32,
    ) |runtime| {
        let to = line(runtime, to.address(), to_x, to_y, bytes)?;
        let from = line(runtime, from.address(), from_x, from_y, bytes)?;
        copy_line(runtime, to, from, bytes, 0)
    }

    /// Makes a texture. A view of its texels as something else is not supported.
    fn cudaCreateTextureObject(to: Out<u64>, texels: Memory, sampling: Memory, view: Memory) |runtime| {
        let format = if view.address() == 0 { 0 } else { In::<i32>::of(view).get()? };
        if format != 0 {
            return Err(runtime.unsupported("cudaCreateTextureObject with a resource view"));
        }
        let texels = texels.with_bytes(RUNTIME_TEXELS, |bytes| Ok(bytes.to_vec()))?;
        let sampling = sampling.with_bytes(RUNTIME_SAMPLING, |bytes| Ok(bytes.to_vec()))?;
        let source = runtime_texels(&texels)?;
        let (sampler, read) = runtime_sampling(&sampling, source)?;
        to.set(runtime.create_texture(source, sampler, read, (texels, sampling))?)
    }

    /// Takes a texture away.
    fn cudaDestroyTextureObject(texture: u64) |runtime| { runtime.destroy_texture(texture) }

    /// Where the texels of a texture are.
    fn cudaGetTextureObjectResourceDesc(to: Out<u8>, texture: u64) |runtime| {
        to.set_bytes(runtime.texture_description(texture)?.0)
    }

    /// How a texture is read.
    fn cudaGetTextureObjectTextureDesc(to: Out<u8>, texture: u64) |runtime| {
        to.set_bytes(runtime.texture_description(texture)?.1)
    }

    /// Makes a surface of an array.
    fn cudaCreateSurfaceObject(to: Out<u64>, texels: Memory) |runtime| {
        let texels = texels.with_bytes(RUNTIME_TEXELS, |bytes| Ok(bytes.to_vec()))?;
        let TexelSource::Array(array) = runtime_texels(&texels)? else { return Err(Status::INVALID_VALUE) };
        to.set(runtime.create_surface(array, texels)?)
    }

    /// Takes a surface away.
    fn cudaDestroySurfaceObject(surface: u64) |runtime| { runtime.destroy_surface(surface) }

    /// Where the texels of a surface are.
    fn cudaGetSurfaceObjectResourceDesc(to: Out<u8>, surface: u64) |runtime| {
        to.set_bytes(runtime.texture_description(surface)?.0)
    }
}
