//! Families of instructions: what an instruction does, before types and modifiers, in whatever language it was written.
//!
//! A family is what cost tables and counts tell apart by name.

use std::fmt;

use crate::table::with_families;

macro_rules! families {
    ($($name:ident $text:literal,)*) => {
        /// What an instruction does, before types and modifiers. The order is that of the names.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Family {
            $(#[doc = concat!("`", $text, "`")] $name,)*
        }

        impl Family {
            /// Every family, in the order of their names.
            pub const ALL: &[Family] = &[$(Self::$name,)*];

            /// Name in documents; unique.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

with_families!(families);

impl Family {
    /// The family called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.binary_search_by(|family| family.name().cmp(name)).ok().map(|index| Self::ALL[index])
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_sorted_by_name_and_found() {
        assert!(Family::ALL.windows(2).all(|pair| pair[0].name() < pair[1].name()));
        for &family in Family::ALL {
            assert_eq!(Family::from_name(family.name()), Some(family));
        }
        assert_eq!(Family::from_name("addd"), None);
    }
}
