//! What a module declares: functions, variables, files; then the bodies in order.

use std::collections::HashMap;

use warplens_base::{Diagnostic, IdMap, LineIndex, Span};
use warplens_ir as ir;
use warplens_ir::{FunctionId, VariableId};
use warplens_isa::{ScalarType, StateSpace};

use super::body::Body;
use super::limit::{self, Banks, Declared};
use super::parameter::{Layout, no_layout};
use super::spellings::Spellings;
use super::{Scope, initializer, pending, texture, types};
use crate::syntax::ast;

/// Bytes of a variable of an opaque type: the handle of an object.
const HANDLE_BYTES: u64 = 8;

/// What a name at module scope stands for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Global<'a, 'src> {
    /// A function: its declaration, and its id when the module defines it.
    Function(&'a ast::Function<'src>, Option<FunctionId>),
    /// A variable; the flag says whether the module defines it.
    Variable(VariableId, bool),
    /// A `.local` variable or register of an old module: every function that names it gets its own.
    PerFunction(&'a ast::Variable<'src>, &'a ast::Declarator<'src>),
}

/// The version and target that decide what old spellings mean.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dialect {
    /// `.version` as `10 * major + minor`.
    pub(super) version: u32,
    /// Number of the target: 13 for `sm_13`, 90 for `sm_90a`.
    pub(super) target: u32,
}

impl Dialect {
    /// Targets before `sm_20` flush subnormal single-precision numbers always.
    pub(super) fn always_flushes(self) -> bool {
        self.target < 20
    }
}

/// Lowering of a module.
pub(super) struct ModuleLowering<'a, 'src> {
    pub(super) ast: &'a ast::Module<'src>,
    pub(super) scope: Scope,
    pub(super) text: &'a str,
    pub(super) lines: LineIndex,
    pub(super) dialect: Dialect,
    pub(super) module: ir::Module,
    pub(super) spellings: Spellings<'a>,
    pub(super) names: HashMap<&'src str, Global<'a, 'src>>,
    pub(super) diagnostics: Vec<Diagnostic>,
    banks: Banks,
    /// Bytes that initial values may still describe.
    initial_bytes: u64,
    /// Position in the list of files by number of `.file`.
    files: HashMap<u32, u32>,
}

impl<'a, 'src> ModuleLowering<'a, 'src> {
    pub(super) fn new(ast: &'a ast::Module<'src>, text: &'a str, scope: Scope) -> Self {
        let target = ast.targets.iter().map(|name| name.text).find(|name| ir::target_number(name).is_some());
        let version = ast.version.map_or(10, |version| 10 * u32::from(version.major) + u32::from(version.minor));
        let number = target.and_then(ir::target_number).unwrap_or(10);
        let module = ir::Module {
            functions: IdMap::new(),
            address_bits: ast.address_size.unwrap_or(32),
            target: target.unwrap_or_default().to_owned(),
            ..ir::Module::default()
        };
        Self {
            ast,
            scope,
            text,
            lines: LineIndex::new(text),
            dialect: Dialect { version, target: number },
            module,
            spellings: Spellings::default(),
            names: HashMap::new(),
            diagnostics: Vec::new(),
            banks: Banks::default(),
            initial_bytes: limit::INITIAL_BYTES,
            files: HashMap::new(),
        }
    }

    pub(super) fn lower(mut self) -> (Option<ir::Module>, Vec<Diagnostic>) {
        let bodies = self.collect_functions();
        self.collect_variables();
        self.collect_aliases();
        if self.scope == Scope::Part {
            self.collect_external_functions(bodies.len());
        }
        self.collect_interface();
        self.initialize_variables();
        for (function, body) in bodies {
            Body::new(&mut self, function, body).lower();
        }
        self.spellings.place(&mut self.module);
        self.diagnostics.extend(pending::early_uses(&self.module));
        let failed = self.diagnostics.iter().any(Diagnostic::is_error);
        ((!failed).then_some(self.module), self.diagnostics)
    }

    /// Names every function and file; the definitions in text order. The n-th gets the n-th function id.
    fn collect_functions(&mut self) -> Vec<(&'a ast::Function<'src>, &'a ast::Body<'src>)> {
        let mut bodies = Vec::new();
        for item in &self.ast.items {
            match item {
                ast::Item::Function(function) => {
                    let id = function.body.as_ref().map(|body| {
                        bodies.push((function, body));
                        FunctionId(bodies.len() as u32 - 1)
                    });
                    self.declare_function(function, id);
                }
                ast::Item::File(file) => {
                    self.files.insert(file.index, self.module.files.len() as u32);
                    self.module.files.push(file.path.to_owned());
                }
                _ => {}
            }
        }
        bodies
    }

    fn declare_function(&mut self, function: &'a ast::Function<'src>, id: Option<FunctionId>) {
        match self.names.get(function.name.text) {
            Some(Global::Function(other, Some(_))) if id.is_some() => {
                let other = other.name.span;
                self.report_duplicate(function.name, other);
            }
            Some(Global::Function(_, Some(_))) => {}
            _ => {
                self.names.insert(function.name.text, Global::Function(function, id));
            }
        }
    }

    fn report_duplicate(&mut self, name: ast::Name<'_>, first: Span) {
        self.diagnostics.push(
            Diagnostic::error("S002", name.span, format!("`{}` is defined twice", name.text))
                .with_label("defined again")
                .with_secondary(first, "first defined here"),
        );
    }

    fn collect_variables(&mut self) {
        for item in &self.ast.items {
            let ast::Item::Variable(variable) = item else { continue };
            for declarator in &variable.declarators {
                self.declare_global(variable, declarator);
            }
        }
    }

    fn declare_global(&mut self, variable: &'a ast::Variable<'src>, declarator: &'a ast::Declarator<'src>) {
        let name = declarator.name.text;
        if matches!(variable.space, ast::Space::Reg | ast::Space::Sreg | ast::Space::Local | ast::Space::Param) {
            self.names.insert(name, Global::PerFunction(variable, declarator));
            return;
        }
        let is_defined = variable.linkage != ast::Linkage::Extern || variable.space == ast::Space::Shared;
        match self.names.get(name) {
            // A definition after its declaration takes the declared variable's place.
            Some(&Global::Variable(id, false)) if is_defined => {
                if let Some(defined) = self.variable(variable, declarator, None) {
                    self.module.variables[id] = defined;
                    self.names.insert(name, Global::Variable(id, true));
                }
            }
            Some(Global::Variable(_, true)) if !is_defined => {}
            Some(Global::Variable(..)) if is_defined && variable.linkage != ast::Linkage::Common => {
                let first = self.first_declaration(name);
                self.report_duplicate(declarator.name, first);
            }
            Some(_) => {}
            None => {
                if let Some(variable) = self.variable(variable, declarator, None) {
                    let id = self.module.variables.push(variable);
                    self.names.insert(name, Global::Variable(id, is_defined));
                }
            }
        }
    }

    fn first_declaration(&self, name: &str) -> Span {
        let variables = self.ast.items.iter().filter_map(|item| match item {
            ast::Item::Variable(variable) => Some(&variable.declarators),
            _ => None,
        });
        variables.flatten().find(|declarator| declarator.name.text == name).map_or(Span::default(), |it| it.name.span)
    }

    /// The variable of a declaration, without its content.
    pub(super) fn variable(
        &mut self,
        variable: &ast::Variable<'_>,
        declarator: &ast::Declarator<'_>,
        function: Option<FunctionId>,
    ) -> Option<ir::Variable> {
        let open = declarator.initializer.as_ref().map_or(0, initializer::outer_length);
        let layout = Layout::new(variable.ty, variable.vector, &declarator.dimensions, variable.align, open);
        let (Some(layout), Some(space)) = (layout, types::memory_space(variable.space)) else {
            self.diagnostics.push(no_layout(declarator.name.span, declarator.name.text));
            return None;
        };
        let opaque = match texture::opaque_variable(variable, declarator) {
            Ok(opaque) => opaque,
            Err(message) => {
                let finding = Diagnostic::error("S013", declarator.name.span, message);
                self.diagnostics.push(finding.with_label("declared here"));
                return None;
            }
        };
        if space == StateSpace::Const && variable.linkage != ast::Linkage::Extern {
            let declared = Declared { name: declarator.name, bytes: layout.bytes };
            self.diagnostics.extend(self.banks.add(variable.space, declared));
        }
        Some(ir::Variable {
            name: declarator.name.text.to_owned(),
            space,
            ty: if opaque.is_some() { ScalarType::B64 } else { layout.ty },
            bytes: if opaque.is_some() { HANDLE_BYTES } else { layout.bytes },
            align: if opaque.is_some() { HANDLE_BYTES } else { layout.align },
            is_dynamic: variable.linkage == ast::Linkage::Extern && space == StateSpace::Shared,
            function,
            initializer: ir::Initializer::default(),
            opaque,
        })
    }

    fn collect_aliases(&mut self) {
        for item in &self.ast.items {
            let ast::Item::Alias(alias) = item else { continue };
            match self.names.get(alias.target.text) {
                Some(&target @ Global::Function(_, Some(_))) => {
                    self.names.insert(alias.name.text, target);
                }
                _ => self.diagnostics.push(
                    Diagnostic::error(
                        "S001",
                        alias.target.span,
                        format!("`{}` is no defined function", alias.target.text),
                    )
                    .with_label("an alias names a function with a body"),
                ),
            }
        }
    }

    fn initialize_variables(&mut self) {
        for item in &self.ast.items {
            let ast::Item::Variable(variable) = item else { continue };
            for declarator in &variable.declarators {
                let Some(value) = &declarator.initializer else { continue };
                let Some(&Global::Variable(id, _)) = self.names.get(declarator.name.text) else { continue };
                if self.module.variables[id].opaque.is_some() {
                    continue;
                }
                self.initialize(id, variable, declarator, value, |_| None);
            }
        }
    }

    /// Evaluates the initial value of a variable. `local` finds names that the function declares.
    pub(super) fn initialize(
        &mut self,
        id: VariableId,
        variable: &ast::Variable<'_>,
        declarator: &ast::Declarator<'_>,
        value: &ast::Initializer<'_>,
        local: impl Fn(&str) -> Option<VariableId>,
    ) {
        let names = &self.names;
        let find = |name: &str| match local(name) {
            Some(variable) => Some(initializer::Target::Variable(variable)),
            None => match names.get(name)? {
                Global::Variable(variable, _) => Some(initializer::Target::Variable(*variable)),
                Global::Function(_, function) => Some(initializer::Target::Function(*function)),
                Global::PerFunction(..) => None,
            },
        };
        let ty = self.module.variables[id].ty;
        match initializer::evaluate(ty, variable.vector, declarator, value, &mut self.initial_bytes, find) {
            Ok(content) => self.module.variables[id].initializer = content,
            Err(message) => self.diagnostics.push(
                Diagnostic::error("S013", declarator.name.span, message)
                    .with_label(format!("in the initial value of `{}`", declarator.name.text)),
            ),
        }
    }

    /// Position of a file in the module's list.
    pub(super) fn file(&self, number: u32) -> Option<u32> {
        self.files.get(&number).copied()
    }
}
