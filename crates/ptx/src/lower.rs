//! Lowering of a syntax tree to the kernel representation.
//!
//! Names become registers, variables and blocks; types move from registers to operations; parameters of device
//! functions become registers, those of kernels offsets in the parameter space. Every instruction of the source gets a
//! program counter, also when it takes several operations; those that the emulator cannot execute become
//! [`Unsupported`](warplens_isa::Op::Unsupported) and are no error.
//!
//! Reference: PTX ISA, chapters 4 to 9. What the language accepts was checked against ptxas where the text is vague.

mod asynchronous;
mod body;
mod call;
mod cluster;
mod control;
mod convert;
mod dispatch;
mod initializer;
mod instruction;
mod integer;
mod interface;
mod key;
mod limit;
mod location;
mod matrix;
mod matrix_move;
mod mbarrier;
mod memory;
mod module;
mod moves;
mod operand;
mod parameter;
mod pending;
mod scope;
mod spellings;
mod tensor;
mod tensor_map;
mod texture;
mod types;
mod video;
mod warp;
mod wgmma;
mod wmma;
mod wmma_memory;

pub use key::spelling;

use warplens_base::Diagnostic;
use warplens_ir as ir;

use crate::syntax::ast;

/// Whether a module is all that there is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// What it uses must be defined in it. Calls of functions that it only declares cannot be executed.
    Whole,
    /// Others that it will be linked with may define what it uses.
    Part,
}

/// Lowers a module. The result is missing when a diagnostic is an error.
pub fn lower(ast: &ast::Module<'_>, text: &str, scope: Scope) -> (Option<ir::Module>, Vec<Diagnostic>) {
    module::ModuleLowering::new(ast, text, scope).lower()
}

/// Why the lowering of an instruction stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stop {
    /// The text is wrong; a diagnostic says so.
    Reported,
    /// The text may be right, but the emulator has no such operation.
    Unsupported,
}

/// Result of lowering a part of an instruction.
type Lowered<T> = Result<T, Stop>;
