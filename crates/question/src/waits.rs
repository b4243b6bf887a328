//! Which instruction a wait belongs to: the one rule behind every line that is named or listed for what warps spend there.
//!
//! The simulation books the cycles until an instruction was issued at that instruction, as Nsight Compute samples them.
//! A warp that is held up by a barrier stands behind it, and the instruction there has nothing to do with it: these
//! cycles belong to the barrier. Everything else stays where the warp stands.

use warplens_sim::{Outcome, Stall, StallCycles};
use warplens_trace::{Code, MachineClass, Place};

/// Warp cycles by state of each machine instruction.
pub(crate) fn of(code: &Code, outcome: &Outcome) -> Vec<StallCycles> {
    let mut waits = outcome.stalls.clone();
    for block in &code.blocks {
        for at in block.start as usize..block.end as usize {
            let held = outcome.stalls[at].of(Stall::Barrier);
            let Some(barrier) = barrier_before(code, block.start as usize, at).filter(|_| held > 0) else { continue };
            waits[at].0[Stall::Barrier as usize] -= held;
            waits[barrier].add(Stall::Barrier, held);
        }
    }
    waits
}

/// The barrier that a warp passed last when it stands at an instruction: the nearest one above it in its block, or else
/// the one at the end of a block, the nearest above, or the last of all where a loop leads back. Itself, if it is the only one.
fn barrier_before(code: &Code, start: usize, at: usize) -> Option<usize> {
    let is_barrier = |&at: &usize| code.insts[at].class == MachineClass::Barrier;
    let ends_a_block = |at: &usize| code.blocks.iter().any(|block| block.end as usize == at + 1);
    (start..at)
        .rev()
        .find(is_barrier)
        .or_else(|| (0..start).rev().find(|at| is_barrier(at) && ends_a_block(at)))
        .or_else(|| (start..code.insts.len()).rev().find(|at| is_barrier(at) && ends_a_block(at)))
}

/// A line with what warps spent there.
#[derive(Clone, PartialEq, Debug)]
pub struct WaitLine {
    /// File and line of the program, if the input says so.
    pub source: Option<(String, u32)>,
    /// Line of the input.
    pub input_line: u32,
    /// An instruction of it, as the input writes it: the one with the most cycles.
    pub text: String,
    /// Share of the warp cycles that were asked about.
    pub share: f64,
}

/// The line at which warps spend the most cycles in some states; of equals the first. None where they spend none.
pub(crate) fn largest(code: &Code, waits: &[StallCycles], states: &[Stall]) -> Option<WaitLine> {
    let spent = |waits: &StallCycles| states.iter().map(|state| waits.of(*state)).sum::<u64>();
    let mut lines: Vec<(&Place, u64, u64)> = Vec::new();
    for (inst, waits) in code.insts.iter().zip(waits) {
        let cycles = spent(waits);
        let Some(place) = code.places.get(inst.place as usize).filter(|_| cycles > 0) else { continue };
        match lines.iter_mut().find(|(known, ..)| same_line(known, place)) {
            Some((known, all, most)) => {
                *all += cycles;
                if cycles > *most {
                    (*known, *most) = (place, cycles);
                }
            }
            None => lines.push((place, cycles, cycles)),
        }
    }
    let whole: u64 = lines.iter().map(|(_, cycles, _)| cycles).sum();
    let order = |place: &Place| (place.source.clone(), place.line);
    lines.sort_by(|left, right| right.1.cmp(&left.1).then_with(|| order(left.0).cmp(&order(right.0))));
    let &(place, cycles, _) = lines.first()?;
    Some(WaitLine {
        source: place.source.clone(),
        input_line: place.line,
        text: place.text.clone(),
        share: cycles as f64 / whole as f64,
    })
}

fn same_line(left: &Place, right: &Place) -> bool {
    match (&left.source, &right.source) {
        (Some(left), Some(right)) => left == right,
        (None, None) => left.line == right.line,
        _ => false,
    }
}

/// Warp cycles that a line of the input keeps warps at its barriers.
pub(crate) fn at_barriers(code: &Code, waits: &[StallCycles], input_line: u32) -> u64 {
    let of_each = code.insts.iter().zip(waits);
    let here = of_each.filter(|(inst, _)| code.places.get(inst.place as usize).is_some_and(|p| p.line == input_line));
    here.map(|(_, waits)| waits.of(Stall::Barrier)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use warplens_trace::MachineInst;

    fn place(line: u32, source: u32) -> Place {
        Place { line, text: format!("inst {line}"), source: Some(("k.cu".to_owned(), source)) }
    }

    /// Two barriers in a loop: the second ends its block, and what follows it stands at the top.
    fn code() -> Code {
        use MachineClass as C;
        let classes = [C::Load, C::Barrier, C::Load, C::Fp32, C::Barrier];
        let insts = classes.iter().zip(0..).map(|(&class, at)| MachineInst::new(class, at)).collect();
        let places = [(1, 20), (2, 23), (3, 26), (4, 26), (5, 28)].map(|(line, source)| place(line, source));
        Code { insts, blocks: vec![0..2, 2..5], places: places.to_vec(), ..Code::default() }
    }

    fn outcome(cycles: [[(Stall, u64); 2]; 5]) -> Outcome {
        let stalls = cycles.map(|states| {
            let mut stalls = StallCycles::default();
            states.iter().for_each(|&(state, cycles)| stalls.add(state, cycles));
            stalls
        });
        Outcome { stalls: stalls.to_vec(), ..Outcome::default() }
    }

    #[test]
    fn waiting_at_a_barrier_belongs_to_the_barrier() {
        const NONE: (Stall, u64) = (Stall::Selected, 0);
        let found = outcome([
            [(Stall::Barrier, 30), NONE],
            [NONE, NONE],
            [(Stall::Barrier, 50), (Stall::LongScoreboard, 7)],
            [(Stall::LongScoreboard, 40), NONE],
            [NONE, NONE],
        ]);
        let waits = of(&code(), &found);
        let barrier = |at: usize| waits[at].of(Stall::Barrier);
        assert_eq!([0, 1, 2, 3, 4].map(barrier), [0, 50, 0, 0, 30]);
        let total = |all: &[StallCycles]| all.iter().map(StallCycles::total).sum::<u64>();
        assert_eq!(total(&waits), total(&found.stalls));
        assert_eq!(at_barriers(&code(), &waits, 2), 50);
        let line = largest(&code(), &waits, &[Stall::Barrier]).unwrap();
        assert_eq!((line.source, line.share), (Some(("k.cu".to_owned(), 23)), 0.625));
        // Instructions of a line add up, and the line's own is the one with the most.
        let line = largest(&code(), &waits, &[Stall::LongScoreboard]).unwrap();
        assert_eq!((line.source.unwrap().1, line.text.as_str(), line.share), (26, "inst 4", 1.0));
        assert_eq!(largest(&code(), &waits, &[Stall::Drain]), None);
    }
}
