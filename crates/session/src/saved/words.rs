//! Words of the engines and words of the document: the compiler holds the lists together.

use warplens_document::profile::{self as document};
use warplens_isa::{OpClass, StateSpace};
use warplens_stats::{BankRule, CoalescingRule, Counted, RegistersBasis};

use crate::generation::Generation;
use crate::measurement::BoundKind;
use crate::program::{CodeForm, CodeOrigin};

/// A word that the document has, too.
pub(super) trait Word: Copy {
    /// The same in the document.
    type Written: Copy;

    /// The word in the document.
    fn written(self) -> Self::Written;

    /// The word from the document.
    fn from_written(written: Self::Written) -> Self;
}

macro_rules! same {
    ($($core:ident = $written:ident { $($word:ident),* $(,)? })*) => {$(
        impl Word for $core {
            type Written = document::$written;

            fn written(self) -> Self::Written {
                match self { $(Self::$word => document::$written::$word,)* }
            }

            fn from_written(written: Self::Written) -> Self {
                match written { $(document::$written::$word => Self::$word,)* }
            }
        }
    )*

        /// Pairs of texts that should be the same.
        #[cfg(test)]
        fn texts() -> Vec<(&'static str, &'static str)> {
            let mut texts = Vec::new();
            $(texts.extend(document::$written::ALL.iter().map(|word| ($core::from_written(*word).name(), word.name())));)*
            texts
        }
    };
}

same! {
    CoalescingRule = CoalescingRule { Cc10, Cc12, Cc20, Cc20L1Off, Cc30, Cc50, Cc70 }
    BankRule = BankRule { Cc10, Cc20, Cc30 }
    RegistersBasis = RegistersBasis { User, Ptxas, Estimate, Profiler }
    Counted = Counted { Ptx, Reduced, Machine }
    OpClass = Class {
        Fp32, Fp64, Fp16, Int, IntMul, Sfu, Convert, Memory, Atomic, Control, Barrier, Warp, Tensor, Virtual, Other,
    }
    StateSpace = Space { Generic, Global, Shared, Local, Const, Param, Texture, Surface }
    BoundKind = BoundKind { Branch, Address }
    CodeForm = CodeForm { Ptx, Machine }
    CodeOrigin = CodeOrigin { Input, Container, Compiler, Ptxas }
    Generation = Generation {
        Warps, Threads, Volta, Turing, Ampere, Ada, Hopper, Blackwell, RtxBlackwell,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_lists_the_assumptions_of_the_models() {
        let ids: Vec<&str> = warplens_model::AssumptionId::ALL.iter().map(|assumption| assumption.name()).collect();
        assert_eq!(warplens_document::assumption_ids(), ids);
    }

    #[test]
    fn words_are_written_as_the_engines_call_them() {
        for (core, written) in super::texts() {
            assert_eq!(core, written);
        }
    }
}
