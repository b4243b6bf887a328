//! Between which bounds the numbers of a machine file make sense.
//!
//! They are far from any GPU, so that what-if questions have room. They keep what tables and loops are sized by within
//! reason, and what is computed from the numbers finite.

use crate::key::{Key, Scaling, Shape};
use crate::unit::Unit;

/// Highest clock in hertz: beyond is rather a number in another unit.
pub(crate) const HIGHEST_CLOCK: f64 = 20e9;

const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * KIB;
const TIB: f64 = 1024.0 * 1024.0 * MIB;

/// Most there can be of what the dimension does not say enough about.
const MOST: &[(Key, f64)] = &[
    (Key::SmCount, 65_536.0),
    (Key::SmSubpartitions, 64.0),
    (Key::SmPerCluster, 65_536.0),
    (Key::LimitsMaxThreads, 32_768.0),
    (Key::LimitsMaxWarps, 1024.0),
    (Key::LimitsMaxBlocks, 1024.0),
    (Key::LimitsMaxBarriers, 65_536.0),
    (Key::LimitsRegisters, 16_777_216.0),
    (Key::LimitsMaxRegistersPerBlock, 16_777_216.0),
    (Key::LimitsMaxRegsPerThread, 65_536.0),
    (Key::LimitsRegAllocUnit, 65_536.0),
    (Key::LimitsWarpAllocGranularity, 64.0),
    (Key::LimitsMaxThreadsPerBlock, 32_768.0),
    (Key::SharedBytes, 64.0 * MIB),
    (Key::SharedConfigurable, 64.0 * MIB),
    (Key::SharedMaxPerBlock, 64.0 * MIB),
    (Key::SharedMaxPerBlockOptin, 64.0 * MIB),
    (Key::SharedAllocGranularity, MIB),
    (Key::SharedReservedPerBlock, MIB),
    (Key::SharedBanks, 1024.0),
    (Key::SharedBankWidth, 1024.0),
    (Key::L1LineBytes, 64.0 * KIB),
    (Key::L1SectorBytes, 64.0 * KIB),
    (Key::L2LineBytes, 64.0 * KIB),
    (Key::L2SectorBytes, 64.0 * KIB),
    (Key::DramChannels, 65_536.0),
    (Key::DramInterleave, 16.0 * MIB),
    (Key::IssueWidth, 64.0),
    (Key::LsuQueue, 4096.0),
];

/// Most machine instructions of one lane kind that an operation becomes.
const MOST_INSTRUCTIONS: f64 = 4096.0;

/// What a number of `key` can be besides 0: the least and the most, in the unit in which it is kept.
pub(crate) fn bounds(key: Key) -> (f64, f64) {
    let (least, most) = match (key.shape(), key.scaling()) {
        (Shape::Mix, _) => (1e-6, MOST_INSTRUCTIONS),
        // Kept in seconds.
        (_, Scaling::WallTime) => of_unit(Unit::Seconds),
        (_, Scaling::Fixed) => of_unit(key.unit()),
    };
    let own = MOST.iter().find(|(of, _)| *of == key);
    (least, own.map_or(most, |&(_, most)| most))
}

const fn of_unit(unit: Unit) -> (f64, f64) {
    match unit {
        Unit::Count | Unit::PerCycle | Unit::BytesPerCycle | Unit::Cycles => (1e-6, 1e6),
        Unit::Hertz => (1e3, HIGHEST_CLOCK),
        Unit::Bytes => (1.0, TIB),
        Unit::Bits => (1.0, 1e9),
        // Nothing is sized by a bandwidth, and a question may take it to be endless.
        Unit::BytesPerSecond | Unit::TransfersPerSecond => (1e3, 1e24),
        Unit::Seconds => (1e-15, 1.0),
    }
}

/// The unit in which a parameter is kept.
const fn kept_in(key: Key) -> Unit {
    match key.scaling() {
        Scaling::WallTime => Unit::Seconds,
        Scaling::Fixed => key.unit(),
    }
}

/// Why `number` is beyond what `key` can be.
pub(crate) fn check(key: Key, number: f64) -> Result<(), String> {
    let (least, most) = bounds(key);
    if number == 0.0 || (least..=most).contains(&number) {
        return Ok(());
    }
    let symbol = kept_in(key).symbol();
    let with_unit = |number: f64| if symbol.is_empty() { number.to_string() } else { format!("{number} {symbol}") };
    let (word, bound) = if number > most { ("most", most) } else { ("least", least) };
    Err(format!("`{key}` is at {word} {}, not {}", with_unit(bound), with_unit(number)))
}

impl Key {
    /// The least and the most that a number of the parameter can be besides 0, in its canonical unit; in seconds where it
    /// follows the clock.
    pub fn bounds(self) -> (f64, f64) {
        bounds(self)
    }
}
