//! The object `x_model` of a prediction.

use warplens_document::Number;
use warplens_document::x_model::{self as document, Parallelism, Units, XModel};
use warplens_question::x_model::{Advice, Cliff, Drop, Extremum, Intersection, Knob, Region, Solved};

use crate::view::x_model::reached_from;

/// A solved system.
pub(super) fn solved(solved: &Solved) -> XModel {
    let state = &solved.state;
    let marks = &state.landmarks;
    let intersection = |found: &Intersection| document::Intersection {
        k: Number(found.k),
        x: Number(found.x),
        memory_throughput: Number(found.memory_throughput),
        computation_throughput: Number(found.computation_throughput),
        stability: found.stability.name().to_owned(),
        reached_from: reached_from(state, found).to_owned(),
    };
    let region = |region: &Region| document::Region {
        from: Number(region.from),
        to: Number(region.to),
        bound: region.bound.name().to_owned(),
    };
    let knob = |knob: &Knob| {
        let (spec, value) = (knob.spec(), knob.value(&state.system)?);
        Some(document::Knob { name: spec.name.to_owned(), value: Number(value), unit: spec.unit.to_string() })
    };
    XModel {
        units: Units {
            threads: solved.units.threads.to_string(),
            memory: solved.units.memory.to_string(),
            computation: solved.units.computation.to_string(),
            bytes_per_second: solved.units.bytes_per_second.map(Number),
        },
        bound: state.bound.name().to_owned(),
        pi: Number(state.pi),
        delta: Number(marks.delta),
        plateau: Number(marks.plateau),
        psi: marks.psi.map(extremum),
        valley: marks.valley.map(extremum),
        second_peak: marks.second_peak.map(extremum),
        intersections: state.intersections.iter().map(intersection).collect(),
        regions: state.regions().iter().map(region).collect(),
        parallelism: parallelism(solved),
        knobs: Knob::ALL.iter().filter_map(knob).collect(),
        advice: solved.advice().iter().map(advice).collect(),
        cliff: solved.cliff().as_ref().map(cliff),
    }
}

fn parallelism(solved: &Solved) -> Parallelism {
    let found = solved.state.parallelism();
    Parallelism {
        tlp_workload: Number(found.tlp_workload),
        tlp_machine: Number(found.tlp_machine),
        ilp_workload: found.ilp_workload.map(Number),
        lanes_machine: found.lanes_machine.map(Number),
        mlp_workload: Number(found.mlp_workload),
        mlp_machine: Number(found.mlp_machine),
        dlp_workload: Number(found.dlp_workload),
        dlp_machine: Number(found.dlp_machine),
    }
}

fn extremum(found: Extremum) -> document::Extremum {
    document::Extremum { k: Number(found.k), memory_throughput: Number(found.throughput) }
}

fn advice(found: &Advice) -> document::Advice {
    document::Advice {
        change: found.technique.name().to_owned(),
        knob: found.technique.knob().spec().name.to_owned(),
        from: Number(found.from),
        to: Number(found.to),
        is_best: found.is_best,
        memory_ratio: Number(found.memory_ratio),
        computation_ratio: Number(found.computation_ratio),
        bound: Number(found.bound),
        bounded_by: found.bounded_by.to_owned(),
        principles: found.principles.iter().map(|principle| principle.text().to_owned()).collect(),
    }
}

fn cliff(found: &Cliff) -> document::Cliff {
    let drop =
        |drop: &Drop| document::Drop { threads: Number(drop.threads), from: Number(drop.from), to: Number(drop.to) };
    document::Cliff {
        best_threads: found.best_threads.map(Number),
        possible: found.possible.as_ref().map(drop),
        forced: found.forced.as_ref().map(drop),
        largest: found.largest.map(Number),
    }
}
