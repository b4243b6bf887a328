//! Changes of tensor maps: `tensormap.replace`, which writes a field, and `tensormap.cp_fenceproxy`, by which a warp copies a
//! changed map to where copies of tensors look for it.
//!
//! The bytes of a map are laid out as [`TensorMap`](warplens_isa::TensorMap) says, so that a field is a store to a part of it.

use warplens_ir::{MemoryReference, Operand, Width};
use warplens_isa::{
    AccessOrder, Operation, ScalarType, SpecialRegister, StateSpace, Sum, TENSOR_MAP_BYTES, TensorMap, TensorMapField,
};

use super::body::Body;
use super::instruction::Site;
use super::{Lowered, Stop, types};
use crate::syntax::ast::{self, Modifier};

impl<'src> Body<'_, '_, 'src> {
    pub(super) fn lower_tensormap(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        self.check_target(site, 90)?;
        if site.has(Modifier::CpFenceproxy) { self.lower_map_copy(site) } else { self.lower_map_field(site) }
    }

    /// `[map], {dimension,} value`.
    fn lower_map_field(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        let of_dimension = |dimension: u8| match () {
            () if site.has(Modifier::BoxDim) => Some(TensorMapField::BoxExtent(dimension)),
            () if site.has(Modifier::GlobalDim) => Some(TensorMapField::Extent(dimension)),
            () if site.has(Modifier::GlobalStride) => Some(TensorMapField::Stride(dimension)),
            () if site.has(Modifier::ElementStride) => Some(TensorMapField::Step(dimension)),
            () => None,
        };
        let (field, value) = match of_dimension(0) {
            Some(first) => {
                self.count(site, 3, 3)?;
                let dimension = self.dimension(&site.operands[1])?;
                (of_dimension(dimension), self.source(&site.operands[2], first.ty())?)
            }
            None => {
                self.count(site, 2, 2)?;
                self.map_value(site)?
            }
        };
        let space = types::named_space(site.instruction);
        let (space, base, offset) = self.address(&site.operands[0], space)?;
        let Some(field) = field else {
            // The field has this value in every map that there is.
            return self.lower_nothing();
        };
        let mut inst = self.inst(Operation::St(AccessOrder::default()), field.ty());
        inst.memory = MemoryReference { space, base, offset: offset + field.offset() as i64, elements: 1 }.into();
        inst.sources.push(value);
        self.push_main(inst);
        Ok(())
    }

    /// Which of the fields that each dimension has.
    fn dimension(&mut self, operand: &ast::Operand<'src>) -> Lowered<u8> {
        match self.source(operand, ScalarType::U32)? {
            Operand::Immediate(dimension @ 0..5) => Ok(dimension as u8),
            _ => Err(self.report_kind(operand.span, "the number of a dimension, from 0 to 4")),
        }
    }

    /// A field that a map has once, with the value that it gets; no field where it only ever has that value.
    fn map_value(&mut self, site: &Site<'_, 'src>) -> Lowered<(Option<TensorMapField>, Operand)> {
        let operand = &site.operands[1];
        if site.has(Modifier::GlobalAddress) {
            return Ok((Some(TensorMapField::Address), self.source(operand, ScalarType::U64)?));
        }
        let value = self.source(operand, ScalarType::U32)?;
        if site.has(Modifier::Rank) {
            // One less than the dimensions.
            let value = match value {
                Operand::Immediate(value) => Operand::Immediate(value + 1),
                value => {
                    let dimensions = self.scopes.fresh(Width::Word);
                    self.step(
                        Operation::Add(Sum::default()),
                        ScalarType::U32,
                        dimensions,
                        vec![value, Operand::Immediate(1)],
                    );
                    Operand::Register(dimensions)
                }
            };
            return Ok((Some(TensorMapField::Dimensions), value));
        }
        let Operand::Immediate(number) = value else {
            return Err(self.report_kind(operand.span, "a constant"));
        };
        let (field, number) = match () {
            () if site.has(Modifier::Elemtype) => (Some(TensorMapField::Type), element_type(number)),
            () if site.has(Modifier::SwizzleMode) => (Some(TensorMapField::Swizzle), Some(number).filter(|it| *it < 4)),
            () if site.has(Modifier::FillMode) => (Some(TensorMapField::Fill), Some(number).filter(|it| *it < 2)),
            // No interleaving, and pieces of 16 bytes.
            () => (None, Some(number).filter(|it| *it == 0)),
        };
        number.map(|number| (field, Operand::Immediate(number))).ok_or(Stop::Unsupported)
    }

    /// `[to], [from], 128`: each lane takes four bytes, as ptxas has it.
    fn lower_map_copy(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        self.count(site, 3, 3)?;
        match self.source(&site.operands[2], ScalarType::U32)? {
            Operand::Immediate(bytes) if bytes == TENSOR_MAP_BYTES as u64 => {}
            _ => return Err(self.report_kind(site.operands[2].span, "128")),
        }
        let [lane, offset] = [self.scopes.fresh(Width::Word), self.scopes.fresh(Width::Word)];
        let special = vec![Operand::Special(SpecialRegister::Laneid)];
        self.step(Operation::ReadSpecial, ScalarType::U32, lane, special);
        let sources = vec![Operand::Register(lane), Operand::Immediate(2)];
        self.step(Operation::Shl, ScalarType::B32, offset, sources);
        let word = self.scopes.fresh(Width::Word);
        let mut load = self.inst(Operation::Ld(AccessOrder::default()), ScalarType::B32);
        load.memory = self.part_of_lane(&site.operands[1], StateSpace::Shared, offset)?.into();
        load.destinations.push(Some(word));
        self.push(load);
        let mut store = self.inst(Operation::St(AccessOrder { ordered: true }), ScalarType::B32);
        store.memory = self.part_of_lane(&site.operands[0], StateSpace::Global, offset)?.into();
        store.sources.push(Operand::Register(word));
        self.push_main(store);
        Ok(())
    }

    /// The place of a lane in a map.
    fn part_of_lane(
        &mut self,
        operand: &ast::Operand<'src>,
        space: StateSpace,
        of_lane: warplens_ir::Register,
    ) -> Lowered<MemoryReference> {
        let (space, base, offset) = self.address(operand, space)?;
        let is_narrow = matches!(base, Operand::Register(register) if register.width == Width::Word);
        let (ty, width) = if is_narrow { (ScalarType::U32, Width::Word) } else { (ScalarType::U64, Width::Pair) };
        let mut added = of_lane;
        if !is_narrow {
            added = self.scopes.fresh(width);
            self.convert(added, Operand::Register(of_lane), ScalarType::U64, ScalarType::U32);
        }
        let place = self.scopes.fresh(width);
        self.step(Operation::Add(Sum::default()), ty, place, vec![base, Operand::Register(added)]);
        Ok(MemoryReference { space, base: Operand::Register(place), offset, elements: 1 })
    }
}

/// The place in [`TensorMap::TYPES`] of an element type as the instruction numbers them. Types that are rounded or packed on
/// the way are in no map.
fn element_type(number: u64) -> Option<u64> {
    let ty = match number {
        0 => ScalarType::U8,
        1 => ScalarType::U16,
        2 => ScalarType::U32,
        3 => ScalarType::S32,
        4 => ScalarType::U64,
        5 => ScalarType::S64,
        6 => ScalarType::F16,
        7 => ScalarType::F32,
        9 => ScalarType::F64,
        10 => ScalarType::Bf16,
        _ => return None,
    };
    TensorMap::TYPES.iter().position(|it| *it == ty).map(|place| place as u64)
}
