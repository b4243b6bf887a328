//! Loops of which an assembler puts a few turns together.
//!
//! A warp takes the long body as long as that many turns are left, and the rest one by one.
//!
//! The limits were found with kernels whose loop has 1 to 400 multiply-adds beside loads, stores, barriers and others, by
//! where ptxas stops to copy the body. It stops at the same place for 3.5 to 7.0 (ptxas 11.8), 7.5, 8.6 (11.8 to 13.5) and
//! 9.0 (13.0, 13.5).

use std::collections::{HashMap, HashSet};

use warplens_isa::{CompareOp, Op, Operation, Precision, ScalarType, StateSpace};

use super::known::{Known, is_plain, overlaps};
use crate::{Bank, Inst, Operand, Register};

/// Turns that are put together where their number is not known.
const TURNS: usize = 4;
/// Most operations of all turns together where it is.
const LIMIT: usize = 330;
/// Most that a turn costs, in plain operations: for one that waits for nothing, what each load from shared memory adds,
/// at least with a load from global memory, and in any case.
const COST: usize = 18;
const COST_OF_SHARED_LOAD: usize = 5;
const COST_WITH_LOAD: usize = 46;
const MOST_COST: usize = 100;
/// Most operations of a turn that are looked at, and of several together: some cost nothing.
const LONGEST_TURN: usize = 4 * MOST_COST;
const LONGEST: usize = 4000;
/// Most that a turn costs where their number is known.
const MOST_KNOWN: usize = 70;
/// Target from which on a loop with a shuffle is taken.
const SHUFFLES_FROM: u32 = 90;

/// A register whose value is that of another at the start of a turn, and a number more.
pub(super) type Shifted = (Register, u64);

/// The sum of a register and a number that an operation computes, modulo its width.
pub(super) fn sum(inst: &Inst, number: impl Fn(&Operand) -> Option<u64>) -> Option<Shifted> {
    let is_plain = is_plain(inst) && matches!(inst.ty.bits(), 32 | 64);
    let of = |sources: (&Operand, &Operand), sign: fn(u64) -> u64| match sources {
        (Operand::Register(register), other) => Some((*register, sign(number(other)?))),
        _ => None,
    };
    match (inst.operation, inst.sources.as_slice()) {
        (Operation::Add(_), [a, b]) if is_plain => of((a, b), |n| n).or_else(|| of((b, a), |n| n)),
        (Operation::Sub(_), [a, b]) if is_plain => of((a, b), u64::wrapping_neg),
        (Operation::Mov, [Operand::Register(register)]) if is_plain => Some((*register, 0)),
        _ => None,
    }
}

/// What the registers of a block are at its end, where they are what one was at its start and a number more.
struct Steps {
    at_end: HashMap<Register, Shifted>,
    /// Words that are written, with their bank.
    written: HashSet<(Bank, u32)>,
}

impl Steps {
    fn new(insts: &[Inst], constants: &HashMap<Register, u64>) -> Self {
        let mut steps = Self { at_end: HashMap::new(), written: HashSet::new() };
        for inst in insts {
            let shifted = steps.shifted(inst, constants);
            for register in inst.writes() {
                steps.at_end.retain(|&other, _| !overlaps(other, register));
                steps.written.extend(register.words().map(|word| (register.bank, word)));
            }
            if let (Some(shifted), [Some(to)]) = (shifted, &inst.destinations[..]) {
                steps.at_end.insert(*to, shifted);
            }
        }
        steps
    }

    fn shifted(&self, inst: &Inst, constants: &HashMap<Register, u64>) -> Option<Shifted> {
        let (register, by) = sum(inst, |operand| Known::new(constants).operand(operand))?;
        let (root, before) = self.now(register)?;
        Some((root, before.wrapping_add(by)))
    }

    /// A register by what was there at the start.
    fn now(&self, register: Register) -> Option<Shifted> {
        let is_written = register.words().any(|word| self.written.contains(&(register.bank, word)));
        if is_written { self.at_end.get(&register).copied() } else { Some((register, 0)) }
    }

    /// By how much a register grows in each turn, if by a number.
    fn step(&self, register: Register, ty: ScalarType) -> Option<i64> {
        let (root, by) = self.now(register)?;
        let unused = 64 - ty.bits();
        (root == register).then_some(by.cast_signed() << unused >> unused)
    }

    /// True where the operation only moves a register on by a number.
    fn only_counts(&self, inst: &Inst) -> bool {
        let [Some(to)] = inst.destinations[..] else { return false };
        matches!(inst.op(), Op::Add | Op::Sub | Op::Mov) && self.step(to, inst.ty).is_some_and(|step| step != 0)
    }
}

/// Turns that are put together of a loop of one block that goes on where its branch is taken or not, and that runs so often
/// where that is known; 1 where it stays as it is.
pub(super) fn turns(
    insts: &[Inst],
    goes_on_if: bool,
    constants: &HashMap<Register, u64>,
    known: Option<usize>,
    target: u32,
) -> usize {
    if insts.len() > LONGEST_TURN {
        return 1;
    }
    let steps = Steps::new(insts, constants);
    let Some((cost, most)) = cost(insts, &steps, target) else { return 1 };
    match known {
        Some(turns) if cost <= MOST_KNOWN => {
            let most = (LIMIT / cost.max(1)).min(LONGEST / insts.len());
            let least_left = |&n: &usize| (turns % n, most - n);
            (most / 2 + 1..=most).filter(|n| (2..turns).contains(n)).min_by_key(least_left).unwrap_or(1)
        }
        None if cost <= most && is_counted(insts, goes_on_if, &steps, constants) => TURNS,
        _ => 1,
    }
}

/// True where a loop goes on until a register that grows by a number reaches what does not change.
fn is_counted(insts: &[Inst], goes_on_if: bool, steps: &Steps, constants: &HashMap<Register, u64>) -> bool {
    let Some((branch, rest)) = insts.split_last() else { return false };
    let Some(guard) = branch.guard.filter(|_| branch.op() == Op::Bra) else { return false };
    let mut writers = rest.iter().enumerate().filter(|(_, inst)| inst.writes().any(|to| to == guard.predicate));
    let (Some((at, compare)), None) = (writers.next(), writers.next()) else { return false };
    let (Operation::Setp(comparison), [a, b]) = (compare.operation, compare.sources.as_slice()) else { return false };
    if comparison.combination.op.is_some() || compare.guard.is_some() || !compare.source_ty.is_integer() {
        return false;
    }
    let so_far = Steps::new(&rest[..at], constants);
    // By how much a side grows.
    let step = |operand: &Operand| match operand {
        Operand::Register(register) => steps.step(so_far.now(*register)?.0, compare.source_ty),
        Operand::Immediate(_) => Some(0),
        _ => None,
    };
    let (Some(of_a), Some(of_b)) = (step(a), step(b)) else { return false };
    let approaches_from_below = match (of_a, of_b) {
        (0, 0) => return false,
        (step, 0) => step > 0,
        (0, step) => step < 0,
        _ => return false,
    };
    let while_true = goes_on_if != guard.negated;
    match comparison.op {
        CompareOp::Ne => while_true,
        CompareOp::Eq => !while_true,
        CompareOp::Lt | CompareOp::Lo | CompareOp::Le | CompareOp::Ls => while_true || !approaches_from_below,
        CompareOp::Gt | CompareOp::Hi | CompareOp::Ge | CompareOp::Hs => !while_true || !approaches_from_below,
        _ => false,
    }
}

/// What a turn costs, and the most that it may where the number of turns is not known; none for a loop that stays as it is.
fn cost(insts: &[Inst], steps: &Steps, target: u32) -> Option<(usize, usize)> {
    let (_, rest) = insts.split_last()?;
    let (mut cost, mut shared, mut global) = (0, 0, false);
    for inst in rest {
        cost += match (inst.op(), inst.memory.one().map(|memory| memory.space)) {
            (Op::Ld, Some(StateSpace::Param | StateSpace::Const)) => 1,
            (Op::Ld, space) => {
                let is_shared = space == Some(StateSpace::Shared);
                shared += usize::from(is_shared);
                global |= !is_shared;
                2
            }
            (Op::Shfl, _) if target < SHUFFLES_FROM => return None,
            (Op::Vote | Op::Match | Op::Call | Op::SystemCall | Op::Activemask, _) => return None,
            (Op::Bar, _) => 2,
            (_, Some(_)) => 2,
            // A division is a loop or a branch of its own.
            (Op::Div | Op::Rcp | Op::Sqrt, _) => of_quotient(inst)?,
            (Op::Rem, _) => return None,
            (Op::Ex2 | Op::Lg2, _) if !flushes(inst) => 6,
            (Op::Mov | Op::Cvta | Op::Pack | Op::Unpack, _) => 0,
            // What they make is part of an address or of a wide multiply-add.
            (Op::Add, _) if inst.ty.bits() == 64 && inst.ty.is_integer() => 0,
            _ if steps.only_counts(inst) => 0,
            _ => 1,
        };
    }
    // What the branch asks for is there once.
    let cost = cost.saturating_sub(1);
    let most = (COST + COST_OF_SHARED_LOAD * shared).max(if global { COST_WITH_LOAD } else { 0 }).min(MOST_COST);
    Some((cost, most))
}

fn flushes(inst: &Inst) -> bool {
    match inst.operation {
        Operation::Ex2(approximation) | Operation::Lg2(approximation) => approximation.ftz,
        _ => false,
    }
}

fn of_quotient(inst: &Inst) -> Option<usize> {
    let (Operation::Div(accuracy) | Operation::Rcp(accuracy) | Operation::Sqrt(accuracy)) = inst.operation else {
        return None;
    };
    match (inst.op(), accuracy.precision) {
        (Op::Div, Precision::Full) => Some(12),
        (Op::Div, Precision::Approx) => Some(2),
        (Op::Rcp, Precision::Approx) => Some(1),
        (Op::Sqrt, Precision::Approx) => Some(6),
        _ => None,
    }
}
