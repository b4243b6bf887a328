//! Warps that multiply matrices together: four neighbours, which all come to the same products in the same order.
//!
//! Each warp makes its part on its own ([`group`](crate::access)), when it comes there, and goes on when all have come: what
//! one of them does behind a product, such as giving back the memory of the factors, it does for all. That warps miss a
//! product, or come to another one, is no result but an error.

use std::collections::VecDeque;

use warplens_isa::Pc;

use crate::cta::{Blocked, BlockedAt, Cta, Warp};
use crate::divergence::Path;
use crate::engine::{BlockEnd, Engine};

/// Warps of a group.
pub(crate) const WARPS: usize = 4;

/// The products that the warps of a CTA have come to, by group.
#[derive(Default)]
pub(crate) struct Warpgroups(Vec<Products>);

/// Those of one group.
#[derive(Default)]
struct Products {
    /// To which some warp has come, and not all.
    open: VecDeque<Pc>,
    /// Products to which all have come.
    n_closed: u64,
    /// Products to which each warp has come.
    counts: [u64; WARPS],
}

/// A warp that is not where the others of its group are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Parted {
    /// The warp in the CTA.
    pub(crate) warp: usize,
    /// The product that it has come to, or is missing at.
    pub(crate) at: Pc,
    /// The product that others have come to in its place; none if the warp itself did not come.
    pub(crate) others: Option<Pc>,
}

impl Warpgroups {
    /// A warp of so many comes to a product.
    pub(crate) fn come(&mut self, warp: usize, n_warps: usize, at: Pc) -> Result<(), Parted> {
        let (group, own) = (warp / WARPS, warp % WARPS);
        if n_warps < (group + 1) * WARPS {
            return Err(Parted { warp: n_warps, at, others: None });
        }
        if self.0.len() <= group {
            self.0.resize_with(group + 1, Products::default);
        }
        let products = &mut self.0[group];
        match products.open.get((products.counts[own] - products.n_closed) as usize) {
            None => products.open.push_back(at),
            Some(&others) if others != at => return Err(Parted { warp, at, others: Some(others) }),
            Some(_) => {}
        }
        products.counts[own] += 1;
        if products.counts.iter().all(|&count| count > products.n_closed) {
            products.open.pop_front();
            products.n_closed += 1;
        }
        Ok(())
    }

    /// True when all warps of a group have come to the products that one of them has come to.
    pub(crate) fn are_together(&self, warp: usize) -> bool {
        self.0.get(warp / WARPS).is_none_or(|products| products.counts[warp % WARPS] <= products.n_closed)
    }

    /// A warp that has ended without a product to which others of its group have come.
    pub(crate) fn missing(&self, has_ended: impl Fn(usize) -> bool) -> Option<Parted> {
        self.0.iter().enumerate().find_map(|(group, products)| {
            let &at = products.open.front()?;
            let of_group = products.counts.iter().enumerate().map(|(own, &count)| (group * WARPS + own, count));
            let mut missing = of_group.filter(|&(warp, count)| count == products.n_closed && has_ended(warp));
            missing.next().map(|(warp, _)| Parted { warp, at, others: None })
        })
    }
}

/// Lets a path wait behind a product until all warps of its group have come to it.
pub(crate) fn wait_for_group<E: Engine>(warp: &mut Warp<E>, path: &mut Path, operation: u32) -> BlockEnd {
    path.operation = Some(operation + 1);
    warp.blocked.push(Blocked { path: path.clone(), at: BlockedAt::Group { operation } });
    path.mask = 0;
    BlockEnd::Blocked
}

/// Lets paths go on where all warps of their group have come.
pub(crate) fn release_groups<E: Engine, R>(cta: &mut Cta<E, R>) {
    let Cta { warps, warpgroups, .. } = cta;
    for (index, warp) in warps.iter_mut().enumerate().filter(|(_, warp)| warp.waits_for_group()) {
        if warpgroups.are_together(index) {
            let waits = |blocked: &mut Blocked| matches!(blocked.at, BlockedAt::Group { .. });
            warp.runnable.extend(warp.blocked.extract_if(.., waits).map(|blocked| blocked.path));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warps_of_a_group_come_to_the_same_products() {
        let mut groups = Warpgroups::default();
        for warp in [5, 4, 4, 7, 6, 6, 5, 7] {
            let n_before = groups.0.get(1).map_or(0, |products| products.counts[warp % 4]);
            assert_eq!(groups.come(warp, 8, Pc(n_before as u32)), Ok(()));
        }
        assert_eq!(groups.missing(|_| true), None);
        assert_eq!(groups.come(0, 8, Pc(9)), Ok(()));
        assert_eq!(groups.missing(|_| true), Some(Parted { warp: 1, at: Pc(9), others: None }));
        assert_eq!(groups.missing(|warp| warp == 3), Some(Parted { warp: 3, at: Pc(9), others: None }));
        assert_eq!(groups.missing(|warp| warp == 0), None);
        assert_eq!(groups.come(2, 8, Pc(8)), Err(Parted { warp: 2, at: Pc(8), others: Some(Pc(9)) }));
    }

    #[test]
    fn a_group_has_four_warps() {
        assert_eq!(Warpgroups::default().come(4, 6, Pc(1)), Err(Parted { warp: 6, at: Pc(1), others: None }));
    }
}
