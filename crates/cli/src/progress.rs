//! A progress bar on stderr for work beyond a second.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use warplens_session::Progress;

use crate::terminal::Terminal;

/// Work that lasts less shows nothing.
const PATIENCE: Duration = Duration::from_secs(1);
const INTERVAL: Duration = Duration::from_millis(100);

/// Shows the progress until it is dropped.
pub(crate) struct Watch {
    done: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Starts to watch, if anybody would see it.
pub(crate) fn watch(progress: &Arc<Progress>, what: &str, terminal: &Terminal) -> Watch {
    let done = Arc::new(AtomicBool::new(false));
    let thread = terminal.shows_progress().then(|| {
        let (progress, done, what) = (progress.clone(), done.clone(), what.to_owned());
        std::thread::spawn(move || show(&progress, &what, &done))
    });
    Watch { done, thread }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A bar that failed to be drawn is no reason to fail.
            let _ = thread.join();
        }
    }
}

fn show(progress: &Progress, what: &str, done: &AtomicBool) {
    std::thread::park_timeout(PATIENCE);
    if done.load(Ordering::Relaxed) {
        return;
    }
    let style = ProgressStyle::with_template(&format!(
        "{{spinner}} {{pos}}/{{len}} {what} [{{wide_bar}}] {{percent}} % {{eta}} left"
    ))
    .expect("the template is fixed and names known keys");
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()).with_style(style);
    while !done.load(Ordering::Relaxed) {
        bar.set_length(progress.total.load(Ordering::Relaxed));
        bar.set_position(progress.done.load(Ordering::Relaxed));
        bar.tick();
        std::thread::park_timeout(INTERVAL);
    }
    bar.finish_and_clear();
}
