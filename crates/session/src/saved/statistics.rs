//! What statistics counted, in both directions.

use warplens_document::profile::statistics as document;
use warplens_document::{Fault, Place};
use warplens_stats::Statistics;

use super::sequences;

type Result<T> = std::result::Result<T, Fault>;

/// Statistics as they are written.
pub(super) fn written(statistics: &Statistics) -> document::Statistics {
    let Statistics { reuse, periods } = statistics;
    document::Statistics {
        reuse: reuse.as_ref().map(sequences::write_reuse),
        periods: periods.as_ref().map(sequences::write_periods),
    }
}

/// Statistics as they are read.
pub(super) fn read(written: document::Statistics, place: &Place) -> Result<Statistics> {
    let document::Statistics { reuse, periods } = written;
    Ok(Statistics {
        reuse: reuse.map(|reuse| sequences::read_reuse(reuse, &place.key("reuse"))).transpose()?,
        periods: periods.map(|periods| sequences::read_periods(periods, &place.key("periods"))).transpose()?,
    })
}
