//! Moves, packing, special registers and address-space conversions.

use warplens_ir::Width;
use warplens_isa::{AddressConversion, AddressDirection, ScalarType, StateSpace};

use super::{Binder, Binding, no_such_form};
use crate::code::{Kind, SINK, Wide};
use crate::decoded::{Decoded, Operand};
use crate::raw::{LaneFunction, Level, map1, map2, map4, masks};

fn copy(level: Level, ty: ScalarType) -> LaneFunction {
    match ty.bits() {
        1 => masks(level, |a, _| a),
        64 => map1(level, |a: u64| a),
        16 => map1(level, |a: u16| a),
        8 => map1(level, |a: u8| a),
        _ => map1(level, |a: u32| a),
    }
}

pub(super) fn mov(binder: &mut Binder<'_>, inst: &Decoded) -> Binding {
    if inst.ty.bits() == 128 {
        let (Some(Some(to)), Some(Operand::Register(from))) = (inst.destinations.first(), inst.sources.first()) else {
            return no_such_form(inst);
        };
        let level = binder.level();
        for part in 0..2 {
            let source = binder.read(&Operand::Register(from.half(part)), ScalarType::B64);
            let destination = binder.write(Some(to.half(part)), ScalarType::B64);
            binder.lane(map1(level, |a: u64| a), destination, &[source]);
        }
        return Ok(());
    }
    if let Some(Operand::Special(_)) = inst.sources.first() {
        return read_special(binder, inst);
    }
    binder.apply(inst, copy(binder.level(), inst.ty), &[inst.ty], inst.ty)
}

pub(super) fn read_special(binder: &mut Binder<'_>, inst: &Decoded) -> Binding {
    let Some(Operand::Special(register)) = inst.sources.first() else { return no_such_form(inst) };
    if inst.ty.bits() == 16 {
        // Old PTX reads 16-bit halves of thread and block indices.
        let row = binder.temporary();
        binder.other(Kind::Special(*register, Wide::No), [row, SINK], &[]);
        let destination = binder.write(inst.destinations.first().copied().flatten(), inst.ty);
        let handler = map1(binder.level(), |a: u16| a);
        binder.lane(handler, destination, &[crate::raw::Source::frame(row)]);
        return Ok(());
    }
    let destination = binder.write(inst.destinations.first().copied().flatten(), inst.ty);
    if inst.ty == ScalarType::Pred {
        let row = binder.temporary();
        binder.other(Kind::Special(*register, Wide::No), [row, SINK], &[]);
        let handler = map1(binder.level(), |word: u32| word != 0);
        binder.lane(handler, destination, &[crate::raw::Source::frame(row)]);
        return Ok(());
    }
    binder.other(Kind::Special(*register, Wide::of_bits(inst.ty.bits())), [destination, SINK], &[]);
    Ok(())
}

pub(super) fn pack(binder: &mut Binder<'_>, inst: &Decoded) -> Binding {
    let level = binder.level();
    match (inst.ty.bits(), inst.sources.len()) {
        (16, 2) => {
            let handler = map2(level, |a: u8, b: u8| u16::from(a) | u16::from(b) << 8);
            binder.apply(inst, handler, &[ScalarType::B8; 2], inst.ty)
        }
        (32, 2) => {
            let handler = map2(level, |a: u16, b: u16| u32::from(a) | u32::from(b) << 16);
            binder.apply(inst, handler, &[ScalarType::B16; 2], inst.ty)
        }
        (32, 4) => {
            let handler = map4(level, |a: u8, b: u8, c: u8, d: u8| u32::from_le_bytes([a, b, c, d]));
            binder.apply(inst, handler, &[ScalarType::B8; 4], inst.ty)
        }
        (64, 2) => {
            let handler = map2(level, |a: u32, b: u32| u64::from(a) | u64::from(b) << 32);
            binder.apply(inst, handler, &[ScalarType::B32; 2], inst.ty)
        }
        (64, 4) => {
            let handler = map4(level, |a: u16, b: u16, c: u16, d: u16| {
                u64::from(a) | u64::from(b) << 16 | u64::from(c) << 32 | u64::from(d) << 48
            });
            binder.apply(inst, handler, &[ScalarType::B16; 4], inst.ty)
        }
        (128, 2) => pack_quad(binder, inst),
        _ => no_such_form(inst),
    }
}

fn pack_quad(binder: &mut Binder<'_>, inst: &Decoded) -> Binding {
    let Some(Some(quad)) = inst.destinations.first() else { return Ok(()) };
    let level = binder.level();
    for (part, operand) in inst.sources.iter().enumerate() {
        let source = binder.read(operand, ScalarType::B64);
        let destination = binder.write(Some(quad.half(part as u32)), ScalarType::B64);
        binder.lane(map1(level, |a: u64| a), destination, &[source]);
    }
    Ok(())
}

pub(super) fn unpack(binder: &mut Binder<'_>, inst: &Decoded) -> Binding {
    let Some(operand) = inst.sources.first() else { return no_such_form(inst) };
    let level = binder.level();
    if inst.ty.bits() == 128 {
        let (Operand::Register(quad), 2) = (operand, inst.destinations.len()) else { return no_such_form(inst) };
        for (part, register) in inst.destinations.iter().enumerate() {
            let source = binder.read(&Operand::Register(quad.half(part as u32)), ScalarType::B64);
            let destination = binder.write(*register, ScalarType::B64);
            binder.lane(map1(level, |a: u64| a), destination, &[source]);
        }
        return Ok(());
    }
    // The source is copied first: a part may be written over it.
    let copied = binder.temporary();
    let source = binder.read(operand, inst.ty);
    binder.lane(copy(level, inst.ty), copied, &[source]);
    let (part_ty, handlers): (ScalarType, Vec<LaneFunction>) = match (inst.ty.bits(), inst.destinations.len()) {
        (16, 2) => (ScalarType::B8, vec![map1(level, |a: u16| a as u8), map1(level, |a: u16| (a >> 8) as u8)]),
        (32, 2) => (ScalarType::B16, vec![map1(level, |a: u32| a as u16), map1(level, |a: u32| (a >> 16) as u16)]),
        (32, 4) => (
            ScalarType::B8,
            vec![
                map1(level, |a: u32| a as u8),
                map1(level, |a: u32| (a >> 8) as u8),
                map1(level, |a: u32| (a >> 16) as u8),
                map1(level, |a: u32| (a >> 24) as u8),
            ],
        ),
        (64, 2) => (ScalarType::B32, vec![map1(level, |a: u64| a as u32), map1(level, |a: u64| (a >> 32) as u32)]),
        (64, 4) => (
            ScalarType::B16,
            vec![
                map1(level, |a: u64| a as u16),
                map1(level, |a: u64| (a >> 16) as u16),
                map1(level, |a: u64| (a >> 32) as u16),
                map1(level, |a: u64| (a >> 48) as u16),
            ],
        ),
        _ => return no_such_form(inst),
    };
    for (handler, register) in handlers.into_iter().zip(&inst.destinations) {
        if register.is_some() {
            let destination = binder.write(*register, part_ty);
            binder.lane(handler, destination, &[crate::raw::Source::frame(copied)]);
        }
    }
    Ok(())
}

pub(super) fn cvta(binder: &mut Binder<'_>, inst: &Decoded, conversion: &AddressConversion) -> Binding {
    let Some(operand) = inst.sources.first() else { return no_such_form(inst) };
    let ty = if inst.ty.bits() == 64 { ScalarType::U64 } else { ScalarType::U32 };
    let window = binder.window(conversion.space);
    let offset = match conversion.direction {
        AddressDirection::ToGeneric => window,
        AddressDirection::FromGeneric => window.wrapping_neg(),
    };
    let source = binder.read(operand, ty);
    let offset = binder.constant(offset, Wide::of_bits(ty.bits()));
    let level = binder.level();
    // A null pointer stays null in every space.
    let handler = match ty {
        ScalarType::U64 => map2(level, |a: u64, b: u64| a.wrapping_add(b)),
        _ => map2(level, |a: u32, b: u32| a.wrapping_add(b)),
    };
    let destination = binder.write(inst.destinations.first().copied().flatten(), ty);
    binder.lane(handler, destination, &[source, offset]);
    Ok(())
}

pub(super) fn isspacep(binder: &mut Binder<'_>, inst: &Decoded, space: &StateSpace) -> Binding {
    let Some(operand) = inst.sources.first() else { return no_such_form(inst) };
    let ty = if operand.register().is_some_and(|register| register.width == Width::Word) {
        ScalarType::U32
    } else {
        binder.address_type()
    };
    let source = binder.read(operand, ty);
    let destination = binder.write(inst.destinations.first().copied().flatten(), ScalarType::Pred);
    binder.other(Kind::InSpace(*space, Wide::of_bits(ty.bits())), [destination, SINK], &[source]);
    Ok(())
}
