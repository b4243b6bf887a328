//! Rounding, for people. Programs get every digit.

use crate::section::{Cell, Unit};

/// A cell as people read it.
pub fn show(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) => text.clone(),
        Cell::Count(count) => grouped(*count),
        Cell::Number(number, unit) => measure(*number, *unit),
        Cell::Missing => "-".to_owned(),
    }
}

/// A time in a picture, whose font has every letter.
pub(crate) fn time_label(microseconds: Option<f64>) -> String {
    show(&Cell::optional(microseconds, Unit::Microseconds)).replace("us", "µs")
}

/// A cell as programs read it.
pub(crate) fn raw(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) => text.clone(),
        Cell::Count(count) => count.to_string(),
        Cell::Number(number, _) => number.to_string(),
        Cell::Missing => String::new(),
    }
}

fn measure(number: f64, unit: Unit) -> String {
    let scaled = |steps: &[(f64, &str)]| {
        let &(scale, name) = steps.iter().find(|(scale, _)| number.abs() >= *scale).unwrap_or(&steps[steps.len() - 1]);
        format!("{} {name}", digits(number / scale))
    };
    match unit {
        Unit::One => digits(number),
        Unit::Microseconds => scaled(&[(1e6, "s"), (1e3, "ms"), (1.0, "us"), (1e-3, "ns")]),
        Unit::Seconds => scaled(&[(1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")]),
        Unit::Cycles => {
            format!("{} cycles", if number < 1e4 { digits(number) } else { grouped(number.round() as u64) })
        }
        Unit::Share if number > 0.0 && number < 0.0005 => "<0.1 %".to_owned(),
        Unit::Share => format!("{:.1} %", 100.0 * number),
        Unit::Named(symbol) => format!("{} {symbol}", digits(number)),
        Unit::Bytes if number >= 1024.0 && number % 1024.0 == 0.0 => {
            scaled(&[(1024.0 * 1024.0 * 1024.0, "GiB"), (1024.0 * 1024.0, "MiB"), (1024.0, "KiB")])
        }
        Unit::Bytes => scaled(&[(1e9, "GB"), (1e6, "MB"), (1e3, "KB"), (1.0, "B")]),
        Unit::BytesPerSecond => scaled(&[(1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1.0, "B/s")]),
        Unit::FlopPerSecond => scaled(&[(1e12, "TFLOP/s"), (1e9, "GFLOP/s"), (1e6, "MFLOP/s"), (1.0, "FLOP/s")]),
        Unit::Hertz => scaled(&[(1e9, "GHz"), (1e6, "MHz"), (1.0, "Hz")]),
    }
}

/// Four significant digits, all digits of larger numbers, no trailing zeros after the point.
pub(crate) fn digits(number: f64) -> String {
    if number == 0.0 || !number.is_finite() {
        return number.to_string();
    }
    let magnitude = number.abs().log10().floor() as i32;
    if magnitude < -4 {
        return format!("{number:.2e}");
    }
    if magnitude >= 4 {
        let sign = if number < 0.0 { "-" } else { "" };
        return format!("{sign}{}", grouped(number.abs().round() as u64));
    }
    let text = format!("{number:.*}", usize::try_from(3 - magnitude).unwrap_or(0));
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// Digits in groups of three.
fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) && digits.len() > 4 {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_read_four_digits() {
        let cases = [
            (Cell::Count(1234), "1234"),
            (Cell::Count(1_234_567), "1 234 567"),
            (Cell::Number(1.0 / 3.0, Unit::One), "0.3333"),
            (Cell::Number(2.0, Unit::One), "2"),
            (Cell::Number(1234.56, Unit::One), "1235"),
            (Cell::Number(123_456.7, Unit::One), "123 457"),
            (Cell::Number(0.0, Unit::One), "0"),
            (Cell::Number(0.000_001, Unit::One), "1.00e-6"),
            (Cell::Number(1234.56, Unit::Microseconds), "1.235 ms"),
            (Cell::Number(12.3, Unit::Microseconds), "12.3 us"),
            (Cell::Number(0.5, Unit::Microseconds), "500 ns"),
            (Cell::Number(0.123_45, Unit::Share), "12.3 %"),
            (Cell::Number(0.000_1, Unit::Share), "<0.1 %"),
            (Cell::Number(4.8e12, Unit::BytesPerSecond), "4.8 TB/s"),
            (Cell::Number(1.98e9, Unit::Hertz), "1.98 GHz"),
            (Cell::Number(50_348.0, Unit::Cycles), "50 348 cycles"),
            (Cell::Number(262_144.0, Unit::Bytes), "256 KiB"),
            (Cell::Number(1500.0, Unit::Bytes), "1.5 KB"),
            (Cell::Number(2.0, Unit::Named("B/clk")), "2 B/clk"),
            (Cell::Missing, "-"),
        ];
        for (cell, shown) in cases {
            assert_eq!(show(&cell), shown);
        }
    }
}
