//! Documents as gates see them, and baselines that are read.

use serde_json::Value;
use warplens_base::error::Result;
use warplens_document::compare::{Compare, Entry as Compared};
use warplens_document::predict::{Document, Entry, Gpu, Predict};
use warplens_document::profile::Extents;
use warplens_document::sweep::{Row as Swept, Sweep};
use warplens_document::{Identified, Number};
use warplens_question::gate::{ACHIEVED_OCCUPANCY, Row, THEORETICAL_OCCUPANCY};
use warplens_question::tune::show_extents;
use warplens_session::predict::{PREFERENCE, Symbol};
use warplens_session::saved;

/// One row for each kernel and GPU: of the model that speaks for the GPU.
pub fn of_predictions(document: &Document) -> Vec<Row> {
    let launches = document.0.iter().zip(subjects(document));
    let rows = launches.flat_map(|(launch, subject)| {
        let of_gpu = move |gpu| spoken(launch, gpu).map(|entry| predicted(&subject, gpu, entry));
        launch.gpus.iter().filter_map(of_gpu)
    });
    rows.collect()
}

/// What gates call the launches: by their kernels, which tell the second launch of a kernel apart from the first.
pub fn subjects(document: &Document) -> Vec<String> {
    let kernels: Vec<&str> = document.0.iter().map(|launch| launch.kernel_demangled.as_str()).collect();
    let subject = |(at, kernel): (usize, &&str)| match kernels[..at].iter().filter(|own| *own == kernel).count() {
        0 => (*kernel).to_owned(),
        before => format!("{kernel} (launch {})", before + 1),
    };
    kernels.iter().enumerate().map(subject).collect()
}

/// One row for each variant, GPU and model.
pub fn of_comparison(document: &Compare) -> Vec<Row> {
    document.entries.iter().filter_map(compared).collect()
}

/// One row for each configuration, GPU and question that has a time.
pub fn of_sweep(document: &Sweep) -> Vec<Row> {
    document.rows.iter().filter_map(swept).collect()
}

/// The rows of a document that was written before; `name` is what messages call it.
pub fn of_baseline(name: &str, text: &str) -> Result<Vec<Row>> {
    // What kind it is decides who reads it; what is no document at all is for the first of them to say.
    let schema =
        serde_json::from_str::<Value>(text).ok().and_then(|value| Some(value.get("schema")?.as_str()?.to_owned()));
    match schema.as_deref() {
        Some(Sweep::ID) => Ok(of_sweep(&saved::document_of(name, text)?)),
        Some(Compare::ID) => Ok(of_comparison(&saved::document_of(name, text)?)),
        _ => saved::document_of(name, text).map(|document| of_predictions(&document)),
    }
}

/// The answer of the preferred model that has one.
fn spoken<'d>(launch: &'d Predict, gpu: &Gpu) -> Option<&'d Entry> {
    let rank = |entry: &&Entry| PREFERENCE.iter().position(|model| model.name() == entry.model);
    let answers = launch.predictions.iter().filter(|entry| entry.gpu == gpu.gpu && entry.prediction.time_us.is_some());
    answers.min_by_key(|entry| rank(entry).unwrap_or(PREFERENCE.len()))
}

fn predicted(subject: &str, gpu: &Gpu, entry: &Entry) -> Row {
    let prediction = &entry.prediction;
    let used = gpu.busy.as_ref().or(gpu.speed_of_light.as_ref());
    let named = [
        ("time_us", prediction.time_us),
        ("cycles", prediction.cycles.0),
        ("band_low_us", gpu.band.as_ref().map(|band| band.low_us)),
        ("band_high_us", gpu.band.as_ref().map(|band| band.high_us)),
        (ACHIEVED_OCCUPANCY, achieved_occupancy(gpu, entry).map(Number)),
        (THEORETICAL_OCCUPANCY, gpu.occupancy.as_ref().map(|occupancy| occupancy.share)),
        ("compute_throughput", used.map(|shares| shares.compute)),
        ("memory_throughput", used.map(|shares| shares.memory)),
    ];
    let own = prediction.quantities.0.iter().flat_map(|named| named.0.iter());
    let own = own.map(|(name, value)| (name.clone(), value.0));
    Row {
        subject: subject.to_owned(),
        gpu: entry.gpu.clone(),
        model: entry.model.clone(),
        values: values(&named).chain(own).collect(),
    }
}

/// The warps that were there on average over the slots.
fn achieved_occupancy(gpu: &Gpu, entry: &Entry) -> Option<f64> {
    let named = entry.prediction.quantities.0.as_ref()?;
    let (_, warps) = named.0.iter().find(|(name, _)| *name == Symbol::AchievedWarps.to_string())?;
    let possible = gpu.occupancy.as_ref().filter(|possible| possible.warps_per_sm > 0)?;
    Some(warps.0 * possible.share.0 / possible.warps_per_sm as f64)
}

fn compared(entry: &Compared) -> Option<Row> {
    let block = entry.block.as_ref().map_or_else(String::new, |block| format!(" {}", show_extents(block.0)));
    let named =
        [("time_us", entry.time_us), (THEORETICAL_OCCUPANCY, entry.occupancy_share), ("speedup", entry.speedup)];
    entry.time_us.is_some().then(|| Row {
        subject: format!("{}{block}", entry.variant),
        gpu: entry.gpu.clone(),
        model: entry.model.clone(),
        values: values(&named).collect(),
    })
}

/// Configurations are known by what was varied, not by their numbers, which change when a study grows.
fn swept(row: &Swept) -> Option<Row> {
    let shape =
        |extents: &Option<Extents>| extents.as_ref().map_or_else(String::new, |extents| show_extents(extents.0));
    let values = row.values.0.iter().map(|(name, value)| format!(" {name}={value}"));
    let launch = format!(" grid={} block={}", shape(&row.grid), shape(&row.block));
    let shared = row.shared_bytes.filter(|bytes| *bytes > 0).map(|bytes| format!(" shared={bytes}"));
    let what_if = row.what_if.iter().map(|name| format!(" ({name})"));
    let named = [("time_us", row.time_us), (THEORETICAL_OCCUPANCY, row.occupancy_share)];
    row.time_us.is_some().then(|| Row {
        subject: std::iter::once(row.kernel.clone())
            .chain(values)
            .chain([launch])
            .chain(shared)
            .chain(what_if)
            .collect(),
        gpu: row.gpu.clone(),
        model: row.model.clone().unwrap_or_default(),
        values: self::values(&named).collect(),
    })
}

fn values<'v>(named: &'v [(&str, Option<Number>)]) -> impl Iterator<Item = (String, f64)> + 'v {
    named.iter().filter_map(|(name, value)| Some(((*name).to_owned(), value.as_ref()?.0)))
}
