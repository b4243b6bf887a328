//! Instructions in documents: the only place that says how they are written and read.
//!
//! A document spells an instruction as PTX does, and the front end that owns the spelling says which one it is.

use std::collections::BTreeMap;

use warplens_document::{Fault, Named, Place};
use warplens_isa::{HighLatency, SlowOperation, Spelling};
use warplens_stats::OpcodeCount;

/// Counts by opcode, as they are written.
pub(super) fn written(by_opcode: &[OpcodeCount]) -> Named<String, u64> {
    by_opcode.iter().map(|counted| (text(&counted.opcode), counted.count)).collect()
}

/// Counts by opcode, as they are read.
pub(super) fn read(by_opcode: Named<String, u64>) -> Vec<OpcodeCount> {
    by_opcode.0.into_iter().map(|(text, count)| OpcodeCount { opcode: spelling(&text), count }).collect()
}

/// How an instruction is written.
pub(super) fn text(opcode: &Spelling) -> String {
    opcode.to_string()
}

/// The instruction that is written so.
pub(super) fn spelling(text: &str) -> Spelling {
    warplens_ptx::spelling(text)
}

/// Counts of slow operations, as they are written.
pub(super) fn slow_written(counts: &BTreeMap<SlowOperation, u64>) -> Named<String, u64> {
    counts.iter().map(|(operation, &count)| (operation.to_string(), count)).collect()
}

/// Counts of slow operations, as they are read.
pub(super) fn slow_read(counts: Named<String, u64>, place: &Place) -> Result<BTreeMap<SlowOperation, u64>, Fault> {
    let kinds = HighLatency::ALL.iter().map(|kind| kind.name());
    let counted = |(name, count): (String, u64)| {
        let operation = SlowOperation::from_name(&name);
        let unknown = || place.key(&name).unknown("slow operation", &name, kinds.clone());
        Ok((operation.ok_or_else(unknown)?, count))
    };
    counts.0.into_iter().map(counted).collect()
}
