//! A machine as it would be if a parameter had another value.
//!
//! What the program derives from the parameter follows by itself. The departure delays that a file states follow too:
//! they are distances at full bandwidth, so they grow with the SMs that share it and shrink as it grows.

use crate::check;
use crate::key::{Key, Scaling, Shape};
use crate::machine::Machine;
use crate::reader::{Missing, Reader, Strictness};
use crate::value::{Basis, Fact, Value};

/// A value that a parameter cannot have.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{reason}")]
pub struct Impossible {
    /// Why, as a clause without a final period.
    pub reason: String,
}

/// Durations between transactions at full bandwidth.
const DEPARTURE_DELAYS: [Key; 6] = [
    Key::DramDepartureDelay32,
    Key::DramDepartureDelay64,
    Key::DramDepartureDelay128,
    Key::DramDepartureDelayVector,
    Key::HongKimDepartureDelayCoalesced,
    Key::HongKimDepartureDelayUncoalesced,
];

impl Machine {
    /// The number of `key` in its canonical unit, stated or derived; seconds where it follows the clock.
    pub fn canonical(&self, key: Key) -> Result<f64, Missing> {
        let mut reader = Reader::new(self, Strictness::AllowInferred);
        let number = reader.need(key)?;
        match key.scaling() {
            Scaling::Fixed => Ok(number),
            Scaling::WallTime => Ok(number / reader.clock()?),
        }
    }

    /// Supposes that `key` is `number`, in its canonical unit (seconds where it follows the clock). `source` says what
    /// was asked. The default clock takes the place of a clock that was asked for with the machine's name.
    pub fn suppose(&mut self, key: Key, number: f64, source: &str) -> Result<(), Impossible> {
        if key.shape() != Shape::Number {
            return Err(Impossible { reason: format!("`{key}` is not one number") });
        }
        check::value(key, number).map_err(|reason| Impossible { reason })?;
        let before = self.delay_per_byte();
        self.state(key, number, source);
        if key == Key::ClockDefault {
            self.id = self.board().to_owned();
            self.asked_clock = None;
            // A clock that was fitted with other parameters is a reading of the same clock.
            if self.number(Key::AnalyzerClock).is_some() {
                self.state(Key::AnalyzerClock, number, source);
            }
        }
        if let (Some(before), Some(after)) = (before, self.delay_per_byte())
            && before != after
            && !DEPARTURE_DELAYS.contains(&key)
        {
            for delay in DEPARTURE_DELAYS {
                if let Some(seconds) = self.number(delay) {
                    self.state(delay, seconds * after / before, &format!("follows {source}"));
                }
            }
        }
        Ok(())
    }

    /// Supposes that `key` is `factor` times what it is.
    pub fn suppose_scaled(&mut self, key: Key, factor: f64, source: &str) -> Result<(), Impossible> {
        if key.shape() != Shape::Number {
            return Err(Impossible { reason: format!("`{key}` is not one number") });
        }
        let before = self.canonical(key).map_err(|missing| Impossible { reason: missing.to_string() })?;
        let number = before * factor;
        let tuned = self.number(Key::AnalyzerClock).filter(|_| self.asked_clock.is_none());
        // Half an SM is none; a factor means the nearest number that there can be.
        self.suppose(key, if check::is_whole(key) { number.round() } else { number }, source)?;
        if let (Key::ClockDefault, Some(tuned)) = (key, tuned) {
            self.state(Key::AnalyzerClock, tuned * factor, source);
        }
        Ok(())
    }

    /// SMs over bandwidth: the distance of an SM's bytes at full bandwidth, in seconds.
    fn delay_per_byte(&self) -> Option<f64> {
        let mut reader = Reader::new(self, Strictness::AllowInferred);
        Some(reader.need(Key::SmCount).ok()? / reader.memory_bandwidth().ok()?)
    }

    fn state(&mut self, key: Key, number: f64, source: &str) {
        let fact = Fact {
            value: Value::Number(number),
            basis: Basis::WhatIf,
            source: source.to_owned(),
            note: None,
            clock: None,
            stated_in: self.id.clone(),
        };
        self.facts.insert(key, fact);
    }
}
