//! The generic address space: a window for each state space, everything else is global.

use warplens_isa::StateSpace;

/// First addresses of the windows and of global memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Windows {
    shared: u64,
    local: u64,
    constant: u64,
    param: u64,
    end: u64,
    pub(crate) global: u64,
    /// Behind the last address of global memory.
    pub(crate) last: u64,
}

impl Windows {
    /// Windows for addresses of 64 bits, or 32.
    pub(crate) const fn new(address_bits: u32) -> Self {
        if address_bits == 32 {
            let (shared, local, constant, param) = (0x0100_0000, 0x0200_0000, 0x0300_0000, 0x0400_0000);
            Self { shared, local, constant, param, end: 0x0500_0000, global: 0x1000_0000, last: 1 << 32 }
        } else {
            let base = 0x7e00_0000_0000;
            let size = 1 << 32;
            Self {
                shared: base,
                local: base + size,
                constant: base + 2 * size,
                param: base + 3 * size,
                end: base + 4 * size,
                global: 0x7f00_0000_0000,
                last: 1 << 62,
            }
        }
    }

    /// Bytes of a window.
    pub(crate) const fn size(self) -> u64 {
        self.local - self.shared
    }

    /// Bits of an address.
    pub(crate) const fn bits(self) -> u32 {
        if self.last > 1 << 32 { 64 } else { 32 }
    }

    /// Generic address of the first byte of a space; 0 for global memory.
    pub(crate) const fn base(self, space: StateSpace) -> u64 {
        match space {
            StateSpace::Shared => self.shared,
            StateSpace::Local => self.local,
            StateSpace::Const => self.constant,
            StateSpace::Param => self.param,
            StateSpace::Global | StateSpace::Generic | StateSpace::Texture | StateSpace::Surface => 0,
        }
    }

    /// The space that a generic address belongs to.
    #[inline(always)]
    pub(crate) const fn space_of(self, address: u64) -> StateSpace {
        if address < self.shared || address >= self.end {
            StateSpace::Global
        } else if address < self.local {
            StateSpace::Shared
        } else if address < self.constant {
            StateSpace::Local
        } else if address < self.param {
            StateSpace::Const
        } else {
            StateSpace::Param
        }
    }
}

/// True for addresses so low that they come from a null pointer.
pub(crate) const fn page_is_null(address: u64) -> bool {
    address < 4096
}
