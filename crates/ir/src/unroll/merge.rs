//! One block of all blocks of a chain.

use std::collections::HashMap;

use warplens_isa::{BlockId, Op, Operation, Pc, ScalarType, Sum};

use super::Chain;
use super::known::{Known, overlaps, within};
use super::partial::{Shifted, sum};
use crate::{
    Accesses, Bank, Cfg, Flow, Function, FunctionId, Inst, Liveness, Module, Operand, Register, SignedValue, WordSet,
};

/// An operation with the words of both banks that PTX has: those of predicates come behind the others.
struct OfBoth<'a> {
    inst: &'a Inst,
    n_vector: u32,
}

impl Accesses for OfBoth<'_> {
    fn reads(&self, visit: &mut dyn FnMut(u32)) {
        self.inst.reads().flat_map(|register| words(self.n_vector, register)).for_each(visit);
    }

    fn writes(&self, visit: &mut dyn FnMut(u32)) {
        if self.inst.guard.is_none() {
            self.inst.writes().flat_map(|register| words(self.n_vector, register)).for_each(visit);
        }
    }
}

fn words(n_vector: u32, register: Register) -> std::ops::Range<u32> {
    let words = register.words();
    match register.bank {
        Bank::Vector => words,
        Bank::Predicate => n_vector + words.start..n_vector + words.end,
        _ => 0..0,
    }
}

/// Words of both banks that are live where blocks begin and end.
pub(super) fn live(module: &Module, function: &Function) -> Liveness {
    let n_vector = function.registers.vector;
    let cfg = Cfg::new(module, function);
    let of_block = |block: BlockId| -> Vec<OfBoth<'_>> {
        module.blocks[block].insts.iter().map(|inst| OfBoth { inst, n_vector }).collect()
    };
    let blocks: Vec<Vec<OfBoth<'_>>> = function.block_ids().map(of_block).collect();
    let results: Vec<u32> = function.results.iter().flat_map(|&register| words(n_vector, register)).collect();
    let at_end = |block| if cfg.successors(block).is_empty() { results.clone() } else { Vec::new() };
    let n_words = n_vector + function.registers.predicate;
    Liveness::solve(function, &cfg, n_words, |block| &blocks[function.block_position(block)], at_end)
}

/// Puts the blocks of a chain together.
pub(super) struct Merger<'a> {
    from: &'a Module,
    into: &'a mut Module,
    id: FunctionId,
    n_vector: u32,
    constants: &'a HashMap<Register, u64>,
    /// The register that holds the value of one now, where it is another.
    names: HashMap<Register, Register>,
    /// Registers whose value is that of another and a number more.
    shifted: HashMap<Register, Shifted>,
}

impl<'a> Merger<'a> {
    pub(super) fn new(
        from: &'a Module,
        into: &'a mut Module,
        id: FunctionId,
        constants: &'a HashMap<Register, u64>,
    ) -> Self {
        let n_vector = from.functions[id].registers.vector;
        Self { from, into, id, n_vector, constants, names: HashMap::new(), shifted: HashMap::new() }
    }

    /// Writes all operations of a chain to its first block. None where registers overlap in other ways than as a whole.
    pub(super) fn merge(mut self, chain: &Chain, live: &Liveness, copies: &mut Vec<(Pc, u16)>) -> Option<()> {
        let (&head, &last) = (chain.blocks.first()?, chain.blocks.last()?);
        let goes_back = chain.goes_back();
        let insts = chain.blocks.iter().enumerate().flat_map(|(number, &block)| {
            let insts = &self.from.blocks[block].insts;
            let goes_on = number + 1 < chain.blocks.len() || (self.is_loop(last) && !goes_back);
            let jumps = goes_on && insts.last().is_some_and(|inst| inst.op() == Op::Bra);
            insts[..insts.len() - usize::from(jumps)].iter().map(move |inst| (number, inst))
        });
        let insts: Vec<(usize, &Inst)> = insts.collect();
        if !are_apart(&insts) {
            return None;
        }
        let kept = self.kept(&insts, chain, live);
        let constants = self.constants;
        let mut known = Known::new(constants);
        let (mut merged, mut made) = (Vec::with_capacity(insts.len()), Vec::with_capacity(insts.len()));
        for ((number, inst), is_kept) in insts.into_iter().zip(kept) {
            let value = known.evaluate(inst).filter(|_| inst.op() != Op::Setp);
            let mut copy = value.map_or_else(|| self.renamed(inst, &known), |value| constant(inst, value));
            let apart = if goes_back { self.take_apart(&mut copy, constants) } else { None };
            let shifted = if goes_back { self.shift(&mut copy, constants) } else { None };
            self.name_results(&mut copy, is_kept);
            for written in inst.writes() {
                known.values.remove(&written);
            }
            for written in copy.writes() {
                self.shifted.retain(|&other, &mut (root, _)| !overlaps(other, written) && !overlaps(root, written));
            }
            if let (Some(shifted), [Some(to)]) = (shifted, &copy.destinations[..])
                && shifted.0 != *to
            {
                self.shifted.insert(*to, shifted);
            }
            if let (Some(value), Some(Some(to))) = (value, inst.destinations.first()) {
                known.values.insert(*to, value);
            }
            for mut copy in apart.into_iter().chain([copy]) {
                copy.pc = Pc(u32::try_from(self.from.pcs.len() + copies.len() + made.len()).ok()?);
                made.push((inst.pc, u16::try_from(number).ok()?));
                merged.push(copy);
            }
        }
        for &(pc, _) in &made {
            let info = self.from.pcs[pc].clone();
            self.into.pcs.push(info);
        }
        copies.extend(made);
        let flow = if self.is_loop(last) && !goes_back {
            Flow::Fallthrough(self.exit(last)?)
        } else {
            self.from.blocks[last].flow.clone()
        };
        for &block in &chain.blocks {
            let block = &mut self.into.blocks[block];
            (block.insts, block.flow) = (Vec::new(), Flow::Exit { next: None });
        }
        let block = &mut self.into.blocks[head];
        (block.insts, block.flow) = (merged, flow);
        Some(())
    }

    fn is_loop(&self, block: BlockId) -> bool {
        self.from.blocks[block].flow.successors().contains(&block)
    }

    fn exit(&self, block: BlockId) -> Option<BlockId> {
        self.from.blocks[block].flow.successors().into_iter().find(|&next| next != block)
    }

    /// By operation: it leaves its results where those behind the chain look for them.
    fn kept(&self, insts: &[(usize, &Inst)], chain: &Chain, live: &Liveness) -> Vec<bool> {
        let last = chain.blocks[chain.blocks.len() - 1];
        let mut wanted: WordSet = if self.is_loop(last) && !chain.goes_back() {
            self.exit(last).map(|exit| live.live_in(exit).clone()).unwrap_or_default()
        } else {
            live.live_out(last).clone()
        };
        let mut kept = vec![false; insts.len()];
        for (index, (_, inst)) in insts.iter().enumerate().rev() {
            let written: Vec<u32> = inst.writes().flat_map(|register| words(self.n_vector, register)).collect();
            if written.iter().any(|&word| wanted.contains(word)) {
                kept[index] = true;
                if inst.guard.is_none() {
                    for &word in &written {
                        wanted.remove(word);
                    }
                }
            }
        }
        kept
    }

    /// The operation with the registers that hold what it reads now, and numbers where it reads integers that are known.
    fn renamed(&self, inst: &Inst, known: &Known<'_>) -> Inst {
        let mut copy = inst.clone();
        for source in &mut copy.sources {
            let number = match source {
                Operand::Register(register) if inst.ty.is_integer() => known.values.get(register).copied(),
                _ => None,
            };
            *source = number.map_or_else(|| self.now(*source), Operand::Immediate);
        }
        if let Some(guard) = &mut copy.guard {
            guard.predicate = self.name(guard.predicate);
        }
        for memory in copy.memory.iter_mut() {
            memory.base = self.now(memory.base);
        }
        copy
    }

    /// Of a sum of two registers of which one was moved on by a number: the sum without the number, which is the same in all
    /// turns, so that the operation only adds the number to it.
    fn take_apart(&mut self, copy: &mut Inst, constants: &HashMap<Register, u64>) -> Option<Inst> {
        sum(copy, |_| Some(0))?;
        let [Operand::Register(a), Operand::Register(b)] = copy.sources[..] else { return None };
        if constants.contains_key(&a) || constants.contains_key(&b) {
            return None;
        }
        let moved = |register| {
            let &(root, by) = self.shifted.get(&register)?;
            Some((root, within(copy.ty.bits(), by))).filter(|&(_, by)| by != 0)
        };
        let (root, by, other) = match (moved(a), moved(b), copy.op()) {
            (Some((root, by)), None, Op::Add) => (root, by, b),
            (None, Some((root, by)), Op::Add) => (root, by, a),
            _ => return None,
        };
        let mut first = copy.clone();
        let to = self.fresh(copy.destinations[0]?);
        first.sources = vec![Operand::Register(root), Operand::Register(other)];
        first.destinations = vec![Some(to)];
        copy.sources = vec![Operand::Register(to), Operand::Immediate(by)];
        Some(first)
    }

    /// Adds up what turns add one after the other: an operation that moves a register on takes the one that was there at the
    /// start.
    fn shift(&self, copy: &mut Inst, constants: &HashMap<Register, u64>) -> Option<Shifted> {
        let (register, by) = sum(copy, |operand| Known::new(constants).operand(operand))?;
        let Some(&(root, before)) = self.shifted.get(&register) else { return Some((register, by)) };
        let all = within(copy.ty.bits(), before.wrapping_add(by));
        if copy.op() != Op::Mov {
            copy.operation = Operation::Add(Sum::default());
            copy.sources = vec![Operand::Register(root), Operand::Immediate(all)];
        }
        Some((root, all))
    }

    /// The register that holds the value of another now.
    fn name(&self, register: Register) -> Register {
        self.names.get(&register).copied().unwrap_or(register)
    }

    fn now(&self, operand: Operand) -> Operand {
        match operand {
            Operand::Register(register) => Operand::Register(self.name(register)),
            Operand::NotPredicate(register) => Operand::NotPredicate(self.name(register)),
            Operand::Signed(sign, SignedValue::Register(register)) => {
                Operand::Signed(sign, SignedValue::Register(self.name(register)))
            }
            other => other,
        }
    }

    /// Gives what an operation writes its own names, where it is not kept for others.
    fn name_results(&mut self, copy: &mut Inst, is_kept: bool) {
        for written in copy.destinations.iter_mut().flatten() {
            if is_kept {
                self.names.remove(written);
            } else if copy.guard.is_none() {
                let fresh = self.fresh(*written);
                self.names.insert(*written, fresh);
            }
            *written = self.names.get(written).copied().unwrap_or(*written);
        }
    }

    fn fresh(&mut self, like: Register) -> Register {
        let registers = &mut self.into.functions[self.id].registers;
        let next = if like.bank == Bank::Predicate { &mut registers.predicate } else { &mut registers.vector };
        let index = next.next_multiple_of(like.width.words());
        *next = index + like.width.words();
        Register { index, ..like }
    }
}

/// A copy of a number, in place of the operation that makes it.
fn constant(inst: &Inst, value: u64) -> Inst {
    let ty = match (inst.op(), inst.ty.bits()) {
        (Op::MulWide, 32) => ScalarType::U64,
        (Op::MulWide, _) => ScalarType::U32,
        _ => inst.ty,
    };
    Inst { operation: Operation::Mov, ty, source_ty: ty, sources: vec![Operand::Immediate(value)], ..inst.clone() }
}

/// True where registers share words only as a whole.
fn are_apart(insts: &[(usize, &Inst)]) -> bool {
    let mut holders: HashMap<(Bank, u32), Register> = HashMap::new();
    let mut registers = insts.iter().flat_map(|(_, inst)| inst.reads().chain(inst.writes()));
    registers.all(|register| {
        register.words().all(|word| *holders.entry((register.bank, word)).or_insert(register) == register)
    })
}
