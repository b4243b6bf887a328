//! Additions, shifts and copies that the lanes of multiply-adds do.
//!
//! From compute capability 7.0 to 11.x a multiply-add of integers has its own lanes beside those of other integer operations,
//! and ptxas writes some of these as multiply-adds, so that both have work: `IMAD.IADD`, `IMAD.X`, `IMAD.SHL`, `IMAD.MOV`.
//! What it writes so was read off ptxas 13.0 for the kernels of `validation/kernels` and `validation/microbenchmarks`:
//!
//! - For 8.0 and 9.0 30 to 37 % of the sums of two registers, 58 to 62 % of the upper halves of wide sums, 62 to 64 % of the
//!   shifts to the left by a constant and 63 to 70 % of the copies; never a sum of three, nor one with an immediate, nor a lower
//!   half, which makes the carry.
//! - In a row of them it takes turns; how it decides in general is not known. The rule here is that each goes to the lanes that
//!   have had less of the block so far. By block its numbers differ from those of ptxas by 25 to 27 % of these instructions,
//!   instead of the 55 to 59 % of leaving all with the integer lanes.
//! - For 7.5 it is 28, 25, 53 and 42 %. The rule is hardly nearer to that (33 %) than leaving all with the integer lanes is, and
//!   the training rows of `validation/measured/coulomb-rtx2080ti.csv` are 2.6 % farther off with it: before 8.0 all stay there.
//!
//! For 9.0 ptxas writes a sum with an immediate as `VIADD`, and nobody says on which lanes that runs. Kernels that would be 2 %
//! faster than the integer lanes allow, if it were on them (`monte_carlo_disc` of `validation/kernels` on an H200), say that it
//! need not be: the timing leaves it with them, and a bound may not count on it.
//!
//! For 12.x ptxas does not: integer operations have all lanes.

use warplens_isa::Op;
use warplens_trace::{IntegerLanes, MachineClass};

use crate::emit::{Atom, Selected};
use crate::node::{Body, Form, Node};
use crate::target::Target;

/// Cycles of a warp on the integer lanes and on those of integer multiply-adds, 16 of a scheduler each; multiply-adds of f32 have
/// twice as many from 8.6 on.
const CYCLES: u32 = 2;

/// Says what both can do, and hands it out in the order of the blocks.
pub(crate) fn assign(body: &Body<'_>, target: &Target, selected: &mut Selected) {
    if !target.is_from(7, 0) || target.is_from(12, 0) {
        return;
    }
    let fp32_cycles = if target.is_from(8, 6) { CYCLES / 2 } else { CYCLES };
    for atoms in &mut selected.blocks {
        let (mut integer, mut multiply_add) = (0, 0);
        for atom in atoms {
            if target.is_from(9, 0) && is_sum_with_immediate(body, atom) {
                atom.lanes = IntegerLanes::Either;
            } else if suits_multiply_add(body, atom) {
                let stays = integer <= multiply_add || !target.is_from(8, 0);
                atom.lanes = if stays { IntegerLanes::Either } else { IntegerLanes::MultiplyAdd };
            }
            match (atom.class, atom.lanes) {
                (MachineClass::IntMul, _) | (_, IntegerLanes::MultiplyAdd) => multiply_add += CYCLES,
                (MachineClass::Fp32 | MachineClass::Fp32Mul, _) => multiply_add += fp32_cycles,
                (MachineClass::Int | MachineClass::Move, _) => integer += CYCLES,
                _ => {}
            }
        }
    }
}

/// True for what a multiply-add can do.
fn suits_multiply_add(body: &Body<'_>, atom: &Atom) -> bool {
    match (atom.class, atom.node.map(|id| &body.nodes[id])) {
        // A constant on its way to a register.
        (MachineClass::Move, None) => true,
        (MachineClass::Move, Some(node)) => node.form == Form::Copy,
        (MachineClass::Int, Some(node)) => is_sum(node, atom) || is_shift(node),
        _ => false,
    }
}

/// A sum of two registers, or the upper half of one.
fn is_sum(node: &Node<'_>, atom: &Atom) -> bool {
    let is_sum = match node.form {
        Form::Sum => true,
        Form::AsWritten => matches!(node.inst.op(), Op::Add | Op::Sub) && node.inst.ty.is_integer(),
        _ => false,
    };
    if !is_sum || node.sources.len() != 2 {
        return false;
    }
    match node.bits() {
        64 => atom.writes.len() == 1 && atom.writes.last() == node.written().last().as_ref(),
        _ => node.sources.iter().all(|source| source.immediate().is_none()),
    }
}

/// A sum of 32 bits of a register and an immediate.
fn is_sum_with_immediate(body: &Body<'_>, atom: &Atom) -> bool {
    let Some(node) = atom.node.map(|id| &body.nodes[id]) else { return false };
    let is_sum = matches!(node.inst.op(), Op::Add | Op::Sub) && node.inst.ty.is_integer();
    let immediates = node.sources.iter().filter(|source| source.immediate().is_some()).count();
    atom.class == MachineClass::Int && is_sum && node.bits() == 32 && node.sources.len() == 2 && immediates == 1
}

/// A shift of 32 bits to the left by a constant.
fn is_shift(node: &Node<'_>) -> bool {
    let by_constant = node.sources.get(1).is_some_and(|source| source.immediate().is_some());
    node.form == Form::AsWritten && node.inst.op() == Op::Shl && node.bits() == 32 && by_constant
}
