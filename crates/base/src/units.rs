//! Quantities that carry their unit by type.

use std::ops::{Add, Div, Mul, Sub};

macro_rules! units {
    ($($(#[$meta:meta])* $name:ident;)*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, PartialOrd, Debug, Default)]
        pub struct $name(pub f64);

        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }
        impl Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }
        impl Mul<f64> for $name {
            type Output = Self;
            fn mul(self, factor: f64) -> Self {
                Self(self.0 * factor)
            }
        }
        impl Div<$name> for $name {
            type Output = f64;
            fn div(self, other: Self) -> f64 {
                self.0 / other.0
            }
        }
    )*};
}

units! {
    /// Clock cycles of one SM.
    Cycles;
    /// Bytes.
    Bytes;
    /// Cycles per second.
    Hertz;
    /// Seconds.
    Seconds;
    /// Bytes per second.
    BytesPerSecond;
}

impl Cycles {
    /// How long the cycles last at `clock`.
    pub fn at(self, clock: Hertz) -> Seconds {
        Seconds(self.0 / clock.0)
    }
}

impl Seconds {
    /// The duration in microseconds.
    pub fn microseconds(self) -> f64 {
        self.0 * 1e6
    }
}
