//! The profile: everything that models learn about an execution.
//!
//! Totals are exact integers over the executed CTAs, scaled to the whole grid when only some were executed.

use std::collections::{BTreeMap, BTreeSet};

use warplens_isa::{InstKey, OpClass, Pc, SlowOperation, Spelling, StateSpace};

use crate::Statistics;

/// Coalescing rule set, named after the compute capability that introduced it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CoalescingRule {
    /// cc 1.0 and 1.1: strict, per half-warp.
    Cc10,
    /// cc 1.2 and 1.3: segments, per half-warp.
    Cc12,
    /// cc 2.x: 128 B lines through L1.
    Cc20,
    /// cc 2.x with L1 off: 32 B segments.
    Cc20L1Off,
    /// cc 3.x: 32 B sectors through L2.
    Cc30,
    /// cc 5.x and 6.x: 32 B sectors.
    Cc50,
    /// cc 7.0 and later: 32 B sectors of 128 B lines.
    Cc70,
}

impl CoalescingRule {
    /// Every rule, oldest first.
    pub const ALL: [Self; 7] =
        [Self::Cc10, Self::Cc12, Self::Cc20, Self::Cc20L1Off, Self::Cc30, Self::Cc50, Self::Cc70];

    /// Name in profiles.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cc10 => "1.0",
            Self::Cc12 => "1.2",
            Self::Cc20 => "2.0",
            Self::Cc20L1Off => "2.0-l1off",
            Self::Cc30 => "3.0",
            Self::Cc50 => "5.0",
            Self::Cc70 => "7.0",
        }
    }

    /// The rule of a compute capability.
    pub const fn of(major: u32, minor: u32) -> Self {
        match (major, minor) {
            (0..=1, 0..=1) => Self::Cc10,
            (0..=1, _) => Self::Cc12,
            (2, _) => Self::Cc20,
            (3, _) => Self::Cc30,
            (4..=6, _) => Self::Cc50,
            _ => Self::Cc70,
        }
    }
}

/// Shared-memory bank rule.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum BankRule {
    /// cc 1.x: 16 banks of 4 B, per half-warp.
    Cc10,
    /// cc 2.x, 5.x and later: 32 banks of 4 B; 64- and 128-bit accesses in phases.
    Cc20,
    /// cc 3.x: 32 banks of 8 B.
    Cc30,
}

impl BankRule {
    /// Every rule, oldest first.
    pub const ALL: [Self; 3] = [Self::Cc10, Self::Cc20, Self::Cc30];

    /// Name in profiles.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cc10 => "1.0",
            Self::Cc20 => "2.0",
            Self::Cc30 => "3.0",
        }
    }

    /// The rule of a compute capability.
    pub const fn of(major: u32) -> Self {
        match major {
            0..=1 => Self::Cc10,
            3 => Self::Cc30,
            _ => Self::Cc20,
        }
    }
}

/// Where the register count of a launch comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RegistersBasis {
    /// Given by the user.
    User,
    /// Reported by ptxas.
    Ptxas,
    /// Estimated from live ranges.
    Estimate,
    /// Reported by a profiler on a GPU.
    Profiler,
}

impl RegistersBasis {
    /// Name in profiles.
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Ptxas => "ptxas",
            Self::Estimate => "estimate",
            Self::Profiler => "profiler",
        }
    }
}

/// Which instructions a profile counts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Counted {
    /// Those of the PTX as written.
    Ptx,
    /// Those of the PTX without register copies, address conversions and parameter loads: an estimate of machine code.
    Reduced,
    /// Those of machine code that was executed, or that a profiler counted on a GPU.
    Machine,
}

impl Counted {
    /// Every basis.
    pub const ALL: [Self; 3] = [Self::Ptx, Self::Reduced, Self::Machine];

    /// Name in profiles.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ptx => "ptx",
            Self::Reduced => "ptx-reduced",
            Self::Machine => "machine",
        }
    }
}

macro_rules! counts {
    ($($(#[$meta:meta])* $name:ident $text:literal;)*) => {
        /// A count, or a few that are known together, that a profile may lack: not every source of profiles counts
        /// everything. Named after the place in the JSON document; a count by rule leaves the rule out.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Count {
            $($(#[$meta])* $name,)*
        }

        impl Count {
            /// Every count.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Name in profiles and messages.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

counts! {
    /// Registers per thread.
    Registers "launch.registers";
    /// Shared memory per CTA.
    SharedBytes "launch.shared_bytes";
    /// Warp instructions.
    Instructions "instructions.total";
    /// Warp instructions by class.
    Classes "instructions.by_class";
    /// Warp instructions by opcode.
    Opcodes "instructions.by_opcode";
    /// Thread instructions.
    ThreadInstructions "thread_instructions";
    /// Thread instructions whose guard was true.
    PredicatedOn "thread_instructions_pred_on";
    /// Branches.
    Branches "branches";
    /// Branches that sent lanes both ways.
    DivergentBranches "divergent_branches";
    /// CTA barriers.
    Barriers "barriers";
    /// Operations that expand or are slow.
    HighLatency "high_latency";
    /// Requests to global memory.
    GlobalRequests "global.requests";
    /// Which of them load, store, or are atomic.
    GlobalKinds "global.loads";
    /// Transactions to global memory by size.
    GlobalTransactions "global.t32";
    /// Lines of 128 bytes.
    GlobalLines "global.lines";
    /// Coalesced and other requests to global memory, and their transactions.
    GlobalCoalesced "global.coalesced";
    /// Bytes that lanes ask of global memory.
    GlobalBytes "global.bytes_requested";
    /// Requests to local memory.
    LocalRequests "local.requests";
    /// Which of them load and store.
    LocalKinds "local.loads";
    /// Transactions to local memory by size.
    LocalTransactions "local.t32";
    /// Lines of 128 bytes.
    LocalLines "local.lines";
    /// Coalesced and other requests to local memory, and their transactions.
    LocalCoalesced "local.coalesced";
    /// Bytes that lanes ask of local memory.
    LocalBytes "local.bytes_requested";
    /// Requests to shared memory.
    SharedRequests "shared.requests";
    /// Which of them load, store, or are atomic.
    SharedKinds "shared.loads";
    /// Requests to shared memory with a bank conflict.
    SharedConflicted "shared.conflicted";
    /// Passes of requests to shared memory.
    SharedPasses "shared.passes";
    /// Wavefronts of requests to shared memory, and how many they would be without conflicts.
    SharedWavefronts "shared.wavefronts";
    /// Constant memory.
    Constant "constant";
    /// Distinct sectors read and written.
    DistinctSectors "distinct_sectors_read";
    /// Global loads of vectors.
    VectorLoads "vector_loads";
    /// Loads in flight with reordering.
    IndependentLoads "independent_loads";
    /// Loads in flight in program order.
    IndependentLoadsProgramOrder "independent_loads_program_order";
    /// Instructions between a load and the first use of its value.
    OverlapInstructions "overlap_instructions";
    /// Repeated loads.
    DuplicateLoads "duplicate_loads";
    /// Counts per memory instruction, branch and barrier.
    Lines "lines";
}

/// Shape of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LaunchShape {
    /// CTAs per axis.
    pub grid: [u32; 3],
    /// Threads per axis.
    pub block: [u32; 3],
    /// CTAs of a cluster per axis; none where the launch says nothing of clusters.
    pub cluster: Option<[u32; 3]>,
    /// Static plus dynamic shared memory per CTA in bytes.
    pub shared_bytes: u64,
    /// Registers per thread.
    pub registers: u32,
    /// Where the register count comes from.
    pub registers_basis: RegistersBasis,
}

impl LaunchShape {
    /// CTAs in the grid.
    pub fn n_ctas(&self) -> u64 {
        self.grid.iter().map(|&extent| u64::from(extent)).product()
    }

    /// Threads in a CTA.
    pub fn n_threads(&self) -> u64 {
        self.block.iter().map(|&extent| u64::from(extent)).product()
    }

    /// Warps in a CTA.
    pub fn n_warps(&self) -> u64 {
        self.n_threads().div_ceil(32)
    }
}

/// Which CTAs the counts come from.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Coverage {
    /// CTAs that were executed.
    pub ctas_executed: u64,
    /// CTAs of the grid.
    pub ctas_total: u64,
    /// (largest - smallest) / mean of the instructions per executed CTA; 0 when all CTAs do the same, NaN where the
    /// executed ones were counted together.
    pub spread: f64,
}

impl Coverage {
    /// How much the executed CTAs differ, as a clause.
    pub fn difference(&self) -> String {
        if self.spread.is_nan() {
            return "how much they differ is not known".to_owned();
        }
        format!("instructions per CTA differ by {:.1} %", 100.0 * self.spread)
    }
}

/// Instructions executed by warps.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct InstructionCounts {
    /// Warp instructions.
    pub total: u64,
    /// By class.
    pub by_class: BTreeMap<OpClass, u64>,
    /// By opcode with modifiers: once for each way in which the program writes an instruction, in the order of the texts.
    pub by_opcode: Vec<OpcodeCount>,
}

/// Instructions of one opcode executed by warps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpcodeCount {
    /// The instruction.
    pub opcode: Spelling,
    /// Warp instructions.
    pub count: u64,
}

impl InstructionCounts {
    /// Instructions of `key`, however they are written.
    pub fn of_key(&self, key: &InstKey) -> u64 {
        self.by_opcode.iter().filter(|counted| counted.opcode.key == *key).map(|counted| counted.count).sum()
    }

    /// Counts each instruction as that which stands for it, where one does.
    pub fn replace(&mut self, replacement: impl Fn(&InstKey) -> Option<InstKey>) {
        let old = std::mem::take(&mut self.by_opcode);
        let mut replaced: BTreeMap<InstKey, usize> = BTreeMap::new();
        for counted in old {
            let key = replacement(&counted.opcode.key);
            let at = match key {
                Some(key) => self.by_opcode.iter().position(|other| other.opcode.key == key),
                None => replaced.get(&counted.opcode.key).copied(),
            };
            match (at, key) {
                (Some(at), _) => self.by_opcode[at].count += counted.count,
                (None, Some(key)) => {
                    replaced.insert(key, self.by_opcode.len());
                    self.by_opcode.push(OpcodeCount { opcode: key.into(), count: counted.count });
                }
                (None, None) => self.by_opcode.push(counted),
            }
        }
    }

    /// Instructions of `class`.
    pub fn of_class(&self, class: OpClass) -> u64 {
        self.by_class.get(&class).copied().unwrap_or(0)
    }

    /// Share of instructions of class `virtual`, 0 when nothing was executed.
    pub fn virtual_share(&self) -> f64 {
        if self.total == 0 { 0.0 } else { self.of_class(OpClass::Virtual) as f64 / self.total as f64 }
    }
}

/// Requests and transactions to global or local memory under one coalescing rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MemoryCounts {
    /// Warp-level memory instructions with at least one active lane.
    pub requests: u64,
    /// Requests that load.
    pub loads: u64,
    /// Requests that store.
    pub stores: u64,
    /// Requests that are atomic.
    pub atomics: u64,
    /// 32 B transactions (sectors).
    pub t32: u64,
    /// 64 B transactions.
    pub t64: u64,
    /// 128 B transactions.
    pub t128: u64,
    /// 128 B lines touched, from cc 2.0 on.
    pub lines: u64,
    /// Coalesced requests.
    pub coalesced: u64,
    /// Other requests.
    pub uncoalesced: u64,
    /// Transactions of the coalesced requests.
    pub coalesced_transactions: u64,
    /// Transactions of the other requests.
    pub uncoalesced_transactions: u64,
    /// 32 B transactions that the requests would take if the distinct bytes of each lay side by side. All three sizes are
    /// 0 where nobody counted them.
    pub ideal_t32: u64,
    /// The same of 64 B.
    pub ideal_t64: u64,
    /// The same of 128 B.
    pub ideal_t128: u64,
    /// Bytes that the lanes ask for.
    pub bytes_requested: u64,
    /// Bytes that the transactions move.
    pub bytes_moved: u64,
}

impl MemoryCounts {
    /// Transactions of all sizes.
    pub const fn transactions(&self) -> u64 {
        self.t32 + self.t64 + self.t128
    }

    /// Transactions of all sizes if the distinct bytes of each request lay side by side; `None` where nobody counted them.
    pub const fn ideal_transactions(&self) -> Option<u64> {
        match self.ideal_t32 + self.ideal_t64 + self.ideal_t128 {
            // A request has an active lane, and so a byte to move.
            0 if self.requests > 0 => None,
            ideal => Some(ideal),
        }
    }
}

/// Requests to shared memory under one bank rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SharedCounts {
    /// Warp-level instructions with at least one active lane.
    pub requests: u64,
    /// Requests that load.
    pub loads: u64,
    /// Requests that store.
    pub stores: u64,
    /// Requests that are atomic.
    pub atomics: u64,
    /// Requests with a bank conflict.
    pub conflicted: u64,
    /// Passes: 1 for a request without conflict, n for one with an n-way conflict.
    pub passes: u64,
    /// Wavefronts that serve the requests: passes of every half-warp (1.x) and of every phase of a wide access.
    pub wavefronts: u64,
    /// Wavefronts that the requests would take without any conflict.
    pub ideal_wavefronts: u64,
}

/// Requests to constant memory, parameters excluded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ConstantCounts {
    /// Warp-level loads.
    pub requests: u64,
    /// Distinct words that they read: the broadcasts that serve them.
    pub passes: u64,
}

/// Counts of one memory instruction, branch or barrier.
#[derive(Clone, PartialEq, Debug)]
pub struct LineCounts {
    /// The instruction.
    pub pc: Pc,
    /// Its line in the PTX, from 1.
    pub ptx_line: u32,
    /// File and line of the program, if the PTX says so.
    pub source: Option<(String, u32)>,
    /// What it is, and how the program writes it.
    pub opcode: Spelling,
    /// Space, for memory instructions.
    pub space: Option<StateSpace>,
    /// Executions by a warp.
    pub executed: u64,
    /// Threads that took part.
    pub threads: u64,
    /// Executions in which a branch sent lanes both ways.
    pub divergent: u64,
    /// Global or local transactions by rule.
    pub memory: BTreeMap<CoalescingRule, MemoryCounts>,
    /// Shared-memory passes by rule.
    pub shared: BTreeMap<BankRule, SharedCounts>,
}

/// Everything counted in one run, for all rules at once.
#[derive(Clone, PartialEq, Debug)]
pub struct Profile {
    /// Kernel name.
    pub kernel: String,
    /// Launch.
    pub launch: LaunchShape,
    /// Which instructions are counted.
    pub counted: Counted,
    /// What is not counted. The fields hold zero or nothing there, which means nothing; a rule that `global`, `local` or
    /// `shared` has no entry for is not counted either.
    pub absent: BTreeSet<Count>,
    /// Executed share of the grid.
    pub coverage: Coverage,
    /// Launched warps: CTAs x ceil(threads per CTA / 32).
    pub warps: u64,
    /// Warp instructions.
    pub instructions: InstructionCounts,
    /// Thread instructions: active lanes, whatever their guard.
    pub thread_instructions: u64,
    /// Thread instructions whose guard was true.
    pub thread_instructions_pred_on: u64,
    /// Branch instructions.
    pub branches: u64,
    /// Branches that sent lanes both ways.
    pub divergent_branches: u64,
    /// CTA barriers.
    pub barriers: u64,
    /// Executions of high-latency operations, by kind and type.
    pub high_latency: BTreeMap<SlowOperation, u64>,
    /// Global memory by rule; atomics included.
    pub global: BTreeMap<CoalescingRule, MemoryCounts>,
    /// Local memory by rule.
    pub local: BTreeMap<CoalescingRule, MemoryCounts>,
    /// Shared memory by rule.
    pub shared: BTreeMap<BankRule, SharedCounts>,
    /// Constant memory.
    pub constant: ConstantCounts,
    /// Distinct 32 B sectors of global memory that the launch reads.
    pub distinct_sectors_read: u64,
    /// Distinct 32 B sectors of global memory that the launch writes.
    pub distinct_sectors_written: u64,
    /// Sectors of 32 B read from and written to device memory, as measured on a GPU; none where nothing was measured.
    pub dram_sectors: Option<[u64; 2]>,
    /// Global loads of vectors (`.v2`, `.v4`, `.v8`).
    pub vector_loads: u64,
    /// Dynamic global loads / load batches, with reordering inside blocks; `None` without a global load.
    pub independent_loads: Option<f64>,
    /// The same in program order.
    pub independent_loads_program_order: Option<f64>,
    /// Warp instructions issued, in program order, between a load batch's first load and the first instruction that
    /// needs one of its values; loads and instructions of class `virtual` left out.
    pub overlap_instructions: u64,
    /// Sum of transactions / sum of distinct segments per rule; `None` without a global load.
    pub duplicate_loads: BTreeMap<CoalescingRule, f64>,
    /// Share of the grid's CTAs that `duplicate_loads` looked at.
    pub duplicate_share: f64,
    /// Instruction-level parallelism: instructions / cycles of a schedule that only dependences limit, one basic block
    /// after the other, with reordering inside blocks; `None` when nothing was executed.
    pub instruction_parallelism: Option<f64>,
    /// The same in program order.
    pub instruction_parallelism_program_order: Option<f64>,
    /// What the statistics counted, each of which may be missing.
    pub statistics: Statistics,
    /// Counts may depend on the order in which warps run: control depends on what other threads wrote, or lanes had to
    /// be released out of turn.
    pub order_dependent: bool,
    /// Per memory instruction, branch and barrier.
    pub lines: Vec<LineCounts>,
}

impl Profile {
    /// True when the profile holds `count`.
    pub fn has(&self, count: Count) -> bool {
        !self.absent.contains(&count)
    }

    /// `total` per launched warp.
    pub fn per_warp(&self, total: u64) -> f64 {
        if self.warps == 0 { 0.0 } else { total as f64 / self.warps as f64 }
    }

    /// Mean number of active lanes per warp instruction.
    pub fn mean_active_lanes(&self) -> f64 {
        if self.instructions.total == 0 {
            0.0
        } else {
            self.thread_instructions as f64 / self.instructions.total as f64
        }
    }
}
