//! The addresses of an access, as those who see many of them want them.

use crate::WARP_SIZE;

/// Byte address per lane; meaningless in lanes that do not take part.
///
/// Most accesses of an instruction differ by a common offset only: they have a shape in common. Whoever makes the
/// accesses compares them with the last ones anyhow, and says so, so that nobody else has to do it again.
#[derive(Clone, Copy, Debug)]
pub struct Addresses<'a> {
    places: Places<'a>,
    shape: u64,
}

#[derive(Clone, Copy, Debug)]
enum Places<'a> {
    Listed(&'a [u64; WARP_SIZE]),
    From(u64, &'a [u32; WARP_SIZE]),
}

impl<'a> Addresses<'a> {
    /// `origin` plus each offset.
    #[inline(always)]
    pub const fn from_offsets(origin: u64, offsets: &'a [u32; WARP_SIZE]) -> Self {
        Self { places: Places::From(origin, offsets), shape: 0 }
    }

    /// The same, known to have a shape; the number is not 0.
    #[inline(always)]
    #[must_use]
    pub const fn with_shape(self, shape: u64) -> Self {
        Self { shape, ..self }
    }

    /// Number of the shape, or 0 where it is not known. Two accesses of the same number that one observer hears of are
    /// of one instruction, in one state space, of the same lanes, and equally far apart from lane to lane.
    #[inline(always)]
    pub const fn shape(&self) -> u64 {
        self.shape
    }

    /// The address of a lane.
    #[inline(always)]
    pub fn of(&self, lane: usize) -> u64 {
        match self.places {
            Places::Listed(addresses) => addresses[lane],
            Places::From(origin, offsets) => origin + u64::from(offsets[lane]),
        }
    }

    /// What `use_them` makes of the addresses of all lanes, which are not copied where they are listed already.
    #[inline(always)]
    pub fn listed<R>(&self, use_them: impl FnOnce(&[u64; WARP_SIZE]) -> R) -> R {
        match self.places {
            Places::Listed(addresses) => use_them(addresses),
            Places::From(..) => use_them(&self.all()),
        }
    }

    /// The addresses of all lanes.
    #[inline(always)]
    pub fn all(&self) -> [u64; WARP_SIZE] {
        match self.places {
            Places::Listed(addresses) => *addresses,
            Places::From(origin, offsets) => {
                // A loop: a closure that is given to `map` is not compiled for the vector unit of who calls it.
                let mut addresses = [origin; WARP_SIZE];
                for (address, &offset) in addresses.iter_mut().zip(offsets) {
                    *address += u64::from(offset);
                }
                addresses
            }
        }
    }
}

impl<'a> From<&'a [u64; WARP_SIZE]> for Addresses<'a> {
    #[inline(always)]
    fn from(addresses: &'a [u64; WARP_SIZE]) -> Self {
        Self { places: Places::Listed(addresses), shape: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_count_from_their_origin() {
        let offsets = std::array::from_fn(|lane| 100 - lane as u32);
        let addresses = Addresses::from_offsets(1 << 40, &offsets).with_shape(7);
        let listed = addresses.all();
        assert_eq!(
            (listed[0], listed[31], addresses.of(31), addresses.shape()),
            ((1 << 40) + 100, (1 << 40) + 69, (1 << 40) + 69, 7)
        );
        assert_eq!(Addresses::from(&listed).all(), listed);
        assert_eq!(addresses.listed(|all| *all), listed);
        assert!(Addresses::from(&listed).listed(|all| std::ptr::eq(all, &listed)), "they are not copied");
        assert_eq!((Addresses::from(&listed).of(5), Addresses::from(&listed).shape()), (listed[5], 0));
    }
}
