//! The transaction-based MWP-CWP model: Dasgupta, "CUDA Performance Analyzer", Georgia Institute of Technology, 2011.
//!
//! The cases are those of Hong and Kim ([`mwp_cwp`](crate::mwp_cwp)), but memory is counted in transactions of 32, 64 and
//! 128 bytes, so that the model can be fed by an emulator or by a profiler. Two factors, which the thesis sets by hand,
//! come from the profile: how many loads a warp can issue before it needs the first one's value (independent loads), and
//! how many loads in flight fetch the same data and merge (duplicate loads). Merging acts twice: in (27), and in the
//! number of transactions.
//!
//! Symbols: the fields of [`Inputs`] and [`Evaluation`] are the thesis's; functions name its equations.
//!
//! What the thesis leaves open, and the reading here:
//!
//! - The case is chosen with MWP_c = min(MWP, N), and time is continuous and never grows with the independent loads; see
//!   [`mwp_cwp`](crate::mwp_cwp). `as-printed` keeps the thesis.
//! - Barriers cost what (26) of the paper says. From compute capability 2.0 on MWP is limited there to the warps of a
//!   block, which wait for each other; see [`BarrierWarps`].
//! - Loads merge completely, but no further than each distinct sector being moved once. Loads of vectors do not merge.
//! - The fitted departure delays of a machine go with the clock that was fitted with them, which is then the default.
//!
//! Where it breaks: every transaction goes to DRAM, so kernels that live in caches are predicted too slow; lanes of
//! different classes do not overlap; and all warps are served equally.

use warplens_base::units::{Cycles, Hertz};
use warplens_machine::{Key, Machine, Reader, Readings};

use crate::assumption::{self as says, of_machine};
use crate::compute::{ComputeLoad, SlowOperations, compute_load, flat_issue_cycles, slow_cost};
use crate::given::Fields;
use crate::hong_kim::{active_blocks_per_sm, case_assumptions, launch_fields, require_positive};
use crate::mwp_cwp::{Execution, Situation, cwp, cwp_full, execute, memory_resource, terms};
use crate::prediction::Combine;
use crate::residency::{Residency, THREADS_PER_WARP};
use crate::workload::{self, Transactions, Workload};
use crate::{
    Assumption, Given, Input, InputField, Model, Needs, Options, Origin, Prediction, Quantity, Reading, Refusal,
    Resource, Waves,
};

/// The model of Dasgupta.
#[derive(Clone, Copy, Debug)]
pub struct Analyzer;

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
    /// At most those of a block, which wait for each other.
    OfBlock,
}

impl BarrierWarps {
    /// As printed on the GPUs that the papers were written for, and where no GPU is named.
    fn on(machine: Option<&Machine>) -> Self {
        if machine.is_some_and(|machine| machine.cc.major >= 2) { Self::OfBlock } else { Self::InFlight }
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

    /// All equations.
    pub fn evaluate(&self, reading: Reading, waves: Waves) -> Result<Evaluation, Refusal> {
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
        let situation = Situation {
            n: active_warps,
            mwp,
            mwp_one_load: memory.map_or(active_warps, |memory| memory.mwp(one_load)),
            mem_cycles: memory_cycles,
            comp_cycles: self.compute_cycles,
            mem_insts: self.warp_mem,
            mem_l: memory.map_or(0.0, |memory| memory.mem_latency_final),
            departure_delay: memory.map_or(0.0, |memory| memory.dep_delay_per_request),
            synch_insts: self.synch_insts,
            active_blocks: residency.ctas_per_sm,
            barrier_warps: self.barrier_warps.limit(warps_per_block, reading),
            rep,
        };
        let cwp_full = cwp_full(memory_cycles, self.compute_cycles, active_warps);
        Ok(Evaluation {
            residency,
            execution: execute(&situation, reading)?,
            active_warps,
            memory,
            mwp,
            memory_cycles,
            cwp_full,
            cwp: cwp(cwp_full, active_warps),
            rep,
        })
    }

    /// The inputs of a profiled kernel; `load` is its computation.
    fn of_workload(
        workload: &Workload,
        residency: &Residency,
        load: &ComputeLoad,
        reader: &mut Reader<'_>,
    ) -> Result<Self, Refusal> {
        let (transactions, _) = workload.merged();
        Ok(Self {
            threads_per_block: residency.warps_per_cta * THREADS_PER_WARP,
            blocks: residency.ctas,
            active_blocks_per_sm: residency.ctas_per_sm,
            active_sms: residency.active_sms,
            compute_cycles: load.cycles(),
            warp_mem: workload.mem_insts,
            transactions,
            independent_loads: workload.independent_loads,
            duplicate_loads: workload.duplicate_loads,
            synch_insts: workload.barriers,
            barrier_warps: BarrierWarps::on(Some(reader.machine())),
            freq: reader.clock()?,
            total_mem_bandwidth: reader.memory_bandwidth()?,
            base_mem_latency: reader.need(Key::DramLatency)?,
            dep_delay: departure_delays(&transactions, reader)?,
        })
    }

    /// The inputs of a file, the machine supplying what it leaves out.
    fn of_fields(fields: &mut Fields<'_, '_>) -> Self {
        let freq = fields.machine_by("freq", |reader| Ok(reader.tune_clock(Key::AnalyzerClock)?));
        let threads_per_block = fields.required("threads_per_block");
        let duplicate_loads = fields.or("duplicate_loads", 1.0);
        let given = Transactions {
            t32: fields.or("t32", 0.0),
            t64: fields.or("t64", 0.0),
            t128: fields.or("t128", 0.0),
            t32_vector: fields.or("t32_vector", 0.0),
        };
        // Loads of vectors do not merge.
        let merged = Transactions { t32_vector: given.t32_vector, ..given.scaled(1.0 / duplicate_loads.max(1.0)) };
        let mut delay = |name, key, used: f64| {
            if used > 0.0 { fields.machine(name, key) } else { fields.or(name, 0.0) }
        };
        let dep_delay = DepartureDelays {
            d32: delay("dep_delay_32", Key::DramDepartureDelay32, given.t32),
            d64: delay("dep_delay_64", Key::DramDepartureDelay64, given.t64),
            d128: delay("dep_delay_128", Key::DramDepartureDelay128, given.t128),
            d32_vector: delay("dep_delay_vector", Key::DramDepartureDelayVector, given.t32_vector),
        };
        let compute_cycles = match fields.optional("compute_cycles") {
            Some(cycles) => cycles,
            None => compute_cycles(fields),
        };
        Self {
            threads_per_block,
            blocks: fields.required("blocks"),
            active_blocks_per_sm: active_blocks_per_sm(fields, threads_per_block),
            active_sms: fields.machine("active_sms", Key::SmCount),
            compute_cycles,
            warp_mem: fields.or("warp_mem", 0.0),
            transactions: merged,
            independent_loads: fields.or("independent_loads", 1.0),
            duplicate_loads,
            synch_insts: fields.or("synch_insts", 0.0),
            barrier_warps: BarrierWarps::on(fields.machine_named()),
            freq,
            total_mem_bandwidth: fields.machine_by("total_mem_bandwidth", |reader| Ok(reader.memory_bandwidth()?)),
            base_mem_latency: fields.machine("base_mem_latency", Key::DramLatency),
            dep_delay,
        }
    }

    /// Refuses numbers that divide others and are 0, and factors below 1.
    fn check(&self) -> Result<(), Refusal> {
        require_positive(&[
            ("threads_per_block", self.threads_per_block),
            ("blocks", self.blocks),
            ("active_blocks_per_sm", self.active_blocks_per_sm),
            ("active_sms", self.active_sms),
            ("freq", self.freq),
            ("total_mem_bandwidth", self.total_mem_bandwidth),
            ("base_mem_latency", self.base_mem_latency),
        ])?;
        for (name, factor) in [("independent_loads", self.independent_loads), ("duplicate_loads", self.duplicate_loads)]
        {
            if factor < 1.0 {
                return Err(Refusal::impossible(format!("`{name}` is {factor}; it must be at least 1")));
            }
        }
        if self.warp_mem == 0.0 && self.transactions.count() > 0.0 {
            return Err(Refusal::impossible("there are transactions, but `warp_mem` is 0"));
        }
        Ok(())
    }
}

/// Departure delays of the sizes that occur.
fn departure_delays(transactions: &Transactions, reader: &mut Reader<'_>) -> Result<DepartureDelays, Refusal> {
    let mut delay = |count: f64, key| if count > 0.0 { reader.need(key) } else { Ok(0.0) };
    Ok(DepartureDelays {
        d32: delay(transactions.t32, Key::DramDepartureDelay32)?,
        d64: delay(transactions.t64, Key::DramDepartureDelay64)?,
        d128: delay(transactions.t128, Key::DramDepartureDelay128)?,
        d32_vector: delay(transactions.t32_vector, Key::DramDepartureDelayVector)?,
    })
}

/// Compute_cycles of given counts: slow operations and conflicting accesses at their own cost, the rest alike.
fn compute_cycles(fields: &mut Fields<'_, '_>) -> f64 {
    let instructions = fields.required("instructions");
    let issue_cycles = fields.machine_by("issue_cycles", flat_issue_cycles);
    let mut plain = instructions;
    let mut cycles = 0.0;
    for (count_field, cost_field, opcode) in [
        ("sqrt_insts", "sqrt_cycles", "sqrt.f32"),
        ("rsqrt_insts", "rsqrt_cycles", "rsqrt.f32"),
        ("div_insts", "div_cycles", "div.f32"),
    ] {
        let count = fields.or(count_field, 0.0);
        if count > 0.0 {
            let cost = fields.machine_by(cost_field, |reader| {
                let lacking = || Refusal::impossible(format!("{} states no cost of {opcode}", reader.machine().id));
                let refusal = lacking();
                slow_cost(opcode, reader)?.ok_or(refusal)
            });
            plain -= count;
            cycles += count * cost;
        }
    }
    let conflicted = fields.or("conflicted_shared_insts", 0.0);
    if conflicted > 0.0 {
        plain -= conflicted;
        cycles += conflicted * fields.required("conflicted_shared_cycles");
    }
    plain.max(0.0) * issue_cycles + cycles
}

const INPUTS: &[InputField] = launch_fields![
    InputField {
        name: "instructions",
        unit: "",
        origin: Origin::Derived("not needed where `compute_cycles` is given"),
        about: "warp instructions per warp, memory instructions among them",
    },
    InputField {
        name: "compute_cycles",
        unit: "cycles",
        origin: Origin::Derived("`instructions` times `issue_cycles`, slow ones at their own cost"),
        about: "cycles that a warp computes",
    },
    InputField { name: "sqrt_insts", unit: "", origin: Origin::Default(0.0), about: "square roots per warp" },
    InputField {
        name: "rsqrt_insts",
        unit: "",
        origin: Origin::Default(0.0),
        about: "reciprocal square roots per warp"
    },
    InputField { name: "div_insts", unit: "", origin: Origin::Default(0.0), about: "float divisions per warp" },
    InputField {
        name: "sqrt_cycles",
        unit: "cycles",
        origin: Origin::Machine("cost.sqrt_f32"),
        about: "cycles of a square root",
    },
    InputField {
        name: "rsqrt_cycles",
        unit: "cycles",
        origin: Origin::Machine("cost.rsqrt_f32"),
        about: "cycles of a reciprocal square root",
    },
    InputField {
        name: "div_cycles",
        unit: "cycles",
        origin: Origin::Machine("cost.div_f32"),
        about: "cycles of a float division",
    },
    InputField {
        name: "conflicted_shared_insts",
        unit: "",
        origin: Origin::Default(0.0),
        about: "shared-memory accesses with bank conflicts per warp",
    },
    InputField {
        name: "conflicted_shared_cycles",
        unit: "cycles",
        origin: Origin::Derived("needed with `conflicted_shared_insts`"),
        about: "mean cycles of a shared-memory access with bank conflicts",
    },
    InputField {
        name: "warp_mem",
        unit: "",
        origin: Origin::Default(0.0),
        about: "global and local memory requests per warp",
    },
    InputField { name: "t32", unit: "", origin: Origin::Default(0.0), about: "32-byte transactions per warp" },
    InputField { name: "t64", unit: "", origin: Origin::Default(0.0), about: "64-byte transactions per warp" },
    InputField { name: "t128", unit: "", origin: Origin::Default(0.0), about: "128-byte transactions per warp" },
    InputField {
        name: "t32_vector",
        unit: "",
        origin: Origin::Default(0.0),
        about: "32-byte transactions of vector loads per warp",
    },
    InputField {
        name: "independent_loads",
        unit: "",
        origin: Origin::Default(1.0),
        about: "loads that a warp has in flight before it needs the first one's value",
    },
    InputField {
        name: "duplicate_loads",
        unit: "",
        origin: Origin::Default(1.0),
        about: "loads in flight that fetch the same data; divides the transactions of 32, 64 and 128 bytes",
    },
    InputField {
        name: "freq",
        unit: "Hz",
        origin: Origin::Machine("analyzer.clock where stated, else clock.default"),
        about: "clock of the SMs",
    },
    InputField {
        name: "total_mem_bandwidth",
        unit: "B/s",
        origin: Origin::Machine("dram.peak_bandwidth before compute capability 2.0, then dram.achieved_bandwidth"),
        about: "bandwidth of device memory",
    },
    InputField {
        name: "base_mem_latency",
        unit: "cycles",
        origin: Origin::Machine("dram.latency"),
        about: "round trip to device memory",
    },
    InputField {
        name: "dep_delay_32",
        unit: "cycles",
        origin: Origin::Machine("dram.departure_delay_32"),
        about: "distance between two 32-byte transactions",
    },
    InputField {
        name: "dep_delay_64",
        unit: "cycles",
        origin: Origin::Machine("dram.departure_delay_64"),
        about: "distance between two 64-byte transactions",
    },
    InputField {
        name: "dep_delay_128",
        unit: "cycles",
        origin: Origin::Machine("dram.departure_delay_128"),
        about: "distance between two 128-byte transactions",
    },
    InputField {
        name: "dep_delay_vector",
        unit: "cycles",
        origin: Origin::Machine("dram.departure_delay_vector"),
        about: "distance between two 32-byte transactions of vector loads",
    },
];

impl Model for Analyzer {
    fn name(&self) -> &'static str {
        "analyzer"
    }

    fn about(&self) -> &'static str {
        "transaction-based MWP-CWP, with independent and duplicate loads (Dasgupta, CUDA Performance Analyzer, 2011)"
    }

    fn needs(&self) -> Needs {
        Needs::Addresses
    }

    fn options(&self) -> &'static [&'static str] {
        &["as-printed", "whole-waves", "program-order", "l1-off"]
    }

    fn inputs(&self) -> &'static [InputField] {
        INPUTS
    }

    fn predict(&self, input: &Input<'_>, machine: &Machine) -> Result<Prediction, Refusal> {
        let (profile, options) = (input.profile, &input.options);
        let mut reader = Reader::new(machine, options.strictness);
        reader.tune_clock(Key::AnalyzerClock)?;
        let workload = Workload::new(profile, machine.cc, options);
        let residency = Residency::of_launch(&profile.launch, &mut reader)?;
        let load = compute_load(&workload, SlowOperations::OwnCost, &mut reader)?;
        let inputs = Inputs::of_workload(&workload, &residency, &load, &mut reader)?;
        let evaluation = inputs.evaluate(options.reading, options.waves)?;
        let mut assumptions = workload::assumptions(profile, options);
        assumptions.extend(load.assumptions.iter().cloned());
        assumptions.extend(memory_assumptions(&workload, profile.duplicate_share, machine));
        let mut prediction = prediction(&inputs, &evaluation, options, Some(&load), reader.finish(), assumptions)?;
        prediction.coverage = Some(profile.coverage);
        Ok(prediction)
    }

    fn evaluate(&self, given: &Given, machine: Option<&Machine>, options: &Options) -> Result<Prediction, Refusal> {
        crate::check_given(self, given).map_err(|bad| Refusal::impossible(bad.to_string()))?;
        let mut fields = Fields::new(given, machine, options.strictness);
        let inputs = Inputs::of_fields(&mut fields);
        let readings = fields.finish()?;
        inputs.check()?;
        let evaluation = inputs.evaluate(options.reading, options.waves)?;
        prediction(&inputs, &evaluation, options, None, readings, Vec::new())
    }
}

fn memory_assumptions(workload: &Workload, duplicate_share: f64, machine: &Machine) -> Vec<Assumption> {
    let mut sentences = Vec::new();
    if workload.mem_insts == 0.0 {
        return sentences;
    }
    if machine.cc.major >= 2 {
        sentences.push(says::DRAM_ONLY.plain());
    }
    if workload.duplicate_loads > 1.0 {
        sentences.push(says::DUPLICATES.with(format!("factor {:.3}", workload.duplicate_loads)));
        if duplicate_share < 1.0 {
            sentences.push(says::DUPLICATES_SAMPLED.with(format!("{:.2} % of the CTAs", 100.0 * duplicate_share)));
        }
    }
    if workload.merged().1 {
        sentences.push(says::MERGED_FLOOR.plain());
    }
    sentences
}

fn prediction(
    inputs: &Inputs,
    evaluation: &Evaluation,
    options: &Options,
    load: Option<&ComputeLoad>,
    readings: Readings,
    mut assumptions: Vec<Assumption>,
) -> Result<Prediction, Refusal> {
    let execution = &evaluation.execution;
    assumptions.extend(case_assumptions(execution, evaluation.rep, options));
    if evaluation.memory.is_some() && execution.mwp_used < evaluation.mwp {
        let (used, all) = (execution.mwp_used, execution.total_at_mwp);
        assumptions.push(says::FEWER_LOADS.with(format!("MWP {used:.3} in use; all of it: {all:.0} cycles")));
    }
    if execution.synch < execution.synch_unlimited {
        let (limited, printed) = (execution.synch, execution.synch_unlimited);
        assumptions.push(says::BLOCK_BARRIER.with(format!("{limited:.0} cycles; (26) as printed: {printed:.0}")));
    }
    assumptions.extend(of_machine(&readings.assumptions));
    let resource = evaluation.memory.map_or(Resource::DramLatency, |memory| {
        memory_resource(memory.mwp_peak_bandwidth, memory.mwp_without_bw_full, memory.active_warps_for_mwp)
    });
    Prediction {
        model: Analyzer.name(),
        time: Cycles(execution.total()),
        clock: Hertz(inputs.freq),
        terms: terms(execution, resource, load, &readings),
        combine: Combine::Sum,
        quantities: quantities(inputs, evaluation),
        assumptions,
        parameters: readings.parameters,
        coverage: None,
        x_model: None,
    }
    .checked()
}

fn quantities(inputs: &Inputs, evaluation: &Evaluation) -> Vec<Quantity> {
    let number = |name, value| Quantity { name, value, unit: "" };
    let cycles = |name, value| Quantity { name, value, unit: "cycles" };
    let residency = &evaluation.residency;
    let execution = &evaluation.execution;
    let transactions = &inputs.transactions;
    let mut quantities = vec![
        number("Active_blocks_per_SM", residency.ctas_per_sm),
        number("Active_SMs", residency.active_sms),
        number("Active_warps_per_SM", evaluation.active_warps),
        number("Rep", evaluation.rep),
        number("warp_mem", inputs.warp_mem),
        number("Synch_insts", inputs.synch_insts),
    ];
    if let Some(memory) = &evaluation.memory {
        quantities.extend([
            number("t32", transactions.t32 + transactions.t32_vector),
            number("t64", transactions.t64),
            number("t128", transactions.t128),
            number("Independent_loads", inputs.independent_loads),
            number("Duplicate_loads", inputs.duplicate_loads),
            Quantity { name: "Data_per_request", value: memory.data_per_request, unit: "B" },
            Quantity { name: "bandwidth_per_warp", value: memory.bandwidth_per_warp, unit: "B/s" },
            number("MWP_peak_bandwidth", memory.mwp_peak_bandwidth),
            number("num_trans_per_request", memory.num_trans_per_request),
            cycles("avg_dep_delay_per_tran", memory.avg_dep_delay_per_tran),
            cycles("mem_latency_final", memory.mem_latency_final),
            cycles("dep_delay_per_request", memory.dep_delay_per_request),
            number("MWP_without_BW_full", memory.mwp_without_bw_full),
            number("Active_warps_for_MWP", memory.active_warps_for_mwp),
        ]);
    }
    quantities.extend([
        number("MWP", evaluation.mwp),
        cycles("Memory_cycles", evaluation.memory_cycles),
        cycles("Compute_cycles", inputs.compute_cycles),
        number("CWP_full", evaluation.cwp_full),
        number("CWP", evaluation.cwp),
        number("Case", f64::from(execution.case.equation())),
        cycles("Exec_cycles", execution.exec()),
        cycles("Synch_cost", execution.synch),
        cycles("Exec_with_synch_cost", execution.total()),
    ]);
    quantities
}
