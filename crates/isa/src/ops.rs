//! The names of the operations, and what follows from the table for each.

use crate::{Arithmetic, Effect, HighLatency, OpClass, ScalarType, with_ops};

macro_rules! declare {
    ($($(#[$meta:meta])* $name:ident $(($payload:ident: $Payload:ty))? =>
        { class: $class:ident, effect: $effect:ident, bind: $module:ident::$bind:ident })*) => {
        /// The name of an operation of the IR, without what refines it. One row of [`with_ops!`](crate::with_ops).
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Op {
            $($(#[$meta])* $name,)*
        }

        impl Op {
            /// Every operation, in table order.
            pub const ALL: &[Op] = &[$(Self::$name,)*];

            /// Name in dumps.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }

            /// Class of the operation on values of type `ty`.
            pub fn class(self, ty: ScalarType) -> OpClass {
                match self { $(Self::$name => class_rule::$class(ty),)* }
            }

            /// What the operation does besides computing its results.
            pub const fn effect(self) -> Effect {
                match self { $(Self::$name => Effect::$effect,)* }
            }
        }
    };
}

with_ops!(declare);

impl Op {
    /// The kind under which a profile counts the operation as high-latency, if it is one.
    pub fn high_latency(self, ty: ScalarType) -> Option<HighLatency> {
        Some(match self {
            Self::Sqrt => HighLatency::Sqrt,
            Self::Rsqrt => HighLatency::Rsqrt,
            Self::Rcp => HighLatency::Rcp,
            Self::Div => HighLatency::Div,
            Self::Rem => HighLatency::Rem,
            Self::Sin => HighLatency::Sin,
            Self::Cos => HighLatency::Cos,
            Self::Ex2 => HighLatency::Ex2,
            Self::Lg2 => HighLatency::Lg2,
            Self::Tanh => HighLatency::Tanh,
            Self::Mul | Self::MulHi | Self::Mad | Self::MadHi if ty.is_integer() && ty.bits() == 64 => HighLatency::Mul,
            _ => return None,
        })
    }

    /// Number of places in memory that the operation touches.
    pub const fn n_memory_references(self) -> usize {
        match self.effect() {
            Effect::Store if matches!(self, Self::Copy | Self::CopyBulk) => 2,
            Effect::Load | Effect::Store | Effect::Atomic => 1,
            Effect::None
            | Effect::Special
            | Effect::Vote
            | Effect::Exchange
            | Effect::Fence
            | Effect::Call
            | Effect::End => 0,
        }
    }

    /// True for operations whose accesses are told to observers and counted. A prefetch asks for memory but accesses none.
    pub const fn is_access(self) -> bool {
        matches!(self.effect(), Effect::Load | Effect::Store | Effect::Atomic) && !matches!(self, Self::Prefetch)
    }

    /// True for operations that move any number of bytes, each lane on its own.
    pub const fn is_bulk(self) -> bool {
        matches!(self, Self::CopyBulk | Self::FillBulk | Self::CopyTensor)
    }

    /// True for operations that end a basic block.
    pub const fn ends_block(self) -> bool {
        matches!(self.effect(), Effect::End)
    }
}

/// Rules from an operation's type to its class.
mod class_rule {
    use super::{Arithmetic, OpClass, ScalarType};

    pub(super) fn by_type(ty: ScalarType) -> OpClass {
        match ty.arithmetic() {
            Arithmetic::Int => OpClass::Int,
            Arithmetic::Fp16 => OpClass::Fp16,
            Arithmetic::Fp32 => OpClass::Fp32,
            Arithmetic::Fp64 => OpClass::Fp64,
        }
    }

    pub(super) fn mul(ty: ScalarType) -> OpClass {
        match by_type(ty) {
            OpClass::Int => OpClass::IntMul,
            class => class,
        }
    }

    pub(super) fn divide(ty: ScalarType) -> OpClass {
        mul(ty)
    }

    pub(super) fn compare(ty: ScalarType) -> OpClass {
        by_type(ty)
    }

    pub(super) fn special(ty: ScalarType) -> OpClass {
        if ty == ScalarType::F64 { OpClass::Fp64 } else { OpClass::Sfu }
    }

    macro_rules! fixed {
        ($($rule:ident $class:ident;)*) => {$(
            pub(super) fn $rule(_: ScalarType) -> OpClass {
                OpClass::$class
            }
        )*};
    }

    fixed! {
        virtual_ Virtual;
        int Int;
        convert Convert;
        load Memory;
        memory Memory;
        atomic Atomic;
        warp Warp;
        tensor Tensor;
        control Control;
        barrier Barrier;
        other Other;
    }
}
