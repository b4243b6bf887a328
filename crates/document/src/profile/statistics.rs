//! What statistics counted: a key of the profile for each.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Periods, Reuse};

/// Results of statistics. A key that is missing, or `null`, is a statistic that was not counted.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Statistics {
    /// Reuse distances of the global loads of some warps, each warp by itself; not scaled. `null` where only counts are
    /// known.
    #[serde(default)]
    pub reuse: Option<Reuse>,
    /// Calculate periods of some warps; not scaled. `null` where only counts are known.
    #[serde(default)]
    pub periods: Option<Periods>,
}
