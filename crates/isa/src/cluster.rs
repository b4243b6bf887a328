//! Shared memory of the CTAs of a cluster: how their addresses lie (`.shared::cluster`).
//!
//! PTX leaves the layout open. Here an address below the first window is that of the CTA that uses it, whatever its rank,
//! so that variables have the same addresses in all CTAs; the window of rank `n` begins `n + 1` windows further, and is the
//! same for all CTAs of the cluster. On GPUs a CTA's own addresses lie in its window of the cluster: there such an
//! address means the same memory in all CTAs, here it means that only after `mapa`.

/// Bits of an address inside of a window: far more than the shared memory of any CTA.
pub const CLUSTER_WINDOW_BITS: u32 = 24;

/// First target with clusters, as in `sm_90`.
pub const FIRST_CLUSTER_TARGET: u32 = 90;

/// Most CTAs of a cluster, where the kernel allows more than every GPU has room for.
pub const MOST_CLUSTER_CTAS: u32 = 16;

/// Most CTAs of a cluster that every GPU with clusters can run.
pub const PORTABLE_CLUSTER_CTAS: u32 = 8;

/// First address of a CTA's shared memory, as all CTAs of its cluster see it.
pub const fn cluster_window(rank: u32) -> u64 {
    (rank as u64 + 1) << CLUSTER_WINDOW_BITS
}

/// The CTA whose window an address of shared memory lies in; none for the own one of whoever uses it, and for what is no
/// address of shared memory.
#[inline(always)]
pub const fn cluster_rank(address: u64) -> Option<u32> {
    match address >> CLUSTER_WINDOW_BITS {
        window @ 1..256 => Some(window as u32 - 1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{cluster_rank, cluster_window};

    #[test]
    fn windows_tell_their_rank() {
        assert_eq!([0, 64, cluster_window(0) - 1].map(cluster_rank), [None; 3]);
        for rank in 0..16 {
            let window = cluster_window(rank);
            assert_eq!([window, window + 1, cluster_window(rank + 1) - 1].map(cluster_rank), [Some(rank); 3]);
        }
        assert_eq!([1 << 32, u64::MAX].map(cluster_rank), [None; 2]);
    }
}
