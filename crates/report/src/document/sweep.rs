//! `warplens.sweep`, in both directions: what one process found is read by another.

use warplens_document::profile::Extents;
use warplens_document::sweep::{self as document, Sweep};
use warplens_document::{Id, Named, Number};
use warplens_question::sweep::{Answer, Launched, Row};

/// The document of the `sweep` verb.
pub fn document(rows: &[Row]) -> Sweep {
    Sweep { schema: Id::new(), rows: rows.iter().map(row).collect() }
}

/// A row as it is written.
pub fn row(row: &Row) -> document::Row {
    let launch = row.launch.as_ref();
    let answer = row.answer.as_ref().ok();
    let range = answer.and_then(|answer| answer.range_us);
    document::Row {
        configuration: row.configuration,
        kernel: row.kernel.clone(),
        values: Named(row.values.clone()),
        grid: launch.map(|launch| Extents(launch.grid)),
        block: launch.map(|launch| Extents(launch.block)),
        shared_bytes: launch.map(|launch| launch.shared_bytes),
        registers: launch.and_then(|launch| launch.registers),
        instructions: launch.and_then(|launch| launch.instructions),
        gpu: row.gpu.clone(),
        what_if: row.what_if.clone(),
        model: answer.map(|answer| answer.model.clone()),
        time_us: answer.map(|answer| Number(answer.time_us)),
        range_low_us: range.map(|(low, _)| Number(low)),
        range_high_us: range.map(|(_, high)| Number(high)),
        limiter: answer.map(|answer| answer.limiter.clone()),
        occupancy_share: answer.and_then(|answer| answer.occupancy).map(Number),
        refused: row.answer.as_ref().err().cloned(),
    }
}

/// A row as it was written.
pub fn read(row: document::Row) -> Row {
    let launch = row.grid.zip(row.block).map(|(grid, block)| Launched {
        grid: grid.0,
        block: block.0,
        shared_bytes: row.shared_bytes.unwrap_or(0),
        registers: row.registers,
        instructions: row.instructions,
    });
    let range_us = row.range_low_us.zip(row.range_high_us).map(|(low, high)| (low.0, high.0));
    let answer = match (row.model, row.time_us, row.limiter) {
        (Some(model), Some(time), Some(limiter)) => {
            let occupancy = row.occupancy_share.map(|share| share.0);
            Ok(Answer { model, time_us: time.0, range_us, limiter, occupancy })
        }
        _ => Err(row.refused.unwrap_or_default()),
    };
    Row {
        configuration: row.configuration,
        kernel: row.kernel,
        values: row.values.0,
        launch,
        gpu: row.gpu,
        what_if: row.what_if,
        answer,
    }
}
