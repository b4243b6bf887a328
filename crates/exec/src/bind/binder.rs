//! The binder: emits the steps of an operation, with temporaries around them where registers lie in another way.
//!
//! Registers become rows. A register pair that the code also reads word by word (machine code does; lowered PTX only
//! at calls) is kept as words and joined in a temporary around each wide use, so that all other pairs can stay side by
//! side as the vector units like them.

use rustc_hash::FxHashMap;
use warplens_ir::{FunctionId, Sign, Width};
use warplens_isa::{BlockId, Op, Pc, ScalarType, StateSpace};

use super::sign::sign_change;
use super::{bind, copy_predicate, near};
use crate::code::{
    BarrierOperation, BulkOperation, Code, ExchangeOperation, GroupOperation, Kind, MatrixOperation, MemoryOperation,
    MoveOperation, PhaseOperation, SINK, Shared, Step, StepGuard, TensorOperation, TextureOperation, Wide,
};
use crate::decoded::{self, Callee, Decoded, File, Flow, Function, Guard, Operand, Register, Unbound};
use crate::raw::{LaneFunction, Level, Row, Source, map1, map2, masks};

/// Binds all operations of a kernel. Blocks get the numbers of their steps, frames room for temporaries.
pub(crate) fn bind_all(decoded: &mut decoded::Code) -> (Code, Vec<Unbound>) {
    let operations = std::mem::take(&mut decoded.operations);
    let mut code = Code::new(Level::detect(), decoded.functions.len());
    let mut unbound = Vec::new();
    let mut pool = FxHashMap::default();
    for id in decoded.reachable.clone() {
        code.split[id] = split_words(decoded, &operations, id);
    }
    let mut frames = Vec::new();
    let mut n_near = 0;
    for &id in &decoded.reachable {
        let function = &decoded.functions[id];
        let mut binder = Binder {
            window: &|space| decoded.windows.base(space),
            address_bits: decoded.address_bits(),
            is_split: code.split[id].clone(),
            code: &mut code,
            pool: &mut pool,
            unbound: &mut unbound,
            register_rows: function.words,
            stack_row: function.stack.map(|register| register.index),
            register_predicates: function.predicates,
            temporary_rows: 0,
            temporary_predicates: 0,
            most_rows: 0,
            most_predicates: 0,
            pc: Pc(0),
            op: Op::Nop,
            guard: None,
            after: Vec::new(),
        };
        for block in function.blocks.clone().map(BlockId) {
            let Some(block) = &mut decoded.blocks[block] else { continue };
            let first = binder.code.steps.len() as u32;
            let own = block.operations.start as usize..block.operations.end as usize;
            operations[own].iter().for_each(|operation| binder.operation(operation));
            near::find(binder.code, first as usize, &mut n_near);
            block.operations = first..binder.code.steps.len() as u32;
        }
        frames.push((binder.register_rows + binder.most_rows, binder.register_predicates + binder.most_predicates));
    }
    for (&id, frame) in decoded.reachable.iter().zip(frames) {
        // Two rows behind the last register let a sink or a pair at the end be addressed like any other.
        (decoded.functions[id].words, decoded.functions[id].predicates) = (frame.0 + 2, frame.1 + 1);
    }
    share_frames(decoded);
    (code, unbound)
}

/// Functions that share their registers have frames of one size, with room for the temporaries of each.
fn share_frames(code: &mut decoded::Code) {
    for &id in &code.reachable {
        let frame = code.functions[id].frame_of;
        let same =
            || code.reachable.iter().map(|&other| &code.functions[other]).filter(|other| other.frame_of == frame);
        let words = same().map(|other| other.words).max().unwrap_or(0);
        let predicates = same().map(|other| other.predicates).max().unwrap_or(0);
        (code.functions[id].words, code.functions[id].predicates) = (words, predicates);
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

/// Binds the operations of one function.
pub(crate) struct Binder<'a> {
    window: &'a dyn Fn(StateSpace) -> u64,
    address_bits: u32,
    code: &'a mut Code,
    pool: &'a mut FxHashMap<(u64, bool), u32>,
    unbound: &'a mut Vec<Unbound>,
    /// By row: the word is kept as one of its own even where it is part of a pair.
    is_split: Vec<bool>,
    /// Rows of the registers; temporaries follow.
    register_rows: u32,
    /// Row that holds where the lane's stack ends.
    stack_row: Option<u32>,
    register_predicates: u32,
    temporary_rows: u32,
    temporary_predicates: u32,
    most_rows: u32,
    most_predicates: u32,
    /// The operation at work.
    pc: Pc,
    op: Op,
    guard: Option<StepGuard>,
    after: Vec<After>,
}

impl Binder<'_> {
    fn operation(&mut self, operation: &Decoded) {
        self.begin(operation);
        if let Err(reason) = bind(self, operation) {
            self.unbound.push(Unbound { pc: operation.pc, op: operation.op(), reason });
            self.other(Kind::Unsupported, [SINK; 2], &[]);
        }
        self.finish();
    }

    fn begin(&mut self, inst: &Decoded) {
        (self.pc, self.op) = (inst.pc, inst.op());
        self.temporary_rows = 0;
        self.temporary_predicates = 0;
        self.guard = None;
        let Some(guard) = inst.guard else { return };
        let mut predicate = guard_source(guard);
        if inst.writes().any(|register| register.file == File::Predicates && register.index == guard.predicate) {
            // The instruction changes its own guard; later operations of it must see the old value.
            let copy = self.temporary_predicate();
            self.emit(Kind::Lane, copy_predicate(self.level()), [copy, SINK], &[predicate]);
            predicate = Source::frame(copy);
        }
        self.guard = Some(StepGuard { predicate, is_reported: true });
    }

    fn finish(&mut self) {
        self.finish_values();
        // An instruction that does nothing here, such as a prefetch, still has a guard that counts.
        if let Some(StepGuard { predicate, is_reported: true }) = self.guard {
            let unused = self.temporary_predicate();
            self.emit(Kind::Lane, copy_predicate(self.level()), [unused, SINK], &[predicate]);
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

    fn is_split(&self, register: Register) -> bool {
        let first = register.index as usize;
        register.width == Width::Pair && self.is_split.get(first..first + 2).is_some_and(|words| words.contains(&true))
    }

    /// CPU features to choose handlers for.
    pub(crate) fn level(&self) -> Level {
        self.code.level
    }

    /// Type of generic addresses.
    pub(crate) fn address_type(&self) -> ScalarType {
        if self.address_bits == 32 { ScalarType::U32 } else { ScalarType::U64 }
    }

    /// Generic address of the first byte of a space.
    pub(crate) fn window(&self, space: StateSpace) -> u64 {
        (self.window)(space)
    }

    /// Row that holds where the lane's stack ends; the function has one if it reserves memory at run time.
    pub(crate) fn stack_row(&self) -> Option<u32> {
        self.stack_row
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
        Operand::Register(Register::word(row))
    }

    /// Appends an operation.
    pub(crate) fn emit(&mut self, kind: Kind, function: LaneFunction, destinations: [u32; 2], sources: &[Source]) {
        let mut operands = [Source::default(); 4];
        operands[..sources.len()].copy_from_slice(sources);
        let step = Step { function, kind, guard: self.guard, destinations, sources: operands, pc: self.pc };
        if let Some(guard) = &mut self.guard {
            guard.is_reported = false;
        }
        self.code.steps.push(step);
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
            Operand::NotPredicate(register) => Source::frame(register.index).negated(),
            Operand::Register(register) => self.read_register(*register, wide),
            Operand::Signed(sign, value) => {
                let source = self.read(&value.operand(), ty);
                self.signed(source, *sign, ty)
            }
            Operand::Parameter(offset) => self.parameter(*offset, ty),
            Operand::Special(register) => {
                let row = self.temporary();
                self.unguarded(|binder| binder.other(Kind::Special(*register, wide), [row, SINK], &[]));
                Source::frame(row)
            }
            Operand::Frame(offset) => {
                let row = self.temporary();
                let offset = self.constant(*offset as u64, Wide::Yes);
                self.unguarded(|binder| binder.other(Kind::FrameAddress(wide), [row, SINK], &[offset]));
                Source::frame(row)
            }
        }
    }

    /// A value with its sign changed.
    fn signed(&mut self, source: Source, sign: Sign, ty: ScalarType) -> Source {
        let Some(function) = sign_change(self.level(), sign, ty) else {
            let reason = "an operand of this type does not change its sign";
            self.unbound.push(Unbound { pc: self.pc, op: self.op, reason });
            return source;
        };
        let row = self.temporary();
        self.unguarded(|binder| binder.lane(function, row, &[source]));
        Source::frame(row)
    }

    /// Parameters come with the launch: they are loaded.
    fn parameter(&mut self, offset: u32, ty: ScalarType) -> Source {
        let row = self.temporary();
        let index = self.memory(MemoryOperation::parameter(offset, ty.bytes() as u8, row));
        self.unguarded(|binder| binder.other(Kind::Load(index), [SINK; 2], &[]));
        Source::frame(row)
    }

    fn read_register(&mut self, register: Register, wide: Wide) -> Source {
        let level = self.level();
        match (register.file, register.width, wide) {
            (File::Predicates | File::Convergence, ..) => Source::frame(register.index),
            (_, Width::Pair, Wide::Yes) if self.is_split(register) => {
                let row = self.temporary();
                let join = map2(level, |low: u32, high: u32| u64::from(low) | u64::from(high) << 32);
                let row_of_words = register.index;
                let words = [Source::frame(row_of_words), Source::frame(row_of_words + 1)];
                self.unguarded(|binder| binder.lane(join, row, &words));
                Source::frame(row)
            }
            (_, Width::Pair | Width::Quad, Wide::No) if !self.is_split(register) => {
                let row = self.temporary();
                let narrow = map1(level, |pair: u64| pair as u32);
                let source = Source::frame(register.index);
                self.unguarded(|binder| binder.lane(narrow, row, &[source]));
                Source::frame(row)
            }
            (_, Width::Word, Wide::Yes) => {
                let row = self.temporary();
                let extend = map1(level, |word: u32| u64::from(word));
                let source = Source::frame(register.index);
                self.unguarded(|binder| binder.lane(extend, row, &[source]));
                Source::frame(row)
            }
            _ => Source::frame(register.index),
        }
    }

    /// Where a result of type `ty` is to be written for `register`.
    pub(crate) fn write(&mut self, register: Option<Register>, ty: ScalarType) -> u32 {
        let Some(register) = register else {
            return if ty == ScalarType::Pred { self.temporary_predicate() } else { self.temporary() };
        };
        if register.file == File::Predicates {
            if register.is_shared {
                self.after.push(After::Broadcast(Shared::Predicate(register.index)));
            }
            return register.index;
        }
        let row = register.index;
        let destination = self.write_row(register, row, ty);
        if register.is_shared {
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
        self.unguarded(|binder| binder.lane(function, both, &[allowed, predicate]));
        self.guard = Some(StepGuard { predicate: Source::frame(both), is_reported: false });
        emit(self);
        self.guard = guard;
    }

    /// Adds a memory operation and returns its index.
    pub(crate) fn memory(&mut self, operation: MemoryOperation) -> u32 {
        self.code.memory.push(operation);
        self.code.memory.len() as u32 - 1
    }

    /// Adds a copy of many bytes and returns its index.
    pub(crate) fn bulk(&mut self, operation: BulkOperation) -> u32 {
        self.code.bulk.push(operation);
        self.code.bulk.len() as u32 - 1
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

    /// Adds a copy of a box and returns its index.
    pub(crate) fn tensor(&mut self, operation: TensorOperation) -> u32 {
        self.code.tensors.push(operation);
        self.code.tensors.len() as u32 - 1
    }

    /// Adds a question for a phase and returns its index.
    pub(crate) fn phase(&mut self, operation: PhaseOperation) -> u32 {
        self.code.phases.push(operation);
        self.code.phases.len() as u32 - 1
    }

    /// Adds a product of matrices and returns its index.
    pub(crate) fn matrix(&mut self, operation: MatrixOperation) -> u32 {
        self.code.matrices.push(operation);
        self.code.matrices.len() as u32 - 1
    }

    /// Adds a product of four warps and returns its index.
    pub(crate) fn group_matrix(&mut self, operation: GroupOperation) -> u32 {
        self.code.groups.push(operation);
        self.code.groups.len() as u32 - 1
    }

    /// Adds a move of matrices and returns its index.
    pub(crate) fn matrix_move(&mut self, operation: MoveOperation) -> u32 {
        self.code.moves.push(operation);
        self.code.moves.len() as u32 - 1
    }

    /// Adds a texture or surface instruction and returns its index.
    pub(crate) fn texture(&mut self, operation: TextureOperation) -> u32 {
        self.code.textures.push(operation);
        self.code.textures.len() as u32 - 1
    }

    /// Adds the arguments of a device runtime service and returns their index.
    pub(crate) fn system(&mut self, arguments: Vec<(Source, Wide)>) -> u32 {
        self.code.system.push(arguments);
        self.code.system.len() as u32 - 1
    }
}

/// Where a guard is found.
fn guard_source(guard: Guard) -> Source {
    let source = Source::frame(guard.predicate);
    if guard.negated { source.negated() } else { source }
}

/// All registers that a function names.
fn registers(code: &decoded::Code, operations: &[Decoded], function: &Function) -> Vec<Register> {
    let mut all: Vec<Register> = function.arguments.iter().chain(&function.results).copied().collect();
    for block in function.blocks.clone().filter_map(|block| code.blocks[BlockId(block)].as_ref()) {
        let own = &operations[block.operations.start as usize..block.operations.end as usize];
        all.extend(own.iter().flat_map(|operation| operation.reads().chain(operation.writes())));
        match &block.flow {
            Flow::Indexed { index: operand, .. } | Flow::Computed { address: operand, .. } => {
                all.extend(operand.register());
            }
            Flow::Call(call) => {
                if let Callee::Indirect(operand) = &call.callee {
                    all.extend(operand.register());
                }
                all.extend(call.arguments.iter().filter_map(Operand::register));
                all.extend(call.results.iter().flatten());
            }
            Flow::Fallthrough(_)
            | Flow::Branch { .. }
            | Flow::Return { .. }
            | Flow::Exit { .. }
            | Flow::Trap { .. }
            | Flow::Unsupported
            | Flow::Sync { .. } => {}
        }
    }
    all
}

/// By row: words that some operation uses on their own and another as part of a pair, or as parts of different pairs.
/// Words of one pair share the fate; so do overlapping pairs. All functions that work on the same registers agree.
fn split_words(code: &decoded::Code, operations: &[Decoded], function: FunctionId) -> Vec<bool> {
    let function = &code.functions[function];
    let n_words = function.words as usize;
    // First word of the pair that a word was seen in (itself for a single word).
    let mut seen: Vec<Option<(u32, Width)>> = vec![None; n_words];
    let mut split = vec![false; n_words];
    let pairs_of = |register: Register| -> Vec<Register> {
        match register.width {
            Width::Quad => (0..2).map(|part| register.half(part)).collect(),
            Width::One | Width::Word | Width::Pair => vec![register],
        }
    };
    let same = code.reachable.iter().map(|&other| &code.functions[other]);
    let same = same.filter(|other| other.frame_of == function.frame_of);
    let all = same.flat_map(|other| registers(code, operations, other));
    let uses: Vec<Register> = all.filter(|register| register.file == File::Words).flat_map(pairs_of).collect();
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
