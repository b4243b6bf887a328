//! Labels, branches, returns: how blocks end.

use std::collections::{HashMap, HashSet};

use warplens_base::{Diagnostic, Span};
use warplens_ir::{CallTarget, Flow};
use warplens_isa::{BlockId, Branch, Operation, ScalarType};

use super::body::Body;
use super::instruction::Site;
use super::{Lowered, Stop};
use crate::opcodes::Opcode;
use crate::syntax::ast::{self, Modifier, OperandKind, Statement};

/// How a block ends, while blocks have no ids yet. Labels are numbered in the order of the text.
#[derive(Debug)]
pub(super) enum End {
    /// Into the next block.
    Fallthrough,
    /// By a branch.
    Branch(usize),
    /// By a branch through a table.
    Indexed(Vec<usize>),
    /// By a call.
    Call(CallTarget),
    /// By a return.
    Return,
    /// By the end of the thread.
    Exit,
}

impl End {
    /// The flow of the block, `next` being the block that follows it.
    pub(super) fn flow(self, next: BlockId, guarded: bool, block: impl Fn(usize) -> BlockId) -> Flow {
        let next_if_guarded = guarded.then_some(next);
        match self {
            End::Fallthrough => Flow::Fallthrough(next),
            End::Branch(label) => Flow::Branch { taken: block(label), next: next_if_guarded },
            End::Indexed(labels) => {
                Flow::Indexed { targets: labels.into_iter().map(block).collect(), next: next_if_guarded }
            }
            End::Call(target) => Flow::Call { target, next },
            End::Return => Flow::Return { next: next_if_guarded },
            End::Exit => Flow::Exit { next: next_if_guarded },
        }
    }
}

#[derive(Debug)]
struct Label<'src> {
    name: &'src str,
    scope: usize,
    block: Option<usize>,
}

/// Labels, target lists and prototypes of a function, found before its instructions are lowered.
#[derive(Debug, Default)]
pub(super) struct Labels<'a, 'src> {
    /// In the order of the text.
    labels: Vec<Label<'src>>,
    by_name: HashMap<&'src str, Vec<usize>>,
    /// Enclosing scope of each scope; scopes are numbered in the order in which they open.
    parents: Vec<usize>,
    branch_targets: HashMap<&'src str, &'a ast::Targets<'src>>,
    call_targets: HashMap<&'src str, &'a ast::Targets<'src>>,
    prototypes: HashMap<&'src str, &'a ast::Prototype<'src>>,
    /// Names that branches and lists of targets mention. Debug information brings many labels that none does.
    targets: HashSet<&'src str>,
    /// Number of labels placed so far.
    placed: usize,
}

impl<'a, 'src> Labels<'a, 'src> {
    /// Finds the labels of a body.
    pub(super) fn collect(body: &'a ast::Body<'src>) -> Self {
        let mut labels = Self { parents: vec![0], ..Self::default() };
        labels.walk(body, &body.statements, 0);
        labels
    }

    fn walk(&mut self, body: &'a ast::Body<'src>, statements: &'a [Statement<'src>], scope: usize) {
        for statement in statements {
            match statement {
                Statement::Instruction(instruction) if instruction.opcode == Opcode::Bra => {
                    if let Some(ast::Operand { kind: OperandKind::Name(name), .. }) = body.operands(instruction).first()
                    {
                        self.targets.insert(name);
                    }
                }
                Statement::Label(name) => {
                    self.by_name.entry(name.text).or_default().push(self.labels.len());
                    self.labels.push(Label { name: name.text, scope, block: None });
                }
                Statement::Block(block) => {
                    let inner = self.parents.len();
                    self.parents.push(scope);
                    self.walk(body, &block.statements, inner);
                }
                Statement::BranchTargets(targets) => {
                    self.targets.extend(targets.targets.iter().map(|target| target.text));
                    self.branch_targets.insert(targets.label.text, targets);
                }
                Statement::CallTargets(targets) => {
                    self.call_targets.insert(targets.label.text, targets);
                }
                Statement::CallPrototype(prototype) => {
                    self.prototypes.insert(prototype.label.text, prototype);
                }
                _ => {}
            }
        }
    }

    /// Gives the next label of the text its block; false when the scope has another label of the name.
    pub(super) fn place(&mut self, block: usize) -> bool {
        let number = self.placed;
        self.placed += 1;
        self.labels[number].block = Some(block);
        let Label { name, scope, .. } = self.labels[number];
        let twins = &self.by_name[name];
        twins.iter().all(|&other| other >= number || self.labels[other].scope != scope)
    }

    /// True when control may come to a label of this name.
    pub(super) fn is_target(&self, name: &str) -> bool {
        self.targets.contains(name)
    }

    /// Block of a label.
    pub(super) fn block(&self, label: usize) -> usize {
        self.labels[label].block.expect("every label of the text is placed")
    }

    /// The label that a branch in `scope` means: that of the nearest enclosing scope, else any of the function.
    fn find(&self, name: &str, mut scope: usize) -> Option<usize> {
        let candidates = self.by_name.get(name)?;
        loop {
            if let Some(&label) = candidates.iter().find(|&&label| self.labels[label].scope == scope) {
                return Some(label);
            }
            if scope == 0 {
                return candidates.first().copied();
            }
            scope = self.parents[scope];
        }
    }

    /// The functions of a `.calltargets`.
    pub(super) fn call_targets(&self, name: &str) -> Option<&'a ast::Targets<'src>> {
        self.call_targets.get(name).copied()
    }

    /// A `.callprototype`.
    pub(super) fn prototype(&self, name: &str) -> Option<&'a ast::Prototype<'src>> {
        self.prototypes.get(name).copied()
    }
}

impl<'src> Body<'_, '_, 'src> {
    pub(super) fn lower_end(&mut self, site: &Site<'_, 'src>, operation: Operation, end: End) -> Lowered<()> {
        self.count(site, 0, 0)?;
        let inst = self.inst(operation, ScalarType::Pred);
        self.push_main(inst);
        self.end_block(end);
        Ok(())
    }

    pub(super) fn lower_branch(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        self.count(site, 1, 1)?;
        let label = self.label_operand(&site.operands[0])?;
        let branch = Branch { uniform: site.instruction.has(Modifier::Uni) };
        let inst = self.inst(Operation::Bra(branch), ScalarType::Pred);
        self.push_main(inst);
        self.end_block(End::Branch(label));
        Ok(())
    }

    fn label_operand(&mut self, operand: &ast::Operand<'src>) -> Lowered<usize> {
        match operand.kind {
            OperandKind::Name(name) => self.label_named(name, operand.span),
            _ => Err(self.report_kind(operand.span, "a label")),
        }
    }

    fn label_named(&mut self, name: &str, span: Span) -> Lowered<usize> {
        if let Some(label) = self.labels.find(name, self.scopes.current()) {
            return Ok(label);
        }
        self.report(
            Diagnostic::error("S008", span, format!("there is no label `{name}` in this function"))
                .with_label("branch target"),
        );
        Err(Stop::Reported)
    }

    pub(super) fn lower_indexed_branch(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        self.count(site, 2, 2)?;
        let index = self.source(&site.operands[0], ScalarType::U32)?;
        let list = &site.operands[1];
        let targets = match list.kind {
            OperandKind::Name(name) => self.labels.branch_targets.get(name).copied(),
            _ => None,
        };
        let Some(targets) = targets else {
            return Err(self.report_kind(list.span, "the label of a `.branchtargets` list"));
        };
        let labels = targets.targets.iter().map(|target| self.label_named(target.text, target.span));
        let labels: Vec<usize> = labels.collect::<Lowered<_>>()?;
        let branch = Branch { uniform: site.instruction.has(Modifier::Uni) };
        let mut inst = self.inst(Operation::BrxIdx(branch), ScalarType::U32);
        inst.sources.push(index);
        self.push_main(inst);
        self.end_block(End::Indexed(labels));
        Ok(())
    }
}
