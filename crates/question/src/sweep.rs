//! Studies: many kernels at many launches on many GPUs, as things are and as they would be.
//!
//! A [`Study`] is what the user writes. Its configurations are numbered; each is executed once for all GPUs and all
//! what-if questions, and becomes one [`Row`] for each of them. What a row holds depends on its configuration alone, so
//! that the same rows come out whether one process makes them, or several, or one that goes on where another stopped.

mod configuration;
mod evaluate;
mod study;

pub use configuration::{Configuration, Loaded, MOST_CONFIGURATIONS};
pub use evaluate::{Done, evaluate};
pub use study::{Study, StudyKernel, WhatIf};

/// A configuration on a GPU, under one question.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// Number of the configuration in the study, from 0.
    pub configuration: u64,
    /// The kernel, by the name that the study gives it.
    pub kernel: String,
    /// Sizes and macros with their values, in the order of the study.
    pub values: Vec<(String, String)>,
    /// The launch; none where the values give none.
    pub launch: Option<Launched>,
    /// Label of the GPU.
    pub gpu: String,
    /// Name of the what-if question; none for things as they are.
    pub what_if: Option<String>,
    /// The answer, or why there is none.
    pub answer: Result<Answer, String>,
}

/// How a configuration is launched, and what was counted.
#[derive(Clone, PartialEq, Debug)]
pub struct Launched {
    /// CTAs.
    pub grid: [u32; 3],
    /// Threads per CTA.
    pub block: [u32; 3],
    /// Dynamic shared memory per CTA.
    pub shared_bytes: u64,
    /// Registers per thread; none where it was not executed.
    pub registers: Option<u32>,
    /// Warp instructions of the launch.
    pub instructions: Option<u64>,
}

/// A predicted time.
#[derive(Clone, PartialEq, Debug)]
pub struct Answer {
    /// The model.
    pub model: String,
    /// Microseconds.
    pub time_us: f64,
    /// Where the time lies by what was validated, in microseconds.
    pub range_us: Option<(f64, f64)>,
    /// What bounds it.
    pub limiter: String,
    /// Theoretical occupancy as a share of the warp slots.
    pub occupancy: Option<f64>,
}
