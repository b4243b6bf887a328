//! Arrays, and the textures and surfaces that kernels see them by.
//!
//! An array is memory of the device whose texels lie row after row, layer after layer and level after level; programs
//! have a handle of it and no address.

use std::collections::BTreeMap;

use warplens_device::{Resource, TexelPlace};
use warplens_isa::{Geometry, OpaqueType, ReadMode, Sampler, TexelFormat, TexelLayout, TexelShape};

use crate::handles::{Handle, Table};
use crate::memory::MemoryKind;
use crate::operations::{Extent, Rows};
use crate::runtime::Runtime;
use crate::status::{Result, Status};

/// Flags of an array: its third extent counts layers; its faces are those of a cube.
const LAYERED: u32 = 1;
const CUBE: u32 = 4;
/// Faces of a cube.
const FACES: u64 = 6;

/// What an array was made as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArrayInfo {
    /// What a texel holds.
    pub format: TexelFormat,
    /// Texels along each axis, and layers; 0 along axes that it does not have.
    pub extent: [u64; 3],
    /// Flags that it was made with.
    pub flags: u32,
}

/// An array, or a level of one.
#[derive(Clone, Debug)]
struct Array {
    info: ArrayInfo,
    resource: Resource,
    /// A level belongs to its mipmap.
    is_level: bool,
    /// Levels that somebody asked for.
    levels: BTreeMap<u32, Handle>,
}

/// All arrays, and what textures were made of.
#[derive(Debug)]
pub(crate) struct Arrays {
    arrays: Table<Array>,
    /// What a program said about a texture: its texels, how it is read.
    descriptions: BTreeMap<u64, (Vec<u8>, Vec<u8>)>,
}

impl Default for Arrays {
    fn default() -> Self {
        Self { arrays: Table::new(10), descriptions: BTreeMap::new() }
    }
}

/// Where the texels of a texture are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TexelSource {
    /// In an array.
    Array(Handle),
    /// In memory, one after the other.
    Linear {
        /// The first.
        address: u64,
        /// What a texel holds.
        format: TexelFormat,
        /// Bytes of all.
        bytes: u64,
    },
    /// In memory, in rows.
    Pitch {
        /// The first.
        address: u64,
        /// What a texel holds.
        format: TexelFormat,
        /// Texels of a row, and rows.
        extent: [u64; 2],
        /// Bytes from row to row.
        pitch: u64,
    },
}

/// The shape of an array.
fn shape(info: &ArrayInfo, levels: u32) -> Result<TexelShape> {
    let ArrayInfo { format, extent: [width, height, depth], flags } = *info;
    let narrow = |extent: u64| u32::try_from(extent.max(1)).map_err(|_| Status::INVALID_VALUE);
    let (geometry, extent, layers) = match (flags & LAYERED != 0, flags & CUBE != 0) {
        (is_layered, true) => {
            if depth == 0 || !depth.is_multiple_of(FACES) || (!is_layered && depth != FACES) {
                return Err(Status::INVALID_VALUE);
            }
            let geometry = if is_layered { Geometry::Cubes } else { Geometry::Cube };
            (geometry, [width, height, 1], depth / FACES)
        }
        (true, false) if height == 0 => (Geometry::Lines, [width, 1, 1], depth),
        (true, false) => (Geometry::Planes, [width, height, 1], depth),
        (false, false) if depth > 0 => (Geometry::Volume, [width, height, depth], 1),
        (false, false) if height > 0 => (Geometry::Plane, [width, height, 1], 1),
        (false, false) => (Geometry::Line, [width, 1, 1], 1),
    };
    if width == 0 || (flags & (LAYERED | CUBE) != 0 && depth == 0) {
        return Err(Status::INVALID_VALUE);
    }
    let extent = [narrow(extent[0])?, narrow(extent[1])?, narrow(extent[2])?];
    Ok(TexelShape { format, layout: TexelLayout::Array, geometry, extent, layers: narrow(layers)?, levels })
}

impl Runtime {
    /// Makes an array of so many levels; `call` is what messages name it by.
    pub fn create_array(&mut self, call: &str, info: ArrayInfo, levels: u32) -> Result<Handle> {
        let shape = shape(&info, levels.max(1))?;
        let largest = shape.extent.into_iter().max().unwrap_or(1);
        if shape.levels > 32 - largest.leading_zeros() {
            return Err(Status::INVALID_VALUE);
        }
        let bytes = Resource { address: 0, shape }.bytes().ok_or(Status::INVALID_VALUE)?;
        let address = self.allocate(call, bytes, MemoryKind::Device)?;
        // It is not looked what surfaces write.
        self.forget(address);
        let resource = Resource { address, shape };
        Ok(self.arrays.arrays.insert(Array { info, resource, is_level: false, levels: BTreeMap::new() }))
    }

    fn array(&self, array: Handle) -> Result<&Array> {
        self.arrays.arrays.get(array).ok_or(Status::INVALID_HANDLE)
    }

    /// Frees an array; none is no mistake.
    pub fn free_array(&mut self, array: Handle) -> Result<()> {
        if array == 0 {
            return Ok(());
        }
        if self.array(array)?.is_level {
            return Err(Status::INVALID_HANDLE);
        }
        let address = self.array(array)?.resource.address;
        self.free(address, &[MemoryKind::Device])?;
        for level in self.arrays.arrays.remove(array).map(|array| array.levels).unwrap_or_default().into_values() {
            self.arrays.arrays.remove(level);
        }
        Ok(())
    }

    /// A level of a mipmap, as an array.
    pub fn array_level(&mut self, array: Handle, level: u32) -> Result<Handle> {
        let Array { info, resource, levels, .. } = self.array(array)?.clone();
        if let Some(known) = levels.get(&level) {
            return Ok(*known);
        }
        if level >= resource.levels {
            return Err(Status::INVALID_VALUE);
        }
        let extent = resource.extent_of(level);
        let address = resource.address + resource.offset(TexelPlace { level, layer: 0, at: [0; 3] });
        let mut own = info;
        let is_layered = info.flags & (LAYERED | CUBE) != 0;
        for (axis, own) in own.extent.iter_mut().enumerate() {
            if *own > 0 && !(axis == 2 && is_layered) {
                *own = extent[axis].into();
            }
        }
        let resource = Resource { address, shape: TexelShape { extent, levels: 1, ..resource.shape } };
        let handle = self.arrays.arrays.insert(Array { info: own, resource, is_level: true, levels: BTreeMap::new() });
        if let Some(array) = self.arrays.arrays.get_mut(array) {
            array.levels.insert(level, handle);
        }
        Ok(handle)
    }

    /// What an array was made as.
    pub fn array_info(&self, array: Handle) -> Result<ArrayInfo> {
        self.array(array).map(|array| array.info)
    }

    /// A box in an array, for copies: its place is in texels along the first axis, as is its extent if that is not
    /// `in_bytes`.
    pub fn array_box(
        &self,
        array: Handle,
        [x, y, z]: [u64; 3],
        extent: Extent,
        in_bytes: bool,
    ) -> Result<(Rows, Extent)> {
        let Array { resource, info, .. } = self.array(array)?;
        let texel = u64::from(resource.format.bytes());
        let pitch = u64::from(resource.extent[0]) * texel;
        let rows = u64::from(resource.extent[1]);
        let slices = info.extent[2].max(1);
        let scale = if in_bytes { 1 } else { texel };
        let [width, height, depth] = extent;
        let (x, width) = (x.checked_mul(scale), width.checked_mul(scale));
        let (Some(x), Some(width)) = (x, width) else { return Err(Status::INVALID_VALUE) };
        let fits = |from: u64, n: u64, all: u64| from.checked_add(n).is_some_and(|end| end <= all);
        if !(fits(x, width, pitch) && fits(y, height, rows) && fits(z, depth, slices)) {
            return Err(Status::INVALID_VALUE);
        }
        let slice = pitch * rows;
        let address = resource.address + z * slice + y * pitch + x;
        Ok((Rows { address, pitch, slice }, [width, height, depth]))
    }

    /// Bytes of an array one after the other from a place in it on.
    pub fn array_line(&self, array: Handle, x_bytes: u64, y: u64, bytes: u64) -> Result<u64> {
        let resource = self.array(array)?.resource;
        let offset = u64::from(resource.extent[0] * resource.format.bytes()).checked_mul(y);
        let offset = offset.and_then(|offset| offset.checked_add(x_bytes)).ok_or(Status::INVALID_VALUE)?;
        let end = offset.checked_add(bytes).ok_or(Status::INVALID_VALUE)?;
        if resource.bytes().is_none_or(|all| end > all) {
            return Err(Status::INVALID_VALUE);
        }
        Ok(resource.address + offset)
    }

    fn resource(&self, source: TexelSource) -> Result<Resource> {
        let narrow = |extent: u64| u32::try_from(extent).map_err(|_| Status::INVALID_VALUE);
        let one = |format: TexelFormat| TexelShape {
            format,
            layout: TexelLayout::Linear,
            geometry: Geometry::Line,
            extent: [1; 3],
            layers: 1,
            levels: 1,
        };
        Ok(match source {
            TexelSource::Array(array) => self.array(array)?.resource,
            TexelSource::Linear { address, format, bytes } => {
                let width = narrow(bytes / u64::from(format.bytes()))?;
                Resource { address, shape: TexelShape { extent: [width, 1, 1], ..one(format) } }
            }
            TexelSource::Pitch { address, format, extent: [width, height], pitch } => {
                let extent = [narrow(width)?, narrow(height)?, 1];
                let shape =
                    TexelShape { layout: TexelLayout::Pitch(pitch), geometry: Geometry::Plane, extent, ..one(format) };
                Resource { address, shape }
            }
        })
    }

    /// Makes a texture. What the program said about it is kept for who asks.
    pub fn create_texture(
        &mut self,
        source: TexelSource,
        sampler: Sampler,
        read: ReadMode,
        said: (Vec<u8>, Vec<u8>),
    ) -> Result<u64> {
        self.alive()?;
        let Resource { address, shape } = self.resource(source)?;
        let made = self.context.create_texture(address, shape, sampler, read);
        let texture = made.map_err(|error| self.fail(Status::INVALID_VALUE, &format!("texture: {error}")))?;
        self.arrays.descriptions.insert(texture, said);
        Ok(texture)
    }

    /// What the program said about the texels of a texture and about how it is read.
    pub fn texture_description(&self, texture: u64) -> Result<(&[u8], &[u8])> {
        let (texels, sampling) = self.arrays.descriptions.get(&texture).ok_or(Status::INVALID_VALUE)?;
        Ok((texels, sampling))
    }

    /// Takes a texture away.
    pub fn destroy_texture(&mut self, texture: u64) -> Result<()> {
        self.arrays.descriptions.remove(&texture);
        self.context.destroy_object(texture, OpaqueType::Texture).map_err(|_| Status::INVALID_VALUE)
    }

    /// Makes a surface of an array.
    pub fn create_surface(&mut self, array: Handle, said: Vec<u8>) -> Result<u64> {
        self.alive()?;
        let Resource { address, shape } = self.array(array)?.resource;
        let made = self.context.create_surface(address, shape);
        let surface = made.map_err(|error| self.fail(Status::INVALID_VALUE, &format!("surface: {error}")))?;
        self.arrays.descriptions.insert(surface, (said, Vec::new()));
        Ok(surface)
    }

    /// Takes a surface away.
    pub fn destroy_surface(&mut self, surface: u64) -> Result<()> {
        self.arrays.descriptions.remove(&surface);
        self.context.destroy_object(surface, OpaqueType::Surface).map_err(|_| Status::INVALID_VALUE)
    }

    /// Where the texels of a texture or a surface are.
    pub(crate) fn texels_of(&self, object: u64) -> Option<u64> {
        // Most words are no handles of objects, and those of a program are known.
        self.arrays.descriptions.get(&object)?;
        let texture = self.context.texture(object).map(|texture| texture.resource.address);
        texture.or_else(|_| self.context.surface(object).map(|surface| surface.address)).ok()
    }
}

#[cfg(test)]
mod tests {
    use warplens_isa::Channel;

    use super::*;
    use crate::runtime::tests::runtime;

    fn info(extent: [u64; 3], flags: u32) -> ArrayInfo {
        ArrayInfo { format: TexelFormat::new(Channel::F32, 1).unwrap(), extent, flags }
    }

    #[test]
    fn arrays_have_the_shape_that_their_extents_and_flags_say() {
        let geometry = |extent, flags| shape(&info(extent, flags), 1).map(|shape| (shape.geometry, shape.layers));
        assert_eq!(geometry([4, 0, 0], 0), Ok((Geometry::Line, 1)));
        assert_eq!(geometry([4, 3, 0], 0), Ok((Geometry::Plane, 1)));
        assert_eq!(geometry([4, 3, 2], 0), Ok((Geometry::Volume, 1)));
        assert_eq!(geometry([4, 0, 5], LAYERED), Ok((Geometry::Lines, 5)));
        assert_eq!(geometry([4, 3, 5], LAYERED), Ok((Geometry::Planes, 5)));
        assert_eq!(geometry([4, 4, 6], CUBE), Ok((Geometry::Cube, 1)));
        assert_eq!(geometry([4, 4, 12], CUBE | LAYERED), Ok((Geometry::Cubes, 2)));
        assert_eq!(geometry([4, 4, 5], CUBE), Err(Status::INVALID_VALUE));
        assert_eq!(geometry([0, 4, 0], 0), Err(Status::INVALID_VALUE));
    }

    #[test]
    fn boxes_lie_inside_of_their_arrays() {
        let mut runtime = runtime();
        let array = runtime.create_array("array", info([8, 4, 3], 0), 1).unwrap();
        let address = runtime.array(array).unwrap().resource.address;
        let (rows, extent) = runtime.array_box(array, [1, 2, 1], [7, 2, 2], false).unwrap();
        assert_eq!((rows.address - address, rows.pitch, rows.slice), (32 * 4 + 2 * 32 + 4, 32, 128));
        assert_eq!(extent, [28, 2, 2]);
        assert_eq!(runtime.array_box(array, [1, 2, 1], [8, 2, 2], false), Err(Status::INVALID_VALUE));
        assert_eq!(runtime.array_box(array, [0, 0, 3], [1, 1, 1], false), Err(Status::INVALID_VALUE));
        assert_eq!(runtime.array_line(array, 4, 1, 32 * 12 - 36), Ok(address + 36));
        assert_eq!(runtime.array_line(array, 4, 1, 32 * 12 - 35), Err(Status::INVALID_VALUE));
        runtime.free_array(array).unwrap();
        assert_eq!(runtime.free_array(array), Err(Status::INVALID_HANDLE));
    }

    #[test]
    fn levels_of_a_mipmap_are_arrays() {
        let mut runtime = runtime();
        let mipmap = runtime.create_array("mipmap", info([8, 4, 0], 0), 3).unwrap();
        let level = runtime.array_level(mipmap, 1).unwrap();
        assert_eq!(runtime.array_level(mipmap, 1), Ok(level));
        assert_eq!(runtime.array_info(level).unwrap().extent, [4, 2, 0]);
        let start = |array| runtime.array(array).unwrap().resource.address;
        assert_eq!(start(level) - start(mipmap), 8 * 4 * 4);
        assert_eq!(runtime.free_array(level), Err(Status::INVALID_HANDLE));
        assert_eq!(runtime.array_level(mipmap, 3), Err(Status::INVALID_VALUE));
        runtime.free_array(mipmap).unwrap();
        assert_eq!(runtime.array_info(level), Err(Status::INVALID_HANDLE));
    }
}
