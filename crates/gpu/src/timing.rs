//! What launches took, by events around them.

use std::time::{Duration, Instant};

use warplens_base::error::Result;

use crate::gpu::{Event, Gpu};

/// What the L2 cache holds before a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Cache {
    /// Other data.
    #[default]
    Cold,
    /// What the launch before has left.
    Warm,
}

/// How often a launch is timed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Repeats {
    /// Launches at least.
    pub least: usize,
    /// Launches beyond that, as long as they take no more time than this in all.
    pub within: Duration,
    /// What the L2 cache holds before each.
    pub cache: Cache,
}

impl Default for Repeats {
    fn default() -> Self {
        Self { least: 11, within: Duration::from_millis(100), cache: Cache::Cold }
    }
}

/// Launches at most, and those before any is timed.
const MOST: usize = 201;
const WARM_UP: usize = 3;

/// Times of launches.
#[derive(Clone, PartialEq, Debug)]
pub struct Timing {
    /// Microseconds, the shortest first.
    us: Vec<f64>,
}

impl Timing {
    /// The time in the middle, in microseconds.
    pub fn median_us(&self) -> f64 {
        let (n, us) = (self.us.len(), &self.us);
        if n % 2 == 1 { us[n / 2] } else { f64::midpoint(us[n / 2 - 1], us[n / 2]) }
    }

    /// The shortest time, in microseconds.
    pub fn least_us(&self) -> f64 {
        self.us[0]
    }

    /// The longest time, in microseconds.
    pub fn most_us(&self) -> f64 {
        self.us[self.us.len() - 1]
    }

    /// How many launches were timed.
    pub fn count(&self) -> usize {
        self.us.len()
    }
}

/// Times a launch; `before` is done before each and not timed.
pub(crate) fn timed(
    gpu: &Gpu,
    repeats: Repeats,
    before: &dyn Fn() -> Result<()>,
    launch: &dyn Fn() -> Result<()>,
) -> Result<Timing> {
    for _ in 0..WARM_UP {
        before()?;
        launch()?;
    }
    gpu.synchronize()?;
    let (start, end) = (Event::new(gpu)?, Event::new(gpu)?);
    let began = Instant::now();
    let mut us = Vec::new();
    while us.len() < repeats.least.max(1) || began.elapsed() < repeats.within && us.len() < MOST {
        before()?;
        if repeats.cache == Cache::Cold {
            gpu.fill_cache()?;
        }
        start.record()?;
        launch()?;
        end.record()?;
        us.push(end.us_since(&start)?);
    }
    us.sort_by(f64::total_cmp);
    Ok(Timing { us })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        let of = |us: &[f64]| Timing { us: us.to_vec() };
        assert_eq!(of(&[1.0, 2.0, 9.0]).median_us(), 2.0);
        assert_eq!(of(&[1.0, 2.0, 4.0, 9.0]).median_us(), 3.0);
        let one = of(&[7.0]);
        assert_eq!((one.least_us(), one.median_us(), one.most_us(), one.count()), (7.0, 7.0, 7.0, 1));
    }
}
