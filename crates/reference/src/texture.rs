//! What textures and surfaces give: the formulas of the CUDA C++ programming guide ("Texture Fetching"), written on
//! coordinates in steps of 1/256 of a texel; and what an H200 does beyond them.

use warplens_exec::texture::{Resource, TexelPlace, TextureObject};
use warplens_isa::{
    AddressMode, Channel, Filter, Geometry, LevelOfDetail, ReadMode, Rounding, Sampler, TexelLayout, TextureFetch,
};

use crate::exact::{self, Exact, F16, F32, Format, Number};

/// The numbers that a lane brings.
pub(crate) struct Numbers<'n> {
    /// In the order of the table of operations, without the sampler.
    pub(crate) words: &'n [u32],
    /// Coordinates are integers.
    pub(crate) are_integers: bool,
}

/// A texel, or the border, with its weight in parts of 256 and the number of its plane.
pub(crate) type Part = (Option<TexelPlace>, u64, usize);

/// The texels along one axis: index and weight.
type Steps = Vec<(Option<u32>, u32)>;

/// What a fetch is of.
pub(crate) struct Fetch<'f> {
    pub(crate) resource: &'f Resource,
    pub(crate) sampler: Sampler,
    pub(crate) fetch: &'f TextureFetch,
}

fn wrapped(index: i64, n: i64, mode: AddressMode) -> Option<u32> {
    let index = match mode {
        AddressMode::Clamp if index < 0 => 0,
        AddressMode::Clamp if index >= n => n - 1,
        AddressMode::Clamp | AddressMode::Border => index,
        AddressMode::Wrap => ((index % n) + n) % n,
        // Even repetitions are as they are, odd ones turned around.
        AddressMode::Mirror => {
            let (turn, inside) = (index.div_euclid(n), index.rem_euclid(n));
            if turn % 2 == 0 { inside } else { n - 1 - inside }
        }
    };
    if index >= 0 && index < n { Some(index as u32) } else { None }
}

impl Fetch<'_> {
    fn n_directions(&self) -> usize {
        if self.fetch.geometry.is_cube() { 3 } else { self.fetch.geometry.n_axes() }
    }

    fn is_normalized(&self) -> bool {
        self.fetch.geometry.is_cube() || self.sampler.normalized
    }

    fn mode(&self, axis: usize, numbers: &Numbers<'_>) -> AddressMode {
        if self.resource.layout == TexelLayout::Linear {
            return AddressMode::Border;
        }
        let repeats = self.is_normalized() && !numbers.are_integers;
        match self.sampler.address[axis] {
            AddressMode::Wrap | AddressMode::Mirror if !repeats => AddressMode::Clamp,
            mode => mode,
        }
    }

    /// Coordinate of an axis in texels; of a direction the place on its face.
    fn coordinate(&self, at: f64, extent: u32, mode: AddressMode) -> f64 {
        let repeats = matches!(mode, AddressMode::Wrap | AddressMode::Mirror);
        // So large numbers are even integers: both ways to repeat make a zero of them.
        let at = if at.is_nan() || repeats && at.abs() > 1e9 { 0.0 } else { at };
        if self.is_normalized() { (at * 2f64.powi(21)).floor() * f64::from(extent) / 2f64.powi(21) } else { at }
    }

    fn steps(&self, at: &[f64], axis: usize, level: u32, numbers: &Numbers<'_>, pairs: bool) -> Steps {
        let extent = self.resource.extent_of(level)[axis];
        let (n, mode) = (i64::from(extent), self.mode(axis, numbers));
        let offset = self.offset(axis, numbers);
        if numbers.are_integers {
            let first = usize::from(self.fetch.geometry.is_layered());
            let index = i64::from(numbers.words[first + axis] as i32) + offset;
            return vec![(wrapped(index, n, mode), 256)];
        }
        let x = self.coordinate(at[axis], extent, mode) + offset as f64;
        if !pairs {
            return vec![(wrapped(x.floor() as i64, n, mode), 256)];
        }
        let low = (x - 0.5).floor();
        let part = ((x - 0.5 - low) * 256.0 + 0.5).floor();
        let part = if part.is_finite() { part as u32 } else { 0 };
        // All of the next texel is that one alone.
        let low = if part == 256 { low as i64 + 1 } else { low as i64 };
        let (first, second) = (wrapped(low, n, mode), wrapped(low.saturating_add(1), n, mode));
        let part = if mode == AddressMode::Clamp && first == second { 0 } else { part % 256 };
        vec![(first, 256 - part), (second, part)]
    }

    fn offset(&self, axis: usize, numbers: &Numbers<'_>) -> i64 {
        if !self.fetch.offsets {
            return 0;
        }
        let first = numbers.words.len() - self.fetch.geometry.n_axes();
        let four = numbers.words[first + axis] & 15;
        i64::from(four) - if four > 7 { 16 } else { 0 }
    }

    /// Layer or face, and the coordinates on it.
    fn place(&self, numbers: &Numbers<'_>) -> (u32, Vec<f64>) {
        let geometry = self.fetch.geometry;
        let first = usize::from(geometry.is_layered());
        let layer = if first == 1 { numbers.words[0].min(self.resource.layers - 1) } else { 0 };
        let at: Vec<f32> =
            numbers.words[first..first + self.n_directions()].iter().map(|&bits| f32::from_bits(bits)).collect();
        if !matches!(geometry, Geometry::Cube | Geometry::Cubes) {
            return (layer, at.into_iter().map(f64::from).collect());
        }
        // The longest component becomes 1; beside one whose reciprocal is subnormal nothing is left, and NaN of infinity.
        let longest = at.iter().fold(0f32, |longest, it| longest.max(it.abs()));
        let is_too_long = longest > 8.507_059e37;
        let scaled = |it: f32| match longest {
            _ if it.is_infinite() => f64::NAN,
            _ if is_too_long && !it.is_nan() || longest == 0.0 => f64::from(it).signum() * 0.0,
            longest => f64::from(it) / f64::from(longest),
        };
        let [x, y, z] = [at[0], at[1], at[2]].map(scaled);
        let longer = |a: f64, b: f64| a.abs() > b.abs();
        // Faces in the order +x -x +y -y +z -z.
        let (face, s, t) = if !z.is_nan() && !longer(x, z) && !longer(y, z) {
            if z >= 0.0 { (4, x, -y) } else { (5, -x, -y) }
        } else if !y.is_nan() && !longer(x, y) {
            if y >= 0.0 { (2, x, z) } else { (3, x, -z) }
        } else if x >= 0.0 {
            (0, -z, -y)
        } else {
            (1, z, -y)
        };
        let on_face = |it: f64| (if it.is_nan() { 1.0 } else { it + 1.0 }) / 2.0;
        (6 * layer + face, vec![on_face(s), on_face(t)])
    }

    /// Levels with their weights.
    fn levels(&self, numbers: &Numbers<'_>) -> Vec<(u32, u32)> {
        let after = self.fetch.geometry.n_coordinates();
        let wanted = match self.fetch.level {
            LevelOfDetail::Base => 0.0,
            LevelOfDetail::Given if numbers.are_integers => numbers.words[after] as i32 as f32,
            LevelOfDetail::Given => f32::from_bits(numbers.words[after]),
            LevelOfDetail::Gradient => {
                let n = self.n_directions();
                let longest = (0..2).map(|which| {
                    let of_axis = |axis: usize| {
                        let gradient = f64::from(f32::from_bits(numbers.words[after + which * n + axis]));
                        let texels = if self.sampler.normalized { self.resource.extent[axis] } else { 1 };
                        gradient * f64::from(texels)
                    };
                    (0..self.fetch.geometry.n_axes()).map(of_axis).map(|it| it * it).sum::<f64>().sqrt()
                });
                warplens_exec::semantics::math::lg2(longest.fold(0.0, f64::max) as f32, false)
            }
        };
        let last = (self.resource.levels - 1) as f32;
        let [low, high] = self.sampler.level_range;
        let level = (wanted + self.sampler.level_bias).max(low).min(high).clamp(0.0, last);
        match self.sampler.level_filter {
            Filter::Point => vec![((level + 0.5).floor().min(last) as u32, 256)],
            Filter::Linear => {
                let lower = level.floor();
                let part = (f64::from(level - lower) * 256.0).floor() as u32;
                vec![(lower as u32, 256 - part), ((lower + 1.0).min(last) as u32, part)]
            }
        }
    }

    /// All texels that a fetch mixes.
    pub(crate) fn parts(&self, numbers: &Numbers<'_>) -> Vec<Part> {
        let (layer, at) = self.place(numbers);
        let pairs = self.sampler.filter == Filter::Linear && !numbers.are_integers;
        let mut parts = Vec::new();
        for (number, (level, of_level)) in self.levels(numbers).into_iter().enumerate() {
            if of_level == 0 {
                continue;
            }
            let mut axes: Vec<Steps> =
                (0..self.fetch.geometry.n_axes()).map(|axis| self.steps(&at, axis, level, numbers, pairs)).collect();
            if axes.len() == 1 && pairs && self.sampler.address[1] == AddressMode::Border {
                // A line is a plane of one row, at the edge of which the coordinate is.
                axes.push(vec![(None, 128), (Some(0), 128)]);
            }
            axes.resize(3, vec![(Some(0), 256)]);
            let upper = |axis: usize| u64::from(axes[axis].get(1).map_or(0, |step| step.1));
            let halves_up = |total: u64, part: u64| (2 * total * part + 256) / 512;
            let deeper = halves_up(of_level.into(), upper(2));
            for (at_z, &(z, _)) in axes[2].iter().enumerate() {
                let of_plane = if at_z == 1 { deeper } else { u64::from(of_level) - deeper };
                let right = halves_up(of_plane, upper(0));
                for (at_y, &(y, _)) in axes[1].iter().enumerate() {
                    for (at_x, &(x, _)) in axes[0].iter().enumerate() {
                        // Halves of the left column go up, those of the right one down.
                        let of_column = if at_x == 1 { right } else { of_plane - right };
                        let lower_row = (2 * of_column * upper(1) + 254 + 2 * at_x as u64) / 512;
                        let weight = if at_y == 1 { lower_row } else { of_column - lower_row };
                        let place = match (x, y, z) {
                            (Some(x), Some(y), Some(z)) => Some(TexelPlace { level, layer, at: [x, y, z] }),
                            _ => None,
                        };
                        parts.push((place, weight, 2 * number + at_z));
                    }
                }
            }
        }
        parts
    }

    /// The texels of the four corners: lower left, lower right, upper right, upper left, with rows downwards.
    pub(crate) fn corners(&self, numbers: &Numbers<'_>) -> Vec<Option<TexelPlace>> {
        let (layer, at) = self.place(numbers);
        let [x, y] = [0, 1].map(|axis| self.steps(&at, axis, 0, numbers, true));
        let corner = |right: usize, down: usize| Some(TexelPlace { level: 0, layer, at: [x[right].0?, y[down].0?, 0] });
        vec![corner(0, 1), corner(1, 1), corner(1, 0), corner(0, 0)]
    }
}

/// A texel in memory, or the border, as four numbers: integers or floats.
pub(crate) enum Colour {
    Whole([u32; 4]),
    /// With the same as integers of memory, where it is made of such.
    Real([f32; 4], [i64; 4]),
}

/// The colour of the bytes of a texel.
pub(crate) fn colour(texture: &TextureObject, bytes: Option<&[u8; 16]>, border: [f32; 4]) -> Colour {
    let format = texture.resource.format;
    let channel = format.channel();
    let is_whole = channel.is_integer() && texture.read == ReadMode::Element;
    let is_signed = matches!(channel, Channel::S8 | Channel::S16 | Channel::S32);
    // What a format does not have is zero.
    let border: [f32; 4] = std::array::from_fn(|index| if index < format.channels() { border[index] } else { 0.0 });
    let Some(bytes) = bytes else {
        let whole = border.map(|it| if is_signed { (it as i32) as u32 } else { it as u32 });
        let most = f64::from(most(channel).unwrap_or(0));
        let in_memory = border.map(|it| (f64::from(it) * most).round() as i64);
        return if is_whole { Colour::Whole(whole) } else { Colour::Real(border, in_memory) };
    };
    let width = channel.bytes() as usize;
    let number = |index: usize| -> i64 {
        let own = &bytes[index * width..(index + 1) * width];
        let unsigned = own.iter().rev().fold(0i64, |number, &byte| number << 8 | i64::from(byte));
        let half = 1i64 << (8 * width - 1);
        if is_signed && unsigned >= half { unsigned - 2 * half } else { unsigned }
    };
    if is_whole {
        let of = |index: usize| if index < format.channels() { number(index) as u32 } else { 0 };
        return Colour::Whole(std::array::from_fn(of));
    }
    let real = |index: usize| match channel {
        _ if index >= format.channels() => 0.0,
        Channel::F32 => f32::from_bits(number(index) as u32),
        Channel::F16 => half(number(index) as u16),
        Channel::S8 | Channel::S16 | Channel::S32 => {
            let most = (1i64 << (8 * width - 1)) - 1;
            (number(index).max(-most) as f64 / most as f64) as f32
        }
        Channel::U8 | Channel::U16 | Channel::U32 => (number(index) as f64 / ((1i64 << (8 * width)) - 1) as f64) as f32,
    };
    let in_memory = |index: usize| if index < format.channels() { number(index) } else { 0 };
    Colour::Real(std::array::from_fn(real), std::array::from_fn(in_memory))
}

/// The largest integer of a channel that is made to 16 bits before it is mixed.
fn most(channel: Channel) -> Option<i32> {
    match channel {
        Channel::U8 => Some(0xff),
        Channel::U16 => Some(0xffff),
        Channel::S8 => Some(0x7f),
        Channel::S16 => Some(0x7fff),
        Channel::U32 | Channel::S32 | Channel::F16 | Channel::F32 => None,
    }
}

/// The value of half precision.
fn half(bits: u16) -> f32 {
    let (sign, exponent, fraction) = (bits >> 15, bits >> 10 & 31, f32::from(bits & 0x3ff));
    let magnitude = match exponent {
        0 => fraction * (2f32).powi(-24),
        31 if bits & 0x3ff == 0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1.0 + fraction / 1024.0) * (2f32).powi(i32::from(exponent) - 15),
    };
    if sign == 1 { -magnitude } else { magnitude }
}

/// Colours mixed by their weights, with the numbers of their planes; a colour alone is as it is.
pub(crate) fn mixed(channel: Channel, parts: &[(Colour, u64, usize)]) -> [u32; 4] {
    if let [(only, ..)] = parts {
        return match only {
            Colour::Whole(whole) => *whole,
            Colour::Real(real, _) => real.map(f32::to_bits),
        };
    }
    std::array::from_fn(|index| {
        let of = |part: &(Colour, u64, usize)| match part {
            (Colour::Real(real, in_memory), weight, plane) if *weight > 0 => {
                Some((real[index], in_memory[index], *weight, *plane))
            }
            _ => None,
        };
        let terms: Vec<(f32, i64, u64, usize)> = parts.iter().filter_map(of).collect();
        let mixed = match most(channel) {
            Some(most) => mixed_integers(most.into(), &terms),
            None => mixed_floats(if channel == Channel::F16 { (F16, 14) } else { (F32, 27) }, &terms),
        };
        mixed.to_bits()
    })
}

/// The nearest number of 16 bits, halves up.
fn mixed_integers(most: i64, terms: &[(f32, i64, u64, usize)]) -> f32 {
    let sum: i64 = terms.iter().map(|&(_, whole, weight, _)| whole * weight as i64).sum();
    let of_16_bits = if most % 2 == 1 && most.count_ones() % 8 == 7 { 0x7fff } else { 0xffff };
    let mut nearest = i64::MIN;
    // The largest that is not more than the mean and a half.
    for candidate in [-1, 0, 1].map(|near| sum * of_16_bits / (256 * most) + near) {
        if (2 * candidate - 1) * 256 * most <= 2 * sum * of_16_bits {
            nearest = candidate;
        }
    }
    (nearest.clamp(-of_16_bits, of_16_bits) as f64 / of_16_bits as f64) as f32
}

/// The nearest number of the format, halves away from zero. The numbers of a plane are cut to so many bits behind the point of
/// the largest of them.
fn mixed_floats((format, kept): (Format, i32), terms: &[(f32, i64, u64, usize)]) -> f32 {
    let exact = |value: f32| match F32.number(value.to_bits().into()) {
        Number::Finite(exact) if !exact.is_zero() => Some(exact),
        _ => None,
    };
    let top = |exact: Exact| exact.exponent + 127 - exact.significand.leading_zeros() as i32;
    if terms.iter().any(|(value, ..)| !value.is_finite()) {
        let sum: f32 = terms.iter().map(|&(value, _, weight, _)| value * weight as f32).sum();
        return if sum.is_nan() { f32::from_bits(0x7fff_ffff) } else { sum };
    }
    let mut sum = Number::Finite(Exact::integer(0));
    for plane in 0..4 {
        let of_plane = || terms.iter().filter(|term| term.3 == plane);
        let Some(largest) = of_plane().filter_map(|term| exact(term.0)).map(top).max() else { continue };
        let unit = largest - kept;
        let units = of_plane().filter_map(|&(value, _, weight, _)| {
            let own = exact(value)?;
            let magnitude = own.rounded_to(unit, Rounding::Zero) as i128 * i128::from(weight);
            Some(if own.negative { -magnitude } else { magnitude })
        });
        let of_plane = Exact { exponent: unit - 8, ..Exact::integer(units.sum()) };
        sum = exact::sum(sum, Number::Finite(of_plane), Rounding::Nearest);
    }
    let bits = format.round(sum, Rounding::NearestAway, false);
    let wide = F32.round(format.number(bits), Rounding::Nearest, false);
    f32::from_bits(wide as u32)
}
