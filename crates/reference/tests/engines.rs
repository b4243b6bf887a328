//! All kernels that test the emulator, run by both engines: results, messages, profiles and the events themselves must
//! be equal.
//!
//! `CASE=shuffle` runs the cases whose names contain that.
#![allow(clippy::unwrap_used, reason = "a test may stop where its data is not as it must be")]

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use toml::{Table, Value};
use warplens_device::{Context, Error};
use warplens_exec::engine::Engine;
use warplens_exec::{BarrierRule, LaunchSummary, Schedule, Simt};
use warplens_ir::{FunctionId, Module, Unrolled};
use warplens_isa::{BlockId, OpaqueType, Pc, StateSpace};
use warplens_launch::KernelName;
use warplens_launch::{KernelInterface, Launch, Plan, PlannedLaunch};
use warplens_literate::{Case, Outcome, check_directory};
use warplens_reference::Reference;
use warplens_stats::{Counting, FinishOptions, LaunchShape, Profile, Recorder, RegistersBasis};
use warplens_trace::{Access, ActiveMask, CtaId, Observer, WarpIndex};

#[path = "../../session/tests/emulator/kernel_text.rs"]
mod kernel_text;

/// Warp instructions that a launch may take: few enough for a launch that waits for ever.
const BUDGET: u64 = 3_000_000;
const MEMORY: u64 = 1 << 32;

fn is_wanted(name: &str) -> bool {
    std::env::var("CASE").map_or(true, |only| name.contains(&only))
}

/// A digest of all events, in the order of each CTA. The sum over CTAs does not depend on their order.
#[derive(Clone, Debug, Default)]
struct Events {
    n: u64,
    digest: u64,
    /// What the shapes of accesses mean, by number.
    shapes: HashMap<u64, Shape>,
}

/// Instruction, state space, lanes, and how far these are from the lowest.
type Shape = (Pc, StateSpace, u32, Vec<u64>);

impl PartialEq for Events {
    fn eq(&self, other: &Self) -> bool {
        (self.n, self.digest) == (other.n, other.digest)
    }
}

impl Events {
    fn note(cta: &mut DefaultHasher, event: impl Hash) {
        event.hash(cta);
    }
}

impl Observer for Events {
    const RECORDS: bool = true;
    type Cta = (DefaultHasher, u64);

    fn fork(&self) -> Self {
        Self::default()
    }

    fn merge(&mut self, other: Self) {
        self.n += other.n;
        self.digest = self.digest.wrapping_add(other.digest);
    }

    fn begin_cta(&mut self, id: CtaId) -> Self::Cta {
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        (hasher, 0)
    }

    fn end_cta(&mut self, (hasher, n): Self::Cta) {
        self.n += n;
        self.digest = self.digest.wrapping_add(hasher.finish());
    }

    fn block(&mut self, cta: &mut Self::Cta, warp: WarpIndex, block: BlockId, mask: ActiveMask) {
        cta.1 += 1;
        Self::note(&mut cta.0, (0, warp, block, mask.0));
    }

    fn predicated(&mut self, cta: &mut Self::Cta, warp: WarpIndex, pc: Pc, active: ActiveMask, on: ActiveMask) {
        cta.1 += 1;
        Self::note(&mut cta.0, (1, warp, pc, active.0, on.0));
    }

    fn branch_indexed(&mut self, cta: &mut Self::Cta, warp: WarpIndex, pc: Pc, n_targets: u32) {
        cta.1 += 1;
        Self::note(&mut cta.0, (2, warp, pc, n_targets));
    }

    fn access(&mut self, cta: &mut Self::Cta, warp: WarpIndex, pc: Pc, access: &Access<'_>) {
        cta.1 += 1;
        let addresses: Vec<u64> = access.mask.lanes().map(|lane| access.addresses.of(lane)).collect();
        let Access { space, kind, element_bytes, elements, mask, .. } = *access;
        let number = access.addresses.shape();
        if number != 0 {
            let shape = (pc, space, mask.0, addresses.iter().map(|at| at.wrapping_sub(addresses[0])).collect());
            let known = self.shapes.entry(number).or_insert_with(|| shape.clone());
            assert_eq!(*known, shape, "accesses of one shape differ by an offset only");
        }
        Self::note(&mut cta.0, (3, warp, pc, space, kind, element_bytes, elements, mask.0, addresses));
    }

    fn order_dependent(&mut self, cta: &mut Self::Cta, pc: Pc) {
        cta.1 += 1;
        Self::note(&mut cta.0, (4, pc));
    }
}

/// What a launch leaves beside memory.
type Ran = Result<(LaunchSummary, Profile, Events), Error>;

/// What launches leave.
#[derive(PartialEq, Debug)]
struct Left {
    launches: Vec<Ran>,
    /// Buffers, then variables.
    memory: Vec<Vec<u8>>,
}

/// Launches to be run.
#[derive(Clone)]
struct Test {
    module: Arc<Module>,
    kernels: Vec<FunctionId>,
    plan: Plan,
    barriers: BarrierRule,
    budget: u64,
}

impl Test {
    fn new(text: &str, launches: &[Launch], barriers: BarrierRule, budget: u64) -> Result<Self, String> {
        let (module, diagnostics) = warplens_ptx::load(text);
        let module = Arc::new(module.ok_or_else(|| format!("{diagnostics:?}"))?);
        let mut kernels = Vec::new();
        let mut bound = Vec::new();
        for launch in launches {
            let is_meant = |name: &str| match &launch.kernel {
                None => true,
                Some(wanted) => KernelName::new(name).matches(wanted).is_ok_and(|matches| matches),
            };
            let found = module.kernels().find(|(_, kernel)| is_meant(&kernel.name));
            let (id, _) = found.ok_or("there is no such kernel")?;
            kernels.push(id);
            bound.push((launch.clone(), interface(&module, id)));
        }
        let read = |path: &str| std::fs::read(path).map_err(|error| error.to_string());
        let plan = Plan::bind(&bound, MEMORY, &read).map_err(|error| format!("{error:?}"))?;
        drop(bound);
        Ok(Self { module, kernels, plan, barriers, budget })
    }

    fn run<E: Engine>(&self) -> Result<Left, Error> {
        let mut context = Context::new(self.module.address_bits, MEMORY);
        let module = context.load(Arc::clone(&self.module))?;
        let mut places = Vec::new();
        for buffer in self.plan.buffers.as_slice() {
            let allocation = context.allocate(&buffer.name, buffer.bytes.len() as u64)?;
            let (address, bytes) = context.extent(allocation)?;
            context.write(address, &buffer.bytes)?;
            places.push((address, bytes));
        }
        let address = |buffer: warplens_launch::BufferId| places[buffer.0 as usize].0;
        let mut handles = Vec::new();
        for object in self.plan.objects.as_slice() {
            let texels = object.texels.map(|(buffer, offset, shape)| (address(buffer) + offset, shape));
            handles.push(match (object.kind, texels) {
                (OpaqueType::Texture, Some((at, shape))) => {
                    context.create_texture(at, shape, object.sampler, object.read)?
                }
                (OpaqueType::Surface, Some((at, shape))) => context.create_surface(at, shape)?,
                _ => context.create_sampler(object.sampler)?,
            });
        }
        let handle = |object: warplens_launch::ObjectId| handles[object.0 as usize];
        let mut launches = Vec::new();
        for (&kernel, planned) in self.kernels.iter().zip(&self.plan.launches) {
            for symbol in &planned.symbols {
                let place = context.symbol(module, &symbol.name)?;
                context.write(place.address, &symbol.content.resolved(address, handle))?;
            }
            let kernel_handle = context.kernel_of(module, kernel)?;
            let prepared = context.prepare_for::<E>(kernel_handle)?;
            let request = self.request(planned, planned.parameters.resolved(address, handle));
            let shape = LaunchShape {
                grid: planned.grid,
                block: planned.block,
                cluster: planned.cluster,
                shared_bytes: prepared.program().static_shared_bytes() + planned.dynamic_shared,
                registers: 32,
                registers_basis: RegistersBasis::User,
            };
            let facts = warplens_stats::Program::new(&self.module, kernel, shape);
            let ctas: u32 = planned.grid.iter().product();
            let observer = (Recorder::new(facts, (0..ctas).map(CtaId)), Events::default());
            let ran = context.launch(&prepared, &request, observer, &AtomicU64::new(0));
            launches.push(ran.map(|((recorder, events), summary)| {
                let options = FinishOptions { counting: Counting::Ptx, global_bytes: None };
                (summary, recorder.finish(options), events)
            }));
        }
        let variables = self.module.variables.iter().filter(|(_, variable)| variable.space == StateSpace::Global);
        let variables = variables.filter_map(|(_, variable)| context.symbol(module, &variable.name).ok());
        places.extend(variables.map(|symbol| (symbol.address, symbol.bytes)));
        let memory = places.iter().map(|&(address, bytes)| context.read(address, bytes)).collect::<Result<_, _>>()?;
        Ok(Left { launches, memory })
    }

    fn request(&self, planned: &PlannedLaunch, parameters: Vec<u8>) -> warplens_exec::Launch {
        warplens_exec::Launch {
            grid: planned.grid,
            block: planned.block,
            cluster: planned.cluster,
            dynamic_shared: planned.dynamic_shared,
            parameters,
            ctas: None,
            budget: self.budget,
            launch_budget: u64::MAX,
            resident_ctas: 1024,
            threads: 1,
            schedule: Schedule::Any,
            allow_unsupported: false,
            allow_overreads: false,
            barriers: self.barriers,
            tensor_cores: warplens_exec::TensorCores::default(),
        }
    }

    /// What the engines do not agree on.
    fn difference(&self) -> Option<String> {
        let (fast, slow) = match (self.run::<Simt>(), self.run::<Reference>()) {
            (Ok(fast), Ok(slow)) => (fast, slow),
            (fast, slow) => return (fast != slow).then(|| format!("fast: {fast:?}\nreference: {slow:?}")),
        };
        if fast == slow {
            return None;
        }
        for (number, (fast, slow)) in fast.launches.iter().zip(&slow.launches).enumerate() {
            match (fast, slow) {
                (Ok(fast), Ok(slow)) if fast != slow => {
                    let what = [
                        (fast.0 != slow.0).then(|| format!("summaries {:?} and {:?}", fast.0, slow.0)),
                        (fast.1 != slow.1).then(|| "profiles".to_owned()),
                        (fast.2 != slow.2).then(|| format!("events {:?} and {:?}", fast.2, slow.2)),
                    ];
                    let what: Vec<String> = what.into_iter().flatten().collect();
                    return Some(format!("launch {number}: {}", what.join(", ")));
                }
                (Ok(_), Ok(_)) => {}
                (fast, slow) if fast != slow => {
                    let text = |ran: &Ran| ran.as_ref().err().map_or("none".to_owned(), |error| format!("{error:?}"));
                    return Some(format!("launch {number}: errors {} and {}", text(fast), text(slow)));
                }
                _ => {}
            }
        }
        for (number, (fast, slow)) in fast.memory.iter().zip(&slow.memory).enumerate() {
            let differs = |at: &usize| fast[*at] != slow[*at];
            if let Some(at) = (0..fast.len()).find(differs) {
                let word =
                    |bytes: &[u8]| bytes[at / 8 * 8..].iter().take(8).rev().fold(0u64, |w, &b| w << 8 | u64::from(b));
                return Some(format!("memory {number}, byte {at}: {:#018x} and {:#018x}", word(fast), word(slow)));
            }
        }
        Some("something else".to_owned())
    }
}

/// Steps of a matrix product, each for one CTA with two steps along k: the rows and columns of its tile, the step along k
/// and its threads.
const PRODUCTS: [(&str, [u32; 3], u32); 7] = [
    ("step4", [64, 64, 8], 512),
    ("step5", [128, 128, 8], 256),
    ("step6", [128, 128, 8], 256),
    ("step7", [128, 128, 8], 256),
    ("step8", [128, 128, 8], 256),
    ("step9", [128, 128, 16], 256),
    ("step10", [128, 128, 16], 128),
];

#[test]
fn unrolled_loops_compute_the_same() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation/sgemm/sm_86.ptx");
    let text = std::fs::read_to_string(path).unwrap();
    for (kernel, [m, n, k], threads) in PRODUCTS.into_iter().filter(|(kernel, ..)| is_wanted(kernel)) {
        let k = 2 * k;
        let numbers = |count: u32, seed: u32| format!("\"f32[{count}]:uniform(-1,1,{seed})\"");
        let (a, b, c) = (numbers(m * k, 1), numbers(k * n, 2), numbers(m * n, 3));
        let launch = format!(
            "kernel = \"{kernel}\"\ngrid = 1\nblock = {threads}\nargs = [{m}, {n}, {k}, 0.5, {a}, {b}, 3.0, {c}]\n"
        );
        let launches = Launch::parse_file("launch", &launch).unwrap();
        let rolled = Test::new(&text, &launches, BarrierRule::Threads, BUDGET).unwrap();
        let unrolled = Unrolled::whole(&rolled.module, &rolled.kernels, 86).expect("the loop is unrolled");
        let blocks = |test: &Test| test.run::<Simt>().map(|left| (left.memory, left.launches));
        let unrolled = Test { module: Arc::new(unrolled.module), ..rolled.clone() };
        let ((expected, before), (found, after)) = (blocks(&rolled).unwrap(), blocks(&unrolled).unwrap());
        assert!(expected.iter().flatten().any(|&byte| byte != 0));
        assert!(expected == found, "{kernel} computes something else");
        let instructions = |launches: &[Ran]| launches[0].as_ref().unwrap().0.warp_instructions;
        assert!(instructions(&after) < instructions(&before), "{kernel} is unrolled");
    }
}

fn interface(module: &Module, kernel: FunctionId) -> KernelInterface<'_> {
    let function = &module.functions[kernel];
    let variables = module.variables.iter().filter(|(_, variable)| {
        variable.function.is_none() && !variable.is_dynamic && variable.space != StateSpace::Shared
    });
    KernelInterface {
        name: &function.name,
        parameters: &function.parameters,
        source_names: Vec::new(),
        bounds: function.bounds,
        target: module.target_number(),
        pointer_bytes: module.address_bits / 8,
        variables: variables.map(|(_, variable)| (variable.name.as_str(), variable.ty, variable.bytes)).collect(),
    }
}

#[test]
fn literate_cases_mean_the_same_to_both_engines() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/exec");
    let mut n_cases = 0;
    let mut unbound = Vec::new();
    check_directory(folder, |case, outcome| {
        if is_wanted(&case.title) {
            n_cases += 1;
            literate_case(case, outcome, &mut unbound);
        }
    });
    assert!(n_cases > 0, "there are cases");
    // What cannot be bound is refused before an engine sees it: some cases test that.
    assert!(unbound.len() * 10 < n_cases, "of {n_cases} cases these were not run: {unbound:#?}");
}

fn literate_case(case: &Case, outcome: &mut Outcome, unbound: &mut Vec<String>) {
    let text = kernel_text::module_text(&case.block("ptx").expect("a case has PTX").text);
    for block in case.blocks_in("toml") {
        let mut table: Table = toml::from_str(&block.text).expect("launches are TOML");
        let budget = table.get("budget").and_then(Value::as_integer).map_or(BUDGET, |budget| budget as u64);
        let barriers = match table.get("generation").and_then(Value::as_str) {
            Some("warps") => BarrierRule::Warps,
            _ => BarrierRule::Threads,
        };
        kernel_text::OUTCOMES.iter().for_each(|key| drop(table.remove(*key)));
        table.entry("grid").or_insert(Value::Integer(1));
        table.entry("block").or_insert(Value::Integer(32));
        table.entry("args").or_insert(Value::Array(vec!["u32[32]".into()]));
        let launches = Launch::parse_file("launch", &toml::to_string(&table).unwrap()).unwrap();
        match Test::new(&text, &launches, barriers, budget) {
            Ok(test) => {
                if let Some(difference) = test.difference() {
                    outcome.fail(block.line, difference);
                }
            }
            Err(message) => unbound.push(format!("{}: {message}", case.title)),
        }
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../exec/tests/data")
}

#[test]
fn kernels_of_nvcc_mean_the_same_to_both_engines() {
    let entries = std::fs::read_dir(folder()).expect("the folder of cases exists");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("entries can be read").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    let mut failures = Vec::new();
    let mut n_runs = 0;
    for path in paths {
        let name = path.file_stem().expect("cases have names").to_string_lossy().into_owned();
        if !is_wanted(&name) {
            continue;
        }
        let mut table: Table = toml::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let targets = table["ptx"].as_array().expect("`ptx` is a list").clone();
        ["ptx", "stdout", "expect"].iter().for_each(|key| drop(table.remove(*key)));
        let launches = Launch::parse_file("launch", &toml::to_string(&table).unwrap()).unwrap();
        for target in targets {
            let target = target.as_str().expect("targets are names");
            let ptx = folder().join("ptx").join(target).join(&name).with_extension("ptx");
            let text = std::fs::read_to_string(&ptx).expect("the case is compiled");
            n_runs += 1;
            let difference = Test::new(&text, &launches, BarrierRule::Threads, BUDGET).map(|test| test.difference());
            match difference {
                Ok(None) => {}
                Ok(Some(difference)) => failures.push(format!("{name} ({target}): {difference}")),
                Err(message) => failures.push(format!("{name} ({target}): {message}")),
            }
        }
    }
    assert!(n_runs > 0, "there are cases");
    assert!(failures.is_empty(), "{} of {n_runs} runs:\n{}", failures.len(), failures.join("\n"));
}
