//! Memory of the host that the program registers, so that the device may look at it.
//!
//! The device has it at an address of its own, which is made when somebody asks for it.

use crate::runtime::Runtime;
use crate::status::{Result, Status};

/// Memory that was registered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Registered {
    bytes: u64,
    /// Where the device has it.
    device: Option<u64>,
}

impl Runtime {
    /// Registers memory of the host.
    pub fn register_host(&mut self, address: u64, bytes: u64) -> Result<()> {
        self.alive()?;
        let end = address.checked_add(bytes).filter(|_| address > 0 && bytes > 0).ok_or(Status::INVALID_VALUE)?;
        let before = self.registered.range(..end).next_back();
        let overlaps = before.is_some_and(|(&start, other)| start + other.bytes > address);
        if overlaps || self.pointer(address).is_some() {
            return Err(Status::ALREADY_REGISTERED);
        }
        self.registered.insert(address, Registered { bytes, device: None });
        Ok(())
    }

    /// It is the host's alone again.
    pub fn unregister_host(&mut self, address: u64) -> Result<()> {
        self.alive()?;
        let gone = self.registered.remove(&address).ok_or(Status::NOT_REGISTERED)?;
        gone.device.map_or(Ok(()), |device| self.release_for_host(device))
    }

    /// First address and bytes of the registered memory that an address of the host lies in.
    pub(crate) fn registered_at(&self, address: u64) -> Option<(u64, u64)> {
        let (&start, registered) = self.registered.range(..=address).next_back()?;
        (address - start < registered.bytes).then_some((start, registered.bytes))
    }

    /// Where the device has what lies at an address of the host that was registered.
    pub fn registered_on_device(&mut self, address: u64) -> Result<Option<u64>> {
        let Some((start, bytes)) = self.registered_at(address) else { return Ok(None) };
        let known = self.registered.get(&start).and_then(|registered| registered.device);
        let device = match known {
            Some(device) => device,
            None => self.allocate_for(start, bytes)?,
        };
        self.registered.insert(start, Registered { bytes, device: Some(device) });
        Ok(Some(device + (address - start)))
    }
}
