//! Agreement with the PTX assembler's constant folding, instruction by instruction.

use warplens_exec::semantics::convert::{self, NarrowMods};
use warplens_exec::semantics::half::{self, Bf16, F16, Half, HalfMods};
use warplens_exec::semantics::integer::{self, Int};
use warplens_exec::semantics::{FloatMods, MinMaxMods, float32, float64};
use warplens_isa::Rounding;

/// An instruction name taken apart, and its operands.
struct Case<'a> {
    base: &'a str,
    modifiers: Vec<&'a str>,
    types: Vec<&'a str>,
    args: Vec<u64>,
}

impl<'a> Case<'a> {
    fn new(name: &'a str, args: Vec<u64>) -> Self {
        const TYPES: [&str; 20] = [
            "u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64", "b16", "b32", "b64", "f16", "f16x2", "bf16",
            "bf16x2", "f32", "f64", "tf32", "u16x2", "s16x2",
        ];
        let mut parts = name.split('.');
        let base = parts.next().expect("a name has a first part");
        let (types, modifiers) = parts.partition(|part| TYPES.contains(part));
        Self { base, modifiers, types, args }
    }

    fn has(&self, modifier: &str) -> bool {
        self.modifiers.contains(&modifier)
    }

    fn rounding(&self) -> Rounding {
        let named = |names: &[&str]| names.iter().any(|name| self.has(name));
        match () {
            () if named(&["rz", "rzi"]) => Rounding::Zero,
            () if named(&["rm", "rmi"]) => Rounding::Down,
            () if named(&["rp", "rpi"]) => Rounding::Up,
            () if named(&["rna"]) => Rounding::NearestAway,
            () => Rounding::Nearest,
        }
    }

    fn mods(&self) -> FloatMods {
        FloatMods { rounding: self.rounding(), ftz: self.has("ftz"), sat: self.has("sat") }
    }

    fn evaluate(&self) -> Option<u64> {
        if self.base == "cvt" {
            return self.convert();
        }
        match *self.types.last()? {
            "u16" | "b16" => self.int::<u16>(),
            "s16" => self.int::<i16>(),
            "u32" | "b32" => self.int::<u32>(),
            "s32" => self.int::<i32>(),
            "u64" | "b64" => self.int::<u64>(),
            "s64" => self.int::<i64>(),
            "f32" => self.float32(),
            "f64" => self.float64(),
            "f16" => self.half::<F16>(false),
            "f16x2" => self.half::<F16>(true),
            "bf16" => self.half::<Bf16>(false),
            _ => None,
        }
    }

    fn int<T: Int>(&self) -> Option<u64> {
        let arg = |i: usize| T::from_bits(self.args[i]);
        let word = |i: usize| self.args[i] as u32;
        let (hi, wide, sat) = (self.has("hi"), self.has("wide"), self.has("sat"));
        let result = match self.base {
            "mul" if wide => return Some(integer::mul_wide(arg(0), arg(1)).to_bits()),
            "mad" if wide => {
                return Some(integer::mad_wide(arg(0), arg(1), T::Wide::from_bits(self.args[2])).to_bits());
            }
            "popc" => return Some(integer::popc(arg(0)).into()),
            "clz" => return Some(integer::clz(arg(0)).into()),
            "bfind" if self.has("shiftamt") => return Some(integer::bfind_shiftamt(arg(0)).into()),
            "bfind" => return Some(integer::bfind(arg(0)).into()),
            "fns" => return Some(integer::fns(word(0), word(1), word(2) as i32).into()),
            "dp4a" => return self.dot().map(u64::from),
            "dp2a" => return self.dot().map(u64::from),
            "shf" => return self.funnel().map(u64::from),
            "add" if sat => integer::add_sat(arg(0), arg(1)),
            "sub" if sat => integer::sub_sat(arg(0), arg(1)),
            "add" => integer::add(arg(0), arg(1)),
            "sub" => integer::sub(arg(0), arg(1)),
            "mul" if hi => integer::mul_hi(arg(0), arg(1)),
            "mul" => integer::mul_lo(arg(0), arg(1)),
            "mad" if hi && sat => integer::mad_hi_sat(arg(0), arg(1), arg(2)),
            "mad" if hi => integer::mad_hi(arg(0), arg(1), arg(2)),
            "mad" => integer::mad_lo(arg(0), arg(1), arg(2)),
            "mul24" if hi => integer::mul24_hi(arg(0), arg(1)),
            "mul24" => integer::mul24_lo(arg(0), arg(1)),
            "mad24" if hi && sat => integer::mad24_hi_sat(arg(0), arg(1), arg(2)),
            "mad24" if hi => integer::mad24_hi(arg(0), arg(1), arg(2)),
            "mad24" => integer::mad24_lo(arg(0), arg(1), arg(2)),
            "sad" => integer::sad(arg(0), arg(1), arg(2)),
            "div" => integer::div(arg(0), arg(1)),
            "rem" => integer::rem(arg(0), arg(1)),
            "abs" => integer::abs(arg(0)),
            "neg" => integer::neg(arg(0)),
            "min" => integer::min(arg(0), arg(1)),
            "max" => integer::max(arg(0), arg(1)),
            "cnot" => integer::cnot(arg(0)),
            "brev" => integer::brev(arg(0)),
            "shl" => integer::shl(arg(0), word(1)),
            "shr" => integer::shr(arg(0), word(1)),
            "bfe" => integer::bfe(arg(0), word(1), word(2)),
            "bfi" => integer::bfi(arg(0), arg(1), word(2), word(3)),
            "szext" if self.has("wrap") => integer::szext_wrap(arg(0), word(1)),
            "szext" => integer::szext_clamp(arg(0), word(1)),
            _ => return None,
        };
        Some(result.to_bits())
    }

    fn dot(&self) -> Option<u32> {
        let [a, b, c] = [0, 1, 2].map(|i| self.args[i] as u32);
        let (a_signed, b_signed) = (self.types[0] == "s32", self.types[1] == "s32");
        Some(match self.base {
            "dp4a" => integer::dp4a(a, b, c, a_signed, b_signed),
            _ => integer::dp2a(a, b, c, a_signed, b_signed, self.has("hi")),
        })
    }

    fn funnel(&self) -> Option<u32> {
        let [a, b, c] = [0, 1, 2].map(|i| self.args[i] as u32);
        Some(match (self.has("l"), self.has("wrap")) {
            (true, true) => integer::shf_l_wrap(a, b, c),
            (true, false) => integer::shf_l_clamp(a, b, c),
            (false, true) => integer::shf_r_wrap(a, b, c),
            (false, false) => integer::shf_r_clamp(a, b, c),
        })
    }

    fn float32(&self) -> Option<u64> {
        let arg = |i: usize| f32::from_bits(self.args[i] as u32);
        let extreme = MinMaxMods { ftz: self.has("ftz"), ..MinMaxMods::default() };
        let result = match self.base {
            "add" => float32::add(arg(0), arg(1), self.mods()),
            "sub" => float32::sub(arg(0), arg(1), self.mods()),
            "mul" => float32::mul(arg(0), arg(1), self.mods()),
            "min" => float32::min(arg(0), arg(1), extreme),
            "max" => float32::max(arg(0), arg(1), extreme),
            "abs" => float32::abs(arg(0), self.has("ftz")),
            "neg" => float32::neg(arg(0), self.has("ftz")),
            _ => return None,
        };
        Some(result.to_bits().into())
    }

    fn float64(&self) -> Option<u64> {
        let arg = |i: usize| f64::from_bits(self.args[i]);
        let result = match self.base {
            "min" => float64::min(arg(0), arg(1)),
            "max" => float64::max(arg(0), arg(1)),
            _ => return None,
        };
        Some(result.to_bits())
    }

    fn half<H: Half>(&self, packed: bool) -> Option<u64> {
        let arg = |i: usize| self.args[i] as u16;
        let extreme = MinMaxMods::default();
        let pair = self.args[0] as u32;
        Some(match self.base {
            "neg" if packed => half::neg_x2::<H>(pair, false).into(),
            "abs" if packed => half::abs_x2::<H>(pair, false).into(),
            "neg" => half::neg::<H>(arg(0), false).into(),
            "abs" => half::abs::<H>(arg(0), false).into(),
            "mul" => half::mul::<H>(arg(0), arg(1), HalfMods::RN).into(),
            "min" => half::min::<H>(arg(0), arg(1), extreme).into(),
            "max" => half::max::<H>(arg(0), arg(1), extreme).into(),
            _ => return None,
        })
    }

    fn convert(&self) -> Option<u64> {
        let [to, from] = self.types[..] else { return None };
        Some(match from {
            "f32" => self.convert_f32(to)?,
            "f64" => self.convert_f64(to)?,
            "f16" => self.convert_f16(to)?,
            "u8" => self.int_to::<u8>(to)?,
            "s8" => self.int_to::<i8>(to)?,
            "u16" => self.int_to::<u16>(to)?,
            "s16" => self.int_to::<i16>(to)?,
            "u32" => self.int_to::<u32>(to)?,
            "s32" => self.int_to::<i32>(to)?,
            "u64" => self.int_to::<u64>(to)?,
            "s64" => self.int_to::<i64>(to)?,
            _ => return None,
        })
    }

    fn int_to<S: Int>(&self, to: &str) -> Option<u64> {
        let x = S::from_bits(self.args[0]);
        let sat = self.has("sat");
        Some(match to {
            // An 8-bit result fills its 32-bit register by the type's sign.
            "u8" => convert::int_to_int::<S, u8>(x, sat).into(),
            "s8" => (i32::from(convert::int_to_int::<S, i8>(x, sat)) as u32).into(),
            "u16" => convert::int_to_int::<S, u16>(x, sat).to_bits(),
            "s16" => convert::int_to_int::<S, i16>(x, sat).to_bits(),
            "u32" => convert::int_to_int::<S, u32>(x, sat).to_bits(),
            "s32" => convert::int_to_int::<S, i32>(x, sat).to_bits(),
            "u64" => convert::int_to_int::<S, u64>(x, sat).to_bits(),
            "s64" => convert::int_to_int::<S, i64>(x, sat).to_bits(),
            "f32" => convert::int_to_f32(x, self.mods()).to_bits().into(),
            "f64" => convert::int_to_f64(x, self.mods()).to_bits(),
            "f16" => convert::int_to_half::<S, F16>(x, self.mods()).into(),
            _ => return None,
        })
    }

    fn convert_f32(&self, to: &str) -> Option<u64> {
        let x = f32::from_bits(self.args[0] as u32);
        let (rounding, ftz) = (self.rounding(), self.has("ftz"));
        let narrow = NarrowMods { sat: self.has("sat"), ..NarrowMods::new(rounding) };
        let integral = self.modifiers.iter().any(|m| m.ends_with('i')).then_some(rounding);
        Some(match to {
            "u16" => convert::f32_to_int::<u16>(x, rounding, ftz).to_bits(),
            "u32" => convert::f32_to_int::<u32>(x, rounding, ftz).to_bits(),
            "s32" => convert::f32_to_int::<i32>(x, rounding, ftz).to_bits(),
            "u64" => convert::f32_to_int::<u64>(x, rounding, ftz).to_bits(),
            "s64" => convert::f32_to_int::<i64>(x, rounding, ftz).to_bits(),
            "f32" => convert::f32_to_f32(x, integral, ftz, self.has("sat")).to_bits().into(),
            "f64" => convert::f32_to_f64(x, ftz, false).to_bits(),
            "f16" => convert::f32_to_half::<F16>(x, narrow).into(),
            "bf16" => convert::f32_to_half::<Bf16>(x, narrow).into(),
            "f16x2" => convert::f32_to_half_x2::<F16>(x, f32::from_bits(self.args[1] as u32), narrow).into(),
            "tf32" => convert::f32_to_tf32(x, narrow).into(),
            _ => return None,
        })
    }

    fn convert_f64(&self, to: &str) -> Option<u64> {
        let x = f64::from_bits(self.args[0]);
        let rounding = self.rounding();
        Some(match to {
            "u16" => convert::f64_to_int::<u16>(x, rounding).to_bits(),
            "u32" => convert::f64_to_int::<u32>(x, rounding).to_bits(),
            "s32" => convert::f64_to_int::<i32>(x, rounding).to_bits(),
            "u64" => convert::f64_to_int::<u64>(x, rounding).to_bits(),
            "s64" => convert::f64_to_int::<i64>(x, rounding).to_bits(),
            "f64" => convert::f64_to_f64(x, Some(rounding), false).to_bits(),
            "f32" => convert::f64_to_f32(x, self.mods()).to_bits().into(),
            "f16" => convert::f64_to_half::<F16>(x, NarrowMods::new(rounding)).into(),
            _ => return None,
        })
    }

    fn convert_f16(&self, to: &str) -> Option<u64> {
        let x = self.args[0] as u16;
        let rounding = self.rounding();
        Some(match to {
            "u16" => convert::half_to_int::<F16, u16>(x, rounding).to_bits(),
            "u32" => convert::half_to_int::<F16, u32>(x, rounding).to_bits(),
            "s32" => convert::half_to_int::<F16, i32>(x, rounding).to_bits(),
            "u64" => convert::half_to_int::<F16, u64>(x, rounding).to_bits(),
            "s64" => convert::half_to_int::<F16, i64>(x, rounding).to_bits(),
            "f32" => convert::half_to_f32::<F16>(x, false, false).to_bits().into(),
            "f64" => convert::half_to_f64::<F16>(x, false).to_bits(),
            _ => return None,
        })
    }
}

#[test]
fn folded_constants() {
    let mut wrong = Vec::new();
    // Lowering takes the video instructions apart; nothing here computes them.
    let lines = include_str!("vectors.txt").lines().filter(|line| !line.starts_with(['#', 'v']));
    for line in lines {
        let (instruction, result) = line.split_once(" = ").expect("a line has a result");
        let mut words = instruction.split(' ');
        let name = words.next().expect("a line has a name");
        let number = |word: &str| u64::from_str_radix(word, 16).expect("operands are hexadecimal");
        let case = Case::new(name, words.map(number).collect());
        let actual = case.evaluate().unwrap_or_else(|| panic!("no function for {line}"));
        if actual != number(result) {
            wrong.push(format!("{line}, but got {actual:x}"));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
