//! Textures, samplers and surfaces of a device, by handle.
//!
//! A handle is a number that is no address and is never given twice. An opaque variable of a module holds one: who
//! names the variable, or has its address, means the object whose handle it holds.

use warplens_isa::{OBJECT_TAG, OpaqueType};

use super::device::Device;
use crate::error::HandleFault;
use crate::texture::{Object, ObjectError};

/// Distance of handles, so that a number beside one is none.
const STRIDE: u64 = 0x20;
/// Bytes of a handle, and of an opaque variable.
pub(super) const HANDLE_BYTES: u64 = 8;

impl Device {
    /// Makes an object; returns its handle.
    pub fn create_object(&mut self, object: Object) -> Result<u64, ObjectError> {
        if let Some((address, bytes)) = object.check()?
            && !self.find(address).is_some_and(|_| self.holds(address, bytes))
        {
            return Err(ObjectError::Outside { address, bytes });
        }
        self.objects.push(Some(object));
        Ok(OBJECT_TAG + STRIDE * self.objects.len() as u64)
    }

    /// Takes an object away. Its handle names nothing any more.
    pub fn destroy_object(&mut self, handle: u64) -> Result<Object, HandleFault> {
        let index = self.object_index(handle).ok_or(HandleFault::Unknown)?;
        self.objects[index].take().ok_or(HandleFault::Destroyed)
    }

    /// The object of a handle.
    pub fn object(&self, handle: u64) -> Result<&Object, HandleFault> {
        let index = self.object_index(handle).ok_or(HandleFault::Unknown)?;
        self.objects[index].as_ref().ok_or(HandleFault::Destroyed)
    }

    fn object_index(&self, handle: u64) -> Option<usize> {
        let number = handle.checked_sub(OBJECT_TAG).filter(|offset| offset % STRIDE == 0)? / STRIDE;
        usize::try_from(number).ok()?.checked_sub(1).filter(|&index| index < self.objects.len())
    }

    /// The opaque variable at an address.
    pub(crate) fn opaque_at(&self, address: u64) -> Option<OpaqueType> {
        self.opaque.get(&address).copied()
    }

    /// What a value stands for as an object: that of a handle, or that of the opaque variable at an address.
    pub(crate) fn object_named(&self, value: u64, wanted: OpaqueType) -> Result<&Object, HandleFault> {
        let found = match self.opaque_at(value) {
            None => self.object(value)?,
            Some(opaque) => {
                let bytes = self.read_at(value, HANDLE_BYTES).unwrap_or_default();
                let handle = bytes.try_into().map_or(0, u64::from_le_bytes);
                if handle == 0 {
                    return Err(HandleFault::Unbound(opaque));
                }
                self.object(handle)?
            }
        };
        if found.opaque_type() != wanted {
            return Err(HandleFault::Other(found.opaque_type()));
        }
        match found.resource() {
            Some(resource) if self.find(resource.address).is_none() => Err(HandleFault::Freed),
            Some(_) | None => Ok(found),
        }
    }
}
