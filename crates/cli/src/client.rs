//! Who reads what a command says: a shell, through the streams of this process, or a client that gets it in an answer.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use warplens_report::Section;
use warplens_session::Progress;

/// Who reads.
#[derive(Clone, Debug)]
pub(crate) enum Client {
    /// Whoever reads the streams of this process.
    Shell,
    /// Who asked by [`answer`](crate::answer()).
    Caller(Arc<Said>),
}

/// What a command has said to a caller up to now.
#[derive(Default, Debug)]
pub(crate) struct Said {
    said: Mutex<Parts>,
}

/// What a command says.
#[derive(Default, Debug)]
pub(crate) struct Parts {
    /// The data.
    pub(crate) output: Vec<u8>,
    /// The messages, with their line breaks.
    pub(crate) messages: String,
    /// The tables of the result.
    pub(crate) tables: Vec<Section>,
    /// What is done now and takes long: what is counted, and how far it is.
    pub(crate) work: Option<(String, Arc<Progress>)>,
}

impl Said {
    /// What was said, for who adds to it or takes it.
    pub(crate) fn parts(&self) -> MutexGuard<'_, Parts> {
        // Work that is wanted no more may unwind at any place, and leaves whole parts.
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
