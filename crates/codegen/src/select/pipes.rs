//! Instructions by the pipes that they run on, which depend on type and generation.

use warplens_ir::{Flow, Operand};
use warplens_isa::{
    Arithmetic, Atomic, AtomicOp, BarrierKind, ClusterPhase, Conversion, Op, Operation, ScalarType, SpecialRegister,
    StateSpace,
};
use warplens_machine::{Key, expansion};
use warplens_trace::{MachineClass as C, MachineInst};

use super::{CLUSTER_BARRIER, Recipe, ints, one};
use crate::node::{Body, Form, Node, Source};
use crate::target::Target;

/// Jumps to the next block, and blocks that only jump on: who comes there jumps further at once.
pub(super) fn is_free_jump(body: &Body<'_>, node: &Node<'_>) -> bool {
    let Flow::Branch { taken, next: None } = &body.module.blocks[body.block_id(node.block)].flow else { return false };
    let goes_on = body.function.block_position(*taken) == node.block + 1;
    goes_on || node.block > 0 && body.blocks[node.block].len() == 1
}

/// The clock comes with the next instruction; the others from a special register file.
pub(super) fn read_special(node: &Node<'_>) -> Recipe {
    match node.inst.sources.first() {
        Some(Operand::Special(SpecialRegister::Clock64 | SpecialRegister::Globaltimer)) => one(C::Move),
        _ => Recipe::Chain(vec![(C::Move, 1)]),
    }
}

pub(super) fn barrier(node: &Node<'_>) -> Recipe {
    let number = node.sources.first().and_then(Source::immediate).and_then(|number| u32::try_from(number).ok());
    let arrives = node.inst.operation == Operation::Bar(BarrierKind::Arrive);
    let class = if arrives { C::BarrierArrive } else { C::Barrier };
    Recipe::Amount(class, number.unwrap_or(0))
}

/// How an atomic operation is done, as the amount of its instruction; none of others. In shared memory there are units for
/// integers of 32 bits, exchanges and comparisons; everything else is a loop (ptxas 13.0 for sm_86 and 90). From 8.0 on an
/// addition of one there counts lanes where nobody asks for what was there before (`ATOMS.POPC.INC` of ptxas 13.0; additions
/// of other numbers and `inc` do not).
pub(crate) fn way_of_atomic(node: &Node<'_>, target: &Target) -> Option<u32> {
    let (Operation::Atom(atomic) | Operation::Red(atomic)) = node.inst.operation else { return None };
    let is_float = !node.inst.ty.is_integer();
    let is_shared = node.address.as_ref().is_some_and(|address| address.space == StateSpace::Shared);
    let is_moved = matches!(atomic.op, AtomicOp::Exch | AtomicOp::Cas | AtomicOp::Mbarrier(_));
    let adds_one = atomic.op == AtomicOp::Add && node.sources.first().and_then(Source::immediate) == Some(1);
    let is_asked = node.written().next().is_some();
    Some(match is_shared {
        true if adds_one && !is_asked && !is_float && node.bits() == 32 && target.is_from(8, 0) => MachineInst::COUNTED,
        true if !is_moved && (is_float || node.bits() != 32) => MachineInst::LOOP,
        false if is_float && !is_moved => MachineInst::FLOATING,
        _ => 1,
    })
}

/// Halves of the barrier of a cluster.
pub(super) fn cluster_barrier(node: &Node<'_>) -> Recipe {
    let arrives = node.inst.operation == Operation::ClusterBar(ClusterPhase::Arrive);
    Recipe::Amount(if arrives { C::BarrierArrive } else { C::Barrier }, CLUSTER_BARRIER)
}

/// True for what tells a barrier in memory of bytes that another operation of the same instruction brings.
pub(super) fn is_told_by_copy(body: &Body<'_>, node: &Node<'_>) -> bool {
    use warplens_isa::Family as F;
    let brings = matches!(
        body.key(node.inst.pc).family,
        F::CpAsyncBulk | F::CpReduceAsyncBulk | F::CpAsyncBulkTensor | F::StAsync | F::RedAsync
    );
    let tells = |operation| matches!(operation, Operation::Red(Atomic { op: AtomicOp::Mbarrier(_), .. }));
    brings && tells(node.inst.operation)
}

/// Waits until no more groups are pending than the operand says.
pub(super) fn copy_wait(node: &Node<'_>) -> Recipe {
    let groups = node.sources.first().and_then(Source::immediate).and_then(|groups| u32::try_from(groups).ok());
    Recipe::Amount(C::AsyncWait, groups.unwrap_or(0))
}

/// Products of integers, alone or with an addend.
pub(super) fn multiply(node: &Node<'_>, target: &Target) -> Recipe {
    let inst = node.inst;
    let is_wide = matches!(inst.op(), Op::MulWide | Op::MadWide | Op::MulHi | Op::MadHi) || node.bits() == 64;
    let adds_wide = node.form == Form::MultiplyAdd || matches!(inst.op(), Op::MadWide);
    let factor_bits = if node.form == Form::MultiplyAdd && node.bits() == 64 { 32 } else { inst.ty.bits() };
    let (major, low) = (target.compute_capability.major, low_product(target));
    if factor_bits <= 16 {
        return match major {
            1 | 5 | 6 => ints(1),
            _ => one(C::IntMul),
        };
    }
    if !is_wide {
        return Recipe::Chain(low);
    }
    let is_shift = node.sources.iter().any(|source| source.immediate().is_some_and(u64::is_power_of_two));
    match major {
        7.. => one(C::IntMul),
        _ if is_shift && !adds_wide => ints(2),
        2 | 3 => Recipe::Chain(vec![(C::IntMul, 2)]),
        _ => Recipe::Chain(low.into_iter().map(|(class, count)| (class, 2 * count)).collect()),
    }
}

/// The low half of a 32-bit product.
fn low_product(target: &Target) -> Vec<(C, u32)> {
    match target.compute_capability.major {
        // Two 16-bit products added up, a shift, and a third product added to it.
        1 => vec![(C::Int, 4)],
        5 | 6 => target.mixes.get(&Key::ExpansionMulLo32).cloned().unwrap_or_else(|| vec![(C::Int, 3)]),
        _ => vec![(C::IntMul, 1)],
    }
}

/// 24-bit products are native on 1.x and made of extractions and a 32-bit product later.
pub(super) fn multiply_24(target: &Target) -> Recipe {
    let mut chain = vec![(C::Int, 2)];
    match target.compute_capability.major {
        1 => return ints(1),
        _ => chain.extend(low_product(target)),
    }
    Recipe::Chain(chain)
}

/// What the machine's table makes of an operation.
pub(super) fn expanded(body: &Body<'_>, node: &Node<'_>, target: &Target) -> Option<Recipe> {
    let (key, _) = expansion::key(&body.key(node.inst.pc))?;
    let mut mix = target.mixes.get(&key)?.clone();
    if node.inst.operation.flushes() {
        drop_scaling(key, &mut mix);
    }
    // Behind a branch the warp may be split, and the way around is a region of its own.
    if node.block > 0 && target.is_from(7, 0) && mix.last().is_some_and(|&(class, _)| class == C::Branch) {
        mix.insert(0, (C::Nop, 1));
        mix.push((C::Branch, 1));
    }
    Some(Recipe::Chain(mix))
}

/// Approximate functions that flush subnormals do without the compare, the scaling of the argument and that of the
/// result; a quotient keeps its product.
fn drop_scaling(key: Key, mix: &mut Vec<(C, u32)>) {
    let keeps = match key {
        Key::ExpansionDivApproxF32 => 1,
        Key::ExpansionSqrtApproxF32
        | Key::ExpansionRsqrtApproxF32
        | Key::ExpansionEx2ApproxF32
        | Key::ExpansionLg2ApproxF32 => 0,
        _ => return,
    };
    for (class, count) in mix.iter_mut() {
        if *class == C::Fp32 {
            *count = (*count).min(keeps);
        }
    }
    mix.retain(|&(class, count)| count > 0 && class != C::Branch);
}

pub(super) fn special(body: &Body<'_>, node: &Node<'_>, target: &Target) -> Recipe {
    if let Some(recipe) = expanded(body, node, target) {
        return recipe;
    }
    let single = node.inst.ty == ScalarType::F32 && target.compute_capability.major < 2;
    match node.inst.op() {
        Op::Div if single => Recipe::Chain(vec![(C::Sfu, 1), (C::Fp32Mul, 1)]),
        Op::Sqrt | Op::Ex2 | Op::Sin | Op::Cos if single => Recipe::Chain(vec![(C::Sfu, 2)]),
        Op::Div | Op::Rem if node.inst.ty.is_integer() => one(C::IntMul),
        _ if node.inst.ty == ScalarType::F64 && !node.inst.operation.is_approximate() => one(C::Fp64),
        _ => one(C::Sfu),
    }
}

pub(super) fn convert(node: &Node<'_>, target: &Target) -> Recipe {
    let (to, from) = (node.inst.ty, node.inst.source_ty);
    let is_integral = matches!(node.inst.operation, Operation::Cvt(Conversion { integral: true, .. }));
    let is_half = |ty: ScalarType| matches!(ty, ScalarType::F16 | ScalarType::F16x2);
    let is_float = |ty: ScalarType| ty.is_float() || ty.is_packed();
    if node.inst.op() == Op::CvtPack || to.is_integer() && from.is_integer() {
        return ints(if node.inst.operation.saturates() { 2 } else { 1 });
    }
    // From 8.6 on those between double precision and integers take the unit of other conversions: kernels that do two
    // operations on doubles and three such conversions for each warp are twice as fast on an RTX 3080 as five on its lanes
    // would be (background-subtract in validation/hecbench).
    let is_on_fp64 = is_float(to) && is_float(from) || !target.is_from(8, 6);
    if target.converts_on_fp64 && is_on_fp64 && (to == ScalarType::F64 || from == ScalarType::F64) {
        return one(C::Fp64);
    }
    // I2FP: what is signed and shorter than a word still takes I2F.
    let is_word = matches!(from, ScalarType::S32 | ScalarType::U32 | ScalarType::U16 | ScalarType::U8);
    if to == ScalarType::F32 && is_word && target.is_from(8, 6) {
        return one(C::Int);
    }
    if !is_float(to) || !is_float(from) || to.bits().max(from.bits()) == 64 || is_integral {
        return one(C::Convert);
    }
    match (to, from) {
        (ScalarType::F32, ScalarType::F32) => one(C::Fp32),
        (ScalarType::F32, from) if is_half(from) => one(C::Fp16),
        (ScalarType::F32, ScalarType::Bf16) => one(C::Int),
        (to, from) if is_half(to) && is_half(from) => one(C::Fp16),
        _ if target.is_from(8, 0) => one(C::Int),
        _ => one(C::Convert),
    }
}

/// What runs on the pipes of its type.
pub(super) fn arithmetic(body: &Body<'_>, node: &Node<'_>, target: &Target) -> Recipe {
    use Op as O;
    let inst = node.inst;
    let ty = if matches!(inst.op(), O::Set) { inst.source_ty } else { inst.ty };
    if ty == ScalarType::Pred || node.written().all(|word| body.is_predicate(word)) && ty.bits() <= 1 {
        return one(C::Int);
    }
    match ty.arithmetic() {
        Arithmetic::Fp32 if ty.is_packed() => Recipe::Chain(vec![(C::Fp32, if target.is_from(10, 0) { 1 } else { 2 })]),
        Arithmetic::Fp32 => {
            let lanes = if compares(inst.op()) && target.is_from(7, 0) { C::Int } else { C::Fp32 };
            match inst.op() {
                O::Mul => one(C::Fp32Mul),
                O::Min | O::Max if inst.sources.len() == 3 && !target.is_from(10, 0) => Recipe::Chain(vec![(lanes, 2)]),
                _ => one(lanes),
            }
        }
        Arithmetic::Fp64 => match inst.op() {
            O::Min | O::Max => {
                let selects = if target.is_from(7, 0) { C::Int } else { C::Fp32 };
                Recipe::Chain(vec![(C::Fp64, 1), (selects, 2)])
            }
            O::Abs | O::Neg | O::Copysign | O::Selp => one(C::Int),
            _ => one(C::Fp64),
        },
        Arithmetic::Fp16 => one(C::Fp16),
        Arithmetic::Int => integer(node, ty, target),
    }
}

/// Comparisons, minimum, maximum and selection of single precision: from compute capability 7.0 on they run on the integer
/// lanes, 64 results per cycle of an SM wherever it has 128 multiply-adds (CUDA C++ Programming Guide, throughput of
/// arithmetic instructions, "compare, minimum, maximum").
fn compares(op: Op) -> bool {
    matches!(op, Op::Min | Op::Max | Op::Setp | Op::Set | Op::Selp | Op::Slct | Op::Testp)
}

fn integer(node: &Node<'_>, ty: ScalarType, target: &Target) -> Recipe {
    use Op as O;
    let is_wide = ty.bits() == 64;
    let has_volta_logic = target.is_from(7, 0);
    match node.inst.op() {
        O::Add | O::Sub if is_wide => Recipe::Carry(C::Int),
        O::And | O::Or | O::Xor | O::Not | O::Selp if is_wide => Recipe::PerWord(C::Int),
        O::Min | O::Max if is_wide => ints(4),
        O::Abs if is_wide => ints(3),
        O::Shl | O::Shr | O::Setp | O::Neg if is_wide => ints(2),
        O::Set if has_volta_logic => ints(if is_wide { 3 } else { 2 }),
        O::Slct | O::Cnot | O::Isspacep => ints(2),
        O::Popc | O::Brev if is_wide => Recipe::Chain(vec![(C::Convert, 2), (C::Int, 1)]),
        O::Clz | O::Bfind if is_wide => Recipe::Chain(vec![(C::Convert, 2), (C::Int, 2)]),
        O::Popc | O::Brev | O::Bfind => one(C::Convert),
        O::Clz => Recipe::Chain(vec![(C::Convert, 1), (C::Int, 1)]),
        O::Bfe if has_volta_logic => ints(2),
        O::Bfi if has_volta_logic => ints(3),
        O::Lop3 if !target.is_from(5, 0) => ints(2),
        O::Dp4a | O::Dp2a => one(C::IntMul),
        _ => one(C::Int),
    }
}
