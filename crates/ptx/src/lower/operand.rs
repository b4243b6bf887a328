//! Operands of instructions: what names stand for, and whether they fit the instruction's type.

use warplens_base::{Diagnostic, Span};
use warplens_ir::{FunctionId, Guard, Operand, Register, VariableId, Width};
use warplens_isa::{Operation, ScalarType, SpecialRegister, StateSpace};

use super::body::Body;
use super::module::Global;
use super::parameter::Words;
use super::scope::{Found, Symbol};
use super::{Lowered, Scope, Stop, types};
use crate::syntax::ast::{self, Immediate, OperandKind, Selector};

/// A register that is written, and the type that it was declared with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Destination {
    /// The register.
    pub(super) register: Register,
    /// Its declared type.
    pub(super) declared: ScalarType,
}

/// What a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Meaning {
    /// A register of a declared type.
    Register(Register, ScalarType),
    /// A special register.
    Special(SpecialRegister),
    /// A variable of the module.
    Variable(VariableId),
    /// A place in the frame.
    Frame(i64),
    /// A place in the parameter space.
    KernelParameter(u32),
    /// A parameter in registers.
    Words(Words),
    /// A function, with its id if the module defines it.
    Function(Option<FunctionId>),
}

/// How strictly the width of a register is checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Check {
    /// The size must be that of the instruction.
    Exact,
    /// The register may be wider: loads, stores, conversions.
    Relaxed,
}

impl Check {
    fn accepts(self, declared: ScalarType, ty: ScalarType) -> bool {
        match self {
            Check::Exact => types::fits(declared, ty),
            Check::Relaxed => types::fits_relaxed(declared, ty),
        }
    }
}

/// The bits of a constant in a type; none when the kinds do not agree.
pub(super) fn immediate_bits(value: Immediate, ty: ScalarType) -> Option<u64> {
    let mask = u64::MAX >> 64u32.saturating_sub(ty.bits());
    if ty == ScalarType::Pred {
        return value.bits().map(|bits| u64::from(bits != 0));
    }
    match (value, ty) {
        (Immediate::F32(bits), ScalarType::F32 | ScalarType::B32 | ScalarType::Tf32) => Some(u64::from(bits)),
        (Immediate::F32(bits), ScalarType::F64) => Some(f64::from(f32::from_bits(bits)).to_bits()),
        (Immediate::F64(bits), ScalarType::F64 | ScalarType::B64) => Some(bits),
        (Immediate::F64(bits), ScalarType::F32 | ScalarType::Tf32) => {
            Some(u64::from((f64::from_bits(bits) as f32).to_bits()))
        }
        (Immediate::F32(_) | Immediate::F64(_), _) => None,
        (_, ty) if ty.is_float() && ty != ScalarType::Tf32 => None,
        (value, _) => value.bits().map(|bits| bits & mask),
    }
}

impl<'a, 'src> Body<'_, 'a, 'src> {
    /// What `name` stands for, or a diagnostic with the nearest name.
    pub(super) fn meaning(&mut self, name: &'src str, span: Span) -> Lowered<Meaning> {
        if let Some(meaning) = self.find(name) {
            return Ok(meaning);
        }
        if let Some(Global::PerFunction(variable, declarator)) = self.global_or_prefix(name) {
            self.declare_per_function(variable, declarator);
            if let Some(meaning) = self.find(name) {
                return Ok(meaning);
            }
        }
        Err(self.report_undeclared(name, span))
    }

    fn find(&mut self, name: &str) -> Option<Meaning> {
        match self.scopes.find(name) {
            Some(Found::Register { group, number }) => {
                let register = self.scopes.register(group, number, 0);
                return Some(Meaning::Register(register, self.scopes.group(group).ty));
            }
            Some(Found::Symbol(symbol)) => {
                return Some(match symbol {
                    Symbol::Variable(variable) => Meaning::Variable(variable),
                    Symbol::Frame(offset) => Meaning::Frame(offset),
                    Symbol::KernelParameter(offset) => Meaning::KernelParameter(offset),
                    Symbol::Words(words) => Meaning::Words(words),
                    Symbol::Registers(_) => unreachable!("the lookup turns registers into their own case"),
                });
            }
            None => {}
        }
        if let Some(special) = special_register(name) {
            return Some(Meaning::Special(special));
        }
        match self.global(name)? {
            Global::Function(_, id) => Some(Meaning::Function(id)),
            Global::Variable(id, _) => Some(Meaning::Variable(id)),
            Global::PerFunction(..) => None,
        }
    }

    /// A global, also one of a parameterised declaration.
    fn global_or_prefix(&self, name: &str) -> Option<Global<'a, 'src>> {
        self.global(name).or_else(|| self.global(name.trim_end_matches(|c: char| c.is_ascii_digit())))
    }

    fn report_undeclared(&mut self, name: &str, span: Span) -> Stop {
        let mut diagnostic =
            Diagnostic::error("S001", span, format!("`{name}` is not declared")).with_label("not found in this scope");
        if let Some((prefix, count)) = self.scopes.beyond_range(name) {
            let last = count.saturating_sub(1);
            diagnostic = diagnostic.with_help(format!("`{prefix}<{count}>` declares `{prefix}0` to `{prefix}{last}`"));
        } else if let Some(nearest) = self.nearest(name) {
            diagnostic = diagnostic.with_help(format!("there is a `{nearest}`"));
        }
        self.report(diagnostic);
        Stop::Reported
    }

    /// The declared name that is most like `name`, if any is close.
    fn nearest(&self, name: &str) -> Option<String> {
        let globals = self.module.names.keys().map(|&name| name.to_owned());
        let mut candidates: Vec<String> = self.scopes.visible().chain(globals).collect();
        // Scopes keep their names in no order.
        candidates.sort_unstable();
        warplens_base::nearest(name, candidates.iter().map(String::as_str)).map(str::to_owned)
    }

    /// The guard of an instruction.
    pub(super) fn guard_predicate(&mut self, guard: &ast::Guard<'src>) -> Lowered<Guard> {
        let predicate = self.predicate_register(guard.name, guard.span)?;
        Ok(Guard { predicate, negated: guard.negated })
    }

    fn predicate_register(&mut self, name: &'src str, span: Span) -> Lowered<Register> {
        match self.meaning(name, span)? {
            Meaning::Register(register, ScalarType::Pred) => Ok(register),
            Meaning::Register(_, declared) => Err(self.report_mismatch(span, name, declared, ScalarType::Pred)),
            _ => Err(self.report_kind(span, "a predicate register")),
        }
    }

    fn report_mismatch(&mut self, span: Span, name: &str, declared: ScalarType, ty: ScalarType) -> Stop {
        self.report(
            Diagnostic::error("S004", span, format!("`{name}` of type .{declared} does not fit an operation on .{ty}"))
                .with_label(format!("declared as .{declared}")),
        );
        Stop::Reported
    }

    /// Reports an operand that cannot stand where it does.
    pub(super) fn report_kind(&mut self, span: Span, expected: &str) -> Stop {
        self.report(Diagnostic::error("S005", span, format!("expected {expected}")).with_label("cannot stand here"));
        Stop::Reported
    }

    /// The register that an operand names, whatever its type; `None` for other operands.
    fn operand_register(&mut self, operand: &ast::Operand<'src>) -> Lowered<Option<(Register, ScalarType)>> {
        match operand.kind {
            OperandKind::Name(name) => match self.meaning(name, operand.span)? {
                Meaning::Register(register, declared) => Ok(Some((register, declared))),
                _ => Ok(None),
            },
            OperandKind::Selected(name, Selector::Component { index, .. }) => Ok(self.component(name, index)),
            _ => Ok(None),
        }
    }

    /// An element of a vector register.
    fn component(&mut self, name: &str, index: u8) -> Option<(Register, ScalarType)> {
        match self.scopes.find(name)? {
            Found::Register { group, number } if index < self.scopes.group(group).vector => {
                let register = self.scopes.register(group, number, index);
                Some((register, self.scopes.group(group).ty))
            }
            _ => None,
        }
    }

    /// A destination of type `ty`; `None` for `_`.
    pub(super) fn destination(&mut self, operand: &ast::Operand<'src>, ty: ScalarType) -> Lowered<Option<Register>> {
        Ok(self.checked_destination(operand, ty, Check::Exact)?.map(|destination| destination.register))
    }

    /// A destination with the type that it was declared with.
    pub(super) fn checked_destination(
        &mut self,
        operand: &ast::Operand<'src>,
        ty: ScalarType,
        check: Check,
    ) -> Lowered<Option<Destination>> {
        if matches!(operand.kind, OperandKind::Sink) {
            return Ok(None);
        }
        let Some((register, declared)) = self.operand_register(operand)? else {
            return Err(self.report_kind(operand.span, "a register as destination"));
        };
        self.check_type(operand, declared, ty, check)?;
        Ok(Some(Destination { register, declared }))
    }

    fn check_type(
        &mut self,
        operand: &ast::Operand<'src>,
        declared: ScalarType,
        ty: ScalarType,
        check: Check,
    ) -> Lowered<()> {
        if check.accepts(declared, ty) {
            return Ok(());
        }
        let text = self.module.text.get(operand.span.range()).unwrap_or_default();
        Err(self.report_mismatch(operand.span, text, declared, ty))
    }

    /// A source of type `ty`.
    pub(super) fn source(&mut self, operand: &ast::Operand<'src>, ty: ScalarType) -> Lowered<Operand> {
        self.checked_source(operand, ty, Check::Exact)
    }

    /// A source of type `ty`: a register or a constant. A special register is read into a fresh register first.
    pub(super) fn checked_source(
        &mut self,
        operand: &ast::Operand<'src>,
        ty: ScalarType,
        check: Check,
    ) -> Lowered<Operand> {
        if ty == ScalarType::Pred {
            return self.predicate(operand);
        }
        if let Some((register, declared)) = self.operand_register(operand)? {
            self.check_type(operand, declared, ty, check)?;
            return Ok(Operand::Register(register));
        }
        match operand.kind {
            OperandKind::Immediate(value) => self.immediate(value, ty, operand.span),
            OperandKind::Name(_) | OperandKind::Selected(..) => match self.special(operand)? {
                Some(Some(special)) => {
                    let register = self.scopes.fresh(Width::of_bits(ty.bits()));
                    let read = types::untyped(ty.bits());
                    self.emit(Operation::ReadSpecial, read, vec![register], vec![Operand::Special(special)]);
                    Ok(Operand::Register(register))
                }
                Some(None) => Ok(Operand::Immediate(0)),
                None => Err(self.report_kind(operand.span, "a register or a constant")),
            },
            _ => Err(self.report_kind(operand.span, "a register or a constant")),
        }
    }

    /// The special register that an operand names. The fourth component of a vector is always 0: `Some(None)`.
    pub(super) fn special(&mut self, operand: &ast::Operand<'src>) -> Lowered<Option<Option<SpecialRegister>>> {
        match operand.kind {
            OperandKind::Name(name) => match self.meaning(name, operand.span)? {
                Meaning::Special(special) => Ok(Some(Some(special))),
                _ => Ok(None),
            },
            OperandKind::Selected(name, Selector::Component { index, .. }) => {
                let letter = ["x", "y", "z"].get(usize::from(index));
                let special = letter.and_then(|letter| SpecialRegister::from_name(&format!("{name}.{letter}")));
                let fourth = index == 3 && SpecialRegister::from_name(&format!("{name}.x")).is_some();
                match special {
                    Some(special) => Ok(Some(Some(special))),
                    None if fourth => Ok(Some(None)),
                    None => Err(self.report_undeclared(name, operand.span)),
                }
            }
            _ => Ok(None),
        }
    }

    fn immediate(&mut self, value: Immediate, ty: ScalarType, span: Span) -> Lowered<Operand> {
        match immediate_bits(value, ty) {
            Some(bits) => Ok(Operand::Immediate(bits)),
            None => {
                let (kind, help) = if value.bits().is_some() {
                    ("an integer", "write a floating-point constant, such as 0f3F800000 or 1.0")
                } else {
                    ("a floating-point number", "write an integer constant")
                };
                self.report(
                    Diagnostic::error("S004", span, format!("{kind} does not fit an operation on .{ty}"))
                        .with_label(format!("expected a value of type .{ty}"))
                        .with_help(help),
                );
                Err(Stop::Reported)
            }
        }
    }

    /// A predicate as a source: register, complement or constant.
    pub(super) fn predicate(&mut self, operand: &ast::Operand<'src>) -> Lowered<Operand> {
        match operand.kind {
            OperandKind::Name(name) => self.predicate_register(name, operand.span).map(Operand::Register),
            OperandKind::Not(name) => self.predicate_register(name, operand.span).map(Operand::NotPredicate),
            OperandKind::Immediate(value) => self.immediate(value, ScalarType::Pred, operand.span),
            _ => Err(self.report_kind(operand.span, "a predicate")),
        }
    }

    /// True for predicates; a constant is none.
    pub(super) fn is_predicate(&mut self, operand: &ast::Operand<'src>) -> Lowered<bool> {
        let is_negated = matches!(operand.kind, OperandKind::Not(_));
        Ok(is_negated || self.operand_register(operand)?.is_some_and(|(_, declared)| declared == ScalarType::Pred))
    }

    /// The parts of `{a, b}`, or the operand itself as the only part.
    pub(super) fn parts<'o>(
        &mut self,
        operand: &'o ast::Operand<'src>,
        count: usize,
    ) -> Lowered<&'o [ast::Operand<'src>]> {
        let parts = match &operand.kind {
            OperandKind::Vector(parts) => &parts[..],
            _ => std::slice::from_ref(operand),
        };
        if parts.len() == count {
            return Ok(parts);
        }
        self.report(
            Diagnostic::error("S006", operand.span, format!("{count} elements are needed, {} are given", parts.len()))
                .with_label(if count == 1 { "one value expected".to_owned() } else { format!("{count} expected") }),
        );
        Err(Stop::Reported)
    }

    /// The elements of a vector register that an operand names whole.
    pub(super) fn whole_vector(&mut self, operand: &ast::Operand<'src>) -> Option<Vec<(Register, ScalarType)>> {
        let OperandKind::Name(name) = operand.kind else { return None };
        let Some(Found::Register { group, number }) = self.scopes.find(name) else { return None };
        let (vector, ty) = (self.scopes.group(group).vector, self.scopes.group(group).ty);
        (vector > 1).then(|| (0..vector).map(|element| (self.scopes.register(group, number, element), ty)).collect())
    }

    /// Address of a variable, frame place, parameter or function as a value.
    pub(super) fn address_value(&mut self, operand: &ast::Operand<'src>) -> Lowered<Option<Operand>> {
        let (name, offset) = match operand.kind {
            OperandKind::Name(name) => (name, 0),
            OperandKind::Offset(name, offset) | OperandKind::Element(name, offset) => (name, offset),
            _ => return Ok(None),
        };
        let meaning = self.meaning(name, operand.span)?;
        let scaled = match (&operand.kind, meaning) {
            (OperandKind::Element(..), Meaning::Variable(variable)) => {
                offset.wrapping_mul(i64::from(self.module.module.variables[variable].ty.bytes()))
            }
            _ => offset,
        };
        Ok(match meaning {
            Meaning::Variable(variable) => {
                self.check_resolved(name, operand.span)?;
                Some(Operand::Variable { variable, offset: scaled, generic: false })
            }
            Meaning::Frame(start) => Some(Operand::Frame(start.wrapping_add(scaled))),
            Meaning::KernelParameter(start) => Some(Operand::Immediate(i64::from(start).wrapping_add(scaled) as u64)),
            Meaning::Function(Some(function)) => Some(Operand::Function(function)),
            // A function of another module: its address is never called here, only carried around.
            Meaning::Function(None) => Some(Operand::Immediate(0)),
            _ => None,
        })
    }

    /// Reports a variable that another module would have to define.
    fn check_resolved(&mut self, name: &str, span: Span) -> Lowered<()> {
        match self.global(name) {
            Some(Global::Variable(_, false))
                if self.module.scope == Scope::Whole && self.scopes.find(name).is_none() =>
            {
                self.report(
                    Diagnostic::error("S009", span, format!("`{name}` is declared but defined nowhere"))
                        .with_label("used here")
                        .with_help("link the module that defines it, or define it here"),
                );
                Err(Stop::Reported)
            }
            _ => Ok(()),
        }
    }

    /// The address that `[..]` describes, in the space that the instruction names: space, base and offset.
    pub(super) fn address(
        &mut self,
        operand: &ast::Operand<'src>,
        space: StateSpace,
    ) -> Lowered<(StateSpace, Operand, i64)> {
        let address = match &operand.kind {
            OperandKind::Address(address) => *address,
            OperandKind::Element(name, index) => self.element_address(name, *index, operand.span)?,
            OperandKind::AddressList(parts) => match parts[..] {
                [ast::Operand { kind: OperandKind::Element(name, index), span }] => {
                    self.element_address(name, index, span)?
                }
                _ => return Err(self.report_kind(operand.span, "a single address")),
            },
            _ => return Err(self.report_kind(operand.span, "an address in brackets")),
        };
        let Some(name) = address.base else {
            return Ok((space, Operand::Immediate(address.offset as u64), 0));
        };
        let (own, base) = match self.meaning(name, operand.span)? {
            Meaning::Register(register, declared) if declared != ScalarType::Pred => {
                // A device function keeps a parameter whose address is taken in its frame.
                let space = match space {
                    StateSpace::Param if !self.is_kernel() => StateSpace::Local,
                    space => space,
                };
                return Ok((space, Operand::Register(register), address.offset));
            }
            Meaning::Variable(variable) => {
                self.check_resolved(name, operand.span)?;
                let base = Operand::Variable { variable, offset: 0, generic: false };
                (self.module.module.variables[variable].space, base)
            }
            Meaning::Frame(offset) => (StateSpace::Local, Operand::Frame(offset)),
            Meaning::KernelParameter(offset) => (StateSpace::Param, Operand::Immediate(u64::from(offset))),
            _ => return Err(self.report_kind(operand.span, "a register or variable as address")),
        };
        let is_spilled_parameter = space == StateSpace::Param && own == StateSpace::Local;
        if space != own && space != StateSpace::Generic && !is_spilled_parameter {
            self.report(
                Diagnostic::error(
                    "S007",
                    operand.span,
                    format!("`{name}` is in .{own}, the instruction works on .{space}"),
                )
                .with_label(format!("declared in .{own}")),
            );
            return Err(Stop::Reported);
        }
        Ok((own, base, address.offset))
    }

    /// `array[index]` as variable and bytes.
    fn element_address(&mut self, name: &'src str, index: i64, span: Span) -> Lowered<ast::Address<'src>> {
        match self.meaning(name, span)? {
            Meaning::Variable(variable) => {
                let bytes = i64::from(self.module.module.variables[variable].ty.bytes());
                Ok(ast::Address { base: Some(name), offset: index.saturating_mul(bytes) })
            }
            _ => Err(self.report_kind(span, "an array")),
        }
    }

    /// The register parameter that `[..]` names, and the offset in it.
    pub(super) fn words_address(&mut self, operand: &ast::Operand<'src>) -> Option<(Words, i64)> {
        let OperandKind::Address(address) = operand.kind else { return None };
        match self.scopes.find(address.base?)? {
            Found::Symbol(Symbol::Words(words)) => Some((words, address.offset)),
            _ => None,
        }
    }
}

/// The special register of a name. The offsets of reserved shared memory by number are all served as its begin.
fn special_register(name: &str) -> Option<SpecialRegister> {
    let is_numbered = name.strip_prefix("%reserved_smem_offset_").is_some_and(|number| number.parse::<u8>().is_ok());
    if is_numbered { Some(SpecialRegister::ReservedSmemOffsetBegin) } else { SpecialRegister::from_name(name) }
}
