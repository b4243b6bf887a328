//! Several modules become one: what one declares and another defines is found by name.
//!
//! Ids of all but the first module move behind those of the modules before; [`Linked::origin`] tells where an instruction
//! came from, whose span means the text of that module. What a weak or common definition loses to another one stays in
//! the module without a name, and takes no memory.
//!
//! Reference: PTX ISA, "Linking Directives".

mod renumber;
mod resolve;

#[cfg(test)]
mod tests;

use std::ops::Range;

use thiserror::Error;
use warplens_base::Id;
use warplens_isa::Pc;

use crate::{FunctionId, Module, VariableId, Width, verify};

/// How a definition stands to others of its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Linkage {
    /// There may be one.
    Strong,
    /// Gives way to any other.
    Weak,
    /// Is the same as others; the largest counts.
    Common,
}

/// What a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Symbol {
    /// A function.
    Function(FunctionId),
    /// A variable.
    Variable(VariableId),
}

/// A definition that other modules can name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Export {
    /// Its name.
    pub name: String,
    /// What it is.
    pub symbol: Symbol,
    /// How it stands to others of its name.
    pub linkage: Linkage,
}

/// A function that another module has to define.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExternalFunction {
    /// Its name.
    pub name: String,
    /// Widths of its arguments, in order.
    pub arguments: Vec<Width>,
    /// Widths of its results, in order.
    pub results: Vec<Width>,
}

/// Names by which modules find each other's functions and variables.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Interface {
    /// What the module offers.
    pub exports: Vec<Export>,
    /// Functions that it takes from others. The n-th has the n-th function id behind those of the module: a module that
    /// has any can be linked, but not run.
    pub functions: Vec<ExternalFunction>,
    /// Variables that it declares and others define.
    pub variables: Vec<VariableId>,
}

impl Interface {
    /// What the module offers under a name.
    pub fn export(&self, name: &str) -> Option<&Export> {
        self.exports.iter().find(|export| export.name == name)
    }
}

/// Why modules cannot be linked. Modules go by their position in the list.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum LinkError {
    /// There is nothing to link.
    #[error("there is no module to link")]
    Nothing,
    /// Two modules define a name.
    #[error("`{name}` is defined in module {first} and in module {second}")]
    Duplicate {
        /// The name.
        name: String,
        /// The first module that defines it.
        first: usize,
        /// The other one.
        second: usize,
    },
    /// No module defines a name that is used.
    #[error("`{name}`, which module {module} uses, is defined nowhere")]
    Missing {
        /// The name.
        name: String,
        /// The module that uses it.
        module: usize,
    },
    /// A declaration and its definition do not agree.
    #[error("`{name}` is declared in module {module} and defined in module {definition} with another {what}")]
    Mismatch {
        /// The name.
        name: String,
        /// The module that declares it.
        module: usize,
        /// The module that defines it.
        definition: usize,
        /// What differs.
        what: &'static str,
    },
    /// Several modules bring constant banks of their own, and a bank has one content.
    #[error("module {module} has constant banks of its own, as a module before it has")]
    ConstantBanks {
        /// The module.
        module: usize,
    },
    /// Addresses are of different widths.
    #[error("module {module} has addresses of {bits} bits, and the first has {first}")]
    AddressBits {
        /// The module.
        module: usize,
        /// Bits of its addresses.
        bits: u32,
        /// Bits of an address of the first module.
        first: u32,
    },
}

/// Modules that have become one.
#[derive(Clone, Debug)]
pub struct Linked {
    /// The module.
    pub module: Module,
    /// What of it came from each module, in order.
    pub parts: Vec<Part>,
}

/// What came from one module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// Its instructions.
    pub pcs: Range<u32>,
    /// Its functions.
    pub functions: Range<u32>,
    /// Its variables.
    pub variables: Range<u32>,
}

impl Linked {
    /// The module that an instruction came from, by position, and the instruction there.
    pub fn origin(&self, pc: Pc) -> (usize, Pc) {
        let number = pc.index() as u32;
        let module = self.parts.iter().position(|part| part.pcs.contains(&number));
        let module = module.expect("every instruction came from a module");
        (module, Pc(number - self.parts[module].pcs.start))
    }
}

/// Links modules: every name that one of them uses must be defined once.
pub fn link(modules: &[&Module]) -> Result<Linked, Vec<LinkError>> {
    let Some(first) = modules.first() else { return Err(vec![LinkError::Nothing]) };
    let bits = |(module, own): (usize, &&Module)| {
        let differs = own.address_bits != first.address_bits;
        differs.then_some(LinkError::AddressBits { module, bits: own.address_bits, first: first.address_bits })
    };
    let errors: Vec<LinkError> = modules.iter().enumerate().filter_map(bits).collect();
    if !errors.is_empty() {
        return Err(errors);
    }
    let (definitions, mut errors) = resolve::definitions(modules);
    let linked = renumber::merge(modules, &definitions, &mut errors);
    if !errors.is_empty() {
        return Err(errors);
    }
    let violations = verify(&linked.module);
    assert!(violations.is_empty(), "linking keeps the invariants: {violations:?}");
    Ok(linked)
}
