//! Opcodes in documents: the only place that says how they are written and read.

use std::collections::BTreeMap;

use warplens_document::Named;

/// Counts by opcode, as they are written.
pub(super) fn written(by_opcode: &BTreeMap<String, u64>) -> Named<String, u64> {
    by_opcode.iter().map(|(opcode, &count)| (opcode.clone(), count)).collect()
}

/// Counts by opcode, as they are read.
pub(super) fn read(by_opcode: Named<String, u64>) -> BTreeMap<String, u64> {
    by_opcode.0.into_iter().collect()
}
