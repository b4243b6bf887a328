//! What the timing simulation follows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Code, Counts, Launch};
use crate::Held;
use crate::words::words;

/// What some blocks of the launch executed, with the machine code of some GPUs: what the timing simulation needs beside
/// the counts.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Recording {
    /// GPUs that it serves, by their identifiers, at any clock. On others the simulation refuses.
    pub gpus: Vec<String>,
    /// Digest of the launch and the counts that it goes with, in 16 hexadecimal digits: where they were edited, it is of
    /// another kernel, and the simulation refuses.
    pub counts_digest: String,
    /// How `data` is written: its number is another one where a later warplens writes it in another way.
    pub encoding: String,
    /// Bytes that the packed data hold.
    pub unpacked_bytes: u64,
    /// The data, packed by zlib, in Base64.
    pub data: String,
}

words! {
    /// GPUs on which launches run in the same way: `warps` before compute capability 7.0, where barriers wait for warps,
    /// `threads` from there on, where they wait for threads; and those of one generation of tensor cores.
    "generation" Generation {
        /// Before compute capability 7.0.
        Warps = "warps",
        /// From compute capability 7.0 on.
        Threads = "threads",
        /// 7.0 and 7.2.
        Volta = "volta",
        /// 7.5.
        Turing = "turing",
        /// 8.0 to 8.7.
        Ampere = "ampere",
        /// 8.9.
        Ada = "ada",
        /// 9.0.
        Hopper = "hopper",
        /// 10.x.
        Blackwell = "blackwell",
        /// 12.x.
        RtxBlackwell = "rtx-blackwell",
    }
}

/// The launch on other GPUs: of another generation, where it may have run differently, or with other code.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Elsewhere {
    /// Their generation, where it makes a difference.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub generation: Held<Generation>,
    /// What CUDA C++ was compiled for, such as `sm_90`: its GPUs, where others have code for another target.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub target: Held<String>,
    /// The launch, where it is another one than that of the counts above.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub launch: Held<Launch>,
    /// Why it does not run there; goes without `counts`.
    #[serde(default)]
    pub fails: Option<String>,
    /// The code that was counted there.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub code: Held<Code>,
    /// The counts there.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub counts: Held<Counts>,
    /// What the timing simulation needs beside them.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub recording: Held<Recording>,
}
