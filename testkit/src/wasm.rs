//! The checks as a wasm module without imports: text in, JSON out, and a bench to time.
//!
//! Memory goes both ways by pointer: the caller allocates, writes UTF-8, calls a check, reads
//! a length (`u32`, little-endian) and that many bytes of JSON, and gives both back.
#![allow(
    unsafe_code,
    reason = "exported symbols and raw memory are the interface of a module"
)]

use std::alloc::Layout;

use sentinel_env::cluster;
use sentinel_env::rng::Streams;
use sentinel_env::trust::{Action, Batch, BatchStep, Session, Setup, Task};

use crate::Outcome;

#[path = "../../env/tests/cluster_play/mod.rs"]
mod cluster_play;

fn layout(len: u32) -> Layout {
    // Four bytes at least: an empty text has a place too. A `u32` length always fits.
    Layout::from_size_align((len as usize).max(4), 4).unwrap_or(Layout::new::<u32>())
}

/// Memory for `len` bytes.
#[unsafe(no_mangle)]
pub extern "C" fn alloc(len: u32) -> *mut u8 {
    // SAFETY: the layout has a size above 0.
    unsafe { std::alloc::alloc(layout(len)) }
}

/// Gives memory back.
///
/// # Safety
/// `ptr` came from [`alloc`] with the same `len`, or from a check with the length that stands
/// before its text plus 4.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dealloc(ptr: *mut u8, len: u32) {
    // SAFETY: the caller's promise.
    unsafe { std::alloc::dealloc(ptr, layout(len)) }
}

/// Compares the content of one golden file.
///
/// # Safety
/// `ptr` points to `len` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn check_golden(ptr: *const u8, len: u32) -> *mut u8 {
    // SAFETY: the caller's promise.
    reply(&unsafe { text(ptr, len) }.map_or_else(not_text, crate::check_golden))
}

/// Compares the content of a digest list.
///
/// # Safety
/// `ptr` points to `len` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn check_digests(ptr: *const u8, len: u32) -> *mut u8 {
    // SAFETY: the caller's promise.
    reply(&unsafe { text(ptr, len) }.map_or_else(not_text, crate::check_digests))
}

unsafe fn text<'a>(ptr: *const u8, len: u32) -> Option<&'a str> {
    // SAFETY: the caller's promise.
    std::str::from_utf8(unsafe { std::slice::from_raw_parts(ptr, len as usize) }).ok()
}

fn not_text() -> Outcome {
    let mut outcome = Outcome::default();
    outcome.row("input", &["is not UTF-8".to_owned()]);
    outcome
}

fn reply(outcome: &Outcome) -> *mut u8 {
    let json = serde_json::to_vec(outcome).unwrap_or_default();
    let ptr = alloc(json.len() as u32 + 4);
    // SAFETY: `ptr` has room for the length and the text.
    unsafe {
        ptr.cast::<u32>()
            .write_unaligned((json.len() as u32).to_le());
        std::ptr::copy_nonoverlapping(json.as_ptr(), ptr.add(4), json.len());
    }
    ptr
}

/// Takes about `n` steps of task3 and returns the sum of rewards, for the caller to time.
/// Kind 0 is lean (a batch of 64, resets included), kind 1 rich (trace and full payload), kind 2 the
/// cluster world, lean, with the actions of its native bench.
#[unsafe(no_mangle)]
pub extern "C" fn bench(kind: u32, n: u32) -> f64 {
    match kind {
        0 => lean(n),
        1 => rich(n),
        _ => cluster_lean(n),
    }
}

fn cluster_lean(n: u32) -> f64 {
    let setup = |seed| cluster::Setup::new(Task::Task3, seed, Streams::Independent);
    let (mut sum, mut seed) = (0.0, 0);
    let mut episode = cluster::Episode::reset(&setup(seed));
    for count in 0..n {
        if episode.observation().done() {
            seed += 1;
            episode = cluster::Episode::reset(&setup(seed));
        }
        match episode.step(cluster_play::action(count, Task::Task3)) {
            Ok(step) => sum += step.grades.reward,
            Err(_) => return f64::NAN,
        }
    }
    sum
}

fn action(n: u32) -> Action {
    Action::ALL[(n.wrapping_mul(2_654_435_761) >> 16) as usize % Action::ALL.len()]
}

fn lean(n: u32) -> f64 {
    const SIZE: usize = 64;
    let mut batch = Batch::new(Task::Task3, Streams::Reference, 0..1_000_000, SIZE);
    let (mut out, mut actions) = ([BatchStep::default(); SIZE], [Action::Skip; SIZE]);
    let (mut sum, mut count) = (0.0, 0u32);
    while count < n {
        for slot in &mut actions {
            count += 1;
            *slot = action(count);
        }
        // Actions of this world name nothing that a task could lack.
        if batch.step(&actions, &mut out).is_err() {
            return f64::NAN;
        }
        sum += out.iter().map(|step| step.reward).fold(0.0, |a, b| a + b);
    }
    sum
}

fn rich(n: u32) -> f64 {
    let (mut sum, mut seed) = (0.0, 0);
    let mut session = Session::new(&Setup::new(Task::Task3, seed, Streams::Reference));
    for count in 0..n {
        if session.act(action(count)).is_err() {
            seed += 1;
            session = Session::new(&Setup::new(Task::Task3, seed, Streams::Reference));
        }
        sum += session.result().reward.value;
    }
    sum
}
