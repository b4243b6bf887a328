//! Modules: functions, variables and the table of source instructions.

use std::collections::BTreeMap;
use std::sync::Arc;

use warplens_base::{IdMap, Span, define_id};
use warplens_isa::{
    AddressMode, BlockId, Filter, InstKey, OpClass, OpaqueType, Pc, ScalarType, SlowOperation, Spelling, StateSpace,
};

use crate::link::Interface;
use crate::{Block, Function};

define_id! {
    /// A function of a module.
    pub struct FunctionId("fn");
    /// A variable of a module: global, constant, shared; also those declared inside functions.
    pub struct VariableId("var");
    /// A text by which instructions of a module are written, see [`Module::spellings`].
    pub struct SpellingId("spelling");
}

/// Everything that one source text defines.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// Kernels and device functions with a body.
    pub functions: IdMap<FunctionId, Function>,
    /// Variables.
    pub variables: IdMap<VariableId, Variable>,
    /// Constant banks, which operands read. PTX has none: its constants are variables.
    pub constant_banks: Vec<ConstantBank>,
    /// Blocks of all functions; each function owns a contiguous range.
    pub blocks: IdMap<BlockId, Block>,
    /// Source instructions of all functions, in text order.
    pub pcs: IdMap<Pc, PcInfo>,
    /// The distinct texts of the source instructions, each with what it means, in the order in which listings name them.
    pub spellings: IdMap<SpellingId, Spelling>,
    /// Lines of the program that the source was compiled from, of the instructions that say theirs.
    pub locations: BTreeMap<Pc, SourceLocation>,
    /// The PTX that machine code was made of, where it says so.
    pub ptx_lines: BTreeMap<Pc, PtxLine>,
    /// What the assembler of machine code says about the issue of instructions.
    pub controls: BTreeMap<Pc, ControlCode>,
    /// Names of the source files that [`SourceLocation::file`] indexes.
    pub files: Vec<String>,
    /// Width of addresses in bits: 32 or 64.
    pub address_bits: u32,
    /// Target as written, such as `sm_80`.
    pub target: String,
    /// Names by which other modules find what this one defines, and it what they define.
    pub interface: Interface,
}

impl Module {
    /// Number of the target: 90 for `sm_90a`; 0 where there is none.
    pub fn target_number(&self) -> u32 {
        target_number(&self.target).unwrap_or(0)
    }
}

/// The number of an architecture: 90 for `sm_90a`.
pub fn target_number(name: &str) -> Option<u32> {
    let digits = name.strip_prefix("sm_").or_else(|| name.strip_prefix("compute_"))?;
    digits.trim_end_matches(|c: char| !c.is_ascii_digit()).parse().ok()
}

/// Memory that operands of machine code read at constant offsets.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ConstantBank {
    /// Number in operands.
    pub number: u8,
    /// Size in bytes.
    pub bytes: u32,
    /// First bytes of its content; the rest is zero.
    pub content: Vec<u8>,
    /// Where the parameters of a kernel lie in it, if they do: they come with the launch and hide the content.
    pub parameters: Option<u32>,
}

/// A source instruction.
#[derive(Clone, PartialEq, Debug)]
pub struct PcInfo {
    /// Function that holds it.
    pub function: FunctionId,
    /// What it is, and how it is written.
    pub spelling: SpellingId,
    /// Text in the source.
    pub span: Span,
    /// Line in the source, from 1.
    pub line: u32,
    /// Class.
    pub class: OpClass,
    /// What it counts as, if it is a high-latency operation.
    pub high_latency: Option<SlowOperation>,
}

/// A line of a program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SourceLocation {
    /// Index into [`Module::files`].
    pub file: u32,
    /// Line, from 1.
    pub line: u32,
}

/// A line of the PTX that machine code was made of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PtxLine {
    /// Its number in the text that the assembler had, from 1.
    pub line: u32,
    /// The line, with one blank between its words.
    pub text: Arc<str>,
}

/// How an instruction of machine code is to be issued: what the assembler found out so that the hardware need not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ControlCode {
    /// Cycles before the warp issues its next instruction, 0 to 15.
    pub stall: u8,
    /// Another warp had better issue next.
    pub yields: bool,
    /// The scoreboard, 0 to 5, that is released when the result is written.
    pub write_scoreboard: Option<u8>,
    /// The scoreboard, 0 to 5, that is released when the operands were read.
    pub read_scoreboard: Option<u8>,
    /// The scoreboards that have to be released before, one bit each.
    pub waits: u8,
    /// The operands that stay in the operand cache, one bit each.
    pub reuse: u8,
}

impl ControlCode {
    /// Number of scoreboards.
    pub const SCOREBOARDS: u8 = 6;

    /// True when the fields are in the ranges that machine code has for them.
    pub fn is_valid(&self) -> bool {
        let exists = |scoreboard: Option<u8>| scoreboard.is_none_or(|scoreboard| scoreboard < Self::SCOREBOARDS);
        self.stall < 16
            && self.waits >> Self::SCOREBOARDS == 0
            && exists(self.write_scoreboard)
            && exists(self.read_scoreboard)
    }
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
    /// It is a texture, sampler or surface, and holds the handle of one.
    pub opaque: Option<OpaqueVariable>,
}

/// A variable of an opaque type.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OpaqueVariable {
    /// The type.
    pub ty: OpaqueType,
    /// Fields of a sampler that the module gives values.
    pub sampler: Option<SamplerFields>,
}

/// Fields of a sampler.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SamplerFields {
    /// What becomes of coordinates beyond the edge, by axis.
    pub address: [AddressMode; 3],
    /// Filter.
    pub filter: Filter,
    /// Coordinates are in texels, whatever the texture says.
    pub force_unnormalized: bool,
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

    /// A source instruction as it is written.
    pub fn spelling(&self, pc: Pc) -> &Spelling {
        &self.spellings[self.pcs[pc].spelling]
    }

    /// What a source instruction is.
    pub fn key(&self, pc: Pc) -> InstKey {
        self.spelling(pc).key
    }

    /// The constant bank of a number.
    pub fn constant_bank(&self, number: u8) -> Option<&ConstantBank> {
        self.constant_banks.iter().find(|bank| bank.number == number)
    }

    /// The kernels, in text order.
    pub fn kernels(&self) -> impl Iterator<Item = (FunctionId, &Function)> {
        self.functions.iter().filter(|(_, function)| function.is_kernel())
    }
}
