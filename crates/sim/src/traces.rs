//! What some CTAs executed, kept beside the counts for models that follow time: the traces, the machine code of the
//! kernel, and what CTAs share.

use std::collections::BTreeMap;
use std::sync::Arc;

use warplens_stats::{Footprint, TracedCta};
use warplens_trace::{Code, CtaTrace, Dealing};

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

/// What was to be traced, by the SMs of a GPU and the CTAs that an SM has at once.
pub type Planned = BTreeMap<(u32, u32), PlannedSms>;

/// SMs whose CTAs were to be traced: one of them is simulated.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PlannedSms {
    /// CTAs of each SM that are enough for a simulation.
    pub ctas: u32,
    /// The SMs.
    pub sms: Vec<u32>,
}

/// A recorded launch.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Traced {
    /// The traced CTAs, ascending.
    pub ctas: Vec<TracedCta>,
    /// The SMs and CTAs that were chosen.
    pub planned: Planned,
    /// What the first CTAs of the launch load.
    pub footprint: Arc<Footprint>,
    /// Machine code by the identifier of the board, as it does not depend on the clock; or why there is none.
    pub code: BTreeMap<String, Result<MachineCode, String>>,
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
    /// Steps of all their warps over those that were kept: 1 where none was cut short.
    pub cut: f64,
    /// CTAs of another SM stand among them, because this SM's were not traced.
    pub stand_ins: bool,
}

impl Traced {
    /// CTAs of one of `n_sms` SMs, which gets every `n_sms`-th CTA and has `resident` at once: at most `most`, in the order
    /// in which it gets them.
    ///
    /// Of the SMs that were planned for, the one with most to do is taken where all CTAs of an SM run at once, because it
    /// ends last; elsewhere SMs that are done early get more CTAs, and the one is taken whose CTAs have the mean of the
    /// work. Where nothing was planned, it is the first SM. Where fewer CTAs than planned, or than fill the SM, were
    /// traced, others that were stand in, each at most once.
    pub fn of_sm(&self, n_sms: u32, resident: u32, most: u32) -> SmTraces {
        let planned = self.planned.get(&(n_sms, resident));
        let of_planned = |sm: &u32| self.chain(*sm, n_sms, planned.map_or(most, |planned| planned.ctas.min(most)));
        let chains = planned.iter().flat_map(|planned| planned.sms.iter().map(of_planned));
        let chains: Vec<Vec<usize>> = chains.filter(|chain| !chain.is_empty()).collect();
        let mut chosen = match self.typical(&chains, most <= resident) {
            Some(chain) => chain.clone(),
            None => self.chain(0, n_sms, most),
        };
        let n_own = chosen.len();
        let enough = planned.map_or(0, |planned| planned.ctas).max(resident).min(most);
        let lacking = (enough as usize).saturating_sub(n_own);
        let others: Vec<usize> = (0..self.ctas.len()).filter(|index| !chosen.contains(index)).take(lacking).collect();
        chosen.extend(others);
        let of = |number: fn(&TracedCta) -> u64| chosen.iter().map(|&index| number(&self.ctas[index])).sum::<u64>();
        let (steps, kept) = (of(|cta| cta.steps), of(|cta| cta.kept));
        SmTraces {
            ctas: chosen.iter().map(|&index| self.ctas[index].trace.clone()).collect(),
            cut: if kept == 0 { 1.0 } else { steps as f64 / kept as f64 },
            stand_ins: chosen.len() > n_own,
        }
    }

    /// The traced CTAs of an SM up to the first that was not traced.
    fn chain(&self, sm: u32, n_sms: u32, most: u32) -> Vec<usize> {
        let dealing = Dealing::new(n_sms);
        let find = |turn| self.ctas.binary_search_by_key(&dealing.cta(sm, turn)?, |cta| cta.trace.id).ok();
        (0..most).map_while(find).collect()
    }

    /// The SM with most to do, or the one whose CTAs have the mean of the work; the first of those that are alike.
    fn typical<'c>(&self, chains: &'c [Vec<usize>], is_one_wave: bool) -> Option<&'c Vec<usize>> {
        let load = |chain: &Vec<usize>| chain.iter().map(|&index| self.ctas[index].steps as f64).sum::<f64>();
        let per_cta = |chain: &Vec<usize>| load(chain) / chain.len() as f64;
        let mean = chains.iter().map(per_cta).sum::<f64>() / chains.len() as f64;
        let far = |chain: &Vec<usize>| if is_one_wave { -load(chain) } else { (per_cta(chain) - mean).abs() };
        chains.iter().min_by(|left, right| far(left).total_cmp(&far(right)))
    }
}

#[cfg(test)]
mod tests {
    use warplens_trace::CtaId;

    use super::*;

    #[test]
    fn an_sm_gets_every_so_manyth_cta() {
        let cta = |id: u32| TracedCta { trace: CtaTrace { id: CtaId(id), warps: Arc::default() }, steps: 6, kept: 3 };
        let traced = Traced { ctas: [0, 4, 6, 8, 12].map(cta).into(), ..Traced::default() };
        let ids = |sm: &SmTraces| sm.ctas.iter().map(|cta| cta.id.0).collect::<Vec<_>>();
        let four = traced.of_sm(4, 2, 3);
        assert_eq!((ids(&four), four.cut, four.stand_ins), (vec![0, 4, 8], 2.0, false));
        let planned = Traced { planned: [((4, 2), PlannedSms { ctas: 2, sms: vec![0] })].into(), ..traced.clone() };
        assert_eq!(ids(&planned.of_sm(4, 2, 3)), [0, 4]);
        let enough = Traced { planned: [((6, 2), PlannedSms { ctas: 5, sms: vec![0] })].into(), ..traced.clone() };
        assert_eq!(ids(&enough.of_sm(6, 2, 8)), [0, 6, 12, 4, 8]);
        assert_eq!(ids(&enough.of_sm(6, 2, 4)), [0, 6, 12, 4]);
        let six = traced.of_sm(6, 4, 8);
        assert_eq!((ids(&six), six.stand_ins), (vec![0, 6, 12, 4], true));
        assert_eq!(ids(&traced.of_sm(6, 2, 8)), [0, 6, 12]);
        assert_eq!(ids(&traced.of_sm(5, 1, 1)), [0]);
    }

    #[test]
    fn the_sm_that_ends_last_is_taken_in_one_wave_and_a_typical_one_in_several() {
        let cta =
            |(id, steps)| TracedCta { trace: CtaTrace { id: CtaId(id), warps: Arc::default() }, steps, kept: steps };
        let sms = PlannedSms { ctas: 2, sms: vec![0, 1, 2] };
        let planned: Planned = [((4, 2), sms.clone()), ((4, 1), sms)].into();
        let work = [(0, 10), (1, 90), (2, 30), (4, 10), (5, 70), (6, 40)];
        let traced = Traced { ctas: work.map(cta).into(), planned, ..Traced::default() };
        let ids = |resident| traced.of_sm(4, resident, 2).ctas.iter().map(|cta| cta.id.0).collect::<Vec<_>>();
        assert_eq!((ids(2), ids(1)), (vec![1, 5], vec![2, 6]));
    }
}
