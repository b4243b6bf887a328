//! A slow interpreter that states what operations mean, for the tests of the fast one.
//!
//! Each thread has registers of its own, an operation is executed lane by lane, an integer is computed without a limit
//! of bits and cut to its width, a float exactly and then rounded once. Nothing is taken from the lane functions of the
//! emulator, but for what is their own definition because the instruction set bounds only its error: the approximate
//! `rcp`, `sqrt`, `rsqrt`, `div` (`.approx` and `.full`) and `sin`, `cos`, `lg2`, `ex2`, `tanh`.
//!
//! It is an [`Engine`]: grids, control flow, barriers, memory with its checks and all events are those of the emulator.

mod arithmetic;
mod bits;
mod compare;
mod convert;
mod exact;
mod float;
mod group;
mod mbarrier;
mod meaning;
mod operand;
mod registers;
mod step;
mod tensor;
mod texture;
mod value;
mod warp;

use warplens_exec::ExecError;
use warplens_exec::decoded::{self, Decoded, Operand, Register, Unbound};
use warplens_exec::engine::{
    Adder, At, BlockEnd, Brought, Engine, Exchange, Frame, LaneValues, Received, Reduction, Run,
};
use warplens_isa::{AtomicOp, BarrierKind, Pc, ScalarType};
use warplens_trace::Observer;

pub use registers::Registers;

use meaning::{Meaning, meaning};
use operand::{At as Place, read};
use value::{NoMeaning, Sources};
use warp::lanes;

/// The reference interpreter.
pub struct Reference;

/// Operations, one for each that was decoded.
pub struct Code {
    pub(crate) operations: Vec<Decoded>,
    /// By operation: the number of its first memory reference.
    pub(crate) places: Vec<u32>,
    n_places: usize,
}

impl Engine for Reference {
    type Code = Code;
    type Registers = Registers;

    fn bind(code: &mut decoded::Code) -> (Code, Vec<Unbound>) {
        let operations = std::mem::take(&mut code.operations);
        let mut places = Vec::new();
        let mut n_places = 0;
        let mut unbound = Vec::new();
        for inst in &operations {
            places.push(n_places as u32);
            n_places += inst.memory.len();
            if let Err(reason) = check(inst) {
                unbound.push(Unbound { pc: inst.pc, op: inst.op(), reason });
            }
        }
        (Code { operations, places, n_places }, unbound)
    }

    fn n_places(code: &Code) -> usize {
        code.n_places
    }

    fn pc(code: &Code, operation: u32) -> Pc {
        code.operations[operation as usize].pc
    }

    fn clear(registers: &mut Registers, words: u32, predicates: u32, _: Option<&[u32]>) {
        registers.clear(words, predicates);
    }

    fn reserve(registers: &mut Registers, words: u32, predicates: u32) {
        registers.reserve(words, predicates);
    }

    fn predicate(registers: &Registers, frame: Frame, index: u32) -> u32 {
        (0..32).fold(0, |bits, lane| bits | u32::from(registers.predicate(frame, index, lane)) << lane)
    }

    fn values(_: &Code, registers: &Registers, frame: Frame, register: Register) -> LaneValues {
        std::array::from_fn(|lane| registers.bits(frame, register, lane) as u64)
    }

    fn set_values(
        _: &Code,
        registers: &mut Registers,
        frame: Frame,
        register: Register,
        mask: u32,
        values: &LaneValues,
    ) {
        let results = values.map(|value| (u128::from(value), ScalarType::B64));
        write(registers, (frame, register), mask, |lane| results[lane]);
    }

    fn bring(at: At<'_, Self>, mask: u32, what: Exchange, brought: &mut Brought) {
        let inst = &at.code.operations[at.operation as usize];
        let place = Place { registers: at.registers, frame: at.frame, fetched: &|_, _| 0 };
        for lane in lanes(mask) {
            let value = |index: usize, ty: ScalarType, default: u128| {
                inst.sources.get(index).map_or(default, |operand| read(&place, operand, ty, lane))
            };
            match what {
                Exchange::Shuffle(_) => {
                    brought.words[0][lane] = value(0, ScalarType::B32, 0) as u32;
                    brought.words[1][lane] = value(1, ScalarType::B32, 0) as u32;
                    brought.words[2][lane] = value(2, ScalarType::B32, 0x1f) as u32;
                }
                Exchange::Vote(_) => {
                    let truth = value(0, ScalarType::Pred, 0) as u32 & 1;
                    brought.truths[0] = brought.truths[0] & !(1 << lane) | truth << lane;
                }
                Exchange::Match(..) | Exchange::Redux(..) => {
                    brought.pairs[0][lane] = value(0, inst.ty, 0) as u64;
                    brought.words[0][lane] = brought.pairs[0][lane] as u32;
                }
                Exchange::Movmatrix => brought.words[0][lane] = value(0, ScalarType::B32, 0) as u32,
                Exchange::Elect | Exchange::Barrier => {}
            }
        }
    }

    fn exchange(what: Exchange, brought: &Brought, members: u32) -> Received {
        warp::exchange(what, brought, members)
    }

    fn receive(at: At<'_, Self>, mask: u32, what: Exchange, received: &Received) {
        let inst = &at.code.operations[at.operation as usize];
        if what == Exchange::Barrier {
            return;
        }
        let truth = |lane: usize| u128::from(received.truths >> lane & 1);
        let word = |lane: usize| u128::from(received.words[lane]);
        for (index, register) in inst.destinations.iter().enumerate() {
            let Some(register) = register else { continue };
            let is_predicate = register.file == decoded::File::Predicates;
            debug_assert!(is_predicate || index == 0, "what is second is a predicate");
            write(at.registers, (at.frame, *register), mask, |lane| match is_predicate {
                true => (truth(lane), ScalarType::Pred),
                false => (word(lane), ScalarType::B32),
            });
        }
    }

    fn update(op: AtomicOp, ty: ScalarType, old: u64, operands: [u64; 2], adder: Adder) -> Option<u64> {
        warp::updated(op, ty, old, operands, adder)
    }

    fn write_reduction(at: At<'_, Self>, mask: u32, reduction: Reduction) {
        let inst = &at.code.operations[at.operation as usize];
        let Meaning::Barrier(kind) = meaning(inst) else { return };
        let Some(register) = inst.destination() else { return };
        let mask = mask & step::guard_lanes(inst, at.registers, at.frame);
        let result = match kind {
            BarrierKind::ReducePopc => (reduction.truths.into(), ScalarType::U32),
            BarrierKind::ReduceAnd => (u128::from(reduction.truths == reduction.arrived), ScalarType::Pred),
            BarrierKind::ReduceOr => (u128::from(reduction.truths > 0), ScalarType::Pred),
            BarrierKind::Sync | BarrierKind::Arrive => return,
        };
        write(at.registers, (at.frame, register), mask, |_| result);
    }

    fn run_block<O: Observer>(run: Run<'_, '_, Self, O>) -> Result<BlockEnd, ExecError> {
        step::run_block(run)
    }
}

/// Writes a register in the lanes of a mask.
pub(crate) fn write(
    registers: &mut Registers,
    (frame, register): (Frame, Register),
    mask: u32,
    result: impl Fn(usize) -> (u128, ScalarType),
) {
    for lane in lanes(mask) {
        registers.write((frame, register), lane, result(lane));
    }
    if let (true, Some(lowest)) = (register.is_shared, lanes(mask).next()) {
        registers.share((frame, register), lowest);
    }
}

/// Whether an operation has a meaning. What a lane does on its own is tried on zeros.
fn check(inst: &Decoded) -> Result<(), NoMeaning> {
    let exchanged = |operand: &Operand| matches!(operand, Operand::Special(_) | Operand::Parameter(_));
    match meaning(inst) {
        Meaning::No(reason) => Err(reason),
        Meaning::Lane(rule) => rule(&Sources { inst, read: &|_, _| 0 }).map(|_| ()),
        Meaning::Exchange(..) | Meaning::Barrier(_) if inst.sources.iter().any(exchanged) => {
            Err("operands of exchanges are registers and constants")
        }
        Meaning::Atomic(op) => {
            let exists = match inst.ty.bits() {
                128 => matches!(op, AtomicOp::Cas | AtomicOp::Exch),
                _ => warp::updated(op, inst.ty, 0, [0; 2], Adder::Thread).is_some(),
            };
            if exists { Ok(()) } else { Err(value::NO_SUCH_FORM) }
        }
        Meaning::Exchange(..)
        | Meaning::Barrier(_)
        | Meaning::Special(_)
        | Meaning::Address(_)
        | Meaning::IsIn(_)
        | Meaning::Load
        | Meaning::CopyTensor(_)
        | Meaning::TestPhase(_)
        | Meaning::Store
        | Meaning::Copy(_)
        | Meaning::CopyBulk(..)
        | Meaning::FillBulk
        | Meaning::AtomicInCtas(_)
        | Meaning::ClusterBarrier(_)
        | Meaning::ActiveMask
        | Meaning::Matrix(_)
        | Meaning::Group(_)
        | Meaning::LoadMatrices(_)
        | Meaning::StoreMatrices(_)
        | Meaning::Texture
        | Meaning::JoinConvergence(_)
        | Meaning::BreakConvergence(_)
        | Meaning::ReadConvergence(_)
        | Meaning::WriteConvergence(_)
        | Meaning::ReserveStack
        | Meaning::SaveStack
        | Meaning::RestoreStack
        | Meaning::System(_)
        | Meaning::Nothing => Ok(()),
    }
}
