//! Loads, stores and atomics.

use warplens_ir::{Inst, Memory, MemoryReference, Operand, Register, Width};
use warplens_isa::{AccessOrder, Atomic, AtomicOp, ScalarType};

use super::movement::half_of;
use super::{Binding, no_such_form};
use crate::code::{Base, Kind, MemoryOperation, SINK, Unbound, Wide};
use crate::decode::Decoder;
use crate::raw::{Source, map1};

pub(super) fn ld(decoder: &mut Decoder<'_>, inst: &Inst, _: &AccessOrder) -> Binding {
    let mut operation = memory_operation(decoder, inst)?;
    for &register in &inst.destinations {
        match register {
            Some(quad) if quad.width == Width::Quad => {
                for part in 0..2 {
                    operation.destinations.push(decoder.write(Some(half_of(quad, part)), ScalarType::B64));
                }
            }
            _ => {
                let ty = loaded_type(inst.ty, register);
                operation.destinations.push(decoder.write(register, ty));
            }
        }
    }
    let index = decoder.memory(operation);
    decoder.other(Kind::Load(index), [SINK; 2], &[]);
    Ok(())
}

/// Loads extend to 32 bits on their own; a pair takes a signed or unsigned word from there.
fn loaded_type(ty: ScalarType, register: Option<Register>) -> ScalarType {
    let is_pair = register.is_some_and(|register| register.width == Width::Pair);
    match ty.bits() {
        64 => ScalarType::B64,
        _ if is_pair && ty.is_signed() => ScalarType::S32,
        _ => ScalarType::B32,
    }
}

pub(super) fn st(decoder: &mut Decoder<'_>, inst: &Inst, _: &AccessOrder) -> Binding {
    let mut operation = memory_operation(decoder, inst)?;
    for operand in &inst.sources {
        match operand {
            Operand::Register(quad) if quad.width == Width::Quad && inst.ty.bits() == 128 => {
                for part in 0..2 {
                    operation.sources.push(decoder.read(&Operand::Register(half_of(*quad, part)), ScalarType::B64));
                }
            }
            _ => operation.sources.push(stored(decoder, operand, inst.ty)),
        }
    }
    let index = decoder.memory(operation);
    decoder.other(Kind::Store(index), [SINK; 2], &[]);
    Ok(())
}

fn stored(decoder: &mut Decoder<'_>, operand: &Operand, ty: ScalarType) -> Source {
    let ty = if ty.bits() == 64 { ScalarType::B64 } else { ScalarType::B32 };
    decoder.read(operand, ty)
}

fn memory_operation(decoder: &mut Decoder<'_>, inst: &Inst) -> Result<MemoryOperation, Unbound> {
    let Some(memory) = inst.memory.one() else { return Err(Unbound(inst.op(), "the address is missing")) };
    operation_at(decoder, inst, &memory)
}

/// An access without values to the place of a reference.
fn operation_at(decoder: &mut Decoder<'_>, inst: &Inst, memory: &MemoryReference) -> Result<MemoryOperation, Unbound> {
    let base = match &memory.base {
        Operand::Frame(offset) => return Ok(operation(inst, memory, Base::Frame, memory.offset + offset)),
        Operand::Immediate(address) => Base::Constant(*address),
        Operand::Variable { variable, offset, generic } => {
            Base::Constant(decoder.layout().variable_address(*variable, *generic).wrapping_add_signed(*offset))
        }
        Operand::Register(register) if register.width == Width::Word => {
            Base::Word(decoder.read(&memory.base, ScalarType::U32))
        }
        operand => Base::Pair(decoder.read(operand, ScalarType::U64)),
    };
    Ok(operation(inst, memory, base, memory.offset))
}

fn operation(inst: &Inst, memory: &MemoryReference, base: Base, offset: i64) -> MemoryOperation {
    let written_bytes = inst.ty.bytes() as u8;
    MemoryOperation {
        space: memory.space,
        base,
        offset,
        element_bytes: written_bytes.min(8),
        elements: memory.elements,
        written_bytes,
        sign_extend: inst.ty.is_signed(),
        destinations: Vec::new(),
        sources: Vec::new(),
        atomic: None,
        ordered: inst.operation.is_ordered(),
    }
}

/// A copy is a load into temporaries and a store of them, each with its event. Lanes that ask for zeros load nothing.
pub(super) fn copy(decoder: &mut Decoder<'_>, inst: &Inst) -> Binding {
    let Memory::Copy { to, from } = &inst.memory else {
        return Err(Unbound(inst.op(), "the two addresses are missing"));
    };
    if inst.ty.bits() != 32 || to.elements != from.elements {
        return no_such_form(inst);
    }
    let level = decoder.level();
    let (mut load, mut store) = (operation_at(decoder, inst, from)?, operation_at(decoder, inst, to)?);
    let zero = decoder.constant(0, Wide::No);
    for _ in 0..from.elements {
        let word = decoder.temporary();
        decoder.lane(map1(level, |word: u32| word), word, &[zero]);
        load.destinations.push(word);
        store.sources.push(Source::frame(word));
    }
    let (load, store) = (decoder.memory(load), decoder.memory(store));
    match inst.sources.first() {
        Some(zeros) => {
            let zeros = decoder.read(zeros, ScalarType::Pred);
            decoder.unless(zeros, |decoder| decoder.other(Kind::Load(load), [SINK; 2], &[]));
        }
        None => decoder.other(Kind::Load(load), [SINK; 2], &[]),
    }
    decoder.other(Kind::Store(store), [SINK; 2], &[]);
    Ok(())
}

pub(super) fn atom(decoder: &mut Decoder<'_>, inst: &Inst, atomic: &Atomic) -> Binding {
    let op = atomic.op;
    if inst.ty.bits() > 64 || !crate::semantics::atomic::is_defined(op, inst.ty) {
        return no_such_form(inst);
    }
    let mut operation = memory_operation(decoder, inst)?;
    operation.atomic = Some((op, inst.ty));
    operation.ordered = true;
    let n_operands = if op == AtomicOp::Cas { 2 } else { 1 } * usize::from(operation.elements);
    if inst.sources.len() != n_operands || (op == AtomicOp::Cas && operation.elements > 1) {
        return no_such_form(inst);
    }
    for operand in &inst.sources {
        operation.sources.push(stored(decoder, operand, inst.ty));
    }
    let ty = if Wide::of_bits(inst.ty.bits()) == Wide::Yes { ScalarType::B64 } else { ScalarType::B32 };
    for &register in &inst.destinations {
        operation.destinations.push(decoder.write(register, ty));
    }
    let index = decoder.memory(operation);
    decoder.other(Kind::Atomic(index), [SINK; 2], &[]);
    Ok(())
}

pub(super) fn red(decoder: &mut Decoder<'_>, inst: &Inst, atomic: &Atomic) -> Binding {
    atom(decoder, inst, atomic)
}
