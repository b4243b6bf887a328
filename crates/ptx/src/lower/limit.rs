//! How much a program may declare. What no GPU has is refused where it is declared, by name, before anything takes
//! memory for it.
//!
//! Reference: PTX ISA, "Kernel Function Parameter Attributes" and "Constant State Space"; CUDA C++ programming guide,
//! table of technical specifications.

use std::collections::BTreeMap;

use warplens_base::Diagnostic;

use super::module::Dialect;
use crate::syntax::ast;

/// Bytes of a constant bank. A program has one; old ones name up to eleven.
const BANK_BYTES: u64 = 64 << 10;

/// Bytes of local memory that a thread may have.
const LOCAL_BYTES: u64 = 512 << 10;

/// Bytes of a variable: far more than any GPU has, and far from the end of 64 bits.
pub(super) const VARIABLE_BYTES: u64 = 1 << 48;

/// Bytes that initial values may describe in a module: more than its text could spell out.
pub(super) const INITIAL_BYTES: u64 = 1 << 30;

/// Words of registers that a function may have before its last parameter or `.param` variable is declared.
pub(super) const PARAMETER_WORDS: u32 = 1 << 18;

/// Largest parameter space of a kernel: it grew with PTX 8.1.
pub(super) fn parameter_bytes(dialect: Dialect) -> u64 {
    if dialect.version < 81 { 4352 } else { 32764 }
}

/// Something that was declared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Declared<'a> {
    pub(super) name: ast::Name<'a>,
    pub(super) bytes: u64,
}

/// Bytes of each constant bank.
#[derive(Debug, Default)]
pub(super) struct Banks(BTreeMap<u8, u64>);

impl Banks {
    /// Counts a constant variable; the finding when its bank has no place for it.
    pub(super) fn add(&mut self, space: ast::Space, declared: Declared<'_>) -> Option<Diagnostic> {
        let bank = match space {
            ast::Space::ConstBank(bank) => bank,
            _ => 0,
        };
        let used = self.0.entry(bank).or_default();
        let before = *used;
        *used = before.saturating_add(declared.bytes);
        crosses(before, *used, BANK_BYTES).then(|| {
            let what = format!("constant bank {bank}");
            too_much(declared, &format!("{what} then holds {used} bytes, and has {BANK_BYTES}"))
        })
    }
}

/// The finding when a variable makes the frame of a function larger than a thread may have.
pub(super) fn of_frame(declared: Declared<'_>, before: u64, after: u64) -> Option<Diagnostic> {
    crosses(before, after, LOCAL_BYTES).then(|| {
        too_much(
            declared,
            &format!("the function then takes {after} bytes of local memory, and a thread has at most {LOCAL_BYTES}"),
        )
    })
}

/// The finding when a variable makes the parameters of a function more than a thread's stack.
pub(super) fn of_words(declared: Declared<'_>, before: u32, after: u32) -> Option<Diagnostic> {
    crosses(before.into(), after.into(), PARAMETER_WORDS.into()).then(|| {
        let limit = 4 * PARAMETER_WORDS;
        too_much(declared, &format!("the registers of the function then take more than {limit} bytes of each thread"))
    })
}

/// The finding when a parameter does not fit the parameter space.
pub(super) fn of_parameters(declared: Declared<'_>, before: u64, after: u64, dialect: Dialect) -> Option<Diagnostic> {
    let limit = parameter_bytes(dialect);
    crosses(before, after, limit).then(|| {
        let (major, minor) = (dialect.version / 10, dialect.version % 10);
        too_much(
            declared,
            &format!(
                "the parameters then end at byte {after}, and a kernel of PTX {major}.{minor} has at most {limit}"
            ),
        )
    })
}

/// True for the one declaration that goes beyond the limit: those after it are no news.
fn crosses(before: u64, after: u64, limit: u64) -> bool {
    before <= limit && after > limit
}

fn too_much(Declared { name, bytes }: Declared<'_>, what: &str) -> Diagnostic {
    Diagnostic::error("S015", name.span, format!("`{}` takes {bytes} bytes: {what}", name.text))
        .with_label("declared here")
}
