//! What the warps of some CTAs executed, in order: blocks with their masks, and the addresses of memory accesses.
//!
//! A trace is independent of the machine: which instructions a block has is said by the [`Code`](crate::Code) of a
//! generation, and a memory instruction finds its accesses by the slot, wherever a schedule has put it.

use std::sync::Arc;

use warplens_isa::StateSpace;

use crate::{AccessKind, ActiveMask, CtaId, WARP_SIZE};

/// The warps of one CTA.
#[derive(Clone, PartialEq, Debug)]
pub struct CtaTrace {
    /// Which CTA of the grid.
    pub id: CtaId,
    /// Its warps, by their index. Shared, because one trace serves many simulations.
    pub warps: Arc<[WarpTrace]>,
}

/// What one warp executed.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct WarpTrace {
    /// Blocks in the order of execution; the paths of a divergent warp come one after the other.
    pub steps: Vec<Step>,
    /// Accesses in the order of the steps.
    pub accesses: Vec<WarpAccess>,
    /// Addresses that follow no rule: 32 for each such access.
    pub addresses: Vec<u64>,
}

/// One execution of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// The block, as [`Code::blocks`](crate::Code::blocks) numbers it.
    pub block: u32,
    /// The first access of the step in [`WarpTrace::accesses`]; it has those up to the first of the next step.
    pub first_access: u32,
    /// Lanes that execute it.
    pub mask: ActiveMask,
}

/// One request of a warp. A generic access to several spaces makes several, with the same slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WarpAccess {
    /// Which memory instruction of the block.
    pub slot: u16,
    /// Bytes of one element.
    pub element_bytes: u8,
    /// Elements per lane.
    pub elements: u8,
    /// State space; never generic.
    pub space: StateSpace,
    /// Load, store or atomic.
    pub kind: AccessKind,
    /// Lanes that access memory; never empty.
    pub mask: ActiveMask,
    /// Addresses of the lanes.
    pub lanes: Lanes,
}

/// Addresses of the lanes of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lanes {
    /// Lane `i` accesses `base + i * stride`; lanes outside the mask count along.
    Affine {
        /// Address of lane 0, whether or not it takes part.
        base: u64,
        /// Bytes from lane to lane.
        stride: i64,
    },
    /// 32 addresses from this index of [`WarpTrace::addresses`].
    Listed(u32),
}

impl WarpTrace {
    /// Appends an execution of a block.
    pub fn push_step(&mut self, block: u32, mask: ActiveMask) {
        let first_access = u32::try_from(self.accesses.len()).expect("fewer than 2^32 accesses of a warp");
        self.steps.push(Step { block, first_access, mask });
    }

    /// Appends an access to the last step; its slot is not below that of the step's last access.
    #[allow(clippy::too_many_arguments)]
    pub fn push_access(
        &mut self,
        slot: u16,
        space: StateSpace,
        kind: AccessKind,
        (element_bytes, elements): (u8, u8),
        mask: ActiveMask,
        addresses: &[u64; WARP_SIZE],
    ) {
        let lanes = Lanes::affine(mask, addresses).unwrap_or_else(|| {
            let index = u32::try_from(self.addresses.len()).expect("fewer than 2^32 addresses of a warp");
            self.addresses.extend_from_slice(addresses);
            Lanes::Listed(index)
        });
        let last = self.steps.last().map_or(0, |step| step.first_access as usize);
        debug_assert!(self.accesses[last..].last().is_none_or(|access| access.slot <= slot), "accesses go by slots");
        self.accesses.push(WarpAccess { slot, element_bytes, elements, space, kind, mask, lanes });
    }

    /// The accesses of the step with this index.
    pub fn accesses_of(&self, step: usize) -> &[WarpAccess] {
        let end = self.steps.get(step + 1).map_or(self.accesses.len(), |next| next.first_access as usize);
        &self.accesses[self.steps[step].first_access as usize..end]
    }

    /// The accesses of one memory instruction in a step: mostly one, none where no lane accesses memory.
    pub fn accesses_at(&self, step: usize, slot: u16) -> &[WarpAccess] {
        let accesses = self.accesses_of(step);
        let is_first = |index: usize| {
            accesses.get(index).is_some_and(|access| access.slot == slot)
                && (index == 0 || accesses[index - 1].slot != slot)
        };
        // Where every instruction has one access, the slot is the index.
        let guess = usize::from(slot);
        let first = if is_first(guess) { guess } else { accesses.partition_point(|access| access.slot < slot) };
        let count = accesses[first..].iter().take_while(|access| access.slot == slot).count();
        &accesses[first..first + count]
    }

    /// Writes the addresses of an access; those of lanes outside its mask mean nothing.
    pub fn expand(&self, access: &WarpAccess, into: &mut [u64; WARP_SIZE]) {
        match access.lanes {
            Lanes::Affine { base, stride } => {
                let mut address = base;
                for lane in into {
                    *lane = address;
                    address = address.wrapping_add_signed(stride);
                }
            }
            Lanes::Listed(index) => into.copy_from_slice(&self.addresses[index as usize..index as usize + WARP_SIZE]),
        }
    }
}

impl Lanes {
    /// The rule that the addresses of the lanes in `mask` follow, if they follow one.
    pub fn affine(mask: ActiveMask, addresses: &[u64; WARP_SIZE]) -> Option<Self> {
        let first = mask.lowest()?;
        let rest = ActiveMask(mask.0 & (mask.0 - 1));
        let Some(second) = rest.lowest() else {
            return Some(Self::Affine { base: addresses[first], stride: 0 });
        };
        let difference = addresses[second].wrapping_sub(addresses[first]).cast_signed();
        let apart = i64::try_from(second - first).expect("fewer than 32 lanes");
        if difference % apart != 0 {
            return None;
        }
        let stride = difference / apart;
        let base = addresses[first].wrapping_sub((first as u64).wrapping_mul(stride.cast_unsigned()));
        let of = |lane: usize| base.wrapping_add((lane as u64).wrapping_mul(stride.cast_unsigned()));
        rest.lanes().all(|lane| addresses[lane] == of(lane)).then_some(Self::Affine { base, stride })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_back_as_they_were() {
        let rows: [u64; WARP_SIZE] = std::array::from_fn(|lane| 4096 - 12 * lane as u64);
        let mut scattered = rows;
        scattered[7] += 4;
        let mut warp = WarpTrace::default();
        warp.push_step(3, ActiveMask::FULL);
        let mask = ActiveMask(0xf0f0_00f0);
        for addresses in [&rows, &scattered] {
            warp.push_access(0, StateSpace::Global, AccessKind::Load, (4, 1), mask, addresses);
        }
        warp.push_step(4, ActiveMask::FULL);
        warp.push_access(1, StateSpace::Shared, AccessKind::Store, (8, 2), ActiveMask(2), &rows);
        assert_eq!((warp.accesses_of(0).len(), warp.accesses_of(1).len()), (2, 1));
        assert_eq!((warp.accesses_at(0, 0).len(), warp.accesses_at(0, 1).len()), (2, 0));
        assert_eq!((warp.accesses_at(1, 0).len(), warp.accesses_at(1, 1)), (0, &warp.accesses[2..]));
        assert_eq!(warp.addresses.len(), WARP_SIZE);
        for (access, addresses) in warp.accesses.iter().zip([&rows, &scattered, &rows]) {
            let mut expanded = [0; WARP_SIZE];
            warp.expand(access, &mut expanded);
            assert!(access.mask.lanes().all(|lane| expanded[lane] == addresses[lane]), "{access:?}");
        }
    }
}
