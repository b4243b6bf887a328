//! What a kernel's code says without being run: the static facts behind the counts.

use std::sync::Arc;

use warplens_base::IdMap;
use warplens_ir::{Block, CallGraph, FunctionId, Inst, Module, SpellingId};
use warplens_isa::{BlockId, Op, OpClass, Pc, SlowOperation, Spelling, StateSpace};

use crate::LaunchShape;
use crate::dependence::{Loaded, Steps, WordNumbers};
use crate::parallelism::{Group, Schedule};
use crate::statistics::BlockTasks;

/// Static facts of one kernel and everything that it may call, and the launch. Computed once, shared by all observers.
pub struct Program {
    pub(crate) kernel: String,
    pub(crate) launch: LaunchShape,
    /// Its instructions are those of machine code.
    pub(crate) is_machine_code: bool,
    pub(crate) first_block: u32,
    first_pc: u32,
    /// By block position.
    steps: Vec<Steps>,
    /// By block position: loads that only sometimes load from global memory.
    pub(crate) sometimes: Vec<Loaded>,
    /// By slot: the block position and the bit of such a load.
    pub(crate) sometimes_of_slot: Vec<Option<(u32, Loaded)>>,
    /// By block position: source instructions that count there.
    pub(crate) block_instructions: Vec<u32>,
    /// By block position: the schedules of all instructions, and of those that are not virtual.
    pub(crate) schedules: Vec<[Schedule; 2]>,
    /// Kinds of instructions by block, and what they access.
    pub(crate) tasks: BlockTasks,
    /// How the module writes its instructions.
    pub(crate) spellings: IdMap<SpellingId, Spelling>,
    /// By pc position; `None` for instructions of functions that the kernel does not reach.
    pub(crate) pcs: Vec<Option<PcFacts>>,
    /// By pc position: index of a memory instruction, `NO_SLOT` for others.
    pub(crate) slot_of_pc: Vec<u32>,
    /// Pc positions of the memory instructions.
    pub(crate) slots: Vec<u32>,
}

/// Mark of an instruction that touches no memory.
pub(crate) const NO_SLOT: u32 = u32::MAX;

/// Facts of a source instruction.
pub(crate) struct PcFacts {
    /// Position of the block whose executions count as executions of the instruction.
    pub(crate) block: usize,
    pub(crate) spelling: SpellingId,
    pub(crate) class: OpClass,
    /// What it counts as, if it is a high-latency operation.
    pub(crate) high_latency: Option<SlowOperation>,
    pub(crate) role: Role,
    /// Guarded operations that it lowers to: each reports its guard.
    pub(crate) n_guarded: u32,
    pub(crate) ptx_line: u32,
    pub(crate) source: Option<(String, u32)>,
}

/// What an instruction is to the list of lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    Memory(StateSpace),
    Branch,
    CtaBarrier,
    WarpBarrier,
    Other,
}

impl Program {
    /// The facts of `kernel` when launched as `launch`.
    pub fn new(module: &Module, kernel: FunctionId, launch: LaunchShape) -> Arc<Self> {
        let calls = CallGraph::new(module);
        let mut functions = calls.reachable(kernel);
        functions.sort_unstable();
        let words = WordNumbers::new(functions.iter().map(|&id| &module.functions[id]));
        let ranges = || functions.iter().map(|&id| &module.functions[id]);
        let first_block = ranges().map(|function| function.first_block.0).min().unwrap_or(0);
        let end_block = ranges().map(|function| function.first_block.0 + function.n_blocks).max().unwrap_or(0);
        let all_insts =
            || ranges().flat_map(|function| function.block_ids()).flat_map(|block| &module.blocks[block].insts);
        let first_pc = all_insts().map(|inst| inst.pc.0).min().unwrap_or(0);
        let n_pcs = all_insts().map(|inst| inst.pc.0 - first_pc + 1).max().unwrap_or(0) as usize;
        let n_blocks = (end_block - first_block) as usize;
        let mut program = Self {
            kernel: module.functions[kernel].name.clone(),
            launch,
            is_machine_code: module.functions[kernel].machine_registers.is_some(),
            first_block,
            first_pc,
            steps: vec![Steps::default(); n_blocks],
            sometimes: vec![0; n_blocks],
            sometimes_of_slot: Vec::new(),
            block_instructions: vec![0; n_blocks],
            schedules: vec![[Schedule::default(); 2]; n_blocks],
            tasks: BlockTasks::new(n_blocks),
            spellings: module.spellings.clone(),
            pcs: std::iter::repeat_with(|| None).take(n_pcs).collect(),
            slot_of_pc: vec![NO_SLOT; n_pcs],
            slots: Vec::new(),
        };
        for function in ranges() {
            for id in function.block_ids() {
                let position = program.block_position(id);
                program.steps[position] = Steps::new(module, &calls, function, id, &words);
                program.add_block(module, position, &module.blocks[id]);
                program.add_sometimes(position, &module.blocks[id]);
                program.add_schedules(module, position, &module.blocks[id]);
                program.add_tasks(module, position, &module.blocks[id]);
            }
        }
        Arc::new(program)
    }

    /// Warps of a CTA.
    pub fn n_warps(&self) -> usize {
        self.launch.n_warps() as usize
    }

    pub(crate) fn n_blocks(&self) -> usize {
        self.steps.len()
    }

    pub(crate) fn steps(&self, position: usize) -> &Steps {
        &self.steps[position]
    }

    /// Position of a block in the arrays by block.
    #[inline]
    pub(crate) fn block_position(&self, block: BlockId) -> usize {
        block.0.wrapping_sub(self.first_block) as usize
    }

    /// Position of an instruction in the arrays by pc.
    #[inline]
    pub(crate) fn pc_position(&self, pc: Pc) -> usize {
        pc.0.wrapping_sub(self.first_pc) as usize
    }

    /// The instruction at a position.
    pub(crate) fn pc_at(&self, position: usize) -> Pc {
        Pc(self.first_pc + position as u32)
    }

    /// Notes which loads of a block do not always take place.
    fn add_sometimes(&mut self, position: usize, block: &Block) {
        for (at, bit) in self.steps[position].sometimes() {
            let slot = self.slot_of_pc[self.pc_position(block.insts[at].pc)];
            let (_, bits) = self.sometimes_of_slot[slot as usize].get_or_insert((position as u32, 0));
            *bits |= 1 << bit;
            self.sometimes[position] |= 1 << bit;
        }
    }

    fn add_tasks(&mut self, module: &Module, position: usize, block: &Block) {
        let mut tasks = std::mem::take(&mut self.tasks);
        let slot = |inst: &Inst| {
            let slot = self.slot_of_pc[self.pc_position(inst.pc)];
            (touches_memory(inst) && slot != NO_SLOT).then_some(slot)
        };
        let counts = |inst: &Inst| {
            let facts = self.pcs[self.pc_position(inst.pc)].as_ref();
            facts.is_some_and(|facts| facts.block == position)
        };
        tasks.add(module, (position, block), slot, counts);
        self.tasks = tasks;
    }

    fn add_schedules(&mut self, module: &Module, position: usize, block: &Block) {
        if self.is_machine_code {
            let groups = block.insts.chunk_by(|left, right| left.pc == right.pc);
            let controls: Vec<_> = groups.filter_map(|group| module.controls.get(&group[0].pc).copied()).collect();
            self.schedules[position] = [Schedule::of_machine_code(&controls); 2];
            return;
        }
        let schedule = |counts: &dyn Fn(&PcFacts) -> bool| {
            let mut groups: Vec<Group<'_>> = Vec::new();
            let mut last = None;
            for (inst, step) in block.insts.iter().zip(self.steps[position].iter()) {
                match groups.last_mut().filter(|_| last == Some(inst.pc)) {
                    Some(group) => group.steps.push(step),
                    None => {
                        let facts = self.pcs[self.pc_position(inst.pc)].as_ref();
                        let counts = facts.is_some_and(|facts| facts.block == position && counts(facts));
                        groups.push(Group { steps: vec![step], counts });
                    }
                }
                last = Some(inst.pc);
            }
            Schedule::of(&groups)
        };
        self.schedules[position] = [schedule(&|_| true), schedule(&|facts| facts.class != OpClass::Virtual)];
    }

    fn add_block(&mut self, module: &Module, position: usize, block: &Block) {
        for inst in &block.insts {
            let at = self.pc_position(inst.pc);
            if touches_memory(inst) && self.slot_of_pc[at] == NO_SLOT {
                self.slot_of_pc[at] = self.slots.len() as u32;
                self.slots.push(at as u32);
                self.sometimes_of_slot.push(None);
            }
            let facts = self.pcs[at].get_or_insert_with(|| {
                self.block_instructions[position] += 1;
                PcFacts::new(module, inst.pc, position)
            });
            facts.n_guarded += u32::from(inst.guard.is_some());
            if facts.role == Role::Other {
                facts.role = role(inst);
            }
        }
    }
}

impl PcFacts {
    fn new(module: &Module, pc: Pc, block: usize) -> Self {
        let info = &module.pcs[pc];
        let file = |file: u32| module.files.get(file as usize).cloned().unwrap_or_default();
        Self {
            block,
            spelling: info.spelling,
            class: info.class,
            high_latency: info.high_latency,
            role: Role::Other,
            n_guarded: 0,
            ptx_line: info.line,
            source: module.locations.get(&pc).map(|location| (file(location.file), location.line)),
        }
    }
}

/// True for instructions that may report accesses.
fn touches_memory(inst: &Inst) -> bool {
    !inst.memory.is_empty() && inst.op().is_access()
}

fn role(inst: &Inst) -> Role {
    match (inst.op(), inst.memory.iter().last()) {
        // A copy counts where it reads; the place of a tensor is said by its map.
        (Op::CopyTensor, _) if !inst.operation.writes_tensor() => Role::Memory(StateSpace::Global),
        (op, Some(memory)) if op.is_access() && memory.space != StateSpace::Param => Role::Memory(memory.space),
        (Op::Bra | Op::BrxIdx | Op::Jump, _) => Role::Branch,
        (Op::Bar, _) => Role::CtaBarrier,
        (Op::BarWarp, _) => Role::WarpBarrier,
        _ => Role::Other,
    }
}
