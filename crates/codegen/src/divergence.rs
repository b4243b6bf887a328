//! Where paths of a warp meet again.
//!
//! From compute capability 7.0 on a region that lanes may leave by different ways is opened by one instruction and closed
//! by another, at which the lanes wait for each other (before, one instruction opens it). Branches whose predicate is the
//! same in all lanes need neither, and paths that meet only at the end of the kernel do not either.
//!
//! A value is taken to be the same in all lanes if it is made of constants, of the place of the CTA, and of such values;
//! also what is loaded from an address that is.

use warplens_ir::{Dominators, Flow, Operand};
use warplens_isa::{Effect, Op, SpecialRegister};
use warplens_trace::MachineClass;

use crate::emit::{Atom, Selected};
use crate::node::{Body, Form, Node, NodeId};
use crate::target::Target;

/// Adds the instructions that open and close divergent regions.
pub(crate) fn mark(body: &Body<'_>, target: &Target, selected: &mut Selected) {
    if target.compute_capability.major < 2 {
        return;
    }
    let differs = differing(body);
    let points = Dominators::post(&body.cfg);
    let mut closes = vec![false; body.blocks.len()];
    for (position, ids) in body.blocks.iter().enumerate() {
        let block = &body.module.blocks[body.block_id(position)];
        let splits =
            matches!(block.flow, Flow::Branch { next: Some(_), .. } | Flow::Indexed { .. } | Flow::Computed { .. });
        let branches = |id: NodeId| matches!(body.nodes[id].inst.op(), Op::Bra | Op::BrxIdx | Op::Jump);
        let Some(&last) = ids.last().filter(|&&last| splits && branches(last)) else { continue };
        let is_uniform = !body.nodes[last].reads().any(|word| differs[word as usize]);
        let Some(point) = points.immediate(body.block_id(position)) else { continue };
        let at = body.function.block_position(point);
        if !is_uniform && !body.is_end(at) {
            closes[at] = true;
        }
    }
    for at in (0..closes.len()).filter(|&at| closes[at]) {
        let Some(opens) = body.dominators.immediate(body.block_id(at)) else { continue };
        insert(body, selected, body.function.block_position(opens), MachineClass::Nop);
        if target.is_from(7, 0) {
            insert(body, selected, at, MachineClass::Branch);
        }
    }
}

/// Adds what closes a region as the first instruction of a block, or what opens one before that which ends the block.
fn insert(body: &Body<'_>, selected: &mut Selected, position: usize, class: MachineClass) {
    let first = class == MachineClass::Branch;
    let atoms = &mut selected.blocks[position];
    let ends = atoms.last().is_some_and(|atom| matches!(atom.class, MachineClass::Branch | MachineClass::Exit));
    let at = if first { 0 } else { atoms.len() - usize::from(ends) };
    let near = if first { atoms.first() } else { atoms.last() };
    let block = body.block_id(position);
    let pc = near.map(|atom| atom.pc).or_else(|| body.module.blocks[block].insts.first().map(|inst| inst.pc));
    if let Some(pc) = pc {
        atoms.insert(at, Atom { class, ..Atom::plain(None, pc) });
    }
}

/// By word: its values may differ between the lanes of a warp.
pub(crate) fn differing(body: &Body<'_>) -> Vec<bool> {
    let mut differs = vec![false; body.definitions.len()];
    for register in &body.function.arguments {
        crate::node::words_of(body.function, *register).for_each(|word| differs[word as usize] = true);
    }
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); differs.len()];
    let mut waiting = Vec::new();
    for (id, node) in body.nodes.iter().enumerate().filter(|(_, node)| node.form != Form::Dead) {
        node.reads().for_each(|word| readers[word as usize].push(id));
        if is_source(node) {
            waiting.push(id);
        }
    }
    for (word, differs) in differs.iter().enumerate() {
        if *differs {
            waiting.extend(readers[word].iter().copied());
        }
    }
    while let Some(id) = waiting.pop() {
        for word in body.nodes[id].written() {
            if !std::mem::replace(&mut differs[word as usize], true) {
                waiting.extend(readers[word as usize].iter().copied());
            }
        }
    }
    differs
}

/// True for operations that give each lane a value of its own.
fn is_source(node: &Node<'_>) -> bool {
    match node.inst.op().effect() {
        Effect::Special => !matches!(
            node.inst.sources.first(),
            Some(Operand::Special(SpecialRegister::Ctaid(_) | SpecialRegister::Clusterid(_)))
        ),
        Effect::Atomic | Effect::Exchange | Effect::Call => true,
        // What a call gives back comes from code of its own.
        Effect::End => node.inst.op() == Op::Call,
        // Of matrices each lane receives another part.
        Effect::Load => node.inst.op() == Op::Ldmatrix,
        Effect::None | Effect::Store | Effect::Vote | Effect::Fence => false,
    }
}
