//! Addresses of variables as one kernel sees them.

use warplens_base::IdMap;
use warplens_ir::{FunctionId, Module, Operand, VariableId};
use warplens_isa::StateSpace;

use crate::decoded::function_address;
use crate::memory::{Image, Windows};

/// Addresses of the module's variables for one kernel, and its static shared memory.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    addresses: IdMap<VariableId, u64>,
    spaces: IdMap<VariableId, StateSpace>,
    windows: Windows,
    /// Address of the module's first function.
    pub(crate) first_function: u64,
    /// Bytes of static shared memory; dynamic shared memory starts there.
    pub(crate) static_shared: u64,
    /// Of these the system's.
    pub(crate) reserved_shared: u64,
    /// The variable that takes most of it.
    pub(crate) largest_shared: Option<VariableId>,
}

impl Layout {
    /// Places the shared variables that `functions` use, one after the other, behind what functions take besides;
    /// dynamic ones share the end.
    pub(crate) fn new(module: &Module, image: &Image, functions: &[FunctionId], windows: Windows) -> Self {
        let mut addresses = image.variables.clone();
        let used = shared_variables(module, functions);
        let fixed = functions.iter().map(|&function| module.functions[function].shared_bytes).max();
        let mut static_shared = u64::from(fixed.unwrap_or(0));
        let reserved = functions.iter().map(|&function| module.functions[function].reserved_shared_bytes).max();
        let reserved_shared = u64::from(reserved.unwrap_or(0));
        for &id in used.iter().filter(|&&id| !module.variables[id].is_dynamic) {
            let variable = &module.variables[id];
            let align = variable.align.max(1);
            // What runs over is far more than any launch is given, and refused there.
            static_shared = static_shared.checked_next_multiple_of(align).unwrap_or(u64::MAX);
            addresses[id] = static_shared;
            static_shared = static_shared.saturating_add(variable.bytes);
        }
        let dynamic = used.iter().filter(|&&id| module.variables[id].is_dynamic);
        let align = dynamic.clone().map(|&id| module.variables[id].align).max().unwrap_or(1).max(1);
        let end = static_shared.checked_next_multiple_of(align).unwrap_or(u64::MAX);
        for &id in dynamic {
            addresses[id] = end;
            static_shared = end;
        }
        let spaces = module.variables.iter().map(|(_, variable)| variable.space).collect();
        let largest_shared = used.iter().copied().max_by_key(|&id| module.variables[id].bytes);
        Self {
            addresses,
            spaces,
            windows,
            first_function: image.functions,
            static_shared,
            reserved_shared,
            largest_shared,
        }
    }

    /// Address of a variable in its own space, or its generic address.
    pub(crate) fn variable_address(&self, variable: VariableId, generic: bool) -> u64 {
        let base = if generic { self.windows.base(self.spaces[variable]) } else { 0 };
        base.wrapping_add(self.addresses[variable])
    }

    /// The address that stands for a function.
    pub(crate) fn function_address(&self, function: FunctionId) -> u64 {
        function_address(self.first_function, function)
    }

    /// The space that a generic address belongs to.
    pub(crate) fn space_of(&self, address: u64) -> StateSpace {
        self.windows.space_of(address)
    }

    /// Generic address of the first byte of a space.
    pub(crate) fn window(&self, space: StateSpace) -> u64 {
        self.windows.base(space)
    }
}

/// The variables in shared memory that a kernel with these functions uses.
pub(crate) fn shared_variables(module: &Module, functions: &[FunctionId]) -> Vec<VariableId> {
    let mut used = vec![false; module.variables.len()];
    let mut mark = |operand: &Operand| {
        if let Operand::Variable { variable, .. } = operand
            && module.variables[*variable].space == StateSpace::Shared
        {
            used[variable.0 as usize] = true;
        }
    };
    for &function in functions {
        for block in module.functions[function].block_ids() {
            for inst in &module.blocks[block].insts {
                inst.sources.iter().for_each(&mut mark);
                inst.memory.iter().for_each(|memory| mark(&memory.base));
            }
        }
    }
    module.variables.ids().filter(|id| used[id.0 as usize]).collect()
}
