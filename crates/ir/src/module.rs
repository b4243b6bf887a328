//! Modules: functions, variables and the table of source instructions.

use warplens_base::{IdMap, Span, define_id};
use warplens_isa::{BlockId, HighLatency, OpClass, Pc, ScalarType, StateSpace};

use crate::link::Interface;
use crate::{Block, Function};

define_id! {
    /// A function of a module.
    pub struct FunctionId("fn");
    /// A variable of a module: global, constant, shared; also those declared inside functions.
    pub struct VariableId("var");
}

/// Everything that one source text defines.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// Kernels and device functions with a body.
    pub functions: IdMap<FunctionId, Function>,
    /// Variables.
    pub variables: IdMap<VariableId, Variable>,
    /// Blocks of all functions; each function owns a contiguous range.
    pub blocks: IdMap<BlockId, Block>,
    /// Source instructions of all functions, in text order.
    pub pcs: IdMap<Pc, PcInfo>,
    /// Names of the source files that [`SourceLocation::file`] indexes.
    pub files: Vec<String>,
    /// Width of addresses in bits: 32 or 64.
    pub address_bits: u32,
    /// Target as written, such as `sm_80`.
    pub target: String,
    /// Names by which other modules find what this one defines, and it what they define.
    pub interface: Interface,
}

/// A source instruction.
#[derive(Clone, PartialEq, Debug)]
pub struct PcInfo {
    /// Function that holds it.
    pub function: FunctionId,
    /// Opcode with its modifiers, such as `ld.global.f32`.
    pub opcode: String,
    /// Text in the source.
    pub span: Span,
    /// Line in the source, from 1.
    pub line: u32,
    /// Line of the program that the source was compiled from.
    pub location: Option<SourceLocation>,
    /// Class.
    pub class: OpClass,
    /// Kind and type, if it is a high-latency operation.
    pub high_latency: Option<(HighLatency, ScalarType)>,
}

/// A line of a program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SourceLocation {
    /// Index into [`Module::files`].
    pub file: u32,
    /// Line, from 1.
    pub line: u32,
}

/// A variable.
#[derive(Clone, PartialEq, Debug)]
pub struct Variable {
    /// Name as written.
    pub name: String,
    /// State space: global, constant or shared.
    pub space: StateSpace,
    /// Type of an element.
    pub ty: ScalarType,
    /// Size in bytes; 0 for `extern .shared` arrays without a size, which start where static shared memory ends.
    pub bytes: u64,
    /// Alignment in bytes.
    pub align: u64,
    /// Declared `extern .shared name[]`: dynamic shared memory.
    pub is_dynamic: bool,
    /// Function in which it was declared; `None` at module scope.
    pub function: Option<FunctionId>,
    /// First bytes of its content; the rest is zero.
    pub initializer: Initializer,
}

/// Content of a variable.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Initializer {
    /// Literal bytes.
    pub bytes: Vec<u8>,
    /// Addresses to be written over them: byte position, width in bytes, variable, offset, whether generic.
    pub addresses: Vec<(u64, u32, VariableId, i64, bool)>,
    /// Single bytes of addresses: byte position, which byte of the address (0 is the least), variable, offset, whether
    /// generic.
    pub address_bytes: Vec<(u64, u32, VariableId, i64, bool)>,
    /// Function addresses: byte position, width in bytes, function.
    pub functions: Vec<(u64, u32, FunctionId)>,
}

impl Module {
    /// The function called `name`.
    pub fn function_named(&self, name: &str) -> Option<FunctionId> {
        self.functions.iter().find(|(_, function)| function.name == name).map(|(id, _)| id)
    }

    /// The kernels, in text order.
    pub fn kernels(&self) -> impl Iterator<Item = (FunctionId, &Function)> {
        self.functions.iter().filter(|(_, function)| function.is_kernel())
    }
}
