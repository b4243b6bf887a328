//! Launches that a running program makes, on a device that it fills itself.
//!
//! A launch file says everything beforehand; a program that calls CUDA says it piece by piece. A [`Served`] kernel is made
//! ready once and launched many times, with or without being counted.

use std::collections::BTreeSet;
use std::sync::Arc;

use warplens_device::{Context, Kernel, Marks, ModuleHandle};
use warplens_exec::{AccessFault, ExecError, LaunchSummary, Schedule};
pub use warplens_ir::Parameter;
use warplens_ir::{FunctionId, Module};
use warplens_isa::MOST_CLUSTER_CTAS;
use warplens_launch::{ClusterDemands, KernelName, PlannedLaunch, Words, cluster_of};
use warplens_stats::Counting;

use crate::execution::{ALIKE_LIMIT, Execution, ExecutionOptions, Extent, FULL_LIMIT};
use crate::failure;
use crate::findings::{Checks, Finding, OrderedOf, Watched};
use crate::generation::Generation;
use crate::machines::{Machine, Strictness};
use crate::measure;
use crate::measurement::{Emulation, Measurement};
use crate::predict::{self, Choice, CountBasis, OptionId, Options};
use crate::program::Program;
use crate::progress::Progress;
use crate::race::Race;
use crate::registers::{self, Registers};
use crate::runs::Ran;
use crate::toolchain::{CodeKind, Search};
use warplens_base::error::{Error, ErrorKind, Result};

/// Device code that a program brings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Code {
    /// PTX: texts that are linked.
    Ptx(Vec<String>),
    /// Machine code: an ELF file.
    Machine(Vec<u8>),
}

/// Code that was loaded into a device.
pub struct Loaded {
    program: Program,
    module: ModuleHandle,
    ordered: OrderedOf,
    /// What it was read from, and the target for which machine code was made of it.
    code: Code,
    assembled_for: Option<String>,
    /// Where it was placed.
    marks: Marks,
}

impl Loaded {
    /// Reads code, links what was compiled in parts, and places its variables in memory. PTX is assembled for `target`
    /// where the search asks for machine code.
    pub fn new(context: &mut Context, name: &str, code: Code, (target, search): (&str, &Search)) -> Result<Self> {
        let program = match &code {
            Code::Machine(bytes) => Program::from_cubin(name, bytes)?,
            Code::Ptx(texts) => {
                let program = match texts.as_slice() {
                    [text] => Program::from_ptx(name, text.clone())?,
                    texts => Program::linked(name, texts.to_vec())?,
                };
                program.in_code(target, search)?
            }
        };
        let is_assembled = matches!(code, Code::Ptx(_)) && search.code == CodeKind::Machine;
        let assembled_for = is_assembled.then(|| target.to_owned());
        let marks = context.marks();
        let module = context.load(Arc::clone(&program.module)).map_err(|error| failure::of_device(&program, &error))?;
        Ok(Self { program, module, ordered: OrderedOf::default(), code, assembled_for, marks })
    }

    /// Its handle on the device.
    pub fn module(&self) -> ModuleHandle {
        self.module
    }

    /// What it was read from.
    pub(crate) fn code(&self) -> &Code {
        &self.code
    }

    /// The target for which machine code was made of its PTX.
    pub(crate) fn assembled_for(&self) -> Option<&str> {
        self.assembled_for.as_deref()
    }

    /// Where its variables, its constants and its functions begin.
    pub(crate) fn marks(&self) -> Marks {
        self.marks
    }

    /// What was loaded.
    pub fn program(&self) -> &Program {
        &self.program
    }
}

/// Reads PTX that is to be linked with other PTX.
pub fn check_part(name: &str, ptx: &str) -> Result<()> {
    let (module, diagnostics) = warplens_ptx::load_part(ptx);
    let failed = || Error::input(format!("{name} has errors")).with_findings(name, ptx, diagnostics);
    module.map(drop).ok_or_else(failed)
}

/// Links PTX: all that one text uses must be there.
pub fn check_whole(name: &str, texts: &[String]) -> Result<()> {
    Program::linked(name, texts.to_vec()).map(drop)
}

/// A kernel made ready to be launched.
pub struct Served {
    kernel: FunctionId,
    name: KernelName,
    prepared: Kernel,
    registers: Registers,
    static_shared: u64,
}

/// A launch: everything but the kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServedLaunch {
    /// CTAs per axis.
    pub grid: [u32; 3],
    /// Threads per axis.
    pub block: [u32; 3],
    /// CTAs of a cluster per axis, where the launch says so.
    pub cluster: Option<[u32; 3]>,
    /// Clusters may be larger than every GPU has room for.
    pub allows_large_clusters: bool,
    /// Dynamic shared memory in bytes.
    pub dynamic_shared: u64,
    /// Content of the parameter space.
    pub parameters: Vec<u8>,
    /// Bytes of memory that it can touch, besides variables.
    pub memory_bytes: u64,
}

/// Why a launch stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// An access outside of what it may touch.
    IllegalAddress,
    /// An access to an address that is no multiple of its size.
    MisalignedAddress,
    /// The launch is impossible: its grid, its block or its shared memory.
    Configuration,
    /// There are no such clusters.
    Cluster,
    /// The kernel has an instruction that cannot be executed.
    Unsupported,
    /// More instructions than a launch may execute.
    Budget,
    /// A failed assertion of the program.
    Assertion,
    /// Everything else: a trap, a deadlock, a stack that overflows.
    Failure,
}

/// A launch that stopped, with the words for the user.
#[derive(Debug)]
pub struct Stopped {
    /// What kind of end it was.
    pub stop: Stop,
    /// Kernel, line, thread, address and nearest allocation, as far as they matter.
    pub error: Error,
}

/// What a launch that ended left.
#[derive(Debug)]
pub struct Done<T> {
    /// What was asked for.
    pub result: T,
    /// What the kernel printed.
    pub printed: Vec<u8>,
    /// What checks found.
    pub findings: Vec<Finding>,
}

/// Work of a launch: what repeats when a launch repeats.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Work {
    /// Warp instructions executed.
    pub warp_instructions: u64,
    /// Thread instructions executed.
    pub thread_instructions: u64,
}

/// How launches are executed for GPUs, the first of which is the one that the program sees; with a sample, launches of
/// more thread instructions are executed in part.
pub fn options(machines: &[Machine], threads: usize, sample: Option<u64>) -> ExecutionOptions {
    let first = machines.first().map(|machine| Generation::of(machine.cc));
    ExecutionOptions {
        threads,
        // The program goes on with the results, unless it is asked for times alone.
        extent: if sample.is_some() { Extent::Auto } else { Extent::Counted },
        full_limit: sample.unwrap_or(FULL_LIMIT),
        // What is below the sample is computed, as the program goes on with it.
        alike_limit: sample.unwrap_or_default().max(ALIKE_LIMIT),
        traced_for: Choice::Auto.traced(machines),
        generations: vec![first.unwrap_or_default()],
        ..ExecutionOptions::new()
    }
}

/// How the models answer about launches.
#[derive(Clone, Debug, Default)]
pub struct Answering {
    /// Their options.
    pub options: Options,
    /// What is thereby assumed.
    pub assumptions: Vec<String>,
}

/// How the models answer, by names of options that one of them has.
pub fn answering(names: &[String]) -> Result<Answering> {
    let options = predict::options(&Choice::Auto, names, CountBasis::AsWritten, Strictness::AllowInferred)?;
    let of_name = |name: &String| OptionId::ALL.iter().copied().find(|option| option.name() == name);
    let asked: BTreeSet<OptionId> = names.iter().filter_map(of_name).collect();
    let sentence = |option: OptionId| format!("{}, where the model has that option: {}", option.name(), option.about());
    Ok(Answering { options, assumptions: asked.into_iter().map(sentence).collect() })
}

impl Served {
    /// The kernel of a module with this name, as PTX has it; none where there is no such kernel.
    pub fn new(context: &mut Context, loaded: &Loaded, name: &str, search: &Search) -> Result<Option<Self>> {
        let program = &loaded.program;
        let Some(kernel) = kernel_named(program, name) else { return Ok(None) };
        let registers = registers::of(program, kernel, None, search)?;
        Self::with_registers(context, loaded, name, registers)
    }

    /// The same with registers that are known.
    pub(crate) fn with_registers(
        context: &mut Context,
        loaded: &Loaded,
        name: &str,
        registers: Registers,
    ) -> Result<Option<Self>> {
        let Loaded { program, module, .. } = loaded;
        let Some(kernel) = kernel_named(program, name) else { return Ok(None) };
        let on_device = |error| failure::of_device(program, &error);
        let handle = context.kernel_of(*module, kernel).map_err(on_device)?;
        let prepared = context.prepare(handle).map_err(on_device)?;
        let static_shared = prepared.program().static_shared_bytes();
        Ok(Some(Self { kernel, name: KernelName::new(name), prepared, registers, static_shared }))
    }

    /// Its name.
    pub fn name(&self) -> &KernelName {
        &self.name
    }

    /// Registers per thread.
    pub fn registers(&self) -> u32 {
        self.registers.0
    }

    /// Registers per thread of a launch with blocks of this shape: an estimate is at most what they leave to a thread.
    pub fn registers_in(&self, block: [u32; 3]) -> u32 {
        registers::in_blocks(self.registers, block).0
    }

    /// Registers per thread, and where that number comes from.
    pub(crate) fn registers_with_basis(&self) -> Registers {
        self.registers
    }

    /// Bytes of shared memory that its variables take.
    pub fn static_shared(&self) -> u64 {
        self.static_shared
    }

    /// Its parameters.
    pub fn parameters<'l>(&self, loaded: &'l Loaded) -> &'l [Parameter] {
        &loaded.program.module.functions[self.kernel].parameters
    }

    /// Most threads of a block that its directives allow; none where they say nothing.
    pub fn max_threads(&self, loaded: &Loaded) -> Option<u32> {
        loaded.program.module.functions[self.kernel].bounds.max_threads
    }

    /// Executes a launch and counts it.
    pub fn measure(
        &self,
        context: &mut Context,
        loaded: &Loaded,
        launch: &ServedLaunch,
        (options, checks): (&ExecutionOptions, &mut Checks),
    ) -> std::result::Result<Done<Measurement>, Stopped> {
        let registers = registers::in_blocks(self.registers, launch.block);
        self.execute(context, loaded, launch, (options.clone(), checks), |execution| {
            let measurement = measure::one(execution, 0, Counting::Ptx, registers, &Progress::default())?;
            let race = measurement.race.clone();
            Ok((measurement, race))
        })
    }

    /// Executes a launch and counts it as a generation of GPUs does.
    pub(crate) fn ran(
        &self,
        (context, loaded): (&mut Context, &Loaded),
        launch: &ServedLaunch,
        (options, generation): (&ExecutionOptions, Generation),
        counting: Counting,
        progress: &Progress,
    ) -> Result<Ran> {
        let options = (options.clone(), &mut Checks::default());
        let registers = registers::in_blocks(self.registers, launch.block);
        let done = self.execute(context, loaded, launch, options, |execution| {
            execution.become_of(generation);
            let measurement = measure::one(execution, 0, counting, registers, progress)?;
            Ok((Ran { measurements: vec![measurement], differing: execution.differing() }, None))
        });
        done.map(|done| done.result).map_err(|stopped| stopped.error)
    }

    /// Executes a launch.
    pub fn run(
        &self,
        context: &mut Context,
        loaded: &Loaded,
        launch: &ServedLaunch,
        (options, checks): (&ExecutionOptions, &mut Checks),
    ) -> std::result::Result<Done<Work>, Stopped> {
        self.execute(context, loaded, launch, (options.untraced(), checks), |execution| {
            let progress = Progress::default();
            let mut parts = execution.parts(0, &self.prepared);
            let launch = (0, &self.prepared);
            let summary = execution.run(launch, &mut parts, Schedule::Any, None, &progress)?;
            let LaunchSummary { warp_instructions, thread_instructions, race, .. } = summary;
            let race = race.map(|race| Race::new(execution.program, &race));
            Ok((Work { warp_instructions, thread_instructions }, race))
        })
    }

    fn execute<T>(
        &self,
        context: &mut Context,
        loaded: &Loaded,
        launch: &ServedLaunch,
        (options, checks): (ExecutionOptions, &mut Checks),
        work: impl FnOnce(&mut Execution<'_>) -> Result<(T, Option<Race>)>,
    ) -> std::result::Result<Done<T>, Stopped> {
        let cluster = self.check(&loaded.program.module, launch)?;
        let planned = PlannedLaunch {
            grid: launch.grid,
            block: launch.block,
            cluster,
            dynamic_shared: launch.dynamic_shared,
            registers: None,
            parameter_names: Vec::new(),
            argument_buffers: Vec::new(),
            parameters: Words { bytes: launch.parameters.clone(), ..Words::default() },
            symbols: Vec::new(),
        };
        // An execution owns its device; it gives it back below, whatever happens between.
        let owned = std::mem::replace(context, Context::new(64, 0));
        let on = (owned, loaded.module);
        let (kernel, program) = (self.kernel, &loaded.program);
        let mut execution = Execution::of_context(program, on, (kernel, planned), launch.memory_bytes, options);
        execution.watch(checks.watcher(&program.module, &loaded.ordered));
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(&mut execution)));
        let watcher = execution.take_watcher();
        let (owned, printed, fault) = execution.into_context();
        *context = owned;
        match result {
            Ok(Ok((result, race))) => {
                let found = watcher.map(|watcher| watcher.finish(&mut checks.written)).unwrap_or_default();
                let watched = Watched { program, context, grid: launch.grid, block: launch.block };
                let race = race.filter(|_| checks.races);
                let findings = found.iter().map(|found| watched.found(found));
                let findings = findings.chain(race.iter().map(|race| watched.race(race))).collect();
                Ok(Done { result, printed, findings })
            }
            Ok(Err(error)) => Err(Stopped { stop: stop(fault.as_ref(), &error), error }),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    /// Refuses what cannot be launched before anything is said of how it went. Returns the clusters that the launch or its
    /// kernel asks for.
    fn check(&self, module: &Module, launch: &ServedLaunch) -> std::result::Result<Option<[u32; 3]>, Stopped> {
        let name = &self.name.mangled;
        let impossible = |stop: Stop, what: &str| Stopped {
            stop,
            error: Error::usage(format!("kernel `{name}` cannot be launched: {what}")),
        };
        let [x, y, z] = launch.block.map(u64::from);
        let threads = x.saturating_mul(y).saturating_mul(z);
        let ctas = launch.grid.iter().fold(1u64, |ctas, &extent| ctas.saturating_mul(extent.into()));
        if threads == 0 || threads > 1024 {
            let what = format!("its block has {threads} threads, and 1 to 1024 are possible");
            return Err(impossible(Stop::Configuration, &what));
        }
        if ctas == 0 || ctas > u64::from(u32::MAX) {
            return Err(impossible(Stop::Configuration, &format!("its grid has {ctas} blocks")));
        }
        let mut bounds = module.functions[self.kernel].bounds;
        if launch.allows_large_clusters {
            bounds.max_cluster = bounds.max_cluster.or(Some(MOST_CLUSTER_CTAS));
        }
        cluster_of(launch.cluster, &ClusterDemands { name, bounds }, launch.grid)
            .map_err(|error| impossible(Stop::Cluster, &error.message))
    }
}

fn kernel_named(program: &Program, name: &str) -> Option<FunctionId> {
    program.module.kernels().find(|(_, kernel)| kernel.name == name).map(|(id, _)| id)
}

/// The work of a launch that was counted.
pub fn work_of(measurement: &Measurement) -> Option<Work> {
    let emulation = measurement.emulation?;
    let Emulation { warp_instructions, thread_instructions, .. } = emulation;
    Some(Work { warp_instructions, thread_instructions })
}

fn stop(fault: Option<&ExecError>, error: &Error) -> Stop {
    match fault {
        Some(ExecError::Access(access)) if access.fault == AccessFault::Misaligned => Stop::MisalignedAddress,
        Some(ExecError::Access(_)) => Stop::IllegalAddress,
        Some(ExecError::Unsupported(_) | ExecError::ReachedUnsupported { .. }) => Stop::Unsupported,
        Some(ExecError::Budget { .. } | ExecError::LaunchBudget { .. }) => Stop::Budget,
        Some(ExecError::Trap { message, .. }) if message.contains("assert") => Stop::Assertion,
        Some(_) => Stop::Failure,
        None => match error.kind {
            ErrorKind::Usage => Stop::Configuration,
            ErrorKind::Unsupported => Stop::Unsupported,
            _ => Stop::Failure,
        },
    }
}
