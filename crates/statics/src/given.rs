//! What the user says about loops and branches that nothing else tells about.

use rustc_hash::FxHashMap;
use warplens_ir::{FunctionId, Module};
use warplens_isa::Pc;

use crate::loops::Loops;

/// A line of the PTX or of the program that it was compiled from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Line {
    /// Whichever of the two has a loop or branch with this number.
    Either(u32),
    /// Of the PTX.
    Ptx(u32),
    /// Of the program.
    Source(u32),
}

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Either(line) => write!(f, "{line}"),
            Self::Ptx(line) => write!(f, "ptx:{line}"),
            Self::Source(line) => write!(f, "source:{line}"),
        }
    }
}

/// What the user says.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Given {
    /// How often a turn of the loop is begun, each time that the loop is reached; at least 1.
    pub trips: Vec<(Line, f64)>,
    /// Share of its executions in which a branch is taken, or a guarded instruction takes effect, by all lanes
    /// together; 0 to 1.
    pub probabilities: Vec<(Line, f64)>,
}

/// A line that means nothing, or not one thing.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum BadLine {
    /// There is no loop.
    #[error("no loop of the kernel begins, ends or is left on line {line}")]
    NoLoop {
        /// As given.
        line: Line,
        /// Lines on which there are loops: of the PTX, and of the program where it is known.
        known: Vec<(u32, Option<u32>)>,
    },
    /// There is no branch.
    #[error("no branch or guarded instruction of the kernel is on line {line}")]
    NoBranch {
        /// As given.
        line: Line,
        /// Lines on which there are branches.
        known: Vec<(u32, Option<u32>)>,
    },
    /// A line of the PTX and a line of the program.
    #[error("line {line} of the PTX and line {line} of the program are different places")]
    TwoThings {
        /// As given.
        line: Line,
    },
    /// The branch leaves a loop or goes round it, which is a matter of trips.
    #[error("the branch on line {line} decides how often a loop is turned")]
    EndsLoop {
        /// As given.
        line: Line,
    },
    /// No number of trips.
    #[error("a loop that is reached is begun at least once, not {trips} times")]
    Trips {
        /// As given.
        trips: f64,
    },
    /// No probability.
    #[error("a probability is between 0 and 1, not {probability}")]
    Probability {
        /// As given.
        probability: f64,
    },
}

/// What was given, by loop and instruction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resolved {
    /// By index of the loop: trips, and the line as given.
    pub(crate) trips: FxHashMap<usize, (f64, Line)>,
    /// By branch or guarded instruction.
    pub(crate) probabilities: FxHashMap<Pc, (f64, Line)>,
}

impl Resolved {
    pub(crate) fn new(
        module: &Module,
        functions: &[FunctionId],
        loops: &Loops,
        given: &Given,
    ) -> Result<Self, BadLine> {
        let mut resolved = Self::default();
        for &(line, trips) in &given.trips {
            if !(1.0..1e18).contains(&trips) {
                return Err(BadLine::Trips { trips });
            }
            let places: Vec<(usize, Pc)> = loops
                .all
                .iter()
                .enumerate()
                .flat_map(|(index, one)| one.pcs.iter().map(move |&pc| (index, pc)))
                .collect();
            let matches = find(module, line, &places)?;
            // The innermost of the loops that share the line.
            let index =
                matches.first().copied().ok_or_else(|| BadLine::NoLoop { line, known: lines(module, &places) })?;
            resolved.trips.insert(index, (trips, line));
        }
        let branches = branches(module, functions);
        for &(line, probability) in &given.probabilities {
            if !(0.0..=1.0).contains(&probability) {
                return Err(BadLine::Probability { probability });
            }
            let found = find(module, line, &branches)?;
            if found.is_empty() {
                return Err(BadLine::NoBranch { line, known: lines(module, &branches) });
            }
            let outside: Vec<Pc> = found.into_iter().filter(|&pc| !ends_loop(loops, pc)).collect();
            if outside.is_empty() {
                return Err(BadLine::EndsLoop { line });
            }
            resolved.probabilities.extend(outside.into_iter().map(|pc| (pc, (probability, line))));
        }
        Ok(resolved)
    }
}

/// True for branches that leave a loop or close its turn.
fn ends_loop(loops: &Loops, pc: Pc) -> bool {
    loops.all.iter().any(|one| one.pcs.iter().skip(1).any(|&other| other == pc))
}

/// Guarded instructions, branches among them.
fn branches(module: &Module, functions: &[FunctionId]) -> Vec<(Pc, Pc)> {
    let blocks = functions.iter().flat_map(|&function| module.functions[function].block_ids());
    let insts = blocks.flat_map(|block| &module.blocks[block].insts);
    let mut pcs: Vec<(Pc, Pc)> = insts.filter(|inst| inst.guard.is_some()).map(|inst| (inst.pc, inst.pc)).collect();
    pcs.dedup();
    pcs
}

/// The things on a line.
fn find<T: Copy + PartialEq>(module: &Module, line: Line, places: &[(T, Pc)]) -> Result<Vec<T>, BadLine> {
    let on = |is_there: &dyn Fn(Pc) -> bool| {
        let mut found: Vec<T> = Vec::new();
        for (thing, pc) in places {
            if is_there(*pc) && !found.contains(thing) {
                found.push(*thing);
            }
        }
        found
    };
    let ptx = |number: u32| on(&|pc| module.pcs[pc].line == number);
    let source = |number: u32| on(&|pc| module.locations.get(&pc).is_some_and(|location| location.line == number));
    match line {
        Line::Ptx(number) => Ok(ptx(number)),
        Line::Source(number) => Ok(source(number)),
        Line::Either(number) => match (ptx(number), source(number)) {
            (found, other) if other.is_empty() || found == other => Ok(found),
            (found, other) if found.is_empty() => Ok(other),
            _ => Err(BadLine::TwoThings { line }),
        },
    }
}

fn lines<T>(module: &Module, places: &[(T, Pc)]) -> Vec<(u32, Option<u32>)> {
    let mut lines: Vec<(u32, Option<u32>)> = places
        .iter()
        .map(|(_, pc)| (module.pcs[*pc].line, module.locations.get(pc).map(|location| location.line)))
        .collect();
    lines.sort_unstable();
    lines.dedup();
    lines
}
