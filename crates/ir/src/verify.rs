//! Checks the invariants of the IR. A violation is a bug of the lowering, never the user's fault.

use std::fmt;

use warplens_isa::{BlockId, Op, Operation, Pc, ScalarType};

use crate::{Bank, Block, Constant, Flow, Function, Inst, Module, Operand, Register, Sign, SignedValue, subroutines};

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
    check_side_tables(module, &mut violations);
    violations
}

/// Side tables speak of instructions that exist, in words that machine code has.
fn check_side_tables(module: &Module, violations: &mut Vec<Violation>) {
    let block = BlockId(0);
    for &pc in module.locations.keys().chain(module.ptx_lines.keys()).chain(module.controls.keys()) {
        if module.pcs.get(pc).is_none() {
            let message = format!("a side table speaks of {pc}, which does not exist");
            violations.push(Violation { block, pc: Some(pc), message });
        }
    }
    for (&pc, control) in module.controls.iter().filter(|(_, control)| !control.is_valid()) {
        let message = format!("the control code {control:?} is out of range");
        violations.push(Violation { block, pc: Some(pc), message });
    }
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
        check_operands(module, inst, &mut report);
    }
    if let Flow::Call { target, .. } = &block.flow {
        let calls = subroutines(module, target).into_iter().map(|callee| &module.functions[callee]);
        calls
            .filter_map(|callee| subroutine_mismatch(function, callee, block))
            .for_each(|message| report(None, message));
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
    let barrier = match inst.op() {
        Op::Bssy | Op::WriteConvergence => inst.writes().any(|register| register.bank == Bank::Convergence),
        Op::Bsync | Op::Break | Op::ReadConvergence => inst.reads().any(|register| register.bank == Bank::Convergence),
        _ => true,
    };
    if !barrier {
        report(Some(inst.pc), format!("{} names no convergence barrier", inst.op().name()));
    }
    let (given, needed) = (inst.memory.len(), inst.op().n_memory_references());
    if given != needed {
        report(Some(inst.pc), format!("{} touches {needed} places in memory, not {given}", inst.op().name()));
    }
}

/// Why a subroutine cannot work on the registers of a caller.
fn subroutine_mismatch(caller: &Function, callee: &Function, block: &Block) -> Option<String> {
    let passes = block.insts.last().is_some_and(|call| !call.sources.is_empty() || !call.destinations.is_empty());
    let takes = !callee.arguments.is_empty() || !callee.results.is_empty();
    if passes || takes {
        return Some(format!("{} is a subroutine with arguments or results", callee.name));
    }
    let is_same = (caller.registers, caller.local_bytes) == (callee.registers, callee.local_bytes);
    (!is_same).then(|| format!("{} has other registers or local memory than its caller {}", callee.name, caller.name))
}

/// Constants lie in their bank, signs are changed where operations can.
fn check_operands(module: &Module, inst: &Inst, report: &mut impl FnMut(Option<Pc>, String)) {
    let bases = inst.memory.iter().map(|memory| (&memory.base, module.address_bits / 8));
    let bytes = inst.ty.bytes().max(inst.source_ty.bytes()).min(8);
    for (operand, bytes) in inst.sources.iter().map(|operand| (operand, bytes)).chain(bases) {
        let (sign, constant) = match operand {
            Operand::Constant(constant) => (None, Some(constant)),
            Operand::Signed(sign, SignedValue::Constant(constant)) => (Some(sign), Some(constant)),
            Operand::Signed(sign, SignedValue::Register(_)) => (Some(sign), None),
            _ => continue,
        };
        if let Some(Constant { bank, offset }) = constant {
            match module.constant_bank(*bank) {
                None => report(Some(inst.pc), format!("there is no constant bank {bank}")),
                Some(found) if offset.checked_add(bytes).is_none_or(|end| end > found.bytes) => {
                    report(Some(inst.pc), format!("{offset:#x} lies outside of constant bank {bank}"));
                }
                Some(_) => {}
            }
        }
        if sign.is_some_and(|sign| !takes_sign(inst, *sign)) {
            report(Some(inst.pc), format!("{} does not change the sign of an operand", inst.op().name()));
        }
    }
}

/// True for operations on floats, whose sign is a bit, and for sums of integers, which may add the complement.
fn takes_sign(inst: &Inst, sign: Sign) -> bool {
    let ty = inst.source_ty;
    let is_float = ty.is_float() || matches!(ty, ScalarType::F16x2 | ScalarType::Bf16x2 | ScalarType::F32x2);
    match inst.operation {
        Operation::Add(_) | Operation::Sub(_) => is_float || ty.is_integer() && sign == Sign::Negated,
        Operation::Mul(_)
        | Operation::Fma(_)
        | Operation::Min(_)
        | Operation::Max(_)
        | Operation::Set(_)
        | Operation::Setp(_)
        | Operation::Cvt(_)
        | Operation::Rcp(_)
        | Operation::Sqrt(_)
        | Operation::Rsqrt(_)
        | Operation::Sin(_)
        | Operation::Cos(_)
        | Operation::Ex2(_)
        | Operation::Lg2(_)
        | Operation::Tanh(_) => is_float,
        Operation::FmaMixed(_) => true,
        _ => false,
    }
}

fn flow_mismatch(flow: &Flow, last: Option<&Inst>) -> Option<String> {
    let op = last.map(|inst| inst.op());
    let guarded = last.is_some_and(|inst| inst.guard.is_some());
    let (fits, next) = match flow {
        Flow::Fallthrough(_) => (op.is_none_or(|op| !op.ends_block() || op == Op::Bsync), None),
        Flow::Branch { next, .. } => (op == Some(Op::Bra), Some(next)),
        Flow::Indexed { next, .. } => (op == Some(Op::BrxIdx), Some(next)),
        Flow::Computed { next, .. } => (op == Some(Op::Jump), Some(next)),
        Flow::Call { .. } => (op == Some(Op::Call), None),
        Flow::Return { next } => (op == Some(Op::Ret), Some(next)),
        Flow::Exit { next } => (matches!(op, Some(Op::Exit | Op::Trap | Op::Unsupported)), Some(next)),
    };
    if !fits {
        return Some(format!("the last operation {op:?} does not fit the flow {flow:?}"));
    }
    if let Flow::Computed { targets, .. } = flow
        && !targets.is_sorted_by(|(one, _), (other, _)| one < other)
    {
        return Some("the targets of a computed jump are not sorted by address".into());
    }
    match next {
        Some(next) if next.is_some() != guarded => Some("exactly guarded control operations have a next block".into()),
        _ => None,
    }
}
