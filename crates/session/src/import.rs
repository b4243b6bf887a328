//! Profiles that were not counted here, as measurements: saved ones, and what profilers wrote on a GPU.

use warplens_base::error::{Error, Result};
use warplens_import::{Imported, Shape, nsight_csv, nsight_report, visual_profiler, without_mark};

pub use warplens_import::page;

use crate::input::{Input, InputKind};
use crate::measurement::Measurement;
use crate::saved;

/// Reads the profiles of an input.
pub fn read(input: &Input) -> Result<Vec<Measurement>> {
    read_with(input, &Shape::default())
}

/// The same; `shape` is taken where the input says nothing.
pub(crate) fn read_with(input: &Input, shape: &Shape) -> Result<Vec<Measurement>> {
    let name = &input.name;
    let imported = match input.kind {
        InputKind::Profile => return saved::read(name, without_mark(&input.text())),
        InputKind::VisualProfilerLog => visual_profiler(name, &input.text(), shape),
        InputKind::NsightCsv => nsight_csv(name, &input.text()),
        InputKind::NsightReport => nsight_report(name, &input.bytes),
        _ => Err(Error::input(format!("{name} is {}, not a profile", input.kind.name()))),
    };
    let measurements: Vec<Measurement> = imported?.into_iter().map(measurement).collect();
    // What holds of the counts of a saved profile holds of these: none is so large that a few of them cannot be added.
    let document = serde_json::to_string(&saved::document(&measurements)).expect("a document");
    saved::document_of::<warplens_document::profile::Document>(name, &document)?;
    Ok(measurements)
}

/// Counts that were read, not made: nothing was executed.
fn measurement(Imported { kernel, profile, measured }: Imported) -> Measurement {
    Measurement::counted(kernel, profile, measured)
}
