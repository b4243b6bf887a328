//! Textures, surfaces and samplers as arguments.
//!
//! ```text
//! object    = 'texture(' resource {',' setting} ')' | 'surface(' resource {',' setting} ')'
//!           | 'sampler(' [ setting {',' setting} ] ')'
//! resource  = buffer | reference
//! setting   = NAME '=' ( WORD | number | 'true' | 'false' | '(' number {',' number} ')' )
//! ```

use warplens_isa::{
    AddressMode, Channel, Filter, Geometry, OpaqueType, ReadMode, Sampler, TexelFormat, TexelLayout, TexelShape,
};

use crate::element::{ElementType, Number};
use crate::scanner::{Scanned, Scanner, ValueError};

/// What is said about a texture, surface or sampler.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ObjectSettings {
    /// Which of them.
    pub kind: OpaqueType,
    /// What is said about the texels.
    pub texels: Texels,
    /// How a texture is sampled.
    pub sampler: Sampler,
    /// What a texture gives of integers.
    pub read: ReadMode,
}

/// What is said about texels; the rest follows from the buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Texels {
    /// Texels along each axis.
    pub extent: [Option<u32>; 3],
    /// Layers.
    pub layers: Option<u32>,
    /// Levels of a mipmap.
    pub levels: Option<u32>,
    /// It is a cube, or cubes.
    pub is_cube: bool,
    /// Bytes from row to row.
    pub pitch: Option<u64>,
    /// The texels of a line lie in linear memory.
    pub is_linear: bool,
    /// What a texel holds.
    pub format: Option<TexelFormat>,
}

impl Texels {
    /// The shape of texels in a buffer of `element`s with so many bytes for them.
    pub fn shape(&self, element: ElementType, bytes: u64) -> Result<TexelShape, String> {
        let format = match self.format {
            Some(format) => format,
            None => channel(element)
                .and_then(|channel| TexelFormat::new(channel, 1))
                .ok_or_else(|| format!("no texel is {element}; say what it is, for example format=f32x4"))?,
        };
        let [width, height, depth] = self.extent;
        let is_line = height.is_none() && depth.is_none() && !self.is_cube;
        if width.is_none() && !(is_line && self.layers.is_none() && self.levels.is_none() && self.pitch.is_none()) {
            return Err("its width is missing".to_owned());
        }
        let is_linear = width.is_none() || self.is_linear;
        let whole = u32::try_from(bytes / u64::from(format.bytes())).unwrap_or(u32::MAX);
        let width = width.unwrap_or(whole);
        let geometry = match (depth, height, self.layers, self.is_cube) {
            (Some(_), Some(_), None, false) => Geometry::Volume,
            (Some(_), ..) => return Err("a depth goes with a width and a height, without layers".to_owned()),
            (None, _, None, true) => Geometry::Cube,
            (None, _, Some(_), true) => Geometry::Cubes,
            (None, Some(_), None, false) => Geometry::Plane,
            (None, Some(_), Some(_), false) => Geometry::Planes,
            (None, None, None, false) => Geometry::Line,
            (None, None, Some(_), false) => Geometry::Lines,
        };
        let layout = match self.pitch {
            Some(pitch) => TexelLayout::Pitch(pitch),
            None if is_linear => TexelLayout::Linear,
            None => TexelLayout::Array,
        };
        let height = height.unwrap_or(if self.is_cube { width } else { 1 });
        let extent = [width, height, depth.unwrap_or(1)];
        let (layers, levels) = (self.layers.unwrap_or(1), self.levels.unwrap_or(1));
        Ok(TexelShape { format, layout, geometry, extent, layers, levels })
    }
}

fn channel(element: ElementType) -> Option<Channel> {
    Some(match element {
        ElementType::U8 => Channel::U8,
        ElementType::S8 => Channel::S8,
        ElementType::U16 => Channel::U16,
        ElementType::S16 => Channel::S16,
        ElementType::U32 => Channel::U32,
        ElementType::S32 => Channel::S32,
        ElementType::F16 => Channel::F16,
        ElementType::F32 => Channel::F32,
        ElementType::U64 | ElementType::S64 | ElementType::Bf16 | ElementType::F64 => return None,
    })
}

/// Reads the settings up to the closing parenthesis: behind a comma, or as the first in the parentheses.
pub(crate) fn settings(scanner: &mut Scanner<'_>, kind: OpaqueType) -> Scanned<ObjectSettings> {
    let (texels, sampler, read) = Default::default();
    let mut object = ObjectSettings { kind, texels, sampler, read };
    let mut is_first = kind == OpaqueType::Sampler;
    if is_first && scanner.take(")") {
        return Ok(object);
    }
    while is_first || scanner.take(",") {
        setting(scanner, &mut object)?;
        is_first = false;
    }
    if !scanner.take(")") {
        return Err(scanner.unexpected("`,` or `)`"));
    }
    Ok(object)
}

const OF_TEXELS: &[&str] = &["width", "height", "depth", "layers", "levels", "cube", "pitch", "layout", "format"];
const OF_SAMPLERS: &[&str] = &[
    "filter",
    "level_filter",
    "address",
    "address_x",
    "address_y",
    "address_z",
    "normalized",
    "border",
    "level_bias",
    "level_min",
    "level_max",
];

fn setting(scanner: &mut Scanner<'_>, object: &mut ObjectSettings) -> Scanned<()> {
    scanner.take("");
    let start = scanner.at();
    let name = scanner.word();
    let has = |names: &[&str]| names.contains(&name);
    let (texels, samples) = (object.kind != OpaqueType::Sampler, object.kind != OpaqueType::Surface);
    let is_known =
        texels && has(OF_TEXELS) || samples && has(OF_SAMPLERS) || object.kind == OpaqueType::Texture && name == "read";
    if !is_known {
        let mut names: Vec<&str> = if texels { OF_TEXELS.to_vec() } else { Vec::new() };
        names.extend(if samples { OF_SAMPLERS } else { &[] });
        names.extend((object.kind == OpaqueType::Texture).then_some("read"));
        let mut error = scanner.error_since(start, format!("a {} has no setting `{name}`", object.kind.name()));
        error.help = Some(format!("the settings are {}", names.join(" ")));
        return Err(error);
    }
    scanner.expect("=")?;
    let (texels, sampler) = (&mut object.texels, &mut object.sampler);
    match name {
        "width" => texels.extent[0] = Some(count(scanner)?),
        "height" => texels.extent[1] = Some(count(scanner)?),
        "depth" => texels.extent[2] = Some(count(scanner)?),
        "layers" => texels.layers = Some(count(scanner)?),
        "levels" => texels.levels = Some(count(scanner)?),
        "cube" => texels.is_cube = truth(scanner)?,
        "pitch" => texels.pitch = Some(u64::from(count(scanner)?)),
        "layout" => texels.is_linear = word(scanner, &[("linear", true), ("array", false)])?,
        "format" => texels.format = Some(format(scanner)?),
        "filter" => sampler.filter = word(scanner, FILTERS)?,
        "level_filter" => sampler.level_filter = word(scanner, FILTERS)?,
        "address" => sampler.address = [word(scanner, MODES)?; 3],
        "address_x" => sampler.address[0] = word(scanner, MODES)?,
        "address_y" => sampler.address[1] = word(scanner, MODES)?,
        "address_z" => sampler.address[2] = word(scanner, MODES)?,
        "normalized" => sampler.normalized = truth(scanner)?,
        "border" => sampler.border = colour(scanner)?,
        "level_bias" => sampler.level_bias = scanner.number()?.as_f64() as f32,
        "level_min" => sampler.level_range[0] = scanner.number()?.as_f64() as f32,
        "level_max" => sampler.level_range[1] = scanner.number()?.as_f64() as f32,
        _ => object.read = word(scanner, &[("element", ReadMode::Element), ("normalized", ReadMode::Normalized)])?,
    }
    Ok(())
}

const FILTERS: &[(&str, Filter)] = &[("point", Filter::Point), ("linear", Filter::Linear)];
const MODES: &[(&str, AddressMode)] = &[
    ("wrap", AddressMode::Wrap),
    ("mirror", AddressMode::Mirror),
    ("clamp", AddressMode::Clamp),
    ("border", AddressMode::Border),
];

fn word<T: Copy>(scanner: &mut Scanner<'_>, words: &[(&str, T)]) -> Scanned<T> {
    let mut ahead = scanner.clone();
    let found = ahead.word();
    match words.iter().find(|(name, _)| *name == found) {
        Some(&(_, value)) => {
            *scanner = ahead;
            Ok(value)
        }
        None => {
            let names: Vec<&str> = words.iter().map(|&(name, _)| name).collect();
            Err(scanner.unexpected(&names.join(" or ")))
        }
    }
}

fn truth(scanner: &mut Scanner<'_>) -> Scanned<bool> {
    word(scanner, &[("true", true), ("false", false)])
}

fn count(scanner: &mut Scanner<'_>) -> Scanned<u32> {
    scanner.take("");
    let start = scanner.at();
    let number = match scanner.number()? {
        Number::Integer(number) => u32::try_from(number).ok().filter(|&number| number > 0),
        Number::Float(_) => None,
    };
    number.ok_or_else(|| scanner.error_since(start, "a whole number of at least 1 and at most 32 bits is needed"))
}

fn colour(scanner: &mut Scanner<'_>) -> Scanned<[f32; 4]> {
    scanner.take("");
    let start = scanner.at();
    scanner.expect("(")?;
    let mut channels = vec![scanner.number()?.as_f64() as f32];
    while scanner.take(",") {
        channels.push(scanner.number()?.as_f64() as f32);
    }
    scanner.expect(")")?;
    channels.try_into().map_err(|_| scanner.error_since(start, "a border has four channels"))
}

/// A type and, if there are several, the number of channels: `f32`, `u8x4`.
fn format(scanner: &mut Scanner<'_>) -> Scanned<TexelFormat> {
    scanner.take("");
    let start = scanner.at();
    let text = scanner.word();
    let (element, channels) = match text.rsplit_once('x') {
        Some((element, channels)) => (element, channels.parse().unwrap_or(0)),
        None => (text, 1),
    };
    let format = ElementType::from_name(element).and_then(channel).and_then(|it| TexelFormat::new(it, channels));
    format.ok_or_else(|| ValueError {
        help: Some("a format is u8 s8 u16 s16 u32 s32 f16 or f32, then x2 or x4 for several channels".to_owned()),
        ..scanner.error_since(start, format!("`{text}` is no format of a texel"))
    })
}
