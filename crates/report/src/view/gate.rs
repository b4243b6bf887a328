//! What gates found, and how answers changed against earlier ones.
//!
//! ```text
//! Against base.json
//!   kernel      GPU   before    now       change  gates
//!   vector_add  h200  5.52 us   5.72 us   +3.6 %  ok
//! ```

use warplens_question::gate::{Judged, Judgement};

use crate::section::{Block, Cell, Section, Table, Unit};

/// A table of the answers that were judged; nothing where there are neither gates nor earlier answers.
pub fn judgement(judgement: &Judgement, baseline: Option<&str>) -> Option<Section> {
    let title = match baseline {
        Some(name) => format!("Against {name}"),
        None if judgement.breaches.is_empty() => return None,
        None => "Gates".to_owned(),
    };
    let mut section = Section::new("gates", title).with(Block::Table(table(judgement)));
    for (subject, gpu) in &judgement.gone {
        section = section.note(format!("{subject} on {gpu} is in the baseline and was not asked now."));
    }
    Some(section)
}

/// The rows with every digit.
fn table(judgement: &Judgement) -> Table {
    let mut table = Table::new(&[("kernel", "kernel"), ("GPU", "gpu")]);
    let columns: &[(&str, &str)] = match judgement.has_baseline {
        true => &[("before", "before_us"), ("now", "time_us"), ("change", "change"), ("gates", "gates")],
        false => &[("now", "time_us"), ("gates", "gates")],
    };
    table.columns.extend(columns.iter().map(|(title, key)| crate::Column::new(title, key)));
    for row in &judgement.rows {
        let mut cells = vec![Cell::text(&row.subject), Cell::text(&row.gpu)];
        let now = Cell::optional(row.time_us, Unit::Microseconds);
        match judgement.has_baseline {
            true => cells.extend([Cell::optional(row.before_us, Unit::Microseconds), now, change(row)]),
            false => cells.push(now),
        }
        cells.push(Cell::text(verdict(judgement, row)));
        table.push(cells);
    }
    table
}

fn change(row: &Judged) -> Cell {
    row.change().map_or(Cell::text("new"), |change| Cell::text(format!("{:+.1} %", 100.0 * change)))
}

fn verdict(judgement: &Judgement, row: &Judged) -> String {
    let is_own = |subject: &str, gpu: &str| (subject, gpu) == (row.subject.as_str(), row.gpu.as_str());
    let breached = judgement.breaches.iter().filter(|breach| is_own(&breach.subject, &breach.gpu));
    let unjudged = judgement.unjudged.iter().filter(|unjudged| is_own(&unjudged.subject, &unjudged.gpu));
    let breached: Vec<&str> = breached.map(|breach| breach.gate.as_str()).collect();
    let unjudged: Vec<&str> = unjudged.map(|unjudged| unjudged.gate.as_str()).collect();
    let parts = [("breached", breached), ("not applied", unjudged)];
    let parts = parts.iter().filter(|(_, gates)| !gates.is_empty());
    let parts: Vec<String> = parts.map(|(word, gates)| format!("{word}: {}", gates.join(", "))).collect();
    if parts.is_empty() { "ok".to_owned() } else { parts.join("; ") }
}
