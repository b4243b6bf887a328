//! Texels as values: out of memory, mixed, into registers, and back.
//!
//! Channels that a format lacks read as 0, the fourth as 1: that is what graphics interfaces define and the hardware is
//! built for; CUDA C++ does not let a program see them.

use warplens_isa::{Channel, ReadMode, Rounding, TexelFormat};

use super::sample::Corner;
use crate::semantics::half::{F16, Half};

/// Bytes of a texel, in the first of them.
pub type TexelBytes = [u8; 16];

/// The bits of each channel, extended to 32.
fn channels(format: TexelFormat, bytes: &TexelBytes) -> [u32; 4] {
    let channel = format.channel();
    let width = channel.bytes() as usize;
    std::array::from_fn(|index| {
        if index >= format.channels() {
            return 0;
        }
        let mut word = [0; 4];
        word[..width].copy_from_slice(&bytes[index * width..][..width]);
        let bits = u32::from_le_bytes(word);
        match channel {
            Channel::S8 => i32::from(bits as u8 as i8) as u32,
            Channel::S16 => i32::from(bits as u16 as i16) as u32,
            Channel::U8 | Channel::U16 | Channel::U32 | Channel::S32 | Channel::F16 | Channel::F32 => bits,
        }
    })
}

/// The value of a channel as a float.
fn as_float(channel: Channel, bits: u32) -> f32 {
    // The bits of such a quotient repeat after 16 at most: none lies so near the middle of two floats that rounding to
    // double precision first would matter.
    let signed = |most: f64| (f64::from(bits as i32) / most).max(-1.0) as f32;
    let unsigned = |most: f64| (f64::from(bits) / most) as f32;
    match channel {
        Channel::U8 => unsigned(255.0),
        Channel::U16 => unsigned(65535.0),
        Channel::S8 => signed(127.0),
        Channel::S16 => signed(32767.0),
        Channel::U32 => unsigned(f64::from(u32::MAX)),
        Channel::S32 => signed(f64::from(i32::MAX)),
        Channel::F16 => F16::widen(bits as u16),
        Channel::F32 => f32::from_bits(bits),
    }
}

/// What a fetch gives is integers.
pub fn is_integer(format: TexelFormat, read: ReadMode) -> bool {
    format.channel().is_integer() && read == ReadMode::Element
}

/// A texel as a fetch gives it: bits of integers, or of single precision.
pub fn value(format: TexelFormat, read: ReadMode, bytes: &TexelBytes) -> [u32; 4] {
    let bits = channels(format, bytes);
    let integer = is_integer(format, read);
    std::array::from_fn(|index| match (index < format.channels(), integer) {
        (true, true) => bits[index],
        (true, false) => as_float(format.channel(), bits[index]).to_bits(),
        (false, true) => u32::from(index == 3),
        (false, false) => if index == 3 { 1f32 } else { 0.0 }.to_bits(),
    })
}

/// The border as a fetch gives it.
pub fn border(format: TexelFormat, read: ReadMode, colour: [f32; 4]) -> [u32; 4] {
    let integer = is_integer(format, read);
    let signed = matches!(format.channel(), Channel::S8 | Channel::S16 | Channel::S32);
    colour.map(|channel| match (integer, signed) {
        (false, _) => channel.to_bits(),
        (true, true) => (channel as i32) as u32,
        (true, false) => channel as u32,
    })
}

/// The weighted mean of values: summed up in double precision in the order of the corners, then rounded. What has no
/// weight has no part in it, whatever it is.
pub fn mixed(values: &[([u32; 4], f64)]) -> [u32; 4] {
    if let [(value, _)] = values {
        return *value;
    }
    std::array::from_fn(|channel| {
        let weighted = values.iter().filter(|(_, weight)| *weight > 0.0);
        let sum: f64 = weighted.map(|(value, weight)| f64::from(f32::from_bits(value[channel])) * weight).sum();
        (sum as f32).to_bits()
    })
}

/// The values of the corners of a footprint, mixed.
pub fn fetched(corners: &[Corner], mut of: impl FnMut(&Corner) -> [u32; 4]) -> [u32; 4] {
    let mut values = [([0; 4], 0.0); 16];
    for (value, corner) in values.iter_mut().zip(corners) {
        *value = (of(corner), corner.weight);
    }
    mixed(&values[..corners.len()])
}

/// The bits of half precision nearest to single precision.
pub fn half(bits: u32) -> u16 {
    F16::narrow(f32::from_bits(bits), Rounding::Nearest)
}

/// Values of 32 bits as a texel of a surface: integers keep their low bits, floats are converted. Channels that are not
/// given become zeros.
pub fn stored(format: TexelFormat, values: &[u32]) -> TexelBytes {
    let channel = format.channel();
    let width = channel.bytes() as usize;
    let mut bytes = [0; 16];
    for (index, &value) in values.iter().take(format.channels()).enumerate() {
        let bits = match channel {
            Channel::F16 => u32::from(half(value)),
            Channel::U8 => value.min(0xff),
            Channel::U16 => value.min(0xffff),
            Channel::S8 => (value as i32).clamp(-0x80, 0x7f) as u32,
            Channel::S16 => (value as i32).clamp(-0x8000, 0x7fff) as u32,
            Channel::U32 | Channel::S32 | Channel::F32 => value,
        };
        bytes[index * width..][..width].copy_from_slice(&bits.to_le_bytes()[..width]);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(channel: Channel, channels: u8) -> TexelFormat {
        TexelFormat::new(channel, channels).expect("one, two or four channels")
    }

    #[test]
    fn integers_become_floats_between_their_ends() {
        let of = |channel, bytes: [u8; 2]| {
            let mut texel = [0; 16];
            texel[..2].copy_from_slice(&bytes);
            f32::from_bits(value(format(channel, 1), ReadMode::Normalized, &texel)[0])
        };
        assert_eq!(
            [of(Channel::U8, [255, 0]), of(Channel::U8, [51, 0]), of(Channel::U16, [0xff, 0xff])],
            [1.0, 0.2, 1.0]
        );
        assert_eq!(
            [of(Channel::S8, [0x80, 0]), of(Channel::S8, [0x81, 0]), of(Channel::S8, [127, 0])],
            [-1.0, -1.0, 1.0]
        );
        assert_eq!([of(Channel::S16, [0, 0x80]), of(Channel::S16, [0xff, 0x7f])], [-1.0, 1.0]);
        assert_eq!(of(Channel::F16, [0x00, 0x3e]), 1.5);
    }

    #[test]
    fn missing_channels_are_those_of_opaque_black() {
        let mut texel = [0; 16];
        texel[..2].copy_from_slice(&[7, 0xfe]);
        assert_eq!(value(format(Channel::S8, 2), ReadMode::Element, &texel), [7, (-2i32) as u32, 0, 1]);
        assert_eq!(value(format(Channel::U8, 1), ReadMode::Normalized, &texel)[3], 1f32.to_bits());
    }

    #[test]
    fn nothing_is_mixed_without_weight() {
        let value = |it: f32| [it.to_bits(); 4];
        assert_eq!(mixed(&[(value(2.0), 1.0), (value(f32::NAN), 0.0)]), value(2.0));
        assert_eq!(mixed(&[(value(2.0), 0.25), (value(6.0), 0.75)]), value(5.0));
    }

    #[test]
    fn values_beyond_a_format_go_to_its_end() {
        assert_eq!(stored(format(Channel::U8, 2), &[300, 5, 9])[..3], [255, 5, 0]);
        assert_eq!(stored(format(Channel::S8, 1), &[(-300i32) as u32])[..2], [0x80, 0]);
        assert_eq!(stored(format(Channel::F16, 1), &[1.5f32.to_bits()])[..2], [0x00, 0x3e]);
    }
}
