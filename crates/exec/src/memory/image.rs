//! A module in the memory of the device: where its variables lie, its constant memory, the addresses of its functions.

use warplens_base::{IdMap, define_id};
use warplens_ir::{Module, OpaqueVariable, Variable, VariableId};
use warplens_isa::{OpaqueType, Sampler, StateSpace};

use super::budget::MemoryError;
use super::device::{BufferId, Device};
use super::objects::HANDLE_BYTES;
use crate::decoded::{FUNCTION_STRIDE, function_address};
use crate::raw::Cells;
use crate::texture::Object;

define_id! {
    /// A module in the memory of a device.
    pub struct ImageId("image");
}

/// Alignments of constant variables beyond this one, which no program needs, would make holes of any size.
const MAX_CONSTANT_ALIGN: u64 = 4096;
/// Distance kept between the constant memories of two modules.
const CONSTANT_GAP: u64 = 4096;

/// A module's place in memory.
pub(crate) struct Image {
    /// Address of each variable in its own space; shared variables are placed per kernel.
    pub(crate) variables: IdMap<VariableId, u64>,
    pub(crate) constants: Constants,
    /// Address of the first function.
    pub(crate) functions: u64,
    globals: Vec<(VariableId, BufferId)>,
}

/// Constant memory of a module: a part of the window that no other module has.
pub(crate) struct Constants {
    /// Address of the first byte in the constant space.
    pub(crate) base: u64,
    pub(crate) cells: Cells,
}

impl Device {
    /// Places a module's variables and sets them to their initial values.
    pub fn load(&mut self, module: &Module) -> Result<ImageId, MemoryError> {
        let bits = self.windows.bits();
        if module.address_bits != bits {
            return Err(MemoryError::AddressBits { module: module.address_bits, device: bits });
        }
        let mut image = Image {
            variables: IdMap::filled(module.variables.len(), 0),
            constants: Constants { base: self.next_constant, cells: Cells::new(0) },
            functions: self.next_function,
            globals: Vec::new(),
        };
        if let Err(error) = self.place_variables(module, &mut image) {
            self.release(&image);
            return Err(error);
        }
        let constant_bytes = image.constants.cells.len() as u64;
        if constant_bytes > 0 {
            self.next_constant += (constant_bytes + CONSTANT_GAP).next_multiple_of(CONSTANT_GAP);
        }
        self.next_function += FUNCTION_STRIDE * module.functions.len() as u64;
        for (id, variable) in module.variables.iter() {
            let bytes = match &variable.opaque {
                Some(opaque) => self.initial_object(opaque, image.variables[id]),
                None => self.initial_bytes(module, &image, variable),
            };
            if !bytes.is_empty() {
                self.write_variable(&image, id, variable.space, &bytes);
            }
        }
        Ok(self.images.push(Some(image)))
    }

    /// Takes a module's variables away. Returns false when that has been done before.
    pub fn unload(&mut self, id: ImageId) -> bool {
        let Some(image) = self.images[id].take() else { return false };
        self.release(&image);
        true
    }

    fn release(&mut self, image: &Image) {
        for &(_, buffer) in &image.globals {
            let base = self.buffer(buffer).base;
            self.opaque.remove(&base);
            self.free(buffer);
        }
        self.budget.give_back(image.constants.cells.len() as u64);
    }

    fn place_variables(&mut self, module: &Module, image: &mut Image) -> Result<(), MemoryError> {
        let mut end = 0u64;
        let mut reserved = 0u64;
        for (id, variable) in module.variables.iter() {
            let Variable { name, bytes, align, .. } = variable;
            match variable.space {
                StateSpace::Const => {
                    let start = end.next_multiple_of((*align).clamp(1, MAX_CONSTANT_ALIGN));
                    let taken = (start - end).saturating_add(*bytes);
                    let fits = image.constants.base + start.saturating_add(*bytes) <= self.windows.size();
                    let taking = if fits {
                        self.budget.take("variable", name, taken)
                    } else {
                        Err(self.unreachable("variable", name, *bytes))
                    };
                    if let Err(error) = taking {
                        self.budget.give_back(reserved);
                        return Err(error);
                    }
                    image.variables[id] = image.constants.base + start;
                    end = start + bytes;
                    reserved += taken;
                }
                StateSpace::Global => {
                    let placed = self.place("variable", name, *bytes);
                    if placed.is_err() {
                        self.budget.give_back(reserved);
                    }
                    let buffer = placed?;
                    image.variables[id] = self.buffer(buffer).base;
                    image.globals.push((id, buffer));
                }
                StateSpace::Shared
                | StateSpace::Local
                | StateSpace::Param
                | StateSpace::Generic
                | StateSpace::Texture
                | StateSpace::Surface => {}
            }
        }
        image.constants.cells = Cells::new(end as usize);
        Ok(())
    }

    /// Notes an opaque variable; a sampler whose fields the module gives is made.
    fn initial_object(&mut self, opaque: &OpaqueVariable, address: u64) -> Vec<u8> {
        self.opaque.insert(address, opaque.ty);
        let Some(fields) = opaque.sampler.filter(|_| opaque.ty == OpaqueType::Sampler) else { return Vec::new() };
        let sampler = Sampler {
            address: fields.address,
            filter: fields.filter,
            normalized: !fields.force_unnormalized,
            ..Sampler::default()
        };
        let handle = self.create_object(Object::Sampler(sampler)).expect("a sampler needs no memory");
        handle.to_le_bytes()[..HANDLE_BYTES as usize].to_vec()
    }

    fn initial_bytes(&self, module: &Module, image: &Image, variable: &Variable) -> Vec<u8> {
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
            (image.variables[target] + base).wrapping_add_signed(offset)
        };
        for &(at, width, target, offset, generic) in &initializer.addresses {
            put(at, width, address(target, offset, generic));
        }
        for &(at, byte, target, offset, generic) in &initializer.address_bytes {
            put(at, 1, address(target, offset, generic) >> (8 * byte));
        }
        for &(at, width, function) in &initializer.functions {
            put(at, width, function_address(image.functions, function));
        }
        bytes.truncate(variable.bytes as usize);
        bytes
    }

    fn write_variable(&self, image: &Image, id: VariableId, space: StateSpace, bytes: &[u8]) {
        match space {
            StateSpace::Const => {
                let offset = image.variables[id] - image.constants.base;
                image.constants.cells.write_bytes(offset as usize, bytes);
            }
            StateSpace::Global => {
                if let Some(&(_, buffer)) = image.globals.iter().find(|(own, _)| *own == id) {
                    self.write(buffer, 0, bytes);
                }
            }
            StateSpace::Shared
            | StateSpace::Local
            | StateSpace::Param
            | StateSpace::Generic
            | StateSpace::Texture
            | StateSpace::Surface => {}
        }
    }

    /// The place of a module, unless it was taken away.
    pub(crate) fn image(&self, id: ImageId) -> Option<&Image> {
        self.images.get(id)?.as_ref()
    }

    /// Generic address of a global or constant variable of a module that is loaded.
    pub fn variable_address(&self, id: ImageId, module: &Module, variable: VariableId) -> Option<u64> {
        let space = module.variables[variable].space;
        let has_place = matches!(space, StateSpace::Const | StateSpace::Global);
        let image = self.image(id).filter(|_| has_place)?;
        Some(self.windows.base(space) + image.variables[variable])
    }

    /// The buffer of a global variable of a module that is loaded.
    pub fn buffer_of(&self, id: ImageId, variable: VariableId) -> Option<BufferId> {
        let image = self.image(id)?;
        image.globals.iter().find(|(own, _)| *own == variable).map(|&(_, buffer)| buffer)
    }

    /// The constant memory that holds a generic address, and the position there.
    pub(crate) fn constant_at(&self, address: u64) -> Option<(&Cells, u64)> {
        let address = (self.windows.space_of(address) == StateSpace::Const)
            .then(|| address - self.windows.base(StateSpace::Const))?;
        self.images.as_slice().iter().flatten().find_map(|image| {
            let offset = address.checked_sub(image.constants.base)?;
            (offset < image.constants.cells.len() as u64).then_some((&image.constants.cells, offset))
        })
    }
}
