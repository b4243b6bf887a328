//! Finds kernels whose control depends on values that other threads write.
//!
//! Values that come from an atomic or an ordered load are followed through registers, calls and shared and local memory,
//! without regard to the order of instructions: the answer may be a false alarm. What it misses are values that other
//! threads wrote and that plain loads from global memory read; such kernels race.

use rustc_hash::{FxHashMap, FxHashSet};
use warplens_base::IdMap;
use warplens_ir::{Bank, CallGraph, CallTarget, Flow, FunctionId, Inst, Module, Operand, Register, register_files};
use warplens_isa::{AtomicOp, BulkCopy, Op, Operation, Pc, ScalarType, StateSpace, SystemCall, TensorCopy};

/// Who may have written a value, beyond the thread itself and what ran before the launch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) enum Writers {
    /// Nobody.
    #[default]
    None,
    /// Threads of the CTA.
    Cta,
    /// Threads of any CTA.
    Grid,
}

/// Where values of other threads are, in all functions of a kernel.
pub(crate) struct Foreign<'m> {
    module: &'m Module,
    functions: &'m [FunctionId],
    /// Functions that work on the same registers have the same words.
    files: IdMap<FunctionId, FunctionId>,
    calls: CallGraph,
    words: FxHashMap<(FunctionId, Bank, u32), Writers>,
    /// What was stored to shared and to local memory.
    shared: Writers,
    local: Writers,
    changed: bool,
}

impl<'m> Foreign<'m> {
    /// Follows the values of a kernel that consists of `functions`.
    pub(crate) fn find(module: &'m Module, functions: &'m [FunctionId]) -> Self {
        let (calls, words, none) = (CallGraph::new(module), FxHashMap::default(), Writers::None);
        let files = register_files(module);
        let mut foreign = Self { module, functions, files, calls, words, shared: none, local: none, changed: true };
        while std::mem::take(&mut foreign.changed) {
            for &function in functions {
                foreign.follow(function);
            }
        }
        foreign
    }

    /// The first branch or indirect jump that depends on what `writers` wrote.
    pub(crate) fn deciding_instruction(&self, writers: Writers) -> Option<Pc> {
        self.functions.iter().find_map(|&function| {
            let blocks = self.module.functions[function].block_ids().map(|block| &self.module.blocks[block]);
            blocks.filter(|block| !matches!(block.flow, Flow::Fallthrough(_) | Flow::Call { .. })).find_map(|block| {
                let control = block.insts.last()?;
                let depends = control.reads().map(|register| self.of_register(function, register)).max();
                (depends == Some(writers)).then_some(control.pc)
            })
        })
    }

    /// Who may have written what the instruction brings into the thread: [`Writers::None`] unless it reads memory.
    pub(crate) fn brought_by(&self, inst: &Inst) -> Writers {
        let Some(memory) = inst.memory.one() else { return Writers::None };
        let is_load = matches!(inst.op(), Op::Ld | Op::TestPhase);
        let is_exchange = inst.op() == Op::Atom || is_load && inst.operation.is_ordered();
        match memory.space {
            StateSpace::Global | StateSpace::Generic if is_exchange => Writers::Grid,
            StateSpace::Shared if is_exchange => Writers::Cta,
            _ if !matches!(inst.op(), Op::Ld | Op::Ldmatrix) => Writers::None,
            StateSpace::Shared => self.shared,
            StateSpace::Local => self.local,
            StateSpace::Generic => self.shared.max(self.local),
            _ => Writers::None,
        }
    }

    /// Who may have written the results of the call that ends a block.
    pub(crate) fn returned_by(&self, target: &CallTarget) -> Writers {
        let results = self.callees(target).into_iter().flat_map(|callee| {
            self.module.functions[callee].results.iter().map(move |&register| self.of_register(callee, register))
        });
        results.max().unwrap_or_default()
    }

    fn of_register(&self, function: FunctionId, register: Register) -> Writers {
        let word = |word| self.words.get(&(self.files[function], register.bank, word)).copied().unwrap_or_default();
        register.words().map(word).max().unwrap_or_default()
    }

    fn of_operand(&self, function: FunctionId, operand: &Operand) -> Writers {
        operand.register().map_or(Writers::None, |register| self.of_register(function, register))
    }

    fn mark(&mut self, function: FunctionId, register: Register, writers: Writers) {
        if writers == Writers::None {
            return;
        }
        for word in register.words() {
            let known = self.words.entry((self.files[function], register.bank, word)).or_default();
            if *known < writers {
                *known = writers;
                self.changed = true;
            }
        }
    }

    fn follow(&mut self, function: FunctionId) {
        let module = self.module;
        for block in module.functions[function].block_ids().map(|block| &module.blocks[block]) {
            for inst in &block.insts {
                match inst.op() {
                    // The value does not come from the address, nor from where a call is made.
                    Op::Ld | Op::TestPhase | Op::Atom | Op::Ldmatrix | Op::Tex | Op::Tld4 | Op::Suld => {
                        let writers = self.brought_by(inst);
                        inst.writes().for_each(|register| self.mark(function, register, writers));
                    }
                    Op::St | Op::Stmatrix => self.follow_store(function, inst),
                    Op::Call => {}
                    _ => {
                        let writers = inst.reads().map(|register| self.of_register(function, register)).max();
                        let writers = writers.unwrap_or_default();
                        inst.writes().for_each(|register| self.mark(function, register, writers));
                    }
                }
            }
            if let (Flow::Call { target, .. }, Some(call)) = (&block.flow, block.insts.last()) {
                self.follow_call(function, target, call);
            }
        }
    }

    fn follow_store(&mut self, function: FunctionId, inst: &Inst) {
        let writers = inst.sources.iter().map(|source| self.of_operand(function, source)).max().unwrap_or_default();
        let space = inst.memory.one().map(|memory| memory.space);
        let is_generic = space == Some(StateSpace::Generic);
        if (is_generic || space == Some(StateSpace::Shared)) && self.shared < writers {
            (self.shared, self.changed) = (writers, true);
        }
        if (is_generic || space == Some(StateSpace::Local)) && self.local < writers {
            (self.local, self.changed) = (writers, true);
        }
    }

    fn follow_call(&mut self, caller: FunctionId, target: &CallTarget, call: &Inst) {
        let module = self.module;
        for callee in self.callees(target) {
            let body = &module.functions[callee];
            for (argument, operand) in body.arguments.iter().zip(&call.sources) {
                let writers = self.of_operand(caller, operand);
                self.mark(callee, *argument, writers);
            }
            for (result, register) in body.results.iter().zip(&call.destinations) {
                let writers = self.of_register(callee, *result);
                if let Some(register) = register {
                    self.mark(caller, *register, writers);
                }
            }
        }
    }

    fn callees(&self, target: &CallTarget) -> Vec<FunctionId> {
        self.calls.targets(target).to_vec()
    }
}

/// How CTAs touch each other's data without looking at it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sharing {
    /// They do not, as far as atomics and ordered loads tell.
    None,
    /// By reductions of integers: any order gives the same.
    Commutative,
    /// In a way in which the order shows in the results.
    Ordered,
}

/// How the CTAs of a kernel that consists of `functions` touch each other's data.
pub(crate) fn sharing(module: &Module, functions: &[FunctionId]) -> Sharing {
    let mut reductions = Vec::new();
    for &function in functions {
        let read = read_words(module, function);
        for inst in instructions(module, function) {
            let is_across =
                inst.memory.iter().any(|memory| matches!(memory.space, StateSpace::Global | StateSpace::Generic));
            let is_used = || {
                let mut words = inst.writes().flat_map(|register| register.words().map(move |w| (register.bank, w)));
                words.any(|word| read.contains(&word))
            };
            match inst.operation {
                // A failed assertion ends the launch, and the lowest block that fails is the one that counts.
                Operation::SystemCall(SystemCall::AssertFail) => {}
                Operation::SystemCall(_) => return Sharing::Ordered,
                Operation::Ld(access) if is_across && access.ordered => return Sharing::Ordered,
                Operation::Atom(_) if is_across && is_used() => return Sharing::Ordered,
                Operation::Atom(atomic) | Operation::Red(atomic) if is_across => reductions.push((atomic.op, inst.ty)),
                // The type of the elements is said by the tensor map.
                Operation::CopyTensor(TensorCopy { reduction: Some(_), .. }) => return Sharing::Ordered,
                Operation::CopyBulk(BulkCopy { reduction: Some(op), .. }) if is_across => {
                    reductions.push((op, inst.ty))
                }
                Operation::Sured(reduction) => reductions.push((reduction.op, inst.ty)),
                _ => {}
            }
        }
    }
    // Different operations on one cell do not commute, and addresses are not known here.
    let kind = |&(op, ty): &(AtomicOp, ScalarType)| (op, ty.bits(), ty.is_signed());
    let Some(first) = reductions.first().map(kind) else { return Sharing::None };
    let sign_matters = matches!(first.0, AtomicOp::Min | AtomicOp::Max);
    let is_same = |reduction: &(AtomicOp, ScalarType)| {
        let (op, bits, signed) = kind(reduction);
        (op, bits) == (first.0, first.1) && (signed == first.2 || !sign_matters)
    };
    let commutes = |&(op, ty): &(AtomicOp, ScalarType)| {
        use AtomicOp as A;
        ty.is_integer() && matches!(op, A::Add | A::And | A::Or | A::Xor | A::Min | A::Max)
    };
    if reductions.iter().all(is_same) && reductions.iter().all(commutes) {
        Sharing::Commutative
    } else {
        Sharing::Ordered
    }
}

/// True if the kernel may change memory that its CTAs share.
pub(crate) fn changes_shared_memory(module: &Module, functions: &[FunctionId]) -> bool {
    let is_across = |space| matches!(space, StateSpace::Global | StateSpace::Generic | StateSpace::Surface);
    functions.iter().flat_map(|&function| instructions(module, function)).any(|inst| {
        let changes = match inst.op() {
            Op::St | Op::Stmatrix | Op::Atom | Op::Red | Op::RedCluster | Op::Sust | Op::Sured => true,
            // Its other place is said by the tensor map.
            Op::CopyTensor => return inst.operation.writes_tensor(),
            // A copy between memories changes the place that it names last.
            _ => inst.memory.iter().count() > 1,
        };
        changes && inst.memory.iter().any(|memory| is_across(memory.space))
    })
}

/// Words that some instruction of a function reads, or that it returns.
fn read_words(module: &Module, function: FunctionId) -> FxHashSet<(Bank, u32)> {
    let read = instructions(module, function).flat_map(|inst| inst.reads().collect::<Vec<_>>());
    let read = read.chain(module.functions[function].results.iter().copied());
    read.flat_map(|register| register.words().map(move |word| (register.bank, word))).collect()
}

fn instructions(module: &Module, function: FunctionId) -> impl Iterator<Item = &Inst> {
    module.functions[function].block_ids().flat_map(|block| &module.blocks[block].insts)
}
