//! Timing simulation of one SM, driven by what warps executed: TEG (Lai and Seznec, 2011), carried on to later machines.
//!
//! [`simulate`] runs CTAs of a [`Job`] on the SM that an [`SmConfig`] describes and tells an [`Outcome`]: cycles, stall
//! reasons, how busy the units were, where data was found. It is event-driven: every instruction's completion is known
//! when it is issued, because units are reserved in the order of issue. The same job gives the same outcome everywhere.
//!
//! One SM stands for the chip: it has its share of the L2 cache and of device memory, by the [`Surroundings`].
//! This crate does not know about PTX, IR or profiles.

mod config;
mod effect;
pub mod launch;
mod memory;
mod outcome;
mod pipeline;
mod prepared;
mod sampling;
mod stage;
mod stall;
pub mod traces;
mod unit;
mod warp;

pub use config::{
    ClassTiming, ClusterConfig, DramConfig, L1Config, L1Holds, L2Config, LsuConfig, Pipe, SharedConfig, SmConfig,
    pipe_time,
};
pub use effect::{Effect, Without};
pub use outcome::{CtaSpan, Event, Outcome, SchedulerOutcome, Traffic, UnitOutcome};
pub use stall::{Stall, StallCycles};
pub use unit::atomics::{AtomicConfig, GlobalAtomics, RoundConfig, SliceConfig};
pub use unit::{Bound, DelayConfig, UnitKind};

use warplens_stats::Footprint;
use warplens_trace::{Code, CtaTrace};

/// What one SM executes.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// The machine code.
    pub code: &'a Code,
    /// What its CTAs executed, in the order in which the SM gets them.
    pub ctas: &'a [CtaTrace],
    /// CTAs that are on the SM at once.
    pub resident: u32,
    /// The rest of the chip.
    pub surroundings: Surroundings,
    /// Which memory the first CTAs of the launch load from or operate on, where that was recorded.
    pub footprint: Option<&'a Footprint>,
}

/// Machine instructions that the warps of CTAs execute.
pub fn work(code: &Code, ctas: &[CtaTrace]) -> u64 {
    let blocks: Vec<u64> = code.blocks.iter().map(|block| block.len() as u64).collect();
    let warps = ctas.iter().flat_map(|cta| cta.warps.iter());
    warps.flat_map(|warp| warp.steps_of(code)).map(|step| blocks[step.block as usize]).sum()
}

/// What happens on the chip around the SM that is simulated.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Surroundings {
    /// SMs that execute the same kernel at the same time, this one included.
    pub active_sms: u32,
    /// Of these, those on this SM's memory pipeline, this one included.
    pub active_in_cluster: u32,
    /// Share of the lines that this SM is the first of its own CTAs to touch and that no other SM has fetched before: 1
    /// where SMs share nothing, 1 / n where n SMs read each line.
    pub first_fetch: f64,
    /// Share of the lines in the L2 cache that have to be written back before others can take their place, when the first
    /// CTA starts: in the middle of a launch that touches more than the cache holds, lines stored over lines touched.
    pub dirty_before: f64,
    /// Bytes of shared memory that the resident CTAs take from a cache that is one with it.
    pub shared_bytes: u64,
}

impl Surroundings {
    /// This SM alone on the chip.
    pub const ALONE: Self =
        Self { active_sms: 1, active_in_cluster: 1, first_fetch: 1.0, dirty_before: 0.0, shared_bytes: 0 };
}

/// How a job is simulated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Effects that are left out.
    pub without: Without,
    /// Warps of the first CTAs whose instructions are listed in [`Outcome::timeline`].
    pub timeline_warps: u32,
    /// Cycle from which, and cycle up to which, the timeline goes.
    pub timeline_cycles: Option<(u64, u64)>,
    /// Instructions that are simulated in detail, about; of a longer job the others are passed over. All without.
    pub budget: Option<u64>,
}

/// Simulates a job.
pub fn simulate(config: &SmConfig, job: &Job<'_>, options: Options) -> Outcome {
    let config = pipeline::without_effects(config, options);
    pipeline::Sm::new(&config, job, options).run()
}
