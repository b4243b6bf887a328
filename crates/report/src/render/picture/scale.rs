//! From numbers to places: domains, ticks and their words.

use std::f64::consts::LOG10_2;

use crate::figure::Scale;

/// Numbers closer to each other than this share of their size are the same to the eye.
const SAME: f64 = 1e-9;
/// Spans outside of these are not drawn to scale: their steps cannot be written.
const SPAN: (f64, f64) = (1e-280, 1e300);

/// One direction of a panel: the values at both ends, and the length between them.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Range {
    scale: Scale,
    /// In the scale's own measure: the value or its logarithm.
    low: f64,
    high: f64,
}

/// A place with its words.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Tick {
    pub(crate) value: f64,
    /// Empty for a tick between.
    pub(crate) label: String,
}

impl Range {
    /// A range that holds all `values`. `zero`: the value 0 belongs to it, as for bars; `wanted`: the ends where they are
    /// chosen; `margin`: room beyond the data, as a share, up to round numbers; without one the range ends with the data.
    pub(crate) fn new(
        scale: &Scale,
        values: &[f64],
        wanted: Option<(f64, f64)>,
        zero: bool,
        margin: Option<f64>,
    ) -> Self {
        let scale = scale.clone();
        if let Scale::Names(names) = &scale {
            return Self { low: -0.5, high: names.len().max(1) as f64 - 0.5, scale };
        }
        // Ends in the wrong order, or too close to each other, are still ends.
        let wanted = wanted.map(|(first, last)| (first.min(last), first.max(last)));
        let wanted = wanted.filter(|&(low, high)| {
            scale.has(low) && scale.has(high) && high / 2.0 - low / 2.0 > low.abs().max(high.abs()) * SAME + SPAN.0
        });
        let fitting = values.iter().copied().filter(|&value| scale.has(value));
        let ends =
            fitting.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        let (low, high) = wanted.unwrap_or(if ends.0 <= ends.1 { ends } else { (1.0, 1.0) });
        let (low, high) = if matches!(scale, Scale::Log10 | Scale::Log2) {
            log_ends(&scale, low, high, if wanted.is_some() { None } else { margin })
        } else {
            if wanted.is_some() { (low, high) } else { linear_ends(low, high, zero, margin) }
        };
        Self { scale, low, high }
    }

    /// Where a value lies: 0 at the low end, 1 at the high end, beyond where it lies outside.
    pub(crate) fn share(&self, value: f64) -> f64 {
        let measure = self.measure(value);
        // Halves, so that the difference of the largest numbers is one.
        let span = self.high / 2.0 - self.low / 2.0;
        ((measure / 2.0 - self.low / 2.0) / span).clamp(-1e4, 1e4)
    }

    fn measure(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Log10 => value.log10(),
            Scale::Log2 => value.log2(),
            _ => value,
        }
    }

    /// How numbers become places.
    pub(crate) const fn scale(&self) -> &Scale {
        &self.scale
    }

    /// The value at a share of the way, in the scale's measure.
    pub(crate) fn value(&self, share: f64) -> f64 {
        let measure = self.low * (1.0 - share) + self.high * share;
        match self.scale {
            Scale::Log10 => 10f64.powf(measure),
            Scale::Log2 => measure.exp2(),
            _ => measure,
        }
    }

    /// Where bars begin: 0, or the end next to it.
    pub(crate) fn base(&self) -> f64 {
        match self.scale {
            Scale::Log10 | Scale::Log2 => self.value(0.0),
            _ => 0f64.clamp(self.low, self.high),
        }
    }

    /// Ticks, about `n` of them with words.
    pub(crate) fn ticks(&self, n: usize) -> Vec<Tick> {
        match &self.scale {
            Scale::Names(names) => {
                let tick = |(at, name): (usize, &String)| Tick { value: at as f64, label: name.clone() };
                names.iter().enumerate().map(tick).collect()
            }
            Scale::Log10 => self.decades(n),
            Scale::Log2 => self.doublings(n),
            Scale::Linear | Scale::Percent => self.steps(n),
        }
    }

    /// The power of 1000 that the words of the ticks leave out.
    pub(crate) fn exponent(&self) -> i32 {
        let largest = self.low.abs().max(self.high.abs());
        if self.scale != Scale::Linear || largest == 0.0 || (1e-3..=1e5).contains(&largest) {
            return 0;
        }
        (largest.log10().floor() as i32).div_euclid(3) * 3
    }

    fn steps(&self, n: usize) -> Vec<Tick> {
        let step = step(self.high / 2.0 - self.low / 2.0, n);
        let percent = self.scale == Scale::Percent;
        let unit = if percent { 0.01 } else { 10f64.powi(self.exponent()) };
        let decimals = (-(step / unit * (1.0 + SAME)).log10().floor()).clamp(0.0, 12.0) as usize;
        // A step of 2.5 needs a digit more.
        let decimals = decimals + usize::from(!is_whole(step / unit * 10f64.powi(decimals as i32)));
        let (first, last) = ((self.low / step - SAME).ceil(), (self.high / step + SAME).floor());
        if !first.is_finite() || !last.is_finite() || last - first > 1000.0 {
            return Vec::new();
        }
        let tick = |at: i32| {
            let value = (first + f64::from(at)) * step;
            // No sign before a zero.
            let shown = if value == 0.0 { 0.0 } else { value / unit };
            Tick { value, label: signed(format!("{shown:.decimals$}")) }
        };
        (0..=(last - first).max(-1.0) as i32).map(tick).collect()
    }

    fn decades(&self, n: usize) -> Vec<Tick> {
        let (first, last) = ((self.low - SAME).ceil() as i32, (self.high + SAME).floor() as i32);
        let n_decades = last - first + 1;
        let between: &[f64] =
            if 3.0 * (self.high - self.low) <= n.max(5) as f64 + 2.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let every = n_decades.max(1).unsigned_abs().div_ceil(n.max(2) as u32).max(1) as i32;
        let plain = self.low >= -3.0 - SAME && self.high <= 5.0 + SAME;
        let mut ticks = Vec::new();
        for decade in first - 1..=last {
            for factor in 1..=9 {
                let factor = f64::from(factor);
                let at = f64::from(decade) + factor.log10();
                if at < self.low - SAME || at > self.high + SAME || (factor > 1.0 && n_decades > 7) {
                    continue;
                }
                let named = between.contains(&factor) && (factor > 1.0 || decade.rem_euclid(every) == 0);
                let label = match (named, plain) {
                    (false, _) => String::new(),
                    (true, true) => plain_number(factor, decade),
                    (true, false) if factor == 1.0 => format!("10{}", superscript(decade)),
                    (true, false) => format!("{factor}·10{}", superscript(decade)),
                };
                ticks.push(Tick { value: 10f64.powf(at), label });
            }
        }
        ticks
    }

    fn doublings(&self, n: usize) -> Vec<Tick> {
        let (first, last) = ((self.low - SAME).ceil() as i32, (self.high + SAME).floor() as i32);
        let every = (last - first + 1).max(1).unsigned_abs().div_ceil(n.max(2) as u32).max(1) as i32;
        let plain = self.low >= -4.0 - SAME && self.high <= 17.0 + SAME;
        let label = |exponent: i32| match (plain, exponent < 0) {
            (true, false) => (1u64 << exponent).to_string(),
            (true, true) => format!("1/{}", 1u64 << -exponent),
            (false, _) => format!("2{}", superscript(exponent)),
        };
        let tick = |exponent: i32| Tick {
            value: f64::from(exponent).exp2(),
            label: if exponent.rem_euclid(every) == 0 { label(exponent) } else { String::new() },
        };
        (first..=last).map(tick).collect()
    }
}

/// `factor` times a power of ten, in digits.
fn plain_number(factor: f64, decade: i32) -> String {
    let decimals = usize::try_from(-decade).unwrap_or(0);
    format!("{:.decimals$}", factor * 10f64.powi(decade))
}

/// The ends of a linear range with round numbers.
fn linear_ends(low: f64, high: f64, zero: bool, margin: Option<f64>) -> (f64, f64) {
    let near_zero = low > 0.0 && low < 0.55 * high || high < 0.0 && high > 0.55 * low;
    let (low, high) = if zero || near_zero { (low.min(0.0), high.max(0.0)) } else { (low, high) };
    let size = low.abs().max(high.abs());
    let span = (high / 2.0 - low / 2.0) * 2.0;
    if span <= size * SAME || span < SPAN.0 {
        // One value: as much room on either side as shows its size.
        let room = if size < SPAN.0 { 1.0 } else { (size * 0.1).min(SPAN.1) };
        return (low - room, high + room);
    }
    let Some(margin) = margin.filter(|_| span < SPAN.1 && size < SPAN.1) else { return (low, high) };
    let room = margin * span;
    let padded = (if low == 0.0 { low } else { low - room }, if high == 0.0 { high } else { high + room });
    let step = step((padded.1 - padded.0) / 2.0, 5);
    let outer = |value: f64, up: bool| {
        let steps = value / step;
        step * if up { (steps - SAME).ceil() } else { (steps + SAME).floor() }
    };
    (outer(padded.0, false), outer(padded.1, true))
}

/// The logarithms of the ends of a range, with round numbers where there is a margin.
fn log_ends(scale: &Scale, low: f64, high: f64, margin: Option<f64>) -> (f64, f64) {
    let measure = |value: f64| if *scale == Scale::Log2 { value.log2() } else { value.log10() };
    let (low, high) = (measure(low), measure(high));
    let Some(margin) = margin else {
        return if low != high { (low, high) } else { (low - 0.5, high + 0.5) };
    };
    let room = margin * (high - low);
    let (low, high) = (low - room, high + room);
    if *scale == Scale::Log2 {
        let (low, high) = ((low + SAME).floor(), (high - SAME).ceil());
        return if low < high { (low, high) } else { (low - 1.0, high + 1.0) };
    }
    let round = |measure: f64, up: bool| {
        let decade = measure.floor();
        let steps = [0.0, 2f64.log10(), 5f64.log10(), 1.0].map(|step| decade + step);
        match up {
            true => steps.into_iter().find(|&step| step >= measure - SAME).unwrap_or(decade + 1.0),
            false => steps.into_iter().rev().find(|&step| step <= measure + SAME).unwrap_or(decade),
        }
    };
    let (low, high) = (round(low, false), round(high, true));
    if high - low < 0.3 { (low - LOG10_2, high + LOG10_2) } else { (low, high) }
}

/// A round distance that parts a range of twice `half` about `n` times.
fn step(half: f64, n: usize) -> f64 {
    let rough = half / (n.max(1) as f64) * 2.0;
    let rough = if rough.is_finite() && rough > 0.0 { rough } else { 1.0 };
    let power = 10f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 2.5, 5.0, 10.0].map(|round| round * power);
    // Next to the largest number there is no round one.
    steps.into_iter().find(|&step| step >= rough * (1.0 - SAME)).filter(|step| step.is_finite()).unwrap_or(rough)
}

fn is_whole(number: f64) -> bool {
    (number - number.round()).abs() < 1e-6
}

/// With a minus sign instead of a hyphen.
fn signed(text: String) -> String {
    text.strip_prefix('-').map_or(text.clone(), |digits| format!("−{digits}"))
}

/// An exponent as small digits.
pub(crate) fn superscript(exponent: i32) -> String {
    let digit = |c: char| match c {
        '-' => '⁻',
        _ => ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][c.to_digit(10).unwrap_or(0) as usize],
    };
    exponent.to_string().chars().map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: Scale, values: &[f64], n: usize) -> String {
        let range = Range::new(&scale, values, None, false, Some(0.0));
        let words: Vec<String> =
            range.ticks(n).into_iter().map(|tick| tick.label).filter(|label| !label.is_empty()).collect();
        words.join(" ")
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(labels(Scale::Linear, &[0.0, 48.0], 5), "0 10 20 30 40 50");
        assert_eq!(labels(Scale::Linear, &[0.0, 1.0], 5), "0.0 0.2 0.4 0.6 0.8 1.0");
        assert_eq!(labels(Scale::Linear, &[0.0, 1.2], 5), "0.00 0.25 0.50 0.75 1.00 1.25");
        assert_eq!(labels(Scale::Linear, &[-3.0, 3.0], 5), "−4 −2 0 2 4");
        assert_eq!(labels(Scale::Linear, &[0.0, 4e9], 5), "0 1 2 3 4");
        assert_eq!(labels(Scale::Linear, &[95.0, 105.0], 5), "95.0 97.5 100.0 102.5 105.0");
        assert_eq!(labels(Scale::Percent, &[0.0, 1.0], 5), "0 20 40 60 80 100");
        assert_eq!(labels(Scale::Log10, &[0.1, 1000.0], 5), "0.1 1 10 100 1000");
        assert_eq!(labels(Scale::Log10, &[2.0, 80.0], 5), "2 5 10 20 50 100");
        assert_eq!(labels(Scale::Log10, &[1e3, 1e12], 5), "10⁴ 10⁶ 10⁸ 10¹⁰ 10¹²");
        assert_eq!(labels(Scale::Log2, &[32.0, 1000.0], 8), "32 64 128 256 512 1024");
        assert_eq!(labels(Scale::Log2, &[0.25, 4.0], 8), "1/4 1/2 1 2 4");
        assert_eq!(labels(Scale::Names(vec!["a".into(), "b".into()]), &[], 8), "a b");
    }

    #[test]
    fn large_and_small_numbers_leave_a_power_out() {
        let exponent = |high: f64| Range::new(&Scale::Linear, &[0.0, high], None, false, Some(0.0)).exponent();
        assert_eq!([exponent(4e9), exponent(99_000.0), exponent(2e5), exponent(3e-5)], [9, 0, 3, -6]);
    }

    #[test]
    fn wanted_ends_are_in_order_and_apart() {
        let ends = |wanted| Range::new(&Scale::Linear, &[3.0, 4.0], Some(wanted), false, None);
        let shares = |range: Range| [range.value(0.0), range.value(1.0)];
        assert_eq!(shares(ends((9.0, 1.0))), [1.0, 9.0]);
        for without in [(2.0, 2.0), (0.0, 5e-324), (f64::NAN, 1.0), (0.0, f64::INFINITY)] {
            assert_eq!(shares(ends(without)), [3.0, 4.0], "{without:?}");
        }
    }

    #[test]
    fn single_values_have_room() {
        let range = Range::new(&Scale::Linear, &[f64::MAX, f64::MIN], None, false, None);
        assert!(range.ticks(3).iter().all(|tick| range.share(tick.value).is_finite()));
        for value in [0.0, 7.0, -1e300, 5e-324, f64::MAX] {
            let range = Range::new(&Scale::Linear, &[value], None, false, Some(0.0));
            assert!((0.0..=1.0).contains(&range.share(value)), "{value}: {range:?}");
        }
        let range = Range::new(&Scale::Log10, &[1e300], None, false, Some(0.0));
        assert!((0.0..=1.0).contains(&range.share(1e300)));
    }
}
