//! What single instructions do: accesses to memory, and results as far as they can be known.

use warplens_exec::semantics::warp;
use warplens_ir::{Inst, Memory, MemoryReference, Operand};
use warplens_isa::{
    AddressConversion, AddressDirection, BoolOp, Comparison, CopyRead, Op, Operation, ScalarType, ShuffleMode,
    StateSpace, VoteMode,
};
use warplens_trace::{Access, AccessKind, ActiveMask, WarpIndex};

use crate::code::Step;
use crate::follow;
use crate::operation::Computation;
use crate::path::Path;
use crate::region::Dependence;
use crate::value::{LANES, Truth, Value, lanes_of};
use crate::walk::{Stop, Walker};

/// Bytes beyond which no rule of the hardware tells addresses apart: in CTAs whose addresses are the same modulo this
/// the transactions and bank conflicts are the same.
pub(crate) const PHASE_BYTES: u64 = 256;
/// Where lanes with unknown addresses are taken to access, each in lines and banks' rows of its own.
const SCATTERED: u64 = 1 << 45;
/// Bytes of a sector.
const SECTOR_BYTES: u8 = 32;
/// Distance of such lanes: of all of them in the same bank.
const SCATTER_BYTES: u64 = 4096;

/// Who takes part in an exchange between lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Among {
    /// The lanes that execute it together, all with each other.
    Themselves,
    /// The lanes that execute it together, in groups.
    Groups,
    /// Lanes that are elsewhere, as far as is known.
    Others,
}

impl Walker<'_> {
    /// A load, store or atomic in the lanes of `on`.
    pub(crate) fn access(&mut self, path: &Path, inst: &Inst, on: u32, weight: f64) -> Result<(), Stop> {
        let kind = match inst.op() {
            Op::Ld | Op::Ldmatrix | Op::Tex | Op::Tld4 | Op::Suld => AccessKind::Load,
            Op::St | Op::Stmatrix | Op::Sust => AccessKind::Store,
            _ => AccessKind::Atomic,
        };
        // Only some lanes bring the address of a row.
        let on = match inst.operation {
            Operation::Ldmatrix(matrices) | Operation::Stmatrix(matrices) => on & matrices.rows(),
            _ => on,
        };
        match &inst.memory {
            Memory::None => Ok(()),
            Memory::One(memory) => self.access_at(path, inst, memory, kind, on, weight),
            Memory::Copy { to, from } => {
                let zeros = self.reads_nothing(path, inst, on);
                self.access_at(path, inst, from, AccessKind::Load, on & !zeros, weight)?;
                self.access_at(path, inst, to, AccessKind::Store, on, weight)
            }
        }
    }

    /// Lanes of a copy that read nothing. Where that is not known they are taken to read, which is an upper bound.
    fn reads_nothing(&mut self, path: &Path, inst: &Inst, on: u32) -> u32 {
        let (zeros, known, axes) = match (inst.operation, inst.sources.first()) {
            (Operation::Copy(CopyRead::Bytes), Some(bytes)) => {
                let bytes = self.operand(path, bytes, ScalarType::U32);
                let zeros = lanes_of(bytes.known).filter(|&lane| bytes.lanes[lane] == 0);
                (zeros.fold(0, |mask, lane| mask | 1 << lane), bytes.known, bytes.dependence.axes())
            }
            (_, Some(zeros)) => {
                let zeros = self.truth(path, zeros);
                (zeros.on(), zeros.known, zeros.opaque)
            }
            (_, None) => return 0,
        };
        self.region.pin(axes);
        if on & !known != 0 {
            self.notes.addresses.insert(inst.pc);
        }
        zeros
    }

    /// An access of one kind to one place.
    fn access_at(
        &mut self,
        path: &Path,
        inst: &Inst,
        memory: &MemoryReference,
        kind: AccessKind,
        on: u32,
        weight: f64,
    ) -> Result<(), Stop> {
        let (written, address) = (memory.space, self.address(path, memory));
        // A handle says nothing about where texels lie.
        let is_opaque = matches!(written, StateSpace::Texture | StateSpace::Surface);
        let known = if is_opaque { 0 } else { on & address.known };
        let unknown = on & !known;
        if known != 0 {
            // What warps load from the same line is counted over all of them: they have to move together.
            if kind == AccessKind::Load || !self.tally.can_move(&self.region, &address.dependence) {
                self.region.keep_modulo(&address.dependence, PHASE_BYTES)?;
            }
        }
        if unknown != 0 {
            self.notes.addresses.insert(inst.pc);
        }
        let mut rest = known;
        loop {
            // A generic access to several spaces gives one event each. Unknown addresses are taken to lie where the
            // known ones do, and in global memory without any.
            let lowest = lanes_of(rest).next().map(|lane| address.lanes[lane]);
            let space_of = |address: u64| match written {
                StateSpace::Generic => self.code.program.space_of(address),
                space => space,
            };
            let space = match (lowest, written) {
                (Some(lowest), _) => space_of(lowest),
                (None, StateSpace::Generic) => StateSpace::Global,
                (None, space) => space,
            };
            let here = lanes_of(rest).filter(|&lane| space_of(address.lanes[lane]) == space);
            let here = here.fold(0, |mask, lane| mask | 1 << lane);
            let scattered = if rest == known { unknown } else { 0 };
            if space != StateSpace::Param && here | scattered != 0 {
                let window = if written == StateSpace::Generic { self.code.program.window(space) } else { 0 };
                self.record((inst, memory), kind, space, &address, window, (here, scattered), weight);
            }
            rest &= !here;
            if rest == 0 {
                return Ok(());
            }
        }
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of one event")]
    fn record(
        &mut self,
        (inst, memory): (&Inst, &MemoryReference),
        kind: AccessKind,
        space: StateSpace,
        address: &Value,
        window: u64,
        (known, scattered): (u32, u32),
        weight: f64,
    ) {
        let elements = memory.elements;
        // Of a texture at least a sector for each lane.
        let element_bytes = if space == StateSpace::Texture { SECTOR_BYTES } else { inst.ty.bytes() as u8 };
        let lane_bytes = u32::from(element_bytes) * u32::from(elements);
        let own = SCATTERED + u64::from(self.warp) * LANES as u64 * SCATTER_BYTES;
        let addresses: [u64; LANES] = std::array::from_fn(|lane| {
            if scattered >> lane & 1 == 1 {
                own + lane as u64 * SCATTER_BYTES
            } else {
                address.lanes[lane].wrapping_sub(window)
            }
        });
        if space == StateSpace::Global {
            self.footprint.access(kind, &addresses, known, lane_bytes, &address.dependence);
            self.footprint.unknown(kind, scattered, lane_bytes);
        }
        let mask = ActiveMask(known | scattered);
        let (addresses, unchanged) = ((&addresses).into(), ActiveMask::EMPTY);
        let access = Access { space, kind, element_bytes, elements, mask, addresses, unchanged };
        self.tally.access(weight, WarpIndex(self.warp), inst.pc, &access, &self.region, &address.dependence);
    }

    /// The address of a place in memory.
    fn address(&self, path: &Path, memory: &MemoryReference) -> Value {
        let wide = memory.base.register().is_none_or(|register| register.width.bits() > 32);
        let base = self.operand(path, &memory.base, if wide { ScalarType::B64 } else { ScalarType::B32 });
        let mask = if wide { u64::MAX } else { u64::from(u32::MAX) };
        base.map(|address| address.wrapping_add_signed(memory.offset) & mask)
    }

    /// Computes the results of an instruction in the lanes of `mask`, as far as they can be known.
    pub(crate) fn evaluate(&mut self, path: &mut Path, inst: &Inst, step: &Step, mask: u32) -> Result<(), Stop> {
        if inst.ty == ScalarType::Pred && matches!(inst.op(), Op::Mov | Op::Not | Op::And | Op::Or | Op::Xor) {
            self.combine(path, inst, mask);
            return Ok(());
        }
        if let Some(operation) = step.operation {
            return self.compute(path, inst, &operation, mask);
        }
        match &inst.operation {
            Operation::ReadSpecial | Operation::Mov => self.copy(path, inst, mask),
            Operation::Cvta(conversion) => self.convert_address(path, inst, conversion, mask),
            Operation::Isspacep(space) => self.test_space(path, inst, space, mask),
            Operation::Setp(comparison) => self.compare(path, inst, comparison, mask),
            Operation::Set(comparison) => self.set(path, inst, comparison, mask),
            Operation::Selp => self.select(path, inst, mask),
            Operation::Pack => self.pack(path, inst, mask),
            Operation::Unpack => self.unpack(path, inst, mask),
            Operation::Ld(_) => self.load_parameter(path, inst, mask),
            Operation::Shfl(mode) => self.shuffle(path, inst, mode, mask),
            Operation::Vote(mode) => self.vote(path, inst, mode, mask),
            Operation::Activemask => self.write(path, inst, 0, &Value::constant(mask.into()), ScalarType::B32, mask),
            Operation::Elect if self.among(path, inst, 0, mask) != Among::Themselves => {
                inst.writes().for_each(|register| path.registers.forget(register, mask, self.live));
            }
            Operation::Elect => {
                let leader = warp::elect(mask) & 31;
                self.write(path, inst, 0, &Value::constant(leader.into()), ScalarType::B32, mask);
                self.write_truth(path, inst, 1, Truth { bits: 1 << leader, known: u32::MAX, opaque: 0 }, mask);
            }
            _ => {
                for register in inst.writes() {
                    path.registers.forget(register, mask, self.live);
                }
            }
        }
        Ok(())
    }

    fn write(&self, path: &mut Path, inst: &Inst, at: usize, value: &Value, ty: ScalarType, mask: u32) {
        if let Some(Some(register)) = inst.destinations.get(at) {
            path.registers.write(*register, value, ty, mask, self.live);
        }
    }

    fn write_truth(&self, path: &mut Path, inst: &Inst, at: usize, truth: Truth, mask: u32) {
        if let Some(Some(register)) = inst.destinations.get(at) {
            path.registers.set_predicate(*register, truth, mask, self.live);
        }
    }

    /// Integer operations.
    fn compute(&mut self, path: &mut Path, inst: &Inst, operation: &Computation, mask: u32) -> Result<(), Stop> {
        let sources: Vec<Value> = inst
            .sources
            .iter()
            .zip(&operation.sources)
            .map_while(|(source, ty)| ty.map(|ty| self.operand(path, source, ty)))
            .collect();
        let n_sources = operation.sources.iter().flatten().count();
        let known = sources.iter().fold(mask, |known, source| known & source.known);
        let mut result = Value::UNKNOWN;
        if known != 0 && sources.len() == n_sources {
            for lane in lanes_of(known) {
                let mut bits = [0; 4];
                sources.iter().zip(&mut bits).for_each(|(source, bits)| *bits = source.lanes[lane]);
                result.lanes[lane] = (operation.function)(bits);
            }
            result.known = known;
            result.dependence = follow::result(inst, &sources, &operation.sources, mask, &mut self.region)?;
            if operation.result.bits() < 32 {
                // The word that holds it wraps around elsewhere.
                result.dependence = Dependence::opaque(result.dependence.axes());
            }
        } else if inst.op() == Op::And || inst.op() == Op::Mul {
            // Zero is zero whatever the other operand.
            for value in sources.iter().filter(|value| value.dependence.is_none()) {
                let zeros = lanes_of(value.known & mask).filter(|&lane| value.lanes[lane] == 0);
                result.known |= zeros.fold(0, |zeros, lane| zeros | 1 << lane);
            }
        }
        self.write(path, inst, 0, &result, operation.result, mask);
        Ok(())
    }

    /// Operations on predicates.
    fn combine(&self, path: &mut Path, inst: &Inst, mask: u32) {
        let source = |at: usize| inst.sources.get(at).map_or(Truth::UNKNOWN, |operand| self.truth(path, operand));
        let truth = match inst.op() {
            Op::And => source(0).and(source(1)),
            Op::Or => source(0).or(source(1)),
            Op::Xor => source(0).xor(source(1)),
            Op::Not => source(0).not(),
            _ => source(0),
        };
        self.write_truth(path, inst, 0, truth, mask);
    }

    fn copy(&self, path: &mut Path, inst: &Inst, mask: u32) {
        let Some(source) = inst.sources.first() else { return };
        let value = self.operand(path, source, inst.ty);
        self.write(path, inst, 0, &value, inst.ty, mask);
    }

    fn convert_address(&self, path: &mut Path, inst: &Inst, conversion: &AddressConversion, mask: u32) {
        let Some(source) = inst.sources.first() else { return };
        let ty = if inst.ty.bits() == 64 { ScalarType::U64 } else { ScalarType::U32 };
        let window = self.code.program.window(conversion.space);
        let shift = match conversion.direction {
            AddressDirection::ToGeneric => window,
            AddressDirection::FromGeneric => window.wrapping_neg(),
        };
        let narrow = if ty.bits() == 32 { u64::from(u32::MAX) } else { u64::MAX };
        let value = self.operand(path, source, ty).map(|address| address.wrapping_add(shift) & narrow);
        self.write(path, inst, 0, &value, ty, mask);
    }

    fn test_space(&mut self, path: &mut Path, inst: &Inst, space: &StateSpace, mask: u32) {
        let Some(source) = inst.sources.first() else { return };
        let address = self.operand(path, source, ScalarType::B64);
        let is_there = |lane: usize| self.code.program.space_of(address.lanes[lane]) == *space;
        let bits = lanes_of(address.known & mask).fold(0, |bits, lane| bits | u32::from(is_there(lane)) << lane);
        // An address does not move from one window to another between CTAs.
        let truth = Truth { bits, known: address.known, opaque: address.dependence.opaque };
        self.write_truth(path, inst, 0, truth, mask);
    }

    /// The comparison of the first two sources, combined with the third if there is one; and its complement.
    fn comparison(&mut self, path: &Path, inst: &Inst, comparison: &Comparison, mask: u32) -> (Truth, Truth) {
        let [a, b, ..] = &inst.sources[..] else { return (Truth::UNKNOWN, Truth::UNKNOWN) };
        let (a, b) = (self.operand(path, a, inst.source_ty), self.operand(path, b, inst.source_ty));
        let truth = follow::compared(inst, comparison, &a, &b, mask, &mut self.region);
        match (comparison.combination.op, inst.sources.get(2)) {
            (Some(op), Some(operand)) => {
                let other = self.truth(path, operand);
                let with = |truth: Truth| match op {
                    BoolOp::And => truth.and(other),
                    BoolOp::Or => truth.or(other),
                    BoolOp::Xor => truth.xor(other),
                };
                (with(truth), with(truth.not()))
            }
            _ => (truth, truth.not()),
        }
    }

    fn compare(&mut self, path: &mut Path, inst: &Inst, comparison: &Comparison, mask: u32) {
        if inst.source_ty.is_packed() {
            self.write_truth(path, inst, 0, Truth::UNKNOWN, mask);
            self.write_truth(path, inst, 1, Truth::UNKNOWN, mask);
            return;
        }
        let (truth, complement) = self.comparison(path, inst, comparison, mask);
        self.write_truth(path, inst, 0, truth, mask);
        self.write_truth(path, inst, 1, complement, mask);
    }

    fn set(&mut self, path: &mut Path, inst: &Inst, comparison: &Comparison, mask: u32) {
        let mut value = Value::UNKNOWN;
        if inst.ty.is_integer() && !inst.source_ty.is_packed() {
            let (truth, _) = self.comparison(path, inst, comparison, mask);
            let ones = u64::MAX >> (64 - inst.ty.bits());
            value = Value {
                lanes: std::array::from_fn(|lane| if truth.bits >> lane & 1 == 1 { ones } else { 0 }),
                known: truth.known,
                dependence: Dependence::opaque(truth.opaque),
            };
        }
        self.write(path, inst, 0, &value, inst.ty, mask);
    }

    fn select(&mut self, path: &mut Path, inst: &Inst, mask: u32) {
        let [a, b, chosen] = &inst.sources[..] else { return };
        let (a, b) = (self.operand(path, a, inst.ty), self.operand(path, b, inst.ty));
        let truth = self.truth(path, chosen);
        let mut value = Value::UNKNOWN;
        let first = truth.on() & mask & a.known;
        let second = truth.off() & mask & b.known;
        // Where it is not known which one is taken, they may still be the same.
        let either = mask & !truth.known & a.known & b.known;
        let same = lanes_of(either).filter(|&lane| a.lanes[lane] == b.lanes[lane] && a.dependence == b.dependence);
        let same = same.fold(0, |same, lane| same | 1 << lane);
        for lane in lanes_of(first | second | same) {
            value.lanes[lane] = if (first | same) >> lane & 1 == 1 { a.lanes[lane] } else { b.lanes[lane] };
        }
        value.known = first | second | same;
        value.dependence = match (first | same, second) {
            (0, 0) => Dependence::NONE,
            (_, 0) => a.dependence,
            (0, _) => b.dependence,
            _ => a.dependence.of_either(&b.dependence),
        };
        if value.known != 0 && truth.opaque != 0 {
            value.dependence = Dependence::opaque(truth.opaque | a.dependence.axes() | b.dependence.axes());
        }
        self.write(path, inst, 0, &value, inst.ty, mask);
    }

    fn pack(&self, path: &mut Path, inst: &Inst, mask: u32) {
        let n_parts = inst.sources.len() as u32;
        let part_bits = inst.ty.bits() / n_parts.max(1);
        if inst.ty.bits() > 64 || part_bits == 0 || part_bits > 32 {
            return self.write(path, inst, 0, &Value::UNKNOWN, inst.ty, mask);
        }
        let part_ty = match part_bits {
            8 => ScalarType::B8,
            16 => ScalarType::B16,
            _ => ScalarType::B32,
        };
        let parts: Vec<Value> = inst.sources.iter().map(|source| self.operand(path, source, part_ty)).collect();
        let mut value = Value::constant(0);
        for (at, part) in parts.iter().enumerate() {
            let shift = part_bits * at as u32;
            value.lanes.iter_mut().zip(&part.lanes).for_each(|(bits, part)| *bits |= part << shift);
            value.known &= part.known;
        }
        value.dependence = Dependence::opaque(parts.iter().fold(0, |axes, part| axes | part.dependence.axes()));
        self.write(path, inst, 0, &value, inst.ty, mask);
    }

    fn unpack(&self, path: &mut Path, inst: &Inst, mask: u32) {
        let n_parts = inst.destinations.len() as u32;
        let part_bits = inst.ty.bits() / n_parts.max(1);
        let Some(source) = inst.sources.first() else { return };
        let whole = if inst.ty.bits() > 64 { Value::UNKNOWN } else { self.operand(path, source, inst.ty) };
        let part_ty = match part_bits {
            8 => ScalarType::B8,
            16 => ScalarType::B16,
            32 => ScalarType::B32,
            _ => ScalarType::B64,
        };
        for at in 0..n_parts {
            let shift = part_bits * at;
            let low = if part_bits >= 64 { u64::MAX } else { (1 << part_bits) - 1 };
            let mut part = whole.clone().map(|bits| bits >> shift.min(63) & low);
            part.dependence = match at {
                0 => whole.dependence.in_bits(part_bits),
                _ => Dependence::opaque(whole.dependence.axes()),
            };
            self.write(path, inst, at as usize, &part, part_ty, mask);
        }
    }

    /// A load: known from the parameter space only.
    fn load_parameter(&self, path: &mut Path, inst: &Inst, mask: u32) {
        let bytes = inst.ty.bytes() as usize;
        let parameter = inst.memory.one().filter(|memory| memory.space == StateSpace::Param && bytes <= 8);
        let address = parameter.map(|memory| self.address(path, &memory));
        let address = address.filter(|address| address.dependence.is_none()).unwrap_or(Value::UNKNOWN);
        let result_bits = if inst.ty.bits() > 32 { 64 } else { 32 };
        for at in 0..inst.destinations.len() {
            let mut value = Value::UNKNOWN;
            for lane in lanes_of(address.known & mask) {
                let start = usize::try_from(address.lanes[lane]).unwrap_or(usize::MAX).saturating_add(at * bytes);
                let Some(found) = self.setting.parameters.get(start..start.saturating_add(bytes)) else { continue };
                let mut word = [0; 8];
                word[..bytes].copy_from_slice(found);
                let mut bits = u64::from_le_bytes(word);
                if inst.ty.is_signed() {
                    let unused = 64 - 8 * bytes as u32;
                    bits = ((bits << unused) as i64 >> unused) as u64 & (u64::MAX >> (64 - result_bits));
                }
                value.lanes[lane] = bits;
                value.known |= 1 << lane;
            }
            let ty = match (result_bits, inst.ty.is_signed()) {
                (64, _) => ScalarType::B64,
                (_, true) => ScalarType::S32,
                _ => ScalarType::B32,
            };
            self.write(path, inst, at, &value, ty, mask);
        }
    }

    fn shuffle(&self, path: &mut Path, inst: &Inst, mode: &ShuffleMode, mask: u32) {
        let source = |at: usize, default: u64| {
            let operand = inst.sources.get(at).copied().unwrap_or(Operand::Immediate(default));
            self.operand(path, &operand, ScalarType::B32)
        };
        let (value, lane_operand, clamp) = (source(0, 0), source(1, 0), source(2, 0x1f));
        let decided = lane_operand.known & clamp.known;
        let is_same = lane_operand.dependence.is_none() && clamp.dependence.is_none();
        if !is_same || self.among(path, inst, 3, mask) == Among::Others {
            self.write(path, inst, 0, &Value::UNKNOWN, ScalarType::B32, mask);
            return self.write_truth(path, inst, 1, Truth::UNKNOWN, mask);
        }
        let mut received = Value { dependence: value.dependence, ..Value::UNKNOWN };
        let mut in_range = Truth { known: decided, ..Truth::UNKNOWN };
        for lane in lanes_of(decided & mask) {
            let (b, c) = (lane_operand.lanes[lane] as u32, clamp.lanes[lane] as u32);
            let (from, is_in_range) = warp::shuffle_source(*mode, lane as u32, b, c);
            in_range.bits |= u32::from(is_in_range) << lane;
            let from = from as usize % LANES;
            received.lanes[lane] = value.lanes[from];
            received.known |= (value.known >> from & 1) << lane;
        }
        self.write(path, inst, 0, &received, ScalarType::B32, mask);
        self.write_truth(path, inst, 1, in_range, mask);
    }

    /// Who takes part in an exchange that the lanes of `mask` execute; its member mask is the source `at`.
    fn among(&self, path: &Path, inst: &Inst, at: usize, mask: u32) -> Among {
        let Some(operand) = inst.sources.get(at) else { return Among::Themselves };
        let members = self.operand(path, operand, ScalarType::B32);
        if mask & !members.known != 0 || !members.dependence.is_none() {
            return Among::Others;
        }
        let named = |lane: usize| members.lanes[lane] as u32 & self.live;
        if lanes_of(mask).all(|lane| named(lane) == mask) {
            Among::Themselves
        } else if lanes_of(mask).all(|lane| named(lane) & !mask == 0) {
            Among::Groups
        } else {
            Among::Others
        }
    }

    fn vote(&self, path: &mut Path, inst: &Inst, mode: &VoteMode, mask: u32) {
        let truth = inst.sources.first().map_or(Truth::UNKNOWN, |operand| self.truth(path, operand));
        let is_whole = self.among(path, inst, 1, mask) == Among::Themselves;
        let all_known = is_whole && mask & !truth.known == 0;
        if *mode == VoteMode::Ballot {
            let mut value = Value::UNKNOWN;
            if all_known {
                value = Value::constant(warp::vote_ballot(truth.bits, mask).into());
                value.dependence = Dependence::opaque(truth.opaque);
            }
            return self.write(path, inst, 0, &value, ScalarType::B32, mask);
        }
        let answer = match mode {
            VoteMode::All if is_whole && truth.off() & mask != 0 => Some(false),
            VoteMode::Any if is_whole && truth.on() & mask != 0 => Some(true),
            _ if !all_known => None,
            VoteMode::All => Some(warp::vote_all(truth.bits, mask)),
            VoteMode::Any => Some(warp::vote_any(truth.bits, mask)),
            _ => Some(warp::vote_uni(truth.bits, mask)),
        };
        let answer = answer.map_or(Truth::UNKNOWN, Truth::constant);
        self.write_truth(path, inst, 0, Truth { opaque: truth.opaque, ..answer }, mask);
    }
}
