//! Buffers after a run.
//!
//! ```text
//! c  f32[1048576]
//!   [0]  0.25  -0.125  1.5  ...
//! ```

use warplens_launch::Element;
use warplens_session::{Output, RunResult};

use super::profile::{race_note, unsupported};
use crate::section::{Block, Cell, Field, Section, Table, Unit};

/// Elements shown where the user asked for no number of them.
pub const SHOWN: usize = 32;
/// Elements of a line.
const PER_LINE: usize = 8;

/// The buffers, each with its first `limit` elements at most, and the cost of the run.
pub fn buffers(run: &RunResult, limit: impl Fn(&str) -> usize) -> Vec<Section> {
    let mut sections = Vec::from_iter(unsupported(&run.support));
    if !run.printed.is_empty() {
        let lines = Block::Lines(run.printed.trim_end().to_owned());
        sections.push(Section::new("printed", "Printed by the kernel").with(lines));
    }
    sections.extend(run.outputs.iter().map(|output| buffer(output, limit(&output.key))));
    sections.push(cost(run));
    sections
}

fn buffer(output: &Output, limit: usize) -> Section {
    let n_elements = output.elements().len();
    let shown: Vec<String> = output.elements().take(limit).map(show).collect();
    let index_width = shown.len().to_string().len();
    let value_width = shown.iter().map(String::len).max().unwrap_or(0);
    let lines = shown.chunks(PER_LINE).enumerate().map(|(at, line)| {
        let values: Vec<String> = line.iter().map(|value| format!("{value:>value_width$}")).collect();
        format!("[{:>index_width$}]  {}", at * PER_LINE, values.join("  "))
    });
    let mut text = lines.collect::<Vec<_>>().join("\n");
    if shown.len() < n_elements {
        text.push_str(&format!("\n... and {} more", n_elements - shown.len()));
    }
    Section::new("buffer", format!("{}  {}[{n_elements}]", output.key, output.element)).with(Block::Lines(text))
}

fn cost(run: &RunResult) -> Section {
    let emulation = &run.emulation;
    let kernels: Vec<&str> = run.kernels.iter().map(|kernel| kernel.demangled.as_str()).collect();
    let fields = vec![
        Field::new("thread instructions", Cell::Count(emulation.thread_instructions)),
        Field::new("warp instructions", Cell::Count(emulation.warp_instructions)),
        Field::new("emulation", Cell::Number(emulation.seconds, Unit::Seconds)),
    ];
    let section = Section::new("emulation", format!("Ran {}", kernels.join(", "))).with(Block::Fields(fields));
    run.races.iter().map(|race| race_note(race, run.form)).fold(section, Section::note)
}

/// One row per element: for programs.
pub fn elements(run: &RunResult) -> Section {
    let mut table = Table::new(&[("buffer", "buffer"), ("index", "index"), ("value", "value")]);
    for output in &run.outputs {
        for (index, element) in output.elements().enumerate() {
            table.push(vec![Cell::text(&output.key), Cell::Count(index as u64), Cell::text(show(element))]);
        }
    }
    Section::new("elements", "").with(Block::Table(table))
}

/// The shortest digits that read back as the same value.
fn show(element: Element) -> String {
    match element {
        Element::Unsigned(value) => value.to_string(),
        Element::Signed(value) => value.to_string(),
        Element::Single(value) => {
            float(value.is_finite(), value.abs().into(), format!("{value:?}"), format!("{value:e}"))
        }
        Element::Double(value) => float(value.is_finite(), value.abs(), format!("{value:?}"), format!("{value:e}")),
    }
}

fn float(is_finite: bool, magnitude: f64, plain: String, scientific: String) -> String {
    if !is_finite {
        return plain.to_lowercase();
    }
    if magnitude != 0.0 && !(1e-4..1e7).contains(&magnitude) { scientific } else { plain }
}
