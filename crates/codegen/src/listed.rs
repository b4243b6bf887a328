//! Machine code that is there already: each instruction of the listing is one of the simulation.
//!
//! What an instruction occupies follows from its mnemonic, by the same rules as those of `select`. Registers are those of
//! the code: the words behind them, in which the emulator keeps what one instruction computes on the way, are not seen.

use std::collections::{HashMap, HashSet};

use warplens_ir::{Bank, FunctionId, Inst, Module, Operand, Register};
use warplens_isa::{AtomicOp, BlockId, Op, Operation, Pc, StateSpace};
use warplens_trace::{Code, IntegerLanes, MachineClass as C, MachineInst, NO_SLOT, RegisterNumber};

use crate::banks::has_fixed_latency;
use crate::generate::{Error, Generated, check_slots, places};
use crate::select::{CLUSTER_BARRIER, class_of_product};
use crate::slots::{Slots, slots};
use crate::target::Target;

/// Predicates of a thread.
const PREDICATES: u32 = 7;
/// Slots of the operand cache.
const OPERAND_SLOTS: usize = 3;

/// The code of a kernel.
pub(crate) fn code(module: &Module, kernel: FunctionId, target: &Target, registers: u32) -> Result<Generated, Error> {
    let slots = slots(module);
    let function = &module.functions[kernel];
    check_slots(module, function, &slots)?;
    let mut code = Code { blocks: vec![0..0; module.blocks.len()], places: places(module), ..Code::default() };
    let insts = || function.block_ids().flat_map(|block| &module.blocks[block].insts);
    let products: HashSet<Pc> = insts().filter(|inst| inst.op() == Op::MmaAsync).map(|inst| inst.pc).collect();
    let commits = insts().any(|inst| inst.op() == Op::CopyCommit && !products.contains(&inst.pc));
    let mut reader = Reader { module, target, registers, slots: &slots, commits, numbers: HashMap::new() };
    for block in function.block_ids() {
        let first = code.insts.len() as u32;
        reader.block(block, &mut code)?;
        code.blocks[block.0 as usize] = first..code.insts.len() as u32;
    }
    let mut assumptions =
        vec![format!("The instructions are those of the machine code, which was assembled for {}", module.target)];
    if module.target_number() != target.number() {
        assumptions.push(format!(
            "Compute capability {} takes them as they are; the driver would compile others for it if it could",
            target.compute_capability
        ));
    }
    Ok(Generated { code, registers, needed: registers, assumptions })
}

struct Reader<'a> {
    module: &'a Module,
    target: &'a Target,
    registers: u32,
    slots: &'a Slots,
    /// The kernel closes groups of asynchronous copies, so that the waits at the first scoreboard are for them.
    commits: bool,
    numbers: HashMap<(Bank, u32), RegisterNumber>,
}

/// Under which guards each register of a block was written since all lanes wrote it.
#[derive(Default)]
struct Guarded {
    by: HashMap<RegisterNumber, Vec<(RegisterNumber, bool)>>,
}

impl Guarded {
    /// True where all that was written since to the registers that an instruction writes was for the other value of its
    /// guard: a predicate, and whether it is to be false.
    fn is_beside(&mut self, writes: &[RegisterNumber], guard: Option<(RegisterNumber, bool)>) -> bool {
        let other = guard.map(|(predicate, negated)| (predicate, !negated));
        let is_other = |register: &RegisterNumber| {
            self.by.get(register).is_some_and(|guards| guards.iter().all(|guard| Some(*guard) == other))
        };
        let is_beside = !writes.is_empty() && writes.iter().all(is_other);
        // A predicate that is written anew says nothing of the guards before.
        self.by.retain(|_, guards| guards.iter().all(|(predicate, _)| !writes.contains(predicate)));
        for &register in writes {
            match guard.filter(|(predicate, _)| !writes.contains(predicate)) {
                Some(guard) => self.by.entry(register).or_default().push(guard),
                None => _ = self.by.remove(&register),
            }
        }
        is_beside
    }
}

impl Reader<'_> {
    fn block(&mut self, block: BlockId, code: &mut Code) -> Result<(), Error> {
        let insts = &self.module.blocks[block].insts;
        let mut cached: [Option<Register>; OPERAND_SLOTS] = [None; OPERAND_SLOTS];
        let mut guarded = Guarded::default();
        for group in insts.chunk_by(|left, right| left.pc == right.pc) {
            let mut inst = self.instruction(group, code, &mut cached)?;
            let negated = group.last().and_then(|inst| inst.guard).is_some_and(|guard| guard.negated);
            inst.beside = guarded.is_beside(code.registers(inst.writes), inst.guard.map(|guard| (guard, negated)));
            code.insts.push(inst);
            // The last product of a group closes it.
            if inst.class == C::TensorAsync && group.iter().any(|inst| inst.op() == Op::CopyCommit) {
                code.insts.push(MachineInst::new(C::AsyncCommit, group[0].pc.0));
            }
        }
        Ok(())
    }

    fn instruction(
        &mut self,
        group: &[Inst],
        code: &mut Code,
        cached: &mut [Option<Register>; OPERAND_SLOTS],
    ) -> Result<MachineInst, Error> {
        let pc = group[0].pc;
        let (class, lanes, amount) = self.occupies(group)?;
        let mut inst = MachineInst::new(class, pc.0);
        (inst.lanes, inst.amount) = (lanes, amount);
        if let Some(memory) = group.iter().find_map(|inst| inst.memory.iter().next()) {
            inst.slot = self.slots.of(pc).map_or(NO_SLOT, |(_, slot)| slot);
            inst.space = memory.space;
            // A constant that the code loads by its name is an operand; where a register says its place, it is a load.
            if memory.space == StateSpace::Const && !class.accesses_memory() || memory.space == StateSpace::Param {
                inst.slot = NO_SLOT;
            }
        }
        let reads = self.reads(group);
        let writes = self.writes(group);
        inst.guard = group.last().and_then(|inst| inst.guard).and_then(|guard| self.number(guard.predicate, 0));
        inst.addend = self.addend(group);
        inst.bank_reads = self.bank_reads(group, class, cached);
        inst.stall = self.module.controls.get(&pc).map_or(0, |control| control.stall);
        inst.reads = code.operands_of(&reads);
        inst.writes = code.operands_of(&writes);
        Ok(inst)
    }

    /// Registers that an instruction reads before it has written them.
    fn reads(&mut self, group: &[Inst]) -> Vec<RegisterNumber> {
        let (mut reads, mut written) = (Vec::new(), Vec::new());
        for inst in group {
            for register in inst.reads() {
                for part in 0..register.width.words() {
                    let word = (register.bank, register.index + part);
                    if let Some(number) = self.number(register, part)
                        && !written.contains(&word)
                        && !reads.contains(&number)
                    {
                        reads.push(number);
                    }
                }
            }
            let words = inst.writes().flat_map(|register| register.words().map(move |word| (register.bank, word)));
            written.extend(words);
        }
        reads
    }

    fn writes(&mut self, group: &[Inst]) -> Vec<RegisterNumber> {
        let mut writes = Vec::new();
        for register in group.iter().flat_map(Inst::writes) {
            for part in 0..register.width.words() {
                if let Some(number) = self.number(register, part)
                    && !writes.contains(&number)
                {
                    writes.push(number);
                }
            }
        }
        writes
    }

    /// The number of a word of a register; none of what the emulator alone has.
    fn number(&mut self, register: Register, part: u32) -> Option<RegisterNumber> {
        let index = register.index + part;
        let is_real = match register.bank {
            Bank::Vector => index < self.registers,
            Bank::Predicate => index < PREDICATES,
            Bank::Uniform | Bank::UniformPredicate => true,
            Bank::Convergence => false,
        };
        if !is_real {
            return None;
        }
        let next = RegisterNumber::try_from(self.numbers.len()).ok()?;
        Some(*self.numbers.entry((register.bank, index)).or_insert(next))
    }

    /// The register that a multiply-add adds last.
    fn addend(&mut self, group: &[Inst]) -> Option<RegisterNumber> {
        let last = group.last()?;
        let adds = matches!(last.op(), Op::Fma | Op::Mad | Op::MadWide | Op::Dp4a);
        let register = last.sources.get(2).filter(|_| adds)?.register()?;
        self.number(register, 0)
    }

    /// Registers of each bank that the operands are fetched from, without those that the operand cache has: each slot keeps
    /// what the instruction before marked in it.
    fn bank_reads(&self, group: &[Inst], class: C, cached: &mut [Option<Register>; OPERAND_SLOTS]) -> [u8; 2] {
        let mut reads = [0_u8; 2];
        if !has_fixed_latency(class) {
            *cached = [None; OPERAND_SLOTS];
            return reads;
        }
        let sources = group.iter().max_by_key(|inst| inst.sources.len()).map_or(&[][..], |inst| &inst.sources);
        let is_real = |register: &Register| register.bank == Bank::Vector && register.index < self.registers;
        let of_slot = |slot: usize| sources.get(slot).and_then(Operand::register).filter(is_real);
        for (slot, kept) in cached.iter().enumerate() {
            let Some(register) = of_slot(slot).filter(|register| *kept != Some(*register)) else { continue };
            for word in register.words() {
                reads[(word % 2) as usize] += 1;
            }
        }
        let reuse = self.module.controls.get(&group[0].pc).map_or(0, |control| control.reuse);
        *cached = std::array::from_fn(|slot| of_slot(slot).filter(|_| reuse >> slot & 1 == 1));
        reads
    }

    /// What an instruction occupies, and how much of it.
    fn occupies(&self, group: &[Inst]) -> Result<(C, IntegerLanes, u32), Error> {
        let pc = group[0].pc;
        let text = self.module.spelling(pc).text.to_string();
        let mut words = text.split('.');
        let base = words.next().unwrap_or_default();
        let modifiers: Vec<&str> = words.collect();
        let is_double = || modifiers.contains(&"F64");
        let of_class = |class: C| Ok((class, IntegerLanes::OfClass, 1));
        match base {
            "FADD" | "FMUL" | "FFMA" => of_class(C::Fp32),
            "FSETP" | "FSEL" | "FMNMX" | "FMNMX3" | "FSET" => of_class(C::Int),
            "DADD" | "DMUL" | "DFMA" | "DSETP" => of_class(C::Fp64),
            "HADD2" | "HMUL2" | "HFMA2" | "HSETP2" | "HSET2" | "HMNMX2" => of_class(C::Fp16),
            "IMAD" | "IMUL" | "IDP" => of_class(C::IntMul),
            // Nobody says on which lanes these run.
            "VIADD" => Ok((C::Int, IntegerLanes::Either, 1)),
            "IADD3" | "IADD" | "LEA" | "LOP3" | "SHF" | "PRMT" | "ISETP" | "SEL" | "IMNMX" | "VIMNMX" | "VIMNMX3"
            | "VIADDMNMX" | "IABS" | "VABSDIFF" | "VABSDIFF4" | "BMSK" | "SGXT" | "PLOP3" | "P2R" | "R2P" | "I2FP"
            | "F2FP" | "LEPC" => of_class(C::Int),
            "MUFU" => of_class(C::Sfu),
            "POPC" | "FLO" | "BREV" | "FCHK" | "I2I" => of_class(C::Convert),
            "F2F" if is_double() && self.target.converts_on_fp64 => of_class(C::Fp64),
            "I2F" | "F2I" | "FRND" if is_double() && self.target.converts_on_fp64 && !self.target.is_from(8, 6) => {
                of_class(C::Fp64)
            }
            "F2F" | "I2F" | "F2I" | "FRND" => of_class(C::Convert),
            "MOV" | "S2R" | "CS2R" | "B2R" => of_class(C::Move),
            "LDC" if self.is_load(group) => of_class(C::Load),
            "LDC" => of_class(C::Move),
            "R2UR" | "S2UR" | "ULDC" | "LDCU" | "CS2UR" => of_class(C::Uniform),
            "SHFL" | "MOVM" => of_class(C::Shuffle),
            "VOTE" | "VOTEU" | "MATCH" | "REDUX" | "CREDUX" | "ELECT" => of_class(C::Vote),
            "LDG" | "LDS" | "LDL" | "LD" | "LDSM" | "SULD" => of_class(C::Load),
            "STG" | "STS" | "STL" | "ST" | "STSM" | "SUST" => of_class(C::Store),
            "TEX" | "TLD" | "TLD4" | "TXQ" => of_class(C::Texture),
            "ATOMG" | "ATOMS" | "ATOM" | "RED" | "REDG" => Ok(atomic(group)),
            "LDGSTS" => of_class(C::AsyncCopy),
            "LDGDEPBAR" | "UTMACMDFLUSH" => of_class(C::AsyncCommit),
            "UBLKCP" | "UBLKRED" | "UTMALDG" | "UTMASTG" | "UTMAREDG" => of_class(C::AsyncCopy),
            "UBLKPF" | "UTMAPF" => of_class(C::Load),
            "UTMACCTL" => of_class(if modifiers.contains(&"PF") { C::Load } else { C::Fence }),
            "SYNCS" => of_class(memory_barrier(group)),
            "STAS" => of_class(C::Store),
            "ARRIVES" | "REDAS" => of_class(C::Reduction),
            "UCGABAR_ARV" => Ok((C::BarrierArrive, IntegerLanes::OfClass, CLUSTER_BARRIER)),
            "UCGABAR_WAIT" => Ok((C::Barrier, IntegerLanes::OfClass, CLUSTER_BARRIER)),
            "WARPGROUP" if modifiers.contains(&"DEPBAR") => Ok((C::AsyncWait, IntegerLanes::OfClass, pending(group))),
            "HGMMA" | "IGMMA" | "QGMMA" | "BGMMA" => {
                let work = group.iter().find_map(group_work).ok_or_else(|| self.unknown(pc))?;
                Ok((C::TensorAsync, IntegerLanes::OfClass, work.max(1)))
            }
            "DEPBAR" if self.commits => Ok((C::AsyncWait, IntegerLanes::OfClass, pending(group))),
            "BAR" => {
                let class = if modifiers.contains(&"ARV") { C::BarrierArrive } else { C::Barrier };
                Ok((class, IntegerLanes::OfClass, barrier(group)))
            }
            "MEMBAR" | "ERRBAR" | "CGAERRBAR" | "FENCE" => of_class(C::Fence),
            "NOP" | "YIELD" | "WARPSYNC" | "DEPBAR" | "NANOSLEEP" | "CCTL" | "ENDCOLLECTIVE" | "QSPC" | "BSSY"
            | "BSYNC" | "BREAK" | "BMOV" | "WARPGROUP" | "USETMAXREG" => of_class(C::Nop),
            "BRA" | "BRX" | "JMP" | "JMX" | "CALL" | "RET" => of_class(C::Branch),
            "EXIT" | "BPT" | "(end)" => of_class(C::Exit),
            "HMMA" | "IMMA" | "DMMA" | "BMMA" | "QMMA" => self.product(group),
            base if base.starts_with('U') => of_class(C::Uniform),
            _ => Err(self.unknown(pc)),
        }
    }

    /// It loads from memory, not by the name of a place.
    fn is_load(&self, group: &[Inst]) -> bool {
        group.iter().any(|inst| inst.memory.iter().any(|memory| memory.base.register().is_some()))
    }

    fn product(&self, group: &[Inst]) -> Result<(C, IntegerLanes, u32), Error> {
        let product = group.iter().find_map(|inst| match inst.operation {
            Operation::Mma(product) => Some(product),
            _ => None,
        });
        let product = product.ok_or_else(|| self.unknown(group[0].pc))?;
        Ok((class_of_product(&product), IntegerLanes::OfClass, product.work().max(1)))
    }

    fn unknown(&self, pc: Pc) -> Error {
        Error::NoMachineCode { pc, opcode: self.module.spelling(pc).clone(), line: self.module.pcs[pc].line }
    }
}

/// The work of a product of four warps, in each of them.
fn group_work(inst: &Inst) -> Option<u32> {
    match inst.operation {
        Operation::MmaAsync(group) => Some(group.work()),
        _ => None,
    }
}

/// What is done to a barrier in memory: it is told something, asked, or its memory is given back.
fn memory_barrier(group: &[Inst]) -> C {
    let has = |op: Op| group.iter().any(|inst| inst.op() == op);
    match () {
        () if has(Op::TestPhase) => C::Load,
        () if has(Op::St) => C::Store,
        () if has(Op::Atom) => C::Atomic,
        () => C::Reduction,
    }
}

fn atomic(group: &[Inst]) -> (C, IntegerLanes, u32) {
    let mut found = (C::Reduction, 1);
    for inst in group {
        if let Operation::Atom(atomic) | Operation::Red(atomic) = inst.operation {
            let returns = inst.op() == Op::Atom && inst.writes().next().is_some();
            let is_moved = matches!(atomic.op, AtomicOp::Exch | AtomicOp::Cas);
            let is_shared = inst.memory.iter().any(|memory| memory.space == StateSpace::Shared);
            let way = match is_shared {
                // What adds a number has it in a register.
                true if atomic.op == AtomicOp::Add && inst.sources == [Operand::Immediate(1)] => MachineInst::COUNTED,
                false if !inst.ty.is_integer() && !is_moved => MachineInst::FLOATING,
                _ => 1,
            };
            found = (if returns { C::Atomic } else { C::Reduction }, way);
        }
    }
    (found.0, IntegerLanes::OfClass, found.1)
}

/// The groups that may be left, of a wait.
fn pending(group: &[Inst]) -> u32 {
    let given = group.iter().flat_map(|inst| &inst.sources).find_map(immediate);
    given.unwrap_or(0)
}

/// The number of a barrier; 0 where a register says it.
fn barrier(group: &[Inst]) -> u32 {
    let bar = group.iter().find(|inst| inst.op() == Op::Bar);
    bar.and_then(|inst| inst.sources.first()).and_then(immediate).unwrap_or(0)
}

fn immediate(operand: &Operand) -> Option<u32> {
    match operand {
        Operand::Immediate(value) => u32::try_from(*value).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_for_both_values_of_a_predicate_lie_beside_each_other() {
        type Write<'a> = (&'a [RegisterNumber], Option<(RegisterNumber, bool)>);
        let last = |before: &[Write<'_>], (writes, guard): Write<'_>| {
            let mut guarded = Guarded::default();
            before.iter().for_each(|&(writes, guard)| _ = guarded.is_beside(writes, guard));
            guarded.is_beside(writes, guard)
        };
        let (p, not_p) = (Some((90, false)), Some((90, true)));
        assert!(last(&[(&[5], p)], (&[5], not_p)) && last(&[(&[5], not_p)], (&[5], p)));
        assert!(!last(&[], (&[5], p)));
        assert!(!last(&[(&[5], p)], (&[5], p)), "the same lanes");
        assert!(!last(&[(&[5], p), (&[5], not_p)], (&[5], p)), "the first of them is in the same lanes");
        assert!(!last(&[(&[5], p)], (&[5], Some((91, true)))), "another predicate");
        assert!(!last(&[(&[5], p)], (&[6], not_p)), "another register");
        assert!(!last(&[(&[5], p)], (&[4, 5], not_p)), "of a pair one word alone");
        assert!(last(&[(&[4, 5], p)], (&[4, 5], not_p)));
        assert!(!last(&[(&[5], p), (&[5], None)], (&[5], not_p)), "all lanes in between");
        assert!(!last(&[(&[5], p), (&[90], None)], (&[5], not_p)), "the predicate is another one");
        assert!(!last(&[(&[5], None)], (&[5], None)) && !last(&[(&[5], p)], (&[5], None)), "all lanes");
        assert!(last(&[(&[5], p), (&[5], None), (&[5], p)], (&[5], not_p)), "begun anew");
    }
}
