//! The body of a function: declarations, blocks and the instructions' place in them.

use std::collections::HashSet;

use warplens_base::{Diagnostic, Span};
use warplens_ir as ir;
use warplens_ir::{FunctionId, Guard, Inst, Operand, Register};
use warplens_isa::{AccessOrder, BlockId, Op, OpClass, Operation, Pc, ScalarType, SlowOperation, StateSpace};

use super::control::{End, Labels};
use super::instruction::Site;
use super::limit::{self, Declared};
use super::location::Places;
use super::module::{Global, ModuleLowering};
use super::parameter::{self, Layout, Words, no_layout};
use super::scope::{Found, Scopes, Symbol};
use super::types;
use crate::syntax::ast;

/// A block under construction.
#[derive(Debug, Default)]
struct Draft {
    label: Option<String>,
    stays_rolled: bool,
    insts: Vec<Inst>,
    end: Option<End>,
}

/// Lowering of one function.
pub(super) struct Body<'m, 'a, 'src> {
    pub(super) module: &'m mut ModuleLowering<'a, 'src>,
    pub(super) function: &'a ast::Function<'src>,
    pub(super) id: FunctionId,
    body: &'a ast::Body<'src>,
    pub(super) scopes: Scopes<'src>,
    pub(super) labels: Labels<'a, 'src>,
    /// Number of scopes opened so far; the prepass over the labels counts in the same order.
    n_scopes: usize,
    done: Vec<Draft>,
    current: Draft,
    /// Bytes of the frame handed out so far.
    frame_bytes: u64,
    /// The flag `CC.CF`, if the function uses it.
    carry: Option<Register>,
    places: Places,
    location: Option<ir::SourceLocation>,
    /// Program counter and guard of the instruction that is being lowered.
    pc: Pc,
    guard: Option<Guard>,
    arguments: Vec<Register>,
    results: Vec<Register>,
}

impl<'m, 'a, 'src> Body<'m, 'a, 'src> {
    pub(super) fn new(
        module: &'m mut ModuleLowering<'a, 'src>,
        function: &'a ast::Function<'src>,
        body: &'a ast::Body<'src>,
    ) -> Self {
        let id = FunctionId(module.module.functions.len() as u32);
        Self {
            module,
            function,
            id,
            body,
            scopes: Scopes::default(),
            labels: Labels::collect(body),
            n_scopes: 0,
            done: Vec::new(),
            current: Draft::default(),
            frame_bytes: 0,
            carry: None,
            places: Places::default(),
            location: None,
            pc: Pc(0),
            guard: None,
            arguments: Vec::new(),
            results: Vec::new(),
        }
    }

    /// Lowers the function and appends it to the module.
    pub(super) fn lower(mut self) {
        self.enter_scope();
        let parameters = self.declare_parameters();
        self.statements(&self.body.statements);
        self.finish_last_block();
        self.scopes.leave();
        let first_block = BlockId(self.module.module.blocks.len() as u32);
        let n_blocks = self.done.len() as u32;
        self.place_blocks(first_block);
        let bounds = self.launch_bounds();
        let function = ir::Function {
            name: self.function.name.text.to_owned(),
            kind: match self.function.kind {
                ast::FunctionKind::Entry => ir::FunctionKind::Kernel,
                ast::FunctionKind::Func => ir::FunctionKind::Device,
            },
            parameters,
            arguments: self.arguments,
            results: self.results,
            registers: self.scopes.used,
            local_bytes: self.frame_bytes.next_multiple_of(8) as u32,
            shared_bytes: 0,
            reserved_shared_bytes: 0,
            machine_registers: None,
            first_block,
            n_blocks,
            bounds,
            explicit_convergence: false,
        };
        self.module.module.functions.push(function);
    }

    /// True inside of a kernel.
    pub(super) fn is_kernel(&self) -> bool {
        self.function.kind == ast::FunctionKind::Entry
    }

    fn declare_parameters(&mut self) -> Vec<ir::Parameter> {
        let function = self.function;
        if self.is_kernel() {
            let dialect = self.module.dialect;
            let parameters = parameter::kernel_parameters(&function.parameters, dialect, &mut self.module.diagnostics);
            // In the same order, without those that have no layout.
            let mut named = function.parameters.iter();
            for laid_out in &parameters {
                let named = named.find(|parameter| parameter.name.text == laid_out.name);
                let name = named.expect("laid out from these parameters").name;
                self.declare(name, Symbol::KernelParameter(laid_out.offset));
            }
            return parameters;
        }
        let addressed = self.names_in_operands();
        for parameter in &function.returns {
            let registers = self.declare_device_parameter(parameter, false);
            self.results.extend(registers);
        }
        for parameter in &function.parameters {
            let takes_address = addressed.contains(parameter.name.text);
            let registers = self.declare_device_parameter(parameter, takes_address);
            self.arguments.extend(registers);
        }
        Vec::new()
    }

    /// Declares a parameter of a device function, in memory if its address is taken; the registers in which it is passed.
    fn declare_device_parameter(&mut self, parameter: &ast::Parameter<'src>, takes_address: bool) -> Vec<Register> {
        if let (ast::Space::Reg, Some(ty)) = (parameter.space, types::scalar(parameter.ty)) {
            self.scopes.declare_registers(parameter.name.text, ty, 1, None);
            return self.register_named(parameter.name.text).into_iter().collect();
        }
        let Some(layout) = Layout::of_parameter(parameter).filter(|layout| layout.bytes <= parameter::MAX_BYTES) else {
            self.report(no_layout(parameter.name.span, parameter.name.text));
            return Vec::new();
        };
        let words = self.declare_words(parameter.name, &layout);
        let registers = words.registers(&layout.widths()).expect("the registers of the same layout");
        if takes_address {
            let offset = self.spill(parameter, &layout, &registers);
            self.declare(parameter.name, Symbol::Frame(offset));
        } else {
            self.declare(parameter.name, Symbol::Words(words));
        }
        registers
    }

    /// The register of this name, if there is one.
    pub(super) fn register_named(&mut self, name: &str) -> Option<Register> {
        match self.scopes.find(name) {
            Some(Found::Register { group, number }) => Some(self.scopes.register(group, number, 0)),
            _ => None,
        }
    }

    /// Registers for a parameter.
    fn declare_words(&mut self, name: ast::Name<'_>, layout: &Layout) -> Words {
        let n_words = layout.bytes.div_ceil(4).max(1) as u32;
        let before = self.scopes.used.vector;
        if before > limit::PARAMETER_WORDS {
            // Has been reported, and goes no further than this.
            return layout.words(0);
        }
        let words = layout.words(self.scopes.fresh_words(n_words));
        let declared = Declared { name, bytes: layout.bytes };
        self.module.diagnostics.extend(limit::of_words(declared, before, self.scopes.used.vector));
        words
    }

    /// Names that stand for themselves in some instruction: parameters among them have their address taken.
    fn names_in_operands(&self) -> HashSet<&'src str> {
        let name = |operand: &ast::Operand<'src>| match operand.kind {
            ast::OperandKind::Name(name) | ast::OperandKind::Offset(name, _) => Some(name),
            _ => None,
        };
        self.body.operand_pool.iter().filter_map(name).collect()
    }

    /// Copies a parameter whose address is taken to the frame, where the address then points.
    fn spill(&mut self, parameter: &ast::Parameter<'src>, layout: &Layout, registers: &[Register]) -> i64 {
        let start = self.allocate_frame(u64::from(layout.bytes as u32), layout.align);
        let spelling = self.module.spellings.of_text("ld.param");
        self.begin_instruction(spelling, parameter.name.span, OpClass::Virtual);
        let mut offset = start;
        for &register in registers {
            let bytes = if layout.is_array { 32 } else { layout.ty.bits().max(8) };
            let mut store = self.inst(Operation::St(AccessOrder::default()), types::untyped(bytes));
            store.sources.push(Operand::Register(register));
            store.memory = ir::Memory::One(ir::MemoryReference {
                space: StateSpace::Local,
                base: Operand::Frame(offset),
                offset: 0,
                elements: 1,
            });
            self.push(store);
            offset += i64::from(register.width.words() * 4);
        }
        start
    }

    /// Byte offset of a new place in the frame.
    fn allocate_frame(&mut self, bytes: u64, align: u64) -> i64 {
        let offset = self.frame_bytes.checked_next_multiple_of(align).unwrap_or(u64::MAX);
        self.frame_bytes = offset.saturating_add(bytes);
        offset as i64
    }

    fn declare(&mut self, name: ast::Name<'src>, symbol: Symbol) {
        if name.text != "_" && !self.scopes.declare(name.text, symbol) {
            self.report_redeclared(name);
        }
    }

    fn report_redeclared(&mut self, name: ast::Name<'_>) {
        self.report(
            Diagnostic::error("S002", name.span, format!("`{}` is declared twice in the same scope", name.text))
                .with_label("declared again"),
        );
    }

    fn enter_scope(&mut self) {
        self.scopes.enter(self.n_scopes);
        self.n_scopes += 1;
    }

    fn statements(&mut self, statements: &'a [ast::Statement<'src>]) {
        for statement in statements {
            match statement {
                ast::Statement::Instruction(instruction) => self.instruction(instruction),
                ast::Statement::Label(name) => self.label(*name),
                ast::Statement::Variable(variable) => self.variable(variable),
                ast::Statement::Loc(loc) => self.location = self.places.follow(loc, self.module),
                ast::Statement::Block(block) => {
                    self.enter_scope();
                    self.statements(&block.statements);
                    self.scopes.leave();
                }
                ast::Statement::Pragma(pragma) => {
                    self.current.stays_rolled |= pragma.strings.iter().any(|text| text.trim_matches('"') == "nounroll");
                }
                ast::Statement::BranchTargets(_)
                | ast::Statement::CallTargets(_)
                | ast::Statement::CallPrototype(_)
                | ast::Statement::Dwarf(_) => {}
            }
        }
    }

    fn variable(&mut self, variable: &'a ast::Variable<'src>) {
        for declarator in &variable.declarators {
            self.declare_variable(variable, declarator);
        }
    }

    fn declare_variable(&mut self, variable: &ast::Variable<'src>, declarator: &ast::Declarator<'src>) {
        let name = declarator.name;
        match variable.space {
            ast::Space::Reg | ast::Space::Sreg => self.declare_registers(variable, declarator),
            ast::Space::Local | ast::Space::Param => {
                let layout = Layout::new(variable.ty, variable.vector, &declarator.dimensions, variable.align, 0);
                let is_local = variable.space == ast::Space::Local;
                let Some(layout) = layout.filter(|layout| is_local || layout.bytes <= parameter::MAX_BYTES) else {
                    return self.report(no_layout(name.span, name.text));
                };
                let symbol = if is_local {
                    let before = self.frame_bytes;
                    let offset = self.allocate_frame(layout.bytes, layout.align);
                    let declared = Declared { name, bytes: layout.bytes };
                    self.module.diagnostics.extend(limit::of_frame(declared, before, self.frame_bytes));
                    Symbol::Frame(offset)
                } else {
                    Symbol::Words(self.declare_words(name, &layout))
                };
                self.declare(name, symbol);
            }
            _ => {
                let Some(lowered) = self.module.variable(variable, declarator, Some(self.id)) else { return };
                let id = self.module.module.variables.push(lowered);
                self.declare(name, Symbol::Variable(id));
                if let Some(value) = &declarator.initializer {
                    let scopes = &self.scopes;
                    let local = |name: &str| match scopes.find(name)? {
                        Found::Symbol(Symbol::Variable(id)) => Some(id),
                        _ => None,
                    };
                    self.module.initialize(id, variable, declarator, value, local);
                }
            }
        }
    }

    fn declare_registers(&mut self, variable: &ast::Variable<'src>, declarator: &ast::Declarator<'src>) {
        let name = declarator.name;
        let Some(ty) = types::scalar(variable.ty) else {
            return self.report(
                Diagnostic::error("S011", name.span, format!("no register can be of type .{}", variable.ty.name()))
                    .with_label("declared here"),
            );
        };
        if !self.scopes.declare_registers(name.text, ty, variable.vector, declarator.count) {
            self.report_redeclared(name);
        }
    }

    /// Declares what an old module declares outside of functions but what belongs to each.
    pub(super) fn declare_per_function(
        &mut self,
        variable: &'a ast::Variable<'src>,
        declarator: &'a ast::Declarator<'src>,
    ) {
        self.declare_variable(variable, declarator);
    }

    fn label(&mut self, name: ast::Name<'src>) {
        let is_target = self.labels.is_target(name.text);
        if is_target && (self.current.label.is_some() || !self.current.insts.is_empty()) {
            self.end_block(End::Fallthrough);
        }
        let block = self.done.len();
        if !self.labels.place(block) {
            self.report_redeclared(name);
        }
        if is_target {
            self.current.label = Some(name.text.to_owned());
        }
    }

    /// Ends the current block and starts the next.
    pub(super) fn end_block(&mut self, end: End) {
        let mut draft = std::mem::take(&mut self.current);
        draft.end = Some(end);
        self.done.push(draft);
    }

    /// Control that reaches the end of the body returns.
    fn finish_last_block(&mut self) {
        let falls_in = self.done.last().is_none_or(|block| {
            let guarded = block.insts.last().is_some_and(|inst| inst.guard.is_some());
            guarded || matches!(block.end, Some(End::Fallthrough | End::Call(_)))
        });
        if !falls_in && self.current.label.is_none() && self.current.insts.is_empty() {
            return;
        }
        let end = self.body.span.end;
        let spelling = self.module.spellings.of_text("ret");
        self.begin_instruction(spelling, Span::new(end.saturating_sub(1), end), OpClass::Control);
        self.guard = None;
        let ret = self.inst(Operation::Ret, ScalarType::Pred);
        self.push(ret);
        self.end_block(End::Return);
    }

    /// Appends the blocks to the module, now that every label has one.
    fn place_blocks(&mut self, first: BlockId) {
        let drafts = std::mem::take(&mut self.done);
        for (position, draft) in drafts.into_iter().enumerate() {
            let next = BlockId(first.0 + position as u32 + 1);
            let guarded = draft.insts.last().is_some_and(|inst| inst.guard.is_some());
            let end = draft.end.expect("every block that is done has an end");
            let target = |label| BlockId(first.0 + self.labels.block(label) as u32);
            let flow = end.flow(next, guarded, target);
            self.module.module.blocks.push(ir::Block {
                label: draft.label,
                stays_rolled: draft.stays_rolled,
                insts: draft.insts,
                flow,
            });
        }
    }

    fn instruction(&mut self, instruction: &'a ast::Instruction<'src>) {
        let operands = self.body.operands(instruction);
        let opcode = self.module.text.get(instruction.opcode_span.range()).unwrap_or_default();
        let spelling = self.module.spellings.of(opcode, instruction);
        self.begin_instruction(spelling, instruction.span, OpClass::Other);
        let site = Site { instruction, operands };
        self.guard = match &instruction.guard {
            None => None,
            Some(guard) => match self.guard_predicate(guard) {
                Ok(guard) => Some(guard),
                Err(_) => return,
            },
        };
        self.lower_instruction(&site);
        self.guard = None;
    }

    /// Opens the record of a source instruction.
    fn begin_instruction(&mut self, spelling: ir::SpellingId, span: Span, class: OpClass) {
        let pc = self.module.module.pcs.push(ir::PcInfo {
            function: self.id,
            spelling,
            span,
            line: self.module.lines.line(span.start),
            class,
            high_latency: None,
        });
        if let Some(location) = self.location {
            self.module.module.locations.insert(pc, location);
        }
        self.pc = pc;
    }

    /// Says what the instruction counts as.
    pub(super) fn classify(&mut self, class: OpClass) {
        self.module.module.pcs[self.pc].class = class;
    }

    /// An empty operation of the current instruction.
    pub(super) fn inst(&self, operation: Operation, ty: ScalarType) -> Inst {
        Inst { guard: self.guard, ..Inst::new(self.pc, operation, ty) }
    }

    /// Appends an operation.
    pub(super) fn push(&mut self, inst: Inst) {
        self.current.insts.push(inst);
    }

    /// Appends the operation that gives the instruction its class.
    pub(super) fn push_main(&mut self, inst: Inst) {
        let ty = if inst.op() == Op::Set { inst.source_ty } else { inst.ty };
        let info = &mut self.module.module.pcs[self.pc];
        info.class = inst.op().class(ty);
        info.high_latency = inst.op().high_latency(ty).map(|kind| SlowOperation { kind, ty });
        self.push(inst);
    }

    /// Appends an operation on registers.
    pub(super) fn emit(
        &mut self,
        operation: Operation,
        ty: ScalarType,
        destinations: Vec<Register>,
        sources: Vec<Operand>,
    ) {
        let mut inst = self.inst(operation, ty);
        inst.destinations = destinations.into_iter().map(Some).collect();
        inst.sources = sources;
        self.push(inst);
    }

    /// Number of operations in the current block, to undo what comes after with [`Self::truncate`].
    pub(super) fn mark(&self) -> (usize, usize) {
        (self.done.len(), self.current.insts.len())
    }

    /// Forgets the operations appended to the block since `mark`.
    pub(super) fn truncate(&mut self, mark: (usize, usize)) {
        if self.done.len() == mark.0 {
            self.current.insts.truncate(mark.1);
        }
    }

    /// The carry flag of the function.
    pub(super) fn carry(&mut self) -> Register {
        let scopes = &mut self.scopes;
        *self.carry.get_or_insert_with(|| scopes.fresh(ir::Width::One))
    }

    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        self.module.diagnostics.push(diagnostic);
    }

    /// What a name at module scope stands for.
    pub(super) fn global(&self, name: &str) -> Option<Global<'a, 'src>> {
        self.module.names.get(name).copied()
    }

    /// What the directives of the kernel demand of its launch.
    fn launch_bounds(&self) -> ir::LaunchBounds {
        use ast::FunctionDirective as D;
        let mut bounds = ir::LaunchBounds::default();
        let product = |extents: &[u32; 3]| extents.iter().fold(1u32, |threads, &extent| threads.saturating_mul(extent));
        for directive in &self.function.directives {
            match directive {
                D::MaxNTid(extents) => bounds.max_threads = Some(product(extents)),
                D::ReqNTid(extents) => bounds.required_threads = Some(*extents),
                D::MinNCtaPerSm(ctas) => bounds.min_ctas_per_sm = Some(*ctas),
                D::MaxNReg(registers) => bounds.max_registers = Some(*registers),
                // The number of CTAs in a cluster says more than that there is one.
                D::ReqNCtaPerCluster(extents, span) => {
                    bounds.cluster = Some(self.required_cluster(Some(*extents), *span));
                }
                D::ExplicitCluster(span) if bounds.cluster.is_none() => {
                    bounds.cluster = Some(self.required_cluster(None, *span));
                }
                D::MaxClusterRank(ctas) => bounds.max_cluster = Some(*ctas),
                // Says in which unit the grid of a kernel with a required cluster is given.
                D::BlocksAreClusters => {}
                D::ExplicitCluster(_)
                | D::MaxNCtaPerSm(_)
                | D::NoReturn
                | D::AbiPreserve(_)
                | D::AbiPreserveControl(_)
                | D::Pragma(_) => {}
            }
        }
        bounds
    }

    fn required_cluster(&self, ctas: Option<[u32; 3]>, span: Span) -> ir::RequiredCluster {
        ir::RequiredCluster { ctas, line: self.module.lines.line(span.start) }
    }
}
