//! Launches on a GPU that is there, instead of the emulator.

use warplens_base::error::Result;
pub use warplens_gpu::{Cache, Facts, Gpu, Repeats, Timing};
use warplens_gpu::{Module, Placed};
use warplens_launch::{Launch, Plan, PlannedBuffer};

use crate::execution::{Output, bind};
use crate::program::Program;

/// The workspace that launches of cooperative kernels have: only their CTAs wait for each other.
const COOPERATIVE: &str = "%envreg2";

/// A program that the driver has assembled for a GPU.
pub struct OnGpu<'p, 'g> {
    program: &'p Program,
    module: Module<'g>,
}

/// A launch that was timed.
#[derive(Clone, PartialEq, Debug)]
pub struct Timed {
    /// What it took.
    pub timing: Timing,
    /// Registers per thread, as assembled.
    pub registers: u32,
    /// What the first launch left in the buffers, where that was asked for.
    pub contents: Vec<Output>,
}

impl<'p, 'g> OnGpu<'p, 'g> {
    /// Has a program assembled.
    pub fn load(gpu: &'g Gpu, program: &'p Program) -> Result<Self> {
        Ok(Self { program, module: gpu.load(&program.name, &program.ptx)? })
    }

    fn placed(&self, launches: &[Launch]) -> Result<(Plan, Vec<(String, bool)>)> {
        let (kernels, plan) = bind(self.program, launches)?;
        let is_cooperative = self.program.ptx.contains(COOPERATIVE);
        let name = |kernel| (self.program.module().functions[kernel].name.clone(), is_cooperative);
        Ok((plan, kernels.into_iter().map(name).collect()))
    }

    /// Runs launches, one after the other: what the buffers hold then, each under the position of its argument, as
    /// requests name it.
    pub fn run(&self, launches: &[Launch]) -> Result<Vec<Output>> {
        let (plan, kernels) = self.placed(launches)?;
        let placed = Placed::new(&self.module, &plan, &kernels)?;
        placed.run()?;
        contents(&plan, &placed)
    }

    /// Runs a launch once, where its `contents` are wanted, and then times it.
    pub fn time(&self, launch: &Launch, repeats: Repeats, wants_contents: bool) -> Result<Timed> {
        let (plan, kernels) = self.placed(std::slice::from_ref(launch))?;
        let registers = self.module.registers(&kernels[0].0)?;
        let placed = Placed::new(&self.module, &plan, &kernels)?;
        let mut outputs = Vec::new();
        if wants_contents {
            placed.run()?;
            outputs = contents(&plan, &placed)?;
        }
        Ok(Timed { timing: placed.time(0, repeats)?, registers, contents: outputs })
    }
}

fn contents(plan: &Plan, placed: &Placed<'_, '_>) -> Result<Vec<Output>> {
    let output = |(buffer, bytes): (&PlannedBuffer, Vec<u8>)| {
        let key = match (buffer.launch, buffer.argument) {
            (0, Some(argument)) => argument.to_string(),
            (launch, Some(argument)) => format!("{launch}.{argument}"),
            (_, None) => buffer.name.clone(),
        };
        Output { key, element: buffer.element, bytes }
    };
    Ok(plan.buffers.as_slice().iter().zip(placed.contents()?).map(output).collect())
}
