//! Barriers in memory, and the copies that tell them.
//!
//! The bits of a barrier are not those of the hardware: what begins one is told from the bits that the code writes there,
//! and what an arrival found becomes bits of which the code may ask what it asks the hardware's.

use warplens_ir::{Memory, MemoryReference, Operand as Ir, Register, Width};
use warplens_isa::{
    AccessOrder, Atomic, AtomicOp, BulkCopy, Conversion, MbarrierOp, MbarrierState, Operation, PhaseOf, ScalarType,
    StateSpace, TensorCopy,
};

use super::memory::atomic_op;
use super::operands::{Lowered, Lowering, SUB, word};
use crate::syntax::{Address, Operand, Syntax, Value};

/// Bits of a number of arrivals, as a mask.
const ARRIVALS: u64 = (1 << MbarrierState::ARRIVAL_BITS) - 1;
/// Where the lower word of the hardware's barrier holds the arrivals of each phase, with the opposite sign.
const EXPECTED_SHIFT: u64 = 1;
/// Where its upper word holds those that are missing, with the opposite sign; above them is the parity.
const PENDING_SHIFT: u64 = 11;
/// The parity in an upper word.
const PARITY: u64 = 1 << 31;
/// Bytes that a bulk copy counts by.
const BULK_UNIT_SHIFT: u64 = 4;

impl Lowering<'_> {
    /// `SYNCS`: what is done to barriers in memory.
    pub(super) fn memory_barrier(&mut self, syntax: &Syntax) -> Lowered {
        let words: Vec<&str> = syntax.all_words();
        match words[..] {
            ["EXCH", "64"] => self.begin_barrier(syntax),
            ["CCTL", "IV"] => self.end_barrier(syntax),
            ["PHASECHK", "TRANS64"] | ["PHASECHK", "TRANS64", "TRYWAIT"] => self.test_phase(syntax),
            ["ARRIVE", "TRANS64", ref how @ ..] => self.arrive(syntax, how),
            _ => Err("a barrier in memory of this kind"),
        }
    }

    /// `SYNCS.EXCH.64`: a barrier begins, with the arrivals that the lower word of the new value says.
    fn begin_barrier(&mut self, syntax: &Syntax) -> Lowered {
        let [old, address, value] = &syntax.operands[..] else { return Err("a barrier without three operands") };
        if !old.is_zero_register() {
            return Err("a barrier whose value is taken away");
        }
        let value = self.words(value, 2)?[0];
        let expected = self.emit_word(Operation::Shr, ScalarType::U32, &[value, Ir::Immediate(EXPECTED_SHIFT)]);
        let number = self.opposite_arrivals(expected);
        let number = self.widened(number);
        let barrier = self.barrier_at(address)?;
        self.elect_one_of_uniform(address)?;
        self.told(MbarrierOp::Init, number, barrier, None);
        Ok(())
    }

    /// `SYNCS.CCTL.IV`: the memory may be used for something else.
    fn end_barrier(&mut self, syntax: &Syntax) -> Lowered {
        let [address] = &syntax.operands[..] else { return Err("a barrier without its address") };
        let barrier = self.barrier_at(address)?;
        self.elect_one_of_uniform(address)?;
        let ordered = Operation::St(AccessOrder { ordered: true });
        self.emit(ordered, ScalarType::B64, &[], &[Ir::Immediate(0)]).memory = barrier.into();
        Ok(())
    }

    /// `SYNCS.PHASECHK.TRANS64`: the parity of a phase is the highest bit of a word, which may be the upper one of what an
    /// arrival found.
    fn test_phase(&mut self, syntax: &Syntax) -> Lowered {
        let [out, address, phase] = &syntax.operands[..] else { return Err("a phase without three operands") };
        let target = self.destination(out, Width::One)?;
        let phase = self.word(phase)?;
        let parity = match phase {
            Ir::Immediate(phase) => Ir::Immediate(phase >> 31 & 1),
            phase => self.emit_word(Operation::Shr, ScalarType::U32, &[phase, Ir::Immediate(31)]),
        };
        let barrier = self.barrier_at(address)?;
        let test = self.emit(Operation::TestPhase(PhaseOf::Parity), ScalarType::B64, &[target], &[parity]);
        test.memory = barrier.into();
        Ok(())
    }

    /// `SYNCS.ARRIVE.TRANS64`: `A` and what follows says how many arrive, `T` how many bytes: none, one, or what the
    /// register holds (`X` for bytes that have come). Without those words one arrives, and the register holds bytes.
    fn arrive(&mut self, syntax: &Syntax, how: &[&str]) -> Lowered {
        let [found, address, number] = &syntax.operands[..] else { return Err("an arrival without three operands") };
        let (how, is_silent) = match how {
            ["RED", how @ ..] => (how, true),
            how => (how, false),
        };
        let (how, drops) = match how {
            ["OPTOUT", how @ ..] => (how, true),
            how => (how, false),
        };
        let given = self.word(number)?;
        let (op, number) = match (how, drops) {
            (["A1T0"], false) => (MbarrierOp::Arrive, Ir::Immediate(1)),
            (["A1T0"], true) => (MbarrierOp::ArriveDrop, Ir::Immediate(1)),
            (["ART0"], false) => (MbarrierOp::Arrive, given),
            (["ART0"], true) => (MbarrierOp::ArriveDrop, given),
            ([], false) => (MbarrierOp::ArriveExpectTx, given),
            ([], true) => (MbarrierOp::ArriveDropExpectTx, given),
            (["A0TR"], false) => (MbarrierOp::ExpectTx, given),
            (["A0TX"], false) => (MbarrierOp::CompleteTx, given),
            // The copies of the thread are awaited as if they were a byte, which `ARRIVES` takes away again.
            (["A0T1"], false) => (MbarrierOp::AwaitCopies, Ir::Immediate(0)),
            _ => return Err("an arrival of this kind"),
        };
        let target = self.destination(found, Width::Pair)?;
        if is_silent && target.is_some() {
            return Err("an arrival of this kind");
        }
        let number = self.widened(number);
        let barrier = self.barrier_at(address)?;
        let Some(target) = target else {
            self.told(op, number, barrier, None);
            return Ok(());
        };
        let state = self.temporary(Width::Pair);
        self.told(op, number, barrier, Some(state));
        self.state_as_hardware(state, target);
        Ok(())
    }

    /// What an arrival found, in the bits that the hardware has for it: the code shifts and masks them where it asks how
    /// many arrivals were missing.
    fn state_as_hardware(&mut self, state: Register, target: Register) {
        let [low, high] = [state.index, state.index + 1].map(|index| Ir::Register(word(index)));
        let pending = self.opposite_arrivals(low);
        let pending = self.emit_word(Operation::Shl, ScalarType::B32, &[pending, Ir::Immediate(PENDING_SHIFT)]);
        let parity = self.emit_word(Operation::And, ScalarType::B32, &[high, Ir::Immediate(PARITY)]);
        let upper = self.emit_word(Operation::Or, ScalarType::B32, &[pending, parity]);
        let bits = Ir::Immediate(u64::from(MbarrierState::ARRIVAL_BITS));
        let expected = self.emit_word(Operation::Shr, ScalarType::U32, &[low, bits]);
        let rest = Ir::Immediate(u64::from(u32::BITS - MbarrierState::ARRIVAL_BITS));
        let upper_part = self.emit_word(Operation::Shl, ScalarType::B32, &[high, rest]);
        let expected = self.emit_word(Operation::Or, ScalarType::B32, &[expected, upper_part]);
        let expected = self.opposite_arrivals(expected);
        let lower = self.emit_word(Operation::Shl, ScalarType::B32, &[expected, Ir::Immediate(EXPECTED_SHIFT)]);
        self.emit(Operation::Pack, ScalarType::B64, &[Some(target)], &[lower, upper]);
    }

    /// A number of arrivals with the opposite sign.
    fn opposite_arrivals(&mut self, number: Ir) -> Ir {
        let opposite = self.emit_word(SUB, ScalarType::U32, &[Ir::Immediate(0), number]);
        self.emit_word(Operation::And, ScalarType::B32, &[opposite, Ir::Immediate(ARRIVALS)])
    }

    /// `ARRIVES.LDGSTSBAR.64`: the copies of the thread have been made, as they are when they are asked for.
    pub(super) fn copies_arrive(&mut self, syntax: &Syntax) -> Lowered {
        let [address] = &syntax.operands[..] else { return Err("a barrier without its address") };
        let (op, number) = match syntax.all_words()[..] {
            ["LDGSTSBAR", "64"] | ["LDGSTSBAR", "64", "TRANSCNT"] => (MbarrierOp::AwaitCopies, 0),
            ["LDGSTSBAR", "64", "ARVCNT"] => (MbarrierOp::CopiesArrive, 1),
            _ => return Err("an arrival of this kind"),
        };
        let barrier = self.barrier_at(address)?;
        self.told(op, Ir::Immediate(number), barrier, None);
        Ok(())
    }

    /// `STAS` and `REDAS`: to shared memory of the cluster, whose barrier at the second address is told of the bytes.
    pub(super) fn store_async(&mut self, syntax: &Syntax) -> Lowered {
        let [addresses, value] = &syntax.operands[..] else { return Err("a store without two operands") };
        let Value::Address(Address { register: Some(at), uniform: None, offset: 0 }) = &addresses.value else {
            return Err("a store of this kind");
        };
        let first = at.number.ok_or("a store without its addresses")?;
        let [to, barrier] = [first, first + 1].map(|index| self.shared_of_cluster(Ir::Register(word(index))));
        let bytes = if syntax.base() == "STAS" {
            let n = match syntax.all_words()[..] {
                [] => 1,
                ["64"] => 2,
                ["128"] => 4,
                _ => return Err("a store of this kind"),
            };
            let values = self.words(value, n)?;
            let store = self.emit(Operation::St(AccessOrder { ordered: true }), ScalarType::B32, &[], &values);
            store.memory = MemoryReference { elements: n as u8, ..to }.into();
            4 * u64::from(n)
        } else {
            let (op, ty) = reduction(syntax, 0)?;
            let value = if ty.bits() == 64 { self.pair(value)? } else { self.word(value)? };
            self.emit(Operation::Red(Atomic { op, ordered: true }), ty, &[], &[value]).memory = to.into();
            u64::from(ty.bytes())
        };
        self.told(MbarrierOp::CompleteTx, Ir::Immediate(bytes), barrier, None);
        Ok(())
    }

    /// `UBLKCP` and `UBLKRED`: many bytes at once, or a reduction of them, by one thread. The first operand is an address
    /// of global memory, or those of a place in shared memory and of the barrier there. The last one holds the bytes by
    /// 16, and above them the mask of CTAs.
    pub(super) fn copy_bulk(&mut self, syntax: &Syntax) -> Lowered {
        let [to, from, size, hint @ ..] = &syntax.operands[..] else { return Err("a copy without three operands") };
        if hint.len() > 1 {
            return Err("a copy of this kind");
        }
        let words: Vec<&str> = syntax.all_words();
        let ([to_space, from_space], rest) = words.split_first_chunk().ok_or("a copy of this kind")?;
        let (reduction, multicast, ty) = match (syntax.base(), rest) {
            ("UBLKCP", []) => (None, false, ScalarType::B32),
            ("UBLKCP", ["MULTICAST"]) => (None, true, ScalarType::B32),
            ("UBLKRED", [_, ..]) => {
                let (op, ty) = reduction(syntax, 2)?;
                (Some(op), false, ty)
            }
            _ => return Err("a copy of this kind"),
        };
        let (tells, is_from_global) = match (*to_space, *from_space) {
            ("S", "G") => (true, true),
            ("S", "S") => (true, false),
            ("G", "S") => (false, false),
            _ => return Err("a copy of this kind"),
        };
        let size = self.word(size)?;
        let bytes = self.emit_word(Operation::And, ScalarType::B32, &[size, Ir::Immediate(0xffff)]);
        let bytes = self.emit_word(Operation::Shl, ScalarType::B32, &[bytes, Ir::Immediate(BULK_UNIT_SHIFT)]);
        let mask = multicast.then(|| self.mask_of_ctas(size));
        self.elect_one()?;
        let target = uniform_address(to)?;
        let place = if tells { self.shared_of_cluster(uniform(target)) } else { global(target) };
        let source = uniform_address(from)?;
        let from = if is_from_global { global(source) } else { self.shared_of_cluster(uniform(source)) };
        let mut sources = vec![bytes];
        sources.extend(mask);
        let copy = self.emit(Operation::CopyBulk(BulkCopy { reduction, multicast }), ty, &[], &sources);
        copy.memory = Memory::Copy { to: place, from };
        if tells {
            let bytes = self.widened(bytes);
            self.told_of_copy(target + 1, bytes, mask);
        }
        Ok(())
    }

    /// `UTMALDG`, `UTMASTG`, `UTMAREDG`: a box of a tensor. The first operand names registers with the place in shared
    /// memory, its barrier if it is loaded, and the coordinates; the second those with the address of the tensor map.
    pub(super) fn copy_tensor(&mut self, syntax: &Syntax) -> Lowered {
        let [place, map, rest @ ..] = &syntax.operands[..] else { return Err("a copy without two operands") };
        let words: Vec<&str> = syntax.all_words();
        let [dimensions, how @ ..] = &words[..] else { return Err("a copy of this kind") };
        let dimensions = match *dimensions {
            "1D" => 1,
            "2D" => 2,
            "3D" => 3,
            "4D" => 4,
            "5D" => 5,
            _ => return Err("a copy of this kind"),
        };
        let (loads, multicast, reduction) = match (syntax.base(), how) {
            ("UTMALDG", []) => (true, false, None),
            ("UTMALDG", ["MULTICAST"]) => (true, true, None),
            ("UTMASTG", []) => (false, false, None),
            ("UTMAREDG", [_]) => (false, false, Some(atomic_op(syntax).ok_or("a copy of this kind")?)),
            _ => return Err("a copy of this kind"),
        };
        let mask = match (multicast, rest) {
            (true, [mask, hint @ ..]) if hint.len() <= 1 => Some(self.word(mask)?),
            (false, hint) if hint.len() <= 1 => None,
            _ => return Err("a copy of this kind"),
        };
        let mask = mask.map(|mask| self.mask_of_ctas(mask));
        self.elect_one()?;
        let first = uniform_address(place)?;
        let place = self.shared_of_cluster(uniform(first));
        let coordinates = first + 1 + u32::from(loads);
        let mut sources = vec![uniform_pair(uniform_address(map)?)];
        sources.extend((0..u32::from(dimensions)).map(|at| uniform(coordinates + at)));
        sources.extend(mask);
        let bytes = self.temporary(Width::Pair);
        let copy = Operation::CopyTensor(TensorCopy { dimensions, loads, reduction, multicast });
        self.emit(copy, ScalarType::B64, &[Some(bytes)], &sources).memory = place.into();
        if loads {
            self.told_of_copy(first + 1, Ir::Register(bytes), mask);
        }
        Ok(())
    }

    /// `UBLKPF`, `UTMAPF`, `UTMACCTL`: what the caches are told to get, by the address that the operand at `place` names.
    pub(super) fn prefetch_bulk(&mut self, syntax: &Syntax) -> Lowered {
        let (place, space) = match (syntax.base(), syntax.all_words().first().copied()) {
            ("UBLKPF", Some("L2")) => (0, StateSpace::Global),
            ("UTMAPF", Some("L2")) => (1, StateSpace::Generic),
            ("UTMACCTL", Some("PF")) => (0, StateSpace::Generic),
            ("UTMACCTL", Some("IV")) => {
                self.emit(Operation::Fence, ScalarType::B32, &[], &[]);
                return Ok(());
            }
            _ => return Err("a prefetch of this kind"),
        };
        let operand = syntax.operands.get(place).ok_or("a prefetch without its address")?;
        let base = uniform_pair(uniform_address(operand)?);
        self.elect_one()?;
        let memory = MemoryReference { space, base, offset: 0, elements: 1 };
        self.emit(Operation::Prefetch, ScalarType::B8, &[], &[]).memory = memory.into();
        Ok(())
    }

    /// The barrier that an address says.
    fn barrier_at(&mut self, operand: &Operand) -> Lowered<MemoryReference> {
        let Value::Address(address) = &operand.value else { return Err("a barrier without its address") };
        let place = self.narrow_address(address, StateSpace::Shared)?;
        Ok(MemoryReference { offset: place.offset, ..self.shared_of_cluster(place.base) })
    }

    /// A barrier is told something.
    fn told(&mut self, op: MbarrierOp, number: Ir, barrier: MemoryReference, found: Option<Register>) {
        let atomic = Atomic { op: AtomicOp::Mbarrier(op), ordered: true };
        let told = match found {
            Some(_) => self.emit(Operation::Atom(atomic), ScalarType::B64, &[found], &[number]),
            None => self.emit(Operation::Red(atomic), ScalarType::B64, &[], &[number]),
        };
        told.memory = barrier.into();
    }

    /// The barrier whose address a uniform register holds is told of bytes that have come, in each CTA of the mask if there
    /// is one.
    fn told_of_copy(&mut self, barrier: u32, bytes: Ir, mask: Option<Ir>) {
        let barrier = self.shared_of_cluster(uniform(barrier));
        let Some(mask) = mask else { return self.told(MbarrierOp::CompleteTx, bytes, barrier, None) };
        let atomic = Atomic { op: AtomicOp::Mbarrier(MbarrierOp::CompleteTx), ordered: true };
        let told = self.emit(Operation::RedCluster(atomic), ScalarType::B64, &[], &[bytes, mask]);
        told.memory = barrier.into();
    }

    /// The upper half of a word.
    fn mask_of_ctas(&mut self, word: Ir) -> Ir {
        self.emit_word(Operation::Shr, ScalarType::U32, &[word, Ir::Immediate(16)])
    }

    /// A word as 64 bits.
    fn widened(&mut self, word: Ir) -> Ir {
        if let Ir::Immediate(_) = word {
            return word;
        }
        let wide = self.emit_pair(Operation::Cvt(Conversion::default()), ScalarType::U64, &[word]);
        if let Some(inst) = self.insts.last_mut() {
            inst.source_ty = ScalarType::U32;
        }
        Ir::Register(wide)
    }

    /// What follows is done once for all lanes that are here, as instructions of uniform registers alone are.
    fn elect_one(&mut self) -> Lowered {
        let members = self.present();
        let elected = self.temporary_predicate();
        self.emit(Operation::Elect, ScalarType::B32, &[None, Some(elected)], &[members]);
        self.and_guard_by(Ir::Register(elected))
    }

    /// The same, unless each lane has an address of its own.
    fn elect_one_of_uniform(&mut self, operand: &Operand) -> Lowered {
        match &operand.value {
            Value::Address(address) if address.register.is_none_or(|at| at.number.is_none()) => self.elect_one(),
            _ => Ok(()),
        }
    }
}

/// The operation and the type of a reduction, whose words stand behind some others.
fn reduction(syntax: &Syntax, behind: usize) -> Lowered<(AtomicOp, ScalarType)> {
    let op = atomic_op(syntax).ok_or("a reduction of this kind")?;
    let words: Vec<&str> = syntax.all_words().into_iter().skip(behind + 1).collect();
    let is_bits = matches!(op, AtomicOp::And | AtomicOp::Or | AtomicOp::Xor);
    let ty = match words[..] {
        [] if is_bits => ScalarType::B32,
        [] => ScalarType::U32,
        ["S32"] => ScalarType::S32,
        ["64" | "U64"] if is_bits => ScalarType::B64,
        ["64" | "U64"] => ScalarType::U64,
        ["S64"] => ScalarType::S64,
        ["F32", "RN"] => ScalarType::F32,
        ["F64", "RN"] => ScalarType::F64,
        // Two halves are one element.
        ["F16", "RN"] => ScalarType::F16x2,
        ["BF16", "RN"] => ScalarType::Bf16x2,
        _ => return Err("a reduction of this type"),
    };
    Ok((op, ty))
}

/// The uniform register between brackets, and nothing else.
fn uniform_address(operand: &Operand) -> Lowered<u32> {
    match &operand.value {
        Value::Address(Address { register: None, uniform: Some(Some(number)), offset: 0 }) => Ok(*number),
        _ => Err("an address that is no uniform register"),
    }
}

const fn uniform(index: u32) -> Ir {
    Ir::Register(super::operands::uniform_word(index))
}

const fn uniform_pair(index: u32) -> Ir {
    Ir::Register(super::operands::uniform_pair(index))
}

const fn global(index: u32) -> MemoryReference {
    MemoryReference { space: StateSpace::Global, base: uniform_pair(index), offset: 0, elements: 1 }
}
