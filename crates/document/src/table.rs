//! Every document.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    Document, compare, explain, figure, gpu, predict, profile, run, schema, simulation, trace_events, tune, whatif,
};

/// A document.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Name and version: `warplens.profile/1`.
    pub id: &'static str,
    /// What it holds, as a clause.
    pub about: &'static str,
    /// Its schema.
    pub schema: fn() -> Value,
    /// Reads a document of this kind into its type, and writes it again.
    pub again: fn(&Value) -> serde_json::Result<Value>,
}

impl Entry {
    /// Its name: `profile`.
    pub fn name(&self) -> &'static str {
        let name = self.id.strip_prefix("warplens.").unwrap_or(self.id);
        name.split_once('/').map_or(name, |(name, _)| name)
    }
}

const fn entry<D: Document + Serialize + DeserializeOwned>(about: &'static str) -> Entry {
    Entry { id: D::ID, about, schema: schema::<D>, again: again::<D> }
}

fn again<D: Serialize + DeserializeOwned>(value: &Value) -> serde_json::Result<Value> {
    serde_json::to_value(D::deserialize(value)?)
}

/// Every document that the program writes.
pub const DOCUMENTS: &[Entry] = &[
    entry::<profile::Document>("counts of launches; read, too"),
    entry::<predict::Document>("predicted times with what they stand on"),
    entry::<whatif::Document>("answers to what-if questions"),
    entry::<explain::Document>("what bounds a kernel, and what to do about it"),
    entry::<simulation::Annotate>("what each line spends"),
    entry::<simulation::Scale>("throughput of an SM by the number of warps"),
    entry::<run::Run>("what kernels computed"),
    entry::<predict::Model>("a model's answer to given numbers"),
    entry::<gpu::Gpus>("the GPUs"),
    entry::<gpu::Gpu>("one GPU with all parameters"),
    entry::<gpu::GpuDiff>("parameters in which two GPUs differ"),
    entry::<compare::Compare>("variants against each other"),
    entry::<tune::Tune>("the fastest of many launches"),
    entry::<figure::Figure>("the data of a picture"),
    entry::<trace_events::TraceEvents>("a trace for viewers of the Chrome trace event format"),
];
