//! Scenarios: what each edit does to counts that can be followed by hand, and what no edit may do to any model.

use proptest::prelude::*;
use warplens_isa::{Family, OpClass};
use warplens_machine::{Basis, Key, Shape, Value};
use warplens_model::scenario::{
    ALIASES, COUNTS, EFFECTS, Effect, LAUNCH_FIELDS, Parameter, Scenario, Setting, Subject,
};
use warplens_model::{Change, Knobs, MODELS, Model, Needs, Options, Prediction, find};
use warplens_sim::traces::Traces;
use warplens_stats::{BankRule, CoalescingRule, CostKind, Profile};

use crate::luo_suda;
use crate::roofline_bound::any_profile;
use crate::support;

const SECTORS: CoalescingRule = CoalescingRule::Cc70;

fn subject(profile: Profile, gpu: &str) -> Subject {
    Subject { profile, traces: Traces::None, machine: support::machine(gpu), knobs: Knobs::default() }
}

fn without(name: &str, profile: Profile) -> Profile {
    let mut subject = subject(profile, "h200");
    Effect::find(name).unwrap_or_else(|| panic!("no effect {name}")).remove(&mut subject).unwrap();
    subject.profile
}

fn setting(parameter: Parameter, change: Change) -> Scenario {
    let text = format!("{}=...", parameter.name());
    Scenario { settings: vec![Setting { parameter, change, in_cycles: false, text }], without: Vec::new() }
}

fn count(name: &str) -> Parameter {
    Parameter::Count(COUNTS.iter().find(|count| count.name == name).unwrap_or_else(|| panic!("no count {name}")))
}

fn alias(name: &str) -> Parameter {
    Parameter::Alias(ALIASES.iter().find(|alias| alias.name == name).unwrap_or_else(|| panic!("no alias {name}")))
}

fn set(parameter: Parameter, change: Change, profile: Profile) -> Profile {
    let mut subject = subject(profile, "h200");
    setting(parameter, change).apply(&mut subject).unwrap();
    subject.profile
}

fn ask(model: &dyn Model, subject: &Subject) -> Option<Prediction> {
    model.predict(&subject.input(Options::default()), &subject.machine).ok()
}

/// Sum of a count over the lines against the total.
fn consistent(profile: &Profile) {
    for rule in CoalescingRule::ALL {
        let lines = profile.lines.iter().filter_map(|line| line.memory.get(&rule));
        let (mut requests, mut transactions) = (0, 0);
        for counts in lines {
            requests += counts.requests;
            transactions += counts.transactions();
            assert_eq!(counts.requests, counts.coalesced + counts.uncoalesced);
            assert_eq!(counts.transactions(), counts.coalesced_transactions + counts.uncoalesced_transactions);
        }
        let total = profile.global.get(&rule).copied().unwrap_or_default();
        assert_eq!((total.requests, total.transactions()), (requests, transactions), "{}", rule.name());
        assert_eq!(total.bytes_moved, 32 * total.t32 + 64 * total.t64 + 128 * total.t128);
    }
    assert_eq!(profile.instructions.by_class.values().sum::<u64>(), profile.instructions.total);
}

#[test]
fn without_uncoalesced_each_request_takes_the_fewest_transactions() {
    // Four loads of 16 sectors and a store of 4 per warp; 32 words of 4 bytes fit 4.
    let before = support::sum_of_fields(1 << 16, true);
    let warps = before.warps;
    assert_eq!(before.global[&SECTORS].t32, (4 * 16 + 4) * warps);
    let after = without("uncoalesced", before.clone());
    consistent(&after);
    let counts = after.global[&SECTORS];
    assert_eq!((counts.t32, counts.coalesced, counts.uncoalesced), (5 * 4 * warps, 5 * warps, 0));
    assert_eq!((counts.requests, after.instructions.total), (5 * warps, before.instructions.total));
    let lines = after.global[&CoalescingRule::Cc20];
    assert_eq!((lines.t128, lines.bytes_moved), (5 * warps, 5 * 128 * warps));
    // It makes the twin in arrays of it, transaction for transaction.
    let twin = support::sum_of_fields(1 << 16, false);
    assert_eq!((counts.t32, lines.t128), (twin.global[&SECTORS].t32, twin.global[&CoalescingRule::Cc20].t128));
}

#[test]
fn without_counts_of_distinct_bytes_those_asked_for_are_the_limit() {
    let mut profile = support::sum_of_fields(1 << 16, true);
    let all = profile.lines.iter_mut().map(|line| &mut line.memory).chain([&mut profile.global]);
    for counts in all.flat_map(|by_rule| by_rule.values_mut()) {
        (counts.ideal_t32, counts.ideal_t64, counts.ideal_t128) = (0, 0, 0);
    }
    let warps = profile.warps;
    let after = without("uncoalesced", profile);
    consistent(&after);
    // 128 of the 512 bytes that a load moves are asked for.
    assert_eq!(after.global[&SECTORS].t32, 5 * 4 * warps);
}

#[test]
fn without_bank_conflicts_wavefronts_are_the_fewest() {
    let after = without("bank-conflicts", support::tiled_product(256, [16, 8, 4]));
    for rule in BankRule::ALL {
        let counts = after.shared[&rule];
        assert_eq!(
            (counts.wavefronts, counts.passes, counts.conflicted),
            (counts.ideal_wavefronts, counts.requests, 0)
        );
    }
}

#[test]
fn without_divergence_full_warps_do_the_same_work() {
    let mut profile = support::empty("half", 100, 256, 16, 0);
    support::instructions(&mut profile, OpClass::Fp32, "add.f32", 100);
    support::instructions(&mut profile, OpClass::Control, "bra", 20);
    support::access(&mut profile, "ld.global.f32", 10, support::STREAM);
    // 16 of 32 lanes in every instruction.
    profile.thread_instructions = 16 * profile.instructions.total;
    profile.lines[0].threads = 16 * profile.lines[0].executed;
    profile.divergent_branches = 5;
    let (warps, sectors) = (profile.warps, profile.global[&SECTORS].t32);
    let after = without("divergence", profile);
    consistent(&after);
    assert_eq!(after.instructions.of_class(OpClass::Fp32), 50 * warps);
    assert_eq!(after.instructions.of_class(OpClass::Control), 10 * warps);
    assert_eq!(after.instructions.of_class(OpClass::Memory), 5 * warps);
    assert_eq!((after.global[&SECTORS].requests, after.global[&SECTORS].t32), (5 * warps, sectors));
    assert_eq!((after.mean_active_lanes(), after.divergent_branches), (32.0, 0));
    // Blocks of 48 threads have warps of 24 lanes on the average; that is no divergence.
    let mut parts = support::empty("parts", 100, 48, 16, 0);
    support::instructions(&mut parts, OpClass::Fp32, "add.f32", 100);
    parts.thread_instructions = 24 * parts.instructions.total;
    assert_eq!(without("divergence", parts.clone()), parts);
}

#[test]
fn without_repeated_loads_each_sector_is_loaded_once() {
    let profile = support::naive_product(256);
    let distinct = profile.distinct_sectors_read;
    let stored: u64 =
        profile.lines.iter().filter(|line| line.opcode.key.is_store()).map(|l| l.memory[&SECTORS].t32).sum();
    let instructions = profile.instructions.total;
    let after = without("repeated-loads", profile);
    consistent(&after);
    assert_eq!(after.global[&SECTORS].t32 - stored, distinct);
    assert_eq!((after.duplicate_loads[&SECTORS], after.instructions.total), (1.0, instructions));
}

#[test]
fn the_other_effects_take_one_count_each() {
    let product = support::tiled_product(256, [1; 3]);
    let after = without("synchronisation", product.clone());
    assert_eq!((after.barriers, after.instructions.total), (0, product.instructions.total));
    // 2 x 256 / 16 loads per warp.
    let after = without("dependence-latency", product);
    assert_eq!((after.independent_loads, after.independent_loads_program_order), (Some(32.0), Some(32.0)));
    let after = without("duplicate-merging", support::naive_product(256));
    assert!(after.duplicate_loads.values().all(|factor| *factor == 1.0));
}

#[test]
fn a_supposed_parameter_says_so_and_others_follow() {
    let mut subject = subject(support::vector_add(1 << 20), "h200");
    let before = ask(find("analyzer").unwrap(), &subject).unwrap();
    setting(alias("dram.bandwidth"), Change::Factor(2.0)).apply(&mut subject).unwrap();
    let after = ask(find("analyzer").unwrap(), &subject).unwrap();
    let read = |prediction: &Prediction, key: Key| {
        let read = prediction.parameters.iter().find(|read| read.key == key).cloned().unwrap();
        (
            read.basis,
            match read.value {
                Value::Number(number) => number,
                _ => panic!("{key} is no number"),
            },
        )
    };
    assert_eq!(read(&before, Key::DramAchievedBandwidth), (Basis::Measured, 3534e9));
    assert_eq!(read(&after, Key::DramAchievedBandwidth), (Basis::WhatIf, 2.0 * 3534e9));
    let delay = |prediction: &Prediction| read(prediction, Key::DramDepartureDelay32).1;
    assert!((delay(&before) / delay(&after) - 2.0).abs() < 1e-12);
    // The C1060 states its delays; they follow as well.
    let c1060 = support::machine("c1060");
    let stated = c1060.number(Key::DramDepartureDelay32).unwrap();
    let mut faster = self::subject(support::vector_add(1 << 20), "c1060");
    setting(Parameter::Machine(Key::DramPeakBandwidth), Change::Factor(4.0)).apply(&mut faster).unwrap();
    assert!((faster.machine.number(Key::DramDepartureDelay32).unwrap() - stated / 4.0).abs() < 1e-18);
    // A value takes the place of peak and achieved bandwidth.
    setting(alias("bandwidth"), Change::Value(1e12)).apply(&mut subject).unwrap();
    let number = |key| subject.machine.number(key);
    assert_eq!((number(Key::DramPeakBandwidth), number(Key::DramAchievedBandwidth)), (Some(1e12), Some(1e12)));
}

#[test]
fn without_memory_latency_only_the_distance_of_transactions_is_left() {
    let mut subject = subject(support::vector_add(1 << 20), "h200");
    Effect::find("memory-latency").unwrap().remove(&mut subject).unwrap();
    let latency = subject.machine.canonical(Key::DramLatency).unwrap();
    assert!((latency - 32.0 * 132.0 / 3534e9).abs() < 1e-15, "{latency}");
    let mut subject = self::subject(support::vector_add(1 << 20), "c1060");
    Effect::find("memory-bandwidth").unwrap().remove(&mut subject).unwrap();
    let delay = subject.machine.canonical(Key::DramDepartureDelay64).unwrap();
    assert!((delay * 1312e6 - 37e-6).abs() < 1e-12, "{delay}");
}

#[test]
fn a_clock_that_was_fitted_follows_the_clock() {
    let mut subject = subject(support::vector_add(1 << 20), "c1060");
    setting(alias("clock"), Change::Value(2e9)).apply(&mut subject).unwrap();
    assert_eq!(ask(find("analyzer").unwrap(), &subject).unwrap().clock.0, 2e9);
    let mut subject = self::subject(support::vector_add(1 << 20), "c1060");
    setting(alias("clock"), Change::Factor(2.0)).apply(&mut subject).unwrap();
    assert_eq!(ask(find("analyzer").unwrap(), &subject).unwrap().clock.0, 2.0 * 1312e6);
    subject.machine.asked_clock = Some(1e9);
    setting(alias("clock"), Change::Factor(0.5)).apply(&mut subject).unwrap();
    assert_eq!(ask(find("analyzer").unwrap(), &subject).unwrap().clock.0, 0.5e9);
}

#[test]
fn counts_are_set_per_warp() {
    let profile = || support::tiled_product(256, [16, 8, 4]);
    let warps = profile().warps as f64;
    let per_warp = |count: u64| count as f64 / warps;
    let total = per_warp(profile().instructions.total);
    let doubled = set(count("instructions"), Change::Factor(2.0), profile());
    assert_eq!(per_warp(doubled.instructions.total), 2.0 * total);
    assert_eq!(doubled.instructions.of_class(OpClass::Memory), profile().instructions.of_class(OpClass::Memory));
    let floats = set(count("instructions.fp32"), Change::Value(10.0), profile());
    assert_eq!(per_warp(floats.instructions.of_class(OpClass::Fp32)), 10.0);
    let requests = set(count("requests"), Change::Factor(0.5), profile());
    consistent(&requests);
    assert_eq!(requests.global[&SECTORS].t32 * 2, profile().global[&SECTORS].t32);
    let transactions = set(count("transactions"), Change::Value(8.0), profile());
    consistent(&transactions);
    assert_eq!(transactions.global[&SECTORS].t32, 8 * transactions.global[&SECTORS].requests);
    assert_eq!(per_warp(set(count("barriers"), Change::Value(3.0), profile()).barriers), 3.0);
    let conflicts = set(count("conflict_wavefronts"), Change::Value(5.0), profile()).shared[&BankRule::Cc20];
    assert_eq!(per_warp(conflicts.wavefronts - conflicts.ideal_wavefronts), 5.0);
    assert_eq!(set(count("independent_loads"), Change::Factor(2.0), profile()).independent_loads, Some(4.0));
    assert_eq!(set(count("duplicate_loads"), Change::Value(3.0), profile()).duplicate_loads[&SECTORS], 3.0);
    let sectors = set(count("distinct_sectors"), Change::Factor(0.5), profile());
    assert_eq!(2 * sectors.distinct_sectors_read, profile().distinct_sectors_read);
}

#[test]
fn what_cannot_be_is_refused() {
    let refusal = |parameter: Parameter, change: Change, profile: Profile| {
        setting(parameter, change).apply(&mut subject(profile, "h200")).unwrap_err().reason
    };
    let product = || support::tiled_product(256, [1; 3]);
    assert!(refusal(count("independent_loads"), Change::Factor(0.1), product()).contains("at least 1"));
    assert!(refusal(count("instructions"), Change::Value(1.0), product()).contains("which stay"));
    let alone = support::empty("nothing", 1, 32, 16, 0);
    assert!(refusal(count("requests"), Change::Value(1.0), alone.clone()).contains("no request"));
    assert!(
        refusal(count("conflict_wavefronts"), Change::Value(1.0), {
            let mut shared = product();
            shared.shared.values_mut().for_each(|counts| *counts = Default::default());
            shared
        })
        .contains("shared memory")
    );
    let machine = |key: Key, value: f64| refusal(Parameter::Machine(key), Change::Value(value), product());
    assert_eq!(machine(Key::SmCount, 0.0), "`sm.count` cannot be 0");
    assert_eq!(machine(Key::SmCount, 1.5), "`sm.count` is a whole number, not 1.5");
    assert_eq!(machine(Key::DramType, 1.0), "`dram.type` is not one number");
    let registers = LAUNCH_FIELDS.iter().find(|field| field.name == "registers").unwrap();
    assert!(refusal(Parameter::Launch(registers), Change::Value(300.0), product()).contains("between 1 and 255"));
}

/// Profiles that have every effect.
fn rich() -> Vec<Profile> {
    let mut divergent = support::sum_of_fields(1 << 16, true);
    support::instructions(&mut divergent, OpClass::Fp32, "add.f32", 5000);
    divergent.thread_instructions = 10 * divergent.instructions.total;
    for line in &mut divergent.lines {
        line.threads = 10 * line.executed;
    }
    let few_warps = {
        let mut profile = support::naive_product(512);
        profile.launch.registers = 60;
        support::independent(&mut profile, 1.0);
        profile
    };
    // A negation between two loads: too little computation to hide them.
    let of_loads = |transactions: f64| {
        let mut periods = luo_suda::periods(100, transactions);
        let negation = periods.kinds[0].computation.keys().next().map(|kind| CostKind { family: Family::Neg, ..*kind });
        periods.kinds[0].computation = negation.into_iter().map(|kind| (kind, 1)).collect();
        Some(periods)
    };
    divergent.statistics.periods = of_loads(32.0);
    // Every sector that is touched is another one, an eighth of it used.
    let mut scattered = support::sum_of_fields(1 << 20, true);
    scattered.distinct_sectors_read = 64 * scattered.warps;
    let mut coalesced = support::vector_add(1 << 20);
    coalesced.statistics.periods = of_loads(1.0);
    vec![
        coalesced,
        scattered,
        support::tiled_product(512, [16, 8, 8]),
        support::naive_product(256),
        support::sum_of_fields(1 << 20, true),
        support::vector_add(1 << 20),
        divergent,
        few_warps,
    ]
}

#[test]
fn models_have_the_effects_that_the_table_says() {
    let mut wrong = Vec::new();
    for effect in EFFECTS {
        // What the simulation leaves out, its own tests show: these profiles have no trace.
        for model in MODELS.iter().filter(|model| model.needs() != Needs::Trace) {
            let mut changed = 0;
            for (profile, gpu) in rich().iter().flat_map(|profile| support::JUDGED.map(|gpu| (profile, gpu))) {
                let before = subject(profile.clone(), gpu);
                let mut after = before.clone();
                effect.remove(&mut after).unwrap();
                if let (Some(before), Some(after)) = (ask(*model, &before), ask(*model, &after)) {
                    changed += usize::from((before.time.0 / after.time.0 - 1.0).abs() > 1e-6);
                }
            }
            let model = model.id();
            if (changed > 0) != effect.is_modelled_by(model) {
                wrong.push(format!("{} in {model}: {changed} changes", effect.name()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_factor_of_one_changes_nothing() {
    for (profile, gpu) in rich().iter().flat_map(|profile| support::JUDGED.map(|gpu| (profile, gpu))) {
        let as_is = subject(profile.clone(), gpu);
        let numbers = Key::ALL.iter().filter(|key| key.shape() == Shape::Number).map(|&key| Parameter::Machine(key));
        let fields = LAUNCH_FIELDS.iter().filter(|field| !field.runs_again).map(Parameter::Launch);
        let knobs = MODELS.iter().flat_map(|model| model.knobs()).map(Parameter::Knob);
        let all = numbers.chain(ALIASES.iter().map(Parameter::Alias)).chain(fields).chain(knobs);
        for parameter in all.chain(COUNTS.iter().map(Parameter::Count)) {
            let mut same = as_is.clone();
            // What the machine does not have cannot be scaled.
            if setting(parameter, Change::Factor(1.0)).apply(&mut same).is_err() {
                continue;
            }
            for model in MODELS {
                let (before, after) = (ask(*model, &as_is), ask(*model, &same));
                assert_eq!(before.is_some(), after.is_some(), "{} {gpu} {}", parameter.name(), model.name());
                let times = before.zip(after).map(|(before, after)| after.seconds().0 / before.seconds().0);
                assert!(
                    times.is_none_or(|ratio| (ratio - 1.0).abs() < 1e-9),
                    "{} {gpu} {}: {times:?}",
                    parameter.name(),
                    model.name()
                );
            }
        }
    }
}

/// What MWP-CWP's equations charge for more requests in flight, in seconds: the computation and the barriers that stand
/// between the requests of a group of warps, and where one of its cases gives way to the next, which do not meet, the
/// computation of a warp and a memory period. 0 for other models.
fn charged_for_overlap(before: &Prediction, after: &Prediction) -> f64 {
    let quantity = |answer: &Prediction, names: [&str; 2]| names.iter().find_map(|name| answer.quantity_called(name));
    let largest = |names| {
        let both = [before, after].map(|answer| quantity(answer, names).unwrap_or(0.0));
        both[0].max(both[1])
    };
    if before.quantity_called("Case").is_none() {
        return 0.0;
    }
    let in_flight = |answer: &Prediction| {
        let warps = quantity(answer, ["Active_warps_per_SM", "N"]).unwrap();
        answer.quantity_called("MWP").unwrap_or(warps).min(warps)
    };
    let computation = largest(["Compute_cycles", "Comp_cycles"]);
    let more = (in_flight(after) - in_flight(before)).max(0.0);
    let staggered = computation / largest(["warp_mem", "Mem_insts"]).max(1.0) * more;
    let same_case = before.quantity_called("Case") == after.quantity_called("Case");
    let jump = if same_case { 0.0 } else { computation + largest(["mem_latency_final", "Mem_L"]) };
    let barriers = |answer: &Prediction| answer.quantity_called("Synch_cost").unwrap_or(0.0);
    let barriers = (barriers(after) - barriers(before)).max(0.0);
    // Loads that merge beyond one transaction per request shorten the memory period by distances between transactions
    // that do not exist, which a faster memory gives back.
    if [before, after]
        .iter()
        .any(|answer| answer.quantity_called("num_trans_per_request").is_some_and(|number| number < 1.0))
    {
        return f64::INFINITY;
    }
    // The mean memory period may grow where the mix of transactions changes; each group of warps is charged all of them.
    let period = |answer: &Prediction| quantity(answer, ["mem_latency_final", "Mem_L"]).unwrap_or(0.0);
    let groups = quantity(after, ["Active_warps_per_SM", "N"]).unwrap() / in_flight(after).min(1.0);
    let longer = (period(after) - period(before)).max(0.0) * largest(["warp_mem", "Mem_insts"]).max(1.0) * groups;
    ((staggered + jump + longer) * largest(["Rep", "Rep"]) + barriers) / before.clock.0
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn no_model_is_slower_without_an_effect_that_costs_time(profile in any_profile()) {
        for gpu in support::JUDGED {
            let before = subject(profile.clone(), gpu);
            for effect in EFFECTS.iter().filter(|effect| !effect.saves_time) {
                let mut after = before.clone();
                effect.remove(&mut after).unwrap();
                for model in MODELS {
                    let (Some(before), Some(after)) = (ask(*model, &before), ask(*model, &after)) else { continue };
                    let allowed = charged_for_overlap(&before, &after);
                    prop_assert!(
                        after.seconds().0 <= before.seconds().0 * (1.0 + 1e-6) + allowed,
                        "{gpu} {} without {}: {:?} -> {:?}",
                        model.name(), effect.name(), before.seconds(), after.seconds()
                    );
                }
            }
        }
    }

    #[test]
    fn more_bandwidth_is_never_slower(profile in any_profile(), factor in 1.0f64..16.0) {
        for gpu in support::JUDGED {
            let before = subject(profile.clone(), gpu);
            let mut after = before.clone();
            setting(alias("dram.bandwidth"), Change::Factor(factor)).apply(&mut after).unwrap();
            for model in ["roofline", "analyzer"] {
                let model = find(model).unwrap();
                let (Some(old), Some(new)) = (ask(model, &before), ask(model, &after)) else { continue };
                let allowed = charged_for_overlap(&old, &new);
                let (model, old, new) = (model.name(), old.seconds().0, new.seconds().0);
                prop_assert!(new <= old * (1.0 + 1e-9) + allowed, "{gpu} {model} x {factor}: {old} -> {new}");
            }
        }
    }
}
