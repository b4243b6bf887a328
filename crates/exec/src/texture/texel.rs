//! Texels as values: out of memory, mixed, into registers, and back.
//!
//! Channels that a format lacks read as 0, the fourth too, also of the border: so it is on an H200, where CUDA C++ does not let
//! a program see them.
//!
//! Linear filters are those of an H200, bit by bit:
//!
//! | Texels | What is mixed | What comes out |
//! |---|---|---|
//! | f32 | numbers cut to 27 bits behind the point of the largest one of their plane | the nearest f32, halves away from zero |
//! | f16 | the same with 14 bits | the nearest f16, halves away from zero |
//! | normalised integers | what is in memory | the nearest number of 16 bits, halves up (of s8 an H200 now and then gives one less) |

use warplens_isa::{Channel, ReadMode, Rounding, TexelFormat};

use super::object::TexelPlace;
use super::sample::{Corner, STEPS};
use crate::semantics::half::{F16, Half};
use crate::semantics::round::{add_to_odd, canonical_f32};

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
        (false, _) => 0,
    })
}

/// The border as a fetch gives it.
pub fn border(format: TexelFormat, read: ReadMode, colour: [f32; 4]) -> [u32; 4] {
    let integer = is_integer(format, read);
    let signed = matches!(format.channel(), Channel::S8 | Channel::S16 | Channel::S32);
    std::array::from_fn(|index| match (index < format.channels(), integer, signed) {
        (false, ..) => 0,
        (true, false, _) => colour[index].to_bits(),
        (true, true, true) => (colour[index] as i32) as u32,
        (true, true, false) => colour[index] as u32,
    })
}

/// What a linear filter mixes at a corner: a channel of a texel, or of the border.
#[derive(Clone, Copy)]
enum Filtered {
    /// A number of f32 or f16.
    Real(f32),
    /// An integer as it is in memory.
    Whole(i64),
}

/// The largest number of 16 bits, and by how much an integer of the channel is less.
fn as_16_bits(channel: Channel) -> Option<(i64, i64)> {
    match channel {
        Channel::U8 => Some((65535, 255)),
        Channel::U16 => Some((65535, 65535)),
        Channel::S8 => Some((32767, 127)),
        Channel::S16 => Some((32767, 32767)),
        Channel::U32 | Channel::S32 | Channel::F16 | Channel::F32 => None,
    }
}

fn filtered(format: TexelFormat, read: ReadMode, bytes: Option<TexelBytes>, colour: [f32; 4]) -> [Filtered; 4] {
    let channel = format.channel();
    match (as_16_bits(channel), bytes) {
        (None, bytes) => {
            let bits = bytes.map_or_else(|| border(format, read, colour), |bytes| value(format, read, &bytes));
            bits.map(|bits| Filtered::Real(f32::from_bits(bits)))
        }
        (Some(_), Some(bytes)) => {
            let is_signed = matches!(channel, Channel::S8 | Channel::S16);
            channels(format, &bytes)
                .map(|bits| Filtered::Whole(if is_signed { (bits as i32).into() } else { bits.into() }))
        }
        (Some((_, most)), None) => {
            let of = |index: usize| if index < format.channels() { colour[index] } else { 0.0 };
            std::array::from_fn(|index| Filtered::Whole((f64::from(of(index)) * most as f64).round() as i64))
        }
    }
}

/// The value of a footprint of several corners; `of` reads texels.
pub fn fetched(
    (format, read): (TexelFormat, ReadMode),
    corners: &[Corner],
    colour: [f32; 4],
    mut of: impl FnMut(TexelPlace) -> TexelBytes,
) -> [u32; 4] {
    if let [Corner { place, .. }] = corners {
        return place.map_or_else(|| border(format, read, colour), |place| value(format, read, &of(place)));
    }
    let mut values = [[Filtered::Real(0.0); 4]; 16];
    for (value, corner) in values.iter_mut().zip(corners) {
        *value = filtered(format, read, corner.place.map(&mut of), colour);
    }
    std::array::from_fn(|index| {
        let terms = || values.iter().map(|value| value[index]).zip(corners).filter(|(_, corner)| corner.weight > 0);
        let Some((most, own)) = as_16_bits(format.channel()) else {
            let real = terms().map(|(value, corner)| match value {
                Filtered::Real(real) => (real, corner.weight, corner.slice),
                Filtered::Whole(whole) => (whole as f32, corner.weight, corner.slice),
            });
            return mean(format.channel(), real).to_bits();
        };
        let weighted = terms().map(|(value, corner)| match value {
            Filtered::Whole(whole) => whole * i64::from(corner.weight),
            Filtered::Real(_) => 0,
        });
        let (sum, steps) = (weighted.sum::<i64>(), own * i64::from(STEPS));
        let nearest = (2 * sum * most + steps).div_euclid(2 * steps);
        ((nearest.clamp(-most, most) as f64 / most as f64) as f32).to_bits()
    })
}

/// The mean of weighted numbers of planes.
fn mean(channel: Channel, terms: impl Iterator<Item = (f32, u32, u8)> + Clone) -> f32 {
    let kept = if channel == Channel::F16 { 14 } else { 27 };
    if terms.clone().any(|(value, ..)| !value.is_finite()) {
        return canonical_f32(terms.map(|(value, weight, _)| value * weight as f32).sum());
    }
    let of_plane = |plane: u8| {
        let terms = terms.clone().filter(move |&(.., slice)| slice == plane);
        let largest = terms.clone().map(|(value, ..)| value.abs()).fold(0f32, f32::max);
        let unit = power(exponent(largest.into()) - kept);
        let cut = |value: f32| (f64::from(value) / unit).trunc() * unit;
        terms.map(|(value, weight, _)| cut(value) * f64::from(weight)).sum::<f64>()
    };
    // A volume on two levels has four planes.
    let sum = (0..4).map(of_plane).fold(0.0, add_to_odd) / f64::from(STEPS);
    let (fraction_bits, least) = if channel == Channel::F16 { (10, -14) } else { (23, -126) };
    let unit = power(exponent(sum).max(least) - fraction_bits);
    ((sum / unit).round() * unit) as f32
}

/// The exponent of the leading bit.
fn exponent(value: f64) -> i32 {
    (value.to_bits() >> 52 & 0x7ff) as i32 - 1023
}

/// A power of two in the range of normal numbers.
fn power(exponent: i32) -> f64 {
    f64::from_bits(((exponent.max(-1022) + 1023) as u64) << 52)
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
    fn missing_channels_are_zeros() {
        let mut texel = [0; 16];
        texel[..2].copy_from_slice(&[7, 0xfe]);
        assert_eq!(value(format(Channel::S8, 2), ReadMode::Element, &texel), [7, (-2i32) as u32, 0, 0]);
        assert_eq!(value(format(Channel::U8, 1), ReadMode::Normalized, &texel)[3], 0);
        assert_eq!(border(format(Channel::F32, 1), ReadMode::Element, [2.0; 4]), [2f32.to_bits(), 0, 0, 0]);
    }

    /// A texel of one channel, and its weight.
    fn mixed(channel: Channel, texels: &[(u32, u32)]) -> f32 {
        let at = |index: u32| TexelPlace { level: 0, layer: 0, at: [index, 0, 0] };
        let corners: Vec<Corner> = (0..)
            .zip(texels)
            .map(|(index, &(_, weight))| Corner { place: Some(at(index)), weight, slice: (index / 4) as u8 })
            .collect();
        let bytes = |place: TexelPlace| {
            let mut bytes = [0; 16];
            bytes[..4].copy_from_slice(&texels[place.at[0] as usize].0.to_le_bytes());
            bytes
        };
        f32::from_bits(fetched((format(channel, 1), ReadMode::Normalized), &corners, [0.0; 4], bytes)[0])
    }

    #[test]
    fn nothing_is_mixed_without_weight() {
        let of =
            |texels: [(f32, u32); 2]| mixed(Channel::F32, &texels.map(|(value, weight)| (value.to_bits(), weight)));
        assert_eq!(of([(2.0, 256), (f32::NAN, 0)]), 2.0);
        assert_eq!(of([(2.0, 64), (6.0, 192)]), 5.0);
    }

    /// Values of an H200.
    #[test]
    fn filters_are_those_of_hardware() {
        // Of u8 and s8 the sum is rounded to 16 bits.
        assert_eq!(mixed(Channel::U8, &[(83, 224), (34, 32)]).to_bits(), (19757.0 / 65535f32).to_bits());
        let s8 = |value: i8| u32::from(value as u8);
        assert_eq!(mixed(Channel::S8, &[(s8(21), 256), (s8(-121), 0)]).to_bits(), 0x3e29_5153);
        // Halves go away from zero.
        let texels = [0.525_788_8f32, 0.754_697_4].map(|value| (value.to_bits(), 128));
        assert_eq!(mixed(Channel::F32, &texels), 0.640_243_1);
    }

    #[test]
    fn values_beyond_a_format_go_to_its_end() {
        assert_eq!(stored(format(Channel::U8, 2), &[300, 5, 9])[..3], [255, 5, 0]);
        assert_eq!(stored(format(Channel::S8, 1), &[(-300i32) as u32])[..2], [0x80, 0]);
        assert_eq!(stored(format(Channel::F16, 1), &[1.5f32.to_bits()])[..2], [0x00, 0x3e]);
    }
}
