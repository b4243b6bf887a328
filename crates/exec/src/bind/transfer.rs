//! Loads, stores and atomics.

use warplens_ir::Width;
use warplens_isa::{AccessOrder, Atomic, AtomicOp, BulkCopy, CopyRead, ScalarType, TensorCopy};

use super::{Binder, Binding, no_such_form};
use crate::code::{Base, BulkOperation, Kind, MemoryOperation, Places, SINK, TensorOperation, Wide};
use crate::decoded::{Decoded, MemoryReference, Operand, Register};
use crate::raw::{Source, map1};

pub(super) fn ld(binder: &mut Binder<'_>, inst: &Decoded, _: &AccessOrder) -> Binding {
    let mut operation = memory_operation(binder, inst)?;
    for &register in &inst.destinations {
        match register {
            Some(quad) if quad.width == Width::Quad => {
                for part in 0..2 {
                    operation.destinations.push(binder.write(Some(quad.half(part)), ScalarType::B64));
                }
            }
            _ => {
                let ty = loaded_type(inst.ty, register);
                operation.destinations.push(binder.write(register, ty));
            }
        }
    }
    let index = binder.memory(operation);
    binder.other(Kind::Load(index), [SINK; 2], &[]);
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

pub(super) fn st(binder: &mut Binder<'_>, inst: &Decoded, _: &AccessOrder) -> Binding {
    let mut operation = memory_operation(binder, inst)?;
    for operand in &inst.sources {
        match operand {
            Operand::Register(quad) if quad.width == Width::Quad && inst.ty.bits() == 128 => {
                for part in 0..2 {
                    operation.sources.push(binder.read(&Operand::Register(quad.half(part)), ScalarType::B64));
                }
            }
            _ => operation.sources.push(stored(binder, operand, inst.ty)),
        }
    }
    let index = binder.memory(operation);
    binder.other(Kind::Store(index), [SINK; 2], &[]);
    Ok(())
}

fn stored(binder: &mut Binder<'_>, operand: &Operand, ty: ScalarType) -> Source {
    let ty = if ty.bits() == 64 { ScalarType::B64 } else { ScalarType::B32 };
    binder.read(operand, ty)
}

pub(super) fn memory_operation(binder: &mut Binder<'_>, inst: &Decoded) -> Result<MemoryOperation, &'static str> {
    let [memory] = &inst.memory[..] else { return Err("the address is missing") };
    operation_at(binder, inst, memory)
}

/// An access without values to the place of a reference.
fn operation_at(
    binder: &mut Binder<'_>,
    inst: &Decoded,
    memory: &MemoryReference,
) -> Result<MemoryOperation, &'static str> {
    let base = match &memory.base {
        Operand::Frame(offset) => return Ok(operation(inst, memory, Base::Frame, memory.offset + offset)),
        Operand::Immediate(address) => Base::Constant(*address),
        Operand::Register(register) if register.width == Width::Word => {
            Base::Word(binder.read(&memory.base, ScalarType::U32))
        }
        operand => Base::Pair(binder.read(operand, ScalarType::U64)),
    };
    Ok(operation(inst, memory, base, memory.offset))
}

fn operation(inst: &Decoded, memory: &MemoryReference, base: Base, offset: i64) -> MemoryOperation {
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
        is_copy: false,
        asks: None,
        ordered: inst.operation.is_ordered(),
        places: Places::Own,
    }
}

/// A copy is a load into temporaries and a store of them, each with its event. Lanes that ask for zeros load nothing.
pub(super) fn copy(binder: &mut Binder<'_>, inst: &Decoded, read: &CopyRead) -> Binding {
    let [to, from] = &inst.memory[..] else {
        return Err("the two addresses are missing");
    };
    if inst.ty.bits() != 32 || to.elements != from.elements {
        return no_such_form(inst);
    }
    let level = binder.level();
    let (mut load, mut store) = (operation_at(binder, inst, from)?, operation_at(binder, inst, to)?);
    let zero = binder.constant(0, Wide::No);
    for _ in 0..from.elements {
        let word = binder.temporary();
        binder.lane(map1(level, |word: u32| word), word, &[zero]);
        load.destinations.push(word);
        store.sources.push(Source::frame(word));
    }
    let (load, store) = (binder.memory(load), binder.memory(store));
    match (inst.sources.first(), read) {
        (Some(zeros), CopyRead::Unless) => {
            let zeros = binder.read(zeros, ScalarType::Pred);
            binder.unless(zeros, |binder| binder.other(Kind::Load(load), [SINK; 2], &[]));
        }
        (Some(bytes), CopyRead::Bytes) => {
            let bytes = binder.read(bytes, ScalarType::U32);
            binder.other(Kind::LoadPart(load), [SINK; 2], &[bytes]);
        }
        (None, _) => binder.other(Kind::Load(load), [SINK; 2], &[]),
    }
    binder.other(Kind::Store(store), [SINK; 2], &[]);
    Ok(())
}

pub(super) fn copy_bulk(binder: &mut Binder<'_>, inst: &Decoded, bulk: &BulkCopy) -> Binding {
    let BulkCopy { reduction, multicast } = *bulk;
    let ([to, from], [bytes, mask @ ..]) = (&inst.memory[..], &inst.sources[..]) else {
        return Err("an operand is missing");
    };
    if mask.len() != usize::from(multicast) {
        return Err("the mask of blocks is missing");
    }
    let is_known = reduction.is_none_or(|op| crate::semantics::atomic::is_defined(op, inst.ty));
    if !matches!(inst.ty.bits(), 32 | 64) || !is_known {
        return no_such_form(inst);
    }
    let (load, mut store) = (operation_at(binder, inst, from)?, operation_at(binder, inst, to)?);
    store.ordered = reduction.is_some();
    let (from, to) = (binder.memory(load), binder.memory(store));
    let index = binder.bulk(BulkOperation { from, to, ty: inst.ty, reduction, multicast });
    let mut operands = vec![binder.read(bytes, ScalarType::U32)];
    operands.extend(mask.first().map(|mask| binder.read(mask, ScalarType::U32)));
    binder.other(Kind::Bulk(index), [SINK; 2], &operands);
    Ok(())
}

pub(super) fn fill_bulk(binder: &mut Binder<'_>, inst: &Decoded) -> Binding {
    let [bytes] = &inst.sources[..] else { return Err("the number of bytes is missing") };
    let operation = memory_operation(binder, inst)?;
    let index = binder.memory(operation);
    let bytes = binder.read(bytes, ScalarType::U64);
    binder.other(Kind::Fill(index), [SINK; 2], &[bytes]);
    Ok(())
}

pub(super) fn copy_tensor(binder: &mut Binder<'_>, inst: &Decoded, copy: &TensorCopy) -> Binding {
    let n = usize::from(copy.dimensions);
    if inst.sources.len() != 1 + n + usize::from(copy.multicast) {
        return Err("an operand is missing");
    }
    let memory = memory_operation(binder, inst)?;
    let memory = binder.memory(memory);
    let map = binder.read(&inst.sources[0], ScalarType::U64);
    let coordinates = inst.sources[1..=n].iter().map(|operand| binder.read(operand, ScalarType::U32)).collect();
    let mask = inst.sources.get(1 + n).map(|mask| binder.read(mask, ScalarType::U32));
    let bytes = binder.write(inst.destinations.first().copied().flatten(), ScalarType::B64);
    let index = binder.tensor(TensorOperation { memory, map, coordinates, mask, bytes, copy: *copy });
    binder.other(Kind::Tensor(index), [bytes, SINK], &[]);
    Ok(())
}

pub(super) fn atom(binder: &mut Binder<'_>, inst: &Decoded, atomic: &Atomic) -> Binding {
    let op = atomic.op;
    let is_defined = match inst.ty.bits() {
        128 => matches!(op, AtomicOp::Cas | AtomicOp::Exch),
        _ => crate::semantics::atomic::is_defined(op, inst.ty),
    };
    if !is_defined {
        return no_such_form(inst);
    }
    let mut operation = memory_operation(binder, inst)?;
    operation.atomic = Some((op, inst.ty));
    operation.ordered = true;
    let n_operands = if op == AtomicOp::Cas { 2 } else { 1 } * usize::from(operation.elements);
    if inst.sources.len() != n_operands || (op == AtomicOp::Cas && operation.elements > 1) {
        return no_such_form(inst);
    }
    for operand in &inst.sources {
        match operand {
            Operand::Register(quad) if quad.width == Width::Quad => {
                for part in 0..2 {
                    operation.sources.push(binder.read(&Operand::Register(quad.half(part)), ScalarType::B64));
                }
            }
            _ if inst.ty.bits() == 128 => return no_such_form(inst),
            _ => operation.sources.push(stored(binder, operand, inst.ty)),
        }
    }
    let ty = if Wide::of_bits(inst.ty.bits()) == Wide::Yes { ScalarType::B64 } else { ScalarType::B32 };
    for &register in &inst.destinations {
        match register {
            Some(quad) if quad.width == Width::Quad => {
                for part in 0..2 {
                    operation.destinations.push(binder.write(Some(quad.half(part)), ScalarType::B64));
                }
            }
            _ => operation.destinations.push(binder.write(register, ty)),
        }
    }
    let index = binder.memory(operation);
    binder.other(Kind::Atomic(index), [SINK; 2], &[]);
    Ok(())
}

/// A reduction whose second source is the mask of CTAs in which it is made.
pub(super) fn red_cluster(binder: &mut Binder<'_>, inst: &Decoded, atomic: &Atomic) -> Binding {
    let [operand, mask] = &inst.sources[..] else { return Err("an operand is missing") };
    if inst.ty.bits() != 64 || !crate::semantics::atomic::is_defined(atomic.op, inst.ty) {
        return no_such_form(inst);
    }
    let mut operation = memory_operation(binder, inst)?;
    operation.atomic = Some((atomic.op, inst.ty));
    operation.ordered = true;
    operation.sources.push(stored(binder, operand, inst.ty));
    let index = binder.memory(operation);
    let mask = binder.read(mask, ScalarType::U32);
    binder.other(Kind::AtomicCluster(index), [SINK; 2], &[mask]);
    Ok(())
}

pub(super) fn red(binder: &mut Binder<'_>, inst: &Decoded, atomic: &Atomic) -> Binding {
    atom(binder, inst, atomic)
}
