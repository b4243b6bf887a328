//! Texture, sampler and surface objects: what a handle stands for.
//!
//! Texels lie in a buffer of the device row after row, layer after layer and level after level, whatever the layout.
//! A CUDA array has a layout of its own, which no program can see but by which texels share sectors: [`Resource::shown`]
//! says where a texel lies in it.

use std::ops::Deref;

use thiserror::Error;
use warplens_isa::{Filter, Geometry, OpaqueType, ReadMode, Sampler, TexelLayout as Layout, TexelShape};

/// Texels in device memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Resource {
    /// Address of the first texel.
    pub address: u64,
    /// What they are, and how they lie.
    pub shape: TexelShape,
}

impl Deref for Resource {
    type Target = TexelShape;

    fn deref(&self) -> &TexelShape {
        &self.shape
    }
}

/// Place of a texel in a resource.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TexelPlace {
    /// Level of the mipmap.
    pub level: u32,
    /// Layer; of cubes six times the cube plus the face.
    pub layer: u32,
    /// Position along each axis.
    pub at: [u32; 3],
}

/// A texture.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TextureObject {
    /// Its texels.
    pub resource: Resource,
    /// How it is sampled unless an instruction brings a sampler.
    pub sampler: Sampler,
    /// What it gives.
    pub read: ReadMode,
}

/// What a handle stands for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Object {
    /// A texture.
    Texture(TextureObject),
    /// A sampler of its own.
    Sampler(Sampler),
    /// A surface.
    Surface(Resource),
}

impl Object {
    /// Which kind of object it is.
    pub const fn opaque_type(&self) -> OpaqueType {
        match self {
            Self::Texture(_) => OpaqueType::Texture,
            Self::Sampler(_) => OpaqueType::Sampler,
            Self::Surface(_) => OpaqueType::Surface,
        }
    }

    /// Its texels.
    pub const fn resource(&self) -> Option<&Resource> {
        match self {
            Self::Texture(texture) => Some(&texture.resource),
            Self::Surface(resource) => Some(resource),
            Self::Sampler(_) => None,
        }
    }
}

/// Why an object cannot be made.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ObjectError {
    /// An extent is 0, or more than memory has.
    #[error("a {} texture of {:?} texels with {} layers and {} levels cannot be", .0.geometry.name(), .0.extent, .0.layers, .0.levels)]
    Extent(Box<TexelShape>),
    /// A cube is not square.
    #[error("the faces of a cube are square, not {0} by {1} texels")]
    NotSquare(u32, u32),
    /// Linear memory is a line, memory with a pitch a plane, both without levels.
    #[error("{layout} memory cannot hold a {geometry} texture of {levels} levels", geometry = .geometry.name())]
    Layout {
        /// What the memory is.
        layout: &'static str,
        /// Wanted shape.
        geometry: Geometry,
        /// Wanted levels.
        levels: u32,
    },
    /// Rows overlap, or begin where no texel can.
    #[error("a pitch of {pitch} bytes does not hold rows of {row} bytes of texels of {texel} bytes")]
    Pitch {
        /// The pitch.
        pitch: u64,
        /// Bytes of a row.
        row: u64,
        /// Bytes of a texel.
        texel: u32,
    },
    /// The address is no multiple of a texel.
    #[error("address {address:#x} is not aligned to texels of {texel} bytes")]
    Misaligned {
        /// The address.
        address: u64,
        /// Bytes of a texel.
        texel: u32,
    },
    /// The texels do not lie in one buffer.
    #[error("{bytes} bytes at {address:#x} are not all in one buffer")]
    Outside {
        /// First address.
        address: u64,
        /// Bytes of the texels.
        bytes: u64,
    },
    /// 32-bit integers have no normalised form.
    #[error("only integers of 8 and 16 bits are read as normalised floats")]
    Normalized,
    /// Integers cannot be mixed.
    #[error("a linear filter needs floats: a float format, or integers that are read as normalised floats")]
    FilteredIntegers,
    /// Surfaces have no levels.
    #[error("a surface has one level, not {0}")]
    SurfaceLevels(u32),
}

/// Bytes of a row of a tile of an array, and rows of a tile.
const TILE: [u64; 2] = [64, 8];
/// Where arrays are shown: behind all memory, each as far from the next as its tiles can need, which have one texel at
/// least.
const ARRAYS: u64 = 1 << 60;

impl Resource {
    /// Texels along each axis on a level; at least one.
    pub fn extent_of(&self, level: u32) -> [u32; 3] {
        self.extent.map(|extent| extent.checked_shr(level).unwrap_or(0).max(1))
    }

    /// Layers, and of cubes faces.
    pub fn n_layers(&self) -> u32 {
        self.layers.saturating_mul(if self.geometry.is_cube() { 6 } else { 1 })
    }

    /// Bytes from one row to the next.
    fn pitch(&self, level: u32) -> u64 {
        match self.layout {
            Layout::Pitch(pitch) => pitch,
            Layout::Linear | Layout::Array => u64::from(self.extent_of(level)[0]) * u64::from(self.format.bytes()),
        }
    }

    /// Bytes of all layers of a level; none beyond 64 bits.
    fn level_bytes(&self, level: u32) -> Option<u64> {
        let [_, height, depth] = self.extent_of(level);
        let rows = u64::from(height).checked_mul(depth.into())?.checked_mul(self.n_layers().into())?;
        rows.checked_mul(self.pitch(level))
    }

    /// Bytes of all texels; none beyond 64 bits.
    pub fn bytes(&self) -> Option<u64> {
        (0..self.levels).try_fold(0u64, |sum, level| sum.checked_add(self.level_bytes(level)?))
    }

    /// Bytes from the first texel to another, which must exist.
    pub fn offset(&self, place: TexelPlace) -> u64 {
        let TexelPlace { level, layer, at: [x, y, z] } = place;
        let before: u64 = (0..level).filter_map(|level| self.level_bytes(level)).sum();
        let [_, height, depth] = self.extent_of(level).map(u64::from);
        let row = (u64::from(layer) * depth + u64::from(z)) * height + u64::from(y);
        before + row * self.pitch(level) + u64::from(x) * u64::from(self.format.bytes())
    }

    /// Where byte `offset` of the texels lies in the layout of the resource, as an address. What has rows in an array
    /// lies in tiles of 64 bytes by 8 rows, which hold sectors of 16 bytes by 2 rows (NVIDIA's block-linear format, as
    /// the manuals of Tegra describe it; that CUDA arrays lie so is inferred). Each level and layer begins a tile.
    pub fn shown(&self, place: TexelPlace, byte: u64) -> u64 {
        let planar = self.layout == Layout::Array && self.geometry.n_axes() > 1;
        if !planar {
            return self.address + self.offset(place) + byte;
        }
        let texel = u64::from(self.format.bytes());
        let tiles = |level: u32| {
            let [width, height, _] = self.extent_of(level).map(u64::from);
            [(width * texel).div_ceil(TILE[0]), height.div_ceil(TILE[1])]
        };
        let planes = |level: u32| u64::from(self.extent_of(level)[2]) * u64::from(self.n_layers());
        let tile_bytes = TILE[0] * TILE[1];
        let before: u64 = (0..place.level).map(|level| tiles(level).iter().product::<u64>() * planes(level)).sum();
        let [across, down] = tiles(place.level);
        let depth = u64::from(self.extent_of(place.level)[2]);
        let plane = u64::from(place.layer) * depth + u64::from(place.at[2]);
        let (x, y) = (u64::from(place.at[0]) * texel + byte, u64::from(place.at[1]));
        let tile = before + (plane * down + y / TILE[1]) * across + x / TILE[0];
        let inside = x % 64 / 32 * 256 + y % 8 / 2 * 64 + x % 32 / 16 * 32 + y % 2 * 16 + x % 16;
        ARRAYS + tile_bytes * self.address + tile * tile_bytes + inside
    }

    fn check(&self) -> Result<u64, ObjectError> {
        let [width, height, depth] = self.extent;
        let unused = &self.extent[self.geometry.n_axes()..];
        let is_empty = self.extent.contains(&0) || self.layers == 0 || self.levels == 0;
        let has_layers = self.geometry.is_layered() || self.layers == 1;
        let most_levels = 32 - width.max(height).max(depth).leading_zeros();
        let bytes = self.bytes().filter(|_| !is_empty && has_layers && unused.iter().all(|&extent| extent == 1));
        let Some(bytes) = bytes.filter(|_| self.levels <= most_levels) else {
            return Err(ObjectError::Extent(Box::new(self.shape)));
        };
        if self.geometry.is_cube() && width != height {
            return Err(ObjectError::NotSquare(width, height));
        }
        let (geometry, levels, texel) = (self.geometry, self.levels, self.format.bytes());
        match self.layout {
            Layout::Linear if geometry != Geometry::Line || levels > 1 => {
                return Err(ObjectError::Layout { layout: "linear", geometry, levels });
            }
            Layout::Pitch(_) if geometry != Geometry::Plane || levels > 1 => {
                return Err(ObjectError::Layout { layout: "pitched", geometry, levels });
            }
            Layout::Pitch(pitch) => {
                let row = u64::from(width) * u64::from(texel);
                if pitch < row || pitch % u64::from(texel) != 0 {
                    return Err(ObjectError::Pitch { pitch, row, texel });
                }
            }
            Layout::Linear | Layout::Array => {}
        }
        if !self.address.is_multiple_of(u64::from(texel)) {
            return Err(ObjectError::Misaligned { address: self.address, texel });
        }
        // The last row of memory with a pitch need not be filled up.
        Ok(match self.layout {
            Layout::Pitch(pitch) => bytes - pitch + u64::from(width) * u64::from(texel),
            Layout::Linear | Layout::Array => bytes,
        })
    }
}

impl Object {
    /// Address and number of the bytes that the object needs, if it can be.
    pub(crate) fn check(&self) -> Result<Option<(u64, u64)>, ObjectError> {
        match self {
            Self::Sampler(_) => Ok(None),
            Self::Surface(resource) if resource.levels > 1 => Err(ObjectError::SurfaceLevels(resource.levels)),
            Self::Surface(resource) => Ok(Some((resource.address, resource.check()?))),
            Self::Texture(texture) => {
                let channel = texture.resource.format.channel();
                let is_normalized = texture.read == ReadMode::Normalized && channel.is_integer();
                if is_normalized && channel.bytes() == 4 {
                    return Err(ObjectError::Normalized);
                }
                if texture.sampler.filter == Filter::Linear && channel.is_integer() && !is_normalized {
                    return Err(ObjectError::FilteredIntegers);
                }
                Ok(Some((texture.resource.address, texture.resource.check()?)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use warplens_isa::{Channel, TexelFormat};

    use super::*;

    fn plane(layout: Layout, width: u32, height: u32, levels: u32) -> Resource {
        let format = TexelFormat::new(Channel::F32, 1).expect("one channel");
        let geometry = Geometry::Plane;
        let extent = [width, height, 1];
        Resource { address: 512, shape: TexelShape { format, layout, geometry, extent, layers: 1, levels } }
    }

    fn other(resource: Resource, change: impl FnOnce(&mut TexelShape)) -> Resource {
        let mut shape = resource.shape;
        change(&mut shape);
        Resource { shape, ..resource }
    }

    #[test]
    fn texels_lie_row_after_row() {
        let resource = plane(Layout::Array, 5, 3, 2);
        let at = |level, x, y| resource.offset(TexelPlace { level, layer: 0, at: [x, y, 0] });
        assert_eq!(
            [at(0, 0, 0), at(0, 4, 0), at(0, 0, 1), at(0, 4, 2), at(1, 0, 0), at(1, 1, 0)],
            [0, 16, 20, 56, 60, 64]
        );
        assert_eq!(resource.bytes(), Some(60 + 8));
        let pitched = plane(Layout::Pitch(64), 5, 3, 1);
        assert_eq!(pitched.offset(TexelPlace { level: 0, layer: 0, at: [1, 2, 0] }), 132);
        assert_eq!(pitched.check(), Ok(148));
    }

    #[test]
    fn every_texel_of_an_array_has_an_address_of_its_own() {
        let resource = plane(Layout::Array, 37, 19, 3);
        let places = (0..3).flat_map(|level| {
            let [width, height, _] = resource.extent_of(level);
            (0..height).flat_map(move |y| (0..width).map(move |x| TexelPlace { level, layer: 0, at: [x, y, 0] }))
        });
        let places: Vec<TexelPlace> = places.collect();
        let shown: BTreeSet<u64> = places.iter().map(|&place| resource.shown(place, 0)).collect();
        assert_eq!(shown.len(), places.len());
        // A sector holds four texels of each of two rows.
        let sector = |x, y| resource.shown(TexelPlace { level: 0, layer: 0, at: [x, y, 0] }, 0) / 32;
        assert!(sector(0, 0) == sector(3, 1) && sector(0, 0) != sector(4, 0) && sector(0, 0) != sector(0, 2));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let says = |resource: Resource| resource.check().expect_err("it cannot be").to_string();
        assert_eq!(
            says(plane(Layout::Array, 0, 3, 1)),
            "a 2d texture of [0, 3, 1] texels with 1 layers and 1 levels cannot be"
        );
        assert!(plane(Layout::Array, 8, 4, 4).check().is_ok() && plane(Layout::Array, 8, 4, 5).check().is_err());
        assert_eq!(says(plane(Layout::Linear, 4, 4, 1)), "linear memory cannot hold a 2d texture of 1 levels");
        let pitched = plane(Layout::Pitch(16), 5, 3, 1);
        assert_eq!(says(pitched), "a pitch of 16 bytes does not hold rows of 20 bytes of texels of 4 bytes");
        let cube = other(plane(Layout::Array, 4, 5, 1), |shape| shape.geometry = Geometry::Cube);
        assert_eq!(says(cube), "the faces of a cube are square, not 4 by 5 texels");
        let huge = other(plane(Layout::Array, 1, 1, 1), |shape| {
            (shape.extent, shape.geometry) = ([u32::MAX; 3], Geometry::Volume);
        });
        assert!(huge.check().is_err());
    }
}
