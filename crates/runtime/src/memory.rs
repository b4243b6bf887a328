//! Memory: allocations of the device, memory that host and device see at one address, and copies.
//!
//! The memory of the device is not memory of the process. What both see (managed and pinned memory) is memory of the host
//! at the address that the device has for it; it is handed to the device before a launch and taken back afterwards, so
//! that who has it always knows all of it.

use warplens_device::{Allocation, Error};
use warplens_session::trail::{CopyKind, Entry};

use crate::handles::Handle;
use crate::runtime::Runtime;
use crate::status::{Result, Status};
use crate::timeline::Needs;

/// How often another address is tried where the host has something at one.
const TRIES: usize = 256;

/// What the host must do for memory that it shares with the device.
pub trait HostMemory {
    /// Makes zeroed memory at an address. False where something else is there.
    fn map(&mut self, address: u64, bytes: u64) -> bool;
    /// Takes it away again.
    fn unmap(&mut self, address: u64, bytes: u64);
    /// Bytes of memory that was mapped.
    fn read(&self, address: u64, bytes: u64) -> Vec<u8>;
    /// Writes into memory that was mapped.
    fn write(&mut self, address: u64, bytes: &[u8]);
}

/// A host that keeps nothing: it stands for one in tests and benchmarks, whose kernels see no memory of the host.
#[derive(Clone, Copy, Debug)]
pub struct NoMemory;

impl HostMemory for NoMemory {
    fn map(&mut self, _: u64, _: u64) -> bool {
        true
    }
    fn unmap(&mut self, _: u64, _: u64) {}
    fn read(&self, _: u64, bytes: u64) -> Vec<u8> {
        vec![0; bytes as usize]
    }
    fn write(&mut self, _: u64, _: &[u8]) {}
}

/// Whose memory it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemoryKind {
    /// The device's.
    Device,
    /// The host's, where the device may look.
    Pinned,
    /// Both have it.
    Managed,
}

/// What a program asks about a pointer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pointer {
    /// Whose memory it is.
    pub kind: MemoryKind,
    /// First address of its allocation.
    pub base: u64,
    /// Bytes of it.
    pub bytes: u64,
}

/// Memory that host and device have, with its addresses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shared {
    device: u64,
    host: u64,
    bytes: u64,
}

/// An allocation of the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owned {
    /// None for what belongs to a module.
    allocation: Option<Allocation>,
    kind: MemoryKind,
    bytes: u64,
    /// Where the host has it, if not at the same address.
    host: Option<u64>,
}

impl Runtime {
    /// Allocates memory; `call` is what messages name it by.
    pub fn allocate(&mut self, call: &str, bytes: u64, kind: MemoryKind) -> Result<u64> {
        self.alive()?;
        self.undisturbing()?;
        let address = self.allocate_now(call, bytes, kind)?;
        if kind != MemoryKind::Pinned {
            self.note_allocation(call, address, bytes);
        }
        Ok(address)
    }

    /// Allocates memory of the device in the order of a stream, which disturbs no other.
    pub(crate) fn allocate_in_order(&mut self, call: &str, bytes: u64) -> Result<u64> {
        self.alive()?;
        self.allocate_now(call, bytes, MemoryKind::Device)
    }

    fn allocate_now(&mut self, call: &str, bytes: u64, kind: MemoryKind) -> Result<u64> {
        if bytes == 0 {
            return Err(Status::INVALID_VALUE);
        }
        self.allocations += 1;
        let name = format!("{call} #{}", self.allocations);
        for _ in 0..TRIES {
            let allocation = match self.context.allocate(&name, bytes) {
                Ok(allocation) => allocation,
                Err(error) => return Err(self.fail(Status::OUT_OF_MEMORY, &error.to_string())),
            };
            let (address, _) = self.context.extent(allocation).map_err(|_| Status::UNKNOWN)?;
            if kind == MemoryKind::Device || self.host.map(address, bytes) {
                self.owned.insert(address, Owned { allocation: Some(allocation), kind, bytes, host: None });
                self.track(address, bytes, kind);
                return Ok(address);
            }
            self.context.free(allocation).map_err(|_| Status::UNKNOWN)?;
        }
        Err(self.fail(Status::OUT_OF_MEMORY, "the host has no free address for memory that the device shares"))
    }

    /// Frees memory of these kinds by its first address; no address is no mistake.
    pub fn free(&mut self, address: u64, kinds: &[MemoryKind]) -> Result<()> {
        if address == 0 {
            return Ok(());
        }
        if self.alive().is_ok() {
            self.undisturbing()?;
        }
        self.free_now(address, kinds)
    }

    pub(crate) fn free_now(&mut self, address: u64, kinds: &[MemoryKind]) -> Result<()> {
        let released = self.release(address, kinds);
        // A device that takes no more work frees nothing, which is no mistake of the program.
        if released.is_ok() || self.alive().is_err() {
            self.note_free(address);
        }
        released
    }

    /// The same for memory that the program itself has not freed.
    pub(crate) fn release(&mut self, address: u64, kinds: &[MemoryKind]) -> Result<()> {
        self.alive()?;
        if self.graphs.memory.contains_key(&address) {
            // Whoever performs its graph again finds it where it was.
            return Ok(());
        }
        let is_meant = |owned: &Owned| kinds.contains(&owned.kind) && owned.host.is_none();
        let Some(owned) = self.owned.get(&address).copied().filter(is_meant) else {
            // What is not the program's any more was freed before, and the device knows what it was called.
            let of_program = self.owned.contains_key(&address);
            let gone = self.context.allocation_at(address).map(|allocation| self.context.extent(allocation));
            let why = match gone {
                _ if of_program => format!("{address:#x} is memory of another kind"),
                Ok(Err(error)) | Err(error) => error.to_string(),
                Ok(Ok(_)) => format!("{address:#x} is no memory of the program"),
            };
            return Err(self.fail(Status::INVALID_VALUE, &format!("free of {address:#x}: {why}")));
        };
        self.owned.remove(&address);
        self.forget(address);
        self.leave_pool(address);
        if owned.kind != MemoryKind::Device {
            self.host.unmap(address, owned.bytes);
        }
        match owned.allocation.map(|allocation| self.context.free(allocation)) {
            Some(Err(error)) => Err(self.fail(Status::INVALID_VALUE, &error.to_string())),
            Some(Ok(())) | None => Ok(()),
        }
    }

    /// What lies at an address; none for memory of the host that the device knows nothing of.
    pub fn pointer(&self, address: u64) -> Option<Pointer> {
        if let Some((&base, owned)) = self.owned.range(..=address).next_back()
            && address - base < owned.bytes
        {
            return Some(Pointer { kind: owned.kind, base, bytes: owned.bytes });
        }
        if let Some((base, bytes, _)) = self.registered_at(address) {
            return Some(Pointer { kind: MemoryKind::Pinned, base, bytes });
        }
        let location = self.context.locate(address).ok()?;
        Some(Pointer { kind: MemoryKind::Device, base: address - location.offset, bytes: location.bytes })
    }

    /// True for memory of the device that the host has not at the same address.
    pub fn is_on_device(&self, address: u64) -> bool {
        self.pointer(address).is_some_and(|pointer| pointer.kind == MemoryKind::Device)
    }

    /// Bytes that are free, and all of them.
    pub fn memory_info(&self) -> (u64, u64) {
        let used: u64 = self.owned.values().map(|owned| owned.bytes).sum();
        (self.limit.saturating_sub(used), self.limit)
    }

    /// Registers memory of the host, so that the device may look at it. The device has it at an address of its own.
    pub fn register_host(&mut self, address: u64, bytes: u64) -> Result<()> {
        self.alive()?;
        if address == 0 || bytes == 0 || address.checked_add(bytes).is_none() {
            return Err(Status::INVALID_VALUE);
        }
        let below = self.registered.range(..address + bytes).next_back();
        let overlaps = below.is_some_and(|(&base, of)| self.owned.get(of).is_some_and(|of| address < base + of.bytes));
        if overlaps || self.pointer(address).is_some() {
            return Err(Status::ALREADY_REGISTERED);
        }
        let device = self.allocate_now("cudaHostRegister", bytes, MemoryKind::Device)?;
        if let Some(owned) = self.owned.get_mut(&device) {
            (owned.kind, owned.host) = (MemoryKind::Pinned, Some(address));
        }
        self.forget(device);
        self.registered.insert(address, device);
        Ok(())
    }

    /// The device may look at it no more.
    pub fn unregister_host(&mut self, address: u64) -> Result<()> {
        self.alive()?;
        let device = self.registered.remove(&address).ok_or(Status::NOT_REGISTERED)?;
        match self.owned.remove(&device).and_then(|owned| owned.allocation) {
            Some(allocation) => self.context.free(allocation).map_err(|_| Status::UNKNOWN),
            None => Ok(()),
        }
    }

    /// First address, bytes and address on the device of registered memory that an address of the host lies in.
    fn registered_at(&self, address: u64) -> Option<(u64, u64, u64)> {
        let (&base, &device) = self.registered.range(..=address).next_back()?;
        let bytes = self.owned.get(&device)?.bytes;
        (address - base < bytes).then_some((base, bytes, device))
    }

    /// Where the host has what is at an address: elsewhere for the address that the device has for registered memory.
    pub fn host_address(&self, address: u64) -> u64 {
        let found = self.owned.range(..=address).next_back().filter(|(base, owned)| address - **base < owned.bytes);
        found.and_then(|(base, owned)| Some(owned.host? + (address - base))).unwrap_or(address)
    }

    /// Where the device has memory of the host that it may look at.
    pub fn device_address(&self, address: u64) -> Option<u64> {
        if let Some((base, _, device)) = self.registered_at(address) {
            return Some(device + (address - base));
        }
        let kind = self.pointer(address)?.kind;
        (kind != MemoryKind::Device).then_some(address)
    }

    /// Copies bytes of the host to the device.
    pub fn write(&mut self, to: u64, bytes: &[u8]) -> Result<()> {
        self.context.write(to, bytes).map_err(|error| self.bad_copy(&error))?;
        if let Some(written) = self.written() {
            written.write(to, bytes.len() as u64);
        }
        Ok(())
    }

    /// Copies bytes of the device to the host.
    pub fn read(&mut self, from: u64, bytes: &mut [u8]) -> Result<()> {
        match self.context.read(from, bytes.len() as u64) {
            Ok(found) => {
                bytes.copy_from_slice(&found);
                Ok(())
            }
            Err(error) => Err(self.bad_copy(&error)),
        }
    }

    /// Copies bytes within the device.
    pub fn copy(&mut self, to: u64, from: u64, bytes: u64) -> Result<()> {
        self.context.copy(to, from, bytes).map_err(|error| self.bad_copy(&error))?;
        if let Some(written) = self.written() {
            written.copy(to, from, bytes);
        }
        Ok(())
    }

    /// Sets memory of the device to a pattern, `count` times.
    pub fn fill(&mut self, to: u64, pattern: &[u8], count: u64) -> Result<()> {
        self.context.fill(to, pattern, count).map_err(|error| self.bad_copy(&error))?;
        if let Some(written) = self.written() {
            written.write(to, count * pattern.len() as u64);
        }
        Ok(())
    }

    /// Notes that so many bytes are copied in a stream; who notes it copies them.
    pub fn note_copy(&mut self, kind: CopyKind, bytes: u64, stream: Handle) -> Result<()> {
        self.alive()?;
        let seconds: Vec<_> = self.transfers.iter().map(|transfers| transfers.seconds(kind, bytes)).collect();
        let own = seconds.first().copied().flatten().unwrap_or_default();
        let place = self.work(stream, Needs::of_copy(kind), own)?;
        self.trail.note(&Entry::Copy { process: std::process::id(), kind, bytes, seconds, place });
        Ok(())
    }

    fn bad_copy(&mut self, error: &Error) -> Status {
        self.fail(Status::INVALID_VALUE, &format!("copy: {error}"))
    }

    /// Memory of a module that host and device see at one address.
    pub(crate) fn share_variable(&mut self, address: u64, bytes: u64) -> Result<()> {
        if self.owned.contains_key(&address) {
            return Ok(());
        }
        let content = self.context.read(address, bytes).map_err(|_| Status::INVALID_SYMBOL)?;
        if !self.host.map(address, bytes) {
            return Err(self.fail(Status::OUT_OF_MEMORY, "the host has something at the address of a managed variable"));
        }
        self.host.write(address, &content);
        self.owned.insert(address, Owned { allocation: None, kind: MemoryKind::Managed, bytes, host: None });
        Ok(())
    }

    /// Shared memory that a launch can touch: all that is managed, and pinned memory that a parameter points into.
    fn shared(&self, parameters: &[u8]) -> Vec<Shared> {
        let words: Vec<u64> =
            parameters.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes"))).collect();
        let is_meant = |base: u64, owned: &Owned| match owned.kind {
            MemoryKind::Device => false,
            MemoryKind::Managed => true,
            MemoryKind::Pinned => words.iter().any(|&word| word >= base && word - base < owned.bytes),
        };
        let shared = self.owned.iter().filter(|(base, owned)| is_meant(**base, owned));
        let entry = |(&device, owned): (&u64, &Owned)| Shared {
            device,
            host: owned.host.unwrap_or(device),
            bytes: owned.bytes,
        };
        shared.map(entry).collect()
    }

    /// Hands shared memory to the device. Returns what is to be taken back.
    pub(crate) fn hand_over(&mut self, parameters: &[u8]) -> Vec<Shared> {
        let shared = self.shared(parameters);
        for &Shared { device, host, bytes } in &shared {
            let content = self.host.read(host, bytes);
            self.context.write(device, &content).expect("shared memory is memory of the device");
        }
        shared
    }

    /// Takes shared memory back from the device.
    pub(crate) fn take_back(&mut self, shared: &[Shared]) {
        for &Shared { device, host, bytes } in shared {
            let content = self.context.read(device, bytes).expect("shared memory is memory of the device");
            self.host.write(host, &content);
        }
    }

    /// Bytes of the allocations that parameters point into.
    pub(crate) fn reachable(&self, parameters: &[u8]) -> u64 {
        let words = parameters.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes")));
        let mut found: Vec<(u64, u64)> = words
            .filter_map(|word| self.pointer(self.texels_of(word).unwrap_or(word)))
            .map(|pointer| (pointer.base, pointer.bytes))
            .collect();
        found.sort_unstable();
        found.dedup();
        found.iter().map(|(_, bytes)| bytes).sum()
    }
}

impl Runtime {
    /// What the program allocated and has not freed.
    pub(crate) fn owned_by_program(&self) -> Vec<(u64, MemoryKind)> {
        let own = self.owned.iter().filter(|(_, owned)| owned.allocation.is_some() && owned.host.is_none());
        own.map(|(&address, owned)| (address, owned.kind)).collect()
    }
}
