//! Which machine instructions an instruction takes: a table by operation, and one by family for those that the emulator
//! does not execute. What depends on type and generation is in `pipes`.
//!
//! # Rules
//!
//! | Operation | Machine instructions |
//! |---|---|
//! | f32 add, multiply-add | one `fp32`; packed pairs two before 10.0 |
//! | f32 compare, select, minimum, maximum | one `fp32`, from 7.0 on one `int` |
//! | f32 product alone | one `fp32_mul` |
//! | integer add, logic, shift, compare, select | one `int` per word; a 64-bit sum carries from one to the other |
//! | 32-bit product, low | 1.x: four `int` (16-bit products, a shift); 5.x and 6.x: `expansion.mul_lo_32`; else one `int_mul` |
//! | 32-bit product, wide or high | 7.0 on: one `int_mul`; 2.x, 3.x: two; 1.x, 5.x, 6.x: twice the low product, or two shifts for a power of two |
//! | other products, quotients, roots, special functions | the machine's `expansion` entry; flush-to-zero forms without its scaling of subnormals |
//! | the same on 1.x | special functions alone (`sqrt` two, `ex2`, `sin`, `cos` with their range reduction two), `div` with a product |
//! | f64 | one `fp64`; minimum and maximum a compare and two selects |
//! | f16, bf16 | one `fp16` |
//! | conversions | integer to and from float, to and from f64: one `convert`, between f32 and f64 one `fp64` where the SM has fewer such lanes (7.5, 8.6 and their like), and on 7.5 between integers and f64, too; f16 to f32 `fp16`; f32 to narrower floats `convert`, from 8.0 `int` |
//! | `ldmatrix`, `stmatrix` | one `load`, one `store` of the 16 bytes of each row: an `LDSM`, an `STSM` |
//! | `clmad` | one `int_mul`: a `CLMAD`, of which nobody measured more |
//! | `movmatrix` | one `shuffle`: a `MOVM`, of which nobody measured more |
//! | population count, leading zeros, bit reversal | one `convert`: they run at its rate |
//!
//! A mix of several instructions is a chain: the first reads the sources, each next the result before it, the last
//! writes the destination. Real code overlaps parts of it, so that a chain is the longest that the latency can be.

mod matrix;
mod pipes;

pub(crate) use self::matrix::class_of as class_of_product;
pub(crate) use self::pipes::way_of_atomic;

use warplens_ir::Operand;
use warplens_isa::{Family as F, InstKey, Op, Operation, TensorLanes};
use warplens_trace::MachineClass as C;

use crate::node::{Body, Form, Node};
use crate::target::Target;

/// What a node takes.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Recipe {
    /// Nothing.
    Nothing,
    /// Instructions one after the other, each of the result of the one before.
    Chain(Vec<(C, u32)>),
    /// One instruction of this class per word, each on its own.
    PerWord(C),
    /// One instruction of this class per word, with a carry from the lower to the upper.
    Carry(C),
    /// One instruction with this amount.
    Amount(C, u32),
    /// Instructions side by side, stage after stage.
    Stages(Vec<Stage>),
}

/// Instructions of one kind that do not wait for each other. Where the stage before has as many, each goes on with the
/// result of its own one there, else with all results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stage {
    pub(crate) class: C,
    pub(crate) amount: u32,
    pub(crate) parts: u32,
}

fn one(class: C) -> Recipe {
    Recipe::Chain(vec![(class, 1)])
}

fn ints(count: u32) -> Recipe {
    Recipe::Chain(vec![(C::Int, count)])
}

/// The recipe of a node.
pub(crate) fn recipe(body: &Body<'_>, node: &Node<'_>, target: &Target) -> Recipe {
    match node.form {
        Form::Dead => Recipe::Nothing,
        Form::Copy => copy(body, node),
        Form::Sum if node.bits() == 64 => Recipe::Carry(C::Int),
        Form::ShiftAdd if node.bits() == 64 => Recipe::Carry(C::Int),
        Form::Sum | Form::ShiftAdd | Form::SignExtend | Form::Permute | Form::Logic => one(C::Int),
        Form::MultiplyAdd => pipes::multiply(node, target),
        Form::AsWritten => as_written(body, node, target),
    }
}

/// Copies of constants and registers; predicates go through the logic unit.
fn copy(body: &Body<'_>, node: &Node<'_>) -> Recipe {
    let is_predicate = node.written().any(|word| body.is_predicate(word));
    // A pair of zeros is one instruction.
    let is_zero = node.sources.first().is_some_and(|source| source.immediate() == Some(0));
    if is_predicate || is_zero { one(if is_predicate { C::Int } else { C::Move }) } else { Recipe::PerWord(C::Move) }
}

/// What machine instructions each operation becomes.
#[rustfmt::skip]
fn as_written(body: &Body<'_>, node: &Node<'_>, target: &Target) -> Recipe {
    use Op as O;
    let inst = node.inst;
    match inst.op() {
        O::Ld | O::TestPhase | O::Prefetch | O::Ldmatrix | O::Suld => one(C::Load),
        O::St | O::Stmatrix | O::Sust => one(C::Store),
        O::Tex | O::Tld4 => one(C::Texture),
        O::Sured => one(C::Reduction),
        // A query of a texture's header is a fetch of its own; the type of a variable is a constant to machine code.
        O::QueryTexture => one(C::Texture),
        O::Istypep => one(C::Int),
        // The copy itself tells the barrier.
        O::Red if pipes::is_told_by_copy(body, node) => Recipe::Nothing,
        O::RedCluster => Recipe::Nothing,
        O::Atom if node.written().next().is_some() => one(C::Atomic),
        O::Atom | O::Red => one(C::Reduction),
        O::Shfl | O::Movmatrix => one(C::Shuffle),
        O::Mma => {
            let recipe = product(&inst.operation, target);
            recipe.expect("kernels with other products are refused before")
        }
        O::MmaAsync => {
            let work = body.key(inst.pc).tensor_work().expect("products have work");
            Recipe::Amount(C::TensorAsync, work.work)
        }
        O::Vote | O::Match | O::Activemask | O::Redux | O::Elect => one(C::Vote),
        O::Bra if pipes::is_free_jump(body, node) => Recipe::Nothing,
        O::Bra | O::Jump | O::Call | O::SystemCall | O::Bssy | O::Bsync | O::Break => one(C::Branch),
        O::ReadConvergence | O::WriteConvergence => one(C::Branch),
        O::BrxIdx => Recipe::Chain(vec![(C::Int, 1), (C::Load, 1), (C::Branch, 1)]),
        O::Ret if !body.function.is_kernel() => one(C::Branch),
        O::Ret | O::Exit | O::Trap => one(C::Exit),
        O::Copy | O::CopyBulk | O::CopyTensor => one(C::AsyncCopy),
        // A `UMEMSETS`, of which nobody measured how long it writes.
        O::FillBulk => one(C::Store),
        O::CopyCommit => one(C::AsyncCommit),
        O::CopyWait => pipes::copy_wait(node),
        O::Bar => pipes::barrier(node),
        O::ClusterBar => pipes::cluster_barrier(node),
        O::BarWarp if target.is_from(7, 0) => one(C::Nop),
        O::BarWarp => Recipe::Nothing,
        O::Fence => one(C::Fence),
        O::Nop => one(C::Nop),
        O::Unsupported => {
            let known = work(&body.key(inst.pc));
            let (class, amount) = known.expect("kernels with other instructions are refused before");
            let given = inst.sources.iter().rev().find_map(|source| match source {
                Operand::Immediate(value) => u32::try_from(*value).ok(),
                _ => None,
            });
            Recipe::Amount(class, if class == C::AsyncWait { given.unwrap_or(amount) } else { amount })
        }
        O::ReadSpecial => pipes::read_special(node),
        O::Cvt | O::CvtPack => pipes::convert(node, target),
        O::Mul | O::MulHi | O::MulWide | O::Mad | O::MadHi | O::MadWide if inst.ty.is_integer() => {
            pipes::expanded(body, node, target).unwrap_or_else(|| pipes::multiply(node, target))
        }
        O::Mul24 | O::Mul24Hi | O::Mad24 | O::Mad24Hi => pipes::multiply_24(target),
        O::Clmad | O::ClmadHi => one(C::IntMul),
        O::Div | O::Rem | O::Rcp | O::Sqrt | O::Rsqrt | O::Sin | O::Cos | O::Ex2 | O::Lg2 | O::Tanh => {
            pipes::special(body, node, target)
        }
        // These run on the pipes of their types; `pipes` knows those that take more than one instruction.
        O::Mov | O::Pack | O::Unpack | O::Cvta | O::Isspacep | O::Add | O::Sub | O::Mul | O::MulHi | O::MulWide | O::Mad
        | O::MadHi | O::MadWide | O::Fma | O::FmaMixed | O::Sad | O::Abs | O::Neg | O::Min | O::Max | O::Copysign
        | O::Testp | O::And | O::Or | O::Xor | O::Not | O::Cnot | O::Lop3 | O::Shl | O::Shr | O::Shf | O::Popc | O::Clz
        | O::Bfind | O::Brev | O::Bfe | O::Bfi | O::Fns | O::Bmsk | O::Szext | O::Prmt | O::Dp4a | O::Dp2a | O::Set
        | O::Setp | O::Selp | O::Slct | O::Alloca | O::StackSave | O::StackRestore => pipes::arithmetic(body, node, target),
    }
}

/// The recipe of a product of matrices; none where nobody said what becomes of it.
pub(crate) fn product(operation: &Operation, target: &Target) -> Option<Recipe> {
    match operation {
        Operation::Mma(product) => matrix::product(product, target),
        _ => None,
    }
}

/// Class and amount of an instruction that the emulator does not execute; none where nobody said what machine code it
/// becomes. Of the families that the emulator executes, those forms come here that it does not.
#[rustfmt::skip]
pub(crate) fn work(key: &InstKey) -> Option<(C, u32)> {
    Some(match key.family {
        F::Mma | F::MmaSp | F::WmmaMma | F::WgmmaMmaAsync | F::WgmmaMmaAsyncSp => {
            let work = key.tensor_work()?;
            (tensor_class(work.lanes), work.work.max(1))
        }
        F::WgmmaCommitGroup | F::CpAsyncCommitGroup | F::CpAsyncBulkCommitGroup => (C::AsyncCommit, 1),
        F::WgmmaWaitGroup | F::CpAsyncWaitGroup | F::CpAsyncBulkWaitGroup => (C::AsyncWait, 0),
        F::CpAsync | F::CpAsyncBulk | F::CpAsyncBulkTensor | F::CpAsyncMbarrierArrive | F::CpAsyncBulkPrefetch
        | F::CpAsyncBulkPrefetchTensor | F::CpReduceAsyncBulk | F::CpReduceAsyncBulkTensor => (C::AsyncCopy, 1),
        F::WmmaLoad | F::Ldmatrix | F::Ldu => (C::Load, 1),
        F::WmmaStore | F::Stmatrix => (C::Store, 1),
        F::MbarrierArrive | F::MbarrierArriveDrop | F::MbarrierInit | F::MbarrierInval => (C::Atomic, 1),
        F::MbarrierCheckLayout | F::MbarrierCompleteTx | F::MbarrierExpectTx | F::MbarrierPendingCount
        | F::MbarrierTestWait | F::MbarrierTryWait => (C::Load, 1),
        F::BarrierClusterArrive => (C::BarrierArrive, CLUSTER_BARRIER),
        F::BarrierClusterWait => (C::Barrier, CLUSTER_BARRIER),
        F::Tex | F::Tld4 => (C::Texture, 1),
        F::Suld => (C::Load, 1),
        F::Sust => (C::Store, 1),
        F::Sured => (C::Reduction, 1),
        F::Fence | F::Membar => (C::Fence, 1),
        // One instruction beside the pipes that take longer: a slot, and a result like that of an addition.
        F::WgmmaFence | F::Mapa | F::Getctarank => (C::Int, 1),
        // Nobody said what these become.
        F::Clusterlaunchcontrol | F::Fabric | F::Istypep | F::Multimem | F::RedAsync | F::StAsync
        | F::StBulk | F::Suq | F::Tcgen05Alloc | F::Tcgen05Commit | F::Tcgen05Cp | F::Tcgen05Dealloc
        | F::Tcgen05Fence | F::Tcgen05Ld | F::Tcgen05Mma | F::Tcgen05RelinquishAllocPermit | F::Tcgen05Shift
        | F::Tcgen05St | F::Tcgen05Wait | F::TensormapCpFenceproxy | F::TensormapReplace | F::Txq | F::Unknown => return None,
        // The emulator executes them, but not in this form.
        F::Abs | F::Activemask | F::Add | F::Addc | F::Alloca | F::And | F::Applypriority | F::Atom | F::Bar
        | F::Barrier | F::Bfe | F::Bfi | F::Bfind | F::Bmsk | F::Bra | F::Brev | F::Brkpt | F::Brx | F::Call
        | F::Clmad | F::Clz | F::Cnot | F::Copysign | F::Cos | F::Createpolicy | F::Cvt | F::Cvta | F::Discard | F::Div
        | F::Dp2a | F::Dp4a | F::Elect | F::Ex2 | F::Exit | F::Fma | F::Fns | F::Griddepcontrol | F::Isspacep
        | F::Ld | F::Lg2 | F::Lop3 | F::Mad | F::Mad24 | F::Madc | F::Match | F::Max | F::Min | F::Mov | F::Movmatrix | F::Mul
        | F::Mul24 | F::Nanosleep | F::Neg | F::Not | F::Or | F::Pmevent | F::Popc | F::Prefetch | F::Prefetchu
        | F::Prmt | F::Rcp | F::Red | F::Redux | F::Rem | F::Ret | F::Rsqrt | F::Sad | F::Selp | F::Set
        | F::Setmaxnreg | F::Setp | F::Shf | F::Shfl | F::Shl | F::Shr | F::Sin | F::Slct | F::Sqrt | F::St
        | F::Stackrestore | F::Stacksave | F::Sub | F::Subc | F::Szext | F::Tanh | F::Testp | F::Trap | F::Vabsdiff
        | F::Vabsdiff2 | F::Vabsdiff4 | F::Vadd | F::Vadd2 | F::Vadd4 | F::Vavrg2 | F::Vavrg4 | F::Vmad | F::Vmax
        | F::Vmax2 | F::Vmax4 | F::Vmin | F::Vmin2 | F::Vmin4 | F::Vote | F::Vset | F::Vset2 | F::Vset4 | F::Vshl
        | F::Vshr | F::Vsub | F::Vsub2 | F::Vsub4 | F::Xor => return None,
    })
}

/// The number of the barrier of a cluster: one that no CTA barrier has.
pub(crate) const CLUSTER_BARRIER: u32 = 16;

/// The class of products on the given lanes.
pub(crate) fn tensor_class(lanes: TensorLanes) -> C {
    match lanes {
        TensorLanes::Warp => C::Tensor,
        TensorLanes::WarpFp32 => C::TensorFp32,
        TensorLanes::WarpFp64 => C::TensorFp64,
        TensorLanes::Group => C::TensorAsync,
    }
}

#[cfg(test)]
mod tests {
    use warplens_isa::{MatrixShape, ScalarType};

    use super::*;

    #[test]
    fn keys_say_what_they_occupy() {
        let product = |family, ty, [m, n, k]: [u16; 3]| InstKey {
            shape: Some(MatrixShape { m, n, k }),
            ..InstKey::new(family, ty)
        };
        let cases = [
            (product(F::Mma, ScalarType::F32, [16, 8, 16]), (C::TensorFp32, 2048)),
            (product(F::Mma, ScalarType::F64, [8, 8, 4]), (C::TensorFp64, 256)),
            (product(F::WgmmaMmaAsync, ScalarType::F16, [64, 128, 16]), (C::TensorAsync, 32768)),
            (product(F::WmmaMma, ScalarType::F16, [16, 16, 16]), (C::Tensor, 4096)),
            (product(F::MmaSp, ScalarType::F32, [16, 8, 32]), (C::TensorFp32, 2048)),
            (product(F::WgmmaMmaAsyncSp, ScalarType::F16, [64, 128, 32]), (C::TensorAsync, 32768)),
            (InstKey::of_family(F::CpAsync), (C::AsyncCopy, 1)),
            (InstKey::of_family(F::CpAsyncBulkTensor), (C::AsyncCopy, 1)),
            (InstKey::of_family(F::CpAsyncCommitGroup), (C::AsyncCommit, 1)),
            (InstKey::of_family(F::Ldmatrix), (C::Load, 1)),
            (InstKey::of_family(F::BarrierClusterArrive), (C::BarrierArrive, 16)),
        ];
        for (key, expected) in cases {
            assert_eq!(work(&key), Some(expected), "{key}");
        }
    }

    #[test]
    fn what_nobody_knows_is_no_integer_instruction() {
        for family in [F::Tcgen05Mma, F::Tcgen05Ld, F::TensormapReplace, F::Multimem, F::Add, F::Unknown] {
            assert_eq!(work(&InstKey::of_family(family)), None, "{family}");
        }
    }
}
