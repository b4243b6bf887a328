//! Predictions from profiles that were made by hand: what every release is judged on, refusals, options, assumptions.

use crate::support::{
    self, JUDGED, access, empty, instructions, machine, naive_product, shared_loads, sum_of_fields, tiled_product,
    vector_add,
};
use warplens_isa::OpClass;
use warplens_machine::{Key, Machine, Strictness, builtin};
use warplens_model::{
    AssumptionId, CountBasis, Input, MODELS, ModelId, Needs, Options, Origin, Prediction, Refusal, Resource, auto,
    band, check_given, find,
};
use warplens_stats::{Coverage, Profile, RegistersBasis};

fn predict(model: &str, profile: &Profile, machine: &Machine) -> Result<Prediction, Refusal> {
    find(model).unwrap().predict(
        &Input {
            profile,
            traces: &warplens_sim::traces::Traces::None,
            options: Options::default(),
            knobs: warplens_model::Knobs::NONE,
        },
        machine,
    )
}

fn analyzer_us(profile: &Profile, id: &str) -> f64 {
    predict("analyzer", profile, &machine(id)).unwrap().seconds().microseconds()
}

fn assert_faster(faster: &Profile, slower: &Profile) {
    for id in JUDGED {
        let (faster_us, slower_us) = (analyzer_us(faster, id), analyzer_us(slower, id));
        assert!(
            faster_us <= 0.95 * slower_us,
            "{id}: {} {faster_us:.1} us against {} {slower_us:.1} us",
            faster.kernel,
            slower.kernel
        );
    }
}

#[test]
fn tiles_in_shared_memory_are_faster() {
    for n in [512, 1024, 2048] {
        assert_faster(&tiled_product(n, [1; 3]), &naive_product(n));
    }
}

#[test]
fn bank_conflicts_cost_time() {
    // The columns of a 16 x 16 tile: 16 ways on 16 banks, 8 on 32, 4 on 32 of 8 bytes.
    assert_faster(&tiled_product(512, [1; 3]), &tiled_product(512, [16, 8, 4]));
    let conflicted = predict("analyzer", &tiled_product(512, [16, 8, 4]), &machine("h200")).unwrap();
    assert_eq!(conflicted.limiter(), Resource::SharedMemory);
}

#[test]
fn arrays_are_faster_than_structures() {
    assert_faster(&sum_of_fields(1 << 22, false), &sum_of_fields(1 << 22, true));
}

#[test]
fn vector_addition_follows_the_bandwidth() {
    let profile = vector_add((64 << 20) / 4);
    let order = ["h200", "a100-80", "v100-pcie", "k40", "gtx280"];
    let times = order.map(|id| analyzer_us(&profile, id));
    assert!(times.is_sorted_by(|faster, slower| faster < slower), "{times:?}");
    for id in order {
        let prediction = predict("analyzer", &profile, &machine(id)).unwrap();
        assert_eq!(prediction.limiter(), Resource::DramBandwidth, "{id}");
    }
}

/// 3 x 64 MB at 3534 GB/s are 57 us.
#[test]
fn vector_addition_is_near_the_bandwidth_of_an_h200() {
    let us = analyzer_us(&vector_add((64 << 20) / 4), "h200");
    assert!((57.0..70.0).contains(&us), "{us} us");
}

#[test]
fn every_model_answers_on_every_board_or_names_what_is_missing() {
    for profile in [vector_add(1 << 20), tiled_product(512, [16, 8, 4]), naive_product(512)] {
        for machine in builtin::all().unwrap() {
            for model in MODELS {
                let input = Input {
                    profile: &profile,
                    traces: &warplens_sim::traces::Traces::None,
                    options: Options::default(),
                    knobs: warplens_model::Knobs::NONE,
                };
                match model.predict(&input, &machine) {
                    Ok(prediction) => {
                        assert!(prediction.time.0 > 0.0);
                        assert!(!prediction.parameters.is_empty() && !prediction.assumptions.is_empty());
                        assert_eq!(prediction.coverage, Some(profile.coverage));
                    }
                    // These profiles are counts alone, and one chip of each generation is calibrated.
                    Err(refusal) if model.name() == "luo-suda" => {
                        let is_calibrated = machine.canonical(Key::LuoSudaA).is_ok();
                        let missing = if is_calibrated { "periods" } else { "luo_suda.a" };
                        assert_eq!(refusal.missing, [missing], "{}", machine.id);
                    }
                    Err(refusal) if model.needs() == Needs::Trace => assert_eq!(refusal.missing, ["trace"]),
                    Err(refusal) => panic!("{} on {}: {refusal}", model.name(), machine.id),
                }
            }
        }
    }
}

fn without(id: &str, keys: &[Key]) -> Machine {
    let mut machine = machine(id);
    machine.siblings.clear();
    machine.facts.retain(|key, _| !keys.contains(key));
    machine
}

#[test]
fn a_missing_parameter_is_refused_by_name() {
    let profile = vector_add(1 << 20);
    let no_latency = without("v100-pcie", &[Key::DramLatency]);
    for model in ["analyzer", "hong-kim"] {
        let refusal = predict(model, &profile, &no_latency).unwrap_err();
        assert_eq!(refusal.missing, ["dram.latency_cycles"], "{model}");
        assert!(refusal.reason.contains("dram.latency"), "{}", refusal.reason);
    }
    assert!(predict("roofline", &profile, &no_latency).is_ok());
    let no_bandwidth = without("v100-pcie", &[Key::DramAchievedBandwidth]);
    for model in MODELS {
        let refusal = predict(model.name(), &profile, &no_bandwidth).unwrap_err();
        let missing = match model.name() {
            "luo-suda" => "periods",
            _ if model.needs() == Needs::Trace => "trace",
            _ => "dram.achieved_bandwidth_bytes_per_s",
        };
        assert_eq!(refusal.missing, [missing], "{}", model.name());
    }
}

#[test]
fn strict_mode_refuses_derived_parameters() {
    let profile = vector_add(1 << 20);
    let options = Options { strictness: Strictness::Strict, ..Options::default() };
    let input = Input {
        profile: &profile,
        traces: &warplens_sim::traces::Traces::None,
        options,
        knobs: warplens_model::Knobs::NONE,
    };
    let refusal = find("analyzer").unwrap().predict(&input, &machine("h200")).unwrap_err();
    assert_eq!(refusal.missing, ["dram.departure_delay_32_cycles"]);
    // Every value that the model needs on a C1060 is stated.
    assert!(find("analyzer").unwrap().predict(&input, &machine("c1060")).is_ok());
}

#[test]
fn a_cta_that_does_not_fit_is_refused() {
    let mut profile = vector_add(1 << 20);
    profile.launch.block = [1024, 1, 1];
    let refusal = predict("analyzer", &profile, &machine("gtx280")).unwrap_err();
    assert!(refusal.missing.is_empty());
    assert!(refusal.reason.contains("does not fit on an SM of gtx280"), "{}", refusal.reason);
}

#[test]
fn double_precision_is_refused_where_there_are_no_lanes() {
    let mut profile = vector_add(1 << 20);
    instructions(&mut profile, OpClass::Fp16, "add.f16x2", 4);
    let refusal = predict("analyzer", &profile, &machine("k40")).unwrap_err();
    assert_eq!(refusal.missing, ["lanes.fp16_per_clk"]);
    assert!(predict("analyzer", &profile, &machine("v100-pcie")).is_ok());
}

#[test]
fn auto_falls_back_where_nothing_was_recorded_or_is_known() {
    let profile = vector_add(1 << 20);
    let input = Input {
        profile: &profile,
        traces: &warplens_sim::traces::Traces::None,
        options: Options::default(),
        knobs: warplens_model::Knobs::NONE,
    };
    assert_eq!(auto::predict(&input, &machine("h200")).unwrap().model, ModelId::Analyzer);
    let no_latency = without("v100-pcie", &[Key::DramLatency]);
    assert_eq!(auto::predict(&input, &no_latency).unwrap().model, ModelId::Roofline);
    let answers = auto::Answers::gather(&input, &no_latency);
    assert_eq!(answers.chosen().0, ModelId::Roofline);
    let selection = answers.selection();
    assert_eq!((selection.model, &*selection.answered), (ModelId::Roofline, &[][..]));
    let refused: Vec<ModelId> = selection.refused.iter().map(|(model, _)| *model).collect();
    assert_eq!(refused, [ModelId::Teg, ModelId::Analyzer, ModelId::HongKim, ModelId::LuoSuda, ModelId::XModel]);
    assert_eq!(selection.refused[0].1.missing, ["trace"]);
    assert_eq!(selection.refused[1].1.missing, ["dram.latency_cycles"]);
    let all = auto::Answers::gather(&input, &machine("h200")).selection();
    assert_eq!(
        (all.model, &*all.answered),
        (ModelId::Analyzer, &[ModelId::HongKim, ModelId::XModel, ModelId::Roofline][..])
    );
    assert_eq!(answers.band().unwrap().n_models, 1);
    let nothing = without("v100-pcie", &[Key::SmCount]);
    assert_eq!(auto::predict(&input, &nothing).unwrap_err().missing, ["sm.count"]);
    let answers = auto::Answers::gather(&input, &nothing);
    assert_eq!(answers.chosen().0, ModelId::Analyzer);
    assert_eq!(answers.band(), None);
}

#[test]
fn models_outside_of_the_choice_are_asked_where_they_are_named() {
    let profile = vector_add(1 << 20);
    let input = Input {
        profile: &profile,
        traces: &warplens_sim::traces::Traces::None,
        options: Options::default(),
        knobs: warplens_model::Knobs::NONE,
    };
    let machine = machine("h200");
    let asked = |these: &[ModelId]| -> Vec<ModelId> {
        auto::Answers::with(these, &input, &machine).answers.iter().map(|(model, _)| *model).collect()
    };
    assert_eq!(asked(&[]).len(), auto::PREFERENCE.len());
    assert!(!asked(&[]).contains(&ModelId::SpeedOfLight));
    assert!(asked(&[ModelId::SpeedOfLight]).contains(&ModelId::SpeedOfLight));
    assert_eq!(asked(ModelId::ALL), ModelId::ALL);
    let [few, all] = [&[], ModelId::ALL].map(|these| auto::Answers::with(these, &input, &machine));
    assert_eq!((few.selection(), few.band()), (all.selection(), all.band()));
}

#[test]
fn the_band_spans_the_answers() {
    let profile = vector_add(1 << 24);
    let input = Input {
        profile: &profile,
        traces: &warplens_sim::traces::Traces::None,
        options: Options::default(),
        knobs: warplens_model::Knobs::NONE,
    };
    let answers = auto::Answers::gather(&input, &machine("a100-80"));
    let predictions: Vec<&Prediction> = answers.answers.iter().filter_map(|(_, answer)| answer.as_ref().ok()).collect();
    let band = band(predictions.iter().copied()).unwrap();
    // All but luo-suda, which is calibrated for another chip, and teg, which needs a trace.
    assert_eq!(band.n_models, auto::PREFERENCE.len() - 2);
    assert_eq!(band.low, predict("roofline", &profile, &machine("a100-80")).unwrap().seconds());
    assert!(predictions.iter().all(|prediction| prediction.seconds() <= band.high));
}

#[test]
fn options_are_checked_by_model() {
    let mut options = Options::default();
    options.set(find("hong-kim").unwrap(), "as-printed").unwrap();
    let unknown = options.set(find("hong-kim").unwrap(), "program-order").unwrap_err();
    assert_eq!(
        unknown.to_string(),
        "model hong-kim has no option `program-order`; it has: as-printed, whole-waves, l1-off"
    );
    assert!(options.set(find("roofline").unwrap(), "whole-waves").is_err());
}

#[test]
fn leaving_virtual_instructions_out_speeds_computation_up() {
    let mut profile = empty("copies", 1000, 256, 10, 0);
    instructions(&mut profile, OpClass::Virtual, "mov.u32", 50);
    instructions(&mut profile, OpClass::Fp32, "fma.rn.f32", 50);
    let input = |counts| Input {
        profile: &profile,
        traces: &warplens_sim::traces::Traces::None,
        options: Options { counts, ..Options::default() },
        knobs: warplens_model::Knobs::NONE,
    };
    let cycles = |counts| find("analyzer").unwrap().predict(&input(counts), &machine("c1060")).unwrap().time.0;
    assert_eq!(cycles(CountBasis::AsWritten), 2.0 * cycles(CountBasis::Machine));
}

#[test]
fn slow_operations_have_their_own_cost_on_gt200() {
    let mut profile = empty("roots", 30, 32, 10, 0);
    instructions(&mut profile, OpClass::Sfu, "sqrt.approx.f32", 3);
    instructions(&mut profile, OpClass::Sfu, "rsqrt.approx.f32", 5);
    instructions(&mut profile, OpClass::Fp32, "div.rn.f32", 7);
    instructions(&mut profile, OpClass::Fp32, "add.f32", 11);
    for (kind, per_warp) in [("sqrt.f32", 3), ("rsqrt.f32", 5), ("div.f32", 7)] {
        support::slow(&mut profile, kind, per_warp);
    }
    let cycles = predict("analyzer", &profile, &machine("c1060")).unwrap().time.0;
    assert_eq!(cycles, 3.0 * 32.0 + 5.0 * 16.0 + 7.0 * 36.0 + 11.0 * 4.0);
    // The paper's model knows one cost.
    assert_eq!(predict("hong-kim", &profile, &machine("c1060")).unwrap().time.0, 26.0 * 4.0);
}

#[test]
fn operations_expand_from_fermi_on() {
    let mut profile = empty("quotients", 132, 32, 10, 0);
    instructions(&mut profile, OpClass::Fp32, "div.rn.f32", 2);
    instructions(&mut profile, OpClass::IntMul, "mul.lo.s64", 3);
    instructions(&mut profile, OpClass::IntMul, "mul.lo.s32", 5);
    support::slow(&mut profile, "div.f32", 2);
    support::slow(&mut profile, "mul.s64", 3);
    let prediction = predict("analyzer", &profile, &machine("h200")).unwrap();
    // div.rn: five on 128 fp32 lanes, two on 16 special-function lanes, one issue slot; a 64-bit product: three on 64
    // multiply lanes and one addition; a 32-bit product: one.
    let division = 5.0 * 0.25 + 2.0 * 2.0 + 0.25;
    let wide_product = 3.0 * 0.5 + 0.5;
    assert_eq!(prediction.time.0, 2.0 * division + 3.0 * wide_product + 5.0 * 0.5);
    assert!(prediction.parameters.iter().any(|read| read.key == Key::ExpansionDivRnF32));
}

#[test]
fn conflicts_add_pass_intervals() {
    let time = |id: &str, ways| {
        let mut profile = empty("columns", 1, 32, 10, 1024);
        shared_loads(&mut profile, 10, ways);
        predict("analyzer", &profile, &machine(id)).unwrap().time.0
    };
    // Half-warps on eight lanes: two cycles for each of 2 x 15 further passes.
    assert_eq!(time("c1060", [16, 8, 4]) - time("c1060", [1; 3]), 10.0 * 30.0 * 2.0);
    assert_eq!(time("k40", [16, 8, 4]) - time("k40", [1; 3]), 10.0 * 3.0);
    assert_eq!(time("h200", [16, 8, 4]) - time("h200", [1; 3]), 10.0 * 7.0);
}

#[test]
fn vector_loads_have_their_own_departure_delay_and_do_not_count_as_scalar() {
    let pattern = support::Pattern { cc12: (2, 0, 0), sectors: 2, coalesced: false };
    let delay = |opcode| {
        let mut profile = empty("loads", 1000, 256, 10, 0);
        access(&mut profile, opcode, 400, pattern);
        predict("analyzer", &profile, &machine("c1060")).unwrap().quantity_called("avg_dep_delay_per_tran").unwrap()
    };
    assert!((delay("ld.global.f32") - 37.0).abs() < 1e-9);
    assert!((delay("ld.global.v4.f32") - 57.0).abs() < 1e-9);
}

#[test]
fn merging_keeps_every_distinct_sector() {
    let mut profile = naive_product(512);
    profile.duplicate_loads.values_mut().for_each(|factor| *factor = 1e6);
    let prediction = predict("analyzer", &profile, &machine("h200")).unwrap();
    assert!(prediction.assumptions.iter().any(|assumption| assumption.id.name() == "merged-floor"));
    let roofline = predict("roofline", &profile, &machine("h200")).unwrap();
    assert!(prediction.seconds() >= roofline.seconds());
}

#[test]
fn a_predictions_assumptions_say_how_the_counts_came_about() {
    let mut profile = vector_add(1 << 20);
    profile.coverage = Coverage { ctas_executed: 64, ctas_total: 4096, spread: 0.25 };
    profile.launch.registers_basis = RegistersBasis::Estimate;
    profile.order_dependent = true;
    let prediction = predict("analyzer", &profile, &machine("h200")).unwrap();
    let text = |id: &str| {
        prediction
            .assumptions
            .iter()
            .find(|assumption| assumption.id.name() == id)
            .map(|assumption| assumption.text.as_str())
    };
    assert!(text("ptx-counts").unwrap().contains("45.5 %"), "{:?}", text("ptx-counts"));
    assert!(text("sampled").unwrap().contains("64 of 4096 CTAs"));
    assert!(text("registers-estimated").unwrap().contains("10 per thread"));
    assert!(text("order-dependent").is_some() && text("dram-only").is_some() && text("class-issue").is_some());
    assert!(prediction.assumptions.iter().any(|a| a.id == AssumptionId::Machine && a.text.contains("departure delay")));
}

#[test]
fn terms_add_up_and_name_what_they_read() {
    let prediction = predict("analyzer", &tiled_product(512, [16, 8, 4]), &machine("a100-80")).unwrap();
    let sum: f64 = prediction.terms.iter().map(|term| term.cycles.0).sum();
    assert!((sum - prediction.time.0).abs() < 1e-6 * sum);
    for term in &prediction.terms {
        assert!(!term.parameters.is_empty(), "{}", term.name);
        let parts: f64 = term.parts.iter().map(|part| part.cycles.0).sum();
        assert!(term.parts.is_empty() || (parts - term.cycles.0).abs() < 1e-6 * term.cycles.0, "{}", term.name);
    }
}

#[test]
fn given_numbers_are_checked_and_what_is_missing_is_named() {
    let model = find("analyzer").unwrap();
    let given = |rows: &[(&str, f64)]| rows.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    let unknown = check_given(model, &given(&[("warp_memory", 3.0)])).unwrap_err();
    assert!(unknown.to_string().contains("no input `warp_memory`"), "{unknown}");
    assert!(check_given(model, &given(&[("warp_mem", f64::NAN)])).is_err());
    assert!(check_given(model, &given(&[("warp_mem", -1.0)])).is_err());

    let launch = [("threads_per_block", 256.0), ("blocks", 100.0), ("registers_per_thread", 16.0)];
    let refusal = model.evaluate(&given(&launch), None, &Options::default()).unwrap_err();
    for name in ["instructions", "issue_cycles", "freq", "active_blocks_per_sm", "active_sms", "base_mem_latency"] {
        assert!(refusal.missing.iter().any(|missing| missing == name), "{name} in {:?}", refusal.missing);
    }
    let mut rows = launch.to_vec();
    rows.extend([("instructions", 100.0), ("warp_mem", 3.0), ("t64", 6.0)]);
    let prediction = model.evaluate(&given(&rows), Some(&machine("gtx280")), &Options::default()).unwrap();
    assert_eq!(prediction.quantity_called("Active_blocks_per_SM"), Some(4.0));
    // From 2.0 on there is no such thing as the cost of an instruction.
    let refusal = model.evaluate(&given(&rows), Some(&machine("h200")), &Options::default()).unwrap_err();
    assert_eq!(refusal.missing, ["issue_cycles"]);
    let zero = [("threads_per_block", 0.0), ("blocks", 1.0), ("active_blocks_per_sm", 1.0), ("instructions", 1.0)];
    let refusal = model.evaluate(&given(&zero), Some(&machine("c1060")), &Options::default()).unwrap_err();
    assert!(refusal.reason.contains("`threads_per_block` is 0"), "{}", refusal.reason);
}

#[test]
fn the_roofline_takes_given_numbers() {
    let given = [("warps", 1e6), ("slots_per_warp", 10.0), ("sectors_read", 1e6), ("sectors_written", 5e5)];
    let given = given.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    let prediction = find("roofline").unwrap().evaluate(&given, Some(&machine("h200")), &Options::default()).unwrap();
    assert_eq!(prediction.limiter(), Resource::DramBandwidth);
    assert!((prediction.seconds().0 - 48e6 / 3534e9).abs() < 1e-9);
}

/// An atomic reads and writes its sector in one transaction, which the transaction-based model counts once.
#[test]
fn sectors_that_are_read_and_written_at_once_move_once() {
    let mut profile = empty("histogram", 1000, 256, 10, 0);
    let scattered = support::Pattern { cc12: (32, 0, 0), sectors: 32, coalesced: false };
    access(&mut profile, "atom.global.add.u32", 10, scattered);
    let sectors = 32 * 10 * profile.warps;
    profile.distinct_sectors_read = sectors;
    profile.distinct_sectors_written = sectors;
    for id in JUDGED {
        let analyzer = predict("analyzer", &profile, &machine(id)).unwrap();
        assert_eq!(analyzer.quantity_called("num_trans_per_request"), Some(32.0), "{id}");
        let roofline = predict("roofline", &profile, &machine(id)).unwrap();
        assert_eq!(roofline.quantity_called("distinct_bytes"), Some(32.0 * sectors as f64), "{id}");
    }
}

/// Both use the clock that was fitted on the C1060, so that a kernel that only computes comes out the same.
#[test]
fn the_roofline_meets_the_analyzer_where_nothing_is_lost() {
    let mut profile = empty("compute", 30 * 4 * 10, 256, 10, 0);
    instructions(&mut profile, OpClass::Fp32, "fma.rn.f32", 1000);
    let seconds = |model| predict(model, &profile, &machine("c1060")).unwrap().seconds().0;
    assert!((seconds("roofline") / seconds("analyzer") - 1.0).abs() < 1e-12);
}

/// The schema of JSON documents lists the assumptions, in a crate that knows no model; `UPDATE=1` writes the list.
#[test]
fn the_list_of_the_schema_is_that_of_the_models() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../document/src/assumption_ids.txt");
    let ids: String = AssumptionId::ALL.iter().map(|id| format!("{id}\n")).collect();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(file, &ids).unwrap();
    }
    assert_eq!(std::fs::read_to_string(file).unwrap(), ids, "{file}: UPDATE=1 writes it");
}

#[test]
fn auto_takes_each_model_that_it_may_take_once() {
    let chosen: Vec<&str> = auto::PREFERENCE.iter().map(|model| model.name()).collect();
    assert_eq!(chosen, ["teg", "analyzer", "hong-kim", "luo-suda", "x-model", "roofline"]);
}

#[test]
fn the_manual_lists_everything_that_the_models_know() {
    let page = warplens_model::manual::page();
    for model in MODELS {
        assert!(page.contains(&format!("## `{}`", model.name())));
        for name in
            model.options().iter().map(|option| option.name()).chain(model.inputs().iter().map(|field| field.name))
        {
            assert!(page.contains(&format!("| `{name}` |")), "{name}");
        }
        for field in model.inputs() {
            let said = field.origin.to_string();
            assert!(page.contains(&format!("| {said} |")) && !said.contains("{}"), "{}: {said}", field.name);
            if let Origin::MachineBy(keys, how) = field.origin {
                assert_eq!(how.matches("{}").count(), keys.len(), "{}: {how}", field.name);
            }
        }
        for option in model.options() {
            Options::default().set(*model, option.name()).unwrap();
        }
    }
    let mut ids: Vec<&str> = AssumptionId::ALL.iter().map(|assumption| assumption.name()).collect();
    assert!(ids.iter().all(|id| page.contains(&format!("| `{id}` |"))));
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), AssumptionId::ALL.len(), "identifiers are unique");
}
