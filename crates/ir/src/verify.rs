//! Checks the invariants of the IR. A violation is a bug of the lowering, never the user's fault.

use std::fmt;

use warplens_isa::{BlockId, Op, Pc};

use crate::{Bank, Flow, Function, Inst, Module, Register};

/// A broken invariant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// Block in which it was found.
    pub block: BlockId,
    /// Instruction, if it concerns one.
    pub pc: Option<Pc>,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.block, self.message)
    }
}

/// Every violation in the module.
pub fn verify(module: &Module) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (_, function) in module.functions.iter() {
        for block in function.block_ids() {
            check_block(module, function, block, &mut violations);
        }
    }
    violations
}

fn check_block(module: &Module, function: &Function, id: BlockId, violations: &mut Vec<Violation>) {
    let Some(block) = module.blocks.get(id) else {
        violations.push(Violation { block: id, pc: None, message: "the block does not exist".into() });
        return;
    };
    let mut report = |pc: Option<Pc>, message: String| violations.push(Violation { block: id, pc, message });
    let own = function.first_block.0..function.first_block.0 + function.n_blocks;
    for successor in block.flow.successors() {
        if !own.contains(&successor.0) {
            report(None, format!("successor {successor} belongs to another function"));
        }
    }
    let last = block.insts.len().saturating_sub(1);
    for (index, inst) in block.insts.iter().enumerate() {
        if inst.op().ends_block() && index != last {
            report(Some(inst.pc), format!("{} stands before the end of the block", inst.op().name()));
        }
        if module.pcs.get(inst.pc).is_none() {
            report(None, format!("{} is not in the table of source instructions", inst.pc));
        }
        check_registers(function, inst, &mut report);
    }
    if let Some(message) = flow_mismatch(&block.flow, block.insts.last()) {
        report(None, message);
    }
}

fn check_registers(function: &Function, inst: &Inst, report: &mut impl FnMut(Option<Pc>, String)) {
    let limit = |register: Register| match register.bank {
        Bank::Vector => function.registers.vector,
        Bank::Uniform => function.registers.uniform,
        Bank::Predicate => function.registers.predicate,
        Bank::UniformPredicate => function.registers.uniform_predicate,
        Bank::Convergence => function.registers.convergence,
    };
    for register in inst.reads().chain(inst.writes()) {
        if register.words().end > limit(register) {
            report(Some(inst.pc), format!("{register:?} lies outside of its bank"));
        }
    }
    let is_predicate = |bank| matches!(bank, Bank::Predicate | Bank::UniformPredicate);
    if inst.guard.is_some_and(|guard| !is_predicate(guard.predicate.bank)) {
        report(Some(inst.pc), "the guard is no predicate".into());
    }
    let (given, needed) = (inst.memory.len(), inst.op().n_memory_references());
    if given != needed {
        report(Some(inst.pc), format!("{} touches {needed} places in memory, not {given}", inst.op().name()));
    }
}

fn flow_mismatch(flow: &Flow, last: Option<&Inst>) -> Option<String> {
    let op = last.map(|inst| inst.op());
    let guarded = last.is_some_and(|inst| inst.guard.is_some());
    let (fits, next) = match flow {
        Flow::Fallthrough(_) => (op.is_none_or(|op| !op.ends_block() || op == Op::Bsync), None),
        Flow::Branch { next, .. } => (op == Some(Op::Bra), Some(next)),
        Flow::Indexed { next, .. } => (op == Some(Op::BrxIdx), Some(next)),
        Flow::Call { .. } => (op == Some(Op::Call), None),
        Flow::Return { next } => (op == Some(Op::Ret), Some(next)),
        Flow::Exit { next } => (matches!(op, Some(Op::Exit | Op::Trap | Op::Unsupported)), Some(next)),
    };
    if !fits {
        return Some(format!("the last operation {op:?} does not fit the flow {flow:?}"));
    }
    match next {
        Some(next) if next.is_some() != guarded => Some("exactly guarded control operations have a next block".into()),
        _ => None,
    }
}
