//! The native module of the Python package, thin: words go in, an answer comes out.
//!
//! `_native.answer` asks the command as a library ([`warplens_cli::answer()`]) without the interpreter's lock, and lets
//! Python hear of its signals and of the progress meanwhile. What a Python user sees (functions, exceptions, displays)
//! is Python, in `python/warplens`. This crate does not know what a verb does.

mod answer;
mod table;

use std::ops::ControlFlow;

use pyo3::prelude::*;

use crate::answer::Answer;

/// The command as a library.
#[pymodule]
mod _native {
    use std::path::PathBuf;

    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::answer::{Answer, Failure, Finding};
    #[pymodule_export]
    use crate::table::Table;

    /// Does what the words ask for.
    #[pyfunction]
    #[pyo3(signature = (words, watch=None))]
    fn answer(py: Python<'_>, words: Vec<String>, watch: Option<Py<PyAny>>) -> PyResult<Answer> {
        crate::ask(py, words, watch)
    }

    /// Says in which folders this Python looks for packages; compilers are looked for there.
    #[pyfunction]
    fn know_python_sites(sites: Vec<PathBuf>) {
        warplens_session::toolchain::know_python_sites(sites);
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

/// Asks without the lock. A signal that Python turns into an exception, or an exception of `watch`, ends the work.
fn ask(py: Python<'_>, words: Vec<String>, watch: Option<Py<PyAny>>) -> PyResult<Answer> {
    let mut raised = None;
    let answer = py.detach(|| {
        warplens_cli::answer(words, &mut |now| {
            let heard = Python::attach(|py| {
                py.check_signals()?;
                match (&watch, now) {
                    (Some(watch), Some(now)) => watch.call1(py, (now.what, now.done, now.total)).map(drop),
                    _ => Ok(()),
                }
            });
            match heard {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    raised = Some(error);
                    ControlFlow::Break(())
                }
            }
        })
    });
    match raised {
        Some(error) => Err(error),
        None => Ok(Answer::from(answer)),
    }
}
