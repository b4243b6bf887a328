//! From opcodes to operations, as the rows of the opcode table say.

use warplens_isa::{OpClass, OpaqueType, Operation, ScalarType};

use super::body::Body;
use super::control::End;
use super::instruction::{Site, Slot};
use super::video::Primary;
use super::{Lowered, Stop};
use crate::opcodes::{Opcode, with_opcodes};

macro_rules! lowerings {
    ($($id:ident $name:literal { $($lowering:tt)* } $(lacks $class:ident $reason:literal)?
        [$($($family:ident:)? ($($form:tt)*)),* $(,)?])*) => {
        impl<'a, 'src> Body<'_, 'a, 'src> {
            /// Lowers an instruction as the row of its opcode says.
            pub(super) fn dispatch(&mut self, site: &Site<'a, 'src>) -> Lowered<()> {
                match site.instruction.opcode {
                    $(Opcode::$id => lowering!(self site; $($lowering)*),)*
                    Opcode::Unknown => Err(Stop::Unsupported),
                }
            }
        }

        /// Number of types that an instruction may name, for those whose lowering would overlook more.
        pub(super) fn most_types(opcode: Opcode) -> Option<usize> {
            match opcode {
                $(Opcode::$id => most_types!($($lowering)*),)*
                Opcode::Unknown => None,
            }
        }

        /// Class under which an instruction counts in those forms that the emulator lacks.
        pub(super) fn lacking_class(opcode: Opcode) -> OpClass {
            match opcode {
                $(Opcode::$id => lacking_class!($($class)?),)*
                Opcode::Unknown => OpClass::Other,
            }
        }
    };
}

/// The lowering of a row, see the table.
macro_rules! lowering {
    ($body:ident $site:ident; none) => {
        Err(Stop::Unsupported)
    };
    ($body:ident $site:ident; nothing) => {
        $body.lower_nothing()
    };
    ($body:ident $site:ident; by $method:ident $(($($argument:expr),*))? $(, types: $most:literal)?) => {
        $body.$method($site $($(, $argument)*)?)
    };
    ($body:ident $site:ident; function $op:ident($payload:ident) T <- $($source:ident)*) => {
        $body.lower_function($site, |written| Operation::$op(written.$payload()), [$(slot!($source)),*].len())
    };
    ($body:ident $site:ident; $op:ident($payload:ident) $result:ident <- $($source:ident)*) => {
        $body.lower_ordinary($site, |written| Operation::$op(written.$payload()), slot!($result), &[$(slot!($source)),*])
    };
    ($body:ident $site:ident; $op:ident $result:ident <- $($source:ident)*) => {
        $body.lower_ordinary($site, |_| Operation::$op, slot!($result), &[$(slot!($source)),*])
    };
}

macro_rules! slot {
    (T) => {
        Slot::Written
    };
    ($ty:ident) => {
        Slot::Always(ScalarType::$ty)
    };
}

macro_rules! most_types {
    (none) => {
        None
    };
    (nothing) => {
        None
    };
    (by $method:ident $(($($argument:expr),*))?) => {
        None
    };
    (by $method:ident $(($($argument:expr),*))?, types: $most:literal) => {
        Some($most)
    };
    ($($ordinary:tt)*) => {
        Some(1)
    };
}

macro_rules! lacking_class {
    () => {
        OpClass::Other
    };
    ($class:ident) => {
        OpClass::$class
    };
}

with_opcodes!(lowerings);
