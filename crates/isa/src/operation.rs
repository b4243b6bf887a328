//! Operations together with what refines them.

use crate::payload::Words;
use crate::{
    AccessOrder, Accuracy, AddressConversion, Approximation, Atomic, BarrierKind, BfindAnswer, Branch, BulkCopy, Carry,
    ClusterPhase, Combination, Comparison, Conversion, CopyRead, Dp2aHalf, Extremum, FunnelShift, FusedMultiplyAdd,
    GroupProduct, HighMultiplyAdd, MatchMode, MatrixMove, MatrixProduct, MixedTypes, ObjectQuery, Op, OpaqueType,
    PackedWidth, PhaseOf, Precision, PrmtMode, Product, Reduction, Saturation, ShiftMode, ShuffleMode, StateSpace,
    Subnormals, Sum, SurfaceAccess, SurfaceReduction, SystemCall, TensorCopy, TestProperty, TextureFetch,
    TextureGather, VoteMode, with_ops,
};

macro_rules! declare {
    ($($(#[$meta:meta])* $name:ident $(($payload:ident: $Payload:ty))? =>
        { class: $class:ident, effect: $effect:ident, bind: $module:ident::$bind:ident })*) => {
        /// An operation of the IR with what refines it: what an operation does not have cannot be said about it.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Operation {
            $($(#[$meta])* $name $(($Payload))?,)*
        }

        impl Operation {
            /// Which operation it is.
            pub const fn op(&self) -> Op {
                match self { $(Self::$name { .. } => Op::$name,)* }
            }

            /// What refines it, as words for dumps.
            pub fn words(&self) -> Vec<String> {
                let words = Words::default();
                match self { $(Self::$name $(($payload))? => words $(.payload($payload))?,)* }.into_vec()
            }
        }
    };
}

with_ops!(declare);

impl Operation {
    /// The memory access is `.volatile`, `.relaxed`, `.acquire`, `.release` or `.mmio`: never merged or reordered.
    pub const fn is_ordered(&self) -> bool {
        match self {
            Self::Ld(access) | Self::St(access) => access.ordered,
            Self::TestPhase(_) => true,
            Self::Atom(atomic) | Self::Red(atomic) | Self::RedCluster(atomic) => atomic.ordered,
            _ => false,
        }
    }

    /// It writes to the tensor of a tensor map.
    pub const fn writes_tensor(&self) -> bool {
        matches!(self, Self::CopyTensor(copy) if !copy.loads)
    }

    /// What the operation does with the carry flag: nothing, if it has none.
    pub const fn carry(&self) -> Carry {
        match self {
            Self::Add(sum) | Self::Sub(sum) => sum.carry,
            Self::Mad(carry) => *carry,
            Self::MadHi(high) => high.carry,
            _ => Carry::NONE,
        }
    }

    /// Results beyond the range are clamped to it.
    pub const fn saturates(&self) -> bool {
        match self {
            Self::Add(sum) | Self::Sub(sum) => sum.sat,
            Self::Mul(product) => product.sat,
            Self::MadHi(high) => high.saturation.sat,
            Self::Mad24Hi(saturation) => saturation.sat,
            Self::Fma(fused) => fused.sat,
            Self::Cvt(conversion) => conversion.sat,
            _ => false,
        }
    }

    /// Subnormal inputs and results are flushed to zero.
    pub const fn flushes(&self) -> bool {
        match self {
            Self::Add(sum) | Self::Sub(sum) => sum.ftz,
            Self::Mul(product) => product.ftz,
            Self::Fma(fused) => fused.ftz,
            Self::Div(accuracy) | Self::Rcp(accuracy) | Self::Sqrt(accuracy) => accuracy.ftz,
            Self::Rsqrt(it) | Self::Sin(it) | Self::Cos(it) | Self::Ex2(it) | Self::Lg2(it) | Self::Tanh(it) => it.ftz,
            Self::Abs(subnormals) | Self::Neg(subnormals) | Self::Slct(subnormals) => subnormals.ftz,
            Self::Min(extremum) | Self::Max(extremum) => extremum.ftz,
            Self::Set(comparison) | Self::Setp(comparison) => comparison.ftz,
            Self::Cvt(conversion) => conversion.ftz,
            _ => false,
        }
    }

    /// The result is an approximation, not the exact one rounded.
    pub const fn is_approximate(&self) -> bool {
        match self {
            Self::Div(accuracy) | Self::Rcp(accuracy) | Self::Sqrt(accuracy) => {
                matches!(accuracy.precision, Precision::Approx)
            }
            Self::Rsqrt(_) | Self::Sin(_) | Self::Cos(_) | Self::Ex2(_) | Self::Lg2(_) | Self::Tanh(_) => true,
            _ => false,
        }
    }

    /// The comparison that the operation makes.
    pub const fn comparison(&self) -> Option<Comparison> {
        match self {
            Self::Set(comparison) | Self::Setp(comparison) => Some(*comparison),
            _ => None,
        }
    }
}
