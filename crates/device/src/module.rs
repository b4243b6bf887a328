//! Modules of a context, their kernels and their variables.

use std::sync::Arc;

use warplens_exec::engine::Engine;
use warplens_exec::{Program, Simt};
use warplens_ir::link::{Linked, Symbol as Named, link};
use warplens_ir::{FunctionId, Module, Variable, VariableId};
use warplens_isa::{ScalarType, StateSpace};

use crate::context::Context;
use crate::error::Error;
use crate::handle::ModuleHandle;

/// A kernel of a module.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct KernelHandle {
    pub(crate) module: ModuleHandle,
    pub(crate) function: FunctionId,
}

/// A kernel made ready to run on an engine.
pub struct Kernel<E: Engine = Simt> {
    pub(crate) module: ModuleHandle,
    pub(crate) program: Program<E>,
}

impl<E: Engine> Kernel<E> {
    /// The decoded program, for those who ask what it is like.
    pub fn program(&self) -> &Program<E> {
        &self.program
    }
}

/// A variable in global or constant memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Symbol {
    /// Its generic address.
    pub address: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// Type of an element.
    pub ty: ScalarType,
    /// Where it lies.
    pub space: StateSpace,
}

/// Memory that has a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedPlace {
    /// The name.
    pub name: String,
    /// Its generic address.
    pub address: u64,
    /// Its size in bytes.
    pub bytes: u64,
}

impl Context {
    /// Places a module in memory, its variables at their initial values.
    pub fn load(&mut self, module: Arc<Module>) -> Result<ModuleHandle, Error> {
        if let Some(external) = module.interface.functions.first() {
            return Err(Error::Unlinked { name: external.name.clone() });
        }
        let id = self.device.load(&module)?;
        let own = self.modules.push(Some(module));
        debug_assert_eq!(id, own, "modules and images are numbered alike");
        Ok(ModuleHandle { owner: self.owner, id })
    }

    /// Links modules and places the result in memory. Where its instructions came from stands beside the handle.
    pub fn link(&mut self, modules: &[&Module]) -> Result<(ModuleHandle, Linked), Error> {
        let linked = link(modules).map_err(Error::Link)?;
        let handle = self.load(Arc::new(linked.module.clone()))?;
        Ok((handle, linked))
    }

    /// Takes a module out of memory, with its variables. Its handles and its kernels are of no use any more.
    pub fn unload(&mut self, module: ModuleHandle) -> Result<(), Error> {
        self.module(module)?;
        self.modules[module.id] = None;
        self.device.unload(module.id);
        Ok(())
    }

    /// The module of a handle.
    pub fn module(&self, handle: ModuleHandle) -> Result<&Arc<Module>, Error> {
        if handle.owner != self.owner {
            return Err(Error::WrongContext);
        }
        self.modules.get(handle.id).and_then(Option::as_ref).ok_or(Error::Unloaded)
    }

    /// The kernel of this name: what the module offers, or else what it keeps to itself.
    pub fn kernel(&self, handle: ModuleHandle, name: &str) -> Result<KernelHandle, Error> {
        let module = self.module(handle)?;
        let exported = module.interface.export(name).and_then(|export| match export.symbol {
            Named::Function(id) => Some(id).filter(|&id| module.functions[id].is_kernel()),
            Named::Variable(_) => None,
        });
        let any = || module.kernels().find(|(_, kernel)| kernel.name == name).map(|(id, _)| id);
        let function = exported.or_else(any).ok_or_else(|| Error::NoKernel { name: name.to_owned() })?;
        Ok(KernelHandle { module: handle, function })
    }

    /// The kernel with this id.
    pub fn kernel_of(&self, handle: ModuleHandle, function: FunctionId) -> Result<KernelHandle, Error> {
        let module = self.module(handle)?;
        match module.functions.get(function).filter(|function| function.is_kernel()) {
            Some(_) => Ok(KernelHandle { module: handle, function }),
            None => Err(Error::NoKernel { name: function.to_string() }),
        }
    }

    /// Makes a kernel ready to run.
    pub fn prepare(&mut self, kernel: KernelHandle) -> Result<Kernel, Error> {
        self.prepare_for(kernel)
    }

    /// Makes a kernel ready to run on an engine.
    pub fn prepare_for<E: Engine>(&mut self, kernel: KernelHandle) -> Result<Kernel<E>, Error> {
        let KernelHandle { module: handle, function } = kernel;
        let module = Arc::clone(self.module(handle)?);
        let program = Program::for_engine(&module, handle.id, function, &mut self.device)?;
        Ok(Kernel { module: handle, program })
    }

    /// All variables of a module that have a place in memory.
    pub fn variables(&self, handle: ModuleHandle) -> Result<Vec<NamedPlace>, Error> {
        let module = self.module(handle)?;
        let place = |(id, variable): (VariableId, &Variable)| {
            let address = self.device.variable_address(handle.id, module, id)?;
            let Variable { name, bytes, .. } = variable;
            (*bytes > 0).then(|| NamedPlace { name: name.clone(), address, bytes: *bytes })
        };
        Ok(module.variables.iter().filter_map(place).collect())
    }

    /// The variable of this name: what the module offers, or else what it keeps to itself.
    pub fn symbol(&self, handle: ModuleHandle, name: &str) -> Result<Symbol, Error> {
        let module = self.module(handle)?;
        let exported = module.interface.export(name).and_then(|export| match export.symbol {
            Named::Variable(id) => Some(id),
            Named::Function(_) => None,
        });
        let any = || {
            let mut own = module.variables.iter().filter(|(_, variable)| variable.function.is_none());
            own.find(|(_, variable)| variable.name == name).map(|(id, _)| id)
        };
        let found = exported.or_else(any).and_then(|id| self.symbol_of(handle, module, id));
        found.ok_or_else(|| Error::NoSymbol { name: name.to_owned() })
    }

    fn symbol_of(&self, handle: ModuleHandle, module: &Module, id: VariableId) -> Option<Symbol> {
        let variable = &module.variables[id];
        let address = self.device.variable_address(handle.id, module, id)?;
        Some(Symbol { address, bytes: variable.bytes, ty: variable.ty, space: variable.space })
    }
}
