//! What must come before what, and by how many cycles.
//!
//! - An instruction that reads a register comes behind the one that wrote it, one that writes it behind those that read
//!   or wrote it before.
//! - Two accesses to memory stay in order unless both load, or they cannot touch the same bytes
//!   ([`alias`]).
//! - What else stays in order says [`Order`]: accesses with barriers, fences and atomics, exchanges between lanes among
//!   themselves and with barriers, everything with the clock. Arithmetic moves across barriers.
//! - What ends the block stays last, what closes a divergent region stays first.

use std::collections::HashMap;

use warplens_ir::alias::{self, Origin, Touch, Writes};
use warplens_ir::{Inst, Order, VariableId};
use warplens_isa::{MatrixProduct, Op, StateSpace};
use warplens_trace::MachineClass;

use crate::emit::Atom;
use crate::node::{Address, Body, Source, Symbol, Word};

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

/// What an instruction touches in memory.
enum Reach {
    /// Nothing that anything writes.
    Nothing,
    /// These bytes.
    Bytes(Touch<Base>),
    /// That is not known.
    Anything,
}

/// The value from which an address counts: words with the writes to them before, what they are multiplied by, and the
/// variable that they are added to.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Base {
    words: Vec<Word>,
    writes: u32,
    scale: u32,
    variable: Option<VariableId>,
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
                // A result must not be overtaken by the one before.
                if let Some(from) = writer.insert(word, index) {
                    let wait = latency(&atoms[from]).saturating_sub(latency(atom));
                    self.edge(from, index, wait.max(1));
                }
            }
        }
    }

    fn memory(&mut self, body: &Body<'_>, atoms: &[Atom], kinds: &[Kind]) {
        let reach = reach(body, atoms);
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
                        .filter(|&other| may_overlap(&reach[other], &reach[index]))
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
fn reach(body: &Body<'_>, atoms: &[Atom]) -> Vec<Reach> {
    let mut writes = Writes::default();
    let mut reach = Vec::with_capacity(atoms.len());
    for atom in atoms {
        let node = atom.node.map(|id| &body.nodes[id]).filter(|_| atom.touches_memory());
        // A copy touches another place beside that of its address.
        let node = node.filter(|node| !matches!(node.inst.op(), Op::Copy | Op::CopyBulk));
        let address = node.and_then(|node| node.address.as_ref().map(|address| (node.inst, address)));
        reach.push(address.map_or(Reach::Anything, |(inst, address)| of_address(body, inst, address, &writes)));
        atom.writes.iter().for_each(|&word| writes.add(word));
    }
    reach
}

fn of_address(body: &Body<'_>, inst: &Inst, address: &Address, writes: &Writes<Word>) -> Reach {
    if alias::is_read_only(body.module, inst, address.space) {
        return Reach::Nothing;
    }
    let (origin, offset) = match (&address.base, &address.variable) {
        (Source::Words(words), variable) => {
            let before = writes.before(words.iter().copied());
            let base = Base { words: words.clone(), writes: before, scale: address.scale, variable: *variable };
            (Some(Origin::Value(base)), 0)
        }
        (Source::Constant(Some(value), None), None) => (Some(Origin::Zero), value.cast_signed() << address.scale),
        (Source::Constant(Some(value), Some(Symbol::Variable(variable))), None)
        | (Source::Constant(Some(value), None), Some(variable)) => {
            (Some(Origin::of_variable(body.module, *variable)), value.cast_signed() << address.scale)
        }
        (Source::Constant(..), _) => (None, 0),
    };
    let start = address.offset.wrapping_add(offset);
    let end = start.saturating_add(i64::from(address.bytes));
    Reach::Bytes(Touch { space: address.space, is_write: true, origin, start, end })
}

/// True when two accesses may touch the same bytes, whichever of them writes.
fn may_overlap(a: &Reach, b: &Reach) -> bool {
    match (a, b) {
        (Reach::Nothing, _) | (_, Reach::Nothing) => false,
        (Reach::Bytes(a), Reach::Bytes(b)) => a.may_alias(b),
        (Reach::Anything, _) | (_, Reach::Anything) => true,
    }
}

fn kind(body: &Body<'_>, atoms: &[Atom], index: usize) -> Kind {
    let atom = &atoms[index];
    let inst = atom.node.map(|id| body.nodes[id].inst);
    let is_last_of_block = index + 1 == atoms.len();
    let branches = matches!(atom.class, MachineClass::Branch | MachineClass::Exit);
    let Some(inst) = inst else {
        // What opens or closes a divergent region.
        return if branches || atom.class == MachineClass::Nop { Kind::Wall } else { Kind::Plain };
    };
    if branches {
        return if is_last_of_block { Kind::Wall } else { Kind::Fence };
    }
    match Order::of(inst) {
        Order::Load | Order::Store | Order::Strict if !atom.touches_memory() => Kind::Plain,
        Order::Load => Kind::Load,
        Order::Store => Kind::Store,
        Order::Strict | Order::Fence => Kind::Fence,
        Order::Exchange => Kind::Exchange,
        Order::Clock => Kind::Wall,
        // Its branch is the wall; what comes before, such as the load of a target, is not.
        Order::Free | Order::End => Kind::Plain,
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
        C::Atomic | C::Texture => 200,
        C::Sfu | C::Convert | C::Shuffle | C::Vote => 18,
        C::Tensor | C::TensorFp32 if atom.amount <= MatrixProduct::HALF_WORK => 16,
        C::Tensor | C::TensorFp32 | C::TensorFp64 | C::TensorAsync => 24,
        C::Fp64 | C::IntMul => 6,
        _ if atom.touches_memory() => 24,
        _ => 4,
    }
}
