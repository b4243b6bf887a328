//! The screens of the README and of the manual are what the program prints: blocks `console` whose first line is the
//! command. The table of the tutorial beside them has times that were measured.
//!
//! `UPDATE=1 cargo test -p warplens-cli --test manual` rewrites them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

const OPENING: &str = "```console\n$ warplens ";
const CLOSING: &str = "```\n";

/// Columns of the screens in the manual; those of the README are as wide as where no terminal reads them.
const COLUMNS: &str = "88";

/// The page with times, and the table that they were measured in.
const TUTORIAL: &str = "docs/tutorial.md";
const MEASURED: &str = "validation/measured/h200/ladder.csv";
/// The part of the page for them.
const TIMES: [&str; 2] = ["<!-- generated: times -->\n", "<!-- end: times -->"];
/// The arguments of the launches that the tutorial shows begin with these.
const SIZES: &str = "1024;1024;1024;";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A page with screens.
struct Page {
    path: String,
    text: String,
}

impl Page {
    /// The commands, each with what follows its screen.
    fn screens(&self) -> impl Iterator<Item = (&str, &str)> {
        self.text.split(OPENING).skip(1).map(|part| {
            let (command, rest) = part.split_once('\n').expect("a command is a line");
            let (_, rest) = rest.split_once(CLOSING).expect("a block is closed");
            (command, rest)
        })
    }

    /// The page with these screens in place of its own.
    fn with(&self, screens: &[String]) -> String {
        let first = self.text.split(OPENING).next().unwrap_or_default().to_owned();
        let fresh = self.screens().zip(screens);
        let fresh = fresh.fold(first, |page, ((command, rest), screen)| {
            page + &format!("{OPENING}{command}\n{screen}{CLOSING}{rest}")
        });
        if self.path == TUTORIAL { with_times(&fresh) } else { fresh }
    }
}

fn pages() -> Vec<Page> {
    let mut paths = vec!["README.md".to_owned()];
    for folder in ["docs", "docs/models"] {
        let entries = std::fs::read_dir(root().join(folder)).expect("the manual can be listed");
        let names = entries.map(|entry| entry.expect("a page can be read").file_name().to_string_lossy().into_owned());
        paths.extend(names.filter(|name| name.ends_with(".md")).map(|name| format!("{folder}/{name}")));
    }
    paths.sort();
    let read = |path: String| {
        let text = std::fs::read_to_string(root().join(&path)).expect("a page can be read");
        Page { path, text }
    };
    paths.into_iter().map(read).filter(|page| page.text.contains(OPENING)).collect()
}

fn printed(page: &Page, command: &str) -> String {
    let mut words: Vec<&str> = command.split(' ').collect();
    if page.path != "README.md" {
        words.extend(["--width", COLUMNS]);
    }
    let output = Command::new(env!("CARGO_BIN_EXE_warplens"))
        .args(words)
        .current_dir(root())
        .env_clear()
        .output()
        .expect("the program can be started");
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs the commands of all pages, as many at a time as there are cores.
fn screens(pages: &[Page]) -> Vec<Vec<String>> {
    let jobs: Vec<(usize, &Page, &str)> = pages
        .iter()
        .enumerate()
        .flat_map(|(at, page)| page.screens().map(move |(command, _)| (at, page, command)))
        .collect();
    let next = AtomicUsize::new(0);
    let done = Mutex::new(vec![String::new(); jobs.len()]);
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some((_, page, command)) = jobs.get(at) else { return };
            let screen = printed(page, command);
            done.lock().unwrap_or_else(PoisonError::into_inner)[at] = screen;
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let done = done.into_inner().expect("no thread has failed");
    let mut screens = vec![Vec::new(); pages.len()];
    for ((page, ..), screen) in jobs.iter().zip(done) {
        screens[*page].push(screen);
    }
    screens
}

/// The page with the times of its screens beside those that were measured.
fn with_times(page: &str) -> String {
    let measured = std::fs::read_to_string(root().join(MEASURED)).expect("the measured table can be read");
    let mut table = String::from("| Kernel | Measured | Predicted | Error | Set |\n|---|---:|---:|---:|---|\n");
    for row in measured.lines().filter(|row| row.contains(&format!(",{SIZES}"))) {
        let mut cells = row.split(',');
        let (kernel, gpu) = (cells.next().unwrap_or_default(), cells.next().unwrap_or_default());
        let measured: f64 = cells.next().and_then(|cell| cell.parse().ok()).expect("the third column is a time");
        let Some(predicted) = microseconds(page, &format!("\n{kernel} on {gpu} ")) else { continue };
        let error = (predicted / measured - 1.0) * 100.0;
        let set = if row.contains(",held-out,") { "held-out" } else { "training" };
        table += &format!("| `{kernel}` | {measured:.1} us | {predicted:.1} us | {error:+.1} % | {set} |\n");
    }
    let (before, rest) = page.split_once(TIMES[0]).expect("the part for times begins");
    let (_, after) = rest.split_once(TIMES[1]).expect("the part for times ends");
    format!("{before}{}\n{table}\n{}{after}", TIMES[0], TIMES[1])
}

/// The time of the screen whose first line is this.
fn microseconds(page: &str, first: &str) -> Option<f64> {
    let (_, screen) = page.split_once(first)?;
    let mut words = screen.split_once("\n  time ")?.1.split_whitespace();
    let (number, unit) = (words.next()?, words.next()?);
    let factor = [("ns", 1e-3), ("us", 1.0), ("ms", 1e3), ("s", 1e6)].into_iter().find(|(name, _)| *name == unit)?.1;
    Some(number.parse::<f64>().ok()? * factor)
}

#[test]
fn the_screens_are_what_the_program_prints() {
    let pages = pages();
    let mut stale = Vec::new();
    for (page, screens) in pages.iter().zip(screens(&pages)) {
        let fresh = page.with(&screens);
        if fresh == page.text {
            continue;
        }
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(root().join(&page.path), &fresh).expect("a page can be written");
        } else {
            stale.push(page.path.as_str());
        }
    }
    assert!(pages.iter().any(|page| page.path == "README.md"), "the README has no screen");
    assert!(stale.is_empty(), "{} stale; UPDATE=1 rewrites the screens", stale.join(", "));
}
