//! Effects that a simulation can leave out, to learn what each of them costs.

use std::fmt;

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

effects! {
    /// Shared-memory bank conflicts.
    BankConflicts "bank-conflicts" "each shared-memory access takes the passes of one without conflicts";
    /// Accesses that take more transactions than their bytes need.
    Uncoalesced "uncoalesced" "the distinct bytes of each memory request lie side by side, so that it takes the fewest transactions";
    /// Uneven use of the memory channels.
    ChannelSkew "channel-skew" "requests spread evenly over the memory channels";
    /// Paths of a warp executed one after the other.
    Divergence "divergence" "the work of partly active warp instructions is done by warps with all their lanes";
    /// Waiting at barriers.
    Synchronisation "synchronisation" "no warp waits at a barrier; the barriers' instructions stay";
    /// Waiting for results of the same warp.
    DependenceLatency "dependence-latency" "no instruction waits for another of its warp";
    /// Cycles that an instruction occupies its warp and its unit.
    IssueOccupancy "issue-occupancy" "an instruction occupies its warp, its scheduler and its unit for one cycle";
    /// Misses of the caches.
    CacheMisses "cache-misses" "every access to global or local memory hits the first cache that the machine has";
    /// Round trip to memory.
    MemoryLatency "memory-latency" "a load from device memory takes no longer than one from the nearest memory of the SM";
    /// Limited bandwidth of memory.
    MemoryBandwidth "memory-bandwidth" "caches and device memory take any number of requests at once";
}

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
