//! The kernel made ready to be walked: which instructions matter to the counts, loops, reconvergence points.

use warplens_base::IdMap;
use warplens_exec as exec;
use warplens_ir::{Bank, CallGraph, Function, FunctionId, Inst, Module, Operand, Register, reconvergence};
use warplens_isa::{BlockId, Op, Pc, StateSpace};

use crate::loops::Loops;
use crate::operation::{self, Computation};

/// A kernel and everything that it may call.
pub(crate) struct Code<'a> {
    pub(crate) module: &'a Module,
    pub(crate) kernel: FunctionId,
    pub(crate) calls: CallGraph,
    /// Addresses of variables and windows.
    pub(crate) program: &'a exec::Program,
    pub(crate) loops: Loops,
    blocks: IdMap<BlockId, Vec<Step>>,
    /// Source instructions of each block.
    n_instructions: IdMap<BlockId, u32>,
    pub(crate) points: IdMap<BlockId, Option<BlockId>>,
}

/// An instruction that has to be looked at.
pub(crate) struct Step {
    /// Position in its block.
    pub(crate) at: usize,
    /// The values of its results matter.
    pub(crate) evaluates: bool,
    /// How they are computed, for most integer operations.
    pub(crate) operation: Option<Computation>,
}

impl<'a> Code<'a> {
    pub(crate) fn new(module: &'a Module, kernel: FunctionId, program: &'a exec::Program) -> Self {
        let calls = CallGraph::new(module);
        let functions = calls.reachable(kernel);
        let relevant = Relevant::new(module, &calls, &functions);
        let mut code = Self {
            module,
            kernel,
            calls,
            program,
            loops: Loops::default(),
            blocks: module.blocks.iter().map(|_| Vec::new()).collect(),
            n_instructions: IdMap::filled(module.blocks.len(), 0),
            points: reconvergence::points(module),
        };
        for &function in &functions {
            let body = &module.functions[function];
            code.loops.add(module, body);
            for block in body.block_ids() {
                code.prepare(block, |inst| inst.writes().any(|register| relevant.has(function, body, register)));
            }
        }
        code
    }

    fn prepare(&mut self, id: BlockId, matters: impl Fn(&Inst) -> bool) {
        let mut last = None;
        for (at, inst) in self.module.blocks[id].insts.iter().enumerate() {
            if last.replace(inst.pc) != Some(inst.pc) {
                self.n_instructions[id] += 1;
            }
            if inst.op().ends_block() {
                break;
            }
            let evaluates = matters(inst);
            if evaluates || inst.guard.is_some() || is_access(inst) {
                let operation = if evaluates { operation::of(inst) } else { None };
                self.blocks[id].push(Step { at, evaluates, operation });
            }
        }
    }

    /// The instructions of a block that have to be looked at, without the one that ends it.
    pub(crate) fn steps(&self, block: BlockId) -> &[Step] {
        &self.blocks[block]
    }

    pub(crate) fn n_instructions(&self, block: BlockId) -> u32 {
        self.n_instructions[block]
    }

    /// The last instruction of a block.
    pub(crate) fn last_of(&self, block: BlockId) -> Pc {
        self.module.blocks[block].insts.last().map_or(Pc(0), |inst| inst.pc)
    }

    pub(crate) fn inst(&self, block: BlockId, at: usize) -> &'a Inst {
        &self.module.blocks[block].insts[at]
    }

    /// The instruction that ends a block.
    pub(crate) fn control(&self, block: BlockId) -> Option<&'a Inst> {
        self.module.blocks[block].insts.last().filter(|inst| inst.op().ends_block())
    }
}

/// True for loads, stores and atomics that a profile counts.
pub(crate) fn is_access(inst: &Inst) -> bool {
    inst.op().is_access() && inst.memory.iter().any(|memory| memory.space != StateSpace::Param)
}

/// Registers on which addresses, branches and guards depend, whatever the path.
struct Relevant {
    functions: IdMap<FunctionId, Vec<bool>>,
    changed: bool,
}

impl Relevant {
    fn new(module: &Module, calls: &CallGraph, functions: &[FunctionId]) -> Self {
        let n_registers = |function: &Function| {
            let words = &function.registers;
            (words.vector + words.uniform + words.predicate + words.uniform_predicate) as usize + 4
        };
        let functions_of = module.functions.iter().map(|(_, function)| vec![false; n_registers(function)]);
        let mut relevant = Self { functions: functions_of.collect(), changed: true };
        while std::mem::take(&mut relevant.changed) {
            for &function in functions {
                for block in module.functions[function].block_ids() {
                    // Backwards, so that most chains are found at once.
                    for inst in module.blocks[block].insts.iter().rev() {
                        relevant.visit(module, function, inst);
                    }
                    for &callee in calls.called_by(&module.blocks[block]) {
                        relevant.visit_call(module, function, block, callee);
                    }
                }
            }
        }
        relevant
    }

    fn visit(&mut self, module: &Module, function: FunctionId, inst: &Inst) {
        let body = &module.functions[function];
        if let Some(guard) = inst.guard {
            self.mark(function, body, guard.predicate);
        }
        if inst.op() != Op::Prefetch {
            for register in inst.memory.iter().filter_map(|memory| memory.base.register()) {
                self.mark(function, body, register);
            }
        }
        let is_data = is_access(inst) || matches!(inst.op(), Op::Ld | Op::Copy | Op::Call | Op::Bar | Op::SystemCall);
        // The sources of a copy say what it reads.
        let matters = matches!(inst.op(), Op::BrxIdx | Op::Copy)
            || !is_data && inst.writes().any(|register| self.has(function, body, register));
        if matters {
            for register in inst.sources.iter().filter_map(Operand::register) {
                self.mark(function, body, register);
            }
        }
    }

    fn visit_call(&mut self, module: &Module, function: FunctionId, block: BlockId, callee: FunctionId) {
        let (body, called) = (&module.functions[function], &module.functions[callee]);
        let Some(inst) = module.blocks[block].insts.last() else { return };
        for (source, &argument) in inst.sources.iter().zip(&called.arguments) {
            if let Some(register) = source.register()
                && self.has(callee, called, argument)
            {
                self.mark(function, body, register);
            }
        }
        for (destination, &result) in inst.destinations.iter().zip(&called.results) {
            if destination.is_some_and(|register| self.has(function, body, register)) {
                self.mark(callee, called, result);
            }
        }
    }

    fn places(body: &Function, register: Register) -> std::ops::Range<usize> {
        let words = &body.registers;
        let first = match register.bank {
            Bank::Vector => 0,
            Bank::Uniform => words.vector,
            Bank::Predicate => words.vector + words.uniform,
            Bank::UniformPredicate => words.vector + words.uniform + words.predicate,
            Bank::Convergence => return 0..0,
        };
        let range = register.words();
        (first + range.start) as usize..(first + range.end) as usize
    }

    fn has(&self, function: FunctionId, body: &Function, register: Register) -> bool {
        Self::places(body, register).any(|place| self.functions[function].get(place) == Some(&true))
    }

    fn mark(&mut self, function: FunctionId, body: &Function, register: Register) {
        for place in Self::places(body, register) {
            if let Some(mark) = self.functions[function].get_mut(place) {
                self.changed |= !std::mem::replace(mark, true);
            }
        }
    }
}
