//! Which definition each name stands for.

use std::collections::BTreeMap;

use super::{Export, LinkError, Linkage, Symbol};
use crate::Module;

/// A definition: the module that holds it, and its id there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Definition {
    pub(super) module: usize,
    pub(super) symbol: Symbol,
    linkage: Linkage,
}

impl Definition {
    /// How it stands to others of its name.
    pub(super) fn linkage(self) -> Linkage {
        self.linkage
    }
}

/// The definition of every name that some module offers.
pub(super) fn definitions<'m>(modules: &[&'m Module]) -> (BTreeMap<&'m str, Definition>, Vec<LinkError>) {
    let mut found: BTreeMap<&str, Definition> = BTreeMap::new();
    let mut errors = Vec::new();
    for (module, own) in modules.iter().enumerate() {
        for Export { name, symbol, linkage } in &own.interface.exports {
            let new = Definition { module, symbol: *symbol, linkage: *linkage };
            match found.get(name.as_str()) {
                None => {
                    found.insert(name, new);
                }
                Some(&old) => match choose(modules, old, new) {
                    Some(chosen) => {
                        found.insert(name, chosen);
                    }
                    None => {
                        let name = name.clone();
                        errors.push(LinkError::Duplicate { name, first: old.module, second: module });
                    }
                },
            }
        }
    }
    (found, errors)
}

/// The one of two definitions that counts.
fn choose(modules: &[&Module], old: Definition, new: Definition) -> Option<Definition> {
    match (old.linkage, new.linkage) {
        (Linkage::Strong, Linkage::Strong) => None,
        (_, Linkage::Strong) => Some(new),
        (Linkage::Strong, _) => Some(old),
        (Linkage::Common, Linkage::Common) => {
            let bytes = |definition: Definition| match definition.symbol {
                Symbol::Variable(id) => modules[definition.module].variables[id].bytes,
                Symbol::Function(_) => 0,
            };
            Some(if bytes(new) > bytes(old) { new } else { old })
        }
        (Linkage::Weak, Linkage::Common) => Some(new),
        (_, Linkage::Weak) => Some(old),
    }
}
