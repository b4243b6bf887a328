//! From a kernel to its machine code.

use std::collections::HashSet;

use warplens_ir::{Chain, Function, FunctionId, FunctionKind, Inst, Module, Unrolled, call_graph};
use warplens_isa::{BlockId, Op, Pc, Spelling};
use warplens_trace::{Code, Place};

use crate::emit::{self, Emitter};
use crate::node::Body;
use crate::schedule::Budget;
use crate::slots::{Slots, slots};
use crate::target::Target;
use crate::{banks, copies, divergence, lanes, listed, number, schedule, select, simplify};

/// How code is generated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Order the instructions of each block as the vendor's assembler would; otherwise they stay in the order of the IR.
    pub schedule: bool,
    /// Registers per thread that the schedule may use; without them those that the kernel demands, else the estimate.
    pub registers: Option<u32>,
}

impl Default for Options {
    fn default() -> Self {
        Self { schedule: true, registers: None }
    }
}

/// Machine code of a kernel and the functions that it reaches.
#[derive(Clone, PartialEq, Debug)]
pub struct Generated {
    /// The code; its blocks are those of the module, empty where the kernel does not get.
    pub code: Code,
    /// Registers per thread that the schedule was held to.
    pub registers: u32,
    /// Registers per thread that the code needs in that order, without spilling; 0 without a schedule.
    pub needed: u32,
    /// What was assumed on the way, each a sentence.
    pub assumptions: Vec<String>,
}

/// Why there is no code.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Error {
    /// A block has more memory instructions than slots.
    #[error("a block of `{0}` has more than 65535 memory instructions")]
    TooManyAccesses(String),
    /// An instruction of which nobody said what it becomes.
    #[error("it is not known what `{opcode}` on line {line} becomes")]
    NoMachineCode {
        /// The instruction.
        pc: Pc,
        /// What it is, and how the input writes it.
        opcode: Spelling,
        /// Its line in the input, from 1.
        line: u32,
    },
    /// A function that works on the registers of its callers, which the generator does not follow.
    #[error("`{0}` works on the registers of its callers, of which the machine code is not known")]
    Subroutine(String),
    /// More registers than a scoreboard has numbers for.
    #[error("`{0}` has more than 65535 registers that are live across blocks")]
    TooManyRegisters(String),
}

/// Makes the code of `kernel` and what it calls.
pub fn generate(module: &Module, kernel: FunctionId, target: &Target, options: Options) -> Result<Generated, Error> {
    if let Some(registers) = module.functions[kernel].machine_registers {
        return listed::code(module, kernel, target, registers);
    }
    let slots = slots(module);
    let functions = call_graph::reachable(module, kernel);
    let mut called = functions.iter().map(|&function| &module.functions[function]);
    if let Some(subroutine) = called.find(|function| function.kind == FunctionKind::Subroutine) {
        return Err(Error::Subroutine(subroutine.name.clone()));
    }
    check_instructions(module, &functions, target)?;
    let rewritten = warplens_ir::local_arrays_in_registers(module, &functions, options.registers);
    let takes_arrays = rewritten.is_some();
    let module = rewritten.as_ref().unwrap_or(module);
    let registers =
        options.registers.unwrap_or_else(|| warplens_ir::register_estimate(module, kernel, target.number()));
    let unrolled = target.is_from(2, 0).then(|| Unrolled::new(module, &functions, target.number())).flatten();
    let mut assembler = Assembler {
        target,
        schedule: options.schedule,
        budget: Budget { registers, is_known: options.registers.is_some() },
        is_unrolled: unrolled.is_some(),
        needed: 0,
        known: number::Known::new(),
        emitter: Emitter::new(module),
    };
    match &unrolled {
        None => functions.iter().try_for_each(|&id| assembler.add(module, &slots, id, None, |_| true))?,
        Some(unrolled) => {
            let of_copies = slots.clone().unrolled(unrolled);
            let parts: HashSet<BlockId> = unrolled.chains.iter().flat_map(|chain| &chain.blocks).copied().collect();
            let is_part = |block: BlockId| parts.contains(&block);
            for &id in &functions {
                let is_whole = |block: BlockId| !is_part(block) || unrolled.chain(block).is_some();
                assembler.add(&unrolled.module, &of_copies, id, Some(unrolled), is_whole)?;
                // Where a warp does not follow a chain as a whole, it executes its blocks one by one.
                if module.functions[id].block_ids().any(is_part) {
                    assembler.add(module, &slots, id, None, is_part)?;
                }
            }
        }
    }
    let mut assumptions = assumptions(target, options, registers);
    if let Some(unrolled) = &unrolled {
        assumptions.push(loops_said(unrolled));
    }
    if takes_arrays {
        assumptions.push(
            "Local arrays whose index has few values are kept in registers, with a guarded copy for each element that an \
             access may mean"
                .to_owned(),
        );
    }
    Ok(Generated { needed: assembler.needed, code: assembler.emitter.finish(), registers, assumptions })
}

/// Makes code of functions, one after the other.
struct Assembler<'t> {
    target: &'t Target,
    schedule: bool,
    budget: Budget,
    is_unrolled: bool,
    needed: u32,
    known: number::Known,
    emitter: Emitter,
}

impl Assembler<'_> {
    /// Adds the blocks of a function that are wanted.
    fn add(
        &mut self,
        module: &Module,
        slots: &Slots,
        id: FunctionId,
        unrolled: Option<&Unrolled>,
        wanted: impl Fn(BlockId) -> bool,
    ) -> Result<(), Error> {
        let function = &module.functions[id];
        check_slots(module, function, slots)?;
        let turn = |pc: Pc| unrolled.map_or(0, |unrolled| unrolled.origin(pc).1);
        let mut body = Body::new(module, function, slots, turn);
        simplify::simplify(&mut body, self.target);
        let mut blocks = emit::select(&body, self.target);
        copies::share(&body, &mut blocks, self.target);
        divergence::mark(&body, self.target, &mut blocks);
        if self.schedule {
            let needed = schedule::schedule(&body, &mut blocks, self.budget);
            let needed = function.block_ids().zip(needed).filter(|&(block, _)| wanted(block)).map(|(_, needed)| needed);
            // What a chain needs is what ptxas needs; its blocks one by one do not exist there.
            if unrolled.is_some() || !self.is_unrolled {
                self.needed = needed.fold(self.needed, u32::max);
            }
        }
        lanes::assign(&body, self.target, &mut blocks);
        if self.target.is_from(7, 0) {
            banks::assign(&body, &mut blocks);
        }
        let numbers = number::number(&body, &blocks, self.emitter.next_register(), &mut self.known)
            .ok_or_else(|| Error::TooManyRegisters(function.name.clone()))?;
        self.emitter.add(function, &blocks, &numbers, unrolled, wanted);
        Ok(())
    }
}

/// Refuses instructions that no table says machine code of, and those that the generation does not have.
fn check_instructions(module: &Module, functions: &[FunctionId], target: &Target) -> Result<(), Error> {
    let blocks = functions.iter().flat_map(|&function| module.functions[function].block_ids());
    let mut insts = blocks.flat_map(|block| &module.blocks[block].insts);
    let lacks = |inst: &&Inst| match inst.op() {
        Op::Unsupported => select::work(&module.key(inst.pc)).is_none(),
        Op::Copy | Op::CopyCommit | Op::CopyWait => !target.is_from(8, 0),
        Op::CopyBulk | Op::CopyTensor | Op::ClusterBar | Op::RedCluster => !target.is_from(9, 0),
        Op::FillBulk => !target.is_from(10, 0),
        Op::MmaAsync => !target.is_from(9, 0) || target.is_from(10, 0),
        Op::Mma => select::product(&inst.operation, target).is_none(),
        _ => false,
    };
    match insts.find(lacks) {
        None => Ok(()),
        Some(&Inst { pc, .. }) => {
            Err(Error::NoMachineCode { pc, opcode: module.spelling(pc).clone(), line: module.pcs[pc].line })
        }
    }
}

pub(crate) fn check_slots(module: &Module, function: &Function, slots: &Slots) -> Result<(), Error> {
    let insts = function.block_ids().flat_map(|block| &module.blocks[block].insts);
    let lacks = insts.filter(|inst| !inst.memory.is_empty()).any(|inst| slots.of(inst.pc).is_none());
    if lacks { Err(Error::TooManyAccesses(function.name.clone())) } else { Ok(()) }
}

fn assumptions(target: &Target, options: Options, registers: u32) -> Vec<String> {
    let mut said = vec![format!(
        "Machine code of compute capability {} was made from the PTX by a table of operations; loops of which it is not \
         said here stay rolled as the PTX has them",
        target.compute_capability
    )];
    said.push(if options.schedule {
        format!("Instructions are ordered within their blocks as ptxas would, for {registers} registers per thread")
    } else {
        "Instructions stay in the order of the PTX".to_owned()
    });
    said
}

fn loops_said(unrolled: &Unrolled) -> String {
    let (in_part, whole): (Vec<&Chain>, Vec<&Chain>) = unrolled.chains.iter().partition(|chain| chain.goes_back());
    let mut loops: Vec<BlockId> = whole.iter().flat_map(|chain| &chain.blocks).copied().collect();
    loops.sort_unstable();
    let n = loops.chunk_by(|left, right| left == right).filter(|same| same.len() > 1).count();
    let are = |n: usize, what: &str| if n == 1 { format!("1 loop{what} is") } else { format!("{n} loops{what} are") };
    let mut said = Vec::new();
    if n > 0 {
        said.push(format!("{} unrolled", are(n, " with a known number of turns")));
    }
    if !in_part.is_empty() {
        let mut turns: Vec<usize> = in_part.iter().map(|chain| chain.blocks.len()).collect();
        turns.sort_unstable();
        turns.dedup();
        let turns: Vec<String> = turns.iter().map(usize::to_string).collect();
        said.push(format!("{} unrolled in part, {} turns at a time", are(in_part.len(), ""), turns.join(" or ")));
    }
    format!("{}, as ptxas would", said.join(" and "))
}

/// Where the instructions of a module come from, by program counter.
pub(crate) fn places(module: &Module) -> Vec<Place> {
    let place = |pc: Pc, info: &warplens_ir::PcInfo| Place {
        line: info.line,
        text: module.spellings[info.spelling].to_string(),
        source: module.locations.get(&pc).map(|location| (module.files[location.file as usize].clone(), location.line)),
    };
    module.pcs.iter().map(|(pc, info)| place(pc, info)).collect()
}
