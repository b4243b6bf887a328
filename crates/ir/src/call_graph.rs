//! Which functions a call may enter, and which ones a kernel reaches.
//!
//! A direct call enters its callee. An indirect one enters one of the functions that it lists; where it lists none, any
//! device function of the module whose address is taken: by an operand of an instruction, or in the content of a
//! variable. There is no other way to come by the address of a function.

use warplens_base::IdMap;

use crate::{Block, CallTarget, Flow, Function, FunctionId, Inst, Module, Operand};

/// The calls of a module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallGraph {
    /// Functions that the calls of each function may enter, each once, in order of discovery.
    callees: IdMap<FunctionId, Vec<FunctionId>>,
    address_taken: Vec<FunctionId>,
}

impl CallGraph {
    /// The calls of all functions.
    pub fn new(module: &Module) -> Self {
        let mut graph = Self { callees: IdMap::new(), address_taken: address_taken(module) };
        graph.callees = module.functions.iter().map(|(_, function)| graph.callees_of(module, function)).collect();
        graph
    }

    /// Device functions whose address is taken, in module order.
    pub fn address_taken(&self) -> &[FunctionId] {
        &self.address_taken
    }

    /// Functions that a call may enter.
    pub fn targets<'a>(&'a self, target: &'a CallTarget) -> &'a [FunctionId] {
        match target {
            CallTarget::Direct(callee) => std::slice::from_ref(callee),
            CallTarget::Indirect(_, candidates) if candidates.is_empty() => &self.address_taken,
            CallTarget::Indirect(_, candidates) => candidates,
        }
    }

    /// Functions that the call at the end of a block may enter; none where it ends otherwise.
    pub fn called_by<'a>(&'a self, block: &'a Block) -> &'a [FunctionId] {
        match &block.flow {
            Flow::Call { target, .. } => self.targets(target),
            Flow::Fallthrough(_)
            | Flow::Branch { .. }
            | Flow::Indexed { .. }
            | Flow::Computed { .. }
            | Flow::Return { .. }
            | Flow::Exit { .. } => &[],
        }
    }

    /// Functions that the calls of a function may enter, each once.
    pub fn callees(&self, function: FunctionId) -> &[FunctionId] {
        &self.callees[function]
    }

    /// The function and everything that it may call, directly or not, each once: the function first, then in order of
    /// discovery.
    pub fn reachable(&self, function: FunctionId) -> Vec<FunctionId> {
        let mut found = vec![function];
        let mut is_found = IdMap::filled(self.callees.len(), false);
        is_found[function] = true;
        let mut next = 0;
        while let Some(&caller) = found.get(next) {
            next += 1;
            for &callee in &self.callees[caller] {
                if !std::mem::replace(&mut is_found[callee], true) {
                    found.push(callee);
                }
            }
        }
        found
    }

    fn callees_of(&self, module: &Module, function: &Function) -> Vec<FunctionId> {
        let mut is_found: IdMap<FunctionId, bool> = IdMap::filled(module.functions.len(), false);
        let called = function.block_ids().flat_map(|block| self.called_by(&module.blocks[block]));
        called.copied().filter(|&callee| !std::mem::replace(&mut is_found[callee], true)).collect()
    }
}

/// Functions of a kernel's call graph, for those who ask only once.
pub fn reachable(module: &Module, kernel: FunctionId) -> Vec<FunctionId> {
    CallGraph::new(module).reachable(kernel)
}

fn address_taken(module: &Module) -> Vec<FunctionId> {
    let mut is_taken: IdMap<FunctionId, bool> = IdMap::filled(module.functions.len(), false);
    let mut take = |operand: &Operand| {
        if let Operand::Function(function) = operand {
            is_taken[*function] = true;
        }
    };
    for (_, block) in module.blocks.iter() {
        block.insts.iter().flat_map(operands).for_each(&mut take);
        if let Flow::Call { target: CallTarget::Indirect(operand, _), .. } = &block.flow {
            take(operand);
        }
    }
    for (_, variable) in module.variables.iter() {
        variable.initializer.functions.iter().for_each(|&(_, _, function)| is_taken[function] = true);
    }
    let device = |id: &FunctionId| is_taken[*id] && !module.functions[*id].is_kernel();
    module.functions.ids().filter(device).collect()
}

fn operands(inst: &Inst) -> impl Iterator<Item = &Operand> {
    inst.sources.iter().chain(inst.memory.iter().map(|memory| &memory.base))
}
