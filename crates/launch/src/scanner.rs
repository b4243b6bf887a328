//! A cursor over the text of a value, with numbers and names.

use warplens_base::Span;

use crate::element::Number;

/// Why a value cannot be read, and where in its text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ValueError {
    /// The place.
    pub span: Span,
    /// A lower-case clause.
    pub message: String,
    /// What is accepted there.
    pub help: Option<String>,
}

/// Result of reading a value.
pub(crate) type Scanned<T> = Result<T, ValueError>;

#[derive(Clone, Debug)]
pub(crate) struct Scanner<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Scanner<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    pub(crate) fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn is_at_end(&mut self) -> bool {
        self.skip_blanks();
        self.rest().is_empty()
    }

    fn skip_blanks(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// Takes `token` when it comes next.
    pub(crate) fn take(&mut self, token: &str) -> bool {
        self.skip_blanks();
        let comes_next = self.rest().starts_with(token);
        if comes_next {
            self.at += token.len();
        }
        comes_next
    }

    pub(crate) fn expect(&mut self, token: &str) -> Scanned<()> {
        if self.take(token) { Ok(()) } else { Err(self.unexpected(&format!("`{token}`"))) }
    }

    /// Takes characters while `accepts` holds; may be empty.
    pub(crate) fn take_while(&mut self, accepts: impl Fn(char) -> bool) -> &'t str {
        self.skip_blanks();
        let rest = self.rest();
        let taken = &rest[..rest.find(|c| !accepts(c)).unwrap_or(rest.len())];
        self.at += taken.len();
        taken
    }

    /// Takes a word of letters, digits and underscores.
    pub(crate) fn word(&mut self) -> &'t str {
        self.take_while(|c| c.is_ascii_alphanumeric() || c == '_')
    }

    pub(crate) fn end(&mut self) -> Scanned<()> {
        if self.is_at_end() { Ok(()) } else { Err(self.unexpected("nothing more")) }
    }

    /// An error at the next character: something else was expected.
    pub(crate) fn unexpected(&mut self, expected: &str) -> ValueError {
        self.skip_blanks();
        let message = match self.rest().chars().next() {
            None => format!("expected {expected}, but the value ends"),
            Some(found) => format!("expected {expected}, found `{found}`"),
        };
        let length = self.rest().chars().next().map_or(0, char::len_utf8);
        ValueError { span: span(self.at, self.at + length), message, help: None }
    }

    /// An error about the text from `start` to here.
    pub(crate) fn error_since(&self, start: usize, message: impl Into<String>) -> ValueError {
        ValueError { span: span(start, self.at), message: message.into(), help: None }
    }

    /// A number: decimal, hexadecimal or binary integer, or float; an integer may be shifted left.
    pub(crate) fn number(&mut self) -> Scanned<Number> {
        let number = self.plain_number()?;
        if !self.take("<<") {
            return Ok(number);
        }
        let start = self.at;
        let (Number::Integer(value), Number::Integer(shift)) = (number, self.plain_number()?) else {
            return Err(self.error_since(start, "only an integer can be shifted, by an integer"));
        };
        let shifted = u32::try_from(shift).ok().filter(|&shift| shift < 100).and_then(|shift| {
            let shifted = value.checked_mul(1 << shift)?;
            (shifted >> shift == value).then_some(shifted)
        });
        shifted
            .map(Number::Integer)
            .ok_or_else(|| self.error_since(start, format!("a shift by {shift} is out of range")))
    }

    fn plain_number(&mut self) -> Scanned<Number> {
        self.skip_blanks();
        let start = self.at;
        let negative = self.take("-");
        if !negative {
            self.take("+");
        }
        let radix = ["0x", "0X", "0b", "0B"].iter().find(|prefix| self.rest().starts_with(**prefix));
        let number = match radix {
            Some(prefix) => {
                self.at += prefix.len();
                let digits = self.word().replace('_', "");
                i128::from_str_radix(&digits, if prefix.ends_with(['x', 'X']) { 16 } else { 2 })
                    .map(Number::Integer)
                    .map_err(|_| self.error_since(start, "not a number"))?
            }
            None => self.decimal(start)?,
        };
        Ok(match number {
            Number::Integer(value) if negative => Number::Integer(-value),
            Number::Float(value) if negative => Number::Float(-value),
            number => number,
        })
    }

    fn decimal(&mut self, start: usize) -> Scanned<Number> {
        let word = self.decimal_text();
        if word.is_empty() {
            return Err(self.unexpected("a number"));
        }
        let digits = word.replace('_', "");
        if let Ok(value) = digits.parse() {
            return Ok(Number::Integer(value));
        }
        // The suffix of a C literal; Rust reads `inf` and `nan` itself.
        let float = digits.strip_suffix(['f', 'F']).filter(|_| !digits.ends_with("inf")).unwrap_or(&digits);
        float.parse().map(Number::Float).map_err(|_| self.error_since(start, format!("`{word}` is not a number")))
    }

    /// The characters of a decimal number: a sign belongs to it after an exponent only.
    fn decimal_text(&mut self) -> &'t str {
        let rest = self.rest();
        let mut previous = ' ';
        let starts_with_digit = rest.starts_with(|c: char| c.is_ascii_digit() || c == '.');
        let length = rest
            .find(|c: char| {
                let sign_of_exponent = matches!(c, '+' | '-') && matches!(previous, 'e' | 'E') && starts_with_digit;
                previous = c;
                !(c.is_ascii_alphanumeric() || matches!(c, '.' | '_') || sign_of_exponent)
            })
            .unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }
}

fn span(start: usize, end: usize) -> Span {
    // A value comes from a command line or one string of a file: far below 4 GiB.
    Span::new(u32::try_from(start).unwrap_or(u32::MAX), u32::try_from(end).unwrap_or(u32::MAX))
}

/// Items in parentheses, with commas between them; at least one.
pub(crate) fn list<'t, T>(scanner: &mut Scanner<'t>, item: impl Fn(&mut Scanner<'t>) -> Scanned<T>) -> Scanned<Vec<T>> {
    scanner.expect("(")?;
    let mut items = vec![item(scanner)?];
    while scanner.take(",") {
        items.push(item(scanner)?);
    }
    if !scanner.take(")") {
        return Err(scanner.unexpected("`,` or `)`"));
    }
    Ok(items)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Result<Number, String> {
        let mut scanner = Scanner::new(text);
        let number = scanner.number().and_then(|number| scanner.end().map(|()| number));
        number.map_err(|error| format!("{}: {}", error.span.start, error.message))
    }

    #[test]
    fn numbers_in_every_form() {
        let integers = [
            ("1024", 1024),
            ("0x10", 16),
            ("-0x10", -16),
            ("0b101", 5),
            ("1<<20", 1 << 20),
            ("3 << 2", 12),
            ("-1<<4", -16),
            ("1_000", 1000),
            ("+7", 7),
            ("18446744073709551615", u64::MAX.into()),
        ];
        for (text, value) in integers {
            assert_eq!(number(text), Ok(Number::Integer(value)), "{text}");
        }
        let floats =
            [("2.5", 2.5), ("-1e-3", -1e-3), (".5", 0.5), ("1.5f", 1.5), ("inf", f64::INFINITY), ("1E+2", 100.0)];
        for (text, value) in floats {
            assert_eq!(number(text), Ok(Number::Float(value)), "{text}");
        }
        assert!(matches!(number("nan"), Ok(Number::Float(value)) if value.is_nan()));
    }

    #[test]
    fn errors_point_at_the_character() {
        let cases = [
            ("1<<", "3: expected a number, but the value ends"),
            ("1<<200", "3: a shift by 200 is out of range"),
            ("2.5<<1", "5: only an integer can be shifted, by an integer"),
            ("12a", "0: `12a` is not a number"),
            ("4 5", "2: expected nothing more, found `5`"),
            ("(", "0: expected a number, found `(`"),
            ("0xg", "0: not a number"),
        ];
        for (text, message) in cases {
            assert_eq!(number(text), Err(message.into()), "{text}");
        }
    }
}
