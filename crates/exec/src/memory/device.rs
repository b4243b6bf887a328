//! Buffers in device memory.

use warplens_base::{IdMap, define_id};
use warplens_ir::{Module, Variable, VariableId};
use warplens_isa::StateSpace;

use super::budget::{Budget, MemoryError};
use super::heap::{BadFree, Heap};
use super::window::Windows;
use crate::code::function_address;
use crate::error::NearestBuffer;
use crate::raw::Cells;

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
/// Alignments of constant variables beyond this one, which no program needs, would make holes of any size.
const MAX_CONSTANT_ALIGN: u64 = 4096;
/// Size of the heap that device-side `malloc` serves, that of the CUDA runtime's default.
pub const HEAP_BYTES: u64 = 8 << 20;

/// A buffer in device memory.
pub struct Buffer {
    /// Name for messages.
    pub name: String,
    /// First address.
    pub base: u64,
    /// Size in bytes.
    pub bytes: u64,
    pub(crate) cells: Cells,
}

/// Memory of the emulated device: buffers, the module's variables, constant memory.
pub struct Device {
    buffers: IdMap<BufferId, Buffer>,
    next: u64,
    budget: Budget,
    pub(crate) windows: Windows,
    pub(crate) constants: Cells,
    /// Address of each variable in its own space; shared variables are placed per kernel.
    pub(crate) variables: IdMap<VariableId, u64>,
    global_variables: Vec<(VariableId, BufferId)>,
    /// The heap of device-side `malloc`, made for the first kernel that may call it.
    heap: Option<(BufferId, Heap)>,
}

impl Device {
    /// A device of `limit` bytes with the module's variables at their initial values.
    pub fn new(module: &Module, limit: u64) -> Result<Self, MemoryError> {
        let windows = Windows::new(module.address_bits);
        let mut device = Self {
            buffers: IdMap::new(),
            next: windows.global,
            budget: Budget::new(limit),
            windows,
            constants: Cells::new(0),
            variables: IdMap::filled(module.variables.len(), 0),
            global_variables: Vec::new(),
            heap: None,
        };
        // There is always a buffer, so that "the buffer touched last" needs no special case; nothing fits an empty one.
        device.place("buffer", "nothing", 0)?;
        let constant_bytes = device.place_variables(module)?;
        device.constants = Cells::new(constant_bytes as usize);
        for (id, variable) in module.variables.iter() {
            device.initialize(module, id, variable);
        }
        Ok(device)
    }

    fn place_variables(&mut self, module: &Module) -> Result<u64, MemoryError> {
        let mut constant_bytes = 0u64;
        for (id, variable) in module.variables.iter() {
            match variable.space {
                StateSpace::Const => {
                    let start = constant_bytes.next_multiple_of(variable.align.clamp(1, MAX_CONSTANT_ALIGN));
                    self.budget.take(
                        "variable",
                        &variable.name,
                        (start - constant_bytes).saturating_add(variable.bytes),
                    )?;
                    self.variables[id] = start;
                    constant_bytes = start + variable.bytes;
                }
                StateSpace::Global => {
                    let buffer = self.place("variable", &variable.name, variable.bytes)?;
                    self.variables[id] = self.buffers[buffer].base;
                    self.global_variables.push((id, buffer));
                }
                _ => {}
            }
        }
        Ok(constant_bytes)
    }

    fn initialize(&mut self, module: &Module, id: VariableId, variable: &Variable) {
        let initializer = &variable.initializer;
        let mut bytes = initializer.bytes.clone();
        let mut put = |at: u64, width: u32, value: u64| {
            let (start, width) = (at as usize, width as usize);
            if bytes.len() < start + width {
                bytes.resize(start + width, 0);
            }
            bytes[start..start + width].copy_from_slice(&value.to_le_bytes()[..width]);
        };
        let address = |target: VariableId, offset: i64, generic: bool| {
            let base = if generic { self.windows.base(module.variables[target].space) } else { 0 };
            (self.variables[target] + base).wrapping_add_signed(offset)
        };
        for &(at, width, target, offset, generic) in &initializer.addresses {
            put(at, width, address(target, offset, generic));
        }
        for &(at, byte, target, offset, generic) in &initializer.address_bytes {
            put(at, 1, address(target, offset, generic) >> (8 * byte));
        }
        for &(at, width, function) in &initializer.functions {
            put(at, width, function_address(function));
        }
        bytes.truncate(variable.bytes as usize);
        if !bytes.is_empty() {
            self.write_variable(id, variable.space, &bytes);
        }
    }

    fn write_variable(&self, id: VariableId, space: StateSpace, bytes: &[u8]) {
        match space {
            StateSpace::Const => self.constants.write_bytes(self.variables[id] as usize, bytes),
            StateSpace::Global => {
                if let Some(buffer) = self.buffer_of(id) {
                    self.buffers[buffer].cells.write_bytes(0, bytes);
                }
            }
            _ => {}
        }
    }

    /// The buffer of a global variable.
    pub fn buffer_of(&self, variable: VariableId) -> Option<BufferId> {
        self.global_variables.iter().find(|(id, _)| *id == variable).map(|&(_, buffer)| buffer)
    }

    /// Allocates a zeroed buffer.
    pub fn allocate(&mut self, name: &str, bytes: u64) -> Result<BufferId, MemoryError> {
        self.place("buffer", name, bytes)
    }

    fn place(&mut self, what: &'static str, name: &str, bytes: u64) -> Result<BufferId, MemoryError> {
        let base = self.next;
        let end = base.checked_add(bytes).filter(|&end| end <= self.windows.last);
        let bits = self.windows.bits();
        let end = end.ok_or_else(|| MemoryError::Unreachable { what, name: name.to_owned(), bytes, bits })?;
        self.budget.take(what, name, bytes)?;
        self.next = (end + GAP).next_multiple_of(ALIGN);
        Ok(self.buffers.push(Buffer { name: name.to_owned(), base, bytes, cells: Cells::new(bytes as usize) }))
    }

    /// Makes sure that device-side `malloc` has a heap.
    pub(crate) fn ensure_heap(&mut self) -> Result<(), MemoryError> {
        if self.heap.is_none() {
            self.heap = Some((self.allocate("device heap", HEAP_BYTES)?, Heap::new(HEAP_BYTES)));
        }
        Ok(())
    }

    /// Device-side `malloc`: the address of a block, 0 when the heap has no place for it.
    pub(crate) fn malloc(&self, bytes: u64) -> u64 {
        let block =
            self.heap.as_ref().and_then(|(buffer, heap)| Some(self.buffers[*buffer].base + heap.allocate(bytes)?));
        block.unwrap_or(0)
    }

    /// Device-side `free`; the null pointer is nothing to be freed.
    pub(crate) fn free(&self, address: u64) -> Result<(), BadFree> {
        match &self.heap {
            _ if address == 0 => Ok(()),
            Some((buffer, heap)) => {
                let offset = address.checked_sub(self.buffers[*buffer].base);
                offset.map_or(Err(BadFree::NoBlock), |offset| heap.free(offset))
            }
            None => Err(BadFree::NoBlock),
        }
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

    /// Writes the content of a global or constant variable from its first byte on.
    pub fn set_variable(&self, module: &Module, id: VariableId, bytes: &[u8]) {
        self.write_variable(id, module.variables[id].space, bytes);
    }

    /// Reads a global or constant variable.
    pub fn variable(&self, module: &Module, id: VariableId) -> Vec<u8> {
        let variable = &module.variables[id];
        match (variable.space, self.buffer_of(id)) {
            (StateSpace::Const, _) => self.constants.read_bytes(self.variables[id] as usize, variable.bytes as usize),
            (_, Some(buffer)) => self.read(buffer, 0, variable.bytes),
            _ => Vec::new(),
        }
    }

    /// The buffer that holds `address`, if there is one.
    pub(crate) fn find(&self, address: u64) -> Option<BufferId> {
        let buffers = self.buffers.as_slice();
        let index = buffers.partition_point(|buffer| buffer.base <= address).checked_sub(1)?;
        let buffer = &buffers[index];
        (address - buffer.base < buffer.bytes).then_some(BufferId(index as u32))
    }

    /// The buffer nearest to an address, for messages; `None` if none is near.
    pub(crate) fn nearest(&self, address: u64) -> Option<NearestBuffer> {
        let distance = |buffer: &&Buffer| {
            let end = buffer.base + buffer.bytes;
            if address < buffer.base { buffer.base - address } else { address.saturating_sub(end) }
        };
        let buffer = self.buffers.as_slice().iter().filter(|buffer| buffer.bytes > 0).min_by_key(distance)?;
        if distance(&buffer) > NEAR {
            return None;
        }
        Some(NearestBuffer {
            name: buffer.name.clone(),
            base: buffer.base,
            bytes: buffer.bytes,
            offset: i128::from(address) - i128::from(buffer.base),
        })
    }
}
