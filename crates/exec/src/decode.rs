//! Decoding: from the IR to [`Code`].
//!
//! Registers become rows. A register pair that the code also reads word by word (machine code does; lowered PTX only
//! at calls) is kept as words and joined in a temporary around each wide use, so that all other pairs can stay side by
//! side as the vector units like them.

use rustc_hash::{FxHashMap, FxHashSet};
use warplens_base::IdMap;
use warplens_ir::{
    Bank, CallGraph, CallTarget, Cfg, Constant, Dominators, Flow, Function, FunctionId, FunctionKind, Guard, Inst,
    Module, Operand, Register, Sign, Width, reconvergence, register_files,
};
use warplens_isa::{BlockId, Op, Pc, ScalarType};

use crate::bind;
use crate::code::{
    BarrierOperation, Code, CodeBlock, CodeCall, CodeFlow, CodeFunction, Decoded, DecodedGuard, ExchangeOperation,
    Kind, MemoryOperation, SINK, Shared, Unbound, Wide,
};
use crate::layout::Layout;
use crate::operand::{self, Content};
use crate::raw::{LaneFunction, Level, Row, Source};
use crate::raw::{map1, map2, masks};
use crate::waiting::Wait;

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
    layout: &Layout,
    waits: &FxHashMap<BlockId, Wait>,
) -> (Code, Vec<Unsupported>) {
    let level = Level::detect();
    let mut code = Code {
        level,
        operations: Vec::new(),
        blocks: module.blocks.iter().map(|_| None).collect(),
        first_function: layout.first_function,
        functions: IdMap::filled(module.functions.len(), CodeFunction::default()),
        pool: Vec::new(),
        memory: Vec::new(),
        exchanges: Vec::new(),
        barriers: Vec::new(),
        system: Vec::new(),
    };
    let calls = CallGraph::new(module);
    let functions = calls.reachable(kernel);
    let facts = BlockFacts {
        points: reconvergence::points(module),
        before_barriers: before_barriers(module, &calls, &functions),
        waits,
    };
    let mut unsupported = Vec::new();
    let mut pool = FxHashMap::default();
    let files = register_files(module);
    for &function in &functions {
        let mut decoder =
            Decoder::new(module, layout, (kernel, function), &files, &mut code, &mut pool, &mut unsupported);
        decoder.function(&facts);
    }
    share_frames(&mut code.functions, &functions, &files);
    (code, unsupported)
}

/// What is known about blocks before they are decoded.
struct BlockFacts<'a> {
    points: IdMap<BlockId, Option<BlockId>>,
    before_barriers: FxHashSet<BlockId>,
    waits: &'a FxHashMap<BlockId, Wait>,
}

/// The blocks of `functions` from whose start a CTA barrier can be reached without a return.
fn before_barriers(module: &Module, calls: &CallGraph, functions: &[FunctionId]) -> FxHashSet<BlockId> {
    let blocks = |function: FunctionId| module.functions[function].block_ids();
    let holds = |block: &BlockId| module.blocks[*block].insts.iter().any(|inst| inst.op() == Op::Bar);
    let mut before: FxHashSet<BlockId> =
        functions.iter().flat_map(|&function| blocks(function)).filter(holds).collect();
    loop {
        let n_before = before.len();
        for &function in functions {
            let cfg = Cfg::new(module, &module.functions[function]);
            // In postorder most successors come before the block that leads to them.
            for &block in cfg.postorder() {
                let enters = |callee: &FunctionId| before.contains(&module.functions[*callee].first_block);
                let goes_on = cfg.successors(block).iter().any(|next| before.contains(next));
                if goes_on || calls.called_by(&module.blocks[block]).iter().any(enters) {
                    before.insert(block);
                }
            }
        }
        if before.len() == n_before {
            return before;
        }
    }
}

/// Functions that share their registers have frames of one size, with room for the temporaries of each.
fn share_frames(
    code: &mut IdMap<FunctionId, CodeFunction>,
    functions: &[FunctionId],
    files: &IdMap<FunctionId, FunctionId>,
) {
    for &function in functions {
        let same = || functions.iter().filter(|&&other| files[other] == files[function]).map(|&other| &code[other]);
        let rows = same().map(|other| other.rows).max().unwrap_or(0);
        let predicates = same().map(|other| other.predicates).max().unwrap_or(0);
        (code[function].rows, code[function].predicates) = (rows, predicates);
    }
}

/// What happens to a temporary after the operation that wrote it.
enum After {
    /// The word or pair in `temporary` goes to the words `row` and `row + 1`.
    Split { temporary: u32, row: u32 },
    /// The word in `temporary` is extended to the pair at `row`.
    Extend { temporary: u32, row: u32, ty: ScalarType },
    /// A register that the warp has once: all lanes get the value of the lowest one that takes part.
    Broadcast(Shared),
}

/// Decodes one function.
pub(crate) struct Decoder<'a> {
    module: &'a Module,
    layout: &'a Layout,
    kernel: FunctionId,
    function: FunctionId,
    code: &'a mut Code,
    pool: &'a mut FxHashMap<(u64, bool), u32>,
    unsupported: &'a mut Vec<Unsupported>,
    /// By row: the word is kept as one of its own even where it is part of a pair.
    is_split: Vec<bool>,
    /// First row of the uniform registers.
    uniform_rows: u32,
    /// Rows of the registers; temporaries follow.
    register_rows: u32,
    /// Row that holds where the lane's stack ends.
    stack_row: Option<u32>,
    register_predicates: u32,
    temporary_rows: u32,
    temporary_predicates: u32,
    most_rows: u32,
    most_predicates: u32,
    /// The instruction at work.
    pc: Pc,
    guard: Option<DecodedGuard>,
    after: Vec<After>,
}

impl<'a> Decoder<'a> {
    fn new(
        module: &'a Module,
        layout: &'a Layout,
        (kernel, function): (FunctionId, FunctionId),
        files: &IdMap<FunctionId, FunctionId>,
        code: &'a mut Code,
        pool: &'a mut FxHashMap<(u64, bool), u32>,
        unsupported: &'a mut Vec<Unsupported>,
    ) -> Self {
        let body = &module.functions[function];
        let mut register_rows = body.registers.vector + body.registers.uniform;
        let moves_stack = |inst: &Inst| matches!(inst.op(), Op::Alloca | Op::StackSave | Op::StackRestore);
        let is_same = |other: &FunctionId| files[*other] == files[function];
        let same: Vec<FunctionId> = files.iter().map(|(other, _)| other).filter(is_same).collect();
        let has_stack = instructions(module, &same).any(moves_stack);
        let stack_row = has_stack.then_some(register_rows);
        register_rows += u32::from(has_stack);
        let register_predicates = body.registers.predicate + body.registers.uniform_predicate;
        Self {
            module,
            layout,
            kernel,
            function,
            code,
            pool,
            unsupported,
            is_split: split_words(module, body, &same),
            uniform_rows: body.registers.vector,
            register_rows,
            stack_row,
            register_predicates,
            temporary_rows: 0,
            temporary_predicates: 0,
            most_rows: 0,
            most_predicates: 0,
            pc: Pc(0),
            guard: None,
            after: Vec::new(),
        }
    }

    fn function(&mut self, facts: &BlockFacts<'_>) {
        let body = &self.module.functions[self.function];
        let post_dominators = Dominators::post(&Cfg::new(self.module, body));
        for block in body.block_ids() {
            let if_implicit = |point: Option<BlockId>| point.filter(|_| !body.explicit_convergence);
            let decoded = CodeBlock {
                reconvergence: if_implicit(facts.points[block]),
                behind: if_implicit(post_dominators.immediate(block)),
                reaches_barrier: facts.before_barriers.contains(&block),
                wait: facts.waits.get(&block).copied(),
                ..self.block(block)
            };
            self.code.blocks[block] = Some(decoded);
        }
        let rows_of = |registers: &[Register]| {
            registers.iter().map(|register| (register.index, Wide::of_bits(register.width.bits()))).collect()
        };
        self.code.functions[self.function] = CodeFunction {
            is_subroutine: body.kind == FunctionKind::Subroutine,
            entry: Some(body.first_block),
            // Two rows behind the last register let a sink or a pair at the end be addressed like any other.
            rows: self.register_rows + self.most_rows + 2,
            predicates: self.register_predicates + self.most_predicates + 1,
            local_bytes: body.local_bytes.next_multiple_of(16),
            stack_row: self.stack_row,
            arguments: rows_of(&body.arguments),
            results: rows_of(&body.results),
        };
    }

    fn block(&mut self, id: BlockId) -> CodeBlock {
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
            self.inst(inst);
        }
        let control = block.insts.last().filter(|inst| inst.op().ends_block());
        let flow = self.flow(&block.flow, block.insts.last());
        CodeBlock {
            operations: first..self.code.operations.len() as u32,
            n_instructions,
            guard: control.and_then(|inst| inst.guard).map(|guard| self.guard_source(guard)),
            flow_pc: block.insts.last().map_or(Pc(0), |inst| inst.pc),
            flow,
            reconvergence: None,
            behind: None,
            reaches_barrier: true,
            wait: None,
        }
    }

    fn flow(&mut self, flow: &Flow, last: Option<&Inst>) -> CodeFlow {
        if let Some(inst) = last {
            self.begin(inst);
        }
        match flow {
            Flow::Fallthrough(next) => match last {
                Some(inst) if inst.op() == Op::Bsync => {
                    CodeFlow::Sync { barrier: convergence_index(inst), next: *next }
                }
                _ => CodeFlow::Fallthrough(*next),
            },
            Flow::Branch { taken, next } => CodeFlow::Branch { taken: *taken, next: *next },
            Flow::Indexed { targets, next } => {
                let operand = last.and_then(|inst| inst.sources.first()).copied().unwrap_or(Operand::Immediate(0));
                CodeFlow::Indexed { index: self.read(&operand, ScalarType::U32), targets: targets.clone(), next: *next }
            }
            Flow::Call { target, next } => self.call(target, last, *next),
            Flow::Return { next } => CodeFlow::Return { next: *next },
            Flow::Exit { next } => match last.map(|inst| inst.op()) {
                Some(Op::Trap) => CodeFlow::Trap { next: *next },
                Some(Op::Unsupported) => CodeFlow::Unsupported,
                _ => CodeFlow::Exit { next: *next },
            },
        }
    }

    fn call(&mut self, target: &CallTarget, last: Option<&Inst>, next: BlockId) -> CodeFlow {
        let target = match target {
            CallTarget::Direct(function) => Ok(*function),
            CallTarget::Indirect(operand, _) => {
                let ty = if self.module.address_bits == 64 { ScalarType::U64 } else { ScalarType::U32 };
                Err((self.read(operand, ty), Wide::of_bits(ty.bits())))
            }
        };
        let sources: &[Operand] = last.map_or(&[], |inst| &inst.sources);
        let arguments = sources
            .iter()
            .map(|operand| {
                let bits = operand.register().map_or(32, |register| register.width.bits());
                let ty = if bits > 32 { ScalarType::B64 } else { ScalarType::B32 };
                (self.read(operand, ty), Wide::of_bits(bits))
            })
            .collect();
        let destinations: &[Option<Register>] = last.map_or(&[], |inst| &inst.destinations);
        let results = destinations
            .iter()
            .map(|register| match register {
                Some(register) => (self.row(*register), Wide::of_bits(register.width.bits())),
                None => (SINK, Wide::No),
            })
            .collect();
        CodeFlow::Call(Box::new(CodeCall { target, arguments, results, next }))
    }

    fn inst(&mut self, inst: &Inst) {
        self.begin(inst);
        if let Err(Unbound(op, reason)) = bind::bind(self, inst) {
            let info = self.module.pcs.get(inst.pc);
            let opcode = info.map_or_else(|| op.name().to_owned(), |_| self.module.spelling(inst.pc).to_string());
            self.unsupported.push(Unsupported { pc: inst.pc, reason: format!("`{opcode}`: {reason}") });
            self.other(Kind::Unsupported, [SINK; 2], &[]);
        }
        self.finish();
    }

    fn begin(&mut self, inst: &Inst) {
        self.pc = inst.pc;
        self.temporary_rows = 0;
        self.temporary_predicates = 0;
        self.guard = None;
        let Some(guard) = inst.guard else { return };
        let mut predicate = self.guard_source(guard);
        if inst.writes().any(|register| register == guard.predicate) {
            // The instruction changes its own guard; later operations of it must see the old value.
            let copy = self.temporary_predicate();
            self.emit(Kind::Lane, bind::copy_predicate(self.level()), [copy, SINK], &[predicate]);
            predicate = Source::frame(copy);
        }
        self.guard = Some(DecodedGuard { predicate, is_reported: !inst.op().ends_block() });
    }

    fn finish(&mut self) {
        self.finish_values();
        // An instruction that does nothing here, such as a prefetch, still has a guard that counts.
        if let Some(DecodedGuard { predicate, is_reported: true }) = self.guard {
            let unused = self.temporary_predicate();
            self.emit(Kind::Lane, bind::copy_predicate(self.level()), [unused, SINK], &[predicate]);
        }
    }

    fn finish_values(&mut self) {
        for after in std::mem::take(&mut self.after) {
            let level = self.level();
            match after {
                After::Broadcast(shared) => self.other(Kind::Broadcast(shared), [SINK; 2], &[]),
                After::Split { temporary, row } => {
                    let low = map1(level, |pair: u64| pair as u32);
                    let high = map1(level, |pair: u64| (pair >> 32) as u32);
                    self.emit(Kind::Lane, low, [row, SINK], &[Source::frame(temporary)]);
                    self.emit(Kind::Lane, high, [row + 1, SINK], &[Source::frame(temporary)]);
                }
                After::Extend { temporary, row, ty } => {
                    let handler = match ty {
                        ScalarType::S32 => map1(level, |word: i32| i64::from(word)),
                        ScalarType::S16 => map1(level, |word: i16| i64::from(word)),
                        ScalarType::S8 => map1(level, |word: i8| i64::from(word)),
                        _ => map1(level, |word: u32| u64::from(word)),
                    };
                    self.emit(Kind::Lane, handler, [row, SINK], &[Source::frame(temporary)]);
                }
            }
        }
    }

    fn guard_source(&self, guard: Guard) -> Source {
        let source = Source::frame(self.predicate_index(guard.predicate));
        if guard.negated { source.negated() } else { source }
    }

    fn predicate_index(&self, register: Register) -> u32 {
        match register.bank {
            Bank::UniformPredicate => self.module.functions[self.function].registers.predicate + register.index,
            _ => register.index,
        }
    }

    fn row(&self, register: Register) -> u32 {
        match register.bank {
            Bank::Uniform => self.uniform_rows + register.index,
            _ => register.index,
        }
    }

    fn is_split(&self, register: Register) -> bool {
        let first = self.row(register) as usize;
        register.width == Width::Pair && self.is_split.get(first..first + 2).is_some_and(|words| words.contains(&true))
    }

    /// CPU features to choose handlers for.
    pub(crate) fn level(&self) -> Level {
        self.code.level
    }

    /// Width of generic addresses in bits.
    pub(crate) fn address_type(&self) -> ScalarType {
        if self.module.address_bits == 32 { ScalarType::U32 } else { ScalarType::U64 }
    }

    /// Row that holds where the lane's stack ends; the function has one if it reserves memory at run time.
    pub(crate) fn stack_row(&self) -> Option<u32> {
        self.stack_row
    }

    /// The layout of memory.
    pub(crate) fn layout(&self) -> &'a Layout {
        self.layout
    }

    /// A row that nobody else uses during this instruction; the next one is free too.
    pub(crate) fn temporary(&mut self) -> u32 {
        let row = self.register_rows + self.temporary_rows;
        self.temporary_rows += 2;
        self.most_rows = self.most_rows.max(self.temporary_rows);
        row
    }

    /// A predicate that nobody else uses during this instruction.
    pub(crate) fn temporary_predicate(&mut self) -> u32 {
        let index = self.register_predicates + self.temporary_predicates;
        self.temporary_predicates += 1;
        self.most_predicates = self.most_predicates.max(self.temporary_predicates);
        index
    }

    /// The operand that reads a temporary word.
    pub(crate) fn temporary_operand(&self, row: u32) -> Operand {
        Operand::Register(Register::vector(row, Width::Word))
    }

    /// Appends an operation.
    pub(crate) fn emit(&mut self, kind: Kind, function: LaneFunction, destinations: [u32; 2], sources: &[Source]) {
        let mut operands = [Source::default(); 4];
        operands[..sources.len()].copy_from_slice(sources);
        let decoded = Decoded { function, kind, guard: self.guard, destinations, sources: operands, pc: self.pc };
        if let Some(guard) = &mut self.guard {
            guard.is_reported = false;
        }
        self.code.operations.push(decoded);
    }

    /// Appends a lane operation.
    pub(crate) fn lane(&mut self, function: LaneFunction, destination: u32, sources: &[Source]) {
        self.emit(Kind::Lane, function, [destination, SINK], sources);
    }

    /// Appends an operation of another kind.
    pub(crate) fn other(&mut self, kind: Kind, destinations: [u32; 2], sources: &[Source]) {
        let function = map1(self.level(), |word: u32| word);
        self.emit(kind, function, destinations, sources);
    }

    /// A constant in the pool.
    pub(crate) fn constant(&mut self, value: u64, wide: Wide) -> Source {
        let pool = &mut self.code.pool;
        let is_wide = wide == Wide::Yes;
        let index = *self.pool.entry((value, is_wide)).or_insert_with(|| {
            let index = pool.len() as u32;
            if is_wide {
                pool.extend(Row::splat_pair(value));
            } else {
                pool.push(Row::splat(value as u32));
            }
            index
        });
        Source::pool(index)
    }

    /// The operand as a value of type `ty`.
    pub(crate) fn read(&mut self, operand: &Operand, ty: ScalarType) -> Source {
        let wide = Wide::of_bits(ty.bits());
        match operand {
            Operand::Immediate(value) if ty == ScalarType::Pred => Source::pool(*value as u32 & 1),
            Operand::Immediate(value) => self.constant(*value, wide),
            Operand::NotPredicate(register) => Source::frame(self.predicate_index(*register)).negated(),
            Operand::Register(register) => self.read_register(*register, wide),
            Operand::Signed(sign, value) => {
                let source = self.read(&value.operand(), ty);
                self.signed(source, *sign, ty)
            }
            Operand::Constant(constant) => self.bank_constant(*constant, ty),
            Operand::Special(register) => {
                let row = self.temporary();
                self.unguarded(|decoder| decoder.other(Kind::Special(*register, wide), [row, SINK], &[]));
                Source::frame(row)
            }
            Operand::Variable { variable, offset, generic } => {
                let address = self.layout.variable_address(*variable, *generic).wrapping_add_signed(*offset);
                self.constant(address, wide)
            }
            Operand::Frame(offset) => {
                let row = self.temporary();
                let offset = self.constant(*offset as u64, Wide::Yes);
                self.unguarded(|decoder| decoder.other(Kind::FrameAddress(wide), [row, SINK], &[offset]));
                Source::frame(row)
            }
            Operand::Function(function) => self.constant(self.layout.function_address(*function), wide),
        }
    }

    /// A value with its sign changed.
    fn signed(&mut self, source: Source, sign: Sign, ty: ScalarType) -> Source {
        let Some(function) = operand::sign_change(self.level(), sign, ty) else {
            let reason = format!("an operand of type {ty} does not change its sign");
            self.unsupported.push(Unsupported { pc: self.pc, reason });
            return source;
        };
        let row = self.temporary();
        self.unguarded(|decoder| decoder.lane(function, row, &[source]));
        Source::frame(row)
    }

    /// A constant of a bank. Parameters come with the launch: they are loaded.
    fn bank_constant(&mut self, constant: Constant, ty: ScalarType) -> Source {
        let bytes = ty.bytes();
        let Some(bank) = self.module.constant_bank(constant.bank) else {
            let reason = format!("there is no constant bank {}", constant.bank);
            self.unsupported.push(Unsupported { pc: self.pc, reason });
            return self.constant(0, Wide::of_bits(ty.bits()));
        };
        let n_parameters = self.module.functions[self.kernel].parameter_bytes();
        match operand::bank_content(bank, n_parameters, constant.offset, bytes) {
            Content::Bytes(value) => self.constant(value, Wide::of_bits(ty.bits())),
            Content::Parameter(offset) => {
                let row = self.temporary();
                let index = self.memory(MemoryOperation::parameter(offset, bytes as u8, row));
                self.unguarded(|decoder| decoder.other(Kind::Load(index), [SINK; 2], &[]));
                Source::frame(row)
            }
        }
    }

    fn read_register(&mut self, register: Register, wide: Wide) -> Source {
        let level = self.level();
        match (register.bank, register.width, wide) {
            (Bank::Predicate | Bank::UniformPredicate, ..) => Source::frame(self.predicate_index(register)),
            (_, Width::Pair, Wide::Yes) if self.is_split(register) => {
                let row = self.temporary();
                let join = map2(level, |low: u32, high: u32| u64::from(low) | u64::from(high) << 32);
                let row_of_words = self.row(register);
                let words = [Source::frame(row_of_words), Source::frame(row_of_words + 1)];
                self.unguarded(|decoder| decoder.lane(join, row, &words));
                Source::frame(row)
            }
            (_, Width::Pair | Width::Quad, Wide::No) if !self.is_split(register) => {
                let row = self.temporary();
                let narrow = map1(level, |pair: u64| pair as u32);
                let source = Source::frame(self.row(register));
                self.unguarded(|decoder| decoder.lane(narrow, row, &[source]));
                Source::frame(row)
            }
            (_, Width::Word, Wide::Yes) => {
                let row = self.temporary();
                let extend = map1(level, |word: u32| u64::from(word));
                let source = Source::frame(self.row(register));
                self.unguarded(|decoder| decoder.lane(extend, row, &[source]));
                Source::frame(row)
            }
            _ => Source::frame(self.row(register)),
        }
    }

    /// Where a result of type `ty` is to be written for `register`.
    pub(crate) fn write(&mut self, register: Option<Register>, ty: ScalarType) -> u32 {
        let Some(register) = register else {
            return if ty == ScalarType::Pred { self.temporary_predicate() } else { self.temporary() };
        };
        if matches!(register.bank, Bank::Predicate | Bank::UniformPredicate) {
            let index = self.predicate_index(register);
            if register.bank == Bank::UniformPredicate {
                self.after.push(After::Broadcast(Shared::Predicate(index)));
            }
            return index;
        }
        let row = self.row(register);
        let destination = self.write_row(register, row, ty);
        if register.bank == Bank::Uniform {
            let shared = match (register.width, self.is_split(register)) {
                (Width::Pair, false) => Shared::Pair(row),
                (Width::Pair, true) => {
                    self.after.push(After::Broadcast(Shared::Word(row + 1)));
                    Shared::Word(row)
                }
                _ => Shared::Word(row),
            };
            self.after.push(After::Broadcast(shared));
        }
        destination
    }

    fn write_row(&mut self, register: Register, row: u32, ty: ScalarType) -> u32 {
        match (register.width, Wide::of_bits(ty.bits())) {
            (Width::Pair, Wide::Yes) if self.is_split(register) => {
                let temporary = self.temporary();
                self.after.push(After::Split { temporary, row });
                temporary
            }
            (Width::Pair, Wide::No) => {
                let temporary = self.temporary();
                let extended = if self.is_split(register) { self.temporary() } else { row };
                self.after.push(After::Extend { temporary, row: extended, ty });
                if extended != row {
                    self.after.push(After::Split { temporary: extended, row });
                }
                temporary
            }
            _ => row,
        }
    }

    /// Operations that fetch operands run in all active lanes and do not report the guard.
    fn unguarded(&mut self, emit: impl FnOnce(&mut Self)) {
        let guard = self.guard.take();
        emit(self);
        self.guard = guard;
    }

    /// Operations that take effect where the guard lets them and `predicate` is false.
    pub(crate) fn unless(&mut self, predicate: Source, emit: impl FnOnce(&mut Self)) {
        let guard = self.guard;
        let allowed = guard.map_or(Source::pool(1), |guard| guard.predicate);
        let both = self.temporary_predicate();
        let function = masks(self.level(), |allowed, not| allowed & !not);
        self.unguarded(|decoder| decoder.lane(function, both, &[allowed, predicate]));
        self.guard = Some(DecodedGuard { predicate: Source::frame(both), is_reported: false });
        emit(self);
        self.guard = guard;
    }

    /// Adds a memory operation and returns its index.
    pub(crate) fn memory(&mut self, operation: MemoryOperation) -> u32 {
        self.code.memory.push(operation);
        self.code.memory.len() as u32 - 1
    }

    /// Adds a barrier and returns its index.
    pub(crate) fn barrier(&mut self, operation: BarrierOperation) -> u32 {
        self.code.barriers.push(operation);
        self.code.barriers.len() as u32 - 1
    }

    /// Adds an exchange and returns its index.
    pub(crate) fn exchange_operation(&mut self, operation: ExchangeOperation) -> u32 {
        self.code.exchanges.push(operation);
        self.code.exchanges.len() as u32 - 1
    }

    /// Adds the arguments of a device runtime service and returns their index.
    pub(crate) fn system(&mut self, arguments: Vec<(Source, Wide)>) -> u32 {
        self.code.system.push(arguments);
        self.code.system.len() as u32 - 1
    }
}

fn convergence_index(inst: &Inst) -> u32 {
    inst.reads().find(|register| register.bank == Bank::Convergence).map_or(0, |register| register.index)
}

fn instructions<'m>(module: &'m Module, functions: &[FunctionId]) -> impl Iterator<Item = &'m Inst> {
    let blocks = functions.iter().flat_map(|&function| module.functions[function].block_ids());
    blocks.flat_map(|block| &module.blocks[block].insts)
}

/// By row: words that some instruction uses on their own and another as part of a pair, or as parts of different pairs.
/// Words of one pair share the fate; so do overlapping pairs.
///
/// All functions that work on the same registers have to agree: those of `same`, which `function` is one of.
fn split_words(module: &Module, function: &Function, same: &[FunctionId]) -> Vec<bool> {
    let n_words = (function.registers.vector + function.registers.uniform) as usize;
    // First word of the pair that a word was seen in (itself for a single word).
    let mut seen: Vec<Option<(u32, Width)>> = vec![None; n_words];
    let mut split = vec![false; n_words];
    let pairs_of = |register: Register| -> Vec<Register> {
        match register.width {
            Width::Quad => vec![
                Register { width: Width::Pair, ..register },
                Register { width: Width::Pair, index: register.index + 2, ..register },
            ],
            _ => vec![register],
        }
    };
    let registers = instructions(module, same).flat_map(|inst| inst.reads().chain(inst.writes()).collect::<Vec<_>>());
    let ends = same.iter().map(|&function| &module.functions[function]);
    let ends = ends.flat_map(|function| function.arguments.iter().chain(&function.results).copied());
    let all = registers.chain(ends);
    // From here on a register is named by its row.
    let by_row = |register: Register| match register.bank {
        Bank::Vector => Some(register),
        Bank::Uniform => Some(Register { index: function.registers.vector + register.index, ..register }),
        _ => None,
    };
    let uses: Vec<Register> = all.filter_map(by_row).flat_map(pairs_of).collect();
    for register in &uses {
        let shape = (register.index, register.width);
        for word in register.words() {
            let word = word as usize;
            match seen[word] {
                None => seen[word] = Some(shape),
                Some(other) if other != shape => split[word] = true,
                Some(_) => {}
            }
        }
    }
    loop {
        let mut changed = false;
        for register in &uses {
            let words = register.words();
            if words.clone().any(|word| split[word as usize]) {
                for word in words {
                    changed |= !std::mem::replace(&mut split[word as usize], true);
                }
            }
        }
        if !changed {
            return split;
        }
    }
}
