//! From the metrics of Nsight Compute to a profile.
//!
//! The profiler counts machine instructions, so that the profile says so. [`METRICS`] is the whole mapping; the manual
//! prints it. Where a count needs several metrics and one of them was not collected, the count is absent.

use std::collections::{BTreeMap, BTreeSet};

use warplens_isa::{InstKey, OpClass, Spelling};
use warplens_stats::{
    BankRule, CoalescingRule, ConstantCounts, Count, Counted, Coverage, InstructionCounts, LaunchShape, MemoryCounts,
    OpcodeCount, Profile, RegistersBasis, SharedCounts, Statistics,
};

use crate::csv;
use crate::imported::{Imported, Measured, NEVER_COUNTED};
use warplens_base::error::{Error, Result};
use warplens_launch::KernelName;
use warplens_launch::check_extents;

/// One launch with its metrics by name.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct KernelMetrics {
    /// What messages call it.
    pub(super) place: String,
    /// Name, demangled or as the user of the profiler wanted it.
    pub(super) kernel: String,
    /// Name in the binary.
    pub(super) mangled: Option<String>,
    /// CTAs.
    pub(super) grid: Option<[u32; 3]>,
    /// Threads per CTA.
    pub(super) block: Option<[u32; 3]>,
    /// Metrics.
    pub(super) metrics: BTreeMap<String, Metric>,
    /// Compute capability.
    pub(super) capability: Option<(u32, u32)>,
}

/// The value of a metric.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Metric {
    /// As printed, in a unit.
    Text { value: String, unit: String },
    /// In the base unit, with its instances by name.
    Number { value: f64, instances: Vec<(String, f64)> },
}

impl Metric {
    /// A value as printed.
    pub(super) fn text(value: &str, unit: &str) -> Self {
        Self::Text { value: value.to_owned(), unit: unit.to_owned() }
    }
}

/// What becomes of metrics.
#[derive(Clone, Copy, Debug)]
pub(super) struct MetricSpec {
    /// Key in the profile.
    pub(super) key: &'static str,
    /// The metrics; where several are listed, all are needed, or those before a `|` or those behind it.
    pub(super) metrics: &'static str,
    /// How the key follows from them.
    pub(super) how: &'static str,
}

/// The whole mapping.
pub(super) const METRICS: &[MetricSpec] = &[
    MetricSpec { key: "launch.grid", metrics: "launch__grid_dim_{x,y,z} | the column `Grid Size`", how: "" },
    MetricSpec { key: "launch.block", metrics: "launch__block_dim_{x,y,z} | the column `Block Size`", how: "" },
    MetricSpec { key: "launch.registers", metrics: "launch__registers_per_thread", how: "" },
    MetricSpec {
        key: "launch.shared_bytes",
        metrics: "launch__shared_mem_per_block_static, launch__shared_mem_per_block_dynamic",
        how: "sum; what the driver reserves is left out",
    },
    MetricSpec { key: "measured.time_us", metrics: "gpu__time_duration.sum", how: "" },
    MetricSpec { key: "measured.device", metrics: "device__attribute_display_name", how: "" },
    MetricSpec { key: "instructions.total", metrics: "smsp__inst_executed.sum | sm__inst_executed.sum", how: "" },
    MetricSpec {
        key: "thread_instructions",
        metrics: "smsp__thread_inst_executed.sum | smsp__thread_inst_executed_per_inst_executed.ratio",
        how: "the ratio times the warp instructions",
    },
    MetricSpec {
        key: "thread_instructions_pred_on",
        metrics: "smsp__thread_inst_executed_pred_on.sum | smsp__thread_inst_executed_pred_on_per_inst_executed.ratio",
        how: "likewise",
    },
    MetricSpec {
        key: "instructions.by_opcode",
        metrics: "sass__inst_executed_per_opcode",
        how: "its instances, which reports hold and tables do not",
    },
    MetricSpec {
        key: "instructions.by_class",
        metrics: "sass__inst_executed_per_opcode | smsp__inst_executed_pipe_*.sum | \
                  smsp__sass_thread_inst_executed_op_*_pred_on.sum",
        how: "opcodes by their class; or pipes by the class that runs on them; or the warp instructions shared out like \
              the thread instructions of each kind",
    },
    MetricSpec { key: "barriers", metrics: "sass__inst_executed_per_opcode", how: "opcode BAR" },
    MetricSpec {
        key: "branches",
        metrics: "smsp__inst_executed_op_branch.sum | smsp__sass_inst_executed_op_branch.sum | \
                  sass__inst_executed_per_opcode",
        how: "of the opcodes BRA and BRX",
    },
    MetricSpec {
        key: "divergent_branches",
        metrics: "smsp__sass_branch_targets_threads_divergent.sum",
        how: "absent where it exceeds the branches",
    },
    MetricSpec { key: "high_latency", metrics: "", how: "empty: machine code holds what such operations expand to" },
    MetricSpec {
        key: "global.requests",
        metrics: "l1tex__t_requests_pipe_lsu_mem_global_op_{ld,st,atom,red}.sum",
        how: "loads, stores, and both kinds of atomics",
    },
    MetricSpec {
        key: "global.t32",
        metrics: "l1tex__t_sectors_pipe_lsu_mem_global_op_{ld,st,atom,red}.sum",
        how: "sum",
    },
    MetricSpec {
        key: "global.bytes_requested",
        metrics: "smsp__sass_average_data_bytes_per_sector_mem_global_op_{ld,st}.ratio",
        how: "times the sectors, where there are no atomics",
    },
    MetricSpec { key: "local.requests", metrics: "l1tex__t_requests_pipe_lsu_mem_local_op_{ld,st}.sum", how: "sum" },
    MetricSpec { key: "local.t32", metrics: "l1tex__t_sectors_pipe_lsu_mem_local_op_{ld,st}.sum", how: "sum" },
    MetricSpec {
        key: "shared.requests",
        metrics: "smsp__inst_executed_op_shared_{ld,st,atom}.sum | sass__inst_executed_shared_{loads,stores}",
        how: "loads, stores, and atomics where they are counted",
    },
    MetricSpec {
        key: "shared.wavefronts",
        metrics: "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum | \
                  l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{ld,st}.sum",
        how: "sum",
    },
    MetricSpec {
        key: "shared.ideal_wavefronts",
        metrics: "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum | \
                  l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{ld,st}.sum",
        how: "the wavefronts without these",
    },
    MetricSpec {
        key: "dram_sectors_read, dram_sectors_written",
        metrics: "dram__sectors_{read,write}.sum | dram__bytes_{read,write}.sum",
        how: "bytes over 32",
    },
];

/// Pipes, and the class of the instructions that run on them.
pub(super) const PIPES: &[(&str, OpClass)] = &[
    ("alu", OpClass::Int),
    ("fma", OpClass::Fp32),
    ("fp16", OpClass::Fp16),
    ("fp64", OpClass::Fp64),
    ("xu", OpClass::Sfu),
    ("lsu", OpClass::Memory),
    ("tex", OpClass::Memory),
    ("cbu", OpClass::Control),
    ("adu", OpClass::Barrier),
    ("tensor", OpClass::Tensor),
    ("uniform", OpClass::Other),
];

/// Kinds of thread instructions, and their class.
pub(super) const KINDS: &[(&str, OpClass)] = &[
    ("fp16", OpClass::Fp16),
    ("fp32", OpClass::Fp32),
    ("fp64", OpClass::Fp64),
    ("integer", OpClass::Int),
    ("bit", OpClass::Int),
    ("conversion", OpClass::Convert),
    ("control", OpClass::Control),
    ("memory", OpClass::Memory),
    ("inter_thread_communication", OpClass::Warp),
    ("misc", OpClass::Other),
];

/// Opcodes of machine code by class: the first prefix that fits counts.
pub(super) const OPCODES: &[(OpClass, &[&str])] = &[
    (OpClass::Tensor, &["HMMA", "IMMA", "DMMA", "BMMA", "QMMA", "OMMA", "HGMMA", "IGMMA", "QGMMA", "BGMMA", "UTC"]),
    (OpClass::Convert, &["F2F", "F2I", "I2F", "I2I", "I2FP", "F2FP", "F2IP", "FRND"]),
    (OpClass::Sfu, &["MUFU"]),
    (OpClass::IntMul, &["IMAD", "IMUL", "XMAD", "IDP"]),
    (OpClass::Fp64, &["DADD", "DMUL", "DFMA", "DSETP", "DMNMX", "DSET"]),
    (OpClass::Fp16, &["HADD2", "HMUL2", "HFMA2", "HSET", "HMNMX2"]),
    (OpClass::Fp32, &["FADD", "FMUL", "FFMA", "FSETP", "FSET", "FMNMX", "FSEL", "FCHK", "FSWZADD", "FCMP"]),
    (OpClass::Atomic, &["ATOM", "RED."]),
    (OpClass::Warp, &["SHFL", "VOTE", "MATCH", "REDUX", "CREDUX"]),
    (OpClass::Barrier, &["BAR", "MEMBAR", "ERRBAR", "DEPBAR", "FENCE", "SYNCS", "CCTL", "ACQBULK"]),
    (
        OpClass::Memory,
        &["LD", "ST", "ULDC", "UBLK", "UTMA", "TEX", "TLD", "TMML", "TXD", "TXQ", "SULD", "SUST", "SUATOM", "QSPC"],
    ),
    (
        OpClass::Control,
        &[
            "BRA",
            "BRX",
            "BSSY",
            "BSYNC",
            "BREAK",
            "BMOV",
            "CALL",
            "RET",
            "EXIT",
            "JMP",
            "JMX",
            "WARPSYNC",
            "YIELD",
            "NANOSLEEP",
            "KILL",
            "BPT",
            "RPCMOV",
            "ELECT",
        ],
    ),
    (
        OpClass::Int,
        &[
            "IADD", "ISETP", "ISET", "ISCADD", "ISUB", "IMNMX", "VIMNMX", "VIADD", "LEA", "LOP", "SHF", "SHL", "SHR",
            "BFE", "BFI", "BMSK", "SGXT", "PRMT", "SEL", "POPC", "FLO", "BREV", "IABS", "VABSDIFF", "MOV", "PLOP3",
            "PSETP", "P2R", "R2P", "ICMP",
        ],
    ),
];

/// The class of an opcode of machine code.
pub(super) fn class_of(opcode: &str) -> OpClass {
    // A reduction has no suffix where opcodes come without their modifiers.
    if opcode == "RED" {
        return OpClass::Atomic;
    }
    let found = OPCODES.iter().find(|(_, prefixes)| prefixes.iter().any(|prefix| opcode.starts_with(prefix)));
    found.map_or(OpClass::Other, |(class, _)| *class)
}

/// The profiles of launches; `name` is what messages call their source.
pub(super) fn profiles(name: &str, launches: Vec<KernelMetrics>) -> Result<Vec<Imported>> {
    if launches.is_empty() {
        return Err(Error::input(format!("{name} holds no kernel"))
            .with_help("the profiler writes one entry per launch that it profiled; none matched its filters"));
    }
    launches.iter().map(|launch| Reader { launch, absent: BTreeSet::new() }.imported()).collect()
}

struct Reader<'l> {
    launch: &'l KernelMetrics,
    absent: BTreeSet<Count>,
}

/// Units of counts. The profiler may put a prefix before the others.
const COUNT_UNITS: &[&str] = &[
    "",
    "inst",
    "sector",
    "request",
    "warp",
    "block",
    "thread",
    "cycle",
    "register/thread",
    "wavefront",
    "inst/inst",
    "thread/inst",
    "byte/sector",
];

impl Reader<'_> {
    fn fail(&self, message: impl std::fmt::Display) -> Error {
        Error::input(format!("{}: {message}", self.launch.place))
    }

    /// A metric in its base unit; none where it was not collected.
    fn number(&self, name: &str) -> Result<Option<f64>> {
        let (value, unit) = match self.launch.metrics.get(name) {
            None => return Ok(None),
            Some(Metric::Number { value, .. }) => return self.plausible(name, *value).map(Some),
            Some(Metric::Text { value, unit }) => (value, unit),
        };
        // Some metrics exist on some GPUs only.
        if matches!(value.as_str(), "n/a" | "N/A" | "(nan)" | "nan") {
            return Ok(None);
        }
        let number = csv::number(value).ok_or_else(|| {
            self.fail(format!("the value `{value}` of {name} is no number"))
                .with_help("numbers need a decimal point, and commas only between thousands: run ncu with LC_ALL=C")
        })?;
        let factor = factor(unit).ok_or_else(|| {
            self.fail(format!("the unit `{unit}` of {name} is not known"))
                .with_help("`ncu --print-units base` avoids it")
        })?;
        self.plausible(name, number * factor).map(Some)
    }

    fn plausible(&self, name: &str, number: f64) -> Result<f64> {
        if number.is_finite() && number >= 0.0 {
            return Ok(number);
        }
        Err(self.fail(format!("{name} is {number}, which it cannot be")))
    }

    /// The first of `names` that was collected.
    fn first(&self, names: &[&str]) -> Result<Option<f64>> {
        for name in names {
            if let Some(number) = self.number(name)? {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    /// The metrics `prefix` + each of `parts` + `suffix`; none unless all were collected.
    fn all<const N: usize>(&self, prefix: &str, parts: [&str; N], suffix: &str) -> Result<Option<[f64; N]>> {
        let mut numbers = [0.0; N];
        for (number, part) in numbers.iter_mut().zip(parts) {
            match self.number(&format!("{prefix}{part}{suffix}"))? {
                Some(found) => *number = found,
                None => return Ok(None),
            }
        }
        Ok(Some(numbers))
    }

    /// The count, or zero and its name among the absent ones.
    fn or_absent<T: Default>(&mut self, found: Option<T>, counts: &[Count]) -> T {
        if found.is_none() {
            self.absent.extend(counts);
        }
        found.unwrap_or_default()
    }

    fn imported(mut self) -> Result<Imported> {
        let launch = self.launch_shape()?;
        let kernel = match &self.launch.mangled {
            Some(mangled) => KernelName { mangled: mangled.clone(), demangled: self.launch.kernel.clone() },
            None => KernelName::new(&self.launch.kernel),
        };
        if kernel.demangled.is_empty() {
            return Err(self.fail("the kernel has no name"));
        }
        let capability = self.capability()?;
        let profile = self.profile(launch, &kernel.mangled, capability)?;
        Ok(Imported { kernel, profile, measured: self.measured(capability)? })
    }

    fn measured(&self, capability: Option<(u32, u32)>) -> Result<Option<Measured>> {
        let device = match self.launch.metrics.get("device__attribute_display_name") {
            Some(Metric::Text { value, .. }) => Some(value.clone()),
            _ => None,
        };
        let nanoseconds = self.number("gpu__time_duration.sum")?;
        Ok(nanoseconds.map(|nanoseconds| Measured {
            time_us: nanoseconds / 1e3,
            device,
            target: capability.map(|(major, minor)| format!("sm_{major}{minor}")),
            profiler: "Nsight Compute".to_owned(),
        }))
    }

    fn capability(&self) -> Result<Option<(u32, u32)>> {
        if self.launch.capability.is_some() {
            return Ok(self.launch.capability);
        }
        let both = self.all("device__attribute_compute_capability_", ["major", "minor"], "")?;
        Ok(both.map(|[major, minor]| (major as u32, minor as u32)))
    }

    fn launch_shape(&mut self) -> Result<LaunchShape> {
        let extents = |name: &str, known: Option<[u32; 3]>| -> Result<[u32; 3]> {
            let found = self.all(&format!("launch__{name}_dim_"), ["x", "y", "z"], "")?;
            let found = found.map(|numbers| numbers.map(|number| number as u32)).or(known);
            found.ok_or_else(|| {
                let title = if name == "grid" { "Grid Size" } else { "Block Size" };
                self.fail(format!("neither `{title}` nor launch__{name}_dim_x is there"))
                    .with_help("collect the section LaunchStats (ncu --section LaunchStats), or use --page raw")
            })
        };
        let grid = extents("grid", self.launch.grid)?;
        let block = extents("block", self.launch.block)?;
        check_extents(grid, block).map_err(|error| self.fail(error.message))?;
        let registers = self.number("launch__registers_per_thread")?;
        let shared = self.all("launch__shared_mem_per_block_", ["static", "dynamic"], "")?;
        Ok(LaunchShape {
            grid,
            block,
            cluster: None,
            shared_bytes: self
                .or_absent(shared.map(|[fixed, dynamic]| (fixed + dynamic) as u64), &[Count::SharedBytes]),
            registers: self.or_absent(registers.map(|number| number as u32), &[Count::Registers]),
            registers_basis: RegistersBasis::Profiler,
        })
    }

    fn profile(&mut self, launch: LaunchShape, kernel: &str, capability: Option<(u32, u32)>) -> Result<Profile> {
        // The profiler knows compute capability 6.0 and later, and nothing of the others' rules.
        let rule = capability.map_or(CoalescingRule::Cc70, |(major, minor)| CoalescingRule::of(major, minor));
        let by_opcode = self.opcodes()?;
        let instructions = self.instructions(&by_opcode)?;
        let total = instructions.total;
        let threads = self.threads("smsp__thread_inst_executed", total)?;
        let threads_on = self.threads("smsp__thread_inst_executed_pred_on", total)?;
        let has_opcodes = !by_opcode.is_empty();
        let by_opcode = |wanted: &[&str]| -> u64 {
            sum(by_opcode.iter().filter(|(opcode, _)| wanted.contains(&mnemonic(opcode))).map(|(_, count)| count))
        };
        let branches = self.first(&["smsp__inst_executed_op_branch.sum", "smsp__sass_inst_executed_op_branch.sum"])?;
        let branches = branches.map(count).or_else(|| has_opcodes.then(|| by_opcode(&["BRA", "BRX"])));
        let divergent = self.number("smsp__sass_branch_targets_threads_divergent.sum")?.map(count);
        let divergent = divergent.filter(|&divergent| branches.is_none_or(|branches| divergent <= branches));
        let barriers = has_opcodes.then(|| by_opcode(&["BAR"]));
        let global = self.global()?;
        let local = self.local()?;
        let shared = self.shared()?;
        let n_ctas = launch.n_ctas();
        self.absent.extend(NEVER_COUNTED);
        Ok(Profile {
            thread_instructions: self.or_absent(threads, &[Count::ThreadInstructions]),
            thread_instructions_pred_on: self.or_absent(threads_on, &[Count::PredicatedOn]),
            branches: self.or_absent(branches, &[Count::Branches]),
            divergent_branches: self.or_absent(divergent, &[Count::DivergentBranches]),
            barriers: self.or_absent(barriers, &[Count::Barriers]),
            global: BTreeMap::from([(rule, global)]),
            local: BTreeMap::from([(rule, local)]),
            shared: BTreeMap::from([(BankRule::Cc20, shared)]),
            dram_sectors: self.dram_sectors()?,
            instructions,
            absent: std::mem::take(&mut self.absent),
            ..blank(kernel, launch, Coverage { ctas_executed: n_ctas, ctas_total: n_ctas, spread: 0.0 })
        })
    }

    /// Executions by opcode of the machine code.
    fn opcodes(&self) -> Result<BTreeMap<String, u64>> {
        let mut by_opcode = BTreeMap::new();
        if let Some(Metric::Number { instances, .. }) = self.launch.metrics.get("sass__inst_executed_per_opcode") {
            for (opcode, number) in instances {
                add(&mut by_opcode, opcode.clone(), count(self.plausible(opcode, *number)?));
            }
        }
        Ok(by_opcode)
    }

    fn instructions(&mut self, by_opcode: &BTreeMap<String, u64>) -> Result<InstructionCounts> {
        let total = self.first(&["smsp__inst_executed.sum", "sm__inst_executed.sum"])?.map(count);
        let total = self.or_absent(total, &[Count::Instructions]);
        if by_opcode.is_empty() {
            self.absent.insert(Count::Opcodes);
        }
        let by_class = if by_opcode.is_empty() { self.classes(total)? } else { Some(classes_of(by_opcode)) };
        // What no class claims is of class `other`; a class too many would be an error of the mapping.
        let by_class = by_class.filter(|by_class| sum(by_class.values()) <= total);
        // No key of an instruction is made of machine code yet.
        let counted = |(opcode, &count): (&String, &u64)| OpcodeCount {
            opcode: Spelling::new(InstKey::UNKNOWN, opcode.as_str()),
            count,
        };
        let by_opcode = by_opcode.iter().map(counted).collect();
        Ok(InstructionCounts { total, by_class: self.or_absent(by_class, &[Count::Classes]), by_opcode })
    }

    /// Classes from pipes, or from kinds of thread instructions.
    fn classes(&self, total: u64) -> Result<Option<BTreeMap<OpClass, u64>>> {
        /// Share of the instructions that the pipes must account for.
        const ENOUGH: f64 = 0.9;
        let mut by_pipe: BTreeMap<OpClass, u64> = BTreeMap::new();
        for &(pipe, class) in PIPES {
            let names = ["smsp", "sm"].map(|unit| format!("{unit}__inst_executed_pipe_{pipe}.sum"));
            if let Some(number) = self.first(&[&names[0], &names[1]])? {
                add(&mut by_pipe, class, count(number));
            }
        }
        if total > 0 && sum(by_pipe.values()) as f64 >= ENOUGH * total as f64 {
            return Ok(Some(by_pipe));
        }
        let mut threads: BTreeMap<OpClass, f64> = BTreeMap::new();
        for &(kind, class) in KINDS {
            let name = format!("smsp__sass_thread_inst_executed_op_{kind}_pred_on.sum");
            if let Some(number) = self.number(&name)? {
                *threads.entry(class).or_default() += number;
            }
        }
        let all: f64 = threads.values().sum();
        let has_main = [OpClass::Fp32, OpClass::Int, OpClass::Memory, OpClass::Control];
        if all <= 0.0 || !has_main.iter().all(|class| threads.contains_key(class)) {
            return Ok(None);
        }
        // Rounded down, so that the classes never exceed the total.
        Ok(Some(threads.into_iter().map(|(class, n)| (class, (total as f64 * (n / all)) as u64)).collect()))
    }

    fn threads(&self, name: &str, total: u64) -> Result<Option<u64>> {
        if let Some(number) = self.number(&format!("{name}.sum"))? {
            return Ok(Some(count(number)));
        }
        let ratio = self.number(&format!("{name}_per_inst_executed.ratio"))?;
        Ok(ratio.filter(|_| total > 0).map(|ratio| count(ratio.min(32.0) * total as f64)))
    }

    fn global(&mut self) -> Result<MemoryCounts> {
        let requests = self.all("l1tex__t_requests_pipe_lsu_mem_global_op_", ["ld", "st", "atom", "red"], ".sum")?;
        let sectors = self.all("l1tex__t_sectors_pipe_lsu_mem_global_op_", ["ld", "st", "atom", "red"], ".sum")?;
        let ratios = self.all("smsp__sass_average_data_bytes_per_sector_mem_global_op_", ["ld", "st"], ".ratio")?;
        let bytes = match (sectors, ratios) {
            (Some([ld, st, 0.0, 0.0]), Some([of_ld, of_st])) => Some(count(ld * of_ld + st * of_st)),
            _ => None,
        };
        let requests = requests.map(|numbers| numbers.map(count));
        let [loads, stores, atoms, reductions] = self.or_absent(requests, &[Count::GlobalRequests, Count::GlobalKinds]);
        let sectors = sectors.map(|numbers| numbers.map(count).into_iter().fold(0, u64::saturating_add));
        let atomics = atoms.saturating_add(reductions);
        Ok(MemoryCounts {
            requests: loads.saturating_add(stores).saturating_add(atomics),
            loads,
            stores,
            atomics,
            bytes_requested: self.or_absent(bytes, &[Count::GlobalBytes]),
            ..self.of_sectors(sectors, Count::GlobalTransactions)
        })
    }

    fn local(&mut self) -> Result<MemoryCounts> {
        let requests = self.all("l1tex__t_requests_pipe_lsu_mem_local_op_", ["ld", "st"], ".sum")?;
        let sectors = self.all("l1tex__t_sectors_pipe_lsu_mem_local_op_", ["ld", "st"], ".sum")?;
        let sectors = sectors.map(|[ld, st]| count(ld).saturating_add(count(st)));
        // Without a sector there was no request.
        let requests = requests.or((sectors == Some(0)).then_some([0.0; 2]));
        let [loads, stores] =
            self.or_absent(requests.map(|numbers| numbers.map(count)), &[Count::LocalRequests, Count::LocalKinds]);
        Ok(MemoryCounts {
            requests: loads.saturating_add(stores),
            loads,
            stores,
            ..self.of_sectors(sectors, Count::LocalTransactions)
        })
    }

    fn of_sectors(&mut self, sectors: Option<u64>, name: Count) -> MemoryCounts {
        let t32 = self.or_absent(sectors, &[name]);
        MemoryCounts { t32, bytes_moved: t32.saturating_mul(32), ..MemoryCounts::default() }
    }

    fn shared(&mut self) -> Result<SharedCounts> {
        let total = |numbers: Option<[f64; 2]>| numbers.map(|[ld, st]| ld + st);
        let wavefronts = match self.number("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum")? {
            None => total(self.all("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_", ["ld", "st"], ".sum")?),
            found => found,
        };
        let conflicts = match self.number("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum")? {
            None => total(self.all("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_", ["ld", "st"], ".sum")?),
            found => found,
        };
        let is_unused = wavefronts == Some(0.0);
        let requests = match self.all("smsp__inst_executed_op_shared_", ["ld", "st"], ".sum")? {
            None => self.all("sass__inst_executed_shared_", ["loads", "stores"], "")?,
            found => found,
        };
        let atomics = self.number("smsp__inst_executed_op_shared_atom.sum")?.map_or(0, count);
        let requests = requests.or(is_unused.then_some([0.0; 2])).map(|numbers| numbers.map(count));
        let [loads, stores] = self.or_absent(requests, &[Count::SharedRequests, Count::SharedKinds]);
        let conflicts = conflicts.or(is_unused.then_some(0.0));
        let both = wavefronts.zip(conflicts).map(|(all, extra)| [count(all), count((all - extra).max(0.0))]);
        let [wavefronts, ideal_wavefronts] = self.or_absent(both, &[Count::SharedWavefronts]);
        let requests = loads.saturating_add(stores).saturating_add(atomics);
        Ok(SharedCounts { requests, loads, stores, atomics, wavefronts, ideal_wavefronts, ..SharedCounts::default() })
    }

    fn dram_sectors(&self) -> Result<Option<[u64; 2]>> {
        if let Some(sectors) = self.all("dram__sectors_", ["read", "write"], ".sum")? {
            return Ok(Some(sectors.map(count)));
        }
        let bytes = self.all("dram__bytes_", ["read", "write"], ".sum")?;
        Ok(bytes.map(|bytes| bytes.map(|bytes| count(bytes / 32.0))))
    }
}

/// A profile of machine code in which nothing is counted yet.
pub(super) fn blank(kernel: &str, launch: LaunchShape, coverage: Coverage) -> Profile {
    Profile {
        kernel: kernel.to_owned(),
        launch,
        counted: Counted::Machine,
        absent: BTreeSet::new(),
        coverage,
        warps: launch.n_ctas().saturating_mul(launch.n_warps()),
        instructions: InstructionCounts::default(),
        thread_instructions: 0,
        thread_instructions_pred_on: 0,
        branches: 0,
        divergent_branches: 0,
        barriers: 0,
        high_latency: BTreeMap::new(),
        global: BTreeMap::new(),
        local: BTreeMap::new(),
        shared: BTreeMap::new(),
        constant: ConstantCounts::default(),
        distinct_sectors_read: 0,
        distinct_sectors_written: 0,
        dram_sectors: None,
        vector_loads: 0,
        independent_loads: None,
        independent_loads_program_order: None,
        overlap_instructions: 0,
        duplicate_loads: BTreeMap::new(),
        duplicate_share: 1.0,
        instruction_parallelism: None,
        instruction_parallelism_program_order: None,
        statistics: Statistics::default(),
        order_dependent: false,
        lines: Vec::new(),
    }
}

fn classes_of(by_opcode: &BTreeMap<String, u64>) -> BTreeMap<OpClass, u64> {
    let mut by_class = BTreeMap::new();
    for (opcode, &count) in by_opcode {
        add(&mut by_class, class_of(opcode), count);
    }
    by_class
}

/// The opcode without its modifiers.
fn mnemonic(opcode: &str) -> &str {
    opcode.split('.').next().unwrap_or(opcode)
}

/// Counts together, as many as fit: what is too much is refused when all is read.
fn sum<'a>(counts: impl IntoIterator<Item = &'a u64>) -> u64 {
    counts.into_iter().copied().fold(0, u64::saturating_add)
}

/// Adds to the count of a key.
fn add<K: Ord>(counts: &mut BTreeMap<K, u64>, key: K, count: u64) {
    let before = counts.entry(key).or_default();
    *before = before.saturating_add(count);
}

/// The nearest whole number.
fn count(number: f64) -> u64 {
    number.round() as u64
}

/// What a unit is in base units: nanoseconds, bytes, plain counts.
fn factor(unit: &str) -> Option<f64> {
    let unit = unit.trim().trim_end_matches("/block");
    if COUNT_UNITS.contains(&unit) || matches!(unit, "byte" | "B" | "ns" | "nsecond" | "%") {
        return Some(1.0);
    }
    let time = [("us", 1e3), ("usecond", 1e3), ("ms", 1e6), ("msecond", 1e6), ("s", 1e9), ("second", 1e9)];
    if let Some((_, factor)) = time.iter().find(|(name, _)| *name == unit) {
        return Some(*factor);
    }
    let (prefix, rest) = unit.split_at_checked(1)?;
    let factor = match prefix {
        "K" | "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        _ => return None,
    };
    (rest == "byte" || rest == "B" || (!rest.is_empty() && COUNT_UNITS.contains(&rest))).then_some(factor)
}
