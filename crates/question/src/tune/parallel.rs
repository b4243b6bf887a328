//! Work on several host threads, with results in the order of the items.

use std::sync::atomic::{AtomicUsize, Ordering};

use warplens_base::stop;

/// Applies `work` to every item on up to `threads` threads.
pub(crate) fn map<T: Sync, R: Send>(items: &[T], threads: usize, work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let n_workers = threads.min(items.len());
    if n_workers <= 1 {
        return items.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            match items.get(at) {
                Some(item) => done.push((at, work(item))),
                None => return done,
            }
        }
    };
    let mut results: Vec<(usize, R)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..n_workers).map(|_| scope.spawn(stop::carried(worker))).collect();
        let done = workers.into_iter().map(|worker| match worker.join() {
            Ok(done) => done,
            // A panic is a bug of ours: it goes on in the thread that asked for the work.
            Err(panic) => std::panic::resume_unwind(panic),
        });
        done.flatten().collect()
    });
    results.sort_unstable_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_of_the_items() {
        let items: Vec<usize> = (0..1000).collect();
        for threads in [0, 1, 3, 2000] {
            assert_eq!(map(&items, threads, |item| item * 2), (0..2000).step_by(2).collect::<Vec<_>>());
        }
        assert_eq!(map(&[] as &[u8], 4, |item| *item), Vec::<u8>::new());
    }
}
