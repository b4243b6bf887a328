//! What operands an instruction takes, in order.
//!
//! A shape is written as letters, one per operand, with `?` behind those that may be missing:
//!
//! | letter | operand |
//! |---|---|
//! | `d` | destination: register, part of one, or `_` |
//! | `q` | destination, or a pair `p\|q` |
//! | `t` | destination, vector or either with a predicate: `{a, b}\|p` |
//! | `s` | source: register, part of one, symbol, constant |
//! | `v` | register, constant or vector (a destination too) |
//! | `p` | predicate: `p`, `!p` or a constant |
//! | `c` | constant |
//! | `m` | address in brackets |
//! | `l` | name: label, list of labels, function |
//! | `*` | any |

use crate::syntax::ast::{Operand, OperandKind};

/// The operands of a form: one of several alternatives. Without alternatives anything goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shape {
    alternatives: Vec<Vec<Slot>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Slot {
    letter: u8,
    optional: bool,
}

/// Why operands do not fit a shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Misfit {
    /// Too few or too many: the least and the most that are taken.
    Count(usize, usize),
    /// The operand of this index (from 0) should be what the text says.
    Kind(usize, &'static str),
}

impl Shape {
    pub(super) fn new(text: &'static str) -> Self {
        if text == "..." {
            return Self { alternatives: Vec::new() };
        }
        let slot = |word: &str| Slot { letter: word.as_bytes()[0], optional: word.ends_with('?') };
        let alternatives = text.split('|').map(|part| part.split_whitespace().map(slot).collect()).collect();
        Self { alternatives }
    }

    /// Checks operands against the shape. Where none of several alternatives fits, the last that takes as many operands
    /// says why.
    pub fn check(&self, operands: &[Operand<'_>]) -> Result<(), Misfit> {
        let mut misfit = None;
        for slots in &self.alternatives {
            match check(slots, operands) {
                Ok(()) => return Ok(()),
                Err(found) => {
                    misfit = Some(match (misfit, found) {
                        (Some(Misfit::Count(low, high)), Misfit::Count(least, most)) => {
                            Misfit::Count(low.min(least), high.max(most))
                        }
                        (Some(kind @ Misfit::Kind(..)), Misfit::Count(..)) => kind,
                        _ => found,
                    });
                }
            }
        }
        misfit.map_or(Ok(()), Err)
    }

    /// The shape in the letters of the table.
    pub fn text(&self) -> String {
        let part = |slots: &Vec<Slot>| {
            let word = |slot: &Slot| format!("{}{}", char::from(slot.letter), if slot.optional { "?" } else { "" });
            slots.iter().map(word).collect::<Vec<_>>().join(" ")
        };
        self.alternatives.iter().map(part).collect::<Vec<_>>().join(" | ")
    }
}

fn check(slots: &[Slot], operands: &[Operand<'_>]) -> Result<(), Misfit> {
    let least = slots.iter().filter(|slot| !slot.optional).count();
    if operands.len() < least || operands.len() > slots.len() {
        return Err(Misfit::Count(least, slots.len()));
    }
    for (index, (slot, operand)) in slots.iter().zip(operands).enumerate() {
        if !fits(slot.letter, &operand.kind) {
            return Err(Misfit::Kind(index, wanted(slot.letter)));
        }
    }
    Ok(())
}

fn fits(letter: u8, kind: &OperandKind<'_>) -> bool {
    use OperandKind::*;
    let register = matches!(kind, Name(_) | Selected(..));
    let source = register || matches!(kind, Offset(..) | Element(..) | Immediate(_) | Negated(..));
    match letter {
        b'd' => register || matches!(kind, Sink),
        b'q' => register || matches!(kind, Sink | Pair(_)),
        b't' => register || matches!(kind, Sink | Pair(_) | Vector(_)),
        b's' => source || matches!(kind, Not(_)),
        b'v' => source || matches!(kind, Sink | Vector(_)),
        b'p' => register || matches!(kind, Not(_) | Immediate(_)),
        b'c' => matches!(kind, Immediate(_)),
        b'm' => matches!(kind, Address(_) | AddressList(_) | Element(..)),
        b'l' => matches!(kind, Name(_)),
        _ => true,
    }
}

fn wanted(letter: u8) -> &'static str {
    match letter {
        b'd' => "a register",
        b'q' => "a register or a pair `p|q`",
        b't' => "a register or a vector",
        b's' => "a register or a constant",
        b'v' => "a register, a constant or a vector",
        b'p' => "a predicate",
        b'c' => "a constant",
        b'm' => "an address in brackets",
        b'l' => "a name",
        _ => "an operand",
    }
}
