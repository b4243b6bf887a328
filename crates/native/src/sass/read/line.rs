//! One instruction's line.

use warplens_base::{Diagnostic, Span};
use warplens_trace::{ActiveMask, WARP_SIZE};

use super::Parsed;

/// Words of a line, with their places.
pub(super) struct Words<'t> {
    content: &'t str,
    start: u32,
    at: usize,
}

impl<'t> Words<'t> {
    pub(super) fn new(content: &'t str, start: u32) -> Self {
        Self { content, start, at: 0 }
    }

    /// The whole line.
    pub(super) fn all(&self) -> Span {
        let blank = self.content.len() - self.content.trim_start().len();
        Span::new(self.start + blank as u32, self.start + self.content.len() as u32)
    }

    fn next(&mut self) -> Option<(&'t str, Span)> {
        let rest = &self.content[self.at..];
        let from = self.at + (rest.len() - rest.trim_start().len());
        let word = self.content[from..].split_whitespace().next()?;
        self.at = from + word.len();
        Some((word, Span::new(self.start + from as u32, self.start + self.at as u32)))
    }

    fn expect(&mut self, what: &str) -> Parsed<(&'t str, Span)> {
        let end = self.start + self.content.len() as u32;
        self.next()
            .ok_or_else(|| Diagnostic::error("N120", Span::new(end, end), format!("the line ends before {what}")))
    }

    fn number<T>(&mut self, what: &str, read: impl Fn(&str) -> Option<T>) -> Parsed<T> {
        let (word, span) = self.expect(what)?;
        read(word).ok_or_else(|| Diagnostic::error("N121", span, format!("`{word}` is not {what}")))
    }
}

/// An instruction as its line has it.
#[derive(Clone, Debug)]
pub(super) struct Inst<'t> {
    pub(super) source_line: Option<u32>,
    pub(super) pc: u64,
    pub(super) mask: ActiveMask,
    pub(super) writes: Vec<u16>,
    pub(super) opcode: &'t str,
    pub(super) opcode_span: Span,
    pub(super) reads: Vec<u16>,
    /// Bytes of a memory access, or 0.
    pub(super) width: u32,
    pub(super) addresses: Option<[u64; WARP_SIZE]>,
    pub(super) immediate: Option<i64>,
    /// From the registers written to those read.
    pub(super) text: &'t str,
}

impl<'t> Inst<'t> {
    pub(super) fn read(words: &mut Words<'t>, line_numbers: bool) -> Parsed<Self> {
        let decimal = |word: &str| word.parse::<u32>().ok();
        let source_line = if line_numbers { Some(words.number("a source line", decimal)?) } else { None };
        let pc = words.number("a program counter", hexadecimal)?;
        let mask = words.number("a mask", |word| hexadecimal(word).and_then(|mask| u32::try_from(mask).ok()))?;
        let mask = ActiveMask(mask);
        let from = words.at;
        let writes = registers(words, "the number of registers written")?;
        let (opcode, opcode_span) = words.expect("an opcode")?;
        let reads = registers(words, "the number of registers read")?;
        let text = words.content[from..words.at].trim();
        let width = words.number("the width of an access", decimal)?;
        let addresses = if width > 0 { Some(addresses(words, mask)?) } else { None };
        let immediate = match words.next() {
            Some((word, span)) => Some(word.parse().map_err(|_| {
                Diagnostic::error("N121", span, format!("`{word}` is no immediate at the end of the line"))
            })?),
            None => None,
        };
        if let Some((word, span)) = words.next() {
            return Err(Diagnostic::error("N122", span, format!("`{word}` stands behind the end of the instruction")));
        }
        Ok(Self { source_line, pc, mask, writes, opcode, opcode_span, reads, width, addresses, immediate, text })
    }
}

/// A count, and so many registers.
fn registers(words: &mut Words<'_>, what: &str) -> Parsed<Vec<u16>> {
    let count = words.number(what, |word| word.parse::<usize>().ok().filter(|&count| count <= 8))?;
    let register = |word: &str| word.strip_prefix('R')?.parse::<u16>().ok().filter(|&number| number < 256);
    (0..count).map(|_| words.number("a register", register)).collect()
}

/// Addresses of the lanes in the mask, in one of the three ways.
fn addresses(words: &mut Words<'_>, mask: ActiveMask) -> Parsed<[u64; WARP_SIZE]> {
    let mut addresses = [0; WARP_SIZE];
    let way = words.number("the way in which addresses are given (0, 1 or 2)", |word| {
        word.parse::<u32>().ok().filter(|&way| way <= 2)
    })?;
    let difference = |word: &str| word.parse::<i64>().ok();
    match way {
        0 => {
            for lane in mask.lanes() {
                addresses[lane] = words.number("an address", hexadecimal)?;
            }
        }
        1 => {
            let base = words.number("an address", hexadecimal)?;
            let stride = words.number("a stride", difference)?;
            for (index, lane) in (0..).zip(mask.lanes()) {
                addresses[lane] = base.wrapping_add_signed(stride.wrapping_mul(index));
            }
        }
        _ => {
            let mut address = words.number("an address", hexadecimal)?;
            for (index, lane) in mask.lanes().enumerate() {
                if index > 0 {
                    address = address.wrapping_add_signed(words.number("a difference", difference)?);
                }
                addresses[lane] = address;
            }
        }
    }
    Ok(addresses)
}

/// A hexadecimal number with or without `0x`.
pub(super) fn hexadecimal(word: &str) -> Option<u64> {
    let digits = word.strip_prefix("0x").unwrap_or(word);
    // `from_str_radix` would take a sign.
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    u64::from_str_radix(digits, 16).ok()
}
