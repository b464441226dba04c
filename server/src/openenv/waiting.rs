//! The frames of a WebSocket that wait while a slow step runs, bounded in number and in bytes.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::extract::ws::Utf8Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Most frames of a connection that wait. Further ones wait in the network.
const FRAMES: usize = 64;

/// Bytes of waiting frames from which on a connection is not read. With the last frame, a connection holds
/// at most these and `--max-message` more.
const BYTES: usize = 64 * 1024;

/// The waiting frames of one connection.
#[derive(Debug)]
pub(super) struct WaitingFrames {
    frames: VecDeque<Waiting>,
    /// One permit for each byte that may wait in all connections together.
    permits: Arc<Semaphore>,
}

#[derive(Debug)]
struct Waiting {
    text: Utf8Bytes,
    /// The permit for its bytes; `None` if other connections have them all.
    permit: Option<OwnedSemaphorePermit>,
}

impl WaitingFrames {
    /// Creates an empty queue, which shares `permits` with other connections.
    pub(super) fn new(permits: &Arc<Semaphore>) -> Self {
        Self {
            frames: VecDeque::new(),
            permits: Arc::clone(permits),
        }
    }

    /// Adds a frame, after all others.
    pub(super) fn push(&mut self, text: Utf8Bytes) {
        let permit = u32::try_from(text.len()).ok().and_then(|bytes| {
            let permits = Arc::clone(&self.permits);
            permits.try_acquire_many_owned(bytes).ok()
        });
        self.frames.push_back(Waiting { text, permit });
    }

    /// Removes the first frame.
    pub(super) fn pop(&mut self) -> Option<Utf8Bytes> {
        self.frames.pop_front().map(|waiting| waiting.text)
    }

    /// Returns `true` if one more frame may be read.
    pub(super) fn has_room(&self) -> bool {
        let bytes: usize = self.frames.iter().map(|waiting| waiting.text.len()).sum();
        let all_have_permits = self.frames.iter().all(|waiting| waiting.permit.is_some());
        self.frames.len() < FRAMES && bytes < BYTES && all_have_permits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(length: usize) -> Utf8Bytes {
        "x".repeat(length).into()
    }

    #[test]
    fn frames_wait_in_order_up_to_their_number() {
        let mut queue = WaitingFrames::new(&Arc::new(Semaphore::new(1000)));
        for index in 0..FRAMES {
            assert!(queue.has_room());
            queue.push(index.to_string().into());
        }
        assert!(!queue.has_room());
        assert_eq!(queue.pop().as_deref(), Some("0"));
        assert!(queue.has_room());
        assert_eq!(queue.pop().as_deref(), Some("1"));
    }

    #[test]
    fn bytes_are_bounded_in_one_connection_and_in_all() {
        let permits = Arc::new(Semaphore::new(3 * BYTES));
        let mut queue = WaitingFrames::new(&permits);
        queue.push(text(BYTES - 1));
        assert!(queue.has_room());
        queue.push(text(1));
        assert!(!queue.has_room(), "the connection has its share");

        let mut other = WaitingFrames::new(&permits);
        other.push(text(3 * BYTES));
        assert!(!other.has_room() && permits.available_permits() == 2 * BYTES);
        drop(queue);
        let mut third = WaitingFrames::new(&permits);
        third.push(text(10));
        assert!(third.has_room(), "permits of ended connections come back");
        other.pop();
        assert!(other.has_room());
    }

    #[test]
    fn frame_beyond_the_bytes_of_all_is_the_last_of_its_connection() {
        let permits = Arc::new(Semaphore::new(10));
        let (mut queue, mut other) = (WaitingFrames::new(&permits), WaitingFrames::new(&permits));
        queue.push(text(8));
        other.push(text(8));
        assert!(queue.has_room() && !other.has_room());
        assert!(other.pop().is_some() && other.has_room());
    }
}
