//! Parameters: the layout of a kernel's parameter space, and the registers in which device functions take theirs.

use warplens_base::{Diagnostic, Span};
use warplens_ir as ir;
use warplens_ir::{Operand, Register, Width};
use warplens_isa::{Conversion, Operation, ScalarType};

use super::body::Body;
use super::limit::{self, Declared, VARIABLE_BYTES};
use super::module::Dialect;
use super::operand::Destination;
use super::{Lowered, Stop, types};
use crate::syntax::ast;

/// A parameter that lives in consecutive registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Words {
    /// First word of the vector bank.
    pub(super) first: u32,
    /// Size in bytes.
    pub(super) bytes: u32,
    /// One register of this width; none for arrays, which are passed word by word.
    pub(super) scalar: Option<Width>,
}

/// Size and shape of a variable or parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Layout {
    /// Type of an element.
    pub(super) ty: ScalarType,
    /// Size in bytes.
    pub(super) bytes: u64,
    /// Alignment in bytes.
    pub(super) align: u64,
    /// Declared with dimensions or as a vector.
    pub(super) is_array: bool,
}

impl Layout {
    /// Layout of a declaration; an open dimension counts as `open` elements. `None` for types that have no place in
    /// memory, and for sizes beyond 64 bits.
    pub(super) fn new(
        ty: ast::Type,
        vector: u8,
        dimensions: &[Option<u64>],
        align: Option<u32>,
        open: u64,
    ) -> Option<Self> {
        let ty = types::storage(ty).filter(|&ty| ty != ScalarType::Pred)?;
        let element = u64::from(ty.bytes()) * u64::from(vector);
        let bytes =
            dimensions.iter().try_fold(element, |size, dimension| size.checked_mul(dimension.unwrap_or(open)))?;
        if bytes > VARIABLE_BYTES {
            return None;
        }
        let align = align.map_or(element.next_power_of_two(), u64::from).max(1);
        Some(Self { ty, bytes, align, is_array: !dimensions.is_empty() || vector > 1 })
    }

    /// Layout of a parameter.
    pub(super) fn of_parameter(parameter: &ast::Parameter<'_>) -> Option<Self> {
        Self::new(parameter.ty, parameter.vector, &parameter.dimensions, parameter.align, 0)
    }

    /// Widths of the registers in which the parameter is passed, in order.
    pub(super) fn widths(&self) -> Vec<Width> {
        if self.is_array {
            return vec![Width::Word; self.bytes.div_ceil(4) as usize];
        }
        vec![Width::of_bits(self.ty.bits())]
    }

    /// The parameter in registers from word `first` on.
    pub(super) fn words(&self, first: u32) -> Words {
        let scalar = (!self.is_array).then(|| Width::of_bits(self.ty.bits()));
        Words { first, bytes: self.bytes as u32, scalar }
    }
}

/// Largest parameter that is passed in registers: far above what the language allows (32 764 bytes).
pub(super) const MAX_BYTES: u64 = 1 << 16;

impl Words {
    /// The registers of the whole parameter, of the widths that the callee declares.
    pub(super) fn registers(&self, widths: &[Width]) -> Option<Vec<Register>> {
        let mut at = 0;
        let mut registers = Vec::with_capacity(widths.len());
        for &width in widths {
            registers.push(Register::vector(self.first + at, width));
            at += width.words();
        }
        (at <= self.bytes.div_ceil(4)).then_some(registers)
    }
}

/// Lays out the parameters of a kernel: each at its natural alignment. What ends beyond the parameter space is reported.
pub(super) fn kernel_parameters(
    parameters: &[ast::Parameter<'_>],
    dialect: Dialect,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<ir::Parameter> {
    let mut end = 0u64;
    let mut laid_out = Vec::with_capacity(parameters.len());
    for parameter in parameters {
        let Some(layout) = Layout::of_parameter(parameter).filter(|layout| layout.bytes <= MAX_BYTES) else {
            diagnostics.push(no_layout(parameter.name.span, parameter.name.text));
            continue;
        };
        let offset = end.next_multiple_of(layout.align);
        let declared = Declared { name: parameter.name, bytes: layout.bytes };
        diagnostics.extend(limit::of_parameters(declared, end, offset + layout.bytes, dialect));
        end = offset + layout.bytes;
        laid_out.push(ir::Parameter {
            name: parameter.name.text.to_owned(),
            ty: layout.ty,
            offset: offset as u32,
            bytes: layout.bytes as u32,
            align: layout.align as u32,
            is_array: layout.is_array,
        });
    }
    laid_out
}

/// The diagnostic for a declaration whose type has no size.
pub(super) fn no_layout(span: Span, name: &str) -> Diagnostic {
    Diagnostic::error("S011", span, format!("`{name}` has a type or size that cannot be stored"))
        .with_label("declared here")
}

/// Loads and stores of parameters that live in registers.
impl<'src> Body<'_, '_, 'src> {
    /// Copies the bytes from `offset` on into registers: `ld.param` of a register parameter.
    pub(super) fn load_words(
        &mut self,
        words: Words,
        offset: i64,
        ty: ScalarType,
        destinations: &[Option<Destination>],
        span: Span,
    ) -> Lowered<()> {
        for (position, destination) in destinations.iter().enumerate() {
            let offset = self.check_words(words, offset, position, ty, span)?;
            if let Some(destination) = destination {
                self.load_piece(words, offset, ty, *destination);
            }
        }
        Ok(())
    }

    /// Byte offset of an element, inside of the parameter and not across words.
    fn check_words(&mut self, words: Words, offset: i64, position: usize, ty: ScalarType, span: Span) -> Lowered<u32> {
        let bytes = ty.bytes();
        let offset = offset.saturating_add(position as i64 * i64::from(bytes));
        let end = offset.saturating_add(i64::from(bytes));
        let inside = offset >= 0 && end <= i64::from(words.bytes.next_multiple_of(4));
        let aligned = offset % i64::from(bytes.min(4)) == 0;
        if inside && aligned {
            return Ok(offset as u32);
        }
        let message = if inside {
            format!("byte {offset} of a parameter is not aligned to {bytes} bytes")
        } else {
            format!("bytes {offset} to {end} lie outside of the parameter")
        };
        self.report(
            Diagnostic::error("S012", span, message)
                .with_label(format!("the parameter has {} bytes", words.bytes))
                .with_help("accesses to parameters of device functions need constant, aligned offsets"),
        );
        Err(Stop::Reported)
    }

    fn load_piece(&mut self, words: Words, offset: u32, ty: ScalarType, destination: Destination) {
        let index = words.first + offset / 4;
        let (register, declared_bits) = (destination.register, destination.declared.bits());
        if ty.bits() > 32 {
            return self.copy_wide(index, ty.bits(), register);
        }
        let word = Operand::Register(Register::vector(index, Width::Word));
        let (position, length) =
            (Operand::Immediate(u64::from(offset % 4 * 8)), Operand::Immediate(u64::from(ty.bits())));
        if ty.bits() == 32 {
            if declared_bits > 32 {
                let wide = types::integer(64, ty.is_signed());
                return self.convert(register, word, wide, types::integer(32, ty.is_signed()));
            }
            return self.move_bits(ScalarType::B32, register, word);
        }
        // A part of a word: cut it out, then extend it to what the destination holds.
        let narrow = types::integer(ty.bits(), ty.is_signed());
        let piece = if declared_bits > 32 { self.scopes.fresh(Width::Word) } else { register };
        if ty.is_signed() && declared_bits == 32 {
            return self.emit(Operation::Bfe, ScalarType::S32, vec![piece], vec![word, position, length]);
        }
        self.emit(Operation::Bfe, ScalarType::U32, vec![piece], vec![word, position, length]);
        if ty.is_signed() || declared_bits > 32 {
            let wide = types::integer(declared_bits, ty.is_signed());
            self.convert(register, Operand::Register(piece), wide, narrow);
        }
    }

    /// Copies 64 or 128 bits that need not be aligned in the bank.
    fn copy_wide(&mut self, index: u32, bits: u32, register: Register) {
        let ty = types::untyped(bits);
        if index.is_multiple_of(bits / 32) {
            return self.move_bits(ty, register, Operand::Register(Register::vector(index, Width::of_bits(bits))));
        }
        let parts = (index..index + bits / 32).map(|word| Operand::Register(Register::vector(word, Width::Word)));
        self.emit(Operation::Pack, ty, vec![register], parts.collect());
    }

    /// Copies values into a parameter from `offset` on: `st.param` of a register parameter.
    pub(super) fn store_words(
        &mut self,
        words: Words,
        offset: i64,
        ty: ScalarType,
        sources: &[Operand],
        span: Span,
    ) -> Lowered<()> {
        for (position, source) in sources.iter().enumerate() {
            let offset = self.check_words(words, offset, position, ty, span)?;
            self.store_piece(words, offset, ty, *source);
        }
        Ok(())
    }

    fn store_piece(&mut self, words: Words, offset: u32, ty: ScalarType, source: Operand) {
        let index = words.first + offset / 4;
        let word = Register::vector(index, Width::Word);
        let bits = ty.bits();
        if bits > 32 {
            if index.is_multiple_of(bits / 32) {
                let register = Register::vector(index, Width::of_bits(bits));
                return self.move_bits(types::untyped(bits), register, source);
            }
            let parts = (index..index + bits / 32).map(|word| Register::vector(word, Width::Word)).collect();
            return self.emit(Operation::Unpack, types::untyped(bits), parts, vec![source]);
        }
        // The relaxed rules let a wider register stand here: its first word holds the value.
        let source = low_word(source);
        if bits == 32 || offset == 0 && words.scalar == Some(Width::Word) {
            return self.move_bits(types::untyped(bits), word, source);
        }
        let (position, length) = (Operand::Immediate(u64::from(offset % 4 * 8)), Operand::Immediate(u64::from(bits)));
        self.emit(Operation::Bfi, ScalarType::B32, vec![word], vec![source, Operand::Register(word), position, length]);
    }

    /// Copies a value without looking at it.
    pub(super) fn move_bits(&mut self, ty: ScalarType, register: Register, source: Operand) {
        self.emit(Operation::Mov, ty, vec![register], vec![source]);
    }

    /// Converts between integers.
    pub(super) fn convert(&mut self, register: Register, source: Operand, to: ScalarType, from: ScalarType) {
        let mut inst = self.inst(Operation::Cvt(Conversion::default()), to);
        inst.source_ty = from;
        inst.destinations.push(Some(register));
        inst.sources.push(source);
        self.push(inst);
    }
}

/// The first word of a wide register.
pub(super) fn low_word(source: Operand) -> Operand {
    match source {
        Operand::Register(register) if register.width > Width::Word => {
            Operand::Register(Register { width: Width::Word, ..register })
        }
        other => other,
    }
}
