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

use warplens_trace::{Access, WarpIndex};

use crate::access::PatternId;
use crate::recorder::Times;
use crate::{Counting, Program, Recorder};

pub use atomics::{AtomicLine, Atomics, Concentration};
pub(crate) use periods::BlockTasks;
pub use periods::{CostKind, NumberKind, Period, PeriodStream, Periods, StreamPart};
pub use reuse::{Reuse, ReuseHistogram};

/// A fold over the events of an execution.
///
/// As everything that is recorded it must not depend on the order of CTAs nor on their distribution over recorders.
pub(crate) trait Statistic: Sized {
    /// What is kept for a running CTA that is looked at closely.
    type Cta;

    /// What the profile holds of it. Its docs are the definition of what is counted.
    type Counts;

    /// Nothing counted yet.
    fn new() -> Self;

    /// A CTA starts. `None` where it is not looked at closely: few CTAs should be, as they take the slow way.
    fn begin_cta(&self, _: &Start<'_>) -> Option<Self::Cta> {
        None
    }

    /// In a CTA that is looked at, a warp enters the block at a position.
    fn enter(&mut self, _: &mut Self::Cta, _: &Program, _: WarpIndex, _position: usize) {}

    /// In a CTA that is looked at, a warp accesses memory.
    fn follow(&mut self, _: &mut Self::Cta, _: &Event<'_>) {}

    /// A CTA that is looked at has ended.
    fn end_cta(&mut self, _: Self::Cta, _: &Program) {}

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

/// A CTA that starts.
pub(crate) struct Start<'a> {
    pub(crate) program: &'a Program,
    /// Of the CTAs whose warps are followed, which one it is, and how many there are.
    pub(crate) stream: Option<(usize, usize)>,
}

/// An access of a warp.
pub(crate) struct Event<'a> {
    pub(crate) warp: WarpIndex,
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

        /// What the folds keep for a running CTA.
        #[derive(Debug)]
        pub(crate) struct Followed {
            $($name: Option<<$fold as Statistic>::Cta>,)*
        }

        impl Folds {
            pub(crate) fn new() -> Self {
                Self { $($name: <$fold as Statistic>::new(),)* }
            }

            /// What to keep for a CTA, if any statistic looks at it.
            pub(crate) fn begin_cta(&self, start: &Start<'_>) -> Option<Followed> {
                let followed = Followed { $($name: self.$name.begin_cta(start),)* };
                let is_followed = false $(|| followed.$name.is_some())*;
                is_followed.then_some(followed)
            }

            #[cold]
            #[inline(never)]
            pub(crate) fn enter(&mut self, followed: &mut Followed, program: &Program, warp: WarpIndex, position: usize) {
                $(if let Some(cta) = &mut followed.$name {
                    self.$name.enter(cta, program, warp, position);
                })*
            }

            pub(crate) fn follow(&mut self, followed: &mut Followed, event: &Event<'_>) {
                $(if let Some(cta) = &mut followed.$name {
                    self.$name.follow(cta, event);
                })*
            }

            pub(crate) fn end_cta(&mut self, followed: Followed, program: &Program) {
                $(if let Some(cta) = followed.$name {
                    self.$name.end_cta(cta, program);
                })*
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
}
