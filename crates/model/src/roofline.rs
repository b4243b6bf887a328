//! Roofline: the plain lower bound, and the yardstick for the others.
//!
//! A kernel takes at least as long as the busiest of these would take alone, with nothing lost: the lanes of each class
//! of operations, the issue slots, and the memory interface, over which each distinct 32-byte sector that the launch
//! reads or writes goes once (S. Williams, A. Waterman and D. Patterson, "Roofline", CACM 2009, whose two roofs these
//! are).
//!
//! Symbols: [`Inputs`]. The time is the largest term. Latency, occupancy, waves, conflicts and repeated transfers cost
//! nothing here.
//!
//! The bound is made of the same parameters as the transaction-based model: the same clock, the same cycles per
//! instruction (4 before compute capability 2.0, as the papers have it), the same bandwidth (peak before 2.0, achieved
//! from then on). So it never exceeds that model, which charges classes one after the other and every transaction.

use warplens_base::units::{Cycles, Hertz};
use warplens_machine::{Key, Machine, Reader, Readings};
use warplens_stats::Count;

use crate::assumption::{AssumptionId, of_machine};
use crate::compute::{ComputeLoad, SlowOperations, compute_load};
use crate::demand::{self, Demand};
use crate::given::{Fields, MEMORY_BANDWIDTH};
use crate::hong_kim::require_positive;
use crate::prediction::{Combine, Resource};
use crate::scenario::EffectId;
use crate::workload::{self, Workload};
use crate::{
    Assumption, Given, Input, InputField, Model, ModelId, Needs, OptionId, Options, Origin, Prediction, Refusal,
    Symbol, Term, Unit,
};

/// The plain lower bound.
#[derive(Clone, Copy, Debug)]
pub struct Roofline;

/// What the bound takes, for the launch.
#[derive(Clone, PartialEq, Debug)]
pub struct Inputs {
    /// Warps.
    pub warps: f64,
    /// What one warp asks of issue slots and lanes.
    pub load: ComputeLoad,
    /// Bytes of distinct sectors, read and written.
    pub distinct_bytes: f64,
    /// SMs.
    pub sms: f64,
    /// SM clock in hertz.
    pub clock: f64,
    /// Bandwidth of device memory in bytes per second.
    pub bandwidth: f64,
}

impl Inputs {
    /// Cycles of the launch on every resource, in a fixed order; at least issue slots and memory.
    pub fn bounds(&self) -> Vec<(Resource, f64)> {
        let warps_per_sm = self.warps / self.sms;
        let issue = (Resource::Issue, warps_per_sm * self.load.slots() * self.load.issue_interval);
        let lanes = self.load.lane_cycles().into_iter().map(|(resource, cycles)| (resource, warps_per_sm * cycles));
        let memory = (Resource::DramBandwidth, self.distinct_bytes / self.bandwidth * self.clock);
        std::iter::once(issue).chain(lanes).chain([memory]).collect()
    }
}

const INPUTS: &[InputField] = &[
    InputField { name: "warps", unit: Unit::One, origin: Origin::Required, about: "warps of the launch" },
    InputField {
        name: "slots_per_warp",
        unit: Unit::One,
        origin: Origin::Required,
        about: "instructions that a warp issues",
    },
    InputField {
        name: "issue_per_clk",
        unit: Unit::PerClk,
        origin: Origin::Machine(Key::SmIssuePerClk),
        about: "instructions that an SM issues per cycle",
    },
    InputField {
        name: "sectors_read",
        unit: Unit::One,
        origin: Origin::Default(0.0),
        about: "distinct 32-byte sectors that the launch reads",
    },
    InputField {
        name: "sectors_written",
        unit: Unit::One,
        origin: Origin::Default(0.0),
        about: "distinct 32-byte sectors that the launch writes",
    },
    InputField { name: "sms", unit: Unit::One, origin: Origin::Machine(Key::SmCount), about: "SMs" },
    InputField {
        name: "clock",
        unit: Unit::Hertz,
        origin: Origin::Machine(Key::ClockDefault),
        about: "clock of the SMs",
    },
    InputField {
        name: "bandwidth",
        unit: Unit::BytesPerSecond,
        origin: MEMORY_BANDWIDTH,
        about: "bandwidth of device memory",
    },
];

impl Model for Roofline {
    fn id(&self) -> ModelId {
        ModelId::Roofline
    }

    fn about(&self) -> &'static str {
        "lower bound: the largest of operations of a class at peak and distinct sectors at full bandwidth"
    }

    fn rank_reason(&self) -> &'static str {
        "it is a lower bound: nothing but throughput is in it"
    }

    fn effects(&self) -> &'static [EffectId] {
        &[EffectId::Uncoalesced, EffectId::Divergence, EffectId::MemoryBandwidth]
    }

    fn needs(&self) -> Needs {
        Needs::Addresses
    }

    fn options(&self) -> &'static [OptionId] {
        &[]
    }

    fn inputs(&self) -> &'static [InputField] {
        INPUTS
    }

    fn predict(&self, input: &Input<'_>, machine: &Machine) -> Result<Prediction, Refusal> {
        let (profile, options) = (input.profile, &input.options);
        let demand = Demand {
            needed: &[demand::instructions(machine), Count::DistinctSectors],
            refining: &[Count::HighLatency],
        };
        let left_out = demand.check(profile, machine, options)?;
        let mut reader = Reader::new(machine, options.strictness);
        let clock = reader.tune_clock(Key::AnalyzerClock)?;
        let workload = Workload::new(profile, machine.cc, options);
        let mut load = compute_load(&workload, SlowOperations::OwnCost, &mut reader)?;
        // Conflicts are no part of a bound that loses nothing, and neither is what is said about them.
        load.conflict_cycles = 0.0;
        load.assumptions.retain(|assumption| assumption.id != AssumptionId::BankConflicts);
        let inputs = Inputs {
            warps: workload.n_warps,
            distinct_bytes: workload.distinct_bytes * workload.n_warps,
            load,
            sms: reader.need(Key::SmCount)?,
            clock,
            bandwidth: reader.memory_bandwidth()?,
        };
        let mut assumptions = workload::assumptions(profile, options);
        assumptions.extend(left_out);
        if !profile.has(Count::DistinctSectors) {
            assumptions.push(AssumptionId::DramMeasured.plain());
        }
        assumptions.extend(inputs.load.assumptions.iter().filter(|said| said.id != AssumptionId::ClassIssue).cloned());
        let mut prediction = prediction(&inputs, reader.finish(), assumptions)?;
        prediction.coverage = Some(profile.coverage);
        Ok(prediction)
    }

    fn evaluate(&self, given: &Given, machine: Option<&Machine>, options: &Options) -> Result<Prediction, Refusal> {
        crate::check_given(self, given).map_err(|bad| Refusal::impossible(bad.to_string()))?;
        let mut fields = Fields::new(given, machine, options.strictness);
        let slots = fields.required("slots_per_warp");
        let issue = fields.machine("issue_per_clk", Key::SmIssuePerClk);
        let inputs = Inputs {
            warps: fields.required("warps"),
            load: ComputeLoad::of_slots(slots, issue),
            distinct_bytes: 32.0 * (fields.or("sectors_read", 0.0) + fields.or("sectors_written", 0.0)),
            sms: fields.machine("sms", Key::SmCount),
            clock: fields.machine_by("clock", |reader| Ok(reader.clock()?)),
            bandwidth: fields.machine_by("bandwidth", |reader| Ok(reader.memory_bandwidth()?)),
        };
        let readings = fields.finish()?;
        require_positive(&[
            ("issue_per_clk", issue),
            ("sms", inputs.sms),
            ("clock", inputs.clock),
            ("bandwidth", inputs.bandwidth),
        ])?;
        prediction(&inputs, readings, Vec::new())
    }
}

fn prediction(inputs: &Inputs, readings: Readings, mut assumptions: Vec<Assumption>) -> Result<Prediction, Refusal> {
    assumptions.extend([AssumptionId::PerfectOverlap.plain(), AssumptionId::SectorsOnce.plain()]);
    assumptions.extend(of_machine(&readings.assumptions));
    let terms: Vec<Term> =
        inputs.bounds().into_iter().map(|(resource, cycles)| term(resource, cycles, &readings)).collect();
    let time = Combine::Max.apply(&terms).expect("a maximum follows from its terms");
    let memory = inputs.distinct_bytes / inputs.bandwidth * inputs.clock;
    let compute = terms.iter().filter(|term| term.resource != Resource::DramBandwidth).map(|term| term.cycles.0);
    let quantities = vec![
        Symbol::Warps.of(inputs.warps),
        Symbol::SlotsPerWarp.of(inputs.load.slots()),
        Symbol::DistinctBytes.of(inputs.distinct_bytes),
        Symbol::BoundComputeCycles.of(compute.fold(0.0, f64::max)),
        Symbol::BoundMemoryCycles.of(memory),
    ];
    Prediction {
        model: Roofline.id(),
        time,
        clock: Hertz(inputs.clock),
        terms,
        combine: Combine::Max,
        quantities,
        assumptions,
        parameters: readings.parameters,
        coverage: None,
        detail: None,
    }
    .checked()
}

fn term(resource: Resource, cycles: f64, readings: &Readings) -> Term {
    let lanes = match resource {
        Resource::Issue => Some(Key::SmIssuePerClk),
        Resource::Fp32 => Some(Key::LanesFp32),
        Resource::Fp64 => Some(Key::LanesFp64),
        Resource::Fp16 => Some(Key::LanesFp16),
        Resource::Int => Some(Key::LanesInt32Add),
        Resource::IntMul => Some(Key::LanesInt32Mul),
        Resource::Sfu => Some(Key::LanesSfu),
        Resource::LoadStore => Some(Key::LanesLdst),
        _ => None,
    };
    let of_tensors = [Key::LanesTensorFma, Key::LanesTensorWarp, Key::LanesTensorWarpFp32, Key::LanesTensorFp64];
    let read = readings.parameters.iter().map(|read| read.key);
    let belongs = |key: &Key| match resource {
        Resource::DramBandwidth => matches!(key, Key::DramPeakBandwidth | Key::DramAchievedBandwidth),
        Resource::Tensor => of_tensors.contains(key) || *key == Key::SmCount,
        _ => Some(*key) == lanes || *key == Key::SmCount,
    };
    Term {
        name: resource.name(),
        resource,
        cycles: Cycles(cycles),
        parameters: read.filter(belongs).collect(),
        parts: Vec::new(),
    }
}
