//! Numbers and constant expressions, folded while they are read.
//!
//! Integers are 64 bits wide, signed unless a `U` or their size says otherwise; an operation with an unsigned side is
//! unsigned. Arithmetic wraps.

use warplens_base::Diagnostic;

use super::{Failed, Parsed, Parser, shortened};
use crate::syntax::ast::Immediate;
use crate::syntax::lexer::{Token, TokenKind};

impl<'src> Parser<'src> {
    /// A constant expression.
    pub(super) fn constant(&mut self) -> Parsed<Immediate> {
        let start = self.token.start;
        let first = self.unary()?;
        self.split_remainder();
        if binary_power(self.token.kind).is_none() && !self.at(TokenKind::Question) {
            return Ok(first);
        }
        let value = self.binary(first, 0, start)?;
        self.conditional(value, start)
    }

    /// A constant that is an integer of 64 bits.
    pub(super) fn integer(&mut self, what: &str) -> Parsed<i64> {
        let start = self.token.start;
        let value = self.constant()?;
        match value.bits() {
            Some(bits) => Ok(bits as i64),
            None => {
                let span = self.span_from(start);
                self.report(Diagnostic::error("P020", span, format!("{what} must be an integer")));
                Err(Failed)
            }
        }
    }

    /// A constant that is a count, such as an array size.
    pub(super) fn count(&mut self, what: &str) -> Parsed<u32> {
        let start = self.token.start;
        if !matches!(self.token.kind, TokenKind::Number | TokenKind::LeftParen | TokenKind::Ident) {
            return Err(self.expected(what));
        }
        let value = self.integer(what)?;
        u32::try_from(value).map_err(|_| {
            let span = self.span_from(start);
            self.report(Diagnostic::error("P021", span, format!("{value} is out of range for {what}")));
            Failed
        })
    }

    /// A count that is one number token: in `%r<100>` the closing bracket is no operator.
    pub(super) fn plain_count(&mut self, what: &str) -> Parsed<u32> {
        let token = self.expect(TokenKind::Number, what)?;
        let value = self.number(token)?;
        value.bits().and_then(|bits| u32::try_from(bits).ok()).ok_or_else(|| {
            self.report(Diagnostic::error(
                "P021",
                token.span(),
                format!("{} is out of range for {what}", self.text(token)),
            ));
            Failed
        })
    }

    fn conditional(&mut self, condition: Immediate, start: u32) -> Parsed<Immediate> {
        if !self.eat(TokenKind::Question) {
            return Ok(condition);
        }
        let yes = self.nested(Self::constant)?;
        self.expect(TokenKind::Colon, "`:`")?;
        let no = self.nested(Self::constant)?;
        match condition.bits() {
            Some(bits) => Ok(if bits != 0 { yes } else { no }),
            None => Err(self.not_an_integer(start)),
        }
    }

    /// A constant expression without a sum, comparison or logic at its top.
    pub(super) fn product(&mut self) -> Parsed<Immediate> {
        let start = self.token.start;
        let first = self.unary()?;
        self.binary(first, PRODUCT, start)
    }

    /// Behind a number `%3` is no register but a remainder: takes the sign as a token of its own.
    fn split_remainder(&mut self) {
        let digits = self.source.as_bytes().get(self.token.start as usize + 1).is_some_and(u8::is_ascii_digit);
        if self.at(TokenKind::Ident) && digits && self.text(self.token).starts_with('%') {
            self.token = Token { kind: TokenKind::Percent, start: self.token.start, end: self.token.start + 1 };
            self.lexer.rewind(self.token.end);
        }
    }

    /// Continues `left` with operators that bind at least as tightly as `power`.
    fn binary(&mut self, mut left: Immediate, power: u8, start: u32) -> Parsed<Immediate> {
        while let Some(own) = binary_power(self.token.kind).filter(|&own| own >= power) {
            let operator = self.advance();
            let mut right = self.unary()?;
            self.split_remainder();
            if binary_power(self.token.kind).is_some_and(|next| next > own) {
                right = self.nested(|parser| parser.binary(right, own + 1, start))?;
            }
            let Some(value) = fold_binary(operator.kind, left, right) else {
                let span = self.span_from(start);
                self.report(
                    Diagnostic::error("P022", span, "the constant expression has no value")
                        .with_help("a division by zero, or an integer operator between floating-point numbers"),
                );
                return Err(Failed);
            };
            left = value;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed<Immediate> {
        let token = self.token;
        match token.kind {
            TokenKind::Number => {
                self.advance();
                self.number(token)
            }
            TokenKind::Plus => {
                self.advance();
                self.nested(Self::unary)
            }
            TokenKind::Minus | TokenKind::Bang | TokenKind::Tilde => {
                self.advance();
                // A sign before a number is no level of its own: an offset may be printed with one that it had not.
                let value = if self.at(TokenKind::Number) { self.unary()? } else { self.nested(Self::unary)? };
                fold_unary(token.kind, value).ok_or_else(|| self.not_an_integer(token.start))
            }
            TokenKind::LeftParen => self.parenthesised(),
            TokenKind::Ident if self.text(token) == "WARP_SZ" => {
                self.advance();
                Ok(Immediate::WarpSize)
            }
            _ => Err(self.expected("a constant")),
        }
    }

    /// `( expression )`, or a cast `(.s64)` or `(.u64)` and what it applies to.
    fn parenthesised(&mut self) -> Parsed<Immediate> {
        let start = self.advance().start;
        let cast: Option<fn(u64) -> Immediate> = match (self.token.kind, self.text(self.token)) {
            (TokenKind::Dotted, ".s64") => Some(|bits| Immediate::Int(bits as i64)),
            (TokenKind::Dotted, ".u64") => Some(Immediate::Uint),
            _ => None,
        };
        let Some(cast) = cast else {
            let value = self.nested(Self::constant)?;
            self.expect(TokenKind::RightParen, "`)`")?;
            return Ok(value);
        };
        self.advance();
        self.expect(TokenKind::RightParen, "`)`")?;
        let value = self.nested(Self::unary)?;
        match value {
            Immediate::F64(bits) => Ok(cast(f64::from_bits(bits) as i64 as u64)),
            _ => value.bits().map(cast).ok_or_else(|| self.not_an_integer(start)),
        }
    }

    fn not_an_integer(&mut self, start: u32) -> Failed {
        let span = self.span_from(start);
        self.report(Diagnostic::error("P023", span, "this operator takes integers"));
        Failed
    }

    /// The value of a number token.
    fn number(&mut self, token: Token) -> Parsed<Immediate> {
        let text = self.text(token);
        number(text).ok_or_else(|| {
            self.report(
                Diagnostic::error("P024", token.span(), format!("`{}` is not a number of PTX", shortened(text))).with_help(
                    "write 255, 0xFF, 0377, 0b11111111, 1.5, 0f3FC00000 (8 digits) or 0d3FF8000000000000 (16 digits); \
                     integers have at most 64 bits",
                ),
            );
            Failed
        })
    }
}

/// The value of a number in any notation.
fn number(text: &str) -> Option<Immediate> {
    let bytes = text.as_bytes();
    if bytes[0] == b'0' && bytes.len() > 1 {
        let (radix, digits) = match bytes[1] {
            b'x' | b'X' => (16, &text[2..]),
            b'b' | b'B' => (2, &text[2..]),
            b'f' | b'F' if bytes.len() == 10 => return hexadecimal(&text[2..]).map(|bits| Immediate::F32(bits as u32)),
            b'd' | b'D' if bytes.len() == 18 => return hexadecimal(&text[2..]).map(Immediate::F64),
            b'0'..=b'9' if bytes.iter().all(|byte| byte.is_ascii_digit() || *byte == b'U') => (8, &text[1..]),
            _ => (10, text),
        };
        if radix != 10 {
            return integer(digits, radix);
        }
    }
    if bytes.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E')) {
        let value: f64 = text.parse().ok()?;
        return Some(Immediate::F64(value.to_bits()));
    }
    integer(text, 10)
}

fn hexadecimal(digits: &str) -> Option<u64> {
    if digits.starts_with('+') { None } else { u64::from_str_radix(digits, 16).ok() }
}

fn integer(digits: &str, radix: u32) -> Option<Immediate> {
    let (digits, unsigned) = match digits.strip_suffix(['U', 'u']) {
        Some(rest) => (rest, true),
        None => (digits, false),
    };
    let value = u64::from_str_radix(digits, radix).ok()?;
    match i64::try_from(value) {
        Ok(value) if !unsigned => Some(Immediate::Int(value)),
        _ => Some(Immediate::Uint(value)),
    }
}

/// The tightest binary operators.
const PRODUCT: u8 = 10;

/// How tightly an operator binds.
fn binary_power(kind: TokenKind) -> Option<u8> {
    use TokenKind::*;
    Some(match kind {
        PipePipe => 1,
        AndAnd => 2,
        Pipe => 3,
        Caret => 4,
        And => 5,
        Equal | NotEqual => 6,
        Less | Greater | LessEqual | GreaterEqual => 7,
        ShiftLeft | ShiftRight => 8,
        Plus | Minus => 9,
        Star | Slash | Percent => PRODUCT,
        _ => return None,
    })
}

fn fold_unary(operator: TokenKind, value: Immediate) -> Option<Immediate> {
    const LOWEST: u64 = 1 << 63;
    Some(match (operator, value) {
        (TokenKind::Minus, Immediate::F32(bits)) => Immediate::F32(bits ^ 1 << 31),
        (TokenKind::Minus, Immediate::F64(bits)) => Immediate::F64(bits ^ LOWEST),
        (TokenKind::Minus, Immediate::Uint(LOWEST)) => Immediate::Int(i64::MIN),
        (TokenKind::Minus, Immediate::Uint(value)) => Immediate::Uint(value.wrapping_neg()),
        (TokenKind::Tilde, Immediate::Uint(value)) => Immediate::Uint(!value),
        (TokenKind::Minus, _) => Immediate::Int((value.bits()? as i64).wrapping_neg()),
        (TokenKind::Tilde, _) => Immediate::Int(!(value.bits()? as i64)),
        _ => Immediate::Int(i64::from(value.bits()? == 0)),
    })
}

fn fold_binary(operator: TokenKind, left: Immediate, right: Immediate) -> Option<Immediate> {
    if let (Some(a), Some(b)) = (as_double(left), as_double(right))
        && (left.bits().is_none() || right.bits().is_none())
    {
        return fold_double(operator, a, b);
    }
    let (a, b) = (left.bits()?, right.bits()?);
    let shift = matches!(operator, TokenKind::ShiftLeft | TokenKind::ShiftRight);
    let unsigned = matches!(left, Immediate::Uint(_)) || (!shift && matches!(right, Immediate::Uint(_)));
    if unsigned { fold_unsigned(operator, a, b) } else { fold_signed(operator, a as i64, b as i64) }
}

fn as_double(value: Immediate) -> Option<f64> {
    match value {
        Immediate::F64(bits) => Some(f64::from_bits(bits)),
        Immediate::Int(value) => Some(value as f64),
        Immediate::Uint(value) => Some(value as f64),
        Immediate::WarpSize => Some(32.0),
        Immediate::F32(_) => None,
    }
}

fn truth(value: bool) -> Option<Immediate> {
    Some(Immediate::Int(i64::from(value)))
}

fn fold_double(operator: TokenKind, a: f64, b: f64) -> Option<Immediate> {
    use TokenKind::*;
    let value = match operator {
        Plus => a + b,
        Minus => a - b,
        Star => a * b,
        Slash => a / b,
        Less => return truth(a < b),
        Greater => return truth(a > b),
        LessEqual => return truth(a <= b),
        GreaterEqual => return truth(a >= b),
        Equal => return truth(a == b),
        NotEqual => return truth(a != b),
        _ => return None,
    };
    Some(Immediate::F64(value.to_bits()))
}

fn fold_signed(operator: TokenKind, a: i64, b: i64) -> Option<Immediate> {
    use TokenKind::*;
    Some(Immediate::Int(match operator {
        Star => a.wrapping_mul(b),
        Slash => a.checked_div(b)?,
        Percent => a.checked_rem(b)?,
        Plus => a.wrapping_add(b),
        Minus => a.wrapping_sub(b),
        ShiftLeft => u32::try_from(b).ok().and_then(|by| a.checked_shl(by)).unwrap_or(0),
        ShiftRight => a >> b.clamp(0, 63),
        Less => return truth(a < b),
        Greater => return truth(a > b),
        LessEqual => return truth(a <= b),
        GreaterEqual => return truth(a >= b),
        Equal => return truth(a == b),
        NotEqual => return truth(a != b),
        And => a & b,
        Caret => a ^ b,
        Pipe => a | b,
        AndAnd => return truth(a != 0 && b != 0),
        PipePipe => return truth(a != 0 || b != 0),
        _ => return None,
    }))
}

fn fold_unsigned(operator: TokenKind, a: u64, b: u64) -> Option<Immediate> {
    use TokenKind::*;
    Some(Immediate::Uint(match operator {
        Star => a.wrapping_mul(b),
        Slash => a.checked_div(b)?,
        Percent => a.checked_rem(b)?,
        Plus => a.wrapping_add(b),
        Minus => a.wrapping_sub(b),
        ShiftLeft => u32::try_from(b).ok().and_then(|by| a.checked_shl(by)).unwrap_or(0),
        ShiftRight => u32::try_from(b).ok().and_then(|by| a.checked_shr(by)).unwrap_or(0),
        Less => return truth(a < b),
        Greater => return truth(a > b),
        LessEqual => return truth(a <= b),
        GreaterEqual => return truth(a >= b),
        And => a & b,
        Caret => a ^ b,
        Pipe => a | b,
        // Equality and logic do not depend on the sign.
        _ => return fold_signed(operator, a as i64, b as i64),
    }))
}

#[cfg(test)]
mod tests {
    use super::number;
    use crate::syntax::ast::Immediate::{F32, F64, Int, Uint};

    #[test]
    fn numbers_in_every_notation() {
        for (text, value) in [
            ("0", Some(Int(0))),
            ("255", Some(Int(255))),
            ("0xFF", Some(Int(255))),
            ("0377", Some(Int(255))),
            ("0b101U", Some(Uint(5))),
            ("7U", Some(Uint(7))),
            ("0U", Some(Uint(0))),
            ("0xFFFFFFFFFFFFFFFF", Some(Uint(u64::MAX))),
            ("0f3F800000", Some(F32(0x3f80_0000))),
            ("0d3FF0000000000000", Some(F64(0x3ff0_0000_0000_0000))),
            ("1.5", Some(F64(1.5f64.to_bits()))),
            ("2e-3", Some(F64(2e-3f64.to_bits()))),
            ("0.25", Some(F64(0.25f64.to_bits()))),
            ("089", None),
            ("0x", None),
            ("0xG", None),
            ("0f3F80", None),
            ("12ab", None),
            ("0x1FFFFFFFFFFFFFFFF", None),
            ("0f+F800000", None),
        ] {
            assert_eq!(number(text), value, "{text}");
        }
    }
}
