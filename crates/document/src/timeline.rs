//! `warplens.timeline/1`: what a program did on the device when, in the Chrome trace event format, which Perfetto and
//! `chrome://tracing` open.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Held, Id, Identified, Number, entry};

pub(crate) const DOCUMENTS: &[crate::Entry] =
    &[entry::<TimeLine>("launches and copies of a program, for viewers of the Chrome trace event format")];

/// A time line: the process is that of the program, each thread a stream of it or what connects host and device.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimeLine {
    /// The viewer's unit.
    #[serde(rename = "displayTimeUnit")]
    pub display_time_unit: String,
    /// What the time line is of.
    #[serde(rename = "otherData")]
    pub other_data: TimeLineOf,
    /// The events.
    #[serde(rename = "traceEvents")]
    pub trace_events: Vec<TimeLineEvent>,
}

impl Identified for TimeLine {
    const ID: &'static str = "warplens.timeline/1";
}

/// What a time line is of. Viewers show texts.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimeLineOf {
    /// Name and version of the document.
    pub schema: Id<TimeLine>,
    /// The program and its arguments.
    pub command: String,
    /// Label of the GPU.
    pub gpu: String,
}

/// An event: `M` names a process or a thread, `X` is a launch or a copy.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimeLineEvent {
    /// `M` or `X`.
    #[serde(rename = "ph")]
    pub phase: String,
    /// `kernel` or `copy`.
    #[serde(rename = "cat", default, skip_serializing_if = "Held::is_missing")]
    pub category: Held<String>,
    /// Name of the kernel, or from where to where is copied.
    pub name: String,
    /// Number of the process.
    #[serde(rename = "pid")]
    pub process: u32,
    /// Number of the stream or of the branch of a graph in it, from 1.
    #[serde(rename = "tid")]
    pub thread: u32,
    /// Microseconds since the process began.
    #[serde(rename = "ts", default, skip_serializing_if = "Held::is_missing")]
    pub start: Held<Number>,
    /// Microseconds that it lasts.
    #[serde(rename = "dur", default, skip_serializing_if = "Held::is_missing")]
    pub duration: Held<Number>,
    /// What else is known.
    pub args: TimeLineArgs,
}

/// What else is known of an event.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimeLineArgs {
    /// Name of the process or the stream.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub name: Held<String>,
    /// Blocks per axis.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub grid: Held<[u32; 3]>,
    /// Threads per axis.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub block: Held<[u32; 3]>,
    /// Bytes that are copied.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub bytes: Held<u64>,
}
