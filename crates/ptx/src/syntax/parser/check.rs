//! What the opcode table says about an instruction.

use warplens_base::{Diagnostic, Severity, Span};

use super::Parser;
use super::operand::span_of;
use crate::opcodes::Opcode;
use crate::opcodes::forms::Form;
use crate::opcodes::shape::Misfit;
use crate::syntax::ast::{Instruction, Modifier, Modifiers, Operand};
use warplens_base::nearest;

impl<'src> Parser<'src> {
    /// Compares an instruction with the opcode table.
    pub(super) fn check(&mut self, instruction: &Instruction<'src>, operands: &[Operand<'src>]) {
        if instruction.opcode == Opcode::Unknown {
            return self.check_names(instruction);
        }
        let Some(form) = instruction.opcode.form(&instruction.modifiers) else { return };
        let strangers = instruction.modifiers.iter().any(|&modifier| !form.allowed.contains(modifier));
        if strangers {
            self.check_names(instruction);
        } else if form.needs_type
            && instruction.types().next().is_none()
            && instruction.modifiers.len() < Modifiers::CAPACITY
        {
            self.no_type(instruction, form);
        }
        if let Err(misfit) = form.shape.check(operands) {
            self.misfit(instruction, operands, misfit);
        }
        if self.version.is_some_and(|version| version < form.version) {
            self.too_new(instruction, form);
        }
    }

    /// Reports an opcode and modifiers that the language does not have.
    pub(super) fn check_names(&mut self, instruction: &Instruction<'src>) {
        let Some(form) = instruction.opcode.form(&instruction.modifiers) else {
            return self.unknown_opcode(instruction);
        };
        let mut unknown = instruction.unknown.iter().flat_map(|names| names.modifiers.iter());
        for &modifier in instruction.modifiers.iter() {
            let name = if modifier == Modifier::Unknown { unknown.next().copied() } else { Some(modifier.name()) };
            if !form.allowed.contains(modifier) {
                self.stranger(instruction, form, modifier, name.unwrap_or_default());
            }
        }
    }

    fn severity(&self) -> Severity {
        if self.is_future() { Severity::Warning } else { Severity::Error }
    }

    fn names_finding(&mut self, code: &'static str, span: Span, message: String, help: Option<String>) {
        let mut finding = Diagnostic::error(code, span, message);
        finding.severity = self.severity();
        finding.help = help;
        self.report(finding);
    }

    fn unknown_opcode(&mut self, instruction: &Instruction<'src>) {
        let text = instruction.unknown.as_ref().and_then(|names| names.opcode).unwrap_or_default();
        let start = instruction.opcode_span.start;
        let span = Span::new(start, start + text.len() as u32);
        let help = nearest(text, Opcode::ALL.iter().map(|opcode| opcode.name()))
            .map(|name| format!("did you mean `{name}`?"))
            .unwrap_or_else(|| "it is kept as it stands, but cannot be executed".to_owned());
        let message = format!("unknown instruction `{}`", super::shortened(text));
        self.names_finding("P070", span, message, Some(help));
    }

    /// A modifier that the form does not have.
    fn stranger(&mut self, instruction: &Instruction<'src>, form: &Form, modifier: Modifier, name: &str) {
        let span = self.modifier_span(instruction, name);
        let opcode = instruction.opcode.name();
        let known = modifier != Modifier::Unknown;
        let (code, message) = match (known, modifier.as_type().is_some()) {
            (false, _) => ("P071", format!("unknown modifier `.{}` on `{opcode}`", super::shortened(name))),
            (true, true) => ("P072", format!("`{opcode}` does not work on type `.{name}`")),
            (true, false) => ("P073", format!("`{opcode}` does not take `.{name}`")),
        };
        let same_sort =
            form.allowed.iter().filter(|other| !known || other.as_type().is_some() == modifier.as_type().is_some());
        let help = match nearest(name, same_sort.map(Modifier::name)).filter(|near| *near != name) {
            Some(near) => format!("did you mean `.{near}`?"),
            None => allowed_text(form, known.then_some(modifier.as_type().is_some())),
        };
        self.names_finding(code, span, message, Some(help));
    }

    /// Where a modifier stands; the whole opcode when it cannot be found.
    fn modifier_span(&self, instruction: &Instruction<'src>, name: &str) -> Span {
        let whole = instruction.opcode_span;
        let text = self.source.get(whole.range()).unwrap_or_default();
        let dotted = |(at, _): &(usize, &str)| {
            let rest = &text.as_bytes()[at + name.len()..];
            *at > 0
                && text.as_bytes()[at - 1] == b'.'
                && rest.first().is_none_or(|byte| !byte.is_ascii_alphanumeric() && !b"_:".contains(byte))
        };
        match text.match_indices(name).find(dotted) {
            Some((at, _)) => {
                let start = whole.start + at as u32 - 1;
                Span::new(start, start + name.len() as u32 + 1)
            }
            None => whole,
        }
    }

    fn no_type(&mut self, instruction: &Instruction<'src>, form: &Form) {
        let message = format!("`{}` needs a type", instruction.opcode.name());
        let help = allowed_text(form, Some(true));
        self.report(Diagnostic::error("P074", instruction.opcode_span, message).with_help(help));
    }

    fn misfit(&mut self, instruction: &Instruction<'src>, operands: &[Operand<'src>], misfit: Misfit) {
        let name = instruction.opcode.name();
        match misfit {
            Misfit::Count(least, most) => {
                let wanted = match (least, most) {
                    (0, 0) => "no operands".to_owned(),
                    (1, 1) => "1 operand".to_owned(),
                    _ if least == most => format!("{most} operands"),
                    _ => format!("{least} to {most} operands"),
                };
                let span = span_of(operands, instruction.opcode_span);
                self.report(Diagnostic::error(
                    "P075",
                    span,
                    format!("`{name}` takes {wanted}, not {}", operands.len()),
                ));
            }
            Misfit::Kind(index, wanted) => {
                let span = operands[index].span;
                let message = format!("operand {} of `{name}` must be {wanted}", index + 1);
                let mut finding = Diagnostic::error("P076", span, message).with_label(format!("must be {wanted}"));
                if wanted.contains("brackets") {
                    let text = self.source.get(span.range()).unwrap_or_default();
                    finding = finding.with_help(format!("write `[{}]`", super::shortened(text)));
                }
                self.report(finding);
            }
        }
    }

    fn too_new(&mut self, instruction: &Instruction<'src>, form: &Form) {
        let (major, minor) = form.version;
        let (have_major, have_minor) = self.version.unwrap_or_default();
        let name = instruction.opcode.name();
        let message =
            format!("this form of `{name}` came with PTX {major}.{minor}; the module says {have_major}.{have_minor}");
        let help = format!("write `.version {major}.{minor}` or newer");
        self.report(Diagnostic::warning("P077", instruction.opcode_span, message).with_help(help));
    }
}

/// The modifiers or types of a form for a help text: all, only types or only others.
fn allowed_text(form: &Form, only_types: Option<bool>) -> String {
    const SHOWN: usize = 24;
    let names: Vec<String> = form
        .allowed
        .iter()
        .filter(|modifier| only_types.is_none_or(|types| modifier.as_type().is_some() == types))
        .map(|modifier| format!(".{}", modifier.name()))
        .collect();
    let sort = if only_types == Some(true) { "types" } else { "names" };
    match names.len() {
        0 => format!("it takes no {sort}"),
        1..=SHOWN => format!("it takes the {sort} {}", names.join(" ")),
        _ => format!("it takes the {sort} {} and others", names[..SHOWN].join(" ")),
    }
}
