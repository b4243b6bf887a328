//! Where data and messages go: stdout is data, stderr is messages; or both to a client that is no shell.
//!
//! Names and lines of inputs leave the program through here, through the renderers of sections and through `diagnostic`.
//! All of them write characters visibly that a terminal would obey.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use warplens_base::{Keep, visible};
use warplens_report::Section;
use warplens_report::render::{Style, WIDTH};
use warplens_report::view::predict::Detail;
use warplens_session::files::{self, Existing};
use warplens_session::{Findings, Progress};

use crate::client::Client;
use crate::flags::{ColorChoice, GlobalFlags};
use crate::{diagnostic, progress};

/// The two streams with their looks.
#[derive(Debug)]
pub(crate) struct Terminal {
    /// Looks of stdout.
    pub(crate) style: Style,
    error_style: Style,
    quiet: bool,
    /// Columns of text on stdout.
    pub(crate) width: usize,
    /// Columns of text in a file.
    pub(crate) file_width: usize,
    /// How often `-v` was given.
    pub(crate) verbose: u8,
    existing: Existing,
    client: Client,
}

impl Terminal {
    pub(crate) fn new(flags: &GlobalFlags, client: Client) -> Self {
        let is_shell = matches!(client, Client::Shell);
        let style = |is_terminal: bool| match flags.color {
            ColorChoice::Always => Style::Colored,
            ColorChoice::Auto if is_shell && is_terminal && colors_are_welcome() => Style::Colored,
            ColorChoice::Auto | ColorChoice::Never => Style::Plain,
        };
        let asked = flags.width.map(usize::from);
        // Nothing but a terminal's own size: what a pipe gets is the same everywhere.
        let of_terminal = || {
            let size = if is_shell { terminal_size::terminal_size_of(std::io::stdout()) } else { None };
            size.map(|(columns, _)| columns.0.into())
        };
        Self {
            style: style(std::io::stdout().is_terminal()),
            error_style: style(std::io::stderr().is_terminal()),
            quiet: flags.quiet,
            width: asked.or_else(of_terminal).unwrap_or(WIDTH),
            file_width: asked.unwrap_or(WIDTH),
            verbose: flags.verbose,
            existing: if flags.force { Existing::Replace } else { Existing::Keep },
            client,
        }
    }

    /// Writes text for people, in which names and lines of inputs stand as they are, to stdout.
    pub(crate) fn text(&self, text: &str) -> Result<()> {
        self.data(None, &visible(text, Keep::Lines))
    }

    /// Writes data to a file, or to stdout where none is named or its name is `-`.
    pub(crate) fn data(&self, output: Option<&PathBuf>, text: &str) -> Result<()> {
        self.bytes(output, text.as_bytes())
    }

    /// Writes data that may be no text.
    pub(crate) fn bytes(&self, output: Option<&PathBuf>, bytes: &[u8]) -> Result<()> {
        match output.filter(|path| path.as_os_str() != "-") {
            Some(path) => self.file(path, bytes),
            None => match &self.client {
                Client::Caller(said) => {
                    said.parts().output.extend_from_slice(bytes);
                    Ok(())
                }
                Client::Shell => {
                    let mut stdout = std::io::stdout().lock();
                    stdout.write_all(bytes)?;
                    Ok(stdout.flush()?)
                }
            },
        }
    }

    /// Writes a file beside the result.
    pub(crate) fn file(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        Ok(files::write(path, bytes, self.existing)?)
    }

    /// Refuses to write files before anything takes time.
    pub(crate) fn check_writable(&self, paths: &[PathBuf]) -> Result<()> {
        paths.iter().try_for_each(|path| Ok(files::check_writable(path, self.existing)?))
    }

    /// Writes a message, unless the user wants none.
    pub(crate) fn message(&self, text: &str) {
        if !self.quiet {
            self.to_stderr(&visible(text, Keep::Lines));
        }
    }

    /// Writes findings that do not stop the work.
    pub(crate) fn warnings(&self, findings: &Findings) {
        if !self.quiet && !findings.diagnostics.is_empty() {
            self.to_stderr(&diagnostic::render(findings, self.error_style));
        }
    }

    /// Writes why there is no result.
    pub(crate) fn error(&self, error: &anyhow::Error) {
        let text = match error.downcast_ref::<warplens_session::Error>() {
            Some(error) => diagnostic::render_error(error, self.error_style),
            None => diagnostic::plain_error(&format!("{error:#}"), self.error_style),
        };
        self.to_stderr(&text);
    }

    /// True when a progress bar would be seen.
    pub(crate) fn shows_progress(&self) -> bool {
        !self.quiet && matches!(self.client, Client::Shell) && std::io::stderr().is_terminal()
    }

    /// True where data on stdout is read by eyes.
    pub(crate) fn is_screen(&self) -> bool {
        matches!(self.client, Client::Shell) && std::io::stdout().is_terminal()
    }

    /// Keeps the tables of the result for a client that takes them as they are.
    pub(crate) fn keep_tables(&self, tables: &dyn Fn() -> Vec<Section>) {
        if let Client::Caller(said) = &self.client {
            said.parts().tables = tables();
        }
    }

    /// True where what a started program writes goes to the streams of this process.
    pub(crate) fn has_streams(&self) -> bool {
        matches!(self.client, Client::Shell)
    }

    /// Hands a caller what a started program wrote to its streams.
    pub(crate) fn to_caller(&self, output: &[u8], messages: &[u8]) {
        if let Client::Caller(said) = &self.client {
            let mut parts = said.parts();
            parts.output.extend_from_slice(output);
            parts.messages.push_str(&String::from_utf8_lossy(messages));
        }
    }

    /// Does work with a progress bar where one would be seen.
    pub(crate) fn with_progress<T>(&self, work: impl FnOnce(&Progress) -> T) -> T {
        self.with_progress_of("blocks", work)
    }

    /// The same for work that counts `what`.
    pub(crate) fn with_progress_of<T>(&self, what: &str, work: impl FnOnce(&Progress) -> T) -> T {
        let progress = Arc::new(Progress::default());
        let _watch = progress::watch(&progress, what, self);
        if let Client::Caller(said) = &self.client {
            said.parts().work = Some((what.to_owned(), Arc::clone(&progress)));
        }
        let done = work(&progress);
        if let Client::Caller(said) = &self.client {
            said.parts().work = None;
        }
        done
    }

    /// How much is said.
    pub(crate) fn detail(&self) -> Detail {
        match self.verbose {
            0 => Detail::Screen,
            1 => Detail::Quantities,
            _ => Detail::Parameters,
        }
    }

    /// Writes lines beside the data, also where the user wants no messages.
    pub(crate) fn to_stderr(&self, text: &str) {
        let line = format!("{}\n", text.trim_end());
        match &self.client {
            Client::Caller(said) => said.parts().messages.push_str(&line),
            // When stderr is closed there is nobody to tell.
            Client::Shell => drop(std::io::stderr().write_all(line.as_bytes())),
        }
    }
}

/// <https://no-color.org>: any value but the empty one turns colour off.
fn colors_are_welcome() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !is_set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// True when the reader of stdout went away, as `head` does.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<std::io::Error>();
    io.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}
