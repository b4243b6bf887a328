//! One module of several: every id moves to its new place, every name to its definition.

use std::collections::BTreeMap;

use warplens_base::Id;
use warplens_isa::{BlockId, Pc, Spelling};

use super::resolve::Definition;
use super::{Export, LinkError, Linked, Part, Symbol};
use crate::{
    CallTarget, Flow, FunctionId, Inst, Module, Operand, Register, SourceLocation, SpellingId, VariableId, Width,
};

/// Merges modules. What cannot be resolved is added to `errors`.
pub(super) fn merge(
    modules: &[&Module],
    definitions: &BTreeMap<&str, Definition>,
    errors: &mut Vec<LinkError>,
) -> Linked {
    let mut starts = Vec::with_capacity(modules.len());
    let mut next = Start::default();
    for module in modules {
        starts.push(next);
        next = next.behind(module);
    }
    let mut linked =
        Module { address_bits: modules[0].address_bits, target: modules[0].target.clone(), ..Module::default() };
    // Listings name a text once, in the order of the texts, whichever module it stands in.
    let texts: BTreeMap<String, &Spelling> = modules
        .iter()
        .flat_map(|module| module.spellings.as_slice())
        .map(|spelling| (spelling.to_string(), spelling))
        .collect();
    let texts: BTreeMap<String, SpellingId> =
        texts.into_iter().map(|(text, spelling)| (text, linked.spellings.push(spelling.clone()))).collect();
    let mut parts = Vec::with_capacity(modules.len());
    for number in 0..modules.len() {
        let mut part = Renumber::new(modules, definitions, &starts, number);
        part.append(&mut linked, &texts);
        errors.append(&mut part.errors);
        let end = starts.get(number + 1).copied().unwrap_or(next);
        let start = starts[number];
        parts.push(Part {
            pcs: start.pc..end.pc,
            functions: start.function..end.function,
            variables: start.variable..end.variable,
        });
    }
    for (name, definition) in definitions {
        let symbol = starts[definition.module].symbol(definition.symbol);
        linked.interface.exports.push(Export { name: (*name).to_owned(), symbol, linkage: definition.linkage() });
    }
    Linked { module: linked, parts }
}

/// The first ids of a module in the merged one.
#[derive(Clone, Copy, Default)]
struct Start {
    function: u32,
    variable: u32,
    block: u32,
    pc: u32,
    file: u32,
}

impl Start {
    fn behind(self, module: &Module) -> Self {
        Self {
            function: self.function + module.functions.len() as u32,
            variable: self.variable + module.variables.len() as u32,
            block: self.block + module.blocks.len() as u32,
            pc: self.pc + module.pcs.len() as u32,
            file: self.file + module.files.len() as u32,
        }
    }

    fn symbol(self, symbol: Symbol) -> Symbol {
        match symbol {
            Symbol::Function(id) => Symbol::Function(FunctionId(self.function + id.0)),
            Symbol::Variable(id) => Symbol::Variable(VariableId(self.variable + id.0)),
        }
    }
}

/// Where the ids of one module go.
struct Renumber<'r> {
    module: &'r Module,
    number: usize,
    start: Start,
    /// By function id; those of other modules follow.
    functions: Vec<Target<FunctionId>>,
    variables: Vec<Target<VariableId>>,
    errors: Vec<LinkError>,
}

/// Where a function or a variable goes.
#[derive(Clone, Copy)]
enum Target<I> {
    Own(I),
    /// Another definition takes its place.
    Replaced(I),
    /// It is defined nowhere, which matters if it is used.
    Missing,
}

impl<'r> Renumber<'r> {
    fn new(modules: &[&'r Module], definitions: &BTreeMap<&str, Definition>, starts: &[Start], number: usize) -> Self {
        let (module, start) = (modules[number], starts[number]);
        let functions = module.functions.ids().map(|id| Target::Own(FunctionId(start.function + id.0)));
        let variables = module.variables.ids().map(|id| Target::Own(VariableId(start.variable + id.0)));
        let (functions, variables) = (functions.collect(), variables.collect());
        let mut own = Self { module, number, start, functions, variables, errors: Vec::new() };
        for export in &module.interface.exports {
            let Some(definition) = definitions.get(export.name.as_str()) else { continue };
            if definition.module == number && definition.symbol == export.symbol {
                continue;
            }
            match export.symbol {
                Symbol::Function(id) => {
                    let function = &module.functions[id];
                    let shape = (widths(&function.arguments), widths(&function.results));
                    own.functions[id.index()] = own.function_target(modules, starts, &export.name, shape, definition);
                }
                Symbol::Variable(id) => {
                    own.variables[id.index()] = own.variable_target(modules, starts, id, definition);
                }
            }
        }
        for external in &module.interface.functions {
            let shape = (external.arguments.clone(), external.results.clone());
            let definition = definitions.get(external.name.as_str());
            let target = definition.map_or(Target::Missing, |definition| {
                own.function_target(modules, starts, &external.name, shape, definition)
            });
            own.functions.push(target);
        }
        for &id in &module.interface.variables {
            let definition = definitions.get(module.variables[id].name.as_str());
            own.variables[id.index()] =
                definition.map_or(Target::Missing, |definition| own.variable_target(modules, starts, id, definition));
        }
        own
    }

    /// The definition that takes a function's place.
    fn function_target(
        &mut self,
        modules: &[&Module],
        starts: &[Start],
        name: &str,
        (arguments, results): (Vec<Width>, Vec<Width>),
        definition: &Definition,
    ) -> Target<FunctionId> {
        match definition.symbol {
            Symbol::Function(id) => {
                let function = &modules[definition.module].functions[id];
                let agrees = widths(&function.arguments) == arguments && widths(&function.results) == results;
                // Kernels have no argument registers; nobody calls them.
                if !agrees && !function.is_kernel() {
                    self.mismatch(name, definition, "list of parameters");
                }
                Target::Replaced(FunctionId(starts[definition.module].function + id.0))
            }
            Symbol::Variable(_) => {
                self.mismatch(name, definition, "kind");
                Target::Missing
            }
        }
    }

    /// The definition that takes a variable's place.
    fn variable_target(
        &mut self,
        modules: &[&Module],
        starts: &[Start],
        own: VariableId,
        definition: &Definition,
    ) -> Target<VariableId> {
        let module = self.module;
        let variable = &module.variables[own];
        match definition.symbol {
            Symbol::Variable(id) => {
                if modules[definition.module].variables[id].space != variable.space {
                    self.mismatch(&variable.name, definition, "state space");
                }
                Target::Replaced(VariableId(starts[definition.module].variable + id.0))
            }
            Symbol::Function(_) => {
                self.mismatch(&variable.name, definition, "kind");
                Target::Missing
            }
        }
    }

    fn mismatch(&mut self, name: &str, definition: &Definition, what: &'static str) {
        let (name, module, definition) = (name.to_owned(), self.number, definition.module);
        self.errors.push(LinkError::Mismatch { name, module, definition, what });
    }

    fn missing(&mut self, name: String) {
        let error = LinkError::Missing { name, module: self.number };
        if !self.errors.contains(&error) {
            self.errors.push(error);
        }
    }

    /// Banks with content of their own cannot become one; those in which only parameters lie can.
    fn constant_banks(&mut self, linked: &mut Module) {
        for bank in &self.module.constant_banks {
            let other = linked.constant_banks.iter_mut().find(|other| other.number == bank.number);
            match other {
                None => linked.constant_banks.push(bank.clone()),
                Some(other)
                    if other.content == bank.content
                        && bank.content.is_empty()
                        && other.parameters == bank.parameters =>
                {
                    other.bytes = other.bytes.max(bank.bytes);
                }
                Some(_) => self.errors.push(LinkError::ConstantBanks { module: self.number }),
            }
        }
    }

    fn append(&mut self, linked: &mut Module, texts: &BTreeMap<String, SpellingId>) {
        let module = self.module;
        linked.files.extend(module.files.iter().cloned());
        for (_, info) in module.pcs.iter() {
            let mut info = info.clone();
            info.function = FunctionId(self.start.function + info.function.0);
            info.spelling = texts[&module.spellings[info.spelling].to_string()];
            linked.pcs.push(info);
        }
        for (&pc, location) in &module.locations {
            let file = location.file + self.start.file;
            linked.locations.insert(self.pc(pc), SourceLocation { file, ..*location });
        }
        linked.ptx_lines.extend(module.ptx_lines.iter().map(|(&pc, line)| (self.pc(pc), line.clone())));
        linked.controls.extend(module.controls.iter().map(|(&pc, control)| (self.pc(pc), *control)));
        self.constant_banks(linked);
        for (_, block) in module.blocks.iter() {
            let mut block = block.clone();
            block.insts.iter_mut().for_each(|inst| self.inst(inst));
            self.flow(&mut block.flow);
            linked.blocks.push(block);
        }
        for (_, function) in module.functions.iter() {
            let mut function = function.clone();
            function.first_block = self.block(function.first_block);
            linked.functions.push(function);
        }
        for (id, variable) in module.variables.iter() {
            let mut variable = variable.clone();
            variable.function = variable.function.map(|function| FunctionId(self.start.function + function.0));
            if matches!(self.variables[id.index()], Target::Own(_)) {
                self.initializer(&mut variable.initializer);
            } else {
                // Nobody asks for it here any more.
                (variable.bytes, variable.initializer) = (0, crate::Initializer::default());
            }
            linked.variables.push(variable);
        }
    }

    fn pc(&self, pc: Pc) -> Pc {
        Pc(self.start.pc + pc.0)
    }

    fn block(&self, id: BlockId) -> BlockId {
        BlockId(self.start.block + id.0)
    }

    fn function(&mut self, id: FunctionId) -> FunctionId {
        match self.functions[id.index()] {
            Target::Own(target) | Target::Replaced(target) => target,
            Target::Missing => {
                let module = self.module;
                let external = &module.interface.functions[id.index() - module.functions.len()];
                self.missing(external.name.clone());
                id
            }
        }
    }

    fn variable(&mut self, id: VariableId) -> VariableId {
        match self.variables[id.index()] {
            Target::Own(target) | Target::Replaced(target) => target,
            Target::Missing => {
                self.missing(self.module.variables[id].name.clone());
                id
            }
        }
    }

    fn inst(&mut self, inst: &mut Inst) {
        inst.pc = self.pc(inst.pc);
        inst.sources.iter_mut().for_each(|operand| self.operand(operand));
        inst.memory.iter_mut().for_each(|memory| self.operand(&mut memory.base));
    }

    fn operand(&mut self, operand: &mut Operand) {
        match operand {
            Operand::Variable { variable, .. } => *variable = self.variable(*variable),
            Operand::Function(function) => *function = self.function(*function),
            Operand::Register(_)
            | Operand::NotPredicate(_)
            | Operand::Signed(..)
            | Operand::Constant(_)
            | Operand::Immediate(_)
            | Operand::Special(_)
            | Operand::Frame(_) => {}
        }
    }

    fn flow(&mut self, flow: &mut Flow) {
        let start = self.start.block;
        let moved = |block: &mut BlockId| block.0 += start;
        match flow {
            Flow::Fallthrough(next) => moved(next),
            Flow::Branch { taken, next } => {
                moved(taken);
                next.iter_mut().for_each(moved);
            }
            Flow::Indexed { targets, next } => targets.iter_mut().chain(next).for_each(moved),
            Flow::Computed { targets, next } => {
                targets.iter_mut().map(|(_, block)| block).chain(next).for_each(moved);
            }
            Flow::Return { next } | Flow::Exit { next } => next.iter_mut().for_each(moved),
            Flow::Call { target, next } => {
                moved(next);
                match target {
                    CallTarget::Direct(function) => *function = self.function(*function),
                    CallTarget::Indirect(operand, candidates) => {
                        self.operand(operand);
                        candidates.iter_mut().for_each(|function| *function = self.function(*function));
                    }
                }
            }
        }
    }

    fn initializer(&mut self, initializer: &mut crate::Initializer) {
        let addresses = initializer.addresses.iter_mut().chain(&mut initializer.address_bytes);
        addresses.for_each(|(_, _, variable, ..)| *variable = self.variable(*variable));
        initializer.functions.iter_mut().for_each(|(_, _, function)| *function = self.function(*function));
    }
}

fn widths(registers: &[Register]) -> Vec<Width> {
    registers.iter().map(|register| register.width).collect()
}
