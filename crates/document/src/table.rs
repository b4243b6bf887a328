//! Every document.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Document, schema};

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

/// The row of a document; `about` says what it holds, as a clause.
pub(crate) const fn entry<D: Document + Serialize + DeserializeOwned>(about: &'static str) -> Entry {
    Entry { id: D::ID, about, schema: schema::<D>, again: again::<D> }
}

fn again<D: Serialize + DeserializeOwned>(value: &Value) -> serde_json::Result<Value> {
    serde_json::to_value(D::deserialize(value)?)
}

/// The documents of each module.
const TABLES: &[&[Entry]] = &[
    // generated: documents
    crate::profile::DOCUMENTS,
    crate::predict::DOCUMENTS,
    crate::whatif::DOCUMENTS,
    crate::explain::DOCUMENTS,
    crate::simulation::DOCUMENTS,
    crate::run::DOCUMENTS,
    crate::gpu::DOCUMENTS,
    crate::calibrate::DOCUMENTS,
    crate::compare::DOCUMENTS,
    crate::tune::DOCUMENTS,
    crate::figure::DOCUMENTS,
    crate::timeline::DOCUMENTS,
    crate::trace_events::DOCUMENTS,
    crate::validate::DOCUMENTS,
    crate::exec::DOCUMENTS,
    crate::archive::DOCUMENTS,
    crate::which::DOCUMENTS,
    crate::sweep::DOCUMENTS,
    crate::glossary::DOCUMENTS,
    crate::config::DOCUMENTS,
    // end: documents
];

/// Every document that the program writes.
pub fn documents() -> impl Iterator<Item = &'static Entry> {
    TABLES.iter().flat_map(|table| table.iter())
}
