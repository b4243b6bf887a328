//! Conversions of `printf` format strings, as the C standard defines them.

/// Largest width or precision: what a kernel prints stays printable.
const MOST_CHARACTERS: usize = 4096;

/// One conversion of a format string.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Conversion {
    kind: u8,
    /// Bits of an integer argument that count.
    bits: u32,
    left: bool,
    zero: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    width: usize,
    precision: Option<usize>,
}

impl Conversion {
    /// Parses the conversion at the start of `text` (a `%`); returns also how many bytes it takes. `star` gives the next
    /// argument, for a width or precision that is one.
    pub(crate) fn parse(text: &[u8], star: &mut dyn FnMut() -> i32) -> (Option<Self>, usize) {
        let mut scanner = Scanner { text, at: 1 };
        let mut conversion = Self {
            kind: 0,
            bits: 32,
            left: false,
            zero: false,
            plus: false,
            space: false,
            alternate: false,
            width: 0,
            precision: None,
        };
        loop {
            match scanner.peek() {
                b'-' => conversion.left = true,
                b'0' => conversion.zero = true,
                b'+' => conversion.plus = true,
                b' ' => conversion.space = true,
                b'#' => conversion.alternate = true,
                _ => break,
            }
            scanner.at += 1;
        }
        let width = scanner.number(star);
        conversion.left |= width < 0;
        conversion.width = (width.unsigned_abs() as usize).min(MOST_CHARACTERS);
        if scanner.peek() == b'.' {
            scanner.at += 1;
            // A negative precision counts as none.
            let precision = usize::try_from(scanner.number(star)).ok();
            conversion.precision = precision.map(|precision| precision.min(MOST_CHARACTERS));
        }
        conversion.bits = scanner.length();
        conversion.kind = scanner.peek();
        let is_known = b"diuxXocpsfFeEgGaA".contains(&conversion.kind);
        let used = (scanner.at + usize::from(is_known || text.get(1) == Some(&b'%'))).min(text.len());
        (is_known.then_some(conversion), used)
    }

    /// Bytes that the argument takes.
    pub(crate) fn size(&self) -> u64 {
        match self.kind {
            b'd' | b'i' | b'u' | b'x' | b'X' | b'o' if self.bits <= 32 => 4,
            b'c' => 4,
            _ => 8,
        }
    }

    /// True when the argument is the address of a string.
    pub(crate) fn is_string(&self) -> bool {
        self.kind == b's'
    }

    /// A string as converted.
    pub(crate) fn render_string(&self, string: &[u8]) -> Vec<u8> {
        let string = &string[..string.len().min(self.precision.unwrap_or(usize::MAX))];
        let fill = vec![b' '; self.width.saturating_sub(string.len())];
        if self.left { [string, &fill].concat() } else { [&fill, string].concat() }
    }

    /// A value as converted.
    pub(crate) fn render(&self, value: u64) -> String {
        let unsigned = value & (u64::MAX >> (64 - self.bits));
        let prefix = |prefix| if self.alternate && unsigned != 0 { prefix } else { "" };
        match self.kind {
            b'd' | b'i' => {
                let signed = (value << (64 - self.bits)) as i64 >> (64 - self.bits);
                self.integer(self.sign(signed < 0), &signed.unsigned_abs().to_string())
            }
            b'u' => self.integer("", &unsigned.to_string()),
            b'x' => self.integer(prefix("0x"), &format!("{unsigned:x}")),
            b'X' => self.integer(prefix("0X"), &format!("{unsigned:X}")),
            b'o' => self.integer(prefix("0"), &format!("{unsigned:o}")),
            b'p' => self.integer("", &format!("{value:#x}")),
            b'c' => self.pad("", &char::from(value as u8).to_string(), false),
            _ => self.float(f64::from_bits(value)),
        }
    }

    fn sign(&self, negative: bool) -> &'static str {
        match (negative, self.plus, self.space) {
            (true, ..) => "-",
            (false, true, _) => "+",
            (false, false, true) => " ",
            (false, false, false) => "",
        }
    }

    fn integer(&self, prefix: &str, digits: &str) -> String {
        let least = self.precision.unwrap_or(1);
        let digits = if least == 0 && digits == "0" { String::new() } else { format!("{digits:0>least$}") };
        // A precision says how many digits there are, so that zeros do not fill the width.
        self.pad(prefix, &digits, self.zero && self.precision.is_none())
    }

    fn float(&self, value: f64) -> String {
        let sign = self.sign(value.is_sign_negative() && !value.is_nan());
        let is_upper = self.kind.is_ascii_uppercase();
        let magnitude = value.abs();
        let mut body = match self.kind.to_ascii_lowercase() {
            _ if value.is_nan() => "nan".to_owned(),
            _ if value.is_infinite() => "inf".to_owned(),
            b'e' => exponential(magnitude, self.precision.unwrap_or(6)),
            b'g' => self.shortest(magnitude),
            b'a' => hexadecimal(magnitude, self.precision),
            _ => {
                let precision = self.precision.unwrap_or(6);
                format!("{magnitude:.precision$}")
            }
        };
        if is_upper {
            body = body.to_uppercase();
        }
        self.pad(sign, &body, self.zero && value.is_finite())
    }

    /// `%g`: whichever of `%e` and `%f` is shorter, without the zeros at the end.
    fn shortest(&self, value: f64) -> String {
        let precision = self.precision.unwrap_or(6).max(1);
        let scientific = exponential(value, precision - 1);
        let exponent: i32 = scientific.rsplit('e').next().and_then(|digits| digits.parse().ok()).unwrap_or(0);
        let text = if exponent < -4 || exponent >= precision as i32 {
            scientific
        } else {
            format!("{value:.*}", (precision as i32 - 1 - exponent).max(0) as usize)
        };
        if self.alternate { text } else { trim_zeros(&text) }
    }

    /// The body behind its sign or prefix, filled up to the width.
    fn pad(&self, prefix: &str, body: &str, with_zeros: bool) -> String {
        let missing = self.width.saturating_sub(prefix.len() + body.len());
        if self.left {
            format!("{prefix}{body}{}", " ".repeat(missing))
        } else if with_zeros {
            format!("{prefix}{}{body}", "0".repeat(missing))
        } else {
            format!("{}{prefix}{body}", " ".repeat(missing))
        }
    }
}

struct Scanner<'t> {
    text: &'t [u8],
    at: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(0)
    }

    /// A width or precision; 0 if none is written.
    fn number(&mut self, star: &mut dyn FnMut() -> i32) -> i32 {
        if self.peek() == b'*' {
            self.at += 1;
            return star();
        }
        let mut value = 0i32;
        while self.peek().is_ascii_digit() {
            value = value.saturating_mul(10).saturating_add(i32::from(self.peek() - b'0'));
            self.at += 1;
        }
        value
    }

    /// The length modifier as a number of bits.
    fn length(&mut self) -> u32 {
        let start = self.at;
        while matches!(self.peek(), b'l' | b'h' | b'z' | b'j' | b't' | b'L') {
            self.at += 1;
        }
        match &self.text[start.min(self.text.len())..self.at.min(self.text.len())] {
            b"" => 32,
            b"h" => 16,
            b"hh" => 8,
            _ => 64,
        }
    }
}

/// C writes at least two digits of exponent and always its sign.
fn exponential(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(digits) => ('-', digits),
        None => ('+', exponent),
    };
    format!("{mantissa}e{sign}{digits:0>2}")
}

/// `%a`: the significand in hexadecimal digits, as many as needed or as `precision` says, and the binary exponent.
fn hexadecimal(value: f64, precision: Option<usize>) -> String {
    let bits = value.to_bits();
    let field = (bits >> 52) as i32;
    let (mut leading, exponent) = match field {
        0 if bits == 0 => (0, 0),
        0 => (0, -1022),
        _ => (1, field - 1023),
    };
    let mut fraction = bits & ((1 << 52) - 1);
    if let Some(digits) = precision.filter(|&digits| digits < 13) {
        // Round to nearest even at the last digit that stays.
        let shift = 4 * (13 - digits as u32);
        let all = leading << 52 | fraction;
        let (kept, rest, half) = (all >> shift, all & ((1 << shift) - 1), 1u64 << (shift - 1));
        let rounded = kept + u64::from(rest > half || rest == half && kept & 1 == 1);
        leading = rounded << shift >> 52;
        fraction = (rounded << shift) & ((1 << 52) - 1);
    }
    let mut digits = format!("{fraction:013x}");
    match precision {
        Some(precision) => {
            digits.truncate(precision);
            digits.extend(std::iter::repeat_n('0', precision - digits.len()));
        }
        None => digits.truncate(digits.trim_end_matches('0').len()),
    }
    let point = if digits.is_empty() { "" } else { "." };
    format!("0x{leading}{point}{digits}p{exponent:+}")
}

/// Drops the zeros at the end of the fraction.
fn trim_zeros(text: &str) -> String {
    let (mantissa, exponent) = match text.find('e') {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let mantissa = if mantissa.contains('.') { mantissa.trim_end_matches('0').trim_end_matches('.') } else { mantissa };
    format!("{mantissa}{exponent}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `printf` makes of a format with one conversion and its value.
    fn print(format: &str, value: u64) -> String {
        let (conversion, used) = Conversion::parse(format.as_bytes(), &mut || panic!("no star"));
        assert_eq!(used, format.len(), "{format}");
        conversion.expect("a conversion").render(value)
    }

    #[test]
    fn integers() {
        for (format, value, expected) in [
            ("%d", -5i64 as u64, "-5"),
            ("%d", 0xffff_fffb, "-5"),
            ("%hd", 0x1_fffb, "-5"),
            ("%hhu", 0x1ff, "255"),
            ("%ld", -5i64 as u64, "-5"),
            ("%.3d", 7, "007"),
            ("%08.3d", 7, "     007"),
            ("%.0d", 0, ""),
            ("%+05d", 7, "+0007"),
            ("%-5d|", 7, "7    "),
            ("%#x", 0, "0"),
            ("%#08x", 255, "0x0000ff"),
            ("%#o", 8, "010"),
            ("%lX", u64::MAX, "FFFFFFFFFFFFFFFF"),
            ("%p", 0x7f00, "0x7f00"),
            ("%3c", 65, "  A"),
        ] {
            assert_eq!(print(format.trim_end_matches('|'), value), expected, "{format}");
        }
    }

    #[test]
    fn floats() {
        for (format, value, expected) in [
            ("%f", 1.5, "1.500000"),
            ("%.0f", 2.5, "2"),
            ("%08.2f", -1.5, "-0001.50"),
            ("%+f", f64::INFINITY, "+inf"),
            ("%05F", f64::NAN, "  NAN"),
            ("%e", 0.0, "0.000000e+00"),
            ("%g", 100_000.0, "100000"),
            ("%g", 1_000_000.0, "1e+06"),
            ("%#g", 1.0, "1.00000"),
            ("%.3g", 999.9, "1e+03"),
            ("%g", 0.0, "0"),
            ("%a", 1.0, "0x1p+0"),
            ("%a", 0.1, "0x1.999999999999ap-4"),
            ("%.2a", 0.1, "0x1.9ap-4"),
            ("%.0a", 1.75, "0x2p+0"),
            ("%A", 3.0, "0X1.8P+1"),
            ("%a", 0.0, "0x0p+0"),
            ("%a", f64::from_bits(1), "0x0.0000000000001p-1022"),
        ] {
            assert_eq!(print(format, f64::to_bits(value)), expected, "{format}");
        }
    }

    #[test]
    fn strings_and_stars() {
        let mut stars = [-6, 2].into_iter();
        let (conversion, used) = Conversion::parse(b"%*.*s!", &mut || stars.next().expect("two stars"));
        assert_eq!((conversion.expect("a conversion").render_string(b"abc"), used), (b"ab    ".to_vec(), 5));
    }

    #[test]
    fn endless_widths_are_cut() {
        let (conversion, _) = Conversion::parse(b"%99999999999d", &mut || 0);
        assert_eq!(conversion.expect("a conversion").render(1).len(), MOST_CHARACTERS);
    }

    #[test]
    fn what_is_no_conversion() {
        let mut star = || 0;
        for (text, used) in [("%", 1), ("%%", 2), ("%y z", 1), ("%5", 2), ("%l", 2)] {
            assert_eq!(Conversion::parse(text.as_bytes(), &mut star), (None, used), "{text}");
        }
    }
}
