//! Users' machine files: inheritance, units, and errors that point at the place.

use proptest::prelude::*;
use warplens_base::LineIndex;
use warplens_machine::{Basis, Key, LoadError, Machine, MachineRef, Reader, Strictness, Value, builtin, load, manual};

fn resolve(name: &str) -> Option<String> {
    let own = match name {
        "parent" => {
            "cc = \"9.0\"\nname = \"Parent\"\nsiblings = [\"other\"]\n[sm]\ncount = { value = 4, basis = \"vendor\", source = \"x\" }\n"
        }
        "other" => "cc = \"9.0\"\n",
        "loop" => "inherits = \"loop\"\n",
        "broken" => "cc = 9\n",
        _ => return builtin::text(name).map(str::to_owned),
    };
    Some(own.to_owned())
}

fn read(text: &str) -> Result<Machine, LoadError> {
    load("mine", text, &resolve)
}

/// What is wrong with a file: line, column, code, message and help of each finding.
fn complaints(text: &str) -> Vec<String> {
    let error = read(text).expect_err("the file is wrong");
    assert_eq!(error.text, resolve(&error.name).unwrap_or(text.to_owned()));
    let lines = LineIndex::new(&error.text);
    let describe = |found: &warplens_base::Diagnostic| {
        let (line, column) = lines.line_column(found.primary.span.start);
        let help = found.help.as_ref().map_or(String::new(), |help| format!(" ({help})"));
        format!("{line}:{column} {} {}{help}", found.code, found.message)
    };
    error.diagnostics.iter().map(describe).collect()
}

#[test]
fn deep_files_are_findings() {
    let deep = [
        format!("cc = {}", "[".repeat(100_000)),
        format!("{} = 1", ["sm"; 100_000].join(".")),
        format!("[{}]", ["sm"; 100_000].join(".")),
    ];
    for text in deep {
        let found = complaints(&text);
        assert!(found.len() == 1 && found[0].contains("recurs"), "{found:?}");
    }
}

#[test]
fn a_file_inherits_and_overrides() {
    let text = "
inherits = \"h200\"
name = \"H200 with half the SMs\"
[sources]
me = \"my own measurement\"
[sm]
count = { value = 66, basis = \"measured\", source = \"me\" }
[dram]
basis = \"measured\"
source = \"me\"
achieved_bandwidth = { value = 3.1, unit = \"TB/s\" }
latency = { value = 350, unit = \"ns\", note = \"idle\" }
";
    let machine = read(text).expect("a good file");
    assert_eq!((machine.id.as_str(), machine.cc.target().as_str()), ("mine", "sm_90"));
    assert_eq!(machine.chip.as_deref(), Some("GH100"));
    assert_eq!(machine.siblings.len(), 2);
    assert!(machine.aliases.is_empty(), "the names of the parent stay with the parent");
    let fact = machine.fact(Key::SmCount).expect("stated");
    assert_eq!((fact.number(), fact.source.as_str()), (Some(66.0), "my own measurement"));
    assert_eq!(machine.facts[&Key::DramPeakBandwidth].stated_in, "h200");
    assert_eq!(machine.facts[&Key::LanesFp32].stated_in, "sm_90");
    let mut reader = Reader::new(&machine, Strictness::Strict);
    assert!((reader.need(Key::DramLatency).expect("stated") - 693.0).abs() < 1e-9);
    assert_eq!(reader.need(Key::DramAchievedBandwidth), Ok(3.1e12));
    assert_eq!(machine.facts[&Key::DramLatency].note.as_deref(), Some("idle"));
}

#[test]
fn unknown_hides_what_was_inherited() {
    let machine = read("inherits = \"a100-80\"\nsiblings = []\n[dram]\nlatency = \"unknown\"\n").expect("a good file");
    assert_eq!(machine.facts[&Key::DramLatency].value, Value::Unknown);
    let missing = Reader::new(&machine, Strictness::AllowInferred).need(Key::DramLatency).expect_err("unknown");
    assert_eq!(
        missing.to_string(),
        "mine has no value for dram.latency: it was measured neither here nor on a sibling"
    );
}

#[test]
fn siblings_are_inherited_by_name() {
    let machine = read("inherits = \"parent\"\n").expect("a good file");
    assert_eq!(machine.siblings.iter().map(|sibling| sibling.id.as_str()).collect::<Vec<_>>(), ["other"]);
    assert_eq!(machine.name, "Parent");
}

#[test]
fn errors_point_at_the_place() {
    let mut wrong = Vec::new();
    for (text, expected) in [
        ("cc = \"9.0\"\n[dram\n", "2:6 M001 unclosed table, expected `]`"),
        ("cc = 9\n", "1:6 M002 expected a compute capability such as \"9.0\""),
        ("cc = \"9.0\"\n[drum]\n", "2:2 M003 unknown group `drum` (did you mean `dram`?)"),
        ("cc = \"9.0\"\n[dram]\nlatncy = 3\n", "3:1 M003 unknown parameter `latncy` (did you mean `latency`?)"),
        (
            "cc = \"9.0\"\n[dram]\ndeparture_delay_coalesced = \"unknown\"\n",
            "3:1 M003 `dram.departure_delay_coalesced` is called `hong_kim.departure_delay_coalesced` now (state it as `departure_delay_coalesced` in `[hong_kim]`)",
        ),
        (
            "cc = \"9.0\"\n[sm]\ncount = { value = 3, basis = \"vendor\", source = \"x\", unti = \"B\" }\n",
            "3:54 M003 unknown field `unti` (did you mean `unit`?)",
        ),
        ("cc = \"9.0\"\n[sm]\ncount = \"three\"\n", "3:9 M002 expected a number, 0 or above"),
        (
            "cc = \"9.0\"\n[sm]\nsource = \"x\"\nbasis = \"vendor\"\ncount = -3\n",
            "5:9 M002 expected a number, 0 or above",
        ),
        (
            "cc = \"9.0\"\n[sm]\nsource = \"x\"\nbasis = \"vendor\"\ncount = inf\n",
            "5:9 M002 expected a number, 0 or above",
        ),
        (
            "cc = \"9.0\"\n[sm]\nsource = \"x\"\nbasis = \"guessed\"\ncount = 3\n",
            "4:9 M002 expected one of vendor, measured, fitted, compiler, simulator, simulated, recalled, inferred",
        ),
        ("cc = \"9.0\"\n[sm]\nsource = \"x\"\ncount = 3\n", "4:9 M006 `sm.count` has no basis"),
        ("cc = \"9.0\"\n[sm]\nbasis = \"vendor\"\ncount = 3\n", "4:9 M006 `sm.count` has no source"),
        (
            "cc = \"9.0\"\n[l2]\nbasis = \"vendor\"\nsource = \"x\"\nsize = 3\n",
            "5:8 M005 `l2.size` needs a unit: B, KiB, MiB, GiB",
        ),
        (
            "cc = \"9.0\"\n[l2]\nbasis = \"vendor\"\nsource = \"x\"\nsize = { value = 3, unit = \"MHz\" }\n",
            "5:28 M005 not a unit of `l2.size`; it is stated in B, KiB, MiB, GiB",
        ),
        (
            "cc = \"9.0\"\n[dram]\nbasis = \"vendor\"\nsource = \"x\"\nlatency = { value = 3, unit = \"cycles\" }\n",
            "5:31 M005 cycles of `dram.latency` need the clock: at = \"1380 MHz\"",
        ),
        (
            "cc = \"9.0\"\n[limits]\nbasis = \"vendor\"\nsource = \"x\"\nreg_alloc_scope = \"thread\"\n",
            "5:19 M002 expected one of warp, block",
        ),
        (
            "cc = \"9.0\"\n[shared]\nbasis = \"vendor\"\nsource = \"x\"\nconfigurable = { value = [8, 4], unit = \"KiB\" }\n",
            "5:26 M002 expected a list of numbers in ascending order",
        ),
        (
            "cc = \"9.0\"\n[expansion]\nbasis = \"vendor\"\nsource = \"x\"\ndiv_u32 = { sfus = 3 }\n",
            "5:13 M003 unknown lane kind `sfus` (did you mean `sfu`?)",
        ),
        ("[sm]\ncount = \"unknown\"\n", "1:1 M007 no `cc` (compute capability), and nothing to inherit it from"),
        ("inherits = \"h2000\"\n", "1:12 M008 unknown machine `h2000` to inherit from (did you mean `h200`?)"),
        ("inherits = \"loop\"\n", "1:12 M008 `loop` inherits from itself"),
        ("inherits = \"broken\"\n", "1:6 M002 expected a compute capability such as \"9.0\""),
        ("cc = \"9.0\"\nsiblings = [\"nobody\"]\n", "2:13 M009 unknown sibling `nobody`"),
        (
            "inherits = \"h200\"\n[dram]\nbasis = \"vendor\"\nsource = \"x\"\npeak_bandwidth = { value = 4000, unit = \"GB/s\" }\n",
            "5:18 M010 `dram.peak_bandwidth` is not bus width x transfer rate = 4800.0 GB/s",
        ),
        (
            "inherits = \"h200\"\n[limits]\nbasis = \"vendor\"\nsource = \"x\"\nmax_warps = 48\n",
            "1:1 M010 resident threads are not 32 x resident warps",
        ),
        (
            "inherits = \"h200\"\n[sm]\nbasis = \"vendor\"\nsource = \"x\"\ncount = 1.5\n",
            "5:9 M010 `sm.count` is not a whole number",
        ),
        ("inherits = \"h200\"\n[sm]\nbasis = \"vendor\"\nsource = \"x\"\ncount = 0\n", "5:9 M010 `sm.count` is 0"),
        (
            "inherits = \"h200\"\n[dram]\nbasis = \"vendor\"\nsource = \"x\"\nachieved_bandwidth = { value = 5, unit = \"TB/s\" }\n",
            "5:22 M010 `dram.achieved_bandwidth` is above `dram.peak_bandwidth`",
        ),
        (
            "inherits = \"h200\"\n[shared]\nbasis = \"vendor\"\nsource = \"x\"\nconfigurable = { value = [1, 2], unit = \"KiB\" }\n",
            "5:16 M010 the largest of `shared.configurable` is not `shared.bytes`",
        ),
        (
            "inherits = \"h200\"\n[l2]\nbasis = \"vendor\"\nsource = \"x\"\nsize = { value = 1000000000000, unit = \"KiB\" }\n",
            "5:18 M010 `l2.size` is at most 1099511627776 B, not 1024000000000000 B",
        ),
        (
            "inherits = \"h200\"\n[sm]\nbasis = \"vendor\"\nsource = \"x\"\ncount = 1000000\n",
            "5:9 M010 `sm.count` is at most 65536, not 1000000",
        ),
        (
            "inherits = \"h200\"\n[expansion]\nbasis = \"vendor\"\nsource = \"x\"\ndiv_u32 = { int32_add = 1e9 }\n",
            "5:25 M010 `expansion.div_u32` is at most 4096, not 1000000000",
        ),
        (
            "inherits = \"h200\"\n[shared]\nbasis = \"vendor\"\nsource = \"x\"\nconfigurable = { value = [1, 2e9], unit = \"KiB\" }\n",
            "5:26 M010 `shared.configurable` is at most 67108864 B, not 2048000000000 B",
        ),
        (
            "inherits = \"h200\"\n[dram]\nbasis = \"vendor\"\nsource = \"x\"\nlatency = { value = 1e-18, unit = \"s\" }\n",
            "5:21 M010 `dram.latency` is at least 0.000000000000001 s, not 0.000000000000000001 s",
        ),
    ] {
        if !complaints(text).contains(&expected.to_owned()) {
            wrong.push(format!("{text}expected {expected}\nfound {:#?}", complaints(text)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn all_findings_come_at_once() {
    let found = complaints("cc = \"9.0\"\n[sm]\ncuont = 3\n[dram]\nlatency = 5\n[nothing]\n");
    assert_eq!(found.len(), 3, "{found:#?}");
}

#[test]
fn the_manual_names_every_machine_and_parameter() {
    let page = manual::machines().expect("all machines load");
    for id in builtin::ids() {
        assert!(page.contains(&format!("| `{id}` |")), "{id}");
    }
    assert!(Key::ALL.iter().all(|key| page.contains(&format!("| `{key}` |"))));
    assert!(page.contains("| `h200` | H200 SXM 141GB | sm_90 | 132 | 1980 | 4800.0 | 3534 | 344 |"));
    // What a rule derives is slanted.
    assert!(page.contains("| `h100-sxm` | H100 SXM5 80GB | sm_90 | 132 | 1980 | 3352.0 | *3012* | *357* |"));
}

proptest! {
    #[test]
    fn no_text_makes_the_loader_panic(text in "(?s).{0,200}") {
        let _ = read(&text);
    }

    #[test]
    fn no_machine_like_text_makes_the_loader_panic(
        lines in proptest::collection::vec(
            prop_oneof![
                Just("cc = \"9.0\"".to_owned()),
                Just("inherits = \"h200\"".to_owned()),
                Just("[dram]".to_owned()),
                Just("[sm]".to_owned()),
                Just("source = \"x\"".to_owned()),
                Just("basis = \"vendor\"".to_owned()),
                ("[a-z_]{1,8}", "[0-9e.+-]{1,12}").prop_map(|(field, value)| format!("{field} = {value}")),
                ("(latency|count|peak_bandwidth)", "[0-9]{1,300}", "(cycles|ns|GB/s|)")
                    .prop_map(|(field, value, unit)| format!("{field} = {{ value = {value}, unit = \"{unit}\" }}")),
            ],
            0..12,
        )
    ) {
        let _ = read(&lines.join("\n"));
    }

    #[test]
    fn no_name_makes_the_parser_panic(text in "(?s).{0,40}") {
        if let Ok(reference) = MachineRef::parse(&text) {
            let _ = builtin::select(&reference);
        }
    }

    #[test]
    fn times_stay_and_cycles_follow_the_clock(mhz in 100.0..4000.0_f64, cycles in 1.0..2000.0_f64, asked in 100.0..4000.0_f64) {
        let text = format!(
            "cc = \"9.0\"\n[dram]\nlatency = {{ value = {cycles}, unit = \"cycles\", at = \"{mhz} MHz\", basis = \"measured\", source = \"x\" }}\n"
        );
        let machine = read(&text).expect("a good file").at_clock(asked * 1e6);
        let read = Reader::new(&machine, Strictness::Strict).need(Key::DramLatency).expect("stated");
        prop_assert!((read / (cycles * asked / mhz) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn departure_delay_is_proportional_to_size_and_clock(index in 0..builtin::ids().count(), mhz in 100.0..4000.0_f64) {
        let id = builtin::ids().nth(index).expect("there are so many");
        let machine = builtin::machine(id).expect("listed").expect("it loads").at_clock(mhz * 1e6);
        let mut reader = Reader::new(&machine, Strictness::AllowInferred);
        if machine.number(Key::DramDepartureDelay32).is_none() {
            let small = reader.need(Key::DramDepartureDelay32).expect("derived");
            let large = reader.need(Key::DramDepartureDelay128).expect("derived");
            prop_assert!((large / small - 4.0).abs() < 1e-9);
            // At this distance the SMs together draw exactly the bandwidth.
            let sms = reader.need(Key::SmCount).expect("stated");
            let drawn = 32.0 / small * mhz * 1e6 * sms;
            prop_assert!((drawn / reader.memory_bandwidth().expect("known") - 1.0).abs() < 1e-9);
            let kept = reader.readings().parameters.iter().filter(|read| read.key == Key::DramDepartureDelay32);
            prop_assert_eq!(kept.map(|read| read.basis).collect::<Vec<_>>(), vec![Basis::Inferred]);
        }
    }
}
