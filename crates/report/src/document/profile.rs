//! `warplens.profile/1`. The document is made where it is read, too: in [`warplens_session::saved`].

use serde_json::{Map, Value as Json};
use warplens_session::profile::Profile;
use warplens_session::{Emulation, Measurement, Support, saved};

use super::json::value;

/// The document of the `profile` verb: one launch, or a sequence under `launches`.
pub fn document(measurements: &[Measurement]) -> Json {
    value(&saved::document(measurements))
}

fn object(written: &impl serde::Serialize) -> Map<String, Json> {
    match value(written) {
        Json::Object(object) => object,
        _ => unreachable!("a document is an object"),
    }
}

/// What is known about a measurement besides its counts.
pub(crate) fn origin(measurement: &Measurement) -> Map<String, Json> {
    object(&saved::origin(measurement))
}

/// Supported and unsupported instructions of the kernel.
pub(crate) fn support(support: &Support) -> Json {
    value(&saved::support(support))
}

/// Cost of the execution.
pub(crate) fn emulation(emulation: &Emulation) -> Json {
    value(&saved::emulation(emulation))
}

/// The launch as counted.
pub(crate) fn launch_shape(profile: &Profile) -> Json {
    value(&saved::launch(profile))
}

/// Every count that the profile holds; the key of one that it lacks is left out.
pub(crate) fn counts(profile: &Profile) -> Map<String, Json> {
    object(&saved::counts(profile))
}
