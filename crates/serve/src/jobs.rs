//! Answers in the making, and those that were made.
//!
//! Closed forms answer at once; simulations run one at a time, in the order in which they were asked for. A question is
//! asked again and again while it is worked on, and each time the reply says how far it is; whoever asks no more has lost
//! interest, and the work ends soon. So a page that changes its question, or is closed, leaves nothing behind,
//! and two pages with one question share its work. Answers are kept, the most recent ones, up to a number and a size.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use serde_json::json;
use tokio::sync::{Semaphore, watch};
use warplens_base::error::Error;
use warplens_base::stop::{Stop, Stopped};
use warplens_session::Progress;

use crate::answer::{Answer, answer};
use crate::question::Question;
use crate::served::{Served, Subject};

/// How long a request waits for its answer before it says how far that is.
const PATIENCE: Duration = Duration::from_millis(400);
/// Work that nobody has asked about for so long is given up.
const ABANDONED: Duration = Duration::from_secs(2);
/// How often it is looked whether anybody still asks.
const WATCH: Duration = Duration::from_millis(250);
/// Closed forms that are asked at a time; more would only share the cores.
const QUICK: usize = 2;
/// GPUs about which questions are answered before they are asked.
const PREPARED: usize = 2;
/// Questions that may wait.
const MOST_WAITING: usize = 32;
/// Answers that are kept, and their bytes together.
const MOST_KEPT: usize = 256;
const MOST_BYTES: usize = 64 << 20;

/// What a browser gets.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) json: Arc<str>,
}

/// The answers of a server.
pub(crate) struct Jobs {
    subject: Arc<Subject>,
    state: Mutex<State>,
    quick: Semaphore,
    simulations: Semaphore,
}

#[derive(Default)]
struct State {
    /// The most recently made are the last.
    kept: VecDeque<(Question, Reply)>,
    bytes: usize,
    working: HashMap<Question, Arc<Job>>,
}

/// A question that is worked on.
struct Job {
    simulates: bool,
    progress: Arc<Progress>,
    stop: Stop,
    asked: Instant,
    started: OnceLock<Instant>,
    interest: Mutex<Interest>,
    reply: watch::Receiver<Option<Reply>>,
}

struct Interest {
    /// Requests that wait now.
    waiting: usize,
    /// When the last one went.
    last: Instant,
}

/// A request that waits for a job.
struct Waiting<'j>(&'j Job);

impl Jobs {
    pub(crate) fn new(served: Served) -> Self {
        let subject = Arc::new(Subject::new(served));
        Self { subject, state: Mutex::default(), quick: Semaphore::new(QUICK), simulations: Semaphore::new(1) }
    }

    pub(crate) fn served(&self) -> &Served {
        &self.subject.served
    }

    /// The answer, or how far it is.
    pub(crate) async fn ask(self: &Arc<Self>, question: Question) -> Reply {
        let job = match self.find(question) {
            Ok(job) => job,
            Err(reply) => return reply,
        };
        let waiting = Waiting::new(&job);
        let mut made = job.reply.clone();
        let made = tokio::time::timeout(PATIENCE, made.wait_for(Option::is_some)).await;
        let made = made.ok().and_then(Result::ok).and_then(|reply| reply.clone());
        drop(waiting);
        made.unwrap_or_else(|| job.running())
    }

    /// Answers what a reader is likely to ask, one after the other, while nobody has asked yet: the prices of all effects
    /// leave behind what other questions are answered from.
    pub(crate) async fn prepare(self: Arc<Self>) {
        let served = self.served();
        let machines = 0..served.machines.len().min(PREPARED);
        for (machine, variant) in machines.flat_map(|machine| (0..served.variants.len()).map(move |at| (machine, at))) {
            let question = Question::prices(variant, machine);
            while self.ask(question.clone()).await.status == StatusCode::ACCEPTED {}
        }
    }

    /// The work on a question, which begins where nobody has asked it before; or what is known already.
    fn find(self: &Arc<Self>, question: Question) -> Result<Arc<Job>, Reply> {
        let mut state = self.lock();
        if let Some(reply) = state.kept(&question) {
            return Err(reply);
        }
        if let Some(job) = state.working.get(&question).filter(|job| !job.stop.is_told()) {
            return Ok(job.clone());
        }
        if state.working.len() >= MOST_WAITING {
            let json = json!({ "state": "refused", "message": "too many questions wait for their answers" });
            return Err(Reply::of(StatusCode::SERVICE_UNAVAILABLE, &json));
        }
        let (sender, reply) = watch::channel(None);
        let now = Instant::now();
        let job = Arc::new(Job {
            simulates: question.simulates(),
            progress: Arc::default(),
            stop: Stop::default(),
            asked: now,
            started: OnceLock::new(),
            interest: Mutex::new(Interest { waiting: 0, last: now }),
            reply,
        });
        state.working.insert(question.clone(), job.clone());
        drop(state);
        tokio::spawn(self.clone().work(question, job.clone(), sender));
        Ok(job)
    }

    /// Works on a question as long as anybody wants to know.
    async fn work(self: Arc<Self>, question: Question, job: Arc<Job>, sender: watch::Sender<Option<Reply>>) {
        let lane = if question.simulates() { &self.simulations } else { &self.quick };
        let turn = lane.acquire().await;
        let reply = if turn.is_err() || job.is_abandoned() { None } else { self.made(&question, &job).await };
        let mut state = self.lock();
        // One that was given up may have been asked again.
        if state.working.get(&question).is_some_and(|own| Arc::ptr_eq(own, &job)) {
            state.working.remove(&question);
        }
        if let Some(reply) = &reply {
            state.keep(question, reply.clone());
        }
        drop(state);
        sender.send_replace(reply);
    }

    /// The reply to a question; none where it was given up.
    async fn made(&self, question: &Question, job: &Job) -> Option<Reply> {
        let started = *job.started.get_or_init(Instant::now);
        let (own, subject, progress, stop) =
            (question.clone(), self.subject.clone(), job.progress.clone(), job.stop.clone());
        let mut work = tokio::task::spawn_blocking(move || stop.within(|| answer(&own, &subject, &progress)));
        let made = loop {
            tokio::select! {
                made = &mut work => break made,
                () = tokio::time::sleep(WATCH) => {
                    if job.is_abandoned() {
                        job.stop.stop();
                    }
                }
            }
        };
        match made {
            Ok(Ok(answer)) => Some(Reply::done(&answer, started.elapsed())),
            Ok(Err(error)) => Some(Reply::refused(&error)),
            Err(failed) => match failed.try_into_panic() {
                Ok(why) if why.is::<Stopped>() => None,
                _ => {
                    let message = "this question met a bug of ours, which the terminal of the server tells";
                    let json = json!({ "state": "refused", "message": message });
                    Some(Reply::of(StatusCode::INTERNAL_SERVER_ERROR, &json))
                }
            },
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing is left half done where a holder panics: entries are whole or missing.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// An answer that was made before; it is the most recent one from now on.
    fn kept(&mut self, question: &Question) -> Option<Reply> {
        let at = self.kept.iter().position(|(own, _)| own == question)?;
        let entry = self.kept.remove(at)?;
        let reply = entry.1.clone();
        self.kept.push_back(entry);
        Some(reply)
    }

    fn keep(&mut self, question: Question, reply: Reply) {
        self.bytes += reply.json.len();
        self.kept.push_back((question, reply));
        while self.kept.len() > MOST_KEPT || (self.bytes > MOST_BYTES && self.kept.len() > 1) {
            let Some((_, oldest)) = self.kept.pop_front() else { break };
            self.bytes -= oldest.json.len();
        }
    }
}

impl Job {
    fn is_abandoned(&self) -> bool {
        let interest = self.interest();
        interest.waiting == 0 && interest.last.elapsed() > ABANDONED
    }

    fn interest(&self) -> MutexGuard<'_, Interest> {
        self.interest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How far the work is.
    fn running(&self) -> Reply {
        let (done, total) = (self.progress.done.load(Ordering::Relaxed), self.progress.total.load(Ordering::Relaxed));
        let json = json!({
            "state": "running",
            "waits": self.started.get().is_none(),
            "simulates": self.simulates,
            "done": done,
            "total": total,
            "seconds": self.started.get().unwrap_or(&self.asked).elapsed().as_secs_f64(),
        });
        Reply::of(StatusCode::ACCEPTED, &json)
    }
}

impl<'j> Waiting<'j> {
    fn new(job: &'j Job) -> Self {
        job.interest().waiting += 1;
        Self(job)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut interest = self.0.interest();
        interest.waiting -= 1;
        interest.last = Instant::now();
    }
}

impl Reply {
    fn of(status: StatusCode, json: &serde_json::Value) -> Self {
        Self { status, json: json.to_string().into() }
    }

    fn done(answer: &Answer, took: Duration) -> Self {
        match answer {
            Answer::Document(document) => Self::of(StatusCode::OK, document),
            Answer::Page { html, command, extra } => {
                let milliseconds = took.as_secs_f64() * 1e3;
                let json = json!({
                    "state": "done",
                    "milliseconds": milliseconds,
                    "html": html,
                    "command": command,
                    "extra": extra,
                });
                Self::of(StatusCode::OK, &json)
            }
        }
    }

    /// What is wrong with a question, and the way out.
    pub(crate) fn refused(error: &Error) -> Self {
        let json = json!({
            "state": "refused",
            "message": error.message,
            "details": error.details,
            "help": error.help,
        });
        Self::of(StatusCode::BAD_REQUEST, &json)
    }
}
