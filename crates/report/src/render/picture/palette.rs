//! Colours, dashes, markers and hatches, so that series differ in print and for colour-blind readers.
//!
//! The colours of series are those of M. Okabe and K. Ito, "Color Universal Design" (2008), in an order of falling
//! contrast on white; on a dark ground some are lighter. A heat map runs from pale to dark blue, so that it survives
//! a copy in grey; where its values have both signs, it runs from vermilion over pale to blue, and pale is 0.

use crate::figure::{Dash, Hatch, Look, Marker};

/// A role in a picture; the theme gives it a colour.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Ink {
    /// Text, axes.
    Fore,
    /// Ticks, captions, reference lines.
    Muted,
    /// Grid.
    Grid,
    /// The ground.
    Back,
    /// A series, by its number.
    Series(usize),
    /// A step of the heat map from 0 to 255, the same in every theme.
    Heat(u8),
    /// A step of the heat map of values with signs, from 0 to 255 with 128 for the value 0.
    Signed(u8),
    /// Text on the heat map: dark.
    Dark,
    /// Text on the heat map: light.
    Light,
}

type Rgb = (u8, u8, u8);

/// Name of the class, colour on a light ground, colour on a dark ground.
const BASIC: [(&str, Rgb, Rgb); 4] = [
    ("fore", (0x1b, 0x1f, 0x24), (0xe6, 0xed, 0xf3)),
    ("muted", (0x57, 0x60, 0x6a), (0x9d, 0xa7, 0xb3)),
    ("grid", (0xd8, 0xde, 0xe4), (0x30, 0x36, 0x3d)),
    ("back", (0xff, 0xff, 0xff), (0x0d, 0x11, 0x17)),
];

/// Blue, vermilion, green, orange, purple, sky blue, black.
const SERIES: [(&str, Rgb, Rgb); 7] = [
    ("s0", (0x00, 0x72, 0xb2), (0x3d, 0xa5, 0xe6)),
    ("s1", (0xd5, 0x5e, 0x00), (0xf0, 0x7f, 0x2b)),
    ("s2", (0x00, 0x9e, 0x73), (0x1f, 0xc7, 0x97)),
    ("s3", (0xe6, 0x9f, 0x00), (0xf0, 0xb4, 0x2e)),
    ("s4", (0xcc, 0x79, 0xa7), (0xdb, 0x91, 0xba)),
    ("s5", (0x56, 0xb4, 0xe9), (0x7c, 0xc8, 0xf2)),
    ("s6", (0x00, 0x00, 0x00), (0xff, 0xff, 0xff)),
];

/// Ends and quarters of the heat map.
const HEAT: [Rgb; 5] =
    [(0xf4, 0xf9, 0xfd), (0xb9, 0xd9, 0xee), (0x6b, 0xae, 0xd6), (0x2a, 0x78, 0xb4), (0x08, 0x30, 0x6b)];

/// Ends and quarters of the heat map of values with signs: below 0, 0, above.
const SIGNED: [Rgb; 5] =
    [(0xd5, 0x5e, 0x00), (0xf2, 0xb8, 0x8a), (0xf7, 0xf7, 0xf7), (0x8c, 0xbe, 0xdc), (0x00, 0x72, 0xb2)];

/// Every class with its colours.
pub(crate) fn classes() -> impl Iterator<Item = (&'static str, Rgb, Rgb)> {
    BASIC.into_iter().chain(SERIES)
}

impl Ink {
    /// Class in SVG, where the theme decides.
    pub(crate) fn class(self) -> Option<&'static str> {
        self.entry().map(|entry| entry.0)
    }

    /// Colour on a light ground.
    pub(crate) fn light(self) -> Rgb {
        match self {
            Self::Heat(step) => mixed(HEAT, step),
            Self::Signed(step) => mixed(SIGNED, step),
            Self::Dark => (0, 0, 0),
            Self::Light => (255, 255, 255),
            _ => self.entry().map_or((0, 0, 0), |entry| entry.1),
        }
    }

    /// The colour of a value of a heat map whose values lie between two others.
    pub(crate) fn of_value(value: f64, low: f64, high: f64) -> Self {
        let step = |share: f64| (255.0 * share.clamp(0.0, 1.0)).round() as u8;
        if low < 0.0 && high > 0.0 {
            // Both signs reach as far, so that equal amounts look equal.
            return Self::Signed(step(0.5 + value / 2.0 / high.max(-low)));
        }
        let span = high / 2.0 - low / 2.0;
        Self::Heat(step(if span > 0.0 { (value / 2.0 - low / 2.0) / span } else { 0.0 }))
    }

    /// The colour of text that reads well on this one.
    pub(crate) const fn on(self) -> Self {
        match self {
            Self::Heat(step) if step >= 145 => Self::Light,
            Self::Signed(step) if step >= 225 => Self::Light,
            _ => Self::Dark,
        }
    }

    fn entry(self) -> Option<(&'static str, Rgb, Rgb)> {
        match self {
            Self::Fore => Some(BASIC[0]),
            Self::Muted => Some(BASIC[1]),
            Self::Grid => Some(BASIC[2]),
            Self::Back => Some(BASIC[3]),
            Self::Series(number) => Some(SERIES[number % SERIES.len()]),
            Self::Heat(_) | Self::Signed(_) | Self::Dark | Self::Light => None,
        }
    }
}

fn mixed(colours: [Rgb; 5], step: u8) -> Rgb {
    let at = usize::from(step) * (colours.len() - 1);
    let (from, share) = (at / 255, (at % 255) as f64 / 255.0);
    let to = (from + 1).min(colours.len() - 1);
    let mix = |a: u8, b: u8| (f64::from(a) + share * (f64::from(b) - f64::from(a))).round() as u8;
    let (a, b) = (colours[from], colours[to]);
    (mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2))
}

/// Looks of a series with nothing left open.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Style {
    pub(crate) color: Ink,
    pub(crate) dashes: &'static [f64],
    pub(crate) marker: Marker,
    /// The marker was asked for, also on lines.
    pub(crate) wants_marker: bool,
    pub(crate) hatch: Hatch,
}

const DASHES: [Dash; 5] = [Dash::Solid, Dash::Dashed, Dash::Dotted, Dash::DashDotted, Dash::LongDashed];
const MARKERS: [Marker; 7] =
    [Marker::Circle, Marker::Square, Marker::Triangle, Marker::Diamond, Marker::Down, Marker::Cross, Marker::Plus];
const HATCHES: [Hatch; 7] =
    [Hatch::Plain, Hatch::Rising, Hatch::Falling, Hatch::Dotted, Hatch::Crossed, Hatch::Level, Hatch::Upright];

impl Style {
    /// The looks of the series with this number in its figure. Where the colours begin again, what goes with them is the
    /// next one, so that no series looks like another.
    pub(crate) fn new(number: usize, look: Look) -> Self {
        let round = number / SERIES.len();
        let dash = look.dash.unwrap_or(DASHES[(number + round) % DASHES.len()]);
        Self {
            color: Ink::Series(look.color.unwrap_or(number) % SERIES.len()),
            dashes: dashes(dash),
            marker: look.marker.unwrap_or(MARKERS[(number + round) % MARKERS.len()]),
            wants_marker: look.marker.is_some(),
            hatch: look.hatch.unwrap_or(HATCHES[(number + round) % HATCHES.len()]),
        }
    }
}

const fn dashes(dash: Dash) -> &'static [f64] {
    match dash {
        Dash::Solid => &[],
        Dash::Dashed => &[7.0, 4.0],
        Dash::Dotted => &[2.0, 3.0],
        Dash::DashDotted => &[8.0, 3.0, 2.0, 3.0],
        Dash::LongDashed => &[14.0, 4.0],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_of_many_series_look_alike() {
        let styles: Vec<Style> = (0..30).map(|number| Style::new(number, Look::default())).collect();
        for (number, style) in styles.iter().enumerate() {
            for other in &styles[..number] {
                assert!(style.color != other.color || style.dashes != other.dashes, "lines {number}");
                assert!(style.color != other.color || style.hatch != other.hatch, "areas {number}");
                assert!(style.color != other.color || style.marker != other.marker, "points {number}");
            }
        }
    }
}
