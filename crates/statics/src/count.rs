//! From a launch to its counts: which CTAs are walked, and what is said about the result.

use std::cell::Cell;
use std::collections::{BTreeSet, BinaryHeap};

use warplens_exec as exec;
use warplens_ir::{Flow, FunctionId, FunctionKind, Module};
use warplens_isa::{Pc, Spelling};
use warplens_stats::{Counting, Executed, FinishOptions, LaunchShape, Profile, Program};
use warplens_trace::CtaId;

use crate::code::Code;
use crate::footprint::Sectors;
use crate::given::{BadLine, Given, Line, Resolved};
use crate::region::Lattice;
use crate::tally::Totals;
use crate::walk::{Notes, Setting, Stop, walk};

/// Warp instructions after which no more CTAs are walked, and the counts are scaled to the rest of the grid.
const ENOUGH: u64 = 20_000_000;
/// Boxes of CTAs that do the same of a launch of which every CTA is to be known.
const MOST_BOXES: u64 = 1 << 10;

/// How far the CTAs of a launch are walked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effort {
    /// As long as it does not take too long. The counts are scaled to the rest, and are bounds where something had to be
    /// guessed.
    Bounded,
    /// Until every CTA is known, or else not at all: it is refused where that takes more warp instructions, or where
    /// something has to be guessed.
    Exact {
        /// Warp instructions.
        most: u64,
    },
}

/// What is to be counted.
pub struct Request<'a> {
    /// The code.
    pub module: &'a Module,
    /// The kernel.
    pub kernel: FunctionId,
    /// The kernel made ready for the emulator: it knows where variables lie.
    pub program: &'a exec::Program,
    /// The launch.
    pub shape: LaunchShape,
    /// Content of the parameter space.
    pub parameters: &'a [u8],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u64,
    /// What the user says about loops and branches.
    pub given: &'a Given,
    /// Which instructions count.
    pub counting: Counting,
    /// Bytes of global memory that exist, if known.
    pub global_bytes: Option<u64>,
    /// Instructions that a warp may execute before its loop is taken to be endless.
    pub budget: u64,
    /// Instructions of one CTA that are walked.
    pub cta_budget: u64,
    /// How far the others are.
    pub effort: Effort,
}

/// The counts of a launch.
#[derive(Clone, PartialEq, Debug)]
pub struct Counts {
    /// Everything counted.
    pub profile: Profile,
    /// Executions of every instruction.
    pub listing: Vec<Executed>,
    /// Where the counts are upper bounds, in the order of the code.
    pub bounds: Vec<Bound>,
    /// Given lines that nothing depended on.
    pub unused: Vec<Line>,
    /// Given trips and probabilities that were used.
    pub used: Vec<(Line, f64)>,
    /// CTAs that were walked.
    pub walked_ctas: u64,
    /// Warp instructions that were walked.
    pub walked_instructions: u64,
    /// Executions of blocks by all warps, by block.
    pub executions: Vec<(u32, u64)>,
    /// The CTAs at the corners of the boxes of which each was walked once, ascending. Addresses change by equal steps within
    /// such a box, so that what these access encloses what all others do.
    pub corners: Vec<CtaId>,
    /// Bytes of global memory that all CTAs access: ranges by the first and one past the last, ascending, in whole sectors
    /// where what moves from CTA to CTA moves by them. None where they were too many to list.
    pub touched: Option<Vec<(u64, u64)>>,
}

/// A place where the counts are an upper bound.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bound {
    /// What was not known.
    pub kind: BoundKind,
    /// The instruction.
    pub pc: Pc,
    /// Its line in the PTX.
    pub ptx_line: u32,
    /// File and line of the program, if the PTX says so.
    pub source: Option<(String, u32)>,
    /// What it is, and how the program writes it.
    pub opcode: Spelling,
}

/// What was not known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum BoundKind {
    /// A branch or guard depends on data: both sides were counted.
    Branch,
    /// An address depends on data: every lane was taken to access a place of its own.
    Address,
}

impl BoundKind {
    /// Name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Branch => "branch",
            Self::Address => "address",
        }
    }
}

/// Why nothing was counted.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum Refusal {
    /// A given line or number is wrong.
    #[error("{0}")]
    Given(#[from] BadLine),
    /// How often a loop is turned depends on data.
    #[error("how often the loop is turned depends on data")]
    UnknownTrips {
        /// A branch that decides about leaving the loop.
        pc: Pc,
    },
    /// A warp executes too many instructions.
    #[error("a warp executes more than {budget} instructions")]
    Budget {
        /// Where it was then.
        pc: Pc,
        /// The limit.
        budget: u64,
    },
    /// One CTA takes too many instructions to be walked.
    #[error("a block executes more than {most} instructions, which takes too long to follow")]
    Long {
        /// Where the walk was then.
        pc: Pc,
        /// The limit.
        most: u64,
    },
    /// Something has to be guessed, and nothing may be.
    #[error("a branch, a guard or an address depends on data")]
    Guessed {
        /// The first such instruction.
        pc: Pc,
    },
    /// Too many CTAs do what no other does.
    #[error("too many blocks differ")]
    Many,
    /// A call whose target is not known.
    #[error("the function that is called is not known")]
    IndirectCall {
        /// The call.
        pc: Pc,
    },
    /// Too many frames.
    #[error("the recursion does not end")]
    Recursion {
        /// The call.
        pc: Pc,
    },
    /// How many bytes an instruction moves is not followed.
    #[error("copies of any number of bytes are not followed")]
    BulkCopy {
        /// The copy.
        pc: Pc,
    },
    /// The code says itself where lanes meet, which is not followed.
    #[error("explicit convergence barriers are not followed")]
    Convergence,
    /// The code jumps to addresses that it computes, which is not followed.
    #[error("jumps to computed addresses are not followed")]
    Jump,
    /// A function works on the registers of its callers, which is not followed.
    #[error("functions that work on the registers of their callers are not followed")]
    Subroutine,
}

impl Refusal {
    /// The instruction that it is about.
    pub const fn pc(&self) -> Option<Pc> {
        match self {
            Self::UnknownTrips { pc }
            | Self::Budget { pc, .. }
            | Self::Long { pc, .. }
            | Self::IndirectCall { pc }
            | Self::BulkCopy { pc }
            | Self::Guessed { pc }
            | Self::Recursion { pc } => Some(*pc),
            Self::Given(_) | Self::Many | Self::Convergence | Self::Jump | Self::Subroutine => None,
        }
    }
}

/// A box of CTAs that waits to be walked; the largest comes first.
#[derive(PartialEq, Eq)]
struct Waiting(u64, std::cmp::Reverse<[u32; 3]>, Lattice);

impl Waiting {
    fn new(lattice: Lattice) -> Self {
        Self(lattice.n_ctas(), std::cmp::Reverse(lattice.start), lattice)
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.0, &self.1).cmp(&(other.0, &other.1))
    }
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Counts a launch without running it.
pub fn count(request: &Request<'_>) -> Result<Counts, Refusal> {
    let module = request.module;
    let functions = warplens_ir::call_graph::reachable(module, request.kernel);
    if functions.iter().any(|&function| module.functions[function].explicit_convergence) {
        return Err(Refusal::Convergence);
    }
    let mut blocks = functions.iter().flat_map(|&function| module.functions[function].block_ids());
    if blocks.any(|block| matches!(module.blocks[block].flow, Flow::Computed { .. })) {
        return Err(Refusal::Jump);
    }
    if functions.iter().any(|&function| module.functions[function].kind == FunctionKind::Subroutine) {
        return Err(Refusal::Subroutine);
    }
    let code = Code::new(module, request.kernel, request.program);
    let resolved = Resolved::new(module, &functions, &code.loops, request.given)?;
    let program = Program::new(module, request.kernel, request.shape);
    let setting = Setting {
        code: &code,
        program: &program,
        shape: request.shape,
        parameters: request.parameters,
        dynamic_shared: request.dynamic_shared,
        given: &resolved,
        budget: request.budget,
        cta_budget: request.cta_budget,
        effort: request.effort,
        walked: Cell::new(0),
    };
    let mut totals = Totals::new(program.clone());
    let mut sectors = Sectors::default();
    let mut notes = Notes::default();
    let mut corners = BTreeSet::new();
    let (mut walked_ctas, mut walked_instructions) = (0, 0);
    let mut waiting = BinaryHeap::from([Waiting::new(Lattice::grid(request.shape.grid))]);
    while let Some(Waiting(_, _, lattice)) = waiting.pop() {
        if request.effort == Effort::Bounded && setting.walked.get() > ENOUGH && walked_ctas > 0 {
            break;
        }
        match walk(&setting, lattice) {
            Ok(_) if request.effort != Effort::Bounded && walked_ctas == MOST_BOXES => return Err(Refusal::Many),
            Ok(walked) => {
                totals.add(walked.tally, &walked.region);
                walked.footprint.spread(&walked.region, &mut sectors);
                waiting.extend(walked.region.rest().into_iter().map(Waiting::new));
                corners.extend(walked.region.corners().map(|cta| number(cta, request.shape.grid)));
                notes.add(walked.notes);
                walked_ctas += 1;
                walked_instructions += walked.instructions;
            }
            Err(Stop::Split { axis, factor }) => {
                waiting.extend(lattice.split(axis, factor).into_iter().map(Waiting::new));
            }
            Err(Stop::Refused(refusal)) => return Err(refusal),
        }
    }
    let options = FinishOptions { counting: request.counting, global_bytes: request.global_bytes };
    let recorder = totals.finish();
    let (listing, executions) = (recorder.listing(request.counting), recorder.executions());
    let mut profile = recorder.finish(options);
    let covered = profile.coverage.ctas_executed;
    let total = profile.coverage.ctas_total;
    let distinct = |sectors: u64, more: u64| {
        // Sectors of the CTAs that were not walked are scaled like all else.
        let all = u128::from(sectors + more) * u128::from(total) / u128::from(covered.max(1));
        let exist = request.global_bytes.map_or(u64::MAX, |bytes| bytes.div_ceil(32));
        u64::try_from(all).unwrap_or(u64::MAX).min(exist.max(sectors))
    };
    profile.distinct_sectors_read = distinct(sectors.read.n_sectors(), sectors.more_read);
    profile.distinct_sectors_written = distinct(sectors.written.n_sectors(), sectors.more_written);
    let bounds = bounds(module, &notes);
    let (used, unused) = said(&resolved, &notes);
    profile.statistics.without_run(bounds.is_empty() && used.is_empty());
    let (corners, touched) = (corners.into_iter().collect(), sectors.touched());
    Ok(Counts {
        profile,
        listing,
        bounds,
        unused,
        used,
        walked_ctas,
        walked_instructions,
        executions,
        corners,
        touched,
    })
}

/// The CTA at a place of a grid.
const fn number([x, y, z]: [u32; 3], [of_x, of_y, _]: [u32; 3]) -> CtaId {
    CtaId((z * of_y + y) * of_x + x)
}

impl Notes {
    fn add(&mut self, other: Self) {
        self.branches.extend(other.branches);
        self.addresses.extend(other.addresses);
        self.trips.extend(other.trips);
        self.probabilities.extend(other.probabilities);
    }
}

fn bounds(module: &Module, notes: &Notes) -> Vec<Bound> {
    let bound = |kind: BoundKind, pc: Pc| {
        let info = &module.pcs[pc];
        let file = |file: u32| module.files.get(file as usize).cloned().unwrap_or_default();
        Bound {
            kind,
            pc,
            ptx_line: info.line,
            source: module.locations.get(&pc).map(|location| (file(location.file), location.line)),
            opcode: module.spelling(pc).clone(),
        }
    };
    let branches = notes.branches.iter().map(|&pc| bound(BoundKind::Branch, pc));
    let addresses = notes.addresses.iter().map(|&pc| bound(BoundKind::Address, pc));
    let mut bounds: Vec<Bound> = branches.chain(addresses).collect();
    bounds.sort_by_key(|bound| (bound.pc, bound.kind));
    bounds
}

/// Given lines and numbers that were used, and lines that were not.
fn said(resolved: &Resolved, notes: &Notes) -> (Vec<(Line, f64)>, Vec<Line>) {
    let trips = resolved.trips.iter().map(|(index, given)| (notes.trips.contains(index), given));
    let shares = resolved.probabilities.iter().map(|(pc, given)| (notes.probabilities.contains(pc), given));
    let (mut used, mut unused): (Vec<(Line, f64)>, Vec<Line>) = (Vec::new(), Vec::new());
    for (was_used, &(number, line)) in trips.chain(shares) {
        if was_used {
            used.push((line, number));
        } else {
            unused.push(line);
        }
    }
    used.sort_by(|one, other| one.0.cmp(&other.0).then(one.1.total_cmp(&other.1)));
    used.dedup();
    unused.sort_unstable();
    unused.dedup();
    unused.retain(|line| !used.iter().any(|(other, _)| other == line));
    (used, unused)
}
