//! What an instruction of a source is, whatever language spells it: the key of counts, costs and listings.

use std::fmt;

use crate::{AtomicOp, CompareOp, Family, HighLatency, Precision, Rounding, ScalarType, SlowOperation, StateSpace};

/// An instruction as a source writes it, by type: everything that a cost, a count or an advice tells apart.
///
/// A front end makes it from its own opcodes and modifiers. What a source leaves open stays open here: a division that
/// names no rounding is not one to nearest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct InstKey {
    /// What it does.
    pub family: Family,
    /// Which part of a product it gives.
    pub part: Part,
    /// State space that it names.
    pub space: Option<StateSpace>,
    /// Elements per lane of a vector, matrices of a matrix access; 1 for a single value.
    pub elements: u8,
    /// Shape of a matrix instruction.
    pub shape: Option<MatrixShape>,
    /// Comparison.
    pub compare: Option<CompareOp>,
    /// Read-modify-write operation.
    pub atomic: Option<AtomicOp>,
    /// How it is ordered with other accesses.
    pub order: MemoryOrder,
    /// Threads among which it orders or waits.
    pub scope: Option<Scope>,
    /// What it asks of the caches.
    pub cache: CacheUse,
    /// Rounding that it names.
    pub rounding: Option<Rounding>,
    /// It rounds to an integral value.
    pub integral: bool,
    /// Accuracy that it names.
    pub precision: Precision,
    /// Subnormal numbers are flushed to zero.
    pub ftz: bool,
    /// The result is clamped.
    pub sat: bool,
    /// Types in the order in which they are written.
    pub types: Types,
}

/// Which part of a product is the result.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Part {
    /// None is named.
    #[default]
    Whole,
    /// The low half.
    Low,
    /// The high half.
    High,
    /// Both, in a register twice as wide.
    Wide,
}

/// Rows, columns and depth of a matrix instruction; a matrix that is only moved has depth 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MatrixShape {
    /// Rows.
    pub m: u16,
    /// Columns.
    pub n: u16,
    /// Depth of the product.
    pub k: u16,
}

impl MatrixShape {
    /// Multiply-adds of a product of this shape.
    pub const fn multiply_adds(self) -> u32 {
        self.m as u32 * self.n as u32 * self.k as u32
    }
}

/// How an access is ordered with others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum MemoryOrder {
    /// Not at all.
    #[default]
    Weak,
    /// `.volatile`
    Volatile,
    /// `.relaxed`
    Relaxed,
    /// `.acquire`
    Acquire,
    /// `.release`
    Release,
    /// `.acq_rel`
    AcquireRelease,
    /// `.sc`
    SequentiallyConsistent,
    /// `.mmio`
    Mmio,
}

/// Threads among which an access is ordered, or a barrier waits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Scope {
    /// Of a warp.
    Warp,
    /// Of a CTA.
    Cta,
    /// Of a cluster of CTAs.
    Cluster,
    /// Of the GPU.
    Gpu,
    /// Of all GPUs and the host.
    System,
}

/// What an access asks of the caches.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct CacheUse {
    /// Which caches keep the line.
    pub operator: Option<CacheOperator>,
    /// Nobody writes what it reads while the kernel runs: `.nc`.
    pub read_only: bool,
    /// It names an eviction priority, a prefetch size or a policy.
    pub hinted: bool,
}

/// Which caches keep the line that is accessed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CacheOperator {
    /// `.ca`: all levels.
    Ca,
    /// `.cg`: only the level that all SMs share.
    Cg,
    /// `.cs`: likely used once.
    Cs,
    /// `.lu`: last use.
    Lu,
    /// `.cv`: fetched again.
    Cv,
    /// `.wb`: written back.
    Wb,
    /// `.wt`: written through.
    Wt,
}

macro_rules! narrow_types {
    ($($name:ident $text:literal,)*) => {
        /// Types that only instructions beyond scalar arithmetic know: elements of matrices, quarters of words, handles.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum NarrowType {
            $(#[doc = concat!("`", $text, "`")] $name,)*
        }

        impl NarrowType {
            /// Every type.
            pub const ALL: &[NarrowType] = &[$(Self::$name,)*];

            /// Name as PTX writes it, without the dot.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// The type called `name`.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|ty| ty.name() == name)
            }
        }
    };
}

narrow_types! {
    B1 "b1", B2 "b2", B4 "b4", B1024 "b1024", U2 "u2", U4 "u4", S2 "s2", S4 "s4", E4m3 "e4m3",
    E5m2 "e5m2", E3m4 "e3m4", E2m3 "e2m3", E3m2 "e3m2", E2m1 "e2m1", E0m3 "e0m3", E3m4x2 "e3m4x2", E0m3x2 "e0m3x2",
    E4m3x4 "e4m3x4", E5m2x4 "e5m2x4", E3m4x4 "e3m4x4", E2m3x4 "e2m3x4", E3m2x4 "e3m2x4", E2m1x4 "e2m1x4",
    E0m3x4 "e0m3x4", Ue4m3 "ue4m3", Ue8m0 "ue8m0", Ue8m0x4 "ue8m0x4", Ue5m3x2 "ue5m3x2", S2m6 "s2m6", S2m6x2 "s2m6x2",
    S2f6x2 "s2f6x2", S32k2 "s32k2", B16x2 "b16x2", B8x16 "b8x16", B6x16P32 "b6x16_p32", B4x16P64 "b4x16_p64",
    Texref "texref", Samplerref "samplerref", Surfref "surfref",
}

/// A type that an instruction names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum NamedType {
    /// One that values in registers have.
    Scalar(ScalarType),
    /// Any other.
    Narrow(NarrowType),
}

impl NamedType {
    /// The type called `name`, without the dot.
    pub fn from_name(name: &str) -> Option<Self> {
        ScalarType::from_name(name).map(Self::Scalar).or_else(|| NarrowType::from_name(name).map(Self::Narrow))
    }
}

impl fmt::Display for NamedType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scalar(ty) => ty.fmt(f),
            Self::Narrow(ty) => f.write_str(ty.name()),
        }
    }
}

/// The types of an instruction in the order in which they are written. The last is that of the sources.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Types([Option<NamedType>; 5]);

impl Types {
    /// One scalar type.
    pub const fn one(ty: ScalarType) -> Self {
        Self([Some(NamedType::Scalar(ty)), None, None, None, None])
    }

    /// Appends a type. No instruction names more than there is room for; a further one is left out.
    pub fn push(&mut self, ty: NamedType) {
        if let Some(free) = self.0.iter_mut().find(|slot| slot.is_none()) {
            *free = Some(ty);
        }
    }

    /// The types.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = NamedType> + '_ {
        self.0.iter().flatten().copied()
    }

    /// The last type, if it is one of values in registers.
    pub fn last_scalar(&self) -> Option<ScalarType> {
        match self.iter().next_back()? {
            NamedType::Scalar(ty) => Some(ty),
            NamedType::Narrow(_) => None,
        }
    }

    /// The types with `ty` in place of the last.
    #[must_use]
    pub fn with_last(mut self, ty: ScalarType) -> Self {
        if let Some(last) = self.0.iter_mut().rev().flatten().next() {
            *last = NamedType::Scalar(ty);
        }
        self
    }
}

impl InstKey {
    /// The plain instruction of a family: no type, nothing named.
    pub const fn of_family(family: Family) -> Self {
        Self {
            family,
            part: Part::Whole,
            space: None,
            elements: 1,
            shape: None,
            compare: None,
            atomic: None,
            order: MemoryOrder::Weak,
            scope: None,
            cache: CacheUse { operator: None, read_only: false, hinted: false },
            rounding: None,
            integral: false,
            precision: Precision::Ieee,
            ftz: false,
            sat: false,
            types: Types([None; 5]),
        }
    }

    /// The plain instruction of a family on values of one type.
    pub const fn new(family: Family, ty: ScalarType) -> Self {
        Self { types: Types::one(ty), ..Self::of_family(family) }
    }

    /// An instruction whose spelling no front end knows.
    pub const UNKNOWN: Self = Self::of_family(Family::Unknown);

    /// Type of the values that it works on: the last that is written.
    pub fn ty(&self) -> Option<ScalarType> {
        self.types.last_scalar()
    }

    /// It loads values from memory into registers.
    pub fn is_load(&self) -> bool {
        matches!(self.family, Family::Ld | Family::Ldu)
    }

    /// It stores values from registers to memory.
    pub fn is_store(&self) -> bool {
        self.family == Family::St
    }

    /// It reads, modifies and writes memory.
    pub fn is_atomic(&self) -> bool {
        matches!(self.family, Family::Atom | Family::Red)
    }

    /// It accesses memory with an address per lane; parameters, which come with the launch, are no memory for it.
    pub fn accesses_memory(&self) -> bool {
        let is_parameter = self.is_load() && self.space == Some(StateSpace::Param);
        (self.is_load() || self.is_store() || self.is_atomic()) && !is_parameter
    }

    /// Warps of a CTA, or CTAs of a cluster, wait for each other.
    pub fn is_cta_barrier(&self) -> bool {
        match self.family {
            Family::Bar => self.scope != Some(Scope::Warp),
            Family::Barrier | Family::BarrierClusterArrive | Family::BarrierClusterWait => true,
            _ => false,
        }
    }

    /// It lets threads wait for each other, or orders their accesses.
    pub fn is_synchronisation(&self) -> bool {
        use Family as F;
        matches!(
            self.family,
            F::Bar | F::Barrier | F::BarrierClusterArrive | F::BarrierClusterWait | F::Fence | F::Membar
        )
    }

    /// It accesses several elements per lane.
    pub fn is_vector(&self) -> bool {
        self.elements > 1
    }

    /// It reads what nobody writes while the kernel runs.
    pub fn reads_constant_data(&self) -> bool {
        self.cache.read_only
    }

    /// What a profile counts it as among the operations that expand or are slow. A widening product names its factors,
    /// which are narrow.
    pub fn slow_operation(&self) -> Option<SlowOperation> {
        let ty = self.ty()?;
        let kind = match self.family {
            Family::Sqrt => HighLatency::Sqrt,
            Family::Rsqrt => HighLatency::Rsqrt,
            Family::Rcp => HighLatency::Rcp,
            Family::Div => HighLatency::Div,
            Family::Rem => HighLatency::Rem,
            Family::Sin => HighLatency::Sin,
            Family::Cos => HighLatency::Cos,
            Family::Ex2 => HighLatency::Ex2,
            Family::Lg2 => HighLatency::Lg2,
            Family::Tanh => HighLatency::Tanh,
            Family::Mul | Family::Mad if self.part != Part::Wide && ty.is_integer() && ty.bits() == 64 => {
                HighLatency::Mul
            }
            _ => return None,
        };
        Some(SlowOperation { kind, ty })
    }

    /// The approximate operation that can stand for an exact one of single precision.
    pub fn approximate(&self) -> Option<Self> {
        let approximate = Self { precision: Precision::Approx, rounding: None, ..*self };
        let to_nearest = self.precision == Precision::Ieee && self.rounding == Some(Rounding::Nearest);
        let is_exact = match self.family {
            Family::Div => to_nearest || self.precision == Precision::Full && !self.ftz,
            Family::Sqrt | Family::Rcp => to_nearest,
            _ => false,
        };
        (is_exact && self.ty() == Some(ScalarType::F32)).then_some(approximate)
    }

    /// The same operation on values of type `to`, if it works on `from`.
    pub fn retyped(&self, from: ScalarType, to: ScalarType) -> Option<Self> {
        (self.ty() == Some(from)).then(|| Self { types: self.types.with_last(to), ..*self })
    }
}

impl From<SlowOperation> for InstKey {
    fn from(operation: SlowOperation) -> Self {
        let family = match operation.kind {
            HighLatency::Sqrt => Family::Sqrt,
            HighLatency::Rsqrt => Family::Rsqrt,
            HighLatency::Rcp => Family::Rcp,
            HighLatency::Div => Family::Div,
            HighLatency::Rem => Family::Rem,
            HighLatency::Sin => Family::Sin,
            HighLatency::Cos => Family::Cos,
            HighLatency::Ex2 => Family::Ex2,
            HighLatency::Lg2 => Family::Lg2,
            HighLatency::Tanh => Family::Tanh,
            HighLatency::Mul => Family::Mul,
        };
        Self::new(family, operation.ty)
    }
}

/// The words of the key with dots between them, such as `div.approx.ftz.f32`; PTX's words where it has them.
impl fmt::Display for InstKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.family.name())?;
        for word in self.words().into_iter().flatten() {
            write!(f, ".{word}")?;
        }
        if let Some(MatrixShape { m, n, k }) = self.shape {
            write!(f, ".m{m}n{n}")?;
            if k > 0 {
                write!(f, "k{k}")?;
            }
        }
        if self.elements > 1 {
            write!(f, ".v{}", self.elements)?;
        }
        self.types.iter().try_for_each(|ty| write!(f, ".{ty}"))
    }
}

impl InstKey {
    /// The words between the family and the shape.
    fn words(&self) -> [Option<&'static str>; 13] {
        let flag = |is_set: bool, word: &'static str| is_set.then_some(word);
        [
            part_word(self.part),
            order_word(self.order),
            self.scope.map(scope_word),
            self.space.filter(|&space| space != StateSpace::Generic).map(StateSpace::name),
            self.cache.operator.map(cache_word),
            flag(self.cache.read_only, "nc"),
            self.compare.map(compare_word),
            self.atomic.map(atomic_word),
            self.rounding.map(|rounding| rounding_word(rounding, self.integral)),
            precision_word(self.precision),
            flag(self.ftz, "ftz"),
            flag(self.sat, "sat"),
            flag(self.cache.hinted, "hinted"),
        ]
    }
}

const fn part_word(part: Part) -> Option<&'static str> {
    match part {
        Part::Whole => None,
        Part::Low => Some("lo"),
        Part::High => Some("hi"),
        Part::Wide => Some("wide"),
    }
}

const fn order_word(order: MemoryOrder) -> Option<&'static str> {
    Some(match order {
        MemoryOrder::Weak => return None,
        MemoryOrder::Volatile => "volatile",
        MemoryOrder::Relaxed => "relaxed",
        MemoryOrder::Acquire => "acquire",
        MemoryOrder::Release => "release",
        MemoryOrder::AcquireRelease => "acq_rel",
        MemoryOrder::SequentiallyConsistent => "sc",
        MemoryOrder::Mmio => "mmio",
    })
}

const fn scope_word(scope: Scope) -> &'static str {
    match scope {
        Scope::Warp => "warp",
        Scope::Cta => "cta",
        Scope::Cluster => "cluster",
        Scope::Gpu => "gpu",
        Scope::System => "sys",
    }
}

const fn cache_word(operator: CacheOperator) -> &'static str {
    match operator {
        CacheOperator::Ca => "ca",
        CacheOperator::Cg => "cg",
        CacheOperator::Cs => "cs",
        CacheOperator::Lu => "lu",
        CacheOperator::Cv => "cv",
        CacheOperator::Wb => "wb",
        CacheOperator::Wt => "wt",
    }
}

const fn compare_word(compare: CompareOp) -> &'static str {
    match compare {
        CompareOp::Eq => "eq",
        CompareOp::Ne => "ne",
        CompareOp::Lt => "lt",
        CompareOp::Le => "le",
        CompareOp::Gt => "gt",
        CompareOp::Ge => "ge",
        CompareOp::Lo => "lo",
        CompareOp::Ls => "ls",
        CompareOp::Hi => "hi",
        CompareOp::Hs => "hs",
        CompareOp::Equ => "equ",
        CompareOp::Neu => "neu",
        CompareOp::Ltu => "ltu",
        CompareOp::Leu => "leu",
        CompareOp::Gtu => "gtu",
        CompareOp::Geu => "geu",
        CompareOp::Num => "num",
        CompareOp::Nan => "nan",
    }
}

const fn atomic_word(atomic: AtomicOp) -> &'static str {
    match atomic {
        AtomicOp::And => "and",
        AtomicOp::Or => "or",
        AtomicOp::Xor => "xor",
        AtomicOp::Exch => "exch",
        AtomicOp::Cas => "cas",
        AtomicOp::Add => "add",
        AtomicOp::Inc => "inc",
        AtomicOp::Dec => "dec",
        AtomicOp::Min => "min",
        AtomicOp::Max => "max",
        // These have families of their own.
        AtomicOp::Mbarrier(_) => "mbarrier",
    }
}

const fn rounding_word(rounding: Rounding, integral: bool) -> &'static str {
    match (rounding, integral) {
        (Rounding::Nearest, false) => "rn",
        (Rounding::Zero, false) => "rz",
        (Rounding::Down, false) => "rm",
        (Rounding::Up, false) => "rp",
        (Rounding::Nearest, true) => "rni",
        (Rounding::Zero, true) => "rzi",
        (Rounding::Down, true) => "rmi",
        (Rounding::Up, true) => "rpi",
        (Rounding::NearestAway, _) => "rna",
    }
}

const fn precision_word(precision: Precision) -> Option<&'static str> {
    match precision {
        Precision::Ieee => None,
        Precision::Approx => Some("approx"),
        Precision::Full => Some("full"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_say_what_can_be_asked() {
        let load =
            InstKey { space: Some(StateSpace::Global), elements: 4, ..InstKey::new(Family::Ld, ScalarType::F32) };
        assert_eq!(load.to_string(), "ld.global.v4.f32");
        assert!(load.is_load() && load.is_vector() && load.accesses_memory() && !load.reads_constant_data());
        let parameter = InstKey { space: Some(StateSpace::Param), ..load };
        assert!(parameter.is_load() && !parameter.accesses_memory());
        let barrier = InstKey::of_family(Family::Bar);
        assert!(barrier.is_cta_barrier() && !InstKey { scope: Some(Scope::Warp), ..barrier }.is_cta_barrier());
    }

    #[test]
    fn slow_operations_are_those_that_a_profile_counts() {
        let product = InstKey { part: Part::High, ..InstKey::new(Family::Mad, ScalarType::U64) };
        assert_eq!(product.slow_operation().unwrap().to_string(), "mul.u64");
        assert_eq!(InstKey { part: Part::Wide, ..product }.slow_operation(), None);
        assert_eq!(InstKey::new(Family::Add, ScalarType::U64).slow_operation(), None);
    }

    #[test]
    fn exact_operations_have_approximate_ones() {
        let exact =
            InstKey { rounding: Some(Rounding::Nearest), ftz: true, ..InstKey::new(Family::Div, ScalarType::F32) };
        assert_eq!(exact.approximate().unwrap().to_string(), "div.approx.ftz.f32");
        assert_eq!(exact.approximate().unwrap().approximate(), None);
        assert_eq!(exact.retyped(ScalarType::F32, ScalarType::F64).unwrap().approximate(), None);
        // An old module names no rounding, and means an approximate division.
        assert_eq!(InstKey { rounding: None, ..exact }.approximate(), None);
    }
}
