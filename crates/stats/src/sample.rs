//! The warps whose streams are looked at one by one, because their statistics have an order or cost much.
//!
//! At most 64 CTAs are looked at, one from each of as many equal parts of the grid. Its place in the part changes from
//! part to part, so that the CTAs are not all of one column of a grid. Each gives as many warps as make 64 together, but
//! at least one; they are evenly spaced in the CTA, and which is the first goes around from CTA to CTA.

use warplens_trace::WarpIndex;

/// Warps that are looked at when there are enough.
const WARPS: usize = 64;

/// Position, among `n` CTAs, of the one that stands for part `index` of `n_parts`.
pub(crate) fn place(index: u64, n: u64, n_parts: u64) -> u64 {
    let (start, end) = (index * n / n_parts, (index + 1) * n / n_parts);
    // The fractions of the multiples of the golden ratio are spread evenly, whatever their number.
    let fraction = index.wrapping_mul(0x9e37_79b9) & 0xffff_ffff;
    start + ((u128::from(end - start) * u128::from(fraction)) >> 32) as u64
}

/// What is kept for the warps of a running CTA that are looked at.
#[derive(Debug)]
pub(crate) struct Warps<T> {
    /// By warp of the CTA. Few are looked at, and what is kept for one is large.
    warps: Vec<Option<Box<T>>>,
}

impl<T: Default> Warps<T> {
    /// The warps of the CTA that is number `at` of `n_ctas` that are looked at.
    pub(crate) fn new(n_warps: usize, at: usize, n_ctas: usize) -> Self {
        let mut warps: Vec<Option<Box<T>>> = std::iter::repeat_with(|| None).take(n_warps).collect();
        let n = (WARPS / n_ctas.max(1)).clamp(1, n_warps.max(1));
        for index in 0..n {
            if let Some(warp) = warps.get_mut((index * n_warps / n + at) % n_warps.max(1)) {
                *warp = Some(Box::default());
            }
        }
        Self { warps }
    }

    /// What is kept for a warp, if it is looked at.
    #[inline]
    pub(crate) fn get(&mut self, warp: WarpIndex) -> Option<&mut T> {
        self.warps[warp.0 as usize].as_deref_mut()
    }

    /// All of them.
    pub(crate) fn into_all(self) -> impl Iterator<Item = Box<T>> {
        self.warps.into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_not_all_of_one_column() {
        // 64 rows of 32 CTAs.
        let places: Vec<u64> = (0..64).map(|index| place(index, 2048, 64)).collect();
        assert!(places.iter().zip(0..).all(|(place, row)| place / 32 == row));
        let mut columns: Vec<u64> = places.iter().map(|place| place % 32).collect();
        columns.sort_unstable();
        columns.dedup();
        assert_eq!(columns.len(), 32);
    }

    #[test]
    fn a_small_grid_is_looked_at_as_a_whole() {
        let places: Vec<u64> = (0..5).map(|index| place(index, 5, 5)).collect();
        assert_eq!(places, [0, 1, 2, 3, 4]);
    }
}
