//! Profiles that were not counted here: saved ones, and what profilers wrote on a GPU.
//!
//! Every reader turns its text or bytes into [`Measurement`]s. What a source does not count is named in
//! [`Profile::absent`](crate::profile::Profile), never put down as zero. No reader panics, whatever its input.

mod json;
mod node;

use crate::error::{Error, Result};
use crate::input::{Input, InputKind};
use crate::measure::Measurement;

/// Reads the profiles of an input.
pub fn read(input: &Input) -> Result<Vec<Measurement>> {
    match input.kind {
        InputKind::Profile => json::read(&input.name, &input.text()),
        _ => Err(Error::input(format!("{} is {}, not a profile", input.name, input.kind.name()))),
    }
}
