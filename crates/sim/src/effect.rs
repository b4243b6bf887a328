//! Effects that a simulation can leave out, to learn what each of them costs. Which there are is said beside the units
//! that have them, in [`unit`](crate::unit).

use std::fmt;

pub use crate::unit::Effect;

macro_rules! effects {
    ($($(#[$meta:meta])* $name:ident $text:literal $about:literal;)*) => {
        /// An effect that costs time.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Effect {
            $($(#[$meta])* $name,)*
        }

        impl Effect {
            /// Every effect.
            pub const ALL: &[Effect] = &[$(Self::$name,)*];

            /// Name that users write.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// What is supposed when it is left out.
            pub const fn about(self) -> &'static str {
                match self { $(Self::$name => $about,)* }
            }
        }
    };
}
pub(crate) use effects;

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of effects that are left out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Without(u16);

impl Without {
    /// Nothing is left out.
    pub const NOTHING: Self = Self(0);

    /// The set with one effect more.
    #[must_use]
    pub const fn and(self, effect: Effect) -> Self {
        Self(self.0 | 1 << effect as u16)
    }

    /// True when the effect is left out.
    pub const fn contains(self, effect: Effect) -> bool {
        self.0 >> effect as u16 & 1 == 1
    }

    /// True when nothing is left out.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl FromIterator<Effect> for Without {
    fn from_iter<I: IntoIterator<Item = Effect>>(effects: I) -> Self {
        effects.into_iter().fold(Self::NOTHING, Self::and)
    }
}
