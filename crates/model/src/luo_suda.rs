//! MPD/CPD: Luo and Suda, "An execution time prediction analytical model for GPU with instruction-level and thread-level
//! parallelism awareness", 2011.
//!
//! A warp's instructions are a sequence of calculate periods: a computation task that costs c_i cycles, then a memory
//! task that costs m_i. N_act warps run on an SM. MPD of them can have memory accesses in flight together, and CPD
//! instructions of theirs compute together. The time is the sum over the periods, in program order, of what all warps
//! compute and of what sticks out of the memory accesses of this period (T_c) and of the one before (T_p).
//!
//! Symbols: [`Inputs`] and [`equations`], where the readings of the misprints stand. [`costs`] prices instructions by the
//! paper's table 1, [`mod@walk`] goes through the periods, [`figures`] gives the data of figures 8 and 9.
//!
//! What the paper leaves open:
//!
//! - Before the first period nothing is waited for.
//! - The cost of a task is the sum of its instructions' costs. A memory instruction costs its latency once, however many
//!   transactions it makes; they only lower Warp_bwt in (1), and so raise MPD. The option `serial-transactions` charges
//!   the latency for each transaction, as (1) does.
//! - t_mem is the table's cost of a load or store.
//! - Several waves of blocks follow each other.
//! - Warps that take different ways: the mean over their sequences of periods.
//!
//! Where it breaks: the constants and costs are known for one chip; barriers, bank conflicts and caches are not in it.

pub mod costs;
pub mod equations;
pub mod figures;
pub mod walk;

use std::collections::BTreeMap;

use warplens_base::units::{Cycles, Hertz};
use warplens_machine::{Key, Machine, Reader, Readings};
use warplens_stats::{CoalescingRule, CostKind, Period, Periods, StreamPart};

use crate::assumption::{AssumptionId, of_machine};
use crate::given::{Fields, MEMORY_BANDWIDTH, points_of};
use crate::hong_kim::require_positive;
use crate::prediction::{Combine, Resource};
use crate::residency::{Residency, THREADS_PER_WARP};
use crate::scenario::EffectId;
use crate::workload::{self, coalescing_rule};
use crate::{
    Assumption, Detail, Given, Input, InputField, LuoSudaOptions, Model, ModelId, Needs, OptionId, Options, Origin,
    Prediction, Quantity, Reading, Refusal, Symbol, Term, Unit, Waves,
};
use costs::{Prices, of_computation, of_memory};
use equations::{Constants, Costs, PeriodType, Situation, cpd, cpd1, cpd2, mpd, n, warp_bwt};
use walk::{Stream, Walk, Work, executions, walk};

/// The model of Luo and Suda.
#[derive(Clone, Copy, Debug)]
pub struct LuoSuda;

/// What the equations take.
#[derive(Clone, PartialEq, Debug)]
pub struct Inputs {
    /// N_act: warps of an SM.
    pub n_act: f64,
    /// N_sm: SMs.
    pub n_sm: f64,
    /// GPU_bwt: bandwidth of device memory in bytes per cycle.
    pub gpu_bwt: f64,
    /// a to d and m.
    pub constants: Constants,
    /// P: computation's share of all costs; from the periods if not given.
    pub p: Option<f64>,
    /// The different periods.
    pub periods: Vec<PeriodInput>,
    /// What warps execute.
    pub streams: Vec<Stream>,
    /// How often the SMs are filled.
    pub waves: f64,
}

/// One calculate period.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct PeriodInput {
    /// c_i: cycles of its computation task.
    pub c: f64,
    /// m_i: cycles of its memory task.
    pub m: f64,
    /// (1) for the memory task, in bytes per cycle.
    pub warp_bwt: f64,
}

/// What the equations give.
#[derive(Clone, PartialEq, Debug)]
pub struct Evaluation {
    /// P.
    pub p: f64,
    /// (3), which may be negative.
    pub cpd1: f64,
    /// (4)
    pub cpd2: f64,
    /// CPD.
    pub cpd: f64,
    /// The periods of one wave.
    pub walk: Walk,
}

/// Which of the printed forms are taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Forms {
    /// (2) with N_act in the denominator.
    pub printed_mpd: bool,
    /// The smaller of (3) and (4) at any P.
    pub printed_cpd: bool,
    /// (8), (10) and (13) with CPD.
    pub waits_over_cpd: bool,
}

impl Forms {
    /// The forms that options ask for.
    pub fn of(options: &Options) -> Self {
        let LuoSudaOptions { printed_mpd, printed_cpd, waits_over_cpd, .. } = options.luo_suda;
        let printed = options.reading == Reading::AsPrinted;
        Self { printed_mpd: printed || printed_mpd, printed_cpd: printed || printed_cpd, waits_over_cpd }
    }
}

impl Inputs {
    /// All equations, for `n_act` warps.
    pub fn evaluate_at(&self, n_act: f64, forms: Forms) -> Result<Evaluation, Refusal> {
        let m = self.constants.m;
        if !(1.0..=m).contains(&n_act) || m <= 1.0 {
            return Err(Refusal::impossible(format!("n_act is {n_act}; it must lie between 1 and m, which is {m}")));
        }
        let p = self.p.map_or_else(|| self.proportion(), Ok)?;
        let cpd = cpd(p, n_act, &self.constants, forms.printed_cpd);
        let costs = |period: &PeriodInput| Costs {
            c: period.c,
            m: period.m,
            mpd: mpd(n_act, self.gpu_bwt, self.n_sm, period.warp_bwt, forms.printed_mpd),
        };
        let work = Work { periods: self.periods.iter().map(costs).collect(), streams: self.streams.clone() };
        let situation = Situation { n_act, cpd, waits_over_cpd: forms.waits_over_cpd };
        Ok(Evaluation {
            p,
            cpd1: cpd1(p, n_act, &self.constants),
            cpd2: cpd2(p, n_act, &self.constants),
            cpd,
            walk: walk(&work, &situation),
        })
    }

    /// P: cycles of the computation tasks over those of all tasks.
    fn proportion(&self) -> Result<f64, Refusal> {
        let executions = executions(&self.streams, self.periods.len());
        let sum = |cost: fn(&PeriodInput) -> f64| -> f64 {
            executions.iter().zip(&self.periods).map(|(times, period)| times * cost(period)).sum()
        };
        let (computation, memory) = (sum(|period| period.c), sum(|period| period.m));
        if computation + memory > 0.0 {
            Ok(computation / (computation + memory))
        } else {
            Err(Refusal::impossible("the periods cost nothing"))
        }
    }
}

const INPUTS: &[InputField] = &[
    InputField { name: "n_act", unit: Unit::One, origin: Origin::Required, about: "active warps of an SM" },
    InputField { name: "n_sm", unit: Unit::One, origin: Origin::Machine(Key::SmCount), about: "SMs" },
    InputField {
        name: "c_i(i)",
        unit: Unit::Cycles,
        origin: Origin::Required,
        about: "cost of the computation task of period i, as points: `c_i = [[1, 130], [2, 65]]`",
    },
    InputField {
        name: "m_i(i)",
        unit: Unit::Cycles,
        origin: Origin::Default(0.0),
        about: "cost of the memory task of period i",
    },
    InputField {
        name: "repeat",
        unit: Unit::One,
        origin: Origin::Default(1.0),
        about: "how often a warp goes through the periods",
    },
    InputField { name: "waves", unit: Unit::One, origin: Origin::Default(1.0), about: "how often the SMs are filled" },
    InputField {
        name: "p",
        unit: Unit::One,
        origin: Origin::Derived("from `c_i` and `m_i`"),
        about: "computation instruction proportion: cost of computation over all costs",
    },
    InputField {
        name: "n_thread",
        unit: Unit::One,
        origin: Origin::Default(THREADS_PER_WARP),
        about: "threads of a warp",
    },
    InputField {
        name: "d_mem",
        unit: Unit::Bytes,
        origin: Origin::Default(4.0),
        about: "bytes of a thread's memory access",
    },
    InputField {
        name: "n_trans",
        unit: Unit::One,
        origin: Origin::Default(2.0),
        about: "transactions of a memory instruction; 2 is one for each half-warp",
    },
    InputField {
        name: "t_mem",
        unit: Unit::Cycles,
        origin: Origin::Machine(Key::LuoSudaMemory),
        about: "latency of a memory access",
    },
    InputField {
        name: "gpu_bwt",
        unit: Unit::BytesPerSecond,
        origin: MEMORY_BANDWIDTH,
        about: "bandwidth of device memory",
    },
    InputField {
        name: "freq",
        unit: Unit::Hertz,
        origin: Origin::Machine(Key::ClockDefault),
        about: "clock of the SMs",
    },
    InputField { name: "a", unit: Unit::One, origin: Origin::Machine(Key::LuoSudaA), about: "fitted constant a" },
    InputField { name: "b", unit: Unit::One, origin: Origin::Machine(Key::LuoSudaB), about: "fitted constant b" },
    InputField { name: "c", unit: Unit::One, origin: Origin::Machine(Key::LuoSudaC), about: "fitted constant c" },
    InputField { name: "d", unit: Unit::One, origin: Origin::Machine(Key::LuoSudaD), about: "fitted constant d" },
    InputField {
        name: "m",
        unit: Unit::One,
        origin: Origin::Machine(Key::LimitsMaxWarps),
        about: "most warps of an SM",
    },
];

/// Inputs of a profiled kernel, and what is to be said about them.
#[derive(Clone, PartialEq, Debug)]
pub struct Prepared {
    /// What the equations take.
    pub inputs: Inputs,
    /// Warps of the launch.
    pub warps: f64,
    /// Clock in hertz.
    pub clock: f64,
    /// Assumptions of the model's own.
    assumptions: Vec<Assumption>,
    readings: Readings,
    accesses: Accesses,
}

/// What memory instructions ask for, for the quantities.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Accesses {
    n_thread: f64,
    d_mem: f64,
    n_trans: f64,
    t_mem: f64,
}

impl Prepared {
    /// The inputs of a profile on a machine.
    pub fn new(input: &Input<'_>, machine: &Machine) -> Result<Self, Refusal> {
        let (profile, options) = (input.profile, &input.options);
        let mut reader = Reader::new(machine, options.strictness);
        let clock = reader.clock()?;
        let constants = constants(&mut reader)?;
        let t_mem = reader.need(Key::LuoSudaMemory)?;
        let residency = Residency::of_launch(&profile.launch, &mut reader)?;
        let Some(periods) = profile.statistics.periods.as_ref().filter(|periods| !periods.streams.is_empty()) else {
            return Err(Refusal {
                missing: vec!["periods".into()],
                reason: "the profile has no calculate periods; an emulated run finds them, counts alone do not".into(),
            });
        };
        let rule = coalescing_rule(machine.cc, options.fermi_l1);
        let mut tasks = Tasks::new(rule, t_mem, options.luo_suda.serial_transactions);
        let period_inputs = tasks.price(periods, &mut reader)?;
        let inputs = Inputs {
            n_act: residency.warps(),
            n_sm: residency.active_sms,
            gpu_bwt: reader.memory_bandwidth()? / clock,
            constants,
            p: None,
            periods: period_inputs,
            streams: streams(periods),
            waves: residency.waves(options.waves),
        };
        let mut assumptions = workload::assumptions(profile, options);
        assumptions.extend(tasks.assumptions());
        assumptions.extend(stream_assumptions(periods, profile.warps));
        let accesses = tasks.accesses();
        let warps = profile.warps as f64;
        Ok(Self { inputs, warps, clock, assumptions, readings: reader.finish(), accesses })
    }

    /// The answer for the launch.
    pub fn prediction(self, options: &Options) -> Result<Prediction, Refusal> {
        let Self { inputs, clock, mut assumptions, readings, accesses, .. } = self;
        let forms = Forms::of(options);
        let evaluation = inputs.evaluate_at(inputs.n_act, forms)?;
        if forms.printed_cpd || forms.printed_mpd {
            assumptions.push(AssumptionId::AsPrinted.plain());
        }
        if inputs.waves > 1.0 {
            assumptions.push(AssumptionId::WavesInTurn.plain());
            assumptions.push(match options.waves {
                Waves::Real => AssumptionId::RealWaves.plain(),
                Waves::Whole => AssumptionId::WholeWaves.plain(),
            });
        }
        assumptions.push(AssumptionId::FreeConflicts.plain());
        assumptions.extend(of_machine(&readings.assumptions));
        let terms = terms(&evaluation.walk, inputs.waves, &readings);
        Prediction {
            model: LuoSuda.id(),
            time: Combine::Sum.apply(&terms).expect("a sum follows from its terms"),
            clock: Hertz(clock),
            terms,
            combine: Combine::Sum,
            quantities: quantities(&inputs, &evaluation, accesses),
            assumptions,
            parameters: readings.parameters,
            coverage: None,
            detail: Some(Detail::LuoSuda(Box::new(evaluation.walk))),
        }
        .checked()
    }
}

impl Model for LuoSuda {
    fn id(&self) -> ModelId {
        ModelId::LuoSuda
    }

    fn about(&self) -> &'static str {
        "MPD/CPD: calculate periods of PTX, priced by a table of instruction costs (Luo and Suda, 2011)"
    }

    fn rank_reason(&self) -> &'static str {
        "it follows the order of computation and accesses, but leaves out barriers and bank conflicts"
    }

    fn effects(&self) -> &'static [EffectId] {
        &[EffectId::MemoryBandwidth]
    }

    fn needs(&self) -> Needs {
        Needs::Trace
    }

    fn options(&self) -> &'static [OptionId] {
        &[
            OptionId::AsPrinted,
            OptionId::PrintedMpd,
            OptionId::PrintedCpd,
            OptionId::WaitsOverCpd,
            OptionId::SerialTransactions,
            OptionId::WholeWaves,
            OptionId::L1Off,
        ]
    }

    fn inputs(&self) -> &'static [InputField] {
        INPUTS
    }

    fn predict(&self, input: &Input<'_>, machine: &Machine) -> Result<Prediction, Refusal> {
        let mut prediction = Prepared::new(input, machine)?.prediction(&input.options)?;
        prediction.coverage = Some(input.profile.coverage);
        Ok(prediction)
    }

    fn evaluate(&self, given: &Given, machine: Option<&Machine>, options: &Options) -> Result<Prediction, Refusal> {
        crate::check_given(self, given).map_err(|bad| Refusal::impossible(bad.to_string()))?;
        let mut fields = Fields::new(given, machine, options.strictness);
        let n_act = fields.required("n_act");
        let n_sm = fields.machine("n_sm", Key::SmCount);
        let costs = costs_given(given, &mut fields);
        let (n_thread, d_mem) = (fields.or("n_thread", THREADS_PER_WARP), fields.or("d_mem", 4.0));
        let n_trans = fields.or("n_trans", 2.0);
        let t_mem = fields.machine("t_mem", Key::LuoSudaMemory);
        let bandwidth = fields.machine_by("gpu_bwt", |reader| Ok(reader.memory_bandwidth()?));
        let clock = fields.machine_by("freq", |reader| Ok(reader.clock()?));
        let constants = Constants {
            a: fields.machine("a", Key::LuoSudaA),
            b: fields.machine("b", Key::LuoSudaB),
            c: fields.machine("c", Key::LuoSudaC),
            d: fields.machine("d", Key::LuoSudaD),
            m: fields.machine("m", Key::LimitsMaxWarps),
        };
        let (p, waves, repeat) = (fields.optional("p"), fields.or("waves", 1.0), fields.or("repeat", 1.0));
        let readings = fields.finish()?;
        require_positive(&[("n_sm", n_sm), ("t_mem", t_mem), ("n_trans", n_trans), ("gpu_bwt", bandwidth)])?;
        require_positive(&[("freq", clock), ("waves", waves), ("repeat", repeat)])?;
        let warp_bwt = warp_bwt(n_thread, d_mem, n_trans, t_mem);
        let periods: Vec<PeriodInput> =
            costs.iter().map(|&(c, m)| PeriodInput { c, m, warp_bwt: if m > 0.0 { warp_bwt } else { 0.0 } }).collect();
        let body: Vec<StreamPart> = (0..periods.len()).map(StreamPart::Period).collect();
        // A part of a round is a share of all rounds.
        let rounds = repeat.ceil();
        let parts = vec![StreamPart::Loop { times: rounds as u64, body }];
        let inputs = Inputs {
            n_act,
            n_sm,
            gpu_bwt: bandwidth / clock,
            constants,
            p,
            periods,
            streams: vec![Stream { share: 1.0, scale: repeat / rounds, parts }],
            waves,
        };
        let accesses = Accesses { n_thread, d_mem, n_trans, t_mem };
        Prepared { inputs, warps: 0.0, clock, assumptions: Vec::new(), readings, accesses }.prediction(options)
    }
}

/// Costs of the given periods, in their order.
fn costs_given(given: &Given, fields: &mut Fields<'_, '_>) -> Vec<(f64, f64)> {
    let mut periods: Vec<(f64, f64, f64)> = Vec::new();
    let mut note = |at: f64, c: f64, m: f64| match periods.iter_mut().find(|(known, ..)| *known == at) {
        Some(period) => (period.1, period.2) = (period.1 + c, period.2 + m),
        None => periods.push((at, c, m)),
    };
    points_of(given, "c_i").into_iter().for_each(|(at, c)| note(at, c, 0.0));
    points_of(given, "m_i").into_iter().for_each(|(at, m)| note(at, 0.0, m));
    if periods.is_empty() {
        fields.lack("c_i", "the input gives no periods: `c_i = [[1, 130], [2, 65]]`".to_owned());
    }
    periods.sort_by(|left, right| left.0.total_cmp(&right.0));
    periods.into_iter().map(|(_, c, m)| (c, m)).collect()
}

fn constants(reader: &mut Reader<'_>) -> Result<Constants, Refusal> {
    Ok(Constants {
        a: reader.need(Key::LuoSudaA)?,
        b: reader.need(Key::LuoSudaB)?,
        c: reader.need(Key::LuoSudaC)?,
        d: reader.need(Key::LuoSudaD)?,
        m: reader.need(Key::LimitsMaxWarps)?,
    })
}

/// Prices the tasks of periods.
struct Tasks {
    rule: CoalescingRule,
    t_mem: f64,
    serial: bool,
    prices: Prices,
    /// Memory instructions, their bytes per thread and their transactions, over all executions.
    instructions: f64,
    bytes: f64,
    transactions: f64,
}

impl Tasks {
    fn new(rule: CoalescingRule, t_mem: f64, serial: bool) -> Self {
        Self { rule, t_mem, serial, prices: Prices::default(), instructions: 0.0, bytes: 0.0, transactions: 0.0 }
    }

    fn price(&mut self, periods: &Periods, reader: &mut Reader<'_>) -> Result<Vec<PeriodInput>, Refusal> {
        periods.kinds.iter().map(|period| self.period(period, reader)).collect()
    }

    fn period(&mut self, period: &Period, reader: &mut Reader<'_>) -> Result<PeriodInput, Refusal> {
        let weight = period.executions as f64;
        let c = self.prices.task(&period.computation, of_computation, weight, reader)?;
        let memory = self.prices.task(&period.memory, of_memory, weight, reader)?;
        let instructions = count(&period.memory);
        let transactions = period.transactions.get(&self.rule).copied().unwrap_or(0.0);
        self.instructions += weight * instructions;
        self.bytes += weight * period.bytes_requested;
        self.transactions += weight * transactions;
        if instructions == 0.0 {
            return Ok(PeriodInput { c, m: 0.0, warp_bwt: 0.0 });
        }
        let (d_mem, n_trans) = (period.bytes_requested / THREADS_PER_WARP / instructions, transactions / instructions);
        let m = if self.serial { memory * n_trans.max(1.0) } else { memory };
        Ok(PeriodInput { c, m, warp_bwt: warp_bwt(THREADS_PER_WARP, d_mem, n_trans, self.t_mem) })
    }

    fn accesses(&self) -> Accesses {
        let mean = |sum: f64| if self.instructions > 0.0 { sum / self.instructions } else { 0.0 };
        let n_thread = THREADS_PER_WARP;
        Accesses {
            n_thread,
            d_mem: mean(self.bytes) / THREADS_PER_WARP,
            n_trans: mean(self.transactions),
            t_mem: self.t_mem,
        }
    }

    fn assumptions(&self) -> Vec<Assumption> {
        let mut sentences = Vec::new();
        sentences.extend(self.prices.outside().map(|outside| AssumptionId::NearestCost.with(outside)));
        if self.instructions > 0.0 {
            sentences.push(if self.serial {
                AssumptionId::SerialTransactions.plain()
            } else {
                AssumptionId::LatencyOnce.plain()
            });
        }
        sentences
    }
}

fn count(task: &BTreeMap<CostKind, u64>) -> f64 {
    task.values().sum::<u64>() as f64
}

fn streams(periods: &Periods) -> Vec<Stream> {
    let all = periods.streams.iter().map(|stream| stream.warps).sum::<u64>() as f64;
    let one = |stream: &warplens_stats::PeriodStream| Stream {
        share: stream.warps as f64 / all,
        scale: (stream.len() + stream.left_out) as f64 / stream.len().max(1) as f64,
        parts: stream.parts.clone(),
    };
    periods.streams.iter().map(one).collect()
}

fn stream_assumptions(periods: &Periods, warps: u64) -> Vec<Assumption> {
    let mut sentences = Vec::new();
    if periods.warps < warps {
        sentences.push(AssumptionId::SampledPeriods.with(format!("{} of {warps} warps", periods.warps)));
    }
    let sum = |of: fn(&warplens_stats::PeriodStream) -> u64| -> f64 {
        periods.streams.iter().map(|stream| stream.warps as f64 * of(stream) as f64).sum()
    };
    let left_out = sum(|stream| stream.left_out);
    if left_out > 0.0 {
        let share = 100.0 * left_out / (left_out + sum(warplens_stats::PeriodStream::len));
        sentences.push(AssumptionId::LongSequences.with(format!("{share:.1} % of the periods")));
    }
    sentences
}

fn terms(walk: &Walk, waves: f64, readings: &Readings) -> Vec<Term> {
    let read = |keys: &[Key]| -> Vec<Key> {
        readings.parameters.iter().map(|read| read.key).filter(|key| keys.contains(key)).collect()
    };
    let term = |name, resource, cycles: f64, parameters| Term {
        name,
        resource,
        cycles: Cycles(waves * cycles),
        parameters,
        parts: Vec::new(),
    };
    let is_cost = |key: &Key| key.group() == "luo_suda" && *key != Key::LuoSudaMemory;
    let costs = readings.parameters.iter().map(|read| read.key).filter(is_cost).collect();
    let bandwidth = read(&[Key::LuoSudaMemory, Key::DramPeakBandwidth, Key::DramAchievedBandwidth]);
    vec![
        term("computation", Resource::Compute, walk.sum(|time| time.compute), costs),
        term("waiting for earlier accesses", Resource::DramBandwidth, walk.sum(|time| time.t_p), bandwidth),
        term("waiting for accesses", Resource::DramLatency, walk.sum(|time| time.t_c), read(&[Key::LuoSudaMemory])),
    ]
}

fn quantities(inputs: &Inputs, evaluation: &Evaluation, accesses: Accesses) -> Vec<Quantity> {
    let walk = &evaluation.walk;
    let mut quantities = vec![
        Symbol::NAct.of(inputs.n_act),
        Symbol::NSm.of(inputs.n_sm),
        Symbol::NThread.of(accesses.n_thread),
        Symbol::MostWarps.of(inputs.constants.m),
        Symbol::P.of(evaluation.p),
    ];
    let with_memory = || walk.rows.iter().filter(|row| row.costs.m > 0.0);
    if with_memory().next().is_some() {
        let warp_bwt = warp_bwt(accesses.n_thread, accesses.d_mem, accesses.n_trans, accesses.t_mem);
        let least = with_memory().map(|row| row.costs.mpd).fold(f64::INFINITY, f64::min);
        quantities.extend([
            Symbol::DMem.of(accesses.d_mem),
            Symbol::NTrans.of(accesses.n_trans),
            Symbol::TMem.of(accesses.t_mem),
            Symbol::GpuBwt.of(inputs.gpu_bwt),
            Symbol::WarpBwt.of(warp_bwt),
            Symbol::Mpd.of(least),
        ]);
    }
    quantities.push(Symbol::LuoN.of(n(evaluation.p, &inputs.constants)));
    // Far above b it falls below 0, where it means nothing.
    quantities.extend((evaluation.cpd1 >= 0.0).then(|| Symbol::Cpd1.of(evaluation.cpd1)));
    quantities.extend([Symbol::Cpd2.of(evaluation.cpd2), Symbol::Cpd.of(evaluation.cpd)]);
    quantities.extend(PeriodType::ALL.into_iter().map(|kind| Symbol::Periods(kind).of(walk.executions(kind))));
    quantities.extend([
        Symbol::TimeComputing.of(walk.sum(|time| time.t_c)),
        Symbol::TimeWaiting.of(walk.sum(|time| time.t_p)),
        Symbol::Time.of(walk.cycles()),
        Symbol::Waves.of(inputs.waves),
    ]);
    quantities
}
