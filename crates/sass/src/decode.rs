//! Words into instructions.

use std::fmt::Write;

use crate::control::Control;
use crate::encoding::{Choice, Form, Forms, Guard, Piece, TableError};
use crate::number::{Number, NumberKind};
use crate::syntax;

/// Bytes of an instruction, on chips from sm_70 on.
pub const WORD_BYTES: u64 = 16;

/// No decoder.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DecoderError {
    /// The encodings of this chip are not known.
    #[error("machine code of sm_{0} is not known; known are sm_75, 80, 86, 89, 90, 100 and 120")]
    Chip(u32),
    /// The project's own table does not read.
    #[error(transparent)]
    Table(#[from] TableError),
}

/// Knows how a chip encodes its instructions.
#[derive(Clone, Copy, Debug)]
pub struct Decoder {
    forms: &'static Forms,
}

impl Decoder {
    /// That of a chip, by its compute capability times ten.
    pub fn of(sm: u32) -> Result<Self, DecoderError> {
        Ok(Self { forms: Forms::of(sm).ok_or(DecoderError::Chip(sm))?? })
    }

    /// The instruction of a word; None where no instruction of the chip is encoded so.
    pub fn decode(&self, word: u128) -> Option<Instruction> {
        Some(Instruction { form: self.forms.find(word)?, word })
    }
}

/// The words of code. Bytes that do not fill the last are left out.
pub fn words(code: &[u8]) -> impl Iterator<Item = u128> {
    code.as_chunks().0.iter().map(|bytes| u128::from_le_bytes(*bytes))
}

/// An instruction.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Instruction {
    form: &'static Form,
    word: u128,
}

/// A part of the text of an instruction.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Part {
    Text(&'static str),
    Number(&'static Number),
}

impl Instruction {
    /// Its scheduling.
    pub fn control(&self) -> Control {
        Control::of(self.word)
    }

    /// Its text, as nvdisasm has it, for an instruction that lies at `address` of its function.
    pub fn text(&self, address: u64) -> String {
        let mut text = String::with_capacity(64);
        self.write(address, &mut text);
        text
    }

    /// Writes its text.
    pub fn write(&self, address: u64, out: &mut String) {
        self.write_guard(out);
        let start = out.len();
        for part in self.parts() {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Number(number) => number.write(self.word, address, out),
            }
        }
        if out[start..].starts_with(PRODUCT) {
            name_product(out, start + PRODUCT.len());
        }
    }

    /// Its text without the guard, with floats by their bits.
    pub(crate) fn exact_text(&self, address: u64) -> String {
        let mut text = String::with_capacity(64);
        for part in self.parts() {
            match part {
                Part::Text(part) => text.push_str(part),
                Part::Number(number) => number.write_exact(self.word, address, &mut text),
            }
        }
        text
    }

    /// What it is conditioned on: the predicate and whether it is negated. None where it always takes effect.
    pub(crate) fn guard(&self) -> Option<(syntax::Value, bool)> {
        let (number, is_negated) = ((self.word >> 12 & 7) as u32, self.word >> 15 & 1 == 1);
        let number = (number != 7).then_some(number);
        let predicate = match self.form.guard {
            Guard::None => return None,
            Guard::Predicate => syntax::Value::Predicate(number),
            Guard::UniformPredicate => syntax::Value::UniformPredicate(number),
        };
        (number.is_some() || is_negated).then_some((predicate, is_negated))
    }

    fn write_guard(&self, out: &mut String) {
        let Some((predicate, is_negated)) = self.guard() else { return };
        out.push_str(if is_negated { "@!" } else { "@" });
        let (prefix, number) = match predicate {
            syntax::Value::UniformPredicate(number) => ("UP", number),
            syntax::Value::Predicate(number) => ("P", number),
            _ => return,
        };
        // Writing to a string does not fail.
        let _ = match number {
            Some(number) => write!(out, "{prefix}{number} "),
            None => write!(out, "{prefix}T "),
        };
    }

    fn parts(&self) -> Parts {
        Parts { instruction: *self, piece: 0, slot: 0, replaced: None }
    }

    /// How far its target is from the next instruction, in bytes, where it has one.
    pub fn target(&self) -> Option<i64> {
        self.parts().find_map(|part| match part {
            Part::Number(number) if matches!(number.kind, NumberKind::Target { .. }) => Some(number.integer(self.word)),
            Part::Number(_) | Part::Text(_) => None,
        })
    }
}

/// Walks over the pieces of a form as the choices of a word leave them.
struct Parts {
    instruction: Instruction,
    piece: usize,
    slot: usize,
    /// What stands for the pieces from here to an end.
    replaced: Option<(usize, &'static str)>,
}

impl Iterator for Parts {
    type Item = Part;

    fn next(&mut self) -> Option<Part> {
        let Instruction { form, word } = self.instruction;
        loop {
            if let Some((end, text)) = self.replaced.take() {
                self.piece = end;
                if !text.is_empty() {
                    return Some(Part::Text(text));
                }
            }
            // What lies in a part that was replaced is gone.
            while form.slots.get(self.slot).is_some_and(|slot| slot.start < self.piece) {
                self.slot += 1;
            }
            let mut inserted = None;
            while let Some(slot) = form.slots.get(self.slot).filter(|slot| slot.start == self.piece) {
                self.slot += 1;
                let Some(Choice::Replace(text)) = slot.choice(word) else { continue };
                if slot.start == slot.end {
                    inserted = Some(text).filter(|text| !text.is_empty()).or(inserted);
                } else if self.replaced.is_none_or(|(end, _)| end == slot.end && text.is_empty()) {
                    self.replaced = Some((slot.end, text));
                }
            }
            if let Some(text) = inserted {
                return Some(Part::Text(text));
            }
            if self.replaced.is_none() {
                let part = form.pieces.get(self.piece);
                return self.take(part);
            }
        }
    }
}

impl Parts {
    fn take(&mut self, piece: Option<&'static Piece>) -> Option<Part> {
        let part = match piece? {
            Piece::Text(text) => Part::Text(text),
            Piece::Number(number) => Part::Number(number),
        };
        self.piece += 1;
        Some(part)
    }
}

/// The integer product, which nvdisasm names by what it does where a factor is trivial.
const PRODUCT: &str = "IMAD";

/// Puts in the name of a product, whose text from `at` on is what follows its mnemonic's first part.
fn name_product(out: &mut String, at: usize) {
    let Some((modifiers, operands)) = out[at..].split_once(' ') else { return };
    if modifiers.contains(".WIDE") || modifiers.contains(".HI") || modifiers.ends_with(".X") {
        return;
    }
    // One with a uniform register is named by no other.
    if operands.contains("UR") {
        return;
    }
    let mut operands = operands.split(", ").skip(1).map(|operand| operand.trim_end_matches(".reuse"));
    let (Some(first), Some(second), Some(third)) = (operands.next(), operands.next(), operands.next()) else { return };
    let factor = second.strip_prefix("0x").and_then(|digits| u32::from_str_radix(digits, 16).ok());
    let nothing = |operand: &str| operand.trim_start_matches('-') == "RZ";
    let name = match factor {
        _ if nothing(first) || nothing(second) => ".MOV",
        Some(0) => ".MOV",
        Some(1) if nothing(third) => ".MOV",
        Some(1) => ".IADD",
        // 16 bits are not named so.
        Some(factor) if factor.is_power_of_two() && nothing(third) && factor != 1 << 16 && factor != 1 << 31 => ".SHL",
        _ => return,
    };
    out.insert_str(at, name);
}
