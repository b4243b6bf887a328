//! Moves, packing, special registers and address-space conversions.

use warplens_ir::{Inst, Operand, Register, Width};
use warplens_isa::{AddressConversion, AddressDirection, ScalarType, StateSpace};

use super::{Binding, no_such_form};
use crate::code::{Kind, SINK, Wide};
use crate::decode::Decoder;
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

pub(super) fn mov(decoder: &mut Decoder<'_>, inst: &Inst) -> Binding {
    if inst.ty.bits() == 128 {
        let (Some(Some(to)), Some(Operand::Register(from))) = (inst.destinations.first(), inst.sources.first()) else {
            return no_such_form(inst);
        };
        let level = decoder.level();
        for part in 0..2 {
            let source = decoder.read(&Operand::Register(half_of(*from, part)), ScalarType::B64);
            let destination = decoder.write(Some(half_of(*to, part)), ScalarType::B64);
            decoder.lane(map1(level, |a: u64| a), destination, &[source]);
        }
        return Ok(());
    }
    if let Some(Operand::Special(_)) = inst.sources.first() {
        return read_special(decoder, inst);
    }
    decoder.apply(inst, copy(decoder.level(), inst.ty), &[inst.ty], inst.ty)
}

/// The lower or upper pair of a quad.
pub(super) fn half_of(quad: Register, part: u32) -> Register {
    Register { width: Width::Pair, index: quad.index + 2 * part, ..quad }
}

pub(super) fn read_special(decoder: &mut Decoder<'_>, inst: &Inst) -> Binding {
    let Some(Operand::Special(register)) = inst.sources.first() else { return no_such_form(inst) };
    if inst.ty.bits() == 16 {
        // Old PTX reads 16-bit halves of thread and block indices.
        let row = decoder.temporary();
        decoder.other(Kind::Special(*register, Wide::No), [row, SINK], &[]);
        let destination = decoder.write(inst.destinations.first().copied().flatten(), inst.ty);
        let handler = map1(decoder.level(), |a: u16| a);
        decoder.lane(handler, destination, &[crate::raw::Source::frame(row)]);
        return Ok(());
    }
    let destination = decoder.write(inst.destinations.first().copied().flatten(), inst.ty);
    decoder.other(Kind::Special(*register, Wide::of_bits(inst.ty.bits())), [destination, SINK], &[]);
    Ok(())
}

pub(super) fn pack(decoder: &mut Decoder<'_>, inst: &Inst) -> Binding {
    let level = decoder.level();
    match (inst.ty.bits(), inst.sources.len()) {
        (16, 2) => {
            let handler = map2(level, |a: u8, b: u8| u16::from(a) | u16::from(b) << 8);
            decoder.apply(inst, handler, &[ScalarType::B8; 2], inst.ty)
        }
        (32, 2) => {
            let handler = map2(level, |a: u16, b: u16| u32::from(a) | u32::from(b) << 16);
            decoder.apply(inst, handler, &[ScalarType::B16; 2], inst.ty)
        }
        (32, 4) => {
            let handler = map4(level, |a: u8, b: u8, c: u8, d: u8| u32::from_le_bytes([a, b, c, d]));
            decoder.apply(inst, handler, &[ScalarType::B8; 4], inst.ty)
        }
        (64, 2) => {
            let handler = map2(level, |a: u32, b: u32| u64::from(a) | u64::from(b) << 32);
            decoder.apply(inst, handler, &[ScalarType::B32; 2], inst.ty)
        }
        (64, 4) => {
            let handler = map4(level, |a: u16, b: u16, c: u16, d: u16| {
                u64::from(a) | u64::from(b) << 16 | u64::from(c) << 32 | u64::from(d) << 48
            });
            decoder.apply(inst, handler, &[ScalarType::B16; 4], inst.ty)
        }
        (128, 2) => pack_quad(decoder, inst),
        _ => no_such_form(inst),
    }
}

fn pack_quad(decoder: &mut Decoder<'_>, inst: &Inst) -> Binding {
    let Some(Some(quad)) = inst.destinations.first() else { return Ok(()) };
    let level = decoder.level();
    for (part, operand) in inst.sources.iter().enumerate() {
        let source = decoder.read(operand, ScalarType::B64);
        let destination = decoder.write(Some(half_of(*quad, part as u32)), ScalarType::B64);
        decoder.lane(map1(level, |a: u64| a), destination, &[source]);
    }
    Ok(())
}

pub(super) fn unpack(decoder: &mut Decoder<'_>, inst: &Inst) -> Binding {
    let Some(operand) = inst.sources.first() else { return no_such_form(inst) };
    let level = decoder.level();
    if inst.ty.bits() == 128 {
        let Operand::Register(quad) = operand else { return no_such_form(inst) };
        for (part, register) in inst.destinations.iter().enumerate() {
            let source = decoder.read(&Operand::Register(half_of(*quad, part as u32)), ScalarType::B64);
            let destination = decoder.write(*register, ScalarType::B64);
            decoder.lane(map1(level, |a: u64| a), destination, &[source]);
        }
        return Ok(());
    }
    // The source is copied first: a part may be written over it.
    let copied = decoder.temporary();
    let source = decoder.read(operand, inst.ty);
    decoder.lane(copy(level, inst.ty), copied, &[source]);
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
            let destination = decoder.write(*register, part_ty);
            decoder.lane(handler, destination, &[crate::raw::Source::frame(copied)]);
        }
    }
    Ok(())
}

pub(super) fn cvta(decoder: &mut Decoder<'_>, inst: &Inst, conversion: &AddressConversion) -> Binding {
    let Some(operand) = inst.sources.first() else { return no_such_form(inst) };
    let ty = if inst.ty.bits() == 64 { ScalarType::U64 } else { ScalarType::U32 };
    let window = decoder.layout().window(conversion.space);
    let offset = match conversion.direction {
        AddressDirection::ToGeneric => window,
        AddressDirection::FromGeneric => window.wrapping_neg(),
    };
    let source = decoder.read(operand, ty);
    let offset = decoder.constant(offset, Wide::of_bits(ty.bits()));
    let level = decoder.level();
    // A null pointer stays null in every space.
    let handler = match ty {
        ScalarType::U64 => map2(level, |a: u64, b: u64| a.wrapping_add(b)),
        _ => map2(level, |a: u32, b: u32| a.wrapping_add(b)),
    };
    let destination = decoder.write(inst.destinations.first().copied().flatten(), ty);
    decoder.lane(handler, destination, &[source, offset]);
    Ok(())
}

pub(super) fn isspacep(decoder: &mut Decoder<'_>, inst: &Inst, space: &StateSpace) -> Binding {
    let Some(operand) = inst.sources.first() else { return no_such_form(inst) };
    let ty = if operand.register().is_some_and(|register| register.width == Width::Word) {
        ScalarType::U32
    } else {
        decoder.address_type()
    };
    let source = decoder.read(operand, ty);
    let destination = decoder.write(inst.destinations.first().copied().flatten(), ScalarType::Pred);
    decoder.other(Kind::InSpace(*space, Wide::of_bits(ty.bits())), [destination, SINK], &[source]);
    Ok(())
}
