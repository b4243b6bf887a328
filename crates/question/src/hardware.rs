//! The launches of a table, timed on a GPU that is there.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::Ordering;

use warplens_base::error::{Error, Result};
use warplens_launch::Element;
use warplens_machine::{Key, Reader, Strictness};
use warplens_session::hardware::{Cache, Gpu, OnGpu, Repeats, Timed};
use warplens_session::machines::Machine;
use warplens_session::toolchain::Search;
use warplens_session::{OutputRequest, Program, Progress};

use crate::calibrate;
use crate::measured::{self, Row};

/// Columns that are filled in, in this order at the end of a line where the table has none of them.
const FILLED: [&str; 8] =
    ["measured_us", "event_us", "least_us", "most_us", "repeats", "sm_mhz", "registers", "values"];

/// A kernel whose events are not longer apart than those of an empty one, times this, has no time of its own.
const LEAST_SHARE: f64 = 1.1;

/// A table with the times that were measured.
#[derive(Clone, Debug)]
pub struct Filled {
    /// The table, as `validate` and `calibrate` read it.
    pub text: String,
    /// Launches that were timed.
    pub n_timed: usize,
    /// Rows whose launch failed, each with the reason.
    pub failed: Vec<(String, Error)>,
}

/// How a table is measured.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The identifier of this GPU for the rows; what they say unless given.
    pub gpu: Option<&'a Machine>,
    /// How often each launch is timed.
    pub repeats: Repeats,
    /// The command, for the head of the table.
    pub command: &'a str,
    /// The day, as people write it.
    pub date: &'a str,
}

/// Times every launch of a table that has no time yet. Rows without an input are of the kernels of
/// [`calibrate::program`].
pub fn fill(gpu: &Gpu, name: &str, text: &str, folder: &Path, asked: Asked<'_>, progress: &Progress) -> Result<Filled> {
    let facts = gpu.facts();
    if let Some(machine) = asked.gpu {
        let cc = u32::from(machine.cc.major) * 10 + u32::from(machine.cc.minor);
        if cc != facts.cc {
            let error = format!(
                "{} is not {}: its compute capability is {cc}, that of this GPU {}",
                facts.name, machine.id, facts.cc
            );
            return Err(Error::usage(error));
        }
    }
    let rows = measured::parse_open(name, text, folder)?;
    let mut lines = measured::lines_of(text).map(|(_, line)| line);
    let mut columns = measured::fields(lines.next().unwrap_or_default());
    for column in FILLED {
        if !columns.iter().any(|known| known == column) {
            columns.push(column.to_owned());
        }
    }
    let mut programs = Programs { target: format!("sm_{}", facts.cc), by_input: BTreeMap::new() };
    gpu.warm_up()?;
    let empty_us = gpu.empty(asked.repeats)?.median_us();
    let latency_us = asked.gpu.map_or(0.0, latency_us);
    let mut filled = Filled { text: head(gpu, asked, empty_us, latency_us)?, n_timed: 0, failed: Vec::new() };
    filled.text += &line(&columns);
    progress.total.fetch_add(rows.len() as u64, Ordering::Relaxed);
    for (row, fields) in rows.iter().zip(lines.map(measured::fields)) {
        let mut fields = fields;
        fields.resize(columns.len(), String::new());
        let mut put = |column: &str, text: String| {
            let at = columns.iter().position(|known| known == column);
            fields[at.expect("the table has it now")] = text;
        };
        if row.measured_us.is_nan() {
            if let Some(machine) = asked.gpu
                && columns.iter().any(|known| known == "gpu")
            {
                put("gpu", machine.id.clone());
            }
            let timed = programs.time(gpu, row, asked.repeats).and_then(|(timed, values)| {
                let event_us = timed.timing.median_us();
                if event_us < LEAST_SHARE * empty_us {
                    let what = format!("{event_us:.3} us are hardly more than the {empty_us:.3} us of an empty kernel");
                    return Err(Error::input(what));
                }
                Ok((timed, values))
            });
            match timed {
                Ok((timed, values)) => {
                    put("measured_us", format!("{:.3}", timed.timing.median_us() - empty_us + latency_us));
                    put("event_us", format!("{:.3}", timed.timing.median_us()));
                    put("least_us", format!("{:.3}", timed.timing.least_us()));
                    put("most_us", format!("{:.3}", timed.timing.most_us()));
                    put("repeats", timed.timing.count().to_string());
                    put("sm_mhz", gpu.clocks_mhz()[0].map_or_else(String::new, |mhz| mhz.to_string()));
                    put("registers", timed.registers.to_string());
                    put("values", values);
                    filled.n_timed += 1;
                }
                Err(error) => filled.failed.push((row.place(), error)),
            }
        }
        filled.text += &line(&fields);
        progress.done.fetch_add(1, Ordering::Relaxed);
    }
    Ok(filled)
}

/// What a profiler says of an empty kernel, in microseconds; 0 where the machine does not say.
fn latency_us(machine: &Machine) -> f64 {
    let latency = Reader::new(machine, Strictness::AllowInferred).optional(Key::LaunchLatency);
    latency.map_or(0.0, |seconds| 1e6 * seconds)
}

/// Where the times come from, in lines that readers of tables pass over.
fn head(gpu: &Gpu, asked: Asked<'_>, empty_us: f64, latency_us: f64) -> Result<String> {
    let facts = gpu.facts();
    let clocks = gpu.clocks_mhz().map(|mhz| mhz.map_or_else(|| "unknown".to_owned(), |mhz| mhz.to_string()));
    let state = match asked.repeats.cache {
        Cache::Cold => "the L2 cache holds other data before each",
        Cache::Warm => "the L2 cache holds what the launch before has left",
    };
    Ok(format!(
        "# {}, compute capability {}.{}, {} SMs, {} KiB of L2 cache; measured on {} by: {}\n\
         # Driver {}, CUDA {}.{}; clocks {} MHz of SMs (at most {}; counted: {:.0}) and {} MHz of memory (at most {}).\n\
         # Medians by events around one launch, {state}; measured_us is that with {latency_us:.3} us \
         instead of the {empty_us:.3} us of an empty kernel.\n",
        facts.name,
        facts.cc / 10,
        facts.cc % 10,
        facts.n_sms,
        facts.l2_bytes >> 10,
        asked.date,
        asked.command,
        facts.driver.as_deref().unwrap_or("of unknown version"),
        facts.cuda / 1000,
        facts.cuda % 1000 / 10,
        clocks[0],
        facts.most_mhz,
        gpu.sm_mhz()?,
        clocks[1],
        facts.most_memory_mhz,
    ))
}

/// A line of a table.
fn line(fields: &[String]) -> String {
    fields.iter().map(|field| measured::quoted(field)).collect::<Vec<String>>().join(",") + "\n"
}

/// What was loaded already.
struct Programs {
    target: String,
    by_input: BTreeMap<String, std::result::Result<Program, Error>>,
}

impl Programs {
    fn time(&mut self, gpu: &Gpu, row: &Row, repeats: Repeats) -> Result<(Timed, String)> {
        let key = row.input.as_ref().map_or_else(String::new, |input| format!("{input:?}"));
        let load = || match row.input {
            Some(_) => row.program(&self.target, &Search::default()),
            None => Ok(calibrate::program()),
        };
        let program = self.by_input.entry(key).or_insert_with(load).as_ref().map_err(Clone::clone)?;
        let launches = row.launches(program)?;
        let [launch] = launches.as_slice() else {
            return Err(Error::input(format!("{}: a row that is timed has one launch", row.place())));
        };
        let timed = OnGpu::load(gpu, program)?.time(launch, repeats, row.read.is_some())?;
        let values = row.read.as_ref().map(|request| values(request, &timed)).transpose()?;
        Ok((timed, values.unwrap_or_default()))
    }
}

/// Elements of a buffer, with semicolons between them.
fn values(request: &OutputRequest, timed: &Timed) -> Result<String> {
    let found = timed.contents.iter().find(|output| output.key == request.key);
    let output = found.ok_or_else(|| {
        let known: Vec<&str> = timed.contents.iter().map(|output| output.key.as_str()).collect();
        let error = Error::input(format!("argument `{}` has no buffer to be read", request.key));
        error.with_help(format!("those that have one are {}", known.join(", ")))
    })?;
    let count = request.count.map_or(usize::MAX, |count| usize::try_from(count).unwrap_or(usize::MAX));
    let texts = output.elements().take(count).map(|element| match element {
        Element::Unsigned(value) => value.to_string(),
        Element::Signed(value) => value.to_string(),
        Element::Single(value) => value.to_string(),
        Element::Double(value) => value.to_string(),
    });
    Ok(texts.collect::<Vec<String>>().join(";"))
}
