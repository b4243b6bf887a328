//! Walks the warps of one CTA through the code, on what is known about their values.
//!
//! Paths are split and meet as in the emulator, in the same order, so that what is counted is the same wherever
//! everything that decides is known. Memory is never read: what a load gives is unknown.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashSet;
use warplens_base::{Id as _, stop};
use warplens_exec::meeting::{NO_NODE, Nodes};
use warplens_ir::{CallTarget, Flow, FunctionId, Guard, Inst, Operand};
use warplens_isa::{BlockId, Pc, ScalarType, SpecialRegister};
use warplens_stats::{LaunchShape, Program};
use warplens_trace::WarpIndex;

use crate::code::{Code, Step, is_access};
use crate::footprint::Footprint;
use crate::given::Resolved;
use crate::path::{Frame, One, Path, Turn};
use crate::region::{Lattice, Region};
use crate::registers::Registers;
use crate::tally::Tally;
use crate::value::{LANES, Truth, Value};
use crate::{Effort, Refusal};

/// Frames beyond which a recursion is taken to be endless.
const MAX_FRAMES: usize = 256;

/// Why a walk ends before its end.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Stop {
    /// Only every `factor`-th CTA along the axis does the same.
    Split { axis: usize, factor: u32 },
    /// The kernel cannot be counted.
    Refused(Refusal),
}

/// What a walk stands on.
pub(crate) struct Setting<'a> {
    pub(crate) code: &'a Code<'a>,
    pub(crate) program: &'a Arc<Program>,
    pub(crate) shape: LaunchShape,
    /// Content of the parameter space.
    pub(crate) parameters: &'a [u8],
    pub(crate) dynamic_shared: u64,
    pub(crate) given: &'a Resolved,
    /// Instructions that a warp may execute.
    pub(crate) budget: u64,
    /// Instructions of a CTA that are walked.
    pub(crate) cta_budget: u64,
    /// How far CTAs are walked.
    pub(crate) effort: Effort,
    /// Instructions that were walked, also where the walk had to begin anew.
    pub(crate) walked: Cell<u64>,
}

/// What was not known, and what was used in its place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notes {
    /// Branches and guards of which both sides were counted.
    pub(crate) branches: BTreeSet<Pc>,
    /// Accesses whose addresses were taken to be scattered.
    pub(crate) addresses: BTreeSet<Pc>,
    /// Loops whose given trips were used.
    pub(crate) trips: FxHashSet<usize>,
    /// Branches and guards whose given probability was used.
    pub(crate) probabilities: FxHashSet<Pc>,
}

/// A finished walk.
pub(crate) struct Walked {
    pub(crate) tally: Tally,
    pub(crate) footprint: Footprint,
    pub(crate) region: Region,
    pub(crate) notes: Notes,
    /// Warp instructions that were walked.
    pub(crate) instructions: u64,
}

/// Walks the CTA in the middle of a box.
pub(crate) fn walk(setting: &Setting<'_>, lattice: Lattice) -> Result<Walked, Stop> {
    let mut walker = Walker {
        setting,
        code: setting.code,
        region: Region::new(lattice),
        tally: Tally::new(setting.program),
        footprint: Footprint::default(),
        notes: Notes::default(),
        warp: 0,
        live: 0,
        executed: 0,
        instructions: 0,
        nodes: Nodes::default(),
        runnable: Vec::new(),
    };
    for warp in 0..setting.shape.n_warps() as u32 {
        walker.run_warp(warp)?;
    }
    let Walker { tally, footprint, region, notes, instructions, .. } = walker;
    Ok(Walked { tally, footprint, region, notes, instructions })
}

pub(crate) struct Walker<'a> {
    pub(crate) setting: &'a Setting<'a>,
    pub(crate) code: &'a Code<'a>,
    pub(crate) region: Region,
    pub(crate) tally: Tally,
    pub(crate) footprint: Footprint,
    pub(crate) notes: Notes,
    /// The warp that is walked.
    pub(crate) warp: u32,
    /// Its lanes that may still be there.
    pub(crate) live: u32,
    /// Instructions of the warp.
    executed: u64,
    instructions: u64,
    nodes: Nodes<Path>,
    /// Paths that can go on; the last one does.
    runnable: Vec<Path>,
}

/// Paths that a branch makes: where to, which lanes, in which share of the cases.
type Parts = Vec<(BlockId, u32, f64)>;

impl Walker<'_> {
    fn run_warp(&mut self, warp: u32) -> Result<(), Stop> {
        let kernel = self.code.kernel;
        let function = &self.code.module.functions[kernel];
        let threads = self.setting.shape.n_threads() as u32;
        self.warp = warp;
        self.live = warplens_trace::ActiveMask::first(threads - 32 * warp).0;
        self.executed = 0;
        self.nodes = Nodes::default();
        self.runnable.push(Path {
            block: function.first_block,
            mask: self.live,
            weight: 1.0,
            function: kernel,
            registers: Registers::new(function),
            local: 0,
            node: NO_NODE,
            frames: Vec::new(),
            turns: Vec::new(),
        });
        while let Some(path) = self.runnable.pop() {
            let mut next = Some(path);
            while let Some(path) = next {
                next = self.run_block(path)?;
            }
        }
        Ok(())
    }

    /// Walks a path through its block. Returns the path that goes on at once, if one does.
    fn run_block(&mut self, mut path: Path) -> Result<Option<Path>, Stop> {
        let (code, block) = (self.code, path.block);
        self.begin_turn(&mut path)?;
        self.tally.block(path.weight, WarpIndex(self.warp), block, path.mask);
        let n_instructions = u64::from(code.n_instructions(block));
        self.executed += n_instructions;
        self.instructions += n_instructions;
        self.setting.walked.set(self.setting.walked.get() + n_instructions);
        stop::check();
        let (budget, cta_budget) = (self.setting.budget, self.setting.cta_budget);
        if self.executed > budget || self.instructions > cta_budget {
            let pc = code.last_of(block);
            return Err(self.refuse(match self.executed > budget {
                true => Refusal::Budget { pc, budget },
                false => Refusal::Long { pc, most: cta_budget },
            }));
        }
        for step in code.steps(block) {
            self.step(&mut path, code.inst(block, step.at), step)?;
        }
        let next = self.leave_block(path)?;
        self.check_effort(block)?;
        Ok(next)
    }

    /// Gives up where every CTA is to be known, and that takes too long or something had to be guessed.
    fn check_effort(&self, block: BlockId) -> Result<(), Stop> {
        let Effort::Exact { most } = self.setting.effort else { return Ok(()) };
        if let Some(&pc) = self.notes.branches.first().or_else(|| self.notes.addresses.first()) {
            return Err(self.refuse(Refusal::Guessed { pc }));
        }
        if self.setting.walked.get() > most {
            let pc = self.code.last_of(block);
            return Err(self.refuse(Refusal::Long { pc, most }));
        }
        Ok(())
    }

    pub(crate) fn refuse(&self, refusal: Refusal) -> Stop {
        Stop::Refused(refusal)
    }

    /// Notes where the path is among the loops.
    fn begin_turn(&mut self, path: &mut Path) -> Result<(), Stop> {
        let loops = &self.code.loops;
        while path.turns.last().is_some_and(|turn| !loops.contains(turn.index, path.block)) {
            path.turns.pop();
        }
        let Some(index) = loops.beginning_with(path.block) else { return Ok(()) };
        match path.turns.last_mut() {
            Some(turn) if turn.index == index => {
                if let (Some(pc), false) = (turn.undecided, turn.decided) {
                    return Err(Stop::Refused(Refusal::UnknownTrips { pc }));
                }
                *turn = Turn { count: turn.count + 1, decided: false, undecided: None, index };
            }
            _ => path.turns.push(Turn { index, count: 1, decided: false, undecided: None }),
        }
        Ok(())
    }

    // Instructions inside of a block.

    fn step(&mut self, path: &mut Path, inst: &Inst, step: &Step) -> Result<(), Stop> {
        let Some(guard) = inst.guard else {
            return self.execute(path, inst, step, path.mask, path.mask, path.weight);
        };
        let truth = self.guard(path, guard);
        let (mask, warp, pc) = (path.mask, WarpIndex(self.warp), inst.pc);
        let (on, unknown) = (truth.on() & mask, mask & !truth.known);
        if unknown == 0 {
            self.tally.predicated(path.weight, warp, pc, mask, on);
            return if on == 0 { Ok(()) } else { self.execute(path, inst, step, on, on, path.weight) };
        }
        match self.probability(pc) {
            Some(share) => {
                let (with, without) = (path.weight * share, path.weight * (1.0 - share));
                if without > 0.0 {
                    self.tally.predicated(without, warp, pc, mask, on);
                    if on != 0 && is_access(inst) {
                        self.access(path, inst, on, without)?;
                    }
                }
                if with > 0.0 {
                    self.tally.predicated(with, warp, pc, mask, on | unknown);
                    return self.execute(path, inst, step, on | unknown, on, with);
                }
                Ok(())
            }
            None => {
                self.notes.branches.insert(pc);
                self.tally.predicated(path.weight, warp, pc, mask, on | unknown);
                self.execute(path, inst, step, on | unknown, on, path.weight)
            }
        }
    }

    /// Carries an instruction out in the lanes of `on`; only those of `surely` have its results for certain.
    fn execute(
        &mut self,
        path: &mut Path,
        inst: &Inst,
        step: &Step,
        on: u32,
        surely: u32,
        weight: f64,
    ) -> Result<(), Stop> {
        if inst.op().is_bulk() {
            return Err(self.refuse(Refusal::BulkCopy { pc: inst.pc }));
        }
        if is_access(inst) {
            self.access(path, inst, on, weight)?;
        }
        if step.evaluates {
            if surely != 0 {
                self.evaluate(path, inst, step, surely)?;
            }
            if on != surely {
                for register in inst.writes() {
                    path.registers.forget(register, on & !surely, self.live);
                }
            }
        }
        Ok(())
    }

    /// The truth of a guard. What depends on it from here on holds for the region only.
    pub(crate) fn guard(&mut self, path: &Path, guard: Guard) -> Truth {
        let truth = path.registers.predicate(guard.predicate);
        if truth.known & path.mask != 0 {
            self.region.pin(truth.opaque);
        }
        if guard.negated { truth.not() } else { truth }
    }

    /// The probability that the user gave for a branch or guard about which nothing else is known.
    fn probability(&mut self, pc: Pc) -> Option<f64> {
        let &(share, _) = self.setting.given.probabilities.get(&pc)?;
        self.notes.probabilities.insert(pc);
        Some(share)
    }

    // The end of a block.

    fn leave_block(&mut self, path: Path) -> Result<Option<Path>, Stop> {
        let code = self.code;
        let flow = &code.module.blocks[path.block].flow;
        let Some(inst) = code.control(path.block) else {
            return match flow {
                Flow::Fallthrough(next) => Ok(self.go(path, *next)),
                _ => Ok(self.end(path)),
            };
        };
        match flow {
            Flow::Fallthrough(next) => Ok(self.go(path, *next)),
            Flow::Branch { taken, next } => self.branch(path, inst, Some(*taken), *next),
            Flow::Indexed { targets, next } => self.branch_indexed(path, inst, targets, *next),
            // Kernels that have one are refused before.
            Flow::Computed { .. } => Ok(self.end(path)),
            Flow::Call { target, next } => self.call(path, inst, target, *next),
            Flow::Return { next } if !path.frames.is_empty() => self.branch_to_caller(path, inst, *next),
            Flow::Return { next } | Flow::Exit { next } => self.branch(path, inst, None, *next),
        }
    }

    /// Moves a path to a block; `None` if it waits for others there.
    fn go(&mut self, path: Path, block: BlockId) -> Option<Path> {
        self.nodes.go(path, block)
    }

    /// Ends a path.
    fn end(&mut self, path: Path) -> Option<Path> {
        self.nodes.end(&mut self.runnable, path.node, &One);
        None
    }

    /// A branch to `taken`, or an exit without one; lanes that do not take it go to `next`.
    fn branch(
        &mut self,
        mut path: Path,
        inst: &Inst,
        taken: Option<BlockId>,
        next: Option<BlockId>,
    ) -> Result<Option<Path>, Stop> {
        let (mask, warp) = (path.mask, WarpIndex(self.warp));
        let (Some(guard), Some(next)) = (inst.guard, next) else {
            return Ok(match taken {
                Some(taken) => self.go(path, taken),
                None => {
                    self.leave_lanes(mask);
                    self.end(path)
                }
            });
        };
        let truth = self.guard(&path, guard);
        let (on, unknown) = (truth.on() & mask, mask & !truth.known);
        let share = self.decide(&mut path, inst.pc, taken, next, unknown);
        let weight = path.weight;
        // Which lanes take the branch, in which share of the cases.
        let alternatives: Vec<(u32, f64)> = match share {
            _ if unknown == 0 => vec![(on, weight)],
            Some(share) => vec![(on | unknown, weight * share), (on, weight * (1.0 - share))],
            None => {
                self.notes.branches.insert(inst.pc);
                self.tally.predicated(weight, warp, inst.pc, mask, on | unknown);
                if mask.count_ones() > 1 && on | unknown == mask {
                    self.tally.may_diverge(weight, inst.pc);
                }
                let parts = [taken.map(|taken| (taken, on | unknown, weight)), Some((next, mask & !on, weight))];
                let parts = parts.into_iter().flatten().collect();
                return Ok(self.split(path, parts));
            }
        };
        let mut parts: Parts = Vec::new();
        for (on, weight) in alternatives {
            if weight <= 0.0 {
                continue;
            }
            self.tally.predicated(weight, warp, inst.pc, mask, on);
            match taken {
                Some(taken) if on != 0 => parts.push((taken, on, weight)),
                None if unknown == 0 => self.leave_lanes(on),
                _ => {}
            }
            if mask & !on != 0 {
                parts.push((next, mask & !on, weight));
            }
        }
        Ok(self.split(path, parts))
    }

    /// Lanes have ended for certain.
    fn leave_lanes(&mut self, lanes: u32) {
        self.live &= !lanes;
    }

    /// Looks at a branch as one that decides about a loop, and returns the share of the cases in which the `unknown`
    /// lanes take it, if that was given.
    fn decide(&mut self, path: &mut Path, pc: Pc, taken: Option<BlockId>, next: BlockId, unknown: u32) -> Option<f64> {
        let code = self.code;
        let mut leaving = None;
        for turn in path.turns.iter_mut().rev() {
            let stays = |block: BlockId| code.loops.contains(turn.index, block);
            let taken_stays = taken.is_some_and(stays);
            if taken_stays == stays(next) {
                continue;
            }
            // The innermost loop that the branch leaves, and those around it that it leaves too.
            let given = self.setting.given.trips.get(&turn.index).filter(|_| unknown != 0);
            match given {
                _ if unknown == 0 => turn.decided = true,
                Some(&(trips, _)) if leaving.is_none() => {
                    turn.decided = true;
                    self.notes.trips.insert(turn.index);
                    let whole = trips.floor();
                    let count = turn.count as f64;
                    let staying = match count.total_cmp(&whole) {
                        std::cmp::Ordering::Less => 1.0,
                        std::cmp::Ordering::Equal => trips - whole,
                        std::cmp::Ordering::Greater => 0.0,
                    };
                    leaving = Some(if taken_stays { staying } else { 1.0 - staying });
                }
                // It was given for a loop inside.
                _ if leaving.is_some() => turn.decided = true,
                _ => {
                    turn.undecided.get_or_insert(pc);
                }
            }
        }
        if unknown == 0 {
            return None;
        }
        leaving.or_else(|| self.probability(pc))
    }

    /// Splits a path. The parts meet again at the block's reconvergence point, if it has one.
    fn split(&mut self, mut path: Path, parts: Parts) -> Option<Path> {
        match parts[..] {
            [] => return self.end(path),
            [(block, mask, weight)] => {
                (path.mask, path.weight) = (mask, weight);
                return self.go(path, block);
            }
            _ => {}
        }
        let point = self.code.points[path.block];
        self.nodes.split(&mut self.runnable, path, point, parts.len(), |path, go| {
            parts.iter().for_each(|&(block, mask, weight)| go(Path { mask, weight, ..path.clone() }, block));
        })
    }

    fn branch_indexed(
        &mut self,
        path: Path,
        inst: &Inst,
        targets: &[BlockId],
        next: Option<BlockId>,
    ) -> Result<Option<Path>, Stop> {
        let (mask, weight) = (path.mask, path.weight);
        let mut on = mask;
        let mut unknown_guard = 0;
        if let Some(guard) = inst.guard {
            let truth = self.guard(&path, guard);
            unknown_guard = mask & !truth.known;
            on = truth.on() & mask | unknown_guard;
            self.tally.predicated(weight, WarpIndex(self.warp), inst.pc, mask, on);
        }
        let index = self.operand(&path, inst.sources.first().unwrap_or(&Operand::Immediate(0)), ScalarType::U32);
        self.region.pin(index.dependence.axes());
        let mut parts: Parts = Vec::new();
        let mut add = |block: BlockId, lanes: u32| match parts.iter_mut().find(|(other, _, _)| *other == block) {
            Some((_, mask, _)) => *mask |= lanes,
            None => parts.push((block, lanes, weight)),
        };
        for lane in crate::value::lanes_of(on & index.known) {
            // An index beyond the table is an error when the kernel runs.
            if let Some(&target) = targets.get(index.lanes[lane] as usize) {
                add(target, 1 << lane);
            }
        }
        let unknown = on & !index.known;
        if unknown != 0 || unknown_guard != 0 {
            self.notes.branches.insert(inst.pc);
        }
        if unknown != 0 {
            targets.iter().for_each(|&target| add(target, unknown));
        }
        if let Some(next) = next
            && mask & !on | unknown_guard != 0
        {
            add(next, mask & !on | unknown_guard);
        }
        self.tally.branch_indexed(weight, WarpIndex(self.warp), inst.pc, parts.len() as u32);
        Ok(self.split(path, parts))
    }

    fn call(&mut self, mut path: Path, inst: &Inst, target: &CallTarget, next: BlockId) -> Result<Option<Path>, Stop> {
        let code = self.code;
        let &[callee] = code.calls.targets(target) else {
            return Err(self.refuse(Refusal::IndirectCall { pc: inst.pc }));
        };
        if path.frames.len() >= MAX_FRAMES {
            return Err(self.refuse(Refusal::Recursion { pc: inst.pc }));
        }
        let (on, off) = self.guarded(&path, inst);
        if on == 0 {
            return Ok(self.go(path, next));
        }
        let others = (off != 0).then(|| Path { mask: off, ..path.clone() });
        self.nodes.call(&mut path, next, others);
        path.mask = on;
        Ok(Some(self.enter(path, inst, callee)))
    }

    /// Makes a frame for the callee and hands the arguments over.
    fn enter(&mut self, mut path: Path, inst: &Inst, callee: FunctionId) -> Path {
        let module = self.code.module;
        let (caller, function) = (&module.functions[path.function], &module.functions[callee]);
        let mut registers = Registers::new(function);
        for (source, &argument) in inst.sources.iter().zip(&function.arguments) {
            let ty = if argument.width.bits() > 32 { ScalarType::B64 } else { ScalarType::B32 };
            let value = self.operand(&path, source, ty);
            registers.write(argument, &value, ty, path.mask, path.mask);
        }
        let local = (path.local + caller.local_bytes.next_multiple_of(16)).next_multiple_of(16);
        path.frames.push(Frame {
            call_block: path.block,
            function: path.function,
            registers: std::mem::replace(&mut path.registers, registers),
            local: path.local,
            turns: std::mem::take(&mut path.turns),
        });
        (path.function, path.local, path.block) = (callee, local, function.first_block);
        path
    }

    /// The lanes that execute an instruction, and those that do not; lanes of which that is unknown are among both.
    fn guarded(&mut self, path: &Path, inst: &Inst) -> (u32, u32) {
        let mask = path.mask;
        let Some(guard) = inst.guard else { return (mask, 0) };
        let truth = self.guard(path, guard);
        let unknown = mask & !truth.known;
        let on = truth.on() & mask | unknown;
        if unknown != 0 {
            self.notes.branches.insert(inst.pc);
        }
        self.tally.predicated(path.weight, WarpIndex(self.warp), inst.pc, mask, on);
        (on, mask & !truth.on())
    }

    fn branch_to_caller(&mut self, mut path: Path, inst: &Inst, next: Option<BlockId>) -> Result<Option<Path>, Stop> {
        let (on, off) = self.guarded(&path, inst);
        if let Some(next) = next
            && off != 0
        {
            self.nodes.stay(&mut self.runnable, Path { mask: off, ..path.clone() }, next, on != 0);
        }
        if on == 0 {
            return Ok(self.runnable.pop());
        }
        path.mask = on;
        Ok(self.return_(path))
    }

    fn return_(&mut self, mut path: Path) -> Option<Path> {
        let module = self.code.module;
        let callee = &module.functions[path.function];
        let frame = path.frames.pop()?;
        let results = std::mem::replace(&mut path.registers, frame.registers);
        let call = module.blocks[frame.call_block].insts.last()?;
        for (destination, &result) in call.destinations.iter().zip(&callee.results) {
            if let Some(register) = *destination {
                let ty = if result.width.bits() > 32 { ScalarType::B64 } else { ScalarType::B32 };
                let value = results.read(result, ty.bits());
                path.registers.write(register, &value, ty, path.mask, self.live);
            }
        }
        (path.function, path.local, path.turns) = (frame.function, frame.local, frame.turns);
        let Flow::Call { next, .. } = module.blocks[frame.call_block].flow else { return None };
        self.go(path, next)
    }

    // Operands.

    /// An operand as a value of type `ty`.
    pub(crate) fn operand(&self, path: &Path, operand: &Operand, ty: ScalarType) -> Value {
        let bits = ty.bits().min(64);
        match operand {
            Operand::Register(register) => path.registers.read(*register, bits),
            Operand::Immediate(value) => Value::constant(if bits < 64 { value & ((1 << bits) - 1) } else { *value }),
            Operand::Special(register) if bits < 32 => self.special(*register).map(|value| value & ((1 << bits) - 1)),
            Operand::Special(register) => self.special(*register),
            Operand::Variable { variable, offset, generic } => {
                Value::constant(self.code.program.variable_address(*variable, *generic).wrapping_add_signed(*offset))
            }
            Operand::Frame(offset) => Value::constant(u64::from(path.local).wrapping_add_signed(*offset)),
            // Where a function lies decides nothing here.
            Operand::Function(function) => Value::constant(function.index() as u64 + 1),
            // No front end makes them yet: nothing is lost by not following them.
            Operand::NotPredicate(_) | Operand::Signed(..) | Operand::Constant(_) => Value::UNKNOWN,
        }
    }

    /// A predicate operand.
    pub(crate) fn truth(&self, path: &Path, operand: &Operand) -> Truth {
        match operand {
            Operand::Register(register) => path.registers.predicate(*register),
            Operand::NotPredicate(register) => path.registers.predicate(*register).not(),
            Operand::Immediate(value) => Truth::constant(value & 1 == 1),
            _ => Truth::UNKNOWN,
        }
    }

    fn special(&self, register: SpecialRegister) -> Value {
        use SpecialRegister as S;
        let shape = &self.setting.shape;
        let by_lane = |value: &dyn Fn(u32) -> u32| {
            Value::of_lanes(std::array::from_fn::<_, LANES, _>(|lane| u64::from(value(lane as u32))))
        };
        let constant = |value: u64| Value::constant(value);
        match register {
            // Blocks of a cluster differ in what they read there.
            S::Clusterid(_)
            | S::Nclusterid(_)
            | S::ClusterNctaid(_)
            | S::ClusterNctarank
            | S::ClusterCtaid(_)
            | S::ClusterCtarank
            | S::IsExplicitCluster
                if shape.cluster.is_some() =>
            {
                Value::UNKNOWN
            }
            S::Tid(axis) => by_lane(&|lane| {
                let thread = self.warp * 32 + lane;
                let [x, y, _] = shape.block;
                [thread % x, thread / x % y, thread / x / y][axis as usize]
            }),
            S::Ntid(axis) => constant(shape.block[axis as usize].into()),
            S::Ctaid(axis) | S::Clusterid(axis) => {
                let mut value = constant(self.region.cta()[axis as usize].into());
                value.dependence = self.region.coordinate(axis as usize);
                value
            }
            S::Nctaid(axis) | S::Nclusterid(axis) => constant(shape.grid[axis as usize].into()),
            // A launch that says nothing of clusters has some of one CTA.
            S::ClusterNctaid(_) | S::ClusterNctarank => constant(1),
            S::ClusterCtaid(_) | S::ClusterCtarank | S::IsExplicitCluster => constant(0),
            S::Laneid => by_lane(&|lane| lane),
            S::LanemaskEq => by_lane(&|lane| 1 << lane),
            S::LanemaskLt => by_lane(&|lane| (1 << lane) - 1),
            S::LanemaskLe => by_lane(&|lane| u32::MAX >> (31 - lane)),
            S::LanemaskGt => by_lane(&|lane| !(u32::MAX >> (31 - lane))),
            S::LanemaskGe => by_lane(&|lane| u32::MAX << lane),
            S::Warpid => constant(self.warp.into()),
            S::Nwarpid => constant(shape.n_warps()),
            S::DynamicSmemSize => constant(self.setting.dynamic_shared),
            S::TotalSmemSize => constant(shape.shared_bytes),
            _ => Value::UNKNOWN,
        }
    }
}
