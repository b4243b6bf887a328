//! Arrays, textures and copies between them as C hands them in: the structures of both interfaces.

use warplens_runtime::{
    AddressMode, ArrayInfo, Channel, Extent, Filter, ReadMode, Rows, Sampler, Status, TexelFormat, TexelSource,
    Transfer,
};

use crate::Runtime;
use crate::pointers::Memory;

type Result<T> = std::result::Result<T, Status>;

/// `cudaChannelFormatDesc`: bits of each channel, and what they hold.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct ChannelDescriptor {
    pub(crate) x: i32,
    pub(crate) y: i32,
    pub(crate) z: i32,
    pub(crate) w: i32,
    pub(crate) kind: i32,
}

impl ChannelDescriptor {
    /// What a texel holds.
    pub(crate) fn format(self) -> Result<TexelFormat> {
        let bits = [self.x, self.y, self.z, self.w];
        let channels = bits.iter().take_while(|&&bits| bits > 0).count();
        let is_even = bits[..channels].iter().all(|&bits| bits == self.x);
        let is_whole = bits[channels..].iter().all(|&bits| bits == 0);
        let channel = match (self.kind, self.x) {
            (0, 8) => Channel::S8,
            (0, 16) => Channel::S16,
            (0, 32) => Channel::S32,
            (1, 8) => Channel::U8,
            (1, 16) => Channel::U16,
            (1, 32) => Channel::U32,
            (2, 16) => Channel::F16,
            (2, 32) => Channel::F32,
            _ => return Err(Status::INVALID_CHANNEL_DESCRIPTOR),
        };
        let format = TexelFormat::new(channel, channels as u8).filter(|_| is_even && is_whole);
        format.ok_or(Status::INVALID_CHANNEL_DESCRIPTOR)
    }

    /// The descriptor of what a texel holds.
    pub(crate) fn of(format: TexelFormat) -> Self {
        let channel = format.channel();
        let bits = |index: usize| if index < format.channels() { channel.bytes() as i32 * 8 } else { 0 };
        let kind = match channel {
            Channel::S8 | Channel::S16 | Channel::S32 => 0,
            Channel::U8 | Channel::U16 | Channel::U32 => 1,
            Channel::F16 | Channel::F32 => 2,
        };
        Self { x: bits(0), y: bits(1), z: bits(2), w: bits(3), kind }
    }
}

/// `CUarray_format` and what it means.
const FORMATS: [(i32, Channel); 8] = [
    (0x01, Channel::U8),
    (0x02, Channel::U16),
    (0x03, Channel::U32),
    (0x08, Channel::S8),
    (0x09, Channel::S16),
    (0x0a, Channel::S32),
    (0x10, Channel::F16),
    (0x20, Channel::F32),
];

fn format_of(format: i32, channels: u32) -> Result<TexelFormat> {
    let channel = FORMATS.iter().find(|(number, _)| *number == format).map(|(_, channel)| *channel);
    let channels = u8::try_from(channels).ok();
    channel
        .zip(channels)
        .and_then(|(channel, channels)| TexelFormat::new(channel, channels))
        .ok_or(Status::INVALID_VALUE)
}

/// `cudaExtent` and `cudaPos`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Triple {
    x: usize,
    y: usize,
    z: usize,
}

impl Triple {
    pub(crate) fn of(extent: [u64; 3]) -> Self {
        let [x, y, z] = extent.map(|extent| extent as usize);
        Self { x, y, z }
    }

    pub(crate) fn extents(self) -> [u64; 3] {
        [self.x, self.y, self.z].map(|extent| extent as u64)
    }
}

/// `cudaPitchedPtr`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Pitched {
    pub(crate) memory: Memory,
    pub(crate) pitch: usize,
    pub(crate) width: usize,
    pub(crate) height: usize,
}

impl Pitched {
    /// Its rows from a place on, which is in bytes along the first axis.
    pub(crate) fn rows(self, place: Triple) -> Rows {
        let pitch = self.pitch as u64;
        let slice = pitch.wrapping_mul(self.height as u64);
        let all = Rows { address: self.memory.address().wrapping_add(place.x as u64), pitch, slice };
        Rows { address: all.row(place.z as u64, place.y as u64), ..all }
    }
}

/// `cudaMemcpy3DParms`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct RuntimeCopy {
    from_array: u64,
    from_place: Triple,
    from: Pitched,
    to_array: u64,
    to_place: Triple,
    to: Pitched,
    extent: Triple,
    kind: i32,
}

impl RuntimeCopy {
    /// The copy, which counts texels if there is an array.
    pub(crate) fn transfer(&self, runtime: &Runtime) -> Result<Transfer> {
        let mut extent = self.extent.extents();
        let mut side = |array: u64, place: Triple, pitched: Pitched| {
            if array == 0 {
                return Ok(pitched.rows(place));
            }
            let (rows, bytes) = runtime.array_box(array, place.extents(), self.extent.extents(), false)?;
            extent = bytes;
            Ok(rows)
        };
        let from = side(self.from_array, self.from_place, self.from)?;
        let to = side(self.to_array, self.to_place, self.to)?;
        if (0..=4).contains(&self.kind) {
            Ok(Transfer { to, from, extent })
        } else {
            Err(Status::INVALID_COPY_DIRECTION)
        }
    }
}

/// `cudaMemcpy3DPeerParms`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct PeerCopy {
    from_array: u64,
    from_place: Triple,
    from: Pitched,
    from_device: i32,
    to_array: u64,
    to_place: Triple,
    to: Pitched,
    to_device: i32,
    extent: Triple,
}

impl PeerCopy {
    /// The same copy on the one device.
    pub(crate) fn on_device(self) -> Result<RuntimeCopy> {
        if (self.from_device, self.to_device) != (0, 0) {
            return Err(Status::INVALID_DEVICE);
        }
        let Self { from_array, from_place, from, to_array, to_place, to, extent, .. } = self;
        Ok(RuntimeCopy { from_array, from_place, from, to_array, to_place, to, extent, kind: 4 })
    }
}

/// Kinds of memory in copies of the driver.
const HOST: i32 = 1;
const DEVICE: i32 = 2;
const ARRAY: i32 = 3;
const UNIFIED: i32 = 4;

/// `CUDA_MEMCPY2D`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Copy2d {
    from: Side2d,
    to: Side2d,
    width: usize,
    height: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Side2d {
    x_bytes: usize,
    y: usize,
    kind: i32,
    host: Memory,
    device: u64,
    array: u64,
    pitch: usize,
}

/// `CUDA_MEMCPY3D`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Copy3d {
    from: Side3d,
    to: Side3d,
    extent: Triple,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Side3d {
    place: Triple,
    level: usize,
    kind: i32,
    host: Memory,
    device: u64,
    array: u64,
    reserved: u64,
    pitch: usize,
    height: usize,
}

impl Side3d {
    fn rows(&self, runtime: &Runtime, extent: Extent) -> Result<Rows> {
        let memory = match self.kind {
            HOST => self.host,
            DEVICE | UNIFIED => Memory::at(self.device),
            ARRAY if self.level == 0 => {
                return Ok(runtime.array_box(self.array, self.place.extents(), extent, true)?.0);
            }
            _ => return Err(Status::INVALID_VALUE),
        };
        Ok(Pitched { memory, pitch: self.pitch, width: 0, height: self.height }.rows(self.place))
    }
}

impl Copy3d {
    /// The copy.
    pub(crate) fn transfer(&self, runtime: &Runtime) -> Result<Transfer> {
        let extent = self.extent.extents();
        Ok(Transfer { to: self.to.rows(runtime, extent)?, from: self.from.rows(runtime, extent)?, extent })
    }
}

impl Copy2d {
    /// The copy.
    pub(crate) fn transfer(&self, runtime: &Runtime) -> Result<Transfer> {
        let side = |side: &Side2d| Side3d {
            place: Triple { x: side.x_bytes, y: side.y, z: 0 },
            level: 0,
            kind: side.kind,
            host: side.host,
            device: side.device,
            array: side.array,
            reserved: 0,
            pitch: side.pitch,
            height: 0,
        };
        let extent = Triple { x: self.width, y: self.height, z: 1 };
        Copy3d { from: side(&self.from), to: side(&self.to), extent }.transfer(runtime)
    }
}

/// `CUDA_ARRAY_DESCRIPTOR`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Descriptor2d {
    width: usize,
    height: usize,
    format: i32,
    channels: u32,
}

/// `CUDA_ARRAY3D_DESCRIPTOR`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Descriptor3d {
    extent: Triple,
    format: i32,
    channels: u32,
    flags: u32,
}

impl Descriptor2d {
    pub(crate) fn info(self) -> Result<ArrayInfo> {
        let extent = [self.width as u64, self.height as u64, 0];
        Ok(ArrayInfo { format: format_of(self.format, self.channels)?, extent, flags: 0 })
    }

    pub(crate) fn of(info: ArrayInfo) -> Self {
        let Descriptor3d { extent, format, channels, .. } = Descriptor3d::of(info);
        Self { width: extent.x, height: extent.y, format, channels }
    }
}

impl Descriptor3d {
    pub(crate) fn info(self) -> Result<ArrayInfo> {
        let format = format_of(self.format, self.channels)?;
        Ok(ArrayInfo { format, extent: self.extent.extents(), flags: self.flags })
    }

    pub(crate) fn of(info: ArrayInfo) -> Self {
        let channel = info.format.channel();
        let format = FORMATS.iter().find(|(_, other)| *other == channel).map_or(0, |(format, _)| *format);
        let channels = info.format.channels() as u32;
        Self { extent: Triple::of(info.extent), format, channels, flags: info.flags }
    }
}

/// Words of a structure that C fills in part by part.
fn word(bytes: &[u8], at: usize) -> i32 {
    bytes.get(at..at + 4).map_or(0, |word| i32::from_le_bytes([word[0], word[1], word[2], word[3]]))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from(word(bytes, at) as u32) | u64::from(word(bytes, at + 4) as u32) << 32
}

fn float(bytes: &[u8], at: usize) -> f32 {
    f32::from_bits(word(bytes, at) as u32)
}

/// Kinds of texels in both interfaces.
const OF_ARRAY: i32 = 0;
const OF_MIPMAP: i32 = 1;
const OF_LINEAR: i32 = 2;
const OF_PITCH: i32 = 3;

/// Bytes of `cudaResourceDesc` and `cudaTextureDesc` that are known, and of their counterparts in the driver.
pub(crate) const RUNTIME_TEXELS: usize = 64;
pub(crate) const RUNTIME_SAMPLING: usize = 72;
pub(crate) const DRIVER_TEXELS: usize = 144;
pub(crate) const DRIVER_SAMPLING: usize = 104;

/// Where texels are, as `cudaResourceDesc` has it.
pub(crate) fn runtime_texels(bytes: &[u8]) -> Result<TexelSource> {
    let format = || {
        let [x, y, z, w, kind] = [16, 20, 24, 28, 32].map(|at| word(bytes, at));
        ChannelDescriptor { x, y, z, w, kind }.format()
    };
    let address = long(bytes, 8);
    Ok(match word(bytes, 0) {
        OF_ARRAY | OF_MIPMAP => TexelSource::Array(address),
        OF_LINEAR => TexelSource::Linear { address, format: format()?, bytes: long(bytes, 40) },
        OF_PITCH => {
            let extent = [long(bytes, 40), long(bytes, 48)];
            TexelSource::Pitch { address, format: format()?, extent, pitch: long(bytes, 56) }
        }
        _ => return Err(Status::INVALID_VALUE),
    })
}

/// The same as `CUDA_RESOURCE_DESC` has it.
pub(crate) fn driver_texels(bytes: &[u8]) -> Result<TexelSource> {
    let format = || format_of(word(bytes, 16), word(bytes, 20) as u32);
    let address = long(bytes, 8);
    Ok(match word(bytes, 0) {
        OF_ARRAY | OF_MIPMAP => TexelSource::Array(address),
        OF_LINEAR => TexelSource::Linear { address, format: format()?, bytes: long(bytes, 24) },
        OF_PITCH => {
            let extent = [long(bytes, 24), long(bytes, 32)];
            TexelSource::Pitch { address, format: format()?, extent, pitch: long(bytes, 40) }
        }
        _ => return Err(Status::INVALID_VALUE),
    })
}

fn filter(number: i32) -> Result<Filter> {
    match number {
        0 => Ok(Filter::Point),
        1 => Ok(Filter::Linear),
        _ => Err(Status::INVALID_VALUE),
    }
}

/// What becomes of coordinates beyond the edge, along each axis.
fn address_modes(bytes: &[u8]) -> Result<[AddressMode; 3]> {
    let [x, y, z] = [0, 4, 8].map(|at| match word(bytes, at) {
        0 => Ok(AddressMode::Wrap),
        1 => Ok(AddressMode::Clamp),
        2 => Ok(AddressMode::Mirror),
        3 => Ok(AddressMode::Border),
        _ => Err(Status::INVALID_VALUE),
    });
    Ok([x?, y?, z?])
}

/// How texels are read that lie one after the other: by their number.
fn for_source(sampler: Sampler, source: TexelSource) -> Sampler {
    if matches!(source, TexelSource::Linear { .. }) { Sampler::default() } else { sampler }
}

/// How a texture is read, as `cudaTextureDesc` has it.
pub(crate) fn runtime_sampling(bytes: &[u8], source: TexelSource) -> Result<(Sampler, ReadMode)> {
    let sampler = Sampler {
        address: address_modes(bytes)?,
        filter: filter(word(bytes, 12))?,
        level_filter: filter(word(bytes, 48))?,
        normalized: word(bytes, 40) != 0,
        border: [24, 28, 32, 36].map(|at| float(bytes, at)),
        level_bias: float(bytes, 52),
        level_range: [float(bytes, 56), float(bytes, 60)],
    };
    let read = if word(bytes, 16) == 0 { ReadMode::Element } else { ReadMode::Normalized };
    if word(bytes, 20) != 0 {
        // sRGB.
        return Err(Status::NOT_SUPPORTED);
    }
    Ok((for_source(sampler, source), read))
}

/// The same as `CUDA_TEXTURE_DESC` has it. Integers are read as floats unless a flag says otherwise.
pub(crate) fn driver_sampling(bytes: &[u8], source: TexelSource, format: TexelFormat) -> Result<(Sampler, ReadMode)> {
    let flags = word(bytes, 16);
    let sampler = Sampler {
        address: address_modes(bytes)?,
        filter: filter(word(bytes, 12))?,
        level_filter: filter(word(bytes, 24))?,
        normalized: flags & 2 != 0,
        border: [40, 44, 48, 52].map(|at| float(bytes, at)),
        level_bias: float(bytes, 28),
        level_range: [float(bytes, 32), float(bytes, 36)],
    };
    let is_element = flags & 1 != 0 || !format.channel().is_integer() || format.channel().bytes() == 4;
    let read = if is_element { ReadMode::Element } else { ReadMode::Normalized };
    if flags & 0x10 != 0 {
        return Err(Status::NOT_SUPPORTED);
    }
    Ok((for_source(sampler, source), read))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_what_both_interfaces_call_them() {
        let descriptor = |x, y, z, w, kind| ChannelDescriptor { x, y, z, w, kind }.format();
        assert_eq!(descriptor(32, 0, 0, 0, 2).ok(), TexelFormat::new(Channel::F32, 1));
        assert_eq!(descriptor(8, 8, 8, 8, 1).ok(), TexelFormat::new(Channel::U8, 4));
        for wrong in [
            descriptor(8, 8, 8, 0, 1),
            descriptor(8, 16, 0, 0, 1),
            descriptor(0, 0, 0, 0, 0),
            descriptor(64, 0, 0, 0, 1),
        ] {
            assert_eq!(wrong, Err(Status::INVALID_CHANNEL_DESCRIPTOR));
        }
        for (number, channel) in FORMATS {
            let format = format_of(number, 2).unwrap();
            assert_eq!((format.channel(), ChannelDescriptor::of(format).format()), (channel, Ok(format)));
        }
    }

    #[test]
    fn structures_have_the_size_that_the_headers_give_them() {
        assert_eq!((size_of::<RuntimeCopy>(), size_of::<PeerCopy>()), (160, 168));
        assert_eq!((size_of::<Copy2d>(), size_of::<Copy3d>()), (128, 200));
        assert_eq!((size_of::<Descriptor2d>(), size_of::<Descriptor3d>()), (24, 40));
    }
}
