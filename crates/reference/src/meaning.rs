//! What each operation means. The list is complete: an operation that is added to the table does not compile without a
//! meaning here.

use std::cmp::Ordering;

use warplens_exec::decoded::{Decoded, File, Operand};
use warplens_exec::engine::{Adder, Exchange};
use warplens_exec::semantics::half::{Bf16, F16};
use warplens_exec::semantics::warp::{ReduceMods, Sort};
use warplens_exec::semantics::{float64, math};
use warplens_isa::{
    AddressConversion, AddressDirection, AtomicOp, BarrierKind, ClusterPhase, CopyRead, GroupProduct, MatrixMove,
    MatrixProduct, Operation, PhaseOf, ScalarType, SpecialRegister, StateSpace, SystemCall, TensorCopy,
};

use crate::value::{NO_SUCH_FORM, NoMeaning, Results, Sources, one, ones};
use crate::{arithmetic, bits, compare, convert};

/// What a lane does on its own.
pub(crate) type Rule<'i> = Box<dyn Fn(&Sources<'_>) -> Result<Results, NoMeaning> + 'i>;

/// What an operation means.
pub(crate) enum Meaning<'i> {
    /// Each lane computes its results from its sources.
    Lane(Rule<'i>),
    /// Reads a special register.
    Special(SpecialRegister),
    /// Converts an address.
    Address(AddressConversion),
    /// Tests in which space a generic address lies.
    IsIn(StateSpace),
    Load,
    /// Copies a box of a tensor.
    CopyTensor(TensorCopy),
    /// Asks for a phase of a barrier in memory.
    TestPhase(PhaseOf),
    Store,
    Atomic(AtomicOp),
    Copy(CopyRead),
    /// Zeros in many bytes.
    FillBulk,
    /// A copy of many bytes, and whether to several CTAs.
    CopyBulk(Option<AtomicOp>, bool),
    /// An atomic in each CTA of a mask.
    AtomicInCtas(AtomicOp),
    /// Lanes look at each other, or wait for each other; where the member mask stands among the sources.
    Exchange(Exchange, usize),
    ActiveMask,
    /// A texture or surface instruction.
    Texture,
    /// The warp multiplies matrices.
    Matrix(&'i MatrixProduct),
    /// Four warps multiply matrices.
    Group(&'i GroupProduct),
    /// The warp moves matrices from memory, or to it.
    LoadMatrices(MatrixMove),
    StoreMatrices(MatrixMove),
    Barrier(BarrierKind),
    ClusterBarrier(ClusterPhase),
    /// Lanes are added to the mask of a convergence barrier.
    JoinConvergence(u32),
    /// Lanes are taken out of it.
    BreakConvergence(u32),
    /// Its mask is read.
    ReadConvergence(u32),
    /// Its mask is written.
    WriteConvergence(u32),
    ReserveStack,
    SaveStack,
    RestoreStack,
    System(SystemCall),
    /// Nothing that a thread could see.
    Nothing,
    /// None.
    No(NoMeaning),
}

/// A rule of one lane.
fn lane<'i>(rule: impl Fn(&Sources<'_>) -> Result<Results, NoMeaning> + 'i) -> Meaning<'i> {
    Meaning::Lane(Box::new(rule))
}

/// An approximate function of f32, whose bits are our own definition.
fn approximate<'i>(ftz: bool, function: fn(f32, bool) -> f32) -> Meaning<'i> {
    lane(move |s| {
        if s.ty() != ScalarType::F32 {
            return Err(NO_SUCH_FORM);
        }
        one(function(f32::from_bits(s.word(0, s.ty())? as u32), ftz).to_bits().into(), s.ty())
    })
}

/// The meaning of an operation.
pub(crate) fn meaning(inst: &Decoded) -> Meaning<'_> {
    match &inst.operation {
        Operation::Mov => match inst.sources.first() {
            Some(Operand::Special(register)) => Meaning::Special(*register),
            _ => lane(|s| one(s.bits(0, s.ty())?, s.ty())),
        },
        Operation::ReadSpecial => match inst.sources.first() {
            Some(Operand::Special(register)) => Meaning::Special(*register),
            _ => Meaning::No(NO_SUCH_FORM),
        },
        Operation::Pack => lane(pack),
        Operation::Unpack => lane(unpack),
        Operation::Cvta(conversion) => Meaning::Address(*conversion),
        Operation::Isspacep(space) => Meaning::IsIn(*space),

        Operation::Add(sum) => lane(|s| arithmetic::add(s, sum)),
        Operation::Sub(sum) => lane(|s| arithmetic::sub(s, sum)),
        Operation::Mul(product) => lane(|s| arithmetic::mul(s, product)),
        Operation::MulHi => lane(arithmetic::mul_hi),
        Operation::MulWide => lane(arithmetic::mul_wide),
        Operation::Mad(carry) => lane(|s| arithmetic::mad(s, carry)),
        Operation::MadHi(high) => lane(|s| arithmetic::mad_hi(s, high)),
        Operation::MadWide => lane(arithmetic::mad_wide),
        Operation::Mul24 => lane(arithmetic::mul24),
        Operation::Mul24Hi => lane(arithmetic::mul24_hi),
        Operation::Mad24 => lane(arithmetic::mad24),
        Operation::Mad24Hi(saturation) => lane(|s| arithmetic::mad24_hi(s, saturation.sat)),
        Operation::Fma(fused) => lane(|s| arithmetic::fma(s, fused)),
        Operation::FmaMixed(types) => lane(|s| arithmetic::fma_mixed(s, types)),
        Operation::Clmad => lane(|s| arithmetic::polynomial(s, 0)),
        Operation::ClmadHi => lane(|s| arithmetic::polynomial(s, 64)),
        Operation::Sad => lane(arithmetic::sad),
        Operation::Div(accuracy) => lane(|s| arithmetic::div(s, accuracy)),
        Operation::Rem => lane(arithmetic::rem),
        Operation::Abs(subnormals) => lane(|s| arithmetic::abs(s, subnormals.ftz)),
        Operation::Neg(subnormals) => lane(|s| arithmetic::neg(s, subnormals.ftz)),
        Operation::Min(extremum) => lane(|s| arithmetic::extremum(s, extremum, Ordering::Less)),
        Operation::Max(extremum) => lane(|s| arithmetic::extremum(s, extremum, Ordering::Greater)),
        Operation::Rcp(accuracy) => lane(|s| arithmetic::rcp(s, accuracy)),
        Operation::Sqrt(accuracy) => lane(|s| arithmetic::sqrt(s, accuracy)),
        Operation::Rsqrt(it) if inst.ty == ScalarType::F64 => {
            let function = if it.ftz { float64::rsqrt_approx_ftz } else { float64::rsqrt_approx };
            lane(move |s| one(function(f64::from_bits(s.word(0, s.ty())?)).to_bits().into(), s.ty()))
        }
        Operation::Rsqrt(it) => approximate(it.ftz, math::rsqrt),
        Operation::Sin(it) => approximate(it.ftz, math::sin),
        Operation::Cos(it) => approximate(it.ftz, math::cos),
        Operation::Ex2(it) => half_function(it.ftz, (math::ex2, math::ex2_half::<F16>, math::ex2_half::<Bf16>)),
        Operation::Lg2(it) => approximate(it.ftz, math::lg2),
        Operation::Tanh(it) => half_function(
            it.ftz,
            (|x, _| math::tanh(x), |x, _| math::tanh_half::<F16>(x), |x, _| math::tanh_half::<Bf16>(x)),
        ),
        Operation::Copysign => lane(arithmetic::copysign),
        Operation::Testp(property) => lane(|s| arithmetic::testp(s, *property)),

        Operation::And => lane(|s| bits::logic(s, |a, b| a & b)),
        Operation::Or => lane(|s| bits::logic(s, |a, b| a | b)),
        Operation::Xor => lane(|s| bits::logic(s, |a, b| a ^ b)),
        Operation::Not => lane(bits::not),
        Operation::Cnot => lane(bits::cnot),
        Operation::Lop3(combination) => lane(|s| bits::lop3(s, combination)),
        Operation::Shl => lane(bits::shl),
        Operation::Shr => lane(bits::shr),
        Operation::Shf(shift) => lane(|s| bits::shf(s, shift)),
        Operation::Popc => lane(bits::popc),
        Operation::Clz => lane(bits::clz),
        Operation::Bfind(answer) => lane(|s| bits::bfind(s, *answer)),
        Operation::Brev => lane(bits::brev),
        Operation::Bfe => lane(bits::bfe),
        Operation::Bfi => lane(bits::bfi),
        Operation::Fns => lane(bits::fns),
        Operation::Bmsk(mode) => lane(|s| bits::bmsk(s, *mode)),
        Operation::Szext(mode) => lane(|s| bits::szext(s, *mode)),
        Operation::Prmt(mode) => lane(|s| bits::prmt(s, *mode)),
        Operation::Dp4a => lane(arithmetic::dp4a),
        Operation::Dp2a(half) => lane(|s| arithmetic::dp2a(s, *half)),

        Operation::Set(comparison) => lane(|s| compare::set(s, comparison)),
        Operation::Setp(comparison) => lane(|s| compare::setp(s, comparison)),
        Operation::Selp => lane(compare::selp),
        Operation::Slct(subnormals) => lane(|s| compare::slct(s, subnormals.ftz)),
        Operation::Cvt(conversion) => lane(|s| convert::cvt(s, conversion)),
        Operation::CvtPack(width) => lane(|s| convert::cvt_pack(s, *width)),

        Operation::Ld(_) => Meaning::Load,
        Operation::CopyTensor(copy) => Meaning::CopyTensor(*copy),
        Operation::TestPhase(of) => Meaning::TestPhase(*of),
        Operation::St(_) => Meaning::Store,
        Operation::Atom(atomic) | Operation::Red(atomic) => Meaning::Atomic(atomic.op),
        Operation::RedCluster(atomic) => Meaning::AtomicInCtas(atomic.op),
        Operation::Copy(read) => Meaning::Copy(*read),
        Operation::FillBulk => Meaning::FillBulk,
        Operation::CopyBulk(bulk) => Meaning::CopyBulk(bulk.reduction, bulk.multicast),
        Operation::Tex(_) | Operation::Tld4(_) | Operation::Suld(_) | Operation::Sust(_) => Meaning::Texture,
        Operation::Sured(reduction) => {
            let exists = crate::warp::updated(reduction.op, inst.ty, 0, [0; 2], Adder::Thread).is_some();
            if exists { Meaning::Texture } else { Meaning::No(NO_SUCH_FORM) }
        }
        Operation::QueryTexture(_) | Operation::Istypep(_) => Meaning::Texture,
        // A copy has been made before its group is waited for.
        Operation::Prefetch | Operation::CopyCommit | Operation::CopyWait => Meaning::Nothing,

        Operation::Shfl(mode) => Meaning::Exchange(Exchange::Shuffle(*mode), 3),
        Operation::Vote(mode) => Meaning::Exchange(Exchange::Vote(*mode), 1),
        Operation::Match(mode) => {
            Meaning::Exchange(Exchange::Match(*mode, if inst.ty.bits() > 32 { Sort::Pair } else { Sort::Word }), 1)
        }
        Operation::Activemask => Meaning::ActiveMask,
        Operation::Redux(reduction) => {
            let mods = ReduceMods { abs: reduction.abs, nan: reduction.nan };
            Meaning::Exchange(Exchange::Redux(reduction.op, inst.ty, mods), 1)
        }
        Operation::Elect => Meaning::Exchange(Exchange::Elect, 0),
        Operation::Movmatrix => Meaning::Exchange(Exchange::Movmatrix, 1),
        Operation::Mma(product) => Meaning::Matrix(product),
        Operation::MmaAsync(group) => Meaning::Group(group),
        Operation::Ldmatrix(matrices) => Meaning::LoadMatrices(*matrices),
        Operation::Stmatrix(matrices) => Meaning::StoreMatrices(*matrices),

        // Control is the flow of the block.
        Operation::Bra(_) | Operation::BrxIdx(_) | Operation::Jump | Operation::Call(_) => Meaning::Nothing,
        Operation::Ret | Operation::Exit | Operation::Trap | Operation::Bsync => Meaning::Nothing,
        Operation::Bssy => of_barrier(inst, Meaning::JoinConvergence),
        Operation::Break => of_barrier(inst, Meaning::BreakConvergence),
        Operation::ReadConvergence => of_barrier(inst, Meaning::ReadConvergence),
        Operation::WriteConvergence => of_barrier(inst, Meaning::WriteConvergence),
        Operation::Nop => Meaning::Nothing,

        Operation::Bar(kind) => Meaning::Barrier(*kind),
        Operation::ClusterBar(phase) => Meaning::ClusterBarrier(*phase),
        Operation::BarWarp => Meaning::Exchange(Exchange::Barrier, 0),
        Operation::Fence => Meaning::Nothing,

        Operation::Alloca => Meaning::ReserveStack,
        Operation::StackSave => Meaning::SaveStack,
        Operation::StackRestore => Meaning::RestoreStack,
        Operation::SystemCall(service) => Meaning::System(*service),
        Operation::Unsupported => Meaning::No("not emulated yet"),
    }
}

/// What is done with the convergence barrier that an operation names.
fn of_barrier<'i>(inst: &Decoded, meaning: fn(u32) -> Meaning<'i>) -> Meaning<'i> {
    let barrier = inst.reads().chain(inst.writes()).find(|register| register.file == File::Convergence);
    barrier.map_or(Meaning::No(NO_SUCH_FORM), |register| meaning(register.index))
}

/// An approximate function of f32, and one of f16 or bf16; they are told whether to flush subnormals.
type OfSingle = fn(f32, bool) -> f32;
type OfHalf = fn(u16, bool) -> u16;

/// An approximate function of f32, f16 and bf16, whose bits are our own definition.
fn half_function<'i>(ftz: bool, (single, half, brain): (OfSingle, OfHalf, OfHalf)) -> Meaning<'i> {
    lane(move |s| {
        let (function, n): (OfHalf, u32) = match s.ty() {
            ScalarType::F32 => {
                return one(single(f32::from_bits(s.word(0, s.ty())? as u32), ftz).to_bits().into(), s.ty());
            }
            ScalarType::F16 => (half, 1),
            ScalarType::F16x2 => (half, 2),
            ScalarType::Bf16 => (brain, 1),
            ScalarType::Bf16x2 => (brain, 2),
            _ => return Err(NO_SUCH_FORM),
        };
        let bits = s.bits(0, s.ty())?;
        let element = |at: u32| u128::from(function((bits >> (16 * at)) as u16, ftz)) << (16 * at);
        one((0..n).map(element).sum(), s.ty())
    })
}

/// The type of untyped bits of a width.
pub(crate) fn bits_of(width: u32) -> Result<ScalarType, NoMeaning> {
    match width {
        8 => Ok(ScalarType::B8),
        16 => Ok(ScalarType::B16),
        32 => Ok(ScalarType::B32),
        64 => Ok(ScalarType::B64),
        128 => Ok(ScalarType::B128),
        _ => Err(NO_SUCH_FORM),
    }
}

/// Parts side by side, the first one lowest.
fn pack(s: &Sources<'_>) -> Result<Results, NoMeaning> {
    let width = s.ty().bits() / (s.len() as u32).max(1);
    let part = bits_of(width)?;
    let mut value = 0;
    for index in 0..s.len() {
        value |= s.bits(index, part)? << (width * index as u32);
    }
    one(value, s.ty())
}

fn unpack(s: &Sources<'_>) -> Result<Results, NoMeaning> {
    let n = s.inst.destinations.len() as u32;
    let width = s.ty().bits() / n.max(1);
    let part = bits_of(width)?;
    let value = s.bits(0, s.ty())?;
    Ok((0..n).map(|at| (value >> (width * at) & ones(width), part)).collect())
}

/// The address in the other space. Null is no exception.
pub(crate) fn converted(conversion: AddressConversion, window: u64, address: u128) -> u128 {
    let window = u128::from(window);
    match conversion.direction {
        AddressDirection::ToGeneric => address.wrapping_add(window),
        AddressDirection::FromGeneric => address.wrapping_sub(window),
    }
}
