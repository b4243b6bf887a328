//! Short conditional code, which is guarded instead of jumped over.
//!
//! The limits were read off the machine code that ptxas 13.5 makes of test kernels for 7.5, 8.0 and 9.0: eight
//! instructions are guarded and nine are not, three accesses are and four are not. Where only the end of the thread
//! follows, the branch stays: it is a guarded exit.

use warplens_ir::Flow;
use warplens_isa::{Effect, Op};

use crate::node::{Body, Form, Node, NodeId, Word};

/// Most instructions that are guarded.
const MOST_INSTRUCTIONS: usize = 8;
/// Most accesses to memory among them.
const MOST_ACCESSES: usize = 3;

/// Guards the instructions of blocks that a branch jumps over, and removes the branch.
pub(super) fn guard(body: &mut Body<'_>) {
    for position in 0..body.blocks.len() {
        if let Some((branch, inner, predicate)) = candidate(body, position) {
            body.nodes[branch].form = Form::Dead;
            for id in body.blocks[inner].clone() {
                let node = &mut body.nodes[id];
                if node.inst.op() == Op::Bra {
                    node.form = Form::Dead;
                }
                node.guard = node.guard.or(Some(predicate));
            }
        }
    }
}

/// The branch at the end of a block, the block that it jumps over, and its predicate.
fn candidate(body: &Body<'_>, position: usize) -> Option<(NodeId, usize, Word)> {
    let block = body.block_id(position);
    let Flow::Branch { taken, next: Some(next) } = body.module.blocks[block].flow else { return None };
    let joins = match body.module.blocks[next].flow {
        Flow::Fallthrough(to) | Flow::Branch { taken: to, next: None } => to == taken,
        _ => false,
    };
    let branch = body.blocks[position].iter().copied().rfind(|&id| !body.nodes[id].is_dead())?;
    let predicate = body.nodes[branch].guard.filter(|_| body.nodes[branch].inst.op() == Op::Bra)?;
    let inner = body.function.block_position(next);
    let alone = body.cfg.predecessors(next) == [block];
    let ends = is_end(body, body.function.block_position(taken));
    (joins && alone && !ends && next != taken && is_short(body, inner, predicate)).then_some((branch, inner, predicate))
}

/// True for blocks that only end the thread.
fn is_end(body: &Body<'_>, position: usize) -> bool {
    body.blocks[position].iter().all(|&id| matches!(body.nodes[id].inst.op(), Op::Ret | Op::Exit))
}

fn is_short(body: &Body<'_>, position: usize, predicate: Word) -> bool {
    let mut nodes = body.blocks[position].iter().map(|&id| &body.nodes[id]).filter(|node| !node.is_dead());
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
