//! Fetches from textures and accesses to surfaces. Their objects are named by handles, as those of PTX are.
//!
//! Before sm_90 a number says where among the constants the handle lies, in words; from then on a uniform register has it.

use warplens_ir::{MemoryReference, Operand as Ir, Register};
use warplens_isa::{
    Geometry, LevelOfDetail, OBJECT_TAG, Operation, ScalarType, StateSpace, SurfaceAccess, SurfaceClamp, SurfaceUnit,
    TextureFetch, TextureGather,
};

use super::operands::{Lowered, Lowering};
use crate::syntax::{Operand, Syntax, Value};

/// The geometry that a word names.
fn geometry(word: &str) -> Option<Geometry> {
    Some(match word {
        "1D" => Geometry::Line,
        "2D" => Geometry::Plane,
        "3D" => Geometry::Volume,
        "ARRAY_1D" | "1D_ARRAY" => Geometry::Lines,
        "ARRAY_2D" | "2D_ARRAY" => Geometry::Planes,
        "CUBE" => Geometry::Cube,
        "ARRAY_CUBE" | "CUBE_ARRAY" => Geometry::Cubes,
        _ => return None,
    })
}

/// The operands of a fetch.
struct Fetch<'o> {
    /// Where the first two channels that are wanted go, and where the others do.
    destinations: [&'o Operand; 2],
    /// Registers with the numbers.
    numbers: &'o [Operand],
    /// What names the object.
    named: &'o [Operand],
    geometry: Geometry,
    /// The channels that are wanted, as bits.
    channels: u32,
}

fn fetch_operands(operands: &[Operand]) -> Lowered<Fetch<'_>> {
    let [upper, lower, rest @ ..] = operands else { return Err("a fetch without its operands") };
    let word = |operand: &Operand| match &operand.value {
        Value::Word(word) => geometry(word),
        _ => None,
    };
    let (geometry, before, channels) = match rest {
        [before @ .., name, channels] if word(name).is_some() => {
            let channels = channels.integer().and_then(|channels| u32::try_from(channels).ok());
            (word(name), before, channels.filter(|channels| *channels < 16))
        }
        [before @ .., name] => (word(name), before, Some(0xf)),
        [] => return Err("a fetch without its operands"),
    };
    let is_register = |operand: &&Operand| matches!(operand.value, Value::Register(_));
    let (numbers, named) = before.split_at(before.iter().take_while(is_register).count());
    Ok(Fetch {
        destinations: [lower, upper],
        numbers,
        named,
        geometry: geometry.ok_or("a fetch from something of this shape")?,
        channels: channels.ok_or("a fetch of these channels")?,
    })
}

impl Lowering<'_> {
    /// The handle of an object.
    fn object(&mut self, named: &[Operand]) -> Lowered<Ir> {
        let is_zero = |operand: &Operand| operand.integer() == Some(0);
        match named {
            [zero, place] if is_zero(zero) && self.facts.sm < 90 => {
                let place = place.integer().and_then(|place| u32::try_from(place).ok());
                let offset = place.and_then(|place| place.checked_mul(4)).ok_or("an object at no place")?;
                // References to textures, which older CUDA had, lie among the constants of the driver.
                if !self.facts.is_in_parameters(offset, 8) {
                    return Err("an object that no parameter names");
                }
                let handle = self.constant(0, offset, ScalarType::B64)?;
                Ok(Ir::Register(self.emit_pair(Operation::Mov, ScalarType::B64, &[handle])))
            }
            [register @ Operand { value: Value::Uniform(_), .. }, rest @ ..] if rest.iter().all(is_zero) => {
                let low = self.word(register)?;
                let sources = [low, Ir::Immediate(OBJECT_TAG >> 32)];
                Ok(Ir::Register(self.emit_pair(Operation::Pack, ScalarType::B64, &sources)))
            }
            _ => Err("an object that is named in this way"),
        }
    }

    /// The numbers of a fetch: `n` words. Before sm_90 they are halved between two registers, later the second has what
    /// stands behind the coordinates.
    fn numbers(&mut self, numbers: &[Operand], (n_coordinates, n): (usize, usize)) -> Lowered<Vec<Ir>> {
        let of_first = if self.facts.sm < 90 { n.div_ceil(2) } else { n_coordinates };
        let mut words = Vec::with_capacity(n);
        for (operand, count) in numbers.iter().zip([of_first, n - of_first]) {
            words.extend(self.words(operand, count as u32)?);
        }
        if words.len() == n { Ok(words) } else { Err("a fetch with other numbers") }
    }

    /// `TEX`, `TLD` and `TLD4`.
    pub(super) fn texture_fetch(&mut self, syntax: &Syntax) -> Lowered {
        let Fetch { destinations, numbers, named, geometry, channels } = fetch_operands(&syntax.operands)?;
        // How registers are named is known by the chip.
        if syntax.has("SCR") != (self.facts.sm < 90) {
            return Err("a fetch of this kind");
        }
        let level = match (syntax.has("LL"), syntax.has("LZ"), syntax.base()) {
            (true, false, _) => LevelOfDetail::Given,
            (false, true, "TLD") | (false, false, "TEX" | "TLD4") => LevelOfDetail::Base,
            _ => return Err("a fetch of this kind"),
        };
        // Gradients of neighbours choose the level where none is given; kernels have none, and get the first.
        let n_coordinates = geometry.n_coordinates();
        let n = n_coordinates + usize::from(level == LevelOfDetail::Given);
        let sources = self.numbers(numbers, (n_coordinates, n))?;
        let base = self.object(named)?;
        let fetch = TextureFetch { geometry, level, offsets: false, sampler: false };
        let operation = match syntax.base() {
            "TLD4" => {
                let component = ["R", "G", "B", "A"].iter().position(|name| syntax.has(name));
                let component = component.ok_or("a fetch of no channel")? as u8;
                Operation::Tld4(TextureGather { fetch, component })
            }
            _ => Operation::Tex(fetch),
        };
        let targets = self.channels(destinations, channels)?;
        // Texels are words, whatever they mean.
        let inst = self.emit(operation, ScalarType::U32, &targets, &sources);
        inst.source_ty = if syntax.base() == "TLD" { ScalarType::S32 } else { ScalarType::F32 };
        inst.memory = MemoryReference { space: StateSpace::Texture, base, offset: 0, elements: 1 }.into();
        Ok(())
    }

    /// Where each of four channels goes.
    fn channels(&self, destinations: [&Operand; 2], wanted: u32) -> Lowered<Vec<Option<Register>>> {
        let mut places = Vec::new();
        for destination in destinations {
            places.extend(self.destinations(destination, 2)?);
        }
        let mut places = places.into_iter();
        Ok((0..4).map(|channel| if wanted >> channel & 1 == 1 { places.next().flatten() } else { None }).collect())
    }

    /// `SULD` and `SUST`.
    pub(super) fn surface_access(&mut self, syntax: &Syntax) -> Lowered {
        let is_load = syntax.base() == "SULD";
        let (value, place, named) = match &syntax.operands[..] {
            [value, place, named @ ..] if is_load => (value, place, named),
            [place, value, named @ ..] => (value, place, named),
            _ => return Err("an access without its operands"),
        };
        if !syntax.has("D") || !syntax.has("BA") {
            return Err("an access of this kind");
        }
        let geometry = syntax.find(geometry).ok_or("an access to something of this shape")?;
        let clamp = match (syntax.has("TRAP"), syntax.has("IGN")) {
            (true, false) => SurfaceClamp::Trap,
            (false, true) => SurfaceClamp::Zero,
            (false, false) => SurfaceClamp::Clamp,
            _ => return Err("an access of this kind"),
        };
        let (ty, n) = syntax
            .find(|word| {
                Some(match word {
                    "U8" => (ScalarType::B8, 1),
                    "U16" => (ScalarType::B16, 1),
                    "64" => (ScalarType::B32, 2),
                    "128" => (ScalarType::B32, 4),
                    _ => return None,
                })
            })
            .unwrap_or((ScalarType::B32, 1));
        let Value::Address(address) = &place.value else { return Err("an access without its place") };
        let first = address.register.and_then(|register| register.number).ok_or("an access without its place")?;
        let word = |at: u32| Ir::Register(super::operands::word(first + at));
        let n_axes = geometry.n_axes() as u32;
        // The layer stands behind the coordinates.
        let mut sources: Vec<Ir> = geometry.is_layered().then(|| word(n_axes)).into_iter().collect();
        sources.extend((0..n_axes).map(word));
        if geometry.is_cube() || address.offset != 0 {
            return Err("an access of this kind");
        }
        let base = self.object(named)?;
        let access = SurfaceAccess { geometry, unit: SurfaceUnit::Byte, clamp };
        let (operation, targets) = if is_load {
            (Operation::Suld(access), self.destinations(value, u32::from(n))?)
        } else {
            sources.extend(self.words(value, u32::from(n))?);
            (Operation::Sust(access), Vec::new())
        };
        let inst = self.emit(operation, ty, &targets, &sources);
        inst.memory = MemoryReference { space: StateSpace::Surface, base, offset: 0, elements: n }.into();
        Ok(())
    }
}
