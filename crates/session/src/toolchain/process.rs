//! Runs a compiler: no longer than a limit, and keeping no more of what it says than anybody reads.
//!
//! A compiler is a tree of processes. On Unix it is started as a group of its own, and the whole group is ended when
//! the time is over.

use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::limit::TimeLimit;
use warplens_base::error::Error;
use warplens_base::stop;

/// Bytes that are kept of each stream.
const KEPT: usize = 1 << 20;
/// How often a running compiler is looked at.
const INTERVAL: Duration = Duration::from_millis(5);
/// How long a stream may stay open when its compiler has ended: something that it left behind may hold it.
const GRACE: Duration = Duration::from_secs(1);

/// What a program said, and how it ended.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) status: ExitStatus,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// Why a program has nothing to say.
#[derive(Debug)]
pub(super) enum Failure {
    /// The system does not run it.
    NotStarted(Error),
    /// It was ended, or the limit is none.
    Limit(Error),
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::NotStarted(error) | Failure::Limit(error) => error,
        }
    }
}

/// Runs a program to its end. `name` is what messages call it.
pub(super) fn run(command: &mut Command, name: &str, limit: &TimeLimit) -> Result<Finished, Failure> {
    let seconds = limit.seconds().map_err(Failure::Limit)?;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    own_group(command);
    let failed = |error: std::io::Error| Failure::NotStarted(Error::input(format!("cannot run {name}: {error}")));
    let mut child = command.spawn().map_err(failed)?;
    let stdout = child.stdout.take().map(Stream::of);
    let stderr = child.stderr.take().map(Stream::of);
    let deadline = Instant::now() + Duration::from_secs(seconds);
    let status = loop {
        match child.try_wait().map_err(failed)? {
            Some(status) => break status,
            None if Instant::now() >= deadline => {
                end(&mut child);
                return Err(Failure::Limit(too_slow(&format!("{name} was ended"), seconds)));
            }
            None if stop::is_told() => {
                end(&mut child);
                stop::check();
            }
            None => std::thread::sleep(INTERVAL),
        }
    };
    let text = |stream: Option<Stream>| stream.map(Stream::text).unwrap_or_default();
    Ok(Finished { status, stdout: text(stdout), stderr: text(stderr) })
}

/// A compiler did not end in time. `what` says what became of it.
pub(super) fn too_slow(what: &str, seconds: u64) -> Error {
    Error::input(format!("{what}: it took more than {seconds} s"))
        .with_help(format!("{}=SECONDS gives it more time", TimeLimit::VARIABLE))
}

#[cfg(unix)]
fn own_group(command: &mut Command) {
    std::os::unix::process::CommandExt::process_group(command, 0);
}

#[cfg(not(unix))]
fn own_group(_: &mut Command) {}

/// Ends the program with everything that it started, where the system can name that.
fn end(child: &mut Child) {
    #[cfg(unix)]
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        // It may have ended just now, and then there is nothing to be done.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    // The same; and a child that is not waited for stays in the table of processes.
    let _ = child.kill();
    let _ = child.wait();
}

/// A stream that is read to its end, of which the beginning is kept.
struct Stream {
    kept: Arc<Mutex<Kept>>,
    reader: JoinHandle<()>,
}

#[derive(Default)]
struct Kept {
    bytes: Vec<u8>,
    n_left_out: u64,
}

impl Stream {
    fn of(mut from: impl Read + Send + 'static) -> Self {
        let kept = Arc::new(Mutex::new(Kept::default()));
        let shared = kept.clone();
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 1 << 13];
            while let Ok(n_read @ 1..) = from.read(&mut buffer) {
                shared.lock().unwrap_or_else(PoisonError::into_inner).take(&buffer[..n_read]);
            }
        });
        Self { kept, reader }
    }

    fn text(self) -> String {
        let deadline = Instant::now() + GRACE;
        while !self.reader.is_finished() && Instant::now() < deadline {
            std::thread::sleep(INTERVAL);
        }
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::from_utf8_lossy(&kept.bytes).into_owned();
        if kept.n_left_out > 0 {
            text.push_str(&format!("\n... and {} bytes more\n", kept.n_left_out));
        }
        text
    }
}

impl Kept {
    fn take(&mut self, bytes: &[u8]) {
        let fit = bytes.len().min(KEPT - self.bytes.len());
        self.bytes.extend_from_slice(&bytes[..fit]);
        self.n_left_out += (bytes.len() - fit) as u64;
    }
}
