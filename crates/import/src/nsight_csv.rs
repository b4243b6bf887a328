//! The tables that Nsight Compute prints with `--csv`: `--page raw`, one row per launch and a column per metric with the
//! units in a row of their own; and the default page, one row per launch and metric.

use std::collections::BTreeMap;

use crate::csv::without_mark;
use crate::csv::{self, Record};
use crate::imported::Imported;
use crate::nsight::{KernelMetrics, Metric, profiles};
use warplens_base::error::{Error, Result};
use warplens_base::nearest;

/// Columns that both tables begin with.
const KERNEL: &str = "Kernel Name";
const ID: &str = "ID";

/// What the sections of the default page call the metrics that are read.
const LABELS: [(&str, &str); 5] = [
    ("Duration", "gpu__time_duration.sum"),
    ("Registers Per Thread", "launch__registers_per_thread"),
    ("Static Shared Memory Per Block", "launch__shared_mem_per_block_static"),
    ("Dynamic Shared Memory Per Block", "launch__shared_mem_per_block_dynamic"),
    ("Executed Instructions", "smsp__inst_executed.sum"),
];

/// True for the text of such a table, messages of the profiler in front of it or not.
pub fn is_table(text: &str) -> bool {
    header_at(without_mark(text)).is_some()
}

/// Where the table begins: behind whatever the program and the profiler printed.
fn header_at(text: &str) -> Option<usize> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let is_header = line.contains(KERNEL) && (line.starts_with("\"ID\",") || line.starts_with("ID,"));
        if is_header {
            return Some(at);
        }
        at += line.len();
    }
    None
}

/// Reads the launches of a table that messages call `name`.
pub fn launches(name: &str, text: &str) -> Result<Vec<Imported>> {
    profiles(name, read(name, text)?)
}

/// Reads a table that messages call `name`.
fn read(name: &str, text: &str) -> Result<Vec<KernelMetrics>> {
    let text = without_mark(text);
    let at =
        header_at(text).ok_or_else(|| Error::input(format!("{name} has no row of column names with `{KERNEL}`")))?;
    let before = text[..at].matches('\n').count();
    // What the program prints at its end, and messages of the profiler, are no part of the table.
    let body: String =
        text[at..].split_inclusive('\n').map(|line| if line.starts_with("==") { "\n" } else { line }).collect();
    let mut records = csv::records(&body).map_err(|line| truncated(name, line + before))?;
    records.iter_mut().for_each(|record| record.line += before);
    let header = records.remove(0);
    let table = Table { name, header: &header.fields };
    if table.column("Metric Name").is_some() {
        table.details(&records)
    } else {
        table.raw(&records, body.ends_with('\n'))
    }
}

fn truncated(name: &str, line: usize) -> Error {
    Error::input(format!("{name}, line {line}: the table ends in the middle of a field"))
        .with_help("the file is cut; write it again")
}

struct Table<'t> {
    name: &'t str,
    header: &'t [String],
}

impl Table<'_> {
    fn column(&self, title: &str) -> Option<usize> {
        self.header.iter().position(|own| own == title)
    }

    fn need(&self, title: &str) -> Result<usize> {
        self.column(title).ok_or_else(|| {
            let error = Error::input(format!("{}: the column `{title}` is missing", self.name));
            match nearest(title, self.header.iter().map(String::as_str)) {
                Some(near) => error.with_help(format!("did you mean `{near}`?")),
                None => error,
            }
        })
    }

    /// A record that is as long as the header.
    fn whole(&self, record: &Record) -> Result<()> {
        let (found, wanted) = (record.fields.len(), self.header.len());
        if found == wanted {
            return Ok(());
        }
        let place = format!("{}, line {}", self.name, record.line);
        Err(Error::input(format!("{place}: {found} fields, but {wanted} columns"))
            .with_help("the file is cut or was edited; write it again"))
    }

    /// What stands in the columns that describe a launch.
    fn launch(&self, record: &Record) -> Result<KernelMetrics> {
        let field = |title: &str| self.column(title).and_then(|at| record.fields.get(at)).map(String::as_str);
        let extents = |title: &str| match field(title) {
            None | Some("") => Ok(None),
            Some(text) => extents(text).map(Some).ok_or_else(|| {
                Error::input(format!("{}, line {}: {title} `{text}` is not (X, Y, Z)", self.name, record.line))
            }),
        };
        Ok(KernelMetrics {
            place: format!("{}, line {}", self.name, record.line),
            kernel: field(KERNEL).unwrap_or_default().to_owned(),
            mangled: None,
            grid: extents("Grid Size")?,
            block: extents("Block Size")?,
            metrics: BTreeMap::new(),
            capability: field("CC").and_then(capability),
        })
    }

    /// One row per launch.
    fn raw(&self, records: &[Record], is_ended: bool) -> Result<Vec<KernelMetrics>> {
        let kernel = self.need(KERNEL)?;
        let Some((units, rows)) = records.split_first() else { return Ok(Vec::new()) };
        self.whole(units)?;
        if units.fields.get(kernel).is_some_and(|name| !name.is_empty()) {
            return Err(Error::input(format!("{}, line {}: the row of units is missing", self.name, units.line))
                .with_help("`ncu --page raw --csv` writes the units under the names of the metrics"));
        }
        let mut launches = Vec::new();
        for record in rows {
            self.whole(record)?;
            let mut launch = self.launch(record)?;
            for ((title, unit), value) in self.header.iter().zip(&units.fields).zip(&record.fields) {
                if title.contains("__") && !value.is_empty() {
                    launch.metrics.insert(title.clone(), Metric::text(value, unit));
                }
            }
            launches.push(launch);
        }
        if !is_ended && launches.is_empty() {
            return Err(truncated(self.name, units.line));
        }
        Ok(launches)
    }

    /// One row per launch and metric. Rows of rules have no metric.
    fn details(&self, records: &[Record]) -> Result<Vec<KernelMetrics>> {
        let id = self.need(ID)?;
        let [name, unit, value] = [self.need("Metric Name")?, self.need("Metric Unit")?, self.need("Metric Value")?];
        let mut ids: Vec<String> = Vec::new();
        let mut launches: Vec<KernelMetrics> = Vec::new();
        for record in records {
            self.whole(record)?;
            let fields = &record.fields;
            let at = match ids.iter().position(|known| *known == fields[id]) {
                Some(at) => at,
                None => {
                    ids.push(fields[id].clone());
                    launches.push(self.launch(record)?);
                    launches.len() - 1
                }
            };
            if !fields[name].is_empty() && !fields[value].is_empty() {
                let label = LABELS.iter().find(|(label, _)| *label == fields[name]);
                let metric = label.map_or(fields[name].as_str(), |(_, metric)| metric);
                launches[at].metrics.insert(metric.to_owned(), Metric::text(&fields[value], &fields[unit]));
            }
        }
        Ok(launches)
    }
}

/// `(16, 64, 256)`, or with other separators.
fn extents(text: &str) -> Option<[u32; 3]> {
    let numbers = text.trim_matches(['(', ')', ' ']).split([',', 'x', ' ']).filter(|part| !part.is_empty());
    let numbers: Option<Vec<u32>> = numbers.map(|part| part.parse().ok()).collect();
    match numbers?.as_slice() {
        &[x, y, z] => Some([x, y, z]),
        _ => None,
    }
}

/// `8.6`.
fn capability(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
