//! Reports of Nsight Compute (`.ncu-rep`).
//!
//! A report is the magic `NVR` and a zero byte, a header, and blocks to the end of the file. Header, block headers and
//! what the blocks hold are protocol-buffer messages, each behind its size in four bytes, little endian. A block header
//! says how many sources and results follow it, and holds the names of the metrics; a result is one launch. The field
//! numbers below are those of the message definitions that Nsight Compute ships for readers of its reports. Everything
//! else in a message is skipped, so that newer reports are read as far as they agree.
//!
//! Values are in base units: nanoseconds, bytes, plain counts.

use std::collections::BTreeMap;

use crate::imported::Imported;
use crate::nsight::{KernelMetrics, Metric, profiles};
use warplens_base::error::{Error, Result};

const MAGIC: &[u8] = b"NVR\0";

/// Fields of a block header.
mod block {
    pub(super) const N_SOURCES: u64 = 1;
    pub(super) const N_RESULTS: u64 = 2;
    pub(super) const STRINGS: u64 = 4;
    pub(super) const PAYLOAD_BYTES: u64 = 5;
}

/// The strings of a table.
const STRING: u64 = 1;

/// Fields of a result.
mod result {
    pub(super) const MANGLED: u64 = 5;
    pub(super) const FUNCTION: u64 = 6;
    pub(super) const DEMANGLED: u64 = 7;
    pub(super) const GRID: u64 = 10;
    pub(super) const BLOCK: u64 = 11;
    pub(super) const METRIC: u64 = 13;
}

/// Fields of a metric, and of one of its instances.
mod metric {
    pub(super) const NAME: u64 = 1;
    pub(super) const VALUE: u64 = 2;
    pub(super) const INSTANCE: u64 = 3;
    pub(super) const INSTANCE_ID: u64 = 1;
    pub(super) const INSTANCE_VALUE: u64 = 2;
}

/// Fields of a value, by its type.
mod value {
    pub(super) const TEXT: u64 = 1;
    pub(super) const FLOAT: u64 = 2;
    pub(super) const DOUBLE: u64 = 3;
    pub(super) const UINT32: u64 = 4;
    pub(super) const UINT64: u64 = 5;
}

/// Reads the launches of a report that messages call `name`.
pub fn launches(name: &str, bytes: &[u8]) -> Result<Vec<Imported>> {
    profiles(name, read(name, bytes)?)
}

/// Reads a report that messages call `name`.
fn read(name: &str, bytes: &[u8]) -> Result<Vec<KernelMetrics>> {
    let cut = |at: usize| {
        Error::input(format!("{name}: the report ends or is damaged behind byte {at}"))
            .with_help("a report that is still being written is not whole; write it again")
    };
    let mut file = Bytes { bytes, at: 0 };
    if file.take(MAGIC.len()) != Some(MAGIC) {
        return Err(Error::input(format!("{name} is no report of Nsight Compute")));
    }
    file.sized().ok_or_else(|| cut(file.at))?;
    let mut launches = Vec::new();
    // Metrics may be named in an earlier block than the one that holds them.
    let mut names: Vec<String> = Vec::new();
    while file.at < bytes.len() {
        let header = file.sized().ok_or_else(|| cut(file.at))?;
        let header = fields(header).ok_or_else(|| cut(file.at))?;
        let number = |wanted: u64| header.iter().find_map(|field| field.number(wanted)).unwrap_or(0);
        for table in header.iter().filter_map(|field| field.bytes(block::STRINGS)) {
            let strings = fields(table).ok_or_else(|| cut(file.at))?;
            let strings: Vec<String> = strings.iter().filter_map(|field| field.text(STRING)).collect();
            if !strings.is_empty() {
                names = strings;
            }
        }
        let size = usize::try_from(number(block::PAYLOAD_BYTES)).map_err(|_| cut(file.at))?;
        let start = file.at;
        let mut payload = Bytes { bytes: file.take(size).ok_or_else(|| cut(start))?, at: 0 };
        for _ in 0..number(block::N_SOURCES) {
            payload.sized().ok_or_else(|| cut(start + payload.at))?;
        }
        for _ in 0..number(block::N_RESULTS) {
            let message = payload.sized().ok_or_else(|| cut(start + payload.at))?;
            let place = format!("{name}, launch {}", launches.len());
            launches.push(launch(place, message, &names).ok_or_else(|| cut(start + payload.at))?);
        }
    }
    Ok(launches)
}

fn launch(place: String, message: &[u8], names: &[String]) -> Option<KernelMetrics> {
    let fields = fields(message)?;
    let text = |wanted: u64| fields.iter().find_map(|field| field.text(wanted)).filter(|text| !text.is_empty());
    let message = |wanted: u64| fields.iter().find_map(|field| field.bytes(wanted));
    let mut metrics = BTreeMap::new();
    for bytes in fields.iter().filter_map(|field| field.bytes(result::METRIC)) {
        if let Some((name, metric)) = metric(bytes, names)? {
            metrics.insert(name, metric);
        }
    }
    Some(KernelMetrics {
        place,
        kernel: text(result::DEMANGLED).or_else(|| text(result::FUNCTION)).unwrap_or_default(),
        mangled: text(result::MANGLED),
        grid: message(result::GRID).map_or(Some(None), |bytes| extents(bytes).map(Some))?,
        block: message(result::BLOCK).map_or(Some(None), |bytes| extents(bytes).map(Some))?,
        metrics,
        capability: None,
    })
}

/// A metric by its name; one without a value is skipped.
fn metric(message: &[u8], names: &[String]) -> Option<Option<(String, Metric)>> {
    let fields = fields(message)?;
    let name = fields.iter().find_map(|field| field.number(metric::NAME))?;
    let name = usize::try_from(name).ok().and_then(|at| names.get(at));
    let value = fields.iter().find_map(|field| field.bytes(metric::VALUE));
    let (Some(name), Some(value)) = (name, value) else { return Some(None) };
    let Some(mut found) = self::value(value)? else { return Some(None) };
    for bytes in fields.iter().filter_map(|field| field.bytes(metric::INSTANCE)) {
        let parts = self::fields(bytes)?;
        let part = |wanted: u64| parts.iter().find_map(|field| field.bytes(wanted));
        let (Some(id), Some(value)) = (part(metric::INSTANCE_ID), part(metric::INSTANCE_VALUE)) else { continue };
        if let (Some(Metric::Text { value: id, .. }), Some(Metric::Number { value, .. })) =
            (self::value(id)?, self::value(value)?)
            && let Metric::Number { instances, .. } = &mut found
        {
            instances.push((id, value));
        }
    }
    Some(Some((name.clone(), found)))
}

fn value(message: &[u8]) -> Option<Option<Metric>> {
    for field in fields(message)? {
        let number = match (field.id, field.content) {
            (value::TEXT, Content::Bytes(bytes)) => {
                let text = String::from_utf8_lossy(bytes).into_owned();
                return Some(Some(Metric::Text { value: text, unit: String::new() }));
            }
            (value::FLOAT, Content::Word32(bits)) => f64::from(f32::from_bits(bits)),
            (value::DOUBLE, Content::Word64(bits)) => f64::from_bits(bits),
            (value::UINT32 | value::UINT64, Content::Number(number)) => number as f64,
            _ => continue,
        };
        return Some(Some(Metric::Number { value: number, instances: Vec::new() }));
    }
    Some(None)
}

/// Three numbers, fields 1 to 3.
fn extents(message: &[u8]) -> Option<[u32; 3]> {
    let fields = fields(message)?;
    let axis = |wanted: u64| fields.iter().find_map(|field| field.number(wanted)).and_then(|n| u32::try_from(n).ok());
    Some([axis(1)?, axis(2)?, axis(3)?])
}

/// Reads from the front, never beyond the end.
struct Bytes<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Bytes<'b> {
    fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let end = self.at.checked_add(count)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    /// What stands behind its size in four bytes.
    fn sized(&mut self) -> Option<&'b [u8]> {
        let size = u32::from_le_bytes(self.take(4)?.try_into().ok()?);
        self.take(usize::try_from(size).ok()?)
    }

    /// A number in groups of seven bits.
    fn varint(&mut self) -> Option<u64> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }
}

/// One field of a message.
struct Field<'b> {
    id: u64,
    content: Content<'b>,
}

#[derive(Clone, Copy)]
enum Content<'b> {
    Number(u64),
    Word64(u64),
    Word32(u32),
    Bytes(&'b [u8]),
}

impl<'b> Field<'b> {
    fn number(&self, id: u64) -> Option<u64> {
        match self.content {
            Content::Number(number) if self.id == id => Some(number),
            _ => None,
        }
    }

    fn bytes(&self, id: u64) -> Option<&'b [u8]> {
        match self.content {
            Content::Bytes(bytes) if self.id == id => Some(bytes),
            _ => None,
        }
    }

    fn text(&self, id: u64) -> Option<String> {
        self.bytes(id).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }
}

/// The fields of a message; `None` where it is damaged.
fn fields(message: &[u8]) -> Option<Vec<Field<'_>>> {
    let mut bytes = Bytes { bytes: message, at: 0 };
    let mut fields = Vec::new();
    while bytes.at < message.len() {
        let tag = bytes.varint()?;
        let content = match tag & 7 {
            0 => Content::Number(bytes.varint()?),
            1 => Content::Word64(u64::from_le_bytes(bytes.take(8)?.try_into().ok()?)),
            2 => {
                let size = usize::try_from(bytes.varint()?).ok()?;
                Content::Bytes(bytes.take(size)?)
            }
            5 => Content::Word32(u32::from_le_bytes(bytes.take(4)?.try_into().ok()?)),
            _ => return None,
        };
        fields.push(Field { id: tag >> 3, content });
    }
    Some(fields)
}
