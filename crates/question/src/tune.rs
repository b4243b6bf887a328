//! Searches for the fastest launch: block size, grid mapping, shared memory, macros of the source.
//!
//! A [`Space`] holds the points. Each is emulated once for all GPUs and models; points whose counts cannot differ share
//! one emulation. Up to [`EXHAUSTIVE_LIMIT`] points all are tried, beyond that the search is guided by the times so far.

mod arguments;
mod emulate;
pub(crate) mod emulator;
mod expression;
mod outputs;
pub(crate) mod parallel;
mod ranking;
mod search;
pub(crate) mod source;
pub(crate) mod space;
pub(crate) mod space_file;

pub use arguments::LaunchTemplate;
pub use expression::{Expression, ExpressionError};
pub use outputs::Check;
pub use ranking::{Compromise, RESOLUTION, Ranking};
pub use space::{Choices, Dimension, GivenShape, Point, Resolved, Space, SpaceText, Text, show_extents};

use warplens_base::error::Result;
use warplens_launch::KernelName;
use warplens_session::Input;
use warplens_session::machines::Machine;
use warplens_session::predict::{Choice, ModelId, Options};
use warplens_session::profile::RegistersBasis;
use warplens_session::toolchain::Search;
use warplens_session::{ExecutionOptions, Progress};

/// Points beyond which a search is guided.
pub const EXHAUSTIVE_LIMIT: u64 = 10_000;
/// Points that a guided search evaluates unless the user says otherwise.
pub const GUIDED_POINTS: usize = 1000;

/// Points times GPUs up to which `auto` simulates each: a simulation takes up to a second.
pub const SIMULATED_LIMIT: u64 = 32;

/// What is to be searched, and how.
#[derive(Clone, Debug)]
pub struct Request<'r> {
    /// PTX or CUDA C++.
    pub inputs: &'r [Input],
    /// The variants: position of the input, and the kernel where there are several. As many as the space has inputs.
    pub variants: Vec<(usize, Option<String>)>,
    /// Target that CUDA C++ is compiled for.
    pub target: String,
    /// Kernel, arguments, registers.
    pub launch: LaunchTemplate,
    /// The points.
    pub space: Space,
    /// The GPUs.
    pub machines: Vec<Machine>,
    /// The models that rank.
    pub choice: Choice,
    /// Options of the models.
    pub options: Options,
    /// How points are executed.
    pub execution: ExecutionOptions,
    /// Points that may be evaluated; all up to [`EXHAUSTIVE_LIMIT`] unless given.
    pub most_points: Option<usize>,
    /// Compare the outputs of all points, floats with this tolerance.
    pub check: Option<f64>,
    /// How much slower than the best a point may be and still be tied with it, as a fraction.
    pub band: f64,
}

/// How the points were chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// All.
    Exhaustive,
    /// By the guided search, from this many starts.
    Guided {
        /// Starts that were taken, over all GPUs.
        n_starts: usize,
    },
}

/// The result of a search.
#[derive(Clone, PartialEq, Debug)]
pub struct Tuning {
    /// The kernel, by the names of the first input that has one.
    pub kernel: Option<KernelName>,
    /// What was varied.
    pub dimensions: Vec<Dimension>,
    /// How points were chosen.
    pub method: Method,
    /// Combinations of all values.
    pub n_points: u64,
    /// Of those looked at, excluded by constraints.
    pub n_excluded: u64,
    /// Programs that were made of the inputs.
    pub n_programs: usize,
    /// Launches that were emulated; points whose counts cannot differ share one.
    pub n_emulated: usize,
    /// Points that were evaluated, possible or not.
    pub candidates: Vec<Candidate>,
    /// The points by GPU.
    pub rankings: Vec<Ranking>,
    /// One launch for all GPUs, where there are several.
    pub compromise: Option<Compromise>,
    /// Outputs were compared.
    pub is_checked: bool,
    /// How much slower than the best a point may be and still be tied with it.
    pub band: f64,
}

/// A point that was evaluated.
#[derive(Clone, PartialEq, Debug)]
pub struct Candidate {
    /// Its values.
    pub choices: Choices,
    /// Position in the list of inputs.
    pub input: usize,
    /// Macros with their values.
    pub macros: Vec<(String, String)>,
    /// Its launch; none where the values give no launch.
    pub point: Option<Point>,
    /// What came of it, or why nothing could.
    pub result: std::result::Result<Measured, String>,
    /// How its outputs compare, if that was asked for.
    pub check: Option<Check>,
}

/// What is kept of a point that was emulated.
#[derive(Clone, PartialEq, Debug)]
pub struct Measured {
    /// Registers per thread.
    pub registers: u32,
    /// Where the number comes from.
    pub registers_basis: RegistersBasis,
    /// Static and dynamic shared memory per CTA.
    pub shared_bytes: u64,
    /// Warp instructions of the launch.
    pub instructions: u64,
    /// CTAs that were executed, and CTAs of the grid.
    pub ctas: (u64, u64),
    /// What the models say, by GPU.
    pub gpus: Vec<OnGpu>,
}

/// A point on one GPU.
#[derive(Clone, PartialEq, Debug)]
pub struct OnGpu {
    /// Why the GPU cannot run it.
    pub impossible: Option<String>,
    /// Theoretical occupancy as a share of the warp slots.
    pub occupancy: Option<f64>,
    /// The answer of every model, in the order of preference.
    pub answers: Vec<ModelTime>,
}

/// The answer of one model.
#[derive(Clone, PartialEq, Debug)]
pub struct ModelTime {
    /// The model.
    pub model: ModelId,
    /// Microseconds and what bounds them; or why there is no time.
    pub result: std::result::Result<(f64, &'static str), String>,
}

impl ModelTime {
    /// The time in microseconds.
    pub fn time(&self) -> Option<f64> {
        self.result.as_ref().ok().map(|(time, _)| *time)
    }
}

impl Candidate {
    /// What is known of a point that was emulated.
    pub fn measured(&self) -> Option<&Measured> {
        self.result.as_ref().ok()
    }

    /// The answer of a model on the GPU with this position, where the GPU can run the point.
    pub fn answer(&self, gpu: usize, model: ModelId) -> Option<(f64, &'static str)> {
        let on = self.measured()?.gpus.get(gpu).filter(|on| on.impossible.is_none())?;
        on.answers.iter().find(|own| own.model == model)?.result.as_ref().ok().copied()
    }
}

impl Tuning {
    /// True when a point has a time on a GPU.
    pub fn has_answer(&self) -> bool {
        self.rankings.iter().any(|ranking| !ranking.order.is_empty())
    }

    /// What tells points apart, in a few words: `TILE=16 block=16x16`.
    pub fn label(&self, candidate: &Candidate) -> String {
        self.label_without(candidate, &[])
    }

    /// The same without the dimensions with these names.
    pub fn label_without(&self, candidate: &Candidate, without: &[&str]) -> String {
        let words =
            self.dimensions.iter().filter(|dimension| !without.contains(&dimension.name.as_str())).map(|dimension| {
                let value = &dimension.values[candidate.choices[dimension.position]];
                format!("{}={value}", dimension.name)
            });
        words.collect::<Vec<_>>().join(" ")
    }
}

/// Searches.
pub fn tune(request: &Request<'_>, search: &Search, progress: &Progress) -> Result<Tuning> {
    emulate::Tuner::new(request, search, progress)?.run()
}

#[cfg(test)]
mod tests;
