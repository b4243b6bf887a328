//! What lies in the constant banks of a kernel: what the driver puts there, the parameters, constants of the program,
//! addresses.

use std::collections::BTreeMap;

use warplens_ir::{Operand as Ir, VariableId};
use warplens_isa::{Axis, SpecialRegister, StateSpace};

use super::operands::Lowered;

/// What the instructions of a kernel refer to.
#[derive(Clone, Debug)]
pub(super) struct Facts<'m> {
    /// Number of the chip.
    pub(super) sm: u32,
    /// The kernel may look into the shared memory of other CTAs.
    pub(super) is_of_cluster: bool,
    /// Where the parameters begin in bank 0.
    pub(super) parameter_base: u32,
    /// Bytes of the module's bank 0.
    pub(super) parameter_end: u32,
    /// Bytes of local memory of a thread.
    pub(super) local_bytes: u32,
    /// The constants that the compiler made for the kernel, and the variable that holds them.
    pub(super) compiled: &'m [u8],
    pub(super) compiled_variable: Option<VariableId>,
    /// Addresses that a bank of the module holds, by bank and offset.
    pub(super) addresses: &'m BTreeMap<(u32, u32), Ir>,
    /// The variable that holds what the bank of addresses does.
    pub(super) address_variable: Option<VariableId>,
    /// The variables that lie in the bank of the program's constants, by offset.
    pub(super) constants: &'m BTreeMap<u32, VariableId>,
    /// Values that a loader puts into the code, by the place of the instruction.
    pub(super) relocated: &'m BTreeMap<u64, Relocated>,
}

/// A value that a loader puts into an instruction.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Relocated {
    pub(super) operand: Ir,
    pub(super) is_upper: bool,
}

/// What lies at a place of a constant bank.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Stored {
    /// A parameter: what the module's bank of parameters holds there.
    Parameter,
    /// A value that is known.
    Known(u64),
    /// A part of a constant variable.
    Variable { variable: VariableId, offset: i64 },
    /// An address, or its upper half.
    Address { operand: Ir, is_upper: bool },
    /// What the driver puts there.
    Driver(Driver),
}

/// What the driver puts into bank 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Driver {
    Value(u64),
    BlockExtent(usize),
    GridExtent(usize),
    Special(SpecialRegister),
    /// The generic address of the first byte of a space, or its upper half.
    Window {
        space: StateSpace,
        is_upper: bool,
    },
    /// The generic address of the bank of the program's constants, or its upper half.
    Constants {
        is_upper: bool,
    },
    /// The generic address of the first parameter, or its upper half.
    Parameters {
        is_upper: bool,
    },
    /// One by the CTAs of a cluster along an axis, as a float.
    ClusterReciprocal(usize),
}

/// The bank of the driver and the parameters.
const PARAMETERS: u32 = 0;
/// Bytes that the bank has behind the parameters: what is read of one may be wider than it.
pub(super) const PARAMETER_SLACK: u32 = 16;
/// The bank of the constants that the compiler made for the kernel.
const COMPILER: u32 = 2;
/// The bank of addresses.
const ADDRESSES: u32 = 4;
/// The bank of the program's constants.
const PROGRAM: u32 = 3;

/// Where parameters begin in bank 0, for kernels that have none and do not say it.
pub(super) const fn first_parameter(sm: u32) -> u32 {
    match sm {
        0..90 => 0x160,
        90..100 => 0x210,
        _ => 0x380,
    }
}

impl Facts<'_> {
    /// What lies at `offset` of a bank.
    pub(super) fn constant(&self, bank: u32, offset: u32) -> Lowered<Stored> {
        if bank == PARAMETERS && offset < self.parameter_base {
            return self
                .driver(offset)
                .map(Stored::Driver)
                .ok_or("a constant of the driver whose meaning is not known");
        }
        if bank == PROGRAM {
            let (variable, offset) = self.variable(offset)?;
            return Ok(Stored::Variable { variable, offset });
        }
        if let Some(&operand) = self.addresses.get(&(bank, offset)) {
            return Ok(Stored::Address { operand, is_upper: false });
        }
        if let Some(&operand) = offset.checked_sub(4).and_then(|offset| self.addresses.get(&(bank, offset))) {
            return Ok(Stored::Address { operand, is_upper: true });
        }
        match bank {
            PARAMETERS if offset.saturating_add(8) <= self.parameter_end => Ok(Stored::Parameter),
            PARAMETERS => Err("a constant behind the parameters"),
            COMPILER => {
                let byte = |at: usize| self.compiled.get(offset as usize + at).copied().unwrap_or(0);
                Ok(Stored::Known(u64::from_le_bytes(std::array::from_fn(byte))))
            }
            _ => Err("a constant bank that is not known"),
        }
    }

    /// So many bytes from `offset` of bank 0 on are parameters.
    pub(super) const fn is_in_parameters(&self, offset: u32, bytes: u32) -> bool {
        offset >= self.parameter_base
            && offset.saturating_add(bytes) <= self.parameter_end.saturating_sub(PARAMETER_SLACK)
    }

    /// The constant variable that holds a place of its bank, and the offset in it.
    pub(super) fn variable(&self, offset: u32) -> Lowered<(VariableId, i64)> {
        let found = self.constants.range(..=offset).next_back();
        let (&start, &variable) = found.ok_or("a constant that no variable holds")?;
        Ok((variable, i64::from(offset - start)))
    }

    /// The variable that holds what a register counts from a place of a bank, and the offset in it.
    pub(super) fn indexed(&self, bank: u32, offset: u32) -> Lowered<(VariableId, i64)> {
        match bank {
            PROGRAM => self.variable(offset),
            COMPILER => {
                let variable = self.compiled_variable.ok_or("a constant bank that the kernel does not have")?;
                Ok((variable, i64::from(offset)))
            }
            ADDRESSES => {
                let variable = self.address_variable.ok_or("a constant bank that the file does not have")?;
                Ok((variable, i64::from(offset)))
            }
            _ => Err("a constant bank that is not known"),
        }
    }

    /// The generic address of the bank of the program's constants.
    pub(super) fn constants_base(&self) -> Lowered<Ir> {
        let (variable, offset) = self.variable(0)?;
        Ok(Ir::Variable { variable, offset: -offset, generic: true })
    }

    /// Places were found in code that ptxas made of PTX that asks for these values.
    fn driver(&self, offset: u32) -> Option<Driver> {
        let local = |is_upper| Driver::Window { space: StateSpace::Local, is_upper };
        let shared = |is_upper| Driver::Window { space: StateSpace::Shared, is_upper };
        let stack = Driver::Value(u64::from(self.local_bytes));
        // From sm_100 on the extents lie right before the parameters.
        Some(if self.sm >= 100 {
            match offset {
                0x120 => Driver::Constants { is_upper: false },
                0x124 => Driver::Constants { is_upper: true },
                0x348 => Driver::Parameters { is_upper: false },
                0x34c => Driver::Parameters { is_upper: true },
                0x2f8 => local(false),
                0x2fc => local(true),
                // The descriptor of global memory, which no access of the emulator looks at.
                0x358 | 0x35c => Driver::Value(0),
                0x360 | 0x364 | 0x368 => Driver::BlockExtent((offset - 0x360) as usize / 4),
                0x370 | 0x374 | 0x378 => Driver::GridExtent((offset - 0x370) as usize / 4),
                0x36c => Driver::Special(SpecialRegister::IsExplicitCluster),
                0x37c => stack,
                _ => return None,
            }
        } else {
            match offset {
                0x0 | 0x4 | 0x8 => Driver::BlockExtent(offset as usize / 4),
                0xc | 0x10 | 0x14 => Driver::GridExtent((offset - 0xc) as usize / 4),
                0x18 => shared(false),
                0x1c => shared(true),
                0x20 => local(false),
                0x24 => local(true),
                0x28 => stack,
                0x44 if self.sm >= 90 => Driver::Special(SpecialRegister::Envreg(1)),
                0x48 if self.sm >= 90 => Driver::Special(SpecialRegister::Envreg(2)),
                0x2c if self.sm >= 90 => Driver::Special(SpecialRegister::DynamicSmemSize),
                0x140 if self.sm >= 90 => Driver::Special(SpecialRegister::IsExplicitCluster),
                0x144..=0x188 if self.sm >= 90 => return of_cluster(offset - 0x144),
                0x198 if self.sm >= 90 => Driver::Parameters { is_upper: false },
                0x19c if self.sm >= 90 => Driver::Parameters { is_upper: true },
                0x50 if self.sm < 90 => Driver::Constants { is_upper: false },
                0x54 if self.sm < 90 => Driver::Constants { is_upper: true },
                0x8c if self.sm < 90 => Driver::Special(SpecialRegister::Envreg(1)),
                0x90 if self.sm < 90 => Driver::Special(SpecialRegister::Envreg(2)),
                0xd0 if self.sm >= 90 => Driver::Constants { is_upper: false },
                0xd4 if self.sm >= 90 => Driver::Constants { is_upper: true },
                0x118 | 0x11c if self.sm < 90 => Driver::Value(0),
                0x208 | 0x20c if self.sm >= 90 => Driver::Value(0),
                _ => return None,
            }
        })
    }
}

/// What the driver says of clusters, from where it begins to.
fn of_cluster(offset: u32) -> Option<Driver> {
    let axis = |index: u32| [Axis::X, Axis::Y, Axis::Z][index as usize / 4 % 3];
    Some(match offset {
        0x0 | 0x4 | 0x8 => Driver::Special(SpecialRegister::ClusterNctaid(axis(offset))),
        0xc | 0x10 | 0x14 => Driver::ClusterReciprocal(offset as usize / 4 - 3),
        0x18 | 0x1c | 0x20 => Driver::Special(SpecialRegister::Nclusterid(axis(offset))),
        0x44 => Driver::Special(SpecialRegister::ClusterNctarank),
        _ => return None,
    })
}

/// What lies at a place that a register with `SR_CgaSize` says, which is how code from sm_100 on asks for what depends on
/// the mode of clusters: the place without the register.
pub(super) fn of_cluster_mode(offset: i64) -> Option<Driver> {
    Some(match offset {
        0x254 => Driver::Special(SpecialRegister::Envreg(1)),
        0x258 => Driver::Special(SpecialRegister::Envreg(2)),
        0x2a0 | 0x2a4 | 0x2a8 => return of_cluster(offset as u32 - 0x2a0),
        0x2ac => Driver::Special(SpecialRegister::DynamicSmemSize),
        0x2b0 | 0x2b4 | 0x2b8 => Driver::ClusterReciprocal((offset - 0x2b0) as usize / 4),
        0x2c0 | 0x2c4 | 0x2c8 => return of_cluster(offset as u32 - 0x2c0 + 0x18),
        0x2cc => Driver::Special(SpecialRegister::ClusterNctarank),
        _ => return None,
    })
}
