//! Textures and surfaces: arrays of texels, and the objects that kernels get as handles.
//!
//! The structures and numbers are those of `cuda.h`.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_uint, c_void};

use warplens_base::error::{Error, ErrorKind, Result};
use warplens_isa::{
    AddressMode, Channel, Filter, Geometry, OpaqueType, ReadMode, Sampler, TexelFormat, TexelLayout, TexelShape,
};
use warplens_launch::PlannedObject;

use crate::driver::{Address, Handle};
use crate::gpu::Gpu;

/// `CUDA_ARRAY3D_DESCRIPTOR`.
#[repr(C)]
pub(crate) struct ArrayDescriptor {
    extent: [usize; 3],
    format: c_int,
    channels: c_uint,
    flags: c_uint,
}

/// `CUDA_ARRAY3D_LAYERED`, `..._SURFACE_LDST`, `..._CUBEMAP` and `..._TEXTURE_GATHER`.
const LAYERED: c_uint = 1;
const SURFACE: c_uint = 2;
const CUBE: c_uint = 4;
const GATHER: c_uint = 8;

/// One side of `CUDA_MEMCPY3D`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Side {
    at: [usize; 3],
    level: usize,
    /// `CU_MEMORYTYPE_...`: device memory or an array.
    kind: c_int,
    host: *const c_void,
    device: Address,
    array: Handle,
    reserved: *const c_void,
    pitch: usize,
    height: usize,
}

impl Side {
    fn memory(address: Address, pitch: usize, height: usize) -> Self {
        Self { kind: 2, device: address, pitch, height, ..Self::array(std::ptr::null_mut()) }
    }

    fn array(array: Handle) -> Self {
        let (host, reserved) = (std::ptr::null(), std::ptr::null());
        Self { at: [0; 3], level: 0, kind: 3, host, device: 0, array, reserved, pitch: 0, height: 0 }
    }
}

/// `CUDA_MEMCPY3D`.
#[repr(C)]
pub(crate) struct Copy3d {
    from: Side,
    to: Side,
    width_bytes: usize,
    height: usize,
    depth: usize,
}

/// `CUDA_RESOURCE_DESC`.
#[repr(C)]
pub(crate) struct ResourceDescriptor {
    /// `CU_RESOURCE_TYPE_...`: array, mipmapped array, linear memory, memory with a pitch.
    kind: c_int,
    padding: c_int,
    /// A union; its fields are words of eight bytes or pairs of four.
    words: [u64; 16],
    flags: c_uint,
}

/// `CUDA_TEXTURE_DESC`.
#[repr(C)]
pub(crate) struct TextureDescriptor {
    address: [c_int; 3],
    filter: c_int,
    flags: c_uint,
    anisotropy: c_uint,
    level_filter: c_int,
    level_bias: f32,
    level_range: [f32; 2],
    border: [f32; 4],
    reserved: [c_int; 12],
}

/// `CU_TRSF_READ_AS_INTEGER` and `CU_TRSF_NORMALIZED_COORDINATES`.
const AS_INTEGER: c_uint = 1;
const NORMALIZED: c_uint = 2;

/// Texels in an array, if they lie in one, and the object.
pub(crate) struct Image<'g> {
    gpu: &'g Gpu,
    kind: OpaqueType,
    pub(crate) handle: u64,
    array: Option<Array>,
    /// Where the texels lie in a buffer, and their shape.
    at: Address,
    shape: TexelShape,
}

/// An array with a level for each handle; more than one are of a mipmap, whose own handle comes last.
struct Array {
    levels: Vec<Handle>,
    mipmap: Option<Handle>,
}

fn format_number(channel: Channel) -> c_int {
    match channel {
        Channel::U8 => 0x01,
        Channel::U16 => 0x02,
        Channel::U32 => 0x03,
        Channel::S8 => 0x08,
        Channel::S16 => 0x09,
        Channel::S32 => 0x0a,
        Channel::F16 => 0x10,
        Channel::F32 => 0x20,
    }
}

/// Format and channels as one word of a resource.
fn format_word(format: TexelFormat) -> u64 {
    format_number(format.channel()) as u64 | (format.channels() as u64) << 32
}

/// Rows of a level, and planes, of all layers.
fn extents(shape: &TexelShape, level: u32) -> [usize; 3] {
    let [x, y, z] = shape.extent.map(|extent| (extent >> level).max(1) as usize);
    let layers = shape.layers as usize;
    match shape.geometry {
        Geometry::Line | Geometry::Plane | Geometry::Volume => [x, y, z],
        // Layers of lines follow each other as rows of planes do.
        Geometry::Lines | Geometry::Planes => [x, y, layers],
        Geometry::Cube | Geometry::Cubes => [x, y, 6 * layers],
    }
}

impl<'g> Image<'g> {
    /// Makes an object whose texels lie at an address.
    pub(crate) fn new(gpu: &'g Gpu, object: &PlannedObject, address_of: impl Fn() -> Address) -> Result<Self> {
        let refused = |what: &str| Err(Error::new(ErrorKind::Unsupported, format!("{}: {what}", object.name)));
        let Some((_, offset, shape)) = object.texels else {
            return refused("samplers on their own are not made on a GPU");
        };
        let at = address_of() + offset;
        let array = match shape.layout {
            TexelLayout::Array => Some(Array::new(gpu, &shape, object.kind)?),
            TexelLayout::Linear | TexelLayout::Pitch(_) => None,
        };
        let mut image = Self { gpu, kind: object.kind, handle: 0, array, at, shape };
        image.fill()?;
        let resource = image.resource();
        match object.kind {
            OpaqueType::Surface => {
                // SAFETY: the result is writable; the descriptor is complete and only read.
                let status = unsafe { (gpu.driver.create_surface)(&raw mut image.handle, &raw const resource) };
                gpu.driver.check("a surface", status)?;
            }
            OpaqueType::Texture => {
                let texture = texture_descriptor(object.sampler, object.read, shape.format.channel());
                // SAFETY: as above; without a view the resource is seen as it is.
                let status = unsafe {
                    (gpu.driver.create_texture)(
                        &raw mut image.handle,
                        &raw const resource,
                        &raw const texture,
                        std::ptr::null(),
                    )
                };
                gpu.driver.check("a texture", status)?;
            }
            OpaqueType::Sampler => return refused("samplers on their own are not made on a GPU"),
        }
        Ok(image)
    }

    fn resource(&self) -> ResourceDescriptor {
        let format = self.shape.format;
        let word = |handle: Handle| handle as u64;
        let [x, y, _] = self.shape.extent.map(u64::from);
        let (kind, first): (c_int, &[u64]) = match (&self.array, self.shape.layout) {
            (Some(Array { mipmap: Some(mipmap), .. }), _) => (1, &[word(*mipmap)]),
            (Some(Array { levels, .. }), _) => (0, &[word(levels[0])]),
            (None, TexelLayout::Pitch(pitch)) => (3, &[self.at, format_word(format), x, y, pitch]),
            (None, _) => (2, &[self.at, format_word(format), x * u64::from(format.bytes())]),
        };
        let mut words = [0; 16];
        words[..first.len()].copy_from_slice(first);
        ResourceDescriptor { kind, padding: 0, words, flags: 0 }
    }

    /// Copies the texels from the buffer into the array.
    pub(crate) fn fill(&self) -> Result<()> {
        self.copy(|array, memory| (memory, array))
    }

    /// Copies the texels of a surface back into its buffer.
    pub(crate) fn read_back(&self) -> Result<()> {
        match self.kind {
            OpaqueType::Surface => self.copy(|array, memory| (array, memory)),
            OpaqueType::Texture | OpaqueType::Sampler => Ok(()),
        }
    }

    fn copy(&self, ends: impl Fn(Side, Side) -> (Side, Side)) -> Result<()> {
        let Some(array) = &self.array else { return Ok(()) };
        let mut at = self.at;
        for (level, &handle) in (0..).zip(&array.levels) {
            let [x, height, depth] = extents(&self.shape, level);
            let width_bytes = x * self.shape.format.bytes() as usize;
            let (from, to) = ends(Side::array(handle), Side::memory(at, width_bytes, height));
            let copy = Copy3d { from, to, width_bytes, height, depth };
            // SAFETY: the array has these extents, and the buffer as many bytes, which the plan has checked.
            let status = unsafe { (self.gpu.driver.copy_3d)(&raw const copy) };
            self.gpu.driver.check("to copy texels", status)?;
            at += (width_bytes * height * depth) as u64;
        }
        Ok(())
    }
}

impl Drop for Image<'_> {
    fn drop(&mut self) {
        let driver = &self.gpu.driver;
        // SAFETY: neither the object nor the array is used again. A failure leaves nothing to be done.
        unsafe {
            match self.kind {
                OpaqueType::Surface => (driver.destroy_surface)(self.handle),
                OpaqueType::Texture | OpaqueType::Sampler => (driver.destroy_texture)(self.handle),
            };
            match &self.array {
                Some(Array { mipmap: Some(mipmap), .. }) => (driver.destroy_mipmap)(*mipmap),
                Some(Array { levels, .. }) => (driver.destroy_array)(levels[0]),
                None => 0,
            };
        }
    }
}

impl Array {
    fn new(gpu: &Gpu, shape: &TexelShape, kind: OpaqueType) -> Result<Self> {
        let [x, y, depth] = extents(shape, 0);
        let geometry = shape.geometry;
        let n_axes = geometry.n_axes();
        // Axes that the geometry has not are 0 here.
        let descriptor = ArrayDescriptor {
            extent: [
                x,
                if n_axes >= 2 { y } else { 0 },
                if n_axes == 3 || geometry.is_layered() || geometry.is_cube() { depth } else { 0 },
            ],
            format: format_number(shape.format.channel()),
            channels: shape.format.channels() as c_uint,
            flags: if geometry.is_layered() { LAYERED } else { 0 }
                | if geometry.is_cube() { CUBE } else { 0 }
                | if kind == OpaqueType::Surface { SURFACE } else { 0 }
                | if geometry == Geometry::Plane && shape.levels == 1 { GATHER } else { 0 },
        };
        let mut handle = std::ptr::null_mut();
        if shape.levels == 1 {
            // SAFETY: the result is writable; the descriptor is complete and only read.
            let status = unsafe { (gpu.driver.create_array)(&raw mut handle, &raw const descriptor) };
            gpu.driver.check("an array", status)?;
            return Ok(Self { levels: vec![handle], mipmap: None });
        }
        // SAFETY: as above.
        let status = unsafe { (gpu.driver.create_mipmap)(&raw mut handle, &raw const descriptor, shape.levels) };
        gpu.driver.check("a mipmap", status)?;
        let level = |level| {
            let mut array = std::ptr::null_mut();
            // SAFETY: the mipmap is live and has this level.
            let status = unsafe { (gpu.driver.mipmap_level)(&raw mut array, handle, level) };
            gpu.driver.check("a level of a mipmap", status)?;
            Ok(array)
        };
        Ok(Self { levels: (0..shape.levels).map(level).collect::<Result<_>>()?, mipmap: Some(handle) })
    }
}

fn texture_descriptor(sampler: Sampler, read: ReadMode, channel: Channel) -> TextureDescriptor {
    let address = |mode| match mode {
        AddressMode::Wrap => 0,
        AddressMode::Clamp => 1,
        AddressMode::Mirror => 2,
        AddressMode::Border => 3,
    };
    let filter = |filter| match filter {
        Filter::Point => 0,
        Filter::Linear => 1,
    };
    let as_integer = if read == ReadMode::Element && channel.is_integer() { AS_INTEGER } else { 0 };
    TextureDescriptor {
        address: sampler.address.map(address),
        filter: filter(sampler.filter),
        flags: as_integer | if sampler.normalized { NORMALIZED } else { 0 },
        anisotropy: 0,
        level_filter: filter(sampler.level_filter),
        level_bias: sampler.level_bias,
        level_range: sampler.level_range,
        border: sampler.border,
        reserved: [0; 12],
    }
}
