//! Short conditional code, which is guarded instead of jumped over.
//!
//! The limits were read off the machine code that ptxas 13.5 makes of test kernels for 7.5, 8.0 and 9.0: eight
//! instructions are guarded and nine are not, three accesses are and four are not. Where only the end of the thread
//! follows, the branch stays: it is a guarded exit.

use std::collections::{HashMap, HashSet};

use warplens_ir::Flow;
use warplens_isa::{BlockId, Effect, Op};

use crate::node::{Body, Form, Node, NodeId, Word};

/// Most instructions that are guarded.
const MOST_INSTRUCTIONS: usize = 8;
/// Most accesses to memory among them.
const MOST_ACCESSES: usize = 3;

/// Guards the instructions of blocks that a branch jumps over, or chooses from, and removes the branch.
pub(super) fn guard(body: &mut Body<'_>) {
    for position in 0..body.blocks.len() {
        let Some(Short { branch, arms, predicate }) = candidate(body, position) else { continue };
        body.nodes[branch].form = Form::Dead;
        let [of_one, of_other] = [0, 1].map(|arm| written_once(body, &arms[arm]));
        for id in arms.into_iter().flatten().flat_map(|inner| body.blocks[inner].clone()) {
            let node = &mut body.nodes[id];
            if node.inst.op() == Op::Bra {
                node.form = Form::Dead;
            }
            node.guard = node.guard.or(Some(predicate));
            let in_both = |word: Word| of_one.contains(&word) && of_other.contains(&word);
            node.beside = node.written().count() > 0 && node.written().all(in_both);
        }
    }
}

/// Words that one node of an arm alone writes.
fn written_once(body: &Body<'_>, arm: &[usize]) -> HashSet<Word> {
    let ids = arm.iter().flat_map(|&position| &body.blocks[position]);
    let mut writers: HashMap<Word, u32> = HashMap::new();
    for word in ids.map(|&id| &body.nodes[id]).filter(|node| !node.is_dead()).flat_map(Node::written) {
        *writers.entry(word).or_default() += 1;
    }
    writers.into_iter().filter(|&(_, n)| n == 1).map(|(word, _)| word).collect()
}

/// Conditional code that is guarded.
struct Short {
    /// The branch at the end of the block before.
    branch: NodeId,
    /// The blocks of both arms: those that are jumped over and none, or those between which the branch chooses.
    arms: [Vec<usize>; 2],
    predicate: Word,
}

/// What follows the branch at the end of a block, if that is short.
fn candidate(body: &Body<'_>, position: usize) -> Option<Short> {
    let block = body.block_id(position);
    let Flow::Branch { taken, next: Some(next) } = body.module.blocks[block].flow else { return None };
    let goes_to = |block: BlockId| match body.module.blocks[block].flow {
        Flow::Fallthrough(to) | Flow::Branch { taken: to, next: None } => Some(to),
        _ => None,
    };
    // Compilers jump to the second arm by a block of its own.
    let only_jumps = |block: BlockId| {
        let ids = &body.blocks[body.function.block_position(block)];
        ids.iter().all(|&id| body.nodes[id].inst.op() == Op::Bra || body.nodes[id].is_dead())
    };
    let second = goes_to(next).filter(|&second| only_jumps(next) && body.cfg.predecessors(second) == [next]);
    let (arms, end) = match (goes_to(next)?, goes_to(taken), second) {
        (end, ..) if end == taken => ([vec![next], vec![]], taken),
        (end, Some(other), _) if end == other => ([vec![next], vec![taken]], end),
        (_, Some(end), Some(second)) if goes_to(second) == Some(end) => ([vec![next, second], vec![taken]], end),
        _ => return None,
    };
    let branch = body.blocks[position].iter().copied().rfind(|&id| !body.nodes[id].is_dead())?;
    let predicate = body.nodes[branch].guard.filter(|_| body.nodes[branch].inst.op() == Op::Bra)?;
    let are_alone = arms
        .iter()
        .flatten()
        .all(|&arm| matches!(body.cfg.predecessors(arm), &[from] if from == block || from == next));
    let ends = body.is_end(body.function.block_position(end));
    let arms = arms.map(|arm| arm.into_iter().map(|block| body.function.block_position(block)).collect());
    let fits = are_alone && !ends && next != taken && is_short(body, &arms, predicate);
    fits.then_some(Short { branch, arms, predicate })
}

fn is_short(body: &Body<'_>, arms: &[Vec<usize>; 2], predicate: Word) -> bool {
    let ids = arms.iter().flatten().flat_map(|&position| &body.blocks[position]);
    let mut nodes = ids.map(|&id| &body.nodes[id]).filter(|node| !node.is_dead());
    let accesses = nodes.clone().filter(|node| node.address.is_some() && node.form == Form::AsWritten).count();
    let instructions = nodes.clone().filter(|node| node.inst.op() != Op::Bra).count();
    let fits = (1..=MOST_INSTRUCTIONS).contains(&instructions) && accesses <= MOST_ACCESSES;
    fits && nodes.all(|node| can_be_guarded(node) && !node.written().any(|word| word == predicate))
}

/// What threads wait for each other in, or jump away from, is jumped over.
fn can_be_guarded(node: &Node<'_>) -> bool {
    let op = node.inst.op();
    let stays_inline = match op.effect() {
        // These may call a subroutine.
        Effect::None => !matches!(op, Op::Div | Op::Rem | Op::Sqrt | Op::Rcp),
        Effect::Special | Effect::Load | Effect::Store | Effect::Atomic => true,
        Effect::Fence => !matches!(op, Op::Bar | Op::BarWarp),
        Effect::End => op == Op::Bra,
        Effect::Vote | Effect::Exchange | Effect::Call => false,
    };
    stays_inline && node.guard.is_none()
}
