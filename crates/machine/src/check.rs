//! What must hold between the values of one machine.

use crate::key::Key;
use crate::machine::Machine;
use crate::plausible;
use crate::value::Value;

/// By how much a data sheet's rounded bandwidth may differ from bus width times transfer rate.
const BANDWIDTH_TOLERANCE: f64 = 0.01;

/// Findings about the stated values: the parameter to blame, and what is wrong, as a clause.
pub(crate) fn identities(machine: &Machine) -> Vec<(Key, String)> {
    let mut findings = Vec::new();
    let number = |key| machine.number(key);
    let mut require = |holds: bool, key: Key, message: String| {
        if !holds {
            findings.push((key, message));
        }
    };
    if let (Some(peak), Some(bits), Some(rate)) =
        (number(Key::DramPeakBandwidth), number(Key::DramBusBits), number(Key::DramTransferRate))
    {
        let product = bits / 8.0 * rate;
        require(
            (peak / product - 1.0).abs() <= BANDWIDTH_TOLERANCE,
            Key::DramPeakBandwidth,
            format!("`{}` is not bus width x transfer rate = {:.1} GB/s", Key::DramPeakBandwidth, product / 1e9),
        );
    }
    if let (Some(threads), Some(warps)) = (number(Key::LimitsMaxThreads), number(Key::LimitsMaxWarps)) {
        require(threads == 32.0 * warps, Key::LimitsMaxThreads, "resident threads are not 32 x resident warps".into());
    }
    for (low, high) in ORDERED {
        if let (Some(less), Some(more)) = (number(*low), number(*high)) {
            require(less <= more, *low, format!("`{low}` is above `{high}`"));
        }
    }
    for key in WHOLE {
        if let Some(value) = number(*key) {
            require(value.fract() == 0.0, *key, format!("`{key}` is not a whole number"));
        }
    }
    for key in POSITIVE {
        if let Some(value) = number(*key) {
            require(value > 0.0, *key, format!("`{key}` is 0"));
        }
    }
    let sizes = machine.fact(Key::SharedConfigurable).map(|fact| &fact.value);
    if let (Some(Value::List(sizes)), Some(bytes)) = (sizes, number(Key::SharedBytes)) {
        require(
            sizes.last() == Some(&bytes),
            Key::SharedConfigurable,
            format!("the largest of `{}` is not `{}`", Key::SharedConfigurable, Key::SharedBytes),
        );
    }
    if let (Some(l1), Some(l2), Some(sms)) = (number(Key::L1Size), number(Key::L2Size), number(Key::SmCount)) {
        require(
            l1 == 0.0 || l2 == 0.0 || l2 > l1,
            Key::L2Size,
            format!("the L2 cache is not above one L1 cache ({sms} SMs)"),
        );
    }
    findings
}

/// Why `number` cannot be the value of `key`, whatever the other values; in the canonical unit.
pub(crate) fn value(key: Key, number: f64) -> Result<(), String> {
    if !number.is_finite() || number < 0.0 {
        return Err(format!("`{key}` would be {number}"));
    }
    if WHOLE.contains(&key) && number.fract() != 0.0 {
        return Err(format!("`{key}` is a whole number, not {number}"));
    }
    if POSITIVE.contains(&key) && number == 0.0 {
        return Err(format!("`{key}` cannot be 0"));
    }
    plausible::check(key, number)
}

/// True for counts of things.
pub(crate) fn is_whole(key: Key) -> bool {
    WHOLE.contains(&key)
}

/// Pairs of which the first is at most the second.
const ORDERED: &[(Key, Key)] = &[
    (Key::DramAchievedBandwidth, Key::DramPeakBandwidth),
    (Key::DramOneWayBandwidth, Key::DramPeakBandwidth),
    (Key::XModelBandwidthFp64, Key::DramPeakBandwidth),
    (Key::ClockBase, Key::ClockBoost),
    (Key::ClockCore, Key::ClockHot),
    (Key::LatencyL2, Key::LatencyL2Far),
    (Key::LatencyL2, Key::DramLatency),
    (Key::LatencyL2Far, Key::DramLatency),
    (Key::LatencyShared, Key::LatencyL1),
    (Key::SharedMaxPerBlock, Key::SharedMaxPerBlockOptin),
    (Key::SharedMaxPerBlockOptin, Key::SharedBytes),
    (Key::LimitsMaxThreadsPerBlock, Key::LimitsMaxThreads),
    (Key::LimitsMaxRegistersPerBlock, Key::LimitsRegisters),
    (Key::LimitsRegAllocUnit, Key::LimitsRegisters),
    (Key::L1SectorBytes, Key::L1LineBytes),
    (Key::L2SectorBytes, Key::L2LineBytes),
    (Key::L1AchievedBytesPerClk, Key::L1BytesPerClk),
    (Key::LanesFp64, Key::LanesFp32),
    (Key::LaunchGraphOverhead, Key::LaunchOverhead),
    (Key::DramDepartureDelay32, Key::DramDepartureDelay128),
];

/// Counts that are whole numbers.
const WHOLE: &[Key] = &[
    Key::SmCount,
    Key::SmSubpartitions,
    Key::SmPerCluster,
    Key::LimitsMaxThreads,
    Key::LimitsMaxWarps,
    Key::LimitsMaxBlocks,
    Key::LimitsRegisters,
    Key::LimitsMaxRegistersPerBlock,
    Key::LimitsMaxRegsPerThread,
    Key::LimitsRegAllocUnit,
    Key::LimitsWarpAllocGranularity,
    Key::LimitsMaxThreadsPerBlock,
    Key::SharedBytes,
    Key::SharedMaxPerBlock,
    Key::SharedMaxPerBlockOptin,
    Key::SharedAllocGranularity,
    Key::SharedReservedPerBlock,
    Key::SharedBanks,
    Key::SharedBankWidth,
    Key::L1Size,
    Key::L1LineBytes,
    Key::L1SectorBytes,
    Key::L2Size,
    Key::L2LineBytes,
    Key::L2SectorBytes,
    Key::DramChannels,
    Key::DramInterleave,
    Key::IssueWidth,
    Key::LsuQueue,
];

/// Values that divide others.
const POSITIVE: &[Key] = &[
    Key::SmCount,
    Key::SmSubpartitions,
    Key::SmPerCluster,
    Key::SmIssuePerClk,
    Key::ClockDefault,
    Key::ClockHot,
    Key::ClockBase,
    Key::ClockBoost,
    Key::AnalyzerClock,
    Key::LanesFp32,
    Key::DramPeakBandwidth,
    Key::DramAchievedBandwidth,
    Key::DramOneWayBandwidth,
    Key::DramLatency,
    Key::LimitsMaxThreads,
    Key::LimitsMaxWarps,
    Key::LimitsMaxBlocks,
    Key::LimitsRegAllocUnit,
    Key::LimitsWarpAllocGranularity,
    Key::SharedAllocGranularity,
    Key::SharedBankWidth,
    Key::SharedBanks,
    Key::L1TagsPerClk,
    Key::L1BytesPerClk,
    Key::SharedClusterBytesPerClk,
    Key::L1AchievedBytesPerClk,
    Key::L2AchievedBandwidth,
    Key::L2SmBytesPerClk,
    Key::DramBusBits,
    Key::DramTransferRate,
    Key::XModelBandwidthFp64,
    Key::L1LineBytes,
    Key::L1SectorBytes,
    Key::L2LineBytes,
    Key::L2SectorBytes,
    Key::DramChannels,
    Key::DramInterleave,
    Key::IssueInterval,
    Key::IssueWidth,
    Key::LsuQueue,
];
