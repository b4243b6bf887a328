//! Time on the device: it advances by predicted time alone.

/// A time of the device, in nanoseconds since the start of the process.
#[derive(Clone, Copy, PartialEq, PartialOrd, Default, Debug)]
pub struct Nanoseconds(pub f64);

impl Nanoseconds {
    /// The later of two times.
    pub(crate) fn max(self, other: Self) -> Self {
        Self(self.0.max(other.0))
    }

    /// So much later.
    pub(crate) fn after(self, seconds: f64) -> Self {
        Self(self.0 + seconds * 1e9)
    }

    /// Milliseconds from an earlier time.
    pub fn milliseconds_since(self, earlier: Self) -> f32 {
        ((self.0 - earlier.0) / 1e6) as f32
    }
}
