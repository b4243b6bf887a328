//! Units of machine parameters: one canonical unit per dimension, many spellings in files.

/// The canonical unit of a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// A plain number.
    Count,
    /// Cycles per second.
    Hertz,
    /// Events per cycle.
    PerCycle,
    /// Bytes.
    Bytes,
    /// Bits.
    Bits,
    /// Bytes per cycle.
    BytesPerCycle,
    /// Bytes per second.
    BytesPerSecond,
    /// Transfers per second on one wire.
    TransfersPerSecond,
    /// Cycles of the SM's clock.
    Cycles,
    /// Seconds.
    Seconds,
}

/// Spellings of units: dimension, spelling, factor to the canonical unit.
const SPELLINGS: &[(Unit, &str, f64)] = &[
    (Unit::Hertz, "Hz", 1.0),
    (Unit::Hertz, "kHz", 1e3),
    (Unit::Hertz, "MHz", 1e6),
    (Unit::Hertz, "GHz", 1e9),
    (Unit::PerCycle, "/clk", 1.0),
    (Unit::Bytes, "B", 1.0),
    (Unit::Bytes, "KiB", 1024.0),
    (Unit::Bytes, "MiB", 1024.0 * 1024.0),
    (Unit::Bytes, "GiB", 1024.0 * 1024.0 * 1024.0),
    (Unit::Bits, "bit", 1.0),
    (Unit::BytesPerCycle, "B/clk", 1.0),
    (Unit::BytesPerSecond, "B/s", 1.0),
    (Unit::BytesPerSecond, "MB/s", 1e6),
    (Unit::BytesPerSecond, "GB/s", 1e9),
    (Unit::BytesPerSecond, "TB/s", 1e12),
    (Unit::TransfersPerSecond, "T/s", 1.0),
    (Unit::TransfersPerSecond, "MT/s", 1e6),
    (Unit::TransfersPerSecond, "GT/s", 1e9),
    (Unit::Cycles, "cycles", 1.0),
    (Unit::Seconds, "s", 1.0),
    (Unit::Seconds, "ms", 1e-3),
    (Unit::Seconds, "us", 1e-6),
    (Unit::Seconds, "ns", 1e-9),
];

impl Unit {
    /// The dimension and the factor of a spelling such as `GB/s`.
    pub fn parse(spelling: &str) -> Option<(Unit, f64)> {
        SPELLINGS.iter().find(|row| row.1 == spelling).map(|&(unit, _, factor)| (unit, factor))
    }

    /// Splits `4TB/s` or `4 TB/s` into its number, in the canonical unit, and its dimension; none for a bare number.
    pub fn parse_quantity(text: &str) -> Option<(f64, Option<Unit>)> {
        let text = text.trim();
        // The longest beginning that is a number: units may begin with an `e` or a digit no more than numbers end in one.
        let end = (1..=text.len()).rev().find(|&end| {
            text.is_char_boundary(end)
                && text[..end].ends_with(|c: char| c.is_ascii_digit() || c == '.')
                && text[..end].parse::<f64>().is_ok()
        })?;
        let number: f64 = text[..end].parse().ok()?;
        let unit = text[end..].trim();
        if !number.is_finite() || number < 0.0 {
            return None;
        }
        if unit.is_empty() {
            return Some((number, None));
        }
        let (dimension, factor) = Self::parse(unit)?;
        Some((number * factor, Some(dimension)))
    }

    /// The spellings that a file may use for this dimension.
    pub fn spellings(self) -> impl Iterator<Item = &'static str> {
        SPELLINGS.iter().filter(move |row| row.0 == self).map(|row| row.1)
    }

    /// The symbol of the canonical unit, empty for a plain number.
    pub const fn symbol(self) -> &'static str {
        match self {
            Unit::Count => "",
            Unit::Hertz => "Hz",
            Unit::PerCycle => "/clk",
            Unit::Bytes => "B",
            Unit::Bits => "bit",
            Unit::BytesPerCycle => "B/clk",
            Unit::BytesPerSecond => "B/s",
            Unit::TransfersPerSecond => "T/s",
            Unit::Cycles => "cycles",
            Unit::Seconds => "s",
        }
    }

    /// The suffix that a JSON key carries for this unit, with its underscore.
    pub const fn suffix(self) -> &'static str {
        match self {
            Unit::Count => "",
            Unit::Hertz => "_hz",
            Unit::PerCycle => "_per_clk",
            Unit::Bytes => "_bytes",
            Unit::Bits => "_bits",
            Unit::BytesPerCycle => "_bytes_per_clk",
            Unit::BytesPerSecond => "_bytes_per_s",
            Unit::TransfersPerSecond => "_transfers_per_s",
            Unit::Cycles => "_cycles",
            Unit::Seconds => "_s",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_a_number_and_a_unit() {
        let cases = [
            ("4TB/s", Some((4e12, Some(Unit::BytesPerSecond)))),
            ("1.5 GHz", Some((1.5e9, Some(Unit::Hertz)))),
            ("2e3MB/s", Some((2e9, Some(Unit::BytesPerSecond)))),
            ("400cycles", Some((400.0, Some(Unit::Cycles)))),
            ("16/clk", Some((16.0, Some(Unit::PerCycle)))),
            ("48", Some((48.0, None))),
            ("1e9", Some((1e9, None))),
            ("4 parsec", None),
            ("-1GHz", None),
            ("TB/s", None),
            ("inf", None),
            ("", None),
            ("4µs", None),
        ];
        for (text, expected) in cases {
            assert_eq!(Unit::parse_quantity(text), expected, "{text}");
        }
    }
}
