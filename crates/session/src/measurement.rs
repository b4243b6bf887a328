//! What is known of one launch: its counts, where they come from, and what they stand on.

use warplens_exec as exec;
use warplens_ir::FunctionId;
use warplens_isa::Spelling;
use warplens_launch::KernelName;
use warplens_model::{Assumption, Recording, Refusal};
use warplens_sim::traces::Traces;
use warplens_stats::{Executed, Profile};

pub use warplens_import::Measured;
pub use warplens_statics::{Bound, BoundKind, Given, Line};

use crate::generation::Generation;
use crate::machines::{ComputeCapability, Machine};
use crate::program::{self, CodeForm, CountedCode, Program};
use crate::race::Race;

/// The counts of one launch.
#[derive(Clone, PartialEq, Debug)]
pub struct Measurement {
    /// The kernel.
    pub kernel: KernelName,
    /// Everything counted.
    pub profile: Profile,
    /// What some CTAs executed, where a model asked for it.
    pub traces: Traces,
    /// Executions of every instruction, for a listing; empty where nothing was executed.
    pub listing: Vec<Executed>,
    /// Cost of the execution; none where nothing was executed, because the counts come from a file.
    pub emulation: Option<Emulation>,
    /// Instructions of the kernel that are not supported, if the user let them pass.
    pub support: Support,
    /// CTAs wait for each other, so that all of them were executed.
    pub communicates: bool,
    /// CTAs touch what others write, so that all of them were executed, taking turns.
    pub race: Option<Race>,
    /// What counts without a run stand on; `None` where all blocks were executed or measured.
    pub statics: Option<Statics>,
    /// The time on a GPU, where a profiler measured it.
    pub measured: Option<Measured>,
    /// The code that was counted; none where the counts come from elsewhere.
    pub code: Option<CountedCode>,
    /// The number of the launch in the archive that it was executed from.
    pub archived: Option<usize>,
    /// How the launch ran on other GPUs that were asked about: those of other generations, where it may have run
    /// differently there, and those for which CUDA C++ was compiled to other code.
    pub elsewhere: Vec<Elsewhere>,
}

impl Measurement {
    /// The counts, and those of other GPUs.
    pub fn profiles_mut(&mut self) -> impl Iterator<Item = &mut Profile> {
        let elsewhere = self.elsewhere.iter_mut().filter_map(|elsewhere| elsewhere.result.as_mut().ok());
        std::iter::once(&mut self.profile).chain(elsewhere.map(|measurement| &mut measurement.profile))
    }

    /// The same launch as a GPU runs it; else the reason why it cannot.
    pub fn on(&self, machine: &Machine) -> Result<&Self, Refusal> {
        match self.elsewhere.iter().find(|elsewhere| elsewhere.has(machine)) {
            None => Ok(self),
            Some(Elsewhere { result: Ok(measurement), .. }) => Ok(measurement),
            Some(Elsewhere { result: Err(reason), .. }) => Err(Refusal { missing: Vec::new(), reason: reason.clone() }),
        }
    }
}

impl Measurement {
    /// Counts that come from a file, so that nothing was executed.
    pub(crate) fn counted(kernel: KernelName, profile: Profile, measured: Option<Measured>) -> Self {
        Self {
            kernel,
            profile,
            traces: Traces::None,
            listing: Vec::new(),
            emulation: None,
            support: Support::default(),
            communicates: false,
            race: None,
            statics: None,
            measured,
            code: None,
            archived: None,
            elsewhere: Vec::new(),
        }
    }

    /// What was recorded, and that of other GPUs.
    fn traces_mut(&mut self) -> impl Iterator<Item = &mut Traces> {
        let elsewhere = self.elsewhere.iter_mut().filter_map(|elsewhere| elsewhere.result.as_mut().ok());
        std::iter::once(&mut self.traces).chain(elsewhere.map(|of| &mut of.traces))
    }

    /// The counts alone are left.
    pub fn forget_recording(&mut self) {
        self.traces_mut().for_each(|traces| *traces = Traces::None);
    }

    /// The counts have changed: what was recorded is of another launch.
    pub(crate) fn outdate(&mut self) {
        let made = self.traces_mut().filter(|traces| matches!(traces, Traces::Made(_)));
        made.for_each(|traces| *traces = Traces::Outdated);
    }

    /// The language whose lines the counts name.
    pub fn form(&self) -> CodeForm {
        self.code.as_ref().map_or(CodeForm::Ptx, |code| code.form)
    }

    /// What models are asked about.
    pub fn recording(&self) -> Recording<'_> {
        Recording { profile: &self.profile, traces: &self.traces }
    }
}

/// How much of the kernel the emulator can execute.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Support {
    /// Instructions in the kernel's call graph.
    pub instructions: u64,
    /// Those that are not supported, with the reason.
    pub unsupported: Vec<(Spelling, String)>,
    /// Loads of threads that went beyond the end of a buffer and read zeros there, if the user let them pass.
    pub overreads: u64,
}

impl Support {
    /// That of a kernel.
    pub(crate) fn of(program: &Program, decoded: &exec::Program, kernel: FunctionId) -> Self {
        let module = &program.module;
        let functions = warplens_ir::call_graph::reachable(module, kernel);
        let instructions = module.pcs.iter().filter(|(_, info)| functions.contains(&info.function)).count() as u64;
        let unsupported = decoded.unsupported().iter();
        let unsupported = unsupported.map(|found| (module.spelling(found.pc).clone(), found.reason.clone())).collect();
        Self { instructions, unsupported, overreads: 0 }
    }

    /// Share of the instructions that is supported.
    pub fn share(&self) -> f64 {
        if self.instructions == 0 { 1.0 } else { 1.0 - self.unsupported.len() as f64 / self.instructions as f64 }
    }
}

/// Cost of an execution.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Emulation {
    /// Thread instructions executed.
    pub thread_instructions: u64,
    /// Warp instructions executed.
    pub warp_instructions: u64,
    /// Seconds that the execution took, without reading, lowering and filling buffers.
    pub seconds: f64,
}

/// How a launch ran on other GPUs.
#[derive(Clone, PartialEq, Debug)]
pub struct Elsewhere {
    /// Their generation, where generations differ.
    pub generation: Option<Generation>,
    /// What was compiled for them, where others have other code.
    pub target: Option<ComputeCapability>,
    /// What was counted there, or why it does not run.
    pub result: Result<Box<Measurement>, String>,
}

impl Elsewhere {
    /// True for its GPUs.
    fn has(&self, machine: &Machine) -> bool {
        self.generation.is_none_or(|generation| generation.has(machine.cc)) && program::is_run_by(self.target, machine)
    }
}

/// What counts without a run stand on.
#[derive(Clone, PartialEq, Debug)]
pub struct Statics {
    /// Where the counts are upper bounds.
    pub bounds: Vec<Bound>,
    /// Trips and probabilities that the user gave and that were used.
    pub used: Vec<(Line, f64)>,
    /// Given lines that nothing depended on.
    pub unused: Vec<Line>,
    /// CTAs that were walked; each speaks for all that do the same.
    pub walked_ctas: u64,
    /// Warp instructions that were walked.
    pub walked_instructions: u64,
    /// CTAs that were executed all the same, to check their accesses and to trace them; 0 where the user wanted no run.
    pub executed_ctas: u64,
}

impl Statics {
    /// What a prediction from the counts assumes.
    pub(crate) fn assumptions(&self) -> Vec<Assumption> {
        if self.executed_ctas > 0 {
            return vec![warplens_model::of_ctas_alike(self.walked_ctas, self.executed_ctas)];
        }
        warplens_model::of_static_counts(self.bounds.len(), self.used.len())
    }
}
