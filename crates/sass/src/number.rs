//! Numbers in instructions, and how nvdisasm writes them.

use std::fmt::Write;

use half::{bf16, f16};

use crate::encoding::Bits;

/// What a number is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NumberKind {
    /// A register; the last is the one of zeros.
    Register,
    /// One that all lanes share.
    UniformRegister,
    /// A predicate; the last is the one that holds.
    Predicate,
    /// One that all lanes share.
    UniformPredicate,
    /// A convergence barrier.
    Barrier,
    /// A dependency barrier.
    Scoreboard,
    /// An integer, in units of so much.
    Integer {
        unit: u32,
        is_signed: bool,
    },
    /// Bytes from the next instruction.
    Target {
        unit: u32,
        is_signed: bool,
    },
    F32,
    /// The upper half of a double; the lower is 0.
    F64,
    F16,
    Bf16,
}

impl NumberKind {
    /// By its name in the table of forms.
    pub(crate) fn read(name: &str, width: u32) -> Option<Self> {
        Some(match name {
            "R" => Self::Register,
            "UR" => Self::UniformRegister,
            "P" => Self::Predicate,
            "UP" => Self::UniformPredicate,
            "B" => Self::Barrier,
            "SB" => Self::Scoreboard,
            "f32" if width == 32 => Self::F32,
            "f64" if width == 32 => Self::F64,
            "f16" if width == 16 => Self::F16,
            "bf16" if width == 16 => Self::Bf16,
            _ => {
                let is_signed = name.ends_with('s');
                let name = name.trim_end_matches('s');
                let (name, unit) = name.split_once('*').unwrap_or((name, "1"));
                let unit = unit.parse().ok()?;
                match name {
                    "I" => Self::Integer { unit, is_signed },
                    "T" => Self::Target { unit, is_signed },
                    _ => return None,
                }
            }
        })
    }
}

/// A number in a form.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Number {
    pub(crate) kind: NumberKind,
    pub(crate) bits: Bits,
}

impl Number {
    /// Its value as an integer, with its sign and its unit.
    pub(crate) fn integer(&self, word: u128) -> i64 {
        let value = self.bits.of(word);
        match self.kind {
            NumberKind::Integer { unit, is_signed } | NumberKind::Target { unit, is_signed } => {
                let unused = u64::BITS - self.bits.width();
                let value = if is_signed { ((value << unused) as i64) >> unused } else { value as i64 };
                value.wrapping_mul(i64::from(unit))
            }
            _ => value as i64,
        }
    }

    /// Writes it as [`write`](Self::write) does, but a float by its bits, behind a letter of PTX's for its type: `0f`, `0d`
    /// (the upper half), `0h` of binary16, `0b` of bfloat16.
    pub(crate) fn write_exact(&self, word: u128, address: u64, out: &mut String) {
        let value = self.bits.of(word);
        // Writing to a string does not fail.
        let _ = match self.kind {
            NumberKind::F32 => write!(out, "0f{value:08x}"),
            NumberKind::F64 => write!(out, "0d{value:08x}"),
            NumberKind::F16 => write!(out, "0h{value:04x}"),
            NumberKind::Bf16 => write!(out, "0b{value:04x}"),
            _ => return self.write(word, address, out),
        };
    }

    /// Writes it as it stands in an instruction at `address`.
    pub(crate) fn write(&self, word: u128, address: u64, out: &mut String) {
        let value = self.bits.of(word);
        let last = (1_u64 << self.bits.width().min(63)) - 1;
        // Writing to a string does not fail.
        let _ = match self.kind {
            NumberKind::Register => named(out, "R", value, last, 'Z'),
            NumberKind::UniformRegister => named(out, "UR", value, last, 'Z'),
            NumberKind::Predicate => named(out, "P", value, last, 'T'),
            NumberKind::UniformPredicate => named(out, "UP", value, last, 'T'),
            NumberKind::Barrier => write!(out, "B{value}"),
            NumberKind::Scoreboard => write!(out, "SB{value}"),
            // What fills 64 bits is written as bits.
            NumberKind::Integer { .. } if self.bits.width() == 64 => write!(out, "{value:#x}"),
            NumberKind::Integer { .. } => hexadecimal(out, self.integer(word)),
            NumberKind::Target { .. } => {
                let next = address.wrapping_add(crate::WORD_BYTES);
                write!(out, "{:#x}", next.wrapping_add_signed(self.integer(word)))
            }
            NumberKind::F32 => {
                let number = f32::from_bits(value as u32);
                float(out, f64::from(number), value >> 22 & 1 == 1, value >> 31 == 1)
            }
            NumberKind::F64 => float(out, f64::from_bits(value << 32), value >> 19 & 1 == 1, value >> 31 == 1),
            NumberKind::F16 => float(out, f16::from_bits(value as u16).to_f64(), value >> 9 & 1 == 1, value >> 15 == 1),
            NumberKind::Bf16 => {
                let number = bf16::from_bits(value as u16);
                float(out, number.to_f64(), value >> 6 & 1 == 1, value >> 15 == 1)
            }
        };
    }
}

fn named(out: &mut String, prefix: &str, value: u64, last: u64, name: char) -> std::fmt::Result {
    if value == last { write!(out, "{prefix}{name}") } else { write!(out, "{prefix}{value}") }
}

fn hexadecimal(out: &mut String, value: i64) -> std::fmt::Result {
    if value < 0 { write!(out, "-{:#x}", value.unsigned_abs()) } else { write!(out, "{value:#x}") }
}

/// The size from which all digits behind the point are written.
const LONG: f64 = 1e9;

/// Twenty digits, as C writes them.
fn float(out: &mut String, value: f64, is_quiet: bool, is_negative: bool) -> std::fmt::Result {
    let sign = if is_negative { '-' } else { '+' };
    if value.is_nan() {
        return write!(out, "{sign}{}NAN", if is_quiet { 'Q' } else { 'S' });
    }
    if value.is_infinite() {
        return write!(out, "{sign}INF");
    }
    if value == 0.0 {
        return out.write_str(if is_negative { "-0.0" } else { "0" });
    }
    if value.abs() >= LONG {
        let text = format!("{value:.20e}");
        return exponent(out, &text);
    }
    let text = format!("{value:.19e}");
    let Some((digits, power)) = text.split_once('e') else { return out.write_str(&text) };
    let power: i32 = power.parse().unwrap_or(0);
    if power < -4 {
        let trimmed = digits.trim_end_matches('0').trim_end_matches('.');
        return exponent(out, &format!("{trimmed}e{power}"));
    }
    let places = usize::try_from(19 - power).unwrap_or(0);
    let fixed = format!("{value:.places$}");
    out.write_str(if fixed.contains('.') { fixed.trim_end_matches('0').trim_end_matches('.') } else { &fixed })
}

/// The power of ten with its sign and at least two digits.
fn exponent(out: &mut String, text: &str) -> std::fmt::Result {
    let Some((digits, power)) = text.split_once('e') else { return out.write_str(text) };
    let power: i32 = power.parse().unwrap_or(0);
    write!(out, "{digits}e{}{:02}", if power < 0 { '-' } else { '+' }, power.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::float;

    #[test]
    fn floats_are_written_as_c_does() {
        let text = |value: f64| {
            let mut out = String::new();
            float(&mut out, value, true, value.is_sign_negative()).unwrap();
            out
        };
        assert_eq!(text(f64::from(0.1_f32)), "0.10000000149011611938");
        assert_eq!(text(-0.0), "-0.0");
        assert_eq!(text(126.0), "126");
        assert_eq!(text(123_456.789_062_5), "123456.7890625");
        assert_eq!(text(1e9), "1.00000000000000000000e+09");
        assert_eq!(text(f64::from(3e-5_f32)), "2.9999999242136254907e-05");
        assert_eq!(text(f64::INFINITY), "+INF");
    }
}
