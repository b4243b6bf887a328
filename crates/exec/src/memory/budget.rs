//! How much memory the emulated device may take from the host.
//!
//! Whatever a program or a launch asks for is counted against a limit that the client gives, before it is allocated:
//! no input can make the process run out of memory.

use thiserror::Error;

/// Memory of the device that cannot be had.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// It is more than what is left.
    #[error("{what} `{name}` takes {bytes} bytes of device memory, and {left} of its {limit} bytes are left")]
    Full {
        /// What asked: a variable, a buffer.
        what: &'static str,
        /// Its name.
        name: String,
        /// Bytes asked for.
        bytes: u64,
        /// Bytes that were left.
        left: u64,
        /// Bytes that the device has.
        limit: u64,
    },
    /// The module's addresses are not those of the device.
    #[error("the module has addresses of {module} bits, and the device of {device}")]
    AddressBits {
        /// Bits of the module's addresses.
        module: u32,
        /// Bits of the device's addresses.
        device: u32,
    },
    /// An address is given out once, in ascending order.
    #[error(
        "nothing can be placed at {address:#x}: addresses are given out in ascending order, at multiples of {align}"
    )]
    Placed {
        /// The address asked for.
        address: u64,
        /// What it must be a multiple of.
        align: u64,
    },
    /// Addresses of the module's width do not reach it.
    #[error("{what} `{name}` takes {bytes} bytes, which addresses of {bits} bits do not reach")]
    Unreachable {
        /// What asked.
        what: &'static str,
        /// Its name.
        name: String,
        /// Bytes asked for.
        bytes: u64,
        /// Bits of an address.
        bits: u32,
    },
}

/// What is left of a limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    limit: u64,
    left: u64,
}

impl Budget {
    pub(crate) fn new(limit: u64) -> Self {
        Self { limit, left: limit }
    }

    /// Counts bytes, unless they are more than what is left or the host does not have them.
    pub(crate) fn take(&mut self, what: &'static str, name: &str, bytes: u64) -> Result<(), MemoryError> {
        let Self { limit, left } = *self;
        let full = || MemoryError::Full { what, name: name.to_owned(), bytes, left, limit };
        let rest = left.checked_sub(bytes).ok_or_else(full)?;
        let n_bytes = usize::try_from(bytes).map_err(|_| full())?;
        // Asks the host, which gives pages only when they are touched; what it refuses here would end the process later.
        Vec::<u8>::new().try_reserve_exact(n_bytes).map_err(|_| full())?;
        self.left = rest;
        Ok(())
    }

    /// Counts bytes as free again.
    pub(crate) fn give_back(&mut self, bytes: u64) {
        self.left += bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_gone() {
        let mut budget = Budget::new(100);
        assert_eq!([60, 0, 40].map(|bytes| budget.take("buffer", "a", bytes)), [Ok(()), Ok(()), Ok(())]);
        assert_eq!(
            budget.take("buffer", "a", 1).unwrap_err().to_string(),
            "buffer `a` takes 1 bytes of device memory, and 0 of its 100 bytes are left"
        );
    }

    #[test]
    fn what_the_host_does_not_have_is_refused() {
        let mut budget = Budget::new(u64::MAX);
        assert!(budget.take("buffer", "a", u64::MAX).is_err());
        assert!(budget.take("buffer", "a", 1 << 62).is_err());
        assert_eq!(budget.take("buffer", "a", 1 << 20), Ok(()), "a refusal takes nothing");
    }
}
