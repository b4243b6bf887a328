//! The registry of statistics: folds over events that stand by themselves, each with its result in the profile.
//!
//! A statistic is a file below this module and a row at the end of this one. The row makes its state a part of
//! [`Recorder`] and its result a field of [`Statistics`], which profiles hold. Whoever shows or saves
//! statistics takes `Statistics` apart by its fields, so that the compiler names those who do not know a new one.
//!
//! Events are dispatched statically. What a statistic does not listen to costs it nothing.

mod atomics;
mod periods;
mod reuse;
mod textures;

use warplens_trace::Access;

use crate::access::PatternId;
use crate::recorder::Times;
use crate::{Counting, Program, Recorder};

pub use atomics::{AtomicLine, Atomics, Concentration};
pub(crate) use periods::BlockTasks;
pub use periods::{CostKind, NumberKind, Period, PeriodStream, Periods, StreamPart};
pub use reuse::{Reuse, ReuseHistogram};
pub use textures::Textures;

/// A fold over the events of an execution.
///
/// As everything that is recorded it must not depend on the order of CTAs nor on their distribution over recorders.
pub(crate) trait Statistic: Sized {
    /// What is kept for a running warp that is looked at closely. Few warps are, as they take the slow way: which ones
    /// is the same for all statistics, so that it is asked once for each event.
    type Warp: Default;

    /// What the profile holds of it. Its docs are the definition of what is counted.
    type Counts;

    /// Nothing counted yet.
    fn new() -> Self;

    /// A warp that is looked at enters the block at a position.
    fn enter(&mut self, _: &mut Self::Warp, _: &Program, _position: usize) {}

    /// A warp that is looked at accesses memory.
    fn follow(&mut self, _: &mut Self::Warp, _: &Event<'_>) {}

    /// A warp that is looked at has ended.
    fn end_warp(&mut self, _: Self::Warp, _: &Program) {}

    /// Which accesses of all CTAs it counts: asked of each, so that it must be a comparison or two.
    #[inline(always)]
    fn listens(_: &Access<'_>) -> bool {
        false
    }

    /// An access that it listens to.
    fn count(&mut self, _: &Event<'_>) {}

    /// Takes over what another recorder of the same program counted, as if it had happened so often.
    fn merge(&mut self, other: &Self, times: Times);

    /// The result for the whole grid.
    fn finish(&self, finish: &Finish<'_>) -> Self::Counts;

    /// Leaves out what is not known where nothing was executed. Without a run the CTAs that do the same are counted
    /// once, and `is_exact` says that no branch and no address had to be guessed.
    fn without_run(counts: &mut Option<Self::Counts>, is_exact: bool);
}

/// An access of a warp.
pub(crate) struct Event<'a> {
    /// Which of the program's memory instructions it is.
    pub(crate) slot: u32,
    pub(crate) access: &'a Access<'a>,
    /// Its shape, if it has one that is remembered.
    pub(crate) pattern: Option<PatternId>,
}

/// What a result is made with.
pub(crate) struct Finish<'a> {
    /// Everything else that was counted, the program, and how executed CTAs are scaled to the grid.
    pub(crate) recorder: &'a Recorder,
    pub(crate) counting: Counting,
}

macro_rules! statistics {
    ($($(#[$meta:meta])* $name:ident: $fold:ty => $counts:ty;)*) => {
        /// Results of the statistics. `None` is one that was not counted: not every source of profiles counts
        /// everything.
        #[derive(Clone, PartialEq, Debug, Default)]
        pub struct Statistics {
            $($(#[$meta])* pub $name: Option<$counts>,)*
        }

        impl Statistics {
            /// Leaves out what is not known where nothing was executed; `is_exact` where nothing had to be guessed.
            pub fn without_run(&mut self, is_exact: bool) {
                $(<$fold as Statistic>::without_run(&mut self.$name, is_exact);)*
            }
        }

        /// The folds.
        #[derive(Debug)]
        pub(crate) struct Folds {
            $($name: $fold,)*
        }

        /// What the folds keep for a running warp that is looked at.
        #[derive(Debug, Default)]
        pub(crate) struct Followed {
            $($name: <$fold as Statistic>::Warp,)*
        }

        impl Folds {
            pub(crate) fn new() -> Self {
                Self { $($name: <$fold as Statistic>::new(),)* }
            }

            pub(crate) fn enter(&mut self, warp: &mut Followed, program: &Program, position: usize) {
                $(self.$name.enter(&mut warp.$name, program, position);)*
            }

            pub(crate) fn follow(&mut self, warp: &mut Followed, event: &Event<'_>) {
                $(self.$name.follow(&mut warp.$name, event);)*
            }

            pub(crate) fn end_warp(&mut self, warp: Followed, program: &Program) {
                $(self.$name.end_warp(warp.$name, program);)*
            }

            /// True when a statistic counts such accesses of all CTAs.
            #[inline(always)]
            pub(crate) fn listen(access: &Access<'_>) -> bool {
                false $(|| <$fold as Statistic>::listens(access))*
            }

            #[cold]
            #[inline(never)]
            pub(crate) fn count(&mut self, event: &Event<'_>) {
                $(if <$fold as Statistic>::listens(event.access) {
                    self.$name.count(event);
                })*
            }

            pub(crate) fn merge(&mut self, other: &Self, times: Times) {
                $(self.$name.merge(&other.$name, times);)*
            }

            pub(crate) fn finish(&self, finish: &Finish<'_>) -> Statistics {
                Statistics { $($name: Some(self.$name.finish(finish)),)* }
            }
        }
    };
}

statistics! {
    /// Reuse distances of the global loads of some warps.
    reuse: Reuse => Reuse;
    /// Calculate periods of some warps.
    periods: periods::PeriodCounter => Periods;
    /// Atomic operations on the same address.
    atomics: atomics::AtomicCounter => Atomics;
    /// Fetches from textures and accesses to surfaces.
    textures: textures::TextureCounter => Textures;
}
