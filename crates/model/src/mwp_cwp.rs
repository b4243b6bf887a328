//! The three cases of the MWP-CWP model, which the paper and its transaction-based successor share.
//!
//! Numbers of equations are those of Hong and Kim (ISCA 2009). N warps share an SM; MWP of them can have a request in
//! flight together, and CWP of them can compute during one memory period.
//!
//! - (22) both are N: memory and computation of one warp follow each other, and the other warps add what sticks out;
//! - (23) CWP is at least MWP: memory periods follow each other in N / MWP groups;
//! - (24) MWP is above CWP: the computation of N warps follows one memory period.
//!
//! Corrections of the documented reading, all left out by `as-printed`:
//!
//! - The paper prints (23)'s condition as "CWP >= MWP or Comp_cycles > Mem_cycles"; the second half contradicts its own
//!   Case 5 and is dropped.
//! - (23) does not fall below `Comp_cycles * N`, the time to issue everything; nor does (22), which can only with more
//!   than one independent load.
//! - With more than one independent load MWP may exceed N. The case is then chosen with MWP_c = min(MWP, N), which also
//!   stands for MWP everywhere but in `Mem_cycles * N / MWP`.
//! - In (26) MWP counts the warps of all blocks, and Active_blocks_per_SM counts the blocks once more: the same thing
//!   where MWP is at most a block's warps, as in the papers, and several times the rest of the kernel where MWP is large.
//!   On a K40 or an H200 a matrix product in tiles would take twice as long as one without. Since only the warps of one
//!   block wait for each other, the transaction-based model limits MWP in (26) to a block's warps from compute capability
//!   2.0 on. The papers' own GPUs, counts given without a GPU and the paper's own model keep (26) as it is.
//! - (22) and (24) lie above (23) where they meet it, and (26) grows with MWP. Where duplicate loads hold MWP below N,
//!   more independent loads lift it over these steps and would cost time. A warp that could have more loads in flight can
//!   run with fewer, so the least time between MWP at one independent load and MWP counts. With one independent load, or
//!   without duplicates, nothing changes: MWP_c is then the same for any number of independent loads.
//!
//! A term beyond the papers: what a warp computes while its own loads are on their way is already over when their values
//! come, and is not added to the memory periods in (22) and (23). It is still computed: the floor, CWP and (24) keep it.

use warplens_base::units::Cycles;
use warplens_machine::{Key, Readings};

use crate::compute::{ComputeLoad, LoadPart};
use crate::{Part, Reading, Refusal, Resource, Term};

/// What the cases compare and combine, for one SM and one wave.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Situation {
    /// N, resident warps.
    pub n: f64,
    /// MWP; above N only with more than one independent load.
    pub mwp: f64,
    /// MWP with one independent load.
    pub mwp_one_load: f64,
    /// Mem_cycles of one warp.
    pub mem_cycles: f64,
    /// Comp_cycles of one warp.
    pub comp_cycles: f64,
    /// Of those, cycles that the warp computes while its own loads are on their way; 0 in the papers.
    pub hidden_cycles: f64,
    /// Memory instructions of one warp.
    pub mem_insts: f64,
    /// Mem_L, one memory period.
    pub mem_l: f64,
    /// Departure_delay of one request.
    pub departure_delay: f64,
    /// Synch_insts of one warp.
    pub synch_insts: f64,
    /// Active_blocks_per_SM.
    pub active_blocks: f64,
    /// Warps that can wait for each other at a barrier; more of MWP do not count in (26). Infinite where all do.
    pub barrier_warps: f64,
    /// Blocks whose barriers cost the SM time, one by one; Active_blocks_per_SM in the papers.
    pub waiting_blocks: f64,
    /// Rep.
    pub rep: f64,
}

/// Which equation gives the time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Case {
    /// No memory instruction: N computations follow each other.
    NoMemory,
    /// (22)
    FewWarps,
    /// (23)
    MemoryBound,
    /// (24)
    ComputeBound,
}

impl Case {
    /// The equation's number in the paper; 0 where there is no memory instruction.
    pub const fn equation(self) -> u8 {
        match self {
            Self::NoMemory => 0,
            Self::FewWarps => 22,
            Self::MemoryBound => 23,
            Self::ComputeBound => 24,
        }
    }
}

/// The time of a launch, in cycles over all waves.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Execution {
    /// The equation.
    pub case: Case,
    /// The MWP with which it was evaluated.
    pub mwp_used: f64,
    /// (27) with all of MWP; above the total where less of it is in use.
    pub total_at_mwp: f64,
    /// Waiting for memory.
    pub memory: f64,
    /// Computing.
    pub computation: f64,
    /// (26) Waiting at barriers.
    pub synch: f64,
    /// (26) with MWP not limited to the warps of a block.
    pub synch_unlimited: f64,
    /// The time to issue everything took the place of (22) or (23).
    pub on_floor: bool,
}

impl Execution {
    /// Exec_cycles, without barriers.
    pub fn exec(&self) -> f64 {
        self.memory + self.computation
    }

    /// (27) Exec_with_synch.
    pub fn total(&self) -> f64 {
        self.exec() + self.synch
    }
}

/// (8) CWP_full; N where there is nothing to compute.
pub fn cwp_full(mem_cycles: f64, comp_cycles: f64, n: f64) -> f64 {
    if comp_cycles > 0.0 { (mem_cycles + comp_cycles) / comp_cycles } else { n }
}

/// (9) CWP.
pub fn cwp(cwp_full: f64, n: f64) -> f64 {
    cwp_full.min(n)
}

/// (21) to (27): the time of the launch.
pub fn execute(situation: &Situation, reading: Reading) -> Result<Execution, Refusal> {
    if situation.mem_insts == 0.0 {
        let computation = situation.comp_cycles * situation.n * situation.rep;
        return Ok(Execution {
            case: Case::NoMemory,
            mwp_used: situation.n,
            total_at_mwp: computation,
            memory: 0.0,
            computation,
            synch: 0.0,
            synch_unlimited: 0.0,
            on_floor: false,
        });
    }
    if situation.mwp.is_nan() || situation.mwp <= 0.0 {
        return Err(Refusal::impossible(format!("MWP comes out as {}", situation.mwp)));
    }
    Ok(match reading {
        Reading::AsPrinted => situation.at(situation.case_as_printed(), situation.mwp, reading),
        Reading::Documented => situation.least(),
    })
}

impl Situation {
    fn cwp(&self) -> f64 {
        cwp(cwp_full(self.mem_cycles, self.comp_cycles, self.n), self.n)
    }

    /// MWP_c.
    fn case_mwp(&self, mwp: f64) -> f64 {
        mwp.min(self.n)
    }

    fn case(&self, mwp: f64) -> Case {
        let (mwp, cwp) = (self.case_mwp(mwp), self.cwp());
        if mwp == self.n && cwp == self.n {
            Case::FewWarps
        } else if cwp >= mwp {
            Case::MemoryBound
        } else {
            Case::ComputeBound
        }
    }

    fn case_as_printed(&self) -> Case {
        let cwp = self.cwp();
        if self.mwp == self.n && cwp == self.n {
            Case::FewWarps
        } else if cwp >= self.mwp || self.comp_cycles > self.mem_cycles {
            Case::MemoryBound
        } else {
            Case::ComputeBound
        }
    }

    /// The equation of `case` at `mwp`.
    fn at(&self, case: Case, mwp: f64, reading: Reading) -> Execution {
        let corrected = reading == Reading::Documented;
        let in_flight = if corrected { self.case_mwp(mwp) } else { mwp };
        let others = (in_flight - 1.0).max(0.0);
        // What the other warps of a group compute before their own request.
        let exposed = self.exposed_cycles();
        let staggered = exposed / self.mem_insts.max(1.0) * others;
        let groups = self.mem_cycles * self.n / mwp;
        let (memory, computation) = match case {
            Case::FewWarps if corrected => (groups, exposed + staggered),
            Case::FewWarps => (self.mem_cycles, exposed + staggered),
            Case::MemoryBound => (groups, staggered),
            Case::ComputeBound => (self.mem_l, self.comp_cycles * self.n),
            Case::NoMemory => (0.0, self.comp_cycles * self.n),
        };
        let floor = self.comp_cycles * self.n;
        let on_floor = corrected && case != Case::ComputeBound && memory + computation < floor;
        let (memory, computation) = if on_floor { (0.0, floor) } else { (memory, computation) };
        let synch = |warps: f64, blocks: f64| {
            self.departure_delay * self.synch_insts * blocks * (warps - 1.0).max(0.0) * self.rep
        };
        let (memory, computation) = (memory * self.rep, computation * self.rep);
        let limited = synch(in_flight.min(self.barrier_warps), self.waiting_blocks);
        Execution {
            case,
            mwp_used: mwp,
            total_at_mwp: memory + computation + limited,
            memory,
            computation,
            synch: limited,
            synch_unlimited: synch(in_flight, self.active_blocks),
            on_floor,
        }
    }

    /// Comp_cycles that begin only when the values of loads are there.
    fn exposed_cycles(&self) -> f64 {
        self.comp_cycles - self.hidden_cycles.min(self.comp_cycles).min(self.mem_cycles)
    }

    /// The least time at any MWP from that of one independent load to that of all.
    fn least(&self) -> Execution {
        let mut best = self.at(self.case(self.mwp), self.mwp, Reading::Documented);
        if self.mwp <= self.mwp_one_load {
            return best;
        }
        let mut consider = |case: Case, mwp: f64| {
            let execution = self.at(case, mwp, Reading::Documented);
            // What differs by rounding only is the same.
            if execution.total() < best.total() * (1.0 - 1e-12) {
                best = Execution { total_at_mwp: best.total_at_mwp, ..execution };
            }
        };
        consider(self.case(self.mwp_one_load), self.mwp_one_load);
        // (23) reaches up to the MWP at which the case changes; there and at its own turning points it may be least.
        let last = self.mwp.min(self.cwp());
        if self.mwp_one_load <= last && self.case(self.mwp_one_load) == Case::MemoryBound {
            for mwp in self.turning_points().into_iter().chain([last]) {
                if (self.mwp_one_load..=last).contains(&mwp) {
                    consider(Case::MemoryBound, mwp);
                }
            }
        }
        best
    }

    /// Cycles that each further warp in flight adds to the barriers of a wave.
    fn barrier_cycles(&self) -> f64 {
        self.departure_delay * self.synch_insts * self.waiting_blocks
    }

    /// MWP at which (23) with (26) can be least: where growing and falling part balance, where they begin to grow (no
    /// warp waits for another one up to 1), and where it meets the floor.
    fn turning_points(&self) -> [f64; 5] {
        let growing = self.exposed_cycles() / self.mem_insts.max(1.0);
        let falling = self.mem_cycles * self.n;
        let balance = (falling / growing).sqrt();
        let balance_with_barriers = (falling / (growing + self.barrier_cycles())).sqrt();
        // falling / x + growing * (x - 1) = floor, from above.
        let sum = self.comp_cycles * self.n + growing;
        let root = (sum * sum - 4.0 * growing * falling).max(0.0).sqrt();
        // In this form no digits cancel; below MWP 1 the growing part is 0.
        let floor = 2.0 * falling / (sum + root);
        [1.0, balance, balance_with_barriers, floor, falling / (self.comp_cycles * self.n)]
    }
}

/// What bounds the memory part: whichever of the three limits of MWP is smallest, bandwidth first where they agree.
pub(crate) fn memory_resource(mwp_peak_bw: f64, mwp_without_bw: f64, mwp_by_warps: f64) -> Resource {
    // Where a departure delay is derived from the bandwidth, the two limits differ by rounding only.
    let near = 1.0 + 1e-9;
    if mwp_peak_bw <= near * mwp_without_bw && mwp_peak_bw <= near * mwp_by_warps {
        Resource::DramBandwidth
    } else if mwp_without_bw <= near * mwp_by_warps {
        Resource::MemoryTransactions
    } else {
        Resource::DramLatency
    }
}

/// The terms of an execution, largest resource groups apart; `load` says what the computation consists of.
pub(crate) fn terms(
    execution: &Execution,
    memory: Resource,
    load: Option<&ComputeLoad>,
    readings: &Readings,
) -> Vec<Term> {
    let term = |name, resource, cycles, belongs: fn(Key) -> bool| {
        let read = readings.parameters.iter().map(|read| read.key);
        let parameters = read.filter(|&key| belongs(key)).collect();
        Term { name, resource, cycles: Cycles(cycles), parameters, parts: Vec::new() }
    };
    let conflicts = load.map_or(0.0, |load| load.conflict_cycles);
    let all = load.map_or(0.0, ComputeLoad::cycles);
    let conflict_share = if all > 0.0 { conflicts / all } else { 0.0 };
    let memory = if execution.case == Case::ComputeBound { Resource::DramLatency } else { memory };
    let computation = execution.computation * (1.0 - conflict_share);
    let mut terms = vec![
        term("memory", memory, execution.memory, is_memory_parameter),
        term("computation", Resource::Compute, computation, is_compute_parameter),
    ];
    if let Some(load) = load {
        let per_cycle = if all > conflicts { computation / (all - conflicts) } else { 0.0 };
        let part = |part: &LoadPart| Part { name: part.name.clone(), cycles: Cycles(part.cycles * per_cycle) };
        terms[1].parts = load.parts.iter().map(part).collect();
    }
    if conflict_share > 0.0 {
        let cycles = execution.computation * conflict_share;
        terms.push(term("bank conflicts", Resource::SharedMemory, cycles, is_conflict_parameter));
    }
    if execution.synch > 0.0 {
        terms.push(term("synchronisation", Resource::Barrier, execution.synch, is_memory_parameter));
    }
    terms
}

fn is_memory_parameter(key: Key) -> bool {
    matches!(key.group(), "dram" | "hong_kim" | "limits" | "clock" | "analyzer") || key == Key::SmCount
}

fn is_compute_parameter(key: Key) -> bool {
    matches!(key.group(), "lanes" | "cost" | "expansion") || matches!(key, Key::SmCount | Key::SmIssuePerClk)
}

fn is_conflict_parameter(key: Key) -> bool {
    matches!(key, Key::SharedBanks | Key::LanesLdst | Key::SmCount)
}
