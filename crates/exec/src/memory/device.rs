//! Buffers in device memory.
//!
//! An address is never used twice: what was freed is remembered, so that an access to it can be called by its name.

use std::collections::BTreeMap;

use warplens_base::{IdMap, define_id};
use warplens_isa::{OpaqueType, StateSpace};

use super::budget::{Budget, MemoryError};
use super::heap::{BadFree, Heap};
use super::image::{Image, ImageId};
use super::window::Windows;
use crate::decoded::FUNCTION_BASE;
use crate::error::NearestBuffer;
use crate::raw::Cells;
use crate::texture::Object;

define_id! {
    /// A buffer in device memory.
    pub struct BufferId("buffer");
}

/// Distance kept between buffers, so that an access past the end of one never falls into the next.
const GAP: u64 = 4096;
/// Alignment of buffers, that of `cudaMalloc`.
const ALIGN: u64 = 512;
/// Largest distance of an address from a buffer that messages name.
const NEAR: u64 = 1 << 30;
/// Size of the workspace of a cooperative launch, of which the barrier of cooperative groups uses the second word.
const MEETING_BYTES: u64 = 64;
/// More functions than any program has lie below.
const LAST_FUNCTION: u64 = 1 << 60;
/// Size of the heap that device-side `malloc` serves, that of the CUDA runtime's default.
pub const HEAP_BYTES: u64 = 8 << 20;

/// A buffer in device memory.
pub struct Buffer {
    /// Name for messages.
    pub name: String,
    /// First address.
    pub base: u64,
    /// Size in bytes; 0 once it has been freed.
    pub bytes: u64,
    /// Size that it had, if it has been freed.
    pub freed: Option<u64>,
    pub(crate) cells: Cells,
}

impl Buffer {
    /// Bytes from its first address on that are or were its own.
    fn extent(&self) -> u64 {
        self.freed.unwrap_or(self.bytes)
    }
}

/// Memory of the emulated device: buffers, and the modules with their variables and constant memory.
pub struct Device {
    buffers: IdMap<BufferId, Buffer>,
    next: u64,
    pub(super) budget: Budget,
    pub(crate) windows: Windows,
    pub(super) images: IdMap<ImageId, Option<Image>>,
    pub(super) next_constant: u64,
    pub(super) next_function: u64,
    /// The heap of device-side `malloc`, made for the first kernel that may call it.
    heap: Option<(BufferId, Heap)>,
    /// Where the CTAs of a grid meet, made for the first kernel that looks for it.
    meeting_place: Option<BufferId>,
    /// Textures, samplers and surfaces, in the order of their handles; `None` for those that were taken away.
    pub(super) objects: Vec<Option<Object>>,
    /// Opaque variables by address.
    pub(super) opaque: BTreeMap<u64, OpaqueType>,
}

/// Where what comes next is placed, in each space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Marks {
    /// In global memory.
    pub global: u64,
    /// In the space of constants.
    pub constant: u64,
    /// The address of a function.
    pub function: u64,
}

/// What a host address names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// A byte of a buffer.
    Buffer(BufferId, u64),
    /// A byte of a module's constant memory.
    Constant {
        /// Bytes from its start.
        offset: u64,
        /// Its size.
        bytes: u64,
    },
}

impl Device {
    /// An empty device of `limit` bytes, with addresses of 32 or 64 bits.
    pub fn new(address_bits: u32, limit: u64) -> Self {
        let windows = Windows::new(address_bits);
        // There is always a buffer, so that "the buffer touched last" needs no special case; nothing fits an empty one.
        let nothing =
            Buffer { name: "nothing".to_owned(), base: windows.global, bytes: 0, freed: None, cells: Cells::new(0) };
        Self {
            next: (windows.global + GAP).next_multiple_of(ALIGN),
            buffers: std::iter::once(nothing).collect(),
            budget: Budget::new(limit),
            windows,
            images: IdMap::new(),
            next_constant: 0,
            next_function: FUNCTION_BASE,
            heap: None,
            meeting_place: None,
            objects: Vec::new(),
            opaque: BTreeMap::new(),
        }
    }

    /// Allocates a zeroed buffer.
    pub fn allocate(&mut self, name: &str, bytes: u64) -> Result<BufferId, MemoryError> {
        self.place("buffer", name, bytes)
    }

    /// Allocates a zeroed buffer at an address behind all others.
    pub fn allocate_at(&mut self, name: &str, address: u64, bytes: u64) -> Result<BufferId, MemoryError> {
        self.advance(Marks { global: address, ..self.marks() })?;
        self.allocate(name, bytes)
    }

    /// Where what comes next is placed.
    pub fn marks(&self) -> Marks {
        Marks { global: self.next, constant: self.next_constant, function: self.next_function }
    }

    /// Places what comes next here, and nothing before.
    pub fn advance(&mut self, marks: Marks) -> Result<(), MemoryError> {
        let Marks { global, constant, function } = marks;
        let placed = |address: u64, align: u64| MemoryError::Placed { address, align };
        if global < self.next || global > self.windows.last || !global.is_multiple_of(ALIGN) {
            return Err(placed(global, ALIGN));
        }
        if constant < self.next_constant || constant > self.windows.size() {
            return Err(placed(constant, 1));
        }
        if function < self.next_function || function > LAST_FUNCTION {
            return Err(placed(function, 1));
        }
        (self.next, self.next_constant, self.next_function) = (global, constant, function);
        Ok(())
    }

    /// Addresses of global memory that were given out.
    pub fn reach(&self) -> std::ops::Range<u64> {
        self.windows.global..self.next
    }

    pub(super) fn place(&mut self, what: &'static str, name: &str, bytes: u64) -> Result<BufferId, MemoryError> {
        let base = self.next;
        let end = base.checked_add(bytes).filter(|&end| end <= self.windows.last);
        let end = end.ok_or_else(|| self.unreachable(what, name, bytes))?;
        self.budget.take(what, name, bytes)?;
        self.next = (end + GAP).next_multiple_of(ALIGN);
        let cells = Cells::new(bytes as usize);
        Ok(self.buffers.push(Buffer { name: name.to_owned(), base, bytes, freed: None, cells }))
    }

    pub(super) fn unreachable(&self, what: &'static str, name: &str, bytes: u64) -> MemoryError {
        MemoryError::Unreachable { what, name: name.to_owned(), bytes, bits: self.windows.bits() }
    }

    /// Frees a buffer. Returns false when that has been done before.
    pub fn free(&mut self, id: BufferId) -> bool {
        let buffer = &mut self.buffers[id];
        if buffer.freed.is_some() {
            return false;
        }
        let bytes = std::mem::take(&mut buffer.bytes);
        buffer.freed = Some(bytes);
        buffer.cells = Cells::new(0);
        self.budget.give_back(bytes);
        true
    }

    /// Makes sure that device-side `malloc` has a heap.
    pub(crate) fn ensure_heap(&mut self) -> Result<(), MemoryError> {
        if self.heap.is_none() {
            self.heap = Some((self.allocate("device heap", HEAP_BYTES)?, Heap::new(HEAP_BYTES)));
        }
        Ok(())
    }

    /// Makes sure that the CTAs of a cooperative launch have a place to meet.
    pub(crate) fn ensure_meeting_place(&mut self) -> Result<(), MemoryError> {
        if self.meeting_place.is_none() {
            self.meeting_place = Some(self.allocate("workspace of the grid", MEETING_BYTES)?);
        }
        Ok(())
    }

    /// Address of the place where the CTAs of a grid meet; 0 if no kernel has looked for it.
    pub(crate) fn meeting_place(&self) -> u64 {
        self.meeting_place.map_or(0, |buffer| self.buffers[buffer].base)
    }

    /// Device-side `malloc`: the address of a block, 0 when the heap has no place for it.
    pub(crate) fn heap_allocate(&self, bytes: u64) -> u64 {
        let block =
            self.heap.as_ref().and_then(|(buffer, heap)| Some(self.buffers[*buffer].base + heap.allocate(bytes)?));
        block.unwrap_or(0)
    }

    /// The bytes of the heap's buffer that a block of so many bytes takes, if it is one.
    pub(crate) fn heap_block(&self, address: u64, bytes: u64) -> Option<(BufferId, std::ops::Range<u64>)> {
        let (buffer, _) = self.heap.as_ref()?;
        let start = address.checked_sub(self.buffers[*buffer].base)?;
        Some((*buffer, start..start.checked_add(bytes)?))
    }

    /// Device-side `free`; the null pointer is nothing to be freed.
    pub(crate) fn heap_free(&self, address: u64) -> Result<(), BadFree> {
        match &self.heap {
            _ if address == 0 => Ok(()),
            Some((buffer, heap)) => {
                let offset = address.checked_sub(self.buffers[*buffer].base);
                offset.map_or(Err(BadFree::NoBlock), |offset| heap.free(offset))
            }
            None => Err(BadFree::NoBlock),
        }
    }

    /// Number of buffers.
    pub(crate) fn n_buffers(&self) -> usize {
        self.buffers.len()
    }

    /// A buffer.
    pub fn buffer(&self, id: BufferId) -> &Buffer {
        &self.buffers[id]
    }

    /// Writes bytes into a buffer, which must be large enough.
    pub fn write(&self, id: BufferId, offset: u64, bytes: &[u8]) {
        self.buffers[id].cells.write_bytes(offset as usize, bytes);
    }

    /// Reads bytes from a buffer, which must be large enough.
    pub fn read(&self, id: BufferId, offset: u64, len: u64) -> Vec<u8> {
        self.buffers[id].cells.read_bytes(offset as usize, len as usize)
    }

    /// The memory at `len` bytes from a generic address on, if all of them belong to one buffer or constant memory.
    fn cells_at(&self, address: u64, len: u64) -> Option<(&Cells, usize)> {
        let (cells, offset) = match self.constant_at(address) {
            Some(found) => found,
            None => {
                let buffer = &self.buffers[self.find(address)?];
                (&buffer.cells, address - buffer.base)
            }
        };
        let fits = offset.checked_add(len).is_some_and(|end| end <= cells.len() as u64);
        fits.then_some((cells, offset as usize))
    }

    /// Reads bytes at a generic address, if all of them belong to one buffer or constant memory.
    pub fn read_at(&self, address: u64, len: u64) -> Option<Vec<u8>> {
        let (cells, offset) = self.cells_at(address, len)?;
        Some(cells.read_bytes(offset, usize::try_from(len).ok()?))
    }

    /// Writes bytes at a generic address, if all of them belong to one buffer or constant memory.
    pub fn write_at(&self, address: u64, bytes: &[u8]) -> Option<()> {
        let (cells, offset) = self.cells_at(address, bytes.len() as u64)?;
        cells.write_bytes(offset, bytes);
        Some(())
    }

    /// What lies at a generic address.
    pub fn locate(&self, address: u64) -> Option<Place> {
        if let Some((cells, offset)) = self.constant_at(address) {
            return Some(Place::Constant { offset, bytes: cells.len() as u64 });
        }
        let id = self.find(address)?;
        Some(Place::Buffer(id, address - self.buffers[id].base))
    }

    /// True when `len` bytes from a generic address on belong to one buffer or constant memory.
    pub fn holds(&self, address: u64, len: u64) -> bool {
        self.cells_at(address, len).is_some()
    }

    /// The buffer that holds `address`, if there is one.
    pub(crate) fn find(&self, address: u64) -> Option<BufferId> {
        self.before(address).filter(|&id| address - self.buffers[id].base < self.buffers[id].bytes)
    }

    /// The buffer that held `address` before it was freed.
    pub(crate) fn find_freed(&self, address: u64) -> Option<BufferId> {
        let was_inside = |buffer: &Buffer| buffer.freed.is_some_and(|bytes| address - buffer.base < bytes);
        self.before(address).filter(|&id| was_inside(&self.buffers[id]))
    }

    /// The last buffer that does not start behind an address: addresses grow with the ids.
    fn before(&self, address: u64) -> Option<BufferId> {
        let index = self.buffers.as_slice().partition_point(|buffer| buffer.base <= address).checked_sub(1)?;
        Some(BufferId(index as u32))
    }

    /// The buffer nearest to an address, for messages; `None` if none is near.
    pub fn nearest(&self, address: u64) -> Option<NearestBuffer> {
        let distance = |buffer: &&Buffer| {
            let end = buffer.base + buffer.extent();
            if address < buffer.base { buffer.base - address } else { address.saturating_sub(end) }
        };
        // What was freed is near only to addresses inside: elsewhere nobody means it.
        let is_meant = |buffer: &&Buffer| match buffer.freed {
            None => buffer.bytes > 0,
            Some(bytes) => address.checked_sub(buffer.base).is_some_and(|offset| offset < bytes),
        };
        let buffer = self.buffers.as_slice().iter().filter(is_meant).min_by_key(distance)?;
        if distance(&buffer) > NEAR {
            return None;
        }
        Some(NearestBuffer {
            name: buffer.name.clone(),
            base: buffer.base,
            bytes: buffer.extent(),
            offset: i128::from(address) - i128::from(buffer.base),
            is_freed: buffer.freed.is_some(),
        })
    }

    /// The space that a generic address belongs to.
    pub fn space_of(&self, address: u64) -> StateSpace {
        self.windows.space_of(address)
    }
}
