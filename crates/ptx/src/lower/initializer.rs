//! Initial values of variables: numbers, nested lists, addresses of variables and functions.

use warplens_ir::{FunctionId, Initializer, VariableId};
use warplens_isa::ScalarType;

use super::limit::INITIAL_BYTES;
use super::operand::immediate_bits;
use crate::syntax::ast;

/// What a name in an initial value stands for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Target {
    /// A variable.
    Variable(VariableId),
    /// A function; one without a body has the address 0.
    Function(Option<FunctionId>),
}

/// Number of elements of the outermost list.
pub(super) fn outer_length(value: &ast::Initializer<'_>) -> u64 {
    match value {
        ast::Initializer::List(items) => items.len() as u64,
        _ => 1,
    }
}

/// The content that an initial value describes, or what is wrong with it. `left` is how many bytes values may still
/// describe: a few braces can reach any place of a variable.
pub(super) fn evaluate(
    ty: ScalarType,
    vector: u8,
    declarator: &ast::Declarator<'_>,
    value: &ast::Initializer<'_>,
    left: &mut u64,
    find: impl Fn(&str) -> Option<Target>,
) -> Result<Initializer, String> {
    let mut dimensions: Vec<u64> =
        declarator.dimensions.iter().map(|dimension| dimension.unwrap_or_else(|| outer_length(value))).collect();
    if vector > 1 {
        dimensions.push(u64::from(vector));
    }
    let mut writer = Writer { ty, content: Initializer::default(), end: 0, left, find };
    writer.write(value, 0, &dimensions)?;
    Ok(writer.content)
}

struct Writer<'l, F> {
    ty: ScalarType,
    content: Initializer,
    /// Where the content ends.
    end: u64,
    left: &'l mut u64,
    find: F,
}

impl<F: Fn(&str) -> Option<Target>> Writer<'_, F> {
    /// Writes a value of the given dimensions at byte `at`. A list may also hold the elements without inner braces.
    fn write(&mut self, value: &ast::Initializer<'_>, at: u64, dimensions: &[u64]) -> Result<(), String> {
        let bytes = u64::from(self.ty.bytes());
        match value {
            ast::Initializer::List(items) => {
                let inner = dimensions.get(1..).unwrap_or_default();
                let size =
                    |dimensions: &[u64]| dimensions.iter().fold(bytes, |size, &length| size.saturating_mul(length));
                let (nested, total) = (size(inner), size(dimensions));
                let mut end = at;
                for item in items {
                    if end >= at.saturating_add(total) {
                        return Err(format!("more than the {} elements that the variable has", total / bytes));
                    }
                    let step = if matches!(item, ast::Initializer::List(_)) { nested } else { bytes };
                    self.write(item, end, inner)?;
                    end = end.saturating_add(step);
                }
                Ok(())
            }
            ast::Initializer::Value(number) => {
                let bits = immediate_bits(*number, self.ty)
                    .ok_or_else(|| format!("a value that does not fit the type .{}", self.ty))?;
                self.reach(at.saturating_add(bytes))?;
                self.put(at, bits);
                Ok(())
            }
            ast::Initializer::Symbol(symbol) => {
                self.reach(at.saturating_add(bytes))?;
                self.write_symbol(symbol, at)
            }
            // Samplers and textures are handles; their fields have no place in memory.
            ast::Initializer::Fields(_) => Ok(()),
        }
    }

    /// Counts the bytes up to `end`.
    fn reach(&mut self, end: u64) -> Result<(), String> {
        let more = end.saturating_sub(self.end);
        *self.left = self.left.checked_sub(more).ok_or_else(|| {
            format!(
                "a value that ends at byte {end}: initial values of a module describe at most {INITIAL_BYTES} bytes"
            )
        })?;
        self.end += more;
        Ok(())
    }

    fn put(&mut self, at: u64, bits: u64) {
        let (at, width) = (at as usize, self.ty.bytes() as usize);
        let mut value = [0; 16];
        value[..8].copy_from_slice(&bits.to_le_bytes());
        let bytes = &mut self.content.bytes;
        if bytes.len() < at + width {
            bytes.resize(at + width, 0);
        }
        bytes[at..at + width].copy_from_slice(&value[..width]);
    }

    fn write_symbol(&mut self, symbol: &ast::SymbolValue<'_>, at: u64) -> Result<(), String> {
        let target = (self.find)(symbol.name).ok_or_else(|| format!("`{}` is not declared", symbol.name))?;
        let (first, width) = match symbol.mask {
            None => (0, self.ty.bytes()),
            Some(mask) => masked_bytes(mask).ok_or_else(|| format!("a mask {mask:#x} of other than whole bytes"))?,
        };
        match target {
            Target::Function(None) => Ok(()),
            Target::Function(Some(function)) => self.put_function(at, first, width, function),
            Target::Variable(variable) => {
                self.put_address(at, first, width, variable, symbol);
                Ok(())
            }
        }
    }

    /// An address may come byte by byte, each masked out of the whole: runs from the lowest byte on are joined again.
    fn put_address(&mut self, at: u64, first: u32, width: u32, variable: VariableId, symbol: &ast::SymbolValue<'_>) {
        let entry = (at, width, variable, symbol.offset, symbol.generic);
        if first == 0 {
            self.content.addresses.push(entry);
            return;
        }
        match self.content.addresses.last_mut() {
            Some(last)
                if joins((last.0, last.1), at, first) && (last.2, last.3, last.4) == (entry.2, entry.3, entry.4) =>
            {
                last.1 += width;
            }
            _ => {
                let bytes = (0..width)
                    .map(|byte| (at + u64::from(byte), first + byte, variable, symbol.offset, symbol.generic));
                self.content.address_bytes.extend(bytes);
            }
        }
    }

    fn put_function(&mut self, at: u64, first: u32, width: u32, function: FunctionId) -> Result<(), String> {
        if first == 0 {
            self.content.functions.push((at, width, function));
            return Ok(());
        }
        match self.content.functions.last_mut() {
            Some(last) if joins((last.0, last.1), at, first) && last.2 == function => {
                last.1 += width;
                Ok(())
            }
            _ => Err("upper bytes of a function's address without the lower ones before them".to_owned()),
        }
    }
}

/// True when the byte `first` of an address, written at `at`, continues a run that starts at `run.0` and is `run.1` long.
fn joins(run: (u64, u32), at: u64, first: u32) -> bool {
    run.0 + u64::from(run.1) == at && run.1 == first
}

/// The run of bytes that a mask covers: position of the first, number.
fn masked_bytes(mask: u64) -> Option<(u32, u32)> {
    let low = mask.trailing_zeros();
    let high = 64 - mask.leading_zeros();
    let whole = mask != 0 && low.is_multiple_of(8) && high.is_multiple_of(8);
    let ones = mask.count_ones() == high.saturating_sub(low);
    (whole && ones).then(|| (low / 8, (high - low) / 8))
}
