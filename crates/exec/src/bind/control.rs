//! Operations that concern the warp or the CTA as a whole. Branches, calls and exits are the flow of their block.

use warplens_ir::{Bank, Inst, Operand};
use warplens_isa::{BarrierKind, Branch, ScalarType, SystemCall};

use super::{Binding, no_such_form};
use crate::code::{BarrierOperation, Kind, SINK, Unbound, Wide};
use crate::decode::Decoder;
use crate::raw::{Source, map1};

impl Decoder<'_> {
    fn source_or(&mut self, inst: &Inst, index: usize, ty: ScalarType, default: u64) -> Source {
        let operand = inst.sources.get(index).copied().unwrap_or(Operand::Immediate(default));
        self.read(&operand, ty)
    }
}

pub(super) fn activemask(decoder: &mut Decoder<'_>, inst: &Inst) -> Binding {
    let destination = decoder.write(inst.destinations.first().copied().flatten(), ScalarType::B32);
    decoder.other(Kind::ActiveMask, [destination, SINK], &[]);
    Ok(())
}

pub(super) fn bar(decoder: &mut Decoder<'_>, inst: &Inst, kind: &BarrierKind) -> Binding {
    let kind = *kind;
    let reduces = matches!(kind, BarrierKind::ReducePopc | BarrierKind::ReduceAnd | BarrierKind::ReduceOr);
    let barrier = decoder.source_or(inst, 0, ScalarType::U32, 0);
    let n_before_predicate = inst.sources.len() - usize::from(reduces && inst.sources.len() > 1);
    let count = (n_before_predicate > 1).then(|| decoder.source_or(inst, 1, ScalarType::U32, 0));
    let predicate = reduces.then(|| decoder.source_or(inst, inst.sources.len() - 1, ScalarType::Pred, 1));
    let ty = if kind == BarrierKind::ReducePopc { ScalarType::U32 } else { ScalarType::Pred };
    let destination = if reduces { decoder.write(inst.destinations.first().copied().flatten(), ty) } else { SINK };
    let index = decoder.barrier(BarrierOperation { kind, barrier, count, predicate, destination });
    decoder.other(Kind::Barrier(index), [SINK; 2], &[]);
    Ok(())
}

/// Operations without an effect that a thread could see, but for `Bssy`, which opens a convergence region.
pub(super) fn nothing(decoder: &mut Decoder<'_>, inst: &Inst) -> Binding {
    let barrier = inst.writes().find(|register| register.bank == Bank::Convergence);
    if let Some(register) = barrier {
        decoder.other(Kind::OpenRegion(register.index), [SINK; 2], &[]);
    }
    Ok(())
}

pub(super) fn system_call(decoder: &mut Decoder<'_>, inst: &Inst, service: &SystemCall) -> Binding {
    let arguments: Vec<(Source, Wide)> = inst
        .sources
        .iter()
        .map(|operand| {
            let wide = operand.register().map_or(Wide::Yes, |register| Wide::of_bits(register.width.bits()));
            let ty = if wide == Wide::Yes { ScalarType::U64 } else { ScalarType::U32 };
            (decoder.read(operand, ty), wide)
        })
        .collect();
    let result = inst.destinations.first().copied().flatten();
    let ty = match service {
        SystemCall::Malloc => decoder.address_type(),
        _ => ScalarType::U32,
    };
    let destination = if result.is_some() { decoder.write(result, ty) } else { SINK };
    let index = decoder.system(arguments);
    decoder.other(Kind::System(*service, index), [destination, SINK], &[]);
    Ok(())
}

pub(super) fn unsupported(_: &mut Decoder<'_>, inst: &Inst) -> Binding {
    Err(Unbound(inst.op(), "not emulated yet"))
}

pub(super) fn alloca(decoder: &mut Decoder<'_>, inst: &Inst) -> Binding {
    let sources = [decoder.source_or(inst, 0, inst.ty, 0), decoder.source_or(inst, 1, ScalarType::U32, 8)];
    let destination = decoder.write(inst.destinations.first().copied().flatten(), inst.ty);
    decoder.other(Kind::Alloca(Wide::of_bits(inst.ty.bits())), [destination, SINK], &sources);
    Ok(())
}

pub(super) fn stack_save(decoder: &mut Decoder<'_>, inst: &Inst) -> Binding {
    let Some(stack) = decoder.stack_row() else { return no_such_form(inst) };
    let level = decoder.level();
    let handler = match Wide::of_bits(inst.ty.bits()) {
        Wide::Yes => map1(level, |top: u32| u64::from(top)),
        Wide::No => map1(level, |top: u32| top),
    };
    let destination = decoder.write(inst.destinations.first().copied().flatten(), inst.ty);
    decoder.lane(handler, destination, &[Source::frame(stack)]);
    Ok(())
}

pub(super) fn stack_restore(decoder: &mut Decoder<'_>, inst: &Inst) -> Binding {
    let Some(stack) = decoder.stack_row() else { return no_such_form(inst) };
    let level = decoder.level();
    let handler = match Wide::of_bits(inst.ty.bits()) {
        Wide::Yes => map1(level, |top: u64| top as u32),
        Wide::No => map1(level, |top: u32| top),
    };
    let source = decoder.source_or(inst, 0, inst.ty, 0);
    decoder.lane(handler, stack, &[source]);
    Ok(())
}

/// Control operations end their block; its flow executes them.
macro_rules! flows {
    ($($name:ident $(($payload:ty))?;)*) => {$(
        pub(super) fn $name(_: &mut Decoder<'_>, _: &Inst $(, _: &$payload)?) -> Binding {
            Ok(())
        }
    )*};
}

flows! {
    branch(Branch);
    branch_indexed(Branch);
    call(Branch);
    ret;
    exit;
    trap;
}
