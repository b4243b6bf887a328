//! From the equations' numbers to a prediction.

use warplens_base::units::{Cycles, Hertz};
use warplens_machine::Readings;

use super::{Analyzer, Evaluation, Inputs};
use crate::assumption::{AssumptionId, of_machine};
use crate::compute::ComputeLoad;
use crate::hong_kim::case_assumptions;
use crate::mwp_cwp::{Case, memory_resource, terms};
use crate::{Assumption, Combine, Model, Options, Prediction, Quantity, Refusal, Resource, Symbol};

pub(super) fn prediction(
    inputs: &Inputs,
    evaluation: &Evaluation,
    options: &Options,
    load: Option<&ComputeLoad>,
    readings: Readings,
    mut assumptions: Vec<Assumption>,
) -> Result<Prediction, Refusal> {
    let execution = &evaluation.execution;
    assumptions.extend(case_assumptions(execution, evaluation.rep, options));
    if evaluation.memory.is_some() && execution.mwp_used < evaluation.mwp {
        let (used, all) = (execution.mwp_used, execution.total_at_mwp);
        assumptions.push(AssumptionId::FewerLoads.with(format!("MWP {used:.3} in use; all of it: {all:.0} cycles")));
    }
    let shared = inputs.compute_cycles - evaluation.compute_cycles;
    if shared > 0.0 {
        let all = inputs.compute_cycles;
        assumptions.push(AssumptionId::SfuOverlap.with(format!("saves {shared:.0} of {all:.0} cycles per warp")));
    }
    if evaluation.hidden_cycles > 0.0 && matches!(execution.case, Case::FewWarps | Case::MemoryBound) {
        assumptions.push(AssumptionId::InWarpOverlap.with(format!("{:.0} cycles per warp", evaluation.hidden_cycles)));
    }
    if execution.synch < execution.synch_unlimited {
        let (limited, printed) = (execution.synch, execution.synch_unlimited);
        assumptions
            .push(AssumptionId::BlockBarrier.with(format!("{limited:.0} cycles; (26) as printed: {printed:.0}")));
    }
    assumptions.extend(of_machine(&readings.assumptions));
    let resource = evaluation.memory.map_or(Resource::DramLatency, |memory| {
        memory_resource(memory.mwp_peak_bandwidth, memory.mwp_without_bw_full, memory.active_warps_for_mwp)
    });
    Prediction {
        model: Analyzer.id(),
        time: Cycles(execution.total()),
        clock: Hertz(inputs.freq),
        terms: terms(execution, resource, load, &readings),
        combine: Combine::Sum,
        quantities: quantities(inputs, evaluation),
        assumptions,
        parameters: readings.parameters,
        coverage: None,
        detail: None,
    }
    .checked()
}

fn quantities(inputs: &Inputs, evaluation: &Evaluation) -> Vec<Quantity> {
    let residency = &evaluation.residency;
    let execution = &evaluation.execution;
    let transactions = &inputs.transactions;
    let mut quantities = vec![
        Symbol::ActiveBlocksPerSm.of(residency.ctas_per_sm),
        Symbol::ActiveSms.of(residency.active_sms),
        Symbol::ActiveWarpsPerSm.of(evaluation.active_warps),
        Symbol::Rep.of(evaluation.rep),
        Symbol::WarpMem.of(inputs.warp_mem),
        Symbol::SynchInsts.of(inputs.synch_insts),
    ];
    if let Some(memory) = &evaluation.memory {
        quantities.extend([
            Symbol::T32.of(transactions.t32 + transactions.t32_vector),
            Symbol::T64.of(transactions.t64),
            Symbol::T128.of(transactions.t128),
            Symbol::IndependentLoads.of(inputs.independent_loads),
            Symbol::DuplicateLoads.of(inputs.duplicate_loads),
            Symbol::DataPerRequest.of(memory.data_per_request),
            Symbol::BandwidthPerWarp.of(memory.bandwidth_per_warp),
            Symbol::MwpPeakBandwidth.of(memory.mwp_peak_bandwidth),
            Symbol::NumTransPerRequest.of(memory.num_trans_per_request),
            Symbol::AvgDepDelayPerTran.of(memory.avg_dep_delay_per_tran),
            Symbol::MemLatencyFinal.of(memory.mem_latency_final),
            Symbol::DepDelayPerRequest.of(memory.dep_delay_per_request),
            Symbol::MwpWithoutBwFull.of(memory.mwp_without_bw_full),
            Symbol::ActiveWarpsForMwp.of(memory.active_warps_for_mwp),
        ]);
    }
    if evaluation.hidden_cycles > 0.0 {
        quantities.push(Symbol::OverlappedCycles.of(evaluation.hidden_cycles));
    }
    quantities.extend([
        Symbol::Mwp.of(evaluation.mwp),
        Symbol::MemoryCycles.of(evaluation.memory_cycles),
        Symbol::ComputeCycles.of(evaluation.compute_cycles),
        Symbol::CwpFull.of(evaluation.cwp_full),
        Symbol::Cwp.of(evaluation.cwp),
        Symbol::Case.of(f64::from(execution.case.equation())),
        Symbol::ExecCycles.of(execution.exec()),
        Symbol::SynchCost.of(execution.synch),
        Symbol::ExecWithSynchCost.of(execution.total()),
    ]);
    quantities
}
