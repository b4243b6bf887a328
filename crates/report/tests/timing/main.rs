//! What users see of a timing simulation, from a made-up one.

mod outcome;

use std::collections::BTreeMap;

use serde_json::Value;
use warplens_launch::KernelName;
use warplens_question::plot;
use warplens_question::timing::Answer;
use warplens_report::render::{self, Style, WIDTH};
use warplens_report::{document, view};

fn answer<T>(result: T) -> Answer<T> {
    Answer { kernel: KernelName::new("k"), gpu: "a100-80".to_owned(), result: Ok(result) }
}

#[test]
fn a_listing_has_the_warp_cycles_beside_its_lines() {
    let sections = view::timing::annotation(&outcome::annotated(), false);
    let expected = "\
k on a100-80: 1.25 us predicted
  simulated on one SM          650 cycles  (1 block)
  warp instructions issued     10
  warp cycles per instruction  128.2
  why warps do not issue       long_scoreboard 62 %, drain 37 %

k.ptx
  line  hot   share  warp cycles  issued  why                       text
     1                                                              .visible .entry k()
     2                                                              {
     3        0.2 %            2       2  selected 100 %                ld.global.f32 %f1, [%rd1];
     4    1  62.4 %          800       4  long_scoreboard 99 %          mul.f32 %f2, %f1, %f1;
     5        0.6 %            8       2  wait 75 %, selected 25 %      st.global.f32 [%rd1], %f2;
     6    2  36.8 %          472       2  drain 100 %                   ret;
     7                                                              }
";
    assert_eq!(render::text(&sections, Style::Plain, WIDTH), expected);
}

#[test]
fn every_state_is_exported() {
    let csv = render::csv(&[view::timing::annotation_rows(&[answer(outcome::annotated())])]);
    let mut lines = csv.lines().map(|line| line.splitn(22, ',').collect::<Vec<_>>());
    let heading = lines.next().expect("there is a heading");
    let row = lines.nth(1).expect("line 4 is the second");
    let named: BTreeMap<_, _> = heading.iter().zip(&row).map(|(key, cell)| (*key, *cell)).collect();
    assert_eq!((named["line"], named["hot"], named["issued"]), ("4", "1", "4"));
    assert_eq!((named["long_scoreboard"], named["wait"], named["selected"]), ("794", "2", "4"));
    assert_eq!(named["machine_instructions"], "2");
    let json = document::value(&document::timing::annotate(&[answer(outcome::annotated())]));
    let line = &json["annotations"][0]["texts"][0]["lines"][1];
    assert_eq!((line["line"].as_u64(), line["stalls"]["long_scoreboard"].as_u64()), (Some(4), Some(794)));
    assert_eq!(json["annotations"][0]["teg"]["traffic"]["l1_hit_share"], 0.25);
}

/// The rules of the Chrome trace event format that a viewer depends on.
#[test]
fn a_trace_keeps_the_rules_of_its_format() {
    let trace = document::value(&document::trace_events::document(&outcome::warps()));
    let events = trace["traceEvents"].as_array().expect("a list of events");
    let mut ends: BTreeMap<u64, u64> = BTreeMap::new();
    let mut open: BTreeMap<u64, u64> = BTreeMap::new();
    let (mut named, mut n_slices, mut n_accesses) = (Vec::new(), 0, 0);
    for event in events {
        assert!(event["pid"].is_u64() && event["tid"].is_u64() && event["name"].is_string(), "{event}");
        let number = |key: &str| event[key].as_u64().unwrap_or_else(|| panic!("{key} of {event}"));
        match event["ph"].as_str().expect("each event has a phase") {
            "M" => named.push(event["args"].clone()),
            "X" => {
                // Slices of a thread follow each other: none begins before the one before has ended.
                let end = ends.insert(number("tid"), number("ts") + number("dur"));
                assert!(number("dur") > 0 && end.is_none_or(|end| end <= number("ts")), "{event}");
                n_slices += 1;
            }
            "b" => assert!(open.insert(number("id"), number("ts")).is_none(), "{event}"),
            "e" => {
                let start = open.remove(&number("id")).expect("it has begun");
                assert!(start < number("ts") && event["cat"].is_string());
                n_accesses += 1;
            }
            other => panic!("{other} is no phase of ours"),
        }
    }
    assert!(open.is_empty(), "every asynchronous slice ends");
    assert!(named.iter().any(|args| args["name"] == "block 0 warp 1"));
    // Of each warp four instructions with three stalls lie in the window, and two of them are accesses.
    assert_eq!((n_slices, n_accesses), (2 * (5 + 4), 4));
    let is_text = |value: &Value| value.is_string();
    assert!(trace["otherData"].as_object().is_some_and(|other| other.values().all(is_text)));
}

#[test]
fn pictures_can_be_drawn() {
    let stalls = plot::stalls::stalls(&outcome::annotated()).expect("instructions were issued");
    let figures = [
        view::figure::cycles(&outcome::warps()),
        view::figure::scale(&[outcome::scaling()]),
        view::figure::stalls(&stalls),
    ];
    for figure in figures {
        figure.check().expect("it has no flaw");
        let svg = render::svg::figure(&figure);
        assert!(svg.contains("long_scoreboard") || svg.contains("math_pipe_throttle"), "{}", figure.id);
        // For the eye: WARPLENS_PICTURES=FOLDER writes them.
        if let Some(folder) = std::env::var_os("WARPLENS_PICTURES") {
            let path = std::path::Path::new(&folder).join(format!("{}.png", figure.id));
            std::fs::write(path, render::png::figure(&figure)).expect("the picture can be written");
        }
    }
}

#[test]
fn scaling_is_a_table_with_what_stops_it() {
    let text = render::text(&view::timing::scale(&outcome::scaling()), Style::Plain, WIDTH);
    let row = text.lines().find(|line| line.trim_start().starts_with("8 ")).expect("8 warps are a row");
    let words: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(words[..4], ["8", "2", "3300", "5.818"], "{text}");
    assert!(row.contains("math_pipe_throttle +8"), "{text}");
    assert!(text.contains("- every warp does the same"));
    let json = document::value(&document::timing::scale(&[answer(outcome::scaling())]));
    assert_eq!(json["scales"][0]["steps"][3]["stop"]["stall"], "math_pipe_throttle");
}
