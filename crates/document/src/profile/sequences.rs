//! What is known of the order in which warps did things.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::CoalescingRule;
use crate::{Amount, Named};

/// Reuse distances of global loads.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reuse {
    /// Warps that were looked at.
    pub warps: u64,
    /// Their global loads that were followed.
    pub requests: u64,
    /// Their global loads beyond the first 65,536 sectors of a warp.
    pub requests_left_out: u64,
    /// In units of 128 bytes.
    pub lines: Histogram,
    /// In units of 32 bytes.
    pub sectors: Histogram,
}

/// Loads of units by how far back the unit was loaded before.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Histogram {
    /// Loads; a request counts once for each unit.
    pub accesses: u64,
    /// First loads of a unit.
    pub cold: u64,
    /// Repeated loads by the largest distance of their bucket in bytes.
    pub distances: Named<String, u64>,
}

/// Calculate periods: a computation task and the memory task that follows it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Periods {
    /// Warps that were looked at.
    pub warps: u64,
    /// The different periods.
    pub kinds: Vec<Period>,
    /// The different sequences, the most frequent first.
    pub streams: Vec<Stream>,
}

/// A kind of period.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Period {
    /// Executions in the warps that were looked at.
    pub executions: u64,
    /// Instructions by kind, such as `add.int32.register`.
    pub computation_task: Named<String, u64>,
    /// Memory instructions by kind.
    pub memory_task: Named<String, u64>,
    /// Bytes that an execution asks for, the mean.
    pub bytes_requested: Amount,
    /// Transactions of an execution by coalescing rule, the mean.
    pub transactions: Named<CoalescingRule, Amount>,
}

/// A sequence of periods.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stream {
    /// Warps that have it.
    pub warps: u64,
    /// Periods of such a warp behind the end of a sequence that became too long.
    pub left_out: u64,
    /// The sequence.
    pub parts: Vec<Part>,
}

/// A part of a sequence.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Part {
    /// An index into `kinds`.
    Period(u64),
    /// Parts that are repeated.
    Repeated(Repeated),
}

/// Parts that are repeated.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Repeated {
    /// How often.
    pub times: u64,
    /// What.
    pub body: Vec<Part>,
}
