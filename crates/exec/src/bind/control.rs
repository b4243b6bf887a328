//! Operations that concern the warp or the CTA as a whole. Branches, calls and exits are the flow of their block.

use warplens_isa::{BarrierKind, Branch, ClusterPhase, PhaseOf, ScalarType, SystemCall};

use super::transfer::memory_operation;
use super::{Binder, Binding, no_such_form};
use crate::code::{BarrierOperation, Kind, PhaseOperation, SINK, Wide};
use crate::decoded::{Decoded, File, Operand};
use crate::raw::{Source, map1};

impl Binder<'_> {
    fn source_or(&mut self, inst: &Decoded, index: usize, ty: ScalarType, default: u64) -> Source {
        let operand = inst.sources.get(index).copied().unwrap_or(Operand::Immediate(default));
        self.read(&operand, ty)
    }
}

pub(super) fn activemask(binder: &mut Binder<'_>, inst: &Decoded) -> Binding {
    let destination = binder.write(inst.destinations.first().copied().flatten(), ScalarType::B32);
    binder.other(Kind::ActiveMask, [destination, SINK], &[]);
    Ok(())
}

pub(super) fn bar(binder: &mut Binder<'_>, inst: &Decoded, kind: &BarrierKind) -> Binding {
    let kind = *kind;
    let reduces = matches!(kind, BarrierKind::ReducePopc | BarrierKind::ReduceAnd | BarrierKind::ReduceOr);
    let barrier = binder.source_or(inst, 0, ScalarType::U32, 0);
    let n_before_predicate = inst.sources.len() - usize::from(reduces && inst.sources.len() > 1);
    let count = (n_before_predicate > 1).then(|| binder.source_or(inst, 1, ScalarType::U32, 0));
    let predicate = reduces.then(|| binder.source_or(inst, inst.sources.len() - 1, ScalarType::Pred, 1));
    let ty = if kind == BarrierKind::ReducePopc { ScalarType::U32 } else { ScalarType::Pred };
    let destination = if reduces { binder.write(inst.destinations.first().copied().flatten(), ty) } else { SINK };
    let index = binder.barrier(BarrierOperation { kind, barrier, count, predicate, destination });
    binder.other(Kind::Barrier(index), [SINK; 2], &[]);
    Ok(())
}

pub(super) fn test_phase(binder: &mut Binder<'_>, inst: &Decoded, of: &PhaseOf) -> Binding {
    let Some(asked) = inst.sources.first() else { return Err("the phase is missing") };
    let memory = memory_operation(binder, inst)?;
    let memory = binder.memory(memory);
    let level = binder.level();
    let (asked, parity_of) = match of {
        PhaseOf::Parity => (binder.read(asked, ScalarType::U32), map1(level, |parity: u32| parity & 1)),
        PhaseOf::State => (binder.read(asked, ScalarType::B64), map1(level, |state: u64| (state >> 63) as u32)),
    };
    let parity = binder.temporary();
    binder.lane(parity_of, parity, &[asked]);
    let destination = inst.destinations.first().copied().flatten();
    let index = binder.phase(PhaseOperation { memory, parity: Source::frame(parity), destination });
    binder.other(Kind::TestPhase(index), [SINK; 2], &[]);
    Ok(())
}

pub(super) fn cluster_bar(binder: &mut Binder<'_>, _: &Decoded, phase: &ClusterPhase) -> Binding {
    binder.other(Kind::ClusterBarrier(*phase), [SINK; 2], &[]);
    Ok(())
}

/// Operations without an effect that a thread could see.
pub(super) fn nothing(_: &mut Binder<'_>, _: &Decoded) -> Binding {
    Ok(())
}

/// The convergence barrier that an operation names.
fn convergence_barrier(inst: &Decoded) -> Result<u32, &'static str> {
    let barrier = inst.reads().chain(inst.writes()).find(|register| register.file == File::Convergence);
    barrier.map(|register| register.index).ok_or("the convergence barrier is missing")
}

pub(super) fn join_convergence(binder: &mut Binder<'_>, inst: &Decoded) -> Binding {
    binder.other(Kind::JoinConvergence(convergence_barrier(inst)?), [SINK; 2], &[]);
    Ok(())
}

pub(super) fn break_convergence(binder: &mut Binder<'_>, inst: &Decoded) -> Binding {
    binder.other(Kind::BreakConvergence(convergence_barrier(inst)?), [SINK; 2], &[]);
    Ok(())
}

pub(super) fn read_convergence(binder: &mut Binder<'_>, inst: &Decoded) -> Binding {
    let barrier = convergence_barrier(inst)?;
    let destination = binder.write(inst.destination(), ScalarType::B32);
    binder.other(Kind::ReadConvergence(barrier), [destination, SINK], &[]);
    Ok(())
}

pub(super) fn write_convergence(binder: &mut Binder<'_>, inst: &Decoded) -> Binding {
    let barrier = convergence_barrier(inst)?;
    let mask = binder.source_or(inst, 0, ScalarType::B32, 0);
    binder.other(Kind::WriteConvergence(barrier), [SINK; 2], &[mask]);
    Ok(())
}

pub(super) fn system_call(binder: &mut Binder<'_>, inst: &Decoded, service: &SystemCall) -> Binding {
    let arguments: Vec<(Source, Wide)> = inst
        .sources
        .iter()
        .map(|operand| {
            let wide = operand.register().map_or(Wide::Yes, |register| Wide::of_bits(register.width.bits()));
            let ty = if wide == Wide::Yes { ScalarType::U64 } else { ScalarType::U32 };
            (binder.read(operand, ty), wide)
        })
        .collect();
    let result = inst.destinations.first().copied().flatten();
    let ty = match service {
        SystemCall::Malloc => binder.address_type(),
        _ => ScalarType::U32,
    };
    let destination = if result.is_some() { binder.write(result, ty) } else { SINK };
    let index = binder.system(arguments);
    binder.other(Kind::System(*service, index), [destination, SINK], &[]);
    Ok(())
}

pub(super) fn unsupported(_: &mut Binder<'_>, _: &Decoded) -> Binding {
    Err("not emulated yet")
}

pub(super) fn alloca(binder: &mut Binder<'_>, inst: &Decoded) -> Binding {
    let sources = [binder.source_or(inst, 0, inst.ty, 0), binder.source_or(inst, 1, ScalarType::U32, 8)];
    let destination = binder.write(inst.destinations.first().copied().flatten(), inst.ty);
    binder.other(Kind::Alloca(Wide::of_bits(inst.ty.bits())), [destination, SINK], &sources);
    Ok(())
}

pub(super) fn stack_save(binder: &mut Binder<'_>, inst: &Decoded) -> Binding {
    let Some(stack) = binder.stack_row() else { return no_such_form(inst) };
    let level = binder.level();
    let handler = match Wide::of_bits(inst.ty.bits()) {
        Wide::Yes => map1(level, |top: u32| u64::from(top)),
        Wide::No => map1(level, |top: u32| top),
    };
    let destination = binder.write(inst.destinations.first().copied().flatten(), inst.ty);
    binder.lane(handler, destination, &[Source::frame(stack)]);
    Ok(())
}

pub(super) fn stack_restore(binder: &mut Binder<'_>, inst: &Decoded) -> Binding {
    let Some(stack) = binder.stack_row() else { return no_such_form(inst) };
    let level = binder.level();
    let handler = match Wide::of_bits(inst.ty.bits()) {
        Wide::Yes => map1(level, |top: u64| top as u32),
        Wide::No => map1(level, |top: u32| top),
    };
    let source = binder.source_or(inst, 0, inst.ty, 0);
    binder.lane(handler, stack, &[source]);
    Ok(())
}

/// Control operations end their block; its flow executes them.
macro_rules! flows {
    ($($name:ident $(($payload:ty))?;)*) => {$(
        pub(super) fn $name(_: &mut Binder<'_>, _: &Decoded $(, _: &$payload)?) -> Binding {
            Ok(())
        }
    )*};
}

flows! {
    branch(Branch);
    branch_indexed(Branch);
    jump;
    call(Branch);
    ret;
    exit;
    trap;
    bsync;
}
