//! Textures and surfaces: fetches, accesses, and what is asked of an object.
//!
//! An operand in brackets names the object, then perhaps a sampler, then the place. The object is a variable or kernel
//! parameter of an opaque type, or a register with the address of such a variable or with the handle of an object.
//! Depth textures and those with several samples per texel, which CUDA C++ cannot make, are not executed.

use warplens_ir::{MemoryReference, OpaqueVariable, Operand, SamplerFields, Width};
use warplens_isa::{
    AccessOrder, AddressMode, AtomicOp, Filter, Geometry, LevelOfDetail, ObjectQuery, OpaqueType, Operation,
    ScalarType, StateSpace, SurfaceAccess, SurfaceClamp, SurfaceReduction, SurfaceUnit, TextureFetch, TextureGather,
    TextureQuery,
};

use super::body::Body;
use super::instruction::Site;
use super::operand::Meaning;
use super::{Lowered, Stop, types};
use crate::syntax::ast::{self, FieldValue, Initializer, Modifier, OperandKind, Type};

/// The opaque type of a variable.
pub(super) const fn opaque_type(ty: Type) -> Option<OpaqueType> {
    match ty {
        Type::Texref => Some(OpaqueType::Texture),
        Type::Samplerref => Some(OpaqueType::Sampler),
        Type::Surfref => Some(OpaqueType::Surface),
        _ => None,
    }
}

/// What a declaration says about an opaque variable, or what is wrong with it. Those in the old texture space are
/// textures, whatever their type.
pub(super) fn opaque_variable(
    variable: &ast::Variable<'_>,
    declarator: &ast::Declarator<'_>,
) -> Result<Option<OpaqueVariable>, String> {
    let is_old = variable.space == ast::Space::Tex;
    let Some(ty) = opaque_type(variable.ty).or(is_old.then_some(OpaqueType::Texture)) else { return Ok(None) };
    let sampler = match &declarator.initializer {
        None => None,
        Some(Initializer::Fields(fields)) if ty == OpaqueType::Sampler => Some(sampler_fields(fields)?),
        Some(_) => return Err(format!("a {} comes with the launch and has no value here", ty.name())),
    };
    Ok(Some(OpaqueVariable { ty, sampler }))
}

fn sampler_fields(fields: &[(&str, FieldValue<'_>)]) -> Result<SamplerFields, String> {
    let mut sampler = SamplerFields::default();
    for &(name, value) in fields {
        let word = match value {
            FieldValue::Name(word) => word,
            FieldValue::Number(_) => "",
        };
        let number = match value {
            FieldValue::Number(number) => number.bits(),
            FieldValue::Name(_) => None,
        };
        let axis = name.strip_prefix("addr_mode_").and_then(|axis| axis.parse::<usize>().ok()).filter(|&axis| axis < 3);
        match (name, axis) {
            (_, Some(axis)) => {
                sampler.address[axis] = match word {
                    "wrap" => AddressMode::Wrap,
                    "mirror" => AddressMode::Mirror,
                    "clamp_to_edge" => AddressMode::Clamp,
                    "clamp_to_border" => AddressMode::Border,
                    "clamp_ogl" => return Err("`clamp_ogl` is not executed".to_owned()),
                    _ => return Err(format!("`{word}` is no address mode")),
                }
            }
            ("filter_mode", _) => {
                sampler.filter = match word {
                    "nearest" => Filter::Point,
                    "linear" => Filter::Linear,
                    _ => return Err(format!("`{word}` is no filter mode")),
                }
            }
            ("force_unnormalized_coords", _) => sampler.force_unnormalized = number == Some(1),
            _ => return Err(format!("a sampler has no field `{name}`")),
        }
    }
    Ok(sampler)
}

/// The geometry that an instruction names; none for those with several samples per texel.
fn geometry(site: &Site<'_, '_>) -> Option<Geometry> {
    site.instruction.modifiers.iter().find_map(|modifier| match modifier {
        Modifier::Dim1 => Some(Geometry::Line),
        Modifier::Dim2 => Some(Geometry::Plane),
        Modifier::Dim3 => Some(Geometry::Volume),
        Modifier::Array1d => Some(Geometry::Lines),
        Modifier::Array2d => Some(Geometry::Planes),
        Modifier::Cube => Some(Geometry::Cube),
        Modifier::Acube => Some(Geometry::Cubes),
        _ => None,
    })
}

fn query(site: &Site<'_, '_>) -> Option<TextureQuery> {
    site.instruction.modifiers.iter().find_map(|modifier| {
        Some(match modifier {
            Modifier::Width => TextureQuery::Width,
            Modifier::Height => TextureQuery::Height,
            Modifier::Depth => TextureQuery::Depth,
            Modifier::ChannelDataType => TextureQuery::ChannelDataType,
            Modifier::ChannelOrder => TextureQuery::ChannelOrder,
            Modifier::NormalizedCoords => TextureQuery::NormalizedCoordinates,
            Modifier::ArraySize => TextureQuery::ArraySize,
            Modifier::NumMipmapLevels => TextureQuery::MipmapLevels,
            Modifier::NumSamples => TextureQuery::Samples,
            Modifier::MemoryLayout => TextureQuery::MemoryLayout,
            Modifier::ForceUnnormalizedCoords => TextureQuery::ForceUnnormalized,
            Modifier::FilterMode => TextureQuery::FilterMode,
            Modifier::AddrMode0 => TextureQuery::AddressMode(0),
            Modifier::AddrMode1 => TextureQuery::AddressMode(1),
            Modifier::AddrMode2 => TextureQuery::AddressMode(2),
            _ => return None,
        })
    })
}

impl<'src> Body<'_, '_, 'src> {
    /// The operands in the brackets.
    fn bracketed<'o>(&mut self, operand: &'o ast::Operand<'src>) -> Lowered<&'o [ast::Operand<'src>]> {
        match &operand.kind {
            OperandKind::AddressList(parts) => Ok(parts),
            _ => Err(self.report_kind(operand.span, "an object and a place in brackets")),
        }
    }

    /// The handle of an object, or the address of the variable that holds it.
    fn handle(&mut self, name: &'src str, span: warplens_base::Span, opaque: OpaqueType) -> Lowered<Operand> {
        match self.meaning(name, span)? {
            Meaning::Register(register, declared) if declared != ScalarType::Pred => Ok(Operand::Register(register)),
            Meaning::Variable(variable) => {
                let found = self.module.module.variables[variable].opaque.map(|opaque| opaque.ty);
                // In the unified mode a query of a sampler names a texture.
                if found == Some(opaque) || found == Some(OpaqueType::Sampler) && opaque == OpaqueType::Texture {
                    return Ok(Operand::Variable { variable, offset: 0, generic: false });
                }
                Err(self.report_kind(span, &format!("a {}", opaque.name())))
            }
            Meaning::KernelParameter(offset) => {
                let register = self.scopes.fresh(Width::Pair);
                let mut inst = self.inst(Operation::Ld(AccessOrder::default()), ScalarType::U64);
                let base = Operand::Immediate(offset.into());
                inst.memory = MemoryReference { space: StateSpace::Param, base, offset: 0, elements: 1 }.into();
                inst.destinations.push(Some(register));
                self.push(inst);
                Ok(Operand::Register(register))
            }
            _ => Err(self.report_kind(span, &format!("a {} or a register", opaque.name()))),
        }
    }

    fn named_handle(&mut self, operand: &ast::Operand<'src>, opaque: OpaqueType) -> Lowered<Operand> {
        match operand.kind {
            OperandKind::Name(name) => self.handle(name, operand.span, opaque),
            _ => Err(self.report_kind(operand.span, &format!("a {}", opaque.name()))),
        }
    }

    /// Numbers in braces, in a register vector, or a single one; `n` of them, and whatever pads them to two or four.
    fn numbers(&mut self, operand: &ast::Operand<'src>, n: usize, ty: ScalarType) -> Lowered<Vec<Operand>> {
        if let Some(registers) = self.whole_vector(operand) {
            if registers.len() < n {
                return Err(self.report_kind(operand.span, &format!("a vector of {n} or more")));
            }
            return Ok(registers[..n].iter().map(|&(register, _)| Operand::Register(register)).collect());
        }
        let parts = match &operand.kind {
            OperandKind::Vector(parts) => &parts[..],
            _ => std::slice::from_ref(operand),
        };
        if !(n..=4).contains(&parts.len()) {
            return self.parts(operand, n).map(|_| Vec::new());
        }
        parts[..n].iter().map(|part| self.source(part, ty)).collect()
    }

    /// Layer and coordinates.
    fn coordinates(
        &mut self,
        operand: &ast::Operand<'src>,
        geometry: Geometry,
        ty: ScalarType,
    ) -> Lowered<Vec<Operand>> {
        // With layers all of them are untyped.
        let ty = if geometry.is_layered() { ScalarType::B32 } else { ty };
        self.numbers(operand, geometry.n_coordinates(), ty)
    }

    /// `d, [texture, {sampler,} place] {, level | gradients} {, offsets}`.
    fn lower_fetch(
        &mut self,
        site: &Site<'_, 'src>,
        operation: impl Fn(TextureFetch) -> Operation,
        level: LevelOfDetail,
    ) -> Lowered<()> {
        let Some(geometry) = geometry(site) else { return Err(Stop::Unsupported) };
        let (ty, coordinate) = (self.ty(site, 0)?, self.ty(site, 1)?);
        let n_level = match level {
            LevelOfDetail::Base => 0,
            LevelOfDetail::Given => 1,
            LevelOfDetail::Gradient => 2,
        };
        let rest = site.operands.get(2 + n_level..).unwrap_or_default();
        let offsets = match rest {
            [] => None,
            [offsets @ ast::Operand { kind: OperandKind::Vector(_), .. }] if !geometry.is_cube() => Some(offsets),
            // A value to compare depths with.
            _ => return Err(Stop::Unsupported),
        };
        self.count(site, 2 + n_level, 3 + n_level)?;
        let parts = self.bracketed(&site.operands[1])?;
        let (texture, sampler, place) = match parts {
            [texture, place] => (texture, None, place),
            [texture, sampler, place] => (texture, Some(sampler), place),
            _ => return Err(self.report_kind(site.operands[1].span, "a texture, perhaps a sampler, and a place")),
        };
        let base = self.named_handle(texture, OpaqueType::Texture)?;
        let mut sources = self.coordinates(place, geometry, coordinate)?;
        let n_gradient = geometry.n_coordinates() - usize::from(geometry.is_layered());
        match level {
            LevelOfDetail::Base => {}
            LevelOfDetail::Given => sources.push(self.source(&site.operands[2], coordinate)?),
            LevelOfDetail::Gradient => {
                for operand in &site.operands[2..4] {
                    sources.extend(self.numbers(operand, n_gradient, ScalarType::F32)?);
                }
            }
        }
        if let Some(offsets) = offsets {
            sources.extend(self.numbers(offsets, geometry.n_axes(), ScalarType::S32)?);
        }
        if let Some(sampler) = sampler {
            sources.push(self.named_handle(sampler, OpaqueType::Sampler)?);
        }
        let fetch = TextureFetch { geometry, level, offsets: offsets.is_some(), sampler: sampler.is_some() };
        let mut inst = self.inst(operation(fetch), ty);
        inst.source_ty = coordinate;
        inst.memory = MemoryReference { space: StateSpace::Texture, base, offset: 0, elements: 1 }.into();
        inst.sources = sources;
        let (value, resident) = super::integer::pair(&site.operands[0]);
        let n_channels = if ty == ScalarType::F16x2 { 2 } else { 4 };
        match self.whole_vector(value) {
            Some(registers) if registers.len() == n_channels => {
                inst.destinations.extend(registers.into_iter().map(|(register, _)| Some(register)));
            }
            _ => {
                for part in self.parts(value, n_channels)? {
                    inst.destinations.push(self.destination(part, ty)?);
                }
            }
        }
        if let Some(resident) = resident {
            inst.destinations.push(self.destination(resident, ScalarType::Pred)?);
        }
        self.push_main(inst);
        Ok(())
    }

    pub(super) fn lower_texture(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        let level = match () {
            () if site.has(Modifier::Level) => LevelOfDetail::Given,
            () if site.has(Modifier::Grad) => LevelOfDetail::Gradient,
            () => LevelOfDetail::Base,
        };
        self.lower_fetch(site, Operation::Tex, level)
    }

    pub(super) fn lower_gather(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        let component = site.instruction.modifiers.iter().find_map(|modifier| match modifier {
            Modifier::Right => Some(0),
            Modifier::G => Some(1),
            Modifier::B => Some(2),
            Modifier::A => Some(3),
            _ => None,
        });
        let Some(component) = component else {
            return Err(self.report_kind(site.instruction.opcode_span, "a component such as `.r`"));
        };
        let gather = |fetch| Operation::Tld4(TextureGather { fetch, component });
        self.lower_fetch(site, gather, LevelOfDetail::Base)
    }

    /// The object and the coordinates of a surface access.
    fn surface(
        &mut self,
        site: &Site<'_, 'src>,
        operand: &ast::Operand<'src>,
    ) -> Lowered<(SurfaceAccess, MemoryReference, Vec<Operand>)> {
        let Some(geometry) = geometry(site).filter(|geometry| !geometry.is_cube()) else {
            return Err(Stop::Unsupported);
        };
        let clamp = match () {
            () if site.has(Modifier::Clamp) => SurfaceClamp::Clamp,
            () if site.has(Modifier::Zero) => SurfaceClamp::Zero,
            () => SurfaceClamp::Trap,
        };
        let unit = if site.has(Modifier::P) { SurfaceUnit::Texel } else { SurfaceUnit::Byte };
        let parts = self.bracketed(operand)?;
        let [surface, place] = parts else {
            return Err(self.report_kind(operand.span, "a surface and a place"));
        };
        let base = self.named_handle(surface, OpaqueType::Surface)?;
        let coordinates = self.coordinates(place, geometry, ScalarType::S32)?;
        let elements = site.instruction.vector();
        let memory = MemoryReference { space: StateSpace::Surface, base, offset: 0, elements };
        Ok((SurfaceAccess { geometry, unit, clamp }, memory, coordinates))
    }

    pub(super) fn lower_surface_load(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        self.count(site, 2, 2)?;
        let ty = self.ty(site, 0)?;
        let (access, memory, coordinates) = self.surface(site, &site.operands[1])?;
        if access.unit == SurfaceUnit::Texel {
            // Old manuals have it, and no ptxas that is at hand takes it.
            return Err(Stop::Unsupported);
        }
        let destinations = self.element_destinations(&site.operands[0], ty, memory.elements)?;
        let mut inst = self.inst(Operation::Suld(access), ty);
        inst.memory = memory.into();
        inst.sources = coordinates;
        inst.destinations = destinations.into_iter().map(|to| to.map(|to| to.register)).collect();
        self.push_main(inst);
        Ok(())
    }

    pub(super) fn lower_surface_store(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        self.count(site, 2, 2)?;
        let ty = self.ty(site, 0)?;
        let (access, memory, coordinates) = self.surface(site, &site.operands[0])?;
        if access.unit == SurfaceUnit::Texel && ty.bits() != 32 {
            return Err(Stop::Unsupported);
        }
        let values = self.element_sources(&site.operands[1], ty, memory.elements, super::operand::Check::Relaxed)?;
        let mut inst = self.inst(Operation::Sust(access), ty);
        inst.memory = memory.into();
        inst.sources = coordinates;
        inst.sources.extend(values);
        self.push_main(inst);
        Ok(())
    }

    pub(super) fn lower_surface_reduction(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        self.count(site, 2, 2)?;
        let ty = self.ty(site, 0)?;
        let op = types::atomic_op(site.instruction)
            .filter(|op| matches!(op, AtomicOp::Add | AtomicOp::Min | AtomicOp::Max | AtomicOp::And | AtomicOp::Or));
        let Some(op) = op else {
            return Err(self.report_kind(site.instruction.opcode_span, "an operation such as `.add`"));
        };
        let (access, memory, coordinates) = self.surface(site, &site.operands[0])?;
        let value = self.source(&site.operands[1], ty)?;
        // Bits are numbers where they are added or compared: those of a sample are of the sign of its format.
        let counted = match ty {
            ScalarType::B32 if !matches!(op, AtomicOp::And | AtomicOp::Or) => ScalarType::U32,
            ScalarType::B64 if !matches!(op, AtomicOp::And | AtomicOp::Or) => ScalarType::U64,
            ty => ty,
        };
        let mut inst = self.inst(Operation::Sured(SurfaceReduction { access, op }), counted);
        inst.memory = memory.into();
        inst.sources = coordinates;
        inst.sources.push(value);
        self.push_main(inst);
        Ok(())
    }

    /// `d, [object]{, level}`.
    pub(super) fn lower_object_query(&mut self, site: &Site<'_, 'src>, of: OpaqueType) -> Lowered<()> {
        let n = 2 + usize::from(site.has(Modifier::Level));
        self.count(site, n, n)?;
        let Some(query) = query(site) else {
            return Err(self.report_kind(site.instruction.opcode_span, "a property such as `.width`"));
        };
        let name = match &site.operands[1].kind {
            OperandKind::Address(ast::Address { base: Some(name), offset: 0 }) => *name,
            _ => return Err(self.report_kind(site.operands[1].span, "an object in brackets")),
        };
        let handle = self.handle(name, site.operands[1].span, of)?;
        let mut inst = self.inst(Operation::QueryTexture(ObjectQuery { of, query }), ScalarType::B32);
        inst.destinations.push(self.destination(&site.operands[0], ScalarType::B32)?);
        inst.sources.push(handle);
        if let Some(level) = site.operands.get(2) {
            inst.sources.push(self.source(level, ScalarType::U32)?);
        }
        self.push_main(inst);
        Ok(())
    }

    pub(super) fn lower_istypep(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        self.count(site, 2, 2)?;
        let Some(opaque) = site.written_type(0).and_then(opaque_type) else {
            return Err(self.report_kind(site.instruction.opcode_span, "an opaque type such as `.texref`"));
        };
        let ty = types::integer(self.module.module.address_bits, false);
        let mut inst = self.inst(Operation::Istypep(opaque), ty);
        inst.destinations.push(self.destination(&site.operands[0], ScalarType::Pred)?);
        let address = match self.address_value(&site.operands[1])? {
            Some(address) => address,
            None => self.source(&site.operands[1], ty)?,
        };
        inst.sources.push(address);
        self.push_main(inst);
        Ok(())
    }
}
