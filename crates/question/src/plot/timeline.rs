//! When the warps of an SM compute and when they wait for memory, as the MWP-CWP models see it (figures 5 to 8 of Hong
//! and Kim, ISCA 2009).
//!
//! Every warp alternates between a computation period, `Comp_cycles / Mem_insts`, and a memory period, `Mem_L`. The SM
//! computes for one warp at a time, in the order in which warps become ready. A memory period begins when its warp has
//! computed, but not before the memory system takes the next request: a departure delay after the one before, and
//! `Mem_L / MWP` where fewer than all warps can be in flight together, so that MWP of them are.

use warplens_model::{ModelId, Prediction, Symbol};

use warplens_base::error::{Error, Result};
use warplens_session::predict::Analysis;

/// Warps that are shown.
const SHOWN: usize = 12;
/// Periods of each warp that are shown.
const PERIODS: usize = 2;

/// The first periods of a few warps.
#[derive(Clone, PartialEq, Debug)]
pub struct Timeline {
    /// Name of the kernel.
    pub kernel: String,
    /// Identifier of the GPU.
    pub gpu: String,
    /// The model.
    pub model: ModelId,
    /// What it is made of.
    pub periods: Periods,
    /// Warps that are shown; all of `periods.n` run.
    pub warps: usize,
    /// When each warp computes, in cycles.
    pub computation: Vec<Period>,
    /// When each warp waits for memory, in cycles.
    pub memory: Vec<Period>,
}

/// The quantities that make the pattern.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Periods {
    /// N, resident warps of an SM.
    pub n: f64,
    /// MWP: warps that can be in flight together.
    pub mwp: f64,
    /// CWP: warps that can compute during one memory period.
    pub cwp: f64,
    /// Mem_L: cycles of a memory period.
    pub mem_l: f64,
    /// Departure_delay: cycles between two requests.
    pub departure_delay: f64,
    /// Cycles of a computation period.
    pub comp_p: f64,
    /// Memory periods of a warp.
    pub mem_insts: f64,
    /// Number of the equation that gives the time.
    pub equation: u32,
}

/// A time span of a warp.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Period {
    /// The warp.
    pub warp: usize,
    /// Which of its periods, from 1.
    pub number: usize,
    /// First cycle.
    pub start: f64,
    /// Cycle after the last.
    pub end: f64,
}

/// The timeline of the first answer that has the quantities, for the first launch and GPU.
pub fn timeline(analysis: &Analysis) -> Result<Timeline> {
    let mut reasons = Vec::new();
    for gpu in &analysis.gpus {
        for answer in &gpu.answers {
            match &answer.result {
                Ok(prediction) => match Periods::of(prediction) {
                    Some(periods) => {
                        let kernel = analysis.measurement.kernel.demangled.clone();
                        return Ok(run(kernel, gpu.machine.id.clone(), prediction.model, periods));
                    }
                    None => reasons
                        .push(format!("{}: the kernel has no memory period, or none of this model", answer.model)),
                },
                Err(refusal) => reasons.push(format!("{}: {}", answer.model, refusal.reason)),
            }
        }
    }
    let error = Error::input("no model gives the periods of a timeline");
    let error = reasons.into_iter().fold(error, Error::with_detail);
    Err(error.with_help("the models with computation and memory periods are hong-kim and analyzer"))
}

impl Periods {
    /// Reads the quantities under the names of either model; none without memory instructions.
    pub fn of(prediction: &Prediction) -> Option<Self> {
        let any = |symbols: [Symbol; 2]| symbols.into_iter().find_map(|symbol| prediction.quantity(symbol));
        let mem_insts = any([Symbol::MemInsts, Symbol::WarpMem]).filter(|insts| *insts > 0.0)?;
        Some(Self {
            n: any([Symbol::N, Symbol::ActiveWarpsPerSm])?,
            mwp: prediction.quantity(Symbol::Mwp)?,
            cwp: prediction.quantity(Symbol::Cwp)?,
            mem_l: any([Symbol::MemL, Symbol::MemLatencyFinal])?,
            departure_delay: any([Symbol::DepartureDelay, Symbol::DepDelayPerRequest])?,
            comp_p: any([Symbol::CompCycles, Symbol::ComputeCycles])? / mem_insts.max(1.0),
            mem_insts,
            equation: prediction.quantity(Symbol::Case)? as u32,
        })
    }

    /// Cycles between two requests of the SM.
    pub fn spacing(&self) -> f64 {
        if self.mwp < self.n { self.departure_delay.max(self.mem_l / self.mwp) } else { self.departure_delay }
    }
}

/// Runs all warps for some periods and keeps the first warps.
fn run(kernel: String, gpu: String, model: ModelId, periods: Periods) -> Timeline {
    let n = (periods.n.round() as usize).max(1);
    let n_periods = PERIODS.min((periods.mem_insts.ceil() as usize).max(1));
    let warps = n.min(SHOWN);
    let (mut computation, mut memory) = (Vec::new(), Vec::new());
    let (mut sm_free, mut memory_free) = (0.0f64, 0.0f64);
    // All warps of a round become ready in the order in which they computed the round before.
    let mut ready = vec![0.0f64; n];
    for number in 1..=n_periods {
        for (warp, ready) in ready.iter_mut().enumerate() {
            let start = ready.max(sm_free);
            sm_free = start + periods.comp_p;
            let request = sm_free.max(memory_free);
            memory_free = request + periods.spacing();
            *ready = request + periods.mem_l;
            if warp < warps {
                computation.push(Period { warp, number, start, end: sm_free });
                memory.push(Period { warp, number, start: request, end: *ready });
            }
        }
    }
    Timeline { kernel, gpu, model, periods, warps, computation, memory }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn periods(n: f64, mwp: f64, comp_p: f64) -> Periods {
        let (mem_l, departure_delay) = (400.0, 10.0);
        let cwp = ((mem_l + comp_p) / comp_p).min(n);
        Periods { n, mwp, cwp, mem_l, departure_delay, comp_p, mem_insts: 2.0, equation: 23 }
    }

    fn most_in_flight(timeline: &Timeline) -> usize {
        let at = |time: f64| timeline.memory.iter().filter(|period| period.start <= time && time < period.end).count();
        timeline.memory.iter().map(|period| at(period.start)).max().unwrap_or(0)
    }

    #[test]
    fn as_many_warps_are_in_flight_as_mwp_says() {
        let timeline = |periods| run("k".into(), "g".into(), ModelId::Analyzer, periods);
        assert_eq!(most_in_flight(&timeline(periods(8.0, 2.0, 1.0))), 2);
        assert_eq!(most_in_flight(&timeline(periods(8.0, 8.0, 1.0))), 8);
        // With long computation periods fewer warps meet in memory.
        assert_eq!(most_in_flight(&timeline(periods(8.0, 8.0, 400.0))), 1);
    }

    #[test]
    fn the_sm_computes_for_one_warp_at_a_time() {
        let timeline = run("k".into(), "g".into(), ModelId::Analyzer, periods(6.0, 3.0, 50.0));
        let mut spans = timeline.computation.clone();
        spans.sort_by(|a, b| a.start.total_cmp(&b.start));
        assert!(spans.windows(2).all(|pair| pair[0].end <= pair[1].start));
        assert_eq!((spans.len(), timeline.memory.len()), (12, 12));
    }
}
