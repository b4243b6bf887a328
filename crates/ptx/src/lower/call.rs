//! Calls: which registers carry arguments and results, and what is served by the emulator itself.

use warplens_base::{Diagnostic, Span};
use warplens_ir::{CallTarget, FunctionId, Operand, Register, Width};
use warplens_isa::{Branch, OpClass, Operation, ScalarType, SystemCall};

use super::body::Body;
use super::control::End;
use super::instruction::Site;
use super::module::Global;
use super::operand::Meaning;
use super::parameter::Layout;
use super::{Lowered, Stop, types};
use crate::syntax::ast::{self, Modifier, OperandKind};

/// What a callee takes and gives.
#[derive(Clone, Copy, Debug)]
struct Signature<'a, 'src> {
    returns: &'a [ast::Parameter<'src>],
    parameters: &'a [ast::Parameter<'src>],
}

/// The parts of `call (returns), target, (arguments), list`.
#[derive(Clone, Copy, Debug)]
struct Parts<'o, 'src> {
    returns: &'o [ast::Operand<'src>],
    target: &'o ast::Operand<'src>,
    arguments: &'o [ast::Operand<'src>],
    list: Option<&'o ast::Operand<'src>>,
}

/// Who is called.
#[derive(Clone, Debug)]
enum Callee {
    Function(FunctionId),
    Indirect(Operand, Vec<FunctionId>),
    System(SystemCall),
    /// A function of another module.
    Elsewhere,
}

impl<'a, 'src> Body<'_, 'a, 'src> {
    /// `call`.
    pub(super) fn lower_call(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        let Some(parts) = split(site.operands) else {
            return Err(self.report_kind(site.instruction.span, "`call (returns), function, (arguments)`"));
        };
        let (callee, signature) = self.callee(&parts)?;
        let (destinations, sources) = self.call_registers(&parts, signature, site.instruction.span)?;
        let operation = match callee {
            Callee::System(service) => Operation::SystemCall(service),
            Callee::Elsewhere => Operation::Unsupported,
            Callee::Function(_) | Callee::Indirect(..) => Operation::Call(Branch { uniform: site.has(Modifier::Uni) }),
        };
        let mut inst = self.inst(operation, ScalarType::B32);
        inst.destinations = destinations;
        inst.sources = sources;
        self.push_main(inst);
        self.classify(OpClass::Control);
        match callee {
            Callee::Function(function) => self.end_block(End::Call(CallTarget::Direct(function))),
            Callee::Indirect(address, candidates) => {
                self.end_block(End::Call(CallTarget::Indirect(address, candidates)));
            }
            Callee::System(_) | Callee::Elsewhere => {}
        }
        Ok(())
    }

    fn callee(&mut self, parts: &Parts<'_, 'src>) -> Lowered<(Callee, Signature<'a, 'src>)> {
        let OperandKind::Name(name) = parts.target.kind else {
            return Err(self.report_kind(parts.target.span, "a function or a register"));
        };
        match self.meaning(name, parts.target.span)? {
            Meaning::Register(register, declared) if declared.bits() >= 32 => {
                let (candidates, signature) = self.indirect(parts)?;
                Ok((Callee::Indirect(Operand::Register(register), candidates), signature))
            }
            Meaning::Function(id) => {
                let Some(Global::Function(function, _)) = self.global(name) else {
                    return Err(self.report_kind(parts.target.span, "a function"));
                };
                let callee = match (id, system_call(name)) {
                    (Some(id), _) => Callee::Function(id),
                    (None, Some(system)) => Callee::System(system),
                    (None, None) => Callee::Elsewhere,
                };
                Ok((callee, Signature { returns: &function.returns, parameters: &function.parameters }))
            }
            _ => Err(self.report_kind(parts.target.span, "a function or a register")),
        }
    }

    /// Candidates and signature of a call through a register, from the list or prototype that it names.
    fn indirect(&mut self, parts: &Parts<'_, 'src>) -> Lowered<(Vec<FunctionId>, Signature<'a, 'src>)> {
        let (name, span) = match parts.list {
            Some(ast::Operand { kind: OperandKind::Name(name), span }) => (*name, *span),
            _ => return Err(self.report_kind(parts.target.span, "a call through a register with a `.callprototype`")),
        };
        if let Some(prototype) = self.labels.prototype(name) {
            return Ok((Vec::new(), Signature { returns: &prototype.returns, parameters: &prototype.parameters }));
        }
        let Some(targets) = self.labels.call_targets(name) else {
            return Err(self.report_kind(span, "a `.callprototype` or `.calltargets`"));
        };
        let mut candidates = Vec::new();
        let mut signature = None;
        for target in &targets.targets {
            let Some(Global::Function(function, id)) = self.global(target.text) else {
                return Err(self.report_kind(target.span, "a function"));
            };
            candidates.extend(id);
            signature.get_or_insert(Signature { returns: &function.returns, parameters: &function.parameters });
        }
        signature.map(|signature| (candidates, signature)).ok_or(Stop::Reported)
    }

    /// Registers of results and arguments, in the callee's order and widths.
    fn call_registers(
        &mut self,
        parts: &Parts<'_, 'src>,
        signature: Signature<'_, 'src>,
        span: Span,
    ) -> Lowered<(Vec<Option<Register>>, Vec<Operand>)> {
        self.check_number(parts.returns.len(), signature.returns.len(), "results", span)?;
        self.check_number(parts.arguments.len(), signature.parameters.len(), "arguments", span)?;
        let mut destinations = Vec::new();
        for (actual, formal) in parts.returns.iter().zip(signature.returns) {
            for operand in self.actual(actual, formal)? {
                destinations.push(operand.register());
            }
        }
        let mut sources = Vec::new();
        for (actual, formal) in parts.arguments.iter().zip(signature.parameters) {
            sources.extend(self.actual(actual, formal)?);
        }
        Ok((destinations, sources))
    }

    fn check_number(&mut self, given: usize, declared: usize, what: &str, span: Span) -> Lowered<()> {
        if given == declared {
            return Ok(());
        }
        self.report(
            Diagnostic::error("S014", span, format!("the function has {declared} {what}, the call gives {given}"))
                .with_label("in this call"),
        );
        Err(Stop::Reported)
    }

    /// The registers or the constant that an actual parameter passes.
    fn actual(&mut self, actual: &ast::Operand<'src>, formal: &ast::Parameter<'src>) -> Lowered<Vec<Operand>> {
        let Some((ty, bytes, widths)) = shape(formal) else { return Err(Stop::Unsupported) };
        match actual.kind {
            OperandKind::Sink => return Ok(vec![Operand::Register(self.scopes.fresh(widths[0]))]),
            OperandKind::Name(name) => {
                if let Meaning::Words(words) = self.meaning(name, actual.span)? {
                    return match words.registers(&widths) {
                        Some(registers) => Ok(registers.into_iter().map(Operand::Register).collect()),
                        None => Err(self.report_size(actual, words.bytes, bytes)),
                    };
                }
            }
            _ => {}
        }
        if widths.len() != 1 {
            return Err(self.report_kind(actual.span, "a `.param` variable for a parameter of several words"));
        }
        let source = self.source(actual, if ty.bits() == 8 { ScalarType::B32 } else { ty })?;
        if source.register().is_some() {
            return Ok(vec![source]);
        }
        // Arguments are registers of the callee's widths, so a constant takes one too.
        let register = self.scopes.fresh(widths[0]);
        self.move_bits(types::untyped(widths[0].bits()), register, source);
        Ok(vec![Operand::Register(register)])
    }

    fn report_size(&mut self, actual: &ast::Operand<'src>, given: u32, declared: u64) -> Stop {
        self.report(
            Diagnostic::error("S014", actual.span, format!("the parameter has {declared} bytes, {given} are given"))
                .with_label("declared too small"),
        );
        Stop::Reported
    }
}

/// Type, size and widths of the registers of a formal parameter.
pub(super) fn shape(formal: &ast::Parameter<'_>) -> Option<(ScalarType, u64, Vec<Width>)> {
    if formal.space == ast::Space::Reg {
        let ty = types::scalar(formal.ty)?;
        return Some((ty, u64::from(ty.bytes()), vec![Width::of_bits(ty.bits())]));
    }
    let layout = Layout::of_parameter(formal)?;
    Some((layout.ty, layout.bytes, layout.widths()))
}

fn split<'o, 'src>(operands: &'o [ast::Operand<'src>]) -> Option<Parts<'o, 'src>> {
    let (returns, rest) = match operands {
        [ast::Operand { kind: OperandKind::List(returns), .. }, rest @ ..] => (&returns[..], rest),
        rest => (&[][..], rest),
    };
    let (target, rest) = rest.split_first()?;
    let (arguments, rest) = match rest {
        [ast::Operand { kind: OperandKind::List(arguments), .. }, rest @ ..] => (&arguments[..], rest),
        rest => (&[][..], rest),
    };
    (rest.len() <= 1).then_some(Parts { returns, target, arguments, list: rest.first() })
}

/// Functions of the device runtime that the emulator provides.
pub(super) fn system_call(name: &str) -> Option<SystemCall> {
    Some(match name {
        "vprintf" => SystemCall::Vprintf,
        "malloc" => SystemCall::Malloc,
        "free" => SystemCall::Free,
        "__assertfail" => SystemCall::AssertFail,
        _ => return None,
    })
}
