//! Counts without a run beside those of the emulator: the same where nothing depends on data, else not below them.

use serde_json::Value as Json;
use warplens_launch::Launch;
use warplens_report::document;
use warplens_session::profile::Counting;
use warplens_session::statics::Given;
use warplens_session::{ExecutionOptions, Program, Progress, measure};

use crate::no_compiler;

/// What is sampled, or says how the counts were made.
const NOT_COMPARED: [&str; 7] =
    ["emulation", "static", "reuse", "periods", "concentration", "duplicate_share", "absent"];

/// Counts that do not fall when both sides of a branch are counted and addresses are scattered.
const BOUNDED: [&str; 5] =
    ["/instructions/total", "/thread_instructions", "/divergent_branches", "/barriers", "/constant/requests"];
const BOUNDED_BY_RULE: [(&str, &[&str]); 3] = [
    ("global", &["requests", "lines", "bytes_requested"]),
    ("local", &["requests", "bytes_requested"]),
    ("shared", &["requests", "passes", "conflicted"]),
];
/// Lanes whose address is not known do not meet.
const BOUNDED_ATOMICS: [&str; 3] = ["accesses", "operations", "distinct_words"];

/// Holds the static counts of launches against emulated profiles, all blocks executed. A launch that is refused is fine.
pub(crate) fn check(program: &Program, launches: &[Launch], emulated: &[Json]) -> Result<(), String> {
    let options = ExecutionOptions { statics: Some(Given::default()), ..ExecutionOptions::new() };
    let counted = measure(program, launches, options, Counting::Ptx, &no_compiler(), &Progress::default());
    let Ok(counted) = counted else { return Ok(()) };
    for (measurement, emulated) in counted.iter().zip(emulated) {
        let counted = document::value(&document::profile::document(std::slice::from_ref(measurement)));
        let bounds = counted["static"]["bounds"].as_array().map_or(0, Vec::len);
        let mut emulated = emulated.clone();
        if emulated["duplicate_share"] != 1.0 {
            emulated["duplicate_loads"] = counted["duplicate_loads"].clone();
        }
        // Only a run finds that blocks race, and says then that the order matters.
        if emulated["race"].is_object() {
            if emulated["order_dependent"] != true {
                return Err("blocks race, and the order does not matter".to_owned());
            }
            (emulated["race"], emulated["order_dependent"]) = (Json::Null, counted["order_dependent"].clone());
        }
        if bounds == 0 { same("", &counted, &emulated)? } else { not_below(&counted, &emulated)? }
    }
    Ok(())
}

fn same(path: &str, counted: &Json, emulated: &Json) -> Result<(), String> {
    match (counted, emulated) {
        (Json::Object(counted), Json::Object(emulated)) => {
            let keys = counted.keys().chain(emulated.keys()).filter(|key| !NOT_COMPARED.contains(&key.as_str()));
            for key in keys {
                let of = |object: &serde_json::Map<String, Json>| object.get(key).cloned().unwrap_or(Json::Null);
                same(&format!("{path}/{key}"), &of(counted), &of(emulated))?;
            }
            Ok(())
        }
        (Json::Array(counted), Json::Array(emulated)) if counted.len() == emulated.len() => counted
            .iter()
            .zip(emulated)
            .enumerate()
            .try_for_each(|(at, (counted, emulated))| same(&format!("{path}/{at}"), counted, emulated)),
        _ if counted == emulated => Ok(()),
        _ => Err(format!("static counts: {path} is {counted}, emulated {emulated}")),
    }
}

fn not_below(counted: &Json, emulated: &Json) -> Result<(), String> {
    let check = |path: &str| {
        let number = |document: &Json| document.pointer(path).and_then(Json::as_u64).unwrap_or(0);
        let (counted, emulated) = (number(counted), number(emulated));
        if counted >= emulated {
            Ok(())
        } else {
            Err(format!("static counts: {path} is {counted}, which is no upper bound of {emulated}"))
        }
    };
    BOUNDED.iter().try_for_each(|path| check(path))?;
    for (space, keys) in BOUNDED_BY_RULE {
        let rules = emulated[space].as_object().into_iter().flatten().map(|(rule, _)| rule);
        for rule in rules {
            keys.iter().try_for_each(|key| check(&format!("/{space}/{rule}/{key}")))?;
        }
    }
    let of_lines = |document: &Json, key: &str| -> u64 {
        let lines = document["atomics"]["lines"].as_array().into_iter().flatten();
        lines.map(|line| line[key].as_u64().unwrap_or(0)).sum()
    };
    for key in BOUNDED_ATOMICS {
        let (counted, emulated) = (of_lines(counted, key), of_lines(emulated, key));
        if counted < emulated {
            return Err(format!("static counts: {key} of atomics are {counted}, no upper bound of {emulated}"));
        }
    }
    Ok(())
}
