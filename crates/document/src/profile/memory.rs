//! Counts of memory.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Held;
use crate::words::words;

words! {
    /// A coalescing rule, named after the compute capability that introduced it.
    "rule" CoalescingRule {
        /// cc 1.0 and 1.1.
        Cc10 = "1.0",
        /// cc 1.2 and 1.3.
        Cc12 = "1.2",
        /// cc 2.x.
        Cc20 = "2.0",
        /// cc 2.x with the L1 off.
        Cc20L1Off = "2.0-l1off",
        /// cc 3.x.
        Cc30 = "3.0",
        /// cc 5.x and 6.x.
        Cc50 = "5.0",
        /// cc 7.0 and later.
        Cc70 = "7.0",
    }

    /// A rule of shared-memory banks, named after the compute capability that introduced it; `2.0` holds for 5.x and
    /// later, too.
    "rule" BankRule {
        /// cc 1.x.
        Cc10 = "1.0",
        /// cc 2.x, 5.x and later.
        Cc20 = "2.0",
        /// cc 3.x.
        Cc30 = "3.0",
    }
}

/// Requests and transactions to global or local memory under one rule. Those of an instruction are all there, but for
/// the ideal ones.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Warp-level memory instructions with an active lane. Nsight Compute:
    /// `l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum` and its siblings.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub requests: Held<u64>,
    /// Requests that load.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub loads: Held<u64>,
    /// Requests that store.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub stores: Held<u64>,
    /// Requests that are atomic.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub atomics: Held<u64>,
    /// 32-byte transactions; from rule 3.0 on there are no others. Nsight Compute:
    /// `l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum`.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub t32: Held<u64>,
    /// 64-byte transactions.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub t64: Held<u64>,
    /// 128-byte transactions.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub t128: Held<u64>,
    /// 128-byte lines, from rule 2.0 on.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub lines: Held<u64>,
    /// Requests with the fewest possible transactions.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub coalesced: Held<u64>,
    /// The other requests.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub uncoalesced: Held<u64>,
    /// Transactions of the coalesced requests.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub coalesced_transactions: Held<u64>,
    /// Transactions of the others.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub uncoalesced_transactions: Held<u64>,
    /// 32-byte transactions if the distinct bytes of each request lay side by side; left out where nobody counted
    /// them. Nsight Compute: `memory_l2_theoretical_sectors_global_ideal`.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub ideal_t32: Held<u64>,
    /// The same of 64 bytes.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub ideal_t64: Held<u64>,
    /// The same of 128 bytes.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub ideal_t128: Held<u64>,
    /// Bytes that lanes ask for.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub bytes_requested: Held<u64>,
    /// Bytes that transactions move; they follow from the transactions.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub bytes_moved: Held<u64>,
}

/// Requests to shared memory under one rule. Those of an instruction are all there.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shared {
    /// Warp-level instructions with an active lane.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub requests: Held<u64>,
    /// Requests that load.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub loads: Held<u64>,
    /// Requests that store.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub stores: Held<u64>,
    /// Requests that are atomic.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub atomics: Held<u64>,
    /// Requests with a bank conflict.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub conflicted: Held<u64>,
    /// 1 for a request without conflict, n for one with an n-way conflict.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub passes: Held<u64>,
    /// Passes of every half-warp (1.x) and of every phase of a wide access. Nsight Compute:
    /// `l1tex__data_pipe_lsu_wavefronts_mem_shared.sum`.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub wavefronts: Held<u64>,
    /// Wavefronts that the requests would take without any conflict.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub ideal_wavefronts: Held<u64>,
}

/// Requests to constant memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Constant {
    /// Warp-level loads.
    pub requests: u64,
    /// Distinct words that they read.
    pub passes: u64,
}
