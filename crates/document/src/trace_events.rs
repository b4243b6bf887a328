//! `warplens.trace-events/1`: a trace in the Chrome trace event format, which Perfetto and `chrome://tracing` open.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words::words;
use crate::{Held, Id, Identified, entry};

pub(crate) const DOCUMENTS: &[crate::Entry] =
    &[entry::<TraceEvents>("a trace for viewers of the Chrome trace event format")];

/// A trace of one SM: the process is the SM, each thread a warp, and a microsecond of the viewer a cycle of the SM's clock.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceEvents {
    /// The viewer's unit.
    #[serde(rename = "displayTimeUnit")]
    pub display_time_unit: String,
    /// What the trace is of.
    #[serde(rename = "otherData")]
    pub other_data: OtherData,
    /// The events.
    #[serde(rename = "traceEvents")]
    pub trace_events: Vec<Event>,
}

impl Identified for TraceEvents {
    const ID: &'static str = "warplens.trace-events/1";
}

/// What a trace is of. Viewers show texts.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OtherData {
    /// Name and version of the document.
    pub schema: Id<TraceEvents>,
    /// Name of the kernel.
    pub kernel: String,
    /// Label of the GPU.
    pub gpu: String,
    /// What a microsecond of the viewer is.
    pub time: String,
    /// The clock in hertz.
    pub clock_hz: String,
    /// Cycles of the SM.
    pub sm_cycles: String,
}

words! {
    /// Phase of an event: `M` says something about the others, `X` is a slice, `b` and `e` begin and end an asynchronous
    /// slice.
    "phase" Phase {
        /// Says something about the others.
        About = "M",
        /// A slice.
        Slice = "X",
        /// Begins an asynchronous slice.
        Begin = "b",
        /// Ends an asynchronous slice.
        End = "e",
    }

    /// What a slice is: a `stall` is named by its reason, an `instruction` lasts one cycle from its issue, an `access` lasts
    /// from the issue of a memory instruction until the result can be used.
    "category" Category {
        /// The warp waits.
        Stall = "stall",
        /// The warp issues.
        Instruction = "instruction",
        /// Memory is accessed.
        Access = "access",
    }
}

/// An event.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// Its phase.
    #[serde(rename = "ph")]
    pub phase: Phase,
    /// What the slice is.
    #[serde(rename = "cat", default, skip_serializing_if = "Held::is_missing")]
    pub category: Held<Category>,
    /// Its name.
    pub name: String,
    /// Number of the access.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub id: Held<u64>,
    /// The SM.
    #[serde(rename = "pid")]
    pub process: u64,
    /// The warp, from 1.
    #[serde(rename = "tid")]
    pub thread: u64,
    /// Cycle of the beginning.
    #[serde(rename = "ts", default, skip_serializing_if = "Held::is_missing")]
    pub start: Held<u64>,
    /// Cycles that it lasts.
    #[serde(rename = "dur", default, skip_serializing_if = "Held::is_missing")]
    pub duration: Held<u64>,
    /// What else is known.
    pub args: Args,
}

/// What else is known of an event.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Name of the SM or the warp.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub name: Held<String>,
    /// Its place.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub sort_index: Held<u64>,
    /// The instruction that waits.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub before: Held<String>,
    /// The instruction that accesses memory.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub instruction: Held<String>,
    /// Line of the instruction in the input; 0 where it has none.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub line: Held<u32>,
    /// Class of the machine instruction.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub class: Held<String>,
    /// Cycles from the issue until the result can be used.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub result_after_cycles: Held<u64>,
}
