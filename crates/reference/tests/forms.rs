//! Every form of every operation that the fast engine executes, on awkward values, gives the same bits by the reference
//! interpreter. The functions are written in the IR, so that no front end limits them.
#![allow(clippy::unwrap_used, reason = "a test may stop where its data is not as it must be")]

use std::collections::BTreeSet;
use std::sync::atomic::AtomicU64;

use warplens_base::Span;
use warplens_exec::engine::Engine;
use warplens_exec::{BarrierRule, Device, Launch, Program, Schedule, Simt};
use warplens_ir::{
    Bank, Block, Flow, Function, FunctionId, FunctionKind, Guard, Inst, LaunchBounds, MemoryReference, Module, Operand,
    PcInfo, Register, RegisterWords, Width,
};
use warplens_isa::{
    AccessOrder, Accuracy, BfindAnswer, BlockId, BoolOp, Carry, Combination, CompareOp, Comparison, Conversion,
    Dp2aHalf, Extremum, FunnelShift, FusedMultiplyAdd, HighMultiplyAdd, InstKey, MixedTypes, Op, OpClass, Operation,
    PackedWidth, Pc, PrmtMode, Product, Rounding, Saturation, ScalarType, ShiftDirection, ShiftMode, SpecialRegister,
    Spelling, StateSpace, Subnormals, Sum, TestProperty,
};
use warplens_reference::Reference;

const ROUNDINGS: [Rounding; 4] = [Rounding::Nearest, Rounding::Zero, Rounding::Down, Rounding::Up];
const BOOLS: [bool; 2] = [false, true];
/// CTAs of 32 threads, each with operands of its own.
const N_CTAS: u32 = 12;
/// Bytes of a value in memory.
const STRIDE: u64 = 16;

/// An operation with the types of what it reads and writes.
#[derive(Clone, Debug)]
struct Form {
    operation: Operation,
    ty: ScalarType,
    source_ty: ScalarType,
    sources: Vec<ScalarType>,
    destinations: Vec<ScalarType>,
    /// A constant as the last source.
    constant: Option<u64>,
}

impl Form {
    fn new(operation: Operation, ty: ScalarType, sources: &[ScalarType], destinations: &[ScalarType]) -> Self {
        let (sources, destinations) = (sources.to_vec(), destinations.to_vec());
        Self { operation, ty, source_ty: ty, sources, destinations, constant: None }
    }

    fn from(mut self, source_ty: ScalarType) -> Self {
        self.source_ty = source_ty;
        self
    }
}

/// The register type that holds a value: words for all that is narrower.
fn width(ty: ScalarType) -> Width {
    Width::of_bits(ty.bits())
}

fn carries() -> Vec<Carry> {
    let mut carries = Vec::new();
    for reads in BOOLS {
        carries.extend(BOOLS.map(|writes| Carry { reads, writes }));
    }
    carries
}

/// Types of sources and destinations with those of a carry.
fn with_carry(ty: ScalarType, n: usize, carry: Carry) -> (Vec<ScalarType>, Vec<ScalarType>) {
    let mut sources = vec![ty; n];
    let mut destinations = vec![ty];
    sources.extend(carry.reads.then_some(ScalarType::Pred));
    destinations.extend(carry.writes.then_some(ScalarType::Pred));
    (sources, destinations)
}

fn twice(ty: ScalarType) -> ScalarType {
    match ty {
        ScalarType::U16 => ScalarType::U32,
        ScalarType::S16 => ScalarType::S32,
        ScalarType::U32 => ScalarType::U64,
        _ => ScalarType::S64,
    }
}

fn sums(forms: &mut Vec<Form>, ty: ScalarType) {
    // f64 knows neither.
    let modifiers = pairs().into_iter().filter(|&(ftz, sat)| ty != ScalarType::F64 || !ftz && !sat);
    for rounding in ROUNDINGS {
        for (ftz, sat) in modifiers.clone() {
            let sum = Sum { rounding, ftz, sat, carry: Carry::NONE };
            let product = Product { rounding, ftz, sat };
            for operation in [Operation::Add(sum), Operation::Sub(sum)] {
                forms.push(Form::new(operation, ty, &[ty; 2], &[ty]));
                for narrow in [ScalarType::F16, ScalarType::Bf16] {
                    if ty == ScalarType::F32 {
                        forms.push(Form::new(operation, ty, &[narrow, ty], &[ty]).from(narrow));
                    }
                }
            }
            forms.push(Form::new(Operation::Mul(product), ty, &[ty; 2], &[ty]));
            for relu in BOOLS {
                let is_half = ty.bits() == 16 || matches!(ty, ScalarType::F16x2 | ScalarType::Bf16x2);
                let oob = relu;
                let fused = FusedMultiplyAdd { rounding, ftz, sat, relu: relu && is_half, oob: oob && is_half };
                // Halves always round to nearest.
                if !is_half || rounding == Rounding::Nearest {
                    forms.push(Form::new(Operation::Fma(fused), ty, &[ty; 3], &[ty]));
                }
            }
        }
        for precise in [Operation::Rcp, Operation::Sqrt] {
            for ftz in BOOLS {
                let accuracy = Accuracy { rounding, ftz, ..Accuracy::default() };
                forms.push(Form::new(precise(accuracy), ty, &[ty], &[ty]));
                forms.push(Form::new(Operation::Div(accuracy), ty, &[ty; 2], &[ty]));
            }
        }
    }
    // The others round to nearest only.
    if !matches!(ty, ScalarType::F32 | ScalarType::F64 | ScalarType::F32x2) {
        forms.retain(|form| form.ty != ty || rounding_of(&form.operation) == Rounding::Nearest);
    }
}

fn pairs() -> Vec<(bool, bool)> {
    BOOLS.iter().flat_map(|&first| BOOLS.map(|second| (first, second))).collect()
}

fn rounding_of(operation: &Operation) -> Rounding {
    match operation {
        Operation::Add(sum) | Operation::Sub(sum) => sum.rounding,
        Operation::Mul(product) => product.rounding,
        Operation::Fma(fused) => fused.rounding,
        Operation::Div(accuracy) | Operation::Rcp(accuracy) | Operation::Sqrt(accuracy) => accuracy.rounding,
        _ => Rounding::Nearest,
    }
}

fn integers(forms: &mut Vec<Form>, ty: ScalarType) {
    for carry in carries().into_iter().filter(|carry| carry.is_used()) {
        let sum = Sum { carry, ..Sum::default() };
        let (two, results) = with_carry(ty, 2, carry);
        let (three, _) = with_carry(ty, 3, carry);
        forms.push(Form::new(Operation::Add(sum), ty, &two, &results));
        forms.push(Form::new(Operation::Sub(sum), ty, &two, &results));
        forms.push(Form::new(Operation::Mad(carry), ty, &three, &results));
        let high = HighMultiplyAdd { carry, ..HighMultiplyAdd::default() };
        forms.push(Form::new(Operation::MadHi(high), ty, &three, &results));
    }
    let wide = twice(ty);
    forms.push(Form::new(Operation::Mad(Carry::NONE), ty, &[ty; 3], &[ty]));
    forms.push(Form::new(Operation::MulHi, ty, &[ty; 2], &[ty]));
    forms.push(Form::new(Operation::MulWide, ty, &[ty; 2], &[wide]));
    forms.push(Form::new(Operation::MadWide, ty, &[ty, ty, wide], &[wide]));
    for sat in BOOLS {
        let saturation = Saturation { sat };
        let high = HighMultiplyAdd { saturation, carry: Carry::NONE };
        forms.push(Form::new(Operation::MadHi(high), ty, &[ty; 3], &[ty]));
        forms.push(Form::new(Operation::Mad24Hi(saturation), ty, &[ty; 3], &[ty]));
    }
    for operation in [Operation::Mul24, Operation::Mul24Hi, Operation::Rem] {
        forms.push(Form::new(operation, ty, &[ty; 2], &[ty]));
    }
    for operation in [Operation::Mad24, Operation::Sad] {
        forms.push(Form::new(operation, ty, &[ty; 3], &[ty]));
    }
}

fn shifts_and_fields(forms: &mut Vec<Form>, ty: ScalarType) {
    let word = ScalarType::U32;
    for operation in [Operation::Shl, Operation::Shr] {
        forms.push(Form::new(operation, ty, &[ty, word], &[ty]));
    }
    for operation in [Operation::Popc, Operation::Clz] {
        forms.push(Form::new(operation, ty, &[ty], &[word]));
    }
    for answer in [BfindAnswer::Position, BfindAnswer::ShiftAmount] {
        forms.push(Form::new(Operation::Bfind(answer), ty, &[ty], &[word]));
    }
    for operation in [Operation::Brev, Operation::Cnot, Operation::Not] {
        forms.push(Form::new(operation, ty, &[ty], &[ty]));
    }
    for operation in [Operation::And, Operation::Or, Operation::Xor] {
        forms.push(Form::new(operation, ty, &[ty; 2], &[ty]));
    }
    forms.push(Form::new(Operation::Bfe, ty, &[ty, word, word], &[ty]));
    forms.push(Form::new(Operation::Bfi, ty, &[ty, ty, word, word], &[ty]));
    forms.push(Form::new(Operation::Selp, ty, &[ty, ty, ScalarType::Pred], &[ty]));
    for of in [ScalarType::S32, ScalarType::F32] {
        for ftz in BOOLS {
            forms.push(Form::new(Operation::Slct(Subnormals { ftz }), ty, &[ty, ty, of], &[ty]).from(of));
        }
    }
}

fn words(forms: &mut Vec<Form>) {
    let word = ScalarType::B32;
    for operation in [Operation::Clmad, Operation::ClmadHi] {
        forms.push(Form::new(operation, ScalarType::U64, &[ScalarType::U64; 3], &[ScalarType::U64]));
    }
    for mode in [ShiftMode::Clamp, ShiftMode::Wrap] {
        for direction in [ShiftDirection::Left, ShiftDirection::Right] {
            forms.push(Form::new(Operation::Shf(FunnelShift { direction, mode }), word, &[word; 3], &[word]));
        }
        forms.push(Form::new(Operation::Bmsk(mode), word, &[word; 2], &[word]));
        for ty in [ScalarType::U32, ScalarType::S32] {
            forms.push(Form::new(Operation::Szext(mode), ty, &[ty, word], &[ty]));
        }
    }
    forms.push(Form::new(Operation::Fns, word, &[word; 3], &[word]));
    use PrmtMode as M;
    for mode in [M::Default, M::F4e, M::B4e, M::Rc8, M::Ecl, M::Ecr, M::Rc16] {
        forms.push(Form::new(Operation::Prmt(mode), word, &[word; 3], &[word]));
    }
    for table in [0x00, 0x80, 0xfe, 0x96, 0xca, 0x35, 0xff] {
        let form = Form::new(Operation::Lop3(Combination::default()), word, &[word; 3], &[word]);
        forms.push(Form { constant: Some(table), ..form });
    }
    for ty in [ScalarType::U32, ScalarType::S32] {
        for other in [ScalarType::U32, ScalarType::S32] {
            forms.push(Form::new(Operation::Dp4a, ty, &[ty, other, ty], &[ty]).from(other));
            for half in [Dp2aHalf::Low, Dp2aHalf::High] {
                forms.push(Form::new(Operation::Dp2a(half), ty, &[ty, other, ty], &[ty]).from(other));
            }
        }
    }
    for to in [ScalarType::U8, ScalarType::S8, ScalarType::U16, ScalarType::S16] {
        for from in [ScalarType::U32, ScalarType::S32] {
            let pack = Operation::CvtPack(PackedWidth::OfType);
            forms.push(Form::new(pack, to, &[from, from, word], &[word]).from(from));
            forms.push(Form::new(pack, to, &[from, from], &[word]).from(from));
        }
    }
    for to in [ScalarType::U8, ScalarType::S8] {
        for width in [PackedWidth::Four, PackedWidth::Two] {
            let from = ScalarType::S32;
            forms.push(Form::new(Operation::CvtPack(width), to, &[from, from, word], &[word]).from(from));
        }
    }
}

fn moves(forms: &mut Vec<Form>) {
    let bits = [ScalarType::B8, ScalarType::B16, ScalarType::B32, ScalarType::B64, ScalarType::B128];
    for wide in bits {
        forms.push(Form::new(Operation::Mov, wide, &[wide], &[wide]));
        for part in bits.into_iter().filter(|part| part.bits() < wide.bits()) {
            let parts = vec![part; (wide.bits() / part.bits()) as usize];
            forms.push(Form::new(Operation::Pack, wide, &parts, &[wide]));
            forms.push(Form::new(Operation::Unpack, wide, &[wide], &parts));
        }
    }
    let truth = ScalarType::Pred;
    forms.push(Form::new(Operation::Mov, truth, &[truth], &[truth]));
    forms.push(Form::new(Operation::Not, truth, &[truth], &[truth]));
    for operation in [Operation::And, Operation::Or, Operation::Xor] {
        forms.push(Form::new(operation, truth, &[truth; 2], &[truth]));
    }
}

fn extrema(forms: &mut Vec<Form>, ty: ScalarType) {
    for (ftz, relu) in pairs() {
        for (nan, xorsign_abs) in pairs() {
            let extremum = Extremum { ftz, relu: relu && ty.is_signed(), nan, xorsign_abs };
            for operation in [Operation::Min(extremum), Operation::Max(extremum)] {
                forms.push(Form::new(operation, ty, &[ty; 2], &[ty]));
                if ty == ScalarType::F32 {
                    forms.push(Form::new(operation, ty, &[ty; 3], &[ty]));
                }
            }
        }
    }
    for ftz in BOOLS {
        forms.push(Form::new(Operation::Abs(Subnormals { ftz }), ty, &[ty], &[ty]));
        forms.push(Form::new(Operation::Neg(Subnormals { ftz }), ty, &[ty], &[ty]));
    }
    use TestProperty as P;
    for property in [P::Finite, P::Infinite, P::Number, P::NotANumber, P::Normal, P::Subnormal] {
        forms.push(Form::new(Operation::Testp(property), ty, &[ty], &[ScalarType::Pred]));
    }
    forms.push(Form::new(Operation::Copysign, ty, &[ty; 2], &[ty]));
}

fn comparisons(forms: &mut Vec<Form>, of: ScalarType) {
    use CompareOp as C;
    let is_float = of.is_float() || matches!(of, ScalarType::F16x2 | ScalarType::Bf16x2);
    let ordered = [C::Eq, C::Ne, C::Lt, C::Le, C::Gt, C::Ge];
    let of_floats = [C::Equ, C::Neu, C::Ltu, C::Leu, C::Gtu, C::Geu, C::Num, C::Nan];
    let of_integers = [C::Lo, C::Ls, C::Hi, C::Hs];
    let others: &[CompareOp] = if is_float { &of_floats } else { &of_integers };
    for &op in ordered.iter().chain(others) {
        for combination in [None, Some(BoolOp::And), Some(BoolOp::Or), Some(BoolOp::Xor)] {
            let comparison = Comparison { op, combination: Combination { op: combination }, ftz: is_float };
            let mut sources = vec![of; 2];
            sources.extend(combination.map(|_| ScalarType::Pred));
            let results = [ScalarType::Pred; 2];
            forms.push(Form::new(Operation::Setp(comparison), of, &sources, &results));
            forms.push(Form::new(Operation::Setp(comparison), of, &sources, &results[..1]));
            let is_packed = of.is_packed();
            let numbers: &[ScalarType] = match of {
                ScalarType::F16x2 => &[ScalarType::F16x2, ScalarType::U32, ScalarType::S32],
                ScalarType::Bf16x2 => &[ScalarType::Bf16x2, ScalarType::U32, ScalarType::S32],
                _ => &[ScalarType::U32, ScalarType::S32, ScalarType::F32, ScalarType::F16, ScalarType::U16],
            };
            for &ty in numbers.iter().filter(|ty| !is_packed || ty.bits() == 32) {
                forms.push(Form::new(Operation::Set(comparison), ty, &sources, &[ty]).from(of));
            }
        }
    }
}

fn conversions(forms: &mut Vec<Form>, to: ScalarType, from: ScalarType) {
    let roundings = [Rounding::Nearest, Rounding::Zero, Rounding::Down, Rounding::Up, Rounding::NearestAway];
    // A result that is narrower than a word is seen in all bits of the word.
    let result = if to.is_integer() && to.bits() < 32 { ScalarType::B32 } else { to };
    for rounding in roundings {
        for (ftz, sat) in pairs() {
            for (satfinite, relu) in pairs() {
                for integral in BOOLS {
                    let how = Conversion { rounding, integral, ftz, sat, satfinite, relu };
                    if !exists(&how, to, from) {
                        continue;
                    }
                    forms.push(Form::new(Operation::Cvt(how), to, &[from], &[result]).from(from));
                    if from == ScalarType::F32 && to.is_packed() {
                        forms.push(Form::new(Operation::Cvt(how), to, &[from; 2], &[result]).from(from));
                    }
                    let is_pair = to.is_packed() && to != ScalarType::Ue8m0x2;
                    if from == ScalarType::F32 && is_pair && rounding == Rounding::Nearest && !ftz && !sat {
                        let sources = [from, from, ScalarType::B32];
                        forms.push(Form::new(Operation::Cvt(how), to, &sources, &[result]).from(from));
                    }
                }
            }
        }
    }
}

/// PTX ISA, `cvt`: the modifiers that go with the types.
fn exists(how: &Conversion, to: ScalarType, from: ScalarType) -> bool {
    let is_half = |ty: ScalarType| matches!(ty, ScalarType::F16 | ScalarType::Bf16);
    let narrows = to.is_float() && (from.is_integer() || from.bits() > to.bits());
    let is_tf32 = to == ScalarType::Tf32;
    let is_packed = to.is_packed() || from.is_packed();
    let has_f32 = to == ScalarType::F32 || from == ScalarType::F32;
    let is_pair_of_halves = matches!(to, ScalarType::F16x2 | ScalarType::Bf16x2);
    let rounds = match how.rounding {
        Rounding::Nearest => true,
        Rounding::NearestAway => is_tf32,
        Rounding::Zero | Rounding::Down | Rounding::Up => {
            narrows
                || how.integral
                || to == ScalarType::Ue8m0x2
                || is_pair_of_halves && from == ScalarType::F32
                || from.is_float() && to.is_integer()
        }
    };
    let integral = to == from && to.is_float();
    rounds
        && (!how.integral || integral)
        && (!how.ftz || has_f32 && !is_packed && !is_tf32)
        && (!how.sat || !is_packed && !is_tf32)
        && (!how.satfinite || is_half(to) && !is_half(from) || is_tf32 || is_packed)
        && (!how.relu || (is_half(to) && from == ScalarType::F32) || is_tf32 || is_packed)
        && !(how.sat && (how.satfinite || how.relu))
}

/// All forms that are worth trying; those that the fast engine does not know are left out later.
fn forms() -> Vec<Form> {
    let mut forms = Vec::new();
    for &ty in ScalarType::ALL {
        sums(&mut forms, ty);
        extrema(&mut forms, ty);
        if ty.is_integer() {
            integers(&mut forms, ty);
            shifts_and_fields(&mut forms, ty);
        }
        comparisons(&mut forms, ty);
        for &from in ScalarType::ALL {
            conversions(&mut forms, ty, from);
        }
    }
    words(&mut forms);
    moves(&mut forms);
    let narrow = [ScalarType::F16, ScalarType::Bf16, ScalarType::F32, ScalarType::F64];
    for ty in [ScalarType::F32, ScalarType::F64] {
        for (a, b, c, rounding) in itertools(&narrow) {
            let types = MixedTypes { a, b, c, rounding };
            forms.push(Form::new(Operation::FmaMixed(types), ty, &[a, b, c], &[ty]));
        }
    }
    forms
}

fn itertools(types: &[ScalarType]) -> Vec<(ScalarType, ScalarType, ScalarType, Rounding)> {
    let mut all = Vec::new();
    for &a in types {
        for &b in types {
            for &c in types {
                all.extend(ROUNDINGS.map(|rounding| (a, b, c, rounding)));
            }
        }
    }
    all
}

/// A stream of numbers (xorshift).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A value of a type, often an awkward one.
    fn value(&mut self, ty: ScalarType) -> u128 {
        match ty {
            ScalarType::B128 => u128::from(self.next()) << 64 | u128::from(self.next()),
            ScalarType::F16 => self.float(5, 10).into(),
            ScalarType::Bf16 => self.float(8, 7).into(),
            ScalarType::F32 => self.float(8, 23).into(),
            ScalarType::F64 => self.float(11, 52).into(),
            ScalarType::F16x2 => (self.float(5, 10) | self.float(5, 10) << 16).into(),
            ScalarType::Bf16x2 => (self.float(8, 7) | self.float(8, 7) << 16).into(),
            ScalarType::F32x2 => (self.float(8, 23) | self.float(8, 23) << 32).into(),
            ScalarType::U16x2 | ScalarType::S16x2 => (self.integer(16) | self.integer(16) << 16).into(),
            ScalarType::U8x4 | ScalarType::S8x4 => (0..4).map(|at| u128::from(self.integer(8)) << (8 * at)).sum(),
            ty => self.integer(ty.bits().min(64)).into(),
        }
    }

    fn integer(&mut self, bits: u32) -> u64 {
        let top = 1u64 << (bits - 1);
        let value = match self.next() % 8 {
            0 => [0, 1, 2, 31, 32, 33, 63, 64][self.next() as usize % 8],
            1 => [top, top - 1, top + 1, top.wrapping_mul(2).wrapping_sub(1)][self.next() as usize % 4],
            2 => 0u64.wrapping_sub(self.next() % 70),
            3 => self.next() % 300,
            4 => 1 << (self.next() % u64::from(bits)),
            _ => self.next() >> (self.next() % u64::from(bits)),
        };
        if bits == 64 { value } else { value & ((1 << bits) - 1) }
    }

    /// Bits of a float: special ones, neighbours of each other, and any.
    fn float(&mut self, exponent_bits: u32, fraction_bits: u32) -> u64 {
        let bias = (1u64 << (exponent_bits - 1)) - 1;
        let infinity = ((1 << exponent_bits) - 1) << fraction_bits;
        let fraction = self.next() & ((1 << fraction_bits) - 1);
        let sparse = fraction & !(u64::MAX >> 1 >> (63 - fraction_bits) >> (self.next() % 4));
        let near = |of: u64| bias - 3 + of % 7;
        let magnitude = match self.next() % 12 {
            0 => [0, 1, 2, 3][self.next() as usize % 4],
            1 => fraction,
            2 => [infinity, infinity | 1, infinity - 1, infinity | 1 << (fraction_bits - 1)][self.next() as usize % 4],
            3 => (1 << fraction_bits) + self.next() % 3 - 1,
            4 => bias << fraction_bits | sparse,
            5 | 6 => near(self.next()) << fraction_bits | fraction,
            7 => near(self.next()) << fraction_bits | sparse,
            8 => (bias + u64::from(fraction_bits)) << fraction_bits | fraction,
            9 => (self.next() % (u64::from(fraction_bits) + 3)) << fraction_bits | fraction,
            _ => (self.next() % (1 << exponent_bits)) << fraction_bits | fraction,
        };
        magnitude | (self.next() & 1) << (exponent_bits + fraction_bits)
    }
}

/// A kernel that applies a form to operands in memory.
struct Kernel {
    module: Module,
    insts: Vec<Inst>,
}

const fn vector(index: u32, width: Width) -> Register {
    Register::vector(index, width)
}

const IN: Register = vector(4, Width::Pair);
const OUT: Register = vector(6, Width::Pair);
const WORD: Register = vector(2, Width::Word);

impl Kernel {
    fn inst(
        &mut self,
        operation: Operation,
        ty: ScalarType,
        to: &[Option<Register>],
        sources: &[Operand],
    ) -> &mut Inst {
        let spelling = self.module.spellings.push(Spelling::new(InstKey::UNKNOWN, operation.op().name().to_owned()));
        let line = self.module.pcs.len() as u32;
        let pc: Pc = self.module.pcs.push(PcInfo {
            function: FunctionId(0),
            spelling,
            span: Span::default(),
            line,
            class: OpClass::Other,
            high_latency: None,
        });
        let mut inst = Inst::new(pc, operation, ty);
        inst.destinations = to.to_vec();
        inst.sources = sources.to_vec();
        self.insts.push(inst);
        self.insts.last_mut().unwrap()
    }

    /// The thread's place in the buffer at `base`: `n` values of each thread.
    fn place(&mut self, to: Register, base: u64, n: usize) {
        let index = Operand::Register(vector(1, Width::Word));
        let sources = [index, Operand::Immediate(n as u64 * STRIDE), Operand::Immediate(base)];
        self.inst(Operation::MadWide, ScalarType::U32, &[Some(to)], &sources);
    }

    fn transfer(&mut self, operation: Operation, ty: ScalarType, (base, at): (Register, usize), value: Register) {
        let access = AccessOrder::default();
        let inst = match operation {
            Operation::Ld(_) => self.inst(Operation::Ld(access), ty, &[Some(value)], &[]),
            _ => self.inst(Operation::St(access), ty, &[], &[Operand::Register(value)]),
        };
        let base = Operand::Register(base);
        let offset = at as i64 * STRIDE as i64;
        inst.memory = MemoryReference { space: StateSpace::Global, base, offset, elements: 1 }.into();
    }

    /// The kernel of a form. Its guard leaves out every seventh thread.
    fn of(form: &Form, input: u64, output: u64) -> Module {
        let module = Module { address_bits: 64, ..Module::default() };
        let mut kernel = Self { module, insts: Vec::new() };
        let special = |register| [Operand::Special(register)];
        let [lane, cta] = [vector(0, Width::Word), vector(1, Width::Word)];
        kernel.inst(Operation::ReadSpecial, ScalarType::U32, &[Some(lane)], &special(SpecialRegister::Laneid));
        let x = SpecialRegister::Ctaid(warplens_isa::Axis::X);
        kernel.inst(Operation::ReadSpecial, ScalarType::U32, &[Some(cta)], &special(x));
        let sources = [Operand::Register(cta), Operand::Immediate(32), Operand::Register(lane)];
        kernel.inst(Operation::Mad(Carry::NONE), ScalarType::U32, &[Some(cta)], &sources);
        kernel.place(IN, input, form.sources.len());
        kernel.place(OUT, output, form.destinations.len());
        let mut sources = Vec::new();
        for (at, &ty) in form.sources.iter().enumerate() {
            if ty == ScalarType::Pred {
                let truth = Register::predicate(at as u32);
                kernel.transfer(Operation::Ld(AccessOrder::default()), ScalarType::B32, (IN, at), WORD);
                let operands = [Operand::Register(WORD), Operand::Immediate(0)];
                let comparison = Operation::Setp(Comparison::new(CompareOp::Lt));
                kernel.inst(comparison, ScalarType::S32, &[Some(truth)], &operands);
                sources.push(Operand::Register(truth));
                continue;
            }
            let register = vector(8 + 4 * at as u32, width(ty));
            let memory_ty = memory_type(ty);
            kernel.transfer(Operation::Ld(AccessOrder::default()), memory_ty, (IN, at), register);
            sources.push(Operand::Register(register));
        }
        sources.extend(form.constant.map(Operand::Immediate));
        let of_result = |(at, &ty): (usize, &ScalarType)| match ty {
            ScalarType::Pred => Register::predicate(8 + at as u32),
            ty => vector(80 + 4 * at as u32, width(ty)),
        };
        let results: Vec<Register> = form.destinations.iter().enumerate().map(of_result).collect();
        let guard = Register::predicate(15);
        let remainder = [Operand::Register(cta), Operand::Immediate(7)];
        kernel.inst(Operation::Rem, ScalarType::U32, &[Some(WORD)], &remainder);
        let operands = [Operand::Register(WORD), Operand::Immediate(3)];
        kernel.inst(Operation::Setp(Comparison::new(CompareOp::Eq)), ScalarType::U32, &[Some(guard)], &operands);
        let destinations: Vec<_> = results.iter().copied().map(Some).collect();
        let inst = kernel.inst(form.operation, form.ty, &destinations, &sources);
        inst.source_ty = form.source_ty;
        inst.guard = Some(Guard { predicate: guard, negated: true });
        for (at, (&register, &ty)) in results.iter().zip(&form.destinations).enumerate() {
            if register.bank == Bank::Predicate {
                let sources = [Operand::Immediate(1), Operand::Immediate(0), Operand::Register(register)];
                kernel.inst(Operation::Selp, ScalarType::B32, &[Some(WORD)], &sources);
                kernel.transfer(Operation::St(AccessOrder::default()), ScalarType::B32, (OUT, at), WORD);
            } else {
                let ty = memory_type(ty);
                let seen = if ty.bits() < 32 { ScalarType::B32 } else { ty };
                kernel.transfer(Operation::St(AccessOrder::default()), seen, (OUT, at), register);
            }
        }
        kernel.inst(Operation::Exit, ScalarType::Pred, &[], &[]);
        let insts = std::mem::take(&mut kernel.insts);
        let flow = Flow::Exit { next: None };
        kernel.module.blocks.push(Block { label: None, stays_rolled: false, insts, flow });
        kernel.module.functions.push(Function {
            name: "kernel".into(),
            kind: FunctionKind::Kernel,
            parameters: Vec::new(),
            arguments: Vec::new(),
            results: Vec::new(),
            registers: RegisterWords { vector: 160, predicate: 16, ..RegisterWords::default() },
            local_bytes: 0,
            shared_bytes: 0,
            reserved_shared_bytes: 0,
            machine_registers: None,
            first_block: BlockId(0),
            n_blocks: 1,
            bounds: LaunchBounds::default(),
            explicit_convergence: false,
        });
        kernel.module
    }
}

/// The type in which a value is loaded and stored.
fn memory_type(ty: ScalarType) -> ScalarType {
    match ty.bits() {
        ..=8 => ScalarType::B8,
        16 => ScalarType::B16,
        32 => ScalarType::B32,
        64 => ScalarType::B64,
        _ => ScalarType::B128,
    }
}

/// What a form gives; none if the engine does not know it.
fn results<E: Engine>(form: &Form, operands: &[u8]) -> Option<Vec<u8>> {
    let mut device = Device::new(64, 1 << 30);
    let input = device.allocate("in", operands.len() as u64).unwrap();
    device.write(input, 0, operands);
    let n_bytes = u64::from(N_CTAS) * 32 * form.destinations.len() as u64 * STRIDE;
    let output = device.allocate("out", n_bytes).unwrap();
    let module = Kernel::of(form, device.buffer(input).base, device.buffer(output).base);
    let image = device.load(&module).unwrap();
    let program = Program::<E>::for_engine(&module, image, FunctionId(0), &mut device).unwrap();
    if !program.unsupported().is_empty() {
        return None;
    }
    let launch = Launch {
        grid: [N_CTAS, 1, 1],
        block: [32, 1, 1],
        cluster: None,
        dynamic_shared: 0,
        parameters: Vec::new(),
        ctas: None,
        budget: 10_000,
        launch_budget: u64::MAX,
        resident_ctas: 1,
        threads: 1,
        schedule: Schedule::Any,
        allow_unsupported: false,
        allow_overreads: false,
        barriers: BarrierRule::Threads,
        tensor_cores: warplens_exec::TensorCores::default(),
    };
    warplens_exec::launch(&program, &device, &launch, (), &AtomicU64::new(0)).expect("the kernel ends");
    Some(device.read(output, 0, n_bytes))
}

fn operands_of(form: &Form) -> Vec<u8> {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let mut bytes = Vec::new();
    for _ in 0..N_CTAS * 32 {
        let start = numbers.next();
        for &ty in &form.sources {
            // Now and then an operand is the same as the one before, which is where ties and cancellations are.
            let again = bytes.len() >= 16 && start.is_multiple_of(5);
            let value = if again && !bytes.is_empty() {
                u128::from_le_bytes(bytes[bytes.len() - 16..].try_into().unwrap())
            } else {
                numbers.value(ty)
            };
            bytes.extend(value.to_le_bytes());
        }
    }
    bytes
}

fn word(bytes: &[u8], index: usize) -> u128 {
    u128::from_le_bytes(bytes[16 * index..][..16].try_into().unwrap())
}

#[test]
fn every_form_gives_the_same_bits_by_both_engines() {
    let mut tried = BTreeSet::new();
    let mut failures = Vec::new();
    let mut n_forms = 0;
    for form in forms() {
        let operands = operands_of(&form);
        let Some(fast) = results::<Simt>(&form, &operands) else { continue };
        n_forms += 1;
        tried.insert(form.operation.op());
        let Some(slow) = results::<Reference>(&form, &operands) else {
            failures.push(format!("{form:?}: the reference does not know it"));
            continue;
        };
        let n = form.destinations.len();
        if let Some(at) = (0..fast.len() / 16).find(|&at| word(&fast, at) != word(&slow, at)) {
            let sources: Vec<String> = (0..form.sources.len())
                .map(|s| format!("{:#x}", word(&operands, at / n * form.sources.len() + s)))
                .collect();
            let (fast, slow) = (word(&fast, at), word(&slow, at));
            failures.push(format!("{form:?}\n    of {}: {fast:#x}, reference {slow:#x}", sources.join(" ")));
        }
    }
    assert!(failures.is_empty(), "{} of {n_forms} forms:\n{}", failures.len(), failures.join("\n"));
    // What lanes do on their own, but for the approximate functions, which both take from one definition.
    let elsewhere = |op: &Op| !tried.contains(op);
    let missing: Vec<&Op> = Op::ALL.iter().filter(|op| elsewhere(op)).collect();
    let expected = [
        Op::ReadSpecial,
        Op::Cvta,
        Op::Isspacep,
        Op::Rsqrt,
        Op::Sin,
        Op::Cos,
        Op::Ex2,
        Op::Lg2,
        Op::Tanh,
        Op::Ld,
        Op::TestPhase,
        Op::St,
        Op::Atom,
        Op::Red,
        Op::RedCluster,
        Op::Copy,
        Op::Prefetch,
        Op::CopyBulk,
        Op::FillBulk,
        Op::CopyTensor,
        Op::Tex,
        Op::Tld4,
        Op::Suld,
        Op::Sust,
        Op::Sured,
        Op::QueryTexture,
        Op::Istypep,
        Op::CopyCommit,
        Op::CopyWait,
        Op::Shfl,
        Op::Vote,
        Op::Match,
        Op::Activemask,
        Op::Redux,
        Op::Elect,
        Op::Movmatrix,
        Op::Mma,
        Op::MmaAsync,
        Op::Ldmatrix,
        Op::Stmatrix,
        Op::Bra,
        Op::BrxIdx,
        Op::Jump,
        Op::Call,
        Op::Ret,
        Op::Exit,
        Op::Trap,
        Op::Bssy,
        Op::Bsync,
        Op::Break,
        Op::ReadConvergence,
        Op::WriteConvergence,
        Op::Nop,
        Op::Bar,
        Op::ClusterBar,
        Op::BarWarp,
        Op::Fence,
        Op::Alloca,
        Op::StackSave,
        Op::StackRestore,
        Op::SystemCall,
        Op::Unsupported,
    ];
    let expected: Vec<&Op> = expected.iter().collect();
    assert_eq!(missing, expected, "each operation is tried here, or by the kernels of tests/exec");
}
