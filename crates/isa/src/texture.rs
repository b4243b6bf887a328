//! What textures and surfaces are, and what their instructions ask.
//!
//! A texture is read through a sampler, which finds texels by coordinates and may filter them; a surface is read and
//! written texel by texel. Both are opaque objects in device memory (PTX ISA, "Texture Sampler and Surface Types").

use crate::AtomicOp;
use crate::payload::{Payload, Words};

/// Shape of a texture or surface.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Geometry {
    /// `.1d`
    Line,
    /// `.2d`
    Plane,
    /// `.3d`
    Volume,
    /// `.a1d`: layers of lines.
    Lines,
    /// `.a2d`: layers of planes.
    Planes,
    /// `.cube`: six square planes, one for each face.
    Cube,
    /// `.acube`: layers of cubes.
    Cubes,
}

impl Geometry {
    /// Every geometry.
    pub const ALL: &[Geometry] =
        &[Self::Line, Self::Plane, Self::Volume, Self::Lines, Self::Planes, Self::Cube, Self::Cubes];

    /// Name as PTX writes it, without the dot.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Line => "1d",
            Self::Plane => "2d",
            Self::Volume => "3d",
            Self::Lines => "a1d",
            Self::Planes => "a2d",
            Self::Cube => "cube",
            Self::Cubes => "acube",
        }
    }

    /// The first coordinate is the number of a layer.
    pub const fn is_layered(self) -> bool {
        matches!(self, Self::Lines | Self::Planes | Self::Cubes)
    }

    /// The coordinates are a direction from the middle of a cube.
    pub const fn is_cube(self) -> bool {
        matches!(self, Self::Cube | Self::Cubes)
    }

    /// Axes along which texels lie in a layer or face.
    pub const fn n_axes(self) -> usize {
        match self {
            Self::Line | Self::Lines => 1,
            Self::Plane | Self::Planes | Self::Cube | Self::Cubes => 2,
            Self::Volume => 3,
        }
    }

    /// Numbers that say a place: a layer if there are any, then coordinates or a direction.
    pub const fn n_coordinates(self) -> usize {
        let n = if self.is_cube() { 3 } else { self.n_axes() };
        n + self.is_layered() as usize
    }
}

/// What handles of textures, samplers and surfaces begin with, far behind all addresses of a device. Their lower words say
/// which, and that is all that machine code looks at.
pub const OBJECT_TAG: u64 = 0x7e00_0000_0000_0000;

/// Which level of a mipmap a fetch reads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum LevelOfDetail {
    /// The largest: compute kernels have no derivatives.
    #[default]
    Base,
    /// That which a source says.
    Given,
    /// That which follows from two gradients of the coordinates.
    Gradient,
}

/// A fetch through a sampler.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TextureFetch {
    /// What the texture has to be.
    pub geometry: Geometry,
    /// Level of a mipmap.
    pub level: LevelOfDetail,
    /// Sources move the place by a few texels along each axis.
    pub offsets: bool,
    /// The last source is a sampler; otherwise that of the texture is used.
    pub sampler: bool,
}

impl Payload for TextureFetch {
    fn describe(&self, words: Words) -> Words {
        words
            .flag(self.geometry.name(), true)
            .flag("level", self.level == LevelOfDetail::Given)
            .flag("grad", self.level == LevelOfDetail::Gradient)
            .flag("offsets", self.offsets)
            .flag("sampler", self.sampler)
    }
}

/// A fetch of one component of the four texels that a linear filter would mix.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TextureGather {
    /// The fetch; always of the base level.
    pub fetch: TextureFetch,
    /// Which component, from 0.
    pub component: u8,
}

impl Payload for TextureGather {
    fn describe(&self, words: Words) -> Words {
        let name = ["r", "g", "b", "a"].get(usize::from(self.component)).copied().unwrap_or("?");
        words.flag(name, true).payload(&self.fetch)
    }
}

/// What becomes of an access beyond the edge of a surface.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum SurfaceClamp {
    /// The launch fails.
    #[default]
    Trap,
    /// It goes to the nearest place inside.
    Clamp,
    /// Loads find zeros, stores are dropped.
    Zero,
}

/// In what the first coordinate of a surface counts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum SurfaceUnit {
    /// Bytes; values are stored as they are.
    #[default]
    Byte,
    /// Texels; values are converted to and from their format.
    Texel,
}

/// An access to a surface.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SurfaceAccess {
    /// What the surface has to be.
    pub geometry: Geometry,
    /// Unit of the first coordinate.
    pub unit: SurfaceUnit,
    /// Beyond the edge.
    pub clamp: SurfaceClamp,
}

impl Payload for SurfaceAccess {
    fn describe(&self, words: Words) -> Words {
        words
            .flag(self.geometry.name(), true)
            .flag("texels", self.unit == SurfaceUnit::Texel)
            .flag("clamp", self.clamp == SurfaceClamp::Clamp)
            .flag("zero", self.clamp == SurfaceClamp::Zero)
    }
}

/// A reduction to a surface.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SurfaceReduction {
    /// The access.
    pub access: SurfaceAccess,
    /// What is done to the cell.
    pub op: AtomicOp,
}

impl Payload for SurfaceReduction {
    fn describe(&self, words: Words) -> Words {
        words.flag(&format!("{:?}", self.op), true).payload(&self.access)
    }
}

/// A property of a texture, a sampler or a surface.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TextureQuery {
    /// Texels along the first axis; of a level of a mipmap if a source says which.
    Width,
    /// Along the second.
    Height,
    /// Along the third.
    Depth,
    /// What a channel holds, as the number of OpenCL for it.
    ChannelDataType,
    /// Which channels there are, as the number of OpenCL for them.
    ChannelOrder,
    /// Coordinates go from 0 to 1.
    NormalizedCoordinates,
    /// Layers.
    ArraySize,
    /// Levels of a mipmap.
    MipmapLevels,
    /// Samples of a texel.
    Samples,
    /// Rows of texels lie one after the other.
    MemoryLayout,
    /// The sampler takes coordinates in texels, whatever the texture says.
    ForceUnnormalized,
    /// Nearest texel (0) or linear filter (1).
    FilterMode,
    /// What becomes of a coordinate of this axis beyond the edge.
    AddressMode(u8),
}

/// A question about an object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ObjectQuery {
    /// Texture, which may be a sampler where samplers are on their own, or surface.
    pub of: OpaqueType,
    /// What is asked.
    pub query: TextureQuery,
}

impl Payload for ObjectQuery {
    fn describe(&self, words: Words) -> Words {
        words.payload(&self.of).flag(&format!("{:?}", self.query), true)
    }
}

/// Opaque types of variables.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum OpaqueType {
    /// `.texref`
    Texture,
    /// `.samplerref`
    Sampler,
    /// `.surfref`
    Surface,
}

impl OpaqueType {
    /// What messages call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Texture => "texture",
            Self::Sampler => "sampler",
            Self::Surface => "surface",
        }
    }
}

impl Payload for OpaqueType {
    fn describe(&self, words: Words) -> Words {
        words.flag(self.name(), true)
    }
}

/// What becomes of a coordinate beyond the edge of a texture.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum AddressMode {
    /// The texture repeats; of normalised coordinates only.
    Wrap,
    /// The texture repeats, every other time mirrored; of normalised coordinates only.
    Mirror,
    /// The edge goes on.
    #[default]
    Clamp,
    /// A border of one colour.
    Border,
}

/// How a value is made of texels.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Filter {
    /// The nearest texel.
    #[default]
    Point,
    /// A weighted mean of the neighbouring ones.
    Linear,
}

/// Type of a channel of a texel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Channel {
    /// 8-bit unsigned integer.
    U8,
    /// 8-bit signed integer.
    S8,
    /// 16-bit unsigned integer.
    U16,
    /// 16-bit signed integer.
    S16,
    /// 32-bit unsigned integer.
    U32,
    /// 32-bit signed integer.
    S32,
    /// Half precision.
    F16,
    /// Single precision.
    F32,
}

impl Channel {
    /// Bytes of a channel.
    pub const fn bytes(self) -> u32 {
        match self {
            Self::U8 | Self::S8 => 1,
            Self::U16 | Self::S16 | Self::F16 => 2,
            Self::U32 | Self::S32 | Self::F32 => 4,
        }
    }

    /// It holds integers.
    pub const fn is_integer(self) -> bool {
        !matches!(self, Self::F16 | Self::F32)
    }
}

/// What a texel holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TexelFormat {
    channel: Channel,
    channels: u8,
}

impl TexelFormat {
    /// So many channels of a type: one, two or four.
    pub const fn new(channel: Channel, channels: u8) -> Option<Self> {
        if matches!(channels, 1 | 2 | 4) { Some(Self { channel, channels }) } else { None }
    }

    /// Type of a channel.
    pub const fn channel(self) -> Channel {
        self.channel
    }

    /// Number of channels.
    pub const fn channels(self) -> usize {
        self.channels as usize
    }

    /// Bytes of a texel.
    pub const fn bytes(self) -> u32 {
        self.channel.bytes() * self.channels as u32
    }
}

/// How texels lie in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TexelLayout {
    /// One after the other; fetched by integer coordinates only.
    Linear,
    /// In rows that begin so many bytes apart.
    Pitch(u64),
    /// In a CUDA array.
    Array,
}

/// What the texels of a texture or surface are, and how they lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TexelShape {
    /// What a texel holds.
    pub format: TexelFormat,
    /// How texels lie.
    pub layout: TexelLayout,
    /// Shape.
    pub geometry: Geometry,
    /// Texels along each axis that the geometry has, on the largest level; 1 along the others.
    pub extent: [u32; 3],
    /// Layers, and of cubes the number of cubes; 1 where the geometry has none.
    pub layers: u32,
    /// Levels of a mipmap, each half as large as the one before; 1 without one.
    pub levels: u32,
}

/// How a texture is sampled.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sampler {
    /// What becomes of coordinates beyond the edge, by axis.
    pub address: [AddressMode; 3],
    /// Filter between texels.
    pub filter: Filter,
    /// Filter between levels of a mipmap.
    pub level_filter: Filter,
    /// Coordinates go from 0 to 1.
    pub normalized: bool,
    /// Colour of the border.
    pub border: [f32; 4],
    /// Added to the level of detail.
    pub level_bias: f32,
    /// Least and largest level of detail.
    pub level_range: [f32; 2],
}

impl Default for Sampler {
    /// What the CUDA runtime sets unless it is told otherwise; a border of zeros.
    fn default() -> Self {
        Self {
            address: [AddressMode::Clamp; 3],
            filter: Filter::Point,
            level_filter: Filter::Point,
            normalized: false,
            border: [0.0; 4],
            level_bias: 0.0,
            level_range: [0.0, f32::MAX],
        }
    }
}

/// What a fetch gives of integer channels.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ReadMode {
    /// The integers.
    #[default]
    Element,
    /// Floats: 0 to 1 of unsigned ones, -1 to 1 of signed ones. Those of 32 bits have no such form.
    Normalized,
}
