//! Which pipe copies a register: some copies are multiply-adds with zero, so that the integer pipe has less to do.

use warplens_isa::Op;
use warplens_trace::MachineClass;

use crate::emit::{Atom, Selected};
use crate::node::Body;
use crate::target::Target;

/// Of `.1` copies, `.0` are multiply-adds.
type Share = (u32, u32);

/// The shares of guarded and of other copies, counted in the machine code of the 42 kernels of `validation/coulomb` that
/// ptxas 13.5 makes: 34 and 15 % for 7.5, 42 to 43 and 12 to 19 % for 8.0 to 10.0, none for 12.0.
const fn shares(major: u8) -> Option<(Share, Share)> {
    match major {
        7 => Some(((1, 3), (1, 6))),
        8..=10 => Some(((2, 5), (1, 6))),
        _ => None,
    }
}

/// Gives a share of the copies to the pipe of multiply-adds, evenly.
pub(crate) fn share(body: &Body<'_>, selected: &mut Selected, target: &Target) {
    let Some((guarded, plain)) = shares(target.compute_capability.major) else { return };
    let is_copy = |atom: &Atom| {
        let of_copy = atom.node.is_some_and(|node| body.nodes[node].inst.op() == Op::Mov);
        atom.class == MachineClass::Move && of_copy
    };
    let mut seen = [0, 0];
    for atom in selected.blocks.iter_mut().flatten().filter(|atom| is_copy(atom)) {
        let (count, (some, of)) = match atom.guard {
            Some(_) => (&mut seen[0], guarded),
            None => (&mut seen[1], plain),
        };
        // The share is reached with the last copy of a group.
        if *count % of >= of - some {
            atom.class = MachineClass::IntMul;
        }
        *count += 1;
    }
}
