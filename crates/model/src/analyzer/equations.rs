//! The equations of the transaction-based model, on plain numbers.

use warplens_machine::Machine;

use crate::mwp_cwp::{Execution, Situation, cwp, cwp_full, execute};
use crate::residency::{Residency, THREADS_PER_WARP};
use crate::workload::Transactions;
use crate::{Reading, Refusal, Waves};

/// What the equations take, all per warp unless said otherwise.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Inputs {
    /// Threads of a block.
    pub threads_per_block: f64,
    /// Blocks of the grid.
    pub blocks: f64,
    /// Resident blocks of an SM, before a small grid lowers them.
    pub active_blocks_per_sm: f64,
    /// SMs of the machine, before a small grid lowers them.
    pub active_sms: f64,
    /// Compute_cycles: cycles to issue and execute all instructions.
    pub compute_cycles: f64,
    /// Of those, cycles that special functions and other instructions can at most share; 0 in the thesis.
    pub special_overlap: f64,
    /// Share of the computation that stands between a load and the first use of its value; 0 in the thesis.
    pub in_warp_overlap: f64,
    /// Memory requests.
    pub warp_mem: f64,
    /// Transactions after merging.
    pub transactions: Transactions,
    /// Loads in flight before the first one's value is needed, at least 1.
    pub independent_loads: f64,
    /// Loads in flight that fetch the same data, at least 1.
    pub duplicate_loads: f64,
    /// Barriers.
    pub synch_insts: f64,
    /// Which warps count in the cost of a barrier.
    pub barrier_warps: BarrierWarps,
    /// SM clock in hertz.
    pub freq: f64,
    /// Bandwidth of device memory in bytes per second.
    pub total_mem_bandwidth: f64,
    /// Round trip to device memory in cycles.
    pub base_mem_latency: f64,
    /// Cycles between two transactions.
    pub dep_delay: DepartureDelays,
}

/// Which warps count as MWP in (26), the cost of a barrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BarrierWarps {
    /// All that are in flight, as printed.
    InFlight,
    /// At most those of one block, which wait for each other while the SM's other blocks go on.
    OfBlock,
}

impl BarrierWarps {
    /// As printed on the GPUs that the papers were written for, and where no GPU is named.
    pub(super) fn on(machine: Option<&Machine>) -> Self {
        if machine.is_some_and(|machine| machine.cc.major >= 2) { Self::OfBlock } else { Self::InFlight }
    }

    /// Blocks of `resident` ones that cost the SM time when they wait: the others go on computing meanwhile.
    fn waiting_blocks(self, resident: f64, reading: Reading) -> f64 {
        match (self, reading) {
            (Self::OfBlock, Reading::Documented) => resident.min(1.0),
            (Self::InFlight, _) | (_, Reading::AsPrinted) => resident,
        }
    }

    /// The largest MWP that counts.
    fn limit(self, warps_per_block: f64, reading: Reading) -> f64 {
        match (self, reading) {
            (Self::OfBlock, Reading::Documented) => warps_per_block,
            (Self::InFlight, _) | (_, Reading::AsPrinted) => f64::INFINITY,
        }
    }
}

/// Cycles between two transactions of one SM, by their size.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct DepartureDelays {
    /// Of 32 bytes.
    pub d32: f64,
    /// Of 64 bytes.
    pub d64: f64,
    /// Of 128 bytes.
    pub d128: f64,
    /// Of 32 bytes, by loads of vectors.
    pub d32_vector: f64,
}

/// What the equations give.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Evaluation {
    /// Blocks and SMs as far as the grid fills them.
    pub residency: Residency,
    /// The three cases, with the cost of barriers.
    pub execution: Execution,
    /// Active_warps_per_SM.
    pub active_warps: f64,
    /// MWP and what it follows from; none without a request.
    pub memory: Option<MemoryParallelism>,
    /// (28), Active_warps_per_SM without a request.
    pub mwp: f64,
    /// Memory_cycles.
    pub memory_cycles: f64,
    /// Compute_cycles, less what special functions share with other instructions.
    pub compute_cycles: f64,
    /// Of those, what is computed while the warp's own loads are on their way.
    pub hidden_cycles: f64,
    /// (29)
    pub cwp_full: f64,
    /// (30)
    pub cwp: f64,
    /// Rep.
    pub rep: f64,
}

/// What MWP follows from.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MemoryParallelism {
    /// (16), in bytes
    pub data_per_request: f64,
    /// (17), in bytes per second
    pub bandwidth_per_warp: f64,
    /// (18)
    pub mwp_peak_bandwidth: f64,
    /// (19)
    pub num_trans_per_request: f64,
    /// (20) to (23)
    pub avg_dep_delay_per_tran: f64,
    /// (24)
    pub mem_latency_final: f64,
    /// (25)
    pub dep_delay_per_request: f64,
    /// (26)
    pub mwp_without_bw_full: f64,
    /// (27)
    pub active_warps_for_mwp: f64,
}

impl MemoryParallelism {
    /// (28) with the given number of warps for MWP.
    pub fn mwp(&self, active_warps_for_mwp: f64) -> f64 {
        self.mwp_peak_bandwidth.min(self.mwp_without_bw_full).min(active_warps_for_mwp)
    }
}

/// (20) to (23): the mean departure delay of a transaction.
pub fn avg_dep_delay_per_tran(transactions: &Transactions, delay: &DepartureDelays) -> f64 {
    let weighted = transactions.t32 * delay.d32
        + transactions.t64 * delay.d64
        + transactions.t128 * delay.d128
        + transactions.t32_vector * delay.d32_vector;
    let count = transactions.count();
    if count > 0.0 { weighted / count } else { 0.0 }
}

/// (24) mem_latency_final.
pub fn mem_latency_final(base_mem_latency: f64, num_trans_per_request: f64, avg_dep_delay_per_tran: f64) -> f64 {
    base_mem_latency + (num_trans_per_request - 1.0) * avg_dep_delay_per_tran
}

/// (17) bandwidth_per_warp.
pub fn bandwidth_per_warp(data_per_request: f64, freq: f64, mem_latency: f64) -> f64 {
    data_per_request * freq / mem_latency
}

/// (18) MWP_peak_bandwidth.
pub fn mwp_peak_bandwidth(total_mem_bandwidth: f64, bandwidth_per_warp: f64, active_sms: f64) -> f64 {
    total_mem_bandwidth / (bandwidth_per_warp * active_sms)
}

/// (27) Active_warps_for_MWP.
pub fn active_warps_for_mwp(active_warps_per_sm: f64, independent_loads: f64, duplicate_loads: f64) -> f64 {
    active_warps_per_sm * independent_loads / duplicate_loads
}

/// Of `ideal` loads of the same data in flight, how many merge where `occupancy` of an SM's warps are resident.
///
/// The thesis sets this factor by hand: at most the number of warps of a block, lower at high occupancy, because the
/// queue of the memory controller then holds requests of several blocks, and higher with more threads per block. This
/// rule has these properties and no constant. For the FMM kernels, with two warps per block, it gives 1.5 at an occupancy
/// of 0.5 and 1.625 at 0.375; the MWP that the thesis prints imply 1.56 and 1.45, and 1.63.
pub fn effective_duplicate_loads(ideal: f64, warps_per_block: f64, occupancy: f64) -> f64 {
    1.0 + (ideal.min(warps_per_block) - 1.0).max(0.0) * (1.0 - occupancy).clamp(0.0, 1.0)
}

impl Inputs {
    /// (16) to (27); none without a request.
    pub fn memory_parallelism(&self, active_warps: f64, active_sms: f64) -> Option<MemoryParallelism> {
        if self.warp_mem == 0.0 {
            return None;
        }
        let data_per_request = self.transactions.bytes() / self.warp_mem;
        let num_trans_per_request = self.transactions.count() / self.warp_mem;
        let avg_dep_delay_per_tran = avg_dep_delay_per_tran(&self.transactions, &self.dep_delay);
        let mem_latency_final = mem_latency_final(self.base_mem_latency, num_trans_per_request, avg_dep_delay_per_tran);
        let dep_delay_per_request = num_trans_per_request * avg_dep_delay_per_tran;
        let bandwidth_per_warp = bandwidth_per_warp(data_per_request, self.freq, mem_latency_final);
        let active_warps_for_mwp = active_warps_for_mwp(active_warps, self.independent_loads, self.duplicate_loads);
        // Where nothing is moved or delayed, the warps alone limit how many requests are in flight.
        let or_warps = |limits: bool, limit: f64| if limits { limit } else { active_warps_for_mwp };
        Some(MemoryParallelism {
            data_per_request,
            bandwidth_per_warp,
            mwp_peak_bandwidth: or_warps(
                bandwidth_per_warp > 0.0,
                mwp_peak_bandwidth(self.total_mem_bandwidth, bandwidth_per_warp, active_sms),
            ),
            num_trans_per_request,
            avg_dep_delay_per_tran,
            mem_latency_final,
            dep_delay_per_request,
            mwp_without_bw_full: or_warps(dep_delay_per_request > 0.0, mem_latency_final / dep_delay_per_request),
            active_warps_for_mwp,
        })
    }

    /// All equations. As printed there are no overlaps; otherwise they are used only where that takes less time: the
    /// cases lie above each other where they meet, so that less computation can lead into a slower one.
    pub fn evaluate(&self, reading: Reading, waves: Waves) -> Result<Evaluation, Refusal> {
        let plain = self.evaluate_with(0.0, 0.0, reading, waves)?;
        if reading == Reading::AsPrinted {
            return Ok(plain);
        }
        let mut least = plain;
        for (special, in_warp) in
            [(self.special_overlap, 0.0), (0.0, self.in_warp_overlap), (self.special_overlap, self.in_warp_overlap)]
        {
            if special > 0.0 || in_warp > 0.0 {
                let other = self.evaluate_with(special, in_warp, reading, waves)?;
                least = if other.execution.total() < least.execution.total() { other } else { least };
            }
        }
        Ok(least)
    }

    fn evaluate_with(
        &self,
        special_overlap: f64,
        in_warp_overlap: f64,
        reading: Reading,
        waves: Waves,
    ) -> Result<Evaluation, Refusal> {
        let warps_per_block = (self.threads_per_block / THREADS_PER_WARP).ceil();
        let residency = Residency::new(self.blocks, warps_per_block, self.active_blocks_per_sm, self.active_sms);
        let active_warps = residency.warps();
        let memory = self.memory_parallelism(active_warps, residency.active_sms);
        if let Some(memory) = memory.filter(|memory| memory.mem_latency_final <= 0.0) {
            return Err(Refusal::impossible(format!("mem_latency_final comes out as {}", memory.mem_latency_final)));
        }
        let mwp = memory.map_or(active_warps, |memory| memory.mwp(memory.active_warps_for_mwp));
        let one_load = active_warps_for_mwp(active_warps, self.independent_loads.min(1.0), self.duplicate_loads);
        let memory_cycles = memory.map_or(0.0, |memory| memory.mem_latency_final * self.warp_mem);
        let rep = residency.waves(waves);
        // A warp alone has nothing to put beside its special functions; the last of several has to finish its own.
        let compute_cycles = self.compute_cycles - special_overlap * (1.0 - 1.0 / active_warps.max(1.0));
        let hidden_cycles = (in_warp_overlap * compute_cycles).min(memory_cycles);
        let situation = Situation {
            n: active_warps,
            mwp,
            mwp_one_load: memory.map_or(active_warps, |memory| memory.mwp(one_load)),
            mem_cycles: memory_cycles,
            comp_cycles: compute_cycles,
            hidden_cycles,
            mem_insts: self.warp_mem,
            mem_l: memory.map_or(0.0, |memory| memory.mem_latency_final),
            departure_delay: memory.map_or(0.0, |memory| memory.dep_delay_per_request),
            synch_insts: self.synch_insts,
            active_blocks: residency.ctas_per_sm,
            barrier_warps: self.barrier_warps.limit(warps_per_block, reading),
            waiting_blocks: self.barrier_warps.waiting_blocks(residency.ctas_per_sm, reading),
            rep,
        };
        let cwp_full = cwp_full(memory_cycles, compute_cycles, active_warps);
        Ok(Evaluation {
            residency,
            execution: execute(&situation, reading)?,
            active_warps,
            memory,
            mwp,
            memory_cycles,
            compute_cycles,
            hidden_cycles,
            cwp_full,
            cwp: cwp(cwp_full, active_warps),
            rep,
        })
    }
}
