//! Which texels a fetch reads, and with which weights.
//!
//! The formulas are those of the CUDA C++ programming guide ("Texture Fetching"): a coordinate x names the texel
//! floor(x); a linear filter mixes floor(x - 1/2) and the next one with a weight of 9 bits, 8 of them behind the point,
//! to which the fraction of x - 1/2 is rounded, halves up. A mipmap is mixed by the fraction of its level of detail.
//!
//! What the guide does not say is as an H200 does it, bit by bit. Normalised coordinates are cut to 21 bits behind the point
//! before they are multiplied by the number of texels. The fraction of a level of detail is cut to 8 bits. The weights of
//! several axes are integers that together make 256 (see [`slice`]). A weight that is 1 goes to the next texel alone, which
//! shows in what is gathered. Of what is no number nothing is left but a zero, and so of infinities where coordinates repeat.
//!
//! Where the guide leaves things open: wrapped and mirrored coordinates need normalised ones and are clamped otherwise, as
//! the guide says of the runtime; integer coordinates are in texels, never filtered, and clamped unless there is a border;
//! linear memory has a border of zeros; a level of detail that follows from gradients is the binary logarithm of the longer
//! one in texels (OpenGL 4.6, section 8.14.1), a cube's major axis is the last of equal ones, and its faces are apart (so it
//! is on an H200).

use warplens_isa::{AddressMode, Filter, Geometry, LevelOfDetail, Sampler, TexelLayout, TextureFetch};

use super::object::{Resource, TexelPlace};
use crate::semantics::math;

/// Most texels that a fetch mixes: eight of a volume on each of two levels.
const MOST: usize = 16;
/// Steps of a weight, which the weights of all that a fetch mixes make together.
pub(super) const STEPS: u32 = 256;
/// Steps of a normalised coordinate.
const NORMALIZED_STEPS: f64 = (1u32 << 21) as f64;

/// Something that a fetch mixes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Corner {
    /// The texel; none for the border.
    pub place: Option<TexelPlace>,
    /// Its weight in 256ths; all of a fetch make 256.
    pub weight: u32,
    /// Which of the planes that are mixed it lies in: those of a level or a depth.
    pub slice: u8,
}

/// All that a fetch mixes.
#[derive(Clone, Copy, Debug)]
pub struct Footprint {
    corners: [Corner; MOST],
    len: usize,
}

impl Footprint {
    const fn new() -> Self {
        Self { corners: [Corner { place: None, weight: 0, slice: 0 }; MOST], len: 0 }
    }

    fn push(&mut self, corner: Corner) {
        self.corners[self.len] = corner;
        self.len += 1;
    }

    /// The corners.
    pub fn corners(&self) -> &[Corner] {
        &self.corners[..self.len]
    }
}

/// The numbers that a lane brings to a fetch.
#[derive(Clone, Copy, Debug, Default)]
pub struct Coordinates {
    /// Layer.
    pub layer: u32,
    /// Coordinates, or a direction.
    pub at: [f32; 3],
    /// The same where they are integers.
    pub whole: Option<[i32; 3]>,
    /// Level of detail.
    pub level: f32,
    /// Gradients by axis.
    pub gradients: [[f32; 3]; 2],
    /// Texels by which the place is moved.
    pub offsets: [i32; 3],
}

/// A place on one axis: the texels around it, and the weight of the second of them.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Around {
    texels: [Option<u32>; 2],
    weight: u32,
}

impl Around {
    /// The nearest texel alone.
    const fn only(texel: Option<u32>) -> Self {
        Self { texels: [texel, None], weight: 0 }
    }
}

/// The texel with the number `index`, which may lie beyond the edge; none for the border.
fn addressed(index: i64, extent: u32, mode: AddressMode) -> Option<u32> {
    let extent = i64::from(extent);
    let inside = match mode {
        AddressMode::Wrap => index.rem_euclid(extent),
        AddressMode::Mirror => {
            let folded = index.rem_euclid(2 * extent);
            folded.min(2 * extent - 1 - folded)
        }
        AddressMode::Clamp => index.clamp(0, extent - 1),
        AddressMode::Border => index,
    };
    (0..extent).contains(&inside).then_some(inside as u32)
}

/// The texels around a coordinate in texels. `pairs` asks for two also without a filter.
fn around(coordinate: f64, extent: u32, mode: AddressMode, pairs: bool) -> Around {
    if !pairs {
        return Around::only(addressed(coordinate.floor() as i64, extent, mode));
    }
    let lower = (coordinate - 0.5).floor();
    // Infinite coordinates have no fraction.
    let weight = ((coordinate - 0.5 - lower) * f64::from(STEPS) + 0.5).floor() as u32;
    let first = (lower as i64).saturating_add((weight / STEPS).into());
    let texels = [first, first.saturating_add(1)].map(|index| addressed(index, extent, mode));
    // A clamped coordinate is that of the last texel.
    let is_clamped = mode == AddressMode::Clamp && texels[0] == texels[1];
    Around { texels, weight: if is_clamped { 0 } else { weight % STEPS } }
}

/// A normalised coordinate in texels.
fn in_texels(coordinate: f64, extent: u32, mode: AddressMode) -> f64 {
    let steps = (coordinate * NORMALIZED_STEPS).floor();
    let steps = match mode {
        AddressMode::Clamp | AddressMode::Border => steps,
        // Two extents are a period of both. What is farther away than that is a multiple of it.
        AddressMode::Wrap | AddressMode::Mirror if steps.abs() < 2f64.powi(53) => {
            (steps as i64).rem_euclid(2 * NORMALIZED_STEPS as i64) as f64
        }
        AddressMode::Wrap | AddressMode::Mirror => 0.0,
    };
    steps * f64::from(extent) / NORMALIZED_STEPS
}

/// What lies around a line along its second axis: with a border half of it, as if it were a plane of one row at its edge.
fn across(mode: AddressMode) -> Around {
    match mode {
        AddressMode::Border => Around { texels: [None, Some(0)], weight: STEPS / 2 },
        AddressMode::Clamp | AddressMode::Wrap | AddressMode::Mirror => Around::only(Some(0)),
    }
}

/// A part of a weight, halves up.
fn part(of: u32, weight: u32) -> u32 {
    (of * weight + STEPS / 2) / STEPS
}

/// The weights of the corners of a plane that has a share of all: x first, then y.
///
/// The upper x gets its part, the lower one what is left. Of both the upper y gets its part, and the lower one what is left;
/// at halves the corner with both upper ones gets more, and that with the upper y alone less.
fn slice(share: u32, x: u32, y: u32) -> [u32; 4] {
    let right = part(share, x);
    let left = share - right;
    let both = part(right, y);
    let only_y = (left * y + STEPS / 2 - 1) / STEPS;
    [left - only_y, right - both, only_y, both]
}

/// Face of a cube that a direction hits, and the normalised coordinates there.
fn face(direction: [f32; 3]) -> (u32, [f64; 2]) {
    let largest = direction.iter().fold(0f32, |largest, it| largest.max(it.abs()));
    // Directions are multiplied by what may be flushed to zero: then NaN of infinities, and zeros, are left.
    let is_flushed = largest == 0.0 || 1.0 / largest < f32::MIN_POSITIVE;
    let (factor, divisor) = if is_flushed { (0.0, 1.0) } else { (1.0, f64::from(largest)) };
    let scaled = |it: f32| f64::from(it) * factor / divisor;
    let [x, y, z] = direction.map(scaled);
    let [along_x, along_y, along_z] = [x, y, z].map(f64::abs);
    let is_beyond = |a: f64, b: f64| a > b;
    let (face, at) = if !z.is_nan() && !is_beyond(along_x, along_z) && !is_beyond(along_y, along_z) {
        if z >= 0.0 { (4, [x, -y]) } else { (5, [-x, -y]) }
    } else if !y.is_nan() && !is_beyond(along_x, along_y) {
        if y >= 0.0 { (2, [x, z]) } else { (3, [x, -z]) }
    } else if x >= 0.0 {
        (0, [-z, -y])
    } else {
        (1, [z, -y])
    };
    (face, at.map(|it| (if it.is_nan() { 0.0 } else { it } + 1.0) / 2.0))
}

/// Levels that a fetch mixes, and the weight of the second.
fn levels(resource: &Resource, sampler: &Sampler, fetch: &TextureFetch, coordinates: &Coordinates) -> ([u32; 2], u32) {
    let wanted = match fetch.level {
        LevelOfDetail::Base => 0.0,
        LevelOfDetail::Given => coordinates.level,
        LevelOfDetail::Gradient => {
            let length = |gradient: [f32; 3]| {
                let scaled = |axis: usize| match sampler.normalized {
                    true => f64::from(gradient[axis]) * f64::from(resource.extent[axis]),
                    false => f64::from(gradient[axis]),
                };
                (0..fetch.geometry.n_axes()).map(|axis| scaled(axis) * scaled(axis)).sum::<f64>().sqrt()
            };
            let [first, second] = coordinates.gradients.map(length);
            math::lg2(first.max(second) as f32, false)
        }
    };
    let last = resource.levels.saturating_sub(1) as f32;
    let [least, most] = sampler.level_range;
    let level = (wanted + sampler.level_bias).max(least).min(most).max(0.0).min(last);
    match sampler.level_filter {
        Filter::Point => ([(level + 0.5).floor().min(last) as u32; 2], 0),
        Filter::Linear => {
            let lower = level.floor();
            let weight = (f64::from(level - lower) * f64::from(STEPS)) as u32;
            ([lower as u32, (lower + 1.0).min(last) as u32], weight)
        }
    }
}

/// A fetch resolved to texels.
pub struct Sampling<'a> {
    /// The texels.
    pub resource: &'a Resource,
    /// How they are sampled.
    pub sampler: &'a Sampler,
    /// What is fetched.
    pub fetch: &'a TextureFetch,
}

impl Sampling<'_> {
    fn mode(&self, axis: usize, coordinates: &Coordinates) -> AddressMode {
        let is_integer = coordinates.whole.is_some();
        match self.sampler.address[axis] {
            _ if self.resource.layout == TexelLayout::Linear => AddressMode::Border,
            AddressMode::Wrap | AddressMode::Mirror if is_integer || !self.is_normalized() => AddressMode::Clamp,
            mode => mode,
        }
    }

    /// Directions become normalised coordinates of a face.
    fn is_normalized(&self) -> bool {
        self.sampler.normalized || self.fetch.geometry.is_cube()
    }

    /// Layer, and coordinates on it.
    fn on_layer(&self, coordinates: &Coordinates) -> (u32, [f64; 3]) {
        let layer = coordinates.layer.min(self.resource.layers - 1);
        match self.fetch.geometry {
            Geometry::Cube | Geometry::Cubes => {
                let (face, [s, t]) = face(coordinates.at);
                (6 * layer + face, [s, t, 0.0])
            }
            Geometry::Lines | Geometry::Planes => (layer, coordinates.at.map(f64::from)),
            Geometry::Line | Geometry::Plane | Geometry::Volume => (0, coordinates.at.map(f64::from)),
        }
    }

    /// The texels around a place on each axis of a level.
    fn axes(&self, coordinates: &Coordinates, at: [f64; 3], level: u32, pairs: bool) -> [Around; 3] {
        let extent = self.resource.extent_of(level);
        std::array::from_fn(|axis| {
            match self.fetch.geometry.n_axes() {
                1 if axis == 1 && pairs => return across(self.sampler.address[1]),
                n if axis >= n => return Around::only(Some(0)),
                _ => {}
            }
            let (mode, offset) = (self.mode(axis, coordinates), coordinates.offsets[axis]);
            if let Some(whole) = coordinates.whole {
                let index = i64::from(whole[axis]) + i64::from(offset);
                return Around::only(addressed(index, extent[axis], mode));
            }
            let at = if at[axis].is_nan() { 0.0 } else { at[axis] };
            let at = if self.is_normalized() { in_texels(at, extent[axis], mode) } else { at };
            around(at + f64::from(offset), extent[axis], mode, pairs)
        })
    }

    /// Everything that a fetch mixes.
    pub fn footprint(&self, coordinates: &Coordinates) -> Footprint {
        let (layer, at) = self.on_layer(coordinates);
        let (levels, second) = levels(self.resource, self.sampler, self.fetch, coordinates);
        let filtered = self.sampler.filter == Filter::Linear && coordinates.whole.is_none();
        let is_line_in_border = self.fetch.geometry.n_axes() == 1 && self.sampler.address[1] == AddressMode::Border;
        let n_axes = match self.fetch.geometry.n_axes() {
            _ if !filtered => 0,
            n => n + usize::from(is_line_in_border),
        };
        let mut footprint = Footprint::new();
        for (number, (level, share)) in levels.into_iter().zip([STEPS - second, second]).enumerate() {
            if share == 0 {
                continue;
            }
            let axes = self.axes(coordinates, at, level, filtered);
            let [x, y, z] = axes.map(|axis| axis.weight);
            let deeper = part(share, z);
            let weights = [slice(share - deeper, x, y), slice(deeper, x, y)];
            for corner in 0..1usize << n_axes {
                let upper = |axis: usize| corner >> axis & 1;
                let texels: [Option<u32>; 3] = std::array::from_fn(|axis| axes[axis].texels[upper(axis)]);
                let place = match texels {
                    [Some(x), Some(y), Some(z)] => Some(TexelPlace { level, layer, at: [x, y, z] }),
                    _ => None,
                };
                let slice = (2 * number + upper(2)) as u8;
                footprint.push(Corner { place, weight: weights[upper(2)][corner % 4], slice });
            }
        }
        footprint
    }

    /// The four texels that a linear filter would mix, counter-clockwise from the lower left, where rows go down.
    pub fn gathered(&self, coordinates: &Coordinates) -> [Option<TexelPlace>; 4] {
        let (layer, at) = self.on_layer(coordinates);
        let [x, y, _] = self.axes(coordinates, at, 0, true);
        let place = |right: usize, down: usize| match (x.texels[right], y.texels[down]) {
            (Some(x), Some(y)) => Some(TexelPlace { level: 0, layer, at: [x, y, 0] }),
            _ => None,
        };
        [place(0, 1), place(1, 1), place(1, 0), place(0, 0)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_beyond_the_edge() {
        let of = |mode| (-5..8).map(|index| addressed(index, 3, mode)).collect::<Vec<_>>();
        let some = |numbers: [u32; 13]| numbers.map(Some).to_vec();
        assert_eq!(of(AddressMode::Wrap), some([1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1]));
        assert_eq!(of(AddressMode::Mirror), some([1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0, 1]));
        assert_eq!(of(AddressMode::Clamp), some([0, 0, 0, 0, 0, 0, 1, 2, 2, 2, 2, 2, 2]));
        assert_eq!(of(AddressMode::Border).iter().flatten().collect::<Vec<_>>(), [&0, &1, &2]);
    }

    #[test]
    fn weights_have_eight_bits_behind_the_point() {
        let at = |coordinate| around(coordinate, 10, AddressMode::Clamp, true);
        assert_eq!(at(2.5), Around { texels: [Some(2), Some(3)], weight: 0 });
        assert_eq!(at(3.0), Around { texels: [Some(2), Some(3)], weight: 128 });
        assert_eq!(at(2.5 + 0.3), Around { texels: [Some(2), Some(3)], weight: 77 });
        // The whole of it is the next texel alone.
        assert_eq!(at(3.5 - 1e-3), Around { texels: [Some(3), Some(4)], weight: 0 });
        assert_eq!(at(0.25), Around { texels: [Some(0), Some(0)], weight: 0 });
        assert_eq!(at(f64::INFINITY), Around { texels: [Some(9); 2], weight: 0 });
    }

    #[test]
    fn faces_of_a_cube() {
        for (direction, expected) in [
            ([1.0, 0.0, 0.5], (0, [0.25, 0.5])),
            ([-2.0, 0.0, 1.0], (1, [0.75, 0.5])),
            ([0.5, 1.0, 0.0], (2, [0.75, 0.5])),
            ([0.0, -1.0, 0.5], (3, [0.5, 0.25])),
            ([0.5, 0.5, 1.0], (4, [0.75, 0.25])),
            ([0.5, 0.0, -1.0], (5, [0.25, 0.5])),
        ] {
            assert_eq!(face(direction), expected, "{direction:?}");
        }
    }
}
