//! Work that nobody waits for any more.
//!
//! Whoever asks for work that may take long keeps a [`Stop`] and lets the work run [within](Stop::within) it. The loops in
//! which time goes by [check] it now and then. Once it is told to stop, the work unwinds, through no panic
//! hook, up to whoever asked, where `catch_unwind` or the end of the thread yields [`Stopped`]: nothing that it would have
//! answered is there, and nothing half done is mistaken for an answer. Where nobody keeps a stop, checking does nothing.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    /// That of the work which this thread does.
    static CURRENT: RefCell<Option<Stop>> = const { RefCell::new(None) };
}

/// Tells work that it is wanted no more.
#[derive(Clone, Default, Debug)]
pub struct Stop(Arc<AtomicBool>);

/// What unwinding work carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stopped;

impl Stop {
    /// Tells all work within it to end. What is asked for within it later ends at its first check.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// True once it was told.
    pub fn is_told(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Does work that ends when this is told.
    pub fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        within(Some(self.clone()), work)
    }
}

/// Puts back what was current, also where the work unwinds.
struct Before(Option<Stop>);

impl Drop for Before {
    fn drop(&mut self) {
        let before = self.0.take();
        CURRENT.with(|current| current.replace(before));
    }
}

fn within<T>(stop: Option<Stop>, work: impl FnOnce() -> T) -> T {
    let _before = Before(CURRENT.with(|current| current.replace(stop)));
    work()
}

/// The work as another thread shall do it for whoever waits for this one.
pub fn carried<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let stop = CURRENT.with(|current| current.borrow().clone());
    move || within(stop, work)
}

/// The same for work that is done many times.
pub fn carried_each<I, T>(work: impl Fn(I) -> T) -> impl Fn(I) -> T {
    let stop = CURRENT.with(|current| current.borrow().clone());
    move |item| within(stop.clone(), || work(item))
}

/// True where the work of this thread is wanted no more. For who has something to put away before it [checks](check).
pub fn is_told() -> bool {
    CURRENT.with(|current| current.borrow().as_ref().is_some_and(Stop::is_told))
}

/// Unwinds where the work of this thread is wanted no more.
pub fn check() {
    if is_told() {
        std::panic::resume_unwind(Box::new(Stopped));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_ends_at_its_next_check_and_only_within() {
        let stop = Stop::default();
        let mut n_steps = 0;
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            stop.within(|| {
                loop {
                    check();
                    n_steps += 1;
                    if n_steps == 3 {
                        stop.stop();
                    }
                }
            })
        }));
        let why: Box<dyn std::any::Any + Send> = ended.expect_err("the work had no other end");
        assert!(why.is::<Stopped>());
        assert_eq!(n_steps, 3);
        // Outside nothing was told to stop.
        check();
    }

    #[test]
    fn other_threads_work_for_who_waits() {
        let stop = Stop::default();
        stop.stop();
        let told = |work: &(dyn Fn() -> bool + Sync)| {
            std::thread::scope(|scope| scope.spawn(carried(work)).join().expect("it does not check"))
        };
        assert!(stop.within(|| told(&is_told)));
        assert!(!told(&is_told));
        assert!(stop.within(|| carried_each(|()| is_told()))(()));
    }
}
