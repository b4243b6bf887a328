//! A verb asked by a client that is no shell.

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::time::Duration;

use clap::FromArgMatches;
use warplens_base::stop::{Stop, Stopped};
use warplens_report::Section;
use warplens_session::{Error, files};

use crate::client::{Client, Said};
use crate::config::Config;
use crate::flags::Cli;
use crate::process::{self, USAGE};
use crate::terminal::Terminal;

/// What the command calls itself in messages.
const NAME: &str = "warplens";
/// How often a client hears how far the work is.
const INTERVAL: Duration = Duration::from_millis(50);
/// Stack of the thread that works: that of a process.
const STACK_BYTES: usize = 8 << 20;

/// What a command has to say, and how it ended.
#[derive(Debug)]
pub struct Answer {
    /// What the command writes to standard output.
    pub output: Vec<u8>,
    /// What it writes to standard error.
    pub messages: String,
    /// The tables of the result, as CSV has them, with every digit; none of verbs that have no tables.
    pub tables: Vec<Section>,
    /// How it ended.
    pub ended: Ended,
}

/// How a command ended.
#[derive(Debug)]
pub enum Ended {
    /// By itself, with this exit code: a result, no answer of any model (1), or a gate that is breached (3).
    Done(u8),
    /// It could not do what was asked.
    Failed {
        /// Why.
        error: Box<Error>,
        /// The exit code that a shell would get.
        exit_code: u8,
    },
    /// The client wanted it no more.
    Stopped,
}

/// How far work is, in what it counts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Now {
    /// What is counted, such as blocks.
    pub what: String,
    /// So much is done.
    pub done: u64,
    /// All of it; 0 where that is not known yet.
    pub total: u64,
}

/// Does what the words ask for; they are those of the command line behind the name of the program.
///
/// While that takes time, `watch` is called some twenty times a second on the thread of the caller, with how far the work
/// is where that is known. Where it breaks, the work ends within a fraction of a second and leaves nothing behind but
/// files that it had written.
pub fn answer<W: Into<OsString>>(
    words: impl IntoIterator<Item = W>,
    watch: &mut dyn FnMut(Option<Now>) -> ControlFlow<()>,
) -> Answer {
    let words: Vec<OsString> = std::iter::once(NAME.into()).chain(words.into_iter().map(Into::into)).collect();
    let (said, stop) = (Arc::new(Said::default()), Stop::default());
    let ended = std::thread::scope(|scope| {
        let (end, ends) = mpsc::channel::<()>();
        let work = || {
            // The channel closes when the work has ended, in whichever way.
            let _end = end;
            stop.within(|| run(&words, &said))
        };
        let worker = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work);
        let worker = worker.expect("the system has a thread for the work");
        while ends.recv_timeout(INTERVAL) == Err(mpsc::RecvTimeoutError::Timeout) {
            if !stop.is_told() && watch(now(&said)).is_break() {
                stop.stop();
            }
        }
        match worker.join() {
            Ok(ended) => ended,
            Err(why) if why.is::<Stopped>() => Ended::Stopped,
            // A bug of ours: it goes on in the thread that asked.
            Err(panic) => std::panic::resume_unwind(panic),
        }
    });
    let mut parts = said.parts();
    let (output, messages) = (std::mem::take(&mut parts.output), std::mem::take(&mut parts.messages));
    Answer { output, messages, tables: std::mem::take(&mut parts.tables), ended }
}

fn now(said: &Said) -> Option<Now> {
    let parts = said.parts();
    let (what, progress) = parts.work.as_ref()?;
    let (done, total) = (progress.done.load(Ordering::Relaxed), progress.total.load(Ordering::Relaxed));
    Some(Now { what: what.clone(), done, total })
}

fn run(words: &[OsString], said: &Arc<Said>) -> Ended {
    // What earlier commands of this process read is no input of this one.
    files::forget_read();
    let config = Config::load();
    let parsed = process::command(&config).try_get_matches_from(words);
    let parsed = parsed.and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, matches)));
    let (cli, matches) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => return refused(words, error, said),
    };
    let terminal = Terminal::new(&cli.global, Client::Caller(Arc::clone(said)));
    match config.and_then(|_| process::run(cli, &matches, &terminal)) {
        Ok(outcome) => Ended::Done(process::exit_code(outcome)),
        Err(error) => {
            terminal.error(&error);
            let exit_code = process::exit_code_of(&error);
            let error = error.downcast().unwrap_or_else(|error| Error::input(format!("{error:#}")));
            Ended::Failed { error: Box::new(error), exit_code }
        }
    }
}

/// What clap says instead of a verb: the help or the version, or what is wrong with the words.
fn refused(words: &[OsString], error: clap::Error, said: &Said) -> Ended {
    let error = process::shown(words.iter().map(|word| word.to_string_lossy().into_owned())).unwrap_or(error);
    let text = error.to_string();
    if !error.use_stderr() {
        said.parts().output.extend_from_slice(text.as_bytes());
        return Ended::Done(0);
    }
    said.parts().messages.push_str(&text);
    Ended::Failed { error: Box::new(of_parser(&text)), exit_code: USAGE }
}

/// The first paragraph says what is wrong, and those that are tips help; the others repeat the usage.
fn of_parser(text: &str) -> Error {
    let mut paragraphs = text.split("\n\n").map(str::trim);
    let first = paragraphs.next().unwrap_or_default();
    let error = Error::usage(first.strip_prefix("error: ").unwrap_or(first));
    let tips: Vec<&str> = paragraphs.filter_map(|paragraph| paragraph.strip_prefix("tip: ")).collect();
    if tips.is_empty() { error } else { error.with_help(tips.join("\n")) }
}

#[cfg(test)]
mod tests;
