//! What different questions say about the same launch does not contradict each other.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use warplens_base::units::Seconds;
use warplens_launch::Launch;
use warplens_question::explain::{self, Explanation};
use warplens_question::glance::{Glance, Slice, glances};
use warplens_question::timing::{self, Stall, annotate};
use warplens_report::{render, view};
use warplens_session::machines::{self, Machine};
use warplens_session::predict::{self, Choice, Combine, Options, Range};
use warplens_session::profile::Counting;
use warplens_session::toolchain::Search;
use warplens_session::{Analysis, ExecutionOptions, Input, Measurement, Program, Progress, measure};

/// Kernels with and without barriers, with and without accesses that are not coalesced.
const EXAMPLES: &[&str] = &["abt_conflict", "layout_aos", "layout_soa", "matmul_tiled", "vector_add"];
/// An SM design without an L1 cache for global memory, and a late one.
const GPUS: &str = "gtx280,h200";

struct Asked {
    program: Program,
    input: PathBuf,
    gpus: Vec<Machine>,
    measurement: Measurement,
}

fn asked(name: &str) -> Asked {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
    let gpus = machines::select(GPUS).expect("the GPUs are built in");
    let (search, input) = (Search::default(), folder.join("ptx/sm_75.ptx"));
    let read = Input::read(&input).expect("the PTX can be read");
    let program = Program::load(&read, "sm_75", &search).expect("the PTX can be parsed");
    let file = folder.join("launch.toml").to_string_lossy().into_owned();
    let launches =
        warplens_session::source::launches(Some(&file), Launch::default()).expect("the launch file can be read");
    let options = ExecutionOptions { threads: 1, traced_for: gpus.clone(), ..ExecutionOptions::new() };
    let mut measured = measure(&program, &launches, options, Counting::Ptx, &search, &Progress::default())
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    let measurement = measured.remove(0);
    Asked { program, input, gpus, measurement }
}

fn analysis(asked: &Asked, model: &str) -> Analysis {
    let choice = Choice::parse(model).expect("the model is known");
    predict::predict(asked.measurement.clone(), &asked.gpus, &choice, Options::default())
}

#[test]
fn what_bounds_is_the_largest_share_of_the_time() {
    for name in EXAMPLES {
        let asked = asked(name);
        for model in ["teg", "analyzer", "roofline"] {
            let analysis = analysis(&asked, model);
            let found = glances(&analysis, Options::default());
            assert_eq!(found.len(), analysis.gpus.len(), "{name} by {model}");
            for (glance, gpu) in found.iter().zip(&analysis.gpus) {
                let prediction = gpu.prediction().expect("it has an answer");
                agrees(glance);
                assert_eq!(glance.bound.resource, prediction.limiter(), "{name} by {model} on {}", glance.gpu);
                assert_eq!(glance.time, prediction.seconds());
                assert_eq!(glance.line.is_some(), model == "teg", "{name} by {model} on {}", glance.gpu);
            }
        }
    }
}

fn agrees(glance: &Glance) {
    let of_resource = |slice: &Slice| -> f64 {
        glance.slices.iter().filter(|other| other.resource == slice.resource).map(|other| other.share).sum()
    };
    if matches!(glance.combine, Combine::Sum) {
        let largest = glance.slices.iter().map(of_resource).fold(0.0, f64::max);
        assert!(
            (glance.bound.share - largest).abs() < 1e-9,
            "{}: {:?} of {:?}",
            glance.gpu,
            glance.bound,
            glance.slices
        );
    }
    let shares: Vec<f64> = glance.slices.iter().map(|slice| slice.share).collect();
    assert!(shares.is_sorted_by(|left, right| left >= right), "{}: {shares:?}", glance.gpu);
    match glance.combine {
        Combine::Sum => assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{}: {shares:?}", glance.gpu),
        Combine::Max => assert_eq!(shares[0], 1.0, "{}", glance.gpu),
        Combine::Overlapped => {}
    }
    let warps = glance.warps.expect("the limits of these GPUs are known");
    assert!(warps.share() <= warps.possible() + 1e-9, "{}: {warps:?}", glance.gpu);
    for rate in [glance.dram, glance.flops.map(|(_, rate)| rate)].into_iter().flatten() {
        assert!(rate.share().is_none_or(|share| share <= 1.0 + 1e-9), "{}: {rate:?}", glance.gpu);
    }
    if let Some((used, all)) = glance.sms {
        assert!((1..=all).contains(&used), "{}: {used} of {all} SMs", glance.gpu);
    }
}

#[test]
fn a_range_stands_beside_the_time_wherever_there_is_one() {
    let mut analysis = analysis(&asked("vector_add"), "teg");
    let time = analysis.gpus[1].time().expect("teg answers");
    let (low, high) = (Seconds(0.8 * time.0), Seconds(1.25 * time.0));
    analysis.gpus[1].range = Some(Range {
        low,
        high,
        held: 0.8,
        n_rows: 412,
        others: Some((200, 0.75)),
        class: "bound by DRAM bandwidth, cc 9.0".to_owned(),
    });
    let shown = |analysis: &Analysis| {
        let found = glances(analysis, Options::default());
        let sections = view::predict::predictions(analysis, &found, None, view::predict::Detail::Screen, None);
        render::text(&sections, render::Style::Plain, 80)
    };
    let several = shown(&analysis);
    let rows: Vec<&str> = several.lines().skip(1).take(3).collect();
    assert!(rows[0].contains("range") && rows[1].contains(" - ") && rows[2].contains(" to "), "{several}");
    analysis.gpus.remove(0);
    let one = shown(&analysis);
    let first: String = one.lines().take(8).flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ");
    let range = first.split_once(" range ").expect("it stands in the first lines").1;
    assert!(
        range.contains(" to ") && range.contains("held 80.0 % of 412 validated rows and 75.0 % of 200 others"),
        "{one}"
    );
    // Without one there is no word of it.
    analysis.gpus[0].range = None;
    assert!(!shown(&analysis).contains("range"));
}

/// Warp cycles at barriers by line of the program, as the listing has them.
fn at_barriers(asked: &Asked, machine: &Machine) -> BTreeMap<u32, u64> {
    let text = annotate::Text { program: Some(&asked.program), input: Some(&asked.input), by: annotate::By::Source };
    let answer =
        timing::annotated(&asked.measurement, machine, Options::default(), &text).expect("the source is there");
    let annotated = answer.result.expect("teg answers");
    let lines = annotated.annotation.texts.iter().flat_map(|text| &text.lines);
    lines.map(|(&line, spent)| (line, spent.stalls.of(Stall::Barrier))).filter(|(_, cycles)| *cycles > 0).collect()
}

#[test]
fn waiting_at_barriers_has_the_same_lines_in_every_answer() {
    let mut n_advised = 0;
    for name in ["abt_conflict", "abt_conflict_free", "matmul_tiled"] {
        let asked = asked(name);
        let explained = explain::explain(analysis(&asked, "teg"), Options::default(), None);
        for (gpu, machine) in explained.gpus.iter().zip(&asked.gpus) {
            let listed = at_barriers(&asked, machine);
            let source = std::fs::read_to_string(asked.input.parent().unwrap().join(format!("../{name}.cu"))).unwrap();
            for line in listed.keys() {
                let text = source.lines().nth(*line as usize - 1).unwrap();
                assert!(text.contains("__syncthreads"), "{name} on {}: line {line}: {text}", machine.id);
            }
            let Some(advice) = gpu.advice.iter().find(|advice| advice.id == "barriers") else { continue };
            n_advised += 1;
            let whole: u64 = listed.values().sum();
            for place in &advice.places {
                let (_, line) = place.source.as_ref().expect("the PTX names lines");
                let share = listed[line] as f64 / whole as f64;
                assert!((place.share - share).abs() < 1e-9, "{name} on {}: line {line}: {place:?}", machine.id);
            }
        }
    }
    assert!(n_advised > 0, "no example is told of its barriers");
}

/// Whether the sentence about transactions finds more of them than needed, and what coalescing is said to cost.
fn coalescing(explained: &Explanation, gpu: usize) -> (bool, Option<f64>) {
    let value = |id: &str, name: &str| {
        let evidence = explained.gpus[gpu].evidence.iter().find(|evidence| evidence.id == id)?;
        evidence.values.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    };
    let (now, fewest) = (value("transactions", "per_request"), value("transactions", "fewest_per_request"));
    let wasted = now > fewest || value("transactions", "used_share").is_some_and(|share| share < 1.0);
    (wasted, value("prices", "uncoalesced"))
}

#[test]
fn coalesced_accesses_cost_nothing_for_not_being_coalesced() {
    let mut n_wasted = 0;
    for name in EXAMPLES {
        let asked = asked(name);
        let explained = explain::explain(analysis(&asked, "teg"), Options::default(), None);
        for (at, gpu) in asked.gpus.iter().enumerate() {
            let (wasted, costs) = coalescing(&explained, at);
            assert!(wasted || costs.is_none(), "{name} on {}: uncoalesced costs {costs:?}", gpu.id);
            n_wasted += usize::from(wasted);
            let advised = explained.gpus[at].advice.iter().any(|advice| advice.id == "coalesce");
            assert!(wasted || !advised, "{name} on {}: coalescing is advised", gpu.id);
        }
    }
    assert!(n_wasted > 0, "no example wastes transactions");
}
