//! What some CTAs executed, kept beside the counts for models that follow time: the traces, the machine code of the
//! kernel, and what CTAs share.

use std::collections::BTreeMap;
use std::sync::Arc;

use warplens_stats::{Footprint, TracedCta};
use warplens_trace::{Chain, Code, CtaId, CtaTrace};

/// Steps of traced CTAs, about, among which the turns of loops are counted that are left over.
const SAMPLE: u64 = 1 << 20;

/// The machine code of a kernel on one GPU.
#[derive(Clone, PartialEq, Debug)]
pub struct MachineCode {
    /// As an assembler would order it.
    pub scheduled: Listing,
    /// In the order of the program.
    pub program_order: Listing,
}

/// Machine code with what was assumed when it was made.
#[derive(Clone, PartialEq, Debug)]
pub struct Listing {
    /// The code.
    pub code: Arc<Code>,
    /// Sentences.
    pub assumptions: Vec<String>,
}

/// What is simulated of a launch on one GPU.
#[derive(Clone, PartialEq, Debug)]
pub struct OfBoard {
    /// Machine code, or why there is none.
    pub code: Result<MachineCode, String>,
    /// The CTAs of some SMs of which one is simulated, in the order in which it gets them.
    pub sms: Vec<Vec<CtaId>>,
    /// These are no CTAs of one SM, but stand for them: others were not executed.
    pub stand_ins: bool,
    /// CTAs from the first whose lines tell what SMs share.
    pub window: u32,
}

/// A recorded launch.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Traced {
    /// The traced CTAs, ascending.
    pub ctas: Vec<TracedCta>,
    /// Executions of blocks by all warps of the launch, by block.
    pub executions: Vec<(u32, u64)>,
    /// What the first CTAs of the launch load.
    pub footprint: Footprint,
    /// What is simulated, by the identifier of the board: neither the clock nor other GPUs change it.
    pub boards: BTreeMap<String, OfBoard>,
}

/// The traces that go with the counts of a launch.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Traces {
    /// Nothing was recorded: no model that needs it was asked, or nothing was executed.
    #[default]
    None,
    /// Counts were changed after it was made: it is of another kernel.
    Outdated,
    /// What was recorded.
    Made(Arc<Traced>),
}

/// The CTAs that one SM executes, as far as they were traced.
#[derive(Clone, PartialEq, Debug)]
pub struct SmTraces {
    /// In the order in which the SM gets them.
    pub ctas: Vec<CtaTrace>,
    /// The same, as they are kept.
    pub packed: Vec<TracedCta>,
    /// True where the traces of some hold only the first steps of their warps.
    pub is_cut: bool,
    /// Others than the SM's own CTAs stand for them.
    pub stand_ins: bool,
    /// What the first CTAs of the launch load.
    pub footprint: Footprint,
}

impl Traced {
    /// CTAs of SMs of a board that have `resident` at once: at most `most` of each, in the order in which it gets them. None
    /// where nothing was recorded for the board.
    ///
    /// Of the SMs that were chosen, where all CTAs of an SM run at once the one is taken that ends last: the one with most
    /// to do, or with the longest warp. Elsewhere SMs that are done early get more CTAs, and the one is taken whose CTAs have
    /// the mean of the work.
    pub fn of_sm(&self, board: &str, resident: u32, most: u32) -> Vec<SmTraces> {
        let Some(of) = self.boards.get(board) else { return Vec::new() };
        let find = |id: &CtaId| self.ctas.binary_search_by_key(id, TracedCta::id).ok();
        let chains = of.sms.iter().map(|sm| sm.iter().take(most as usize).map_while(find).collect());
        let chains: Vec<Vec<usize>> = chains.filter(|chain: &Vec<usize>| !chain.is_empty()).collect();
        let traces = |sm: usize| SmTraces {
            ctas: chains[sm].iter().map(|&index| self.ctas[index].trace()).collect(),
            packed: chains[sm].iter().map(|&index| self.ctas[index].clone()).collect(),
            is_cut: chains[sm].iter().any(|&index| !self.ctas[index].left_out().is_empty()),
            stand_ins: of.stand_ins,
            footprint: self.footprint.first(of.window),
        };
        self.typical(&chains, most <= resident).into_iter().map(traces).collect()
    }

    /// Machine instructions of all warps of the launch. Of the turns of a loop as many are together as in the traced CTAs.
    pub fn instructions(&self, code: &Code) -> f64 {
        let length = |block: u32| code.block(block).len() as f64;
        let most_together: f64 =
            code.executions(&self.executions).iter().map(|&(block, n)| n as f64 * length(block)).sum();
        let times: BTreeMap<u32, u64> = self.executions.iter().copied().collect();
        let left_over = self.left_over(code).into_iter().map(|(chain, share)| {
            let turns = share * times.get(&chain.blocks[0]).map_or(0.0, |&n| n as f64);
            turns * (length(chain.blocks[0]) - length(chain.merged) / chain.blocks.len() as f64)
        });
        most_together + left_over.sum::<f64>()
    }

    /// Of loops of which some turns are together: the share of all turns that is executed one by one.
    fn left_over<'c>(&self, code: &'c Code) -> Vec<(&'c Chain, f64)> {
        let chains: Vec<&Chain> = code.chains.iter().filter(|chain| chain.goes_back()).collect();
        if chains.is_empty() {
            return Vec::new();
        }
        let mut steps: BTreeMap<u32, u64> = BTreeMap::new();
        let all: u64 = self.ctas.iter().map(TracedCta::n_steps).sum();
        let every = usize::try_from(all.div_ceil(SAMPLE)).unwrap_or(usize::MAX).max(1);
        for cta in self.ctas.iter().step_by(every).map(TracedCta::trace) {
            let of_warps = cta.warps.iter().flat_map(|warp| warp.steps_of(code));
            of_warps.for_each(|step| *steps.entry(step.block).or_default() += 1);
        }
        let of = |block: u32| steps.get(&block).map_or(0.0, |&n| n as f64);
        let share = |chain: &Chain| {
            let (single, together) = (of(chain.blocks[0]), chain.blocks.len() as f64 * of(chain.merged));
            if single > 0.0 { single / (single + together) } else { 0.0 }
        };
        chains.into_iter().map(|chain| (chain, share(chain))).collect()
    }

    /// The SMs with most to do, or the one whose CTAs have the mean of the work; the first of those that are alike.
    fn typical(&self, chains: &[Vec<usize>], is_one_wave: bool) -> Vec<usize> {
        if chains.len() <= 1 {
            return (0..chains.len()).collect();
        }
        let steps = |&index: &usize| self.ctas[index].n_steps() as f64;
        let loads: Vec<f64> = chains.iter().map(|chain| chain.iter().map(steps).sum()).collect();
        let most = |of: &dyn Fn(usize) -> f64| {
            (0..chains.len()).rev().max_by(|&left, &right| of(left).total_cmp(&of(right))).expect("there are some")
        };
        if is_one_wave {
            let longest =
                |sm: usize| chains[sm].iter().map(|&index| self.ctas[index].longest()).max().unwrap_or(0) as f64;
            let mut ends_last = vec![most(&|sm| loads[sm]), most(&longest)];
            ends_last.dedup();
            return ends_last;
        }
        let per_cta = |sm: usize| loads[sm] / chains[sm].len() as f64;
        let mean = (0..chains.len()).map(per_cta).sum::<f64>() / chains.len() as f64;
        vec![most(&|sm| -(per_cta(sm) - mean).abs())]
    }
}

#[cfg(test)]
mod tests {
    use warplens_trace::{ActiveMask, WarpTraceBuilder};

    use super::*;

    fn cta(id: u32, steps: u32) -> TracedCta {
        let mut warp = WarpTraceBuilder::default();
        (0..steps).for_each(|_| warp.step(0, ActiveMask::FULL));
        TracedCta::new(&CtaTrace { id: CtaId(id), warps: [warp.finish()].into() }, Vec::new())
    }

    fn of_board(sms: &[&[u32]]) -> OfBoard {
        let sms = sms.iter().map(|sm| sm.iter().copied().map(CtaId).collect()).collect();
        OfBoard { code: Err(String::new()), sms, stand_ins: false, window: 0 }
    }

    fn ids(sm: &SmTraces) -> Vec<u32> {
        sm.ctas.iter().map(|cta| cta.id.0).collect()
    }

    #[test]
    fn instructions_are_those_of_turns_together_and_left_over_as_they_were_traced() {
        // Block 0 has two instructions, four of its turns together have five.
        let inst = warplens_trace::MachineInst::new(warplens_trace::MachineClass::Int, 0);
        let code = Code {
            insts: vec![inst; 7],
            blocks: vec![0..2, 2..7],
            chains: vec![Chain { blocks: vec![0; 4], merged: 1 }],
            ..Code::default()
        };
        for steps in [3, 4, 7, 8] {
            let traced = Traced {
                ctas: vec![cta(0, steps)],
                executions: vec![(0, 100 * u64::from(steps))],
                ..Traced::default()
            };
            let (together, single) = (f64::from(steps / 4), f64::from(steps % 4));
            let found = traced.instructions(&code);
            assert!((found - 100.0 * (5.0 * together + 2.0 * single)).abs() < 3.0, "{steps}: {found}");
        }
    }

    #[test]
    fn a_board_gets_what_was_traced_for_it_whatever_else_was() {
        let boards = [("four", of_board(&[&[0, 4, 8]])), ("six", of_board(&[&[0, 6, 12, 18]]))];
        let boards: BTreeMap<String, OfBoard> = boards.map(|(board, of)| (board.to_owned(), of)).into();
        let all = Traced { ctas: [0, 4, 6, 8, 12].map(|id| cta(id, 6)).into(), boards, ..Traced::default() };
        let of = |board: &str, most| all.of_sm(board, 2, most).iter().map(ids).collect::<Vec<_>>();
        assert_eq!(of("four", 3), [[0, 4, 8]]);
        assert_eq!(of("four", 2), [[0, 4]]);
        assert_eq!(of("six", 8), [[0, 6, 12]]);
        assert!(of("seven", 8).is_empty());
    }

    #[test]
    fn the_sm_that_ends_last_is_taken_in_one_wave_and_a_typical_one_in_several() {
        let work = [(0, 10), (1, 90), (2, 30), (4, 10), (5, 70), (6, 40)];
        let boards = [("gpu".to_owned(), of_board(&[&[0, 4], &[1, 5], &[2, 6]]))].into();
        let traced = Traced { ctas: work.map(|(id, steps)| cta(id, steps)).into(), boards, ..Traced::default() };
        let of = |resident| traced.of_sm("gpu", resident, 2).iter().map(ids).collect::<Vec<_>>();
        assert_eq!((of(2), of(1)), (vec![vec![1, 5]], vec![vec![2, 6]]));
        let boards = [("gpu".to_owned(), of_board(&[&[0, 4], &[1, 2]]))].into();
        let work = [(0, 50), (1, 40), (2, 40), (4, 10)];
        let uneven = Traced { ctas: work.map(|(id, steps)| cta(id, steps)).into(), boards, ..Traced::default() };
        assert_eq!(uneven.of_sm("gpu", 2, 2).iter().map(ids).collect::<Vec<_>>(), [[1, 2], [0, 4]]);
    }
}
