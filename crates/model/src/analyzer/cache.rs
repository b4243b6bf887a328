//! Loads that hit in the L1: what the thesis, whose GPUs had none, leaves out.
//!
//! A warp owns an equal share of the L1. A load hits when its reuse distance, the bytes that its warp has loaded since it
//! last loaded the same data, fits into that share. Hits cost no transaction of DRAM and the latency of the L1; a batch of
//! loads waits for DRAM as soon as one of them misses. What other warps loaded, and the L2, are not modelled.

use warplens_machine::{Key, Reader};
use warplens_stats::Profile;

use crate::assumption::AssumptionId;
use crate::residency::Residency;
use crate::workload::Workload;
use crate::x_model::machine::{cache_bytes, l1_distances, loads_pass_l1};
use crate::{Assumption, CacheHits, Options, Reading, Refusal};

/// What the L1 does for a workload.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Hits {
    /// Share of the loads that hit.
    pub(super) hits: f64,
    /// Bytes of the L1 that a warp owns.
    share_bytes: f64,
    /// Cycles of a hit.
    latency: f64,
}

/// The hits of a profile's loads; none where loads do not pass the L1, nobody followed them, or nothing is loaded again.
pub(super) fn hits(
    profile: &Profile,
    workload: &Workload,
    residency: &Residency,
    options: &Options,
    reader: &mut Reader<'_>,
) -> Result<Option<Hits>, Refusal> {
    let cc = reader.machine().cc;
    let wanted = options.reading == Reading::Documented && options.cache == CacheHits::Modelled;
    let known = reader.machine().number(Key::LatencyL1).is_some() && reader.machine().number(Key::L1Size).is_some();
    let Some(reuse) =
        profile.statistics.reuse.as_ref().filter(|_| wanted && known && loads_pass_l1(cc, options.fermi_l1))
    else {
        return Ok(None);
    };
    if workload.loads.count() == 0.0 {
        return Ok(None);
    }
    let shared = residency.ctas_per_sm * profile.launch.shared_bytes as f64;
    let share_bytes = cache_bytes(reader, shared)? / residency.warps();
    let hits = l1_distances(reuse, reader)?.miss(share_bytes as u64).map_or(0.0, |miss| 1.0 - miss);
    if hits == 0.0 {
        return Ok(None);
    }
    Ok(Some(Hits { hits, share_bytes, latency: reader.need(Key::LatencyL1)? }))
}

impl Hits {
    /// Mean cycles of a request where one to DRAM takes `dram`: a share `loads` of the requests loads, in batches of
    /// `independent_loads`.
    pub(super) fn mean_latency(&self, loads: f64, independent_loads: f64, dram: f64) -> f64 {
        // The misses fall on as many batches as they can.
        let waits = ((1.0 - self.hits) * independent_loads).min(1.0);
        let of_loads = self.latency.min(dram) + (dram - self.latency).max(0.0) * waits;
        loads * of_loads + (1.0 - loads) * dram
    }

    pub(super) fn assumption(&self) -> Assumption {
        AssumptionId::L1Hits.with(format!("{:.1} % in {:.0} B per warp", 100.0 * self.hits, self.share_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_waits_for_dram_when_one_of_its_loads_misses() {
        let hits = |hits| Hits { hits, share_bytes: 1024.0, latency: 30.0 };
        assert_eq!(hits(1.0).mean_latency(1.0, 3.0, 500.0), 30.0);
        assert_eq!(hits(2.0 / 3.0).mean_latency(1.0, 3.0, 500.0), 500.0);
        assert_eq!(hits(0.5).mean_latency(1.0, 1.0, 500.0), 265.0);
        // Stores go to memory.
        assert_eq!(hits(0.5).mean_latency(0.5, 1.0, 500.0), 0.5 * 265.0 + 250.0);
    }
}
