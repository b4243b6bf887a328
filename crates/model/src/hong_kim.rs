//! MWP-CWP: Hong and Kim, "An Analytical Model for a GPU Architecture with Memory-level and Thread-level Parallelism
//! Awareness", ISCA 2009.
//!
//! One SM runs N warps. MWP is how many of them can have memory requests in flight together, CWP how many can compute
//! within one memory period, plus one; the smaller of the two tells what bounds the kernel.
//!
//! Symbols: the fields of [`Inputs`] and [`Evaluation`] are the paper's, in snake case; functions name their equation.
//! The cases (22) to (24), and the corrections of their misprints, are in [`mwp_cwp`](crate::mwp_cwp).
//!
//! What the paper leaves open:
//!
//! - Without a memory instruction the weights are 0/0; then MWP is N and the time is that of N computations.
//! - A grid that does not fill the machine takes a whole wave: Rep is at least 1, with the resident blocks and SMs
//!   lowered to what the grid fills.
//! - From compute capability 2.0 on Comp_cycles is the sum over instruction classes ([`compute`](crate::compute)),
//!   expressed as the mean Issue_cycles; and a coalesced request may make several transactions, Coal_per_mw. Before,
//!   Coal_per_mw is 1 and the equations are the paper's.
//!
//! Where it breaks: caches, bank conflicts of cc 1.x operands, and unequal service of warps by the memory are not in it;
//! kernels whose MWP lies near CWP are sensitive to either.

use warplens_base::units::{Cycles, Hertz};
use warplens_machine::{Key, Machine, Reader, Readings};
use warplens_stats::Count;

use crate::assumption::{AssumptionId, of_machine};
use crate::compute::{ComputeLoad, SlowOperations, compute_load, flat_issue_cycles};
use crate::demand::{self, Demand};
use crate::given::{Fields, MEMORY_BANDWIDTH};
use crate::mwp_cwp::{Execution, Situation, cwp, cwp_full, execute, memory_resource, terms};
use crate::prediction::Combine;
use crate::residency::{Residency, THREADS_PER_WARP, fitting_ctas};
use crate::scenario::EffectId;
use crate::workload::{self, Workload};
use crate::{
    Assumption, Given, Input, InputField, Model, ModelId, Needs, OptionId, Options, Origin, Prediction, Quantity,
    Reading, Refusal, Symbol, Unit, Waves,
};

/// The model of Hong and Kim.
#[derive(Clone, Copy, Debug)]
pub struct HongKim;

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
    /// Computation instructions; shared, constant and texture accesses and barriers among them.
    pub comp_insts: f64,
    /// Uncoalesced memory instructions.
    pub uncoal_mem_insts: f64,
    /// Coalesced memory instructions.
    pub coal_mem_insts: f64,
    /// Barriers.
    pub synch_insts: f64,
    /// Transactions of an uncoalesced memory instruction.
    pub uncoal_per_mw: f64,
    /// Transactions of a coalesced memory instruction.
    pub coal_per_mw: f64,
    /// Bytes that a memory instruction asks for.
    pub load_bytes_per_warp: f64,
    /// Cycles per instruction.
    pub issue_cycles: f64,
    /// SM clock in hertz.
    pub freq: f64,
    /// Bandwidth of device memory in bytes per second.
    pub mem_bandwidth: f64,
    /// Round trip to device memory in cycles.
    pub mem_ld: f64,
    /// Cycles between two uncoalesced transactions.
    pub departure_del_uncoal: f64,
    /// Cycles between two coalesced transactions.
    pub departure_del_coal: f64,
}

/// What the equations give.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Evaluation {
    /// Blocks and SMs as far as the grid fills them.
    pub residency: Residency,
    /// Cases (22) to (24), with (26).
    pub execution: Execution,
    /// Comp_insts + Mem_insts.
    pub total_insts: f64,
    /// Uncoal_Mem_insts + Coal_Mem_insts.
    pub mem_insts: f64,
    /// N.
    pub n: f64,
    /// MWP and what it follows from; none without a memory instruction.
    pub memory: Option<MemoryParallelism>,
    /// (5), N without a memory instruction.
    pub mwp: f64,
    /// (18)
    pub mem_cycles: f64,
    /// (19)
    pub comp_cycles: f64,
    /// (8)
    pub cwp_full: f64,
    /// (9)
    pub cwp: f64,
    /// (21)
    pub rep: f64,
    /// (25)
    pub cpi: f64,
}

/// What MWP follows from.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MemoryParallelism {
    /// (10)
    pub mem_l_uncoal: f64,
    /// (11)
    pub mem_l_coal: f64,
    /// (12)
    pub mem_l: f64,
    /// (13)
    pub weight_uncoal: f64,
    /// (14)
    pub weight_coal: f64,
    /// (15)
    pub departure_delay: f64,
    /// (16)
    pub mwp_without_bw_full: f64,
    /// (17)
    pub mwp_without_bw: f64,
    /// (7), in bytes per second
    pub bw_per_warp: f64,
    /// (6)
    pub mwp_peak_bw: f64,
}

/// (10) and (11): the latency of an instruction of `per_mw` transactions.
pub fn mem_l(mem_ld: f64, per_mw: f64, departure_del: f64) -> f64 {
    mem_ld + (per_mw - 1.0) * departure_del
}

/// (13) and (14): the weight of `insts` among the memory instructions.
pub fn weight(insts: f64, mem_insts: f64) -> f64 {
    insts / mem_insts
}

/// (16) MWP_Without_BW_full.
pub fn mwp_without_bw_full(mem_l: f64, departure_delay: f64, n: f64) -> f64 {
    // Without any delay between requests only the warps limit how many are in flight.
    if departure_delay > 0.0 { mem_l / departure_delay } else { n }
}

/// (7) BW_per_warp.
pub fn bw_per_warp(freq: f64, load_bytes_per_warp: f64, mem_l: f64) -> f64 {
    freq * load_bytes_per_warp / mem_l
}

/// (6) MWP_peak_BW.
pub fn mwp_peak_bw(mem_bandwidth: f64, bw_per_warp: f64, active_sms: f64) -> f64 {
    mem_bandwidth / (bw_per_warp * active_sms)
}

/// (25) CPI.
pub fn cpi(exec: f64, total_insts: f64, residency: &Residency) -> f64 {
    let warps_per_sm = residency.warps_per_cta * residency.ctas / residency.active_sms;
    if total_insts > 0.0 { exec / (total_insts * warps_per_sm) } else { 0.0 }
}

impl Inputs {
    /// (6), (7) and (10) to (17); none without a memory instruction.
    pub fn memory_parallelism(&self, n: f64, active_sms: f64) -> Option<MemoryParallelism> {
        let mem_insts = self.uncoal_mem_insts + self.coal_mem_insts;
        if mem_insts == 0.0 {
            return None;
        }
        let mem_l_uncoal = mem_l(self.mem_ld, self.uncoal_per_mw, self.departure_del_uncoal);
        let mem_l_coal = mem_l(self.mem_ld, self.coal_per_mw, self.departure_del_coal);
        let weight_uncoal = weight(self.uncoal_mem_insts, mem_insts);
        let weight_coal = weight(self.coal_mem_insts, mem_insts);
        let mem_l = mem_l_uncoal * weight_uncoal + mem_l_coal * weight_coal;
        let departure_delay = self.departure_del_uncoal * self.uncoal_per_mw * weight_uncoal
            + self.departure_del_coal * self.coal_per_mw * weight_coal;
        let mwp_without_bw_full = mwp_without_bw_full(mem_l, departure_delay, n);
        let bw_per_warp = bw_per_warp(self.freq, self.load_bytes_per_warp, mem_l);
        Some(MemoryParallelism {
            mem_l_uncoal,
            mem_l_coal,
            mem_l,
            weight_uncoal,
            weight_coal,
            departure_delay,
            mwp_without_bw_full,
            mwp_without_bw: mwp_without_bw_full.min(n),
            bw_per_warp,
            // Instructions whose lanes are all off ask for nothing.
            mwp_peak_bw: if bw_per_warp > 0.0 { mwp_peak_bw(self.mem_bandwidth, bw_per_warp, active_sms) } else { n },
        })
    }

    /// All equations.
    pub fn evaluate(&self, reading: Reading, waves: Waves) -> Result<Evaluation, Refusal> {
        let warps_per_block = (self.threads_per_block / THREADS_PER_WARP).ceil();
        let residency = Residency::new(self.blocks, warps_per_block, self.active_blocks_per_sm, self.active_sms);
        let n = residency.warps();
        let mem_insts = self.uncoal_mem_insts + self.coal_mem_insts;
        let total_insts = self.comp_insts + mem_insts;
        let memory = self.memory_parallelism(n, residency.active_sms);
        let mwp = memory.map_or(n, |memory| memory.mwp_without_bw.min(memory.mwp_peak_bw).min(n));
        let mem_cycles = memory.map_or(0.0, |memory| {
            memory.mem_l_uncoal * self.uncoal_mem_insts + memory.mem_l_coal * self.coal_mem_insts
        });
        let comp_cycles = self.issue_cycles * total_insts;
        let cwp_full = cwp_full(mem_cycles, comp_cycles, n);
        let rep = residency.waves(waves);
        let situation = Situation {
            n,
            mwp,
            mwp_one_load: mwp,
            mem_cycles,
            comp_cycles,
            hidden_cycles: 0.0,
            mem_insts,
            mem_l: memory.map_or(0.0, |memory| memory.mem_l),
            departure_delay: memory.map_or(0.0, |memory| memory.departure_delay),
            synch_insts: self.synch_insts,
            active_blocks: residency.ctas_per_sm,
            barrier_warps: f64::INFINITY,
            waiting_blocks: residency.ctas_per_sm,
            rep,
        };
        let execution = execute(&situation, reading)?;
        Ok(Evaluation {
            residency,
            execution,
            total_insts,
            mem_insts,
            n,
            memory,
            mwp,
            mem_cycles,
            comp_cycles,
            cwp_full,
            cwp: cwp(cwp_full, n),
            rep,
            cpi: cpi(execution.exec(), total_insts, &residency),
        })
    }

    /// The inputs of a profiled kernel; also what its computation consists of.
    fn of_workload(
        workload: &Workload,
        residency: &Residency,
        options: &Options,
        reader: &mut Reader<'_>,
    ) -> Result<(Self, ComputeLoad), Refusal> {
        let cc = reader.machine().cc;
        let printed = options.reading == Reading::AsPrinted;
        let mut load = compute_load(workload, SlowOperations::AsOthers, reader)?;
        if printed && cc.major < 2 {
            load.conflict_cycles = 0.0;
        }
        let mean = |sum: f64, count: f64| if count > 0.0 { sum / count } else { 0.0 };
        let strict_coalescing = (cc.major, cc.minor) < (1, 2);
        let inputs = Self {
            threads_per_block: residency.warps_per_cta * THREADS_PER_WARP,
            blocks: residency.ctas,
            active_blocks_per_sm: residency.ctas_per_sm,
            active_sms: residency.active_sms,
            comp_insts: (workload.total_insts - workload.mem_insts).max(0.0),
            uncoal_mem_insts: workload.uncoalesced,
            coal_mem_insts: workload.coalesced,
            synch_insts: workload.barriers,
            uncoal_per_mw: if strict_coalescing { 32.0 } else { workload.transactions_per_uncoalesced },
            coal_per_mw: if printed || cc.major < 2 { 1.0 } else { workload.transactions_per_coalesced },
            load_bytes_per_warp: mean(workload.bytes_requested, workload.mem_insts),
            issue_cycles: mean(load.cycles(), workload.total_insts),
            freq: reader.clock()?,
            mem_bandwidth: reader.memory_bandwidth()?,
            mem_ld: reader.need(Key::DramLatency)?,
            departure_del_uncoal: reader.need(Key::HongKimDepartureDelayUncoalesced)?,
            departure_del_coal: reader.need(Key::HongKimDepartureDelayCoalesced)?,
        };
        Ok((inputs, load))
    }

    /// The inputs of a file, the machine supplying what it leaves out.
    fn of_fields(fields: &mut Fields<'_, '_>) -> Self {
        let threads_per_block = fields.required("threads_per_block");
        Self {
            threads_per_block,
            blocks: fields.required("blocks"),
            active_blocks_per_sm: active_blocks_per_sm(fields, threads_per_block),
            active_sms: fields.machine("active_sms", Key::SmCount),
            comp_insts: fields.required("comp_insts"),
            uncoal_mem_insts: fields.or("uncoal_mem_insts", 0.0),
            coal_mem_insts: fields.or("coal_mem_insts", 0.0),
            synch_insts: fields.or("synch_insts", 0.0),
            uncoal_per_mw: fields.or("uncoal_per_mw", 32.0),
            coal_per_mw: fields.or("coal_per_mw", 1.0),
            load_bytes_per_warp: fields.or("load_bytes_per_warp", 128.0),
            issue_cycles: fields.machine_by("issue_cycles", flat_issue_cycles),
            freq: fields.machine_by("freq", |reader| Ok(reader.clock()?)),
            mem_bandwidth: fields.machine_by("mem_bandwidth", |reader| Ok(reader.memory_bandwidth()?)),
            mem_ld: fields.machine("mem_ld", Key::DramLatency),
            departure_del_uncoal: fields.machine("departure_del_uncoal", Key::HongKimDepartureDelayUncoalesced),
            departure_del_coal: fields.machine("departure_del_coal", Key::HongKimDepartureDelayCoalesced),
        }
    }
}

/// Resident blocks as given, or as registers and shared memory allow.
pub(crate) fn active_blocks_per_sm(fields: &mut Fields<'_, '_>, threads_per_block: f64) -> f64 {
    let registers = fields.optional("registers_per_thread");
    let shared = fields.or("shared_bytes_per_block", 0.0);
    let Some(registers) = registers else {
        if let Some(given) = fields.optional("active_blocks_per_sm") {
            return given;
        }
        let reason = "the input gives neither `active_blocks_per_sm` nor `registers_per_thread`".to_owned();
        return fields.lack("active_blocks_per_sm", reason);
    };
    fields.machine_by("active_blocks_per_sm", |reader| {
        fitting_ctas(threads_per_block as u64, registers as u32, shared as u64, reader)
    })
}

/// Fields that the input files of both MWP-CWP models share.
macro_rules! launch_fields {
    ($($more:expr,)*) => {
        &[
            InputField { name: "threads_per_block", unit: Unit::One, origin: Origin::Required, about: "threads of a block" },
            InputField { name: "blocks", unit: Unit::One, origin: Origin::Required, about: "blocks of the grid" },
            InputField {
                name: "active_blocks_per_sm",
                unit: Unit::One,
                origin: Origin::Derived("occupancy, from `registers_per_thread` and `shared_bytes_per_block`"),
                about: "resident blocks of an SM, lowered where the grid is too small to fill them",
            },
            InputField {
                name: "registers_per_thread",
                unit: Unit::One,
                origin: Origin::Derived("not needed where `active_blocks_per_sm` is given"),
                about: "registers of a thread, for the occupancy",
            },
            InputField {
                name: "shared_bytes_per_block",
                unit: Unit::Bytes,
                origin: Origin::Default(0.0),
                about: "shared memory of a block, for the occupancy",
            },
            InputField {
                name: "active_sms",
                unit: Unit::One,
                origin: Origin::Machine(Key::SmCount),
                about: "SMs, lowered where the grid has fewer blocks",
            },
            InputField {
                name: "issue_cycles",
                unit: Unit::Cycles,
                origin: Origin::MachineBy(&[], "4 before compute capability 2.0; must be given from 2.0 on"),
                about: "cycles per warp instruction",
            },
            InputField {
                name: "synch_insts",
                unit: Unit::One,
                origin: Origin::Default(0.0),
                about: "barriers per warp; they are among the instructions, too",
            },
            $($more,)*
        ]
    };
}
pub(crate) use launch_fields;

const INPUTS: &[InputField] = launch_fields![
    InputField {
        name: "comp_insts",
        unit: Unit::One,
        origin: Origin::Required,
        about: "instructions per warp that are no global or local memory access",
    },
    InputField {
        name: "uncoal_mem_insts",
        unit: Unit::One,
        origin: Origin::Default(0.0),
        about: "uncoalesced memory instructions per warp",
    },
    InputField {
        name: "coal_mem_insts",
        unit: Unit::One,
        origin: Origin::Default(0.0),
        about: "coalesced memory instructions per warp",
    },
    InputField {
        name: "uncoal_per_mw",
        unit: Unit::One,
        origin: Origin::Default(32.0),
        about: "transactions of an uncoalesced memory instruction",
    },
    InputField {
        name: "coal_per_mw",
        unit: Unit::One,
        origin: Origin::Default(1.0),
        about: "transactions of a coalesced memory instruction",
    },
    InputField {
        name: "load_bytes_per_warp",
        unit: Unit::Bytes,
        origin: Origin::Default(128.0),
        about: "bytes that a warp asks for per memory instruction",
    },
    InputField {
        name: "freq",
        unit: Unit::Hertz,
        origin: Origin::Machine(Key::ClockDefault),
        about: "clock of the SMs"
    },
    InputField {
        name: "mem_bandwidth",
        unit: Unit::BytesPerSecond,
        origin: MEMORY_BANDWIDTH,
        about: "bandwidth of device memory",
    },
    InputField {
        name: "mem_ld",
        unit: Unit::Cycles,
        origin: Origin::Machine(Key::DramLatency),
        about: "round trip to device memory",
    },
    InputField {
        name: "departure_del_uncoal",
        unit: Unit::Cycles,
        origin: Origin::Machine(Key::HongKimDepartureDelayUncoalesced),
        about: "distance between two uncoalesced transactions",
    },
    InputField {
        name: "departure_del_coal",
        unit: Unit::Cycles,
        origin: Origin::Machine(Key::HongKimDepartureDelayCoalesced),
        about: "distance between two coalesced transactions",
    },
];

impl Model for HongKim {
    fn id(&self) -> ModelId {
        ModelId::HongKim
    }

    fn about(&self) -> &'static str {
        "MWP-CWP: memory and computation warp parallelism from coalesced and uncoalesced requests (Hong and Kim, ISCA 2009)"
    }

    fn rank_reason(&self) -> &'static str {
        "it charges transactions, bank conflicts and barriers, but takes every load to wait by itself"
    }

    fn effects(&self) -> &'static [EffectId] {
        &[
            EffectId::Uncoalesced,
            EffectId::BankConflicts,
            EffectId::Divergence,
            EffectId::RepeatedLoads,
            EffectId::Synchronisation,
            EffectId::MemoryLatency,
            EffectId::MemoryBandwidth,
        ]
    }

    fn needs(&self) -> Needs {
        Needs::Addresses
    }

    fn options(&self) -> &'static [OptionId] {
        &[OptionId::AsPrinted, OptionId::WholeWaves, OptionId::L1Off]
    }

    fn inputs(&self) -> &'static [InputField] {
        INPUTS
    }

    fn predict(&self, input: &Input<'_>, machine: &Machine) -> Result<Prediction, Refusal> {
        let (profile, options) = (input.profile, &input.options);
        let demand = Demand {
            needed: &[
                demand::instructions(machine),
                Count::Registers,
                Count::SharedBytes,
                Count::GlobalRequests,
                Count::GlobalCoalesced,
                Count::GlobalBytes,
            ],
            refining: &[
                Count::Barriers,
                Count::HighLatency,
                Count::SharedRequests,
                Count::SharedWavefronts,
                Count::LocalRequests,
                Count::LocalCoalesced,
                Count::LocalBytes,
            ],
        };
        let left_out = demand.check(profile, machine, options)?;
        let mut reader = Reader::new(machine, options.strictness);
        let workload = Workload::new(profile, machine.cc, options);
        let residency = Residency::of_launch(&profile.launch, &mut reader)?;
        let (inputs, load) = Inputs::of_workload(&workload, &residency, options, &mut reader)?;
        let evaluation = inputs.evaluate(options.reading, options.waves)?;
        let mut assumptions = workload::assumptions(profile, options);
        assumptions.extend(left_out);
        assumptions.extend(load.assumptions.iter().cloned());
        if evaluation.memory.is_some() {
            assumptions.extend(memory_assumptions(machine));
        }
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

impl Inputs {
    /// Refuses numbers that divide others and are 0.
    fn check(&self) -> Result<(), Refusal> {
        require_positive(&[
            ("threads_per_block", self.threads_per_block),
            ("blocks", self.blocks),
            ("active_blocks_per_sm", self.active_blocks_per_sm),
            ("active_sms", self.active_sms),
            ("freq", self.freq),
            ("mem_ld", self.mem_ld),
            ("mem_bandwidth", self.mem_bandwidth),
        ])
    }
}

/// Refuses the first of `numbers` that is not positive.
pub(crate) fn require_positive(numbers: &[(&str, f64)]) -> Result<(), Refusal> {
    match numbers.iter().find(|(_, number)| *number <= 0.0) {
        Some((name, number)) => Err(Refusal::impossible(format!("`{name}` is {number}; it must be above 0"))),
        None => Ok(()),
    }
}

fn memory_assumptions(machine: &Machine) -> Vec<Assumption> {
    let cc = machine.cc;
    let mut sentences = Vec::new();
    if cc.major >= 2 {
        sentences.push(AssumptionId::DramOnly.plain());
    } else {
        sentences.push(AssumptionId::CoalescedOne.plain());
    }
    if (cc.major, cc.minor) < (1, 2) {
        sentences.push(AssumptionId::Uncoalesced32.plain());
    }
    sentences
}

/// What both MWP-CWP models assume about reading and waves.
pub(crate) fn case_assumptions(execution: &Execution, rep: f64, options: &Options) -> Vec<Assumption> {
    let mut sentences = Vec::new();
    if options.reading == Reading::AsPrinted {
        sentences.push(AssumptionId::AsPrinted.plain());
    }
    match options.waves {
        Waves::Whole => sentences.push(AssumptionId::WholeWaves.plain()),
        Waves::Real if rep > 1.0 => sentences.push(AssumptionId::RealWaves.with(format!("{rep:.2} waves"))),
        Waves::Real => {}
    }
    if execution.on_floor {
        sentences.push(AssumptionId::IssueFloor.plain());
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
    assumptions.extend(of_machine(&readings.assumptions));
    let resource = evaluation.memory.map_or(crate::Resource::DramLatency, |memory| {
        memory_resource(memory.mwp_peak_bw, memory.mwp_without_bw_full, evaluation.n)
    });
    Prediction {
        model: HongKim.id(),
        time: Cycles(execution.total()),
        clock: Hertz(inputs.freq),
        terms: terms(execution, resource, load, &readings),
        combine: Combine::Sum,
        quantities: quantities(inputs, evaluation),
        assumptions,
        parameters: readings.parameters,
        coverage: None,
        detail: None,
    }
    .checked()
}

fn quantities(inputs: &Inputs, evaluation: &Evaluation) -> Vec<Quantity> {
    let residency = &evaluation.residency;
    let execution = &evaluation.execution;
    let mut quantities = vec![
        Symbol::ActiveBlocksPerSm.of(residency.ctas_per_sm),
        Symbol::ActiveSms.of(residency.active_sms),
        Symbol::N.of(evaluation.n),
        Symbol::Rep.of(evaluation.rep),
        Symbol::CompInsts.of(inputs.comp_insts),
        Symbol::MemInsts.of(evaluation.mem_insts),
        Symbol::UncoalMemInsts.of(inputs.uncoal_mem_insts),
        Symbol::CoalMemInsts.of(inputs.coal_mem_insts),
        Symbol::SynchInsts.of(inputs.synch_insts),
        Symbol::TotalInsts.of(evaluation.total_insts),
        Symbol::IssueCycles.of(inputs.issue_cycles),
    ];
    if let Some(memory) = &evaluation.memory {
        quantities.extend([
            Symbol::UncoalPerMw.of(inputs.uncoal_per_mw),
            Symbol::CoalPerMw.of(inputs.coal_per_mw),
            Symbol::LoadBytesPerWarp.of(inputs.load_bytes_per_warp),
            Symbol::MemLUncoal.of(memory.mem_l_uncoal),
            Symbol::MemLCoal.of(memory.mem_l_coal),
            Symbol::WeightUncoal.of(memory.weight_uncoal),
            Symbol::WeightCoal.of(memory.weight_coal),
            Symbol::MemL.of(memory.mem_l),
            Symbol::DepartureDelay.of(memory.departure_delay),
            Symbol::MwpWithoutBwFull.of(memory.mwp_without_bw_full),
            Symbol::MwpWithoutBw.of(memory.mwp_without_bw),
            Symbol::BwPerWarp.of(memory.bw_per_warp),
            Symbol::MwpPeakBw.of(memory.mwp_peak_bw),
        ]);
    }
    quantities.extend([
        Symbol::Mwp.of(evaluation.mwp),
        Symbol::MemCycles.of(evaluation.mem_cycles),
        Symbol::CompCycles.of(evaluation.comp_cycles),
        Symbol::CwpFull.of(evaluation.cwp_full),
        Symbol::Cwp.of(evaluation.cwp),
        Symbol::Case.of(f64::from(execution.case.equation())),
        Symbol::ExecCyclesApp.of(execution.exec()),
        Symbol::SynchCost.of(execution.synch),
        Symbol::ExecWithSynchCost.of(execution.total()),
        Symbol::Cpi.of(evaluation.cpi),
    ]);
    quantities
}
