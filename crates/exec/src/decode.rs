//! Decoding: from the IR to [`Code`].
//!
//! What follows from the module and the device is looked up once: the frame that a register lies in, the address of a
//! variable, what stands in a constant bank, where paths meet again. No engine has a part in it.

use rustc_hash::FxHashMap;
use warplens_base::IdMap;
use warplens_ir::{
    self as ir, Bank, CallGraph, CallTarget, Cfg, Constant, Dominators, FunctionId, FunctionKind, Inst, Liveness,
    Module, RegisterWords, reconvergence, register_files,
};
use warplens_isa::{BlockId, Effect, Op, Pc};

use crate::constants::{Content, bank_content};
use crate::decoded::{
    Block, Call, Callee, Code, Decoded, File, Flow, Function, Guard, MemoryReference, Operand, Register, SignedValue,
};
use crate::layout::Layout;
use crate::memory::Windows;
use crate::waiting::Wait;

/// Words times blocks of functions that are looked at for words that are read before they are written: 8 MiB of bits for
/// each of the sets.
const MOST_LIVE_WORDS: u64 = 1 << 26;

/// Something in the kernel's call graph that cannot be executed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unsupported {
    /// The instruction.
    pub pc: Pc,
    /// Why.
    pub reason: String,
}

/// Decodes `kernel` and every function that it may call.
pub(crate) fn decode(
    module: &Module,
    kernel: FunctionId,
    (layout, windows): (&Layout, Windows),
    waits: &FxHashMap<BlockId, Wait>,
) -> (Code, Vec<Unsupported>) {
    let functions = CallGraph::new(module).reachable(kernel);
    let mut code = Code {
        operations: Vec::new(),
        blocks: module.blocks.iter().map(|_| None).collect(),
        functions: IdMap::filled(module.functions.len(), Function::default()),
        reachable: functions.clone(),
        meets_cluster: false,
        n_convergence: functions.iter().map(|&id| module.functions[id].registers.convergence).max().unwrap_or(0),
        first_function: layout.first_function,
        windows,
    };
    let facts = BlockFacts { points: reconvergence::points(module), waits };
    let files = register_files(module);
    let mut unsupported = Vec::new();
    for &function in &functions {
        let mut decoder = Decoder {
            module,
            layout,
            n_parameter_bytes: module.functions[kernel].parameter_bytes(),
            registers: module.functions[function].registers,
            code: &mut code,
            unsupported: &mut unsupported,
            pc: Pc(0),
        };
        decoder.function(function, &facts, &files);
    }
    (code, unsupported)
}

/// What is known about blocks before they are decoded.
struct BlockFacts<'a> {
    points: IdMap<BlockId, Option<BlockId>>,
    waits: &'a FxHashMap<BlockId, Wait>,
}

/// Decodes one function.
struct Decoder<'a> {
    module: &'a Module,
    layout: &'a Layout,
    n_parameter_bytes: u32,
    /// Sizes of the banks: in a frame the uniform registers follow the others.
    registers: RegisterWords,
    code: &'a mut Code,
    unsupported: &'a mut Vec<Unsupported>,
    /// The instruction at work.
    pc: Pc,
}

impl Decoder<'_> {
    fn function(&mut self, id: FunctionId, facts: &BlockFacts<'_>, files: &IdMap<FunctionId, FunctionId>) {
        let module = self.module;
        let body = &module.functions[id];
        let post_dominators = Dominators::post(&Cfg::new(module, body));
        for block in body.block_ids() {
            let if_implicit = |point: Option<BlockId>| point.filter(|_| !body.explicit_convergence);
            let decoded = Block {
                reconvergence: if_implicit(facts.points[block]),
                behind: if_implicit(post_dominators.immediate(block)),
                wait: facts.waits.get(&block).copied(),
                ..self.block(block)
            };
            self.code.blocks[block] = Some(decoded);
        }
        let words = self.registers.vector + self.registers.uniform;
        let stack = moves_stack(module, files, id).then(|| Register::word(words));
        self.code.functions[id] = Function {
            is_subroutine: body.kind == FunctionKind::Subroutine,
            entry: Some(body.first_block),
            blocks: body.first_block.0..body.first_block.0 + body.n_blocks,
            words: words + u32::from(stack.is_some()),
            unset: self.unset(body, stack),
            predicates: self.registers.predicate + self.registers.uniform_predicate,
            local_bytes: body.local_bytes.next_multiple_of(16),
            stack,
            arguments: body.arguments.iter().map(|&register| self.register(register)).collect(),
            results: body.results.iter().map(|&register| self.register(register)).collect(),
            frame_of: Some(files[id]),
        };
    }

    /// Words of a frame that may be read before they are written. Not known where lanes may look at those that take no
    /// part and have written nothing.
    fn unset(&self, body: &ir::Function, stack: Option<Register>) -> Option<Vec<u32>> {
        let looks = |inst: &Inst| match inst.op().effect() {
            Effect::Vote | Effect::Exchange | Effect::Call => true,
            Effect::None
            | Effect::Special
            | Effect::Load
            | Effect::Store
            | Effect::Atomic
            | Effect::Fence
            | Effect::End => false,
        };
        let is_open = |block| {
            let block = &self.module.blocks[block];
            matches!(block.flow, ir::Flow::Call { .. }) || block.insts.iter().any(looks)
        };
        let is_small = u64::from(body.n_blocks) * u64::from(self.registers.vector) <= MOST_LIVE_WORDS;
        if !is_small || body.kind == FunctionKind::Subroutine || body.block_ids().any(is_open) {
            return None;
        }
        let live = Liveness::new(self.module, body);
        let RegisterWords { vector, uniform, .. } = self.registers;
        let others = (vector..vector + uniform).chain(stack.iter().copied().flat_map(Register::words));
        Some(live.live_in(body.first_block).iter().chain(others).collect())
    }

    fn block(&mut self, id: BlockId) -> Block {
        let block = &self.module.blocks[id];
        let first = self.code.operations.len() as u32;
        let mut n_instructions = 0;
        let mut last_pc = None;
        for inst in &block.insts {
            if last_pc != Some(inst.pc) {
                n_instructions += 1;
                last_pc = Some(inst.pc);
            }
            if inst.op().ends_block() {
                break;
            }
            self.code.meets_cluster |= inst.op() == Op::ClusterBar;
            let decoded = self.inst(inst);
            self.code.operations.push(decoded);
        }
        let control = block.insts.last().filter(|inst| inst.op().ends_block());
        let guard = control.and_then(|inst| inst.guard);
        Block {
            operations: first..self.code.operations.len() as u32,
            n_instructions,
            guard: guard.map(|guard| self.guard(guard)),
            flow_pc: block.insts.last().map_or(Pc(0), |inst| inst.pc),
            flow: self.flow(&block.flow, block.insts.last()),
            reconvergence: None,
            behind: None,
            wait: None,
        }
    }

    fn flow(&mut self, flow: &ir::Flow, last: Option<&Inst>) -> Flow {
        self.pc = last.map_or(Pc(0), |inst| inst.pc);
        match flow {
            ir::Flow::Fallthrough(next) => match last {
                Some(inst) if inst.op() == Op::Bsync => match convergence_barrier(inst) {
                    Some(barrier) => Flow::Sync { barrier, next: *next },
                    None => Flow::Fallthrough(*next),
                },
                _ => Flow::Fallthrough(*next),
            },
            ir::Flow::Branch { taken, next } => Flow::Branch { taken: *taken, next: *next },
            ir::Flow::Indexed { targets, next } => {
                let index = last.and_then(|inst| inst.sources.first()).copied().unwrap_or(ir::Operand::Immediate(0));
                Flow::Indexed { index: self.operand(&index), targets: targets.clone(), next: *next }
            }
            ir::Flow::Computed { targets, next } => {
                let address = last.and_then(|inst| inst.sources.first()).copied().unwrap_or(ir::Operand::Immediate(0));
                Flow::Computed { address: self.operand(&address), targets: targets.clone(), next: *next }
            }
            ir::Flow::Call { target, next } => Flow::Call(Box::new(self.call(target, last, *next))),
            ir::Flow::Return { next } => Flow::Return { next: *next },
            ir::Flow::Exit { next } => match last.map(|inst| inst.op()) {
                Some(Op::Trap) => Flow::Trap { next: *next },
                Some(Op::Unsupported) => Flow::Unsupported,
                _ => Flow::Exit { next: *next },
            },
        }
    }

    fn call(&mut self, target: &CallTarget, last: Option<&Inst>, next: BlockId) -> Call {
        let callee = match target {
            CallTarget::Direct(function) => Callee::Direct(*function),
            CallTarget::Indirect(operand, _) => Callee::Indirect(self.operand(operand)),
        };
        let sources: &[ir::Operand] = last.map_or(&[], |inst| &inst.sources);
        let destinations: &[Option<ir::Register>] = last.map_or(&[], |inst| &inst.destinations);
        let results = destinations.iter().map(|register| register.map(|register| self.register(register))).collect();
        Call { callee, arguments: sources.iter().map(|operand| self.operand(operand)).collect(), results, next }
    }

    fn inst(&mut self, inst: &Inst) -> Decoded {
        self.pc = inst.pc;
        let memory = inst.memory.iter().map(|memory| MemoryReference {
            space: memory.space,
            base: self.operand(&memory.base),
            offset: memory.offset,
            elements: memory.elements,
        });
        let memory = memory.collect();
        Decoded {
            pc: inst.pc,
            operation: inst.operation,
            ty: inst.ty,
            source_ty: inst.source_ty,
            guard: inst.guard.map(|guard| self.guard(guard)),
            destinations: inst.destinations.iter().map(|&register| register.map(|it| self.register(it))).collect(),
            sources: inst.sources.iter().map(|operand| self.operand(operand)).collect(),
            memory,
        }
    }

    fn guard(&self, guard: ir::Guard) -> Guard {
        Guard { predicate: self.register(guard.predicate).index, negated: guard.negated }
    }

    fn register(&self, register: ir::Register) -> Register {
        let ir::Register { bank, width, index } = register;
        let (file, first, is_shared) = match bank {
            Bank::Vector => (File::Words, 0, false),
            Bank::Uniform => (File::Words, self.registers.vector, true),
            Bank::Predicate => (File::Predicates, 0, false),
            Bank::UniformPredicate => (File::Predicates, self.registers.predicate, true),
            Bank::Convergence => (File::Convergence, 0, false),
        };
        Register { file, width, index: first + index, is_shared }
    }

    fn operand(&mut self, operand: &ir::Operand) -> Operand {
        match operand {
            ir::Operand::Register(register) => Operand::Register(self.register(*register)),
            ir::Operand::NotPredicate(register) => Operand::NotPredicate(self.register(*register)),
            ir::Operand::Immediate(value) => Operand::Immediate(*value),
            ir::Operand::Signed(sign, ir::SignedValue::Register(register)) => {
                Operand::Signed(*sign, SignedValue::Register(self.register(*register)))
            }
            ir::Operand::Signed(sign, ir::SignedValue::Constant(constant)) => {
                let value = match self.constant(*constant) {
                    Content::Bytes(value) => SignedValue::Immediate(value),
                    Content::Parameter(offset) => SignedValue::Parameter(offset),
                };
                Operand::Signed(*sign, value)
            }
            ir::Operand::Constant(constant) => match self.constant(*constant) {
                Content::Bytes(value) => Operand::Immediate(value),
                Content::Parameter(offset) => Operand::Parameter(offset),
            },
            ir::Operand::Special(register) => Operand::Special(*register),
            ir::Operand::Variable { variable, offset, generic } => {
                let address = self.layout.variable_address(*variable, *generic);
                Operand::Immediate(address.wrapping_add_signed(*offset))
            }
            ir::Operand::Frame(offset) => Operand::Frame(*offset),
            ir::Operand::Function(function) => Operand::Immediate(self.layout.function_address(*function)),
        }
    }

    /// What lies in a constant bank. Its first eight bytes are read, and narrower types take the low ones.
    fn constant(&mut self, constant: Constant) -> Content {
        let Some(bank) = self.module.constant_bank(constant.bank) else {
            let reason = format!("there is no constant bank {}", constant.bank);
            self.unsupported.push(Unsupported { pc: self.pc, reason });
            return Content::Bytes(0);
        };
        bank_content(bank, self.n_parameter_bytes, constant.offset)
    }
}

/// True when a function that has the same frame as `function` reserves memory at run time.
fn moves_stack(module: &Module, files: &IdMap<FunctionId, FunctionId>, function: FunctionId) -> bool {
    let is_same = |other: &FunctionId| files[*other] == files[function];
    let mut same = files.iter().map(|(other, _)| other).filter(is_same);
    let moves = |inst: &Inst| matches!(inst.op(), Op::Alloca | Op::StackSave | Op::StackRestore);
    same.any(|other| module.functions[other].block_ids().flat_map(|id| &module.blocks[id].insts).any(moves))
}

fn convergence_barrier(inst: &Inst) -> Option<u32> {
    inst.reads().find(|register| register.bank == Bank::Convergence).map(|register| register.index)
}
