//! Memory of a context: allocations, copies, and what lies at an address.

use warplens_exec::{Marks, Place};

use crate::context::Context;
use crate::error::Error;
use crate::handle::Allocation;

/// Bytes that are copied at once: enough to be fast, little beside what is copied.
const CHUNK: u64 = 1 << 20;

/// What an address lies in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Location {
    /// The allocation, unless it is constant memory. Variables and the heap are allocations that cannot be freed.
    pub allocation: Option<Allocation>,
    /// Its name.
    pub name: String,
    /// Bytes from its start.
    pub offset: u64,
    /// Its size in bytes.
    pub bytes: u64,
}

impl Context {
    /// Allocates zeroed memory; `name` is what messages call it.
    pub fn allocate(&mut self, name: &str, bytes: u64) -> Result<Allocation, Error> {
        let id = self.device.allocate(name, bytes)?;
        self.owned.push(id);
        Ok(Allocation { owner: self.owner, id })
    }

    /// The same at an address behind all that were given out.
    pub fn place_at(&mut self, name: &str, address: u64, bytes: u64) -> Result<Allocation, Error> {
        let id = self.device.allocate_at(name, address, bytes)?;
        self.owned.push(id);
        Ok(Allocation { owner: self.owner, id })
    }

    /// Where what comes next is placed.
    pub fn marks(&self) -> Marks {
        self.device.marks()
    }

    /// Places what comes next here, and nothing before.
    pub fn advance(&mut self, marks: Marks) -> Result<(), Error> {
        Ok(self.device.advance(marks)?)
    }

    /// Addresses of memory that were given out.
    pub fn reach(&self) -> std::ops::Range<u64> {
        self.device.reach()
    }

    /// Frees memory. An access of a kernel to it is reported by its name from now on.
    pub fn free(&mut self, allocation: Allocation) -> Result<(), Error> {
        if allocation.owner != self.owner {
            return Err(Error::WrongContext);
        }
        let buffer = self.device.buffer(allocation.id);
        let (name, address) = (buffer.name.clone(), buffer.base);
        if self.owned.binary_search(&allocation.id).is_err() {
            return Err(Error::NoAllocation { address, nearest: self.device.nearest(address) });
        }
        if self.device.free(allocation.id) { Ok(()) } else { Err(Error::DoubleFree { name }) }
    }

    /// The allocation that starts at an address, also when it has been freed.
    pub fn allocation_at(&self, address: u64) -> Result<Allocation, Error> {
        let found = self.owned.binary_search_by_key(&address, |&id| self.device.buffer(id).base);
        match found {
            Ok(index) => Ok(Allocation { owner: self.owner, id: self.owned[index] }),
            Err(_) => Err(Error::NoAllocation { address, nearest: self.device.nearest(address) }),
        }
    }

    /// Address and size of an allocation.
    pub fn extent(&self, allocation: Allocation) -> Result<(u64, u64), Error> {
        if allocation.owner != self.owner {
            return Err(Error::WrongContext);
        }
        let buffer = self.device.buffer(allocation.id);
        match buffer.freed {
            None => Ok((buffer.base, buffer.bytes)),
            Some(_) => Err(Error::Freed { name: buffer.name.clone() }),
        }
    }

    /// What lies at an address.
    pub fn locate(&self, address: u64) -> Result<Location, Error> {
        match self.device.locate(address) {
            Some(Place::Buffer(id, offset)) => {
                let buffer = self.device.buffer(id);
                let allocation = Some(Allocation { owner: self.owner, id });
                Ok(Location { allocation, name: buffer.name.clone(), offset, bytes: buffer.bytes })
            }
            Some(Place::Constant { offset, bytes }) => {
                Ok(Location { allocation: None, name: "constant memory".to_owned(), offset, bytes })
            }
            None => Err(self.out_of_range(address, 1)),
        }
    }

    /// Copies bytes to the device.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Error> {
        if bytes.is_empty() {
            return Ok(());
        }
        let written = self.device.write_at(address, bytes);
        written.ok_or_else(|| self.out_of_range(address, bytes.len() as u64))
    }

    /// Copies bytes from the device.
    pub fn read(&self, address: u64, bytes: u64) -> Result<Vec<u8>, Error> {
        if bytes == 0 {
            return Ok(Vec::new());
        }
        self.device.read_at(address, bytes).ok_or_else(|| self.out_of_range(address, bytes))
    }

    /// Copies bytes inside of the device; the two ranges may overlap.
    pub fn copy(&mut self, to: u64, from: u64, bytes: u64) -> Result<(), Error> {
        self.check(to, bytes)?;
        self.check(from, bytes)?;
        // What is read last must not have been written before.
        let backwards = to > from;
        let mut done = 0;
        while done < bytes {
            let length = CHUNK.min(bytes - done);
            let offset = if backwards { bytes - done - length } else { done };
            let chunk = self.read(from + offset, length)?;
            self.write(to + offset, &chunk)?;
            done += length;
        }
        Ok(())
    }

    /// Writes a pattern `count` times, one after the other.
    pub fn fill(&mut self, address: u64, pattern: &[u8], count: u64) -> Result<(), Error> {
        if pattern.is_empty() {
            return Err(Error::EmptyPattern);
        }
        let width = pattern.len() as u64;
        let bytes = width.checked_mul(count).ok_or_else(|| self.out_of_range(address, u64::MAX))?;
        self.check(address, bytes)?;
        let per_chunk = (CHUNK / width).max(1);
        let chunk = pattern.repeat(per_chunk.min(count) as usize);
        let mut done = 0;
        while done < bytes {
            let length = (bytes - done).min(chunk.len() as u64);
            self.write(address + done, &chunk[..length as usize])?;
            done += length;
        }
        Ok(())
    }

    fn check(&self, address: u64, bytes: u64) -> Result<(), Error> {
        if bytes == 0 || self.device.holds(address, bytes) { Ok(()) } else { Err(self.out_of_range(address, bytes)) }
    }

    /// An access that lies in nothing, or in what was freed.
    fn out_of_range(&self, address: u64, bytes: u64) -> Error {
        match self.device.nearest(address) {
            Some(nearest) if nearest.is_freed => Error::Freed { name: nearest.name },
            nearest => Error::OutOfRange { address, bytes, nearest },
        }
    }
}
