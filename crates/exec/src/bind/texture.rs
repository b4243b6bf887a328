//! Textures and surfaces. Their coordinates are words; handles are 64 bits wide, or addresses of opaque variables.

use warplens_isa::{
    LevelOfDetail, ObjectQuery, OpaqueType, ScalarType, SurfaceAccess, SurfaceReduction, TextureFetch, TextureGather,
};

use super::{Binder, Binding, no_such_form};
use crate::code::{Kind, MemoryOperation, SINK, TextureOperation};
use crate::decoded::{Decoded, Operand};
use crate::raw::Source;

/// An instruction on the object that an operand names.
fn operation(binder: &mut Binder<'_>, inst: &Decoded, handle: &Operand, opaque: OpaqueType) -> TextureOperation {
    TextureOperation {
        operation: inst.operation,
        ty: inst.ty,
        source_ty: inst.source_ty,
        opaque,
        handle: binder.read(handle, ScalarType::U64),
        sampler: None,
        sources: Vec::new(),
        destinations: Vec::new(),
        resident: SINK,
        memory: MemoryOperation::of_surface(inst.ty.bytes().min(8) as u8, 1),
    }
}

fn emit(binder: &mut Binder<'_>, operation: TextureOperation) {
    let index = binder.texture(operation);
    binder.other(Kind::Texture(index), [SINK; 2], &[]);
}

fn words(binder: &mut Binder<'_>, operands: &[Operand]) -> Vec<Source> {
    operands.iter().map(|operand| binder.read(operand, ScalarType::B32)).collect()
}

/// Numbers of a fetch besides the sampler.
fn n_numbers(fetch: &TextureFetch) -> usize {
    let n_coordinates = fetch.geometry.n_coordinates();
    let n_gradients = 2 * (n_coordinates - usize::from(fetch.geometry.is_layered()));
    let n_level = match fetch.level {
        LevelOfDetail::Base => 0,
        LevelOfDetail::Given => 1,
        LevelOfDetail::Gradient => n_gradients,
    };
    n_coordinates + n_level + if fetch.offsets { fetch.geometry.n_axes() } else { 0 }
}

pub(super) fn fetch(binder: &mut Binder<'_>, inst: &Decoded, fetch: &TextureFetch) -> Binding {
    let [memory] = &inst.memory[..] else { return Err("the texture is missing") };
    let n = n_numbers(fetch);
    if inst.sources.len() != n + usize::from(fetch.sampler) {
        return Err("an operand is missing");
    }
    let mut operation = operation(binder, inst, &memory.base, OpaqueType::Texture);
    operation.sources = words(binder, &inst.sources[..n]);
    operation.sampler = inst.sources.get(n).map(|sampler| binder.read(sampler, ScalarType::U64));
    let n_channels = if inst.ty == ScalarType::F16x2 { 2 } else { 4 };
    for register in inst.destinations.iter().take(n_channels) {
        operation.destinations.push(register.map_or(SINK, |_| binder.write(*register, ScalarType::B32)));
    }
    if let Some(resident) = inst.destinations.get(n_channels).filter(|resident| resident.is_some()) {
        operation.resident = binder.write(*resident, ScalarType::Pred);
    }
    emit(binder, operation);
    Ok(())
}

pub(super) fn gather(binder: &mut Binder<'_>, inst: &Decoded, gather: &TextureGather) -> Binding {
    if gather.fetch.geometry.n_axes() != 2 || inst.source_ty != ScalarType::F32 {
        return no_such_form(inst);
    }
    fetch(binder, inst, &gather.fetch)
}

/// An access to a surface: its coordinates, and how many sources follow them.
fn surface<'i>(
    binder: &mut Binder<'_>,
    inst: &'i Decoded,
    access: &SurfaceAccess,
) -> Result<(TextureOperation, &'i [Operand]), &'static str> {
    let [memory] = &inst.memory[..] else { return Err("the surface is missing") };
    if inst.ty.bits() > 64 {
        return Err("this form is not emulated yet");
    }
    let Some((coordinates, values)) = inst.sources.split_at_checked(access.geometry.n_coordinates()) else {
        return Err("an operand is missing");
    };
    let mut operation = operation(binder, inst, &memory.base, OpaqueType::Surface);
    operation.sources = words(binder, coordinates);
    operation.memory.elements = memory.elements;
    Ok((operation, values))
}

/// The type in which a register of a value is read or written.
fn register_type(inst: &Decoded) -> ScalarType {
    if inst.ty.bits() == 64 { ScalarType::B64 } else { ScalarType::B32 }
}

pub(super) fn surface_load(binder: &mut Binder<'_>, inst: &Decoded, access: &SurfaceAccess) -> Binding {
    let (mut operation, _) = surface(binder, inst, access)?;
    for &register in &inst.destinations {
        let row = binder.write(register, register_type(inst));
        operation.memory.destinations.push(row);
    }
    emit(binder, operation);
    Ok(())
}

pub(super) fn surface_store(binder: &mut Binder<'_>, inst: &Decoded, access: &SurfaceAccess) -> Binding {
    let (mut operation, values) = surface(binder, inst, access)?;
    for value in values {
        let source = binder.read(value, register_type(inst));
        operation.memory.sources.push(source);
    }
    emit(binder, operation);
    Ok(())
}

pub(super) fn surface_reduce(binder: &mut Binder<'_>, inst: &Decoded, reduction: &SurfaceReduction) -> Binding {
    if !crate::semantics::atomic::is_defined(reduction.op, inst.ty) {
        return no_such_form(inst);
    }
    let (mut operation, values) = surface(binder, inst, &reduction.access)?;
    let [value] = values else { return Err("an operand is missing") };
    operation.memory.sources.push(binder.read(value, register_type(inst)));
    operation.memory.atomic = Some((reduction.op, inst.ty));
    operation.memory.ordered = true;
    emit(binder, operation);
    Ok(())
}

pub(super) fn query(binder: &mut Binder<'_>, inst: &Decoded, query: &ObjectQuery) -> Binding {
    let [handle, level @ ..] = &inst.sources[..] else { return Err("an operand is missing") };
    let mut operation = operation(binder, inst, handle, query.of);
    operation.sources = words(binder, level);
    operation.destinations = vec![binder.write(inst.destination(), ScalarType::B32)];
    emit(binder, operation);
    Ok(())
}

pub(super) fn is_type(binder: &mut Binder<'_>, inst: &Decoded, opaque: &OpaqueType) -> Binding {
    let Some(address) = inst.sources.first() else { return Err("an operand is missing") };
    let mut operation = operation(binder, inst, address, *opaque);
    operation.resident = binder.write(inst.destination(), ScalarType::Pred);
    emit(binder, operation);
    Ok(())
}
