//! The state that the X-model finds: intersections, landmarks, parallelism, and what to change.
//!
//! ```text
//! state   k      x     stability  f(k)             Z f(k)          reached from
//! 1       8.785  51.2  stable     0.243 /cycle     0.243 /cycle    computation
//! 2       55.85  4.15  stable     0.2077 /cycle    0.2077 /cycle   memory
//! ```
//!
//! *k* and *x* are the threads in the memory system and in the computation system, *f(k)* is the throughput of memory
//! and *Z f(k)* that of computation. Of several stable states the machine comes to rest in the one that its start is
//! nearer to. A change is advised where it raises throughput; its *bound* is what it cannot exceed.

use warplens_question::x_model::{Advice, Cliff, Drop, Extremum, Intersection, Solved, State};

use crate::render::show;
use crate::section::{Block, Cell, Field, Section, Table, Unit};

const PER_CYCLE: Unit = Unit::Named("/cycle");

/// What is said about a solved system; `of` names model and GPU.
pub fn sections(of: &str, solved: &Solved) -> Vec<Section> {
    let state = &solved.state;
    let mut sections = vec![
        Section::new("x-state", format!("State of {of}"))
            .with(Block::Fields(fields(solved)))
            .with(Block::Table(intersections(state))),
        Section::new("x-parallelism", format!("Parallelism of {of}")).with(Block::Table(parallelism(state))),
    ];
    let advice = solved.advice();
    if !advice.is_empty() {
        let section = Section::new("x-advice", format!("What raises throughput, by {of}"));
        sections.push(section.with(Block::Table(advised(&advice))));
    }
    sections
}

fn fields(solved: &Solved) -> Vec<Field> {
    let state = &solved.state;
    let threads = |value: f64| Cell::Number(value, solved.units.threads.into());
    let marks = &state.landmarks;
    let mut fields = vec![
        Field::new("bound by", Cell::text(state.bound.name())),
        Field::new("pi", threads(state.pi)).remark("saturate the lanes"),
        Field::new("delta", threads(marks.delta)).remark("saturate memory"),
        Field::new("plateau", Cell::Number(marks.plateau, PER_CYCLE)).remark("R"),
    ];
    let extremum = |name: &str, mark: Option<Extremum>, remark: &str| {
        let mark = mark?;
        let height = show(&Cell::Number(mark.throughput, PER_CYCLE));
        Some(Field::new(name, threads(mark.k)).remark(format!("{remark}, {height}")))
    };
    fields.extend(extremum("psi", marks.psi, "peak of the cache"));
    fields.extend(extremum("valley", marks.valley, "valley after it"));
    fields.extend(extremum("second peak", marks.second_peak, "before the plateau"));
    fields.extend(solved.cliff().into_iter().flat_map(|found| cliff(&found, solved)));
    fields
}

/// What more threads lose.
fn cliff(found: &Cliff, solved: &Solved) -> Vec<Field> {
    let threads = |value: f64| Cell::Number(value, solved.units.threads.into());
    let from_to = |drop: &Drop| {
        let [from, to] = [drop.from, drop.to].map(|value| show(&Cell::Number(value, PER_CYCLE)));
        format!("from {from} to {to}")
    };
    let best = found
        .best_threads
        .map(|best| Field::new("best n", threads(best)).remark("demand passes the peak; more threads lose throughput"));
    let possible = found.possible.as_ref().map(|drop| {
        Field::new("two states from", threads(drop.threads))
            .remark(format!("where a drop is possible, {}", from_to(drop)))
    });
    let forced = found.forced.as_ref().map(|drop| {
        Field::new("falls off at", threads(drop.threads)).remark(format!("the better state is gone, {}", from_to(drop)))
    });
    best.into_iter().chain(possible).chain(forced).collect()
}

fn intersections(state: &State) -> Table {
    let mut table = Table::new(&[
        ("k", "k"),
        ("x", "x"),
        ("stability", "stability"),
        ("f(k)", "memory_throughput"),
        ("Z f(k)", "computation_throughput"),
        ("reached from", "reached_from"),
    ]);
    for intersection in &state.intersections {
        table.push(vec![
            Cell::Number(intersection.k, Unit::One),
            Cell::Number(intersection.x, Unit::One),
            Cell::text(intersection.stability.name()),
            Cell::Number(intersection.memory_throughput, PER_CYCLE),
            Cell::Number(intersection.computation_throughput, PER_CYCLE),
            Cell::text(reached_from(state, intersection)),
        ]);
    }
    table
}

/// Where threads must start for the machine to rest in a state.
pub(crate) fn reached_from(state: &State, intersection: &Intersection) -> &'static str {
    match (intersection == state.reached(), intersection == state.reached_from_memory()) {
        (true, true) => "both sides",
        (true, false) => "computation",
        (false, true) => "memory",
        (false, false) => "between",
    }
}

fn parallelism(state: &State) -> Table {
    let found = state.parallelism();
    let mut table = Table::new(&[("", "parallelism"), ("workload", "workload"), ("machine", "machine")]);
    let rows = [
        ("TLP (n; pi + delta)", Some(found.tlp_workload), Some(found.tlp_machine)),
        ("ILP (E; lanes filled with TLP)", found.ilp_workload, found.lanes_machine),
        ("MLP (k; R L)", Some(found.mlp_workload), Some(found.mlp_machine)),
        ("DLP (Z; M/R)", Some(found.dlp_workload), Some(found.dlp_machine)),
    ];
    for (name, workload, machine) in rows {
        table.push(vec![Cell::text(name), Cell::optional(workload, Unit::One), Cell::optional(machine, Unit::One)]);
    }
    table
}

fn advised(advice: &[Advice]) -> Table {
    let mut table = Table::new(&[
        ("change", "change"),
        ("knob", "knob"),
        ("from", "from"),
        ("to", "to"),
        ("memory", "memory_ratio"),
        ("computation", "computation_ratio"),
        ("bound", "bound"),
        ("bounded by", "bounded_by"),
    ]);
    let times = Unit::Named("x");
    for found in advice {
        table.push(vec![
            Cell::text(found.technique.name()),
            Cell::text(found.technique.knob().spec().name),
            Cell::Number(found.from, Unit::One),
            Cell::Number(found.to, Unit::One),
            Cell::Number(found.memory_ratio, times),
            Cell::Number(found.computation_ratio, times),
            Cell::Number(found.bound, times),
            Cell::text(found.bounded_by),
        ]);
    }
    table
}
