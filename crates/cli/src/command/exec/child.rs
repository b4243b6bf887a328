//! The program that `exec` starts, up to its end.

use std::io::{Read, Result};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use warplens_base::stop;

use crate::terminal::Terminal;

/// How often it is looked whether a program has ended whose end nobody tells.
const INTERVAL: Duration = Duration::from_millis(10);

/// Starts a program and waits for its end. It has the streams of this process, unless these are not the client's.
pub(super) fn wait(command: &mut Command, terminal: &Terminal) -> Result<ExitStatus> {
    if terminal.has_streams() { wait_in_shell(command) } else { wait_for_caller(command, terminal) }
}

/// What interrupts the command ends the program, and not the report: a terminal tells both; where there is none, the
/// program is told what the command was told.
#[cfg(unix)]
fn wait_in_shell(command: &mut Command) -> Result<ExitStatus> {
    use std::io::IsTerminal as _;

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let handle = signals.handle();
    let mut child = command.spawn()?;
    let id = rustix::process::Pid::from_child(&child);
    let by_terminal = std::io::stdin().is_terminal();
    let told = std::thread::spawn(move || {
        for number in signals.forever() {
            let signal = match number {
                SIGINT if by_terminal => continue,
                SIGINT => rustix::process::Signal::INT,
                SIGHUP => rustix::process::Signal::HUP,
                _ => rustix::process::Signal::TERM,
            };
            // It may have ended by now.
            let _ = rustix::process::kill_process(id, signal);
        }
    });
    let status = child.wait();
    handle.close();
    // The thread ends with the signals that it waits for.
    let _ = told.join();
    status
}

/// Starts a program and waits for its end.
#[cfg(not(unix))]
fn wait_in_shell(command: &mut Command) -> Result<ExitStatus> {
    command.status()
}

/// What the program writes goes to the caller, and a caller who wants it no more ends it.
fn wait_for_caller(command: &mut Command, terminal: &Terminal) -> Result<ExitStatus> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (status, output, messages) = std::thread::scope(|scope| {
        let output = scope.spawn(|| all_of(stdout));
        let messages = scope.spawn(|| all_of(stderr));
        let status = end_of(&mut child);
        let text = |read: std::thread::ScopedJoinHandle<'_, Vec<u8>>| read.join().unwrap_or_default();
        (status, text(output), text(messages))
    });
    stop::check();
    terminal.to_caller(&output, &messages);
    status
}

/// Waits for the end, and brings it about where the caller wants no more.
fn end_of(child: &mut Child) -> Result<ExitStatus> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if stop::is_told() {
            // It may have ended by now.
            let _ = child.kill();
            return child.wait();
        }
        std::thread::sleep(INTERVAL);
    }
}

fn all_of(stream: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    // What cannot be read was not written.
    let _ = stream.map(|mut stream| stream.read_to_end(&mut bytes));
    bytes
}
