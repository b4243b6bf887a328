//! Arrays, textures, surfaces and copies of boxes in the driver API.

use warplens_runtime::{Operation, Rows, Status, TexelSource, Transfer};

use crate::arrays::{
    Copy2d, Copy3d, DRIVER_SAMPLING, DRIVER_TEXELS, Descriptor2d, Descriptor3d, driver_sampling, driver_texels,
};
use crate::driver::in_context;
use crate::guard::driver_call;
use crate::operations::submit;
use crate::pointers::{In, Memory, Out};
use crate::runtime_memory::fill_rows;
use crate::{Runtime, api};

type Result<T> = std::result::Result<T, Status>;

fn copy_2d(runtime: &mut Runtime, copy: In<Copy2d>, stream: u64) -> Result<()> {
    in_context(runtime)?;
    let transfer = copy.get()?.transfer(runtime)?;
    submit(runtime, stream, Operation::Copy(transfer))
}

fn copy_3d(runtime: &mut Runtime, copy: In<Copy3d>, stream: u64) -> Result<()> {
    in_context(runtime)?;
    let transfer = copy.get()?.transfer(runtime)?;
    submit(runtime, stream, Operation::Copy(transfer))
}

/// Copies bytes; of an array they are those from an offset on.
fn copy_line(runtime: &mut Runtime, to: u64, from: u64, bytes: usize, stream: u64) -> Result<()> {
    submit(runtime, stream, Operation::Copy(Transfer::line(to, from, bytes as u64)))
}

fn in_array(runtime: &Runtime, array: Memory, offset: usize, bytes: usize) -> Result<u64> {
    in_context(runtime)?;
    runtime.array_line(array.address(), offset as u64, 0, bytes as u64)
}

fn fill_2d(
    runtime: &mut Runtime,
    (to, pitch): (u64, usize),
    pattern: &[u8],
    (width, height): (usize, usize),
    stream: u64,
) -> Result<()> {
    in_context(runtime)?;
    let rows = Rows { address: to, pitch: pitch as u64, slice: 0 };
    let bytes = width.checked_mul(pattern.len()).ok_or(Status::INVALID_VALUE)?;
    fill_rows(runtime, rows, pattern, [bytes as u64, height as u64, 1], stream)
}

api! { driver_call;
    /// Copies rows.
    fn cuMemcpy2D_v2(copy: In<Copy2d>) |runtime| { copy_2d(runtime, copy, 0) }

    /// Copies rows of any alignment.
    fn cuMemcpy2DUnaligned_v2(copy: In<Copy2d>) |runtime| { copy_2d(runtime, copy, 0) }

    /// Copies rows in a stream.
    fn cuMemcpy2DAsync_v2(copy: In<Copy2d>, stream: Memory) |runtime| { copy_2d(runtime, copy, stream.address()) }

    /// Copies a box.
    fn cuMemcpy3D_v2(copy: In<Copy3d>) |runtime| { copy_3d(runtime, copy, 0) }

    /// Copies a box in a stream.
    fn cuMemcpy3DAsync_v2(copy: In<Copy3d>, stream: Memory) |runtime| { copy_3d(runtime, copy, stream.address()) }

    /// Copies bytes of the host to an array.
    fn cuMemcpyHtoA_v2(array: Memory, offset: usize, from: Memory, bytes: usize) |runtime| {
        let to = in_array(runtime, array, offset, bytes)?;
        copy_line(runtime, to, from.address(), bytes, 0)
    }

    /// The same in a stream.
    fn cuMemcpyHtoAAsync_v2(array: Memory, offset: usize, from: Memory, bytes: usize, stream: Memory) |runtime| {
        let to = in_array(runtime, array, offset, bytes)?;
        copy_line(runtime, to, from.address(), bytes, stream.address())
    }

    /// Copies bytes of an array to the host.
    fn cuMemcpyAtoH_v2(to: Memory, array: Memory, offset: usize, bytes: usize) |runtime| {
        let from = in_array(runtime, array, offset, bytes)?;
        copy_line(runtime, to.address(), from, bytes, 0)
    }

    /// The same in a stream.
    fn cuMemcpyAtoHAsync_v2(to: Memory, array: Memory, offset: usize, bytes: usize, stream: Memory) |runtime| {
        let from = in_array(runtime, array, offset, bytes)?;
        copy_line(runtime, to.address(), from, bytes, stream.address())
    }

    /// Copies bytes of the device to an array.
    fn cuMemcpyDtoA_v2(array: Memory, offset: usize, from: u64, bytes: usize) |runtime| {
        let to = in_array(runtime, array, offset, bytes)?;
        copy_line(runtime, to, from, bytes, 0)
    }

    /// Copies bytes of an array to memory of the device.
    fn cuMemcpyAtoD_v2(to: u64, array: Memory, offset: usize, bytes: usize) |runtime| {
        let from = in_array(runtime, array, offset, bytes)?;
        copy_line(runtime, to, from, bytes, 0)
    }

    /// Copies bytes between arrays.
    fn cuMemcpyAtoA_v2(to: Memory, to_offset: usize, from: Memory, from_offset: usize, bytes: usize) |runtime| {
        let to = in_array(runtime, to, to_offset, bytes)?;
        let from = in_array(runtime, from, from_offset, bytes)?;
        copy_line(runtime, to, from, bytes, 0)
    }

    /// Sets rows of bytes.
    fn cuMemsetD2D8_v2(to: u64, pitch: usize, value: u8, width: usize, height: usize) |runtime| {
        fill_2d(runtime, (to, pitch), &[value], (width, height), 0)
    }

    /// Sets rows of values of 16 bits.
    fn cuMemsetD2D16_v2(to: u64, pitch: usize, value: u16, width: usize, height: usize) |runtime| {
        fill_2d(runtime, (to, pitch), &value.to_le_bytes(), (width, height), 0)
    }

    /// Sets rows of values of 32 bits.
    fn cuMemsetD2D32_v2(to: u64, pitch: usize, value: u32, width: usize, height: usize) |runtime| {
        fill_2d(runtime, (to, pitch), &value.to_le_bytes(), (width, height), 0)
    }

    /// Sets rows of bytes in a stream.
    fn cuMemsetD2D8Async(to: u64, pitch: usize, value: u8, width: usize, height: usize, stream: Memory) |runtime| {
        fill_2d(runtime, (to, pitch), &[value], (width, height), stream.address())
    }

    /// Sets rows of values of 16 bits in a stream.
    fn cuMemsetD2D16Async(to: u64, pitch: usize, value: u16, width: usize, height: usize, stream: Memory) |runtime| {
        fill_2d(runtime, (to, pitch), &value.to_le_bytes(), (width, height), stream.address())
    }

    /// Sets rows of values of 32 bits in a stream.
    fn cuMemsetD2D32Async(to: u64, pitch: usize, value: u32, width: usize, height: usize, stream: Memory) |runtime| {
        fill_2d(runtime, (to, pitch), &value.to_le_bytes(), (width, height), stream.address())
    }

    /// Makes an array of one or two dimensions.
    fn cuArrayCreate_v2(to: Out<u64>, descriptor: In<Descriptor2d>) |runtime| {
        in_context(runtime)?;
        let info = descriptor.get()?.info()?;
        to.set(runtime.create_array("cuArrayCreate", info, 1)?)
    }

    /// What it was made as.
    fn cuArrayGetDescriptor_v2(to: Out<Descriptor2d>, array: Memory) |runtime| {
        to.set(Descriptor2d::of(runtime.array_info(array.address())?))
    }

    /// Makes an array of any shape.
    fn cuArray3DCreate_v2(to: Out<u64>, descriptor: In<Descriptor3d>) |runtime| {
        in_context(runtime)?;
        let info = descriptor.get()?.info()?;
        to.set(runtime.create_array("cuArray3DCreate", info, 1)?)
    }

    /// What it was made as.
    fn cuArray3DGetDescriptor_v2(to: Out<Descriptor3d>, array: Memory) |runtime| {
        to.set(Descriptor3d::of(runtime.array_info(array.address())?))
    }

    /// Takes an array away.
    fn cuArrayDestroy(array: Memory) |runtime| {
        in_context(runtime)?;
        if array.address() == 0 {
            return Err(Status::INVALID_HANDLE);
        }
        runtime.free_array(array.address())
    }

    /// Makes an array of several levels.
    fn cuMipmappedArrayCreate(to: Out<u64>, descriptor: In<Descriptor3d>, levels: u32) |runtime| {
        in_context(runtime)?;
        let info = descriptor.get()?.info()?;
        to.set(runtime.create_array("cuMipmappedArrayCreate", info, levels)?)
    }

    /// A level of an array, which belongs to it.
    fn cuMipmappedArrayGetLevel(to: Out<u64>, array: Memory, level: u32) |runtime| {
        to.set(runtime.array_level(array.address(), level)?)
    }

    /// Takes an array of several levels away.
    fn cuMipmappedArrayDestroy(array: Memory) |runtime| { runtime.free_array(array.address()) }

    /// Makes a texture. A view of its texels as something else is not supported.
    fn cuTexObjectCreate(to: Out<u64>, texels: Memory, sampling: Memory, view: Memory) |runtime| {
        in_context(runtime)?;
        let format = if view.address() == 0 { 0 } else { In::<i32>::of(view).get()? };
        if format != 0 {
            return Err(runtime.unsupported("cuTexObjectCreate with a resource view"));
        }
        let texels = texels.with_bytes(DRIVER_TEXELS, |bytes| Ok(bytes.to_vec()))?;
        let sampling = sampling.with_bytes(DRIVER_SAMPLING, |bytes| Ok(bytes.to_vec()))?;
        let source = driver_texels(&texels)?;
        let format = match source {
            TexelSource::Array(array) => runtime.array_info(array)?.format,
            TexelSource::Linear { format, .. } | TexelSource::Pitch { format, .. } => format,
        };
        let (sampler, read) = driver_sampling(&sampling, source, format)?;
        to.set(runtime.create_texture(source, sampler, read, (texels, sampling))?)
    }

    /// Takes a texture away.
    fn cuTexObjectDestroy(texture: u64) |runtime| { runtime.destroy_texture(texture) }

    /// Where the texels of a texture are.
    fn cuTexObjectGetResourceDesc(to: Out<u8>, texture: u64) |runtime| {
        to.set_bytes(runtime.texture_description(texture)?.0)
    }

    /// How a texture is read.
    fn cuTexObjectGetTextureDesc(to: Out<u8>, texture: u64) |runtime| {
        to.set_bytes(runtime.texture_description(texture)?.1)
    }

    /// Makes a surface of an array.
    fn cuSurfObjectCreate(to: Out<u64>, texels: Memory) |runtime| {
        in_context(runtime)?;
        let texels = texels.with_bytes(DRIVER_TEXELS, |bytes| Ok(bytes.to_vec()))?;
        let TexelSource::Array(array) = driver_texels(&texels)? else { return Err(Status::INVALID_VALUE) };
        to.set(runtime.create_surface(array, texels)?)
    }

    /// Takes a surface away.
    fn cuSurfObjectDestroy(surface: u64) |runtime| { runtime.destroy_surface(surface) }

    /// Where the texels of a surface are.
    fn cuSurfObjectGetResourceDesc(to: Out<u8>, surface: u64) |runtime| {
        to.set_bytes(runtime.texture_description(surface)?.0)
    }
}
