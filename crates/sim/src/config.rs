//! The SM as the simulation sees it: the numbers of one machine, read for the classes that a kernel uses.

mod read;

pub use read::pipe_time;

use warplens_isa::MatrixProduct;
use warplens_machine::words::{IssueOccupies, IssuePolicy, IssueScoreboard};
use warplens_stats::{BankRule, CoalescingRule};
use warplens_trace::{MachineClass, MachineInst};

use crate::unit::DelayConfig;

/// Number of instruction classes.
const N_CLASSES: usize = MachineClass::ALL.len();

/// Everything that the units need to know.
#[derive(Clone, PartialEq, Debug)]
pub struct SmConfig {
    /// Warp schedulers.
    pub schedulers: u32,
    /// Cycles from one choice of a scheduler to its next.
    pub issue_interval: u32,
    /// Instructions of one warp that one choice may issue.
    pub issue_width: u32,
    /// What an instruction occupies while it is issued.
    pub occupies: IssueOccupies,
    /// Which of the ready warps is taken.
    pub policy: IssuePolicy,
    /// When an instruction's operands must be there.
    pub scoreboard: IssueScoreboard,
    /// Cycles in which an instruction of fixed latency reads its registers, of two banks; none where banks are not modelled.
    pub register_read_cycles: Option<u32>,
    /// By class, [`ClassTiming::UNUSED`] for those that the kernel does not use.
    pub classes: [ClassTiming; N_CLASSES],
    /// Cycles from the write of a predicate to an instruction that it guards.
    pub predicate_latency: u32,
    /// Cycles from a branch to the warp's next instruction.
    pub branch_latency: u32,
    /// Cycles from the last arrival at a barrier to the warps' next instruction.
    pub barrier_latency: u32,
    /// Cycles from a bulk copy to its bytes in shared memory beyond those of a load.
    pub bulk_latency: u32,
    /// Cycles of a memory fence.
    pub fence_latency: u32,
    /// Shared memory.
    pub shared: SharedConfig,
    /// What the SMs of a cluster are to each other, of launches in clusters.
    pub cluster: Option<ClusterConfig>,
    /// The way of memory instructions into the memory system.
    pub lsu: LsuConfig,
    /// The rule by which lanes make transactions.
    pub coalescing: CoalescingRule,
    /// The L1 data cache, and the way of global and local memory through the SM, where there is a cache behind it.
    pub l1: Option<L1Config>,
    /// The texture units, where the kernel fetches from textures.
    pub textures: Option<TextureConfig>,
    /// Bytes that shared memory can have where it is one with the L1 cache, least first; none where any number can be.
    pub shared_divisions: Vec<u64>,
    /// The L2 cache, where there is one for data.
    pub l2: Option<L2Config>,
    /// Device memory.
    pub dram: DramConfig,
    /// SMs of the chip.
    pub n_sms: u32,
    /// SMs that share one memory pipeline.
    pub sms_per_cluster: u32,
    /// Cycles between the end of a CTA and the first instruction of the one that takes its place.
    pub cta_turnaround: u32,
    /// Cycles between two CTAs that come to the SM while all SMs get some; 0 where nobody measured it.
    pub cta_interval: f64,
    /// Cycles between the starts of the CTAs that are on the SM first.
    pub cta_start: u32,
    /// Units that delay accesses to memory.
    pub delays: DelayConfig,
    /// The clock whose cycles these are, in hertz.
    pub clock: f64,
}

macro_rules! pipes {
    ($($(#[$meta:meta])* $name:ident $text:literal;)*) => {
        /// Pipes of a scheduler, under the names of Nsight Compute.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Pipe {
            $($(#[$meta])* $name,)*
        }

        impl Pipe {
            /// Every pipe.
            pub const ALL: &[Pipe] = &[$(Self::$name,)*];

            /// Name in reports.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

pipes! {
    /// Single precision, and integer multiplication.
    Fma "fma";
    /// Integer.
    Alu "alu";
    /// Double precision.
    Fp64 "fp64";
    /// Half precision.
    Fp16 "fp16";
    /// Special functions and conversions.
    Xu "xu";
    /// Matrix multiply-accumulate.
    Tensor "tensor";
    /// Values that are the same in all lanes.
    Uniform "uniform";
    /// Memory instructions and exchange between lanes.
    Lsu "lsu";
    /// Branches.
    Cbu "cbu";
    /// Barriers.
    Adu "adu";
}

/// Timing of one class.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ClassTiming {
    /// The pipe that it takes.
    pub pipe: Pipe,
    /// Cycles from its issue to that of an instruction that uses its result; 0 for loads and stores, whose latency is that
    /// of the place of the data. Of an atomic operation it is the latency in shared memory.
    pub latency: u32,
    /// The same for tensor instructions of at most [`MatrixProduct::HALF_WORK`]; as long elsewhere.
    pub short_latency: u32,
    /// Cycles that it occupies its pipe (or the scheduler), per unit of [`MachineInst::amount`](warplens_trace::MachineInst).
    /// Of memory instructions it is the time of handing over: the pace of the memory unit is in [`LsuConfig`].
    pub interval: f64,
    /// Cycles before the same warp can issue again.
    pub same_warp: u32,
    /// The latency is not known to the compiler: waiting for it shows as `short_scoreboard`.
    pub variable: bool,
}

impl ClassTiming {
    /// Stands where the kernel has no instruction of the class.
    pub const UNUSED: Self =
        Self { pipe: Pipe::Cbu, latency: 0, short_latency: 0, interval: 1.0, same_warp: 1, variable: false };

    /// Cycles from the issue of an instruction to that of one that uses its result.
    #[inline]
    pub fn latency_of(&self, inst: &MachineInst) -> u32 {
        if inst.amount <= MatrixProduct::HALF_WORK { self.short_latency } else { self.latency }
    }
}

/// Shared memory.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SharedConfig {
    /// The rule by which lanes conflict.
    pub banks: BankRule,
    /// Wide loads of lanes that agree in pairs take half of the passes ([`packed_passes`](warplens_stats::bank::packed_passes)).
    pub packs_pairs: bool,
    /// Cycles of a load without conflicts.
    pub latency: u32,
    /// Cycles before the same warp can issue again after an access.
    pub same_warp: u32,
    /// Cycles of arithmetic with an operand in shared memory without conflicts (compute capability 1.x).
    pub operand_latency: u32,
    /// Cycles that one pass occupies the memory.
    pub pass_cycles: f64,
    /// Cycles by which each pass beyond the fewest possible delays the result.
    pub pass_latency: f64,
    /// What an asynchronous copy brings is written sector by sector where its sectors come to lie across two.
    pub splits_copies: bool,
}

/// SMs of a cluster of CTAs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ClusterConfig {
    /// Cycles of a load from the shared memory of another SM.
    pub latency: u32,
    /// Bytes per cycle that an SM draws from the shared memory of others.
    pub bytes_per_clk: f64,
    /// Cycles from the last arrival at the cluster's barrier to the warps' next instruction.
    pub barrier_latency: u32,
}

/// The way into the memory system.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LsuConfig {
    /// Memory instructions of one scheduler that may wait.
    pub queue: u32,
    /// Cycles between memory instructions that one scheduler hands on.
    pub scheduler_interval: f64,
    /// Cycles between memory instructions of the SM.
    pub sm_interval: f64,
}

/// What an L1 data cache holds. All accesses to global and local memory take the way through it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum L1Holds {
    /// What is loaded from global and local memory.
    All,
    /// Local memory.
    Local,
    /// Neither.
    Nothing,
}

/// The L1 data cache.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct L1Config {
    /// What it holds.
    pub holds: L1Holds,
    /// Size with the shared memory where the two are one, before the share of the latter.
    pub bytes: u64,
    /// The L1 cache and shared memory are one memory.
    pub unified: bool,
    /// Distinct lines looked up per cycle.
    pub tags_per_clk: f64,
    /// Bytes delivered per cycle.
    pub bytes_per_clk: f64,
    /// Cycles of a hit.
    pub latency: u32,
    /// Local memory is written back when its line goes; otherwise it is written through at once, as global memory is.
    pub writes_back: bool,
}

/// The texture units of an SM, which fetch through its L1 cache.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TextureConfig {
    /// Cycles that the fetches of a warp take.
    pub interval: f64,
}

/// The L2 cache.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct L2Config {
    /// Size of the whole cache.
    pub bytes: u64,
    /// Cycles of a hit in the near part.
    pub latency: u32,
    /// Cycles of a hit in the far part, where there is one.
    pub far_latency: Option<u32>,
    /// Bytes per cycle that the whole cache delivers.
    pub bytes_per_clk: f64,
    /// Sectors for which a request takes as long, however few it asks for.
    pub request_sectors: f64,
    /// How many times as long it takes for a sector that is stored.
    pub store_cost: f64,
    /// Bytes per cycle between it and one SM.
    pub sm_bytes_per_clk: f64,
}

/// Device memory.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DramConfig {
    /// Cycles of a load on an idle machine.
    pub latency: u32,
    /// Bytes per cycle of the whole chip, with a write for two reads.
    pub bytes_per_clk: f64,
    /// Bytes per cycle of the whole chip where all of them go the same way; as many where that is not known.
    pub one_way_bytes_per_clk: f64,
    /// Cycles between two rows of one bank, for which requests to a busy memory wait; 0 where that is not modelled.
    pub row_cycle: f64,
    /// Cycles by which a load is later where the memory is as busy as can be with as many bytes written as read; 0 where that
    /// is not modelled.
    pub turnaround: f64,
    /// Bytes that a load which misses the L2 cache brings, a multiple of a sector.
    pub fetch_bytes: u32,
    /// Cycles between two rows that are opened anywhere in the memory; 0 where that is not modelled.
    pub activation_interval: f64,
    /// Channels and the bytes after which addresses go on to the next; none where addresses are hashed over them.
    pub channels: Option<(u32, u32)>,
    /// Bytes that may be in flight for one memory pipeline, where that is limited.
    pub in_flight: Option<f64>,
}

impl SmConfig {
    /// Timing of a class.
    pub fn class(&self, class: MachineClass) -> &ClassTiming {
        &self.classes[class as usize]
    }
}
