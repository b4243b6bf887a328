//! From the equations' numbers to a prediction.

use warplens_base::units::{Cycles, Hertz};
use warplens_machine::Readings;

use super::{Analyzer, Evaluation, Inputs};
use crate::assumption::{self as says, of_machine};
use crate::compute::ComputeLoad;
use crate::hong_kim::case_assumptions;
use crate::mwp_cwp::{Case, memory_resource, terms};
use crate::{Assumption, Combine, Model, Options, Prediction, Quantity, Refusal, Resource};

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
        assumptions.push(says::FEWER_LOADS.with(format!("MWP {used:.3} in use; all of it: {all:.0} cycles")));
    }
    let shared = inputs.compute_cycles - evaluation.compute_cycles;
    if shared > 0.0 {
        let all = inputs.compute_cycles;
        assumptions.push(says::SFU_OVERLAP.with(format!("saves {shared:.0} of {all:.0} cycles per warp")));
    }
    if evaluation.hidden_cycles > 0.0 && matches!(execution.case, Case::FewWarps | Case::MemoryBound) {
        assumptions.push(says::IN_WARP_OVERLAP.with(format!("{:.0} cycles per warp", evaluation.hidden_cycles)));
    }
    if execution.synch < execution.synch_unlimited {
        let (limited, printed) = (execution.synch, execution.synch_unlimited);
        assumptions.push(says::BLOCK_BARRIER.with(format!("{limited:.0} cycles; (26) as printed: {printed:.0}")));
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
        x_model: None,
        luo_suda: None,
        teg: None,
    }
    .checked()
}

fn quantities(inputs: &Inputs, evaluation: &Evaluation) -> Vec<Quantity> {
    let number = |name, value| Quantity { name, value, unit: "" };
    let cycles = |name, value| Quantity { name, value, unit: "cycles" };
    let residency = &evaluation.residency;
    let execution = &evaluation.execution;
    let transactions = &inputs.transactions;
    let mut quantities = vec![
        number("Active_blocks_per_SM", residency.ctas_per_sm),
        number("Active_SMs", residency.active_sms),
        number("Active_warps_per_SM", evaluation.active_warps),
        number("Rep", evaluation.rep),
        number("warp_mem", inputs.warp_mem),
        number("Synch_insts", inputs.synch_insts),
    ];
    if let Some(memory) = &evaluation.memory {
        quantities.extend([
            number("t32", transactions.t32 + transactions.t32_vector),
            number("t64", transactions.t64),
            number("t128", transactions.t128),
            number("Independent_loads", inputs.independent_loads),
            number("Duplicate_loads", inputs.duplicate_loads),
            Quantity { name: "Data_per_request", value: memory.data_per_request, unit: "B" },
            Quantity { name: "bandwidth_per_warp", value: memory.bandwidth_per_warp, unit: "B/s" },
            number("MWP_peak_bandwidth", memory.mwp_peak_bandwidth),
            number("num_trans_per_request", memory.num_trans_per_request),
            cycles("avg_dep_delay_per_tran", memory.avg_dep_delay_per_tran),
            cycles("mem_latency_final", memory.mem_latency_final),
            cycles("dep_delay_per_request", memory.dep_delay_per_request),
            number("MWP_without_BW_full", memory.mwp_without_bw_full),
            number("Active_warps_for_MWP", memory.active_warps_for_mwp),
        ]);
    }
    if evaluation.hidden_cycles > 0.0 {
        quantities.push(cycles("Overlapped_cycles", evaluation.hidden_cycles));
    }
    quantities.extend([
        number("MWP", evaluation.mwp),
        cycles("Memory_cycles", evaluation.memory_cycles),
        cycles("Compute_cycles", evaluation.compute_cycles),
        number("CWP_full", evaluation.cwp_full),
        number("CWP", evaluation.cwp),
        number("Case", f64::from(execution.case.equation())),
        cycles("Exec_cycles", execution.exec()),
        cycles("Synch_cost", execution.synch),
        cycles("Exec_with_synch_cost", execution.total()),
    ]);
    quantities
}
