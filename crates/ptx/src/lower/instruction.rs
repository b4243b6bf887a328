//! From opcodes to operations: which family lowers which, floating-point and integer arithmetic.

use warplens_base::Diagnostic;
use warplens_ir::{Inst, Operand};
use warplens_isa::{Carry, HighMultiplyAdd, OpClass, Operation, Precision, Rounding, ScalarType};

use super::body::Body;
use super::types::Written;
use super::{Lowered, Stop, types};
use crate::opcodes::Opcode;
use crate::syntax::ast::{self, Modifier, OperandKind, Type};

/// An instruction with its operands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Site<'a, 'src> {
    pub(super) instruction: &'a ast::Instruction<'src>,
    pub(super) operands: &'a [ast::Operand<'src>],
}

impl<'src> Site<'_, 'src> {
    /// True when the instruction carries the modifier.
    pub(super) fn has(&self, modifier: Modifier) -> bool {
        self.instruction.has(modifier)
    }

    /// The n-th type that is written.
    pub(super) fn written_type(&self, position: usize) -> Option<Type> {
        self.instruction.types().nth(position)
    }
}

impl<'a, 'src> Body<'_, 'a, 'src> {
    /// Lowers an instruction. What the emulator lacks becomes an operation that stops it.
    pub(super) fn lower_instruction(&mut self, site: &Site<'a, 'src>) {
        let mark = self.mark();
        if self.dispatch(site) == Err(Stop::Unsupported) {
            self.truncate(mark);
            self.lower_unsupported(site);
        }
    }

    fn dispatch(&mut self, site: &Site<'a, 'src>) -> Lowered<()> {
        use Opcode as O;
        self.check_types(site)?;
        match site.instruction.opcode {
            O::Add | O::Addc => self.lower_sum(site, |written, carry| Operation::Add(written.sum(carry))),
            O::Sub | O::Subc => self.lower_sum(site, |written, carry| Operation::Sub(written.sum(carry))),
            O::Mul => self.lower_product(site),
            O::Mad | O::Madc => self.lower_multiply_add(site),
            O::Fma => self.lower_fma(site),
            O::Mul24 if site.has(Modifier::Hi) => self.lower_values(site, |_| Operation::Mul24Hi, 2),
            O::Mul24 => self.lower_values(site, |_| Operation::Mul24, 2),
            O::Mad24 if site.has(Modifier::Hi) => self.lower_values(site, |it| Operation::Mad24Hi(it.saturation()), 3),
            O::Mad24 => self.lower_values(site, |_| Operation::Mad24, 3),
            O::Div => self.lower_function(site, |it| Operation::Div(it.accuracy()), 2),
            O::Rcp => self.lower_function(site, |it| Operation::Rcp(it.accuracy()), 1),
            O::Sqrt => self.lower_function(site, |it| Operation::Sqrt(it.accuracy()), 1),
            O::Rsqrt => self.lower_function(site, |it| Operation::Rsqrt(it.approximation()), 1),
            O::Sin => self.lower_function(site, |it| Operation::Sin(it.approximation()), 1),
            O::Cos => self.lower_function(site, |it| Operation::Cos(it.approximation()), 1),
            O::Ex2 => self.lower_function(site, |it| Operation::Ex2(it.approximation()), 1),
            O::Lg2 => self.lower_function(site, |it| Operation::Lg2(it.approximation()), 1),
            O::Tanh => self.lower_function(site, |it| Operation::Tanh(it.approximation()), 1),
            O::Rem => self.lower_values(site, |_| Operation::Rem, 2),
            O::Sad => self.lower_values(site, |_| Operation::Sad, 3),
            O::Abs => self.lower_values(site, |it| Operation::Abs(it.subnormals()), 1),
            O::Neg => self.lower_values(site, |it| Operation::Neg(it.subnormals()), 1),
            O::Min => self.lower_extremum(site, |it| Operation::Min(it.extremum())),
            O::Max => self.lower_extremum(site, |it| Operation::Max(it.extremum())),
            O::Copysign => self.lower_values(site, |_| Operation::Copysign, 2),
            O::And => self.lower_values(site, |_| Operation::And, 2),
            O::Or => self.lower_values(site, |_| Operation::Or, 2),
            O::Xor => self.lower_values(site, |_| Operation::Xor, 2),
            O::Not => self.lower_values(site, |_| Operation::Not, 1),
            O::Cnot => self.lower_values(site, |_| Operation::Cnot, 1),
            O::Bra | O::Brx | O::Ret | O::Exit | O::Trap => self.lower_control(site),
            O::Call => self.lower_call(site),
            O::Ld | O::Ldu | O::St | O::Atom | O::Red | O::Prefetch | O::Prefetchu => self.lower_memory(site),
            O::Mov | O::Cvta | O::Isspacep | O::Alloca | O::Stacksave | O::Stackrestore | O::Createpolicy => {
                self.lower_move(site)
            }
            O::Cvt => self.lower_cvt(site),
            O::Set | O::Setp | O::Selp | O::Slct | O::Testp => self.lower_comparison(site),
            O::Shl
            | O::Shr
            | O::Shf
            | O::Popc
            | O::Clz
            | O::Bfind
            | O::Brev
            | O::Bfe
            | O::Bfi
            | O::Fns
            | O::Bmsk
            | O::Szext
            | O::Prmt
            | O::Lop3
            | O::Dp4a
            | O::Dp2a => self.lower_integer(site),
            O::Shfl
            | O::Vote
            | O::Match
            | O::Activemask
            | O::Redux
            | O::Elect
            | O::Bar
            | O::Barrier
            | O::Membar
            | O::Fence => self.lower_warp(site),
            O::Vadd
            | O::Vsub
            | O::Vabsdiff
            | O::Vmin
            | O::Vmax
            | O::Vshl
            | O::Vshr
            | O::Vmad
            | O::Vset
            | O::Vadd2
            | O::Vsub2
            | O::Vavrg2
            | O::Vabsdiff2
            | O::Vmin2
            | O::Vmax2
            | O::Vset2
            | O::Vadd4
            | O::Vsub4
            | O::Vavrg4
            | O::Vabsdiff4
            | O::Vmin4
            | O::Vmax4
            | O::Vset4 => self.lower_video(site),
            O::Nanosleep
            | O::Pmevent
            | O::Brkpt
            | O::Discard
            | O::Applypriority
            | O::Griddepcontrol
            | O::Setmaxnreg => {
                let inst = self.inst(Operation::Nop, ScalarType::B32);
                self.push_main(inst);
                Ok(())
            }
            _ => Err(Stop::Unsupported),
        }
    }

    /// Reports types beyond those that the instruction takes.
    fn check_types(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        let Some(most) = most_types(site.instruction.opcode) else { return Ok(()) };
        if site.instruction.types().count() <= most {
            return Ok(());
        }
        let plural = if most == 1 { "one type" } else { "two types" };
        self.report(
            Diagnostic::error("S010", site.instruction.opcode_span, format!("the instruction takes {plural} at most"))
                .with_label("too many types"),
        );
        Err(Stop::Reported)
    }

    /// Checks the number of operands.
    pub(super) fn count(&mut self, site: &Site<'_, 'src>, least: usize, most: usize) -> Lowered<()> {
        let given = site.operands.len();
        if (least..=most).contains(&given) {
            return Ok(());
        }
        let expected = if least == most { least.to_string() } else { format!("{least} to {most}") };
        self.report(
            Diagnostic::error(
                "S003",
                site.instruction.span,
                format!("{expected} operands are needed, {given} are given"),
            )
            .with_label("in this instruction"),
        );
        Err(Stop::Reported)
    }

    /// The n-th type of the instruction.
    pub(super) fn ty(&mut self, site: &Site<'_, 'src>, position: usize) -> Lowered<ScalarType> {
        match site.written_type(position) {
            Some(ty) => types::scalar(ty).ok_or(Stop::Unsupported),
            None => {
                let span = site.instruction.opcode_span;
                self.report(
                    Diagnostic::error("S010", span, "the instruction does not say which type it works on")
                        .with_label("a type such as `.u32` is missing"),
                );
                Err(Stop::Reported)
            }
        }
    }

    /// What the modifiers say, with what an old target implies.
    pub(super) fn written(&self, site: &Site<'_, 'src>, ty: ScalarType) -> Lowered<Written> {
        if site.has(Modifier::Rs) {
            return Err(Stop::Unsupported);
        }
        let mut written = Written::of(site.instruction);
        written.ftz |= ty == ScalarType::F32 && self.module.dialect.always_flushes();
        Ok(written)
    }

    /// An operation with one destination and `n` sources, all of one type.
    fn lower_values(
        &mut self,
        site: &Site<'_, 'src>,
        operation: impl FnOnce(Written) -> Operation,
        n: usize,
    ) -> Lowered<()> {
        let ty = self.ty(site, 0)?;
        let operation = operation(self.written(site, ty)?);
        let inst = self.values(site, operation, ty, n)?;
        self.push_main(inst);
        Ok(())
    }

    /// The operands of an operation with one destination and `n` sources, all of one type.
    pub(super) fn values(
        &mut self,
        site: &Site<'_, 'src>,
        operation: Operation,
        ty: ScalarType,
        n: usize,
    ) -> Lowered<Inst> {
        self.count(site, n + 1, n + 1)?;
        let destination = self.destination(&site.operands[0], ty)?;
        let mut sources = Vec::with_capacity(n);
        for operand in &site.operands[1..] {
            sources.push(self.source(operand, ty)?);
        }
        Ok(Inst { destinations: vec![destination], sources, ..self.inst(operation, ty) })
    }

    /// Minimum and maximum, of two values or three.
    fn lower_extremum(&mut self, site: &Site<'_, 'src>, operation: impl FnOnce(Written) -> Operation) -> Lowered<()> {
        self.lower_values(site, operation, if site.operands.len() == 4 { 3 } else { 2 })
    }

    /// What an extended-precision instruction does with the carry flag.
    fn carry_use(&self, site: &Site<'_, 'src>) -> Carry {
        let reads = matches!(site.instruction.opcode, Opcode::Addc | Opcode::Subc | Opcode::Madc);
        Carry { reads, writes: site.has(Modifier::Cc) }
    }

    /// The operands of the carry flag that the operation asks for.
    fn add_carry(&mut self, inst: &mut Inst) {
        let carry = inst.operation.carry();
        if carry.reads {
            inst.sources.push(Operand::Register(self.carry()));
        }
        if carry.writes {
            inst.destinations.push(Some(self.carry()));
        }
    }

    fn lower_sum(&mut self, site: &Site<'_, 'src>, operation: impl FnOnce(Written, Carry) -> Operation) -> Lowered<()> {
        let ty = self.ty(site, 0)?;
        let operation = operation(self.written(site, ty)?, self.carry_use(site));
        let narrow = if site.written_type(1).is_some() { self.ty(site, 1)? } else { ty };
        let mut inst = self.mixed_values(site, operation, ty, narrow, 2)?;
        self.add_carry(&mut inst);
        self.push_main(inst);
        Ok(())
    }

    /// An operation whose sources but the last are of a narrower type.
    fn mixed_values(
        &mut self,
        site: &Site<'_, 'src>,
        operation: Operation,
        ty: ScalarType,
        narrow: ScalarType,
        n: usize,
    ) -> Lowered<Inst> {
        self.count(site, n + 1, n + 1)?;
        let mut inst = self.inst(operation, ty);
        inst.source_ty = narrow;
        inst.destinations.push(self.destination(&site.operands[0], ty)?);
        for (position, operand) in site.operands[1..].iter().enumerate() {
            let ty = if position + 1 == n { ty } else { narrow };
            inst.sources.push(self.source(operand, ty)?);
        }
        Ok(inst)
    }

    fn lower_product(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        let ty = self.ty(site, 0)?;
        let written = self.written(site, ty)?;
        let operation = match () {
            () if site.has(Modifier::Wide) => Operation::MulWide,
            () if site.has(Modifier::Hi) => Operation::MulHi,
            () => Operation::Mul(written.product()),
        };
        let inst = self.wide_values(site, operation, ty, 2)?;
        self.push_main(inst);
        Ok(())
    }

    /// Like [`Self::values`]; of a wide operation the result and the third source are twice as wide.
    fn wide_values(&mut self, site: &Site<'_, 'src>, operation: Operation, ty: ScalarType, n: usize) -> Lowered<Inst> {
        if !matches!(operation, Operation::MulWide | Operation::MadWide) {
            return self.values(site, operation, ty, n);
        }
        self.count(site, n + 1, n + 1)?;
        let wide = types::integer(2 * ty.bits(), ty.is_signed());
        let mut inst = self.inst(operation, ty);
        inst.destinations.push(self.destination(&site.operands[0], wide)?);
        for (position, operand) in site.operands[1..].iter().enumerate() {
            inst.sources.push(self.source(operand, if position == 2 { wide } else { ty })?);
        }
        Ok(inst)
    }

    fn lower_multiply_add(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        let ty = self.ty(site, 0)?;
        if ty.is_float() {
            return self.lower_float_mad(site, ty);
        }
        let (written, carry) = (self.written(site, ty)?, self.carry_use(site));
        let operation = match () {
            () if site.has(Modifier::Wide) => Operation::MadWide,
            () if site.has(Modifier::Hi) => {
                Operation::MadHi(HighMultiplyAdd { saturation: written.saturation(), carry })
            }
            () => Operation::Mad(carry),
        };
        let mut inst = self.wide_values(site, operation, ty, 3)?;
        self.add_carry(&mut inst);
        self.push_main(inst);
        Ok(())
    }

    /// `mad` of floats is a fused multiply-add, but for single precision before `sm_20`: that truncates the product.
    fn lower_float_mad(&mut self, site: &Site<'_, 'src>, ty: ScalarType) -> Lowered<()> {
        let written = self.written(site, ty)?;
        let inst = self.values(site, Operation::Fma(written.fused()), ty, 3)?;
        if ty != ScalarType::F32 || self.module.dialect.target >= 20 {
            self.push_main(inst);
            return Ok(());
        }
        let product = self.scopes.fresh(warplens_ir::Width::Word);
        let truncated = Written { rounding: Rounding::Zero, sat: false, ..written };
        let mut multiply = self.inst(Operation::Mul(truncated.product()), ty);
        multiply.destinations.push(Some(product));
        multiply.sources = inst.sources[..2].to_vec();
        self.push(multiply);
        let mut add = self.inst(Operation::Add(written.sum(Carry::NONE)), ty);
        add.destinations = inst.destinations;
        add.sources = vec![Operand::Register(product), inst.sources[2]];
        self.push_main(add);
        Ok(())
    }

    fn lower_fma(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        let ty = self.ty(site, 0)?;
        let written = self.written(site, ty)?;
        let narrow = if site.written_type(1).is_some() { self.ty(site, 1)? } else { ty };
        let inst = self.mixed_values(site, Operation::Fma(written.fused()), ty, narrow, 3)?;
        self.push_main(inst);
        Ok(())
    }

    /// Division, roots and the approximate functions. Old modules leave the accuracy out.
    fn lower_function(
        &mut self,
        site: &Site<'_, 'src>,
        operation: impl Fn(Written) -> Operation,
        n: usize,
    ) -> Lowered<()> {
        let ty = self.ty(site, 0)?;
        let mut written = self.written(site, ty)?;
        let says = site.instruction.rounding().is_some() || written.precision != Precision::Ieee;
        let only_approximate =
            !matches!(operation(written), Operation::Div(_) | Operation::Rcp(_) | Operation::Sqrt(_));
        if !ty.is_integer() && !says && (only_approximate || ty == ScalarType::F32) {
            written.precision = Precision::Approx;
            written.ftz |= ty == ScalarType::F32 && self.module.dialect.version < 14;
        }
        let inst = self.values(site, operation(written), ty, n)?;
        self.push_main(inst);
        Ok(())
    }

    /// An instruction that the emulator lacks: it keeps its registers, so that analyses see them.
    fn lower_unsupported(&mut self, site: &Site<'_, 'src>) {
        let mut inst = self.inst(Operation::Unsupported, ScalarType::B32);
        let writes = !matches!(site.operands.first().map(|operand| &operand.kind), Some(OperandKind::Address(_)));
        for (position, operand) in site.operands.iter().enumerate() {
            for register in self.mentioned(operand) {
                if position == 0 && writes {
                    inst.destinations.push(Some(register));
                } else {
                    inst.sources.push(Operand::Register(register));
                }
            }
        }
        self.push(inst);
        self.classify(unsupported_class(site.instruction.opcode));
    }

    /// Registers that an operand mentions, however it is built.
    fn mentioned(&mut self, operand: &ast::Operand<'src>) -> Vec<warplens_ir::Register> {
        let (name, parts): (Option<&str>, &[ast::Operand<'src>]) = match &operand.kind {
            OperandKind::Name(name) | OperandKind::Selected(name, _) => (Some(name), &[]),
            OperandKind::Not(name) | OperandKind::Negated(name, _) => (Some(name), &[]),
            OperandKind::Address(address) => (address.base, &[]),
            OperandKind::AddressList(parts) | OperandKind::Vector(parts) | OperandKind::List(parts) => (None, parts),
            OperandKind::Pair(pair) => (None, &pair[..]),
            _ => (None, &[]),
        };
        let mut registers: Vec<_> = name.and_then(|name| self.register_named(name)).into_iter().collect();
        for part in parts {
            registers.extend(self.mentioned(part));
        }
        registers
    }
}

/// Number of types that an instruction may name, for those whose lowering would overlook more.
fn most_types(opcode: Opcode) -> Option<usize> {
    use Opcode as O;
    Some(match opcode {
        O::Ld
        | O::Ldu
        | O::St
        | O::Atom
        | O::Red
        | O::Mov
        | O::Cvta
        | O::Mul
        | O::Mad
        | O::Madc
        | O::Mul24
        | O::Mad24 => 1,
        O::Addc | O::Subc | O::Div | O::Rem | O::Sad | O::Abs | O::Neg | O::Min | O::Max | O::Copysign | O::Setp => 1,
        O::Rcp | O::Sqrt | O::Rsqrt | O::Sin | O::Cos | O::Ex2 | O::Lg2 | O::Tanh | O::Selp | O::Testp => 1,
        O::And | O::Or | O::Xor | O::Not | O::Cnot | O::Shl | O::Shr | O::Shf | O::Popc | O::Clz | O::Bfind => 1,
        O::Brev | O::Bfe | O::Bfi | O::Fns | O::Bmsk | O::Szext | O::Prmt | O::Lop3 | O::Shfl | O::Match | O::Redux => {
            1
        }
        O::Add | O::Sub | O::Fma | O::Set | O::Slct | O::Dp4a | O::Dp2a => 2,
        _ => return None,
    })
}

/// Class under which an instruction counts that the emulator lacks.
fn unsupported_class(opcode: Opcode) -> OpClass {
    use Opcode as O;
    match opcode {
        O::Mma | O::Wmma | O::Wgmma | O::Tcgen05 => OpClass::Tensor,
        O::Cp | O::Ldmatrix | O::Stmatrix | O::Suld | O::Sust | O::Tex | O::Tld4 | O::Multimem => OpClass::Memory,
        O::Sured => OpClass::Atomic,
        O::Mbarrier | O::Barrier | O::Fence => OpClass::Barrier,
        O::Movmatrix => OpClass::Warp,
        O::Call => OpClass::Control,
        _ => OpClass::Other,
    }
}
