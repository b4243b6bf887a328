//! Operands and accesses of an instruction, by the rules for what a trace does not say.

use warplens_base::Diagnostic;
use warplens_isa::StateSpace;
use warplens_trace::{AccessKind, ActiveMask, MachineClass, RegisterNumber, WARP_SIZE, WarpTraceBuilder};

use super::Parsed;
use super::line::Inst;
use crate::sass::opcode;

/// Bytes of the windows through which generic addresses reach shared and local memory.
const WINDOW: u64 = 1 << 24;
/// The register that is always zero.
const ZERO: u16 = 255;

/// Where generic addresses reach other spaces.
#[derive(Clone, Copy)]
pub(super) struct Bases {
    pub(super) shared: Option<u64>,
    pub(super) local: Option<u64>,
}

/// An instruction with what its opcode says.
#[derive(Clone, Copy)]
pub(super) struct Operand<'i> {
    pub(super) inst: &'i Inst<'i>,
    pub(super) name: &'i str,
    pub(super) modifiers: &'i str,
    pub(super) class: MachineClass,
}

impl Operand<'_> {
    fn has(&self, wanted: &str) -> bool {
        self.modifiers.split('.').any(|modifier| modifier == wanted)
    }

    /// Space that the opcode names.
    pub(super) fn space(&self) -> StateSpace {
        match self.name {
            "LDS" | "LDSM" | "STS" | "STSM" | "ATOMS" => StateSpace::Shared,
            "LDL" | "STL" => StateSpace::Local,
            "LD" | "ST" | "ATOM" => StateSpace::Generic,
            _ => StateSpace::Global,
        }
    }

    /// Bytes of each lane, as elements and their number.
    fn width(&self) -> (u8, u8) {
        if self.moves_matrices() {
            return (4, 4);
        }
        let named = self.modifiers.split('.').find_map(|modifier| match modifier {
            "U8" | "S8" | "8" => Some(1),
            "U16" | "S16" | "16" => Some(2),
            "32" | "U32" | "S32" => Some(4),
            "64" | "U64" | "S64" => Some(8),
            "128" | "U128" => Some(16),
            _ => None,
        });
        let bytes = named.unwrap_or(match self.inst.width {
            bytes @ (1 | 2 | 4 | 8 | 16) => bytes as u8,
            _ => 4,
        });
        match bytes {
            8 => (4, 2),
            16 => (4, 4),
            bytes => (bytes, 1),
        }
    }

    fn moves_matrices(&self) -> bool {
        matches!(self.name, "LDSM" | "STSM")
    }

    /// Matrices that a load or store of matrices moves.
    fn matrices(&self) -> u16 {
        [4, 2].into_iter().find(|number: &u16| self.has(&number.to_string())).unwrap_or(1)
    }

    /// Registers of the data of a memory access.
    fn data_registers(&self) -> u16 {
        if self.moves_matrices() {
            return self.matrices();
        }
        let (bytes, elements) = self.width();
        (u16::from(bytes) * u16::from(elements)).div_ceil(4)
    }

    /// Registers of a result.
    fn written(&self) -> u16 {
        match self.class {
            MachineClass::Load | MachineClass::Atomic => self.data_registers(),
            MachineClass::Fp64 | MachineClass::TensorFp64 => 2,
            MachineClass::Tensor if self.has("F16") => 2,
            MachineClass::Tensor | MachineClass::TensorFp32 => 4,
            MachineClass::Convert if self.has("F64") || self.has("64") => 2,
            _ if self.has("WIDE") => 2,
            _ => 1,
        }
    }

    /// Registers of an operand.
    fn read(&self, index: usize) -> u16 {
        match (self.class, index) {
            // The address comes first.
            (class, 0) if class.accesses_memory() => 1 + u16::from(self.has("E")),
            (MachineClass::Store | MachineClass::Atomic | MachineClass::Reduction, _) => self.data_registers(),
            (MachineClass::Fp64 | MachineClass::TensorFp64, _) => 2,
            (MachineClass::Tensor | MachineClass::TensorFp32, 0) if self.has("16816") => 4,
            (MachineClass::Tensor | MachineClass::TensorFp32, 0 | 1) => 2,
            (MachineClass::Tensor | MachineClass::TensorFp32, _) => self.written(),
            (_, 2) if self.has("WIDE") => 2,
            _ => 1,
        }
    }

    /// Registers written, wide results with all their parts.
    pub(super) fn writes(&self) -> Vec<RegisterNumber> {
        let results = self.inst.writes.iter().filter(|&&register| register != ZERO);
        results.flat_map(|&register| register..register + self.written()).collect()
    }

    /// Registers read, wide operands with all their parts, each once.
    pub(super) fn reads(&self) -> Vec<RegisterNumber> {
        let mut reads = Vec::new();
        for (index, &register) in self.inst.reads.iter().enumerate().filter(|(_, register)| **register != ZERO) {
            for part in register..register + self.read(index) {
                if !reads.contains(&part) {
                    reads.push(part);
                }
            }
        }
        reads
    }

    /// The third operand of a multiply-add.
    pub(super) fn addend(&self) -> Option<RegisterNumber> {
        let adds = matches!(self.name, "FFMA" | "DFMA" | "HFMA2" | "IMAD" | "XMAD");
        self.inst.reads.get(2).copied().filter(|&register| adds && register != ZERO)
    }

    /// How much of its class's work the instruction is.
    pub(super) fn amount(&self) -> Parsed<u32> {
        let immediate = self.inst.immediate.and_then(|number| u32::try_from(number).ok());
        Ok(match self.class {
            MachineClass::Tensor | MachineClass::TensorFp32 | MachineClass::TensorFp64 | MachineClass::TensorAsync => {
                opcode::matrix_work(self.name, self.modifiers).ok_or_else(|| {
                    let message = format!("the shape of `{}` is not known", self.inst.opcode);
                    Diagnostic::error("N113", self.inst.opcode_span, message)
                })?
            }
            MachineClass::AsyncWait => immediate.unwrap_or(0),
            MachineClass::Barrier | MachineClass::BarrierArrive => immediate.filter(|&number| number < 16).unwrap_or(0),
            _ => 1,
        })
    }

    /// Adds the accesses to the trace's last step: one for each space that the lanes reach.
    pub(super) fn accesses(&self, trace: &mut WarpTraceBuilder, bases: Bases) {
        let Some(addresses) = &self.inst.addresses else { return };
        let kind = match self.class {
            MachineClass::Load | MachineClass::AsyncCopy => AccessKind::Load,
            MachineClass::Store => AccessKind::Store,
            _ => AccessKind::Atomic,
        };
        let spaces = [StateSpace::Global, StateSpace::Shared, StateSpace::Local];
        let mut masks = [ActiveMask::EMPTY; 3];
        let mut relative = [0; WARP_SIZE];
        for lane in self.lanes().lanes() {
            let (index, address) = self.place(addresses[lane], bases);
            masks[index] |= ActiveMask(1 << lane);
            relative[lane] = address;
        }
        for (space, mask) in spaces.into_iter().zip(masks).filter(|(_, mask)| !mask.is_empty()) {
            trace.access(0, space, kind, self.width(), mask, &relative);
        }
    }

    /// Lanes whose addresses count: each group of eight names the rows of one 8x8 matrix.
    fn lanes(&self) -> ActiveMask {
        let named = if self.moves_matrices() { 8 * u32::from(self.matrices()) } else { 32 };
        self.inst.mask & ActiveMask::first(named)
    }

    /// The space that an address lies in (global, shared, local) and the address there.
    fn place(&self, address: u64, bases: Bases) -> (usize, u64) {
        let offset = |base: Option<u64>| address.checked_sub(base?).filter(|&offset| offset < WINDOW);
        let (shared, local) = (offset(bases.shared), offset(bases.local));
        match (self.space(), shared, local) {
            (StateSpace::Shared, shared, _) => (1, shared.unwrap_or(address)),
            (StateSpace::Local, _, local) => (2, local.unwrap_or(address)),
            (StateSpace::Generic, Some(shared), _) => (1, shared),
            (StateSpace::Generic, None, Some(local)) => (2, local),
            _ => (0, address),
        }
    }
}
