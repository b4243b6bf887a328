//! What textures and surfaces give: the formulas of the CUDA C++ programming guide ("Texture Fetching"), written on
//! coordinates in steps of 1/256 of a texel.

use warplens_exec::texture::{Resource, TexelPlace, TextureObject};
use warplens_isa::{
    AddressMode, Channel, Filter, Geometry, LevelOfDetail, ReadMode, Sampler, TexelLayout, TextureFetch,
};

/// The numbers that a lane brings.
pub(crate) struct Numbers<'n> {
    /// In the order of the table of operations, without the sampler.
    pub(crate) words: &'n [u32],
    /// Coordinates are integers.
    pub(crate) are_integers: bool,
}

/// A texel, or the border, with its weight in parts of 256 for each of the axes and for the level.
pub(crate) type Part = (Option<TexelPlace>, [u32; 4]);

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
    fn coordinate(&self, at: &[f32], axis: usize, extent: u32) -> f64 {
        let scale = if self.is_normalized() { f64::from(extent) } else { 1.0 };
        f64::from(at[axis]) * scale
    }

    fn steps(&self, at: &[f32], axis: usize, level: u32, numbers: &Numbers<'_>, pairs: bool) -> Steps {
        let extent = self.resource.extent_of(level)[axis];
        let (n, mode) = (i64::from(extent), self.mode(axis, numbers));
        let offset = self.offset(axis, numbers);
        if numbers.are_integers {
            let index = i64::from(at[axis].to_bits() as i32) + offset;
            return vec![(wrapped(index, n, mode), 256)];
        }
        let x = self.coordinate(at, axis, extent) + offset as f64;
        if !pairs {
            return vec![(wrapped(x.floor() as i64, n, mode), 256)];
        }
        let low = (x - 0.5).floor();
        let part = ((x - 0.5 - low) * 256.0 + 0.5).floor();
        let part = if part.is_finite() { part as u32 } else { 0 };
        let low = low as i64;
        vec![(wrapped(low, n, mode), 256 - part), (wrapped(low.saturating_add(1), n, mode), part)]
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
    fn place(&self, numbers: &Numbers<'_>) -> (u32, Vec<f32>) {
        let geometry = self.fetch.geometry;
        let first = usize::from(geometry.is_layered());
        let layer = if first == 1 { numbers.words[0].min(self.resource.layers - 1) } else { 0 };
        let at: Vec<f32> =
            numbers.words[first..first + self.n_directions()].iter().map(|&bits| f32::from_bits(bits)).collect();
        if !matches!(geometry, Geometry::Cube | Geometry::Cubes) {
            return (layer, at);
        }
        let [x, y, z] = [at[0], at[1], at[2]];
        let (ax, ay, az) = (x.abs(), y.abs(), z.abs());
        // Faces in the order +x -x +y -y +z -z.
        let (face, s, t, m) = match () {
            () if ax > ay && ax > az && x >= 0.0 => (0, -z, -y, ax),
            () if ax > ay && ax > az => (1, z, -y, ax),
            () if ay > az && y >= 0.0 => (2, x, z, ay),
            () if ay > az => (3, x, -z, ay),
            () if z >= 0.0 => (4, x, -y, az),
            () => (5, -x, -y, az),
        };
        (6 * layer + face, vec![(s / m + 1.0) / 2.0, (t / m + 1.0) / 2.0])
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
                let part = (f64::from(level - lower) * 256.0 + 0.5).floor() as u32;
                vec![(lower as u32, 256 - part), ((lower + 1.0).min(last) as u32, part)]
            }
        }
    }

    /// All texels that a fetch mixes.
    pub(crate) fn parts(&self, numbers: &Numbers<'_>) -> Vec<Part> {
        let (layer, at) = self.place(numbers);
        let pairs = self.sampler.filter == Filter::Linear && !numbers.are_integers;
        let mut parts = Vec::new();
        for (level, of_level) in self.levels(numbers) {
            if of_level == 0 {
                continue;
            }
            let mut axes: Vec<Steps> =
                (0..self.fetch.geometry.n_axes()).map(|axis| self.steps(&at, axis, level, numbers, pairs)).collect();
            axes.resize(3, vec![(Some(0), 256)]);
            for &(z, of_z) in &axes[2] {
                for &(y, of_y) in &axes[1] {
                    for &(x, of_x) in &axes[0] {
                        let place = match (x, y, z) {
                            (Some(x), Some(y), Some(z)) => Some(TexelPlace { level, layer, at: [x, y, z] }),
                            _ => None,
                        };
                        parts.push((place, [of_x, of_y, of_z, of_level]));
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
    Real([f32; 4]),
}

/// The colour of the bytes of a texel.
pub(crate) fn colour(texture: &TextureObject, bytes: Option<&[u8; 16]>, border: [f32; 4]) -> Colour {
    let format = texture.resource.format;
    let channel = format.channel();
    let is_whole = channel.is_integer() && texture.read == ReadMode::Element;
    let is_signed = matches!(channel, Channel::S8 | Channel::S16 | Channel::S32);
    let Some(bytes) = bytes else {
        let whole = border.map(|it| if is_signed { (it as i32) as u32 } else { it as u32 });
        return if is_whole { Colour::Whole(whole) } else { Colour::Real(border) };
    };
    let width = channel.bytes() as usize;
    let number = |index: usize| -> i64 {
        let own = &bytes[index * width..(index + 1) * width];
        let unsigned = own.iter().rev().fold(0i64, |number, &byte| number << 8 | i64::from(byte));
        let half = 1i64 << (8 * width - 1);
        if is_signed && unsigned >= half { unsigned - 2 * half } else { unsigned }
    };
    if is_whole {
        let of = |index: usize| if index < format.channels() { number(index) as u32 } else { u32::from(index == 3) };
        return Colour::Whole(std::array::from_fn(of));
    }
    let real = |index: usize| match channel {
        _ if index >= format.channels() => f32::from(u8::from(index == 3)),
        Channel::F32 => f32::from_bits(number(index) as u32),
        Channel::F16 => half(number(index) as u16),
        Channel::S8 | Channel::S16 | Channel::S32 => {
            let most = (1i64 << (8 * width - 1)) - 1;
            (number(index).max(-most) as f64 / most as f64) as f32
        }
        Channel::U8 | Channel::U16 | Channel::U32 => (number(index) as f64 / ((1i64 << (8 * width)) - 1) as f64) as f32,
    };
    Colour::Real(std::array::from_fn(real))
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

/// Colours mixed by their weights; a colour alone is as it is.
pub(crate) fn mixed(parts: &[(Colour, [u32; 4])]) -> [u32; 4] {
    if let [(only, _)] = parts {
        return match only {
            Colour::Whole(whole) => *whole,
            Colour::Real(real) => real.map(f32::to_bits),
        };
    }
    std::array::from_fn(|channel| {
        let mut sum = 0.0;
        for (colour, weights) in parts {
            let weight: f64 = weights.iter().map(|&weight| f64::from(weight) / 256.0).product();
            if let (Colour::Real(real), true) = (colour, weight > 0.0) {
                sum += f64::from(real[channel]) * weight;
            }
        }
        (sum as f32).to_bits()
    })
}
