//! What a lane function is told besides its operands: the part of an operation's payload that it looks at.

use warplens_isa::{Comparison, Conversion, PrmtMode, Rounding, TestProperty};

use crate::semantics::half::HalfMods;
use crate::semantics::{FloatMods, MinMaxMods};

/// A type that a lane function may be told.
pub(crate) trait LaneMode: Copy {
    /// As it is kept in decoded code.
    fn into_mode(self) -> Mode;

    /// As the lane function takes it.
    fn of(mode: &Mode) -> Self;
}

macro_rules! modes {
    ($($name:ident($ty:ty))*) => {
        /// What a lane function is told, whatever it is.
        #[derive(Clone, Copy, PartialEq, Debug)]
        pub(crate) enum Mode {
            /// Nothing.
            Nothing,
            $($name($ty),)*
        }

        $(impl LaneMode for $ty {
            fn into_mode(self) -> Mode {
                Mode::$name(self)
            }

            #[inline(always)]
            fn of(mode: &Mode) -> Self {
                match mode {
                    Mode::$name(mode) => *mode,
                    _ => unreachable!("a lane function is kept with its own mode"),
                }
            }
        })*
    };
}

modes! {
    Flag(bool)
    Float(FloatMods)
    Half(HalfMods)
    MinMax(MinMaxMods)
    Conversion(Conversion)
    Comparison(Comparison)
    Rounding(Rounding)
    Test(TestProperty)
    Prmt(PrmtMode)
}
