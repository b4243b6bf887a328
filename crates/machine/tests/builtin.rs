//! The machine files that ship: all load, and what the models need of them is there.

use warplens_machine::{Basis, Key, Machine, MachineRef, Reader, Selector, Shape, Strictness, Value, builtin, table};

fn machine(id: &str) -> Machine {
    match builtin::machine(id).expect("a built-in machine") {
        Ok(machine) => machine,
        Err(error) => panic!("{}", describe(&error)),
    }
}

fn describe(error: &warplens_machine::LoadError) -> String {
    let lines = warplens_base::LineIndex::new(&error.text);
    let messages = error.diagnostics.iter().map(|found| {
        let (line, column) = lines.line_column(found.primary.span.start);
        format!("{}.toml:{line}:{column}: {}", error.name, found.message)
    });
    messages.collect::<Vec<_>>().join("\n")
}

#[test]
fn every_file_loads() {
    let errors: Vec<String> = builtin::ids()
        .chain(builtin::designs())
        .filter_map(|id| builtin::machine(id).expect("listed").err())
        .map(|error| describe(&error))
        .collect();
    assert_eq!(errors, Vec::<String>::new());
}

#[test]
fn every_file_in_the_folder_is_built_in() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../machines");
    let mut missing = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder of machines") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        if path.extension().is_some_and(|extension| extension == "toml") && builtin::text(&name).is_none() {
            missing.push(name);
        }
    }
    assert_eq!(missing, Vec::<String>::new());
}

#[test]
fn boards_are_listed_oldest_first_and_designs_by_capability() {
    let boards: Vec<(Option<u16>, &str)> = builtin::ids().map(|id| (machine(id).year, id)).collect();
    assert!(boards.is_sorted(), "{boards:?}");
    assert!(builtin::designs().map(|id| machine(id).cc).is_sorted());
    assert!(builtin::designs().all(|id| machine(id).cc.target() == id));
}

#[test]
fn every_board_states_what_any_model_starts_from() {
    for id in builtin::ids() {
        let machine = machine(id);
        let mut reader = Reader::new(&machine, Strictness::Strict);
        for key in [
            Key::SmCount,
            Key::SmSubpartitions,
            Key::SmIssuePerClk,
            Key::ClockDefault,
            Key::LanesFp32,
            Key::LanesInt32Add,
            Key::LanesSfu,
            Key::LanesLdst,
            Key::LimitsMaxWarps,
            Key::LimitsMaxBlocks,
            Key::LimitsRegisters,
            Key::SharedBytes,
            Key::SharedBanks,
            Key::DramPeakBandwidth,
        ] {
            let value = reader.need(key).unwrap_or_else(|missing| panic!("{missing}"));
            assert!(value > 0.0, "{id} {key}");
        }
        assert!(machine.chip.is_some(), "{id} names its chip");
        assert!(machine.year.is_some_and(|year| (1990..2100).contains(&year)), "{id} says its year");
        assert_eq!(machine.facts[&Key::SmCount].stated_in, id);
    }
}

#[test]
fn the_memory_models_can_be_fed_on_every_board() {
    for id in builtin::ids() {
        let machine = machine(id);
        let mut reader = Reader::new(&machine, Strictness::AllowInferred);
        let bandwidth = reader.memory_bandwidth().unwrap_or_else(|missing| panic!("{missing}"));
        let peak = reader.need(Key::DramPeakBandwidth).expect("stated");
        assert!(bandwidth > 0.6 * peak && bandwidth <= peak, "{id}: {bandwidth} of {peak}");
        let latency = reader.need(Key::DramLatency).unwrap_or_else(|missing| panic!("{missing}"));
        assert!((200.0..1200.0).contains(&latency), "{id}: {latency} cycles");
        for key in [
            Key::DramDepartureDelay32,
            Key::DramDepartureDelay64,
            Key::DramDepartureDelay128,
            Key::DramDepartureDelayVector,
            Key::HongKimDepartureDelayCoalesced,
            Key::HongKimDepartureDelayUncoalesced,
        ] {
            let delay = reader.need(key).unwrap_or_else(|missing| panic!("{missing}"));
            assert!((0.5..100.0).contains(&delay), "{id} {key}: {delay}");
        }
    }
}

#[test]
fn numbers_of_the_papers() {
    let read = |id: &str, key: Key| {
        let machine = machine(id);
        Reader::new(&machine, Strictness::AllowInferred).need(key).unwrap_or_else(|missing| panic!("{missing}"))
    };
    // Hong and Kim, tables 3 and 6.
    for (id, sms, clock, bandwidth) in
        [("8800gtx", 16.0, 1.35e9, 86.4e9), ("fx5600", 16.0, 1.35e9, 76.8e9), ("8800gt", 14.0, 1.5e9, 57.6e9)]
    {
        assert_eq!(read(id, Key::SmCount), sms);
        assert_eq!(read(id, Key::ClockDefault), clock);
        assert_eq!(read(id, Key::DramPeakBandwidth), bandwidth);
        assert!((read(id, Key::DramLatency) - 420.0).abs() < 1e-9);
        assert!((read(id, Key::HongKimDepartureDelayUncoalesced) - 10.0).abs() < 1e-9);
        assert!((read(id, Key::HongKimDepartureDelayCoalesced) - 4.0).abs() < 1e-9);
    }
    // GTX 280, whose 1296 MHz the paper calls 1.3 GHz.
    for (key, cycles) in [
        (Key::DramLatency, 450.0),
        (Key::HongKimDepartureDelayUncoalesced, 40.0),
        (Key::HongKimDepartureDelayCoalesced, 4.0),
    ] {
        assert!((read("gtx280", key) - cycles).abs() < 1e-9);
    }
    // The X-model's latencies: delta x SMs x 128 B / R.
    for (id, cycles, mhz, delta, sms, bandwidth) in [
        ("gtx570", 918.0, 1464.0, 48.0, 15.0, 147e9),
        ("k40", 598.0, 876.0, 64.0, 15.0, 180e9),
        ("gtx750ti", 497.0, 1137.0, 56.0, 5.0, 82e9),
    ] {
        let exact: f64 = delta * sms * 128.0 / bandwidth * mhz * 1e6;
        assert!((exact - cycles).abs() < 1.0, "{id}: {exact}");
        let clock = read(id, Key::ClockDefault);
        assert!((read(id, Key::DramLatency) - cycles * clock / (mhz * 1e6)).abs() < 1e-6);
        assert_eq!(read(id, Key::DramAchievedBandwidth), bandwidth);
    }
}

#[test]
fn the_tuned_clock_of_the_c1060_brings_its_tuned_cycles() {
    let c1060 = machine("c1060");
    let mut reader = Reader::new(&c1060, Strictness::Strict);
    assert_eq!(reader.tune_clock(Key::AnalyzerClock).expect("stated"), 1.312e9);
    let cycles: Vec<f64> = [
        Key::DramLatency,
        Key::DramDepartureDelay32,
        Key::DramDepartureDelay64,
        Key::DramDepartureDelay128,
        Key::DramDepartureDelayVector,
    ]
    .into_iter()
    .map(|key| reader.need(key).expect("stated"))
    .collect();
    for (read, paper) in cycles.iter().zip([450.0, 37.0, 37.0, 58.0, 57.0]) {
        assert!((read - paper).abs() < 1e-9, "{read} for {paper}");
    }
    // Asked about at another clock, the machine keeps the times and changes the cycles.
    let slow = machine("c1060").at_clock(656e6);
    let mut reader = Reader::new(&slow, Strictness::Strict);
    assert_eq!(reader.tune_clock(Key::AnalyzerClock).expect("given"), 656e6);
    assert!((reader.need(Key::DramLatency).expect("stated") - 225.0).abs() < 1e-9);
    assert_eq!(reader.readings().parameters[0].basis, Basis::Given);
}

#[test]
fn derivations_by_hand() {
    let derive = |id: &str, key: Key| {
        let machine = machine(id);
        let mut reader = Reader::new(&machine, Strictness::AllowInferred);
        let value = reader.need(key).unwrap_or_else(|missing| panic!("{missing}"));
        (value, reader.finish())
    };
    // 32 B x 132 SMs x 1.98 GHz / 3534 GB/s = 2.36658 cycles.
    let (delay, readings) = derive("h200", Key::DramDepartureDelay32);
    assert!((delay - 2.366_579).abs() < 1e-5, "{delay}");
    assert_eq!(
        readings.assumptions,
        ["dram.departure_delay_32: departure delay = 32 B x SMs x clock / achieved bandwidth"]
    );
    let read: Vec<(Key, Basis)> = readings.parameters.iter().map(|read| (read.key, read.basis)).collect();
    assert_eq!(
        read,
        [
            (Key::SmCount, Basis::Recalled),
            (Key::DramAchievedBandwidth, Basis::Measured),
            (Key::ClockBoost, Basis::Recalled),
            (Key::DramDepartureDelay32, Basis::Inferred)
        ]
    );
    // Compute capability 1.x uses the peak: 128 B x 30 SMs x 1.296 GHz / 141.7 GB/s = 35.1210 cycles.
    assert!((derive("gtx280", Key::DramDepartureDelay128).0 - 35.121_01).abs() < 1e-4);
    // 3352 GB/s x 1832 / 2039 = 3011.70 GB/s.
    assert!((derive("h100-sxm", Key::DramAchievedBandwidth).0 / 1e9 - 3011.704).abs() < 1e-2);
    // 265.5 cycles to the L2 cache stay; the other 391.5 of 657 at 1755 MHz are 223.1 ns, 441.7 cycles at 1980 MHz.
    let (latency, readings) = derive("h100-sxm", Key::DramLatency);
    assert!((latency - 707.192).abs() < 1e-2, "{latency}");
    assert_eq!(
        readings.assumptions,
        ["dram.latency: 266 cycles to the L2 cache and 223.1 ns beyond it, as on H100 PCIe 80GB"]
    );
    // The GTX 260's costs hold for its chip.
    assert_eq!(derive("c1060", Key::LuoSudaAddIntReg).0, 65.0);
    assert_eq!(derive("gtx280", Key::LuoSudaD).0, 80.0);
}

#[test]
fn strict_mode_refuses_what_is_derived() {
    let refuse = |id: &str, key: Key| {
        let machine = machine(id);
        let missing = Reader::new(&machine, Strictness::Strict).need(key).expect_err("nothing of its own");
        assert_eq!(missing.key, key);
        missing.to_string()
    };
    assert_eq!(
        refuse("h100-sxm", Key::DramLatency),
        "h100-sxm has no value for dram.latency: it could only be derived (266 cycles to the L2 cache and 223.1 ns \
         beyond it, as on H100 PCIe 80GB), which strict mode refuses"
    );
    assert!(refuse("k40", Key::DramLatency).contains("its value is inferred (X-model table II"));
    // The GTX 280 was measured, the other boards of its chip were not.
    for id in ["gtx260", "c1060"] {
        assert!(refuse(id, Key::HongKimDepartureDelayUncoalesced).contains("the value of the GTX 280"));
    }
    assert!(refuse("gtx260", Key::DramLatency).contains("the value of the GTX 280"));
    let k40 = machine("k40");
    assert_eq!(Reader::new(&k40, Strictness::Strict).need(Key::DramAchievedBandwidth), Ok(180e9));
}

#[test]
fn what_no_rule_gives_is_refused_by_name() {
    let refuse = |id: &str, key: Key| {
        let machine = machine(id);
        Reader::new(&machine, Strictness::AllowInferred).need(key).expect_err("no rule").to_string()
    };
    assert_eq!(
        refuse("gtx480", Key::LuoSudaA),
        "gtx480 has no value for luo_suda.a: the MPD/CPD model is not calibrated for this chip"
    );
    assert_eq!(
        refuse("sm_90", Key::DramLatency),
        "sm_90 has no value for dram.latency: a description of an SM design has no board around it; name a GPU"
    );
    assert!(
        refuse("v100-pcie", Key::LanesTensorFp64)
            .ends_with("the machine file does not state it, and no rule derives it")
    );
}

#[test]
fn clocks_rescale_only_what_lies_outside_the_sm() {
    let at = |mhz: f64, key: Key| {
        let machine = machine("a100-80").at_clock(mhz * 1e6);
        Reader::new(&machine, Strictness::Strict).need(key).expect("stated")
    };
    assert!((at(1410.0, Key::DramLatency) - 571.0).abs() < 1e-9);
    assert!((at(705.0, Key::DramLatency) - 285.5).abs() < 1e-9);
    assert_eq!(at(705.0, Key::LatencyL1), at(1410.0, Key::LatencyL1));
    assert_eq!(at(705.0, Key::ClockDefault), 705e6);
}

#[test]
fn names_find_their_machines() {
    for (name, id) in [
        ("h200", "h200"),
        ("H200", "h200"),
        ("v100_pcie", "v100-pcie"),
        ("V100", "v100-pcie"),
        ("a100", "a100-80"),
        ("a100_40", "a100-40"),
        ("h100", "h100-sxm"),
        ("Tesla K40", "k40"),
        ("NVIDIA GeForce RTX 3090", "rtx3090"),
        ("NVIDIA GeForce RTX 3080", "rtx3080"),
        ("GTX 280", "gtx280"),
        ("A100 SXM4 80GB", "a100-80"),
        ("NVIDIA A100-SXM4-40GB", "a100-40"),
        ("Tesla V100-SXM2-16GB", "v100-sxm2"),
        ("NVIDIA H100 80GB HBM3", "h100-sxm"),
        ("Quadro FX 5600", "fx5600"),
        ("RTX A6000", "a6000"),
    ] {
        assert_eq!(builtin::find(name).map_err(|error| error.to_string()), Ok(id), "{name}");
    }
    assert_eq!(
        builtin::find("h2000").expect_err("no such machine").to_string(),
        "unknown GPU `h2000`; did you mean `h200`?"
    );
    assert_eq!(builtin::find("rtx-4080").expect_err("no such machine").suggestion.as_deref(), Some("rtx4090"));
    assert_eq!(
        builtin::find("qwertyuiopasdf").expect_err("no such machine").to_string(),
        "unknown GPU `qwertyuiopasdf`"
    );
}

#[test]
fn boards_of_one_chip_differ_in_what_is_sold() {
    let of = |id: &str, key: Key| machine(id).canonical(key).unwrap_or_else(|missing| panic!("{missing}"));
    let larger = [Key::SmCount, Key::L2Size, Key::DramPeakBandwidth];
    assert!(larger.iter().all(|&key| of("rtx3080", key) < of("rtx3090", key)));
    assert_eq!(larger.map(|key| of("rtx3080", key)), [68.0, 5.0 * 1024.0 * 1024.0, 760e9]);
    assert_eq!([Key::ClockBase, Key::ClockDefault].map(|key| of("rtx3080", key)), [1440e6, 1710e6]);
    assert_eq!(of("rtx3080", Key::LimitsMaxWarps), of("rtx3090", Key::LimitsMaxWarps));
}

#[test]
fn references_select() {
    let select = |text: &str| builtin::select(&MachineRef::parse(text).expect("a reference"));
    assert_eq!(select("all").expect("all").len(), 32);
    assert_eq!(select("sm_90").expect("boards"), ["h100-pcie", "h100-sxm", "h200"]);
    assert_eq!(select("k40").expect("a board"), ["k40"]);
    assert!(select("sm_52").is_err(), "no board of this target ships");
    let reference = MachineRef::parse("h200@1500").expect("a reference");
    assert_eq!(reference, MachineRef { selector: Selector::Name("h200".into()), clock: Some(1.5e9) });
    assert_eq!(MachineRef::parse("my/gpu.toml@900MHz").expect("a file").selector, Selector::File("my/gpu.toml".into()));
    for bad in ["", "h200@", "h200@fast", "h200@-3", "h200@0", "@1500"] {
        assert!(MachineRef::parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn identifiers_and_aliases_are_unique() {
    let mut seen = std::collections::BTreeMap::new();
    for id in builtin::ids() {
        let machine = machine(id);
        let names = machine.aliases.iter().chain([&machine.id, &machine.name]);
        for name in names {
            assert_eq!(builtin::find(name), Ok(id), "{name}");
            if let Some(other) = seen.insert(name.clone(), id) {
                assert_eq!(other, id, "{name} names two machines");
            }
        }
    }
}

#[test]
fn rows_tell_known_derived_and_unknown_apart() {
    let h200 = machine("h200");
    let rows = table::show(&h200, Strictness::AllowInferred);
    assert_eq!(rows.len(), Key::ALL.len());
    let row = |key: Key| rows.iter().find(|row| row.key == key).expect("every key has a row");
    assert_eq!(row(Key::SmCount).value, Value::Number(132.0));
    assert_eq!(row(Key::LatencyL2).basis, Some(Basis::Measured));
    let h100 = machine("h100-sxm");
    let of_sibling = table::show(&h100, Strictness::AllowInferred);
    let latency = of_sibling.iter().find(|row| row.key == Key::LatencyL2).expect("every key has a row");
    assert_eq!(latency.basis, Some(Basis::Inferred));
    assert!((latency.nanoseconds.expect("a duration") - 134.091).abs() < 1e-2);
    assert_eq!(row(Key::ClockDefault).value, Value::Number(1.98e9));
    let operand = row(Key::LatencySharedOperand);
    assert_eq!((&operand.value, operand.basis), (&Value::Unknown, None));
    assert!(matches!(&row(Key::SharedConfigurable).value, Value::List(sizes) if sizes.len() == 10));
    let strict = table::show(&h100, Strictness::Strict);
    assert_eq!(strict.iter().find(|row| row.key == Key::LatencyL2).expect("a row").value, Value::Unknown);
}

#[test]
fn differences_have_ratios() {
    let (old, new) = (machine("a100-40"), machine("a100-80"));
    let differences = table::diff(&old, &new, Strictness::Strict);
    let peak = differences.iter().find(|found| found.key == Key::DramPeakBandwidth).expect("they differ");
    assert!((peak.ratio.expect("numbers") - 2039.0 / 1555.0).abs() < 1e-12);
    assert!(differences.iter().all(|found| found.key != Key::SmCount));
    assert_eq!(table::diff(&new, &new, Strictness::AllowInferred), []);
}

#[test]
fn lists_are_about_the_same_board_everywhere() {
    for machine in builtin::all().expect("all load") {
        let entry = table::entry(&machine);
        assert_eq!(Some(entry.target.as_str()), Some(machine.cc.target()).as_deref());
        assert!(entry.clock.is_some() && entry.sms.is_some() && entry.peak_bandwidth.is_some(), "{}", machine.id);
    }
}

#[test]
fn the_parameter_table_is_consistent() {
    let mut names: Vec<&str> = Key::ALL.iter().map(|key| key.name()).collect();
    assert!(Key::ALL.iter().all(|&key| Key::from_name(key.name()) == Some(key)));
    assert!(Key::ALL.iter().all(|key| key.doc().ends_with('.') && key.name().contains('.')));
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Key::ALL.len());
    assert_eq!(Key::DramLatency.json_name(), "dram.latency_cycles");
    assert_eq!(Key::L1LineBytes.json_name(), "l1.line_bytes");
    assert_eq!(Key::SharedBytes.json_name(), "shared.bytes");
    assert_eq!(Key::SharedConfigurable.shape(), Shape::List);
}
