//! What some CTAs executed, kept with the profile for models that follow time: the traces, the machine code of the kernel,
//! and what CTAs share.

use std::collections::BTreeMap;
use std::sync::Arc;

use warplens_trace::{Code, CtaId, CtaTrace, Step};

use crate::Footprint;

/// A traced CTA.
#[derive(Clone, PartialEq, Debug)]
pub struct TracedCta {
    /// What its warps executed, as far as it was kept.
    pub trace: CtaTrace,
    /// Steps of all its warps.
    pub steps: u64,
    /// Of these, kept.
    pub kept: u64,
}

impl TracedCta {
    /// Leaves out what a warp executed beyond so many steps and accesses.
    pub fn shorten(&mut self, per_warp: usize) {
        for warp in &mut self.trace.warps {
            let is_kept = |(index, step): (usize, &Step)| index + step.first_access as usize <= per_warp;
            let kept = warp.steps.iter().enumerate().take_while(|&it| is_kept(it)).count();
            if let Some(next) = warp.steps.get(kept) {
                warp.accesses.truncate(next.first_access as usize);
                warp.steps.truncate(kept);
            }
        }
        self.kept = self.trace.warps.iter().map(|warp| warp.steps.len() as u64).sum();
    }
}

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

/// Numbers of CTAs by the SMs of a GPU and the CTAs that an SM has at once.
pub type Planned = BTreeMap<(u32, u32), u32>;

/// A recorded launch.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Traced {
    /// The traced CTAs, ascending.
    pub ctas: Vec<TracedCta>,
    /// CTAs of one SM that are enough for a simulation.
    pub planned: Planned,
    /// What the first CTAs of the launch load.
    pub footprint: Footprint,
    /// Machine code by the identifier of the GPU; or why there is none.
    pub code: BTreeMap<String, Result<MachineCode, String>>,
}

/// The recording that a profile has.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Recording {
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
    /// The CTAs of the first of `n_sms` SMs, which gets every `n_sms`-th and has `resident` at once: those that were
    /// planned for, at most `most`. Where fewer of those, or fewer than `resident`, were traced, others that were stand in,
    /// each at most once.
    pub fn of_sm(&self, n_sms: u32, resident: u32, most: u32) -> SmTraces {
        let find = |id: u32| self.ctas.binary_search_by_key(&CtaId(id), |cta| cta.trace.id).ok();
        let enough = self.planned.get(&(n_sms, resident)).copied();
        let planned = enough.unwrap_or(most).min(most);
        let own = (0..planned).map_while(|turn| find(turn.checked_mul(n_sms.max(1))?));
        let mut chosen: Vec<usize> = own.collect();
        let n_own = chosen.len();
        let lacking = (enough.unwrap_or(resident).max(resident).min(most) as usize).saturating_sub(n_own);
        let others = (0..self.ctas.len()).filter(|index| !chosen.contains(index));
        let others: Vec<usize> = others.take(lacking).collect();
        chosen.extend(others);
        let of = |number: fn(&TracedCta) -> u64| chosen.iter().map(|&index| number(&self.ctas[index])).sum::<u64>();
        let (steps, kept) = (of(|cta| cta.steps), of(|cta| cta.kept));
        SmTraces {
            ctas: chosen.iter().map(|&index| self.ctas[index].trace.clone()).collect(),
            cut: if kept == 0 { 1.0 } else { steps as f64 / kept as f64 },
            stand_ins: chosen.len() > n_own,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_sm_gets_every_so_manyth_cta() {
        let cta = |id: u32| TracedCta { trace: CtaTrace { id: CtaId(id), warps: Vec::new() }, steps: 6, kept: 3 };
        let traced = Traced { ctas: [0, 4, 6, 8, 12].map(cta).into(), ..Traced::default() };
        let ids = |sm: &SmTraces| sm.ctas.iter().map(|cta| cta.id.0).collect::<Vec<_>>();
        let four = traced.of_sm(4, 2, 3);
        assert_eq!((ids(&four), four.cut, four.stand_ins), (vec![0, 4, 8], 2.0, false));
        let planned = Traced { planned: [((4, 2), 2)].into(), ..traced.clone() };
        assert_eq!(ids(&planned.of_sm(4, 2, 3)), [0, 4]);
        let enough = Traced { planned: [((6, 2), 5)].into(), ..traced.clone() };
        assert_eq!(ids(&enough.of_sm(6, 2, 8)), [0, 6, 12, 4, 8]);
        assert_eq!(ids(&enough.of_sm(6, 2, 4)), [0, 6, 12, 4]);
        let six = traced.of_sm(6, 4, 8);
        assert_eq!((ids(&six), six.stand_ins), (vec![0, 6, 12, 4], true));
        assert_eq!(ids(&traced.of_sm(6, 2, 8)), [0, 6, 12]);
        assert_eq!(ids(&traced.of_sm(5, 1, 1)), [0]);
    }
}
