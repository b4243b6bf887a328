//! What holds of every profile: counts that must agree with each other.

use serde_json::Value as Json;

/// The first contradiction. `all`: every CTA was executed and every instruction counts.
pub(crate) fn check(profile: &Json, all: bool) -> Result<(), String> {
    let instructions = &profile["instructions"];
    let total = int(&instructions["total"]);
    equal("instructions by class", sum(&instructions["by_class"]), total)?;
    equal("instructions by opcode", sum(&instructions["by_opcode"]), total)?;
    let virtual_share = int_or_zero(&instructions["by_class"]["virtual"]) as f64 / total.max(1) as f64;
    ensure("virtual_share", real(&instructions["virtual_share"]) == virtual_share)?;
    let threads = int(&profile["thread_instructions"]);
    let on = int(&profile["thread_instructions_pred_on"]);
    ensure("on <= threads <= 32 per warp instruction", on <= threads && threads <= 32 * total)?;
    let mean = real(&profile["mean_active_lanes"]);
    ensure("mean_active_lanes", total == 0 || (mean - threads as f64 / total as f64).abs() < 1e-12)?;
    let (branches, divergent) = (int(&profile["branches"]), int(&profile["divergent_branches"]));
    ensure("divergent branches are branches", divergent <= branches && branches <= total)?;
    if all {
        equal("emulated warp instructions", int(&profile["emulation"]["warp_instructions"]), total)?;
        equal("emulated thread instructions", int(&profile["emulation"]["thread_instructions"]), threads)?;
        check_lines(profile)?;
    }
    for space in ["global", "local"] {
        for (rule, counts) in entries(&profile[space]) {
            memory(counts).map_err(|message| format!("{space} under {rule}: {message}"))?;
        }
    }
    for (rule, counts) in entries(&profile["shared"]) {
        shared(counts).map_err(|message| format!("shared under {rule}: {message}"))?;
    }
    for (rule, factor) in entries(&profile["duplicate_loads"]) {
        ensure(&format!("duplicate loads under {rule} are at least 1"), real(factor) >= 1.0)?;
    }
    let (order, program) = (&profile["independent_loads"], &profile["independent_loads_program_order"]);
    if let (Some(order), Some(program)) = (order.as_f64(), program.as_f64()) {
        ensure("reordering gains loads", order >= program && program >= 1.0)?;
    }
    let (order, program) = (&profile["instruction_parallelism"], &profile["instruction_parallelism_program_order"]);
    if let (Some(order), Some(program)) = (order.as_f64(), program.as_f64()) {
        ensure("reordering gains parallelism", order >= program && program >= 1.0)?;
    }
    atomics(profile)?;
    for unit in ["lines", "sectors"] {
        let histogram = &profile["reuse"][unit];
        equal(unit, int(&histogram["cold"]) + sum(&histogram["distances"]), int(&histogram["accesses"]))?;
    }
    Ok(())
}

/// Atomic accesses are requests, and the words that are known are in order.
fn atomics(profile: &Json) -> Result<(), String> {
    let Some(lines) = profile["atomics"]["lines"].as_array() else { return Ok(()) };
    for line in lines {
        let get = |key: &str| int(&line[key]);
        ensure("an access has an operation", get("accesses") <= get("operations"))?;
        ensure("an access has a word", get("accesses") <= get("distinct_words"))?;
        ensure("an access has a pass", get("accesses") <= get("passes"))?;
        ensure("no more passes than operations", get("passes") <= get("operations"))?;
        ensure(
            "passes and words: one word more is a pass less at least",
            get("passes") + get("distinct_words") <= get("operations") + get("accesses"),
        )?;
    }
    for concentration in lines.iter().chain([&profile["atomics"]]).map(|of| &of["concentration"]) {
        if concentration.is_null() {
            continue;
        }
        let get = |key: &str| int(&concentration[key]);
        ensure("no more on one word than there are", get("most_on_one_word") <= get("operations"))?;
        if get("one_word_in") == 1 {
            ensure("each word has an operation", get("words") <= get("operations"))?;
            ensure(
                "the busiest word has the mean at least",
                get("operations") <= get("most_on_one_word") * get("words"),
            )?;
        }
    }
    for space in ["global", "shared"] {
        let of_space = lines.iter().filter(|line| line["space"] == space);
        let accesses: u64 = of_space.map(|line| int(&line["accesses"])).sum();
        let requests = entries(&profile[space]).map(|(_, counts)| int(&counts["atomics"])).next();
        equal(&format!("atomic accesses of {space} memory"), accesses, requests.unwrap_or(0))?;
    }
    Ok(())
}

fn memory(counts: &Json) -> Result<(), String> {
    let get = |key: &str| int(&counts[key]);
    equal("requests by kind", get("loads") + get("stores") + get("atomics"), get("requests"))?;
    equal("requests by coalescing", get("coalesced") + get("uncoalesced"), get("requests"))?;
    let moved = 32 * get("t32") + 64 * get("t64") + 128 * get("t128");
    equal("bytes_moved", moved, get("bytes_moved"))?;
    let transactions = get("t32") + get("t64") + get("t128");
    equal("transactions", get("coalesced_transactions") + get("uncoalesced_transactions"), transactions)
}

fn shared(counts: &Json) -> Result<(), String> {
    let get = |key: &str| int(&counts[key]);
    equal("requests by kind", get("loads") + get("stores") + get("atomics"), get("requests"))?;
    ensure(
        "conflicted <= requests <= passes",
        get("conflicted") <= get("requests") && get("requests") <= get("passes"),
    )?;
    ensure("passes show conflicts", (get("conflicted") == 0) == (get("passes") == get("requests")))?;
    ensure("passes <= wavefronts", get("passes") <= get("wavefronts"))?;
    ensure("wavefronts show conflicts", (get("conflicted") == 0) == (get("wavefronts") == get("ideal_wavefronts")))
}

/// The counts by line add up to those of the kernel.
fn check_lines(profile: &Json) -> Result<(), String> {
    let lines = profile["lines"].as_array().ok_or("no lines")?;
    for (rule, _) in entries(&profile["global"]) {
        for key in ["requests", "loads", "stores", "atomics", "t32", "t64", "t128", "coalesced", "bytes_requested"] {
            let of_lines: u64 = lines.iter().map(|line| int_or_zero(&line["memory"][rule][key])).sum();
            let total = int(&profile["global"][rule][key]) + int(&profile["local"][rule][key]);
            equal(&format!("{key} of the lines under {rule}"), of_lines, total)?;
        }
    }
    for (rule, counts) in entries(&profile["shared"]) {
        for key in ["requests", "passes", "wavefronts"] {
            let of_lines: u64 = lines.iter().map(|line| int_or_zero(&line["shared"][rule][key])).sum();
            equal(&format!("{key} of the lines under {rule}"), of_lines, int(&counts[key]))?;
        }
    }
    let divergent: u64 = lines.iter().map(|line| int(&line["divergent"])).sum();
    equal("divergent branches of the lines", divergent, int(&profile["divergent_branches"]))
}

fn entries(object: &Json) -> impl Iterator<Item = (&str, &Json)> {
    object.as_object().into_iter().flatten().map(|(key, value)| (key.as_str(), value))
}

fn sum(object: &Json) -> u64 {
    entries(object).map(|(_, count)| int(count)).sum()
}

/// Counts are integers, also in the document.
fn int(value: &Json) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no count"))
}

fn int_or_zero(value: &Json) -> u64 {
    value.as_u64().unwrap_or(0)
}

fn real(value: &Json) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

fn equal(what: &str, left: u64, right: u64) -> Result<(), String> {
    if left == right { Ok(()) } else { Err(format!("{what}: {left} against {right}")) }
}

fn ensure(what: &str, holds: bool) -> Result<(), String> {
    if holds { Ok(()) } else { Err(format!("{what} does not hold")) }
}
