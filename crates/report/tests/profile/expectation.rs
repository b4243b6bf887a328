//! Holds a profile against what a case expects.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json, json};

const COALESCING: [&str; 7] = ["1.0", "1.2", "2.0", "2.0-l1off", "3.0", "5.0", "7.0"];
const BANK: [&str; 3] = ["1.0", "2.0", "3.0"];

/// Objects whose keys are the kernel's own: all of them must be expected.
const OPEN: [&str; 6] = ["/by_class", "/by_opcode", "/high_latency", "/distances", "/computation_task", "/memory_task"];

/// Lists that are compared entry by entry.
const LISTS: [&str; 3] = ["/lines", "/periods/kinds", "/periods/streams"];

/// The rules that a list names, under which accesses to `space` are counted.
pub(crate) fn rules_of<'a>(list: &'a str, space: &str) -> Vec<&'a str> {
    match list {
        "*" if space.contains("shared") => BANK.to_vec(),
        "*" => COALESCING.to_vec(),
        list => list.split([',', ' ']).filter(|rule| !rule.is_empty()).collect(),
    }
}

/// What differs. Notes in `seen` what was looked at.
pub(crate) fn compare(path: &str, expected: &Json, actual: &Json, seen: &mut BTreeSet<String>) -> Vec<String> {
    match (expected, actual) {
        (Json::Object(expected), Json::Object(actual)) => compare_objects(path, expected, actual, seen),
        (Json::Array(expected), Json::Array(actual)) if LISTS.iter().any(|list| path.ends_with(list)) => {
            if expected.len() != actual.len() {
                return vec![format!("{path}: {} entries, expected {}: {actual:#?}", actual.len(), expected.len())];
            }
            seen.insert(path.to_owned());
            let pairs = expected.iter().zip(actual).enumerate();
            pairs
                .flat_map(|(index, (expected, actual))| {
                    let messages = compare(&format!("{path}/N"), expected, actual, seen);
                    messages.into_iter().map(|message| format!("entry {index}: {message}")).collect::<Vec<_>>()
                })
                .collect()
        }
        _ => {
            seen.insert(path.to_owned());
            let equal = match (expected.as_f64(), actual.as_f64()) {
                (Some(expected), Some(actual)) => (expected - actual).abs() <= 1e-12 * expected.abs(),
                _ => expected == actual,
            };
            if equal { Vec::new() } else { vec![format!("{path}: {actual}, expected {expected}")] }
        }
    }
}

fn compare_objects(
    path: &str,
    expected: &Map<String, Json>,
    actual: &Map<String, Json>,
    seen: &mut BTreeSet<String>,
) -> Vec<String> {
    let mut messages = Vec::new();
    let by_rule = actual.contains_key("1.0");
    let is_open = OPEN.iter().any(|open| path.ends_with(open));
    if is_open || expected.is_empty() {
        seen.insert(path.to_owned());
        for (key, value) in actual.iter().filter(|(key, _)| !expected.contains_key(*key)) {
            messages.push(format!("{path}: {key} {value} is not expected"));
        }
    }
    for (key, expected) in expected {
        let keys = if by_rule { rules_of(key, path) } else { vec![key.as_str()] };
        for key in keys {
            let name = if by_rule { "RULE" } else { key };
            let inner = if is_open { path.to_owned() } else { format!("{path}/{name}") };
            match actual.get(key) {
                Some(actual) => {
                    let found = compare(&inner, expected, actual, seen);
                    let place = if by_rule || is_open { format!("{key} ") } else { String::new() };
                    messages.extend(found.into_iter().map(|message| format!("{place}{message}")));
                }
                None => messages.push(format!("{path}: no {key}")),
            }
        }
    }
    messages
}

/// Holds one rule's counts against a cell of a table.
pub(crate) fn compare_cell(space: &str, cell: &str, counts: &Json, seen: &mut BTreeSet<String>) -> Result<(), String> {
    let expected = if space == "shared" { shared(cell, counts) } else { memory(cell, counts) };
    let expected = expected.ok_or_else(|| format!("`{cell}` is no cell"))?;
    let path = format!("/{space}/RULE");
    match compare(&path, &expected, counts, seen)[..] {
        [] => Ok(()),
        ref messages => Err(messages.join("; ")),
    }
}

/// `PASSES/WAVEFRONTS` per request.
fn shared(cell: &str, counts: &Json) -> Option<Json> {
    let (passes, wavefronts) = cell.split_once('/')?;
    let (passes, wavefronts): (u64, u64) = (passes.parse().ok()?, wavefronts.parse().ok()?);
    let requests = counts["requests"].as_u64()?;
    Some(json!({
        "passes": passes * requests,
        "wavefronts": wavefronts * requests,
        "conflicted": if passes > 1 { requests } else { 0 },
    }))
}

/// `c:` or `u:` and `NxBYTES` for each size, joined by `+`.
fn memory(cell: &str, counts: &Json) -> Option<Json> {
    let (coalesced, transactions) = cell.split_once(':')?;
    let requests = counts["requests"].as_u64()?;
    let (coalesced, uncoalesced) = match coalesced {
        "c" => (requests, 0),
        "u" => (0, requests),
        _ => return None,
    };
    let mut by_size = [("32", 0), ("64", 0), ("128", 0)];
    for part in transactions.split('+') {
        let (n, size) = part.split_once('x')?;
        by_size.iter_mut().find(|(name, _)| *name == size)?.1 = n.parse().ok()?;
    }
    let [t32, t64, t128] = by_size.map(|(_, n): (_, u64)| n);
    Some(json!({
        "t32": t32,
        "t64": t64,
        "t128": t128,
        "coalesced": coalesced,
        "uncoalesced": uncoalesced,
        "bytes_moved": 32 * t32 + 64 * t64 + 128 * t128,
    }))
}
