//! A lean step does not allocate: counted, not assumed.
#![allow(unsafe_code, reason = "a counting allocator is one `unsafe impl`")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use sentinel_env::rng::Streams;
use sentinel_env::trust::{Action, Batch, BatchStep, Task};

struct Counting;
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call goes to the system allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's contract is the system allocator's.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_lean_step_does_not_allocate() {
    for streams in [Streams::Reference, Streams::Independent] {
        for task in Task::ALL {
            let mut batch = Batch::new(task, streams, 0..10_000, 16);
            let mut out = [BatchStep::default(); 16];
            let actions: [Action; 16] = std::array::from_fn(|i| Action::ALL[i % 12]);
            let before = ALLOCATIONS.load(Ordering::Relaxed);
            for _ in 0..500 {
                batch.step(&actions, &mut out);
            }
            // Resets are part of a batch's steps, and do not allocate either.
            let made = ALLOCATIONS.load(Ordering::Relaxed) - before;
            assert_eq!(made, 0, "{task}, {} streams", streams.name());
        }
    }
}
