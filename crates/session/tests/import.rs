//! Profiles from profilers: the samples, mistakes in them, and bytes that nobody would write.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use warplens_session::profile::{BankRule, CoalescingRule, Count, Counted, OpClass};
use warplens_session::{Error, Input, InputKind, Measurement, import};

fn sample(name: &str) -> Vec<u8> {
    std::fs::read(samples().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/profiles")
}

fn read(name: &str, bytes: Vec<u8>) -> Result<Vec<Measurement>, Error> {
    import::read(&Input::new(name, Some(PathBuf::from(name)), bytes)?)
}

fn text(name: &str) -> String {
    String::from_utf8(sample(name)).expect("the sample can be read")
}

/// The message and the help of the error for an edited sample.
fn message(name: &str, from: &str, to: &str) -> String {
    let text = text(name);
    assert!(text.contains(from), "{name} holds {from}");
    let error = read(name, text.replacen(from, to, 1).into_bytes()).expect_err("the file is wrong");
    match error.help {
        Some(help) => format!("{}; {help}", error.message),
        None => error.message,
    }
}

#[test]
fn deep_documents_are_findings() {
    for (open, what) in [("[", "a list"), ("{\"a\":", "an object")] {
        let text = format!("{{\"schema\": \"warplens.profile/1\", \"deep\": {}", open.repeat(100_000));
        let error = read("deep.json", text.into_bytes()).expect_err(what);
        assert!(error.message.contains("recursion limit"), "{what}: {}", error.message);
    }
}

#[test]
fn counts_that_no_launch_makes_are_refused() {
    let huge = "99999999999999999999";
    let error = message("nsight-details.csv", "524,288", huge);
    assert_eq!(error, "nsight-details.csv: instructions.total: 18446744073709551615 is more than 72057594037927936");
    let error = message("visual-profiler.csv", "3232,0,151200,12800", &format!("3232,0,151200,{huge}"));
    assert!(error.contains("is more than 72057594037927936"), "{error}");
    // Many that are large together.
    let opcodes = text("nsight-raw.csv").replace("524,288", "9,000,000,000,000,000,000");
    let error = read("raw.csv", opcodes.into_bytes()).expect_err("together they are too many");
    assert!(error.message.contains("is more than 72057594037927936"), "{}", error.message);
}

#[test]
fn kinds_are_told_from_content() {
    let kind = |name: &str, file: &str| Input::new(file, None, sample(name)).unwrap().kind;
    assert_eq!(kind("visual-profiler.csv", "a"), InputKind::VisualProfilerLog);
    assert_eq!(kind("visual-profiler.log", "a.txt"), InputKind::VisualProfilerLog);
    assert_eq!(kind("nsight-raw.csv", "a"), InputKind::NsightCsv);
    assert_eq!(kind("nsight-details.csv", "a"), InputKind::NsightCsv);
    assert_eq!(kind("nsight.ncu-rep", "a"), InputKind::NsightReport);
    let marked = [&b"\xef\xbb\xbf"[..], &sample("nsight-details.csv")].concat();
    assert_eq!(Input::new("a", None, marked).unwrap().kind, InputKind::NsightCsv);
}

#[test]
fn counters_of_one_sm_and_one_tpc_become_those_of_the_launch() {
    let launches = read("v.csv", sample("visual-profiler.csv")).unwrap();
    let names: Vec<&str> = launches.iter().map(|launch| launch.kernel.base()).collect();
    assert_eq!(names, ["load_32", "load_64", "load_128", "load_scalar"]);
    let profile = &launches[0].profile;
    // Tables 4 and 8 of the thesis, per warp.
    assert_eq!((profile.warps, profile.per_warp(profile.instructions.total)), (960, 4725.0));
    assert_eq!((profile.launch.registers, profile.launch.shared_bytes), (16, 32));
    let global = &profile.global[&CoalescingRule::Cc12];
    assert_eq!((profile.per_warp(global.loads), profile.per_warp(global.stores)), (400.0, 1.0));
    assert_eq!((profile.per_warp(global.t32), profile.per_warp(global.t64), global.t128), (800.0, 2.0, 0));
    assert_eq!(profile.counted, Counted::Machine);
    assert_eq!((profile.coverage.ctas_executed, profile.coverage.ctas_total), (4, 120));
    assert!(
        !profile.has(Count::Barriers) && !profile.has(Count::SharedWavefronts) && profile.has(Count::LocalRequests)
    );
    let measured = launches[0].measured.as_ref().unwrap();
    assert_eq!((measured.time_us, measured.device.as_deref()), (724.3, Some("Tesla C1060")));
}

#[test]
fn pairs_say_the_same_as_columns() {
    let [launch] = read("v.log", sample("visual-profiler.log")).unwrap().try_into().unwrap();
    let profile = &launch.profile;
    // 2184 of 32768 warps ran on the SM.
    let scaled = |count: f64| (count * 32768.0 / 2184.0).round() as u64;
    assert_eq!(profile.instructions.total, scaled(2184.0 * 17.0));
    let global = &profile.global[&CoalescingRule::Cc20];
    assert_eq!((global.loads, global.stores, global.t128), (65536, 32768, 98304));
    assert_eq!(profile.shared[&BankRule::Cc20].wavefronts, 0);
    assert!(!profile.has(Count::Classes) && profile.has(Count::SharedWavefronts));
}

#[test]
fn without_a_count_of_what_ran_every_sm_has_its_share() {
    // 30 SMs in 10 TPCs, 120 CTAs.
    let counted = read("v.csv", sample("visual-profiler.csv")).unwrap();
    let text = text("visual-profiler.csv").replace(",cta_launched,", ",nothing,");
    let shared_out = read("v.csv", text.clone().into_bytes()).unwrap();
    assert_eq!(shared_out[0].profile.global, counted[0].profile.global);
    let unknown = text.replace("Tesla C1060", "Tesla C9999");
    let error = read("v.csv", unknown.into_bytes()).unwrap_err();
    assert_eq!(error.message, "v.csv, line 8: it is not known which share of the launch the counters saw");
}

#[test]
fn tables_and_reports_of_nsight_compute_say_the_same() {
    let table = read("n.csv", sample("nsight-raw.csv")).unwrap();
    let report = read("n.ncu-rep", sample("nsight.ncu-rep")).unwrap();
    assert_eq!((table.len(), report.len()), (2, 2));
    for (table, report) in table.iter().zip(&report) {
        let (mut left, mut right) = (table.profile.clone(), report.profile.clone());
        assert_eq!(table.measured, report.measured);
        // Only reports tell opcodes and names in the binary.
        assert!(!left.has(Count::Opcodes) && right.has(Count::Opcodes));
        for profile in [&mut left, &mut right] {
            profile.kernel.clear();
            profile.instructions.by_class.clear();
            profile.instructions.by_opcode.clear();
            (profile.barriers, profile.branches, profile.divergent_branches) = (0, 0, 0);
            profile.absent.retain(|count| {
                ![Count::Opcodes, Count::Barriers, Count::Branches, Count::DivergentBranches].contains(count)
            });
        }
        assert_eq!(left, right);
    }
    let profile = &report[1].profile;
    let warps = 65536;
    let class = |class| profile.instructions.by_class.get(&class).copied().unwrap_or(0) / warps;
    let classes = [OpClass::Fp32, OpClass::IntMul, OpClass::Int, OpClass::Memory, OpClass::Control, OpClass::Fp16];
    assert_eq!(classes.map(class), [8, 2, 2, 15, 2, 1]);
    let global = &profile.global[&CoalescingRule::Cc70];
    assert_eq!((global.requests, global.loads, global.stores), (14 * warps, 8 * warps, 6 * warps));
    assert_eq!((global.t32, global.bytes_requested), (14 * 32 * warps, 14 * 128 * warps));
    assert_eq!(profile.dram_sectors, Some([32 * warps, 32 * warps]));
    assert_eq!(report[1].measured.as_ref().unwrap().time_us, 130.0);
}

#[test]
fn the_default_page_of_nsight_compute_is_read_metric_by_metric() {
    let [launch] = read("n.csv", sample("nsight-details.csv")).unwrap().try_into().unwrap();
    let profile = &launch.profile;
    assert_eq!((profile.instructions.total, profile.launch.registers), (524_288, 16));
    assert_eq!(profile.dram_sectors, Some([262_144, 131_072]));
    assert!(!profile.has(Count::GlobalRequests));
    assert_eq!(launch.measured.unwrap().time_us, 10.5);
}

#[test]
fn kinds_of_thread_instructions_share_out_the_warp_instructions() {
    let mut header =
        String::from("\"ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"CC\",\"smsp__inst_executed.sum\"");
    let mut units = String::from("\"\",\"\",\"\",\"\",\"\",\"inst\"");
    let mut row = String::from("\"0\",\"k\",\"(32, 1, 1)\",\"(1, 1, 1)\",\"7.5\",\"1,000\"");
    for (kind, count) in [("fp32", 16_000), ("integer", 8_000), ("memory", 4_000), ("control", 4_000)] {
        header.push_str(&format!(",\"smsp__sass_thread_inst_executed_op_{kind}_pred_on.sum\""));
        units.push_str(",\"Kinst\"");
        row.push_str(&format!(",\"{}\"", f64::from(count) / 1000.0));
    }
    let [launch] = read("n.csv", format!("{header}\n{units}\n{row}\n").into_bytes()).unwrap().try_into().unwrap();
    let by_class = &launch.profile.instructions.by_class;
    assert_eq!(by_class[&OpClass::Fp32], 500);
    assert_eq!((by_class[&OpClass::Int], by_class[&OpClass::Memory], by_class[&OpClass::Control]), (250, 125, 125));
}

#[test]
fn mistakes_are_named_with_their_place() {
    let cases = [
        (
            "visual-profiler.csv",
            "gridsizeX",
            "grdsize",
            "visual-profiler.csv, line 8: the kernel _Z7load_32Pfii has no gridsize; name gridsize in the profiler's \
             configuration, or give --grid X[,Y[,Z]]",
        ),
        (
            "visual-profiler.csv",
            ",151200,",
            ",many,",
            "visual-profiler.csv, line 8: instructions is `many`, which is no number",
        ),
        (
            "visual-profiler.csv",
            "0,0,12",
            "0,0,0",
            "visual-profiler.csv, line 8: cta_launched is 0: nothing ran where the counters were read; launch more blocks, \
             so that every SM has work",
        ),
        (
            "visual-profiler.log",
            "gputime=[ 92.544 ]",
            "gputime=[ 92.544",
            "visual-profiler.log, line 7: gputime is `92.544 cputime=[ 10.000`, which is no number",
        ),
        (
            "nsight-raw.csv",
            "10.50",
            "10,50",
            "nsight-raw.csv, line 5: the value `10,50` of gpu__time_duration.sum is no number; numbers need a decimal point, \
             and commas only between thousands: run ncu with LC_ALL=C",
        ),
        (
            "nsight-raw.csv",
            "\"us\"",
            "\"fortnight\"",
            "nsight-raw.csv, line 5: the unit `fortnight` of gpu__time_duration.sum is not known; `ncu --print-units base` \
             avoids it",
        ),
        (
            "nsight-raw.csv",
            "\"Kernel Name\",",
            "\"Kernel Name\",\"Extra\",",
            "nsight-raw.csv, line 4: 56 fields, but 57 columns; the file is cut or was edited; write it again",
        ),
        (
            "nsight-details.csv",
            "Metric Unit",
            "Metric Units",
            "nsight-details.csv: the column `Metric Unit` is missing; did you mean `Metric Units`?",
        ),
    ];
    for (name, from, to, expected) in cases {
        assert_eq!(message(name, from, to), expected);
    }
}

#[test]
fn files_that_were_cut_are_not_taken_for_whole_ones() {
    for name in ["nsight-raw.csv", "visual-profiler.csv"] {
        let whole = text(name);
        let cut = whole.trim_end().rsplit_once(',').unwrap().0.to_owned();
        let error = read(name, cut.into_bytes()).expect_err(name);
        assert!(error.help.is_some_and(|help| help.contains("write it again")), "{name}: {}", error.message);
    }
    let whole = sample("nsight.ncu-rep");
    for at in [3, 9, 40, 900, whole.len() - 1] {
        let error = read("n.ncu-rep", whole[..at].to_vec()).expect_err("the report is cut");
        assert!(!error.message.is_empty());
    }
}

#[test]
fn a_file_without_a_kernel_says_so() {
    let copies: String = text("visual-profiler.csv")
        .lines()
        .filter(|line| !line.contains("load_"))
        .map(|line| format!("{line}\n"))
        .collect();
    let error = read("v.csv", copies.into_bytes()).unwrap_err();
    assert_eq!(
        (error.message.as_str(), error.help.as_deref()),
        ("v.csv holds no kernel", Some("there are copies of memory only"))
    );
    let header: String = text("nsight-raw.csv").lines().take(4).map(|line| format!("{line}\n")).collect();
    assert_eq!(read("n.csv", header.into_bytes()).unwrap_err().message, "n.csv holds no kernel");
    let grid = message("nsight-details.csv", "Grid Size", "Grid Extent");
    assert!(grid.contains("neither `Grid Size` nor launch__grid_dim_x is there"), "{grid}");
}

const SAMPLES: [&str; 5] =
    ["visual-profiler.csv", "visual-profiler.log", "nsight-raw.csv", "nsight-details.csv", "nsight.ncu-rep"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// A damaged file is read or refused.
    #[test]
    fn no_reader_panics(
        sample_at in 0..SAMPLES.len(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4u8), 1..12),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let name = SAMPLES[sample_at];
        let mut bytes = sample(name);
        for (at, byte, edit) in edits {
            let at = at.index(bytes.len());
            match edit {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                2 => drop(bytes.remove(at)),
                _ => {
                    let end = (at + usize::from(byte)).min(bytes.len());
                    let part = bytes[at..end].to_vec();
                    bytes.splice(at..at, part);
                }
            }
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        if !bytes.is_empty() {
            let _ = read(name, bytes);
        }
    }

    /// Values that no profiler writes.
    #[test]
    fn no_number_panics(value in "[-0-9.,eE]{0,24}|nan|inf|-inf|18446744073709551616") {
        for (name, from) in [("visual-profiler.csv", "151200"), ("visual-profiler.log", "4096, 1"), ("nsight-raw.csv", "524,288")] {
            let _ = read(name, text(name).replace(from, &value).into_bytes());
        }
    }

    /// Documents with other values in any place.
    #[test]
    fn no_document_panics(text in r#"\{"schema": ?"warplens.profile/1"(, ?"(kernel|launch|global|instructions|lines|warps|periods|reuse)": ?(\{\}|\[\]|null|-1|1e300|"x"|\{"grid": \[1,1,1\], "block": \[32,1,1\]\})){0,5}\}"#) {
        let _ = read("p.json", text.into_bytes());
    }
}
