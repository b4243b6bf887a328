//! The syntax tree of a PTX module, borrowing its names from the source text.
//!
//! The tree is close to the text: names are not resolved, registers are names, types stand where they were written.
//! Constant expressions are the exception: they are folded while parsing. An instruction keeps its operands in the
//! shared array of its [`Body`], so that a long function costs few allocations.

use warplens_base::Span;

pub use super::modifiers::{Modifier, Type};
pub use crate::opcodes::Opcode;

/// A whole PTX file.
#[derive(Clone, Debug, Default)]
pub struct Module<'src> {
    /// `.version major.minor`.
    pub version: Option<Version>,
    /// `.target` names in order: architectures (`sm_90a`) and options (`debug`, `texmode_independent`).
    pub targets: Vec<Name<'src>>,
    /// `.address_size`.
    pub address_size: Option<u32>,
    /// Everything else, in order.
    pub items: Vec<Item<'src>>,
}

/// `.version major.minor`.
#[derive(Clone, Copy, Debug)]
pub struct Version {
    /// Before the point.
    pub major: u16,
    /// After the point.
    pub minor: u16,
    /// The two numbers.
    pub span: Span,
}

/// A name and where it stands.
#[derive(Clone, Copy, Debug)]
pub struct Name<'src> {
    /// The text, with its `%` or `$`.
    pub text: &'src str,
    /// Where it stands.
    pub span: Span,
}

/// One entry at the top of a module.
#[derive(Clone, Debug)]
pub enum Item<'src> {
    /// `.entry` or `.func`, declared or defined.
    Function(Function<'src>),
    /// A variable in `.global`, `.const`, `.shared`, `.tex`, ... (or `.reg` in old modules).
    Variable(Variable<'src>),
    /// `.alias name, target;`
    Alias(Alias<'src>),
    /// `.pragma "..", "..";`
    Pragma(Pragma<'src>),
    /// `.file index "path"{, timestamp, size}`
    File(File<'src>),
    /// `.section name { ... }`
    Section(Section<'src>),
    /// `@@DWARF ...` of old modules: the rest of the line.
    Dwarf(Name<'src>),
}

/// `.entry` or `.func`.
#[derive(Clone, Debug)]
pub struct Function<'src> {
    /// Kernel or device function.
    pub kind: FunctionKind,
    /// `.visible`, `.extern`, `.weak`, `.common` or none.
    pub linkage: Linkage,
    /// `.attribute(...)`.
    pub attributes: Vec<Attribute<'src>>,
    /// Return parameters of a device function.
    pub returns: Vec<Parameter<'src>>,
    /// The name.
    pub name: Name<'src>,
    /// Input parameters.
    pub parameters: Vec<Parameter<'src>>,
    /// Performance and property directives between parameters and body.
    pub directives: Vec<FunctionDirective<'src>>,
    /// The body of a definition.
    pub body: Option<Body<'src>>,
    /// From the linkage to the name.
    pub span: Span,
}

/// Kernel or device function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FunctionKind {
    /// `.entry`
    Entry,
    /// `.func`
    Func,
}

/// Who sees a symbol.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Linkage {
    /// Only this module.
    #[default]
    Internal,
    /// `.visible`
    Visible,
    /// `.extern`
    Extern,
    /// `.weak`
    Weak,
    /// `.common`
    Common,
}

/// Where a variable lives.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Space {
    /// `.reg`
    Reg,
    /// `.sreg`
    Sreg,
    /// `.const`
    Const,
    /// `.const[bank]` of old modules.
    ConstBank(u8),
    /// `.global`
    Global,
    /// `.local`
    Local,
    /// `.param`
    Param,
    /// `.shared`
    Shared,
    /// `.tex` (deprecated).
    Tex,
}

/// `.attribute(.managed)`, `.attribute(.unified(a, b))`.
#[derive(Clone, Debug)]
pub struct Attribute<'src> {
    /// The name without the dot.
    pub name: Name<'src>,
    /// The values in parentheses.
    pub values: Vec<Immediate>,
}

/// A parameter of a function or of a `.callprototype`.
#[derive(Clone, Debug)]
pub struct Parameter<'src> {
    /// `.param` or `.reg`.
    pub space: Space,
    /// `.align`.
    pub align: Option<u32>,
    /// `.ptr`.
    pub pointer: Option<Pointer>,
    /// Number of elements of a `.v2`, `.v4` or `.v8` type, else 1.
    pub vector: u8,
    /// Element type.
    pub ty: Type,
    /// The name; `_` in prototypes.
    pub name: Name<'src>,
    /// Array dimensions, outermost first; `None` for `[]`.
    pub dimensions: Vec<Option<u64>>,
}

/// `.ptr{.space}{.align n}` of a kernel parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pointer {
    /// State space that the pointer points to; generic when missing.
    pub space: Option<Space>,
    /// Alignment of what it points to.
    pub align: Option<u32>,
}

/// A directive between the parameters and the body of a function.
#[derive(Clone, PartialEq, Debug)]
pub enum FunctionDirective<'src> {
    /// `.maxnreg n`
    MaxNReg(u32),
    /// `.maxntid x, y, z`; what was not written is 1.
    MaxNTid([u32; 3]),
    /// `.reqntid x, y, z`
    ReqNTid([u32; 3]),
    /// `.minnctapersm n`
    MinNCtaPerSm(u32),
    /// `.maxnctapersm n` (deprecated)
    MaxNCtaPerSm(u32),
    /// `.reqnctapercluster x, y, z`
    ReqNCtaPerCluster([u32; 3], Span),
    /// `.maxclusterrank n`
    MaxClusterRank(u32),
    /// `.explicitcluster`
    ExplicitCluster(Span),
    /// `.blocksareclusters`
    BlocksAreClusters,
    /// `.noreturn`
    NoReturn,
    /// `.abi_preserve n`
    AbiPreserve(u32),
    /// `.abi_preserve_control n`
    AbiPreserveControl(u32),
    /// `.pragma ".."`
    Pragma(Vec<&'src str>),
}

/// What stands between the braces of a function.
#[derive(Clone, Debug, Default)]
pub struct Body<'src> {
    /// Statements in order; nested scopes are [`Statement::Block`].
    pub statements: Vec<Statement<'src>>,
    /// Operands of all instructions; read them with [`Body::operands`].
    pub operand_pool: Vec<Operand<'src>>,
    /// From brace to brace.
    pub span: Span,
}

impl<'src> Body<'src> {
    /// The operands of an instruction of this body.
    pub fn operands(&self, instruction: &Instruction<'src>) -> &[Operand<'src>] {
        let start = instruction.first_operand as usize;
        &self.operand_pool[start..start + usize::from(instruction.n_operands)]
    }
}

/// One statement of a body.
#[derive(Clone, Debug)]
pub enum Statement<'src> {
    /// `@p opcode.modifiers operands;`
    Instruction(Instruction<'src>),
    /// `name:`
    Label(Name<'src>),
    /// `.reg`, `.local`, `.shared`, `.param`, ... declarations.
    Variable(Box<Variable<'src>>),
    /// `.loc`
    Loc(Loc<'src>),
    /// `{ ... }`
    Block(Box<Block<'src>>),
    /// `.pragma ".."`
    Pragma(Box<Pragma<'src>>),
    /// `name: .branchtargets a, b;`
    BranchTargets(Box<Targets<'src>>),
    /// `name: .calltargets f, g;`
    CallTargets(Box<Targets<'src>>),
    /// `name: .callprototype (..) _ (..);`
    CallPrototype(Box<Prototype<'src>>),
    /// `@@DWARF ...` of old modules: the rest of the line.
    Dwarf(Name<'src>),
}

/// A nested scope; its instructions keep their operands in the enclosing [`Body`].
#[derive(Clone, Debug)]
pub struct Block<'src> {
    /// Statements in order.
    pub statements: Vec<Statement<'src>>,
    /// From brace to brace.
    pub span: Span,
}

/// `@p` or `@!p` before an instruction.
#[derive(Clone, Copy, Debug)]
pub struct Guard<'src> {
    /// The predicate register.
    pub name: &'src str,
    /// True for `@!p`.
    pub negated: bool,
    /// The name.
    pub span: Span,
}

/// One instruction.
#[derive(Clone, Debug)]
pub struct Instruction<'src> {
    /// `@p`.
    pub guard: Option<Guard<'src>>,
    /// The base opcode, what stands before the first dot.
    pub opcode: Opcode,
    /// Number of operands.
    pub n_operands: u16,
    /// Place of the first operand in [`Body::operand_pool`].
    pub first_operand: u32,
    /// What follows the opcode after dots, in order.
    pub modifiers: Modifiers,
    /// Texts of names that the language does not have.
    pub unknown: Option<Box<UnknownNames<'src>>>,
    /// Opcode with its modifiers.
    pub opcode_span: Span,
    /// From the guard to before the semicolon.
    pub span: Span,
}

/// Texts behind [`Opcode::Unknown`] and each [`Modifier::Unknown`] of an instruction.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct UnknownNames<'src> {
    /// Text of the base opcode, when that is unknown.
    pub opcode: Option<&'src str>,
    /// Texts of the unknown modifiers in order, without the dot.
    pub modifiers: Vec<&'src str>,
}

impl Instruction<'_> {
    /// True when the instruction carries the modifier.
    pub fn has(&self, modifier: Modifier) -> bool {
        self.modifiers.contains(&modifier)
    }

    /// True when the instruction carries one of the modifiers.
    pub fn has_any(&self, modifiers: &[Modifier]) -> bool {
        self.modifiers.iter().any(|modifier| modifiers.contains(modifier))
    }

    /// The first of the instruction's modifiers that is among `choices`.
    pub fn find(&self, choices: &[Modifier]) -> Option<Modifier> {
        self.modifiers.iter().copied().find(|modifier| choices.contains(modifier))
    }

    /// Its types in the order in which they are written; the last is usually the type of the sources.
    pub fn types(&self) -> impl DoubleEndedIterator<Item = Type> + Clone + '_ {
        self.modifiers.iter().filter_map(|modifier| modifier.as_type())
    }

    /// Number of elements of a vector access or operation (`.v2` is 2), else 1.
    pub fn vector(&self) -> u8 {
        self.modifiers
            .iter()
            .find_map(|modifier| match modifier {
                Modifier::V2 => Some(2),
                Modifier::V4 => Some(4),
                Modifier::V8 => Some(8),
                Modifier::V16 => Some(16),
                _ => None,
            })
            .unwrap_or(1)
    }

    /// The rounding modifier.
    pub fn rounding(&self) -> Option<Modifier> {
        use Modifier::{Rm, Rmi, Rn, Rna, Rni, Rp, Rpi, Rs, Rz, Rzi};
        self.find(&[Rn, Rz, Rm, Rp, Rna, Rs, Rni, Rzi, Rmi, Rpi])
    }

    /// The comparison of `set`, `setp` and their kin.
    pub fn comparison(&self) -> Option<Modifier> {
        use Modifier::{Eq, Equ, Ge, Geu, Gt, Gtu, Hi, Hs, Le, Leu, Lo, Ls, Lt, Ltu, Ne, Neu, Ordered, Unordered};
        self.find(&[Eq, Ne, Lt, Le, Gt, Ge, Equ, Neu, Ltu, Leu, Gtu, Geu, Ordered, Unordered, Lo, Ls, Hi, Hs])
    }
}

/// The modifiers of an instruction in order, stored in place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Modifiers {
    items: [Modifier; Modifiers::CAPACITY],
    len: u8,
}

impl Modifiers {
    /// More than any instruction of the language has.
    pub const CAPACITY: usize = 17;

    /// No modifiers.
    pub const fn new() -> Self {
        Self { items: [Modifier::Unknown; Self::CAPACITY], len: 0 }
    }

    /// Appends; false when there is no room.
    pub fn push(&mut self, modifier: Modifier) -> bool {
        let Some(slot) = self.items.get_mut(usize::from(self.len)) else { return false };
        *slot = modifier;
        self.len += 1;
        true
    }
}

impl Default for Modifiers {
    fn default() -> Self {
        Self::new()
    }
}

impl std::ops::Deref for Modifiers {
    type Target = [Modifier];
    fn deref(&self) -> &[Modifier] {
        &self.items[..usize::from(self.len)]
    }
}

impl std::fmt::Debug for Modifiers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// One operand and where it stands.
#[derive(Clone, Debug)]
pub struct Operand<'src> {
    /// What it is.
    pub kind: OperandKind<'src>,
    /// Where it stands.
    pub span: Span,
}

/// What an operand is.
#[derive(Clone, Debug)]
pub enum OperandKind<'src> {
    /// Register, special register, variable, label or function.
    Name(&'src str),
    /// `%tid.x`, `v.y`, `%r1.b0`, `%r1.h10`.
    Selected(&'src str, Selector),
    /// `!p`
    Not(&'src str),
    /// `-%r1`, `-%r1.h0` of the video instructions; negative numbers are immediates.
    Negated(&'src str, Option<Selector>),
    /// `symbol+offset` (bytes) outside of brackets.
    Offset(&'src str, i64),
    /// `array[index]` (elements).
    Element(&'src str, i64),
    /// A number, folded.
    Immediate(Immediate),
    /// `_`
    Sink,
    /// `[base+offset]`, `[base]`, `[number]`.
    Address(Address<'src>),
    /// `[a, {b, c}]`, `[a, {b, c}, d]`, `[texture, sampler, {x, y}]`: brackets around several operands.
    AddressList(Box<[Operand<'src>]>),
    /// `{a, b, c, d}`
    Vector(Box<[Operand<'src>]>),
    /// `p|q`: a value and a predicate, or two predicates.
    Pair(Box<[Operand<'src>; 2]>),
    /// `(a, b)` of a call.
    List(Box<[Operand<'src>]>),
}

/// `[base+offset]`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Address<'src> {
    /// Register or variable; without one the offset is the address.
    pub base: Option<&'src str>,
    /// Bytes added to the base.
    pub offset: i64,
}

/// A constant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Immediate {
    /// A signed integer.
    Int(i64),
    /// An integer of unsigned type: with `U`, or too large for a signed one.
    Uint(u64),
    /// Bits of a single-precision number (`0f3F800000`).
    F32(u32),
    /// Bits of a double-precision number (`0d..` or decimal).
    F64(u64),
    /// `WARP_SZ`.
    WarpSize,
}

impl Immediate {
    /// The 64 bits of an integer (`WARP_SZ` is 32); none for a floating-point number.
    pub fn bits(self) -> Option<u64> {
        match self {
            Immediate::Int(value) => Some(value as u64),
            Immediate::Uint(value) => Some(value),
            Immediate::WarpSize => Some(32),
            Immediate::F32(_) | Immediate::F64(_) => None,
        }
    }
}

/// A part of a register, written after a dot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Selector {
    /// `.x` or `.r` is 0, `.y` or `.g` is 1, `.z` or `.b` is 2, `.w` or `.a` is 3.
    Component {
        /// Which of the four.
        index: u8,
        /// True when written as a colour: `.r`, `.g`, `.b`, `.a`.
        colour: bool,
    },
    /// `.b0`, `.b7654`: bytes, most significant first, each 0 to 7.
    Bytes(Lanes),
    /// `.h0`, `.h10`: half-words, most significant first, each 0 to 3.
    Halves(Lanes),
}

/// Up to four digits of a selector, in the order in which they are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lanes {
    /// Digits; those beyond the length are 0.
    pub digits: [u8; 4],
    /// Number of digits, at least 1.
    pub len: u8,
}

/// A variable declaration, or several that share a type.
#[derive(Clone, Debug)]
pub struct Variable<'src> {
    /// Who sees it.
    pub linkage: Linkage,
    /// Where it lives.
    pub space: Space,
    /// `.attribute(...)`.
    pub attributes: Vec<Attribute<'src>>,
    /// `.align`.
    pub align: Option<u32>,
    /// `.ptr` on a `.param` inside of an old kernel body.
    pub pointer: Option<Pointer>,
    /// Number of elements of a `.v2`, `.v4` or `.v8` type, else 1.
    pub vector: u8,
    /// Element type.
    pub ty: Type,
    /// The variables.
    pub declarators: Vec<Declarator<'src>>,
    /// The whole declaration.
    pub span: Span,
}

/// One variable of a declaration.
#[derive(Clone, Debug)]
pub struct Declarator<'src> {
    /// The name, or the prefix of a parameterised one.
    pub name: Name<'src>,
    /// `%r<100>` declares `%r0` to `%r99`.
    pub count: Option<u32>,
    /// Array dimensions, outermost first; `None` for `[]`.
    pub dimensions: Vec<Option<u64>>,
    /// Initial value.
    pub initializer: Option<Initializer<'src>>,
}

/// The initial value of a variable or of a part of it.
#[derive(Clone, PartialEq, Debug)]
pub enum Initializer<'src> {
    /// A number.
    Value(Immediate),
    /// `name`, `name+offset`, `generic(name)+offset`, `0xFF(name)`.
    Symbol(SymbolValue<'src>),
    /// `{ ... }`
    List(Vec<Initializer<'src>>),
    /// `{ addr_mode_0 = clamp_to_edge, filter_mode = nearest }` of samplers and textures.
    Fields(Vec<(&'src str, FieldValue<'src>)>),
}

/// A value of a field of a sampler, texture or surface.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum FieldValue<'src> {
    /// `linear`
    Name(&'src str),
    /// `1`
    Number(Immediate),
}

/// The address of a symbol as an initial value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SymbolValue<'src> {
    /// Variable or function.
    pub name: &'src str,
    /// Bytes added.
    pub offset: i64,
    /// `generic(name)`: the generic address.
    pub generic: bool,
    /// `0xFF00(name)`: only the bytes under this mask, moved down.
    pub mask: Option<u64>,
}

/// `.loc file line column{, function_name label{+offset}, inlined_at file line column}`.
#[derive(Clone, Debug)]
pub struct Loc<'src> {
    /// Index of a `.file`.
    pub file: u32,
    /// Line, counted from 1.
    pub line: u32,
    /// Column, counted from 1; 0 for the whole line.
    pub column: u32,
    /// Where the function of this place was inlined.
    pub inlined: Option<Box<InlinedAt<'src>>>,
    /// The directive.
    pub span: Span,
}

/// The second half of a [`Loc`] in an inlined function.
#[derive(Clone, PartialEq, Debug)]
pub struct InlinedAt<'src> {
    /// Label of the function's name in the string section.
    pub function_name: Option<(&'src str, i64)>,
    /// File, line and column of the call.
    pub at: Option<[u32; 3]>,
}

/// `.pragma ".."`.
#[derive(Clone, Debug)]
pub struct Pragma<'src> {
    /// The strings without their quotes.
    pub strings: Vec<&'src str>,
    /// The directive.
    pub span: Span,
}

/// `.alias name, target;`
#[derive(Clone, Debug)]
pub struct Alias<'src> {
    /// The new name.
    pub name: Name<'src>,
    /// The function that it names.
    pub target: Name<'src>,
}

/// `.file index "path"{, timestamp, size}`.
#[derive(Clone, Debug)]
pub struct File<'src> {
    /// The number that `.loc` uses.
    pub index: u32,
    /// The path without its quotes.
    pub path: &'src str,
    /// Time stamp and size of the file.
    pub stamp: Option<(u64, u64)>,
    /// The directive.
    pub span: Span,
}

/// `label: .branchtargets ...;` or `label: .calltargets ...;`.
#[derive(Clone, Debug)]
pub struct Targets<'src> {
    /// The name of the list.
    pub label: Name<'src>,
    /// What it lists.
    pub targets: Vec<Name<'src>>,
}

/// `label: .callprototype (returns) _ (parameters);`.
#[derive(Clone, Debug)]
pub struct Prototype<'src> {
    /// The name of the prototype.
    pub label: Name<'src>,
    /// Return parameters.
    pub returns: Vec<Parameter<'src>>,
    /// Input parameters.
    pub parameters: Vec<Parameter<'src>>,
    /// `.noreturn`, `.abi_preserve`, ...
    pub directives: Vec<FunctionDirective<'src>>,
}

/// `.section name { ... }`: debugging data.
#[derive(Clone, Debug)]
pub struct Section<'src> {
    /// The name with its dot.
    pub name: Name<'src>,
    /// Lines in order.
    pub lines: Vec<SectionLine<'src>>,
    /// Values of all lines; read them with [`Section::values`].
    pub value_pool: Vec<SectionValue<'src>>,
}

/// A line of a section.
#[derive(Clone, Copy, Debug)]
pub enum SectionLine<'src> {
    /// `name:`
    Label(&'src str),
    /// `.b8 1, 2`
    Data {
        /// `b8` to `b64`.
        ty: Type,
        /// Place of the first value in [`Section::value_pool`].
        first: u32,
        /// Number of values.
        len: u32,
    },
}

impl<'src> Section<'src> {
    /// The values of a data line from `first` on.
    pub fn values(&self, first: u32, len: u32) -> &[SectionValue<'src>] {
        &self.value_pool[first as usize..first as usize + len as usize]
    }
}

/// A value in a section.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum SectionValue<'src> {
    /// A number.
    Number(Immediate),
    /// A label or section, and bytes added.
    Symbol(&'src str, i64),
    /// Distance between two labels.
    Difference(&'src str, &'src str),
}
