//! Instructions that the emulator does not execute: what they occupy follows from their key.

use warplens_isa::{Family as F, InstKey, ScalarType};
use warplens_trace::MachineClass as C;

/// Class and amount of an instruction that the emulator does not execute; none where nobody said what machine code it
/// becomes. Of the families that the emulator executes, those forms come here that it does not.
#[rustfmt::skip]
pub(crate) fn work(key: &InstKey) -> Option<(C, u32)> {
    Some(match key.family {
        F::Mma | F::WmmaMma => {
            let class = if works_on_doubles(key) { C::TensorFp64 } else { C::Tensor };
            (class, multiply_adds(key).max(1))
        }
        F::WgmmaMmaAsync => (C::TensorAsync, multiply_adds(key).div_ceil(WARPS_OF_A_GROUP)),
        F::WgmmaCommitGroup | F::CpAsyncCommitGroup | F::CpAsyncBulkCommitGroup => (C::AsyncCommit, 1),
        F::WgmmaWaitGroup | F::CpAsyncWaitGroup | F::CpAsyncBulkWaitGroup => (C::AsyncWait, 0),
        F::CpAsync | F::CpAsyncBulk | F::CpAsyncBulkTensor | F::CpAsyncMbarrierArrive | F::CpAsyncBulkPrefetch
        | F::CpAsyncBulkPrefetchTensor | F::CpReduceAsyncBulk | F::CpReduceAsyncBulkTensor => (C::AsyncCopy, 1),
        F::WmmaLoad | F::Ldmatrix | F::Ldu => (C::Load, 1),
        F::WmmaStore | F::Stmatrix => (C::Store, 1),
        F::Movmatrix => (C::Shuffle, 1),
        F::MbarrierArrive | F::MbarrierArriveDrop | F::MbarrierInit | F::MbarrierInval => (C::Atomic, 1),
        F::MbarrierCheckLayout | F::MbarrierCompleteTx | F::MbarrierExpectTx | F::MbarrierPendingCount
        | F::MbarrierTestWait | F::MbarrierTryWait => (C::Load, 1),
        F::BarrierClusterArrive => (C::BarrierArrive, CLUSTER_BARRIER),
        F::BarrierClusterWait => (C::Barrier, CLUSTER_BARRIER),
        F::Tex | F::Tld4 | F::Suld => (C::Load, 1),
        F::Sust => (C::Store, 1),
        F::Sured => (C::Reduction, 1),
        F::Fence | F::Membar => (C::Fence, 1),
        // One instruction beside the pipes that take longer: a slot, and a result like that of an addition.
        F::WgmmaFence | F::Mapa | F::Getctarank => (C::Int, 1),
        // Nobody said what these become.
        F::Clmad | F::Clusterlaunchcontrol | F::Fabric | F::Istypep | F::Multimem | F::RedAsync | F::StAsync
        | F::StBulk | F::Suq | F::Tcgen05Alloc | F::Tcgen05Commit | F::Tcgen05Cp | F::Tcgen05Dealloc
        | F::Tcgen05Fence | F::Tcgen05Ld | F::Tcgen05Mma | F::Tcgen05RelinquishAllocPermit | F::Tcgen05Shift
        | F::Tcgen05St | F::Tcgen05Wait | F::TensormapCpFenceproxy | F::TensormapReplace | F::Txq | F::Unknown => return None,
        // The emulator executes them, but not in this form.
        F::Abs | F::Activemask | F::Add | F::Addc | F::Alloca | F::And | F::Applypriority | F::Atom | F::Bar
        | F::Barrier | F::Bfe | F::Bfi | F::Bfind | F::Bmsk | F::Bra | F::Brev | F::Brkpt | F::Brx | F::Call
        | F::Clz | F::Cnot | F::Copysign | F::Cos | F::Createpolicy | F::Cvt | F::Cvta | F::Discard | F::Div
        | F::Dp2a | F::Dp4a | F::Elect | F::Ex2 | F::Exit | F::Fma | F::Fns | F::Griddepcontrol | F::Isspacep
        | F::Ld | F::Lg2 | F::Lop3 | F::Mad | F::Mad24 | F::Madc | F::Match | F::Max | F::Min | F::Mov | F::Mul
        | F::Mul24 | F::Nanosleep | F::Neg | F::Not | F::Or | F::Pmevent | F::Popc | F::Prefetch | F::Prefetchu
        | F::Prmt | F::Rcp | F::Red | F::Redux | F::Rem | F::Ret | F::Rsqrt | F::Sad | F::Selp | F::Set
        | F::Setmaxnreg | F::Setp | F::Shf | F::Shfl | F::Shl | F::Shr | F::Sin | F::Slct | F::Sqrt | F::St
        | F::Stackrestore | F::Stacksave | F::Sub | F::Subc | F::Szext | F::Tanh | F::Testp | F::Trap | F::Vabsdiff
        | F::Vabsdiff2 | F::Vabsdiff4 | F::Vadd | F::Vadd2 | F::Vadd4 | F::Vavrg2 | F::Vavrg4 | F::Vmad | F::Vmax
        | F::Vmax2 | F::Vmax4 | F::Vmin | F::Vmin2 | F::Vmin4 | F::Vote | F::Vset | F::Vset2 | F::Vset4 | F::Vshl
        | F::Vshr | F::Vsub | F::Vsub2 | F::Vsub4 | F::Xor => return None,
    })
}

/// Warps that carry out one asynchronous matrix product together.
const WARPS_OF_A_GROUP: u32 = 4;

/// The number of the barrier of a cluster: one that no CTA barrier has.
const CLUSTER_BARRIER: u32 = 16;

fn works_on_doubles(key: &InstKey) -> bool {
    key.ty() == Some(ScalarType::F64)
}

/// Multiply-adds of a matrix instruction: the product of the extents of its shape.
fn multiply_adds(key: &InstKey) -> u32 {
    key.shape.map_or(0, |shape| shape.multiply_adds())
}

#[cfg(test)]
mod tests {
    use warplens_isa::MatrixShape;

    use super::*;

    #[test]
    fn keys_say_what_they_occupy() {
        let product = |family, ty, [m, n, k]: [u16; 3]| InstKey {
            shape: Some(MatrixShape { m, n, k }),
            ..InstKey::new(family, ty)
        };
        let cases = [
            (product(F::Mma, ScalarType::F32, [16, 8, 16]), (C::Tensor, 2048)),
            (product(F::Mma, ScalarType::F64, [8, 8, 4]), (C::TensorFp64, 256)),
            (product(F::WgmmaMmaAsync, ScalarType::F16, [64, 128, 16]), (C::TensorAsync, 32768)),
            (product(F::WmmaMma, ScalarType::F32, [16, 16, 16]), (C::Tensor, 4096)),
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
