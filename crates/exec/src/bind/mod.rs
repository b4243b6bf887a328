//! Binding: picks the lane function for an operation, its type and its payload.
//!
//! One function per row of the operation table, named in its `bind` column, so that an operation without one does not
//! compile. A binding emits one or more decoded operations.

mod arithmetic;
mod binder;
mod bits;
mod control;
mod convert;
mod exchange;
mod lane;
mod matrix;
mod mode;
mod movement;
mod near;
mod predicate;
mod sign;
mod special;
mod texture;
mod transfer;

use warplens_isa::{Operation, ScalarType};

pub(crate) use binder::{Binder, bind_all};
use predicate::copy_predicate;

use crate::decoded::Decoded;
use crate::raw::{LaneFunction, Source};
use crate::semantics::integer;
use crate::semantics::warp::Exchange;

/// An error says why an engine does not execute the operation.
type Binding = Result<(), &'static str>;

macro_rules! dispatch {
    ($($(#[$meta:meta])* $name:ident $(($payload:ident: $Payload:ty))? =>
        { class: $class:ident, effect: $effect:ident, bind: $module:ident::$bind:ident })*) => {
        /// Emits the steps of `inst`.
        fn bind(binder: &mut Binder<'_>, inst: &Decoded) -> Binding {
            match &inst.operation {
                $(Operation::$name $(($payload))? => bound!($module $bind, binder, inst $(, $payload)?),)*
            }
        }
    };
}

/// Calls the function of a row, binds the lane function that it names, or emits the exchange that its constructor makes.
macro_rules! bound {
    (integer $function:ident, $binder:ident, $inst:ident) => {
        lane::bind($binder, $inst, integer::$function)
    };
    (exchange $constructor:ident, $binder:ident, $inst:ident $(, $payload:ident)?) => {
        exchange::bind($binder, $inst, Exchange::$constructor($inst.ty $(, $payload)?))
    };
    ($module:ident $function:ident, $binder:ident, $inst:ident $(, $payload:ident)?) => {
        $module::$function($binder, $inst $(, $payload)?)
    };
}

warplens_isa::with_ops!(dispatch);

/// The operation exists, but not for this type or with this payload.
fn no_such_form(_: &Decoded) -> Binding {
    Err("this form is not emulated yet")
}

impl Binder<'_> {
    /// Reads the sources of `inst` as values of the given types, applies `handler`, writes a result of type `result`.
    fn apply(&mut self, inst: &Decoded, handler: LaneFunction, types: &[ScalarType], result: ScalarType) -> Binding {
        if inst.sources.len() < types.len() {
            return Err("an operand is missing");
        }
        let sources: Vec<Source> =
            types.iter().zip(&inst.sources).map(|(&ty, operand)| self.read(operand, ty)).collect();
        let destination = self.write(inst.destinations.first().copied().flatten(), result);
        self.lane(handler, destination, &sources);
        Ok(())
    }
}

/// Evaluates `$body` with `$T` as the Rust integer type of a PTX integer type; `else` for all others.
macro_rules! for_integer {
    ($ty:expr, $T:ident => $body:expr, else $other:expr) => {
        match $ty {
            warplens_isa::ScalarType::B8 | warplens_isa::ScalarType::U8 => {
                type $T = u8;
                $body
            }
            warplens_isa::ScalarType::S8 => {
                type $T = i8;
                $body
            }
            warplens_isa::ScalarType::B16 | warplens_isa::ScalarType::U16 => {
                type $T = u16;
                $body
            }
            warplens_isa::ScalarType::S16 => {
                type $T = i16;
                $body
            }
            warplens_isa::ScalarType::B32 | warplens_isa::ScalarType::U32 => {
                type $T = u32;
                $body
            }
            warplens_isa::ScalarType::S32 => {
                type $T = i32;
                $body
            }
            warplens_isa::ScalarType::B64 | warplens_isa::ScalarType::U64 => {
                type $T = u64;
                $body
            }
            warplens_isa::ScalarType::S64 => {
                type $T = i64;
                $body
            }
            _ => $other,
        }
    };
}
use for_integer;
