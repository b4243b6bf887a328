//! All that the calls of a process share.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::sync::Arc;

use warplens_device::Context;
use warplens_session::archive::Store;
use warplens_session::findings::Checks;
use warplens_session::host;
use warplens_session::machines::Machine;
use warplens_session::served;
use warplens_session::toolchain::Search;
use warplens_session::trail::{Check, Entry, Trail, environment};
use warplens_session::transfer::Transfers;
use warplens_session::{Error, ExecutionOptions};

use crate::archive;
use crate::arrays::Arrays;
use crate::checks;
use crate::clock::Nanoseconds;
use crate::config::Config;
use crate::graphs::Graphs;
use crate::handles::{Handle, Table};
use crate::kernels::{Function, Module, Variable};
use crate::link::Linker;
use crate::memory::{HostMemory, Owned};
use crate::pools::Pools;
use crate::properties::Properties;
use crate::status::{Result, Status};
use crate::streams::{Event, Stream};
use crate::timeline::Timeline;
use crate::times::Times;
use crate::user_objects::UserObjects;

/// The device and everything that was made on it.
pub struct Runtime {
    pub(crate) machines: Vec<Machine>,
    pub(crate) properties: Arc<Properties>,
    pub(crate) context: Context,
    /// Bytes that the memory of the device has.
    pub(crate) limit: u64,
    pub(crate) options: ExecutionOptions,
    pub(crate) search: Search,
    pub(crate) modules: Table<Module>,
    pub(crate) functions: Table<Function>,
    /// Functions by the address of the stub that stands for them on the host.
    pub(crate) stubs: BTreeMap<u64, Handle>,
    /// Variables by the address of what stands for them on the host.
    pub(crate) shadows: BTreeMap<u64, Variable>,
    pub(crate) linkers: Table<Linker>,
    pub(crate) streams: Table<Stream>,
    pub(crate) events: Table<Event>,
    /// What was allocated, by address.
    pub(crate) owned: BTreeMap<u64, Owned>,
    /// Registered memory of the host: its address there, and that on the device.
    pub(crate) registered: BTreeMap<u64, u64>,
    pub(crate) allocations: u64,
    pub(crate) host: Box<dyn HostMemory + Send>,
    /// The default stream.
    pub(crate) default_stream: Stream,
    /// The clock of the host: it takes time to ask for work, and waits for the device.
    pub(crate) host_clock: Nanoseconds,
    pub(crate) timeline: Timeline,
    virtual_clock: bool,
    pub(crate) streams_made: u32,
    /// Rates of copies, for each GPU.
    pub(crate) transfers: Vec<Transfers>,
    pub(crate) graphs: Graphs,
    pub(crate) arrays: Arrays,
    pub(crate) pools: Pools,
    pub(crate) user_objects: UserObjects,
    pub(crate) times: Times,
    pub(crate) trail: Trail,
    contexts: Table<()>,
    /// The context that the runtime API uses too.
    primary: Option<Handle>,
    is_started: bool,
    sticky: Option<Status>,
    /// What went wrong last.
    last_words: String,
    said: BTreeSet<String>,
    pub(crate) checks: Checks,
    /// Lines with findings that have been said.
    pub(crate) found: BTreeSet<String>,
    pub(crate) looks_for_leaks: bool,
    /// No launch is executed.
    pub(crate) leaves_out: bool,
    /// Where launches are kept.
    pub(crate) store: Option<Store>,
    /// Launches up to now.
    pub(crate) launched: u64,
}

impl Runtime {
    /// A device as a configuration says.
    pub fn new(config: Config, host: Box<dyn HostMemory + Send>) -> Self {
        let Config { machines, trail, threads, sample, code, options, virtual_clock, checks, archive, .. } = config;
        let (allow_overreads, leaves_out) = (config.allow_overreads, config.leaves_out);
        let limit = host::memory_for_buffers();
        let mut trail = match trail.map(|path| Trail::open(&path)) {
            None => Trail::NONE,
            Some(Ok(trail)) => trail,
            Some(Err(error)) => {
                say(&format!("{}: {error}; what the program does is not written down", environment::TRAIL));
                Trail::NONE
            }
        };
        let gpus = machines.iter().map(|machine| machine.id.clone()).collect();
        let transfers: Vec<_> = machines.iter().map(Transfers::of).collect();
        let assumptions = [&options.assumptions[..], &transfers[0].assumptions[..]].concat();
        trail.note(&Entry::Start { process: std::process::id(), gpus, assumptions });
        Self {
            context: Context::new(64, limit),
            limit,
            properties: Arc::new(Properties::of(&machines[0], limit)),
            options: ExecutionOptions { allow_overreads, ..served::options(&machines, threads, sample) },
            leaves_out,
            search: Search { code, ..Search::from_environment() },
            modules: Table::new(1),
            functions: Table::new(2),
            stubs: BTreeMap::new(),
            shadows: BTreeMap::new(),
            linkers: Table::new(16),
            streams: Table::new(3),
            events: Table::new(4),
            owned: BTreeMap::new(),
            registered: BTreeMap::new(),
            allocations: 0,
            host,
            default_stream: Stream::default(),
            host_clock: Nanoseconds::default(),
            timeline: Timeline::default(),
            virtual_clock,
            streams_made: 0,
            transfers,
            machines,
            times: Times::new(sample, options.options),
            graphs: Graphs::default(),
            arrays: Arrays::default(),
            pools: Pools::default(),
            user_objects: UserObjects::default(),
            trail,
            contexts: Table::new(5),
            primary: None,
            is_started: false,
            sticky: None,
            last_words: String::new(),
            said: BTreeSet::new(),
            looks_for_leaks: checks.contains(&Check::Leaks),
            checks: checks::of(&checks),
            found: BTreeSet::new(),
            store: archive::open(archive),
            launched: 0,
        }
    }

    /// The program has run for so many seconds between two calls. Unless its clocks follow the device, that takes no time
    /// on the device's clock, so that predicted times are the same every time.
    pub fn host_ran(&mut self, seconds: f64) {
        if self.virtual_clock {
            self.host_clock = self.host_clock.after(seconds);
        }
    }

    /// The clock of the host in nanoseconds, where the program's clocks follow it.
    pub fn virtual_clock(&self) -> Option<f64> {
        self.virtual_clock.then_some(self.host_clock.0)
    }

    /// The driver is started.
    pub fn start(&mut self) {
        self.is_started = true;
    }

    /// Refuses calls of the driver before it is started. The runtime API starts it itself.
    pub fn started(&self) -> Result<()> {
        if self.is_started || self.has_registered() { Ok(()) } else { Err(Status::NOT_INITIALIZED) }
    }

    /// True if the program uses the runtime API, as its kernels or its memory say.
    pub fn has_registered(&self) -> bool {
        !self.stubs.is_empty() || !self.shadows.is_empty()
    }

    /// Makes a context.
    pub fn create_context(&mut self) -> Handle {
        self.contexts.insert(())
    }

    /// The context that the runtime API uses too.
    pub fn primary_context(&mut self) -> Handle {
        *self.primary.get_or_insert_with(|| self.contexts.insert(()))
    }

    /// Whether a context is there.
    pub fn is_context(&self, context: Handle) -> bool {
        self.contexts.get(context).is_some()
    }

    /// Takes a context away that the program has made; the one that the runtime API uses stays.
    pub fn destroy_context(&mut self, context: Handle) -> Result<()> {
        if self.primary == Some(context) {
            return Err(Status::INVALID_CONTEXT);
        }
        self.contexts.remove(context).ok_or(Status::INVALID_CONTEXT)
    }

    /// The GPU that the program sees.
    pub(crate) fn machine(&self) -> &Machine {
        &self.machines[0]
    }

    /// The error after which the device takes no more work, if there was one.
    pub fn alive(&self) -> Result<()> {
        self.sticky.map_or(Ok(()), Err)
    }

    /// Says what went wrong, writes it down, and keeps an error that stays.
    pub fn fail(&mut self, status: Status, message: &str) -> Status {
        if status.is_sticky() {
            self.sticky = Some(status);
        }
        say(message);
        message.clone_into(&mut self.last_words);
        self.trail.note(&Entry::Failure { process: std::process::id(), message: message.to_owned() });
        status
    }

    /// What went wrong last, for the logs of compilers and linkers.
    pub fn last_words(&self) -> &str {
        &self.last_words
    }

    /// The device takes no more work because of a bug of ours.
    pub fn broken(&mut self, what: &str) -> Status {
        self.sticky = Some(Status::UNKNOWN);
        self.fail(Status::UNKNOWN, &format!("a bug of warplens: {what}; please report it"))
    }

    /// A call that is not supported: it is named once.
    pub fn unsupported(&mut self, function: &str) -> Status {
        if self.said.insert(function.to_owned()) {
            say(&format!("{function} is not supported"));
            self.trail.note(&Entry::Unsupported { process: std::process::id(), function: function.to_owned() });
        }
        Status::NOT_SUPPORTED
    }

    /// Says something once.
    pub(crate) fn say_once(&mut self, message: &str) {
        if self.said.insert(message.to_owned()) {
            say(message);
        }
    }
}

/// A line on standard error.
pub fn say(message: &str) {
    let shown = warplens_base::visible(message, warplens_base::Keep::Tabs);
    // Nobody is left to tell where standard error is closed.
    let _ = writeln!(std::io::stderr(), "warplens: {shown}");
}

/// An error with its details and the way out, on one line each.
pub(crate) fn words(error: &Error) -> String {
    let mut text = error.message.clone();
    for detail in &error.details {
        text += &format!("; {detail}");
    }
    if let Some(finding) = error.findings.as_ref().and_then(|findings| findings.diagnostics.first())
        && !text.contains(&finding.message)
    {
        text += &format!(": {}", finding.message);
    }
    text
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A device.
    pub(crate) fn runtime() -> Runtime {
        let machines = warplens_session::machines::select("a100-80").unwrap();
        Runtime::new(
            Config {
                machines,
                trail: None,
                threads: 1,
                sample: None,
                code: warplens_session::toolchain::CodeKind::default(),
                options: served::Answering::default(),
                virtual_clock: false,
                allow_overreads: false,
                leaves_out: false,
                checks: Vec::new(),
                archive: None,
            },
            Box::new(crate::memory::NoMemory),
        )
    }
}
