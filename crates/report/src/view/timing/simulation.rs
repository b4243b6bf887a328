//! The state of the simulated SM: why warps wait, how busy units are, where data was found.

use warplens_question::timing::Outcome;

use crate::section::{Block, Cell, Column, Field, Plot, Section, Table, Unit};

/// How much is said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Size {
    /// The main reasons and the busiest units.
    Brief,
    /// Everything.
    Whole,
}

/// Reasons that a brief view names.
const MOST_REASONS: usize = 5;
/// Units that a brief view names.
const MOST_UNITS: usize = 3;

/// The sections about one simulated SM of a GPU.
pub fn simulation(gpu: &str, outcome: &Outcome, size: Size) -> Vec<Section> {
    match size {
        Size::Brief => vec![stalls_in_brief(gpu, outcome)],
        Size::Whole => vec![stalls(gpu, outcome), units(gpu, outcome), memory(gpu, outcome)],
    }
}

fn stalls_in_brief(gpu: &str, outcome: &Outcome) -> Section {
    let ranked = outcome.stalls().ranked();
    let bars = ranked.iter().take(MOST_REASONS).map(|(stall, share)| (stall.name().to_owned(), *share)).collect();
    let title = format!("What warps do on {gpu} (teg, share of the warp cycles)");
    let plot = Plot { title: String::new(), bars, unit: Unit::Share, full: Some(1.0) };
    let busy = busiest(outcome).into_iter().take(MOST_UNITS);
    let busy: Vec<String> = busy.map(|(name, share)| format!("{name} {:.0} %", 100.0 * share)).collect();
    let hits = [("L1", outcome.traffic.l1_hit_share()), ("L2", outcome.traffic.l2_hit_share())];
    let hits = hits.into_iter().filter_map(|(name, share)| Some(format!("{name} hits {:.0} %", 100.0 * share?)));
    let mut said = vec![format!("{:.1} warps on average", outcome.achieved_warps())];
    said.extend((!busy.is_empty()).then(|| format!("busiest units: {}", busy.join(", "))));
    said.extend(hits);
    Section::new("stalls", title).with(Block::Plot(plot)).note(format!("{}.", said.join("; ")))
}

/// Units by their share of busy cycles, the busiest first.
fn busiest(outcome: &Outcome) -> Vec<(&'static str, f64)> {
    let mut units: Vec<_> =
        outcome.units.iter().map(|unit| (unit.kind.name(), unit.utilisation(outcome.cycles))).collect();
    units.retain(|unit| unit.1 > 0.0);
    units.sort_by(|left, right| right.1.total_cmp(&left.1));
    units
}

/// A row per state, a column per scheduler.
fn stalls(gpu: &str, outcome: &Outcome) -> Section {
    let all = outcome.stalls();
    let mut columns = vec![Column::new("state", "state"), Column::new("all", "all_share")];
    columns.extend(
        (0..outcome.schedulers.len())
            .map(|number| Column::new(&format!("scheduler {number}"), &format!("scheduler_{number}_share"))),
    );
    let mut table = Table { columns, rows: Vec::new() };
    for (stall, share) in all.ranked() {
        let schedulers = outcome.schedulers.iter().map(|scheduler| scheduler.stalls.share(stall));
        let shares = std::iter::once(share).chain(schedulers).map(|share| Cell::Number(share, Unit::Share));
        table.push(std::iter::once(Cell::text(stall.name())).chain(shares).collect());
    }
    let issued = outcome.schedulers.iter().map(|scheduler| scheduler.issued.to_string()).collect::<Vec<_>>();
    Section::new("stalls", format!("What warps do on {gpu} (teg), by scheduler"))
        .with(Block::Table(table))
        .note(format!("Warp instructions issued by scheduler: {}.", issued.join(", ")))
}

fn units(gpu: &str, outcome: &Outcome) -> Section {
    let mut table = Table::new(&[("unit", "unit"), ("units", "count"), ("busy", "utilisation_share")]);
    for unit in outcome.units.iter().filter(|unit| unit.busy > 0.0) {
        let share = unit.utilisation(outcome.cycles);
        table.push(vec![
            Cell::text(unit.kind.name()),
            Cell::Count(unit.count.into()),
            Cell::Number(share, Unit::Share),
        ]);
    }
    Section::new("units", format!("Utilisation of the units on {gpu} (teg)")).with(Block::Table(table))
}

fn memory(gpu: &str, outcome: &Outcome) -> Section {
    let traffic = &outcome.traffic;
    let sectors = |sectors: u64| format!("of {sectors} sectors");
    let fields = vec![
        Field::new("cycles", Cell::Number(outcome.cycles as f64, Unit::Cycles)),
        Field::new("blocks", Cell::Count(outcome.ctas.len() as u64)),
        Field::new("achieved warps", Cell::Number(outcome.achieved_warps(), Unit::One)),
        Field::new("warp instructions per cycle", Cell::Number(outcome.ipc(), Unit::One)),
        Field::new("L1 hits", Cell::optional(traffic.l1_hit_share(), Unit::Share)).remark(sectors(traffic.l1_sectors)),
        Field::new("L2 hits", Cell::optional(traffic.l2_hit_share(), Unit::Share)).remark(sectors(traffic.l2_sectors)),
        Field::new("device memory", Cell::Number(traffic.dram_bytes as f64, Unit::Bytes)),
        Field::new("passes of bank conflicts", Cell::Count(traffic.conflict_passes)),
    ];
    Section::new("simulation", format!("The simulated SM of {gpu} (teg)")).with(Block::Fields(fields))
}
