//! What waits for what in the block of machine code where warps spend the most: when each instruction could begin if only
//! results were waited for, and the chain that takes the longest.
//!
//! Latencies are those of the simulation. A load of global or local memory counts as found in the nearest memory that the
//! GPU keeps such data in, as nothing says here where it is found. Whether a warp could issue as fast is not asked: the
//! picture is of a warp that is alone and issues what it wants.

use warplens_isa::StateSpace;
use warplens_model::teg::Simulated;
use warplens_sim::{L1Config, L1Holds, SmConfig};
use warplens_trace::{Code, MachineClass, MachineInst};

/// Turns of the block that are followed, until its pace is steady.
const TURNS: usize = 12;

/// A block of machine code with its dependences.
#[derive(Clone, PartialEq, Debug)]
pub struct Dependences {
    /// The kernel.
    pub kernel: String,
    /// Identifier of the GPU.
    pub gpu: String,
    /// The instructions in the order of issue.
    pub instructions: Vec<Instruction>,
    /// Cycles of the longest chain within the block.
    pub longest: u32,
    /// Cycles that a turn takes after another, by what turns wait for of each other; none where they wait for nothing.
    pub between_turns: Option<u32>,
    /// Share of the warp cycles of the kernel that are spent in the block.
    pub share: f64,
    /// How often a warp executes it, on average over the warps that were followed.
    pub executions: u64,
}

/// An instruction of the block.
#[derive(Clone, PartialEq, Debug)]
pub struct Instruction {
    /// Line of the input.
    pub line: u32,
    /// File and line of the program, where the input says so.
    pub source: Option<(String, u32)>,
    /// The instruction as the input writes it.
    pub text: String,
    /// First cycle at which what it waits for in the block is there.
    pub start: u32,
    /// Cycles until its result is there.
    pub latency: u32,
    /// Instructions of the block that it waits for, by position.
    pub waits_for: Vec<usize>,
    /// It lies on the longest chain.
    pub is_critical: bool,
}

/// The block of the simulated code in which warps spend the most; none where nothing was executed.
pub(super) fn of(kernel: &str, gpu: &str, simulated: &Simulated) -> Option<Dependences> {
    let (code, outcome) = (&simulated.code, &simulated.outcome);
    let spent = |at: u32| outcome.stalls.get(at as usize).map_or(0, warplens_sim::StallCycles::total);
    let cycles = |block: &std::ops::Range<u32>| block.clone().map(spent).sum::<u64>();
    // Of equals the first.
    let block = code.blocks.iter().rev().max_by_key(|block| cycles(block))?.clone();
    let all: u64 = (0..code.insts.len() as u32).map(spent).sum();
    if block.is_empty() || all == 0 {
        return None;
    }
    let chain = Chain::new(code, &code.insts[block.start as usize..block.end as usize], &simulated.config);
    let starts = chain.starts();
    let critical = chain.critical(&starts);
    let instructions = chain.insts.iter().enumerate().map(|(at, inst)| {
        let place = code.places.get(inst.place as usize);
        Instruction {
            line: place.map_or(0, |place| place.line),
            source: place.and_then(|place| place.source.clone()),
            text: place.map_or_else(String::new, |place| place.text.clone()),
            start: starts[at],
            latency: chain.latencies[at],
            waits_for: chain.within[at].clone(),
            is_critical: critical.contains(&at),
        }
    });
    let executions = block.clone().map(|at| outcome.executions.get(at as usize).copied().unwrap_or(0)).max();
    Some(Dependences {
        kernel: kernel.to_owned(),
        gpu: gpu.to_owned(),
        instructions: instructions.collect(),
        longest: (0..starts.len()).map(|at| starts[at] + chain.latencies[at]).max().unwrap_or(0),
        between_turns: chain.between_turns(),
        share: cycles(&block) as f64 / all as f64,
        executions: executions.unwrap_or(0),
    })
}

/// The instructions of a block with what each waits for.
struct Chain<'c> {
    insts: &'c [MachineInst],
    latencies: Vec<u32>,
    /// Writers in the block before the instruction, each once.
    within: Vec<Vec<usize>>,
    /// Writers behind it, whose results of the turn before it reads.
    carried: Vec<Vec<usize>>,
}

impl<'c> Chain<'c> {
    fn new(code: &Code, insts: &'c [MachineInst], config: &SmConfig) -> Self {
        let registers = |operands: warplens_trace::Operands| {
            let first = operands.first as usize;
            &code.operands[first..first + operands.count as usize]
        };
        let writer = |register: u16, before: usize| {
            (0..before).rev().find(|at| registers(insts[*at].writes).contains(&register))
        };
        let (mut within, mut carried) = (Vec::new(), Vec::new());
        for (at, inst) in insts.iter().enumerate() {
            let (mut own, mut last) = (Vec::new(), Vec::new());
            for register in registers(inst.reads) {
                match writer(*register, at) {
                    Some(before) => own.push(before),
                    None => last.extend(writer(*register, insts.len())),
                }
            }
            for list in [&mut own, &mut last] {
                list.sort_unstable();
                list.dedup();
            }
            within.push(own);
            carried.push(last);
        }
        Self { insts, latencies: insts.iter().map(|inst| latency(inst, config)).collect(), within, carried }
    }

    /// When each instruction could begin, with nothing to wait for from before.
    fn starts(&self) -> Vec<u32> {
        let mut starts: Vec<u32> = Vec::new();
        for at in 0..self.insts.len() {
            let ready = self.within[at].iter().map(|before| starts[*before] + self.latencies[*before]);
            starts.push(ready.max().unwrap_or(0));
        }
        starts
    }

    /// The longest chain; of several the one that ends first.
    fn critical(&self, starts: &[u32]) -> Vec<usize> {
        let end = |at: usize| starts[at] + self.latencies[at];
        let last = (0..starts.len()).rev().max_by_key(|at| end(*at));
        std::iter::successors(last, |at| {
            self.within[*at].iter().copied().find(|before| end(*before) == starts[*at] && end(*before) > 0)
        })
        .collect()
    }

    /// By how much a turn comes after the one before, once the pace is steady.
    fn between_turns(&self) -> Option<u32> {
        if self.carried.iter().all(Vec::is_empty) {
            return None;
        }
        let mut before: Option<Vec<u32>> = None;
        let mut ends = Vec::new();
        for _ in 0..TURNS {
            let mut starts: Vec<u32> = Vec::new();
            for at in 0..self.insts.len() {
                let own = self.within[at].iter().map(|other| starts[*other] + self.latencies[*other]);
                let last = before
                    .iter()
                    .flat_map(|before| self.carried[at].iter().map(|other| before[*other] + self.latencies[*other]));
                starts.push(own.chain(last).max().unwrap_or(0));
            }
            ends.push((0..starts.len()).map(|at| starts[at] + self.latencies[at]).max().unwrap_or(0));
            before = Some(starts);
        }
        // Chains that take several turns by turns settle over half of those that were followed.
        let half = TURNS / 2;
        Some((ends[TURNS - 1] - ends[TURNS - 1 - half]).div_ceil(half as u32))
    }
}

/// Cycles until the result is there.
fn latency(inst: &MachineInst, config: &SmConfig) -> u32 {
    match (inst.class, inst.space) {
        (MachineClass::Load, StateSpace::Shared) => config.shared.latency,
        (MachineClass::Load, space) => {
            let holds = |l1: &L1Config| match l1.holds {
                L1Holds::All => true,
                L1Holds::Local => space == StateSpace::Local,
                L1Holds::Nothing => false,
            };
            let l1 = config.l1.as_ref().filter(|l1| holds(l1)).map(|l1| l1.latency);
            l1.or(config.l2.as_ref().map(|l2| l2.latency)).unwrap_or(config.dram.latency)
        }
        _ => config.class(inst.class).latency_of(inst),
    }
}
