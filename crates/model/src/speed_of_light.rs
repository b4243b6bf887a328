//! Speed of light: a bound that no execution beats.
//!
//! A kernel takes at least as long as each of these takes alone, at the rates of the data sheet and with nothing lost:
//!
//! - its machine instructions at the issue width of the schedulers, I / (n_sm i);
//! - the work of each pipe on its lanes, W_p / (n_sm s), and that of memory instructions on the load and store lanes;
//! - its wavefronts through shared memory, w c / n_sm;
//! - the bytes that must pass between the SMs and the L2 cache, B_L2 / (n_sm b);
//! - the bytes that must reach device memory, B / R.
//!
//! | Symbol | Field of [`Inputs`] |
//! |---|---|
//! | I, W_p | `instructions`, `pipes` |
//! | w, c | `wavefronts`, `pass_cycles` |
//! | B_L2, b | `l2_bytes`, `l2_bytes_per_clk` |
//! | B, R | `dram_bytes`, `bandwidth` |
//! | n_sm, s, i | `sms`, `schedulers`, `issue_per_clk` |
//!
//! The time is the largest of them; latency, occupancy, waves and the order of instructions cost nothing. Unlike
//! [`roofline`](crate::roofline) it counts machine instructions, takes peak rates, and leaves out traffic that need not
//! happen: a sector that the launch stores need not be read, what the L2 cache has room for may be in it when the launch
//! starts, and as much of stored sectors need not be written when it ends. Where sectors are read before they are stored,
//! it is lower than it could be.
//!
//! The wavefronts are those of machine instructions, too: a load that an assembler made of several takes at least as many
//! as the one of them that it has the place of. Where the machine packs what lanes share, a load of more than 32 bits per
//! lane counts half: whether it did is not known. Additions, shifts and copies that two pipes can do are shared out so that
//! both have the same, as far as they are enough. Of blocks that are executed several times the mean counts, which is exact
//! in the sum.

use std::collections::{BTreeMap, BTreeSet};

use warplens_base::units::{Cycles, Hertz};
use warplens_isa::{Family, NamedType, StateSpace};
use warplens_machine::{Key, Machine, Reader, Readings};
use warplens_sim::traces::Traced;
use warplens_sim::{Pipe, pipe_time};
use warplens_stats::{BankRule, Count, LineCounts, Profile, bank, sector};
use warplens_trace::{Code, IntegerLanes, MachineClass, MachineInst};

use crate::assumption::{AssumptionId, of_machine};
use crate::demand::Demand;
use crate::given::Fields;
use crate::hong_kim::require_positive;
use crate::residency::THREADS_PER_WARP;
use crate::scenario::EffectId;
use crate::{
    Assumption, Combine, Given, Input, InputField, Model, ModelId, Needs, OptionId, Options, Origin, Prediction,
    Refusal, Resource, Symbol, Term, Unit, recorded, workload,
};

/// The bound.
#[derive(Clone, Copy, Debug)]
pub struct SpeedOfLight;

/// Bytes of the sectors that a profile counts.
const SECTOR_BYTES: f64 = sector::BYTES as f64;

/// What the bound takes, for the launch.
#[derive(Clone, PartialEq, Debug)]
pub struct Inputs {
    /// Machine instructions of all warps.
    pub instructions: f64,
    /// Warp instructions that an SM issues per cycle.
    pub issue_per_clk: f64,
    /// Cycles that all warps together take of one pipe.
    pub pipes: Vec<(Pipe, f64)>,
    /// Schedulers of an SM, each with its pipes.
    pub schedulers: f64,
    /// Memory instructions of all warps.
    pub memory_instructions: f64,
    /// Lanes of memory instructions that an SM handles per cycle.
    pub ldst_lanes: f64,
    /// Wavefronts through shared memory.
    pub wavefronts: f64,
    /// Cycles that a wavefront takes.
    pub pass_cycles: f64,
    /// Bytes that must pass between the SMs and the L2 cache.
    pub l2_bytes: f64,
    /// Bytes per cycle between it and one SM; none where there is no such cache.
    pub l2_bytes_per_clk: Option<f64>,
    /// Bytes that must reach device memory.
    pub dram_bytes: f64,
    /// Peak bandwidth of device memory in bytes per second.
    pub bandwidth: f64,
    /// SMs.
    pub sms: f64,
    /// SM clock in hertz.
    pub clock: f64,
}

/// What one resource takes alone.
struct Alone {
    name: &'static str,
    resource: Resource,
    cycles: f64,
    parameters: &'static [Key],
}

impl Inputs {
    /// Cycles of the launch on every resource, in a fixed order; at least issue slots and device memory.
    fn bounds(&self) -> Vec<Alone> {
        let alone = |name, resource, cycles, parameters| Alone { name, resource, cycles, parameters };
        let issue = self.instructions / (self.sms * self.issue_per_clk);
        let mut bounds = vec![alone("issue slots", Resource::Issue, issue, ISSUE_KEYS)];
        bounds.extend(self.pipes.iter().filter_map(|&(pipe, cycles)| {
            let cycles = cycles / (self.sms * self.schedulers);
            Some(alone(pipe.name(), Resource::of_pipe(pipe)?, cycles, PIPE_KEYS))
        }));
        let memory = self.memory_instructions * THREADS_PER_WARP / (self.sms * self.ldst_lanes);
        bounds.push(alone("memory instructions", Resource::LoadStore, memory, &[Key::SmCount, Key::LanesLdst]));
        let shared = self.wavefronts * self.pass_cycles / self.sms;
        let keys = &[Key::SmCount, Key::SharedPassCycles];
        bounds.push(alone("shared-memory wavefronts", Resource::LoadStore, shared, keys));
        if let Some(per_clk) = self.l2_bytes_per_clk {
            let l2 = self.l2_bytes / (self.sms * per_clk);
            bounds.push(alone("L2 bandwidth", Resource::L2Bandwidth, l2, &[Key::SmCount, Key::L2SmBytesPerClk]));
        }
        let dram = self.dram_bytes / self.bandwidth * self.clock;
        bounds.push(alone("DRAM bandwidth", Resource::DramBandwidth, dram, &[Key::DramPeakBandwidth, Key::L2Size]));
        bounds
    }
}

const ISSUE_KEYS: &[Key] = &[Key::SmCount, Key::SmSubpartitions, Key::IssueWidth, Key::IssueInterval];

const PIPE_KEYS: &[Key] = &[
    Key::SmCount,
    Key::SmSubpartitions,
    Key::LanesFp32,
    Key::LanesFp32Mul,
    Key::LanesFp64,
    Key::LanesFp16,
    Key::LanesInt32Add,
    Key::LanesInt32Mul,
    Key::LanesSfu,
    Key::LanesConversion,
    Key::LanesBarrier,
    Key::LanesTensorFma,
    Key::LanesTensorWarp,
    Key::LanesTensorWarpFp32,
    Key::LanesTensorFp64,
];

const INPUTS: &[InputField] = &[
    InputField {
        name: "instructions",
        unit: Unit::One,
        origin: Origin::Required,
        about: "machine instructions of all warps",
    },
    InputField {
        name: "issue_per_clk",
        unit: Unit::PerClk,
        origin: Origin::MachineBy(&[Key::SmSubpartitions, Key::IssueWidth, Key::IssueInterval], "{} x {} / {}"),
        about: "instructions that an SM issues per cycle",
    },
    InputField {
        name: "memory_instructions",
        unit: Unit::One,
        origin: Origin::Default(0.0),
        about: "memory instructions of all warps",
    },
    InputField {
        name: "ldst_lanes",
        unit: Unit::PerClk,
        origin: Origin::Machine(Key::LanesLdst),
        about: "lanes of memory instructions that an SM handles per cycle",
    },
    InputField {
        name: "wavefronts",
        unit: Unit::One,
        origin: Origin::Default(0.0),
        about: "wavefronts through shared memory",
    },
    InputField {
        name: "pass_cycles",
        unit: Unit::Cycles,
        origin: Origin::Machine(Key::SharedPassCycles),
        about: "cycles that a wavefront takes",
    },
    InputField {
        name: "dram_bytes",
        unit: Unit::Bytes,
        origin: Origin::Default(0.0),
        about: "bytes that must reach device memory",
    },
    InputField {
        name: "bandwidth",
        unit: Unit::BytesPerSecond,
        origin: Origin::Machine(Key::DramPeakBandwidth),
        about: "peak bandwidth of device memory",
    },
    InputField { name: "sms", unit: Unit::One, origin: Origin::Machine(Key::SmCount), about: "SMs" },
    InputField {
        name: "clock",
        unit: Unit::Hertz,
        origin: Origin::Machine(Key::ClockDefault),
        about: "clock of the SMs",
    },
];

impl Model for SpeedOfLight {
    fn id(&self) -> ModelId {
        ModelId::SpeedOfLight
    }

    fn about(&self) -> &'static str {
        "bound that no execution beats: machine instructions at the issue width, each pipe's work on its lanes, and the bytes that must be moved at peak bandwidth"
    }

    fn rank_reason(&self) -> &'static str {
        "it is a bound that no execution beats, and no prediction"
    }

    fn effects(&self) -> &'static [EffectId] {
        &[EffectId::BankConflicts, EffectId::MemoryBandwidth]
    }

    fn needs(&self) -> Needs {
        Needs::Trace
    }

    fn options(&self) -> &'static [OptionId] {
        &[]
    }

    fn inputs(&self) -> &'static [InputField] {
        INPUTS
    }

    fn predict(&self, input: &Input<'_>, machine: &Machine) -> Result<Prediction, Refusal> {
        let (profile, options) = (input.profile, &input.options);
        let traced = recorded::traced(input.traces).map_err(|refusal| Refusal {
            reason: "the bound counts the machine instructions of what warps executed, and none of it is recorded"
                .into(),
            ..refusal
        })?;
        let demand = Demand { needed: &[Count::DistinctSectors], refining: &[Count::SharedWavefronts] };
        let mut assumptions = workload::assumptions(profile, options);
        // Its instructions are those of machine code.
        assumptions.retain(|said| !matches!(said.id, AssumptionId::PtxCounts | AssumptionId::MachineCounts));
        assumptions.extend(demand.check(profile, machine, options)?);
        let listing = recorded::listing(traced, machine, options)?;
        let work = Work::of(traced, &listing.code);
        let mut reader = Reader::new(machine, options.strictness);
        let inputs = work.inputs(profile, &mut reader)?;
        let code = listing.assumptions.iter();
        assumptions.extend(code.map(|text| Assumption { id: AssumptionId::MachineCode, text: text.clone() }));
        let mut prediction = prediction(&inputs, reader.finish(), assumptions)?;
        prediction.coverage = Some(profile.coverage);
        Ok(prediction)
    }

    fn evaluate(&self, given: &Given, machine: Option<&Machine>, options: &Options) -> Result<Prediction, Refusal> {
        crate::check_given(self, given).map_err(|bad| Refusal::impossible(bad.to_string()))?;
        let mut fields = Fields::new(given, machine, options.strictness);
        let inputs = Inputs {
            instructions: fields.required("instructions"),
            issue_per_clk: fields.machine_by("issue_per_clk", issue_per_clk),
            pipes: Vec::new(),
            schedulers: 1.0,
            memory_instructions: fields.or("memory_instructions", 0.0),
            ldst_lanes: fields.machine("ldst_lanes", Key::LanesLdst),
            wavefronts: fields.or("wavefronts", 0.0),
            pass_cycles: fields.machine("pass_cycles", Key::SharedPassCycles),
            l2_bytes: 0.0,
            l2_bytes_per_clk: None,
            dram_bytes: fields.or("dram_bytes", 0.0),
            bandwidth: fields.machine("bandwidth", Key::DramPeakBandwidth),
            sms: fields.machine("sms", Key::SmCount),
            clock: fields.machine_by("clock", |reader| Ok(reader.clock()?)),
        };
        let readings = fields.finish()?;
        require_positive(&[
            ("issue_per_clk", inputs.issue_per_clk),
            ("ldst_lanes", inputs.ldst_lanes),
            ("sms", inputs.sms),
            ("clock", inputs.clock),
            ("bandwidth", inputs.bandwidth),
        ])?;
        prediction(&inputs, readings, Vec::new())
    }
}

/// The machine instructions that the warps of a launch execute, by class.
struct Work {
    /// Executions, and units of work: more than one for an instruction of the tensor lanes.
    by_class: Vec<(MachineClass, f64, f64)>,
    /// Executions of what integer lanes and those of multiply-adds can do; they have no units in `by_class`.
    either: f64,
    /// Executions of instructions that may access shared memory, by the instruction of the program that they are made of.
    shared: BTreeMap<u32, f64>,
    /// Instructions of the program that count lanes.
    counted: BTreeSet<u32>,
}

/// Whether lanes load more than 32 bits each.
fn is_wide_load(line: &LineCounts) -> bool {
    let key = line.opcode.key;
    let bytes = match key.types.iter().next() {
        Some(NamedType::Scalar(ty)) => ty.bytes(),
        Some(NamedType::Narrow(_)) | None => 0,
    };
    key.family == Family::Ld && u32::from(key.elements) * bytes > 4
}

impl Work {
    /// What the warps of the launch executed.
    fn of(traced: &Traced, code: &Code) -> Self {
        let mut by_class: Vec<_> = MachineClass::ALL.iter().map(|&class| (class, 0.0, 0.0)).collect();
        let mut shared: BTreeMap<u32, f64> = BTreeMap::new();
        let mut counted = BTreeSet::new();
        let mut either = 0.0;
        let blocks = code.executions(&traced.executions).into_iter();
        for (inst, n) in blocks.flat_map(|(block, n)| code.block(block).iter().map(move |inst| (inst, n as f64))) {
            let (_, executions, units) = &mut by_class[inst.class as usize];
            *executions += n;
            match inst.lanes {
                IntegerLanes::OfClass => *units += n * f64::from(inst.units()),
                IntegerLanes::Either | IntegerLanes::MultiplyAdd => either += n,
            }
            if matches!(inst.class, MachineClass::Atomic | MachineClass::Reduction)
                && inst.amount == MachineInst::COUNTED
            {
                counted.insert(inst.place);
            }
            if inst.touches_memory() && matches!(inst.space, StateSpace::Shared | StateSpace::Generic) {
                *shared.entry(inst.place).or_default() += n;
            }
        }
        by_class.retain(|&(_, executions, _)| executions > 0.0);
        Self { by_class, either, shared, counted }
    }

    /// Share of the program's wavefronts that machine code needs at least.
    fn share_of_wavefronts(&self, profile: &Profile, rule: BankRule, packs_pairs: bool) -> f64 {
        let (mut all, mut needed) = (0.0, 0.0);
        for line in &profile.lines {
            let wavefronts = line.shared.get(&rule).map_or(0, |counts| counts.wavefronts) as f64;
            let instructions = self.shared.get(&line.pc.0).copied().unwrap_or(0.0);
            all += wavefronts;
            let least = match line.shared.get(&rule) {
                _ if packs_pairs && is_wide_load(line) => bank::LEAST_PACKED,
                // One that counts lanes takes them together that mean one word.
                Some(counts) if counts.atomics > 0 && self.counted.contains(&line.pc.0) => {
                    counts.ideal_wavefronts as f64 / wavefronts.max(1.0)
                }
                _ => 1.0,
            };
            needed += least * wavefronts * (instructions / (line.executed as f64).max(1.0)).min(1.0);
        }
        if all > 0.0 { needed / all } else { 1.0 }
    }

    /// Gives what two pipes can do to that which has less to do, until both have the same: nobody shares out better.
    fn share_out(&self, pipes: &mut [(Pipe, f64)], reader: &mut Reader<'_>) -> Result<(), Refusal> {
        let (integer, integer_cycles) = pipe_time(reader, MachineClass::Int)?;
        let (multiply_add, multiply_add_cycles) = pipe_time(reader, MachineClass::IntMul)?;
        let ahead = pipes[multiply_add as usize].1 - pipes[integer as usize].1;
        let even = (ahead + self.either * multiply_add_cycles) / (integer_cycles + multiply_add_cycles);
        let on_integer = even.clamp(0.0, self.either);
        pipes[integer as usize].1 += on_integer * integer_cycles;
        pipes[multiply_add as usize].1 += (self.either - on_integer) * multiply_add_cycles;
        Ok(())
    }

    fn inputs(&self, profile: &Profile, reader: &mut Reader<'_>) -> Result<Inputs, Refusal> {
        if self.by_class.is_empty() {
            return Err(Refusal::impossible("no warp executed anything"));
        }
        let mut pipes: Vec<(Pipe, f64)> = Pipe::ALL.iter().map(|&pipe| (pipe, 0.0)).collect();
        for &(class, _, units) in &self.by_class {
            let (pipe, cycles) = pipe_time(reader, class)?;
            pipes[pipe as usize].1 += units * cycles;
        }
        if self.either > 0.0 {
            self.share_out(&mut pipes, reader)?;
        }
        pipes.retain(|&(_, cycles)| cycles > 0.0);
        let cc = reader.machine().cc;
        let rule = BankRule::of(cc.major.into());
        let wavefronts = profile.shared.get(&rule).map_or(0, |counts| counts.wavefronts) as f64;
        let (read, written) = (profile.distinct_sectors_read as f64, profile.distinct_sectors_written as f64);
        let l2_size = reader.need(Key::L2Size)?;
        let kept = l2_size / SECTOR_BYTES;
        let memory = self.by_class.iter().filter(|(class, _, _)| takes_ldst_lanes(*class));
        Ok(Inputs {
            instructions: self.by_class.iter().map(|(_, executions, _)| executions).sum(),
            issue_per_clk: issue_per_clk(reader)?,
            pipes,
            schedulers: reader.need(Key::SmSubpartitions)?,
            memory_instructions: memory.map(|(_, executions, _)| executions).sum(),
            ldst_lanes: reader.need(Key::LanesLdst)?,
            wavefronts: wavefronts * self.share_of_wavefronts(profile, rule, bank::packs_pairs(cc.major)),
            pass_cycles: reader.need(Key::SharedPassCycles)?,
            l2_bytes: SECTOR_BYTES * read.max(written),
            l2_bytes_per_clk: if l2_size > 0.0 { Some(reader.need(Key::L2SmBytesPerClk)?) } else { None },
            dram_bytes: SECTOR_BYTES * ((read - written - kept).max(0.0) + (written - kept).max(0.0)),
            bandwidth: reader.need(Key::DramPeakBandwidth)?,
            sms: reader.need(Key::SmCount)?,
            clock: reader.clock()?,
        })
    }
}

fn issue_per_clk(reader: &mut Reader<'_>) -> Result<f64, Refusal> {
    let (schedulers, width) = (reader.need(Key::SmSubpartitions)?, reader.need(Key::IssueWidth)?);
    Ok(schedulers * width / reader.need(Key::IssueInterval)?)
}

fn takes_ldst_lanes(class: MachineClass) -> bool {
    use MachineClass as C;
    matches!(class, C::Load | C::Store | C::Atomic | C::Reduction | C::AsyncCopy | C::Shuffle)
}

fn prediction(inputs: &Inputs, readings: Readings, mut assumptions: Vec<Assumption>) -> Result<Prediction, Refusal> {
    assumptions.extend([AssumptionId::PerfectOverlap.plain(), AssumptionId::MustReachDram.plain()]);
    assumptions.extend(of_machine(&readings.assumptions));
    let read = |keys: &[Key]| {
        let read = readings.parameters.iter().map(|read| read.key);
        read.filter(|key| keys.contains(key)).collect::<Vec<Key>>()
    };
    let terms: Vec<Term> = inputs
        .bounds()
        .into_iter()
        .map(|bound| Term {
            name: bound.name,
            resource: bound.resource,
            cycles: Cycles(bound.cycles),
            parameters: read(bound.parameters),
            parts: Vec::new(),
        })
        .collect();
    let time = Combine::Max.apply(&terms).expect("a maximum follows from its terms");
    let quantities = vec![
        Symbol::WarpInstructions.of(inputs.instructions),
        Symbol::InstructionsPerCycle.of(inputs.issue_per_clk),
        Symbol::DramBytes.of(inputs.dram_bytes),
    ];
    Prediction {
        model: ModelId::SpeedOfLight,
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

#[cfg(test)]
mod tests {
    use warplens_machine::{Strictness, builtin};

    use super::*;

    /// Cycles of integer lanes and of multiply-adds, with so many warps' instructions that both can do.
    fn shared_out(integer: f64, multiply_add: f64, either: f64) -> (f64, f64) {
        let machine = builtin::machine("h200").expect("it is built in").expect("its file is valid");
        let mut reader = Reader::new(&machine, Strictness::AllowInferred);
        let work = Work { by_class: Vec::new(), either, shared: BTreeMap::new(), counted: BTreeSet::new() };
        let mut pipes: Vec<(Pipe, f64)> = Pipe::ALL.iter().map(|&pipe| (pipe, 0.0)).collect();
        (pipes[Pipe::Alu as usize].1, pipes[Pipe::Fma as usize].1) = (integer, multiply_add);
        work.share_out(&mut pipes, &mut reader).expect("the machine has both");
        (pipes[Pipe::Alu as usize].1, pipes[Pipe::Fma as usize].1)
    }

    #[test]
    fn what_two_pipes_can_do_is_shared_out_evenly() {
        // A warp takes two cycles on either.
        assert_eq!(shared_out(0.0, 0.0, 10.0), (10.0, 10.0));
        assert_eq!(shared_out(20.0, 0.0, 10.0), (20.0, 20.0));
        assert_eq!(shared_out(50.0, 10.0, 10.0), (50.0, 30.0));
        assert_eq!(shared_out(0.0, 30.0, 10.0), (20.0, 30.0));
    }
}
