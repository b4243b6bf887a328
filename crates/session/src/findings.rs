//! What is wrong with launches that went well, said with names and places.

use std::sync::{Arc, OnceLock};

use warplens_check::{Fault, Found, Hazard, Ordered, Watcher, Written};
use warplens_device::Context;
use warplens_ir::Module;
use warplens_trace::CtaId;

use crate::failure;
use crate::program::Program;
use crate::race::Race;
use crate::trail::Check;

/// What launches are checked for.
#[derive(Clone, Debug, Default)]
pub struct Checks {
    /// Races are looked for.
    pub races: bool,
    /// What has been written of the device's memory, where reads of other bytes are looked for.
    pub written: Option<Arc<Written>>,
}

/// Something that was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// By which check.
    pub check: Check,
    /// The line of the code.
    pub place: String,
    /// What happens there, with an example.
    pub message: String,
    /// How often it happened.
    pub count: u64,
}

/// The ordered accesses of a module, found when they are first asked for.
#[derive(Default)]
pub(crate) struct OrderedOf(OnceLock<Ordered>);

impl OrderedOf {
    fn of(&self, module: &Module) -> Ordered {
        self.0.get_or_init(|| Ordered::of(module)).clone()
    }
}

impl Checks {
    /// Who looks at a launch; nobody where nothing is to be looked for.
    pub(crate) fn watcher(&self, module: &Module, ordered: &OrderedOf) -> Option<Watcher> {
        let races = self.races.then(|| ordered.of(module));
        (races.is_some() || self.written.is_some()).then(|| Watcher::new(races, self.written.clone()))
    }
}

/// A launch whose findings are put into words.
pub(crate) struct Watched<'a> {
    pub(crate) program: &'a Program,
    pub(crate) context: &'a Context,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
}

impl Watched<'_> {
    /// Something inside of a block, or a read of what nothing wrote.
    pub(crate) fn found(&self, found: &Found) -> Finding {
        let (place, thread) = (failure::place(self.program, found.pc), self.thread(found.cta, found.thread));
        let (check, message) = match found.fault {
            Fault::Unwritten => (Check::Uninitialised, self.unwritten(found, &thread)),
            Fault::Race { hazard, other } => {
                let [does, did] = match hazard {
                    Hazard::ReadAfterWrite => ["reads", "writes"],
                    Hazard::WriteAfterRead => ["writes", "reads"],
                    Hazard::WriteAfterWrite => ["writes", "writes"],
                };
                let warp = found.other_warp.unwrap_or_default();
                let there = failure::place(self.program, other);
                let byte = found.address;
                let message = format!(
                    "{thread} {does} byte {byte} of shared memory, which warp {warp} {did} at {there}, with no barrier \
                     between them"
                );
                (Check::Races, message)
            }
        };
        Finding { check, place, message, count: found.count }
    }

    /// A race between blocks.
    pub(crate) fn race(&self, race: &Race) -> Finding {
        let form = self.program.form();
        let source = race.source.as_ref().map(|(file, line)| format!(" ({file}:{line})")).unwrap_or_default();
        let place = format!("{} {}{source}", form.line(), race.ptx_line);
        Finding { check: Check::Races, place, message: race.said(form), count: 1 }
    }

    fn unwritten(&self, found: &Found, thread: &str) -> String {
        let bytes = found.bytes;
        let place = match self.context.locate(found.address) {
            Ok(location) => format!("byte {} of `{}`", location.offset, location.name),
            Err(_) => format!("{:#x}", found.address),
        };
        format!("{thread} reads {bytes} bytes, of which {place} was never written")
    }

    fn thread(&self, CtaId(cta): CtaId, thread: u32) -> String {
        let triple =
            |number: u32, [x, y, _]: [u32; 3]| format!("({},{},{})", number % x, number / x % y, number / x / y);
        format!("thread {} of block {}", triple(thread, self.block), triple(cta, self.grid))
    }
}
