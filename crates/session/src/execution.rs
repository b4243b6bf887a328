//! Launches on the emulator: memory is filled, kernels run, results are read back.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use warplens_base::nearest;

use warplens_base::IdMap;
use warplens_check::Watcher;
use warplens_device::{Context, Kernel, MAX_SHARED_BYTES, ModuleHandle};
use warplens_exec as exec;
use warplens_ir::{FunctionId, Module, Variable};
use warplens_isa::OpaqueType;
use warplens_stats::{Recorder, Tracer, sector};
use warplens_trace::Observer;

use crate::generation::{Differing, Generation};
use crate::machines::Machine;
use crate::measurement::Given;
use crate::measurement::{Emulation, Support};
use crate::program::{CodeForm, Program};
use crate::progress::Progress;
use crate::race::Race;
use crate::trace::TraceLimits;
use crate::{failure, files, host};
use warplens_base::error::{Error, Result};
use warplens_launch::{
    BufferId, Element, ElementType, KernelName, Launch, ObjectId, Plan, PlannedBuffer, PlannedLaunch, PlannedObject,
    Words, element_of, npy,
};

/// How launches are executed.
#[derive(Clone, Debug)]
pub struct ExecutionOptions {
    /// Host threads.
    pub threads: usize,
    /// Instructions that a warp may execute before the launch is given up.
    pub budget: u64,
    /// Instructions that all warps of a launch may execute together.
    pub launch_budget: u64,
    /// Instructions of a CTA that are followed to count a launch without a run.
    pub walk_budget: u64,
    /// Go on when the kernel has instructions that are not supported, and fail when one is reached.
    pub allow_unsupported: bool,
    /// Loads may go beyond the end of a buffer, as far as GPUs map memory; they read zeros there.
    pub allow_overreads: bool,
    /// Which CTAs are executed.
    pub extent: Extent,
    /// Estimated work, in thread instructions, above which a part of the CTAs is enough.
    pub full_limit: u64,
    /// Thread instructions of a launch above which a few CTAs are enough where all others are known to do the same.
    pub alike_limit: u64,
    /// Nothing is executed to count a launch; what is said about loops and branches on data.
    pub statics: Option<Given>,
    /// GPUs for whose timing simulation warps are traced on the way.
    pub traced_for: Vec<Machine>,
    /// How much is traced for each of them.
    pub trace_limits: TraceLimits,
    /// Generations of GPUs that the launches are asked about, the newest first.
    pub generations: Vec<Generation>,
}

/// Which CTAs are executed to measure a launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Extent {
    /// All, or a part of them when the launch is large.
    Auto,
    /// All.
    Full,
    /// All, but where the launch is large only those are counted that `Auto` executes: who asked for the launch goes on
    /// with what it computed.
    Counted,
    /// Those with numbers in this range.
    Ctas(Range<u32>),
}

/// Estimated work, in thread instructions, above which a part of the CTAs is executed unless the user says otherwise.
pub const FULL_LIMIT: u64 = 2_000_000_000;

/// Thread instructions that are executed although a few CTAs would tell what all of them do: what they take, nobody notices.
pub const ALIKE_LIMIT: u64 = 100_000_000;

/// Instructions that a warp may execute unless the user says otherwise: a few seconds here, about a tenth of one on a GPU.
pub const DEFAULT_BUDGET: u64 = 100_000_000;

/// Instructions that the warps of a launch may execute together unless the user says otherwise: some ten minutes on one core.
pub const DEFAULT_LAUNCH_BUDGET: u64 = 50_000_000_000;

/// Instructions of a CTA that are followed without a run: some ten seconds.
const WALK_BUDGET: u64 = 20_000_000;

/// CTAs of a kernel that waits for other CTAs which are under way at once: about as many as fit a large GPU.
const RESIDENT_CTAS: u64 = 1024;

impl ExecutionOptions {
    /// All CTAs where that is affordable, on all cores.
    pub fn new() -> Self {
        Self {
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            budget: DEFAULT_BUDGET,
            launch_budget: DEFAULT_LAUNCH_BUDGET,
            walk_budget: WALK_BUDGET,
            allow_unsupported: false,
            allow_overreads: false,
            extent: Extent::Auto,
            full_limit: FULL_LIMIT,
            alike_limit: ALIKE_LIMIT,
            statics: None,
            traced_for: Vec::new(),
            trace_limits: TraceLimits::default(),
            generations: vec![Generation::default()],
        }
    }
}

impl ExecutionOptions {
    /// The same for launches that nobody traces: descriptions of GPUs take longer to copy than a small launch takes to run.
    pub(crate) fn untraced(&self) -> Self {
        let Self { threads, budget, launch_budget, walk_budget, allow_unsupported, allow_overreads, .. } = *self;
        Self {
            threads,
            budget,
            launch_budget,
            walk_budget,
            allow_unsupported,
            allow_overreads,
            extent: self.extent.clone(),
            full_limit: self.full_limit,
            alike_limit: self.alike_limit,
            statics: self.statics.clone(),
            traced_for: Vec::new(),
            trace_limits: self.trace_limits,
            generations: self.generations.clone(),
        }
    }
}

impl Default for ExecutionOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// Who counts a launch, and who traces it.
pub type Counters = (Option<Recorder>, Option<Tracer>);

/// Launches with their memory.
pub struct Execution<'p> {
    pub program: &'p Program,
    pub launches: Vec<(FunctionId, PlannedLaunch)>,
    pub emulation: Emulation,
    /// What the kernels printed.
    pub output: Vec<u8>,
    context: Context,
    module: ModuleHandle,
    buffers: IdMap<BufferId, Placed>,
    /// Handles of textures, surfaces and samplers.
    handles: IdMap<ObjectId, u64>,
    options: ExecutionOptions,
    generation: Generation,
    differing: Differing,
    overreads: u64,
    /// Bytes of memory that belong to somebody else and that the launches can touch.
    foreign_bytes: u64,
    /// What stopped the last launch that failed.
    fault: Option<exec::ExecError>,
    /// Who looks at the accesses of the launches.
    watcher: Option<Watcher>,
}

/// Finds the kernels of launches and binds their arguments.
pub fn bind(program: &Program, launches: &[Launch]) -> Result<(Vec<FunctionId>, Plan)> {
    let mut bound = Vec::new();
    let mut kernels = Vec::new();
    for launch in launches {
        let kernel = program.kernel(launch.kernel.as_deref())?;
        kernels.push(kernel);
        bound.push((launch.clone(), program.interface(kernel)));
    }
    let read = |path: &str| files::read(path).map_err(|error| format!("cannot read {path}: {error}"));
    let plan = Plan::bind(&bound, host::memory_for_buffers(), &read)?;
    Ok((kernels, plan))
}

/// Refuses more shared memory per CTA than any GPU has.
pub fn check_shared(bytes: u64) -> Result<()> {
    if bytes <= MAX_SHARED_BYTES {
        return Ok(());
    }
    Err(Error::usage(format!(
        "impossible launch: {bytes} bytes of shared memory per block, and no GPU has more than {MAX_SHARED_BYTES}"
    )))
}

/// Refuses a kernel whose variables alone are more, by the name of the largest.
fn check_static(module: &Module, decoded: &exec::Program) -> Result<()> {
    let bytes = decoded.static_shared_bytes();
    let Some(largest) = decoded.largest_shared().filter(|_| bytes > MAX_SHARED_BYTES) else { return Ok(()) };
    let Variable { name, bytes: own, .. } = &module.variables[largest];
    Err(Error::input(format!(
        "variable `{name}` takes {own} of {bytes} bytes of shared memory per block, and no GPU has more than \
         {MAX_SHARED_BYTES}"
    )))
}

/// A buffer in device memory.
struct Placed {
    address: u64,
    element: ElementType,
    bytes: u64,
}

/// Elements read back from device memory.
#[derive(Clone, PartialEq, Debug)]
pub struct Output {
    /// What the user called it.
    pub key: String,
    /// Type of the elements.
    pub element: ElementType,
    /// Their bytes, in memory order.
    pub bytes: Vec<u8>,
}

impl Output {
    /// The elements.
    pub fn elements(&self) -> impl ExactSizeIterator<Item = Element> {
        self.bytes.chunks_exact(self.element.bytes()).map(|bytes| self.element.decode(bytes))
    }

    /// The elements as a NumPy array file.
    pub fn to_npy(&self) -> Vec<u8> {
        npy::write(self.element, &self.bytes)
    }
}

impl<'p> Execution<'p> {
    /// Binds launches and fills the memory.
    pub fn prepare(program: &'p Program, launches: &[Launch], options: ExecutionOptions) -> Result<Self> {
        let (kernels, plan) = bind(program, launches)?;
        Self::of_plan(program, kernels, plan, options)
    }

    /// Runs as a generation.
    pub fn on(mut self, generation: Generation) -> Self {
        self.become_of(generation);
        self
    }

    /// Runs as a generation from here on. The run of the newest one that is asked for may serve all, the others serve
    /// themselves.
    pub(crate) fn become_of(&mut self, generation: Generation) {
        if self.options.generations.first() != Some(&generation) {
            self.options.traced_for.retain(|machine| Generation::of(machine.cc) == generation);
        }
        self.generation = generation;
    }

    /// Fills the memory for launches that are bound already.
    pub fn of_plan(
        program: &'p Program,
        kernels: Vec<FunctionId>,
        plan: Plan,
        options: ExecutionOptions,
    ) -> Result<Self> {
        // The buffers have been counted when they were planned; what is still free is for the variables.
        let planned: u64 = plan.buffers.as_slice().iter().map(|buffer| buffer.bytes.len() as u64).sum();
        let limit = host::memory_for_buffers().saturating_add(planned).saturating_add(exec::HEAP_BYTES);
        let no_memory = |error| failure::of_device(program, &error);
        let mut context = Context::new(program.module.address_bits, limit);
        let module = context.load(Arc::clone(&program.module)).map_err(no_memory)?;
        let buffers = plan.buffers.as_slice().iter().map(|buffer| place(&mut context, &plan.launches, buffer));
        let buffers: IdMap<BufferId, Placed> = buffers.collect::<std::result::Result<_, _>>().map_err(no_memory)?;
        let objects = plan.objects.as_slice().iter();
        let handles = objects.map(|object| create(&mut context, &buffers, object)).collect::<Result<_>>()?;
        let launches = kernels.into_iter().zip(plan.launches).collect();
        let emulation = Emulation::default();
        let generation = options.generations.first().copied().unwrap_or_default();
        Ok(Self {
            program,
            launches,
            emulation,
            output: Vec::new(),
            context,
            module,
            buffers,
            handles,
            options,
            generation,
            differing: Differing::default(),
            overreads: 0,
            foreign_bytes: 0,
            fault: None,
            watcher: None,
        })
    }

    /// A launch on a device whose memory somebody else has filled, of which it can touch so many bytes.
    pub(crate) fn of_context(
        program: &'p Program,
        (context, module): (Context, ModuleHandle),
        launch: (FunctionId, PlannedLaunch),
        foreign_bytes: u64,
        options: ExecutionOptions,
    ) -> Self {
        Self {
            program,
            launches: vec![launch],
            emulation: Emulation::default(),
            output: Vec::new(),
            context,
            module,
            buffers: IdMap::new(),
            handles: IdMap::new(),
            generation: options.generations.first().copied().unwrap_or_default(),
            options,
            differing: Differing::default(),
            overreads: 0,
            foreign_bytes,
            fault: None,
            watcher: None,
        }
    }

    /// Lets somebody look at the accesses of the launches from here on.
    pub(crate) fn watch(&mut self, watcher: Option<Watcher>) {
        self.watcher = watcher;
    }

    /// True where each of these ranges of addresses lies in one piece of memory; a piece ends with its last sector.
    pub(crate) fn has_all(&self, ranges: &[(u64, u64)]) -> bool {
        ranges.iter().all(|&(first, end)| {
            let piece = self.context.locate(first);
            piece.is_ok_and(|at| end <= (first - at.offset + at.bytes).next_multiple_of(sector::BYTES))
        })
    }

    /// True where somebody does.
    pub(crate) fn is_watched(&self) -> bool {
        self.watcher.is_some()
    }

    /// Who looked at the launches; none where one of them failed.
    pub(crate) fn take_watcher(&mut self) -> Option<Watcher> {
        self.watcher.take()
    }

    /// The device, what kernels printed on it, and what stopped a launch.
    pub(crate) fn into_context(self) -> (Context, Vec<u8>, Option<exec::ExecError>) {
        (self.context, self.output, self.fault)
    }

    /// The elements of every buffer, in the order of the plan.
    pub fn contents(&self) -> Vec<(ElementType, Vec<u8>)> {
        let buffers = self.buffers.as_slice().iter();
        buffers.map(|buffer| (buffer.element, self.read(buffer.address, buffer.bytes))).collect()
    }

    /// What was executed up to now that other generations may execute differently.
    pub fn differing(&self) -> Differing {
        self.differing
    }

    /// Loads of threads that went beyond the end of a buffer up to now.
    pub fn overreads(&self) -> u64 {
        self.overreads
    }

    pub fn options(&self) -> &ExecutionOptions {
        &self.options
    }

    /// Writes the variables of a launch and decodes its kernel.
    pub fn decode(&mut self, number: usize) -> Result<Kernel> {
        let (kernel, planned) = &self.launches[number];
        let module = &self.program.module;
        for symbol in &planned.symbols {
            let place = self.context.symbol(self.module, &symbol.name).expect("symbols are bound to variables");
            let content = self.resolved(&symbol.content);
            self.context.write(place.address, &content).expect("symbols are bound to what their variables can hold");
        }
        let handle = self.context.kernel_of(self.module, *kernel).expect("launches are bound to kernels of the module");
        let prepared = self.context.prepare(handle).map_err(|error| failure::of_device(self.program, &error))?;
        let decoded = prepared.program();
        if !self.options.allow_unsupported && !decoded.unsupported().is_empty() {
            let error = exec::ExecError::Unsupported(decoded.unsupported().to_vec());
            return Err(failure::of(self.program, *kernel, &error));
        }
        check_static(module, decoded)?;
        check_shared(decoded.static_shared_bytes().saturating_add(planned.dynamic_shared))?;
        Ok(prepared)
    }

    /// CTAs of a launch.
    pub fn n_ctas(&self, number: usize) -> Result<u32> {
        let grid = self.launches[number].1.grid;
        let count: u64 = grid.iter().map(|&extent| u64::from(extent)).product();
        u32::try_from(count).map_err(|_| {
            Error::usage(format!("a grid of {count} blocks is more than the emulator can number"))
                .with_help(format!("at most {} blocks can be launched", u32::MAX))
        })
    }

    /// A launch of which nothing has run yet.
    pub fn parts(&self, number: usize, prepared: &Kernel) -> exec::Parts {
        self.context.parts(prepared, self.launches[number].1.grid)
    }

    /// What was executed up to now, and the length of the output.
    pub fn emulated(&self) -> (Emulation, usize) {
        (self.emulation, self.output.len())
    }

    /// CTAs of a launch per axis.
    pub fn grid(&self, number: usize) -> [u32; 3] {
        self.launches[number].1.grid
    }

    /// Takes back what a launch left, so that it can be run in another way.
    pub fn undo(&mut self, mut parts: exec::Parts, (emulation, output): (Emulation, usize)) {
        self.context.undo(&mut parts);
        // The time was spent all the same.
        self.emulation = Emulation { seconds: self.emulation.seconds, ..emulation };
        self.output.truncate(output);
        self.watcher.iter_mut().for_each(Watcher::restart);
    }

    /// Runs CTAs of a launch, all of them without a list, and lets them be counted and traced.
    pub fn count(
        &mut self,
        launch: (usize, &Kernel),
        parts: &mut exec::Parts,
        schedule: exec::Schedule,
        ctas: Option<Vec<u32>>,
        counters: Counters,
        progress: &Progress,
    ) -> Result<(Counters, exec::LaunchSummary)> {
        let observer = (counters, self.watcher.take());
        let ((counters, watcher), summary) = self.observed(launch, parts, schedule, ctas, observer, progress)?;
        self.watcher = watcher;
        Ok((counters, summary))
    }

    /// Runs CTAs of a launch, all of them without a list.
    pub fn run(
        &mut self,
        launch: (usize, &Kernel),
        parts: &mut exec::Parts,
        schedule: exec::Schedule,
        ctas: Option<Vec<u32>>,
        progress: &Progress,
    ) -> Result<exec::LaunchSummary> {
        if self.watcher.is_some() {
            // Kernels are compiled for two observers only: this one watches alone.
            return Ok(self.count(launch, parts, schedule, ctas, (None, None), progress)?.1);
        }
        Ok(self.observed(launch, parts, schedule, ctas, (), progress)?.1)
    }

    fn observed<O: Observer + Sync>(
        &mut self,
        (number, prepared): (usize, &Kernel),
        parts: &mut exec::Parts,
        schedule: exec::Schedule,
        ctas: Option<Vec<u32>>,
        observer: O,
        progress: &Progress,
    ) -> Result<(O, exec::LaunchSummary)> {
        let (kernel, planned) = &self.launches[number];
        let request = exec::Launch {
            grid: planned.grid,
            block: planned.block,
            cluster: planned.cluster,
            dynamic_shared: planned.dynamic_shared,
            parameters: self.resolved(&planned.parameters),
            ctas,
            budget: self.options.budget,
            launch_budget: self.options.launch_budget,
            resident_ctas: RESIDENT_CTAS,
            threads: self.options.threads,
            schedule,
            allow_unsupported: self.options.allow_unsupported,
            allow_overreads: self.options.allow_overreads,
            barriers: self.generation.barriers(),
            tensor_cores: self.generation.tensor_cores(),
        };
        let start = Instant::now();
        let result = self.context.run_part(prepared, parts, &request, observer, &progress.done);
        self.emulation.seconds += start.elapsed().as_secs_f64();
        let (observer, summary) = result.map_err(|error| match error {
            warplens_device::Error::Launch(error) => {
                let said = failure::of(self.program, *kernel, &error);
                self.fault = Some(error);
                said
            }
            error => failure::of_device(self.program, &error),
        })?;
        self.emulation.thread_instructions += summary.thread_instructions;
        self.emulation.warp_instructions += summary.warp_instructions;
        self.differing.partial_barriers += summary.partial_barriers;
        self.differing.matrix_products += summary.matrix_products;
        self.overreads += summary.overreads;
        self.output.extend_from_slice(&summary.output);
        Ok((observer, summary))
    }

    /// The parameter space of a launch, with the addresses of its buffers.
    pub fn parameters(&self, number: usize) -> Vec<u8> {
        self.resolved(&self.launches[number].1.parameters)
    }

    /// Bytes of global memory that the launches can touch.
    pub fn global_bytes(&self) -> u64 {
        let variables =
            self.program.module.variables.iter().filter(|(_, variable)| {
                variable.space == warplens_isa::StateSpace::Global && variable.function.is_none()
            });
        let variables: u64 = variables.map(|(_, variable)| variable.bytes).sum();
        let buffers: u64 = self.buffers.as_slice().iter().map(|buffer| buffer.bytes).sum();
        (variables + buffers).saturating_add(self.foreign_bytes)
    }

    /// Bytes with the addresses of buffers and the handles of objects.
    fn resolved(&self, words: &Words) -> Vec<u8> {
        words.resolved(|buffer| self.address(buffer), |object| self.handles[object])
    }

    fn address(&self, buffer: BufferId) -> u64 {
        self.buffers[buffer].address
    }

    /// Bytes of a buffer or a variable.
    fn read(&self, address: u64, bytes: u64) -> Vec<u8> {
        self.context.read(address, bytes).expect("buffers and variables stay where they are")
    }

    /// Reads back what the user called `name`: an argument by name or position, or a variable.
    pub fn output(&self, request: &OutputRequest) -> Result<Output> {
        let (element, address, bytes) = match self.find(&request.key)? {
            Found::Buffer(buffer) => {
                let placed = &self.buffers[buffer];
                (placed.element, placed.address, placed.bytes)
            }
            Found::Variable(name) => return self.variable(&name, request),
        };
        let wanted = request.count.map_or(bytes, |count| count.saturating_mul(element.bytes() as u64).min(bytes));
        Ok(Output { key: request.key.clone(), element, bytes: self.read(address, wanted) })
    }

    fn variable(&self, name: &str, request: &OutputRequest) -> Result<Output> {
        let symbol = self.context.symbol(self.module, name).expect("the name was found among the variables");
        let element = element_of(symbol.ty).unwrap_or(ElementType::U8);
        let width = element.bytes() as u64;
        let wanted = request.count.map_or(symbol.bytes, |count| count.saturating_mul(width).min(symbol.bytes));
        Ok(Output { key: request.key.clone(), element, bytes: self.read(symbol.address, wanted) })
    }

    /// Checks a request before anything runs.
    pub fn check(&self, request: &OutputRequest) -> Result<()> {
        self.find(&request.key).map(|_| ())
    }

    fn find(&self, key: &str) -> Result<Found> {
        let no_buffer = |index: usize| {
            Error::usage(format!(
                "argument {index} (`{key}`) is no buffer; only buffers and variables can be read back"
            ))
        };
        let (launch, position) = key.split_once('.').unwrap_or(("0", key));
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if is_number(launch) && is_number(position) {
            // As in references, a launch that is not named is the first one.
            let (launch, index) = (launch.parse().unwrap_or(usize::MAX), position.parse().unwrap_or(usize::MAX));
            let n_launches = self.launches.len();
            let (_, launch) = self.launches.get(launch).ok_or_else(|| {
                Error::usage(format!("there is no launch {launch} whose argument to read back; there are {n_launches}"))
            })?;
            let buffer = launch.argument_buffers.get(index).ok_or_else(|| {
                let n_arguments = launch.argument_buffers.len();
                Error::usage(format!("there is no argument {key} to read back; the kernel has {n_arguments}"))
            })?;
            return buffer.map(Found::Buffer).ok_or_else(|| no_buffer(index));
        }
        for (_, launch) in &self.launches {
            if let Some(index) = launch.parameter_names.iter().position(|names| names.iter().any(|name| name == key)) {
                return launch.argument_buffers[index].map(Found::Buffer).ok_or_else(|| no_buffer(index));
            }
        }
        let variables =
            self.program.module.variables.iter().filter(|(_, variable)| {
                variable.function.is_none() && variable.space != warplens_isa::StateSpace::Shared
            });
        let variables: Vec<&str> = variables.map(|(_, variable)| variable.name.as_str()).collect();
        if variables.contains(&key) {
            return Ok(Found::Variable(key.to_owned()));
        }
        let parameters = self.launches.iter().flat_map(|(_, launch)| launch.parameter_names.iter().flatten());
        let near = nearest(key, parameters.map(String::as_str).chain(variables.iter().copied()));
        let error = Error::usage(format!("there is no argument or variable `{key}` to read back"));
        Err(match near {
            Some(near) => error.with_help(format!("did you mean `{near}`?")),
            None => error.with_help("arguments go by position too: --print 0"),
        })
    }
}

enum Found {
    Buffer(BufferId),
    Variable(String),
}

/// What is to be read back: `NAME|INDEX[:COUNT]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutputRequest {
    /// The text before the count.
    pub key: String,
    /// Number of elements; all unless given.
    pub count: Option<u64>,
}

impl OutputRequest {
    /// Reads `NAME|INDEX[:COUNT]`.
    pub fn parse(text: &str) -> Result<Self> {
        let (key, count) = match text.rsplit_once(':') {
            None => (text, None),
            Some((key, count)) => {
                let count = count.trim().parse().map_err(|_| {
                    Error::usage(format!("--print {text}: `{count}` is no number of elements"))
                        .with_help("write NAME:COUNT, for example --print out:16")
                })?;
                (key, Some(count))
            }
        };
        if key.trim().is_empty() {
            return Err(Error::usage(format!("--print {text}: the name is missing")));
        }
        Ok(Self { key: key.trim().to_owned(), count })
    }
}

fn place(
    context: &mut Context,
    launches: &[PlannedLaunch],
    buffer: &PlannedBuffer,
) -> std::result::Result<Placed, warplens_device::Error> {
    let names = buffer.argument.map(|argument| &launches[buffer.launch].parameter_names[argument]);
    // The last name is the one of the C++ source, where there is one.
    let name = names.and_then(|names| names.last()).unwrap_or(&buffer.name);
    let bytes = buffer.bytes.len() as u64;
    let allocation = context.allocate(name, bytes)?;
    let (address, _) = context.extent(allocation)?;
    // Memory is zero at the start.
    if !buffer.is_zero {
        context.write(address, &buffer.bytes)?;
    }
    Ok(Placed { address, element: buffer.element, bytes })
}

/// Makes a texture, surface or sampler; returns its handle.
fn create(context: &mut Context, buffers: &IdMap<BufferId, Placed>, object: &PlannedObject) -> Result<u64> {
    let texels = object.texels.map(|(buffer, offset, shape)| (buffers[buffer].address + offset, shape));
    let created = match (object.kind, texels) {
        (OpaqueType::Texture, Some((address, shape))) => {
            context.create_texture(address, shape, object.sampler, object.read)
        }
        (OpaqueType::Surface, Some((address, shape))) => context.create_surface(address, shape),
        (OpaqueType::Sampler, _) | (_, None) => context.create_sampler(object.sampler),
    };
    created.map_err(|error| Error::usage(format!("{}: {error}", object.name)))
}

/// A finished run of the `run` verb.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RunResult {
    /// Kernels, in the order of their launches.
    pub kernels: Vec<KernelName>,
    /// What was asked for.
    pub outputs: Vec<Output>,
    /// Instructions of the kernels that are not supported, if the user let them pass.
    pub support: Support,
    /// Blocks of the launches that touch what others write.
    pub races: Vec<Race>,
    /// The language of the code, whose lines they name.
    pub form: CodeForm,
    /// What the kernels printed.
    pub printed: String,
    /// Cost of the execution.
    pub emulation: Emulation,
}

/// Runs launches in full, one after the other, and reads back what was asked for.
pub fn run(
    program: &Program,
    launches: &[Launch],
    outputs: &[OutputRequest],
    options: ExecutionOptions,
    progress: &Progress,
) -> Result<RunResult> {
    // What no argument can change is said before what is wrong with the arguments.
    if !options.allow_unsupported {
        failure::check_support(program, launches)?;
    }
    let mut execution = Execution::prepare(program, launches, options)?;
    outputs.iter().try_for_each(|request| execution.check(request))?;
    let (mut support, mut races) = (Support::default(), Vec::new());
    for number in 0..execution.launches.len() {
        let ctas = match &execution.options.extent {
            Extent::Ctas(range) => Some(chosen(range, execution.n_ctas(number)?)?),
            Extent::Auto | Extent::Full | Extent::Counted => None,
        };
        let total = ctas.as_ref().map_or(u64::from(execution.n_ctas(number)?), |ctas| ctas.len() as u64);
        progress.total.fetch_add(total, Ordering::Relaxed);
        let prepared = execution.decode(number)?;
        let own = Support::of(program, prepared.program(), execution.launches[number].0);
        support.instructions += own.instructions;
        support.unsupported.extend(own.unsupported);
        let mut parts = execution.parts(number, &prepared);
        let summary = execution.run((number, &prepared), &mut parts, exec::Schedule::Any, ctas, progress)?;
        races.extend(summary.race.map(|race| Race::new(program, &race)));
    }
    support.overreads = execution.overreads;
    let outputs = outputs.iter().map(|request| execution.output(request)).collect::<Result<_>>()?;
    let name = |(kernel, _): &(FunctionId, _)| KernelName::new(&program.module.functions[*kernel].name);
    let kernels = execution.launches.iter().map(name).collect();
    let printed = String::from_utf8_lossy(&execution.output).into_owned();
    Ok(RunResult { kernels, outputs, support, races, form: program.form(), printed, emulation: execution.emulation })
}

/// CTAs that are executed by a list of them: a gigabyte of numbers.
const MOST_LISTED: u64 = 1 << 28;

/// Refuses to list more CTAs than there is memory for.
pub fn check_listed(n_ctas: u64) -> Result<()> {
    if n_ctas <= MOST_LISTED {
        return Ok(());
    }
    Err(Error::usage(format!("{n_ctas} blocks are more than the {MOST_LISTED} that can be counted one by one"))
        .with_help("without --full a part of the grid is executed; --cta FROM..TO chooses it"))
}

/// The CTAs of a range that exist; at least one.
pub fn chosen(range: &Range<u32>, n_ctas: u32) -> Result<Vec<u32>> {
    let ctas = range.start..range.end.min(n_ctas);
    check_listed(ctas.len() as u64)?;
    let ctas: Vec<u32> = ctas.collect();
    if ctas.is_empty() {
        let Range { start, end } = range;
        return Err(Error::usage(format!("--cta {start}..{end}: the grid has {n_ctas} blocks, numbered from 0")));
    }
    Ok(ctas)
}
