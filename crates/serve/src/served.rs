//! What the page is about: launches that were executed, and the GPUs that may be asked about.

use std::path::PathBuf;

use warplens_base::error::{Error, Result};
use warplens_question::compare;
use warplens_question::whatif::Kept;
use warplens_session::machines::Machine;
use warplens_session::predict::{ModelId, Options, PREFERENCE, models};
use warplens_session::{Measurement, Program};

/// Everything that can be asked about. A browser chooses among it and adds nothing.
#[derive(Clone, Debug)]
pub struct Served {
    /// The launches.
    pub variants: Vec<Variant>,
    /// The GPUs.
    pub machines: Vec<Machine>,
    /// The options of the models.
    pub options: Options,
    /// Flags of the models, as a user types them, for the commands that the page shows.
    pub flags: String,
}

/// A launch.
#[derive(Clone, Debug)]
pub struct Variant {
    /// What the user calls it.
    pub name: String,
    /// The counts, with what warps executed.
    pub measurement: Measurement,
    /// The program; none where the counts come from a file.
    pub program: Option<Box<Program>>,
    /// The file that was read, beside which sources are looked for.
    pub input: PathBuf,
    /// The input and its launch, as a user types them.
    pub words: Words,
}

/// An input and its launch as words of a command line.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Words {
    /// For a verb of one input.
    pub alone: String,
    /// For a verb of several: `NAME=INPUT@LAUNCH`.
    pub item: String,
    /// The kernel, where it was named.
    pub kernel: Option<String>,
    /// Flags that hold for all inputs.
    pub common: String,
}

/// What is served, with what is kept of each launch while questions about it are answered.
#[derive(Debug)]
pub(crate) struct Subject {
    pub(crate) served: Served,
    /// By variant.
    pub(crate) kept: Vec<Kept>,
}

impl Subject {
    pub(crate) fn new(served: Served) -> Self {
        let kept = served.variants.iter().map(|_| Kept::default()).collect();
        Self { served, kept }
    }
}

/// The model that follows warps through time, and so takes its own.
pub(crate) const SIMULATION: ModelId = ModelId::Teg;

impl Served {
    /// Refuses what a page cannot tell apart.
    pub fn check(&self) -> Result<()> {
        let names: Vec<String> = self.variants.iter().map(|variant| variant.name.clone()).collect();
        if names.is_empty() || self.machines.is_empty() {
            return Err(Error::usage("there is nothing to serve: it takes a launch and a GPU"));
        }
        compare::check_names(&names)
    }

    /// Position of a variant.
    pub(crate) fn variant(&self, name: &str) -> Option<usize> {
        self.variants.iter().position(|variant| variant.name == name)
    }

    /// Position of a GPU.
    pub(crate) fn machine(&self, id: &str) -> Option<usize> {
        self.machines.iter().position(|machine| machine.id == id)
    }
}

/// The models that answer at once: the preferred ones first.
pub(crate) fn closed_forms() -> Vec<ModelId> {
    let preferred = PREFERENCE.iter().copied();
    let others = models().iter().map(|model| model.id()).filter(|model| !PREFERENCE.contains(model));
    preferred.chain(others).filter(|model| *model != SIMULATION).collect()
}
