//! Threads that each do the work of several neighbours, and access vectors.
//!
//! As many blocks less are launched. The accesses to neighbouring elements become as many times as wide, and arithmetic on
//! what they load is done for each element; what a thread does once, such as to find its place, it still does once.

use std::collections::{BTreeMap, BTreeSet};

use warplens_isa::StateSpace;
use warplens_model::scenario::{Impossible, Subject};
use warplens_trace::{AccessKind, Code, MachineClass, MachineInst, RegisterNumber, WarpTrace};

use super::{PlaceOfAccess, Touch};

/// Bytes of the widest access of a lane.
const WIDEST: u64 = 16;

/// Lets each thread do the work of `times`.
pub(crate) fn widen(subject: &mut Subject, times: u32) -> Result<(), Impossible> {
    let no = || super::impossible("the accesses of a thread do not lie beside those of its neighbour");
    let [blocks, 1, 1] = subject.profile.launch.grid else { return Err(no()) };
    let [_, 1, 1] = subject.profile.launch.block else { return Err(no()) };
    if blocks < times || subject.profile.barriers > 0 || subject.profile.launch.shared_bytes > 0 {
        return Err(no());
    }
    let traced = super::recording(subject)?;
    let mut lows: BTreeMap<PlaceOfAccess, u64> = BTreeMap::new();
    let mut is_plain = true;
    super::visit(traced, |block, touch| {
        if touch.space == StateSpace::Global {
            is_plain &= touch.kind != AccessKind::Atomic && is_dense(touch);
            is_plain &= touch.lane_bytes() * u64::from(times) <= WIDEST;
            let low = lows.entry((block, touch.slot)).or_insert(u64::MAX);
            *low = (*low).min(touch.mask.lanes().map(|lane| touch.addresses[lane]).min().unwrap_or(u64::MAX));
        }
    });
    let is_once = |warp: &WarpTrace| {
        let mut seen = BTreeSet::new();
        warp.steps().all(|step| code_touches(&lows, step.block) == 0 || seen.insert(step.block))
    };
    let once = traced.ctas.iter().all(|cta| cta.trace().warps.iter().all(is_once));
    if !is_plain || lows.is_empty() || !once {
        return Err(no());
    }
    let fewer = blocks.div_ceil(times);
    traced.ctas.retain(|cta| cta.id().0 < fewer);
    for board in traced.boards.values_mut() {
        board.sms.iter_mut().for_each(|sm| sm.retain(|cta| cta.0 < fewer));
        board.sms.retain(|sm| !sm.is_empty());
    }
    super::each_access(traced, StateSpace::Global, |block, mut touch, put| {
        if let Some(&low) = lows.get(&(block, touch.slot)) {
            touch.map(|address| low + u64::from(times) * (address - low));
            touch.elements *= times as u8;
        }
        put(&touch);
    });
    super::each_code(traced, |code| {
        let on_data = on_data(code);
        super::each_block(code, |code, block, insts| {
            for at in code.blocks[block as usize].clone() {
                let inst = &code.insts[at as usize];
                let repeats = !inst.touches_memory() && inst.class != MachineClass::Branch && on_data[at as usize];
                insts.extend(std::iter::repeat_n(*inst, if repeats { times as usize } else { 1 }));
            }
        });
    });
    for (_, n) in &mut traced.executions {
        *n = n.div_ceil(u64::from(times));
    }
    subject.profile.launch.grid = [fewer, 1, 1];
    Ok(())
}

/// Lanes access neighbouring elements.
fn is_dense(touch: &Touch) -> bool {
    let lanes: Vec<usize> = touch.mask.lanes().collect();
    lanes.windows(2).all(|pair| {
        touch.addresses[pair[1]].wrapping_sub(touch.addresses[pair[0]])
            == (pair[1] - pair[0]) as u64 * touch.lane_bytes()
    })
}

fn code_touches(places: &BTreeMap<PlaceOfAccess, u64>, block: u32) -> usize {
    places.range((block, 0)..=(block, u16::MAX)).count()
}

/// Of the instructions in the order of the text, those that work on what was loaded from global memory. Registers are used
/// again: one holds such a value from the instruction that writes it there to the next that writes something else.
fn on_data(code: &Code) -> Vec<bool> {
    let mut data: BTreeSet<RegisterNumber> = BTreeSet::new();
    let follow = |inst: &MachineInst| {
        let is_global = matches!(inst.space, StateSpace::Global | StateSpace::Generic);
        let reads = code.registers(inst.reads).iter().any(|register| data.contains(register));
        for register in code.registers(inst.writes) {
            if reads || inst.class == MachineClass::Load && is_global {
                data.insert(*register);
            } else {
                data.remove(register);
            }
        }
        reads
    };
    code.insts.iter().map(follow).collect()
}
