//! How instructions are encoded: forms read from `tables/forms.txt`, which `tables/solve.py` finds by asking nvdisasm.
//!
//! A block of the table is a form:
//!
//! ```text
//! 812 75,80,86,89,90 P 91=0
//!   SEL ¦<R 16:8>¦, ¦<R 24:8>¦, ¦<I 32:32s>¦, ¦!¦<P 87:3>
//!   90 7..8: 0=¦1=*
//! ```
//!
//! The first line has bits 0 to 11 of the words, the chips, the kind of the guard (`P`, `UP`, or `-` for none) and the bits
//! that are fixed. The second has the pieces of the text: `<KIND BITS>` is a number, all else stands as it is. Each further
//! line is a choice: bits, the pieces that they rule, and for each value the text that stands there instead; `*` leaves the
//! pieces. A choice without `else *` admits only the values that it lists: no instruction has others. Where choices meet,
//! the one of more pieces wins, and nothing beats a text. A word is of the form with the most fixed bits that admits it. `BITS` is `first:count`, least significant first, runs joined by
//! `+`. A line whose text ends with a blank has a `#` behind it.

use std::sync::{LazyLock, OnceLock};

use crate::number::{Number, NumberKind};

static FORMS: &str = include_str!("../tables/forms.txt");

static TABLE: LazyLock<Result<Vec<Form>, TableError>> = LazyLock::new(|| read(FORMS));

/// The table of forms is damaged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line} of the table of forms: {what}")]
pub struct TableError {
    /// Counted from 1.
    pub line: usize,
    /// What is wrong with it.
    pub what: &'static str,
}

/// Bits of a word that make a value, least significant first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Bits {
    runs: Vec<(u8, u8)>,
}

impl Bits {
    fn read(text: &str) -> Option<Self> {
        let runs = text
            .split('+')
            .map(|run| {
                let (first, count) = run.split_once(':').unwrap_or((run, "1"));
                let (first, count): (u8, u8) = (first.parse().ok()?, count.parse().ok()?);
                (count > 0 && u32::from(first) + u32::from(count) <= u128::BITS).then_some((first, count))
            })
            .collect::<Option<Vec<_>>>()?;
        let bits = Self { runs };
        (bits.width() <= 64).then_some(bits)
    }

    /// How many there are.
    pub(crate) fn width(&self) -> u32 {
        self.runs.iter().map(|&(_, count)| u32::from(count)).sum()
    }

    /// Their value.
    pub(crate) fn of(&self, word: u128) -> u64 {
        let (mut value, mut at) = (0, 0);
        for &(first, count) in &self.runs {
            let mask = if count == 64 { u64::MAX } else { (1 << count) - 1 };
            value |= ((word >> first) as u64 & mask) << at;
            at += u32::from(count);
        }
        value
    }
}

/// What an instruction is conditioned on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Guard {
    None,
    Predicate,
    UniformPredicate,
}

/// A part of the text.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Piece {
    Text(&'static str),
    Number(Number),
}

/// What the bits of a choice make of its pieces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Choice {
    /// They stand.
    Keep,
    /// This stands instead.
    Replace(&'static str),
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Slot {
    bits: Bits,
    pub(crate) start: usize,
    pub(crate) end: usize,
    is_open: bool,
    values: Values,
}

#[derive(Clone, PartialEq, Debug)]
enum Values {
    /// By value.
    Dense(Vec<Option<Choice>>),
    /// Sorted by value.
    Sparse(Vec<(u64, Choice)>),
}

/// Bits up to which the values of a choice are looked up by index.
const DENSE: u32 = 10;

impl Slot {
    /// What stands; None where no instruction has these bits.
    pub(crate) fn choice(&self, word: u128) -> Option<Choice> {
        let value = self.bits.of(word);
        let found = match &self.values {
            Values::Dense(values) => values.get(value as usize).copied().flatten(),
            Values::Sparse(values) => {
                values.binary_search_by_key(&value, |&(value, _)| value).ok().map(|at| values[at].1)
            }
        };
        if found.is_none() && self.is_open { Some(Choice::Keep) } else { found }
    }
}

/// One way of encoding an operation.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Form {
    pub(crate) key: u16,
    chips: Vec<u32>,
    mask: u128,
    value: u128,
    pub(crate) guard: Guard,
    pub(crate) pieces: Vec<Piece>,
    /// By start, the wider first.
    pub(crate) slots: Vec<Slot>,
}

impl Form {
    /// A word is of this form.
    pub(crate) fn matches(&self, word: u128) -> bool {
        word & self.mask == self.value && self.slots.iter().all(|slot| slot.is_open || slot.choice(word).is_some())
    }
}

/// Bits of a word that choose among the forms.
pub(crate) const KEY_BITS: u32 = 12;

/// The forms of a chip, by key.
#[derive(Clone, Debug)]
pub(crate) struct Forms {
    by_key: Vec<Vec<&'static Form>>,
}

/// The chips whose encodings are known, by compute capability times ten.
pub const CHIPS: [u32; 7] = [75, 80, 86, 89, 90, 100, 120];

/// The forms of each chip that was asked for: programs hold many pieces of code for one.
static BY_CHIP: [OnceLock<Result<Forms, TableError>>; CHIPS.len()] = [const { OnceLock::new() }; CHIPS.len()];

impl Forms {
    /// Those of a chip; None where its encodings are not known.
    pub(crate) fn of(sm: u32) -> Option<Result<&'static Self, TableError>> {
        let at = CHIPS.iter().position(|&chip| chip == sm)?;
        Some(BY_CHIP[at].get_or_init(|| Self::collect(sm)).as_ref().map_err(|error| *error))
    }

    fn collect(sm: u32) -> Result<Self, TableError> {
        let table = TABLE.as_ref().map_err(|error| *error)?;
        let mut by_key = vec![Vec::new(); 1 << KEY_BITS];
        for form in table {
            if form.chips.contains(&sm)
                && let Some(forms) = by_key.get_mut(usize::from(form.key))
            {
                forms.push(form);
            }
        }
        for forms in &mut by_key {
            forms.sort_by_key(|form| std::cmp::Reverse(form.mask.count_ones()));
        }
        Ok(Self { by_key })
    }

    pub(crate) fn find(&self, word: u128) -> Option<&'static Form> {
        let key = (word & ((1 << KEY_BITS) - 1)) as usize;
        self.by_key.get(key)?.iter().copied().find(|form| form.matches(word))
    }
}

const SEPARATOR: char = '¦';

fn read(text: &'static str) -> Result<Vec<Form>, TableError> {
    let mut forms: Vec<Form> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let fail = |what| TableError { line: index + 1, what };
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(body) = line.strip_prefix("  ") {
            let body = body.strip_suffix('#').unwrap_or(body);
            let form = forms.last_mut().ok_or_else(|| fail("stands before the first form"))?;
            if form.pieces.is_empty() {
                form.pieces = body.split(SEPARATOR).map(piece).collect::<Option<_>>().ok_or_else(|| fail("a piece"))?;
            } else {
                let slot = slot(body, form.pieces.len()).ok_or_else(|| fail("a choice"))?;
                form.slots.push(slot);
            }
        } else {
            forms.push(head(line).ok_or_else(|| fail("the head of a form"))?);
        }
    }
    for form in &mut forms {
        form.slots.sort_by_key(|slot| (slot.start, std::cmp::Reverse(slot.end)));
    }
    Ok(forms)
}

fn head(line: &str) -> Option<Form> {
    let mut words = line.split(' ');
    let key = u16::from_str_radix(words.next()?, 16).ok().filter(|key| *key < 1 << KEY_BITS)?;
    let chips = words.next()?.split(',').map(|chip| chip.parse().ok()).collect::<Option<_>>()?;
    let guard = match words.next()? {
        "P" => Guard::Predicate,
        "UP" => Guard::UniformPredicate,
        "-" => Guard::None,
        _ => return None,
    };
    let (mut mask, mut value) = (0, 0);
    for word in words {
        let (bit, is) = word.split_once('=')?;
        let bit = bit.parse::<u32>().ok().filter(|bit| *bit < u128::BITS)?;
        mask |= 1 << bit;
        value |= is.parse::<u128>().ok().filter(|is| *is < 2)? << bit;
    }
    Some(Form { key, chips, mask, value, guard, pieces: Vec::new(), slots: Vec::new() })
}

fn piece(text: &'static str) -> Option<Piece> {
    let Some(number) = text.strip_prefix('<').and_then(|text| text.strip_suffix('>')) else {
        return Some(Piece::Text(text));
    };
    let (kind, bits) = number.split_once(' ')?;
    let bits = Bits::read(bits)?;
    Some(Piece::Number(Number { kind: NumberKind::read(kind, bits.width())?, bits }))
}

fn slot(text: &'static str, pieces: usize) -> Option<Slot> {
    let (head, values) = text.split_once(": ")?;
    let mut words = head.split(' ');
    let bits = Bits::read(words.next()?)?;
    let (start, end) = words.next()?.split_once("..")?;
    let (start, end): (usize, usize) = (start.parse().ok()?, end.parse().ok()?);
    let is_open = match words.next() {
        None => false,
        Some("else") => true,
        Some(_) => return None,
    };
    let mut listed = values
        .split(SEPARATOR)
        .map(|entry| {
            let (value, text) = entry.split_once('=')?;
            let choice = if text == "*" { Choice::Keep } else { Choice::Replace(text) };
            Some((value.parse::<u64>().ok()?, choice))
        })
        .collect::<Option<Vec<_>>>()?;
    listed.sort_by_key(|&(value, _)| value);
    let values = if bits.width() <= DENSE {
        let mut dense = vec![None; 1 << bits.width()];
        for (value, choice) in listed {
            *dense.get_mut(value as usize)? = Some(choice);
        }
        Values::Dense(dense)
    } else {
        Values::Sparse(listed)
    };
    (start <= end && end <= pieces).then_some(Slot { bits, start, end, is_open, values })
}

#[cfg(test)]
mod tests {
    use super::{FORMS, read};

    #[test]
    fn the_table_is_whole() {
        let forms = read(FORMS).unwrap();
        assert!(forms.iter().all(|form| !form.pieces.is_empty()));
        assert!(forms.len() > 500);
    }

    #[test]
    fn damage_is_named_by_its_line() {
        for (text, line) in [("  A", 1), ("812 75 P\n  <R 16:x>", 2), ("812 75 Q", 1), ("812 75 P 200=1", 1)] {
            assert_eq!(read(text).unwrap_err().line, line, "{text}");
        }
    }
}
