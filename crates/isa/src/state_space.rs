//! Where an address points.

use std::fmt;

/// State space of a memory operation (PTX ISA, section "State Spaces").
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum StateSpace {
    /// A generic address: a window of it maps to each of the other spaces.
    Generic,
    /// Device memory.
    Global,
    /// Memory of one CTA.
    Shared,
    /// Memory of one thread.
    Local,
    /// Constant memory.
    Const,
    /// Parameters of the kernel.
    Param,
    /// Device memory as textures show it.
    Texture,
    /// Device memory as surfaces show it.
    Surface,
}

impl StateSpace {
    /// Every space.
    pub const ALL: &[StateSpace] = &[
        Self::Generic,
        Self::Global,
        Self::Shared,
        Self::Local,
        Self::Const,
        Self::Param,
        Self::Texture,
        Self::Surface,
    ];

    /// Name as PTX writes it, without the dot.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Generic => "generic",
            Self::Global => "global",
            Self::Shared => "shared",
            Self::Local => "local",
            Self::Const => "const",
            Self::Param => "param",
            Self::Texture => "texture",
            Self::Surface => "surface",
        }
    }

    /// The space of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|space| space.name() == name)
    }
}

impl fmt::Display for StateSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
