//! What must come before what, and by how many cycles.
//!
//! - An instruction that reads a register comes behind the one that wrote it, one that writes it behind those that read
//!   or wrote it before.
//! - Two accesses to memory stay in order unless both load, or their state spaces differ, or they count from the same
//!   value of the same register and do not overlap, or one is a load that the PTX marks as coherent with nothing (`.nc`).
//!   A generic access may be in any space but the constant one.
//! - No access moves across a barrier, a fence, an atomic, a volatile or ordered access, a call or an instruction that is
//!   not known; arithmetic does.
//! - Exchanges between lanes stay in order among themselves and with barriers.
//! - The clock is read where it stands: nothing crosses it. What ends the block stays last, what closes a divergent region
//!   stays first.

use std::collections::HashMap;

use warplens_ir::Operand;
use warplens_isa::{Op, SpecialRegister, StateSpace};
use warplens_trace::MachineClass;

use crate::emit::Atom;
use crate::node::{Address, Body, Word};

/// The dependences of a block.
pub(super) struct Graph {
    pub(super) successors: Vec<Vec<(usize, u32)>>,
    pub(super) n_predecessors: Vec<u32>,
    /// Cycles from the issue of an instruction to the end of the block.
    pub(super) path: Vec<u32>,
}

/// How an instruction may move.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// Freely.
    Plain,
    /// Not across a store that may touch the same bytes.
    Load,
    /// Not across an access that may touch the same bytes.
    Store,
    /// Not across other exchanges and barriers.
    Exchange,
    /// No access and no exchange crosses it.
    Fence,
    /// Nothing crosses it.
    Wall,
}

/// Bytes that an instruction touches.
struct Touched<'a> {
    address: &'a Address,
    /// The instructions of the block that wrote the base, if any.
    base_writers: Vec<Option<usize>>,
    never_written: bool,
}

impl Graph {
    pub(super) fn new(body: &Body<'_>, atoms: &[Atom]) -> Self {
        let n = atoms.len();
        let mut graph = Self { successors: vec![Vec::new(); n], n_predecessors: vec![0; n], path: vec![0; n] };
        let kinds: Vec<Kind> = (0..n).map(|index| kind(body, atoms, index)).collect();
        graph.registers(atoms);
        graph.memory(body, atoms, &kinds);
        graph.walls(&kinds);
        for index in (0..n).rev() {
            let longest = graph.successors[index].iter().map(|&(next, latency)| graph.path[next] + latency).max();
            graph.path[index] = longest.unwrap_or(0);
        }
        graph
    }

    fn edge(&mut self, from: usize, to: usize, latency: u32) {
        self.successors[from].push((to, latency));
        self.n_predecessors[to] += 1;
    }

    fn registers(&mut self, atoms: &[Atom]) {
        let mut writer: HashMap<Word, usize> = HashMap::new();
        let mut readers: HashMap<Word, Vec<usize>> = HashMap::new();
        for (index, atom) in atoms.iter().enumerate() {
            for &word in &atom.reads {
                if let Some(&from) = writer.get(&word) {
                    self.edge(from, index, latency(&atoms[from]));
                }
                readers.entry(word).or_default().push(index);
            }
            for &word in &atom.writes {
                for from in readers.remove(&word).unwrap_or_default() {
                    if from != index {
                        self.edge(from, index, 0);
                    }
                }
                if let Some(from) = writer.insert(word, index) {
                    self.edge(from, index, 1);
                }
            }
        }
    }

    fn memory(&mut self, body: &Body<'_>, atoms: &[Atom], kinds: &[Kind]) {
        let touched = touched(body, atoms);
        let (mut since_fence, mut stores): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
        let (mut fence, mut exchange) = (None, None);
        for (index, &kind) in kinds.iter().enumerate() {
            if kind == Kind::Plain {
                continue;
            }
            if let Some(fence) = fence {
                self.edge(fence, index, 1);
            }
            match kind {
                Kind::Fence | Kind::Wall => {
                    since_fence.drain(..).for_each(|before| self.edge(before, index, 1));
                    stores.clear();
                    fence = Some(index);
                    exchange = None;
                }
                Kind::Exchange => {
                    if let Some(before) = exchange.replace(index) {
                        self.edge(before, index, 1);
                    }
                    since_fence.push(index);
                }
                Kind::Load | Kind::Store => {
                    let others = if kind == Kind::Load { &stores } else { &since_fence };
                    let conflicts: Vec<usize> = others
                        .iter()
                        .copied()
                        .filter(|&other| may_overlap(touched[other].as_ref(), touched[index].as_ref()))
                        .filter(|&other| kinds[other] != Kind::Exchange)
                        .collect();
                    conflicts.into_iter().for_each(|other| self.edge(other, index, 1));
                    since_fence.push(index);
                    if kind == Kind::Store {
                        stores.push(index);
                    }
                }
                Kind::Plain => {}
            }
        }
    }

    fn walls(&mut self, kinds: &[Kind]) {
        let mut last = None;
        let mut since = Vec::new();
        for (index, &kind) in kinds.iter().enumerate() {
            if kind == Kind::Wall {
                since.drain(..).for_each(|before| self.edge(before, index, 0));
            }
            if let Some(wall) = last {
                self.edge(wall, index, 0);
            }
            if kind == Kind::Wall {
                last = Some(index);
            }
            since.push(index);
        }
    }
}

/// What the instructions touch, with the values of their bases told apart.
fn touched<'a>(body: &'a Body<'_>, atoms: &[Atom]) -> Vec<Option<Touched<'a>>> {
    let mut writer: HashMap<Word, usize> = HashMap::new();
    let mut touched = Vec::with_capacity(atoms.len());
    for (index, atom) in atoms.iter().enumerate() {
        let node = atom.node.map(|id| &body.nodes[id]).filter(|_| atom.touches_memory());
        touched.push(node.and_then(|node| node.address.as_ref().map(|address| (node, address))).map(
            |(node, address)| Touched {
                address,
                base_writers: address.base.words().iter().map(|word| writer.get(word).copied()).collect(),
                never_written: is_read_only(body, node.inst.op(), atom, address),
            },
        ));
        for &word in &atom.writes {
            writer.insert(word, index);
        }
    }
    touched
}

fn is_read_only(body: &Body<'_>, op: Op, atom: &Atom, address: &Address) -> bool {
    let by_space = matches!(address.space, StateSpace::Const | StateSpace::Param);
    by_space || op == Op::Ld && body.key(atom.pc).reads_constant_data()
}

/// True when two accesses may touch the same bytes.
fn may_overlap(a: Option<&Touched<'_>>, b: Option<&Touched<'_>>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return true };
    if a.never_written || b.never_written {
        return false;
    }
    let generic = a.address.space == StateSpace::Generic || b.address.space == StateSpace::Generic;
    if a.address.space != b.address.space && !generic {
        return false;
    }
    let same_base = a.address.base == b.address.base
        && a.address.variable == b.address.variable
        && a.address.scale == b.address.scale
        && a.base_writers == b.base_writers
        && (!a.address.base.is_constant() || a.address.base.immediate().is_some());
    let apart =
        |first: &Address, second: &Address| first.offset.saturating_add(i64::from(first.bytes)) <= second.offset;
    !(same_base && (apart(a.address, b.address) || apart(b.address, a.address)))
}

fn kind(body: &Body<'_>, atoms: &[Atom], index: usize) -> Kind {
    use MachineClass as C;
    let atom = &atoms[index];
    let inst = atom.node.map(|id| body.nodes[id].inst);
    let is_last_of_block = index + 1 == atoms.len();
    match atom.class {
        // What a node opens or closes, and what ends the block.
        C::Branch | C::Exit => return if is_last_of_block || inst.is_none() { Kind::Wall } else { Kind::Fence },
        C::Barrier | C::BarrierArrive | C::Fence | C::AsyncWait | C::AsyncCommit | C::AsyncCopy => return Kind::Fence,
        C::Atomic | C::Reduction => return Kind::Fence,
        C::Shuffle | C::Vote => return Kind::Exchange,
        _ => {}
    }
    let Some(inst) = inst else { return if atom.class == C::Nop { Kind::Wall } else { Kind::Plain } };
    match inst.op() {
        Op::Ld | Op::St | Op::Prefetch if atom.touches_memory() && inst.operation.is_ordered() => Kind::Fence,
        Op::Ld | Op::Prefetch if atom.touches_memory() => Kind::Load,
        Op::St if atom.touches_memory() => Kind::Store,
        Op::BarWarp | Op::Unsupported | Op::SystemCall | Op::Call | Op::Nop | Op::Alloca | Op::StackRestore => {
            Kind::Fence
        }
        Op::ReadSpecial => match inst.sources.first() {
            Some(Operand::Special(
                SpecialRegister::Clock
                | SpecialRegister::ClockHi
                | SpecialRegister::Clock64
                | SpecialRegister::Globaltimer,
            )) => Kind::Wall,
            _ => Kind::Plain,
        },
        _ => Kind::Plain,
    }
}

/// Cycles to wait for a result. These order instructions as ptxas does; they are no measurements.
fn latency(atom: &Atom) -> u32 {
    use MachineClass as C;
    match atom.class {
        C::Load => match atom.space {
            StateSpace::Shared => 24,
            StateSpace::Const | StateSpace::Param => 8,
            _ => 200,
        },
        C::Atomic => 200,
        C::Sfu | C::Convert | C::Shuffle | C::Vote => 18,
        C::Tensor | C::TensorFp64 | C::TensorAsync => 24,
        C::Fp64 | C::IntMul => 6,
        _ if atom.touches_memory() => 24,
        _ => 4,
    }
}
