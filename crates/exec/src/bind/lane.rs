//! Functions of [`semantics`](crate::semantics) that are bound as they stand: their Rust types say how the operands of
//! all lanes are read and written.

use warplens_isa::ScalarType;

use super::{Binder, Binding};
use crate::decoded::Decoded;
use crate::raw::{LaneFunction, LaneInput, LaneOutput, Level, map1, map2, map3, map4};

/// A Rust type that values of lanes have.
pub(super) trait Typed: LaneInput + LaneOutput {
    /// The type of the values.
    const TYPE: ScalarType;
}

macro_rules! typed {
    ($($ty:ident $scalar:ident;)*) => {$(
        impl Typed for $ty {
            const TYPE: ScalarType = ScalarType::$scalar;
        }
    )*};
}

typed! {
    bool Pred;
    u16 U16;
    i16 S16;
    u32 U32;
    i32 S32;
    u64 U64;
    i64 S64;
    f32 F32;
    f64 F64;
}

/// A function of the values of one lane. `Types` are those of its parameters and of its result.
pub(super) trait Function<Types>: Copy {
    /// Types of the operands.
    const OPERANDS: &'static [ScalarType];
    /// Type of the result.
    const RESULT: ScalarType;
    /// The loop over lanes.
    fn handler(self, level: Level) -> LaneFunction;
}

macro_rules! functions {
    ($($map:ident($($operand:ident),*);)*) => {$(
        impl<$($operand: Typed,)* R: Typed, F: Fn($($operand),*) -> R + Copy> Function<($($operand,)* R)> for F {
            const OPERANDS: &'static [ScalarType] = &[$($operand::TYPE),*];
            const RESULT: ScalarType = R::TYPE;

            fn handler(self, level: Level) -> LaneFunction {
                $map(level, self)
            }
        }
    )*};
}

functions! {
    map1(A);
    map2(A, B);
    map3(A, B, C);
    map4(A, B, C, D);
}

/// Applies a function to the sources and writes the destination.
pub(super) fn bind<T, F: Function<T>>(binder: &mut Binder<'_>, inst: &Decoded, function: F) -> Binding {
    let handler = function.handler(binder.level());
    binder.apply(inst, handler, F::OPERANDS, F::RESULT)
}
