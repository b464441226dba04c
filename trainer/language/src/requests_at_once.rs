//! Requests to servers, several at a time.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Calls `send` for each number below `requests` in so many threads, with the number of the thread, until all
/// requests are sent or one has failed. Returns the answers in the order of the requests.
///
/// # Errors
/// Of the requests that failed, the error of the first.
pub(crate) fn send_at_once<T: Send, E: Send>(
    requests: usize,
    threads: usize,
    send: impl Fn(usize, usize) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let work = |thread: usize| {
        let mut found = Vec::new();
        while !failed.load(Ordering::Relaxed) {
            let request = next.fetch_add(1, Ordering::Relaxed);
            if request >= requests {
                break;
            }
            let answer = send(thread, request);
            failed.fetch_or(answer.is_err(), Ordering::Relaxed);
            found.push((request, answer));
        }
        found
    };
    let mut answers: Vec<(usize, Result<T, E>)> = std::thread::scope(|scope| {
        let work = &work;
        let started: Vec<_> = (0..threads.min(requests))
            .map(|thread| scope.spawn(move || work(thread)))
            .collect();
        let ended = started.into_iter().flat_map(|thread| match thread.join() {
            Ok(found) => found,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        ended.collect()
    });
    answers.sort_by_key(|(request, _)| *request);
    answers.into_iter().map(|(_, answer)| answer).collect()
}
