//! Copies of boxes of tensors: `cp.async.bulk.tensor` and its kind, as tiles.

use warplens_ir::{Operand, Width};
use warplens_isa::{Operation, ScalarType, StateSpace, TensorCopy};

use super::body::Body;
use super::instruction::Site;
use super::{Lowered, Stop, types};
use crate::syntax::ast::{self, Modifier, OperandKind};

/// Forms that the emulator lacks: those that gather or scatter rows or the windows of a convolution, and those for two
/// CTAs that work as one.
const UNKNOWN: &[Modifier] = &[
    Modifier::Im2col,
    Modifier::Im2colW,
    Modifier::Im2colW128,
    Modifier::Im2colNoOffs,
    Modifier::TileGather4,
    Modifier::TileScatter4,
    Modifier::CtaGroup1,
    Modifier::CtaGroup2,
];

/// `[map, {coordinates}]`.
struct Tensor {
    map: Operand,
    coordinates: Vec<Operand>,
}

impl<'src> Body<'_, '_, 'src> {
    /// `[to], [map, {..}], [barrier]{, mask}{, policy}`, `[map, {..}], [from]{, policy}`, or `[map, {..}]{, policy}` of a
    /// prefetch.
    pub(super) fn lower_tensor(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        if site.instruction.has_any(UNKNOWN) {
            return Err(Stop::Unsupported);
        }
        let hints = usize::from(site.has(Modifier::L2CacheHint));
        if site.has(Modifier::Prefetch) {
            self.count(site, 1 + hints, 1 + hints)?;
            let Tensor { map, .. } = self.tensor(&site.operands[0])?;
            let mut inst = self.inst(Operation::Prefetch, ScalarType::B8);
            let space = StateSpace::Generic;
            inst.memory = warplens_ir::MemoryReference { space, base: map, offset: 0, elements: 1 }.into();
            self.push_main(inst);
            return Ok(());
        }
        let loads = site.has(Modifier::MbarrierCompleteTxBytes);
        let multicast = site.has(Modifier::MulticastCluster);
        let n = 2 + hints + if loads { 1 + usize::from(multicast) } else { 0 };
        self.count(site, n, n)?;
        let reduction = match site.has(Modifier::Reduce) {
            true => match types::atomic_op(site.instruction) {
                Some(op) => Some(op),
                None => return Err(self.report_kind(site.instruction.opcode_span, "an operation such as `.add`")),
            },
            false => None,
        };
        let (shared, tensor) = if loads { (0, 1) } else { (1, 0) };
        let Tensor { map, coordinates } = self.tensor(&site.operands[tensor])?;
        let place = self.place(&site.operands[shared], StateSpace::Shared, 1)?;
        let dimensions = u8::try_from(coordinates.len()).map_err(|_| Stop::Unsupported)?;
        let mut inst =
            self.inst(Operation::CopyTensor(TensorCopy { dimensions, loads, reduction, multicast }), ScalarType::B64);
        inst.memory = place.into();
        inst.sources.push(map);
        inst.sources.extend(coordinates);
        let mask = match site.operands.get(3) {
            Some(mask) if multicast => Some(self.source(mask, ScalarType::B16)?),
            _ => None,
        };
        inst.sources.extend(mask);
        let bytes = self.scopes.fresh(Width::Pair);
        inst.destinations.push(Some(bytes));
        self.push_main(inst);
        if loads {
            let inst = self.told_of_copy(site, &site.operands[2], Operand::Register(bytes), mask)?;
            self.push(inst);
        }
        Ok(())
    }

    fn tensor(&mut self, operand: &ast::Operand<'src>) -> Lowered<Tensor> {
        let OperandKind::AddressList(parts) = &operand.kind else {
            return Err(self.report_kind(operand.span, "a tensor map with coordinates, such as `[map, {x, y}]`"));
        };
        let [map, coordinates] = &parts[..] else {
            return Err(self.report_kind(operand.span, "a tensor map and a vector of coordinates"));
        };
        let map = match self.address_value(map)? {
            Some(address) => address,
            None => self.source(map, ScalarType::U64)?,
        };
        let listed = match &coordinates.kind {
            OperandKind::Vector(parts) | OperandKind::List(parts) => &parts[..],
            _ => std::slice::from_ref(coordinates),
        };
        let coordinates = listed.iter().map(|part| self.source(part, ScalarType::S32)).collect::<Lowered<_>>()?;
        Ok(Tensor { map, coordinates })
    }
}
