//! The generation that code is made for.

use std::collections::BTreeMap;

use warplens_ir::{FunctionId, Module, call_graph};
use warplens_isa::Op;
use warplens_machine::{ComputeCapability, Key, Missing, Reader, expansion};
use warplens_trace::MachineClass;

/// A generation, and what it makes of the operations that it has no instruction for.
#[derive(Clone, PartialEq, Debug)]
pub struct Target {
    /// Compute capability.
    pub compute_capability: ComputeCapability,
    /// Machine instructions of the operations that the kernel uses, by the entry of the machine's table.
    pub(crate) mixes: BTreeMap<Key, Vec<(MachineClass, u32)>>,
    /// Conversions between single and double precision take the lanes of double precision, where these are fewer than those of
    /// other conversions.
    pub(crate) converts_on_fp64: bool,
}

impl Target {
    /// Reads what a machine makes of the operations of a kernel. Missing is what the kernel uses and the machine file
    /// does not say; before compute capability 2.0, where no table of expansions exists, only integer and
    /// double-precision division and double-precision roots are missing.
    pub fn read(module: &Module, kernel: FunctionId, reader: &mut Reader<'_>) -> Result<Self, Missing> {
        let mut target = Self::plain(reader.machine().cc);
        let lanes = |key: Key| reader.machine().number(key);
        let (fp64, conversion) = (lanes(Key::LanesFp64), lanes(Key::LanesConversion));
        target.converts_on_fp64 =
            target.is_from(7, 0) && fp64.zip(conversion).is_some_and(|(fp64, other)| fp64 < other);
        let functions = call_graph::reachable(module, kernel);
        let blocks = functions.iter().flat_map(|&function| module.functions[function].block_ids());
        for inst in blocks.flat_map(|block| &module.blocks[block].insts) {
            let key = match expansion::key(&module.key(inst.pc)) {
                Some((key, _)) => key,
                None if target.lacks_multiplier() && is_product(inst.op()) => Key::ExpansionMulLo32,
                None => continue,
            };
            if target.mixes.contains_key(&key) || target.compute_capability.major < 2 && has_rule_1x(key) {
                continue;
            }
            target.mixes.insert(key, machine_mix(reader.mix(key)?));
        }
        Ok(target)
    }

    /// A generation whose table of expansions was not read: enough for kernels without such operations.
    pub fn plain(compute_capability: ComputeCapability) -> Self {
        Self { compute_capability, mixes: BTreeMap::new(), converts_on_fp64: false }
    }

    /// True from this compute capability on.
    pub(crate) fn is_from(&self, major: u8, minor: u8) -> bool {
        self.compute_capability >= ComputeCapability::new(major, minor)
    }

    /// The compute capability as one number: 80 for 8.0.
    pub(crate) fn number(&self) -> u32 {
        u32::from(self.compute_capability.major) * 10 + u32::from(self.compute_capability.minor)
    }

    /// Products of 32 bits are made of narrower ones: Maxwell and Pascal.
    pub(crate) fn lacks_multiplier(&self) -> bool {
        matches!(self.compute_capability.major, 5 | 6)
    }
}

fn is_product(op: Op) -> bool {
    matches!(op, Op::Mul | Op::MulHi | Op::MulWide | Op::Mad | Op::MadHi | Op::MadWide)
}

/// What [`select`](crate::select) knows about compute capability 1.x itself.
fn has_rule_1x(key: Key) -> bool {
    !matches!(
        key,
        Key::ExpansionDivRnF64
            | Key::ExpansionRcpRnF64
            | Key::ExpansionSqrtRnF64
            | Key::ExpansionDivU32
            | Key::ExpansionDivS32
            | Key::ExpansionRemU32
            | Key::ExpansionRemS32
            | Key::ExpansionDivU64
            | Key::ExpansionDivS64
    )
}

/// A machine's mix in the order in which it is issued: special functions first, whose estimates the rest refines; the
/// branch around the code for operands out of range last.
fn machine_mix(mix: &[(Key, f64)]) -> Vec<(MachineClass, u32)> {
    let class = |key: Key| match key {
        Key::LanesFp32 => MachineClass::Fp32,
        Key::LanesFp64 => MachineClass::Fp64,
        Key::LanesFp16 => MachineClass::Fp16,
        Key::LanesInt32Add => MachineClass::Int,
        Key::LanesInt32Mul => MachineClass::IntMul,
        Key::LanesSfu => MachineClass::Sfu,
        // The way around the code for operands out of range.
        _ => MachineClass::Branch,
    };
    let mut classes: Vec<(MachineClass, u32)> =
        mix.iter().map(|&(key, count)| (class(key), count.round() as u32)).filter(|&(_, count)| count > 0).collect();
    classes.sort_by_key(|&(class, _)| match class {
        MachineClass::Sfu => 0,
        MachineClass::Branch => 2,
        _ => 1,
    });
    classes
}
