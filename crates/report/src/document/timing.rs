//! `warplens.annotate/1` and `warplens.scale/1`, and the `teg` object of a prediction.

use serde_json::{Map, Value as Json, json};
use warplens_session::timing::annotate::AnnotatedText;
use warplens_session::timing::scale::{Scale, Step};
use warplens_session::timing::{Annotated, Answer, Outcome, Spent, StallCycles};

use super::json::{number, optional};
use super::predict::refused;

/// The document of the `annotate` verb.
pub fn annotate(all: &[Answer<Annotated>]) -> Json {
    let of_one = |of: &Annotated| {
        json!({
            "time_us": number(of.time.microseconds()),
            "whole": spent(&of.annotation.whole),
            "elsewhere": spent(&of.annotation.elsewhere),
            "texts": of.annotation.texts.iter().map(text).collect::<Vec<_>>(),
            "teg": simulation(&of.outcome),
        })
    };
    json!({"schema": "warplens.annotate/1", "annotations": answers(all, "time_us", of_one)})
}

/// Kernel and GPU with an answer; or with null in place of it, and what is missing.
fn answers<T>(all: &[Answer<T>], key: &str, of_one: impl Fn(&T) -> Json) -> Vec<Json> {
    let entry = |answer: &Answer<T>| {
        let mut body = Map::new();
        body.insert("kernel".into(), answer.kernel.mangled.as_str().into());
        body.insert("kernel_demangled".into(), answer.kernel.demangled.as_str().into());
        body.insert("gpu".into(), answer.gpu.as_str().into());
        match &answer.result {
            Ok(of) => {
                let Json::Object(more) = of_one(of) else { unreachable!("an object was made") };
                body.extend(more);
            }
            Err(refusal) => {
                body.insert(key.into(), Json::Null);
                body.insert("refused".into(), refused(refusal));
            }
        }
        Json::Object(body)
    };
    all.iter().map(entry).collect()
}

fn text(text: &AnnotatedText) -> Json {
    let line = |(&line, of_line): (&u32, &Spent)| {
        let Json::Object(mut body) = spent(of_line) else { unreachable!("an object was made") };
        body.insert("line".into(), line.into());
        body.insert("text".into(), text.line(line).into());
        body
    };
    json!({"name": text.name, "hottest": text.hottest, "lines": text.lines.iter().map(line).collect::<Vec<_>>()})
}

fn spent(spent: &Spent) -> Json {
    json!({
        "machine_instructions": spent.instructions,
        "issued": spent.issued,
        "warp_cycles": spent.stalls.total(),
        "share": number(spent.share),
        "stalls": stalls(&spent.stalls),
    })
}

/// Warp cycles by state, those that occur.
fn stalls(stalls: &StallCycles) -> Json {
    let present = stalls.iter().filter(|&(_, cycles)| cycles > 0);
    Json::Object(present.map(|(stall, cycles)| (stall.name().to_owned(), cycles.into())).collect::<Map<_, _>>())
}

/// What the simulation of one SM found.
pub fn simulation(outcome: &Outcome) -> Json {
    let schedulers = outcome.schedulers.iter();
    let units = outcome.units.iter().map(
        |unit| json!({"name": unit.name, "count": unit.count, "utilisation": number(unit.utilisation(outcome.cycles))}),
    );
    let traffic = &outcome.traffic;
    json!({
        "sm_cycles": outcome.cycles,
        "sm_ctas": outcome.ctas.len(),
        "issued": outcome.issued,
        "ipc": number(outcome.ipc()),
        "achieved_warps": number(outcome.achieved_warps()),
        "stalls": stalls(&outcome.stalls()),
        "schedulers": schedulers
            .map(|scheduler| json!({"issued": scheduler.issued, "stalls": stalls(&scheduler.stalls)}))
            .collect::<Vec<_>>(),
        "units": units.collect::<Vec<_>>(),
        "traffic": {
            "l1_sectors": traffic.l1_sectors,
            "l1_hits": traffic.l1_hits,
            "l1_hit_share": optional(traffic.l1_hit_share()),
            "l2_sectors": traffic.l2_sectors,
            "l2_hits": traffic.l2_hits,
            "l2_hit_share": optional(traffic.l2_hit_share()),
            "dram_bytes": traffic.dram_bytes,
            "conflict_passes": traffic.conflict_passes,
        },
    })
}

/// The document of the `scale` verb.
pub fn scale(all: &[Answer<Scale>]) -> Json {
    let of_one = |scale: &Scale| {
        json!({
            "clock_hz": number(scale.clock_hz),
            "warps_per_cta": scale.warps_per_cta,
            "ctas_per_sm": scale.most_ctas,
            "steps": scale.steps.iter().map(step).collect::<Vec<_>>(),
            "assumptions": scale.assumptions,
        })
    };
    json!({"schema": "warplens.scale/1", "scales": answers(all, "steps", of_one)})
}

fn step(step: &Step) -> Json {
    json!({
        "warps": step.warps,
        "ctas": step.ctas,
        "cycles": step.cycles,
        "issued": step.issued,
        "ipc": number(step.ipc),
        "speedup": number(step.speedup),
        "efficiency": number(step.efficiency),
        "stop": step.stop.map(|stop| json!({"stall": stop.stall.name(), "growth_cycles": number(stop.growth)})),
        "busiest": step.busiest.map(|(name, share)| json!({"name": name, "utilisation": number(share)})),
    })
}
