//! Cycles that one SM needs to issue and execute one warp's instructions.
//!
//! Before compute capability 2.0 a warp instruction takes 4 cycles, as the papers have it: a warp on eight lanes. From
//! 2.0 on it takes max(32 / lanes of its class, 1 / instructions issued per cycle), summed over the classes. An operation
//! that the machine carries out as several costs the sum over its expansion. A shared-memory access that takes more
//! than one pass adds a pass interval for each further one: the banks over the load/store lanes.

use std::collections::BTreeMap;

use warplens_isa::{Family, InstKey, OpClass, ScalarType, TensorLanes};
use warplens_machine::{Key, Reader, expansion};

use crate::assumption::AssumptionId;
use crate::prediction::Resource;
use crate::residency::THREADS_PER_WARP;
use crate::workload::Workload;
use crate::{Assumption, Refusal};

/// Issue_cycles before compute capability 2.0: the 32 threads of a warp on the 8 lanes of an SM.
pub const ISSUE_CYCLES: f64 = 4.0;

/// What slow operations cost before compute capability 2.0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlowOperations {
    /// What every instruction costs.
    AsOthers,
    /// Their own cost.
    OwnCost,
}

/// What one warp asks of the issue slots and lanes of an SM.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ComputeLoad {
    /// Instruction classes and operations, with what they ask for.
    pub parts: Vec<LoadPart>,
    /// Cycles that extra passes of shared-memory accesses add.
    pub conflict_cycles: f64,
    /// Cycles per slot of a warp scheduler: 1 / instructions issued per cycle.
    pub issue_interval: f64,
    /// What was assumed on the way.
    pub assumptions: Vec<Assumption>,
}

/// What one class or operation asks for.
#[derive(Clone, PartialEq, Debug)]
pub struct LoadPart {
    /// The class or the operation.
    pub name: String,
    /// The lanes that it runs on; issue slots alone where lanes never bound it.
    pub resource: Resource,
    /// Instructions issued.
    pub slots: f64,
    /// Cycles in which it occupies its lanes.
    pub lane_cycles: f64,
    /// Cycles that it is charged: at least those of its slots, and at least those of its lanes.
    pub cycles: f64,
}

impl ComputeLoad {
    /// Comp_cycles: everything one after the other.
    pub fn cycles(&self) -> f64 {
        self.parts.iter().map(|part| part.cycles).sum::<f64>() + self.conflict_cycles
    }

    /// Cycles that at most are saved where special functions run beside everything else: those that remain after the
    /// special-function units or the other lanes, whichever are busy longer, but for the issue slots that both share.
    pub fn special_overlap(&self) -> f64 {
        let special = |part: &&LoadPart| part.resource == Resource::Sfu;
        let busy: f64 = self.parts.iter().filter(special).map(|part| part.cycles).sum();
        let slots: f64 = self.parts.iter().filter(special).map(|part| part.slots * self.issue_interval).sum();
        overlap_of(self.cycles(), busy, slots)
    }

    /// Instructions issued, after expansion.
    pub fn slots(&self) -> f64 {
        self.parts.iter().fold(0.0, |sum, part| sum + part.slots)
    }

    /// Cycles in which each kind of lanes is occupied, issue slots left out.
    pub fn lane_cycles(&self) -> BTreeMap<Resource, f64> {
        let mut by_resource = BTreeMap::new();
        for part in self.parts.iter().filter(|part| part.lane_cycles > 0.0) {
            *by_resource.entry(part.resource).or_insert(0.0) += part.lane_cycles;
        }
        by_resource
    }

    /// A load of plain instructions, of which an SM issues `issue_per_clk` per cycle.
    pub fn of_slots(slots: f64, issue_per_clk: f64) -> Self {
        let mut load = Self { issue_interval: 1.0 / issue_per_clk, ..Self::default() };
        load.add("instructions", Resource::Issue, slots, 0.0);
        load
    }

    fn add(&mut self, name: impl ToString, resource: Resource, slots: f64, lane_cycles: f64) {
        if slots <= 0.0 && lane_cycles <= 0.0 {
            return;
        }
        let cycles = lane_cycles.max(slots * self.issue_interval);
        self.parts.push(LoadPart { name: name.to_string(), resource, slots, lane_cycles, cycles });
    }
}

/// What two kinds of lanes save at most by working at the same time, of `cycles` in all: one is busy for `busy` cycles,
/// in `slots` of which its instructions are issued, which nothing overlaps with.
pub(crate) fn overlap_of(cycles: f64, busy: f64, slots: f64) -> f64 {
    (busy - slots).min(cycles - busy).max(0.0)
}

/// The load of one warp of `workload`.
pub fn compute_load(
    workload: &Workload,
    slow: SlowOperations,
    reader: &mut Reader<'_>,
) -> Result<ComputeLoad, Refusal> {
    let mut load =
        if reader.machine().cc.major < 2 { before_fermi(workload, slow, reader)? } else { by_class(workload, reader)? };
    if workload.extra_passes > 0.0 {
        load.conflict_cycles = workload.extra_passes * pass_interval(reader)?;
        load.assumptions.push(AssumptionId::BankConflicts.plain());
    }
    Ok(load)
}

/// Cycles per pass of a shared-memory access.
pub fn pass_interval(reader: &mut Reader<'_>) -> Result<f64, Refusal> {
    Ok(reader.need(Key::SharedBanks)? / lanes(reader, Key::LanesLdst)?)
}

/// Issue_cycles of an instruction of an unspecified class, where there is such a thing.
pub fn flat_issue_cycles(reader: &mut Reader<'_>) -> Result<f64, Refusal> {
    if reader.machine().cc.major < 2 {
        return Ok(ISSUE_CYCLES);
    }
    Err(Refusal::impossible(format!(
        "on {} (compute capability {}) the cycles per instruction depend on the classes of the instructions",
        reader.machine().id,
        reader.machine().cc
    )))
}

/// 4 cycles for every instruction; the special operations of the transaction-based model at their own cost.
fn before_fermi(workload: &Workload, slow: SlowOperations, reader: &mut Reader<'_>) -> Result<ComputeLoad, Refusal> {
    let mut load = ComputeLoad { issue_interval: ISSUE_CYCLES, ..ComputeLoad::default() };
    let mut flat = workload.total_insts;
    let mut uncharged = Vec::new();
    if slow == SlowOperations::OwnCost {
        for &(ref opcode, count) in &workload.high_latency {
            match slow_cost(&opcode.key, reader)? {
                Some(cycles) => {
                    flat -= count;
                    let special = special_cycles(&opcode.key, cycles, reader)?;
                    load.add(opcode, Resource::Sfu, count, count * special);
                    let rest = format!("{opcode}, refined");
                    load.add(rest, Resource::Issue, count * (cycles - special) / ISSUE_CYCLES, 0.0);
                }
                None => uncharged.push(opcode.to_string()),
            }
        }
    }
    load.add("instructions", Resource::Issue, flat.max(0.0), 0.0);
    load.assumptions.push(AssumptionId::FlatIssue.plain());
    if !uncharged.is_empty() {
        load.assumptions.push(AssumptionId::NoExpansion.with(uncharged.join(", ")));
    }
    Ok(load)
}

/// Cycles of a slow operation before compute capability 2.0, if they are known.
pub fn slow_cost(operation: &InstKey, reader: &mut Reader<'_>) -> Result<Option<f64>, Refusal> {
    if operation.ty() != Some(ScalarType::F32) {
        return Ok(None);
    }
    let key = match operation.family {
        Family::Sqrt => Key::CostSqrtF32,
        Family::Rsqrt => Key::CostRsqrtF32,
        Family::Rcp => Key::CostRcpF32,
        Family::Div => Key::CostDivF32,
        Family::Sin | Family::Cos | Family::Ex2 | Family::Lg2 => {
            return Ok(Some(THREADS_PER_WARP / lanes(reader, Key::LanesSfu)?));
        }
        _ => return Ok(None),
    };
    // A machine file that states no cost leaves the operation at that of every instruction.
    Ok(reader.machine().fact(key).is_some().then(|| reader.need(key)).transpose()?)
}

/// Of the `cycles` of a slow operation, those on the special-function units. A division takes a reciprocal there and
/// is refined by multiplications; the others are made of special functions alone.
pub(crate) fn special_cycles(operation: &InstKey, cycles: f64, reader: &mut Reader<'_>) -> Result<f64, Refusal> {
    if operation.family != Family::Div {
        return Ok(cycles);
    }
    Ok(cycles.min(THREADS_PER_WARP / lanes(reader, Key::LanesSfu)?))
}

/// Throughput of the classes, with operations expanded.
fn by_class(workload: &Workload, reader: &mut Reader<'_>) -> Result<ComputeLoad, Refusal> {
    let issue = reader.need(Key::SmIssuePerClk)?;
    let mut load = ComputeLoad { issue_interval: 1.0 / issue, ..ComputeLoad::default() };
    let mut plain = workload.by_class.clone();
    for &(ref opcode, count) in &workload.high_latency {
        let Some((key, class)) = expansion::key(&opcode.key) else { continue };
        let left = plain.entry(class).or_default();
        *left = (*left - count).max(0.0);
        expand(&mut load, opcode, count, key, reader)?;
    }
    let products: f64 = workload.products.values().map(|(instructions, _)| instructions).sum();
    if let Some(left) = plain.get_mut(&OpClass::Tensor) {
        // What is left has a shape that is not known.
        *left = (*left - products).max(0.0);
    }
    for (&sort, &(instructions, work)) in &workload.products {
        let (name, key) = match sort {
            TensorLanes::Warp => ("tensor", Key::LanesTensorWarp),
            TensorLanes::WarpFp32 => ("tensor fp32", Key::LanesTensorWarpFp32),
            TensorLanes::WarpFp64 => ("tensor fp64", Key::LanesTensorFp64),
            TensorLanes::Group => ("tensor groups", Key::LanesTensorFma),
        };
        load.add(name, Resource::Tensor, instructions, work / lanes(reader, key)?);
    }
    for (&class, &count) in plain.iter().filter(|(_, count)| **count > 0.0) {
        add_class(&mut load, class, count, reader)?;
    }
    load.assumptions.push(AssumptionId::ClassIssue.plain());
    if plain.get(&OpClass::Convert).is_some_and(|&count| count > 0.0) {
        load.assumptions.push(AssumptionId::ConvertLanes.plain());
    }
    let is_uncharged = |operation: &InstKey| expansion::key(operation).is_none() && !expansion::is_single(operation);
    let slow = workload.high_latency.iter().map(|(opcode, _)| opcode);
    let unexpanded: Vec<String> =
        slow.filter(|opcode| is_uncharged(&opcode.key)).map(|opcode| opcode.to_string()).collect();
    if !unexpanded.is_empty() {
        load.assumptions.push(AssumptionId::NoExpansion.with(unexpanded.join(", ")));
    }
    Ok(load)
}

fn add_class(load: &mut ComputeLoad, class: OpClass, count: f64, reader: &mut Reader<'_>) -> Result<(), Refusal> {
    let (resource, key) = match class {
        OpClass::Fp32 => (Resource::Fp32, Key::LanesFp32),
        OpClass::Fp64 => (Resource::Fp64, Key::LanesFp64),
        OpClass::Fp16 => (Resource::Fp16, Key::LanesFp16),
        OpClass::Int => (Resource::Int, Key::LanesInt32Add),
        OpClass::IntMul => {
            // Where there is no 32-bit multiplier, a product is made of narrower ones.
            if reader.need(Key::LanesInt32Mul)? == 0.0 {
                return expand(load, class.name(), count, Key::ExpansionMulLo32, reader);
            }
            (Resource::IntMul, Key::LanesInt32Mul)
        }
        OpClass::Sfu | OpClass::Convert => (Resource::Sfu, Key::LanesSfu),
        OpClass::Memory | OpClass::Atomic | OpClass::Warp => (Resource::LoadStore, Key::LanesLdst),
        OpClass::Tensor => {
            return Err(Refusal::impossible("the time of tensor instructions depends on shapes that are not counted"));
        }
        OpClass::Control | OpClass::Barrier | OpClass::Virtual | OpClass::Other => {
            load.add(class.name(), Resource::Issue, count, 0.0);
            return Ok(());
        }
    };
    // Half-precision lanes count two results per packed operation, and one that is not packed wastes the second.
    let results = if class == OpClass::Fp16 { 2.0 * THREADS_PER_WARP } else { THREADS_PER_WARP };
    let lane_cycles = count * results / lanes(reader, key)?;
    load.add(class.name(), resource, count, lane_cycles);
    Ok(())
}

/// Adds `count` operations that the machine makes of several instructions each.
fn expand(
    load: &mut ComputeLoad,
    name: impl ToString,
    count: f64,
    key: Key,
    reader: &mut Reader<'_>,
) -> Result<(), Refusal> {
    for &(kind, instructions) in reader.mix(key)? {
        let slots = count * instructions;
        if slots == 0.0 {
            continue;
        }
        let Some(resource) = resource_of(kind) else {
            load.add(name.to_string(), Resource::Issue, slots, 0.0);
            continue;
        };
        let lane_cycles = slots * THREADS_PER_WARP / lanes(reader, kind)?;
        load.add(name.to_string(), resource, slots, lane_cycles);
    }
    Ok(())
}

fn resource_of(kind: Key) -> Option<Resource> {
    match kind {
        Key::LanesFp32 => Some(Resource::Fp32),
        Key::LanesFp64 => Some(Resource::Fp64),
        Key::LanesFp16 => Some(Resource::Fp16),
        Key::LanesInt32Add => Some(Resource::Int),
        Key::LanesInt32Mul => Some(Resource::IntMul),
        Key::LanesSfu => Some(Resource::Sfu),
        Key::LanesLdst => Some(Resource::LoadStore),
        _ => None,
    }
}

/// Lanes of a kind, at least one.
fn lanes(reader: &mut Reader<'_>, key: Key) -> Result<f64, Refusal> {
    let lanes = reader.need(key)?;
    if lanes > 0.0 {
        return Ok(lanes);
    }
    Err(Refusal {
        missing: vec![key.json_name()],
        reason: format!("{} has no {} lanes", reader.machine().id, key.field()),
    })
}
